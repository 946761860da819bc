"""Rows arranged for draws: block by block of the random weights, and within a block in the order of the sweep.

A block's random weights are read, put into the order of its rows and summed while they are at hand, so that no draw
reads rows all over memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ..arrays import FloatArray, IntArray
from ..frontier.support import SupportFunction
from . import weights
from .kernels import Rows, add_levels, place_rows
from .weights import RandomWeights


@dataclass(frozen=True, slots=True)
class Arrangement:
    """Arranged rows: ``units`` (n,) says which of the ``n_units`` random weights each of them gets.

    ``units`` count from the beginning of the row's own block of random weights if the rows lie ``in_blocks``.
    ``counts`` (n_units,), if given: how many people each of them stands for.
    """

    rows: Rows
    units: IntArray
    n_units: int
    in_blocks: bool
    counts: FloatArray | None = None

    @property
    def n_algorithms(self) -> int:
        """Number of algorithms J whose losses are drawn along."""
        return len(self.rows.extra)


def arrange_rows(function: SupportFunction, losses: FloatArray, *, in_blocks: bool) -> Arrangement:
    """Arrange the rows of a support function together with the ``losses`` (J, n) of algorithms.

    ``in_blocks``: rows whose random weights belong to one block lie together; else one sweep runs over all rows.
    """
    s, arcs, order = function.scores, function.estimate, function.order
    n = s.n_rows
    unit = np.arange(n) if s.clusters is None else s.clusters
    n_units = int(unit.max()) + 1
    size = weights.BLOCK if in_blocks else n_units
    moves = np.zeros(n, dtype=bool)
    moves[order] = True
    # by block, then group, then moving before still
    kind = 2 * s.group + ~moves if n_units <= size else 4 * (unit // size) + 2 * s.group + ~moves
    counts = np.bincount(kind, minlength=4 * -(-n_units // size))
    ends = np.cumsum(counts)
    rows, swept = place_rows(order, moves, kind.astype(np.uint16 if len(ends) <= 2**16 else np.intp), ends - counts)
    begins = (ends - counts).reshape(-1, 2, 2)[:, :, :1]
    stops = np.concatenate([begins, ends.reshape(-1, 2, 2)], axis=2)
    moving, weight = moves[rows], s.weight[rows]
    a, b = (np.where(moving, values[swept], 0.0) for values in (arcs.a, arcs.b))
    sign = np.where(moving, arcs.sign[swept], np.int8(1))
    change = weight * s.dl[rows] * moving
    base = weight * s.l0[rows] + change * (sign < 0)
    extra = np.take(losses, rows, axis=1)  # in rows, as the draws read it
    extra *= weight
    local = unit[rows] if n_units <= size else unit[rows] % size
    units = local.astype(np.uint16 if size <= 2**16 else np.intp)
    return Arrangement(Rows(stops, a, b, sign, weight, base, sign * change, extra), units, n_units, in_blocks, s.counts)


class DrawReader:
    """Reads the random weights of arranged rows; every thread needs its own."""

    def __init__(self, arranged: Arrangement, seed: np.random.SeedSequence) -> None:
        stream = RandomWeights(seed, arranged.n_units, arranged.counts).stream()
        self._units = [arranged.units[own[0, 0] : own[1, 2]] for own in arranged.rows.stops]
        self._read = stream.block if arranged.in_blocks else lambda draw, _: stream.draw(draw)

    def blocks(self, number: int) -> Iterator[tuple[int, FloatArray, IntArray]]:
        """Yield each block with the random weights of a draw and which of them its rows get.

        The weights are valid until the next block.
        """
        for k, units in enumerate(self._units):
            yield k, self._read(number, k), units


def sum_levels(w: FloatArray, rows: Rows) -> FloatArray:
    """Sums (2 + J, 2) by group under random weights: of weights, of base losses, of the J algorithms' losses."""
    levels = np.zeros((2 + len(rows.extra), 2))
    for block in range(len(rows.stops)):
        add_levels(block, w, rows, levels)
    return levels
