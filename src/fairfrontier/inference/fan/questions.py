"""The question of an alternative for all groups and in all criteria together, asked of a `Fit`."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np

from ...arrays import FloatArray
from ...data.algorithms import Algorithms
from ...data.checks import check_capacity
from ...data.criteria import check_criteria_of_groups
from ...data.groups import MOST_TOGETHER, MOST_WITH_REFERENCE, check_reference, too_many_together
from ...data.messages import listed
from ...data.reading import Label
from ...data.row_losses import row_losses
from ...errors import InputError, SmallSampleWarning
from ...fit import Counted, Fit, predicted
from ...frontier.asked import AskedCriteria
from ...frontier.criteria import STILL, CriteriaRows, risk_rows
from ...frontier.fan import Aims, by_group
from ...learning.learners import child_seeds
from ..aware.joint import aware_joint_evidence
from ..p_values import normal_p_value
from ..questions import warn_above, warn_of_few_draws, warn_of_uneven_losses
from .evidence import JointEvidence, joint_evidence
from .forms import folds_of
from .result import JointLDATests, judge_jointly
from .robust import people_for_choosing

FEW = 5
"""People at least of either decision, as usual where rates are taken to be normally distributed."""


def joint_lda_tests(
    fit: Fit,
    algorithms: Algorithms,
    *,
    alpha: float | None = None,
    reference: Label | None = None,
    capacity: float | None = None,
) -> JointLDATests:
    """Test whether algorithms have alternatives in all criteria together; see `FairFrontier.test_lda`."""
    groups = fit.sample.groups
    warn_of_uneven_losses(fit)
    if capacity is not None:
        fit.needs_rows("A capacity")
        warn_above(fit, algorithms, check_capacity(capacity))
    code = check_reference(groups.labels, reference, others=fit.sample.left_out)
    if len(groups) > (MOST_TOGETHER if reference is None else MOST_WITH_REFERENCE):
        raise too_many_together(groups.labels, reference)
    aims = by_group(len(groups), code) if fit.asked is None else _aims(fit, fit.asked, code)
    rates: list[FloatArray] = [fit.group_means(a) for a in algorithms.decisions]
    if fit.counted is None:
        found = _by_rows(fit, algorithms, aims, code, alpha, capacity)
    else:
        if reference is not None:
            fit.needs_rows("A test with a reference group")
        found = [_by_sums(fit, fit.counted, name) for name in algorithms.names]
    return judge_jointly(
        algorithms.names,
        found,
        rates,
        groups=groups.labels,
        reference=reference,
        alpha=fit.level(alpha),
        bounded=fit.bounded,
        capacity=capacity,
        rules=fit.rules.name,
        criteria=fit.criteria,
        errors=fit.loss.name == "classification",
    )


def _by_rows(
    fit: Fit, algorithms: Algorithms, aims: Aims, reference: int | None, alpha: float | None, capacity: float | None
) -> list[JointEvidence]:
    """Return the evidence on each algorithm by the rows."""
    rows, folds, found = criteria_of(fit, capacity), folds_of(fit), []
    _check_rates(fit, rows, aims, algorithms)
    for a in algorithms.decisions:
        evidence = joint_evidence(
            rows,
            a,
            folds,
            aims=aims,
            by_group=None if fit.asked is None else lambda chances: _by_group(fit, chances),
            n_draws=fit.options.n_boot,
            seed=fit.seeds.drawing,
            n_jobs=fit.options.n_jobs,
        )
        found.append(evidence)
    if fit.rules.sees_group and capacity is None:  # with a capacity the fan alone, whatever edges are flat
        warn_of_few_draws(fit, fit.level(alpha), len(algorithms.names))
        found = aware_joint_evidence(fit, rows, algorithms.decisions, found, folds, reference)
    return found


def _by_sums(fit: Fit, counted: Counted, name: str) -> JointEvidence:
    """Return the evidence on an algorithm: the test by sums over all rows, the rest by those that were learned from."""
    some, stands_for = people_for_choosing(fit.whole.group, child_seeds(fit.seeds.learning, 8)[7])
    losses, test, own = row_losses(fit.loss, fit.whole.y), counted.tests[name], fit.whole
    rows = risk_rows(
        losses.l0[some],
        losses.dl[some],
        fit.nuisance.predictions[:, some].reshape(-1, len(own.groups)),
        own.group[some],
        own.weight[some] * stands_for,
    )
    folds = folds_of(fit.learned_rows())[some]
    o, decisions = fit.options, counted.learned[name][some]
    found = joint_evidence(rows, decisions, folds, n_draws=o.n_boot, seed=fit.seeds.drawing, n_jobs=o.n_jobs)
    return replace(
        found,
        risk=test.criteria,
        criteria=test.criteria,
        widths=test.widths,
        width_errors=test.width_errors,
        slack=test.slack,
        standard_error=test.standard_error,
        weights=test.weights,
        p_value=normal_p_value(test.statistic),
        n_rules=test.n_rules,
        n_cells=test.n_cells,
        loss=test.loss,
        finished=test.finished,
        share_changed=test.share_changed,
    )


def criteria_of(fit: Fit, capacity: float | None = None) -> CriteriaRows:
    """The rows of all repetitions with the criteria that are compared, and a capacity if there is one."""
    fit.needs_rows("An alternative for more than two groups")
    t = fit.nuisance.predictions
    if fit.asked is None:
        return predicted(fit.sample, fit.row_losses, t, fit.bounds, rules=fit.rules, capacity=capacity).rows
    return fit.asked.rows(fit.sample, fit.row_losses, t, fit.bounds.lower, fit.bounds.upper)


def _by_group(fit: Fit, chances: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Risks and selection rates (K,) of people's chances of selection (n,)."""
    return fit.group_means(fit.row_losses.of(chances)), fit.group_means(chances)


