"""A design with integer-coded categories: levels whose codes have gaps and no order, beside one number.

The group does not depend on the covariates, as in the published designs, and the conditional expectations are known.
"""

from functools import cache

import numpy as np
import pandas as pd
from scipy.special import expit, ndtri

from fairfrontier.datasets.truth import population_truth

CODES = np.array([11, 20, 21, 35, 99])
"""Codes of the five levels of each column, all equally frequent."""
EFFECTS = {
    "r": np.array(
        [
            [-1.2, 1.1, -0.8, 0.9, 0.0],
            [0.8, -0.9, 1.0, -0.7, -0.2],
            [0.6, -0.6, 0.0, 0.7, -0.7],
            [0.0, 0.5, -0.5, 0.5, -0.5],
        ]
    ),
    "b": np.array(
        [
            [1.0, 0.9, -0.9, 0.2, -1.2],
            [0.8, -0.8, 0.9, -0.9, 0.0],
            [-0.6, 0.6, 0.5, -0.5, 0.0],
            [0.5, 0.0, -0.6, 0.6, -0.5],
        ]
    ),
}
"""What each level adds to the log odds of the outcome, column by column."""
SLOPES = {"r": 0.8, "b": -0.4}
"""What the number adds."""
SHARE_R = 0.6
COLUMNS = [f"c{j}" for j in range(1, 5)]


def frame(level, x):
    """Covariates of rows with these levels (n, 4) and numbers (n,)."""
    return pd.DataFrame(CODES[level], columns=COLUMNS).assign(x=x)


def success_probabilities(X):
    """P(y = 1 | x) in group r and in group b."""
    level = np.searchsorted(CODES, X[COLUMNS].to_numpy())
    x = X["x"].to_numpy()
    return tuple(expit(EFFECTS[g][np.arange(4), level].sum(axis=1) + SLOPES[g] * x) for g in "rb")


def make_coded(n, rng):
    """Draw rows: covariates, outcome and group, 1 for r and 0 for b."""
    X = frame(rng.integers(0, 5, (n, 4)), rng.normal(size=n))
    group = (rng.random(n) < SHARE_R).astype(np.intp)
    in_r, in_b = success_probabilities(X)
    y = (rng.random(n) < np.where(group == 1, in_r, in_b)).astype(np.intp)
    return X, y, group


@cache
def coded_truth():
    """Population values, by averaging over all combinations of levels and 601 quantiles of the number."""
    quantiles = ndtri((np.arange(601) + 0.5) / 601)
    level = np.stack(np.meshgrid(*[np.arange(5)] * 4, indexing="ij"), axis=-1).reshape(-1, 4)
    X = frame(np.repeat(level, len(quantiles), axis=0), np.tile(quantiles, len(level)))
    return population_truth("codes", lambda: X, success_probabilities(X), SHARE_R)
