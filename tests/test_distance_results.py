"""Distances of several algorithms: differences, words, repetitions, other orders and groups; what is refused."""

import json
from collections.abc import Mapping
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from support import plain
from support.distance_cases import (
    ENDS,
    METRICS,
    NOBODY,
    ROOT,
    SEED,
    B,
    Case,
    N,
    loss_with_gap,
    moved_by_group,
    sharp_interval,
    turned_draws,
    values_of,
)
from support.small_samples import fit, rows

from fairfrontier import FairFrontier
from fairfrontier.bootstrap.draws import DrawingContext
from fairfrontier.errors import InputError, NotFittedError
from fairfrontier.frontier.support import build_support_function
from fairfrontier.inference.distance.estimates import _distance_limits, fairest_evidence
from fairfrontier.inference.distance.metrics import read_metric
from fairfrontier.inference.distance.result import _hull, _union

pytestmark = pytest.mark.filterwarnings(
    "ignore::fairfrontier.errors.WeakLearnerWarning",
    "ignore::fairfrontier.errors.EmptySetWarning",
    "ignore::fairfrontier.errors.MarginWarning",
)


@pytest.fixture(scope="module", params=["plain", "weights", "clusters", "bounds", "overconfident"])
def case(request):
    return Case(request.param)


# --- with an estimated regret -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def corrected():
    """The same fit without and with the correction, and an algorithm."""
    data = rows(N, 2)
    fits = [
        FairFrontier(
            learner=LogisticRegression(),
            n_folds=3,
            n_rep=1,
            n_refits=4,
            n_boot=B,
            random_state=5,
            bias_correction=correction,
        ).fit(data.X, data.y, sensitive_features=data.g)
        for correction in (None, "regret")
    ]
    return SimpleNamespace(before=fits[0], after=fits[1], a=(data.t.sum(axis=1) < 0).astype(float), y=data.y)


def test_the_regret_moves_f_and_its_draws(corrected):
    ff, regret = corrected.after, corrected.after.regret_
    found, before = (each.distance_to_fairest(corrected.a, metric="sqeuclidean") for each in (ff, corrected.before))
    q = found.fairest.direction / -found.fairest.direction.sum()
    np.testing.assert_allclose(found.fairest.direction, before.fairest.direction, atol=1e-12)
    own = regret.values(q[None])[:, 0]
    assert own.mean() > 0.0
    f = -plain.h(ff.support_function_.scores, q) - own.mean()
    np.testing.assert_allclose(found.fairest.risk, [f, f], atol=1e-12)
    np.testing.assert_allclose(found.fairest.risk, ff.points_.loc["fairest"].to_numpy()[:2], atol=1e-6)
    loss = corrected.y + corrected.a * (1.0 - 2.0 * corrected.y)
    draws = ff.feasible_set().context.draw(q, loss[None], hold_rules=True)
    turned = turned_draws(ff.feasible_set().context, q)
    f_draws = np.array([turned[b] - own[b % 4] for b in range(B)])
    low, high, _ = sharp_interval("sqeuclidean", f, f_draws, found.risk, draws.risks[:, 0], ())
    assert found.cases["crosses"] == pytest.approx((low, high), abs=1e-10)
    ends = np.quantile(f_draws, [0.025, 0.975])
    np.testing.assert_allclose(found.fairest.conf_int(), [ends, ends], atol=1e-10)


@pytest.mark.parametrize("kinks", [False, True])
def test_the_published_interval_is_never_corrected(corrected, kinks):
    options = {"method": "paper", "kinks": kinks}
    one, other = (ff.distance_to_fairest(corrected.a, **options) for ff in (corrected.before, corrected.after))
    assert one.estimate == other.estimate
    assert one.conf_int() == other.conf_int()
    np.testing.assert_array_equal(one.fairest.conf_int(), other.fairest.conf_int())
    assert one.cases == other.cases


