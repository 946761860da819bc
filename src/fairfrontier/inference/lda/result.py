"""Results of LDA tests: verdict, p-values adjusted for several algorithms, and the sentences of their summaries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from scipy.special import ndtri

from ...arrays import FloatArray
from ...data.checks import check_level
from ...data.criteria import USUAL
from ...data.notebook import COLOURS, GREEN, ORANGE, Picture
from ...data.reading import Label
from ...data.result import PlainDict, axes_of, labels, plain_items
from ...frontier.rule_class import RulesName
from ..aware.groups import GroupTest, group_sentences, largest_gain, together_text
from ..p_values import critical_value, critical_value_error, holm
from .answer import LDAAnswer, LDAAnswers, alternative_in_words
from .evidence import Evidence, Method
from .learner_check import LearnerCheck
from .witness import Witness, selection_ratio


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class LDATest(LDAAnswer):
    """Result of testing whether an algorithm has a less discriminatory alternative (LDA).

    The null hypothesis is that there is none. ``verdict`` is one of

    * ``"lda-shown"``: the robust test rejects, so an alternative exists that is no worse for either group
      and no less fair, and better in at least one respect. Never claimed on another test.
    * ``"no-evidence"``: it does not; ``gain_bound`` is the largest gain with which the data are compatible, unless the
      algorithm does better for a group than the learner's best rule.
    * ``"not-comparable"``: the algorithm's risks lie outside the estimated feasible set. The learner is too weak, or
      the algorithm uses information outside the covariates.

    ``learner_check`` compares the learner's own rules with the algorithm; None for risks without decisions.

    ``p_value`` belongs to ``method``. ``p_value_adjusted`` and ``robust_p_value_adjusted`` are Holm's over the
    ``tested_together`` algorithms of one call of `test_lda`; ``reject`` and ``verdict`` rest on them, so that the
    chance of claiming an alternative for any algorithm that has none is at most ``alpha``. With one algorithm they are
    the p-values themselves. Feasibility, and whether the learner is good enough, is judged without adjustment: neither
    supports a claim, so calling more algorithms "not-comparable" and giving fewer bounds is the cautious side. Bounds
    on gains have level 1 - ``alpha`` for each algorithm by itself.

    The alternatives considered select at most a share ``capacity`` of people, if it is given, and keep to the bounds of
    the fit, if ``bounded``. ``sequential``: the robust test is that of sequential folds, proven for any learner; its
    null law is standard normal, and ``draws`` are quantiles of that. ``rules`` says whether the alternatives
    considered see the group; if they do, every group is also tested by itself (``by_group``; with a capacity if the
    algorithm keeps to it). With
    several repetitions of the cross-fitting everything is about the lottery between their rules. ``errors``: whether
    the loss counts wrong decisions, which ``question`` then calls so.
    """

    name: str
    groups: tuple[Label, Label]
    method: Method
    alpha: float
    evidence: Evidence
    selection_rate: FloatArray | None
    p_value_adjusted: float
    robust_p_value_adjusted: float
    tested_together: int = 1
    capacity: float | None = None
    bounded: bool = False
    learner_check: LearnerCheck | None = None
    sequential: bool = False
    rules: RulesName = "group-blind"
    errors: bool = True

    @property
    def question(self) -> str:
        """The question that is answered, in one sentence."""
        return USUAL.question(2, errors=self.errors)

    @property
    def statistic(self) -> float:
        """Test statistic."""
        return self.evidence.statistic

    @property
    def separation(self) -> float:
        """Separation part: positive when no direction separates the improvements from the feasible set."""
        return self.evidence.separation

    @property
    def feasibility(self) -> float:
        """Feasibility part: positive when the algorithm's risks lie outside the estimated set."""
        return self.evidence.feasibility

    @property
    def draws(self) -> FloatArray:
        """Draws (B,) of the statistic under the null, or quantiles of the standard normal law if that is its law."""
        return self.evidence.draws

    @property
    def p_value(self) -> float:
        """(1 + draws at or above the statistic) / (1 + draws), or that of the normal law if it is larger; never 0."""
        return self.evidence.p_value

    @property
    def robust_p_value(self) -> float:
        """P-value of the robust test, on which alone an LDA is claimed."""
        return self.evidence.robust_p_value

    @property
    def reject(self) -> bool:
        """Whether the null of no LDA is rejected by ``method`` at level ``alpha``, adjusted for several algorithms."""
        return self.p_value_adjusted <= self.alpha

    @property
    def critical_value(self) -> float:
        """Value that the statistic must exceed in a test of this algorithm alone.

        Among rules that see the group it is that of Holm's first step over the groups and all of them together: what
        decides is tested at ``alpha`` over their number. Infinite where the draws are too few for that. It is that of
        the normal law, or of the draws; of single groups with few rows the p-value can be larger than draws say.
        """
        level = self._level_of_draws
        if level * (len(self.draws) + 1) < 1.0 - 1e-9:
            return np.inf
        return float(-ndtri(level)) if self._normal else critical_value(self.draws, level)

    @property
    def critical_value_error(self) -> float:
        """Standard error of the critical value due to the finite number of draws."""
        return 0.0 if self._normal else critical_value_error(self.draws, self._level_of_draws)

    @property
    def _normal(self) -> bool:
        """Whether the statistic is compared with the standard normal law and not with draws."""
        return self.method == "robust" and self.evidence.normal

    @property
    def _level_of_draws(self) -> float:
        return self.alpha / (len(self.by_group) + 1)

    @property
    def deciding_p_value(self) -> float:
        """The adjusted p-value of the robust test, whatever the ``method``."""
        return self.robust_p_value_adjusted

    @property
    def witness(self) -> Witness | None:
        """A rule, or mixture of two, that improves on the algorithm; None unless an LDA is shown."""
        return self.evidence.witness if self.verdict == "lda-shown" else None

    def _largest_gain(self) -> float:
        if self._bounds_groups:
            return largest_gain(self.by_group, self.alpha)[0]
        return self.evidence.gain_bound.upper(self.alpha) / float(np.abs(self.evidence.gain_bound.direction).sum())

    @property
    def better_for(self) -> tuple[Label, ...]:
        """Groups for which the algorithm does better than the learner's best rule, beyond chance at ``alpha``."""
        return () if self.learner_check is None else self.learner_check.better_for(self.alpha)

    @property
    def gain_weights(self) -> FloatArray:
        """Weights (2,) of the groups' risks, summing to one, to which ``gain_bound`` refers."""
        if self._bounds_groups:
            return largest_gain(self.by_group, self.alpha)[1]
        size = np.abs(self.evidence.gain_bound.direction)
        weights: FloatArray = size / size.sum()
        return weights

    @property
    def by_group(self) -> tuple[GroupTest, ...]:
        """Tests of single groups, among rules that see the group; else none."""
        found: tuple[GroupTest, ...] = self.evidence.by_group
        return found

    @property
    def compared_with(self) -> str:
        """Say in a sentence with which rules the algorithm is compared."""
        seen = "do not see the group" if self.rules == "group-blind" else "may see the group"
        own = "" if self.evidence.share_changed is None else ", or only through the algorithm's own decisions"
        return f"The algorithm is compared with rules that {seen}{own}."

    def at(self, alpha: float) -> LDATest:
        """The same evidence judged at another level."""
        return replace(self, alpha=check_level(alpha, len(self.draws)))

    def _facts(self) -> dict[str, object]:
        facts: dict[str, object] = {
            "algorithm": self.name,
            "groups": labels(self.groups),
            "verdict": self.verdict,
            "method": self.method,
            "alpha": self.alpha,
            "risk": self.risk,
            "statistic": self.statistic,
            "p_value": self.p_value,
        }
        if self.tested_together > 1:
            facts |= {"p_value_adjusted": self.p_value_adjusted, "tested_together": self.tested_together}
        if self.method != "robust":
            facts["robust_p_value_adjusted"] = self.robust_p_value_adjusted
        return facts

    def to_dict(self) -> PlainDict:
        """Everything but the draws, as plain numbers and text."""
        more: dict[str, object] = {
            "question": self.question,
            "tested_together": self.tested_together,
            "p_value_adjusted": self.p_value_adjusted,
            "robust_p_value": self.robust_p_value,
            "robust_p_value_adjusted": self.robust_p_value_adjusted,
            "feasibility_p_value": self.evidence.feasibility_p_value,
            "reject": self.reject,
            "separation": self.separation,
            "feasibility": self.feasibility,
            "feasibility_t": self.evidence.feasibility_t,
            "critical_value": self.critical_value,
            "critical_value_error": self.critical_value_error,
            "n_boot": len(self.draws),
            "capacity": self.capacity,
            "bounded": self.bounded,
            "sequential": self.sequential,
            "rules": self.rules,
            "by_group": list(self.by_group),
            "together_p_value": self.evidence.together_p_value,
            "selection_rate": self.selection_rate,
            "selection_ratio": self.selection_ratio,
            "gain_bound": self.gain_bound,
            "gain_weights": self.gain_weights,
            "learner_check": self.learner_check,
            "better_for": labels(self.better_for),
            "witness": None,
        }
        if (w := self.witness) is not None:
            more["witness"] = w.to_dict() | {
                "lower_bounds": w.lower_bounds(self.alpha),
                "intervals": w.intervals(self.alpha),
                "confirmed": w.confirmed(self.alpha),
            }
        return plain_items(self._facts() | more)

    @property
    def heading(self) -> str:
        """The question that is answered."""
        return f"Is there a less discriminatory alternative to {self.name}?"

    def sentences(self) -> list[str]:
        """Say in plain words what the test shows and what it does not show."""
        r, b = self.groups
        lines = [
            f"Risks: group {r} {self.risk[0]:.4f}, group {b} {self.risk[1]:.4f}, "
            f"gap {self.risk[0] - self.risk[1]:+.4f}.",
            *([self.compared_with] if self.rules != "group-blind" else []),
            *self._test_sentences(),
            *self._finding(),
            *self.learner_sentences(),
        ]
        if self.selection_rate is not None:
            lines.append(_rates("The algorithm", self.selection_rate, self.groups))
        lines.append(
            '"Less discriminatory" means a gap in expected loss that is no wider, not equal selection rates: evidence, '
            "not a legal finding. It presumes that outcomes are measured alike in both groups and known for all "
            "rows, and is optimistic about an algorithm that was trained on these rows."
        )
        return lines

    def _test_sentences(self) -> list[str]:
        """Sentences on the statistic, or on the tests of single groups."""
        p_value = self._adjusted_text(self.p_value, self.p_value_adjusted)
        if self.by_group:
            return [
                *group_sentences(self.by_group),
                f"An alternative is shown if both hold for a group, or all groups can be improved together: p-value "
                f"{p_value}, adjusted for {together_text(len(self.by_group), self.evidence.together_p_value)}.",
            ]
        return [
            f"Test ({self.method}{self._proven()}): statistic {self.statistic:.3f}, critical value "
            f"{self.critical_value:.3f} at alpha {self.alpha:g}, p-value {p_value}"
            + (f"; robust p-value {self._robust_text()}" if self.method != "robust" else "")
            + "."
        ]

    def _proven(self) -> str:
        return ", folds in sequence: proven for any learner" if self.sequential and self.method == "robust" else ""

    def _shown(self) -> list[str]:
        basis = "" if self.rules == "group-blind" else " and the group"
        basis += "" if self.evidence.share_changed is None else " and the algorithm's own decisions"
        shown = (
            f"Shown: some rule based on the covariates used here{basis} is no worse for either group and no less "
            "fair, and better in at least one of these respects."
        )
        if self.evidence.changes_one:
            shown = (
                "Shown: other decisions about one group alone, all else as now, would lower its risk without widening "
                "the gap; the risk of the other group stays as it is."
            )
        described = [] if (w := self.witness) is None else _describe(w, self.groups, self.alpha)
        return [shown, *self._steps(), *described]

    def learner_sentences(self) -> list[str]:
        """Say whether the learner is good enough for this algorithm; nothing for risks without decisions."""
        if self.learner_check is None:
            return []
        return [*self.learner_check.sentences(), *self._better()]

    def _robust_text(self) -> str:
        return self._adjusted_text(self.robust_p_value, self.robust_p_value_adjusted)

    def _picture(self) -> Picture:
        plane = Picture(axes_of(self.groups)).points(self.risk[None], ORANGE, self.name)
        return plane if (w := self.witness) is None else plane.points(w.risk[None], GREEN, "an alternative")


