"""Random weights depend on the seed, the draw and the row alone: not on threads, order or what else is drawn."""

import numpy as np
import pytest
from support import plain

from fairfrontier.bootstrap import weights
from fairfrontier.bootstrap.capped import CappedContext
from fairfrontier.bootstrap.draws import DrawingContext, draw_process
from fairfrontier.bootstrap.exact import perturbed_line_infima
from fairfrontier.bootstrap.weights import BLOCK, BLOCK_STEP, DRAW_STEP, RandomWeights
from fairfrontier.frontier.capacity import cap
from fairfrontier.frontier.plane import unit_circle
from fairfrontier.frontier.support import build_support_function, make_scores

SEED = np.random.SeedSequence(17)


@pytest.fixture(params=[7, 64])
def small_blocks(request, monkeypatch):
    """Blocks of a few rows, so that samples of a few hundred rows have many."""
    monkeypatch.setattr(weights, "BLOCK", request.param)
    return request.param


def sample(n=300, seed=1, clusters=None, ties=False):
    rng = np.random.default_rng(seed)
    dl = rng.choice([-1.0, 1.0], n)
    t = 0.3 * dl[:, None] + rng.normal(size=(n, 2))
    if ties:
        t = t.round()
    codes = None if clusters is None else rng.permutation(np.arange(n) % clusters)
    group, weight = (rng.random(n) < 0.4).astype(np.intp), rng.exponential(size=n)
    scores = make_scores((dl < 0).astype(float), dl, t, group, weight, clusters=codes)
    return build_support_function(scores), rng.random((2, n))


# --- the numbers themselves ---------------------------------------------------------------------------


@pytest.mark.parametrize("n", [1, 5, 1000, BLOCK, BLOCK + 1, 2 * BLOCK + 777])
def test_weights_are_those_of_the_plain_formula(n):
    stream = RandomWeights(SEED, n).stream()
    expected = plain.unit_weights(n, 4, SEED)
    for draw in (3, 0, 2, 1, 3):  # in any order
        np.testing.assert_array_equal(stream.draw(draw), expected[draw])


def test_a_block_drawn_alone_is_the_block_drawn_with_the_others():
    n = 3 * BLOCK + 100
    random = RandomWeights(SEED, n)
    whole = random.stream().draw(41)
    assert random.n_blocks == 4
    for block in (2, 0, 3, 1):
        np.testing.assert_array_equal(random.stream().block(41, block), whole[BLOCK * block : BLOCK * (block + 1)])


def test_a_weight_does_not_depend_on_how_many_rows_there_are():
    few, many = (RandomWeights(SEED, n).stream().draw(8) for n in (BLOCK + 5, 2 * BLOCK + 5))
    np.testing.assert_array_equal(few, many[: len(few)])
    other = RandomWeights(np.random.SeedSequence(18), BLOCK + 5).stream().draw(8)
    assert not (few == other).any()


def test_stretches_of_draws_and_blocks_do_not_overlap():
    begins = sorted((b * DRAW_STEP + k * BLOCK_STEP) % 2**128 for b in range(300) for k in range(300))
    gaps = np.diff([*map(float, begins), float(begins[0] + 2**128)])
    assert gaps.min() > 0.05 * 2.0**128 / len(begins)
    assert DRAW_STEP % 2 == BLOCK_STEP % 2 == 1


def test_weights_are_exponential_and_independent_between_neighbouring_blocks_and_draws():
    size, n_draws, n_blocks = 4000, 24, 6
    random = RandomWeights(SEED, n_blocks * BLOCK).stream()
    z = np.array([[random.block(b, k)[:size].copy() for k in range(n_blocks)] for b in range(n_draws)])
    assert z.min() > 0
    for power, moment, variance in ((1, 1.0, 1.0), (2, 2.0, 20.0), (3, 6.0, 684.0)):
        assert abs(np.mean(z**power) - moment) < 5 * np.sqrt(variance / z.size)
    z -= 1.0
    for first, second in (
        (z[1:], z[:-1]),  # neighbouring draws
        (z[:, 1:], z[:, :-1]),  # neighbouring blocks
        (z[1:, 1:], z[:-1, :-1]),
        (z[1:, :-1], z[:-1, 1:]),
        (z[8:], z[:-8]),
        (z[..., 1:], z[..., :-1]),  # neighbouring rows
    ):
        for one, other in ((first, second), (first**2 - 1.0, second), (first**2 - 1.0, second**2 - 1.0)):
            product = one * other
            assert abs(product.mean()) < 5 * product.std() / np.sqrt(product.size)
    table = z.reshape(n_draws * n_blocks, size)
    correlation = np.corrcoef(table)[np.triu_indices(len(table), 1)] * np.sqrt(size)
    assert correlation.std() == pytest.approx(1.0, abs=0.03)
    assert np.abs(correlation).max() < 5.5


# --- what is made of them -----------------------------------------------------------------------------


