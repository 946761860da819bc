"""Each draw is a re-estimation with multiplied weights; draws depend on their number and the seed alone."""

import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import plain
from support.codes import group_codes
from support.small_samples import fit, rows

from fairfrontier.bootstrap.draws import draw_process
from fairfrontier.data.checks import check_draws
from fairfrontier.errors import InputError
from fairfrontier.frontier.plane import unit_circle
from fairfrontier.frontier.support import build_support_function, make_scores

SEED = np.random.SeedSequence(5)


def plain_draws(scores, q, losses, multipliers):
    """Re-estimate h and the group means of the losses, row by row, with every set of multiplied weights."""
    h = np.array([[plain.h(replace(scores, weight=scores.weight * w), x) for x in q] for w in multipliers])
    risks = np.empty((len(multipliers), len(losses), 2))
    for b, w in enumerate(multipliers):
        weight = scores.weight * w
        for j, loss in enumerate(losses):
            for g, own in enumerate((scores.is_r, ~scores.is_r)):
                risks[b, j, g] = sum(weight[own] * loss[own]) / sum(weight[own])
    return h, risks


def far_from_perpendicular(scores, q, multipliers):
    """Directions at which no row is perpendicular only up to rounding, in the estimate or in any draw."""
    keep = np.ones(len(q), dtype=bool)
    for w in [np.ones(len(scores.l0)), *multipliers]:
        p = q / plain.group_shares(replace(scores, weight=scores.weight * w))
        x, y = p[:, :1] * scores.t[:, 0], p[:, 1:] * scores.t[:, 1]
        keep &= ~((np.abs(x + y) < 1e-13 * (np.abs(x) + np.abs(y))) & (x + y != 0)).any(axis=1)
    return q[keep]


def with_clusters(scores, rng):
    codes = rng.integers(0, max(1, len(scores.l0) // 3), len(scores.l0))
    return replace(scores, clusters=np.unique(codes, return_inverse=True)[1])


@settings(max_examples=60, deadline=None)
@given(plain.score_samples(), st.booleans())
def test_every_draw_is_a_reestimation(case, clustered):
    scores, rng = case
    if clustered:
        scores = with_clusters(scores, rng)
    function = build_support_function(scores)
    losses = np.vstack([scores.l0, scores.l0 + scores.dl * rng.random(len(scores.l0))])
    multipliers = plain.weights_of_draws(function, 99, SEED)
    q = far_from_perpendicular(scores, np.vstack([rng.normal(size=(6, 2)), plain.AXES]), multipliers[:3])
    draws = draw_process(function, q, losses, n_boot=99, seed=SEED)
    h, risks = plain_draws(scores, q, losses, multipliers[:3])
    size = max(1.0, np.abs(h).max())
    np.testing.assert_allclose(draws.h[:3], h, rtol=0, atol=1e-11 * size)
    np.testing.assert_allclose(draws.risks[:3], risks, rtol=0, atol=1e-11 * size)
    h_hat, risks_hat = plain_draws(scores, q, losses, np.ones((1, len(scores.l0))))
    np.testing.assert_allclose(draws.h_hat, h_hat[0], rtol=0, atol=1e-11 * size)
    np.testing.assert_allclose(draws.risks_hat, risks_hat[0], rtol=0, atol=1e-11 * size)
    root = np.sqrt(len(scores.l0))
    np.testing.assert_allclose(draws.z_h(), root * (draws.h - draws.h_hat))
    np.testing.assert_allclose(draws.z_risks(), root * (draws.risks - draws.risks_hat))
    assert draws.n_boot == 99


def test_ties_at_the_axes_stay_untreated_in_every_draw():
    # each axis direction has rows exactly perpendicular to it, of both signs and both groups
    t = np.array([[0.0, 1.0], [0.0, -1.0], [2.0, 0.0], [-2.0, 0.0], [0.0, 0.0], [1.0, 1.0]] * 2)
    is_r = np.arange(12) < 6
    rng = np.random.default_rng(0)
    scores = make_scores(rng.normal(size=12), rng.normal(size=12), t, group_codes(is_r), rng.exponential(size=12))
    q = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0], [-1.0, -0.0], [-0.0, -1.0], [3.0, 0.0]])
    function = build_support_function(scores)
    draws = draw_process(function, q, n_boot=99, seed=SEED)
    h, _ = plain_draws(scores, q, [], plain.weights_of_draws(function, 99, SEED))
    np.testing.assert_allclose(draws.h, h, rtol=0, atol=1e-12)
    assert np.ptp(h, axis=0).min() > 0
    # treating the tied rows would change the answer: the check above is not empty
    nudged = draw_process(function, q[:4] + 1e-6, n_boot=99, seed=SEED)
    assert (np.abs(nudged.h - draws.h[:, :4]).max(axis=0) > 1e-3).all()


