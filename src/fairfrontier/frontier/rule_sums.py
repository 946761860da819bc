"""What fixed rules change, summed over rows that go by: their values beside an algorithm, without keeping the rows.

`rule_values` values rules of the risks of groups on rows in memory. Here the rules are fixed beforehand, and of every
row only what it adds to a few sums is kept, by rule, fold and group. Sums of different rows add up: of parts of a file,
of the workers of a cluster. Within a block of rows they are floating numbers; blocks are added as multiples of a small
unit, in two integers each, so that neither the order of blocks nor how they are grouped changes a bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..arrays import FloatArray, IntArray
from .cells import codes_of
from .criteria import CriteriaRows
from .criteria_kernels import sum_fixed_rules
from .dependence import disagreement_factor, step_factor
from .fan import Aims
from .rule_values import RuleValues, full_score
from .standing import Standing, estimate_widths, extremes_of, fold_means, rare_rows, slopes_of_theta

STEPS_OF_UNIT = 2.0**30
"""Sums of blocks are rounded to this share of their unit, and what is left over to the same share of that."""
LOST = 2.0**-50
"""Share of their unit that sums of squares may lose by rounding: as much is added, so no variance is too small."""
GAIN, SQUARE, WITH_SHARE, WITH_LOSS, DISAGREEMENT, CHANGED, STAKE, TAKEN, GIVEN = range(9)
"""Columns of the sums of a rule: see `RuleSums`."""


@dataclass(frozen=True, slots=True)
class FixedRules:
    """Rules that are known before the rows are: each selects where p't(x) < 0 for the predictions t, or takes a step.

    ``directions`` (R, J): p; ``shares`` (J,) of the groups by which predictions are divided; ``full`` (R,): the score
    from which on a step replaces a decision for certain; ``steps``: whether rules take steps from the algorithm.
    """

    directions: FloatArray
    shares: FloatArray
    full: FloatArray
    steps: bool

    def __len__(self) -> int:
        """Return the number of rules."""
        return len(self.directions)


def fix_rules(directions: FloatArray, shares: FloatArray, rows: CriteriaRows, *, steps: bool) -> FixedRules:
    """Fix rules with ``directions`` (R, J); how large the scores are that steps compare with is that of some rows."""
    full = np.array([full_score(rows.vectors @ p, rows.mass) for p in directions])
    return FixedRules(directions, shares, full, steps)


@dataclass(frozen=True, slots=True)
class Units:
    """Powers of two (J,) that no one in a group exceeds: of a weight, of a loss, and of a loss difference."""

    weight: FloatArray
    loss: FloatArray
    change: FloatArray

    @property
    def length(self) -> float:
        """The largest unit of a loss difference."""
        return float(self.change.max())

    @property
    def of_standing(self) -> FloatArray:
        """Units (J, 6) of the columns of ``standing`` in `RuleSums`."""
        w, v = self.weight, self.loss
        return np.stack([w, w * v, w * w, w * w * v, w * w * v * v, w * np.maximum(v, self.change)], axis=-1)

    @property
    def of_rules(self) -> FloatArray:
        """Units (J, 9) of the columns of ``rules`` in `RuleSums`."""
        w, v, x = self.weight, self.loss, self.weight * self.change
        return np.stack([x, x * x, x * w, x * w * v, x * x, w, x, x * w, x * w], axis=-1)


@dataclass(frozen=True, slots=True, eq=False)
class RuleTest:
    """The weakest slack of the rules of some cells: what the robust test over the fan is decided by.

    ``slack`` with its ``standard_error``, and the ratio of the two, the ``statistic``, at net ``weights`` (J,) of the
    criteria. ``share_changed``: if rules take steps, the share of all decisions that the step which decides the test
    changes. ``criteria`` (J,) and ``widths`` (V,) of the algorithm, with ``width_errors``. ``n_rules`` rules in
    ``n_cells`` cells; ``loss``: what cells cost, in standard errors, as predicted; ``finished``: whether more were of
    no use.
    """

    slack: float
    standard_error: float
    statistic: float
    weights: FloatArray
    share_changed: float | None
    criteria: FloatArray
    widths: FloatArray
    width_errors: FloatArray
    n_rules: int
    n_cells: int
    loss: float
    finished: bool

    @property
    def direction(self) -> FloatArray:
        """Direction (J,) of the rules that gain at these weights."""
        found: FloatArray = -self.weights / np.linalg.norm(self.weights)
        return found


class BlockRows(NamedTuple):
    """Rows as they go by: ``weight``, ``base`` (losses without selection), ``change``, ``group``, ``fold``, all (n,).

    ``t`` (n_rep, n, J): predictions of E[change 1{G = j} | x], those of every repetition of the cross-fitting. Folds
    are numbered from 1.
    """

    t: FloatArray
    weight: FloatArray
    base: FloatArray
    change: FloatArray
    group: IntArray
    fold: IntArray

    def take(self, rows: IntArray | slice) -> BlockRows:
        """Return some of the rows, by position."""
        t, weight, base, change, group, fold = self
        return BlockRows(t[:, rows], weight[rows], base[rows], change[rows], group[rows], fold[rows])


@dataclass(frozen=True, slots=True, eq=False)
class RuleSums:
    """Sums over rows beside one algorithm, in units of `Units` as two integers each, the last axis.

    Attributes
    ----------
    standing : integer array (F, J, 6, 2)
        By fold and group: weights w, w times the algorithm's loss v, w^2, w^2 v, w^2 v^2, and the sizes of losses.
    rules : integer array (R, F, J, 9, 2)
        By rule, fold and group, with the gain x = w (loss difference) (mean change of the decision): x, x^2, x w,
        x w v, what repetitions disagree about, the size of what is changed, its stakes, and these times w and the
        chance of selection that is taken away, and that is given.
    """

    standing: IntArray
    rules: IntArray

    def group_shares(self, units: Units) -> FloatArray:
        """Return the shares (J,) of the groups, by weight."""
        weights = _numbers(self.standing, units.of_standing)[..., 0].sum(axis=0)
        shares: FloatArray = weights / weights.sum()
        return shares

    def add(self, other: RuleSums) -> None:
        """Add the sums over other rows in place."""
        np.add(self.standing, other.standing, out=self.standing)
        np.add(self.rules, other.rules, out=self.rules)


def no_sums(rules: FixedRules, n_folds: int) -> RuleSums:
    """Return the sums over no rows."""
    shape = (n_folds, rules.directions.shape[1])
    return RuleSums(np.zeros((*shape, 6, 2), dtype=np.int64), np.zeros((len(rules), *shape, 9, 2), dtype=np.int64))


def sum_rows(rules: FixedRules, rows: BlockRows, decisions: FloatArray, units: Units, n_folds: int) -> RuleSums:
    """Sum over a block of rows what the rules change of an algorithm's ``decisions`` (n,)."""
    n_groups = rules.directions.shape[1]
    place = (rows.fold - 1) * n_groups + rows.group
    w, lost = rows.weight, rows.base + decisions * rows.change
    columns = (w, w * lost, w * w, w * w * lost, (w * lost) ** 2, w * (np.abs(rows.base) + np.abs(rows.change)))
    by_column = [np.bincount(place, column, n_folds * n_groups) for column in columns]
    standing: FloatArray = np.column_stack(by_column).astype(np.float64)
    found = np.zeros((len(rules), n_folds * n_groups, 9))
    p = np.ascontiguousarray(rules.directions / rules.shares)
    own = np.column_stack([w, rows.change, lost])
    sum_fixed_rules(p, rules.full, rules.steps, np.ascontiguousarray(rows.t), decisions, own, place, found)
    by_place = (n_folds, n_groups)
    return RuleSums(
        _in_units(standing.reshape(*by_place, -1), units.of_standing),
        _in_units(found.reshape(len(rules), *by_place, -1), units.of_rules),
    )


