"""Published rejection rates beside ours, with Monte Carlo error: as text, CSV and LaTeX."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from ..arrays import BoolArray
from .store import Row, Store
from .table1 import PUBLISHED, PUBLISHED_REPLICATIONS

PROCEDURES: Mapping[str, Mapping[str, str]] = {
    "best points": {
        "as published": "published: {cell}, random pairs",
        "published test, exhaustive": "published: {cell}",
        "own": "own: {cell}",
    },
    "LDA": {
        "as published": "published: LDA {cell}",
        "published test, no kinks": "published: LDA, no kinks {cell}",
        "own robust": "own: LDA robust {cell}",
        "own sharp": "own: LDA sharp {cell}",
    },
    "distance": {
        "as published": "quasi-Newton: distance {cell}",
        "published test, exact": "published: distance {cell}",
        "published test, exact, no kinks": "published: distance, no kinks {cell}",
        "own": "own: distance {cell}",
    },
}
"""Which stored number belongs to which procedure of each test.

The published test of weak skew looks at random pairs (R, B); a search of all pairs rejects less often. The published
distances are to an F that a search finds (`replication.descent`); ``distance_to_fairest`` with ``method="paper"``
follows the text of the paper exactly.
"""
_NO_SEARCH = {
    ("as published", "(R, B) left out"): "published: (R, B) left out",
    ("published test, exhaustive", "(R, B) left out"): None,
}
"""Whether the true pair is left out needs no search."""


def stored_as(test: str, procedure: str, cell: str) -> str | None:
    """Return the name under which a cell's numbers are stored, None if the procedure has none of its own."""
    if (procedure, cell) in _NO_SEARCH:
        return _NO_SEARCH[procedure, cell]
    return PROCEDURES[test][procedure].format(cell=cell)


COLUMNS = ["test", "n", "design", "cell", "procedure", "published", "rate", "low", "high", "replications", "z"]


@dataclass(frozen=True, slots=True)
class Comparison:
    """Rejection rates of all procedures, one line per cell of the published table and procedure.

    Columns of ``table``: test, n, design, cell, procedure, published, rate, low, high (95% interval of the rate),
    replications, and for published procedures and their exact versions z (difference to the published rate in
    standard errors of both) and differs (beyond what sampling explains, all cells considered). ``failed`` counts
    replications that ended in an error; ``cost`` has mean core seconds; ``versions`` are those of the software that
    rows were made with.
    """

    table: pd.DataFrame
    cost: pd.DataFrame
    failed: int
    settings: Mapping[str, Any]
    versions: list[dict[str, str]]

    def largest_z(self) -> pd.DataFrame:
        """Largest difference to the published rates in standard errors, by test and published procedure."""
        compared = self.table.dropna(subset="z").assign(z=lambda table: table["z"].abs())
        largest = compared.groupby(["test", "procedure"], sort=False)["z"].agg(["size", "max"])
        return largest.rename(columns={"size": "cells", "max": "largest z"}).reset_index()

    def text(self) -> str:
        """Return the table as text, with settings and cost below it."""
        shown = self.table.copy()
        shown["differs"] = np.where(shown["differs"], "*", "")
        with pd.option_context("display.width", 200):
            lines = [shown.round(4).to_string(index=False), "", f"Failed replications: {self.failed}"]
            lines += ["", "Largest difference to a published rate, in standard errors:"]
            lines += [self.largest_z().round(2).to_string(index=False)]
            lines += ["", "Mean core seconds:", self.cost.round(2).to_string(index=False)]
        lines += ["", "Settings: " + json.dumps(self.settings)]
        lines += ["Versions: " + json.dumps(made_with) for made_with in self.versions]
        return "\n".join(lines) + "\n"

    def latex(self) -> str:
        """Return the table as LaTeX: one line per test, n, design and procedure, one column per cell."""
        lines = []
        for test, part in self.table.groupby("test", sort=False):
            cells = [str(cell) for cell in dict.fromkeys(part["cell"])]
            lines += [rf"\begin{{tabular}}{{llll{'c' * len(cells)}}}", r"\hline"]
            lines += [rf"\multicolumn{{{4 + len(cells)}}}{{c}}{{{test}}}\\", r"\hline"]
            lines += [" & ".join(["$n$", "design", "procedure", "", *[_tex(c) for c in cells]]) + r"\\", r"\hline"]
            for (n, design), block in part.groupby(["n", "design"], sort=False):
                published: Any = block.drop_duplicates("cell").set_index("cell")["published"]
                row = [f"{n:,}", str(design), "published", "", *[f"{published[c]:.3f}" for c in cells]]
                lines.append(" & ".join(row) + r"\\")
                for procedure, own in block.groupby("procedure", sort=False):
                    rates = own.set_index("cell")
                    shown = [_cell(rates.loc[c]) if c in rates.index else "" for c in cells]
                    lines.append(" & ".join(["", "", str(procedure), "", *shown]) + r"\\")
                lines.append(r"\hline")
            lines += [r"\end{tabular}", ""]
        return "\n".join(lines)

    def write(self, folder: Path) -> list[Path]:
        """Write the table as text, CSV and LaTeX into a folder; return the files."""
        folder.mkdir(parents=True, exist_ok=True)
        contents = {
            "table1.txt": self.text(),
            "table1.csv": self.table.to_csv(index=False, lineterminator="\n"),
            "table1.tex": self.latex(),
        }
        for name, content in contents.items():
            (folder / name).write_text(content)
        return [folder / name for name in contents]


