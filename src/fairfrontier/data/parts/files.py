"""Rows in parts from files: Arrow datasets, Parquet files and folders, and CSV files, whose types are found first."""

from __future__ import annotations

import glob
import os
import re
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path
from typing import Any

import pandas as pd

from ...errors import InputError, MissingDependencyError
from ..messages import listed
from ..text_files import TEXT, read_decimal, read_separator, seen_separator, usual_separator
from .sources import PART_ROWS, Part, RowsInParts, column_names, naming, overlaps, reading

PARQUET = (".parquet", ".pq")
PACKED = (".gz", ".bz2", ".xz", ".zst")
NO_DATA = (".txt", ".md", ".json", ".yaml", ".yml", ".toml", ".log", ".crc", ".html", ".pdf")
"""Kinds of files that may lie beside the parts in a folder."""
INDEX = re.compile(r"__index_level_\d+__")
"""How pandas calls row labels in the files that it writes."""
EXACT: dict[str, Any] = {"float_precision": "round_trip"} if int(pd.__version__.split(".")[0]) < 3 else {}
"""Option of older versions of pandas for reading decimal numbers to the last bit; newer ones do without."""


def files_in_parts(
    given: Sequence[str | os.PathLike[str]], encoding: str = "utf-8", sep: str | None = None, decimal: str = "."
) -> RowsInParts:
    """Return the rows of files: one file, all files of a folder, or those that a pattern matches, sorted by name.

    ``encoding``, ``sep`` and ``decimal`` are those of text files; what separates values is seen in the first line of
    each file unless it is given.
    """
    files = files_behind(given)
    kinds = {file_kind(file) for file in files}
    name = os.fspath(given[0]) if len(given) == 1 else f"{len(files)} files"
    if kinds == {"parquet"}:
        return _parquet(given, files, name)
    if kinds == {"text"}:
        return CsvRows(
            tuple(files), name, encoding, None if sep is None else read_separator(sep), read_decimal(decimal)
        )
    raise InputError(
        "bad-file",
        f"{name}: rows in parts are read from Parquet files ({', '.join(PARQUET)}) or CSV files ({', '.join(TEXT)}, "
        f"also compressed), all of one kind; found {listed(sorted({Path(file).suffix for file in files}))}.",
    )


def files_behind(given: Sequence[str | os.PathLike[str]]) -> list[str]:
    """Return the files behind paths, folders and patterns, none of them twice."""
    files = [file for one in given for file in _files(os.fspath(one))]
    twice = [file for file, times in Counter(map(os.path.realpath, files)).items() if times > 1]
    if twice:
        raise InputError("bad-file", f"{listed(twice, 3)} is given more than once: its rows would count twice.")
    return files


def _files(path: str) -> list[str]:
    """Return the files behind one path."""
    if Path(path).is_dir():
        found = [str(file) for file in Path(path).rglob("*") if file.is_file() and not _hidden(file.relative_to(path))]
        others = [file for file in found if file_kind(file) == "other" and Path(file).suffix.lower() not in NO_DATA]
        if others:
            raise InputError(
                "bad-file",
                f"{path} also has {listed(sorted(others), 3)}, which cannot be read in parts. Name the files by a "
                f"pattern, such as {os.path.join(path, '*.parquet')!r}.",
            )
        found = [file for file in found if file_kind(file) != "other"]
    elif Path(path).exists():
        found = [path]
    else:
        found = [file for file in glob.glob(path, recursive=True) if Path(file).is_file()]
    if not found:
        raise InputError(
            "bad-file", f"There is no file {path!r}, and no file that it matches. Give a path, a folder or a pattern."
        )
    return sorted(found)


def _hidden(path: Path) -> bool:
    return any(name.startswith((".", "_")) for name in path.parts)


def file_kind(file: str) -> str:
    """Return which kind of file it is by its name: parquet, text or other."""
    suffixes = [suffix.lower() for suffix in Path(file).suffixes]
    if suffixes and suffixes[-1] in PARQUET:
        return "parquet"
    if len(suffixes) > 1 and suffixes[-1] in PACKED:
        suffixes = suffixes[:-1]
    return "text" if suffixes and suffixes[-1] in TEXT else "other"


def _parquet(given: Sequence[str | os.PathLike[str]], files: list[str], name: str) -> ArrowRows:
    try:
        import pyarrow.dataset as arrow
    except ImportError as error:
        raise MissingDependencyError(
            "Reading Parquet files needs pyarrow, which is not installed: install fairfrontier[files]."
        ) from error
    folder = len(given) == 1 and Path(given[0]).is_dir()
    options: dict[str, Any] = {"format": "parquet", "partitioning": arrow.partitioning(flavor="hive")}
    if folder:
        options["partition_base_dir"] = os.fspath(given[0])
    with naming(files[0]):  # whose schema is looked at
        dataset = arrow.dataset(files, **options)
    return ArrowRows(dataset, name)


