"""The plane of two numbers of a rule, each linear in its criteria, such as overall loss and gap between groups.

With criteria c(a) of a rule a and a projection P (2, J), the plane holds z = P c(a). What rules attain there is convex
with h(q) = const + E[(q'P t(x))_+], and the best rule for q selects where q'P t(x) > 0: the angular sweep as for two
risks, with prefix sums of two columns to which every row may contribute.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..arrays import FloatArray
from . import sweep
from .criteria import CriteriaRows
from .support import Arcs

PROJECTION = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, -1.0]])
"""From overall risk and the measures of two groups to overall risk and the first measure less the second."""


@dataclass(frozen=True, slots=True)
class TradeOff:
    """What rules attain in the plane: ``estimate`` by the rows' outcomes, ``plug_in`` by the predictions alone.

    ``rows`` have the criteria; ``projection`` (2, J) turns them into the two numbers.
    """

    rows: CriteriaRows
    projection: FloatArray
    estimate: Arcs
    plug_in: Arcs

    def weights(self, q: FloatArray) -> FloatArray:
        """Weights (k, J) of the criteria, to be minimised, for directions ``q`` (k, 2), to be maximised."""
        found: FloatArray = -(q @ self.projection)
        return found


def make_trade_off(rows: CriteriaRows, projection: FloatArray) -> TradeOff:
    """Sort the rows once by the angle of their vectors in the plane, and take prefix sums."""
    at = rows.entry_rows
    along = projection[:, rows.which]
    n = len(rows.row)
    base = [np.bincount(at, x * (rows.base + rows.lower[at] * rows.change), minlength=n) for x in along]
    change = [np.bincount(at, x * rows.change * rows.spread[at], minlength=n) for x in along]
    t = rows.vectors @ projection.T * rows.spread[:, None]
    a, b, sign, order = sweep.fold_and_sort(np.ascontiguousarray(t))
    learned = [rows.mass * column for column in t.T]
    if len(a) == 0:  # no row is ever selected: one breakpoint that changes nothing
        a, b, sign = np.ones(1), np.zeros(1), np.ones(1, dtype=np.int8)
    found = []
    for payload in (change, learned):
        values, mirror = np.empty((len(a) + 1, 2)), np.empty(2)
        for k in range(2):
            column = np.zeros((len(a) + 1, 2))
            ones = np.ones(n)
            everybody = np.ones(n, dtype=bool)
            mirror[k] = sweep.group_sums(order, sign, ones, base[k], payload[k], everybody, 1.0, 1.0, column)[0]
            values[:, k] = column[:, 0]
        if len(order) == 0:
            values[1] = values[0]
        found.append(Arcs(a, b, sign, values, mirror, np.ones(2)))
    return TradeOff(rows, projection, found[0], found[1])
