"""What learners refuse, and how they say so."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import LinearSVC
from support.codes import group_codes
from support.refusals import refused

from fairfrontier.errors import LearnerError
from fairfrontier.learning.learners import NumericColumns, TrainingRows, fit_learner, resolve_learner

SEED = np.random.SeedSequence(1)


def rows(dl=None, weight=None, X=None):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3)) if X is None else X
    dl = rng.choice([-1.0, 1.0], 60) if dl is None else dl
    return TrainingRows(X, dl, group_codes(rng.random(60) < 0.5), 2, weight)


@pytest.mark.parametrize(
    ("code", "match", "learner", "options"),
    [
        ("unknown-learner", "Did you mean 'logit-lasso'.*Presets: auto", "logit_laso", {}),
        ("unknown-learner", "No learner is called 'qqqqq'. Presets", "qqqqq", {}),
        ("bad-option", "cannot be built with.*depth", "forest", {"depth": 3}),
        ("bad-option", "go with the name of a preset", LinearRegression(), {"depth": 3}),
        ("bad-option", r"needs the two covariates.*linear=\(first, second\)", "partially-linear", {}),
        ("bad-option", "linear='ab'", "partially-linear", {"linear": "ab"}),
        ("bad-option", "base must be one of", "partially-linear", {"linear": (0, 1), "base": "x"}),
        (
            "bad-learner",
            "must be a regressor, and LogisticRegression",
            "partially-linear",
            {"linear": (0, 1), "base": LogisticRegression()},
        ),
        (
            "bad-option",
            "n_inner_folds must be an integer of at least 2",
            "partially-linear",
            {"linear": (0, 1), "n_inner_folds": 1},
        ),
        ("bad-option", "at least two members", "stack", {"members": ("lasso",)}),
        ("bad-option", "different names", "stack", {"members": ("lasso", "lasso")}),
        ("unknown-learner", "No learner is called 'x'", "stack", {"members": ("lasso", "x")}),
        ("bad-learner", r"is a class; pass an instance, LinearRegression\(\)", LinearRegression, {}),
        ("bad-learner", "must implement fit, predict_proba.*missing: predict_proba", LinearSVC(), {}),
        ("bad-learner", "missing: fit, predict, get_params, set_params", object(), {}),
    ],
)
def test_what_cannot_be_a_learner(code, match, learner, options):
    refused(code, match, lambda: resolve_learner(learner, **options))


def test_too_many_values_for_classes():
    many = rows(dl=np.linspace(-1, 1, 60))
    refused("bad-learner", "at most 10.*learner='lasso'", lambda: resolve_learner("logit-lasso").check(many))
    rng = np.random.default_rng(0)
    wide = TrainingRows(rng.normal(size=(300, 1)), np.linspace(-1, 1, 300), group_codes(rng.random(300) < 0.5), 2)
    refused("bad-learner", "at most 50", lambda: resolve_learner(LogisticRegression()).check(wide))


@pytest.mark.parametrize("options", [None, {"members": (KNeighborsClassifier(), "lasso")}])
def test_weights_that_cannot_be_used(options):
    learner = resolve_learner("stack", **options) if options else resolve_learner(KNeighborsClassifier())
    learner.check(rows())
    refused(
        "bad-learner",
        "Sample weights were given.*takes no sample_weight",
        lambda: learner.check(rows(weight=np.ones(60))),
    )


@pytest.mark.parametrize(
    ("linear", "match"),
    [((0, 7), "7 is not one of"), (("a", "c"), "'c' is not numeric"), (("a", "a"), "two different")],
)
def test_linear_covariates_must_exist_and_be_numbers(linear, match):
    X = pd.DataFrame({"a": np.arange(60.0), "b": np.ones(60), "c": ["u"] * 60})
    learner = resolve_learner("partially-linear", linear=linear)
    refused("bad-option", match, lambda: learner.check(rows(X=X)))


def test_columns_are_found_by_name_and_missing_ones_are_named():
    X = pd.DataFrame({"a": [1.0, 2.0], "b": ["u", "v"]})
    columns = NumericColumns().fit(X)
    np.testing.assert_array_equal(columns.transform(X[["b", "a"]].assign(more=3)), columns.transform(X))
    refused("bad-features", "missing here: 'a'. Given are 'b'", lambda: columns.transform(X[["b"]]))
    refused("bad-features", "fitted on covariates in a frame", lambda: columns.transform(np.ones((2, 2))))
    array = NumericColumns().fit(np.ones((2, 2)))
    refused("bad-features", "fitted on 2 covariates and is given 3", lambda: array.transform(np.ones((2, 3))))


class Odd(LinearRegression):
    """Predicts whatever it is told to."""

    def __init__(self, output=None):
        super().__init__()
        self.output = output

    def predict(self, X):
        return np.full(len(X), np.nan) if self.output == "nan" else np.zeros(3)


@pytest.mark.parametrize(("output", "match"), [("nan", "60 values that are not finite"), ("short", r"shape \(3,\)")])
def test_predictions_must_be_one_finite_number_per_row(output, match):
    fitted = fit_learner(resolve_learner(Odd(output)), rows(), SEED)
    with pytest.raises(LearnerError, match=match):
        fitted.predict(rows().X)
