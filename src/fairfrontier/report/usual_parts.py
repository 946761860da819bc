"""Fills the usual figures of a record, and follows the sequence of a dispute in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ..arrays import ArrayLike, FloatArray
from ..data.algorithms import Algorithms
from ..data.number_formats import p_value_text
from ..data.reading import Label
from ..inference.fan.result import JointLDATest
from ..inference.lda.result import LDATest
from ..inference.p_values import holm
from ..inference.usual.figures import Rows, UsualFigures
from ..inference.usual.proportions import two_proportions_z
from ..inference.usual.questions import alternative_chances, figures_of, rows_of
from .basis import finite, interval
from .usual_record import RateRecord, UsualLine, UsualRecord
from .values import Interval

if TYPE_CHECKING:
    from ..estimator import FairFrontier

SMALL = 5.0
"""Expected number in a cell of the table below which the exact test is the one to quote."""
NOT_LEGAL = "This is evidence, not a legal finding: which disparity matters, and what justifies it, the law decides."


def usual(
    ff: FairFrontier,
    a: FloatArray,
    test: LDATest | JointLDATest,
    *,
    reference: Label | None = None,
    score: ArrayLike | None = None,
) -> UsualRecord:
    """The usual figures of decisions ``a`` (n,) in the rows used, and of the alternative that a test has found."""
    figures = _figures(ff, test.name, a, reference, score)
    w, alternative = test.witness, None
    if w is not None and w.changed is None:
        alternative = _figures(ff, "the alternative", alternative_chances(ff.fit_, w), figures.reference)
    return UsualRecord(
        reference=str(figures.reference),
        algorithm=lines(figures),
        alternative=() if alternative is None else lines(alternative),
        sentences=tuple(figures.sentences()),
        sequence=tuple(sequence(ff, a, figures, test)),
    )


def _figures(
    ff: FairFrontier, name: str, a: FloatArray, reference: Label | None, score: ArrayLike | None = None
) -> UsualFigures:
    one = Algorithms((name,), a[None], np.empty((0, 2)), True)
    return figures_of(ff.fit_, one, reference=reference, score=score, alpha=ff.alpha)[name]


def lines(figures: UsualFigures) -> tuple[UsualLine, ...]:
    """One line for each group."""
    table = figures.table
    return tuple(_line(figures, label, table.iloc[k]) for k, label in enumerate(figures.groups))


def _line(figures: UsualFigures, label: Label, row: pd.Series) -> UsualLine:
    return UsualLine(
        group=str(label),
        rows=int(row["rows"]),
        selection=_rate(row, "selection rate"),
        difference=float(row["difference"]),
        difference_interval=_limits(row, "difference"),
        ratio=finite(row["ratio"]),
        ratio_interval=_limits(row, "ratio"),
        below_four_fifths=bool(row["below four fifths"]),
        z_p_value=_p_value(row["p z adjusted"]),
        fisher_p_value=_p_value(row["p fisher adjusted"]),
        false_positives=_rate(row, "false positive rate") if "false positive rate" in row else None,
        false_negatives=_rate(row, "false negative rate") if "false negative rate" in row else None,
        standardised_difference=finite(row["standardised difference"]) if "standardised difference" in row else None,
    )


def _p_value(value: float) -> float | None:
    """A p-value that is not too small to be written, if there is one."""
    return max(float(value), float(np.finfo(float).tiny)) if np.isfinite(value) else None


def _rate(row: pd.Series, name: str) -> RateRecord:
    return RateRecord(rate=finite(row[name]), interval=_limits(row, name))


def _limits(row: pd.Series, name: str) -> Interval:
    return interval((row[f"{name} low"], row[f"{name} high"]))


def sequence(ff: FairFrontier, a: FloatArray, figures: UsualFigures, test: LDATest | JointLDATest) -> list[str]:
    """The steps of a dispute: a disparity in selection, whether the outcome explains it, an alternative as good."""
    return [
        f"1. Is there a disparity in selection? {_disparity(figures)}",
        f"2. Is it explained by the outcome? {_explained(ff, a, figures)}",
        f"3. Is there an alternative as good? {test.question} {_alternative(test)}",
        NOT_LEGAL,
    ]


def _disparity(figures: UsualFigures) -> str:
    alpha, base = figures.alpha, figures.groups.index(figures.reference)
    table = figures.table.iloc[[k for k in range(len(figures.groups)) if k != base]]
    found, other = [], figures.table.iloc[base]
    for label, row in table.iterrows():
        exact = _expected(row, other) < SMALL and np.isfinite(row["p fisher adjusted"])
        name, p = ("Fisher's exact test", row["p fisher adjusted"]) if exact else ("z-test", row["p z adjusted"])
        if not np.isfinite(p):
            found.append(f"group {label}: no test is defined, because all or none are selected")
            continue
        beyond = "beyond chance" if p <= alpha else "not beyond chance"
        thumb = ", and the ratio is below the rule of thumb of four fifths" if row["below four fifths"] else ""
        found.append(f"group {label}: {beyond} ({name}, p-value {p_value_text(float(p), alpha)}){thumb}")
    return f"Compared with group {figures.reference}, {'; '.join(found)}."


def _expected(row: pd.Series, base: pd.Series) -> float:
    """The smallest number of people selected, or not selected, that equal rates lead one to expect in a group."""
    rows = np.array([row["rows"], base["rows"]], dtype=np.float64)
    pooled = float(rows @ np.array([row["selection rate"], base["selection rate"]])) / float(rows.sum())
    return float(rows.min()) * min(pooled, 1.0 - pooled)


def _explained(ff: FairFrontier, a: FloatArray, figures: UsualFigures) -> str:
    """Whether people with the same outcome are selected at different rates."""
    rows = rows_of(ff.fit_)
    if rows.y is None:
        return "Outcomes are not 0 and 1, so that people with the same outcome cannot be compared here."
    base, said = figures.groups.index(figures.reference), []
    p = np.array([_among_outcome(a, rows, outcome, base) for outcome in (1.0, 0.0)])
    known = np.isfinite(p)
    p[known] = holm(p[known])  # over groups and both outcomes
    for outcome, own in zip((1.0, 0.0), p, strict=True):
        least = float(np.nanmin(own)) if np.isfinite(own).any() else np.nan
        if not np.isfinite(least):
            said.append(f"among people with outcome {outcome:.0f} no test is defined")
            continue
        differ = "differ beyond chance" if least <= figures.alpha else "do not differ beyond chance"
        said.append(
            f"among people with outcome {outcome:.0f} selection rates {differ} (p-value "
            f"{p_value_text(least, figures.alpha)})"
        )
    return (
        f"{'; '.join(said).capitalize()}. P-values are adjusted for all these comparisons. Rates that differ among "
        "people with the same outcome are not explained by the outcome alone; where they do not differ the sample may "
        "be too small."
    )


def _among_outcome(a: FloatArray, rows: Rows, outcome: float, base: int) -> list[float]:
    """P-values of equal selection rates among people with an outcome, for every group other than ``base``."""
    assert rows.y is not None
    among, rates = (rows.y == outcome).astype(np.float64), []
    for g in range(int(rows.group.max()) + 1):
        rates.append(rows.rate(a, np.flatnonzero(rows.group == g), among))
    return [two_proportions_z(rate, rates[base])[1] for g, rate in enumerate(rates) if g != base]


def _alternative(test: LDATest | JointLDATest) -> str:
    p = p_value_text(test.deciding_p_value, test.alpha)
    return {
        "lda-shown": f"Yes, one is shown to exist (p-value {p}).",
        "no-evidence": f"There is no evidence of one (p-value {p}), which does not show that there is none.",
        "not-comparable": "No verdict: the algorithm does better than what is estimated to be attainable.",
    }[test.verdict]
