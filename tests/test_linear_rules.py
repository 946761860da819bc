"""Linear rules: the surrogate they minimise, their coefficients, and what linearity costs, all by hand."""

import inspect
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.optimize import minimize
from sklearn.base import clone
from support.people import GROUPS, LOGIT, fitted, frontier, people, plain_pairs, shares, unit
from support.refusals import code_of

from fairfrontier import FairFrontier, FrontierRule, LinearFrontierRule, cost_loss
from fairfrontier.errors import NotFittedError

NAMES = ["age", "income", "debt"]


def linear(weights=None, data=None, fit=None, **options):
    X, y, g = people() if data is None else data
    rule = LinearFrontierRule(weights=weights, **({"learner": LOGIT, "random_state": 0} | options))
    return rule.fit(X, y, sensitive_features=g, **(fit or {}))


def stakes(y, g, q, w=None, costs=(1.0, 1.0)):
    """c_i = (q_g / mu_g)(loss(1, y_i) - loss(0, y_i)) of every row."""
    mu = shares(g, w)
    dl = np.where(y == 1, -costs[1], costs[0])
    return np.array([q[0 if label == "women" else 1] / mu[0 if label == "women" else 1] for label in g]) * dl


def plain_fit(X, c, w, C=1.0):
    """Minimise C sum of weight log(1 + exp(-sign score)) + |beta|^2 / 2 in standardised columns; raw coefficients."""
    mean = np.average(X, axis=0, weights=w)
    scale = np.sqrt(np.average((X - mean) ** 2, axis=0, weights=w))
    Z, weight = (X - mean) / scale, np.abs(c) * w
    weight = weight / weight[weight > 0].mean()

    def cost(beta):
        score = Z @ beta[1:] + beta[0]
        return C * (weight * np.logaddexp(0.0, -np.sign(c) * score)).sum() + beta[1:] @ beta[1:] / 2

    beta = minimize(cost, np.zeros(X.shape[1] + 1), method="BFGS", options={"gtol": 1e-7}).x
    coefficients = beta[1:] / scale
    return coefficients, beta[0] - coefficients @ mean


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("weights", "C"), [((1.0, 1.0), 1.0), ((3.0, 1.0), 0.01), ((0.0, 2.0), 10.0)])
def test_the_surrogate_is_minimised(weights, C, weighted):
    X, y, g = people(120)
    X = X * [1.0, 100.0, 0.01] + [0.0, 50.0, 3.0]  # the penalty does not depend on units
    w = np.random.default_rng(1).exponential(size=120) if weighted else np.ones(120)
    fit = {"sample_weight": 5.0 * w} if weighted else {}
    rule = linear(weights, (X, y, g), fit, C=C, loss=cost_loss(1.0, 2.0))
    c = stakes(y, g, unit([-weights[0], -weights[1]]), w, (1.0, 2.0))
    coefficients, intercept = plain_fit(X, c, w, C)
    scale = X.std(axis=0)
    np.testing.assert_allclose(rule.coef_ * scale, coefficients * scale, atol=1e-5)
    assert rule.intercept_ + rule.coef_ @ X.mean(axis=0) == pytest.approx(
        intercept + coefficients @ X.mean(axis=0), abs=1e-5
    )
    assert np.abs(rule.coef_ * scale).max() > 1e-3


def test_coefficients_reproduce_the_score():
    X, y, g = people()
    X_new = people(seed=5)[0]
    for data, rows in (
        ((X, y, g), X_new),
        ((pd.DataFrame(X, columns=NAMES), y, g), pd.DataFrame(X_new, columns=NAMES)),
    ):
        rule = linear((1, 2), data)
        score = rule.intercept_ + sum(rule.coef_.iloc[j] * X_new[:, j] for j in range(3))
        np.testing.assert_allclose(rule.decision_function(rows), score, atol=1e-10)
        np.testing.assert_array_equal(rule.predict(rows), score > 0)
        assert rule.coef_.index.tolist() == (NAMES if isinstance(rows, pd.DataFrame) else [0, 1, 2])
        assert 0 < rule.predict(rows).sum() < len(X_new)


