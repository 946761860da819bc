"""Formulas for proportions: intervals of rates, differences and ratios, tests of a difference, standardised means.

A rate of k selected among n people. Where rows are weighted, clustered or decided by lottery, n is the number of people
in an equally precise simple sample, rate (1 - rate) / variance, and k = n rate; Fisher's test, which counts people, is
left out.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import stats

from ...arrays import FloatArray, IntArray

STILL = 1e-24
"""Variance, relative to the square of what is averaged, up to which numbers do not vary but for rounding."""


@dataclass(frozen=True, slots=True)
class Rate:
    """A rate among people worth ``size`` equally precise ones; ``counted``: these are people who were counted."""

    value: float
    size: float
    counted: bool

    @property
    def selected(self) -> float:
        """How many of them."""
        return round(self.value * self.size) if self.counted else self.value * self.size

    @property
    def variance(self) -> float:
        """Variance of the rate."""
        return self.value * (1.0 - self.value) / self.size

    def interval(self, alpha: float) -> tuple[float, float]:
        """Wilson's score interval of level 1 - alpha: all p for which |rate - p| <= z sqrt(p (1 - p) / n)."""
        if not self.size > 0.0:
            return np.nan, np.nan
        z, p, n = float(stats.norm.isf(alpha / 2.0)), self.value, self.size
        centre = (p + z**2 / (2.0 * n)) / (1.0 + z**2 / n)
        half = z * np.sqrt(p * (1.0 - p) / n + z**2 / (4.0 * n**2)) / (1.0 + z**2 / n)
        return (0.0 if p == 0.0 else centre - half), (1.0 if p == 1.0 else centre + half)


def rate_of(
    chosen: FloatArray,
    weight: FloatArray,
    clusters: IntArray | None,
    *,
    weighted: bool,
    among: FloatArray | None = None,
    people: FloatArray | None = None,
) -> Rate:
    """The weighted rate of ``chosen`` (n,), chances in [0, 1], among rows that count (all, or ``among`` > 0).

    Rows may stand for several ``people`` (n,) who are alike and share the row's weight.
    """
    rows = np.arange(len(chosen)) if among is None else np.flatnonzero(among > 0.0)
    w, a = weight[rows], chosen[rows]
    n = np.ones(len(rows)) if people is None else people[rows]
    if not w.sum() > 0.0:
        return Rate(np.nan, 0.0, counted=False)
    share = w / w.sum()
    counted = not weighted and clusters is None and bool(np.isin(a, (0.0, 1.0)).all())
    if counted:
        return Rate(float((n * a).sum() / n.sum()), float(n.sum()), counted=True)
    rate = float(np.clip((share * a).sum(), 0.0, 1.0))
    # the squares of k people with the share s / k each sum to s^2 / k
    units = share / np.sqrt(n)
    influence = units * (a - rate)
    if clusters is not None:
        _, code = np.unique(clusters[rows], return_inverse=True)
        influence, units = np.bincount(code, influence), np.bincount(code, share)
    variance = float((influence**2).sum())
    # with rates of 0 and 1, or one chance for everybody, there is no variance to go by: the size by the weights alone
    size = rate * (1.0 - rate) / variance if variance > STILL else 1.0 / float((units**2).sum())
    return Rate(rate, size, counted=False)


def difference_interval(one: Rate, other: Rate, alpha: float) -> tuple[float, float]:
    """Newcombe's interval of a difference of rates, from the two score intervals."""
    (low, high), (low_other, high_other) = one.interval(alpha), other.interval(alpha)
    d = one.value - other.value
    down = np.hypot(one.value - low, high_other - other.value)
    up = np.hypot(high - one.value, other.value - low_other)
    return float(d - down), float(d + up)


def ratio_interval(one: Rate, other: Rate, alpha: float) -> tuple[float, float]:
    """Interval of a ratio of rates by its logarithm, with variance (1 - p) / (n p) for each rate; open if one is 0."""
    if not (one.value > 0.0 and other.value > 0.0):
        return np.nan, np.nan
    error = np.sqrt(sum((1.0 - r.value) / (r.size * r.value) for r in (one, other)))
    half = float(stats.norm.isf(alpha / 2.0)) * error
    ratio = one.value / other.value
    return float(ratio * np.exp(-half)), float(ratio * np.exp(half))


def two_proportions_z(one: Rate, other: Rate) -> tuple[float, float]:
    """Z statistic of equal rates with the pooled variance, and its two-sided p-value; nan if all, or none, count."""
    if not (one.size > 0.0 and other.size > 0.0):
        return np.nan, np.nan
    pooled = (one.value * one.size + other.value * other.size) / (one.size + other.size)
    variance = pooled * (1.0 - pooled) * (1.0 / one.size + 1.0 / other.size)
    if not variance > 0.0:
        return np.nan, np.nan
    z = (one.value - other.value) / np.sqrt(variance)
    return float(z), float(2.0 * stats.norm.sf(abs(z)))


def fisher_exact(one: Rate, other: Rate) -> float:
    """Two-sided p-value of Fisher's exact test of equal rates; nan where people were not counted."""
    if not (one.counted and other.counted):
        return np.nan
    table = [[int(r.selected), int(r.size - r.selected)] for r in (one, other)]
    return float(stats.fisher_exact(table).pvalue)


@dataclass(frozen=True, slots=True)
class Mean:
    """Mean and variance (with n - 1) of a score among ``size`` people."""

    value: float
    variance: float
    size: float


def mean_of(score: FloatArray, weight: FloatArray, clusters: IntArray | None = None) -> Mean:
    """Weighted mean and variance of a score (n,); the size is that of a simple sample with an equally precise mean."""
    share = weight / weight.sum()
    mean = float((share * score).sum())
    spread = float((share * (score - mean) ** 2).sum())
    influence = share * (score - mean)
    if clusters is not None:
        influence = np.bincount(np.unique(clusters, return_inverse=True)[1], influence)
    variance = float((influence**2).sum())
    size = spread / variance if variance > STILL * mean**2 else 1.0 / float((share**2).sum())
    return Mean(mean, spread * size / (size - 1.0) if size > 1.0 else np.nan, size)


def standardised_difference(one: Mean, other: Mean, alpha: float) -> tuple[float, float, float]:
    """Difference of means in units of the pooled standard deviation (Cohen's d), with its large-sample interval."""
    total = one.size + other.size
    pooled = ((one.size - 1.0) * one.variance + (other.size - 1.0) * other.variance) / (total - 2.0)
    if not pooled > STILL * max(one.value**2, other.value**2):
        return np.nan, np.nan, np.nan
    d = (one.value - other.value) / np.sqrt(pooled)
    error = np.sqrt(total / (one.size * other.size) + d**2 / (2.0 * total))
    half = float(stats.norm.isf(alpha / 2.0)) * error
    return float(d), float(d - half), float(d + half)
