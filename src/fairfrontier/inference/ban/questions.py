"""The question of what a ban of the group costs, asked of a `Fit`."""

from __future__ import annotations

import warnings

import numpy as np

from ...arrays import FloatArray
from ...errors import InputError, SmallSampleWarning
from ...fit import Fit
from ...learning.diagnostics import what_determines
from ..questions import skew_test
from .estimates import cost_curve, two_sides
from .result import BanCost, ban_cost
from .sides import Sides, blind_side, both_sides

FEWEST = 50
"""People (clusters) of equal weight that a group must be worth for intervals by draws to show anything."""


def cost_of_ban(fit: Fit, *, alpha: float | None = None, capacity: float | None = None) -> BanCost:
    """Estimate what it costs that rules may not see the group; see `FairFrontier.cost_of_ban`."""
    fit.risks_only("The cost of a ban")
    if capacity is not None:
        raise InputError(
            "bad-option",
            f"What a ban of the group costs is estimated for rules without a capacity, got capacity={capacity!r}: "
            "leave it out. With a capacity, compare `frontier(capacity=...)` of a fit with "
            'rules="group-aware" and of one with rules="group-blind".',
        )
    level = fit.level(alpha)
    sides = both_sides(fit)
    _refuse_empty(fit, sides)
    names, without, seeing = two_sides(fit, sides.blind, sides.within)
    curve = cost_curve(fit, sides.blind, sides.within) if len(fit.sample.groups) == 2 else None
    doubts = _doubts(fit, sides)
    return ban_cost(fit.sample.groups.labels, level, names, without, seeing, curve, doubts=doubts)


def warn_of_few_people(fit: Fit) -> None:
    """Warn if intervals of what a ban costs rest on so few people of a group that they show nothing."""
    for text in few_people(fit):
        warnings.warn(
            f"What a ban costs is uncertain: {text}. The intervals are a rough guide, and nothing is called shown.",
            SmallSampleWarning,
            stacklevel=3,
        )


def few_people(fit: Fit) -> list[str]:
    """Groups that are worth fewer people (clusters) of equal weight than intervals by draws need, in words."""
    s, found = fit.sample, []
    unit = "people" if s.clusters is None else "clusters"
    for label, rows in zip(s.groups, s.rows_by_group, strict=True):
        weight = s.weight[rows]
        each = weight if s.clusters is None else np.bincount(s.clusters[rows], weight)
        size = float(weight.sum() ** 2 / (each**2).sum())
        if size < FEWEST:
            found.append(f"group {label} is worth {size:.0f} {unit} of equal weight, fewer than {FEWEST}")
    return found


def _refuse_empty(fit: Fit, sides: Sides) -> None:
    """Refuse to put a cost on a ban that is empty, because covariates tell who is in which group."""
    s = fit.sample
    why = what_determines(s.X, s.group, len(s.groups), s.weight / s.weight.sum(), _chances(fit, sides))
    if why is None:
        return
    raise InputError(
        "group-determined",
        f"The covariates nearly determine the group: {why}. A ban of the group is then all but empty, because rules "
        "can tell it from the covariates, and what it costs is not estimated: leave out covariates that stand for the "
        "group.",
    )


def _chances(fit: Fit, sides: Sides) -> FloatArray:
    """Predictions (n, G) that are larger the likelier a group is: probabilities, or shares of |t_g| / mu_g."""
    known = fit.nuisance.group_probabilities
    if known is not None:
        return np.asarray(known.mean(axis=0))
    length = np.abs(sides.blind).mean(axis=0) / fit.sample.groups.shares
    total = length.sum(axis=1, keepdims=True)
    likely: FloatArray = np.divide(length, total, out=np.zeros_like(length), where=total > 0.0)
    return likely


def _doubts(fit: Fit, sides: Sides) -> tuple[str, ...]:
    """Reasons to doubt that the learner serves both sides equally well, or that intervals hold."""
    found = [f"the learner predicts the nuisance of group {label} no better than its mean" for label in sides.weak]
    if len(fit.sample.groups) == 2 and skew_test(blind_side(fit, sides)).verdict == "contradictory":
        found.append("in the test of group skew the estimates without the group contradict each other")
    return (*found, *few_people(fit))
