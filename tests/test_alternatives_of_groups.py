"""Alternatives for more than two groups: the menu by loops, bounds, choice, held-out halves, rules, errors."""

import json
import warnings

import numpy as np
import pandas as pd
import pytest
from support.groups_study import draw
from support.quick import QUICK
from support.refusals import refused

from fairfrontier import FairFrontier
from fairfrontier.errors import FairFrontierWarning, NotShownWarning
from fairfrontier.frontier.criteria import risk_rows
from fairfrontier.inference.fan.forms import standing_of
from fairfrontier.inference.fan.menu import MOST_RULES, group_menu, menu_weights
from fairfrontier.rules.group_alternatives import improving_rules
from fairfrontier.rules.preferences import PREFERENCES

SEED = np.random.SeedSequence(3)
LABELS = ("west", "south", "north")


def test_weights_of_menus():
    for n in (3, 4, 5, 8):
        found = menu_weights(n)
        assert len(found) <= MOST_RULES + 1
        assert found.sum(axis=1) == pytest.approx(1.0)
        rows = {tuple(p) for p in found.round(12)}
        assert len(rows) == len(found)
        assert all(tuple(p) in rows for p in np.eye(n))


@pytest.mark.parametrize("clustered", [False, True])
@pytest.mark.parametrize("n_groups", [3, 4])
def test_menu_by_loops(n_groups, clustered):
    n = 240
    rng = np.random.default_rng(n_groups)
    group, y, t = draw("apart", n_groups, n, rng)
    weight = rng.exponential(size=n)
    clusters = np.arange(n) // 3 if clustered else None
    folds = (np.arange(n) // 3) % 4
    a = (rng.random(n) < 0.5).astype(float)
    rows = risk_rows(y, 1.0 - 2.0 * y, t, group, weight, clusters=clusters)
    weights = menu_weights(n_groups)[::20]
    fan, standing = standing_of(rows, a, folds, None)
    menu = group_menu(rows, fan, standing, weights, n_draws=400, seed=SEED)
    share = np.array([weight[group == g].sum() for g in range(n_groups)]) / weight.sum()
    loss, units = y + a * (1 - 2 * y), np.arange(n) if clusters is None else clusters
    for k, p in enumerate(weights):
        rule = (t @ (p / share) < 0.0).astype(float)
        other = y + rule * (1 - 2 * y)
        mean, rate = (
            np.array([np.average(x[group == g], weights=weight[group == g]) for g in range(n_groups)])
            for x in (other, rule)
        )
        np.testing.assert_allclose(menu.risks[k], mean, atol=1e-12)
        np.testing.assert_allclose(menu.selection_rates[k], rate, atol=1e-12)
        assert menu.agreement[k] == pytest.approx(np.average(rule == a, weights=weight))
        now = np.array([np.average(loss[group == g], weights=weight[group == g]) for g in range(n_groups)])
        np.testing.assert_allclose(menu.gains[k, :n_groups], now - mean, atol=1e-12)
        assert menu.gains[k, -1] == pytest.approx(standing.theta[-1] - np.ptp(mean), abs=1e-12)
        own = weight * (loss - other - (now - mean)[group]) / (share * weight.sum())[group]
        each = np.array([np.bincount(units, own * (group == g)) for g in range(n_groups)])
        np.testing.assert_allclose(menu.errors[k, :n_groups], np.sqrt((each**2).sum(axis=1)), rtol=1e-8)
        of_risk = weight * (other - mean[group]) / (share * weight.sum())[group]
        each = np.array([np.bincount(units, of_risk * (group == g)) for g in range(n_groups)])
        np.testing.assert_allclose(menu.errors_of_risks[k], np.sqrt((each**2).sum(axis=1)), rtol=1e-8)
    reach = np.quantile(menu.largest, 0.95, method="inverted_cdf")
    np.testing.assert_allclose(
        menu.lower_bounds(0.05)[:, :n_groups], (menu.forms - reach * menu.errors)[:, :n_groups], atol=1e-12
    )
    assert reach > 1.645  # more than a single form needs
    assert (menu.widths >= 0).sum() == n_groups * (n_groups - 1)
    assert len(fan.rooms) == menu.forms.shape[1]


def test_bounds_hold_together_in_samples_with_known_risks():
    held = []
    for k in range(120):
        rng = np.random.default_rng([k, 5])
        group, y, t = draw("apart", 3, 800, rng)
        rule = (t.sum(axis=1) < 0).astype(float)
        a = np.where(rng.random(800) < 0.3, 1 - rule, rule)
        rows = risk_rows(y, 1.0 - 2.0 * y, t, group, np.ones(800))
        menu = group_menu(rows, *standing_of(rows, a, np.arange(800) % 4, None), WEIGHTS, n_draws=200, seed=SEED)
        now, then = TRUE
        gain = np.column_stack([now - then, np.ptp(now) - np.ptp(then, axis=1)])
        held.append((menu.lower_bounds(0.05) <= gain + 1e-12).all())
    assert np.mean(held) >= 0.9  # level .95, and three standard errors


WEIGHTS = menu_weights(3)[::8]


def _true():
    rng = np.random.default_rng(7)
    group, y, t = draw("apart", 3, 300_000, rng)
    share = np.bincount(group) / len(group)
    rule = (t.sum(axis=1) < 0).astype(float)
    chances = 0.7 * rule + 0.3 * (1 - rule)
    every = [chances, *((t @ (p / share) < 0).astype(float) for p in WEIGHTS)]
    risks = [np.bincount(group, y + c * (1 - 2 * y)) / np.bincount(group) for c in every]
    return risks[0], np.array(risks[1:])


TRUE = _true()


def town(n=900, seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(n, 2)), columns=["a", "b"])
    region = rng.choice(["north", "south", "west"], n, p=[0.5, 0.3, 0.2])
    slope = pd.Series(region).map({"north": 1.5, "south": 0.5, "west": -1.0}).to_numpy()
    y = (rng.random(n) < 1 / (1 + np.exp(-slope * X["a"] - 2 * X["b"]))).astype(int).to_numpy()
    flipped = rng.random(n) < pd.Series(region).map({"north": 0.25, "south": 0.35, "west": 0.7}).to_numpy()
    return X, y, region, np.where(flipped, X["b"] <= 0, X["b"] > 0).astype(int)


