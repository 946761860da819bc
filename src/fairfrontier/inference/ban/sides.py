"""Both sides of a ban from one fit: predictions for rules that do not see the group, and for rules that do."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...arrays import FloatArray
from ...errors import InputError
from ...fit import Fit, Plane, attainable
from ...frontier.rule_class import GroupBlind
from ...frontier.sets import sharp_points
from ...learning.cross_fitting import cross_fit
from ...learning.learners import Learner, child_seeds, within_groups, without_groups


def both_sides(fit: Fit) -> tuple[FloatArray, FloatArray]:
    """Out-of-fold predictions (n_rep, n, G) of E[dl 1{G = g} | x], and of E[dl | x, G = g].

    A learner that has the second as a factor gives both in one fit. Any other is fitted once more, on the same folds.
    """
    nuisance, learner = fit.nuisance, fit.learner
    if fit.rules.sees_group:
        if nuisance.group_probabilities is not None:
            return nuisance.predictions * nuisance.group_probabilities, nuisance.predictions
        return _again(fit, None if learner is None else without_groups(learner)), nuisance.predictions
    if nuisance.within is not None:
        return nuisance.predictions, nuisance.within
    return nuisance.predictions, _again(fit, None if learner is None else within_groups(learner))


def one_fit_serves(fit: Fit) -> bool:
    """Whether the fit has the predictions of both sides, so that no learner has to be fitted again."""
    n = fit.nuisance
    return n.group_probabilities is not None if fit.rules.sees_group else n.within is not None


def blind_side(fit: Fit) -> Fit:
    """Return the fit of two groups for rules that do not see the group, with the predictions of the same learner."""
    if not fit.rules.sees_group:
        return fit
    blind, within = both_sides(fit)
    rules = GroupBlind()
    function = attainable(fit.sample, fit.row_losses, blind, fit.bounds, rules)
    return replace(
        fit,
        nuisance=replace(fit.nuisance, predictions=blind, within=within),
        in_plane=Plane(function, None, sharp_points(function)),
        rules=rules,
    )


def _again(fit: Fit, learner: Learner | None) -> FloatArray:
    folds = fit.nuisance.folds
    if learner is None or folds is None:
        raise InputError(
            "bad-learner",
            "What a ban of the group costs is estimated from predictions for rules that see it and for rules that do "
            "not, and with `external_nuisance` there is only one of them: fit with a learner.",
        )
    if fit.sequence is not None:
        raise InputError(
            "bad-option",
            f"What a ban of the group costs takes a second fit of the learner {fit.nuisance.learner!r}, which is not "
            'made on sequential folds: fit without folds="sequential", or with a learner that models the group, such '
            "as 'factored-logit'.",
        )
    seeds = child_seeds(child_seeds(fit.seeds.learning, 5)[4], len(folds))  # the first four serve the cross-fitting
    layers = [
        cross_fit(
            fit.sample, fit.row_losses.dl, learner, folds=own, n_jobs=fit.options.n_jobs, random_state=seed
        ).predictions[0]
        for own, seed in zip(folds, seeds, strict=True)
    ]
    return np.array(layers)
