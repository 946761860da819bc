"""What a ban of the group costs: both sides, their draws and joint intervals against transcriptions and theory."""

from dataclasses import replace
from math import acos, pi, sqrt

import matplotlib.pyplot as plt
import numpy as np
import pytest
from scipy.optimize import linprog
from sklearn.linear_model import LogisticRegression
from support import ban_study
from support.plain import unit_weights
from support.populations import discrete_population
from support.quick import QUICK

from fairfrontier import FairFrontier
from fairfrontier.datasets import make_liu_molinari
from fairfrontier.errors import InputError, SmallSampleWarning
from fairfrontier.inference.ban.estimates import cost_curve, two_sides
from fairfrontier.inference.ban.result import gap_bounds, gap_forms
from fairfrontier.learning.diagnostics import what_determines
from fairfrontier.report import text

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


def sides(ff, w, repetition=0):
    """Risks at the points with fixed directions, without and with the group, under row weights."""
    t = ff.nuisance_.predictions[repetition]
    within = t / ff.nuisance_.group_probabilities[repetition]
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
    # without any doubt they are the change itself
    exact = gap_bounds(*truth, np.zeros((3, 1)))
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


@pytest.mark.filterwarnings("ignore::fairfrontier.errors.FairFrontierWarning")
def test_a_learner_without_factors_is_fitted_once_more_on_the_same_folds():
    options = OPTIONS | {"learner": LogisticRegression(), "learner_params": None, "missing": "drop"}
    unknown = np.where(np.arange(len(y)) % 50 == 0, np.nan, y)  # rows that are dropped have no folds
    found = [
        FairFrontier(**options, rules=rules).fit(X, unknown, sensitive_features=group).cost_of_ban()
        for rules in ("group-blind", "group-aware")
    ]
    np.testing.assert_allclose(found[0].cost, found[1].cost, atol=1e-12)


def test_a_pair_of_groups_pays_the_same_by_either_kind_of_fit(three):
    """Among two of three groups P(g | x) is that among all, over that of either of them."""
    blind, aware = three
    pair, other = blind.pair(2, 0), aware.pair(2, 0)
    np.testing.assert_allclose(other.cost_of_ban().cost, pair.cost_of_ban().cost, atol=1e-12)
    assert other.test_group_skew().p_value == pair.test_group_skew().p_value
    assert "What a ban adds" in other.summary()
    chance = other.nuisance_.group_probabilities
    np.testing.assert_allclose(chance.sum(axis=2), 1.0)


def test_nothing_is_called_shown_of_a_learner_that_cannot_see_the_group():
    """The group does not matter, but the logistic P(g | x) is wrong: rules without it do worse, a ban costs nothing."""
    for replication in range(2):
        found = ban_study.ban_of("hidden", 800, replication)
        assert (found.intervals[:, :, 0] > 0.0).any()
        assert found.doubts
        for words in (found.remarks()[0], " ".join(found.in_brief())):
            assert "is not shown: " in words
            assert "are shown to do worse" not in words
    sure = replace(found, doubts=())
    assert "Rules learned without the group are shown to do worse" in sure.remarks()[0]
    assert any("regret" in line for line in sure.in_brief())
    nothing = replace(sure, seeing=sure.without + 1.0)
    assert "not shown to do worse here" in nothing.remarks()[0]


@pytest.fixture(scope="module")
def three():
    """Fits of three groups for both kinds of rules."""
    three = group * (1 + np.arange(len(y)) % 2)
    kinds = ("group-blind", "group-aware")
    return [FairFrontier(**OPTIONS, rules=rules).fit(X, y, sensitive_features=three) for rules in kinds]


def test_three_groups(three):
    found = three[0].cost_of_ban()
    assert found.names == ("best for 2", "best for 1", "best for 0", "utilitarian", "population", "rawlsian", "fairest")
    assert found.cost.shape == (7, 3)
    np.testing.assert_allclose(np.diag(found.cost[:3]), 0.0, atol=1e-12)
    assert found.curve is None
    axes = found.plot()
    assert [text.get_text() for text in axes.get_yticklabels()] == list(found.names)
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["group 2", "group 1", "group 0"]
    drawn = np.array([bar.lines[0].get_xdata() for bar in axes.containers]).T
    np.testing.assert_array_equal(drawn, found.cost)
    plt.close(axes.figure)
    assert len(found.summary().splitlines()) == 12 + any("noise" in line for line in found.remarks())
    assert "; in the range " in found.summary()
    assert "Between the two fairest points: group 2" in found.summary()


def programme(risk, change, weights, aim):
    """Risks (G,) with the smallest range, or largest risk, and then the smallest mean, over 0 <= a <= 1: a programme.

    Without decisions the groups have ``risk`` (G,); decision variable v adds ``change`` (V, G) times ``weights`` (V,).
    """
    n, k = change.shape
    moved = (weights[:, None] * change).T  # risks are risk + moved @ a
    above = np.hstack([moved, -np.ones((k, 1)), np.zeros((k, 1))])
    below = np.hstack([-moved, np.zeros((k, 1)), np.ones((k, 1))])
    limits, cost = np.concatenate([-risk, risk]), np.zeros(n + 2)
    cost[n], cost[n + 1] = 1.0, -1.0 if aim == "range" else 0.0
    free = [(0.0, 1.0)] * n + [(None, None), (None, None) if aim == "range" else (-9.0, -9.0)]
    first = linprog(cost, np.vstack([above, below]), limits, bounds=free)
    mean = np.concatenate([moved.mean(axis=0), [0.0, 0.0]])
    second = linprog(mean, np.vstack([above, below, cost]), np.append(limits, first.fun + 1e-9), bounds=free)
    return risk + moved @ second.x[:n]


