"""Rows in parts: what every source of them offers, and the sources that are frames, lazy frames or dask frames."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any, Protocol, runtime_checkable

import narwhals as nw

from ...arrays import IntArray
from ...errors import InputError
from ..messages import did_you_mean, listed

PART_ROWS = 2**18
"""Rows of a part at most, where the source lets us choose."""
SOURCES = (
    "a path (a Parquet or CSV file, a folder of them, or a pattern such as 'data/*.parquet'), a list of paths, an "
    "Arrow dataset, a polars LazyFrame, a dask DataFrame, or a frame"
)


@dataclass(frozen=True, slots=True)
class Part:
    """Some of the rows: any frame that narwhals reads, how messages call it, and the number of its first row.

    ``row`` (n,) has the numbers of the rows in ascending order, if some are left out.
    """

    name: str
    frame: Any
    first: int = 0
    row: IntArray | None = None


@runtime_checkable
class RowsInParts(Protocol):
    """Rows that are read part by part, always in the same order.

    Attributes
    ----------
    name : str
        How messages call the source.
    columns : tuple of str
        Names of all columns, the same in every part.
    n_rows : int or None
        Number of rows, where it is known before they are read.
    starts : tuple of int or None
        Numbers of the rows from which reading can begin; None if it always begins with the first.
    """

    @property
    def name(self) -> str:
        """How messages call the source."""
        ...

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of all columns."""
        ...

    @property
    def n_rows(self) -> int | None:
        """Number of rows, where it is known."""
        ...

    @property
    def starts(self) -> tuple[int, ...] | None:
        """Numbers of the rows from which reading can begin."""
        ...

    def parts(self, columns: Sequence[str], start: int = 0, stop: int | None = None) -> Iterator[Part]:
        """Yield the parts, each with these columns; those without rows from ``start`` to ``stop`` may be left out."""
        ...


@dataclass(frozen=True, slots=True)
class FrameRows:
    """A frame in memory: one part."""

    frame: Any
    name: str = "the frame"

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of all columns."""
        with naming(self.name):
            return column_names(nw.from_native(self.frame, eager_only=True).columns, self.name)

    @property
    def n_rows(self) -> int | None:
        """Number of rows."""
        return len(self.frame)

    @property
    def starts(self) -> tuple[int, ...] | None:
        """Reading begins with the first row."""
        return None

    def parts(self, columns: Sequence[str], start: int = 0, stop: int | None = None) -> Iterator[Part]:
        """Yield the frame."""
        yield Part(self.name, nw.from_native(self.frame, eager_only=True).select(list(columns)).to_native())


@dataclass(frozen=True, slots=True)
class LazyRows:
    """A polars LazyFrame: the query is run once for every pass, in batches."""

    frame: Any
    name: str = "the lazy frame"

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of all columns."""
        with naming(self.name):
            return tuple(self.frame.collect_schema().names())

    @property
    def n_rows(self) -> int | None:
        """Not known before the query is run."""
        return None

    @property
    def starts(self) -> tuple[int, ...] | None:
        """Reading begins with the first row."""
        return None

    def parts(self, columns: Sequence[str], start: int = 0, stop: int | None = None) -> Iterator[Part]:
        """Yield the batches of the query."""
        first = 0
        for frame in reading(self.name, self._frames(columns)):
            yield Part(f"{self.name}, rows {first:,} to {first + len(frame) - 1:,}", frame, first)
            first += len(frame)

    def _frames(self, columns: Sequence[str]) -> Iterator[Any]:
        chosen = self.frame.select(list(columns))
        if hasattr(chosen, "collect_batches"):
            yield from chosen.collect_batches(chunk_size=PART_ROWS, maintain_order=True)
            return
        first, frame = 0, chosen.slice(0, PART_ROWS).collect()
        while len(frame):
            yield frame
            first += len(frame)
            frame = chosen.slice(first, PART_ROWS).collect()


