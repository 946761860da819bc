"""Evidence on alternatives that make no criterion worse, such as the risk of any of several groups and their range.

The robust test over the fan: every cell has a rule, chosen by predictions, whose slack is tested one-sidedly at every
corner of the cell. The p-value is the largest of all. Slacks are means of rows with rules held, so each has a normal
distribution in large samples with a variance that one pass over the rows estimates; drawing some thousand rules anew
by the bootstrap would cost a thousand passes and estimate the same variance.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from math import gcd

import numpy as np
from scipy import stats

from ...arrays import FloatArray, IntArray
from ...data.result import PlainDict, Result, plain_items
from ...frontier.criteria import CriteriaRows
from ...frontier.fan import Aims, Fan
from ...frontier.fan import by_group as risks_by_group
from ...frontier.rule_values import RuleValuer, RuleValues, changed_share, predicted_sizes, slacks, step
from ...frontier.standing import rounding
from ..aware.groups import GroupTest, decided_alone
from ..p_values import normal_p_value
from .cells import Cells, Refinement, cut_cells
from .forms import direction_forms, draw_largest, standing_of
from .menu import group_menu, menu_of
from .witness import ByGroup, JointWitness, choose_witness, slack_units

BUDGET = {2: 2_000, 3: 4_000, 4: 12_000, 5: 24_000}
"""Rules that are valued at most, by number of generators of a cone: for the risks of groups that of groups."""
SHOWN_BELOW = 0.5
"""No level is as large as this, so no alternative is shown with a p-value that is not below it."""
MOST_DIRECTIONS = 700
"""Directions at most in which an algorithm is compared with what is attainable."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class JointEvidence(Result):
    """What the data say about alternatives to one algorithm for all groups together, whatever the level.

    ``risk`` (K,) of the groups, and the ``criteria`` (J,) that are compared, the risks themselves unless others were
    asked for. ``widths`` that must not grow: the range of the risks, or the gap of each group to the reference, as
    estimated by differences chosen on other folds, with ``width_errors``. The test is decided at net ``weights`` (J,)
    of the criteria by the ``slack`` of a rule with its ``standard_error``. ``n_rules`` rules in ``n_cells`` cells were
    tested; ``loss`` is what cells cost, in standard errors, as predicted; ``finished``: whether more cells were of no
    use, rather than the budget spent. ``gain``, ``gain_error`` and ``gain_weights`` (A,): the smallest estimated gain
    of a best rule in a weighted mean of the risks, as predicted; of the A criteria that must not be higher, one for
    each group or one overall. ``best_p_value`` (A,): that the algorithm is no better for a group than the learner's
    best rule for it.
    ``share_changed``: if rules take steps from the algorithm, the share of all decisions that the step which decides
    the test changes. ``aims``: what must not get worse, by positions of criteria.
    ``by_group``: among rules that see the group, the tests of single groups; ``together_p_value`` is then that of the
    test over the fan, and the p-value the smallest of all after Holm's adjustment. If a group decides, the ``witness``
    changes decisions about it, and ``weights`` are those of that group.
    """

    risk: FloatArray
    criteria: FloatArray
    widths: FloatArray
    width_errors: FloatArray
    slack: float
    standard_error: float
    weights: FloatArray
    p_value: float
    feasibility_t: float
    feasibility_p_value: float
    best_p_value: FloatArray
    gain: float
    gain_error: float
    gain_weights: FloatArray
    n_rules: int
    n_cells: int
    loss: float
    finished: bool
    share_changed: float | None
    witness: JointWitness | None
    aims: Aims
    by_group: tuple[GroupTest, ...] = ()
    together_p_value: float | None = None

    @property
    def changes_one(self) -> bool:
        """Whether the test of a single group decides, so that an alternative changes decisions about it alone."""
        return decided_alone(self.by_group, self.together_p_value)

    @property
    def heading(self) -> str:
        """One line that says what this is."""
        return "Evidence on alternatives to one algorithm, all groups together"

    def _facts(self) -> dict[str, object]:
        return {
            "risk": self.risk,
            "criteria": self.criteria,
            "widths": self.widths,
            "slack": self.slack,
            "standard_error": self.standard_error,
            "weights": self.weights,
            "p_value": self.p_value,
            "feasibility_p_value": self.feasibility_p_value,
            "n_rules": self.n_rules,
            "n_cells": self.n_cells,
            "loss": self.loss,
        }

    def to_dict(self) -> PlainDict:
        """Return plain numbers and text for JSON, with the witness and what bounds gains."""
        names = (
            "feasibility_t",
            "best_p_value",
            "gain",
            "gain_error",
            "gain_weights",
            "finished",
            "share_changed",
            "witness",
        )
        more: dict[str, object] = {name: getattr(self, name) for name in names}
        return plain_items(
            self._facts() | more | {"by_group": list(self.by_group), "together_p_value": self.together_p_value}
        )

    @property
    def measure(self) -> FloatArray:
        """The measure (K,) of each group whose spread must not be larger."""
        return self.criteria[list(self.aims.spread)]

    def gain_bound(self, alpha: float) -> float:
        """Upper bound of level 1 - alpha on the gain in the mean of the risks with ``gain_weights``, never below 0."""
        return max(0.0, self.gain + float(stats.norm.isf(alpha)) * self.gain_error)


