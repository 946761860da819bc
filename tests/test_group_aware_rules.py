"""Rules that see the group, from every kind of learner: what is learned, how rules decide, and what is refused."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from support.quick import FEW, QUICK
from support.refusals import refused

from fairfrontier import FairFrontier, FrontierRule, evaluate
from fairfrontier.datasets import make_liu_molinari
from fairfrontier.errors import InputError
from fairfrontier.learning.learners import TrainingRows, child_seeds, fit_learner, read_learner, within_groups

X, y, group = make_liu_molinari(400, random_state=3)
AWARE = QUICK | {"rules": "group-aware", "n_folds": 2, "n_boot": 99, "random_state": 0}


@pytest.fixture(scope="module")
def fitted():
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # neither the margin nor a determined group is a concern
        return FairFrontier(**AWARE).fit(X, y, sensitive_features=group)


def rows():
    return TrainingRows(X, 1.0 - 2.0 * np.asarray(y), 1 - np.asarray(group), 2)


def test_a_factored_learner_hands_on_its_factor():
    learner = read_learner("factored-logit", FEW)
    seed = np.random.SeedSequence(1)
    whole, factor = (fit_learner(own, rows(), seed).predict(X) for own in (learner, within_groups(learner)))
    np.testing.assert_allclose(factor.delta_theta * whole.group_probabilities, whole.delta_theta, rtol=1e-12)
    np.testing.assert_array_equal(factor.delta_theta, whole.within_means)


def test_a_direct_learner_is_fitted_to_the_rows_of_each_group():
    learner = within_groups(read_learner(LogisticRegression(C=1.0), None))
    found = fit_learner(learner, rows(), np.random.SeedSequence(1)).predict(X).delta_theta
    for column, label in enumerate((1, 0)):
        own = np.asarray(group) == label
        plain = LogisticRegression(C=1.0).fit(X[own], np.asarray(y)[own])
        np.testing.assert_allclose(found[:, column], 1.0 - 2.0 * plain.predict_proba(X)[:, 1], atol=1e-8)


@pytest.mark.parametrize("name", ["boosting", "partially-linear", "stack", "pooled-logit", "auto"])
def test_every_learner_supplies_it(name):
    few = {"boosting": {"max_iter": 5}, "auto": {"max_iter": 5}, "partially-linear": {"linear": ("x1", "x2")}}
    few["stack"] = {"members": ["factored-logit", LogisticRegression()]}
    within = within_groups(read_learner(name, few.get(name)))
    names = within.components(2)
    seeds = child_seeds(np.random.SeedSequence(2), len(names))
    tuning = {n: within.tune(n, rows(), s) if within.tunes_once else None for n, s in zip(names, seeds, strict=True)}
    prediction = fit_learner(within, rows(), np.random.SeedSequence(1), tuning).predict(X)
    assert within.sees_group
    for column, label in enumerate((1, 0)):
        own = np.asarray(group) == label
        dl = 1.0 - 2.0 * np.asarray(y)[own]
        found = prediction.delta_theta[own, column]
        assert np.mean((dl - found) ** 2) < np.mean((dl - dl.mean()) ** 2)


def test_quality_is_that_within_the_group(fitted):
    quality, t = fitted.nuisance_.quality, fitted.nuisance_.predictions[0]
    folds, dl = fitted.nuisance_.folds[0], 1.0 - 2.0 * np.asarray(y)
    own = (np.asarray(group) == 1) & (folds == 1)
    train = (np.asarray(group) == 1) & (folds != 1)
    expected = 1.0 - np.sum((dl - t[:, 0])[own] ** 2) / np.sum((dl[own] - dl[train].mean()) ** 2)
    line = quality[(quality["fold"] == 1) & (quality["group"] == 1)]
    assert line["r2"].item() == pytest.approx(expected, abs=1e-12)


def test_a_rule_decides_by_the_sign_in_a_persons_own_group(fitted):
    rule = fitted.rule()
    t = fitted._deployment.learned().predict(X).delta_theta
    own = t[np.arange(len(X)), 1 - np.asarray(group)]
    np.testing.assert_array_equal(rule.predict(X, sensitive_features=group), (own < 0.0).astype(int))
    for weights in ("population", "best-for:1", "best-for:0", (3, 1), "rawlsian"):
        other = fitted.rule(weights)
        np.testing.assert_array_equal(
            other.predict(X, sensitive_features=group), rule.predict(X, sensitive_features=group)
        )


def test_the_fairest_point_is_no_rule_unless_there_is_a_capacity(fitted):
    rule = FrontierRule(learner="factored-logit", learner_params=FEW, rules="group-aware", weights="egalitarian")
    for ask in (lambda: fitted.rule("egalitarian"), lambda: rule.fit(X, y, sensitive_features=group)):
        with pytest.raises(InputError, match="worse on purpose") as caught:
            ask()
        assert caught.value.code == "bad-option"
    assert fitted.rule("egalitarian", capacity=0.3).capacity == 0.3


def test_a_rule_with_a_capacity_selects_that_share(fitted):
    for weights in ("population", "best-for:1"):
        rule = fitted.rule(weights, capacity=0.2)
        chances = rule.predict_proba(X, sensitive_features=group)[:, 1]
        assert chances.mean() == pytest.approx(0.2, abs=1e-9)
        again = rule.recalibrate(X, sensitive_features=group).predict_proba(X, sensitive_features=group)[:, 1]
        np.testing.assert_array_equal(chances, again)


def test_a_rule_without_the_group_says_what_it_needs(fitted):
    rule = fitted.rule()
    for ask in (rule.predict, rule.predict_proba, rule.decision_function, rule.draw, rule.recalibrate):
        with pytest.raises(InputError, match="sensitive_features") as caught:
            ask(X)
        assert caught.value.code == "missing-group"
    with pytest.raises(InputError, match="learned about the groups") as caught:
        rule.predict(X, sensitive_features=np.full(len(X), 7))
    assert caught.value.code == "unknown-group"
    with pytest.raises(InputError, match="one per row") as caught:
        rule.predict(X, sensitive_features=np.asarray(group)[:-1])
    assert caught.value.code == "length-mismatch"


def test_evaluate_hands_the_groups_to_the_rule(fitted):
    rule = fitted.rule()
    found = evaluate(rule, X, y, group)
    np.testing.assert_allclose(found.risks, fitted.risks(rule.predict(X, sensitive_features=group)).risk)
    blind = FrontierRule(learner="factored-logit", learner_params=FEW, random_state=0).fit(
        X, y, sensitive_features=group
    )
    with pytest.raises(TypeError, match="does not see the group"):
        blind.predict(X, sensitive_features=group)
    assert len(evaluate(blind, X, y, group).risks) == 2


def test_a_rule_is_learned_by_itself():
    rule = FrontierRule(
        learner="factored-logit", learner_params=FEW, rules="group-aware", weights="rawlsian", n_folds=2, random_state=0
    )
    rule.fit(X, y, sensitive_features=group)
    assert 0.0 < rule.predict(X, sensitive_features=group).mean() < 1.0


def test_what_does_not_go_together_is_refused():
    for options, word in (
        ({"rules": "seeing"}, "group-aware"),
        ({"folds": "sequential", "n_folds": 10}, "sequential"),
        ({"jitter": 0.01}, "jitter"),
        ({"bias_correction": "regret"}, "bias_correction"),
    ):
        with pytest.raises(InputError, match=word) as caught:
            FairFrontier(**(AWARE | options)).fit(X, y, sensitive_features=group)
        assert caught.value.code == "bad-option"


def test_best_points_are_a_corner_and_not_tested_as_points(fitted):
    with pytest.raises(InputError, match="corner"):
        fitted.test_best_points([0.2, 0.3], [0.3, 0.2])


def test_several_groups_and_a_pair_of_them():
    three = np.asarray(group) * (1 + np.arange(len(X)) % 2)  # group 1 in two halves, of which one is called 2
    ff = FairFrontier(**AWARE).fit(X, y, sensitive_features=three)
    pair = ff.pair(1, 0)
    rows = np.flatnonzero(three != 2)
    t = ff.nuisance_.predictions[0][rows]
    codes = np.where(three[rows] == 1, 1, 2)  # in the order 2, 1, 0
    own, dl = t[np.arange(len(rows)), codes], 1.0 - 2.0 * np.asarray(y)[rows]
    for k, code in enumerate((1, 2)):
        member = codes == code
        risk = np.mean(np.asarray(y)[rows][member] + dl[member] * (own[member] < 0.0))
        assert pair.points_.iloc[0, k] == pytest.approx(risk, abs=1e-12)


def test_rules_of_several_groups_need_the_group_and_serve_each_by_itself():
    three = np.array(["c", "b", "a"])[np.asarray(group) * (1 + np.arange(len(X)) % 2)]
    ff = FairFrontier(**AWARE).fit(X, y, sensitive_features=three)
    rule = ff.rule("population")
    decided = rule.predict(X, sensitive_features=three)
    own = [rule.predict(X, sensitive_features=np.full(len(X), label)) for label in ("a", "b", "c")]
    np.testing.assert_array_equal(decided, np.select([three == label for label in ("a", "b", "c")], own))
    for name in ("rawlsian", "utilitarian", "best-for:a", [3, 1, 2]):  # without a capacity all are the corner
        np.testing.assert_array_equal(ff.rule(name).predict(X, sensitive_features=three), decided)
    turned = pd.Series(three, index=X.index)[::-1]  # matched by label
    np.testing.assert_array_equal(rule.predict(X, sensitive_features=turned), decided)
    assert rule.score(X, y, sensitive_features=three) == pytest.approx(np.mean(decided == y))
    refused("missing-group", "needs that of every row", lambda: rule.predict(X))
    refused("missing-group", "needs that of every row", lambda: rule.score(X, y))
    refused("unknown-group", "has 'z', but", lambda: rule.predict(X, sensitive_features=np.full(len(X), "z")))
    refused("length-mismatch", "has 5 values", lambda: rule.predict(X, sensitive_features=three[:5]))
    refused("bad-option", "worse on purpose", lambda: ff.rule("egalitarian"))
    capped = ff.rule("population", capacity=0.2)
    chance = capped.predict_proba(X, sensitive_features=three)[:, 1]
    assert chance.mean() == pytest.approx(0.2, abs=1e-9)