def test_features_by_name_and_by_number():
    X, y, g = people()
    frame, bare = pd.DataFrame(X, columns=NAMES), linear(data=(X[:, [2, 0]], y, g))
    by_number = linear(data=(X, y, g), features=[2, 0])
    by_name = linear(data=(frame, y, g), features=["debt", "age"])
    by_polars = linear(data=(pl.DataFrame(X, schema=NAMES), y, g), features=("debt", "age"))
    for rule, rows in ((by_number, X), (by_name, frame), (by_polars, frame)):
        np.testing.assert_allclose(rule.coef_, bare.coef_)
        np.testing.assert_allclose(rule.decision_function(rows), bare.decision_function(X[:, [2, 0]]))
        assert rule.n_features_in_ == 3
    assert by_name.coef_.index.tolist() == by_polars.coef_.index.tolist() == ["debt", "age"]
    changed = X.copy()
    changed[:, 1] += 100.0
    np.testing.assert_array_equal(by_number.decision_function(changed), by_number.decision_function(X))


def test_coefficients_carry_the_numbers_of_their_columns():
    X = people()[0]
    rule = linear(features=[2, 0])
    assert rule.coef_.index.tolist() == [2, 0]
    np.testing.assert_allclose(rule.decision_function(X), rule.intercept_ + X[:, rule.coef_.index] @ rule.coef_)


def test_categories():
    X, y, g = people()
    town = np.where(X[:, 0] > 0.5, "north", np.where(X[:, 0] > -0.5, "centre", "south"))
    frame = pd.DataFrame({"town": town, "income": X[:, 1], "debt": X[:, 2]})
    rule = linear(data=(frame, y, g), features=["town", "income"])
    assert rule.coef_.index.tolist() == ["income", "town_centre", "town_north", "town_south"]
    score = [rule.intercept_ + rule.coef_[f"town_{town[i]}"] + rule.coef_["income"] * X[i, 1] for i in range(len(y))]
    np.testing.assert_allclose(rule.decision_function(frame), score, atol=1e-10)
    indicators = np.column_stack([X[:, 1], *[(town == name).astype(float) for name in ("centre", "north", "south")]])
    coefficients, intercept = plain_fit(indicators, stakes(y, g, unit([-1, -1])), np.ones(len(y)))
    np.testing.assert_allclose(rule.coef_, coefficients, atol=1e-4)
    assert rule.intercept_ == pytest.approx(intercept, abs=1e-4)
    elsewhere = rule.decision_function(frame.assign(town="west"))
    np.testing.assert_allclose(elsewhere, rule.intercept_ + rule.coef_["income"] * X[:, 1], atol=1e-10)


@pytest.mark.parametrize("features", [["wealth"], ["age", "wealth"], [0], "age", [], 3])
def test_columns_that_a_frame_does_not_have(features):
    X, y, g = people(60)
    frame = pd.DataFrame(X, columns=NAMES)
    assert code_of(lambda: linear(data=(frame, y, g), features=features)) == "bad-features"


@pytest.mark.parametrize("features", [[3], [0, 7], ["age"], [0.5], [], 1])
def test_columns_that_an_array_does_not_have(features):
    assert code_of(lambda: linear(data=people(60), features=features)) == "bad-features"


@pytest.mark.parametrize(("costs", "decision"), [((0.0, 1.0), 1), ((1.0, 0.0), 0)])
def test_one_decision_is_never_worse(costs, decision):
    X = people()[0]
    rule = linear(loss=cost_loss(*costs))
    np.testing.assert_array_equal(rule.predict(X), decision)
    assert rule.coef_.tolist() == [0.0, 0.0, 0.0]
    np.testing.assert_allclose(rule.decision_function(X), rule.intercept_)
    assert np.sign(rule.intercept_) == (1 if decision else -1)


def test_a_constant_rule_within_a_capacity():
    """Everyone is wanted equally: each with the same chance."""
    X = people()[0]
    rule = linear(loss=cost_loss(0.0, 1.0), capacity=0.3)
    np.testing.assert_allclose(rule.predict_proba(X)[:, 1], 0.3)


def test_linear_rules_are_frontier_rules_otherwise():
    X, y, g = people()
    for name in ("rawlsian", "egalitarian", "population", "best-for:men"):
        np.testing.assert_allclose(linear(name).direction_, fitted(name).direction_)
    rule = linear("rawlsian", capacity=0.1, lower=0.02)
    assert rule.predict_proba(X)[:, 1].mean() == pytest.approx(0.1, abs=1e-9)
    assert isinstance(rule, FrontierRule)
    for copy in (pickle.loads(pickle.dumps(rule)), clone(rule).fit(X, y, sensitive_features=g)):
        np.testing.assert_array_equal(copy.predict_proba(X), rule.predict_proba(X))
    assert clone(LinearFrontierRule(features=[1], C=3.0)).get_params()["C"] == 3.0
    ours, theirs = (inspect.signature(kind).parameters for kind in (LinearFrontierRule, FrontierRule))
    assert set(ours) - set(theirs) == {"features", "C"}
    assert set(theirs) - set(ours) == {"rules"}  # a linear rule never sees the group
    for name in set(theirs) - {"rules"}:
        assert ours[name].default == theirs[name].default


