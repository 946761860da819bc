"""The fairest point and distances to it against plain loops over directions, draws and candidates."""

import json
from collections.abc import Mapping
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import plain
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.spatial import distance as scipy_distance
from sklearn.linear_model import LogisticRegression
from test_frontier_properties import fit, rows

from fairfrontier import FairFrontier
from fairfrontier.bootstrap import DrawingContext, make_plan
from fairfrontier.errors import InputError, NotFittedError
from fairfrontier.inference._exact import perturbed_line_infima
from fairfrontier.inference.distance import _distance_limits, _locate, fairest_evidence, read_metric
from fairfrontier.inference.distance_results import _hull, _union
from fairfrontier.sets import best_points
from fairfrontier.support import build_support_function, make_scores

pytestmark = pytest.mark.filterwarnings(
    "ignore::fairfrontier.errors.WeakLearnerWarning",
    "ignore::fairfrontier.errors.EmptySetWarning",
    "ignore::fairfrontier.errors.MarginWarning",
)
N, B = 160, 99
ROOT = np.sqrt(N)
MARGIN = np.sqrt(np.log(N) / N)
SEED = np.random.SeedSequence(12)
METRICS = {
    "sqeuclidean": scipy_distance.sqeuclidean,
    "euclidean": scipy_distance.euclidean,
    "cityblock": scipy_distance.cityblock,
    "chebyshev": scipy_distance.chebyshev,
}
NOBODY = np.empty((0, 2))
ENDS = np.array([[1.0, -1.0], [-1.0, 1.0]])


def on_line(c):
    """The directions u1 - c(1, -1) = (-1 - c, c)."""
    c = np.atleast_1d(np.asarray(c, dtype=float))
    return np.column_stack([-1.0 - c, c])


def values_of(scores, q, multiplier=None):
    """Support sets (k, 2) at directions (k, 2) by their definition, with the weights multiplied if asked for."""
    weight = scores.weight if multiplier is None else scores.weight * multiplier
    mu = plain.group_shares(replace(scores, weight=weight))
    p = q / mu
    treated = scores.t[:, :1] * p[:, 0] + scores.t[:, 1:] * p[:, 1] > 0.0
    loss = scores.l0[:, None] + scores.dl[:, None] * treated
    means = [weight[g] @ loss[g] / weight[g].sum() for g in (scores.is_r, ~scores.is_r)]
    return np.column_stack(means)


def kth_largest(draws, alpha):
    """What must be exceeded for a p-value of at most alpha, plus the constant 1e-6."""
    return np.sort(draws)[len(draws) - max(int(alpha * (len(draws) + 1) + 1e-12), 1)] + 1e-6


# --- metrics ----------------------------------------------------------------------------------------------


@settings(max_examples=50)
@given(st.sampled_from(sorted(METRICS)), st.integers(0, 2**32 - 1))
def test_metrics_are_those_of_scipy(name, seed):
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=(2, 7, 2)) * 10.0 ** rng.integers(-3, 3)
    y[0] = x[0]
    metric, expected = read_metric(name), [METRICS[name](a, b) for a, b in zip(x, y, strict=True)]
    assert metric.name == name
    np.testing.assert_allclose(metric.between(x, y), expected, rtol=1e-13, atol=0)
    by_hand = read_metric(METRICS[name])
    assert by_hand.name == METRICS[name].__name__
    np.testing.assert_allclose(by_hand.between(x, y), expected, rtol=1e-13, atol=0)
    # shapes are those of numpy, also without any pair
    for own in (metric, by_hand):
        assert own.between(x[:, None], y[None, :3]).shape == (7, 3)
        np.testing.assert_array_equal(own.between(x[:, None], y[None])[:, 2], own.between(x, y[2]))
        assert own.between(x[:0], y[:0]).shape == (0,)


class Halved:
    """A distance without a name."""

    def __call__(self, x, y):
        return 0.5 * abs(x[0] - y[0])


def test_a_function_without_a_name_is_called_custom():
    assert read_metric(Halved()).name == "custom"


@pytest.mark.parametrize("metric", ["manhattan", "", None, 2, ["euclidean"]])
def test_unknown_metrics_are_refused(metric):
    with pytest.raises(InputError, match="sqeuclidean") as caught:
        fit(rows(60)).distance_to_fairest(risks=[0.4, 0.4], metric=metric)
    assert caught.value.code == "bad-option"


@pytest.mark.parametrize(
    "value",
    [-1e-9, np.nan, np.inf, np.array([1.0]), np.zeros(2), [0.5], None, "far", 1j],
    ids=["negative", "nan", "inf", "array", "pair", "list", "nothing", "text", "complex"],
)
def test_functions_that_are_no_distances_are_refused(value):
    with pytest.raises(InputError, match="one finite number >= 0") as caught:
        fit(rows(60)).distance_to_fairest(risks=[0.4, 0.4], metric=lambda x, y: value).conf_int()
    assert caught.value.code == "bad-option"


# --- where F is -------------------------------------------------------------------------------------------


def evidence_of(scores, method="paper", losses=None, fixed=NOBODY, **options):
    context = DrawingContext(build_support_function(scores), B, SEED)
    losses = np.empty((0, len(scores.l0))) if losses is None else losses
    return fairest_evidence(context, losses, fixed, method, **options)


def moved_by_group(scores, shift):
    """The same rows with a constant added to the losses of group b."""
    return replace(scores, l0=scores.l0 + shift * ~scores.is_r)


def ties(scores, q):
    """Whether a row is perpendicular to one of the directions: the value there is not a limit of values beside it."""
    p = q / plain.group_shares(scores)
    moving = scores.t[(scores.t != 0.0).any(axis=1)]
    return bool((np.abs(moving @ p.T) <= 1e-13 * (np.abs(moving) @ np.abs(p.T))).any())


@settings(max_examples=60)
@given(plain.score_samples(), st.sampled_from([0.0, 0.0, 0.3, -0.3, 5.0, -5.0]))
def test_the_published_point_is_minus_the_infimum_or_the_nearest_point(case, shift):
    scores = moved_by_group(case[0], shift)
    found, points = evidence_of(scores), best_points(build_support_function(scores).estimate)
    infimum = plain.line_infimum(scores)
    assume(np.isfinite(infimum) or not ties(scores, ENDS))
    assert found.position == points.position
    assert (found.position == "crosses") == np.isfinite(infimum)
    np.testing.assert_array_equal(found.point, points.F)
    if np.isfinite(infimum):
        np.testing.assert_allclose(found.point, -infimum, rtol=1e-10, atol=1e-10)
        assert found.direction.sum() == pytest.approx(-1.0)
    again = evidence_of(scores)
    np.testing.assert_array_equal(again.point, found.point)
    np.testing.assert_array_equal(again.direction, found.direction)


def least_plug_in(scores):
    """Smallest plug-in criterion over the breakpoints of the line, and its smaller slope beyond the last of them."""
    a, b = (scores.t / plain.group_shares(scores)).T
    with np.errstate(divide="ignore", invalid="ignore"):
        c = a / (b - a)  # q'M t = 0
    c = np.append(c[np.isfinite(c)], 0.0)
    far = 10.0 * (1.0 + np.abs(c).max()) * np.array([-1.0, 1.0])
    rises = [plain.plug_in(scores, on_line(2 * x)[0]) - plain.plug_in(scores, on_line(x)[0]) for x in far]
    return min(plain.plug_in(scores, q) for q in on_line(c)), min(rises) / far[1]


