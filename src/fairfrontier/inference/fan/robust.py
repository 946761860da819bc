"""The robust test over the fan for the risks of two groups, in the form of the other tests of a pair."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import ndtr

from ...arrays import FloatArray, IntArray
from ...frontier.criteria import CriteriaRows
from ...frontier.fan import by_group
from ...frontier.rule_sums import (
    FixedRules,
    Kinds,
    RuleSums,
    RuleTest,
    Units,
    fix_rules,
    standing_by_sums,
    values_by_sums,
)
from ...frontier.rule_values import changed_share, step
from .cells import LARGE, Cells, Refinement, Weakest, cut_cells
from .evidence import default_refinement
from .forms import standing_of


@dataclass(frozen=True, slots=True)
class FanTest(RuleTest):
    """Statistic of the test, the direction (2,) at which it is smallest, and its p-value."""

    p_value: float


def fan_test(
    rows: CriteriaRows, decisions: FloatArray, folds: IntArray, *, smallest: float, n_jobs: int | None = None
) -> FanTest:
    """Test an algorithm with ``decisions`` (n,) in the order of the sample; no p-value is below ``smallest``.

    The statistic, the weakest slack in its standard errors, is compared with the standard normal law.
    """
    fan, standing = standing_of(rows, decisions, folds)
    cells = cut_cells(rows, standing, fan, default_refinement(fan), n_jobs)
    weakest = cells.weakest()
    changed = changed_share(rows, standing, step(rows, standing, weakest.rule)) if cells.steps else None
    return with_p_value(_test_of(weakest, changed), smallest)


def with_p_value(test: RuleTest, smallest: float) -> FanTest:
    """Compare the statistic of a test with the standard normal law; no p-value is below ``smallest``."""
    # a slack that is 0 up to rounding, as of an algorithm that is a best rule, is no evidence at all
    p_value = 1.0 if test.statistic == 0.0 else max(float(ndtr(-test.statistic)), smallest)
    return FanTest(test.statistic, test.direction, test.share_changed, p_value)


def _test_of(weakest: Weakest, share_changed: float | None) -> RuleTest:
    direction: FloatArray = -weakest.weights / np.hypot(*weakest.weights)
    return RuleTest(float(np.clip(weakest.t, -LARGE, LARGE)), direction, share_changed)


@dataclass(frozen=True, slots=True, eq=False)
class ChosenRules:
    """Cells of the fan that were cut by some of the rows, and their ``rules``, to be summed over all of them."""

    cells: Cells
    rules: FixedRules


def choose_rules(
    rows: CriteriaRows, decisions: FloatArray, folds: IntArray, *, times: float, n_jobs: int | None = None
) -> ChosenRules:
    """Choose the rules of a test of ``times`` as many people, by some of them.

    With so many, slacks are the root of that more standard errors, so as many fewer standard errors of these rows
    decide which cells are worth cutting.
    """
    fan, standing = standing_of(rows, decisions, folds)
    usual, less = default_refinement(fan), 1.0 / np.sqrt(times)
    refinement = Refinement(usual.budget, usual.loss * less, usual.band * less, usual.hopeless * less)
    cells = cut_cells(rows, standing, fan, refinement, n_jobs)
    used, at = np.unique(cells.rules, return_inverse=True)
    shares = rows.by_criterion(rows.mass[rows.entry_rows])
    rules = fix_rules(cells.values.directions[used], shares, rows, steps=cells.steps)
    return ChosenRules(replace(cells, rules=at), rules)


def fan_test_by_sums(chosen: ChosenRules, sums: RuleSums, units: Units, kinds: Kinds, n_rep: int) -> RuleTest:
    """Test an algorithm by what the rules chosen change, summed over all rows."""
    aims = by_group(chosen.rules.directions.shape[1])
    standing = standing_by_sums(sums, units, kinds, aims, n_rep)
    values = values_by_sums(chosen.rules, sums, units, standing, aims)
    cells = replace(chosen.cells, values=values, standing=standing)
    weakest = cells.weakest()
    if not cells.steps:
        return _test_of(weakest, None)
    rule = int(np.flatnonzero((values.directions == weakest.rule).all(axis=1))[0])
    shares = sums.group_shares()
    return _test_of(weakest, float(shares @ values.changed[rule, :, 0]))
