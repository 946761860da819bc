"""Lattices of the risk pairs that a test of an extreme point may accept."""

from __future__ import annotations

import numpy as np

from ..arrays import FloatArray
from .best_points import ExtremePoint

MOST_SQUARES = 512
"""Squares kept in the search for the smallest statistic."""
MOST_POINTS = 20_000
"""About the size of the largest lattice: where a set is very long beside the noise, its points lie farther apart."""


def to_side(points: FloatArray, above: bool) -> FloatArray:
    """Keep points on one side of the 45-degree line and move the others onto it."""
    difference = points[:, 1] - points[:, 0]
    wrong = difference < 0.0 if above else difference > 0.0
    return np.where(wrong[:, None], points.mean(axis=1)[:, None], points)


def _reach(point: ExtremePoint, limit: float) -> float:
    """Largest coordinate of a point with T at most ``limit``: it satisfies q'e <= h(q) + limit / sqrt(n).

    The directions may cover a quarter circle only: those at its ends and u'e >= h(u) - limit / sqrt(n) then bound
    a point by (1 + sqrt(2)) (max |h| + limit / sqrt(n)). The smallest T of a side is at most sqrt(n) (1 + sqrt(2))
    max |h|, so that it lies within 6 max |h|.
    """
    return 6.0 * float(np.abs(point.h).max()) + 2.5 * limit / float(np.sqrt(point.n_obs))


def lowest(point: ExtremePoint, above: bool) -> tuple[float, FloatArray]:
    """Smallest T on one side of the 45-degree line and the point that has it, by squares that halve."""
    root, side = np.sqrt(point.n_obs), max(2.0 * _reach(point, 0.0), 0.02 * point.unit)
    centres = np.zeros((1, 2))
    # where nothing varies the estimate is the only point that will do, and no lattice meets it exactly
    at = to_side(point.estimate[None], above)[0]
    best = float(point.statistic(at[None])[0])
    while side > 0.01 * point.unit:
        nearest = to_side(centres, above)
        values = point.statistic(nearest)
        k = int(np.argmin(values))
        if values[k] < best:
            best, at = float(values[k]), nearest[k]
        # T is Lipschitz with constant 2 sqrt(n), and no point of the square is farther off than its diagonal
        promising = np.flatnonzero(values <= best + 2.0 * root * side * np.sqrt(2.0))
        if len(promising) > MOST_SQUARES:  # a flat bottom: any of its points will do
            promising = np.argsort(values, kind="stable")[:MOST_SQUARES]
        centres = np.vstack([centres[promising], at])  # the squares about the best point may be among those cut off
        side, centres = side / 2.0, _quarters(centres, side / 2.0)
    return best, at


def _quarters(centres: FloatArray, side: float) -> FloatArray:
    """Centres of the four squares of the given side that each square is made of."""
    corner = side / 2.0 * np.array([[-1.0, -1.0], [-1.0, 1.0], [1.0, -1.0], [1.0, 1.0]])
    quarters: FloatArray = (centres[:, None] + corner).reshape(-1, 2)
    return quarters


def lattice(point: ExtremePoint, limit: float, spacing: float, above: bool | None = None) -> FloatArray:
    """Lattice points ``spacing`` standard errors apart that matter for T <= ``limit``, on one side if asked.

    T is Lipschitz with constant 2 sqrt(n), so squares whose centre is too far above the limit are dropped on the way
    down from one square that holds all points with T <= limit. Squares across the line are moved onto it.
    """
    root = np.sqrt(point.n_obs)
    last = spacing * point.unit
    side = last * 2.0 ** int(np.ceil(np.log2(max(2.0 * _reach(point, limit) / last, 1.0))))
    centres = np.zeros((1, 2))
    while True:
        centres = centres[point.statistic(centres) <= limit + 2.0 * root * side * np.sqrt(0.5)]
        if above is not None:
            beyond = (centres[:, 0] - centres[:, 1]) * (1.0 if above else -1.0)
            centres = centres[beyond < side * (1.0 - 1e-9)]  # squares with a part on this side, not only a corner
        if side <= last * (1.0 + 1e-9) or len(centres) == 0 or 2 * len(centres) > MOST_POINTS:
            break
        side, centres = side / 2.0, _quarters(centres, side / 2.0)
    return centres if above is None else np.unique(to_side(centres, above), axis=0)
