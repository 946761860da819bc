"""A walk over all results: they pickle, compare, print briefly, show in notebooks and turn into plain data."""

import inspect
import json
import pickle
import subprocess
import sys
import typing
import xml.etree.ElementTree as ET
from dataclasses import FrozenInstanceError, fields, is_dataclass, replace

import numpy as np
import pandas as pd
import pytest
from support.quick import QUICK, QUICK_LEARNER

import fairfrontier
from fairfrontier import FairFrontier, FrontierRule, LinearFrontierRule, evaluate, results
from fairfrontier.data.notebook import BLUE, ROWS, Picture
from fairfrontier.data.result import LINES, WIDTH, ExplainedResult, Result, plain, same, short
from fairfrontier.datasets import make_liu_molinari
from fairfrontier.errors import EmptySetWarning
from fairfrontier.estimator import Pairs
from fairfrontier.results import PointContradiction

N, N_BOOT = 613, 199
GROUPS = ("<i>A</i>", 'B & "C"\n')
"""Labels that would break a page if they were not escaped, and a line if it were not joined."""
IN_USE = "<script>alert('now')</script>\nin use " + "x" * 200

pytestmark = pytest.mark.filterwarnings(
    "ignore::fairfrontier.errors.WeakLearnerWarning", "ignore::fairfrontier.errors.SmallSampleWarning"
)


@pytest.fixture(scope="module")
def sample():
    X, y, group = make_liu_molinari(N, design="balanced", random_state=2)
    coin = np.random.default_rng(0).integers(0, 2, N)
    return X, y, np.where(group == 1, *GROUPS), coin


@pytest.fixture(scope="module")
def walk(sample):
    """One instance, or several, of every result, by the name of its class."""
    X, y, group, coin = sample
    options = QUICK_LEARNER | {"n_folds": 2, "groups": GROUPS, "random_state": 0}
    ff = FairFrontier(n_rep=1, n_boot=N_BOOT, bias_correction="regret", n_refits=2, **options)
    ff.fit(X, y, sensitive_features=group)
    several = {IN_USE: coin, "other": (X["x1"] > 0).astype(int)}
    linear = LinearFrontierRule(**options).fit(X, y, sensitive_features=group)
    points = ff.points_.to_numpy()[:, :2]
    lda = ff.test_lda(coin)
    distances = ff.distance_to_fairest(several)
    skew = ff.test_group_skew()
    found = [
        *[ff.risks(coin), ff.nuisance_, ff.diagnostics_, ff.learner_report_, ff.regret_, ff.fit_.plane().points],
        *[ff.frontier(n_points=50), ff.pareto_frontier(), ff.frontier(capacity=0.3, n_points=20)],
        *[ff.feasible_set(), ff.feasible_set(capacity=0.3)],
        *[ff.feasible_set().confidence_band(side=side) for side in ("two-sided", "lower")],
        *[ff.feasible_set().test([0.1, 0.1]), ff.feasible_set().test_contains(points)],
        *[lda, lda.evidence, lda.witness, lda.evidence.gain_bound, lda.learner_check],
        PointContradiction(f"best for {GROUPS[0]}", f"risk of group {GROUPS[0]}", "fairest", 0.01, 0.02),
        *[ff.test_lda(several), ff.test_lda(several, method="sharp")[IN_USE], ff.test_lda(coin, capacity=0.6)],
        *[ff.test_frontier(points, directions=40), ff.test_pareto(decisions=several, directions=40)],
        *[ff.frontier_confidence_set(directions=40), ff.test_best_points(points[:2], points[1:])],
        *[skew, skew.confidence_set, ff.test_group_skew(method="paper")],
        *[distances, distances[IN_USE], distances.difference(IN_USE, "other"), ff.fairest_point()],
        *[ff.alternatives({IN_USE: coin}, 5), ff.alternatives({"best": y}, 5)],
        *several_groups(X, y, coin),
        *[ff.usual_figures(several), ff.usual_figures(coin, score=X["x1"]), *by_other_measures(X, y, group, coin)],
        *[ff.cost_of_ban(), *seeing_the_group(X, y, group, coin)],
        *[linear.restriction(ff), evaluate(linear, X, y, group), evaluate(coin, X, y, group, sample_weight=1.0 + coin)],
    ]
    by_class: dict[str, list] = {}
    for result in found:
        by_class.setdefault(type(result).__name__, []).append(result)
    return by_class


