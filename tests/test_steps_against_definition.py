"""Rules that take steps from the algorithm's decisions: steps, sums, slacks and the test, by plain loops."""

from itertools import product
from math import sqrt

import numpy as np
import pytest
from scipy.stats import chi2, norm
from support.quick import QUICK_LEARNER

from fairfrontier import FairFrontier
from fairfrontier.datasets import make_liu_molinari
from fairfrontier.frontier.criteria import risk_rows
from fairfrontier.frontier.criteria_kernels import FULL_STEP
from fairfrontier.frontier.dependence import SKEWED, step_factor
from fairfrontier.frontier.rule_values import RuleValuer, changed_share, slacks, step
from fairfrontier.inference.fan.cells import cut_cells
from fairfrontier.inference.fan.evidence import default_refinement
from fairfrontier.inference.fan.forms import standing_of
from fairfrontier.inference.fan.robust import fan_test

N_FOLDS = 5


class Cells:
    """Rows of a few people in two or three groups with three repetitions, ties and zeros among the predictions."""

    def __init__(self, seed, *, n=80, n_groups=2, clustered=False, integers=True):
        rng = np.random.default_rng([seed, n_groups, clustered, integers])
        shape = (3, n, n_groups)
        self.t = rng.integers(-2, 3, size=shape) / 2.0 if integers else rng.normal(size=shape)
        self.group = rng.permutation(np.arange(n) % n_groups)
        self.dl, self.weight = rng.choice([-1.0, 1.0, 2.0], n), rng.integers(1, 4, size=n).astype(float)
        self.a = rng.choice([0.0, 0.5, 1.0], n)
        self.clusters = rng.permutation(n) // 3 if clustered else None
        self.folds = np.arange(n) % N_FOLDS if self.clusters is None else self.clusters % N_FOLDS
        t = np.concatenate(self.t)
        self.rows = risk_rows(self.dl**2, self.dl, t, self.group, self.weight, clusters=self.clusters)
        self.fan, self.standing = standing_of(self.rows, self.a, self.folds)
        self.sums = [self.weight[self.group == g].sum() for g in range(n_groups)]

    def scores(self, p):
        """p'vector of every repetition and person: vector_g = (sum of weights / those of g) t_g."""
        total, n_groups = self.weight.sum(), len(self.sums)
        return [
            [sum(p[g] * total / self.sums[g] * t[i][g] for g in range(n_groups)) for i in range(len(self.a))]
            for t in self.t
        ]

    def chances(self, p):
        """Chances (3, n): the better decision with chance |score| / (1.6 x usual size), else the algorithm's."""
        scores = self.scores(p)
        weighted = [(w, abs(s)) for own in scores for w, s in zip(self.weight, own, strict=True)]
        full = FULL_STEP * sum(w * s**2 for w, s in weighted) / sum(w * s for w, s in weighted)

        def chance(s, a):
            better, part = 0.0 if s > 0.0 else 1.0, min(1.0, abs(s) / full)
            return part * better + (1.0 - part) * a

        return np.array([[chance(s, a) for s, a in zip(own, self.a, strict=True)] for own in scores])

    def gain(self, chances):
        """c*_g - c_g of the lottery between the repetitions."""
        moved = self.weight * self.dl * (self.a - chances.mean(axis=0))
        return np.array([moved[self.group == g].sum() / self.sums[g] for g in range(len(self.sums))])

    def units(self):
        return np.arange(len(self.a)) if self.clusters is None else self.clusters

    def variance(self, p, chances):
        """Of p'(c* - c): squared influences by cluster, and what repetitions disagree about."""
        gain, mean = self.gain(chances), chances.mean(axis=0)
        own, noise = {}, {}
        for i, unit in enumerate(self.units()):
            g = self.group[i]
            share = p[g] * self.weight[i] / self.sums[g]
            own[unit] = own.get(unit, 0.0) + share * (self.dl[i] * (self.a[i] - mean[i]) - gain[g])
            apart = sum((c - mean[i]) ** 2 for c in chances[:, i]) / 2
            noise[unit] = noise.get(unit, 0.0) + share * self.dl[i] * sqrt(2 * apart)
        added = SKEWED * (N_FOLDS - 1 + 1 / 3) / 2 * sum(x**2 for x in noise.values())
        return sum(x**2 for x in own.values()) + added

    def unseen(self, p, chances):
        """Squares of twice what a changed unit can lose beyond the mean, summed over the groups."""
        moved, found = (self.a - chances) / 3, 0.0
        low, high = extremes(self.dl, self.weight, self.group)
        for g in range(len(self.sums)):
            fewer, more, stake = {}, {}, {}
            for r, i in product(range(3), np.flatnonzero(self.group == g)):
                share, unit = self.weight[i] / self.sums[g] * abs(moved[r, i]), self.units()[i]
                side = fewer if moved[r, i] > 0.0 else more
                side[unit] = side.get(unit, 0.0) + share
                stake[unit] = stake.get(unit, 0.0) + share * abs(self.dl[i])
            # a unit of average size, where those with more at stake count more
            stakes = sum(stake.values())
            parts = [(x * stake[unit] / stakes, -low if p[g] > 0.0 else high) for unit, x in fewer.items()]
            parts += [(x * stake[unit] / stakes, high if p[g] > 0.0 else -low) for unit, x in more.items()]
            worst = sum(size * loss for size, loss in parts)
            total = sum(fewer.values()) + sum(more.values())
            mean = np.sign(p[g]) * self.gain(chances)[g] / total * sum(size for size, _ in parts)
            found += (2 * abs(p[g]) * max(0.0, mean + worst)) ** 2
        return found


