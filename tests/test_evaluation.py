"""Evaluations against plain loops: risks, rates and their standard errors, of rules, classifiers and decisions."""

import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import BaseEstimator, clone
from support.people import GROUPS, LOGIT, fitted, people
from support.refusals import code_of

from fairfrontier import FrontierRule, LinearFrontierRule, cost_loss, evaluate
from fairfrontier.errors import MissingDependencyError, NotFittedError

RATES = ("risk", "selection rate", "false positive rate", "false negative rate")


class Fixed(BaseEstimator):
    """A classifier whose predictions were made before."""

    def __init__(self, predictions):
        self.predictions = predictions

    def predict(self, X):
        return np.asarray(self.predictions)


def plain_mean(values, w, among, clusters):
    """Weighted mean of the values of some rows, and its standard error, row by row and cluster by cluster."""
    total = sum(w[i] for i in range(len(w)) if among[i])
    if total == 0:
        return np.nan, np.nan
    mean = sum(w[i] * values[i] for i in range(len(w)) if among[i]) / total
    sums = {}
    for i in range(len(w)):
        if among[i]:
            unit = i if clusters is None else clusters[i]
            sums[unit] = sums.get(unit, 0.0) + w[i] * (values[i] - mean) / total
    return mean, np.sqrt(sum(x**2 for x in sums.values()))


def plain_gap(values, w, g, clusters, groups=GROUPS):
    total = {label: sum(w[g == label]) for label in groups}
    mean = {label: sum(w[g == label] * values[g == label]) / total[label] for label in groups}
    sums = {}
    for i in range(len(w)):
        unit = i if clusters is None else clusters[i]
        sign = 1.0 if g[i] == groups[0] else -1.0
        sums[unit] = sums.get(unit, 0.0) + sign * w[i] * (values[i] - mean[g[i]]) / total[g[i]]
    return mean[groups[0]] - mean[groups[1]], np.sqrt(sum(x**2 for x in sums.values()))


def check(found, y, g, a, w=None, clusters=None, costs=(1.0, 1.0), groups=GROUPS):
    """Compare an evaluation of chances ``a`` with plain loops."""
    w = np.ones(len(y)) if w is None else w
    losses = np.where(y == 1, costs[1] * (1 - a), costs[0] * a)
    everyone = np.ones(len(y), dtype=bool)
    columns = {"risk": (losses, everyone), "selection rate": (a, everyone)}
    columns |= {"false positive rate": (a, y == 0), "false negative rate": (1 - a, y == 1)}
    assert found.groups == groups
    assert found.table.index.tolist() == list(groups)
    assert found.table.columns.tolist() == ["rows", *(name for rate in RATES for name in (rate, f"se {rate}"))]
    for label in groups:
        assert found.table.loc[label, "rows"] == (g == label).sum()
        for name, (values, among) in columns.items():
            mean, error = plain_mean(values, w, among & (g == label), clusters)
            assert found.table.loc[label, name] == pytest.approx(mean, abs=1e-12, nan_ok=True), name
            assert found.table.loc[label, f"se {name}"] == pytest.approx(error, abs=1e-12, nan_ok=True), name
    gap, error = plain_gap(losses, w, g, clusters, groups)
    assert found.gap == pytest.approx(gap, abs=1e-12)
    assert found.gap_error == pytest.approx(error, abs=1e-12)
    np.testing.assert_array_equal(found.risks, found.table["risk"])


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("clustered", [False, True])
@pytest.mark.parametrize("lottery", [False, True])
def test_decisions_against_plain_loops(weighted, clustered, lottery):
    rng = np.random.default_rng(7)
    X, y, g = people(200, 1)
    a = rng.random(200) if lottery else (X[:, 0] > 0).astype(float)
    w = rng.exponential(size=200) * (rng.random(200) < 0.9) if weighted else None
    clusters = rng.integers(0, 30, size=200) if clustered else None
    found = evaluate(a, X, y, g, sample_weight=w, clusters=clusters)
    check(found, y, g, a, w, clusters)
    named = None if clusters is None else np.array([f"town {c}" for c in clusters])
    again = evaluate(pl.Series(a), pd.DataFrame(X), pd.Series(y), pl.Series(g), sample_weight=w, clusters=named)
    pd.testing.assert_frame_equal(again.table, found.table)


