"""What must not matter, or must matter in one way only, to anything a fitted `FairFrontier` answers.

The same questions are put to a fit and to its transformed twin: rows in another order, groups exchanged, rows repeated,
losses in other units or moved by a constant, bounds that bind nobody. Levels must give nested answers.
"""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import Phase, assume, example, given, settings
from hypothesis import strategies as st
from scipy.special import expit
from support.people import LOGIT, people

from fairfrontier import FairFrontier, FrontierRule, LinearFrontierRule
from fairfrontier.frontier.plane import unit_circle
from fairfrontier.inference.group_skew import GroupSkewTest

pytestmark = pytest.mark.filterwarnings("ignore::fairfrontier.errors.FairFrontierWarning")  # the samples are small

Q = unit_circle(17, 0.03)
N_BOOT = 99
GRID = 41  # directions all round, the first one twice: mirrored on the diagonal they are the same ones
PHASES = (Phase.explicit, Phase.reuse, Phase.generate)  # a smaller seed is no simpler case
LEVELS = (0.02, 0.05, 0.1, 0.25, 0.4)


class Rows:
    """Outcomes, groups, pairs, weights and decisions of two algorithms.

    Every row has its own cluster, so that its random numbers go with it, unless ``clustered`` is False.
    """

    def __init__(self, seed, kind="continuous", weighted=False, bounded=False, clustered=True, n=None):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(30, 70)) if n is None else n
        x = rng.normal(size=(n, 2))
        g = (rng.random(n) < 0.6).astype(int)
        g[:4] = (0, 1, 0, 1)
        p1, p0 = expit(2.0 * x[:, 0] + x[:, 1]), expit(x[:, 1] - x[:, 0] + rng.normal())
        y = (rng.random(n) < np.where(g == 1, p1, p0)).astype(int)
        y[:4] = (0, 0, 1, 1)
        self.t = np.column_stack([0.6 * (1 - 2 * p1), 0.4 * (1 - 2 * p0)]) + 0.1 * rng.normal(size=(n, 2))
        if kind == "lattice":
            self.t = np.round(4.0 * self.t) / 4.0
        self.n, self.y, self.g = n, y, g
        self.w = rng.exponential(size=n) + 0.1 if weighted else None
        self.bounds = {"lower": 0.4 * rng.random(n), "upper": 1.0 - 0.4 * rng.random(n)} if bounded else {}
        self.clusters = np.arange(n) if clustered else None
        self.decisions = {"coin": rng.integers(0, 2, n), "rule": (self.t.sum(axis=1) + 0.2 * x[:, 1] < 0).astype(int)}

    def at(self, order):
        """The same rows in another order, or repeated."""
        other = object.__new__(Rows)
        take = lambda values: None if values is None else values[order]  # noqa: E731
        other.n, other.t, other.y, other.g = len(order), self.t[order], self.y[order], self.g[order]
        other.w, other.clusters = take(self.w), take(self.clusters)
        other.bounds = {name: bound[order] for name, bound in self.bounds.items()}
        other.decisions = {name: d[order] for name, d in self.decisions.items()}
        return other

    def fit(self, *, groups=(1, 0), t=None, **options):
        pairs = self.t if t is None else t
        ff = FairFrontier(n_boot=N_BOOT, groups=groups, **({"random_state": 1} | options))
        return ff.fit(
            None,
            self.y,
            sensitive_features=self.g,
            sample_weight=self.w,
            clusters=self.clusters,
            external_nuisance=pairs if groups == (1, 0) else pairs[:, ::-1],
            **self.bounds,
        )


def points_about(ff):
    """Risk pairs worth testing: about the estimated points, on the curve, and inside the set."""
    R, B, F = ff.points_.to_numpy()[:, :2]
    curve = ff.frontier(n_points=5).points
    inside = ff.risks(np.full(ff.n_obs_, 0.5)).risk
    points = np.vstack([(R + inside) / 2, (B + inside) / 2, (F + inside) / 2, 0.8 * curve + 0.2 * inside])
    return np.clip(points, 0.0, 1.0)  # in samples this small the fairest point may be estimated beyond any risk