@dataclass(frozen=True, slots=True)
class DaskRows:
    """A dask DataFrame: its partitions are computed one after the other.

    ``starts`` are known once `located`; each partition is then computed where it is asked for, by one thread.
    """

    frame: Any
    name: str = "the dask frame"
    starts: tuple[int, ...] | None = None
    n_rows: int | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of all columns."""
        return column_names(self.frame.columns, self.name)

    def located(self) -> DaskRows:
        """Return the same rows with the numbers of the first row of every partition, which are counted."""
        with naming(self.name):
            sizes = [int(size) for size in self.frame.map_partitions(len).compute()]
        return replace(self, starts=tuple(accumulate([0, *sizes[:-1]])), n_rows=sum(sizes))

    def parts(self, columns: Sequence[str], start: int = 0, stop: int | None = None) -> Iterator[Part]:
        """Yield the partitions."""
        chosen, first = self.frame[list(columns)], 0
        options = {} if self.starts is None else {"scheduler": "synchronous"}
        ends = (*(self.starts or ())[1:], self.n_rows)
        for k in range(chosen.npartitions):
            name = f"partition {k} of {self.name}"
            if self.starts is not None and not overlaps(self.starts[k], ends[k], start, stop):
                continue
            with naming(name):
                frame = chosen.partitions[k].compute(**options)
            yield Part(name, frame, first if self.starts is None else self.starts[k])
            first += len(frame)


def overlaps(first: int, end: int | None, start: int, stop: int | None) -> bool:
    """Whether rows from ``first`` to before ``end`` have some from ``start`` to before ``stop``."""
    return (end is None or end > start) and (stop is None or first < stop)


@contextmanager
def naming(name: str) -> Iterator[None]:
    """Turn whatever a library raises while it reads into an error that names the part."""
    try:
        yield
    except InputError:
        raise
    except Exception as error:  # libraries raise errors of many kinds
        said = " ".join(str(error).split()).rstrip(".")
        raise InputError(
            "bad-file", f"{name} cannot be read: {said or type(error).__name__}. Check it, or make it again."
        ) from error


def reading(name: str, frames: Iterator[Any]) -> Iterator[Any]:
    """Yield what a library reads, with errors that name the part."""
    while True:
        with naming(name):
            frame = next(frames, None)
        if frame is None:
            return
        yield frame


def column_names(names: Iterable[object], source: str) -> tuple[str, ...]:
    """Return names of columns as text, none of them twice."""
    texts = tuple(str(name) for name in names)
    repeated = [name for name, times in Counter(texts).items() if times > 1]
    if repeated:
        raise InputError("bad-file", f"{source} has columns of the same name: {listed(repeated, 5)}. Rename them.")
    return texts


def check_named(wanted: Iterable[str], known: Sequence[str], what: str) -> None:
    """Refuse names of columns that a source does not have."""
    for name in wanted:
        if name not in known:
            hint = did_you_mean(str(name), known, f" There are: {listed(known)}.")
            raise InputError("bad-features", f"{what} names the column {name!r}, which is not there.{hint}")


def rows_in_parts(source: Any) -> RowsInParts:
    """Return a source of rows in parts, whatever users give: see `SOURCES`."""
    if isinstance(source, str | os.PathLike):
        from .files import files_in_parts

        return files_in_parts([source])
    if isinstance(source, list | tuple) and source and all(isinstance(one, str | os.PathLike) for one in source):
        from .files import files_in_parts

        return files_in_parts(list(source))
    if type(source).__module__.startswith("pyarrow._dataset"):
        from .files import ArrowRows

        return ArrowRows(source, "the Arrow dataset")
    if nw.dependencies.is_polars_lazyframe(source):
        return LazyRows(source)
    if nw.dependencies.is_dask_dataframe(source):
        return DaskRows(source)
    if nw.dependencies.is_into_dataframe(source):
        return FrameRows(source)
    if isinstance(source, RowsInParts):
        return source
    raise InputError(
        "bad-features",
        f"Rows that are read in parts, with columns by name, come from {SOURCES}; got {type(source).__name__}.",
    )
