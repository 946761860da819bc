"""The sample: where users' outcomes, groups, weights and covariates enter, complete and checked."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from ..arrays import AnyArray, ArrayLike, BoolArray, FloatArray, IntArray
from ..errors import CopiedRowsWarning, DroppedRowsWarning, InputError
from .aligning import aligned, index_of
from .copies import COPIES, Copies, copies_in_words, find_copies, twins
from .declared import NOTHING, Declared
from .grouping import Merge, merge_labels, read_group_column, refuse_blanks, refuse_odd_labels
from .groups import Groups, by_group, make_groups, outside_groups, read_groups
from .models import unchanged
from .reading import (
    Column,
    Covariates,
    Label,
    Table,
    label_codes,
    read_column,
    read_covariates,
)
from .variables import read_outcome, read_weights

NEEDED = ("y", "sensitive_features")
"""Columns that every sample has."""


@dataclass(frozen=True, slots=True)
class Sample:
    """Rows ready for analysis: complete, finite, of at least two groups.

    Attributes
    ----------
    y : array (n,)
        Outcomes.
    group : integer array (n,)
        Code of every row's group.
    groups : Groups
        The users' labels of the groups, in the order of the codes, and the groups' weighted shares.
    weight : array (n,)
        Sampling weights, ones unless given.
    X : DataFrame, array (n, p) or None
        Covariates: a frame keeps its column names and kinds.
    clusters : integer array (n,) or None
        Cluster of every row, coded 0..m-1.
    ids : array (n,) or None
        The users' names of the rows.
    dropped : mapping label -> int
        Rows dropped for missing values, by group; None stands for a missing group.
    left_out : mapping label -> int
        Rows of groups that are not among those chosen, by group.
    rows : integer array (n,)
        Positions of these rows in the users' input.
    weighted : bool
        Whether weights were given.
    index : Index or None
        Labels of all rows of the users' input, if they had some: columns given later are matched by them.
    copied : Copies or None
        Copied rows, if some were found; they are the clusters.
    merged : mapping label -> mapping label -> int
        Rows of the labels that were put together, by the label of the group that they make up.
    learning_rows : int
        Rows of the users' input that were used for learning only, and are not among these.
    people : array (n,) or None
        How many people who are alike each row stands for, if they were counted while the users' input was read in
        parts; ``weight`` is then the sum of theirs. None: one each.
    given : frame, array or None
        All rows of the users' covariates, as they were given: models that are asked about decide on them.
    positive : label or None
        The users' label of the outcome 1, if outcomes were given as labels.
    """

    y: FloatArray
    group: IntArray
    groups: Groups
    weight: FloatArray
    X: Table | None
    clusters: IntArray | None
    ids: AnyArray | None
    dropped: Mapping[Label, int]
    left_out: Mapping[Label, int]
    rows: IntArray
    weighted: bool
    index: pd.Index | None = None
    copied: Copies | None = None
    merged: Mapping[Label, Mapping[Label, int]] = field(default_factory=dict)
    learning_rows: int = 0
    people: FloatArray | None = None
    given: Any = None
    positive: Label | None = None

    @property
    def n_obs(self) -> int:
        """Number of people: of rows, unless some are alike and counted."""
        return self.n_rows if self.people is None else int(self.people.sum())

    @property
    def n_rows(self) -> int:
        """Number of rows of the arrays here."""
        return self.y.size

    @property
    def n_given(self) -> int:
        """Number of rows in the users' input, dropped and left out ones and those for learning included."""
        return self.n_obs + sum(self.dropped.values()) + sum(self.left_out.values()) + self.learning_rows

    @property
    def counts(self) -> dict[Label, int]:
        """People of each group, by label."""
        counts = np.bincount(self.group, self.people, minlength=len(self.groups)).astype(np.int64)
        return dict(zip(self.groups, counts.tolist(), strict=True))

    @property
    def rows_by_group(self) -> tuple[IntArray, ...]:
        """Positions of the rows of each group."""
        return by_group(self.group, len(self.groups))

    @property
    def covariates(self) -> Table:
        """The covariates, which must be there."""
        if self.X is None:
            raise InputError(
                "bad-features",
                "Covariates are needed to fit a learner, and X is None; pass X, or predictions made elsewhere.",
            )
        return self.X

    def take(self, rows: IntArray) -> "Sample":
        """Return some of the rows, by position."""
        X = self.X.iloc[rows].reset_index(drop=True) if isinstance(self.X, pd.DataFrame) else self.X
        if isinstance(X, np.ndarray):
            X = X[rows]
        clusters = None if self.clusters is None else np.unique(self.clusters[rows], return_inverse=True)[1]
        group, weight = self.group[rows], self.weight[rows]
        return replace(
            self,
            y=self.y[rows],
            group=group,
            groups=make_groups(self.groups.labels, group, weight),
            weight=weight,
            X=X,
            clusters=clusters,
            ids=None if self.ids is None else self.ids[rows],
            rows=self.rows[rows],
            copied=None,
            people=None if self.people is None else self.people[rows],
        )

    def of_groups(self, chosen: Sequence[Label]) -> "Sample":
        """Return the rows of some of the groups, in the order chosen; those of others are left out and counted."""
        codes = [self.groups.labels.index(label) for label in chosen]
        new = np.full(len(self.groups), -1, dtype=np.intp)
        new[codes] = np.arange(len(codes))
        rows = np.flatnonzero(new[self.group] >= 0)
        taken, group = self.take(rows), new[self.group[rows]]
        others = {label: count for label, count in self.counts.items() if label not in chosen}
        groups = make_groups(tuple(chosen), group, taken.weight)
        return replace(taken, group=group, groups=groups, left_out=dict(self.left_out) | others)

    def without_learning(self, tested: IntArray) -> "Sample":
        """Return the rows that are tested, by position; the others are counted as used for learning only."""
        learning_rows = self.n_obs - len(tested)
        return replace(self.take(tested), copied=self.copied, learning_rows=self.learning_rows + learning_rows)

    def split(self, rng: np.random.Generator) -> tuple[IntArray, IntArray]:
        """Deal the rows into two halves at random, each group evenly; or the clusters, whatever their groups."""
        unit = np.arange(self.n_obs) if self.clusters is None else self.clusters
        n_units = int(unit.max()) + 1
        order = rng.permutation(n_units)
        if self.clusters is None:  # within each group every other row
            order = np.concatenate([order[rows] for rows in by_group(self.group[order], len(self.groups))])
        first = np.zeros(n_units, dtype=bool)
        first[order[::2]] = True
        return np.flatnonzero(first[unit]), np.flatnonzero(~first[unit])

    @property
    def binary_outcome(self) -> bool:
        """Whether every outcome is 0 or 1."""
        return bool(np.all((self.y == 0) | (self.y == 1)))


