"""Points and rules of more than two groups: against linear programmes over all rules, plain transcriptions, errors."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import linprog
from sklearn.linear_model import LogisticRegression
from support.groups_study import draw
from support.people import people
from support.refusals import refused

from fairfrontier import FairFrontier, FrontierRule, LinearFrontierRule, evaluate
from fairfrontier.errors import FairFrontierWarning
from fairfrontier.frontier.criteria import risk_rows
from fairfrontier.frontier.mixtures import Predicted, smallest_largest, smallest_range

LABELS = ("west", "south", "north")


def case(n_groups, n, seed, kind):
    """Predictions, bounds and a capacity: smooth, tied, or with a group for which nothing is predicted."""
    rng = np.random.default_rng([seed, n_groups, n])
    group, y, t = draw("apart", n_groups, n, rng)
    weight, lower, upper = np.ones(n), None, None
    if kind == "tied":
        t = t.round(1)
    if kind == "nothing":
        t[:, 0] = 0.0
    if kind == "bounded":
        weight, lower, upper = rng.exponential(size=n), rng.uniform(0.0, 0.2, n), rng.uniform(0.5, 1.0, n)
    capacity = 0.3 if kind == "capacity" else None
    clusters = rng.integers(0, n // 2, n) if kind == "bounded" else None
    if clusters is not None:
        clusters = np.unique(clusters, return_inverse=True)[1]
    rows = risk_rows(y, 1.0 - 2.0 * y, t, group, weight, clusters=clusters, lower=lower, upper=upper)
    rows = rows if capacity is None else rows._replace(capacity=capacity)
    return Predicted(rows, rows.by_criterion(rows.base))


def programme(predicted, bottom, widest=None):
    """The smallest range, or largest risk, over all rules; or the smallest mean within it: one variable per row."""
    rows, n = predicted.rows, len(predicted.rows.mass)
    k = rows.n_criteria
    change = (rows.mass[:, None] * rows.vectors).T
    end = [1.0, -1.0 if bottom else 0.0]
    cost = np.append(np.zeros(n), end) if widest is None else np.append(change.mean(axis=0), [0.0, 0.0])
    zero, one = np.zeros((k, 1)), np.ones((k, 1))
    left = [np.hstack([change, -one, zero]), np.hstack([-change, zero, one])]
    right = [-predicted.base, predicted.base]
    if np.isfinite(predicted.rows.capacity):
        left.append(np.append(rows.mass, [0.0, 0.0])[None])
        right.append([predicted.rows.capacity])
    if widest is not None:
        left.append(np.append(np.zeros(n), end)[None])
        right.append([widest])
    low, high = rows.lower, rows.lower + rows.spread
    bounds = [*zip(low, high, strict=True), (None, None), (None, None) if bottom else (-9.0, -9.0)]
    found = linprog(cost, np.vstack(left), np.concatenate(right), bounds=bounds, method="highs").fun
    return found if widest is None else found + predicted.base.mean()


@pytest.mark.parametrize("kind", ["smooth", "tied", "nothing", "bounded", "capacity"])
@pytest.mark.parametrize("n_groups", [3, 4, 5])
def test_mixtures_against_programmes_over_all_rules(n_groups, kind):
    for seed in range(2):
        predicted = case(n_groups, 60, seed, kind)
        for find, bottom in ((smallest_range, True), (smallest_largest, False)):
            found = find(predicted)
            chances = found.chances(predicted)
            rows = predicted.rows
            assert (chances >= rows.lower - 1e-9).all()
            assert (chances <= rows.lower + rows.spread + 1e-9).all()
            if np.isfinite(predicted.rows.capacity):
                assert rows.mass @ chances <= predicted.rows.capacity + 1e-9
            c = predicted.base + (rows.mass * chances) @ rows.vectors
            best = programme(predicted, bottom)
            value = np.ptp(c) if bottom else c.max()
            assert value == pytest.approx(best, abs=2e-6)
            # of all that attain it, the smallest mean; how much it falls for a little more range is not bounded
            assert c.mean() <= programme(predicted, bottom, best + 1e-9) + 1e-5
            assert c.mean() >= programme(predicted, bottom, value + 1e-9) - 1e-5
            assert found.shares.sum() == pytest.approx(1.0)
            # no rule does better at the weights that price the mixture
            p = found.weights
            assert p @ predicted.criteria(predicted.chances(p)) == pytest.approx(p @ c, abs=2e-6)


def town(n=600, seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(n, 2)), columns=["a", "b"])
    region = rng.choice(["north", "south", "west"], n, p=[0.5, 0.3, 0.2])
    slope = pd.Series(region).map({"north": 1.5, "south": 0.5, "west": -1.0}).to_numpy()
    y = (rng.random(n) < 1 / (1 + np.exp(-slope * X["a"] - X["b"]))).astype(int).to_numpy()
    return X, y, region


X, Y, G = town()
CODE = np.array([LABELS.index(label) for label in G])
SHARES = np.bincount(CODE) / len(CODE)


@pytest.fixture(scope="module")
def ff():
    found = FairFrontier(learner=LogisticRegression(), n_folds=3, n_rep=1, n_boot=99, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FairFrontierWarning)
        return found.fit(X, Y, sensitive_features=G)


def risks_of(chances):
    wrong = chances * (1 - Y) + (1 - chances) * Y
    return np.array([wrong[g == CODE].mean() for g in range(3)])


def test_points_by_hand(ff):
    table = ff.points_
    assert list(table.index) == ["best for west", "best for south", "best for north", "fairest"]
    every = []
    for t in ff.nuisance_.predictions:
        best = [risks_of((t[:, g] < 0).astype(float)) for g in range(3)]
        rows = risk_rows(Y, 1.0 - 2.0 * Y, t, CODE, np.ones(len(Y)))
        predicted = Predicted(rows, rows.by_criterion(rows.base))
        every.append([*best, risks_of(smallest_range(predicted).chances(predicted))])
    np.testing.assert_allclose(table.to_numpy()[:, :3], np.median(every, axis=0), rtol=1e-12)
    np.testing.assert_array_equal(table.to_numpy()[:3, 3:], -np.eye(3))
    assert np.linalg.norm(table.to_numpy()[3, 3:]) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("weights", "direction"),
    [
        (None, [-1, -1, -1]),
        ("utilitarian", [-1, -1, -1]),
        ("population", -SHARES),
        ("majority", [0, 0, -1]),
        ("best-for:south", [0, -1, 0]),
        ([1, 0, 3], [-1, 0, -3]),
    ],
)
def test_rules_select_where_the_weighted_sum_of_predictions_is_negative(ff, weights, direction):
    rule = ff.rule(weights)
    q = np.asarray(direction, dtype=float) / np.linalg.norm(direction)
    np.testing.assert_allclose(rule.direction_, q, atol=1e-12)
    assert rule.groups_ == LABELS
    t = ff._rules().learned().predict(X).delta_theta
    k = t @ (q / SHARES)
    np.testing.assert_allclose(rule.decision_function(X), k, atol=1e-12)
    np.testing.assert_array_equal(rule.predict(X), (k > 0).astype(int))


def test_rules_for_the_worst_off_and_for_the_smallest_range(ff):
    t, shares = ff.nuisance_.predictions[0], SHARES
    rows = risk_rows(Y, 1.0 - 2.0 * Y, t, CODE, np.ones(len(Y)))
    predicted = Predicted(rows, rows.by_criterion(rows.base))
    for name, find in (("rawlsian", smallest_largest), ("egalitarian", smallest_range)):
        p = find(predicted).weights
        np.testing.assert_allclose(ff.rule(name).direction_, -p / np.linalg.norm(p), atol=1e-9)
    c = predicted.criteria(predicted.chances(smallest_largest(predicted).weights))
    every = [predicted.criteria(predicted.chances(np.eye(3)[g])).max() for g in range(3)]
    assert c.max() <= min(every) + 0.02
    assert shares.sum() == pytest.approx(1.0)


def test_capacity_bounds_evaluation_and_rules_of_their_own(ff):
    rule = ff.rule("rawlsian", capacity=0.2)
    assert rule.predict_proba(X)[:, 1].mean() == pytest.approx(0.2)
    found = evaluate(rule, X, Y, G)
    assert found.groups == LABELS
    np.testing.assert_allclose(found.table["risk"], risks_of(rule.predict_proba(X)[:, 1]), rtol=1e-9)
    options = {"learner": LogisticRegression(), "n_folds": 3, "random_state": 0}
    for weights in ("egalitarian", [0.2, 0.3, 0.5]):
        own = FrontierRule(weights=weights, capacity=0.3, lower=0.1, **options).fit(X, Y, sensitive_features=G)
        assert own.direction_.shape == (3,)
        assert own.predict_proba(X)[:, 1].min() == pytest.approx(0.1)
        assert own.predict_proba(X)[:, 1].mean() == pytest.approx(0.3)
    linear = LinearFrontierRule(weights="population").fit(X, Y, sensitive_features=G)
    cost = (linear.direction_ / SHARES)[CODE] * (1.0 - 2.0 * Y)
    assert np.average(cost > 0, weights=np.abs(cost) * (linear.predict(X) == 1)) > 0.5
    refused("too-many-groups", "compares two groups, but there are 3", lambda: linear.restriction(ff))


@pytest.mark.parametrize(
    ("options", "code", "text"),
    [
        ({"weights": [1, 1]}, "bad-option", "must be a name or 3 non-negative numbers, one per group and not all zero"),
        ({"weights": [0, 0, 0]}, "bad-option", "not all zero"),
        ({"weights": [1, -1, 1]}, "bad-option", "3 non-negative numbers"),
        ({"weights": "best-for:east"}, "unknown-group", "names no group"),
        ({"direction": [-1, -1]}, "bad-direction", r"must have shape \(k, 3\) or \(3,\)"),
        ({"direction": [0, 0, 0]}, "bad-direction", r"must not be \(0, 0, 0\)"),
        ({"weights": "fairest"}, "bad-option", "must be 3 non-negative numbers or one of"),
    ],
)
def test_preferences_that_cannot_be(ff, options, code, text):
    refused(code, text, lambda: ff.rule(**options))


def test_two_groups_are_as_before():
    x, y, g = people()
    rule = FrontierRule(weights=[1, 3], learner=LogisticRegression(), random_state=0).fit(x, y, sensitive_features=g)
    np.testing.assert_array_equal(rule.direction_, -np.array([1.0, 3.0]) / np.hypot(1.0, 3.0))
