"""Sentences of a report that do not belong to a single result."""

from __future__ import annotations

from typing import Any

import pandas as pd

from ..inference.results import LDATest

HEADLINES = {
    "lda-shown": "A less discriminatory alternative is shown to exist.",
    "no-evidence": "No evidence of a less discriminatory alternative; this does not show that there is none.",
    "not-comparable": "No verdict: the algorithm does better than the estimated frontier, so the comparison does not "
    "apply.",
}
LIMITS = (
    "Fairness here is a gap in expected loss (risk) between two groups. It is not a finding on selection rates, nor a "
    "legal finding.",
    "The outcome is taken at face value: it must be measured alike in both groups. If it is known only for people who "
    "were treated in a certain way (selective labels), the risks here are not those of everyone.",
    "Alternatives use the covariates listed below and nothing else. With other covariates other rules exist.",
    "If an algorithm was trained on these very rows, its risks here are too low, and the comparison favours it.",
)


def headline(test: LDATest) -> str:
    """Return the verdict on one algorithm as one sentence."""
    return HEADLINES[test.verdict]


def explain_learner(quality: pd.DataFrame, groups: tuple[Any, Any]) -> list[str]:
    """Say how well the learner predicts out of fold, group by group."""
    lines = []
    for label in groups:
        own = quality[[group == label for group in quality["group"]]]
        r2 = own["r2"].median()
        if pd.isna(r2):
            continue
        how = "no better than the mean" if r2 <= 0.0 else f"{r2:.1%} of the variation (median over folds)"
        lines.append(f"Group {label}: the learner explains {how} of what treatment changes in the loss.")
    return lines