def _in_units(sums: FloatArray, unit: FloatArray) -> IntArray:
    """Return sums (..., J, C) in units (J, C) as two integers each, the second for what the first leaves over."""
    exact = sums / unit * STEPS_OF_UNIT
    coarse = np.rint(exact)
    fine = np.rint((exact - coarse) * STEPS_OF_UNIT)
    return np.stack([coarse, fine], axis=-1).astype(np.int64)


def _numbers(sums: IntArray, unit: FloatArray) -> FloatArray:
    """Return the sums (..., J, C) as numbers."""
    found: FloatArray = (sums[..., 0] + sums[..., 1] / STEPS_OF_UNIT) / STEPS_OF_UNIT * unit
    return found


class Kinds(NamedTuple):
    """Kinds of people that there are: ``weight``, ``base``, ``change`` and ``group`` (m,), whatever their number."""

    weight: FloatArray
    base: FloatArray
    change: FloatArray
    group: IntArray


def kinds_of(rows: BlockRows) -> Kinds:
    """Return the kinds of people among the rows, each once."""
    key = rows.group
    for column in (rows.weight, rows.base, rows.change):
        codes, n_codes = codes_of(column)
        if n_codes > 1:
            key = codes_of(key * n_codes + codes)[0]
    one = np.empty(int(key.max()) + 1, dtype=np.intp)
    one[key] = np.arange(len(key))
    return Kinds(rows.weight[one], rows.base[one], rows.change[one], rows.group[one])


