"""Compiled kernels of the L1-penalised logistic regression.

Every sum runs in a fixed order, so the results do not depend on the number of threads of any library.
"""

import numba
import numpy as np

from ...arrays import FloatArray, IntArray


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def linear_scores(columns: FloatArray, coefficient: FloatArray, scores: FloatArray) -> None:
    """Write ``coefficient @ columns`` into ``scores``, skipping zero coefficients.

    Parameters
    ----------
    columns : (p, n) array, one contiguous row per feature
    coefficient : (K, p) array
    scores : (K, n) array, overwritten
    """
    n = columns.shape[1]
    for k in range(coefficient.shape[0]):
        row = scores[k]
        row[:] = 0.0
        for j in range(columns.shape[0]):
            slope = coefficient[k, j]
            if slope != 0.0:
                column = columns[j]
                for i in range(n):
                    row[i] += slope * column[i]


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def log_loss(scores: FloatArray, label: IntArray, weight: FloatArray, probability: FloatArray) -> float:
    """Return ``-sum_i weight_i log p_label_i(x_i)`` and write the (K, n) class probabilities.

    ``p_k = exp(s_k - max s) / sum_l exp(s_l - max s)``.
    """
    n_classes, n = scores.shape
    loss = 0.0
    for i in range(n):
        top = scores[0, i]
        for k in range(1, n_classes):
            top = max(top, scores[k, i])
        total = 0.0
        for k in range(n_classes):
            term = np.exp(scores[k, i] - top)
            probability[k, i] = term
            total += term
        for k in range(n_classes):
            probability[k, i] /= total
        loss += weight[i] * (np.log(total) + top - scores[label[i], i])
    return loss


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def log_loss_gradient(rows: FloatArray, label: IntArray, weight: FloatArray, probability: FloatArray) -> FloatArray:
    """Return the (K, p) gradient ``sum_i weight_i (p_k(x_i) - 1{label_i = k}) x_ij``."""
    n, p = rows.shape
    n_classes = probability.shape[0]
    residual = np.zeros((n_classes, 4))
    gradient = np.zeros((n_classes, p))
    n_full = n - n % 4
    for i in range(0, n_full, 4):
        for k in range(n_classes):
            for step in range(4):
                hit = 1.0 if label[i + step] == k else 0.0
                residual[k, step] = weight[i + step] * (probability[k, i + step] - hit)
        x0, x1, x2, x3 = rows[i], rows[i + 1], rows[i + 2], rows[i + 3]
        for k in range(n_classes):
            r0, r1, r2, r3 = residual[k, 0], residual[k, 1], residual[k, 2], residual[k, 3]
            for j in range(p):
                gradient[k, j] += (r0 * x0[j] + r1 * x1[j]) + (r2 * x2[j] + r3 * x3[j])
    for i in range(n_full, n):
        for k in range(n_classes):
            hit = 1.0 if label[i] == k else 0.0
            r0 = weight[i] * (probability[k, i] - hit)
            for j in range(p):
                gradient[k, j] += r0 * rows[i, j]
    return gradient


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def weighted_cross_product(rows: FloatArray, weight: FloatArray) -> FloatArray:
    """Return the (p, p) matrix ``sum_i weight_i x_i x_i'``."""
    n, p = rows.shape
    product = np.zeros((p, p))
    n_full = n - n % 4
    for i in range(0, n_full, 4):
        x0, x1, x2, x3 = rows[i], rows[i + 1], rows[i + 2], rows[i + 3]
        v0, v1, v2, v3 = weight[i], weight[i + 1], weight[i + 2], weight[i + 3]
        for a in range(p):
            c0, c1, c2, c3 = v0 * x0[a], v1 * x1[a], v2 * x2[a], v3 * x3[a]
            for b in range(a + 1):
                product[a, b] += (c0 * x0[b] + c1 * x1[b]) + (c2 * x2[b] + c3 * x3[b])
    for i in range(n_full, n):
        for a in range(p):
            c0 = weight[i] * rows[i, a]
            for b in range(a + 1):
                product[a, b] += c0 * rows[i, b]
    for a in range(p):
        for b in range(a):
            product[b, a] = product[a, b]
    return product


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def quadratic_lasso(
    curvature: FloatArray,
    gradient: FloatArray,
    start: FloatArray,
    penalty: float,
    n_classes: int,
    tol: float,
    max_sweeps: int,
) -> FloatArray:
    """Minimise ``g'(b - start) + (b - start)'Q(b - start)/2 + penalty |b|_1`` by coordinate descent.

    The coefficients are ordered class by class. A full sweep is followed by sweeps over the non-zero
    coefficients until they settle, and so on until a full sweep changes no partial derivative by more than
    ``tol``. Adding one number to a feature's coefficient in all ``n_classes`` >= 3 classes leaves the
    quadratic unchanged, so every full sweep ends by shifting each feature to its smallest L1 norm.
    """
    size = start.shape[0]
    slope = gradient.copy()
    b = start.copy()
    full = True
    for _ in range(max_sweeps):
        largest = 0.0
        for j in range(size):
            old = b[j]
            if old == 0.0 and not full:
                continue
            # argmin of slope (b - old) + Q_jj (b - old)^2 / 2 + penalty |b|
            q = curvature[j, j]
            centre = q * old - slope[j]
            if centre > penalty:
                new = (centre - penalty) / q
            elif centre < -penalty:
                new = (centre + penalty) / q
            else:
                new = 0.0
            if new != old:
                change = new - old
                b[j] = new
                row = curvature[j]
                for m in range(size):
                    slope[m] += change * row[m]
                largest = max(largest, abs(change) * q)
        if full:
            if n_classes > 2:
                shift_to_smallest_norm(b.reshape(n_classes, size // n_classes))
            if largest <= tol:
                break
            full = False
        elif largest <= tol:
            full = True
    return b


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def shift_to_smallest_norm(coefficient: FloatArray) -> None:
    """Shift each column of the (K, p) array by the constant nearest to 0 that minimises its L1 norm.

    The minimisers are the medians of the column: for even K an interval, of which the point nearest to 0.
    """
    n_classes = coefficient.shape[0]
    for j in range(coefficient.shape[1]):
        ordered = np.sort(coefficient[:, j])
        low = ordered[(n_classes - 1) // 2]
        high = ordered[n_classes // 2]
        shift = min(max(0.0, low), high)
        if shift != 0.0:
            for k in range(n_classes):
                coefficient[k, j] -= shift