def test_groups_of_one_row_and_rows_that_no_direction_treats():
    scores = make_scores(
        np.array([0.3, 0.7]), np.array([1.0, -1.0]), np.array([[0.2, -0.1], [0.4, 0.3]]), np.array([0, 1]),
        np.array([2.0, 5.0]),
    )  # fmt: skip
    q = unit_circle(12, 0.1)
    draws = draw_process(build_support_function(scores), q, scores.l0[None], n_boot=99, seed=SEED)
    # a group's mean over one row never varies; only mu does, and with it which rules the directions pick
    np.testing.assert_allclose(draws.risks, np.broadcast_to([[0.3, 0.7]], (99, 1, 2)))
    h, _ = plain_draws(scores, q, [], plain.weights_of_draws(build_support_function(scores), 99, SEED))
    np.testing.assert_allclose(draws.h, h, atol=1e-13)
    still = replace(scores, t=np.zeros((2, 2)))
    draws = draw_process(build_support_function(still), q, n_boot=99, seed=SEED)
    np.testing.assert_allclose(draws.h, np.broadcast_to(q @ [0.3, 0.7], (99, 12)))


def sample(n=300, seed=1, clusters=None):
    rng = np.random.default_rng(seed)
    is_r = rng.random(n) < 0.6
    dl = rng.choice([-1.0, 1.0], n)
    codes = None if clusters is None else rng.permutation(np.arange(n) % clusters)
    t = 0.3 * dl[:, None] + rng.normal(size=(n, 2))
    return build_support_function(
        make_scores((dl < 0).astype(float), dl, t, group_codes(is_r), np.ones(n), clusters=codes)
    )


@pytest.mark.parametrize("clusters", [None, 40])
def test_bits_depend_neither_on_jobs_nor_on_the_number_of_draws(clusters):
    function = sample(clusters=clusters)
    q, losses = unit_circle(30), np.random.default_rng(0).random((2, 300))
    one = draw_process(function, q, losses, n_boot=120, seed=SEED, n_jobs=1)
    for n_boot, n_jobs in ((120, 2), (120, 3), (250, 1), (99, 2), (131, -1)):
        other = draw_process(function, q, losses, n_boot=n_boot, seed=SEED, n_jobs=n_jobs)
        k = min(n_boot, 120)
        np.testing.assert_array_equal(other.h[:k], one.h[:k])
        np.testing.assert_array_equal(other.risks[:k], one.risks[:k])
    again = draw_process(function, q, losses, n_boot=120, seed=np.random.SeedSequence(6))
    assert not (again.h == one.h).any()


def test_what_is_drawn_along_changes_nothing():
    function = sample()
    losses = np.random.default_rng(0).random((3, 300))
    together = draw_process(function, unit_circle(40), losses, n_boot=99, seed=SEED)
    alone = draw_process(function, unit_circle(40)[7:8], losses[1:2], n_boot=99, seed=SEED)
    np.testing.assert_allclose(alone.h[:, 0], together.h[:, 7], rtol=1e-13)
    np.testing.assert_array_equal(alone.risks[:, 0], together.risks[:, 1])
    assert draw_process(function, unit_circle(4), n_boot=99, seed=SEED).risks.shape == (99, 0, 2)


def test_rows_of_a_cluster_share_one_weight():
    function = sample(clusters=40)
    codes = function.scores.clusters
    w = plain.weights_of_draws(function, 99, SEED)
    for c in range(40):
        assert (w[:, codes == c] == w[:, codes == c][:, :1]).all()
    by_cluster = np.array([w[:, codes == c][:, 0] for c in range(40)])
    assert len(np.unique(by_cluster)) == by_cluster.size


def test_weights_are_exponential_and_independent_between_rows_and_draws():
    function = sample(n=500)
    w = plain.weights_of_draws(function, 800, SEED)
    assert w.min() > 0
    for power, moment in ((1, 1.0), (2, 2.0), (3, 6.0)):
        assert np.mean(w**power) == pytest.approx(moment, rel=0.03)
    z = w - 1.0
    for table in (z, z.T):  # sample correlations of independent columns stay within sampling error
        correlation = np.corrcoef(table, rowvar=False)
        off = correlation[np.triu_indices(len(correlation), 1)] * np.sqrt(len(table))
        assert off.std() == pytest.approx(1.0, abs=0.02)
        assert np.abs(off).max() < 7
    for lag in (1, 2, 3, 4, 8, 64, 256, 512):  # neighbouring and distant draws, row by row
        assert abs(np.mean(z[lag:] * z[:-lag])) < 5 / np.sqrt(z[lag:].size)
        second = np.mean(z[lag : 800 - lag] ** 2 * z[2 * lag :] * z[: -2 * lag]) if lag < 400 else 0.0
        assert abs(second) < 0.1


