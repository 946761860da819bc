"""Points and sets read off the support function: R, B, F, the feasible set and its frontiers."""

from __future__ import annotations

import numbers
import warnings
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from ..arrays import ArrayLike, BoolArray, FloatArray, IntArray
from ..data.checks import check_directions, check_integer, check_risks
from ..data.notebook import BLUE, GREEN, ORANGE, Picture
from ..data.reading import Label
from ..data.result import PlainDict, Result, axes_of, labels, plain_items
from ..errors import EmptySetWarning, InputError
from .attainable import RuleValues
from .plane import U1, U2, convex_contains, convex_hull, off_breakpoint, polygon_area, unit_circle
from .regret import Regret
from .support import Arcs, Position, SupportFunction

Configuration = Literal["balanced", "r-skewed", "b-skewed"]
Kind = Literal["fairness-accuracy", "pareto"]
"""Which frontier."""

_DOWN = np.array([-1.0, -1.0])  # lower risk for both groups
DRAWN = 720
"""Directions whose rules make up the set in pictures."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class BestPoints(Result):
    """The best point of each group and the fairest point, with the directions that attain them.

    ``R``, ``B``, ``F`` (2,) are risk pairs (r, b). ``position`` says where the set lies relative to the
    45-degree line: it ``crosses`` it, lies ``above`` (e_r < e_b throughout) or ``below``.
    """

    R: FloatArray
    B: FloatArray
    F: FloatArray
    q_R: FloatArray
    q_B: FloatArray
    q_F: FloatArray
    position: Position
    configuration: Configuration

    @property
    def heading(self) -> str:
        """One line that says what this is."""
        return "Best point of each group and fairest point"

    def _facts(self) -> dict[str, object]:
        return {
            "R": self.R,
            "B": self.B,
            "F": self.F,
            "q_R": self.q_R,
            "q_B": self.q_B,
            "q_F": self.q_F,
            "position": self.position,
            "configuration": self.configuration,
        }

    def _picture(self) -> Picture:
        plane = Picture(axes_of(None)).points(self.R[None], BLUE, "best for the first group")
        return plane.points(self.B[None], ORANGE, "best for the second group").points(self.F[None], GREEN, "fairest")


def best_points(arcs: Arcs) -> BestPoints:
    """Read R, B, F and the configuration off the support function.

    R and B are the support sets in directions u1 = (-1, 0) and u2 = (0, -1), ties broken in favour of
    the other group. F is (-1, -1) inf_c h(u1 - c(1, -1)) where the set crosses the 45-degree line, and
    the support set in direction (1, -1) or (-1, 1), lowest risks first, where it lies to one side.
    """
    R = arcs.support_set(U1, tie=U2)[0]
    B = arcs.support_set(U2, tie=U1)[0]
    fairest = arcs.fairest()
    F = np.full(2, -fairest.infimum)
    if fairest.position != "crosses":
        F = arcs.support_set(fairest.direction, tie=_DOWN)[0]
    return BestPoints(R, B, F, U1.copy(), U2.copy(), fairest.direction, fairest.position, configuration(R, B))


def sharp_fairest(function: SupportFunction, regret: Regret | None = None) -> tuple[FloatArray, FloatArray, Position]:
    """The fairest point by the direction that the plug-in criterion chooses, that direction, and the set's position.

    The plug-in criterion does not reuse the rows' outcomes, so h^ at its direction is free of the bias that minimising
    h^ itself brings. On the 45-degree line F is (-1, -1) h^(q) with q1 + q2 = -1.
    """
    chosen = best_points(function.plug_in())
    q = chosen.q_F
    if chosen.position == "crosses":
        q = off_breakpoint(q)
        q = q / -q.sum()
    point = function.estimate.support_set(q, tie=_DOWN)[0]
    if regret is not None:
        point = point + regret.mean_pair(q[None])[0]
    return (np.full(2, -float(q @ point)) if chosen.position == "crosses" else point), q, chosen.position


def sharp_points(function: SupportFunction, regret: Regret | None = None) -> BestPoints:
    """R, B and F, with the estimated regret of their rules taken off if there is one; F as in `sharp_fairest`."""
    points = best_points(function.estimate)
    R, B = points.R, points.B
    if regret is not None:
        R, B = R + regret.mean_pair(U1[None])[0], B + regret.mean_pair(U2[None])[0]
    F, q, position = sharp_fairest(function, regret)
    return BestPoints(R, B, F, points.q_R, points.q_B, q / np.hypot(*q), position, configuration(R, B))


def configuration(R: FloatArray, B: FloatArray) -> Configuration:
    """Tell group balance from skew by the sides of the 45-degree line on which R and B lie.

    Balanced: R strictly above and B strictly below, or R = B = F on the line. Skewed towards r: both
    above (B may touch); towards b: both below (R may touch).
    """
    r_above, b_below = R[0] < R[1], B[0] > B[1]
    if r_above and not b_below:
        return "r-skewed"
    if b_below and not r_above:
        return "b-skewed"
    return "balanced"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class FeasibleSet(Result):
    """The estimated set of risk pairs that some rule attains.

    ``vertices`` (k, 2) is the intersection of the half planes q'z <= h(q) over *all* q, counter-clockwise:
    a convex polygon even though the estimate of h is not convex. It can be empty, ``(0, 2)``, when the
    learner is worse than useless in some direction. ``groups`` are the labels of the two groups, if they are known.
    """

    arcs: Arcs
    vertices: FloatArray
    groups: tuple[Label, ...] | None = field(default=None, kw_only=True)

    @property
    def heading(self) -> str:
        """One line that says what this is."""
        return "Estimated set of attainable risks"

    def _facts(self) -> dict[str, object]:
        known = {} if self.groups is None else {"groups": labels(self.groups)}
        facts: dict[str, object] = {"vertices": len(self.vertices), "area": self.area, "is_empty": self.is_empty}
        if not self.is_empty:
            facts |= {"smallest_risks": self.vertices.min(axis=0), "largest_risks": self.vertices.max(axis=0)}
        return known | facts

    def to_dict(self) -> PlainDict:
        """Return plain numbers and text for JSON: area and vertices."""
        return plain_items(self._facts() | {"vertices": self.vertices})

    def _picture(self) -> Picture:
        return Picture(axes_of(self.groups)).area(self.vertices, BLUE, "attainable")

    @property
    def is_empty(self) -> bool:
        """Whether no risk pair satisfies every half plane."""
        return len(self.vertices) == 0

    @property
    def area(self) -> float:
        """Area of the polygon."""
        return polygon_area(self.vertices)

    def support(self, q: ArrayLike) -> FloatArray:
        """Support function of the polygon, max over vertices of q'z; at most h(q). Shape (k,)."""
        directions = check_directions(q)
        if self.is_empty:
            return np.full(len(directions), -np.inf)
        result: FloatArray = (directions @ self.vertices.T).max(axis=1)
        return result

    def contains(self, e: ArrayLike) -> BoolArray:
        """Whether each risk pair (k, 2) lies in the polygon (up to rounding). Shape (k,)."""
        points = check_risks(e)
        scale = float(np.abs(self.vertices).max()) if len(self.vertices) else 0.0
        return convex_contains(self.vertices, points, slack=1e-12 * scale)