def seeing_the_group(X, y, group, coin):
    """Results for rules that see the group."""
    ff = FairFrontier(n_boot=N_BOOT, n_folds=2, groups=GROUPS, rules="group-aware", random_state=0, **QUICK)
    test = ff.fit(X, y, sensitive_features=group).test_lda({IN_USE: coin})[IN_USE]
    return [test, *test.by_group, test.evidence.witness or ff.cost_of_ban()]


def by_other_measures(X, y, group, coin):
    """Results of a test by another measure than the risk."""
    options = QUICK | {"fairness": "selection-ratio", "accuracy": "overall", "keep": "selection-rate"}
    ff = FairFrontier(n_boot=N_BOOT, n_folds=2, groups=GROUPS, random_state=0, **options)
    test = ff.fit(X, y, sensitive_features=group).test_lda(coin)
    planar = FairFrontier(n_boot=N_BOOT, n_folds=2, groups=GROUPS, random_state=0, accuracy="overall", **QUICK)
    return [test, test.evidence, planar.fit(X, y, sensitive_features=group).trade_off()]


def several_groups(X, y, coin):
    """Results for three groups, one of which has a name that would break a page."""
    labels = np.array([*GROUPS, IN_USE])[np.arange(N) % 3]
    ff = FairFrontier(n_boot=N_BOOT, n_folds=2, random_state=0, **QUICK).fit(X, y, sensitive_features=labels)
    wrong = np.arange(N) // 3 % 10 < np.array([6, 8, 10])[np.arange(N) % 3]  # so often that better rules are shown
    other = np.where(wrong, 1 - y, y)
    joint, coins = ff.test_lda(coin), ff.test_lda({IN_USE: coin, "other": other}, reference=GROUPS[0])
    pairs = ff.pairs(reference=IN_USE).test_lda({IN_USE: coin})
    return [joint, joint.evidence, coins["other"].evidence.witness, coins, coins["other"], pairs]


@pytest.fixture(params=results.__all__)
def instances(request, walk):
    assert request.param in walk, f"no instance of {request.param} in the walk"
    return walk[request.param]


def test_the_walk_has_exported_classes_only(walk):
    assert sorted(walk) == sorted(results.__all__)
    for found in walk.values():
        for result in found:
            assert getattr(results, type(result).__name__) is type(result)
            assert isinstance(result, Result)


WITHIN_THE_PACKAGE = ("settle", "learn_score")
"""Methods of rules that are not for users."""


def classes_in(hint):
    """Classes of the package that a type hint mentions."""
    if isinstance(hint, type) and hint.__module__.startswith("fairfrontier"):
        return {hint}
    return {found for part in typing.get_args(hint) for found in classes_in(part)}


def returned_by(owner):
    """Classes of the package that public methods return, by name of the method."""
    for name, method in inspect.getmembers(owner, inspect.isfunction):
        if not name.startswith("_"):
            yield name, classes_in(typing.get_type_hints(method, localns={"Plain": object}).get("return"))


@pytest.mark.parametrize(
    "owner", [FairFrontier, FrontierRule, LinearFrontierRule, *[getattr(results, name) for name in results.__all__]]
)
def test_every_class_that_a_method_returns_is_exported(owner):
    known = {getattr(results, name) for name in results.__all__}
    known |= {FairFrontier, FrontierRule, LinearFrontierRule, Pairs}
    for name, found in returned_by(owner):
        assert found <= known or name in WITHIN_THE_PACKAGE, f"{owner.__name__}.{name} returns {found}"


def test_functions_of_the_package_return_exported_classes():
    known = {getattr(results, name) for name in results.__all__}
    assert classes_in(typing.get_type_hints(evaluate)["return"]) <= known
    assert set(fairfrontier.__all__) & set(results.__all__) == {"Evaluation", "Risks"}