@settings(max_examples=60)
@given(plain.score_samples(), st.sampled_from([0.0, 0.2, -0.2]))
def test_the_sharp_direction_minimises_the_plug_in_criterion(case, shift):
    scores = moved_by_group(case[0], shift)
    found = evidence_of(scores, "sharp")
    least, slope = least_plug_in(scores)
    size = max(1.0, np.abs(scores.l0).max() + np.abs(scores.t).max() * len(scores.l0))
    assume(slope > 1e-9 * size and found.position == "crosses")
    q = found.direction
    assert q.sum() == pytest.approx(-1.0)
    # the direction is turned by 1e-9 radians off the breakpoint that attains the minimum
    assert plain.plug_in(scores, q) <= least + 1e-7 * size * (q @ q)
    assert plain.plug_in(scores, q) >= least - 1e-12 * size * (q @ q)
    np.testing.assert_allclose(found.point, -plain.h(scores, q), rtol=0, atol=1e-10 * size * np.sqrt(q @ q))


def segment(side):
    """Group b has risk 1 under every rule, group r any risk from 0 to 1: the set touches the line at (1, 1)."""
    t = np.tile([[0.25, 0.0], [0.75, 0.0]], (4, 1))
    is_r = np.arange(8) < 4
    l0, dl = np.where(is_r, 0.0, 1.0), np.where(is_r, 1.0, 0.0)
    if side == "below":  # mirrored: group r has risk 1 under every rule
        t, is_r = t[:, ::-1].copy(), ~is_r
    return make_scores(l0, dl, t, is_r, np.ones(8))


@pytest.mark.parametrize("method", ["sharp", "paper"])
@pytest.mark.parametrize("side", ["above", "below"])
def test_touching_the_line_counts_as_crossing_it(side, method):
    touching = segment(side)
    found = evidence_of(touching, method)
    assert found.position == "crosses"
    np.testing.assert_allclose(found.point, [1.0, 1.0], atol=1e-8)
    # a little further off it misses the line, and F is the nearest point
    shift = 1e-6 if side == "above" else -1e-6
    missing = evidence_of(moved_by_group(touching, shift), method)
    assert missing.position == side
    np.testing.assert_allclose(missing.point, [1.0, 1.0 + shift], atol=1e-12)
    # a little nearer it crosses: F is where the segment meets the line
    crossing = evidence_of(moved_by_group(touching, -0.5 * np.sign(shift)), method)
    assert crossing.position == "crosses"
    np.testing.assert_allclose(crossing.point, [0.5, 0.5] if side == "above" else [1.0, 1.0], atol=1e-8)


def test_the_user_meets_the_same_points():
    ff = fit(rows(120), options={"n_boot": B})
    scores = ff.support_function_.scores
    np.testing.assert_allclose(ff.fairest_point(method="paper").risk, -plain.line_infimum(scores), atol=1e-10)
    sharp = ff.fairest_point()
    np.testing.assert_allclose(sharp.risk, ff.points_.loc["fairest"].to_numpy()[:2], atol=1e-14)
    np.testing.assert_allclose(sharp.direction, ff.points_.loc["fairest"].to_numpy()[2:], atol=1e-12)
    np.testing.assert_allclose(sharp.weights, -sharp.direction / np.abs(sharp.direction).sum(), atol=1e-15)
    assert sharp.weights.sum() == pytest.approx(1.0)  # this F weighs both groups positively


@pytest.mark.parametrize("gap", [0.0, 0.35, 0.4, 0.45, 1.0])
def test_there_is_one_fairest_point(gap):
    """Also where h^ still crosses the line and the plug-in criterion does not."""
    case = Case(gap=gap, n=200)
    point = case.ff.fairest_point()
    np.testing.assert_allclose(point.risk, case.ff.points_.loc["fairest"].to_numpy()[:2], atol=1e-9)
    assert (np.abs(point.risk) < 2.0 + gap).all()


# --- the infimum of the perturbed function ----------------------------------------------------------------


def breaks_on_line(scores, multiplier):
    """All c at which the rule of u1 - c(1, -1) changes: q'M t = 0."""
    mu = plain.group_shares(replace(scores, weight=scores.weight * multiplier))
    a, b = (scores.t / mu).T
    with np.errstate(divide="ignore", invalid="ignore"):
        c = a / (b - a)
    return c[np.abs(c) < 1000.0]


def perturbed_infimum(scores, multiplier, k):
    """Smallest (1 - k) h^ + k h~ for c in [-1000, 1000], from the ends of every piece on which both are linear."""
    ones = np.ones(len(scores.l0))
    c = np.sort(np.concatenate([breaks_on_line(scores, ones), breaks_on_line(scores, multiplier), [-1000.0, 1000.0]]))
    wide = np.diff(c) > 1e-11 * (1.0 + np.abs(c[1:]))
    first, last = c[:-1][wide], c[1:][wide]
    middle = on_line((first + last) / 2.0)
    v = (1.0 - k) * values_of(scores, middle) + k * values_of(scores, middle, multiplier)
    return min(float((on_line(end) * v).sum(axis=1).min()) for end in (first, last))


@settings(max_examples=60)
@given(plain.score_samples(), st.sampled_from([0.0, 0.3, -2.0]))
def test_perturbed_infima_by_brute_force(case, shift):
    scores, rng = moved_by_group(case[0], shift), case[1]
    function = build_support_function(scores)
    n = len(scores.l0)
    step = np.sqrt(n) ** -0.49
    losses = rng.random((2, n))
    infima, risks = perturbed_line_infima(function, make_plan(function, losses), step, n_boot=B, seed=SEED)
    multipliers, k = plain.weights_of_draws(function, B, SEED), step * np.sqrt(n)
    size = np.abs(scores.l0).max() + np.abs(scores.dl).max() + 1.0
    dense = on_line(np.concatenate([np.tan(np.linspace(-1.5, 1.5, 200)), [-1000.0, 1000.0]]))
    for b in range(4):
        expected = perturbed_infimum(scores, multipliers[b], k)
        assert infima[b] == pytest.approx(expected, rel=1e-9, abs=1e-9 * size)
        h = (dense * ((1.0 - k) * values_of(scores, dense) + k * values_of(scores, dense, multipliers[b]))).sum(axis=1)
        assert infima[b] <= h.min() + 1e-9 * np.abs(h).max() + 1e-9 * size or ties(scores, dense)
        weight = scores.weight * multipliers[b]
        for j, loss in enumerate(losses):
            means = [weight[g] @ loss[g] / weight[g].sum() for g in (scores.is_r, ~scores.is_r)]
            np.testing.assert_allclose(risks[b, j], means, rtol=1e-12)


def test_a_step_of_nothing_leaves_the_infimum_and_a_whole_one_is_the_draw():
    """With k = 0 the perturbed function is h^, with k = 1 it is h~."""
    scores = fit(rows(60)).support_function_.scores
    function = build_support_function(scores)
    plan = make_plan(function, np.empty((0, 60)))
    still, _ = perturbed_line_infima(function, plan, 0.0, n_boot=B, seed=SEED)
    np.testing.assert_allclose(still, plain.line_infimum(scores), atol=1e-10)
    drawn, none = perturbed_line_infima(function, plan, 1.0 / np.sqrt(60), n_boot=B, seed=SEED)
    assert none.shape == (B, 0, 2)
    for b, w in enumerate(plain.weights_of_draws(function, B, SEED)[:20]):
        assert drawn[b] == pytest.approx(plain.line_infimum(replace(scores, weight=w)), abs=1e-10)
    jobs, _ = perturbed_line_infima(function, plan, 1.0 / np.sqrt(60), n_boot=B, seed=SEED, n_jobs=2)
    np.testing.assert_array_equal(jobs, drawn)


