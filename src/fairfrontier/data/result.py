"""What all results have in common: they compare, print in a few lines, show in notebooks and turn into plain data.

A result is a frozen dataclass (with ``eq=False, repr=False``: both come from here) that names in `_facts` what a person
wants to know first. Everything else follows from the facts unless a class says more.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from functools import cached_property, singledispatch
from typing import Any, ClassVar, TypeAlias, TypeVar

import numpy as np
import pandas as pd

from ..arrays import AnyArray
from .notebook import Picture, card, table_html
from .reading import Label

Plain: TypeAlias = "bool | int | float | str | list[Plain] | dict[str, Plain] | None"
PlainDict: TypeAlias = dict[str, Plain]
"""Plain numbers and text by name, also in lists and further dictionaries: what JSON can hold."""
LINES = 12
"""Most lines of a `repr`."""
WIDTH = 120
"""Most characters of a line of a `repr`."""
NAME = 40
"""Most characters of a name in front of a fact."""
FEW = 6
"""Most numbers of an array that are written out in a `repr`."""


class Result:
    """Base class of all results."""

    __slots__ = ()
    __hash__: ClassVar[None] = None  # type: ignore[assignment]

    @property
    def heading(self) -> str:
        """One line that says what this is."""
        return type(self).__name__

    def _facts(self) -> dict[str, object]:
        """Return what a person wants to know first, by name: at most eleven entries, none with draws or rows."""
        raise NotImplementedError

    def to_dict(self) -> PlainDict:
        """Return plain numbers and text for JSON, without draws; None where a number is not finite."""
        return plain_items(self._facts())

    def __eq__(self, other: object) -> bool:
        """Whether the other result has the same type and content; arrays are compared by value."""
        if type(other) is not type(self):
            return NotImplemented
        return same_fields(self, other)

    def __repr__(self) -> str:
        """Return the facts, one to a line."""
        lines = [f"    {cut(short(name), NAME)}: {short(value)}" for name, value in self._facts().items()]
        return "\n".join(cut(line, WIDTH) for line in [type(self).__name__, *lines][:LINES])

    def _verdict(self) -> str:
        """Return what was found, in a word or two; empty if nothing is decided."""
        return ""

    def _frame(self) -> pd.DataFrame | None:
        """Return a table for notebooks; None if the facts say it all."""
        return None

    def _picture(self) -> Picture | None:
        """Return a small picture for notebooks."""
        return None

    def _words(self) -> list[str]:
        """Return sentences for notebooks."""
        return []

    def _repr_html_(self) -> str:
        """Return the result as HTML for notebooks, without scripts and without references to the outside."""
        rows = {name: short(value) for name, value in self._facts().items()}
        frame, picture = self._frame(), self._picture()
        return card(
            self.heading,
            verdict=self._verdict(),
            rows=rows,
            table="" if frame is None else table_html(frame, short),
            picture="" if picture is None else picture.html(),
            words=self._words(),
        )


class ExplainedResult(Result):
    """A result that says in sentences what it shows and what it does not show."""

    __slots__ = ()

    def sentences(self) -> list[str]:
        """Return the statements, without the heading."""
        raise NotImplementedError

    def summary(self) -> str:
        """Return the heading and the sentences, one to a line."""
        return "\n".join([self.heading, *self.sentences()])

    def _words(self) -> list[str]:
        return self.sentences()


R = TypeVar("R", bound=ExplainedResult)


class ResultsByName(Mapping[str, R], Result):
    """Results of several algorithms, by name."""

    __slots__ = ("_results",)

    def __init__(self, results: Mapping[str, R]) -> None:
        self._results = dict(results)

    def __eq__(self, other: object) -> bool:
        """Whether the other object has the same type and equal results under the same names."""
        if type(other) is not type(self):
            return NotImplemented
        return same(dict(self), dict(other))

    def __getitem__(self, name: str) -> R:
        return self._results[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._results)

    def __len__(self) -> int:
        return len(self._results)

    def to_dict(self) -> PlainDict:
        """Return the plain data of every algorithm, by name."""
        return {str(name): result.to_dict() for name, result in self.items()}

    def to_frame(self) -> pd.DataFrame:
        """One row per algorithm."""
        raise NotImplementedError

    def sentences(self) -> list[str]:
        """Return the question and the sentences of every algorithm in turn."""
        return [sentence for result in self.values() for sentence in (result.heading, *result.sentences())]

    def summary(self) -> str:
        """Return the summaries of all algorithms."""
        return "\n\n".join(result.summary() for result in self.values())

    def _frame(self) -> pd.DataFrame:
        return self.to_frame()

    def _words(self) -> list[str]:
        return self.sentences()


def labels(groups: tuple[Label, ...]) -> list[str]:
    """Return the labels of groups as text."""
    return [str(label) for label in groups]


def axes_of(groups: tuple[Label, ...] | None) -> tuple[str, str]:
    """Return the names of the axes of a picture of two groups' risks."""
    return ("first group", "second group") if groups is None else (str(groups[0]), str(groups[1]))


