"""Where an algorithm stands: its criteria, and the widths that alternatives must not exceed, chosen on other folds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..arrays import FloatArray, IntArray
from ..errors import InputError
from .criteria import STILL, CriteriaRows
from .dependence import disagreement_factor, step_factor
from .fan import Ratio, Width

UNSEEN = 2.0
"""The square of so many times what a unit can lose beyond the mean, perhaps unseen so far, is added to variances."""


@dataclass(frozen=True, slots=True)
class Standing:
    """Where an algorithm stands: its criteria and widths, theta (J + V,), with their influences.

    ``decisions`` (n,) in the order of the rows; ``influence`` (m, J + V) of the units on theta, ``covariance`` of
    theta; ``shares`` (m, J) of the units in the criteria; ``sizes`` (J,) of what is summed up in each criterion, by
    which rounding is recognised; ``extremes`` (J, 2): the smallest and the largest change of a criterion by selecting a
    row, as a whole. ``rare`` (J, 2): by how much a row with the smallest and one with the largest value, which no row
    may have so far, lower and raise a criterion; ``slopes`` (J + V, J) of theta in the criteria. ``factor``: the
    variance of a rule's value that is missing for each unit of disagreement between the repetitions of the
    cross-fitting, ``step_factor`` that of a step's (see `dependence`); 0 without any.
    """

    decisions: FloatArray
    theta: FloatArray
    influence: FloatArray
    covariance: FloatArray
    shares: FloatArray
    sizes: FloatArray
    extremes: FloatArray
    rare: FloatArray
    slopes: FloatArray
    factor: float = 0.0
    step_factor: float = 0.0

    def unseen(self, q: FloatArray) -> FloatArray:
        """By how much (..., J) forms q'theta, with q (..., J + V), may be too large for want of rare rows.

        Rare small values are missing where a criterion counts for the form, rare large ones where it counts against it.
        """
        along = q @ self.slopes
        found: FloatArray = UNSEEN * np.abs(along) * np.where(along > 0.0, self.rare[:, 0], self.rare[:, 1])
        return found


def stand(
    rows: CriteriaRows,
    decisions: FloatArray,
    widths: Sequence[Width],
    folds: IntArray,
    *,
    kinds: Sequence[Sequence[int]] = (),
) -> Standing:
    """Estimate criteria and widths of an algorithm with ``decisions`` (n,) in the order of the sample.

    A range is the largest of some differences, so its plug-in estimate is biased upwards. Here each fold estimates
    the difference that is largest on the *other* folds: on average it is never larger than the range. In the same way
    a ratio is that of criteria chosen on other folds, never smaller than the ratio of the smallest to the largest.
    ``folds`` (n,) of the cross-fitting, in the order of the sample, keep the rows of a cluster together; ``kinds``:
    criteria that are the same for different groups, so that what can happen in one can happen in the others.
    """
    a = decisions[rows.row]
    value = rows.values(a)
    criteria = rows.by_criterion(value)
    influence = rows.by_unit(value - rows.share * criteria[rows.which])
    estimates, own, slopes = _estimate_widths(rows, value, widths, folds[rows.row])
    both = np.hstack([influence, own])
    theta = np.concatenate([criteria, estimates])
    n_folds, n_rep = len(np.unique(folds)), len(rows.row) // len(folds)
    factors = (disagreement_factor(n_folds), step_factor(n_folds, n_rep)) if n_rep > 1 else (0.0, 0.0)
    sizes = rows.by_criterion(np.abs(rows.base) + np.abs(rows.change))
    shares, extremes = rows.by_unit(rows.share), _extremes(rows, rows.change, kinds)
    ends = [each - rows.share * criteria[rows.which] for each in (rows.base, rows.base + rows.change)]
    least = _extremes(rows, np.minimum(*ends), kinds)[:, 0]
    most = _extremes(rows, np.maximum(*ends), kinds)[:, 1]
    rare, turns = rare_rows(np.square(shares).sum(axis=0), least, most), slopes_of_theta(slopes)
    return Standing(a, theta, both, both.T @ both, shares, sizes, extremes, rare, turns, *factors)


def rare_rows(squares: FloatArray, least: FloatArray, most: FloatArray) -> FloatArray:
    """By how much (J, 2) people as heavy as they are on average and with the rarest values lower and raise criteria.

    ``squares`` (J,) of people's shares summed up; ``least`` and ``most`` (J,): how far a person is off the mean.
    """
    moved: FloatArray = squares[:, None] * np.column_stack([-least, most])
    return np.nan_to_num(moved).clip(min=0.0)


def slopes_of_theta(slopes: FloatArray) -> FloatArray:
    """Slopes (J + V, J) of criteria and widths in the criteria, from those of the widths (V, J)."""
    return np.vstack([np.eye(slopes.shape[1]), slopes])


def _extremes(rows: CriteriaRows, values: FloatArray, kinds: Sequence[Sequence[int]]) -> FloatArray:
    """The smallest and the largest value (J, 2) of each criterion, of which ``values`` (E,) are the entries' parts."""
    counts = rows.share > 0.0
    which, share = rows.which[counts], rows.share[counts]
    typical = np.bincount(which, share**2, rows.n_criteria)
    return extremes_of(which, values[counts] / share, share / typical[which], kinds, rows.n_criteria)


