"""The question of what a ban of the group costs, asked of a `Fit`."""

from __future__ import annotations

from ...fit import Fit
from ..questions import skew_test
from .estimates import cost_curve, two_sides
from .result import BanCost, ban_cost
from .sides import Sides, blind_side, both_sides


def cost_of_ban(fit: Fit, *, alpha: float | None = None) -> BanCost:
    """Estimate what it costs that rules may not see the group; see `FairFrontier.cost_of_ban`."""
    fit.risks_only("The cost of a ban")
    level = fit.level(alpha)
    sides = both_sides(fit)
    names, without, seeing = two_sides(fit, sides.blind, sides.within)
    curve = cost_curve(fit, sides.blind, sides.within) if len(fit.sample.groups) == 2 else None
    doubts = _doubts(fit, sides)
    return ban_cost(fit.sample.groups.labels, level, names, without, seeing, curve, doubts=doubts)


def _doubts(fit: Fit, sides: Sides) -> tuple[str, ...]:
    """Reasons to doubt that the learner serves both sides equally well."""
    found = [f"the learner predicts the nuisance of group {label} no better than its mean" for label in sides.weak]
    if len(fit.sample.groups) == 2 and skew_test(blind_side(fit, sides)).verdict == "contradictory":
        found.append("in the test of group skew the estimates without the group contradict themselves")
    return tuple(found)
