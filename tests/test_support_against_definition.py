"""The fast support function equals its definition, also on ties, zeros, weights and bounds."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial import HalfspaceIntersection
from support import plain
from support.codes import group_codes

from fairfrontier.frontier.plane import unit_circle
from fairfrontier.frontier.support import Scores, build_support_function, make_scores
from fairfrontier.frontier.sweep import fold_and_sort

pytestmark = pytest.mark.kernels


def safe(scores, directions, extra=()):
    """Directions at which no row is perpendicular up to rounding only: there the formula itself is noise."""
    p = directions / plain.group_shares(scores)
    x, y = p[:, :1] * scores.t[:, 0], p[:, 1:] * scores.t[:, 1]
    noisy = (np.abs(x + y) < 1e-14 * (np.abs(x) + np.abs(y))) & (x + y != 0)
    return directions[~noisy.any(axis=1)]


@settings(max_examples=150, deadline=None)
@given(plain.score_samples())
def test_support_function_and_set(case):
    scores, rng = case
    q = safe(scores, np.vstack([rng.normal(size=(20, 2)), plain.AXES]))
    fast = build_support_function(scores).estimate
    expected = np.array([plain.support_set(scores, x) for x in q])
    np.testing.assert_allclose(fast.support_set(q), expected, rtol=0, atol=1e-12)
    np.testing.assert_allclose(fast.h(q), [plain.h(scores, x) for x in q], rtol=0, atol=1e-12)


def test_rows_perpendicular_up_to_rounding_follow_the_sign_of_the_formula():
    rng = np.random.default_rng(5)
    checked = 0
    for _ in range(200):
        t = rng.integers(1, 9, size=(6, 2)) / 10.0
        is_r = np.array([True, True, True, False, False, False])
        scores = make_scores(rng.normal(size=6), rng.normal(size=6), t, group_codes(is_r), rng.integers(1, 4, 6) * 0.1)
        mu = plain.group_shares(scores)
        q = np.column_stack([-t[:, 1] * mu[0], t[:, 0] * mu[1]])  # perpendicular to M t up to rounding
        p = q / mu
        residue = p[:, 0] * t[:, 0] + p[:, 1] * t[:, 1]
        checked += np.count_nonzero(residue)
        expected = [plain.support_set(scores, x) for x in q]
        np.testing.assert_allclose(build_support_function(scores).estimate.support_set(q), expected, atol=1e-13)
    assert checked > 50  # the case is really exercised


@settings(max_examples=150, deadline=None)
@given(plain.score_samples())
def test_plug_in_criterion(case):
    scores, rng = case
    q = np.vstack([rng.normal(size=(10, 2)), plain.AXES])
    fast = build_support_function(scores).plug_in()
    expected = [plain.plug_in(scores, x) for x in q]
    np.testing.assert_allclose(fast.h(q), expected, rtol=1e-12, atol=1e-12)


@settings(max_examples=100, deadline=None)
@given(plain.score_samples(), st.floats(0, 2 * np.pi), st.floats(0.01, 2 * np.pi))
def test_max_excess(case, start, turn):
    scores, rng = case
    e = rng.normal(size=2)
    fast = build_support_function(scores).estimate
    whole = fast.max_excess(e)
    assert whole.value == pytest.approx(plain.max_excess(scores, e), abs=1e-10)
    assert np.hypot(*whole.direction) == pytest.approx(1.0)
    part = fast.max_excess(e, (np.cos(start), np.sin(start)), turn)
    assert part.value == pytest.approx(plain.max_excess(scores, e, start, start + turn), abs=1e-10)


@settings(max_examples=100, deadline=None)
@given(plain.score_samples())
def test_min_separation(case):
    scores, rng = case
    fast = build_support_function(scores).estimate
    for e in (rng.normal(size=2), np.full(2, rng.normal())):
        found = fast.min_separation(e)
        assert found.value == pytest.approx(plain.min_separation(scores, e), abs=1e-10)
        assert found.direction.sum() <= 1e-12


@settings(max_examples=150, deadline=None)
@given(plain.score_samples())
def test_line_infimum(case):
    scores, _ = case
    found = build_support_function(scores).estimate.line_infimum()
    expected = plain.line_infimum(scores)
    if np.isfinite(expected):
        assert found.value == pytest.approx(expected, rel=1e-10, abs=1e-10)
        assert found.direction.sum() == pytest.approx(-1.0)
        assert not found.above
        assert not found.below
    else:
        assert found.value == -np.inf
        assert found.above or found.below


def test_a_risk_of_zero_by_rounding_touches_the_line():
    l0, dl = np.array([0.0, 1.0, 0.0, 1.0, 1.0]), np.array([1.0, -1.0, 1.0, -1.0, -1.0])
    t = np.array([[0.0, 1.0], [2.0, -1.0], [-2.0, 1.0], [2.0, -2.0], [1.0, 1.0]])
    weight = np.array([1.0, 1.0, 0.0, 0.8050029237453802, 0.8079407897364937])
    scores = Scores(l0, dl, t, np.array([0, 1, 1, 1, 1]), weight)
    found = build_support_function(scores).estimate.line_infimum()
    assert found.value == pytest.approx(-1.0)
    assert (found.above, found.below) == (False, False)


@settings(max_examples=100, deadline=None)
@given(plain.score_samples())
def test_polygon_is_the_intersection_of_all_half_planes(case):
    scores, _ = case
    fast = build_support_function(scores).estimate
    vertices = fast.half_plane_polygon()
    constraints = []
    for start, stop, value in plain.arcs(scores):
        for x in (start, (start + stop) / 2, stop):
            q = np.array([np.cos(x), np.sin(x)])
            constraints.append([*q, -q @ value])
    constraints = np.array(constraints)
    centre = fast.mirror / 2
    room = -(constraints[:, :2] @ centre + constraints[:, 2])
    size = np.abs(room).max()
    if len(vertices) == 0:
        assert room.min() < 0  # symmetric about its centre, so empty exactly when the centre is outside
        return
    worst = (constraints[:, :2] @ vertices.T + constraints[:, 2:]).max()
    assert worst <= 2e-9 * size + 1e-13 * np.abs(constraints[:, 2]).max()
    if room.min() > 1e-6 * size:
        expected = HalfspaceIntersection(constraints, centre).intersections
        q = unit_circle(60)
        np.testing.assert_allclose((q @ vertices.T).max(1), (q @ expected.T).max(1), atol=1e-8 * size)


@pytest.mark.parametrize("clustered", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_covariance(clustered, weighted):
    rng = np.random.default_rng(3)
    n = 60
    is_r = rng.random(n) < 0.4
    weight = rng.exponential(size=n) if weighted else np.ones(n)
    clusters = rng.integers(0, 15, n) if clustered else None
    scores = make_scores(
        rng.normal(size=n), rng.normal(size=n), rng.normal(size=(n, 2)), group_codes(is_r), weight, clusters=clusters
    )
    q = unit_circle(7, 0.1)
    mu = plain.group_shares(scores)
    influence = np.zeros((n, len(q)))
    for j, x in enumerate(q):
        point = plain.support_set(scores, x)
        for i in range(n):
            g = 0 if is_r[i] else 1
            treated = (x / mu) @ scores.t[i] > 0
            zeta = x[g] / mu[g] * (scores.l0[i] + scores.dl[i] * treated)
            influence[i, j] = weight[i] * (zeta - x[g] * point[g] / mu[g])
    if clustered:
        influence = np.array([influence[clusters == c].sum(axis=0) for c in np.unique(clusters)])
    expected = n * influence.T @ influence / weight.sum() ** 2
    np.testing.assert_allclose(build_support_function(scores).covariance(q), expected, rtol=1e-12, atol=1e-14)


def test_covariance_in_blocks_equals_covariance_at_once(monkeypatch):
    rng = np.random.default_rng(4)
    n, k = 5000, 400  # more rows than a block holds at this many directions
    clusters = rng.integers(0, 700, n)
    is_r = rng.random(n) < 0.5
    scores = make_scores(
        rng.normal(size=n),
        rng.normal(size=n),
        rng.normal(size=(n, 2)),
        group_codes(is_r),
        np.ones(n),
        clusters=clusters,
    )
    fast = build_support_function(scores)
    q = unit_circle(k)
    few = fast.covariance(q[:3])
    np.testing.assert_allclose(fast.covariance(q)[:3, :3], few, rtol=1e-10, atol=1e-12)


def test_bounds_replace_the_two_extreme_decisions():
    rng = np.random.default_rng(6)
    n = 40
    l0, dl, t = rng.normal(size=n), rng.normal(size=n), rng.normal(size=(n, 2))
    is_r, weight = np.arange(n) % 3 == 0, rng.exponential(size=n)
    lower, upper = rng.random(n) * 0.4, 0.5 + rng.random(n) * 0.5
    fast = build_support_function(make_scores(l0, dl, t, group_codes(is_r), weight, lower=lower, upper=upper)).estimate
    mu = np.array([weight[is_r].sum(), weight[~is_r].sum()]) / weight.sum()
    for q in unit_circle(12, 0.05):
        a = np.where(t @ (q / mu) > 0, upper, lower)
        loss = weight * (l0 + a * dl)
        expected = [loss[g].sum() / weight[g].sum() for g in (is_r, ~is_r)]
        np.testing.assert_allclose(fast.support_set(q)[0], expected, atol=1e-13)


def lattice_sample(rng):
    """Rows in eight directions, each with its opposite, of both groups with equal weights."""
    t = np.tile(plain.AXES, (4, 1)) * np.repeat([1.0, 0.5, 0.25, 2.0], 8)[:, None]
    is_r = np.arange(32) % 16 < 8
    return make_scores(rng.normal(size=32), rng.normal(size=32), t, group_codes(is_r), np.ones(32))


def test_rows_exactly_perpendicular_are_not_treated_or_as_the_tie_says():
    rng = np.random.default_rng(7)
    scores = lattice_sample(rng)
    fast = build_support_function(scores).estimate
    for q in plain.AXES:  # each is perpendicular to rows folded up and to rows folded down
        assert ((scores.t @ q) == 0.0).sum() == 8
        np.testing.assert_allclose(fast.support_set(q)[0], plain.support_set(scores, q), atol=1e-14)
        tie = rng.normal(size=2)
        beside = plain.support_set(scores, q + 1e-6 * tie)  # treats exactly the perpendicular rows with tie't > 0
        np.testing.assert_allclose(fast.support_set(q, tie=tie)[0], beside, atol=1e-14)


def test_max_excess_over_an_arc_of_no_length_is_the_excess_at_its_direction():
    rng = np.random.default_rng(8)
    for _ in range(20):
        n = 9
        scores = make_scores(
            rng.normal(size=n), rng.normal(size=n), rng.normal(size=(n, 2)), np.arange(n) % 2, np.ones(n)
        )
        e, q = rng.normal(size=2), unit_circle(1, rng.uniform(0, 6))[0]
        found = build_support_function(scores).estimate.max_excess(e, q, 0.0)
        assert found.value == pytest.approx(q @ e - plain.h(scores, q), abs=1e-12)
        np.testing.assert_allclose(found.direction, q, atol=1e-15)


def test_rows_so_long_that_their_sum_overflows_are_sorted_like_short_ones():
    rng = np.random.default_rng(9)
    angle = rng.uniform(0, 2 * np.pi, 200)
    t = np.column_stack([np.cos(angle), np.sin(angle)])
    order = fold_and_sort(t)[3]
    with np.errstate(over="ignore"):  # told only where the kernel runs as plain Python
        np.testing.assert_array_equal(fold_and_sort(1.7e308 * t)[3], order)
    expected = np.argsort(angle % np.pi)
    np.testing.assert_array_equal(order, expected)


@pytest.mark.parametrize("n", [20, 200])  # few are put right by insertion, many by sorting anew
def test_rows_whose_angles_differ_in_the_last_digits_only_are_sorted(n):
    rng = np.random.default_rng(10)
    place = np.arange(n, dtype=float)[::-1].copy()  # the wrong way round, the worst case of insertion
    sign = rng.choice([-1.0, 1.0], size=n)
    t = sign[:, None] * np.column_stack([-1e-20 * place, np.ones(n)])
    a, b, signs, order = fold_and_sort(t)
    np.testing.assert_array_equal(order, np.arange(n)[::-1])  # the angle rises with `place`
    np.testing.assert_array_equal(signs, sign[order])
    np.testing.assert_array_equal(np.column_stack([a, b]), sign[order, None] * t[order])
    tied = fold_and_sort(np.repeat(t, 2, axis=0))[3]
    np.testing.assert_array_equal(tied, np.column_stack([2 * order, 2 * order + 1]).ravel())  # ties keep their order
