"""The learner's own rules beside an algorithm: plain loops, nasty input, words, and what follows for gains."""

import json
import pickle
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm
from support.codes import group_codes
from support.lda_cases import fit_arguments
from support.small_samples import fit, rows

from fairfrontier.frontier.support import build_support_function, make_scores
from fairfrontier.inference.lda.learner_check import LearnerCheck, at_share, check_learner, in_standard_errors
from fairfrontier.inference.lda.result import judge
from fairfrontier.report.parts import learner_check
from fairfrontier.report.sentences import learner_line

pytestmark = pytest.mark.filterwarnings(
    "ignore::fairfrontier.errors.WeakLearnerWarning", "ignore::fairfrontier.errors.EmptySetWarning"
)


def plain_at_share(k, weight, lower, spread, share):
    """Fill the share from the largest k down, people with the same k alike."""
    room = share * sum(weight) - sum(w * low for w, low in zip(weight, lower, strict=True))
    moved = [0.0] * len(k)
    for value in sorted(set(k), reverse=True):
        tied = [i for i in range(len(k)) if k[i] == value]
        mass = sum(weight[i] * spread[i] for i in tied)
        chance = 1.0 if mass <= max(room, 0.0) else max(room, 0.0) / mass
        for i in tied:
            moved[i] = chance
        room -= chance * mass
    return moved


def plain_paired(values, group, weight, clusters, g):
    """Weighted mean of one group's values, and its standard error with rows of a cluster summed."""
    own = [i for i in range(len(values)) if group[i] == g]
    total = sum(weight[i] for i in own)
    mean = sum(weight[i] * values[i] for i in own) / total
    sums = {}
    for i in own:
        sums[clusters[i]] = sums.get(clusters[i], 0.0) + weight[i] * (values[i] - mean) / total
    return mean, np.sqrt(sum(x**2 for x in sums.values()))