def _describe(w: Witness, groups: tuple[Label, Label], alpha: float) -> list[str]:
    names = (f"group {groups[0]}", f"group {groups[1]}", "the gap")
    lottery = " and ".join(f"{share:.0%}" for share in w.shares)
    lottery = f"a lottery between two rules ({lottery})"
    return [
        alternative_in_words(w, w.gain, names, alpha, lottery=lottery, clear="all three bounds clear zero"),
        *([] if w.selection_rate is None else [_rates("The alternative", w.selection_rate, groups)]),
    ]


def _rates(who: str, rates: FloatArray, groups: tuple[Label, Label]) -> str:
    return (
        f"{who} selects {rates[0]:.1%} of group {groups[0]} and {rates[1]:.1%} of group {groups[1]} "
        f"(ratio {selection_ratio(rates):.2f})."
    )


class LDATests(LDAAnswers[LDATest]):
    """Results for several algorithms tested on the same draws, by name."""

    __slots__ = ()

    def at(self, alpha: float) -> LDATests:
        """The same evidence judged at another level."""
        return LDATests({name: test.at(alpha) for name, test in self.items()})

    def to_frame(self) -> pd.DataFrame:
        """One row per algorithm; the adjusted p-values are those on which verdict and rejection rest."""
        return pd.DataFrame(
            {
                name: {
                    "verdict": test.verdict,
                    "reject": test.reject,
                    "statistic": test.statistic,
                    "critical_value": test.critical_value,
                    "p_value": test.p_value,
                    "p_value_adjusted": test.p_value_adjusted,
                    "robust_p_value": test.robust_p_value,
                    "robust_p_value_adjusted": test.robust_p_value_adjusted,
                }
                for name, test in self.items()
            }
        ).T

    def _frame(self) -> pd.DataFrame:
        return self.to_frame()[["verdict", "statistic", "critical_value", "p_value", "p_value_adjusted"]]

    def _picture(self) -> Picture | None:
        plane = None
        for colour, (name, test) in zip(COLOURS, self.items(), strict=False):
            plane = (plane or Picture(axes_of(test.groups))).points(test.risk[None], colour, name)
        return plane


