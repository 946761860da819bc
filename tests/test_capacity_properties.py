"""Sets, frontiers and tests of alternatives within a capacity: what holds of them, against loops and brute force."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import plain
from support.capacity_cases import plain_rule, shares, some_capacity
from support.codes import group_codes
from support.small_samples import fit, rows

from fairfrontier.bootstrap.capped import CappedContext
from fairfrontier.errors import CapacityWarning, InputError
from fairfrontier.frontier.capacity import cap, capped_feasible_set, grid_directions
from fairfrontier.frontier.plane import clip_polygon, convex_contains, polygon_area
from fairfrontier.frontier.sets import feasible_set
from fairfrontier.frontier.support import build_support_function, make_scores
from fairfrontier.inference.lda.evidence import lda_evidence

B = 99
pytestmark = pytest.mark.filterwarnings(
    "ignore::fairfrontier.errors.WeakLearnerWarning", "ignore::fairfrontier.errors.EmptySetWarning"
)


# --- sets ---------------------------------------------------------------------------------------------


@settings(max_examples=30)
@given(plain.score_samples(), shares, st.sampled_from([0.0, 0.3, None]))
def test_capped_feasible_set(case, share, noise):
    scores, rng = case
    if noise is not None:  # pairs that predict the losses, without which most sets are empty
        own = np.where(scores.is_r, *(scores.t / plain.group_shares(scores)).T)
        scores = replace(scores, dl=own * (1.0 + noise * rng.normal(size=len(own))))
    whole = build_support_function(scores)
    function = cap(whole, some_capacity(scores, share))
    unconstrained = feasible_set(whole.estimate)
    capped = capped_feasible_set(unconstrained, function)
    q, h = grid_directions(), function.estimate.grid_h()
    scale = 1.0 + np.abs(h).max()
    # where the capacity does not bind, the exact polygon of all rules has the last word
    binding = np.array([function.cutoff(direction).value > 0.0 for direction in q])
    h = np.where(binding, h, np.maximum(h, unconstrained.support(q)))
    if capped.is_empty:
        assert len(unconstrained.vertices) == 0 or (unconstrained.vertices @ q.T > h).any()
    else:
        assert (capped.vertices @ q.T <= h + 1e-9 * scale).all()
        assert convex_contains(unconstrained.vertices, capped.vertices, slack=1e-9 * scale).all()
    assert -1e-9 * scale <= capped.area <= unconstrained.area + 1e-9 * scale
    if unconstrained.area < 1e-6:
        return
    # nothing is cut off that satisfies all half planes
    corners = rng.dirichlet(np.full(len(unconstrained.vertices), 0.5), size=200)
    points = corners @ unconstrained.vertices
    beyond, margin = (points @ q.T - h).max(axis=1), 1e-6 * scale
    assert convex_contains(capped.vertices, points[beyond < -margin], slack=1e-9 * scale).all()
    if capped.area > 1e-9 * scale:
        assert not convex_contains(capped.vertices, points[beyond > margin]).any()


@pytest.mark.parametrize("seed", range(5))
def test_everybody_as_capacity_leaves_the_feasible_set(seed):
    rng = np.random.default_rng(seed)
    n = 150
    t, is_r = rng.normal(size=(n, 2)), rng.random(n) < 0.5
    dl = np.where(is_r, t[:, 0], t[:, 1]) + 0.3 * rng.normal(size=n)
    whole = build_support_function(make_scores(rng.random(n), dl, t, group_codes(is_r), rng.exponential(size=n)))
    unconstrained = feasible_set(whole.estimate)
    assert unconstrained.area > 0.1
    capped = capped_feasible_set(unconstrained, cap(whole, 1.0))
    np.testing.assert_allclose(capped.vertices, unconstrained.vertices, rtol=0, atol=1e-10)
    tight = capped_feasible_set(unconstrained, cap(whole, 0.1))
    assert 0 < tight.area < 0.8 * unconstrained.area


SQUARE = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])


@settings(max_examples=150)
@given(st.sampled_from([3, 4, 7]), st.integers(0, 6), st.integers(0, 2**32 - 1))
def test_clipped_polygons_hold_the_points_inside_both(corners, cuts, seed):
    rng = np.random.default_rng(seed)
    angle = np.sort(rng.random(corners)) * 2 * np.pi
    polygon = SQUARE if corners == 4 else np.column_stack([np.cos(angle), np.sin(angle)])
    q, bound = rng.normal(size=(cuts, 2)), rng.normal(size=cuts) * 0.7
    clipped = clip_polygon(polygon, q, bound)
    points = rng.uniform(-1.2, 1.2, size=(400, 2))
    points = np.vstack([points, rng.dirichlet(np.ones(len(polygon)), size=100) @ polygon])
    near = np.abs(points @ q.T - bound).min(axis=1, initial=np.inf) < 1e-9
    points = points[~near & (convex_contains(polygon, points, 1e-9) == convex_contains(polygon, points, -1e-9))]
    inside = convex_contains(polygon, points)
    for direction, limit in zip(q, bound, strict=True):
        inside &= np.array([x @ direction <= limit for x in points])
    found = convex_contains(clipped, points) if polygon_area(clipped) > 0 else np.zeros(len(points), dtype=bool)
    np.testing.assert_array_equal(found, inside)
    for x in clipped:
        assert all(direction @ x <= limit + 1e-12 for direction, limit in zip(q, bound, strict=True))
    assert polygon_area(clipped) >= -1e-15


def cut(polygon, *planes):
    q, bound = np.array([plane[:2] for plane in planes]), np.array([plane[2] for plane in planes])
    return clip_polygon(np.array(polygon, dtype=float).reshape(-1, 2), q, bound)


def test_clipping_by_hand():
    np.testing.assert_array_equal(cut(SQUARE, (1.0, 0.0, 2.0)), SQUARE)
    np.testing.assert_array_equal(cut(SQUARE, (1.0, 0.0, 1.0), (0.0, -1.0, 0.0)), SQUARE)  # planes through two sides
    np.testing.assert_allclose(cut(SQUARE, (1.0, 0.0, 0.25)), [[0, 0], [0.25, 0], [0.25, 1], [0, 1]])
    np.testing.assert_allclose(cut(SQUARE, (1.0, 1.0, 1.0)), [[0, 0], [1, 0], [0, 1]])  # through two corners
    np.testing.assert_allclose(cut(SQUARE, (1.0, 1.0, 0.0)), [[0, 0]])  # touching one corner
    np.testing.assert_allclose(cut(SQUARE, (1.0, 0.0, 0.0)), [[0, 0], [0, 1]])  # touching one side
    assert cut(SQUARE, (1.0, 0.0, -0.1)).shape == (0, 2)
    assert cut(SQUARE, (1.0, 0.0, 0.4), (-1.0, 0.0, -0.6)).shape == (0, 2)
    assert cut([], (1.0, 0.0, 1.0)).shape == (0, 2)
    np.testing.assert_array_equal(cut([[0.5, 0.5]], (1.0, 0.0, 0.5)), [[0.5, 0.5]])
    assert cut([[0.5, 0.5]], (1.0, 0.0, 0.4)).shape == (0, 2)
    segment = cut([[0.0, 0.0], [1.0, 1.0]], (1.0, 0.0, 0.5))
    assert {tuple(x) for x in segment} == {(0.0, 0.0), (0.5, 0.5)}
    assert cut([[0.0, 0.0], [1.0, 1.0]], (1.0, 0.0, -0.5)).shape == (0, 2)


# --- frontiers ----------------------------------------------------------------------------------------


def fitted(kind="plain", n=160, seed=2, **options):
    """Rows with good pairs, and an object fitted on them."""
    data, rng, arguments = rows(n, seed), np.random.default_rng(11), {}
    if kind == "weights":
        arguments["sample_weight"] = rng.exponential(size=n) * (rng.random(n) < 0.9)
    elif kind == "clusters":
        arguments["clusters"] = rng.permutation(np.arange(n) % (n // 4))
    elif kind == "bounds":
        arguments |= {"lower": 0.02, "upper": np.where(rng.random(n) < 0.5, 0.8, 1.0)}
    return data, fit(data, options={"n_boot": B} | options, **arguments)


KINDS = ["plain", "weights", "clusters", "bounds"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("capacity", [0.1, 0.4])
def test_frontier_points_are_those_of_the_rules_of_their_directions(kind, capacity):
    _, ff = fitted(kind)
    scores = ff.support_function_.scores
    curve = ff.frontier(capacity=capacity, n_points=40)
    assert curve.kind == "fairness-accuracy"
    assert curve.points.shape == curve.directions.shape == (40, 2)
    for q, point in zip(curve.directions, curve.points, strict=True):
        np.testing.assert_allclose(point, plain_rule(scores, capacity, q)[2], rtol=0, atol=1e-9)
    # from R to B, and on to the fairest rule where both lie on the same side of the 45-degree line
    R, B_ = (plain_rule(scores, capacity, q)[2] for q in ([-1.0, 0.0], [0.0, -1.0]))
    angle = np.arctan2(*curve.directions.T[::-1]) % (2 * np.pi)
    fairest = cap(ff.support_function_, capacity).plug_in().fairest_direction()
    fairest = np.arctan2(fairest[1], fairest[0]) % (2 * np.pi)
    start, stop = np.pi, 1.5 * np.pi
    if R[0] < R[1] and B_[0] <= B_[1]:
        stop = max(stop, fairest)
    elif R[0] >= R[1] and B_[0] > B_[1]:
        start = min(start, fairest)
    np.testing.assert_allclose(angle, np.linspace(start, stop, 40), atol=1e-12)


@pytest.mark.parametrize("harder", [0, 1])
def test_under_skew_the_frontier_goes_on_to_the_fairest_rule(harder):
    """One group's outcomes are coins, so its risks are the higher ones under its own best rule too."""
    data, rng = rows(300, 4), np.random.default_rng(0)
    easy = (data.X[:, 0] > 0).astype(int)
    y = np.where(data.g == harder, rng.integers(0, 2, 300), easy)
    guess = 0.05 * (1 - 2 * easy) - 0.01 * data.X[:, 1]
    t = np.column_stack([guess if g == harder else 0.4 * (1 - 2 * easy) for g in (1, 0)])
    ff = fit(data, y=y, t=t)
    capacity = 0.45
    fairest = cap(ff.support_function_, capacity).plug_in().fairest_direction()
    fairest = np.arctan2(fairest[1], fairest[0]) % (2 * np.pi)
    curve = ff.frontier(capacity=capacity, n_points=20)
    R, B_ = cap(ff.support_function_, capacity).estimate.support_set([[-1.0, 0.0], [0.0, -1.0]])
    angle = np.arctan2(*curve.directions.T[::-1]) % (2 * np.pi)
    if harder == 1:  # the first group: both best points lie below the 45-degree line
        assert R[0] > R[1]
        assert B_[0] > B_[1]
        assert fairest < np.pi - 0.01
        np.testing.assert_allclose(angle, np.linspace(fairest, 1.5 * np.pi, 20), rtol=0, atol=1e-12)
    else:
        assert R[0] < R[1]
        assert B_[0] < B_[1]
        assert fairest > 1.5 * np.pi + 0.01
        np.testing.assert_allclose(angle, np.linspace(np.pi, fairest, 20), rtol=0, atol=1e-12)


