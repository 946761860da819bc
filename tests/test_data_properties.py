"""Samples from numpy, pandas and polars: the same rows, labels, weights and covariates."""

import datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from fairfrontier.data.checks import check_alpha, check_probabilities
from fairfrontier.data.sample import make_sample
from fairfrontier.errors import DroppedRowsWarning

CONTAINERS = {
    "list": list,
    "numpy": np.array,
    "object array": lambda v: np.array(v, dtype=object),
    "pandas": lambda v: pd.Series(v, index=range(7, 7 + len(v))),
    "polars": pl.Series,
}
containers = pytest.mark.parametrize("make", CONTAINERS.values(), ids=CONTAINERS)


@containers
@pytest.mark.parametrize(
    ("labels", "groups"),
    [
        (["w", "m", "w", "m"], ("w", "m")),
        ([0, 1, 1, 0], (1, 0)),
        ([True, False, True, False], (True, False)),
        ([2.5, 0.5, 2.5, 0.5], (2.5, 0.5)),
    ],
)
def test_default_groups_are_sorted_with_the_last_first(make, labels, groups):
    sample = make_sample(None, make([0, 1, 1, 0]), make(labels))
    assert sample.groups.labels == groups
    assert [type(label) for label in sample.groups] == [type(label) for label in groups]
    assert (sample.group == 0).tolist() == [label == groups[0] for label in labels]
    assert sample.y.dtype == np.float64
    assert sample.y.tolist() == [0.0, 1.0, 1.0, 0.0]
    assert sample.counts == {groups[0]: 2, groups[1]: 2}


@containers
def test_groups_can_be_turned_round(make):
    sample = make_sample(None, [0, 1, 1], make(["a", "b", "b"]), groups=("a", "b"))
    assert sample.groups.labels == ("a", "b")
    assert (sample.group == 0).tolist() == [True, False, False]


@pytest.mark.parametrize(
    "labels",
    [
        pd.Series(["y", "x", "y"], dtype="category"),
        pl.Series(["y", "x", "y"], dtype=pl.Categorical),
        pl.Series(["y", "x", "y"], dtype=pl.Enum(["y", "x"])),
        pd.Series(["y", "x", "y"], dtype="string"),
        pd.Categorical(["y", "x", "y"]),
        pd.Index(["y", "x", "y"]),
    ],
)
def test_categories_as_groups(labels):
    assert make_sample(None, [0, 1, 1], labels).groups.labels == ("y", "x")


def test_intervals_and_dates_as_groups():
    ages = pd.cut(pd.Series([20, 70, 30]), [0, 50, 100])
    assert [str(label) for label in make_sample(None, [0, 1, 1], ages).groups] == ["(50, 100]", "(0, 50]"]
    early, late = datetime.date(2020, 1, 1), datetime.date(2021, 1, 1)
    assert make_sample(None, [0, 1, 1], [early, late, late]).groups.labels == (late, early)


@pytest.mark.parametrize("unit", ["D", "s", "us", "ns"])
def test_times_as_groups_are_those_of_pandas_in_any_unit(unit):
    days = np.array(["2020-01-01", "2021-01-01", "2021-01-01"], dtype=f"datetime64[{unit}]")
    for values, kind in ((days, pd.Timestamp), (days - days[0] + np.timedelta64(1, "D"), pd.Timedelta)):
        groups = make_sample(None, [0, 1, 1], values).groups.labels
        assert groups == (kind(values[1]), kind(values[0]))
        assert all(type(label) is kind for label in groups)


@given(st.lists(st.tuples(st.booleans(), st.floats(0, 10), st.floats(-5, 5)), min_size=2, max_size=30))
def test_shares_are_weighted_means(rows):
    is_r = np.array([row[0] for row in rows])
    weight = np.array([row[1] for row in rows])
    y = np.array([row[2] for row in rows])
    w_r = sum(w for w, r in zip(weight, is_r, strict=True) if r)
    w_b = sum(w for w, r in zip(weight, is_r, strict=True) if not r)
    assume(w_r > 1e-6)
    assume(w_b > 1e-6)
    assume(len(set(y.tolist())) > 1)
    sample = make_sample(None, y, is_r, sample_weight=weight)
    assert sample.groups.shares == pytest.approx((w_r / (w_r + w_b), w_b / (w_r + w_b)), rel=1e-12)
    assert sample.weighted
    np.testing.assert_array_equal(sample.weight, weight)
    np.testing.assert_array_equal(sample.rows, np.arange(len(rows)))


