"""Draws of rules within a capacity: each direction's rule and cut-off are held.

They enter through the dual score, loss of the rule - c (share selected - capacity), whose derivative in the cut-off c
is zero at the optimum.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numba import njit

from ..arrays import ArrayLike, FloatArray
from ..data.checks import check_directions, check_draws
from ..frontier.capacity import CappedFunction
from . import weights
from .arrangement import DrawReader, arrange_rows
from .draws import DrawingContext, Draws, RuleDraws, for_each_draw
from .kernels import read_block

BATCH = 16
"""Draws evaluated together."""


@dataclass(frozen=True, slots=True)
class CappedContext:
    """A capped support function together with how its draws are made."""

    function: CappedFunction
    n_boot: int
    seed: np.random.SeedSequence
    n_jobs: int | None = field(default=None, compare=False)

    def draw(
        self, directions: ArrayLike, losses: FloatArray, *, hold_rules: bool = True, along: ArrayLike | None = None
    ) -> Draws:
        """Draw the dual score at ``directions`` (K, 2), and the risks of algorithms with ``losses`` (J, n).

        Rules and cut-offs are always held; ``hold_rules=False`` is refused. With ``along`` (K, 2) the rules are valued
        in other directions, at the price of the capacity in those.
        """
        if not hold_rules:
            raise ValueError("capped rules are held while drawing")
        return self._draw(directions, losses, along, priced=True)

    def draw_rules(self, directions: FloatArray) -> RuleDraws:
        """Draw the risks of the rules of ``directions`` (K, 2); the capacity has no price here, as rules are held."""
        k = len(directions)
        nobody = np.empty((0, self.function.scores.n_rows))
        draws = self._draw(np.vstack([directions] * 2), nobody, np.repeat(np.eye(2), k, axis=0), priced=False)
        return RuleDraws(draws.h_hat.reshape(2, k).T, draws.h.reshape(-1, 2, k).transpose(0, 2, 1))

    def draw_with_rules(
        self, directions: FloatArray, losses: FloatArray, along: FloatArray, menu: FloatArray
    ) -> tuple[Draws, RuleDraws]:
        """Return `draw` of ``directions`` and `draw_rules` of ``menu``."""
        return self.draw(directions, losses, along=along), self.draw_rules(menu)

    def _draw(self, directions: ArrayLike, losses: FloatArray, along: ArrayLike | None, *, priced: bool) -> Draws:
        check_draws(self.n_boot)
        q, function = check_directions(directions), self.function
        s = function.scores
        rules = function.rules(q)
        cutoffs = np.array([[c.value, c.chance, c.slack] for c in rules.cutoffs])
        valued = q if along is None else check_directions(along)
        price = np.zeros(len(q))
        if priced:
            price = cutoffs[:, 0] if along is None else np.array([c.value for c in function.rules(valued).cutoffs])
        p = function.weights(q)
        payload = np.column_stack(
            [s.weight, s.weight * s.l0, s.weight * s.dl, s.weight * function.lower, s.weight * function.spread]
        )
        extra = np.ascontiguousarray((s.weight * losses).T)
        # the algorithms' losses are summed as without a capacity, to the bit
        arranged = arrange_rows(function.exact, losses, in_blocks=True)
        h, risks = np.empty((self.n_boot, len(q))), np.empty((self.n_boot, len(losses), 2))

        def worker() -> Callable[[int], None]:
            reader, drawn, w = DrawReader(arranged, self.seed), np.empty(arranged.n_units), np.empty(s.n_rows)
            matrix, levels = np.empty((s.n_rows, BATCH)), np.empty((2 + len(losses), 2))

            def batch(number: int) -> None:
                own = range(BATCH * number, min(BATCH * (number + 1), self.n_boot))
                for j, draw in enumerate(own):
                    for block, raw, units in reader.blocks(draw):
                        drawn[weights.BLOCK * block : weights.BLOCK * (block + 1)] = raw
                        read_block(block, raw, units, w, arranged.rows, levels)
                    matrix[:, j] = drawn if s.clusters is None else drawn[s.clusters]
                    risks[draw] = levels[2:] / levels[0]
                totals, selected = _sums(matrix[:, : len(own)], function.t, s.group, payload, extra[:, :0], p, cutoffs)
                h[own.start : own.stop] = _values(totals, selected, valued, price, function.capacity)[0]

            return batch

        for_each_draw(worker, n_boot=-(-self.n_boot // BATCH), n_jobs=self.n_jobs)
        totals, selected = _sums(np.ones((s.n_rows, 1)), function.t, s.group, payload, extra, p, cutoffs)
        h_hat, risks_hat = _values(totals, selected, valued, price, function.capacity)
        return Draws(valued, h_hat[0], h, risks_hat[0], risks, self.n_obs)

    def exact(self) -> DrawingContext:
        """Refuse: there is no exact sweep under a capacity."""
        raise TypeError("the published statistics are not defined under a capacity")

    @property
    def n_obs(self) -> int:
        """Number of rows of the sample."""
        return self.function.n_obs


def _values(
    totals: FloatArray, selected: FloatArray, q: FloatArray, cutoff: FloatArray, capacity: float
) -> tuple[FloatArray, FloatArray]:
    """Dual scores (m, K) and risks (m, J, 2) from the sums of m draws.

    ``totals`` (m, 2, 3 + J): by group weight, loss at the lower bounds, lower bounds, algorithms' losses; ``selected``
    (m, 2, K, 2): by group loss difference and share moved to the upper bounds.
    """
    mass = totals[:, :, 0]
    risk = (totals[:, :, 1, None] + selected[..., 0]) / mass[:, :, None]
    share = (totals[:, :, 2, None] + selected[..., 1]).sum(axis=1) / mass.sum(axis=1)[:, None]
    # h(q) = q'e(rule) - c (share selected - capacity)
    h = risk[:, 0] * q[:, 0] + risk[:, 1] * q[:, 1] - cutoff * (share - capacity)
    return h, (totals[:, :, 3:] / mass[:, :, None]).transpose(0, 2, 1)


@njit(cache=True, nogil=True)
def _sums(weights, t, group, payload, extra, p, cutoffs):  # type: ignore[no-untyped-def]
    """Weighted sums by draw and group, and by direction over the rows that its rule selects."""
    n, m = weights.shape
    k, j = len(p), extra.shape[1]
    totals, selected = np.zeros((m, 2, 3 + j)), np.zeros((2, k, 2, m))
    for i in range(n):
        g = group[i]
        for d in range(m):
            w = weights[i, d]
            totals[d, g, 0] += w * payload[i, 0]
            totals[d, g, 1] += w * payload[i, 1]
            totals[d, g, 2] += w * payload[i, 3]
            for a in range(j):
                totals[d, g, 3 + a] += w * extra[i, a]
        for direction in range(k):
            score = p[direction, 0] * t[i, 0] + p[direction, 1] * t[i, 1] - cutoffs[direction, 0]
            chance = 1.0
            if score <= cutoffs[direction, 2]:
                if score < -cutoffs[direction, 2]:
                    continue
                chance = cutoffs[direction, 1]
            change, mass = chance * payload[i, 2], chance * payload[i, 4]
            for d in range(m):
                selected[g, direction, 0, d] += weights[i, d] * change
                selected[g, direction, 1, d] += weights[i, d] * mass
    return totals, selected.transpose(3, 0, 1, 2)
