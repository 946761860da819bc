"""Rules summed over rows that go by: their values and the robust test are those of the rows in memory."""

import numpy as np
import pytest

from fairfrontier.frontier.criteria import risk_rows
from fairfrontier.frontier.fan import by_group
from fairfrontier.frontier.rule_sums import BlockRows, Units, fix_rules, kinds_of, no_sums, sum_rows, units_of
from fairfrontier.frontier.rule_sums import standing_by_sums as standing_of_sums
from fairfrontier.frontier.rule_sums import values_by_sums as values_of_sums
from fairfrontier.frontier.rule_values import RuleValuer, slacks
from fairfrontier.frontier.standing import stand
from fairfrontier.inference.fan import robust
from fairfrontier.inference.fan.robust import ManyRows, choose_rules, fan_test, fan_test_by_sums

UNITS = Units(*np.array([[8.0], [4.0], [4.0]]))  # the same for all groups


def people(n=600, *, n_rep=3, n_groups=2, weighted=True, lottery=True, seed=0):
    """Rows as they go by, and decisions about them; predictions of each repetition say something."""
    rng = np.random.default_rng(seed)
    group, y = rng.integers(0, n_groups, n), rng.choice([0.0, 1.0, 1.5], n)
    change = 1.0 - 2.0 * y
    weight = rng.choice([0.5, 1.0, 3.0], n) if weighted else np.ones(n)
    signal = np.where(np.arange(n_groups) == group[:, None], 0.4 * change[:, None], 0.0)
    t = signal + 0.3 * rng.normal(size=(n_rep, n, n_groups))
    decisions = rng.choice([0.0, 0.3, 1.0] if lottery else [0.0, 1.0], n)
    return BlockRows(t, weight, y**2, change, group, 1 + rng.integers(0, 4, n)), decisions


def in_memory(rows, n_groups):
    return risk_rows(rows.base, rows.change, rows.t.reshape(-1, n_groups), rows.group, rows.weight)


def shares_of(rows):
    sums = np.bincount(rows.group, rows.weight)
    return sums / sums.sum()


@pytest.mark.kernels
@pytest.mark.parametrize("n_rep", [1, 2, 3])
@pytest.mark.parametrize("n_groups", [2, 3])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("reference", [None, 1])
def test_values_of_rules_are_those_of_the_rows(n_rep, n_groups, weighted, reference):
    rows, decisions = people(n_rep=n_rep, n_groups=n_groups, weighted=weighted)
    aims, memory = by_group(n_groups, reference), in_memory(rows, n_groups)
    p = np.random.default_rng(1).normal(size=(7, n_groups))
    standing = stand(memory, decisions, aims.widths, rows.fold, kinds=aims.kinds)
    for steps in (False, True):
        rules = fix_rules(p, shares_of(rows), memory, steps=steps)
        sums = sum_rows(rules, rows, decisions, UNITS, 4)
        known = standing_of_sums(sums, UNITS, kinds_of(rows), aims, n_rep)
        for name in ("theta", "covariance", "sizes", "extremes", "rare", "slopes", "factor", "step_factor"):
            assert np.allclose(getattr(known, name), getattr(standing, name), rtol=1e-9, atol=1e-12), name
        found, expected = (
            values_of_sums(rules, sums, UNITS, known, aims),
            RuleValuer(memory, standing, steps=steps)(p),
        )
        for name in ("gain", "covariance", "cross", "added", "changed"):
            assert np.allclose(getattr(found, name), getattr(expected, name), rtol=1e-8, atol=1e-13), name
        assert (expected.added.any() and expected.covariance.any()) or n_rep == 1
        corners = aims.fan(standing.theta).corners[0]
        own = [slacks(v, s, np.arange(len(corners)), corners).t for v, s in ((found, known), (expected, standing))]
        assert np.allclose(*own, rtol=1e-7)


@pytest.mark.parametrize("n_rep", [1, 3])
@pytest.mark.parametrize("lottery", [False, True])
def test_the_robust_test_is_that_of_the_rows(n_rep, lottery):
    rows, decisions = people(n_rep=n_rep, lottery=lottery, seed=3)
    memory = in_memory(rows, 2)
    expected = fan_test(memory, decisions, rows.fold, smallest=1e-3)
    chosen = choose_rules(memory, decisions, rows.fold, times=1.0)
    assert chosen.rules.steps == (n_rep > 1)
    sums = sum_rows(chosen.rules, rows, decisions, UNITS, 4)
    found = fan_test_by_sums(chosen, sums, UNITS, kinds_of(rows), n_rep)
    assert np.isclose(found.statistic, expected.statistic, rtol=1e-7)
    assert np.allclose(found.direction, expected.direction)
    assert 0.5 < abs(expected.statistic) < 100.0
    if n_rep == 1:
        assert found.share_changed is expected.share_changed is None
    else:
        assert np.isclose(found.share_changed, expected.share_changed)


def test_kinds_of_people_are_listed_once_each():
    rows, _ = people(n_groups=3)
    for each in (rows, rows._replace(weight=np.random.default_rng(0).random(600))):
        expected = set(
            zip(*(column.tolist() for column in (each.weight, each.base, each.change, each.group)), strict=True)
        )
        found = list(zip(*(column.tolist() for column in kinds_of(each)), strict=True))
        assert len(found) == len(expected)
        assert set(found) == expected


