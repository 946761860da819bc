"""Is there an alternative among rules that see the group? Each group is tested by itself.

Decisions about one group do not touch the risks of the others. So an alternative exists if some group whose risk
exceeds the smallest can be improved: a lottery between the algorithm and a better rule for that group alone lowers its
risk a little, leaves all other risks as they are, and does not widen the range. The alternative is the algorithm with
other decisions about that group; it uses what the algorithm uses, which may be more than the covariates.

For each group g two one-sided tests on the rows, with rules held that other folds have learned:

* improved: e*_g - e_g > 0, with e_g the risk of the learned rule in g, paired row by row;
* exceeds: e*_g - e*_m > 0, with m the group whose risk is smallest on other folds. As e*_m is at least the smallest
  risk, this shows that e*_g exceeds it. With a reference group m is that group; the reference itself must exceed all
  other groups, because otherwise some gap to it would widen.

If there is no alternative, at least one of the two is false for every group, so the larger of the two p-values is valid
for it (an intersection-union test). Each of the two is the larger one of that of the draws and one for few rows
(`few_rows`). Near equal risks no group is seen to exceed another, although all of them might be improved by the same
amount; that is what the test over directions, or over the fan, looks for. It is one more test of the same null, and
Holm's adjustment over all of them keeps the level.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from ...arrays import FloatArray, IntArray
from ...bootstrap.means import MeanDraws, draw_group_means
from ...data.reading import Label
from ...data.result import Result
from ...fit import Fit
from ..p_values import Decision, holm
from .few_rows import Sampled, above_other, above_zero, sampled
from .own_rules import OwnRules


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class GroupTest(Result):
    """Whether one group's risk exceeds the smallest and can be improved by changing decisions about it alone.

    ``gain`` is what the learned rule lowers its risk by, with ``gain_error``; ``changed`` the effective number of its
    rows that are decided about differently. ``excess`` is by how much its risk exceeds ``above``: that of the other
    group, of the reference, or of the group with the smallest risk, as chosen on other folds. Each has a p-value.
    ``p_value`` is the larger of the two, and ``p_value_adjusted`` Holm's over all tests of one algorithm.
    ``p_value_below`` is that of the opposite: small where no alternative can lower the risk of this group by more than
    that of another.
    """

    group: Label
    above: str
    risk: float
    gain: float
    gain_error: float
    changed: float
    p_value_gain: float
    excess: float
    p_value_excess: float
    p_value_below: float
    p_value_adjusted: float

    @property
    def heading(self) -> str:
        """The question that is answered."""
        return f"Can group {self.group} be improved, and is its risk above {self.above}?"

    @property
    def p_value(self) -> float:
        """The larger of the two p-values."""
        return max(self.p_value_gain, self.p_value_excess)

    def _facts(self) -> dict[str, object]:
        return {
            "group": str(self.group),
            "risk": self.risk,
            "gain": self.gain,
            "gain_error": self.gain_error,
            "changed": self.changed,
            "p_value_gain": self.p_value_gain,
            "above": self.above,
            "excess": self.excess,
            "p_value_excess": self.p_value_excess,
            "p_value": self.p_value,
            "p_value_adjusted": self.p_value_adjusted,
        }


SEEING = "The algorithm is compared with rules that may see the group."
SMALLEST = "the smallest"


def group_sentences(tests: Sequence[GroupTest]) -> list[str]:
    """Say what the tests of single groups found."""
    return [
        f"Group {t.group}: its risk is {abs(t.excess):.4f} {'below' if t.excess < 0.0 else 'above'} {t.above} "
        f"(p-value {_p(t.p_value_excess)}), and the learned rule for it gains {t.gain:+.4f} (p-value "
        f"{_p(t.p_value_gain)})."
        for t in tests
    ]


def _p(value: float) -> str:
    """A p-value, which is never shown as zero."""
    return "below 0.0001" if value < 0.00005 else f"{value:.4f}"


def decided_alone(tests: Sequence[GroupTest], together: float | None) -> bool:
    """Whether the test of a single group decides: none of all groups together has a smaller p-value."""
    return bool(tests) and (together is None or min(t.p_value for t in tests) <= together)


def together_text(n_groups: int, together: float | None) -> str:
    """How many tests were adjusted for, and which."""
    return f"{n_groups + 1} tests: of each group and of all groups together (p-value {together:.4f})"


def largest_gain(tests: Sequence[GroupTest], alpha: float) -> tuple[float, FloatArray]:
    """Bound of level 1 - alpha on how far an alternative can lower the risk of any group, and that group's unit (G,).

    In each group it is e*_g - e_g, if the learner is consistent. A group that is shown to lie below the others can be
    lowered only as far as one of those, or a gap would widen, so it is left out. Half of alpha serves each of the two.
    """
    level = alpha / (2 * len(tests))
    bounds = np.array(
        [
            -np.inf
            if t.p_value_below <= level
            else 0.0
            if t.changed == 0.0
            else max(0.0, t.gain + float(stats.t.isf(level, max(t.changed - 1.0, 1.0))) * t.gain_error)
            for t in tests
        ]
    )
    g = int(np.argmax(bounds))
    return float(bounds[g]), np.eye(len(tests))[g]


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


@dataclass(frozen=True, slots=True)
class DrawnRisk:
    """A risk, draws (B,) of it, and the rows that it is the mean of; None if it is known."""

    value: float
    draws: FloatArray
    rows: Sampled | None


def draw_smallest(fit: Fit, losses: FloatArray, folds: IntArray) -> DrawnRisk:
    """Estimate of the smallest risk by the groups chosen on other folds.

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
    weight = np.zeros(len(losses))
    for k in range(len(candidates)):
        own = piece == k
        weight[own] = share[k] * s.weight[own] / s.weight[own].sum()
    rows = sampled(losses, weight, s.clusters, _ends(fit))
    return DrawnRisk(float(drawn.means[0] @ share), drawn.draws[:, 0] @ share, rows)


