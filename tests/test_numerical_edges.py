"""Samples at the edges of floating-point numbers and of the method: right values, or an exception of ours.

Every line of the table in docs/numerics.md has its test here.
"""

import re
from fractions import Fraction
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from support.everything import LDA, METRICS, Q, differing, distances, estimates, everything, lda_tests
from support.people import people
from support.plain import h as plain_h
from support.refusals import code_of

from fairfrontier import FairFrontier, FrontierRule, cost_loss
from fairfrontier.errors import EmptySetWarning, WeakLearnerWarning

N = 150
B = 99

pytestmark = pytest.mark.filterwarnings("ignore::fairfrontier.errors.FairFrontierWarning")


class Rows:
    """Outcomes, groups, nuisances with some signal, and an algorithm that treats fewer than four in ten."""

    def __init__(self, n=N, seed=0):
        rng = np.random.default_rng(seed)
        self.g = (rng.random(n) < 0.45).astype(int)
        self.y = rng.integers(0, 2, n)
        dl = 1.0 - 2.0 * self.y
        own = np.column_stack([np.where(self.g == 1, dl, 0.0), np.where(self.g == 0, dl, 0.0)])
        self.t = 0.4 * own + 0.2 * rng.normal(size=(n, 2))
        self.a = (rng.random(n) < 0.35).astype(int)


def fit(rows, t=None, y=None, g=None, loss="classification", n_boot=B, **more):
    return FairFrontier(loss=loss, n_boot=n_boot, random_state=1).fit(
        None,
        rows.y if y is None else y,
        sensitive_features=rows.g if g is None else g,
        external_nuisance=rows.t if t is None else t,
        **more,
    )


def times(size, plus=0.0):
    """Classification loss in another unit, or with a constant added."""
    return lambda d, y: size * ((d != y) + plus)


def exact_h(ff, q):
    """Support function in rational arithmetic, the rule read from its definition."""
    s, q = ff.support_function_.scores, [Fraction(float(x)) for x in q]
    numbers = [[Fraction(float(x)) for x in column] for column in (s.weight, s.l0, s.dl, s.t[:, 0], s.t[:, 1])]
    rows = list(zip(*numbers, s.is_r, strict=True))
    sums = [sum(row[0] for row in rows if row[5] == r) for r in (True, False)]
    mu = [x / sum(sums) for x in sums]
    total = Fraction(0)
    for w, l0, dl, t_r, t_b, r in rows:
        k = q[0] / mu[0] * t_r + q[1] / mu[1] * t_b
        j = 0 if r else 1
        total += q[j] * w * (l0 + (dl if k > 0 else 0)) / sums[j]
    return float(total)


def sound(found):
    """Every number is finite and every p-value one; names of those that are not."""
    wrong = []
    for name, value in found.items():
        array = np.asarray(value, dtype=float)
        if not np.isfinite(array).all() or ("p-value" in name and not ((array > 0.0) & (array <= 1.0)).all()):
            wrong.append(name)
    return wrong


def check(ff, decisions, rtol=1e-11):
    """All answers are finite, and h is that of its definition."""
    expected = np.array([plain_h(ff.support_function_.scores, q) for q in Q])
    np.testing.assert_allclose(ff.support(Q), expected, rtol=0, atol=rtol * np.abs(expected).max())
    found = everything(ff, decisions)
    assert sound(found) == []
    return found


@cache
def usual_answers():
    """All answers on the usual rows, with which those on changed ones are compared."""
    rows = Rows()
    return everything(fit(rows), rows.a)


# --- groups -----------------------------------------------------------------------------------------------


def test_a_group_of_one_row():
    rows = Rows()
    g = np.zeros(N, dtype=int)
    g[3] = 1
    ff = fit(rows, g=g)
    found = check(ff, rows.a)
    lone = float(rows.a[3] != rows.y[3])
    assert found["risk"][0] == lone
    assert found["standard error"][0] == 0.0
    assert set(ff.support_set(Q)[:, 0]) <= {0.0, 1.0}
    # in every draw its risk is what it is
    assert np.ptp(ff.fit_.context().draw(Q, np.array([1.0 * (rows.a != rows.y)])).risks[:, 0, 0]) == 0.0


