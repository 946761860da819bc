"""The question of what a ban of the group costs, asked of a `Fit`."""

from __future__ import annotations

from ...fit import Fit
from .estimates import cost_curve, two_sides
from .result import BanCost, ban_cost
from .sides import both_sides


def cost_of_ban(fit: Fit, *, alpha: float | None = None) -> BanCost:
    """Estimate what it costs that rules may not see the group; see `FairFrontier.cost_of_ban`."""
    fit.risks_only("The cost of a ban")
    level = fit.level(alpha)
    blind, within = both_sides(fit)
    names, without, seeing = two_sides(fit, blind, within)
    curve = cost_curve(fit, blind, within) if len(fit.sample.groups) == 2 else None
    return ban_cost(fit.sample.groups.labels, level, names, without, seeing, curve)
