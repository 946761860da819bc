"""Solver of the L1-penalised logistic regression: proximal Newton steps along a path of penalties.

The curvature of the loss is reused from step to step and from penalty to penalty until progress slows.
"""

from dataclasses import dataclass

import numpy as np

from ...arrays import BoolArray, FloatArray, IntArray
from .kernels import linear_scores, log_loss, log_loss_gradient, quadratic_lasso, weighted_cross_product

#: A Newton step that leaves more than this share of the violation calls for a new curvature.
SLOW_PROGRESS = 0.3
#: Features with a derivative above this share of the penalty enter the curvature before they are needed.
NEAR_PENALTY = 0.7
#: Most sweeps of coordinate descent in one Newton step.
MAX_SWEEPS = 1000


@dataclass(frozen=True, slots=True)
class Design:
    """Standardised features with a leading column of ones, by row and by column; weights sum to one."""

    rows: FloatArray
    columns: FloatArray
    label: IntArray
    weight: FloatArray
    n_classes: int

    @classmethod
    def of(cls, standardised: FloatArray, label: IntArray, weight: FloatArray, n_classes: int) -> "Design":
        """Build the design from standardised features (n, p), class numbers and weights."""
        rows = np.column_stack((np.ones(len(label)), standardised))
        return cls(rows, np.ascontiguousarray(rows.T), label, weight, n_classes)

    def subset(self, keep: BoolArray) -> "Design":
        """Return the rows `keep`, with the labels recoded to the classes that are left."""
        present, label = np.unique(self.label[keep], return_inverse=True)
        weight = self.weight[keep]
        return Design(
            np.ascontiguousarray(self.rows[keep]),
            np.ascontiguousarray(self.columns[:, keep]),
            label,
            weight / weight.sum(),
            len(present),
        )

    def scaled(self, scale: FloatArray) -> "Design":
        """Return only the features with a positive scale (p,), multiplied by it."""
        used = np.flatnonzero(scale)
        columns = np.vstack((self.columns[:1], scale[used, None] * self.columns[1 + used]))
        return Design(np.ascontiguousarray(columns.T), columns, self.label, self.weight, self.n_classes)


@dataclass(frozen=True, slots=True)
class Curvature:
    """Second derivatives of the loss on some features, the intercepts concentrated out."""

    features: IntArray
    reduced: FloatArray
    intercept_on_coefficient: FloatArray
    intercept_inverse: FloatArray


