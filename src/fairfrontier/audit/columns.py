"""Looking at single columns: what they tell about others, whether they are copies, dates, or cannot be compared."""

from __future__ import annotations

import datetime
import re
import unicodedata

import numpy as np
import pandas as pd
from scipy import stats

from ..arrays import FloatArray, IntArray

FEW_ROWS = 20
"""Below this many rows all-different values do not make an identifier, nor a text's values predictors."""
DATE = re.compile(r"\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}.*)?|\d{1,2}([./-])\d{1,2}\2\d{4}")
"""Text that is a date."""


def as_labels(column: pd.Series) -> pd.Series:
    """Labels as text; whole numbers without a decimal point, missing ones stay missing."""
    if pd.api.types.is_float_dtype(column) and ((column.dropna() % 1 == 0) & (column.dropna().abs() < 2.0**53)).all():
        column = column.astype("Int64")
    return column.astype(object).map(_label, na_action="ignore")


def _label(value: object) -> str:
    return str(value).replace("\0", "\\0")  # numpy forgets zero bytes at the end of a text


def printable(text: str) -> str:
    """Text as one line that a terminal shows as it is: line breaks and control characters become escapes."""
    return "".join(
        sign.encode("unicode_escape").decode() if unicodedata.category(sign) in ("Cc", "Cs", "Zl", "Zp") else sign
        for sign in text
    )


def tells(values: pd.Series, target: FloatArray) -> float:
    """How well a column by itself predicts a 0/1 target: area under the curve, of either sign; 0.5 if not known."""
    positives = float(target.sum())
    negatives = len(target) - positives
    if not (positives and negatives):
        return 0.5
    if pd.api.types.is_numeric_dtype(values):
        ranks = stats.rankdata(values.to_numpy(dtype=float))
    else:
        codes, labels = pd.factorize(values)
        if len(values) < FEW_ROWS * len(labels):
            return 0.5
        ranks = stats.rankdata((np.bincount(codes, weights=target) / np.bincount(codes))[codes])
    area = (float(ranks @ target) - positives * (positives + 1.0) / 2.0) / (positives * negatives)
    return max(area, 1.0 - area)


def is_copy(one: pd.Series, other: pd.Series) -> bool:
    """Whether two columns say the same: each value of one goes with one value of the other.

    If all values are different that holds of any two columns; then their order, or their text, must agree.
    """
    if not hashable(other):
        return False
    a, b = pd.factorize(one)[0], pd.factorize(other)[0]
    different = len(np.unique(a))
    if not len(np.unique(_pair_codes(a, b))) == different == len(np.unique(b)):
        return False
    if different < len(a):
        return True
    if pd.api.types.is_numeric_dtype(one) and pd.api.types.is_numeric_dtype(other):
        order = np.diff(other.to_numpy(dtype=float)[np.argsort(one.to_numpy(dtype=float))])
        return bool((order > 0.0).all() or (order < 0.0).all())
    return bool((as_labels(one) == as_labels(other)).all())


def _pair_codes(a: IntArray, b: IntArray) -> IntArray:
    return np.asarray(a * (int(b.max(initial=0)) + 1) + b, dtype=np.intp)


def dates(values: pd.Series) -> bool:
    """Whether all values are dates, or text that reads like one."""
    return all(
        isinstance(value, datetime.date) or (isinstance(value, str) and DATE.fullmatch(value.strip()) is not None)
        for value in values.unique()
    )


def hashable(values: pd.Series) -> bool:
    """Whether values can be compared and counted."""
    try:
        values.nunique()
    except TypeError:
        return False
    return True
