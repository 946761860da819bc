"""Which columns an audit uses as what, which it leaves out and why, and how it counts the rows it drops."""

import datetime

import numpy as np
import pandas as pd
import pytest
from support.shared import shared_path

from fairfrontier.audit.inputs import Inputs
from fairfrontier.audit.plan import Account, AuditPlan, make_plan
from fairfrontier.audit.request import AuditRequest
from fairfrontier.audit.screening import MOST_CATEGORIES, reason_to_exclude
from fairfrontier.audit.table import TableFile
from fairfrontier.data.columns import as_labels
from fairfrontier.data.losses import SQUARED_DECISIONS
from fairfrontier.data.suspects import (
    FEW_ROWS,
    Reference,
    area_under_curve,
    balanced_accuracy,
    largest_area,
    make_candidate,
)
from fairfrontier.errors import InputError

N = 200
DROP = {"missing": "drop", "features": ("income",)}


def people(**more):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "age": rng.permutation(20 + np.arange(N) % 50),
            "income": rng.normal(size=N).round(3),
            "sex": np.where(np.arange(N) % 2, "f", "m"),
            "ill": rng.integers(0, 2, N),
            "chosen": rng.integers(0, 2, N),
            "score": rng.normal(size=N),
        }
    )
    return table.assign(**more)


def plan_of(table, **settings):
    wanted = {"data": "people.csv", "outcome": "ill", "group": "sex", "decision": "chosen"} | settings
    return make_plan(TableFile(table, "people.csv", "0" * 64), AuditRequest(**wanted))


def code_of(table, **settings):
    with pytest.raises(InputError) as error:
        plan_of(table, **settings)
    return error.value.code, str(error.value)


def with_gaps(values, where):
    column = pd.Series(list(values), dtype=object)
    column[list(where)] = None
    return column.infer_objects()


def test_columns_with_a_role_are_no_covariates():
    table = people(weight=1.0 + np.arange(N) % 3, ward=np.arange(N) % 7, other=np.arange(N) % 5 == 0)
    plan = plan_of(table, weights="weight", clusters="ward", algorithms={"second": "other"})
    assert list(plan.inputs.X.columns) == ["age", "income", "score"]
    assert plan.account.roles == {
        "ill": "outcome",
        "sex": "group",
        "chosen": "decision",
        "weight": "weights",
        "ward": "clusters",
        "other": "decision (second)",
    }
    assert plan.inputs.groups == ("m", "f")
    assert list(plan.inputs.algorithms) == ["chosen", "second"]
    np.testing.assert_array_equal(plan.inputs.algorithms["second"], table["other"].astype(float))
    np.testing.assert_array_equal(plan.inputs.y, table["ill"])
    np.testing.assert_array_equal(plan.inputs.weights, table["weight"])
    np.testing.assert_array_equal(plan.inputs.clusters, table["ward"])
    assert not plan.account.excluded
    assert not plan.account.dropped


