"""Results of joint LDA tests for several groups: verdict, adjusted p-values, and the sentences of their summaries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from ...arrays import FloatArray
from ...data.checks import check_alpha
from ...data.number_formats import confidence_text
from ...data.reading import Label
from ...data.result import PlainDict, labels, plain_items
from ..aware.groups import SEEING, group_sentences
from ..lda.answer import LDAAnswer, LDAAnswers, gains_in_words
from ..lda.evidence import Method
from ..p_values import holm
from .evidence import JointEvidence
from .witness import JointWitness


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class JointLDATest(LDAAnswer):
    """Result of testing whether an algorithm has a less discriminatory alternative for several groups together.

    An alternative is a rule that is no worse for any group and whose range of risks (the largest less the smallest) is
    no wider; with a ``reference`` group, whose gaps to that group are no wider. The null hypothesis is that there is
    none that is strictly better in every separating direction. ``verdict`` is one of

    * ``"lda-shown"``: the robust test rejects, so such a rule exists.
    * ``"no-evidence"``: it does not; ``gain_bound`` is the largest gain with which the data are compatible, unless the
      algorithm does better for a group than the learner's best rule.
    * ``"not-comparable"``: the algorithm's risks lie outside the estimated feasible set. The learner is too weak, or
      the algorithm uses information outside the covariates.

    ``p_value_adjusted`` is Holm's over the ``tested_together`` algorithms of one call of `test_lda`; the verdict rests
    on it. Feasibility is judged without adjustment.
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

    @property
    def range(self) -> float:
        """Largest less smallest risk."""
        return float(np.ptp(self.risk))

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
        """Groups for which the algorithm does better than the learner's best rule, each tested at alpha / K."""
        level = self.alpha / len(self.groups)
        pairs = zip(self.groups, self.evidence.best_p_value.tolist(), strict=True)
        return tuple(label for label, p in pairs if p <= level)

    def _largest_gain(self) -> float:
        return self.evidence.gain_bound(self.alpha)

    @property
    def gain_weights(self) -> FloatArray:
        """Weights (K,) of the groups' risks, summing to one, to which ``gain_bound`` refers."""
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
            "bounded": self.bounded,
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
        if (w := self.witness) is not None:
            n = len(self.groups)
            columns |= {"risk of the alternative": w.risk, "gain": w.gain[:n]}
            columns |= {"gain at least": w.lower_bounds(self.alpha)[:n], "its selection rate": w.selection_rate}
        return pd.DataFrame(columns, index=pd.Index(self.groups, name="group"))

    def _frame(self) -> pd.DataFrame:
        return self.to_frame()

    @property
    def heading(self) -> str:
        """The question that is answered."""
        return f"Is there a less discriminatory alternative to {self.name}, all {len(self.groups)} groups together?"

    @property
    def aim(self) -> str:
        """What an alternative must not widen, in words."""
        if self.reference is None:
            return "range of risks"
        return f"gap in risk to group {self.reference}"

    def sentences(self) -> list[str]:
        """Say in plain words what the test shows and what it does not show."""
        e = self.evidence
        pairs = zip(self.groups, self.risk.tolist(), strict=True)
        return [
            f"Risks: {', '.join(f'group {label} {risk:.4f}' for label, risk in pairs)}; range {self.range:.4f}.",
            *([SEEING] if e.by_group else []),
            *group_sentences(e.by_group),
            f"Test (robust, no group worse off and no {self.aim} wider): p-value "
            f"{self._adjusted_text(self.p_value, self.p_value_adjusted)}{self._tested()}",
            *self._finding(),
            *self._better(),
            '"Less discriminatory" means that differences in expected loss are no wider, not equal selection rates: '
            "evidence, not a legal finding. It presumes that outcomes are measured alike in all groups and known for "
            "all rows, and is optimistic about an algorithm that was trained on these rows.",
        ]

    def _tested(self) -> str:
        e = self.evidence
        if e.by_group:
            return f", adjusted for {len(e.by_group)} groups."
        end = "." if e.finished else f", as many as the budget allows; finer cells might gain {e.loss:.1f} s.e."
        return f"; {e.n_rules:,} rules tested in {e.n_cells:,} cells{end}"

    def _shown(self) -> list[str]:
        shown = f"A rule that is no worse for any group and has no wider {self.aim} exists."
        if self.evidence.by_group:
            shown = (
                f"Other decisions about one group alone, all else as now, would lower its risk and widen no {self.aim}."
            )
        return [
            shown,
            *([] if (w := self.witness) is None else [_describe(w, self.groups, self.reference, self.alpha)]),
        ]


def _describe(w: JointWitness, groups: tuple[Label, ...], reference: Label | None, alpha: float) -> str:
    others = [label for label in groups if label != reference]
    widths = ["the range"] if reference is None else [f"the gap of group {label}" for label in others]
    kind = (
        f"{w.shares[0]:.0%} of the decisions about group {w.changed} by a rule learned for it, all else as now"
        if w.changed is not None
        else "one rule"
        if len(w.shares) == 1
        else f"a lottery between {len(w.shares)} rules"
    )
    clear = "all bounds clear zero" if w.changed is None else "the bounds of what changes clear zero"
    return (
        f"An alternative, {kind}. "
        f"{gains_in_words(w, w.gain, [*(f'group {label}' for label in groups), *widths], alpha, clear)} With "
        f"{confidence_text(alpha)} confidence the bounds of all rules that might have been chosen hold together. The "
        "estimated gains tend to be overstated, as this rule was chosen, and is shown, because of the same rows."
    )


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
) -> JointLDATests:
    """Judge algorithms tested together by their evidence, with Holm's adjustment; by name."""
    adjusted = holm(np.array([evidence.p_value for evidence in found])).tolist()
    each = zip(names, found, selection_rates, adjusted, strict=True)
    return JointLDATests(
        {
            name: JointLDATest(name, groups, reference, alpha, evidence, rates, p, len(found), bounded)
            for name, evidence, rates, p in each
        }
    )
