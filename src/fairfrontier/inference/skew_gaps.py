"""Gaps between the groups' risks at their best points: two estimates of each, with draws.

Write d for the gap of a best point, the other group's risk minus the own group's, so that group balance means d > 0 at
both best points. Take B, with u = (0, -1) and q = (-lam, lam - 1); R is its mirror image. h is convex, so

    d >= (h(u) - h(q)) / lam                              (the difference)

and d is also the gap of the rule that is best for the group (the direct one). A learner that misses signal can
overstate either, but it does so under different distortions: the difference if the rule of q is poor, the direct gap if
the rule of u is. So both have to be positive beyond chance.

Both are sums over the groups of the mean of one number per row. The rules are held while drawing; what the dependence
between folds adds to the variance is read off the repetitions of the cross-fitting (`learned`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from ..arrays import FloatArray
from ..bootstrap.draws import DrawingContext, Draws
from ..data.result import Result
from ..frontier.plane import U1, U2
from ..frontier.support import SupportFunction
from .learned import fold_noise, repetitions
from .p_values import Decision

How = Literal["difference", "direct"]
STEP = 0.3
"""The step lam of the difference."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SkewGap(Result):
    """One estimate of the gap at one group's best point, and the test that it is at most 0.

    ``group`` (0 or 1): whose best point; ``how``: "difference" or "direct"; ``estimate`` of the other group's risk
    minus the own one's. ``statistic`` is sqrt(n) times it, with ``draws`` (B,) under the null.
    """

    group: int
    how: How
    estimate: float
    statistic: float
    draws: FloatArray
    p_value: float

    @property
    def heading(self) -> str:
        """One line that says what this is."""
        return "Gap between the groups' risks at a best point"

    def _facts(self) -> dict[str, object]:
        return {"group": self.group, "how": self.how, "estimate": self.estimate, "p_value": self.p_value}


def skew_gaps(context: DrawingContext) -> tuple[SkewGap, ...]:
    """Estimate and test the gaps of both best points in both ways."""
    named: list[tuple[int, How]] = [(0, "difference"), (0, "direct"), (1, "difference"), (1, "direct")]
    drawn = [_draw(own) for own in repetitions(context)]
    sums = [draws.risks.sum(axis=2) for draws in drawn]
    each = [draws.risks_hat.sum(axis=1) for draws in drawn]
    estimates, root = np.mean(each, axis=0), float(np.sqrt(drawn[0].n_obs))
    z = root * (np.mean(sums, axis=0) - estimates + fold_noise(sums, each, context.n_folds))
    scale = root * float(np.abs(np.mean([draws.risks_hat for draws in drawn], axis=0)).max())
    found = []
    for j, (group, how) in enumerate(named):
        decision = Decision(root * float(estimates[j]), (U1, U2)[group], np.ascontiguousarray(z[:, j]), scale)
        found.append(
            SkewGap(group, how, float(estimates[j]), decision.statistic, decision.draws, p_value=decision.p_value)
        )
    return tuple(found)


def _draw(context: DrawingContext) -> Draws:
    """Draw the parts of both groups in the four gaps, with the rules of one repetition."""
    values = np.array([value for group in (0, 1) for value in gap_values(context.function, group)])
    return context.draw(np.array([U1, U2]), values, hold_rules=True)


def gap_values(function: SupportFunction, group: int) -> tuple[FloatArray, FloatArray]:
    """Numbers (n,) whose group means add up to the difference, and to the direct gap, of one group's best point."""
    s, other = function.scores, 1 - group
    u, q = np.zeros(2), np.zeros(2)
    u[group], q[group], q[other] = -1.0, STEP - 1.0, -STEP
    best, mixed = (s.losses(function.selected(direction)) for direction in (u, q))
    own = s.group == group
    # (h(u) - h(q)) / lam = [-e_own(best) + (1 - lam) e_own(mixed) + lam e_other(mixed)] / lam
    difference = np.where(own, ((1.0 - STEP) * mixed - best) / STEP, mixed)
    return difference, np.where(own, -best, best)


def weakest(gaps: tuple[SkewGap, ...]) -> SkewGap:
    """The gap that decides: the largest p-value, of several the smallest estimate in units of its draws' spread."""

    def strength(gap: SkewGap) -> tuple[float, float]:
        spread = float(gap.draws.std())
        return -gap.p_value, gap.statistic / spread if spread > 0.0 else np.inf

    return min(gaps, key=strength)
