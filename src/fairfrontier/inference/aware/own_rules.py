"""The learned rules that are best for each group by itself, among rules that see the group."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...arrays import FloatArray, IntArray
from ...fit import Fit
from ...frontier.dependence import covariance_of_disagreement, disagreement_factor


@dataclass(frozen=True, slots=True)
class OwnRules:
    """The learned rules that are best for each group by itself.

    ``chances`` and ``losses`` (n,): how often the lottery between the repetitions' rules selects each row, and what
    that costs; ``added`` (G,): variance of sqrt(n) times its risk in each group that the draws do not show, because
    folds learn from each other.
    """

    chances: FloatArray
    losses: FloatArray
    added: FloatArray


def own_rules(fit: Fit, decisions: FloatArray | None = None) -> OwnRules:
    """Return the rules that select where E[dl | x, g] of a row's own group is negative, within the bounds.

    With ``decisions`` (n,) of an algorithm they select in no group more people than these do: those with the largest
    predicted reduction of the loss, ties at the cut-off equally often.
    """
    s, bounds, n = fit.sample, fit.bounds, fit.n_obs
    lower = np.zeros(n) if bounds.lower is None else bounds.lower
    spread = (np.ones(n) if bounds.upper is None else bounds.upper) - lower
    own = [t[np.arange(n), s.group] for t in fit.nuisance.predictions]
    moved = [(t < 0.0).astype(np.float64) for t in own]
    if decisions is not None:
        moved = [
            _within(t, a, s.weight * spread, s.weight * (decisions - lower), s.rows_by_group)
            for t, a in zip(own, moved, strict=True)
        ]
    each = [lower + spread * a for a in moved]
    losses = np.mean([fit.row_losses.of(a) for a in each], axis=0)
    added = np.zeros(len(s.groups))
    if len(each) > 1 and fit.nuisance.n_folds > 1:
        totals = np.array([s.weight[rows].sum() for rows in s.rows_by_group])
        scores = s.weight * spread * fit.row_losses.dl / totals[s.group]
        share = np.mean(moved, axis=0)
        found = covariance_of_disagreement(scores, share, len(each), s.group, len(s.groups), s.clusters)
        added = n * disagreement_factor(fit.nuisance.n_folds) * np.diag(found)
    return OwnRules(np.mean(each, axis=0), losses, added)


def _within(
    t: FloatArray, moved: FloatArray, mass: FloatArray, used: FloatArray, rows_by_group: Sequence[IntArray]
) -> FloatArray:
    """How far (n,) rows are moved to their upper bounds, smallest t first, within the sum of ``used`` by group."""
    found = moved.copy()
    for rows in rows_by_group:
        room = max(0.0, float(used[rows].sum()))
        wanted = mass[rows] * moved[rows]
        if wanted.sum() <= room:
            continue
        values, at = np.unique(t[rows], return_inverse=True)
        before = np.cumsum(np.bincount(at, wanted)) - np.bincount(at, wanted)
        size = np.bincount(at, wanted)
        share = np.clip(np.divide(room - before, size, out=np.zeros(len(values)), where=size > 0.0), 0.0, 1.0)
        found[rows] = moved[rows] * share[at]
    return found
