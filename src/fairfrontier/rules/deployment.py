"""From a `Fit` to rules one can deploy: learned from all rows once, then one rule per direction."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..arrays import ArrayLike, FloatArray, IntArray
from ..data.algorithms import Algorithms
from ..data.checks import check_capacity, check_integer
from ..data.criteria import USUAL, RowMeasure
from ..data.messages import shown
from ..data.row_losses import row_losses
from ..data.sample import Sample
from ..errors import InputError
from ..fit import Bounds, Fit, attainable, predicted
from ..frontier.asked import AskedCriteria, Learned, loss_differences, predict_criteria, values_to_learn
from ..frontier.attainable import Attainable
from ..frontier.capacity import cap
from ..frontier.sets import configuration, frontier_angles
from ..frontier.support import group_means
from ..inference.fan.forms import folds_of, standing_of
from ..inference.fan.menu import group_menu, menu_of, menu_weights
from ..inference.fan.result import JointLDATest
from ..inference.fan.witness import JointWitness
from ..inference.lda.answer import LDAAnswer
from ..inference.lda.result import LDATest
from ..inference.lda.witness import Alternative
from ..inference.usual.questions import alternative_chances
from ..learning.cross_fitting import Nuisance, cross_fit, fit_on_all
from ..learning.learners import FittedLearner, Learner, Prediction
from .alternatives import FINE, Alternatives, Current, find_alternatives, in_practice
from .classifier import FrontierRule
from .group_alternatives import OnRows, criteria_alternatives, group_alternatives
from .mixed import FittedCriteria, Mixed, MixedRule
from .preferences import Setting, Weights, criteria_direction, preferred_direction


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
        self._criteria: FittedCriteria | None = None

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
        return rule.settle(self._rows(), self.classes, q, learned)

    def _rows(self) -> Sample:
        """Return the rows; of those read in parts only the ones learned from are left, with the shares of all."""
        fit = self.fit
        return fit.sample if fit.counted is None else replace(fit.whole, groups=fit.sample.groups)

    def alternative(self, found: Alternative, *, lower: Any = None, upper: Any = None) -> MixedRule:
        """Return the rule, or lottery, that a test has shown to be an alternative; see `FairFrontier.rule`."""
        if found.changed is not None:
            raise InputError(
                "bad-option",
                "This alternative is not by itself a rule based on the covariates, because it uses the decisions of "
                f"the algorithm: {in_practice(found)}",
            )
        alternative_chances(self.fit, found)  # says so if it is not one of this fit
        directions = -found.directions if isinstance(found, JointWitness) else found.directions
        if lower is None and upper is None:
            lower, upper = _same_for_all(self.fit.bounds)
        return self._mixed(directions, found.shares, capacity=found.capacity, lower=lower, upper=upper)

    def by_criteria(
        self, weights: Weights, direction: ArrayLike | None, *, lower: Any = None, upper: Any = None
    ) -> MixedRule:
        """Return the rule of a direction of the criteria that were asked for; see `FairFrontier.rule`."""
        q = criteria_direction(self.fit, weights, direction)
        return self._mixed(q[None], np.ones(1), lower=lower, upper=upper)

    def _mixed(self, directions: FloatArray, shares: FloatArray, **limits: Any) -> MixedRule:
        fit = self.fit
        rule = MixedRule(direction=directions[0], groups=fit.sample.groups.labels, **limits, **self.parameters)
        scales = fit.sample.groups.shares
        if fit.asked is not None:
            scales = fit.asked.scales(fit.sample, fit.row_losses)
        mixed = Mixed(np.array(directions), np.array(shares), scales)
        return rule.settle_mixed(self._rows(), self.classes, mixed, self.learned_criteria())

    def learned_criteria(self) -> FittedLearner | FittedCriteria:
        """Return what predicts the criteria of new rows: the learner itself, if these are the groups' risks."""
        fit, asked = self.fit, self.fit.asked
        if asked is None:
            return self.learned()
        if self._criteria is None:
            known = fit.nuisance.group_probabilities is not None
            values = values_to_learn(asked.chosen, (asked.measure, asked.profit), group_known=known)
            learner, n_jobs = learner_of(fit), fit.options.n_jobs
            others = {
                name: fit_on_all(fit.sample, z, learner, n_jobs=n_jobs, random_state=fit.seeds.rules)
                for name, z in values.items()
            }
            differences = loss_differences(asked.chosen, fit.sample, fit.row_losses)
            self._criteria = FittedCriteria(asked.chosen, differences, self.learned(), others)
        return self._criteria


@dataclass(frozen=True, slots=True, eq=False)
class AlternativeRules:
    """Makes the rules of alternatives: any direction, one capacity, the bounds of the fit."""

    deployment: Deployment
    capacity: float | None

    def __call__(self, q: FloatArray) -> FrontierRule:
        """Return the rule of direction ``q`` (J,)."""
        lower, upper = _same_for_all(self.deployment.fit.bounds)
        if self.deployment.fit.asked is not None:
            return self.deployment.by_criteria(None, q, lower=lower, upper=upper)
        return self.deployment.rule(direction=q, capacity=self.capacity, lower=lower, upper=upper)


def shown_alternative(given: LDAAnswer | Alternative) -> Alternative:
    """Return the alternative that a test has shown; refuse one that has shown none."""
    if isinstance(given, Alternative):
        return given
    if given.witness is None:
        raise InputError(
            "bad-option",
            f"The test of {given.name} shows no alternative ({given.verdict}), so that there is none to be deployed. "
            "`alternatives` lists rules that are estimated to be better.",
        )
    return given.witness


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
    if len(fit.sample.groups) > 2:
        fit.needs_rows("Alternatives for more than two groups")
    _check_test(test, fit, algorithms, capacity)
    if fit.asked is not None:
        return _by_criteria(deployment, algorithms, int(n), test, held_out=held_out)
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


