"""The fan of weights, values of rules and cells, against plain transcriptions and linear programmes."""

from math import comb

import numpy as np
import pytest
from support.fan_cases import (
    ZERO,
    draw_algorithm,
    generators,
    largest_smallest_slack,
    make_population,
    one_case,
    smallest_slack_of_cells,
)

from fairfrontier.frontier.criteria import risk_rows
from fairfrontier.frontier.fan import range_fan, reference_fan
from fairfrontier.frontier.rule_values import RuleValuer, slacks
from fairfrontier.frontier.standing import stand
from fairfrontier.inference.fan.cells import Refinement, cut_cells
from fairfrontier.inference.fan.forms import direction_forms, standing_of
from fairfrontier.inference.fan.menu import group_menu

SIZES = [2, 3, 4, 5]


def some_criteria(n, kind):
    rng = np.random.default_rng(n)
    return {
        "distinct": rng.random(n),
        "tied at the top": np.minimum(rng.random(n), 0.3),
        "zero range": np.full(n, 0.25),
    }[kind]


@pytest.mark.parametrize("n", SIZES)
def test_number_of_cones(n):
    criteria = some_criteria(n, "distinct")
    assert len(range_fan(criteria).cones) == comb(2 * n - 1, n - 1)
    assert len(reference_fan(criteria, 0).cones) == 2 ** (n - 1) + (n - 1) * 2 ** (n - 2)


@pytest.mark.parametrize("reference", [None, 1])
@pytest.mark.parametrize("kind", ["distinct", "tied at the top", "zero range"])
@pytest.mark.parametrize("n", SIZES)
def test_fan_covers_all_weights_with_the_least_slack(n, kind, reference):
    criteria = some_criteria(n, kind)
    wrong_order = criteria[::-1]
    p, room = generators(criteria, reference)
    rng = np.random.default_rng(n)
    weights = np.where(rng.random((25, len(p))) < 0.4, rng.exponential(size=(25, len(p))), 0.0)
    for order in (criteria, wrong_order):
        fan = range_fan(order) if reference is None else reference_fan(order, reference)
        theta = np.concatenate([criteria, fan.width(criteria)])
        rooms = fan.rooms @ theta
        assert (rooms >= -1e-12).all()
        for lam in weights:
            net = lam @ p
            if np.abs(net).max() < 1e-9:
                continue
            within = [
                (own, cone) for cone in fan.cones if (own := np.linalg.solve(fan.directions[cone].T, net)).min() > -1e-9
            ]
            assert within  # some cone contains the net weights
            least = min(own @ rooms[cone] for own, cone in within)
            if order is criteria:
                assert least <= lam @ room + 1e-9
                assert np.ptp([own @ rooms[cone] for own, cone in within]) < 1e-9
            else:  # the order of other criteria only adds slack
                right = range_fan(criteria) if reference is None else reference_fan(criteria, reference)
                of_right = right.rooms @ theta
                true = min(
                    own @ of_right[cone]
                    for cone in right.cones
                    if (own := np.linalg.solve(right.directions[cone].T, net)).min() > -1e-9
                )
                assert least >= true - 1e-9


