"""The searches of the test of group skew against brute force over points and over pairs of points."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import plain
from support.best_point_cases import U, on_side, window
from support.group_skew_cases import (
    CASES,
    METHODS,
    ONE_DRAW,
    SIDES,
    B,
    Skew,
    one_sided_rows,
    reached,
    reaching,
    side_grid,
    two_sided_rows,
)
from support.small_samples import fit, rows

from fairfrontier.bootstrap.draws import DrawingContext
from fairfrontier.data.sample import make_sample
from fairfrontier.datasets import make_liu_molinari
from fairfrontier.frontier.support import build_support_function, make_scores
from fairfrontier.inference.best_points import ExtremePoint
from fairfrontier.inference.group_skew import skew_points
from fairfrontier.inference.lattices import lattice, lowest, to_side
from fairfrontier.inference.skew_search import _best_partner, closest_pair, closest_point
from fairfrontier.learning.cross_fitting import cross_fit

pytestmark = pytest.mark.filterwarnings(
    "ignore::fairfrontier.errors.WeakLearnerWarning", "ignore::fairfrontier.errors.EmptySetWarning"
)


@pytest.fixture(scope="module", params=CASES)
def skew(request):
    return Skew(*request.param)


@cache
def pair_of(skew, method):
    """What the search over pairs finds, once for all tests."""
    return closest_pair(*skew.parts[method])


@cache
def point_of(skew, method, number, above):
    """The same over the points of one side."""
    return closest_point(skew.parts[method][number], above)


def largest_count(r, b, R, B_):
    """Largest number of draws that reach T over all pairs of two sets of points."""
    (t_r, d_r), (t_b, d_b) = r.test(R), b.test(B_)
    one, other = d_r - t_r[:, None], d_b - t_b[:, None]
    return max((np.count_nonzero(row + other >= -1e-11, axis=1).max(initial=0) for row in one), default=0)


# --- pairs --------------------------------------------------------------------------------------------


def useful(r, b, above, spacing):
    """Points of both grids that can belong to a pair with more than no draw above its statistic."""
    grids = [side_grid(point, spacing, above) for point in (r, b)]
    values = [point.statistic(grid) for point, grid in zip((r, b), grids, strict=True)]
    highest = (r.largest_draws + b.largest_draws).max()
    least = [v.min() for v in values]
    return [g[v <= highest - other] for g, v, other in zip(grids, values, least[::-1], strict=True)]


@pytest.mark.parametrize("method", METHODS)
def test_no_pair_of_a_dense_grid_has_a_larger_p_value(skew, method):
    r, b = skew.parts[method]
    found = pair_of(skew, method)
    assert found.p_value == (1 + reaching(r, b, found.r[None], found.b[None])[0]) / (1 + B)
    counts = [largest_count(r, b, *useful(r, b, above, 0.33)) for above in SIDES]
    assert found.p_value >= (1 + max(counts)) / (1 + B) - 1e-12
    # and the search is worth its price: it is not far above what the grid knows
    assert found.p_value <= (1 + max(counts)) / (1 + B) + 0.2


@pytest.mark.parametrize("method", METHODS)
def test_no_random_pair_of_the_null_has_a_larger_p_value(skew, method):
    r, b = skew.parts[method]
    test, found = skew.tests[method], pair_of(skew, method)
    rng, n = np.random.default_rng(5), skew.ff.n_obs_
    best = 0
    for above in SIDES:
        for centre_r, centre_b in ((test.best_r, test.best_b), (found.r, found.b)):
            R, B_ = (
                to_side(centre + rng.normal(size=(250, 2)) * rng.choice([0.02, 0.3, 1.0], (250, 1)) / np.sqrt(n), above)
                for centre in (centre_r, centre_b)
            )
            assert ((R[:, 1] - R[:, 0]) * (B_[:, 1] - B_[:, 0]) >= 0).all()
            best = max(best, reaching(r, b, R, B_).max())
    # between the last points tried, 1/32 of 1 / sqrt(n) apart, a draw may be won
    assert found.p_value >= (1 + best) / (1 + B) - ONE_DRAW - 1e-12


@st.composite
def skew_samples(draw):
    """Both parts of the test for a nasty sample."""
    scores, rng = draw(plain.score_samples())
    context = DrawingContext(build_support_function(scores), B, np.random.SeedSequence(int(rng.integers(2**31))))
    return *skew_points(context, draw(st.sampled_from(METHODS))), rng


@given(skew_samples())
@settings(max_examples=10)
def test_pairs_in_nasty_samples(sample):
    r, b, rng = sample
    found = closest_pair(r, b)
    assert ONE_DRAW <= found.p_value <= 1.0
    assert np.isfinite(found.draws).all()
    assert (found.r[1] - found.r[0]) * (found.b[1] - found.b[0]) >= 0
    count = reaching(r, b, found.r[None], found.b[None])[0]
    assert found.p_value == pytest.approx((1 + count) / (1 + B), abs=1e-12)
    assert found.statistic == pytest.approx(r.statistic(found.r[None])[0] + b.statistic(found.b[None])[0])
    ends = {above: [lowest(point, above) for point in (r, b)] for above in SIDES}
    best = 0
    for above, ((_, low_r), (_, low_b)) in ends.items():
        spread = rng.choice([0.1, 0.5, 2.0], (60, 1)) / np.sqrt(r.n_obs)
        R, B_ = (to_side(low + spread * rng.normal(size=(60, 2)), above) for low in (low_r, low_b))
        best = max(best, largest_count(r, b, np.vstack([R, low_r]), np.vstack([B_, low_b])))
    assert found.p_value >= (1 + best) / (1 + B) - 0.1  # few rows: the p-value is steep between the last steps


def mirrored(point):
    """The same part of the test with the two coordinates exchanged."""
    return replace(point, u=point.u[::-1], q=point.q[:, ::-1], estimate=point.estimate[::-1])


@given(skew_samples())
@settings(max_examples=10)
def test_exchanging_the_coordinates_mirrors_the_pairs(sample):
    r, b, _ = sample
    one, other = closest_pair(r, b), closest_pair(mirrored(b), mirrored(r))
    assert one.p_value == pytest.approx(other.p_value, abs=0.1)  # ties are met in another order


@pytest.mark.parametrize("method", METHODS)
def test_a_part_with_little_noise_is_searched_as_carefully(skew, method):
    """Whichever of the two parts varies less: the lattices are mirrored, so the result differs by ties only."""
    r, b = skew.parts[method]
    b = replace(b, z=b.z / 16, z_u=b.z_u / 16)
    one, other = closest_pair(r, b), closest_pair(mirrored(b), mirrored(r))
    assert one.p_value == pytest.approx(other.p_value, abs=ONE_DRAW + 1e-12)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("seed", range(2))
def test_where_all_pairs_are_rejected_the_smallest_statistic_stands_for_them(seed, method):
    r, b = skew_points(fit(two_sided_rows(seed=seed), options={"n_boot": B}).feasible_set().context, method)
    found = closest_pair(r, b)
    assert found.p_value == ONE_DRAW
    least = [lowest(r, above)[0] + lowest(b, above)[0] for above in SIDES]
    assert found.statistic <= min(least) + 1e-9


@pytest.mark.parametrize("method", METHODS)
def test_rejection_means_that_no_pair_of_the_null_is_accepted(method):
    """On a lattice as fine as the search: brute force over the accepted points of each side."""
    decided = set()
    for data in (two_sided_rows(seed=1), one_sided_rows(seed=1), rows(300, 0), rows(200, 1)):
        r, b = skew_points(fit(data, options={"n_boot": B}).feasible_set().context, method)
        p_value = closest_pair(r, b).p_value
        for alpha in (0.02, 0.1, 0.3):
            needed = int(np.floor(alpha * (1 + B) + 1e-9))
            limit = float(np.sort(r.largest_draws + b.largest_draws)[-needed])
            best = 0
            for above in SIDES:
                R, B_ = (lattice(point, limit, 0.8, above) for point in (r, b))
                if len(R) and len(B_):
                    best = max(best, largest_count(r, b, R, B_))
            if (1 + best) / (1 + B) > alpha:
                assert p_value > alpha
            elif p_value > alpha:  # the finer search found a little more than the lattice
                assert p_value - (1 + best) / (1 + B) <= 0.1
            decided.add((p_value > alpha, (1 + best) / (1 + B) > alpha))
    assert {(True, True), (False, False)} <= decided


def test_a_sample_whose_flat_bottom_once_left_the_search_without_squares():
    rng = np.random.default_rng([1000, 181, len("skewed"), 4])
    X, y, group = make_liu_molinari(1000, "skewed", rng)
    sample, l0 = make_sample(X.to_numpy(), y, group), y.astype(float)
    t = cross_fit(sample, 1 - 2 * l0, "factored-logit", random_state=int(rng.integers(2**31))).predictions[0]
    function = build_support_function(make_scores(l0, 1 - 2 * l0, t, sample.group, sample.weight))
    context = DrawingContext(function, 500, np.random.SeedSequence([181, 5]))
    found = closest_pair(*skew_points(context, "paper"))
    assert found.p_value > 0.5
    assert (found.r[1] - found.r[0]) * (found.b[1] - found.b[0]) >= 0.0


# --- points of one side -------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("above", SIDES)
def test_no_point_of_a_dense_grid_has_a_larger_p_value(skew, method, above):
    for number, point in enumerate(skew.parts[method]):
        count, at = point_of(skew, method, number, above)
        assert on_side(at[None], above).all()
        assert count == reached(point, at[None])[0]
        grid = side_grid(point, 0.33, above)
        grid = grid[point.statistic(grid) <= point.largest_draws.max()]
        most = reached(point, grid).max(initial=0)
        assert most <= count <= most + 15


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("above", SIDES)
def test_no_random_point_of_a_side_has_a_larger_p_value(skew, method, above):
    rng, n = np.random.default_rng(5), skew.ff.n_obs_
    estimates = skew.tests[method].best_r, skew.tests[method].best_b
    for number, (point, estimate) in enumerate(zip(skew.parts[method], estimates, strict=True)):
        count, at = point_of(skew, method, number, above)
        for centre in (estimate, at):
            spread = rng.choice([0.02, 0.3, 1.0], (500, 1)) / np.sqrt(n)
            some = to_side(centre + spread * rng.normal(size=(500, 2)), above)
            assert count >= reached(point, some).max() - 1


@given(skew_samples(), st.integers(0, 1), st.booleans())
@settings(max_examples=15)
def test_points_in_nasty_samples(sample, number, above):
    point, rng = sample[number], sample[2]
    count, at = closest_point(point, above)
    assert on_side(at[None], above).all()
    assert count == reached(point, at[None])[0]
    _, low = lowest(point, above)
    spread = rng.choice([0.1, 0.5, 2.0], (60, 1)) / np.sqrt(point.n_obs)
    some = np.vstack([to_side(low + spread * rng.normal(size=(60, 2)), above), low])
    assert count >= reached(point, some).max() - 0.1 * (1 + B)
    # T changes by at most 2 sqrt(n) per unit of distance and a draw by 2 / step, and every point that matters lies
    # within half a diagonal of a square of the last lattice: draws that exceed T by more than that are never missed
    axis = point.unit * np.linspace(-6, 6, 45)
    grid = to_side(low + np.array(np.meshgrid(axis, axis)).reshape(2, -1).T, above)
    margin = (2.0 * np.sqrt(point.n_obs) + 2.0 / point.step) * 0.4 * point.unit * np.sqrt(0.5) * (1.0 + 1e-6)
    statistic, draws = point.test(grid)
    assert count >= np.count_nonzero(draws >= statistic[:, None] + margin, axis=1).max()


@pytest.mark.parametrize("number", [0, 1])
@pytest.mark.parametrize("above", SIDES)
@pytest.mark.parametrize("distance", [0.0, 0.3])
def test_a_set_of_one_point(number, above, distance):
    """On its own side the point itself has a statistic of 0, and from the other side none of its draws is in sight."""
    u, rng = U[number], np.random.default_rng(3)
    at = np.array([0.4, 0.4]) + distance * np.array([-1.0, 1.0])
    q, moves = window(u, 60, np.pi / 2), rng.normal(size=(2, B))
    z = q @ moves
    point = ExtremePoint(u, q, q @ at, z, float(u @ at), z[-1], 2500, 0.1, at + 0.1)
    count, found = closest_point(point, above)
    if above or distance == 0.0:
        assert count >= B - 2
    else:
        assert count == 0
        assert point.statistic(found[None])[0] <= lowest(point, above)[0] + 1e-9


@pytest.mark.parametrize("above", SIDES)
def test_the_best_point_may_lie_far_from_the_smallest_statistic(above):
    """T is 0.1 along a line, but only at its end, at (0.4, 0.91), does a direction bind whose h varies."""
    q = np.array([[0.0, -1.0], [0.0, 1.0], [-1.0, 0.0], [-1.0, 0.0]])
    z = np.zeros((4, B))
    z[1] = 0.3 + np.random.default_rng(4).normal(size=B)
    point = ExtremePoint(q[-1], q, np.array([-0.1, 0.9, -0.41, -0.4]), z, -0.4, z[-1], 100, 0.1, np.array([0.4, 0.5]))
    if not above:
        point = mirrored(point)
    expected = np.count_nonzero(-z[1] > 0.1)
    assert B / 4 < expected < B / 2
    assert reached(point, lowest(point, above)[1][None])[0] == 0
    assert closest_point(point, above)[0] >= expected - 3


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("seed", range(2))
def test_where_all_points_are_rejected_the_smallest_statistic_stands_for_them(seed, method):
    r, b = skew_points(fit(two_sided_rows(seed=seed), options={"n_boot": B}).feasible_set().context, method)
    for point, above in ((r, False), (b, True)):
        count, at = closest_point(point, above)
        assert count == 0
        assert point.statistic(at[None])[0] <= lowest(point, above)[0] + 1e-9
        assert closest_point(point, not above)[0] > 0


# --- both orders --------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
def test_exchanging_the_coordinates_mirrors_both_sides(skew, method):
    for number, point in enumerate(skew.parts[method]):
        for above in SIDES:
            counts = point_of(skew, method, number, above)[0], closest_point(mirrored(point), not above)[0]
            assert counts[0] == pytest.approx(counts[1], abs=1)


@pytest.mark.kernels
def test_the_best_partner_of_each_candidate_by_plain_counting():
    rng = np.random.default_rng(6)
    one, other = rng.normal(size=(7, 300)), rng.normal(size=(9, 300)) + rng.normal(size=(9, 1))
    reached = (one[:, None] + other[None] >= 0.0).sum(axis=2)
    for floor in (np.zeros(7, dtype=np.intp), np.full(7, 150), reached.max(axis=1) - 1):
        counts, partners = _best_partner(one, other, floor, 300)
        np.testing.assert_array_equal(counts, np.maximum(reached.max(axis=1), floor))
        better = counts > floor
        np.testing.assert_array_equal(partners[better], reached.argmax(axis=1)[better])
    enough = int(np.median(reached))  # then the first partner with as many will do
    counts, partners = _best_partner(one, other, np.zeros(7, dtype=np.intp), enough)
    for i in range(7):
        if (reached[i] >= enough).any():
            assert partners[i] == np.flatnonzero(reached[i] >= enough)[0]
            assert counts[i] == reached[i, partners[i]]
