"""Classes of rules: how predictions become the vectors that are swept."""

from __future__ import annotations

from typing import Protocol

from ..arrays import FloatArray, IntArray


class RuleClass(Protocol):
    """What rules may depend on. A rule of direction q selects a row where q'M t > 0, with t its vector."""

    def vectors(self, predictions: FloatArray, group: IntArray | None) -> FloatArray:
        """Return the vectors t (n, G) from the predictions (n, G) of Dtheta^g(x) and the groups' codes (n,).

        There are no codes for the rows to which a deployed rule is applied.
        """
        ...


class GroupBlind:
    """Rules that depend on the covariates alone: the vector of a row is its prediction for every group."""

    def vectors(self, predictions: FloatArray, group: IntArray | None) -> FloatArray:
        """Return the predictions as they are."""
        return predictions