# --- fitted objects with the set in every position --------------------------------------------------------


def loss_with_gap(gap, scale=1.0):
    """Classification loss on y mod 2, and `gap` more for the rows with y >= 2, those of group b."""

    def loss(d, y):
        return scale * (np.abs(d - y % 2) + gap * (y >= 2))

    return loss


class Case:
    """A fitted object whose set is moved up by `gap`, with algorithms and fixed risk pairs."""

    def __init__(self, kind="plain", gap=0.0, n=N, scale=1.0, **options):
        rng = np.random.default_rng(11)
        self.data, self.gap, self.scale = rows(n, 2), gap, scale
        arguments = {}
        if kind == "weights":
            arguments["sample_weight"] = rng.exponential(size=n) * (rng.random(n) < 0.9)
        elif kind == "clusters":
            arguments["clusters"] = rng.permutation(np.arange(n) % (n // 4))
        elif kind == "bounds":
            arguments |= {"lower": 0.1, "upper": np.where(rng.random(n) < 0.5, 0.8, 1.0)}
        trust = 3.0 if kind == "overconfident" else 1.0  # the same rules, said to be better than they are
        options = {"n_boot": B, "loss": loss_with_gap(gap, scale)} | options
        y, t = self.data.y + 2.0 * (self.data.g == 0), trust * scale * self.data.t
        self.ff = fit(self.data, y=y, t=t, options=options, **arguments)
        self.decisions = {
            "coin": rng.integers(0, 2, n).astype(float),
            "rule": (self.data.t.sum(axis=1) < 0).astype(float),
            "lottery": rng.random(n),
        }
        self.context = self.ff.feasible_set().context
        self.scores = self.context.function.scores
        F = self.ff.fairest_point().risk
        near = {"fairest": 0.0, "on the line": 0.01, "off the line": np.array([0.01, 0.04])}
        self.points = {name: F + scale * move for name, move in near.items()}

    def losses(self, name):
        """Row losses of an algorithm, or None for a fixed pair; of the kept rows."""
        if name not in self.decisions:
            return None
        y, g = self.data.y.astype(float), self.data.g
        loss = self.scale * (y + self.decisions[name] * (1.0 - 2.0 * y) + self.gap * (g == 0))
        return loss[self.ff.sample_.rows]

    def results(self, **options):
        """(name, result, its risks and losses or None) for all algorithms and points."""
        algorithms = self.ff.distance_to_fairest(self.decisions, randomised=True, **options)
        points = self.ff.distance_to_fairest(risks=self.points, **options)
        for name in (*self.decisions, *self.points):
            found = algorithms[name] if name in algorithms else points[name]
            yield name, found, self.losses(name)

    def risk(self, name):
        if name in self.points:
            return self.points[name]
        s, loss = self.scores, self.losses(name)
        return np.array([np.average(loss[g], weights=s.weight[g]) for g in (s.is_r, ~s.is_r)])


@pytest.fixture(scope="module", params=["plain", "weights", "clusters", "bounds", "overconfident"])
def case(request):
    return Case(request.param)


def drawn_risks(draws, losses, e):
    return np.broadcast_to(e, (B, 2)) if losses is None else draws.risks[:, 0]


def p_value_at_fairest(f, f_draws, e, e_draws):
    """Bootstrap p-value of e = F by the Mahalanobis distance of e - F, draw by draw."""
    error = np.array([e_draws[b] - f_draws[b] for b in range(B)])
    centre = e - f
    if np.ptp(e_draws, axis=0).max() == 0.0:  # only f varies, so the difference moves along (1, 1) and nowhere else
        if abs(centre[0] - centre[1]) > 1e-9:
            return 1.0 / (1.0 + B)
        reaching = [abs(f_draws[b] - f) >= abs(centre[0]) - 1e-12 for b in range(B)]
        return (1 + sum(reaching)) / (1 + B)
    mean = error.mean(axis=0)
    covariance = sum(np.outer(x - mean, x - mean) for x in error) / (B - 1)
    inverse = np.linalg.inv(covariance)
    reaching = [(x - centre) @ inverse @ (x - centre) >= centre @ inverse @ centre - 1e-12 for x in error]
    return (1 + sum(reaching)) / (1 + B)


def sharp_interval(metric, f, f_draws, e, e_draws, shifts, alpha=0.05):
    """Quantiles of the recomputed distance, at F and at F less each of the shifts; the lower end 0 if e may be F."""
    ends, p = [], []
    for shift in (0.0, *shifts):
        distances = [METRICS[metric](e_draws[b], [f_draws[b] - shift] * 2) for b in range(B)]
        ends.append(np.quantile(distances, [alpha / 2.0, 1.0 - alpha / 2.0]))
        p.append(p_value_at_fairest(f - shift, f_draws - shift, e, e_draws))
    low, high = np.min(ends), np.max(ends)
    return (0.0 if max(p) > alpha else low), high, max(p)


def test_sharp_by_hand(case, request):
    seen = set()
    for metric in METRICS:
        for name, found, losses in case.results(metric=metric):
            e = case.risk(name)
            np.testing.assert_allclose(found.risk, e, atol=1e-13)
            q = found.fairest.direction / -found.fairest.direction.sum()
            f = -plain.h(case.scores, q)
            np.testing.assert_allclose(found.fairest.risk, [f, f], atol=1e-12)
            assert found.estimate == pytest.approx(METRICS[metric](e, [f, f]), abs=1e-12)
            draws = case.context.draw(q, None if losses is None else losses[None], hold_rules=True)
            doubt = max(plain.plug_in(case.scores, q) - plain.h(case.scores, q), 0.0)
            assert doubt > 0.05 or "overconfident" not in request.node.name
            # F is the largest value over directions, so at this one it may be too low
            shifts = (doubt, f + plain.line_infimum(case.scores))
            assert shifts[1] <= 1e-12
            f_draws, e_draws = -draws.h[:, 0], drawn_risks(draws, losses, e)
            low, high, p = sharp_interval(metric, f, f_draws, e, e_draws, shifts)
            assert found.cases["crosses"] == pytest.approx((low, high), abs=1e-10)
            assert (found.cases["crosses"][0] == 0.0) == (p > 0.05)
            seen.add(p > 0.05)
            ends = [np.quantile(f_draws - shift, [0.025, 0.975]) for shift in (0.0, *shifts)]
            if list(found.fairest.ruled_out) == ["above", "below"]:
                assert found.conf_int() == found.cases["crosses"]
                expected = [np.min(ends), np.max(ends)]
                np.testing.assert_allclose(found.fairest.conf_int(), [expected, expected], atol=1e-10)
    assert seen == {False, True}  # some of the risks may be F and some may not


@pytest.mark.parametrize("kinks", [False, True])
def test_paper_by_hand(case, kinks):
    infimum = plain.line_infimum(case.scores)
    multipliers = plain.weights_of_draws(case.context.function, B, case.context.seed)
    n = len(case.scores.l0)
    root = np.sqrt(n)
    if kinks:
        step = root**-0.49
        f_draws = -np.array([perturbed_infimum(case.scores, w, step * root) for w in multipliers])
    for metric in METRICS:
        for name, found, losses in case.results(method="paper", metric=metric, kinks=kinks):
            e, q = case.risk(name), found.fairest.direction / -found.fairest.direction.sum()
            assert found.estimate == pytest.approx(METRICS[metric](e, [-infimum] * 2), abs=1e-10)
            if not kinks:  # the process at the minimising direction, just beside its breakpoint
                step = 1e-6
                turn = 1e-9 if q[0] <= q[1] else -1e-9
                beside = np.array([q[0] - turn * q[1], q[1] + turn * q[0]])
                draws = case.context.draw(beside / -beside.sum())
                f_draws = -infimum - step * root * (draws.h[:, 0] - draws.h_hat[0])
            e_draws = np.tile(e, (B, 1))
            if losses is not None:
                for b, w in enumerate(multipliers):
                    weight = case.scores.weight * w
                    drawn = [np.average(losses[g], weights=weight[g]) for g in (case.scores.is_r, ~case.scores.is_r)]
                    e_draws[b] = e + step * root * (drawn - e)
            value, change = METRICS[metric](e, [-infimum] * 2), []
            for b in range(B):
                change.append(abs(METRICS[metric](e_draws[b], [f_draws[b]] * 2) - value) / step)
            half = kth_largest(change, 0.05) / root
            tolerance = 1e-7 * max(1.0, half)
            assert found.cases["crosses"] == pytest.approx((max(value - half, 0.0), value + half), abs=tolerance)
    own = case.ff.fairest_point(method="paper")
    if not kinks and list(own.ruled_out) == ["above", "below"]:
        half = kth_largest(np.abs(f_draws + infimum) / step, 0.05) / root
        ends = [-infimum - half, -infimum + half]
        np.testing.assert_allclose(own.conf_int(), [ends, ends], atol=1e-7)


# --- sets to one side of the line -------------------------------------------------------------------------


def side_of(case, above, method):
    """Directions, h and sqrt(n)(h~ - h^) for the test that a point is supported by (1, -1) or (-1, 1); the step."""
    u = np.array([1.0, -1.0] if above else [-1.0, 1.0]) / np.sqrt(2.0)
    if method == "sharp":
        centre = -np.pi / 4.0 if above else 0.75 * np.pi
        angle = np.append(np.linspace(centre - np.pi / 4.0, centre + np.pi / 4.0, 200), centre)
    else:
        angle = np.append(np.arange(1000) * 2.0 * np.pi / 1000, -np.pi / 4.0 if above else 0.75 * np.pi)
    q = np.column_stack([np.cos(angle), np.sin(angle)])
    q[-1] = u
    draws = case.context.draw(q, hold_rules=method == "sharp")
    step = MARGIN if method == "sharp" else ROOT**-0.49
    return q, draws.h_hat, ROOT * (draws.h - draws.h_hat), step


def accepted(case, above, method, noise, spacing, alpha=0.05):
    """Candidates for F on a fine grid that pass their test, and what is left of the critical value."""
    q, h, z, step = side_of(case, above, method)
    u = q[-1]
    centre = values_of(case.scores, u[None])[0]
    reach = np.arange(-0.4, 0.4, spacing)
    e = centre + np.stack(np.meshgrid(reach, reach), axis=-1).reshape(-1, 2)
    e = e[(e[:, 1] >= e[:, 0]) if above else (e[:, 1] <= e[:, 0])]
    excess = e @ q.T - h
    most = excess.max(axis=1)
    T = ROOT * (np.maximum(most, 0.0) + np.maximum(h[-1] - e @ u, 0.0))
    # whatever the draws, no point with T above this is accepted
    largest = kth_largest(np.maximum(-z.min(axis=1), 0.0) + np.maximum(z[:, -1], 0.0) + noise, alpha)
    e, excess, most, T = (x[largest >= T] for x in (e, excess, most, T))
    null = [
        np.maximum((excess - step * z[b]).max(axis=1) - most, 0.0) / step + max(z[b, -1], 0.0) + noise[b]
        for b in range(B)
    ]
    room = np.array([kth_largest(own, alpha) for own in np.array(null).T]) - T
    return e[room >= 0.0], room[room >= 0.0] / ROOT


def dense_range(metric, risk, points, reach):
    """Smallest and largest distance between candidates and the risks in the square of each candidate's reach."""
    share = np.linspace(0.0, 1.0, 41)[:, None]
    corners = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]])
    edge = np.vstack([corners[k] + share * (corners[(k + 1) % 4] - corners[k]) for k in range(4)])
    between = read_metric(metric).between
    distances = between(risk + reach[:, None, None] * edge, points[:, None])
    inside = np.abs(points - risk).sum(axis=1) <= reach
    return np.where(inside, 0.0, distances.min(axis=1)).min(), distances.max()