def compare(store: Store) -> Comparison:
    """Put the rows of a store beside the published rates."""
    rows = list(store.rows())
    results = _frame(row for row in rows if row.result is not None)
    lines = []
    alpha = float(store.settings["alpha"])
    for (test, n, design), cells in PUBLISHED.items():
        own = results[(results["n"] == n) & (results["design"] == design)]
        if own.empty:
            continue
        for procedure in PROCEDURES[test]:
            for cell, published in cells.items():
                column = stored_as(test, procedure, cell)
                if column not in own or own[column].isna().all():
                    continue
                values = own[column].dropna()
                rejected = values == 1.0 if test == "distance" else values <= alpha
                place = (test, n, design, cell, procedure)
                lines.append(_line(place, published, rejected.to_numpy()))
    table = pd.DataFrame(lines, columns=list(COLUMNS))
    compared = table["procedure"].astype(str).str.contains("published")
    table["z"] = table["z"].where(compared)
    table["differs"] = table["z"].abs() > stats.norm.isf(0.025 / max(int(compared.sum()), 1))
    cost = _frame(rows, "seconds").drop(columns="number").groupby(["n", "design"], sort=True).mean().reset_index()
    return Comparison(table, cost, sum(row.error is not None for row in rows), store.settings, store.versions())


def _line(place: tuple[str, int, str, str, str], published: float, rejected: BoolArray) -> dict[str, Any]:
    count, total = int(rejected.sum()), len(rejected)
    interval = stats.binomtest(count, total).proportion_ci(0.95, method="wilson")
    pooled = (count + published * PUBLISHED_REPLICATIONS) / (total + PUBLISHED_REPLICATIONS)
    error = float(np.sqrt(pooled * (1.0 - pooled) * (1.0 / total + 1.0 / PUBLISHED_REPLICATIONS)))
    difference = count / total - published
    z = difference / error if error > 0.0 else 0.0
    ends = (float(interval.low), float(interval.high))
    values = (*place, published, count / total, *ends, total, z)
    return dict(zip(COLUMNS, values, strict=True))


def _frame(rows: Iterable[Row], what: str = "result") -> pd.DataFrame:
    """One line per sample: what was stored of it, under whatever task."""
    lines: dict[tuple[str, ...], dict[str, Any]] = {}
    for row in rows:
        design, n, number = sample = tuple(row.task.split("/")[:3])
        line = lines.setdefault(sample, {"design": design, "n": int(n), "number": int(number)})
        line |= getattr(row, what)
    return pd.DataFrame(list(lines.values()), columns=None if lines else ["design", "n", "number"])


def _tex(text: str) -> str:
    return text.replace("e*", "$e^*$").replace("%", r"\%")


def _cell(line: Any) -> str:
    return f"{line['rate']:.3f}" + ("$^*$" if line["differs"] else "")
