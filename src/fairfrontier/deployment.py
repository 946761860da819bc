"""The deploying half of `FairFrontier`: rules that attain a chosen point of the trade-off."""

from __future__ import annotations

import numbers
from functools import partial
from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from .arrays import ArrayLike, FloatArray
from .bootstrap.capacity import CappedFunction, cap, check_capacity
from .errors import InputError
from .frontier.sets import configuration, frontier_angles
from .frontier.support import SupportFunction, build_support_function, group_means, make_scores
from .learning.cross_fitting import cross_fit, fit_on_all
from .learning.learners import FittedLearner, read_learner
from .rules.alternatives import FINE, Alternatives, Current, find_alternatives
from .rules.classifier import FrontierRule, preferred_direction
from .testing import FrontierTester


class FrontierDeployer(FrontierTester):
    """What `FairFrontier` can deploy, on top of what it tests."""

    def rule(
        self,
        weights: Any = None,
        *,
        direction: ArrayLike | None = None,
        capacity: float | None = None,
        lower: Any = None,
        upper: Any = None,
    ) -> FrontierRule:
        """Return the rule of a preference, learned from all rows and ready to be deployed.

        The learner is fitted on all rows once, with what was tuned before, and serves all rules. The preferences
        "rawlsian" and "egalitarian" take their direction from the cross-fitted estimates.

        Parameters
        ----------
        weights, direction, capacity, lower, upper
            As for `FrontierRule`.

        Returns
        -------
        FrontierRule

        Examples
        --------
        >>> rule = ff.rule("utilitarian")
        >>> rule.predict(X.head())
        array([1, 0, 1, 1, 1])
        """
        self._check_fitted()
        if capacity is not None:
            check_capacity(capacity)
        mu = self.sample_.groups.shares
        q = preferred_direction(weights, direction, self.groups_, mu, lambda: self._function(capacity))
        return self._make_rule(q, weights, direction, capacity, lower, upper)

    def alternatives(
        self,
        decisions: ArrayLike,
        n: int = 20,
        *,
        capacity: float | None = None,
        held_out: bool = False,
        randomised: bool = False,
        threshold: float | None = None,
    ) -> Alternatives:
        """Find rules of the frontier that improve on an algorithm for both groups and in the gap between them.

        Parameters
        ----------
        decisions : column (n,)
            Decisions of the algorithm for the rows given to `fit`.
        n : int
            Number of rules, spread over the improving part of the frontier.
        capacity : float, optional
            Largest share of people that an alternative may treat.
        held_out : bool
            False: risks are cross-fitted on all rows. True: learn and choose on one half of the rows and report risks
            on the other half, which no choice has seen. The rules themselves always learn from all rows.
        randomised, threshold
            As in `test_lda`.

        Returns
        -------
        Alternatives

        Examples
        --------
        >>> found = ff.alternatives(in_use, n=5)
        >>> len(found)
        5
        >>> rule = found.select("utilitarian", flagged=True)  # the one with the smallest average risk
        >>> bool(rule.predict(X).mean() > 0.5)
        True
        """
        self._check_fitted()
        if not isinstance(n, numbers.Integral) or isinstance(n, bool) or n < 3:
            raise InputError("bad-option", f"`n` must be a whole number of at least 3, got {n!r}.")
        algorithms = self._read_algorithms(decisions, None, randomised, threshold)
        if len(algorithms.names) != 1:
            raise InputError("bad-decisions", f"Alternatives are sought to one algorithm, got {len(algorithms.names)}.")
        a = algorithms.decisions[0]
        l0, dl = self._losses
        losses = l0 + a * dl
        if held_out:
            choosing, evaluating, chosen_on, rows = self._halves(capacity)
            evaluated = "those of the held-out half of the rows"
        else:
            choosing = evaluating = self._function(capacity)
            chosen_on = rows = np.arange(self.n_obs_)
            evaluated = "cross-fitted"
        e = group_means(losses[chosen_on], self.sample_.group[chosen_on], self.sample_.weight[chosen_on])[0]
        return find_alternatives(
            choosing,
            evaluating,
            _frontier_directions(choosing),
            e,
            Current(algorithms.names[0], a[rows], losses[rows]),
            self.groups_,
            int(n),
            evaluated,
            partial(self._alternative, capacity),
        )

    def _alternative(self, capacity: float | None, q: FloatArray) -> FrontierRule:
        return self._make_rule(q, None, q, capacity, *self._same_bounds())

    def _function(self, capacity: float | None) -> SupportFunction | CappedFunction:
        return self.support_function_ if capacity is None else cap(self.support_function_, capacity)

    def _halves(self, capacity: float | None) -> tuple[Any, Any, Any, Any]:
        """Support functions of the half that learns and of the other half, and the rows of both."""
        learner, sample = self._learner(), self.sample_
        l0, dl = self._losses
        split_seed, fold_seed, fit_seed = self._deployment_seeds[1:]
        first, second = sample.split(np.random.default_rng(split_seed))
        halves = [sample.take(rows) for rows in (first, second)]
        for half in halves:
            if not min(half.weight[own].sum() for own in half.rows_by_group) > 0.0:
                raise InputError(
                    "group-too-small",
                    f"One half of the rows has nobody of a group with any weight, by cluster: {half.counts}. Too few "
                    "clusters of that group for held_out=True.",
                )
        inner = cross_fit(
            halves[0], dl[first], learner, n_folds=self.n_folds, n_jobs=self.n_jobs, random_state=fold_seed
        )
        fitted = fit_on_all(halves[0], dl[first], learner, n_jobs=self.n_jobs, random_state=fit_seed)
        pairs = (inner.predictions[0], fitted.predict(halves[1].X).delta_theta)
        functions: list[Any] = []
        for half, rows, t in zip(halves, (first, second), pairs, strict=True):
            bounds = {name: bound[rows] for name, bound in self._bounds.items()}
            scores = make_scores(
                l0[rows], dl[rows], t, half.group, half.weight, clusters=half.clusters,
                lower=bounds.get("lower"), upper=bounds.get("upper"),
            )  # fmt: skip
            functions.append(build_support_function(scores))
        if capacity is not None:
            functions = [cap(function, capacity) for function in functions]
        return functions[0], functions[1], first, second

    def _same_bounds(self) -> list[float | None]:
        """Bounds of the fit as numbers for new rows."""
        for name, bound in self._bounds.items():
            if np.ptp(bound) > 0.0:
                raise InputError(
                    "bad-bounds",
                    f"`{name}` differs from row to row and is not known for new rows: call `rule` with the direction "
                    "and with bounds that are functions of X.",
                )
        return [float(self._bounds[name][0]) if name in self._bounds else None for name in ("lower", "upper")]

    def _learner(self) -> Any:
        if self.nuisance_.external:
            raise InputError(
                "bad-learner",
                "Rules need a learner that can decide on new rows, and with `external_nuisance` there is none.",
            )
        return read_learner(self.learner, self.learner_params)

    def _make_rule(
        self, q: FloatArray, weights: Any, direction: Any, capacity: float | None, lower: Any, upper: Any
    ) -> FrontierRule:
        if not hasattr(self, "_deployed"):
            self._deployed: FittedLearner = fit_on_all(
                self.sample_,
                self._losses[1],
                self._learner(),
                n_jobs=self.n_jobs,
                random_state=self._deployment_seeds[0],
                tuning=self.nuisance_.tuning,
            )
        rule = FrontierRule(
            self.loss,
            self.learner,
            weights,
            capacity,
            direction=direction,
            lower=lower,
            upper=upper,
            learner_params=self.learner_params,
            groups=self.groups_,
            positive=self.positive,
            n_folds=self.n_folds,
            n_jobs=self.n_jobs,
            random_state=self.random_state,
        )
        validate_data(rule, self.sample_.X, skip_check_array=True)
        return rule._settle(self.sample_, self.outcome_labels_, q, self._deployed)


def _frontier_directions(function: SupportFunction | CappedFunction) -> FloatArray:
    """Directions over which the frontier runs, densely; under skew up to where the estimated risks become equal.

    The estimated direction of the fairest point may fall short of that.
    """
    ends = function.estimate.support_set(np.array([[-1.0, 0.0], [0.0, -1.0]]))
    skew = configuration(*ends)
    # towards the rule that does most for the group worse off, whatever it costs
    beyond = np.array([1.0, -1.0]) if skew == "r-skewed" else np.array([-1.0, 1.0])
    angle = frontier_angles(skew, beyond, FINE // 4 if isinstance(function, CappedFunction) else FINE)
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
