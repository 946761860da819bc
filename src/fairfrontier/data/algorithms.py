"""Reading the algorithms users ask about: decisions and models by name, or fixed risk pairs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import narwhals as nw
import numpy as np
import pandas as pd

from ..arrays import ArrayLike, FloatArray
from ..errors import InputError
from .aligning import aligned
from .checks import check_length, check_probabilities, check_risks
from .messages import listed
from .models import Model, ModelRows, Threshold, Thresholded, above, is_model, model_decisions, model_scores
from .reading import Column, read_column
from .sample import Sample
from .variables import ADVICE, check_decisions, check_names, read_scores

Decisions: TypeAlias = ArrayLike | Model | Thresholded | Mapping[str, ArrayLike | Model | Thresholded]
"""A column, several columns, a fitted model, or columns and models by name."""
RiskPairs: TypeAlias = ArrayLike | Mapping[str, ArrayLike]
"""A risk pair, several, or pairs by name."""
FAR = 4.0
"""Standard errors by which given risks may lie outside of what the rows allow."""
ALONE = "the algorithm"
"""Name of an algorithm that was given without one."""


@dataclass(frozen=True, slots=True)
class Algorithms:
    """Algorithms with decisions (J, n), followed by fixed risk pairs (F, 2); ``names`` of all.

    ``single``: whether the user passed one algorithm rather than a collection.
    """

    names: tuple[str, ...]
    decisions: FloatArray
    fixed: FloatArray
    single: bool


@dataclass(frozen=True, slots=True, eq=False)
class Limits:
    """The smallest and the largest risks (2,) that the loss allows on the rows, with the standard errors of both.

    A population's risks may lie outside the limits of a sample, by its sampling error.
    """

    low: FloatArray
    high: FloatArray
    low_error: FloatArray
    high_error: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Asked:
    """What users ask about, as they give it: decisions, or risk pairs.

    Attributes
    ----------
    decisions : column (n,), several columns, fitted model, or mapping of names to columns and models; or None
        Decisions 0 or 1, or a model that predicts them. Values strictly between are scores: they need ``threshold``
        (selected above it), or ``randomised=True`` if they really are chances of being selected.
    threshold : number or mapping of group labels to numbers, optional
        Above which scores, or those of a model, are selected.
    risks : pair, pairs (k, 2) or mapping of names to pairs; or None
        Known risk pairs instead.
    risks_name : str
        How messages call the argument that holds the pairs.
    """

    decisions: Decisions | None = None
    risks: RiskPairs | None = None
    randomised: bool = False
    threshold: Threshold | None = None
    risks_name: str = "risks"


def read_algorithms(sample: Sample, asked: Asked, *, limits: Callable[[], Limits]) -> Algorithms:
    """Read what users ask about; risk pairs must keep to the limits, which are asked for only then."""
    decisions, risks = asked.decisions, asked.risks
    randomised, threshold = asked.randomised, asked.threshold
    either = InputError("bad-decisions", f"Give either `decisions` or risk pairs `{asked.risks_name}`, and not both.")
    if decisions is not None and risks is not None:
        raise either
    if not isinstance(randomised, bool):
        raise InputError("bad-option", f"`randomised` must be True or False, got {randomised!r}.")
    if risks is not None:
        if randomised or threshold is not None:
            raise InputError("bad-option", "`randomised` and `threshold` belong to decisions, not to risk pairs.")
        return _read_risks(risks, limits(), sample.n_rows)
    if decisions is None:
        raise either
    if randomised and threshold is not None:
        raise InputError("bad-option", "`randomised=True` and `threshold` contradict each other: give one of them.")
    return read_decisions(sample, asked)


def read_decisions(sample: Sample, asked: Asked) -> Algorithms:
    """Read the decisions that users ask about, those of models included."""
    named, single = named_decisions(asked.decisions)
    rows = [_read_decisions(name, given, sample, asked) for name, given in named.items()]
    return Algorithms(tuple(named), np.array(rows).reshape(-1, sample.n_rows), np.empty((0, 2)), single)


def counted_algorithms(known: Mapping[str, FloatArray], asked: Asked) -> Algorithms:
    """Return the algorithms asked about by name, of those named when rows were read in parts; without names all."""
    names = _names_of(asked.decisions, known)
    unknown = [name for name in names if name not in known]
    if unknown or not names:
        found = f"{listed(known)} were" if known else "no algorithms were"
        raise InputError(
            "bad-decisions",
            f"There is no algorithm {listed(unknown) or 'to ask about'}: {found} named when the rows were read. Name "
            "their columns by fit(..., algorithms=...).",
        )
    check_names(names)
    if asked.threshold is not None:
        raise InputError("bad-option", "`threshold` needs the rows: put decisions 0 or 1 into the data.")
    if not asked.randomised:
        for name in names:
            check_decisions(known[name], f"decisions of {name!r}")
    decisions = np.array([known[name] for name in names])
    return Algorithms(tuple(names), decisions, np.empty((0, 2)), isinstance(asked.decisions, str))


def _names_of(given: Any, known: Mapping[str, FloatArray]) -> Sequence[str]:
    """Return the names of algorithms as users give them: one, several, a mapping of names to themselves, or None."""
    names = list(known) if given is None else [given] if isinstance(given, str) else given
    if isinstance(given, Mapping) and all(isinstance(value, str) and value == name for name, value in given.items()):
        names = list(given)
    if not isinstance(names, list | tuple) or not all(isinstance(name, str) for name in names):
        raise InputError(
            "rows-needed",
            "Rows were read in parts and counted with the decisions of the algorithms named at that time, so decisions "
            f"are asked about by name, such as {next(iter(known), 'name')!r}; got {type(given).__name__}. Name their "
            "columns by fit(..., algorithms=...).",
        )
    return names


def named_decisions(decisions: Any, alone: str = ALONE) -> tuple[dict[str, Any], bool]:
    """Return the decisions of each algorithm, or its model, by name, and whether it is one, then called ``alone``."""
    if is_model(decisions) or isinstance(decisions, Thresholded):
        return {alone: decisions}, True
    if isinstance(decisions, list | tuple) and any(is_model(one) or isinstance(one, Thresholded) for one in decisions):
        raise InputError(
            "bad-decisions", "Several models need names: give a mapping, such as {'old': ..., 'new': ...}."
        )
    if isinstance(decisions, Mapping):
        if not decisions:
            raise InputError("bad-decisions", "`decisions` names no algorithm: give at least one.")
        return _distinct([(str(name), values) for name, values in decisions.items()]), False
    frame = nw.from_native(decisions, eager_only=True, pass_through=True)
    if not isinstance(frame, nw.DataFrame):
        array = np.asarray(decisions)
        if array.ndim == 2:
            return _distinct([(f"algorithm {j + 1}", array[:, j]) for j in range(array.shape[1])]), False
        return {alone: decisions}, True
    return _distinct([(str(column.name), column.to_native()) for column in frame.iter_columns()]), False


def with_models_asked(named: Mapping[str, Any], sample: Sample) -> dict[str, Any]:
    """Return decisions by name in which models have been asked, once; rows that are not in use are set to 0."""
    found = dict(named)
    for name, given in named.items():
        if is_model(given) or isinstance(given, Thresholded):
            found[name] = np.zeros(sample.n_given)
            found[name][sample.rows] = _read_decisions(name, given, sample, Asked(randomised=True))
    return found


def _distinct(named: list[tuple[str, ArrayLike]]) -> dict[str, ArrayLike]:
    if not named:
        raise InputError("bad-decisions", "`decisions` has no column: give the decisions of at least one algorithm.")
    check_names([name for name, _ in named])
    return dict(named)


def _read_decisions(name: str, given: Any, sample: Sample, asked: Asked) -> FloatArray:
    label = f"decisions of {name!r}" if name != ALONE else "decisions"
    threshold = asked.threshold
    if isinstance(given, Thresholded):  # whose own threshold counts
        given, threshold = given.scores, given.threshold
    if threshold is not None:
        scores = _scores(given, sample, name, label)
        return above(scores, threshold, sample.group, sample.groups.labels)
    if is_model(given):
        a = model_decisions(given, rows_for_models(sample), _model_name(name))
        a = check_probabilities(a, label, sample.n_rows, code="bad-decisions", advice=ADVICE.scores)
    else:
        given = aligned(given, sample.index, label)
        a = check_probabilities(given, label, sample.n_given, code="bad-decisions", advice=ADVICE.scores)[sample.rows]
    if not asked.randomised:
        check_decisions(a, label)
    return a


def _scores(given: Any, sample: Sample, name: str, label: str) -> FloatArray:
    """Return the scores of the rows in use: those of a model, or of a column."""
    if is_model(given):
        return model_scores(given, rows_for_models(sample), _model_name(name))
    column = read_column(aligned(given, sample.index, label), label)
    check_length(column.values, label, sample.n_given)
    return read_scores(Column(column.at(sample.rows), column.missing[sample.rows]), label)


def _model_name(name: str) -> str:
    return "The model" if name == ALONE else f"The model {name!r}"


def rows_for_models(sample: Sample) -> ModelRows:
    """Return what models decide about: the covariates as they were given, of the rows in use."""
    group = np.array([*sample.groups.labels, None], dtype=object)[sample.group]
    frame, X = nw.from_native(sample.given, eager_only=True, pass_through=True), sample.X
    if isinstance(sample.given, pd.DataFrame):
        X = sample.given.iloc[sample.rows]
    elif isinstance(frame, nw.DataFrame):
        rows = frame[sample.rows]
        X = rows.to_native() if frame.implementation.is_polars() else rows.to_pandas()
    return ModelRows(X, group, sample.positive)


def _pairs_of(risks: Mapping[str, ArrayLike]) -> FloatArray:
    return np.vstack([check_risks(pair) for pair in risks.values()])


def _read_risks(risks: RiskPairs, limits: Limits, n_rows: int) -> Algorithms:
    names: tuple[str, ...]
    if isinstance(risks, Mapping):
        if not risks:
            raise InputError("bad-risks", "There is no risk pair to test: give at least one.")
        names, pairs, single = tuple(_distinct([(str(name), e) for name, e in risks.items()])), _pairs_of(risks), False
    else:
        pairs = check_risks(risks)
        single = np.ndim(risks) == 1
        names = (ALONE,) if single else tuple(f"point {j + 1}" for j in range(len(pairs)))
    low, high = limits.low, limits.high
    rounding = 1e-12 * float(np.abs([low, high]).max())
    outside = (pairs < low - FAR * limits.low_error - rounding) | (pairs > high + FAR * limits.high_error + rounding)
    if outside.any():
        errors = [limits.low_error.tolist(), limits.high_error.tolist()]
        beyond = f", or at most {FAR:g} standard errors ({errors[0]} and {errors[1]}) outside" if np.any(errors) else ""
        raise InputError(
            "bad-risks",
            f"Risks must lie within what the loss allows on these rows, from {low.tolist()} to {high.tolist()}{beyond}"
            f"; got {pairs[outside.any(axis=1)][0].tolist()}.",
        )
    return Algorithms(names, np.empty((0, n_rows)), pairs, single)
