"""Small samples with two groups whose nuisance pairs are known, and objects fitted to them."""

from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from fairfrontier import FairFrontier
from support.quick import FEW


@dataclass(frozen=True)
class Rows:
    """Covariates, binary outcome, group 0/1, and true pairs for classification loss, columns (1, 0)."""

    X: np.ndarray
    y: np.ndarray
    g: np.ndarray
    t: np.ndarray

    def at(self, order):
        return Rows(self.X[order], self.y[order], self.g[order], self.t[order])


def rows(n=400, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    g = (rng.random(n) < 0.6).astype(int)
    p1, p0 = expit(2.0 * X[:, 0] + X[:, 1]), expit(X[:, 1] - X[:, 0])
    y = (rng.random(n) < np.where(g == 1, p1, p0)).astype(int)
    return Rows(X, y, g, np.column_stack([0.6 * (1 - 2 * p1), 0.4 * (1 - 2 * p0)]))


def fit(data, *, X=None, t=None, y=None, g=None, options=None, **arguments):
    """Fit with the pairs of the sample as external nuisance."""
    return FairFrontier(**({"random_state": 1} | (options or {}))).fit(
        X,
        data.y if y is None else y,
        sensitive_features=data.g if g is None else g,
        external_nuisance=data.t if t is None else t,
        **arguments,
    )


def learned(data, X=None, learner_params=None, **options):
    """Fit with a learner that tunes, among few penalties and in few folds."""
    params = FEW | (learner_params or {})
    ff = FairFrontier(
        learner="factored-logit", learner_params=params, **({"n_folds": 3, "n_rep": 1, "random_state": 1} | options)
    )
    return ff.fit(data.X if X is None else X, data.y, sensitive_features=data.g)
