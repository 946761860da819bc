"""Cells of people who are alike: the same estimates as their rows, and draws of the same law."""

import numpy as np
import pytest
from scipy import stats

from fairfrontier import FairFrontier
from fairfrontier.bootstrap.draws import DrawingContext
from fairfrontier.bootstrap.weights import RandomWeights
from fairfrontier.errors import InputError
from fairfrontier.frontier.cells import BINS, bins_of, compress, directions, round_directions
from fairfrontier.frontier.support import build_support_function, make_scores


def rows(seed, n=3000, *, bounded=False, weighted=False):
    """Scores with rounded directions, also of zeros and on the axes, and the losses of two algorithms."""
    rng = np.random.default_rng(seed)
    t = rng.normal(size=(n, 2)) * rng.choice([0.0, 1e-8, 1.0], (n, 1))
    t[rng.random(n) < 0.2, rng.integers(2)] = 0.0
    t = round_directions(t[rng.integers(n // 20, size=n)])  # few of them, so that there is something to count
    y, group = rng.integers(0, 2, n) * 1.0, rng.integers(0, 2, n)
    weight = rng.choice([0.5, 2.0], n) if weighted else np.ones(n)
    more = {"lower": rng.choice([0.0, 0.25], n), "upper": rng.choice([0.25, 1.0], n)} if bounded else {}
    decisions = np.vstack([rng.integers(0, 2, n), np.full(n, 0.5)])
    scores = make_scores(y, 1.0 - 2.0 * y, t, group, weight, **more)
    return scores, y + decisions * (1.0 - 2.0 * y)


def test_directions_are_exact_on_axes_and_diagonals():
    all_of_them = directions()
    angle = 2.0 * np.pi * np.arange(BINS) / BINS
    assert np.allclose(all_of_them, np.column_stack([np.cos(angle), np.sin(angle)]), atol=1e-15)
    assert all_of_them[:: BINS // 4].tolist() == [[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]]
    diagonal = all_of_them[BINS // 8 :: BINS // 4]
    assert (np.abs(diagonal[:, 0]) == np.abs(diagonal[:, 1])).all()
    assert (bins_of(all_of_them) == np.arange(BINS)).all()


def test_rounding_turns_a_pair_by_half_a_bin_at_most_and_keeps_its_length():
    t = np.random.default_rng(0).normal(size=(1000, 2))
    rounded = round_directions(t)
    assert np.allclose(np.hypot(*t.T), np.hypot(*rounded.T), rtol=1e-14)
    turned = np.angle((t @ [1.0, 1j]) / (rounded @ [1.0, 1j]))
    assert np.abs(turned).max() <= np.pi / BINS * (1.0 + 1e-9)
    assert round_directions(np.zeros((1, 2))).tolist() == [[0.0, 0.0]]
    assert (round_directions(rounded) == rounded).all() or np.allclose(round_directions(rounded), rounded, rtol=1e-15)


@pytest.mark.parametrize("bounded", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_cells_give_what_their_rows_give(seed, weighted, bounded):
    scores, losses = rows(seed, bounded=bounded, weighted=weighted)
    cells, of_cells = compress(scores, losses)
    assert cells.n_rows < scores.n_rows
    assert cells.n_obs == scores.n_obs == cells.counts.sum()
    by_rows, by_cells = build_support_function(scores), build_support_function(cells)
    angle = np.random.default_rng(seed).uniform(0.0, 2.0 * np.pi, 200)
    q = np.vstack([np.column_stack([np.cos(angle), np.sin(angle)]), [[1.0, 0.0], [0.0, -1.0], [-1.0, -1.0]]])
    assert np.allclose(by_rows.estimate.h(q), by_cells.estimate.h(q), atol=1e-12)
    assert np.allclose(by_rows.plug_in().h(q), by_cells.plug_in().h(q), atol=1e-12)
    assert np.allclose(by_rows.variance(q), by_cells.variance(q), rtol=1e-9, atol=1e-12)
    assert np.allclose(by_rows.covariance(q[:20]), by_cells.covariance(q[:20]), rtol=1e-9, atol=1e-12)
    assert np.allclose(by_rows.mu, by_cells.mu, atol=1e-14)
    for j in range(2):  # every cell has the losses of all its people
        assert np.isclose((cells.weight * of_cells[j]).sum(), (scores.weight * losses[j]).sum())
        assert set(of_cells[j]) == set(losses[j])


def test_rows_that_are_all_different_stay_as_they_are():
    scores, losses = rows(1, n=40)
    different = losses + np.arange(40.0)
    same, kept = compress(scores, different)
    assert same is scores
    assert kept is different


@pytest.mark.parametrize("count", [1, 2, 7, 300, 10**6])
def test_random_weights_of_a_cell_are_the_mean_of_those_of_its_people(count):
    n = 4000
    found = RandomWeights(np.random.SeedSequence(3), n, np.full(n, float(count))).stream().draw(0).copy()
    if count <= 300:
        people = np.random.default_rng(5).standard_exponential((n, count)).mean(axis=1)
        assert stats.ks_2samp(found, people).pvalue > 1e-3
    assert stats.kstest(found * count, stats.gamma(count).cdf).pvalue > 1e-3
    assert abs(found.mean() - 1.0) < 4.0 / np.sqrt(n * count)
    assert 0.9 < found.var() * count < 1.1


def test_random_weights_of_cells_have_the_bits_of_numpy():
    counts = np.random.default_rng(0).choice([1.0, 2.0, 3.0, 17.0, 1e6], 500)
    seed = np.random.SeedSequence(8)
    expected = np.random.Generator(np.random.PCG64(seed)).standard_gamma(counts) / counts
    assert (RandomWeights(seed, 500, counts).stream().draw(0) == expected).all()


def test_blocks_of_cells_draw_what_whole_draws_have():
    counts = np.random.default_rng(0).integers(1, 50, 70_000).astype(float)
    random = RandomWeights(np.random.SeedSequence(1), len(counts), counts)
    whole, stream = random.stream().draw(3).copy(), random.stream()
    parts = np.concatenate([stream.block(3, k).copy() for k in (0, 1)])
    assert (whole == parts).all()


def test_draws_of_cells_have_the_law_of_draws_of_rows():
    scores, losses = rows(2, n=2000)
    cells, of_cells = compress(scores, losses)
    q = np.array([[-1.0, -0.5], [-0.2, -1.0], [1.0, -1.0]])
    seeds = np.random.SeedSequence(4).spawn(2)
    row = DrawingContext(build_support_function(scores), 1500, seeds[0]).draw(q, losses, hold_rules=True)
    cell = DrawingContext(build_support_function(cells), 1500, seeds[1]).draw(q, of_cells, hold_rules=True)
    assert np.allclose(row.h_hat, cell.h_hat, atol=1e-12)
    assert np.allclose(row.risks_hat, cell.risks_hat, atol=1e-12)
    for k in range(len(q)):
        assert stats.ks_2samp(row.h[:, k], cell.h[:, k]).pvalue > 1e-3
    # the joint law of risks and h by their covariances
    one, two = (np.cov(np.column_stack([d.h, d.risks[:, 0]]).T) for d in (row, cell))
    assert np.abs(one - two).max() < 0.15 * np.abs(one).max()


def people(n, seed):
    rng = np.random.default_rng(seed)
    x, group = rng.normal(size=(n, 2)), rng.integers(0, 2, n)
    chance = 1.0 / (1.0 + np.exp(-np.column_stack([x[:, 0] - 0.3 * x[:, 1], x[:, 0] + 0.5 * x[:, 1]])))
    y = (rng.random(n) < chance[np.arange(n), group]).astype(int)
    return x, y, group, 0.5 * (1.0 - 2.0 * chance), (x[:, 0] + rng.normal(size=n) > 0.0).astype(int)


def asked(compress_, n=20_000, n_jobs=1, seed=0):
    x, y, group, t, decisions = people(n, seed)
    ff = FairFrontier(n_boot=199, random_state=1, compress=compress_, n_jobs=n_jobs, groups=(0, 1))
    ff.fit(x, y, sensitive_features=group, external_nuisance=t)
    flat = np.where(np.random.default_rng(9).random(n) < 0.004, 1 - (t.sum(axis=1) < 0.0), t.sum(axis=1) < 0.0)
    tests = ff.test_lda({"noisy": decisions, "nearly best": flat.astype(int)}, method="sharp")
    return ff, tests, ff.test_group_skew(), ff.distance_to_fairest(decisions)


def test_questions_have_the_same_answers_by_cells():
    (rows_, tests, skew, distance), (cells, tests_c, skew_c, distance_c) = asked(False), asked(True)
    assert not rows_.fit_.compressed
    assert cells.fit_.compressed
    assert cells.fit_.context().function.scores.counts is not None
    assert np.allclose(rows_.points_, cells.points_, atol=2e-3)
    for name in tests:
        assert tests[name].verdict == tests_c[name].verdict
        assert abs(tests[name].p_value - tests_c[name].p_value) < 0.18  # 199 draws: at most 3.6 standard errors
    robust, robust_c = (ff.test_lda(people(20_000, 0)[4]) for ff in (rows_, cells))
    assert np.isclose(robust.statistic, robust_c.statistic, rtol=1e-6)  # by sums, and of exact directions
    assert robust.p_value == robust_c.p_value
    assert abs(skew.p_value - skew_c.p_value) < 0.18
    assert np.isclose(distance.estimate, distance_c.estimate, atol=1e-4)
    assert np.allclose(distance.conf_int(), distance_c.conf_int(), atol=0.15 * np.ptp(distance.conf_int()))


def test_cells_give_the_same_bits_whatever_the_number_of_threads():
    one, two = asked(True, 4000)[1]["noisy"], asked(True, 4000, n_jobs=2)[1]["noisy"]
    assert one.p_value == two.p_value
    assert (one.draws == two.draws).all()


def test_cells_are_refused_where_rows_are_drawn_together():
    x, y, group, t, _ = people(400, 0)
    for more, options in (({"clusters": np.arange(400) // 2}, {}), ({}, {"bias_correction": "regret"})):
        ff = FairFrontier(compress=True, learner="factored-logit", n_rep=1, random_state=0, **options)
        with pytest.raises(InputError, match="compress=True cannot be combined with"):
            ff.fit(x, y, sensitive_features=group, **more)
    with pytest.raises(InputError, match="n_rep=3"):
        FairFrontier(compress=True, learner="factored-logit", random_state=0).fit(x, y, sensitive_features=group)
    assert not FairFrontier(random_state=0).fit(x, y, sensitive_features=group, external_nuisance=t).fit_.compressed


@pytest.mark.slow
def test_p_values_by_cells_and_by_rows_differ_by_chance_alone():
    z = []
    for seed in range(50):
        one, two = (asked(choice, seed=seed)[1]["nearly best"].p_value for choice in (False, True))
        pooled = (one + two) / 2.0
        z.append((one - two) / np.sqrt(2.0 * max(pooled * (1.0 - pooled), 0.005) / 199))
    assert np.abs(z).max() < 4.0
    assert abs(np.mean(z)) < 4.0 / np.sqrt(50)
