"""Columns that look like mistakes: identifiers, copies of outcome, group or decision, leaks; the same for all users.

An audit of a file leaves such columns out, `FairFrontier.fit` warns about them.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from scipy import stats

from ..arrays import BoolArray, FloatArray, IntArray
from ..errors import ColumnsWarning
from .columns import (
    MOST_CLASSES,
    MOST_CODES,
    Kind,
    as_labels,
    days_of,
    hashable,
    holds_integers,
    kind_of,
    level_codes,
    numbers_of,
)
from .messages import PYTHON, Interface
from .reading import Table

FEW_ROWS = 20
"""With fewer rows, values that are all different are not an identifier; with fewer rows per label, text predicts
nothing."""
LEAK_AREA = 0.995
"""From this area under the curve for outcome or group on, a covariate is suspected to be a leak."""
LEAK_ACCURACY = 0.97
"""The same for the balanced accuracy of a column with few values."""
MANY_VALUES, VALUES_PER_ROW = 100, 0.1
"""An identifier that repeats has more different values than this, and more than this per row."""
MOST_ROWS = 50_000
"""Rows of a fit in which mistakes are looked for."""
PAIRS = 2000
"""Pairs of rows with the same value that are compared, at most."""
FEWEST_PAIRS = 10
ALIKE, ALIKE_COLUMNS, FEWEST_ALIKE = 0.5, 0.4, 3
"""Rows with the same value are alike in a column if they agree so much beyond chance; in so many columns, at least so
many, if the values are identifiers."""


@dataclass(frozen=True, slots=True)
class Reference:
    """What covariates are compared with: columns with a role, outcome, groups and decisions.

    ``outcome`` is None, 0/1, or ``numbers`` with more values.
    """

    columns: Mapping[str, pd.Series]
    outcome: FloatArray | None
    outcome_name: str
    group_codes: IntArray
    group_name: str
    n_groups: int
    decisions: Mapping[str, FloatArray] = field(default_factory=dict)
    numbers: FloatArray | None = None
    others: pd.DataFrame | None = None
    interface: Interface = PYTHON


@dataclass(frozen=True, slots=True)
class Candidate:
    """A column that may become a covariate: its values without gaps, where they are, how many differ, and its kind."""

    values: pd.Series
    present: BoolArray
    comparable: bool
    different: int
    kind: Kind
    name: Hashable = None

    @property
    def numeric(self) -> bool:
        """Whether the values are numbers."""
        return self.kind in (Kind.NUMBER, Kind.INTEGER)


Reason = Callable[[Candidate, Reference], str]
"""Says why a column looks like a mistake; "" if it does not."""


def make_candidate(column: pd.Series) -> Candidate:
    """Look at a column."""
    values = column.dropna().infer_objects()
    comparable = hashable(values)
    different = int(values.nunique()) if comparable else 0
    kind = kind_of(values) if comparable else Kind.CATEGORY
    return Candidate(values, column.notna().to_numpy(), comparable, different, kind, column.name)


# --- what a column says about a target --------------------------------------------------------------------------


def area_under_curve(values: pd.Series, target: FloatArray) -> float:
    """How well a column by itself predicts a 0/1 target: area under the ROC curve, the larger one of either sign.

    Text is replaced by the mean of the target among the rows with the same text. The area is 0.5 if the target is
    constant, or if text has too few rows per label.
    """
    positives = float(target.sum())
    negatives = len(target) - positives
    if not (positives and negatives):
        return 0.5
    kind = kind_of(values)
    if kind is Kind.CATEGORY:
        codes, labels = pd.factorize(values)
        if len(values) < FEW_ROWS * len(labels):
            return 0.5
        ranks = stats.rankdata((np.bincount(codes, weights=target) / np.bincount(codes))[codes])
    else:
        ranks = stats.rankdata(days_of(values) if kind in (Kind.DATE, Kind.DURATION) else numbers_of(values))
    area = (float(ranks @ target) - positives * (positives + 1.0) / 2.0) / (positives * negatives)
    return max(area, 1.0 - area)


def largest_area(values: pd.Series, codes: IntArray, n_groups: int) -> float:
    """Return how well a column predicts any one group against all others: the largest of the areas."""
    targets = range(n_groups if n_groups > 2 else 1)  # of two groups, each is the other's complement
    return max(area_under_curve(values, np.asarray(codes == code, dtype=float)) for code in targets)


def balanced_accuracy(level: IntArray, target: IntArray) -> float:
    """Return the mean over the classes of a target of the share of rows that the level predicts rightly.

    Each level predicts the class in which it is most common, relative to the size of the class; levels with few rows
    are one level together. 0 if the target has a single class.

    Parameters
    ----------
    level : integer array (n,)
        Level of every row, from 0.
    target : integer array (n,)
        Class of every row, from 0.
    """
    rare = np.bincount(level) < FEW_ROWS
    level = np.where(rare[level], len(rare), level)
    classes, target = np.unique(target, return_inverse=True)
    if len(classes) < 2:
        return 0.0
    table = np.zeros((len(rare) + 1, len(classes)))
    np.add.at(table, (level, target), 1.0)
    shares = table / table.sum(axis=0)
    # sum over levels of max_g P(level | g), divided by the number of classes
    return float(shares.max(axis=1).sum() / len(classes))


def determines(candidate: Candidate, target: IntArray) -> bool:
    """Whether a column with few values nearly determines the classes of a target, in the rows where it is present."""
    few = candidate.different <= MOST_CODES and len(candidate.values) >= FEW_ROWS * candidate.different
    if not few or len(np.unique(target)) < 2:
        return False
    return balanced_accuracy(level_codes(candidate.values)[0], target) >= LEAK_ACCURACY


def is_copy(one: pd.Series, other: pd.Series) -> bool:
    """Whether two columns carry the same information: each value of one goes with one value of the other.

    If all values are different that holds of any two columns; then their order, or their text, must agree.
    """
    if not hashable(other):
        return False
    a, b = pd.factorize(one)[0], pd.factorize(other)[0]
    different = len(np.unique(a))
    if not len(np.unique(_pair_codes(a, b))) == different == len(np.unique(b)):
        return False
    if different < len(a):
        return True
    if pd.api.types.is_numeric_dtype(one) and pd.api.types.is_numeric_dtype(other):
        order = np.diff(numbers_of(other)[np.argsort(numbers_of(one))])
        return bool((order > 0.0).all() or (order < 0.0).all())
    return bool((as_labels(one) == as_labels(other)).all())


def _pair_codes(a: IntArray, b: IntArray) -> IntArray:
    return np.asarray(a * (int(b.max(initial=0)) + 1) + b, dtype=np.intp)


def is_binned(candidate: Candidate, outcome: FloatArray) -> bool:
    """Whether a column with few values is an outcome of many values cut at thresholds."""
    if not 2 <= candidate.different <= MOST_CLASSES or len(candidate.values) < FEW_ROWS * candidate.different:
        return False
    level = level_codes(candidate.values)[0]
    if candidate.different == 2:
        return area_under_curve(pd.Series(outcome), level.astype(np.float64)) >= LEAK_AREA
    ordered = level[np.lexsort((level, outcome))]
    return int(np.count_nonzero(np.diff(ordered))) == candidate.different - 1


# --- reasons, in words -------------------------------------------------------------------------------------------


def copy_reason(candidate: Candidate, reference: Reference) -> str:
    """Say of what a column is a copy; "" if of nothing."""
    values, present = candidate.values, candidate.present
    for name, column in reference.columns.items():
        if is_copy(values, column[present]):
            return f"a copy of {name!r}, possibly with other labels"
    for name, decisions in reference.decisions.items():
        if is_copy(values, pd.Series(decisions[present], index=values.index)):
            return f"a copy of the decisions {name!r}"
    if reference.numbers is not None and is_binned(candidate, reference.numbers[present]):
        return f"a copy of {reference.outcome_name!r}, cut at a threshold"
    return ""


def identifier_reason(candidate: Candidate, reference: Reference) -> str:
    """Say why a column is an identifier; "" if it is none."""
    values, n = candidate.values, len(candidate.present)
    whole = candidate.kind is Kind.CATEGORY or (candidate.numeric and holds_integers(numbers_of(values)))
    if not whole or n < FEW_ROWS:
        return ""
    if candidate.different == len(values):
        return "every value is different: an identifier"
    many = candidate.different > max(MANY_VALUES, VALUES_PER_ROW * len(values))
    if many and reference.others is not None and is_repeated_identifier(candidate, reference.others):
        option = reference.interface.option("clusters", str(candidate.name))
        return (
            "an identifier that repeats: rows with the same value are alike in most other columns. If it stands for a "
            f"person or a place with several rows, give {option}"
        )
    return ""


def is_repeated_identifier(candidate: Candidate, others: pd.DataFrame) -> bool:
    """Whether rows with the same value agree in most other columns, far beyond chance.

    Parameters
    ----------
    candidate : Candidate
        A column with many values, some of which repeat.
    others : DataFrame (n, p)
        Other columns of the same rows.
    """
    codes = pd.factorize(candidate.values)[0]
    order = np.argsort(codes, kind="stable")
    same = np.flatnonzero(codes[order][1:] == codes[order][:-1])
    if len(same) < FEWEST_PAIRS:
        return False
    same = same[:: max(1, len(same) // PAIRS)]
    rows = np.flatnonzero(candidate.present)
    first, second = rows[order[same]], rows[order[same + 1]]
    alike, compared = 0, 0
    for position in range(others.shape[1]):
        column = others.iloc[:, position]
        if column.name == candidate.name or not hashable(column.iloc[:FEW_ROWS]):
            continue
        level = pd.factorize(column)[0] + 1
        share = np.bincount(level) / len(level)
        chance = float(share @ share)
        if chance > 1.0 - 1e-9:
            continue
        compared += 1
        # kappa = (agreement - chance) / (1 - chance)
        alike += (float(np.mean(level[first] == level[second])) - chance) / (1.0 - chance) >= ALIKE
    return alike >= FEWEST_ALIKE and alike >= ALIKE_COLUMNS * compared


def leak_reason(candidate: Candidate, reference: Reference) -> str:
    """Say what a column gives away; "" if nothing."""
    values, present = candidate.values, candidate.present
    group = reference.group_codes[present]
    if reference.outcome is not None:
        y = reference.outcome[present]
        if area_under_curve(values, y) >= LEAK_AREA or determines(candidate, y.astype(np.intp)):
            return f"suspected leak: by itself it nearly determines {reference.outcome_name!r}"
    if largest_area(values, group, reference.n_groups) >= LEAK_AREA or determines(candidate, group):
        return f"suspected leak: by itself it nearly determines {reference.group_name!r}"
    if told := _told_by_gaps(candidate, reference):
        return f"suspected leak: where it is missing nearly determines {told!r}"
    for name, decisions in reference.decisions.items():
        if candidate.different == 2 and determines(candidate, decisions[present].astype(np.intp)):
            return f"nearly a copy of the decisions {name!r}"
    return ""


def _told_by_gaps(candidate: Candidate, reference: Reference) -> str:
    """Name what the places in which a column is missing nearly determine; "" if nothing."""
    missing = (~candidate.present).astype(np.intp)
    if candidate.present.all():
        return ""
    outcome = None if reference.outcome is None else reference.outcome.astype(np.intp)
    for name, target in ((reference.outcome_name, outcome), (reference.group_name, reference.group_codes)):
        if target is not None and balanced_accuracy(missing, target) >= LEAK_ACCURACY:
            return name
    return ""


def suspects_among(X: Table, y: FloatArray, group: IntArray, n_groups: int) -> dict[Hashable, str]:
    """Return the covariates that look like mistakes, and why.

    Parameters
    ----------
    X : frame or array (n, p)
        Covariates.
    y, group : arrays (n,)
        Outcomes, and codes of groups.
    n_groups : int
        Number of groups.

    Notes
    -----
    Of very many rows, some are looked at: identifiers in the first ones, everything else in rows spread over all.
    """
    frame = X if isinstance(X, pd.DataFrame) else pd.DataFrame(X)
    step = -(-len(frame) // MOST_ROWS)
    first, spread = slice(0, MOST_ROWS), slice(None, None, step)
    binary = bool(np.isin(y, (0.0, 1.0)).all())
    names = ("y", "sensitive_features")

    def reference(rows: slice) -> Reference:
        own, codes = y[rows], group[rows]
        columns = {names[0]: pd.Series(own), names[1]: pd.Series(codes)}
        outcome, numbers = (own, None) if binary else (None, own)
        others = frame.iloc[rows].reset_index(drop=True)
        return Reference(columns, outcome, names[0], codes, names[1], n_groups, numbers=numbers, others=others)

    found: dict[Hashable, str] = {}
    checks = ((first, (identifier_reason,)), (spread, (copy_reason, leak_reason)))
    for rows, reasons in checks:
        known = reference(rows)
        assert known.others is not None
        for position, name in enumerate(frame.columns):
            reason = "" if name in found else suspicion(known.others.iloc[:, position], known, reasons)
            if reason:
                found[name] = reason
    return found


def warn_of_suspects(X: Table, y: FloatArray, group: IntArray, n_groups: int, stacklevel: int = 3) -> None:
    """Warn once about all covariates that look like mistakes; they are kept."""
    found = suspects_among(X, y, group, n_groups)
    if found:
        listed = "; ".join(f"{name!r}: {reason}" for name, reason in found.items())
        warnings.warn(
            f"Covariates that look like mistakes, which are kept: {listed}. Leave them out of X if they are.",
            ColumnsWarning,
            stacklevel=stacklevel,
        )


def suspicion(column: pd.Series, reference: Reference, reasons: Sequence[Reason]) -> str:
    """Say why a covariate looks like a mistake; "" if it does not."""
    candidate = make_candidate(column)
    if not len(candidate.values) or not candidate.comparable or candidate.different < 2:
        return ""
    return next((reason for check in reasons if (reason := check(candidate, reference))), "")