def test_lines_describe_every_column_and_row():
    table = people(
        town=np.tile(["x", "y", "z", "z"], N // 4),
        number=np.arange(N),
        copy=lambda t: 1 - t["ill"],
        income=lambda t: t["income"].mask(np.arange(N) < 3),
        sex=lambda t: t["sex"].where(np.arange(N) < 190, "other"),
    )
    lines = plan_of(table, groups=("m", "f"), missing="drop").lines()
    assert lines[0] == "File        people.csv: 200 rows, 9 columns"
    assert "Outcome     ill" in lines
    assert "Group       sex" in lines
    assert "Decision    chosen" in lines
    assert "Groups      m 93, f 94" in lines
    assert "Covariates  4: age, income, score, town (3 categories)" in lines
    assert "Encoding    text and categories become indicators, one for each value that is not rare" in lines
    assert "Left out    number: every value is different: an identifier" in lines
    assert "WARNING     copy: a copy of 'ill', possibly with other labels" in lines
    assert "Not used    10 rows of group other" in lines
    assert "Dropped     3 rows, income is missing (f 1, m 2)" in lines
    assert lines[-1] == "Rows used   187 of 200"


def test_score_is_asked_for_and_told_both_ways():
    table = people().drop(columns="chosen")
    for wanted, words in ((False, "not used"), (True, "used")):
        plan = plan_of(table, decision=None, score="score", threshold=0.25, score_as_feature=wanted)
        assert "score" not in plan.inputs.X.columns
        assert f"            The score is {words} as a covariate; the verdict is shown both ways." in plan.lines()
        np.testing.assert_array_equal(plan.inputs.score, table["score"])
        assert list(plan.inputs.algorithms) == ["score above 0.25"]
        np.testing.assert_array_equal(plan.inputs.algorithms["score above 0.25"], table["score"] > 0.25)


def test_top_share_is_taken_of_the_rows_in_use():
    table = people(score=np.arange(N, dtype=float)).drop(columns="chosen")
    table.loc[150:, "income"] = np.nan
    plan = plan_of(table, decision=None, score="score", top=0.1, missing="drop")
    np.testing.assert_array_equal(plan.inputs.algorithms["score, top 0.1"], np.arange(150) >= 135)
    assert "score" not in plan.account.noted


def test_ties_at_the_cut_off_of_a_top_share_are_told():
    few = people(score=np.r_[np.arange(10.0), np.repeat([5.0, 6.0], (N - 10) // 2)]).drop(columns="chosen")
    plan = plan_of(few, decision=None, score="score", top=0.2)
    assert plan.inputs.algorithms["score, top 0.2"].sum() == 3  # 7, 8 and 9
    assert (
        plan.account.noted["score"]
        == f"--top 0.2 selects {3 / N:.1%} of people, since those tied at the cut-off are not selected"
    )
    assert f"Note        score: {plan.account.noted['score']}" in plan.lines()
    nobody = people(score=np.repeat([1.0, 10.0], N // 2)).drop(columns="chosen")
    with pytest.raises(InputError, match=r"selects nobody: 50\.0% of the rows share the highest score, 10\. Give"):
        plan_of(nobody, decision=None, score="score", top=0.1)


UNFIT = {
    "constant": (np.ones(N), "constant", False),
    "constant with gaps": (with_gaps(["a"] * N, [1, 2]), "constant", False),
    "nothing": (np.full(N, np.nan), "all of its values are missing", False),
    "mostly missing": (with_gaps(np.arange(N) % 7, range(101)), "50% of its values are missing", False),
    "whole numbers": (np.random.default_rng(1).permutation(N), "every value is different: an identifier", False),
    "whole numbers with a gap": (with_gaps(1000 + np.arange(N), [3]), "every value is different: an identifier", False),
    "text keys": ([f"k{i}" for i in range(N)], "every value is different: an identifier", False),
    "free text": ([f"t{i % (MOST_CATEGORIES + 1)}" for i in range(N)], "text with 101 different values", False),
    "infinite": ([np.inf] + [float(i % 3) for i in range(N - 1)], "it has infinite values", True),
    "lists": ([[i % 2] for i in range(N)], "its values are lists or the like", False),
}


@pytest.mark.parametrize("name", UNFIT)
def test_columns_unfit_as_covariates_are_left_out(name):
    values, why, alarming = UNFIT[name]
    plan = plan_of(people(column=pd.Series(values)))
    assert plan.account.excluded["column"].startswith(why)
    assert ("column" in plan.account.warned) is alarming
    assert list(plan.inputs.X.columns) == ["age", "income", "score"]
    assert len(plan.inputs.y) == N


DATES = {
    "day": (pd.date_range("2024-01-01", periods=N), "dates"),
    "stay": (pd.to_timedelta(np.arange(N) % 9, unit="D"), "durations"),
    "day as text": ([f"2024-01-{1 + i % 9:02d}" for i in range(N)], "dates"),
    "day and time": ([f"2024-01-{1 + i % 9:02d}T10:00:00" for i in range(N)], "dates"),
    "day as here": ([f"{1 + i % 9}.1.2024" for i in range(N)], "dates"),
    "day as object": ([datetime.date(2024, 1, 1 + i % 9) for i in range(N)], "dates"),
}


@pytest.mark.parametrize("name", DATES)
def test_dates_are_used_as_days_and_that_is_told(name):
    values, what = DATES[name]
    plan = plan_of(people(column=pd.Series(values)))
    assert "column" in plan.inputs.X
    assert f"Kind        column: {what}, used as numbers of days" in plan.lines()
    assert not plan.account.excluded


COPIES = {
    "outcome": lambda t: t["ill"],
    "outcome in words": lambda t: t["ill"].map({0: "no", 1: "yes"}),
    "outcome the other way": lambda t: 1 - t["ill"],
    "outcome with gaps": lambda t: t["ill"].map({0: "no", 1: "yes"}).mask(np.arange(N) < 20),
    "group": lambda t: t["sex"],
    "group as numbers": lambda t: (t["sex"] == "f").astype(float),
    "group with gaps": lambda t: t["sex"].map({"f": "F", "m": "M"}).mask(np.arange(N) % 10 == 0),
    "decision": lambda t: t["chosen"],
    "decision in words": lambda t: t["chosen"].map({0: "refused", 1: "taken"}),
}


@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize("name", COPIES)
def test_copies_of_outcome_group_and_decision_never_slip_in(name, named):
    table = people().assign(column=COPIES[name])
    plan = plan_of(table, features=("age,income,column",) if named else ())
    assert plan.account.excluded["column"] == f"a copy of {_original(name)!r}, possibly with other labels"
    assert plan.account.warned == ("column",)
    assert "column" not in plan.inputs.X


def _original(name):
    return {"outcome": "ill", "group": "sex", "decision": "chosen"}[name.split()[0]]


@pytest.mark.parametrize("copy", [lambda s: s, lambda s: -s, lambda s: 10.0 * s + 3.0, np.exp])
def test_copies_of_a_score_are_told_from_other_numbers_that_never_repeat(copy):
    table = people().assign(income=np.random.default_rng(5).normal(size=N), column=lambda t: copy(t["score"]))
    assert table["income"].nunique() == table["score"].nunique() == N
    plan = plan_of(table.drop(columns="chosen"), decision=None, score="score", top=0.3)
    assert list(plan.account.excluded) == ["column"]
    assert plan.account.excluded["column"].startswith("a copy of 'score'")
    assert list(plan.inputs.X.columns) == ["age", "income"]


def test_the_decision_that_follows_from_a_score_is_no_covariate():
    table = people(chosen=lambda t: (t["score"] > 0.3).astype(int))
    plan = plan_of(table, decision=None, score="score", threshold=0.3)
    assert plan.account.excluded == {"chosen": "a copy of the decisions 'score above 0.3'"}
    assert plan.account.warned == ("chosen",)


def test_leaks_of_outcome_and_group_are_suspected():
    rng = np.random.default_rng(3)
    table = people(
        after=lambda t: t["ill"] + rng.uniform(-0.45, 0.45, N).round(2),
        before=lambda t: -t["ill"] + rng.uniform(-0.45, 0.45, N).round(2),
        close=lambda t: t["ill"] + rng.normal(size=N).round(2),
        status=lambda t: np.where(t["ill"] == 1, rng.choice(["late", "default"], N), "paid"),
        people=lambda t: np.where(t["sex"] == "f", rng.choice(["woman", "girl"], N), "man"),
    )
    plan = plan_of(table)
    assert plan.account.excluded == {
        "after": "suspected leak: by itself it nearly determines 'ill'",
        "before": "suspected leak: by itself it nearly determines 'ill'",
        "status": "suspected leak: by itself it nearly determines 'ill'",
        "people": "suspected leak: by itself it nearly determines 'sex'",
    }
    assert set(plan.account.warned) == set(plan.account.excluded)
    kept = plan_of(table, features=("after,people", "close"))
    assert list(kept.inputs.X.columns) == ["after", "people", "close"]
    assert not kept.account.warned


def test_text_of_many_values_is_no_leak_because_few_rows_share_one():
    values = [f"t{i % 50}" for i in range(N)]
    table = people(ill=np.arange(N) % 50 < 25, column=values)
    assert N < FEW_ROWS * 50
    assert "column" in plan_of(table).inputs.X


def test_the_score_behind_decisions_is_told():
    table = people(chosen=lambda t: (t["score"] > 0.3).astype(int))
    plan = plan_of(table)
    assert list(plan.account.noted) == ["score"]
    assert [line for line in plan.lines() if line.startswith("Note")] == [
        "Note        score: it determines the decisions 'chosen', like a score; --exclude it if rules may not use it"
    ]
    assert not plan_of(table, exclude=("score",)).account.noted


def test_named_features_are_kept_and_in_order():
    days = np.where(np.arange(N) // 2 % 2, "2024-01-01", "2024-01-02")
    table = people(key=1000 + np.arange(N), town=[f"t{i % 150}" for i in range(N)], day=days)
    plan = plan_of(table, features=("town, key", "age", "key,day"))
    assert list(plan.inputs.X.columns) == ["town", "key", "age", "day"]
    assert not plan.account.excluded
    assert plan.account.categories == {"town": 150}
    assert plan.account.kinds == {"day": "dates, used as numbers of days"}


@pytest.mark.parametrize(
    ("values", "why"),
    [
        (np.ones(N), "constant"),
        (with_gaps(np.arange(N) % 7, range(101)), "50% of its values are missing"),
        ([[i % 2] for i in range(N)], "its values are lists"),
    ],
)
def test_named_features_that_cannot_be_used_are_warned_about(values, why):
    plan = plan_of(people(column=values), features=("age", "column"))
    assert plan.account.excluded["column"].startswith(why)
    assert plan.account.warned == ("column",)


def test_excluded_columns_are_told():
    plan = plan_of(people(town="x"), exclude=("age,score",))
    assert plan.account.excluded == {"age": "named in --exclude", "score": "named in --exclude", "town": "constant"}
    assert list(plan.inputs.X.columns) == ["income"]


def test_rows_are_dropped_by_reason_and_group():
    table = people()
    table = table.astype({"age": float, "ill": float, "chosen": float})
    table.loc[[0, 2, 4], "sex"] = None
    table.loc[[0, 1, 3], "ill"] = np.nan
    table.loc[[3, 5, 6], "chosen"] = np.nan
    table.loc[[7, 8], "age"] = np.nan
    table.loc[[8, 9, 10, 12], "income"] = np.nan
    plan = plan_of(table, missing="drop")
    assert plan.account.dropped == {
        "group is missing": {"no group": 3},
        "ill (outcome) is missing": {"f": 2},
        "chosen (decision) is missing": {"f": 1, "m": 1},
        "age is missing": {"f": 1, "m": 1},
        "income is missing": {"f": 1, "m": 2},
    }
    assert (
        len(plan.inputs.X)
        == len(plan.inputs.y)
        == len(plan.inputs.group)
        == len(plan.inputs.algorithms["chosen"])
        == N - 12
    )
    assert not plan.inputs.X.isna().any(axis=None)
    kept = table.drop(index=[*range(11), 12])
    np.testing.assert_array_equal(plan.inputs.y, kept["ill"])
    np.testing.assert_array_equal(plan.inputs.group, kept["sex"])
    np.testing.assert_array_equal(plan.inputs.X["age"], kept["age"])


def test_gaps_of_columns_left_out_drop_no_rows():
    table = people(empty=np.nan, income=lambda t: t["income"].mask(np.arange(N) < 9))
    assert len(plan_of(table, exclude=("income",)).inputs.y) == N


def test_rows_keep_their_place_whatever_the_index():
    table = people()
    shuffled = table.set_index(pd.Index([7] * N))
    plan, other = plan_of(table), plan_of(shuffled)
    pd.testing.assert_frame_equal(plan.inputs.X, other.inputs.X)
    np.testing.assert_array_equal(plan.inputs.y, other.inputs.y)


def test_other_groups_are_counted_and_left_out():
    labels = np.array(["a", "b", "c", "d"])[np.repeat([0, 1, 2, 3], [90, 80, 20, 10])]
    plan = plan_of(people(sex=labels), groups=("b", "a"))
    assert plan.account.other_groups == {"c": 20, "d": 10}
    assert plan.inputs.groups == ("b", "a")
    assert len(plan.inputs.y) == 170
    assert plan_of(people(sex=labels)).inputs.groups == ("d", "c", "b", "a")
    code, message = code_of(people(sex=labels), capacity=0.3)
    assert code == "too-many-groups"
    assert (
        "compares two groups, but there are 4: 'a' (90 rows), 'b' (80 rows), 'c' (20 rows), 'd' (10 rows)." in message
    )
    assert "--groups A,B" in message
    assert code_of(people(sex=labels), groups=("a", "z"))[0] == "unknown-group"


@pytest.mark.parametrize(
    ("values", "labels"),
    [
        (np.arange(N) % 2, ("1", "0")),
        (np.arange(N) % 2 == 0, ("True", "False")),
        (with_gaps(np.arange(N) % 2 == 0, [0, 1]), ("True", "False")),
        ((np.arange(N) % 2).astype(float), ("1", "0")),
        (np.where(np.arange(N) < 9, np.nan, np.arange(N) % 2), ("1", "0")),
        (np.where(np.arange(N) % 2, 1.5, 0.5), ("1.5", "0.5")),
        (np.where(np.arange(N) % 2, 1e300, 0.0), ("1e+300", "0.0")),
        (pd.array([1, 2] * (N // 2), dtype="Int64"), ("2", "1")),
        (pd.Categorical(["x", "y"] * (N // 2), categories=["z", "y", "x"]), ("y", "x")),
        (["א", "ב"] * (N // 2), ("ב", "א")),
        (["<script>alert(1)</script>", "b,c"] * (N // 2), ("b,c", "<script>alert(1)</script>")),
    ],
)
def test_groups_of_any_kind(values, labels):
    plan = plan_of(people(sex=values))
    assert plan.inputs.groups == labels
    missing = int(pd.isna(pd.Series(values)).sum())
    assert len(plan.inputs.y) == N - missing
    assert set(plan.inputs.group) == set(labels)
    assert plan_of(people(sex=values), groups=labels[::-1]).inputs.groups == labels[::-1]


def test_labels_are_text_and_gaps_stay_gaps():
    assert as_labels(pd.Series([1.0, np.nan, 2.0])).tolist()[::2] == ["1", "2"]
    assert as_labels(pd.Series([1.0, np.nan])).isna().tolist() == [False, True]
    assert as_labels(pd.Series([1, 2])).tolist() == ["1", "2"]
    assert as_labels(pd.Series([0.5, 1.0])).tolist() == ["0.5", "1.0"]
    assert as_labels(pd.Series([True, None, "x"], dtype=object)).isna().tolist() == [False, True, False]


@pytest.mark.parametrize(
    ("values", "positive"),
    [
        (np.arange(N) % 2, None),
        (np.arange(N) % 2 == 1, None),
        ((np.arange(N) % 2).astype(float), None),
        (np.arange(N) % 2, "1"),
        ((np.arange(N) % 2).astype(float), "1"),
        (1 + np.arange(N) % 2, "2"),
        (["no", "yes"] * (N // 2), "yes"),
        ([False, True] * (N // 2), "True"),
        (pd.Categorical(["no", "yes"] * (N // 2)), "yes"),
    ],
)
def test_outcomes_of_any_kind(values, positive):
    table = people(ill=values, chosen=np.arange(N) % 3 == 0, sex=["a", "a", "b", "b"] * (N // 4))
    np.testing.assert_array_equal(plan_of(table, positive=positive).inputs.y, np.arange(N) % 2)


def test_outcomes_and_decisions_with_gaps_are_still_true_and_false():
    flags = with_gaps(np.arange(N) % 2 == 1, [0, 7])
    plan = plan_of(people(ill=flags, sex=["a", "a", "b", "b"] * (N // 4)))
    np.testing.assert_array_equal(plan.inputs.y, np.delete(np.arange(N) % 2, [0, 7]))
    plan = plan_of(people(chosen=flags, sex=["a", "a", "b", "b"] * (N // 4)))
    np.testing.assert_array_equal(plan.inputs.algorithms["chosen"], np.delete(np.arange(N) % 2, [0, 7]))


def test_numbers_serve_as_outcome_of_the_squared_loss():
    table = people(ill=np.random.default_rng(2).normal(size=N), copy=lambda t: 2.0 * t["ill"])
    plan = plan_of(table, loss="squared")
    np.testing.assert_array_equal(plan.inputs.y, table["ill"])
    assert plan.account.excluded["copy"].startswith("a copy of 'ill'")
    assert [line for line in plan.lines() if line.startswith("Loss")] == [f"Loss        squared: {SQUARED_DECISIONS}"]
    code, text = code_of(table)
    assert code == "outcome-not-binary"
    assert f"use --loss 'squared': {SQUARED_DECISIONS}" in text


def test_categories_are_text_whatever_they_were():
    table = people(
        mixed=[1, 1, "a", "a", 2.5, 2.5, True, True] * (N // 8),
        flag=with_gaps(np.arange(N) % 3 == 0, [1]),
        kind=pd.Categorical(np.arange(N) % 3),
    )
    plan = plan_of(table)
    assert plan.account.categories == {"mixed": 4, "flag": 2, "kind": 3}
    assert set(plan.inputs.X["mixed"]) == {"1", "a", "2.5", "True"}
    assert plan.inputs.X["flag"].isna().tolist() == [i == 1 for i in range(N)]


NAMES = ["a,b", 'quo"ted', "it's", "naïve", "עברית", "<script>alert(1)</script>", " spaced ", "new\nline", "😀", "=1+1"]


def test_awkward_names_are_names_like_others():
    rng = np.random.default_rng(4)
    table = people(**{name: rng.normal(size=N).round(2) for name in NAMES})
    assert list(plan_of(table).inputs.X.columns) == ["age", "income", "score", *NAMES]
    assert list(plan_of(table, features=tuple(NAMES)).inputs.X.columns) == NAMES
    assert list(plan_of(table, exclude=("a,b", "age,income")).inputs.X.columns) == ["score", *NAMES[1:]]
    renamed = people().rename(columns={"ill": "i,ll", "sex": "<b>sex</b>", "chosen": "בחר"})
    plan = plan_of(renamed, outcome="i,ll", group="<b>sex</b>", decision="בחר")
    assert plan.account.roles == {"i,ll": "outcome", "<b>sex</b>": "group", "בחר": "decision"}


@pytest.mark.parametrize(
    ("settings", "code", "words"),
    [
        ({"outcome": "il"}, "bad-features", "no column 'il', given for the outcome. Did you mean 'ill'?"),
        ({"group": "xyz"}, "bad-features", "It has: 'age', 'income', 'sex', 'ill', 'chosen', 'score'."),
        ({"outcome": "ill,age"}, "bad-features", "no column 'ill,age'"),
        ({"algorithms": {"second": "chosn"}}, "bad-features", "Did you mean 'chosen'?"),
        ({"features": ("age,incme",)}, "bad-features", "given for --features. Did you mean 'income'?"),
        ({"exclude": ("agee",)}, "bad-features", "given for --exclude. Did you mean 'age'?"),
        ({"features": ("age,sex",)}, "bad-features", "'sex' is the group and cannot also be a covariate"),
        ({"decision": "ill"}, "bad-option", "'ill' is given as outcome and as decision"),
        ({"weights": "sex"}, "bad-option", "'sex' is given as group and as weights"),
        ({"algorithms": {"chosen": "chosen"}}, "bad-decisions", "different names; got 'chosen', 'chosen'"),
        ({"exclude": ("age,income,score",)}, "bad-features", "No covariate is left (age: named in --exclude"),
        (
            {"outcome": "age"},
            "outcome-not-binary",
            "coded 0/1, but --outcome 'age' also has 50 other values, such as 20.",
        ),
        ({"outcome": "sex", "group": "ill"}, "outcome-not-binary", "the one that counts as 1: --positive <label>."),
        ({"positive": "2"}, "outcome-not-binary", "--positive '2' is not a value of --outcome 'ill', which has '"),
        ({"outcome": "age", "positive": "30"}, "outcome-not-binary", "--outcome 'age' has 50: "),
        ({"outcome": "age", "positive": "30"}, "outcome-not-binary", "For a numeric outcome use --loss 'squared'"),
        ({"decision": "age"}, "bad-decisions", "If they are scores, give --score"),
        (
            {"decision": "sex", "group": "ill", "outcome": "chosen"},
            "bad-decisions",
            "--decision 'sex' has labels: 'f', 'm'. Name the one that selects",
        ),
        ({"decision": None, "score": "score", "threshold": 0.0, "features": ("score",)}, "bad-features", "--score-as-"),
        ({"decision": None, "score": "sex", "threshold": 0.0, "group": "chosen"}, "bad-decisions", "must hold numbers"),
    ],
)
def test_what_cannot_be_planned_is_said(settings, code, words):
    found, message = code_of(people(), **settings)
    assert found == code
    assert words in message


@pytest.mark.parametrize(
    ("columns", "settings", "code"),
    [
        ({"sex": "f"}, {}, "one-group"),
        ({"ill": np.nan}, {}, "empty-data"),
        ({"chosen": np.where(np.arange(N) % 2, np.nan, 1.0)}, {}, "one-group"),
        ({"income": np.where(np.arange(N) % 2, np.nan, np.arange(N) / 8.0)}, DROP, "one-group"),
        ({"ill": 0}, {}, "constant-outcome"),
        ({"ill": "yes"}, {"positive": "yes"}, "constant-outcome"),
        ({"ill": np.where(np.arange(N) < 5, 1.0, 0.0), "age": np.where(np.arange(N) < 5, np.nan, 1.5)}, {}, ""),
        ({"ill": np.where(np.arange(N) % 2, np.inf, 1.0)}, {"loss": "squared"}, "non-finite"),
        ({"score": np.inf}, {"decision": None, "score": "score", "top": 0.2}, "bad-decisions"),
    ],
)
def test_tables_that_cannot_be_audited_are_refused(columns, settings, code):
    if code:
        assert code_of(people(**columns), **settings)[0] == code
    else:  # the gaps are those of a column that is left out
        assert len(plan_of(people(**columns), **settings).inputs.y) == N


def test_an_outcome_that_is_constant_once_rows_are_dropped_is_refused():
    first = np.arange(N) < 5
    table = people(ill=first.astype(int), income=np.where(first, np.nan, np.arange(N) / 8.0))
    code, message = code_of(table, **DROP)
    assert code == "constant-outcome"
    assert "--outcome 'ill' is 0 in all 195 rows" in message


def test_a_file_without_other_columns_has_no_covariates():
    code, message = code_of(people()[["sex", "ill", "chosen"]])
    assert code == "bad-features"
    assert "the file has no other columns" in message


def test_a_covariate_known_only_afterwards_is_told():
    # whoever relapses within two years relapses at some time; a few relapse later
    table = people(ever=lambda t: np.where(np.arange(N) % 20 == 0, 1, t["ill"]))
    plan = plan_of(table)
    assert list(plan.account.noted) == ["ever"]
    assert "by itself it predicts 'ill' very well (area under the curve 0.9" in plan.account.noted["ever"]
    assert "ever" in plan.inputs.X
    assert not plan_of(table, exclude=("ever",)).account.noted


def test_area_under_the_curve_against_counting_pairs():
    rng = np.random.default_rng(6)
    values, target = rng.integers(0, 8, 60), rng.integers(0, 2, 60).astype(float)
    higher = values[target == 1][:, None] - values[target == 0]
    area = np.mean((higher > 0) + 0.5 * (higher == 0))
    assert area_under_curve(pd.Series(values), target) == pytest.approx(max(area, 1.0 - area))
    assert area_under_curve(pd.Series(-values), target) == pytest.approx(max(area, 1.0 - area))
    assert area_under_curve(pd.Series(values), np.ones(60)) == 0.5


def test_a_column_that_determines_one_of_several_groups_is_a_leak():
    rng = np.random.default_rng(7)
    codes = np.arange(N) % 4
    reference = Reference(
        columns={},
        outcome=None,
        outcome_name="ill",
        group_codes=codes,
        group_name="race",
        n_groups=4,
        decisions={},
    )
    for code in range(4):
        told = pd.Series((codes == code) + rng.uniform(-0.4, 0.4, N))
        assert largest_area(told, codes, 4) == 1.0
        why, mistake = reason_to_exclude(make_candidate(told), reference, named=False)
        assert why == "suspected leak: by itself it nearly determines 'race'"
        assert mistake
    assert reason_to_exclude(make_candidate(pd.Series(rng.normal(size=N))), reference, named=False) == ("", False)


def test_the_area_of_two_groups_is_that_of_either():
    rng = np.random.default_rng(8)
    values, codes = pd.Series(rng.normal(size=N)), rng.integers(0, 2, N)
    areas = {largest_area(values, codes, 2), largest_area(values, 1 - codes, 2)}
    assert areas == {area_under_curve(values, codes.astype(float))}


def test_a_plan_describes_any_number_of_groups():
    inputs = Inputs(
        X=pd.DataFrame({"age": np.arange(6)}),
        y=np.arange(6) % 2.0,
        group=np.array(["a", "b", "c", "a", "b", "c"], dtype=object),
        groups=("c", "a", "b"),
        algorithms={"coin": np.ones(6)},
    )
    table = TableFile(pd.DataFrame({"age": np.arange(6)}), "people.csv", "0" * 64)
    plan = AuditPlan(file=table, request=AuditRequest(), inputs=inputs, account=Account(roles={}))
    assert "Groups      c 2, a 2, b 2" in plan.lines()


def test_weights_and_clusters_are_checked_with_the_plan():
    code, message = code_of(people(weight=-1.0 + np.arange(N)), weights="weight")
    assert code == "bad-weights"
    assert message.startswith("--weights 'weight' has 1 values that are negative or infinite, the first is -1.")
    code, message = code_of(people(ward=[1, "a"] * (N // 2)), clusters="ward")
    assert code == "bad-option"
    assert "--clusters 'ward' mixes numbers and strings" in message


def test_rows_of_messages_are_those_of_the_file():
    table = people(chosen=np.where(np.arange(N) == 7, 2.5, np.arange(N) % 2))
    table["ill"] = table["ill"].astype(float).mask(table.index < 3)
    assert "the first is 2.5 in row 7. If they are scores, give --score" in code_of(table)[1]


# --- kinds, gaps and near-copies -----------------------------------------------------------------------------


def test_codes_are_told_with_a_reason_and_can_be_declared_otherwise():
    rng = np.random.default_rng(7)
    level = rng.integers(0, 6, 1200)
    table = pd.DataFrame(
        {
            "code": np.array([1, 2, 3, 5, 8, 9])[level].astype(float),
            "years": rng.integers(0, 10, 1200),
            "sex": rng.choice(["f", "m"], 1200),
            "ill": (rng.random(1200) < np.array([0.1, 0.8, 0.2, 0.9, 0.1, 0.7])[level]).astype(int),
            "chosen": rng.integers(0, 2, 1200),
        }
    )
    plan = plan_of(table)
    assert list(plan.account.kinds) == ["code"]
    assert plan.account.kinds["code"].startswith("6 integers, used as codes of categories: 'ill' neither rises nor")
    assert plan.account.kinds["code"].endswith("--numeric code if they are quantities")
    assert f"Kind        code: {plan.account.kinds['code']}" in plan.lines()
    assert plan.inputs.X["code"].dtype == np.int64
    quantity = plan_of(table, numeric=("code",))
    assert not quantity.account.kinds
    assert quantity.inputs.X["code"].dtype == np.float64
    category = plan_of(table, categorical=("code, years",))
    assert category.account.categories == {"code": 6, "years": 10}
    assert set(category.inputs.X["code"]) == set("123589")


def test_declared_columns_must_be_covariates_and_of_one_kind():
    assert "Did you mean 'age'?" in code_of(people(), categorical=("agee",))[1]
    assert code_of(people(), categorical=("age",), numeric=("age",))[0] == "bad-option"
    assert "not among the covariates" in code_of(people(), numeric=("ill",))[1]
    assert "are not numbers, the first is 'x'" in code_of(people(town=["x", "y"] * (N // 2)), numeric=("town",))[1]
    assert code_of(people(), missing="raise")[0] == "bad-option"


def test_gaps_in_covariates_are_kept_and_told():
    gaps = np.arange(N) % 5 == 0
    plan = plan_of(people(income=lambda t: t["income"].mask(gaps)))
    assert len(plan.inputs.y) == N
    assert plan.account.gaps == {"income": 40}
    assert any(line.startswith("Gaps        income 40 rows; kept") for line in plan.lines())
    assert not any("dropped" in text for text in plan.warnings())
    dropped = plan_of(people(income=lambda t: t["income"].mask(gaps)), missing="drop")
    assert len(dropped.inputs.y) == N - 40
    assert [text for text in dropped.warnings() if "missing" in text] == [
        "20% of the rows are dropped because a value is missing; the others may not be like them"
    ]
    assert f"WARNING     {dropped.warnings()[0]}" in dropped.lines()


def test_gaps_that_tell_the_group_or_the_outcome_are_a_leak():
    plan = plan_of(people(income=lambda t: t["income"].mask(t["sex"] == "f")))
    assert plan.account.excluded == {"income": "suspected leak: where it is missing nearly determines 'sex'"}
    plan = plan_of(people(income=lambda t: t["income"].mask(t["ill"] == 1)))
    assert (
        plan.account.excluded["income"].endswith(" of its values are missing")
        or "'ill'" in plan.account.excluded["income"]
    )


def test_an_identifier_that_repeats_is_left_out_with_advice():
    table = pd.read_csv(shared_path("data", "open_university.csv"))
    table["chosen"] = (table["studied_credits"] > 60).astype(int)
    plan = plan_of(table, outcome="final_result", positive="Pass", group="gender")
    assert list(plan.account.excluded) == ["id_student"]
    assert plan.account.excluded["id_student"].endswith("give --clusters id_student")


def test_amounts_are_no_identifiers():
    table = pd.read_csv(shared_path("data", "german_credit.csv")).assign(chosen=lambda t: t["duration"] > 20)
    plan = plan_of(table, outcome="class-label")
    assert "credit-amount" in plan.inputs.X
    assert not plan.account.excluded


def test_what_follows_from_the_outcome_in_a_real_table_is_a_leak():
    table = pd.read_csv(shared_path("data", "compas_two_years.csv")).assign(chosen=lambda t: t["decile_score"] > 4)
    plan = plan_of(table, outcome="two_year_recid", group="race", groups=("African-American", "Caucasian"))
    assert plan.account.excluded == {"is_recid": "suspected leak: by itself it nearly determines 'two_year_recid'"}


def test_a_numeric_outcome_cut_at_a_threshold_is_a_copy():
    rng = np.random.default_rng(1)
    table = people(
        ill=rng.normal(size=N),
        high=lambda t: (t["ill"] > 0.5).map({True: "yes", False: "no"}),
        third=lambda t: pd.cut(t["ill"], [-9, -0.4, 0.4, 9], labels=["low", "middle", "high"]).astype(str),
    )
    plan = plan_of(table, loss="squared")
    for column in ("high", "third"):
        assert plan.account.excluded[column] == "a copy of 'ill', cut at a threshold"


def plain_balanced_accuracy(level, target):
    """The definition: each level predicts the class in which it is relatively most common."""
    classes = sorted(set(target))
    counts = {c: sum(t == c for t in target) for c in classes}
    pooled = ["rare" if sum(other == one for other in level) < FEW_ROWS else one for one in level]
    guess = {}
    for one in set(pooled):
        share = {c: sum(a == one and t == c for a, t in zip(pooled, target, strict=True)) / counts[c] for c in classes}
        guess[one] = max(classes, key=lambda c: share[c])
    right = [sum(guess[a] == c for a, t in zip(pooled, target, strict=True) if t == c) / counts[c] for c in classes]
    return sum(right) / len(classes)


@pytest.mark.parametrize("seed", range(5))
def test_balanced_accuracy_against_a_plain_transcription(seed):
    rng = np.random.default_rng(seed)
    level = rng.choice(8, 150, p=[0.3, 0.2, 0.2, 0.1, 0.05, 0.05, 0.05, 0.05])
    target = rng.integers(0, 2 + seed % 2, 150) * (level > 1)
    assert balanced_accuracy(level, target) == pytest.approx(plain_balanced_accuracy(level.tolist(), target.tolist()))


def test_copied_rows_are_counted_in_the_plan():
    table = people().drop(columns="score")
    assert plan_of(table).account.copied is None
    twice = pd.concat([table, table], ignore_index=True)
    plan = plan_of(twice)
    assert plan.account.copied.rows == N
    (line,) = [line for line in plan.lines() if "copies" in line]
    assert line.startswith(f"WARNING     {N} of {2 * N} rows are taken for copies")
    assert "--copies ignore" in line
    for settings in ({"copies": "ignore"}, {"clusters": "pair"}):
        assert plan_of(twice.assign(pair=np.arange(2 * N) % N), **settings).account.copied is None


def test_the_plan_finds_the_copies_that_the_verdict_rests_on():
    table = people().drop(columns=["age", "income"]).assign(low=lambda t: (t["score"] > 1).astype(float))
    twice = pd.concat([table, table], ignore_index=True)
    asked = {"decision": None, "score": "score", "threshold": 0.0, "features": ("low",)}
    coarse, fine = plan_of(twice, **asked), plan_of(twice, score_as_feature=True, **asked)
    assert [list(p.inputs.covariates(p.request.score_as_feature)) for p in (coarse, fine)] == [
        ["low"],
        ["low", "score"],
    ]
    assert coarse.account.copied is None  # too few different rows to say
    assert fine.account.copied.n_clusters == N
