"""Rows that belong together: pandas columns are matched by their labels, everything else by position."""

from __future__ import annotations

from typing import Any

import pandas as pd

from ..errors import InputError


def index_of(*tables: Any) -> pd.Index | None:
    """Return the row labels of the first input that has some."""
    return next((table.index for table in tables if isinstance(table, pd.DataFrame | pd.Series)), None)


def aligned(values: Any, index: pd.Index | None, name: str) -> Any:
    """Return values in the order of the rows.

    A pandas column or frame with the labels of the rows in another order is brought into their order. One whose labels
    are 0, 1, 2 and so on, as pandas gives them, and other forms are taken as they are, by position; so is everything if
    the labels of the rows are such. Labels of other rows are refused.

    Parameters
    ----------
    values : any form of a column
        What belongs to the rows.
    index : Index or None
        Labels of the rows; None if they have none.
    name : str
        How messages call the values.
    """
    if index is None or not isinstance(values, pd.DataFrame | pd.Series):
        return values
    own = values.index
    if len(own) != len(index) or own.equals(index):
        return values
    if not own.isin(index).all() or not index.isin(own).all():
        if _counts_rows(own) or _counts_rows(index):
            return values
        strange = own[~own.isin(index)]
        example = f", for example {strange[0]!r}" if len(strange) else ""
        raise InputError(
            "bad-index",
            f"{name} has other row labels than the other inputs ({len(strange)} of {len(own)} are not among theirs"
            f"{example}), so that its rows may belong to other people. Give all of them the same labels, or call "
            "reset_index(drop=True) on them if rows already belong together by position.",
        )
    if not (own.is_unique and index.is_unique):
        raise InputError(
            "bad-index",
            f"{name} has the row labels of the other inputs in another order, and labels repeat, so that rows cannot "
            "be matched. Give every row a label of its own, or call reset_index(drop=True) on all of them if rows "
            "already belong together by position.",
        )
    return values.reindex(index)


def _counts_rows(index: pd.Index) -> bool:
    """Whether labels are positions, as pandas gives them where there are none."""
    return index.equals(pd.RangeIndex(len(index)))
