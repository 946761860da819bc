"""The second stage of a plan: the group of every row, which rows are complete, and why others are dropped."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd

from ..arrays import AnyArray, BoolArray, IntArray
from ..data.columns import as_labels
from ..data.criteria import check_criteria_of_groups, read_criteria
from ..data.grouping import CROSS, counted, cross, merge_labels, refuse_blanks
from ..data.groups import (
    MOST_TOGETHER,
    MOST_WITH_REFERENCE,
    check_reference,
    outside_groups,
    read_groups,
    too_many_together,
    two_groups_needed,
)
from ..data.messages import COMMAND_LINE, shown
from ..data.reading import Column, Label, read_column
from ..errors import InputError
from ..learning.folds import MIN_GROUP_ROWS
from .request import AuditRequest
from .roles import Roles


@dataclass(frozen=True, slots=True)
class GroupOfRows:
    """The group of some rows: codes (n,), and the labels that they stand for."""

    code: IntArray
    labels: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows of a table: their groups, those in use, and an account of the others.

    Attributes
    ----------
    label : array (n,)
        Label of every row's group, as text.
    code : integer array (n,)
        Position of that label in ``groups``; -1 if it is missing or not compared.
    groups : tuple of labels
        The groups that are compared.
    used : boolean array (n,)
        The rows in use so far.
    dropped : mapping of reasons to counts by group
        Rows that are not in use because a value is missing.
    other_groups : mapping of labels to counts
        Rows of groups that are not compared.
    small_groups : mapping of labels to counts
        Complete rows of groups that are left out because they are too small.
    merged : mapping of labels to mappings of labels to counts
        Rows of the groups that were put together, by the label of the group that they make up.
    people : integer array (n,), optional
        How many rows of the data, alike in all this, each row stands for; default one.
    positions : integer array (n,), optional
        Positions of the rows in the file, if they are not all of its rows.
    """

    label: AnyArray
    code: IntArray
    groups: tuple[str, ...]
    used: BoolArray
    dropped: Mapping[str, Mapping[str, int]]
    other_groups: Mapping[str, int]
    small_groups: Mapping[str, int] = field(default_factory=dict)
    merged: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    people: IntArray | None = None
    positions: IntArray | None = None

    @property
    def at(self) -> IntArray:
        """Positions in the file of the rows in use."""
        return np.flatnonzero(self.used) if self.positions is None else self.positions[self.used]

    @property
    def group(self) -> GroupOfRows:
        """The group of every row in use."""
        return GroupOfRows(self.code[self.used], self.groups)

    def _people(self, rows: BoolArray) -> IntArray | None:
        return None if self.people is None else self.people[rows]

    @property
    def counts(self) -> dict[str, int]:
        """Rows in use of each group."""
        found = counted(self.code[self.used], len(self.groups), self._people(self.used)).tolist()
        return dict(zip(self.groups, found, strict=True))

    def without(self, labels: Collection[str]) -> Rows:
        """Return the rows without those of groups that are too small."""
        groups = tuple(label for label in self.groups if label not in labels)
        new = np.array([groups.index(label) if label in groups else -1 for label in self.groups], dtype=np.intp)
        code = np.where(self.code < 0, -1, new[self.code])
        small = {label: self.counts[label] for label in labels}
        return replace(
            self,
            code=code,
            groups=groups,
            used=self.used & (code >= 0),
            small_groups={**self.small_groups, **small},
        )

    def drop(self, gaps: BoolArray, reason: str) -> Rows:
        """Return the rows without those in which something is missing."""
        lost = self.used & gaps
        if not lost.any():
            return self
        while reason in self.dropped:  # a column may be called "group", or "y (outcome)"
            reason = f"column {reason}"
        labels, codes = np.unique(self.label[lost].astype(str), return_inverse=True)
        counts = counted(codes, len(labels), self._people(lost)).tolist()
        by_group = {str(label): count for label, count in zip(labels, counts, strict=True)}
        return replace(self, used=self.used & ~gaps, dropped={**self.dropped, reason: by_group})

    @property
    def lost(self) -> float:
        """Share of the rows of the groups compared that are dropped because a value is missing."""
        dropped = sum(sum(counts.values()) for counts in self.dropped.values())
        return dropped / max(1, dropped + sum(self.counts.values()))

    def check_groups(self) -> None:
        """Refuse rows in use that leave a group, or everything, empty."""
        lost = "; ".join(f"{reason} {sum(counts.values()):,}" for reason, counts in self.dropped.items())
        if not self.used.any():
            raise InputError("empty-data", f"No row is complete: {lost}. Fill in or leave out columns.")
        for code, label in enumerate(self.groups):
            if not (self.used & (self.code == code)).any():
                raise InputError(
                    "one-group", f"No row of group {label!r} is complete: {lost}. Fill in or leave out columns."
                )