def test_a_group_of_one_row_among_a_hundred_thousand():
    rows = Rows(100_000, seed=3)
    g = np.zeros(100_000, dtype=int)
    g[7] = 1
    ff = fit(rows, g=g)
    # by definition, in integers: nothing is lost to the size of the other group
    for q in Q:
        treated = rows.t @ (q * [100_000.0, 100_000.0 / 99_999.0]) > 0.0
        wrong = np.where(treated, rows.y == 0, rows.y == 1)
        expected = q[0] * wrong[7] + q[1] * (wrong.sum() - wrong[7]) / 99_999
        assert ff.support(q)[0] == pytest.approx(expected, abs=1e-12)
    found = {name: ff.test_lda(rows.a, **LDA[name]).p_value for name in ("robust", "sharp", "paper without kinks")}
    distance = ff.distance_to_fairest(rows.a, metric="euclidean")
    assert sound({f"{name}: p-value": p for name, p in found.items()}) == []
    assert sound({"distance": [distance.estimate, *distance.conf_int()]}) == []


@pytest.mark.parametrize("power", [-60, 40])
def test_the_weight_of_a_whole_group_does_not_matter(power):
    """Weights and nuisance of one group times c: the group's share is tiny or nearly one, all rules stay."""
    rows, size = Rows(), 2.0**power
    weight = np.where(rows.g == 1, size, 1.0)
    ff = fit(rows, rows.t * [size, 1.0], sample_weight=weight)
    found, expected = check(ff, rows.a), usual_answers()
    assert min(ff.sample_.groups.shares) < 1e-5
    # other numbers average nuisances over all people, of whom there are now others
    names = ["support", "support set", "covariance", "area", "risk", "standard error", "pareto frontier"]
    names += [f"lda paper: {what}" for what in ("statistic", "draws", "p-value")]
    for name in names:
        np.testing.assert_allclose(found[name], expected[name], rtol=0, atol=1e-10, err_msg=name)


