"""One-sided p-values of means for few rows, where draws are not to be trusted: if all rows agree, nothing varies."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import stats
from scipy.special import betainc, betaincinv

from ...arrays import FloatArray, IntArray

NODES, SHARES = np.polynomial.legendre.leggauss(400)
"""Points by which the distribution function of one risk is averaged over that of another, and their shares."""
SAME = 1e-9
"""Difference, relative to the range, up to which values are the same."""


@dataclass(frozen=True, slots=True)
class Sampled:
    """A weighted mean of rows that lie in a known range.

    ``rows`` and ``units`` are effective numbers, (sum v)^2 / sum v^2 over rows and over clusters; ``variance`` is that
    of the mean, by clusters. ``two_valued``: whether every row lies at one of the two ends, ``low`` and ``high``;
    ``clustered``: whether there are clusters.
    """

    mean: float
    low: float
    high: float
    rows: float
    units: float
    variance: float
    two_valued: bool
    clustered: bool

    @property
    def share(self) -> float:
        """Where the mean lies between the ends, from 0 to 1."""
        size = self.high - self.low
        return float(np.clip((self.mean - self.low) / size, 0.0, 1.0)) if size > 0.0 else 0.0


def sampled(values: FloatArray, weight: FloatArray, clusters: IntArray | None, ends: tuple[float, float]) -> Sampled:
    """Describe the mean of ``values`` (n,) with weights (n,), some of them positive, which lie between the ``ends``."""
    (low, high), total = ends, float(weight.sum())
    mean = float(weight @ values / total)
    units = np.arange(len(values)) if clusters is None else np.unique(clusters, return_inverse=True)[1]
    number = total**2 / float(np.square(np.bincount(units, weight)).sum())
    off = np.bincount(units, weight * (values - mean)) / total
    # v = sum_j (sum_i w (x - mean))^2 / W^2 * m / (m - 1)
    variance = float(off @ off) * number / (number - 1.0) if number > 1.0 + SAME else np.inf
    slack, used = SAME * (high - low), weight > 0.0
    at_ends = np.minimum(np.abs(values - low), np.abs(values - high))[used] <= slack
    rows = total**2 / float(weight @ weight)
    return Sampled(mean, low, high, rows, number, variance, bool(at_ends.all()), clusters is not None)


def above_zero(x: Sampled) -> float:
    """P-value of a mean of at most 0.

    If all rows lie at one of two ends, -b and a, the share at the upper one is binomial with a chance of at most
    p0 = b / (a + b): exact if rows count alike, as the sign test is. Else, and for clusters, it is Student's t, but
    never below p0^m, the chance that m rows all lie at the upper end.
    """
    if x.low >= 0.0 or x.mean <= 0.0:
        return 1.0 if x.mean <= 0.0 else 0.0
    chance = -x.low / (x.high - x.low)
    found = chance**x.rows
    if x.two_valued:
        k = x.rows * x.share
        found = float(betainc(k, x.rows - k + 1.0, chance))  # P(binomial >= k)
    if x.clustered or not x.two_valued:
        found = max(found, _student(x.mean, x.variance, x.units - 1.0))
    return float(found)


def _student(difference: float, variance: float, freedom: float) -> float:
    if not np.isfinite(variance) or freedom <= 0.0:
        return 1.0
    return float(stats.t.sf(difference / np.sqrt(variance), freedom)) if variance > 0.0 else 0.0


def above_other(x: Sampled, other: Sampled) -> float:
    """P-value of a mean of at most that of other rows.

    For two values it is Fisher's exact test, written as P(A <= B) with A ~ Beta(k, m - k + 1) and
    B ~ Beta(k' + 1, m' - k'), which takes effective numbers. Else, and for clusters, it is Welch's t, but never below
    2^-m.
    """
    if x.mean <= other.mean:
        return 1.0
    found = 0.5**x.rows
    if x.two_valued and other.two_valued:
        found = _fisher(x.rows, x.rows * x.share, other.rows, other.rows * other.share)
    if x.clustered or not (x.two_valued and other.two_valued):
        parts = np.array([x.variance, other.variance])
        freedom = np.array([x.units, other.units]) - 1.0
        spread = float(np.square(parts) @ (1.0 / np.maximum(freedom, SAME))) if np.isfinite(parts).all() else np.inf
        welch = float(parts.sum()) ** 2 / spread if np.isfinite(spread) and spread > 0.0 else float(freedom.min())
        found = max(found, _student(x.mean - other.mean, float(parts.sum()), welch))
    return float(found)


def _fisher(m: float, k: float, others: float, of_others: float) -> float:
    """P(A <= B), by the mean of the distribution function of A over quantiles of B."""
    if of_others >= others * (1.0 - SAME):
        return 1.0
    b = betaincinv(of_others + 1.0, others - of_others, 0.5 + 0.5 * NODES)
    return float(0.5 * SHARES @ betainc(k, m - k + 1.0, b))
