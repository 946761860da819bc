"""The test of group skew against its definition; its confidence set, words and invariances."""

import json
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from scipy.spatial import ConvexHull, cKDTree
from support import plain
from support.best_point_cases import U, plain_test, window
from support.group_skew_cases import (
    CASES,
    METHODS,
    ONE_DRAW,
    SIDES,
    B,
    Skew,
    in_both_orders,
    one_sided_rows,
    reaching,
    two_sided_rows,
)
from support.quick import QUICK
from support.small_samples import Rows, fit, rows

from fairfrontier import FairFrontier, Loss, cost_loss
from fairfrontier.bootstrap.draws import DrawingContext
from fairfrontier.datasets import make_liu_molinari
from fairfrontier.errors import InputError, NotFittedError
from fairfrontier.frontier.plane import convex_contains
from fairfrontier.frontier.support import build_support_function, make_scores
from fairfrontier.inference.group_skew import skew_points
from fairfrontier.inference.lattices import lattice
from fairfrontier.inference.skew_gaps import skew_gaps, weakest
from fairfrontier.inference.skew_search import SET_SPACING, BestPointsSet, closest_pair, closest_point

pytestmark = pytest.mark.filterwarnings(
    "ignore::fairfrontier.errors.WeakLearnerWarning", "ignore::fairfrontier.errors.EmptySetWarning"
)


@pytest.fixture(scope="module", params=CASES)
def skew(request):
    return Skew(*request.param)


# --- statistic and draws ------------------------------------------------------------------------------


def test_statistic_and_draws_of_the_closest_pair(skew):
    """From the rows and the multipliers, with the published constants."""
    test = skew.tests["paper"]
    grids = [window(u, 100) for u in U]
    closest_r, closest_b = test.closest
    statistic, draws = plain_test(skew.context, closest_r, closest_b, grids, np.sqrt(skew.ff.n_obs_) ** -0.49)
    assert test.statistic == pytest.approx(statistic, abs=1e-9)
    np.testing.assert_allclose(test.draws, draws, rtol=0, atol=1e-8)
    fewest, most = (1 + sum(d >= statistic + s * 1e-8 for d in draws) for s in (1, -1))
    assert fewest / (1 + B) <= test.p_value <= most / (1 + B)
    assert (closest_r[1] - closest_r[0]) * (closest_b[1] - closest_b[0]) >= 0
    assert test.gaps == ()
    assert test.p_value == closest_pair(*skew.parts["paper"]).p_value


def plain_gap(scores, multipliers, held, group, how):
    """One estimate of the gap at a group's best point, row by row; the rules are those of the shares ``held``."""
    lam = 0.3
    u = (-1.0, 0.0) if group == 0 else (0.0, -1.0)
    q = (-1.0 + lam, -lam) if group == 0 else (-lam, -1.0 + lam)
    risks = []
    for direction in (u, q):
        total, mass = [0.0, 0.0], [0.0, 0.0]
        for i, m in enumerate(multipliers):
            k = sum(direction[g] / held[g] * scores.t[i, g] for g in (0, 1))
            g, w = (0 if scores.is_r[i] else 1), scores.weight[i] * m
            total[g] += w * (scores.l0[i] + (scores.dl[i] if k > 0 else 0.0))
            mass[g] += w
        risks.append([total[g] / mass[g] for g in (0, 1)])
    if how == "direct":
        return risks[0][1 - group] - risks[0][group]
    h_u, h_q = (
        sum(d * e for d, e in zip(direction, risk, strict=True)) for direction, risk in zip((u, q), risks, strict=True)
    )
    return (h_u - h_q) / lam


def check_gaps(gaps, context):
    function, root = context.function, np.sqrt(context.function.n_obs)
    held = plain.group_shares(function.scores)
    multipliers = plain.weights_of_draws(function, context.n_boot, context.seed)
    assert [(gap.group, gap.how) for gap in gaps] == [
        (0, "difference"), (0, "direct"), (1, "difference"), (1, "direct")
    ]  # fmt: skip
    for gap in gaps:
        value = plain_gap(function.scores, np.ones(function.n_obs), held, gap.group, gap.how)
        drawn = [plain_gap(function.scores, m, held, gap.group, gap.how) for m in multipliers]
        assert gap.estimate == pytest.approx(value, abs=1e-12)
        assert gap.statistic == pytest.approx(root * value, abs=1e-10)
        np.testing.assert_allclose(gap.draws, root * (np.array(drawn) - value), rtol=0, atol=1e-9)
        fewest, most = (1 + sum(d >= gap.statistic + s * 1e-9 for d in gap.draws) for s in (1, -1))
        assert fewest / (1 + len(drawn)) <= gap.p_value <= most / (1 + len(drawn))


