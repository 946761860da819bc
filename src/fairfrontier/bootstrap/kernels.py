"""Compiled sums of a draw: over the rows that each direction's rule selects, and over all rows.

They lie in one module because numba compiles a function again only when its own module changes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from ..arrays import BoolArray, FloatArray, IntArray, SignArray


class Rows(NamedTuple):
    """Rows as the compiled sums read them: block by block, in a block group by group.

    Within a group the rows that some direction selects come first, in the sweep's order of angle: the moving rows.
    ``stops`` (n_blocks, 2, 3) holds, for each block and group, where its rows begin, where its moving rows end and
    where all of them end. ``a``, ``b``, ``sign`` (n,) are those of the sweep; ``weight``, ``base`` and ``change`` (n,)
    and ``extra`` (J, n), the losses of J algorithms, carry the row's own weight.
    """

    stops: IntArray
    a: FloatArray
    b: FloatArray
    sign: SignArray
    weight: FloatArray
    base: FloatArray
    change: FloatArray
    extra: FloatArray


class Turns(NamedTuple):
    """Directions ``q`` (K, 2) whose rules are valued ``along`` (K, 2) others, as the compiled sums read them.

    ``fold`` (K,): the order in which the sweep meets them; ``right`` (K,): which of them lie on its half circle;
    ``held`` (2,): group shares of the rules, (0, 0) if these follow the drawn ones.
    """

    q: FloatArray
    along: FloatArray
    fold: IntArray
    right: BoolArray
    held: FloatArray


@njit(cache=True, nogil=True)
def place_rows(order, moves, kind, cursor):  # type: ignore[no-untyped-def]
    """Sort rows by their kind, the moving ones in the order of the sweep: the rows, and their positions in the sweep.

    ``cursor`` holds where each kind begins; rows that do not move have position 0.
    """
    n = moves.shape[0]
    rows, swept = np.empty(n, dtype=np.intp), np.zeros(n, dtype=np.intp)
    for j in range(order.shape[0]):
        i = order[j]
        at = cursor[kind[i]]
        cursor[kind[i]] += 1
        rows[at], swept[at] = i, j
    for i in range(n):
        if not moves[i]:
            rows[cursor[kind[i]]] = i
            cursor[kind[i]] += 1
    return rows, swept


@njit(cache=True, nogil=True, fastmath={"reassoc", "nsz", "contract"})
def _dot(w, x, start, stop):  # type: ignore[no-untyped-def]
    """Product of parts of two vectors."""
    total = 0.0
    for i in range(start, stop):
        total += w[i] * x[i]
    return total


@njit(cache=True, nogil=True, fastmath={"reassoc", "nsz", "contract"})
def _two_dots(w, x, y, start, stop):  # type: ignore[no-untyped-def]
    first, second = 0.0, 0.0
    for i in range(start, stop):
        first += w[i] * x[i]
        second += w[i] * y[i]
    return first, second


@njit(cache=True, nogil=True)
def add_levels(block, w, rows, levels):  # type: ignore[no-untyped-def]
    """Add the sums over one block to ``levels`` (2 + J, 2)."""
    for g in range(2):
        begin, stop = rows.stops[block, g, 0], rows.stops[block, g, 2]
        mass, level = _two_dots(w, rows.weight, rows.base, begin, stop)
        levels[0, g] += mass
        levels[1, g] += level
        for j in range(rows.extra.shape[0]):
            levels[2 + j, g] += _dot(w, rows.extra[j], begin, stop)


@njit(cache=True, nogil=True, fastmath={"reassoc", "nsz", "contract"})
def _product(x, y):  # type: ignore[no-untyped-def]
    """Product of two vectors, several times faster than `_dot` where they are long."""
    total = 0.0
    for i in range(x.shape[0]):
        total += x[i] * y[i]
    return total


@njit(cache=True, nogil=True)
def read_block(block, raw, units, w, rows, levels):  # type: ignore[no-untyped-def]
    """Put the random weights ``raw`` of one block into the order of its rows, and add their sums to ``levels``."""
    if block == 0:
        levels[:] = 0.0
    own = w[rows.stops[block, 0, 0] : rows.stops[block, 1, 2]]
    for i in range(own.shape[0]):
        own[i] = raw[units[i]]
    for g in range(2):
        part = slice(rows.stops[block, g, 0], rows.stops[block, g, 2])
        levels[0, g] += _product(w[part], rows.weight[part])
        levels[1, g] += _product(w[part], rows.base[part])
        for j in range(rows.extra.shape[0]):
            levels[2 + j, g] += _product(w[part], rows.extra[j, part])


@njit(cache=True, nogil=True, error_model="numpy")
def draw_gamma(generator, counts, shift, slope, out):  # type: ignore[no-untyped-def]
    """Draw Gamma(k) / k numbers for counts k, by the method of Marsaglia and Tsang (2000).

    ``shift`` = k - 1/3 and ``slope`` = (9 shift)^(-1/2) are known beforehand. The bits are those of
    `numpy.random.Generator.standard_gamma`, which computes them for every number anew.
    """
    for i in range(out.shape[0]):
        if counts[i] == 1.0:
            out[i] = generator.standard_exponential()
            continue
        while True:
            x = generator.standard_normal()
            v = 1.0 + slope[i] * x
            if v <= 0.0:
                continue
            v = v * v * v
            u = generator.random()
            if u < 1.0 - 0.0331 * (x * x) * (x * x):
                break
            if np.log(u) < 0.5 * x * x + shift[i] * (1.0 - v + np.log(v)):
                break
        out[i] = shift[i] * v / counts[i]


@njit(cache=True, nogil=True)
def _passed(a, b, start, stop, p1, p2):  # type: ignore[no-untyped-def]
    """Index of the first sorted row in [start, stop) with p'(a, b) <= 0."""
    low, high = start, stop
    while low < high:
        middle = (low + high) // 2
        if p1 * a[middle] + p2 * b[middle] > 0.0:
            low = middle + 1
        else:
            high = middle
    return low


