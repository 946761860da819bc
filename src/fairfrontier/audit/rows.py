"""The second stage of a plan: the group of every row, which rows are complete, and why others are dropped."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from ..arrays import AnyArray, BoolArray, IntArray
from ..data.columns import as_labels
from ..data.groups import outside_groups, read_groups, two_groups_needed
from ..data.messages import COMMAND_LINE
from ..data.reading import read_column
from ..errors import InputError
from .request import CHOOSE_TWO, AuditRequest
from .roles import Roles


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
    """

    label: AnyArray
    code: IntArray
    groups: tuple[str, ...]
    used: BoolArray
    dropped: Mapping[str, Mapping[str, int]]
    other_groups: Mapping[str, int]

    def drop(self, gaps: BoolArray, reason: str) -> Rows:
        """Return the rows without those in which something is missing."""
        lost = self.used & gaps
        if not lost.any():
            return self
        while reason in self.dropped:  # a column may be called "group", or "y (outcome)"
            reason = f"column {reason}"
        labels, counts = np.unique(self.label[lost].astype(str), return_counts=True)
        by_group = {str(label): int(count) for label, count in zip(labels, counts, strict=True)}
        return replace(self, used=self.used & ~gaps, dropped={**self.dropped, reason: by_group})

    @property
    def lost(self) -> float:
        """Share of the rows of the groups compared that are dropped because a value is missing."""
        dropped = sum(sum(counts.values()) for counts in self.dropped.values())
        return dropped / max(1, dropped + int(self.used.sum()))

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


def rows_by_group(table: pd.DataFrame, request: AuditRequest) -> Rows:
    """Read the groups of all rows; in use are those of the groups that are compared."""
    name = f"--group {request.group!r}"
    column = read_column(as_labels(table[request.group]), name)
    chosen = request.groups or None
    outside = outside_groups(column, chosen)
    compared = ~column.missing
    for positions in outside.values():
        compared[positions] = False
    code = np.full(len(table), -1, dtype=np.intp)
    code[compared], labels = read_groups(column.values[compared], chosen, name=name, interface=COMMAND_LINE)
    groups = tuple(str(label) for label in labels)
    if len(groups) > 2:
        counts = dict(zip(labels, np.bincount(code[compared]).tolist(), strict=True))
        by_size = sorted(counts, key=lambda label: -counts[label])
        raise two_groups_needed(by_size, f"An audit of {name}", counts, CHOOSE_TWO)
    missing = int(column.missing.sum())
    return Rows(
        label=column.with_none(),
        code=code,
        groups=groups,
        used=compared,
        dropped={"group is missing": {"no group": missing}} if missing else {},
        other_groups={str(label): len(positions) for label, positions in outside.items()},
    )


def complete_rows(table: pd.DataFrame, roles: Roles, request: AuditRequest) -> Rows:
    """Return the rows in which every column with a role has a value."""
    rows = rows_by_group(table, request)
    for column, role in roles.by_column.items():
        if role != "group":
            rows = rows.drop(table[column].isna().to_numpy(), f"{column} ({role}) is missing")
    rows.check_groups()
    return rows
