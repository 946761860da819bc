"""Metrics, the fairest point and perturbed infima against plain loops over directions and draws."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from support import plain
from support.codes import group_codes
from support.distance_cases import (
    ENDS,
    METRICS,
    NOBODY,
    SEED,
    B,
    Case,
    moved_by_group,
    on_line,
    perturbed_infimum,
    values_of,
)
from support.small_samples import fit, rows

from fairfrontier.bootstrap.draws import DrawingContext
from fairfrontier.bootstrap.exact import perturbed_line_infima
from fairfrontier.errors import InputError
from fairfrontier.frontier.sets import best_points
from fairfrontier.frontier.support import build_support_function, make_scores
from fairfrontier.inference.distance.estimates import fairest_evidence
from fairfrontier.inference.distance.metrics import read_metric

pytestmark = pytest.mark.filterwarnings(
    "ignore::fairfrontier.errors.WeakLearnerWarning",
    "ignore::fairfrontier.errors.EmptySetWarning",
    "ignore::fairfrontier.errors.MarginWarning",
)


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
    return make_scores(l0, dl, t, group_codes(is_r), np.ones(8))


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


@settings(max_examples=60)
@given(plain.score_samples(), st.sampled_from([0.0, 0.3, -2.0]))
def test_perturbed_infima_by_brute_force(case, shift):
    scores, rng = moved_by_group(case[0], shift), case[1]
    function = build_support_function(scores)
    n = len(scores.l0)
    step = np.sqrt(n) ** -0.49
    losses = rng.random((2, n))
    infima, risks = perturbed_line_infima(function, losses, step, n_boot=B, seed=SEED)
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
    nobody = np.empty((0, 60))
    still, _ = perturbed_line_infima(function, nobody, 0.0, n_boot=B, seed=SEED)
    np.testing.assert_allclose(still, plain.line_infimum(scores), atol=1e-10)
    drawn, none = perturbed_line_infima(function, nobody, 1.0 / np.sqrt(60), n_boot=B, seed=SEED)
    assert none.shape == (B, 0, 2)
    for b, w in enumerate(plain.weights_of_draws(function, B, SEED)[:20]):
        assert drawn[b] == pytest.approx(plain.line_infimum(replace(scores, weight=w)), abs=1e-10)
    jobs, _ = perturbed_line_infima(function, nobody, 1.0 / np.sqrt(60), n_boot=B, seed=SEED, n_jobs=2)
    np.testing.assert_array_equal(jobs, drawn)


# --- fitted objects with the set in every position --------------------------------------------------------


@pytest.fixture(scope="module", params=["plain", "weights", "clusters", "bounds", "overconfident"])
def case(request):
    return Case(request.param)
