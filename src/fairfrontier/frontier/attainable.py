"""What every support function of attainable risks offers, whether exact or on a grid of directions."""

from __future__ import annotations

from typing import Protocol

from ..arrays import ArrayLike, BoolArray, FloatArray
from .support import Extremum, Scores


class RuleValues(Protocol):
    """Risk pairs of the rules of all directions: by the rows' own outcomes, or by the plug-in criterion."""

    def support_set(self, q: ArrayLike) -> FloatArray:
        """Risk pairs (k, 2) attained by the rules of directions ``q`` (k, 2)."""
        ...

    def h(self, q: ArrayLike) -> FloatArray:
        """Support function (k,) at directions ``q`` (k, 2)."""
        ...

    def max_excess(self, e: ArrayLike, start: ArrayLike = ..., turn: float = ...) -> Extremum:
        """Max of q'e - h(q) over the directions within ``turn`` radians from ``start``."""
        ...

    def min_separation(self, e: ArrayLike) -> Extremum:
        """Min of h_C(e)(-q) + h(q) over the directions with q1 + q2 <= 0."""
        ...

    def fairest_direction(self) -> FloatArray:
        """Unit direction (2,) of the fairest rule."""
        ...


class Attainable(Protocol):
    """The risks that a class of rules attains: the exact sweep of the plane, or a grid under a capacity."""

    @property
    def scores(self) -> Scores:
        """What each row contributes."""
        ...

    @property
    def mu(self) -> FloatArray:
        """Weighted group shares (2,)."""
        ...

    @property
    def n_obs(self) -> int:
        """Number of rows of the sample."""
        ...

    @property
    def coarsening(self) -> int:
        """How many times fewer directions than by the exact sweep are worth evaluating."""
        ...

    @property
    def estimate(self) -> RuleValues:
        """Values of the rules by the rows' own outcomes."""
        ...

    def plug_in(self) -> RuleValues:
        """Values of the rules by the learned conditional expectations."""
        ...

    def selected(self, q: ArrayLike) -> FloatArray | BoolArray:
        """How far (all rows of ``scores``,) the rule of one direction moves each from its lower to its upper bound."""
        ...
