"""Results of LDA tests: levels, witness, verdict, reports, and the ways of asking for them."""

import json
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm
from support import plain
from support.lda_cases import METHODS, B, Case, at_direction, numbers_of
from support.small_samples import fit, rows

from fairfrontier.bootstrap.draws import RuleDraws
from fairfrontier.errors import FewDrawsWarning
from fairfrontier.frontier.plane import unit_circle
from fairfrontier.inference.lda.result import judge
from fairfrontier.inference.lda.witness import choose, forms, gains, make_menu, selection_ratio
from fairfrontier.inference.p_values import critical_value, critical_value_error, holm

pytestmark = pytest.mark.filterwarnings(
    "ignore::fairfrontier.errors.WeakLearnerWarning", "ignore::fairfrontier.errors.EmptySetWarning"
)


@pytest.fixture(scope="module", params=["plain", "weights", "clusters", "bounds"])
def case(request):
    return Case(request.param)


# --- levels -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
def test_p_values_and_decisions_follow_from_the_draws(case, method):
    for name, test, _ in case.results(method):
        assert len(test.draws) == B
        if method == "robust" and name in case.decisions:  # over the fan, by the normal law
            of_law = 1.0 if test.statistic == 0.0 else norm.sf(test.statistic)
            assert test.p_value == pytest.approx(max(of_law, 1 / (1 + B)), abs=1e-12)
            assert test.at(0.05).critical_value == pytest.approx(norm.isf(0.05), abs=2e-6)
            assert test.at(0.05).reject == (test.p_value_adjusted <= 0.05)
            continue
        fewest, most = (1 + sum(d >= test.statistic + s * 1e-9 for d in test.draws) for s in (1, -1))
        assert fewest / (1 + B) <= test.p_value <= most / (1 + B)  # apart from ties that rounding decides
        for alpha in (0.01, 0.05, 0.1, 0.3, test.p_value if test.p_value < 0.5 else 0.2):
            judged = test.at(alpha)
            assert judged.reject == (test.p_value_adjusted <= alpha)
            if test.p_value <= alpha:
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
    sharp = case.ff.test_lda(case.decisions, randomised=True, method="sharp")
    np.testing.assert_array_equal([t.robust_p_value_adjusted for t in sharp.values()], holm(np.array(raw)))
    one = case.ff.test_lda(case.decisions["coin"])
    assert one.p_value_adjusted == one.p_value == tests["coin"].p_value
    assert one.robust_p_value_adjusted == one.robust_p_value
    assert (one.tested_together, tests["coin"].tested_together) == (1, len(tests))


def judged_by(test, p_values, robust):
    """Results of as many algorithms as there are p-values, with the evidence of one test otherwise."""
    found = [
        replace(test.evidence, p_value=p, robust_p_value=q, feasibility_p_value=1.0)
        for p, q in zip(p_values, robust, strict=True)
    ]
    names = [f"number {j}" for j in range(len(found))]
    return judge(names, found, [None] * len(found), groups=test.groups, method="sharp", alpha=0.05)


def test_verdicts_on_several_algorithms_rest_on_the_adjusted_robust_p_value(big):
    _, ff, decisions = big
    test = ff.test_lda(decisions["coin"], method="sharp")
    alone = judged_by(test, [0.03], [0.03])["number 0"]
    assert (alone.verdict, alone.reject, alone.witness is not None) == ("lda-shown", True, True)
    both = judged_by(test, [0.03, 0.5], [0.03, 0.5])
    first = both["number 0"]
    assert (first.verdict, first.reject, first.witness) == ("no-evidence", False, None)
    assert first.gain_bound is not None
    assert first.p_value == first.robust_p_value == 0.03
    assert first.p_value_adjusted == first.robust_p_value_adjusted == 0.06
    assert first.at(0.06).verdict == both.at(0.06)["number 0"].verdict == "lda-shown"
    # each method is adjusted by its own p-values
    mixed = judged_by(test, [0.02, 0.5], [0.03, 0.04])["number 0"]
    assert (mixed.reject, mixed.verdict) == (True, "no-evidence")
    assert "p-value 0.0200 (0.0400 after adjusting for 2 tests); robust p-value 0.0300 (0.0600" in mixed.summary()
    assert "adjusting" not in alone.summary()
    table = both.to_frame()
    assert table["robust_p_value_adjusted"].tolist() == [0.06, 0.5]
    assert table["verdict"].tolist() == ["no-evidence"] * 2
    assert table["reject"].tolist() == [False] * 2
    assert first.to_dict()["robust_p_value_adjusted"] == 0.06
    assert first.to_dict()["tested_together"] == 2


