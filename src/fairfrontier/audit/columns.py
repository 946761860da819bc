"""Looking at single columns: labels as text, areas under the curve, copies, dates, values that cannot be compared."""

from __future__ import annotations

import datetime
import re

import numpy as np
import pandas as pd
from scipy import stats

from ..arrays import AnyArray, FloatArray, IntArray
from ..data.reading import read_column

FEW_ROWS = 20
"""With fewer rows, values that are all different are not an identifier; with fewer rows per label, text predicts
nothing."""
DATE = re.compile(r"\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}.*)?|\d{1,2}([./-])\d{1,2}\2\d{4}")
"""Text that is a date."""


def as_labels(column: pd.Series) -> pd.Series:
    """Return labels as text: integers without a decimal point, missing ones stay missing."""
    if pd.api.types.is_float_dtype(column) and ((column.dropna() % 1 == 0) & (column.dropna().abs() < 2.0**53)).all():
        column = column.astype("Int64")
    return column.astype(object).map(_label, na_action="ignore")


def _label(value: object) -> str:
    return str(value).replace("\0", "\\0")  # numpy drops zero bytes at the end of a text


def values_of(column: pd.Series, name: str) -> AnyArray:
    """Return the values of a column without gaps as an array of numbers or objects."""
    return read_column(column.infer_objects(), name).values


def area_under_curve(values: pd.Series, target: FloatArray) -> float:
    """How well a column by itself predicts a 0/1 target: area under the ROC curve, the larger one of either sign.

    Text is replaced by the mean of the target among the rows with the same text. The area is 0.5 if the target is
    constant, or if text has too few rows per label.
    """
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


def largest_area(values: pd.Series, codes: IntArray, n_groups: int) -> float:
    """Return how well a column predicts any one group against all others: the largest of the areas."""
    targets = range(n_groups if n_groups > 2 else 1)  # of two groups, each is the other's complement
    return max(area_under_curve(values, np.asarray(codes == code, dtype=float)) for code in targets)


def is_copy(one: pd.Series, other: pd.Series) -> bool:
    """Whether two columns carry the same information: each value of one goes with one value of the other.

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


def merged(column: pd.Series) -> bool:
    """Whether a column was read as numbers so large that neighbouring integers became equal."""
    return pd.api.types.is_float_dtype(column) and bool((column.abs() >= 2.0**53).any())
