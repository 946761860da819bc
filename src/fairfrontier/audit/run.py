"""The audit itself: fits and tests as planned, and how far the verdict depends on learner, seed and score."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from functools import partial

import numpy as np

from ..arrays import AnyArray
from ..data.checks import check_n_jobs
from ..data.grouping import CROSS
from ..errors import FairFrontierError, FairFrontierWarning
from ..estimator import FairFrontier
from ..inference.fan.result import JointLDATests
from ..inference.lda.result import LDATests
from ..progress import Report, heard_by
from ..report.basis import AuditParts, finite
from ..report.findings import Findings, JointFindings, ask, ask_jointly, ask_lda
from ..report.frame import Run, RunVerdict
from ..report.joint_parts import make_groups_record
from ..report.joint_record import GroupsRecord
from ..report.origin import RequestRecord, Source
from ..report.parts import make_record
from ..report.record import Record
from ..report.sentences import explain_both_ways
from .gate import any_verdict, disputed
from .plan import AuditPlan
from .request import loss_of

OTHER_LEARNERS = ("factored-boosting", "factored-logit", "logit-lasso")
"""Learners whose verdicts are shown beside that of the learner named beforehand; only one unless more are requested."""
OTHER_LEARNERS_OF_NUMBERS = ("factored-boosting", "factored-logit", "lasso")
"""The same for outcomes with too many values to be classes."""
MOST_CLASSES = 10
MORE_SEEDS = 2


@dataclass(frozen=True, slots=True)
class Audit:
    """A finished audit: its record, and the fit behind it."""

    record: Record | GroupsRecord
    frontier: FairFrontier
    plan: AuditPlan

    @property
    def shown(self) -> bool:
        """Whether a less discriminatory alternative to any algorithm is shown."""
        return any_verdict(self.record, "lda-shown")

    @property
    def disputed(self) -> bool:
        """Whether a run with another seed or learner comes to another verdict on any algorithm."""
        return disputed(self.record)


@dataclass(frozen=True, slots=True)
class Variant:
    """One run of the test: a learner, a seed, and whether the score is among the covariates."""

    learner: str
    seed: int
    with_score: bool
    decides: bool = False


def variants(plan: AuditPlan) -> list[Variant]:
    """The runs of an audit, the one that determines the verdict first."""
    request = plan.request
    decisive = Variant(request.learner, request.seed, request.score_as_feature, decides=True)
    found = [decisive]
    if plan.inputs.score is not None:
        found.append(Variant(request.learner, request.seed, not request.score_as_feature))
    more = MORE_SEEDS if request.robustness else 1
    found += [Variant(request.learner, request.seed + 1 + k, request.score_as_feature) for k in range(more)]
    known = OTHER_LEARNERS if len(np.unique(plan.inputs.y)) <= MOST_CLASSES else OTHER_LEARNERS_OF_NUMBERS
    others = [name for name in known if name != request.learner]
    for name in others if request.robustness else others[:1]:
        found.append(Variant(name, request.seed, request.score_as_feature))
    return found


def run_audit(
    plan: AuditPlan, *, n_jobs: int | None = None, progress: Report | None = None, created: datetime | None = None
) -> Audit:
    """Fit, test and make the record of an audit.

    Parameters
    ----------
    plan : AuditPlan
        What is audited.
    n_jobs : int, optional
        Parallel jobs; results do not depend on it.
    progress : callable, optional
        Called as progress(done, total, text) before each step and each question; it may raise an exception to stop.
    created : datetime, optional
        The time that the record states; default now.

    Returns
    -------
    Audit

    Notes
    -----
    If a run fails that does not determine the verdict, the warnings of the record say so. Warnings that other libraries
    give are among them, each text once; those that Python's filters hide are left out.
    """
    check_n_jobs(n_jobs)
    report: Report = progress or (lambda done, total, text: None)
    decisive, *others = variants(plan)
    total = len(others) + 2
    algorithms, request = plan.algorithms, plan.request
    early: set[str] = set()
    findings: Findings | JointFindings
    first = partial(report, 0, total, _described(decisive, plan))
    first()
    with _collecting(early, early), _heard(plan, report, 0, total, _described(decisive, plan)):
        ff = fit_variant(plan, decisive, n_jobs)
        if len(ff.groups_) == 2 and ff.fit_.asked is None:
            findings = ask(ff, algorithms, capacity=request.capacity, before_each=first)
        else:
            findings = ask_jointly(ff, algorithms, reference=request.reference, before_each=first)
    runs, failures = [_run(plan, decisive, findings.tests)], []
    beside: set[str] = set()
    for done, variant in enumerate(others, start=1):
        report(done, total, _described(variant, plan))
        try:
            with _collecting(set(), beside), _heard(plan, report, done, total, _described(variant, plan)):
                again = fit_variant(plan, variant, n_jobs)
                tests = ask_lda(again, algorithms, capacity=request.capacity, reference=request.reference)
        except FairFrontierError as error:
            failures.append(f"Not done: {_described(variant, plan)}. {error}")
        else:
            runs.append(_run(plan, variant, tests))
    report(total - 1, total, "making the record")
    late: set[str] = set()
    with _collecting(late, late):
        parts, title, now = _audit_parts(plan, runs), request.title or _title(plan), created or datetime.now()
        record: Record | GroupsRecord
        if isinstance(findings, Findings):
            record = make_record(ff, findings, title=title, created=now, audit=parts)
        else:
            record = make_groups_record(ff, findings, title=title, created=now, audit=parts)
    noted = [f"{column}: {what}." for column, what in plan.account.noted.items()]
    elsewhere = [f"In a run that does not determine the verdict: {text}" for text in sorted(beside - early - late)]
    lost = [f"{text}." for text in (*plan.compared_with(), *plan.warnings())]
    told = (*sorted(early), *failures, *sorted(late - early), *elsewhere, *noted, *lost)
    return Audit(replace(record, warnings=told), ff, plan)


def fit_variant(plan: AuditPlan, variant: Variant, n_jobs: int | None = None) -> FairFrontier:
    """Fit the learner of one run."""
    request = plan.request
    ff = FairFrontier(
        loss=loss_of(request),
        learner=variant.learner,
        n_folds=request.folds,
        n_rep=request.repetitions,
        folds="sequential" if request.sequential else None,
        n_boot=request.draws,
        alpha=request.alpha,
        groups=plan.inputs.groups,
        positive=None if plan.parts is None else request.positive,
        learn_rows=request.learn_rows,
        numeric=plan.declared_numbers(variant.with_score),
        copies=request.copies,
        jitter=request.jitter,
        rules=plan.rules,
        fairness=request.fairness,
        accuracy=request.accuracy,
        keep=request.keep,
        keep_tolerance=request.keep_tolerance,
        profit=plan.inputs.profit,
        n_jobs=n_jobs,
        random_state=variant.seed,
    )
    if plan.parts is not None:
        rows = plan.parts.rows.with_score(variant.with_score)
        return ff.fit(
            rows,
            rows.outcome,
            sensitive_features=rows.group,
            sample_weight=rows.weight,
            algorithms=rows.decisions,
            features=list(rows.covariates),
            client=plan.parts.client,
        )
    inputs = plan.inputs
    X = inputs.covariates(variant.with_score)
    return ff.fit(X, inputs.y, sensitive_features=inputs.group, sample_weight=inputs.weights, clusters=inputs.clusters)


def _heard(plan: AuditPlan, report: Report, done: int, total: int, text: str) -> AbstractContextManager[None]:
    """Let progress within a step be told as part of it, if it takes long because there are many rows."""
    if plan.parts is None:
        return nullcontext()
    return heard_by(lambda how_far: report(done, total, f"{text}. {how_far}"))


@contextmanager
def _collecting(own: set[str], foreign: set[str]) -> Iterator[None]:
    """Collect the texts of warnings instead of showing them: the package's own, and with their category all others."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always", FairFrontierWarning)
        try:
            yield
        finally:
            for warning in found:
                text = str(warning.message)
                if issubclass(warning.category, FairFrontierWarning):
                    own.add(text)
                else:
                    foreign.add(f"{warning.category.__name__}: {' '.join(text.split())}")