def test_distance_from_the_capped_frontier():
    _, ff = fitted()
    curve, h = ff.frontier(capacity=0.2, n_points=5), cap(ff.support_function_, 0.2).estimate.h(grid_directions())
    assert curve.tolerance == pytest.approx(np.sqrt(np.log(160) / 160))
    points = np.vstack([curve.points, [[0.2, 0.2], [0.9, 0.9], [0.6, 0.5], [0.45, 0.45]]])
    expected = []
    for e in points:
        outside = max(q @ e - h[j] for j, q in enumerate(grid_directions()))
        below = [(q, h[j]) for j, q in enumerate(grid_directions()) if q.sum() <= 1e-12]
        inside = min(plain.improvement_support(e, -q) + value for q, value in below)
        expected.append(max(outside, 0.0) + max(inside, 0.0))
    np.testing.assert_allclose(curve.criterion(points), expected, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(curve.contains(points), np.array(expected) <= curve.tolerance)
    assert 0 < curve.contains(points).sum() < len(points)


@pytest.mark.parametrize("kind", KINDS)
def test_everybody_as_capacity_changes_no_set_and_no_frontier(kind):
    _, ff = fitted(kind)
    free, capped = ff.frontier(n_points=50), ff.frontier(n_points=50, capacity=1.0)
    np.testing.assert_allclose(capped.directions, free.directions, rtol=0, atol=1e-15)
    np.testing.assert_allclose(capped.points, free.points, rtol=0, atol=1e-12)
    np.testing.assert_allclose(ff.feasible_set(capacity=1).vertices, ff.feasible_set().vertices, rtol=0, atol=1e-10)


@pytest.mark.parametrize("capacity", [0, -0.1, 1.5, True, "0.1", np.nan])
def test_everything_refuses_a_capacity_that_is_no_share(capacity):
    data, ff = fitted()
    for ask in (ff.frontier, ff.feasible_set, lambda capacity: ff.test_lda(data.y, capacity=capacity)):
        with pytest.raises(InputError) as error:
            ask(capacity=capacity)
        assert error.value.code == "bad-capacity"


def test_everything_refuses_lower_bounds_above_the_capacity():
    _, ff = fitted("bounds")
    for ask in (ff.frontier, ff.feasible_set, lambda capacity: ff.test_lda(risks=[0.5, 0.5], capacity=capacity)):
        with pytest.raises(InputError) as error:
            ask(capacity=0.01)
        assert error.value.code == "bad-capacity"


def test_nobody_worth_treating_and_lower_bounds_that_use_up_the_capacity():
    """Where treatment never pays the best rules are the lower bounds, whatever the rounding of their sum."""
    n, lower = 120, 0.1
    assert np.sum(np.full(n, lower)) > lower * n  # by rounding only
    data = rows(n, 0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ff = fit(data, y=np.where(np.arange(n) % 9 == 0, 1, 0), t=np.abs(data.t) + 0.1, lower=lower)
    points = ff.frontier(capacity=lower, n_points=3).points
    np.testing.assert_allclose(points, np.tile(ff.risks(np.full(n, lower)).risk, (3, 1)), rtol=0, atol=1e-12)


# --- less discriminatory alternatives -----------------------------------------------------------------


def algorithms(data, capacity, rng):
    """A lottery and a good rule that treat just the capacity."""
    n = len(data.y)
    size = round(capacity * n)
    random, good = np.zeros(n), np.zeros(n)
    random[rng.choice(n, size, replace=False)] = 1.0
    good[np.argsort(data.t.sum(axis=1))[:size]] = 1.0
    return {"random": random, "good": good}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("method", ["robust", "sharp"])
@pytest.mark.filterwarnings("ignore::fairfrontier.errors.CapacityWarning")
def test_lda_tests_against_loops(kind, method):
    capacity, n = 0.25, 160
    data, ff = fitted(kind)
    decisions = algorithms(data, capacity, np.random.default_rng(0))
    function = cap(ff.support_function_, capacity)
    context, step, root = CappedContext(function, B, ff.fit_.seeds.drawing), np.sqrt(n) ** -0.49, np.sqrt(n)
    grid = plain.robust_grid(n)
    points = function.estimate.support_set(grid)
    rule, q_robust = list(grid), list(grid)
    for k in range(len(grid) - 1):
        x = plain.where_neighbours_are_equal(*grid[k : k + 2], *points[k : k + 2])
        if x is not None:
            rule, q_robust = [*rule, grid[k], grid[k + 1]], [*q_robust, x, x]
    all_losses = np.array([data.y + a * (1.0 - 2.0 * data.y) for a in decisions.values()])
    found = lda_evidence(context, all_losses, np.empty((0, 2)), method=method)
    for test, losses in zip(found, all_losses, strict=True):
        e = test.risk
        q = np.array(q_robust) if method == "robust" else test.direction[None]
        draws = context.draw(rule if method == "robust" else q, losses[None].astype(float), along=q)
        np.testing.assert_allclose(draws.risks_hat[0], e, rtol=0, atol=1e-13)
        statistics, spreads, p_values, all_z = [], [], [], []
        for j, x in enumerate(q):
            still = plain.improvement_support(e, -x)
            z = []
            for b in range(B):
                moved = plain.improvement_support(e + step * root * (draws.risks[b, 0] - e), -x)
                z.append(root * (draws.h[b, j] - draws.h_hat[j]) + (moved - still) / step)
            statistics.append(root * (still + draws.h_hat[j]))
            spreads.append(statistics[-1] / np.std(z))
            p_values.append((1 + sum(value >= statistics[-1] - 1e-9 for value in z)) / (1 + B))
            all_z.append(z)
        assert test.p_value == max(p_values)
        chosen = min((j for j in range(len(q)) if p_values[j] == max(p_values)), key=lambda j: spreads[j])
        assert test.statistic == pytest.approx(statistics[chosen], abs=1e-9)
        np.testing.assert_allclose(test.draws, all_z[chosen], rtol=0, atol=1e-8)
        if method == "sharp":  # where the plug-in criterion is smallest on the grid
            plug_in = function.plug_in()
            below = [x for x in grid_directions() if x.sum() <= 1e-12]
            criterion = [plain.improvement_support(e, -x) + plug_in.h(x)[0] for x in below]
            np.testing.assert_allclose(q[0], below[int(np.argmin(criterion))], atol=1e-8)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("bounds", [False, True])
def test_everybody_as_capacity_is_the_test_without_capacity(weighted, bounds):
    """With every row a cluster of its own both kinds of draws give a row the same random weight."""
    data, rng = rows(160, 3), np.random.default_rng(0)
    arguments = {"clusters": np.arange(160)}
    if weighted:
        arguments["sample_weight"] = rng.exponential(size=160)
    if bounds:
        arguments |= {"lower": 0.05, "upper": 0.9}
    ff = fit(data, options={"n_boot": B}, **arguments)
    decisions = {"coin": rng.integers(0, 2, 160), "rule": (data.t.sum(axis=1) < 0).astype(int), "all": np.ones(160)}
    free, capped = ff.test_lda(decisions), ff.test_lda(decisions, capacity=1.0)
    for name, expected in free.items():
        found = capped[name]
        assert found.p_value == expected.p_value
        assert found.statistic == pytest.approx(expected.statistic, abs=1e-10)
        np.testing.assert_allclose(found.draws, expected.draws, rtol=0, atol=1e-9)
        np.testing.assert_allclose(found.risk, expected.risk, rtol=0, atol=1e-13)
        assert (found.witness is None) == (expected.witness is None)
        if found.witness is not None:
            np.testing.assert_allclose(found.witness.risk, expected.witness.risk, rtol=0, atol=1e-12)
            np.testing.assert_allclose(found.witness.largest, expected.witness.largest, rtol=0, atol=1e-7)
    # the sharp test and the bound look for their directions on the grid, so they agree up to that
    for name, expected in ff.test_lda(decisions, method="sharp").items():
        found = ff.test_lda(decisions, method="sharp", capacity=1.0)[name]
        plug_in = ff.support_function_.plug_in()
        exact = plug_in.min_separation(found.risk).value
        q = found.evidence.direction
        value = plain.improvement_support(found.risk, -q) + plug_in.h(q)[0]
        assert exact - 1e-9 <= value <= exact + 0.02
        assert found.robust_p_value == expected.robust_p_value


@pytest.mark.parametrize("kind", KINDS)
def test_a_witness_keeps_within_the_capacity(kind):
    data, ff = fitted(kind, n=600)
    capacity, seen = 0.15, 0
    rng, scores = np.random.default_rng(5), ff.support_function_.scores
    worst = data.t.sum(axis=1) > np.quantile(data.t.sum(axis=1), 0.86)
    bad = {"lottery": np.full(600, capacity), "wrong": worst, "random": algorithms(data, 0.14, rng)["random"]}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CapacityWarning)  # by the weights some treat a little more
        tests = ff.test_lda(bad, capacity=capacity, randomised=True)
    for test in tests.values():
        witness = test.evidence.witness
        if witness is None:
            continue
        seen += 1
        assert witness.selection_rate @ plain.group_shares(scores) <= capacity + 1e-9
        # it is the mixture of the rules of its directions, between the bounds
        moved = np.zeros(600)
        for q, share in zip(witness.directions, witness.shares, strict=True):
            moved += share * plain_rule(scores, capacity, q)[0]
        losses = scores.l0 + moved * scores.dl
        risk = [np.average(losses[g], weights=scores.weight[g]) for g in (scores.is_r, ~scores.is_r)]
        np.testing.assert_allclose(witness.risk, risk, rtol=0, atol=1e-9)
        treatment = moved if scores.lower is None else scores.lower + scores.spread * moved
        rates = [np.average(treatment[g], weights=scores.weight[g]) for g in (scores.is_r, ~scores.is_r)]
        np.testing.assert_allclose(witness.selection_rate, rates, rtol=0, atol=1e-9)
    assert seen >= 2


def test_a_warning_where_the_algorithm_selects_more_than_the_capacity():
    data, ff = fitted(n=200)
    some = algorithms(data, 0.1, np.random.default_rng(0))
    ff.test_lda(some, capacity=0.1)  # just the capacity: no warning, which would be an error here
    ff.test_lda(risks=[0.4, 0.5], capacity=0.1)
    with pytest.warns(CapacityWarning, match=r"random selects 10\.00% of the people.* 9\.00%") as caught:
        ff.test_lda({"random": some["random"], "nobody": np.zeros(200)}, capacity=0.09)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    # the share is a weighted one
    weight = np.where(some["random"] == 1, 3.0, 1.0)
    weighted = fit(data, options={"n_boot": B}, sample_weight=weight)
    with pytest.warns(CapacityWarning, match=r"25\.00%"):
        weighted.test_lda(some["random"], capacity=0.2)
    weighted.test_lda(some["random"], capacity=0.25)


def test_the_published_test_knows_no_capacity():
    data, ff = fitted()
    with pytest.raises(InputError, match="capacity") as error:
        ff.test_lda(algorithms(data, 0.1, np.random.default_rng(0)), capacity=0.1, method="paper")
    assert error.value.code == "bad-option"


@pytest.mark.parametrize("kind", ["plain", "clusters", "bounds"])
def test_treating_at_random_is_shown_to_be_improvable_and_a_best_rule_is_not(kind):
    capacity, n = 0.1, 1500
    data, ff = fitted(kind, n=n, seed=3, n_boot=199)
    function = cap(ff.support_function_, capacity)
    lower, spread = (0.0, 1.0) if kind != "bounds" else (function.lower, function.spread)
    decisions = {"random": algorithms(data, capacity, np.random.default_rng(1))["random"]}
    for number, q in enumerate(([-1.0, 0.0], [0.0, -1.0], [-1.0, -1.0])):
        decisions[f"best {number}"] = lower + spread * function.selected(q)
    tests = ff.test_lda(decisions, capacity=capacity, randomised=True)
    assert tests["random"].verdict == "lda-shown"
    assert tests["random"].witness.gain.min() > 0
    for number in range(3):
        assert not tests[f"best {number}"].reject
        assert tests[f"best {number}"].p_value > 0.2
    # without the capacity the same rules are far from the best
    free = ff.test_lda(decisions, randomised=True)
    assert all(test.reject for test in free.values())
