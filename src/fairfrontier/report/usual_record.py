"""The part of a record with the usual figures, and the sequence of a dispute."""

from __future__ import annotations

from dataclasses import dataclass

from .values import Interval, Positive, PValue, Share, Texts


@dataclass(frozen=True, slots=True, kw_only=True)
class RateRecord:
    """A rate with its confidence interval, by itself."""

    rate: Share | None
    """The rate; null if nobody counts for it."""
    interval: Interval
    """Its confidence interval."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UsualLine:
    """Usual figures of one group."""

    group: str
    """Label of the group."""
    rows: Positive
    """Rows used."""
    selection: RateRecord
    """Share of people selected."""
    difference: float
    """That share minus that of the reference."""
    difference_interval: Interval
    """Confidence interval of the difference; open for the reference."""
    ratio: float | None
    """The share over that of the reference; null if nobody of the reference is selected."""
    ratio_interval: Interval
    """Confidence interval of the ratio; open where it is 0, and for the reference."""
    below_four_fifths: bool
    """Whether the ratio is below the rule of thumb of four fifths."""
    z_p_value: PValue | None
    """P-value of the two-proportion z-test, adjusted for the number of groups; null for the reference."""
    fisher_p_value: PValue | None
    """The same of Fisher's exact test; null also where people were not counted (weights, clusters, lotteries)."""
    false_positives: RateRecord | None
    """Share selected of people with outcome 0; null unless outcomes are 0 and 1."""
    false_negatives: RateRecord | None
    """Share not selected of people with outcome 1; null unless outcomes are 0 and 1."""
    standardised_difference: float | None
    """Mean score minus that of the reference in standard deviations; null without a score."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UsualRecord:
    """Usual figures of an algorithm and of the alternative to it."""

    reference: str
    """The group compared with: that asked for, otherwise the one with the highest selection rate."""
    algorithm: tuple[UsualLine, ...]
    """One line for each group."""
    alternative: tuple[UsualLine, ...]
    """The same under the alternative; empty if none is shown, or it keeps most of the algorithm's decisions."""
    sentences: Texts
    """What the figures are, and what they do not say."""
    sequence: Texts
    """The sequence of a dispute: is there a disparity, does the outcome explain it, is there an alternative as good."""
