"""Alternatives among rules that see the group: tests of single groups against transcriptions, verdicts, witness."""

import html
import json
import re

import numpy as np
import pytest
from scipy import stats
from support.plain import unit_weights
from support.quick import FEW

from fairfrontier import FairFrontier
from fairfrontier.bootstrap.means import draw_group_means
from fairfrontier.datasets import make_liu_molinari
from fairfrontier.errors import CapacityWarning, InputError
from fairfrontier.frontier.fan import range_fan, reference_fan
from fairfrontier.inference.aware.few_rows import above_other, above_zero, sampled
from fairfrontier.inference.aware.groups import smallest_elsewhere
from fairfrontier.inference.aware.own_rules import own_rules
from fairfrontier.inference.fan.menu import smallest_slacks
from fairfrontier.inference.fan.witness import known_slacks, width_floors
from fairfrontier.inference.lda.evidence import lda_evidence
from fairfrontier.inference.p_values import p_value

X, y, group = make_liu_molinari(1200, design="skewed", random_state=5)
y, group = np.asarray(y), np.asarray(group)
N_BOOT = 199


def better_off_optimal(ff, share=0.3, seed=0):
    """Decisions by the learned rule, with some of those about the group worse off turned round."""
    t = ff.nuisance_.predictions[0][np.arange(len(y)), 1 - group]
    decisions = (t < 0.0).astype(int)
    worse = 0 if ff.points_.iloc[0, 1] > ff.points_.iloc[0, 0] else 1
    turned = (np.random.default_rng(seed).random(len(y)) < share) & (group == worse)
    return np.where(turned, 1 - decisions, decisions), worse


@pytest.fixture(scope="module")
def ff():
    options = {"learner": "factored-logit", "learner_params": FEW, "n_rep": 1, "n_folds": 3}
    return FairFrontier(**options, rules="group-aware", n_boot=N_BOOT, random_state=1).fit(
        X, y, sensitive_features=group
    )


def test_draws_of_group_means_are_weighted_means():
    rng = np.random.default_rng(0)
    columns, codes, weight = rng.normal(size=(2, 40)), rng.integers(-1, 3, 40), rng.uniform(0.5, 2.0, 40)
    clusters = rng.integers(0, 9, 40)
    seed = np.random.SeedSequence(3)
    for units in (None, clusters):
        found = draw_group_means(columns, codes, 3, weight, units, n_boot=99, seed=seed, n_jobs=2)
        random = unit_weights(40 if units is None else int(clusters.max()) + 1, 99, seed)
        for b in range(0, 99, 24):
            w = weight * (random[b] if units is None else random[b][clusters])
            for g in range(3):
                own = codes == g
                expected = [np.sum(w[own] * column[own]) / np.sum(w[own]) for column in columns]
                np.testing.assert_allclose(found.draws[b, :, g], expected, rtol=1e-12)
        np.testing.assert_allclose(found.means[0, 1], np.average(columns[0][codes == 1], weights=weight[codes == 1]))