LATTICE = 0.75 / ROOT
"""Candidates lie half of 1 / sqrt(n) apart, so ends of intervals may be off by about that."""


@pytest.mark.parametrize(("gap", "method"), [(1.0, "sharp"), (-1.0, "sharp"), (1.0, "paper")])
def test_one_sided_intervals_by_dense_search(gap, method):
    case, above = Case(gap=gap), gap > 0.0
    spacing = (0.2 if method == "sharp" else 0.3) / ROOT
    only = "above" if above else "below"
    points, _ = accepted(case, above, method, np.zeros(B), spacing)
    fairest = case.ff.fairest_point(method=method)
    ends = np.column_stack([points.min(axis=0), points.max(axis=0)])
    np.testing.assert_allclose(fairest.conf_int(), ends, atol=LATTICE)
    np.testing.assert_allclose(fairest.risk, values_of(case.scores, fairest.direction[None])[0], atol=1e-12)
    for metric in ("euclidean", "chebyshev"):
        for name, found, losses in case.results(method=method, metric=metric):
            if name not in ("rule", "off the line") or (method, metric) == ("paper", "chebyshev"):
                continue
            reach, noise = np.zeros(len(points)), np.zeros(B)
            own = points
            if losses is not None:
                moved = case.context.draw(np.array([[1.0, 0.0]]), losses[None]).z_risks()[:, 0]
                noise = np.abs(moved[:, 0]) + np.abs(moved[:, 1])
                own, reach = accepted(case, above, method, noise, spacing)
            expected = dense_range(metric, case.risk(name), own, reach)
            assert found.conf_int() == pytest.approx(expected, abs=LATTICE)
            assert found.cases[only] == found.conf_int()
            assert found.estimate == pytest.approx(METRICS[metric](case.risk(name), fairest.risk), abs=1e-12)


@pytest.mark.parametrize("method", ["sharp", "paper"])
def test_what_the_sides_are_tested_with(method):
    """Directions, step and draws of h: sharp in a quarter circle with held rules, as published all round."""
    case = Case(gap=0.3)
    found = fairest_evidence(case.context, np.empty((0, N)), NOBODY, method)
    assert list(found.sides) == ["above"]
    q, h, z, step = side_of(case, True, method)
    side = found.sides["above"]
    np.testing.assert_allclose(side.q, q, atol=1e-12)
    np.testing.assert_allclose(side.h, h, atol=1e-12)
    np.testing.assert_allclose(side.z, z.T, atol=1e-10)
    np.testing.assert_allclose(side.z_u, z[:, -1], atol=1e-10)
    assert side.step == pytest.approx(step)


ONE_SIDE = "the estimated set lies clearly to one side of the 45-degree line"
MISSES = "the estimated set does not meet the 45-degree line"
BELOW, ABOVE = (f"the estimated set reaches clearly {side} the 45-degree line" for side in ("below", "above"))


