"""The encoder of covariates: levels, gaps, dates, codes, and whatever else a column may hold."""

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from support.quick import FEW

from fairfrontier import FairFrontier
from fairfrontier.data.columns import FIRST_VALUES
from fairfrontier.learning.learners import NumericColumns
from fairfrontier.learning.learners.encoding import MOST_LEVELS


def encoded(column, y=None, new=None, **options):
    X = pd.DataFrame({"x": column})
    columns = NumericColumns(**options).fit(X, y)
    return columns, columns.transform(X if new is None else pd.DataFrame({"x": new}))


def test_rare_levels_and_new_ones_share_an_indicator():
    column = ["a"] * 100 + ["b"] * 100 + ["c"] * 9 + ["d"]
    columns, values = encoded(column, new=["a", "b", "c", "d", "new", None])
    assert columns.get_feature_names_out() == ["x_a", "x_b", "x_other"]
    np.testing.assert_array_equal(values, [[1, 0, 0], [0, 1, 0], *[[0, 0, 1]] * 4])
    _, values = encoded(["a"] * 100 + ["b"] * 100, new=["a", "new"])
    np.testing.assert_array_equal(values, [[1, 0], [0, 0]])


def test_in_few_rows_a_level_is_rare_below_a_twentieth_of_them():
    columns, _ = encoded(["a"] * 12 + ["b"] * 11 + ["c"])
    assert columns.get_feature_names_out() == ["x_a", "x_b", "x_other"]
    columns, _ = encoded(["a", "b", "c"])
    assert columns.get_feature_names_out() == ["x_a", "x_b", "x_c"]


def test_missing_categories_are_a_level_and_missing_numbers_are_marked_and_filled():
    columns, values = encoded(["a"] * 20 + [None] * 20)
    assert columns.get_feature_names_out() == ["x_a", "x_missing"]
    np.testing.assert_array_equal(values.sum(axis=0), [20, 20])
    columns, values = encoded([1.0, 2.0, 9.0, np.nan])
    assert columns.get_feature_names_out() == ["x", "x_missing"]
    np.testing.assert_array_equal(values, [[1, 0], [2, 0], [9, 0], [2, 1]])
    _, values = encoded([1.0, 2.0, 9.0], new=[np.nan])
    np.testing.assert_array_equal(values, [[2.0]])
    _, values = encoded([1.0, 2.0, np.nan], native=True)
    np.testing.assert_array_equal(values, [[1], [2], [np.nan]])
    columns, values = encoded(pd.array([3, None, 5], dtype="Int64"))
    np.testing.assert_array_equal(values, [[3, 0], [4, 1], [5, 0]])


@pytest.mark.parametrize("native", [False, True])
def test_ten_thousand_levels_stay_small(native):
    rng = np.random.default_rng(0)
    column = pd.Series([f"t{k}" for k in rng.geometric(0.01, 30_000)] + [f"u{k}" for k in range(10_000)])
    assert column.nunique() > 10_000
    columns, values = encoded(column, native=native)
    assert columns.levels_[0].n_levels == MOST_LEVELS
    assert values.shape == (40_000, 1 if native else MOST_LEVELS)
    common = column.value_counts().index[: MOST_LEVELS - 1]
    assert set(columns.levels_[0].levels) == set(common) or column.value_counts()[common].min() >= 10
    gaps = column.mask(np.arange(40_000) % 7 == 0)
    assert encoded(gaps)[0].levels_[0].n_levels == MOST_LEVELS


ODD = {
    "all missing": [None] * 60,
    "all missing numbers": np.full(60, np.nan),
    "one level": ["a"] * 60,
    "one number": np.ones(60),
    "one integer": np.ones(60, dtype=int),
    "mixed": [1, "a", 2.5, True, None, "1"] * 10,
    "dates": pd.date_range("2024-01-01", periods=60),
    "dates with gaps": pd.Series(pd.date_range("2024-01-01", periods=60)).mask(np.arange(60) % 5 == 0),
    "durations": pd.to_timedelta(np.arange(60), unit="h"),
    "dates as text": [f"{1 + i % 28}.{1 + i % 12}.2024" for i in range(60)],
    "all different": [f"k{i}" for i in range(60)],
    "categories without rows": pd.Categorical(["a"] * 60, categories=["b", "a", "c"]),
    "strings": pd.array(["a", None] * 30, dtype="string"),
    "integers with gaps": pd.array([1, None, 3] * 20, dtype="Int64"),
    "booleans with gaps": pd.array([True, None, False] * 20, dtype="boolean"),
    "periods": pd.period_range("2024-01", periods=60, freq="M"),
}


