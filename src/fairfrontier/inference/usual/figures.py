"""The table of usual figures: rates, differences, ratios and significance tests by group, with what they say."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from ...arrays import FloatArray, IntArray
from ...data.number_formats import confidence_text, number_text, p_value_text, share_text
from ...data.reading import Label
from ...data.result import ExplainedResult, PlainDict, labels, plain_items
from ..p_values import holm
from .proportions import (
    Mean,
    Rate,
    difference_interval,
    fisher_exact,
    mean_of,
    rate_of,
    ratio_interval,
    standardised_difference,
    two_proportions_z,
)

FOUR_FIFTHS = 0.8
"""The line of the rule of thumb for ratios of selection rates."""
LIMITS = {
    "z": "The z-test and Fisher's exact test ask whether a difference in selection rates is more than chance, given "
    "independent people. They do not ask how large it is, nor whether outcomes explain it: with many people small "
    "differences are significant, with few people large ones are not.",
    "ratio": "Four fifths is a rule of thumb for the ratio of selection rates in United States employment practice, "
    "not a test: it is missed by chance in small samples, and says nothing about accuracy or about the outcome.",
    "errors": "False positive and false negative rates compare people with the same outcome. They presume that "
    "outcomes are measured alike in all groups and known for all rows.",
    "score": "The standardised mean difference compares scores, not decisions: where the threshold lies does not "
    "count.",
}
"""What each figure says and does not say."""


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows as the figures need them: group codes, weights, and if there are any outcomes of 0 or 1 and clusters.

    ``people``: how many people who are alike each row stands for; None for one.
    """

    group: IntArray
    weight: FloatArray
    weighted: bool
    clusters: IntArray | None
    y: FloatArray | None
    people: FloatArray | None = None

    def rate(self, a: FloatArray, at: IntArray, among: FloatArray | None = None) -> Rate:
        """The rate of chances ``a`` (n,) in the rows ``at``, or of those that are ``among`` (n,) some people."""
        clusters = None if self.clusters is None else self.clusters[at]
        people, own = (None if each is None else each[at] for each in (self.people, among))
        return rate_of(a[at], self.weight[at], clusters, weighted=self.weighted, among=own, people=people)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class UsualFigures(ExplainedResult):
    """Usual figures of one algorithm: one line of ``table`` per group, in the order of ``groups``.

    Columns: ``rows``; ``selection rate``, its ``difference`` and ``ratio`` to the ``reference`` group, each with limits
    ``low`` and ``high`` of level 1 - alpha; ``z``, ``p z`` of the two-proportion z-test, ``p fisher`` of Fisher's exact
    test, and the same adjusted for the number of groups by Holm's method; ``below four fifths``; ``false positive
    rate`` and ``false negative rate`` for an outcome of 0 or 1, ``standardised difference`` of a score if there is one.
    What is not defined is not a number. ``chosen``: whether the reference is simply the group with the highest rate.
    """

    name: str
    groups: tuple[Label, ...]
    reference: Label
    chosen: bool
    alpha: float
    table: pd.DataFrame

    @property
    def heading(self) -> str:
        """One line that says what this is."""
        return f"Usual figures of {self.name}, compared with group {self.reference}"

    def _facts(self) -> dict[str, object]:
        return {
            "algorithm": self.name,
            "groups": labels(self.groups),
            "reference": str(self.reference),
            "alpha": self.alpha,
            "selection_rate": self.table["selection rate"].to_numpy(),
            "ratio": self.table["ratio"].to_numpy(),
        }

    def to_dict(self) -> PlainDict:
        """Return plain numbers and text for JSON, with the table line by line."""
        return plain_items(self._facts() | {"table": self.table})

    def to_frame(self) -> pd.DataFrame:
        """Return the table."""
        return self.table

    def _frame(self) -> pd.DataFrame:
        return self.table

    def sentences(self) -> list[str]:
        """Say what the figures are, group by group, and what they do not say."""
        lines = [self._of(label) for label in self.groups if label != self.reference]
        n = len(self.groups) - 1
        together = (
            f"{n} groups are compared with the same reference: adjusted p-values allow for that, intervals "
            f"({confidence_text(self.alpha)} each) do not."
        )
        chosen = (
            "The reference is the group with the highest rate in these rows, which makes differences look larger."
            if self.chosen and n > 1
            else ""
        )
        said = [LIMITS["z"], LIMITS["ratio"]]
        said += [LIMITS["errors"]] * ("false positive rate" in self.table)
        said += [LIMITS["score"]] * ("standardised difference" in self.table)
        return [*lines, *([together] if n > 1 else []), *([chosen] if chosen else []), *said]

    def _of(self, label: Label) -> str:
        row, base = (self.table.iloc[self.groups.index(own)] for own in (label, self.reference))
        fifths = "" if not bool(row["below four fifths"]) else ", below four fifths"
        tests = [
            f"{name} {p_value_text(float(row[column]), self.alpha)}"
            for name, column in (("z-test", "p z adjusted"), ("Fisher's exact test", "p fisher adjusted"))
            if np.isfinite(row[column])
        ]
        found = f"; p-values: {', '.join(tests)}" if tests else "; no test of a difference is defined"
        return (
            f"Group {label}: {share_text(float(row['selection rate']))} selected, against "
            f"{share_text(float(base['selection rate']))} of group {self.reference}; ratio "
            f"{number_text(float(row['ratio']), 3)} ({number_text(float(row['ratio low']), 3)} to "
            f"{number_text(float(row['ratio high']), 3)}){fifths}{found}."
        )


