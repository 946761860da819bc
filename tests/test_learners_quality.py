"""How close learners come to the true nuisance functions of the balanced simulation design."""

import numpy as np
from scipy.special import expit

from fairfrontier.data import make_sample
from fairfrontier.datasets import make_liu_molinari
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
    factored, three_class = (squared_errors(name, (1, 2, 3)) for name in ("factored-logit", "logit-lasso"))
    assert factored[0] <= 0.0012
    assert factored[1] <= 0.0008
    assert three_class[0] <= 0.0022
    assert three_class[1] <= 0.0025
    assert (factored < three_class).all()
