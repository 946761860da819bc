"""The third stage of a plan: which candidates become covariates, which are left out and why, and what to note."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from ..arrays import BoolArray, FloatArray, IntArray
from ..data.losses import get_loss
from ..errors import InputError
from .columns import FEW_ROWS, area_under_curve, dates, hashable, is_copy, largest_area
from .inputs import algorithms_of, outcome_of
from .request import AuditRequest
from .roles import Roles
from .rows import Rows

MOST_CATEGORIES = 100
"""Text columns with more different values are left out."""
MOST_MISSING = 0.5
"""Covariates with a larger share of missing values are left out; otherwise rows with gaps are dropped."""
LEAK_AREA = 0.995
"""From this area under the curve for outcome or group on, a covariate is suspected to be a leak."""
STRONG_AREA = 0.95
"""From this area under the curve for the outcome on, a covariate is noted as a very good predictor."""
SCORE_AREA = 0.9999
"""From this area under the curve for the decisions on, a covariate is noted as the score behind them."""


@dataclass(frozen=True, slots=True)
class Reference:
    """What covariates are compared with: columns with a role, outcome if it is 0/1, groups and decisions."""

    columns: Mapping[str, pd.Series]
    outcome: FloatArray | None
    outcome_name: str
    group_codes: IntArray
    group_name: str
    n_groups: int
    decisions: Mapping[str, FloatArray]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A column that may become a covariate: its values without gaps, where they are, and how many differ."""

    values: pd.Series
    present: BoolArray
    comparable: bool
    different: int

    @property
    def numeric(self) -> bool:
        """Whether the values are numbers."""
        return bool(pd.api.types.is_numeric_dtype(self.values))


def make_candidate(column: pd.Series) -> Candidate:
    """Look at a column."""
    values = column.dropna().infer_objects()
    comparable = hashable(values)
    return Candidate(values, column.notna().to_numpy(), comparable, int(values.nunique()) if comparable else 0)


def _unusable(candidate: Candidate, reference: Reference) -> str:
    values = candidate.values
    if not len(values):
        return "all of its values are missing"
    if not candidate.comparable:
        return "its values are lists or the like"
    if candidate.different < 2:
        return "constant"
    if pd.api.types.is_datetime64_any_dtype(values) or pd.api.types.is_timedelta64_dtype(values):
        return "a date or duration; turn it into a number, such as days since a date"
    return ""


def _infinite(candidate: Candidate, reference: Reference) -> str:
    infinite = candidate.numeric and not np.isfinite(candidate.values.to_numpy(dtype=float)).all()
    return "it has infinite values" if infinite else ""


def _mostly_missing(candidate: Candidate, reference: Reference) -> str:
    gaps = len(candidate.present) - len(candidate.values)
    mostly = gaps > MOST_MISSING * len(candidate.present)
    return f"{gaps / len(candidate.present):.0%} of its values are missing" if mostly else ""


def _copy(candidate: Candidate, reference: Reference) -> str:
    values, present = candidate.values, candidate.present
    for name, column in reference.columns.items():
        if is_copy(values, column[present]):
            return f"a copy of {name!r}, possibly with other labels"
    for name, decisions in reference.decisions.items():
        if is_copy(values, pd.Series(decisions[present], index=values.index)):
            return f"a copy of the decisions {name!r}"
    return ""


def _date_as_text(candidate: Candidate, reference: Reference) -> str:
    is_date = not candidate.numeric and dates(candidate.values)
    return "a date; turn it into a number, such as days since a date" if is_date else ""


def _identifier(candidate: Candidate, reference: Reference) -> str:
    values = candidate.values
    integers = not candidate.numeric or bool((values.to_numpy(dtype=float) % 1.0 == 0.0).all())
    distinct = candidate.different == len(values) and len(candidate.present) >= FEW_ROWS
    return "every value is different: an identifier" if integers and distinct else ""


def _free_text(candidate: Candidate, reference: Reference) -> str:
    many = not candidate.numeric and candidate.different > MOST_CATEGORIES
    return f"text with {candidate.different:,} different values" if many else ""


def _leak(candidate: Candidate, reference: Reference) -> str:
    values, present = candidate.values, candidate.present
    if reference.outcome is not None and area_under_curve(values, reference.outcome[present]) >= LEAK_AREA:
        return f"suspected leak: by itself it nearly determines {reference.outcome_name!r}"
    if largest_area(values, reference.group_codes[present], reference.n_groups) >= LEAK_AREA:
        return f"suspected leak: by itself it nearly determines {reference.group_name!r}"
    return ""