@pytest.mark.filterwarnings("ignore::fairfrontier.errors.MarginWarning")
@pytest.mark.parametrize("n_groups", [2, 3, 4])
@pytest.mark.parametrize("seed", range(3))
def test_rawlsian_and_fairest_points_of_several_groups_against_programmes(n_groups, seed):
    """Predictions are the means of the sample's own cells, so that what is best by them is best by outcomes."""
    rng = np.random.default_rng([seed, n_groups])
    n, n_cells = 300, 5
    cell, g = rng.integers(n_cells, size=n), np.arange(n) % n_groups
    chance = np.clip(rng.random((n_cells, n_groups)) * (0.3 + 0.7 * rng.random(n_groups)), 0.02, 0.98)
    outcome = (rng.random(n) < chance[cell, g]).astype(int)
    dl = 1.0 - 2.0 * outcome
    share = np.array([[np.mean(g[cell == c] == k) for k in range(n_groups)] for c in range(n_cells)])
    within = np.array([[dl[(cell == c) & (g == k)].mean() for k in range(n_groups)] for c in range(n_cells)])
    blind = (share * within)[cell]
    options = {"n_boot": 99, "random_state": 0, "groups": tuple(range(n_groups))}
    fit = FairFrontier(**options).fit(None, outcome, sensitive_features=g, external_nuisance=blind).fit_
    names, without, seeing = two_sides(fit, blind[None], within[cell][None])
    risk = np.array([outcome[g == k].mean() for k in range(n_groups)])
    change = (share * within) / np.array([np.mean(g == k) for k in range(n_groups)])
    own = np.vstack([np.diag(row) for row in change])
    size = np.bincount(cell, minlength=n_cells) / n
    for name, aim in (("rawlsian", "largest"), ("fairest", "range")):
        at = names.index(name)
        np.testing.assert_allclose(without.risks[at], programme(risk, change, size, aim), atol=5e-5)
        with_group = programme(risk, own, np.repeat(size, n_groups), aim)
        np.testing.assert_allclose(seeing.risks[at], with_group, atol=1e-6 if n_groups == 2 else 5e-5)


@pytest.mark.filterwarnings("ignore::fairfrontier.errors.WeakLearnerWarning")
def test_draws_have_the_noise_of_folds():
    """Mean over the repetitions, and a difference between two of them in the next draw, on both sides at once."""
    ff = FairFrontier(**OPTIONS | {"n_rep": 3, "n_folds": 3}).fit(X, y, sensitive_features=group)
    cost, n_boot = ff.cost_of_ban(), 99
    weights = unit_weights(len(y), n_boot, ff.fit_.seeds.drawing)
    hat = np.array([np.stack(sides(ff, np.ones(len(y)), r)) for r in range(3)])
    drawn = np.array([[np.stack(sides(ff, w, r)) for w in weights] for r in range(3)])
    np.testing.assert_allclose(cost.without[:4], hat[:, 0].mean(axis=0), atol=1e-12)
    np.testing.assert_allclose(cost.seeing[:4], hat[:, 1].mean(axis=0), atol=1e-12)
    total = drawn.mean(axis=0)
    rho = 2 * 2 / pi / (4 * sqrt(3)) / (acos(2 / 3) / pi)
    for b in range(n_boot):
        r, s = [(0, 1), (0, 2), (1, 2)][b % 3]
        after = (b + 1) % n_boot
        total[b] += sqrt(rho) * ((drawn[r, after] - hat[r]) - (drawn[s, after] - hat[s]))
    np.testing.assert_allclose(cost.errors[:4], (total[:, 0] - total[:, 1]).std(axis=0), rtol=1e-9)
    alone = (drawn[:, :, 0] - drawn[:, :, 1]).mean(axis=0).std(axis=0)
    assert (cost.errors[:4] >= alone).all()
    # the curve at equal weights is the mean of the two costs of the utilitarian point
    middle = (total[:, 0] - total[:, 1])[:, 2].mean(axis=1)
    assert cost.curve_errors[20] == pytest.approx(middle.std(), rel=1e-9)


@pytest.mark.filterwarnings("ignore::fairfrontier.errors.FairFrontierWarning")
@pytest.mark.parametrize("n_groups", [2, 3])
def test_the_fairest_points_are_those_of_the_fits(n_groups):
    """On either side, however many repetitions there are."""
    g = group if n_groups == 2 else group * (1 + np.arange(len(y)) % 2)
    for rules in ("group-blind", "group-aware"):
        ff = FairFrontier(**OPTIONS | {"n_rep": 3, "random_state": 3}, rules=rules).fit(X, y, sensitive_features=g)
        found = ff.cost_of_ban()
        own = found.seeing if rules == "group-aware" else found.without
        np.testing.assert_allclose(own[-1], ff.points_.loc["fairest"].to_numpy()[:n_groups], atol=1e-12)


