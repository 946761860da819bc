"""Data that cannot be used are refused with a code, the place at fault and what to do."""

import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse

from fairfrontier.data.checks import check_alpha, check_probabilities
from fairfrontier.data.sample import make_sample
from fairfrontier.errors import DroppedRowsWarning, InputError

Y = [0, 1, 1, 0]
G = ["a", "b", "b", "a"]
X = [[1.0], [2.0], [3.0], [4.0]]
INF, NAN = float("inf"), float("nan")

CASES = {
    "lengths": ("length-mismatch", "X has 4, y has 3, sensitive_features has 4", {"y": [0, 1, 1]}),
    "length of weights": ("length-mismatch", "sample_weight has 1", {"sample_weight": [1.0]}),
    "length of ids": ("length-mismatch", "ids has 5", {"ids": range(5)}),
    "two columns of y": ("length-mismatch", "shape (4, 2)", {"y": np.zeros((4, 2))}),
    "array of groups": ("length-mismatch", "single column", {"g": np.column_stack([G, G])}),
    "number for y": ("length-mismatch", "y must be one column", {"y": 3}),
    "text for groups": ("length-mismatch", "a str", {"g": "abba"}),
    "no y": ("length-mismatch", "NoneType", {"y": None}),
    "no rows": ("empty-data", "no rows", {"X": np.zeros((0, 1)), "y": [], "g": []}),
    "no columns": ("empty-data", "no columns", {"X": np.zeros((4, 0))}),
    "no columns of a frame": ("empty-data", "no columns", {"X": pd.DataFrame(index=range(4))}),
    "one group": ("one-group", "'a' (4 rows)", {"g": ["a"] * 4}),
    "unknown group": (
        "unknown-group",
        "groups names 'z', but the groups in sensitive_features are 'a' (2",
        {"groups": ("a", "z")},
    ),
    "groups of another type": ("unknown-group", "names '1', '0'", {"g": [1, 0, 0, 1], "groups": ("1", "0")}),
    "mixed labels": ("unknown-group", "mixes numbers and strings", {"g": ["a", 1, 1, "a"]}),
    "mixed labels equal to python": (
        "unknown-group",
        "mixes booleans and numbers",
        {"g": [True, 1, 0, False]},
    ),
    "labels that are sets": ("unknown-group", "cannot be told apart", {"g": [{1}, {2}, {2}, {1}]}),
    "infinite label": ("non-finite", "sensitive_features (1)", {"g": [1.0, 0.0, 0.0, INF]}),
    "groups in a string": ("bad-option", "two or more different labels", {"groups": "ab"}),
    "groups repeated": ("bad-option", "two or more different labels", {"groups": ("a", "a")}),
    "one group chosen": ("bad-option", "two or more different labels", {"groups": ("a",)}),
    "one of three unknown": (
        "unknown-group",
        "names 'c', but the groups in sensitive_features are",
        {"groups": ("a", "b", "c")},
    ),
    "unknown treatment of missing": ("bad-option", "'impute'", {"missing": "impute"}),
    "mixed clusters": ("bad-option", "clusters mixes", {"clusters": ["a", 1, 2, 3]}),
    "constant outcome": ("constant-outcome", "y is 1 in all 4 rows", {"y": [1, 1, 1, 1]}),
    "constant labelled outcome": ("constant-outcome", "'yes' in all", {"y": ["yes"] * 4, "positive": "yes"}),
    "outcome beyond 0/1": ("outcome-not-binary", "such as 2", {"y": [0, 1, 2, 1], "binary": True}),
    "outcome 1/2": ("outcome-not-binary", "positive=", {"y": [1, 2, 2, 1], "binary": True}),
    "labels without positive": (
        "outcome-not-binary",
        "positive=",
        {"y": ["n", "y", "y", "n"], "binary": True},
    ),
    "three labels": (
        "outcome-not-binary",
        "y has 3: 'n', 'y', '?'",
        {"y": ["n", "y", "?", "n"], "positive": "y"},
    ),
    "positive absent": (
        "outcome-not-binary",
        "'Y' is not a value",
        {"y": ["n", "y", "y", "n"], "positive": "Y"},
    ),
    "text outcome": ("non-finite", "'1', a str", {"y": ["1", "0", "1", "0"]}),
    "numpy text outcome": ("non-finite", "must hold numbers", {"y": np.array(["1", "0", "1", "0"])}),
    "complex outcome": ("non-finite", "must hold numbers", {"y": np.array([1j, 0, 1, 0])}),
    "infinite outcome": ("non-finite", "y (2)", {"y": [0.0, INF, 1.0, -INF]}),
    "infinite covariate": ("non-finite", "X[:, 0] (1)", {"X": [[1], [2], [INF], [4]]}),
    "infinite column": (
        "non-finite",
        "X['u'] (1)",
        {"X": pl.DataFrame({"u": [1.0, 2.0, INF, 4.0], "v": [1, 2, 3, 4]})},
    ),
    "infinite object": (
        "non-finite",
        "X['u'] (1)",
        {"X": pd.DataFrame({"u": [1, INF, "a", 4]}, dtype=object)},
    ),
    "negative weight": ("bad-weights", "the first is -1", {"sample_weight": [1, -1, 1, 1]}),
    "infinite weight": ("bad-weights", "the first is inf", {"sample_weight": [1, INF, 1, 1]}),
    "text weight": ("bad-weights", "'1', a str", {"sample_weight": ["1", "1", "1", "1"]}),
    "weightless group": ("bad-weights", "zero in group 'b'", {"sample_weight": [1, 0, 0, 1]}),
    "one-dimensional X": ("bad-features", "reshape(-1, 1)", {"X": np.arange(4.0)}),
    "three-dimensional X": ("bad-features", "(4, 1, 1)", {"X": np.zeros((4, 1, 1))}),
    "column as X": ("bad-features", "to_frame()", {"X": pd.Series([1, 2, 3, 4])}),
    "polars column as X": ("bad-features", "to_frame()", {"X": pl.Series([1, 2, 3, 4])}),
    "lazy frame": ("bad-features", "collect()", {"X": pl.LazyFrame({"u": [1, 2, 3, 4]})}),
    "sparse matrix": ("bad-features", "toarray()", {"X": scipy.sparse.csr_matrix(np.eye(4))}),
    "text in an array": ("bad-features", "pandas or polars frame", {"X": [["u"], ["v"], ["u"], ["v"]]}),
    "numpy text": ("bad-features", "pandas or polars frame", {"X": np.array([["u"], ["v"], ["u"], ["v"]])}),
    "repeated names": (
        "bad-features",
        "column names",
        {"X": pd.DataFrame(np.eye(4)[:, :2], columns=["u", "u"])},
    ),
    "lists in a column": (
        "bad-features",
        "X['u'] holds List",
        {"X": pl.DataFrame({"u": [[1], [2], [3], [4]]})},
    ),
    "missing y": ("missing-values", "y (1): 1 of 4 rows (by group: 'a': 1)", {"y": [None, 1, 1, 0]}),
    "missing group": ("missing-values", "sensitive_features (1)", {"g": ["a", "b", None, "a"]}),
    "missing weight": ("missing-values", "sample_weight (1)", {"sample_weight": [1, 1, 1, NAN]}),
    "missing cluster": ("missing-values", "clusters (1)", {"clusters": pl.Series([1, 1, 2, None])}),
    "missing in an array": ("missing-values", "X[:, 1] (2)", {"X": [[1, 2], [1, None], [1, NAN], [1, 2]]}),
    "missing everywhere": ("missing-values", 'missing="drop"', {"X": np.full((4, 1), np.nan)}),
    "missing in a frame": (
        "missing-values",
        "X['u'] (1), X['v'] (2): 3 of 4 rows",
        {"X": pl.DataFrame({"u": [1.0, NAN, 2.0, 3.0], "v": [None, "s", None, "t"], "w": [1, 2, 3, 4]})},
    ),
    "pandas NA": (
        "missing-values",
        "X['u'] (1)",
        {"X": pd.DataFrame({"u": pd.array([1, pd.NA, 3, 4], dtype="Int64")})},
    ),
    "nothing left": ("empty-data", "Every row", {"X": np.full((4, 1), np.nan), "missing": "drop"}),
    "mixed labels in rows to drop": (
        "unknown-group",
        "mixes",
        {"g": ["a", 1, "b", "a"], "y": [None, None, 1, 0], "missing": "drop"},
    ),
}