def joint_evidence(
    rows: CriteriaRows,
    decisions: FloatArray,
    folds: IntArray,
    *,
    aims: Aims | None = None,
    by_group: ByGroup | None = None,
    refinement: Refinement | None = None,
    n_draws: int = 1000,
    seed: np.random.SeedSequence,
    n_jobs: int | None = None,
) -> JointEvidence:
    """Test one algorithm with ``decisions`` (n,) in the order of the sample.

    ``folds`` (n,): each estimates the width chosen on the others; ``aims``: what must not get worse, by default the
    risk of any group and their range; ``by_group`` is needed where the criteria are others than the groups' risks.
    ``n_draws`` of the largest of several normal variables, for feasibility and bounds.
    """
    aims = risks_by_group(rows.n_criteria) if aims is None else aims
    fan, standing = standing_of(rows, decisions, folds, aims)
    n, value_rules = rows.n_criteria, RuleValuer(rows, standing, n_jobs)
    cells = cut_cells(rows, standing, fan, refinement or default_refinement(fan), n_jobs)
    weakest = cells.weakest()
    values, own = _best_rules(cells, np.arange(aims.lower - aims.further), value_rules)
    at_units = slacks(values, standing, own, cells.corners[: len(own)])
    gain, gain_error, gain_weights = _smallest_gain(cells, aims, value_rules)
    p_value, witness = normal_p_value(weakest.t), None
    if p_value < SHOWN_BELOW:
        menu = group_menu(rows, fan, standing, menu_of(aims, fan, rows), n_draws=n_draws, seed=seed, n_jobs=n_jobs)
        witness = choose_witness(menu, rows, slack_units(fan, rows), by_group)
        if witness.slack.min() <= 0.0:
            witness = None  # an alternative is shown to exist, and none is estimated to be better in every respect
    round_about = all_round(n) if aims.alike else all_round(n) / predicted_sizes(np.eye(n), rows)
    feasibility_t, feasibility_p = _feasibility(value_rules, round_about, n_draws, seed)
    return JointEvidence(
        risk=standing.theta[:n] if by_group is None else by_group(decisions)[0],
        criteria=standing.theta[:n],
        widths=standing.theta[n:],
        width_errors=np.sqrt(np.diag(standing.covariance)[n:]),
        slack=weakest.slack,
        standard_error=weakest.standard_error,
        weights=weakest.weights,
        p_value=p_value,
        feasibility_t=feasibility_t,
        feasibility_p_value=feasibility_p,
        best_p_value=stats.norm.cdf(at_units.t),
        gain=gain,
        gain_error=gain_error,
        gain_weights=gain_weights,
        n_rules=len(cells.values),
        n_cells=len(cells.rules),
        loss=cells.loss,
        finished=cells.finished,
        share_changed=changed_share(rows, standing, step(rows, standing, weakest.rule)) if cells.steps else None,
        witness=witness,
        aims=aims,
    )