def test_results_survive_pickling(instances):
    for result in instances:
        copy = pickle.loads(pickle.dumps(result))
        assert type(copy) is type(result)
        assert (copy == result) is True
        assert (copy != result) is False
        assert repr(copy) == repr(result)
        assert copy.to_dict() == result.to_dict()


def test_results_survive_a_journey_to_another_process(walk, tmp_path):
    everything = [result for found in walk.values() for result in found]
    (tmp_path / "there").write_bytes(pickle.dumps(everything))
    program = (
        "import pickle, sys; from pathlib import Path; folder = Path(sys.argv[1]);"
        "found = pickle.loads((folder / 'there').read_bytes());"
        "(folder / 'back').write_bytes(pickle.dumps((found, [repr(x) for x in found], [x.to_dict() for x in found])))"
    )
    subprocess.run([sys.executable, "-c", program, str(tmp_path)], check=True, timeout=300)
    back, shown, told = pickle.loads((tmp_path / "back").read_bytes())
    assert back == everything
    assert shown == [repr(result) for result in everything]
    assert told == [result.to_dict() for result in everything]


def changed(value):
    """Something of the same type that differs from a value."""
    if isinstance(value, np.ndarray | pd.DataFrame) and len(value) == 0:
        return np.ones((1, 2))
    if isinstance(value, np.ndarray):
        return ~value if value.dtype == bool else value + 1
    if isinstance(value, bool | np.bool_):
        return not value
    if isinstance(value, int | float):
        return value + 1
    if isinstance(value, str):
        return value + "!"
    if isinstance(value, pd.DataFrame):
        return value.iloc[:-1]
    if isinstance(value, tuple):
        return value[:-1] if value else (1,)
    if isinstance(value, dict):
        return value | {"more": 1}
    if is_dataclass(value):
        first = next(f for f in fields(value) if f.compare and getattr(value, f.name) is not None)
        return replace(value, **{first.name: changed(getattr(value, first.name))})
    raise TypeError(type(value))


def test_results_with_other_content_differ(instances):
    for result in instances:
        assert (result == 1) is False
        assert (result == None) is False  # noqa: E711
        with pytest.raises(TypeError, match="unhashable"):
            hash(result)
        if not is_dataclass(result):  # several results by name
            fewer = type(result)(dict(list(result.items())[1:]))
            assert (result == fewer) is False
            assert (result == type(result)(dict(result))) is True
            continue
        for entry in fields(result):
            value = getattr(result, entry.name)
            if entry.compare and value is not None and not hasattr(value, "max_excess"):
                other = replace(result, **{entry.name: changed(value)})
                assert (result == other) is False, entry.name
                assert (result != other) is True, entry.name


def test_results_are_frozen(instances):
    for result in instances:
        if is_dataclass(result):
            name = fields(result)[0].name
            with pytest.raises(FrozenInstanceError):
                setattr(result, name, None)


def test_unknown_numbers_are_equal_to_themselves(walk):
    risks = walk["Risks"][0]
    unknown = [replace(risks, risk=np.array([np.nan, 0.5])) for _ in range(2)]
    assert unknown[0] == unknown[1]
    assert unknown[0] != risks
    assert unknown[0].to_dict()["risk"] == [None, 0.5]
    assert same(float("nan"), float("nan"))
    assert not same(float("nan"), 1.0)
    assert not same(1.0, float("nan"))


def test_a_repr_is_short(instances):
    for result in instances:
        lines = repr(result).split("\n")
        assert 1 < len(lines) <= LINES == 12
        assert max(map(len, lines)) <= WIDTH == 120
        assert lines[0] == type(result).__name__
        assert len(repr(result).splitlines()) == len(lines)