def _aims(fit: Fit, asked: AskedCriteria, reference: int | None) -> Aims:
    """What must not get worse; refuse what cannot be asked of so many groups."""
    chosen, n_groups = asked.chosen, len(fit.sample.groups)
    if reference is not None and chosen.ratio:
        raise InputError(
            "bad-option",
            'fairness="selection-ratio" is the smallest rate over the largest, whichever groups these are: leave '
            '`reference` out, or ask for fairness="selection-rate".',
        )
    check_criteria_of_groups(chosen, n_groups)
    return asked.aims(n_groups, reference if n_groups > 2 else None)


def _check_rates(fit: Fit, rows: CriteriaRows, aims: Aims, algorithms: Algorithms) -> None:
    """Refuse a ratio with a zero denominator; warn of rates of exactly 0 or 1, and of those that rest on few people."""
    if fit.asked is None or not isinstance(fit.criteria.fairness, str) or fit.criteria.fairness == "risk":
        return
    for name, a in zip(algorithms.names, algorithms.decisions, strict=False):
        rates = rows.by_criterion(rows.values(a[rows.row]))[list(aims.spread)]
        if fit.criteria.ratio and not rates.max() > 0.0:
            raise InputError(
                "undefined-rate",
                f"{name} selects nobody in any group, so that the ratio of selection rates is 0 over 0. Ask for "
                'fairness="selection-rate".',
            )
        nearest = np.minimum(rates, 1.0 - rates)
        counted = np.array([np.count_nonzero(fit.asked.measure.weight[own]) for own in fit.sample.rows_by_group])
        known = nearest <= STILL
        few = ~known & (nearest * counted < FEW)
        for those, what in (
            (
                known,
                "is exactly 0 or 1 in group {}: its standard error is 0 by the sample, so that the test takes it "
                "for known. With few people it is not",
            ),
            (few, f"is 0 or 1 but for fewer than {FEW} people in group {{}}, and the test presumes more"),
        ):
            labels = [label for label, own in zip(fit.sample.groups, those, strict=True) if own]
            if labels:
                warnings.warn(
                    f"The {fit.criteria.measure} of {name} {what.format(listed(labels))}; merge the group with "
                    "another, or ask for another measure.",
                    SmallSampleWarning,
                    stacklevel=4,
                )