def refused(call):
    with pytest.raises(InputError) as caught:
        call()
    return caught.value


@pytest.mark.filterwarnings("ignore::fairfrontier.errors.FairFrontierWarning")
@pytest.mark.parametrize("rules", ["group-blind", "group-aware"])
@pytest.mark.parametrize("n_groups", [2, 3])
def test_an_empty_ban_has_no_cost(rules, n_groups):
    g = group if n_groups == 2 else group * (1 + np.arange(len(y)) % 2)
    own = FairFrontier(**OPTIONS, rules=rules).fit(X.assign(own=g.astype(str)), y, sensitive_features=g)
    error = refused(own.cost_of_ban)
    assert error.code == "group-determined"
    assert ("covariates separate the groups ('own')" if n_groups == 2 else "separate the groups") in str(error)
    assert str(error) in own.summary(ban=True)
    # told by two columns together, and by neither alone
    if n_groups == 2:
        mask = np.random.default_rng(0).integers(2, size=len(y))
        two = X[[]].assign(a=mask, b=mask ^ g)
        chances = np.column_stack([g, 1 - g])
        assert what_determines(two[["a", "b"]], CODES, 2, np.ones(len(y)), 0.5 + 0.0 * chances) is None
        assert "predictions separate" in what_determines(two[["a", "b"]], CODES, 2, np.ones(len(y)), chances)


def test_a_capacity_is_refused(ff):
    error = refused(lambda: ff.cost_of_ban(capacity=0.3))
    assert error.code == "bad-option"
    assert "without a capacity, got capacity=0.3" in str(error)


def test_few_people_show_nothing():
    few = np.concatenate([np.flatnonzero(group == 1)[:40], np.flatnonzero(group == 0)[:90]])
    small = FairFrontier(**OPTIONS).fit(X.iloc[few], y[few], sensitive_features=group[few])
    with pytest.warns(SmallSampleWarning, match="group 1 is worth 40 people of equal weight, fewer than 50"):
        found = small.cost_of_ban()
    assert any("group 1 is worth 40 people" in doubt for doubt in found.doubts)
    assert "are shown to do worse" not in replace(found, seeing=found.without - 1.0).remarks()[0]


def test_the_fairest_points_alone_show_nothing_and_negative_costs_are_noise(cost):
    sure = replace(cost, doubts=(), seeing=cost.without.copy())
    assert not any("noise" in line for line in sure.remarks())
    at = sure.names.index("fairest")
    sure.seeing[at] -= 2.0
    assert "not shown to do worse here" in sure.remarks()[0]
    assert "The fairest points do not count here" in sure.remarks()[0]
    sure.seeing[:at] -= 2.0
    assert "are shown to do worse, for some group, than rules learned with it at: best for 1" in sure.remarks()[0]
    assert "fairest," not in sure.remarks()[0]
    sure.seeing[2] = sure.without[2] + 0.01
    assert "negative estimates are noise" in sure.remarks()[1]
    assert sure.remarks()[1] in sure.in_brief()


def test_a_summary_has_both_answers_where_they_are_quick(ff, cost, monkeypatch):
    heading = "Should the group be banned as an input?"
    words, skew = ff.summary(), ff.test_group_skew()
    assert heading in words
    assert f"- Test of group skew: {skew.verdict_text} P-value {skew.p_value:.4f}." in words
    assert all(f"- {line}" in words for line in cost.in_brief())
    assert cost.in_brief()[1].startswith("At the point 'population'")
    assert "Left out as asked: `test_group_skew()` and `cost_of_ban()`" in ff.summary(ban=False)
    monkeypatch.setattr(text, "WORK", len(y) * 99 - 1)
    assert "not asked here, because it takes many draws: `test_group_skew()`" in ff.summary().lower()
    assert ff.summary(ban=True) == words


@pytest.mark.filterwarnings("ignore::fairfrontier.errors.WeakLearnerWarning")
def test_a_summary_makes_no_second_fit_unless_asked(ff, three):
    other = FairFrontier(**OPTIONS | {"learner": LogisticRegression(), "learner_params": None})
    other.fit(X, y, sensitive_features=group)
    assert "takes a second fit of the learner" in other.summary()
    assert other.cost_of_ban().in_brief()[1] in other.summary(ban=True)
    outside = FairFrontier(**OPTIONS).fit(X, y, sensitive_features=group, external_nuisance=ff.nuisance_.predictions[0])
    assert "from predictions supplied from outside: fit with a learner" in outside.summary()
    blind = three[0]
    assert "The test of group skew compares two groups: see `pair`." in blind.summary()
    assert blind.cost_of_ban().in_brief()[2] in blind.summary()
    assert "Left out as asked: `cost_of_ban()`" in blind.summary(ban=False)


@pytest.mark.filterwarnings("ignore::fairfrontier.errors.WeakLearnerWarning")
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
