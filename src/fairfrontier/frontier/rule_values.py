"""What rules gain over an algorithm in all criteria, and their slacks at the corners of the fan, with covariances."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from joblib import effective_n_jobs
from numba import njit

from ..arrays import FloatArray, IntArray
from .criteria import STILL, CriteriaRows
from .standing import Standing


@dataclass(frozen=True, slots=True)
class RuleValues:
    """What R rules gain over an algorithm.

    ``directions`` (R, J): each rule selects the rows x with p'vector(x) < 0, which is best for p by the predictions;
    ``gain`` (R, J): c* - c, estimated; ``predicted`` (R, J): the same by the predictions alone; ``covariance``
    (R, J, J) of the gains and ``cross`` (R, J, J + V) with theta.
    """

    directions: FloatArray
    gain: FloatArray
    predicted: FloatArray
    covariance: FloatArray
    cross: FloatArray

    def __len__(self) -> int:
        """Return the number of rules."""
        return len(self.directions)

    def take(self, rules: IntArray) -> RuleValues:
        """Return some of the rules."""
        parts = (self.directions, self.gain, self.predicted, self.covariance, self.cross)
        return RuleValues(*(part[rules] for part in parts))

    def stack(self, other: RuleValues) -> RuleValues:
        """Return these rules followed by others."""
        return RuleValues(
            np.concatenate([self.directions, other.directions]),
            np.concatenate([self.gain, other.gain]),
            np.concatenate([self.predicted, other.predicted]),
            np.concatenate([self.covariance, other.covariance]),
            np.concatenate([self.cross, other.cross]),
        )


class _Sums(NamedTuple):
    """Sums over units for R rules: gains x, by predictions, and products of x with itself, shares and influences."""

    gain: FloatArray
    predicted: FloatArray
    second: FloatArray
    with_shares: FloatArray
    cross: FloatArray

    @classmethod
    def zeros(cls, n_rules: int, n_criteria: int, n_theta: int) -> _Sums:
        """Return sums of nothing."""
        widths = [(n_criteria,), (n_criteria,), (n_criteria,) * 2, (n_criteria,) * 2, (n_criteria, n_theta)]
        return cls(*(np.zeros((n_rules, *width)) for width in widths))

    def part(self, rules: slice) -> _Sums:
        """Return the sums of some rules, to be added to."""
        return _Sums(*(each[rules] for each in self))


class RuleValuer:
    """Values rules beside an algorithm: one pass over the rows for each rule, in threads."""

    def __init__(self, rows: CriteriaRows, standing: Standing, n_jobs: int | None = None) -> None:
        self.rows, self.standing, self.n_jobs = rows, standing, n_jobs
        self._alone = _rows_alone(rows, standing) if rows.alone else None
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
        return RuleValues(p, gain, sums.predicted, covariance, sums.cross - gain[:, :, None] * influenced)

    def _add(self, p: FloatArray, sums: _Sums) -> None:
        if self._alone is not None:
            self._alone.add(p, sums)
        else:
            s = self.standing
            _sum_rules(p, self.rows, s.decisions, s.shares, s.influence, sums)


@dataclass(frozen=True, slots=True)
class _RowsAlone:
    """Rows that are units of their own with one criterion each, sorted by it: products are sums of fixed columns.

    A rule's chance of selection is d_i or d_i - spread_i below the algorithm's, so every sum is that of a column over
    all rows plus that of another over the selected ones. Columns: the gain, its square, its products with the share
    and with the influences on the own criterion and on the widths, and the predicted gains in all criteria.
    """

    stops: IntArray
    vectors: FloatArray
    fixed: FloatArray
    columns: FloatArray

    def add(self, p: FloatArray, sums: _Sums) -> None:
        """Add the sums of rules ``p`` (R, J)."""
        n = p.shape[1]
        found = np.zeros((len(p), n, self.columns.shape[1]))
        _sum_selected(p, self.stops, self.vectors, self.columns, found)
        found += self.fixed
        own = np.arange(n)
        sums.gain[:] += found[:, :, 0]
        sums.second[:, own, own] += found[:, :, 1]
        sums.with_shares[:, own, own] += found[:, :, 2]
        sums.cross[:, own, own] += found[:, :, 3]
        sums.cross[:, :, n:] += found[:, :, 4:-n]
        sums.predicted[:] += found[:, :, -n:].sum(axis=1)


def _rows_alone(rows: CriteriaRows, standing: Standing) -> _RowsAlone:
    order, n = np.argsort(rows.which, kind="stable"), rows.n_criteria
    d, spread = (standing.decisions - rows.lower)[order], rows.spread[order]
    change, which = rows.change[order], rows.which[order]
    influence = standing.influence[order]
    along = [rows.share[order], influence[np.arange(len(order)), which], *influence[:, n:].T]
    predicted = (rows.mass[order] * rows.vectors[order].T) if len(order) else np.zeros((n, 0))

    def columns(moved: FloatArray, squared: FloatArray) -> FloatArray:
        gain = change * moved
        return np.column_stack([gain, change**2 * squared, *(gain * x for x in along), *(predicted * moved)])

    stops = np.searchsorted(which, np.arange(n + 1))
    at_lower = columns(d, d**2)
    fixed = np.array([at_lower[i:j].sum(axis=0) for i, j in pairwise(stops.tolist())])
    by_selection = columns(-spread, (d - spread) ** 2 - d**2)
    return _RowsAlone(stops, np.ascontiguousarray(rows.vectors[order]), fixed, by_selection)


@njit(cache=True, nogil=True, fastmath={"reassoc", "nsz", "contract"})
def _sum_selected(p, stops, vectors, columns, out):  # type: ignore[no-untyped-def]
    """Sum the columns over the rows that each rule selects, by criterion of the row."""
    n_criteria, n_columns = p.shape[1], columns.shape[1]
    total = np.empty(n_columns)
    for r in range(p.shape[0]):
        for g in range(n_criteria):
            total[:] = 0.0
            for i in range(stops[g], stops[g + 1]):
                score = 0.0
                for j in range(n_criteria):
                    score += p[r, j] * vectors[i, j]
                if score < 0.0:
                    for k in range(n_columns):
                        total[k] += columns[i, k]
            for k in range(n_columns):
                out[r, g, k] += total[k]


@njit(cache=True, nogil=True)
def _sum_rules(p, rows, decisions, shares, influence, sums):  # type: ignore[no-untyped-def]
    """Add up over units, for each rule, its gains x and their products with themselves, shares and influences."""
    gain, predicted, second, with_shares, cross = sums
    n_criteria, n_theta = p.shape[1], influence.shape[1]
    x, touched = np.zeros(n_criteria), np.empty(n_criteria, dtype=np.intp)
    for r in range(p.shape[0]):
        for u in range(rows.unit_stops.shape[0] - 1):
            n_touched = 0
            for i in range(rows.unit_stops[u], rows.unit_stops[u + 1]):
                score = 0.0
                for j in range(n_criteria):
                    score += p[r, j] * rows.vectors[i, j]
                moved = decisions[i] - rows.lower[i]
                if score < 0.0:
                    moved -= rows.spread[i]
                if moved == 0.0:
                    continue
                for j in range(n_criteria):
                    predicted[r, j] += rows.mass[i] * rows.vectors[i, j] * moved
                for e in range(rows.entry_stops[i], rows.entry_stops[i + 1]):
                    j = rows.which[e]
                    known = False
                    for k in range(n_touched):
                        known = known or touched[k] == j
                    if not known:
                        touched[n_touched] = j
                        n_touched += 1
                        x[j] = 0.0
                    x[j] += rows.change[e] * moved
            for k in range(n_touched):
                j = touched[k]
                gain[r, j] += x[j]
                for other in range(n_touched):
                    second[r, j, touched[other]] += x[j] * x[touched[other]]
                for c in range(n_criteria):
                    with_shares[r, j, c] += x[j] * shares[u, c]
                for v in range(n_theta):
                    cross[r, j, v] += x[j] * influence[u, v]


@dataclass(frozen=True, slots=True)
class Slacks:
    """Slacks of rules at corners of the fan, with standard errors, all of one shape; up to ``rounding`` they are 0."""

    value: FloatArray
    error: FloatArray
    rounding: float

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
        np.einsum("...j,...jk,...k->...", p, values.covariance[rules], p, optimize=True)
        + 2.0 * np.einsum("...j,...jv,...v->...", p, values.cross[rules], q, optimize=True)
        + np.einsum("...v,vw,...w->...", q, standing.covariance, q, optimize=True)
    )
    rounding = STILL * float(max(np.abs(standing.theta).max(), np.abs(values.gain).max(initial=0.0)))
    return Slacks(value, np.sqrt(np.maximum(variance, 0.0)), rounding)


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
