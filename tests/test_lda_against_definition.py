"""The three LDA tests against plain loops over draws, and where nothing or everything varies."""

import warnings
from dataclasses import replace
from functools import cache
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import plain
from support.codes import group_codes
from support.lda_cases import METHODS, B, Case, N, at_direction, numbers_of, rule_values, with_arc_ends
from support.small_samples import fit, rows

from fairfrontier import FairFrontier
from fairfrontier.bootstrap.arrangement import arrange_rows
from fairfrontier.bootstrap.exact import _draw_arcs, _edges, _line, _parts
from fairfrontier.bootstrap.kernels import read_block
from fairfrontier.errors import FairFrontierWarning
from fairfrontier.frontier.criteria import risk_rows
from fairfrontier.frontier.plane import improvement_corners, off_breakpoint, unit_circle
from fairfrontier.frontier.support import build_support_function, make_scores
from fairfrontier.inference.fan.forms import folds_of
from fairfrontier.inference.fan.robust import fan_test
from fairfrontier.inference.lda.directions import DirectionBlocks, between, robust_grid

pytestmark = pytest.mark.filterwarnings(
    "ignore::fairfrontier.errors.WeakLearnerWarning", "ignore::fairfrontier.errors.EmptySetWarning"
)


@pytest.fixture(scope="module", params=["plain", "weights", "clusters", "bounds"])
def case(request):
    return Case(request.param)


@cache
def rules_of_grid(case):
    """Risks (2,) of the rule of every direction of the grid and their draws (B, 2), from the random multipliers."""
    s = case.function.scores
    random = plain.weights_of_draws(case.function, B, case.context.seed)

    def means(weight, losses):
        return np.array([np.average(losses[rows], weights=weight[rows]) for rows in (s.is_r, ~s.is_r)])

    rules = []
    for q in plain.robust_grid(N):
        k = s.t @ (np.asarray(q) / case.function.mu)
        losses = s.l0 + s.dl * (k > 0)
        rules.append((means(s.weight, losses), np.array([means(s.weight * w, losses) for w in random])))
    return rules


def robust_tests(case, losses, e):
    """Direction, statistic and draws of every test that the robust one consists of."""
    grid = plain.robust_grid(N)
    h, z_h, z_e = case.draw(grid, losses, e, hold_rules=True)
    for k, q in enumerate(grid):
        yield q, *at_direction(case, q, h[k], z_h[:, k], e, z_e)
    rules = rules_of_grid(case)
    for k in range(len(grid) - 1):
        x = plain.where_neighbours_are_equal(grid[k], grid[k + 1], rules[k][0], rules[k + 1][0])
        if x is not None:
            for risk, draws in (rules[k], rules[k + 1]):
                yield x, *at_direction(case, x, x @ risk, case.root * (draws - risk) @ x, e, z_e)


def test_robust(case):
    """By draws: for risks without decisions, people who are counted, and rules that see the group."""
    for test, losses in case.drawn():
        directions, statistics, draws = zip(*robust_tests(case, losses, test.risk), strict=True)
        found = list(zip(statistics, draws, strict=True))
        p = np.array([(1 + sum(z >= statistic - 1e-9 for z in draws)) / (1 + B) for statistic, draws in found])
        assert test.p_value == p.max() == test.robust_p_value
        decisive = [
            k
            for k in np.flatnonzero(p == p.max())
            if test.statistic == pytest.approx(found[k][0], abs=1e-10)
            and np.allclose(test.draws, found[k][1], rtol=0, atol=1e-9)
        ]
        assert decisive
        # of the directions with the largest p-value the one with the smallest margin decides
        margin = [statistic / draws.std() for statistic, draws in found]
        assert margin[decisive[0]] <= min(margin[k] for k in np.flatnonzero(p == p.max())) + 1e-9
        np.testing.assert_allclose(test.direction, directions[decisive[0]], atol=1e-12)
        assert test.separation == max(test.statistic, 0.0)


