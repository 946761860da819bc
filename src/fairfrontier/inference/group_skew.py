"""Should the group be banned as an input? The test of weak group skew, without random candidate points.

The null says that R and B lie weakly on the same side of the 45-degree line.

``paper`` rejects it if no pair (R, B) of the null lies in the joint confidence set, so its p-value is the largest
p(R, B) over such pairs (`skew_search`).

``sharp`` uses that R has the smallest e_r and B the smallest e_b. If B lies weakly above the line then so does R,
R_r <= B_r <= B_b <= R_b; if R lies weakly below then so does B. The null is therefore that B lies weakly above or R
weakly below, and it is rejected if both of these are, each at the full level: an intersection-union test, which pays
nothing for looking at two points. Each is tested by two estimates of its gap, both of which must be positive beyond
chance (`skew_gaps`).

A learner that misses signal makes the estimates contradict each other: then no point at all passes as R, or none as B,
and rejecting the null says nothing. ``sharp`` therefore asks whether the opposite, R above and B below the line, agrees
with the estimates, each point by its own part of T (rules held while drawing; the step of the numerical derivative is
kappa_n / sqrt(n), which counts far directions less), and claims balance only where it does and the estimated points lie
so.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from ..arrays import FloatArray
from ..bootstrap.draws import DrawingContext
from ..data.checks import check_level
from ..data.notebook import BLUE, ORANGE, Picture
from ..data.reading import Label
from ..data.result import ExplainedResult, PlainDict, axes_of, labels, plain_items
from ..frontier.plane import U1, U2
from .best_points import QUARTER, ExtremePoint, extreme_points
from .p_values import critical_value, kappa
from .skew_gaps import SkewGap, skew_gaps, weakest
from .skew_search import BestPointsSet, balanced_p_value, closest_pair, confidence_set

Method = Literal["sharp", "paper"]
SkewVerdict = Literal["balance-shown", "not-shown", "contradictory"]
SKEW_VERDICTS: dict[SkewVerdict, str] = {
    "balance-shown": "Banning the group would worsen every point of the trade-off.",
    "not-shown": "Not shown: the best points may lie on one side of equal risks.",
    "contradictory": "No answer: the estimates contradict each other.",
}
DIRECTIONS = 200
"""Directions in each of the two half circles in which points must be feasible."""
PUBLISHED_DIRECTIONS = 100
"""The published number of them in quarter circles."""
_HOW = {
    "difference": "by how the support function changes there, which is at most the gap",
    "direct": "the gap of the rule that is best for that group",
}
NO_ANSWER = (
    "So the learner is too weak or the sample too small. This shows neither that banning the group would worsen the "
    "trade-off nor that it would not; a stronger learner may give an answer."
)
"""What follows if the estimates contradict each other."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class GroupSkewTest(ExplainedResult):
    """Result of testing weak group skew; the null is that both best points lie weakly on one side of equal risks.

    ``best_r`` and ``best_b`` (2,) are the estimated best points. ``gaps`` are the four estimates of the gaps between
    the groups' risks there; ``statistic`` and ``draws`` (B,) belong to the one that decides and ``p_value`` to the
    null. The published test has no such gaps: its statistic and draws belong to ``closest``, the best points (2, 2) of
    the null that the data reject least. ``p_value_balanced`` is the p-value of the opposite, R weakly above and B
    weakly below the line: the largest over such pairs of the smaller p-value of the two points. It is None for the
    published test, which does not ask.
    """

    groups: tuple[Label, Label]
    alpha: float
    method: Method
    best_r: FloatArray
    best_b: FloatArray
    gaps: tuple[SkewGap, ...]
    closest: FloatArray | None
    statistic: float
    draws: FloatArray
    p_value: float
    p_value_balanced: float | None
    _points: tuple[ExtremePoint, ExtremePoint]

    @property
    def verdict(self) -> SkewVerdict:
        """What the test shows.

        "balance-shown": weak group skew is rejected, its opposite is not, and the estimated best points lie on
        different sides. "not-shown": weak group skew is not rejected. "contradictory": it is rejected, but so is its
        opposite, or the estimated best points lie as the null says; this is no answer. The published test has only
        the first two.
        """
        if self.p_value > self.alpha:
            return "not-shown"
        if self.p_value_balanced is None:
            return "balance-shown"
        agrees = self.p_value_balanced > self.alpha and self._balanced_by_estimate
        return "balance-shown" if agrees else "contradictory"

    @property
    def reject(self) -> bool:
        """Whether the best points are shown to lie strictly on different sides: the verdict is "balance-shown"."""
        return self.verdict == "balance-shown"

    @property
    def _balanced_by_estimate(self) -> bool:
        return bool(self.best_r[1] > self.best_r[0] and self.best_b[1] < self.best_b[0])

    @property
    def critical_value(self) -> float:
        """Value that the statistic must exceed."""
        return critical_value(self.draws, self.alpha)

    @property
    def confidence_set(self) -> BestPointsSet:
        """Confidence set for (R, B), projected on R and on B; worked out when asked for."""
        return replace(confidence_set(*self._points, self.alpha), groups=self.groups)

    def at(self, alpha: float) -> GroupSkewTest:
        """The same draws judged at another level."""
        return replace(self, alpha=check_level(alpha, len(self.draws)))

    def _facts(self) -> dict[str, object]:
        return {
            "groups": labels(self.groups),
            "verdict": self.verdict,
            "method": self.method,
            "alpha": self.alpha,
            "best_r": self.best_r,
            "best_b": self.best_b,
            "statistic": self.statistic,
            "critical_value": self.critical_value,
            "p_value": self.p_value,
            "p_value_balanced": self.p_value_balanced,
            "n_boot": len(self.draws),
        }

    def to_dict(self) -> PlainDict:
        """Everything but the draws, as plain numbers and text."""
        more = {"reject": self.reject, "gaps": self.gaps, "closest": self.closest}
        return plain_items(self._facts() | more)

    @property
    def verdict_text(self) -> str:
        """The verdict as a sentence."""
        return SKEW_VERDICTS[self.verdict]

    def _verdict(self) -> str:
        return self.verdict_text

    def _picture(self) -> Picture:
        plane = Picture(axes_of(self.groups)).points(self.best_r[None], BLUE, f"best for {self.groups[0]}")
        return plane.points(self.best_b[None], ORANGE, f"best for {self.groups[1]}")

    @property
    def heading(self) -> str:
        """The question that is answered."""
        return "Would banning the group as an input worsen every point of the trade-off?"

    def sentences(self) -> list[str]:
        """Say in plain words what the test shows and what it does not show."""
        r, b = self.groups
        lines = [
            f"Estimated best point of group {r}: {_pair(self.best_r, self.groups)}; of group {b}: "
            f"{_pair(self.best_b, self.groups)}.",
            "Null: at both best points the same group has the higher risk (or the risks are equal). "
            f"P-value {self.p_value:.4f} at alpha {self.alpha:g}.",
        ]
        lines += self._deciding()
        lines += self._meaning()
        lines.append(
            "It concerns risks (expected losses) of rules based on the covariates used here: evidence, not a legal "
            "finding on the use of the group."
        )
        return lines

    def _deciding(self) -> list[str]:
        """Which gap the test is decided by, and by how much it exceeds 0; nothing for the published test."""
        if not self.gaps:
            return []
        gap = weakest(self.gaps)
        own, other = self.groups[gap.group], self.groups[1 - gap.group]
        return [
            f"Decided by the best point of group {own}: there the risk of group {other} exceeds that of group {own} by "
            f"an estimated {gap.estimate:+.4f} ({_HOW[gap.how]})."
        ]

    def _meaning(self) -> list[str]:
        r, b = self.groups
        if self.verdict == "not-shown":
            return [
                "Not rejected. This does not show that the group should be banned, nor that banning it would do no "
                "harm: the data are compatible with one group having the higher risk at both best points, in which "
                "case it depends on the preference between accuracy and fairness.",
                "Nor can it be ruled out that a rule which serves both groups worse than another is justified by "
                "fairness.",
            ]
        if self.verdict == "contradictory":
            return [self._contradiction(), NO_ANSWER]
        if self.p_value_balanced is None and self._nothing_accepted():
            return [
                "Rejected by the published rule, but the confidence set of the best points is empty: no pair of best "
                "points agrees with the estimates, whether it fits the null or not.",
                NO_ANSWER,
            ]
        return [
            "Rejected: each group is served best by rules under which the other group has the higher risk.",
            f"For banning: every point of the frontier of rules that do not see {r} or {b} is dominated by a "
            "point that rules which see the group attain. Banning it would worsen the trade-off everywhere.",
            "For justification: the frontier is then the Pareto frontier, so a rule that could be improved for "
            "both groups at once cannot be justified by fairness.",
            "All this holds if the learner comes close to the truth; one that misses signal can mislead the test.",
        ]

    def _contradiction(self) -> str:
        assert self.p_value_balanced is not None
        if self.p_value_balanced <= self.alpha:
            return (
                f"No answer: the null is rejected, but so is its opposite (p-value {self.p_value_balanced:.4f}). No "
                "pair of best points agrees with the estimates."
            )
        return (
            "No answer: the null is rejected, yet the estimated best points lie as it says. The estimates contradict "
            "each other."
        )

    def _nothing_accepted(self) -> bool:
        found = self.confidence_set
        return len(found.best_r) == 0 or len(found.best_b) == 0


