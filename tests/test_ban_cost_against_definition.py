"""What a ban of the group costs: both sides, their draws and joint intervals against transcriptions and theory."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from support.plain import unit_weights
from support.populations import discrete_population
from support.quick import QUICK

from fairfrontier import FairFrontier
from fairfrontier.datasets import make_liu_molinari
from fairfrontier.errors import InputError
from fairfrontier.inference.ban.estimates import cost_curve, two_sides
from fairfrontier.inference.ban.result import gap_bounds, gap_forms

X, y, group = make_liu_molinari(500, design="skewed", random_state=4)
y, group = np.asarray(y), np.asarray(group)
OPTIONS = QUICK | {"n_folds": 2, "n_boot": 99, "random_state": 0}
CODES = 1 - group


@pytest.fixture(scope="module")
def ff():
    return FairFrontier(**OPTIONS).fit(X, y, sensitive_features=group)


@pytest.fixture(scope="module")
def cost(ff):
    return ff.cost_of_ban()


def risks(selected, w):
    """Share of wrong decisions by group, group 1 first."""
    wrong = (selected != (y == 1)).astype(float)
    return np.array([np.sum((w * wrong)[group == g]) / np.sum(w[group == g]) for g in (1, 0)])


def sides(ff, w):
    """Risks at the points with fixed directions, without and with the group, under row weights."""
    t = ff.nuisance_.predictions[0]
    within = t / ff.nuisance_.group_probabilities[0]
    shares = np.array([(group == 1).mean(), (group == 0).mean()])
    corner = risks(within[np.arange(len(y)), CODES] < 0.0, w)
    without = []
    for weights in ((1.0, 0.0), (0.0, 1.0), (0.5, 0.5), shares):
        k = -(weights[0] / shares[0]) * t[:, 0] - (weights[1] / shares[1]) * t[:, 1]
        without.append(risks(k > 0.0, w))
    return np.array(without), np.tile(corner, (4, 1))


def test_risks_of_both_sides_and_standard_errors(ff, cost):
    without, seeing = sides(ff, np.ones(len(y)))
    np.testing.assert_allclose(cost.without[:4], without, atol=1e-12)
    np.testing.assert_allclose(cost.seeing[:4], seeing, atol=1e-12)
    draws = [sides(ff, w) for w in unit_weights(len(y), 99, ff.fit_.seeds.drawing)]
    difference = np.array([a - b for a, b in draws])
    np.testing.assert_allclose(cost.errors[:4], difference.std(axis=0), atol=1e-12)
    signed = [np.column_stack([(a - b) @ [1, -1], (a + b) @ [1, -1]]) for a, b in draws]
    np.testing.assert_allclose(cost.gap_errors[:4], np.std(signed, axis=0), atol=1e-12)


def test_intervals_reach_as_far_as_the_largest_deviation_of_all(cost):
    assert cost.names == ("best for 1", "best for 0", "utilitarian", "population", "rawlsian", "fairest")
    k = int(np.ceil(0.95 * 99))
    reach = np.sort(cost.largest)[k - 1]
    np.testing.assert_allclose(cost.intervals[..., 1], cost.cost + reach * cost.errors)
    np.testing.assert_allclose(cost.intervals[..., 0], cost.cost - reach * cost.errors)
    table = cost.table
    np.testing.assert_array_equal(table[["low 1", "low 0"]], cost.intervals[..., 0])
    assert (table["low gap"] <= table["change in gap"] + 1e-12).all()
    assert (table["change in gap"] <= table["high gap"] + 1e-12).all()
    wider = cost.at(0.01).intervals
    assert (wider[..., 0] <= cost.intervals[..., 0]).all()


def test_the_curve_is_the_difference_of_two_support_functions(ff, cost):
    aware = FairFrontier(**OPTIONS, rules="group-aware").fit(X, y, sensitive_features=group)
    w = np.linspace(0.0, 1.0, 41)
    q = -np.column_stack([w, 1.0 - w])
    np.testing.assert_allclose(cost.curve["cost"], aware.support(q) - ff.support(q), atol=1e-12)
    assert (cost.curve["low"] <= cost.curve["cost"]).all()
    at = cost.curve.iloc[20]
    assert at["cost"] == pytest.approx(cost.cost[cost.names.index("utilitarian")].mean(), abs=1e-12)
    # the same fit, asked from the other side
    other = aware.cost_of_ban()
    np.testing.assert_allclose(other.cost, cost.cost, atol=1e-12)
    np.testing.assert_allclose(other.intervals, cost.intervals, atol=1e-12)


@pytest.mark.parametrize("n_groups", [2, 4])
def test_bounds_of_the_gap_hold_whenever_those_of_its_forms_do(n_groups):
    rng = np.random.default_rng(n_groups)
    for _ in range(200):
        truth = rng.random((2, 3, n_groups)) * rng.choice([0.05, 1.0])
        found = truth + 0.1 * rng.normal(size=truth.shape)
        reach = np.abs(gap_forms(*found) - gap_forms(*truth)) * rng.choice([1.0, 1.5])
        low, high = gap_bounds(*found, reach).T
        change = np.ptp(truth[0], axis=1) - np.ptp(truth[1], axis=1)
        assert (low <= change + 1e-12).all()
        assert (change <= high + 1e-12).all()
    # without any doubt they are the change itself, for two groups
    if n_groups == 2:
        exact = gap_bounds(*truth, np.zeros((3, 2)))
        np.testing.assert_allclose(exact, np.column_stack([change, change]), atol=1e-12)


@pytest.mark.filterwarnings("ignore::fairfrontier.errors.MarginWarning")
@pytest.mark.parametrize("seed", range(3))
def test_a_population_pays_what_theory_says(seed):
    """No preference is served worse with the group, and the best point of a group costs that group nothing."""
    population = discrete_population(seed)
    blind = population.share * population.within
    fit = population.fit(FairFrontier(n_boot=99, random_state=0), blind).fit_
    names, without, seeing = two_sides(fit, blind[None], population.within[None])
    cost, shares = without.risks - seeing.risks, fit.sample.groups.shares
    assert cost[0, 0] == pytest.approx(0.0, abs=1e-12)
    assert cost[1, 1] == pytest.approx(0.0, abs=1e-12)
    assert cost[names.index("utilitarian")].mean() >= -1e-12
    assert cost[names.index("population")] @ shares >= -1e-12
    assert (cost_curve(fit, blind[None], population.within[None]).cost >= -1e-12).all()
    worse = int(np.argmax(seeing.risks[0]))
    assert seeing.risks[names.index("fairest"), worse] == pytest.approx(seeing.risks[0, worse], abs=1e-12)


@pytest.mark.filterwarnings("ignore::fairfrontier.errors.WeakLearnerWarning")
def test_a_learner_without_factors_is_fitted_once_more_on_the_same_folds():
    options = OPTIONS | {"learner": LogisticRegression(), "learner_params": None}
    found = [
        FairFrontier(**options, rules=rules).fit(X, y, sensitive_features=group).cost_of_ban()
        for rules in ("group-blind", "group-aware")
    ]
    np.testing.assert_allclose(found[0].cost, found[1].cost, atol=1e-12)


def test_three_groups():
    three = group * (1 + np.arange(len(y)) % 2)
    found = FairFrontier(**OPTIONS).fit(X, y, sensitive_features=three).cost_of_ban()
    assert found.names == ("best for 2", "best for 1", "best for 0", "utilitarian", "population")
    assert found.cost.shape == (5, 3)
    np.testing.assert_allclose(np.diag(found.cost[:3]), 0.0, atol=1e-12)
    assert found.curve is None
    with pytest.raises(InputError, match="two groups"):
        found.plot()
    assert len(found.summary().splitlines()) == 10


def test_predictions_from_outside_have_one_side_only(ff):
    other = FairFrontier(**OPTIONS).fit(X, y, sensitive_features=group, external_nuisance=ff.nuisance_.predictions[0])
    with pytest.raises(InputError, match="with a learner") as caught:
        other.cost_of_ban()
    assert caught.value.code == "bad-learner"


def test_words_and_picture(cost):
    words = cost.summary()
    assert "another question" in words
    assert "regret" in words
    axes = cost.plot()
    assert "weight of group 1" in axes.get_xlabel()
