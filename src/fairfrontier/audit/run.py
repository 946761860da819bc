"""The audit itself: fits and tests as planned, with how much depends on learner, seed and the score as covariate."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import pandas as pd

from ..data.checks import check_n_jobs
from ..errors import FairFrontierError, FairFrontierWarning
from ..estimator import FairFrontier
from ..inference.lda.result import LDATests
from ..inference.p_values import p_value_text
from ..progress import Report
from ..report.record import make_record, plain
from ..report.sentences import CHIPS
from .plan import AuditPlan

OTHER_LEARNERS = ("factored-boosting", "factored-logit", "logit-lasso")
"""Learners whose verdicts are shown beside that of the learner named beforehand; one of them unless more are asked."""
OTHER_LEARNERS_OF_NUMBERS = ("factored-boosting", "factored-logit", "lasso")
"""The same for outcomes of so many values that they are no classes."""
MOST_CLASSES = 10
MORE_SEEDS = 2


@dataclass(frozen=True, slots=True)
class Audit:
    """A finished audit: its record, and the fit behind it."""

    record: Mapping[str, Any]
    frontier: FairFrontier
    plan: AuditPlan

    @property
    def shown(self) -> bool:
        """Whether a less discriminatory alternative to any algorithm is shown."""
        return any(a["verdict"] == "lda-shown" for a in self.record["algorithms"])


@dataclass(frozen=True, slots=True)
class Variant:
    """One way of asking: a learner, a seed, and whether the score is among the covariates."""

    learner: str
    seed: int
    with_score: bool
    decides: bool = False


def variants(plan: AuditPlan) -> list[Variant]:
    """The way that decides first, then the others."""
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


def run_audit(plan: AuditPlan, *, n_jobs: int | None = None, progress: Report | None = None) -> Audit:
    """Fit, test and gather the record of an audit.

    If a way of asking fails that does not decide, that is told among the warnings.
    """
    check_n_jobs(n_jobs)
    tell: Report = progress or (lambda done, total, text: None)
    ways = variants(plan)
    caught: list[str] = []
    decisive: FairFrontier | None = None
    lines = []
    for number, variant in enumerate(ways):
        tell(number, len(ways) + 1, _described(variant, plan))
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            try:
                ff = fit_variant(plan, variant, n_jobs)
                tests = cast(LDATests, ff.test_lda(dict(plan.inputs.algorithms), capacity=plan.request.capacity))
            except FairFrontierError as error:
                if variant.decides:
                    raise
                caught.append(f"Not done: {_described(variant, plan)}. {error}")
                continue
        if variant.decides:
            decisive = ff
            caught = sorted(_ours(found))
        lines.append(_line(plan, variant, tests))
    assert decisive is not None
    tell(len(ways), len(ways) + 1, "gathering the results")
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always", FairFrontierWarning)
        record = make_record(decisive, plan.inputs.algorithms, capacity=plan.request.capacity)
    caught += sorted(_ours(found) - set(caught))
    record["title"] = plan.request.title or _title(plan)
    record["robustness"] = lines
    record["warnings"] = caught + [f"{column}: {what}." for column, what in plan.account.noted.items()]
    record["data"] |= _account(plan)
    record["request"] = plan.request.resolved()
    if plan.inputs.score is not None:
        _tell_both_ways(record)
    return Audit(plain(record), decisive, plan)


def fit_variant(plan: AuditPlan, variant: Variant, n_jobs: int | None = None) -> FairFrontier:
    """Fit one way of asking."""
    request = plan.request
    ff = FairFrontier(
        loss=request.loss,
        learner=variant.learner,
        n_folds=request.folds,
        n_rep=request.repetitions,
        n_boot=request.draws,
        alpha=request.alpha,
        groups=(plan.inputs.groups[0], plan.inputs.groups[1]),
        n_jobs=n_jobs,
        random_state=variant.seed,
    )
    X = plan.inputs.X
    if variant.with_score and plan.inputs.score is not None:
        X = pd.concat([X, plan.inputs.score], axis=1)
    return ff.fit(
        X,
        plan.inputs.y,
        sensitive_features=plan.inputs.group,
        sample_weight=plan.inputs.weights,
        clusters=plan.inputs.clusters,
    )


def _ours(found: Sequence[warnings.WarningMessage]) -> set[str]:
    """What the package warned of."""
    return {str(w.message) for w in found if issubclass(w.category, FairFrontierWarning)}


def _described(variant: Variant, plan: AuditPlan) -> str:
    score = "" if plan.inputs.score is None else f", {'with' if variant.with_score else 'without'} the score"
    return f"{'the verdict' if variant.decides else 'sensitivity'}, {variant.learner}, seed {variant.seed}{score}"


def _line(plan: AuditPlan, variant: Variant, tests: LDATests) -> dict[str, Any]:
    covariates = "as given" if plan.inputs.score is None else f"{'with' if variant.with_score else 'without'} the score"
    return {
        "learner": variant.learner,
        "seed": variant.seed,
        "covariates": covariates,
        "decides": variant.decides,
        "algorithms": {
            name: {"verdict": test.verdict, "p_value": test.p_value, "statistic": test.statistic}
            for name, test in tests.items()
        },
    }


def _tell_both_ways(record: dict[str, Any]) -> None:
    first = record["robustness"][0]
    other = next((line for line in record["robustness"] if line["covariates"] != first["covariates"]), None)
    for algorithm in record["algorithms"]:
        told = f"This is {first['covariates']} among the covariates."
        if other is None:
            algorithm["both_ways"] = f"{told} The other way could not be worked out; see the warnings."
        else:
            found = other["algorithms"][algorithm["name"]]
            way, p_value = other["covariates"].capitalize(), p_value_text(found["p_value"], record["alpha"])
            algorithm["both_ways"] = f"{told} {way}: {CHIPS[found['verdict']]}, p-value {p_value}."


def _account(plan: AuditPlan) -> dict[str, Any]:
    dropped: dict[str, int] = {}
    for counts in plan.account.dropped.values():
        for label, count in counts.items():
            dropped[label] = dropped.get(label, 0) + count
    return {
        "file": plan.file.name,
        "sha256": plan.file.sha256,
        "rows read": len(plan.file.table),
        "columns": [str(name) for name in plan.file.table.columns],
        "outcome": plan.request.outcome,
        "group": plan.request.group,
        "roles": dict(plan.account.roles),
        "excluded": dict(plan.account.excluded),
        "suspicious": list(plan.account.warned),
        "noted": dict(plan.account.noted),
        "dropped": dropped,
        "dropped by reason": {reason: dict(counts) for reason, counts in plan.account.dropped.items()},
        "other groups": dict(plan.account.other_groups),
        "categories": dict(plan.account.categories),
    }


def _title(plan: AuditPlan) -> str:
    return f"Audit of {', '.join(plan.inputs.algorithms)}"