def answers(ff, decisions, tested, *, mirrored=False, drawn=True):
    """Answers as arrays: ``pairs`` (..., 2) of the two groups, ``numbers``, ``p_values`` and ``intervals``.

    ``tested`` (k, 2) are risk pairs to test. A ``mirrored`` fit has its groups the other way round. Without ``drawn``
    only what involves no random draws.
    """
    way = -1 if mirrored else 1
    q, e = Q[:, ::way], tested[:, ::way]
    R, B, F = (ff.points_.to_numpy()[:, :2])[[1, 0, 2] if mirrored else [0, 1, 2]]
    pairs = {"points": np.array([R, B, F]), "support set": ff.support_set(q)}
    numbers, p_values = {"support": ff.support(q), "covariance": ff.support_covariance(q) / ff.n_obs_}, {}
    numbers["area"] = ff.feasible_set().area
    pairs["frontier"] = ff.frontier(n_points=9).points[::way]
    pairs["pareto"] = ff.pareto_frontier(n_points=9).points[::way]
    numbers["off the frontier"] = ff.frontier().criterion(e)
    numbers["off the pareto frontier"] = ff.pareto_frontier().criterion(e)
    capped = ff.frontier(n_points=7, capacity=0.4)
    pairs["capped frontier"] = capped.points[::way]
    for name, d in decisions.items():
        risks = ff.risks(d)
        pairs[f"risks of {name}"] = np.array([risks.risk, risks.standard_error, risks.selection_rate])
    root = np.sqrt(ff.n_obs_)
    tests = {kind: getattr(ff, f"test_{kind}")(e, directions=GRID) for kind in ("frontier", "pareto")}
    tests["best points"] = ff.test_best_points(*((e, e[::-1]) if not mirrored else (e[::-1], e)))
    for kind, test in tests.items():
        numbers[f"{kind}: statistic"] = test.statistic / root
    for method in ("robust", "sharp", "paper"):
        for name, test in ff.test_lda(decisions, method=method).items():
            if method == "paper":
                numbers[f"{method} {name}: statistic"] = test.statistic / root
            if drawn and method == "robust":  # in standard errors
                p_values[f"{method} {name}: statistic"] = test.statistic
            elif drawn:
                numbers[f"{method} {name}: statistic"] = test.statistic / root
                numbers[f"{method} {name}: draws"] = test.draws / root
            if drawn and abs(test.statistic) > 1e-8:  # of a best rule it is rounding, which ties with that of draws
                p_values[f"{method} {name}"] = test.p_value
            if drawn:
                p_values[f"feasibility of {name}"] = test.evidence.feasibility_p_value
    intervals = {}
    if not drawn:
        return pairs, numbers, p_values, intervals
    for kind, test in tests.items():
        p_values[kind] = test.p_value
    band = ff.feasible_set().confidence_band()
    numbers["band"] = np.array([band.lower(q), band.upper(q)])
    feasible = ff.feasible_set().test(e[0])
    p_values["feasible"] = feasible.p_value
    for name, each in ff.distance_to_fairest(decisions, metric="euclidean").items():
        numbers[f"distance of {name}"] = each.estimate
        intervals[f"distance of {name}"] = np.array(each.conf_int())
    fairest = ff.fairest_point()
    pairs["fairest"] = fairest.risk
    intervals["fairest"] = fairest.conf_int()[::way]
    return pairs, numbers, p_values, intervals


def compare(one, other, *, mirrored=False, tolerance=1e-9, ends=1e-7):
    """Compare two `answers`; ``mirrored``: the second is of a fit with its groups exchanged. ``ends`` of intervals."""
    for mine, theirs in zip(one, other, strict=True):
        assert mine.keys() == theirs.keys()
    for key, value in one[0].items():
        turned = other[0][key][..., ::-1] if mirrored else other[0][key]
        np.testing.assert_allclose(value, turned, rtol=tolerance, atol=tolerance, err_msg=key)
    for key, value in one[1].items():
        if mirrored and key.startswith("robust"):
            continue  # of several directions with the same p-value another one may be shown
        np.testing.assert_allclose(value, other[1][key], rtol=tolerance, atol=tolerance, err_msg=key)
    for key, value in one[2].items():
        if mirrored and key.startswith("feasibility"):
            continue  # the few directions on which it is judged are not their own mirror image
        np.testing.assert_allclose(value, other[2][key], rtol=0, atol=1e-12, err_msg=f"p-value of {key}")
    for key, value in one[3].items():
        np.testing.assert_allclose(value, other[3][key], rtol=0, atol=ends, err_msg=f"interval of {key}")