def test_memory_is_independent_of_rows_times_draws():
    n, n_boot, k = 20_000, 400, 50
    function = sample(n=n)
    q, losses = unit_circle(k), np.random.default_rng(0).random((2, n))
    draw_process(sample(), q, losses[:, :300], n_boot=99, seed=SEED)  # compile first
    peaks = []
    for count in (99, n_boot):
        tracemalloc.start()
        draw_process(function, q, losses, n_boot=count, seed=SEED, n_jobs=2)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 8 * n * n_boot / 10  # far below one number per row and draw
    results = 8 * (n_boot - 99) * (k + 4)
    assert peaks[1] - peaks[0] < 2 * results + 200_000  # only the results grow with the draws


@pytest.mark.kernels
@pytest.mark.filterwarnings("ignore::fairfrontier.errors.WeakLearnerWarning")
@pytest.mark.parametrize("bounded", [False, True])
@pytest.mark.parametrize("clustered", [False, True])
def test_draws_of_a_fitted_object_are_reestimations_of_the_whole_object(bounded, clustered):
    """Through the public interface: weights, dropped zero weights, clusters and bounds."""
    rng = np.random.default_rng(3)
    n = 400
    data = rows(n, 1)
    weight = rng.exponential(size=n) * (rng.random(n) < 0.9)
    arguments = {"clusters": rng.permutation(np.arange(n) % 80)} if clustered else {}
    if bounded:
        arguments |= {"lower": 0.2 * (rng.random(n) < 0.5), "upper": 0.9}
    ff = fit(data, options={"n_boot": 99}, sample_weight=weight, **arguments)
    context = ff.feasible_set().context
    q = unit_circle(9, 0.1)
    draws = context.draw(q)
    np.testing.assert_allclose(draws.h_hat, ff.support(q), atol=1e-13)
    multipliers = plain.weights_of_draws(context.function, 99, context.seed)
    for b in (0, 1, 50, 98):
        again = fit(data, sample_weight=weight * multipliers[b], **arguments)
        np.testing.assert_allclose(draws.h[b], again.support(q), atol=1e-12)


@pytest.mark.parametrize("n_boot", [98, 0, -5, 99.0, "100", None, True])
def test_number_of_draws_is_checked(n_boot):
    with pytest.raises(InputError, match="at least 99") as caught:
        draw_process(sample(), [1.0, 0.0], n_boot=n_boot, seed=SEED)
    assert caught.value.code == "bad-draws"


def test_draws_must_be_enough_for_the_level():
    assert check_draws(99, 0.01) == 99
    assert check_draws(np.int64(199), 0.005) == 199
    with pytest.raises(InputError, match="at least 999"):
        check_draws(998, 0.001)


def test_rules_can_be_held_while_the_group_shares_are_drawn():
    rng = np.random.default_rng(8)
    n = 60
    is_r, weight = rng.random(n) < 0.4, rng.exponential(size=n)
    scores = make_scores(rng.normal(size=n), rng.normal(size=n), rng.normal(size=(n, 2)), group_codes(is_r), weight)
    function = build_support_function(scores)
    q = unit_circle(20, 0.03)
    seed = np.random.SeedSequence(9)
    held = draw_process(function, q, n_boot=99, seed=seed, hold_rules=True)
    moving = draw_process(function, q, n_boot=99, seed=seed)
    np.testing.assert_allclose(held.h_hat, function.estimate.h(q), atol=1e-12)
    assert not np.allclose(held.h, moving.h, atol=1e-6)
    treated = scores.t @ (q / function.mu).T > 0  # by the estimated shares, in every draw
    loss = scores.l0[:, None] + scores.dl[:, None] * treated
    for number, w in enumerate(plain.weights_of_draws(function, 99, seed)):
        own = weight * w
        means = [own[rows] @ loss[rows] / own[rows].sum() for rows in (is_r, ~is_r)]
        np.testing.assert_allclose(held.h[number], q[:, 0] * means[0] + q[:, 1] * means[1], atol=1e-12)
