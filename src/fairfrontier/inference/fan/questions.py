"""The question of an alternative for all groups together, asked of a `Fit`."""

from __future__ import annotations

import numpy as np

from ...arrays import FloatArray, IntArray
from ...data.algorithms import Algorithms
from ...data.groups import MOST_TOGETHER, MOST_WITH_REFERENCE, check_reference, too_many_together
from ...data.reading import Label
from ...fit import Fit, predicted
from ...frontier.criteria import CriteriaRows
from ...frontier.fan import by_group
from ..aware.joint import aware_joint_evidence
from ..questions import warn_of_few_draws
from .evidence import joint_evidence
from .result import JointLDATests, judge_jointly

N_FOLDS = 5
"""Folds by which widths are estimated where the predictions come from outside."""


def joint_lda_tests(
    fit: Fit, algorithms: Algorithms, *, alpha: float | None = None, reference: Label | None = None
) -> JointLDATests:
    """Test whether algorithms have alternatives for all groups together; see `FairFrontier.test_lda`."""
    groups = fit.sample.groups
    code = check_reference(groups.labels, reference)
    if len(groups) > (MOST_TOGETHER if reference is None else MOST_WITH_REFERENCE):
        raise too_many_together(groups.labels, reference)
    rates: list[FloatArray] = [fit.group_means(a) for a in algorithms.decisions]
    rows, folds, found = _rows(fit), folds_of(fit), []
    for a in algorithms.decisions:
        evidence = joint_evidence(
            rows,
            a,
            folds,
            aims=by_group(len(groups), code),
            n_draws=fit.options.n_boot,
            seed=fit.seeds.drawing,
            n_jobs=fit.options.n_jobs,
        )
        found.append(evidence)
    if fit.rules.sees_group:
        warn_of_few_draws(fit, fit.level(alpha), len(algorithms.names))
        found = aware_joint_evidence(fit, rows, algorithms.decisions, found, folds, code)
    return judge_jointly(
        algorithms.names,
        found,
        rates,
        groups=groups.labels,
        reference=reference,
        alpha=fit.level(alpha),
        bounded=fit.bounded,
    )


def _rows(fit: Fit) -> CriteriaRows:
    """The rows of all repetitions with the groups' risks as criteria."""
    return predicted(fit.sample, fit.row_losses, fit.nuisance.predictions, fit.bounds, rules=fit.rules).rows


def folds_of(fit: Fit) -> IntArray:
    """Folds of the people; predictions from outside have none, so rows are dealt to some, or clusters."""
    if fit.nuisance.folds is not None:
        return np.asarray(fit.nuisance.folds[0])
    s = fit.sample
    rng = np.random.default_rng(fit.seeds.learning)
    if s.clusters is not None:
        return np.asarray((rng.permutation(int(s.clusters.max()) + 1) % N_FOLDS)[s.clusters])
    folds = np.empty(s.n_obs, dtype=np.intp)
    for rows in s.rows_by_group:
        folds[rng.permutation(rows)] = np.arange(len(rows)) % N_FOLDS
    return folds
