"""Time and accuracy of one cross-fit as by the preset `logit-lasso` against scikit-learn's tuned saga fits.

The labels are those of the balanced design: for group g, (1 - 2Y) 1{G = g}, to be predicted by
P(+1 | x) - P(-1 | x). Times are those of the processor. Run as a script, or call `run`.
"""

import json
import time
import warnings

import numpy as np
from scipy.special import expit
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegressionCV
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from fairfrontier.datasets import make_liu_molinari
from fairfrontier.learning.lasso.logistic import L1LogisticRegression

SHARE = {1: 0.6, 0: 0.4}
N_FOLDS = 5


def balanced_design(n, seed):
    """Return the covariates, and for each group the label and the true prediction."""
    features, y, group = make_liu_molinari(n, "balanced", random_state=seed)
    x = features.to_numpy()
    index = {1: x[:, 0] + x[:, 1] + 0.5 * x[:, 2], 0: -x[:, 0] - 0.5 * x[:, 1] + x[:, 3]}
    label = {g: np.where(group == g, 1 - 2 * y, 0) for g in SHARE}
    truth = {g: SHARE[g] * (1.0 - 2.0 * expit(index[g])) for g in SHARE}
    return x, label, truth


def folds_of(n, seed):
    return np.random.default_rng([seed, 1]).permutation(np.arange(n) % N_FOLDS)


def cross_fit(x, label, fold):
    """Return P(+1 | x) - P(-1 | x) out of fold; the penalty is tuned once, on all rows."""
    tuned = L1LogisticRegression(random_state=0, adaptive=True).fit(x, label)
    with_penalty = clone(tuned).set_params(penalty=tuned.penalty_)
    prediction = np.empty(len(x))
    for m in range(N_FOLDS):
        model = with_penalty.fit(x[fold != m], label[fold != m])
        prediction[fold == m] = model.predict_proba(x[fold == m]) @ model.classes_
    return prediction


def reference_fit(x, label):
    """Fit scikit-learn's cross-validated L1 logistic regression to standardised features."""
    model = LogisticRegressionCV(
        Cs=20, cv=5, solver="saga", l1_ratios=(1.0,), scoring="neg_log_loss", use_legacy_attributes=False
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(StandardScaler().fit_transform(x), label)


def mean_squared_error(n, seeds, group=1):
    """Return the mean squared error of the cross-fitted prediction, averaged over seeds."""
    errors = []
    for seed in seeds:
        x, label, truth = balanced_design(n, seed)
        errors.append(np.mean((cross_fit(x, label[group], folds_of(n, seed)) - truth[group]) ** 2))
    return float(np.mean(errors))


@threadpool_limits.wrap(limits=1)
def run(n=8_000, n_reference_fits=2, seed=0) -> dict:
    """Time one cross-fit of both groups, and some of the 10 reference fits (scaled up), on one thread."""
    x, label, _ = balanced_design(n, seed)
    fold = folds_of(n, seed)
    cross_fit(x[:500], label[1][:500], fold[:500])  # compile

    start = time.process_time()
    for g in SHARE:
        cross_fit(x, label[g], fold)
    seconds = time.process_time() - start

    jobs = [(g, m) for m in range(N_FOLDS) for g in SHARE][:n_reference_fits]
    start = time.process_time()
    for g, m in jobs:
        reference_fit(x[fold != m], label[g][fold != m])
    reference_seconds = (time.process_time() - start) * (2 * N_FOLDS) / n_reference_fits
    return {
        "n": n,
        "seconds": seconds,
        "reference_seconds": reference_seconds,
        "reference_fits_timed": n_reference_fits,
        "ratio": reference_seconds / seconds,
    }


if __name__ == "__main__":
    result = run()
    result["mse_n_8000"] = mean_squared_error(8_000, range(20))
    result["mse_n_1000"] = mean_squared_error(1_000, range(20))
    print(json.dumps(result, indent=2))
