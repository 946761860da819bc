"""Confidence intervals for the distance between an algorithm's risks and the fairest point F.

Where F lies depends on where the feasible set lies, so there are three cases, and the interval is their union:

* the set crosses the 45-degree line: F = -(1, 1) inf_c h(u1 - c(1, -1)), estimated directly;
* it lies above or below the line: F is the point at which (1, -1) or (-1, 1) supports the set, and is found by
  inverting the test of that point, through h only.

``paper``: exact infimum of h^, draws by the numerical directional derivative (or, without kinks, the closed-form
limit), symmetric interval. ``sharp``: the direction of F is chosen by the plug-in criterion, which avoids the bias of
minimising the noisy h^; the distance is recomputed in every draw, and its quantiles are the ends of the interval, the
lower one 0 where the data do not tell the algorithm's risks from F, and no larger than the smallest distance that F's
own interval allows. Two errors do not show in the draws. The learned
rule's value makes F too high, by its regret, and a direction that is not quite F's makes it too low, since F is the
largest value over directions. If refits estimated the regret it is taken off. If not, the interval also covers F less
the regret that the repetitions of the cross-fitting tell of, the plug-in value of F, which takes the learned nuisances
at their word and is, for noisy ones, too low, and the exact infimum, which is too high.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from weakref import WeakKeyDictionary

import numpy as np

from ...arrays import FloatArray
from ...bootstrap.draws import DrawingContext
from ...frontier.sets import sharp_fairest
from ...frontier.support import Position, group_means
from ..best_points import QUARTER, ExtremePoint, extreme_points
from ..lattices import lattice
from ..p_values import critical_value, kappa, step_size
from .crossing import Crossing, Method, crossing_draws
from .metrics import Metric

DIRECTIONS = 200
"""Directions of the window in which candidates for F to one side of the line must be feasible."""
SPACING = 0.8
"""Distance between neighbouring candidates for F to one side of the line, in standard errors of h."""
ENDS = np.array([[1.0, -1.0], [-1.0, 1.0]]) / np.sqrt(2.0)
"""Directions that support the set at F where it lies above, and where it lies below the line."""


Accepted = tuple[FloatArray, FloatArray] | None
"""Candidates (k, 2) for F and how far (k,) the algorithms' risks may be off; None if no candidate passes."""


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Fairest:
    """All that the data say about F and the algorithms' distances to it, whatever the level.

    ``point`` (2,) and ``direction`` (2,) of the estimate; ``position`` the case it belongs to; ``ruled_out`` why cases
    do not contribute; ``crossing`` and ``sides`` what the others need.
    """

    method: Method
    point: FloatArray
    direction: FloatArray
    position: Position
    ruled_out: dict[Position, str]
    crossing: Crossing | None
    sides: dict[Position, ExtremePoint]
    risks: FloatArray
    risk_noise: FloatArray
    n_obs: int

    def distance_parts(self, metric: Metric, j: int, alpha: float) -> dict[Position, tuple[float, float] | None]:
        """Interval for the distance of algorithm ``j`` in every case that is left, None where nothing is accepted."""
        parts: dict[Position, tuple[float, float] | None] = {}
        if (c := self.crossing) is not None:
            low, high = c.interval(_distance_of(metric, j), alpha)
            if c.step is None:
                low = 0.0 if c.at_fairest(j) > alpha else min(low, c.nearest(metric, j, alpha))
            parts["crosses"] = max(low, 0.0), max(high, 0.0)
        for position, side in self.sides.items():
            found = self._accepted(side, position, [j], alpha)
            parts[position] = None if found is None else _range_of_distance(metric, self.risks[j], *found)
        return parts

    def difference_parts(
        self, metric: Metric, i: int, j: int, alpha: float
    ) -> dict[Position, tuple[float, float] | None]:
        """Interval for the distance of algorithm ``i`` minus that of ``j`` in every case that is left."""
        parts: dict[Position, tuple[float, float] | None] = {}
        if (c := self.crossing) is not None:
            first, second = _distance_of(metric, i), _distance_of(metric, j)
            parts["crosses"] = c.interval(lambda risks, f: first(risks, f) - second(risks, f), alpha)
        for position, side in self.sides.items():
            found = self._accepted(side, position, [i, j], alpha)
            if found is None:
                parts[position] = None
                continue
            # both algorithms may use the whole of what is left to them: wider than need be, never too narrow
            ranges = [_distance_limits(metric, self.risks[k], *found) for k in (i, j)]
            parts[position] = (
                float((ranges[0][0] - ranges[1][1]).min()),
                float((ranges[0][1] - ranges[1][0]).max()),
            )
        return parts

    def point_parts(self, alpha: float) -> dict[Position, FloatArray | None]:
        """Intervals (2, 2), one row per group, for the coordinates of F in every case that is left."""
        parts: dict[Position, FloatArray | None] = {}
        if (c := self.crossing) is not None:
            parts["crosses"] = np.tile(c.interval(lambda _, f: f, alpha), (2, 1))
        for position, side in self.sides.items():
            found = self._accepted(side, position, [], alpha)
            parts[position] = None if found is None else np.column_stack([found[0].min(axis=0), found[0].max(axis=0)])
        return parts

    def _accepted(self, side: ExtremePoint, position: Position, algorithms: list[int], alpha: float) -> Accepted:
        """Candidates (k, 2) for F that are not rejected, and how far (k,) the algorithms' risks may then be off.

        The statistic adds to that of F the distance of the risks from their estimates, sqrt(n) sum |e~ - e^|.
        """
        known = _SEARCHES.setdefault(self, {})
        key = (position, tuple(algorithms), alpha)
        if key not in known:
            noise = self.risk_noise[:, algorithms].sum(axis=1)
            own = np.vstack([self.point, self.risks[algorithms]])
            known[key] = self._search(side, position == "above", own, noise, alpha)
        return known[key]

    def _search(self, side: ExtremePoint, above: bool, own: FloatArray, noise: FloatArray, alpha: float) -> Accepted:
        """Look at a lattice, at the estimate and at the risks themselves, so that a distance of 0 is not overlooked."""
        ceiling = critical_value(side.largest_draws + noise, alpha)
        on_side = own[own[:, 1] >= own[:, 0]] if above else own[own[:, 1] <= own[:, 0]]
        points = np.vstack([lattice(side, ceiling, SPACING, above), on_side])
        if len(points) == 0:
            return None
        statistic, draws = side.test(points)
        room = np.array([critical_value(row + noise, alpha) for row in draws]) - statistic
        kept = room >= 0.0
        if not kept.any():
            return None
        reach = room[kept] / np.sqrt(self.n_obs) if noise.any() else np.zeros(int(kept.sum()))
        return points[kept], reach


