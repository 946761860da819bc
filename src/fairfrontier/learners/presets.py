"""Learners by name."""

import difflib
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Lasso, LassoCV
from sklearn.model_selection import KFold
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import Pipeline

from ..errors import InputError
from ..l1_logistic import L1LogisticRegression
from .base import DirectLearner, FactoredLearner, Learner
from .composite import PartiallyLinearLearner, StackLearner
from .estimators import Family, NumericColumns, family_of


def _model(estimator: Any, standardise: bool = False) -> Pipeline:
    return Pipeline([("columns", NumericColumns(standardise)), ("model", estimator)])


def _tuned_parameters(fitted: Pipeline) -> dict[str, Any]:
    model = fitted.named_steps["model"]
    if isinstance(model, L1LogisticRegression):
        return {"model__penalty": float(model.penalty_)}
    return {"model": Lasso(alpha=float(model.alpha_), tol=model.tol, max_iter=model.max_iter)}


def _logit_family(
    penalty: float | None,
    n_penalties: int,
    n_tuning_folds: int,
    adaptive: bool,
    regressor: Pipeline | None,
) -> Family:
    classifier = L1LogisticRegression(penalty, n_penalties, n_tuning_folds, adaptive=adaptive)
    return Family(_model(classifier), regressor, tuned_parameters=_tuned_parameters)


def _lasso(n_penalties: int, n_tuning_folds: int) -> Pipeline:
    folds = KFold(n_tuning_folds, shuffle=True)
    return _model(LassoCV(alphas=n_penalties, cv=folds, max_iter=10_000), standardise=True)


def _lasso_family(n_penalties: int = 50, n_tuning_folds: int = 10) -> Family:
    return Family(None, _lasso(n_penalties, n_tuning_folds), tuned_parameters=_tuned_parameters)


def _rows_per_tree(n: int) -> int:
    """Rows drawn for each tree of a forest: half of them, and at most 20 times the root of their number."""
    return max(1, int(min(n / 2, 20.0 * n**0.5)))


@contextmanager
def _drawing(forest: Any, n: int) -> Iterator[None]:
    """Replace "auto" by a number of rows while a forest is fitted."""
    given = forest.max_samples
    forest.max_samples = _rows_per_tree(n) if isinstance(given, str) and given == "auto" else given
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


def _forest_family(
    n_estimators: int = 100,
    min_samples_leaf: int = 15,
    max_features: float | str | None = 0.66,
    max_samples: float | int | str | None = "auto",
) -> Family:
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


