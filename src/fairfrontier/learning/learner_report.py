"""How good the learner is: losses out of fold, and the candidates behind it with their weights."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from ..data.number_formats import number_text
from ..data.reading import Label
from ..data.result import ExplainedResult, PlainDict, plain_items
from .cross_fitting import Nuisance

GROUP_MODEL = "the group"
"""What a candidate models if it is not the loss difference within a group."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class LearnerReport(ExplainedResult):
    """How good the learner is.

    Attributes
    ----------
    learner : str
        Its name.
    losses : data frame
        For each group the loss of the nuisance function out of fold, that of always predicting the mean, and R2; means
        over folds and repetitions.
    candidates : data frame
        For each variable modelled and each candidate the loss on inner folds of the training rows and the weight it
        got, means over folds and repetitions, and in how many folds its weight was the largest. Empty for a learner
        without candidates.
    """

    learner: str
    losses: pd.DataFrame
    candidates: pd.DataFrame

    @property
    def heading(self) -> str:
        """One line that says what this is."""
        return f"Learner {self.learner}: losses out of fold" + (", and its candidates" if len(self.candidates) else "")

    def _facts(self) -> dict[str, object]:
        facts: dict[str, object] = {"learner": self.learner}
        for label, row in self.losses.iterrows():
            facts[f"R2, group {label}"] = float(row["r2"])
        for modelled, own in self.candidates.groupby("modelled", sort=False):
            heaviest = int(own["weight"].to_numpy().argmax())
            facts[f"mostly, for {modelled}"] = str(own["candidate"].iloc[heaviest])
        return facts

    def to_dict(self) -> PlainDict:
        """Return plain numbers and text for JSON."""
        losses = self.losses.reset_index().astype({"group": str})
        return plain_items({"learner": self.learner, "losses": losses, "candidates": self.candidates})

    def _frame(self) -> pd.DataFrame:
        return self.candidates if len(self.candidates) else self.losses

    def sentences(self) -> list[str]:
        """Return the candidates, one line for each variable modelled; nothing without candidates."""
        lines = []
        for modelled, own in self.candidates.groupby("modelled", sort=False):
            listed = "; ".join(
                f"{name} {number_text(loss, 3)} (weight {number_text(weight, 2)})"
                for name, loss, weight in zip(own["candidate"], own["loss"], own["weight"], strict=True)
            )
            lines.append(f"{modelled}: {listed}")
        return lines


def learner_report(nuisance: Nuisance, groups: tuple[Label, ...]) -> LearnerReport:
    """Summarise the losses of a learner and of its candidates over folds and repetitions."""
    quality = nuisance.quality
    rows = []
    for label in groups:
        own = quality[[group == label for group in quality["group"]]]
        means = own[["log_loss", "mean_log_loss", "r2"]].mean()
        rows.append({"group": label, "loss": means["log_loss"], "loss of the mean": means["mean_log_loss"]})
        rows[-1]["r2"] = means["r2"]
    losses = pd.DataFrame(rows).set_index("group")
    return LearnerReport(nuisance.learner, losses, _candidate_table(nuisance.candidates, groups))


def _candidate_table(candidates: pd.DataFrame, groups: tuple[Label, ...]) -> pd.DataFrame:
    """Means over folds and repetitions, variable by variable."""
    rows = []
    for label in (None, *groups):
        modelled = GROUP_MODEL if label is None else f"loss in group {label}"
        same = [group is None if label is None else group == label for group in candidates["group"]]
        own = candidates.loc[np.array(same, dtype=bool)]
        first = [
            str(fold["candidate"].iloc[fold["weight"].argmax()]) for _, fold in own.groupby(["repetition", "fold"])
        ]
        for name, scores in own.groupby("candidate", sort=False):
            rows.append(
                {
                    "modelled": modelled,
                    "candidate": str(name),
                    "loss": float(scores["loss"].mean()),
                    "weight": float(scores["weight"].mean()),
                    "folds with the largest weight": first.count(str(name)),
                }
            )
    columns = ["modelled", "candidate", "loss", "weight", "folds with the largest weight"]
    return pd.DataFrame(rows, columns=columns)
