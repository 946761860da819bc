"""Kinds of columns: numbers, categories, integers that are codes, dates; how to tell them apart is written here, once.

The kind of a column follows from its dtype and values alone, but for integers: whether they are quantities or codes of
categories may depend on how an outcome goes with them. Learners decide that on their training rows, and a plan shows it
for all rows; both call `judge_codes`.
"""

from __future__ import annotations

import datetime
import re
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats
from scipy.optimize import isotonic_regression

from ..arrays import AnyArray, BoolArray, FloatArray, IntArray

FEWEST_CODES, MOST_CODES = 3, 50
"""Integers with fewer or more different values are never taken for codes: two need no order, many are quantities."""
ROWS_PER_CODE = 20
"""Rows per value, on average, from which on integers may be taken for codes."""
FIRST_VALUES = 10_000
"""Values that are looked at first, to tell quickly that there are too many, or that they are no integers."""
RARE = 10
"""Values with fewer rows say nothing about order."""
STRICT, LAX = 1e-3, 0.05
"""Levels of the test for order: of integers that follow each other evenly, and of integers with gaps between them."""
MOST_CLASSES = 10
"""An outcome with at most so many values is compared value by value, any other by its mean."""
LARGEST_INTEGER = 2.0**53
"""From here on, neighbouring integers are the same float."""
ISO_DATE = re.compile(r"\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}.*)?")
LOCAL_DATE = re.compile(r"(\d{1,2})([./-])(\d{1,2})\2(\d{4})")
UNIX_EPOCH = datetime.date(1970, 1, 1).toordinal()


class Kind(Enum):
    """What a column is, by dtype and values alone."""

    NUMBER = "number"
    INTEGER = "integer"
    CATEGORY = "category"
    DATE = "date"
    DURATION = "duration"


_INFERRED = {
    "integer": Kind.NUMBER,
    "floating": Kind.NUMBER,
    "mixed-integer-float": Kind.NUMBER,
    "decimal": Kind.NUMBER,
    "date": Kind.DATE,
    "datetime": Kind.DATE,
    "datetime64": Kind.DATE,
    "timedelta": Kind.DURATION,
    "timedelta64": Kind.DURATION,
}
"""Kinds of columns of Python objects, by the name that pandas finds for their content."""


def kind_of(column: pd.Series) -> Kind:
    """Return the kind of a column: declared by its dtype, or read off its values if they are text or objects."""
    dtype: Any = column.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        return Kind.CATEGORY
    if pd.api.types.is_bool_dtype(dtype):
        return Kind.NUMBER
    if pd.api.types.is_numeric_dtype(dtype):
        return Kind.INTEGER if pd.api.types.is_integer_dtype(dtype) else Kind.NUMBER
    if pd.api.types.is_datetime64_any_dtype(dtype):
        return Kind.DATE
    if pd.api.types.is_timedelta64_dtype(dtype):
        return Kind.DURATION
    found = pd.api.types.infer_dtype(column, skipna=True)
    if found in _INFERRED:
        return _INFERRED[found]
    return Kind.DATE if found == "string" and reads_as_dates(column) else Kind.CATEGORY


# --- numbers ------------------------------------------------------------------------------------------------


def numbers_of(column: pd.Series) -> FloatArray:
    """Return numbers as floats, NaN where they are missing; what is not a number is missing."""
    if column.dtype == object or not pd.api.types.is_numeric_dtype(column.dtype):
        column = pd.to_numeric(column.astype(object), errors="coerce")
    return np.asarray(column.to_numpy(dtype=np.float64, na_value=np.nan))


def holds_integers(values: FloatArray) -> bool:
    """Whether all numbers that are not missing are integers, small enough to be told apart."""
    present = values[~np.isnan(values)]
    return not ((np.abs(present) >= LARGEST_INTEGER).any() or (present != np.rint(present)).any())


# --- integers that are codes ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Codes:
    """Whether integers are codes of categories.

    Attributes
    ----------
    coded : bool
        The verdict.
    n_levels : int
        Number of different values; where they are too many, only those found before that is plain.
    gaps : bool
        Whether the distances between neighbouring values, of those with enough rows, differ.
    p_value : float
        Of an increasing or a decreasing relation to the outcome; 1 if it was not tested.
    """

    coded: bool
    n_levels: int
    gaps: bool
    p_value: float