def default_refinement(fan: Fan) -> Refinement:
    """When to stop cutting the cells of a fan."""
    return Refinement(BUDGET.get(fan.cones.shape[1], max(BUDGET.values())))


def _best_rules(cells: Cells, at: IntArray, value_rules: RuleValuer) -> tuple[RuleValues, IntArray]:
    """Values of the best rules at some corners, which take no steps, and the rules' positions among them."""
    if not cells.steps:
        return cells.values, cells.own[at]
    return value_rules(cells.corners[at, : value_rules.rows.n_criteria]), np.arange(len(at))


def _smallest_gain(cells: Cells, aims: Aims, value_rules: RuleValuer) -> tuple[float, float, FloatArray]:
    """The gain of a best rule in a mean of the risks with weights >= 0, at the corner with the least by prediction."""
    a = aims.lower - aims.further
    p, others = cells.corners[:, :a], cells.corners[:, a:]
    among = np.flatnonzero((p >= 0.0).all(axis=1) & (others == 0.0).all(axis=1))
    size = p[among].sum(axis=1)
    values, own = _best_rules(cells, among, value_rules)
    predicted = slacks(values, cells.standing, own, cells.corners[among], predicted=True)
    k = int((predicted.value / size).argmin())
    found = slacks(values, cells.standing, own[[k]], cells.corners[among[[k]]])
    return float(found.value[0] / size[k]), float(found.error[0] / size[k]), p[among[k]] / size[k]


def all_round(n: int) -> FloatArray:
    """Directions (F, n) all round, of small integers without a common factor, not more than `MOST_DIRECTIONS`.

    Of many groups only one or two have a weight at a time.
    """
    largest = 1
    while (2 * largest + 3) ** n <= MOST_DIRECTIONS:
        largest += 1
    every = product(range(-largest, largest + 1), repeat=n)
    most = n if 3**n <= MOST_DIRECTIONS else 2
    return np.array([p for p in every if gcd(*p) == 1 and np.count_nonzero(p) <= most], dtype=np.float64)


def _feasibility(
    value_rules: RuleValuer, directions: FloatArray, n_draws: int, seed: np.random.SeedSequence
) -> tuple[float, float]:
    """T, the largest excess of an algorithm over what rules attain in its standard errors, and its p-value.

    In direction p the excess is p'(c - c*) with c the criteria of the best rule by prediction, which is positive where
    even this rule does worse. Under the null all of them are taken to be 0, the least favourable case. Standard errors
    have what dependent folds add.
    """
    rows, standing = value_rules.rows, value_rules.standing
    value, covariance = direction_forms(rows, standing, directions)
    excess, variance = -value, np.diag(covariance)
    nothing = rounding(standing, directions)
    varies = np.sqrt(variance) > nothing
    if (excess[~varies] > nothing[~varies]).any():
        return np.inf, 1.0 / (1.0 + n_draws)
    spread = np.sqrt(variance + added_to_forms(value_rules, directions))
    t = float((excess[varies] / spread[varies]).max(initial=0.0))
    if t <= 0.0:
        return 0.0, 1.0
    draws = draw_largest(covariance[np.ix_(varies, varies)], n_draws, seed)
    return t, float((1 + np.count_nonzero(draws >= t)) / (1 + n_draws))


def added_to_forms(value_rules: RuleValuer, directions: FloatArray) -> FloatArray:
    """What dependent folds add to the variances (F,) of p'(c* - c) for the rules of directions p (F, J)."""
    if value_rules.standing.factor == 0.0:
        return np.zeros(len(directions))
    added: FloatArray = np.einsum("fj,fjk,fk->f", directions, value_rules(directions).added, directions)
    return added
