"""Is there an alternative among rules that see the group? Each group is tested by itself.

Decisions about one group do not touch the risks of the others. So an alternative exists if some group whose risk
exceeds the smallest can be improved: a lottery between the algorithm and a better rule for that group alone lowers its
risk a little, leaves all other risks as they are, and does not widen the range. The alternative is the algorithm with
other decisions about that group; it uses what the algorithm uses, which may be more than the covariates. (Besides,
where all groups have exactly the same risk, all of them might be improved by the same amount; that case is not looked
for.)

For each group g two one-sided tests on the rows, with rules held that other folds have learned:

* improved: e*_g - e_g > 0, with e_g the risk of the learned rule in g, paired row by row;
* exceeds: e*_g - e*_m > 0, with m the group whose risk is smallest on other folds. As e*_m is at least the smallest
  risk, this shows that e*_g exceeds it.

If there is no alternative, at least one of the two is false for every group, so the larger of the two p-values is valid
for it (an intersection-union test), and Holm's adjustment over the groups keeps the level for all of them together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...arrays import BoolArray, FloatArray, IntArray
from ...bootstrap.means import MeanDraws, draw_group_means
from ...data.reading import Label
from ...data.result import Result
from ...fit import Fit
from ...frontier.dependence import covariance_of_disagreement, disagreement_factor
from ..p_values import Decision, holm


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class GroupTest(Result):
    """Whether one group's risk exceeds the smallest and can be improved by changing decisions about it alone.

    ``gain`` is what the learned rule lowers its risk by, ``excess`` by how much its risk exceeds that of the group
    with the smallest risk, as chosen on other folds; each with a p-value. ``p_value`` is the larger of the two, and
    ``p_value_adjusted`` Holm's over the groups.
    """

    group: Label
    risk: float
    gain: float
    p_value_gain: float
    excess: float
    p_value_excess: float
    p_value_adjusted: float

    @property
    def heading(self) -> str:
        """The question that is answered."""
        return f"Can group {self.group} be improved, and is its risk above the smallest?"

    @property
    def p_value(self) -> float:
        """The larger of the two p-values."""
        return max(self.p_value_gain, self.p_value_excess)

    def _facts(self) -> dict[str, object]:
        return {
            "group": str(self.group),
            "risk": self.risk,
            "gain": self.gain,
            "p_value_gain": self.p_value_gain,
            "excess": self.excess,
            "p_value_excess": self.p_value_excess,
            "p_value": self.p_value,
            "p_value_adjusted": self.p_value_adjusted,
        }


SEEING = "The algorithm is compared with rules that may see the group."


def group_sentences(tests: Sequence[GroupTest]) -> list[str]:
    """Say what the tests of single groups found."""
    return [
        f"Group {t.group}: its risk is above the smallest by {t.excess:+.4f} (p-value {t.p_value_excess:.4f}), "
        f"and the learned rule for it gains {t.gain:+.4f} (p-value {t.p_value_gain:.4f})."
        for t in tests
    ]


@dataclass(frozen=True, slots=True)
class OwnRules:
    """The learned rules that are best for each group by itself.

    ``chances`` and ``losses`` (n,): how often the lottery between the repetitions' rules selects each row, and what
    that costs; ``added`` (G,): variance of sqrt(n) times its risk in each group that the draws do not show, because
    folds learn from each other.
    """

    chances: FloatArray
    losses: FloatArray
    added: FloatArray


def own_rules(fit: Fit) -> OwnRules:
    """Return the rules that select where E[dl | x, g] of a row's own group is negative, within the bounds."""
    s, bounds, n = fit.sample, fit.bounds, fit.n_obs
    at = np.arange(n)
    lower = np.zeros(n) if bounds.lower is None else bounds.lower
    upper = np.ones(n) if bounds.upper is None else bounds.upper
    selected: list[BoolArray] = [t[at, s.group] < 0.0 for t in fit.nuisance.predictions]
    each = [np.where(own, upper, lower) for own in selected]
    losses = np.mean([fit.row_losses.of(a) for a in each], axis=0)
    added = np.zeros(len(s.groups))
    if len(each) > 1 and fit.nuisance.n_folds > 1:
        totals = np.array([s.weight[rows].sum() for rows in s.rows_by_group])
        scores = s.weight * (upper - lower) * fit.row_losses.dl / totals[s.group]
        share = np.mean(selected, axis=0)
        found = covariance_of_disagreement(scores, share, len(each), s.group, len(s.groups), s.clusters)
        added = n * disagreement_factor(fit.nuisance.n_folds) * np.diag(found)
    return OwnRules(np.mean(each, axis=0), losses, added)