def test_a_repr_says_what_a_person_wants(walk):
    lda = walk["LDATest"][0]
    assert f"verdict: {lda.verdict}" in repr(lda)
    assert f"p_value: {lda.p_value:.5g}" in repr(lda)
    assert '<i>A</i>, B & "C"' in repr(lda)
    together = walk["LDATests"][0]
    lines = repr(together).split("\n")[1:]
    assert [test.verdict in line for test, line in zip(together.values(), lines, strict=True)] == [True, True]
    assert "points: 50" in repr(walk["FrontierCurve"][0])


def tree_of(html):
    """The elements of a piece of HTML, all of which must be closed."""
    return list(ET.fromstring(html).iter())


def test_the_page_of_a_notebook_is_safe(instances):
    for result in instances:
        elements = tree_of(result._repr_html_())
        assert {element.tag for element in elements} <= {
            *["div", "strong", "table", "thead", "tbody", "tr", "th", "td", "details", "summary", "p", "span"],
            *["svg", "rect", "line", "text", "title", "polygon", "polyline", "circle"],
        }
        for element in elements:
            for name, value in element.attrib.items():
                assert not name.startswith("on"), name
                assert name not in ("src", "href", "xlink:href")
                assert "url(" not in value
                assert "http" not in value
        text = " ".join("".join(ET.fromstring(result._repr_html_()).itertext()).split())
        assert " ".join(result.heading.split()) in text
        assert len(result._repr_html_()) < 60_000


PICTURED = {
    *[
        "FeasibleSet",
        "EstimatedFeasibleSet",
        "FrontierCurve",
        "FrontierRegion",
        "DistanceInterval",
        "DistanceIntervals",
    ],
    *["FairestPoint", "SupportBand", "PointTests", "BestPointTests", "GroupSkewTest", "BestPointsSet", "BestPoints"],
    *["LDATest", "LDATests", "Alternatives", "Restriction", "BanCost", "TradeOffCurve"],
}


@pytest.mark.parametrize("name", results.__all__)
def test_pictures_and_tables(walk, name):
    for result in walk[name]:
        tags = [element.tag for element in tree_of(result._repr_html_())]
        assert ("svg" in tags) == (name in PICTURED)
        assert tags.count("table") in (1, 2)
        assert ("details" in tags) == bool(result._words())


def lists_in(value):
    if isinstance(value, dict):
        return [found for x in value.values() for found in lists_in(x)]
    if isinstance(value, list):
        return [value, *[found for x in value for found in lists_in(x)]]
    return []


def test_plain_data_are_json_without_draws(instances):
    for result in instances:
        data = result.to_dict()
        assert json.loads(json.dumps(data, allow_nan=False)) == data
        assert not {N, N_BOOT} & {len(found) for found in lists_in(data)}
        assert len(data) > 1 or len(result) == 1


def test_sentences_and_headings_make_the_summary(walk):
    for name in ("LDATest", "GroupSkewTest", "DistanceInterval", "Alternatives"):
        for result in walk[name]:
            assert isinstance(result, ExplainedResult)
            assert result.summary() == "\n".join([result.heading, *result.sentences()])
    for name in ("Restriction", "DistanceDifference"):
        assert walk[name][0].summary() == " ".join(walk[name][0].sentences())
    for name in ("LDATests", "DistanceIntervals"):
        together = walk[name][0]
        assert together.sentences() == [s for one in together.values() for s in (one.heading, *one.sentences())]
        assert together.summary() == "\n\n".join(one.summary() for one in together.values())


def test_an_empty_interval_is_shown_without_a_warning_and_asked_for_with_one(walk):
    interval = walk["DistanceInterval"][0]
    nothing = replace(interval._evidence, crossing=None, sides={})
    empty = replace(interval, _evidence=nothing)
    for result in (empty, empty.fairest):
        assert "nan, nan" in repr(result)
        tree_of(result._repr_html_())
        assert type(result) is not type(empty) or "The confidence interval is empty" in result.summary()
        with pytest.warns(EmptySetWarning, match="no point passes"):
            assert np.isnan(result.conf_int()).all()
    with pytest.warns(EmptySetWarning, match="no point passes"):
        assert empty.to_dict()["interval"] == [None, None]
    together = type(walk["DistanceIntervals"][0])({"one": empty, "two": empty})
    assert "nan" in repr(together)
    with pytest.warns(EmptySetWarning, match="no point passes"):
        together.difference("one", "two")


