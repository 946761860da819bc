"""`FairFrontier`, the estimator users meet: it orchestrates and computes nothing itself."""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, overload

from .arrays import ArrayLike, FloatArray
from .bootstrap.capacity import cap, capped_feasible_set
from .data.checks import check_n_directions
from .deployment import FrontierDeployer
from .errors import InputError, MissingDependencyError
from .frontier.sets import FeasibleSet, feasible_set
from .inference.bands import EstimatedFeasibleSet
from .inference.group_skew import GroupSkewTest
from .inference.points import GRID, Kind, frontier_process, frontier_tests
from .inference.regions import FrontierRegion, frontier_region, region_box
from .progress import progress_bar
from .report.findings import ask
from .report.html import render
from .report.parts import make_record
from .report.record import Record
from .report.text import summary_text


class FairFrontier(FrontierDeployer):
    """Estimate the fairness-accuracy frontier of decision rules for two groups.

    Parameters
    ----------
    loss : {"classification", "squared"}, callable ``loss(d, y)`` or Loss
        What a decision d in {0, 1} costs when the outcome is y.
    learner : str, scikit-learn classifier or regressor, or Learner
        How the nuisance functions are learned; names are listed in `fairfrontier.learning.learners.PRESETS`.
    n_folds, n_rep : int
        Folds of the cross-fitting and its repetitions; with several repetitions medians are reported.
    n_boot : int
        Bootstrap draws of the tests and confidence sets.
    alpha : float
        Level of the tests; confidence sets have level 1 - alpha.
    bias_correction : None or "regret"
        "regret": refit the learner ``n_refits`` times on randomly weighted rows, estimate how far the learned rules
        fall short of the best ones, and add that to the points, the sets, the distance to the fairest point and
        questions of feasibility. Never used to claim a less discriminatory alternative.
    n_refits : int
        Number of refits of the correction; each costs as much as the cross-fitting without its tuning.
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
        Best point of each group and fairest point: two risks and the direction of each. The fairest point's direction
        is chosen by the plug-in criterion, as in `distance_to_fairest`.
    configuration_ : str
        "balanced" or "<label>-skewed".
    diagnostics_ : Diagnostics
    regret_ : Regret or None
        Of the rules of ``support_function_``, with ``bias_correction="regret"``.

    Examples
    --------
    >>> from fairfrontier import FairFrontier
    >>> from fairfrontier.datasets import make_liu_molinari
    >>> X, y, group = make_liu_molinari(1000, design="skewed", random_state=0)
    >>> ff = FairFrontier(learner="factored-logit", random_state=0)
    >>> ff.fit(X, y, sensitive_features=group).configuration_
    '1-skewed'

    The examples of the methods go on from here, with an algorithm in use:

    >>> in_use = (X["x2"] > 0.5).astype(int)
    """

    @overload
    def feasible_set(self) -> EstimatedFeasibleSet: ...
    @overload
    def feasible_set(self, *, capacity: float) -> FeasibleSet: ...
    def feasible_set(self, *, capacity: float | None = None) -> EstimatedFeasibleSet | FeasibleSet:
        """Estimated set of attainable risk pairs (of the most central repetition), with its inference.

        With ``capacity`` the part of it that rules attain which treat at most this share of people, cut out by a grid
        of directions; without inference and without any bias correction.

        Examples
        --------
        >>> everything = ff.feasible_set()
        >>> everything.contains([[0.45, 0.45], [0.1, 0.1]])
        array([ True, False])
        >>> everything.test([0.1, 0.1]).reject
        True
        """
        self._check_fitted()
        function = self.support_function_
        if capacity is not None:
            return capped_feasible_set(feasible_set(function.estimate), cap(function, capacity))
        estimate = feasible_set(function.estimate, self.regret_)
        return EstimatedFeasibleSet(estimate.arcs, estimate.vertices, self._contexts()[self._central], self.alpha)

    def frontier_confidence_set(self, alpha: float | None = None, *, directions: int = GRID) -> FrontierRegion:
        """Risk pairs not rejected as points of the fairness-accuracy frontier.

        The set covers each point of the frontier with probability 1 - alpha, not the whole curve at once.

        Examples
        --------
        >>> region = ff.frontier_confidence_set()
        >>> region.contains([[0.2, 0.4], [0.5, 0.5]])
        array([ True, False])
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
        skew: GroupSkewTest | None = None,
        capacity: float | None = None,
        zoom: bool = False,
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
        skew : GroupSkewTest, optional
            A result of `test_group_skew`, whose confidence set of the two best points is outlined.
        capacity : float, optional
            Draw set and frontier of rules that treat at most this share of people; the points know no capacity.
        zoom : bool
            Show the corner with the frontier and the algorithms instead of the whole set.
        """
        self._check_fitted()
        try:
            from .report.figure import plot_frontier
        except ImportError as error:
            raise MissingDependencyError(
                "Plots need matplotlib, which is not installed: install fairfrontier[plots]."
            ) from error
        named = decisions if isinstance(decisions, Mapping) or decisions is None else {"algorithm": decisions}
        risks = {name: self.risks(values) for name, values in (named or {}).items()}
        return plot_frontier(self, ax=ax, risks=risks, region=region, skew=skew, capacity=capacity, zoom=zoom)

    def to_json(
        self,
        path: str | os.PathLike[str],
        decisions: ArrayLike | Mapping[str, ArrayLike] | None = None,
        *,
        title: str | None = None,
        randomised: bool = False,
        capacity: float | None = None,
    ) -> Path:
        """Write the machine-readable record: points, frontier, rules, and for each algorithm tests and distances.

        Parameters
        ----------
        path : path
            Where to write.
        decisions : column or mapping of names to columns, optional
            Algorithms to be judged.
        title : str, optional
            Heading of the report.
        randomised, capacity
            As in `test_lda`.

        Returns
        -------
        Path
            The file.
        """
        return _write(path, self._record(decisions, title, randomised, capacity).to_json())

    def report(
        self,
        path: str | os.PathLike[str],
        decisions: ArrayLike | Mapping[str, ArrayLike] | None = None,
        *,
        title: str | None = None,
        randomised: bool = False,
        capacity: float | None = None,
    ) -> Path:
        """Write a report for people: one HTML file that needs no network; arguments as for `to_json`."""
        return _write(path, render(self._record(decisions, title, randomised, capacity)))

    def _record(
        self,
        decisions: ArrayLike | Mapping[str, ArrayLike] | None,
        title: str | None,
        randomised: bool,
        capacity: float | None,
    ) -> Record:
        self._check_fitted()
        named = decisions if isinstance(decisions, Mapping) or decisions is None else {"algorithm": decisions}
        findings = ask(self, named or {}, randomised=randomised, capacity=capacity)
        shown = f"Audit of {', '.join(map(str, named))}" if named else "What is attainable"
        return make_record(self, findings, title=title or shown, created=datetime.now())

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


def _write(path: str | os.PathLike[str], text: str) -> Path:
    try:
        Path(path).write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(
            "bad-file",
            f"{path} cannot be written: {error.strerror or error}. Give the path of a file in a directory that exists.",
        ) from error
    return Path(path)