@pytest.mark.parametrize("meets", [False, True])
@pytest.mark.parametrize("reach_above", [-1.0, 0.0, 1.0])
@pytest.mark.parametrize("reach_below", [-1.0, 0.0, 1.0])
def test_which_cases_are_left(reach_below, reach_above, meets):
    """Reaches below and above the line are clearly negative, in doubt or clearly positive."""
    found = _locate(np.array([reach_below, reach_above]), 0.5, meets)
    left = {"crosses", "above", "below"} - set(found)
    assert left
    if {reach_below, reach_above} <= {0.0, 1.0} and meets:  # crossing is possible, and so is a side not reached over
        expected = (
            {"crosses"} | ({"above"} if reach_below == 0.0 else set()) | ({"below"} if reach_above == 0.0 else set())
        )
        assert left == expected
    if reach_below == -1.0 and reach_above > -1.0:
        assert left == {"above"}
    if reach_above == -1.0 and reach_below > -1.0:
        assert left == {"below"}
    if not meets:
        assert "crosses" not in left
    texts = {"crosses": {ONE_SIDE, MISSES}, "above": {BELOW}, "below": {ABOVE}}
    assert all(text in texts[name] for name, text in found.items())


@pytest.mark.parametrize("meets", [False, True])
@pytest.mark.parametrize("ends", [(-1.0, 1.0), (0.0, 1.0), (-1.0, 0.0), (-2.0, -1.0), (0.0, 0.4), (1.0, 2.0)])
def test_exchanging_the_groups_exchanges_the_cases(ends, meets):
    mirror = {"crosses": "crosses", "above": "below", "below": "above"}
    one, other = (set(_locate(np.array(pair), 0.5, meets)) for pair in (ends, ends[::-1]))
    assert {mirror[name] for name in one} == other


@pytest.mark.parametrize(
    ("gap", "ruled_out"),
    [
        (0.0, {"above": BELOW, "below": ABOVE}),
        (0.3, {"below": ABOVE}),
        (0.45, {"crosses": MISSES, "below": ABOVE}),
        (1.0, {"crosses": ONE_SIDE, "below": ABOVE}),
        (-0.3, {"above": BELOW}),
        (-0.5, {"crosses": MISSES, "above": BELOW}),
        (-1.0, {"crosses": ONE_SIDE, "above": BELOW}),
    ],
)
@pytest.mark.parametrize("method", ["sharp", "paper"])
def test_cases_tell_what_they_contribute(gap, ruled_out, method):
    case = Case(gap=gap)
    for name, found, _ in case.results(method=method, metric="euclidean"):
        assert found.fairest.ruled_out == ruled_out
        if name not in ("rule", "off the line"):
            continue
        parts = {k: v for k, v in found.cases.items() if not isinstance(v, str)}
        assert {k: v for k, v in found.cases.items() if isinstance(v, str)} == ruled_out
        assert set(parts) == {"crosses", "above", "below"} - set(ruled_out)
        low, high = found.conf_int()
        assert (low, high) == (min(p[0] for p in parts.values()), max(p[1] for p in parts.values()))
        assert 0.0 <= low < high < np.inf
        if name in case.decisions:
            assert low <= found.estimate <= high
        # nested in the level, and the same draws at another one
        wide, narrow = found.at(0.01), found.at(0.3)
        assert wide.conf_int()[0] <= low <= narrow.conf_int()[0]
        assert narrow.conf_int()[1] <= high <= wide.conf_int()[1]
        assert found.conf_int(0.3) == narrow.conf_int()
        assert narrow.alpha == 0.3
        assert narrow.estimate == found.estimate
    point = case.ff.fairest_point(method=method)
    ends = point.conf_int()
    assert ((ends[:, 0] <= point.risk) & (point.risk <= ends[:, 1])).all()
    assert (point.at(0.01).conf_int()[:, 0] <= ends[:, 0]).all()
    assert (point.conf_int(0.3)[:, 1] <= ends[:, 1]).all()
    frame = point.to_frame()
    assert list(frame.index) == [1, 0]
    expected = np.column_stack([point.risk, ends, point.weights])
    np.testing.assert_array_equal(frame[["risk", "low", "high", "weight"]], expected)


@pytest.mark.parametrize("method", ["sharp", "paper"])
@pytest.mark.parametrize("gap", [0.0, 1.0, -1.0])
def test_risks_at_the_fairest_point_may_have_no_distance(gap, method):
    case = Case(gap=gap)
    F = case.ff.fairest_point(method=method).risk
    found = case.ff.distance_to_fairest(risks=F, method=method)
    assert found.estimate == 0.0
    assert found.conf_int()[0] == 0.0


@pytest.mark.parametrize("method", ["sharp", "paper"])
@pytest.mark.parametrize("scale", [0.02, 4.0])
def test_the_unit_of_the_loss_does_not_matter(scale, method):
    """A set far to one side, in hundredths and in multiples of the unit."""
    one, other = (Case(gap=3.0, scale=s, n=80) for s in (1.0, scale))
    for name in ("coin", "rule"):
        a, b = (
            case.ff.distance_to_fairest(case.decisions[name], method=method, metric="euclidean")
            for case in (one, other)
        )
        assert b.estimate == pytest.approx(scale * a.estimate, rel=1e-9)
        assert np.array(b.conf_int()) / scale == pytest.approx(a.conf_int(), abs=1e-3)
    ends = [case.ff.fairest_point(method=method).conf_int() for case in (one, other)]
    np.testing.assert_allclose(ends[1] / scale, ends[0], atol=1e-3)


@settings(max_examples=30)
@given(st.sampled_from(sorted(METRICS)), st.integers(0, 2**32 - 1))
def test_distances_within_reach_by_brute_force(name, seed):
    rng = np.random.default_rng(seed)
    points, risk = rng.normal(size=(5, 2)), rng.normal(size=2)
    reach = rng.exponential(size=5) * rng.choice([0.0, 1.0, 5.0])
    low, high = _distance_limits(read_metric(name), risk, points, reach)
    for k in range(5):
        expected = dense_range(name, risk, points[k : k + 1], reach[k : k + 1])
        assert high[k] == pytest.approx(expected[1], rel=1e-12)
        assert low[k] <= expected[0] + 1e-12
        assert low[k] == pytest.approx(expected[0], abs=0.05 * reach[k] * (1.0 + expected[1]))


def test_risks_may_be_within_reach_of_all_that_is_left_of_f():
    points = np.array([[0.5, 0.5], [0.52, 0.5]])
    low, high = _distance_limits(read_metric("cityblock"), np.array([0.5, 0.5]), points, np.array([0.1, 0.2]))
    np.testing.assert_array_equal(low, [0.0, 0.0])
    np.testing.assert_allclose(high, [0.1, 0.22])


# --- kinks and empty sets ---------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{"method": "sharp"}, {"method": "paper"}, {"method": "paper", "kinks": True}])
@pytest.mark.parametrize("gap", [0.0, 0.25, -0.25, 1.0])
def test_a_set_with_kinks_gives_finite_results(gap, options):
    """Two distinct pairs and their opposites: the set is a parallelogram."""
    data = rows(120, 5)
    corner = np.array([[0.3, -0.1], [-0.1, 0.3]])
    t = corner[(data.X[:, 0] > 0).astype(int)] * np.where(data.X[:, 1] > 0, 1.0, -1.0)[:, None]
    ff = fit(data, t=t, y=data.y + 2.0 * (data.g == 0), options={"n_boot": B, "loss": loss_with_gap(gap)})
    found = ff.distance_to_fairest({"x": data.X[:, 2] > 0, "y": data.y}, **options)
    for each in found.values():
        low, high = each.conf_int()
        assert 0.0 <= low <= each.estimate <= high < np.inf
    assert np.isfinite(found.difference("x", "y").interval).all()
    assert np.isfinite(found["x"].fairest.conf_int()).all()