X, Y, G, IN_USE = town()


@pytest.fixture(scope="module")
def ff():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FairFrontierWarning)
        return FairFrontier(n_folds=2, n_boot=199, random_state=0, **QUICK).fit(X, Y, sensitive_features=G)


def test_alternatives_improve_in_every_respect_and_can_be_deployed(ff):
    found = ff.alternatives(IN_USE, n=6)
    table = found.table
    assert 3 <= len(found) <= 6
    assert found.groups == LABELS
    assert found.verdict == ff.test_lda(IN_USE).verdict
    columns = [*(f"gain {label}" for label in LABELS), "gain in range"]
    assert (table[columns].to_numpy() > 0).all()
    assert (table[[f"at least {label}" for label in LABELS]].to_numpy() < table[columns[:3]].to_numpy()).all()
    rule = found.rule(0)
    np.testing.assert_allclose(rule.direction_, found.directions[0])
    assert set(rule.predict(X)) <= {0, 1}
    assert "range" in found.heading
    json.dumps(found.to_dict())
    assert found._repr_html_()
    assert "most accurate for west" in " ".join(table["role"])
    for preference in (*PREFERENCES, "best-for:west", "most-similar"):
        assert 0 <= found.choose(preference, flagged=True) < len(found)
    k = found.choose("rawlsian", flagged=True)
    assert found.risks[k].max() == found.risks.max(axis=1).min()
    nearest = found.choose(nearest=found.risks[1], flagged=True)
    assert nearest == 1
    assert ff.alternatives(IN_USE, n=6, test=ff.test_lda(IN_USE)).table.equals(table)


def test_held_out_halves_choose_on_one_and_report_the_other(ff):
    found = ff.alternatives(IN_USE, n=4, held_out=True)
    assert "held-out half" in found.evaluated
    assert len(found) <= 4
    assert found.table.shape[1] == ff.alternatives(IN_USE, n=4).table.shape[1]


def test_nothing_improves_on_what_is_out_of_reach(ff):
    found = ff.alternatives(Y, n=4)
    assert len(found) == 0
    assert "lower risks for all groups and a smaller range" in found.summary()
    assert found.table.shape[0] == 0


def test_rules_are_not_chosen_twice_and_ends_are_among_them():
    rows = risk_rows(*_small())
    fan, standing = standing_of(rows, np.full(60, 0.5), np.arange(60) % 3, None)
    menu = group_menu(rows, fan, standing, menu_weights(3), n_draws=99, seed=SEED)
    chosen = improving_rules(menu, 5, [np.ptp(menu.risks, axis=1), *menu.risks.T])
    assert len(np.unique(menu.risks[chosen], axis=0)) == len(chosen)
    assert (menu.gains[chosen] > 0).all()


def _small():
    group, y, t = draw("apart", 3, 60, np.random.default_rng(1))
    return y, 1.0 - 2.0 * y, t, group, np.ones(60)


def test_searches_that_cannot_be(ff):
    refused(
        "bad-option", "`test` is about other decisions", lambda: ff.alternatives(IN_USE, test=ff.test_lda(1 - IN_USE))
    )
    gaps = ff.test_lda(IN_USE, reference=ff.groups_[0])
    refused("bad-option", "`test` is about gaps to group", lambda: ff.alternatives(IN_USE, test=gaps))
    refused("bad-option", "must be a result of `test_lda`", lambda: ff.alternatives(IN_USE, test="lda"))
    refused("bad-risks", r"\(k, 3\) or \(3,\)", lambda: ff.alternatives(IN_USE).choose(nearest=[0.1, 0.2]))
    found = ff.alternatives(IN_USE, n=4)
    if found.verdict != "lda-shown":
        with pytest.warns(NotShownWarning):
            found.select(flagged=True)