seeds = st.integers(0, 2**32 - 1)
kinds = st.sampled_from(["continuous", "lattice"])


@settings(max_examples=7, phases=PHASES)
@given(seeds, kinds, st.booleans(), st.booleans())
def test_the_order_of_rows_changes_draws_only(seed, kind, weighted, bounded):
    """The random weights of a draw belong to rows, so another order draws anew; every estimate stays."""
    rows = Rows(seed, kind, weighted=weighted, bounded=bounded, clustered=False)
    other = rows.at(np.random.default_rng(seed).permutation(rows.n))
    one, two = rows.fit(), other.fit()
    tested = points_about(one)
    compare(answers(one, rows.decisions, tested, drawn=False), answers(two, other.decisions, tested, drawn=False))


@settings(max_examples=6, phases=PHASES)
@given(seeds, st.booleans(), st.booleans())
@example(8589, False, False)  # a group that its best rule never misjudges: its risk has no standard error
@example(8589, True, False)
def test_exchanging_the_groups_mirrors_every_answer(seed, weighted, bounded):
    rows = Rows(seed, weighted=weighted, bounded=bounded)
    one, other = rows.fit(), rows.fit(groups=(0, 1))
    assume(not one.feasible_set().is_empty)  # of an empty set it is arbitrary on which side of the line it lies
    tested = points_about(one)
    mine, theirs = answers(one, rows.decisions, tested), answers(other, rows.decisions, tested, mirrored=True)
    compare(mine, theirs, mirrored=True, tolerance=1e-7)
    assert one.configuration_ == other.configuration_


@settings(max_examples=4, phases=PHASES)
@given(seeds, kinds, st.booleans())
def test_rows_repeated_with_halved_weights_change_nothing(seed, kind, weighted):
    """Copies share a cluster, and with it their random numbers; what is scaled by sqrt(n) is compared without it."""
    rows = Rows(seed, kind, weighted)
    twice = rows.at(np.repeat(np.arange(rows.n), 2))
    rows.w = np.ones(rows.n) if rows.w is None else rows.w
    twice.w = np.repeat(rows.w / 2.0, 2)
    one, two = rows.fit(), twice.fit()
    tested = points_about(one)
    mine, theirs = (answers(ff, r.decisions, tested, drawn=False) for ff, r in ((one, rows), (two, twice)))
    compare(mine, theirs)
    # the numerical derivatives of the other tests have steps that shrink with the number of rows
    for name, test in one.test_lda(rows.decisions, method="sharp").items():
        other = two.test_lda(twice.decisions, method="sharp")[name]
        assert test.gain_weights == pytest.approx(other.gain_weights, abs=1e-9)
        assert test.statistic == pytest.approx(other.statistic / np.sqrt(2.0), abs=1e-9)
    bands = [ff.feasible_set().confidence_band() for ff in (one, two)]
    np.testing.assert_allclose(bands[0].sup_t, bands[1].sup_t, rtol=1e-7)
    np.testing.assert_allclose(bands[0].upper(Q), bands[1].upper(Q), rtol=0, atol=1e-9)


def scaled(unit, constant=0.0):
    """Unequal costs of the two errors in some unit, and a constant that every decision costs."""

    def loss(d, y):
        return unit * (1.0 * d * (1.0 - y) + 2.0 * (1.0 - d) * y) + constant

    return loss


@settings(max_examples=4, phases=PHASES)
@given(seeds, kinds, st.booleans(), st.sampled_from([0.125, 2.0**10, 2.0**15]))
def test_the_unit_of_the_loss_is_the_unit_of_the_answers(seed, kind, weighted, unit):
    """A power of two changes no digit, so p-values are the same to the last one."""
    rows = Rows(seed, kind, weighted)
    one, other = rows.fit(loss=scaled(1.0)), rows.fit(loss=scaled(unit), t=unit * rows.t)
    tested = points_about(one)
    mine, theirs = answers(one, rows.decisions, tested), answers(other, rows.decisions, unit * tested)
    for key, value in mine[0].items():
        # of the three lines about an algorithm the last one is its selection rates
        factor = np.array([[unit], [unit], [1.0]]) if key.startswith("risks of") else unit
        np.testing.assert_allclose(theirs[0][key], factor * value, rtol=1e-9, atol=1e-12 * unit, err_msg=key)
    for key, value in mine[1].items():
        factor = unit**2 if key in ("covariance", "area") else unit
        np.testing.assert_allclose(theirs[1][key] / factor, value, rtol=1e-9, atol=1e-9, err_msg=key)
    for key, value in mine[2].items():
        np.testing.assert_array_equal(theirs[2][key], value, err_msg=key)
    for key, value in mine[3].items():  # critical values have 1e-6 added in whatever unit
        np.testing.assert_allclose(theirs[3][key] / unit, value, rtol=0, atol=1e-3, err_msg=key)