@pytest.mark.parametrize(("code", "says", "changes"), CASES.values(), ids=CASES)
def test_refused_with_code_and_advice(code, says, changes):
    arguments = {"X": X, "y": Y, "g": G} | changes
    positional = [arguments.pop(name) for name in ("X", "y", "g")]
    with pytest.raises(InputError, match=re.escape(says)) as caught:
        make_sample(*positional, **arguments)
    assert caught.value.code == code


def test_a_group_lost_to_missing_values_is_noticed():
    with pytest.warns(DroppedRowsWarning), pytest.raises(InputError, match="only one") as caught:
        make_sample(None, [0, None, None, 1], G, missing="drop")
    assert caught.value.code == "one-group"


@pytest.mark.parametrize("alpha", [0, 0.5, 1, -0.1, NAN, "0.05", None, True])
def test_levels(alpha):
    with pytest.raises(InputError, match="strictly between 0 and") as caught:
        check_alpha(alpha)
    assert caught.value.code == "bad-alpha"


@pytest.mark.parametrize(
    ("values", "code", "says"),
    [
        ([0.5, 1.5, -1.0], "bad-probability", "2 of 3 do not, the first is 1.5 in row 1"),
        ([0.5, NAN, 1.0], "bad-probability", "1 missing"),
        ([0.5, None, 1.0], "bad-probability", "1 missing"),
        ([0.5, INF, 1.0], "bad-probability", "the first is inf"),
        (["0.5", "0", "1"], "bad-probability", "must hold numbers"),
        ([0.5, 0.5], "length-mismatch", "3 in all; got 2"),
        (np.zeros((3, 2)), "length-mismatch", "shape (3, 2)"),
    ],
)
def test_probabilities(values, code, says):
    with pytest.raises(InputError, match=re.escape(says)) as caught:
        check_probabilities(values, "decisions", 3)
    assert caught.value.code == code


def test_decisions_get_their_own_code():
    with pytest.raises(InputError, match="decisions must lie in") as caught:
        check_probabilities([2.0], "decisions", 1, code="bad-decisions")
    assert caught.value.code == "bad-decisions"