def test_identical_groups():
    rows = Rows()
    half = slice(0, N // 2)
    y, a, g = np.repeat(rows.y[half], 2), np.repeat(rows.a[half], 2), np.tile([0, 1], N // 2)
    t = np.repeat(rows.t[half, :1], 4).reshape(-1, 2)
    ff = fit(rows, t, y, g)
    found = check(ff, a)
    # every rule treats both groups alike: all risk pairs lie on the line of equal risks
    assert np.ptp(found["support set"], axis=1).max() < 1e-14
    assert np.ptp(found["risk"]) == 0.0
    points = found["points"]
    assert np.ptp(points) < 1e-14
    assert ff.configuration_ == "balanced"
    assert found["area"] < 1e-8  # a line
    assert found["skew sharp: p-value"] > 0.05
    assert found["skew paper: p-value"] > 0.05


@pytest.mark.parametrize("known", [True, False], ids=["known", "noisy"])
def test_groups_with_one_outcome_each(known):
    rows = Rows()
    t = np.column_stack([-1.0 * (rows.g == 1), 1.0 * (rows.g == 0)]) if known else rows.t
    ff = fit(rows, t, y=rows.g)
    found = check(ff, rows.a)
    if known:  # treating the first group alone makes no error at all
        assert np.abs(found["points"]).max() == 0.0
        assert found["lda robust: p-value"] == pytest.approx(1.0 / (1 + B))
    np.testing.assert_allclose(found["risk"], [1.0 - rows.a[rows.g == 1].mean(), rows.a[rows.g == 0].mean()])


# --- nuisances --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("angle", [0.0, np.pi / 4, np.pi / 2, 3 * np.pi / 4, -np.pi / 4])
def test_all_nuisances_in_one_direction(angle):
    rows, towards = Rows(), np.array([np.cos(angle), np.sin(angle)])
    ff = fit(rows, np.tile(towards, (N, 1)))
    check(ff, rows.a)
    nobody = np.array([rows.y[rows.g == 1].mean(), rows.y[rows.g == 0].mean()])
    for e in ff.support_set(Q):  # a rule treats everybody or nobody
        assert np.allclose(e, nobody, atol=1e-14) or np.allclose(e, 1.0 - nobody, atol=1e-14)


@pytest.mark.parametrize("angle", [0.0, 0.7, np.pi / 2, 3 * np.pi / 4])
def test_nuisances_in_two_opposite_directions(angle):
    rows, towards = Rows(), np.array([np.cos(angle), np.sin(angle)])
    ff = fit(rows, np.where(rows.y == 1, -1.0, 1.0)[:, None] * towards)
    check(ff, rows.a)
    for q, e in zip(Q, ff.support_set(Q), strict=True):
        k = float(q / ff.sample_.groups.shares @ towards)
        if abs(k) > 1e-12:  # the rule treats all rows with y = 0, or all others
            assert np.allclose(e, 1.0 if k > 0.0 else 0.0, atol=1e-14)


def test_nuisances_exactly_zero():
    rows = Rows()
    nobody = np.array([rows.y[rows.g == 1].mean(), rows.y[rows.g == 0].mean()])
    for zero, answers in ((0.0, check), (-0.0, estimates)):
        found = answers(fit(rows, np.full((N, 2), zero)), rows.a)
        np.testing.assert_allclose(found["support set"], np.tile(nobody, (len(Q), 1)), atol=1e-15)
        np.testing.assert_allclose(found["feasible set"], nobody[None], atol=1e-14)
        assert found["area"] == 0.0
    t = rows.t.copy()
    t[::2] = 0.0
    some = fit(rows, t)
    check(some, rows.a)
    assert not some.support_function_.selected([-0.6, -0.8])[::2].any()
    only = np.zeros((N, 2))
    only[5] = 1.0
    check(fit(rows, only), rows.a)


@pytest.mark.parametrize("power", [-1000, -500, 150])
def test_the_size_of_the_nuisances_leaves_the_rules_alone(power):
    """Only directions of nuisances matter for h and the published tests; the plug-in criterion takes their size."""
    rows = Rows()
    expected, found = estimates(fit(rows), rows.a), estimates(fit(rows, rows.t * 2.0**power), rows.a)
    follow_plug_in = {"points", "point directions", "frontier"}
    assert set(differing(found, expected)) <= follow_plug_in
    np.testing.assert_array_equal(found["points"][:2], expected["points"][:2])
    for options in ({"method": "paper"}, {"method": "paper", "directions": 40}, {}):
        one, other = (fit(rows, t).test_lda(rows.a, **options) for t in (rows.t, rows.t * 2.0**power))
        assert other.p_value == one.p_value
        np.testing.assert_allclose(other.draws, one.draws, rtol=0, atol=1e-12)


def test_subnormal_nuisances():
    rows = Rows()
    t = 5e-324 * np.sign(rows.t)
    found, expected = everything(fit(rows, t), rows.a), everything(fit(rows, 1e-3 * np.sign(rows.t)), rows.a)
    for name in ("support", "support set", "covariance", "feasible set", "lda paper: p-value", "lda paper: draws"):
        np.testing.assert_allclose(found[name], expected[name], rtol=0, atol=1e-12, err_msg=name)


def test_ties_everywhere():
    rows = Rows()
    ff = fit(rows, np.sign(rows.t))
    check(ff, rows.a)
    for q in ([-1.0, 0.0], [-1.0, -1.0], [1.0, -1.0]):
        scaled = np.asarray(q) * ff.sample_.groups.shares  # many rows are exactly perpendicular to q'M
        assert ff.support(scaled)[0] == pytest.approx(plain_h(ff.support_function_.scores, scaled), abs=1e-14)


def test_single_precision():
    rows = Rows()
    single = rows.t.astype(np.float32)
    one, other = (fit(rows, t) for t in (single, single.astype(float)))
    found, expected = (estimates(ff, rows.a) | lda_tests(ff, rows.a) for ff in (one, other))
    assert differing(found, expected) == []


# --- sizes ------------------------------------------------------------------------------------------------

SQUARES = ("covariance", "area", "frontier region: area", "pareto region: area")


def degree(name):
    """How a number grows with the unit of the loss: 0 for shares and directions, 2 for squares, else 1."""
    if name in SQUARES or name.endswith(" sqeuclidean"):
        return 2
    band = name.startswith("band") and name.endswith("critical value")
    in_errors = name.startswith("lda robust") and name.endswith(("statistic", "draws", "critical value"))
    return 0 if band or in_errors or "p-value" in name or "direction" in name or name == "selection rate" else 1


def has_constant(name):
    """Whether the published constant 1e-6, which has no unit, enters: critical values and what comes from them."""
    return (name.endswith("critical value") and not name.startswith("band")) or name.startswith(
        ("distance paper", "fairest paper")
    )


@pytest.mark.parametrize("power", [-150, 20, 150])
def test_powers_of_two_as_the_unit_of_the_loss_change_no_bit(power):
    rows, size = Rows(), 2.0**power
    expected = usual_answers()
    found = everything(fit(rows, rows.t * size, loss=times(size)), rows.a)
    assert found.keys() == expected.keys()
    found = {name: value / size ** degree(name) if degree(name) else value for name, value in found.items()}
    assert [name for name in differing(found, expected) if not has_constant(name)] == []
    if power == 20:  # at ordinary sizes the constant does not show
        for name in filter(has_constant, expected):
            np.testing.assert_allclose(found[name], expected[name], rtol=0, atol=1e-6, err_msg=name)


@pytest.mark.parametrize("size", [0.1, 1e40])
def test_other_units_of_the_loss_change_rounding_only(size):
    rows = Rows()
    expected = usual_answers()
    found = everything(fit(rows, rows.t * size, loss=times(size)), rows.a)
    for name in ("support", "support set", "risk", "standard error", "area", "lda paper: draws", "fairest sharp"):
        value = found[name] / size ** degree(name)
        np.testing.assert_allclose(value, expected[name], rtol=0, atol=1e-12, err_msg=name)
    for name in (key for key in expected if key.endswith("p-value") and "region" not in key):
        np.testing.assert_array_equal(found[name], expected[name], err_msg=name)
    assert found["points"] / size == pytest.approx(expected["points"], abs=1e-9)


@pytest.mark.parametrize("size", [5e-324, 1e-310, 1e-300, 1e-60, 1e60, 1e300, 1e308])
def test_losses_too_small_or_too_large_are_refused(size):
    rows = Rows()
    assert code_of(lambda: fit(rows, loss=times(size))) == "bad-loss"
    X, y, g = people(60)
    assert code_of(lambda: FrontierRule(times(size)).fit(X, y, sensitive_features=g)) == "bad-loss"


def test_losses_whose_difference_overflows_are_refused():
    assert code_of(lambda: fit(Rows(), loss=lambda d, y: np.where(d == 1, 1.7e308, -1.7e308))) == "bad-loss"


def test_single_losses_may_be_as_small_as_they_like():
    rows = Rows()
    found, none = (
        everything(fit(rows, loss=lambda d, y, size=size: (d != y) * np.where(y == 1, size, 1.0)), rows.a)
        for size in (1e-300, 0.0)
    )
    for name, value in found.items():
        np.testing.assert_allclose(value, none[name], rtol=0, atol=1e-12, err_msg=name)


def test_no_losses_at_all():
    """Losses of zero, or the same ones whatever is decided: one point is attainable, and there is no alternative."""
    rows = Rows()
    for loss in (lambda d, y: 0.0 * y, lambda d, y: 0.0 * y + 0.3):
        ff = fit(rows, loss=loss)
        found = check(ff, rows.a)
        expected = 0.3 * float(loss(1.0, np.ones(1))[0] > 0.0)
        np.testing.assert_allclose(found["support set"], expected, rtol=0, atol=1e-15)
        assert ff.test_lda(rows.a).verdict == "no-evidence"
        assert ff.frontier().contains(found["risk"]).all()
        assert found["distance sharp euclidean"][0] == pytest.approx(0.0, abs=1e-12)
        # all differences are rounding, which is never evidence
        for name in (key for key in found if key.endswith("p-value") and not ("capacity" in key or "region" in key)):
            assert (found[name] == 1.0).all(), name


def test_a_learner_without_signal_and_an_algorithm_that_does_as_it_says():
    """Nobody is treated by any rule, nor by the algorithm: they agree up to rounding, which is no contradiction."""
    rows = Rows()
    nobody = np.zeros(N, dtype=int)
    for loss in ("classification", times(0.1), times(1.0, 0.3)):
        ff = fit(rows, np.zeros((N, 2)), loss=loss)
        for method in ("robust", "sharp", "paper"):
            test = ff.test_lda(nobody, method=method)
            assert test.verdict == "no-evidence"
            assert test.p_value == 1.0 or (method == "robust" and test.p_value > 0.5)
        for tests in (ff.test_frontier(decisions=nobody), ff.test_pareto(decisions=nobody)):
            assert tests.p_value == [1.0]


def test_risks_without_any_noise():
    """Known outcomes and rules that know them: R, B and F are the same point in every draw, and no test rejects it."""
    rows = Rows()
    dl = 1.0 - 2.0 * rows.y
    ff = fit(rows, np.column_stack([dl * (rows.g == 1), dl * (rows.g == 0)]), loss=times(1.0, 0.3))
    points = ff.points_.to_numpy()[:, :2]
    np.testing.assert_allclose(points, 0.3, rtol=0, atol=1e-14)
    assert (ff.test_frontier(points).p_value == 1.0).all()
    assert (ff.test_pareto(points).p_value == 1.0).all()
    for directions in ("exact", 40):
        assert ff.test_best_points(points[0], points[1], directions=directions).p_value == [1.0]
    assert ff.feasible_set().test(points[0]).p_value == 1.0
    assert ff.feasible_set().test_contains(points).p_value == 1.0
    assert ff.test_lda(rows.y).verdict == "no-evidence"
    assert ff.test_lda(risks=points[0] + 0.1).verdict == "lda-shown"


@pytest.mark.parametrize("plus", [1e3, 1e8])
def test_a_constant_in_the_losses_costs_its_digits_and_no_more(plus):
    rows = Rows()
    expected, found = usual_answers(), everything(fit(rows, loss=times(1.0, plus)), rows.a)
    digits = plus * 1e-14
    np.testing.assert_allclose(found["support set"] - plus, expected["support set"], rtol=0, atol=digits)
    for name in ("covariance", "standard error", "area", "lda paper: draws"):
        np.testing.assert_allclose(found[name], expected[name], rtol=0, atol=1e3 * digits, err_msg=name)
    width = [each["band two-sided: upper"] - each["band two-sided: lower"] for each in (found, expected)]
    np.testing.assert_allclose(*width, rtol=0, atol=1e3 * digits)
    for name in (key for key in expected if key.startswith(("lda", "best", "skew")) and key.endswith(": p-value")):
        np.testing.assert_allclose(found[name], expected[name], rtol=0, atol=0.021, err_msg=name)


@pytest.mark.parametrize("seed", range(2))
def test_weights_of_very_different_size(seed):
    rows = Rows(seed=seed)
    weight = 10.0 ** np.random.default_rng(seed).uniform(-12.0, 12.0, N)
    ff = fit(rows, sample_weight=weight)
    for q in Q:
        assert ff.support(q)[0] == pytest.approx(exact_h(ff, q), rel=1e-12, abs=1e-13)
    found = estimates(ff, rows.a) | lda_tests(ff, rows.a) | distances(ff, rows.a)
    assert sound(found) == []


def test_the_unit_of_the_weights_does_not_matter():
    rows = Rows()
    weight = np.random.default_rng(0).uniform(0.5, 2.0, N)
    expected = everything(fit(rows, sample_weight=weight), rows.a)
    for size in (2.0**-160, 2.0**160):
        assert differing(everything(fit(rows, sample_weight=size * weight), rows.a), expected) == []
    for size in (1e-60, 1e60, 1e300, 5e-324):
        assert code_of(lambda size=size: fit(rows, sample_weight=np.full(N, size))) == "bad-weights"
    small = np.where(rows.g == 1, 1e-60, 1.0)
    assert code_of(lambda: fit(rows, sample_weight=small)) == "bad-weights"


def test_nuisances_and_directions_too_large_are_refused():
    rows = Rows()
    assert code_of(lambda: fit(rows, rows.t * 1e60)) == "bad-nuisance"
    ff = fit(rows)
    for q in ([1e300, 0.0], [1e-300, 1e-300], [[1.0, 1.0], [0.0, 1e-60]]):
        assert code_of(lambda q=q: ff.support(q)) == "bad-direction"
        assert code_of(lambda q=q: ff.feasible_set().confidence_band().lower(q)) == "bad-direction"
    np.testing.assert_array_equal(ff.support(2.0**-160 * Q), 2.0**-160 * ff.support(Q))
    X, y, g = people(60)
    rule = FrontierRule(direction=[1e300, 1e300])
    assert code_of(lambda: rule.fit(X, y, sensitive_features=g)) == "bad-direction"


def test_rules_do_not_know_the_unit_of_the_loss():
    X, y, g = people(200)
    for learner in ("factored-logit", "logit-lasso"):
        one, other = (
            FrontierRule(cost_loss(size, 3.0 * size), learner, "egalitarian", 0.3, random_state=0).fit(
                X, y, sensitive_features=g
            )
            for size in (1.0, 2.0**100)
        )
        np.testing.assert_array_equal(other.decision_function(X), 2.0**100 * one.decision_function(X))
        np.testing.assert_array_equal(other.predict_proba(X), one.predict_proba(X))
    again = one.recalibrate(X[:50], np.full(50, 2.0**-160)).predict_proba(X)
    np.testing.assert_array_equal(again, one.recalibrate(X[:50]).predict_proba(X))
    assert code_of(lambda: one.recalibrate(X, np.full(200, 1e308))) == "bad-weights"


# --- draws and special algorithms -------------------------------------------------------------------------


def test_the_fewest_draws():
    rows = Rows()
    assert code_of(lambda: fit(rows, n_boot=98).test_lda(rows.a)) == "bad-draws"
    ff = fit(rows, n_boot=99)
    test = ff.test_lda(1 - rows.y)  # the worst algorithm there is
    assert test.p_value == 0.01
    assert test.at(0.01).reject
    assert code_of(lambda: test.at(0.009)) == "bad-draws"


def test_perfect_and_worst_algorithms():
    rows = Rows()
    ff = fit(rows)
    perfect, worst = (everything(ff, a) for a in (rows.y, 1 - rows.y))
    assert sound(perfect) == sound(worst) == []
    assert perfect["risk"].tolist() == [0.0, 0.0]
    assert perfect["standard error"].tolist() == [0.0, 0.0]
    assert ff.test_lda(rows.y).verdict == "not-comparable"
    assert worst["risk"].tolist() == [1.0, 1.0]
    assert ff.test_lda(1 - rows.y).verdict == "lda-shown"


@pytest.mark.parametrize("direction", [(-1.0, 0.0), (0.0, -1.0)], ids=["R", "B"])
@pytest.mark.parametrize("seed", range(3))
def test_an_algorithm_exactly_on_the_frontier_has_no_alternative(direction, seed):
    """In its own direction the separation is zero up to rounding, and so are draws: equal, not evidence."""
    rows = Rows(seed=seed)
    ff = fit(rows)
    a = ff.support_function_.selected(direction).astype(int)
    e = ff.support_set(direction)[0]
    np.testing.assert_allclose(ff.risks(a).risk, e, rtol=0, atol=1e-15)
    for asked in ({"decisions": a}, {"risks": e}):
        test = ff.test_lda(**asked)
        assert test.verdict == "no-evidence"
        assert test.statistic < 1e-12
        assert test.p_value > 0.3
        assert ff.test_lda(**asked, method="paper").separation < 1e-12
    assert ff.test_lda(decisions=a).p_value == 1.0  # the rule's risks move along with the algorithm's
    assert not ff.test_pareto(decisions=a, directions=40).reject.any()


def test_an_algorithm_exactly_at_the_fairest_point():
    rows = Rows()
    ff = fit(rows)
    fairest = ff.fairest_point().risk
    np.testing.assert_allclose(fairest, ff.points_.to_numpy()[2, :2], rtol=0, atol=1e-15)
    for metric in METRICS:
        distance = ff.distance_to_fairest(risks=fairest, metric=metric)
        assert distance.estimate == pytest.approx(0.0, abs=1e-14)
        assert distance.conf_int()[0] == 0.0
    for method in ("robust", "sharp"):
        assert not ff.test_lda(risks=fairest, method=method).reject


def test_intervals_without_any_point_are_told():
    """Nuisances turned round: every rule is the worst instead of the best, and no point passes any test."""
    rows = Rows()
    with pytest.warns(WeakLearnerWarning):
        ff = fit(rows, -rows.t)
    distance = ff.distance_to_fairest(rows.a, method="paper")
    assert set(distance.cases.values()) <= {"no point passes the test"} | set(distance.fairest.ruled_out.values())
    with pytest.warns(EmptySetWarning, match="no point passes"):
        low, high = distance.conf_int()
    assert np.isnan([low, high]).all()
    with pytest.warns(EmptySetWarning, match="no point passes"):
        assert np.isnan(distance.fairest.conf_int()).all()


# --- the page ---------------------------------------------------------------------------------------------

COVERED = {
    "a group of one row": test_a_group_of_one_row_among_a_hundred_thousand,
    "a group with a share of 1e-6, or of nearly one": test_the_weight_of_a_whole_group_does_not_matter,
    "two identical groups": test_identical_groups,
    "each group has one outcome only": test_groups_with_one_outcome_each,
    "all nuisance pairs in one direction": test_all_nuisances_in_one_direction,
    "nuisance pairs in two opposite directions": test_nuisances_in_two_opposite_directions,
    "nuisance pairs of exactly zero": test_nuisances_exactly_zero,
    "nuisance pairs of any size": test_the_size_of_the_nuisances_leaves_the_rules_alone,
    "nuisance pairs below 2.2e-308 (subnormal)": test_subnormal_nuisances,
    "nuisance pairs or directions beyond 1e50": test_nuisances_and_directions_too_large_are_refused,
    "nuisance pairs in single precision": test_single_precision,
    "ties everywhere": test_ties_everywhere,
    "losses in another unit": test_powers_of_two_as_the_unit_of_the_loss_change_no_bit,
    "largest loss below 1e-50 or above 1e50": test_losses_too_small_or_too_large_are_refused,
    "single losses near zero": test_single_losses_may_be_as_small_as_they_like,
    "losses of zero, or the same for both decisions": test_no_losses_at_all,
    "a learner without signal, and an algorithm that does as it says": (
        test_a_learner_without_signal_and_an_algorithm_that_does_as_it_says
    ),
    "risks without any noise": test_risks_without_any_noise,
    "a large constant in all losses": test_a_constant_in_the_losses_costs_its_digits_and_no_more,
    "weights from 1e-12 to 1e12": test_weights_of_very_different_size,
    "weights in another unit": test_the_unit_of_the_weights_does_not_matter,
    "the fewest draws, 99": test_the_fewest_draws,
    "an algorithm without errors, or with nothing else": test_perfect_and_worst_algorithms,
    "an algorithm exactly on the frontier": test_an_algorithm_exactly_on_the_frontier_has_no_alternative,
    "an algorithm exactly at the fairest point": test_an_algorithm_exactly_at_the_fairest_point,
    "no point passes a test": test_intervals_without_any_point_are_told,
}


def test_the_page_lists_what_is_tested():
    page = (Path(__file__).resolve().parents[1] / "docs" / "numerics.md").read_text(encoding="utf-8")
    table = page.split("| situation |")[1].split("\n\n")[0]
    listed = re.findall(r"^\| (.+?) \|", table, re.MULTILINE)
    assert [line for line in listed if not line.startswith("---")] == list(COVERED)
