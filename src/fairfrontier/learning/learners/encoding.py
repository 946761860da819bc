"""From covariates of any kind to the numbers that models take; what is learned here is learned from training rows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, TransformerMixin

from ...arrays import FloatArray, IntArray
from ...data.columns import (
    FIRST_VALUES,
    MOST_CODES,
    Kind,
    day_first,
    days_of,
    holds_integers,
    judge_codes,
    kind_of,
    level_codes,
    numbers_of,
)
from ...data.messages import listed
from ...data.reading import Table
from ...errors import InputError

RARE_ROWS, RARE_SHARE = 10, 0.05
"""Levels with fewer training rows than this, or than this share of them if that is less, are merged into one."""
MOST_LEVELS = 50
"""Most levels of a column, the merged one included."""
OTHER, MISSING = "other", "missing"
"""How the level of rare and new labels, and that of missing ones, are called."""


@dataclass(frozen=True, slots=True)
class NumberColumn:
    """A column used as numbers; dates and durations are numbers of days.

    Attributes
    ----------
    name : label
        Name, or position in an array.
    kind : Kind
        Number, date or duration.
    fill : float
        Stands for missing values: the median of the training rows; NaN if they stay missing.
    gaps : bool
        Whether values are missing in the training rows, so that an indicator says where.
    first : bool
        Whether dates as text have the day before the month.
    """

    name: Any
    kind: Kind
    fill: float
    gaps: bool
    first: bool = True

    def read(self, column: pd.Series) -> FloatArray:
        """Return the numbers, NaN where one is missing."""
        return numbers_of(column) if self.kind is Kind.NUMBER else days_of(column, self.first)


@dataclass(frozen=True, slots=True)
class LevelColumn:
    """A column used as categories.

    Attributes
    ----------
    name : label
        Name, or position in an array.
    levels : mapping of texts to positions
        The levels common in the training rows.
    n_levels : int
        Number of levels, with those of rare and of missing labels.
    other : int
        Position of the level of rare and new labels; -1 if no training row has one.
    missing : int
        Position of the level of missing labels; as ``other`` if no training row has one.
    """

    name: Any
    levels: dict[str, int]
    n_levels: int
    other: int
    missing: int

    def read(self, column: pd.Series) -> IntArray:
        """Return the position of every row's level, -1 for none of them."""
        codes, texts = level_codes(column)
        found = np.array([self.levels.get(text, self.other) for text in texts] + [self.missing], dtype=np.intp)
        return np.asarray(found[codes])

    def names(self) -> list[str]:
        """Names of the levels, in order."""
        names = [""] * self.n_levels
        for position, text in ((self.missing, MISSING), (self.other, OTHER)):
            if position >= 0:
                names[position] = text
        for text, position in self.levels.items():
            names[position] = text
        return [f"{self.name}_{text}" for text in names]


