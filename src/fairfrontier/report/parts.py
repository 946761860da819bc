"""Fills the record from a fit and the findings about algorithms: one pure function for each part."""

from __future__ import annotations

import math
import numbers
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from scipy import stats

from ..arrays import BoolArray, FloatArray
from ..data.copies import copies_in_words
from ..data.groups import by_group
from ..frontier.attainable import Attainable
from ..frontier.capacity import cap
from ..frontier.plane import clip_polygon
from ..frontier.sets import DrawnSet
from ..inference.distance.result import DistanceInterval
from ..inference.estimates import drawn
from ..inference.group_skew import GroupSkewTest
from ..inference.lda.result import LDATest
from ..inference.lda.witness import Witness
from ..rules.alternatives import Alternatives
from .agreement import Effort, other_runs
from .findings import Findings
from .origin import CandidateRecord, Copied, Data, FoldQuality, LearnerRecord, RequestRecord, Settings, Source
from .record import (
    AlgorithmRecord,
    AlternativeRecord,
    ContradictionRecord,
    CurvePoint,
    DistanceRecord,
    FairestRecord,
    GapRecord,
    LDARecord,
    LearnerCheckRecord,
    OtherRuns,
    Picture,
    Point,
    Record,
    RuleStep,
    Run,
    SkewRecord,
    WitnessRecord,
)
from .sentences import HEADLINES, LIMITS, explain_learner
from .values import Interval, Pair, Polygon, Rates, Triple

if TYPE_CHECKING:
    from ..estimator import FairFrontier

