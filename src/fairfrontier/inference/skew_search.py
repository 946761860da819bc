"""Searches for points that pass as best points of the groups, without random candidates.

T(R, B) and its draws are sums of a part for R and a part for B, so two lattices of points give all pairs at the price
of their sums. Bounds tell which points can still matter: T grows at a known rate, and no draw exceeds the largest draws
of its direction. Drawing pairs at random would overlook some.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit
from scipy.spatial import ConvexHull, QhullError

from ..arrays import FloatArray
from ..data.notebook import BLUE, ORANGE, Picture
from ..data.reading import Label
from ..data.result import PlainDict, Result, axes_of, plain_items
from .best_points import ExtremePoint
from .lattices import lattice, lowest, to_side
from .p_values import ROUNDING

SPACINGS = (1.6, 0.8, 0.4)
"""Distances between neighbouring lattice points of the successive searches, in standard errors of h."""
FINAL_STEPS = (0.2, 0.1, 0.05)
"""Distances tried about the best pair at the end, in the same units."""
SET_SPACING = 0.8
"""Distance between lattice points of the projected confidence sets, in the same units."""


@dataclass(frozen=True, slots=True)
class Candidates:
    """Points (k, 2) for one of the best points, with T (k,) and draws minus T (k, B), rounding allowed for."""

    points: FloatArray
    statistic: FloatArray
    slack: FloatArray


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class BestPointsSet(Result):
    """Confidence set for the pair of best points, projected on each of them.

    ``best_r`` and ``best_b`` (k, 2): lattice points that belong to an accepted pair; their outlines are convex.
    """

    alpha: float
    best_r: FloatArray
    best_b: FloatArray
    groups: tuple[Label, ...] | None = None

    @property
    def heading(self) -> str:
        """One line that says what this is."""
        return "Confidence set of the best points of the two groups"

    def _facts(self) -> dict[str, object]:
        facts: dict[str, object] = {"alpha": self.alpha}
        for name, points in (("best_r", self.best_r), ("best_b", self.best_b)):
            facts[f"{name}_points"] = len(points)
            if len(points):
                facts |= {f"{name}_low": points.min(axis=0), f"{name}_high": points.max(axis=0)}
        return facts

    def to_dict(self) -> PlainDict:
        """Return plain numbers and text for JSON, with the two outlines."""
        return plain_items(self._facts() | {"outline_r": self.outline_r, "outline_b": self.outline_b})

    def _picture(self) -> Picture:
        r, b = axes_of(self.groups)
        return Picture((r, b)).area(self.outline_r, BLUE, f"best for {r}").area(self.outline_b, ORANGE, f"best for {b}")

    @property
    def outline_r(self) -> FloatArray:
        """Outline (k, 2) of the accepted best points of the first group."""
        return _outline(self.best_r)

    @property
    def outline_b(self) -> FloatArray:
        """Outline (k, 2) of the accepted best points of the second group."""
        return _outline(self.best_b)


@dataclass(frozen=True, slots=True)
class ClosestPair:
    """The pair of the null with the largest p-value."""

    r: FloatArray
    b: FloatArray
    statistic: float
    draws: FloatArray
    p_value: float


def closest_pair(r: ExtremePoint, b: ExtremePoint) -> ClosestPair:
    """Search the pairs of the null, both above or both below the 45-degree line, for the largest p-value.

    The lattices are exhaustive up to their spacing: a point is left out only where no pair with it can have a larger
    p-value than the best pair found. Where none can have more than the smallest possible p-value, the pair with the
    smallest statistic stands for all.
    """
    n_boot = len(r.z_u)
    ceiling = np.sort(r.largest_draws + b.largest_draws)[::-1]
    ends = {above: (lowest(r, above), lowest(b, above)) for above in (True, False)}
    start = min(ends.values(), key=lambda pair: pair[0][0] + pair[1][0])
    best = (0, start[0][1], start[1][1])
    for pair in ends.values():
        best = _better(best, *[_evaluate(point, low[1][None]) for point, low in zip((r, b), pair, strict=True)])
    for spacing in SPACINGS:
        for above, ((least_r, _), (least_b, _)) in ends.items():
            # T(R) + T(B) above this value cannot be reached by more draws than the best pair's
            limit = float(ceiling[min(best[0], n_boot - 1)])
            if least_r + least_b > limit:
                continue
            pairs = zip((r, b), (limit - least_b, limit - least_r), strict=True)
            best = _better(best, *[_evaluate(point, lattice(point, most, spacing, above)) for point, most in pairs])
    for step in FINAL_STEPS:
        for above in (True, False):
            near = [_stencil(at, step * point.unit, above) for at, point in zip(best[1:], (r, b), strict=True)]
            best = _better(best, *[_evaluate(point, some) for point, some in zip((r, b), near, strict=True)])
    (t_r, d_r), (t_b, d_b) = r.test(best[1][None]), b.test(best[2][None])
    return ClosestPair(best[1], best[2], float(t_r[0] + t_b[0]), d_r[0] + d_b[0], (1 + best[0]) / (1 + n_boot))


def balanced_p_value(r: ExtremePoint, b: ExtremePoint) -> float:
    """The p-value of "R lies weakly above the line and B weakly below it".

    Each point is tested by its own part of T, so a pair has the smaller of two p-values, and the largest of them over
    all pairs is the smaller of the two largest. In a joint test of the pair one point that fits could make up for
    another that does not.
    """
    fewest = min(closest_point(r, above=True)[0], closest_point(b, above=False)[0])
    return (1 + fewest) / (1 + len(r.z_u))


def closest_point(point: ExtremePoint, above: bool) -> tuple[int, FloatArray]:
    """Search one side of the line for the point whose statistic most draws reach; returns their number and the point.

    The lattices are exhaustive up to their spacing, as in `closest_pair`.
    """
    ceiling = np.sort(point.largest_draws)[::-1]
    least, start = lowest(point, above)
    best = _most_reached(point, start[None], (0, start))
    for spacing in SPACINGS:
        # T above this value cannot be reached by more draws than the best point's
        limit = float(ceiling[min(best[0], len(ceiling) - 1)])
        if least <= limit:
            best = _most_reached(point, lattice(point, limit, spacing, above), best)
    for step in FINAL_STEPS:
        best = _most_reached(point, _stencil(best[1], step * point.unit, above), best)
    return best


def _most_reached(point: ExtremePoint, points: FloatArray, best: tuple[int, FloatArray]) -> tuple[int, FloatArray]:
    if len(points) == 0:
        return best
    slack = _evaluate(point, points).slack
    reached = np.count_nonzero(slack >= 0.0, axis=1)
    k = int(np.argmax(reached))
    return (int(reached[k]), points[k]) if reached[k] > best[0] else best


def confidence_set(r: ExtremePoint, b: ExtremePoint, alpha: float) -> BestPointsSet:
    """Project the accepted pairs (p-value above ``alpha``) on R and on B."""
    ceiling = np.sort(r.largest_draws + b.largest_draws)[::-1]
    needed = max(int(np.floor(alpha * (1 + len(ceiling)) + ROUNDING)), 1)  # draws at or above T for p > alpha
    limit = float(ceiling[needed - 1])
    lattices = [_evaluate(point, lattice(point, limit, SET_SPACING)) for point in (r, b)]
    counts = []
    for one, other in (lattices, lattices[::-1]):
        likely = other.slack[np.argsort(other.statistic, kind="stable")]
        counts.append(_best_partner(one.slack, likely, np.zeros(len(one.points), dtype=np.intp), needed)[0])
    return BestPointsSet(alpha, *[c.points[count >= needed] for c, count in zip(lattices, counts, strict=True)])


def _better(
    best: tuple[int, FloatArray, FloatArray], one: Candidates, other: Candidates
) -> tuple[int, FloatArray, FloatArray]:
    """The best pair after looking at all pairs of two sets of candidates."""
    if len(one.points) == 0 or len(other.points) == 0:
        return best
    # what the most favourable partner, draw by draw, could do for each point
    bound = np.count_nonzero(one.slack + other.slack.max(axis=0) >= 0.0, axis=1)
    order = np.argsort(-bound, kind="stable")
    likely = np.argsort(other.statistic, kind="stable")
    partners_slack = other.slack[likely]
    for begin in range(0, len(order), 16):
        some = order[begin : begin + 16]
        some = some[bound[some] > best[0]]
        if len(some) == 0:
            break
        floor = np.full(len(some), best[0], dtype=np.intp)
        counts, partners = _best_partner(one.slack[some], partners_slack, floor, one.slack.shape[1])
        k = int(np.argmax(counts))
        if counts[k] > best[0]:
            best = int(counts[k]), one.points[some[k]], other.points[likely[partners[k]]]
    return best


@njit(cache=True, nogil=True)
def _best_partner(one, other, floor, enough):  # type: ignore[no-untyped-def]
    """For each row of ``one`` (k, B) the largest number of draws with one + other >= 0 over the rows of ``other``.

    Returns the counts (``floor`` where no partner has more) and the partners; stops looking at ``enough``.
    """
    n_draws = one.shape[1]
    counts, partners = floor.copy(), np.zeros(one.shape[0], dtype=np.intp)
    for i in range(one.shape[0]):
        for j in range(other.shape[0]):
            if counts[i] >= enough:
                break
            missing_allowed = n_draws - counts[i] - 1
            missing = 0
            for start in range(0, n_draws, 128):
                for k in range(start, min(start + 128, n_draws)):
                    missing += one[i, k] + other[j, k] < 0.0
                if missing > missing_allowed:
                    break
            if missing <= missing_allowed:
                counts[i], partners[i] = n_draws - missing, j
    return counts, partners


def _evaluate(point: ExtremePoint, points: FloatArray) -> Candidates:
    statistic, draws = point.test(points)
    # ties up to rounding count as reaching
    rounding = ROUNDING * float(np.sqrt(point.n_obs) * np.abs(point.h).max())
    return Candidates(points, statistic, draws - statistic[:, None] + rounding)


def _stencil(at: FloatArray, step: float, above: bool) -> FloatArray:
    """Points of one side about a point."""
    offset = step * np.arange(-2, 3)
    return np.unique(to_side(at + np.array([[x, y] for x in offset for y in offset]), above), axis=0)


def _outline(points: FloatArray) -> FloatArray:
    if len(points) < 3:
        return points
    try:
        hull = ConvexHull(points)
    except QhullError:  # all on one line
        return points[np.lexsort(points.T)][[0, -1]]
    outline = points[hull.vertices]
    first = int(np.lexsort((outline[:, 1], outline[:, 0]))[0])  # wherever the hull happened to begin
    return np.roll(outline, -first, axis=0)