@njit(cache=True, nogil=True)
def passed_rows(a, b, p, passed, tied):  # type: ignore[no-untyped-def]
    """Write how many sorted rows are passed at each direction p (K, 2) of the right half circle.

    Rows [passed, tied) are exactly perpendicular to it.
    """
    m = a.shape[0]
    for k in range(p.shape[0]):
        position = _passed(a, b, 0, m, p[k, 0], p[k, 1])
        end = position
        while end < m and p[k, 0] * a[end] + p[k, 1] * b[end] == 0.0:
            end += 1
        passed[k], tied[k] = position, end


@njit(cache=True, nogil=True)
def find_places(rows, turns, mu_r, mu_b, places):  # type: ignore[no-untyped-def]
    """Write the first row past each direction, in the order of the sweep, and the first one not perpendicular to it."""
    for block in range(rows.stops.shape[0]):
        for g in range(2):
            position, stop = rows.stops[block, g, 0], rows.stops[block, g, 1]
            for j in range(turns.fold.shape[0]):
                k = turns.fold[j]
                p1, p2 = turns.q[k, 0] / mu_r, turns.q[k, 1] / mu_b
                if not turns.right[k]:
                    p1, p2 = -p1, -p2
                position = _passed(rows.a, rows.b, position, stop, p1, p2)
                tied = position
                while tied < stop and p1 * rows.a[tied] + p2 * rows.b[tied] == 0.0:
                    tied += 1
                places[block, g, j, 0], places[block, g, j, 1] = position, tied


@njit(cache=True, nogil=True, fastmath={"reassoc", "nsz", "contract"})
def _quick_dot(w, x, start, stop):  # type: ignore[no-untyped-def]
    """As `_dot` up to rounding, and faster: unsigned positions are not checked for counting from the end."""
    total = 0.0
    for i in range(np.uint64(start), np.uint64(stop)):
        total += w[i] * x[i]
    return total


@njit(cache=True, nogil=True)
def add_changes(block, w, rows, turns, places, sums, quick):  # type: ignore[no-untyped-def]
    """Add to ``sums`` (K + 1, 2) what the rules change in one block, in the order of the sweep, and all changes."""
    last = sums.shape[0] - 1
    for g in range(2):
        cursor, prefix = rows.stops[block, g, 0], 0.0
        for j in range(last):
            position = places[block, g, j, 0]
            prefix += _quick_dot(w, rows.change, cursor, position) if quick else _dot(w, rows.change, cursor, position)
            cursor = position
            value = prefix
            # rows exactly perpendicular are not selected: see values_at of the sweep
            for i in range(position, places[block, g, j, 1]):
                if (rows.sign[i] < 0) == turns.right[turns.fold[j]]:
                    value += w[i] * rows.change[i]
            sums[j, g] += value
        sums[last, g] += prefix + _dot(w, rows.change, cursor, rows.stops[block, g, 1])


@njit(cache=True, nogil=True)
def value_rules(turns, levels, sums, h, risks):  # type: ignore[no-untyped-def]
    """Write h (K,) and risks (J, 2) from the sums of a draw."""
    last = sums.shape[0] - 1
    h[:] = 0.0
    for g in range(2):
        mass, level = levels[0, g], levels[1, g]
        for j in range(last):
            k = turns.fold[j]
            value = sums[j, g] if turns.right[k] else -sums[j, g]
            h[k] += turns.along[k, g] * (level + value) / mass
            if not turns.right[k]:
                h[k] += turns.along[k, g] * sums[last, g] / mass
        for j in range(risks.shape[0]):
            risks[j, g] = levels[2 + j, g] / mass


@njit(cache=True, nogil=True)
def sum_changes(w, rows, turns, places, levels, sums, quick):  # type: ignore[no-untyped-def]
    """Find the places of rules that follow the drawn group shares, and add what they change in all blocks."""
    total = levels[0, 0] + levels[0, 1]
    find_places(rows, turns, levels[0, 0] / total, levels[0, 1] / total, places)
    for block in range(rows.stops.shape[0]):
        add_changes(block, w, rows, turns, places, sums, quick)


@njit(cache=True, nogil=True)
def draw_block(block, raw, units, w, rows, turns, places, levels, sums, h, risks):  # type: ignore[no-untyped-def]
    """Read one block of a draw, and after the last one write h and risks."""
    read_block(block, raw, units, w, rows, levels)
    if block == 0:
        sums[:] = 0.0
    held = turns.held[0] > 0.0
    if held:  # while the block's weights are at hand
        add_changes(block, w, rows, turns, places, sums, True)
    if block == rows.stops.shape[0] - 1:
        if not held:
            sum_changes(w, rows, turns, places, levels, sums, True)
        value_rules(turns, levels, sums, h, risks)