def test_decisions_are_tested_over_the_fan_and_risks_by_draws(case):
    fit = case.ff.fit_
    s, losses, bounds = fit.sample, fit.row_losses, fit.bounds
    rows_ = risk_rows(
        losses.l0,
        losses.dl,
        fit.nuisance.predictions[0],
        s.group,
        s.weight,
        clusters=s.clusters,
        lower=bounds.lower,
        upper=bounds.upper,
    )
    for (name, test, _), (evidence, _) in zip(case.results("robust"), case.drawn(), strict=True):
        expected = evidence
        if name in case.decisions:
            expected = fan_test(rows_, case.decisions[name], folds_of(fit), smallest=1 / (1 + B))
            assert test.evidence.share_changed is None
        assert test.statistic == pytest.approx(expected.statistic, rel=1e-12)
        assert test.p_value == pytest.approx(expected.p_value, rel=1e-12)
        np.testing.assert_allclose(test.evidence.direction, expected.direction, rtol=0, atol=1e-14)


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=40)
def test_directions_between_neighbours_leave_no_gap(seed):
    """If some direction has D <= 0 for every rule of the grid, one of the tests of the robust one has D <= 0."""
    rng = np.random.default_rng(seed)
    grid = robust_grid(8)
    points = rng.normal(size=(len(grid), 2)) * rng.choice([0.01, 1.0])
    if rng.random() < 0.3:
        points[rng.integers(len(points), size=4)] = points[0]
    e = rng.normal(size=2)
    number, x = between(grid, points)
    tested = [plain.improvement_support(e, -q) + q @ v for q, v in zip(grid, points, strict=True)]
    tested += [plain.improvement_support(e, -q) + q @ points[k] for k, q in zip(number, x, strict=True)]
    angle = np.linspace(0.75 * np.pi, 1.75 * np.pi, 301)[1:-1]
    cell = np.searchsorted(np.arctan2(grid[:, 1], grid[:, 0]) % (2 * np.pi), angle) - 1
    for a, k in zip(angle, cell, strict=True):
        q = np.array([np.cos(a), np.sin(a)])
        best = plain.improvement_support(e, -q) + max(q @ points[k], q @ points[k + 1])
        assert best > 0.0 or min(tested) <= 1e-12


@pytest.mark.parametrize("success", [0.95, 0.05])
def test_a_coin_flip_where_nothing_can_be_told_apart_has_no_alternative(success):
    """The feasible set is a segment: every direction of a grid but the one across it seems to leave room for gains."""
    p_values = []
    for seed in range(16):
        rng = np.random.default_rng(seed)
        in_r = rng.integers(0, 2, 1000) == 1
        y = (rng.random(1000) < np.where(in_r, success, 1 - success)).astype(int)
        known = np.tile([0.5 - success, success - 0.5], (1000, 1))
        ff = FairFrontier(n_boot=99, random_state=seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FairFrontierWarning)
            ff.fit(None, y, sensitive_features=in_r, external_nuisance=known)
            p_values.append(ff.test_lda(np.full(1000, 0.5), randomised=True).p_value)
    assert sum(p <= 0.05 for p in p_values) <= 4  # of 16; half of them with the directions of the grid alone


def test_sharp(case):
    for _, test, losses in case.results("sharp"):
        q = test.evidence.direction
        angle = np.linspace(0.75 * np.pi, 1.75 * np.pi, 181)
        dense = np.column_stack([np.cos(angle), np.sin(angle)])
        criterion = [
            plain.improvement_support(test.risk, -x) + plain.plug_in(case.function.scores, x) for x in [q, *dense]
        ]
        assert criterion[0] <= min(criterion[1:]) + 1e-12
        assert criterion[0] >= min(criterion[1:]) - 1e-3
        h, z_h, z_e = case.draw(q[None], losses, test.risk, hold_rules=True)
        statistic, draws = at_direction(case, q, h[0], z_h[:, 0], test.risk, z_e)
        assert test.statistic == pytest.approx(statistic, abs=1e-9)
        np.testing.assert_allclose(test.draws, draws, rtol=0, atol=1e-9)


def half_and_whole(directions):
    turn = np.linspace(0, 2 * np.pi, directions)
    half = np.linspace(0.75 * np.pi, 1.75 * np.pi, directions)
    return (np.column_stack([np.cos(x), np.sin(x)]) for x in (half, turn))