@dataclass(frozen=True, slots=True)
class Screen:
    """One reason to leave a column out.

    ``reason`` returns the reason in words, "" if it does not apply. ``mistake``: whether such a column looks like a
    mistake. ``named_too``: whether the reason also holds for columns that the request names as covariates; to leave
    one of those out always looks like a mistake.
    """

    reason: Callable[[Candidate, Reference], str]
    mistake: bool
    named_too: bool


SCREENS = (
    Screen(_unusable, mistake=False, named_too=True),
    Screen(_infinite, mistake=True, named_too=True),
    Screen(_mostly_missing, mistake=False, named_too=True),
    Screen(_copy, mistake=True, named_too=True),
    Screen(_date_as_text, mistake=False, named_too=False),
    Screen(_identifier, mistake=False, named_too=False),
    Screen(_free_text, mistake=False, named_too=False),
    Screen(_leak, mistake=True, named_too=False),
)
"""Reasons to leave a column out; the first that applies is reported."""


def reason_to_exclude(candidate: Candidate, reference: Reference, named: bool) -> tuple[str, bool]:
    """Return why a column is left out, "" if it is not, and whether that looks like a mistake."""
    for screen in SCREENS:
        if screen.named_too or not named:
            reason = screen.reason(candidate, reference)
            if reason:
                return reason, screen.mistake or named
    return "", False


def remarks(candidate: Candidate, reference: Reference) -> str:
    """Return what to note about a covariate; "" if there is nothing."""
    values, present = candidate.values, candidate.present
    found = []
    for name, decisions in reference.decisions.items():
        if area_under_curve(values, decisions[present]) >= SCORE_AREA:
            found.append(f"it determines the decisions {name!r}, like a score; --exclude it if rules may not use it")
            break
    if reference.outcome is not None:
        area = area_under_curve(values, reference.outcome[present])
        if area >= STRONG_AREA:
            found.append(
                f"by itself it predicts {reference.outcome_name!r} very well (area under the curve {area:.2f}); "
                "--exclude it if it is known only after the decision"
            )
    return "; ".join(found)


@dataclass(frozen=True, slots=True)
class Screening:
    """The covariates, and the columns that are left out or need a remark.

    ``excluded`` maps columns to the reasons why they are left out; those in ``warned`` look like mistakes. ``noted``
    maps covariates to remarks.
    """

    covariates: tuple[str, ...]
    excluded: Mapping[str, str]
    warned: tuple[str, ...]
    noted: Mapping[str, str]


def make_reference(table: pd.DataFrame, roles: Roles, rows: Rows, request: AuditRequest) -> Reference:
    """Gather what covariates are compared with, in the rows in use."""
    used = table.loc[rows.used]
    return Reference(
        columns={column: used[column] for column in roles.by_column},
        outcome=outcome_of(used, request) if get_loss(request.loss).binary_outcome else None,
        outcome_name=request.outcome,
        group_codes=rows.code[rows.used],
        group_name=request.group,
        n_groups=len(rows.groups),
        decisions=algorithms_of(used, request, np.flatnonzero(rows.used)),
    )


def screen_columns(table: pd.DataFrame, roles: Roles, rows: Rows, request: AuditRequest) -> Screening:
    """Decide on every candidate, from the rows in use."""
    reference = make_reference(table, roles, rows, request)
    excluded = dict.fromkeys(roles.unwanted, "named in --exclude")
    warned, noted, covariates = [], {}, []
    for column in roles.candidates:
        candidate = make_candidate(table.loc[rows.used, column])
        reason, mistake = reason_to_exclude(candidate, reference, roles.named)
        if reason:
            excluded[column] = reason
            warned += [column] * mistake
            continue
        covariates.append(column)
        if remark := remarks(candidate, reference):
            noted[column] = remark
    if not covariates:
        raise _no_covariate(excluded.items())
    return Screening(tuple(covariates), excluded, tuple(warned), noted)


def _no_covariate(excluded: Iterable[tuple[str, str]]) -> InputError:
    reasons = "; ".join(f"{column}: {why}" for column, why in list(excluded)[:8])
    return InputError(
        "bad-features",
        f"No covariate is left ({reasons or 'the file has no other columns'}). Name some with --features.",
    )