@pytest.mark.parametrize("kind", [FrontierRule, LinearFrontierRule])
def test_a_rule_is_evaluated_by_its_chances(kind):
    X, y, g = people(200, 1)
    train = people(300, 2, discrete=False)
    options = {"learner": LOGIT, "random_state": 0, "capacity": 0.3, "lower": 0.05, "loss": cost_loss(1.0, 3.0)}
    rule = kind(weights="population", groups=("men", "women"), **options).fit(*train[:2], sensitive_features=train[2])
    a = rule.predict_proba(X)[:, 1]
    assert ((a > 0) & (a < 1)).any()
    check(evaluate(rule, X, y, g), y, g, a, costs=(1.0, 3.0), groups=("men", "women"))
    check(evaluate(rule, X, y, g, loss="classification", groups=GROUPS), y, g, a)


def test_string_labels():
    X, y, g = people(200, 1)
    named = np.array(["repaid", "defaulted"])[y]
    train = people(300, 2)
    rule = fitted(data=(train[0], np.array(["repaid", "defaulted"])[train[1]], train[2]), positive="defaulted")
    a = (rule.predict(X) == "defaulted").astype(float)
    check(evaluate(rule, X, named, g), y, g, a)
    check(evaluate(a, X, named, g, positive="defaulted"), y, g, a)
    other = clone(LOGIT).fit(X, named)
    a = (other.predict(X) == "defaulted").astype(float)
    check(evaluate(other, X, named, g, positive="defaulted"), y, g, a)
    check(evaluate(other, X, named, g, positive="repaid"), 1 - y, g, 1 - a)


def test_other_classifiers():
    X, y, g = people(200, 1)
    model = clone(LOGIT).fit(X, y)
    check(evaluate(model, X, y, g), y, g, model.predict(X).astype(float))
    check(evaluate(model, X, y, g, loss=cost_loss(2.0, 1.0)), y, g, model.predict(X).astype(float), costs=(2.0, 1.0))
    check(evaluate(Fixed(y == 1), X, y, g), y, g, y.astype(float))


def test_a_classifier_that_predicts_numbers_of_named_outcomes():
    """Predictions may be 0/1 where outcomes have names, as documented; unknown labels are refused, not read as 0."""
    X, y, g = people(200, 1)
    named, a = np.array(["no", "yes"])[y], (X[:, 0] > 0).astype(int)
    check(evaluate(Fixed(a), X, named, g, positive="yes"), y, g, a.astype(float))


@pytest.mark.parametrize("named", [False, True])
def test_predictions_that_are_no_labels(named):
    """They are refused: read as 0 they would make up a rule, and scores read as lotteries would flatter one."""
    X, y, g = people(200, 1)
    words = np.array(["no", "yes"])[y]
    outcome, options = (words, {"positive": "yes"}) if named else (y, {})
    wrong = [np.array(["No", "Yes"])[y], y + 1, np.where(y == 1, 0.8, 0.3), np.where(y == 1, np.nan, 0.0)]
    for predictions in wrong if named else [words, *wrong]:
        rule = Fixed(predictions)
        assert code_of(lambda rule=rule: evaluate(rule, X, outcome, g, **options)) == "bad-decisions"
    short = Fixed(outcome[:-1])
    assert code_of(lambda: evaluate(short, X, outcome, g, **options)) == "length-mismatch"


def test_a_group_without_negatives():
    X, y, g = people(200, 1)
    y = np.where(g == "men", 1, y)
    a = (X[:, 0] > 0).astype(float)
    found = evaluate(a, X, y, g)
    check(found, y, g, a)
    assert np.isnan(found.table.loc["men", ["false positive rate", "se false positive rate"]].astype(float)).all()
    assert found.table.drop(columns=["false positive rate", "se false positive rate"]).notna().all(axis=None)
    w = np.where((y == 0) & (g == "women"), 0.0, 1.0)  # negatives without weight are none
    assert evaluate(a, X, y, g, sample_weight=w).table["false positive rate"].isna().all()


