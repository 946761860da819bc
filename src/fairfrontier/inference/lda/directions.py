"""Which directions the robust LDA test looks at, how many, and where they lie in one set of draws."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from ...arrays import FloatArray, IntArray
from ...frontier.plane import U1, U2, unit_circle
from ..p_values import ROUNDING

CLOSE = 1e-9
"""Directions that differ by less than this angle count as one."""


@dataclass(frozen=True, slots=True)
class DirectionBlocks:
    """Directions in named blocks, one below the other, so that one set of draws serves all of them.

    ``rules`` (K, 2): the directions whose rules are drawn; ``along`` (K, 2): those in which the risks of these rules
    are valued, the same ones unless a block says otherwise. ``slices`` say where each block lies.
    """

    rules: FloatArray
    along: FloatArray
    slices: Mapping[str, slice]

    @classmethod
    def stack(cls, blocks: Mapping[str, FloatArray], along: Mapping[str, FloatArray]) -> DirectionBlocks:
        """Put blocks (k, 2) one below the other; ``along`` for blocks whose rules are valued in other directions."""
        ends = np.cumsum([0, *[len(block) for block in blocks.values()]]).tolist()
        slices = {name: slice(*pair) for name, pair in zip(blocks, pairwise(ends), strict=True)}
        valued = [along.get(name, block) for name, block in blocks.items()]
        return cls(np.vstack(list(blocks.values())), np.vstack(valued), slices)

    def positions(self, *names: str) -> IntArray:
        """Positions (k,) of all directions of some blocks."""
        return np.concatenate([np.arange(self.slices[name].start, self.slices[name].stop) for name in names])

    def position(self, name: str, j: int) -> IntArray:
        """Position (1,) of entry ``j`` of a block."""
        return self.positions(name)[[j]]


def robust_grid(n: int) -> FloatArray:
    """Directions of the half circle q1 + q2 <= 0, in order, whose rules the robust test uses: 4 n^(1/3), u1 and u2."""
    spaced = unit_circle(max(8, int(np.ceil(4.0 * n ** (1.0 / 3.0)))), 0.75 * np.pi, 1.75 * np.pi, endpoint=True)
    grid = np.vstack([spaced, U1, U2])
    return grid[np.argsort(np.arctan2(grid[:, 1], grid[:, 0]) % (2.0 * np.pi), kind="stable")]


def between(grid: FloatArray, points: FloatArray) -> tuple[IntArray, FloatArray]:
    """Where the rules of neighbouring directions do equally well: their positions (m,), and the directions (m, 2).

    Let v and w be the risks of the rules of neighbours q and p (rows of ``grid``, with risks ``points``). If D(q0) <= 0
    for a direction q0 between them, no rule does better than h_C there, so v and w do not. The value of a rule is
    linear between q and p (h_C changes slope at u1 or u2 only, which are in the grid). So D <= 0 holds for v at q, or
    for v or w at the direction x with x'v = x'w, or for w at p: testing these tests every direction between, however
    long an edge the feasible set has there. If no such x lies between them, testing v at q and w at p suffices.
    """
    edge = np.diff(points, axis=0)
    x = np.column_stack([edge[:, 1], -edge[:, 0]])
    size = np.hypot(x[:, 0], x[:, 1])
    differ = size > ROUNDING * float(np.abs(points).max())
    x = x / np.where(differ, size, 1.0)[:, None]
    q, p = grid[:-1], grid[1:]
    x = np.where((np.einsum("kj,kj->k", x, q + p) < 0.0)[:, None], -x, x)
    inside = (_turn(q, x) > CLOSE) & (_turn(x, p) > CLOSE) & differ
    left = np.flatnonzero(inside)
    return np.concatenate([left, left + 1]), np.vstack([x[left], x[left]])


def _turn(q: FloatArray, p: FloatArray) -> FloatArray:
    """Sine of the angle from q to p, anticlockwise."""
    sine: FloatArray = q[:, 0] * p[:, 1] - q[:, 1] * p[:, 0]
    return sine
