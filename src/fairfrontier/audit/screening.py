"""The third stage of a plan: which candidates become covariates, which are left out and why, and what to note."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from ..data.columns import Kind, judge_codes, numbers_of
from ..data.declared import declared_column
from ..data.grouping import CROSS
from ..data.losses import get_loss
from ..data.messages import COMMAND_LINE
from ..data.suspects import (
    Candidate,
    Reference,
    area_under_curve,
    copy_reason,
    identifier_reason,
    leak_reason,
    make_candidate,
)
from ..errors import InputError
from .inputs import algorithms_of, outcome_of
from .request import AuditRequest
from .roles import Roles
from .rows import Rows

MOST_CATEGORIES = 100
"""Text columns with more different values are left out."""
MOST_MISSING = 0.5
"""Covariates with a larger share of missing values are left out."""
STRONG_AREA = 0.95
"""From this area under the curve for the outcome on, a covariate is noted as a very good predictor."""
SCORE_AREA = 0.9999
"""From this area under the curve for the decisions on, a covariate is noted as the score behind them."""


def _unusable(candidate: Candidate, reference: Reference) -> str:
    values = candidate.values
    if not len(values):
        return "all of its values are missing"
    if not candidate.comparable:
        return "its values are lists or the like"
    return "constant" if candidate.different < 2 else ""


def _infinite(candidate: Candidate, reference: Reference) -> str:
    infinite = candidate.numeric and not np.isfinite(numbers_of(candidate.values)).all()
    return "it has infinite values" if infinite else ""


def _mostly_missing(candidate: Candidate, reference: Reference) -> str:
    gaps = len(candidate.present) - len(candidate.values)
    mostly = gaps > MOST_MISSING * len(candidate.present)
    return f"{gaps / len(candidate.present):.0%} of its values are missing" if mostly else ""


def _free_text(candidate: Candidate, reference: Reference) -> str:
    many = candidate.kind is Kind.CATEGORY and candidate.different > MOST_CATEGORIES
    return f"text with {candidate.different:,} different values" if many else ""


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
    Screen(copy_reason, mistake=True, named_too=True),
    Screen(identifier_reason, mistake=False, named_too=False),
    Screen(_free_text, mistake=False, named_too=False),
    Screen(leak_reason, mistake=True, named_too=False),
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
    maps covariates to remarks, and ``kinds`` maps those that are not used as they stand to words on how they are used.
    """

    covariates: tuple[str, ...]
    excluded: Mapping[str, str]
    warned: tuple[str, ...]
    noted: Mapping[str, str]
    kinds: Mapping[str, str]


def make_reference(table: pd.DataFrame, roles: Roles, rows: Rows, request: AuditRequest) -> Reference:
    """Gather what covariates are compared with, in the rows in use."""
    used = table.loc[rows.used]
    binary = get_loss(request.loss).binary_outcome
    outcome = outcome_of(used, request)
    return Reference(
        columns={column: used[column] for column in roles.by_column},
        outcome=outcome if binary else None,
        outcome_name=request.outcome,
        group_codes=rows.code[rows.used],
        group_name=CROSS.join(request.group),
        n_groups=len(rows.groups),
        decisions=algorithms_of(used, request, rows.at, rows.group, roles.models),
        numbers=None if binary else outcome,
        others=used,
        interface=COMMAND_LINE,
    )


def screen_columns(table: pd.DataFrame, roles: Roles, rows: Rows, request: AuditRequest) -> Screening:
    """Decide on every candidate, from the rows in use."""
    reference = make_reference(table, roles, rows, request)
    excluded = dict.fromkeys(roles.unwanted, "named in --exclude")
    warned, noted, kinds, covariates = [], {}, {}, []
    for column in roles.candidates:
        shown = declared_column(table.loc[rows.used, column], roles.declared)
        candidate = make_candidate(shown)
        reason, mistake = reason_to_exclude(candidate, reference, roles.named)
        if reason:
            excluded[column] = reason
            warned += [column] * mistake
            continue
        covariates.append(column)
        if remark := remarks(candidate, reference):
            noted[column] = remark
        if words := kind_in_words(shown, candidate, reference):
            kinds[column] = words
    if not covariates:
        raise _no_covariate(excluded.items())
    return Screening(tuple(covariates), excluded, tuple(warned), noted, kinds)


def kind_in_words(column: pd.Series, candidate: Candidate, reference: Reference) -> str:
    """Say how a covariate is used, and why, unless that is plain; from all rows, while learners decide on their own."""
    if candidate.kind is Kind.DATE or candidate.kind is Kind.DURATION:
        return "dates, used as numbers of days" if candidate.kind is Kind.DATE else "durations, used as numbers of days"
    if candidate.kind is not Kind.INTEGER:
        return ""
    values = numbers_of(column)
    outcome = reference.numbers if reference.outcome is None else reference.outcome
    for name, target in ((reference.outcome_name, outcome), (reference.group_name, reference.group_codes)):
        codes = judge_codes(values, target)
        if codes.coded:
            return (
                f"{codes.n_levels} integers, used as codes of categories: {name!r} neither rises nor falls "
                f"steadily with them (p = {codes.p_value:.1g} for a steady relation); "
                f"--numeric {candidate.name} if they are quantities"
            )
    return ""


def _no_covariate(excluded: Iterable[tuple[str, str]]) -> InputError:
    reasons = "; ".join(f"{column}: {why}" for column, why in list(excluded)[:8])
    return InputError(
        "bad-features",
        f"No covariate is left ({reasons or 'the file has no other columns'}). Name some with --features.",
    )
