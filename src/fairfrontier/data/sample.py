"""The sample: the only place where users' data are read and checked."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from ..arrays import AnyArray, ArrayLike, BoolArray, FloatArray, IntArray
from ..errors import DroppedRowsWarning, InputError
from .groups import Groups, by_group, make_groups, outside_groups, read_groups
from .reading import (
    LARGEST,
    SMALLEST,
    Column,
    Label,
    Table,
    count_infinite,
    label_codes,
    plain_label,
    read_column,
    read_covariates,
    refuse_infinite,
    to_float,
)


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

    @property
    def n_obs(self) -> int:
        """Number of rows."""
        return self.y.size

    @property
    def n_given(self) -> int:
        """Number of rows in the users' input, dropped and left out ones included."""
        return self.n_obs + sum(self.dropped.values()) + sum(self.left_out.values())

    @property
    def counts(self) -> dict[Label, int]:
        """Rows of each group, by label."""
        counts = np.bincount(self.group, minlength=len(self.groups))
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
        )

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
    sample_weight: ArrayLike | None = None,
    clusters: ArrayLike | None = None,
    ids: ArrayLike | None = None,
    positive: Label | None = None,
    missing: str = "raise",
    binary: bool = False,
) -> Sample:
    """Read and check users' data.

    Parameters
    ----------
    X : frame, array (n, p) or None
        Covariates: pandas, polars or any frame narwhals reads, or numbers in an array.
    y : column (n,)
        Outcomes: numbers or booleans, or two labels together with `positive`.
    sensitive_features : column (n,)
        Group of every row; at least two groups.
    groups : sequence of labels, optional
        The groups to keep, in the order of their codes; rows of others are left out and counted. Default: all labels,
        sorted, the last one first.
    sample_weight, clusters, ids : columns (n,), optional
        Sampling weights; labels of clusters; names of rows.
    positive : label, optional
        The outcome to be coded 1; the other one is coded 0.
    missing : {"raise", "drop"}
        What to do with rows that have missing values.
    binary : bool
        Whether the loss needs an outcome coded 0/1.

    Returns
    -------
    Sample
    """
    if missing not in ("raise", "drop"):
        raise InputError("bad-option", f'missing must be "raise" or "drop"; got {missing!r}.')
    covariates = None if X is None else read_covariates(X)
    given = {
        "y": y,
        "sensitive_features": sensitive_features,
        "sample_weight": sample_weight,
        "clusters": clusters,
        "ids": ids,
    }
    columns = {
        name: read_column(values, name)
        for name, values in given.items()
        if values is not None or name in ("y", "sensitive_features")
    }
    lengths = {name: column.values.size for name, column in columns.items()}
    if covariates is not None:
        lengths = {"X": len(covariates.table)} | lengths
    if len(set(lengths.values())) > 1:
        listed = ", ".join(f"{name} has {length}" for name, length in lengths.items())
        raise InputError("length-mismatch", f"All inputs must have the same number of rows, but {listed}. Align them.")
    if not lengths["y"]:
        raise InputError("empty-data", "There are no rows. Check how the data were read or filtered.")

    group = columns["sensitive_features"]
    outside = outside_groups(group, groups)
    kept = np.ones(lengths["y"], dtype=bool)
    for positions in outside.values():
        kept[positions] = False
    gaps = {name: column.missing & kept for name, column in columns.items() if name != "ids"}
    if covariates is not None:
        gaps |= {name: gap & kept for name, gap in covariates.missing.items()}
    rows, dropped = _complete_rows(gaps, kept, group, missing)

    codes, labels = read_groups(group.at(rows), groups)
    outcome = _read_outcome(columns["y"].at(rows), positive, binary)
    table = None if covariates is None else covariates.at(rows)
    weight = np.ones(rows.size)
    if sample_weight is not None:
        weight = _read_weights(columns["sample_weight"].at(rows), codes, labels)
    cluster_codes = None
    if clusters is not None:
        cluster_codes = label_codes(columns["clusters"].at(rows), "clusters", "bad-option")[0]
    return Sample(
        y=outcome,
        group=codes,
        groups=make_groups(labels, codes, weight),
        weight=weight,
        X=table,
        clusters=cluster_codes,
        ids=None if ids is None else columns["ids"].with_none()[rows],
        dropped=dropped,
        left_out={label: len(positions) for label, positions in outside.items()},
        rows=rows,
        weighted=sample_weight is not None,
    )


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
    if missing == "raise":
        raise InputError(
            "missing-values",
            f"Missing values in {per_column}: {affected}. "
            'Fill them in, or pass missing="drop" to leave these rows out.',
        )
    if incomplete[kept].all():
        raise InputError("empty-data", f"Every row has missing values: {per_column}. Fill in or leave out columns.")
    warnings.warn(f"Dropped {affected} with missing values in {per_column}.", DroppedRowsWarning, stacklevel=3)
    return np.flatnonzero(~incomplete & kept), dropped