@dataclass(frozen=True, slots=True)
class ArrowRows:
    """An Arrow dataset, such as Parquet files: its fragments are read in batches, all with one schema.

    Parquet files are read by row groups, so that no more of them is in memory; reading can begin with any of these.
    ``firsts`` has the numbers of the first rows of the fragments. Fragments in memory cannot be sent to workers, so
    of these reading begins with the first row.

    ``schema`` has the types that hold the values of all parts: integers in some and decimal numbers in others are
    decimal numbers. Parts with other columns, or types that have nothing in common, are refused by name.
    """

    dataset: Any
    name: str
    schema: Any = field(init=False)
    n_rows: int | None = field(init=False)
    starts: tuple[int, ...] | None = field(init=False)
    firsts: tuple[int, ...] = field(init=False)

    def __post_init__(self) -> None:
        import pyarrow as pa

        partitioning = getattr(self.dataset, "partitioning", None)
        from_paths = set() if partitioning is None else set(partitioning.schema.names)
        own = pa.schema([one for one in self.dataset.schema if one.name in from_paths])
        schema, n_rows, stored = None, 0, True
        starts: list[int] = []
        firsts: list[int] = []
        for name, fragment in self._fragments():
            with naming(name):
                found, sizes = fragment.physical_schema, [size for _, size in _pieces(fragment)]
            column_names(found.names, name)
            schema = found if schema is None else _with_schema(schema, found, name)
            stored = stored and bool(getattr(fragment, "path", None))
            firsts.append(n_rows)
            starts += [n_rows + before for before in accumulate([0, *sizes[:-1]])]
            n_rows += sum(sizes)
        if schema is None:
            raise InputError("empty-data", f"{self.name} has no parts. Check the path.")
        new = [one for one in own if one.name not in schema.names]
        object.__setattr__(self, "schema", pa.schema([*schema, *new]))
        object.__setattr__(self, "n_rows", n_rows)
        object.__setattr__(self, "starts", tuple(starts) if stored else None)
        object.__setattr__(self, "firsts", tuple(firsts))

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of all columns."""
        names = column_names(self.schema.names, self.name)
        return tuple(name for name in names if not INDEX.fullmatch(name))

    def parts(self, columns: Sequence[str], start: int = 0, stop: int | None = None) -> Iterator[Part]:
        """Yield batches of the fragments, one fragment after the other."""
        ends = (*self.firsts[1:], self.n_rows)
        for (name, fragment), first, end in zip(self._fragments(), self.firsts, ends, strict=True):
            if overlaps(first, end, start, stop):
                yield from self._parts_of(name, fragment, list(columns), first, (start, stop))

    def _parts_of(
        self, name: str, fragment: Any, columns: list[str], first: int, span: tuple[int, int | None]
    ) -> Iterator[Part]:
        """Yield batches of the rows in ``span``, of a fragment whose first row has the number ``first``."""
        import pyarrow as pa

        options = {"columns": columns, "batch_size": PART_ROWS, "batch_readahead": 1}
        with naming(name):
            pieces = _pieces(fragment)
        at, stop = first, span[1]
        for piece, size in pieces:
            if not overlaps(at, at + size, *span):
                at += size
                continue
            for batch in reading(name, iter(piece.to_batches(self.schema, **options))):
                if overlaps(at, at + batch.num_rows, *span):
                    yield Part(name, pa.Table.from_batches([batch]), at)
                at += batch.num_rows
                if stop is not None and at >= stop:
                    return  # what is left of the piece would be read for nothing

    def _fragments(self) -> Iterator[tuple[str, Any]]:
        with naming(self.name):
            fragments = enumerate(self.dataset.get_fragments())
        for k, fragment in fragments:
            yield getattr(fragment, "path", None) or f"fragment {k} of {self.name}", fragment


def _pieces(fragment: Any) -> list[tuple[Any, int]]:
    """Return the row groups of a fragment of Parquet, or the fragment, and how many rows each has."""
    if not hasattr(fragment, "split_by_row_group"):
        return [(fragment, fragment.count_rows())]
    return [(piece, sum(each.num_rows for each in piece.row_groups)) for piece in fragment.split_by_row_group()]


def _with_schema(schema: Any, other: Any, name: str) -> Any:
    """Return the schema of all parts so far and of one more; refuse one that differs."""
    import pyarrow as pa

    same_columns(schema.names, other.names, name)
    fields = []
    for one in schema:
        new = other.field(one.name)
        try:
            fields.append(_common_field(one, new))
        except pa.ArrowException as error:
            raise _other_type(one.name, str(new.type), str(one.type), name) from error
    return pa.schema(fields)


def _common_field(one: Any, other: Any) -> Any:
    """Return a field that holds the values of both; categories in one part may be plain values in another."""
    import pyarrow as pa

    if pa.types.is_dictionary(one.type) != pa.types.is_dictionary(other.type):
        one, other = (each.with_type(getattr(each.type, "value_type", each.type)) for each in (one, other))
    return pa.unify_schemas([pa.schema([one]), pa.schema([other])], promote_options="permissive")[0]


def _other_type(column: str, found: str, before: str, name: str) -> InputError:
    return InputError(
        "bad-file",
        f"{name}: the column {column!r} has the type {found}, and {before} in parts before it. Write all parts with "
        "the same types.",
    )


def same_columns(names: Iterable[str], found: Iterable[str], part: str) -> None:
    """Refuse a part whose columns are not those of the parts before it, in any order."""
    known, own = list(names), list(found)
    lacks, more = [name for name in known if name not in own], [name for name in own if name not in known]
    if lacks or more:
        texts = [f"lacks {listed(lacks)}"] * bool(lacks) + [f"also has {listed(more)}"] * bool(more)
        raise InputError(
            "bad-file",
            f"{part} {' and '.join(texts)}, unlike the parts before it. All parts must have the same columns.",
        )


_TYPES = {"i": "int64", "u": "uint64", "f": "float64", "b": "bool"}
_WITH_GAPS = {"int64": "float64", "uint64": "float64", "bool": "str"}
"""Types of columns that have values in some chunks and none in others, as within one chunk."""


@dataclass(frozen=True, slots=True)
class CsvRows:
    """CSV files, read in chunks. One pass before all others finds the types that hold the values of every chunk.

    A column is of integers, of numbers or of truth values only if all its chunks are; else it is text, as written.
    """

    files: tuple[str, ...]
    name: str
    encoding: str = "utf-8"
    sep: str | None = None
    decimal: str = "."
    types: dict[str, str] = field(init=False)
    n_rows: int | None = field(init=False)

    def __post_init__(self) -> None:
        types: dict[str, str | None] = {}
        gaps: set[str] = set()
        n_rows = 0
        for name, chunk in self._chunks():
            if types:
                same_columns(types, chunk.columns, name)
            n_rows += len(chunk)
            for column, values in chunk.items():
                types[str(column)] = _common_type(types.get(str(column)), _type_of(values))
                gaps |= {str(column)} if values.isna().any() else set()
        types |= {name: _WITH_GAPS.get(str(types[name]), types[name]) for name in gaps}
        object.__setattr__(self, "types", {name: found or "float64" for name, found in types.items()})
        object.__setattr__(self, "n_rows", n_rows)

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of all columns."""
        return tuple(self.types)

    @property
    def starts(self) -> tuple[int, ...] | None:
        """Reading begins with the first row."""
        return None

    def parts(self, columns: Sequence[str], start: int = 0, stop: int | None = None) -> Iterator[Part]:
        """Yield the chunks of all files."""
        types, first = {name: self.types[name] for name in columns}, 0
        for name, chunk in self._chunks(usecols=list(columns), dtype=types):
            yield Part(name, chunk[list(columns)], first)
            first += len(chunk)

    def _chunks(self, **options: Any) -> Iterator[tuple[str, pd.DataFrame]]:
        for file in self.files:
            separator = self.separator(file)
            column_names(next(reading(file, _header(file, self.encoding, separator))), file)
            own = {"sep": separator, "decimal": self.decimal, "index_col": False, "low_memory": False}
            chunks = _read_chunks(file, self.encoding, own | EXACT | options)
            for chunk in reading(file, chunks):
                yield file, chunk

    def separator(self, file: str) -> str:
        """Return what separates the values of a file."""
        if self.sep is not None:
            return self.sep
        usual = usual_separator(file)
        return seen_separator(next(reading(file, _header(file, self.encoding, usual))), usual, Path(file).name)


