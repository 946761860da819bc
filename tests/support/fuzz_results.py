"""What the result of every public method must hold, whatever the case."""

import json

import numpy as np


def finite(values):
    array = np.asarray(values, dtype=float)
    assert np.isfinite(array).all(), f"not finite: {array}"


def is_p_value(p):
    p = np.asarray(p, dtype=float)
    assert ((p > 0.0) & (p <= 1.0)).all(), f"no p-value: {p}"


def ordered(low, high):
    """Ends of intervals; both are nan where no point passes the test."""
    low, high = np.asarray(low, dtype=float), np.asarray(high, dtype=float)
    nothing = np.isnan(low) & np.isnan(high)
    assert (nothing | (low <= high)).all(), f"not ordered: {low}, {high}"
    finite(low[~nothing])
    finite(high[~nothing])


def is_text(text):
    assert isinstance(text, str)
    assert len(text) > 20
    assert " nan" not in text.lower().replace("nan to nan", "") or "R2" in text, text


def is_json(text):
    def refuse(constant):
        raise AssertionError(f"{constant} is no JSON")

    return json.loads(text, parse_constant=refuse)


def has_index(frame, groups):
    assert list(frame.index) == list(groups), f"{list(frame.index)} instead of {groups}"


def other_level(result, alpha=0.3):
    again = result.at(alpha)
    assert again.alpha == alpha
    return again


def sound_fit(case, ff):
    assert set(ff.groups_) == set(case.labels), f"{ff.groups_} instead of {case.labels}"
    finite(ff.points_)
    assert ff.points_.shape == (3, 4)
    r, b = ff.groups_
    assert ff.configuration_ in ("balanced", f"{r}-skewed", f"{b}-skewed")
    assert 0 < ff.n_obs_ <= case.n
    assert sum(ff.sample_.counts.values()) == ff.n_obs_
    finite(ff.nuisance_.predictions)
    assert all(isinstance(line, str) for line in ff.diagnostics_.lines())


def sound_risks(case, risks):
    finite(risks.risk)
    finite(risks.standard_error)
    assert (risks.standard_error >= 0).all()
    assert ((risks.selection_rate >= -1e-12) & (risks.selection_rate <= 1 + 1e-12)).all()
    has_index(risks.to_frame(), case.ff.groups_)
    finite(risks.gap)


def sound_curve(case, curve):
    finite(curve.points)
    finite(curve.directions)
    assert curve.points.shape == curve.directions.shape
    assert curve.tolerance >= 0
    inside = curve.contains(curve.points[:3])
    assert inside.shape == (min(3, len(curve.points)),)
    finite(curve.criterion(curve.points))


def sound_set(case, found):
    finite(found.vertices)
    assert found.area >= 0.0
    assert found.is_empty == (len(found.vertices) == 0)
    assert found.contains([[0.1, 0.2], [5.0, 5.0]]).shape == (2,)
    if not found.is_empty:
        finite(found.support([[1.0, 0.0], [-1.0, 2.0]]))


def sound_band(case, band):
    q = np.array([[1.0, 0.0], [-0.6, -0.8], [1.0, -1.0]])
    assert (band.lower(q) <= band.upper(q)).all()
    assert not np.isnan(band.lower(q)).any()
    finite(band.inner)
    finite(band.outer)
    finite(band.critical_value)
    other_level(band)


def sound_set_test(case, test):
    is_p_value(test.p_value)
    finite([test.statistic, test.critical_value])
    assert test.reject == (test.p_value <= test.alpha)
    other_level(test)


def sound_lda(case, found):
    tests = [found] if hasattr(found, "verdict") else list(found.values())
    assert tests
    for test in tests:
        is_p_value([test.p_value, test.p_value_adjusted, test.robust_p_value])
        finite([test.statistic, test.separation, test.feasibility, test.critical_value, test.critical_value_error])
        assert test.verdict in ("lda-shown", "no-evidence", "not-comparable")
        assert test.groups == case.ff.groups_
        assert (test.gain_bound is not None) == (test.verdict == "no-evidence" and not test.better_for)
        finite(test.gain_weights)
        is_json(test.to_json())
        is_text(test.summary())
        is_text(other_level(test).summary())
        if (witness := test.witness) is not None:
            low, high = witness.intervals(test.alpha).T
            ordered(low, high)
            finite(witness.gain)
    if len(tests) > 1:
        assert list(found.to_frame().index) == list(found)


def sound_points(case, tests):
    is_p_value(tests.p_value)
    finite(tests.statistic)
    finite(tests.critical_value)
    assert len(tests.to_frame()) == len(tests.p_value)
    other_level(tests)


def sound_skew(case, test):
    is_p_value(test.p_value)
    if test.p_value_balanced is None:
        assert test.method == "paper"
    else:
        is_p_value(test.p_value_balanced)
    for found in (test, other_level(test)):
        assert found.verdict in ("balance-shown", "not-shown", "contradictory")
        assert (found.verdict == "not-shown") == (found.p_value > found.alpha)
        assert found.reject == (found.verdict == "balance-shown")
        if found.reject and found.method != "paper":
            assert found.p_value <= found.alpha < found.p_value_balanced
            assert case.ff.configuration_ == "balanced"
    finite([test.statistic, test.critical_value])
    finite([test.best_r, test.best_b])
    finite([gap.estimate for gap in test.gaps] if test.closest is None else test.closest)
    is_text(test.summary())
    is_json(json.dumps(test.to_dict()))
    found = other_level(test).confidence_set
    finite(found.outline_r)
    finite(found.outline_b)


def sound_distance(case, found):
    each = [found] if hasattr(found, "metric") else list(found.values())
    for interval in each:
        ordered(*interval.conf_int())
        assert interval.estimate >= 0.0
        finite(interval.estimate)
        is_text(interval.summary())
        json.dumps(interval.to_dict())
        ordered(*other_level(interval).conf_int())
        sound_fairest(case, interval.fairest)
    if not hasattr(found, "metric"):
        names = list(found)
        difference = found.difference(names[0], names[-1])
        ordered(*difference.interval)
        is_text(difference.summary())
        assert len(found.to_frame()) == len(found)


def sound_fairest(case, point):
    finite(point.risk)
    finite(point.weights)
    ordered(*point.conf_int().T)
    has_index(point.to_frame(), case.ff.groups_)


def sound_region(case, region):
    p = region.p_value
    assert ((p >= 0.0) & (p <= 1.0)).all()
    finite(region.area)
    for ring in region.polygons:
        finite(ring)
    assert region.contains([[0.1, 0.2]]).shape == (1,)
    other_level(region).polygons  # noqa: B018


def sound_alternatives(case, found):
    r, b = case.ff.groups_
    assert {f"risk {r}", f"risk {b}", "flagged"} <= set(found.table.columns)
    finite(found.table.select_dtypes("number"))
    assert len(found) <= 20
    is_text(found.summary())


def sound_rule(case, rule):
    assert rule.groups_ == case.ff.groups_ if case.ff is not None else True
    finite(rule.direction_)
    finite(rule.group_shares_)
    assert len(rule.classes_) == 2


def sound_chances(chances, n):
    assert chances.shape == (n, 2)
    finite(chances)
    assert ((chances >= -1e-12) & (chances <= 1 + 1e-12)).all()


def sound_evaluation(case, found):
    has_index(found.table, found.groups)
    finite(found.risks)
    finite([found.gap, found.gap_error])
