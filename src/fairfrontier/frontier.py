"""`FairFrontier`, the estimator users meet: it orchestrates and computes nothing itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args

import numpy as np

from ._algorithms import Algorithms, read_algorithms
from ._progress import progress_bar
from ._summary import summary_text
from ._typing import ArrayLike, FloatArray
from .bootstrap import DrawingContext
from .errors import InputError, MissingDependencyError
from .estimation import FrontierEstimator
from .inference.bands import EstimatedFeasibleSet
from .inference.lda import Method, combine, lda_evidence
from .inference.levels import check_level, check_n_directions
from .inference.points import (
    GRID,
    Derivative,
    Kind,
    PointTests,
    algorithm_tests,
    frontier_process,
    frontier_tests,
)
from .inference.regions import FrontierRegion, frontier_region, region_box
from .inference.results import LDATest, LDATests, adjust
from .sets import feasible_set


class FairFrontier(FrontierEstimator):
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

    def feasible_set(self) -> EstimatedFeasibleSet:
        """Estimated set of attainable risk pairs (of the most central repetition), with its inference."""
        self._check_fitted()
        estimate = feasible_set(self.support_function_.estimate)
        return EstimatedFeasibleSet(estimate.arcs, estimate.vertices, self._contexts()[self._central], self.alpha)

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
        if method != "paper" and (directions is not None or not kinks):
            raise InputError("bad-option", '`directions` and `kinks` belong to method="paper"; leave them out.')
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

    def plot(
        self,
        ax: Any = None,
        *,
        decisions: ArrayLike | Mapping[str, ArrayLike] | None = None,
        region: FrontierRegion | None = None,
    ) -> Any:
        """Draw the feasible set, the frontier and the points; returns the axes.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Where to draw; default a new figure.
        decisions : column or mapping of names to columns, optional
            Algorithms to show with their intervals; values between 0 and 1 are read as lotteries.
        region : FrontierRegion, optional
            A confidence set from `frontier_confidence_set` or `pareto_confidence_set`.
        """
        self._check_fitted()
        try:
            from .plots import plot_frontier
        except ImportError as error:
            raise MissingDependencyError(
                "Plots need matplotlib, which is not installed: install fairfrontier[plots]."
            ) from error
        named = decisions if isinstance(decisions, Mapping) or decisions is None else {"algorithm": decisions}
        risks = {name: self.risks(values) for name, values in (named or {}).items()}
        return plot_frontier(self, ax=ax, risks=risks, region=region)

    def _contexts(self) -> list[DrawingContext]:
        return [
            DrawingContext(function, self.n_boot, self._drawing_seed, self.n_jobs)
            for function in self.support_functions_
        ]

    def _level(self, alpha: float | None) -> float:
        return check_level(self.alpha if alpha is None else alpha, self.n_boot)

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
        algorithms = self._read_algorithms(decisions, e, randomised, threshold, risks_name="e")
        if len(algorithms.fixed):
            processes = [frontier_process(context, kind, n_directions) for context in self._contexts()]
            return frontier_tests(processes, self._central, algorithms.fixed, self.groups_, level, derivative)
        l0, dl = self._losses
        losses = l0 + algorithms.decisions * dl
        return algorithm_tests(
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
        with progress_bar("Testing points of the plane", show=self.verbose) as progress:
            return frontier_region(kind, test, curve, box, self.groups_, level, self.n_boot, progress=progress)

    def _read_algorithms(
        self, decisions: Any, risks: Any, randomised: bool, threshold: float | None, risks_name: str = "risks"
    ) -> Algorithms:
        l0, dl = self._losses
        extremes = np.sort(np.stack([l0, l0 + dl]), axis=0)
        low, high = (self._group_means(values) for values in extremes)
        return read_algorithms(
            self.sample_,
            decisions,
            risks,
            randomised=randomised,
            threshold=threshold,
            limits=(low, high),
            risks_name=risks_name,
        )
