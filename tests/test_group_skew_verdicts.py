"""What the test of group skew says when the null is rejected, when it is not, and when nothing fits the estimates."""

import json
from dataclasses import replace
from importlib.resources import files

import jsonschema
import numpy as np
import pytest
from scipy.special import expit
from support.best_point_cases import U, plain_point, window
from support.group_skew_cases import (
    CASES,
    METHODS,
    B,
    Skew,
    in_both_orders,
    one_sided_rows,
    reached,
    side_grid,
    two_sided_rows,
)
from support.small_samples import fit

from fairfrontier import FairFrontier
from fairfrontier.datasets import make_liu_molinari
from fairfrontier.datasets.designs import _success_probabilities
from fairfrontier.inference.group_skew import NO_ANSWER, skew_points
from fairfrontier.inference.skew_search import balanced_p_value, closest_point
from fairfrontier.report import parts
from fairfrontier.report.frame import plain

SCHEMA = json.loads(files("fairfrontier.report").joinpath("audit.schema.json").read_text(encoding="utf-8"))
pytestmark = pytest.mark.filterwarnings(
    "ignore::fairfrontier.errors.WeakLearnerWarning", "ignore::fairfrontier.errors.EmptySetWarning"
)


@pytest.fixture(scope="module", params=CASES)
def skew(request):
    return Skew(*request.param)


def published(n, design, seed, *, blind=False):
    """A published design with the true nuisance functions, or with the mean in place of that of group 0."""
    X, y, group = make_liu_molinari(n, design, seed)
    in_r, in_b = _success_probabilities(X.to_numpy(), design)
    t = np.column_stack([0.6 * (1.0 - 2.0 * in_r), 0.4 * (1.0 - 2.0 * in_b)])
    if blind:
        t[:, 1] = t[:, 1].mean()
    ff = FairFrontier(n_boot=B, random_state=0)
    return ff.fit(None, y, sensitive_features=group, external_nuisance=t)


@pytest.fixture(scope="module")
def blind():
    """The true configuration is skewed, so weak group skew holds; a learner that knows nothing of group 0."""
    return [published(1500, "skewed", seed, blind=True) for seed in range(12)]


def noisy(seed):
    """The first group's pairs are full of noise, so that rules made for the second one serve it better than its own."""
    data, rng = two_sided_rows(600, seed), np.random.default_rng(seed)
    t = data.t.copy()
    t[:, 0] += 1.5 * t[:, 0].std() * rng.normal(size=len(t))
    return fit(data, t=t, options={"n_boot": B})


@pytest.fixture(scope="module")
def contradictory():
    return noisy(1)


# --- the p-value of the opposite ----------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
def test_no_balanced_pair_of_a_dense_grid_has_a_larger_p_value(skew, method):
    """A pair has the smaller p-value of its points, R above and B below the line: all pairs, one by one."""
    r, b = skew.parts[method]
    counts = []
    for point, above in ((r, True), (b, False)):
        grid = side_grid(point, 0.33, above)
        counts.append(reached(point, grid[point.statistic(grid) <= point.largest_draws.max()]))
    best = 0
    for in_r in set(counts[0].tolist()):
        for in_b in set(counts[1].tolist()):
            best = max(best, min(in_r, in_b))
    assert 0 < best <= (1 + B) * balanced_p_value(r, b) - 1 <= best + 15


def test_p_value_of_the_opposite_from_the_rows(skew):
    """At the closest points: 200 directions in half circles, held rules and kappa_n / sqrt(n)."""
    test, n = skew.tests["sharp"], skew.ff.n_obs_
    low, high = [], []
    for point, u, above in zip(skew.parts["sharp"], U, (True, False), strict=True):
        at = closest_point(point, above)[1]
        assert (at[1] - at[0]) * (1 if above else -1) >= 0.0
        statistic, draws = plain_point(
            skew.context, at, u, window(u, 200, np.pi / 2), np.sqrt(np.log(n) / n), held=True
        )
        for found, slack in ((low, 1e-8), (high, -1e-8)):
            found.append((1 + sum(d >= statistic + slack for d in draws)) / (1 + B))
    assert min(low) <= test.p_value_balanced <= min(high)
    assert test.p_value_balanced == balanced_p_value(*skew.parts["sharp"])
    assert skew.tests["paper"].p_value_balanced is None