def _described(variant: Variant, plan: AuditPlan) -> str:
    score = "" if plan.inputs.score is None else f", {_with_score(variant)}"
    return f"{'the verdict' if variant.decides else 'sensitivity'}, {variant.learner}, seed {variant.seed}{score}"


def _with_score(variant: Variant) -> str:
    return f"{'with' if variant.with_score else 'without'} the score"


def _run(plan: AuditPlan, variant: Variant, tests: LDATests | JointLDATests) -> Run:
    return Run(
        learner=variant.learner,
        seed=variant.seed,
        covariates="as given" if plan.inputs.score is None else _with_score(variant),
        decides=variant.decides,
        algorithms={
            name: RunVerdict(
                verdict=test.verdict,
                p_value=test.p_value,
                p_value_adjusted=test.p_value_adjusted,
                statistic=finite(test.statistic),
            )
            for name, test in tests.items()
        },
    )


def _audit_parts(plan: AuditPlan, runs: Sequence[Run]) -> AuditParts:
    """What only an audit of a file has to say."""
    asked = [variant.with_score for variant in variants(plan)]
    planned, done = asked.count(asked[0]), sum(run.covariates == runs[0].covariates for run in runs)
    return AuditParts(
        request=RequestRecord(**asdict(plan.request)),
        source=_source(plan),
        sensitivity=tuple(runs),
        not_done=planned - done,
        scores=_scores(plan),
        both_ways={} if plan.inputs.score is None else _both_ways(runs, plan.request.alpha),
    )