def test_the_regret_moves_what_lies_to_one_side_too(corrected):
    """The same rows with one more to lose for group b, whatever is decided."""
    scores = moved_by_group(corrected.after.support_function_.scores, 1.0)
    regret, u = corrected.after.regret_, ENDS[0] / np.sqrt(2.0)
    context = DrawingContext(build_support_function(scores), B, SEED, None, regret)
    found = fairest_evidence(context, np.empty((0, N)), NOBODY, "sharp")
    assert found.position == "above"
    move = regret.shortfall[:, 630].mean(axis=0)  # the grid direction (1, -1)
    np.testing.assert_allclose(found.point, values_of(scores, u[None])[0] + move, atol=1e-10)
    side, draws = found.sides["above"], context.draw(u, hold_rules=True)
    own = np.maximum(regret.shortfall[:, 630] @ u, 0.0)
    assert side.h_u == pytest.approx(draws.h_hat[0] + own.mean(), abs=1e-10)
    expected = [ROOT * (draws.h[b, 0] + own[b % 4] - draws.h_hat[0] - own.mean()) for b in range(B)]
    np.testing.assert_allclose(side.z_u, expected, atol=1e-9)
    published = fairest_evidence(context, np.empty((0, N)), NOBODY, "paper")
    np.testing.assert_allclose(published.point, values_of(scores, u[None])[0], atol=1e-12)
    assert published.sides["above"].h_u == pytest.approx(draws.h_hat[0], abs=1e-12)


# --- several algorithms, labels, repetitions --------------------------------------------------------------


def test_several_algorithms_are_a_mapping(case):
    found = case.ff.distance_to_fairest(case.decisions, randomised=True, metric="euclidean")
    assert isinstance(found, Mapping)
    assert list(found) == ["coin", "rule", "lottery"]
    assert len(found) == 3
    assert "rule" in found
    assert found.get("nobody") is None
    with pytest.raises(KeyError):
        found["nobody"]
    for name, each in found.items():
        assert each.name == name
        alone = case.ff.distance_to_fairest(case.decisions[name], randomised=True, metric="euclidean")
        assert alone.name == "the algorithm"
        assert alone.conf_int() == pytest.approx(each.conf_int(), abs=1e-12)
        assert alone.estimate == each.estimate
    frame = found.to_frame()
    assert list(frame.index) == list(found)
    assert list(frame.columns) == ["risk 1", "risk 0", "distance", "low", "high"]
    for name, row in frame.iterrows():
        each = found[name]
        np.testing.assert_array_equal(row, [*each.risk, each.estimate, *each.conf_int()])
    text = found.summary()
    assert all(each.summary() in text for each in found.values())


@pytest.mark.parametrize("gap", [0.0, 1.0])
@pytest.mark.parametrize("method", ["sharp", "paper"])
def test_differences(gap, method):
    case = Case(gap=gap)
    algorithms = case.decisions | {"twin": case.decisions["coin"]}
    found = case.ff.distance_to_fairest(algorithms, randomised=True, method=method)
    for first, second in (("coin", "rule"), ("rule", "lottery"), ("coin", "twin")):
        one, other = found.difference(first, second), found.difference(second, first)
        assert one.estimate == pytest.approx(found[first].estimate - found[second].estimate)
        assert one.interval == pytest.approx((-other.interval[1], -other.interval[0]), abs=1e-12)
        assert one.interval[0] <= one.estimate <= one.interval[1]
        wide = found.difference(first, second, alpha=0.01)
        assert wide.alpha == 0.01
        assert wide.interval[0] <= one.interval[0] <= one.interval[1] <= wide.interval[1]
    same = found.difference("coin", "twin")
    assert same.estimate == 0.0
    if (method, gap) == ("sharp", 0.0):
        assert same.interval == (0.0, 0.0)
    assert found.difference("coin", "coin").estimate == 0.0
    for names in (("coin", "nobody"), ("nobody", "coin")):
        with pytest.raises(InputError, match="nobody") as caught:
            found.difference(*names)
        assert caught.value.code == "bad-option"
    with pytest.raises(InputError) as caught:
        found.difference("coin", "rule", alpha=0.7)
    assert caught.value.code == "bad-alpha"


