"""What rules gain over an algorithm in all criteria, and their slacks at the corners of the fan, with covariances.

A rule may take a *step* from the algorithm: it replaces the algorithm's decision about each row by the better one with
a chance in proportion to the score p'vector(x), up to 1. Among changes by such chances of decisions that are 0 or 1
this one has the largest predicted gain in standard errors, but for scores that are cut off: where predictions say
little, little is changed. Chances and not distances: a lottery that moved as far as 0 and 1 allow would jump from one
end to the other with the sign of what is noise.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from joblib import effective_n_jobs

from ..arrays import FloatArray, IntArray
from .criteria import CriteriaRows
from .criteria_kernels import FULL_STEP, sum_rules, sum_selected
from .fan import Fan
from .standing import UNSEEN, Standing, rounding


@dataclass(frozen=True, slots=True)
class RuleValues:
    """What R rules gain over an algorithm.

    ``directions`` (R, J): each rule selects the rows x with p'vector(x) < 0, which is best for p by the predictions, or
    takes a step towards that;
    ``gain`` (R, J): c* - c, estimated; ``predicted`` (R, J): the same by the predictions alone; ``covariance``
    (R, J, J) of the gains with rules held and ``cross`` (R, J, J + V) with theta; ``added`` (R, J, J): what the
    dependence between folds adds to the covariance. ``changed`` (R, J, 4): how much decisions change, the sizes of the
    units' gains and losses summed up, and these times the unit's chances of selection that are taken away, and that are
    given.
    """

    directions: FloatArray
    gain: FloatArray
    predicted: FloatArray
    covariance: FloatArray
    cross: FloatArray
    added: FloatArray
    changed: FloatArray

    def __len__(self) -> int:
        """Return the number of rules."""
        return len(self.directions)

    def take(self, rules: IntArray) -> RuleValues:
        """Return some of the rules."""
        return RuleValues(*(part[rules] for part in self.parts))

    def stack(self, other: RuleValues) -> RuleValues:
        """Return these rules followed by others."""
        return RuleValues(*(np.concatenate(both) for both in zip(self.parts, other.parts, strict=True)))

    @property
    def parts(self) -> tuple[FloatArray, ...]:
        """All arrays, each with one entry per rule."""
        return self.directions, self.gain, self.predicted, self.covariance, self.cross, self.added, self.changed


class _Sums(NamedTuple):
    """Sums over units for R rules: gains x, by predictions, products of x with itself, shares and influences.

    And products of the scores about which repetitions disagree, and how much is changed.
    """

    gain: FloatArray
    predicted: FloatArray
    second: FloatArray
    with_shares: FloatArray
    cross: FloatArray
    disagreement: FloatArray
    changed: FloatArray

    @classmethod
    def zeros(cls, n_rules: int, n_criteria: int, n_theta: int) -> _Sums:
        """Return sums of nothing."""
        square = (n_criteria,) * 2
        widths = [(n_criteria,), (n_criteria,), square, square, (n_criteria, n_theta), square, (n_criteria, 4)]
        return cls(*(np.zeros((n_rules, *width)) for width in widths))

    def part(self, rules: slice) -> _Sums:
        """Return the sums of some rules, to be added to."""
        return _Sums(*(each[rules] for each in self))


class RuleValuer:
    """Values rules beside an algorithm: one pass over the rows for each rule, in threads.

    ``steps``: rules take steps from the algorithm; only where nothing else limits the rules.
    """

    def __init__(
        self, rows: CriteriaRows, standing: Standing, n_jobs: int | None = None, *, steps: bool = False
    ) -> None:
        self.rows, self.standing, self.n_jobs, self.steps = rows, standing, n_jobs, steps
        simple = rows.alone and not np.isfinite(rows.capacity) and not steps
        self._alone = _rows_alone(rows, standing) if simple else None
        shares = standing.shares
        self._products = shares.T @ shares, shares.T @ standing.influence

    def __call__(self, directions: FloatArray) -> RuleValues:
        """Value the rules of ``directions`` (R, J)."""
        p = np.ascontiguousarray(directions, dtype=np.float64)
        sums = _Sums.zeros(len(p), p.shape[1], len(self.standing.theta))

        def work(start: int, stop: int) -> None:
            self._add(p[start:stop], sums.part(slice(start, stop)))

        jobs = max(1, min(effective_n_jobs(self.n_jobs), len(p)))
        ends = np.linspace(0, len(p), jobs + 1).astype(int).tolist()
        if jobs == 1:
            work(0, len(p))
        else:
            with ThreadPoolExecutor(jobs) as pool:
                list(pool.map(work, ends[:-1], ends[1:]))
        # sum over units of (x - gain o)(x - gain o)' and (x - gain o) y', with o the unit's shares and y its influence
        gain, (shared, influenced) = sums.gain, self._products
        mixed = sums.with_shares * gain[:, None, :]
        covariance = sums.second - mixed - mixed.transpose(0, 2, 1) + gain[:, :, None] * gain[:, None, :] * shared
        factor = self.standing.step_factor if self.steps else self.standing.factor
        cross, added = sums.cross - gain[:, :, None] * influenced, factor * sums.disagreement
        return RuleValues(p, gain, sums.predicted, covariance, cross, added, sums.changed)

    def _add(self, p: FloatArray, sums: _Sums) -> None:
        if self._alone is not None:
            self._alone.add(p, sums)
        else:
            s = self.standing
            sum_rules(p, self.rows.cutoffs(p), self.steps, self.rows, s.decisions, s.shares, s.influence, sums)


def step(rows: CriteriaRows, standing: Standing, p: FloatArray) -> FloatArray:
    """Chances (n,) of selection after the step of one direction p (J,)."""
    score = rows.vectors @ p
    room = np.where(score > 0.0, standing.decisions, 1.0 - standing.decisions)
    chances: FloatArray = standing.decisions - np.clip(score / full_score(score, rows.mass), -1.0, 1.0) * room
    return chances


def full_score(score: FloatArray, mass: FloatArray) -> float:
    """The score from which on a step replaces a decision for certain, from all scores (n,) with their mass (n,)."""
    squares = float(mass @ score**2)
    return FULL_STEP * squares / float(mass @ np.abs(score)) if squares > 0.0 else 1.0


def changed_share(rows: CriteriaRows, standing: Standing, chances: FloatArray) -> float:
    """Share of all decisions that rules with these ``chances`` (n,) of selection change."""
    return float(rows.mass @ np.abs(chances - standing.decisions))


@dataclass(frozen=True, slots=True)
class _RowsAlone:
    """Rows that are units of their own with one criterion each, sorted by it: products are sums of fixed columns.

    A rule's chance of selection is d_i or d_i - spread_i below the algorithm's, so every sum is that of a column over
    all rows plus that of another over the selected ones. Columns: the gain, its square, its products with the share
    and with the influences on the own criterion and on the widths, what is changed (four columns, as in
    `RuleValues`), and the predicted gains in all criteria.
    """

    stops: IntArray
    vectors: FloatArray
    fixed: FloatArray
    columns: FloatArray

    def add(self, p: FloatArray, sums: _Sums) -> None:
        """Add the sums of rules ``p`` (R, J)."""
        n = p.shape[1]
        found = np.zeros((len(p), n, self.columns.shape[1]))
        sum_selected(p, self.stops, self.vectors, self.columns, found)
        found += self.fixed
        own = np.arange(n)
        sums.gain[:] += found[:, :, 0]
        sums.second[:, own, own] += found[:, :, 1]
        sums.with_shares[:, own, own] += found[:, :, 2]
        sums.cross[:, own, own] += found[:, :, 3]
        sums.cross[:, :, n:] += found[:, :, 4 : -n - 4]
        sums.changed[:] += found[:, :, -n - 4 : -n]
        sums.predicted[:] += found[:, :, -n:].sum(axis=1)


def _rows_alone(rows: CriteriaRows, standing: Standing) -> _RowsAlone:
    order, n = np.argsort(rows.which, kind="stable"), rows.n_criteria
    stops = np.searchsorted(rows.which[order], np.arange(n + 1))
    d = standing.decisions - rows.lower
    lower, upper = _columns(rows, standing, d), _columns(rows, standing, d - rows.spread)
    width = 8 + standing.influence.shape[1]
    fixed, columns = np.empty((n, width)), np.empty((len(order), width))
    for k, (at_lower, at_upper) in enumerate(zip(lower, upper, strict=True)):  # one by one, for rows may be many
        at_lower = at_lower[order]
        fixed[:, k] = [at_lower[i:j].sum() for i, j in pairwise(stops.tolist())]
        np.subtract(at_upper[order], at_lower, out=columns[:, k])
    return _RowsAlone(stops, np.ascontiguousarray(rows.vectors[order]), fixed, columns)


def _columns(rows: CriteriaRows, standing: Standing, moved: FloatArray) -> Iterator[FloatArray]:
    """Columns (n,) of rows whose decisions are ``moved`` (n,), in the order of `_RowsAlone`."""
    n, share = rows.n_criteria, rows.share
    gain = rows.change * moved
    yield gain
    yield gain**2
    yield gain * share
    yield gain * standing.influence[np.arange(len(gain)), rows.which]
    yield from (gain * influence for influence in standing.influence[:, n:].T)
    yield share * np.abs(moved)
    stake = np.abs(gain)
    yield stake
    yield stake * share * np.maximum(moved, 0.0)
    yield stake * share * np.maximum(-moved, 0.0)
    yield from (rows.mass * rows.vectors[:, j] * moved for j in range(n))


@dataclass(frozen=True, slots=True)
class Slacks:
    """Slacks of rules at corners of the fan, with standard errors, all of one shape; up to ``rounding`` they are 0."""

    value: FloatArray
    error: FloatArray
    rounding: FloatArray

    @property
    def t(self) -> FloatArray:
        """Slacks in standard errors: infinite where nothing varies and the slack is not 0."""
        value = np.where(np.abs(self.value) <= self.rounding, 0.0, self.value)
        error = np.where(self.error <= self.rounding, 0.0, self.error)
        with np.errstate(divide="ignore", invalid="ignore"):
            t: FloatArray = np.where(value == 0.0, 0.0, value / error)
        return t


def slacks(
    values: RuleValues, standing: Standing, rules: IntArray, corners: FloatArray, *, predicted: bool = False
) -> Slacks:
    """Slacks q'theta + p'gain of ``rules`` (...,) at ``corners`` (..., 3 J + V): net weights p, rooms q and turns.

    With ``predicted`` gains are those by the predictions alone.
    """
    n, wide = values.directions.shape[1], len(standing.theta)
    p, q, turn = corners[..., :n], corners[..., n : n + wide], corners[..., n + wide :]
    gain = (values.predicted if predicted else values.gain)[rules]
    value = np.einsum("...j,...j->...", p, gain) + q @ standing.theta
    q = turned(q, turn, standing.theta[:n] - gain)
    variance = (
        np.einsum("...j,...jk,...k->...", p, (values.covariance + values.added)[rules], p, optimize=True)
        + 2.0 * np.einsum("...j,...jv,...v->...", p, values.cross[rules], q, optimize=True)
        + np.einsum("...v,vw,...w->...", q, standing.covariance, q, optimize=True)
        + np.square(standing.unseen(q)).sum(axis=-1)
        + np.square(UNSEEN * _losses(p, gain, values.changed[rules], standing.extremes)).sum(axis=-1)
    )
    return Slacks(value, np.sqrt(np.maximum(variance, 0.0)), rounding(standing, p, q))


def _losses(p: FloatArray, gain: FloatArray, changed: FloatArray, extremes: FloatArray) -> FloatArray:
    """What a changed unit, as large as they are on average, can lose beyond the mean: (..., J), never below 0.

    If few are changed, losses that are rare may not be among them, and the variance of those that are is too small.
    Averages are by what is gained and lost, so that many people with little at stake do not hide the few who matter;
    ``extremes`` (J, 2) are the smallest and largest change of a unit by selection.
    """
    total, stakes, fewer, more = (changed[..., k] for k in range(4))
    low, high = np.where(p > 0.0, -extremes[:, 0], extremes[:, 1]), np.where(p > 0.0, extremes[:, 1], -extremes[:, 0])
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = np.sign(p) * gain / total * (fewer + more) / stakes
        lost = np.where(stakes > 0.0, mean + (fewer * low + more * high) / stakes, 0.0)
    found: FloatArray = np.abs(p) * np.maximum(lost, 0.0)
    return found


def predicted_sizes(directions: FloatArray, rows: CriteriaRows) -> FloatArray:
    """Sizes (M,) of predicted changes along weights (M, J) of the criteria, 1 where nothing changes."""
    size = np.array([float(rows.mass @ np.abs(rows.vectors @ p)) for p in directions])
    size[size == 0.0] = 1.0
    return size


def ray_sizes(fan: Fan, rows: CriteriaRows) -> FloatArray:
    """The units (M,) in which the rays of a fan are compared, cut and mixed: 1 for risks, which have one unit.

    Other criteria have units of their own, such as profits and rates. In units of their sizes, which predictions alone
    decide, it does not matter in which currency a profit is.
    """
    return np.ones(len(fan.directions)) if fan.alike else predicted_sizes(fan.directions, rows)


def turned(q: FloatArray, turn: FloatArray, criteria: FloatArray) -> FloatArray:
    """How slacks of rules with ``criteria`` (..., J) change with theta: ``q`` (..., J + V), and with the ratio.

    A slack c_h - ratio c_g falls by c_g of the rule as the ratio, the first width, rises.
    """
    if not turn.any():
        return q
    n = turn.shape[-1]
    fall = np.einsum("...j,...j->...", turn, criteria)
    changed = np.broadcast_to(q, (*fall.shape, q.shape[-1])).copy()
    changed[..., n] -= fall
    return changed