STEPS = 100
"""Positions of the slider between all weight on one group and all on the other."""
PACKAGES = ("fairfrontier", "numpy", "scipy", "pandas", "scikit-learn", "numba", "joblib")
NO_GROUP = "no group"
"""What rows without a group are counted under."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditParts:
    """What an audit of a file adds to a record; empty for a record made from Python.

    ``not_done`` counts runs with the covariates of the verdict that failed; ``both_ways`` has a sentence for each
    algorithm that is a score, by name.
    """

    request: RequestRecord | None = None
    source: Source | None = None
    sensitivity: tuple[Run, ...] = ()
    not_done: int = 0
    both_ways: Mapping[str, str] = field(default_factory=dict)


NO_AUDIT = AuditParts()


def make_record(
    ff: FairFrontier, findings: Findings, *, title: str, created: datetime, audit: AuditParts = NO_AUDIT
) -> Record:
    """Put a record together from a fit and what was found about algorithms."""
    r, b = (str(label) for label in ff.groups_)
    capacity = findings.capacity
    function = ff.support_function_ if capacity is None else cap(ff.support_function_, capacity)
    shape = drawn(ff.fit_, capacity)
    first, second, fairest = points(ff)
    return Record(
        title=title,
        created=created.isoformat(timespec="seconds"),
        groups=(r, b),
        alpha=ff.alpha,
        request=audit.request,
        settings=settings(ff, capacity),
        data=data(ff, audit.source),
        learner=learner(ff),
        points=(first, second, fairest),
        contradictions=contradictions(ff),
        configuration=ff.configuration_,
        picture=picture(findings, function, shape),
        rules=slider(ff, function),
        algorithms=tuple(algorithm(findings, name, shape.corners, ff, audit) for name in findings.tests),
        skew=skew(findings.skew),
        sensitivity=audit.sensitivity,
        warnings=(),
        limits=LIMITS,
        versions=versions(),
    )


def settings(ff: FairFrontier, capacity: float | None) -> Settings:
    """The settings of a fit."""
    nuisance, sample = ff.nuisance_, ff.sample_
    return Settings(
        loss=ff.loss_.name,
        learner=nuisance.learner,
        learner_params=dict(ff.learner_params or {}),
        n_folds=None if nuisance.folds is None else int(nuisance.folds[0].max()),
        sequential=ff.fit_.sequence is not None,
        n_rep=len(ff.support_functions_),
        n_boot=ff.n_boot,
        bias_correction=ff.fit_.learning.bias_correction,
        jitter=nuisance.jitter,
        capacity=capacity,
        bounded=ff.support_function_.scores.lower is not None,
        weighted=sample.weighted,
        clusters=None if sample.clusters is None else len(np.unique(sample.clusters)),
        random_state=int(ff.random_state) if isinstance(ff.random_state, numbers.Integral) else None,
    )


def copied(ff: FairFrontier) -> Copied | None:
    """The rows of a fit that are taken for copies."""
    found = ff.sample_.copied
    if found is None:
        return None
    return Copied(rows=found.rows, clusters=found.n_clusters, sentence=copies_in_words(found, ff.n_obs_))


def data(ff: FairFrontier, source: Source | None) -> Data:
    """The rows of a fit; with a ``source`` the rows dropped are those that the audit dropped from its file."""
    sample, X = ff.sample_, ff.sample_.X
    dropped = {NO_GROUP if label is None else str(label): count for label, count in sample.dropped.items()}
    if source is not None:
        dropped = {}
        for counts in source.dropped_by_reason.values():
            for name, count in counts.items():
                dropped[name] = dropped.get(name, 0) + count
    return Data(
        rows=ff.n_obs_,
        learning_rows=sample.learning_rows,
        rows_by_group={str(label): sample.counts[label] for label in ff.groups_},
        dropped=dropped,
        left_out={str(label): count for label, count in sample.left_out.items()},
        copies=copied(ff),
        covariates=() if X is None else tuple(str(name) for name in pd.DataFrame(X).columns),
        source=source,
    )


def learner(ff: FairFrontier) -> LearnerRecord:
    """How well the learner predicts, and the conditions behind the inference."""
    quality = ff.nuisance_.quality
    return LearnerRecord(
        name=ff.nuisance_.learner,
        external=ff.nuisance_.folds is None,
        quality=tuple(
            FoldQuality(
                group=str(line["group"]),
                repetition=int(line.get("repetition", 1)),
                fold=int(line["fold"]),
                r2=finite(line["r2"]),
                log_loss=finite(line["log_loss"]),
                mean_log_loss=finite(line["mean_log_loss"]),
            )
            for line in quality.to_dict("records")
        ),
        candidates=tuple(
            CandidateRecord(
                modelled=str(line["modelled"]),
                candidate=str(line["candidate"]),
                loss=finite(line["loss"]),
                weight=float(line["weight"]),
                first_in_folds=int(line["folds with the largest weight"]),
            )
            for line in ff.learner_report_.candidates.to_dict("records")
        ),
        sentences=tuple(explain_learner(quality, ff.groups_)),
        conditions=tuple(ff.diagnostics_.lines()),
    )


def points(ff: FairFrontier) -> list[Point]:
    """The best point of each group and the fairest point."""
    return [
        Point(name=str(name), risk=pair(values[:2]), direction=(finite(values[2]), finite(values[3])))
        for name, values in zip(ff.points_.index, ff.points_.to_numpy(), strict=True)
    ]


def contradictions(ff: FairFrontier) -> tuple[ContradictionRecord, ...]:
    """Points that are not what they are called."""
    return tuple(
        ContradictionRecord(
            point=found.point,
            what=found.what,
            other=found.other,
            by=found.by,
            standard_error=found.standard_error,
            sentence=found.sentences()[0],
        )
        for found in ff.contradictions_
    )


def picture(findings: Findings, function: Attainable, shape: DrawnSet) -> Picture:
    """The set, the frontier and its confidence set."""
    return Picture(
        set=polygon(shape.corners),
        frontier=tuple(
            CurvePoint(
                risk=pair(point.round(8)),
                direction=pair(q.round(8)),
                selection_rate=_by_group(function, _chances(function, q)),
            )
            for point, q in zip(shape.curve, shape.directions[shape.frontier], strict=True)
        ),
        region=() if findings.region is None else tuple(polygon(ring) for ring in findings.region.polygons),
    )


def slider(ff: FairFrontier, function: Attainable) -> tuple[RuleStep, ...]:
    """Rules between all weight on the first group and all on the second."""
    weights = np.linspace(0.0, 1.0, STEPS + 1)
    q = -np.column_stack([weights, 1.0 - weights])
    q /= np.hypot(*q.T)[:, None]
    risks = function.estimate.support_set(q)
    y = ff.sample_.y if ff.loss_.binary_outcome else None
    return tuple(
        _rule_step(function, float(weight), direction, risk, y)
        for weight, direction, risk in zip(weights, q, risks, strict=True)
    )


def _rule_step(function: Attainable, weight: float, q: FloatArray, risk: FloatArray, y: FloatArray | None) -> RuleStep:
    chances = _chances(function, q)
    return RuleStep(
        weight=round(weight, 6),
        direction=pair(q),
        risk=pair(risk),
        selection_rate=_by_group(function, chances),
        false_positive_rate=None if y is None else _by_group(function, chances, y == 0),
        false_negative_rate=None if y is None else _by_group(function, 1.0 - chances, y == 1),
    )


def _chances(function: Attainable, q: FloatArray) -> FloatArray:
    """Chances (n,) of being selected by the rule of a direction."""
    return function.scores.chances(function.selected(q))


def _by_group(function: Attainable, values: FloatArray, among: BoolArray | None = None) -> Rates:
    """Weighted mean of ``values`` (n,) in each group, over some of the rows; None where there is nobody."""
    s = function.scores
    means: list[float | None] = []
    for rows in by_group(s.group, 2):
        rows = rows if among is None else rows[among[rows]]
        weight = s.weight[rows]
        means.append(round(float(np.average(values[rows], weights=weight)), 8) if weight.sum() > 0.0 else None)
    return means[0], means[1]


def algorithm(
    findings: Findings, name: str, hull: FloatArray, ff: FairFrontier, audit: AuditParts = NO_AUDIT
) -> AlgorithmRecord:
    """Everything that was found about one algorithm; ``hull`` are the corners of the estimated set."""
    risks, test = findings.risks[name], findings.tests[name]
    half = stats.norm.isf(ff.alpha / 2.0) * risks.standard_error
    ends = np.column_stack([risks.risk - half, risks.risk + half])
    return AlgorithmRecord(
        name=name,
        verdict=test.verdict,
        headline=HEADLINES[test.verdict],
        sentences=tuple(test.sentences()),
        other_runs=runs_beside(name, ff, audit),
        both_ways=audit.both_ways.get(name),
        risk=pair(risks.risk),
        risk_interval=(interval(ends[0]), interval(ends[1])),
        standard_error=pair(risks.standard_error),
        gap=risks.gap,
        selection_rate=pair(risks.selection_rate),
        selection_ratio=test.selection_ratio,
        lda=lda(test),
        learner_check=learner_check(test),
        improving=polygon(_improving(hull, risks.risk)),
        distance=distance(findings.distances[name]),
        alternatives=alternatives(findings.alternatives[name]),
        alternatives_sentences=tuple(findings.alternatives[name].sentences()),
    )


def runs_beside(name: str, ff: FairFrontier, audit: AuditParts) -> OtherRuns | None:
    """Whether the other runs of an audit come to the same verdict on an algorithm; None if there was no audit."""
    if not audit.sensitivity:
        return None
    robustness = audit.request is not None and audit.request.robustness
    effort = Effort(robustness=robustness, repetitions=len(ff.support_functions_), not_done=audit.not_done)
    return other_runs(audit.sensitivity, name, ff.alpha, effort)


def _improving(hull: FloatArray, e: FloatArray) -> FloatArray:
    """The part of a polygon that is no worse than risks ``e`` for either group and no less fair."""
    gap = abs(float(e[0] - e[1]))
    planes = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, -1.0], [-1.0, 1.0]])
    return clip_polygon(hull, planes, np.array([e[0], e[1], gap, gap]))


def lda(test: LDATest) -> LDARecord:
    """The test for a less discriminatory alternative."""
    return LDARecord(
        method=test.method,
        statistic=test.statistic,
        separation=test.separation,
        feasibility=test.feasibility,
        critical_value=test.critical_value,
        critical_value_error=finite(test.critical_value_error),
        p_value=test.p_value,
        p_value_adjusted=test.p_value_adjusted,
        feasibility_p_value=test.evidence.feasibility_p_value,
        feasibility_t=finite(test.evidence.feasibility_t),
        n_boot=len(test.draws),
        gain_bound=finite(test.gain_bound),
        gain_weights=pair(test.gain_weights),
        witness=None if test.witness is None else witness(test.witness, test.alpha),
    )


def learner_check(test: LDATest) -> LearnerCheckRecord | None:
    """The learner's own rules beside the algorithm."""
    found = test.learner_check
    if found is None:
        return None
    return LearnerCheckRecord(
        share=found.share,
        difference=pair(found.difference),
        standard_error=pair(found.standard_error),
        z=(finite(found.z[0]), finite(found.z[1])),
        best_difference=pair(found.best_difference),
        best_standard_error=pair(found.best_standard_error),
        best_z=(finite(found.best_z[0]), finite(found.best_z[1])),
        best_p_value=pair(found.best_p_value),
        better_for=tuple(str(label) for label in test.better_for),
        sentences=tuple(test.learner_sentences()),
    )