def test_each_group_is_tested_as_written(ff):
    decisions, _ = better_off_optimal(ff)
    test = ff.test_lda(decisions)
    random = unit_weights(len(y), N_BOOT, ff.fit_.seeds.drawing)
    t = ff.nuisance_.predictions[0][np.arange(len(y)), 1 - group]
    loss, best = (decisions != y).astype(float), ((t < 0.0) != (y == 1)).astype(float)

    def mean(values, label, w):
        return np.sum((w * values)[group == label]) / np.sum(w[group == label])

    plain = np.ones(len(y))
    p_values = []
    for found, label, other in zip(test.by_group, (1, 0), (0, 1), strict=True):
        gain = mean(loss, label, plain) - mean(best, label, plain)
        excess = mean(loss, label, plain) - mean(loss, other, plain)
        gains = np.array([mean(loss, label, w) - mean(best, label, w) for w in random])
        above = np.array([mean(loss, label, w) - mean(loss, other, w) for w in random])
        p_gain = (1 + np.sum(gains - gain >= gain - 1e-12)) / (1 + N_BOOT)
        p_above = (1 + np.sum(above - excess >= excess - 1e-12)) / (1 + N_BOOT)
        # the sign test of the rows that change, and Fisher's test of errors in both groups
        better, worse = ((loss - best)[group == label] == 1.0).sum(), ((loss - best)[group == label] == -1.0).sum()
        p_gain = max(p_gain, stats.binom.sf(better - 1, better + worse, 0.5))
        errors = [[(loss[group == g] == v).sum() for v in (1.0, 0.0)] for g in (label, other)]
        p_above = max(p_above, stats.fisher_exact(errors, "greater").pvalue)
        assert found.changed == better + worse
        assert found.gain == pytest.approx(gain, abs=1e-12)
        assert found.excess == pytest.approx(excess, abs=1e-12)
        assert found.p_value_gain == pytest.approx(p_gain)
        assert found.p_value_excess == pytest.approx(p_above, rel=1e-5)
        assert found.gain_error == pytest.approx(gains.std())
        assert found.above == f"that of group {other}"
        p_values.append(max(p_gain, p_above))
    context, losses = ff.fit_.context_with(decisions[None].astype(float))
    over_directions = lda_evidence(context, losses, np.empty((0, 2)), method="robust")[0].p_value
    together = max(over_directions, *(found.p_value_gain for found in test.by_group))
    assert test.evidence.together_p_value == pytest.approx(together)
    smallest, middle, _ = sorted([*p_values, together])
    assert test.p_value == pytest.approx(min(1.0, 3 * smallest), rel=1e-5)
    adjusted = sorted(t.p_value_adjusted for t in test.by_group)
    assert adjusted[0] == pytest.approx(test.p_value)
    assert adjusted[1] in (pytest.approx(1.0), pytest.approx(max(3 * smallest, 2 * middle)))


def test_an_improvement_of_the_group_worse_off_is_shown(ff):
    decisions, worse = better_off_optimal(ff)
    test = ff.test_lda(decisions)
    assert test.verdict == "lda-shown"
    assert test.rules == "group-aware"
    w = test.witness
    assert w.changed == worse
    kept = 1 - ff.groups_.index(worse)
    assert w.gain[kept] == 0.0
    assert w.lower_bounds(0.05)[kept] == 0.0
    assert w.gain[1 - kept] > 0.0
    assert w.gain[2] > 0.0
    assert w.confirmed(0.05)
    # the risks that the words promise: a lottery in one group, all else as now
    t = ff.nuisance_.predictions[0][np.arange(len(y)), 1 - group]
    chance = np.where(group == worse, w.shares[0] * (t < 0.0) + (1.0 - w.shares[0]) * decisions, decisions)
    np.testing.assert_allclose(ff.risks(chance).risk, w.risk, atol=1e-12)
    np.testing.assert_allclose(ff.risks(chance).selection_rate, w.selection_rate, atol=1e-12)
    words = test.summary()
    assert "may see the group" in words
    assert f"decisions about group {worse}" in words


def test_alternatives_say_that_others_change_one_group(ff):
    decisions, _ = better_off_optimal(ff)
    found = ff.alternatives(decisions)
    assert found.verdict == "lda-shown"
    assert len(found) == 0  # the other group is served as well as it can be
    words = found.summary()
    assert "No rule of the estimated frontier" not in words
    assert "decisions about one group" in words
    assert "select with the chance" in words  # how to make the one that was found


def test_nothing_is_shown_where_only_the_better_off_group_can_be_improved(ff):
    t = ff.nuisance_.predictions[0][np.arange(len(y)), 1 - group]
    best = (t < 0.0).astype(int)
    risks = ff.risks(best).risk
    better = ff.groups_[int(np.argmin(risks))]
    turned = (np.random.default_rng(1).random(len(y)) < 0.1) & (group == better)
    for decisions in (best, np.where(turned, 1 - best, best)):
        test = ff.test_lda(decisions)
        assert test.verdict == "no-evidence"
        assert test.witness is None


