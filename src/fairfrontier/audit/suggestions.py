"""The columns of a table at a glance: kind, gaps, values, and the role that each may have by its name and values."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from ..data.columns import Kind, kind_of
from ..data.messages import printable

NAMES: Mapping[str, str] = {
    "weights": "weight weights wgt",
    "group": "sex gender race ethnicity ethnic origin religion disability disabled nationality female male minority "
    "foreign age_group",
    "decision": "decision decisions decided approved accepted selected admitted hired granted predicted prediction "
    "pred invited enrolled chosen offered",
    "score": "score scores rating risk probability prob proba decile points",
    "outcome": "outcome outcomes target label labels y class result repaid default defaulted recid recidivism pass "
    "passed failed survived died success event graduated",
}
"""Words in the name of a column that point to a role; the first role counts that also suits the values."""
MOST_GROUPS = 12
FEWEST_SCORES = 6
FEWEST_FOR_IDENTIFIER = 20
COVARIATE, CONSTANT, IDENTIFIER = "covariate", "left out: one value", "left out: identifier"
SHOWN = 5
"""Values that are shown as examples."""


@dataclass(frozen=True, slots=True)
class ColumnAtAGlance:
    """A column: its kind in a word, rows without a value, different values, some of these, and a suggested role."""

    name: str
    kind: str
    missing: int
    distinct: int
    values: tuple[str, ...]
    role: str


def columns_at_a_glance(table: pd.DataFrame) -> list[ColumnAtAGlance]:
    """Return what every column of a table is and may be."""
    return [_at_a_glance(str(name), table[name]) for name in table.columns]


def suggested(columns: Sequence[ColumnAtAGlance], role: str) -> str | None:
    """Return the column that is suggested for a role: of several the one whose name has the first word of `NAMES`."""
    words = NAMES[role].split()
    rank = {c.name: min(words.index(word) for word in _words(c.name) & set(words)) for c in columns if c.role == role}
    return min(rank, key=lambda name: rank[name], default=None)


def _at_a_glance(name: str, column: pd.Series) -> ColumnAtAGlance:
    present = column.dropna()
    texts = present.astype(str) if present.dtype == object else present
    counts = texts.value_counts()
    kind = kind_of(column)
    words = "text" if kind is Kind.CATEGORY else "true or false" if column.dtype == bool else kind.value
    return ColumnAtAGlance(
        name=name,
        kind=words,
        missing=int(column.isna().sum()),
        distinct=len(counts),
        values=tuple(printable(str(value))[:20] for value in counts.index[:SHOWN]),
        role=_role(name, kind, len(counts), len(present)),
    )


def _role(name: str, kind: Kind, distinct: int, n: int) -> str:
    """Suggest a role for a column of ``n`` values."""
    if distinct < 2:
        return CONSTANT
    numeric = kind in (Kind.NUMBER, Kind.INTEGER)
    if distinct == n >= FEWEST_FOR_IDENTIFIER and kind in (Kind.INTEGER, Kind.CATEGORY):
        return IDENTIFIER
    suits = {
        "weights": numeric,
        "group": distinct <= MOST_GROUPS,
        "decision": distinct == 2,
        "score": numeric and distinct >= FEWEST_SCORES,
        "outcome": distinct == 2,
    }
    words = _words(name)
    return next((role for role, known in NAMES.items() if suits[role] and words & set(known.split())), COVARIATE)


def _words(name: str) -> set[str]:
    """Return the words that a name consists of, and the name itself, in small letters."""
    apart = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)
    return {*re.split(r"[^a-z]+", apart.lower()), name.lower()} - {""}


def table_of_columns(columns: Sequence[ColumnAtAGlance]) -> list[str]:
    """Return the columns as lines of a table."""
    head = ("column", "kind", "missing", "distinct", "suggested role", "values")
    lines = [
        (printable(c.name), c.kind, f"{c.missing:,}", f"{c.distinct:,}", c.role, ", ".join(c.values)) for c in columns
    ]
    widths = [max(len(line[k]) for line in (head, *lines)) for k in range(len(head) - 1)]
    right = (2, 3)
    return [
        "  ".join(
            [
                *(
                    text.rjust(w) if k in right else text.ljust(w)
                    for k, (text, w) in enumerate(zip(line, widths, strict=False))
                ),
                line[-1],
            ]
        ).rstrip()
        for line in (head, *lines)
    ]
