"""Capacity-constrained rules, their support function, extrema, draws and sets against loops over rows."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog
from support import plain
from support.capacity_cases import bounds_of, plain_rule, plain_treatment, shares, some_capacity
from support.codes import group_codes

from fairfrontier.bootstrap.capped import CappedContext
from fairfrontier.errors import InputError
from fairfrontier.frontier.capacity import cap, find_cutoff, grid_directions, lowest_level
from fairfrontier.frontier.plane import unit_circle
from fairfrontier.frontier.support import build_support_function, make_scores

ROOT_HALF = np.sqrt(0.5)
CAPS = (0.01, 0.03, 0.1, 0.5)
empty_sets_are_fine = pytest.mark.filterwarnings("ignore::fairfrontier.errors.EmptySetWarning")


def safe(scores, directions):
    """Directions in which no k is a difference of much larger numbers, whose rounding would decide ties."""
    p = directions / plain.group_shares(scores)
    x, y = p[:, :1] * scores.t[:, 0], p[:, 1:] * scores.t[:, 1]
    noisy = (np.abs(x + y) < 1e-3 * (np.abs(x) + np.abs(y))) & (x != 0)
    return directions[~noisy.any(axis=1)]


# --- cut-offs -----------------------------------------------------------------------------------------


@st.composite
def people(draw):
    """k, weights, capacity, lower bounds and spreads of a few people, with all sorts of coincidences."""
    n, rng = draw(st.integers(1, 14)), np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    kind = draw(st.sampled_from(["continuous", "lattice", "equal", "negative", "zeros", "tiny", "huge"]))
    k = rng.normal(size=n) * {"tiny": 1e-12, "huge": 1e8}.get(kind, 1.0)
    if kind == "lattice":
        k = rng.integers(-2, 4, n).astype(float)
    elif kind == "equal":
        k = np.full(n, rng.normal())
    elif kind == "negative":
        k = -np.abs(k)
    elif kind == "zeros":
        k[rng.random(n) < 0.6] = 0.0
    weight = np.ones(n)
    if draw(st.booleans()):
        weight = rng.exponential(size=n) * (rng.random(n) < 0.7)
        weight[rng.integers(n)] = 1.0
    capacity = draw(st.sampled_from([1e-6, *CAPS, 0.9, 1.0]))
    lower, spread = np.zeros(n), np.ones(n)
    if draw(st.booleans()):
        lower = rng.random(n) * (rng.random(n) < 0.5)
        least = np.average(lower, weights=weight)
        if least > 0.9 * capacity:
            lower *= 0.9 * capacity / least
        spread = rng.random(n) * (rng.random(n) < 0.8) * (1 - lower)
    return k, weight, capacity, lower, spread


@settings(max_examples=200)
@given(people())
def test_the_cutoff_treats_from_the_largest_k_down(case):
    k, weight, capacity, lower, spread = case
    found = find_cutoff(*case).chances(k)
    expected, _ = plain_treatment(*case)
    counts = weight * spread > 0  # how people without weight or room are treated changes nothing
    np.testing.assert_allclose(found[counts], expected[counts], rtol=0, atol=1e-9)
    assert ((found >= 0) & (found <= 1)).all()
    assert (found[k <= 0] == 0).all()
    total = sum(weight)
    share = sum(weight * (lower + spread * found)) / total
    wanted = sum(weight * (lower + spread * (k > 0))) / total
    assert share == pytest.approx(min(capacity, wanted), abs=1e-12)


@settings(max_examples=75)
@given(people())
def test_no_other_treatment_within_the_capacity_gains_more(case):
    k, weight, capacity, lower, spread = case
    found = lower + spread * find_cutoff(*case).chances(k)
    w, gain = weight / weight.sum(), k / max(np.abs(k).max(), 1e-300)
    bounds = list(zip(lower, lower + spread, strict=True))
    best = linprog(-w * gain, A_ub=w[None], b_ub=[capacity], bounds=bounds)
    assert best.success
    assert sum(w * gain * found) == pytest.approx(-best.fun, abs=1e-8)


@pytest.mark.parametrize("capacity", CAPS)
@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_capacity_is_met_exactly_in_expectation(capacity, tied, weighted):
    rng = np.random.default_rng(0)
    k = rng.integers(-2, 5, 1999).astype(float) if tied else rng.normal(size=1999) + 0.4
    weight = rng.exponential(size=1999) * (rng.random(1999) < 0.9) if weighted else np.ones(1999)
    for lower, spread in ((0.0, 1.0), (0.004, 0.95), (rng.random(1999) * 0.01, 0.9 + rng.random(1999) * 0.08)):
        chance = find_cutoff(k, weight, capacity, lower, spread).chances(k)
        assert np.sum(weight * (lower + spread * (k > 0))) > capacity * weight.sum()  # it binds
        assert np.sum(weight * (lower + spread * chance)) / weight.sum() == pytest.approx(capacity, abs=1e-12)


@settings(max_examples=75)
@given(people(), st.lists(st.floats(0.0, 1.0), min_size=2, max_size=6))
def test_more_capacity_never_treats_anybody_less(case, steps):
    k, weight, capacity, lower, spread = case
    before = np.zeros(len(k))
    for step in sorted(steps):
        chance = find_cutoff(k, weight, capacity + step * (1 - capacity), lower, spread).chances(k)
        assert (chance >= before - 1e-9).all()
        before = chance


def test_a_capacity_below_one_person_is_a_lottery_for_the_first():
    k = np.array([0.3, 2.0, 1.0, -1.0])
    np.testing.assert_allclose(find_cutoff(k, np.ones(4), 0.1).chances(k), [0, 0.4, 0, 0], rtol=1e-12)
    k = np.array([2.0, 2.0, 1.0, -1.0])
    np.testing.assert_allclose(find_cutoff(k, np.ones(4), 0.1).chances(k), [0.2, 0.2, 0, 0], rtol=1e-12)


@pytest.mark.parametrize("capacity", [0, 0.0, -0.1, 1.0001, 3, True, False, "0.1", None, np.nan, np.inf, [0.1], 1j])
def test_capacities_that_are_no_shares(capacity):
    rng = np.random.default_rng(0)
    scores = make_scores(np.zeros(4), np.ones(4), rng.normal(size=(4, 2)), group_codes(np.arange(4) < 2), np.ones(4))
    with pytest.raises(InputError) as error:
        cap(build_support_function(scores), capacity)
    assert error.value.code == "bad-capacity"


def test_lower_bounds_above_the_capacity():
    k, weight = np.array([1.0, -1.0, 2.0]), np.array([1.0, 2.0, 1.0])
    with pytest.raises(InputError, match=r"0\.225, above the capacity of 0\.2") as error:
        find_cutoff(k, weight, 0.2, np.array([0.5, 0.2, 0.0]), 0.5)
    assert error.value.code == "bad-capacity"
    chance = find_cutoff(k, weight, 0.225, np.array([0.5, 0.2, 0.0]), 0.5).chances(k)
    np.testing.assert_allclose(chance, 0.0, atol=1e-12)


@pytest.mark.parametrize("capacity", [0.1, 0.3, 0.7])
@pytest.mark.parametrize("k", [-1.0, 0.0, 1.0])
def test_lower_bounds_equal_to_the_capacity_up_to_rounding(capacity, k):
    """The sum of n numbers 0.3 need not be 0.3 n: there is no room, but nothing is wrong either."""
    for n in range(2, 60):
        people = np.full(n, k)
        found = find_cutoff(people, np.ones(n), capacity, np.full(n, capacity), np.full(n, 1.0 - capacity))
        assert (found.chances(people) <= 1e-12).all()


# --- support function ---------------------------------------------------------------------------------


@settings(max_examples=50)
@given(plain.score_samples(), shares)
def test_rules_and_their_risks(case, share):
    scores, rng = case
    q, capacity = safe(scores, np.vstack([rng.normal(size=(12, 2)), plain.AXES])), some_capacity(scores, share)
    if len(q) == 0:
        return
    function = cap(build_support_function(scores), capacity)
    rules, counts = function.rules(q), scores.weight * bounds_of(scores)[1] > 0
    scale = 1.0 + np.abs(scores.t).max() / plain.group_shares(scores).min()
    for j, x in enumerate(q):
        moved, cutoff, point, plug = plain_rule(scores, capacity, x)
        np.testing.assert_allclose(function.selected(x)[counts], moved[counts], rtol=0, atol=1e-9)
        np.testing.assert_allclose(rules.estimate[j], point, rtol=0, atol=1e-9)
        np.testing.assert_allclose(rules.plug_in[j], plug, rtol=0, atol=1e-9 * scale)
        if cutoff > 0 and share < 1.0:
            assert rules.cutoffs[j].value <= cutoff * (1 + 1e-9)  # below it only where the room is used up exactly
    for arcs, points in ((function.estimate, rules.estimate), (function.plug_in(), rules.plug_in)):
        np.testing.assert_array_equal(arcs.support_set(q), points)
        expected = [x[0] * point[0] + x[1] * point[1] for x, point in zip(q, points, strict=True)]
        np.testing.assert_allclose(arcs.h(q), expected, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(function.cutoff(q[0]).value, rules.cutoffs[0].value)


@pytest.mark.parametrize("kind", ["treat nobody", "treat everybody", "all equal", "one group"])
@pytest.mark.parametrize("capacity", [1e-4, 0.1, 0.5, 1.0])
def test_one_sided_data(kind, capacity):
    rng = np.random.default_rng(1)
    n = 21
    t = np.abs(rng.normal(size=(n, 2)))
    t = {"treat nobody": t, "treat everybody": -t, "all equal": np.full((n, 2), -0.5), "one group": t * [-1, 0]}[kind]
    scores = make_scores(rng.normal(size=n), rng.normal(size=n), t, group_codes(np.arange(n) % 3 == 0), np.ones(n))
    function = cap(build_support_function(scores), capacity)
    q = np.array([[-1.0, -1.0], [-1.0, 0.0], [0.0, -1.0], [-0.3, -0.7]])
    for x, point in zip(q, function.estimate.support_set(q), strict=True):
        moved, _, expected, _ = plain_rule(scores, capacity, x)
        np.testing.assert_allclose(point, expected, rtol=0, atol=1e-12)
        if kind == "treat nobody":
            assert moved.sum() == 0
        elif kind == "treat everybody" or (kind == "all equal" and x[0] < 0 and x[1] < 0):
            assert moved.mean() == pytest.approx(capacity)
        if kind == "all equal":
            assert np.ptp(moved) == 0


@settings(max_examples=40)
@given(plain.score_samples())
def test_everybody_as_capacity_is_no_constraint(case):
    scores, rng = case
    whole = build_support_function(scores)
    q = safe(scores, np.vstack([rng.normal(size=(30, 2)), plain.AXES, unit_circle(24)]))
    if len(q) == 0:
        return
    function = cap(whole, 1.0)
    scale = 1.0 + np.abs(scores.t).max() / plain.group_shares(scores).min()
    np.testing.assert_allclose(function.estimate.support_set(q), whole.estimate.support_set(q), rtol=0, atol=1e-12)
    np.testing.assert_allclose(function.estimate.h(q), whole.estimate.h(q), rtol=0, atol=1e-12)
    np.testing.assert_allclose(function.plug_in().h(q), whole.plug_in().h(q), rtol=0, atol=1e-12 * scale)
    assert all(c.value == 0 for c in function.rules(q).cutoffs)


def perpendicular_rows():
    """Rows that are exactly perpendicular to (1, 1), by the formula without any rounding, and two others."""
    rng = np.random.default_rng(2)
    x = rng.random(10)
    t = np.vstack([np.column_stack([x, -x]), [[-1.0, -1.0], [1.0, 1.0]]])
    return make_scores(rng.normal(size=12), 1.0 + rng.random(12), t, np.arange(12) % 2, np.ones(12))


def test_rows_perpendicular_to_a_direction_are_untreated_with_and_without_capacity():
    whole = build_support_function(perpendicular_rows())
    for capacity in (1.0, 0.5):  # one person in twelve is to be treated, so no capacity binds
        function = cap(whole, capacity)
        for q in ([-ROOT_HALF, -ROOT_HALF], [0.1, 0.1], [ROOT_HALF, ROOT_HALF]):
            np.testing.assert_array_equal(function.selected(q), whole.selected(q))
            np.testing.assert_allclose(function.estimate.h(q), whole.estimate.h(q), rtol=0, atol=1e-12)


@pytest.mark.parametrize("capacity", [1.0, 0.5, 0.05])
def test_draws_hold_the_very_rules_of_the_estimate(capacity):
    """Also where k is a difference of numbers much larger than itself, whose rounding must not tell two formulas."""
    function = cap(build_support_function(perpendicular_rows()), capacity)
    rng = np.random.default_rng(4)
    q = np.vstack([np.outer(rng.random(20) + 0.1, [-1.0, -1.0]), [-1.0, -1.0] + 1e-9 * rng.normal(size=(20, 2))])
    draws = CappedContext(function, 99, np.random.SeedSequence(0)).draw(q, np.empty((0, 12)))
    np.testing.assert_allclose(draws.h_hat, function.estimate.h(q), rtol=0, atol=1e-9)


@settings(max_examples=75)
@given(plain.score_samples(), shares, shares)
def test_a_capacity_shrinks_the_plug_in_set(case, first, second):
    scores, rng = case
    whole = build_support_function(scores)
    q = np.vstack([rng.normal(size=(20, 2)), plain.AXES])
    low, high = sorted([some_capacity(scores, first), some_capacity(scores, second)])
    tight, loose = (cap(whole, c).plug_in().h(q) for c in (low, high))
    slack = 1e-12 * (1.0 + np.abs(scores.t).max() / plain.group_shares(scores).min())
    assert (tight <= loose + slack).all()
    assert (loose <= whole.plug_in().h(q) + slack).all()


# --- extrema over the grid ----------------------------------------------------------------------------


def test_the_grid():
    q = grid_directions()
    expected = [[np.cos(np.pi * j / 180), np.sin(np.pi * j / 180)] for j in range(360)]
    np.testing.assert_allclose(q, expected, rtol=0, atol=1e-14)
    for axis in ([1, 0], [0, 1], [-1, 0], [0, -1]):
        assert (q == axis).all(axis=1).sum() == 1


@settings(max_examples=20)
@given(plain.score_samples(), shares, st.floats(0, 2 * np.pi), st.floats(0.02, 2 * np.pi), st.booleans())
def test_extrema_are_those_of_the_grid(case, share, start, turn, aligned):
    scores, rng = case
    function = cap(build_support_function(scores), some_capacity(scores, share))
    if aligned:  # both ends of the arc are directions of the grid and count
        start, turn = np.pi / 180 * (round(start * 10) % 360), np.pi / 180 * round(turn * 10)
    else:  # neither end is near one
        start, turn = np.pi / 180 * (round(start * 50) + 0.37), np.pi / 180 * (round(turn * 50) + 0.25)
    degrees = np.pi / 180 * np.arange(360)
    for arcs in (function.estimate, function.plug_in()):
        h = arcs.h(grid_directions())
        np.testing.assert_allclose(arcs.grid_h(), h, rtol=0, atol=1e-12 * (1 + np.abs(h).max()))
        for e in (rng.normal(size=2), np.full(2, rng.normal())):
            excess = [np.cos(x) * e[0] + np.sin(x) * e[1] - h[j] for j, x in enumerate(degrees)]
            inside = [min((x - start) % (2 * np.pi), (x - start + 1e-8) % (2 * np.pi)) <= turn + 1e-8 for x in degrees]
            found = arcs.max_excess(e)
            assert found.value == pytest.approx(max(excess), abs=1e-10)
            assert found.direction @ e - arcs.h(found.direction)[0] == pytest.approx(found.value, abs=1e-10)
            if any(inside):
                part = arcs.max_excess(e, (np.cos(start), np.sin(start)), turn)
                best = max(x for x, there in zip(excess, inside, strict=True) if there)
                assert part.value == pytest.approx(best, abs=1e-10)
            separations = []
            for j in range(135, 316):
                q = np.array([np.cos(degrees[j]), np.sin(degrees[j])])
                separations.append(plain.improvement_support(e, -q) + h[j])
            found = arcs.min_separation(e)
            assert found.value == pytest.approx(min(separations), abs=1e-10)
            assert found.direction.sum() <= 1e-12


# --- draws --------------------------------------------------------------------------------------------


def drawing_case(kind, n=45):
    rng = np.random.default_rng(7)
    t, weight, arguments = rng.normal(size=(n, 2)), np.ones(n), {}
    if kind == "ties":
        t = rng.integers(-2, 3, size=(n, 2)) + 0.0
    elif kind == "weights":
        weight = rng.exponential(size=n) * (rng.random(n) < 0.8)
    elif kind == "clusters":
        arguments["clusters"] = rng.permutation(np.arange(n) % 11)
    elif kind == "bounds":
        arguments["lower"] = rng.random(n) * 0.1
        arguments["upper"] = np.where(rng.random(n) < 0.2, arguments["lower"], 1.0 - rng.random(n) * 0.3)
    scores = make_scores(
        rng.normal(size=n), rng.normal(size=n), t, group_codes(rng.random(n) < 0.4), weight, **arguments
    )
    q = safe(scores, np.vstack([rng.normal(size=(7, 2)), plain.AXES[2:5]]))
    assert len(q) >= 5
    return scores, q, rng.normal(size=(2, n))


@pytest.mark.parametrize("kind", ["plain", "ties", "weights", "clusters", "bounds"])
@pytest.mark.parametrize("capacity", [0.137, 0.4321, 1.0])
@pytest.mark.parametrize("elsewhere", [False, True])
def test_draws(kind, capacity, elsewhere):
    scores, q, losses = drawing_case(kind)
    along = q[::-1] @ np.array([[0.6, 0.8], [-0.8, 0.6]]) if elsewhere else q
    n, (lower, spread) = len(scores.l0), bounds_of(scores)
    function, seed = cap(build_support_function(scores), capacity), np.random.SeedSequence(3)
    draws = CappedContext(function, 99, seed).draw(q, losses, along=along if elsewhere else None)
    rules = [
        (plain_rule(scores, capacity, x)[0], plain_rule(scores, capacity, y)[1]) for x, y in zip(q, along, strict=True)
    ]
    assert (capacity == 1.0) == all(cutoff == 0 for _, cutoff in rules)
    weights = plain.weights_of_draws(function, 99, seed)
    for b in [-1, *range(99)]:
        w = scores.weight * (np.ones(n) if b < 0 else weights[b])
        groups = (scores.is_r, ~scores.is_r)
        mass = [sum(w[g]) for g in groups]
        h = []
        for x, (moved, cutoff) in zip(along, rules, strict=True):
            e = [sum((w * (scores.l0 + moved * scores.dl))[g]) / m for g, m in zip(groups, mass, strict=True)]
            share = sum(w * (lower + spread * moved)) / sum(mass)
            h.append(x[0] * e[0] + x[1] * e[1] - cutoff * (share - capacity))
        risks = [[sum((w * loss)[g]) / m for g, m in zip(groups, mass, strict=True)] for loss in losses]
        np.testing.assert_allclose(draws.h_hat if b < 0 else draws.h[b], h, rtol=0, atol=1e-10)
        np.testing.assert_allclose(draws.risks_hat if b < 0 else draws.risks[b], risks, rtol=0, atol=1e-10)
    if not elsewhere:  # the capacity is met where it binds, so the dual score is the estimate
        np.testing.assert_allclose(draws.h_hat, function.estimate.h(q), rtol=0, atol=1e-10)
    assert draws.n_obs == n
    np.testing.assert_array_equal(draws.directions, along)


@pytest.mark.parametrize("kind", ["plain", "clusters"])
def test_draws_depend_neither_on_threads_nor_on_their_number(kind):
    scores, q, losses = drawing_case(kind)
    function, seed = cap(build_support_function(scores), 0.2), np.random.SeedSequence(5)
    first = CappedContext(function, 150, seed, 1).draw(q, losses)
    for other in (CappedContext(function, 150, seed, 2), CappedContext(function, 99, seed, 2)):
        again = other.draw(q, losses)
        np.testing.assert_array_equal(again.h, first.h[: other.n_boot])
        np.testing.assert_array_equal(again.risks, first.risks[: other.n_boot])
        np.testing.assert_array_equal(again.h_hat, first.h_hat)
    assert len(np.unique(first.h[:, 0])) == 150
    other = CappedContext(function, 99, np.random.SeedSequence(6)).draw(q, losses)
    assert not np.isclose(other.h, first.h[:99]).any(axis=1).all()


def test_what_drawing_refuses():
    scores, q, losses = drawing_case("plain")
    function = cap(build_support_function(scores), 0.2)
    with pytest.raises(ValueError, match="held"):
        CappedContext(function, 99, np.random.SeedSequence(0)).draw(q, losses, hold_rules=False)
    with pytest.raises(InputError) as error:
        CappedContext(function, 98, np.random.SeedSequence(0)).draw(q, losses)
    assert error.value.code == "bad-draws"


# --- the fairest rule ---------------------------------------------------------------------------------


@settings(max_examples=60)
@given(plain.score_samples(), shares, st.sampled_from([-1e4, 0.0, 1e4]))
def test_fairest_direction(case, share, shift):
    given_scores, _ = case
    s = given_scores
    scores = replace(s, l0=s.l0 + shift * s.is_r)
    capacity = some_capacity(scores, share)
    function = cap(build_support_function(scores), capacity)
    found = function.plug_in().fairest_direction()
    assert np.hypot(*found) == pytest.approx(1.0)
    h = {sign: np.array([sign, -sign]) @ plain_rule(scores, capacity, [sign, -sign])[3] for sign in (1.0, -1.0)}
    if min(h.values()) < -1e-9:  # all pairs lie on one side: e_r < e_b, or e_r > e_b
        sign = 1.0 if h[1.0] < 0 else -1.0
        np.testing.assert_allclose(found, [sign * ROOT_HALF, -sign * ROOT_HALF], atol=1e-15)
        assert shift == 0.0 or sign == -np.sign(shift)
    elif min(h.values()) > 1e-9:
        assert shift == 0.0

        def level(q):
            return q @ plain_rule(scores, capacity, q)[3] / -q.sum()

        dense = unit_circle(300, 0.75 * np.pi + 1e-3, 1.75 * np.pi - 1e-3, endpoint=True)
        best = min(level(q) for q in dense)
        assert found.sum() < 0
        assert level(found) <= best + 1e-7 * (1 + abs(best))


@pytest.mark.parametrize("seed", range(20))
def test_lowest_level_is_that_of_the_lowest_point_on_the_line(seed):
    points = np.random.default_rng(seed).normal(size=(6, 2))
    points[0], points[1] = [-0.5, 1.0], [1.0, -0.5]  # one on each side of the 45-degree line
    crossings = []
    for a in points:
        for b in points:
            if (a[0] - a[1]) * (b[0] - b[1]) < 0:
                share = (a[0] - a[1]) / ((a[0] - a[1]) - (b[0] - b[1]))
                crossings.append((a + share * (b - a))[0])
    q = lowest_level(lambda x: (x @ points.T).max(axis=1), 0.75 * np.pi + 1e-6, 1.75 * np.pi - 1e-6)
    assert np.hypot(*q) == pytest.approx(1.0)
    assert (q @ points.T).max() / -q.sum() == pytest.approx(-min(crossings), abs=1e-6)