@pytest.mark.parametrize("options", [{"method": "sharp"}, {"method": "paper"}, {"method": "paper", "kinks": True}])
def test_a_learner_worse_than_nothing_still_gets_an_answer(options):
    """Pairs opposite to the losses: the estimated set is empty and lies on both sides of the line at once."""
    data = rows(100, 5)
    ff = fit(data, t=-data.t, options={"n_boot": B})
    assert ff.support([[1.0, -1.0], [-1.0, 1.0]]).max() < 0.0
    point = ff.fairest_point(method=options["method"])
    assert np.isfinite(point.risk).all()
    assert len(point.ruled_out) < 3
    found = ff.distance_to_fairest(data.y, **options)
    assert np.isfinite(found.estimate)
    assert "interval" in found.summary()


# --- with an estimated regret -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def corrected():
    """The same fit without and with the correction, and an algorithm."""
    data = rows(N, 2)
    fits = [
        FairFrontier(
            learner=LogisticRegression(), n_folds=3, n_refits=4, n_boot=B, random_state=5, bias_correction=correction
        ).fit(data.X, data.y, sensitive_features=data.g)
        for correction in (None, "regret")
    ]
    return SimpleNamespace(before=fits[0], after=fits[1], a=(data.t.sum(axis=1) < 0).astype(float), y=data.y)


def test_the_regret_moves_f_and_its_draws(corrected):
    ff, regret = corrected.after, corrected.after.regret_
    found, before = (each.distance_to_fairest(corrected.a) for each in (ff, corrected.before))
    q = found.fairest.direction / -found.fairest.direction.sum()
    np.testing.assert_allclose(found.fairest.direction, before.fairest.direction, atol=1e-12)
    own = regret.values(q[None])[:, 0]
    assert own.mean() > 0.0
    f = -plain.h(ff.support_function_.scores, q) - own.mean()
    np.testing.assert_allclose(found.fairest.risk, [f, f], atol=1e-12)
    np.testing.assert_allclose(found.fairest.risk, ff.points_.loc["fairest"].to_numpy()[:2], atol=1e-6)
    loss = corrected.y + corrected.a * (1.0 - 2.0 * corrected.y)
    draws = ff.feasible_set().context.draw(q, loss[None], hold_rules=True)
    f_draws = np.array([-draws.h[b, 0] - own[b % 4] for b in range(B)])
    low, high, _ = sharp_interval("sqeuclidean", f, f_draws, found.risk, draws.risks[:, 0], ())
    assert found.cases["crosses"] == pytest.approx((low, high), abs=1e-10)
    ends = np.quantile(f_draws, [0.025, 0.975])
    np.testing.assert_allclose(found.fairest.conf_int(), [ends, ends], atol=1e-10)


@pytest.mark.parametrize("kinks", [False, True])
def test_the_published_interval_is_never_corrected(corrected, kinks):
    options = {"method": "paper", "kinks": kinks}
    one, other = (ff.distance_to_fairest(corrected.a, **options) for ff in (corrected.before, corrected.after))
    assert one.estimate == other.estimate
    assert one.conf_int() == other.conf_int()
    np.testing.assert_array_equal(one.fairest.conf_int(), other.fairest.conf_int())
    assert one.cases == other.cases


def test_the_regret_moves_what_lies_to_one_side_too(corrected):
    """The same rows with one more to lose for group b, whatever is decided."""
    scores = moved_by_group(corrected.after.support_function_.scores, 1.0)
    regret, u = corrected.after.regret_, ENDS[0] / np.sqrt(2.0)
    context = DrawingContext(build_support_function(scores), B, SEED, None, regret)
    found = fairest_evidence(context, np.empty((0, N)), NOBODY, "sharp")
    assert found.position == "above"
    move = regret.shortfall[:, 630].mean(axis=0)  # the grid direction (1, -1)
    np.testing.assert_allclose(found.point, values_of(scores, u[None])[0] + move, atol=1e-10)
    side, draws = found.sides["above"], context.draw(u, hold_rules=True)
    own = np.maximum(regret.shortfall[:, 630] @ u, 0.0)
    assert side.h_u == pytest.approx(draws.h_hat[0] + own.mean(), abs=1e-10)
    expected = [ROOT * (draws.h[b, 0] + own[b % 4] - draws.h_hat[0] - own.mean()) for b in range(B)]
    np.testing.assert_allclose(side.z_u, expected, atol=1e-9)
    published = fairest_evidence(context, np.empty((0, N)), NOBODY, "paper")
    np.testing.assert_allclose(published.point, values_of(scores, u[None])[0], atol=1e-12)
    assert published.sides["above"].h_u == pytest.approx(draws.h_hat[0], abs=1e-12)


# --- several algorithms, labels, repetitions --------------------------------------------------------------


def test_several_algorithms_are_a_mapping(case):
    found = case.ff.distance_to_fairest(case.decisions, randomised=True, metric="euclidean")
    assert isinstance(found, Mapping)
    assert list(found) == ["coin", "rule", "lottery"]
    assert len(found) == 3
    assert "rule" in found
    assert found.get("nobody") is None
    with pytest.raises(KeyError):
        found["nobody"]
    for name, each in found.items():
        assert each.name == name
        alone = case.ff.distance_to_fairest(case.decisions[name], randomised=True, metric="euclidean")
        assert alone.name == "the algorithm"
        assert alone.conf_int() == pytest.approx(each.conf_int(), abs=1e-12)
        assert alone.estimate == each.estimate
    frame = found.to_frame()
    assert list(frame.index) == list(found)
    assert list(frame.columns) == ["risk 1", "risk 0", "distance", "low", "high"]
    for name, row in frame.iterrows():
        each = found[name]
        np.testing.assert_array_equal(row, [*each.risk, each.estimate, *each.conf_int()])
    text = found.summary()
    assert all(each.summary() in text for each in found.values())


@pytest.mark.parametrize("gap", [0.0, 1.0])
@pytest.mark.parametrize("method", ["sharp", "paper"])
def test_differences(gap, method):
    case = Case(gap=gap)
    algorithms = case.decisions | {"twin": case.decisions["coin"]}
    found = case.ff.distance_to_fairest(algorithms, randomised=True, method=method)
    for first, second in (("coin", "rule"), ("rule", "lottery"), ("coin", "twin")):
        one, other = found.difference(first, second), found.difference(second, first)
        assert one.estimate == pytest.approx(found[first].estimate - found[second].estimate)
        assert one.interval == pytest.approx((-other.interval[1], -other.interval[0]), abs=1e-12)
        assert one.interval[0] <= one.estimate <= one.interval[1]
        wide = found.difference(first, second, alpha=0.01)
        assert wide.alpha == 0.01
        assert wide.interval[0] <= one.interval[0] <= one.interval[1] <= wide.interval[1]
    same = found.difference("coin", "twin")
    assert same.estimate == 0.0
    if (method, gap) == ("sharp", 0.0):
        assert same.interval == (0.0, 0.0)
    assert found.difference("coin", "coin").estimate == 0.0
    for names in (("coin", "nobody"), ("nobody", "coin")):
        with pytest.raises(InputError, match="nobody") as caught:
            found.difference(*names)
        assert caught.value.code == "bad-option"
    with pytest.raises(InputError) as caught:
        found.difference("coin", "rule", alpha=0.7)
    assert caught.value.code == "bad-alpha"