def witness(found: Witness, alpha: float) -> WitnessRecord:
    """An alternative with the bounds of its gains."""
    low = found.lower_bounds(alpha)
    first, second, gap = (interval(ends) for ends in found.intervals(alpha))
    return WitnessRecord(
        directions=tuple(pair(q) for q in found.directions),
        shares=tuple(float(share) for share in found.shares),
        risk=pair(found.risk),
        gain=triple(found.gain),
        lower_bounds=(finite(low[0]), finite(low[1]), finite(low[2])),
        intervals=(first, second, gap),
        confirmed=found.confirmed(alpha),
        selection_rate=pair(found.selection_rate),
        selection_ratio=found.selection_ratio,
    )


def distance(found: DistanceInterval) -> DistanceRecord:
    """The distance of an algorithm from the fairest point."""
    fairest = found.fairest
    ends = fairest.conf_int()
    return DistanceRecord(
        metric=found.metric.name,
        method=found.method,
        estimate=found.estimate,
        interval=interval(found.conf_int()),
        cases={case: part if isinstance(part, str) else interval(part) for case, part in found.cases.items()},
        fairest=FairestRecord(
            risk=pair(fairest.risk),
            interval=(interval(ends[0]), interval(ends[1])),
            weights=pair(fairest.weights),
        ),
        sentences=tuple(found.sentences()),
    )