def _read_outcome(values: AnyArray, positive: Label | None, binary: bool) -> FloatArray:
    y = _numeric_outcome(values, binary) if positive is None else _code_positive(values, positive)
    if np.all(y == y[0]):
        raise InputError(
            "constant-outcome",
            f"The outcome y is {plain_label(values[0])!r} in all {y.size} rows: nothing to predict. "
            "Check which column was passed, or how rows were filtered.",
        )
    return y


def _code_positive(values: AnyArray, positive: Label) -> FloatArray:
    labels = label_codes(values, "y", "outcome-not-binary")[1]
    shown = ", ".join(map(repr, labels[:5])) + (", ..." if len(labels) > 5 else "")
    if len(labels) > 2:
        raise InputError(
            "outcome-not-binary",
            f"positive= needs an outcome of two values; y has {len(labels)}: {shown}. Merge them into two.",
        )
    if positive not in labels:
        raise InputError(
            "outcome-not-binary", f"positive={positive!r} is not a value of y, which has {shown}. Choose one."
        )
    return np.asarray(values == positive, dtype=np.float64)


def _numeric_outcome(values: AnyArray, binary: bool) -> FloatArray:
    code = "outcome-not-binary" if binary else "non-finite"
    y = to_float(values, "y", code, "For two labels say which one counts as 1: positive=<label>.")
    refuse_infinite({"y": count_infinite(y)})
    if binary:
        other = np.unique(y[(y != 0) & (y != 1)])
        if other.size:
            raise InputError(
                "outcome-not-binary",
                f"This loss needs an outcome coded 0/1, but y also has {other.size} other values, such as "
                f"{other[0]:g}. For two values say which one counts as 1: positive=<value>; "
                'for a numeric outcome choose another loss, such as "squared".',
            )
    return y


def _read_weights(values: AnyArray, codes: IntArray, groups: tuple[Label, ...]) -> FloatArray:
    advice = "Give one finite, non-negative number per row."
    weight = to_float(values, "sample_weight", "bad-weights", advice)
    bad = np.flatnonzero(~np.isfinite(weight) | (weight < 0))
    if bad.size:
        raise InputError(
            "bad-weights",
            f"sample_weight has {bad.size} values that are negative or infinite, "
            f"the first is {weight[bad[0]]:g}. {advice}",
        )
    for label, rows in zip(groups, by_group(codes, len(groups)), strict=True):
        largest = float(weight[rows].max())
        if largest == 0.0:
            raise InputError(
                "bad-weights", f"sample_weight sums to zero in group {label!r}. Give some of its rows weight."
            )
        if not SMALLEST <= largest <= LARGEST:
            raise InputError(
                "bad-weights",
                f"The largest sample_weight of group {label!r} is {largest:.3g}; it must lie between {SMALLEST:g} and "
                f"{LARGEST:g}. Only ratios of weights matter: divide them by their mean.",
            )
    return weight
