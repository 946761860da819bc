"""Groups: integer codes for computing, labels for showing, and the error of what compares exactly two groups.

Every row carries the code of its group, 0, 1, ..., G - 1, and every array with one entry per group lists them in that
order along its last axis. Only the geometry of the plane of two risks speaks of "r" (code 0) and "b" (code 1).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..arrays import AnyArray, FloatArray, IntArray
from ..errors import InputError
from .messages import PYTHON, Interface, listed, shown
from .reading import Column, Label, label_codes

MOST_TOGETHER = 5
"""Groups at most whose range of risks is tested."""
MOST_WITH_REFERENCE = 8
"""Groups at most whose gaps to a reference group are tested together."""


@dataclass(frozen=True, slots=True, eq=False)
class Groups:
    """The groups of a sample, in the order of their codes.

    Attributes
    ----------
    labels : tuple of labels (G,)
        The users' names of the groups.
    shares : array (G,)
        Weighted shares of the groups, summing to one.
    """

    labels: tuple[Label, ...]
    shares: FloatArray

    def __len__(self) -> int:
        """Return the number of groups."""
        return len(self.labels)

    def __iter__(self) -> Iterator[Label]:
        """Iterate over the labels."""
        return iter(self.labels)

    def check(self, chosen: Sequence[Label]) -> None:
        """Refuse labels that are not different groups of these."""
        check_choice(list(chosen))
        if unknown := [label for label in chosen if label not in self.labels]:
            raise InputError("unknown-group", f"There is no group {listed(unknown)}; there are {listed(self.labels)}.")

    def pair(self, what: str) -> tuple[Label, Label]:
        """Return the two labels, or refuse ``what``, which lives in the plane of two risks."""
        if len(self.labels) != 2:
            raise two_groups_needed(self.labels, what)
        return self.labels[0], self.labels[1]


def by_group(codes: IntArray, n_groups: int) -> tuple[IntArray, ...]:
    """Return the positions of the rows of each group, in the order of the codes."""
    return tuple(np.flatnonzero(codes == code) for code in range(n_groups))


def make_groups(labels: tuple[Label, ...], codes: IntArray, weight: FloatArray) -> Groups:
    """Put labels and weighted shares together."""
    sums = np.array([weight[rows].sum() for rows in by_group(codes, len(labels))])
    total = float(sums.sum())  # 0 where some of the rows of a sample have no weight at all
    return Groups(labels, sums / total if total > 0.0 else np.full(len(labels), np.nan))


def two_groups_needed(
    labels: Sequence[Label], what: str, counts: Mapping[Label, int] | None = None, choose: str | None = None
) -> InputError:
    """Return the error of something that compares two groups and finds more of them.

    Parameters
    ----------
    labels : sequence of labels
        The groups present.
    what : str
        What compares two groups, as the subject of the sentence.
    counts : mapping label -> int, optional
        Rows of each group.
    choose : str, optional
        How to choose two; default the argument ``groups`` of `FairFrontier`.
    """
    how = choose or f"Fit with groups=({labels[0]!r}, {labels[1]!r}), or merge labels into two."
    return InputError(
        "too-many-groups",
        f"{what} compares two groups, but there are {len(labels)}: {_listed(labels, counts)}. {how}",
    )


def too_many_together(
    labels: Sequence[Label],
    reference: Label | None,
    counts: Mapping[Label, int] | None = None,
    interface: Interface = PYTHON,
) -> InputError:
    """Return the error of a joint test of more groups than it takes."""
    advice = "" if reference is not None else f", or name a reference group by {interface.name('reference')}"
    return InputError(
        "too-many-groups",
        f"The joint test takes at most {MOST_TOGETHER} groups, or {MOST_WITH_REFERENCE} with a reference group, but "
        f"there are {len(labels)}: {_listed(labels, counts)}. Choose some by {interface.name('groups')}, put some "
        f"together by {interface.name('merge')}{advice}.",
    )


def check_reference(
    labels: Sequence[Label],
    reference: Label | None,
    interface: Interface = PYTHON,
    *,
    small: Mapping[Label, int] | None = None,
    least: int = 0,
    others: Mapping[Label, int] | None = None,
) -> int | None:
    """Return the code of the reference group, if there is one.

    ``small``: rows of groups that are left out because they have fewer than ``least``; ``others``: of those that were
    not chosen.
    """
    if reference is None:
        return None
    if reference in labels:
        return list(labels).index(reference)
    named, groups = f"{interface.name('reference')} names {shown(reference)}", interface.name("groups")
    if small and reference in list(small):
        raise InputError(
            "group-too-small",
            f"{named}, which is left out because it has {small[reference]:,} complete rows and a group needs {least:,} "
            f"here. Put it together with others by {interface.name('merge')}, take fewer folds, lower "
            f"{interface.name('smallest-group')} if you set it, or name another reference: {listed(labels)}.",
        )
    if others and reference in list(others):
        raise InputError(
            "unknown-group",
            f"{named}, which is not among the groups chosen by {groups}: {listed(labels)}. Choose it, too, or name "
            "another reference.",
        )
    raise InputError("unknown-group", f"{named}, but the groups are {listed(labels)}. Name one of these.")


def _listed(labels: Sequence[Label], counts: Mapping[Label, int] | None = None, most: int = 8) -> str:
    texts = [shown(label) if counts is None else f"{shown(label)} ({counts[label]:,} rows)" for label in labels[:most]]
    return ", ".join(texts + ["..."] * (len(labels) > most))


def check_choice(chosen: Sequence[Label], name: str = "groups") -> None:
    """Refuse a choice of groups that is not two or more different labels."""
    several = isinstance(chosen, tuple | list) and len(chosen) >= 2
    if not several or any(label in chosen[:j] for j, label in enumerate(chosen)):
        raise InputError("bad-option", f"{name} must be two or more different labels; got {shown(chosen)}.")


def outside_groups(column: Column, chosen: Sequence[Label] | None) -> dict[Label, IntArray]:
    """Return the positions of rows whose group is not among those ``chosen``, by label.

    There are none without a choice, and none for a choice that `read_groups` refuses.
    """
    if not isinstance(chosen, tuple | list):
        return {}
    present = np.flatnonzero(~column.missing)
    codes, labels = label_codes(column.at(present), "sensitive_features", "unknown-group")
    if any(label not in labels for label in chosen):
        return {}
    return {label: present[codes == j] for j, label in enumerate(labels) if label not in chosen}


def read_groups(
    values: AnyArray,
    chosen: Sequence[Label] | None,
    *,
    name: str = "sensitive_features",
    interface: Interface = PYTHON,
    people: IntArray | None = None,
) -> tuple[IntArray, tuple[Label, ...]]:
    """Code the groups of the rows, and their labels: those ``chosen``, or all of them sorted, the last one first.

    ``name`` is how messages call the column, ``interface`` how they write the option that chooses groups; each row
    may stand for several ``people``.
    """
    codes, labels = label_codes(values, name, "unknown-group")
    counts = dict(zip(labels, np.bincount(codes, people, len(labels)).astype(np.intp).tolist(), strict=True))
    if chosen is not None:
        check_choice(chosen, interface.name("groups"))
    if len(labels) < 2:
        has = f"only one: {_listed(labels, counts)}" if labels else "none"
        raise InputError(
            "one-group", f"Two groups are compared, but {name} has {has}. Include rows of at least two groups."
        )
    unknown = [] if chosen is None else [label for label in chosen if label not in labels]
    if unknown:
        raise InputError(
            "unknown-group",
            f"{interface.name('groups')} names {listed(unknown)}, but the groups in {name} are "
            f"{_listed(labels, counts)}. Use these labels.",
        )
    order = _descending(labels) if chosen is None else [labels.index(label) for label in chosen]
    new_code = np.full(len(labels), -1, dtype=np.intp)
    new_code[order] = np.arange(len(order))
    return new_code[codes], tuple(labels[j] for j in order)


def _descending(labels: Sequence[Label]) -> list[int]:
    """Positions of the labels from the last to the first in their own order, or in that of their text."""
    positions = range(len(labels))
    try:
        return sorted(positions, key=lambda j: labels[j], reverse=True)  # type: ignore[arg-type, return-value]
    except TypeError:  # labels without an order of their own
        return sorted(positions, key=lambda j: str(labels[j]), reverse=True)