def group_skew_test(
    context: DrawingContext,
    best: tuple[FloatArray, FloatArray],
    groups: tuple[Label, Label],
    alpha: float,
    method: Method,
) -> GroupSkewTest:
    """Test weak group skew."""
    points = skew_points(context, method)
    gaps: tuple[SkewGap, ...] = ()
    closest, p_balanced = None, None
    if method == "paper":
        pair = closest_pair(*points)
        closest, statistic, draws, p_value = np.array([pair.r, pair.b]), pair.statistic, pair.draws, pair.p_value
    else:
        gaps = skew_gaps(context)
        p_balanced = balanced_p_value(*points)
        decides = weakest(gaps)
        statistic, draws, p_value = decides.statistic, decides.draws, decides.p_value
    return GroupSkewTest(
        groups=groups,
        alpha=alpha,
        method=method,
        best_r=best[0],
        best_b=best[1],
        gaps=gaps,
        closest=closest,
        statistic=statistic,
        draws=draws,
        p_value=p_value,
        p_value_balanced=p_balanced,
        _points=points,
    )


def skew_points(context: DrawingContext, method: Method) -> tuple[ExtremePoint, ExtremePoint]:
    """Draw what the test of (R, B) needs: published constants, or the sharper ones of this module."""
    context = replace(context, n_folds=0)  # a point that passes only by what learning allows for is no evidence
    supports, n = np.array([U1, U2]), context.function.n_obs
    if method == "paper":
        r, b = extreme_points(context, supports, PUBLISHED_DIRECTIONS, window=QUARTER)
    else:
        step = kappa(n) / np.sqrt(n)
        r, b = extreme_points(context, supports, DIRECTIONS, window=np.pi / 2.0, step=float(step), hold_rules=True)
    return r, b


def _pair(point: FloatArray, groups: tuple[Label, Label]) -> str:
    return f"risks {point[0]:.4f} ({groups[0]}) and {point[1]:.4f} ({groups[1]})"
