"""Repetitions of the cross-fitting: every question is about the lottery between their rules; what disagreement adds."""

import warnings
from dataclasses import replace
from math import acos, pi, sqrt

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from support.everything import Q, everything, rules
from support.quick import QUICK

from fairfrontier import FairFrontier
from fairfrontier.bootstrap.draws import DrawingContext
from fairfrontier.datasets import make_liu_molinari
from fairfrontier.errors import FairFrontierWarning, WeakLearnerWarning
from fairfrontier.fit import REPETITIONS, read_repetitions
from fairfrontier.frontier.capacity import cap
from fairfrontier.frontier.criteria import risk_rows
from fairfrontier.frontier.dependence import added_variance, disagreement_factor
from fairfrontier.frontier.plane import improvement_support
from fairfrontier.frontier.rule_values import RuleValuer, slacks
from fairfrontier.frontier.support import build_support_function, make_scores, stack_repetitions
from fairfrontier.inference.fan.evidence import added_to_forms
from fairfrontier.inference.fan.forms import standing_of
from fairfrontier.inference.fan.menu import group_menu
from fairfrontier.inference.lda.directions import between, robust_grid
from fairfrontier.inference.lda.evidence import lda_evidence
from fairfrontier.inference.lda.witness import menu_directions
from fairfrontier.inference.p_values import step_size

SEED = np.random.SeedSequence(2)


def plain_added(t, dl, group, weight, q, n_folds, clusters=None):
    """n rho_K times the sum over clusters of squared sums of (x_g w_i dl_i / W_g) sqrt(d_i), as a matrix in x."""
    n_rep, n, n_groups = len(t), len(dl), len(q)
    sums = [sum(weight[i] for i in range(n) if group[i] == g) for g in range(n_groups)]
    total = sum(sums)
    cells = {}
    for i in range(n):
        scores = [sum(q[g] * total / sums[g] * t[r][i][g] for g in range(n_groups)) for r in range(n_rep)]
        selected = [score > 0 for score in scores]
        pairs = [(a, b) for a in range(n_rep) for b in range(n_rep) if a != b]
        d = sum(selected[a] != selected[b] for a, b in pairs) / len(pairs)
        own = cells.setdefault(i if clusters is None else clusters[i], [0.0] * n_groups)
        own[group[i]] += weight[i] * dl[i] / sums[group[i]] * sqrt(d)
    k = n_folds
    rho = (k - 1) * 2 / pi / (4 * sqrt(2 * k - 3)) / (acos((k - 1) / k) / pi)
    return n * rho * sum(np.outer(own, own) for own in cells.values())