def test_gaps_statistic_and_draws_of_the_weakest(skew):
    """From the rows and the multipliers; all four gaps have to be positive beyond chance."""
    test = skew.tests["sharp"]
    check_gaps(test.gaps, skew.context)
    assert test.p_value == max(gap.p_value for gap in test.gaps)
    assert test.closest is None
    deciding = [gap for gap in test.gaps if gap.p_value == test.p_value]
    chosen = min(deciding, key=lambda gap: gap.statistic / gap.draws.std())
    assert (test.statistic, test.draws.tobytes()) == (chosen.statistic, chosen.draws.tobytes())


@given(plain.score_samples())
@settings(max_examples=15)
def test_gaps_in_nasty_samples(sample):
    scores, _ = sample
    context = DrawingContext(build_support_function(scores), 99, np.random.SeedSequence(3))
    gaps = skew_gaps(context)
    check_gaps(gaps, context)
    assert weakest(gaps).p_value == max(gap.p_value for gap in gaps)


def test_a_gap_of_zero_that_never_varies_is_not_rejected():
    """And a positive one that never varies is: people of group 1 are always served well, others never."""
    l0, group = np.array([0.0, 0.0, 1.0, 1.0]), np.array([0, 0, 1, 1])
    t = np.array([[1.0, 0.5], [1.0, 0.5], [1.0, 0.5], [1.0, 0.5]])
    for losses, expected in ((l0, {0: ONE_DRAW, 1: 1.0}), (0.0 * l0, {0: 1.0, 1: 1.0})):
        scores = make_scores(losses, np.zeros(4), t, group, np.ones(4))
        gaps = skew_gaps(DrawingContext(build_support_function(scores), 99, np.random.SeedSequence(3)))
        assert {gap.group: gap.p_value for gap in gaps} == expected


@pytest.mark.filterwarnings("ignore::fairfrontier.errors.MarginWarning")
def test_nothing_varies_and_the_risks_are_far_from_zero():
    """Perfect prediction: R = B, wherever the loss puts it, so skew is not rejected."""
    rng = np.random.default_rng(0)
    X, group = rng.normal(size=(100, 3)), (rng.random(100) < 0.5).astype(int)
    y = (X[:, 0] > 0).astype(int)
    t = np.repeat(0.5 * (1 - 2.0 * y[:, None]), 2, axis=1)
    for constant in (0.0, 3.0):
        loss = Loss("shifted", lambda d, y, c=constant: c + 1.0 * (d != y), binary_outcome=True)
        test = fit(Rows(X, y, group, t), options={"n_boot": B, "loss": loss}).test_group_skew()
        assert test.p_value == 1.0
        np.testing.assert_allclose([gap.estimate for gap in test.gaps], 0.0, atol=1e-9)


@pytest.mark.parametrize("method", METHODS)
def test_estimates_and_labels(skew, method):
    test = skew.tests[method]
    np.testing.assert_array_equal(test.best_r, skew.ff.points_.to_numpy()[0, :2])
    np.testing.assert_array_equal(test.best_b, skew.ff.points_.to_numpy()[1, :2])
    assert (test.groups, test.method, test.alpha) == ((1, 0), method, 0.05)


def test_sharp_is_the_default(skew):
    assert skew.ff.test_group_skew().to_dict() == skew.tests["sharp"].to_dict()


# --- decisions ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("seed", range(2))
def test_exchanging_the_groups_mirrors_the_result(seed, method):
    data = rows(120, seed)
    clusters = np.arange(120)  # multipliers then go with the rows, in whichever order the groups come
    one = fit(data, options={"n_boot": B, "groups": (1, 0)}, clusters=clusters)
    other = fit(data, t=data.t[:, ::-1], options={"n_boot": B, "groups": (0, 1)}, clusters=clusters)
    ours, theirs = one.test_group_skew(method=method), other.test_group_skew(method=method)
    assert ours.p_value == pytest.approx(theirs.p_value, abs=0.02)
    np.testing.assert_allclose(ours.best_r, theirs.best_b[::-1], atol=1e-12)
    if method == "sharp":
        for gap, image in zip(ours.gaps, theirs.gaps[2:] + theirs.gaps[:2], strict=True):
            assert gap.estimate == pytest.approx(image.estimate, abs=1e-12)
            np.testing.assert_allclose(gap.draws, image.draws, rtol=0, atol=1e-9)
    # T and draws of our points are those of their mirror images in the other fit
    mine, yours = (skew_points(ff.feasible_set().context, method) for ff in (one, other))
    for point, image, at in zip(mine, yours[::-1], (ours.best_r, ours.best_b), strict=True):
        for a, b in zip(point.test(at[None]), image.test(at[None, ::-1]), strict=True):
            np.testing.assert_allclose(a, b, rtol=0, atol=1e-9)
        for above in SIDES:
            counts = closest_point(point, above)[0], closest_point(image, not above)[0]
            assert counts[0] == pytest.approx(counts[1], abs=2)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("seed", range(2))
