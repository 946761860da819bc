"""Rules within a capacity by plain loops over people, and capacities to try."""

import numpy as np
from hypothesis import strategies as st

from support import plain

shares = st.sampled_from([1e-4, 0.01, 0.03, 0.1, 0.33, 0.5, 0.9, 1.0])


def plain_treatment(k, weight, capacity, lower, spread):
    """Move people from their lower to their upper bounds, largest k first, until the room is used up or k <= 0.

    People with equal k move equally far. Returns how far each of them moves and the k at which the room ran out (or 0).
    """
    room = capacity * sum(weight) - sum(w * low for w, low in zip(weight, lower, strict=True))
    moved, waiting = np.zeros(len(k)), sorted((i for i in range(len(k)) if k[i] > 0), key=lambda i: -k[i])
    while waiting:
        top = k[waiting[0]]
        level = [i for i in waiting if k[i] >= top * (1 - 1e-11)]
        waiting = waiting[len(level) :]
        mass = sum(weight[i] * spread[i] for i in level)
        if mass <= room * (1 + 1e-12):
            moved[level] = 1.0
            room -= mass
        else:
            moved[level] = max(room, 0.0) / mass
            return moved, top
    return moved, 0.0


def bounds_of(scores):
    n = len(scores.l0)
    lower = np.zeros(n) if scores.lower is None else scores.lower
    return lower, np.ones(n) if scores.spread is None else scores.spread


def plain_rule(scores, capacity, q):
    """How far the rule of one direction moves each row, its cut-off, its risks by outcomes and by the plug-in."""
    lower, spread = bounds_of(scores)
    p, k = np.asarray(q) / plain.group_shares(scores), []
    for t, s in zip(scores.t, spread, strict=True):
        k.append((p[0] * t[0] + p[1] * t[1]) / s if s > 0 else 0.0)  # the scores of a row are those of its whole spread
    moved, cutoff = plain_treatment(k, scores.weight, capacity, lower, spread)
    loss, plug, mass = np.zeros(2), np.zeros(2), np.zeros(2)
    for i, (w, r) in enumerate(zip(scores.weight, scores.is_r, strict=True)):
        g = 0 if r else 1
        mass[g] += w
        loss[g] += w * (scores.l0[i] + moved[i] * scores.dl[i])
        plug[g] += w * scores.l0[i]
        plug += w * moved[i] * scores.t[i]  # t_g is an expectation over everybody with this x
    return moved, cutoff, loss / mass, plug / mass


def some_capacity(scores, share):
    """The share of the room that the lower bounds leave, plus these."""
    least = np.average(bounds_of(scores)[0], weights=scores.weight)
    return min(1.0, float(least + (1.0 - least) * share))
