"""Estimation: learn the nuisance functions, build the support function, read off points and curves."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator

from .arrays import ArrayLike, FloatArray
from .bootstrap.capacity import cap, capped_frontier
from .data.checks import check_alpha, check_bounds, check_n_jobs, check_probabilities
from .data.losses import Loss, get_loss
from .data.reading import read_column
from .data.sample import Sample, make_sample
from .errors import InputError, NotFittedError
from .frontier.regret import Regret, check_refits, estimate_regret
from .frontier.sets import (
    BestPoints,
    FrontierCurve,
    configuration,
    fa_frontier,
    frontier_tolerance,
    most_central,
    pareto_frontier,
    sharp_points,
)
from .frontier.support import build_support_function, group_means, make_scores
from .learning import diagnostics
from .learning.cross_fitting import as_seed, cross_fit
from .learning.cross_fitting import external_nuisance as take_external_nuisance
from .learning.learners import child_seeds, read_learner
from .progress import progress_bar


@dataclass(frozen=True, slots=True)
class Risks:
    """Risk pair of an algorithm: the mean loss in each group, in the order of ``groups``."""

    groups: tuple[Any, Any]
    risk: FloatArray
    standard_error: FloatArray
    selection_rate: FloatArray

    @property
    def gap(self) -> float:
        """First group's risk minus the second's."""
        return float(self.risk[0] - self.risk[1])

    def to_frame(self) -> pd.DataFrame:
        """One row per group: risk, standard error, selection rate."""
        return pd.DataFrame(
            {
                "risk": self.risk,
                "standard_error": self.standard_error,
                "selection_rate": self.selection_rate,
            },
            index=pd.Index(self.groups, name="group"),
        )


class FrontierEstimator(BaseEstimator):  # type: ignore[misc]
    """The estimating half of `FairFrontier`, which documents the parameters."""

    def __init__(
        self,
        loss: str | Loss | Callable[..., Any] = "classification",
        learner: Any = "logit-lasso",
        *,
        n_folds: int = 5,
        n_rep: int = 1,
        n_boot: int = 1000,
        alpha: float = 0.05,
        bias_correction: str | None = None,
        n_refits: int = 20,
        groups: tuple[Any, Any] | None = None,
        folds: Any = None,
        learner_params: Mapping[str, Any] | None = None,
        positive: Any = None,
        missing: str = "raise",
        jitter: float = 0.0,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: bool = False,
    ) -> None:
        self.loss = loss
        self.learner = learner
        self.n_folds = n_folds
        self.n_rep = n_rep
        self.n_boot = n_boot
        self.alpha = alpha
        self.bias_correction = bias_correction
        self.n_refits = n_refits
        self.groups = groups
        self.folds = folds
        self.learner_params = learner_params
        self.positive = positive
        self.missing = missing
        self.jitter = jitter
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(
        self,
        X: ArrayLike | None,
        y: ArrayLike,
        *,
        sensitive_features: ArrayLike,
        sample_weight: ArrayLike | None = None,
        clusters: ArrayLike | None = None,
        ids: ArrayLike | None = None,
        external_nuisance: ArrayLike | None = None,
        lower: ArrayLike | None = None,
        upper: ArrayLike | None = None,
    ) -> Self:
        """Learn the nuisance functions out of fold and estimate the support function.

        Parameters
        ----------
        X : frame or array (n, p)
            Covariates that a rule may use; None only with ``external_nuisance``.
        y, sensitive_features : columns (n,)
            Outcome; group.
        sample_weight, clusters, ids : columns (n,), optional
            Sampling weights; clusters (kept together in folds and bootstrap draws); names of the rows.
        external_nuisance : array (n, 2), optional
            Your own out-of-fold predictions of E[(loss(1, y) - loss(0, y)) 1{group = g} | x], one column per
            group in the order of ``groups``; no learner is then fitted.
        lower, upper : number or column (n,), optional
            Only rules with lower <= P(decision 1) <= upper are considered, row by row.

        Returns
        -------
        FairFrontier
            Itself.
        """
        check_alpha(self.alpha)
        check_n_jobs(self.n_jobs)
        check_refits(self.bias_correction, self.n_refits)
        loss = get_loss(self.loss)
        learner = read_learner(self.learner, self.learner_params)
        if X is None and external_nuisance is None:
            raise InputError("bad-features", "X is needed to learn from; it may be None only with `external_nuisance`.")
        if self.bias_correction is not None and external_nuisance is not None:
            raise InputError(
                "bad-option",
                f"bias_correction={self.bias_correction!r} refits the learner, and with `external_nuisance` there is "
                "none to refit: leave one of them out.",
            )
        sample = make_sample(
            X,
            y,
            sensitive_features,
            groups=self.groups,
            sample_weight=sample_weight,
            clusters=clusters,
            ids=ids,
            positive=self.positive,
            missing=self.missing,
            binary=loss.binary_outcome,
        )
        bounds = {
            name: _at_kept_rows(bound, sample, name)
            for name, bound in (("lower", lower), ("upper", upper))
            if bound is not None
        }
        if bounds:
            check_bounds(bounds.get("lower"), bounds.get("upper"), sample.n_obs)  # before anything long
        l0, l1 = loss.at_decisions(sample.y)
        dl = l1 - l0
        self._learning_seed, self._drawing_seed, refit_seed, deploy_seed = child_seeds(as_seed(self.random_state), 4)
        self._deployment_seeds = child_seeds(deploy_seed, 4)
        if external_nuisance is None:
            with progress_bar("Learning the nuisance functions", show=self.verbose) as progress:
                nuisance = cross_fit(
                    sample,
                    dl,
                    learner,
                    n_folds=self.n_folds,
                    n_rep=self.n_rep,
                    folds=self.folds,
                    n_jobs=self.n_jobs,
                    random_state=self._learning_seed,
                    jitter=self.jitter,
                    progress=progress,
                )
        else:
            nuisance = take_external_nuisance(
                sample, dl, external_nuisance, jitter=self.jitter, random_state=self._learning_seed
            )
        functions = tuple(
            build_support_function(
                make_scores(l0, dl, t, sample.group, sample.weight, clusters=sample.clusters, **bounds)
            )
            for t in nuisance.predictions
        )
        regrets: tuple[Regret | None, ...] = (None,) * len(functions)
        if self.bias_correction is not None:
            with progress_bar("Refitting to estimate the regret", show=self.verbose) as progress:
                regrets = estimate_regret(
                    sample,
                    dl,
                    learner,
                    nuisance,
                    functions,
                    n_refits=self.n_refits,
                    seed=refit_seed,
                    n_jobs=self.n_jobs,
                    progress=progress,
                )
        self.sample_, self.nuisance_, self.loss_ = sample, nuisance, loss
        self.groups_, self.n_obs_ = sample.groups.pair("The frontier"), sample.n_obs
        self.support_functions_ = functions
        self._central = most_central([f.estimate for f in functions])
        self.support_function_ = functions[self._central]
        self.regrets_, self.regret_ = regrets, regrets[self._central]
        self._losses, self._bounds = (l0, dl), bounds
        self.__dict__.pop("_deployed", None)
        self.outcome_labels_ = _outcome_labels(y, self.positive)
        points = [sharp_points(function, regret) for function, regret in zip(functions, regrets, strict=True)]
        self.points_ = _points_frame(points, points[self._central], self.groups_)
        self.configuration_ = _label_configuration(self.points_, self.groups_)
        self.diagnostics_ = diagnostics.diagnose(
            self.support_function_.scores.t,
            sample.groups.shares,
            sample.group,
            X=sample.X,
            weight=sample.weight,
            group_auc=nuisance.group_auc,
        )
        diagnostics.warn(self.diagnostics_, jitter=nuisance.jitter)
        return self

    def support(self, q: ArrayLike) -> FloatArray:
        """Support function h at directions ``q`` (k, 2), shape (k,); the median over repetitions.

        Examples
        --------
        >>> ff.support([[-1, 0], [0, -1]]).round(2)  # minus the smallest risk of each group
        array([-0.16, -0.35])
        """
        self._check_fitted()
        return np.median([f.estimate.h(q) for f in self.support_functions_], axis=0)

    def support_set(self, q: ArrayLike) -> FloatArray:
        """Risk pairs (k, 2) of the rules in directions ``q`` (k, 2); medians over repetitions.

        Examples
        --------
        >>> ff.support_set([[-1, 0], [0, -1]]).round(2)
        array([[0.16, 0.44],
               [0.34, 0.35]])
        """
        self._check_fitted()
        return np.median([f.estimate.support_set(q) for f in self.support_functions_], axis=0)

    def support_covariance(self, q: ArrayLike) -> FloatArray:
        """Estimated covariance (k, k) of sqrt(n)(h^ - h) at directions ``q``; medians over repetitions.

        Examples
        --------
        >>> ff.support_covariance([[-1, 0], [0, -1]]).diagonal().round(1)
        array([0.2, 0.6])
        """
        self._check_fitted()
        return np.median([f.covariance(q) for f in self.support_functions_], axis=0)

    def risks(self, decisions: ArrayLike) -> Risks:
        """Mean loss of an algorithm in each group, with standard errors.

        ``decisions`` (n,) are probabilities in [0, 1] of deciding 1 for the rows given to `fit`; a value
        strictly between 0 and 1 is read as a lottery with that probability.

        Examples
        --------
        >>> print(ff.risks(in_use).to_frame().round(2))
               risk  standard_error  selection_rate
        group
        1      0.43            0.02            0.49
        0      0.48            0.02            0.48
        """
        self._check_fitted()
        n = self.sample_.n_given
        a = check_probabilities(decisions, "decisions", n, code="bad-decisions")[self.sample_.rows]
        l0, dl = self._losses
        sample = self.sample_
        risk, covariance = group_means(l0 + a * dl, sample.group, sample.weight, sample.clusters)
        rates, _ = group_means(a, sample.group, sample.weight, sample.clusters)
        return Risks(self.groups_, risk, np.sqrt(np.diag(covariance)), rates)

    def frontier(
        self, tolerance: float | None = None, *, n_points: int = 512, capacity: float | None = None
    ) -> FrontierCurve:
        """Estimated fairness-accuracy frontier: risk pairs in order of direction.

        ``tolerance`` is that of the set estimate `FrontierCurve.contains`, by default sqrt(log n / n) times the root
        mean square of the loss differences, which is 1 for classification. With ``capacity`` the frontier of the rules
        that treat at most this share of people, on a grid of directions and without any bias correction.

        Examples
        --------
        >>> curve = ff.frontier()
        >>> curve.points[0].round(2)  # it begins at the best point of the first group
        array([0.16, 0.44])
        >>> curve.contains(ff.risks(in_use).risk)
        array([False])
        """
        self._check_fitted()
        function = self.support_function_
        if capacity is not None:
            return capped_frontier(cap(function, capacity), self._tolerance(tolerance), n_points)
        return fa_frontier(
            function.estimate,
            self.n_obs_,
            plug_in=function.plug_in(),
            regret=self.regret_,
            tolerance=self._tolerance(tolerance),
            n_points=n_points,
        )

    def pareto_frontier(self, *, tolerance: float | None = None, n_points: int = 512) -> FrontierCurve:
        """Estimated Pareto frontier: no group can be served better without serving the other worse.

        Examples
        --------
        >>> ff.pareto_frontier().points[[0, -1]].round(2)
        array([[0.16, 0.44],
               [0.34, 0.35]])
        """
        self._check_fitted()
        estimate = self.support_function_.estimate
        return pareto_frontier(
            estimate, self.n_obs_, regret=self.regret_, tolerance=self._tolerance(tolerance), n_points=n_points
        )

    def _tolerance(self, given: float | None) -> float:
        return frontier_tolerance(given, self.n_obs_, self.support_function_.scores.unit)

    def _group_means(self, values: FloatArray) -> FloatArray:
        return group_means(values, self.sample_.group, self.sample_.weight)[0]

    def _check_fitted(self) -> None:
        if not hasattr(self, "points_"):
            raise NotFittedError("This FairFrontier is not fitted yet: call `fit` first.")


def _outcome_labels(y: ArrayLike, positive: Any) -> Any:
    """What outcomes, and so decisions, 0 and 1 are called."""
    if positive is None:
        return np.array([0, 1])
    column = read_column(y, "y")
    labels = np.unique(column.values[~column.missing])
    return labels if labels[-1] == positive else labels[::-1]


def _at_kept_rows(bound: ArrayLike, sample: Sample, name: str) -> FloatArray:
    """Read a bound given for all input rows, or one number for each of them; keep the rows of the sample."""
    column = [bound] * sample.n_given if np.ndim(bound) == 0 else bound
    return check_probabilities(column, name, sample.n_given, code="bad-bounds")[sample.rows]


def _points_frame(points: list[BestPoints], central: BestPoints, groups: tuple[Any, Any]) -> pd.DataFrame:
    """Table of R, B, F: medians over repetitions; directions of the most central one."""
    r, b = groups
    risks = np.median([[p.R, p.B, p.F] for p in points], axis=0)
    directions = np.array([central.q_R, central.q_B, central.q_F])
    return pd.DataFrame(
        np.hstack([risks, directions]),
        index=[f"best for {r}", f"best for {b}", "fairest"],
        columns=[f"risk {r}", f"risk {b}", f"direction {r}", f"direction {b}"],
    )


def _label_configuration(points: pd.DataFrame, groups: tuple[Any, Any]) -> str:
    risks = points.to_numpy()[:, :2]
    found = configuration(risks[0], risks[1])
    return {"balanced": "balanced", "r-skewed": f"{groups[0]}-skewed", "b-skewed": f"{groups[1]}-skewed"}[found]
