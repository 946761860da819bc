"""The study's tables from stored repetitions, with the published numbers beside ours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from ...datasets.obermeyer import HOLDOUT_SCORES
from ..store import Row
from .counterfactual import shares
from .published import ALGORITHMS, FAIREST, SHARE_COLUMNS, SHARES, SPREADS
from .repetitions import EGALITARIAN, RULES, THRESHOLDS, Study

Results = Sequence[Mapping[str, Any]]


def results_of(rows: Sequence[Row], exercise: str) -> list[Mapping[str, Any]]:
    """Results of one exercise in the order of their seeds; failures are left out (and counted elsewhere)."""
    return [row.result for row in rows if row.task.startswith(f"{exercise}/") and row.result is not None]


def compared_with(learner: str) -> str:
    """Return the learner whose published numbers stand beside ours: the forest unless the paper used the same."""
    return learner if learner in ALGORITHMS else "forest"


def algorithm_table(results: Results, learner: str, alpha: float) -> pd.DataFrame:
    """Table II, or C.I: risks, tests and distances of the algorithms with the first seed; published values beside.

    ``robust p`` and ``verdict`` are those of this package's default test, which the paper does not have.
    """
    first = results[0]
    published = ALGORITHMS[compared_with(learner)]
    lines: dict[str, dict[str, Any]] = {}
    for name in _algorithms(first):
        found = first[name]
        low, high = found["interval"]
        lines[name] = {
            "risk Black": found["risks"][0],
            "risk White": found["risks"][1],
            "statistic": found["statistic"],
            "critical value": found["critical value"],
            "conclusion": "rejected" if found["rejected"] else "not rejected",
            "distance": found["distance"],
            "distance low": low,
            "distance high": high,
            "robust p": found["robust p"],
            "verdict": found["verdict"],
        }
        if name in published:
            known = published[name]
            rejected = known.statistic > known.critical_value
            lines[f"{name}, published"] = {
                "risk Black": known.risks[0],
                "risk White": known.risks[1],
                "statistic": known.statistic,
                "critical value": known.critical_value,
                "conclusion": "rejected" if rejected else "not rejected",
                "distance": known.distance,
                "distance low": known.interval[0],
                "distance high": known.interval[1],
            }
    table = pd.DataFrame.from_dict(lines, orient="index")
    table.index.name = f"no LDA, level {alpha:g}"
    return table


def share_table(study: Study, results: Results) -> pd.DataFrame:
    """Table III, or C.II: shares of Black patients among those selected, means over seeds; every threshold.

    Columns whose name ends in "published" hold the published values at the thresholds of the paper's table.
    """
    patients = study.source.patients
    score = patients.scores["hospital score"].to_numpy(dtype=float)
    conditions = patients.outcomes["conditions"].to_numpy(dtype=float)
    both = shares(score, conditions, study.source.black, THRESHOLDS)
    table = pd.DataFrame({"original": both[:, 0], "counterfactual": both[:, 1]}, index=pd.Index(THRESHOLDS))
    for rule in (*RULES, EGALITARIAN):
        means = [[one["shares"][rule].get(str(t)) for one in results] for t in THRESHOLDS]
        table[rule] = [
            np.nanmean(np.array(row, dtype=float)) if any(v is not None for v in row) else np.nan for row in means
        ]
    table = table[list(SHARE_COLUMNS)]
    for threshold, values in SHARES[compared_with(study.options["learner"])].items():
        for name, value in zip(SHARE_COLUMNS, values, strict=True):
            table.loc[threshold, f"{name}, published"] = value
    table.index.name = "capacity threshold"
    return table


def spread_table(results: Results, learner: str, alpha: float) -> pd.DataFrame:
    """Table C.III, or C.IV: mean, standard deviation and quantiles over seeds; published ones beside."""
    values: dict[str, list[float]] = {"F": [float(one["F"]) for one in results]}
    for name in _algorithms(results[0]):
        for key in ("statistic", "critical value", "rejected", "distance"):
            values[f"{name} {key}"] = [float(one[name][key]) for one in results]
        for key, end in (("low", 0), ("high", 1)):
            values[f"{name} {key}"] = [float(one[name]["interval"][end]) for one in results]
    values["weak skew rejected"] = [float(one["weak skew p"] <= alpha) for one in results]
    lines = {}
    for quantity, column in values.items():
        quartiles = np.percentile(column, [0, 25, 50, 75, 100])
        sd = float(np.std(column, ddof=1)) if len(column) > 1 else float("nan")
        line = dict(
            zip(["mean", "sd", "min", "25%", "50%", "75%", "max"], [np.mean(column), sd, *quartiles], strict=True)
        )
        known = SPREADS[compared_with(learner)].get(quantity)
        if known is not None:
            line |= {"mean, published": known.mean, "sd, published": known.sd}
            line |= {"min, published": known.minimum, "max, published": known.maximum}
        lines[quantity] = line
    table = pd.DataFrame.from_dict(lines, orient="index")
    table.index.name = f"over {len(results)} seeds"
    return table


def findings(study: Study, results: Results) -> list[str]:
    """Conclusions in words: ours beside the paper's, and what may explain a difference."""
    learner, alpha = study.options["learner"], study.options["alpha"]
    first = results[0]
    published = ALGORITHMS[compared_with(learner)]
    lines = [study.source.remark]
    for name in _algorithms(first):
        found = first[name]
        line = f"{name}: that there is no less discriminatory alternative is {_conclusion(found['rejected'])} by the"
        line += f" published test at level {alpha:g}"
        if name in published:
            theirs = published[name].statistic > published[name].critical_value
            line += f" (in the paper: {_conclusion(theirs)})"
        lines.append(f"{line}; default test: {found['verdict']}, p = {found['robust p']:.3f}.")
    skew = first["weak skew p"] <= alpha
    lines.append(
        f"Weak group skew is {_conclusion(skew)} (in the paper: not rejected); the estimated set is "
        f"{first['configuration']}."
    )
    known = FAIREST[compared_with(learner)]
    lines.append(f"Fairest point: {first['F']:.3f} for both groups (in the paper: {known:.3f}).")
    lines.append(f"The learner is {learner}; the paper's numbers are those of its {compared_with(learner)}.")
    return lines


def _algorithms(result: Mapping[str, Any]) -> list[str]:
    return [name for name in HOLDOUT_SCORES if name in result]


def _conclusion(rejected: bool) -> str:
    return "rejected" if rejected else "not rejected"
