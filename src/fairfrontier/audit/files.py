"""Reading tables of many formats, and saying plainly why one cannot be read."""

from __future__ import annotations

import csv
import hashlib
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from ..errors import InputError, MissingDependencyError

COMPRESSED = (".gz", ".bz2", ".xz", ".zip", ".zst")
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
    if not file.is_file():
        raise InputError("bad-file", f"There is no file {file}. Give the path of a table: {FORMATS}.")
    try:
        content = file.read_bytes()
    except OSError as error:
        raise InputError("bad-file", f"{file} cannot be read: {error.strerror or error}.") from error
    if not content:
        raise InputError("bad-file", f"{file} is empty (0 bytes).")
    suffixes = [suffix.lower() for suffix in file.suffixes]
    kind = suffixes[-2] if len(suffixes) > 1 and suffixes[-1] in COMPRESSED else (suffixes or [""])[-1]
    readers: dict[str, Callable[[], Any]] = {
        ".csv": lambda: _read_text(file, ",", encoding),
        ".tsv": lambda: _read_text(file, "\t", encoding),
        ".parquet": lambda: pd.read_parquet(file),
        ".pq": lambda: pd.read_parquet(file),
        ".feather": lambda: pd.read_feather(file),
        ".arrow": lambda: pd.read_feather(file),
        ".xlsx": lambda: pd.read_excel(file),
        ".xls": lambda: pd.read_excel(file),
    }
    if kind not in readers:
        raise InputError("bad-file", f"The format of {file.name} is not known; expected {FORMATS}.")
    try:
        table = readers[kind]()
    except InputError:
        raise
    except ImportError as error:
        raise MissingDependencyError(f"Reading {kind} files needs a package that is not installed: {error}.") from error
    except Exception as error:  # readers raise errors of many kinds
        raise InputError("bad-file", f"{file.name} cannot be read as {kind[1:]}: {error}.") from error
    table.columns = [str(name) for name in table.columns]
    repeated = [name for name, times in Counter(table.columns).items() if times > 1]
    if repeated:
        raise InputError("bad-file", f"{file.name} has columns of the same name: {repeated[:5]}. Rename them.")
    if not len(table):
        raise InputError("bad-file", f"{file.name} has column names and no rows.")
    return TableFile(table, file.name, hashlib.sha256(content).hexdigest())


def _read_text(file: Path, separator: str, encoding: str) -> pd.DataFrame:
    plain = "utf-8-sig" if encoding.lower().replace("_", "-") in ("utf-8", "utf8") else encoding
    try:
        header = pd.read_csv(file, sep=separator, encoding=plain, header=None, nrows=1, dtype=str)
    except pd.errors.EmptyDataError as error:
        raise InputError("bad-file", f"{file.name} holds no table: {error}.") from error
    except UnicodeDecodeError as error:
        raise _wrong_encoding(file, encoding, error) from error
    except LookupError as error:
        raise InputError("bad-file", f"The encoding {encoding!r} is not known.") from error
    names = [str(name) for name in header.iloc[0]]
    repeated = [name for name, times in Counter(names).items() if times > 1]
    if repeated:
        raise InputError("bad-file", f"{file.name} has columns of the same name: {repeated[:5]}. Rename them.")
    try:
        return pd.read_csv(file, sep=separator, encoding=plain, low_memory=False, quoting=csv.QUOTE_MINIMAL)
    except UnicodeDecodeError as error:
        raise _wrong_encoding(file, encoding, error) from error


def _wrong_encoding(file: Path, encoding: str, error: UnicodeDecodeError) -> InputError:
    return InputError(
        "bad-file",
        f"{file.name} is not {encoding} text (byte {error.object[error.start : error.start + 1]!r} at position "
        f"{error.start}). Say which encoding it has, for example --encoding latin-1.",
    )
