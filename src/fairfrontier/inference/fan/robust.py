"""The robust test over the fan for the risks of two groups, in the form of the other tests of a pair."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from ...arrays import FloatArray, IntArray
from ...frontier.criteria import CriteriaRows
from ...frontier.rule_values import changed_share, step
from .cells import LARGE, cut_cells
from .evidence import default_refinement
from .forms import standing_of


@dataclass(frozen=True, slots=True)
class FanTest:
    """Statistic of the test, the direction (2,) at which it is smallest, and its p-value.

    ``share_changed``: if rules take steps, the share of all decisions that the step which decides the test changes.
    """

    statistic: float
    direction: FloatArray
    p_value: float
    share_changed: float | None


def fan_test(
    rows: CriteriaRows, decisions: FloatArray, folds: IntArray, *, smallest: float, n_jobs: int | None = None
) -> FanTest:
    """Test an algorithm with ``decisions`` (n,) in the order of the sample; no p-value is below ``smallest``.

    The statistic, the weakest slack in its standard errors, is compared with the standard normal law.
    """
    fan, standing = standing_of(rows, decisions, folds)
    cells = cut_cells(rows, standing, fan, default_refinement(fan), n_jobs)
    weakest = cells.weakest()
    t = float(np.clip(weakest.t, -LARGE, LARGE))
    direction: FloatArray = -weakest.weights / np.hypot(*weakest.weights)
    changed = changed_share(rows, standing, step(rows, standing, weakest.rule)) if cells.steps else None
    # a slack that is 0 up to rounding, as of an algorithm that is a best rule, is no evidence at all
    return FanTest(t, direction, 1.0 if t == 0.0 else max(float(ndtr(-t)), smallest), changed)
