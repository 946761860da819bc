"""Columns as users declare them: which are categories and which are quantities; others speak for themselves."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from ..arrays import FloatArray
from ..errors import InputError
from .columns import FEWEST_CODES, MOST_CODES, Kind, days_of, hashable, holds_integers, kind_of, numbers_of
from .messages import COMMAND_LINE, PYTHON, Interface, did_you_mean, listed

FIRST_ROWS = 10_000
"""Rows in which a column is looked at first; one with many values there has many."""


@dataclass(frozen=True, slots=True)
class Declared:
    """Columns declared as categories, and as quantities; no column is both."""

    categorical: tuple[Hashable, ...] = ()
    numeric: tuple[Hashable, ...] = ()

    def __bool__(self) -> bool:
        """Whether anything is declared."""
        return bool(self.categorical or self.numeric)


NOTHING = Declared()
"""No column is declared."""


def read_declared(
    categorical: Sequence[Hashable] | None, numeric: Sequence[Hashable] | None, interface: Interface = PYTHON
) -> Declared:
    """Read two lists of columns and refuse those that contradict each other."""
    lists = []
    for option, given in (("categorical", categorical), ("numeric", numeric)):
        if isinstance(given, str) or (given is not None and not isinstance(given, Iterable)):
            raise InputError(
                "bad-option", f"{interface.name(option)} must be a list of columns, such as [{given!r}]; got {given!r}."
            )
        lists.append(tuple(dict.fromkeys(given or ())))
    both = [name for name in lists[0] if name in lists[1]]
    if both:
        raise InputError(
            "bad-option",
            f"{interface.name('categorical')} and {interface.name('numeric')} both name {listed(both)}: a column is "
            "one or the other.",
        )
    return Declared(*lists)


def check_columns(declared: Declared, columns: Iterable[Hashable], interface: Interface = PYTHON) -> None:
    """Refuse declared columns that a table does not have."""
    known = list(columns)
    for option, names in (("categorical", declared.categorical), ("numeric", declared.numeric)):
        for name in names:
            if name not in known:
                hint = did_you_mean(str(name), map(str, known), f" There are: {listed(known)}.")
                raise InputError(
                    "bad-features", f"{interface.name(option)} names {name!r}, which is not a covariate.{hint}"
                )


def as_declared(frame: pd.DataFrame, declared: Declared = NOTHING, interface: Interface = PYTHON) -> pd.DataFrame:
    """Return a frame whose dtypes say what its columns are.

    Declared categories become pandas categories and declared quantities floats. Of the others, floats that hold a few
    integers become integers, for a column with gaps is often read as floats; objects that are all numbers become
    numbers; everything else stays as it is.
    """
    changed = {}
    for position, name in enumerate(frame.columns):
        column = frame.iloc[:, position]
        if column.dtype == object and not hashable(column):
            raise InputError(
                "bad-features", f"X[{name!r}] holds lists or the like; expected one value per row. Unnest or drop it."
            )
        new = declared_column(column, declared, interface)
        if new is not column:
            changed[position] = new
    if not changed:
        return frame
    columns = [changed.get(position, frame.iloc[:, position]) for position in range(frame.shape[1])]
    converted = pd.concat(columns, axis=1)
    converted.columns = frame.columns
    return converted


def declared_column(column: pd.Series, declared: Declared, interface: Interface = COMMAND_LINE) -> pd.Series:
    """Return one column as `as_declared` does; values that cannot be compared stay as they are."""
    name = column.name
    if column.dtype == object and not hashable(column):
        return column
    if name in declared.categorical:
        if isinstance(column.dtype, pd.CategoricalDtype):
            return column
        return (_as_integers(column, numbers_of(column)) if _is_float(column) else column).astype("category")
    if name in declared.numeric:
        return _quantity(column, name, interface)
    if column.dtype == object and kind_of(column) is Kind.NUMBER:
        column = pd.Series(numbers_of(column), index=column.index, name=column.name)
    if _is_float(column) and _few_integers(column):
        return _as_integers(column, numbers_of(column))
    return column


def _is_float(column: pd.Series) -> bool:
    return pd.api.types.is_float_dtype(column.dtype)


def _few_integers(column: pd.Series) -> bool:
    """Whether floats are integers of so few values that they may be codes."""
    if column.iloc[:FIRST_ROWS].nunique() > MOST_CODES:
        return False
    return holds_integers(numbers_of(column)) and FEWEST_CODES <= column.nunique() <= MOST_CODES


def _as_integers(column: pd.Series, values: FloatArray) -> pd.Series:
    if not holds_integers(values):
        return column
    return column.astype("Int64" if np.isnan(values).any() else "int64")


def _quantity(column: pd.Series, name: Hashable, interface: Interface) -> pd.Series:
    kind = kind_of(column)
    values = days_of(column) if kind in (Kind.DATE, Kind.DURATION) else numbers_of(column)
    wrong = np.flatnonzero(np.isnan(values) & column.notna().to_numpy())
    if wrong.size:
        raise InputError(
            "bad-features",
            f"{interface.name('numeric')} names {name!r}, but {wrong.size} of its values are not numbers, the first is "
            f"{column.iloc[wrong[0]]!r}. Correct them, or leave the column out of {interface.name('numeric')}.",
        )
    return pd.Series(values, index=column.index, name=column.name)