def test_fixed_risks_capacity_and_other_methods(ff):
    best = ff.points_.iloc[0, :2].to_numpy()
    worse = int(np.argmax(best))
    test = ff.test_lda(risks=np.where(np.arange(2) == worse, best + 0.2, best))
    assert len(test.by_group) == 2
    assert test.verdict == "lda-shown"
    assert test.witness.changed == ff.groups_[worse]
    assert test.witness.selection_rate is None  # only the risks of the algorithm are known
    assert test.witness.selection_ratio is None
    assert not any("selects" in line for line in test.sentences())
    json.loads(test.to_json())
    decisions, _ = better_off_optimal(ff)
    for method in ("sharp", "paper"):
        with pytest.raises(InputError, match="flat edges"):
            ff.test_lda(decisions, method=method)


def test_a_capacity_does_not_hide_one_group(ff):
    """The rule for a group then selects as many of it as the algorithm does, those with the largest predicted gain."""
    decisions, worse = better_off_optimal(ff)
    capped = ff.test_lda(decisions, capacity=0.9)
    assert capped.verdict == "lda-shown"
    assert capped.witness.changed == worse
    assert capped.rules == "group-aware"
    t = ff.nuisance_.predictions[0][np.arange(len(y)), 1 - group]
    chances = own_rules(ff.fit_, decisions.astype(float)).chances
    for label in (0, 1):
        own = np.flatnonzero(group == label)
        wanted = own[np.argsort(t[own])][: decisions[own].sum()]
        np.testing.assert_allclose(chances[own], np.isin(own, wanted[t[wanted] < 0.0]), atol=1e-9)
    # an algorithm that selects more than that may not be changed in one group alone
    with pytest.warns(CapacityWarning):
        assert ff.test_lda(decisions, capacity=0.9 * decisions.mean()).by_group == ()


def plain(rules, **options):
    return FairFrontier(rules=rules, n_boot=199, random_state=0, **options)


def coins(n, rng, chances):
    """Two groups whose outcomes follow one binary covariate, with E[dl | x, g] for both; group 1 comes first."""
    x, codes = rng.integers(0, 2, n), rng.integers(0, 2, n)
    chance = np.column_stack([np.where(x == 1, p, 1.0 - p) for p in chances])
    outcome = (rng.random(n) < chance[np.arange(n), 1 - codes]).astype(int)
    return outcome, codes, 1.0 - 2.0 * chance


def test_all_groups_are_improved_together_where_their_risks_are_equal():
    rng = np.random.default_rng(3)
    outcome, codes, t = coins(1500, rng, (0.9, 0.7))
    best = (t[np.arange(1500), 1 - codes] < 0.0).astype(int)
    share = np.where(codes == 1, 0.375, 0.25)  # .1 + .8 s and .3 + .4 s are both .4
    decisions = np.where(rng.random(1500) < share, 1 - best, best)
    ff = plain("group-aware").fit(None, outcome, sensitive_features=codes, external_nuisance=t)
    test = ff.test_lda(decisions)
    assert min(found.p_value for found in test.by_group) > 0.05
    assert test.verdict == "lda-shown"
    assert not test.evidence.changes_one
    assert test.witness.changed is None
    assert test.witness.gain[:2].min() > 0.0
    assert "no worse for either group" in " ".join(test.sentences())
    assert test.statistic > test.critical_value


