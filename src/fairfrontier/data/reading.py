"""Reading users' columns and frames, whatever library made them, into numpy and pandas."""

import numbers
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, TypeAlias

import narwhals as nw
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..arrays import AnyArray, ArrayLike, BoolArray, FloatArray, IntArray
from ..errors import InputError
from .declared import NOTHING, Declared, as_declared, check_columns
from .messages import shown

Label: TypeAlias = Hashable
Table: TypeAlias = pd.DataFrame | FloatArray

SMALLEST, LARGEST = 1e-50, 1e50
"""Sizes of losses, weights and directions that are accepted; their squares and sums stay clear of 0 and infinity."""


@dataclass(frozen=True, slots=True)
class Column:
    """One column of users' data and where it is missing (there, `values` means nothing)."""

    values: NDArray[Any]
    missing: BoolArray

    def at(self, rows: IntArray) -> NDArray[Any]:
        """Return the values of some rows."""
        return self.values[rows]

    def with_none(self) -> NDArray[Any]:
        """Return the values with None wherever one is missing."""
        if not self.missing.any():
            return self.values
        values = self.values.astype(object)
        values[self.missing] = None
        return values


def read_column(values: ArrayLike, name: str) -> Column:
    """Read one column from an array, a sequence, or a column of any library narwhals knows."""
    series = nw.from_native(values, series_only=True, pass_through=True)
    if isinstance(series, nw.Series):
        return _from_narwhals(series)
    if isinstance(values, np.ndarray):
        array = np.ma.getdata(values)
        masked = np.ma.getmaskarray(values) if isinstance(values, np.ma.MaskedArray) else None
    else:
        array, masked = np.asarray(values, dtype=object), None  # object: ["a", 1] must not become ["a", "1"]
    if array.ndim != 1:
        shape = f"an array of shape {array.shape}" if array.ndim else f"a {type(values).__name__}"
        raise InputError(
            "length-mismatch",
            f"{name} must be one column, one value per row; got {shape}. Pass a single column.",
        )
    absent = np.asarray(pd.isna(array), dtype=np.bool_)
    return Column(array, absent if masked is None else absent | masked)


def _from_narwhals(series: "nw.Series[Any]") -> Column:
    absent = np.asarray(series.is_null().to_numpy(), dtype=np.bool_)
    # Only what is present is converted: integers with gaps would otherwise pass through floats.
    present = _to_numpy(series.drop_nulls())
    if present.dtype.kind == "U":
        present = present.astype(object)
    filler = None if present.dtype == object else 0
    values = np.full(absent.size, filler, dtype=present.dtype)
    values[~absent] = present
    return Column(values, absent | np.asarray(pd.isna(values), dtype=np.bool_))


def _to_numpy(series: "nw.Series[Any]") -> NDArray[Any]:
    if series.dtype in (nw.Int128, nw.UInt128):  # numpy has no integers of that size
        return np.array(series.to_list(), dtype=object)
    return np.asarray(series.to_numpy())


@dataclass(frozen=True, slots=True)
class Covariates:
    """Covariates as read, with the missing places of every column that has some."""

    table: Table
    missing: dict[str, BoolArray]

    def at(self, rows: IntArray) -> Table:
        """Covariates of the rows kept, all finite."""
        if isinstance(self.table, pd.DataFrame):
            frame = self.table.iloc[rows].reset_index(drop=True)
            refuse_infinite({f"X[{name!r}]": count_infinite(values.to_numpy()) for name, values in frame.items()})
            return frame
        array = self.table if rows.size == len(self.table) else self.table[rows]
        infinite = np.isinf(array)
        if infinite.any():
            refuse_infinite({f"X[:, {j}]": int(count) for j, count in enumerate(infinite.sum(axis=0))})
        return array


def read_covariates(X: ArrayLike, declared: Declared = NOTHING) -> Covariates:
    """Read a frame of any library narwhals knows, or a two-dimensional array of numbers.

    ``declared``: which columns of a frame are categories, and which are quantities.
    """
    try:
        native = nw.from_native(X, pass_through=True, allow_series=True)
    except nw.exceptions.DuplicateError as error:
        raise InputError("bad-features", f"X has repeated column names; rename them. {error}") from error
    if isinstance(native, nw.LazyFrame):
        raise InputError("bad-features", "X is a lazy frame; its rows are needed: pass X.collect().")
    if isinstance(native, nw.DataFrame):
        return _read_frame(native, declared)
    if isinstance(native, nw.Series):
        raise InputError("bad-features", "X is a single column; pass a frame: X.to_frame().")
    if declared:
        raise InputError(
            "bad-features",
            "`categorical` and `numeric` name columns of a frame, and X is an array: pass a pandas or polars frame.",
        )
    return _read_array(X)


def _read_frame(frame: "nw.DataFrame[Any]", declared: Declared) -> Covariates:
    native = frame.to_native()
    if not frame.columns:
        raise InputError("empty-data", "X has no columns. Pass at least one covariate.")
    columns: dict[str, Any] = {}
    gaps: dict[str, BoolArray] = {}
    for series in frame.iter_columns():
        name = series.name
        if series.dtype.is_nested():
            raise InputError(
                "bad-features",
                f"X[{name!r}] holds {series.dtype}; expected one value per row. Unnest or drop it.",
            )
        column = _from_narwhals(series)
        if column.missing.any():
            gaps[f"X[{name!r}]"] = column.missing
        columns[name] = _pandas_column(series, column)
    check_columns(declared, columns)
    # a pandas frame is already as wanted, with every kind of column kept
    table = native if isinstance(native, pd.DataFrame) else pd.DataFrame(columns)
    return Covariates(as_declared(table, declared), gaps)


