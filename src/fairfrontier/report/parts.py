"""Fills the record of two groups from a fit and the findings about algorithms: one pure function for each part."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

import numpy as np
from scipy import stats

from ..arrays import FloatArray
from ..frontier.capacity import cap
from ..inference.distance.result import DistanceInterval
from ..inference.estimates import drawn
from ..inference.group_skew import GroupSkewTest
from ..inference.lda.result import LDATest
from ..inference.lda.witness import Witness, selection_ratio
from ..rules.alternatives import Alternatives
from .ban import ban
from .basis import (
    NO_AUDIT,
    AuditParts,
    data,
    finite,
    interval,
    learner,
    pair,
    polygon,
    runs_beside,
    settings,
    triple,
    versions,
)
from .findings import Findings
from .planes import contradictions, improving, picture, points, slider
from .record import (
    AlgorithmRecord,
    AlternativeRecord,
    DistanceRecord,
    FairestRecord,
    GapRecord,
    LDARecord,
    LearnerCheckRecord,
    Record,
    SkewRecord,
    WitnessRecord,
)
from .sentences import HEADLINES, limits
from .usual_parts import usual

if TYPE_CHECKING:
    from ..estimator import FairFrontier


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
        alpha=float(ff.alpha),
        request=audit.request,
        settings=settings(ff, capacity),
        data=data(ff, audit.source),
        learner=learner(ff),
        points=(first, second, fairest),
        contradictions=contradictions(ff),
        configuration=ff.configuration_,
        picture=picture(function, shape, findings.region),
        rules=slider(ff, function),
        algorithms=tuple(algorithm(findings, name, shape.corners, ff, audit) for name in findings.tests),
        skew=skew(findings.skew),
        ban=ban(findings.ban, capacity),
        without_ban=findings.without_ban,
        sensitivity=audit.sensitivity,
        warnings=(),
        limits=limits(2, ff.fit_.rules.name),
        versions=versions(),
    )


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
        question=test.question,
        usual=usual(ff, findings.decisions[name], test, score=audit.scores.get(name)),
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
        improving=polygon(improving(hull, risks.risk)),
        distance=distance(findings.distances[name]),
        alternatives=alternatives(findings.alternatives[name]),
        alternatives_sentences=tuple(findings.alternatives[name].sentences()),
    )


def lda(test: LDATest) -> LDARecord:
    """The test for a less discriminatory alternative."""
    return LDARecord(
        method=test.method,
        statistic=test.statistic,
        separation=test.separation,
        feasibility=test.feasibility,
        critical_value=finite(test.critical_value),
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
    low, rates = found.lower_bounds(alpha), found.selection_rate
    assert rates is not None  # records are of algorithms with decisions
    first, second, gap = (interval(ends) for ends in found.intervals(alpha))
    return WitnessRecord(
        directions=tuple(pair(q) for q in found.directions),
        shares=tuple(float(share) for share in found.shares),
        changed=None if found.changed is None else str(found.changed),
        risk=pair(found.risk),
        gain=triple(found.gain),
        lower_bounds=(finite(low[0]), finite(low[1]), finite(low[2])),
        intervals=(first, second, gap),
        confirmed=found.confirmed(alpha),
        selection_rate=pair(rates),
        selection_ratio=selection_ratio(rates),
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