def square_root_of_cityblock(x, y):
    return float(np.abs(x - y).sum() ** 0.5)


def test_a_distance_by_a_function_of_the_user_survives_if_the_function_does(sample):
    _, y, group, coin = sample
    t = np.random.default_rng(1).normal(size=(N, 2))
    ff = FairFrontier(n_boot=99, groups=GROUPS, random_state=0)
    ff.fit(None, y, sensitive_features=group, external_nuisance=t)
    distance = ff.distance_to_fairest(coin, metric=square_root_of_cityblock, alpha=0.1)
    copy = pickle.loads(pickle.dumps(distance))
    assert copy == distance
    assert copy.metric.name == "square_root_of_cityblock"
    assert copy.conf_int() == distance.conf_int()


def test_what_equals_what():
    equal = [
        ((1, [2.0, "x"]), (1, [2.0, "x"])),
        ({"a": np.arange(3)}, {"a": np.arange(3)}),
        (np.array([1, "x", None], dtype=object), np.array([1, "x", None], dtype=object)),
        (pd.Series([1.0, np.nan]), pd.Series([1.0, np.nan])),
        (np.random.SeedSequence(3, spawn_key=(1,)), np.random.SeedSequence(3, spawn_key=(1,))),
        (Holder(np.arange(2)), Holder(np.arange(2))),
    ]
    for one, other in equal:
        assert same(one, other)
    different = [
        (1, 1.0),
        ((1, 2), (1,)),
        ({"a": 1}, {"b": 1}),
        (np.arange(3), np.arange(4)),
        (np.arange(3), np.arange(3.0)),
        (np.array([1, None], dtype=object), np.array([1, 2], dtype=object)),
        (np.random.SeedSequence(3), np.random.SeedSequence(4)),
        (Holder(np.arange(2)), Holder(np.arange(3))),
        (square_root_of_cityblock, changed),
        (Holder, Result),
    ]
    for one, other in different:
        assert not same(one, other)


class Holder:
    """An object without any notion of equality."""

    def __init__(self, value):
        self.value = value


def test_plain_and_short_values():
    class Odd:
        def __str__(self):
            return "odd\nlabel"

    assert plain([np.float64(1.5), np.int64(2), np.bool_(True), np.inf, None, Odd()]) == [
        *[1.5, 2, True, None, None],
        "odd\nlabel",
    ]
    assert plain(pd.DataFrame({"x": [1.0, np.nan]})) == [{"x": 1.0}, {"x": None}]
    assert short(Odd()) == "odd label"
    assert short(np.zeros((3, 4))) == "array of shape (3, 4)"
    assert short([True, 0.123456789, 7, None]) == "yes, 0.12346, 7, none"
    assert short({}) == short([]) == "none"
    assert short(pd.DataFrame({"x": [1.0]})) == "table of 1 rows and 1 columns"


def test_long_tables_and_curves_are_cut(walk):
    tests = walk["PointTests"][0]
    many = replace(
        tests, **{name: np.repeat(getattr(tests, name), 20, axis=0) for name in ("points", "feasibility", "separation")}
    )
    many = replace(many, p_value=np.repeat(tests.p_value, 20), _nulls=replace(tests._nulls, points=many.points))
    shown = "".join(ET.fromstring(many._repr_html_()).itertext())
    assert f"and {60 - ROWS} more rows" in shown
    curve = Picture(("a", "b")).line(np.random.default_rng(0).random((5000, 2)), BLUE, "long")
    assert len(curve.html()) < 5000
    assert Picture(("a", "b")).points(np.full((2, 2), np.nan), BLUE, "nowhere").html() == ""


def test_results_by_name_equal_only_their_own_kind():
    assert results.LDATests({}) == results.LDATests({})
    assert results.LDATests({}) != results.DistanceIntervals({})
    assert results.LDATests({}) != {}