def _boosting_family(
    max_iter: int | None = None,
    learning_rate: float = 0.1,
    max_leaf_nodes: int = 4,
    min_samples_leaf: int = 20,
    l2_regularization: float = 1.0,
) -> Family:
    options = {
        "max_iter": max_iter or 100,
        "learning_rate": learning_rate,
        "max_leaf_nodes": max_leaf_nodes,
        "min_samples_leaf": min_samples_leaf,
        "l2_regularization": l2_regularization,
        "early_stopping": False,
    }
    return Family(
        _model(HistGradientBoostingClassifier(**options)),
        _model(HistGradientBoostingRegressor(**options)),
        grid=() if max_iter else tuple({"model__max_iter": m} for m in (10, 20, 40, 80, 160, 320)),
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


def _neural_net_family(n_hidden: int = 8, decay: float | None = None, max_iter: int = 200) -> Family:
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


# --- presets ------------------------------------------------------------------------------------------


def logit_lasso(
    penalty: float | None = None,
    n_penalties: int = 50,
    n_tuning_folds: int = 10,
    tune_on_folds: bool = False,
    adaptive: bool = True,
) -> Learner:
    """L1 multinomial logistic regression of z^g, a class for each of its few values.

    Parameters
    ----------
    penalty : float, optional
        A fixed penalty; by default cross-validated log loss chooses.
    n_penalties, n_tuning_folds : int
        Penalties tried, and folds used, to choose it.
    tune_on_folds : bool
        Choose the penalty anew in every fold instead of once per sample.
    adaptive : bool
        Follow by a second fit in which each feature's penalty is divided by the size of its coefficients in
        the first (the adaptive lasso): more accurate. False is the plain lasso, as published.
    """
    family = _logit_family(penalty, n_penalties, n_tuning_folds, adaptive, None)
    return DirectLearner("logit-lasso", family, penalty is None and not tune_on_folds)


def factored_logit(
    n_penalties: int = 50,
    n_tuning_folds: int = 10,
    tune_on_folds: bool = False,
    adaptive: bool = True,
) -> Learner:
    """L1 logistic regressions of the group, and of the loss difference within each group.

    A loss difference of many values is modelled by an L1 linear regression instead.

    Parameters
    ----------
    n_penalties, n_tuning_folds : int
        Penalties tried, and folds used, to choose them.
    tune_on_folds : bool
        Choose the penalties anew in every fold instead of once per sample.
    adaptive : bool
        As for `logit_lasso`; it does not concern the linear regression.
    """
    regressor = _lasso(n_penalties, n_tuning_folds)
    family = _logit_family(None, n_penalties, n_tuning_folds, adaptive, regressor)
    return FactoredLearner("factored-logit", family, not tune_on_folds)


def lasso(n_penalties: int = 50, n_tuning_folds: int = 10, tune_on_folds: bool = False) -> Learner:
    """L1 linear regression of z^g.

    Parameters
    ----------
    n_penalties, n_tuning_folds : int
        Penalties tried, and folds used, to choose it.
    tune_on_folds : bool
        Choose the penalty anew in every fold instead of once per sample.
    """
    return DirectLearner("lasso", _lasso_family(n_penalties, n_tuning_folds), not tune_on_folds)


def forest(**options: Any) -> Learner:
    """Random forest of z^g.

    Parameters
    ----------
    **options
        n_estimators (100), min_samples_leaf (15), max_features (0.66), max_samples as in scikit-learn. By
        default ("auto") a tree draws half the rows, and at most 20 times the root of their number, which beyond
        1,600 rows saves most of the time at little cost in log loss.
    """
    return DirectLearner("forest", _forest_family(**options))


def factored_forest(**options: Any) -> Learner:
    """Random forests of the group, and of the loss difference within each group.

    Parameters
    ----------
    **options
        As for `forest`.
    """
    return FactoredLearner("factored-forest", _forest_family(**options))


def boosting(tune_on_folds: bool = False, **options: Any) -> Learner:
    """Gradient boosting of z^g with small trees.

    Parameters
    ----------
    tune_on_folds : bool
        Choose the number of trees anew in every fold instead of once per sample.
    **options
        max_iter (number of trees; by default cross-validated loss chooses), learning_rate,
        max_leaf_nodes, min_samples_leaf, l2_regularization as in scikit-learn.
    """
    return DirectLearner("boosting", _boosting_family(**options), not tune_on_folds)


def factored_boosting(tune_on_folds: bool = False, **options: Any) -> Learner:
    """Gradient boosting of the group, and of the loss difference within each group.

    Parameters
    ----------
    tune_on_folds : bool
        Choose the numbers of trees anew in every fold instead of once per sample.
    **options
        As for `boosting`.
    """
    return FactoredLearner("factored-boosting", _boosting_family(**options), not tune_on_folds)


def neural_net(tune_on_folds: bool = False, **options: Any) -> Learner:
    """Neural net of z^g with one small hidden layer.

    Parameters
    ----------
    tune_on_folds : bool
        Choose the decay anew in every fold instead of once per sample.
    **options
        n_hidden (8), decay (weight of the squared coefficients beside the summed loss; by default
        cross-validated loss chooses, starting from 0.01), max_iter (200).
    """
    return DirectLearner("neural-net", _neural_net_family(**options), not tune_on_folds)


_BASES: Mapping[str, Callable[[], Family]] = MappingProxyType(
    {
        "lasso": _lasso_family,
        "forest": _forest_family,
        "boosting": _boosting_family,
        "neural-net": _neural_net_family,
    }
)


def partially_linear(
    linear: tuple[Any, Any] | None = None,
    base: Any = "boosting",
    n_inner_folds: int = 5,
    tune_on_folds: bool = False,
) -> Learner:
    """Linear in two covariates, any learner in the others (Robinson's method).

    Parameters
    ----------
    linear : pair of column names or positions
        The covariates that enter linearly.
    base : {"boosting", "lasso", "forest", "neural-net"} or scikit-learn regressor
        Learner for the others.
    n_inner_folds : int
        Folds on which residuals of the training rows are computed.
    tune_on_folds : bool
        Tune the base learner anew in every fold instead of once per sample.
    """
    named = isinstance(linear, tuple | list) and len(linear) == 2
    if not named:
        raise InputError(
            "bad-option",
            "The learner 'partially-linear' needs the two covariates that enter linearly, as "
            f"linear=(first, second) with column names or positions; got linear={linear!r}.",
        )
    _check_inner_folds(n_inner_folds)
    family = _base_family(base)
    pair = (linear[0], linear[1])  # type: ignore[index]
    return PartiallyLinearLearner("partially-linear", family, pair, n_inner_folds, not tune_on_folds)


def _base_family(base: Any) -> Family:
    if isinstance(base, str):
        if base not in _BASES:
            raise InputError("bad-option", f"base must be one of {list(_BASES)} or a regressor, not {base!r}.")
        family = _BASES[base]()
    else:
        family = family_of(base)
        if family.regressor is None:
            raise InputError(
                "bad-learner",
                f"The base of 'partially-linear' must be a regressor, and {type(base).__name__} is not.",
            )
    return replace(family, classifier=None)


def stack(
    members: tuple[Any, ...] = ("factored-logit", "lasso", "factored-boosting"), n_inner_folds: int = 5
) -> Learner:
    """Weighted mean of several learners, weights chosen by inner cross-validation.

    Parameters
    ----------
    members : sequence of presets' names, estimators or learners
        At least two, with different names.
    n_inner_folds : int
        Number of inner folds.
    """
    _check_inner_folds(n_inner_folds)
    learners = tuple(resolve_learner(member) for member in members)
    names = [learner.name for learner in learners]
    if len(names) < 2 or len(set(names)) < len(names):
        raise InputError("bad-option", f"A stack needs at least two members with different names; got {names}.")
    return StackLearner("stack", learners, n_inner_folds)


def _check_inner_folds(n_inner_folds: object) -> None:
    if not isinstance(n_inner_folds, int) or n_inner_folds < 2:
        raise InputError("bad-option", f"n_inner_folds must be a whole number above 1, not {n_inner_folds!r}.")


PRESETS: Mapping[str, Callable[..., Learner]] = MappingProxyType(
    {
        "logit-lasso": logit_lasso,
        "factored-logit": factored_logit,
        "lasso": lasso,
        "forest": forest,
        "boosting": boosting,
        "neural-net": neural_net,
        "factored-forest": factored_forest,
        "factored-boosting": factored_boosting,
        "partially-linear": partially_linear,
        "stack": stack,
    }
)
"""The builder of each preset, by name."""


def read_learner(learner: Any, learner_params: Any) -> Learner:
    """Return the `Learner` that users mean by ``learner`` and ``learner_params``, a mapping or None."""
    if not isinstance(learner_params, Mapping | None):
        raise InputError(
            "bad-option", f"learner_params must be a mapping from options to values, got {learner_params!r}."
        )
    return resolve_learner(learner, **(learner_params or {}))


def resolve_learner(learner: Any, **options: Any) -> Learner:
    """Turn a preset's name, a scikit-learn estimator or a `Learner` into a `Learner`.

    Parameters
    ----------
    learner : str, estimator or Learner
        What to use.
    **options
        Options of a preset; only with a name.

    Returns
    -------
    Learner
    """
    if isinstance(learner, str):
        if learner not in PRESETS:
            close = difflib.get_close_matches(learner.lower().replace("_", "-"), PRESETS, n=3, cutoff=0.5)
            hint = f" Did you mean {' or '.join(map(repr, close))}?" if close else ""
            raise InputError(
                "unknown-learner", f"No learner is called {learner!r}.{hint} Presets: {', '.join(PRESETS)}."
            )
        try:
            return PRESETS[learner](**options)
        except InputError:
            raise
        except (TypeError, ValueError) as error:
            raise InputError(
                "bad-option", f"The learner {learner!r} cannot be built with {options}: {error}."
            ) from error
    if options:
        raise InputError(
            "bad-option",
            f"Options {sorted(options)} go with the name of a preset; set them on the learner given.",
        )
    if isinstance(learner, Learner):
        return learner
    return DirectLearner(type(learner).__name__, family_of(learner))
