"""The record of an audit of two groups: everything a report says, as plain numbers and text.

A report is made from its record alone, so the two never disagree. ``audit.schema.json``, which describes the record as
JSON, is generated from these classes and those of `frame` and `origin` by `schema`: the text below a field is its
description.
Pairs are in the order of `Record.groups`, and None stands for a number that is not finite or does not apply.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Literal

from ..frontier.support import Position
from ..inference.distance.crossing import Method as DistanceMethod
from ..inference.group_skew import Method as SkewMethod
from ..inference.group_skew import SkewVerdict
from ..inference.lda.answer import Verdict
from ..inference.lda.evidence import Method as LDAMethod
from .frame import Frame, Plane
from .usual_record import UsualRecord
from .values import Count, Interval, Limits, Pair, Polygon, Positive, PValue, Rates, Share, Texts, Triple


@dataclass(frozen=True, slots=True, kw_only=True)
class WitnessRecord:
    """A rule, or a lottery between two, that improves on the algorithm."""

    directions: Annotated[tuple[Pair, ...], Limits(minItems=1)]
    """Directions of the rules in the lottery."""
    shares: Annotated[tuple[Share, ...], Limits(minItems=1)]
    """Share of people to whom each rule is applied; of the people of the group that is `changed`, if one is."""
    changed: str | None
    """The group about which the alternative decides by a rule learned for it in this share of cases, while all else is
    as now; null if it decides about all people by its rules."""
    risk: Pair
    """Its risks."""
    gain: Triple
    """How much it lowers the risk of the first group, of the second, and the gap."""
    lower_bounds: tuple[float | None, float | None, float | None]
    """Lower confidence bounds of the three gains, which hold together for all rules that might have been chosen."""
    intervals: tuple[Interval, Interval, Interval]
    """Two-sided confidence intervals of the three gains, which hold together for all rules that might have been
    chosen."""
    confirmed: bool
    """Whether the bounds confirm the improvement."""
    selection_rate: Rates
    """Its selection rates."""
    selection_ratio: Share
    """The smaller selection rate over the larger; 1 if nobody is selected."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LDARecord:
    """Test of the null that there is no less discriminatory alternative."""

    method: LDAMethod
    """The test to which statistic and p-value belong."""
    statistic: float
    """Test statistic."""
    separation: float
    """Separation part: positive if no direction separates the improvements from the feasible set."""
    feasibility: float
    """Feasibility part: positive if the algorithm's risks lie outside the estimated set."""
    critical_value: float | None
    """Value that the statistic of a single algorithm must exceed; where every group is tested by itself, in the first
    step of Holm's method over the groups. Null if the draws are too few for that."""
    critical_value_error: float | None
    """Standard error of the critical value due to the finite number of draws."""
    p_value: PValue
    """P-value of this algorithm alone."""
    p_value_adjusted: PValue
    """Holm's p-value over the algorithms of this record; it determines the verdict."""
    feasibility_p_value: PValue
    """P-value of the null that the algorithm does no better than the frontier, of the studentised test."""
    feasibility_t: float | None
    """By how many standard errors the algorithm does better than the frontier in the direction in which these are most;
    0 if in none, null if nothing varies there."""
    n_boot: Positive
    """Bootstrap draws."""
    gain_bound: float | None
    """Largest improvement compatible with the data, for the verdict no-evidence unless the algorithm does better for a
    group than the learner's best rule; otherwise null."""
    gain_weights: Pair
    """Weights of the two risks to which `gain_bound` refers."""
    witness: WitnessRecord | None
    """A rule that improves on the algorithm if an alternative is shown; otherwise null."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LearnerCheckRecord:
    """Rules of the learner beside the algorithm on the same rows; differences are the algorithm's risks less theirs."""

    share: Share
    """Share of people that the algorithm selects."""
    difference: Pair
    """Against the learner's rule that selects the same share of people."""
    standard_error: Pair
    """Standard errors of these paired differences."""
    z: tuple[float | None, float | None]
    """The differences in standard errors; null if nothing varies."""
    best_difference: Pair
    """For each group against the learner's best rule for that group."""
    best_standard_error: Pair
    """Standard errors of these paired differences."""
    best_z: tuple[float | None, float | None]
    """The differences in standard errors; null if nothing varies."""
    best_p_value: tuple[Share, Share]
    """One-sided p-values of the nulls that the algorithm is no better for the group than that rule."""
    better_for: Texts
    """Groups for which the algorithm does better, each tested at alpha / 2; no bound on gains is then given."""
    sentences: Texts
    """The same in words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FairestRecord:
    """The fairest attainable point."""

    risk: Pair
    """Its risks."""
    interval: tuple[Interval, Interval]
    """Confidence intervals of its risks."""
    weights: Pair
    """Weights of the groups' risks in its rule."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DistanceRecord:
    """Distance between the algorithm's risks and the fairest point."""

    metric: str
    """Name of the distance."""
    method: DistanceMethod
    """How the interval is found."""
    estimate: Annotated[float, Limits(minimum=0)]
    """Estimated distance."""
    interval: Interval
    """Confidence interval."""
    cases: Mapping[Position, Interval | str]
    """For each position of the feasible set relative to the 45-degree line, its interval or why it does not count."""
    fairest: FairestRecord
    """The fairest point."""
    sentences: Texts
    """The same in words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AlternativeRecord:
    """One rule of the frontier that improves on the algorithm."""

    role: str
    """What the rule is best at among those listed; may be empty."""
    direction: Pair
    """Its direction."""
    risk: Pair
    """Its risks."""
    standard_error: tuple[float | None, float | None]
    """Standard errors of its risks."""
    gain: Triple
    """How much it lowers the risk of the first group, of the second, and the gap."""
    gain_standard_error: tuple[float | None, float | None, float | None]
    """Standard errors of the three gains."""
    gain_lower_bounds: tuple[float | None, float | None, float | None]
    """Lower confidence bounds of the three gains, which hold together for all rules that might be chosen."""
    selection_rate: Rates
    """Its selection rates."""
    agreement: Share
    """Share of decisions that are the same as the algorithm's."""
    flagged: bool
    """Whether one of its gains is not distinguishable from zero."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherRun:
    """What a run that does not determine the verdict says about an algorithm."""

    learner: str
    """The learner."""
    seed: Count
    """The seed."""
    covariates: str
    """As given, or with the score or without it."""
    verdict: Verdict
    """The verdict of this run."""
    p_value: PValue
    """The p-value on which it rests, adjusted for the algorithms of the run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherRuns:
    """Whether runs with other seeds and learners come to the verdict of the run that determines it."""

    counted: Count
    """Runs with the same covariates and another seed or learner."""
    same_verdict: Count
    """Those of them that come to the same verdict."""
    not_done: Count
    """Runs of this kind that were planned and failed; see the warnings."""
    differing: tuple[OtherRun, ...]
    """Those that come to another verdict."""
    p_values: tuple[PValue, PValue]
    """The smallest and the largest p-value of the runs counted and of the one that determines the verdict."""
    straddles_alpha: bool
    """Whether these p-values lie on both sides of the level."""
    other_covariates: tuple[OtherRun, ...]
    """Runs with other covariates (with the score, or without it): they answer another question and do not count."""
    next_step: str
    """What to do next, in one sentence."""
    sentences: Texts
    """The same in words, without the runs with other covariates; for these see both_ways."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AlgorithmRecord:
    """The findings about one algorithm."""

    name: str
    """Its name."""
    verdict: Verdict
    """lda-shown: the robust test, adjusted for the number of algorithms, rejects that there is no less discriminatory
    alternative. no-evidence: it does not, which does not show that there is none. not-comparable: the algorithm does
    better than the estimated frontier."""
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
    risk: Pair
    """Its risks."""
    risk_interval: tuple[Interval, Interval]
    """Confidence intervals of its risks, each by itself."""
    standard_error: Pair
    """Standard errors of its risks."""
    gap: float
    """Risk of the first group minus that of the second."""
    selection_rate: Rates
    """Its selection rates."""
    selection_ratio: Share | None
    """The smaller selection rate over the larger; 1 if nobody is selected."""
    lda: LDARecord
    """The test on which the verdict rests."""
    learner_check: LearnerCheckRecord | None
    """Whether the learner is good enough for this algorithm; null if only its risks are known."""
    improving: Polygon
    """The part of the estimated set that is no worse for either group and no less fair."""
    distance: DistanceRecord
    """How far it is from the fairest point."""
    alternatives: tuple[AlternativeRecord, ...]
    """Rules of the frontier that improve on it."""
    alternatives_sentences: Texts
    """The same in words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GapRecord:
    """One estimate of the gap between the groups' risks at a best point."""

    group: str
    """Whose best point."""
    how: Literal["difference", "direct"]
    """difference: by the change of the support function, which is at most the gap. direct: the gap of the best rule."""
    estimate: float
    """Risk of the other group minus that of this group."""
    p_value: PValue
    """P-value of the null that it is at most 0."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SkewRecord:
    """Test of the null that at both best points the same group has the higher risk."""

    method: SkewMethod
    """How the test is done."""
    best_r: Pair
    """Best point of the first group."""
    best_b: Pair
    """Best point of the second group."""
    gaps: tuple[GapRecord, ...]
    """Estimated gaps at the best points; the null is rejected if all of them exceed 0 beyond chance. Empty if the
    method is paper."""
    statistic: float
    """Test statistic."""
    critical_value: float
    """Value that the statistic must exceed."""
    p_value: PValue
    """P-value of the null."""
    p_value_balanced: PValue | None
    """P-value of the opposite of the null, that each group has the lower risk at its own best point. If this is at most
    alpha too, no pair of best points agrees with the estimates. Null if the method is paper."""
    verdict: SkewVerdict
    """balance-shown: the null is rejected, its opposite is not, and the estimated best points agree. not-shown: the
    null is not rejected. contradictory: the null is rejected, but so is its opposite, or the estimated best points lie
    as the null says; no answer."""
    reject: bool
    """Whether the verdict is balance-shown."""
    n_boot: Positive
    """Bootstrap draws."""
    sentences: Texts
    """The test in words."""


@dataclass(frozen=True, kw_only=True)
class Record(Plane, Frame):
    """Everything a report on two groups says.

    Pairs are in the order of `groups`; null stands for a number that is not finite or does not apply.
    """

    algorithms: tuple[AlgorithmRecord, ...]
    """The algorithms, that of --decision or --score first; empty if none was given."""
    skew: SkewRecord
    """Test of group skew."""