def judge(
    names: Sequence[str],
    found: Sequence[Evidence],
    selection_rates: Sequence[FloatArray | None],
    *,
    groups: tuple[Label, Label],
    method: Method,
    alpha: float,
    capacity: float | None = None,
    bounded: bool = False,
    sequential: bool = False,
    rules: RulesName = "group-blind",
    errors: bool = True,
    checks: Sequence[LearnerCheck | None] | None = None,
) -> LDATests:
    """Judge algorithms tested together by their evidence, with Holm's adjustment of both p-values; by name.

    ``errors``: whether the loss counts wrong decisions. ``checks`` compare the learner with each algorithm;
    ``sequential``: whether robust p-values are of sequential folds.
    """
    adjusted = holm(np.array([evidence.p_value for evidence in found]))
    robust = holm(np.array([evidence.robust_p_value for evidence in found]))
    tests = [
        LDATest(
            name=name,
            groups=groups,
            method=method,
            alpha=alpha,
            evidence=evidence,
            selection_rate=rates,
            p_value_adjusted=p,
            robust_p_value_adjusted=robust_p,
            tested_together=len(found),
            capacity=capacity,
            bounded=bounded,
            learner_check=check,
            sequential=sequential,
            rules=rules,
            errors=errors,
        )
        for name, evidence, rates, p, robust_p, check in zip(
            names,
            found,
            selection_rates,
            adjusted.tolist(),
            robust.tolist(),
            [None] * len(found) if checks is None else checks,
            strict=True,
        )
    ]
    return LDATests({test.name: test for test in tests})
