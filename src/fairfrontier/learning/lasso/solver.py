"""Solver of the L1-penalised logistic regression: proximal Newton steps along a path of penalties.

The curvature of the loss is reused from step to step and from penalty to penalty until progress slows.
"""

from dataclasses import dataclass

import numpy as np

from ...arrays import BoolArray, FloatArray, IntArray
from .kernels import (
    SLOW_PROGRESS,
    Curvature,
    Rows,
    State,
    concentrate,
    curvature_blocks,
    linear_scores,
    log_loss,
    log_loss_gradient,
    newton_steps,
    violations,
)

#: Features with a derivative above this share of the penalty enter the curvature before they are needed.
NEAR_PENALTY = 0.7


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
        return np.asarray(violations(self.coefficient, self.gradient, penalty, self.first))

    def minimise(self, penalty: float, tol: float) -> bool:
        """Move to the minimum at `penalty`.

        Returns whether every first-order condition holds up to `tol`, which only `max_iter` can prevent.
        """
        left, previous = self.max_iter, np.inf
        design = self.design
        rows = Rows(design.rows, design.columns, design.label, design.weight)
        while left > 0:
            violation = self.violations(penalty)
            largest = float(violation.max())
            if largest <= tol:
                return True
            curvature = self._renewed(violation, penalty, slow=largest > SLOW_PROGRESS * previous)
            state = State(self.coefficient, self.scores, self.probability, self.gradient)
            before, aim = left, (penalty, tol, self.first)
            self.loss, previous, left = newton_steps(rows, state, self.loss, curvature, aim, previous, left)
            self.n_iter += before - left
        return float(self.violations(penalty).max()) <= tol

    def _renewed(self, violation: FloatArray, penalty: float, *, slow: bool) -> Curvature:
        """Return the curvature for the next step: the last one, unless it lacks a feature or progress is slow."""
        last = self.curvature
        used = np.zeros(violation.shape[1] - 1, dtype=bool)
        if last is not None:
            outside = violation[:, 1:].max(axis=0) > 0.0
            outside[last.features] = False
            if outside.any():
                used = outside
                used[last.features] = True
            elif not slow:
                return last
        self.curvature = self._curvature_at(np.flatnonzero(used | self._promising(penalty)))
        return self.curvature

    def _promising(self, penalty: float) -> BoolArray:
        """Features in use, or with a derivative near the penalty."""
        near = np.abs(self.gradient[:, 1:]).max(axis=0) >= NEAR_PENALTY * penalty
        return np.asarray(near | (self.coefficient[:, 1:] != 0.0).any(axis=0))

    def _curvature_at(self, features: IntArray) -> Curvature:
        rows = self.design.rows
        if 1 + len(features) < rows.shape[1]:
            rows = np.ascontiguousarray(rows[:, np.concatenate(([0], 1 + features))])
        block_bb, block_0b, block_00 = curvature_blocks(rows, self.design.weight, self.probability, self.first)
        block_00[np.diag_indices_from(block_00)] += 1e-9 * block_00.max() + 1e-15
        inverse = np.asarray(np.linalg.inv(block_00), dtype=np.float64)
        return Curvature(features, concentrate(block_bb, block_0b, inverse), block_0b, inverse)