def test_numeric_outcomes_have_no_error_rates():
    X, _, g = people(200, 1)
    y = X[:, 0] + np.random.default_rng(0).normal(size=200)
    a = np.random.default_rng(1).random(200)
    found = evaluate(a, X, y, g, loss="squared")
    assert found.table.columns.tolist() == ["rows", "risk", "se risk", "selection rate", "se selection rate"]
    for label in GROUPS:
        # the expected loss of a lottery, not the loss of its mean
        values = a * (1 - y) ** 2 + (1 - a) * y**2
        mean, error = plain_mean(values, np.ones(200), g == label, None)
        assert found.table.loc[label, "risk"] == pytest.approx(mean)
        assert found.table.loc[label, "se risk"] == pytest.approx(error)
    assert code_of(found.metric_frame) == "bad-decisions"


def test_an_unfitted_rule():
    with pytest.raises(NotFittedError):
        evaluate(FrontierRule(learner=LOGIT), *people(200, 1))


def test_what_is_refused():
    X, y, g = people(200, 1)
    a = (X[:, 0] > 0).astype(float)
    for arguments, options, code in (
        ((a * 2, X, y, g), {}, "bad-decisions"),
        ((np.where(a == 1, np.nan, a), X, y, g), {}, "bad-decisions"),
        ((np.array(["no", "yes"])[y], X, y, g), {}, "bad-decisions"),
        ((a[:-1], X, y, g), {}, "length-mismatch"),
        ((a, X, y, g), {"loss": "clasification"}, "bad-loss"),
        ((a, X, y + 1, g), {}, "outcome-not-binary"),
        ((a, X, y, np.full(200, "men")), {}, "one-group"),
        ((a, X, y, g), {"groups": ("men", "children")}, "unknown-group"),
        ((a, X, y, g), {"sample_weight": -a - 1}, "bad-weights"),
        ((a, X[:-1], y, g), {}, "length-mismatch"),
        ((fitted(), X[:, :2], y, g), {}, "bad-features"),
    ):
        assert code_of(lambda given=arguments, options=options: evaluate(*given, **options)) == code


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("labels", [GROUPS, (1, 0)])
def test_fairlearn_agrees(weighted, labels):
    metrics = pytest.importorskip("fairlearn.metrics")
    X, y, g = people(200, 1)
    w = np.random.default_rng(0).exponential(size=200) if weighted else None
    a = (X[:, 0] > 0).astype(float)
    found = evaluate(a, X, y, np.where(g == "women", *labels), sample_weight=w)
    frame = found.metric_frame()
    for label in labels:
        assert 1 - frame.by_group.loc[label, "accuracy"] == pytest.approx(found.table.loc[label, "risk"])
        assert frame.by_group.loc[label, "selection_rate"] == pytest.approx(found.table.loc[label, "selection rate"])
    assert frame.difference()["accuracy"] == pytest.approx(abs(found.gap))
    both = {"fpr": metrics.false_positive_rate, "fnr": metrics.false_negative_rate}
    frame = found.metric_frame(both)
    for label in labels:
        assert frame.by_group.loc[label, "fpr"] == pytest.approx(found.table.loc[label, "false positive rate"])
        assert frame.by_group.loc[label, "fnr"] == pytest.approx(found.table.loc[label, "false negative rate"])
    one = found.metric_frame(metrics.false_positive_rate).by_group
    np.testing.assert_allclose(one.loc[list(labels)].astype(float), found.table["false positive rate"])
    assert frame.by_group.index.name == "group"


def test_fairlearn_needs_plain_decisions():
    pytest.importorskip("fairlearn.metrics")
    X, y, g = people(200, 1)
    assert code_of(evaluate(np.full(200, 0.4), X, y, g).metric_frame) == "bad-decisions"


def test_without_fairlearn(monkeypatch):
    X, y, g = people(200, 1)
    found = evaluate(y, X, y, g)
    monkeypatch.setitem(sys.modules, "fairlearn.metrics", None)
    with pytest.raises(MissingDependencyError, match="fairlearn"):
        found.metric_frame()
