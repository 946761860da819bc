"""A menu of rules for several groups or criteria, with bounds of their gains that hold for all of them together.

With theta the risks and widths of an algorithm and g_r what rule r gains in the risks, every slack is a linear form
room'theta + p'g_r. One pass over the rows estimates the covariance of theta and of all g_r; draws of these give the
largest error, in standard errors, of all forms of all rules. Mixtures of rules have mixtures of their forms, so that
mixtures of the bounds bound them, whichever is chosen.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations_with_replacement, permutations

import numpy as np

from ...arrays import FloatArray, IntArray
from ...frontier.criteria import CriteriaRows
from ...frontier.fan import Aims, Fan
from ...frontier.rule_values import RuleValuer, ray_sizes, turned
from ...frontier.standing import Standing, rounding
from ..lda.witness import critical
from .forms import BLOCK, blocks_of, gains_of_rules, square_root

MOST_RULES = 120
"""Rules of a menu at most."""


@dataclass(frozen=True, slots=True)
class GroupMenu:
    """Rules beside an algorithm.

    ``directions`` (M, J): the weights for which each is best. ``risks``, ``errors_of_risks``, ``selection_rates``
    (M, J): the criteria and, of the people who count in each, the share selected; ``agreement`` (M,) with the
    algorithm. ``forms``, ``errors`` and ``predicted`` (M, F): the slacks, their standard errors, and by predicted
    gains; ``widths`` (F,): which width a slack belongs to, -1 for the gain in a risk; ``nets`` (F, J): the weights of
    the gains in a slack. ``largest`` and ``largest_absolute`` (B,): draws of the largest error of all forms, and of its
    absolute value, in standard errors.
    """

    directions: FloatArray
    risks: FloatArray
    errors_of_risks: FloatArray
    selection_rates: FloatArray
    agreement: FloatArray
    forms: FloatArray
    errors: FloatArray
    predicted: FloatArray
    widths: IntArray
    nets: FloatArray
    largest: FloatArray
    largest_absolute: FloatArray

    @property
    def gains(self) -> FloatArray:
        """Estimated gains (M, K + V): in each group's risk, then in each width."""
        return smallest_slacks(self.forms, self.widths)

    @property
    def gain_errors(self) -> FloatArray:
        """Standard errors (M, K + V) of the gains; of a width that of its smallest slack."""
        n_widths = int(self.widths.max()) + 1
        own, at = self.errors[:, self.widths < 0], np.arange(len(self.forms))
        of_widths = []
        for v in range(n_widths):
            part = np.flatnonzero(self.widths == v)
            of_widths.append(self.errors[at, part[self.forms[:, part].argmin(axis=1)]])
        return np.column_stack([own, *of_widths])

    def lower_bounds(self, alpha: float) -> FloatArray:
        """Lower confidence bounds (M, K + V) of the gains of all rules together, of level 1 - alpha."""
        return smallest_slacks(self.forms - critical(self.largest, alpha) * self.errors, self.widths)


def smallest_slacks(values: FloatArray, widths: IntArray) -> FloatArray:
    """Gains (..., K + V), or bounds of them, from those of the slacks (..., F): of a width the smallest of its own."""
    parts = [values[..., widths == v].min(axis=-1)[..., None] for v in range(int(widths.max()) + 1)]
    found: FloatArray = np.concatenate([values[..., widths < 0], *parts], axis=-1)
    return found


def menu_weights(n: int) -> FloatArray:
    """Weights (M, n) of a menu: a lattice of shares of the groups, and equal shares moved from a group to another."""
    parts = 1
    while _lattice_size(n, parts + 1) + 2 * n * (n - 1) <= MOST_RULES:
        parts += 1
    counts = [np.bincount(each, minlength=n) for each in combinations_with_replacement(range(n), parts)]
    moved = []
    for step in (0.5, 1.0):
        for g, h in permutations(range(n), 2):
            p = np.full(n, 1.0 / n)
            p[g], p[h] = p[g] + step, p[h] - step
            moved.append(p)
    return np.unique(np.vstack([np.array(counts) / parts, np.full((1, n), 1.0 / n), *[m[None] for m in moved]]), axis=0)


