"""Capacity: rules {k > c} that select at most a share of people, their cut-offs and ties at the cut-off.

With k(x) = q'M t(x) the best rule that selects at most a share a of people selects those with k above
c = max(0, the (1 - a)-quantile of k), and a part of those exactly at it (paper: the capacity-constrained feasible set).
These rules are not half planes of t, so the sweep by angle does not apply: everything here is evaluated direction by
direction on a grid, and extrema are those of the grid.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..arrays import ArrayLike, FloatArray, IntArray
from ..data.checks import check_capacity, check_directions, check_risks
from ..data.groups import by_group
from ..errors import InputError
from .plane import clip_polygon, improvement_support, unit_circle
from .rule_class import BESIDE
from .sets import FeasibleSet, FrontierCurve, configuration, frontier_angles
from .support import Extremum, SupportFunction, group_means

GRID = 360
"""Directions of the grid on which extrema are taken; the axes and the diagonals are among them."""
SAME = 1e-12
"""Relative difference up to which two values of k count as equal."""
COARSENING = 4
"""How many times fewer directions are evaluated than by the exact sweep: each costs a pass over the rows."""


@dataclass(frozen=True, slots=True)
class Cutoff:
    """Select where k exceeds ``value``, and with chance ``chance`` where k equals it up to ``slack``."""

    value: float
    chance: float
    slack: float

    def chances(self, k: FloatArray) -> FloatArray:
        """Chance (n,) that people with these k (n,) are selected."""
        chances: FloatArray = np.where(k > self.value + self.slack, 1.0, 0.0)
        if self.chance > 0.0:
            chances[np.abs(k - self.value) <= self.slack] = self.chance
        return chances


NO_CUTOFF = Cutoff(0.0, 0.0, 0.0)
"""Select wherever k is positive."""


def find_cutoff(
    k: FloatArray,
    weight: FloatArray,
    capacity: float,
    lower: FloatArray | float = 0.0,
    spread: FloatArray | float = 1.0,
) -> Cutoff:
    """Find the cut-off at which a share ``capacity`` of people is selected, or all with k > 0 if they are fewer.

    ``k``, ``weight`` (n,). With bounds a rule selects a person with chance ``lower`` below the cut-off and
    ``lower + spread`` above it, and the share counts these chances. People tied at the cut-off are selected with the
    chance that meets the capacity exactly.
    """
    return _cutoff_within(k, weight * np.broadcast_to(spread, len(k)), _room(weight, capacity, lower))


def _room(weight: FloatArray, capacity: float, lower: FloatArray | float) -> float:
    """Mass that may be selected above the lower bounds."""
    total, least = float(weight.sum()), float(np.sum(weight * lower))
    room = capacity * total - least
    if room < -SAME * total:
        raise InputError(
            "bad-capacity",
            f"The lower bounds alone select a share of {least / total:.4g}, above the capacity of {capacity:g}: "
            "raise the capacity or lower the bounds.",
        )
    return room


def _cutoff_within(k: FloatArray, mass: FloatArray, room: float) -> Cutoff:
    """Find the cut-off at which the ``mass`` (n,) of those selected is ``room``, or all with k > 0 if it is less."""
    wanted = np.flatnonzero((k > 0.0) & (mass > 0.0))
    k, mass = k[wanted], mass[wanted]
    if len(wanted) == 0 or float(mass.sum()) <= room * (1.0 + SAME):
        return NO_CUTOFF
    order = np.argsort(-k, kind="stable")
    taken = np.cumsum(mass[order])
    last = min(int(np.searchsorted(taken, room, side="right")), len(order) - 1)
    value = float(k[order[last]])
    slack = SAME * value
    tied = float(mass[np.abs(k - value) <= slack].sum())
    above = float(mass[k > value + slack].sum())
    return Cutoff(value, min(max((room - above) / tied, 0.0), 1.0), slack)


@dataclass(frozen=True, slots=True)
class CappedRules:
    """The rules of directions (K, 2): their cut-offs, and the risk pairs (K, 2) by outcomes and by the plug-in."""

    cutoffs: list[Cutoff]
    estimate: FloatArray
    plug_in: FloatArray


class CappedFunction:
    """Support function of the risk pairs that rules within a capacity attain, direction by direction.

    Answers the same questions as `SupportFunction`: ``estimate`` and ``plug_in()`` with h, support set and extrema.
    """

    coarsening = COARSENING

    def __init__(self, exact: SupportFunction, capacity: float) -> None:
        scores = exact.scores
        self.exact, self.scores, self.mu, self.capacity = exact, scores, exact.mu, capacity
        self.lower = np.zeros(scores.n_rows) if scores.lower is None else scores.lower
        self.spread = np.ones(scores.n_rows) if scores.spread is None else scores.spread
        # per unit of selection: bounds are built into the scores
        inverse = np.divide(1.0, self.spread, out=np.zeros(scores.n_rows), where=self.spread > 0.0)
        self.t = scores.t * inverse[:, None]
        self.base = group_means(scores.l0, scores.group, scores.weight)[0]
        self._mass, self._sums = scores.weight * self.spread, scores.weight_sums
        self._known: dict[bytes, tuple[Cutoff, FloatArray, FloatArray]] = {}

    @property
    def n_obs(self) -> int:
        """Number of rows of the sample."""
        return self.scores.n_obs

    @property
    def estimate(self) -> CappedArcs:
        """Values of the rules by the rows' own outcomes."""
        return CappedArcs(self, by_outcomes=True)

    def plug_in(self) -> CappedArcs:
        """Values of the rules by the learned conditional expectations."""
        return CappedArcs(self, by_outcomes=False)

    def cutoff(self, q: FloatArray) -> Cutoff:
        """Cut-off of one direction."""
        return _cutoff_within(self._k(q), self._mass, self._room)

    def selected(self, q: ArrayLike) -> FloatArray:
        """How far (n,) the rule of one direction moves each row from its lower to its upper bound."""
        direction = check_directions(q)[0]
        return self.cutoff(direction).chances(self._k(direction))

    def rules(self, q: FloatArray) -> CappedRules:
        """Evaluate the rules of directions (K, 2), one pass over the rows for each that was not asked for before."""
        found = [self._rule(direction) for direction in q]
        points, plug = np.empty((len(q), 2)), np.empty((len(q), 2))
        for j, (_, point, by_plug_in) in enumerate(found):
            points[j], plug[j] = point, by_plug_in
        return CappedRules([cutoff for cutoff, _, _ in found], points, plug)

    def _rule(self, direction: FloatArray) -> tuple[Cutoff, FloatArray, FloatArray]:
        """Cut-off and risk pairs of one direction: questions come back to the same ones."""
        key = direction.tobytes()
        if key not in self._known:
            s, k = self.scores, self._k(direction)
            found = _cutoff_within(k, self._mass, self._room)
            selected = s.weight * found.chances(k)
            gained = selected * s.dl
            point = self.base + np.array([gained[own].sum() for own in self._members]) / self._sums
            # a matrix product would round as the number of its threads has it
            plug_in = self.base + np.einsum("i,ij->j", selected, s.t) / self._sums
            self._known[key] = found, point, plug_in
        return self._known[key]

    @cached_property
    def _room(self) -> float:
        return _room(self.scores.weight, self.capacity, self.lower)

    @cached_property
    def _members(self) -> tuple[IntArray, ...]:
        return by_group(self.scores.group, 2)

    @cached_property
    def grid(self) -> CappedRules:
        """The rules of the grid."""
        return self.rules(grid_directions())

    def weights(self, q: FloatArray) -> FloatArray:
        """Weights q'M (..., 2) of the pairs t in the order by which rules of directions ``q`` (..., 2) select.

        Rules that see the group decide about a group that does not count as is best for it.
        """
        if self.scores.sees_group:
            q = np.where(q == 0.0, -BESIDE * np.abs(q).max(axis=-1, keepdims=True), q)
        p: FloatArray = q / self.mu
        return p

    def _k(self, q: FloatArray) -> FloatArray:
        # as the compiled sums and `SupportFunction.selected` have it: a matrix product may round differently
        p = self.weights(q)
        k: FloatArray = self.t[:, 0] * p[0] + self.t[:, 1] * p[1]
        return k


