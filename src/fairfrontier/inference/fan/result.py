"""Results of joint LDA tests for several groups: verdict, adjusted p-values, and the sentences of their summaries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from ...arrays import FloatArray
from ...data.checks import check_alpha
from ...data.criteria import USUAL, Criteria
from ...data.reading import Label
from ...data.result import PlainDict, labels, plain_items
from ...frontier.criteria import STILL
from ...frontier.rule_class import RulesName
from ..aware.groups import SEEING, group_sentences, largest_gain, together_text
from ..lda.answer import LDAAnswer, LDAAnswers, alternative_in_words
from ..lda.evidence import Method
from ..p_values import holm
from .evidence import JointEvidence
from .witness import JointWitness


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class JointLDATest(LDAAnswer):
    """Result of testing whether an algorithm has a less discriminatory alternative in several criteria together.

    An alternative is a rule that is no worse for any group and whose range of risks (the largest minus the smallest) is
    no wider; with a ``reference`` group, whose gaps to that group are no wider; with other ``criteria``, what
    ``question`` says. The null hypothesis is that there is none that is strictly better in every separating direction.
    ``verdict`` is one of

    * ``"lda-shown"``: the robust test rejects, so such a rule exists.
    * ``"no-evidence"``: it does not; ``gain_bound`` is the largest gain with which the data are compatible, unless the
      algorithm does better for a group than the learner's best rule.
    * ``"not-comparable"``: the algorithm's risks lie outside the estimated feasible set. The learner is too weak, or
      the algorithm uses information outside the covariates.

    ``p_value_adjusted`` is Holm's over the ``tested_together`` algorithms of one call of `test_lda`; the verdict rests
    on it. Feasibility is judged without adjustment. ``errors``: whether the loss counts wrong decisions.
    """

    name: str
    groups: tuple[Label, ...]
    reference: Label | None
    alpha: float
    evidence: JointEvidence
    selection_rate: FloatArray
    p_value_adjusted: float
    tested_together: int = 1
    bounded: bool = False
    capacity: float | None = None
    rules: RulesName = "group-blind"
    criteria: Criteria = USUAL
    errors: bool = True

    @property
    def question(self) -> str:
        """The question that is answered, in one sentence."""
        return self.criteria.question(len(self.groups), self.reference, errors=self.errors)

    @property
    def range(self) -> float:
        """Largest less smallest risk."""
        return float(np.ptp(self.risk))

    @property
    def measure(self) -> FloatArray:
        """The measure (K,) that is compared between groups, the risk unless another was asked for."""
        return self.evidence.measure

    @property
    def spread(self) -> float:
        """Largest less smallest of the measure, or for a ratio the smallest over the largest."""
        own = self.measure
        return float(own.min() / own.max()) if self.criteria.ratio else float(np.ptp(own))

    @property
    def p_value(self) -> float:
        """P-value of the robust test."""
        return self.evidence.p_value

    @property
    def reject(self) -> bool:
        """Whether the null of no alternative is rejected at level ``alpha``, adjusted for several algorithms."""
        return self.p_value_adjusted <= self.alpha

    @property
    def statistic(self) -> float:
        """The smallest slack in its standard errors; the null is rejected where it is large."""
        slack, error = self.evidence.slack, self.evidence.standard_error
        return slack / error if error > 0.0 else float(np.copysign(np.inf, slack)) if slack else 0.0

    @property
    def method(self) -> Method:
        """Always "robust": no other test of more than two groups is made."""
        return "robust"

    @property
    def robust_p_value(self) -> float:
        """The p-value itself, under the name that it has for two groups."""
        return self.p_value

    @property
    def robust_p_value_adjusted(self) -> float:
        """The adjusted p-value, under the name that it has for two groups."""
        return self.p_value_adjusted

    @property
    def deciding_p_value(self) -> float:
        """The adjusted p-value."""
        return self.p_value_adjusted

    @property
    def witness(self) -> JointWitness | None:
        """A rule, or mixture of rules, that improves on the algorithm; None unless an alternative is shown.

        Among rules that see the group it is the algorithm with other decisions about one of them, ``changed``.
        """
        return self.evidence.witness if self.verdict == "lda-shown" else None

    @property
    def better_for(self) -> tuple[Label, ...]:
        """Groups for which the algorithm does better than the learner's best rule, each tested at alpha / K.

        All of them, if it is more accurate overall where accuracy is asked for overall.
        """
        found, level = self.evidence.best_p_value, self.alpha / len(self.evidence.best_p_value)
        if self.criteria.accuracy == "overall":
            return self.groups if found[0] <= level else ()
        pairs = zip(self.groups, found.tolist(), strict=True)
        return tuple(label for label, p in pairs if p <= level)

    def _largest_gain(self) -> float:
        if self._bounds_groups:
            return largest_gain(self.evidence.by_group, self.alpha)[0]
        return self.evidence.gain_bound(self.alpha)

    @property
    def gain_weights(self) -> FloatArray:
        """Weights of the groups' risks (K,), or 1 for the overall risk, to which ``gain_bound`` refers."""
        if self._bounds_groups:
            return largest_gain(self.evidence.by_group, self.alpha)[1]
        return self.evidence.gain_weights

    def at(self, alpha: float) -> JointLDATest:
        """The same evidence judged at another level."""
        return replace(self, alpha=check_alpha(alpha))

    def _facts(self) -> dict[str, object]:
        facts: dict[str, object] = {
            "algorithm": self.name,
            "groups": labels(self.groups),
            "reference": None if self.reference is None else str(self.reference),
            "verdict": self.verdict,
            "alpha": self.alpha,
            "risk": self.risk,
            "range": self.range,
            "p_value": self.p_value,
        }
        if not self.criteria.usual:
            facts |= {"question": self.question, "measure": self.measure, "spread": self.spread}
        if self.tested_together > 1:
            facts |= {"p_value_adjusted": self.p_value_adjusted, "tested_together": self.tested_together}
        return facts

    def to_dict(self) -> PlainDict:
        """Everything but the draws, as plain numbers and text."""
        more: dict[str, object] = {
            "tested_together": self.tested_together,
            "p_value_adjusted": self.p_value_adjusted,
            "reject": self.reject,
            "statistic": self.statistic,
            "selection_rate": self.selection_rate,
            "question": self.question,
            "criteria": self.criteria.describe(),
            "bounded": self.bounded,
            "capacity": self.capacity,
            "rules": self.rules,
            "better_for": labels(self.better_for),
            "gain_bound": self.gain_bound,
            "evidence": self.evidence.to_dict() | {"witness": None},
            "witness": None,
        }
        if (w := self.witness) is not None:
            more["witness"] = w.to_dict() | {
                "lower_bounds": w.lower_bounds(self.alpha),
                "intervals": w.intervals(self.alpha),
                "confirmed": w.confirmed(self.alpha),
            }
        return plain_items(self._facts() | more)

    def to_frame(self) -> pd.DataFrame:
        """One row per group: risk, selection rate, and what the witness changes where there is one."""
        columns: dict[str, object] = {"risk": self.risk, "selection rate": self.selection_rate}
        extra, positions = self._own_column(), list(self.evidence.aims.spread)
        columns |= {} if extra is None else {extra: self.measure}
        if (w := self.witness) is not None:
            columns |= {"risk of the alternative": w.risk}
            if self.criteria.accuracy == "by-group":
                n = len(self.groups)
                columns |= {"gain": w.gain[:n], "gain at least": w.lower_bounds(self.alpha)[:n]}
            columns |= {"its selection rate": w.selection_rate}
            columns |= {} if extra is None else {f"its {extra}": w.criteria[positions]}
        return pd.DataFrame(columns, index=pd.Index(self.groups, name="group"))

    def _own_column(self) -> str | None:
        """The measure, if a table needs a column for it."""
        return None if self.criteria.measure in ("expected loss", "selection rate") else self.criteria.measure

    def _frame(self) -> pd.DataFrame:
        return self.to_frame()

    @property
    def heading(self) -> str:
        """The question that is answered."""
        together = f", all {len(self.groups)} groups together" if len(self.groups) > 2 else ""
        return f"Is there a less discriminatory alternative to {self.name}{together}?"

    @property
    def aim(self) -> str:
        """What an alternative must not widen, in words."""
        if self.reference is None:
            return "range of risks"
        return f"gap in risk to group {self.reference}"

    def sentences(self) -> list[str]:
        """Say in plain words what the test shows and what it does not show."""
        if not self.criteria.usual:
            return self._sentences_of_criteria()
        e = self.evidence
        return [
            f"Risks: {self._listed(self.risk)}; range {self.range:.4f}.",
            *([f"Alternatives are limited: {limits}."] if (limits := self.limits) else []),
            *([SEEING] if self.rules == "group-aware" else []),
            *group_sentences(e.by_group),
            f"Test (robust, no group worse off and no {self.aim} wider): p-value "
            f"{self._adjusted_text(self.p_value, self.p_value_adjusted)}{self._tested()}",
            *self._finding(),
            *self._better(),
            '"Less discriminatory" means that differences in expected loss are no wider, not equal selection rates: '
            "evidence, not a legal finding. It presumes that outcomes are measured alike in all groups and known for "
            "all rows, and is optimistic about an algorithm that was trained on these rows.",
        ]

    def _listed(self, values: FloatArray) -> str:
        return ", ".join(f"group {label} {x:.4f}" for label, x in zip(self.groups, values.tolist(), strict=True))

    def _sentences_of_criteria(self) -> list[str]:
        c = self.criteria
        spread = f"{'ratio' if c.ratio else 'range'} {self.spread:.4f}"
        own = [] if c.fairness == "risk" else [f"{c.measure.capitalize()}: {self._listed(self.measure)}; {spread}."]
        return [
            self.question,
            *own,
            f"Risks: {self._listed(self.risk)}; range {self.range:.4f}.",
            f"Test (robust): p-value {self._adjusted_text(self.p_value, self.p_value_adjusted)}{self._tested()}",
            *self._finding(),
            *self._no_room(),
            *self._better(),
            f'"Less discriminatory" means here {c.smaller(len(self.groups), self.reference, errors=self.errors)}, and '
            "nothing about other measures: evidence, not a legal finding. It presumes that outcomes are measured "
            "alike in all groups and known for all rows, and is optimistic about an algorithm that was trained on "
            "these rows.",
        ]

    def _no_room(self) -> list[str]:
        """Say so if there is hardly a spread that could be smaller."""
        e, c = self.evidence, self.criteria
        k = len(e.widths) - len(e.aims.kept)
        room = np.abs(1.0 - e.widths[:k]) if c.ratio else e.widths[:k]
        if self.verdict == "lda-shown" or (room > 2.0 * e.width_errors[:k]).all():
            return []
        return [
            f"The {'ratio' if c.ratio else 'spread'} of the {c.measure} between the groups can hardly be distinguished "
            f"from {'one' if c.ratio else 'zero'}: there is no room for a better one, and the test has little power."
        ]

    def _equal(self) -> bool:
        """Whether the groups do not differ in the measure at all, by the sample."""
        return bool(np.ptp(self.measure) <= STILL * np.abs(self.measure).max())

    def compared(self) -> list[tuple[str, float]]:
        """What must not get worse, by name, with its value now; in the order of the gains of an alternative."""
        e, c = self.evidence, self.criteria
        lower = e.criteria[: e.aims.lower].tolist()
        if c.profit is not None:
            lower[-1] = -lower[-1]
        k = len(e.widths) - len(e.aims.kept)
        own, base = self.measure, e.aims.reference
        now = [self.spread] if base is None else np.abs(np.delete(own, base) - own[base]).tolist()
        kept = [float(e.criteria[each.criterion]) for each in e.aims.kept]
        return list(zip(self.gain_names, [*lower, *now[:k], *kept], strict=True))

    @property
    def gain_names(self) -> list[str]:
        """What the gains of an alternative are gains in."""
        c, n_groups = self.criteria, len(self.groups)
        names = ["overall risk"] if c.accuracy == "overall" else [f"group {label}" for label in self.groups]
        names += ["profit"] * (c.profit is not None)
        if self.reference is not None and n_groups > 2:
            names += [f"the gap of group {label}" for label in self.groups if label != self.reference]
        else:
            names.append("room to the ratio" if c.ratio else "the range" if n_groups > 2 else "the gap")
        more = {1: "room for more people selected", -1: "room for fewer people selected"}
        return names + [more[each.sign] for each in self.evidence.aims.kept]

    def _tested(self) -> str:
        e = self.evidence
        if e.by_group:
            return f", adjusted for {together_text(len(e.by_group), e.together_p_value)}."
        end = "." if e.finished else f", as many as the budget allows; finer cells might gain {e.loss:.1f} s.e."
        return f"; {e.n_rules:,} rules tested in {e.n_cells:,} cells{end}"

    def _shown(self) -> list[str]:
        shown = f"A rule that is no worse for any group and has no wider {self.aim} exists."
        if self.evidence.changes_one:
            shown = (
                f"Other decisions about one group alone, all else as now, would lower its risk and widen no {self.aim}."
            )
        if not self.criteria.usual:
            shown = "Yes: such a rule exists."
            if self._equal():
                shown = (
                    f"The {self.criteria.measure} is the same in all groups now, and cannot be more so. A rule that is "
                    "better in all else exists, and leaves it as good as the same."
                )
        described = [] if (w := self.witness) is None else [_describe(w, self.gain_names, self.alpha)]
        return [shown, *self._steps(), *described]


