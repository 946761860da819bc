"""Models as algorithms: which columns a fitted model gets, and how what it predicts becomes decisions."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from inspect import Parameter, signature
from typing import Any, Protocol, TypeAlias

import numpy as np
import pandas as pd

from ..arrays import AnyArray, ArrayLike, FloatArray, IntArray
from ..errors import FairFrontierError, InputError
from .messages import PYTHON, Interface, listed, shown
from .reading import Label, read_column
from .variables import read_scores

Threshold: TypeAlias = float | Mapping[Label, float]
"""Who scores above it is selected: a number, or one for each group by its label."""


class Model(Protocol):
    """A fitted model, such as a classifier or a pipeline of scikit-learn."""

    def predict(self, X: Any) -> Any:
        """Return a decision, or a label of the outcome, for each row."""


@dataclass(frozen=True, slots=True, eq=False)
class Thresholded:
    """An algorithm that selects who scores above a threshold.

    Parameters
    ----------
    scores : fitted model or column (n,)
        The scores; those of a model are its probabilities of the outcome 1, else what its ``decision_function`` says.
    threshold : number, or mapping of group labels to numbers
        Who scores above it is selected. With a mapping, which names every group, each group has its own.

    Examples
    --------
    >>> Thresholded([0.2, 0.7, 0.4], {"women": 0.3, "men": 0.5})
    Thresholded(scores=[0.2, 0.7, 0.4], threshold={'women': 0.3, 'men': 0.5})
    """

    scores: ArrayLike | Model
    threshold: Threshold


@dataclass(frozen=True, slots=True, eq=False)
class ModelRows:
    """What models decide about: the columns of the rows, and the label of the outcome that counts as 1, if it has one.

    ``X`` is a frame, an array (n, p), or None if there are none; ``group`` has the label of every row's group, for
    models that ask for it; ``interface`` is how messages write options.
    """

    X: Any
    group: AnyArray
    positive: Label | None = None
    interface: Interface = PYTHON


def is_model(given: object) -> bool:
    """Whether something is a model rather than a column: it can predict."""
    return callable(getattr(given, "predict", None))


def model_decisions(model: Any, rows: ModelRows, name: str) -> FloatArray:
    """Return what a model predicts for the rows as decisions (n,): 1 where it predicts the outcome that counts as 1."""
    predicted = _column(_asked(model, "predict", rows, name), f"predictions of {name}")
    classes = getattr(model, "classes_", None)
    labels = np.asarray(pd.unique(predicted) if classes is None else classes)
    if rows.positive is not None and rows.positive in labels.tolist():
        return np.asarray(predicted == rows.positive, dtype=float)
    if labels.dtype.kind in "biuf" and (classes is None or np.isin(labels, (0, 1)).all()):
        return np.asarray(predicted, dtype=float)
    raise _unknown_labels(labels, rows, name)


def model_scores(model: Any, rows: ModelRows, name: str) -> FloatArray:
    """Return the scores (n,) of a model: probabilities of the outcome that counts as 1, or what it has instead."""
    classes = getattr(model, "classes_", None)
    if classes is None and hasattr(model, "predict") and not hasattr(model, "predict_proba"):  # of a regressor
        return _numbers(_asked(model, "predict", rows, name), name)
    position = _position(np.asarray([] if classes is None else classes), rows, name)
    if hasattr(model, "predict_proba"):
        chances = np.asarray(_asked(model, "predict_proba", rows, name))
        if chances.ndim != 2 or chances.shape[1] != 2:
            raise InputError(
                "bad-model",
                f"The probabilities of {name} have shape {chances.shape}; expected one column for each of two classes. "
                "Give a column of scores instead.",
            )
        return _numbers(chances[:, position], name)
    if hasattr(model, "decision_function"):
        scores = _numbers(_asked(model, "decision_function", rows, name), name)
        return scores if position == 1 else -scores
    raise InputError(
        "bad-model",
        f"{name} has neither predict_proba nor decision_function, so there is no score to compare with a threshold. "
        "Leave the threshold out, or give a column of scores.",
    )


def _position(classes: AnyArray, rows: ModelRows, name: str) -> int:
    """Return which of a model's two classes counts as 1."""
    labels = classes.tolist()
    if len(labels) != 2:
        raise InputError(
            "bad-model",
            f"{name} has {len(labels) or 'no'} classes; a threshold needs a model of two. Give a column of scores.",
        )
    if rows.positive is not None and rows.positive in labels:
        return int(labels.index(rows.positive))
    if classes.dtype.kind not in "biuf" or set(labels) != {0, 1}:
        raise _unknown_labels(classes, rows, name)
    return 1


def _unknown_labels(labels: AnyArray, rows: ModelRows, name: str) -> InputError:
    given = (
        "" if rows.positive is None else f", and {rows.interface.option('positive', repr(rows.positive))} is neither"
    )
    return InputError(
        "bad-model",
        f"{name} predicts {listed(labels.tolist(), 4)}{given}; it is not known which of them selects. Train it on an "
        f"outcome of 0 and 1, or name the label that counts as 1: {rows.interface.option('positive', '<label>')}.",
    )


