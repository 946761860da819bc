"""Rules that see the group: the attainable risks are the box, and with a capacity the set, that theory demands."""

import numpy as np
import pytest
from scipy.optimize import linprog
from support.populations import discrete_population

from fairfrontier import FairFrontier
from fairfrontier.errors import FewDrawsWarning
from fairfrontier.frontier.box import box_of
from fairfrontier.frontier.rule_class import GroupAware
from fairfrontier.inference.ban.estimates import two_sides
from fairfrontier.inference.estimates import drawn
from fairfrontier.report.planes import picture, slider

SEEDS = range(4)


def aware(population, **options):
    """Fit rules that see the group to a population whose functions are known."""
    frontier = FairFrontier(rules="group-aware", n_boot=19, random_state=0, **options)
    return population.fit(frontier, population.within)


def box(population):
    """Smallest and largest risk of each group, cell by cell, first group last label."""
    low, high = [], []
    for g in sorted(set(population.group), reverse=True):
        own = population.group == g
        total, smallest, largest = population.weight[own].sum(), 0.0, 0.0
        for x in set(population.x[own]):
            cell = own & (population.x == x)
            ones = population.weight[cell & (population.y == 1)].sum()
            zeros = population.weight[cell & (population.y == 0)].sum()
            smallest, largest = smallest + min(ones, zeros), largest + max(ones, zeros)
        low.append(smallest / total)
        high.append(largest / total)
    return np.array(low), np.array(high)


@pytest.mark.parametrize("empty", [False, True])
@pytest.mark.parametrize("seed", SEEDS)
def test_the_set_is_the_box_of_theory(seed, empty):
    population = discrete_population(seed, empty=empty)
    ff, (low, high) = aware(population), box(population)
    vertices = ff.feasible_set().vertices
    assert len(vertices) == 4
    np.testing.assert_allclose(vertices.min(axis=0), low, rtol=0, atol=1e-10)
    np.testing.assert_allclose(vertices.max(axis=0), high, rtol=0, atol=1e-10)
    R, B, F = ff.points_.to_numpy()[:, :2]
    np.testing.assert_allclose([R, B], [low, low], rtol=0, atol=1e-10)
    worse = int(np.argmax(low))
    fair = low.copy()
    fair[1 - worse] = min(low[worse], high[1 - worse])
    np.testing.assert_allclose(F, fair, rtol=0, atol=1e-10)
    assert ff.configuration_ == f"{ff.groups_[1 - worse]}-skewed"
    curve = ff.frontier(n_points=5).points
    ends = curve[[0, -1]] if worse == 1 else curve[[-1, 0]]
    np.testing.assert_allclose(ends, [low, fair], rtol=0, atol=1e-10)
    np.testing.assert_allclose(ff.support_set([[-1, 0], [0, -1], [-1, -2]]), [low] * 3, rtol=0, atol=1e-10)


@pytest.mark.filterwarnings("ignore::fairfrontier.errors.MarginWarning")  # of the rules that do not see the group
@pytest.mark.parametrize("seed", SEEDS)
def test_the_set_contains_that_of_rules_without_the_group(seed):
    population = discrete_population(seed)
    blind = population.fit(FairFrontier(n_boot=19, random_state=0), population.share * population.within)
    q = np.column_stack([np.cos(np.arange(24)), np.sin(np.arange(24))])
    assert (aware(population).support(q) >= blind.support(q) - 1e-12).all()


@pytest.mark.parametrize("capacity", [0.05, 0.3, 0.6])
@pytest.mark.parametrize("seed", SEEDS)
def test_with_a_capacity_it_is_a_linear_programme(seed, capacity):
    population = discrete_population(seed)
    ff = aware(population)
    sums = np.array([population.weight[population.group == g].sum() for g in (1, 0)])
    code = np.where(population.group == 1, 0, 1)
    cells = sorted({(x, c) for x, c in zip(population.x, code, strict=True)})
    mass = np.array([population.weight[(population.x == x) & (code == c)].sum() for x, c in cells])
    dl = 1.0 - 2.0 * population.y
    change = np.array([(population.weight * dl)[(population.x == x) & (code == c)].sum() / sums[c] for x, c in cells])
    base = np.array([(population.weight * population.y)[code == c].sum() / sums[c] for c in (0, 1)])
    groups = np.array([c for _, c in cells])
    function = ff.fit_.function(capacity)
    for q in [(-1.0, 0.0), (0.0, -1.0), (-1.0, -1.0), (-0.3, -0.9), (0.6, -0.8), (-0.7, 0.7), (0.5, 0.5)]:
        found = linprog(
            -np.array(q)[groups] * change,
            A_ub=mass[None] / mass.sum(),
            b_ub=[capacity],
            bounds=(0.0, 1.0),
            method="highs",
        )
        best = np.dot(q, base) - found.fun
        assert function.estimate.h(np.array([q]))[0] == pytest.approx(best, abs=1e-8)
    # the whole set, by its smallest risks
    low = ff.feasible_set(capacity=capacity).vertices.min(axis=0)
    for g in (0, 1):
        own = groups == g
        found = linprog(
            np.where(own, change, 0.0), A_ub=mass[None] / mass.sum(), b_ub=[capacity], bounds=(0.0, 1.0), method="highs"
        )
        assert low[g] == pytest.approx(base[g] + found.fun, abs=1e-8)