class PenalisedLoss:
    """The penalised loss at its current coefficients, moved by `minimise` from penalty to penalty.

    With two classes the coefficients of the first are held at zero, which loses nothing:
    ``|b_1| + |b_2|`` given ``b_2 - b_1`` is smallest there. The intercept of the first class is held
    always, as only differences of intercepts matter.
    """

    def __init__(self, design: Design, max_iter: int) -> None:
        self.design = design
        self.max_iter = max_iter
        self.n_iter = 0
        self.first = 1 if design.n_classes == 2 else 0
        self.curvature: Curvature | None = None
        self._trial = np.empty((design.n_classes, len(design.label)))
        share = np.bincount(design.label, design.weight, design.n_classes)
        coefficient = np.zeros((design.n_classes, design.rows.shape[1]))
        coefficient[:, 0] = np.log(share / share[0])
        self.move_to(coefficient)
        self.null_loss = self.loss
        self.max_penalty = float(np.abs(self.gradient[:, 1:]).max(initial=0.0))

    def move_to(self, coefficient: FloatArray, curvature: Curvature | None = None) -> None:
        """Place the solver at `coefficient` (K, 1 + p), intercepts first; reuse a curvature found near it, if given."""
        design = self.design
        self.curvature = curvature if curvature is not None else self.curvature
        self.coefficient = coefficient.copy()
        self.scores = np.empty((design.n_classes, len(design.label)))
        self.probability = np.empty_like(self.scores)
        linear_scores(design.columns, self.coefficient, self.scores)
        self.loss = log_loss(self.scores, design.label, design.weight, self.probability)
        self.gradient = log_loss_gradient(design.rows, design.label, design.weight, self.probability)

    def violations(self, penalty: float) -> FloatArray:
        """Return by how much each coefficient violates its first-order condition, shape (K, 1 + p)."""
        b, g = self.coefficient, self.gradient
        # |g + penalty sign(b)| where b != 0, (|g| - penalty)_+ where b = 0, |g| for the intercepts
        in_use, unused = np.abs(g + penalty * np.sign(b)), np.maximum(np.abs(g) - penalty, 0.0)
        violation: FloatArray = np.where(b != 0.0, in_use, unused)
        violation[:, 0] = np.abs(g[:, 0])
        violation[: self.first, 1:] = 0.0
        return violation

    def minimise(self, penalty: float, tol: float) -> bool:
        """Move to the minimum at `penalty`.

        Returns whether every first-order condition holds up to `tol`, which only `max_iter` can prevent.
        """
        previous = np.inf
        for _ in range(self.max_iter):
            violation = self.violations(penalty)
            largest = float(violation.max())
            if largest <= tol:
                return True
            curvature = self.curvature
            if curvature is None:
                curvature = self._curvature_at(self._promising(penalty))
            else:
                outside = violation[:, 1:].max(axis=0) > 0.0
                outside[curvature.features] = False
                if outside.any():
                    features = np.union1d(curvature.features, self._promising(penalty))
                    curvature = self._curvature_at(np.union1d(features, np.flatnonzero(outside)))
                elif largest > SLOW_PROGRESS * previous:
                    curvature = self._curvature_at(self._promising(penalty))
            self.curvature = curvature
            target = self._newton_target(curvature, penalty, max(0.1 * tol, 0.02 * largest))
            full_step = self._step_towards(target, penalty)
            previous = largest if full_step else 0.0
            self.n_iter += 1
        return float(self.violations(penalty).max()) <= tol

    def _promising(self, penalty: float) -> IntArray:
        """Features in use, or with a derivative near the penalty."""
        near = np.abs(self.gradient[:, 1:]).max(axis=0) >= NEAR_PENALTY * penalty
        return np.flatnonzero(near | (self.coefficient[:, 1:] != 0.0).any(axis=0))

    def _curvature_at(self, features: IntArray) -> Curvature:
        design, probability = self.design, self.probability
        n_classes, size = design.n_classes, 1 + len(features)
        rows = design.rows
        if size < rows.shape[1]:
            rows = np.ascontiguousarray(rows[:, np.concatenate(([0], 1 + features))])
        # H_kl = -sum_i w_i p_k p_l x_i x_i' for k != l, and H_kk = -sum_{l != k} H_kl
        hessian = np.zeros((n_classes, size, n_classes, size))
        for k in range(n_classes):
            for m in range(k):
                block = weighted_cross_product(rows, design.weight * probability[k] * probability[m])
                hessian[k, :, m] = hessian[m, :, k] = -block
                hessian[k, :, k] += block
                hessian[m, :, m] += block
        n_free = (n_classes - self.first) * (size - 1)
        block_bb = hessian[self.first :, 1:, self.first :, 1:].reshape(n_free, n_free)
        block_0b = hessian[1:, 0, self.first :, 1:].reshape(n_classes - 1, n_free)
        block_00 = hessian[1:, 0, 1:, 0].copy()
        block_00[np.diag_indices_from(block_00)] += 1e-9 * block_00.max() + 1e-15
        inverse = np.asarray(np.linalg.inv(block_00), dtype=np.float64)
        # Q = H_bb - H_b0 H_00^-1 H_0b, kept positive on its diagonal
        reduced = block_bb.copy()
        for k in range(n_classes - 1):
            for m in range(n_classes - 1):
                reduced -= inverse[k, m] * np.multiply.outer(block_0b[k], block_0b[m])
        diagonal = np.diag_indices_from(reduced)
        reduced[diagonal] = np.maximum(reduced[diagonal], 0.0) + 1e-9 * block_bb.max(initial=0.0) + 1e-15
        return Curvature(features, reduced, block_0b, inverse)

    def _newton_target(self, curvature: Curvature, penalty: float, tol: float) -> FloatArray:
        """Return the coefficients that minimise the penalised quadratic approximation of the loss."""
        block_0b, inverse, first = curvature.intercept_on_coefficient, curvature.intercept_inverse, self.first
        inside = 1 + curvature.features
        start = self.coefficient[first:, inside].ravel()
        gradient_0 = self.gradient[1:, 0]
        # g_b - H_b0 H_00^-1 g_0
        gradient_b = self.gradient[first:, inside].ravel()
        gradient_b = gradient_b - ((inverse @ gradient_0)[:, None] * block_0b).sum(axis=0)
        b = quadratic_lasso(curvature.reduced, gradient_b, start, penalty, len(self.coefficient), tol, MAX_SWEEPS)
        target = self.coefficient.copy()
        target[first:, inside] = b.reshape(len(target) - first, -1)
        # intercepts: -H_00^-1 (g_0 + H_0b (b - start))
        target[1:, 0] -= inverse @ (gradient_0 + (block_0b * (b - start)).sum(axis=1))
        return target

    def _step_towards(self, target: FloatArray, penalty: float) -> bool:
        """Move to `target`, or as far towards it as lowers the penalised loss; tell whether all the way."""
        design = self.design
        direction = target - self.coefficient
        l1_norm = np.abs(self.coefficient[:, 1:]).sum()
        objective = self.loss + penalty * l1_norm
        promised = (self.gradient * direction).sum() + penalty * (np.abs(target[:, 1:]).sum() - l1_norm)
        slack = 1e-13 * (1.0 + objective)
        change = np.empty_like(self.scores)
        linear_scores(design.columns, direction, change)
        length = 1.0
        for _ in range(60):
            coefficient = target if length == 1.0 else self.coefficient + length * direction
            scores = self.scores + length * change
            loss = log_loss(scores, design.label, design.weight, self._trial)
            reached = loss + penalty * np.abs(coefficient[:, 1:]).sum()
            if reached <= objective + 1e-4 * length * promised + slack:
                self.coefficient, self.scores, self.loss = coefficient, scores, loss
                self.probability, self._trial = self._trial, self.probability
                self.gradient = log_loss_gradient(design.rows, design.label, design.weight, self.probability)
                break
            length *= 0.5
        return length == 1.0
