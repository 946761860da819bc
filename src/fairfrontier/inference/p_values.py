"""From draws to decisions: step size, quantiles, p-values, adjustment for several tests."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from ..arrays import FloatArray, IntArray

SMALL = 1e-6
"""The paper's uniformity constant: added to the quantile."""
ROUNDING = 1e-12
"""Relative size of differences that are rounding only."""


@dataclass(frozen=True, slots=True)
class Decision:
    """A statistic, the direction that decides it and its draws (B,) under the null.

    ``scale`` is the size of the numbers that were subtracted from each other to get them.
    """

    statistic: float
    direction: FloatArray
    draws: FloatArray
    scale: float

    @property
    def p_value(self) -> float:
        """(1 + draws at or above the statistic) / (1 + draws)."""
        return p_value(self.draws, self.statistic, self.scale)


def step_size(n: int) -> float:
    """Step s_n = sqrt(n)^(-1/2 + 0.01) of the numerical directional derivative."""
    return float(np.sqrt(n) ** (-0.49))


def kappa(n: int) -> float:
    """Tuning sequence kappa_n = sqrt(log n)."""
    return float(np.sqrt(np.log(n)))


def count_reaching(draws: FloatArray, statistic: FloatArray | float, scale: float = 0.0) -> IntArray:
    """Number of draws (along the first axis) at or above the statistic, differences by rounding aside.

    Where anything is not a number, nothing is shown: all draws count.
    """
    size = np.maximum(scale, np.maximum(np.abs(statistic), np.abs(draws).max(axis=0)))
    reaching: IntArray = np.count_nonzero(~(draws < statistic - ROUNDING * size), axis=0)
    return reaching


def p_value(draws: FloatArray, statistic: float, scale: float = 0.0) -> float:
    """(1 + #{draws >= statistic}) / (1 + B): never exactly 0."""
    return float((1 + count_reaching(draws, statistic, scale)) / (1 + len(draws)))


def normal_p_value(t: float, smallest: float = 0.0) -> float:
    """P-value of a statistic in standard errors by the normal law, never below ``smallest``.

    A statistic of 0 is one up to rounding, as of an algorithm that is a best rule, and no evidence at all.
    """
    return 1.0 if t == 0.0 else max(float(ndtr(-t)), smallest)


def critical_value(draws: FloatArray, alpha: float) -> float:
    """The draw that a statistic must exceed for a p-value of at most alpha, plus 1e-6.

    That is the k-th largest with k = floor(alpha (B + 1)), the (1 - alpha + 1e-6) quantile for the usual B.
    """
    k = max(int(alpha * (len(draws) + 1) + ROUNDING), 1)
    return float(np.partition(draws, len(draws) - k)[len(draws) - k]) + SMALL


def critical_value_error(draws: FloatArray, alpha: float) -> float:
    """Standard error of the critical value that comes from drawing only B times.

    Half the distance between the order statistics one binomial standard deviation to either side.
    """
    ordered = np.sort(draws)
    n = len(ordered)
    spread = np.sqrt(n * alpha * (1.0 - alpha))
    low, high = (int(np.clip(round(n * (1.0 - alpha) + k * spread), 1, n)) - 1 for k in (-1, 1))
    return float(ordered[high] - ordered[low]) / 2.0


def holm(p_values: FloatArray) -> FloatArray:
    """Holm's step-down adjusted p-values, in the order given."""
    order = np.argsort(p_values, kind="stable")
    factors = np.arange(len(p_values), 0, -1)
    adjusted = np.empty(len(p_values))
    adjusted[order] = np.minimum(np.maximum.accumulate(factors * p_values[order]), 1.0)
    return adjusted