def test_the_smaller_p_value_of_the_two_points_counts():
    """A point that fits cannot make up for one that does not."""
    smaller = set()
    for seed in range(3):
        for ff in in_both_orders(one_sided_rows(seed=seed)):
            r, b = skew_points(ff.feasible_set().context, "sharp")
            above, below = closest_point(r, above=True)[0], closest_point(b, above=False)[0]
            assert above != below
            assert ff.test_group_skew().p_value_balanced == (1 + min(above, below)) / (1 + B)
            smaller.add(above < below)
    assert smaller == {True, False}


# --- verdicts -----------------------------------------------------------------------------------------

SIDES = {  # estimated best points: of the first group, of the second
    "different": ([0.1, 0.4], [0.4, 0.1]),
    "above": ([0.1, 0.4], [0.2, 0.3]),
    "below": ([0.3, 0.2], [0.4, 0.1]),
    "on the line": ([0.1, 0.1], [0.4, 0.1]),
}


@pytest.mark.parametrize(
    ("p_value", "balanced", "estimate", "alpha", "verdict"),
    [
        (0.01, 0.9, "different", 0.05, "balance-shown"),
        (0.05, 0.06, "different", 0.05, "balance-shown"),
        (0.06, 0.9, "different", 0.05, "not-shown"),
        (0.06, 0.01, "above", 0.05, "not-shown"),
        (0.01, 0.05, "different", 0.05, "contradictory"),
        (0.01, 0.01, "above", 0.05, "contradictory"),
        (0.01, 0.9, "above", 0.05, "contradictory"),
        (0.01, 0.9, "below", 0.05, "contradictory"),
        (0.01, 0.9, "on the line", 0.05, "contradictory"),
        (0.01, 0.09, "different", 0.1, "contradictory"),
        (0.06, 0.9, "different", 0.1, "balance-shown"),
        (0.01, None, "above", 0.05, "balance-shown"),
        (0.06, None, "different", 0.05, "not-shown"),
    ],
)
def test_the_verdict_follows_from_both_p_values_and_the_estimates(p_value, balanced, estimate, alpha, verdict, skew):
    best_r, best_b = (np.array(point) for point in SIDES[estimate])
    given = replace(skew.tests["sharp"], best_r=best_r, best_b=best_b, p_value=p_value, p_value_balanced=balanced).at(
        alpha
    )
    assert given.verdict == given.to_dict()["verdict"] == verdict
    assert given.reject is (verdict == "balance-shown")


def test_a_learner_that_misses_a_group_shows_nothing(blind):
    """Weak group skew is true, although no pair of best points agrees with the estimates."""
    for test in [ff.test_group_skew() for ff in blind]:
        assert test.p_value > 0.9
        for alpha in (0.02, 0.05, 0.1, 0.3):
            assert test.at(alpha).verdict == "not-shown"


def test_a_learner_whose_estimates_contradict_each_other_gives_no_answer():
    """Both gaps are positive beyond chance, but rules made for the other group serve the first one better."""
    for seed in range(3):
        test = noisy(seed).test_group_skew()
        assert test.p_value <= 0.02
        assert test.p_value_balanced <= 0.02
        for alpha in (0.02, 0.05, 0.1, 0.3):
            assert not test.at(alpha).reject
            assert test.at(alpha).verdict == "contradictory"


def test_power_is_not_lost():
    """Balanced samples: all that the p-value alone would reject are rejected."""
    tests = [published(1000, "balanced", seed).test_group_skew() for seed in range(10)]
    assert max(test.p_value for test in tests) <= 0.05
    assert [test.verdict for test in tests] == ["balance-shown"] * 10
    assert min(test.p_value_balanced for test in tests) > 0.3


def test_a_sample_of_a_balanced_population_may_give_no_answer():
    """The price of the check: here noise in the pairs makes the opposite fail at 5%, though not at 3%."""
    test = fit(two_sided_rows(200, 0), options={"n_boot": B}).test_group_skew()
    assert test.p_value < 0.03 < test.p_value_balanced <= 0.05
    assert (test.verdict, test.at(0.03).verdict) == ("contradictory", "balance-shown")


