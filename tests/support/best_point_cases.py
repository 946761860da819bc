"""The test of best points by plain loops over directions, rows and draws."""

from dataclasses import replace
from functools import lru_cache

import numpy as np

from support import plain
from support.lda_cases import rule_values

U = np.array([[-1.0, 0.0], [0.0, -1.0]])


def window(u, k, reach=np.pi / 4):
    """k directions of the arc that reaches so far to either side of u (here a quarter circle), and u."""
    angle = np.arctan2(u[1], u[0]) + np.linspace(-reach, reach, k)
    return np.vstack([np.column_stack([np.cos(angle), np.sin(angle)]), u])


def circle(u, k):
    """k directions all round, and u."""
    angle = 2 * np.pi * np.arange(k) / k
    return np.vstack([np.column_stack([np.cos(angle), np.sin(angle)]), u])


def drawn_values(scores, multipliers, q, held):
    """h~ at directions (K, 2) under random multipliers (n,); the rules are those of the sample itself if held."""
    drawn = replace(scores, weight=scores.weight * multipliers)
    if not held:
        return rule_values(drawn, q)
    treated = scores.t @ (q / plain.group_shares(scores)).T > 0
    loss = scores.l0[:, None] + scores.dl[:, None] * treated
    means = [np.average(loss[own], axis=0, weights=drawn.weight[own]) for own in (scores.is_r, ~scores.is_r)]
    return q[:, 0] * means[0] + q[:, 1] * means[1]


def plain_part(e, u, q, h, z, n, step, published=True):
    """T and its draws for one point: directions (K, 2), h (K,) and z (B, K), of which the last belong to u itself.

    Unless as published, as in our own procedures, the change of the maximum counts where it is positive.
    """
    excess, z = [float(x @ e - h[k]) for k, x in enumerate(q)], np.asarray(z).tolist()
    statistic = np.sqrt(n) * (max(max(excess), 0.0) + max(h[-1] - u @ e, 0.0))
    draws = []
    for z_b in z:
        moved = max(excess[k] - step * z_b[k] for k in range(len(q)))
        change = max(moved, 0.0) - max(max(excess), 0.0) if published else max(moved - max(excess), 0.0)
        draws.append(change / step + max(z_b[-1], 0.0))
    return statistic, np.array(draws)


def plain_point(context, e, u, q, step, held=False, published=None):
    """T and draws for one point that u is to support, from the rows and the random multipliers.

    Draws are the published ones unless rules are held.
    """
    h, z = drawn_at(Once(context, q, held))
    return plain_part(e, u, q, h, z, context.function.n_obs, step, not held if published is None else published)


class Once:
    """What is drawn for a context at directions ``q`` (K, 2), with rules held or not; two such are equal if all is."""

    def __init__(self, context, q, held):
        self.context, self.q, self.held = context, q, held
        self.key = id(context), q.tobytes(), held  # the context is kept, so no other has its id

    def __hash__(self):
        return hash(self.key)

    def __eq__(self, other):
        return self.key == other.key


@lru_cache(maxsize=8)
def drawn_at(asked):
    """h^ (K,) and sqrt(n)(h~ - h^) (B, K), from the rows and the random multipliers."""
    context, q = asked.context, asked.q
    scores, n = context.function.scores, context.function.n_obs
    multipliers = plain.weights_of_draws(context.function, context.n_boot, context.seed)
    h = rule_values(scores, q)
    return h, np.array([np.sqrt(n) * (drawn_values(scores, m, q, asked.held) - h) for m in multipliers])


def plain_test(context, R, B_, grids, step, held=False, published=None):
    """T(R, B) and draws for one pair: the sums of its two parts."""
    parts = [plain_point(context, e, u, q, step, held, published) for e, u, q in zip((R, B_), U, grids, strict=True)]
    return sum(t for t, _ in parts), sum(d for _, d in parts)


def on_side(points, above):
    difference = points[:, 1] - points[:, 0]
    return np.full(len(points), True) if above is None else difference >= 0 if above else difference <= 0
