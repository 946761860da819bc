"""A small population with two groups, rules and frontiers fitted to it, and its nuisance functions by hand."""

import numpy as np
from scipy.special import expit
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

from fairfrontier import FairFrontier, FrontierRule

GROUPS = ("women", "men")  # sorted, the last one first
LOGIT = LogisticRegression()


def people(n=300, seed=0, discrete=False):
    """Covariates, outcomes 0/1 and groups."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    if discrete:
        X = np.column_stack([rng.integers(0, 3, size=n), rng.integers(0, 2, size=n)]).astype(float)
    women = rng.random(n) < expit(0.5 * X[:, 1] - 0.3)
    chance = np.where(women, expit(2.0 * X[:, 0] + X[:, 1]), expit(X[:, 1] - 0.7 * X[:, 0] + 0.3))
    return X, (rng.random(n) < chance).astype(int), np.where(women, "women", "men")


def fitted(weights=None, data=None, fit=None, **options):
    X, y, g = people() if data is None else data
    options = {"learner": LOGIT, "random_state": 0} | options
    return FrontierRule(weights=weights, **options).fit(X, y, sensitive_features=g, **(fit or {}))


def shares(g, w=None):
    w = np.ones(len(g)) if w is None else w
    return np.array([w[g == label].sum() for label in GROUPS]) / w.sum()


def plain_pairs(X, y, g, X_new=None, model=LOGIT, w=None):
    """E[dl 1{G = g} | x] for classification loss, one multinomial model of its values per group."""
    dl, columns = np.where(y == 1, -1.0, 1.0), []
    for label in GROUPS:
        z = np.where(g == label, dl, 0.0)
        own = clone(model).fit(X, z.astype(int), sample_weight=None if w is None else w / w.mean())
        columns.append(own.predict_proba(X if X_new is None else X_new) @ own.classes_)
    return np.column_stack(columns)


def unit(q):
    return np.asarray(q, dtype=float) / np.hypot(*q)


def frontier(data=None, fit=None, **options):
    X, y, g = people() if data is None else data
    options = {"learner": LOGIT, "n_folds": 3, "n_rep": 1, "random_state": 0} | options
    return FairFrontier(**options).fit(X, y, sensitive_features=g, **(fit or {}))
