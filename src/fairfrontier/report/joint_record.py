"""The record of an audit of more than two groups, or by other criteria: the joint answer, then every pair of groups.

Lists with an entry for each group are in the order of `GroupsRecord.groups`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from ..inference.lda.answer import Verdict
from .frame import Frame, Plane
from .record import OtherRuns
from .usual_record import UsualRecord
from .values import Count, Interval, Limits, Numbers, Pair, Polygon, Positive, PValue, Rates, Share, Texts


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupLine:
    """One group under an algorithm, and under the alternative to it if one is shown."""

    group: str
    """Label of the group."""
    rows: Positive
    """Rows used."""
    risk: float
    """Risk under the algorithm."""
    risk_interval: Interval
    """Confidence interval of the risk, by itself."""
    standard_error: float
    """Standard error of the risk."""
    gap: float
    """Risk minus that of the group compared with."""
    gap_interval: Interval
    """Confidence interval of the gap, by itself; open for the group compared with."""
    selection_rate: Share | None
    """Share of people whom the algorithm selects."""
    ratio: float | None
    """Selection rate over that of the group compared with; null if nobody of that group is selected."""
    ratio_interval: Interval
    """Confidence interval of the ratio, by itself; open where it is 0, and for the group compared with."""
    alternative_risk: float | None
    """Risk under the alternative; null if none is shown."""
    alternative_selection_rate: Share | None
    """Selection rate of the alternative; null if none is shown."""
    gain: float | None
    """How much the alternative lowers the risk; null if none is shown, or the overall risk is what counts."""
    gain_lower_bound: float | None
    """Lower bound of the gain; all bounds of the alternative hold together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WidthLine:
    """What an alternative must not widen: the range of the risks, a gap to the reference, or what else is asked."""

    name: str
    """The range, or which gap."""
    now: float
    """Its size under the algorithm."""
    gain: float | None
    """How much the alternative narrows it; null if none is shown."""
    gain_lower_bound: float | None
    """Lower bound of the gain; all bounds of the alternative hold together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JointWitnessRecord:
    """A rule, or a lottery between several, that improves on the algorithm; the lines of the groups have its risks."""

    directions: Annotated[tuple[Numbers, ...], Limits(minItems=1)]
    """Weights of the groups' risks, or of the criteria that were asked for, for which each rule of the lottery is
    best."""
    shares: Annotated[tuple[Share, ...], Limits(minItems=1)]
    """Share of people to whom each rule is applied; of the people of the group that is `changed`, if one is."""
    changed: str | None
    """Among rules that see the group: the group that is decided about by the rule, while all else is as now."""
    confirmed: bool
    """Whether all lower bounds of the gains are above zero; if one group is changed, whether that of its risk is and no
    other is below zero."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JointLDARecord:
    """Test of the null that there is no less discriminatory alternative for all groups together."""

    statistic: float | None
    """The smallest slack in its standard errors; null if nothing varies."""
    p_value: PValue
    """P-value of this algorithm alone."""
    p_value_adjusted: PValue
    """Holm's p-value over the algorithms of this record; it determines the verdict."""
    weights: Numbers
    """Net weights at which the test is decided: of the groups' risks, or of the criteria that were asked for."""
    feasibility_p_value: PValue
    """P-value of the null that the algorithm's risks are attainable."""
    feasibility_t: float | None
    """By how many standard errors the algorithm does better than what is attainable in the direction in which these are
    most; null if nothing varies there."""
    rules: Positive
    """Rules that were tested."""
    cells: Positive
    """Cells of weights, each with one rule."""
    finished: bool
    """Whether finer cells were of no use, rather than the budget spent."""
    loss: float
    """Standard errors that finer cells might gain, by the predictions."""
    gain_bound: float | None
    """Largest gain compatible with the data, for the verdict no-evidence unless the algorithm does better for a group
    than the learner's best rule; otherwise null."""
    gain_weights: Numbers
    """Weights of the groups' risks to which `gain_bound` refers; a single one for the overall risk."""
    witness: JointWitnessRecord | None
    """A rule that improves on the algorithm if an alternative is shown; otherwise null."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JointAlgorithmRecord:
    """The findings about one algorithm, all groups together."""

    name: str
    """Its name."""
    verdict: Verdict
    """lda-shown: the robust test, adjusted for the number of algorithms, rejects that there is no less discriminatory
    alternative. no-evidence: it does not, which does not show that there is none. not-comparable: the algorithm does
    better than what is attainable."""
    headline: str
    """The verdict as one sentence."""
    question: str
    """The question that is answered, in one sentence."""
    usual: UsualRecord
    """The figures that are usual in disputes, and the sequence of one."""
    sentences: Texts
    """The test in words."""
    other_runs: OtherRuns | None
    """Whether other runs of the audit come to the same verdict; null if the record was made from Python."""
    both_ways: str | None
    """With a score: the verdict with the score among the covariates and without it; otherwise null."""
    groups: tuple[GroupLine, ...]
    """One line for each group."""
    range: float
    """Largest risk minus the smallest."""
    widths: tuple[WidthLine, ...]
    """What an alternative must not widen."""
    lda: JointLDARecord
    """The test on which the verdict rests."""
    better_for: Texts
    """Groups for which the algorithm does better than the learner's best rule, beyond chance."""
    learner_sentence: str
    """Whether the learner is good enough for this algorithm, in words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupsPoint:
    """A point that rules attain, found by predictions."""

    name: str
    """Whom it is best for, or that it is the fairest: the one with the smallest range of risks."""
    risk: Numbers
    """Its risks by outcomes."""
    range: float
    """Largest risk minus the smallest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PairAlgorithmRecord:
    """What the test of two of the groups says about an algorithm."""

    name: str
    """Name of the algorithm."""
    verdict: Verdict
    """The verdict, on the adjusted p-value."""
    p_value: PValue
    """P-value of this pair and algorithm alone."""
    p_value_adjusted: PValue
    """Holm's p-value over all pairs and algorithms of this record."""
    risk: Pair
    """Risks of the two groups."""
    risk_interval: tuple[Interval, Interval]
    """Confidence intervals of the risks, each by itself."""
    gap: float
    """Risk of the first group minus that of the second."""
    selection_rate: Rates
    """Selection rates of the two groups."""
    improving: Polygon
    """The part of the estimated set that is no worse for either group and no less fair."""


