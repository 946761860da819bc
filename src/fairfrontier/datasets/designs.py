"""The two simulation designs of Liu and Molinari (2025) and their population values."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
import pandas as pd
from scipy import stats
from scipy.special import expit, ndtr, ndtri

from ..arrays import FloatArray, IntArray
from ..data.checks import check_integer
from ..errors import InputError
from .truth import PopulationTruth, population_truth

Design = Literal["balanced", "skewed"]
N_FEATURES = 20
SHARE_R = 0.6


class Dataset(NamedTuple):
    """Covariates, outcome and group of the same rows; unpacks as ``X, y, group``."""

    X: pd.DataFrame
    y: IntArray
    sensitive_features: IntArray


def make_liu_molinari(n: int, design: Design = "balanced", random_state: Any = None) -> Dataset:
    """Draw ``n`` rows of a simulation design: 20 covariates, a binary outcome and a group.

    Group 1 (60% of the rows) is the paper's group r, group 0 its group b; the covariates do not depend on
    the group. In the ``balanced`` design they predict the outcome in opposite directions for the two
    groups; in the ``skewed`` one they predict better for group 1.

    Examples
    --------
    >>> X, y, group = make_liu_molinari(1000, design="skewed", random_state=0)
    >>> X.shape, sorted(set(group.tolist()))
    ((1000, 20), [0, 1])
    """
    _check_design(design)
    check_integer(n, "`n`", least=1, code="empty-data")
    rng = np.random.default_rng(random_state)
    x = _covariates(rng.random((int(n), N_FEATURES)))
    group = (rng.random(n) < SHARE_R).astype(np.intp)
    in_r, in_b = _success_probabilities(x, design)
    y = (rng.random(n) < np.where(group == 1, in_r, in_b)).astype(np.intp)
    columns = [f"x{j}" for j in range(1, N_FEATURES + 1)]
    return Dataset(pd.DataFrame(x, columns=columns), y, group)


@lru_cache(maxsize=2)
def liu_molinari_truth(design: Design = "balanced") -> PopulationTruth:
    """Population values of a design by averaging over 2^20 scrambled Sobol points of the covariates.

    The conditional expectations are known, so the only error is that of the average: below 1e-4.

    Examples
    --------
    >>> liu_molinari_truth("balanced").F.round(3).tolist()
    [0.415, 0.415]
    """
    _check_design(design)
    x = _covariates(stats.qmc.Sobol(4, rng=np.random.default_rng(12)).random_base2(20))

    def covariates() -> pd.DataFrame:
        # only the first four matter for the outcome; the others are drawn independently
        rest = _covariates(np.random.default_rng(20_25).random((len(x), N_FEATURES)))[:, 4:]
        return pd.DataFrame(np.hstack([x, rest]), columns=[f"x{j}" for j in range(1, N_FEATURES + 1)])

    return population_truth(design, covariates, _success_probabilities(x, design), SHARE_R)


def _check_design(design: str) -> None:
    if design not in get_args(Design):
        raise InputError("bad-option", f"`design` must be one of {list(get_args(Design))}, got {design!r}.")


def _covariates(uniform: FloatArray) -> FloatArray:
    """Turn uniform numbers (n, p) into covariates: x2 uniform, x3 Beta(2, 2), others truncated normal."""
    x, low = np.empty_like(uniform), ndtr(-3.0)
    for j in range(uniform.shape[1]):
        if j == 1:
            x[:, j] = uniform[:, j]
        elif j == 2:
            # the Beta(2, 2) quantile in closed form: F(x) = 3x^2 - 2x^3
            x[:, j] = 0.5 + np.sin(np.arcsin(2.0 * uniform[:, j] - 1.0) / 3.0)
        else:
            x[:, j] = ndtri(low + (ndtr(3.0) - low) * uniform[:, j])
    return x


def _success_probabilities(x: FloatArray, design: Design) -> tuple[FloatArray, FloatArray]:
    """P(y = 1 | x) in group r and in group b."""
    x1, x2, x3, x4 = x[:, 0], x[:, 1], x[:, 2], x[:, 3]
    if design == "balanced":
        return expit(x1 + x2 + 0.5 * x3), expit(-x1 - 0.5 * x2 + x4)
    return expit(2.0 * (x1 + x2 + x3)), expit(0.7 * (x1 + 0.5 * x2 + 0.6 * x4))
