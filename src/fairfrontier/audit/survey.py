"""The first pass over rows that are read in parts: how many rows there are of each kind, and some of them for the plan.

Rows are of one kind if they have the same labels of groups and lack values in the same columns: all that decides
whether they are used. So a table with one row for each kind, and the number of rows of that kind, takes the
place of the rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from ..arrays import AnyArray, BoolArray, IntArray
from ..data.grouping import CROSS, REST
from ..data.parts.drawing import RowSample
from ..data.parts.rows import frames_of, in_part
from ..data.parts.sources import RowsInParts
from ..errors import InputError
from ..in_parts import BLOCK, Range, over_ranges
from ..progress import Heard, Report, in_words, now_and_then, with_pace
from .inputs import algorithms_of
from .request import AuditRequest
from .roles import Roles
from .table import plain_numbers

PLAN_ROWS = 100_000
"""Rows, drawn at random, that the plan looks at."""
MOST_KINDS = 10_000
"""Kinds of rows at most."""


@dataclass(frozen=True, slots=True)
class TableRows:
    """Rows as they are in the data, with their numbers."""

    row: IntArray
    table: pd.DataFrame

    def take(self, rows: IntArray) -> TableRows:
        """Return some of the rows, by position."""
        return TableRows(self.row[rows], self.table.iloc[rows])


def _join(parts: list[TableRows]) -> TableRows:
    if len(parts) == 1:
        return parts[0]
    return TableRows(np.concatenate([p.row for p in parts]), pd.concat([p.table for p in parts], ignore_index=True))


@dataclass(frozen=True, slots=True)
class Survey:
    """What is found out in the first pass.

    Attributes
    ----------
    kinds : DataFrame (m, ...)
        One row for each kind: labels of the group columns, and in every other column 0 or nothing.
    counts : integer array (m,)
        Rows of each kind.
    gaps : mapping of columns to integer arrays (m,)
        In how many of these rows a column that may be a covariate has no value.
    selected : mapping of algorithms to integer arrays (m,)
        How many of these rows an algorithm selects.
    sample : DataFrame
        Rows drawn at random, all columns in use.
    """

    kinds: pd.DataFrame
    counts: IntArray
    gaps: dict[str, IntArray]
    selected: dict[str, IntArray]
    sample: pd.DataFrame


@dataclass(frozen=True, slots=True)
class SurveyTask:
    """Which rows are looked at, and what for."""

    source: RowsInParts
    roles: Roles
    request: AuditRequest
    client: Any = None
    block: int = field(default_factory=lambda: BLOCK)

    def here(self) -> SurveyTask:
        """Return the same without a cluster."""
        return replace(self, client=None)

    @property
    def needed(self) -> list[str]:
        """Columns of whose values it matters whether they are missing."""
        others = [column for column, role in self.roles.by_column.items() if role != "group"]
        return others + (list(self.roles.candidates) if self.request.missing == "drop" else [])

    @property
    def columns(self) -> list[str]:
        """All columns that are read."""
        return [*self.roles.by_column, *self.roles.candidates]


Key = tuple[str | bool | None, ...]
"""Labels of the group columns, and for every other column whether its value is missing."""


class _Kinds:
    """Counts of rows by kind: the rows themselves, gaps by column, and rows selected by algorithm."""

    def __init__(self) -> None:
        self.found: dict[Key, IntArray] = {}
        self.algorithms: list[str] = []

    def add(self, table: pd.DataFrame, row: IntArray, task: SurveyTask) -> None:
        """Count the rows of a part."""
        labels = [labels_of(table[column]) for column in task.request.group]
        flags = [table[column].isna().to_numpy() for column in task.needed]
        codes, first = _together([each for each, _ in labels], flags)
        n = len(first)
        lines = [np.bincount(codes, minlength=n)]
        lines += [np.bincount(codes[table[c].isna().to_numpy()], minlength=n) for c in task.roles.candidates]
        roles = [table[column].isna().to_numpy() for column in task.roles.by_column]
        compared = _compared(labels, first, task.request)
        complete = np.flatnonzero(~np.logical_or.reduce(roles) & compared[codes])
        used = algorithms_of(table.iloc[complete], task.request, row[complete]) if len(complete) else {}
        self.algorithms = self.algorithms or list(used)
        lines += [np.bincount(codes[complete], a, n).astype(np.intp) for a in used.values()]
        for j, at in enumerate(first):
            key = (
                *(None if each[at] < 0 else texts[each[at]] for each, texts in labels),
                *(bool(f[at]) for f in flags),
            )
            self._count(key, np.array([line[j] for line in lines]))
        self.refuse_many(task)

    def merge(self, other: _Kinds) -> None:
        """Take over the counts of other rows."""
        self.algorithms = self.algorithms or other.algorithms
        for key, counts in other.found.items():
            self._count(key, counts)

    def _count(self, key: Key, counts: IntArray) -> None:
        known = self.found.get(key)
        if known is None:
            self.found[key] = counts
            return
        long, short = (known, counts) if len(known) >= len(counts) else (counts, known)
        self.found[key] = long + np.pad(short, (0, len(long) - len(short)))  # parts without complete rows are short

    def refuse_many(self, task: SurveyTask) -> None:
        """Refuse too many kinds of rows."""
        if len(self.found) <= MOST_KINDS:
            return
        k = len(task.request.group)
        n_labels = [len({key[j] for key in self.found}) for j in range(k)]
        listed = ", ".join(f"{name!r} has {n:,} labels" for name, n in zip(task.request.group, n_labels, strict=True))
        raise InputError(
            "too-many-groups",
            f"Rows are of more than {MOST_KINDS:,} kinds by group and missing values ({listed}). Name a column of few "
            "groups by --group, or keep rows with missing covariates by --missing keep.",
        )


def _compared(labels: Sequence[tuple[IntArray, list[str]]], first: IntArray, request: AuditRequest) -> BoolArray:
    """Whether kinds of rows, with these ``first`` rows, may be of groups compared; not if others are chosen."""
    merged = [old for new in request.groups for old in request.merge.get(new, ())]
    if not request.groups or REST in merged:
        return np.ones(len(first), dtype=bool)
    known = {*request.groups, *merged}
    names = [CROSS.join(texts[each[at]] if each[at] >= 0 else "" for each, texts in labels) for at in first]
    return np.array([name in known for name in names], dtype=bool)


def take_survey(task: SurveyTask, heard: Heard | None = None) -> Survey:
    """Look at all rows once; ``heard`` receives progress messages."""
    found, drawn = _Kinds(), RowSample(PLAN_ROWS, _seed(task), _join)
    progress = None if heard is None else in_words("Looking at all rows", now_and_then(heard))
    for kinds, rows in over_ranges(task, _look, progress):
        found.merge(kinds)
        found.refuse_many(task)
        if rows is not None:
            drawn.add(rows)
    sample = drawn.drawn()
    if sample is None:
        raise InputError("bad-file", f"{task.source.name} has column names but no rows. Give a row for each person.")
    k, p = len(task.request.group), len(task.roles.candidates)
    keys, width = list(found.found), 1 + p + len(found.algorithms)
    table: dict[str, Any] = {c: [key[j] for key in keys] for j, c in enumerate(task.request.group)}
    for j, column in enumerate(task.needed, start=k):
        table[column] = [np.nan if key[j] else 0.0 for key in keys]
    counts = np.array([np.pad(found.found[key], (0, width - len(found.found[key]))) for key in keys])
    return Survey(
        kinds=pd.DataFrame(table),
        counts=counts[:, 0],
        gaps=dict(zip(task.roles.candidates, counts.T[1 : 1 + p], strict=True)),
        selected=dict(zip(found.algorithms, counts.T[1 + p :], strict=True)),
        sample=sample.table.reset_index(drop=True).infer_objects(),
    )


def _look(task: SurveyTask, span: Range, progress: Report | None) -> tuple[_Kinds, TableRows | None]:
    """Look at a range of the rows."""
    kinds, drawn = _Kinds(), RowSample(PLAN_ROWS, _seed(task), _join, task.source.n_rows)
    tables = tables_of(task.source, task.columns, span)
    for name, row, table in with_pace(tables, lambda part: len(part[1]), progress, task.source.n_rows):
        with in_part(name):
            kinds.add(table, row, task)
        drawn.add(TableRows(row, table))
    return kinds, drawn.drawn()


def tables_of(
    source: RowsInParts, columns: Sequence[str], span: Range = (0, None)
) -> Iterator[tuple[str, IntArray, pd.DataFrame]]:
    """Yield the name of every part, the numbers of its rows, and a pandas frame of them."""
    for name, row, frame in frames_of(source, columns, *span):
        yield name, row, plain_numbers(frame.to_pandas().reset_index(drop=True))


def _seed(task: SurveyTask) -> np.random.SeedSequence:
    return np.random.SeedSequence([task.request.seed, PLAN_ROWS])


def labels_of(column: pd.Series) -> tuple[IntArray, list[str]]:
    """Return a code for every value, -1 where there is none, and the values as text: whole numbers without a point.

    Unlike `as_labels`, it looks at values one by one, so that a part has the labels that it has among all parts.
    """
    codes, values = pd.factorize(column)
    return codes, [_text(value) for value in values]


def _text(value: Any) -> str:
    whole = isinstance(value, float) and value.is_integer()
    return str(int(value) if whole else value).replace("\0", "\\0")


def _together(codes: Sequence[IntArray], flags: Sequence[BoolArray]) -> tuple[IntArray, IntArray]:
    """Return the number (n,) of each row's combination of codes and flags, and the first row of each combination."""
    key = np.zeros(len((codes or flags)[0]), dtype=np.intp)
    for each in (*codes, *(flag.astype(np.intp) for flag in flags if flag.any())):
        key = pd.factorize(key * (int(each.max(initial=0)) + 2) + each + 1)[0]
    first = np.full(int(key.max(initial=-1)) + 1, len(key))
    np.minimum.at(first, key, np.arange(len(key)))
    return key, first


@dataclass(frozen=True, slots=True)
class InUse:
    """Which rows are used: ``label_of`` maps labels in the data to groups, ``needed`` columns must have values."""

    group: tuple[str, ...]
    label_of: dict[str, str]
    needed: tuple[str, ...]

    def labels(self, table: pd.DataFrame) -> AnyArray:
        """Return the group (n,) of every row, None for rows that are not used."""
        found = [labels_of(table[column]) for column in self.group]
        key, first = _together([codes for codes, _ in found], [])
        gaps = np.logical_or.reduce([codes < 0 for codes, _ in found])
        names = [None if gaps[at] else self.label_of.get(CROSS.join(t[c[at]] for c, t in found)) for at in first]
        label = np.array([*names, None], dtype=object)[key]
        for column in self.needed:
            label[table[column].isna().to_numpy()] = None
        return label
