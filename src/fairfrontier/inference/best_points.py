"""Tests that given pairs are the best points (R, B) of the two groups, through the support function alone.

R is the point of the set with h(u1) = u1'R, and B that with h(u2) = u2'B. So the statistic is a sum of two parts,

    T(R, B) = sqrt(n) sum over (e, u) in {(R, u1), (B, u2)} of [max_q q'e - h(q)]_+ + [u'e - h(u)]_-,

and a draw under the null is a sum of the four (numerical) directional derivatives: as published ([max moved]_+ -
[max]_+) / s_n for the first kind of part, the positive part for the other. The same two parts, with another direction
u, serve for the fairest point of a set that lies to one side of the 45-degree line. Procedures of ours take the
positive part of the first kind, too, and without [.]_+ inside, which is more cautious.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from ..arrays import BoolArray, FloatArray
from ..bootstrap.draws import DrawingContext
from ..bootstrap.exact import perturbed_parts
from ..data.checks import check_level
from ..data.notebook import BLUE, ORANGE, Picture
from ..data.reading import Label
from ..data.result import PlainDict, Result, axes_of, labels, plain_items
from ..frontier.plane import U1, U2, unit_circle
from .learned import allows_for_learning, correct, draw_learned
from .p_values import ROUNDING, count_reaching, critical_value, critical_value_error, step_size
from .points import BLOCK, GRID, shifted_max

QUARTER = np.pi / 4.0
"""The published directions lie in the quarter circle about a point's own direction, so far to either side."""


@dataclass(frozen=True, slots=True)
class ExtremePoint:
    """Estimates and draws of h for the test that a point is the one at which direction ``u`` supports the set.

    ``q`` (K, 2): directions in which the point must be feasible, with ``h`` (K,) and ``z`` (K, B) = sqrt(n)(h~ - h^);
    ``h_u`` and ``z_u`` (B,) the same at ``u`` (2,). ``step`` of the numerical directional derivative. ``estimate`` (2,)
    is the point estimated to be the one. ``published``: whether draws are those of the published test.
    """

    u: FloatArray
    q: FloatArray
    h: FloatArray
    z: FloatArray
    h_u: float
    z_u: FloatArray
    n_obs: int
    step: float
    estimate: FloatArray
    published: bool = False

    @property
    def unit(self) -> float:
        """A typical standard error of h, in which distances between lattice points are measured."""
        noise = float(np.sqrt((self.z**2).mean() / self.n_obs))
        size = float(np.abs(self.h).max())
        if noise > ROUNDING * size:
            return noise
        return 0.01 * size or 1.0  # nothing varies: any small distance will do

    @property
    def largest_draws(self) -> FloatArray:
        """What the draws (B,) cannot exceed, wherever the point lies."""
        largest: FloatArray = np.maximum(-self.z.min(axis=0), 0.0) + np.maximum(self.z_u, 0.0)
        return largest

    def statistic(self, points: FloatArray) -> FloatArray:
        """T (k,) of points (k, 2)."""
        blocks = [points[i : i + BLOCK] @ self.q.T - self.h for i in range(0, len(points), BLOCK)]
        most = np.concatenate([block.max(axis=1) for block in blocks]) if blocks else np.empty(0)
        return self._total(points, most)

    def test(self, points: FloatArray) -> tuple[FloatArray, FloatArray]:
        """T (k,) and its draws (k, B) under the null, for points (k, 2)."""
        shift = self.step * self.z
        statistics, draws = [np.empty(0)], [np.empty((0, self.z.shape[1]))]
        for begin in range(0, len(points), BLOCK):
            some = points[begin : begin + BLOCK]
            excess = some @ self.q.T - self.h
            most = excess.max(axis=1)
            moved = shifted_max(excess, shift)
            if self.published:
                change = np.maximum(moved, 0.0) - np.maximum(most, 0.0)[:, None]
            else:
                change = np.maximum(moved - most[:, None], 0.0)
            statistics.append(self._total(some, most))
            draws.append(change / self.step + np.maximum(self.z_u, 0.0))
        return np.concatenate(statistics), np.concatenate(draws)

    def _total(self, points: FloatArray, most: FloatArray) -> FloatArray:
        inside = np.maximum(self.h_u - points @ self.u, 0.0)
        total: FloatArray = np.sqrt(self.n_obs) * (np.maximum(most, 0.0) + inside)
        return total