def judge_codes(values: FloatArray, y: FloatArray | IntArray | None, weight: FloatArray | None = None) -> Codes:
    """Judge whether integers are codes: few values, enough rows of each, and an outcome that has no order in them.

    Parameters
    ----------
    values : array (n,)
        Integers, NaN where one is missing.
    y : array (n,) or None
        The outcome of the same rows; without one, no integers are codes.
    weight : array (n,), optional
        Weights of the rows; those without weight count as absent.

    Returns
    -------
    Codes
    """
    first = pd.unique(values[:FIRST_VALUES])
    if len(first) > MOST_CODES + 1:  # one of them may stand for those that are missing
        return Codes(False, len(first), False, 1.0)
    present = ~np.isnan(values) if weight is None else ~np.isnan(values) & (weight > 0.0)
    levels, level = np.unique(values[present], return_inverse=True)
    count = np.bincount(level, minlength=len(levels))
    common = levels[count >= RARE]
    gaps = len(common) > 2 and np.ptp(np.diff(common)) > 0.0
    few = FEWEST_CODES <= len(levels) <= MOST_CODES and len(level) >= ROWS_PER_CODE * len(levels)
    if y is None or not few:
        return Codes(False, len(levels), bool(gaps), 1.0)
    p = no_order_p_value(level, np.asarray(y)[present], None if weight is None else weight[present])
    return Codes(p < (LAX if gaps else STRICT), len(levels), bool(gaps), p)


def no_order_p_value(level: IntArray, y: AnyArray, weight: FloatArray | None = None) -> float:
    """Return the p-value of the hypothesis that the outcome rises, or that it falls, with the level.

    Of an outcome of few values, the odds of each against the most common one are tested, with Bonferroni's correction.

    Parameters
    ----------
    level : integer array (n,)
        Ranks of the levels, from 0.
    y : array (n,)
        The outcome.
    weight : array (n,), optional
        Positive weights of the rows.
    """
    weight = np.ones(len(level)) if weight is None else weight
    values, codes = np.unique(y, return_inverse=True)
    if len(values) > MOST_CLASSES:
        return _p_value(level, y, weight, np.bincount(level) >= RARE)
    reference = int(np.argmax(np.bincount(codes, minlength=1)))
    others = [code for code in range(len(values)) if code != reference]
    found = [1.0]
    for code in others:
        rows = (codes == code) | (codes == reference)
        own, member = level[rows], np.asarray(codes[rows] == code, dtype=np.float64)
        count, share = np.bincount(own), member.mean()
        # with fewer rows expected of either class, the normal approximation fails
        enough = (count >= RARE) & (count * share * (1.0 - share) >= 1.0)
        found.append(min(1.0, len(others) * _p_value(own, member, weight[rows], enough)))
    return min(found)


def _p_value(level: IntArray, y: FloatArray, weight: FloatArray, used: BoolArray) -> float:
    """The larger of the two p-values, of an increasing and of a decreasing relation, on the levels in use."""
    rows = used[level]
    own, w = (np.cumsum(used) - 1)[level[rows]], weight[rows]
    k = int(used.sum())
    if k < FEWEST_CODES:
        return 1.0
    total = np.bincount(own, w, k)
    # n_l = (sum_i w_i)^2 / sum_i w_i^2, the effective number of rows of a level; without weights their number
    count = total**2 / np.bincount(own, w**2, k)
    n = float(count.sum())
    if n <= k:
        return 1.0
    mean = np.bincount(own, w * y[rows], k) / total
    # s^2 = n / (n - k) sum_i w_i (y_i - m_l(i))^2 / sum_i w_i
    variance = n / (n - k) * float(np.sum(w * (y[rows] - mean[own]) ** 2)) / float(w.sum())
    largest = 0.0
    for increasing in (True, False):
        fitted = isotonic_regression(mean, weights=count, increasing=increasing)
        freedom = k - (len(fitted.blocks) - 1)
        # F = sum_l n_l (m_l - f_l)^2 / (s^2 (k - b)), with b the number of steps of the isotonic fit f
        left = float(np.sum(count * (mean - fitted.x) ** 2))
        if freedom == 0 or left <= 1e-12 * variance * n:
            return 1.0
        if variance > 0.0:
            largest = max(largest, float(stats.f.sf(left / freedom / variance, freedom, n - k)))
    return largest


# --- categories ----------------------------------------------------------------------------------------------


def label_text(value: object) -> str:
    """Return a label as text: integers without a decimal point."""
    if isinstance(value, float | np.floating) and float(value) % 1.0 == 0.0 and abs(float(value)) < LARGEST_INTEGER:
        value = int(value)
    return str(value).replace("\0", "\\0")  # numpy drops zero bytes at the end of a text