def _scores(plan: AuditPlan) -> dict[str, AnyArray]:
    """Return the score behind the algorithms that cut it, if there is one and rows are kept."""
    if plan.inputs.score is None or plan.parts is not None:
        return {}
    others = (*plan.request.algorithms, *(model.name for model in plan.inputs.models))
    return {name: plan.inputs.score.to_numpy() for name in plan.inputs.algorithms if name not in others}


def _both_ways(runs: Sequence[Run], alpha: float) -> dict[str, str]:
    """For each algorithm the verdict with the score and without it."""
    first = runs[0]
    other = next((run for run in runs if run.covariates != first.covariates), None)
    return {name: explain_both_ways(first, other, name, alpha) for name in first.algorithms}


def _source(plan: AuditPlan) -> Source:
    """Where the rows come from and what was left out."""
    return Source(
        file=plan.file.name,
        sha256=plan.file.sha256,
        read=plan.file.how,
        rows_read=plan.rows_read,
        narrowed=dict(plan.file.left_out),
        columns=plan.columns,
        outcome=plan.request.outcome,
        group=CROSS.join(plan.request.group),
        roles=dict(plan.account.roles),
        excluded=dict(plan.account.excluded),
        suspicious=tuple(plan.account.warned),
        noted=dict(plan.account.noted),
        dropped_by_reason={reason: dict(counts) for reason, counts in plan.account.dropped.items()},
        other_groups=dict(plan.account.other_groups),
        small_groups=dict(plan.account.small_groups),
        merged={new: dict(old) for new, old in plan.account.merged.items()},
        categories=dict(plan.account.categories),
        kinds=dict(plan.account.kinds),
        gaps=dict(plan.account.gaps),
        models={model.name: model.sha256 for model in plan.inputs.models},
    )


def _title(plan: AuditPlan) -> str:
    return f"Audit of {', '.join(plan.inputs.algorithms)}"