def make_sample(
    X: ArrayLike | None,
    y: ArrayLike,
    sensitive_features: ArrayLike,
    *,
    groups: Sequence[Label] | None = None,
    merge: Merge | None = None,
    sample_weight: ArrayLike | None = None,
    clusters: ArrayLike | None = None,
    ids: ArrayLike | None = None,
    positive: Label | None = None,
    missing: str = "raise",
    binary: bool = False,
    declared: Declared = NOTHING,
) -> Sample:
    """Read and check users' data.

    Parameters
    ----------
    X : frame, array (n, p) or None
        Covariates: pandas, polars or any frame narwhals reads, or numbers in an array.
    y : column (n,)
        Outcomes: numbers or booleans, or two labels together with `positive`.
    sensitive_features : column (n,) or frame
        Group of every row; at least two groups. The columns of a frame are crossed.
    groups : sequence of labels, optional
        The groups to keep, in the order of their codes; rows of others are left out and counted. Default: all labels,
        sorted, the last one first.
    merge : mapping of labels to lists of labels, optional
        Groups to be put together, by the new label; before groups are chosen.
    sample_weight, clusters, ids : columns (n,), optional
        Sampling weights; labels of clusters; names of rows.
    positive : label, optional
        The outcome to be coded 1; the other one is coded 0.
    missing : {"raise", "drop", "keep"}
        What to do with rows that have missing values; "keep" keeps those of covariates, and raises for others.
    binary : bool
        Whether the loss needs an outcome coded 0/1.
    declared : Declared
        Which columns of X are categories, and which are quantities.

    Returns
    -------
    Sample

    Notes
    -----
    Pandas columns with the row labels of X (of y, if X has none) in another order are matched by label.
    """
    if missing not in ("keep", "raise", "drop"):
        raise InputError("bad-option", f'missing must be "keep", "raise" or "drop"; got {missing!r}.')
    index = index_of(X, y)
    roles = {"y": y, "sensitive_features": sensitive_features}
    roles |= {"sample_weight": sample_weight, "clusters": clusters, "ids": ids}  # type: ignore[dict-item]
    given = _read_columns(None if X is None else read_covariates(X, declared), roles, index)
    columns = given.columns
    group, merged = merge_labels(columns["sensitive_features"], merge, groups, name="sensitive_features")
    refuse_blanks(group, "sensitive_features")
    if groups is None:
        refuse_odd_labels(group, "sensitive_features")
    outside = outside_groups(group, groups)
    kept = np.ones(given.n_rows, dtype=bool)
    for positions in outside.values():
        kept[positions] = False
    gaps = given.gaps(with_covariates=missing != "keep")
    rows, dropped = _complete_rows({name: gap & kept for name, gap in gaps.items()}, kept, group, missing)

    codes, labels = read_groups(group.at(rows), groups)
    outcome = read_outcome(columns["y"].at(rows), positive=positive, binary=binary)
    weight = np.ones(rows.size)
    if "sample_weight" in columns:
        weight = read_weights(columns["sample_weight"].at(rows), codes, labels)
    cluster_codes = None
    if "clusters" in columns:
        cluster_codes = label_codes(columns["clusters"].at(rows), "clusters", "bad-option")[0]
    return Sample(
        y=outcome,
        group=codes,
        groups=make_groups(labels, codes, weight),
        weight=weight,
        X=None if given.covariates is None else given.covariates.at(rows),
        clusters=cluster_codes,
        ids=columns["ids"].with_none()[rows] if "ids" in columns else None,
        dropped=dropped,
        left_out={label: len(positions) for label, positions in outside.items()},
        rows=rows,
        weighted="sample_weight" in columns,
        index=index,
        merged=merged,
        given=unchanged(X),
        positive=positive,
    )