def rows_by_group(table: pd.DataFrame, request: AuditRequest, people: IntArray | None = None) -> Rows:
    """Read the groups of all rows; in use are those of the groups that are compared."""
    name = f"--group {CROSS.join(request.group)!r}"
    column, merged = _merged_column(table, request, name, people)
    chosen = request.groups or None
    outside = outside_groups(column, chosen)
    compared = ~column.missing
    for positions in outside.values():
        compared[positions] = False
    code = np.full(len(table), -1, dtype=np.intp)
    own = None if people is None else people[compared]
    code[compared], labels = read_groups(column.values[compared], chosen, name=name, interface=COMMAND_LINE, people=own)
    groups = tuple(str(label) for label in labels)
    n = np.ones(len(table), dtype=np.intp) if people is None else people
    missing = int(n[column.missing].sum())
    return Rows(
        label=column.with_none(),
        code=code,
        groups=groups,
        used=compared,
        dropped={"group is missing": {"no group": missing}} if missing else {},
        other_groups={str(label): int(n[positions].sum()) for label, positions in outside.items()},
        merged=merged,
        people=people,
    )


def crossed_column(table: pd.DataFrame, request: AuditRequest) -> Column:
    """Return the group of every row as it is in the data, columns crossed."""
    columns = [read_column(as_labels(table[each]), f"--group {each!r}") for each in request.group]
    return columns[0] if len(columns) == 1 else cross(columns, f"--group {CROSS.join(request.group)!r}")


def _merged_column(
    table: pd.DataFrame, request: AuditRequest, name: str, people: IntArray | None
) -> tuple[Column, dict[str, dict[str, int]]]:
    """Return the group of every row, columns crossed and labels put together, and the rows of those put together."""
    column, merged = merge_labels(
        crossed_column(table, request),
        dict(request.merge.items()),
        request.groups or None,
        name=name,
        interface=COMMAND_LINE,
        people=people,
    )
    refuse_blanks(column, name, COMMAND_LINE)
    return column, {str(new): {str(old): k for old, k in counts.items()} for new, counts in merged.items()}


def without_small_groups(rows: Rows, request: AuditRequest) -> Rows:
    """Leave out groups of too few rows, unless they were named; then check that the others can be compared.

    Groups that are too small for the folds are left out only if two others remain.
    """
    if not rows.used.any():
        rows.check_groups()
    least, counts = _least(request), rows.counts
    small = [] if request.groups else [label for label in rows.groups if counts[label] < least]
    if small and len(rows.groups) - len(small) < 2 and request.smallest_group:
        sizes = ", ".join(f"{shown(label)} {count:,}" for label, count in counts.items())
        raise InputError(
            "group-too-small",
            f"Fewer than two groups have {least} rows or more (--smallest-group): {sizes}. Put groups together by "
            "--merge, or lower the limit.",
        )
    kept = rows.without(small) if small and len(rows.groups) - len(small) >= 2 else rows
    kept.check_groups()
    _check_together(kept, request)
    return kept


def _least(request: AuditRequest) -> int:
    """Rows that a group needs to be compared."""
    return max(request.smallest_group, MIN_GROUP_ROWS * request.folds)


def _check_together(rows: Rows, request: AuditRequest) -> None:
    """Refuse more groups than are tested together, options that need two groups, and an unknown reference."""
    counts: dict[Label, int] = dict(rows.counts.items())
    small: dict[Label, int] = dict(rows.small_groups.items())
    others: dict[Label, int] = dict(rows.other_groups.items())
    check_reference(rows.groups, request.reference, COMMAND_LINE, small=small, least=_least(request), others=others)
    if len(rows.groups) == 2:
        return
    by_size = sorted(rows.groups, key=lambda label: -counts[label])
    if len(rows.groups) > (MOST_TOGETHER if request.reference is None else MOST_WITH_REFERENCE):
        raise too_many_together(by_size, request.reference, counts, COMMAND_LINE)
    chosen = (request.fairness, request.accuracy, request.keep, request.keep_tolerance, request.profit)
    check_criteria_of_groups(read_criteria(*chosen, COMMAND_LINE), len(rows.groups), COMMAND_LINE)
    for given, option in ((request.capacity is not None, "--capacity"), (request.sequential, "--sequential")):
        if given:
            raise two_groups_needed(by_size, f"An audit with {option}", counts, "Choose two of them: --groups A,B.")


def complete_rows(table: pd.DataFrame, roles: Roles, request: AuditRequest, people: IntArray | None = None) -> Rows:
    """Return the rows in which every column with a role has a value; each may stand for several ``people``."""
    rows = rows_by_group(table, request, people)
    for column, role in roles.by_column.items():
        if role != "group":
            rows = rows.drop(table[column].isna().to_numpy(), f"{column} ({role}) is missing")
    return without_small_groups(rows, request)
