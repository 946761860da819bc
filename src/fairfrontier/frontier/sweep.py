"""The angular sweep: one sort, then prefix sums (plain arrays in and out, no statistics).

Every row carries a vector ``t_i`` of the plane. A rule in direction ``p`` selects the rows with
``p't_i > 0``, so turning ``p`` round the circle changes the rule only where ``p`` is perpendicular to
some ``t_i``. Two facts make this cheap:

* ``t_i`` and ``-t_i`` share their perpendicular, so each row is *folded* into the upper half plane,
  ``t_i = sign_i (a_i, b_i)`` with angle in [0, pi), and rows are sorted by that angle once.
* Over the right half circle ``p`` passes the perpendicular of every row exactly once. Passing row i
  adds its payload if ``sign_i = +1`` and removes it if ``sign_i = -1``: one prefix sum serves the half
  circle, and on the opposite half the selected rows are the complement.

The set-up of a sweep therefore is: ``a, b, sign, order`` from :func:`fold_and_sort`; values
``v[0..m]`` on the arcs, where ``v[j]`` belongs to the open arc of directions between the perpendiculars
of (sorted) rows ``j - 1`` and ``j``; and ``mirror``, so that the opposite of arc ``j`` has the value
``mirror - v[j]``.

Directions of the *scaled* circle: with group shares ``mu`` a direction ``q`` acts through
``p = q / mu``, so the arcs of ``q`` are bounded by ``(mu_r b_i, -mu_b a_i)``.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

#: Two directions closer than this (as a sine) count as the same breakpoint.
SAME_DIRECTION = 4e-15

#: Two coordinates whose relative difference is below this count as equal.
SAME_VALUE = 1e-13


@njit(cache=True, nogil=True)
def _fold(x, y):  # type: ignore[no-untyped-def]
    """Fold one vector into the upper half plane: its coordinates there, and its sign."""
    sign = -1.0 if (y < 0.0) | ((y == 0.0) & (x < 0.0)) else 1.0  # without branches: signs are random
    return sign * x, sign * y, sign


@njit(cache=True, nogil=True)
def _pack_keys(t, key, packed, bits):  # type: ignore[no-untyped-def]
    """Fill ``key`` with numbers that rise with the folded angle; return how many rows are not (0, 0).

    ``packed`` gets the leading digits of the key and, in its last ``bits`` bits, the row number. Rows equal
    to (0, 0) come last.
    """
    scale = 2.0 ** (61 - bits)
    moving = 0
    for i in range(t.shape[0]):
        x, y, _ = _fold(t[i, 0], t[i, 1])
        # -x / (|x| + y) rises with the angle of (x, y): from -1 at 0 to 1 at pi.
        total = abs(x) + y
        if total == 0.0:
            key[i] = 2.0
        else:
            moving += 1
            if total < np.inf:
                key[i] = -x / total
            else:  # halved first, so that the sum of two huge numbers stays finite
                key[i] = -(0.5 * x) / (0.5 * abs(x) + 0.5 * y)
        packed[i] = (np.int64((key[i] + 1.0) * scale) << bits) | i
    return moving


@njit(cache=True, nogil=True)
def _unpack_order(packed, key, bits):  # type: ignore[no-untyped-def]
    """Turn sorted ``packed`` into row numbers in order of (key, row), in place; False if that takes too long.

    Sorting has settled all but rows that agree in the leading digits of their keys: neighbours, which are
    put right by insertion.
    """
    n = packed.shape[0]
    mask = (np.int64(1) << bits) - 1
    moves = 0
    lead_before = np.int64(-1)
    for j in range(n):
        row, lead = packed[j] & mask, packed[j] >> bits
        k = j
        if lead == lead_before:
            while k > 0 and key[packed[k - 1]] > key[row]:
                packed[k] = packed[k - 1]
                k -= 1
            moves += j - k
            if moves > 16 * n:
                return False
        packed[k] = row
        lead_before = lead
    return True


@njit(cache=True, nogil=True)
def _take_folded(t, order, a, b, sign):  # type: ignore[no-untyped-def]
    for j in range(order.shape[0]):
        a[j], b[j], sign[j] = _fold(t[order[j], 0], t[order[j], 1])


def fold_and_sort(t: FloatArray) -> tuple[FloatArray, FloatArray, NDArray[np.int8], NDArray[np.intp]]:
    """Fold the rows of ``t`` (n, 2) into the upper half plane and sort them by angle.

    Rows equal to (0, 0) are never selected in any direction and are left out. Rows of equal angle keep
    their order. Sorting integers that hold the angle's leading digits and the row number is several
    times faster than sorting row numbers by angle.

    Returns
    -------
    a, b : (m,) folded coordinates in order of angle
    sign : (m,) +1 or -1, with ``t[order] = sign * (a, b)``
    order : (m,) row numbers
    """
    n = t.shape[0]
    bits = n.bit_length()
    key, packed = np.empty(n), np.empty(n, dtype=np.int64)
    m = _pack_keys(t, key, packed, bits)
    packed.sort()
    if _unpack_order(packed, key, bits):
        order = packed[:m].astype(np.intp, copy=False)
    else:
        order = np.argsort(key, kind="stable")[:m]
    del key, packed
    a, b, sign = np.empty(m), np.empty(m), np.empty(m, dtype=np.int8)
    _take_folded(t, order, a, b, sign)
    return a, b, sign, order


@njit(cache=True, nogil=True)
def group_sums(order, sign, w, l0, dl, is_r, scale_r, scale_b, v):  # type: ignore[no-untyped-def]
    """Fill ``v`` (m + 1, 2) with the scaled arc values of a payload split by group; return ``mirror``.

    Arc value = (sum of ``w l0`` + sum over selected rows of ``w dl``) by group, times the group's scale.
    """
    base_r, base_b = 0.0, 0.0
    for i in range(l0.shape[0]):
        x = w[i] * l0[i]
        x_r = x * is_r[i]  # instead of a branch: groups come in random order
        base_r += x_r
        base_b += x - x_r
    # Rows are visited out of order once only, in one array: that is what takes time.
    payload = w * dl
    rest_r, rest_b, negative_r, negative_b = 0.0, 0.0, 0.0, 0.0
    for j in range(order.shape[0]):
        i = order[j]
        x = payload[i]
        x_r = x * is_r[i]
        x_b = x - x_r
        rest_r += x_r
        rest_b += x_b
        negative = sign[j] < 0
        negative_r += x_r * negative
        negative_b += x_b * negative
        v[j + 1, 0], v[j + 1, 1] = sign[j] * x_r, sign[j] * x_b
    sum_r, sum_b = base_r + negative_r, base_b + negative_b
    v[0, 0], v[0, 1] = scale_r * sum_r, scale_b * sum_b
    lost_r, lost_b = 0.0, 0.0  # Kahan compensation: prefix sums over millions of rows keep full precision
    for j in range(1, order.shape[0] + 1):
        x_r, x_b = v[j, 0] - lost_r, v[j, 1] - lost_b
        new_r, new_b = sum_r + x_r, sum_b + x_b
        lost_r, lost_b = (new_r - sum_r) - x_r, (new_b - sum_b) - x_b
        sum_r, sum_b = new_r, new_b
        v[j, 0], v[j, 1] = scale_r * sum_r, scale_b * sum_b
    mirror = np.empty(2)
    mirror[0], mirror[1] = scale_r * (2.0 * base_r + rest_r), scale_b * (2.0 * base_b + rest_b)
    return mirror


@njit(cache=True, nogil=True)
def vector_sums(order, sign, w, base_r, base_b, a, b, scale_r, scale_b, v):  # type: ignore[no-untyped-def]
    """Fill ``v`` (m + 1, 2) with arc values of the payload ``t`` itself; return ``mirror``.

    Arc value = (base + sum over selected rows of ``w t``), coordinate by coordinate, times the scales.
    """
    rest_r, rest_b, sum_r, sum_b = 0.0, 0.0, base_r, base_b
    for j in range(order.shape[0]):
        x, y = w[order[j]] * a[j], w[order[j]] * b[j]
        rest_r += sign[j] * x
        rest_b += sign[j] * y
        if sign[j] < 0:
            sum_r -= x
            sum_b -= y
    v[0, 0], v[0, 1] = scale_r * sum_r, scale_b * sum_b
    for j in range(order.shape[0]):
        sum_r += w[order[j]] * a[j]
        sum_b += w[order[j]] * b[j]
        v[j + 1, 0], v[j + 1, 1] = scale_r * sum_r, scale_b * sum_b
    mirror = np.empty(2)
    mirror[0], mirror[1] = scale_r * (2.0 * base_r + rest_r), scale_b * (2.0 * base_b + rest_b)
    return mirror


@njit(cache=True, nogil=True)
def _rightward(p1, p2):  # type: ignore[no-untyped-def]
    """Whether (p1, p2) lies on the half circle [-pi/2, pi/2) that the sorted rows sweep."""
    return p1 > 0.0 or (p1 == 0.0 and p2 < 0.0)


@njit(cache=True, nogil=True)
def _rows_passed(a, b, p1, p2, slack):  # type: ignore[no-untyped-def]
    """Count the sorted rows whose perpendicular comes before ``p`` (rightward).

    Rows perpendicular to ``p`` up to rounding are left out if slack > 0 and counted if it is < 0.
    """
    low, high = 0, a.shape[0]
    while low < high:
        middle = (low + high) // 2
        x, y = p1 * a[middle], p2 * b[middle]
        margin = (x + y) - slack * (abs(x) + abs(y))
        if margin > 0.0 or (margin == 0.0 and slack < 0.0):
            low = middle + 1
        else:
            high = middle
    return low


@njit(cache=True, nogil=True)
def values_at(a, b, sign, v, mirror, p, tie, out):  # type: ignore[no-untyped-def]
    """Value of the rule ``1{p't > 0}`` for each direction ``p`` (k, 2), into ``out`` (k, 2).

    Rows exactly perpendicular to ``p`` are selected where ``tie't > 0``; ``tie`` = (0, 0) leaves them
    out, which is the strict rule. Rows within rounding of perpendicular are decided one by one by
    the sign of the dot product itself, so the result is that of the plain formula.
    """
    for d in range(p.shape[0]):
        right = _rightward(p[d, 0], p[d, 1])
        p1, p2 = (p[d, 0], p[d, 1]) if right else (-p[d, 0], -p[d, 1])
        first = _rows_passed(a, b, p1, p2, SAME_DIRECTION)
        last = _rows_passed(a, b, p1, p2, -SAME_DIRECTION)
        value_r, value_b = v[first, 0], v[first, 1]
        for j in range(first, last):
            k = p1 * a[j] + p2 * b[j]
            if k == 0.0:
                k = tie[d, 0] * a[j] + tie[d, 1] * b[j]
                if not right:
                    k = -k
                if k == 0.0:
                    k = -1.0 if (sign[j] > 0) == right else 1.0
            if k > 0.0:
                value_r += v[j + 1, 0] - v[j, 0]
                value_b += v[j + 1, 1] - v[j, 1]
        if right:
            out[d, 0], out[d, 1] = value_r, value_b
        else:
            out[d, 0], out[d, 1] = mirror[0] - value_r, mirror[1] - value_b


@njit(cache=True, nogil=True)
def _edge(a, b, mu_r, mu_b, j):  # type: ignore[no-untyped-def]
    """Return the unit direction number ``j`` of the 2 m breakpoints, counted round the circle."""
    m = a.shape[0]
    i = j % m
    x, y = mu_r * b[i], -mu_b * a[i]
    length = np.hypot(x, y)
    if (j // m) % 2 == 1:
        length = -length
    return x / length, y / length


@njit(cache=True, nogil=True)
def _arc_value(v, mirror, m, j):  # type: ignore[no-untyped-def]
    """Return the value on the arc that ends at breakpoint ``j``."""
    turn, i = (j // m) % 2, j % m
    if turn == 0:
        return v[i, 0], v[i, 1]
    return mirror[0] - v[i, 0], mirror[1] - v[i, 1]


@njit(cache=True, nogil=True)
def _first_edge_after(a, b, mu_r, mu_b, q1, q2):  # type: ignore[no-untyped-def]
    """Number of the breakpoint that ends the arc starting at direction ``q``."""
    right = _rightward(q1, q2)
    p1, p2 = q1 / mu_r, q2 / mu_b
    if not right:
        p1, p2 = -p1, -p2
    passed = _rows_passed(a, b, p1, p2, -SAME_DIRECTION)
    return passed if right else passed + a.shape[0]


@njit(cache=True, nogil=True)
def _best_on_arc(d1, d2, s1, s2, f1, f2):  # type: ignore[no-untyped-def]
    """Maximise q'd over the closed arc from unit vector s to unit vector f (at most half a turn)."""
    size = np.hypot(d1, d2)
    if size > 0.0 and s1 * d2 - s2 * d1 >= 0.0 and d1 * f2 - d2 * f1 >= 0.0:
        return size, d1 / size, d2 / size
    at_start, at_end = s1 * d1 + s2 * d2, f1 * d1 + f2 * d2
    if at_start >= at_end:
        return at_start, s1, s2
    return at_end, f1, f2


@njit(cache=True, nogil=True)
def _empty_arc(s1, s2, f1, f2):  # type: ignore[no-untyped-def]
    return s1 * f2 - s2 * f1 <= SAME_DIRECTION and s1 * f1 + s2 * f2 > 0.0


@njit(cache=True, nogil=True)
def max_excess(a, b, mu_r, mu_b, v, mirror, e, start, turn):  # type: ignore[no-untyped-def]
    """Exact max of q'e - h(q) over the closed arc of ``turn`` radians from unit vector ``start``.

    On each arc between breakpoints h(q) = q'v, a sinusoid, so the maximum of q'(e - v) is its norm if
    the direction of e - v falls inside the arc and the larger end otherwise. h jumps at breakpoints:
    both ends of every closed arc count. Returns the maximum and the direction attaining it.
    """
    m = a.shape[0]
    s1, s2 = start[0], start[1]
    j = _first_edge_after(a, b, mu_r, mu_b, s1, s2)
    whole = turn >= 2.0 * np.pi
    if whole:
        stop1, stop2 = s1, s2
        last = j + 2 * m
    else:
        stop1 = s1 * np.cos(turn) - s2 * np.sin(turn)
        stop2 = s2 * np.cos(turn) + s1 * np.sin(turn)
        last = _first_edge_after(a, b, mu_r, mu_b, stop1, stop2)
        if last < j or (last == j and turn > np.pi):
            last += 2 * m
    best, best1, best2 = -np.inf, s1, s2
    while j <= last:
        v1, v2 = _arc_value(v, mirror, m, j)
        if j == last:
            f1, f2 = stop1, stop2
        else:
            f1, f2 = _edge(a, b, mu_r, mu_b, j)
        if not _empty_arc(s1, s2, f1, f2):
            value, x1, x2 = _best_on_arc(e[0] - v1, e[1] - v2, s1, s2, f1, f2)
            if value > best:
                best, best1, best2 = value, x1, x2
        s1, s2 = f1, f2
        j += 1
    if best == -np.inf:  # the arc is a single direction
        v1, v2 = _arc_value(v, mirror, m, j - 1)
        best = stop1 * (e[0] - v1) + stop2 * (e[1] - v2)
    return best, best1, best2


@njit(cache=True, nogil=True)
def _last_edge_on_line(a, b, mu_r, mu_b, first):  # type: ignore[no-untyped-def]
    """Breakpoint that ends the last arc before (1, -1), counted on from the ``first`` one after (-1, 1)."""
    m, root = a.shape[0], np.sqrt(0.5)
    last = _first_edge_after(a, b, mu_r, mu_b, root, -root)
    # The arc that ends exactly at (1, -1) still lies before it; step back over breakpoints equal to it.
    while last > first - 2 * m:
        x1, x2 = _edge(a, b, mu_r, mu_b, last - 1)
        if abs(x1 + x2) <= SAME_DIRECTION and x1 > x2:
            last -= 1
        else:
            break
    return last if last >= first else last + 2 * m


@njit(cache=True, nogil=True)
def min_on_line(a, b, mu_r, mu_b, v, mirror):  # type: ignore[no-untyped-def]
    """Exact inf over real c of h(u1 - c (1, -1)), u1 = (-1, 0): the line q1 + q2 = -1.

    h is linear in c between breakpoints, so its infimum is at a breakpoint (on either side of the jump)
    unless an outer arc slopes down to minus infinity. Returns the infimum (-inf if unbounded), the
    minimising q, and whether it is unbounded towards (-1, 1) and towards (1, -1).
    """
    m = a.shape[0]
    root = np.sqrt(0.5)
    j = _first_edge_after(a, b, mu_r, mu_b, -root, root)
    last = _last_edge_on_line(a, b, mu_r, mu_b, j)
    v1, v2 = _arc_value(v, mirror, m, j)
    v1_first, v2_first = v1, v2
    outer_first = v2 - v1  # slope of h as q goes off towards (-1, 1)
    w1, w2 = _arc_value(v, mirror, m, last)
    outer_last = w1 - w2  # slope of h as q goes off towards (1, -1)
    best, best1, best2 = -v1, -1.0, 0.0
    if last > j:
        best = np.inf
        s1, s2 = -root, root
        while j < last:
            v1, v2 = _arc_value(v, mirror, m, j)
            f1, f2 = _edge(a, b, mu_r, mu_b, j)
            arc = not _empty_arc(s1, s2, f1, f2)
            for end in range(2):
                x1, x2 = (s1, s2) if end == 0 else (f1, f2)
                scale = -(x1 + x2)
                if arc and scale > SAME_DIRECTION:
                    value = (x1 * v1 + x2 * v2) / scale
                    if value < best:
                        best, best1, best2 = value, x1 / scale, x2 / scale
            s1, s2 = f1, f2
            j += 1
        scale = -(s1 + s2)
        if scale > SAME_DIRECTION:
            value = (s1 * w1 + s2 * w2) / scale
            if value < best:
                best, best1, best2 = value, s1 / scale, s2 / scale
    # A slope that is zero up to rounding: the set touches the line, which counts as crossing it. Sums that should be
    # zero are as inexact as their terms, hence the mirror point.
    size = abs(mirror[0]) + abs(mirror[1])
    falls_first = outer_first < -SAME_VALUE * (abs(v1_first) + abs(v2_first) + size)
    falls_last = outer_last < -SAME_VALUE * (abs(w1) + abs(w2) + size)
    if falls_first or falls_last:
        best = -np.inf
    return best, best1, best2, falls_first, falls_last


@njit(cache=True, nogil=True)
def half_planes(a, b, mu_r, mu_b, v, mirror, q, bound):  # type: ignore[no-untyped-def]
    """Half planes q'z <= bound that make up the set {z : q'z <= h(q) for all q}; returns their number.

    On an arc the conditions for all its q follow from those at its two ends, so each breakpoint with the
    smaller of its two values of h is enough. Fills ``q`` (2 m + 2, 2) in order of angle; an arc of
    half a turn (all rows parallel) gets its middle as well.
    """
    m = a.shape[0]
    count, start = 0, 0
    for j in range(2 * m):  # start from an arc of positive length
        s1, s2 = _edge(a, b, mu_r, mu_b, j - 1)
        f1, f2 = _edge(a, b, mu_r, mu_b, j)
        if not _empty_arc(s1, s2, f1, f2):
            start = j
            break
    before1, before2 = _arc_value(v, mirror, m, start)
    s1, s2 = _edge(a, b, mu_r, mu_b, start)
    for j in range(start + 1, start + 2 * m + 1):
        f1, f2 = _edge(a, b, mu_r, mu_b, j)
        if _empty_arc(s1, s2, f1, f2):
            continue
        v1, v2 = _arc_value(v, mirror, m, j)
        q[count, 0], q[count, 1] = s1, s2
        bound[count] = min(s1 * before1 + s2 * before2, s1 * v1 + s2 * v2)
        count += 1
        if s1 * f1 + s2 * f2 < -0.999999:
            q[count, 0], q[count, 1] = -s2, s1
            bound[count] = -s2 * v1 + s1 * v2
            count += 1
        before1, before2 = v1, v2
        s1, s2 = f1, f2
    return count
