"""Share of a rule's fitting and deciding time that the learner itself takes, at a million rows of 20 columns.

The learner is scikit-learn's boosting with few trees, which leaves the package around it the largest share it can
have; with a capacity, so that the cut-off is fitted too. Times are those of the processor.
"""

import time
from contextlib import contextmanager

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.pipeline import make_pipeline

from fairfrontier import FrontierRule
from fairfrontier.learning.learners import NumericColumns

TREES = 30


def sample(n, seed=0):
    """Return covariates, outcomes and groups."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 20))
    group = (rng.random(n) < 0.6).astype(int)
    signal = X[:, 0] + np.where(group == 1, X[:, 1], -X[:, 2])
    return X, (rng.random(n) < 1.0 / (1.0 + np.exp(-signal))).astype(int), group


@contextmanager
def clocked(methods):
    """Yield a list to which the seconds of every call of methods of the booster are added."""
    seconds, original = [], {name: getattr(HistGradientBoostingClassifier, name) for name in methods}

    def timed(method):
        def call(*args, **kwargs):
            start = time.process_time()
            try:
                return method(*args, **kwargs)
            finally:
                seconds.append(time.process_time() - start)

        return call

    for name, method in original.items():
        setattr(HistGradientBoostingClassifier, name, timed(method))
    try:
        yield seconds
    finally:
        for name, method in original.items():
            setattr(HistGradientBoostingClassifier, name, method)


def run(n=1_000_000):
    """Return the learner's share of the time of fit and predict."""
    X, y, group = sample(n)
    booster = HistGradientBoostingClassifier(max_iter=TREES, max_leaf_nodes=4, early_stopping=False)
    learner = make_pipeline(NumericColumns(native=True), booster)
    rule = FrontierRule(weights="population", capacity=0.1, learner=learner, random_state=0)
    with clocked(("fit", "predict_proba")) as seconds:
        start = time.process_time()
        decisions = rule.fit(X, y, sensitive_features=group).predict(X)
        total = time.process_time() - start
    assert 0.0 < decisions.mean() <= 0.11
    return {"learner_share": sum(seconds) / total, "seconds": total}