class NumericColumns(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Turn covariates into a float array: numbers pass through, dates become days, categories become indicators.

    Integers whose relation to the outcome has no order are codes of categories: see `fairfrontier.data.columns`. That
    is decided when fitted, from the rows and outcomes given then. Rare levels, and levels never seen then, share one
    indicator. Missing numbers become the median, with an indicator; a missing category is a level of its own.
    Columns of a frame are found by name, in any order; others are ignored.

    Parameters
    ----------
    standardise : bool
        Centre and scale every resulting column by its (weighted) training mean and standard deviation.
    native : bool
        For models that take missing numbers and categories as they are, such as the boosting of this package: missing
        numbers stay NaN, and a category becomes one column of floats, the position of the level or NaN for a level that
        has none. The columns of numbers come first; `level_positions` says which columns are positions of levels.
    codes : tuple of columns
        Columns of integers known to be codes beforehand, as `codes_among` finds them.
    """

    def __init__(self, standardise: bool = False, native: bool = False, codes: tuple[Any, ...] = ()) -> None:
        self.standardise = standardise
        self.native = native
        self.codes = codes

    def fit(self, X: Table, y: Any = None, sample_weight: FloatArray | None = None) -> NumericColumns:
        """Learn the kinds of the columns, their levels and medians, and the means and scales if asked for."""
        self.named_ = isinstance(X, pd.DataFrame)
        self.columns_: list[Any] = list(X.columns) if isinstance(X, pd.DataFrame) else list(range(np.shape(X)[1]))
        self.numbers_: list[NumberColumn] = []
        self.levels_: list[LevelColumn] = []
        target = None if y is None else np.asarray(y)
        # all columns of an array at once: one after another they would be read with long steps
        gaps = None if isinstance(X, pd.DataFrame) else np.isnan(np.asarray(X, dtype=np.float64)).sum(axis=0)
        for position, name in enumerate(self.columns_):
            column = _column(X, name)
            n_gaps = int(column.isna().sum()) if gaps is None else int(gaps[position])
            self._learn(name, column, n_gaps, target, sample_weight)
        if self.standardise:
            values = self._numbers(X)
            self.mean_ = np.average(values, axis=0, weights=sample_weight)
            centred = values - self.mean_
            # squares of the largest numbers overflow; a power of two taken out first changes no digit
            size = np.ldexp(0.5, np.frexp(np.abs(centred).max(axis=0, initial=0.0))[1])
            scale = size * np.sqrt(np.average((centred / size) ** 2, axis=0, weights=sample_weight))
            # a column without variation carries no information and must not be divided by rounding noise
            self.scale_ = np.where(scale > 1e-12 * np.maximum(np.abs(self.mean_), 1.0), scale, 1.0)
        return self

    def _learn(self, name: Any, column: pd.Series, n_gaps: int, y: Any, weight: FloatArray | None) -> None:
        kind = kind_of(column)
        if kind is Kind.INTEGER or not self.named_:
            kind = Kind.CATEGORY if name in self.codes or _coded(column, (y,), weight) else Kind.NUMBER
        if kind is Kind.CATEGORY or n_gaps == len(column):  # a column always missing has no median, but a level
            self.levels_.append(_learn_levels(name, column))
            return
        first = bool(day_first(column.dropna().unique())) if kind is Kind.DATE and _is_text(column) else True
        fill = np.nan
        if self.named_ or not self.native:
            values = NumberColumn(name, kind, np.nan, False, first).read(column)
            present = values[~np.isnan(values)]
            n_gaps = len(values) - len(present)  # what cannot be read is missing, too
            if not len(present):
                self.levels_.append(_learn_levels(name, column))
                return
            fill = np.nan if self.native else float(np.median(present))
        self.numbers_.append(NumberColumn(name, kind, fill, n_gaps > 0, first))

    @property
    def level_positions(self) -> tuple[int, ...]:
        """Positions of the columns of levels among those that a ``native`` encoder makes; empty for others."""
        first = len(self.numbers_)
        return tuple(range(first, first + len(self.levels_))) if self.native else ()

    @property
    def width(self) -> int:
        """Number of columns of numbers that the covariates become."""
        n_levels = [1 if self.native else column.n_levels for column in self.levels_]
        return len(self.numbers_) + len(self._with_gaps()) + sum(n_levels)

    def transform(self, X: Table) -> FloatArray:
        """Return the covariates as a float array."""
        values = self._numbers(X)
        return (values - self.mean_) / self.scale_ if self.standardise else values

    def get_feature_names_out(self, input_features: Any = None) -> list[Any]:
        """Names of the resulting columns: those of numbers, of gaps, and of levels."""
        names = [column.name for column in self.numbers_]
        names += [f"{column.name}_{MISSING}" for column in self._with_gaps()]
        return names + [name for column in self.levels_ for name in column.names()]

    def _with_gaps(self) -> list[NumberColumn]:
        return [] if self.native else [column for column in self.numbers_ if column.gaps]

    def _numbers(self, X: Table) -> FloatArray:
        self._check(X)
        plain = [column.kind is Kind.NUMBER for column in self.numbers_]
        if not self.named_ and all(plain) and not self.levels_ and not self._with_gaps():
            values = np.asarray(X, dtype=np.float64)
            return values if self.native else self._filled(values)
        read = [column.read(_column(X, column.name)) for column in self.numbers_]
        numbers = np.column_stack(read) if read else np.empty((len(X), 0))
        missing = [
            np.isnan(v) for v, column in zip(read, self.numbers_, strict=True) if column.gaps and not self.native
        ]
        parts = [numbers if self.native else self._filled(numbers), *(gap[:, None].astype(float) for gap in missing)]
        return np.hstack([*parts, *(self._levels(X, column) for column in self.levels_)])

    def _levels(self, X: Table, column: LevelColumn) -> FloatArray:
        """Return the positions (n, 1) of levels for a ``native`` encoder, else an indicator (n, L) of each level."""
        position = column.read(_column(X, column.name))[:, None]
        if self.native:
            return np.where(position >= 0, position, np.nan)
        return np.asarray(position == np.arange(column.n_levels), dtype=np.float64)

    def _filled(self, values: FloatArray) -> FloatArray:
        gaps = np.isnan(values)
        return np.where(gaps, [column.fill for column in self.numbers_], values) if gaps.any() else values

    def _check(self, X: Table) -> None:
        if isinstance(X, pd.DataFrame) != self.named_:
            forms = ("a frame", "an array") if self.named_ else ("an array", "a frame")
            raise InputError(
                "bad-features",
                f"The learner was fitted on covariates in {forms[0]} and is given {forms[1]}; pass the same form.",
            )
        if not isinstance(X, pd.DataFrame):
            if np.shape(X)[1] != len(self.columns_):
                raise InputError(
                    "bad-features",
                    f"The learner was fitted on {len(self.columns_)} covariates and is given {np.shape(X)[1]}; pass "
                    "the same columns in the same order.",
                )
            return
        missing = [name for name in self.columns_ if name not in X.columns]
        if missing:
            raise InputError(
                "bad-features",
                f"The learner was fitted on covariates that are missing here: {listed(missing)}. Given are "
                f"{listed(X.columns)}; columns are found by name, in any order.",
            )

    def __sklearn_tags__(self) -> Any:
        """Say what scikit-learn may expect: missing values and text are fine."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags


@dataclass(frozen=True, slots=True)
class GroupedTable:
    """Covariates together with the code of every row's group, for models that see the group."""

    X: Table
    group: IntArray
    n_groups: int

    @property
    def shape(self) -> tuple[int, int]:
        """Rows, and columns with the group as one of them."""
        return (self.X.shape[0], self.X.shape[1] + 1)

    def __len__(self) -> int:
        """Number of rows."""
        return len(self.group)


class PooledColumns(NumericColumns):
    """Covariates as `NumericColumns` makes them, then an indicator of every group.

    Parameters
    ----------
    standardise, native, codes
        As for `NumericColumns`.
    interactions : bool
        Also give every group its own copy of each centred column, zero in the rows of other groups. A penalty then
        shrinks what is particular to a group towards what is common to all. Not with ``native``.
    """

    def __init__(
        self,
        standardise: bool = False,
        native: bool = False,
        codes: tuple[Any, ...] = (),
        interactions: bool = False,
    ) -> None:
        super().__init__(standardise, native, codes)
        self.interactions = interactions

    def fit(  # type: ignore[override]
        self, X: GroupedTable, y: Any = None, sample_weight: FloatArray | None = None
    ) -> PooledColumns:
        """Learn the encoding of the covariates, and the means of the resulting columns if they are needed."""
        self._fit(X, y, sample_weight)
        return self

    def fit_transform(self, X: GroupedTable, y: Any = None, sample_weight: FloatArray | None = None) -> FloatArray:
        """Learn the encoding, and return the rows encoded."""
        return self.with_groups(self._fit(X, y, sample_weight), X.group, X.n_groups)

    def _fit(self, X: GroupedTable, y: Any, sample_weight: FloatArray | None) -> FloatArray:
        super().fit(X.X, y, sample_weight)
        numbers = self.without_groups(X.X)
        if self.interactions:
            self.centre_ = np.average(numbers, axis=0, weights=sample_weight)
        return numbers

    def transform(self, X: GroupedTable) -> FloatArray:  # type: ignore[override]
        """Return covariates and groups as a float array."""
        return self.with_groups(self.without_groups(X.X), X.group, X.n_groups)

    def without_groups(self, X: Table) -> FloatArray:
        """Return the covariates alone, as `NumericColumns` does: the first columns of those with groups."""
        return super().transform(X)

    def with_groups(self, numbers: FloatArray, group: IntArray, n_groups: int) -> FloatArray:
        """Add the columns of the groups to encoded covariates."""
        member = np.asarray(group[:, None] == np.arange(n_groups), dtype=np.float64)
        if not self.interactions:
            return np.hstack([numbers, member])
        centred = numbers - self.centre_
        return np.hstack([numbers, member, *(centred * column[:, None] for column in member.T)])


def codes_among(X: Table, outcomes: Iterable[Any], weight: FloatArray | None = None) -> tuple[Any, ...]:
    """Return the columns of integers whose relation to any of several outcomes has no order.

    Parameters
    ----------
    X : frame or array (n, p)
        Covariates; in a frame, integers are those with an integer dtype.
    outcomes : iterable of arrays (n,)
        Outcomes of the same rows.
    weight : array (n,), optional
        Weights of the rows.
    """
    names = list(X.columns) if isinstance(X, pd.DataFrame) else range(np.shape(X)[1])
    known = tuple(outcomes)
    found = []
    for name in names:
        column = _column(X, name)
        if (not isinstance(X, pd.DataFrame) or kind_of(column) is Kind.INTEGER) and _coded(column, known, weight):
            found.append(name)
    return tuple(found)


def _coded(column: pd.Series, outcomes: Iterable[Any], weight: FloatArray | None) -> bool:
    first = numbers_of(column.iloc[:FIRST_VALUES])
    if not holds_integers(first) or len(pd.unique(first)) > MOST_CODES + 1:  # mostly these say so: no others are read
        return False
    values = numbers_of(column)
    return holds_integers(values) and any(judge_codes(values, y, weight).coded for y in outcomes)


def _column(X: Table, name: Any) -> pd.Series:
    column: pd.Series = (
        X[name]
        if isinstance(X, pd.DataFrame)
        else pd.Series(np.asarray(X[:, name], dtype=np.float64), copy=False)  # a view
    )
    return column


def _is_text(column: pd.Series) -> bool:
    return pd.api.types.infer_dtype(column, skipna=True) == "string"


def _learn_levels(name: Any, column: pd.Series) -> LevelColumn:
    """Find the levels of a column: common ones in the order of their texts, then those of rare and missing labels."""
    codes, texts = level_codes(column)
    count = np.bincount(codes[codes >= 0], minlength=len(texts))
    gaps = bool((codes < 0).any())
    enough = min(RARE_ROWS, max(1, int(np.ceil(RARE_SHARE * len(codes)))))
    common = sorted((text for text, n in zip(texts, count, strict=True) if n >= enough))
    room = MOST_LEVELS - gaps
    if len(common) > room or (len(common) == room and len(common) < len(texts)):
        by_size = dict(zip(texts, count, strict=True))
        common = sorted(sorted(common, key=lambda text: (-by_size[text], text))[: room - 1])
    levels = {text: position for position, text in enumerate(common)}
    n_levels = len(levels)
    other = n_levels if len(levels) < len(texts) else -1
    n_levels += other >= 0
    missing = n_levels if gaps else other
    return LevelColumn(name, levels, n_levels + gaps, other, missing)