def test_best_points_on_different_sides_are_recognised(method, seed):
    for ff in in_both_orders(two_sided_rows(300, seed)):
        test = ff.test_group_skew(method=method)
        assert ff.configuration_ == "balanced"
        assert test.p_value == ONE_DRAW
        assert test.reject
        assert test.statistic > test.critical_value


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("seed", range(2))
def test_best_points_on_one_side_are_not_rejected(method, seed):
    """Above the line it is B that speaks against rejection, and below it R."""
    for ff in in_both_orders(one_sided_rows(seed=seed)):
        test = ff.test_group_skew(method=method)
        assert ff.configuration_ == "1-skewed"
        assert test.p_value > 0.5
        assert not test.reject
        assert not test.at(0.4).reject
        if method == "sharp":
            sign = 1 if ff.groups_ == (1, 0) else -1
            assert weakest(test.gaps).group == (1 if sign > 0 else 0)


@pytest.mark.filterwarnings("ignore::fairfrontier.errors.MarginWarning")
@pytest.mark.parametrize("method", METHODS)
def test_without_any_loss_at_both_best_points_the_null_holds(method):
    """Both lie in the origin, on the line, and nothing that happens there varies from draw to draw."""
    rng = np.random.default_rng(0)
    X, g = rng.normal(size=(60, 3)), np.arange(60) % 2
    y = (X[:, 0] > 0).astype(int)
    ff = fit(Rows(X, y, g, np.repeat(0.5 * (1.0 - 2.0 * y[:, None]), 2, axis=1)), options={"n_boot": B})
    test = ff.test_group_skew(method=method)
    np.testing.assert_array_equal([test.best_r, test.best_b], np.zeros((2, 2)))
    assert test.p_value > 0.5


def test_the_two_published_designs():
    """The balanced one has best points on different sides, the skewed one on the same side."""
    for design, different in (("balanced", True), ("skewed", False)):
        X, y, g = make_liu_molinari(800, design, random_state=2)
        ff = FairFrontier(**QUICK, n_folds=2, random_state=0, n_boot=B)
        ff.fit(X, y, sensitive_features=g)
        for method in METHODS:
            test = ff.test_group_skew(method=method)
            assert test.reject == different
            assert different or test.p_value > (0.2 if method == "paper" else 0.1)


@pytest.mark.parametrize("scale", [2.0**-10, 2.0**20])
def test_the_unit_of_the_loss_does_not_matter(scale):
    """A power of two changes no digit of any number, so nothing may change but the unit."""
    for data, method in ((rows(60, 3), "sharp"), (one_sided_rows(60), "paper")):
        one, other = (
            fit(data, t=c * data.t, options={"n_boot": B, "loss": cost_loss(c, c)}).test_group_skew(method=method)
            for c in (1.0, scale)
        )
        assert other.p_value == one.p_value
        if method == "paper":
            np.testing.assert_array_equal(other.closest / scale, one.closest)
        np.testing.assert_array_equal(other.draws / scale, one.draws)
        np.testing.assert_array_equal(other.confidence_set.best_r / scale, one.confidence_set.best_r)
        np.testing.assert_array_equal(other.confidence_set.best_b / scale, one.confidence_set.best_b)


def test_adding_a_constant_to_the_loss_moves_everything_along():
    data = rows(100, 3)
    tests = []
    for constant in (0.0, 3.0, -2.0):

        def shifted(d, y, constant=constant):
            return constant + 1.0 * (d != y)

        tests.append(fit(data, options={"n_boot": B, "loss": shifted}).test_group_skew())
        np.testing.assert_allclose(tests[-1].best_r, tests[0].best_r + constant, atol=1e-12)
        assert tests[-1].p_value == pytest.approx(tests[0].p_value, abs=2 * ONE_DRAW + 1e-12)


@pytest.mark.parametrize("method", METHODS)
def test_the_number_of_threads_changes_no_bit(method):
    data = rows(80, 3)
    one, two, other = (
        fit(data, options={"n_boot": B, "n_jobs": jobs, "random_state": state}).test_group_skew(method=method)
        for jobs, state in ((1, 4), (2, 4), (1, 5))
    )
    assert one.to_dict() == two.to_dict()
    assert one.draws.tobytes() == two.draws.tobytes() != other.draws.tobytes()
    assert one.confidence_set.best_r.tobytes() == two.confidence_set.best_r.tobytes()
    assert one.confidence_set.best_b.tobytes() == two.confidence_set.best_b.tobytes()


