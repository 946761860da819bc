"""What about rows, outcomes and decisions makes an audit worth little: said in plan, record and report."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from .inputs import Inputs
from .request import AuditRequest

FEW_ROWS = 300
"""Fewer rows than this are warned about."""
FEW_OUTCOMES = 50
"""Fewer rows of a group with one of two outcomes are warned about."""


def doubts(inputs: Inputs, request: AuditRequest, rates: Mapping[str, float], *, of_all: bool) -> tuple[str, ...]:
    """Return sentences, without a full stop, on what to doubt.

    ``rates`` are the shares selected of all rows; ``of_all`` says whether the inputs are all rows and not some of them.
    """
    few = [*_few_rows(inputs), *_few_outcomes(inputs)] if of_all else []
    return (*few, *_alike(rates), *_outside(inputs, request))


def _few_rows(inputs: Inputs) -> list[str]:
    n = len(inputs.y)
    if n >= FEW_ROWS:
        return []
    return [
        f"Only {n} rows are used: below {FEW_ROWS} few alternatives can be shown, and intervals and p-values are rough"
    ]


def _few_outcomes(inputs: Inputs) -> list[str]:
    """Warn of groups with few people of one of two outcomes."""
    outcomes = np.unique(inputs.y)
    if len(outcomes) > 2:
        return []
    counts = {
        (label, outcome): int(np.count_nonzero((inputs.group == label) & (inputs.y == outcome)))
        for label in inputs.groups
        for outcome in outcomes
    }
    few = [f"{n} of group {label} with outcome {at:g}" for (label, at), n in counts.items() if n < FEW_OUTCOMES]
    if not few:
        return []
    return [f"Few rows of an outcome: {', '.join(few)}; from fewer than {FEW_OUTCOMES} little can be learned"]


def _alike(rates: Mapping[str, float]) -> list[str]:
    """Warn of algorithms that decide alike about all people."""
    words = {0.0: "selects nobody (0%)", 1.0: "selects everybody (100%)"}
    return [
        f"{name} {words[rate]}, so that it makes no difference between people"
        for name, rate in rates.items()
        if rate in words
    ]


def _outside(inputs: Inputs, request: AuditRequest) -> list[str]:
    """Warn of thresholds outside the range of the scores."""
    if inputs.score is None:
        return []
    scores = pd.to_numeric(inputs.score)
    low, high = float(scores.min()), float(scores.max())
    given = {"--threshold": request.threshold, "--group-threshold": tuple(request.group_threshold.values())}
    return [
        f"{name} {at:g} lies outside the scores, which go from {low:g} to {high:g}"
        for name, values in given.items()
        for at in values
        if not low <= at <= high
    ]