def extremes_of(
    which: IntArray, value: FloatArray, times: FloatArray, kinds: Sequence[Sequence[int]], n_criteria: int
) -> FloatArray:
    """The smallest and the largest of some values (E,) of criteria ``which`` (E,): (J, 2).

    If people have unequal weights, the largest value may belong to a heavy one: values are also taken ``times`` (E,)
    the weight, relative to that of people who count in the same criterion, on average by weight.
    """
    found, heavy = np.zeros((n_criteria, 2)), value * times
    alone = [[int(j)] for j in np.unique(which) if not any(j in kind for kind in kinds)]
    for kind in [*kinds, *alone]:
        on = np.isin(which, list(kind))
        if on.any():
            both = value[on], heavy[on]
            found[list(kind)] = min(x.min() for x in both), max(x.max() for x in both)
    return found


def rounding(standing: Standing, p: FloatArray, q: FloatArray | None = None) -> FloatArray:
    """Up to what size (...,) forms p'gain + q'theta, with p (..., J) and q (..., J + V), are rounding.

    Criteria may have different units, such as profits and rates: the rounding of a form is that of its own terms.
    """
    size = np.abs(p) @ standing.sizes
    found: FloatArray = STILL * (size if q is None else size + np.abs(q) @ np.abs(standing.theta))
    return found


class FoldMeans(NamedTuple):
    """Means (F, J) of the criteria in each fold and in all the others, and the folds' ``size`` (F,)."""

    own: FloatArray
    other: FloatArray
    size: FloatArray

    def usable(self, fold: int, criteria: Sequence[int]) -> bool:
        """Whether a fold and the others know these criteria."""
        at = list(criteria)
        return bool(np.isfinite(self.own[fold, at] + self.other[fold, at]).all())


def _estimate_widths(
    rows: CriteriaRows, value: FloatArray, widths: Sequence[Width], folds: IntArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Widths (V,), each from the criteria that each fold's others choose, influences (m, V), and slopes (V, J)."""
    n, at = rows.n_criteria, rows.entry_rows
    names, code = np.unique(folds, return_inverse=True)
    place = code[at] * n + rows.which
    sums, parts = (
        np.bincount(place, x, minlength=len(names) * n).reshape(-1, n).astype(np.float64) for x in (value, rows.share)
    )  # by fold and criterion
    means = fold_means(sums, parts, np.bincount(code, rows.mass, minlength=len(names)).astype(np.float64))
    estimates, slopes = estimate_widths(means, widths)
    influences = np.zeros((len(rows.unit_stops) - 1, len(widths)))
    for v, slope in enumerate(slopes):
        if slope.any():
            scaled = np.divide(slope, parts, out=np.zeros_like(slope), where=parts > 0.0).ravel()[place]
            centred = scaled * (value - rows.share * np.nan_to_num(means.own).ravel()[place])
            influences[:, v] = rows.by_unit(centred).sum(axis=1)
    return estimates, influences, slopes.sum(axis=1)


def fold_means(sums: FloatArray, parts: FloatArray, size: FloatArray) -> FoldMeans:
    """Means by fold of sums (F, J) over ``parts`` (F, J) of all people who count in a criterion."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return FoldMeans(sums / parts, (sums.sum(axis=0) - sums) / (parts.sum(axis=0) - parts), size)


def estimate_widths(means: FoldMeans, widths: Sequence[Width]) -> tuple[FloatArray, FloatArray]:
    """Widths (V,), each from the criteria that each fold's others choose, and their slopes (V, F, J)."""
    estimates, slopes = np.zeros(len(widths)), np.zeros((len(widths), *means.own.shape))
    for v, width in enumerate(widths):
        if not isinstance(width, tuple):
            estimates[v] = width
        elif isinstance(width, Ratio):
            estimates[v], slopes[v] = _ratio(means, width)
        else:
            estimates[v], slopes[v] = _largest(means, width)
    return estimates, slopes


def _largest(means: FoldMeans, pairs: Sequence[tuple[int, int]]) -> tuple[float, FloatArray]:
    """The mean over folds of the difference that is largest on the others, and its slopes (F, J)."""
    slope = np.zeros_like(means.own)
    for f in range(len(slope)):
        usable = [pair for pair in pairs if means.usable(f, pair)]
        if usable:
            g, h = max(usable, key=lambda pair: means.other[f, pair[0]] - means.other[f, pair[1]])
            slope[f, g], slope[f, h] = means.size[f], -means.size[f]
    return _sum(slope, means), slope


def _ratio(means: FoldMeans, ratio: Ratio) -> tuple[float, FloatArray]:
    """Mean over folds of the criterion smallest on the others over that of the largest, and its slopes (F, J)."""
    low, high = np.zeros_like(means.own), np.zeros_like(means.own)
    for f in range(len(low)):
        usable = [g for g in ratio.members if means.usable(f, [g])]
        if usable:
            low[f, min(usable, key=lambda g: means.other[f, g])] = means.size[f]
            high[f, max(usable, key=lambda g: means.other[f, g])] = means.size[f]
    smallest, largest = _sum(low, means), _sum(high, means)
    if not largest > 0.0:
        raise InputError(
            "undefined-rate",
            "So few people are selected that the ratio of selection rates cannot be estimated: in the parts of the "
            "rows that are compared, nobody of the group with the higher rate in the others is selected. Ask for "
            'fairness="selection-rate", or about decisions that select more people.',
        )
    found = smallest / largest
    slope: FloatArray = (low - found * high) / largest
    return found, slope


def _sum(slope: FloatArray, means: FoldMeans) -> float:
    return float(np.where(slope != 0.0, slope * np.nan_to_num(means.own), 0.0).sum())