def some_rows(n, n_groups, seed, *, clustered=False, bounded=False, weighted=False, tied=False):
    rng = np.random.default_rng(seed)
    group = rng.permutation(np.arange(n) % n_groups)
    group[: n // 3] = 0
    y = (rng.random(n) < 0.4).astype(float)
    t = rng.normal(size=(n, n_groups)) / n_groups
    if tied:
        t = np.round(t)
    weight = rng.exponential(size=n) if weighted else np.ones(n)
    clusters = np.unique(rng.integers(0, n // 2, n), return_inverse=True)[1] if clustered else None
    lower, upper = (rng.random(n) * 0.3, 1.0 - rng.random(n) * 0.3) if bounded else (None, None)
    rows = risk_rows(y, 1.0 - 2.0 * y, t, group, weight, clusters=clusters, lower=lower, upper=upper)
    decisions = rng.random(n) if bounded else (rng.random(n) < 0.5).astype(float)
    folds = (rng.integers(0, 3, n) if clusters is None else rng.integers(0, 3, n)[clusters]) + 1
    return rows, decisions, folds, (y, t, group, weight, clusters, lower, upper)


def mean(values, weight):
    return (weight * values).sum() / weight.sum()


def plain_theta(decisions, folds, widths, y, group, weight):
    """Risks, and widths by the difference that is largest on the other folds."""
    loss, n_groups = y + decisions * (1 - 2 * y), group.max() + 1
    risks = [mean(loss[group == g], weight[group == g]) for g in range(n_groups)]
    found = []
    for pairs in widths:
        total = 0.0
        for fold in np.unique(folds):
            inside, outside = folds == fold, folds != fold
            own = {g: mean(loss[inside & (group == g)], weight[inside & (group == g)]) for g in range(n_groups)}
            rest = {g: mean(loss[outside & (group == g)], weight[outside & (group == g)]) for g in range(n_groups)}
            g, h = max(pairs, key=lambda pair: rest[pair[0]] - rest[pair[1]])
            total += weight[inside].sum() / weight.sum() * (own[g] - own[h])
        found.append(total)
    return np.array([*risks, *found])


CASES = [
    {},
    {"tied": True},
    {"weighted": True},
    {"weighted": True, "bounded": True},
    {"clustered": True},
    {"clustered": True, "weighted": True, "bounded": True, "tied": True},
]


@pytest.mark.kernels
@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("reference", [None, 0])
def test_slacks_against_plain_sums(case, reference, monkeypatch):
    for module in ("rule_values", "standing"):  # what may be lost has tests of its own
        monkeypatch.setattr(f"fairfrontier.frontier.{module}.UNSEEN", 0.0)
    n, n_groups = 60, 3
    rows, decisions, folds, (y, t, group, weight, clusters, lower, upper) = some_rows(n, n_groups, 5, **case)
    criteria = some_criteria(n_groups, "distinct")
    fan = range_fan(criteria) if reference is None else reference_fan(criteria, reference)
    standing = stand(rows, decisions, fan.widths, folds)
    theta = plain_theta(decisions, folds, fan.widths, y, group, weight)
    assert np.allclose(standing.theta, theta, atol=1e-12)
    rng = np.random.default_rng(1)
    corners = rng.dirichlet(np.ones(n_groups), len(fan.cones))[:, None, :] @ fan.corners
    corners = corners[:, 0]
    values = RuleValuer(rows, standing, n_jobs=2)(corners[:, :n_groups])
    found = slacks(values, standing, np.arange(len(corners)), corners)
    low = np.zeros(n) if lower is None else lower
    high = np.ones(n) if upper is None else upper
    mu = np.array([weight[group == g].sum() for g in range(n_groups)]) / weight.sum()

    def slack(at, unit_weight, rule):
        """Everything estimated with other weights of the rows, the rule and the chosen pairs held."""
        w = weight * unit_weight
        loss, other = y + decisions * (1 - 2 * y), y + rule * (1 - 2 * y)
        own = np.array([mean(loss[group == g], w[group == g]) for g in range(n_groups)])
        new = np.array([mean(other[group == g], w[group == g]) for g in range(n_groups)])
        width = []
        for pairs in fan.widths:
            total = 0.0
            for fold in np.unique(folds):
                outside = folds != fold
                rest = {g: mean(loss[outside & (group == g)], weight[outside & (group == g)]) for g in range(n_groups)}
                g, h = max(pairs, key=lambda pair: rest[pair[0]] - rest[pair[1]])
                inside = folds == fold
                part = [mean(loss[inside & (group == k)], w[inside & (group == k)]) for k in (g, h)]
                total += weight[inside].sum() / weight.sum() * (part[0] - part[1])
            width.append(total)
        p, q = at[:n_groups], at[n_groups:-n_groups]  # no ratio, so nothing turns
        return p @ (own - new) + q @ np.concatenate([own, width])

    units = np.arange(n) if clusters is None else clusters
    for k in rng.choice(len(corners), 2, replace=False):
        p = corners[k, :n_groups]
        rule = np.where(t @ (p / mu) < 0.0, high, low)
        assert slack(corners[k], np.ones(n), rule) == pytest.approx(found.value[k], abs=1e-12)
        # variance: the sum over units of squared derivatives of the slack by the unit's weight
        step, variance = 1e-5, 0.0
        for u in np.unique(units):
            up, down = (slack(corners[k], 1.0 + s * step * (units == u), rule) for s in (1, -1))
            variance += ((up - down) / (2 * step)) ** 2
        assert np.sqrt(variance) == pytest.approx(found.error[k], rel=1e-6)
        predicted = (weight / weight.sum() * (decisions - rule)) @ (t / mu)
        assert np.allclose(values.predicted[k], predicted, atol=1e-12)


def test_a_fold_without_a_group_leaves_its_pairs_out():
    rows, decisions, folds, (y, _, group, _, _, _, _) = some_rows(90, 3, 2)
    folds = np.where(group == 2, 1, np.where(folds == 1, 2, folds))  # fold 1 has group 2 alone, which is nowhere else
    fan = range_fan(some_criteria(3, "distinct"))
    standing = stand(rows, decisions, fan.widths, folds)
    loss, total = y + decisions * (1 - 2 * y), 0.0
    for fold in np.unique(folds[group != 2]):
        inside = (folds == fold) & (group != 2)
        outside = (folds != fold) & (group != 2)
        sign = np.sign(loss[outside & (group == 0)].mean() - loss[outside & (group == 1)].mean())
        difference = loss[inside & (group == 0)].mean() - loss[inside & (group == 1)].mean()
        total += inside.sum() / len(group) * sign * difference
    assert standing.theta[-1] == pytest.approx(total, abs=1e-12)


@pytest.mark.parametrize("n_groups", [2, 3, 4])
def test_cells_fill_their_cones_and_are_tested_at_all_corners(n_groups):
    rows, decisions, folds, _ = some_rows(200, n_groups, 3)
    fan = range_fan(some_criteria(n_groups, "distinct"))
    standing = stand(rows, decisions, fan.widths, folds)
    cells = cut_cells(rows, standing, fan, Refinement(300, loss=0.01, band=3.0, hopeless=-np.inf))
    assert len(cells.values) <= 300
    assert len(cells.rules) > len(fan.cones)
    p = cells.corners[:, :n_groups]
    # volumes of cells (in weights of sum one on the generators of a cone) add up to those of the cones
    volume = np.abs(np.linalg.det(p[cells.members])).sum()
    assert volume == pytest.approx(np.abs(np.linalg.det(fan.directions[fan.cones])).sum(), rel=1e-9)
    found = cells.slacks()
    for k in (0, len(cells.rules) - 1):
        for j in range(n_groups):
            at = cells.corners[cells.members[k, j]]
            gain = cells.values.gain[cells.rules[k]]
            assert found.value[k, j] == pytest.approx(at[:n_groups] @ gain + at[n_groups:-n_groups] @ standing.theta)
    assert (cells.own_slacks(predicted=True).t >= -1e-9).all() or standing.theta[-1] < np.ptp(standing.theta[:-1])


def test_cells_do_not_depend_on_threads():
    rows, decisions, folds, _ = some_rows(200, 3, 3)
    fan = range_fan(some_criteria(3, "distinct"))
    standing = stand(rows, decisions, fan.widths, folds)
    one, two = (cut_cells(rows, standing, fan, Refinement(200), n_jobs) for n_jobs in (1, 2))
    assert np.array_equal(one.slacks().t, two.slacks().t)


@pytest.mark.parametrize("reference", [None, 1])
def test_existence_within_a_capacity_against_linear_programmes(reference):
    """Where a programme finds no rule within the capacity, some cell shows none; where it finds one, all corners do."""
    nulls, shown = 0, 0
    for number in range(40):
        rng = np.random.default_rng([23, number])
        population, capacity = make_population(rng, 3), float(rng.choice([0.2, 0.4, 0.6]))
        best = draw_algorithm(rng, population, 0, reference)
        best *= min(1.0, capacity / max(population.mass @ best, 1e-9))  # within the capacity
        a = best if number % 3 == 0 else np.where(rng.random(len(best)) < 0.4, rng.random(len(best)), best)
        value = largest_smallest_slack(population, a, capacity, reference)
        cells, own = smallest_slack_of_cells(population, a, reference, budget=600, capacity=capacity)
        assert cells <= own + 1e-9
        if value <= 1e-9:
            nulls += 1
            assert cells <= 1e-9
        elif value > 1e-6:
            shown += 1
            assert own > 0.0
    assert min(nulls, shown) >= 10


def plain_cutoff(k, mass, capacity):
    """Chances of selection, the largest k first until the capacity is full; those tied share what is left."""
    chances, room = np.zeros(len(k)), capacity
    for value in np.unique(k)[::-1]:
        if value <= 0.0 or room <= 0.0:
            break
        tied = k == value
        chances[tied] = min(1.0, room / mass[tied].sum())
        room -= mass[tied].sum()
    return chances


@pytest.mark.parametrize("case", [{}, {"clustered": True, "weighted": True, "tied": True}], ids=str)
def test_values_of_rules_within_a_capacity_by_loops(case):
    n, n_groups, capacity = 120, 3, 0.1
    rows, decisions, folds, (y, t, group, weight, clusters, _, _) = some_rows(n, n_groups, 5, **case)
    rows = rows._replace(capacity=capacity)
    fan, standing = standing_of(rows, decisions, folds)
    p = np.vstack([np.eye(n_groups), [[0.4, 0.3, -0.2], [1.0, 1.0, 1.0]]])
    values = RuleValuer(rows, standing, n_jobs=2)(p)
    mu = np.array([weight[group == g].sum() for g in range(n_groups)]) / weight.sum()
    units = np.arange(n) if clusters is None else clusters
    forms, covariance = direction_forms(rows, standing, p)
    menu = group_menu(rows, fan, standing, p, n_draws=99, seed=np.random.SeedSequence(1))
    assert (rows.cutoffs(p)[:, 0] > 0.0).sum() >= 2  # where the capacity is full
    for r, direction in enumerate(p):
        chances = plain_cutoff(-(t @ (direction / mu)).round(12), weight / weight.sum(), capacity)
        gain = (1 - 2 * y) * (decisions - chances)
        means = np.array([np.average(gain[group == g], weights=weight[group == g]) for g in range(n_groups)])
        np.testing.assert_allclose(values.gain[r], means, atol=1e-10)
        own = np.zeros((units.max() + 1, n_groups))
        np.add.at(own, (units, group), weight * (gain - means[group]) / (mu * weight.sum())[group])
        np.testing.assert_allclose(values.covariance[r], own.T @ own, rtol=1e-8, atol=1e-15)
        assert forms[r] == pytest.approx(direction @ means, abs=1e-10)
        assert covariance[r, r] == pytest.approx(direction @ (own.T @ own) @ direction, rel=1e-8)
        np.testing.assert_allclose(menu.forms[r, :n_groups], means, atol=1e-10)
        assert np.average(chances, weights=weight) <= capacity + 1e-9
        rates = [np.average(chances[group == g], weights=weight[group == g]) for g in range(n_groups)]
        np.testing.assert_allclose(menu.selection_rates[r], rates, atol=1e-10)


@pytest.mark.parametrize("start", range(0, 24, 8))
def test_existence_against_linear_programmes(start):
    cases = [one_case(number) for number in range(start, start + 8)]
    for case in cases:
        assert (case["cells"] > ZERO) == (case["programme"] > ZERO), case
        assert case["own"] >= case["programme"] - ZERO, case  # corners are weights, and the programme has the least
        assert (case["cells"] <= ZERO) or case["improvement"] > ZERO, case