_SEARCHES: WeakKeyDictionary[Fairest, dict[tuple[object, ...], Accepted]] = WeakKeyDictionary()
"""Searches already done, for as long as the evidence they belong to is in use."""


def fairest_evidence(
    context: DrawingContext, losses: FloatArray, fixed: FloatArray, method: Method, *, kinks: bool = False
) -> Fairest:
    """Estimate F and draw what intervals need, for algorithms with row losses (J, n) and fixed risk pairs (K, 2)."""
    function = context.function
    s, n = function.scores, function.n_obs
    estimated = np.array([group_means(loss, s.group, s.weight)[0] for loss in losses]).reshape(-1, 2)
    risks = np.vstack([estimated, fixed])
    h_ends = function.estimate.h(ENDS)
    if method == "sharp" and context.regret is not None:
        h_ends = h_ends + context.regret.mean(ENDS)
    crossing, q = crossing_draws(context, losses, risks, method, kinks)
    ruled_out = _locate(h_ends, s.unit * kappa(n) / np.sqrt(n), q is not None)
    sides = _sides(context, ruled_out, method)
    noise = np.zeros((context.n_boot, len(risks)))
    if len(losses) and sides:
        draws = context.draw(ENDS[:1], losses)
        noise[:, : len(losses)] = np.abs(draws.z_risks()).sum(axis=2)
    position: Position = "crosses"
    if crossing is not None and q is not None and "crosses" not in ruled_out:
        point, direction = np.full(2, crossing.f), q
    else:
        crossing = None
        position, direction, point = _beside_the_line(context, sides, h_ends, method)
    return Fairest(method, point, direction, position, ruled_out, crossing, sides, risks, noise, n)


def _sides(context: DrawingContext, ruled_out: Mapping[Position, str], method: Method) -> dict[Position, ExtremePoint]:
    """Draw what the test of F needs in the cases that the set lies above or below the line, unless ruled out."""
    names: tuple[Position, Position] = ("above", "below")
    kept = [k for k, name in enumerate(names) if name not in ruled_out]
    if not kept:
        return {}
    n = context.function.n_obs
    if method == "sharp":
        step = float(kappa(n) / np.sqrt(n))
        found = extreme_points(context, ENDS[kept], DIRECTIONS, window=QUARTER, step=step, hold_rules=True)
    else:
        found = extreme_points(replace(context, regret=None, n_folds=0), ENDS[kept], step=step_size(n))
    return {names[k]: point for k, point in zip(kept, found, strict=True)}