def test_a_bound_names_the_group_that_may_be_improved():
    rng = np.random.default_rng(0)
    outcome, codes, t = coins(150, rng, (0.9, 0.6))
    best = (t[np.arange(150), 1 - codes] < 0.0).astype(int)
    turned = (rng.random(150) < 0.3) & (codes == 0)
    ff = plain("group-aware").fit(None, outcome, sensitive_features=codes, external_nuisance=t)
    test = ff.test_lda(np.where(turned, 1 - best, best))
    assert test.verdict == "no-evidence"
    first, second = test.by_group
    assert (first.changed, first.gain) == (0.0, 0.0)  # group 1 is decided about as is best for it
    assert second.p_value_below > 0.0125
    bound = second.gain + stats.t.isf(0.05 / 4, second.changed - 1) * second.gain_error
    assert test.gain_bound == pytest.approx(bound)
    assert test.gain_bound > 0.3 * 0.2  # what can be gained
    np.testing.assert_array_equal(test.gain_weights, [0.0, 1.0])
    assert f"at most {bound:.4f} (95% bound) in the risk of group 0, and no larger one" in " ".join(test.sentences())


@pytest.mark.filterwarnings("ignore::fairfrontier.errors.WeakLearnerWarning")
@pytest.mark.parametrize("n_few", [4, 8])
def test_few_rows_that_agree_by_chance_show_little(n_few):
    """All rows of a small group are decided about wrongly: draws of that have no variance, the sign test is exact."""
    rng, n = np.random.default_rng(0), 200
    codes = np.where(np.arange(n) < n_few, 1, 0)
    outcome = np.where(codes == 1, 1, rng.random(n) < 0.1).astype(int)
    t = np.where(codes == 1, -0.1, 0.8)[:, None] * np.ones((1, 2))
    ff = plain("group-aware").fit(None, outcome, sensitive_features=codes, external_nuisance=t)
    small = ff.test_lda(np.zeros(n)).by_group[0]
    assert small.p_value_gain == pytest.approx(max(0.5**n_few, 1 / 200))
    assert small.changed == n_few
    heavy = np.where(np.arange(n) == 0, 3.0, 1.0)  # rows with different weights count for less
    ff.fit(None, outcome, sensitive_features=codes, external_nuisance=t, sample_weight=heavy)
    effective = (n_few + 2.0) ** 2 / (n_few + 8.0)
    assert ff.test_lda(np.zeros(n)).by_group[0].p_value_gain == pytest.approx(max(0.5**effective, 1 / 200))


def test_p_values_for_few_rows():
    rng, ones = np.random.default_rng(4), np.ones(12)
    signs, errors = np.where(np.arange(12) < 9, 1.0, -1.0), (np.arange(12) < 9).astype(float)
    found = above_zero(sampled(signs, ones, None, (-1.0, 1.0)))
    assert found == pytest.approx(stats.binomtest(9, 12, alternative="greater").pvalue)
    # a gain of 1 against a loss of 5 is no evidence until losses could have been seen
    gains = np.where(np.arange(12) < 11, 1.0, -5.0)
    assert above_zero(sampled(gains, ones, None, (-5.0, 1.0))) == pytest.approx(stats.binom.sf(10, 12, 5 / 6))
    values = rng.normal(0.4, 1.0, 12)
    assert above_zero(sampled(values, ones, None, (-9.0, 1.0))) == pytest.approx(
        max(stats.ttest_1samp(values, 0.0, alternative="greater").pvalue, 0.9**12)
    )
    pairs = np.repeat(np.arange(6), 2)
    by_pair = stats.ttest_1samp(values.reshape(6, 2).mean(axis=1), 0.0, alternative="greater").pvalue
    assert above_zero(sampled(values, ones, pairs, (-1e-9, 9.0))) == pytest.approx(by_pair)
    other = sampled((np.arange(40) < 10).astype(float), np.ones(40), None, (0.0, 1.0))
    exact = stats.fisher_exact([[9, 3], [10, 30]], "greater").pvalue
    assert above_other(sampled(errors, ones, None, (0.0, 1.0)), other) == pytest.approx(exact, rel=2e-4)
    more = rng.normal(size=30)
    welch = stats.ttest_ind(values, more, equal_var=False, alternative="greater").pvalue
    two = (sampled(each, np.ones(len(each)), None, (-9.0, 9.0)) for each in (values, more))
    assert above_other(*two) == pytest.approx(max(welch, 0.5**12))
    alike = sampled(ones, ones, None, (0.0, 2.0))
    assert above_other(alike, sampled(0.5 * ones, ones, None, (0.0, 2.0))) == 0.5**12


