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
from ..fan.witness import JointWitness, chances_of
from ..lda.witness import Alternative
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
    if score is not None:
        fit.needs_rows("The standardised difference of a score")
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
    return Rows(s.group, s.weight, s.weighted, s.clusters, s.y if s.binary_outcome else None, s.people)


def _score(fit: Fit, score: ArrayLike) -> FloatArray:
    s = fit.sample
    column = read_column(aligned(score, s.index, "score"), "score")
    check_length(column.values, "score", s.n_given)
    return read_scores(column, "score")[s.rows]


def alternative_chances(fit: Fit, found: Alternative) -> FloatArray:
    """Chances (n,) with which an alternative, out of fold, selects the people of the fit that found it."""
    if found.changed is not None:
        raise InputError(
            "bad-decisions",
            f"This alternative changes decisions about group {found.changed} alone, as often as its share says: pass "
            "the decisions that result.",
        )
    rates, chances = found.selection_rate, _chances(fit, found)
    if rates is None or chances is None or not np.allclose(fit.group_means(chances), rates, rtol=0.0, atol=1e-6):
        raise InputError(
            "bad-decisions",
            "This alternative was found by another fit, or by one with other options: ask the one whose `test_lda` "
            "has found it.",
        )
    return chances


def _chances(fit: Fit, found: Alternative) -> FloatArray | None:
    """The chances, or None if the alternative cannot be one of this fit."""
    if found.selection_rate is None or len(found.selection_rate) != len(fit.sample.groups):
        return None
    if isinstance(found, JointWitness):
        rows = criteria_of(fit, found.capacity)
        return chances_of(found, rows) if found.directions.shape[1] == rows.n_criteria else None
    if fit.asked is not None:
        return None
    function = fit.function(found.capacity)
    moved = np.zeros(function.scores.n_rows)
    for q, share in zip(found.directions, found.shares, strict=True):
        moved += share * function.selected(q)
    return np.clip(function.scores.averaged(function.scores.chances(moved)), 0.0, 1.0)
