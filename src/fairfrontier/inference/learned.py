"""Draws that allow for learned rules: for questions of feasibility, and the variance of dependent folds for others.

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

from collections.abc import Sequence
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
    people = None if losses is None else losses[:, : context.function.scores.n_obs]
    found = [own.draw(directions, people, hold_rules=hold_rules, along=along) for own in repetitions(context)]
    h_hat = np.mean([draws.h_hat for draws in found], axis=0)
    noise = fold_noise([draws.h for draws in found], [draws.h_hat for draws in found], context.n_folds)
    h: FloatArray = np.mean([draws.h for draws in found], axis=0) + noise
    return replace(found[0], h_hat=h_hat, h=h)


def repetitions(context: DrawingContext) -> list[DrawingContext]:
    """Return one context for each repetition of the cross-fitting; they draw with the same random weights."""
    scores = context.function.scores
    if scores.n_rep == 1:
        return [context]
    each = (build_support_function(scores.repetition(number)) for number in range(scores.n_rep))
    return [replace(context, function=function) for function in each]


def fold_noise(draws: Sequence[FloatArray], estimates: Sequence[FloatArray], n_folds: int) -> FloatArray:
    """Deviations (B, ...) with the variance that the dependence between folds adds.

    ``draws`` (B, ...) of the same random weights and ``estimates`` (...), of one repetition after the other, with its
    rules held. Nothing with one repetition.
    """
    noise = np.zeros_like(draws[0])
    pairs = list(combinations(range(len(draws)), 2))
    following = np.roll(np.arange(len(noise)), -1)
    for number, (r, s) in enumerate(pairs):
        at = slice(number, None, len(pairs))
        drawn = draws[r][following[at]] - draws[s][following[at]]
        noise[at] = np.sqrt(disagreement_factor(n_folds)) * (drawn - (estimates[r] - estimates[s]))
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
