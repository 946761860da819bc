"""Compiled kernels of gradient boosting: growing one tree on binned columns, and following trees.

A split sends each bin of one column to the left or to the right, whether the bins are intervals of numbers, levels of
a category or missing values. Every sum runs in a fixed order, so the results do not depend on any number of threads.
"""

import numba
import numpy as np

from ...arrays import AnyArray, BoolArray, FloatArray, IntArray

GRADIENT, HESSIAN, ROWS = 0, 1, 2
"""What a histogram sums in each bin: gradients, second derivatives, and rows."""
LEVEL_SMOOTHING = 10.0
"""Added to the second derivatives of a level when levels are put in order."""
SMALLEST_GAIN = 1e-10
"""A split must gain more than this share of what both sides reduce the penalised loss by; less is rounding."""
SMALLEST_HESSIAN = 1e-3
"""Least sum of second derivatives on either side of a split; with less, values of leaves are hardly determined."""


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def add_rows(histogram: FloatArray, bins: AnyArray, rows: IntArray, gradient: FloatArray, hessian: FloatArray) -> None:
    """Add the given rows to a histogram (p, W, 3) of all columns.

    Parameters
    ----------
    histogram : (p, W, 3) array, added to
    bins : (n, p) array of unsigned bytes
    rows : (m,) array
    gradient, hessian : (n,) arrays
    """
    p = bins.shape[1]
    for r in range(len(rows)):
        i = rows[r]
        g, h = gradient[i], hessian[i]
        for j in range(p):
            cell = histogram[j, bins[i, j]]
            cell[GRADIENT] += g
            cell[HESSIAN] += h
            cell[ROWS] += 1.0


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _scan(column: FloatArray, order: IntArray, total: FloatArray, l2: float, min_rows: int) -> tuple[float, int]:
    """Return the largest G_L^2 / (H_L + l2) + G_R^2 / (H_R + l2) along an order of bins, and the number left.

    Parameters
    ----------
    column : (W, 3) array
        Histogram of one column.
    order : (m,) array
        Bins in the order of the scan.
    total : (3,) array
        Sums over all bins.
    l2 : float
        Penalty of squared values of leaves.
    min_rows : int
        Fewest rows on either side.
    """
    best, found = -np.inf, 0
    g, h, n = 0.0, 0.0, 0.0
    for k in range(len(order) - 1):
        cell = column[order[k]]
        g += cell[GRADIENT]
        h += cell[HESSIAN]
        n += cell[ROWS]
        if n < min_rows or cell[ROWS] == 0.0 or h < SMALLEST_HESSIAN:
            continue
        g_right, h_right = total[GRADIENT] - g, total[HESSIAN] - h
        if total[ROWS] - n < min_rows or h_right < SMALLEST_HESSIAN:
            break
        score = g * g / (h + l2) + g_right * g_right / (h_right + l2)
        if score > best:
            best, found = score, k + 1
    return best, found


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _orders(column: FloatArray, n_bins: int, is_level: bool, l2: float) -> list[IntArray]:
    """Orders of bins along which splits are sought.

    Numbers keep their order, with missing ones last and, if there are any here, also first. Levels present, the missing
    one among them, come in the order of -G / (H + l2 + LEVEL_SMOOTHING), so that rare ones do not lie at the ends.
    """
    if is_level:
        present = np.flatnonzero(column[: n_bins + 1, ROWS] > 0.0)
        value = np.empty(len(present))
        for k in range(len(present)):
            value[k] = -column[present[k], GRADIENT] / (column[present[k], HESSIAN] + l2 + LEVEL_SMOOTHING)
        return [present[np.argsort(value, kind="mergesort")]]
    last = np.arange(n_bins + 1)
    if column[n_bins, ROWS] == 0.0:
        return [last]
    first = np.empty(n_bins + 1, dtype=last.dtype)
    first[0] = n_bins
    first[1:] = last[:n_bins]
    return [last, first]


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def best_split(
    histogram: FloatArray,
    n_bins: AnyArray,
    is_level: BoolArray,
    l2: float,
    min_rows: int,
    goes_left: BoolArray,
) -> tuple[float, int]:
    """Find the split of a node with the largest gain; return it and the column, and write which bins go left.

    The gain is G_L^2 / (H_L + l2) + G_R^2 / (H_R + l2) - G^2 / (H + l2); -1 if there is no split. Bins without rows in
    this node that no order of numbers places go where more rows go.

    Parameters
    ----------
    histogram : (p, W, 3) array
        Of the rows in the node.
    n_bins : (p,) array
        Bins of each column; missing values are the bin after the last.
    is_level : (p,) array
        Whether the bins are levels without an order.
    l2, min_rows
        As for `_scan`.
    goes_left : (W,) array
        Overwritten.
    """
    total = histogram[0].sum(axis=0)
    if total[HESSIAN] < 2.0 * SMALLEST_HESSIAN:
        return -1.0, -1
    own = total[GRADIENT] ** 2 / (total[HESSIAN] + l2)
    best, column_found, n_left = -1.0, -1, 0
    order_found = np.empty(0, dtype=np.arange(1).dtype)
    for j in range(histogram.shape[0]):
        for order in _orders(histogram[j], n_bins[j], is_level[j], l2):
            score, left = _scan(histogram[j], order, total, l2, min_rows)
            if score - own > max(best, SMALLEST_GAIN * score):
                best, column_found, n_left, order_found = score - own, j, left, order
    if column_found < 0:
        return -1.0, -1
    rows_left = 0.0
    for k in range(n_left):
        rows_left += histogram[column_found, order_found[k], ROWS]
    goes_left[:] = 2.0 * rows_left > total[ROWS]
    missing = n_bins[column_found]
    seen = histogram[column_found, missing, ROWS] > 0.0
    for k in range(len(order_found)):
        if order_found[k] != missing or seen:
            goes_left[order_found[k]] = k < n_left
    return best, column_found


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _part(rows: IntArray, bins: AnyArray, column: int, goes_left: BoolArray) -> int:
    """Move the rows that go left to the front, both sides in their former order; return how many do."""
    right = np.empty_like(rows)
    n_left, n_right = 0, 0
    for r in range(len(rows)):
        i = rows[r]
        if goes_left[bins[i, column]]:
            rows[n_left] = i
            n_left += 1
        else:
            right[n_right] = i
            n_right += 1
    rows[n_left:] = right[:n_right]
    return n_left


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def grow_tree(
    bins: AnyArray,
    n_bins: AnyArray,
    is_level: BoolArray,
    gradient: FloatArray,
    hessian: FloatArray,
    options: tuple[int, int, float, float],
    nodes: tuple[IntArray, IntArray, BoolArray, FloatArray],
    scores: FloatArray,
) -> None:
    """Grow one tree, always splitting the leaf with the largest gain, and add its values to the rows' scores.

    A leaf has the value -rate G / (H + l2), or 0 if H + l2 is 0.

    Parameters
    ----------
    bins, n_bins, is_level, gradient, hessian
        As above.
    options : most leaves, fewest rows in a leaf, l2, learning rate
    nodes : column (N,), first child (N,), goes_left (N, W), value (N,)
        Overwritten; the second child follows the first, and a leaf has the column -1.
    scores : (n,) array
        Added to.
    """
    max_leaves, min_rows, l2, rate = options
    column, child, goes_left, value = nodes
    column[:] = -1
    rows = np.arange(len(gradient))
    start, end = np.zeros(len(column), dtype=np.int64), np.zeros(len(column), dtype=np.int64)
    histograms = np.zeros((len(column), bins.shape[1], goes_left.shape[1], 3))
    gain, split_at = np.full(len(column), -1.0), np.full(len(column), -1)
    end[0] = len(rows)
    add_rows(histograms[0], bins, rows, gradient, hessian)
    gain[0], split_at[0] = best_split(histograms[0], n_bins, is_level, l2, min_rows, goes_left[0])
    n_nodes = 1
    for _ in range(max_leaves - 1):
        node = np.argmax(gain)
        if gain[node] <= 0.0:
            break
        column[node], child[node], gain[node] = split_at[node], n_nodes, -1.0
        middle = start[node] + _part(rows[start[node] : end[node]], bins, column[node], goes_left[node])
        left, right = n_nodes, n_nodes + 1
        start[left], end[left], start[right], end[right] = start[node], middle, middle, end[node]
        small, large = (left, right) if end[left] - start[left] < end[right] - start[right] else (right, left)
        add_rows(histograms[small], bins, rows[start[small] : end[small]], gradient, hessian)
        histograms[large] = histograms[node] - histograms[small]
        for new in (left, right):
            gain[new], split_at[new] = best_split(histograms[new], n_bins, is_level, l2, min_rows, goes_left[new])
        n_nodes += 2
    for leaf in range(n_nodes):
        if column[leaf] < 0:
            total = histograms[leaf, 0].sum(axis=0)
            denominator = total[HESSIAN] + l2
            value[leaf] = -rate * total[GRADIENT] / denominator if denominator > 0.0 else 0.0
            for r in range(start[leaf], end[leaf]):
                scores[rows[r]] += value[leaf]


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def follow_trees(
    bins: AnyArray, column: IntArray, child: IntArray, goes_left: BoolArray, value: FloatArray, scores: FloatArray
) -> None:
    """Add to the scores (K, n) the values of trees (T, K, nodes) at the leaves that the rows reach.

    Parameters
    ----------
    bins : (n, p) array
    column, child, goes_left, value
        As `grow_tree` writes them, for T trees of K scores.
    scores : (K, n) array
        Added to.
    """
    for t in range(column.shape[0]):
        for k in range(column.shape[1]):
            for i in range(bins.shape[0]):
                node = 0
                while column[t, k, node] >= 0:
                    first = child[t, k, node]
                    node = first if goes_left[t, k, node, bins[i, column[t, k, node]]] else first + 1
                scores[k, i] += value[t, k, node]


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def bin_numbers(values: FloatArray, thresholds: FloatArray, bins: AnyArray) -> None:
    """Write for every number how many thresholds lie below it; missing ones get the bin after the last."""
    for i in range(len(values)):
        x = values[i]
        if np.isnan(x):
            bins[i] = len(thresholds) + 1
            continue
        low, high = 0, len(thresholds)
        while low < high:
            middle = (low + high) // 2
            if x <= thresholds[middle]:
                high = middle
            else:
                low = middle + 1
        bins[i] = low
