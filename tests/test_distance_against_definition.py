"""Intervals of distances to the fairest point against plain loops over draws and candidates."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import plain
from support.distance_cases import (
    METRICS,
    NOBODY,
    ROOT,
    B,
    Case,
    N,
    loss_with_gap,
    perturbed_infimum,
    sharp_interval,
    turned_draws,
    values_of,
)
from support.small_samples import fit, rows

from fairfrontier.inference.distance.estimates import _distance_limits, _locate, fairest_evidence
from fairfrontier.inference.distance.metrics import read_metric

pytestmark = pytest.mark.filterwarnings(
    "ignore::fairfrontier.errors.WeakLearnerWarning",
    "ignore::fairfrontier.errors.EmptySetWarning",
    "ignore::fairfrontier.errors.MarginWarning",
)
MARGIN = np.sqrt(np.log(N) / N)


def kth_largest(draws, alpha):
    """What must be exceeded for a p-value of at most alpha, plus the constant 1e-6."""
    return np.sort(draws)[len(draws) - max(int(alpha * (len(draws) + 1) + 1e-12), 1)] + 1e-6


# --- fitted objects with the set in every position --------------------------------------------------------


@pytest.fixture(scope="module", params=["plain", "weights", "clusters", "bounds", "overconfident"])
def case(request):
    return Case(request.param)


def drawn_risks(draws, losses, e):
    return np.broadcast_to(e, (B, 2)) if losses is None else draws.risks[:, 0]


def test_sharp_by_hand(case, request):
    seen, infimum, known = set(), plain.line_infimum(case.scores), {}
    for metric in METRICS:
        for name, found, losses in case.results(metric=metric):
            e = case.risk(name)
            np.testing.assert_allclose(found.risk, e, atol=1e-13)
            q = found.fairest.direction / -found.fairest.direction.sum()
            f = -plain.h(case.scores, q)
            np.testing.assert_allclose(found.fairest.risk, [f, f], atol=1e-12)
            assert found.estimate == pytest.approx(METRICS[metric](e, [f, f]), abs=1e-12)
            if (name, q.tobytes()) not in known:  # whatever the metric
                draws = case.context.draw(q, None if losses is None else losses[None], hold_rules=True)
                known[name, q.tobytes()] = turned_draws(case.context, q), drawn_risks(draws, losses, e)
            doubt = max(plain.plug_in(case.scores, q) - plain.h(case.scores, q), 0.0)
            assert doubt > 0.05 or "overconfident" not in request.node.name
            # F is the largest value over directions, so at this one it may be too low
            shifts = (doubt, f + infimum)
            assert shifts[1] <= 1e-12
            f_draws, e_draws = known[name, q.tobytes()]
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
    n, moves = len(case.scores.l0), {}
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
            if name not in moves:
                moves[name] = np.zeros((B, 2))
                for b, w in enumerate(multipliers if losses is not None else ()):
                    weight = case.scores.weight * w
                    drawn = [np.average(losses[g], weights=weight[g]) for g in (case.scores.is_r, ~case.scores.is_r)]
                    moves[name][b] = drawn - e
            e_draws = e + step * root * moves[name]
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
