"""Mixtures of rules for more than two groups, best by predictions: smallest range, smallest largest risk.

Over all rules these are linear programmes with as many variables as rows. Only a few rules matter: starting from some,
the programme over their mixtures prices the groups by its dual weights p, and the rule that is best for p, which
selects where p'vector < 0, joins them, until no rule improves on the mixture.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import linprog

from ..arrays import FloatArray
from .criteria import CriteriaRows

MOST_RULES = 1_000
"""Rules at most that are looked at."""
ENOUGH = 1e-6
"""Improvement, relative to the size of the criteria, that is not sought any more: programmes are solved to 1e-7."""
SMALL_SHARE = 1e-9
"""Shares of a mixture below this are rounding."""


@dataclass(frozen=True, slots=True)
class Predicted:
    """Rows as predictions see them: ``base`` (J,) are the criteria of selecting nobody, by outcomes."""

    rows: CriteriaRows
    base: FloatArray

    def chances(self, p: FloatArray) -> FloatArray:
        """Chances (n,) of selection by the rule that is best for weights p (J,), in the order of the rows."""
        return self.rows.chances(p)

    def criteria(self, chances: FloatArray) -> FloatArray:
        """Predicted criteria (J,) of a rule."""
        found: FloatArray = self.base + (self.rows.mass * chances) @ self.rows.vectors
        return found


@dataclass(frozen=True, slots=True)
class Mixture:
    """A mixture of rules: each is best for a row of ``directions`` (L, J) and has a share; ``weights`` (J,) price it.

    ``value``: what it minimises, by the predictions; ``criteria`` (J,): its predicted criteria.
    """

    directions: FloatArray
    shares: FloatArray
    weights: FloatArray
    value: float
    criteria: FloatArray

    def chances(self, predicted: Predicted) -> FloatArray:
        """Chances (n,) of selection in the order of the rows."""
        each = [share * predicted.chances(p) for p, share in zip(self.directions, self.shares, strict=True)]
        total: FloatArray = np.sum(each, axis=0)
        return total


def smallest_range(predicted: Predicted) -> Mixture:
    """The mixture with the smallest range of the criteria, and of these with the smallest mean."""
    return _minimise(predicted, bottom=True)


def smallest_largest(predicted: Predicted) -> Mixture:
    """The mixture whose largest criterion is smallest, and of these with the smallest mean."""
    return _minimise(predicted, bottom=False)


class _Programme:
    """Mixtures of the rules so far, with criteria C (R, J): minimise top - bottom, or top, then the mean."""

    def __init__(self, predicted: Predicted, bottom: bool) -> None:
        self.predicted, self.bottom = predicted, bottom
        self.n = predicted.rows.n_criteria
        self.directions: list[FloatArray] = []
        self.criteria: list[FloatArray] = []
        for p in (*np.eye(self.n), np.ones(self.n), *(1.0 - self.n * np.eye(self.n) * 0.999)):
            self.add(p)

    def add(self, p: FloatArray) -> FloatArray:
        """Add the rule that is best for p and return its criteria."""
        found = self.predicted.criteria(self.predicted.chances(p))
        self.directions.append(p)
        self.criteria.append(found)
        return found

    def solve(self, widest: float | None) -> tuple[FloatArray, FloatArray, float]:
        """Shares (R,) of the best mixture, dual weights (J,) and value.

        Variables are the shares, top and bottom; ``widest``: the mean is minimised within this value of top - bottom.
        """
        C, r = np.array(self.criteria), len(self.criteria)
        first = widest is None
        sign = 1.0 if self.bottom else 0.0
        cost = np.concatenate([np.zeros(r) if first else C.mean(axis=1), [1.0, -sign] if first else [0.0, 0.0]])
        above = np.hstack([C.T, -np.ones((self.n, 1)), np.zeros((self.n, 1))])
        below = np.hstack([-C.T, np.zeros((self.n, 1)), np.ones((self.n, 1))])
        parts, limits = [above, below], [np.zeros(2 * self.n)]
        if widest is not None:
            parts.append(np.concatenate([np.zeros(r), [1.0, -sign]])[None])
            limits.append(np.array([widest]))
        total = np.concatenate([np.ones(r), [0.0, 0.0]])[None]
        lowest = (None, None) if self.bottom else (float(C.min()) - 1.0, float(C.min()))
        free: list[tuple[float | None, float | None]] = [*([(0.0, None)] * r), (None, None), lowest]
        found = linprog(cost, np.vstack(parts), np.concatenate(limits), total, [1.0], bounds=free, method="highs-ds")
        marginal = -np.asarray(found.ineqlin.marginals)  # >= 0
        p = marginal[: self.n] - marginal[self.n : 2 * self.n] + (0.0 if first else 1.0 / self.n)
        return np.maximum(found.x[:r], 0.0), p, float(found.fun)


def _minimise(predicted: Predicted, *, bottom: bool) -> Mixture:
    """Add rules while some rule improves on the mixture: first in the aim, then in the mean without loss in the aim."""
    programme = _Programme(predicted, bottom)
    size = float(np.abs(np.array(programme.criteria)).max()) or 1.0
    widest: float | None = None
    value = np.inf
    while True:
        shares, p, found = programme.solve(widest)
        mixed = shares @ np.array(programme.criteria)
        improved = p @ mixed - p @ programme.add(p)
        if improved > ENOUGH * size * max(1.0, float(np.abs(p).sum())) and len(programme.criteria) < MOST_RULES:
            continue
        if widest is not None:
            break
        value = found
        widest = found + 0.1 * ENOUGH * size
    used = np.flatnonzero(shares > SMALL_SHARE)
    return Mixture(
        directions=np.array(programme.directions)[used],
        shares=shares[used] / shares[used].sum(),
        weights=p / float(np.abs(p).sum()),
        value=value,
        criteria=mixed,
    )
