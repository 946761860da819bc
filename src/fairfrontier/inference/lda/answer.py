"""What answers to the question of an alternative have in common, whatever the number of groups."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Literal, TypeVar

import numpy as np

from ...arrays import FloatArray
from ...data.number_formats import confidence_text
from ...data.reading import Label
from ...data.result import ExplainedResult, ResultsByName
from .witness import Alternative, selection_ratio

Verdict = Literal["lda-shown", "no-evidence", "not-comparable"]
VERDICTS: dict[Verdict, str] = {
    "lda-shown": "A less discriminatory alternative is shown to exist.",
    "no-evidence": "No evidence of a less discriminatory alternative.",
    "not-comparable": "No verdict: the algorithm's risks lie outside the estimated feasible set.",
}


class LDAAnswer(ExplainedResult):
    """An answer for any number of groups: the verdict, and what it means in words.

    The fields are those of `LDATest` and `JointLDATest`; an alternative is claimed on ``deciding_p_value`` alone.
    """

    __slots__ = ()

    name: str
    groups: tuple[Label, ...]
    alpha: float
    evidence: Any
    selection_rate: FloatArray | None
    p_value_adjusted: float
    tested_together: int
    capacity: float | None
    bounded: bool

    @property
    def question(self) -> str:
        """The question that is answered, in one sentence."""
        raise NotImplementedError

    @property
    def p_value(self) -> float:
        """P-value of this algorithm alone."""
        raise NotImplementedError

    @property
    def deciding_p_value(self) -> float:
        """P-value of the robust test, adjusted for the algorithms tested together: the verdict rests on it."""
        raise NotImplementedError

    @property
    def witness(self) -> Alternative | None:
        """A rule, or mixture of rules, that improves on the algorithm; None unless an alternative is shown."""
        raise NotImplementedError

    @property
    def better_for(self) -> tuple[Label, ...]:
        """Groups for which the algorithm does better than the learner's best rule, beyond chance at ``alpha``."""
        raise NotImplementedError

    @property
    def gain_weights(self) -> FloatArray:
        """Weights (G,) of the groups' risks, summing to one, to which ``gain_bound`` refers."""
        raise NotImplementedError

    def _largest_gain(self) -> float:
        """Upper bound on the gain in the mean of the risks with ``gain_weights``."""
        raise NotImplementedError

    @property
    def risk(self) -> FloatArray:
        """The algorithm's risks (G,) by group."""
        found: FloatArray = self.evidence.risk
        return found

    @property
    def verdict(self) -> Verdict:
        """One of three outcomes, never merged; an alternative is claimed on the adjusted p-value of the robust test."""
        if self.deciding_p_value <= self.alpha:
            return "lda-shown"
        return "not-comparable" if self.evidence.feasibility_p_value <= self.alpha else "no-evidence"

    @property
    def gain_bound(self) -> float | None:
        """Largest improvement with which the data are compatible, if the learner is consistent; for "no-evidence" only.

        No alternative lowers the mean of the risks, weighted by ``gain_weights``, by more than this (level 1 - alpha).
        Where every group is tested by itself that is the risk of one group, and no other can be lowered further. None
        also if the algorithm is better for a group than the learner's best rule: then the learner misses signal,
        and what it cannot find bounds nothing.
        """
        return None if self.verdict != "no-evidence" or self.better_for else self._largest_gain()

    @property
    def selection_ratio(self) -> float | None:
        """Smallest selection rate over the largest, or None for risks without decisions."""
        return None if self.selection_rate is None else selection_ratio(self.selection_rate)

    @property
    def limits(self) -> str:
        """What limits the rules that the algorithm is compared with, in words; empty if nothing does."""
        capacity = [] if self.capacity is None else [f"at most {100 * self.capacity:.4g}% of people selected"]
        return ", ".join(capacity + ["bounds on the chance of being selected"] * self.bounded)

    def to_json(self) -> str:
        """`to_dict` as JSON text."""
        return json.dumps(self.to_dict(), indent=1, allow_nan=False)

    def _shown(self) -> list[str]:
        """Sentences on an alternative that is shown to exist."""
        raise NotImplementedError

    def _finding(self) -> list[str]:
        """Sentences on the verdict."""
        if self.verdict == "lda-shown":
            return self._shown()
        return [self._outside() if self.verdict == "not-comparable" else self._nothing()]

    def _steps(self) -> list[str]:
        """Say that the rules of the test change some decisions, if they do, and why no alternative may be named."""
        share = self.evidence.share_changed
        if self.evidence.changes_one:
            return []
        changes = (
            "The rules of this test change each decision of the algorithm with some probability, which is higher where "
            f"the covariates say more; the one that decides the test changes {100 * (share or 0.0):.3g}% of them."
        )
        none = (
            f"The rule{'' if share is None else ' based on the covariates alone'} that would be described is not "
            "estimated to be better in every respect, so no alternative is described."
        )
        return [changes] * (share is not None) + [none] * (self.witness is None)

    def _outside(self) -> str:
        t = self.evidence.feasibility_t
        far = f"by {t:.1f} standard errors" if np.isfinite(t) else "in a direction in which nothing varies"
        return (
            "The comparison does not apply: the algorithm's risks lie outside the estimated feasible set, "
            f"{far} (p-value {self.evidence.feasibility_p_value:.4f}). Either the learner is too weak to reach "
            f"them or the algorithm uses information outside the covariates{self._or_limits()}; try a stronger "
            "learner, or add the algorithm's own score as a covariate. This shows neither an alternative nor its "
            "absence."
        )

    def _nothing(self) -> str:
        nothing = "No evidence of one. This does not show that none exists"
        if self.gain_bound is None:
            return f"{nothing}."
        return (
            f"{nothing}: if the learner is consistent, the data are compatible with a reduction of at most "
            f"{self.gain_bound:.4f} ({confidence_text(self.alpha)} bound) in the {self._mean()}{self._by_covariates()}."
        )

    def _by_covariates(self) -> str:
        """Say which rules the bound is about, where the test is about more."""
        return "" if self.evidence.share_changed is None else ", by a rule based on the covariates alone"

    @property
    def _overall(self) -> bool:
        """Whether accuracy is asked for overall and not in every group."""
        return len(self.gain_weights) < len(self.groups)

    @property
    def _bounds_groups(self) -> bool:
        """Whether gains are bounded in the risk of each group by itself, which a capacity does not allow."""
        return bool(self.evidence.by_group) and self.capacity is None

    def _mean(self) -> str:
        """What ``gain_bound`` bounds, in words."""
        if self._bounds_groups:
            return f"risk of group {self.groups[int(np.argmax(self.gain_weights))]}, and no larger one in another group"
        if self._overall:
            return "overall risk"
        each = [f"{w:.2f} ({label})" for label, w in zip(self.groups, self.gain_weights.tolist(), strict=True)]
        if len(each) == 2:
            return f"average of the two risks weighted {' to '.join(each)}"
        return f"mean of the risks weighted {', '.join(each)}"

    def _better(self) -> list[str]:
        """Say for which groups the algorithm does better than the learner, if for any."""
        if not (better := self.better_for):
            return []
        whom = "Overall" if self._overall else f"For group {' and for group '.join(map(str, better))}"
        return [
            f"{whom} the algorithm does better than the learner's best "
            "rule, beyond chance: the learner is too weak, or the algorithm uses information outside the covariates"
            + self._or_limits()
            + "."
            + (" So no bound is given on what an alternative can gain." if self.verdict == "no-evidence" else "")
        ]

    def _or_limits(self) -> str:
        return f", or the limits set on the rules ({limits}) exclude it" if (limits := self.limits) else ""

    def _adjusted_text(self, value: float, adjusted: float) -> str:
        if self.tested_together == 1:
            return f"{value:.4f}"
        return f"{value:.4f} ({adjusted:.4f} after adjusting for {self.tested_together} tests)"

    def _verdict(self) -> str:
        return VERDICTS[self.verdict]


