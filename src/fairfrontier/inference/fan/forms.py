"""Linear forms of estimated criteria together: covariances by one pass over the rows, and the largest of them."""

from __future__ import annotations

import numpy as np

from ...arrays import FloatArray, IntArray
from ...fit import Fit
from ...frontier.criteria import STILL, CriteriaRows
from ...frontier.fan import Aims, Fan, by_group
from ...frontier.standing import Standing, stand

BLOCK = 2_000_000
"""Numbers held at a time."""
N_FOLDS = 5
"""Folds by which widths are estimated where the predictions come from outside."""


def folds_of(fit: Fit) -> IntArray:
    """Folds of the people; predictions from outside have none, so rows are dealt to some, or clusters."""
    if fit.nuisance.folds is not None:
        return np.asarray(fit.nuisance.folds[0])
    s = fit.sample
    rng = np.random.default_rng(fit.seeds.learning)
    if s.clusters is not None:
        return np.asarray((rng.permutation(int(s.clusters.max()) + 1) % N_FOLDS)[s.clusters])
    folds = np.empty(s.n_obs, dtype=np.intp)
    for rows in s.rows_by_group:
        folds[rng.permutation(rows)] = np.arange(len(rows)) % N_FOLDS
    return folds


def standing_of(
    rows: CriteriaRows, decisions: FloatArray, folds: IntArray, aims: Aims | None = None
) -> tuple[Fan, Standing]:
    """The fan of an algorithm, in the order of its estimated criteria, and where the algorithm stands."""
    aims = by_group(rows.n_criteria) if aims is None else aims
    standing = stand(rows, decisions, aims.widths, folds, kinds=aims.kinds)
    return aims.fan(standing.theta), standing


def direction_forms(rows: CriteriaRows, standing: Standing, directions: FloatArray) -> tuple[FloatArray, FloatArray]:
    """For directions p (F, J): p'(c* - c) of the best rule by prediction for p (F,), and their covariance (F, F)."""
    covariance = np.zeros((len(directions),) * 2)
    blocks = blocks_of(rows, max(1, BLOCK // len(directions)))
    gains, cutoffs = np.zeros((len(directions), rows.n_criteria)), rows.cutoffs(directions)
    for start, stop in blocks:
        x, _, which, _ = gains_of_rules(rows, standing, directions, cutoffs, start=start, stop=stop)
        for j in range(rows.n_criteria):
            gains[:, j] += x[which == j].sum(axis=0)
    value = np.einsum("fj,fj->f", directions, gains)
    for start, stop in blocks:
        x, share, which, units = gains_of_rules(rows, standing, directions, cutoffs, start=start, stop=stop)
        centred = directions.T[which] * (x - share[:, None] * gains.T[which])
        by_unit = np.add.reduceat(centred, units, axis=0)
        covariance += by_unit.T @ by_unit
    return value, covariance


def blocks_of(rows: CriteriaRows, size: int) -> list[tuple[int, int]]:
    """First and last unit of blocks of about ``size`` rows."""
    stops, blocks, start = rows.unit_stops, [], 0
    while start < len(stops) - 1:
        stop = max(start + 1, int(np.searchsorted(stops, stops[start] + size, side="right")) - 1)
        blocks.append((start, stop))
        start = stop
    return blocks


def gains_of_rules(
    rows: CriteriaRows,
    standing: Standing,
    directions: FloatArray,
    cutoffs: FloatArray,
    *,
    start: int,
    stop: int,
) -> tuple[FloatArray, FloatArray, IntArray, IntArray]:
    """Gains (E, F) of the entries of some units, their shares and criteria (E,), and where each unit begins."""
    first, last = rows.unit_stops[start], rows.unit_stops[stop]
    selected = rows.selected(directions, cutoffs, slice(first, last))
    moved = (standing.decisions - rows.lower)[first:last, None] - rows.spread[first:last, None] * selected
    entries = slice(rows.entry_stops[first], rows.entry_stops[last])
    of_row = np.repeat(np.arange(last - first), np.diff(rows.entry_stops[first : last + 1]))
    units = rows.entry_stops[rows.unit_stops[start:stop]] - rows.entry_stops[first]
    return rows.change[entries, None] * moved[of_row], rows.share[entries], rows.which[entries], units


def draw_largest(covariance: FloatArray, n_draws: int, seed: np.random.SeedSequence) -> FloatArray:
    """Draws (B,) of the largest of normal variables in standard errors; those that do not vary have no say."""
    spread = np.sqrt(np.diag(covariance))
    varies = spread > STILL * max(float(spread.max(initial=0.0)), 1e-300)
    if not varies.any():
        return np.zeros(n_draws)
    own = covariance[np.ix_(varies, varies)] / np.outer(spread[varies], spread[varies])
    normal = np.random.default_rng(seed).standard_normal((n_draws, len(own)))
    largest: FloatArray = (normal @ square_root(own)).max(axis=1)
    return largest


def square_root(covariance: FloatArray) -> FloatArray:
    """The symmetric root of a covariance, which rounding of the covariance does not turn."""
    values, vectors = np.linalg.eigh(covariance)
    root: FloatArray = (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
    return root


def criteria_forms(rows: CriteriaRows, directions: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Criteria (F, J) of the rule that is best for each p (F, J) by prediction, and the covariance (F, F) of p'c."""
    covariance, criteria = np.zeros((len(directions),) * 2), np.zeros(directions.shape)
    blocks = blocks_of(rows, max(1, BLOCK // len(directions)))
    for start, stop in blocks:
        x, which, _, _ = _values_of_rules(rows, directions, start, stop)
        for j in range(rows.n_criteria):
            criteria[:, j] += x[which == j].sum(axis=0)
    for start, stop in blocks:
        x, which, share, units = _values_of_rules(rows, directions, start, stop)
        centred = directions.T[which] * (x - share[:, None] * criteria.T[which])
        by_unit = np.add.reduceat(centred, units, axis=0)
        covariance += by_unit.T @ by_unit
    return criteria, covariance


def _values_of_rules(
    rows: CriteriaRows, directions: FloatArray, start: int, stop: int
) -> tuple[FloatArray, IntArray, FloatArray, IntArray]:
    """Values (E, F) of the entries of some units under rules, their criteria and shares (E,), and where units begin."""
    first, last = rows.unit_stops[start], rows.unit_stops[stop]
    selected = rows.vectors[first:last] @ directions.T < 0.0
    chances = rows.lower[first:last, None] + rows.spread[first:last, None] * selected
    entries = slice(rows.entry_stops[first], rows.entry_stops[last])
    of_row = np.repeat(np.arange(last - first), np.diff(rows.entry_stops[first : last + 1]))
    units = rows.entry_stops[rows.unit_stops[start:stop]] - rows.entry_stops[first]
    x = rows.base[entries, None] + rows.change[entries, None] * chances[of_row]
    return x, rows.which[entries], rows.share[entries], units