def _describe(w: JointWitness, names: Sequence[str], alpha: float) -> str:
    lottery = f"a lottery between {len(w.shares)} rules"
    return alternative_in_words(w, w.gain, names, alpha, lottery=lottery, clear="all bounds clear zero")


class JointLDATests(LDAAnswers[JointLDATest]):
    """Results for several algorithms tested together, by name."""

    __slots__ = ()

    @property
    def heading(self) -> str:
        """The question that is answered."""
        return "Is there a less discriminatory alternative, all groups together?"

    def at(self, alpha: float) -> JointLDATests:
        """The same evidence judged at another level."""
        return JointLDATests({name: test.at(alpha) for name, test in self.items()})

    def to_frame(self) -> pd.DataFrame:
        """One row per algorithm; the adjusted p-value is that on which verdict and rejection rest."""
        names = ("verdict", "reject", "range", "p_value", "p_value_adjusted")
        rows = {name: {each: getattr(test, each) for each in names} for name, test in self.items()}
        return pd.DataFrame(rows).T

    def _frame(self) -> pd.DataFrame:
        return self.to_frame()


def judge_jointly(
    names: Sequence[str],
    found: Sequence[JointEvidence],
    selection_rates: Sequence[FloatArray],
    *,
    groups: tuple[Label, ...],
    reference: Label | None,
    alpha: float,
    bounded: bool,
    capacity: float | None = None,
    rules: RulesName = "group-blind",
    criteria: Criteria,
    errors: bool,
) -> JointLDATests:
    """Judge algorithms tested together by their evidence, with Holm's adjustment; by name."""
    adjusted = holm(np.array([evidence.p_value for evidence in found])).tolist()
    each = zip(names, found, selection_rates, adjusted, strict=True)
    return JointLDATests(
        {
            name: JointLDATest(
                name,
                groups,
                reference,
                alpha,
                evidence,
                rates,
                p,
                len(found),
                bounded,
                capacity=capacity,
                rules=rules,
                criteria=criteria,
                errors=errors,
            )
            for name, evidence, rates, p in each
        }
    )
