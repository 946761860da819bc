"""Random numbers of rows, functions of seed and row number alone: folds, and the rows that are learned from."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from ...arrays import IntArray

HashArray = NDArray[np.uint64]
MOST_PIECES = 256
"""Pieces of parts that are kept apart at most: a piece of a few rows takes much more memory than they do."""


def row_hash(seed: np.random.SeedSequence, row: IntArray) -> HashArray:
    """Return 64 random bits (n,) for every row number: different for different rows, the same however rows are split.

    h(i) = m(m(i g + a) xor b), with the finaliser m of splitmix64, g = 2^64 / golden ratio and a, b from the seed.
    """
    a, b = seed.generate_state(2, np.uint64)
    with np.errstate(over="ignore"):
        return _mix(_mix(row.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15) + a) ^ b)


def _mix(bits: HashArray) -> HashArray:
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed: HashArray = bits ^ (bits >> np.uint64(31))
    return mixed


def folds_of_rows(seed: np.random.SeedSequence, row: IntArray, n_folds: int) -> IntArray:
    """Return the folds (n,) of rows, numbered from 1: each is drawn by itself, with equal chances."""
    high = row_hash(seed, row) >> np.uint64(32)
    return 1 + ((high * np.uint64(n_folds)) >> np.uint64(32)).astype(np.intp)


class Rows(Protocol):
    """Rows with their numbers, of which some can be taken."""

    @property
    def row(self) -> IntArray:
        """Numbers (n,) of the rows."""
        ...

    def take(self, rows: IntArray) -> Self:
        """Return some of the rows, by position."""
        ...


R = TypeVar("R", bound=Rows)


class RowSample(Generic[R]):
    """Keeps the ``size`` rows with the smallest hashes of those that go by: a simple random sample, in any order.

    Rows in memory: at most twice the size, and a part. If the number of all rows is known, those with so large a hash
    that they are not in the sample (but for one case in 10^22) are not kept at all.
    """

    def __init__(
        self, size: int, seed: np.random.SeedSequence, join: Callable[[list[R]], R], n_rows: int | None = None
    ) -> None:
        self.size, self.seed, self.join = size, seed, join
        self._kept: list[R] = []
        self._new: list[R] = []
        self._n, self._bound = 0, np.uint64(2**64 - 1)
        # ten standard deviations more than the size
        share = 1.0 if not n_rows else (size + 10.0 * np.sqrt(size)) / n_rows
        if share < 1.0:
            self._bound = np.uint64(int(share * 2.0**64))

    def add(self, rows: R) -> None:
        """Let rows go by."""
        own = np.flatnonzero(row_hash(self.seed, rows.row) <= self._bound)
        if len(own):
            self._new.append(rows.take(own))
            self._n += len(own)
        if len(self._new) >= MOST_PIECES:
            self._kept, self._new = [*self._kept, self.join(self._new)], []
        if self._n > 2 * self.size:
            self._kept, self._new = [self._smallest()], []
            self._n = len(self._kept[0].row)
            self._bound = row_hash(self.seed, self._kept[0].row).max()

    def drawn(self) -> R | None:
        """Return the sample, in the order of the row numbers; None if there are no rows."""
        if not self._kept and not self._new:
            return None
        found = self._smallest()
        return found.take(np.argsort(found.row))

    def _smallest(self) -> R:
        every = self.join([*self._kept, *self._new])
        return every.take(np.argsort(row_hash(self.seed, every.row))[: self.size])