def units_of(kinds: Kinds) -> Units:
    """Return the powers of two next above the largest weight, loss and loss difference of each group."""
    losses = np.abs([kinds.base, kinds.base + kinds.change]).max(axis=0)
    largest = np.zeros((3, int(kinds.group.max()) + 1))
    for own, each in zip(largest, (kinds.weight, losses, np.abs(kinds.change)), strict=True):
        np.maximum.at(own, kinds.group, each)
    return Units(*np.ldexp(1.0, np.frexp(largest)[1]))


def standing_by_sums(sums: RuleSums, units: Units, kinds: Kinds, aims: Aims, n_rep: int) -> Standing:
    """Return where the algorithm stands, as `stand` does; what is kept of rows one by one is empty."""
    by_fold = _numbers(sums.standing, units.of_standing)
    weights, lost, squares, crossed, losses_squared, sizes = np.moveaxis(by_fold, -1, 0)
    losses_squared = losses_squared + LOST * units.of_standing[:, 4]
    total = weights.sum(axis=0)
    criteria = lost.sum(axis=0) / total
    means = fold_means(lost / total, weights / total, weights.sum(axis=1) / total.sum())
    estimates, slopes = estimate_widths(means, aims.widths)
    scaled = _scaled(slopes, weights / total)
    m = np.nan_to_num(means.own)
    # sums of w^2 (v - c)^2, w^2 (v - c)(v - m) and w^2 (v - m)^2 over W^2, with m the mean of the fold
    own = (losses_squared - 2.0 * criteria * crossed + criteria**2 * squares) / total**2
    mixed = (losses_squared - (criteria + m) * crossed + criteria * m * squares) / total**2
    within = (losses_squared - 2.0 * m * crossed + m**2 * squares) / total**2
    n = len(criteria)
    covariance = np.zeros((n + len(slopes),) * 2)
    covariance[:n, :n] = np.diag(own.sum(axis=0))
    covariance[n:, :n] = np.einsum("vfj,fj->vj", scaled, mixed)
    covariance[:n, n:] = covariance[n:, :n].T
    covariance[n:, n:] = np.einsum("vfj,wfj,fj->vw", scaled, scaled, within)
    n_folds = int(np.count_nonzero(weights.any(axis=1)))
    none = np.empty((0, n))
    return Standing(
        decisions=np.empty(0),
        theta=np.concatenate([criteria, estimates]),
        influence=np.empty((0, n + len(slopes))),
        covariance=covariance,
        shares=none,
        sizes=sizes.sum(axis=0) / total,
        extremes=_extremes(kinds, kinds.change, total, squares.sum(axis=0), aims.kinds),
        rare=_rare(kinds, criteria, total, squares.sum(axis=0), aims.kinds),
        slopes=slopes_of_theta(slopes.sum(axis=1)),
        factor=disagreement_factor(n_folds) if n_rep > 1 else 0.0,
        step_factor=step_factor(n_folds, n_rep) if n_rep > 1 else 0.0,
    )


