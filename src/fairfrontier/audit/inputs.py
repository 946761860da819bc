"""Reading the columns with a role: outcome, decisions, scores, weights and clusters of the rows in use."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from ..arrays import AnyArray, FloatArray, IntArray
from ..data.checks import check_probabilities
from ..data.columns import as_labels, merged
from ..data.messages import COMMAND_LINE, listed
from ..data.models import above, model_decisions, model_scores
from ..data.reading import Label, label_codes, read_column, to_float
from ..data.variables import Advice, check_decisions, check_names, read_outcome, read_scores, read_weights
from ..errors import InputError
from .models import LoadedModel
from .request import AuditRequest, loss_of
from .rows import GroupOfRows
from .table import is_text

FROM_SCORES = Advice("If they are scores, give --score with --threshold or --top instead.", "")


@dataclass(frozen=True, slots=True)
class Inputs:
    """What is fitted and tested.

    Attributes
    ----------
    X : DataFrame (n, p)
        Covariates, with dtypes that say what they are; text instead of categories.
    y : array (n,)
        Outcomes.
    group : array (n,)
        Label of every row's group, one of ``groups``.
    groups : tuple of labels
        The groups that are compared.
    algorithms : mapping of names to arrays (n,)
        Decisions, 0 or 1.
    score : Series (n,), optional
        The score behind the first algorithm, a covariate on request.
    weights, clusters : arrays (n,), optional
        Sampling weights; clusters of rows.
    profit : array (n,), optional
        What selecting each row earns.
    models : tuple of LoadedModel
        The models among the algorithms.
    """

    X: pd.DataFrame
    y: FloatArray
    group: AnyArray
    groups: tuple[str, ...]
    algorithms: Mapping[str, FloatArray]
    score: pd.Series | None = None
    weights: FloatArray | None = None
    clusters: AnyArray | None = None
    profit: FloatArray | None = None
    models: tuple[LoadedModel, ...] = ()

    def covariates(self, with_score: bool) -> pd.DataFrame:
        """Return the covariates, with the score as the last one on request."""
        return self.X if self.score is None or not with_score else pd.concat([self.X, self.score], axis=1)


def values_of(column: pd.Series, name: str) -> AnyArray:
    """Return the values of a column without gaps as an array of numbers or objects; messages call it ``name``."""
    return read_column(column.infer_objects(), name).values


def outcome_of(used: pd.DataFrame, request: AuditRequest) -> FloatArray:
    """Read the outcome of the rows in use; labels are compared with --positive as text."""
    name, column = f"--outcome {request.outcome!r}", used[request.outcome]
    return read_outcome(
        values_of(column if request.positive is None else as_labels(column), name),
        name=name,
        positive=request.positive,
        binary=loss_of(request).binary_outcome,
        interface=COMMAND_LINE,
    )


def algorithms_of(
    used: pd.DataFrame,
    request: AuditRequest,
    positions: IntArray,
    group: GroupOfRows | None = None,
    models: Sequence[LoadedModel] = (),
) -> dict[str, FloatArray]:
    """Read the decisions of all algorithms.

    ``positions`` are those of the rows in the file, for messages. Thresholds by group, and models, need the ``group``.
    """
    found: list[tuple[str, FloatArray]] = []
    if request.score is not None:
        found += _selected_by_score(used[request.score], request, group)
    if request.decision is not None:
        name = request.decision
        found.append((name, _decisions(used[name], f"--decision {name!r}", positions, request.decision_positive)))
    for name, column in request.algorithms.items():
        label = f"--algorithm {f'{name}={column}'!r}"
        found.append((name, _decisions(used[column], label, positions, request.decision_positive)))
    for model in models:
        found += _selected_by_model(model, used, request, group)
    check_names([name for name, _ in found])
    return dict(found)


def _selected_by_score(
    column: pd.Series, request: AuditRequest, group: GroupOfRows | None
) -> list[tuple[str, FloatArray]]:
    """Return the names and the decisions of the algorithms that select by the score."""
    name = f"--score {request.score!r}"
    scores = read_scores(read_column(column.infer_objects(), name), name)
    if request.top is None:
        return _cut(str(request.score), scores, request, group)
    cut_off = float(np.quantile(scores, 1.0 - request.top))
    selected = np.asarray(scores > cut_off, dtype=float)
    if not selected.any():
        raise InputError(
            "bad-decisions",
            f"--top {request.top:g} selects nobody: {np.mean(scores == cut_off):.1%} of the rows share the highest "
            f"score, {cut_off:g}. Give --threshold, or --decision with a column of 0 and 1.",
        )
    return [(f"{request.score}, top {request.top:.4g}", selected)]


def _cut(
    name: str, scores: FloatArray, request: AuditRequest, group: GroupOfRows | None
) -> list[tuple[str, FloatArray]]:
    """Return the names and the decisions of the algorithms that cut some scores at the thresholds."""
    if request.threshold:
        return [(f"{name} above {at:g}", np.asarray(scores > at, dtype=float)) for at in request.threshold]
    assert group is not None  # rows that are read in parts have no thresholds by group
    by_group: dict[Label, float] = dict(request.group_threshold.items())
    selected = above(scores, by_group, group.code, group.labels, "--group-threshold")
    return [(f"{name} above {', '.join(f'{label} {by_group[label]:g}' for label in group.labels)}", selected)]


def _selected_by_model(
    model: LoadedModel, used: pd.DataFrame, request: AuditRequest, group: GroupOfRows | None
) -> list[tuple[str, FloatArray]]:
    """Return the names and the decisions of a model, which decides by itself unless there are thresholds for it."""
    assert group is not None  # rows that are read in parts have no models
    rows = model.rows_of(used, request, np.array(group.labels, dtype=object)[group.code])
    label = f"The model {model.name!r}"
    if request.score is None and (request.threshold or request.group_threshold):
        return _cut(model.name, model_scores(model.fitted, rows, label), request, group)
    advice = "Give --threshold to cut its scores."
    a = check_probabilities(
        model_decisions(model.fitted, rows, label), label, len(used), code="bad-decisions", advice=advice
    )
    check_decisions(a, label, Advice(advice, ""))
    return [(model.name, a)]


def _decisions(column: pd.Series, name: str, positions: IntArray, positive: str | None) -> FloatArray:
    labels = as_labels(column)
    if positive is not None and (labels == positive).any():
        others = sorted({str(label) for label in labels.unique()} - {positive})
        if len(others) > 1:
            raise InputError(
                "bad-decisions",
                f"--decision-positive {positive!r} needs a column of two labels; {name} also has {listed(others, 5)}.",
            )
        return np.asarray(labels == positive, dtype=float)
    if is_text(column):
        given = "" if positive is None else f" --decision-positive {positive!r} is none of them."
        raise InputError(
            "bad-decisions",
            f"{name} has labels: {listed(sorted(map(str, labels.unique())), 5)}.{given} Name the one that selects: "
            "--decision-positive <label>.",
        )
    a = check_probabilities(
        values_of(column, name),
        name,
        len(column),
        code="bad-decisions",
        advice=FROM_SCORES.scores,
        positions=positions,
    )
    check_decisions(a, name, FROM_SCORES)
    return a


def profit_of(used: pd.DataFrame, request: AuditRequest) -> FloatArray | None:
    """Read what selecting each person earns."""
    if request.profit is None:
        return None
    name = f"--profit {request.profit!r}"
    return to_float(values_of(used[request.profit], name), name, "non-finite", "Give numbers.")


def weights_of(
    used: pd.DataFrame, request: AuditRequest, codes: IntArray, groups: tuple[str, ...]
) -> FloatArray | None:
    """Read the sampling weights."""
    if request.weights is None:
        return None
    name = f"--weights {request.weights!r}"
    return read_weights(values_of(used[request.weights], name), codes, groups, name)


def clusters_of(used: pd.DataFrame, request: AuditRequest) -> AnyArray | None:
    """Read the clusters."""
    if request.clusters is None:
        return None
    name = f"--clusters {request.clusters!r}"
    if merged(used[request.clusters]):
        raise InputError(
            "bad-features",
            f"{name} was read as numbers too large to be distinguished. Write them as text, for example with a letter "
            "in front.",
        )
    values = values_of(used[request.clusters], name)
    label_codes(values, name, "bad-option")
    return values