def test_differences_by_hand(case):
    """In the crossing case: quantiles of the difference of the two recomputed distances."""
    found = case.ff.distance_to_fairest(case.decisions, randomised=True)
    q = found["coin"].fairest.direction / -found["coin"].fairest.direction.sum()
    losses = np.array([case.losses(name) for name in ("coin", "rule")])
    draws = case.context.draw(q, losses, hold_rules=True)
    ends = []
    too_high = max(plain.plug_in(case.scores, q) - plain.h(case.scores, q), 0.0)
    for shift in (0.0, too_high, plain.line_infimum(case.scores) - plain.h(case.scores, q)):
        F = [np.full(2, -draws.h[b, 0] - shift) for b in range(B)]
        each = [sum((draws.risks[b, 0] - F[b]) ** 2) - sum((draws.risks[b, 1] - F[b]) ** 2) for b in range(B)]
        ends.append(np.quantile(each, [0.025, 0.975]))
    (evidence,), metric = found["coin"]._evidence, found["coin"].metric
    numbers = [found[name]._number for name in ("coin", "rule")]
    parts = evidence.difference_parts(metric, *numbers, 0.05)
    assert parts["crosses"] == pytest.approx((np.min(ends), np.max(ends)), abs=1e-10)
    if len(parts) == 1:
        assert found.difference("coin", "rule").interval == parts["crosses"]


def test_the_summary_of_a_difference_says_who_is_nearer():
    case = Case(n=400)
    far = case.data.t.sum(axis=1) > 0  # the opposite of the useful rule
    found = case.ff.distance_to_fairest({"good": case.decisions["rule"], "bad": far, "again": far})
    better, worse = found.difference("good", "bad"), found.difference("bad", "good")
    assert better.interval[1] < 0.0 < worse.interval[0]
    assert better.summary().endswith("good is nearer to the fairest point.")
    assert worse.summary().endswith("good is nearer to the fairest point.")
    assert "do not tell" in found.difference("bad", "again").summary()
    assert f"{better.estimate:.5f}" in better.summary()
    assert "95% interval" in better.summary()


def test_reports_speak_the_users_language():
    data = rows(120)
    ff = fit(data, g=np.where(data.g == 1, "red", "blue"), options={"n_boot": B, "alpha": 0.1})
    found = ff.distance_to_fairest({"the judge": data.X[:, 0] > 0}, metric="cityblock")["the judge"]
    text = found.summary()
    low, high = found.conf_int()
    for part in (
        "How far is the judge",
        f"group red {found.risk[0]:.4f}, group blue {found.risk[1]:.4f}",
        f"Distance (cityblock): {found.estimate:.5f}, 90% interval {low:.5f} to {high:.5f}",
        "it lies where group red has the lower risk",
        "it lies where group blue has the lower risk",
        "does not make an algorithm fair",
        *[part for part in found.cases.values() if isinstance(part, str)],
    ):
        assert part in text
    told = json.loads(json.dumps(found.to_dict()))
    assert told["algorithm"] == "the judge"
    assert told["groups"] == ["red", "blue"]
    assert (told["metric"], told["method"], told["alpha"]) == ("cityblock", "sharp", 0.1)
    assert told["risk"] == found.risk.tolist()
    assert told["estimate"] == found.estimate
    assert told["interval"] == [low, high]
    assert told["cases"] == {k: v if isinstance(v, str) else list(v) for k, v in found.cases.items()}
    assert told["fairest"]["risk"] == found.fairest.risk.tolist()
    assert told["fairest"]["interval"] == found.fairest.conf_int().tolist()
    assert told["fairest"]["weights"] == found.fairest.weights.tolist()


@pytest.mark.parametrize("method", ["sharp", "paper"])
def test_repetitions_give_medians_at_half_the_level(method):
    data = rows(150)
    ff = FairFrontier(learner=LogisticRegression(), n_folds=2, n_rep=3, n_boot=B, random_state=1)
    ff.fit(data.X, data.y, sensitive_features=data.g)
    algorithms = {"x": data.X[:, 2] > 0, "y": data.X[:, 0] > 0}
    found = ff.distance_to_fairest(algorithms, method=method, metric="euclidean")
    each = found["x"]
    l0, dl = data.y.astype(float), 1.0 - 2.0 * data.y
    losses = np.array([l0 + a * dl for a in algorithms.values()])
    metric, ends, points, distances, differences = read_metric("euclidean"), [], [], [], []
    for context in ff._contexts():
        own = fairest_evidence(context, losses, NOBODY, method)
        parts = own.distance_parts(metric, 0, 0.025).values()
        ends.append([min(p[0] for p in parts), max(p[1] for p in parts)])
        parts = np.array(list(own.point_parts(0.025).values()))
        points.append([parts[:, 0, 0].min(), parts[:, 0, 1].max()])
        distances.append(METRICS["euclidean"](own.risks[0], own.point))
        parts = own.difference_parts(metric, 0, 1, 0.025).values()
        differences.append([min(p[0] for p in parts), max(p[1] for p in parts)])
    assert len({tuple(pair) for pair in ends}) > 1  # the repetitions do differ
    assert each.conf_int() == pytest.approx(tuple(np.median(ends, axis=0)), abs=1e-12)
    assert each.estimate == pytest.approx(np.median(distances), abs=1e-12)
    np.testing.assert_allclose(each.fairest.conf_int()[0], np.median(points, axis=0), atol=1e-12)
    assert found.difference("x", "y").interval == pytest.approx(tuple(np.median(differences, axis=0)), abs=1e-12)


@pytest.mark.parametrize("options", [{"method": "sharp"}, {"method": "paper"}, {"method": "paper", "kinks": True}])
@pytest.mark.parametrize("gap", [0.0, 1.0])
def test_bits_do_not_depend_on_jobs(gap, options):
    found = []
    for n_jobs in (1, 2):
        case = Case(gap=gap, n_jobs=n_jobs)
        each = case.ff.distance_to_fairest(case.decisions, randomised=True, **options)
        found.append([x for name in each for x in (each[name].estimate, *each[name].conf_int())])
        found[-1] += [*each.difference("coin", "rule").interval, *each["coin"].fairest.conf_int().ravel()]
    assert found[0] == found[1]


def own_clusters(data, gap, groups):
    """A fit in which every row is a cluster, so that its random numbers go with it wherever it stands."""
    return fit(
        data,
        y=data.y + 2.0 * (data.g == 0),
        t=data.t if groups == (1, 0) else data.t[:, ::-1],
        options={"n_boot": B, "loss": loss_with_gap(gap), "groups": groups},
        clusters=np.arange(len(data.y)),
    )


