"""Tests of points, confidence sets of frontiers, bands and set tests against plain loops over draws."""

import warnings
from dataclasses import replace
from functools import cache
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.path import Path
from support import plain
from support.codes import group_codes
from support.small_samples import fit, rows

from fairfrontier import FairFrontier
from fairfrontier.bootstrap.studentised import draw_studentised
from fairfrontier.datasets import make_liu_molinari
from fairfrontier.errors import SmallSampleWarning
from fairfrontier.frontier.plane import convex_contains, polygon_area, unit_circle
from fairfrontier.frontier.support import build_support_function, make_scores
from fairfrontier.inference.bands import SupportBand, deepest_point, effective_sizes
from fairfrontier.inference.p_values import critical_value
from fairfrontier.inference.points import (
    FrontierProcess,
    ProcessNulls,
    _contact_max,
    frontier_directions,
    shifted_max,
)
from fairfrontier.inference.regions import LEVELS, _halved, frontier_region

pytestmark = pytest.mark.filterwarnings("ignore::fairfrontier.errors.SmallSampleWarning")
B = 99
KINDS = ("fairness-accuracy", "pareto")
DERIVATIVES = ("numerical", "contact")
POINTS = np.array([[0.3, 0.4], [0.45, 0.45], [0.25, 0.5], [0.7, 0.7], [0.1, 0.2], [0.5, 0.3], [0.36, 0.36]])