@dataclass(frozen=True, kw_only=True)
class PairRecord(Plane):
    """Two of the groups, with the predictions of the fit of all groups."""

    algorithms: tuple[PairAlgorithmRecord, ...]
    """The algorithms, in the order of those of the record."""


@dataclass(frozen=True, kw_only=True)
class GroupsRecord(Frame):
    """Everything a report on more groups, or by other criteria, says; null: a number that is not finite or defined."""

    groups: Annotated[tuple[str, ...], Limits(minItems=2)]
    """Labels of the groups; lists with an entry for each group are in this order."""
    reference: str | None
    """The group to which no gap may be wider; null if the range of the risks is what must not be."""
    compared_with: str
    """The group to which gaps and ratios of the groups' lines refer: the reference, otherwise the largest group."""
    algorithms: tuple[JointAlgorithmRecord, ...]
    """The algorithms, that of --decision or --score first; empty if none was given."""
    points: tuple[GroupsPoint, ...]
    """The best points of the groups and the fairest point; empty if rules are compared by other criteria."""
    pairs: tuple[PairRecord, ...]
    """All pairs of groups, or all with the reference; empty if the learner's predictions do not serve pairs."""
    pair_tests: Count
    """Tests of pairs that were adjusted together: pairs times algorithms."""
    without_pairs: str | None
    """Why there are no pairs; null if there are."""