def _by_criteria(
    deployment: Deployment, algorithms: Algorithms, n: int, test: LDAAnswer, *, held_out: bool
) -> Alternatives:
    """Search a menu of rules for alternatives by other criteria than the groups' risks."""
    fit = deployment.fit
    assert isinstance(test, JointLDATest)
    assert fit.asked is not None
    a, folds, aims = algorithms.decisions[0], folds_of(fit), test.evidence.aims
    if held_out:
        parts, evaluated = _asked_halves(fit)
    else:
        parts, evaluated = [(np.arange(fit.n_obs), fit.nuisance.predictions, fit.asked)], "cross-fitted"
    found: list[OnRows] = []
    for own, t, asked in parts:
        taken, losses, bounds = fit.sample.take(own), fit.row_losses.take(own), fit.bounds.take(own)
        rows = asked.rows(taken, losses, t, bounds.lower, bounds.upper)
        fan, standing = standing_of(rows, a[own], folds[own], aims)
        weights = found[0].menu.directions if found else menu_of(aims, fan, rows)
        seed, draws = fit.seeds.drawing, fit.options.n_boot
        menu = group_menu(rows, fan, standing, weights, n_draws=draws, seed=seed, n_jobs=fit.options.n_jobs)
        found.append(OnRows(menu, rows, taken, losses))
    return criteria_alternatives(
        found[0],
        found[-1],
        decisions=a[parts[-1][0]],
        test=test,
        n=n,
        evaluated=evaluated,
        make_rule=AlternativeRules(deployment, None),
    )


def _asked_halves(fit: Fit) -> tuple[list[tuple[IntArray, FloatArray, AskedCriteria]], str]:
    """Rows of two halves, with predictions and criteria by learning from the first."""
    asked = fit.asked
    assert asked is not None
    halves = _HalvesLearner(fit)
    inner, outer = halves.learn(fit.row_losses.dl)
    groups = inner.group_probabilities, outer.group_probabilities
    values = values_to_learn(asked.chosen, (asked.measure, asked.profit), group_known=groups[0] is not None)
    learned: tuple[dict[Learned, FloatArray], dict[Learned, FloatArray]] = ({}, {})
    for name, z in values.items():
        first, second = halves.learn(z)
        learned[0][name], learned[1][name] = first.predictions, second.delta_theta[None]
    differences, parts = loss_differences(asked.chosen, fit.sample, fit.row_losses), []
    chances = groups[0], None if groups[1] is None else groups[1][None]
    for own, t, chance, others in zip(
        halves.rows, (inner.predictions, outer.delta_theta[None]), chances, learned, strict=True
    ):
        measure = RowMeasure(*(column[own] for column in asked.measure))
        profit = None if asked.profit is None else asked.profit[own]
        found = predict_criteria(asked.chosen, differences, t, chance, others)
        parts.append((own, t, AskedCriteria(asked.chosen, measure, profit, found)))
    return parts, HELD_OUT


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
    criteria = test.criteria if isinstance(test, JointLDATest) else USUAL
    if criteria.describe() != fit.criteria.describe():
        raise InputError(
            "bad-option",
            f"`test` asks another question than this fit ({criteria.listed or 'risks by group'}, and "
            f"{fit.criteria.listed or 'risks by group'}): give a test of this fit, or leave it out.",
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
    function, rows = fit.function(capacity), np.arange(fit.n_rows)
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


HELD_OUT = "those of the held-out half of the rows"
"""How risks are called that no choice has seen."""
Parts = tuple[tuple[IntArray, ...], tuple[FloatArray, ...], str]
"""Rows on which rules are chosen and on which they are evaluated, predictions for both, and how to call the risks."""


def _in_one(fit: Fit) -> Parts:
    """All rows, on which rules are chosen and evaluated."""
    return (np.arange(fit.n_obs),), (fit.nuisance.predictions,), "cross-fitted"


def _learned_halves(fit: Fit) -> Parts:
    """Rows of two halves, and predictions for both by learning from the first, in which they are cross-fitted."""
    halves = _HalvesLearner(fit)
    inner, outer = halves.learn(fit.row_losses.dl)
    return halves.rows, (inner.predictions, outer.delta_theta[None]), HELD_OUT


class _HalvesLearner:
    """Two halves of the rows of a fit; learns from the first of them, in which predictions are cross-fitted."""

    def __init__(self, fit: Fit) -> None:
        self.fit, self.learner = fit, learner_of(fit)
        self.rows = fit.sample.split(np.random.default_rng(fit.seeds.halves[0]))
        self.first, self.second = (fit.sample.take(own) for own in self.rows)
        for half in (self.first, self.second):
            if not min(half.weight[own].sum() for own in half.rows_by_group) > 0.0:
                raise InputError(
                    "group-too-small",
                    f"One half of the rows has nobody of a group with any weight, by cluster: {half.counts}. Too few "
                    "clusters of that group for held_out=True.",
                )

    def learn(self, values: FloatArray) -> tuple[Nuisance, Prediction]:
        """Predict values (n,) of the rows of the fit in both halves."""
        fit, own = self.fit, values[self.rows[0]]
        _, fold_seed, fit_seed = fit.seeds.halves
        n_folds, n_jobs = fit.learning.n_folds, fit.options.n_jobs
        inner = cross_fit(self.first, own, self.learner, n_folds=n_folds, n_jobs=n_jobs, random_state=fold_seed)
        fitted = fit_on_all(self.first, own, self.learner, n_jobs=n_jobs, random_state=fit_seed)
        return inner, fitted.predict(self.second.covariates)


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
