"""A menu of rules for more than two groups, with bounds of their gains that hold for all of them together.

With theta the risks and widths of an algorithm and g_r what rule r gains in the risks, every slack is a linear form
room'theta + p'g_r. One pass over the rows estimates the covariance of theta and of all g_r; draws of these give the
largest error, in standard errors, of all forms of all rules. Mixtures of rules have mixtures of their forms, so that
mixtures of the bounds bound them, whichever is chosen.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations_with_replacement, permutations

import numpy as np

from ...arrays import FloatArray, IntArray
from ...frontier.criteria import STILL, CriteriaRows
from ...frontier.standing import Standing
from .evidence import standing_of
from .forms import BLOCK, blocks_of, gains_of_rules

MOST_RULES = 120
"""Rules of a menu at most."""


@dataclass(frozen=True, slots=True)
class GroupMenu:
    """Rules beside an algorithm.

    ``directions`` (M, K): the weights for which each is best. ``risks``, ``errors_of_risks``, ``selection_rates``
    (M, K) and ``agreement`` (M,) with the algorithm. ``forms`` and ``errors`` (M, F): the slacks and their standard
    errors; ``widths`` (F,): which width a slack belongs to, -1 for the gain in a risk. ``largest`` (B,): draws of the
    largest error of all forms, in standard errors.
    """

    directions: FloatArray
    risks: FloatArray
    errors_of_risks: FloatArray
    selection_rates: FloatArray
    agreement: FloatArray
    forms: FloatArray
    errors: FloatArray
    widths: IntArray
    largest: FloatArray

    @property
    def gains(self) -> FloatArray:
        """Estimated gains (M, K + V): in each group's risk, then in each width."""
        return self._smallest(self.forms)

    @property
    def gain_errors(self) -> FloatArray:
        """Standard errors (M, K + V) of the gains; of a width that of its smallest slack."""
        n_widths = int(self.widths.max()) + 1
        own, at = self.errors[:, self.widths < 0], np.arange(len(self.forms))
        of_widths = []
        for v in range(n_widths):
            part = np.flatnonzero(self.widths == v)
            of_widths.append(self.errors[at, part[self.forms[:, part].argmin(axis=1)]])
        return np.column_stack([own, *of_widths])

    def lower_bounds(self, alpha: float) -> FloatArray:
        """Lower confidence bounds (M, K + V) of the gains of all rules together, of level 1 - alpha."""
        reach = np.quantile(self.largest, 1.0 - alpha, method="inverted_cdf")
        return self._smallest(self.forms - reach * self.errors)

    def _smallest(self, values: FloatArray) -> FloatArray:
        n_widths = int(self.widths.max()) + 1
        parts = [values[:, self.widths == v].min(axis=1) for v in range(n_widths)]
        return np.column_stack([values[:, self.widths < 0], *parts])


def menu_weights(n: int) -> FloatArray:
    """Weights (M, n) of a menu: a lattice of shares of the groups, and equal shares moved from a group to another."""
    parts = 1
    while _lattice_size(n, parts + 1) + 2 * n * (n - 1) <= MOST_RULES:
        parts += 1
    counts = [np.bincount(each, minlength=n) for each in combinations_with_replacement(range(n), parts)]
    moved = []
    for step in (0.5, 1.0):
        for g, h in permutations(range(n), 2):
            p = np.full(n, 1.0 / n)
            p[g], p[h] = p[g] + step, p[h] - step
            moved.append(p)
    return np.unique(np.vstack([np.array(counts) / parts, np.full((1, n), 1.0 / n), *[m[None] for m in moved]]), axis=0)


def _lattice_size(n: int, parts: int) -> int:
    size = 1
    for k in range(1, n):
        size = size * (parts + k) // k
    return size