@pytest.mark.parametrize("n_rep", [2, 3, 5])
@pytest.mark.parametrize("clustered", [False, True])
def test_added_variance_is_its_formula(n_rep, clustered):
    rng = np.random.default_rng([n_rep, clustered])
    n = 60
    t = rng.integers(-2, 3, size=(n_rep, n, 2)) / 2.0  # with ties and zeros
    dl, group = rng.normal(size=n), rng.integers(2, size=n)
    weight = rng.integers(0, 3, size=n).astype(float)
    clusters = rng.integers(12, size=n) if clustered else None
    scores = [make_scores(dl**2, dl, own, group, weight, clusters=clusters) for own in t]
    q = robust_grid(n)
    found = added_variance(build_support_function(stack_repetitions(scores)), q, 5)
    for k in range(0, len(q), 5):
        expected = plain_added(t, dl, group, weight, q[k], 5, clusters)
        np.testing.assert_allclose(found[k], expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("n_rep", [2, 3])
@pytest.mark.parametrize("clustered", [False, True])
def test_added_variance_of_several_groups_is_the_same_formula(n_rep, clustered):
    """In the slacks of rules, in feasibility, and in the errors of a menu, beside the same with rules held."""
    rng = np.random.default_rng([n_rep, clustered, 3])
    n, n_groups = 90, 3
    t = rng.integers(-2, 3, size=(n_rep, n, n_groups)) / 2.0  # with ties and zeros
    dl, group = rng.normal(size=n), np.arange(n) % n_groups
    weight, lower = rng.integers(1, 4, size=n).astype(float), 0.2 * rng.random(n)
    clusters = rng.permutation(n) // 4 if clustered else None
    folds = np.arange(n) % 5 if clusters is None else clusters % 5
    rows = risk_rows(dl**2, dl, np.concatenate(t), group, weight, clusters=clusters, lower=lower, upper=np.full(n, 0.9))
    fan, standing = standing_of(rows, rng.random(n), folds, None)
    held = replace(standing, factor=0.0)
    p = np.vstack([np.eye(n_groups), rng.normal(size=(6, n_groups))])
    values, alone = (RuleValuer(rows, own, n_jobs=2)(p) for own in (standing, held))
    expected = np.array([plain_added(t, dl * (0.9 - lower), group, weight, -q, 5, clusters) / n for q in p])
    assert expected.max() > 0.0
    np.testing.assert_allclose(values.added, expected, rtol=1e-10, atol=1e-15)
    assert not alone.added.any()
    corners = np.hstack([p, np.zeros((len(p), 2 * n_groups + 1))])
    at = np.arange(len(p))
    more = slacks(values, standing, at, corners).error ** 2 - slacks(alone, held, at, corners).error ** 2
    in_direction = np.einsum("fj,fjk,fk->f", p, expected, p)
    np.testing.assert_allclose(more, in_direction, rtol=1e-8)
    np.testing.assert_allclose(added_to_forms(RuleValuer(rows, standing), p), in_direction, rtol=1e-10)
    menu, narrow = (group_menu(rows, fan, own, p, n_draws=99, seed=SEED) for own in (standing, held))
    forms = np.einsum("fj,mjk,fk->mf", fan.directions, expected, fan.directions)
    np.testing.assert_allclose(menu.errors**2 - narrow.errors**2, forms, rtol=1e-8, atol=1e-15)
    of_risks = np.diagonal(expected, axis1=1, axis2=2)
    np.testing.assert_allclose(menu.errors_of_risks**2 - narrow.errors_of_risks**2, of_risks, rtol=1e-8, atol=1e-15)
    np.testing.assert_array_equal(menu.largest, narrow.largest)


def test_nothing_is_added_where_repetitions_agree():
    rng = np.random.default_rng(0)
    t, dl, group = rng.normal(size=(50, 2)), rng.normal(size=50), rng.integers(2, size=50)
    scores = make_scores(dl**2, dl, t, group, np.ones(50))
    for n_rep in (1, 3):
        function = build_support_function(stack_repetitions([scores] * n_rep))
        assert not added_variance(function, robust_grid(50), 5).any()


@pytest.mark.parametrize("n_folds", [2, 5, 10])
def test_the_factor_supplies_what_noise_lacks(n_folds):
    # decisions about rows with nothing to learn: the sign of the other folds' sum, in two repetitions
    rng = np.random.default_rng(n_folds)
    n, samples = 200, 4000
    values, naive, disagreement = np.empty(samples), np.empty(samples), np.empty(samples)
    for number in range(samples):
        z = rng.standard_normal(n)
        chosen = []
        for _ in range(2):
            fold = rng.permutation(np.arange(n) % n_folds)
            sums = np.bincount(fold, z)
            chosen.append(sums.sum() - sums[fold] > 0.0)
        a = (chosen[0] + chosen[1].astype(float)) / 2 - 0.5
        values[number], naive[number] = a @ z, (a * z) @ (a * z)
        disagreement[number] = (z**2)[chosen[0] != chosen[1]].sum()
    with_added = naive.mean() + disagreement_factor(n_folds) * disagreement.mean()
    assert values.var() > 1.3 * naive.mean()
    # a variance of `samples` values has a relative standard error of about sqrt(2 / samples) = .022
    assert values.var() < 1.1 * with_added
    assert values.var() > (0.7 if n_folds == 2 else 0.85) * with_added


# --- what is estimated and drawn is the mean over the repetitions ------------------------------------------


@pytest.fixture(scope="module", params=["plain", "clusters and bounds"])
def stacked(request):
    """Scores of three repetitions, and the support function of their lotteries."""
    rng = np.random.default_rng(4)
    n, more, clusters = 80, {}, None
    if request.param != "plain":
        clusters = rng.integers(25, size=n)
        more = {"clusters": clusters, "lower": rng.uniform(0.0, 0.3, n), "upper": rng.uniform(0.5, 1.0, n)}
    dl, group = rng.normal(size=n), rng.integers(2, size=n)
    weight = rng.integers(0, 3, size=n).astype(float)
    t = rng.integers(-2, 3, size=(3, n, 2)) / 2.0 - dl[:, None] * 0.1
    each = [make_scores(dl**2, dl, own, group, weight, **more) for own in t]
    return each, build_support_function(stack_repetitions(each))


def test_estimates_are_means_over_the_repetitions(stacked):
    each, function = stacked
    alone = [build_support_function(scores) for scores in each]
    assert function.n_obs == 80
    assert function.scores.n_rows == 240
    np.testing.assert_allclose(function.mu, alone[0].mu, rtol=1e-12)
    for of in (lambda f: f.estimate, lambda f: f.plug_in()):
        for name in ("h", "support_set"):
            expected = np.mean([getattr(of(f), name)(Q) for f in alone], axis=0)
            np.testing.assert_allclose(getattr(of(function), name)(Q), expected, rtol=0, atol=1e-12)
    for q in Q:
        expected = np.mean([f.selected(q) for f in alone], axis=0)
        np.testing.assert_array_equal(function.scores.averaged(function.selected(q)), expected)


def test_variances_count_people_and_not_rows(stacked):
    each, function = stacked
    s, points = each[0], function.estimate.support_set(Q)
    cells = {}
    for i in range(80):
        g = s.group[i]
        chance = np.mean([[q @ (scores.t[i] / function.mu) > 0.0 for q in Q] for scores in each], axis=0)
        loss = s.l0[i] + s.dl[i] * chance
        influence = s.weight[i] / s.weight_sums[g] * Q[:, g] * (loss - points[:, g])
        unit = i if s.clusters is None else s.clusters[i]
        cells[unit] = cells.get(unit, 0.0) + influence
    expected = 80 * sum(np.outer(row, row) for row in cells.values())
    np.testing.assert_allclose(function.covariance(Q), expected, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(function.variance(Q), np.diag(expected), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("hold_rules", [True, False])
def test_draws_are_means_over_the_repetitions(stacked, hold_rules):
    each, function = stacked
    losses = np.random.default_rng(0).normal(size=(2, 80))
    seed = np.random.SeedSequence(1)
    found = DrawingContext(function, 99, seed).draw(Q, function.scores.repeated(losses), hold_rules=hold_rules)
    alone = [DrawingContext(build_support_function(s), 99, seed).draw(Q, losses, hold_rules=hold_rules) for s in each]
    assert found.n_obs == 80
    for name in ("h_hat", "h", "risks_hat", "risks"):
        expected = np.mean([getattr(draws, name) for draws in alone], axis=0)
        np.testing.assert_allclose(getattr(found, name), expected, rtol=0, atol=1e-12)


def test_a_capacity_limits_the_lottery(stacked):
    _, function = stacked
    s, capped = function.scores, cap(function, 0.35)
    for q in Q:
        chances = s.averaged(s.chances(capped.selected(q)))
        assert np.average(chances, weights=s.weight[:80]) <= 0.35 + 1e-12


# --- the test for alternatives -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def repeated():
    X, y, group = make_liu_molinari(400, design="balanced", random_state=3)
    ff = FairFrontier(**QUICK | {"n_rep": 3}, n_boot=99, random_state=1).fit(X, y, sensitive_features=group)
    return ff, (X["x2"] > 0.3).to_numpy().astype(float), y, group


def alone(ff):
    """How draws of each repetition by itself are made."""
    s, n, context = ff.support_function_.scores, ff.n_obs_, ff.fit_.context()
    each = [make_scores(s.l0[:n], s.dl[:n], t, s.group[:n], s.weight[:n]) for t in ff.nuisance_.predictions]
    return [DrawingContext(build_support_function(scores), context.n_boot, context.seed) for scores in each]


def test_robust_test_of_the_lottery_is_its_formula(repeated):
    """Of rules without margins, as for risks without decisions and with bounds."""
    ff, decisions, y, _ = repeated
    context, losses = ff.fit_.context_with(decisions[None])
    (result,) = lda_evidence(context, losses, np.empty((0, 2)), method="robust", n_folds=ff.n_folds)
    n, root, s = len(y), np.sqrt(len(y)), step_size(len(y))
    contexts = alone(ff)
    grid = robust_grid(n)
    points = np.mean([c.function.estimate.support_set(grid) for c in contexts], axis=0)
    neighbours, equal = between(grid, points)
    rules, along = np.vstack([grid, grid[neighbours]]), np.vstack([grid, equal])
    loss = np.where(decisions == 1.0, 1.0 - y, y)
    draws = [c.draw(rules, loss[None], hold_rules=True, along=along) for c in contexts]
    e, t = draws[0].risks_hat[0], ff.nuisance_.predictions
    codes = contexts[0].function.scores.group
    p_values = []
    for k in range(len(rules)):
        x = along[k]
        h = sum(d.h_hat[k] for d in draws) / 3
        drawn = sum(d.h[:, k] for d in draws) / 3
        still = improvement_support(e, x[None])[0]
        z = []
        for b in range(99):
            moved = e + s * root * (draws[0].risks[b, 0] - e)
            z.append(root * (drawn[b] - h) + (improvement_support(moved, x[None])[0] - still) / s)
        z = np.array(z)
        added = x @ plain_added(t, 1.0 - 2.0 * y, codes, np.ones(n), rules[k], ff.n_folds) @ x
        z *= np.sqrt(1.0 + added / z.var())
        p_values.append((1 + np.count_nonzero(z >= root * (still + h))) / 100)
    assert result.p_value == pytest.approx(max(p_values))
    assert (1 + np.count_nonzero(result.draws >= result.statistic)) / 100 == pytest.approx(result.p_value)


def test_standard_errors_of_rules_have_the_added_variance(repeated):
    ff, decisions, y, _ = repeated
    n, t, s = len(y), ff.nuisance_.predictions, ff.support_function_.scores
    test, table = ff.test_lda(decisions), ff.alternatives(decisions, 4).table
    assert len(table) == 4
    codes, own = s.group[:n], np.where(decisions == 1.0, 1.0 - y, y)
    more = []
    for _, line in table.iterrows():
        q = np.array([line["direction 1"], line["direction 0"]])
        added = plain_added(t, 1.0 - 2.0 * y, codes, np.ones(n), q, ff.n_folds) / n
        chance = np.mean([each @ (q / ff.support_function_.mu) > 0.0 for each in t], axis=0)
        loss = y + (1.0 - 2.0 * y) * chance
        for g, label in enumerate((1, 0)):
            rows = codes == g
            se, gained = (np.sqrt(x[rows].var() / rows.sum() + added[g, g]) for x in (loss, own - loss))
            assert line[f"se {label}"] == pytest.approx(se)
            assert line[f"se gain {label}"] == pytest.approx(gained)
        more.append(added[0, 0])
    assert max(more) > 0.0
    # the errors of the menu from which the witness is chosen
    drawn = [context.draw_rules(menu_directions()) for context in alone(ff)]
    risks, draws = np.mean([d.risks for d in drawn], axis=0), np.mean([d.draws for d in drawn], axis=0)
    moved = ff.fit_.context().draw(Q, s.repeated(own[None])).risks[:, 0]
    witness = test.evidence.witness
    found = np.zeros(2)
    for q, share in zip(witness.directions, witness.shares, strict=True):
        k = int(np.abs(menu_directions() - q).sum(axis=1).argmin())
        added = plain_added(t, 1.0 - 2.0 * y, codes, np.ones(n), q, ff.n_folds) / n
        np.testing.assert_allclose(risks[k], ff.support_set(q)[0], atol=1e-12)
        found += share * np.sqrt((moved - draws[:, k]).var(axis=0) + np.diag(added))
    np.testing.assert_allclose(witness.errors[:2], found, rtol=1e-9)


# --- equal repetitions answer as one does -------------------------------------------------------------------


def test_equal_repetitions_answer_as_one_does():
    X, y, group = make_liu_molinari(150, design="skewed", random_state=1)
    fold = np.arange(150) % 3
    decisions = (X["x1"] > 0.4).to_numpy().astype(float)
    found = []
    for folds in (fold, np.tile(fold, (3, 1))):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FairFrontierWarning)
            ff = FairFrontier(learner=LogisticRegression(), folds=folds, n_boot=99, random_state=1)
            ff.fit(X, y, sensitive_features=group)
            assert ff.fit_.n_rep == (1 if folds.ndim == 1 else 3)
            found.append(everything(ff, decisions) | rules(ff, X, decisions))
    # the robust test, and so whether an alternative is shown, has margins with repetitions only
    own = [{name for name in each if name.startswith("lda robust:") or "gain" in name} for each in found]
    assert found[0].keys() - own[0] == found[1].keys() - own[1]
    for name in found[0].keys() - own[0]:
        one, three = (np.asarray(each[name]) for each in found)
        if name.startswith(("band", "feasible set", "skew set")) and one.ndim == 2:  # corners, beginning anywhere
            one, three = (corners[np.lexsort(corners.round(6).T)] for corners in (one, three))
        np.testing.assert_allclose(three, one, rtol=1e-6, atol=1e-8, err_msg=name)


def test_equal_repetitions_answer_as_one_does_for_several_groups():
    X, y, group = make_liu_molinari(150, design="skewed", random_state=1)
    region, fold = np.where(group == 1, "north", np.where(np.arange(150) % 2, "west", "south")), np.arange(150) % 3
    wrong = np.arange(150) % 7 < np.where(region == "north", 3, np.where(region == "west", 5, 6.6))
    decisions = np.where(wrong, 1 - y, y).astype(float)
    with pytest.warns(WeakLearnerWarning):
        one, three = (
            FairFrontier(learner=LogisticRegression(), folds=folds, n_boot=99, random_state=1)
            .fit(X, y, sensitive_features=region)
            .test_lda(decisions)
            .evidence
            for folds in (fold, np.tile(fold, (3, 1)))
        )
    assert 0.0 < one.p_value < 0.5
    # the test has margins with repetitions only, and so other cells; everything else is the same
    tested = {"slack", "standard_error", "weights", "p_value", "n_rules", "n_cells", "loss", "share_changed"}
    tested |= {"gain", "gain_error", "gain_weights"}
    for name, value in one.to_dict().items():
        if name not in tested | {"witness"}:
            expected = value if value is None else pytest.approx(value, rel=1e-6, abs=1e-9)
            assert getattr(three, name) == expected, name
    assert (one.share_changed is None, three.share_changed is None) == (True, False)
    for name in ("risk", "slack", "error", "largest"):
        np.testing.assert_allclose(getattr(three.witness, name), getattr(one.witness, name), rtol=1e-6, atol=1e-9)


# --- how many -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("n_rep", "folds", "external", "expected"),
    [
        (None, None, False, REPETITIONS),
        (None, "independent", False, REPETITIONS),
        (None, "sequential", False, 1),
        (None, np.zeros(4, dtype=int), False, 1),
        (None, [0, 1], False, 1),
        (None, None, True, 1),
        (2, None, False, 2),
        (2, "sequential", False, 2),
    ],
)
def test_repetitions_unless_their_number_is_said(n_rep, folds, external, expected):
    assert read_repetitions(n_rep, folds, external=external) == expected


def test_the_default_repeats_and_leaves_the_parameter_alone():
    X, y, group = make_liu_molinari(400, design="balanced", random_state=3)
    ff = FairFrontier(**QUICK | {"n_rep": None}, n_folds=2, random_state=1).fit(X, y, sensitive_features=group)
    assert ff.n_rep is None
    assert ff.nuisance_.predictions.shape == (REPETITIONS, 400, 2)
    assert f"{REPETITIONS} repetitions" in ff.summary()