def extremes(values, weight, group):
    """Smallest and largest of all values, and of values times the weight over the group's mean weight by weight."""
    heavy = [
        v * w / ((weight[group == g] ** 2).sum() / weight[group == g].sum())
        for v, w, g in zip(values, weight, group, strict=True)
    ]
    return min(*values, *heavy), max(*values, *heavy)


DIRECTIONS = {
    2: np.array([[1.0, 0.0], [0.3, 0.7], [1.0, -0.4], [-0.2, 1.0]]),
    3: np.array([[1.0, 0.0, 0.0], [0.2, 0.5, 0.3], [0.9, -0.4, 0.1]]),
}


@pytest.mark.kernels
@pytest.mark.parametrize("clustered", [False, True])
@pytest.mark.parametrize("n_groups", [2, 3])
def test_what_changed_units_can_lose_counts_in_the_variance_of_slacks(n_groups, clustered):
    cells, p = Cells(6, n_groups=n_groups, clustered=clustered), DIRECTIONS[n_groups]
    values = RuleValuer(cells.rows, cells.standing, steps=True)(p)
    corners = np.hstack([p, np.zeros((len(p), len(cells.standing.theta) + n_groups))])
    found = slacks(values, cells.standing, np.arange(len(p)), corners)
    for r, own in enumerate(p):
        chances = cells.chances(own)
        expected = cells.variance(own, chances) + cells.unseen(own, chances)
        assert found.error[r] == pytest.approx(np.sqrt(expected), rel=1e-10)


@pytest.mark.parametrize("limited", [False, True])
def test_changes_are_counted_alike_by_sorted_rows_and_one_by_one(limited):
    """Rules without steps of people who are units of their own have sums of columns, others a pass over the rows."""
    rng, n = np.random.default_rng(7), 60
    dl, a, group = rng.choice([-1.0, 9.0], n), rng.choice([0.0, 0.3, 1.0], n), np.arange(n) % 2
    rows = risk_rows(dl**2, dl, rng.normal(size=(n, 2)), group, rng.integers(1, 4, size=n).astype(float))
    standing = standing_of(rows, a, np.arange(n) % N_FOLDS)[1]
    together = rows._replace(capacity=2.0) if limited else rows
    values = RuleValuer(together, standing)(DIRECTIONS[2])
    for r, p in enumerate(DIRECTIONS[2]):
        moved = a - (rows.vectors[np.argsort(rows.row)] @ p < 0.0)
        for g in range(2):
            own = group == g
            share = np.bincount(rows.row, rows.share)[own]
            fewer, more = share * np.maximum(moved[own], 0.0), share * np.maximum(-moved[own], 0.0)
            stake = np.abs(dl[own]) * (fewer + more)
            expected = [(fewer + more).sum(), stake.sum(), stake @ fewer, stake @ more]
            np.testing.assert_allclose(values.changed[r, g], expected, rtol=1e-10)


