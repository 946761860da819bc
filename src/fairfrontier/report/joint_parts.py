"""Fills the record of more than two groups: one pure function for each part."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

import numpy as np
from scipy import stats

from ..arrays import FloatArray
from ..frontier.support import group_means
from ..inference.estimates import drawn
from ..inference.fan.result import JointLDATest
from ..inference.lda.result import LDATest
from ..inference.pairs import Pair as PairOfLabels
from .ban import ban
from .basis import (
    NO_AUDIT,
    AuditParts,
    data,
    finite,
    interval,
    learner,
    numbers,
    pair,
    polygon,
    runs_beside,
    settings,
    versions,
)
from .findings import JointFindings
from .joint_record import (
    GroupLine,
    GroupsPoint,
    GroupsRecord,
    JointAlgorithmRecord,
    JointLDARecord,
    JointWitnessRecord,
    PairAlgorithmRecord,
    PairRecord,
    WidthLine,
)
from .planes import contradictions, improving, picture, points, slider
from .sentences import HEADLINES, learner_together, limits
from .usual_parts import usual
from .values import Interval

if TYPE_CHECKING:
    from ..estimator import FairFrontier

OPEN = Interval(low=None, high=None)


def make_groups_record(
    ff: FairFrontier, findings: JointFindings, *, title: str, created: datetime, audit: AuditParts = NO_AUDIT
) -> GroupsRecord:
    """Put a record together from a fit of more than two groups and what was found about algorithms."""
    counts = ff.sample_.counts
    base = max(ff.groups_, key=lambda label: counts[label]) if findings.reference is None else findings.reference
    code = ff.groups_.index(base)
    algorithms = tuple(algorithm(ff, findings, name, code, audit) for name in findings.tests)
    return GroupsRecord(
        title=title,
        created=created.isoformat(timespec="seconds"),
        groups=tuple(str(label) for label in ff.groups_),
        reference=None if findings.reference is None else str(findings.reference),
        compared_with=str(base),
        alpha=float(ff.alpha),
        request=audit.request,
        settings=settings(ff, None),
        data=data(ff, audit.source),
        learner=learner(ff),
        algorithms=algorithms,
        points=points_of(ff),
        pairs=tuple(pair_record(own, findings, labels, algorithms) for labels, own in findings.pairs.items()),
        pair_tests=len(findings.pairs) * len(findings.tests),
        without_pairs=findings.without_pairs,
        ban=ban(findings.ban),
        without_ban=findings.without_ban,
        sensitivity=audit.sensitivity,
        warnings=(),
        limits=limits(len(ff.groups_), ff.fit_.rules.name, ff.fit_.criteria),
        versions=versions(),
    )


def algorithm(
    ff: FairFrontier, findings: JointFindings, name: str, base: int, audit: AuditParts
) -> JointAlgorithmRecord:
    """Everything that was found about one algorithm."""
    test = findings.tests[name]
    return JointAlgorithmRecord(
        name=name,
        verdict=test.verdict,
        headline=HEADLINES[test.verdict],
        question=test.question,
        usual=usual(ff, findings.decisions[name], test, reference=findings.reference, score=audit.scores.get(name)),
        sentences=tuple(test.sentences()),
        other_runs=runs_beside(name, ff, audit),
        both_ways=audit.both_ways.get(name),
        groups=group_lines(ff, findings.decisions[name], test, base),
        range=test.range,
        widths=width_lines(test),
        lda=lda(test),
        better_for=tuple(str(label) for label in test.better_for),
        learner_sentence=learner_together(test.better_for, overall=test.criteria.accuracy == "overall"),
    )


def group_lines(ff: FairFrontier, a: FloatArray, test: JointLDATest, base: int) -> tuple[GroupLine, ...]:
    """One line for each group under decisions ``a`` (n,); gaps and ratios are to the group of code ``base``."""
    fit, s = ff.fit_, ff.sample_
    risk, risks = group_means(fit.row_losses.of(a), s.group, s.weight, s.clusters, n_groups=len(s.groups))
    rate, rates = group_means(a, s.group, s.weight, s.clusters, n_groups=len(s.groups))
    z, w = float(stats.norm.isf(ff.alpha / 2.0)), test.witness
    bounds = None if w is None else w.lower_bounds(ff.alpha)
    overall, lines = test.criteria.accuracy == "overall", []
    for g, label in enumerate(ff.groups_):
        error = float(np.sqrt(risks[g, g]))
        gap, gap_error = risk[g] - risk[base], _difference_error(risks, g, base)
        lines.append(
            GroupLine(
                group=str(label),
                rows=s.counts[label],
                risk=float(risk[g]),
                risk_interval=interval((risk[g] - z * error, risk[g] + z * error)),
                standard_error=error,
                gap=float(gap),
                gap_interval=OPEN if g == base else interval((gap - z * gap_error, gap + z * gap_error)),
                selection_rate=float(rate[g]),
                ratio=finite(rate[g] / rate[base]) if rate[base] > 0.0 else None,
                ratio_interval=OPEN if g == base else ratio_interval(rate, rates, (g, base), z),
                alternative_risk=None if w is None else float(w.risk[g]),
                alternative_selection_rate=None if w is None else float(np.clip(w.selection_rate[g], 0.0, 1.0)),
                gain=None if w is None or overall else float(w.gain[g]),
                gain_lower_bound=None if bounds is None or overall else finite(bounds[g]),
            )
        )
    return tuple(lines)


def ratio_interval(rate: FloatArray, covariance: FloatArray, which: tuple[int, int], z: float) -> Interval:
    """Interval of the ratio of two rates with their covariance: that of its logarithm, by the delta method."""
    g, base = which
    if rate[g] <= 0.0 or rate[base] <= 0.0:
        return OPEN
    # the gradient of log(r_g / r_b) is (1 / r_g, -1 / r_b)
    own = covariance[np.ix_(which, which)] / np.outer(rate[[g, base]], rate[[g, base]])
    half = z * _difference_error(own, 0, 1)
    ratio = rate[g] / rate[base]
    return interval((ratio * np.exp(-half), ratio * np.exp(half)))


def _difference_error(covariance: FloatArray, g: int, h: int) -> float:
    return float(np.sqrt(max(covariance[g, g] + covariance[h, h] - 2.0 * covariance[g, h], 0.0)))


def width_lines(test: JointLDATest) -> tuple[WidthLine, ...]:
    """The range, or the gap of each group to the reference, now and under the alternative."""
    n, w = len(test.groups), test.witness
    bounds = None if w is None else w.lower_bounds(test.alpha)
    if test.criteria.usual:
        wanted = [(n + v, name, now) for v, (name, now) in enumerate(_widths_now(test))]
    else:
        overall = test.criteria.accuracy == "overall"
        wanted = [(k, name, now) for k, (name, now) in enumerate(test.compared()) if overall or k >= n]
    return tuple(
        WidthLine(
            name=name,
            now=now,
            gain=None if w is None else float(w.gain[k]),
            gain_lower_bound=None if bounds is None else finite(bounds[k]),
        )
        for k, name, now in wanted
    )


def _widths_now(test: JointLDATest) -> list[tuple[str, float]]:
    """Name and size of the range of risks, or of the gap of each group to the reference."""
    if test.reference is None:
        return [("range", float(test.range))]
    reference = test.groups.index(test.reference)
    return [
        (f"gap of {label}", float(abs(test.risk[g] - test.risk[reference])))
        for g, label in enumerate(test.groups)
        if g != reference
    ]


def lda(test: JointLDATest) -> JointLDARecord:
    """The test for a less discriminatory alternative."""
    e, w = test.evidence, test.witness
    return JointLDARecord(
        statistic=finite(test.statistic),
        p_value=max(test.p_value, np.finfo(float).tiny),
        p_value_adjusted=max(test.p_value_adjusted, np.finfo(float).tiny),
        weights=numbers(e.weights),
        feasibility_p_value=e.feasibility_p_value,
        feasibility_t=finite(e.feasibility_t),
        rules=e.n_rules,
        cells=e.n_cells,
        finished=e.finished,
        loss=e.loss,
        gain_bound=finite(test.gain_bound),
        gain_weights=numbers(test.gain_weights),
        witness=None
        if w is None
        else JointWitnessRecord(
            directions=tuple(numbers(p) for p in w.directions),
            shares=numbers(w.shares),
            changed=None if w.changed is None else str(w.changed),
            confirmed=w.confirmed(test.alpha),
        ),
    )


def points_of(ff: FairFrontier) -> tuple[GroupsPoint, ...]:
    """The best points of the groups and the fairest point; none if rules are compared by other criteria."""
    if ff.fit_.asked is not None:
        return ()
    table = ff.points_
    risks = table.to_numpy()[:, : len(ff.groups_)]
    return tuple(
        GroupsPoint(name=str(name), risk=numbers(risk), range=float(np.ptp(risk)))
        for name, risk in zip(table.index, risks, strict=True)
    )


def pair_record(
    ff: FairFrontier, findings: JointFindings, labels: PairOfLabels, algorithms: Sequence[JointAlgorithmRecord]
) -> PairRecord:
    """Two of the groups: what is attainable for them, and the tests of algorithms."""
    shape = drawn(ff.fit_, None)
    first, second, fairest = points(ff)
    tests = {} if findings.pair_tests is None else findings.pair_tests.tests[labels]
    r, b = (str(label) for label in ff.groups_)
    return PairRecord(
        groups=(r, b),
        points=(first, second, fairest),
        contradictions=contradictions(ff),
        configuration=ff.configuration_,
        picture=picture(ff.support_function_, shape, None),
        rules=slider(ff, ff.support_function_),
        algorithms=tuple(_pair_algorithm(tests[own.name], own, shape.corners) for own in algorithms),
    )


def _pair_algorithm(test: LDATest, joint: JointAlgorithmRecord, corners: FloatArray) -> PairAlgorithmRecord:
    lines = {line.group: line for line in joint.groups}
    first, second = (lines[str(label)] for label in test.groups)
    return PairAlgorithmRecord(
        name=test.name,
        verdict=test.verdict,
        p_value=test.robust_p_value,
        p_value_adjusted=test.robust_p_value_adjusted,
        risk=pair(test.risk),
        risk_interval=(first.risk_interval, second.risk_interval),
        gap=float(test.risk[0] - test.risk[1]),
        selection_rate=(first.selection_rate, second.selection_rate),
        improving=polygon(improving(corners, test.risk)),
    )
