"""Risks of an algorithm by group."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from ..arrays import FloatArray
from .reading import Label


@dataclass(frozen=True, slots=True)
class Risks:
    """Risks of an algorithm: the mean loss in each group, in the order of ``groups``."""

    groups: tuple[Label, ...]
    risk: FloatArray
    standard_error: FloatArray
    selection_rate: FloatArray

    @property
    def gap(self) -> float:
        """First group's risk minus the second's."""
        return float(self.risk[0] - self.risk[1])

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
