"""R, B, F, configuration, polygon and curves against brute force, in every position of the set."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from support import plain
from support.codes import group_codes

from fairfrontier.errors import EmptySetWarning, InputError
from fairfrontier.frontier.plane import improvement_corners, unit_circle
from fairfrontier.frontier.sets import (
    attained_hull,
    best_points,
    configuration,
    fa_frontier,
    feasible_set,
    pareto_frontier,
)
from fairfrontier.frontier.support import build_support_function, make_scores


def ellipse(shift, n=4000, seed=0, stretch=(1.0, 1.0)):
    """A set with a smooth boundary: rows whose losses equal their nuisance, moved by ``shift``."""
    rng = np.random.default_rng(seed)
    t = rng.normal(size=(n, 2)) * stretch
    is_r = np.arange(n) % 2 == 0
    # Both groups carry every vector, so that group sums equal sums over all vectors.
    t = np.repeat(t[: n // 2], 2, axis=0)
    dl = np.where(is_r, t[:, 0], t[:, 1]) * 2.0
    l0 = np.where(is_r, shift[0], shift[1]).astype(float)
    return build_support_function(make_scores(l0, dl, t, group_codes(is_r), np.ones(n))).estimate


def dense_boundary(arcs, k=20_001):
    return arcs.support_set(unit_circle(k, 0.0001))


@pytest.mark.parametrize(
    ("shift", "position", "expected"),
    [
        ((0.0, 0.0), "crosses", "balanced"),
        ((0.0, 0.95), "crosses", "r-skewed"),
        ((0.0, 9.0), "above", "r-skewed"),
        ((0.95, 0.0), "crosses", "b-skewed"),
        ((9.0, 0.0), "below", "b-skewed"),
    ],
)
def test_five_positions(shift, position, expected):
    arcs = ellipse(shift, stretch=(1.0, 0.9))
    points = best_points(arcs)
    boundary = dense_boundary(arcs)
    assert points.position == position
    assert points.configuration == expected
    assert points.R[0] == pytest.approx(boundary[:, 0].min(), abs=1e-6)
    assert points.B[1] == pytest.approx(boundary[:, 1].min(), abs=1e-6)
    gap = boundary[:, 0] - boundary[:, 1]
    if position == "crosses":
        # the lowest point of the convex boundary on the diagonal, by interpolation between neighbours
        crossing = np.flatnonzero(np.sign(gap) != np.sign(np.roll(gap, -1)))
        share = gap[crossing] / (gap[crossing] - np.roll(gap, -1)[crossing])
        on_line = boundary[crossing] + share[:, None] * (np.roll(boundary, -1, axis=0)[crossing] - boundary[crossing])
        assert points.F[0] == points.F[1]
        assert points.F[0] == pytest.approx(on_line[:, 0].min(), abs=1e-4)
    else:
        np.testing.assert_allclose(points.F, boundary[np.abs(gap).argmin()], atol=1e-2)
        assert abs(points.F[0] - points.F[1]) <= np.abs(gap).min() + 1e-9


@settings(max_examples=100, deadline=None)
@given(plain.score_samples())
def test_points_by_enumeration_of_all_rules(case):
    """With the nuisance as truth, R, B, F are extreme over the vertices of the exact set."""
    scores, _ = case
    # Make the losses agree with the nuisance: both groups see the vector t, so the set is exact and convex.
    n = len(scores.l0)
    t = np.vstack([scores.t, scores.t])
    is_r = np.repeat([True, False], n)
    l0 = np.concatenate([scores.l0, scores.l0[::-1]])
    exact = make_scores(l0, 2.0 * np.concatenate([t[:n, 0], t[:n, 1]]), t, group_codes(is_r), np.ones(2 * n))
    arcs = build_support_function(exact).estimate
    points = best_points(arcs)
    corners = np.array([value for _, _, value in plain.arcs(exact)])
    size = np.abs(corners).max() + 1e-300
    for found, own, other in ((points.R, 0, 1), (points.B, 1, 0)):
        best = corners[:, own].min()
        assert found[own] == pytest.approx(best, abs=1e-9 * size)
        ties = corners[corners[:, own] <= best + 1e-10 * size]
        assert found[other] == pytest.approx(ties[:, other].min(), abs=1e-9 * size)
    gap = corners[:, 0] - corners[:, 1]
    if gap.min() < -1e-9 * size and gap.max() > 1e-9 * size:
        assert points.position == "crosses"
        ring = np.vstack([corners, corners[:1]])
        crossing = []
        for start, stop in pairwise(ring):
            d0, d1 = start[0] - start[1], stop[0] - stop[1]
            if d0 * d1 <= 0 and d0 != d1:
                crossing.append(start[0] + d0 / (d0 - d1) * (stop[0] - start[0]))
        assert points.F[0] == pytest.approx(min(crossing), abs=1e-8 * size)
    elif gap.max() < -1e-9 * size or gap.min() > 1e-9 * size:
        assert points.position == ("above" if gap.max() < 0 else "below")
        nearest = np.abs(gap).min()
        assert abs(points.F[0] - points.F[1]) == pytest.approx(nearest, abs=1e-9 * size)
        ties = corners[np.abs(gap) <= nearest + 1e-10 * size]
        assert points.F[0] == pytest.approx(ties[:, 0].min(), abs=1e-8 * size)
    polygon = feasible_set(arcs)
    q = unit_circle(50, 0.01)
    expected = (q @ corners.T).max(axis=1)  # the set is convex, so the polygon is its hull
    np.testing.assert_allclose(polygon.support(q), expected, atol=3e-8 * size)


def test_ties_are_broken_in_favour_of_the_other_group():
    # Row 0 does not matter to r (t_r = 0) and lowers b's loss when treated.
    t = np.array([[0.0, -1.0], [-1.0, 0.5], [1.0, 1.0], [0.5, -0.2]])
    scores = make_scores(np.ones(4), np.array([0.0, 0.5, 1.0, -0.2]), t, np.array([0, 1, 0, 1]), np.ones(4))
    dl = scores.dl.copy()
    dl[0] = -1.0
    is_r = np.array([False, False, True, True])
    scores = make_scores(np.ones(4), dl, t, group_codes(is_r), np.ones(4))
    arcs = build_support_function(scores).estimate
    strict, tied = arcs.support_set([-1, 0])[0], best_points(arcs).R
    assert strict[0] == tied[0]
    assert tied[1] == pytest.approx(strict[1] - 0.5)


@pytest.mark.parametrize(
    ("R", "B", "expected"),
    [
        ((0.2, 0.5), (0.5, 0.2), "balanced"),
        ((0.2, 0.5), (0.3, 0.4), "r-skewed"),
        ((0.2, 0.5), (0.3, 0.3), "r-skewed"),
        ((0.5, 0.3), (0.6, 0.2), "b-skewed"),
        ((0.3, 0.3), (0.6, 0.2), "b-skewed"),
        ((0.3, 0.3), (0.3, 0.3), "balanced"),
    ],
)
def test_configuration(R, B, expected):
    assert configuration(np.array(R), np.array(B)) == expected


def test_a_learner_worse_than_nothing_gives_an_empty_set_and_says_so():
    rng = np.random.default_rng(0)
    t = np.repeat(rng.normal(size=(50, 2)), 2, axis=0)
    is_r = np.arange(100) % 2 == 0
    dl = -np.where(is_r, t[:, 0], t[:, 1])  # losses opposite to what the nuisance says
    arcs = build_support_function(make_scores(np.zeros(100), dl, t, group_codes(is_r), np.ones(100))).estimate
    with pytest.warns(EmptySetWarning, match="worse than its opposite"):
        empty = feasible_set(arcs)
    assert empty.is_empty
    assert empty.area == 0.0
    assert not empty.contains([0.0, 0.0])[0]
    assert empty.support([1.0, 0.0])[0] == -np.inf
    best_points(arcs)  # still defined


def test_feasible_set_membership_and_area():
    arcs = ellipse((0.3, 0.4), n=20_000)
    polygon = feasible_set(arcs)
    boundary = dense_boundary(arcs)
    centre = arcs.mirror / 2
    some = boundary[::10]
    assert polygon.contains(centre + 0.9 * (some - centre)).all()
    assert not polygon.contains(centre + 1.1 * (some - centre)).any()
    x, y = boundary.T
    assert polygon.area == pytest.approx(0.5 * np.sum(x * np.roll(y, -1) - np.roll(x, -1) * y), rel=1e-3)


@pytest.mark.parametrize(("shift", "ends"), [((0.0, 0.0), "RB"), ((0.0, 1.0), "RF"), ((1.0, 0.0), "FB")])
def test_frontier_curve_runs_between_the_right_points(shift, ends):
    arcs = ellipse(shift)
    points = best_points(arcs)
    curve = fa_frontier(arcs, 4000)
    first, last = (getattr(points, name) for name in ends)
    np.testing.assert_allclose(curve.points[0], first, atol=2e-3)
    np.testing.assert_allclose(curve.points[-1], last, atol=2e-3)
    # the ends may sit on a breakpoint, where ties are broken towards lower risks
    np.testing.assert_allclose(arcs.support_set(curve.directions[1:-1]), curve.points[1:-1], atol=1e-12)
    assert curve.tolerance == pytest.approx(np.sqrt(np.log(4000) / 4000))
    # every point of the curve is on the frontier, points well inside or outside are not
    assert curve.contains(curve.points[::50]).all()
    assert not curve.contains([arcs.mirror / 2, arcs.mirror / 2 + 5.0]).any()


def test_pareto_curve_connects_the_two_best_points():
    arcs = ellipse((0.0, 1.0))
    points, curve = best_points(arcs), pareto_frontier(arcs, 4000)
    np.testing.assert_allclose(curve.points[[0, -1]], [points.R, points.B], atol=1e-12)
    assert curve.contains(curve.points[::50]).all()
    far_side = fa_frontier(arcs, 4000).points[-1]  # F: on the fairness-accuracy frontier only
    assert curve.criterion(far_side)[0] > 0.02
    assert np.all(np.diff(curve.points[:, 0]) >= -1e-12)
    assert np.all(np.diff(curve.points[:, 1]) <= 1e-12)


def test_criterion_by_brute_force():
    arcs = ellipse((0.2, 0.5), n=400)
    rng = np.random.default_rng(8)
    e = rng.normal(size=(20, 2))
    q = unit_circle(40_000, 1e-7)
    h = arcs.h(q)
    half = q[:, 0] + q[:, 1] <= 0
    for x, found in zip(e, fa_frontier(arcs, 400).criterion(e), strict=True):
        c = np.array([plain.improvement_support(x, -d) for d in q[half]])
        expected = max((q @ x - h).max(), 0) + max((c + h[half]).min(), 0)
        assert found == pytest.approx(expected, abs=5e-4)


@pytest.mark.parametrize("options", [{"tolerance": -1.0}, {"tolerance": np.nan}, {"n_points": 1}])
def test_bad_options(options):
    with pytest.raises(InputError) as caught:
        fa_frontier(ellipse((0.0, 0.0)), 4000, **options)
    assert caught.value.code == "bad-option"


def test_improvement_set():
    rng = np.random.default_rng(1)
    for e in rng.random((20, 2)):
        z = e + rng.normal(size=(500, 2))
        inside = z[(z <= e).all(axis=1) & (np.abs(z[:, 0] - z[:, 1]) <= abs(e[0] - e[1]))]
        corners = np.array(improvement_corners(e))
        assert (corners <= e + 1e-12).all()
        assert (np.abs(corners[:, 0] - corners[:, 1]) <= abs(e[0] - e[1]) + 1e-12).all()
        for q in unit_circle(20, -np.pi / 4, 3 * np.pi / 4):
            assert len(inside) == 0 or (inside @ q).max() <= (corners @ q).max() + 1e-12


def test_a_tiny_segment_far_from_the_origin_is_not_empty():
    """One moving row whose effect is small beside the losses: rounding must not make the set empty."""
    n = 9
    t = np.zeros((2 * n, 2))
    t[[7, 7 + n]] = [-2.3e-05, -3.25e-04]
    is_r = np.repeat([True, False], n)
    rng = np.random.default_rng(3)
    for _ in range(200):
        l0 = rng.normal(size=2 * n) * 3.0
        dl = 2.0 * np.where(is_r, t[:, 0], t[:, 1])
        arcs = build_support_function(make_scores(l0, dl, t, group_codes(is_r), np.ones(2 * n))).estimate
        polygon = feasible_set(arcs)
        ends = arcs.support_set([[-1.0, -1.0], [1.0, 1.0]])
        assert not polygon.is_empty
        q = unit_circle(40, 0.01)
        np.testing.assert_allclose(polygon.support(q), (q @ ends.T).max(axis=1), atol=1e-10)


@pytest.mark.kernels
@given(plain.score_samples())
def test_hull_of_attained_risks_holds_every_rule(case):
    arcs = build_support_function(case[0]).estimate
    hull = attained_hull(arcs)
    attained = arcs.support_set(unit_circle(720))
    q = unit_circle(360)
    scale = max(float(np.abs(attained).max()), 1e-300)
    # the hull reaches as far in every direction as the farthest rule does, and no farther
    np.testing.assert_allclose((q @ hull.T).max(axis=1), (q @ attained.T).max(axis=1), atol=1e-9 * scale)