def test_weights_default_to_ones():
    sample = make_sample(None, [0, 1, 1], [0, 1, 1])
    assert sample.weight.tolist() == [1.0, 1.0, 1.0]
    assert not sample.weighted
    assert sample.groups.shares == pytest.approx((2 / 3, 1 / 3))
    assert (sample.X, sample.clusters, sample.ids, sample.dropped) == (None, None, None, {})


@pytest.mark.parametrize(
    ("y", "positive", "coded"),
    [
        (["no", "yes", "yes"], "yes", [0, 1, 1]),
        (["no", "yes", "yes"], "no", [1, 0, 0]),
        ([1, 2, 2], 2, [0, 1, 1]),
        ([0, 1, 1], 0, [1, 0, 0]),
        ([False, True, True], None, [0, 1, 1]),
        ([0.0, 1.0, 1.0], None, [0, 1, 1]),
        ([Decimal(0), Decimal(1), Decimal(1)], None, [0, 1, 1]),
    ],
)
def test_binary_outcomes(y, positive, coded):
    sample = make_sample(None, y, [0, 1, 1], positive=positive, binary=True)
    assert sample.y.tolist() == coded
    assert sample.binary_outcome


def test_any_number_is_an_outcome_where_the_loss_allows_it():
    sample = make_sample(None, [0, 1, 2.5], [0, 1, 1])
    assert sample.y.tolist() == [0.0, 1.0, 2.5]
    assert not sample.binary_outcome


def test_arrays_of_covariates_become_floats():
    for X in (
        [[1, 2], [3, 4], [5, 6]],
        np.array([[1, 2], [3, 4], [5, 6]]),
        np.array([[1, 2], [3, 4], [5, 6]], object),
    ):
        sample = make_sample(X, [0, 1, 1], [0, 1, 1])
        assert isinstance(sample.X, np.ndarray)
        assert sample.X.dtype == np.float64
        assert sample.X.tolist() == [[1, 2], [3, 4], [5, 6]]


COLUMNS = {
    "number": [0.5, 1.5, 2.5],
    "count": [1, 2, 3],
    "flag": [True, False, True],
    "text": ["p", "q", "p"],
}


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
def test_frames_keep_names_and_kinds(make):
    X = make_sample(make(COLUMNS), [0, 1, 1], [0, 1, 1]).X
    assert isinstance(X, pd.DataFrame)
    assert {name: X[name].tolist() for name in X} == COLUMNS
    assert X["number"].dtype == np.float64
    assert X["count"].dtype == np.int64
    assert X["flag"].dtype == np.bool_


def test_polars_strings_and_categories():
    X = pl.DataFrame(
        {
            "text": ["p", "q", "p"],
            "category": pl.Series(["p", "q", "p"], dtype=pl.Categorical),
            "enum": pl.Series(["p", "q", "p"], dtype=pl.Enum(["q", "p"])),
        }
    )
    frame = make_sample(X, [0, 1, 1], [0, 1, 1]).X
    assert frame["text"].dtype == object
    assert frame["category"].dtype == "category"
    assert frame["category"].cat.categories.tolist() == ["p", "q"]
    assert frame["enum"].cat.categories.tolist() == ["q", "p"]
    assert frame["enum"].tolist() == ["p", "q", "p"]


def test_pandas_columns_with_any_names_and_index():
    X = pd.DataFrame({0: [1.0, 2.0, 3.0], "c": pd.Categorical(["u", "v", "u"], categories=["v", "u"])}, index=[5, 3, 5])
    frame = make_sample(X, pd.Series([0, 1, 1]), [0, 1, 1]).X
    assert frame.columns.tolist() == [0, "c"]
    assert frame.index.tolist() == [0, 1, 2]
    assert frame["c"].cat.categories.tolist() == ["v", "u"]
    assert X.index.tolist() == [5, 3, 5]


@containers
def test_clusters_are_coded_and_ids_kept(make):
    sample = make_sample(None, [0, 1, 1, 0], [0, 1, 1, 0], clusters=make(["k", "j", "k", "l"]), ids=make([9, 8, 7, 6]))
    assert sample.clusters.tolist() == [0, 1, 0, 2]
    assert sample.clusters.dtype == np.intp
    assert sample.ids.tolist() == [9, 8, 7, 6]