def nasty(seed):
    """A small sample with ties, zeros, perhaps a group that never varies, weights, clusters and bounds."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(6, 30))
    t = rng.integers(-2, 3, (n, 2)) / 4.0 if rng.random() < 0.7 else rng.normal(size=(n, 2))
    group = group_codes(np.arange(n) % 3 > 0)
    y = rng.integers(0, 2, n).astype(float)
    if rng.random() < 0.3:
        y[group == 1] = 1.0
    weight = rng.choice([0.0, 0.5, 1.0, 3.0], n) if rng.random() < 0.5 else np.ones(n)
    weight[:2] = 1.0
    clusters = rng.integers(0, 4, n) if rng.random() < 0.5 else None
    lower = upper = None
    if rng.random() < 0.4:
        lower, upper = rng.choice([0.0, 0.25], n), rng.choice([0.25, 0.5, 1.0], n)
    decisions = rng.choice([np.zeros(n), np.ones(n), rng.integers(0, 2, n), rng.integers(0, 5, n) / 4.0, y])
    scores = make_scores(y, 1.0 - 2.0 * y, t, group, weight, clusters=clusters, lower=lower, upper=upper)
    return scores, t, y, decisions.astype(float)


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=200)
def test_differences_and_standard_errors(seed):
    s, t, y, a = nasty(seed)
    n = len(y)
    lower = np.zeros(n) if s.lower is None else s.lower
    spread = np.ones(n) if s.spread is None else s.spread
    clusters = np.arange(n) if s.clusters is None else s.clusters
    share = sum(s.weight * a) / sum(s.weight)
    losses = y + a * (1 - 2 * y)
    k = [-(x + z) if room > 0 else 0.0 for (x, z), room in zip(t, spread, strict=True)]
    moved = np.array(plain_at_share(k, s.weight, lower, spread, share))
    fast = at_share(s, share)
    free = (s.weight > 0) & (spread > 0)
    np.testing.assert_allclose(fast[free], moved[free], atol=1e-9)
    found = check_learner(build_support_function(s), a, losses, groups=("a", "b"), in_shares=True)
    assert found.share == pytest.approx(share)
    if lower.max() == 0.0 and spread.min() == 1.0:
        assert np.average(fast, weights=s.weight) == pytest.approx(share, abs=1e-9)
    rule = losses - [y[i] + (lower[i] + spread[i] * moved[i]) * (1 - 2 * y[i]) for i in range(n)]
    for g in (0, 1):
        mean, error = plain_paired(rule, s.group, s.weight, clusters, g)
        assert found.difference[g] == pytest.approx(mean, abs=1e-9)
        assert found.standard_error[g] == pytest.approx(error, abs=1e-9)
        chosen = lower + spread * (t[:, g] * spread < 0)
        mean, error = plain_paired(losses - (y + chosen * (1 - 2 * y)), s.group, s.weight, clusters, g)
        assert found.best_difference[g] == pytest.approx(mean, abs=1e-9)
        assert found.best_standard_error[g] == pytest.approx(error, abs=1e-9)
        z = 0.0 if abs(mean) < 1e-9 else np.inf * mean if error < 1e-9 else mean / error
        assert found.best_p_value[g] == pytest.approx(norm.cdf(z), abs=1e-7)
    assert found.sentences()


def test_an_algorithm_that_is_the_learners_rule_does_not_differ():
    data = rows(300, 3)
    k = -data.t.sum(axis=1)
    for share in (0.1, 0.5, 0.9):  # also beyond those whose selection lowers the loss
        a = (k > np.quantile(k, 1 - share)).astype(float)
        check = fit(data, options={"n_boot": 99}).test_lda(a).learner_check
        assert check.difference.tolist() == check.standard_error.tolist() == check.z.tolist() == [0.0, 0.0]
        assert "errs as often for group 1 (s.e. 0.00)" in check.sentences()[0]


def test_in_standard_errors():
    z = in_standard_errors(np.array([1.0, -1.0, 0.0, -3.0]), np.array([2.0, 0.0, 0.0, 1.0]))
    assert z.tolist() == [0.5, -np.inf, 0.0, -3.0]


@pytest.mark.parametrize("kind", ["plain", "weights", "clusters", "bounds"])
def test_through_the_estimator(kind):
    """Decisions by name, fixed pairs without a check, and the same numbers as from the parts."""
    data = rows(200, 2)
    ff = fit(data, options={"n_boot": 99}, **fit_arguments(kind, 200, np.random.default_rng(1)))
    coin = np.random.default_rng(0).integers(0, 2, 200).astype(float)
    check = ff.test_lda(coin).learner_check
    losses = data.y + coin * (1 - 2 * data.y)
    assert check == check_learner(ff.support_function_, coin, losses, groups=(1, 0), in_shares=True)
    assert ff.test_lda(risks=[0.4, 0.4]).learner_check is None
    assert check == pickle.loads(pickle.dumps(check))
    assert json.dumps(check.to_dict(), allow_nan=False)
    assert len(repr(check).splitlines()) <= 12


@pytest.fixture(scope="module")
def open_test():
    """A test without evidence, whose algorithm the learner matches."""
    data = rows(400, 3)
    options = {"n_boot": 199, "groups": ("men", "women")}
    ff = fit(data, g=np.where(data.g == 1, "men", "women"), options=options)
    test = ff.test_lda((data.t.sum(axis=1) < 0).astype(int))
    assert test.verdict == "no-evidence"
    assert test.gain_bound is not None
    return test


def with_p_values(test, first, second):
    return replace(test, learner_check=replace(test.learner_check, best_p_value=np.array([first, second])))


def test_no_bound_on_gains_where_the_algorithm_is_better_for_a_group(open_test):
    for p, better in (((0.024, 0.9), ["men"]), ((0.026, 0.9), []), ((0.9, 0.025), ["women"]), ((0.01, 0.01), [0, 1])):
        test = with_p_values(open_test, *p)
        groups = [test.groups[g] if g in (0, 1) else g for g in better]
        assert list(test.better_for) == groups
        text, record = test.summary(), test.to_dict()
        assert test.verdict == "no-evidence"
        assert (test.gain_bound is None) == (record["gain_bound"] is None) == bool(groups)
        assert ("at most" not in text) == ("So no bound is given" in text) == bool(groups)
        for label in groups:
            assert f"or group {label} " in text.split(" the algorithm does better than the learner's best rule")[0]
        assert test.at(0.2).better_for[: len(groups)] == tuple(groups)


def test_no_bound_on_gains_where_the_algorithm_is_not_comparable(open_test):
    test = replace(open_test, evidence=replace(open_test.evidence, feasibility_p_value=0.05))
    assert test.verdict == "not-comparable"
    assert test.gain_bound is test.to_dict()["gain_bound"] is None
    assert "at most" not in test.summary()


def test_a_shown_alternative_stays_shown(open_test):
    test = replace(with_p_values(open_test, 0.001, 0.001), robust_p_value_adjusted=0.01)
    assert test.verdict == "lda-shown"
    assert "So no bound" not in test.summary()


def test_words():
    check = LearnerCheck(
        ("A", "B"),
        0.432,
        np.array([0.012, -0.003]),
        np.array([0.004, 0.002]),
        np.array([0.02, -0.001]),
        np.array([0.003, 0.0]),
        np.array([1.0, 0.0]),
        True,
    )
    assert check.sentences() == [
        "At the same share of selected people as the algorithm (43.2%), the learner's own rule errs 1.20 points less "
        "often for group A (s.e. 0.40) and 0.30 points more often for group B (s.e. 0.20).",
        "Compared with the algorithm, the learner's best rule for group A errs 2.00 points less often for that group "
        "(s.e. 0.30), and its best rule for group B errs 0.10 points more often for that group (s.e. 0.00).",
    ]
    other = replace(check, in_shares=False).sentences()[0]
    assert "has a risk 0.0120 lower for group A (s.e. 0.0040) and 0.0030 higher for group B (s.e. 0.0020)." in other
    assert check.z.tolist() == pytest.approx([3.0, -1.5])
    assert check.best_z[1] == -np.inf
    assert check.to_dict()["best_z"][1] is None


def test_record_and_terminal(open_test):
    test = with_p_values(open_test, 0.9, 0.001)
    record = learner_check(test)
    assert record.better_for == ("women",)
    assert record.sentences == tuple(test.learner_sentences())
    assert len(record.sentences) == 3

    class Algorithm:
        learner_check = record

    line = learner_line(Algorithm)
    assert line.startswith("At the same share of selected people")
    assert "women the algorithm does better" in line
    assert learner_check(replace(test, learner_check=None)) is None


def test_checks_are_optional_when_evidence_is_judged(open_test):
    judged = judge("a", [open_test.evidence], [None], groups=open_test.groups, method="robust", alpha=0.05)["a"]
    assert judged.learner_check is None
    assert judged.better_for == ()
    assert judged.learner_sentences() == []