@settings(max_examples=4, phases=PHASES)
@given(seeds, kinds, st.booleans(), st.sampled_from([-3.0, 0.125, 10.0]))
def test_a_constant_cost_moves_risks_and_changes_no_test(seed, kind, weighted, constant):
    rows = Rows(seed, kind, weighted)
    one, other = rows.fit(loss=scaled(1.0)), rows.fit(loss=scaled(1.0, constant))
    tested = points_about(one)
    mine, theirs = answers(one, rows.decisions, tested), answers(other, rows.decisions, tested + constant)
    for key, value in mine[0].items():
        moved = np.array([[constant], [0.0], [0.0]]) if key.startswith("risks of") else constant
        np.testing.assert_allclose(theirs[0][key], value + moved, rtol=0, atol=1e-9, err_msg=key)
    along = constant * Q.sum(axis=1)
    for key, value in mine[1].items():
        moved = along if key in ("support", "band") else 0.0
        np.testing.assert_allclose(theirs[1][key], value + moved, rtol=0, atol=1e-8, err_msg=key)
    for key, value in mine[2].items():
        np.testing.assert_allclose(theirs[2][key], value, rtol=0, atol=1e-12, err_msg=key)
    # to one side of the line intervals are looked for on a lattice, about one standard error wide, that stays in place
    error = np.sqrt(np.diag(mine[1]["covariance"]).max())
    for key, value in mine[3].items():
        moved = constant if key == "fairest" else 0.0
        np.testing.assert_allclose(theirs[3][key], value + moved, rtol=0, atol=2.0 * error, err_msg=key)


@settings(max_examples=5, phases=PHASES)
@given(seeds, kinds, st.booleans())
def test_bounds_that_bind_nobody_are_no_bounds(seed, kind, weighted):
    rows = Rows(seed, kind, weighted)
    free = rows.fit()
    rows.bounds = {"lower": np.zeros(rows.n), "upper": 1.0}
    bounded = rows.fit()
    tested = points_about(free)
    compare(answers(free, rows.decisions, tested), answers(bounded, rows.decisions, tested), tolerance=1e-12)


# --- levels -------------------------------------------------------------------------------------------


def is_within(inner, outer):
    """Whether intervals (..., 2) lie in others; no interval at all lies in any."""
    inner, outer = np.asarray(inner, dtype=float), np.asarray(outer, dtype=float)
    nothing = np.isnan(inner).all(axis=-1)
    return bool((nothing | ((outer[..., 0] <= inner[..., 0]) & (inner[..., 1] <= outer[..., 1]))).all())


@settings(max_examples=6, phases=PHASES)
@given(seeds, kinds, st.booleans(), st.sampled_from(["sharp", "paper"]))
def test_intervals_shrink_as_the_level_grows(seed, kind, weighted, method):
    rows = Rows(seed, kind, weighted)
    ff = rows.fit()
    for distance in ff.distance_to_fairest(rows.decisions, method=method).values():
        judged = [distance.at(alpha) for alpha in LEVELS]
        assert [each.conf_int() for each in judged] == [distance.conf_int(alpha) for alpha in LEVELS]
        assert len({each.estimate for each in judged}) == 1
        for wide, narrow in pairwise(judged):
            assert is_within(narrow.conf_int(), wide.conf_int())
    fairest = ff.fairest_point(method=method)
    for wide, narrow in pairwise(LEVELS):
        assert is_within(fairest.conf_int(narrow), fairest.conf_int(wide))
        assert is_within(fairest.at(narrow).conf_int(), fairest.at(wide).conf_int())


