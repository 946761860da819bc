"""Alternatives that a test has shown, deployed: lotteries of rules by any criteria against plain formulas."""

import json
import pickle
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from support.quick import QUICK
from support.refusals import refused

from fairfrontier import FairFrontier, evaluate
from fairfrontier.criteria import Criterion
from fairfrontier.errors import FairFrontierWarning
from fairfrontier.inference.fan.questions import criteria_of
from fairfrontier.rules.alternatives import SURE

N = 900
SMALL = QUICK | {"n_folds": 2, "n_boot": 199, "random_state": 0}


def town(n=N, n_groups=2, seed=0):
    """The score in use gives weight to a town index that has nothing to do with the outcome."""
    rng = np.random.default_rng(seed)
    group = rng.integers(0, n_groups, n)
    X = pd.DataFrame({"skill": rng.normal(size=n), "town": rng.normal(size=n) + 1.5 * (group == 0)})
    y = (rng.random(n) < 1 / (1 + np.exp(-2 * X["skill"]))).astype(int).to_numpy()
    in_use = (X["skill"] + X["town"] > 0.75).astype(int)
    return X, y, np.array(["a", "b", "c"])[group], in_use


def fitted(n_groups=2, bounds=None, **options):
    X, y, g, in_use = town(n_groups=n_groups)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FairFrontierWarning)
        return FairFrontier(**(SMALL | options)).fit(X, y, sensitive_features=g, **(bounds or {})), in_use


@pytest.fixture(scope="module")
def kept():
    profit = 0.2 + town()[0]["skill"].to_numpy()
    ff, in_use = fitted(
        fairness="true-positive-rate", accuracy="overall", keep="selection-rate", keep_tolerance=0.1, profit=profit
    )
    return ff, ff.test_lda(in_use)


def test_lottery_by_other_criteria_against_plain_formulas(kept):
    ff, test = kept
    w = test.witness
    X, y, g, in_use = town()
    rule = ff.rule(test)
    np.testing.assert_allclose(rule.shares_, w.shares)
    learned = rule._fitted
    risk, chances = (lambda found: (found.delta_theta, found.group_probabilities))(learned.risk.predict(X))
    earned = learned.others["profit"].predict(X).delta_theta.sum(axis=1)
    positive = (chances - risk) / 2.0  # dl is -1 where y is 1, else 1
    share = [np.mean((g == label) & (y == 1)) for label in ff.groups_]
    v = np.column_stack([risk.sum(axis=1), -earned, positive / share, chances.sum(axis=1)])
    expected = sum(s * (v @ p < 0.0) for p, s in zip(w.directions, w.shares, strict=True))
    np.testing.assert_allclose(rule.predict_proba(X)[:, 1], expected, atol=1e-12)
    np.testing.assert_array_equal(rule.predict(X), (expected > 0.5).astype(int))
    np.testing.assert_array_equal(rule.decision_function(X) > 0, expected > 0.5)
    assert np.corrcoef(earned, 0.2 + X["skill"])[0, 1] > 0.9
    # on new rows it is what the test has shown: fewer errors, a smaller gap, about as many people
    X, y, g, in_use = town(4000, seed=1)
    new, now = (evaluate(own, X, y, g, groups=ff.groups_).table for own in (rule, in_use))
    assert (new["risk"] < now["risk"]).all()
    assert np.ptp(new["false negative rate"]) < np.ptp(now["false negative rate"])
    assert rule.predict_proba(X)[:, 1].mean() == pytest.approx(in_use.mean(), abs=0.13)
    again = pickle.loads(pickle.dumps(rule))
    np.testing.assert_array_equal(again.predict_proba(X), rule.predict_proba(X))
    refused("bad-option", "cannot be fitted by itself", lambda: clone(rule).fit(X, y, sensitive_features=g))


def test_alternatives_by_other_criteria(kept):
    ff, test = kept
    X, y, g, in_use = town()
    found = ff.alternatives(in_use, n=5, test=test)
    table, names = found.table, test.gain_names
    assert found.compared == tuple(names)
    assert 3 <= len(found) <= 5
    assert (table[[f"gain {name}" for name in names]].to_numpy() > 0).all()
    rows, asked = criteria_of(ff.fit_), ff.fit_.asked
    now = rows.by_criterion(rows.values(in_use.to_numpy()[rows.row].astype(float)))
    for k, line in table.iterrows():
        a = (rows.vectors @ -found.directions[k] < 0.0).astype(float)  # the rule, written out
        c = rows.by_criterion(rows.values(a))
        decided = a[np.argsort(rows.row)]
        for label in ff.groups_:
            own = g == label
            assert line[f"risk {label}"] == pytest.approx(np.mean(decided[own] != y[own]))
            assert line[f"selection rate {label}"] == pytest.approx(decided[own].mean())
            assert line[f"true positive rate {label}"] == pytest.approx(decided[own & (y == 1)].mean())
        assert line["gain overall risk"] == pytest.approx(now[0] - c[0])
        assert line["gain profit"] == pytest.approx(now[1] - c[1])
        assert line["gain room for more people selected"] == pytest.approx(0.1 + now[4] - c[4])
        assert line["apart"] == pytest.approx(abs(c[2] - c[3]))
        assert line["agreement"] == pytest.approx(np.mean(decided == in_use))
        errors = [line[f"se gain {name}"] for name in names]
        assert line["flagged"] == any(line[f"gain {name}"] < SURE * e for name, e in zip(names, errors, strict=True))
        assert all(line[f"at least {name}"] <= line[f"gain {name}"] for name in names)
    assert asked.names(ff.groups_)[0] == "overall risk"
    k = found.choose("egalitarian", flagged=True)
    assert table["apart"][k] == table["apart"].min()
    np.testing.assert_allclose(found.rule(k).directions_[0], found.directions[k])
    assert set(found.rule(k).predict(X)) <= {0, 1}
    text = found.summary()
    assert test.question in text
    assert "smallest overall risk" in text
    assert "room for more people selected" in text
    json.dumps(found.to_dict())
    assert found._repr_html_()
    held = ff.alternatives(in_use, n=3, test=test, held_out=True)
    assert "held-out half" in held.evaluated
    assert list(held.table.columns) == list(table.columns)
    best = ff.alternatives(ff.rule().predict(X), n=3)
    assert len(best) == 0
    assert "a gain in every respect (overall risk, profit, the gap" in best.summary()
    refused("bad-option", "asks another question", lambda: fitted()[0].alternatives(in_use, test=test))


