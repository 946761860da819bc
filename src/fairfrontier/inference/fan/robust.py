"""The robust test over the fan for the risks of two groups, in the form of the other tests of a pair."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ...arrays import FloatArray, IntArray
from ...frontier.criteria import CriteriaRows, risk_rows
from ...frontier.fan import by_group
from ...frontier.rule_sums import (
    BlockRows,
    FixedRules,
    Kinds,
    RuleSums,
    RuleTest,
    Units,
    fix_rules,
    kinds_of,
    no_sums,
    standing_by_sums,
    sum_rows,
    units_of,
    values_by_sums,
)
from ...frontier.rule_values import changed_share, step
from ..p_values import normal_p_value
from .cells import LARGE, Cells, Refinement, Weakest, cut_cells
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
    changed = changed_share(rows, standing, step(rows, standing, weakest.rule)) if cells.steps else None
    return with_p_value(_test_of(cells, weakest, changed), smallest)


def with_p_value(test: RuleTest, smallest: float) -> FanTest:
    """Compare the statistic of a test with the standard normal law; no p-value is below ``smallest``."""
    t = float(np.clip(test.statistic, -LARGE, LARGE))
    return FanTest(t, test.direction, normal_p_value(t, smallest), test.share_changed)


def _test_of(cells: Cells, weakest: Weakest, share_changed: float | None) -> RuleTest:
    standing, n = cells.standing, len(weakest.weights)
    return RuleTest(
        slack=weakest.slack,
        standard_error=weakest.standard_error,
        statistic=weakest.t,
        weights=weakest.weights,
        share_changed=share_changed,
        criteria=standing.theta[:n],
        widths=standing.theta[n:],
        width_errors=np.sqrt(np.maximum(np.diag(standing.covariance)[n:], 0.0)),
        n_rules=len(cells.values),
        n_cells=len(cells.rules),
        loss=cells.loss,
        finished=cells.finished,
    )


CHOOSING_ROWS = 200_000
"""People at most by whom the rules of the robust test are chosen where there are many."""
SMALL_GROUP = 5_000
"""People of every group who choose them at least, if there are so many."""
BLOCK = 2**16
"""People whose contributions to the sums of rules are added up together."""


def people_for_choosing(group: IntArray, seed: np.random.SeedSequence) -> tuple[IntArray, FloatArray]:
    """Draw the people by whom rules are chosen, and say how many people of their groups (n,) each stands for.

    Of a small group there are more than its share, so that all groups and folds are known.
    """
    n, rng = len(group), np.random.default_rng(seed)
    if n <= CHOOSING_ROWS:
        return np.arange(n), np.ones(n)
    drawn = []
    for code in range(int(group.max()) + 1):
        own = np.flatnonzero(group == code)
        size = min(len(own), max(SMALL_GROUP, CHOOSING_ROWS * len(own) // n))
        drawn.append(np.sort(rng.choice(own, size, replace=False, shuffle=False)))
    some = np.concatenate(drawn)
    times: FloatArray = (np.bincount(group) / np.maximum(np.bincount(group[some]), 1))[group[some]]
    return some, times


@dataclass(frozen=True, slots=True, eq=False)
class ChosenRules:
    """Cells of the fan that were cut by some of the rows, and their ``rules``, to be summed over all of them."""

    cells: Cells
    rules: FixedRules


def rules_for(
    rows: BlockRows, decisions: FloatArray, seed: np.random.SeedSequence, *, n_used: int, n_jobs: int | None = None
) -> ChosenRules:
    """Choose the rules of a test of ``n_used`` people by some of the rows, if there are many."""
    some, stands_for = people_for_choosing(rows.group, seed)
    own = rows.take(some)
    t = own.t.reshape(-1, rows.t.shape[2])
    criteria = risk_rows(own.base, own.change, t, own.group, own.weight * stands_for)
    return choose_rules(criteria, decisions[some], own.fold, times=max(1.0, n_used / len(some)), n_jobs=n_jobs)


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
        return _test_of(cells, weakest, None)
    rule = int(np.flatnonzero((values.directions == weakest.rule).all(axis=1))[0])
    shares = sums.group_shares(units)
    return _test_of(cells, weakest, float(shares @ values.changed[rule, :, 0]))


@dataclass(frozen=True, slots=True, eq=False)
class ManyRows:
    """Many people in memory, some of whom choose the rules of the robust test; all are summed over."""

    rows: BlockRows
    seed: np.random.SeedSequence
    n_jobs: int | None = None

    def test(self, decisions: FloatArray) -> RuleTest:
        """Test an algorithm with ``decisions`` (n,)."""
        rows, n, n_folds = self.rows, len(self.rows.group), int(self.rows.fold.max())
        chosen = rules_for(rows, decisions, self.seed, n_used=n, n_jobs=self.n_jobs)
        kinds = kinds_of(rows)
        units, sums = units_of(kinds), no_sums(chosen.rules, n_folds)
        for start in range(0, n, BLOCK):
            block = slice(start, start + BLOCK)
            sums.add(sum_rows(chosen.rules, rows.take(block), decisions[block], units, n_folds))
        return fan_test_by_sums(chosen, sums, units, kinds, len(rows.t))