@pytest.mark.parametrize("clusters", [None, 90])
@pytest.mark.parametrize("ties", [False, True])
def test_draws_in_many_blocks_are_reestimations(small_blocks, clusters, ties):
    function, losses = sample(150, clusters=clusters, ties=ties)
    s, q = function.scores, np.vstack([unit_circle(9, 0.1), plain.AXES])
    multipliers = plain.unit_weights(150 if clusters is None else clusters, 99, SEED, block=small_blocks)
    w = s.weight * (multipliers if clusters is None else multipliers[:, s.clusters])
    codes = [s.group == 0, s.group == 1]
    mass = np.array([w[:, own].sum(axis=1) for own in codes]).T
    risks = np.array([[w[:, own] @ loss[own] for own in codes] for loss in losses]).transpose(2, 0, 1) / mass[:, None]
    for held in (True, False):
        draws = draw_process(function, q, losses, n_boot=99, seed=SEED, hold_rules=held)
        np.testing.assert_allclose(draws.risks, risks, rtol=0, atol=1e-12)
        for b in range(99):
            p = q / (function.mu if held else mass[b] / mass[b].sum())
            selected = s.t[:, :1] * p[:, 0] + s.t[:, 1:] * p[:, 1] > 0
            loss = s.l0[:, None] + s.dl[:, None] * selected
            e = np.array([w[b, own] @ loss[own] for own in codes]).T / mass[b]
            np.testing.assert_allclose(draws.h[b], (q * e).sum(axis=1), rtol=0, atol=1e-12)


@pytest.mark.parametrize("clusters", [None, 90])
def test_estimates_and_exact_passes_do_not_depend_on_blocks(clusters, monkeypatch):
    function, losses = sample(150, clusters=clusters)
    q = unit_circle(20, 0.1)
    before = draw_process(function, q, losses, n_boot=99, seed=SEED)
    monkeypatch.setattr(weights, "BLOCK", 64)
    after = draw_process(function, q, losses, n_boot=99, seed=SEED)
    np.testing.assert_array_equal(after.h_hat, before.h_hat)
    np.testing.assert_array_equal(after.risks_hat, before.risks_hat)
    if clusters is None:
        assert not (after.h == before.h).any()  # other numbers, of the same law
    infima, risks = perturbed_line_infima(function, losses, 0.1, n_boot=99, seed=SEED)
    assert np.isfinite(infima).all()
    np.testing.assert_allclose(risks, after.risks, rtol=0, atol=1e-12)


@pytest.mark.parametrize("clusters", [None, 90])
def test_bits_depend_neither_on_jobs_nor_on_the_number_of_draws(small_blocks, clusters):
    function, losses = sample(clusters=clusters)
    q = unit_circle(30)
    contexts = {
        "sweep": lambda n_boot, jobs: DrawingContext(function, n_boot, SEED, jobs),
        "grid": lambda n_boot, jobs: CappedContext(cap(function, 0.3), n_boot, SEED, jobs),
    }
    for make in contexts.values():
        one = make(120, 1).draw(q, losses, hold_rules=True)
        for n_boot, jobs in ((120, 2), (120, 3), (250, 1), (99, 2)):
            other, k = make(n_boot, jobs).draw(q, losses, hold_rules=True), min(n_boot, 120)
            np.testing.assert_array_equal(other.h[:k], one.h[:k])
            np.testing.assert_array_equal(other.risks[:k], one.risks[:k])


def same_risks_with_and_without_capacity(function, losses, q):
    without = DrawingContext(function, 99, SEED).draw(q, losses, hold_rules=True)
    for capacity in (0.05, 0.4, 1.0):
        within = CappedContext(cap(function, capacity), 99, SEED).draw(q[::-1], losses)
        np.testing.assert_array_equal(within.risks, without.risks)
    np.testing.assert_allclose(within.h[:, ::-1], without.h, rtol=0, atol=1e-12)  # a capacity of 1 binds nowhere
    return without


@pytest.mark.parametrize("clusters", [None, 90])
@pytest.mark.parametrize("n", [40, 300])
def test_draws_of_a_risk_are_the_same_with_and_without_a_capacity(n, clusters):
    function, losses = sample(n, clusters=clusters)
    same_risks_with_and_without_capacity(function, losses, unit_circle(7, 0.1))


@pytest.mark.parametrize("clusters", [None, 90])
def test_draws_of_a_risk_are_the_same_with_and_without_a_capacity_in_many_blocks(small_blocks, clusters):
    function, losses = sample(clusters=clusters)
    same_risks_with_and_without_capacity(function, losses, unit_circle(7, 0.1))


def test_samples_larger_than_a_block():
    n = BLOCK + 3000
    function, losses = sample(n)
    q = unit_circle(3, 0.1)
    found = same_risks_with_and_without_capacity(function, losses, q)
    s, codes = function.scores, function.scores.group
    for b in (0, 98):
        w = s.weight * plain.unit_weights(n, b + 1, SEED)[b]
        mass = np.bincount(codes, w)
        np.testing.assert_allclose(found.risks[b], [np.bincount(codes, w * loss) / mass for loss in losses], atol=1e-12)
        for x, h in zip(q, found.h[b], strict=True):
            e = np.bincount(codes, w * (s.l0 + s.dl * (s.t @ (x / function.mu) > 0))) / mass
            assert h == pytest.approx(x @ e, abs=1e-12)