def test_differences_by_hand(case):
    """In the crossing case: quantiles of the difference of the two recomputed distances."""
    found = case.ff.distance_to_fairest(case.decisions, randomised=True)
    q = found["coin"].fairest.direction / -found["coin"].fairest.direction.sum()
    losses = np.array([case.losses(name) for name in ("coin", "rule")])
    draws = case.context.draw(q, losses, hold_rules=True)
    ends, turned = [], turned_draws(case.context, q)
    too_high = max(plain.plug_in(case.scores, q) - plain.h(case.scores, q), 0.0)
    for shift in (0.0, too_high, plain.line_infimum(case.scores) - plain.h(case.scores, q)):
        F = [np.full(2, turned[b] - shift) for b in range(B)]
        each = [np.hypot(*(draws.risks[b, 0] - F[b])) - np.hypot(*(draws.risks[b, 1] - F[b])) for b in range(B)]
        ends.append(np.quantile(each, [0.025, 0.975]))
    evidence, metric = found["coin"]._evidence, found["coin"].metric
    numbers = [found[name].number for name in ("coin", "rule")]
    parts = evidence.difference_parts(metric, *numbers, 0.05)
    assert parts["crosses"] == pytest.approx((np.min(ends), np.max(ends)), abs=1e-10)
    if len(parts) == 1:
        assert found.difference("coin", "rule").interval == parts["crosses"]


def test_the_summary_of_a_difference_says_who_is_nearer():
    case = Case(n=400)
    far = case.data.t.sum(axis=1) > 0  # the opposite of the useful rule
    found = case.ff.distance_to_fairest({"good": case.decisions["rule"], "bad": far, "again": far})
    better, worse = found.difference("good", "bad"), found.difference("bad", "good")
    assert better.interval[1] < 0.0 < worse.interval[0]
    assert better.summary().endswith("good is nearer to the fairest point.")
    assert worse.summary().endswith("good is nearer to the fairest point.")
    assert "do not show which" in found.difference("bad", "again").summary()
    assert f"{better.estimate:.5f}" in better.summary()
    assert "95% interval" in better.summary()


def test_reports_speak_the_users_language():
    data = rows(120)
    ff = fit(data, g=np.where(data.g == 1, "red", "blue"), options={"n_boot": B, "alpha": 0.1})
    found = ff.distance_to_fairest({"the judge": data.X[:, 0] > 0}, metric="cityblock")["the judge"]
    text = found.summary()
    low, high = found.conf_int()
    for part in (
        "How far is the judge",
        f"group red {found.risk[0]:.4f}, group blue {found.risk[1]:.4f}",
        f"Distance (cityblock): {found.estimate:.5f}, 90% interval {low:.5f} to {high:.5f}",
        "it lies where group red has the lower risk",
        "it lies where group blue has the lower risk",
        "does not make an algorithm fair",
        *[part for part in found.cases.values() if isinstance(part, str)],
    ):
        assert part in text
    told = json.loads(json.dumps(found.to_dict()))
    assert told["algorithm"] == "the judge"
    assert told["groups"] == ["red", "blue"]
    assert (told["metric"], told["method"], told["alpha"]) == ("cityblock", "sharp", 0.1)
    assert told["risk"] == found.risk.tolist()
    assert told["estimate"] == found.estimate
    assert told["interval"] == [low, high]
    assert told["cases"] == {k: v if isinstance(v, str) else list(v) for k, v in found.cases.items()}
    assert told["fairest"]["risk"] == found.fairest.risk.tolist()
    assert told["fairest"]["interval"] == found.fairest.conf_int().tolist()
    assert told["fairest"]["weights"] == found.fairest.weights.tolist()


@pytest.mark.parametrize("options", [{"method": "sharp"}, {"method": "paper"}, {"method": "paper", "kinks": True}])
@pytest.mark.parametrize("gap", [0.0, 1.0])
def test_bits_do_not_depend_on_jobs(gap, options):
    found = []
    for n_jobs in (1, 2):
        case = Case(gap=gap, n_jobs=n_jobs)
        each = case.ff.distance_to_fairest(case.decisions, randomised=True, **options)
        found.append([x for name in each for x in (each[name].estimate, *each[name].conf_int())])
        found[-1] += [*each.difference("coin", "rule").interval, *each["coin"].fairest.conf_int().ravel()]
    assert found[0] == found[1]