def test_too_few_draws_for_many_algorithms_are_reported(case):
    coin = case.decisions["coin"]
    case.ff.test_lda({str(k): coin for k in range(5)})  # 5 / (1 + 99) = 0.05
    with pytest.warns(FewDrawsWarning, match=r"99 draws are too few for 6 tests.* below 0\.06.* least 119") as caught:
        case.ff.test_lda({str(k): coin for k in range(6)})
    assert caught[0].filename == __file__
    case.ff.test_lda({str(k): coin for k in range(6)}, alpha=0.06)


def test_feasibility_is_judged_without_adjustment(big):
    _, ff, decisions = big
    test = ff.test_lda(decisions["coin"])
    found = [replace(test.evidence, robust_p_value=0.9, feasibility_p_value=p) for p in (0.04, 0.04, 0.2)]
    tests = judge("abc", found, [None] * 3, groups=test.groups, method="robust", alpha=0.05)
    assert [tests[name].verdict for name in "abc"] == ["not-comparable", "not-comparable", "no-evidence"]


def test_another_level_needs_no_draws_and_is_monotone(case, monkeypatch):
    tests = [t for method in METHODS for _, t, _ in case.results(method)]

    def refuse(*_, **__):
        raise AssertionError("drew again")

    monkeypatch.setattr("fairfrontier.bootstrap.draws.for_each_draw", refuse)
    monkeypatch.setattr("fairfrontier.bootstrap.exact.for_each_draw", refuse)
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
        if scores.lower is not None:
            chance = scores.lower + scores.spread * chance
        direct = case.ff.risks(chance)
        np.testing.assert_allclose(w.risk, direct.risk, atol=1e-12)
        np.testing.assert_allclose(w.selection_rate, direct.selection_rate, atol=1e-12)
        np.testing.assert_allclose(w.gain, plain_gains(direct.risk, test.risk), atol=1e-12)
        # the six forms of all rules of the menu, in joint draws with the algorithm's risks
        q = unit_circle(91, 0.75 * np.pi, 1.75 * np.pi, endpoint=True)
        menu = np.array([scores.losses(scores.t @ (x / plain.group_shares(scores)) > 0) for x in q])
        draws = case.context.draw(np.array([[1.0, 0.0]]), menu if losses is None else np.vstack([menu, losses]))
        values = np.array([plain_forms(e, test.risk) for e in draws.risks_hat[:91]])
        moved = np.array(
            [
                [plain_forms(e, test.risk if losses is None else own[91]) for e in own[:91]]
                for own in draws.risks
            ]
        )  # fmt: skip
        errors = moved.std(axis=0)
        t = (moved - values)[:, errors > 1e-13] / errors[errors > 1e-13]
        np.testing.assert_allclose(w.largest, t.max(axis=1), atol=1e-8)
        np.testing.assert_allclose(w.largest_absolute, np.abs(t).max(axis=1), atol=1e-8)
        at = [int(np.argmin(np.abs(q - x).sum(axis=1))) for x in w.directions]
        np.testing.assert_allclose(w.forms, w.shares @ values[at], atol=1e-12)
        np.testing.assert_allclose(w.errors, w.shares @ errors[at], atol=1e-12)
        for alpha in (0.05, 0.2):
            c, d = (sorted(x)[int(np.ceil((1 - alpha) * B - 1e-9)) - 1] for x in (w.largest, w.largest_absolute))
            bounds = w.lower_bounds(alpha)
            np.testing.assert_allclose(bounds, plain_bounds(w.forms - c * w.errors), atol=1e-10)
            both = np.column_stack([plain_bounds(w.forms - d * w.errors), plain_bounds(w.forms + d * w.errors)])
            np.testing.assert_allclose(w.intervals(alpha), both, atol=1e-10)
            assert (bounds <= w.gain).all()
            assert w.confirmed(alpha) == all(bounds > 0)
        # the largest smallest bound if it is above zero; else the largest smallest gain by the plug-in criterion
        c = sorted(w.largest)[int(np.ceil(0.95 * B - 1e-9)) - 1]
        low, plugged = values - c * errors, case.function.plug_in().support_set(q)
        estimated = np.array([plain_forms(e, test.risk) for e in plugged])
        pairs = [(i, k, s) for i in range(0, 91, 5) for k in range(0, 91, 7) for s in (0.0, 0.3, 0.5, 1.0)]
        most = max(plain_bounds(s * low[i] + (1 - s) * low[k]).min() for i, k, s in pairs)
        by_plug_in = plain_bounds(w.shares @ estimated[at]).min()
        if w.confirmed(0.05):
            assert w.lower_bounds(0.05).min() >= most - 1e-9
        else:
            assert most <= 1e-9
            best = max(plain_bounds(s * estimated[i] + (1 - s) * estimated[k]).min() for i, k, s in pairs)
            honest = max(plain_bounds(s * values[i] + (1 - s) * values[k]).min() for i, k, s in pairs)
            assert by_plug_in >= best - 1e-9 or w.gain.min() >= honest - 1e-9
    assert seen >= 2


