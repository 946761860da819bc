"""Families of models that the presets are made of: a classifier and a regressor with their tuning."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from numbers import Real
from typing import Any

import numpy as np
from sklearn.ensemble import (
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Lasso, LassoCV
from sklearn.model_selection import KFold
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import Pipeline

from ...arrays import FloatArray
from ...data.checks import check_integer
from ...errors import InputError
from ..boosting.trees import BoostedTreesClassifier, BoostedTreesRegressor
from ..folds import deal_training_rows
from ..lasso.logistic import L1LogisticRegression
from .encoding import NumericColumns
from .estimators import Family

MOST_LEAVES = 1000
"""Most leaves of a tree in boosting, whose trees are meant to be small."""


def _model(estimator: Any, standardise: bool = False, native: bool = False) -> Pipeline:
    return Pipeline([("columns", NumericColumns(standardise, native)), ("model", estimator)])


def _tuned_parameters(fitted: Pipeline) -> dict[str, Any]:
    model = fitted.named_steps["model"]
    if isinstance(model, L1LogisticRegression):
        return {"model__penalty": float(model.penalty_)}
    return {"model": Lasso(alpha=float(model.alpha_), tol=model.tol, max_iter=model.max_iter)}


def _held_out(fitted: Pipeline) -> FloatArray | None:
    """Take what a logistic regression kept of its folds out of it."""
    model = fitted.named_steps["model"]
    found, model.held_out_ = model.held_out_, None
    return None if found is None else np.asarray(found)


def logit_family(
    penalty: float | None,
    n_penalties: int,
    n_tuning_folds: int,
    adaptive: bool,
    regressor: Pipeline | None,
) -> Family:
    """L1 logistic regression for classes, and a regressor for outcomes of many values if one is given."""
    classifier = L1LogisticRegression(penalty, n_penalties, n_tuning_folds, adaptive=adaptive)
    return Family(_model(classifier), regressor, tuned_parameters=_tuned_parameters, held_out=_held_out)


class _LassoCV(LassoCV):  # type: ignore[misc]
    """A lasso whose tuning folds keep clusters together; without clusters they are those of its splitter."""

    cv: Any

    def fit(self, X: Any, y: Any, sample_weight: Any = None, clusters: Any = None) -> "_LassoCV":
        given: KFold = self.cv
        if clusters is not None:
            strata = np.unique(y, return_inverse=True)[1]
            folds = deal_training_rows(strata, given.n_splits, np.random.default_rng(given.random_state), clusters)
            self.cv = [(np.flatnonzero(folds != k), np.flatnonzero(folds == k)) for k in range(folds.max() + 1)]
        try:
            with warnings.catch_warnings():  # older versions warn where there is nothing to explain, and all is done
                warnings.filterwarnings("ignore", message=r".*\s*Duality gap: 0\.000e\+00", category=ConvergenceWarning)
                super().fit(X, y, sample_weight)
        finally:
            self.cv = given
        return self


def lasso_model(n_penalties: int, n_tuning_folds: int) -> Pipeline:
    """L1 linear regression whose penalty cross-validation chooses."""
    folds = KFold(n_tuning_folds, shuffle=True)
    return _model(_LassoCV(alphas=n_penalties, cv=folds, max_iter=10_000), standardise=True)


def lasso_family(n_penalties: int = 25, n_tuning_folds: int = 5) -> Family:
    """L1 linear regression, whatever the outcome."""
    return Family(None, lasso_model(n_penalties, n_tuning_folds), tuned_parameters=_tuned_parameters)


def rows_per_tree(n: int) -> int:
    """Rows drawn for each tree of a forest: half of them, and at most 20 times the root of their number."""
    return max(1, int(min(n / 2, 20.0 * n**0.5)))


@contextmanager
def _drawing(forest: Any, n: int) -> Iterator[None]:
    """Replace "auto" by a number of rows while a forest is fitted."""
    given = forest.max_samples
    forest.max_samples = rows_per_tree(n) if isinstance(given, str) and given == "auto" else given
    try:
        with np.errstate(over="ignore", invalid="ignore"):  # trees cast to float32, and refuse what does not fit
            yield
    finally:
        forest.max_samples = given


class _ForestClassifier(RandomForestClassifier):  # type: ignore[misc]
    """A random forest that also takes max_samples="auto"."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "_ForestClassifier":
        with _drawing(self, len(X)):
            super().fit(X, y, sample_weight)
        return self


