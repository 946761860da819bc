"""The usual figures of algorithms and of their alternatives, asked of a `Fit`."""

from __future__ import annotations

import numpy as np
import pandas as pd

from ...arrays import ArrayLike, FloatArray
from ...data.algorithms import Algorithms
from ...data.aligning import aligned
from ...data.checks import check_length
from ...data.groups import check_reference
from ...data.reading import Label, read_column
from ...data.result import ResultsByName
from ...data.variables import read_scores
from ...errors import InputError
from ...fit import Fit
from ..fan.questions import criteria_of
from ..fan.witness import JointWitness
from ..lda.witness import Alternative, Witness
from .figures import Rows, UsualFigures, usual_figures


class UsualFiguresByName(ResultsByName[UsualFigures]):
    """Usual figures of several algorithms, by name."""

    __slots__ = ()

    @property
    def heading(self) -> str:
        """One line that says what this is."""
        return "Usual figures"

    def to_frame(self) -> pd.DataFrame:
        """One row for each algorithm and group."""
        return pd.concat({name: figures.table for name, figures in self.items()}, names=["algorithm"])

    def _frame(self) -> pd.DataFrame:
        return self.to_frame().reset_index()

    def _facts(self) -> dict[str, object]:
        return {str(name): figures.table["ratio"].to_numpy() for name, figures in self.items()}


def figures_of(
    fit: Fit,
    algorithms: Algorithms,
    *,
    score: ArrayLike | None = None,
    reference: Label | None = None,
    alpha: float | None = None,
) -> UsualFiguresByName:
    """Usual figures of algorithms with decisions; see `FairFrontier.usual_figures`."""
    code, level = check_reference(fit.sample.groups.labels, reference), fit.level(alpha)
    scores = None if score is None else _score(fit, score)
    each = zip(algorithms.names, algorithms.decisions, strict=False)
    return UsualFiguresByName(
        {
            name: usual_figures(
                name, a, rows_of(fit), fit.sample.groups.labels, reference=code, score=scores, alpha=level
            )
            for name, a in each
        }
    )


def rows_of(fit: Fit) -> Rows:
    """The rows of a fit."""
    s = fit.sample
    return Rows(s.group, s.weight, s.weighted, s.clusters, s.y if s.binary_outcome else None)


def _score(fit: Fit, score: ArrayLike) -> FloatArray:
    s = fit.sample
    column = read_column(aligned(score, s.index, "score"), "score")
    check_length(column.values, "score", s.n_given)
    return read_scores(column, "score")[s.rows]


def alternative_chances(fit: Fit, found: Alternative, capacity: float | None = None) -> FloatArray:
    """Chances (n,) with which an alternative, out of fold, selects the people of a fit."""
    if isinstance(found, Witness | JointWitness) and found.changed is not None:
        raise InputError(
            "bad-decisions",
            f"This alternative changes decisions about group {found.changed} alone, as often as its share says: pass "
            "the decisions that result.",
        )
    if isinstance(found, JointWitness):
        rows = criteria_of(fit)
        chances = rows.lower.copy()
        for p, share in zip(found.directions, found.shares, strict=True):
            chances += share * rows.spread * (rows.vectors @ p < 0.0)
        return np.clip(rows.by_person(chances), 0.0, 1.0)
    assert isinstance(found, Witness)
    function = fit.function(capacity)
    moved = np.zeros(function.scores.n_rows)
    for q, share in zip(found.directions, found.shares, strict=True):
        moved += share * function.selected(q)
    return np.clip(function.scores.averaged(function.scores.chances(moved)), 0.0, 1.0)
