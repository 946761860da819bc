"""Random weights of the draws: the Exp(1) number of row i in draw b depends on the seed, b and i alone.

A cell of k people gets the sum of their k numbers over k: a Gamma(k) number over k.

Rows are taken in blocks of `BLOCK` consecutive ones. Block k of draw b reads its own stretch of one PCG64 sequence,
b x `DRAW_STEP` + k x `BLOCK_STEP` steps (modulo 2^128) from where the seed begins. So draws depend neither on the order
in which anything is computed nor on what is drawn along, and a block can draw its weights without the others. With
clusters there is one number per cluster, and blocks are blocks of clusters.

The two steps are 2^128 / p and 2^128 / p^2, made odd, with p^3 = p + 1: for integers b, k and m, |b/p + k/p^2 - m| is
never below a constant over max(b, k)^2, so stretches do not overlap.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..arrays import FloatArray
from .kernels import draw_gamma

BLOCK = 65_536
"""Rows (or clusters) that share one stretch of random numbers in a draw."""
DRAW_STEP = 0xC13FA9A902A6328F434FF71B2D97724B
BLOCK_STEP = 0x91E10DA5C79E7B1CD438A0A8E6C9C0FD


@dataclass(frozen=True, slots=True)
class RandomWeights:
    """The random weights of all draws: ``n_units`` per draw, one per row or, with clusters, one per cluster.

    ``counts`` (n_units,), if given: how many people each of them stands for.
    """

    seed: np.random.SeedSequence
    n_units: int
    counts: FloatArray | None = None

    @property
    def n_blocks(self) -> int:
        """Number of blocks."""
        return -(-self.n_units // BLOCK)

    def stream(self) -> WeightStream:
        """Return a reader of the weights; every thread needs its own."""
        return WeightStream(self)


class WeightStream:
    """Reads random weights, whole draws or blocks of them, in any order."""

    def __init__(self, random: RandomWeights) -> None:
        self._n_units, self._counts = random.n_units, random.counts
        self._start = np.random.PCG64(random.seed).state
        self._bits = np.random.PCG64(0)
        self._generator = np.random.Generator(self._bits)
        self._buffer = np.empty(min(BLOCK, random.n_units))
        if self._counts is not None:
            self._shift = self._counts - 1.0 / 3.0
            self._slope = 1.0 / np.sqrt(9.0 * self._shift)

    def block(self, draw: int, block: int) -> FloatArray:
        """Weights of one block in one draw, valid until the next call."""
        out = self._buffer[: self._n_units - block * BLOCK]
        self._read(draw, block, out)
        return out

    def draw(self, draw: int) -> FloatArray:
        """All weights (n_units,) of one draw, in a new array if they are more than one block."""
        if self._n_units <= BLOCK:
            return self.block(draw, 0)
        out = np.empty(self._n_units)
        for block, start in enumerate(range(0, self._n_units, BLOCK)):
            self._read(draw, block, out[start : start + BLOCK])
        return out

    def _read(self, draw: int, block: int, out: FloatArray) -> None:
        self._bits.state = self._start
        self._bits.advance((draw * DRAW_STEP + block * BLOCK_STEP) % 2**128)
        if self._counts is None:
            self._generator.standard_exponential(out=out)
            return
        own = slice(block * BLOCK, block * BLOCK + len(out))
        draw_gamma(self._generator, self._counts[own], self._shift[own], self._slope[own], out)
