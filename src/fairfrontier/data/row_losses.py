"""What decisions cost, row by row: the stage between a loss and everything that averages it."""

from __future__ import annotations

from dataclasses import dataclass

from ..arrays import BoolArray, FloatArray, IntArray
from .losses import Loss


@dataclass(frozen=True, slots=True)
class RowLosses:
    """Loss of either decision in every row.

    Attributes
    ----------
    l0 : array (n,)
        Loss of decision 0.
    dl : array (n,)
        Loss of decision 1 less that of decision 0.
    """

    l0: FloatArray
    dl: FloatArray

    def of(self, decisions: FloatArray | BoolArray) -> FloatArray:
        """Return the expected losses (..., n) of decisions (..., n), chances of decision 1."""
        expected: FloatArray = self.l0 + decisions * self.dl
        return expected

    def take(self, rows: IntArray) -> RowLosses:
        """Return some of the rows, by position."""
        return RowLosses(self.l0[rows], self.dl[rows])


def row_losses(loss: Loss, y: FloatArray) -> RowLosses:
    """Apply a loss to the outcomes ``y`` (n,)."""
    l0, l1 = loss.at_decisions(y)
    return RowLosses(l0, l1 - l0)