@dataclass(frozen=True, slots=True)
class CappedArcs:
    """h and support sets of a `CappedFunction` by outcomes or by the plug-in criterion; extrema over the grid."""

    function: CappedFunction
    by_outcomes: bool

    def _points(self, rules: CappedRules) -> FloatArray:
        return rules.estimate if self.by_outcomes else rules.plug_in

    def support_set(self, q: ArrayLike) -> FloatArray:
        """Risk pairs (k, 2) attained by the rules of directions ``q`` (k, 2)."""
        return self._points(self.function.rules(check_directions(q)))

    def h(self, q: ArrayLike) -> FloatArray:
        """h(q) = q'v(q) at directions ``q`` (k, 2), shape (k,)."""
        directions = check_directions(q)
        h: FloatArray = (directions * self.support_set(directions)).sum(axis=1)
        return h

    def grid_h(self) -> FloatArray:
        """Return h at the directions of the grid."""
        h: FloatArray = (grid_directions() * self._points(self.function.grid)).sum(axis=1)
        return h

    def max_excess(self, e: ArrayLike, start: ArrayLike = (1.0, 0.0), turn: float = 2.0 * np.pi) -> Extremum:
        """Max of q'e - h(q) over the directions of the grid within ``turn`` radians from ``start``."""
        q, origin = grid_directions(), check_directions(start)[0]
        turned = (np.arctan2(q[:, 1], q[:, 0]) - np.arctan2(origin[1], origin[0])) % (2.0 * np.pi)
        inside = (turned <= turn + 1e-9) | (turned >= 2.0 * np.pi - 1e-9)
        excess = np.where(inside, q @ check_risks(e)[0] - self.grid_h(), -np.inf)
        best = int(np.argmax(excess))
        return Extremum(float(excess[best]), q[best])

    def min_separation(self, e: ArrayLike) -> Extremum:
        """Min of h_C(e)(-q) + h(q) over the directions of the grid with q1 + q2 <= 0."""
        q = grid_directions()
        inside = q.sum(axis=1) <= 1e-12
        separation = improvement_support(check_risks(e)[0], q[inside]) + self.grid_h()[inside]
        best = int(np.argmin(separation))
        return Extremum(float(separation[best]), q[inside][best])

    def fairest_direction(self) -> FloatArray:
        """Unit direction of the fairest rule.

        Where the set crosses the 45-degree line it minimises h(q) / -(q1 + q2); else it points at the line.
        """
        down, up = np.array([1.0, -1.0]), np.array([-1.0, 1.0])
        gaps = self.h(np.array([down, up]))
        if gaps.min() < 0.0:  # max(e_r - e_b) < 0: above the line
            direction: FloatArray = (down if gaps[0] < 0.0 else up) / np.sqrt(2.0)
            return direction
        return lowest_level(self.h, 0.75 * np.pi + 1e-6, 1.75 * np.pi - 1e-6)