def test_ties_at_the_axes_go_to_the_other_groups_optimum_with_a_capacity():
    population = discrete_population(1)
    ff, (low, _) = aware(population), box(population)
    at = ff.fit_.function(0.999).estimate.support_set(np.array([[-1.0, 0.0], [0.0, -1.0]]))
    np.testing.assert_allclose(at, [low, low], rtol=0, atol=1e-10)


def test_predictions_for_other_groups_are_not_used():
    population = discrete_population(2)
    codes = np.where(population.group == 1, 0, 1)
    nothing = np.where(np.arange(2) == codes[:, None], population.within, np.nan)
    one, other = (
        aware(population),
        population.fit(FairFrontier(rules="group-aware", n_boot=19, random_state=0), nothing),
    )
    np.testing.assert_array_equal(one.feasible_set().vertices, other.feasible_set().vertices)


@pytest.mark.filterwarnings("ignore::fairfrontier.errors.WeakLearnerWarning")
@pytest.mark.parametrize("seed", SEEDS)
def test_the_fairest_point_stays_in_the_box_where_predictions_disagree(seed):
    """Predictions with the right sign and far too small for one group: it looks worse off by them, and is not."""
    population = discrete_population(seed)
    low, high = box(population)
    better = int(np.argmin(low))
    small = population.within * np.where(np.arange(2) == better, 1e-3, 1.0)
    ff = population.fit(FairFrontier(rules="group-aware", n_boot=99, random_state=0), small)
    plug_low = box_of(ff.fit_.plane().function.plug_in())[0]
    R, _, F = ff.points_.to_numpy()[:, :2]
    np.testing.assert_allclose(R, low, rtol=0, atol=1e-10)
    assert (low - 1e-10 <= F).all()
    assert (high + 1e-10 >= F).all()
    assert ff.configuration_ == f"{ff.groups_[int(plug_low[1] < plug_low[0])]}-skewed"
    curve = ff.frontier(n_points=3).points
    assert (curve >= low - 1e-10).all()
    names, _, seeing = two_sides(ff.fit_, (population.share * population.within)[None], small[None])
    fair = seeing.risks[names.index("fairest")]
    assert (fair >= low - 1e-10).all()
    assert (fair <= high + 1e-10).all()
    assert plug_low[better] > plug_low[1 - better]


def test_a_group_that_does_not_count_is_decided_about_as_is_best_for_it():
    q = np.array([[-1.0, 0.0], [-1.0, 1.2e-16], [0.0, -2.0], [-0.6, -0.8], [0.8, -0.6]])
    expected = np.array([[-1.0, -1e-9], [-1.0, -1e-9], [-2e-9, -2.0], [-0.6, -0.8], [0.8, -0.6]])
    np.testing.assert_array_equal(GroupAware().direction(q), expected)
    ff = aware(discrete_population(0))
    steps = slider(ff, ff.support_function_)
    assert len({step.selection_rate for step in steps}) == 1
    assert min(steps[0].selection_rate) > 0.0


@pytest.mark.parametrize("seed", SEEDS)
def test_selection_rates_on_the_edge_are_those_of_its_lotteries(seed):
    population = discrete_population(seed)
    ff = aware(population)
    low, high = box(population)
    own = population.within[np.arange(len(population.y)), 1 - population.group]
    for point in picture(ff.support_function_, drawn(ff.fit_), None).frontier:
        for k, label in enumerate((1, 0)):
            member = population.group == label
            best, worst = (np.average(sign[member], weights=population.weight[member]) for sign in (own < 0, own > 0))
            share = (point.risk[k] - low[k]) / (high[k] - low[k])
            assert point.selection_rate[k] == pytest.approx((1.0 - share) * best + share * worst, abs=1e-6)


def test_too_few_draws_count_the_groups():
    for n_groups in (2, 3):
        population = discrete_population(0, n_groups=n_groups)
        ff = population.fit(FairFrontier(rules="group-aware", n_boot=99, random_state=0), population.within)
        several = {"all": np.ones(len(population.y)), "none": np.zeros(len(population.y)), "best": population.y}
        with pytest.warns(FewDrawsWarning, match=f"99 draws are too few for {3 * (n_groups + 1)} tests"):
            ff.test_lda(several)