@pytest.mark.parametrize("m", [3, 5, 20, 40])
def test_few_rows_that_all_gain_show_nothing_if_losses_are_rare_and_large(m):
    """Nine times what is gained may be lost, by one person in ten: nobody of m loses with the chance .9^m."""
    n = 400
    group, dl, a, known = np.repeat([0, 1], n // 2), np.ones(n), np.zeros(n), np.ones(n)
    dl[:100], known[:100] = -1.0, -1.0  # half of the first group is not selected and should be
    dl[200:280], known[200:260], a[200:260] = -9.0, -1.0, 1.0  # most of the second who should be are
    a[-m:] = 1.0  # of the others of that group m are selected: all of them gain by being left out
    t = known[:, None] * (group[:, None] == np.arange(2))
    rows = risk_rows(np.maximum(-dl, 0.0), dl, np.vstack([t] * 3), group, np.ones(n))
    found = fan_test(rows, a, np.arange(n) % N_FOLDS, smallest=1e-9)
    assert found.p_value > min(0.9**m, 0.05)


@pytest.mark.kernels
@pytest.mark.parametrize("integers", [True, False])
@pytest.mark.parametrize("clustered", [False, True])
@pytest.mark.parametrize("n_groups", [2, 3])
def test_gains_and_their_variances_are_those_of_steps(n_groups, clustered, integers):
    cells, p = Cells(2, n_groups=n_groups, clustered=clustered, integers=integers), DIRECTIONS[n_groups]
    values = RuleValuer(cells.rows, cells.standing, steps=True)(p)
    variance = np.einsum("rj,rjk,rk->r", p, values.covariance + values.added, p)
    between = 0
    for r, own in enumerate(p):
        chances = cells.chances(own)
        np.testing.assert_allclose(values.gain[r], cells.gain(chances), rtol=1e-10, atol=1e-14)
        assert variance[r] == pytest.approx(cells.variance(own, chances), rel=1e-10)
        changed = (cells.weight * np.abs(chances - cells.a)).mean(axis=0).sum() / cells.weight.sum()
        moved = step(cells.rows, cells.standing, own)
        assert changed_share(cells.rows, cells.standing, moved) == pytest.approx(changed, rel=1e-10)
        between += ((chances > 0.0) & (chances < 1.0) & (chances != cells.a)).sum()
    assert between > 0  # some decisions move part of the way


def test_nothing_moves_where_nothing_is_predicted():
    cells = Cells(1)
    values = RuleValuer(cells.rows, cells.standing, steps=True)(np.zeros((1, 2)))
    assert not values.gain.any()
    assert not values.added.any()


def test_without_a_change_of_decisions_there_is_no_gain():
    """The best rule of a direction as the algorithm: nothing is left to change in that direction."""
    cells = Cells(3, integers=False)
    cells.t[:] = cells.t[0]  # repetitions agree
    rows = risk_rows(cells.dl**2, cells.dl, np.concatenate(cells.t), cells.group, cells.weight)
    p = np.array([0.4, 0.6])
    best = (np.array(cells.scores(p)[0]) < 0.0) * 1.0
    _, standing = standing_of(rows, best, cells.folds)
    values = RuleValuer(rows, standing, steps=True)(p[None])
    assert not values.gain.any()
    assert changed_share(rows, standing, step(rows, standing, p)) == 0.0


def test_steps_have_the_largest_predicted_gain_in_standard_errors():
    """Of all changes of decisions 0 and 1: the gain is that of the scores, every change counts squared."""
    rng = np.random.default_rng(5)
    score, a = rng.normal(size=200), rng.choice([0.0, 1.0], 200)
    room = np.where(score > 0.0, a, 1.0 - a)
    moved = room * np.abs(score) / np.abs(score).max()

    def t(change):
        return np.abs(score) @ change / np.sqrt(change @ change)

    others = [room, room * (np.abs(score) > 1.0), *(room * rng.random((200, 200)))]
    assert t(moved) > max(t(change) for change in others)


@pytest.mark.parametrize("n_folds", [2, 5, 20])
def test_what_dependent_folds_add_is_what_is_missing_of_averages(n_folds):
    """Scores are averages of the other folds' outcomes, which are coins: the variance of the gain, and what is seen."""
    rng, n, n_rep = np.random.default_rng(n_folds), 200, 3
    gains, held, disagreement = [], [], []
    for _ in range(4000):
        z = rng.choice([-1.0, 1.0], n)
        fold = np.array([rng.permutation(np.arange(n) % n_folds) for _ in range(n_rep)])
        score = np.array([(z.sum() - np.bincount(own, z)[own]) / (n - n / n_folds) for own in fold])
        gains.append(z @ score.mean(axis=0))
        held.append((score.mean(axis=0) ** 2).sum())
        disagreement.append(2.0 * score.var(axis=0, ddof=1).sum())
    missing = np.var(gains) - np.mean(held)
    assert step_factor(n_folds, n_rep) * np.mean(disagreement) == pytest.approx(SKEWED * missing, rel=0.2)


@pytest.mark.parametrize("clustered", [False, True])
def test_the_test_is_the_weakest_slack_of_all_cells(clustered):
    cells = Cells(4, n=150, clustered=clustered, integers=False)
    found = fan_test(cells.rows, cells.a, cells.folds, smallest=1e-3)
    made = cut_cells(cells.rows, cells.standing, cells.fan, default_refinement(cells.fan))
    assert made.steps
    weakest = np.inf
    for rule, corners in zip(made.rules, made.members, strict=True):
        for corner in corners:
            weakest = min(weakest, slacks(made.values, cells.standing, rule, made.corners[corner]).t)
    assert found.statistic == pytest.approx(weakest, rel=1e-12)
    assert found.p_value == pytest.approx(max(norm.sf(weakest), 1e-3), rel=1e-9)
    assert found.direction.sum() <= 1e-12  # of the half circle of directions that can separate
    assert np.hypot(*found.direction) == pytest.approx(1.0)


@pytest.mark.parametrize(("cells", "at_most"), [(1, 0.058), (3, 0.058), (10, 0.052), (50, 0.048)])
def test_sums_of_noise_exceed_the_normal_point_about_as_often_as_they_should(cells, at_most):
    """Of averages in so many cells the sum is chi-squared; its variance is twice, seen and added 1 + `SKEWED` times."""
    excess = norm.isf(0.05) * np.sqrt(cells * (1.0 + SKEWED))
    assert chi2.sf(cells + excess, cells) <= at_most


@pytest.fixture(scope="module")
def fitted():
    X, y, group = make_liu_molinari(800, design="skewed", random_state=3)
    ff = FairFrontier(**QUICK_LEARNER, n_folds=3, n_rep=2, n_boot=99, random_state=1)
    return ff.fit(X, y, sensitive_features=group), (X["x2"] > 0.2).astype(int), (X, y, group)


def test_an_algorithm_with_decisions_is_tested_with_steps(fitted):
    ff, lenient, _ = fitted
    test, fit = ff.test_lda(lenient), ff.fit_
    t = np.concatenate(fit.nuisance.predictions)
    rows = risk_rows(fit.row_losses.l0, fit.row_losses.dl, t, fit.sample.group, fit.sample.weight)
    expected = fan_test(rows, lenient.to_numpy() * 1.0, fit.nuisance.folds[0], smallest=0.01)
    assert (test.statistic, test.p_value) == (expected.statistic, expected.p_value)
    assert test.evidence.share_changed == expected.share_changed
    assert test.reject == (test.statistic > test.critical_value)
    assert test.critical_value == pytest.approx(norm.isf(0.05), abs=0.05)
    shown = [s for s in test.sentences() if "change each decision of the algorithm" in s]
    assert len(shown) == (test.verdict == "lda-shown")


def test_steps_need_decisions_and_several_repetitions(fitted):
    ff, lenient, (X, y, group) = fitted
    assert ff.test_lda(risks=[0.4, 0.45]).evidence.share_changed is None
    assert ff.test_lda(lenient, capacity=0.8).evidence.share_changed is None
    assert ff.test_lda(lenient, method="sharp").evidence.share_changed is not None
    options = QUICK_LEARNER | {"n_folds": 2, "n_boot": 99, "random_state": 1}
    for more, bounds in (({"n_rep": 1}, {}), ({"n_rep": 2}, {"upper": 0.9})):
        other = FairFrontier(**options, **more).fit(X, y, sensitive_features=group, **bounds)
        assert other.test_lda(lenient).evidence.share_changed is None


@pytest.mark.parametrize("clustered", [False, True])
def test_rare_values_of_the_algorithms_own_risks_count_where_they_would_lower_a_slack(clustered):
    """Rare small losses where a risk counts for a slack, rare large ones where it counts against it; gaps likewise."""
    cells = Cells(8, clustered=clustered)
    losses, people = cells.dl**2 + cells.a * cells.dl, range(len(cells.a))
    share = [cells.weight[i] / cells.sums[cells.group[i]] for i in people]
    risk = [sum(share[i] * losses[i] for i in people if cells.group[i] == g) for g in range(2)]
    heavy = [sum(w**2 for w in cells.weight[cells.group == g]) / cells.sums[g] for g in range(2)]
    low, high = [], []
    for i in people:
        g, decided = cells.group[i], (cells.dl[i] ** 2, cells.dl[i] ** 2 + cells.dl[i])
        for off in (value - risk[g] for value in decided):
            low += [off, off * cells.weight[i] / heavy[g]]
            high += [off, off * cells.weight[i] / heavy[g]]
    rare = []
    for g in range(2):
        units = {}
        for i in np.flatnonzero(cells.group == g):
            units[cells.units()[i]] = units.get(cells.units()[i], 0.0) + share[i]
        typical = sum(x**2 for x in units.values())
        rare.append((2 * typical * max(0.0, -min(low)), 2 * typical * max(0.0, max(high))))
    turn = cells.standing.slopes[2, 0]  # the gap, mean over folds, some of which may see it the other way round
    assert cells.standing.slopes[2] == pytest.approx([turn, -turn])
    assert abs(turn) <= 1.0
    for q in ([1.0, 0.0, 0.0], [-0.5, 2.0, 0.0], [0.0, 0.0, 1.0], [0.3, 0.2, -1.0]):
        along = [q[0] + q[2] * turn, q[1] - q[2] * turn]
        expected = [abs(along[g]) * rare[g][0 if along[g] > 0.0 else 1] for g in range(2)]
        assert cells.standing.unseen(np.array(q)) == pytest.approx(expected, rel=1e-10)
