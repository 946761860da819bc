"""The three LDA tests against plain loops over draws; witness, verdict, levels and reports by their definitions."""

import json
import warnings
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pandas as pd
import plain
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_frontier_properties import fit, learned, rows

from fairfrontier import FairFrontier
from fairfrontier.bootstrap import make_plan
from fairfrontier.errors import FairFrontierWarning
from fairfrontier.geometry import improvement_corners, off_breakpoint, unit_circle
from fairfrontier.inference._exact import _draw_arcs, _edges, _line, _parts
from fairfrontier.inference.lda import between, robust_grid
from fairfrontier.inference.levels import combine_repetitions, critical_value, critical_value_error, holm
from fairfrontier.inference.results import _ratio
from fairfrontier.inference.witness import Witness
from fairfrontier.support import build_support_function, make_scores

N, B = 160, 99
METHODS = ("robust", "sharp", "paper")
pytestmark = pytest.mark.filterwarnings(
    "ignore::fairfrontier.errors.WeakLearnerWarning", "ignore::fairfrontier.errors.EmptySetWarning"
)


class Case:
    """A fitted object, three algorithms (a coin, a useful rule, a lottery) and two fixed pairs."""

    def __init__(self, kind, n=N):
        rng = np.random.default_rng(11)
        self.data = rows(n, 2)
        arguments = {}
        if kind == "weights":
            arguments["sample_weight"] = rng.exponential(size=n) * (rng.random(n) < 0.9)
        elif kind == "clusters":
            arguments["clusters"] = rng.permutation(np.arange(n) % (n // 4))
        elif kind == "bounds":
            arguments |= {"lower": 0.1, "upper": np.where(rng.random(n) < 0.5, 0.8, 1.0)}
        self.ff = fit(self.data, options={"n_boot": B}, **arguments)
        self.decisions = {
            "coin": rng.integers(0, 2, n).astype(float),
            "rule": (self.data.t.sum(axis=1) < 0).astype(float),
            "lottery": rng.random(n),
        }
        self.points = {"fixed": [0.4, 0.45], "on the line": [0.45, 0.45]}
        self.context = self.ff.feasible_set().context
        self.function = self.context.function
        self.root = np.sqrt(n)
        self.step = np.sqrt(n) ** (-0.5 + 0.01)

    def results(self, method, **options):
        """(name, result, losses of the algorithm or None) for all algorithms and points."""
        l0 = self.data.y.astype(float)
        algorithms = self.ff.test_lda(self.decisions, method=method, randomised=True, **options)
        for name, a in self.decisions.items():
            yield name, algorithms[name], l0 + a * (1 - 2 * l0)
        points = self.ff.test_lda(risks=self.points, method=method, **options)
        for name in self.points:
            yield name, points[name], None

    def draw(self, q, losses, e, hold_rules=False):
        """h^ (K,), sqrt(n)(h~ - h^) (B, K) and sqrt(n)(e~ - e^) (B, 2) at the directions."""
        draws = self.context.draw(q, None if losses is None else losses[None], hold_rules=hold_rules)
        z_e = np.zeros((B, 2)) if losses is None else draws.z_risks()[:, 0]
        if losses is not None:
            np.testing.assert_allclose(e, draws.risks_hat[0], atol=1e-13)
        return draws.h_hat, draws.z_h(), z_e


@pytest.fixture(scope="module", params=["plain", "weights", "clusters", "bounds"])
def case(request):
    return Case(request.param)


def at_direction(case, q, h, z_h, e, z_e):
    """sqrt(n) D^(q) and its draws at one direction, loop by loop."""
    still = plain.improvement_support(e, -q)
    draws = []
    for b in range(B):
        moved = plain.improvement_support(e + case.step * z_e[b], -q)
        draws.append(z_h[b] + (moved - still) / case.step)
    return case.root * (still + h), np.array(draws)


def rule_risks(case, q):
    """Risks (2,) of the rule of direction q and their draws (B, 2), row by row from the random multipliers."""
    s = case.function.scores
    k = s.t @ (np.asarray(q) / case.function.mu)
    losses = s.l0 + s.dl * (k > 0)
    random = plain.weights_of_draws(case.function, B, case.context.seed)

    def means(weight):
        return np.array([np.average(losses[rows], weights=weight[rows]) for rows in (s.is_r, ~s.is_r)])

    return means(s.weight), np.array([means(s.weight * w) for w in random])


def robust_tests(case, losses, e):
    """Direction, statistic and draws of every test that the robust one consists of."""
    grid = plain.robust_grid(N)
    h, z_h, z_e = case.draw(grid, losses, e, hold_rules=True)
    for k, q in enumerate(grid):
        yield q, *at_direction(case, q, h[k], z_h[:, k], e, z_e)
    rules = [rule_risks(case, q) for q in grid]
    for k in range(len(grid) - 1):
        x = plain.where_neighbours_are_equal(grid[k], grid[k + 1], rules[k][0], rules[k + 1][0])
        if x is not None:
            for risk, draws in (rules[k], rules[k + 1]):
                yield x, *at_direction(case, x, x @ risk, case.root * (draws - risk) @ x, e, z_e)


def test_robust(case):
    for _, test, losses in case.results("robust"):
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
        np.testing.assert_allclose(test.evidence.direction, directions[decisive[0]], atol=1e-12)
        assert test.separation == max(test.statistic, 0.0)


@given(st.integers(0, 2**32 - 1))
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
    angle = np.linspace(0.75 * np.pi, 1.75 * np.pi, 501)[1:-1]
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


def rule_values(scores, q):
    """h at directions (K, 2) by its definition, whatever the weights."""
    mu = plain.group_shares(scores)
    treated = scores.t @ (q / mu).T > 0
    loss = scores.l0[:, None] + scores.dl[:, None] * treated
    means = [np.average(loss[rows_], axis=0, weights=scores.weight[rows_]) for rows_ in (scores.is_r, ~scores.is_r)]
    return q[:, 0] * means[0] + q[:, 1] * means[1]


def with_arc_ends(scores, dense, low=0.0, high=2 * np.pi):
    """Angles of a dense grid and of both sides of every breakpoint, between low and high."""
    scaled = scores.t / plain.group_shares(scores)
    angle = np.arctan2(scaled[:, 1], scaled[:, 0])
    ends = np.concatenate([angle + k * np.pi / 2 for k in (-1, 1)])[:, None] + [-1e-10, 1e-10]
    every = np.concatenate([dense, (ends.ravel() - low) % (2 * np.pi) + low])
    return every[(every >= low) & (every <= high)]


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


# --- levels -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
def test_p_values_and_decisions_follow_from_the_draws(case, method):
    for _, test, _ in case.results(method):
        assert len(test.draws) == B
        fewest, most = (1 + sum(d >= test.statistic + s * 1e-9 for d in test.draws) for s in (1, -1))
        assert fewest / (1 + B) <= test.p_value <= most / (1 + B)  # apart from ties that rounding decides
        for alpha in (0.01, 0.05, 0.1, 0.3, test.p_value if test.p_value < 0.5 else 0.2):
            judged = test.at(alpha)
            assert judged.reject == (test.p_value <= alpha)
            if judged.reject:
                assert test.statistic > judged.critical_value - 2e-6
            ordered = np.sort(test.draws)
            rank = int(np.ceil((1 - alpha + 1e-6) * B))  # the smallest draw with at least this share at or below
            assert judged.critical_value == pytest.approx(ordered[min(rank, B) - 1] + 1e-6, abs=1e-12)
        assert test.at(0.05).critical_value_error >= 0


def test_standard_error_of_a_quantile():
    """For normal draws the standard error of the 95% quantile is sqrt(a (1 - a) / B) / density."""
    rng = np.random.default_rng(0)
    errors = [critical_value_error(rng.normal(size=4000), 0.05) for _ in range(200)]
    density = np.exp(-(1.6449**2) / 2) / np.sqrt(2 * np.pi)
    assert np.mean(errors) == pytest.approx(np.sqrt(0.05 * 0.95 / 4000) / density, rel=0.05)
    values = [critical_value(rng.normal(size=4000), 0.05) for _ in range(400)]
    assert np.mean(errors) == pytest.approx(np.std(values), rel=0.15)


@given(st.lists(st.floats(0.001, 1.0), min_size=1, max_size=8))
@settings(max_examples=100, deadline=None)
def test_holm(p_values):
    p = np.array(p_values)
    expected = np.empty(len(p))
    largest = 0.0
    left = len(p)
    for k in sorted(range(len(p)), key=lambda j: p[j]):
        largest = max(largest, left * p[k])
        expected[k] = min(1.0, largest)
        left -= 1
    np.testing.assert_allclose(holm(p), expected, rtol=1e-15)
    # rejections are those of Holm's procedure: step down until the first failure
    for alpha in (0.05, 0.2):
        rejected, order = set(), np.argsort(p, kind="stable")
        for step, k in enumerate(order):
            if p[k] > alpha / (len(p) - step):
                break
            rejected.add(int(k))
        clear = np.abs(holm(p) - alpha) > 1e-9
        assert {int(k) for k in np.flatnonzero((holm(p) <= alpha) & clear)} == {k for k in rejected if clear[k]}


def test_several_algorithms_are_adjusted_and_one_is_not(case):
    tests = case.ff.test_lda(case.decisions, randomised=True)
    raw = [t.p_value for t in tests.values()]
    np.testing.assert_allclose([t.p_value_adjusted for t in tests.values()], holm(np.array(raw)))
    one = case.ff.test_lda(case.decisions["coin"])
    assert one.p_value_adjusted == one.p_value == tests["coin"].p_value


def test_repetitions_are_combined_by_twice_the_median():
    data = rows(240, 5)
    coin = np.random.default_rng(0).integers(0, 2, 240)
    half = np.where(np.arange(240) % 3 == 0, coin, data.t.sum(axis=1) < 0)
    ff = learned(data, n_rep=3, n_boot=B)
    single = [fit(data, t=t, options={"n_boot": B}) for t in ff.nuisance_.predictions]
    for decisions in (coin, half, data.y):
        for method in METHODS:
            combined = ff.test_lda(decisions, method=method)
            alone = [f.test_lda(decisions, method=method) for f in single]
            for name in ("p_value", "robust_p_value"):
                expected = min(1.0, 2.0 * np.median([getattr(t, name) for t in alone]))
                assert getattr(combined, name) == pytest.approx(expected, abs=1e-15)
            feasibility = [t.evidence.feasibility_p_value for t in alone]
            assert combined.evidence.feasibility_p_value == pytest.approx(min(1, 2 * np.median(feasibility)))
            assert combined.reject == (combined.p_value <= combined.alpha)
            central = [t.statistic for t in alone]
            assert min(abs(combined.statistic - c) for c in central) < 1e-12
    assert combine_repetitions(np.array([0.7])) == 0.7
    assert combine_repetitions(np.array([0.7, 0.8, 0.9])) == 1.0


def test_another_level_needs_no_draws_and_is_monotone(case, monkeypatch):
    tests = [t for method in METHODS for _, t, _ in case.results(method)]

    def refuse(*_, **__):
        raise AssertionError("drew again")

    monkeypatch.setattr("fairfrontier.bootstrap.for_each_draw", refuse)
    monkeypatch.setattr("fairfrontier.inference._exact.for_each_draw", refuse)
    with pytest.raises(AssertionError, match="drew again"):
        case.ff.test_lda(case.decisions["coin"])
    for test in tests:
        levels = [test.at(alpha) for alpha in (0.01, 0.05, 0.1, 0.2, 0.4)]
        assert test.at(test.alpha).to_dict() == test.to_dict()
        for strict, loose in pairwise(levels):
            assert loose.reject >= strict.reject
            assert (loose.verdict == "lda-shown") >= (strict.verdict == "lda-shown")
            assert loose.critical_value <= strict.critical_value
            assert strict.p_value == loose.p_value
            bounds = strict.evidence.gain_bound
            assert bounds.upper(loose.alpha) <= bounds.upper(strict.alpha)
            if test.evidence.witness is not None:
                w = test.evidence.witness
                assert (w.lower_bounds(loose.alpha) >= w.lower_bounds(strict.alpha)).all()


# --- witness ------------------------------------------------------------------------------------------


def plain_gains(risk, e):
    return np.array([e[0] - risk[0], e[1] - risk[1], abs(e[0] - e[1]) - abs(risk[0] - risk[1])])


def test_witness(case):
    seen = 0
    scores = case.function.scores
    for _, test, losses in case.results("robust"):
        w = test.evidence.witness
        if w is None:
            assert test.robust_p_value > 0.5  # D is negative somewhere: nothing to show
            continue
        seen += 1
        assert w.shares.sum() == pytest.approx(1.0, abs=1e-12)
        assert (w.shares > 0).all()
        assert len(w.shares) == len(w.directions) <= 2
        # its decisions, from the rule itself
        chance = np.zeros(len(scores.l0))
        for q, share in zip(w.directions, w.shares, strict=True):
            chance += share * (scores.t @ (q / plain.group_shares(scores)) > 0)
        own_losses = scores.l0 + chance * scores.dl
        if scores.lower is not None:
            chance = scores.lower + scores.spread * chance
        direct = case.ff.risks(chance)
        np.testing.assert_allclose(w.risk, direct.risk, atol=1e-12)
        np.testing.assert_allclose(w.selection_rate, direct.selection_rate, atol=1e-12)
        np.testing.assert_allclose(w.gain, plain_gains(direct.risk, test.risk), atol=1e-12)
        # estimated gains are positive whenever the candidates allow it
        q = unit_circle(91, 0.75 * np.pi, 1.75 * np.pi, endpoint=True)
        honest = case.ff.support_set(q)
        possible = max(
            plain_gains(s * honest[i] + (1 - s) * honest[j], test.risk).min()
            for i in range(0, 91, 3)
            for j in range(i, 91, 3)
            for s in (0.0, 0.3, 0.5, 0.7, 1.0)
        )
        if possible > 0:
            assert w.gain.min() > 0
        # draws: jointly with the algorithm's risks, the absolute gap by the numerical derivative
        both = np.vstack([own_losses] if losses is None else [own_losses, losses])
        draws = case.context.draw(np.array([[1.0, 0.0]]), both)
        z_w = draws.z_risks()[:, 0]
        z_e = np.zeros((B, 2)) if losses is None else draws.z_risks()[:, 1]
        s, gain = case.step, plain_gains(direct.risk, test.risk)
        for b in range(B):
            moved = plain_gains(direct.risk + s * z_w[b], test.risk + s * z_e[b])
            expected = gain + (moved - gain) / s / case.root
            np.testing.assert_allclose(w.gain_draws[b], expected, atol=1e-10)
        for alpha in (0.05, 0.2):
            scale = [np.std([d[k] - gain[k] for d in w.gain_draws]) for k in range(3)]
            largest = sorted(max((d[k] - gain[k]) / scale[k] for k in range(3)) for d in w.gain_draws)
            c = largest[int(np.ceil((1 - alpha) * B - 1e-9)) - 1]
            bounds = w.lower_bounds(alpha)
            np.testing.assert_allclose(bounds, gain - c * np.array(scale), atol=1e-10)
            assert (bounds < gain).all()
            assert w.confirmed(alpha) == all(bounds > 0)
    assert seen >= 2


def test_a_gain_without_spread_is_its_own_lower_bound():
    rng = np.random.default_rng(0)
    gain = np.array([0.1, 0.2, 0.05])
    draws = gain + 0.01 * rng.normal(size=(200, 3))
    draws[:, 1] = gain[1]
    one = np.array([[-1.0, 0.0]])
    w = Witness(one, np.ones(1), np.array([0.3, 0.3]), np.array([0.5, 0.5]), gain, draws)
    both = w.intervals(0.05)
    np.testing.assert_allclose(both.mean(axis=1), w.gain)
    covered = (np.abs(w.gain_draws - w.gain) <= (both[:, 1] - both[:, 0]) / 2 + 1e-12).all(axis=1)
    assert covered.mean() >= 0.95  # the draws themselves lie within, all three together
    assert covered.mean() < 0.99
    bounds = w.lower_bounds(0.05)
    assert (both[:, 0] <= bounds + 1e-12).all()
    assert bounds[1] == pytest.approx(0.2)
    assert 0.05 < bounds[0] < 0.1
    still = Witness(one, np.ones(1), w.risk, w.selection_rate, gain, np.broadcast_to(gain, (200, 3)))
    np.testing.assert_allclose(still.lower_bounds(0.05), gain)
    assert still.confirmed(0.05)


# --- verdict ------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def big():
    """A larger sample on which all three outcomes occur; groups have names."""
    data = rows(1500, 3)
    g = np.where(data.g == 1, "men", "women")
    ff = fit(data, g=g, options={"n_boot": 199, "groups": ("men", "women")})
    coin = np.random.default_rng(1).integers(0, 2, 1500)
    optimal = (data.t.sum(axis=1) < 0).astype(int)
    return data, ff, {"coin": coin, "optimal": optimal, "oracle": data.y}


def test_three_outcomes(big):
    _, ff, decisions = big
    for method in METHODS:
        tests = ff.test_lda(decisions, method=method)
        assert {name: t.verdict for name, t in tests.items()} == {
            "coin": "lda-shown",
            "optimal": "no-evidence",
            "oracle": "not-comparable",
        }
        assert tests["coin"].witness is not None
        assert tests["coin"].gain_bound is None
        assert tests["optimal"].witness is None
        assert tests["optimal"].gain_bound >= 0
        assert tests["oracle"].witness is None
        assert tests["oracle"].gain_bound is None
        assert tests["oracle"].feasibility > 0
        assert tests["coin"].feasibility == 0
        assert tests["coin"].witness.gain.min() > 0


@pytest.mark.parametrize("p", [0.01, 0.2])
@pytest.mark.parametrize("robust", [0.01, 0.2])
@pytest.mark.parametrize("feasible", [0.01, 0.2])
def test_only_the_robust_test_claims(big, p, robust, feasible):
    _, ff, decisions = big
    test = ff.test_lda(decisions["coin"], method="sharp")
    made = replace(
        test,
        evidence=replace(test.evidence, p_value=p, robust_p_value=robust, feasibility_p_value=feasible),
    )
    assert made.reject == (p <= 0.05)
    if robust <= 0.05:
        assert made.verdict == "lda-shown"
    else:
        assert made.verdict == ("not-comparable" if feasible <= 0.05 else "no-evidence")
    assert (made.witness is None) == (made.verdict != "lda-shown")
    assert (made.gain_bound is None) == (made.verdict != "no-evidence")


def test_gain_bound_is_the_upper_limit_of_the_criterion(case):
    for _, test, losses in case.results("sharp"):
        q = test.gain_weights
        assert np.abs(q).sum() == pytest.approx(1.0)
        direction = test.evidence.gain_bound.direction
        np.testing.assert_allclose(direction, -q / np.hypot(*q), atol=1e-14)
        h, z_h, z_e = case.draw(direction[None], losses, test.risk, hold_rules=True)
        statistic, draws = at_direction(case, direction, h[0], z_h[:, 0], test.risk, z_e)
        for alpha in (0.05, 0.2):
            lowest = sorted(draws / case.root)
            # D <= D^ - (alpha quantile of D~ - D^): at least 1 - alpha of the -draws lie at or below
            reach = -lowest[B - int(np.ceil((1 - alpha) * B - 1e-9))]
            expected = max(0.0, statistic / case.root + reach)
            assert test.evidence.gain_bound.upper(alpha) == pytest.approx(expected, abs=1e-10)
            if test.at(alpha).verdict == "no-evidence":
                scale = np.abs(test.evidence.gain_bound.direction).sum()
                assert test.at(alpha).gain_bound == pytest.approx(expected / scale, abs=1e-10)


# --- reports ------------------------------------------------------------------------------------------


def numbers_of(value):
    if isinstance(value, dict):
        return [x for v in value.values() for x in numbers_of(v)]
    if isinstance(value, list):
        return [x for v in value for x in numbers_of(v)]
    return [value] if isinstance(value, float) else []


@pytest.mark.parametrize("method", METHODS)
def test_dictionary_and_json(big, method):
    _, ff, decisions = big
    for name, test in ff.test_lda(decisions, method=method).items():
        record = test.to_dict()
        assert json.loads(test.to_json()) == record
        assert np.isfinite(numbers_of(record)).all()
        assert record["algorithm"] == name
        assert record["groups"] == ["men", "women"]
        assert record["verdict"] == test.verdict
        assert record["n_boot"] == 199
        assert (record["witness"] is None) == (test.witness is None)
        rates = record["selection_rate"]
        assert record["selection_ratio"] == pytest.approx(min(rates) / max(rates))
        np.testing.assert_allclose(rates, ff.risks(decisions[name]).selection_rate)
        np.testing.assert_allclose(record["risk"], ff.risks(decisions[name]).risk)
        if test.witness is not None:
            w = record["witness"]
            assert w["selection_ratio"] == pytest.approx(min(w["selection_rate"]) / max(w["selection_rate"]))


def test_summary_says_what_is_shown_and_what_is_not(big):
    _, ff, decisions = big
    tests = ff.test_lda(decisions)
    for test in tests.values():
        text = test.summary()
        assert test.name in text
        assert "group men" in text
        assert "group women" in text
        assert "not a legal finding" in text
        assert "trained on these rows" in text
        assert "selects" in text
    assert "Shown" in tests["coin"].summary()
    assert "An alternative" in tests["coin"].summary()
    assert "does not show that none exists" in tests["optimal"].summary()
    assert "at most" in tests["optimal"].summary()
    assert "comparison does not apply" in tests["oracle"].summary()
    assert "own score as a covariate" in tests["oracle"].summary()
    assert tests.summary().count("Is there a less discriminatory alternative") == 3
    unconfirmed = replace(
        tests["coin"],
        evidence=replace(
            tests["coin"].evidence,
            witness=replace(tests["coin"].witness, gain_draws=np.random.default_rng(0).normal(size=(199, 3))),
        ),
    )
    assert "not yet confirmed" in unconfirmed.summary()
    frame = tests.to_frame()
    assert list(frame.index) == list(decisions)
    assert frame.loc["coin", "verdict"] == "lda-shown"


# --- ways of asking -----------------------------------------------------------------------------------


def same(first, second):
    one, other = first.to_dict(), second.to_dict()
    for record in (one, other):
        record.pop("algorithm")
    assert one.keys() == other.keys()
    for key in set(one) - {"witness", "p_value_adjusted"}:
        assert one[key] == (other[key] if one[key] is None or isinstance(one[key], str) else pytest.approx(other[key]))
    np.testing.assert_allclose(first.draws, second.draws, rtol=0, atol=1e-12)


def test_mapping_frame_and_array_agree(case):
    decisions = {name: case.decisions[name] for name in ("coin", "rule")}
    expected = case.ff.test_lda(decisions)
    assert list(expected) == ["coin", "rule"]
    for given_ in (
        pd.DataFrame(decisions),
        pl.DataFrame(decisions),
        np.column_stack(list(decisions.values())),
        {name: pd.Series(a.astype(bool)) for name, a in decisions.items()},
        {name: a.astype(int).tolist() for name, a in decisions.items()},
    ):
        found = case.ff.test_lda(given_)
        assert len(found) == 2
        for a, b in zip(found.values(), expected.values(), strict=True):
            same(a, b)
    assert list(case.ff.test_lda(np.column_stack(list(decisions.values())))) == ["algorithm 1", "algorithm 2"]
    alone = case.ff.test_lda(pd.Series(decisions["coin"]))
    np.testing.assert_allclose(alone.draws, expected["coin"].draws, rtol=0, atol=1e-12)
    assert len(case.ff.test_lda(decisions["coin"][:, None])) == 1


def test_frames_may_have_columns_named_by_numbers(case):
    frame = pd.DataFrame({2019: case.decisions["coin"], 2020: case.decisions["rule"]})
    found = case.ff.test_lda(frame)
    same(found["2019"], case.ff.test_lda({"2019": frame[2019], "2020": frame[2020]})["2019"])


def test_a_threshold_cuts_scores_strictly_above_it(case):
    score = np.round(10 * case.decisions["lottery"])
    cut = case.ff.test_lda(score, threshold=5)
    same(cut, case.ff.test_lda((score > 5).astype(int)))


def test_identical_algorithms_give_identical_results(case):
    coin = case.decisions["coin"]
    for method in METHODS:
        tests = case.ff.test_lda({"a": coin, "b": coin.copy()}, method=method)
        assert tests["a"].p_value == tests["b"].p_value
        assert tests["a"].statistic == tests["b"].statistic
        np.testing.assert_array_equal(tests["a"].draws, tests["b"].draws)
        assert tests["a"].p_value_adjusted == min(1.0, 2 * tests["a"].p_value)


def test_fixed_risks(case):
    one = case.ff.test_lda(risks=[0.4, 0.45])
    several = case.ff.test_lda(risks=[[0.4, 0.45], [0.45, 0.45]])
    named = case.ff.test_lda(risks={"x": [0.4, 0.45], "y": (0.45, 0.45)})
    assert one.selection_rate is None
    assert one.selection_ratio is None
    assert "selects" not in one.summary().split("An alternative")[0]
    assert list(several) == ["point 1", "point 2"]
    assert list(named) == ["x", "y"]
    for a, b in zip(several.values(), named.values(), strict=True):
        same(a, b)
    assert one.p_value == several["point 1"].p_value
    # an algorithm's risks taken as fixed: the same statistic, other draws
    coin = case.ff.test_lda(case.decisions["coin"])
    fixed = case.ff.test_lda(risks=coin.risk)
    assert fixed.separation >= 0
    assert not np.allclose(np.sort(fixed.draws), np.sort(coin.draws))


# --- degenerate cases ---------------------------------------------------------------------------------


def finite(test):
    record = test.to_dict()
    assert np.isfinite(numbers_of(record)).all()
    assert np.isfinite(test.draws).all()
    assert 1 / (1 + B) <= test.p_value <= 1
    assert test.summary()
    assert test.feasibility >= 0
    assert test.separation >= 0


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kinks", [True, False])
def test_degenerate_algorithms_have_defined_results(method, kinks):
    data = rows(N, 2)
    ff = fit(data, options={"n_boot": B})
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
        assert test.statistic == pytest.approx(0.0, abs=1e-12)


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
    scores = make_scores(rng.normal(size=n), rng.normal(size=n), t, is_r, rng.exponential(size=n))
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


@pytest.mark.parametrize("seed", range(6))
def test_the_arcs_of_a_draw_are_those_of_the_reweighted_rows(seed):
    rng, one, other, factor = two_weightings(seed)
    function, again = build_support_function(one), build_support_function(other)
    losses = rng.normal(size=(2, function.n_obs))
    plan, m = make_plan(function, losses), len(function.estimate.a)
    values, mirror, mass, risks = np.empty((m + 1, 2)), np.empty(2), np.empty(2), np.empty((2, 2))
    _draw_arcs(
        *(factor[plan.rows], plan.stops, plan.weight, plan.base, plan.change, plan.extra),
        *(one.is_r[function.order], values, mirror, mass, risks),
    )
    np.testing.assert_allclose(values, again.estimate.values, atol=1e-12)
    np.testing.assert_allclose(mirror, again.estimate.mirror, atol=1e-12)
    np.testing.assert_allclose(mass, other.weight_sums, rtol=1e-12)
    for g, rows_of_group in enumerate((one.is_r, ~one.is_r)):
        expected = losses[:, rows_of_group] @ other.weight[rows_of_group] / other.weight[rows_of_group].sum()
        np.testing.assert_allclose(risks[:, g], expected, atol=1e-12)


def test_the_error_of_the_critical_value_by_hand():
    # the 787th and the 813th of 1000: sqrt(1000 0.2 0.8) = 12.6 to either side of the 800th
    assert critical_value_error(np.arange(1000.0), 0.2) == 13.0
    assert critical_value_error(np.arange(1000.0)[::-1], 0.2) == 13.0
    assert critical_value_error(np.arange(10.0), 0.01) == 0.0  # both ends are the last draw


def test_selection_ratio_by_hand():
    assert _ratio(np.array([0.2, 0.5])) == _ratio(np.array([0.5, 0.2])) == 0.4
    assert _ratio(np.array([0.0, 0.5])) == 0.0
    assert _ratio(np.array([0.0, 0.0])) == 1.0  # nobody is selected: no difference between the groups


def test_the_summary_has_the_numbers_of_the_result(case):
    for method in METHODS:
        for _, test, _ in case.results(method):
            text, (r, b) = test.summary(), test.groups
            e, w = test.risk, test.gain_weights
            assert f"group {r} {e[0]:.4f}, group {b} {e[1]:.4f}, gap {e[0] - e[1]:+.4f}." in text
            if test.verdict == "no-evidence":
                assert f"at most {test.gain_bound:.4f} (95% bound)" in text
                assert f"weighted {w[0]:.2f} ({r}) to {w[1]:.2f} ({b})." in text
            if test.selection_rate is not None:
                rates = test.selection_rate
                assert f"selects {rates[0]:.1%} of group {r} and {rates[1]:.1%} of group {b}" in text
            if test.witness is not None:
                for gain, bound in zip(test.witness.gain, test.witness.lower_bounds(test.alpha), strict=True):
                    assert f"{gain:+.4f} (at least {bound:+.4f})" in text
