"""Draws that allow for learned rules, for questions of feasibility.

Draws hold the predictions, so two things do not show in them. The learned rules fall short of the best ones, by their
regret, and true points of the frontier look out of reach. And the folds depend on each other, which adds to the
variance (`frontier.dependence`). Both are read off the repetitions of the cross-fitting: the regret by
`regret_of_repetitions`, unless refits estimate it, and the missing variance by

    sqrt(rho_K) [(h~_r(q) - h~_s(q)) - (h^_r(q) - h^_s(q))]

for the rules of two repetitions r and s, whose variance is rho_K times the sum of the squared scores of the rows about
which they disagree. One pair of repetitions after the other is used, each time with the random weights of the next
draw, which are independent of those of the draw that it is added to.

With one repetition, repetitions that are all alike, or predictions from outside there is nothing to read this off, and
nothing is added.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np

from ..arrays import FloatArray
from ..bootstrap.draws import DrawingContext, Draws
from ..frontier.dependence import disagreement_factor
from ..frontier.regret import regret_of_repetitions
from ..frontier.support import build_support_function


def allows_for_learning(context: DrawingContext) -> bool:
    """Whether the repetitions of the cross-fitting, or refits, tell how far the learned rules may be off."""
    return context.regret is not None or _repeated(context)


def draw_learned(
    context: DrawingContext,
    directions: FloatArray,
    losses: FloatArray | None = None,
    *,
    hold_rules: bool = False,
    along: FloatArray | None = None,
) -> Draws:
    """Draw as `DrawingContext.draw` does, with the variance that the dependence between folds adds."""
    if not _repeated(context):
        return context.draw(directions, losses, hold_rules=hold_rules, along=along)
    scores = context.function.scores
    found = []
    for number in range(scores.n_rep):
        own = replace(context, function=build_support_function(scores.repetition(number)))
        people = None if losses is None else losses[:, : scores.n_obs]
        found.append(own.draw(directions, people, hold_rules=hold_rules, along=along))
    h_hat = np.mean([draws.h_hat for draws in found], axis=0)
    h: FloatArray = np.mean([draws.h for draws in found], axis=0) + fold_noise(found, context.n_folds)
    return replace(found[0], h_hat=h_hat, h=h)


def fold_noise(found: list[Draws], n_folds: int) -> FloatArray:
    """Deviations (B, K) with the variance that the dependence between folds adds; one `Draws` per repetition."""
    n_boot, size = found[0].n_boot, float(np.sqrt(disagreement_factor(n_folds)))
    following = np.roll(np.arange(n_boot), -1)
    noise = np.empty_like(found[0].h)
    pairs = list(combinations(found, 2))
    for number, (one, other) in enumerate(pairs):
        at = slice(number, None, len(pairs))
        drawn = one.h[following[at]] - other.h[following[at]]
        noise[at] = size * (drawn - (one.h_hat - other.h_hat))
    return noise


def correct(context: DrawingContext, draws: Draws) -> Draws:
    """Add the regret to h: its mean to the estimate, that of one refit after the other to the draws.

    The regret of the rules at hand is not known but has a distribution, that of the refits; so it varies over the
    draws. Where it is not known nothing changes.
    """
    regret = context.regret
    if regret is None:
        regret = regret_of_repetitions(context.function, context.n_folds)
    if regret is None:
        return draws
    values = regret.values(draws.directions)
    cycled = values[np.arange(draws.n_boot) % len(values)]
    return replace(draws, h_hat=draws.h_hat + values.mean(axis=0), h=draws.h + cycled)


def _repeated(context: DrawingContext) -> bool:
    """Whether there are repetitions that differ: those with the same folds tell nothing."""
    scores = context.function.scores
    if scores.n_rep == 1 or context.n_folds == 0:
        return False
    t = scores.t.reshape(scores.n_rep, -1, 2)
    return bool((t[1:] != t[0]).any())