def _ends(fit: Fit) -> tuple[float, float]:
    """Smallest and largest loss of the rows, whatever is decided."""
    costs = np.stack([fit.row_losses.l0, fit.row_losses.of(np.ones(fit.n_obs))])
    return float(costs.min()), float(costs.max())


@dataclass(frozen=True, slots=True)
class Risks:
    """Risks of an algorithm by group, with its decisions (n,) and losses (n,); without them the risks are known."""

    means: FloatArray
    draws: FloatArray
    decisions: FloatArray | None = None
    losses: FloatArray | None = None

    def of(self, fit: Fit) -> list[DrawnRisk]:
        """Return the risk of each group with the rows behind it."""
        s, found = fit.sample, []
        for g, at in enumerate(s.rows_by_group):
            rows = None
            if self.losses is not None:
                clusters = None if s.clusters is None else s.clusters[at]
                rows = sampled(self.losses[at], s.weight[at], clusters, _ends(fit))
            found.append(DrawnRisk(float(self.means[g]), self.draws[:, g], rows))
        return found


def changes(fit: Fit, algorithm: Risks, rules: OwnRules, g: int) -> Sampled | None:
    """What the rule learned for group g gains, per row whose decision it changes; None if it changes none.

    The gain of a row is -(a - a*) dl with a* the decision and a the rule's chance of selection. So rows count by
    w |a - a*|, and each of them gains -dl or dl. Where only risks are known, every row gains the risk less its loss.
    """
    s, at = fit.sample, fit.sample.rows_by_group[g]
    weight, clusters = s.weight[at], None if s.clusters is None else s.clusters[at]
    if algorithm.decisions is None:
        (low, high), risk = _ends(fit), float(algorithm.means[g])
        return sampled(risk - rules.losses[at], weight, clusters, (risk - high, risk - low))
    moved, dl = (rules.chances - algorithm.decisions)[at], fit.row_losses.dl
    weight = weight * np.abs(moved)
    if not weight.sum() > 0.0:
        return None
    possible = np.outer(np.unique(-np.sign(moved[weight > 0.0])), [dl.min(), dl.max()])
    return sampled(-np.sign(moved) * dl[at], weight, clusters, (float(possible.min()), float(possible.max())))


@dataclass(frozen=True, slots=True)
class Compared:
    """One group of an algorithm: its risk, what the rule for it changes, and the risks beside it.

    ``rule``: risk of the rule that is learned for it, and draws (B,); ``gains``: what each row that it changes gains;
    ``added``: variance to be added to that of sqrt(n) times that risk. The risk must exceed all ``rivals``, in words
    ``above``; if it lies below all of ``over``, lowering it further takes lowering one of those.
    """

    label: Label
    risk: DrawnRisk
    rule: tuple[float, FloatArray]
    gains: Sampled | None
    added: float
    rivals: Sequence[DrawnRisk]
    over: Sequence[DrawnRisk]
    above: str