@pytest.mark.parametrize("kinks", [True, False])
def test_paper_on_a_grid(case, kinks):
    half, circle = half_and_whole(60)
    for _, test, losses in case.results("paper", directions=60, kinks=kinks):
        e = test.risk
        h_half, z_half, z_e = case.draw(half, losses, e)
        h_circle, z_circle, _ = case.draw(circle, losses, e)
        excess = [q @ e - h_circle[k] for k, q in enumerate(circle)]
        depth = [plain.improvement_support(e, -q) + h_half[k] for k, q in enumerate(half)]
        draws = []
        for b in range(B):
            moved_e = e + case.step * z_e[b]
            if kinks:
                moved_excess = max(q @ moved_e - h_circle[k] - case.step * z_circle[b, k] for k, q in enumerate(circle))
                moved_depth = min(
                    plain.improvement_support(moved_e, -q) + h_half[k] + case.step * z_half[b, k]
                    for k, q in enumerate(half)
                )
                first, second = (moved_excess - max(excess)) / case.step, (moved_depth - min(depth)) / case.step
            else:
                f, d = int(np.argmax(excess)), int(np.argmin(depth))
                first = circle[f] @ z_e[b] - z_circle[b, f]
                still = plain.improvement_support(e, -half[d])
                second = (plain.improvement_support(moved_e, -half[d]) - still) / case.step + z_half[b, d]
            draws.append(max(first, 0.0) + max(second, 0.0))
        assert test.feasibility == pytest.approx(case.root * max(max(excess), 0.0), abs=1e-9)
        assert test.separation == pytest.approx(case.root * max(min(depth), 0.0), abs=1e-9)
        assert test.statistic == pytest.approx(test.feasibility + test.separation, abs=1e-12)
        np.testing.assert_allclose(test.draws, draws, rtol=0, atol=1e-8)


def test_paper_exact_without_kinks(case):
    for _, test, losses in case.results("paper", kinks=False):
        e, arcs = test.risk, case.function.estimate
        f, d = (off_breakpoint(x.direction) for x in (arcs.max_excess(e), arcs.min_separation(e)))
        _, z_h, z_e = case.draw(np.vstack([f, d]), losses, e)
        draws = []
        for b in range(B):
            moved = plain.improvement_support(e + case.step * z_e[b], -d) - plain.improvement_support(e, -d)
            first, second = f @ z_e[b] - z_h[b, 0], moved / case.step + z_h[b, 1]
            draws.append(max(first, 0.0) + max(second, 0.0))
        np.testing.assert_allclose(test.draws, draws, rtol=0, atol=1e-8)
        assert test.feasibility == pytest.approx(
            case.root * max(plain.max_excess(case.function.scores, e), 0), abs=1e-8
        )
        least = plain.min_separation(case.function.scores, e)
        assert test.separation == pytest.approx(case.root * max(least, 0), abs=1e-8)


def test_paper_with_exact_extrema_of_the_perturbed_process():
    case = Case("weights", n=60)
    scores = case.function.scores
    multipliers = plain.weights_of_draws(case.function, B, case.context.seed)
    c = case.step * case.root
    for _, test, losses in case.results("paper"):
        e = test.risk
        _, _, z_e = case.draw(np.array([[1.0, 0.0]]), losses, e)
        f, d = plain.max_excess(scores, e), plain.min_separation(scores, e)
        assert test.feasibility == pytest.approx(case.root * max(f, 0), abs=1e-8)
        assert test.separation == pytest.approx(case.root * max(d, 0), abs=1e-8)
        for b in range(0, B, 3):
            drawn = replace(scores, weight=scores.weight * multipliers[b])
            moved_e = e + case.step * z_e[b]
            parts = []
            for low, high in ((0.0, 2 * np.pi), (0.75 * np.pi, 1.75 * np.pi)):
                angle = with_arc_ends(scores, np.linspace(low, high, 3001), low, high)
                angle = with_arc_ends(drawn, angle, low, high)
                q = np.column_stack([np.cos(angle), np.sin(angle)])
                h = (1 - c) * rule_values(scores, q) + c * rule_values(drawn, q)
                if low == 0.0:
                    parts.append((q @ moved_e - h).max())
                else:
                    corners = np.array(improvement_corners(moved_e))
                    parts.append(((-q @ corners.T).max(axis=1) + h).min())
            # the grid's maximum is too small and its minimum too large, by the curvature between its points
            low_draw = max(parts[0] - f, 0) / case.step + max(parts[1] - 1e-5 - d, 0) / case.step
            high_draw = max(parts[0] + 1e-5 - f, 0) / case.step + max(parts[1] - d, 0) / case.step
            assert low_draw - 1e-7 <= test.draws[b] <= high_draw + 1e-7


# --- degenerate cases ---------------------------------------------------------------------------------