def level_codes(column: pd.Series) -> tuple[IntArray, list[str]]:
    """Return the levels of a column as texts, and the position of every row's level among them, -1 if it is missing."""
    if column.dtype == object and pd.api.types.infer_dtype(column, skipna=True).startswith("mixed"):
        column = column.map(label_text, na_action="ignore")  # for Python True, 1 and 1.0 are the same
    codes, values = pd.factorize(column)
    texts = [label_text(value) for value in values]
    merged, labels = pd.factorize(np.asarray(texts, dtype=object))
    return np.where(codes >= 0, np.append(merged, -1)[codes], -1).astype(np.intp), [str(text) for text in labels]


def as_labels(column: pd.Series) -> pd.Series:
    """Return labels as text: integers without a decimal point if all are; missing ones stay missing."""
    if pd.api.types.is_float_dtype(column.dtype) and holds_integers(numbers_of(column)):
        column = column.astype("Int64")
    return column.astype(object).map(_text, na_action="ignore")


def _text(value: object) -> str:
    return str(value).replace("\0", "\\0")


def merged(column: pd.Series) -> bool:
    """Whether a column was read as numbers so large that neighbouring integers became equal."""
    return pd.api.types.is_float_dtype(column) and bool((column.abs() >= LARGEST_INTEGER).any())


def hashable(values: pd.Series) -> bool:
    """Whether values can be compared and counted."""
    try:
        values.nunique()
    except TypeError:
        return False
    return True


# --- dates ---------------------------------------------------------------------------------------------------


def reads_as_dates(column: pd.Series) -> bool:
    """Whether all texts are dates, written in one order of day and month."""
    texts = column.dropna().unique()
    return len(texts) > 0 and day_first(texts) is not None


def day_first(texts: AnyArray) -> bool | None:
    """Whether dates as text have the day before the month; None if they are no dates, or not in one order.

    Dates that can be read either way have the day first, but for those with slashes.
    """
    first: set[bool] = set()
    slashes = False
    for text in texts:
        local = LOCAL_DATE.fullmatch(str(text).strip())
        if local is None:
            if _iso(str(text)) is None:
                return None
            continue
        one, other = int(local[1]), int(local[3])
        first |= {True} if one > 12 else {False} if other > 12 else set()
        slashes = slashes or local[2] == "/"
        if len(first) > 1 or _local(str(text), one > 12) is None:
            return None
    return first.pop() if first else not slashes


def _iso(text: str) -> int | None:
    text = text.strip()
    if ISO_DATE.fullmatch(text) is None:
        return None
    try:
        return datetime.date.fromisoformat(text[:10]).toordinal()
    except ValueError:
        return None


def _local(text: str, first: bool) -> int | None:
    found = LOCAL_DATE.fullmatch(text.strip())
    if found is None:
        return None
    day, month = (found[1], found[3]) if first else (found[3], found[1])
    try:
        return datetime.date(int(found[4]), int(month), int(day)).toordinal()
    except ValueError:
        return None


def days_of(column: pd.Series, first: bool = True) -> FloatArray:
    """Return dates as days since the beginning of 1970, durations as days; NaN where there is none.

    Parameters
    ----------
    column : Series (n,)
        Dates of any form; time of day counts where the dtype has it.
    first : bool
        Whether texts with neither year first have the day before the month.
    """
    dtype: Any = column.dtype
    if pd.api.types.is_datetime64_any_dtype(dtype):
        plain = column.dt.tz_convert(None) if getattr(dtype, "tz", None) is not None else column
        return _in_days(plain.to_numpy(dtype="datetime64[s]").astype(np.int64), column)
    if pd.api.types.is_timedelta64_dtype(dtype):
        return _in_days(column.to_numpy(dtype="timedelta64[s]").astype(np.int64), column)
    codes, values = pd.factorize(column.astype(object))
    days = np.array([_day(value, first) for value in values] + [np.nan])
    return np.asarray(days[codes], dtype=np.float64)


def _in_days(seconds: IntArray, column: pd.Series) -> FloatArray:
    return np.where(column.isna().to_numpy(), np.nan, seconds / 86_400.0)


def _day(value: object, first: bool) -> float:
    if isinstance(value, datetime.timedelta):
        return value / datetime.timedelta(days=1)
    if isinstance(value, datetime.date):
        return float(value.toordinal() - UNIX_EPOCH)
    iso, local = _iso(str(value)), _local(str(value), first)
    found = local if iso is None else iso
    return np.nan if found is None else float(found - UNIX_EPOCH)