# --- confidence set -----------------------------------------------------------------------------------


def counts_of_pairs(r, b, R, B_):
    """Draws at or above T for every pair (k, m) of two sets of points."""
    (t_r, d_r), (t_b, d_b) = r.test(R), b.test(B_)
    one, other = d_r - t_r[:, None], d_b - t_b[:, None]
    return np.array([np.count_nonzero(row + other >= -1e-11, axis=1) for row in one]).reshape(len(R), len(B_))


def shown(points):
    return {tuple(p) for p in points.round(9).tolist()}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("alpha", [0.05, 0.2])
def test_the_confidence_set_is_that_of_the_accepted_pairs(skew, method, alpha):
    r, b = skew.parts[method]
    found = skew.tests[method].at(alpha).confidence_set
    assert found.alpha == alpha
    # every lattice point that can matter: T of one point alone may not exceed what all draws together reach
    limit = float((r.largest_draws + b.largest_draws).max())
    lattices = [lattice(point, limit, SET_SPACING) for point in (r, b)]
    accepted = (1 + counts_of_pairs(r, b, *lattices)) / (1 + B) > alpha + 1e-12
    assert shown(found.best_r) == shown(lattices[0][accepted.any(axis=1)])
    assert shown(found.best_b) == shown(lattices[1][accepted.any(axis=0)])
    # each accepted point has a partner, itself accepted
    partners = (1 + counts_of_pairs(r, b, found.best_r, found.best_b)) / (1 + B) > alpha + 1e-12
    assert partners.any(axis=1).all()
    assert partners.any(axis=0).all()
    # where the test is one of pairs, an accepted pair of the null speaks against rejection
    above_r, above_b = (p[:, 1] - p[:, 0] for p in (found.best_r, found.best_b))
    if method == "paper" and (partners & (above_r[:, None] * above_b >= 0)).any():
        assert not skew.tests[method].at(alpha).reject
    assert (skew.tests[method].p_value > alpha) == (skew.tests[method].at(alpha).verdict == "not-shown")


@pytest.mark.parametrize("method", METHODS)
def test_estimates_and_closest_pair_lie_in_the_confidence_set(skew, method):
    test = skew.tests[method]
    r, b = skew.parts[method]
    assert (1 + reaching(r, b, test.best_r[None], test.best_b[None])[0]) / (1 + B) > 0.05
    assert SET_SPACING < 1.0
    closest = [None, None] if test.closest is None else test.closest
    for near, estimate, at, points, outline in (
        (r.unit, test.best_r, closest[0], test.confidence_set.best_r, test.confidence_set.outline_r),
        (b.unit, test.best_b, closest[1], test.confidence_set.best_b, test.confidence_set.outline_b),
    ):
        assert cKDTree(points).query(estimate)[0] <= near
        assert convex_contains(outline, estimate[None]).all()
        assert convex_contains(outline, points, slack=1e-12).all()
        assert shown(outline) <= shown(points)
        assert ConvexHull(points).volume == pytest.approx(ConvexHull(outline).volume)
        if at is not None and test.p_value > 0.15:
            assert cKDTree(points).query(at)[0] <= near


@pytest.mark.parametrize("method", METHODS)
def test_other_levels_need_no_draws_and_give_nested_sets(skew, method, monkeypatch):
    test = skew.tests[method]

    def refuse(*_, **__):
        raise AssertionError("drew again")

    monkeypatch.setattr("fairfrontier.bootstrap.draws.for_each_draw", refuse)
    monkeypatch.setattr("fairfrontier.bootstrap.exact.for_each_draw", refuse)
    with pytest.raises(AssertionError, match="drew again"):
        skew.ff.test_group_skew(method=method)
    levels = [test.at(alpha) for alpha in (0.01, 0.05, 0.1, 0.25, 0.45)]
    assert test.at(test.alpha).to_dict() == test.to_dict()
    for strict, loose in pairwise(levels):
        assert (loose.verdict != "not-shown") >= (strict.verdict != "not-shown")
        assert loose.critical_value <= strict.critical_value
        assert strict.p_value == loose.p_value
        larger, smaller = strict.confidence_set, loose.confidence_set
        assert shown(smaller.best_r) <= shown(larger.best_r)
        assert shown(smaller.best_b) <= shown(larger.best_b)
    assert len(levels[-1].confidence_set.best_r) < len(levels[0].confidence_set.best_r)