@dataclass(frozen=True, slots=True)
class _Given:
    """What users gave, read: covariates, and the other columns by name, all of the same length."""

    covariates: Covariates | None
    columns: Mapping[str, Column]

    @property
    def n_rows(self) -> int:
        return int(self.columns["y"].values.size)

    def gaps(self, with_covariates: bool) -> dict[str, BoolArray]:
        """Return where values are missing that are needed, by name."""
        gaps = {name: column.missing for name, column in self.columns.items() if name != "ids"}
        return gaps | self.covariates.missing if self.covariates is not None and with_covariates else gaps


def _read_columns(
    covariates: Covariates | None, roles: Mapping[str, ArrayLike | None], index: pd.Index | None
) -> _Given:
    given = {name: values for name, values in roles.items() if values is not None or name in NEEDED}
    columns = {
        name: (read_group_column if name == "sensitive_features" else read_column)(aligned(values, index, name), name)
        for name, values in given.items()
    }
    lengths = {} if covariates is None else {"X": len(covariates.table)}
    lengths |= {name: column.values.size for name, column in columns.items()}
    if len(set(lengths.values())) > 1:
        listed = ", ".join(f"{name} has {length}" for name, length in lengths.items())
        raise InputError("length-mismatch", f"All inputs must have the same number of rows, but {listed}. Align them.")
    if not lengths["y"]:
        raise InputError("empty-data", "There are no rows. Check how the data were read or filtered.")
    return _Given(covariates, columns)


def _complete_rows(
    gaps: Mapping[str, BoolArray], kept: BoolArray, group: Column, missing: str
) -> tuple[IntArray, dict[Label, int]]:
    """Positions of the kept rows without gaps, and how many others each group has."""
    incomplete = np.logical_or.reduce(list(gaps.values()))
    if not incomplete.any():
        return np.flatnonzero(kept), {}
    codes, labels = label_codes(group.values[incomplete & ~group.missing], "sensitive_features", "unknown-group")
    dropped = dict(zip(labels, np.bincount(codes, minlength=len(labels)).tolist(), strict=True))
    if group.missing.any():
        dropped[None] = int(group.missing.sum())
    per_column = ", ".join(f"{name} ({int(gap.sum())})" for name, gap in gaps.items() if gap.any())
    per_group = ", ".join(f"{label!r}: {count}" for label, count in dropped.items())
    affected = f"{int(incomplete.sum())} of {incomplete.size} rows (by group: {per_group})"
    if missing != "drop":
        raise InputError(
            "missing-values",
            f"Missing values in {per_column}: {affected}. "
            'Fill them in, or pass missing="drop" to leave these rows out.',
        )
    if incomplete[kept].all():
        raise InputError("empty-data", f"Every row has missing values: {per_column}. Fill in or leave out columns.")
    warnings.warn(f"Dropped {affected} with missing values in {per_column}.", DroppedRowsWarning, stacklevel=3)
    return np.flatnonzero(~incomplete & kept), dropped


def keep_copies_together(sample: Sample, copies: str) -> Sample:
    """Return the sample with copied rows as clusters, if there are any and no clusters were given, and warn of them."""
    if copies not in COPIES:
        raise InputError("bad-option", f"`copies` must be one of {list(COPIES)}, got {copies!r}.")
    if sample.clusters is not None or copies == "ignore":
        return sample
    if copies == "keep-together":
        return replace(sample, clusters=twins(sample.covariates, sample.group))
    found = None if sample.X is None else find_copies(sample.X, sample.y, sample.group)
    if found is None:
        return sample
    warnings.warn(copies_in_words(found, sample.n_obs), CopiedRowsWarning, stacklevel=3)
    return replace(sample, clusters=found.clusters, copied=found)