def _pandas_column(series: "nw.Series[Any]", column: Column) -> "pd.Series[Any] | pd.Categorical":
    """Column of a pandas frame: categories stay categories, strings become objects, gaps stay gaps."""
    values = column.values
    if column.missing.any() and values.dtype.kind in "iuf":
        kept = values.astype(np.float64) if values.dtype.kind == "f" else values
        gaps = pd.Series(kept, dtype="Float64" if values.dtype.kind == "f" else "Int64").mask(column.missing)
        return gaps.astype(np.float64) if values.dtype.kind == "f" else gaps
    values = pd.Series(values).mask(column.missing).to_numpy() if values.dtype.kind in "mM" else column.with_none()
    if isinstance(series.dtype, nw.Enum):  # an Enum says its own order of categories
        return pd.Categorical(values, categories=list(series.dtype.categories))
    if series.dtype == nw.Categorical:
        return pd.Categorical(values)
    return pd.Series(values, dtype=object if values.dtype == object else None)


def _read_array(X: ArrayLike) -> Covariates:
    array = np.ma.getdata(X) if isinstance(X, np.ndarray) else np.asarray(X, dtype=object)
    if array.ndim == 0:
        raise InputError(
            "bad-features",
            f"X must be a frame or an array of shape (n, p); got {type(X).__name__}. "
            "Pass a frame or a dense array (a sparse matrix: X.toarray()).",
        )
    if array.ndim != 2:
        advice = "Pass X.reshape(-1, 1) for a single covariate." if array.ndim == 1 else "Pass two dimensions."
        raise InputError("bad-features", f"X must have shape (n, p); got shape {array.shape}. {advice}")
    if not array.shape[1]:
        raise InputError("empty-data", "X has no columns. Pass at least one covariate.")
    absent = np.asarray(pd.isna(array), dtype=np.bool_)
    if isinstance(X, np.ma.MaskedArray):
        absent |= np.ma.getmaskarray(X)
    advice = "For strings or categories pass a pandas or polars frame."
    if array.dtype == object:
        numbers_ = np.full(array.shape, np.nan)
        numbers_[~absent] = to_float(array[~absent], "X", "bad-features", advice)
    else:
        numbers_ = to_float(array, "X", "bad-features", advice)
    if isinstance(X, np.ma.MaskedArray):
        numbers_ = np.where(absent, np.nan, numbers_)
    gaps = {f"X[:, {j}]": absent[:, j] for j in np.flatnonzero(absent.any(axis=0))}
    return Covariates(numbers_, gaps)


def plain_label(label: Any) -> Label:
    """Label as a plain Python value where numpy wrapped one."""
    if isinstance(label, np.datetime64):  # item() could be a bare number
        label = pd.Timestamp(label)
    elif isinstance(label, np.timedelta64):
        label = pd.Timedelta(label)
    elif isinstance(label, np.generic):
        label = label.item()
    plain: Label = label
    return plain


def _kind(label_type: type) -> str:
    """Kind of label: labels of different kinds are never mixed."""
    if issubclass(label_type, bool | np.bool_):
        return "booleans"
    if issubclass(label_type, numbers.Number):
        return "numbers"
    return "strings" if issubclass(label_type, str) else label_type.__name__


def label_codes(values: NDArray[Any], name: str, code: str) -> tuple[IntArray, list[Label]]:
    """Labels coded 0, 1, ... in order of appearance, and the labels."""
    if values.dtype == object:
        kinds = {_kind(label_type) for label_type in set(map(type, values))}
        if len(kinds) > 1:
            raise InputError(
                code,
                f"{name} mixes {' and '.join(sorted(kinds))} as labels. Use labels of one kind.",
            )
    refuse_infinite({name: count_infinite(values)})
    try:
        codes, labels = pd.factorize(values)
    except TypeError as error:
        raise InputError(code, f"{name} has labels that cannot be told apart: {error}. Use strings.") from error
    return codes.astype(np.intp, copy=False), [plain_label(label) for label in labels]


def to_float(values: NDArray[Any], name: str, code: str, advice: str) -> FloatArray:
    """Numbers as floats; text that looks like a number is not a number."""
    what = None
    if values.dtype == object:
        for value in values.flat:
            if not isinstance(value, numbers.Real | np.bool_ | Decimal):
                what = f"{shown(value)}, a {type(value).__name__}"
                break
    elif values.dtype.kind not in "biuf":
        what = f"dtype {values.dtype}"
    if what is not None:
        raise InputError(code, f"{name} must hold numbers, but it has {what}. {advice}")
    return np.asarray(values, dtype=np.float64)


def count_infinite(values: NDArray[Any]) -> int:
    """Count the infinite numbers."""
    if values.dtype == object:
        if pd.api.types.infer_dtype(values, skipna=True) in ("string", "empty", "boolean"):  # seen much faster
            return 0
        return sum(1 for v in values if isinstance(v, float | np.floating) and np.isinf(v))
    return int(np.count_nonzero(np.isinf(values))) if values.dtype.kind == "f" else 0


def refuse_infinite(counts: Mapping[str, int]) -> None:
    """Raise if any of the inputs named has infinite values."""
    listed = ", ".join(f"{name} ({count})" for name, count in counts.items() if count)
    if listed:
        raise InputError("non-finite", f"Infinite values in {listed}. Replace them or leave those rows out.")


def outcome_labels(values: AnyArray, positive: Label | None) -> AnyArray:
    """Return what outcomes, and so decisions, 0 and 1 are called, from the outcomes of the rows used."""
    if positive is None:
        return np.array([0, 1])
    labels: AnyArray = np.unique(values)
    return labels if labels[-1] == positive else labels[::-1]