def finite(test):
    record = test.to_dict()
    assert np.isfinite(numbers_of(record)).all()
    assert np.isfinite(test.draws).all()
    assert 1 / (1 + len(test.draws)) <= test.p_value <= 1
    assert test.summary()
    assert test.feasibility >= 0
    assert test.separation >= 0


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kinks", [True, False])
def test_degenerate_algorithms_have_defined_results(method, kinks):
    data = rows(N, 2)
    ff = fit(data, options={"n_boot": 199})  # enough for 8 algorithms
    t = data.t / np.array([data.g.mean(), 1 - data.g.mean()])
    algorithms = {
        "nobody": np.zeros(N),
        "everybody": np.ones(N),
        "best for 1": (-t[:, 0] > 0).astype(float),
        "best for 0": (-t[:, 1] > 0).astype(float),
        "utilitarian": (-t.sum(axis=1) > 0).astype(float),
        "always right": data.y.astype(float),
        "always wrong": 1.0 - data.y,
        "right for one group": np.where(data.g == 1, data.y, 1 - data.y).astype(float),
    }
    for directions in ("exact", 50) if method == "paper" else (None,):
        options = {"kinks": kinks, "directions": directions} if method == "paper" else {}
        tests = ff.test_lda(algorithms, method=method, **options)
        for test in tests.values():
            finite(test)
        # an algorithm that is an optimal rule has no better alternative
        for name in ("best for 1", "best for 0", "utilitarian"):
            assert tests[name].verdict == "no-evidence"
        assert tests["always wrong"].verdict == "lda-shown"
        assert tests["nobody"].selection_ratio == 1.0
        assert tests["nobody"].to_dict()["selection_ratio"] == 1.0


@pytest.mark.parametrize("seed", range(4))
def test_an_algorithm_equal_to_an_optimal_rule_is_never_in_doubt(seed):
    """In the direction of the rule D and all its draws are 0, so the p-value is 1, not what rounding makes of it."""
    data = rows(N, seed)
    ff = fit(data, options={"n_boot": B})
    for column in (0, 1):
        test = ff.test_lda((data.t[:, column] < 0).astype(float))
        assert test.p_value == 1.0
        assert test.statistic == 0.0


@pytest.mark.parametrize("method", METHODS)
def test_no_variance_in_a_group_or_anywhere(method):
    data = rows(N, 2)
    y = np.where(data.g == 1, data.y, 1)
    decisions = {"nobody": np.zeros(N), "everybody": np.ones(N), "mixed": data.g, "coin": np.arange(N) % 2}
    for t in (data.t, np.zeros((N, 2)), np.tile([0.3, -0.1], (N, 1)), np.column_stack([data.t[:, 0], np.zeros(N)])):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FairFrontierWarning)
            ff = fit(data, y=y, t=t, options={"n_boot": B})
        for test in ff.test_lda(decisions, method=method).values():
            finite(test)
        for test in ff.test_lda(risks=[[0.0, 0.0], [1.0, 1.0], [0.3, 0.3]], method=method).values():
            finite(test)


# --- exact extrema of (1 - c) h^ + c h~ ---------------------------------------------------------------


def two_weightings(seed):
    """A small sample, the same with other weights, and the multipliers that lead from one to the other."""
    rng = np.random.default_rng(seed)
    n = 11
    t = rng.integers(-2, 3, size=(n, 2)).astype(float) if seed % 3 == 0 else rng.normal(size=(n, 2))
    is_r = np.arange(n) % 3 > 0
    scores = make_scores(rng.normal(size=n), rng.normal(size=n), t, group_codes(is_r), rng.exponential(size=n))
    factor = rng.exponential(size=n)
    return rng, scores, replace(scores, weight=scores.weight * factor), factor


def edges_of(arcs):
    edges = np.empty((len(arcs.a), 2))
    _edges(arcs.a, arcs.b, *arcs.mu, edges)
    return edges


def mixed_pieces(one, other, c, cuts):
    """Arcs (start, stop, v) between which (1 - c) h^ + c h~ = q'v, also cut at given angles, from ``cuts[0]`` on."""
    starts = [start for scores in (one, other) for start, _, _ in plain.arcs(scores)]
    angles = np.sort((np.array([*starts, *cuts]) - cuts[0]) % (2 * np.pi))
    angles = np.append(angles[np.diff(angles, prepend=-1.0) > 1e-12], 2 * np.pi) + cuts[0]
    for start, stop in pairwise(angles):
        q = np.array([np.cos((start + stop) / 2), np.sin((start + stop) / 2)])
        yield start, stop, (1 - c) * plain.support_set(one, q) + c * plain.support_set(other, q)


