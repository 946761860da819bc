"""How close learners come to the true nuisance functions of the balanced simulation design."""

import numpy as np
import pytest
from scipy.special import expit
from sklearn.tree import DecisionTreeClassifier
from support.codes import group_codes
from support.quick import FEW

from fairfrontier.data.sample import make_sample
from fairfrontier.datasets import make_hospital, make_liu_molinari
from fairfrontier.learning.cross_fitting import cross_fit
from fairfrontier.learning.learners import GroupPrediction, TrainingRows, fit_learner, log_loss, resolve_learner


def squared_errors(learner, seeds, n=8000):
    """Average over samples of the squared errors of (Dtheta^r, Dtheta^b)."""
    errors = []
    for seed in seeds:
        X, y, group = make_liu_molinari(n, "balanced", seed)
        sample = make_sample(X, y, group)
        x = X.to_numpy()
        # Dtheta^g = mu_g (1 - 2 Lambda(index_g)) under classification loss
        truth = np.column_stack(
            [
                0.6 * (1 - 2 * expit(x[:, 0] + x[:, 1] + 0.5 * x[:, 2])),
                0.4 * (1 - 2 * expit(-x[:, 0] - 0.5 * x[:, 1] + x[:, 3])),
            ]
        )
        nuisance = cross_fit(sample, 1.0 - 2.0 * sample.y, learner, random_state=seed)
        errors.append(np.mean((nuisance.predictions[0] - truth) ** 2, axis=0))
    return np.mean(errors, axis=0)


def test_logit_learners_come_close_and_factoring_helps():
    factored, three_class = (
        squared_errors(resolve_learner(name, **FEW), range(2)) for name in ("factored-logit", "logit-lasso")
    )
    assert factored[0] <= 0.0006
    assert factored[1] <= 0.0006
    assert three_class[0] <= 0.0013
    assert (factored < three_class).all()


@pytest.mark.slow
@pytest.mark.parametrize(("learner", "target"), [("factored-logit", 0.0006), ("logit-lasso", 0.0013)])
def test_logit_learners_reach_their_targets_on_average(learner, target):
    assert squared_errors(learner, range(24))[0] <= target


@pytest.mark.slow
@pytest.mark.parametrize("name", ["factored-logit", "logit-lasso"])
def test_adaptive_lasso_beats_the_plain_one_in_small_samples(name):
    adaptive = squared_errors(name, range(20), n=1000)
    plain = squared_errors(resolve_learner(name, adaptive=False), range(20), n=1000)
    assert (adaptive < plain).all()


def honest_forest(x, codes, new, n_trees=100):
    """Class probabilities: half the rows per tree, one half of these chooses its splits, the other fills its leaves."""
    rng = np.random.default_rng(0)
    n_features = min(int(np.sqrt(x.shape[1]) + 20), x.shape[1])
    total, used = np.zeros((len(new), codes.max() + 1)), np.zeros(len(new))
    for t in range(n_trees):
        choose, fill = np.array_split(rng.permutation(len(x))[: len(x) // 2], 2)
        tree = DecisionTreeClassifier(min_samples_leaf=5, max_features=n_features, random_state=t)
        leaf_of_filling, leaf_of_new = (tree.fit(x[choose], codes[choose]).apply(rows) for rows in (x[fill], new))
        counts = np.zeros((tree.tree_.node_count, total.shape[1]))
        np.add.at(counts, (leaf_of_filling, codes[fill]), 1)
        filled = counts.sum(axis=1)[leaf_of_new]
        known = filled > 0
        total[known] += counts[leaf_of_new[known]] / filled[known, None]
        used += known
    return total / used[:, None]


@pytest.mark.slow
def test_forests_are_no_worse_than_an_honest_forest():
    patients = make_hospital(9000, random_state=3, columns="published")
    rows = TrainingRows(patients.X, 1.0 - 2.0 * patients.y, group_codes(patients.sensitive_features == "Black"), 2)
    train, held = rows.take(np.arange(3000)), rows.take(np.arange(3000, 9000))

    def loss(prediction, code):
        return np.minimum(log_loss(prediction, held.z(code)), -np.log(1e-6)).mean()

    honest = {}
    for code in (0, 1):
        values, codes = np.unique(train.z(code), return_inverse=True)
        p = honest_forest(train.X.to_numpy(dtype=float), codes, held.X.to_numpy(dtype=float))
        honest[code] = loss(GroupPrediction(p @ values, values, p), code)
    for name in ("forest", "factored-forest"):
        prediction = fit_learner(resolve_learner(name), train, np.random.SeedSequence(1)).predict(held.X)
        for code, got in enumerate(prediction.groups):
            assert loss(got, code) <= honest[code], (name, code)
