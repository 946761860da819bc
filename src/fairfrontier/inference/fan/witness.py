"""A rule, or mixture, that improves on an algorithm for all groups: chosen by predictions, judged by outcomes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import linprog

from ...arrays import FloatArray
from ...frontier.criteria import STILL, CriteriaRows, Standing
from ...frontier.fan import Fan
from ..lda.witness import Alternative
from .cells import Cells
from .forms import draw_largest

MOST_RULES = 3_000
"""Rules at most among which the mixture is sought."""
SMALL_SHARE = 1e-6
"""Shares of a mixture below this are rounding of the linear programme."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class JointWitness(Alternative):
    """An alternative for several groups, with what the data say about it.

    ``directions`` (L, K) and ``shares`` (L,): the rules of the mixture, each best for these weights of the groups, and
    how often each is used. ``risk`` and ``selection_rate`` (K,) by group. ``slack`` (M,), ``error`` (M,) and their
    joint ``draws`` (B,), the largest error in standard errors: of the gain in each group's risk first, then of every
    difference that must not exceed a width. ``widths`` (M,) says which width each of them belongs to, -1 for a risk.
    """

    directions: FloatArray
    shares: FloatArray
    risk: FloatArray
    selection_rate: FloatArray
    slack: FloatArray
    error: FloatArray
    widths: FloatArray
    draws: FloatArray

    @property
    def gain(self) -> FloatArray:
        """Estimated gains (K + V,): in each group's risk, then in each width."""
        return self._smallest(self.slack)

    def lower_bounds(self, alpha: float) -> FloatArray:
        """Lower confidence bounds (K + V,) for all gains together, of level 1 - alpha.

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
    rows: CriteriaRows, standing: Standing, fan: Fan, cells: Cells, n_draws: int, seed: np.random.SeedSequence
) -> JointWitness:
    """Choose the mixture of the corners' own rules whose smallest predicted slack is largest, and judge it."""
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
    by_unit = standing.influence @ fan.rooms.T + influence @ fan.directions.T
    covariance = by_unit.T @ by_unit
    error = np.sqrt(np.diag(covariance))
    widths = np.where(fan.rooms[:, n:].any(axis=1), fan.rooms[:, n:].argmax(axis=1), -1)
    rates = rows.by_criterion(rows.share * chances[at])
    return JointWitness(
        directions=directions,
        shares=shares,
        risk=standing.theta[:n] - gains,
        selection_rate=rates,
        slack=slack,
        error=np.where(error > STILL * float(np.abs(standing.theta).max()), error, 0.0),
        widths=widths,
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