def own_clusters(data, gap, groups):
    """A fit in which every row is a cluster, so that its random numbers go with it wherever it stands."""
    return fit(
        data,
        y=data.y + 2.0 * (data.g == 0),
        t=data.t if groups == (1, 0) else data.t[:, ::-1],
        options={"n_boot": B, "loss": loss_with_gap(gap), "groups": groups},
        clusters=np.arange(len(data.y)),
    )


@pytest.mark.parametrize("options", [{"method": "sharp"}, {"method": "paper"}, {"method": "paper", "kinks": True}])
@pytest.mark.parametrize("gap", [0.0, 0.25, 1.0, -1.0])
def test_exchanging_the_groups_mirrors_everything(gap, options):
    data = rows(120, 3)
    algorithms = {"x": data.X[:, 2] > 0, "rule": data.t.sum(axis=1) < 0}
    one, other = (
        own_clusters(data, gap, groups).distance_to_fairest(algorithms, metric="euclidean", **options)
        for groups in ((1, 0), (0, 1))
    )
    mirror = {"crosses": "crosses", "above": "below", "below": "above"}
    for name in algorithms:
        a, b = one[name], other[name]
        np.testing.assert_allclose(a.risk, b.risk[::-1], atol=1e-13)
        assert a.estimate == pytest.approx(b.estimate, abs=1e-10)
        # c runs from -1000 to 1000 and, seen from the other group, from -1001 to 999, which the ends may show
        scale = 2e-3 * a.conf_int()[1] if "kinks" in options else 1e-7
        assert a.conf_int() == pytest.approx(b.conf_int(), abs=scale)
        np.testing.assert_allclose(a.fairest.risk, b.fairest.risk[::-1], atol=1e-10)
        np.testing.assert_allclose(a.fairest.conf_int(), b.fairest.conf_int()[::-1], atol=scale)
        np.testing.assert_allclose(a.fairest.weights, b.fairest.weights[::-1], atol=1e-10)
        assert {mirror[k]: isinstance(v, str) for k, v in a.cases.items()} == {
            k: isinstance(v, str) for k, v in b.cases.items()
        }


@pytest.mark.parametrize("method", ["sharp", "paper"])
@pytest.mark.parametrize("gap", [0.0, 0.25, 1.0])
def test_the_order_of_rows_changes_draws_only(gap, method):
    """The random weights of a draw belong to rows, so another order draws anew; every estimate stays."""
    data = rows(120, 3)
    order = np.random.default_rng(4).permutation(120)
    a = data.X[:, 2] > 0
    one, other = (
        fit(moved, y=moved.y + 2.0 * (moved.g == 0), options={"n_boot": B, "loss": loss_with_gap(gap)})
        for moved in (data, data.at(order))
    )
    one, other = one.distance_to_fairest(a, method=method), other.distance_to_fairest(a[order], method=method)
    assert one.estimate == pytest.approx(other.estimate, abs=1e-12)
    np.testing.assert_allclose(one.risk, other.risk, atol=1e-12)
    np.testing.assert_allclose(one.fairest.risk, other.fairest.risk, atol=1e-12)
    assert one.fairest.ruled_out == other.fairest.ruled_out


@pytest.mark.parametrize("name", ["euclidean", "cityblock"])
def test_functions_of_the_user_are_as_good_as_names(name):
    case = Case(n=100)
    given_name, by_hand = (
        case.ff.distance_to_fairest(case.decisions["rule"], metric=metric) for metric in (name, METRICS[name])
    )
    assert by_hand.estimate == pytest.approx(given_name.estimate, abs=1e-13)
    assert by_hand.conf_int() == pytest.approx(given_name.conf_int(), abs=1e-12)
    assert f"Distance ({name})" in by_hand.summary()
    points, risk, reach = np.random.default_rng(0).random((4, 2)), np.array([0.5, 0.4]), np.array([0.0, 0.1, 0.2, 0.3])
    limits = [_distance_limits(read_metric(metric), risk, points, reach) for metric in (name, METRICS[name])]
    np.testing.assert_allclose(limits[0], limits[1], atol=1e-13)


