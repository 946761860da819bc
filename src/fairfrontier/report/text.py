"""The plain-text summary of a fit."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ..data.checks import check_draws
from ..data.number_formats import number_text
from ..errors import InputError
from ..frontier.cells import BINS
from ..inference.ban.questions import cost_of_ban
from ..inference.ban.sides import one_fit_serves
from .findings import WITHOUT_ROWS

if TYPE_CHECKING:
    from ..estimator import FairFrontier

OF_PAIRS = (
    "Directions weigh the groups' risks in the rule; the fairest point has the smallest range of risks. A frontier "
    "with its picture, skew and distances is for two groups: see `pair`."
)
OF_ROWS = "Points, rules and pairs of more than two groups need the rows. `test_lda` and `risks` are of all rows."
_MEANING = {
    "balanced": "the fairness-accuracy frontier is the Pareto frontier between the two best points",
    "skewed": "skewed towards group {label}: the frontier runs from its best point to the fairest point",
}


WORK = 3_000_000
"""Rows times repetitions times draws at most for which a summary asks what a ban of the group costs by itself."""


def summary_text(ff: FairFrontier, ban: bool | None = None) -> str:
    """Describe data, points, learner quality, a ban of the group and diagnostics of a fitted `FairFrontier`."""
    rows = ", ".join(f"group {label}: {count:,}" for label, count in ff.sample_.counts.items())
    data = [
        "Fairness-accuracy frontier",
        "",
        f"Rows        {ff.n_obs_:,} ({rows})" + _learning(ff) + _dropped(ff) + _left_out(ff) + _merged(ff),
        *_copies(ff),
        *_counted(ff),
        f"Loss        {ff.loss_.name}",
        f"Learner     {ff.nuisance_.learner}" + _folds(ff),
        *(["Rules       may see the group"] if ff.fit_.rules.sees_group else []),
        "",
    ]
    quality = ["", "Learner quality, out of fold", *_quality(ff), *_candidates(ff)]
    if ff.fit_.asked is not None:
        question = ff.fit_.criteria.question(len(ff.groups_), errors=ff.loss_.name == "classification")
        return "\n".join([*data, f"Question    {question}", *quality])
    if len(ff.groups_) != 2:
        points = [OF_ROWS] if ff.fit_.counted is not None else [*_points(ff), "", OF_PAIRS]
        return "\n".join([*data, *points, *_ban(ff, ban), *quality])
    frontier = [
        *_points(ff),
        *(f"Caution: {sentence}" for found in ff.contradictions_ for sentence in found.sentences()),
        *_regret(ff),
        "",
        f"Configuration: {ff.configuration_} - {_meaning(ff)}.",
        "Directions weigh the two groups' risks in the rule; a positive weight works against a group.",
    ]
    conditions = ["", "Conditions behind the inference", *(f"- {line}" for line in ff.diagnostics_.lines())]
    return "\n".join([*data, *frontier, *_ban(ff, ban), *quality, *conditions])


def _ban(ff: FairFrontier, wanted: bool | None) -> list[str]:
    """The test of group skew and what a ban costs, or why they are not here and how to get them."""
    fit, two = ff.fit_, len(ff.groups_) == 2
    rows = fit.n_obs * fit.n_rep if fit.counted is None else fit.n_rows  # draws go through the cells
    work = rows * check_draws(fit.options.n_boot)
    heading = ["", "Should the group be banned as an input? (about risks; not a legal statement)"]
    asked = "`test_group_skew()` and `cost_of_ban()`" if two else "`cost_of_ban()`"
    if wanted is False or (wanted is None and work > WORK):
        why = "left out as asked" if wanted is False else "not asked here, because it takes many draws"
        return [*heading, f"- {why[0].upper()}{why[1:]}: {asked} answer it, or `summary(ban=True)`."]
    lines = []
    if two:
        skew = ff.test_group_skew()
        lines.append(f"Test of group skew: {skew.verdict_text} P-value {skew.p_value:.4f}.")
    else:
        lines.append("The test of group skew compares two groups: see `pair`.")
    if fit.counted is not None:
        lines.append(WITHOUT_ROWS)
    elif wanted or one_fit_serves(fit):
        try:
            lines += cost_of_ban(fit).in_brief()
        except InputError as error:  # the ban is empty
            lines.append(str(error))
    else:
        lines.append(_no_cost(ff))
    return [*heading, *(f"- {line}" for line in lines)]


def _no_cost(ff: FairFrontier) -> str:
    if ff.nuisance_.external:
        return "What a ban costs cannot be estimated from predictions supplied from outside: fit with a learner."
    return (
        f"What a ban costs takes a second fit of the learner {ff.nuisance_.learner!r}: `cost_of_ban()` makes it, or "
        "`summary(ban=True)`."
    )


def _learning(ff: FairFrontier) -> str:
    count = ff.sample_.learning_rows
    return f"; {count:,} more for learning only" if count else ""


def _dropped(ff: FairFrontier) -> str:
    dropped = ff.sample_.dropped
    if not dropped:
        return ""
    listed = ", ".join(f"{'no group' if label is None else label}: {k:,}" for label, k in dropped.items())
    return f"; dropped for missing values: {sum(dropped.values()):,} ({listed})"


def _copies(ff: FairFrontier) -> list[str]:
    found = ff.sample_.copied
    if found is None:
        return []
    return [f"Copies      {found.rows:,} rows repeat others; kept together in {found.n_clusters:,} clusters"]


def _counted(ff: FairFrontier) -> list[str]:
    """What was done with rows that were read in parts."""
    fit = ff.fit_
    if fit.counted is None:
        return []
    learned = "" if ff.nuisance_.external else f"{fit.whole.n_obs:,} rows learned from; "
    return [
        f"Parts       {fit.counted.n_rows:,} rows read from {fit.counted.source}",
        f"            {learned}all counted in {fit.n_rows:,} cells of people who are alike (predicted directions "
        f"rounded to {BINS:,})",
    ]


def _merged(ff: FairFrontier) -> str:
    parts = [
        f"{new} from {', '.join(f'{label} {count:,}' for label, count in old.items())}"
        for new, old in ff.sample_.merged.items()
    ]
    return f"; put together: {'; '.join(parts)}" if parts else ""


def _left_out(ff: FairFrontier) -> str:
    left_out = ff.sample_.left_out
    if not left_out:
        return ""
    listed = ", ".join(f"{label}: {k:,}" for label, k in left_out.items())
    return f"; left out, of other groups: {sum(left_out.values()):,} ({listed})"


def _folds(ff: FairFrontier) -> str:
    folds = ff.nuisance_.folds
    if folds is None:
        return " (predictions supplied from outside)"
    text = f", {folds[0].max()} folds" + (" in sequence" if ff.fit_.sequence is not None else "")
    if len(folds) > 1:
        text += f", {len(folds)} repetitions"
    return text


def _points(ff: FairFrontier) -> list[str]:
    table = ff.points_
    width = max(len(str(name)) for name in table.index) + 2
    columns = [max(len(str(name)), 9) + 2 for name in table.columns]
    lines = [" " * width + "".join(f"{name:>{w}}" for name, w in zip(table.columns, columns, strict=True))]
    for name, row in zip(table.index, table.to_numpy(), strict=True):
        cells = "".join(f"{number_text(value):>{w}}" for value, w in zip(row, columns, strict=True))
        lines.append(f"{name:<{width}}{cells}")
    return lines


def _regret(ff: FairFrontier) -> list[str]:
    """By how much the learned rules fall short of the best ones at the three points, if that was estimated."""
    if ff.regret_ is None:
        return []
    q = ff.points_.to_numpy()[:, 2:]
    q = q / np.abs(q).sum(axis=1, keepdims=True)
    values = ff.regret_.values(q)
    lines = [f"Estimated regret of the learned rules, subtracted from the risks above ({len(values)} refits):"]
    for name, mean, spread in zip(ff.points_.index, values.mean(axis=0), values.std(axis=0, ddof=1), strict=True):
        varies = f"from refit to refit +-{number_text(spread)}"
        lines.append(f"  {name}: {number_text(mean)} ({varies}) in the risk weighted by its direction")
    return lines


def _meaning(ff: FairFrontier) -> str:
    if ff.configuration_ == "balanced":
        return _MEANING["balanced"]
    return _MEANING["skewed"].format(label=ff.configuration_.removesuffix("-skewed"))


def _quality(ff: FairFrontier) -> list[str]:
    lines = []
    for label in ff.groups_:
        own = ff.nuisance_.quality[[group == label for group in ff.nuisance_.quality["group"]]]
        own = own.groupby("fold", as_index=False)[["r2", "log_loss", "mean_log_loss"]].median()
        line = f"  group {label}: R2 {_listed(own['r2'])}"
        if np.isfinite(own["log_loss"]).all():
            of_the_mean = number_text(own["mean_log_loss"].mean(), 3)
            line += f"; log loss {_listed(own['log_loss'])} (of the mean: {of_the_mean})"
        lines.append(line)
    return lines


def _candidates(ff: FairFrontier) -> list[str]:
    sentences = ff.learner_report_.sentences()
    if not sentences:
        return []
    return ["Candidates of the learner: loss on inner folds (weight)", *(f"  {line}" for line in sentences)]


def _listed(values: pd.Series) -> str:
    return " ".join(number_text(value, 3) for value in values)