def feasible_set(arcs: Arcs, regret: Regret | None = None) -> FeasibleSet:
    """Intersect all half planes of the support function, moved out by the regret; warn when nothing is left."""
    vertices = arcs.half_plane_polygon(None if regret is None else regret.mean)
    if len(vertices) == 0:
        warnings.warn(
            "The estimated feasible set is empty: in some direction the learned rule does worse than its "
            "opposite. The learner has found no usable signal there; try another learner or more data.",
            EmptySetWarning,
            stacklevel=2,
        )
    return FeasibleSet(arcs, vertices)


def attained_hull(arcs: RuleValues, n_directions: int = DRAWN) -> FloatArray:
    """Return the convex hull (k, 2) of the risk pairs of rules in many directions, counter-clockwise.

    It is what lotteries between these rules attain. Where the estimate of h is not convex it is larger than the
    intersection of half planes: it is what pictures show.
    """
    points = arcs.support_set(unit_circle(n_directions))
    return points[convex_hull(points)]


@dataclass(frozen=True, slots=True)
class DrawnSet:
    """What pictures show: the hull of the risks of rules found, and the part of its edge that is the frontier.

    ``corners`` (k, 2), counter-clockwise, are attained by the rules of ``directions`` (k, 2). ``frontier`` (m,) are
    positions of corners, in order. The estimated frontier by directions, `FrontierCurve`, may run inside the hull, as
    its h is not convex; the frontier drawn is that of the set drawn.
    """

    corners: FloatArray
    directions: FloatArray
    frontier: IntArray

    @property
    def curve(self) -> FloatArray:
        """The frontier (m, 2)."""
        return self.corners[self.frontier]


