"""Population values of a design whose conditional expectations are known."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd

from ..arrays import ArrayLike, FloatArray
from ..frontier.sets import best_points
from ..frontier.support import Arcs, build_support_function, make_scores


@dataclass(frozen=True, slots=True)
class PopulationTruth:
    """Population values of a design under classification loss; coordinates are (group r, group b).

    ``R``, ``B``, ``F`` are the best point of group r, of group b and the fairest point.
    """

    design: str
    R: FloatArray
    B: FloatArray
    F: FloatArray
    _arcs: Arcs
    _covariates: Callable[[], pd.DataFrame]
    _success: tuple[FloatArray, FloatArray]
    _share_r: FloatArray | float

    def support(self, q: ArrayLike) -> FloatArray:
        """Population support function at directions ``q`` (k, 2), shape (k,)."""
        return self._arcs.h(q)

    def support_set(self, q: ArrayLike) -> FloatArray:
        """Population risk pairs attained in directions ``q`` (k, 2), shape (k, 2)."""
        return self._arcs.support_set(q)

    def risks(self, decide: Callable[[pd.DataFrame], ArrayLike]) -> FloatArray:
        """Population risk pair of an algorithm: ``decide`` maps covariates to decisions in [0, 1]."""
        a = np.asarray(decide(self._covariates()), dtype=float)
        in_r = np.broadcast_to(self._share_r, a.shape)
        # E[a 1{y=0} + (1-a) 1{y=1} | group]: rows weigh by the probability that they are of the group
        losses = [p + a * (1.0 - 2.0 * p) for p in self._success]
        return np.array([np.average(losses[0], weights=in_r), np.average(losses[1], weights=1.0 - in_r)])


def population_truth(
    design: str,
    covariates: Callable[[], pd.DataFrame],
    success: tuple[FloatArray, FloatArray],
    share_r: FloatArray | float,
) -> PopulationTruth:
    """Average known conditional expectations over points of the covariates.

    ``success`` are P(y = 1 | x, group) in group r and in group b, ``share_r`` is P(group r | x).
    """
    n = len(success[0])
    in_r = np.broadcast_to(np.asarray(share_r, dtype=float), (n,))
    # Two copies of the points, one per group, weighted by P(group | x): then group sums of E[loss | x, group]
    # are population risks, and Dtheta^g = P(g | x) E[dl | x, g] in both copies.
    mean_dl = np.column_stack([1.0 - 2.0 * success[0], 1.0 - 2.0 * success[1]])
    t = mean_dl * np.column_stack([in_r, 1.0 - in_r])
    scores = make_scores(
        l0=np.concatenate(success),
        dl=np.concatenate([mean_dl[:, 0], mean_dl[:, 1]]),
        t=np.vstack([t, t]),
        group=np.repeat([0, 1], n),
        weight=np.concatenate([in_r, 1.0 - in_r]),
    )
    arcs = build_support_function(scores).estimate
    points = best_points(arcs)
    return PopulationTruth(design, points.R, points.B, points.F, arcs, covariates, success, share_r)