def test_more_people_need_rules_that_fall_less_short():
    rows, decisions = people(4000, n_rep=3, lottery=False, seed=1)
    best = (rows.t.mean(axis=0)[:, 0] < 0.0).astype(float)
    decisions = np.where(np.random.default_rng(1).random(4000) < 0.03, decisions, best)
    memory = in_memory(rows, 2)
    few, many = (choose_rules(memory, decisions, rows.fold, times=times).cells for times in (1.0, 1e4))
    assert few.finished
    assert many.finished
    assert many.loss <= 1e-3 < few.loss <= 0.1


def test_sums_of_blocks_have_the_same_bits_in_any_order():
    rows, decisions = people(n_rep=2)
    rules = fix_rules(np.random.default_rng(2).normal(size=(5, 2)), shares_of(rows), in_memory(rows, 2), steps=True)
    blocks = [sum_rows(rules, rows.take(at), decisions[at], UNITS, 4) for at in np.split(np.arange(600), [50, 51, 400])]
    forward, apart, late = (no_sums(rules, 4) for _ in range(3))
    for block in blocks:
        forward.add(block)
    for sums, first, second in ((apart, 3, 0), (late, 2, 1)):
        sums.add(blocks[first])
        sums.add(blocks[second])
    apart.add(late)
    assert (forward.rules == apart.rules).all()
    assert (forward.standing == apart.standing).all()
    whole = sum_rows(rules, rows, decisions, UNITS, 4)
    coarse = [one.rules[..., 0] + one.rules[..., 1] / 2.0**30 for one in (whole, apart)]
    assert np.allclose(*coarse, rtol=1e-12, atol=1e-6)


def test_tiny_and_large_losses_of_groups_are_summed_to_the_same_precision():
    rows, decisions = people(n_rep=1)
    times = np.where(rows.group == 0, 1e-9, 1.0)  # one group has much less at stake, the other much less weight
    small = rows._replace(base=times * rows.base, change=times * rows.change, t=rows.t * [1e-9, 1.0])
    small = small._replace(weight=small.weight * np.where(rows.group == 0, 1.0, 1e-9))
    units, aims, memory = units_of(kinds_of(small)), by_group(2), in_memory(small, 2)
    rules = fix_rules(np.array([[-1e9, -0.4e-9]]), shares_of(small), memory, steps=False)
    sums = sum_rows(rules, small, decisions, units, 4)
    known = standing_of_sums(sums, units, kinds_of(small), aims, 1)
    standing = stand(memory, decisions, aims.widths, small.fold, kinds=aims.kinds)
    found, expected = values_of_sums(rules, sums, units, known, aims), RuleValuer(memory, standing)(rules.directions)
    assert np.allclose(np.diag(known.covariance)[:2], np.diag(standing.covariance)[:2], rtol=1e-6, atol=0.0)
    for name in ("gain", "covariance"):
        ours, theirs = (getattr(each, name)[0] for each in (found, expected))
        assert np.diag(np.atleast_2d(theirs)).all()
        assert np.allclose(ours, theirs, rtol=1e-6, atol=0.0)


def test_no_variance_is_too_small_by_rounding():
    rows, decisions = people(n_rep=1)
    times = np.where(np.arange(600) < 2, 1e12, 1.0)  # two people, whom the rule leaves alone, have enormous losses
    few = rows._replace(base=times * rows.base, change=times * rows.change)
    few = few._replace(t=np.where(np.arange(600)[:, None] < 2, np.where(decisions[:, None] > 0.5, 1.0, -1.0), rows.t))
    units, aims, memory = units_of(kinds_of(few)), by_group(2), in_memory(few, 2)
    rules = fix_rules(np.array([[-1.0, -0.4]]), shares_of(rows), memory, steps=False)
    sums = sum_rows(rules, few, decisions, units, 4)
    known = standing_of_sums(sums, units, kinds_of(few), aims, 1)
    standing = stand(memory, decisions, aims.widths, few.fold, kinds=aims.kinds)
    found, expected = (
        np.diagonal(each.covariance[0])
        for each in (values_of_sums(rules, sums, units, known, aims), RuleValuer(memory, standing)(rules.directions))
    )
    assert (found > 0.0).all()
    assert (found >= 0.999 * expected).all()


def test_some_of_many_people_choose_and_all_are_summed(monkeypatch):
    rows, decisions = people(6000, n_rep=1, lottery=False, seed=5)
    rows = rows._replace(group=(np.arange(6000) % 150 == 0).astype(int))  # the second group has 40 people
    seed = np.random.SeedSequence(0)
    whole = ManyRows(rows, seed).test(decisions)
    expected = fan_test(in_memory(rows, 2), decisions, rows.fold, smallest=1e-3)
    assert np.isclose(whole.statistic, expected.statistic, rtol=1e-7)
    monkeypatch.setattr(robust, "CHOOSING_ROWS", 2000)
    monkeypatch.setattr(robust, "SMALL_GROUP", 30)
    monkeypatch.setattr(robust, "BLOCK", 700)
    some, times = robust.people_for_choosing(rows.group, seed)
    assert np.bincount(rows.group[some]).tolist() == [1986, 30]
    assert np.allclose(np.bincount(rows.group[some], times), [5960, 40])
    by_some = ManyRows(rows, seed).test(decisions)
    # other rules, the same people
    assert by_some.statistic != whole.statistic
    assert np.isclose(by_some.statistic, whole.statistic, rtol=0.3)
