"""The testing half of `FairFrontier`: one method per question, each a call of one procedure."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any, get_args, overload

import numpy as np

from .arrays import ArrayLike, FloatArray
from .bootstrap.capacity import CappedContext, cap, check_capacity
from .bootstrap.draws import DrawingContext
from .data.algorithms import Algorithms, read_algorithms
from .data.checks import check_risks
from .errors import CapacityWarning, InputError
from .estimation import FrontierEstimator
from .inference.best_points import BestPointTests, best_point_tests
from .inference.distance.estimates import Fairest, fairest_evidence, read_metric
from .inference.distance.estimates import Method as DistanceMethod
from .inference.distance.result import DistanceInterval, DistanceIntervals, FairestPoint
from .inference.group_skew import GroupSkewTest, group_skew_test
from .inference.group_skew import Method as SkewMethod
from .inference.lda.evidence import Method, combine, lda_evidence
from .inference.lda.result import LDATest, LDATests, judge
from .inference.p_values import check_level, check_n_directions
from .inference.points import GRID, Derivative, Kind, PointTests, algorithm_tests, frontier_process, frontier_tests


class FrontierTester(FrontierEstimator):
    """What `FairFrontier` can test, on top of what it estimates."""

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
        capacity: float | None = None,
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
        capacity : float, optional
            Compare only with rules that treat at most this share of people, such as 0.03 for a programme that has
            room for 3%. Directions are then a grid.

        Returns
        -------
        LDATest, or LDATests by name for several algorithms

        Examples
        --------
        >>> test = ff.test_lda(in_use)
        >>> test.verdict, test.p_value < 0.01
        ('lda-shown', True)
        >>> tests = ff.test_lda({"in use": in_use, "everybody": in_use * 0 + 1})
        >>> [(name, bool(test.p_value_adjusted >= test.p_value)) for name, test in tests.items()]
        [('in use', True), ('everybody', True)]
        """
        self._check_fitted()
        level = self._level(alpha)
        if method not in get_args(Method):
            raise InputError("bad-option", f"`method` must be one of {list(get_args(Method))}, got {method!r}.")
        if method != "paper" and (directions is not None or not kinks):
            raise InputError("bad-option", '`directions` and `kinks` belong to method="paper"; leave them out.')
        algorithms = self._read_algorithms(decisions, risks, randomised, threshold)
        if capacity is not None and method == "paper":
            raise InputError("bad-option", 'method="paper" knows no capacity: choose "robust" or "sharp".')
        if capacity is not None:
            self._warn_above(algorithms, check_capacity(capacity))
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
            for context in self._contexts(capacity)
        ]
        rates: list[FloatArray | None] = [self._group_means(a) for a in algorithms.decisions]
        rates += [None] * len(algorithms.fixed)
        tests = judge(
            algorithms.names,
            combine(found, self._central),
            rates,
            groups=self.groups_,
            method=method,
            alpha=level,
            capacity=capacity,
            bounded=self.support_function_.scores.lower is not None,
        )
        return tests[algorithms.names[0]] if algorithms.single else LDATests(tests)

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

        Examples
        --------
        >>> ff.test_frontier([[0.2, 0.4], [0.5, 0.5]]).reject
        array([False,  True])
        >>> ff.test_frontier(decisions=in_use).reject
        array([ True])
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
        """Test that risk pairs, or the risks of algorithms, lie on the Pareto frontier; as `test_frontier`.

        Examples
        --------
        >>> ff.test_pareto([[0.2, 0.4], [0.5, 0.5]]).reject
        array([False,  True])
        """
        return self._test_kind("pareto", e, decisions, randomised, threshold, alpha, directions, derivative)

    def test_best_points(
        self,
        R: ArrayLike,
        B: ArrayLike,
        *,
        directions: int | str = "exact",
        alpha: float | None = None,
    ) -> BestPointTests:
        """Test that pairs of points are the best points of the first and of the second group.

        Parameters
        ----------
        R, B : pairs (k, 2)
            Candidate best points of the first and of the second group; row j of both makes up candidate j.
        directions : int or "exact"
            "exact": extrema over all directions. A number: that many in each of the published windows, the quarter
            circles about the two groups' own directions.
        alpha : float, optional
            Level; default that of the object.

        Returns
        -------
        BestPointTests

        Examples
        --------
        >>> ff.test_best_points([[0.17, 0.42], [0.1, 0.2]], [[0.33, 0.34], [0.3, 0.1]]).reject
        array([False,  True])
        """
        self._check_fitted()
        level, first, second = self._level(alpha), check_risks(R), check_risks(B)
        if len(first) != len(second):
            raise InputError("bad-risks", f"R and B must be equally many points, got {len(first)} and {len(second)}.")
        n_directions = check_n_directions(directions)
        return best_point_tests(self._contexts(), self._central, first, second, self.groups_, level, n_directions)

    def test_group_skew(self, alpha: float | None = None, *, method: SkewMethod = "sharp") -> GroupSkewTest:
        """Test whether banning the group as an input may be harmless to some preference.

        The null is that the two groups' best points lie weakly on the same side of equal risks. Where it is rejected
        and its opposite is not, banning the group would worsen every point of the trade-off. Both tests presume a
        learner that comes close to the truth. If its estimates contradict themselves, so that no pair of best points
        passes, then `verdict` is "contradictory" and nothing is claimed.

        Parameters
        ----------
        alpha : float, optional
            Level; default that of the object.
        method : {"sharp", "paper"}
            "paper" is the published test, which rejects even if no pair of best points passes at all. "sharp" rejects
            more often in good samples, never in those. Its level is kept if the learner converges fast enough (the
            paper's conditions); one that misses signal can still mislead it.

        Returns
        -------
        GroupSkewTest

        Examples
        --------
        >>> skew = ff.test_group_skew()
        >>> skew.verdict, skew.p_value > 0.5
        ('not-shown', True)
        """
        self._check_fitted()
        level = self._level(alpha)
        if method not in get_args(SkewMethod):
            raise InputError("bad-option", f"`method` must be one of {list(get_args(SkewMethod))}, got {method!r}.")
        risks = self.points_.to_numpy()[:, :2]
        return group_skew_test(self._contexts(), self._central, (risks[0], risks[1]), self.groups_, level, method)

    def distance_to_fairest(
        self,
        decisions: ArrayLike | Mapping[str, ArrayLike] | None = None,
        *,
        risks: ArrayLike | None = None,
        metric: str | Callable[[FloatArray, FloatArray], float] = "sqeuclidean",
        method: DistanceMethod | None = None,
        randomised: bool = False,
        threshold: float | None = None,
        alpha: float | None = None,
        kinks: bool = False,
    ) -> DistanceInterval | DistanceIntervals:
        """Distance between algorithms' risks and the fairest attainable point, with confidence intervals.

        Parameters
        ----------
        decisions, risks, randomised, threshold
            Algorithms, as in `test_lda`.
        metric : {"sqeuclidean", "euclidean", "cityblock", "chebyshev"} or function of two pairs
            The distance.
        method : {"sharp", "paper"}, optional
            "sharp", the default, chooses the direction of the fairest point by the plug-in criterion; "paper" is the
            published interval, never bias-corrected.
        alpha : float, optional
            Level; default that of the object.
        kinks : bool
            For "paper": True allows kinks of the feasible set by the numerical derivative of the infimum; the intervals
            are then so wide in small samples that they say little.

        Returns
        -------
        DistanceInterval, or DistanceIntervals by name for several algorithms

        Examples
        --------
        >>> distance = ff.distance_to_fairest(in_use, metric="euclidean")
        >>> low, high = distance.conf_int()
        >>> round(distance.estimate, 2), low < distance.estimate < high
        (0.14, True)
        """
        self._check_fitted()
        level, metric_ = self._level(alpha), read_metric(metric)
        chosen = self._distance_method(method, kinks)
        algorithms = self._read_algorithms(decisions, risks, randomised, threshold)
        evidence = self._fairest(algorithms, chosen, kinks)
        intervals = [
            DistanceInterval(name, self.groups_, metric_, chosen, level, self.n_boot, evidence, self._central, number)
            for number, name in enumerate(algorithms.names)
        ]
        if algorithms.single:
            return intervals[0]
        return DistanceIntervals(dict(zip(algorithms.names, intervals, strict=True)))

    def fairest_point(self, alpha: float | None = None, *, method: DistanceMethod | None = None) -> FairestPoint:
        """The fairest attainable point with confidence intervals and the weights of its rule.

        ``method`` as in `distance_to_fairest`.

        Examples
        --------
        >>> print(ff.fairest_point().to_frame()[["risk", "weight"]].round(1))
               risk  weight
        group
        1       0.4    -0.1
        0       0.4     0.9
        """
        self._check_fitted()
        level, chosen = self._level(alpha), self._distance_method(method, kinks=False)
        nobody = Algorithms((), np.empty((0, self.n_obs_)), np.empty((0, 2)), False)
        return FairestPoint(self.groups_, level, self.n_boot, self._fairest(nobody, chosen, False), self._central)

    def _distance_method(self, method: DistanceMethod | None, kinks: bool) -> DistanceMethod:
        chosen: DistanceMethod = "sharp" if method is None else method
        if chosen not in get_args(DistanceMethod):
            raise InputError("bad-option", f"`method` must be one of {list(get_args(DistanceMethod))}, got {method!r}.")
        if chosen != "paper" and kinks:
            raise InputError("bad-option", '`kinks` belongs to method="paper"; leave it out.')
        return chosen

    def _fairest(self, algorithms: Algorithms, method: DistanceMethod, kinks: bool) -> tuple[Fairest, ...]:
        l0, dl = self._losses
        losses = l0 + algorithms.decisions * dl if len(algorithms.decisions) else np.empty((0, self.n_obs_))
        return tuple(
            fairest_evidence(context, losses, algorithms.fixed, method, kinks=kinks) for context in self._contexts()
        )

    @overload
    def _contexts(self, capacity: None = None) -> list[DrawingContext]: ...
    @overload
    def _contexts(self, capacity: float | None) -> list[DrawingContext] | list[CappedContext]: ...
    def _contexts(self, capacity: float | None = None) -> list[DrawingContext] | list[CappedContext]:
        if capacity is not None:
            capped = [cap(function, capacity) for function in self.support_functions_]
            return [CappedContext(function, self.n_boot, self._drawing_seed, self.n_jobs) for function in capped]
        return [
            DrawingContext(function, self.n_boot, self._drawing_seed, self.n_jobs, regret)
            for function, regret in zip(self.support_functions_, self.regrets_, strict=True)
        ]

    def _warn_above(self, algorithms: Algorithms, capacity: float) -> None:
        """Warn of algorithms that treat more people than the capacity allows their alternatives to treat."""
        for name, a in zip(algorithms.names, algorithms.decisions, strict=False):
            share = float(np.average(a, weights=self.sample_.weight))
            if share > capacity * (1.0 + 1e-9):
                warnings.warn(
                    f"{name} treats {share:.2%} of the people, more than the capacity of {capacity:.2%} allows the "
                    "rules it is compared with; its risks may be out of their reach. Compare at its own share.",
                    CapacityWarning,
                    stacklevel=3,
                )

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