def _scaled(slopes: FloatArray, parts: FloatArray) -> FloatArray:
    return np.divide(slopes, parts, out=np.zeros_like(slopes), where=np.broadcast_to(parts > 0.0, slopes.shape))


def _extremes(
    kinds: Kinds, values: FloatArray, total: FloatArray, squares: FloatArray, alike: Sequence[Sequence[int]]
) -> FloatArray:
    counts = kinds.weight > 0.0
    group = kinds.group[counts]
    times = kinds.weight[counts] * (total / squares)[group]
    return extremes_of(group, values[counts], times, alike, len(total))


def _rare(
    kinds: Kinds, criteria: FloatArray, total: FloatArray, squares: FloatArray, alike: Sequence[Sequence[int]]
) -> FloatArray:
    c = criteria[kinds.group]
    low, high = kinds.base - c, kinds.base + kinds.change - c
    least = _extremes(kinds, np.minimum(low, high), total, squares, alike)[:, 0]
    most = _extremes(kinds, np.maximum(low, high), total, squares, alike)[:, 1]
    return rare_rows(squares / total**2, least, most)


def values_by_sums(rules: FixedRules, sums: RuleSums, units: Units, standing: Standing, aims: Aims) -> RuleValues:
    """Return what the rules gain over the algorithm, as `RuleValuer` does; nothing is known by predictions alone."""
    by_fold = _numbers(sums.standing, units.of_standing)
    weights, lost, squares, crossed, _, _ = np.moveaxis(by_fold, -1, 0)
    found = _numbers(sums.rules, units.of_rules)
    total, n = weights.sum(axis=0), rules.directions.shape[1]
    criteria, every = standing.theta[:n], found.sum(axis=1)
    gain, share = every[..., GAIN] / total, every[..., WITH_SHARE] / total**2
    # sum of (x - gain o)^2 with o the share of a person
    own = (
        (every[..., SQUARE] + LOST * units.of_rules[:, SQUARE]) / total**2
        - 2.0 * gain * share
        + gain**2 * squares.sum(axis=0) / total**2
    )
    means = fold_means(lost / total, weights / total, weights.sum(axis=1) / total.sum())
    slopes = estimate_widths(means, aims.widths)[1]
    scaled, m = _scaled(slopes, weights / total), np.nan_to_num(means.own)
    # sums of (x - gain o)(v - c o) and, by fold, of (x - gain o)(v - m o)
    first = every[..., WITH_LOSS] - criteria * every[..., WITH_SHARE]
    first -= gain * (crossed - criteria * squares).sum(axis=0)
    by_width = found[..., WITH_LOSS] - m * found[..., WITH_SHARE] - gain[:, None] * (crossed - m * squares)
    eye = np.eye(n)
    cross = np.concatenate(
        [(first / total**2)[:, :, None] * eye, np.einsum("vfj,rfj->rjv", scaled, by_width / total**2)], axis=2
    )
    factor = standing.step_factor if rules.steps else standing.factor
    stakes = np.stack(
        [
            every[..., CHANGED] / total,
            every[..., STAKE] / total,
            every[..., TAKEN] / total**2,
            every[..., GIVEN] / total**2,
        ],
        axis=2,
    )
    return RuleValues(
        directions=rules.directions,
        gain=gain,
        predicted=np.full_like(gain, np.nan),
        covariance=own[:, :, None] * eye,
        cross=cross,
        added=factor * (every[..., DISAGREEMENT] / total**2)[:, :, None] * eye,
        changed=stakes,
    )