def test_the_smallest_risk_is_that_of_other_folds():
    rng = np.random.default_rng(2)
    n = 60
    loss, codes, weight, folds = rng.random(n), rng.integers(0, 3, n), rng.uniform(0.5, 2.0, n), rng.integers(1, 5, n)
    found = smallest_elsewhere(loss, codes, weight, folds)
    for k, fold in enumerate(np.unique(folds)):
        risks = [
            np.average(loss[(codes == g) & (folds != fold)], weights=weight[(codes == g) & (folds != fold)])
            for g in range(3)
        ]
        assert found[k] == int(np.argmin(risks))


def test_a_fold_chooses_only_groups_that_it_has():
    loss, codes = np.array([0.5, 0.1, 0.6, 0.2, 0.5]), np.array([0, 1, 0, 1, 0])
    folds = np.array([1, 2, 1, 2, 2])  # group 1 has the smaller risk, and is in fold 2 only
    assert smallest_elsewhere(loss, codes, np.ones(5), folds).tolist() == [0, 0]
    weightless = np.array([1.0, 0.0, 1.0, 1.0, 1.0])
    assert smallest_elsewhere(loss, codes, weightless, np.array([1, 1, 2, 2, 2])).tolist() == [0, 0]


def test_what_is_not_a_number_shows_nothing():
    assert p_value(np.full(99, np.nan), np.nan) == 1.0
    assert p_value(np.zeros(99), np.nan) == 1.0
    assert p_value(np.append(np.nan, np.zeros(98)), 1.0) > 0.01


@pytest.fixture(scope="module")
def three_groups():
    """A fit of three groups, the groups, the learned rule's decisions, and those with some about group 0 turned."""
    three = group * (1 + np.arange(len(y)) % 2)  # group 1 in two halves, of which one is called 2
    many = FairFrontier(learner="factored-logit", learner_params=FEW, n_rep=1, n_folds=3, rules="group-aware")
    many.set_params(n_boot=N_BOOT, random_state=1).fit(X, y, sensitive_features=three)
    t = many.nuisance_.predictions[0][np.arange(len(y)), np.array([2, 1, 0])[three]]
    best = (t < 0.0).astype(int)
    turned = (np.random.default_rng(0).random(len(y)) < 0.3) & (three == 0)
    return many, three, best, np.where(turned, 1 - best, best)


def test_several_groups_are_tested_by_themselves(three_groups):
    many, three, best, decisions = three_groups
    codes = np.array([2, 1, 0])[three]
    test = many.test_lda(decisions)
    assert test.verdict == "lda-shown"
    assert [found.group for found in test.evidence.by_group] == [2, 1, 0]
    loss = (decisions != y).astype(float)
    folds = many.nuisance_.folds[0]
    chosen = smallest_elsewhere(loss, codes, np.ones(len(y)), folds)
    low = 0.0
    for g in np.unique(chosen):
        own = np.isin(folds, 1 + np.flatnonzero(chosen == g)) & (codes == g)
        low += np.mean(chosen == g) * loss[own].mean()
    last = test.evidence.by_group[2]
    assert last.excess == pytest.approx(loss[three == 0].mean() - low, abs=1e-12)
    wrong = (best != y).astype(float)
    assert last.gain == pytest.approx((loss - wrong)[three == 0].mean(), abs=1e-12)
    assert test.p_value == pytest.approx(min(1.0, 4 * min(found.p_value for found in test.evidence.by_group)))
    assert last.above == "the smallest"
    words = test.summary()
    assert "may see the group" in words
    assert "cells" not in words
    share = test.witness.shares[0]
    assert f"{share:.0%} of the decisions about group 0 by a rule learned for it, all else as now" in words
    assert "decisions about one group" in many.alternatives(decisions, test=test).summary()
    assert many.test_lda(best).verdict == "no-evidence"
    risk = {g: loss[three == g].mean() for g in (0, 1, 2)}
    to_one = many.test_lda(decisions, reference=1).evidence.by_group
    assert to_one[1].p_value_excess == 1.0  # the reference does not exceed all others
    assert to_one[2].excess == pytest.approx(risk[0] - risk[1], abs=1e-12)
    assert to_one[2].above == "that of the reference group 1"
    # the reference itself is tested beside all others
    to_worst = many.test_lda(decisions, reference=0)
    own = to_worst.evidence.by_group[2]
    assert own.excess == pytest.approx(risk[0] - max(risk[1], risk[2]), abs=1e-12)
    assert own.above == "that of every other group"
    assert to_worst.verdict == "lda-shown"
    assert to_worst.witness.changed == 0
    assert (to_worst.witness.gain >= 0.0).all()


