"""The test of best points against R and plain loops; bounds and lattices of the points it accepts by definition."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.spatial import cKDTree
from support import plain
from support.best_point_cases import U, circle, drawn_values, on_side, plain_part, plain_test, window
from support.codes import group_codes
from support.lda_cases import Case, rule_values, with_arc_ends
from support.shared import shared_path
from support.small_samples import fit, learned, rows

from fairfrontier import FairFrontier
from fairfrontier.bootstrap.draws import DrawingContext
from fairfrontier.errors import InputError, NotFittedError
from fairfrontier.frontier.support import build_support_function, make_scores
from fairfrontier.inference.best_points import ExtremePoint, extreme_points
from fairfrontier.inference.lattices import lattice, lowest, to_side
from fairfrontier.inference.p_values import critical_value, critical_value_error

B = 99
REACHES = (None, np.pi / 4, np.pi / 2)
NAN, INF = float("nan"), float("inf")
CANDIDATES_R = np.array([[0.2, 0.6], [0.3, 0.3], [0.1, 0.5], [0.25, 0.7], [-0.4, 1.3]])
CANDIDATES_B = np.array([[0.6, 0.35], [0.5, 0.3], [0.4, 0.4], [0.3, 0.35], [2.0, 0.0]])
pytestmark = pytest.mark.filterwarnings(
    "ignore::fairfrontier.errors.WeakLearnerWarning", "ignore::fairfrontier.errors.EmptySetWarning"
)


# --- the authors' R programs --------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["case0", "case2"])
def test_statistics_and_critical_values_of_the_r_program(name):
    table = pd.read_csv(shared_path("reference", "r-cases", f"{name}.csv"))
    expected = json.loads(shared_path("reference", "r-cases", f"{name}.json").read_text())
    ff = FairFrontier(random_state=0, n_boot=1000).fit(
        None, table["Y"], sensitive_features=table["G"], external_nuisance=table[["dr", "db"]].to_numpy()
    )
    assert ff.groups_ == (1, 0)
    r = expected["best_points"]
    tests = ff.test_best_points(r["R"], r["B"], directions=r["directions_each"])
    np.testing.assert_allclose(tests.statistic, r["statistic"], rtol=1e-8, atol=1e-8)
    own = tests.critical_value_error
    error = np.hypot(own, own * np.sqrt(1000 / expected["n_boot"]))  # R's quantile comes from its own number of draws
    assert ((own > 0.0) & (own < 0.2)).all()
    assert (np.abs(tests.critical_value - r["critical_value_95"]) <= 4.0 * error).all()
    clear = np.abs(tests.statistic - r["critical_value_95"]) > 4.0 * error
    assert clear.any()
    np.testing.assert_array_equal(tests.reject[clear], (tests.statistic > r["critical_value_95"])[clear])


# --- statistic and draws ------------------------------------------------------------------------------


@pytest.fixture(scope="module", params=["plain", "weights", "clusters", "bounds"])
def case(request):
    return Case(request.param, n=80)


@pytest.mark.parametrize("directions", [8, 100])
def test_statistic_and_draws_in_the_windows(case, directions):
    tests = case.ff.test_best_points(CANDIDATES_R, CANDIDATES_B, directions=directions)
    assert tests.draws.shape == (len(CANDIDATES_R), B)
    for j in range(len(CANDIDATES_R)) if directions == 8 else (0, 1):
        grids = [window(u, directions) for u in U]
        statistic, draws = plain_test(case.context, CANDIDATES_R[j], CANDIDATES_B[j], grids, case.step)
        assert tests.statistic[j] == pytest.approx(statistic, abs=1e-9)
        np.testing.assert_allclose(tests.draws[j], draws, rtol=0, atol=1e-8)


@pytest.mark.parametrize("reach", REACHES)
@pytest.mark.parametrize("held", [True, False])
def test_other_steps_held_rules_other_arcs_and_the_whole_circle(case, reach, held):
    step = np.sqrt(np.log(80) / 80)
    found = extreme_points(case.context, U, 20, window=reach, step=step, hold_rules=held)
    grids = [circle(u, 20) if reach is None else window(u, 20, reach) for u in U]
    for point, u, q in zip(found, U, grids, strict=True):
        np.testing.assert_array_equal(point.u, u)
        np.testing.assert_allclose(point.q, q, rtol=0, atol=1e-14)
        assert (point.n_obs, point.step) == (80, step)
    (t_r, d_r), (t_b, d_b) = found[0].test(CANDIDATES_R), found[1].test(CANDIDATES_B)
    for j in range(len(CANDIDATES_R)):
        statistic, draws = plain_test(case.context, CANDIDATES_R[j], CANDIDATES_B[j], grids, step, held, False)
        assert t_r[j] + t_b[j] == pytest.approx(statistic, abs=1e-9)
        np.testing.assert_allclose(d_r[j] + d_b[j], draws, rtol=0, atol=1e-8)


def test_points_of_any_direction(case):
    """The same two parts serve for a point at which another direction supports the set."""
    u = np.array([[np.sqrt(0.5), -np.sqrt(0.5)]])
    (point,) = extreme_points(case.context, u, 15, window=np.pi / 4)
    scores = case.function.scores
    multipliers = plain.weights_of_draws(case.function, B, case.context.seed)
    q = window(u[0], 15)
    h = rule_values(scores, q)
    z = np.array([case.root * (drawn_values(scores, m, q, False) - h) for m in multipliers])
    t, d = point.test(CANDIDATES_B)
    for j, e in enumerate(CANDIDATES_B):
        statistic, draws = plain_part(e, u[0], q, h, z, 80, case.step)
        assert t[j] == pytest.approx(statistic, abs=1e-9)
        np.testing.assert_allclose(d[j], draws, rtol=0, atol=1e-8)


@pytest.mark.parametrize("kind", ["plain", "weights", "clusters", "bounds"])
def test_exact_extrema_over_all_directions(kind):
    case = Case(kind, n=50)
    scores = case.function.scores
    multipliers = plain.weights_of_draws(case.function, B, case.context.seed)
    c = case.step * case.root
    tests = case.ff.test_best_points(CANDIDATES_R, CANDIDATES_B)
    again = case.ff.test_best_points(CANDIDATES_R, CANDIDATES_B, directions="exact")
    np.testing.assert_array_equal(tests.draws, again.draws)
    h_u = rule_values(scores, U)
    for j, pair in enumerate(zip(CANDIDATES_R, CANDIDATES_B, strict=True)):
        most = [plain.max_excess(scores, e) for e in pair]
        parts = [max(f, 0) + max(h_u[k] - U[k] @ e, 0) for k, (f, e) in enumerate(zip(most, pair, strict=True))]
        assert tests.statistic[j] == pytest.approx(case.root * sum(parts), abs=1e-8)
        for b in range(0, B, 7):
            drawn = replace(scores, weight=scores.weight * multipliers[b])
            angle = with_arc_ends(drawn, with_arc_ends(scores, np.linspace(0, 2 * np.pi, 4001)))
            q = np.column_stack([np.cos(angle), np.sin(angle)])
            h = (1 - c) * rule_values(scores, q) + c * rule_values(drawn, q)
            at_u = sum(max(x, 0.0) for x in case.root * (rule_values(drawn, U) - h_u))
            moved = [(q @ e - h).max() for e in pair]
            # the maximum over the dense directions is too small, by the curvature between them
            low, high = (
                at_u + sum((max(m + extra, 0) - max(f, 0)) / case.step for m, f in zip(moved, most, strict=True))
                for extra in (0.0, 1e-5)
            )
            assert low - 1e-7 <= tests.draws[j, b] <= high + 1e-7


def test_exact_extrema_bound_those_on_any_grid(case):
    exact = case.ff.test_best_points(CANDIDATES_R, CANDIDATES_B)
    for directions in (8, 37, 400):
        grid = case.ff.test_best_points(CANDIDATES_R, CANDIDATES_B, directions=directions)
        assert (exact.statistic >= grid.statistic - 1e-12).all()


@pytest.mark.parametrize("directions", ["exact", 12])
def test_an_estimated_regret_is_added_to_estimates_and_draws(directions):
    """The mean regret goes to h^, that of one refit after the other to the draws; "exact" is then a fine grid."""
    ff = learned(rows(120, 1), n_boot=B, bias_correction="regret", n_refits=3)
    tests = ff.test_best_points(CANDIDATES_R[:2], CANDIDATES_B[:2], directions=directions)
    function, root, step = ff.support_function_, np.sqrt(120), np.sqrt(120) ** -0.49
    multipliers = plain.weights_of_draws(function, B, ff.fit_.seeds.drawing)
    statistic, draws = np.zeros(2), np.zeros((2, B))
    for u, points in zip(U, (CANDIDATES_R[:2], CANDIDATES_B[:2]), strict=True):
        q = circle(u, 1000) if directions == "exact" else window(u, 12)
        regret = ff.regret_.values(q)
        assert regret.max() > 0
        estimate = rule_values(function.scores, q)
        h = estimate + regret.mean(axis=0)
        drawn = np.array([rule_values(replace(function.scores, weight=m), q) for m in multipliers])
        z = root * (drawn + [regret[b % 3] for b in range(B)] - h)
        for j, e in enumerate(points):
            excess = q @ e - h
            statistic[j] += root * (max(excess.max(), 0) + max(h[-1] - u @ e, 0))
            moved = np.maximum((excess - step * z).max(axis=1), 0) - max(excess.max(), 0)
            draws[j] += moved / step + np.maximum(z[:, -1], 0)
    np.testing.assert_allclose(tests.statistic, statistic, rtol=0, atol=1e-9)
    np.testing.assert_allclose(tests.draws, draws, rtol=0, atol=1e-8)


# --- decisions ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("directions", ["exact", 20])
def test_p_values_critical_values_and_levels(case, directions, monkeypatch):
    tests = case.ff.test_best_points(CANDIDATES_R, CANDIDATES_B, directions=directions, alpha=0.1)

    def refuse(*_, **__):
        raise AssertionError("drew again")

    monkeypatch.setattr("fairfrontier.bootstrap.draws.for_each_draw", refuse)
    monkeypatch.setattr("fairfrontier.bootstrap.exact.for_each_draw", refuse)
    with pytest.raises(AssertionError, match="drew again"):
        case.ff.test_best_points(CANDIDATES_R, CANDIDATES_B, directions=directions)
    assert tests.alpha == 0.1
    for j in range(len(CANDIDATES_R)):
        fewest, most = (1 + sum(d >= tests.statistic[j] + s * 1e-9 for d in tests.draws[j]) for s in (1, -1))
        assert fewest / (1 + B) <= tests.p_value[j] <= most / (1 + B)
    for alpha in (0.01, 0.05, 0.2, 0.4):
        judged = tests.at(alpha)
        assert judged.alpha == alpha
        np.testing.assert_array_equal(judged.reject, tests.p_value <= alpha)
        np.testing.assert_array_equal(judged.critical_value, [critical_value(d, alpha) for d in tests.draws])
        expected = [critical_value_error(d, alpha) for d in tests.draws]
        np.testing.assert_array_equal(judged.critical_value_error, expected)
        far = np.abs(judged.statistic - judged.critical_value) > 1e-5
        np.testing.assert_array_equal(judged.reject[far], (judged.statistic > judged.critical_value)[far])
    frame = tests.to_frame()
    assert list(frame.columns[:4]) == [f"best for {a}: risk {b}" for a in (1, 0) for b in (1, 0)]
    np.testing.assert_array_equal(frame.iloc[:, :4], np.hstack([CANDIDATES_R, CANDIDATES_B]))
    for name in ("statistic", "critical_value", "p_value", "reject"):
        np.testing.assert_array_equal(frame[name], getattr(tests, name))


@pytest.mark.parametrize("directions", ["exact", 20])
def test_each_pair_is_judged_alone_and_as_a_sum_of_two_parts(case, directions):
    both = case.ff.test_best_points(CANDIDATES_R, CANDIDATES_B, directions=directions)
    one = case.ff.test_best_points(CANDIDATES_R[1], CANDIDATES_B[1].tolist(), directions=directions)
    assert one.p_value == both.p_value[[1]]
    np.testing.assert_allclose(one.draws[0], both.draws[1], rtol=0, atol=1e-12)
    crossed = case.ff.test_best_points(CANDIDATES_R, CANDIDATES_B[::-1], directions=directions)
    np.testing.assert_allclose(crossed.statistic + crossed.statistic[::-1], both.statistic + both.statistic[::-1])
    np.testing.assert_allclose(crossed.draws + crossed.draws[::-1], both.draws + both.draws[::-1], atol=1e-12)


def test_true_best_points_are_kept_and_wrong_ones_rejected():
    data = rows(300, 0)
    ff = fit(data, options={"n_boot": B})
    R, B_ = ff.points_.to_numpy()[:2, :2]
    x, y = np.array([[0.3, 0.0], [0.0, 0.3]])
    tests = ff.test_best_points([R, R, R + x, R, R - x], [B_, R, B_, B_ + y, B_])
    assert tests.p_value[0] > 0.5
    assert tests.reject.tolist() == [False, True, True, True, True]


@pytest.mark.parametrize("directions", ["exact", 20])
def test_the_number_of_threads_changes_no_bit(directions):
    data = rows(80, 3)
    one, two, other = (
        fit(data, options={"n_boot": B, "n_jobs": jobs, "random_state": state}).test_best_points(
            CANDIDATES_R, CANDIDATES_B, directions=directions
        )
        for jobs, state in ((1, 4), (2, 4), (1, 5))
    )
    assert one.statistic.tobytes() == two.statistic.tobytes() == other.statistic.tobytes()
    assert one.draws.tobytes() == two.draws.tobytes() != other.draws.tobytes()


# --- bounds on draws and statistics -------------------------------------------------------------------


@st.composite
def extreme_point_samples(draw):
    """The two parts of the test for a nasty sample."""
    scores, rng = draw(plain.score_samples())
    context = DrawingContext(build_support_function(scores), B, np.random.SeedSequence(int(rng.integers(2**31))))
    options = {
        "window": draw(st.sampled_from(REACHES)),
        "step": draw(st.sampled_from([None, 0.05, 0.7])),
        "hold_rules": draw(st.booleans()),
    }
    number = draw(st.integers(0, 1))
    return extreme_points(context, U, draw(st.sampled_from([8, 30])), **options)[number], scores, rng


def points_about(point, rng, k):
    """Points of all sizes that may matter: near the support, near the set and far away."""
    size = np.abs(point.h).max() + np.abs(point.z).max() / np.sqrt(point.n_obs)
    scale = size * np.array([0.01, 0.1, 1.0, 5.0])[rng.integers(4, size=k)]
    return -point.u * abs(point.h_u) * (rng.random((k, 1)) < 0.5) + scale[:, None] * rng.normal(size=(k, 2))


@given(extreme_point_samples())
@settings(max_examples=25)
def test_any_sample_by_plain_loops(sample):
    point, scores, rng = sample
    assert point.h_u == point.h[-1] == pytest.approx(plain.h(scores, point.u), abs=1e-12)
    np.testing.assert_array_equal(point.z_u, point.z[-1])
    points = points_about(point, rng, 6)
    statistic, draws = point.test(points)
    np.testing.assert_array_equal(statistic, point.statistic(points))
    for e, t, d in zip(points, statistic, draws, strict=True):
        expected, plain_draws = plain_part(
            e, point.u, point.q, point.h, point.z.T, point.n_obs, point.step, point.published
        )
        size = np.sqrt(point.n_obs) * (np.abs(e).sum() + np.abs(point.h).max())
        assert t == pytest.approx(expected, abs=1e-13 * size)
        np.testing.assert_allclose(d, plain_draws, rtol=1e-10, atol=1e-12 * size / point.step)


@given(extreme_point_samples())
@settings(max_examples=60)
def test_no_draw_exceeds_the_largest_draws(sample):
    point, _, rng = sample
    _, draws = point.test(points_about(point, rng, 300))
    tolerance = 1e-12 * (1 + np.abs(point.z).max() + np.abs(point.h).max() / point.step)
    assert (draws <= point.largest_draws + tolerance).all()


def test_every_largest_draw_is_reached_far_out():
    """There the direction with the smallest z leads alone."""
    for point in extreme_points(Case("plain", n=40).context, U, 20, window=np.pi / 4):
        far = np.array([1e6 * point.q[k] for k in np.argmin(point.z, axis=0)])
        _, draws = point.test(far)
        # the published draws have no positive part outside: where all z are positive they fall, far out
        lowest = -np.inf if point.published else 0.0
        expected = np.maximum(-point.z.min(axis=0), lowest) + np.maximum(point.z_u, 0.0)
        np.testing.assert_allclose(np.diag(draws), expected, rtol=0, atol=1e-6)
        assert (expected <= point.largest_draws).all()


@given(extreme_point_samples())
@settings(max_examples=60)
def test_the_statistic_is_lipschitz(sample):
    """A move by d changes T by at most 2 sqrt(n) d."""
    point, _, rng = sample
    one = points_about(point, rng, 300)
    other = one + rng.normal(size=(300, 2)) * 10.0 ** rng.uniform(-4, 0.5, size=(300, 1))
    moved = np.abs(point.statistic(one) - point.statistic(other))
    allowed = 2.0 * np.sqrt(point.n_obs) * np.hypot(*(one - other).T)
    assert (moved <= allowed * (1 + 1e-9) + 1e-9).all()


@pytest.mark.parametrize("directions", [10, 11])
def test_rows_perpendicular_to_a_support_stay_untreated(directions):
    """Also where a direction of the window is the support up to rounding."""
    t = np.array([[2.0, 1.0], [2.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -2.0], [1.0, -1.0]])
    is_r = np.array([True, False, False, True, True, False])
    scores = make_scores(np.arange(6.0), np.arange(1.0, 7.0) ** 2, t, group_codes(is_r), np.ones(6))
    context = DrawingContext(build_support_function(scores), B, np.random.SeedSequence(0))
    multipliers = plain.weights_of_draws(context.function, B, context.seed)
    for point, u in zip(extreme_points(context, U, directions, window=np.pi / 4), U, strict=True):
        assert point.h_u == pytest.approx(plain.h(scores, u), abs=1e-12)
        expected = [plain.h(replace(scores, weight=m), u) - plain.h(scores, u) for m in multipliers]
        np.testing.assert_allclose(point.z_u, np.sqrt(6) * np.array(expected), rtol=0, atol=1e-10)


def test_no_points_give_no_statistics():
    (point, _) = extreme_points(Case("plain", n=40).context, U, 8)
    assert point.statistic(np.empty((0, 2))).shape == (0,)
    statistic, draws = point.test(np.empty((0, 2)))
    assert (statistic.shape, draws.shape) == ((0,), (0, B))


def test_many_points_are_handled_in_blocks_without_a_trace():
    (point, _) = extreme_points(Case("plain", n=40).context, U, 8)
    points = np.random.default_rng(0).random((600, 2))
    statistic, draws = point.test(points)
    for j in (0, 255, 256, 511, 512, 599):
        t, d = point.test(points[[j]])
        assert t[0] == pytest.approx(statistic[j], abs=1e-12)
        np.testing.assert_allclose(d[0], draws[j], rtol=0, atol=1e-12)


def test_the_unit_is_the_typical_standard_error():
    z = np.array([[3.0, -4.0], [0.0, 5.0]])
    point = ExtremePoint(U[0], U, np.array([0.2, -0.5]), z, -0.5, z[1], 25, 0.1, np.zeros(2))
    assert point.unit == pytest.approx(np.sqrt((9 + 16 + 25) / 4 / 25))
    assert replace(point, h=1e6 * point.h, z=1e6 * z).unit == pytest.approx(1e6 * point.unit)
    still = replace(point, z=0.0 * z)
    assert still.unit > 0
    assert replace(still, h=1e6 * point.h).unit == pytest.approx(1e6 * still.unit)
    assert replace(still, h=0.0 * point.h).unit > 0


# --- lattices -----------------------------------------------------------------------------------------


def accepted_region(point, limit, k=70):
    """Points with T <= limit among those of a grid that is sure to span them, and of a finer one about them."""
    # u'e lies within limit / sqrt(n) of h(u), and two directions at 45 degrees to it hold the rest in check
    size = 3.0 * (np.abs(point.h).max() + limit / np.sqrt(point.n_obs))
    low, high = np.full(2, -size), np.full(2, size)
    for _ in range(2):
        axes = [np.linspace(a, b, k) for a, b in zip(low, high, strict=True)]
        dense = np.array(np.meshgrid(*axes)).reshape(2, -1).T
        inside = dense[point.statistic(dense) <= limit]
        if len(inside) == 0:
            return inside
        cell = (high - low) / (k - 1)
        low, high = inside.min(axis=0) - cell, inside.max(axis=0) + cell
    return inside


@given(extreme_point_samples(), st.sampled_from([1.6, 0.8]), st.sampled_from([None, True, False]), st.floats(0, 1))
@settings(max_examples=60)
def test_a_lattice_misses_no_accepted_region(sample, spacing, above, share):
    point, _, rng = sample
    limit = float(np.quantile(point.largest_draws, share))
    found = lattice(point, limit, spacing, above)
    last = spacing * point.unit
    wanted = np.vstack([accepted_region(point, limit), points_about(point, rng, 500)])
    wanted = wanted[(point.statistic(wanted) <= limit) & on_side(wanted, above)]
    if len(wanted):
        distance, _ = cKDTree(found).query(wanted)
        assert distance.max() <= last * np.sqrt(0.5) * (1 + 1e-6)
    # nothing is asked about twice, on the other side, or far above the limit
    assert len(np.unique((found / last).round(3), axis=0)) == len(found)
    assert on_side(found, above).all()
    moved = 0 if above is None else 1  # a centre may have moved by half a diagonal, onto the line
    highest = limit + (1 + moved) * 2.0 * np.sqrt(point.n_obs) * last * np.sqrt(0.5)
    assert (point.statistic(found) <= highest * (1 + 1e-9) + 1e-9).all()


@pytest.mark.parametrize("above", [True, False])
@pytest.mark.parametrize("number", [0, 1])
def test_squares_across_the_line_are_moved_onto_it(above, number):
    point = extreme_points(Case("plain", n=100).context, U, 40, window=np.pi / 4)[number]
    spacing, limit = 0.8, 4.0
    last = spacing * point.unit
    every, side = lattice(point, limit, spacing), lattice(point, limit, spacing, above)
    gap = (every[:, 1] - every[:, 0]) * (1 if above else -1)
    # differences of lattice coordinates are multiples of the spacing: squares have their centre on the line, on one
    # side of it, or touch it with a corner, which rounding may count or not
    kept, across, touching = every[gap > 1e-9], every[np.abs(gap) <= 1e-9], every[np.abs(gap + last) <= 1e-9]
    assert min(len(kept), len(across), len(touching)) > 0
    assert cKDTree(side).query(np.vstack([kept, across]))[0].max() < 1e-12
    corners = np.repeat(touching.mean(axis=1)[:, None], 2, axis=1)
    assert cKDTree(np.vstack([kept, across, corners])).query(side)[0].max() < 1e-12
    on_line = np.abs(side[:, 0] - side[:, 1]) <= 1e-12
    assert on_line.sum() >= len(across)


def test_points_on_the_wrong_side_move_to_the_nearest_on_the_line():
    points = np.array([[0.1, 0.5], [0.5, 0.1], [0.3, 0.3], [-0.2, -0.6]])
    np.testing.assert_allclose(to_side(points, True), [[0.1, 0.5], [0.3, 0.3], [0.3, 0.3], [-0.4, -0.4]])
    np.testing.assert_allclose(to_side(points, False), [[0.3, 0.3], [0.5, 0.1], [0.3, 0.3], [-0.2, -0.6]])


@given(extreme_point_samples(), st.booleans())
@settings(max_examples=60)
def test_the_lowest_statistic_of_a_side(sample, above):
    """The last squares are at most 0.02 units wide, and no point of one is farther off than half its diagonal."""
    point, _, rng = sample
    assume(np.abs(point.h).max() > 0)
    least, at = lowest(point, above)
    assert on_side(at[None], above).all()
    assert least == pytest.approx(point.statistic(at[None])[0], abs=1e-12)
    size = 3.0 * np.abs(point.h).max()
    axis = np.linspace(-size, size, 60)
    dense = np.array(np.meshgrid(axis, axis)).reshape(2, -1).T
    near = at + 0.3 * point.unit * rng.uniform(-1, 1, size=(1500, 2))
    everything = to_side(np.vstack([dense, points_about(point, rng, 500), near]), above)
    resolution = 2.0 * np.sqrt(point.n_obs) * 0.02 * point.unit * np.sqrt(0.5)
    assert least <= point.statistic(everything).min() + resolution + 1e-9


def test_the_lowest_statistic_where_h_is_zero():
    """No loss in any direction of the window: the smallest statistic is 0, at the origin."""
    still = made_point(U[0], 0.0, 1.0, 100)
    for above in (True, False):
        least, at = lowest(still, above)
        assert least == pytest.approx(0.0, abs=0.03)
        np.testing.assert_allclose(at, [0.0, 0.0], atol=0.01)


def made_point(u, h, z_size, n_obs, seed=0):
    """A point of the window about u with one value of h in all directions and draws of a given size."""
    q = window(u, 50)
    z = z_size * np.random.default_rng(seed).normal(size=(len(q), B))
    return ExtremePoint(u, q, np.full(len(q), h), z, h, z[-1], n_obs, 0.1, h * u)


@pytest.mark.parametrize("h", [-0.2, 0.001, 0.3])
@pytest.mark.parametrize("spacing", [0.5, 0.6, 0.7, 0.8, 0.9])
@pytest.mark.parametrize("number", [0, 1])
def test_lattices_reach_far_enough_when_risks_are_small_beside_the_draws(h, spacing, number):
    """The directions of a window leave the set open; what closes it is the support itself."""
    point = made_point(U[number], h, 1.0, 100)
    limit = float(point.largest_draws.max())
    wanted = accepted_region(point, limit)
    distance, _ = cKDTree(lattice(point, limit, spacing)).query(wanted)
    assert distance.max() <= spacing * point.unit * np.sqrt(0.5) * (1 + 1e-6)


# --- what is refused ----------------------------------------------------------------------------------

GOOD = [[0.3, 0.4], [0.2, 0.5]]
BAD_CALLS = {
    "different lengths": (GOOD, GOOD[:1], {}, "bad-risks", "the same number of points, got 2 and 1"),
    "missing in R": ([[0.3, NAN], [0.2, 0.5]], GOOD, {}, "bad-risks", "finite"),
    "missing in B": (GOOD, [[0.3, 0.4], [NAN, 0.5]], {}, "bad-risks", "finite"),
    "infinite": (GOOD, [[0.3, INF], [0.2, 0.5]], {}, "bad-risks", "finite"),
    "three columns": ([[0.1, 0.2, 0.3]], GOOD, {}, "bad-risks", "shape"),
    "one number": (0.3, 0.3, {}, "bad-risks", "shape"),
    "three dimensions": ([GOOD], GOOD, {}, "bad-risks", "shape"),
    "nothing": (np.empty((0, 2)), np.empty((0, 2)), {}, "bad-risks", "shape"),
    "text": (["a", "b"], GOOD, {}, "bad-risks", "numbers"),
    **{f"alpha {a!r}": (GOOD, GOOD, {"alpha": a}, "bad-alpha", "alpha") for a in (0.0, 0.5, 1.0, -0.1, NAN, "5%")},
    "a level too small for the draws": (GOOD, GOOD, {"alpha": 0.001}, "bad-draws", "99 draws"),
    **{
        f"directions {d!r}": (GOOD, GOOD, {"directions": d}, "bad-option", "at least 8")
        for d in (7, 0, -20, 20.0, True, "all")
    },
}


@pytest.fixture(scope="module")
def small():
    return fit(rows(60, 0), options={"n_boot": B})


@pytest.mark.parametrize("name", BAD_CALLS)
def test_bad_calls_are_refused(small, name):
    R, B_, options, code, fragment = BAD_CALLS[name]
    with pytest.raises(InputError, match=fragment) as caught:
        small.test_best_points(R, B_, **options)
    assert caught.value.code == code


def test_another_level_is_checked_too(small):
    tests = small.test_best_points(GOOD, GOOD)
    for alpha, code in ((0.7, "bad-alpha"), (0.001, "bad-draws")):
        with pytest.raises(InputError) as caught:
            tests.at(alpha)
        assert caught.value.code == code


def test_nothing_is_tested_before_the_fit():
    with pytest.raises(NotFittedError, match="fit"):
        FairFrontier().test_best_points(GOOD, GOOD)