def drawn_set(
    arcs: RuleValues, skew: Configuration, q_F: FloatArray, regret: Regret | None = None, n_directions: int = DRAWN
) -> DrawnSet:
    """Return the hull of the risks of rules, and its frontier between the directions of the configuration ``skew``.

    ``q_F`` is the direction of the fairest point; with a ``regret`` the risks are those that the best rules are
    estimated to attain.
    """
    q = unit_circle(n_directions)
    points = arcs.support_set(q)
    if regret is not None:
        points = points + regret.mean_pair(q)
    hull = convex_hull(points)
    corners = points[hull]
    ends = frontier_angles(skew, q_F, 2)
    first, last = (_outermost(corners, float(angle), turn) for angle, turn in zip(ends, (1.0, -1.0), strict=True))
    frontier = (first + np.arange((last - first) % len(corners) + 1)) % len(corners)
    return DrawnSet(corners, q[hull], frontier)


def _outermost(corners: FloatArray, angle: float, turn: float) -> int:
    """Position of the corner outermost in a direction; of several the one outermost a quarter turn further."""
    q = np.array([np.cos(angle), np.sin(angle)])
    q[np.abs(q) < 1e-12] = 0.0
    further = turn * np.array([-q[1], q[0]])
    return int(np.lexsort((corners @ further, corners @ q))[-1])


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class FrontierCurve(Result):
    """A frontier as a curve: the risk pair of the rule in each direction, in order of direction.

    ``points`` (k, 2) are attained by the rules 1{q'M t > 0} for the rows q of ``directions`` (k, 2).
    ``tolerance`` belongs to the set estimate of :meth:`contains`; ``groups`` are the labels of the two groups, if they
    are known.
    """

    kind: Kind
    points: FloatArray
    directions: FloatArray
    tolerance: float
    _arcs: RuleValues
    groups: tuple[Label, ...] | None = field(default=None, kw_only=True)

    @property
    def heading(self) -> str:
        """One line that says what this is."""
        return f"Estimated {'Pareto' if self.kind == 'pareto' else self.kind} frontier"

    def _facts(self) -> dict[str, object]:
        known = {} if self.groups is None else {"groups": labels(self.groups)}
        return known | {
            "kind": self.kind,
            "points": len(self.points),
            "first_point": self.points[0],
            "last_point": self.points[-1],
            "tolerance": self.tolerance,
        }

    def to_dict(self) -> PlainDict:
        """Return plain numbers and text for JSON: the points with their directions."""
        return plain_items(self._facts() | {"points": self.points, "directions": self.directions})

    def _picture(self) -> Picture:
        return Picture(axes_of(self.groups)).line(self.points, BLUE, "frontier")

    def criterion(self, e: ArrayLike) -> FloatArray:
        """How far each risk pair (k, 2) is from the frontier by the sample criterion, 0 on it. Shape (k,).

        The sum of [max_q q'e - h(q)]_+ (is e feasible?) and, for the fairness-accuracy frontier,
        [min_q h_C(e)(-q) + h(q)]_+ (can C(e) be separated from the feasible set?), for the Pareto frontier
        [max over q between u1 and u2 of q'e - h(q)]_- (does e lie on that part of the boundary?).
        """
        return np.array([self._distance(x) for x in check_risks(e)])

    def contains(self, e: ArrayLike) -> BoolArray:
        """Whether each risk pair belongs to the set estimate {criterion <= tolerance}, up to rounding. Shape (k,)."""
        inside: BoolArray = self.criterion(e) <= self.tolerance + 1e-12 * float(np.abs(self.points).max())
        return inside

    def _distance(self, e: FloatArray) -> float:
        outside = max(self._arcs.max_excess(e).value, 0.0)
        if self.kind == "fairness-accuracy":
            return outside + max(self._arcs.min_separation(e).value, 0.0)
        return outside + max(-self._arcs.max_excess(e, U1, np.pi / 2.0).value, 0.0)