def cap(function: SupportFunction, capacity: float) -> CappedFunction:
    """Restrict the rules of a support function to a capacity."""
    return CappedFunction(function, check_capacity(capacity))


def grid_directions() -> FloatArray:
    """Directions of the grid (GRID, 2)."""
    q = unit_circle(GRID)
    q[np.abs(q) < 1e-12] = 0.0
    return q


def capped_feasible_set(unconstrained: FeasibleSet, function: CappedFunction) -> FeasibleSet:
    """Cut the estimated feasible set by the half planes of the capped rules: it never leaves the unconstrained set.

    Directions in which the capacity does not bind are in it already, exactly.
    """
    binding = np.array([cutoff.value > 0.0 for cutoff in function.grid.cutoffs])
    bound = function.estimate.grid_h()[binding]
    vertices = clip_polygon(unconstrained.vertices, grid_directions()[binding], bound)
    return FeasibleSet(unconstrained.arcs, vertices)


def capped_frontier(function: CappedFunction, tolerance: float, n_points: int) -> FrontierCurve:
    """Frontier of the rules within the capacity, from direction to direction as `sets.fa_frontier`."""
    arcs = function.estimate
    ends = arcs.support_set(np.array([[-1.0, 0.0], [0.0, -1.0]]))
    q_F = function.plug_in().fairest_direction()
    angle = frontier_angles(configuration(*ends), q_F, n_points)
    directions = np.column_stack([np.cos(angle), np.sin(angle)])
    directions[np.abs(directions) < 1e-15] = 0.0
    return FrontierCurve("fairness-accuracy", arcs.support_set(directions), directions, tolerance, arcs)


def lowest_level(h: Callable[[FloatArray], FloatArray], low: float, high: float) -> FloatArray:
    """Unit direction between two angles that minimises h(q) / -(q1 + q2), for a convex h."""

    def level(angle: FloatArray) -> FloatArray:
        q = np.column_stack([np.cos(angle), np.sin(angle)])
        height: FloatArray = h(q) / -q.sum(axis=1)
        return height

    # on the line q1 + q2 = -1 h is convex, so one neighbourhood after the other closes in on the minimum
    for _ in range(8):
        angle = np.linspace(low, high, 25)
        best = int(np.argmin(level(angle)))
        low, high = float(angle[max(best - 1, 0)]), float(angle[min(best + 1, 24)])
    middle = float(angle[best])
    q = np.array([np.cos(middle), np.sin(middle)])
    q[np.abs(q) < 1e-12] = 0.0
    return q
