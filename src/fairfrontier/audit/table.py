"""Reading table files of all accepted formats, with a plain reason if one cannot be read."""

from __future__ import annotations

import hashlib
import io
import warnings
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas as pd

from ..data.parts.files import EXACT
from ..errors import InputError, MissingDependencyError

COMPRESSED = {".gz": "gzip", ".bz2": "bz2", ".xz": "xz", ".zip": "zip", ".zst": "zstd"}
FORMATS = "CSV (.csv, .tsv; also compressed), Parquet (.parquet), Feather (.feather) or Excel (.xlsx)"


@dataclass(frozen=True, slots=True)
class TableFile:
    """A table as it was read, the name of its file, and the SHA-256 of its bytes."""

    table: pd.DataFrame
    name: str
    sha256: str


def read_table(path: str | Path, encoding: str = "utf-8") -> TableFile:
    """Read a table; the format follows from the file's name.

    Parameters
    ----------
    path : path
        The file.
    encoding : str
        Of text files.
    """
    file = Path(path)
    content = _read_bytes(file)
    kind, read = _reader(file, encoding)
    try:
        table = read(io.BytesIO(content))
        if any(name is not None for name in table.index.names):
            table = table.reset_index()
    except InputError:
        raise
    except ImportError as error:
        raise MissingDependencyError(
            f"Reading {file.name} needs a package that is not installed: {_said(error)}."
        ) from error
    except Exception as error:  # readers raise errors of many kinds
        raise InputError(
            "bad-file", f"{file.name} cannot be read as {kind[1:]}: {_said(error)}. Check it, or save it again."
        ) from error
    table.columns = [str(name) for name in table.columns]
    _refuse_repeated(table.columns, file.name)
    if not len(table):
        raise InputError(
            "bad-file", f"{file.name} has column names but no rows. Give a table with one row for each person."
        )
    return TableFile(plain_numbers(table), file.name, hashlib.sha256(content).hexdigest())


def _reader(file: Path, encoding: str) -> tuple[str, Callable[[io.BytesIO], pd.DataFrame]]:
    """Return the kind of a file, by its name, and what reads such files."""
    suffixes = [suffix.lower() for suffix in file.suffixes]
    packed = COMPRESSED.get(suffixes[-1]) if len(suffixes) > 1 else None
    kind = suffixes[-2] if packed else (suffixes or [""])[-1]
    readers: dict[str, Callable[[io.BytesIO], pd.DataFrame]] = {
        ".csv": lambda data: _read_text(data, file.name, ",", encoding, packed),
        ".tsv": lambda data: _read_text(data, file.name, "\t", encoding, packed),
        ".parquet": _read_parquet,
        ".pq": _read_parquet,
        ".feather": _read_feather,
        ".arrow": _read_feather,
        ".xlsx": lambda data: _read_excel(data, file.name),
        ".xls": lambda data: _read_excel(data, file.name),
    }
    if kind not in readers:
        raise InputError("bad-file", f"The format of {file.name} is not known; expected {FORMATS}.")
    if packed and kind not in (".csv", ".tsv"):
        raise InputError("bad-file", f"{file.name}: only CSV files can be read compressed; unpack it first.")
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


def _read_text(data: io.BytesIO, name: str, separator: str, encoding: str, packed: str | None) -> pd.DataFrame:
    plain = "utf-8-sig" if encoding.lower().replace("_", "-") in ("utf-8", "utf8") else encoding
    options: dict[str, Any] = {"sep": separator, "encoding": plain, "compression": packed}
    try:
        header = pd.read_csv(data, header=None, nrows=1, dtype=str, keep_default_na=False, **options)
        names = [str(text) for text in header.iloc[0]]
        # read_csv may silently drop zero bytes, so they are looked for in the file too
        zero_bytes = not packed and "\0".encode(encoding) == b"\0" and b"\0" in data.getvalue()
        _check_header(names, name, separator, encoding, zero_bytes)
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
    return table


def _check_header(names: list[str], file: str, separator: str, encoding: str, zero_bytes: bool) -> None:
    """Refuse a first line that shows that the file has another encoding or separator, or repeated names."""
    if zero_bytes or any("\0" in text for text in names):
        raise InputError(
            "bad-file",
            f"{file} is not {encoding} text: it has zero bytes. Give its encoding, for example --encoding utf-16.",
        )
    _refuse_repeated((text for text in names if text), file)
    other = next((mark for mark in ";\t|," if mark in names[0]), None) if len(names) == 1 else None
    if other:
        raise InputError(
            "bad-file",
            f"{file} has a single column, {names[0]!r}: its values seem to be separated by {other!r} and not by "
            f"{separator!r}. Save it as CSV with commas, or as .tsv with tabs.",
        )


def _read_parquet(data: io.BytesIO) -> pd.DataFrame:
    return _decoded(pd.read_parquet(data))


def _read_feather(data: io.BytesIO) -> pd.DataFrame:
    return _decoded(pd.read_feather(data))


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