@pytest.mark.parametrize("native", [False, True])
@pytest.mark.parametrize("name", ODD)
def test_any_column_becomes_numbers_of_the_same_width_in_every_fold(name, native):
    X = pd.DataFrame({"x": ODD[name], "z": np.arange(60.0)})
    y = np.arange(60) % 2
    columns = NumericColumns(native=native).fit(X.iloc[:40], y[:40])
    train, new = columns.transform(X.iloc[:40]), columns.transform(X.iloc[40:])
    assert train.shape[1] == new.shape[1]
    if native:
        model = make_pipeline(NumericColumns(native=True), HistGradientBoostingClassifier(max_iter=2))
    else:
        assert np.isfinite(train).all()
        assert np.isfinite(new).all()
        assert train.shape[1] == len(columns.get_feature_names_out())
        model = make_pipeline(NumericColumns(standardise=True), LogisticRegression())
    assert np.isfinite(model.fit(X.iloc[:40], y[:40]).predict_proba(X.iloc[40:])).all()


def coded_table(n, seed):
    """Ten columns of codes, whose order means nothing, of which the outcome depends on all."""
    rng = np.random.default_rng(seed)
    level = rng.integers(0, 5, (n, 10))
    effect = np.array([np.roll([-1.0, 1.0, -0.6, 0.7, -0.1], j) for j in range(10)])
    codes = np.array([[11, 20, 21, 35, 99]] * 10)[np.arange(10), level]
    score = effect[np.arange(10), level].sum(axis=1)
    group = rng.random(n) < 1.0 / (1.0 + np.exp(-0.5 * effect[:3][np.arange(3), level[:, :3]].sum(axis=1)))
    y = (rng.random(n) < 1.0 / (1.0 + np.exp(-score))).astype(int)
    return pd.DataFrame(codes, columns=[f"c{j}" for j in range(10)]), y, np.where(group, "a", "b")


def test_codes_are_decided_by_the_outcomes_of_the_training_rows_alone():
    X, y, _ = coded_table(3000, 0)
    rng = np.random.default_rng(0)
    assert len(NumericColumns().fit(X, y).levels_) == 10
    assert not NumericColumns().fit(X).levels_
    assert not NumericColumns().fit(X, rng.permutation(y)).levels_
    assert not NumericColumns().fit(X.astype(float), y).levels_  # numbers with a decimal point are quantities
    assert len(NumericColumns().fit(X.to_numpy(float), y).levels_) == 10  # arrays have one dtype for all
    assert not NumericColumns().fit(X.to_numpy(float) + 0.5, y).levels_
    train = np.arange(2000)
    other = y.copy()
    other[2000:] = 1 - other[2000:]
    one, two = (NumericColumns().fit(X.iloc[train], z[train]).transform(X) for z in (y, other))
    np.testing.assert_array_equal(one, two)


def test_one_fraction_far_down_makes_a_column_of_an_array_a_quantity():
    rng, n = np.random.default_rng(0), FIRST_VALUES + 50
    X = (np.arange(n) % 4).astype(float)[:, None]
    y = (rng.random(n) < 0.2 + 0.6 * (X[:, 0] % 2)).astype(int)
    assert len(NumericColumns().fit(X, y).levels_) == 1
    X[-1] = 0.5
    assert not NumericColumns().fit(X, y).levels_


@pytest.mark.parametrize("learner", ["factored-logit", "factored-boosting"])
def test_codes_give_the_verdict_and_the_predictions_of_the_same_columns_as_text(learner):
    X, y, group = coded_table(2500, 1)
    in_use = (np.arange(2500) % 2).astype(int)
    forms = {
        "codes": X,
        "text": X.astype(str),
        "categories": X.astype("category"),
        "quantities": X.astype(float) + 0.25,
    }
    found = {}
    for name, form in forms.items():
        params = {"max_iter": 40} if learner == "factored-boosting" else FEW
        ff = FairFrontier(
            learner=learner, learner_params=params, n_boot=99, n_folds=2, jitter=0.01, n_rep=1, random_state=0
        )
        ff.fit(form, y, sensitive_features=group)
        found[name] = ff, ff.test_lda(in_use)
    text = found["text"][0].nuisance_.predictions
    for name in ("codes", "categories"):
        ff, test = found[name]
        assert test.verdict == found["text"][1].verdict
        assert np.abs(ff.nuisance_.predictions - text).mean() < 0.01
    if learner == "factored-logit":
        assert np.abs(found["quantities"][0].nuisance_.predictions - text).mean() > 0.05
