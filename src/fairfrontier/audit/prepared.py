"""Rows that are read in parts as an audit uses them: groups and categories as text, decisions, rows in use."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from ..data.declared import Declared, declared_column
from ..data.parts.rows import in_part
from ..data.parts.sources import Part, RowsInParts
from .inputs import algorithms_of
from .request import AuditRequest
from .survey import InUse, labels_of, tables_of


@dataclass(frozen=True, slots=True)
class PreparedRows:
    """The rows in use of a source.

    ``covariates`` are those of the fit, ``texts`` those of them that are categories; ``n_used`` rows are in use.
    """

    source: RowsInParts
    request: AuditRequest
    in_use: InUse
    algorithms: tuple[str, ...]
    covariates: tuple[str, ...]
    texts: frozenset[str]
    declared: Declared
    n_used: int

    def with_score(self, wanted: bool) -> PreparedRows:
        """Return the same with the score among the covariates, if that is wanted and there is one."""
        if not wanted or self.request.score is None:
            return self
        return replace(self, covariates=(*self.covariates, self.request.score))

    @property
    def name(self) -> str:
        """How messages call the source."""
        return self.source.name

    @property
    def n_rows(self) -> int | None:
        """Number of rows, those that are not used included."""
        return self.source.n_rows

    @property
    def starts(self) -> tuple[int, ...] | None:
        """Numbers of the rows from which reading can begin."""
        return self.source.starts

    @property
    def outcome(self) -> str:
        """Name of the column of the outcome."""
        return self._free("outcome")

    @property
    def group(self) -> str:
        """Name of the column of the group."""
        return self._free("group")

    @property
    def weight(self) -> str | None:
        """Name of the column of weights, if there is one."""
        return None if self.request.weights is None else self._free("weights")

    @property
    def decisions(self) -> dict[str, str]:
        """Names of the columns of decisions, by algorithm."""
        return {name: self._free(f"decisions {j}") for j, name in enumerate(self.algorithms, start=1)}

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of all columns."""
        weight = () if self.weight is None else (self.weight,)
        return (self.outcome, self.group, *weight, *self.decisions.values(), *self.covariates)

    def _free(self, name: str) -> str:
        """Return a name that no covariate has."""
        while name in self.covariates:
            name = f"{name} *"
        return name

    def parts(self, columns: Sequence[str], start: int = 0, stop: int | None = None) -> Iterator[Part]:
        """Yield the rows in use of every part."""
        wanted = [name for name in self.covariates if name in columns]
        named = [*self.in_use.group, *self.in_use.needed, *wanted]
        for name, row, table in tables_of(self.source, list(dict.fromkeys(named)), (start, stop)):
            label = self.in_use.labels(table)
            used = np.flatnonzero(pd.notna(label))
            if not len(used):
                continue
            with in_part(name):
                frame = self._frame(table.iloc[used], wanted, row[used])
            frame[self.group] = label[used]
            yield Part(name, frame[list(columns)], int(row[0]), row[used])

    def _frame(self, used: pd.DataFrame, wanted: Sequence[str], row: Any) -> pd.DataFrame:
        request, outcome = self.request, used[self.request.outcome]
        found: dict[str, Any] = {self.outcome: outcome if request.positive is None else _texts(outcome)}
        if self.weight is not None:
            found[self.weight] = used[request.weights]
        decided = algorithms_of(used, request, row)
        found |= {self.decisions[name]: a for name, a in decided.items()}
        for column in wanted:
            declared = column in self.declared.numeric
            own = declared_column(used[column], self.declared) if declared else used[column]
            found[column] = _texts(own) if column in self.texts else own
        return pd.DataFrame(found, index=used.index).reset_index(drop=True)


def _texts(column: pd.Series) -> pd.Series:
    """Return values as text; missing ones stay missing."""
    codes, texts = labels_of(column)
    return pd.Series(np.array([*texts, None], dtype=object)[codes], index=column.index, dtype=object)