def extreme_points(
    context: DrawingContext,
    supports: FloatArray,
    directions: int = GRID,
    *,
    window: float | None = None,
    step: float | None = None,
    hold_rules: bool = False,
) -> list[ExtremePoint]:
    """Draw what is needed to test the points at which the ``supports`` (k, 2) support the set.

    ``directions``: number of directions round the circle in which a point must be feasible, or with ``window`` in the
    arc of that many radians to either side of its support. Each support is among them. ``step`` of the derivative:
    default the published one, and with it the published draws.
    """
    published = step is None
    step = step_size(context.function.n_obs) if step is None else step
    if window is not None:
        angle = np.arctan2(supports[:, 1], supports[:, 0])
        grids = [
            np.vstack([unit_circle(directions, a - window, a + window, endpoint=True), u[None]])
            for a, u in zip(angle, supports, strict=True)
        ]
    else:
        grids = [np.vstack([unit_circle(directions), u[None]]) for u in supports]
    draws = correct(context, draw_learned(context, np.vstack(grids), hold_rules=hold_rules))
    estimates = context.function.estimate.support_set(supports, tie=(-1.0, -1.0))
    if context.regret is not None:
        estimates = estimates + context.regret.mean_pair(supports)
    z, found, begin = draws.z_h().T, [], 0
    for grid, u, estimate in zip(grids, supports, estimates, strict=True):
        own = slice(begin, begin + len(grid))
        begin += len(grid)
        h = draws.h_hat[own]
        own_z = np.ascontiguousarray(z[own])
        found.append(ExtremePoint(u, grid, h, own_z, float(h[-1]), own_z[-1], draws.n_obs, step, estimate, published))
    return found


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class BestPointTests(Result):
    """Tests that pairs of points are the best points of the two groups; the null of each is that they are.

    ``best_r`` and ``best_b`` (k, 2) are the risk pairs tested as best points of the first and of the second group;
    ``statistic`` (k,), ``draws`` (k, B) under the null, ``p_value`` (k,).
    """

    groups: tuple[Label, Label]
    alpha: float
    best_r: FloatArray
    best_b: FloatArray
    statistic: FloatArray
    draws: FloatArray
    p_value: FloatArray

    @property
    def heading(self) -> str:
        """The question that is answered."""
        return "Are these the best points of the two groups?"

    @property
    def critical_value(self) -> FloatArray:
        """Values (k,) that the statistics must exceed."""
        return np.array([critical_value(row, self.alpha) for row in self.draws])

    @property
    def critical_value_error(self) -> FloatArray:
        """Standard errors (k,) of the critical values due to the finite number of draws."""
        return np.array([critical_value_error(row, self.alpha) for row in self.draws])

    @property
    def reject(self) -> BoolArray:
        """Whether each pair is rejected."""
        rejected: BoolArray = self.p_value <= self.alpha
        return rejected

    def at(self, alpha: float) -> BestPointTests:
        """The same draws judged at another level."""
        return replace(self, alpha=check_level(alpha, self.draws.shape[1]))

    def to_frame(self) -> pd.DataFrame:
        """One row per pair of points."""
        columns: dict[str, Any] = {}
        for label, points in zip(self.groups, (self.best_r, self.best_b), strict=True):
            columns |= {f"best for {label}: risk {group}": points[:, j] for j, group in enumerate(self.groups)}
        columns |= {
            "statistic": self.statistic,
            "critical_value": self.critical_value,
            "p_value": self.p_value,
            "reject": self.reject,
        }
        return pd.DataFrame(columns)

    def _facts(self) -> dict[str, object]:
        return {
            "groups": labels(self.groups),
            "alpha": self.alpha,
            "best_r": self.best_r,
            "best_b": self.best_b,
            "statistic": self.statistic,
            "p_value": self.p_value,
            "reject": self.reject,
            "n_boot": self.draws.shape[1],
        }

    def to_dict(self) -> PlainDict:
        """Return plain numbers and text for JSON, one entry of each list per pair of points."""
        more = {"critical_value": self.critical_value, "critical_value_error": self.critical_value_error}
        return plain_items(self._facts() | more)

    def _verdict(self) -> str:
        return f"{int(self.reject.sum())} of {len(self.best_r)} pairs rejected"

    def _frame(self) -> pd.DataFrame:
        return self.to_frame()

    def _picture(self) -> Picture:
        plane = Picture(axes_of(self.groups)).points(self.best_r, BLUE, f"best for {self.groups[0]}?")
        return plane.points(self.best_b, ORANGE, f"best for {self.groups[1]}?")


def best_point_tests(
    context: DrawingContext,
    R: FloatArray,
    B: FloatArray,
    *,
    groups: tuple[Label, Label],
    alpha: float,
    directions: int | None = None,
) -> BestPointTests:
    """Test pairs of points (k, 2) and (k, 2).

    ``directions``: None for exact extrema over all directions, or, where the repetitions of the cross-fitting or refits
    tell how far learned rules may be off, for a grid of directions and draws that allow for it; or the number of
    directions in each of the published windows, as published.
    """
    statistic, draws = _statistics(context, R, B, directions)
    size = max(context.function.size, float(np.abs(R).max()), float(np.abs(B).max()))
    reaching = count_reaching(draws.T, statistic, float(np.sqrt(context.function.n_obs)) * size)
    return BestPointTests(groups, alpha, R, B, statistic, draws, (1 + reaching) / (1 + draws.shape[1]))


def _statistics(
    context: DrawingContext, R: FloatArray, B: FloatArray, directions: int | None
) -> tuple[FloatArray, FloatArray]:
    """T(R, B) (k,) and its draws (k, B)."""
    supports = np.array([U1, U2])
    if directions is not None:
        points = extreme_points(replace(context, n_folds=0), supports, directions, window=QUARTER)
    elif allows_for_learning(context):
        points = extreme_points(context, supports)
    else:
        return _exact_statistics(context, R, B)
    (t_r, d_r), (t_b, d_b) = points[0].test(R), points[1].test(B)
    return t_r + t_b, d_r + d_b


def _exact_statistics(context: DrawingContext, R: FloatArray, B: FloatArray) -> tuple[FloatArray, FloatArray]:
    function, both = context.function, np.vstack([R, B])
    arcs, step, root = function.estimate, step_size(function.n_obs), np.sqrt(function.n_obs)
    most = np.array([arcs.max_excess(e).value for e in both])
    ends = context.draw(np.array([U1, U2]))
    inside = np.concatenate([ends.h_hat[0] - R @ U1, ends.h_hat[1] - B @ U2])
    nobody = np.empty((0, function.scores.n_rows))
    moved = perturbed_parts(
        function, nobody, both, step, n_boot=context.n_boot, seed=context.seed, n_jobs=context.n_jobs
    )[0].T
    z = np.maximum(ends.z_h(), 0.0).T
    draws = (np.maximum(moved, 0.0) - np.maximum(most, 0.0)[:, None]) / step
    statistic = root * (np.maximum(most, 0.0) + np.maximum(inside, 0.0))
    k = len(R)
    return statistic[:k] + statistic[k:], draws[:k] + draws[k:] + z[0] + z[1]