def usual_figures(
    name: str,
    a: FloatArray,
    rows: Rows,
    groups: tuple[Label, ...],
    *,
    reference: int | None = None,
    score: FloatArray | None = None,
    alpha: float = 0.05,
) -> UsualFigures:
    """The usual figures of decisions ``a`` (n,), chances in [0, 1]; the reference is by default the highest rate's."""
    each = [np.flatnonzero(rows.group == g) for g in range(len(groups))]
    rates = [rows.rate(a, at) for at in each]
    base = int(np.argmax([rate.value for rate in rates])) if reference is None else reference
    table = pd.DataFrame(
        {"rows": [len(at) if rows.people is None else int(rows.people[at].sum()) for at in each]},
        index=pd.Index(groups, name="group"),
    )
    _add(table, "selection rate", rates, alpha)
    compared = [_compare(rate, rates[base], alpha, own=g == base) for g, rate in enumerate(rates)]
    table = pd.concat([table, pd.DataFrame(compared, index=table.index)], axis=1)
    _add_adjusted(table, base)
    if rows.y is not None:
        for column, wrong, outcome in (("false positive rate", a, 0.0), ("false negative rate", 1.0 - a, 1.0)):
            among = (rows.y == outcome).astype(np.float64)
            _add(table, column, [rows.rate(wrong, at, among) for at in each], alpha)
    if score is not None:
        means = [
            mean_of(score[at], rows.weight[at], None if rows.clusters is None else rows.clusters[at]) for at in each
        ]
        _add_standardised(table, means, base, alpha)
    return UsualFigures(name, groups, groups[base], reference is None, alpha, table)


def _add(table: pd.DataFrame, column: str, rates: list[Rate], alpha: float) -> None:
    intervals = [rate.interval(alpha) for rate in rates]
    table[column] = [rate.value for rate in rates]
    table[f"{column} low"], table[f"{column} high"] = zip(*intervals, strict=True)


def _add_adjusted(table: pd.DataFrame, base: int) -> None:
    """Add p-values adjusted by Holm's method for all groups that are compared with the one at ``base``."""
    others = np.arange(len(table)) != base
    for test in ("p z", "p fisher"):
        known = others & np.isfinite(table[test].to_numpy())
        adjusted = np.full(len(table), np.nan)
        adjusted[known] = holm(table[test].to_numpy()[known])
        table[f"{test} adjusted"] = adjusted


def _add_standardised(table: pd.DataFrame, means: list[Mean], base: int, alpha: float) -> None:
    """Add the standardised differences of mean scores to that of the group at ``base``, with limits."""
    found = [standardised_difference(mean, means[base], alpha) for mean in means]
    names = ("standardised difference", "standardised difference low", "standardised difference high")
    for k, column in enumerate(names):
        table[column] = [np.nan if g == base and k else row[k] for g, row in enumerate(found)]


def _compare(rate: Rate, base: Rate, alpha: float, *, own: bool) -> dict[str, float | bool]:
    """Difference, ratio and tests of one group beside the reference; of the reference itself there are none."""
    ratio = rate.value / base.value if base.value > 0.0 else np.nan
    low, high = (np.nan, np.nan) if own else difference_interval(rate, base, alpha)
    ratio_low, ratio_high = (np.nan, np.nan) if own else ratio_interval(rate, base, alpha)
    z, p = (np.nan, np.nan) if own else two_proportions_z(rate, base)
    return {
        "difference": rate.value - base.value,
        "difference low": low,
        "difference high": high,
        "ratio": ratio,
        "ratio low": ratio_low,
        "ratio high": ratio_high,
        "below four fifths": bool(ratio < FOUR_FIFTHS),
        "z": z,
        "p z": p,
        "p fisher": np.nan if own else fisher_exact(rate, base),
    }