def test_outlines_of_few_points_and_of_points_on_a_line():
    none, one, two = np.empty((0, 2)), np.array([[0.1, 0.2]]), np.array([[0.1, 0.2], [0.3, 0.1]])
    for points in (none, one, two):
        np.testing.assert_array_equal(BestPointsSet(0.05, points, points).outline_r, points)
    line = np.array([[1.0, 2.0], [2.0, 0.0], [0.0, 4.0]])
    for order in ([0, 1, 2], [1, 0, 2], [2, 1, 0]):
        found = BestPointsSet(0.05, line[order], line)
        assert shown(found.outline_r) == {(0.0, 4.0), (2.0, 0.0)}
    square = np.array([[0.0, 0.0], [0.5, 0.5], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0], [0.5, 0.0]])
    assert shown(BestPointsSet(0.05, line, square).outline_b) == {(0.0, 0.0), (1.0, 0.0), (1.0, 1.0), (0.0, 1.0)}


# --- words --------------------------------------------------------------------------------------------


def named(data):
    g = np.where(data.g == 1, "men", "women")
    return fit(data, g=g, options={"n_boot": B, "groups": ("men", "women")}).test_group_skew()


def test_summary_of_a_rejection():
    test = named(two_sided_rows(300))
    text = test.summary()
    assert test.reject
    assert "group men" in text
    assert "group women" in text
    assert f"P-value {test.p_value:.4f} at alpha 0.05" in text
    assert "each group is served best by rules under which the other group has the higher risk" in text
    assert "For banning: every point of the frontier of rules that do not see men or women is dominated" in text
    assert "For justification: the frontier is then the Pareto frontier" in text
    assert "Not rejected" not in text
    assert "not a legal finding" in text
    for point in (test.best_r, test.best_b):
        assert f"risks {point[0]:.4f} (men) and {point[1]:.4f} (women)" in text
    assert "Not rejected" in replace(test, p_value=0.2).summary()


def test_summary_without_a_rejection():
    test = named(one_sided_rows())
    text = test.summary()
    assert not test.reject
    assert "(men)" in text
    assert "(women)" in text
    assert "Not rejected. This does not show that the group should be banned, nor that banning it would do no" in text
    assert "the same group has the higher risk" in text
    assert "Nor can it be ruled out" in text
    assert "For banning" not in text
    assert "For justification" not in text
    assert "not a legal finding" in text


def test_dictionary_is_json(skew):
    for method, test in skew.tests.items():
        record = test.to_dict()
        assert json.loads(json.dumps(record)) == record
        assert record["groups"] == ["1", "0"]
        assert record["method"] == method
        assert record["n_boot"] == B
        assert record["reject"] is (record["verdict"] == "balance-shown")
        assert (record["verdict"] == "not-shown") is (test.p_value > 0.05)
        assert record["p_value_balanced"] == test.p_value_balanced
        for name in ("best_r", "best_b"):
            assert record[name] == getattr(test, name).tolist()
        assert [gap["estimate"] for gap in record["gaps"]] == [gap.estimate for gap in test.gaps]
        assert record["closest"] == (None if test.closest is None else test.closest.tolist())
        for name in ("statistic", "critical_value", "p_value", "alpha"):
            assert record[name] == getattr(test, name)
            assert isinstance(record[name], float)


# --- what is refused ----------------------------------------------------------------------------------

BAD_CALLS = {
    **{f"alpha {a!r}": ({"alpha": a}, "bad-alpha") for a in (0.0, 0.5, 1.0, -0.1, float("nan"), "5%")},
    "a level too small for the draws": ({"alpha": 0.001}, "bad-draws"),
    **{f"method {m!r}": ({"method": m}, "bad-option") for m in ("robust", "", None, 1, ["sharp"])},
}


@pytest.fixture(scope="module")
def small():
    return fit(rows(60, 0), options={"n_boot": B})


@pytest.mark.parametrize("name", BAD_CALLS)
def test_bad_calls_are_refused(small, name):
    options, code = BAD_CALLS[name]
    with pytest.raises(InputError) as caught:
        small.test_group_skew(**options)
    assert caught.value.code == code


def test_other_levels_are_checked_too(small):
    test = small.test_group_skew()
    for alpha, code in ((0.7, "bad-alpha"), (0.001, "bad-draws")):
        with pytest.raises(InputError) as caught:
            test.at(alpha)
        assert caught.value.code == code


def test_nothing_is_tested_before_the_fit():
    with pytest.raises(NotFittedError, match="fit"):
        FairFrontier().test_group_skew()
