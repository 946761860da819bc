"""Risks of an algorithm by group."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from ..arrays import FloatArray
from .reading import Label
from .result import Result, labels


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Risks(Result):
    """Risks of an algorithm: the mean loss in each group, in the order of ``groups``."""

    groups: tuple[Label, ...]
    risk: FloatArray
    standard_error: FloatArray
    selection_rate: FloatArray

    @property
    def gap(self) -> float:
        """First group's risk minus the second's; of more than two groups the largest minus the smallest."""
        if len(self.groups) == 2:
            return float(self.risk[0] - self.risk[1])
        return float(self.risk.max() - self.risk.min())

    @property
    def heading(self) -> str:
        """One line that says what this is."""
        return "Risks by group"

    def _facts(self) -> dict[str, object]:
        facts: dict[str, object] = {
            "groups": labels(self.groups),
            "risk": self.risk,
            "standard_error": self.standard_error,
            "selection_rate": self.selection_rate,
        }
        return facts | {"gap": self.gap}

    def to_frame(self) -> pd.DataFrame:
        """One row per group: risk, standard error, selection rate."""
        return pd.DataFrame(
            {
                "risk": self.risk,
                "standard_error": self.standard_error,
                "selection_rate": self.selection_rate,
            },
            index=pd.Index(self.groups, name="group"),
        )
