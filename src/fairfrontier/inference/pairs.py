"""Tests of all pairs of groups of one fit, adjusted for their number."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from ..data.reading import Label
from ..data.result import Plain, PlainDict, Result, plain, plain_items
from .lda.result import LDATest
from .p_values import holm

Pair = tuple[Label, Label]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class PairTests(Result):
    """Tests for less discriminatory alternatives in every pair of groups, of one or more algorithms.

    ``tests`` by pair, each by name of the algorithm; their adjusted p-values are Holm's over all pairs and algorithms.
    An alternative for a pair is no worse for these two groups; what it means for the others is not asked.
    """

    tests: Mapping[Pair, Mapping[str, LDATest]]

    @property
    def heading(self) -> str:
        """One line that says what this is."""
        return "Is there a less discriminatory alternative, pair by pair?"

    def to_frame(self) -> pd.DataFrame:
        """One row for each pair and algorithm: verdict, risks, gap and p-values."""
        rows = [
            {
                "group": first,
                "against": second,
                "algorithm": name,
                "verdict": test.verdict,
                "gap": float(test.risk[0] - test.risk[1]),
                "p_value": test.robust_p_value,
                "p_value_adjusted": test.robust_p_value_adjusted,
            }
            for (first, second), own in self.tests.items()
            for name, test in own.items()
        ]
        return pd.DataFrame(rows)

    def verdicts(self, name: str | None = None) -> pd.DataFrame:
        """Verdicts as a matrix of groups, for the only algorithm or that of a name; empty where no test was made."""
        names = list(next(iter(self.tests.values())))
        chosen = names[0] if name is None else name
        groups = list(dict.fromkeys(label for pair in self.tests for label in pair))
        matrix = pd.DataFrame("", index=pd.Index(groups), columns=pd.Index(groups))
        for (first, second), own in self.tests.items():
            matrix.loc[first, second] = matrix.loc[second, first] = own[chosen].verdict
        return matrix

    def _frame(self) -> pd.DataFrame:
        return self.to_frame()

    def _facts(self) -> dict[str, object]:
        n_tests = sum(len(own) for own in self.tests.values())
        counts = self.to_frame()["verdict"].value_counts()
        facts: dict[str, object] = {"pairs": len(self.tests), "tests": n_tests}
        return facts | {str(verdict): int(count) for verdict, count in counts.items()}

    def to_dict(self) -> PlainDict:
        """Return the rows of `to_frame` as plain numbers and text."""
        rows: list[Plain] = [plain(row) for row in self.to_frame().to_dict("records")]
        return plain_items(self._facts()) | {"tests": rows}


def adjust_pairs(tests: Mapping[Pair, Mapping[str, LDATest]]) -> PairTests:
    """Adjust the tests of all pairs and algorithms together, by Holm's method."""
    flat = [(pair, name, test) for pair, own in tests.items() for name, test in own.items()]
    adjusted = holm(np.array([test.p_value for _, _, test in flat])).tolist()
    robust = holm(np.array([test.robust_p_value for _, _, test in flat])).tolist()
    found: dict[Pair, dict[str, LDATest]] = {pair: {} for pair in tests}
    for (pair, name, test), p, robust_p in zip(flat, adjusted, robust, strict=True):
        found[pair][name] = replace(
            test, p_value_adjusted=p, robust_p_value_adjusted=robust_p, tested_together=len(flat)
        )
    return PairTests(found)
