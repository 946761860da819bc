"""Reading table files of all accepted formats, with a plain reason if one cannot be read."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import io
import json
import lzma
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any, TypeAlias

import pandas as pd

from ..arrays import IntArray
from ..data.parts.files import EXACT, same_columns
from ..data.text_files import TEXT, read_decimal, read_separator, seen_separator, separator_words, usual_separator
from ..errors import InputError, MissingDependencyError

COMPRESSED = {".gz": "gzip", ".bz2": "bz2", ".xz": "xz", ".zip": "zip", ".zst": "zstd"}
FORMATS = (
    "CSV (.csv, .tsv; also compressed), Parquet (.parquet), Feather (.feather), Excel (.xlsx) or JSON lines (.jsonl)"
)
LINES = (".jsonl", ".ndjson")
"""Kinds of files that have one JSON object on each line."""
UNPACK: Mapping[str, Callable[[bytes], bytes]] = {
    ".gz": gzip.decompress,
    ".bz2": bz2.decompress,
    ".xz": lzma.decompress,
}
"""What unpacks compressed JSON lines."""
STANDARD_INPUT = "-"
DECIMAL_COMMA = r"-?\d+,\d+"


@dataclass(frozen=True, slots=True)
class TableFile:
    """A table as it was read, the name of its file, and the SHA-256 of its bytes.

    Attributes
    ----------
    how : tuple of sentences
        How it was read, where the name of the file does not say so.
    left_out : mapping of reasons to counts
        Rows of the file that are not in the table, because they were not asked for.
    positions : integer array (n,), optional
        Positions of the table's rows in the file, if some are left out.
    """

    table: pd.DataFrame
    name: str
    sha256: str
    how: tuple[str, ...] = ()
    left_out: Mapping[str, int] = field(default_factory=dict)
    positions: IntArray | None = None

    @property
    def rows_read(self) -> int:
        """Rows of the file."""
        return len(self.table) + sum(self.left_out.values())


@dataclass(frozen=True, slots=True)
class TextFormat:
    """How text files are written: encoding, what separates values (None: to be seen), and the decimal sign."""

    encoding: str = "utf-8"
    sep: str | None = None
    decimal: str = "."

    def separator(self, header: list[str], usual: str, name: str) -> str:
        """Return what separates values, given the first line as the usual sign splits it."""
        return seen_separator(header, usual, name) if self.sep is None else read_separator(self.sep)


PLAIN_TEXT = TextFormat()


def read_table(
    path: str | Path | Sequence[str | Path], encoding: str = "utf-8", sep: str | None = None, decimal: str = "."
) -> TableFile:
    """Read a table; the format follows from the file's name.

    Parameters
    ----------
    path : path, or list of paths
        The file; several with the same columns are read one below the other. "-" is the standard input: CSV, JSON lines
        or Parquet.
    encoding : str
        Of text files.
    sep : str, optional
        What separates the values of text files, such as ";" or "tab"; by default seen in the first line.
    decimal : str
        Decimal sign of text files.
    """
    form = TextFormat(encoding, sep, read_decimal(decimal))
    if isinstance(path, str | Path):
        return _read_one(path, form)
    files = [_read_one(one, form) for one in path]
    return files[0] if len(files) == 1 else _joined(files)


def _joined(files: Sequence[TableFile]) -> TableFile:
    """Return the rows of several tables, which must have the same columns with values of the same kind."""
    first = files[0]
    for other in files[1:]:
        same_columns(first.table.columns, other.table.columns, other.name)
        for name in first.table.columns:
            texts = [is_text(file.table[name]) for file in (first, other)]
            if texts[0] != texts[1] and not any(file.table[name].isna().all() for file in (first, other)):
                raise InputError(
                    "bad-file",
                    f"{other.name}: the column {name!r} holds {'texts' if texts[1] else 'numbers'}, and "
                    f"{'texts' if texts[0] else 'numbers'} in {first.name}. Write all files alike.",
                )
    digest = hashlib.sha256("".join(file.sha256 for file in files).encode()).hexdigest()
    how = tuple(dict.fromkeys(text for file in files for text in file.how))
    table = pd.concat([file.table for file in files], ignore_index=True)
    return TableFile(table, f"{len(files)} files", digest, how)


def _read_one(path: str | Path, form: TextFormat) -> TableFile:
    if str(path) == STANDARD_INPUT:
        file, content = Path(STANDARD_INPUT), sys.stdin.buffer.read()
        if not content.strip():
            raise InputError("bad-file", f"The standard input is empty. Send a table: {FORMATS}.")
        kind, read = _reader(_named_by(content), form)
    else:
        file, content = Path(path), _read_bytes(Path(path))
        kind, read = _reader(file, form)
    name = "standard input" if str(path) == STANDARD_INPUT else file.name
    how: list[str] = []
    try:
        table = read(io.BytesIO(content), how)
        if any(name is not None for name in table.index.names):
            table = table.reset_index()
    except InputError:
        raise
    except ImportError as error:
        raise MissingDependencyError(
            f"Reading {name} needs a package that is not installed: {_said(error)}."
        ) from error
    except Exception as error:  # readers raise errors of many kinds
        raise InputError(
            "bad-file", f"{name} cannot be read as {kind[1:]}: {_said(error)}. Check it, or save it again."
        ) from error
    table.columns = [str(name) for name in table.columns]
    _refuse_repeated(table.columns, name)
    if not len(table):
        raise InputError("bad-file", f"{name} has column names but no rows. Give a table with one row for each person.")
    return TableFile(plain_numbers(table), name, hashlib.sha256(content).hexdigest(), tuple(how))


def _named_by(content: bytes) -> Path:
    """Return a name for what came by standard input, by its first bytes."""
    if content[:4] == b"PAR1":
        return Path("standard input.parquet")
    return Path("standard input.jsonl" if content.lstrip()[:1] == b"{" else "standard input.csv")


def is_text(column: pd.Series) -> bool:
    """Whether a column holds texts."""
    return bool(pd.api.types.infer_dtype(column.dropna()) in ("string", "categorical"))


Reader: TypeAlias = Callable[[io.BytesIO, list[str]], pd.DataFrame]
"""What reads a file, and adds to a list how it did."""


def _reader(file: Path, form: TextFormat) -> tuple[str, Reader]:
    """Return the kind of a file, by its name, and what reads such files."""
    suffixes = [suffix.lower() for suffix in file.suffixes]
    packed = COMPRESSED.get(suffixes[-1]) if len(suffixes) > 1 else None
    kind = suffixes[-2] if packed else (suffixes or [""])[-1]
    readers: dict[str, Reader] = dict.fromkeys(TEXT, lambda data, how: _read_text(data, file.name, form, packed, how))
    readers |= dict.fromkeys((".parquet", ".pq"), lambda data, how: _decoded(pd.read_parquet(data)))
    readers |= dict.fromkeys((".feather", ".arrow"), lambda data, how: _decoded(pd.read_feather(data)))
    readers |= dict.fromkeys((".xlsx", ".xls"), lambda data, how: _read_excel(data, file.name))
    readers |= dict.fromkeys(LINES, lambda data, how: _read_lines(data, file, how))
    if kind not in readers:
        raise InputError("bad-file", f"The format of {file.name} is not known; expected {FORMATS}.")
    if packed and not (kind in TEXT or (kind in LINES and suffixes[-1] in UNPACK)):
        raise InputError("bad-file", f"{file.name}: only CSV files can be read compressed like that; unpack it first.")
    return kind, readers[kind]


def _read_bytes(file: Path) -> bytes:
    try:
        if file.is_dir():
            raise InputError("bad-file", f"{file} is a directory. Give the path of a table: {FORMATS}.")
        content = file.read_bytes()
    except (FileNotFoundError, NotADirectoryError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError("bad-file", f"There is no file {file}. Give the path of a table: {FORMATS}.") from error
    except OSError as error:
        raise InputError("bad-file", f"{file} cannot be read: {error.strerror or error}.") from error
    if not content:
        raise InputError("bad-file", f"{file} is empty (0 bytes). Give the path of a table: {FORMATS}.")
    return content


def _read_text(data: io.BytesIO, name: str, form: TextFormat, packed: str | None, how: list[str]) -> pd.DataFrame:
    encoding, usual = form.encoding, usual_separator(name)
    plain = "utf-8-sig" if encoding.lower().replace("_", "-") in ("utf-8", "utf8") else encoding
    options: dict[str, Any] = {"sep": usual, "encoding": plain, "compression": packed, "decimal": form.decimal}
    try:
        options["sep"] = form.separator(_header(data, options), usual, name)
        names = _header(data, options)
        if options["sep"] != usual:
            how.append(f"values are separated by {separator_words(options['sep'])}")
        # read_csv may silently drop zero bytes, so they are looked for in the file too
        zero_bytes = not packed and "\0".encode(encoding) == b"\0" and b"\0" in data.getvalue()
        _check_header(names, name, encoding, zero_bytes)
        data.seek(0)
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)
            table: pd.DataFrame = pd.read_csv(data, index_col=False, low_memory=False, **EXACT, **options)
    except pd.errors.EmptyDataError as error:
        raise InputError("bad-file", f"{name} has no table: {_said(error)}. Give column names and rows.") from error
    except UnicodeDecodeError as error:
        raise InputError(
            "bad-file",
            f"{name} is not {encoding} text: it has the byte {error.object[error.start : error.start + 1]!r}. Give its "
            "encoding, for example --encoding latin-1.",
        ) from error
    except LookupError as error:
        raise InputError("bad-file", f"The encoding {encoding!r} is not known.") from error
    except pd.errors.ParserWarning as error:
        raise InputError(
            "bad-file", f"{name}: its rows have more values than there are column names. Name every column."
        ) from error
    for column in table.columns if form.decimal == "." else ():
        if is_text(table[column]) and table[column].dropna().astype(str).str.fullmatch(DECIMAL_COMMA).all():
            how.append(
                f"{column} is read as text, and looks like numbers with decimal commas: then say --decimal comma"
            )
    return table


def _header(data: io.BytesIO, options: Mapping[str, Any]) -> list[str]:
    """Return the values of the first line."""
    data.seek(0)
    header = pd.read_csv(data, header=None, nrows=1, dtype=str, keep_default_na=False, **options)
    return [str(text) for text in header.iloc[0]]


def _read_lines(data: io.BytesIO, file: Path, how: list[str]) -> pd.DataFrame:
    """Read one JSON object from each line; a name that a line lacks is a missing value."""
    unpack = UNPACK.get(file.suffix.lower(), bytes)
    rows: list[dict[str, Any]] = []
    for number, line in enumerate(unpack(data.getvalue()).decode("utf-8-sig").splitlines(), start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line, object_pairs_hook=_without_repeats)
        except ValueError as error:
            raise InputError(
                "bad-file", f"{file.name}, line {number}: {_said(error)}. Expected one JSON object."
            ) from error
        if not isinstance(row, dict):
            raise InputError("bad-file", f"{file.name}, line {number} is not a JSON object: one person is {{...}}.")
        nested = [name for name, value in row.items() if isinstance(value, dict | list)]
        if nested:
            raise InputError(
                "bad-file",
                f"{file.name}, line {number}: {nested[0]!r} holds more than one value. Write columns instead.",
            )
        rows.append(row)
    how.append("one JSON object on each line")
    return pd.DataFrame(rows).infer_objects()


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({name for name, _ in pairs}) < len(pairs):
        raise ValueError("a name occurs twice")
    return dict(pairs)


def _check_header(names: list[str], file: str, encoding: str, zero_bytes: bool) -> None:
    """Refuse a first line that shows that the file has another encoding, or repeated names."""
    if zero_bytes or any("\0" in text for text in names):
        raise InputError(
            "bad-file",
            f"{file} is not {encoding} text: it has zero bytes. Give its encoding, for example --encoding utf-16.",
        )
    _refuse_repeated((text for text in names if text), file)


def _decoded(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table whose texts can be decoded, which its reader leaves for later."""
    for _, column in table.items():
        texts = column.cat.categories if isinstance(column.dtype, pd.CategoricalDtype) else column
        if isinstance(texts.dtype, pd.StringDtype):
            texts.astype(object)
    return table