@pytest.mark.parametrize("capacity", [None, 0.2])
@pytest.mark.parametrize("make", [fitted, linear])
def test_rules_are_threshold_rules(make, capacity):
    X = people(seed=5)[0]
    rule = make("population", capacity=capacity)
    k = rule.decision_function(X)
    assert (capacity is not None) == (rule.cutoff_.value > 0.0)
    np.testing.assert_array_equal(rule.predict(X), k > rule.cutoff_.value)


# --- what linearity costs --------------------------------------------------------------------------------


@pytest.mark.parametrize("extras", [False, True])
def test_the_restriction_by_hand(extras):
    """With weights, clusters and a choice of columns in the second case."""
    X, y, g = people(300)
    fit, w, clusters, used = {}, np.ones(300), None, [0, 1, 2]
    if extras:
        rng = np.random.default_rng(2)
        w, clusters, used = rng.exponential(size=300), rng.integers(0, 70, size=300), [1]
        fit = {"sample_weight": w, "clusters": clusters}
    ff = frontier((X, y, g), fit)
    rule = linear((2.0, 1.0), (X, y, g), fit, features=used)
    q, fold = unit([-2.0, -1.0]), ff.nuisance_.folds[0]
    treated = np.zeros(300)
    for k in (1, 2, 3):
        kept, held = fold != k, fold == k
        coefficients, intercept = plain_fit(X[kept][:, used], stakes(y[kept], g[kept], q, w[kept]), w[kept])
        treated[held] = X[held][:, used] @ coefficients + intercept > 0
    best = ff.nuisance_.predictions[0] @ (q / shares(g, w)) > 0
    own, frontier_own = (treated != y).astype(float), (best != y).astype(float)
    risks = [[np.average(x[g == label], weights=w[g == label]) for label in GROUPS] for x in (own, frontier_own)]
    found = rule.restriction(ff)
    np.testing.assert_allclose([found.risks, found.frontier_risks], risks)
    np.testing.assert_allclose(found.direction, q)
    assert found.loss == pytest.approx(-q[0] * (risks[0][0] - risks[1][0]) - q[1] * (risks[0][1] - risks[1][1]))
    sums = {}
    for i in range(300):
        j = GROUPS.index(g[i])
        more = own[i] - frontier_own[i] - (risks[0][j] - risks[1][j])
        unit_ = i if clusters is None else clusters[i]
        sums[unit_] = sums.get(unit_, 0.0) + q[j] * w[i] * more / w[g == GROUPS[j]].sum()
    assert found.standard_error == pytest.approx(np.sqrt(sum(x**2 for x in sums.values())))
    assert found.standard_error > 0.0
    assert f"linearity costs {found.loss:.4f} (standard error {found.standard_error:.4f})" in found.summary()
    assert found.groups == GROUPS


def test_linearity_costs_where_the_truth_is_not_linear():
    """Treating the middle is right; a line cannot do it."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 1))
    y = (rng.random(500) < np.where(np.abs(X[:, 0]) < 0.7, 0.9, 0.1)).astype(int)
    g = np.where(rng.random(500) < 0.5, "women", "men")
    square = np.column_stack([X, X**2])
    ff = frontier((square, y, g))
    costly, free = (linear(data=(square, y, g), features=used).restriction(ff) for used in ([0], [0, 1]))
    assert costly.loss > 5 * costly.standard_error
    assert abs(free.loss) < 3 * free.standard_error + 0.02
    assert costly.frontier_risks.tolist() == free.frontier_risks.tolist()


def test_restrictions_before_fitting():
    with pytest.raises(NotFittedError):
        linear().restriction(FairFrontier())
    with pytest.raises(NotFittedError):
        LinearFrontierRule().restriction(frontier())


def test_restrictions_that_cannot_be_estimated():
    X, y, g = people()
    rule = linear()
    outside = FairFrontier(random_state=0).fit(X, y, sensitive_features=g, external_nuisance=plain_pairs(X, y, g))
    assert code_of(lambda: rule.restriction(outside)) == "bad-option"
    assert code_of(lambda: rule.restriction(frontier(groups=("men", "women")))) == "unknown-group"