def gains_in_words(
    found: Alternative, gain: FloatArray, names: Sequence[str], alpha: float, clear: str = "all bounds clear zero"
) -> str:
    """The gains of an alternative with their lower bounds, under their names, and whether they are confirmed."""
    each = zip(names, gain.tolist(), found.lower_bounds(alpha).tolist(), strict=True)
    gains = ", ".join(f"{name} {gain:+.4f} (at least {bound:+.4f})" for name, gain, bound in each)
    status = (
        f"{clear}, so this alternative counts as confirmed"
        if found.confirmed(alpha)
        else "existence is shown, but this particular alternative is not confirmed"
    )
    return f"Gains: {gains}; {status}."


def alternative_in_words(
    found: Alternative, gain: FloatArray, names: Sequence[str], alpha: float, *, lottery: str, clear: str
) -> str:
    """What an alternative is, its gains, and what holds of them; ``lottery``: how one between rules is called."""
    kind = (
        f"{found.shares[0]:.0%} of the decisions about group {found.changed} by a rule learned for it, all else as now"
        if found.changed is not None
        else "one rule"
        if len(found.shares) == 1
        else lottery
    )
    clear = clear if found.changed is None else "the bounds of what changes clear zero"
    return (
        f"An alternative: {kind}. {gains_in_words(found, gain, names, alpha, clear)} With {confidence_text(alpha)} "
        "confidence the bounds of all rules that might have been chosen hold together. The estimated gains tend to be "
        "overstated, as this rule was chosen, and is shown, because of the same rows."
    )


A = TypeVar("A", bound=LDAAnswer)


class LDAAnswers(ResultsByName[A]):
    """Answers for several algorithms tested together, by name."""

    __slots__ = ()

    @property
    def heading(self) -> str:
        """The question that is answered."""
        return "Is there a less discriminatory alternative?"

    def _facts(self) -> dict[str, object]:
        return {
            str(name): f"{test.verdict}, p-value {test.p_value:.4g} (adjusted {test.p_value_adjusted:.4g})"
            for name, test in self.items()
        }