def smallest_elsewhere(losses: FloatArray, group: IntArray, weight: FloatArray, folds: IntArray) -> IntArray:
    """Group (F,) with the smallest risk outside each fold, for folds numbered as in ``np.unique(folds)``.

    Only groups that have any weight inside the fold are chosen, because their risk is estimated there.
    """
    numbers = np.unique(folds)
    n_groups = int(group.max()) + 1
    chosen = np.empty(len(numbers), dtype=np.intp)
    for k, number in enumerate(numbers):
        other = folds != number
        total = np.bincount(group[other], weight[other], n_groups)
        sums = np.bincount(group[other], (weight * losses)[other], n_groups)
        inside = np.bincount(group[~other], weight[~other], n_groups)
        usable = (total > 0.0) & (inside > 0.0)
        chosen[k] = int(np.argmin(np.divide(sums, total, out=np.full(n_groups, np.inf), where=usable)))
    return chosen


def draw_smallest(fit: Fit, losses: FloatArray, folds: IntArray) -> tuple[float, FloatArray, IntArray]:
    """Estimate of the smallest risk by the groups chosen on other folds, draws (B,) of it, and groups (F,) chosen.

    Folds that choose the same group estimate its risk together; estimates count by their number of folds.
    """
    s, o = fit.sample, fit.options
    chosen = smallest_elsewhere(losses, s.group, s.weight, folds)
    candidates, count = np.unique(chosen, return_counts=True)
    position = np.searchsorted(np.unique(folds), folds)
    piece = np.full(len(losses), -1, dtype=np.intp)
    for k, g in enumerate(candidates):
        piece[(chosen[position] == g) & (s.group == g)] = k
    drawn = draw_group_means(
        losses[None],
        piece,
        len(candidates),
        s.weight,
        s.clusters,
        n_boot=o.n_boot,
        seed=fit.seeds.drawing,
        n_jobs=o.n_jobs,
    )
    share = count / count.sum()
    return float(drawn.means[0] @ share), drawn.draws[:, 0] @ share, chosen


@dataclass(frozen=True, slots=True)
class GroupEvidence:
    """Tests of every group for one algorithm, the position of the one that decides, and its decision."""

    tests: tuple[GroupTest, ...]
    decided: int
    decision: Decision

    @property
    def p_value(self) -> float:
        """P-value of the null that there is no alternative: the smallest adjusted one."""
        return self.tests[self.decided].p_value_adjusted


def groups_evidence(
    labels: Sequence[Label],
    algorithm: tuple[FloatArray, FloatArray],
    rule: tuple[FloatArray, FloatArray],
    smallest: Sequence[tuple[float, FloatArray]],
    added: FloatArray,
    n_obs: int,
) -> GroupEvidence:
    """Test every group.

    Parameters
    ----------
    labels : sequence (G,)
        The groups.
    algorithm, rule : pairs of (G,) and (B, G) arrays
        Risks of the algorithm and of the rule that is best for each group, and draws of them.
    smallest : sequence (G,) of pairs of a number and a (B,) array
        For each group the risk that it must exceed, and draws of it.
    added : (G,) array
        Variance to be added to that of sqrt(n) times the rule's risks.
    n_obs : int
        Number of rows.
    """
    root, (e, e_draws), (r, r_draws) = np.sqrt(n_obs), algorithm, rule
    scale = float(root * max(np.abs(e).max(), np.abs(r).max()))
    parts: list[tuple[Decision, Decision]] = []
    for g in range(len(labels)):
        z = root * ((e_draws[:, g] - r_draws[:, g]) - (e[g] - r[g]))
        variance = float(z.var())
        if variance > 0.0:
            z = z * np.sqrt(1.0 + added[g] / variance)
        axis = np.where(np.arange(len(labels)) == g, -1.0, 0.0)
        low, low_draws = smallest[g]
        above = root * ((e_draws[:, g] - low_draws) - (e[g] - low))
        gain = Decision(float(root * (e[g] - r[g])), axis, z, scale)
        parts.append((gain, Decision(float(root * (e[g] - low)), axis, above, scale)))
    pairs = np.array([[gain.p_value, excess.p_value] for gain, excess in parts])
    adjusted = holm(pairs.max(axis=1))
    tests = tuple(
        GroupTest(
            label,
            float(e[g]),
            parts[g][0].statistic / root,
            float(pairs[g, 0]),
            parts[g][1].statistic / root,
            float(pairs[g, 1]),
            float(adjusted[g]),
        )
        for g, label in enumerate(labels)
    )
    # among equal p-values the group whose smaller statistic is larger in its draws' spread decides
    margin = [min(_margin(own) for own in both) for both in parts]
    decided = int(np.lexsort((-np.array(margin), pairs.max(axis=1)))[0])
    weaker = parts[decided][int(pairs[decided, 1] > pairs[decided, 0])]
    return GroupEvidence(tests, decided, weaker)


def _margin(decision: Decision) -> float:
    spread = float(decision.draws.std())
    return decision.statistic / spread if spread > 0.0 else decision.statistic


def draw_risks(fit: Fit, columns: FloatArray) -> MeanDraws:
    """Draw the risks by group of what costs the rows ``columns`` (C, n)."""
    s, o = fit.sample, fit.options
    return draw_group_means(
        columns,
        s.group,
        len(s.groups),
        s.weight,
        s.clusters,
        n_boot=o.n_boot,
        seed=fit.seeds.drawing,
        n_jobs=o.n_jobs,
    )
