"""Alternatives for several groups together and pair by pair: evidence by loops, verdicts, choices, errors."""

import json
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from support.groups_study import draw, population
from support.quick import QUICK
from support.refusals import refused

from fairfrontier import FairFrontier
from fairfrontier.errors import CapacityWarning, FairFrontierWarning
from fairfrontier.frontier.criteria import risk_rows
from fairfrontier.frontier.fan import by_group
from fairfrontier.inference.fan.cells import Refinement, cut_cells
from fairfrontier.inference.fan.evidence import BUDGET, all_round, joint_evidence
from fairfrontier.inference.fan.forms import direction_forms, draw_largest, standing_of
from fairfrontier.inference.fan.questions import criteria_of, folds_of

SEED = np.random.SeedSequence(4)
pytestmark = pytest.mark.filterwarnings("ignore::fairfrontier.errors.WeakLearnerWarning")


def rows_of(n, n_groups, seed=0, *, weighted=False, clustered=False):
    rng = np.random.default_rng(seed)
    group, y, t = draw("apart", n_groups, n, rng)
    weight = rng.exponential(size=n) if weighted else np.ones(n)
    clusters = np.arange(n) // 3 if clustered else None
    rows = risk_rows(y, 1.0 - 2.0 * y, t, group, weight, clusters=clusters)
    folds = (np.arange(n) // 3) % 4
    return rows, folds, (group, y, t, weight, clusters)


def best_rule(group, t, n_groups):
    size = population("apart", n_groups)[0]
    return (t @ (1.0 / size) < 0.0).astype(float)


@pytest.mark.parametrize("clustered", [False, True])
@pytest.mark.parametrize("n_groups", [2, 3])
def test_forms_against_loops(n_groups, clustered):
    rows, folds, (group, y, t, weight, clusters) = rows_of(150, n_groups, weighted=True, clustered=clustered)
    a = (np.random.default_rng(1).random(150) < 0.5).astype(float)
    _, standing = standing_of(rows, a, folds, None)
    directions = all_round(n_groups)[::9]
    value, covariance = direction_forms(rows, standing, directions)
    mu = np.array([weight[group == g].sum() for g in range(n_groups)]) / weight.sum()
    influences = []
    for p, found in zip(directions, value, strict=True):
        rule = t @ (p / mu) < 0.0
        gain = (1.0 - 2.0 * y) * (a - rule)
        mean = np.array([np.average(gain[group == g], weights=weight[group == g]) for g in range(n_groups)])
        assert found == pytest.approx(p @ mean, abs=1e-12)
        own = p[group] * weight * (gain - mean[group]) / (mu * weight.sum())[group]
        influences.append(own if clusters is None else np.bincount(clusters, own))
    np.testing.assert_allclose(covariance, np.array(influences) @ np.array(influences).T, rtol=1e-9, atol=1e-15)


def test_directions_all_round():
    for n in (2, 3, 4, 5, 7):
        found = all_round(n)
        assert len({tuple(p) for p in found}) == len(found) <= 700
        assert {tuple(p) for p in -found} == {tuple(p) for p in found}
        assert all(tuple(p) in {tuple(q) for q in found} for p in np.eye(n))
        units = found / np.linalg.norm(found, axis=1)[:, None]
        assert len(np.unique(units.round(12), axis=0)) == len(found)  # no direction twice


def test_the_largest_of_normal_variables():
    rng = np.random.default_rng(0)
    root = rng.normal(size=(4, 4))
    covariance = np.zeros((5, 5))
    covariance[:4, :4] = root @ root.T  # the last one does not vary
    draws = draw_largest(covariance, 20_000, SEED)
    plain = (rng.standard_normal((20_000, 4)) @ root.T / np.sqrt(np.diag(covariance)[:4])).max(axis=1)
    for level in (0.5, 0.9, 0.95):
        assert np.mean(draws <= np.quantile(plain, level)) == pytest.approx(level, abs=0.02)
    assert (draw_largest(np.zeros((2, 2)), 10, SEED) == 0.0).all()


@pytest.mark.parametrize("reference", [None, 1])
def test_evidence_against_its_cells_and_plain_means(reference):
    n, n_groups = 400, 3
    rows, folds, (group, y, t, _, _) = rows_of(n, n_groups)
    worse = (np.random.default_rng(2).random(n) < 0.4) & (group != 1)  # gaps to group 1 can be made smaller
    a = np.where(worse, 1.0 - best_rule(group, t, n_groups), 0.5)
    how = Refinement(150)
    found = joint_evidence(rows, a, folds, aims=by_group(n_groups, reference), refinement=how, n_draws=500, seed=SEED)
    fan, standing = standing_of(rows, a, folds, by_group(n_groups, reference))
    cells = cut_cells(rows, standing, fan, how)
    slack = cells.slacks()
    assert found.p_value == pytest.approx(stats.norm.sf((slack.value / slack.error).min()))
    assert found.n_rules == len(cells.values) <= 150
    assert found.slack / found.standard_error == pytest.approx((slack.value / slack.error).min())
    loss = y + a * (1 - 2 * y)
    np.testing.assert_allclose(found.risk, [loss[group == g].mean() for g in range(n_groups)], rtol=1e-12)
    # the witness: its chances, risks and gains written out
    w, mu = found.witness, np.bincount(group) / n
    chances = sum(share * (t @ (p / mu) < 0.0) for p, share in zip(w.directions, w.shares, strict=True))
    assert w.shares.sum() == pytest.approx(1.0)
    other = y + chances * (1 - 2 * y)
    risk = np.array([other[group == g].mean() for g in range(n_groups)])
    np.testing.assert_allclose(w.risk, risk, rtol=1e-10)
    np.testing.assert_allclose(w.selection_rate, [chances[group == g].mean() for g in range(n_groups)], rtol=1e-10)
    np.testing.assert_allclose(w.gain[:n_groups], found.risk - risk, atol=1e-12)
    if reference is None:
        assert w.gain[n_groups] == pytest.approx(found.widths[0] - np.ptp(risk), abs=1e-12)
    else:
        others = [g for g in range(n_groups) if g != reference]
        gaps = [abs(risk[g] - risk[reference]) for g in others]
        np.testing.assert_allclose(w.gain[n_groups:], found.widths - gaps, atol=1e-12)
    # errors of a mixture are mixtures of the errors of its rules
    errors = []
    for p in w.directions:
        difference = (loss - y - (t @ (p / mu) < 0.0) * (1 - 2 * y))[group == 0]
        errors.append(difference.std() / np.sqrt(len(difference)))
    assert w.error[0] == pytest.approx(w.shares @ errors, rel=1e-9)
    assert (w.lower_bounds(0.05) < w.gain).all()
    assert (w.lower_bounds(0.01) <= w.lower_bounds(0.05)).all()
    # what bounds gains, and who is better off than with the learner's best rule
    p = found.gain_weights
    gain = (1 - 2 * y) * (a - (t @ (p / mu) < 0.0))
    assert found.gain == pytest.approx(sum(p[g] * gain[group == g].mean() for g in range(n_groups)), abs=1e-12)
    for g in range(n_groups):
        own = ((1 - 2 * y) * (a - (t[:, g] < 0.0)))[group == g]
        assert found.best_p_value[g] == pytest.approx(stats.norm.cdf(own.mean() / (own.std() / np.sqrt(len(own)))))


def test_the_right_answer_is_out_of_reach_and_the_best_rule_has_no_alternative():
    rows, folds, (group, y, t, _, _) = rows_of(600, 3)
    perfect = joint_evidence(rows, y, folds, n_draws=199, seed=SEED)
    assert perfect.feasibility_p_value == 1 / 200
    assert perfect.p_value == 1.0 or perfect.p_value > 0.5
    best = joint_evidence(rows, best_rule(group, t, 3), folds, n_draws=199, seed=SEED)
    assert best.p_value > 0.05
    assert best.feasibility_p_value > 0.05
    worst = joint_evidence(rows, 1.0 - best_rule(group, t, 3), folds, n_draws=199, seed=SEED)
    assert worst.p_value < 1e-6
    assert worst.witness.gain[:3].min() > 0.0


# --- through the estimator ---------------------------------------------------------------------------------

N = 360
LABELS = np.array(["north", "east", "south", "west"])


def learned(n_groups=3, seed=0, options=None, **fit):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(N, 3)), columns=["a", "b", "c"])
    code = (X["c"] + rng.normal(size=N)).rank(method="first").mul(n_groups / (N + 1)).astype(int).to_numpy()
    slope = np.linspace(2.0, -1.0, n_groups)[code]
    y = (rng.random(N) < 1.0 / (1.0 + np.exp(-slope * X["a"] - X["b"]))).astype(int)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FairFrontierWarning)
        ff = FairFrontier(n_folds=2, n_boot=199, random_state=1, **(QUICK | (options or {})))
        ff.fit(X, y, sensitive_features=LABELS[code], **fit)
    return ff, X, y, LABELS[code]