def test_a_metric_cannot_change_what_it_is_given():
    def careless(x, y):
        x -= y
        return float(np.abs(x).sum())

    case = Case()
    found = case.ff.distance_to_fairest(case.decisions["rule"], metric=careless)
    expected = case.ff.distance_to_fairest(case.decisions["rule"], metric="cityblock")
    assert found.conf_int() == pytest.approx(expected.conf_int(), abs=1e-12)
    np.testing.assert_array_equal(found.risk, expected.risk)


def test_scores_are_cut_and_lotteries_read_as_elsewhere():
    case = Case()
    score = case.decisions["lottery"]
    cut = case.ff.distance_to_fairest(score, threshold=0.3)
    assert cut.conf_int() == case.ff.distance_to_fairest((score > 0.3).astype(float)).conf_int()
    lottery = case.ff.distance_to_fairest(score, randomised=True)
    np.testing.assert_array_equal(lottery.risk, case.ff.risks(score).risk)
    frame = pd.DataFrame({"a": score > 0.5, "b": score > 0.2})
    assert list(case.ff.distance_to_fairest(frame)) == ["a", "b"]
    pairs = case.ff.distance_to_fairest(risks=[[0.4, 0.5], [0.5, 0.4]])
    assert list(pairs) == ["point 1", "point 2"]
    assert pairs["point 1"].risk.tolist() == [0.4, 0.5]


# --- what is refused --------------------------------------------------------------------------------------


def test_nothing_is_asked_before_the_fit():
    for question in ("fairest_point", "distance_to_fairest"):
        with pytest.raises(NotFittedError):
            getattr(FairFrontier(), question)()


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"alpha": 0.0}, "bad-alpha"),
        ({"alpha": 0.5}, "bad-alpha"),
        ({"alpha": "0.05"}, "bad-alpha"),
        ({"alpha": 0.001}, "bad-draws"),
        ({"method": "robust"}, "bad-option"),
        ({"method": "Paper"}, "bad-option"),
        ({"kinks": True}, "bad-option"),
        ({"method": "sharp", "kinks": True}, "bad-option"),
        ({"randomised": True, "threshold": 0.5}, "bad-option"),
        ({"risks": [0.4, 0.4]}, "bad-decisions"),
    ],
)
def test_bad_options_are_refused(options, code):
    data = rows(60)
    ff = fit(data, options={"n_boot": B})
    with pytest.raises(InputError) as caught:
        ff.distance_to_fairest(data.y, **options)
    assert caught.value.code == code
    if set(options) <= {"alpha", "method"}:
        with pytest.raises(InputError) as caught:
            ff.fairest_point(**options)
        assert caught.value.code == code


@pytest.mark.parametrize("alpha", [0.0, 0.6, 0.001])
def test_results_refuse_bad_levels(alpha):
    data = rows(60)
    ff = fit(data, options={"n_boot": B})
    found = ff.distance_to_fairest(data.y)
    for ask in (found.at, found.conf_int, found.fairest.at, found.fairest.conf_int):
        with pytest.raises(InputError):
            ask(alpha)


def test_scores_and_wrong_lengths_are_refused():
    data = rows(60)
    ff = fit(data, options={"n_boot": B})
    with pytest.raises(InputError, match="strictly between 0 and 1") as caught:
        ff.distance_to_fairest(np.linspace(0.0, 1.0, 60))
    assert caught.value.code == "bad-decisions"
    with pytest.raises(InputError):
        ff.distance_to_fairest(data.y[:-1])
    with pytest.raises(InputError, match="either `decisions` or risk pairs"):
        ff.distance_to_fairest()
    with pytest.raises(InputError, match="within what the loss allows"):
        ff.distance_to_fairest(risks=[0.4, 1.4])


def test_where_no_case_accepts_anything_the_intervals_are_not_numbers():
    for nothing in ({}, {"crosses": None}):
        assert _hull(nothing).shape == (2, 2)
        assert np.isnan(_hull(nothing)).all()
    assert np.isnan(_union({"crosses": None})).all()
    two = {"above": np.array([[0.1, 0.3], [0.2, 0.5]]), "below": np.array([[0.0, 0.2], [0.3, 0.4]]), "crosses": None}
    np.testing.assert_array_equal(_hull(two), [[0.0, 0.3], [0.2, 0.5]])
