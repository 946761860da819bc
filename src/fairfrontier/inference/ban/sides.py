"""Both sides of a ban from one fit: predictions for rules that do not see the group, and for rules that do."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ...arrays import FloatArray
from ...data.reading import Label
from ...errors import InputError
from ...fit import Fit, Plane, attainable
from ...frontier.rule_class import GroupBlind
from ...frontier.sets import sharp_points
from ...learning.cross_fitting import cross_fit
from ...learning.learners import Learner, child_seeds, within_groups, without_groups


@dataclass(frozen=True, slots=True)
class Sides:
    """Out-of-fold predictions (n_rep, n, G) of E[dl 1{G = g} | x], and of E[dl | x, G = g].

    ``weak``: groups that the learner of either side predicts no better than by their mean.
    """

    blind: FloatArray
    within: FloatArray
    weak: tuple[Label, ...]


def both_sides(fit: Fit) -> Sides:
    """Return the predictions of both sides.

    A learner that has the second as a factor gives both in one fit. Any other is fitted once more, on the same folds.
    """
    nuisance, learner = fit.nuisance, fit.learner
    own, weak = nuisance.predictions, nuisance.weak
    if fit.rules.sees_group:
        if nuisance.group_probabilities is not None:
            return Sides(own * nuisance.group_probabilities, own, weak)
        other, of_other = _again(fit, None if learner is None else without_groups(learner))
        return Sides(other, own, _either(fit, weak, of_other))
    if nuisance.within is not None:
        return Sides(own, nuisance.within, weak)
    other, of_other = _again(fit, None if learner is None else within_groups(learner))
    return Sides(own, other, _either(fit, weak, of_other))


def _either(fit: Fit, first: tuple[Label, ...], second: tuple[Label, ...]) -> tuple[Label, ...]:
    return tuple(label for label in fit.sample.groups if label in first or label in second)


def one_fit_serves(fit: Fit) -> bool:
    """Whether the fit has the predictions of both sides, so that no learner has to be fitted again."""
    n = fit.nuisance
    return n.group_probabilities is not None if fit.rules.sees_group else n.within is not None


def blind_side(fit: Fit, sides: Sides | None = None) -> Fit:
    """Return the fit of two groups for rules that do not see the group, with the predictions of the same learner.

    ``sides`` if they are known, or they are learned, if need be.
    """
    if not fit.rules.sees_group:
        return fit
    found, rules = both_sides(fit) if sides is None else sides, GroupBlind()
    function = attainable(fit.sample, fit.row_losses, found.blind, fit.bounds, rules)
    return replace(
        fit,
        nuisance=replace(fit.nuisance, predictions=found.blind, within=found.within),
        in_plane=Plane(function, None, sharp_points(function)),
        rules=rules,
    )


def _again(fit: Fit, learner: Learner | None) -> tuple[FloatArray, tuple[Label, ...]]:
    """Predictions (n_rep, n, G) of another learner on the same folds, and groups that it predicts badly."""
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
    s = fit.sample
    given = np.ones((len(folds), s.n_given), dtype=folds.dtype)  # folds are given for all rows of the input
    given[:, s.rows] = folds
    seeds = child_seeds(child_seeds(fit.seeds.learning, 5)[4], len(folds))  # the first four serve the cross-fitting
    layers = [
        cross_fit(s, fit.row_losses.dl, learner, folds=own, n_jobs=fit.options.n_jobs, random_state=seed)
        for own, seed in zip(given, seeds, strict=True)
    ]
    weak = {label for layer in layers for label in layer.weak}
    return np.array([layer.predictions[0] for layer in layers]), tuple(weak)