def _asked(model: Any, method: str, rows: ModelRows, name: str) -> Any:
    """Return what a method of a model says about the rows."""
    from sklearn.exceptions import NotFittedError

    if isinstance(model, type):
        raise InputError(
            "bad-model", f"{name} is the class {model.__name__}, not a fitted model: give what fit returns."
        )
    X = columns_for(model, rows.X, name)
    try:
        return _answer(getattr(model, method), X, rows.group)
    except NotFittedError as error:
        raise InputError(
            "bad-model", f"{name}, a {type(model).__name__}, is not fitted: give what fit returns."
        ) from error
    except FairFrontierError:
        raise
    except Exception as error:  # models raise errors of many kinds
        said = " ".join(str(error).split()).rstrip(".")
        raise InputError(
            "bad-model",
            f"{name}, a {type(model).__name__}, cannot decide about these rows: {said}. It gets the columns under the "
            "names with which it was trained, for the rows in use only.",
        ) from error


def _answer(method: Callable[..., Any], X: Any, group: AnyArray) -> Any:
    """Return what a method of a model says; it gets the groups of the rows if it requires them."""
    try:
        told = signature(method).parameters.get("sensitive_features")
    except ValueError:  # of a compiled method
        told = None
    if told is not None and told.default is Parameter.empty:
        return method(X, sensitive_features=group)
    try:
        return method(X)
    except InputError as error:  # of a rule of ours that sees the group
        if error.code != "missing-group":
            raise
        return method(X, sensitive_features=group)


def columns_for(model: Any, X: Any, name: str) -> Any:
    """Return the columns that a model was trained with, by name and in its order; all of them if it has no names."""
    if X is None:
        raise InputError(
            "bad-model",
            f"{name} is a model, and there are no covariates for it to decide about: X was not given. Give X to fit, "
            "or decisions instead of the model.",
        )
    wanted = getattr(model, "feature_names_in_", None)
    own = list(X.columns) if hasattr(X, "columns") else None
    if wanted is None:
        return X if own is None or getattr(model, "n_features_in_", None) is None else _by_position(model, X, name)
    if own is None:
        raise InputError(
            "bad-model",
            f"{name} was trained with columns by name ({listed(wanted)}), and X is an array, which has no names. Give "
            "the frame to fit.",
        )
    absent = [column for column in wanted if column not in own]
    if absent:
        raise InputError(
            "bad-model",
            f"{name} was trained with {listed(absent)}, which the rows do not have. They have: {listed(own, 20)}.",
        )
    return X[list(wanted)]


def _by_position(model: Any, frame: Any, name: str) -> Any:
    if frame.shape[1] != model.n_features_in_:
        raise InputError(
            "bad-model",
            f"{name} was trained with {model.n_features_in_} columns without names, and the rows have "
            f"{frame.shape[1]}. Train it with a frame, so that it gets its columns by name.",
        )
    return frame.to_numpy()


def _column(predicted: Any, name: str) -> AnyArray:
    column = read_column(predicted, name)
    if column.missing.any():
        raise InputError("bad-model", f"{name} has {int(column.missing.sum())} missing values; expected one per row.")
    return column.values


def _numbers(scores: Any, name: str) -> FloatArray:
    return read_scores(read_column(scores, f"scores of {name}"), f"scores of {name}")


def check_threshold(threshold: object, labels: Sequence[Label], name: str = "`threshold`") -> None:
    """Refuse a threshold that is neither a finite number nor such a number for each of the groups."""
    if isinstance(threshold, Mapping):
        others = [label for label in threshold if label not in labels]
        absent = [label for label in labels if label not in threshold]
        if others or absent:
            unknown = f" There is no group {listed(others)}." if others else ""
            raise InputError(
                "bad-option",
                f"{name} must have a number for each of the groups {listed(labels)}; got {listed(threshold)}.{unknown}",
            )
    values: list[Any] = list(threshold.values()) if isinstance(threshold, Mapping) else [threshold]
    for value in values:
        if not isinstance(value, numbers.Real) or isinstance(value, bool) or not math.isfinite(float(value)):
            raise InputError("bad-option", f"{name} must be a finite number, got {shown(value)}.")


def above(
    scores: FloatArray, threshold: Threshold, group: IntArray, labels: Sequence[Label], name: str = "`threshold`"
) -> FloatArray:
    """Return who scores above the threshold, of the own group if there is one for each; ``group`` has codes (n,)."""
    check_threshold(threshold, labels, name)
    at = np.array([threshold[label] for label in labels])[group] if isinstance(threshold, Mapping) else threshold
    return np.asarray(scores > at, dtype=float)


def unchanged(X: Any) -> Any:
    """Return what was given as covariates, for models to decide about later; no values are copied."""
    return X.copy(deep=False) if isinstance(X, pd.DataFrame) else X