@pytest.fixture(scope="module")
def three():
    return learned(seed=8)


def test_three_verdicts(three):
    ff, X, y, _ = three
    shown = ff.test_lda((X["a"] + X["b"] < 0).astype(int))
    assert shown.verdict == "lda-shown"
    assert "A rule that is no worse for any group" in shown.summary()
    assert shown.witness is not None
    assert shown.to_frame().shape == (3, 6)
    perfect = ff.test_lda(y)
    assert perfect.verdict == "not-comparable"
    assert perfect.better_for == ff.groups_
    assert "does better than the learner's best rule" in perfect.summary()
    nothing = ff.test_lda(np.zeros(N))
    assert (nothing.verdict, nothing.witness) == ("no-evidence", None)
    if nothing.gain_bound is not None:
        assert f"{nothing.gain_bound:.4f}" in nothing.summary()
    for test in (shown, nothing):
        assert json.loads(test.to_json())["verdict"] == test.verdict


def test_several_algorithms_are_adjusted_together(three):
    ff, X, _, _ = three
    several = {"one": (X["b"] < 0).astype(int), "other": (X["a"] + X["b"] < 0).astype(int), "nobody": np.zeros(N)}
    tests = ff.test_lda(several)
    assert list(tests) == list(several)
    for name, decisions in several.items():
        alone = ff.test_lda(decisions)
        assert tests[name].p_value == alone.p_value
        assert tests[name].tested_together == 3
        assert tests[name].p_value_adjusted >= alone.p_value
    assert tests["other"].p_value_adjusted == pytest.approx(min(1.0, 3 * tests["other"].p_value))
    assert "after adjusting for 3 tests" in tests["one"].summary()
    assert tests.at(0.01)["one"].alpha == 0.01


