"""Groups from several columns, groups put together, and labels that look like mistakes."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from support.quick import QUICK
from support.refusals import refused

from fairfrontier import FairFrontier
from fairfrontier.data.sample import make_sample
from fairfrontier.errors import FairFrontierWarning

N = 60
RACE = np.array(["Black", "White", "Asian"])[np.arange(N) % 3]
SEX = np.array(["male", "female"])[(np.arange(N) // 3) % 2]
X, Y = np.random.default_rng(0).normal(size=(N, 2)), np.arange(N) // 6 % 2


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_columns_of_a_frame_are_crossed(make):
    sample = make_sample(X, Y, make({"race": RACE, "sex": SEX}))
    expected = [f"{race} & {sex}" for race, sex in zip(RACE, SEX, strict=True)]
    assert [sample.groups.labels[code] for code in sample.group] == expected
    assert len(sample.groups) == 6
    alone = make_sample(X, Y, make({"race": RACE}))
    assert alone.groups.labels == make_sample(X, Y, RACE).groups.labels


def test_crossed_numbers_gaps_and_row_labels():
    frame = pd.DataFrame({"age": np.where(np.arange(N) % 2, 30, 60), "sex": SEX}, index=np.arange(N)[::-1])
    frame.loc[5, "sex"] = None
    refused("missing-values", r"sensitive_features \(1\)", lambda: make_sample(X, Y, frame))
    with pytest.warns(UserWarning, match="Dropped 1 of 60"):
        sample = make_sample(X, pd.Series(Y, index=np.arange(N)), frame, missing="drop")
    assert 5 not in sample.rows  # rows are matched by label
    assert set(sample.groups) == {"30 & male", "30 & female", "60 & male", "60 & female"}


def test_cells_that_cannot_be_told_apart():
    frame = pd.DataFrame({"a": ["x & y", "x"] * 30, "b": ["z", "y & z"] * 30})
    refused("unknown-group", "would have the same name", lambda: make_sample(X, Y, frame))
    refused("unknown-group", "without columns", lambda: make_sample(X, Y, pd.DataFrame(index=range(N))))


def test_groups_are_put_together_and_counted():
    sample = make_sample(X, Y, RACE, merge={"Other": ["Asian", "Black"]})
    assert set(sample.groups) == {"Other", "White"}
    assert sample.counts == {"White": 20, "Other": 40}
    assert sample.merged == {"Other": {"Asian": 20, "Black": 20}}
    chosen = make_sample(X, Y, RACE, merge={"Asian": ["Asian", "Black"]}, groups=("Asian", "White"))
    assert chosen.counts == {"Asian": 40, "White": 20}
    crossed = make_sample(
        X, Y, pd.DataFrame({"race": RACE, "sex": SEX}), merge={"women": [f"{race} & female" for race in set(RACE)]}
    )
    assert crossed.counts["women"] == 30
    numbers = make_sample(X, Y, np.arange(N) % 4, merge={9: [2, 3]})
    assert numbers.counts == {9: 30, 1: 15, 0: 15}


@pytest.mark.parametrize(
    ("merge", "code", "text"),
    [
        ({"Other": ["Asian", "Green"]}, "unknown-group", "merge names 'Green', but the groups"),
        ({"White": ["Asian"]}, "bad-option", "there is one of that name"),
        ({"Other": ["Asian"], "More": ["Asian"]}, "bad-option", "merges 'Asian' more than once"),
        ({"Other": "Asian"}, "bad-option", "must map new labels to lists"),
        ({"Other": []}, "bad-option", "must map new labels to lists"),
        ([("Other", ["Asian"])], "bad-option", "must map new labels to lists"),
    ],
)
def test_mappings_that_cannot_be(merge, code, text):
    refused(code, text, lambda: make_sample(X, Y, RACE, merge=merge))


def test_labels_that_differ_by_blanks():
    group = np.where(np.arange(N) % 5 == 0, "White ", RACE)
    refused("unknown-group", "differ by blanks only: 'White ' and 'White'", lambda: make_sample(X, Y, group))
    refused("unknown-group", "differ by blanks", lambda: make_sample(X, Y, group, groups=("White", "Black")))
    together = make_sample(X, Y, group, merge={"White": ["White", "White "]})
    assert together.counts["White"] == np.char.startswith(group.astype(str), "White").sum()


def test_empty_labels_and_quantities_are_no_groups():
    n = len(Y)
    empty = np.where(np.arange(n) % 3 == 0, " ", np.where(np.arange(n) % 3 == 1, "a", "b"))
    count = np.count_nonzero(empty == " ")
    refused("unknown-group", f"{count} rows with an empty label, ' '", lambda: make_sample(X, Y, empty))
    assert make_sample(X, Y, empty, groups=("a", "b")).n_obs == n - count
    drawn = np.random.default_rng(0).normal(size=n)
    refused("too-many-groups", f"{n} different numbers in {n} rows, .* a quantity", lambda: make_sample(X, Y, drawn))
    assert len(make_sample(X, Y, np.arange(n) % 2 + 0.5).groups) == 2


def test_many_small_cells_are_listed():
    cells = pd.DataFrame({"a": np.arange(400) % 8, "b": np.arange(400) // 8 % 5})
    many = np.random.default_rng(1).normal(size=(400, 2))
    y = np.random.default_rng(2).integers(0, 2, 400)
    small = cells.copy()
    small.loc[np.flatnonzero((cells["a"] == 7) & (cells["b"] == 4))[3:], "a"] = 0
    ff = FairFrontier(random_state=0, **QUICK)
    refused(
        "group-too-small",
        r"Groups this small: '7 & 4' \(3 rows\)\. Choose others with groups=, or put some together by merge=",
        lambda: ff.fit(many, y, sensitive_features=small),
    )


def test_the_summary_counts_what_was_put_together():
    ff = FairFrontier(random_state=0, n_folds=2, merge={"Other": ["Asian", "Black"]}, **QUICK)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FairFrontierWarning)
        ff.fit(X, Y, sensitive_features=RACE)
    assert "put together: Other from Asian 20, Black 20" in ff.summary()