def group_menu(
    rows: CriteriaRows,
    decisions: FloatArray,
    folds: IntArray,
    directions: FloatArray,
    *,
    n_draws: int,
    seed: np.random.SeedSequence,
) -> GroupMenu:
    """Value the rules of ``directions`` (M, K) beside an algorithm with ``decisions`` (n,), in the sample's order."""
    fan, standing = standing_of(rows, decisions, folds, None)
    n, m = rows.n_criteria, len(directions)
    sums = _sums(rows, standing, directions)
    gains = sums.gains
    covariance = _covariance(rows, standing, directions, gains)
    # slack = room'theta + p'gain, for every rule and generator
    forms = fan.rooms @ standing.theta + gains @ fan.directions.T
    by_rule = np.zeros((m, len(fan.rooms), covariance.shape[0]))
    by_rule[:, :, : fan.rooms.shape[1]] = fan.rooms
    for r in range(m):
        start = fan.rooms.shape[1] + r * n
        by_rule[r, :, start : start + n] = fan.directions
    own = by_rule.reshape(-1, covariance.shape[0])
    errors = np.sqrt(np.maximum(np.einsum("fd,df->f", own, covariance @ own.T), 0.0))
    errors[errors <= STILL * float(np.abs(standing.theta).max())] = 0.0
    of_risks = np.zeros((m, n))
    for r in range(m):  # risk = theta - gain
        for g in range(n):
            a, b = g, fan.rooms.shape[1] + r * n + g
            of_risks[r, g] = covariance[a, a] + covariance[b, b] - 2.0 * covariance[a, b]
    return GroupMenu(
        directions=directions,
        risks=standing.theta[:n] - gains,
        errors_of_risks=np.sqrt(np.maximum(of_risks, 0.0)),
        selection_rates=sums.rates,
        agreement=sums.agreement,
        forms=forms,
        errors=errors.reshape(m, -1),
        widths=fan.width_of,
        largest=_largest(own, covariance, errors, n_draws, seed),
    )


def _largest(
    own: FloatArray, covariance: FloatArray, errors: FloatArray, n_draws: int, seed: np.random.SeedSequence
) -> FloatArray:
    """Draws (B,) of the largest error of all forms that vary, in standard errors."""
    varies = errors > 0.0
    if not varies.any():
        return np.zeros(n_draws)
    values, vectors = np.linalg.eigh(covariance)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    scaled = (own[varies] / errors[varies, None]) @ root
    normal = np.random.default_rng(seed).standard_normal((n_draws, len(values)))
    largest: FloatArray = (normal @ scaled.T).max(axis=1)
    return largest


@dataclass(frozen=True, slots=True)
class _Sums:
    """Gains and selection rates (M, K) of rules, and their agreement (M,) with the algorithm."""

    gains: FloatArray
    rates: FloatArray
    agreement: FloatArray


def _sums(rows: CriteriaRows, standing: Standing, directions: FloatArray) -> _Sums:
    n, m = rows.n_criteria, len(directions)
    gains, rates, agreement = np.zeros((m, n)), np.zeros((m, n)), np.zeros(m)
    a = standing.decisions
    at = rows.entry_rows
    for r, p in enumerate(directions):
        chances = rows.lower + rows.spread * (rows.vectors @ p < 0.0)
        gains[r] = rows.by_criterion(rows.change * (a - chances)[at])
        rates[r] = rows.by_criterion(rows.share * chances[at])
        agreement[r] = float(rows.mass @ (chances * a + (1.0 - chances) * (1.0 - a)))
    return _Sums(gains, rates, agreement)


def _covariance(rows: CriteriaRows, standing: Standing, directions: FloatArray, gains: FloatArray) -> FloatArray:
    """Covariance (D, D) of theta and of the gains of all rules, by criterion: D = K + V + M K."""
    n, m = rows.n_criteria, len(directions)
    wide = standing.influence.shape[1]
    covariance = np.zeros((wide + m * n,) * 2)
    for start, stop in blocks_of(rows, max(1, BLOCK // (m * n))):
        x, share, which, units = gains_of_rules(rows, standing, directions, start, stop)
        centred = x - share[:, None] * gains.T[which]
        by_unit = np.zeros((stop - start, wide + m * n))
        by_unit[:, :wide] = standing.influence[start:stop]
        for j in range(n):
            own = np.add.reduceat(np.where((which == j)[:, None], centred, 0.0), units, axis=0)
            by_unit[:, wide + j :: n] = own
        covariance += by_unit.T @ by_unit
    return covariance
