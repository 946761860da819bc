"""Many rows as few cells: people who are alike in everything that a question depends on, counted.

The angle of every predicted pair is rounded to one of `BINS` directions, which is just another learner: sets, tests and
their levels are those of the rounded predictions. Rows with the same direction, group, losses and weight are then
interchangeable. One row for all of them, with their count, gives the same estimates; its random weight in a draw is the
sum of theirs, a Gamma number, so draws have the same law at a cost that does not grow with the number of people.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..arrays import FloatArray, IntArray
from .support import Scores

BINS = 2**14
"""Directions to which predicted pairs are rounded; a multiple of 8, so that axes and diagonals are among them."""
COMPRESS_ABOVE = 1_000_000
"""Number of people above which rows are counted in cells unless something else is asked for."""
WORTH_IT = 0.9
"""Share of the rows up to which the cells may be; beyond it rows stay as they are."""

FINEST = 2.0**-30
"""Lengths of predicted pairs are summed as multiples of this share of the largest loss difference."""


def directions() -> FloatArray:
    """Unit vectors (BINS, 2) of all directions, exact on the axes and on the diagonals."""
    quarter, k = BINS // 4, np.arange(BINS)
    # only the first eighth is computed; the others are reflections of it
    turn, rest = k // quarter, k % quarter
    near = np.minimum(rest, quarter - rest)
    low, high = np.sin(2.0 * np.pi * near / BINS), np.cos(2.0 * np.pi * near / BINS)
    high = np.where(2 * near == quarter, low, high)
    along, across = np.where(rest == near, high, low), np.where(rest == near, low, high)
    x = np.choose(turn, [along, -across, -along, across])
    y = np.choose(turn, [across, along, -across, -along])
    return np.column_stack([x, y]) + 0.0


def bins_of(t: FloatArray) -> IntArray:
    """Number (n,) of the nearest direction of pairs (n, 2), -1 for pairs of zeros."""
    turns = np.arctan2(t[:, 1], t[:, 0]) / (2.0 * np.pi)
    found = np.rint(turns * BINS).astype(np.intp) % BINS
    found[(t[:, 0] == 0.0) & (t[:, 1] == 0.0)] = -1
    return found


def round_directions(t: FloatArray) -> FloatArray:
    """Turn pairs (n, 2) to the nearest of the directions; their lengths stay."""
    rounded: FloatArray = np.hypot(t[:, 0], t[:, 1])[:, None] * directions()[bins_of(t)]
    return rounded


def compress(scores: Scores, losses: FloatArray) -> tuple[Scores, FloatArray]:
    """Count rows whose directions are rounded, with the ``losses`` (J, n) of algorithms, in cells.

    Returns both unchanged where this is not possible (clusters or repetitions, whose rows are drawn together) or would
    leave nearly as many cells as rows.
    """
    s = scores
    if s.clusters is not None or s.n_rep > 1:
        return scores, losses
    columns = [s.group, s.l0, s.dl, s.weight, *losses]
    columns += [bound for bound in (s.lower, s.spread) if bound is not None]
    key = 1 + bins_of(s.t)
    for column in columns:
        codes, n_codes = codes_of(column)
        key = key * n_codes + codes
        if n_codes > 1:
            key = codes_of(key)[0]
    n_cells = int(key.max()) + 1
    if n_cells > WORTH_IT * s.n_rows:
        return scores, losses
    counts = np.bincount(key, minlength=n_cells).astype(float)
    first = np.empty(n_cells, dtype=np.intp)
    first[key[::-1]] = np.arange(s.n_rows)[::-1]
    length = np.bincount(key, np.hypot(s.t[:, 0], s.t[:, 1]), n_cells) / counts
    cells = replace(
        s,
        l0=s.l0[first],
        dl=s.dl[first],
        t=length[:, None] * directions()[bins_of(s.t[first])],
        group=s.group[first],
        weight=s.weight[first] * counts,
        lower=None if s.lower is None else s.lower[first],
        spread=None if s.spread is None else s.spread[first],
        counts=counts,
    )
    return cells, losses[:, first]


def codes_of(values: FloatArray | IntArray) -> tuple[IntArray, int]:
    """Number (n,) of each value among the sorted distinct ones, and how many these are."""
    if values.dtype.kind == "i" and int(values.min()) >= 0 and int(values.max()) < 64 * BINS:
        present = np.bincount(values) > 0
        return (np.cumsum(present) - 1)[values], int(present.sum())
    low, high = values.min(), values.max()
    if low == high:
        return np.zeros(len(values), dtype=np.intp), 1
    if bool(((values == low) | (values == high)).all()):
        return (values == high).astype(np.intp), 2
    distinct, codes = np.unique(values, return_inverse=True)
    return codes, len(distinct)


@dataclass(frozen=True, slots=True, eq=False)
class CellTable:
    """Counts of people by direction, group, outcome, weight and decisions; tables of different rows add up.

    All sums are of integers, so neither the order of rows nor how they are split into tables changes a bit.

    Attributes
    ----------
    keys : array (m, 4 + J)
        Number of the direction (-1 for pairs of zeros), code of the group, outcome, weight, decisions of J algorithms;
        in ascending order, none twice.
    counts : integer array (m,)
        People of each cell.
    lengths : integer array (m,)
        Sums of the lengths of their predicted pairs, in units of ``FINEST`` times a given length.
    """

    keys: FloatArray
    counts: IntArray
    lengths: IntArray

    def __len__(self) -> int:
        """Return the number of cells."""
        return len(self.counts)

    def mean_lengths(self) -> FloatArray:
        """Return the mean length (m,) of the pairs with a cell's direction, of all people who have it.

        Rules may depend on the direction but not on the outcome: so all cells of a direction share one length.
        """
        weight, code = self.keys[:, 3], 1 + self.keys[:, 0].astype(np.intp)
        people, total = (np.bincount(code, weight * sums)[code] for sums in (self.counts, self.lengths))
        mean: FloatArray = np.divide(total, people, out=np.ones(len(total)), where=people > 0.0)
        return mean


def count_cells(
    t: FloatArray, group: IntArray, y: FloatArray, weight: FloatArray, decisions: FloatArray, *, length: float
) -> CellTable:
    """Count rows with predicted pairs ``t`` (n, 2) and decisions (n, J) in cells.

    ``length``: the unit of the lengths, at least the largest loss difference; pairs more than twice as long, which no
    conditional mean is, count as twice as long.
    """
    bins = bins_of(t)
    units = np.rint(np.hypot(t[:, 0], t[:, 1]) / (FINEST * length))
    whole = np.where(bins < 0, 0.0, np.clip(units, 1.0, 2.0 / FINEST)).astype(np.int64)
    keys: FloatArray = np.column_stack([bins, group, y, weight, decisions]).astype(np.float64) + 0.0
    return _counted(keys, np.ones(len(t), dtype=np.int64), whole)


def add_cells(tables: Sequence[CellTable]) -> CellTable:
    """Add up tables of different rows."""
    if len(tables) == 1:
        return tables[0]
    return _counted(
        np.concatenate([table.keys for table in tables]),
        np.concatenate([table.counts for table in tables]),
        np.concatenate([table.lengths for table in tables]),
    )


def _counted(keys: FloatArray, counts: IntArray, lengths: IntArray) -> CellTable:
    order = np.lexsort(keys.T[::-1])
    keys = keys[order]
    first = np.flatnonzero(np.append(True, (keys[1:] != keys[:-1]).any(axis=1)))[: len(keys)]
    return CellTable(keys[first], np.add.reduceat(counts[order], first), np.add.reduceat(lengths[order], first))


def cell_scores(table: CellTable, l0: FloatArray, dl: FloatArray, *, length: float) -> Scores:
    """Return what the cells of a table contribute, with the losses (m,) of their outcomes."""
    bins = table.keys[:, 0].astype(np.intp)
    t = (FINEST * length * table.mean_lengths())[:, None] * directions()[bins]
    t[bins < 0] = 0.0
    counts = table.counts.astype(np.float64)
    return Scores(l0, dl, t, table.keys[:, 1].astype(np.intp), table.keys[:, 3] * counts, counts=counts)