def test_directions_of_other_criteria():
    ff, _ = fitted(fairness="selection-rate", accuracy="overall")
    X = town()[0]
    learned = ff.rule()._fitted.risk.predict(X)
    most_accurate = ff.rule().predict(X)
    np.testing.assert_array_equal(most_accurate, (learned.delta_theta.sum(axis=1) < 0).astype(int))
    curve = ff.trade_off()
    q = curve.directions[len(curve.directions) // 2]
    by_pair, by_each = ff.rule(direction=q), ff.rule(direction=[q[0], q[1], -q[1]])
    np.testing.assert_array_equal(by_pair.predict(X), by_each.predict(X))
    assert (by_pair.predict(X) != most_accurate).any()
    refused("bad-option", "overall risk, selection rate of", lambda: ff.rule("utilitarian"))
    refused("bad-option", "A rule with a capacity", lambda: ff.rule(capacity=0.2))
    refused("bad-direction", r"\(k, 3\) or \(3,\)", lambda: ff.rule(direction=[1.0, 2.0, 3.0, 4.0]))
    own = Criterion(gain=X["town"], name="town index")
    ff, _ = fitted(fairness=own, accuracy="by-group")
    assert ff.fit_.asked.names(ff.groups_)[2:] == tuple(f"town index of {label}" for label in ff.groups_)
    measure = ff.rule(direction=[0.0, 0.0, -1.0, -1.0])._fitted.others["measure"].predict(X).delta_theta
    assert np.corrcoef(measure.sum(axis=1), X["town"])[0, 1] > 0.9
    equal = ff.rule()._fitted.risk.predict(X).delta_theta.sum(axis=1)
    np.testing.assert_array_equal(ff.rule().predict(X), (equal < 0).astype(int))


@pytest.mark.parametrize(("n_groups", "capacity"), [(2, None), (3, None), (2, 0.3)])
def test_alternatives_by_risks_are_deployed_as_the_rules_of_their_directions(n_groups, capacity):
    ff, in_use = fitted(n_groups, {"upper": 0.9} if capacity is None else None)
    decisions = in_use if capacity is None else (town()[0]["skill"] < -1.0).astype(int)
    w = ff.test_lda(decisions, capacity=capacity).evidence.witness
    X = town()[0]
    rule = ff.rule(w)
    sign = -1.0 if n_groups > 2 else 1.0  # weights to be minimised
    upper = 0.9 if capacity is None else None
    each = [ff.rule(direction=sign * q, capacity=capacity, upper=upper).predict_proba(X) for q in w.directions]
    expected = sum(s * own for s, own in zip(w.shares, each, strict=True))
    np.testing.assert_allclose(rule.predict_proba(X), expected, atol=1e-12)
    if capacity is not None:
        assert rule.predict_proba(X)[:, 1].mean() <= capacity + 1e-9
    refused("bad-option", "its own directions and capacity", lambda: ff.rule(w, capacity=0.1))


def test_what_cannot_be_deployed_is_refused(kept):
    _, test = kept
    other, _ = fitted()
    refused("bad-decisions", "found by another fit", lambda: other.rule(test.witness))
    aware, _ = fitted(rules="group-aware")
    X, y, group, _ = town()
    bad = ((X["skill"] > 0.0) ^ (group == "a")).astype(int)  # wrong about one group alone
    changed = aware.test_lda(bad).witness
    refused("bad-option", "all decisions stay as now but those about group", lambda: aware.rule(changed))
    found = aware.alternatives(bad)
    none = replace(found, table=found.table.iloc[:0], directions=found.directions[:0])
    label = changed.changed
    refused("bad-option", f'none was found. What the test has found .*rule."best-for:{label}"', none.select)
    assert any("all decisions stay as now but those about group" in line for line in found.sentences())
    # in practice, with a rule that has seen these rows
    chance = aware.rule(f"best-for:{label}").predict_proba(X, sensitive_features=group)[:, 1]
    mixed = np.where(group == label, changed.shares[0] * chance + (1.0 - changed.shares[0]) * bad, bad)
    risks = [np.abs(y - mixed)[group == own].mean() for own in aware.groups_]
    np.testing.assert_allclose(risks, changed.risk, atol=0.03)
    nothing = other.test_lda(other.rule("population").predict(town()[0]))
    refused("bad-option", "shows no alternative", lambda: other.rule(nothing))
