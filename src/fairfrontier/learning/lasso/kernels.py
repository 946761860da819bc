"""Compiled kernels of the L1-penalised logistic regression.

Every sum runs in a fixed order, so the results do not depend on the number of threads of any library.
"""

from typing import NamedTuple

import numba
import numpy as np

from ...arrays import FloatArray, IntArray

#: A Newton step that leaves more than this share of the violation calls for a new curvature.
SLOW_PROGRESS = 0.3
#: Most sweeps of coordinate descent in one Newton step.
MAX_SWEEPS = 1000
#: Most halvings of a step that does not lower the penalised loss.
MAX_HALVINGS = 60


class Rows(NamedTuple):
    """Features with a leading column of ones, by row (n, 1 + p) and by column; classes; weights that sum to one."""

    by_row: FloatArray
    by_column: FloatArray
    label: IntArray
    weight: FloatArray


class State(NamedTuple):
    """Coefficients (K, 1 + p) and what follows from them: scores, probabilities (K, n), and the gradient."""

    coefficient: FloatArray
    scores: FloatArray
    probability: FloatArray
    gradient: FloatArray


class Curvature(NamedTuple):
    """Second derivatives of the loss on some features, the intercepts concentrated out."""

    features: IntArray
    reduced: FloatArray
    intercept_on_coefficient: FloatArray
    intercept_inverse: FloatArray


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
def curvature_blocks(
    rows: FloatArray, weight: FloatArray, probability: FloatArray, first: int
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Second derivatives of the loss: coefficients, intercepts on coefficients, intercepts.

    ``H_kl = -sum_i w_i p_k p_l x_i x_i'`` for k != l, and ``H_kk = -sum_{l != k} H_kl``. Intercepts are those after the
    first class, coefficients those of the classes from ``first`` on, class by class.
    """
    n_classes, size = probability.shape[0], rows.shape[1]
    hessian = np.zeros((n_classes, n_classes, size, size))
    for k in range(n_classes):
        for m in range(k):
            block = weighted_cross_product(rows, weight * probability[k] * probability[m])
            hessian[k, m] -= block
            hessian[m, k] -= block
            hessian[k, k] += block
            hessian[m, m] += block
    p = size - 1
    block_bb = np.empty(((n_classes - first) * p, (n_classes - first) * p))
    block_0b = np.empty((n_classes - 1, (n_classes - first) * p))
    block_00 = np.empty((n_classes - 1, n_classes - 1))
    for k in range(n_classes):
        for m in range(n_classes):
            at, place = (k - first) * p, (m - first) * p
            if k >= first and m >= first:
                block_bb[at : at + p, place : place + p] = hessian[k, m, 1:, 1:]
            if k > 0 and m >= first:
                block_0b[k - 1, place : place + p] = hessian[k, m, 0, 1:]
            if k > 0 and m > 0:
                block_00[k - 1, m - 1] = hessian[k, m, 0, 0]
    return block_bb, block_0b, block_00


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def concentrate(block_bb: FloatArray, block_0b: FloatArray, inverse: FloatArray) -> FloatArray:
    """Return ``H_bb - H_b0 H_00^-1 H_0b``, kept positive on its diagonal."""
    reduced, size = block_bb.copy(), len(block_bb)
    largest = 0.0
    for a in range(size):
        for b in range(size):
            largest = max(largest, block_bb[a, b])
    for k in range(len(inverse)):
        for m in range(len(inverse)):
            for a in range(size):
                for b in range(size):
                    reduced[a, b] -= inverse[k, m] * (block_0b[k, a] * block_0b[m, b])
    for a in range(size):
        reduced[a, a] = max(reduced[a, a], 0.0) + 1e-9 * largest + 1e-15
    return reduced


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


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def violations(coefficient: FloatArray, gradient: FloatArray, penalty: float, first: int) -> FloatArray:
    """Return by how much each coefficient (K, 1 + p) violates its first-order condition.

    ``|g + penalty sign(b)|`` where b != 0, ``(|g| - penalty)_+`` where b = 0, ``|g|`` for the intercepts; coefficients
    of the classes before ``first`` are held.
    """
    violation = np.zeros_like(gradient)
    for k in range(gradient.shape[0]):
        violation[k, 0] = abs(gradient[k, 0])
        if k < first:
            continue
        for j in range(1, gradient.shape[1]):
            b, g = coefficient[k, j], gradient[k, j]
            if b != 0.0:
                violation[k, j] = abs(g + penalty * np.sign(b))
            else:
                violation[k, j] = max(abs(g) - penalty, 0.0)
    return violation


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def newton_target(
    coefficient: FloatArray, gradient: FloatArray, curvature: Curvature, penalty: float, first: int, tol: float
) -> FloatArray:
    """Return the coefficients that minimise the penalised quadratic approximation of the loss."""
    n_classes, n_features = coefficient.shape[0], len(curvature.features)
    on_coefficient, inverse = curvature.intercept_on_coefficient, curvature.intercept_inverse
    start = np.empty((n_classes - first) * n_features)
    slope = np.empty_like(start)
    # g_b - H_b0 H_00^-1 g_0
    shift = np.zeros(n_classes - 1)
    for k in range(n_classes - 1):
        for m in range(n_classes - 1):
            shift[k] += inverse[k, m] * gradient[1 + m, 0]
    for k in range(n_classes - first):
        for f in range(n_features):
            at, j = k * n_features + f, 1 + curvature.features[f]
            start[at], slope[at] = coefficient[first + k, j], gradient[first + k, j]
            for m in range(n_classes - 1):
                slope[at] -= shift[m] * on_coefficient[m, at]
    b = quadratic_lasso(curvature.reduced, slope, start, penalty, n_classes, tol, MAX_SWEEPS)
    target = coefficient.copy()
    for k in range(n_classes - first):
        for f in range(n_features):
            target[first + k, 1 + curvature.features[f]] = b[k * n_features + f]
    # intercepts: -H_00^-1 (g_0 + H_0b (b - start))
    pull = np.zeros(n_classes - 1)
    for m in range(n_classes - 1):
        pull[m] = gradient[1 + m, 0]
        for at in range(len(b)):
            pull[m] += on_coefficient[m, at] * (b[at] - start[at])
    for k in range(n_classes - 1):
        for m in range(n_classes - 1):
            target[1 + k, 0] -= inverse[k, m] * pull[m]
    return target


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def step_towards(rows: Rows, state: State, loss: float, target: FloatArray, penalty: float) -> tuple[float, bool]:
    """Move to ``target``, or as far towards it as lowers the penalised loss.

    Writes the state reached; returns the loss there, and whether it is the target.
    """
    direction = target - state.coefficient
    l1_norm, l1_target, promised = 0.0, 0.0, 0.0
    for k in range(target.shape[0]):
        promised += state.gradient[k, 0] * direction[k, 0]
        for j in range(1, target.shape[1]):
            l1_norm += abs(state.coefficient[k, j])
            l1_target += abs(target[k, j])
            promised += state.gradient[k, j] * direction[k, j]
    promised += penalty * (l1_target - l1_norm)
    objective = loss + penalty * l1_norm
    slack = 1e-13 * (1.0 + objective)
    change, probability = np.empty_like(state.scores), np.empty_like(state.scores)
    linear_scores(rows.by_column, direction, change)
    length = 1.0
    for _ in range(MAX_HALVINGS):
        coefficient = target if length == 1.0 else state.coefficient + length * direction
        scores = state.scores + length * change
        reached = log_loss(scores, rows.label, rows.weight, probability)
        l1_norm = 0.0
        for k in range(target.shape[0]):
            for j in range(1, target.shape[1]):
                l1_norm += abs(coefficient[k, j])
        if reached + penalty * l1_norm <= objective + 1e-4 * length * promised + slack:
            state.coefficient[:], state.scores[:], state.probability[:] = coefficient, scores, probability
            state.gradient[:] = log_loss_gradient(rows.by_row, rows.label, rows.weight, probability)
            return reached, length == 1.0
        length *= 0.5
    return loss, False


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def newton_steps(
    rows: Rows,
    state: State,
    loss: float,
    curvature: Curvature,
    aim: tuple[float, float, int],
    previous: float,
    steps: int,
) -> tuple[float, float, int]:
    """Take Newton steps with one curvature until another one is called for, or ``steps`` are done.

    The first step is taken whatever the curvature. After it another one is called for when a feature without
    curvature violates its condition, or the last step left more than `SLOW_PROGRESS` of the largest violation.

    Parameters
    ----------
    rows, state, loss
        The problem, and where it stands; the state is overwritten.
    curvature : Curvature
        Second derivatives.
    aim : penalty, tolerance and first class that is not held
        What to minimise, and how well.
    previous : float
        Largest violation before the last step; 0 if that was cut short, infinity before the first.
    steps : int
        Most steps.

    Returns
    -------
    loss, previous and the steps that are left
    """
    penalty, tol, first = aim
    inside = np.zeros(state.coefficient.shape[1], dtype=np.bool_)
    inside[0] = True
    for feature in curvature.features:
        inside[1 + feature] = True
    fresh = True
    while steps > 0:
        violation = violations(state.coefficient, state.gradient, penalty, first)
        largest, outside = 0.0, 0.0
        for k in range(violation.shape[0]):
            for j in range(violation.shape[1]):
                largest = max(largest, violation[k, j])
                if not inside[j]:
                    outside = max(outside, violation[k, j])
        if largest <= tol or (not fresh and (outside > 0.0 or largest > SLOW_PROGRESS * previous)):
            break
        target = newton_target(
            state.coefficient, state.gradient, curvature, penalty, first, max(0.1 * tol, 0.02 * largest)
        )
        loss, whole = step_towards(rows, state, loss, target, penalty)
        previous = largest if whole else 0.0
        fresh = False
        steps -= 1
    return loss, previous, steps
