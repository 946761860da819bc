"""Text files with tables: what separates their values, as it is given or seen in the first line."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ..errors import InputError

TEXT = {".csv": ",", ".tsv": "\t"}
"""Kinds of text files, with what usually separates their values."""
WORDS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
"""How signs that separate values are called."""
NAMED = {"comma": ",", "semicolon": ";", "tab": "\t", "\\t": "\t", "bar": "|", "space": " "}
"""What may be given in the place of a sign."""


def read_separator(given: str) -> str:
    """Return the sign that separates values, given as it is or by its name."""
    sign = NAMED.get(given, given)
    if len(sign) != 1 or sign.isalnum() or sign in '\r\n"':
        raise InputError(
            "bad-option", f"--sep must be one character, such as ; or |, or one of {', '.join(NAMED)}; got {given!r}."
        )
    return sign


def read_decimal(given: str) -> str:
    """Return the decimal sign, given as it is or by its name."""
    sign = {"point": ".", "comma": ","}.get(given, given)
    if sign not in (".", ","):
        raise InputError("bad-option", f"--decimal must be point or comma; got {given!r}.")
    return sign


def usual_separator(file: str | Path) -> str:
    """Return what separates the values of a file by its name."""
    kinds = [suffix.lower() for suffix in Path(file).suffixes]
    return next((sign for kind, sign in TEXT.items() if kind in kinds), ",")


def seen_separator(header: Sequence[str], usual: str, file: str) -> str:
    """Return what separates values, given the first line of a file as it is split by the usual sign."""
    if len(header) != 1:
        return usual
    seen = [sign for sign in WORDS if sign != usual and sign in header[0]]
    if len(seen) > 1:
        signs = " or ".join(WORDS[sign] for sign in seen)
        raise InputError(
            "bad-file",
            f"{file}: its values may be separated by {signs}, by its first line {header[0][:80]!r}. Say which: --sep.",
        )
    return seen[0] if seen else usual


def separator_words(sign: str) -> str:
    """Return how a separator is called in a sentence."""
    return WORDS.get(sign, repr(sign))