def _read_excel(data: io.BytesIO, name: str) -> pd.DataFrame:
    with pd.ExcelFile(data) as book:
        if len(book.sheet_names) > 1:
            raise InputError(
                "bad-file",
                f"{name} has {len(book.sheet_names)} sheets: {', '.join(map(str, book.sheet_names[:8]))}. Save the one "
                "to be audited as a file of its own.",
            )
        header = pd.read_excel(book, header=None, nrows=1, dtype=str, keep_default_na=False)
        if header.empty:
            raise InputError("bad-file", f"{name} has no table: its sheet is empty. Give column names and rows.")
        _refuse_repeated((str(text) for text in header.iloc[0] if str(text)), name)
        return pd.read_excel(book)


def _said(error: Exception) -> str:
    return " ".join(str(error).split()).rstrip(".")


def _refuse_repeated(names: Iterable[str], file: str) -> None:
    repeated = [name for name, times in Counter(names).items() if times > 1]
    if repeated:
        raise InputError("bad-file", f"{file} has columns of the same name: {repeated[:5]}. Rename them.")


def plain_numbers(table: pd.DataFrame) -> pd.DataFrame:
    """Decimal numbers, which databases write, as ordinary ones."""
    for name in table.columns:
        present = table[name].dropna() if table[name].dtype == object else table[name][:0]
        if present.size and present.map(lambda value: isinstance(value, Decimal)).all():
            table[name] = table[name].astype(float)
    return table