def test_the_witness_of_several_groups_changes_one_of_them(three_groups):
    """Risks, gains, errors and joint bounds, written out with means of rows."""
    many, three, best, decisions = three_groups
    test = many.test_lda(decisions)
    w, labels = test.witness, [2, 1, 0]
    share = w.shares[0]
    assert (w.changed, w.directions.tolist()) == (0, [[0.0, 0.0, 1.0]])
    mixed = np.where(three == 0, share * best + (1 - share) * decisions, decisions)
    now, then = (np.array([(a != y)[three == g].mean() for g in labels]) for a in (decisions, best))
    other = np.where([False, False, True], share * then + (1 - share) * now, now)
    np.testing.assert_allclose(w.risk, other, atol=1e-12)
    np.testing.assert_allclose(w.selection_rate, [mixed[three == g].mean() for g in labels], atol=1e-12)
    np.testing.assert_allclose(w.gain[:3], now - other, atol=1e-12)
    # the range: of pairs without the group no less than now, above the others at least as far as the group is left
    width, others = test.evidence.widths[0], other[:2]
    falling = max(max(width - (h - other[2]), other[2] - o) for h in others for o in others if o != h)
    assert w.gain[3] <= max(width - np.ptp(other), now[2] - other[2], falling) + 1e-12
    assert w.gain[3] >= 0.0
    difference = ((decisions != y).astype(float) - (best != y))[three == 0]
    error = share * difference.std() / np.sqrt(len(difference))
    assert w.error[2] == pytest.approx(error, rel=1e-9)
    reach = np.quantile(w.largest, 0.95, method="inverted_cdf")
    assert reach > 1.8  # more than a single bound needs
    bounds = w.lower_bounds(0.05)
    np.testing.assert_allclose(bounds[:3], [0.0, 0.0, w.gain[2] - reach * error], atol=1e-12)
    assert bounds[3] <= w.gain[3]
    assert w.confirmed(0.05) == bool(bounds[2] > 0.0 and bounds[3] >= 0.0)
    assert (w.intervals(0.05)[:, 0] <= w.gain).all()
    assert (w.gain <= w.intervals(0.05)[:, 1]).all()
    assert test.to_dict()["witness"]["changed"] == "0"
    # to a reference its own gap shrinks, and the gap of the other group stays as it is
    to_one = many.test_lda(decisions, reference=1)
    w, gap = to_one.witness, to_one.evidence.widths[1]
    assert w.changed == 0
    left = w.shares[0] * then[2] + (1 - w.shares[0]) * now[2]
    assert w.gain[4] == pytest.approx(max(gap - abs(left - now[1]), now[2] - left), abs=1e-12)
    assert 0.0 <= w.gain[3] < 0.01