def test_a_reference_group_narrows_other_gaps(three):
    ff, X, _, _ = three
    test = ff.test_lda((X["b"] < 0).astype(int), reference="east")
    assert test.reference == "east"
    assert len(test.evidence.widths) == 2
    assert "no gap in risk to group east wider" in test.summary()
    refused("unknown-group", "reference names 'up'", lambda: ff.test_lda(np.zeros(N), reference="up"))


def test_a_capacity_limits_alternatives_and_rules(three):
    ff, X, _, groups = three
    a = (X["a"] + X["b"] < -1.0).astype(int)
    free, limited, wide = (ff.test_lda(a, capacity=c) for c in (None, 0.3, 1.0))
    assert limited.capacity == 0.3
    assert wide.p_value == pytest.approx(free.p_value, rel=1e-9)  # room for everybody
    assert "at most 30% of people selected" in limited.summary()
    rows = criteria_of(ff.fit_, 0.3)
    fan, standing = standing_of(rows, a.to_numpy().astype(float), folds_of(ff.fit_))
    cells = cut_cells(rows, standing, fan, Refinement(BUDGET[3]))
    slack = cells.slacks()
    assert limited.p_value == pytest.approx(stats.norm.sf((slack.value / slack.error).min()), rel=1e-9)
    if (w := limited.evidence.witness) is not None:
        shares = [np.mean(groups == label) for label in ff.groups_]
        assert w.selection_rate @ shares <= 0.3 + 1e-9
    with pytest.warns(CapacityWarning, match="more than the capacity"):
        ff.test_lda(1 - a, capacity=0.1)
    refused("bad-capacity", "capacity", lambda: ff.test_lda(a, capacity=1.5))
    found = ff.alternatives(a, n=3, capacity=0.3, test=limited)
    for k in range(len(found)):
        chosen = found.rule(k)
        assert chosen.predict_proba(X)[:, 1].mean() <= 0.3 + 1e-9
    refused("bad-option", "`test` is about", lambda: ff.alternatives(a, n=3, test=limited))


@pytest.mark.parametrize("case", ["weights", "clusters", "bounds", "repetitions", "outside"])
def test_jobs_weights_clusters_bounds_and_repetitions(case):
    rng = np.random.default_rng(3)
    fit, options = {}, {}
    if case == "weights":
        fit["sample_weight"] = rng.exponential(size=N) + 0.1
    elif case == "clusters":
        fit["clusters"] = np.arange(N) // 4
    elif case == "bounds":
        fit |= {"lower": 0.1, "upper": 0.9}
    elif case == "repetitions":
        options["n_rep"] = 3
    else:
        fit["external_nuisance"] = 0.3 * rng.normal(size=(N, 3))
    ff, X, _, _ = learned(options=options, **fit)
    algorithm = (X["b"] < 0).astype(int)
    one = ff.test_lda(algorithm)
    np.testing.assert_allclose(one.risk, ff.risks(algorithm).risk, rtol=1e-12)
    np.testing.assert_allclose(one.selection_rate, ff.risks(algorithm).selection_rate, rtol=1e-12)
    two = ff.set_params(n_jobs=2).test_lda(algorithm)
    assert one == two
    assert one.bounded == (case == "bounds")


