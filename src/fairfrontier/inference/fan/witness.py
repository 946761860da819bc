"""A rule, or mixture, that improves on an algorithm in all criteria: chosen by predictions, judged by outcomes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import linprog

from ...arrays import FloatArray, IntArray
from ...frontier.criteria import STILL, CriteriaRows
from ...frontier.fan import Fan
from ...frontier.rule_values import turned
from ...frontier.standing import Standing
from ..lda.witness import Alternative
from .cells import Cells
from .forms import draw_largest

MOST_RULES = 3_000
"""Rules at most among which the mixture is sought."""
SMALL_SHARE = 1e-6
"""Shares of a mixture below this are rounding of the linear programme."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class JointWitness(Alternative):
    """An alternative for any criteria, with what the data say about it.

    ``directions`` (L, J) and ``shares`` (L,): the rules of the mixture, each best for these weights of the criteria,
    and how often each is used. ``risk`` and ``selection_rate`` (K,) by group, and the ``criteria`` (J,) compared.
    ``slack`` (M,), ``error`` (M,) and their joint ``draws`` (B,), the largest error in standard errors: of the gain in
    each criterion that must not be higher first, such as each group's risk, then of every difference that must not
    exceed a width. ``widths`` (M,) says which width each of them belongs to, -1 for a single criterion.
    """

    directions: FloatArray
    shares: FloatArray
    risk: FloatArray
    criteria: FloatArray
    selection_rate: FloatArray
    slack: FloatArray
    error: FloatArray
    widths: IntArray
    draws: FloatArray

    @property
    def gain(self) -> FloatArray:
        """Estimated gains (A + V,): in each group's risk, or what else must not be higher, then in each width."""
        return self._smallest(self.slack)

    def lower_bounds(self, alpha: float) -> FloatArray:
        """Lower confidence bounds (A + V,) for all gains together, of level 1 - alpha.

        The rule is chosen by predictions of other folds, not by its gains; that it is looked at only where the test
        rejected is not accounted for.
        """
        reach = np.quantile(self.draws, 1.0 - alpha, method="inverted_cdf")
        return self._smallest(self.slack - reach * self.error)

    def _smallest(self, values: FloatArray) -> FloatArray:
        n_widths = int(self.widths.max()) + 1
        return np.array([*values[self.widths < 0], *(values[self.widths == v].min() for v in range(n_widths))])

    def _facts(self) -> dict[str, object]:
        return {
            "directions": self.directions,
            "shares": self.shares,
            "risk": self.risk,
            "gain": self.gain,
            "selection_rate": self.selection_rate,
            "selection_ratio": self.selection_ratio,
        }


def find_witness(
    rows: CriteriaRows,
    standing: Standing,
    fan: Fan,
    cells: Cells,
    by_group: Callable[[FloatArray], tuple[FloatArray, FloatArray]] | None = None,
    *,
    n_draws: int,
    seed: np.random.SeedSequence,
) -> JointWitness:
    """Choose the mixture of the corners' own rules whose smallest predicted slack is largest, and judge it.

    ``by_group`` gives the groups' risks and selection rates where these are not the criteria and their shares.
    """
    own = np.unique(cells.own)
    own = own[np.linspace(0, len(own) - 1, min(len(own), MOST_RULES)).astype(int)]
    shares = _best_mixture(fan, standing.theta, cells.values.predicted[own])
    used = np.flatnonzero(shares > SMALL_SHARE)
    directions, shares = cells.values.directions[own[used]], shares[used] / shares[used].sum()
    chances = rows.lower.copy()
    for p, share in zip(directions, shares, strict=True):
        chances += share * rows.spread * (rows.vectors @ p < 0.0)
    at, n = rows.entry_rows, rows.n_criteria
    gain = rows.change * (standing.decisions - chances)[at]
    gains = rows.by_criterion(gain)
    influence = rows.by_unit(gain - rows.share * gains[rows.which])
    # slack_m = room_m'theta + p_m'gain
    slack = fan.rooms @ standing.theta + fan.directions @ gains
    rooms = turned(fan.rooms, fan.turns, standing.theta[:n] - gains)
    by_unit = standing.influence @ rooms.T + influence @ fan.directions.T
    covariance = by_unit.T @ by_unit
    error = np.sqrt(np.diag(covariance))
    criteria, rates = standing.theta[:n] - gains, rows.by_criterion(rows.share * chances[at])
    risk = criteria
    if by_group is not None:
        risk, rates = by_group(rows.by_person(chances))
    return JointWitness(
        directions=directions,
        shares=shares,
        risk=risk,
        criteria=criteria,
        selection_rate=rates,
        slack=slack,
        error=np.where(error > STILL * float(np.abs(standing.theta).max()), error, 0.0),
        widths=fan.width_of,
        draws=draw_largest(covariance, n_draws, seed),
    )


def _best_mixture(fan: Fan, theta: FloatArray, gains: FloatArray) -> FloatArray:
    """Shares (R,) of rules with predicted ``gains`` (R, J) whose smallest slack over all generators is largest.

    A little of the mean of all slacks decides between mixtures that are equal in that: where the range is 0, no slack
    of a pair can be positive without another being negative.
    """
    slack = (fan.rooms @ theta)[:, None] + fan.directions @ gains.T
    # maximise z + mean slack / 1000 subject to slack_m(shares) >= z for all m, shares >= 0 of sum one
    cost = np.append(-slack.mean(axis=0) / 1000.0, -1.0)
    rule = np.hstack([-slack, np.ones((len(slack), 1))])
    total = np.append(np.ones(len(gains)), 0.0)[None]
    bounds = [(0.0, None)] * len(gains) + [(None, None)]
    found = linprog(cost, rule, np.zeros(len(slack)), total, [1.0], bounds=bounds, method="highs")
    shares: FloatArray = np.maximum(found.x[:-1], 0.0)
    return shares