class _ForestRegressor(RandomForestRegressor):  # type: ignore[misc]
    """As the classifier."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "_ForestRegressor":
        with _drawing(self, len(X)):
            super().fit(X, y, sample_weight)
        return self


def forest_family(
    n_estimators: int = 100,
    min_samples_leaf: int = 15,
    max_features: float | str | None = 0.66,
    max_samples: float | int | str | None = "auto",
) -> Family:
    """Random forests."""
    options = {
        "n_estimators": n_estimators,
        "min_samples_leaf": min_samples_leaf,
        "max_features": max_features,
        "max_samples": max_samples,
        "n_jobs": 1,
    }
    return Family(
        # entropy gives a smaller log loss out of fold than Gini, see benchmarks/forests.py
        _model(_ForestClassifier(criterion="entropy", **options)),
        _model(_ForestRegressor(**options)),
    )


def _check_number(value: Any, name: str, least: float, *, excluded: bool) -> None:
    """Refuse what is not a finite number of at least ``least``, or that number itself if it is excluded."""
    number = float(value) if isinstance(value, Real) and not isinstance(value, bool) else np.nan
    if not np.isfinite(number) or number < least or (excluded and number == least):
        expected = "greater than" if excluded else "of at least"
        raise InputError("bad-option", f"{name} must be a number {expected} {least:g}; got {value!r}.")


def boosting_family(
    max_iter: int | None = None,
    learning_rate: float = 0.1,
    max_leaf_nodes: int = 4,
    min_samples_leaf: int = 20,
    l2_regularization: float = 1.0,
) -> Family:
    """Gradient boosting with small trees; without ``max_iter`` their number is tuned."""
    if max_iter is not None:
        check_integer(max_iter, "max_iter", least=1)
    check_integer(max_leaf_nodes, "max_leaf_nodes", least=2, most=MOST_LEAVES)
    check_integer(min_samples_leaf, "min_samples_leaf", least=1)
    _check_number(learning_rate, "learning_rate", 0.0, excluded=True)
    _check_number(l2_regularization, "l2_regularization", 0.0, excluded=False)
    options: dict[str, Any] = {
        "max_iter": 100 if max_iter is None else max_iter,
        "learning_rate": learning_rate,
        "max_leaf_nodes": max_leaf_nodes,
        "min_samples_leaf": min_samples_leaf,
        "l2_regularization": l2_regularization,
    }
    return Family(
        _model(BoostedTreesClassifier(**options), native=True),
        _model(BoostedTreesRegressor(**options), native=True),
        grid=() if max_iter is not None else tuple({"model__max_iter": m} for m in (10, 20, 40, 80, 160, 320)),
        grows=True,
    )


class _NetClassifier(MLPClassifier):  # type: ignore[misc]
    """A small net; stopping at the iteration limit is part of its regularisation, so it is not warned of."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "_NetClassifier":
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            super().fit(X, y, sample_weight)
        return self


class _NetRegressor(MLPRegressor):  # type: ignore[misc]
    """As the classifier."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "_NetRegressor":
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            super().fit(X, y, sample_weight)
        return self


def neural_net_family(n_hidden: int = 8, decay: float | None = None, max_iter: int = 200) -> Family:
    """Nets with one small hidden layer; without ``decay`` it is tuned."""

    def alpha(decay: float) -> float:
        # decay multiplies the sum of squared weights beside the summed loss; alpha / 2 does in scikit-learn
        return 2.0 * decay

    options = {
        "hidden_layer_sizes": (n_hidden,),
        "activation": "logistic",
        "alpha": alpha(0.01 if decay is None else decay),
        "solver": "lbfgs",
        "max_iter": max_iter,
        "max_fun": 10 * max_iter,
    }
    decays = (0.01, 0.1, 1.0, 3.0, 10.0, 30.0) if decay is None else ()
    return Family(
        _model(_NetClassifier(**options), standardise=True),
        _model(_NetRegressor(**options), standardise=True),
        grid=tuple({"model__alpha": alpha(d)} for d in decays),
    )
