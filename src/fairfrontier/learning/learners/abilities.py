"""What estimators take: missing numbers, seeds, weights and clusters, and under which names."""

import copy
import inspect
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.utils import get_tags
from sklearn.utils.validation import has_fit_parameter

from ...data.reading import Table
from .encoding import NumericColumns


def takes_gaps(estimator: Any) -> bool:
    """Whether an estimator takes missing numbers, as far as it says; what prepares columns by itself is trusted."""
    if isinstance(estimator, Pipeline):
        for _, step in estimator.steps:
            if isinstance(step, ColumnTransformer | FeatureUnion | NumericColumns) or "Imputer" in type(step).__name__:
                return True
            if not takes_gaps(step):
                return False
        return True
    if estimator is None or isinstance(estimator, str):
        return True
    try:
        says = bool(get_tags(estimator).input_tags.allow_nan)
    except (AttributeError, TypeError, ValueError):  # not scikit-learn's: it may well
        return True
    inner = getattr(estimator, "estimator", None)
    return says or (inner is not None and takes_gaps(inner))


def has_gaps(X: Table) -> bool:
    """Whether any covariate is missing in any row."""
    return bool(X.isna().to_numpy().any() if isinstance(X, pd.DataFrame) else np.isnan(X).any())


def seeded(prototype: Any, seed: np.random.SeedSequence) -> Any:
    """Clone an estimator and set every `random_state` in it, also nested and in shuffling splitters."""
    estimator = clone(prototype)
    rng = np.random.default_rng(seed)
    changes: dict[str, Any] = {}
    for name, value in sorted(estimator.get_params(deep=True).items()):
        if name == "random_state" or name.endswith("__random_state"):
            if value is None or isinstance(value, int | np.integer):
                changes[name] = int(rng.integers(2**31))
        elif getattr(value, "shuffle", False) is True and hasattr(value, "split"):
            splitter = copy.copy(value)
            splitter.random_state = int(rng.integers(2**31))
            changes[name] = splitter
    return estimator.set_params(**changes)


def weight_keywords(estimator: Any) -> tuple[str, ...]:
    """Names under which `estimator.fit` takes sample weights; empty when it takes none."""
    if isinstance(estimator, Pipeline):
        *first, (last, model) = estimator.steps
        inner = tuple(f"{last}__{name}" for name in weight_keywords(model))
        ours = tuple(f"{name}__sample_weight" for name, step in first if isinstance(step, NumericColumns))
        return inner + ours if inner else ()
    if has_fit_parameter(estimator, "sample_weight"):
        return ("sample_weight",)
    kinds = [p.kind for p in inspect.signature(estimator.fit).parameters.values()]
    if inspect.Parameter.VAR_KEYWORD in kinds and hasattr(estimator, "estimator"):
        return weight_keywords(estimator.estimator)
    return ()


def cluster_keywords(estimator: Any) -> tuple[str, ...]:
    """Names under which `estimator.fit` takes clusters, for the folds of its own tuning; empty when it takes none."""
    if isinstance(estimator, Pipeline):
        last, model = estimator.steps[-1]
        return tuple(f"{last}__{name}" for name in cluster_keywords(model))
    return ("clusters",) if has_fit_parameter(estimator, "clusters") else ()