def plain_forms(e, e_star):
    d, now = e[0] - e[1], e_star[0] - e_star[1]
    return np.array([e_star[0] - e[0], e_star[1] - e[1], now - d, now + d, -now - d, -now + d])


def plain_bounds(forms):
    """Gains, or bounds of them: in the gap the better sign of the algorithm's, the worse of the rule's."""
    return np.array([forms[0], forms[1], max(min(forms[2], forms[3]), min(forms[4], forms[5]))])


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=50)
def test_forms_make_up_the_gains(seed):
    rng = np.random.default_rng(seed)
    e, e_star = rng.normal(size=(2, 5, 2)) * rng.integers(0, 2, size=(2, 5, 2))
    np.testing.assert_allclose(forms(e, e_star), [plain_forms(x, y) for x, y in zip(e, e_star, strict=True)])
    np.testing.assert_allclose(
        gains(e, e_star), [plain_gains(x, y) for x, y in zip(e, e_star, strict=True)], atol=1e-12
    )


def test_a_gain_without_spread_is_its_own_lower_bound():
    """And where nothing varies every bound is its estimate."""
    rng = np.random.default_rng(0)
    e_star, risks = np.array([0.5, 0.4]), np.array([[0.4, 0.2], [0.3, 0.3], [0.45, 0.35]])
    still = np.broadcast_to(risks, (200, 3, 2))
    menu = make_menu(RuleDraws(risks, still), e_star, np.broadcast_to(e_star, (200, 2)), np.zeros((3, 2, 2)))
    assert (menu.errors == 0.0).all()
    assert (menu.largest == 0.0).all()
    assert choose(menu, risks, e_star)[:2] == (1, 1)
    moving = still.copy()
    moving[:, :, 0] += 0.01 * rng.normal(size=(200, 3))
    menu = make_menu(RuleDraws(risks, moving), e_star, np.broadcast_to(e_star, (200, 2)), np.zeros((3, 2, 2)))
    assert (menu.errors[:, 1] == 0.0).all()
    assert (menu.errors[:, [0, 2, 3, 4, 5]] > 0.005).all()


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
        p_value_adjusted=p,
        robust_p_value_adjusted=robust,
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
            witness=replace(tests["coin"].witness, errors=np.ones(6)),
        ),
    )
    assert "not confirmed" in unconfirmed.summary()
    frame = tests.to_frame()
    assert list(frame.index) == list(decisions)
    assert frame.loc["coin", "verdict"] == "lda-shown"


# --- ways of asking -----------------------------------------------------------------------------------


def same(first, second):
    one, other = first.to_dict(), second.to_dict()
    for record in (one, other):
        record.pop("algorithm")
    assert one.keys() == other.keys()
    assert one.pop("learner_check") == other.pop("learner_check")
    for key in set(one) - {"witness", "p_value_adjusted", "robust_p_value_adjusted", "tested_together"}:
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


# --- exact extrema of (1 - c) h^ + c h~ ---------------------------------------------------------------


def test_the_error_of_the_critical_value_by_hand():
    # the 787th and the 813th of 1000: sqrt(1000 0.2 0.8) = 12.6 to either side of the 800th
    assert critical_value_error(np.arange(1000.0), 0.2) == 13.0
    assert critical_value_error(np.arange(1000.0)[::-1], 0.2) == 13.0
    assert critical_value_error(np.arange(10.0), 0.01) == 0.0  # both ends are the last draw


def test_selection_ratio_by_hand():
    assert selection_ratio(np.array([0.2, 0.5])) == selection_ratio(np.array([0.5, 0.2])) == 0.4
    assert selection_ratio(np.array([0.0, 0.5])) == 0.0
    assert selection_ratio(np.array([0.0, 0.0])) == 1.0  # nobody is selected: no difference between the groups


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
