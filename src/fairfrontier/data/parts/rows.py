"""The columns of a part by their roles, read and checked; and what all parts together say about groups and outcome."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd

from ...arrays import AnyArray, BoolArray, FloatArray, IntArray
from ...errors import InputError
from ..checks import check_probabilities
from ..columns import label_text
from ..grouping import CROSS, Merge, merge_labels, read_group_column, refuse_blanks, refuse_odd_labels, same_names
from ..groups import outside_groups, read_groups
from ..messages import listed, shown
from ..reading import LARGEST, Column, Label, label_codes, plain_label, read_column, read_covariates, to_float
from ..variables import ADVICE, check_names, read_outcome, weight_numbers
from .sources import RowsInParts, check_named

MOST_OUTCOMES = 10_000
"""Different outcomes of a group at most: people are counted together if they have the same one."""
MOST_LABELS = 10_000
"""Labels of groups at most."""
MOST_PAIRS = 1_000_000
"""Different outcomes at most, those of each label counted for itself."""


@dataclass(frozen=True, slots=True)
class Roles:
    """Names of the columns, by what they are: ``features`` are the covariates, ``algorithms`` have their own names."""

    y: str
    group: tuple[str, ...]
    weight: str | None
    nuisance: tuple[str, ...]
    algorithms: Mapping[str, str]
    features: tuple[str, ...]

    @property
    def columns(self) -> list[str]:
        """All columns that are read, each once."""
        named = [self.y, *self.group, self.weight, *self.nuisance, *self.algorithms.values(), *self.features]
        return list(dict.fromkeys(name for name in named if name is not None))


def read_roles(
    source: RowsInParts,
    y: str,
    sensitive_features: Any,
    *,
    sample_weight: Any = None,
    external_nuisance: Any = None,
    algorithms: Any = None,
    features: Any = None,
) -> Roles:
    """Read names of columns as users give them; covariates are by default all columns that have no other role."""
    by_name = algorithms if isinstance(algorithms, Mapping) else {name: name for name in _names(algorithms)}
    check_names([str(name) for name in by_name])
    given = {
        "y": (y,),
        "sensitive_features": _names(sensitive_features),
        "sample_weight": _names(sample_weight),
        "external_nuisance": _names(external_nuisance),
        "algorithms": tuple(by_name.values()),
        "features": _names(features),
    }
    _check_roles(given, source.columns)
    _check_features(given)
    used = {name for names in given.values() for name in names}
    others = () if external_nuisance is not None else tuple(name for name in source.columns if name not in used)
    roles = Roles(
        y,
        given["sensitive_features"],
        sample_weight,
        given["external_nuisance"],
        {str(name): column for name, column in by_name.items()},
        given["features"] if features is not None else others,
    )
    if not roles.features and not roles.nuisance:
        raise InputError("bad-features", "There is no column left to learn from: name covariates by `features`.")
    return roles


def _check_roles(given: Mapping[str, tuple[Any, ...]], known: Sequence[str]) -> None:
    """Refuse what does not name one of the ``known`` columns, and roles without a column of groups."""
    for what, names in given.items():
        wrong = [name for name in names if not isinstance(name, str)]
        if wrong:
            raise InputError(
                "bad-option",
                f"y names a column, so the rows are read in parts and {what} must name columns, too; got "
                f"{shown(wrong[0], 60)}.",
            )
        check_named(names, known, what)
    if not given["sensitive_features"]:
        raise InputError("bad-option", "sensitive_features must name the column of the groups, or several columns.")


def _check_features(given: Mapping[str, tuple[Any, ...]]) -> None:
    """Refuse covariates that are what is to be predicted, or that a rule must not see."""
    advice = {
        "y": "the outcome, which is to be predicted",
        "sensitive_features": "the group, which rules do not see here (those of a frame do with rules='group-aware')",
        "sample_weight": "the sampling weight",
        "external_nuisance": "a prediction made elsewhere",
    }
    for what, said in advice.items():
        both = [name for name in given["features"] if name in given[what]]
        if both:
            raise InputError(
                "bad-features",
                f"features names {shown(both[0])}, which {what} names as {said}. Leave it out of features.",
            )


def _names(given: Any) -> tuple[Any, ...]:
    if given is None:
        return ()
    if isinstance(given, list | tuple):
        return tuple(given)
    return (given,)


@dataclass(frozen=True, slots=True)
class PartRows:
    """Rows of a part, or of several, with their columns.

    Attributes
    ----------
    row : integer array (n,)
        Numbers of the rows, counted from 0 over all parts.
    y, group : arrays (n,)
        Outcomes and groups as they are in the data, or coded as numbers.
    weight : array (n,)
        Sampling weights, ones unless given.
    decisions : array (n, J)
        Decisions of the algorithms.
    nuisance : array (n, k)
        Predictions made elsewhere; no columns without them.
    complete : boolean array (n,)
        Whether no value is missing that is needed.
    X : DataFrame
        Covariates: numbers as floats, text as objects; no columns without them.
    """

    row: IntArray
    y: AnyArray
    group: AnyArray
    weight: FloatArray
    decisions: FloatArray
    nuisance: FloatArray
    complete: BoolArray
    X: pd.DataFrame

    def take(self, rows: IntArray | slice) -> PartRows:
        """Return some of the rows, by position."""
        return PartRows(**{name: getattr(self, name)[rows] for name in ARRAYS}, X=self.X.iloc[rows])


ARRAYS = tuple(one.name for one in fields(PartRows) if one.name != "X")
"""Names of all columns but the covariates."""


def join(parts: list[PartRows]) -> PartRows:
    """Put rows of several parts below each other."""
    if len(parts) == 1:
        return parts[0]
    arrays: dict[str, Any] = {name: np.concatenate([getattr(part, name) for part in parts]) for name in ARRAYS}
    return PartRows(**arrays, X=pd.concat([part.X for part in parts], ignore_index=True))


def read_rows(
    source: RowsInParts, roles: Roles, missing: str, start: int = 0, stop: int | None = None
) -> Iterator[tuple[str, PartRows]]:
    """Yield name and rows of every part, or of the rows from ``start`` to before ``stop``; errors name the part."""
    for name, row, frame in frames_of(source, roles.columns, start, stop):
        with in_part(name):
            rows = _read_frame(frame, roles, row, missing)
        yield name, rows


def frames_of(
    source: RowsInParts, columns: Sequence[str], start: int = 0, stop: int | None = None
) -> Iterator[tuple[str, IntArray, nw.DataFrame[Any]]]:
    """Yield the name of every part that has rows from ``start`` to before ``stop``, their numbers, and a frame."""
    for part in source.parts(columns, start, stop):
        frame = nw.from_native(part.frame, eager_only=True)
        row = np.arange(part.first, part.first + len(frame)) if part.row is None else part.row
        low, high = int(np.searchsorted(row, start)), len(row) if stop is None else int(np.searchsorted(row, stop))
        if low < high:
            yield part.name, row[low:high], frame[low:high] if high - low < len(frame) else frame


@contextmanager
def in_part(name: str) -> Iterator[None]:
    """Let errors say in which part they were found."""
    try:
        yield
    except InputError as error:
        raise InputError(error.code, f"{name}: {error}") from error


def _read_frame(frame: nw.DataFrame[Any], roles: Roles, row: IntArray, missing: str) -> PartRows:
    n = len(frame)

    def column(name: str, called: str) -> Column:
        return read_column(frame[name].to_native(), called)

    y, group = column(roles.y, "y"), read_group_column(frame.select(*roles.group).to_native(), "sensitive_features")
    gaps, weight = [y.missing, group.missing], np.ones(n)
    if roles.weight is not None:
        given = column(roles.weight, "sample_weight")
        gaps.append(given.missing)
        weight[~given.missing] = weight_numbers(given.values[~given.missing])
    decisions = [
        check_probabilities(
            frame[name].to_native(), f"decisions of {called!r}", n, code="bad-decisions", advice=ADVICE.scores
        )
        for called, name in roles.algorithms.items()
    ]
    X = pd.DataFrame(index=range(n))
    if roles.features:
        covariates = read_covariates(frame.select(*roles.features).to_native())
        X = _plain(pd.DataFrame(covariates.at(np.arange(n)), copy=False))
        gaps += list(covariates.missing.values()) if missing != "keep" else []
    nuisance = [_prediction(column(name, "external_nuisance"), name) for name in roles.nuisance]
    return PartRows(
        row=row,
        y=y.with_none(),
        group=group.with_none(),
        weight=weight,
        decisions=np.array(decisions).reshape(-1, n).T,
        nuisance=np.array(nuisance).reshape(-1, n).T,
        complete=~np.logical_or.reduce(gaps),
        X=X,
    )


def _prediction(column: Column, name: str) -> FloatArray:
    values = np.full(len(column.values), np.nan)
    present = column.values[~column.missing]
    values[~column.missing] = to_float(present, f"The column {name!r}", "bad-nuisance", "Give one number per row.")
    bad = int(np.count_nonzero(~(np.abs(values) <= LARGEST)))
    if bad:
        raise InputError(
            "bad-nuisance", f"The column {name!r} has {bad} values that are missing, or beyond {LARGEST:g}."
        )
    return values


def _plain(frame: pd.DataFrame) -> pd.DataFrame:
    """Return columns whose types do not depend on the library that read them, nor on the gaps of a part."""
    return pd.DataFrame({name: plain_column(column) for name, column in frame.items()})


def plain_column(column: pd.Series) -> pd.Series:
    """Return numbers as floats and everything else but times and truth values without gaps as objects."""
    dtype: Any = column.dtype
    if isinstance(dtype, pd.CategoricalDtype):  # labels as text, so that numbers stay categories
        texts = _objects([*(label_text(label) for label in column.cat.categories), None])
        return pd.Series(texts[column.cat.codes.to_numpy()], index=column.index, dtype=object)
    if dtype.kind in "mM":
        return column
    if pd.api.types.is_bool_dtype(dtype) and not column.isna().any():
        return column.astype(bool)
    if pd.api.types.is_numeric_dtype(dtype) and not pd.api.types.is_bool_dtype(dtype):
        return pd.Series(column.to_numpy(dtype=np.float64, na_value=np.nan), index=column.index)
    return column.astype(object).where(column.notna(), None)


def learning_table(X: pd.DataFrame) -> pd.DataFrame:
    """Return covariates of rows of several parts; whether truth values are one depends on these rows alone."""
    return pd.DataFrame({name: _truth_values(column) for name, column in X.items()})


def _truth_values(column: pd.Series) -> pd.Series:
    whole = column.dtype == object and pd.api.types.infer_dtype(column, skipna=False) == "boolean"
    return column.astype(bool) if whole else column


@dataclass(frozen=True, slots=True)
class Coding:
    """How labels of groups and outcomes become numbers, and how many rows are used.

    Attributes
    ----------
    labels : tuple of labels (G,)
        The groups, in the order of their codes.
    code_of : mapping
        Code of every label in the data; -1 for groups that are left out.
    positive : label or None
        The outcome that is 1.
    outcomes : array
        Different outcomes of each group, one group after the other, as numbers.
    classes : array
        The same, as they are in the data.
    seen_in : integer array
        Codes of the groups that have them.
    dropped, left_out : mappings label -> int
        Rows with missing values, and rows of groups that are left out.
    merged : mapping label -> mapping label -> int
        Rows of labels that were put together.
    n_rows : int
        Rows in the data.
    largest_weight : array (G,)
        The largest sampling weight of each group.
    """

    labels: tuple[Label, ...]
    code_of: Mapping[Label, int]
    positive: Label | None
    outcomes: FloatArray
    classes: AnyArray
    seen_in: IntArray
    dropped: Mapping[Label, int]
    left_out: Mapping[Label, int]
    merged: Mapping[Label, Mapping[Label, int]]
    n_rows: int
    largest_weight: FloatArray

    @property
    def n_used(self) -> int:
        """Number of rows that are used."""
        return self.n_rows - sum(self.dropped.values()) - sum(self.left_out.values())

    def coded(self, rows: PartRows, name: str) -> PartRows:
        """Return the rows that are used, with groups and outcomes as numbers; ``name`` is how messages call them."""
        kept = rows.take(np.flatnonzero(rows.complete))
        codes, labels = label_codes(kept.group, "sensitive_features", "unknown-group")
        if any(label not in self.code_of for label in labels):
            raise rows_changed(name)
        group = np.array([self.code_of[label] for label in labels], dtype=np.intp)[codes]
        used = np.flatnonzero(group >= 0)
        if len(used) < len(group):
            kept, group = kept.take(used), group[used]
        if self.positive is None:
            y = to_float(kept.y, "y", "non-finite", "Correct it.")
        else:
            y = np.asarray(kept.y == self.positive, dtype=np.float64)
        return replace(kept, y=y, group=group)


def rows_changed(source: str) -> InputError:
    """Return the error for rows that are others when they are read once more."""
    return InputError(
        "bad-file",
        f"The rows of {source} changed while they were read: when they were read once more, there were others. Read "
        "them when nobody writes them, or copy them first; a query must always give the same rows in the same order.",
    )


class Account:
    """What is found out about groups and outcome while all parts go by.

    Outcomes and weights are kept by label, as only those of groups in use matter. With ``judged`` all are in use.
    """

    def __init__(self, *, judged: bool = True) -> None:
        self.judged = judged
        self.n_rows, self.no_group = 0, 0
        self.complete: dict[Label, int] = {}
        self.incomplete: dict[Label, int] = {}
        self.outcomes: dict[Label, dict[Any, None]] = {}
        self.largest_weight: dict[Label, float] = {}
        self.first_gap = ""

    def add(self, name: str, rows: PartRows) -> None:
        """Count the rows of a part."""
        self.n_rows += len(rows.row)
        grouped = np.asarray(pd.notna(rows.group), dtype=bool)
        self.no_group += int(np.count_nonzero(~grouped))
        for kept, counts in ((rows.complete, self.complete), (grouped & ~rows.complete, self.incomplete)):
            codes, labels = label_codes(rows.group[kept], "sensitive_features", "unknown-group")
            for label, count in zip(labels, np.bincount(codes, minlength=len(labels)).tolist(), strict=True):
                counts[label] = counts.get(label, 0) + count
        self.first_gap = self.first_gap or (name if not rows.complete.all() else "")
        self._refuse_many()
        self._see(rows.group[rows.complete], rows.y[rows.complete], rows.weight[rows.complete])
        self._refuse_many()

    def _see(self, group: AnyArray, y: AnyArray, weight: FloatArray) -> None:
        """Take over the outcomes and the largest weight of every label among complete rows."""
        codes, labels = pd.factorize(group)
        try:
            of_outcome, values = pd.factorize(y)
        except TypeError as error:
            raise InputError(
                "outcome-not-binary", f"y has values that cannot be told apart: {error}. Give one value for each row."
            ) from error
        largest = np.zeros(len(labels))
        np.maximum.at(largest, codes, weight)
        label, outcome = np.divmod(pd.unique(codes * len(values) + of_outcome), max(len(values), 1))
        new = [values[outcome[label == j]].tolist() for j in range(len(labels))]
        for j, one in enumerate(map(plain_label, labels)):
            self._take_over(one, dict.fromkeys(new[j]), float(largest[j]))

    def _take_over(self, label: Label, outcomes: dict[Any, None], largest_weight: float) -> None:
        """Remember outcomes and the largest weight of a label; of too many outcomes, only that they are too many."""
        known = self.outcomes.setdefault(label, {})
        if len(known) <= MOST_OUTCOMES:
            known |= outcomes
        self.largest_weight[label] = max(self.largest_weight.get(label, 0.0), largest_weight)
        if self.judged:
            _refuse_many_outcomes(known)

    def _refuse_many(self) -> None:
        n = len(self.complete.keys() | self.incomplete.keys())
        if n > MOST_LABELS:
            raise InputError(
                "too-many-groups",
                f"sensitive_features has more than {MOST_LABELS:,} labels so far, such as "
                f"{listed(list(self.complete or self.incomplete)[:3])}. Name a column of few groups.",
            )
        if sum(map(len, self.outcomes.values())) > MOST_PAIRS:
            raise InputError(
                "rows-needed",
                f"There are more than {MOST_PAIRS:,} different pairs of a label and an outcome so far. Rows that are "
                "read in parts are counted by them: name a column of few groups, or round y.",
            )

    def merge(self, other: Account) -> None:
        """Take over what was found out about the rows that follow."""
        self.n_rows += other.n_rows
        self.no_group += other.no_group
        for own, new in ((self.complete, other.complete), (self.incomplete, other.incomplete)):
            for label, count in new.items():
                own[label] = own.get(label, 0) + count
        self.first_gap = self.first_gap or other.first_gap
        for label, outcomes in other.outcomes.items():
            self._take_over(label, outcomes, other.largest_weight[label])
        self._refuse_many()

    def coding(
        self,
        *,
        positive: Label | None,
        binary: bool,
        groups: Sequence[Label] | None,
        merge: Merge | None,
        missing: str,
        crossed: int = 1,
    ) -> Coding:
        """Return how labels become numbers; refuse what cannot be compared, and gaps unless they are dropped.

        ``crossed``: the number of columns of which labels are made.
        """
        found = self._labels(crossed)
        column = Column(_objects(found), np.zeros(len(found), dtype=bool))
        new, merged = merge_labels(column, merge, groups, name="sensitive_features")
        refuse_blanks(new, "sensitive_features")
        rows_of = {label: self.complete.get(label, 0) + self.incomplete.get(label, 0) for label in found}
        if groups is None:
            refuse_odd_labels(new, "sensitive_features", np.array([rows_of[label] for label in found]))
        outside = {label for positions in outside_groups(new, groups).values() for label in column.values[positions]}
        used = [j for j, label in enumerate(found) if label not in outside and label in self.complete]
        people = np.array([self.complete[found[j]] for j in used], dtype=np.intp)
        codes, labels = read_groups(new.values[used], groups, people=people)
        code_of = dict.fromkeys(found, -1) | {found[j]: int(code) for j, code in zip(used, codes, strict=True)}
        renamed = dict(zip(found, new.values.tolist(), strict=True))
        dropped, left_out = self._not_used(renamed, outside)
        self._refuse_gaps(dropped, missing)
        classes, seen_in, weights = self._of_groups(
            {found[j]: int(c) for j, c in zip(used, codes, strict=True)}, labels
        )
        outcomes = read_outcome(classes, positive=positive, binary=binary, people=int(people.sum()))
        counted = {label: {old: rows_of[old] for old in each} for label, each in merged.items()}
        return Coding(
            labels,
            code_of,
            positive,
            outcomes,
            classes,
            seen_in,
            dropped,
            left_out,
            counted,
            self.n_rows,
            weights,
        )

    def _of_groups(
        self, code_of: Mapping[Label, int], labels: Sequence[Label]
    ) -> tuple[AnyArray, IntArray, FloatArray]:
        """Return the outcomes of groups in use, the codes of these groups, and their largest weights."""
        known: list[dict[Any, None]] = [{} for _ in labels]
        weights = np.zeros(len(labels))
        for label, code in code_of.items():
            known[code] |= self.outcomes[label]
            weights[code] = max(weights[code], self.largest_weight[label])
            _refuse_many_outcomes(known[code])
        classes = _objects([value for each in known for value in each])
        return classes, np.repeat(np.arange(len(labels)), [len(each) for each in known]), weights

    def _labels(self, crossed: int) -> list[Label]:
        """Return all labels, those of complete rows first; refuse rows without any, and cells with the same name."""
        if not self.complete:
            raise InputError("empty-data", "There are no rows, or every row has missing values.")
        found = list(dict.fromkeys([*self.complete, *self.incomplete]))
        if crossed > 1 and any(str(label).count(CROSS) >= crossed for label in found):
            raise same_names("sensitive_features")  # of cells in different parts, perhaps
        return found

    def _not_used(
        self, renamed: Mapping[Label, Label], outside: set[Label]
    ) -> tuple[dict[Label, int], dict[Label, int]]:
        """Count rows with missing values and rows of groups ``outside`` of those compared, by label after merging."""
        dropped: dict[Label, int] = {}
        left_out: dict[Label, int] = {}
        for label, count in self.incomplete.items():
            if label not in outside:
                dropped[renamed[label]] = dropped.get(renamed[label], 0) + count
        for counts in (self.complete, self.incomplete):
            for label in (one for one in counts if one in outside):
                left_out[renamed[label]] = left_out.get(renamed[label], 0) + counts[label]
        dropped |= {None: self.no_group} if self.no_group else {}
        return dropped, left_out

    def _refuse_gaps(self, dropped: Mapping[Label, int], missing: str) -> None:
        if dropped and missing != "drop":
            raise InputError(
                "missing-values",
                f"Missing values in {sum(dropped.values()):,} of {self.n_rows:,} rows (by group: "
                f"{', '.join(f'{shown(label)}: {count:,}' for label, count in dropped.items())}), the first in "
                f'{self.first_gap}. Fill them in, or pass missing="drop" to leave these rows out.',
            )


def _refuse_many_outcomes(outcomes: Mapping[Any, None]) -> None:
    if len(outcomes) > MOST_OUTCOMES:
        raise InputError(
            "rows-needed",
            f"y has more than {MOST_OUTCOMES:,} different values so far. Rows that are read in parts are "
            "counted by outcome: round it, or give the rows as a frame in memory with y as a column.",
        )


def _objects(values: list[Any]) -> AnyArray:
    found = np.empty(len(values), dtype=object)
    found[:] = values
    return found