def _lattice_size(n: int, parts: int) -> int:
    size = 1
    for k in range(1, n):
        size = size * (parts + k) // k
    return size


def menu_of(aims: Aims, fan: Fan, rows: CriteriaRows) -> FloatArray:
    """Weights (M, J) of the menu from which an alternative is chosen.

    For the risks of groups those of `menu_weights`. For other criteria lattices of shares of the generators of every
    cone, as fine as there is room for; many cones have their generators and middles alone.
    """
    n, d = aims.n_criteria, fan.cones.shape[1]
    if aims.alike:
        return menu_weights(n)
    rays = fan.directions / ray_sizes(fan, rows)[:, None]
    largest = np.abs(rays).max(axis=0)
    digits = np.where(largest > 0.0, largest, 1.0)
    found, parts = np.vstack([rays, rays[fan.cones].mean(axis=1)])[:MOST_RULES], 1
    while True:
        parts += 1
        counts = np.array([np.bincount(c, minlength=d) for c in combinations_with_replacement(range(d), parts)])
        lattice = np.vstack([(counts / parts) @ rays[cone] for cone in fan.cones])
        lattice = np.unique((lattice[np.abs(lattice).max(axis=1) > 0.0] / digits).round(12), axis=0) * digits
        if len(lattice) > MOST_RULES:
            return found
        found = lattice


def group_menu(
    rows: CriteriaRows,
    fan: Fan,
    standing: Standing,
    directions: FloatArray,
    *,
    alone: bool = False,
    n_draws: int,
    seed: np.random.SeedSequence,
    n_jobs: int | None = None,
) -> GroupMenu:
    """Value the rules of ``directions`` (M, K) beside the algorithm that ``standing`` and ``fan`` belong to.

    ``alone``: rule r decides about group r only, and the algorithm about all others; rules beyond the number of groups
    are the algorithm itself.
    """
    menu = _Menu(rows, standing, directions, alone)
    n, m, wide = rows.n_criteria, len(directions), len(standing.theta)
    gains, rates, agreement = menu.sums()
    values, which = RuleValuer(rows, standing, n_jobs)(directions), np.arange(m)[:, None] == np.arange(n)
    predicted = np.where(which, values.predicted, 0.0) if alone else values.predicted
    added = values.added * which[:, :, None] * which[:, None, :] if alone else values.added
    covariance = menu.covariance(gains)
    # slack = room'theta + p'gain, for every rule and generator
    room = fan.rooms @ standing.theta
    by_rule = np.zeros((m, len(fan.rooms), wide + m * n))
    for r in range(m):
        by_rule[r, :, :wide] = turned(fan.rooms, fan.turns, standing.theta[:n] - gains[r])
        by_rule[r, :, wide + r * n : wide + (r + 1) * n] = fan.directions
    own = by_rule.reshape(-1, wide + m * n)
    errors = np.sqrt(np.maximum(np.einsum("fd,df->f", own, covariance @ own.T), 0.0))
    errors[errors <= np.tile(rounding(standing, fan.directions, fan.rooms), m)] = 0.0
    scale = np.ones(len(covariance)) if fan.alike else np.sqrt(np.maximum(covariance.diagonal(), 0.0))
    largest = _largest(own, covariance, errors, scale, n_draws=n_draws, seed=seed)
    # what dependent folds add makes the errors larger, and leaves the largest of them in standard errors as it is
    errors = errors.reshape(m, -1)
    in_forms = np.einsum("fj,mjk,fk->mf", fan.directions, added, fan.directions)
    variance = covariance.diagonal()
    of_gains = variance[wide:].reshape(m, n)
    with_theta = np.array([covariance[np.arange(n), wide + r * n + np.arange(n)] for r in range(m)])
    # risk = theta - gain
    of_risks = variance[:n] + of_gains - 2.0 * with_theta + np.diagonal(added, axis1=1, axis2=2)
    return GroupMenu(
        directions=directions,
        risks=standing.theta[:n] - gains,
        errors_of_risks=np.sqrt(np.maximum(of_risks, 0.0)),
        selection_rates=rates,
        agreement=agreement,
        forms=room + gains @ fan.directions.T,
        errors=np.sqrt(errors**2 + in_forms * (errors > 0.0)),
        predicted=room + predicted @ fan.directions.T,
        widths=fan.width_of,
        nets=fan.directions,
        largest=largest[:, 0],
        largest_absolute=np.abs(largest).max(axis=1),
    )