class Case:
    def __init__(self, kind, n=160):
        rng = np.random.default_rng(3)
        self.data, self.n = rows(n, 6), n
        arguments = {}
        if kind == "weighted clusters":
            arguments["sample_weight"] = rng.exponential(size=n)
            arguments["clusters"] = rng.permutation(np.arange(n) % (n // 3))
        elif kind == "bounds":
            arguments["upper"] = np.where(rng.random(n) < 0.5, 0.9, 1.0)
        self.ff = fit(self.data, options={"n_boot": B}, **arguments)
        self.context = self.ff.feasible_set().context
        self.root, self.step = np.sqrt(n), np.sqrt(n) ** -0.49
        self.within = np.sqrt(np.log(n)) / np.sqrt(n)  # kappa_n / sqrt(n)
        self.decisions = {
            "coin": rng.integers(0, 2, n).astype(float),
            "rule": (self.data.t.sum(axis=1) < 0).astype(float),
            "oracle": self.data.y.astype(float),
        }

    def test(self, kind, *args, **options):
        return (self.ff.test_frontier if kind == "fairness-accuracy" else self.ff.test_pareto)(*args, **options)


@pytest.fixture(scope="module", params=["plain", "weighted clusters", "bounds"])
def case(request):
    return Case(request.param)


def plain_test(case, kind, derivative, directions, e, losses=None):
    """Both parts, and the draws under the null, of one point or one algorithm."""
    circle = unit_circle(directions, endpoint=True)
    first, last = (0.75, 1.75) if kind == "fairness-accuracy" else (1.0, 1.5)
    part = unit_circle(directions, first * np.pi, last * np.pi, endpoint=True)
    draws = case.context.draw(np.vstack([circle, part]), None if losses is None else losses[None])
    z, h = draws.z_h(), draws.h_hat
    z_e = np.zeros((B, 2)) if losses is None else draws.z_risks()[:, 0]

    def outer(q, point):
        return q @ point

    def inner(q, point):
        """Minus the part of D, or of the Pareto criterion, that depends on the point."""
        return -plain.improvement_support(point, -q) if kind == "fairness-accuracy" else q @ point

    parts, changes = [], []
    for grid, offset, function in ((circle, 0, outer), (part, directions, inner)):
        values = [function(q, e) - h[offset + k] for k, q in enumerate(grid)]
        parts.append(max(values))
        contact = [k for k in range(directions) if values[k] >= max(values) - case.within]
        found = []
        for b in range(B):
            moved_e = e + case.step * z_e[b]
            moved = [function(q, moved_e) - h[offset + k] - case.step * z[b, offset + k] for k, q in enumerate(grid)]
            if derivative == "numerical":
                found.append((max(moved) - max(values)) / case.step)
            else:
                found.append(max((moved[k] - values[k]) / case.step for k in contact))
        changes.append(found)
    feasibility, separation = case.root * max(parts[0], 0.0), case.root * max(-parts[1], 0.0)
    null = np.array([max(x, 0.0) + max(-y, 0.0) for x, y in zip(*changes, strict=True)])
    return feasibility, separation, null


def check_against(tests, k, expected):
    feasibility, separation, null = expected
    assert tests.feasibility[k] == pytest.approx(feasibility, abs=1e-9)
    assert tests.separation[k] == pytest.approx(separation, abs=1e-9)
    assert tests.statistic[k] == pytest.approx(feasibility + separation, abs=1e-9)
    statistic = feasibility + separation
    fewest, most = ((1 + np.count_nonzero(null >= statistic + s * 1e-9)) / (1 + B) for s in (1, -1))
    assert fewest <= tests.p_value[k] <= most
    rank = int(np.ceil((1 - tests.alpha + 1e-6) * B))
    assert tests.critical_value[k] == pytest.approx(np.sort(null)[rank - 1] + 1e-6, abs=1e-8)
    assert tests.reject[k] == (tests.p_value[k] <= tests.alpha)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("derivative", DERIVATIVES)
def test_points_against_loops(case, kind, derivative):
    tests = case.test(kind, POINTS, directions=40, derivative=derivative)
    assert tests.kind == kind
    for k, e in enumerate(POINTS):
        check_against(tests, k, plain_test(case, kind, derivative, 40, e))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("derivative", DERIVATIVES)
def test_algorithms_against_loops(case, kind, derivative):
    tests = case.test(kind, decisions=case.decisions, directions=40, derivative=derivative)
    y = case.data.y.astype(float)
    for k, a in enumerate(case.decisions.values()):
        np.testing.assert_allclose(tests.points[k], case.ff.risks(a).risk, atol=1e-12)
        losses = y + a * (1 - 2 * y)
        check_against(tests, k, plain_test(case, kind, derivative, 40, tests.points[k], losses))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("derivative", DERIVATIVES)
def test_thousands_of_points_equal_one_at_a_time(case, kind, derivative):
    rng = np.random.default_rng(0)
    points = rng.uniform(0.1, 0.9, size=(600, 2))
    together = case.test(kind, points, directions=60, derivative=derivative)
    np.testing.assert_array_equal(together.points, points)
    for k in [0, 255, 256, 511, 512, 599]:
        alone = case.test(kind, points[k], directions=60, derivative=derivative)
        assert alone.p_value[0] == together.p_value[k]
        for name in ("feasibility", "separation", "critical_value"):
            assert getattr(alone, name)[0] == pytest.approx(getattr(together, name)[k], abs=1e-10)
    assert together.p_value.min() == 0.01  # never 0: 1 / (1 + B)
    looser = together.at(0.3)
    assert looser.alpha == 0.3
    assert (looser.reject >= together.reject).all()
    np.testing.assert_array_equal(looser.reject, together.p_value <= 0.3)
    frame = together.to_frame()
    assert list(frame.columns[:2]) == ["risk 1", "risk 0"]
    np.testing.assert_array_equal(frame["reject"], together.reject)


def test_points_of_the_estimated_frontier_and_points_far_away(case):
    for kind, curve in (("fairness-accuracy", case.ff.frontier()), ("pareto", case.ff.pareto_frontier())):
        on = case.test(kind, curve.points[::50])
        assert not on.reject.any()
        inside, outside = case.ff.support_function_.estimate.mirror / 2, np.array([0.01, 0.01])
        far = case.test(kind, [inside, outside])
        assert far.p_value[1] == 1 / (1 + B)
        assert far.feasibility[0] == 0 < far.separation[0]
        assert far.separation[1] == 0 < far.feasibility[1]


def test_points_deep_inside_are_rejected_with_enough_data():
    ff = fit(rows(3000, 1), options={"n_boot": B})
    centre = ff.support_function_.estimate.mirror / 2
    for call in (ff.test_frontier, ff.test_pareto):
        for derivative in DERIVATIVES:
            assert call(centre, derivative=derivative).p_value[0] == 1 / (1 + B)


# --- confidence sets of frontiers ---------------------------------------------------------------------


@pytest.fixture(scope="module", params=["balanced fairness-accuracy", "skewed fairness-accuracy", "balanced pareto"])
def region(request):
    design, kind = request.param.split(" ")
    X, y, g = make_liu_molinari(500 if design == "balanced" else 600, design, random_state=4)
    x = X.to_numpy()
    if design == "balanced":
        success = [x[:, 0] + x[:, 1] + 0.5 * x[:, 2], -x[:, 0] - 0.5 * x[:, 1] + x[:, 3]]
    else:
        success = [2 * (x[:, 0] + x[:, 1] + x[:, 2]), 0.7 * (x[:, 0] + 0.5 * x[:, 1] + 0.6 * x[:, 3])]
    t = np.column_stack([m * -np.tanh(s / 2) for m, s in zip((0.6, 0.4), success, strict=True)])
    ff = FairFrontier(n_boot=199, random_state=0).fit(None, y, sensitive_features=g, external_nuisance=t)
    call = ff.frontier_confidence_set if kind == "fairness-accuracy" else ff.pareto_confidence_set
    return ff, kind, call(directions=100)


def lattice(region):
    x, y = np.meshgrid(region.x, region.y)
    return np.column_stack([x.ravel(), y.ravel()])


def test_mask_is_the_inverted_test(region):
    ff, kind, found = region
    points = lattice(found)
    call = ff.test_frontier if kind == "fairness-accuracy" else ff.test_pareto
    allowed = ((points >= 0) & (points <= 1)).all(axis=1)
    p = call(points[allowed], directions=100).p_value
    full = np.full(len(points), np.nan)
    full[allowed] = p
    p = full.reshape(found.mask.shape)
    known = ~np.isnan(p)
    disagree = (found.mask != (p > found.alpha)) & known
    # lattice points have the membership that their own tests give them, but for tips thinner than a cell
    assert disagree.sum() <= 3
    assert found.mask.any()
    assert not found.mask[[0, -1]].any()  # the box is wide enough
    assert not found.mask[:, [0, -1]].any()
    assert found.tested < found.mask.size  # and not every point had to be tested
    assert np.isfinite(found.p_value).all()


def test_membership_of_single_points(region):
    _, _, found = region
    points = lattice(found)
    mask = found.mask
    interior = np.zeros_like(mask)
    window = np.lib.stride_tricks.sliding_window_view(mask, (3, 3))
    interior[1:-1, 1:-1] = window.all(axis=(2, 3)) | ~window.any(axis=(2, 3))
    chosen = interior.ravel() & (np.arange(mask.size) % 11 == 0)
    np.testing.assert_array_equal(found.contains(points[chosen]), mask.ravel()[chosen])
    # between lattice points: away from the boundary the four corners decide
    corners = np.stack([mask[:-1, :-1], mask[1:, :-1], mask[:-1, 1:], mask[1:, 1:]])
    centre = np.stack(np.meshgrid((found.x[1:] + found.x[:-1]) / 2, (found.y[1:] + found.y[:-1]) / 2), axis=-1)
    for agree, expected in ((corners.all(axis=0), True), (~corners.any(axis=0), False)):
        members = found.contains(centre[agree][::5])
        assert (members == expected).mean() > 0.99


def test_polygons_enclose_the_mask_and_have_its_area(region):
    _, _, found = region
    rings = found.polygons
    points = lattice(found)
    turns = np.zeros(len(points))
    for ring in rings:
        np.testing.assert_array_equal(ring[0], ring[-1])
        sign = np.sign(polygon_area(ring[:-1]))
        turns += sign * Path(ring).contains_points(points)
    inside = found.mask.ravel()
    strictly = np.abs(found.p_value.ravel() - found.alpha) > 1e-9
    np.testing.assert_array_equal(turns[strictly] > 0, inside[strictly])
    cell = (found.x[1] - found.x[0]) * (found.y[1] - found.y[0])
    by_cells = found.mask.sum() * cell
    border = sum(np.hypot(*np.diff(ring, axis=0).T).sum() for ring in rings)
    step = max(found.x[1] - found.x[0], found.y[1] - found.y[0])
    assert abs(found.area - by_cells) <= border * step
    assert found.area == pytest.approx(by_cells, rel=0.2)


def test_estimated_frontier_is_covered(region):
    ff, kind, found = region
    curve = (ff.frontier() if kind == "fairness-accuracy" else ff.pareto_frontier()).points
    assert found.contains(curve[::4]).all()
    # and so by the picture: the lattice points round each point of the curve are not all outside
    column = np.searchsorted(found.x, curve[:, 0])
    row = np.searchsorted(found.y, curve[:, 1])
    for i, j in zip(row, column, strict=True):
        assert found.mask[i - 1 : i + 1, j - 1 : j + 1].any()


def test_sets_are_nested_in_the_level(region):
    ff, kind, found = region
    levels = [found.at(alpha) for alpha in (0.01, 0.05, 0.1, 0.25)]
    for wide, narrow in pairwise(levels):
        assert (wide.mask >= narrow.mask).all()
        assert wide.mask.sum() > narrow.mask.sum()
        assert wide.area > narrow.area
    points = lattice(found)[::11]
    for wide, narrow in pairwise(levels):
        assert (wide.contains(points) >= narrow.contains(points)).all()
    # another level read from the same p-values is close to the set made for that level
    call = ff.frontier_confidence_set if kind == "fairness-accuracy" else ff.pareto_confidence_set
    assert call(0.2, directions=100).area == pytest.approx(found.at(0.2).area, rel=0.1)


# --- bands --------------------------------------------------------------------------------------------


SIDES = {"two-sided": np.abs, "lower": lambda t: t, "upper": lambda t: -t}


@cache
def plain_t(case):
    """Every draw at every direction in its own standard errors, (B, K)."""
    multipliers = plain.weights_of_draws(case.context.function, B, case.context.seed)
    return np.array([plain.studentised(case.context.function.scores, m, unit_circle(1000)) for m in multipliers])


def plain_sup_t(case, side):
    return np.nanmax(SIDES[side](plain_t(case)), axis=1)


@given(plain.score_samples(), st.booleans())
@settings(max_examples=40)
def test_studentised_draws_of_nasty_samples(sample, clustered):
    """Ties, zeros, one-sided groups, axes along which rows tie exactly, and clusters across groups."""
    scores, rng = sample
    n = len(scores.l0)
    if clustered:
        scores = replace(scores, clusters=rng.integers(0, max(n // 3, 1), n))
    function, seed = build_support_function(scores), np.random.SeedSequence(3)
    q = np.vstack([plain.AXES, unit_circle(24, 0.1)])
    shifts = 0.1 * rng.normal(size=(3, len(q)))
    drawn = draw_studentised(function, q, n_boot=99, seed=seed)
    moved = draw_studentised(function, q, shifts, n_boot=99, seed=seed, n_jobs=2)
    for b, m in enumerate(plain.weights_of_draws(function, 99, seed)[:8]):
        own = ((drawn, plain.studentised(scores, m, q)), (moved, plain.studentised(scores, m, q, shifts[b % 3])))
        for found, values in own:
            kept = values[~np.isnan(values)]
            if len(kept):
                assert found.above[b] == pytest.approx(kept.max(), rel=1e-4, abs=1e-8)
                assert found.below[b] == pytest.approx(-kept.min(), rel=1e-4, abs=1e-8)
            else:
                assert (found.above[b], found.below[b]) == (0.0, 0.0)


@pytest.mark.parametrize(("n", "warned"), [(150, True), (600, False)])
def test_small_groups_are_warned_of(n, warned):
    """By people of equal weight, or clusters, in the smaller group."""
    data = rows(n, 6)
    for arguments in ({}, {"sample_weight": np.where(np.arange(n) % 2, 1.0, 0.5)}, {"clusters": np.arange(n) // 5}):
        ff = fit(data, options={"n_boot": B}, **arguments)
        weight, clusters = arguments.get("sample_weight", np.ones(n)), arguments.get("clusters", np.arange(n))
        sizes = []
        for g in ff.groups_:
            own = data.g == g
            each = [weight[own & (clusters == c)].sum() for c in np.unique(clusters[own])]
            sizes.append(sum(each) ** 2 / sum(v**2 for v in each))
        feasible = ff.feasible_set()
        np.testing.assert_allclose(effective_sizes(feasible.context.function), sizes)
        with warnings.catch_warnings(record=True) as raised:
            warnings.simplefilter("always")
            feasible.confidence_band()
        assert [w.category for w in raised] == [SmallSampleWarning] * int(min(sizes) < 150)
        assert bool(raised) == (warned or "clusters" in arguments)
        if raised:
            unit = "clusters" if "clusters" in arguments else "people"
            assert f"group {ff.groups_[int(np.argmin(sizes))]} is worth {min(sizes):.0f} {unit}" in str(
                raised[0].message
            )
            assert raised[0].filename == __file__


@pytest.mark.parametrize("side", ["two-sided", "lower", "upper"])
def test_band(case, side):
    feasible = case.ff.feasible_set()
    band = feasible.confidence_band(side=side)
    sup = plain_sup_t(case, side)
    np.testing.assert_allclose(band.sup_t, sup, rtol=1e-7)
    for alpha in (0.05, 0.1, 0.3):
        judged = band.at(alpha)
        c = np.sort(sup)[int(np.ceil((1 - alpha) * B - 1e-9)) - 1]
        assert judged.critical_value == pytest.approx(c, rel=1e-7)
        assert feasible.confidence_band(alpha, side).critical_value == judged.critical_value
        q = unit_circle(37, 0.02)
        h, error = case.ff.support(q), np.sqrt(np.diag(case.ff.support_covariance(q)) / case.n)
        if side == "upper":
            assert (judged.lower(q) == -np.inf).all()
            assert len(judged.inner) == 0
        else:
            np.testing.assert_allclose(judged.lower(q), h - c * error, atol=1e-9)
        if side == "lower":
            assert (judged.upper(q) == np.inf).all()
            assert len(judged.outer) == 0
        else:
            np.testing.assert_allclose(judged.upper(q), h + c * error, atol=1e-9)


def test_bands_are_nested_and_one_sided_ones_are_narrower(case):
    feasible = case.ff.feasible_set()
    bands = {side: feasible.confidence_band(0.1, side) for side in ("two-sided", "lower", "upper")}
    assert bands["lower"].critical_value <= bands["two-sided"].critical_value
    assert bands["upper"].critical_value <= bands["two-sided"].critical_value
    q = unit_circle(100)  # among the directions of the polygons
    two = bands["two-sided"]
    assert (two.lower(q) <= bands["lower"].lower(q)).all()
    assert (bands["upper"].upper(q) <= two.upper(q)).all()
    assert (two.lower(q) < case.ff.support(q)).all()
    assert (case.ff.support(q) < two.upper(q)).all()
    # h is positively homogeneous, and so are the limits
    np.testing.assert_allclose(two.upper(3.0 * q), 3.0 * two.upper(q))
    assert len(two.outer) > 2
    assert polygon_area(two.outer) > feasible.area
    assert convex_contains(two.outer, feasible.vertices, slack=1e-9).all()
    support = (q @ two.outer.T).max(axis=1)
    assert (support <= two.upper(q) + 1e-6).all()
    if len(two.inner):
        assert convex_contains(two.outer, two.inner, slack=1e-9).all()
        assert convex_contains(feasible.vertices, two.inner, slack=1e-9).all()
    wide, narrow = two.at(0.02), two.at(0.3)
    assert convex_contains(wide.outer, narrow.outer, slack=1e-9).all()
    if len(wide.inner):
        assert convex_contains(narrow.inner, wide.inner, slack=1e-9).all()


def test_inner_polygon_exists_with_enough_data_and_is_what_the_lower_limits_leave():
    data = rows(3000, 1)
    ff = fit(data, options={"n_boot": B})
    band = ff.feasible_set().confidence_band()
    q = unit_circle(1000)
    for polygon, limit in ((band.inner, band.lower(q)), (band.outer, band.upper(q))):
        assert len(polygon) > 10
        gap = limit - (q @ polygon.T).max(axis=1)
        assert gap.min() > -1e-9  # inside every half plane
        on_edges = limit[:, None] - q @ polygon.T
        assert ((on_edges < 1e-8).sum(axis=0) >= 2).all()  # and every vertex on two of their edges
    assert convex_contains(band.outer, band.inner).all()


# --- tests about the feasible set ---------------------------------------------------------------------


def plain_set_test(case, bound, sign):
    """T = sqrt(n)[max_q sign (bound(q) - h(q))]_+ and its draws by the numerical derivative."""
    q = unit_circle(1000)
    draws = case.context.draw(q)
    gap = np.array([sign * (bound(x) - draws.h_hat[k]) for k, x in enumerate(q)])
    z = draws.z_h()
    null = []
    for b in range(B):
        moved = max(gap[k] - sign * case.step * z[b, k] for k in range(len(q)))
        null.append(max((moved - gap.max()) / case.step, 0.0))
    return case.root * max(gap.max(), 0.0), np.array(null)


def test_set_tests(case):
    feasible = case.ff.feasible_set()
    corners = np.array([[0.35, 0.45], [0.6, 0.5], [0.5, 0.7]])

    def hull(q):
        return max(q @ corner for corner in corners)

    for found, bound, sign in (
        (feasible.test([0.3, 0.35]), lambda q: q @ [0.3, 0.35], 1.0),
        (feasible.test_contains(corners), hull, 1.0),
        (feasible.test_contained_in(corners), hull, -1.0),
    ):
        statistic, null = plain_set_test(case, bound, sign)
        assert found.statistic == pytest.approx(statistic, abs=1e-9)
        np.testing.assert_allclose(found.draws, null, atol=1e-9)
        assert found.p_value == (1 + np.count_nonzero(found.draws >= found.statistic)) / (1 + B)
        for alpha in (0.05, 0.2):
            assert found.at(alpha).reject == (found.p_value <= alpha)
            rank = int(np.ceil((1 - alpha + 1e-6) * B))
            assert found.at(alpha).critical_value == pytest.approx(np.sort(null)[rank - 1] + 1e-6, abs=1e-8)


def test_set_tests_are_sensible(case):
    feasible = case.ff.feasible_set()
    centre = case.ff.support_function_.estimate.mirror / 2
    near = centre + 0.02 * unit_circle(6)
    everything = [[-1.0, -1.0], [2.0, -1.0], [2.0, 2.0], [-1.0, 2.0]]
    assert feasible.test(centre).p_value == 1.0
    assert feasible.test([0.0, 0.0]).p_value == 1 / (1 + B)
    assert feasible.test([0.0, 0.0]).reject
    assert feasible.test_contains(near).p_value == 1.0
    assert feasible.test_contains(everything).p_value == 1 / (1 + B)
    assert feasible.test_contained_in(everything).p_value == 1.0
    assert feasible.test_contained_in(near).p_value == 1 / (1 + B)
    assert "feasible" in feasible.test(centre).null
    # the estimate itself is neither rejected as a subset nor as a superset
    assert not feasible.test_contains(feasible.vertices).reject


# --- variances ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("clustered", [False, True])
@pytest.mark.parametrize("kind", ["continuous", "lattice", "zeros", "nothing"])
def test_variance_is_the_diagonal_of_the_covariance(weighted, clustered, kind):
    rng = np.random.default_rng(8)
    n = 130
    t = rng.integers(-2, 3, size=(n, 2)).astype(float) if kind == "lattice" else rng.normal(size=(n, 2))
    if kind == "zeros":
        t[rng.random(n) < 0.5] = 0.0
    if kind == "nothing":
        t[:] = 0.0
    is_r = rng.random(n) < 0.4
    weight = rng.exponential(size=n) * (rng.random(n) < 0.8) if weighted else np.ones(n)
    clusters = np.unique(rng.integers(0, 40, n), return_inverse=True)[1] if clustered else None
    scores = make_scores(
        rng.normal(size=n),
        rng.normal(size=n),
        t,
        group_codes(is_r),
        weight,
        clusters=clusters,
        upper=0.5 + 0.5 * rng.random(n),
    )
    function = build_support_function(scores)
    q = np.vstack([unit_circle(120, 0.01), plain.AXES])
    np.testing.assert_allclose(function.variance(q), np.diag(function.covariance(q)), rtol=1e-9, atol=1e-12)


def region_of(test, curve, low, high, levels=LEVELS, progress=None):
    box = (np.array(low, dtype=float), np.array(high, dtype=float))
    curve = np.atleast_2d(curve)
    return frontier_region(
        "pareto", test, curve, box, groups=("r", "b"), alpha=0.05, n_boot=99, levels=levels, progress=progress
    )


def cone(points):
    """P-values that fall from 1 at (0.3, -0.2) to 0 at the distance 1: a disc of radius 0.95 has more than 0.05."""
    return np.maximum(1.0 - np.hypot(points[:, 0] - 0.3, points[:, 1] + 0.2), 0.0)


def test_a_box_is_widened_on_the_sides_that_are_reached_until_it_holds_the_set():
    region = region_of(cone, [0.3, -0.2], [0.1, -0.5], [0.5, 5.0])
    width, height, low, high = 0.4, 5.5, 0.1, 0.5
    bottom = -0.5
    while 0.3 - low <= 0.95 or bottom >= -0.2 - 0.95:
        sideways, down = 0.3 - low <= 0.95, bottom >= -0.2 - 0.95
        if sideways:
            low, high = low - 0.3 * width, high + 0.3 * width
        if down:
            bottom -= 0.3 * height
        width, height = high - low, 5.0 - bottom
    np.testing.assert_allclose([region.x[0], region.x[-1]], [low, high])
    np.testing.assert_allclose([region.y[0], region.y[-1]], [bottom, 5.0])  # the upper side was never reached
    assert len(region.x) == len(region.y) == 16 * 2**3 + 1
    assert region.area == pytest.approx(np.pi * 0.95**2, rel=0.01)
    (outline,) = region.polygons
    np.testing.assert_allclose(np.hypot(outline[:, 0] - 0.3, outline[:, 1] + 0.2), 0.95, atol=0.01)


def test_a_box_is_not_widened_for_ever():
    region = region_of(lambda points: np.ones(len(points)), [0.0, 0.0], [-1, -1], [1, 1], levels=0)
    assert region.x[-1] - region.x[0] == pytest.approx(2.0 * 1.6**20)


def test_only_cells_at_the_curve_are_refined_where_corners_agree():
    seen = []

    def nothing_accepted(points):
        seen.append(points)
        return np.zeros(len(points))

    told = []
    region = region_of(
        nothing_accepted, [0.53, 0.47], [0, 0], [1, 1], levels=2, progress=lambda *step: told.append(step)
    )
    everywhere = {(i / 16, j / 16) for i in range(17) for j in range(17)}
    beside = {(i / 32, j / 32) for i in range(14, 21) for j in range(12, 19)}  # the curve's cell and its neighbours
    at_curve = {(i / 64, j / 64) for i in range(32, 35) for j in range(30, 33)}  # then its cell only
    expected = everywhere | beside | at_curve
    found = np.vstack(seen)
    inner = found[((found > 0) & (found < 1)).all(axis=1)]  # the border has been looked at for the size of the box
    assert {tuple(p) for p in inner} == {p for p in expected if 0 < p[0] < 1 and 0 < p[1] < 1}
    assert region.tested == len(expected)
    assert len(inner) == len({tuple(p) for p in inner})  # no point twice
    assert [step[2] for step in told] == ["lattice of 16 cells"] * 2 + ["lattice of 32 cells", "lattice of 64 cells"]
    assert [step[:2] for step in told] == [(256, 289), (289, 289), (33, 33), (5, 5)]


def test_cells_with_corners_that_disagree_are_refined():
    def inside(x, y):
        return (x > 0.3) & (x < 0.9) & (y > 0.1) & (y < 0.9)

    far = [5.0, 5.0]  # no curve in the box
    region = region_of(lambda p: inside(p[:, 0], p[:, 1]).astype(float), far, [0, 0], [1, 1], levels=1)
    np.testing.assert_array_equal(region.mask, inside(region.x[None], region.y[:, None]))
    assert region.tested < 33 * 33


def test_values_between_lattice_points_are_means_of_their_neighbours():
    rng = np.random.default_rng(4)
    p = rng.random((4, 5))
    fine = _halved(p)
    assert fine.shape == (7, 9)
    for i in range(7):
        for j in range(9):
            rows, columns = sorted({i // 2, (i + 1) // 2}), sorted({j // 2, (j + 1) // 2})
            assert fine[i, j] == pytest.approx(p[np.ix_(rows, columns)].mean())


def test_limits_that_do_not_exist_are_empty_polygons():
    rng = np.random.default_rng(12)
    n = 30
    scores = make_scores(rng.normal(size=n), rng.normal(size=n), rng.normal(size=(n, 2)), np.arange(n) % 2, np.ones(n))
    function = build_support_function(scores)
    for side, nothing in (("upper", "inner"), ("lower", "outer")):
        assert getattr(SupportBand(function, 0.05, side, np.ones(99)), nothing).shape == (0, 2)
    wide = SupportBand(function, 0.05, "two-sided", np.full(99, 1e3))
    assert wide.inner.shape == (0, 2)  # no set fits between limits so far apart
    assert len(wide.outer) > 2
    assert deepest_point(unit_circle(8), np.full(8, -1.0)) is None
    np.testing.assert_allclose(deepest_point(unit_circle(8), unit_circle(8) @ [3.0, -4.0] + 1.0), [3.0, -4.0])


@pytest.mark.kernels
def test_largest_values_over_directions_by_plain_loops():
    rng = np.random.default_rng(13)
    for noise, n_directions in ((0.01, 40), (0.3, 40), (5.0, 40), (0.0, 33), (0.3, 1)):
        x = rng.normal(size=(6, n_directions)).round(1)  # with ties
        z = noise * rng.normal(size=(n_directions, 300)).round(1)  # more draws than are handled at a time
        np.testing.assert_array_equal(shifted_max(x, z), (x[:, :, None] - z[None]).max(axis=1))
    x, z = rng.normal(size=(6, 11)), 0.3 * rng.normal(size=(11, 300))
    level = np.sort(x, axis=1)[:, [-1, -2, -3, 0, 5, -1]].diagonal().copy()  # contact sets of many sizes
    contact = np.array([(-z[x[p] >= level[p]]).max(axis=0) for p in range(6)])
    np.testing.assert_array_equal(_contact_max(x, level, z), contact)


def test_no_direction_that_may_win_in_a_draw_is_skipped():
    rng = np.random.default_rng(14)
    circle, part = frontier_directions("pareto", 60)
    size = rng.choice([0.01, 30.0], size=(60, 1))  # beside directions that hardly vary, far ones win by their noise
    h, z = (rng.normal(size=60) for _ in range(2)), (size * rng.normal(size=(60, 120)) for _ in range(2))
    process = FrontierProcess("pareto", circle, part, *h, *z, n_obs=400, unit=1.0)
    points = rng.normal(size=(5, 2))
    step = 20.0**-0.49
    null = np.zeros((5, 120))
    for sign, q, own_h, own_z in (
        (1.0, circle, process.h_circle, process.z_circle),
        (-1.0, part, process.h_part, process.z_part),
    ):
        excess = points @ q.T - own_h
        moved = (excess[:, :, None] - step * own_z[None]).max(axis=1)
        null += np.maximum(sign * (moved - excess.max(axis=1)[:, None]), 0.0) / step
    expected = [critical_value(row, 0.05) for row in null]
    np.testing.assert_allclose(ProcessNulls(process, points, "numerical").critical_values(0.05), expected, rtol=1e-10)
