"""What every record has, and what is drawn in the plane of the risks of two groups.

Pairs are in the order of the two groups, and None stands for a number that is not finite or does not apply.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from typing import Annotated, Literal

from ..data.result import Plain, PlainDict
from ..data.result import plain as plain_value
from ..inference.lda.answer import Verdict
from .origin import Data, LearnerRecord, RequestRecord, Settings
from .values import Count, Level, Limits, Numbers, Pair, Polygon, PValue, Rates, Share, Texts

SCHEMA: Literal[2] = 2
"""Version of the record's form; raised when a field changes its meaning or is removed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """A point of the frontier with a name."""

    name: str
    """Its name."""
    risk: Pair
    """Its risks."""
    direction: tuple[float | None, float | None]
    """Direction of its rule; null if it has none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ContradictionRecord:
    """A point that is not what its name says, by the estimates."""

    point: str
    """Name of the point."""
    what: str
    """What should be smallest there: a group's risk, or the gap."""
    other: str
    """The point at which it is smaller."""
    by: Annotated[float, Limits(exclusiveMinimum=0)]
    """By how much."""
    standard_error: float
    """Standard error of the difference."""
    sentence: str
    """The same in words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CurvePoint:
    """A corner of the set that is drawn, on its frontier."""

    risk: Pair
    """Its risks."""
    direction: Pair
    """Direction of its rule."""
    selection_rate: Rates
    """Selection rates of its rule."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """What is drawn."""

    set: Polygon
    """The estimated set of attainable risks: the convex hull of the risks of rules found."""
    frontier: tuple[CurvePoint, ...]
    """The part of the edge of the set that is the frontier, from corner to corner."""
    region: tuple[Polygon, ...]
    """Confidence set of the frontier; empty with a capacity."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleStep:
    """A rule between all weight on one group and all weight on the other."""

    weight: Share
    """Weight of the first group's risk."""
    direction: Pair
    """Direction of the rule."""
    risk: Pair
    """Its cross-fitted risks."""
    selection_rate: Rates
    """Its selection rates."""
    false_positive_rate: Rates | None
    """Shares selected of the people without the outcome; null unless outcomes are 0 and 1."""
    false_negative_rate: Rates | None
    """Shares not selected of the people with the outcome; null unless outcomes are 0 and 1."""


@dataclass(frozen=True, kw_only=True)
class Plane:
    """What is attainable for two groups."""

    groups: tuple[str, str]
    """Labels of the two groups; pairs of numbers are in this order."""
    points: tuple[Point, Point, Point]
    """The best points of the two groups and the fairest point."""
    contradictions: tuple[ContradictionRecord, ...]
    """Points that are not what they are called: the learner is too weak, or the sample too small."""
    configuration: str
    """Position of the best points: balanced, or which group has the lower risk at both."""
    picture: Picture
    """What is drawn."""
    rules: tuple[RuleStep, ...]
    """Rules from all weight on the second group to all weight on the first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunVerdict:
    """What one run of the test says about an algorithm."""

    verdict: Verdict
    """The verdict."""
    p_value: PValue
    """P-value of this algorithm alone."""
    p_value_adjusted: PValue
    """Holm's p-value over the algorithms of this run; it determines the verdict."""
    statistic: float | None
    """Test statistic; null if nothing varies."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """The test of all algorithms with one learner, seed and choice of covariates."""

    learner: str
    """The learner."""
    seed: Count
    """The seed."""
    covariates: str
    """As given, or with the score or without it."""
    decides: bool
    """Whether this run determines the verdicts of the audit."""
    algorithms: Mapping[str, RunVerdict]
    """The results by algorithm."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BanPoint:
    """What a ban of the group costs at one point; numbers of the groups are in the order of the record's groups."""

    name: str
    """The point: best for a group, utilitarian, population, rawlsian or fairest."""
    without: Numbers
    """Risks that rules attain there which do not see the group."""
    seeing: Numbers
    """Risks that rules attain there which see the group."""
    cost: Numbers
    """Risks without the group less risks with it."""
    low: Numbers
    """Lower ends of the intervals of the cost."""
    high: Numbers
    """Upper ends of the intervals of the cost."""
    gap_change: float
    """Largest risk less smallest without the group, less the same with it."""
    gap_low: float
    """Lower end of its interval."""
    gap_high: float
    """Upper end of its interval."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BanRecord:
    """What it costs that rules may not see the group; all intervals hold together."""

    points: tuple[BanPoint, ...]
    """The points."""
    remarks: Texts
    """What that shows and what not, in words."""


@dataclass(frozen=True, kw_only=True)
class Frame:
    """What every record has: settings, data, learner, other runs, warnings and limits."""

    schema: Literal[2] = SCHEMA
    """Version of this form; raised when a field changes its meaning or is removed."""
    title: str
    """Heading of the report."""
    created: Annotated[str, Limits(pattern=r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}$")]
    """Local time of the audit; the only field that differs between runs with the same data and settings."""
    alpha: Level
    """Level of the tests."""
    request: RequestRecord | None
    """The settings of an audit of a file; null if the record was made from Python."""
    settings: Settings
    """Settings of the fit that determines the verdict."""
    data: Data
    """The rows behind the numbers and what was left out."""
    learner: LearnerRecord
    """How well the learner predicts."""
    ban: BanRecord | None
    """What a ban of the group costs; null if that could not be estimated."""
    without_ban: str | None
    """Why it could not; null if it could."""
    sensitivity: tuple[Run, ...]
    """The same test with other learners and seeds, and with the score among the covariates and without it; the run that
    determines the verdicts first. Empty if the record was made from Python."""
    warnings: Texts
    """Warnings of the fit that determines the verdict and its tests, runs that failed, and what other libraries warned
    of in the other runs."""
    limits: Texts
    """What the audit does not show."""
    versions: Mapping[str, str]
    """Versions of the packages that were used."""

    def to_dict(self) -> PlainDict:
        """The record as JSON can hold it."""
        return {entry.name: plain(getattr(self, entry.name)) for entry in fields(self)}

    def to_json(self) -> str:
        """`to_dict` as JSON text."""
        return json.dumps(self.to_dict(), indent=1, allow_nan=False) + "\n"


def plain(value: object) -> Plain:
    """Turn a value into what JSON can hold; numbers that are not finite become None."""
    if is_dataclass(value):
        return {entry.name: plain(getattr(value, entry.name)) for entry in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [plain(item) for item in value]
    return plain_value(value)
