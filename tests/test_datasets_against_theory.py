"""The designs' population values: published figures, and averages over fresh draws."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from support.shared import shared_path

from fairfrontier.datasets import liu_molinari_truth, make_liu_molinari
from fairfrontier.errors import InputError

DESIGNS = {"balanced": "truth_balance.csv", "skewed": "truth_rskew.csv"}


@pytest.mark.parametrize("design", DESIGNS)
def test_points_equal_the_published_ones(design):
    published = pd.read_csv(shared_path("reference", DESIGNS[design])).set_index("type")[["e_r", "e_b"]]
    truth = liu_molinari_truth(design)
    for name in "RBF":
        np.testing.assert_allclose(getattr(truth, name), published.loc[f"true {name}"], rtol=0, atol=5e-4)


@pytest.mark.parametrize("design", DESIGNS)
def test_truth_equals_averages_over_fresh_rows(design):
    X, y, group = make_liu_molinari(200_000, design, random_state=7)
    truth = liu_molinari_truth(design)
    x = X.to_numpy()
    if design == "balanced":
        in_r, in_b = expit(x[:, 0] + x[:, 1] + 0.5 * x[:, 2]), expit(-x[:, 0] - 0.5 * x[:, 1] + x[:, 3])
    else:
        in_r = expit(2 * (x[:, 0] + x[:, 1] + x[:, 2]))
        in_b = expit(0.7 * (x[:, 0] + 0.5 * x[:, 1] + 0.6 * x[:, 3]))
    for q in ([-1.0, 0.0], [0.0, -1.0], [-0.6, -0.8], [0.8, -0.6]):
        treat = q[0] * (1 - 2 * in_r) + q[1] * (1 - 2 * in_b) > 0
        wrong = treat != y
        mean = [wrong[group == 1].mean(), wrong[group == 0].mean()]
        np.testing.assert_allclose(truth.support_set(q)[0], mean, atol=0.006)  # four standard errors
        assert truth.support(q)[0] == pytest.approx(np.dot(q, truth.support_set(q)[0]))

    def decide(frame):
        return expit(frame["x1"] - frame["x7"])

    loss = np.where(y == 1, 1 - decide(X), decide(X))
    np.testing.assert_allclose(truth.risks(decide), [loss[group == 1].mean(), loss[group == 0].mean()], atol=0.005)


def test_covariates_have_the_stated_distributions():
    X, _, group = make_liu_molinari(100_000, random_state=3)
    assert X.shape == (100_000, 20)
    assert group.mean() == pytest.approx(0.6, abs=0.006)
    assert X["x2"].mean() == pytest.approx(0.5, abs=0.004)
    assert X["x2"].var() == pytest.approx(1 / 12, abs=0.002)
    assert X["x3"].mean() == pytest.approx(0.5, abs=0.004)
    assert X["x3"].var() == pytest.approx(0.05, abs=0.002)  # Beta(2, 2)
    others = X.drop(columns=["x2", "x3"])
    assert others.abs().to_numpy().max() <= 3
    np.testing.assert_allclose(others.mean(), 0, atol=0.015)
    np.testing.assert_allclose(others.var(), 0.9733, atol=0.02)  # normal truncated to [-3, 3]


def test_the_seed_decides():
    one, again, other = (make_liu_molinari(50, random_state=s) for s in (1, 1, 2))
    pd.testing.assert_frame_equal(one.X, again.X)
    np.testing.assert_array_equal(one.y, again.y)
    assert not one.X.equals(other.X)


def test_bad_arguments():
    with pytest.raises(InputError, match=r"balanced.*got 'other'"):
        make_liu_molinari(10, design="other")
    with pytest.raises(InputError, match="at least 1; got 0"):
        make_liu_molinari(0)
