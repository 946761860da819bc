"""`FairFrontier`, the estimator users meet: it orchestrates and computes nothing itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Self, get_args

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator

from . import diagnostics
from ._algorithms import Algorithms, read_algorithms
from ._progress import progress_bar
from ._summary import summary_text
from ._typing import ArrayLike, FloatArray
from .bootstrap import DrawingContext, check_draws
from .data import Sample, check_alpha, check_probabilities, make_sample
from .errors import InputError, MissingDependencyError, NotFittedError
from .inference.bands import EstimatedFeasibleSet
from .inference.lda import Method, combine, lda_evidence
from .inference.levels import check_n_directions
from .inference.points import (
    GRID,
    Derivative,
    Kind,
    PointTests,
    algorithm_point_tests,
    frontier_process,
    frontier_tests,
)
from .inference.regions import FrontierRegion, frontier_region, region_box
from .inference.results import LDATest, LDATests, adjust
from .learners import child_seeds, resolve_learner
from .losses import Loss, get_loss
from .nuisance import as_seed, cross_fit
from .nuisance import external_nuisance as take_external_nuisance
from .sets import (
    BestPoints,
    FrontierCurve,
    best_points,
    configuration,
    fa_frontier,
    feasible_set,
    most_central,
    pareto_frontier,
)
from .support import build_support_function, check_bounds, group_means, make_scores


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


class FairFrontier(BaseEstimator):  # type: ignore[misc]
    """Estimate the fairness-accuracy frontier of decision rules for two groups.

    Parameters
    ----------
    loss : {"classification", "squared"}, callable ``loss(d, y)`` or Loss
        What a decision d in {0, 1} costs when the outcome is y.
    learner : str, scikit-learn classifier or regressor, or Learner
        How the nuisance functions are learned; names are listed in `fairfrontier.learners.PRESETS`.
    n_folds, n_rep : int
        Folds of the cross-fitting and its repetitions; with several repetitions medians are reported.
    n_boot : int
        Bootstrap draws of the tests and confidence sets.
    alpha : float
        Level of the tests; confidence sets have level 1 - alpha.
    groups : (label, label), optional
        The two groups in the order in which results list them; default: sorted labels, last one first.
    folds : None, "independent" or integer array, optional
        None: stratified by group and binary outcome. "independent": each row's fold drawn by itself.
    learner_params : mapping, optional
        Options of a learner preset, such as ``{"tune_on_folds": True}``.
    positive : label, optional
        The outcome counted as 1, for outcomes given as two labels.
    missing : {"raise", "drop"}
        What to do with rows that have missing values.
    jitter : float
        Rotate nuisance pairs by a uniform angle of at most this many radians, for all-discrete covariates.
    n_jobs : int, optional
        Parallel jobs (joblib); results do not depend on it.
    random_state : int, SeedSequence, Generator or None
        Seed of folds, learners and draws.
    verbose : bool
        Show progress.

    Attributes
    ----------
    groups_ : (label, label)
        Labels of the two groups, in the order of every pair of risks.
    n_obs_ : int
        Rows used.
    sample_ : Sample
    nuisance_ : Nuisance
        Out-of-fold predictions, folds and quality by fold and group.
    support_function_ : SupportFunction
        Of the only, or the most central, repetition; all of them are in ``support_functions_``.
    points_ : DataFrame
        Best point of each group and fairest point: two risks and the direction of each.
    configuration_ : str
        "balanced" or "<label>-skewed".
    diagnostics_ : Diagnostics

    Examples
    --------
    >>> from fairfrontier import FairFrontier
    >>> from fairfrontier.datasets import make_liu_molinari
    >>> X, y, group = make_liu_molinari(1000, design="skewed", random_state=0)
    >>> ff = FairFrontier(learner="factored-logit", random_state=0)
    >>> ff.fit(X, y, sensitive_features=group).configuration_
    '1-skewed'
    """

    def __init__(
        self,
        loss: str | Loss | Callable[..., Any] = "classification",
        learner: Any = "logit-lasso",
        *,
        n_folds: int = 5,
        n_rep: int = 1,
        n_boot: int = 1000,
        alpha: float = 0.05,
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
        loss = get_loss(self.loss)
        if not isinstance(self.learner_params, Mapping | None):
            raise InputError(
                "bad-option",
                f"learner_params must be a mapping from options to values, got {self.learner_params!r}.",
            )
        learner = resolve_learner(self.learner, **(self.learner_params or {}))
        if X is None and external_nuisance is None:
            raise InputError("bad-features", "X is needed to learn from; it may be None only with `external_nuisance`.")
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
        self._learning_seed, self._drawing_seed = child_seeds(as_seed(self.random_state), 2)
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
                make_scores(l0, dl, t, sample.is_r, sample.weight, clusters=sample.clusters, **bounds)
            )
            for t in nuisance.predictions
        )
        self.sample_, self.nuisance_, self.loss_ = sample, nuisance, loss
        self.groups_, self.n_obs_ = sample.groups, sample.n_obs
        self.support_functions_ = functions
        self._central = most_central([f.estimate for f in functions])
        self.support_function_ = functions[self._central]
        self._losses = (l0, dl)
        points = [best_points(function.estimate) for function in functions]
        self.points_ = _points_frame(points, best_points(self.support_function_.estimate), self.groups_)
        self.configuration_ = _label_configuration(self.points_, self.groups_)
        self.diagnostics_ = diagnostics.diagnose(
            self.support_function_.scores.t,
            sample.mu,
            sample.is_r,
            X=sample.X,
            weight=sample.weight,
            group_auc=nuisance.group_auc,
        )
        diagnostics.warn(self.diagnostics_, jitter=nuisance.jitter)
        return self

    def support(self, q: ArrayLike) -> FloatArray:
        """Support function h at directions ``q`` (k, 2), shape (k,); the median over repetitions."""
        self._check_fitted()
        return np.median([f.estimate.h(q) for f in self.support_functions_], axis=0)

    def support_set(self, q: ArrayLike) -> FloatArray:
        """Risk pairs (k, 2) of the rules in directions ``q`` (k, 2); medians over repetitions."""
        self._check_fitted()
        return np.median([f.estimate.support_set(q) for f in self.support_functions_], axis=0)

    def support_covariance(self, q: ArrayLike) -> FloatArray:
        """Estimated covariance (k, k) of sqrt(n)(h^ - h) at directions ``q``; medians over repetitions."""
        self._check_fitted()
        return np.median([f.covariance(q) for f in self.support_functions_], axis=0)

    def risks(self, decisions: ArrayLike) -> Risks:
        """Mean loss of an algorithm in each group, with standard errors.

        ``decisions`` (n,) are probabilities in [0, 1] of deciding 1 for the rows given to `fit`; a value
        strictly between 0 and 1 is read as a lottery with that probability.
        """
        self._check_fitted()
        n = self.sample_.n_given
        a = check_probabilities(decisions, "decisions", n, code="bad-decisions")[self.sample_.rows]
        l0, dl = self._losses
        sample = self.sample_
        risk, covariance = group_means(l0 + a * dl, sample.is_r, sample.weight, sample.clusters)
        rates, _ = group_means(a, sample.is_r, sample.weight, sample.clusters)
        return Risks(self.groups_, risk, np.sqrt(np.diag(covariance)), rates)

    def feasible_set(self) -> EstimatedFeasibleSet:
        """Estimated set of attainable risk pairs (of the most central repetition), with its inference."""
        self._check_fitted()
        estimate = feasible_set(self.support_function_.estimate)
        return EstimatedFeasibleSet(estimate.arcs, estimate.vertices, self._contexts()[self._central], self.alpha)

    def frontier(self, tolerance: float | None = None, *, n_points: int = 512) -> FrontierCurve:
        """Estimated fairness-accuracy frontier: risk pairs in order of direction.

        ``tolerance`` (default sqrt(log n / n)) is that of the set estimate `FrontierCurve.contains`.
        """
        self._check_fitted()
        estimate = self.support_function_.estimate
        return fa_frontier(estimate, self.n_obs_, tolerance=tolerance, n_points=n_points)

    def pareto_frontier(self, *, tolerance: float | None = None, n_points: int = 512) -> FrontierCurve:
        """Estimated Pareto frontier: no group can be served better without serving the other worse."""
        self._check_fitted()
        estimate = self.support_function_.estimate
        return pareto_frontier(estimate, self.n_obs_, tolerance=tolerance, n_points=n_points)

    def test_lda(
        self,
        decisions: ArrayLike | Mapping[str, ArrayLike] | None = None,
        *,
        risks: ArrayLike | None = None,
        method: Method = "robust",
        randomised: bool = False,
        threshold: float | None = None,
        alpha: float | None = None,
        directions: int | str | None = None,
        kinks: bool = True,
    ) -> LDATest | LDATests:
        """Test whether algorithms have less discriminatory alternatives; the null is that there is none.

        Parameters
        ----------
        decisions : column (n,), several columns, or mapping of names to columns
            Decisions 0/1 of one or more algorithms for the rows given to `fit`.
        risks : pair, pairs (k, 2) or mapping, optional
            Known risk pairs instead of decisions.
        method : {"robust", "sharp", "paper"}
            "robust" holds with any learner and is the only basis of a claim; "sharp" has more power and needs
            a learner that is consistent; "paper" is the published test.
        randomised, threshold
            What values strictly between 0 and 1 mean: chances of deciding 1, or scores cut above `threshold`.
        alpha : float, optional
            Level; default that of the object.
        directions : int or "exact", optional
            For "paper": number of grid directions; default exact extrema over all directions.
        kinks : bool
            For "paper": False uses the simpler limit that holds when the feasible set has no kinks.

        Returns
        -------
        LDATest, or LDATests by name for several algorithms
        """
        self._check_fitted()
        level = self._level(alpha)
        if method not in get_args(Method):
            raise InputError("bad-option", f"`method` must be one of {list(get_args(Method))}, got {method!r}.")
        algorithms = self._read_algorithms(decisions, risks, randomised, threshold)
        l0, dl = self._losses
        losses = l0 + algorithms.decisions * dl if len(algorithms.decisions) else np.empty((0, self.n_obs_))
        found = [
            lda_evidence(
                context,
                losses,
                algorithms.fixed,
                method=method,
                directions=check_n_directions(directions),
                kinks=kinks,
            )
            for context in self._contexts()
        ]
        rates: list[FloatArray | None] = [self._group_means(a) for a in algorithms.decisions]
        rates += [None] * len(algorithms.fixed)
        tests = [
            LDATest(name, self.groups_, method, level, evidence, rate, evidence.p_value)
            for name, evidence, rate in zip(algorithms.names, combine(found, self._central), rates, strict=True)
        ]
        tests = adjust(tests)
        return tests[0] if algorithms.single else LDATests(dict(zip(algorithms.names, tests, strict=True)))

    def test_frontier(
        self,
        e: ArrayLike | None = None,
        *,
        decisions: ArrayLike | Mapping[str, ArrayLike] | None = None,
        randomised: bool = False,
        threshold: float | None = None,
        alpha: float | None = None,
        directions: int = GRID,
        derivative: Derivative = "numerical",
    ) -> PointTests:
        """Test that risk pairs ``e`` (k, 2), or the risks of ``decisions``, lie on the fairness-accuracy frontier.

        Parameters
        ----------
        e : pairs (k, 2)
            Known risk pairs; thousands at once.
        decisions, randomised, threshold
            Algorithms instead of pairs, as in `test_lda`; the estimation of their risks is accounted for.
        alpha : float, optional
            Level; default that of the object.
        directions : int
            Directions of the grids on which extrema are taken.
        derivative : {"numerical", "contact"}
            How draws under the null are made: numerical directional derivative, or contact sets with kappa_n.

        Returns
        -------
        PointTests
        """
        return self._test_kind("fairness-accuracy", e, decisions, randomised, threshold, alpha, directions, derivative)

    def test_pareto(
        self,
        e: ArrayLike | None = None,
        *,
        decisions: ArrayLike | Mapping[str, ArrayLike] | None = None,
        randomised: bool = False,
        threshold: float | None = None,
        alpha: float | None = None,
        directions: int = GRID,
        derivative: Derivative = "numerical",
    ) -> PointTests:
        """Test that risk pairs, or the risks of algorithms, lie on the Pareto frontier; as `test_frontier`."""
        return self._test_kind("pareto", e, decisions, randomised, threshold, alpha, directions, derivative)

    def frontier_confidence_set(self, alpha: float | None = None, *, directions: int = GRID) -> FrontierRegion:
        """Risk pairs not rejected as points of the fairness-accuracy frontier.

        The set covers each point of the frontier with probability 1 - alpha, not the whole curve at once.
        """
        return self._region("fairness-accuracy", alpha, directions)

    def pareto_confidence_set(self, alpha: float | None = None, *, directions: int = GRID) -> FrontierRegion:
        """Risk pairs not rejected as points of the Pareto frontier; as `frontier_confidence_set`."""
        return self._region("pareto", alpha, directions)

    def summary(self) -> str:
        """Describe the fit in plain text: data, points, learner quality, diagnostics."""
        self._check_fitted()
        return summary_text(self)

    def plot(self, ax: Any = None, *, decisions: ArrayLike | Mapping[str, ArrayLike] | None = None) -> Any:
        """Draw the feasible set, the frontier, the points and, if given, algorithms; returns the axes."""
        self._check_fitted()
        try:
            from .plots import plot_frontier
        except ImportError as error:
            raise MissingDependencyError(
                "Plots need matplotlib, which is not installed: install fairfrontier[plots]."
            ) from error
        named = decisions if isinstance(decisions, Mapping) or decisions is None else {"algorithm": decisions}
        risks = {name: self.risks(values) for name, values in (named or {}).items()}
        return plot_frontier(self, ax=ax, risks=risks)

    def _contexts(self) -> list[DrawingContext]:
        return [
            DrawingContext(function, self.n_boot, self._drawing_seed, self.n_jobs)
            for function in self.support_functions_
        ]

    def _level(self, alpha: float | None) -> float:
        level = check_alpha(self.alpha if alpha is None else alpha)
        check_draws(self.n_boot, level)
        return level

    def _test_kind(
        self,
        kind: Kind,
        e: ArrayLike | None,
        decisions: Any,
        randomised: bool,
        threshold: float | None,
        alpha: float | None,
        directions: int,
        derivative: Derivative,
    ) -> PointTests:
        self._check_fitted()
        level, n_directions = self._level(alpha), check_n_directions(directions)
        if n_directions is None:
            raise InputError("bad-option", "Points are tested on a grid: `directions` must be a whole number.")
        if derivative not in get_args(Derivative):
            raise InputError(
                "bad-option", f"`derivative` must be one of {list(get_args(Derivative))}, got {derivative!r}."
            )
        algorithms = self._read_algorithms(decisions, e, randomised, threshold)
        if len(algorithms.fixed):
            processes = [frontier_process(context, kind, n_directions) for context in self._contexts()]
            return frontier_tests(processes, self._central, algorithms.fixed, self.groups_, level, derivative)
        l0, dl = self._losses
        losses = l0 + algorithms.decisions * dl
        return algorithm_point_tests(
            self._contexts(), self._central, kind, losses, self.groups_, level, n_directions, derivative
        )

    def _region(self, kind: Kind, alpha: float | None, directions: int) -> FrontierRegion:
        self._check_fitted()
        level, n_directions = self._level(alpha), check_n_directions(directions)
        if n_directions is None:
            raise InputError("bad-option", "Regions are found on a grid: `directions` must be a whole number.")
        processes = [frontier_process(context, kind, n_directions) for context in self._contexts()]
        curve = (self.frontier() if kind == "fairness-accuracy" else self.pareto_frontier()).points

        def test(points: FloatArray) -> FloatArray:
            return frontier_tests(processes, self._central, points, self.groups_, level).p_value

        box = region_box(curve, self.support_function_)
        return frontier_region(kind, test, curve, box, self.groups_, level)

    def _read_algorithms(
        self, decisions: Any, risks: Any, randomised: bool = False, threshold: float | None = None
    ) -> Algorithms:
        l0, dl = self._losses
        extremes = np.sort(np.stack([l0, l0 + dl]), axis=0)
        low, high = (self._group_means(values) for values in extremes)
        return read_algorithms(
            self.sample_, decisions, risks, randomised=randomised, threshold=threshold, limits=(low, high)
        )

    def _group_means(self, values: FloatArray) -> FloatArray:
        return group_means(values, self.sample_.is_r, self.sample_.weight)[0]

    def _check_fitted(self) -> None:
        if not hasattr(self, "points_"):
            raise NotFittedError("This FairFrontier is not fitted yet: call `fit` first.")


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