def test_too_many_groups_for_all_together():
    codes = np.arange(N) % 12
    y = (np.arange(N) // 12) % 2
    t = np.where(codes[:, None] == np.arange(12)[::-1], 0.1 - 0.2 * y[:, None], 0.0)

    def fit(chosen):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FairFrontierWarning)
            ff = FairFrontier(n_boot=99, groups=chosen)
            return ff.fit(None, y, sensitive_features=codes, external_nuisance=t[:, : len(chosen)])

    six = fit((0, 1, 2, 3, 4, 5))
    refused("too-many-groups", "at most 5 groups, or 8 with a reference", lambda: six.test_lda(np.zeros(N)))
    nine = fit(tuple(range(9)))
    refused("too-many-groups", "there are 9", lambda: nine.test_lda(np.zeros(N), reference=1))
    assert 0.0 <= six.test_lda(np.zeros(N), reference=1).p_value <= 1.0
    refused("bad-option", "does not model the group", lambda: six.pair(0, 1))


# --- pairs -------------------------------------------------------------------------------------------------


def test_a_pair_is_the_analysis_of_its_rows_with_the_same_predictions(three):
    ff, X, y, g = three
    pair = ff.pair("south", "north")
    rows = np.isin(g, ["south", "north"])
    assert pair.groups_ == ("south", "north")
    assert pair.sample_.rows.tolist() == np.flatnonzero(rows).tolist()
    assert pair.sample_.left_out == {"east": int((g == "east").sum())}
    labels = list(ff.groups_)
    of = [labels.index("south"), labels.index("north")]
    chance = ff.nuisance_.group_probabilities[0][rows][:, of].sum(axis=1, keepdims=True)
    t = ff.nuisance_.predictions[0][rows][:, of] / chance
    np.testing.assert_array_equal(pair.nuisance_.folds, ff.nuisance_.folds[:, rows])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FairFrontierWarning)
        given = np.zeros((N, 2))
        given[rows] = t
        plain = FairFrontier(n_boot=199, random_state=1, groups=("south", "north"))
        plain.fit(X, y, sensitive_features=g, external_nuisance=given)
    np.testing.assert_allclose(pair.points_, plain.points_, rtol=1e-12)
    algorithm = (X["b"] < 0).astype(int)
    assert pair.test_lda(algorithm).p_value == plain.test_lda(algorithm).p_value
    np.testing.assert_allclose(pair.risks(algorithm).risk, ff.risks(algorithm).risk[of], rtol=1e-12)
    assert set(pair.rule("utilitarian").predict(X)) <= {0, 1}


def test_all_pairs_are_adjusted_together(three):
    ff, X, y, _ = three
    several = {"one": (X["b"] < 0).astype(int), "other": 1 - y}
    tests = ff.pairs().test_lda(several)
    assert list(tests.tests) == [("south", "north"), ("south", "east"), ("north", "east")]
    table = tests.to_frame()
    assert len(table) == 6
    for pair, own in tests.tests.items():
        alone = ff.pair(*pair).test_lda(several)
        for name, test in own.items():
            assert test.robust_p_value == alone[name].robust_p_value
            assert test.tested_together == 6
    p = np.sort(table["p_value"])
    np.testing.assert_allclose(
        np.sort(table["p_value_adjusted"]), np.minimum(np.maximum.accumulate(p * np.arange(6, 0, -1)), 1.0)
    )
    matrix = tests.verdicts("other")
    assert (matrix.to_numpy() == matrix.to_numpy().T).all()
    assert matrix.loc["south", "north"] == tests.tests["south", "north"]["other"].verdict
    against = ff.pairs(reference="east")
    assert list(against) == [("south", "east"), ("north", "east")]
    assert repr(against) == "Pairs(south against east, north against east)"


def test_pairs_that_cannot_be(three):
    ff, *_ = three
    refused("unknown-group", "There is no group 'up'", lambda: ff.pair("up", "north"))
    refused("bad-option", "two or more different labels", lambda: ff.pair("north", "north"))
    refused("unknown-group", "reference names 'up'", lambda: ff.pairs(reference="up"))
    two, *_ = learned(2)
    refused("bad-option", "There are two groups", lambda: two.pair("north", "east"))