@settings(max_examples=5, phases=PHASES)
@given(seeds, kinds, st.booleans())
def test_critical_values_fall_as_the_level_grows(seed, kind, weighted):
    rows = Rows(seed, kind, weighted)
    ff = rows.fit()
    e = points_about(ff)
    feasible = ff.feasible_set()
    tests = [ff.test_frontier(e, directions=GRID), ff.test_pareto(e, directions=GRID), ff.test_best_points(e, e[::-1])]
    tests += [feasible.test(e[0]), feasible.test_contains(e), feasible.test_contained_in(e), ff.test_group_skew()]
    for test in tests:
        for strict, loose in pairwise(test.at(alpha) for alpha in LEVELS):
            assert (np.asarray(loose.critical_value) <= np.asarray(strict.critical_value)).all()
            # a test of group skew claims more than that its null is rejected, and may claim less at a looser level
            rejected = [np.asarray(judged.p_value <= judged.alpha) for judged in (loose, strict)]
            assert (rejected[0] >= rejected[1]).all()
            if not isinstance(test, GroupSkewTest):
                np.testing.assert_array_equal(rejected, [loose.reject, strict.reject])
            np.testing.assert_array_equal(loose.p_value, strict.p_value)
            # a statistic that is rejected exceeds its critical value, and one that is not does not
            if not isinstance(test, type(tests[0])):
                exceeds = np.asarray(loose.statistic) > np.asarray(loose.critical_value)
                assert (exceeds <= rejected[0]).all()


# --- rules --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [FrontierRule, LinearFrontierRule])
@pytest.mark.parametrize("weights", ["utilitarian", "egalitarian", (1.0, 3.0)])
def test_rules_for_everybody_are_rules_without_capacity(kind, weights):
    X, y, g = people(150)
    free, capped = (
        kind(learner=LOGIT, weights=weights, capacity=capacity, n_folds=2, random_state=0).fit(
            X, y, sensitive_features=g
        )
        for capacity in (None, 1.0)
    )
    slack = 2e-2 if weights == "egalitarian" else 0.0  # under a capacity that direction is looked for on a grid
    np.testing.assert_allclose(capped.direction_, free.direction_, rtol=0, atol=slack)
    if slack == 0.0:
        np.testing.assert_array_equal(capped.predict_proba(X), free.predict_proba(X))
        np.testing.assert_array_equal(capped.decision_function(X), free.decision_function(X))


def test_rules_with_the_groups_exchanged_are_the_same_rules():
    X, y, g = people(150)
    for weights in ("utilitarian", "population", "majority", "best-for:men", (1.0, 3.0)):
        one, other = (
            FrontierRule(
                learner=LOGIT,
                weights=weights if isinstance(weights, str) else weights[::way],
                groups=("women", "men")[::way],
                random_state=0,
            ).fit(X, y, sensitive_features=g)
            for way in (1, -1)
        )
        np.testing.assert_allclose(one.direction_, other.direction_[::-1], rtol=0, atol=1e-15)
        np.testing.assert_allclose(one.decision_function(X), other.decision_function(X), rtol=0, atol=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_alternatives_with_the_groups_exchanged_are_the_same_alternatives(seed):
    X, y, g = people(200, seed)
    found = []
    for groups in (("women", "men"), ("men", "women")):
        ff = FairFrontier(learner=LOGIT, n_folds=2, groups=groups, folds=np.arange(200) % 2, random_state=0)
        ff.fit(X, y, sensitive_features=g)
        found.append(ff.alternatives(X[:, 0] < 0.0, n=9))
    one, other = (each.table.sort_values("direction women", ignore_index=True) for each in found)
    assert len(one) == len(other) > 2
    # the ends of the improving part and the fairest rule are always taken, others are spread evenly up to rounding
    fairest = [(table["risk women"] - table["risk men"]).abs().idxmin() for table in (one, other)]
    for ours, theirs in ((0, 0), (-1, -1), fairest):
        for column in (
            "risk women",
            "risk men",
            "se men",
            "gain women",
            "gain in gap",
            "selection rate men",
            "agreement",
        ):
            values = one[column].iloc[ours], other[column].iloc[theirs]
            assert values[0] == pytest.approx(values[1], abs=1e-10), column
        assert one["flagged"].iloc[ours] == other["flagged"].iloc[theirs]


def test_the_fairest_point_is_that_of_the_table():
    """Also where the estimated set is empty, and so seems to lie on both sides of equal risks."""
    ff = Rows(107197, weighted=True).fit()
    assert ff.feasible_set().is_empty
    np.testing.assert_allclose(ff.fairest_point().to_frame()["risk"], ff.points_.iloc[2, :2], rtol=0, atol=1e-12)