def alternatives(found: Alternatives) -> tuple[AlternativeRecord, ...]:
    """The alternatives to an algorithm, one for each line of their table."""
    table = found.table
    both = {
        name: table[[f"{name} {label}" for label in found.groups]].to_numpy(dtype=float)
        for name in ("risk", "se", "gain", "se gain", "at least", "selection rate")
    }
    return tuple(
        AlternativeRecord(
            role=str(table["role"].iloc[k]),
            direction=pair(found.directions[k]),
            risk=pair(both["risk"][k]),
            standard_error=(finite(both["se"][k, 0]), finite(both["se"][k, 1])),
            gain=triple([*both["gain"][k], table["gain in gap"].iloc[k]]),
            gain_standard_error=(
                finite(both["se gain"][k, 0]),
                finite(both["se gain"][k, 1]),
                finite(table["se gain in gap"].iloc[k]),
            ),
            gain_lower_bounds=(
                finite(both["at least"][k, 0]),
                finite(both["at least"][k, 1]),
                finite(table["at least in gap"].iloc[k]),
            ),
            selection_rate=pair(both["selection rate"][k]),
            agreement=float(table["agreement"].iloc[k]),
            flagged=bool(table["flagged"].iloc[k]),
        )
        for k in range(len(table))
    )


def skew(test: GroupSkewTest) -> SkewRecord:
    """The test of group skew."""
    return SkewRecord(
        method=test.method,
        best_r=pair(test.best_r),
        best_b=pair(test.best_b),
        gaps=tuple(
            GapRecord(group=str(test.groups[g.group]), how=g.how, estimate=g.estimate, p_value=g.p_value)
            for g in test.gaps
        ),
        statistic=test.statistic,
        critical_value=test.critical_value,
        p_value=test.p_value,
        p_value_balanced=test.p_value_balanced,
        verdict=test.verdict,
        reject=test.reject,
        n_boot=len(test.draws),
        sentences=tuple(test.sentences()),
    )


def versions() -> dict[str, str]:
    """Versions of the packages that matter."""
    found = {}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:  # run from a source tree
            found[name] = "unknown"
    return found


def finite(value: float | None) -> float | None:
    """A number as JSON can hold it."""
    return None if value is None or not math.isfinite(value) else float(value)


def pair(values: FloatArray) -> Pair:
    """Two numbers."""
    return float(values[0]), float(values[1])


def triple(values: FloatArray | list[float]) -> Triple:
    """Three numbers."""
    return float(values[0]), float(values[1]), float(values[2])


def interval(ends: FloatArray | tuple[float, float]) -> Interval:
    """An interval; ends that are not finite are left open."""
    return Interval(low=finite(ends[0]), high=finite(ends[1]))


def polygon(corners: FloatArray) -> Polygon:
    """Corners, rounded."""
    return tuple(pair(corner) for corner in np.round(corners, 8))