@pytest.mark.kernels
@pytest.mark.parametrize("seed", range(24))
def test_exact_parts_of_a_mixture_of_two_support_functions(seed):
    rng, one, other, _ = two_weightings(seed)
    c = [0.0, 0.4, 1.0, 3.0][seed % 4]
    points = np.vstack([0.5 * rng.normal(size=(4, 2)), np.full((1, 2), rng.normal())])
    first, second = build_support_function(one).estimate, build_support_function(other).estimate
    feasibility, separation = np.empty(len(points)), np.empty(len(points))
    _parts(
        *(edges_of(first), first.values, first.mirror, edges_of(second), second.values, second.mirror),
        *(c, points, feasibility, separation),
    )
    cuts = np.array([0.75, 1.0, 1.5, 1.75]) * np.pi
    for e, largest, smallest in zip(points, feasibility, separation, strict=True):
        excess, distance = [], []
        for start, stop, v in mixed_pieces(one, other, c, cuts):
            corners = [e, *improvement_corners(e)]
            turns = [np.arctan2(*(corner - v)[::-1]) + 2 * np.pi * k for corner in corners for k in range(-1, 3)]
            for x in [start, stop, *[x for x in turns if start <= x <= stop]]:
                q = np.array([np.cos(x), np.sin(x)])
                excess.append(q @ (e - v))
                if stop <= cuts[3] + 1e-9:
                    distance.append(plain.improvement_support(e, -q) + q @ v)
        assert largest == pytest.approx(max(excess), abs=1e-10)
        assert smallest == pytest.approx(min(distance), abs=1e-10)


@pytest.mark.kernels
@pytest.mark.parametrize("seed", range(24))
def test_exact_infimum_of_a_mixture_on_the_line(seed):
    _, one, other, _ = two_weightings(seed)
    c = [0.0, 0.4, 1.0, 3.0][seed % 4]
    first, second = build_support_function(one).estimate, build_support_function(other).estimate
    found = _line(edges_of(first), first.values, first.mirror, edges_of(second), second.values, second.mirror, c)
    ends = [np.arctan2(1000.0, -1001.0), np.arctan2(-1000.0, 999.0) + 2 * np.pi]
    values = []
    for start, stop, v in mixed_pieces(one, other, c, ends):
        if stop <= ends[1] + 1e-9:
            for x in (start, stop):
                q = np.array([np.cos(x), np.sin(x)])
                values.append(q @ v / -q.sum())
    assert found == pytest.approx(min(values), rel=1e-9, abs=1e-9)


@pytest.mark.kernels
@pytest.mark.parametrize("seed", range(6))
def test_the_arcs_of_a_draw_are_those_of_the_reweighted_rows(seed):
    rng, one, other, factor = two_weightings(seed)
    function, again = build_support_function(one), build_support_function(other)
    losses = rng.normal(size=(2, function.n_obs))
    arranged, m = arrange_rows(function, losses, in_blocks=False), len(function.estimate.a)
    w, levels, values = np.empty(function.n_obs), np.empty((4, 2)), np.empty((m + 1, 2))
    mirror, risks = np.empty(2), np.empty((2, 2))
    read_block(0, factor, arranged.units, w, arranged.rows, levels)
    _draw_arcs(w, arranged.rows, levels, one.is_r[function.order], values, mirror, risks)
    np.testing.assert_allclose(values, again.estimate.values, atol=1e-12)
    np.testing.assert_allclose(mirror, again.estimate.mirror, atol=1e-12)
    np.testing.assert_allclose(levels[0], other.weight_sums, rtol=1e-12)
    for g, rows_of_group in enumerate((one.is_r, ~one.is_r)):
        expected = losses[:, rows_of_group] @ other.weight[rows_of_group] / other.weight[rows_of_group].sum()
        np.testing.assert_allclose(risks[:, g], expected, atol=1e-12)


def test_blocks_of_directions_lie_one_below_the_other():
    first, second, third = unit_circle(3), np.empty((0, 2)), unit_circle(4, 1.0)
    blocks = DirectionBlocks.stack({"a": first, "b": second, "c": third}, along={"c": -third})
    np.testing.assert_array_equal(blocks.rules, np.vstack([first, third]))
    np.testing.assert_array_equal(blocks.along, np.vstack([first, -third]))
    assert blocks.positions("c", "a").tolist() == [3, 4, 5, 6, 0, 1, 2]
    assert blocks.positions("b").tolist() == []
    assert blocks.position("c", 1).tolist() == [4]
