"""Classes of rules: how predictions become the vectors that are swept."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, Protocol, get_args

import numpy as np

from ..arrays import FloatArray, IntArray
from ..data.messages import shown
from ..errors import InputError

RulesName = Literal["group-blind", "group-aware"]
"""What rules may depend on, by name."""
BESIDE = 1e-9
"""Weight of a group whose risk does not count, relative to the largest weight: its own optimum breaks the tie."""


class RuleClass(Protocol):
    """What rules may depend on. A rule of direction q selects a row where q'M t > 0, with t its vector."""

    @property
    def name(self) -> RulesName:
        """What users call it."""
        ...

    @property
    def sees_group(self) -> bool:
        """Whether the rules need the group to decide."""
        ...

    def vectors(self, predictions: FloatArray, group: IntArray | None) -> FloatArray:
        """Return the vectors t (n, G) from predictions (n, G) and the groups' codes (n,).

        There are no codes for the rows to which a deployed rule is applied that does not see the group.
        """
        ...

    def direction(self, q: FloatArray) -> FloatArray:
        """Return the directions (..., G) whose rules are deployed for preferences with directions ``q`` (..., G)."""
        ...


@dataclass(frozen=True, slots=True)
class GroupBlind:
    """Rules that depend on the covariates alone: the vector of a row is its prediction for every group.

    Predictions are of Dtheta^g(x) = E[dl 1{G = g} | x].
    """

    name: RulesName = "group-blind"
    sees_group: bool = False

    def vectors(self, predictions: FloatArray, group: IntArray | None) -> FloatArray:
        """Return the predictions as they are."""
        return predictions

    def direction(self, q: FloatArray) -> FloatArray:
        """Return the direction as it is."""
        return q


@dataclass(frozen=True, slots=True)
class GroupAware:
    """Rules that depend on the covariates and the group: the vector of a row lies on the axis of its group.

    Predictions are of E[dl | x, G = g]. Without a capacity the attainable risks are then a box: the decisions about one
    group do not touch the risks of the others.
    """

    name: RulesName = "group-aware"
    sees_group: bool = True

    def vectors(self, predictions: FloatArray, group: IntArray | None) -> FloatArray:
        """Return the prediction for a row's own group on the axis of that group, 0 on the others."""
        if group is None:
            raise TypeError("rules that see the group need the codes of the groups")
        vectors, rows = np.zeros_like(predictions), np.arange(len(predictions))
        vectors[rows, group] = predictions[rows, group]
        return vectors

    def direction(self, q: FloatArray) -> FloatArray:
        """Give groups that do not count a weight so small that it decides ties only."""
        least = BESIDE * np.abs(q).max(axis=-1, keepdims=True)
        beside: FloatArray = np.where(np.abs(q) <= least, -least, q)
        return beside


_BY_NAME: dict[str, RuleClass] = {rules.name: rules for rules in (GroupBlind(), GroupAware())}


def read_rules(name: Any) -> RuleClass:
    """Return the class of rules that users call by this name."""
    if not isinstance(name, str) or name not in _BY_NAME:
        raise InputError("bad-option", f"`rules` must be one of {list(get_args(RulesName))}, got {shown(name)}.")
    return _BY_NAME[name]