def compare_groups(
    fit: Fit,
    algorithm: Risks,
    rules: OwnRules,
    rule: tuple[FloatArray, FloatArray],
    smallest: DrawnRisk | None = None,
    reference: int | None = None,
) -> list[Compared]:
    """Put every group beside what its risk must exceed: the other one, the ``smallest`` risk, or a ``reference``.

    ``rule``: risks (G,) of the learned rules and draws (B, G).
    """
    labels, risks = fit.sample.groups.labels, algorithm.of(fit)
    found = []
    for g, label in enumerate(labels):
        others = [risk for h, risk in enumerate(risks) if h != g]
        rivals, over, above = others, others, f"that of group {labels[1 - g]}" if len(labels) == 2 else SMALLEST
        if reference is not None and g != reference:
            rivals = over = [risks[reference]]
            above = f"that of the reference group {labels[reference]}"
        elif reference is not None:
            over, above = [], "that of every other group"
        elif smallest is not None:
            rivals = [smallest]
        gains = changes(fit, algorithm, rules, g)
        own = float(rule[0][g]), rule[1][:, g]
        found.append(Compared(label, risks[g], own, gains, float(rules.added[g]), rivals, over, above))
    return found


@dataclass(frozen=True, slots=True)
class GroupEvidence:
    """Tests of every group for one algorithm, the position of the one that decides among them, and its decision.

    ``together`` is the p-value of all groups together, ``p_value`` that of the null that there is no alternative: the
    smallest one after Holm's adjustment over all.
    """

    tests: tuple[GroupTest, ...]
    decided: int
    decision: Decision
    together: float
    p_value: float

    @property
    def alone(self) -> bool:
        """Whether a test of a single group decides, and not that of all together."""
        return decided_alone(self.tests, self.together)


def groups_evidence(groups: Sequence[Compared], n_obs: int, together: float, *, capped: bool = False) -> GroupEvidence:
    """Test every group, beside a test of all of them ``together`` with this p-value.

    At the axis of a group the latter is a test of the gain of that group's rule, so without a capacity its p-value is
    no smaller than those of the gains, which few rows make larger.
    """
    root = float(np.sqrt(n_obs))
    scale = root * max(max(abs(own.risk.value), abs(own.rule[0])) for own in groups)
    parts = []
    for g, own in enumerate(groups):
        axis = np.where(np.arange(len(groups)) == g, -1.0, 0.0)
        gain = root * (own.risk.value - own.rule[0])
        z = root * (own.risk.draws - own.rule[1]) - gain
        variance = float(z.var())
        if variance > 0.0:
            z = z * np.sqrt(1.0 + own.added / variance)
        decision = Decision(gain, axis, z, scale)
        few = 1.0 if own.gains is None else above_zero(own.gains)
        above = [_exceeds(own.risk, rival, axis, root, scale) for rival in own.rivals]
        parts.append(
            ((decision, max(decision.p_value, few)), max(above, key=lambda each: (each[1], -each[0].statistic)))
        )
    p_values = np.array([[p for _, p in both] for both in parts])
    if not capped:
        together = max(together, float(p_values[:, 0].max()))
    adjusted = holm(np.append(p_values.max(axis=1), together))
    tests = tuple(
        GroupTest(
            group=own.label,
            above=own.above,
            risk=own.risk.value,
            gain=gain.statistic / root,
            gain_error=float(gain.draws.std()) / root,
            changed=0.0 if own.gains is None else own.gains.units,
            p_value_gain=p_gain,
            excess=excess.statistic / root,
            p_value_excess=p_excess,
            p_value_below=max(
                (_exceeds(risk, own.risk, gain.direction, root, scale)[1] for risk in own.over), default=1.0
            ),
            p_value_adjusted=float(p),
        )
        for own, ((gain, p_gain), (excess, p_excess)), p in zip(groups, parts, adjusted[:-1], strict=True)
    )
    # among equal p-values the group whose smaller statistic is larger in its draws' spread decides
    margin = [min(_margin(each) for each, _ in both) for both in parts]
    decided = int(np.lexsort((-np.array(margin), p_values.max(axis=1)))[0])
    weaker = parts[decided][int(p_values[decided, 1] > p_values[decided, 0])][0]
    return GroupEvidence(tests, decided, weaker, together, float(adjusted.min()))


def _exceeds(risk: DrawnRisk, other: DrawnRisk, axis: FloatArray, root: float, scale: float) -> tuple[Decision, float]:
    """Test that a risk exceeds another one: the decision by draws, and the p-value."""
    statistic = root * (risk.value - other.value)
    decision = Decision(statistic, axis, root * (risk.draws - other.draws) - statistic, scale)
    few = 0.0 if risk.rows is None or other.rows is None else above_other(risk.rows, other.rows)
    return decision, max(decision.p_value, few)


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