def _read_chunks(file: str, encoding: str, options: dict[str, Any]) -> Iterator[pd.DataFrame]:
    encoding = "utf-8-sig" if encoding.lower().replace("_", "-") in ("utf-8", "utf8") else encoding
    with pd.read_csv(file, encoding=encoding, chunksize=PART_ROWS, **options) as chunks:
        yield from _complete(iter(chunks))


def _complete(chunks: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
    """Yield chunks, and refuse rows with more values than there are columns, of which some would be lost."""
    while True:
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)
            try:
                chunk = next(chunks, None)
            except pd.errors.ParserWarning as error:
                raise ValueError("its rows have more values than there are column names") from error
        if chunk is None:
            return
        yield chunk


def _header(file: str, encoding: str, separator: str) -> Iterator[list[str]]:
    options = {"sep": separator, "header": None, "nrows": 1, "dtype": str, "keep_default_na": False}
    for chunk in _read_chunks(file, encoding, options):
        yield [str(text) for text in chunk.iloc[0]]


def _type_of(values: pd.Series) -> str | None:
    """Return the type of a column in one chunk; None if it has no values there."""
    return None if values.isna().all() else _TYPES.get(values.dtype.kind, "str")


def _common_type(one: str | None, other: str | None) -> str | None:
    """Return the type that holds the values of both."""
    if one is None or other is None or one == other:
        return other if one is None else one
    return "float64" if {one, other} <= {"int64", "uint64", "float64"} else "str"
