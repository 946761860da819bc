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

    A pandas column or frame with the labels of the rows in another order is brought into their order. Other labels, and
    other forms, are taken as they are, by position.

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
    if len(own) != len(index) or own.equals(index) or not own.isin(index).all() or not index.isin(own).all():
        return values
    if not (own.is_unique and index.is_unique):
        raise InputError(
            "bad-index",
            f"{name} has the row labels of the other inputs in another order, and labels repeat, so that rows cannot "
            "be matched. Give every row a label of its own, or call reset_index(drop=True) on all of them if rows "
            "already belong together by position.",
        )
    return values.reindex(index)