def same(one: object, other: object) -> bool:
    """Whether two values have the same type and content; numbers that are not known (nan) are equal to each other."""
    return one is other or (type(one) is type(other) and _same(one, other))


def same_fields(one: Any, other: Any) -> bool:
    """Whether two dataclasses of one type agree in all fields that take part in comparisons."""
    return all(same(getattr(one, f.name), getattr(other, f.name)) for f in fields(one) if f.compare)


@singledispatch
def _same(one: Any, other: Any) -> bool:
    """Compare two values of one type: objects by their own notion of equality, or else by their attributes."""
    if is_dataclass(one) and not isinstance(one, type):
        return same_fields(one, other)
    equality: object = type(one).__eq__
    if equality is not object.__eq__:
        try:
            return bool(one == other)
        except (TypeError, ValueError):  # an elementwise comparison, or none at all
            return False
    return not callable(one) and hasattr(one, "__dict__") and same(_state(one), _state(other))


@_same.register(float)
def _(one: float, other: float) -> bool:
    return one == other or (math.isnan(one) and math.isnan(other))


@_same.register(tuple)
@_same.register(list)
def _(one: tuple[object, ...], other: tuple[object, ...]) -> bool:
    return len(one) == len(other) and all(same(a, b) for a, b in zip(one, other, strict=True))


@_same.register(Mapping)
def _(one: Mapping[Any, object], other: Mapping[Any, object]) -> bool:
    return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)


@_same.register(np.ndarray)
def _(one: AnyArray, other: AnyArray) -> bool:
    if one.shape != other.shape or one.dtype != other.dtype:
        return False
    if one.dtype == object:
        return all(same(a, b) for a, b in zip(one.ravel(), other.ravel(), strict=True))
    return bool(np.array_equal(one, other, equal_nan=one.dtype.kind in "fc"))


@_same.register(pd.DataFrame)
@_same.register(pd.Series)
def _(one: pd.DataFrame, other: pd.DataFrame) -> bool:
    return one.equals(other)


@_same.register(np.random.SeedSequence)
def _(one: np.random.SeedSequence, other: np.random.SeedSequence) -> bool:
    return one.state == other.state


def _state(value: object) -> dict[str, object]:
    """Return the attributes of an object, without those that are only remembered."""
    kind = type(value)
    return {name: x for name, x in vars(value).items() if not isinstance(getattr(kind, name, None), cached_property)}


def plain_items(values: Mapping[str, object]) -> PlainDict:
    """Return a mapping as a dictionary of plain numbers and text."""
    return {str(name): plain(value) for name, value in values.items()}


@singledispatch
def plain(value: object) -> Plain:
    """Return a value as plain numbers and text for JSON; None for numbers that are not finite, text for other types."""
    return None if value is None else str(value)


@plain.register(bool)
@plain.register(np.bool_)
def _(value: bool) -> Plain:
    return bool(value)


@plain.register(numbers.Integral)
def _(value: int) -> Plain:
    return int(value)


@plain.register(numbers.Real)
def _(value: float) -> Plain:
    return float(value) if math.isfinite(value) else None


@plain.register(Result)
def _(value: Result) -> Plain:
    return value.to_dict()


@plain.register(np.ndarray)
def _(value: AnyArray) -> Plain:
    return plain(value.tolist())


@plain.register(pd.DataFrame)
def _(value: pd.DataFrame) -> Plain:
    named = value if value.index.name is None else value.reset_index()
    return [plain(line) for line in named.to_dict("records")]


@plain.register(Mapping)
def _(value: Mapping[str, object]) -> Plain:
    return plain_items(value)


@plain.register(tuple)
@plain.register(list)
def _(value: list[object]) -> Plain:
    return [plain(x) for x in value]


@singledispatch
def short(value: object) -> str:
    """Return a value as one short line of text: numbers rounded, large arrays and tables by their size."""
    return "none" if value is None else " ".join(str(value).split())


@short.register(bool)
@short.register(np.bool_)
def _(value: bool) -> str:
    return "yes" if value else "no"


@short.register(numbers.Integral)
def _(value: int) -> str:
    return str(int(value))


@short.register(numbers.Real)
def _(value: float) -> str:
    return f"{float(value):.5g}"


@short.register(np.ndarray)
def _(value: AnyArray) -> str:
    return short(value.tolist()) if value.size <= FEW else f"array of shape {value.shape}"


@short.register(pd.DataFrame)
def _(value: pd.DataFrame) -> str:
    return f"table of {value.shape[0]} rows and {value.shape[1]} columns"


@short.register(Mapping)
def _(value: Mapping[object, object]) -> str:
    return "; ".join(f"{short(key)}: {short(x)}" for key, x in value.items()) or "none"


@short.register(tuple)
@short.register(list)
def _(value: list[object]) -> str:
    return ", ".join(f"({short(x)})" if isinstance(x, tuple | list) else short(x) for x in value) or "none"


def cut(line: str, width: int) -> str:
    """Return a line of at most ``width`` characters."""
    return line if len(line) <= width else line[: width - 3] + "..."
