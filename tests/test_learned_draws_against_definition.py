"""Draws that allow for learned rules, against plain transcriptions: regret and fold noise read off the repetitions."""

import numpy as np
import pytest
from support.hostile import useless

from fairfrontier import FairFrontier
from fairfrontier.bootstrap.draws import DrawingContext
from fairfrontier.bootstrap.weights import RandomWeights
from fairfrontier.frontier.dependence import added_variance, disagreement_factor
from fairfrontier.frontier.plane import unit_circle
from fairfrontier.frontier.regret import GRID, regret_of_repetitions
from fairfrontier.frontier.support import build_support_function, make_scores, stack_repetitions
from fairfrontier.inference.bands import SupportBand, standard_errors
from fairfrontier.inference.best_points import best_point_tests
from fairfrontier.inference.distance.crossing import drawn_shares
from fairfrontier.inference.distance.estimates import fairest_evidence
from fairfrontier.inference.learned import allows_for_learning, correct, draw_learned
from fairfrontier.inference.points import frontier_process, point_tests
from fairfrontier.inference.skew_gaps import skew_gaps

B, SEED = 99, np.random.SeedSequence(3)
GRID_AT = np.array([0, 97, 180, 333, 540, 701])


def sample(seed, n=40, n_rep=3, kind="plain"):
    """Scores of every repetition: ordinary ones, with ties and zeros, or with clusters and weights."""
    rng = np.random.default_rng(seed)
    y, group = (rng.random(n) < 0.5).astype(float), np.arange(n) % 2
    pairs = rng.normal(size=(n_rep, n, 2)) * 0.2 + rng.normal(size=(n, 2)) * 0.3
    more, weight = {}, np.ones(n)
    if kind == "ties":
        pairs = np.round(pairs * 4) / 4  # zeros, equal pairs, and repetitions that agree about many rows
        pairs[1] = pairs[0]
    if kind == "clusters":
        weight, more = rng.random(n) + 0.3, {"clusters": np.sort(rng.integers(0, n // 3, n))}
        more["clusters"] = np.unique(more["clusters"], return_inverse=True)[1]
    return [make_scores(y, 1.0 - 2.0 * y, t, group, weight, **more) for t in pairs]


def context_of(scores, n_folds=5, n_boot=B):
    return DrawingContext(build_support_function(stack_repetitions(scores)), n_boot, SEED, 1, None, n_folds)


def shares(scores, w):
    sums = np.array([(w * scores.weight)[scores.group == g].sum() for g in (0, 1)])
    return sums / sums.sum(), sums


def value(scores, q, w, held=None):
    """q'e of the rule of q under random weights: the rule follows the shares of the draw unless it is held."""
    mu, sums = shares(scores, w)
    selected = scores.t @ (q / (mu if held is None else held)) > 0.0
    losses = scores.l0 + scores.dl * selected
    return sum(q[g] * (w * scores.weight * losses)[scores.group == g].sum() / sums[g] for g in (0, 1))


def weights_of(scores, b):
    n = len(scores.l0)
    unit = np.arange(n) if scores.clusters is None else scores.clusters
    return RandomWeights(SEED, int(unit.max()) + 1).stream().draw(b)[unit]


@pytest.mark.parametrize("kind", ["plain", "ties", "clusters"])
@pytest.mark.parametrize("n_rep", [2, 3, 4])
def test_the_regret_of_repetitions(kind, n_rep):
    scores, folds = sample(n_rep, n_rep=n_rep, kind=kind), 5
    found = regret_of_repetitions(build_support_function(stack_repetitions(scores)), folds)
    mu, q = shares(scores[0], 1.0)[0], unit_circle(GRID)[GRID_AT]
    for at, sign in enumerate((1.0, -1.0)):
        expected = np.zeros(len(q))
        for r, own in enumerate(scores):
            after, later = scores[(r + 1) % n_rep].t, scores[(r + 2) % n_rep].t
            other = own.t + sign * np.sqrt(folds / 2) * (after - later)
            for k, direction in enumerate(q):
                best, there = (t @ (direction / mu) for t in (own.t, other))
                lost = (own.t @ (direction / mu)) * ((best > 0.0).astype(float) - (there > 0.0))
                expected[k] += np.average(lost, weights=own.weight) / n_rep
        np.testing.assert_allclose(found.values(q)[at], expected, atol=1e-12)
        assert expected.min() >= -1e-15


@pytest.mark.parametrize("hold_rules", [False, True])
@pytest.mark.parametrize("kind", ["plain", "ties", "clusters"])
def test_draws_have_the_noise_of_folds(kind, hold_rules):
    scores, q = sample(1, kind=kind), unit_circle(9, 0.2)
    found = draw_learned(context_of(scores), q, hold_rules=hold_rules)
    held = shares(scores[0], 1.0)[0] if hold_rules else None
    ones, pairs = np.ones(len(scores[0].l0)), [(0, 1), (0, 2), (1, 2)]
    rho = disagreement_factor(5)
    for k, direction in enumerate(q):
        hat = [value(s, direction, ones, held) for s in scores]
        np.testing.assert_allclose(found.h_hat[k], np.mean(hat), atol=1e-12)
        for b in range(0, B, 9):
            w, w_next = weights_of(scores[0], b).copy(), weights_of(scores[0], (b + 1) % B).copy()
            r, s = pairs[b % 3]
            turned = [value(each, direction, w_next, held) - own for each, own in zip(scores, hat, strict=True)]
            expected = np.mean([value(s, direction, w, held) for s in scores]) + np.sqrt(rho) * (turned[r] - turned[s])
            np.testing.assert_allclose(found.h[b, k], expected, atol=1e-12)


@pytest.mark.parametrize("kind", ["plain", "clusters"])
def test_the_noise_has_the_variance_that_folds_add(kind):
    scores, q = sample(8, n=300, kind=kind), unit_circle(6, 0.3)
    context = context_of(scores, n_boot=3000)
    noise = draw_learned(context, q, hold_rules=True).z_h() - context.draw(q, hold_rules=True).z_h()
    expected, mu = np.zeros(len(q)), shares(scores[0], 1.0)[0]
    unit = np.arange(300) if scores[0].clusters is None else scores[0].clusters
    for k, direction in enumerate(q):
        for r, t in ((0, 1), (0, 2), (1, 2)):
            one, other = (s.t @ (direction / mu) > 0.0 for s in (scores[r], scores[t]))
            own = scores[0]
            moved = (direction / shares(own, 1.0)[1])[own.group] * own.weight * own.dl * (one.astype(float) - other)
            expected[k] += 300 * disagreement_factor(5) * (np.bincount(unit, moved) ** 2).sum() / 3
    # what the means of the two rules are off by in a draw changes a little, of order 1 / n
    np.testing.assert_allclose(noise.var(axis=0), expected, rtol=0.15)
    if kind == "plain":  # as much as the robust test for an alternative adds
        added = added_variance(context.function, q, 5)
        np.testing.assert_allclose(np.einsum("ki,kij,kj->k", q, added, q), expected, rtol=1e-12)


def gap_parts(scores, w, mu):
    """The four gaps under random weights: by difference and directly, at the best points of both groups."""
    sums = shares(scores, w)[1]
    found = []
    for own in (0, 1):
        q = np.where(np.arange(2) == own, -0.7, -0.3)
        e = []
        for direction in (-np.eye(2)[own], q):
            loss = scores.l0 + scores.dl * (scores.t @ (direction / mu) > 0.0)
            e.append([(w * scores.weight * loss)[scores.group == g].sum() / sums[g] for g in (0, 1)])
        best, mixed = np.array(e)
        found += [(-best[own] - q @ mixed) / 0.3, best[1 - own] - best[own]]
    return np.array(found)


@pytest.mark.parametrize("kind", ["plain", "clusters"])
def test_gaps_of_group_skew_have_the_noise_of_folds(kind):
    scores = sample(4, kind=kind)
    gaps, ones, mu = skew_gaps(context_of(scores)), np.ones(len(scores[0].l0)), shares(scores[0], 1.0)[0]
    hat, rho, pairs = [gap_parts(s, ones, mu) for s in scores], disagreement_factor(5), [(0, 1), (0, 2), (1, 2)]
    np.testing.assert_allclose([gap.estimate for gap in gaps], np.mean(hat, axis=0), atol=1e-12)
    for b in range(0, B, 7):
        w, w_next = weights_of(scores[0], b).copy(), weights_of(scores[0], (b + 1) % B).copy()
        r, t = pairs[b % 3]
        turned = [gap_parts(s, w_next, mu) - own for s, own in zip(scores, hat, strict=True)]
        z = np.mean([gap_parts(s, w, mu) for s in scores], axis=0) - np.mean(hat, axis=0)
        expected = np.sqrt(len(ones)) * (z + np.sqrt(rho) * (turned[r] - turned[t]))
        np.testing.assert_allclose([gap.draws[b] for gap in gaps], expected, atol=1e-11)


@pytest.mark.parametrize("kind", ["plain", "clusters"])
def test_bands_are_wider_by_what_folds_add(kind):
    function, q = context_of(sample(6, kind=kind)).function, unit_circle(8, 0.1)
    held, wider = (standard_errors(function, q, n_folds) for n_folds in (0, 5))
    added = np.einsum("ki,kij,kj->k", q, added_variance(function, q, 5), q)
    assert added.max() > 0.0
    np.testing.assert_allclose(wider**2 - held**2, added / function.n_obs, rtol=1e-9, atol=1e-15)
    band = SupportBand(function, 0.05, "two-sided", np.full(99, 2.0), n_folds=5)
    np.testing.assert_allclose(band.upper(q) - function.estimate.h(q), 2.0 * wider, rtol=1e-9)


def test_without_repetitions_nothing_is_added():
    scores, q = sample(5), unit_circle(11)
    one = DrawingContext(build_support_function(scores[0]), B, SEED, 1, None, 5)
    outside, alike = context_of(scores, n_folds=0), context_of([scores[0]] * 3)
    for context in (one, outside, alike):
        plain, draws = context.draw(q), draw_learned(context, q)
        np.testing.assert_array_equal(draws.h, plain.h)
        np.testing.assert_array_equal(correct(context, draws).h, draws.h)
        regret = regret_of_repetitions(context.function, context.n_folds)
        assert regret is None or (context is alike and not regret.shortfall.any())
        assert not allows_for_learning(context)


def test_what_learning_allows_for_widens_sets_and_enters_no_separation():
    scores = sample(6, n=200)
    allowed, held = context_of(scores), context_of(scores, n_folds=0)
    processes = [frontier_process(c, "fairness-accuracy", 90) for c in (allowed, held)]
    assert (processes[0].h_circle >= processes[1].h_circle - 1e-15).all()
    np.testing.assert_allclose(processes[0].h_part, processes[1].h_part, atol=1e-12)
    points = allowed.function.estimate.support_set(unit_circle(8, np.pi, 1.5 * np.pi)) - 0.04
    p = [point_tests(process, points)[2] for process in processes]
    assert (p[0] >= p[1]).all()
    assert (p[0] > p[1]).any()
    first, second = points[:1], points[-1:]
    tests = [best_point_tests(c, first, second, groups=(0, 1), alpha=0.05).p_value[0] for c in (allowed, held)]
    assert tests[0] > tests[1]
    # the published test with its own directions stays as it is
    published = [
        best_point_tests(c, first, second, groups=(0, 1), alpha=0.05, directions=50).p_value[0] for c in (allowed, held)
    ]
    assert published[0] == published[1]


@pytest.mark.parametrize("kind", ["plain", "clusters"])
def test_shares_of_the_draws(kind):
    scores = sample(7, kind=kind)
    found = drawn_shares(context_of(scores))
    for b in range(B):
        np.testing.assert_allclose(found[b], shares(scores[0], weights_of(scores[0], b))[0], atol=1e-14)


def test_draws_of_the_fairest_point_turn_with_the_shares():
    scores = sample(9, n=120)
    context = context_of(scores, n_folds=0)
    evidence = fairest_evidence(context, np.empty((0, 360)), np.empty((0, 2)), "sharp")
    q, crossing = evidence.direction, evidence.crossing
    mu = shares(scores[0], 1.0)[0]
    for b in range(B):
        w = weights_of(scores[0], b)
        risks = [np.mean([value(s, axis, w, None) for s in _rules(scores, q, mu)]) for axis in np.eye(2)]
        x = shares(scores[0], w)[0] / mu - 1.0
        c = q[1] + q[1] * (1.0 + q[1]) * (x[1] - x[0])
        np.testing.assert_allclose(crossing.f_draws[b], risks[0] + c * (risks[0] - risks[1]), atol=1e-10)


def _rules(scores, q, mu):
    """The repetitions with pairs that select, in every direction of the axes, whom the rule of q selects."""
    chosen = [np.where(s.t @ (q / mu) > 0.0, 1.0, -1.0) for s in scores]
    return [
        make_scores(s.l0, s.dl, np.column_stack([a, a]), s.group, s.weight) for s, a in zip(scores, chosen, strict=True)
    ]


def test_on_a_straight_edge_draws_vary_as_the_fairest_point_does():
    population, n, found = useless(), 600, []
    for number in range(200):
        cells, group, y = population.sample(n, np.random.default_rng([number, 1]))
        s = make_scores(y, 1.0 - 2.0 * y, population.t[cells], group, np.ones(n))
        context = DrawingContext(build_support_function(s), 99, SEED, 1)
        c = fairest_evidence(context, np.empty((0, n)), np.empty((0, 2)), "sharp").crossing
        found.append((c.f, c.f_draws.std()))
    centres, spreads = np.array(found).T
    assert abs(centres.mean() - 0.5) < 0.003  # F is (.5, .5)
    assert 0.9 < spreads.mean() / centres.std() < 1.1


@pytest.mark.filterwarnings("ignore::fairfrontier.errors.WeakLearnerWarning")
def test_a_fit_passes_its_folds_on():
    rng = np.random.default_rng(2)
    X, group = rng.normal(size=(120, 2)), np.arange(120) % 2
    y = (X[:, 0] + rng.normal(size=120) > 0.0).astype(int)
    how = {"learner": "factored-logit", "learner_params": {"n_penalties": 20, "n_tuning_folds": 2}, "n_boot": 99}
    ff = FairFrontier(n_folds=2, n_rep=2, random_state=1, **how).fit(X, y, sensitive_features=group)
    context = ff.fit_.context()
    assert context.n_folds == 2
    assert allows_for_learning(context)
    known = FairFrontier(n_boot=99).fit(None, y, sensitive_features=group, external_nuisance=0.1 * X)
    assert not allows_for_learning(known.fit_.context())