def test_a_null_at_its_boundary_is_not_taken_for_balance():
    """The second group's best point lies on the line, and its predictions are shrunk towards their mean.

    A pair tested jointly passes in some of these samples, as the one point makes up for the other.
    """
    verdicts = []
    for seed in range(10):
        rng = np.random.default_rng(1000 + seed)
        x = rng.normal(size=(1500, 2))
        group = (rng.random(1500) < 0.6).astype(int)
        in_r, in_b = expit(2.0 * x[:, 0]), expit(0.832 * (0.6 * x[:, 0] + 0.8 * x[:, 1]))
        y = (rng.random(1500) < np.where(group == 1, in_r, in_b)).astype(int)
        t = np.column_stack([0.6 * (1.0 - 2.0 * in_r), 0.4 * (1.0 - 2.0 * in_b)])
        t[:, 1] = 0.3 * t[:, 1] + 0.7 * t[:, 1].mean()
        ff = FairFrontier(n_boot=B, random_state=0).fit(None, y, sensitive_features=group, external_nuisance=t)
        verdicts.append(ff.test_group_skew().verdict)
    assert verdicts == ["not-shown"] * 10


def test_true_skew_with_a_good_learner_is_not_shown():
    verdicts = [published(1000, "skewed", seed).test_group_skew().verdict for seed in range(6)]
    assert verdicts == ["not-shown"] * 6


def test_the_published_test_stays_as_published(blind):
    for ff in blind[:4]:
        test = ff.test_group_skew(method="paper")
        for alpha in (0.02, 0.05, 0.3):
            assert test.at(alpha).reject is (test.p_value <= alpha)
            assert test.at(alpha).verdict == ("balance-shown" if test.p_value <= alpha else "not-shown")


# --- words and records --------------------------------------------------------------------------------

CLAIMS = ("For banning", "For justification", "Rejected: each group")


def test_summary_of_a_contradiction(contradictory):
    test = contradictory.test_group_skew()
    text = test.summary()
    assert f"No answer: the null is rejected, but so is its opposite (p-value {test.p_value_balanced:.4f})" in text
    assert "No pair of best points agrees with the estimates" in text
    assert NO_ANSWER in text
    assert "learner is too weak or the sample too small" in text
    assert not any(words in text for words in (*CLAIMS, "Not rejected"))
    other = replace(test, p_value_balanced=0.5, best_b=test.best_r).summary()
    assert "the estimated best points lie as it says" in other
    assert "so is its opposite" not in other
    assert not any(words in other for words in CLAIMS)


def test_summary_of_a_rejection_names_its_condition():
    text = fit(two_sided_rows(300), options={"n_boot": B}).test_group_skew().summary()
    assert all(words in text for words in CLAIMS)
    assert "if the learner comes close to the truth" in text


def test_the_published_test_says_when_its_confidence_set_is_empty(blind):
    said = []
    for ff in blind:
        test = ff.test_group_skew(method="paper").at(0.4)
        found, text = test.confidence_set, test.summary()
        empty = test.reject and len(found.best_r) == 0
        assert ("confidence set of the best points is empty" in text) is empty
        assert any(words in text for words in CLAIMS) is (test.reject and not empty)
        said.append(empty)
    assert any(said)
    text = fit(two_sided_rows(300), options={"n_boot": B}).test_group_skew(method="paper").summary()
    assert "is empty" not in text
    assert all(words in text for words in CLAIMS)


def test_records_are_those_of_the_schema(contradictory):
    schema = SCHEMA["$defs"]["Record"]["properties"]["skew"] | {"$defs": SCHEMA["$defs"]}
    validator = jsonschema.Draft202012Validator(schema)
    tests = [contradictory.test_group_skew(method=method) for method in METHODS]
    tests += [ff.test_group_skew() for ff in in_both_orders(two_sided_rows(300))]
    tests += [fit(one_sided_rows(), options={"n_boot": B}).test_group_skew()]
    assert {test.verdict for test in tests} == {"contradictory", "not-shown", "balance-shown"}
    for test in tests:
        record = json.loads(json.dumps(plain(parts.skew(test))))
        assert record["sentences"] == test.sentences()
        validator.validate(record)
        assert record["p_value_balanced"] == test.p_value_balanced
        for bad in ({"verdict": "yes"}, {"p_value_balanced": 1.5}, {"p_value_balanced": "none"}):
            assert not validator.is_valid(record | bad)
        for name in ("verdict", "p_value_balanced"):
            assert not validator.is_valid({key: value for key, value in record.items() if key != name})