def _beside_the_line(
    context: DrawingContext, sides: Mapping[Position, ExtremePoint], h_ends: FloatArray, method: Method
) -> tuple[Position, FloatArray, FloatArray]:
    """Position of a set that misses the line, direction (2,) and estimate (2,) of F."""
    position: Position = "above" if "above" in sides and ("below" not in sides or h_ends[0] <= h_ends[1]) else "below"
    if method == "sharp" and len(sides) == 2:  # both are possible: the one that `points_` shows
        shown = sharp_fairest(context.function)[2]
        position = shown if shown in sides else position
    direction = ENDS[0] if position == "above" else ENDS[1]
    point = context.function.estimate.support_set(direction, tie=(-1.0, -1.0))[0]
    if method == "sharp" and context.regret is not None:
        point = point + context.regret.mean_pair(direction[None])[0]
    return position, direction, point


def _locate(h_ends: FloatArray, margin: float, meets_line: bool) -> dict[Position, str]:
    """Rule out cases by where the set lies, with kappa_n / sqrt(n) as the margin of doubt."""
    reaches_below, reaches_above = h_ends > margin
    misses_below, misses_above = h_ends < -margin
    if misses_below and misses_above:  # an empty estimated set: the wider miss decides
        misses_below = bool(h_ends[0] <= h_ends[1])
        misses_above = not misses_below
    ruled_out: dict[Position, str] = {}
    if misses_below or misses_above:
        ruled_out["crosses"] = "the estimated set lies clearly to one side of the 45-degree line"
    elif not meets_line:
        ruled_out["crosses"] = "the estimated set does not meet the 45-degree line"
    if reaches_below or misses_above:
        ruled_out["above"] = "the estimated set reaches clearly below the 45-degree line"
    if reaches_above or misses_below:
        ruled_out["below"] = "the estimated set reaches clearly above the 45-degree line"
    if len(ruled_out) == 3:  # an empty estimated set contradicts itself
        ruled_out = {}
        if not meets_line:
            ruled_out["crosses"] = "the estimated set does not meet the 45-degree line"
    return ruled_out


def _distance_of(metric: Metric, j: int) -> Callable[[FloatArray, FloatArray], FloatArray]:
    """Distance between algorithm ``j`` and the point (f, f), as a function of the risks (..., J, 2) and of f (...)."""
    return lambda risks, f: metric.between(risks[..., j, :], np.stack([f, f], axis=-1))


def _range_of_distance(metric: Metric, risk: FloatArray, points: FloatArray, reach: FloatArray) -> tuple[float, float]:
    low, high = _distance_limits(metric, risk, points, reach)
    return float(low.min()), float(high.max())


def _distance_limits(
    metric: Metric, risk: FloatArray, points: FloatArray, reach: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Smallest and largest distance (k,) between F in ``points`` (k, 2) and risks within ``reach`` (k,) of ``risk``.

    Risks lie in the square |e~_r - e_r| + |e~_b - e_b| <= reach. A convex distance is largest at a corner; it is 0
    where F lies in the square and else smallest on an edge, found by ternary search.
    """
    offset = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]])
    corners = risk + reach[:, None, None] * offset
    high = metric.between(corners, points[:, None]).max(axis=1)
    low = np.zeros(len(points))
    outside = np.flatnonzero(np.abs(points - risk).sum(axis=1) > reach)
    start, stop = corners[outside], np.roll(corners[outside], -1, axis=1)
    f = points[outside][:, None]
    first, last = np.zeros(start.shape[:2]), np.ones(start.shape[:2])
    best = np.minimum(metric.between(start, f), metric.between(start + (stop - start) * 0.5, f))
    for _ in range(40 if reach.any() else 0):
        third = (last - first) / 3.0
        left, right = first + third, last - third
        at_left, at_right = (metric.between(start + (stop - start) * x[..., None], f) for x in (left, right))
        best = np.minimum(best, np.minimum(at_left, at_right))
        first, last = np.where(at_left <= at_right, first, left), np.where(at_left <= at_right, right, last)
    if len(outside):
        low[outside] = best.min(axis=1)
    return low, high
