"""How error messages write options, values and names, and suggest a name that was probably meant."""

from __future__ import annotations

import difflib
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Interface:
    """How users set options, so that a check can name them in the user's own terms."""

    prefix: str
    separator: str

    def name(self, name: str) -> str:
        """Return how an option is called: ``loss`` or ``--loss``."""
        return f"{self.prefix}{name}"

    def option(self, name: str, value: str) -> str:
        """Return how an option is set to a value: ``loss='squared'`` or ``--loss 'squared'``."""
        return f"{self.prefix}{name}{self.separator}{value}"


PYTHON = Interface("", "=")
"""Options are arguments of functions."""
COMMAND_LINE = Interface("--", " ")
"""Options are those of the command."""


def shown(value: object, longest: int = 200) -> str:
    """Return the `repr` of a value, cut if it is long; of a number or text of numpy that of its plain value."""
    try:
        # numpy need not be loaded for it: what it makes says so itself
        plain = type(value).__module__ == "numpy" and getattr(value, "ndim", None) == 0
        text = repr(value.item() if plain else value)  # type: ignore[attr-defined]
    except ValueError:  # an integer of more digits than Python writes
        return "a number of thousands of digits"
    return text if len(text) <= longest else f"{text[:longest]} ..."


def listed(values: Iterable[object], most: int = 8) -> str:
    """Return the first values as a list in words, such as ``'a', 'b', ...``."""
    every = list(values)
    return ", ".join([shown(value) for value in every[:most]] + ["..."] * (len(every) > most))


def did_you_mean(name: str, known: Iterable[str], otherwise: str = "") -> str:
    """Return a sentence with the known name closest to ``name``, or ``otherwise`` if none is close."""
    close = difflib.get_close_matches(name, list(known), n=1)
    return f" Did you mean {close[0]!r}?" if close else otherwise


def printable(text: str) -> str:
    """Return text as one line that a terminal shows as it is: line breaks and control characters become escapes."""
    return "".join(
        sign.encode("unicode_escape").decode() if unicodedata.category(sign) in ("Cc", "Cs", "Zl", "Zp") else sign
        for sign in text
    )