@pytest.mark.parametrize("options", [{"method": "sharp"}, {"method": "paper"}, {"method": "paper", "kinks": True}])
@pytest.mark.parametrize("gap", [0.0, 0.25, 1.0, -1.0])
def test_exchanging_the_groups_mirrors_everything(gap, options):
    data = rows(120, 3)
    algorithms = {"x": data.X[:, 2] > 0, "rule": data.t.sum(axis=1) < 0}
    one, other = (
        own_clusters(data, gap, groups).distance_to_fairest(algorithms, metric="euclidean", **options)
        for groups in ((1, 0), (0, 1))
    )
    mirror = {"crosses": "crosses", "above": "below", "below": "above"}
    for name in algorithms:
        a, b = one[name], other[name]
        np.testing.assert_allclose(a.risk, b.risk[::-1], atol=1e-13)
        assert a.estimate == pytest.approx(b.estimate, abs=1e-10)
        # c runs from -1000 to 1000 and, seen from the other group, from -1001 to 999, which the ends may show
        scale = 2e-3 * a.conf_int()[1] if "kinks" in options else 1e-7
        assert a.conf_int() == pytest.approx(b.conf_int(), abs=scale)
        np.testing.assert_allclose(a.fairest.risk, b.fairest.risk[::-1], atol=1e-10)
        np.testing.assert_allclose(a.fairest.conf_int(), b.fairest.conf_int()[::-1], atol=scale)
        np.testing.assert_allclose(a.fairest.weights, b.fairest.weights[::-1], atol=1e-10)
        assert {mirror[k]: isinstance(v, str) for k, v in a.cases.items()} == {
            k: isinstance(v, str) for k, v in b.cases.items()
        }


@pytest.mark.parametrize("method", ["sharp", "paper"])
@pytest.mark.parametrize("gap", [0.0, 0.25, 1.0])
def test_the_order_of_rows_does_not_matter(gap, method):
    """Random numbers are handed out in the order of the pairs' angles, so that not even the draws change."""
    data = rows(120, 3)
    order = np.random.default_rng(4).permutation(120)
    a = data.X[:, 2] > 0
    one, other = (
        fit(moved, y=moved.y + 2.0 * (moved.g == 0), options={"n_boot": B, "loss": loss_with_gap(gap)})
        for moved in (data, data.at(order))
    )
    one, other = one.distance_to_fairest(a, method=method), other.distance_to_fairest(a[order], method=method)
    assert one.estimate == pytest.approx(other.estimate, abs=1e-12)
    np.testing.assert_allclose(one.risk, other.risk, atol=1e-12)
    np.testing.assert_allclose(one.fairest.risk, other.fairest.risk, atol=1e-12)
    assert one.fairest.ruled_out == other.fairest.ruled_out
    assert one.conf_int() == pytest.approx(other.conf_int(), abs=1e-8)


@pytest.mark.parametrize("name", ["euclidean", "cityblock"])
def test_functions_of_the_user_are_as_good_as_names(name):
    case = Case(n=100)
    given_name, by_hand = (
        case.ff.distance_to_fairest(case.decisions["rule"], metric=metric) for metric in (name, METRICS[name])
    )
    assert by_hand.estimate == pytest.approx(given_name.estimate, abs=1e-13)
    assert by_hand.conf_int() == pytest.approx(given_name.conf_int(), abs=1e-12)
    assert f"Distance ({name})" in by_hand.summary()
    points, risk, reach = np.random.default_rng(0).random((4, 2)), np.array([0.5, 0.4]), np.array([0.0, 0.1, 0.2, 0.3])
    limits = [_distance_limits(read_metric(metric), risk, points, reach) for metric in (name, METRICS[name])]
    np.testing.assert_allclose(limits[0], limits[1], atol=1e-13)


def test_a_metric_cannot_change_what_it_is_given():
    def careless(x, y):
        x -= y
        return float(np.abs(x).sum())

    case = Case()
    found = case.ff.distance_to_fairest(case.decisions["rule"], metric=careless)
    expected = case.ff.distance_to_fairest(case.decisions["rule"], metric="cityblock")
    assert found.conf_int() == pytest.approx(expected.conf_int(), abs=1e-12)
    np.testing.assert_array_equal(found.risk, expected.risk)


def test_scores_are_cut_and_lotteries_read_as_elsewhere():
    case = Case()
    score = case.decisions["lottery"]
    cut = case.ff.distance_to_fairest(score, threshold=0.3)
    assert cut.conf_int() == case.ff.distance_to_fairest((score > 0.3).astype(float)).conf_int()
    lottery = case.ff.distance_to_fairest(score, randomised=True)
    np.testing.assert_array_equal(lottery.risk, case.ff.risks(score).risk)
    frame = pd.DataFrame({"a": score > 0.5, "b": score > 0.2})
    assert list(case.ff.distance_to_fairest(frame)) == ["a", "b"]
    pairs = case.ff.distance_to_fairest(risks=[[0.4, 0.5], [0.5, 0.4]])
    assert list(pairs) == ["point 1", "point 2"]
    assert pairs["point 1"].risk.tolist() == [0.4, 0.5]


# --- what is refused --------------------------------------------------------------------------------------


def test_nothing_is_asked_before_the_fit():
    for question in ("fairest_point", "distance_to_fairest"):
        with pytest.raises(NotFittedError):
            getattr(FairFrontier(), question)()


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"alpha": 0.0}, "bad-alpha"),
        ({"alpha": 0.5}, "bad-alpha"),
        ({"alpha": "0.05"}, "bad-alpha"),
        ({"alpha": 0.001}, "bad-draws"),
        ({"method": "robust"}, "bad-option"),
        ({"method": "Paper"}, "bad-option"),
        ({"kinks": True}, "bad-option"),
        ({"method": "sharp", "kinks": True}, "bad-option"),
        ({"randomised": True, "threshold": 0.5}, "bad-option"),
        ({"risks": [0.4, 0.4]}, "bad-decisions"),
    ],
)
def test_bad_options_are_refused(options, code):
    data = rows(60)
    ff = fit(data, options={"n_boot": B})
    with pytest.raises(InputError) as caught:
        ff.distance_to_fairest(data.y, **options)
    assert caught.value.code == code
    if set(options) <= {"alpha", "method"}:
        with pytest.raises(InputError) as caught:
            ff.fairest_point(**options)
        assert caught.value.code == code


@pytest.mark.parametrize("alpha", [0.0, 0.6, 0.001])
def test_results_refuse_bad_levels(alpha):
    data = rows(60)
    ff = fit(data, options={"n_boot": B})
    found = ff.distance_to_fairest(data.y)
    for ask in (found.at, found.conf_int, found.fairest.at, found.fairest.conf_int):
        with pytest.raises(InputError):
            ask(alpha)


def test_scores_and_wrong_lengths_are_refused():
    data = rows(60)
    ff = fit(data, options={"n_boot": B})
    with pytest.raises(InputError, match="strictly between 0 and 1") as caught:
        ff.distance_to_fairest(np.linspace(0.0, 1.0, 60))
    assert caught.value.code == "bad-decisions"
    with pytest.raises(InputError):
        ff.distance_to_fairest(data.y[:-1])
    with pytest.raises(InputError, match="either `decisions` or risk pairs"):
        ff.distance_to_fairest()
    with pytest.raises(InputError, match="within what the loss allows"):
        ff.distance_to_fairest(risks=[0.4, 1.4])


def test_where_no_case_accepts_anything_the_intervals_are_not_numbers():
    assert _hull([]).shape == (2, 2)
    assert np.isnan(_hull([])).all()
    assert np.isnan(_union([{"crosses": None}])).all()
    two = [np.array([[0.1, 0.3], [0.2, 0.5]]), np.array([[0.0, 0.2], [0.3, 0.4]])]
    np.testing.assert_array_equal(_hull(two), [[0.0, 0.3], [0.2, 0.5]])
