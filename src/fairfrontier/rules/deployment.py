"""From a `Fit` to rules one can deploy: learned from all rows once, then one rule per direction."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..arrays import ArrayLike, FloatArray, IntArray
from ..data.algorithms import Algorithms
from ..data.checks import check_capacity, check_integer
from ..data.messages import shown
from ..data.row_losses import row_losses
from ..errors import InputError
from ..fit import Bounds, Fit, attainable, predicted
from ..frontier.attainable import Attainable
from ..frontier.capacity import cap
from ..frontier.sets import configuration, frontier_angles
from ..frontier.support import group_means
from ..inference.fan.forms import standing_of
from ..inference.fan.menu import group_menu, menu_weights
from ..inference.fan.questions import folds_of
from ..inference.fan.result import JointLDATest
from ..inference.lda.answer import LDAAnswer
from ..inference.lda.result import LDATest
from ..learning.cross_fitting import cross_fit, fit_on_all
from ..learning.learners import FittedLearner, Learner
from .alternatives import FINE, Alternatives, Current, find_alternatives
from .classifier import FrontierRule
from .group_alternatives import group_alternatives
from .preferences import Setting, Weights, preferred_direction


class Deployment:
    """Makes rules of a fit; the learner is fitted on all rows once, when the first rule is asked for.

    Parameters
    ----------
    fit : Fit
        What was learned.
    parameters : mapping
        Parameters of the `FrontierRule` objects made, as users gave them: loss, learner, learner_params and so on.
    classes : array (2,)
        What decisions 0 and 1 are called.
    """

    def __init__(self, fit: Fit, parameters: Mapping[str, Any], classes: Any) -> None:
        self.fit, self.parameters, self.classes = fit, dict(parameters), classes
        self._learned: FittedLearner | None = None

    def asking(self, fit: Fit) -> Deployment:
        """Take the same fit with other options; the learner fitted on all rows stays."""
        self.fit, self.parameters["n_jobs"] = fit, fit.options.n_jobs
        return self

    def learned(self) -> FittedLearner:
        """Return the learner fitted on all rows, with what was tuned before."""
        if self._learned is None:
            whole = self.fit.whole
            self._learned = fit_on_all(
                whole,
                row_losses(self.fit.loss, whole.y).dl,
                learner_of(self.fit),
                n_jobs=self.fit.options.n_jobs,
                random_state=self.fit.seeds.rules,
                tuning=self.fit.nuisance.tuning,
            )
        return self._learned

    def rule(
        self,
        weights: Weights = None,
        *,
        direction: ArrayLike | None = None,
        capacity: float | None = None,
        lower: Any = None,
        upper: Any = None,
    ) -> FrontierRule:
        """Return the rule of a preference; see `FairFrontier.rule`."""
        fit, groups = self.fit, self.fit.sample.groups
        if capacity is not None:
            check_capacity(capacity)
        box = fit.rules.sees_group and capacity is None
        setting = Setting(groups.labels, groups.shares, lambda: fit.attainable(capacity), box)
        q = preferred_direction(weights, direction, setting)
        learned = self.learned()
        rule = FrontierRule(
            weights=weights,
            capacity=capacity,
            direction=direction,
            lower=lower,
            upper=upper,
            groups=groups.labels,
            **self.parameters,
        )
        # of rows read in parts only those that were learned from are left, with the shares of all
        rows = fit.sample if fit.counted is None else replace(fit.whole, groups=groups)
        return rule.settle(rows, self.classes, q, learned)


@dataclass(frozen=True, slots=True, eq=False)
class AlternativeRules:
    """Makes the rules of alternatives: any direction, one capacity, the bounds of the fit."""

    deployment: Deployment
    capacity: float | None

    def __call__(self, q: FloatArray) -> FrontierRule:
        """Return the rule of direction ``q`` (2,)."""
        lower, upper = _same_for_all(self.deployment.fit.bounds)
        return self.deployment.rule(direction=q, capacity=self.capacity, lower=lower, upper=upper)


def check_sought(fit: Fit, algorithms: Algorithms, n: int) -> None:
    """Refuse a search for alternatives unless there is one algorithm and a usable number ``n``."""
    check_integer(n, "`n`", least=3)
    if len(algorithms.names) != 1:
        raise InputError("bad-decisions", f"Alternatives are sought to one algorithm, got {len(algorithms.names)}.")


def alternatives(
    deployment: Deployment,
    algorithms: Algorithms,
    n: int,
    test: LDAAnswer,
    *,
    capacity: float | None,
    held_out: bool,
) -> Alternatives:
    """Find rules of the frontier that improve on an algorithm; see `FairFrontier.alternatives`."""
    fit = deployment.fit
    _check_test(test, fit, algorithms, capacity)
    if not isinstance(test, LDATest):
        return _among_groups(deployment, algorithms, int(n), test, held_out=held_out, capacity=capacity)
    labels = fit.sample.groups.pair("The search for alternatives on the frontier")
    halves = _halves(fit, capacity) if held_out else _whole(fit, capacity)
    decisions = algorithms.decisions[0]
    losses = fit.row_losses.of(decisions)
    rows = halves.chosen_on
    e = group_means(losses[rows], fit.sample.group[rows], fit.sample.weight[rows])[0]
    repeated = halves.evaluating.scores.repeated
    on = halves.evaluated_on
    current = Current(algorithms.names[0], repeated(decisions[on]), repeated(losses[on]))
    return find_alternatives(
        halves.choosing,
        halves.evaluating,
        fit.rules.direction(_frontier_directions(halves.choosing)),
        e,
        current,
        test=test,
        groups=labels,
        n=int(n),
        n_folds=fit.nuisance.n_folds,
        evaluated=halves.evaluated,
        make_rule=AlternativeRules(deployment, capacity),
    )


def _among_groups(
    deployment: Deployment,
    algorithms: Algorithms,
    n: int,
    test: LDAAnswer,
    *,
    held_out: bool,
    capacity: float | None,
) -> Alternatives:
    """Search a menu of rules for alternatives for more than two groups."""
    fit, s = deployment.fit, deployment.fit.sample
    a, folds = algorithms.decisions[0], folds_of(fit)
    rows, predictions, evaluated = _learned_halves(fit) if held_out else _in_one(fit)
    weights, menus = -fit.rules.direction(-menu_weights(len(s.groups))), []
    for own, t in zip(rows, predictions, strict=True):
        taken, losses = s.take(own), fit.row_losses.take(own)
        part = predicted(taken, losses, t, fit.bounds.take(own), rules=fit.rules, capacity=capacity).rows
        seed, draws = fit.seeds.drawing, fit.options.n_boot
        fan, standing = standing_of(part, a[own], folds[own], None)
        menus.append(group_menu(part, fan, standing, weights, n_draws=draws, seed=seed, n_jobs=fit.options.n_jobs))
    last = rows[-1]
    groups, weight = s.group[last], s.weight[last]
    means = [group_means(x[last], groups, weight, n_groups=len(s.groups))[0] for x in (fit.row_losses.of(a), a)]
    return group_alternatives(
        menus[0],
        menus[-1],
        name=algorithms.names[0],
        risk=means[0],
        rates=means[1],
        shares=s.groups.shares,
        test=test,
        n=n,
        evaluated=evaluated,
        make_rule=AlternativeRules(deployment, capacity),
    )


def _check_test(test: LDAAnswer, fit: Fit, algorithms: Algorithms, capacity: float | None) -> None:
    """Refuse a test that is not about this algorithm, its groups and this capacity."""
    if not isinstance(test, LDAAnswer):
        raise InputError("bad-option", f"`test` must be a result of `test_lda` for one algorithm, got {shown(test)}.")
    if isinstance(test, JointLDATest) and test.reference is not None:
        raise InputError(
            "bad-option",
            f"`test` is about gaps to group {test.reference}, and alternatives are sought by the range of all groups' "
            "risks: give a test without `reference`, or leave it out.",
        )
    risk = fit.group_means(fit.row_losses.of(algorithms.decisions[0]))
    same = np.allclose(test.risk, risk, rtol=1e-9, atol=1e-12 * float(np.abs(risk).max()))
    if test.groups != fit.sample.groups.labels or test.capacity != capacity or not same:
        raise InputError(
            "bad-option",
            f"`test` is about other decisions, groups or another capacity than the search (its risks are {test.risk}, "
            f"those of the decisions {risk}): give the test of the same algorithm, or leave it out.",
        )


def learner_of(fit: Fit) -> Learner:
    """Return the learner of a fit, or say that rules need one."""
    if fit.learner is None:
        raise InputError(
            "bad-learner",
            "Rules need a learner that can decide on new rows, and with `external_nuisance` there is none.",
        )
    return fit.learner


@dataclass(frozen=True, slots=True)
class _Halves:
    """Support functions by which alternatives are chosen and evaluated, the rows of both, and how to call the risks."""

    choosing: Attainable
    evaluating: Attainable
    chosen_on: IntArray
    evaluated_on: IntArray
    evaluated: str


def _whole(fit: Fit, capacity: float | None) -> _Halves:
    function, rows = fit.function(capacity), np.arange(fit.n_obs)
    return _Halves(function, function, rows, rows, "cross-fitted")


def _halves(fit: Fit, capacity: float | None) -> _Halves:
    """Learn and choose on one half of the rows, evaluate on the other."""
    rows, pairs, evaluated = _learned_halves(fit)
    functions: list[Attainable] = []
    for part, t in zip(rows, pairs, strict=True):
        sample, losses = fit.sample.take(part), fit.row_losses.take(part)
        exact = attainable(sample, losses, t, fit.bounds.take(part), fit.rules)
        functions.append(exact if capacity is None else cap(exact, capacity))
    return _Halves(functions[0], functions[1], rows[0], rows[1], evaluated)


Parts = tuple[tuple[IntArray, ...], tuple[FloatArray, ...], str]
"""Rows on which rules are chosen and on which they are evaluated, predictions for both, and how to call the risks."""


def _in_one(fit: Fit) -> Parts:
    """All rows, on which rules are chosen and evaluated."""
    return (np.arange(fit.n_obs),), (fit.nuisance.predictions,), "cross-fitted"


def _learned_halves(fit: Fit) -> Parts:
    """Rows of two halves, and predictions for both by learning from the first, in which they are cross-fitted."""
    learner, sample, losses = learner_of(fit), fit.sample, fit.row_losses
    split_seed, fold_seed, fit_seed = fit.seeds.halves
    rows = sample.split(np.random.default_rng(split_seed))
    first, second = (sample.take(own) for own in rows)
    for half in (first, second):
        if not min(half.weight[own].sum() for own in half.rows_by_group) > 0.0:
            raise InputError(
                "group-too-small",
                f"One half of the rows has nobody of a group with any weight, by cluster: {half.counts}. Too few "
                "clusters of that group for held_out=True.",
            )
    own, n_jobs = losses.take(rows[0]), fit.options.n_jobs
    inner = cross_fit(first, own.dl, learner, n_folds=fit.learning.n_folds, n_jobs=n_jobs, random_state=fold_seed)
    fitted = fit_on_all(first, own.dl, learner, n_jobs=n_jobs, random_state=fit_seed)
    found = (inner.predictions, fitted.predict(second.covariates).delta_theta[None])
    return rows, found, "those of the held-out half of the rows"


def _same_for_all(bounds: Bounds) -> tuple[float | None, float | None]:
    """Return the bounds of a fit as numbers for new rows."""
    for name, bound in (("lower", bounds.lower), ("upper", bounds.upper)):
        if bound is not None and np.ptp(bound) > 0.0:
            raise InputError(
                "bad-bounds",
                f"`{name}` differs from row to row and is unknown for new rows: call `rule` with the direction "
                "and with bounds that are functions of X.",
            )
    lower, upper = (None if bound is None else float(bound[0]) for bound in (bounds.lower, bounds.upper))
    return lower, upper


def _frontier_directions(function: Attainable) -> FloatArray:
    """Directions over which the frontier runs, densely; under skew up to where the estimated risks become equal.

    The estimated direction of the fairest point may fall short of that.
    """
    ends = function.estimate.support_set(np.array([[-1.0, 0.0], [0.0, -1.0]]))
    skew = configuration(*ends)
    # towards the rule that does most for the group worse off, whatever it costs
    beyond = np.array([1.0, -1.0]) if skew == "r-skewed" else np.array([-1.0, 1.0])
    angle = frontier_angles(skew, beyond, FINE // function.coarsening)
    q = np.column_stack([np.cos(angle), np.sin(angle)])
    if skew == "balanced":
        return q
    points = function.estimate.support_set(q)
    gap = points[:, 0] - points[:, 1]
    if skew == "r-skewed":  # above the line until the risks are equal; the other group's best point comes before
        crossed = np.flatnonzero((gap >= 0.0) & (angle >= 1.5 * np.pi))
        return q[: crossed[0] + 1] if len(crossed) else q
    crossed = np.flatnonzero((gap <= 0.0) & (angle <= np.pi))
    return q[crossed[-1] :] if len(crossed) else q