@pytest.mark.parametrize("reference", [None, 0])
def test_bounds_of_a_changed_group_hold_whenever_those_of_the_slacks_do(reference):
    """What is known of slacks when one group's risk falls is true of all risks, and never asks for more."""
    rng = np.random.default_rng(5)
    for _ in range(300):
        now = rng.integers(0, 5, 4) / 4 if rng.random() < 0.5 else rng.random(4)
        changed = int(rng.integers(0, 4))
        gain = np.where(np.arange(4) == changed, rng.normal(), 0.0)
        fan = range_fan(now) if reference is None else reference_fan(now, reference)
        theta = np.concatenate([now, fan.width(now)])
        slack = fan.rooms @ theta + fan.directions @ gain
        widths = np.where(fan.rooms[:, 4:].any(axis=1), fan.rooms[:, 4:].argmax(axis=1), -1)
        moves = np.sign(fan.directions[:, changed]).astype(int)
        np.testing.assert_allclose(known_slacks(slack, widths, moves), slack, atol=1e-12)
        bounds = known_slacks(slack - rng.exponential(size=len(slack)), widths, moves)
        assert (bounds <= slack + 1e-12).all()
        truth = np.append(gain, fan.width(now) - fan.width(now - gain))
        np.testing.assert_allclose(smallest_slacks(slack, widths), truth, atol=1e-12)
        floors = width_floors(fan, changed)
        assert (moves[floors.under] < 0).all()
        assert set(floors.under) == set(np.flatnonzero((moves < 0) & (widths >= 0)))
        lowest = floors.rooms @ theta + floors.nets @ gain
        assert (lowest <= slack[floors.under] + 1e-12).all()
        if reference is None:  # what is left of the risk above that of another group
            above = {round(now[changed] - gain[changed] - now[h], 9) for h in range(4) if h != changed}
            assert above <= {round(value, 9) for value in lowest}
        whole = floors.beside(fan)
        np.testing.assert_allclose(whole.rooms @ theta + whole.directions @ gain, np.append(slack, lowest), atol=1e-12)


def test_the_critical_value_is_that_of_the_decision(ff):
    """What decides is tested at alpha over the number of tests, and the statistic exceeds that if it rejects."""
    decisions, _ = better_off_optimal(ff, share=0.15)
    test = ff.test_lda(decisions)
    for alpha in (0.02, 0.05, 0.1, 0.2, 0.4):
        judged = test.at(alpha)
        k = int(alpha / 3 * (N_BOOT + 1) + 1e-9)
        assert judged.critical_value == pytest.approx(np.sort(test.draws)[N_BOOT - k] + 1e-6)
        assert judged.reject == (test.statistic > judged.critical_value - 2e-6)
    few = test.at(0.009)  # 199 draws reach p-values of 0.01 for two groups
    assert few.critical_value == np.inf
    assert not few.reject
    assert few.to_dict()["critical_value"] is None
    assert few.critical_value_error >= 0.0


def page_of(fitted, decisions, path):
    fitted.report(path, {"in use": decisions})
    return html.unescape(" ".join(re.sub(r"<[^>]+>", "", path.read_text(encoding="utf-8")).split()))


def test_a_report_says_that_rules_see_the_group(ff, tmp_path):
    decisions, worse = better_off_optimal(ff)
    page = page_of(ff, decisions, tmp_path / "report.html")
    assert "other decisions about one group, by a rule based on the covariates used here, would lower its risk" in page
    assert "some rule based on the covariates used here is no worse" not in page
    assert "nothing but the covariates listed below and the group; where they leave decisions as they are now" in page
    share = ff.test_lda(decisions).witness.shares[0]
    assert f"The alternative is {100 * share:.0f}% of the decisions about {worse} by a rule learned" in page
    assert "The alternative is one rule" not in page
    assert "counted as zero in the other group" not in page
    assert "The one that the test found is in the table under the verdict." in page


def test_a_report_of_several_groups_speaks_of_no_cells(three_groups, tmp_path):
    many, _, _, decisions = three_groups
    page = page_of(many, decisions, tmp_path / "report.html")
    assert "Every group was tested by itself" in page
    assert "rules were tested in" not in page
    assert "Risk under the alternative" in page
    share = many.test_lda(decisions).witness.shares[0]
    assert f"The alternative is {100 * share:.0f}% of the decisions about 0 by a rule learned for it" in page