def test_large_integers_with_gaps_stay_different():
    big = 2**53
    clusters = pl.Series([big, big + 1, None, big])
    with pytest.warns(DroppedRowsWarning):
        sample = make_sample(None, [0, 1, 1, 0], [0, 1, 1, 0], clusters=clusters, missing="drop")
    assert sample.clusters.tolist() == [0, 1, 0]


MISSING = {
    "list": list,
    "object array": lambda v: np.array(v, dtype=object),
    "pandas": lambda v: pd.Series(v),
    "pandas nullable": lambda v: pd.Series(v).convert_dtypes(),
    "polars": pl.Series,
}


@pytest.mark.parametrize("make", MISSING.values(), ids=MISSING)
def test_dropping_reports_rows_by_group(make):
    y = make([0, 1, None, 1, 0, 1])
    g = make(["a", "b", "b", "b", None, "a"])
    w = make([1.0, 2.0, 3.0, 4.0, 5.0, None])
    X = {"age": [1, 2, 3, None, 5, 6], "kind": ["u", "v", "u", "v", "u", None]}
    frame = pl.DataFrame(X) if make is pl.Series else pd.DataFrame({k: make(v) for k, v in X.items()})
    with pytest.warns(DroppedRowsWarning, match=r"Dropped 4 of 6 rows .*'b': 2.*'a': 1.*None: 1") as caught:
        sample = make_sample(frame, y, g, sample_weight=w, ids=make([1, 2, 3, 4, 5, 6]), missing="drop")
    assert len(caught) == 1
    assert sample.dropped == {"b": 2, "a": 1, None: 1}
    assert sample.rows.tolist() == [0, 1]
    assert sample.y.tolist() == [0.0, 1.0]
    assert sample.weight.tolist() == [1.0, 2.0]
    assert sample.ids.tolist() == [1, 2]
    assert sample.X["age"].tolist() == [1, 2]
    assert sample.X["kind"].tolist() == ["u", "v"]
    assert sample.X.index.tolist() == [0, 1]


@given(st.lists(st.tuples(st.booleans(), st.booleans(), st.booleans()), min_size=1, max_size=25))
def test_kept_and_dropped_rows_add_up(rows):
    # Four complete rows keep both groups and both outcomes present.
    rows = [(False, False, False), (False, True, False), (True, False, False), (True, True, False), *rows]
    g = np.array(["r" if row[0] else "b" for row in rows])
    y = np.array([float(row[1]) for row in rows])
    gap = np.array([row[2] for row in rows])
    X = np.where(gap, np.nan, np.arange(len(rows), dtype=float))[:, None]
    if gap.any():
        with pytest.warns(DroppedRowsWarning):
            sample = make_sample(X, y, g, missing="drop")
    else:
        sample = make_sample(X, y, g, missing="drop")
    for label in ("r", "b"):
        assert sample.counts[label] + sample.dropped.get(label, 0) == np.count_nonzero(g == label)
        assert sample.dropped.get(label, 0) == np.count_nonzero(gap & (g == label))
    np.testing.assert_array_equal(sample.rows, np.flatnonzero(~gap))
    np.testing.assert_array_equal(sample.X[:, 0], sample.rows)
    np.testing.assert_array_equal(sample.y, y[~gap])


def test_masked_entries_are_missing():
    y = np.ma.array([0.0, 1.0, 1.0, 0.0], mask=[False, False, True, False])
    X = np.ma.array([[1.0], [2.0], [3.0], [4.0]], mask=[[True], [False], [False], [False]])
    with pytest.warns(DroppedRowsWarning):
        sample = make_sample(X, y, [0, 1, 1, 0], missing="drop")
    assert sample.rows.tolist() == [1, 3]


def test_ids_may_be_missing():
    sample = make_sample(None, [0, 1], [0, 1], ids=pl.Series([None, 4]))
    assert sample.ids.tolist() == [None, 4]


@pytest.mark.parametrize("alpha", [0.05, np.float64(0.1), 0.499])
def test_levels(alpha):
    assert check_alpha(alpha) == alpha


@containers
def test_probabilities(make):
    checked = check_probabilities(make([0.0, 0.25, 1.0]), "decisions", 3)
    assert checked.dtype == np.float64
    assert checked.tolist() == [0.0, 0.25, 1.0]
    assert check_probabilities(make([True, False]), "decisions", 2).tolist() == [1.0, 0.0]
