"""One reader of tables: declared kinds, gaps, rows in another order, and warnings, for fits, rules and audits alike."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from support.quick import FEW
from support.refusals import refused

from fairfrontier import FairFrontier, FrontierRule, LinearFrontierRule, evaluate
from fairfrontier.data.aligning import aligned, index_of
from fairfrontier.data.declared import Declared, as_declared
from fairfrontier.data.sample import make_sample
from fairfrontier.data.suspects import suspects_among
from fairfrontier.errors import ColumnsWarning, DroppedRowsWarning
from fairfrontier.learning.learners.abilities import takes_gaps

N = 400


def table(seed=0, n=N):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "income": rng.normal(size=n),
            "rooms": rng.integers(1, 7, n).astype(float),
            "town": rng.choice(["x", "y", "z"], n),
        }
    )
    group = rng.choice(["a", "b"], n)
    y = (rng.random(n) < 1 / (1 + np.exp(-X["income"] - (X["town"] == "y")))).astype(int).to_numpy()
    return X, y, group


def fit(X, y, group, learner="factored-logit", **options):
    return FairFrontier(learner=learner, n_folds=2, n_boot=99, n_rep=1, random_state=0, **options).fit(
        X, y, sensitive_features=group
    )


# --- declared kinds ------------------------------------------------------------------------------------------


def test_dtypes_say_what_columns_are():
    X, _, _ = table()
    read = as_declared(X.assign(gaps=X["rooms"].mask(X.index < 3), half=X["rooms"] / 2.0, n=np.arange(N) * 1.0))
    assert read.dtypes.astype(str).to_dict() | {"town": ""} == {
        "income": "float64",
        "rooms": "int64",
        "town": "",
        "gaps": "Int64",
        "half": "float64",
        "n": "float64",
    }
    declared = as_declared(X, Declared(("rooms",), ("income",)))
    assert list(declared["rooms"].cat.categories) == [1, 2, 3, 4, 5, 6]
    assert as_declared(X, Declared((), ("rooms",)))["rooms"].dtype == np.float64
    text = as_declared(pd.DataFrame({"t": ["1", "2.5", None]}), Declared((), ("t",)))
    np.testing.assert_array_equal(text["t"], [1.0, 2.5, np.nan])
    plain = pd.DataFrame({"a": [1.5, 2.5], "b": ["u", "v"]})
    assert as_declared(plain) is plain


@pytest.mark.parametrize("library", [lambda X: X, pl.from_pandas])
def test_declared_columns_are_used_as_declared_in_fits_and_rules(library):
    X, y, group = table()
    frame = library(X)
    by_name = fit(frame, y, group, categorical=["rooms"])
    as_text = fit(X.assign(rooms=X["rooms"].astype(int).astype(str)), y, group)
    np.testing.assert_allclose(by_name.nuisance_.predictions, as_text.nuisance_.predictions)
    rule = by_name.rule()
    assert rule.categorical == ["rooms"]
    np.testing.assert_allclose(rule.decision_function(frame), as_text.rule().decision_function(as_text.sample_.X))
    alone = FrontierRule(learner="factored-logit", categorical=["rooms"], random_state=0)
    assert set(alone.fit(frame, y, sensitive_features=group).predict(frame)) <= {0, 1}


def test_enum_and_categorical_columns_of_polars_are_categories():
    X, y, group = table()
    levels = pl.Enum(["x", "y", "z"])
    frames = [pl.from_pandas(X).with_columns(pl.col("town").cast(kind)) for kind in (levels, pl.Categorical, pl.String)]
    found = [fit(frame, y, group).nuisance_.predictions for frame in frames]
    np.testing.assert_allclose(found[0], found[2])
    np.testing.assert_allclose(found[1], found[2])


def test_declared_columns_that_cannot_be_used_are_refused():
    X, y, group = table()
    refused("bad-features", "Did you mean 'rooms'", lambda: fit(X, y, group, categorical=["room"]))
    refused("bad-option", "both name 'rooms'", lambda: fit(X, y, group, categorical=["rooms"], numeric=["rooms"]))
    refused("bad-option", "must be a list of columns", lambda: fit(X, y, group, numeric="rooms"))
    refused("bad-features", "not numbers, the first is", lambda: fit(X, y, group, numeric=["town"]))
    array = X[["income", "rooms"]].to_numpy()
    refused("bad-features", "X is an array: pass a pandas", lambda: fit(array, y, group, categorical=["rooms"]))
    lists = X.assign(town=[[1]] * N)
    refused("bad-features", "holds lists", lambda: fit(lists, y, group))


# --- gaps -----------------------------------------------------------------------------------------------------


def with_gaps(X, seed=0):
    rng = np.random.default_rng(seed)
    return X.mask(rng.random(X.shape) < 0.1)


@pytest.mark.filterwarnings(
    "ignore::fairfrontier.errors.WeakLearnerWarning", "ignore::fairfrontier.errors.MarginWarning"
)
@pytest.mark.parametrize("learner", ["factored-logit", "lasso", "factored-boosting", "forest", "neural-net"])
def test_gaps_in_covariates_are_left_to_the_learner(learner):
    X, y, group = table()
    few = {"factored-boosting": {"max_iter": 5}, "forest": {"n_estimators": 5}}
    few |= {"neural-net": {"n_hidden": 2, "decay": 1.0}, "factored-logit": FEW, "lasso": FEW}
    gaps = with_gaps(X)
    ff = fit(gaps, y, group, learner, learner_params=few[learner])
    assert ff.n_obs_ == N
    assert not ff.sample_.dropped
    assert np.isfinite(ff.nuisance_.predictions).all()
    assert np.isfinite(ff.rule().decision_function(gaps)).all()
    assert evaluate(ff.rule(), gaps, y, group).table["rows"].sum() == N


@pytest.mark.parametrize("form", [lambda X: X.to_numpy(), pl.from_pandas, lambda X: np.ma.masked_invalid(X.to_numpy())])
def test_gaps_are_kept_whatever_holds_them(form):
    X, y, group = table()
    gaps = with_gaps(X[["income", "rooms"]])
    by_frame = make_sample(gaps, y, group, missing="keep").X.isna().to_numpy()
    read = make_sample(form(gaps), y, group, missing="keep").X
    np.testing.assert_array_equal(pd.isna(read if isinstance(read, np.ndarray) else read.to_numpy()), by_frame)


def test_gaps_elsewhere_raise_and_rows_are_dropped_on_request():
    X, y, group = table()
    outcome = pd.Series(y, dtype="Int64").mask(np.arange(N) < 2)
    refused("missing-values", r"y \(2\)", lambda: fit(X, outcome, group))
    gaps = X.assign(income=X["income"].mask(X.index < 40))
    refused("missing-values", "income", lambda: fit(gaps, y, group, missing="raise"))
    with pytest.warns(DroppedRowsWarning, match="40 of 400 rows"):
        assert fit(gaps, y, group, missing="drop").n_obs_ == N - 40
    refused("bad-option", '"keep", "raise" or "drop"', lambda: fit(X, y, group, missing="ignore"))


def test_learners_that_take_no_gaps_are_named_with_advice():
    X, y, group = table()
    gaps = with_gaps(X[["income", "rooms"]])
    refused(
        "missing-values", "'LogisticRegression' does not take them", lambda: fit(gaps, y, group, LogisticRegression())
    )
    scaled = make_pipeline(StandardScaler(), LinearRegression())
    refused("missing-values", "does not take them", lambda: fit(gaps, y, group, scaled))
    hidden = make_pipeline(make_column_transformer((StandardScaler(), ["income"])), LogisticRegression())
    refused("missing-values", "contains NaN", lambda: fit(gaps, y, group, hidden))
    filled = make_pipeline(SimpleImputer(), LogisticRegression())
    assert fit(gaps, y, group, filled).n_obs_ == N
    assert takes_gaps(filled)
    assert not takes_gaps(scaled)
    rule = FrontierRule(learner=LogisticRegression())
    refused("missing-values", "NaN", lambda: rule.fit(gaps, y, sensitive_features=group))
    linear = {"learner": "partially-linear", "learner_params": {"linear": ("income", "rooms")}}
    refused("missing-values", "linear covariates", lambda: fit(gaps.assign(z=X["income"] ** 2), y, group, **linear))


# --- rules find their columns by name --------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [FrontierRule, LinearFrontierRule])
@pytest.mark.parametrize("library", [lambda X: X, pl.from_pandas])
def test_rules_take_columns_in_any_order_and_ignore_others(kind, library):
    X, y, group = table()
    rule = kind(learner="factored-logit", random_state=0).fit(library(X), y, sensitive_features=group)
    expected = rule.decision_function(library(X))
    moved = X[["town", "income", "rooms"]].assign(more=1.0)
    np.testing.assert_allclose(rule.decision_function(library(moved)), expected)
    np.testing.assert_allclose(rule.decision_function(moved.astype({"rooms": int})), expected)
    refused("bad-features", "does not have: 'rooms'", lambda: rule.predict(library(X.drop(columns="rooms"))))


# --- rows in another order ------------------------------------------------------------------------------------


def labelled(X, y, group):
    index = pd.Index([f"p{i}" for i in range(len(y))])
    return X.set_axis(index), pd.Series(y, index=index), pd.Series(group, index=index)


def test_columns_with_the_same_labels_in_another_order_are_matched():
    X, y, group = labelled(*table())
    rng = np.random.default_rng(1)
    weight, clusters, ids = (pd.Series(v, index=X.index) for v in (rng.random(N) + 0.5, np.arange(N) // 2, X.index))
    in_use = pd.Series(rng.integers(0, 2, N), index=X.index)
    bounds = pd.Series(rng.random(N) * 0.1, index=X.index)

    def results(mixed):
        def order(v):
            return v.sample(frac=1.0, random_state=2) if mixed else v

        ff = FairFrontier(learner="factored-logit", n_folds=2, n_boot=99, n_rep=1, random_state=0)
        roles = {
            "sensitive_features": group,
            "sample_weight": weight,
            "clusters": clusters,
            "ids": ids,
            "lower": bounds,
        }
        ff.fit(X, order(y), **{name: order(values) for name, values in roles.items()})
        numbers = [
            ff.risks(order(in_use)).risk,
            ff.test_lda(order(in_use)).statistic,
            ff.test_lda(order(pd.DataFrame({"one": in_use, "two": 1 - in_use})))["two"].statistic,
            ff.test_lda({"one": order(in_use * 0.5)}, threshold=0.2)["one"].statistic,
            evaluate(order(in_use), X, order(y), order(group)).risks,
        ]
        pairs = pd.DataFrame(ff.nuisance_.predictions[0], index=X.index)
        external = FairFrontier(n_boot=99, random_state=0)
        external.fit(None, y, sensitive_features=order(group), external_nuisance=order(pairs))
        return np.concatenate([*(np.ravel(number) for number in numbers), external.support([[-1.0, 0.0]])])

    np.testing.assert_array_equal(results(False), results(True))


def test_other_labels_are_matched_by_position_and_repeated_ones_refused():
    X, y, group = labelled(*table())
    plain = make_sample(X, y.to_numpy(), group.to_numpy())
    by_position = make_sample(X, y.reset_index(drop=True), group.reset_index(drop=True))
    np.testing.assert_array_equal(plain.y, by_position.y)
    np.testing.assert_array_equal(plain.group, by_position.group)
    repeated = pd.Index(np.arange(N) % 100)
    turned = pd.Series(y.to_numpy(), index=repeated[::-1])
    refused("bad-index", "labels repeat", lambda: make_sample(X.set_axis(repeated), turned, group.to_numpy()))
    same = make_sample(X.set_axis(repeated), pd.Series(y.to_numpy(), index=repeated), group.to_numpy())
    np.testing.assert_array_equal(same.y, y)
    # without labels of X, those of y decide
    turned = group[::-1]
    np.testing.assert_array_equal(make_sample(X.to_numpy()[:, :1].astype(float), y, turned).group, plain.group)
    assert index_of(X.to_numpy(), y).equals(y.index)
    assert index_of(None, [1]) is None
    assert aligned([3, 1], y.index, "y") == [3, 1]


def test_a_rule_matches_rows_too():
    X, y, group = labelled(*table())
    rule = FrontierRule(learner="factored-logit", random_state=0)
    one = rule.fit(X, y, sensitive_features=group).decision_function(X)
    two = rule.fit(X, y[::-1], sensitive_features=group.sample(frac=1.0, random_state=0)).decision_function(X)
    np.testing.assert_array_equal(one, two)


# --- warnings -------------------------------------------------------------------------------------------------


def test_a_fit_warns_once_about_all_columns_that_look_like_mistakes():
    X, y, group = table()
    X = X.assign(
        key=np.random.default_rng(0).permutation(N),
        after=np.where(y == 1, "late", "paid"),
        sex=np.where(group == "a", np.where(np.arange(N) % 2, "girl", "woman"), "man"),
    )
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        ff = fit(X, y, group)
    ours = [str(w.message) for w in found if issubclass(w.category, ColumnsWarning)]
    assert len(ours) == 1
    for text in ("'key': every value is different", "'after': a copy of 'y'", "'sex': suspected leak"):
        assert text in ours[0]
    assert list(ff.sample_.X.columns) == list(X.columns)


def test_columns_without_mistakes_raise_no_suspicion():
    X, y, group = table()
    codes = (group == "a").astype(int)
    assert suspects_among(X, y.astype(float), codes, 2) == {}
    assert suspects_among(X[["income", "rooms"]].to_numpy(), y.astype(float), codes, 2) == {}
    person = np.arange(N) // 2
    same = X.iloc[person].reset_index(drop=True).assign(person=person + 1000)
    found = suspects_among(same, y.astype(float), codes[person], 2)
    assert list(found) == ["person"]
    assert found["person"].endswith("give clusters=person")
