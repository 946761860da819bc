"""How close learners come to the true nuisance functions of the balanced simulation design."""

import numpy as np
import pytest
from scipy.special import expit

from fairfrontier.data import make_sample
from fairfrontier.datasets import make_liu_molinari
from fairfrontier.learners import resolve_learner
from fairfrontier.nuisance import cross_fit


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
    factored, three_class = (squared_errors(name, range(5)) for name in ("factored-logit", "logit-lasso"))
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