def _largest(
    own: FloatArray,
    covariance: FloatArray,
    errors: FloatArray,
    scale: FloatArray,
    *,
    n_draws: int,
    seed: np.random.SeedSequence,
) -> FloatArray:
    """Draws (B, 2) of the largest error of all forms that vary, and of the smallest, in standard errors.

    ``scale`` (D,): units in which the covariance is of one size, so that none of it is lost in rounding.
    """
    varies = errors > 0.0
    if not varies.any():
        return np.zeros((n_draws, 2))
    scale = np.where(scale > 0.0, scale, 1.0)
    scaled = (own[varies] * scale / errors[varies, None]) @ square_root(covariance / np.outer(scale, scale))
    normal = np.random.default_rng(seed).standard_normal((n_draws, len(covariance)))
    t = normal @ scaled.T
    return np.column_stack([t.max(axis=1), t.min(axis=1)])


@dataclass(frozen=True, slots=True)
class _Menu:
    """Rules of a menu, valued together."""

    rows: CriteriaRows
    standing: Standing
    directions: FloatArray
    alone: bool

    def sums(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Gains and selection rates (M, K) of the rules, and their agreement (M,) with the algorithm."""
        rows, a, at = self.rows, self.standing.decisions, self.rows.entry_rows
        n, m = rows.n_criteria, len(self.directions)
        gains, rates, agreement = np.zeros((m, n)), np.zeros((m, n)), np.zeros(m)
        for r, p in enumerate(self.directions):
            chances = rows.chances(p)
            if self.alone:
                changed = np.bincount(at, rows.which == r, len(a)) > 0.0
                chances = np.where(changed, chances, a)
            gains[r] = rows.by_criterion(rows.change * (a - chances)[at])
            rates[r] = rows.by_criterion(rows.share * chances[at])
            agreement[r] = float(rows.mass @ (chances * a + (1.0 - chances) * (1.0 - a)))
        return gains, rates, agreement

    def covariance(self, gains: FloatArray) -> FloatArray:
        """Covariance (D, D) of theta and of the gains of all rules, by criterion: D = K + V + M K."""
        rows, standing, (m, n) = self.rows, self.standing, self.directions.shape
        wide = standing.influence.shape[1]
        covariance, cutoffs = np.zeros((wide + m * n,) * 2), rows.cutoffs(self.directions)
        for start, stop in blocks_of(rows, max(1, BLOCK // (m * n))):
            x, share, which, units = gains_of_rules(rows, standing, self.directions, cutoffs, start=start, stop=stop)
            if self.alone:
                x = np.where(which[:, None] == np.arange(m), x, 0.0)
            centred = x - share[:, None] * gains.T[which]
            by_unit = np.zeros((stop - start, wide + m * n))
            by_unit[:, :wide] = standing.influence[start:stop]
            for j in range(n):
                own = np.add.reduceat(np.where((which == j)[:, None], centred, 0.0), units, axis=0)
                by_unit[:, wide + j :: n] = own
            covariance += by_unit.T @ by_unit
        return covariance
