"""Pictures: the frontier drawn lies on the edge of the set drawn, neither inside nor outside."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial import ConvexHull
from support.lda_cases import fit_arguments
from support.records import record_of
from support.small_samples import fit, learned, rows

from fairfrontier.errors import FairFrontierWarning
from fairfrontier.frontier.plane import convex_hull
from fairfrontier.frontier.sets import frontier_angles
from fairfrontier.inference.estimates import drawn

pytestmark = pytest.mark.filterwarnings("ignore::fairfrontier.errors.FairFrontierWarning")


def from_edge(points, corners):
    """Distances (k,) of points to the edge of a polygon."""
    start, side = corners, np.roll(corners, -1, axis=0) - corners
    length = np.maximum((side**2).sum(axis=1), 1e-300)
    share = np.clip(((points[:, None] - start) * side).sum(axis=2) / length, 0.0, 1.0)
    nearest = start + share[..., None] * side
    return np.hypot(*(points[:, None] - nearest).transpose(2, 0, 1)).min(axis=1)


def small_fit(seed):
    """A small sample: few rows, a learner good or bad, ties, constant outcomes in a group, weights, bounds."""
    rng = np.random.default_rng(seed)
    n = int(rng.choice([8, 20, 60, 150]))
    data = rows(n, int(rng.integers(10_000)))
    g = data.g.copy()
    g[:2] = 0, 1
    t = rng.choice([0.0, 1.0]) * data.t + rng.choice([0.0, 0.2, 2.0]) * rng.normal(size=(n, 2))
    if rng.random() < 0.3:
        t = np.round(2 * t) / 2
    y = np.where(g == 1, data.y, 1) if rng.random() < 0.1 else data.y
    arguments = fit_arguments(str(rng.choice(["plain", "weights", "bounds"])), n, rng)
    if "sample_weight" in arguments:
        arguments["sample_weight"][:2] = 1.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FairFrontierWarning)
        return fit(data, g=g, t=t, y=y, options={"n_boot": 99}, **arguments)


def on_the_edge(curve, corners):
    assert len(curve) >= 1
    assert from_edge(curve, corners).max() <= 1e-9
    middles = (curve[1:] + curve[:-1]) / 2  # and what is drawn between
    assert from_edge(middles, corners).max(initial=0.0) <= 1e-9


def supported(shape, skew, q_F):
    """Every corner of the frontier is outermost in some direction between the two ends, and no other corner is."""
    ends = frontier_angles(skew, q_F, 2)
    q = np.array([[np.cos(a), np.sin(a)] for a in np.linspace(*ends, 2000)])
    outermost = (q @ shape.corners.T).max(axis=1)
    reached = np.abs(q @ shape.corners.T - outermost[:, None]).min(axis=0)
    assert reached[shape.frontier].max() <= 1e-3
    clearly = (q[1:-1] @ shape.corners.T >= outermost[1:-1, None] - 1e-12).any(axis=0)
    assert set(np.flatnonzero(clearly)) <= set(shape.frontier.tolist())


@pytest.mark.parametrize("part", range(6))
def test_many_small_samples(part):
    """What the pictures of both kinds are made of, 120 samples in all."""
    for seed in range(20 * part, 20 * (part + 1)):
        ff = small_fit(seed)
        shape, points = drawn(ff.fit_), ff.fit_.plane().points
        on_the_edge(shape.curve, shape.corners)
        supported(shape, points.configuration, points.q_F)
        hull = ff.support_function_.estimate.support_set(shape.directions)
        np.testing.assert_allclose(hull, shape.corners, atol=1e-12)  # each corner belongs to a rule


@pytest.mark.parametrize("seed", range(12))
def test_matplotlib(seed):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    for capacity in (None, 0.4) if seed < 3 else (None,):
        ff = small_fit(1000 + seed) if capacity is None else fit(rows(80, seed), options={"n_boot": 99})
        ax = ff.plot(capacity=capacity)
        corners = ax.patches[0].get_xy()[:-1]
        (line,) = [line for line in ax.lines if str(line.get_label()).startswith("fairness-accuracy frontier")]
        on_the_edge(np.column_stack(line.get_data()), corners)
        assert line.get_linestyle() == "-" if len(line.get_xdata()) > 1 else line.get_marker() == "."
        pyplot.close(ax.figure)


@pytest.mark.parametrize("seed", range(6))
def test_record_behind_the_figure_of_a_report(seed):
    capacity = 0.4 if seed == 0 else None
    ff = fit(rows(60, seed), options={"n_boot": 99}) if seed < 2 else small_fit(2000 + seed)
    record = record_of(ff, {}, capacity=capacity, region=False)
    corners, curve = np.array(record.picture.set), np.array([point.risk for point in record.picture.frontier])
    assert {tuple(point) for point in curve.tolist()} <= {tuple(point) for point in corners.tolist()}
    on_the_edge(curve, corners)


def test_with_a_regret_correction():
    ff = learned(rows(150, 3), n_boot=99, bias_correction="regret", n_refits=2)
    shape = drawn(ff.fit_)
    on_the_edge(shape.curve, shape.corners)
    q = shape.directions
    moved = ff.support_function_.estimate.support_set(q) + ff.regret_.mean_pair(q)
    np.testing.assert_allclose(shape.corners, moved, atol=1e-12)


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=100)
def test_convex_hull(seed):
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(int(rng.integers(4, 40)), 2)) * rng.choice([1e-40, 1.0, 1e40])
    found = points[convex_hull(points)]
    scale = np.abs(points).max()
    expected = (points / scale)[ConvexHull(points / scale).vertices]
    assert {tuple(p) for p in (found / scale).tolist()} == {tuple(p) for p in expected.tolist()}
    x, y = (found / scale).T
    assert np.sum(x * np.roll(y, -1) - np.roll(x, -1) * y) > 0  # anticlockwise


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=100)
def test_convex_hull_of_points_on_a_lattice_with_rounding(seed):
    """Columns of points that stand above each other up to rounding."""
    rng = np.random.default_rng(seed)
    points = rng.integers(0, 3, (30, 2)) / 3.0 + 1e-16 * rng.integers(-5, 6, (30, 2))
    found = points[convex_hull(points)]
    q = np.array([[np.cos(a), np.sin(a)] for a in np.linspace(0, 2 * np.pi, 100)])
    np.testing.assert_allclose((q @ found.T).max(axis=1), (q @ points.T).max(axis=1), atol=1e-11)
    assert len(found) <= 8


def test_convex_hull_of_a_point_and_of_a_line():
    assert convex_hull(np.ones((3, 2))).tolist() == [0]
    line = np.array([[0.2, 0.2], [0.0, 0.0], [1.0, 1.0], [0.5, 0.5], [0.0, 0.0]])
    assert sorted(convex_hull(line).tolist()) in ([1, 2], [2, 4])
    upright = np.array([[0.3, 0.1], [0.3, 0.9], [0.3, 0.5]])
    assert sorted(convex_hull(upright).tolist()) == [0, 1]
