"""From users' columns to one column of groups: several columns are crossed, labels are merged, blanks are noticed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import narwhals as nw
import numpy as np
import pandas as pd

from ..arrays import AnyArray, ArrayLike, IntArray
from ..errors import InputError
from .messages import PYTHON, Interface, listed, shown
from .reading import Column, Label, label_codes, read_column

CROSS = " & "
"""Between the labels of crossed columns."""

REST = "*"
"""In the place of labels to be merged: all that are named nowhere else."""

MOST_NUMBERS = 10
"""Different fractions up to which a column of numbers may be one of groups, however few rows there are."""

Merge = Mapping[Label, Sequence[Label]]
"""New labels, each with the labels that it replaces."""


def read_group_column(values: ArrayLike, name: str) -> Column:
    """Read the group of every row; the columns of a frame are crossed, and cells are named by their labels.

    A row has no group if it has no value in some of the columns.
    """
    frame = nw.from_native(values, eager_only=True, pass_through=True)
    if not isinstance(frame, nw.DataFrame):
        return read_column(values, name)
    columns = [read_column(column.to_native(), f"{name}[{column.name!r}]") for column in frame.iter_columns()]
    if not columns:
        raise InputError("unknown-group", f"{name} is a frame without columns. Give at least one column.")
    return columns[0] if len(columns) == 1 else cross(columns, name)


def cross(columns: Sequence[Column], name: str) -> Column:
    """Cross columns: the label of a cell is made of those of the columns."""
    if len({column.values.size for column in columns}) > 1:
        raise InputError("length-mismatch", f"The columns of {name} have different lengths.")
    missing = np.logical_or.reduce([column.missing for column in columns])
    labels = [np.array([str(label) for label in column.values[~missing]], dtype=object) for column in columns]
    texts = np.array([CROSS.join(cell) for cell in zip(*labels, strict=True)], dtype=object)
    cells = len(set(zip(*labels, strict=True)))
    if cells > len(set(texts)):
        raise same_names(name)
    values = np.full(missing.size, None, dtype=object)
    values[~missing] = texts
    return Column(values, missing)


def same_names(name: str) -> InputError:
    """Return the error of different cells that would have the same name."""
    return InputError(
        "unknown-group",
        f"Different cells of {name} would have the same name, because labels contain {CROSS!r}. Rename labels.",
    )


def counted(codes: IntArray, n_codes: int, people: IntArray | None = None) -> IntArray:
    """Return how many people have each code: one for every row unless rows stand for several."""
    counts: IntArray = np.bincount(codes, people, n_codes).astype(np.intp)  # exact below 2^53
    return counts


def check_merge(merge: Merge, name: str = "merge") -> None:
    """Refuse a mapping that is not of new labels to lists of labels, or that merges a label twice."""
    wanted = f'{name} must map new labels to lists of labels, such as {{"Other": ["A", "B"]}}; got {shown(merge)}.'
    lists = isinstance(merge, Mapping) and all(
        isinstance(old, Sequence) and (not isinstance(old, str) or old == REST) and len(old) > 0
        for old in merge.values()
    )
    if not lists:
        raise InputError("bad-option", wanted)
    merged = [label for old in merge.values() for label in old]
    twice = [label for j, label in enumerate(merged) if label in merged[:j]]
    if twice:
        raise InputError("bad-option", f"{name} merges {listed(twice)} more than once: a label has one place.")


def merge_labels(
    column: Column,
    merge: Merge | None,
    chosen: Sequence[Label] | None = None,
    *,
    name: str,
    interface: Interface = PYTHON,
    people: IntArray | None = None,
) -> tuple[Column, dict[Label, dict[Label, int]]]:
    """Replace labels by those that they are merged into; also the rows of each label replaced, by new label.

    Of ``chosen`` groups, none is among the rest. Values may stand for several ``people`` each.
    """
    if not merge:
        return column, {}
    check_merge(merge, interface.name("merge"))
    present = np.flatnonzero(~column.missing)
    codes, labels = label_codes(column.at(present), name, "unknown-group")
    merge = _with_rest(merge, labels, chosen, interface)
    _check_labels(merge, labels, name, interface)
    counts = counted(codes, len(labels), None if people is None else people[present]).tolist()
    new_label = {old: new for new, each in merge.items() for old in each}
    values = column.values.astype(object)
    values[present] = np.array([new_label.get(label, label) for label in labels], dtype=object)[codes]
    merged = {new: {old: counts[labels.index(old)] for old in each} for new, each in merge.items()}
    return Column(values, column.missing), merged


def _check_labels(merge: Merge, labels: Sequence[Label], name: str, interface: Interface) -> None:
    """Refuse to merge labels that no row has, and to make a group of a name that there is already."""
    unknown = [old for each in merge.values() for old in each if old not in labels]
    if unknown:
        raise InputError(
            "unknown-group",
            f"{interface.name('merge')} names {listed(unknown)}, but the groups in {name} are {listed(labels)}.",
        )
    taken = [new for new, old in merge.items() if new in labels and new not in old]
    if taken:
        raise InputError(
            "bad-option",
            f"{interface.name('merge')} makes a group {listed(taken)}, and there is one of that name: list it among "
            "the labels that are merged, or choose another name.",
        )


def _with_rest(merge: Merge, labels: Sequence[Label], chosen: Sequence[Label] | None, interface: Interface) -> Merge:
    """Replace "*" by the labels that are neither chosen nor merged elsewhere, unless it is itself a label."""
    wanted = [new for new, old in merge.items() if tuple(old) == (REST,) and REST not in labels]
    if not wanted:
        return merge
    named = [*(chosen or ()), *(label for new, old in merge.items() if new not in wanted for label in old)]
    rest = [label for label in labels if label not in named]
    option = interface.option("merge", f"{wanted[0]}={REST}")
    if len(wanted) > 1 or not isinstance(chosen, tuple | list):
        raise InputError(
            "bad-option",
            f"{option} puts together all groups that are not named: name the groups to compare by "
            f"{interface.name('groups')}, with {shown(wanted[0])} among them, and use {REST!r} once.",
        )
    if not rest:
        raise InputError("bad-option", f"{option} finds no group: every group is named.")
    return {**merge, wanted[0]: rest}


def refuse_blanks(column: Column, name: str, interface: Interface = PYTHON) -> None:
    """Refuse labels that differ by blanks only: they are likely to be the same group."""
    values = column.at(np.flatnonzero(~column.missing))
    if values.dtype.kind not in "OU":
        return
    labels = dict.fromkeys(str(label) for label in values if isinstance(label, str))
    seen: dict[str, str] = {}
    for label in labels:
        other = seen.setdefault(" ".join(label.split()), label)
        if other != label:
            raise InputError(
                "unknown-group",
                f"{name} has labels that differ by blanks only: {shown(other)} and {shown(label)}. Strip them, or say "
                f"that they are one group by {_as_merge(' '.join(label.split()), other, label, interface)}.",
            )


def refuse_odd_labels(column: Column, name: str, counts: IntArray | None = None) -> None:
    """Refuse, where groups were not chosen, empty labels, and fractions of which most occur once: a quantity.

    ``counts``: how many people each value stands for; default one.
    """
    present = np.flatnonzero(~column.missing)
    values, people = column.at(present), np.ones(len(present), dtype=np.intp) if counts is None else counts[present]
    blank = {label for label in _different(values) if isinstance(label, str) and not label.strip()}
    if blank:
        empty = [j for j, label in enumerate(values) if isinstance(label, str) and label in blank]
        raise InputError(
            "unknown-group",
            f"{name} has {people[empty].sum():,} rows with an empty label, {shown(values[empty[0]])}. If these people "
            "have no known group, make it a missing value (None); if they are a group, give it a name.",
        )
    labels, n = np.unique(values) if values.dtype.kind == "f" else values[:0], int(people.sum())
    if 2 * len(labels) > n and len(labels) > MOST_NUMBERS and (labels % 1.0 != 0.0).any():
        raise InputError(
            "too-many-groups",
            f"{name} has {len(labels):,} different numbers in {n:,} rows, such as {labels[0]:g} and "
            f"{labels[1]:g}: a quantity, and not groups. Cut it into a few classes first.",
        )


def _different(values: AnyArray) -> AnyArray:
    """Return each label once where labels may be text; labels such as lists, refused elsewhere, as they come."""
    if values.dtype.kind in "biuf":
        return values[:0]
    try:
        return pd.unique(values)
    except TypeError:
        return values


def _as_merge(new: str, first: str, second: str, interface: Interface) -> str:
    if interface is PYTHON:
        return f"merge={{{new!r}: [{first!r}, {second!r}]}}"
    return f"[merge] {new!r} = [{first!r}, {second!r}] in a config file"