def fa_frontier(
    arcs: Arcs,
    n_obs: int,
    *,
    plug_in: Arcs | None = None,
    regret: Regret | None = None,
    tolerance: float | None = None,
    n_points: int = 512,
) -> FrontierCurve:
    """Estimate the fairness-accuracy frontier.

    The curve runs over the directions that belong to the configuration (Liang, Lu, Mu and Okumura): from R
    to B under balance; from the best point of the favoured group through the other one to F under skew.
    ``tolerance`` defaults to sqrt(log n) / sqrt(n). The direction of F is taken from the convex ``plug_in`` criterion
    if given: the direction that minimises the noisy h itself can lie far beyond F. With a ``regret`` the points
    estimate what the best rules of these directions attain.
    """
    R, B = arcs.support_set(np.array([U1, U2]), tie=np.array([U2, U1]))
    if regret is not None:
        R, B = R + regret.mean_pair(U1[None])[0], B + regret.mean_pair(U2[None])[0]
    skew = configuration(R, B)
    angle = frontier_angles(skew, best_points(plug_in or arcs).q_F, n_points)
    return _curve("fairness-accuracy", arcs, angle, frontier_tolerance(tolerance, n_obs), regret)


def frontier_angles(skew: Configuration, q_F: FloatArray, n_points: int) -> FloatArray:
    """Angles (n_points,) of the directions over which the frontier runs; ``q_F`` is that of the fairest point."""
    check_integer(n_points, "`n_points`", least=2)
    start, stop = np.pi, 1.5 * np.pi
    fairest = float(np.arctan2(q_F[1], q_F[0])) % (2.0 * np.pi)
    if skew == "r-skewed":
        stop = max(stop, fairest)
    elif skew == "b-skewed":
        start = min(start, fairest)
    return np.linspace(start, stop, n_points)


def frontier_tolerance(tolerance: float | None, n_obs: int, unit: float = 1.0) -> float:
    """Return the tolerance of a set estimate, by default sqrt(log n / n) times the ``unit`` of the losses."""
    if tolerance is None:
        return unit * float(np.sqrt(np.log(n_obs) / n_obs))
    if not (isinstance(tolerance, numbers.Real) and np.isfinite(tolerance) and tolerance >= 0.0):
        raise InputError("bad-option", f"`tolerance` must be a finite number >= 0, got {tolerance!r}.")
    return tolerance


def pareto_frontier(
    arcs: Arcs,
    n_obs: int,
    *,
    regret: Regret | None = None,
    tolerance: float | None = None,
    n_points: int = 512,
) -> FrontierCurve:
    """Estimate the Pareto frontier by the support sets in the directions between u1 and u2."""
    angle = frontier_angles("balanced", _DOWN, n_points)
    return _curve("pareto", arcs, angle, frontier_tolerance(tolerance, n_obs), regret)


def _curve(kind: Kind, arcs: Arcs, angle: FloatArray, tolerance: float, regret: Regret | None) -> FrontierCurve:
    # The axes exactly, so that the curve meets R and B, ties broken as in `best_points`.
    directions = np.column_stack([np.cos(angle), np.sin(angle)])
    directions[np.abs(directions) < 1e-15] = 0.0
    points = arcs.support_set(directions, tie=_DOWN)
    if regret is not None:
        points = points + regret.mean_pair(directions)
    return FrontierCurve(kind, points, directions, tolerance, arcs)
