"""The questions asked of a `Fit`: each reads what it is asked about, and tests."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import get_args

import numpy as np

from ..arrays import ArrayLike, FloatArray
from ..data.algorithms import Algorithms, Asked, Limits, counted_algorithms, read_algorithms
from ..data.checks import check_capacity, check_n_directions, check_risks
from ..data.row_losses import row_losses
from ..errors import CapacityWarning, FewDrawsWarning, InputError, SmallSampleWarning
from ..fit import Bounds, Counted, Fit, attainable, predicted
from ..frontier.attainable import Attainable
from ..frontier.rule_sums import BlockRows
from ..frontier.sets import feasible_set
from ..frontier.support import group_means
from ..learning.learners import child_seeds
from ..progress import progress_bar
from .aware.questions import aware_evidence
from .ban.sides import blind_side
from .bands import EstimatedFeasibleSet
from .best_points import BestPointTests, best_point_tests
from .distance.crossing import Method as DistanceMethod
from .distance.estimates import Fairest, fairest_evidence
from .distance.metrics import MetricLike, read_metric
from .distance.result import DistanceInterval, DistanceIntervals, FairestPoint
from .estimates import frontier, pareto_frontier, points_table
from .fan.forms import folds_of
from .fan.robust import FanTest, ManyRows, fan_test, with_p_value
from .group_skew import GroupSkewTest, group_skew_test
from .group_skew import Method as SkewMethod
from .lda.evidence import Evidence, Method, lda_evidence, with_normal_test
from .lda.learner_check import LearnerCheck, check_learner
from .lda.result import LDATests, judge
from .lda.sequential import sequential_tests
from .lda.witness import improving
from .learned import allows_for_learning
from .points import Derivative, Kind, PointPValues, PointTests, algorithm_tests, frontier_process, frontier_tests
from .regions import FrontierRegion, frontier_region, region_box

MOST_OF_ONE = 0.2
"""Share of a group's squared differences in loss that one row may have."""
MANY = 50
"""Rows of a group of which none should have that much; of fewer one may by chance."""


def algorithms_of(fit: Fit, asked: Asked) -> Algorithms:
    """Read the algorithms that are asked about; risk pairs must lie within what the losses of the rows allow."""
    if asked.risks is not None:
        fit.plane("A test of risk pairs")
    if fit.counted is not None and asked.risks is None:
        return counted_algorithms(fit.counted.decisions, asked)
    return read_algorithms(fit.sample, asked, limits=lambda: _limits(fit))


def _limits(fit: Fit) -> Limits:
    """The smallest and the largest risks that the losses of the rows allow."""
    rows, s, ends = fit.row_losses, fit.sample, []
    for values in np.sort(np.stack([rows.l0, rows.of(np.ones(fit.n_rows))]), axis=0):
        mean, covariance = group_means(values, s.group, s.weight, s.clusters, n_groups=len(s.groups), counts=s.people)
        ends.append((mean, np.sqrt(np.diag(covariance))))
    (low, low_error), (high, high_error) = ends
    return Limits(low, high, low_error, high_error)


def lda_tests(
    fit: Fit,
    algorithms: Algorithms,
    *,
    method: Method = "robust",
    alpha: float | None = None,
    directions: int | str | None = None,
    kinks: bool = True,
    capacity: float | None = None,
) -> LDATests:
    """Test whether algorithms have less discriminatory alternatives; see `FairFrontier.test_lda`."""
    labels, level = fit.sample.groups.pair("The test for less discriminatory alternatives"), fit.level(alpha)
    n_directions = _check_lda(method, directions, kinks, capacity)
    if fit.rules.sees_group and method != "robust":
        raise InputError(
            "bad-option",
            f'method="{method}" is not one for rules that see the group, whose attainable risks have flat edges: '
            'choose "robust".',
        )
    warn_of_few_draws(fit, level, len(algorithms.names))
    warn_of_uneven_losses(fit)
    if capacity is not None:
        fit.needs_rows("A capacity")
        warn_above(fit, algorithms, check_capacity(capacity))
    drawing, losses = fit.drawing(algorithms.decisions, capacity)
    evidence = lda_evidence(
        drawing,
        losses,
        algorithms.fixed,
        method=method,
        n_folds=fit.nuisance.n_folds,
        directions=n_directions,
        kinks=kinks,
    )
    if fit.rules.sees_group:
        evidence = aware_evidence(fit, algorithms, evidence, capacity)
    if fit.sequence is not None:
        evidence = _in_sequence(fit, algorithms, evidence, method, capacity)
    elif fit.counted is not None:
        evidence = _by_sums(fit, fit.counted, algorithms, evidence, method)
    elif fit.compressed and not fit.bounded and capacity is None and not fit.rules.sees_group:
        evidence = _by_fixed_rules(fit, algorithms, evidence, method)
    elif not fit.rules.sees_group:
        evidence = _over_the_fan(fit, algorithms, evidence, method, capacity)
    rates: list[FloatArray | None] = [fit.group_means(a) for a in algorithms.decisions]
    rates += [None] * len(algorithms.fixed)
    return judge(
        algorithms.names,
        evidence,
        rates,
        groups=labels,
        method=method,
        alpha=level,
        capacity=capacity,
        bounded=fit.plane().function.scores.lower is not None,
        sequential=fit.sequence is not None,
        rules=fit.rules.name,
        errors=fit.loss.name == "classification",
        checks=[*learner_checks(fit, algorithms, fit.function(capacity)), *[None] * len(algorithms.fixed)],
    )


def asked_jointly(
    fit: Fit, *, method: Method, directions: int | str | None, kinks: bool, capacity: float | None
) -> bool:
    """Whether a test needs the fan: of more than two groups, or other criteria; refuse what is for two risks only."""
    _check_lda(method, directions, kinks, capacity)
    if len(fit.sample.groups) == 2 and fit.asked is None:
        return False
    if fit.asked is not None and (method != "robust" or capacity is not None):
        other = "a capacity" if capacity is not None else f"method={method!r}"
        raise InputError(
            "bad-option",
            f"The test with {fit.criteria.listed} is the robust one without a capacity, got {other}: leave it out. "
            'keep="no-more-selected" keeps the share of people selected.',
        )
    if method != "robust":
        fit.sample.groups.pair(f'The test with method="{method}"')
    return True


def _in_sequence(
    fit: Fit, algorithms: Algorithms, found: list[Evidence], method: Method, capacity: float | None
) -> list[Evidence]:
    """Put the sequential test in the place of the robust one."""
    if capacity is not None:
        raise InputError(
            "bad-option",
            'folds="sequential" does not support `capacity`: the cut-off of such a rule cannot be known beforehand. '
            "Leave one of them out.",
        )
    assert fit.sequence is not None
    seed = child_seeds(fit.seeds.drawing, 1)[0]
    losses = fit.row_losses.of(algorithms.decisions)
    tests = sequential_tests(fit.plane().function.scores, fit.sequence, losses, algorithms.fixed, seed)
    return [with_normal_test(own, test, method) for own, test in zip(found, tests, strict=True)]


def _over_the_fan(
    fit: Fit, algorithms: Algorithms, found: list[Evidence], method: Method, capacity: float | None
) -> list[Evidence]:
    """Put the robust test over the fan in the place of the draws, for algorithms that have decisions."""
    rows = predicted(fit.sample, fit.row_losses, fit.nuisance.predictions, fit.bounds, rules=fit.rules).rows
    rows, folds, smallest = rows.within(capacity), folds_of(fit), 1.0 / (1 + fit.options.n_boot)
    tests = [fan_test(rows, a, folds, smallest=smallest, n_jobs=fit.options.n_jobs) for a in algorithms.decisions]
    return _replaced(found, tests, method)


def _by_sums(
    fit: Fit, counted: Counted, algorithms: Algorithms, found: list[Evidence], method: Method
) -> list[Evidence]:
    """Put the robust test over the fan, by sums over rows that were read in parts, in the place of the draws."""
    smallest, names = 1.0 / (1 + fit.options.n_boot), algorithms.names[: len(algorithms.decisions)]
    return _replaced(found, [with_p_value(counted.tests[name], smallest) for name in names], method)


def _by_fixed_rules(fit: Fit, algorithms: Algorithms, found: list[Evidence], method: Method) -> list[Evidence]:
    """Put the robust test over the fan in the place of the draws, with rules that some of many people choose."""
    s, losses, folds = fit.sample, fit.row_losses, 1 + np.unique(folds_of(fit), return_inverse=True)[1]
    rows = BlockRows(fit.nuisance.predictions, s.weight, losses.l0, losses.dl, s.group, folds)
    many = ManyRows(rows, child_seeds(fit.seeds.learning, 8)[7], fit.options.n_jobs)
    smallest = 1.0 / (1 + fit.options.n_boot)
    return _replaced(found, [with_p_value(many.test(a), smallest) for a in algorithms.decisions], method)


def _replaced(found: list[Evidence], tests: list[FanTest], method: Method) -> list[Evidence]:
    """Return evidence with other tests in the place of the first ones."""
    own = [with_normal_test(one, test, method) for one, test in zip(found, tests, strict=False)]
    return [
        replace(one, share_changed=test.share_changed, witness=improving(one.witness))
        for one, test in zip(own, tests, strict=True)
    ] + found[len(own) :]


def learner_checks(fit: Fit, algorithms: Algorithms, function: Attainable) -> list[LearnerCheck | None]:
    """Compare each algorithm that has decisions with rules of the learner.

    A rule that selects as many people needs more than the directions of predictions, so if people were counted, the
    rows that were learned from are compared.
    """
    labels = fit.sample.groups.pair("The comparison of an algorithm with the learner")
    losses, decisions = fit.row_losses, list(algorithms.decisions)
    if fit.counted is not None:
        losses = row_losses(fit.loss, fit.whole.y)
        function = attainable(fit.whole, losses, fit.nuisance.predictions, Bounds(), fit.rules)
        decisions = [fit.counted.learned[name] for name in algorithms.names[: len(decisions)]]
    in_shares, repeated = fit.loss.name == "classification", function.scores.repeated
    return [
        check_learner(function, repeated(a), repeated(losses.of(a)), groups=labels, in_shares=in_shares)
        for a in decisions
    ]


def _check_lda(method: Method, directions: int | str | None, kinks: bool, capacity: float | None) -> int | None:
    if method not in get_args(Method):
        raise InputError("bad-option", f"`method` must be one of {list(get_args(Method))}, got {method!r}.")
    if method != "paper" and (directions is not None or not kinks):
        raise InputError("bad-option", '`directions` and `kinks` belong to method="paper"; leave them out.')
    if capacity is not None and method == "paper":
        raise InputError("bad-option", 'method="paper" does not support `capacity`: choose "robust" or "sharp".')
    return check_n_directions(directions)


def warn_of_few_draws(fit: Fit, alpha: float, n_tests: int) -> None:
    """Warn if not even the smallest possible p-value is significant after adjusting for several tests.

    Among rules that see the group every test is one of each group, and of all together.
    """
    n_boot = fit.options.n_boot
    if fit.rules.sees_group:
        n_tests *= len(fit.sample.groups) + 1
    smallest = n_tests / (1 + n_boot)
    if smallest > alpha:
        warnings.warn(
            f"{n_boot} draws are too few for {n_tests} tests: after adjusting for their number no p-value is "
            f"below {smallest:.2g}, so nothing can be shown at alpha={alpha:g}. Use n_boot of at least "
            f"{int(np.ceil(n_tests / alpha)) - 1}.",
            FewDrawsWarning,
            stacklevel=4,
        )


def warn_above(fit: Fit, algorithms: Algorithms, capacity: float) -> None:
    """Warn of algorithms that select more people than the capacity allows their alternatives to select."""
    for name, a in zip(algorithms.names, algorithms.decisions, strict=False):
        share = float(np.average(a, weights=fit.sample.weight))
        if share > capacity * (1.0 + 1e-9):
            warnings.warn(
                f"{name} selects {share:.2%} of the people, more than the capacity of {capacity:.2%} allows the "
                "rules it is compared with; its risks may be out of their reach. Compare at its own share.",
                CapacityWarning,
                stacklevel=4,
            )


def warn_of_uneven_losses(fit: Fit) -> None:
    """Warn if so much hangs on what the decision about one row costs that a larger cost may not have been seen yet."""
    s, change = fit.sample, np.square(fit.row_losses.dl)
    people = np.ones(s.n_rows) if s.people is None else s.people  # of cells, if rows were counted
    for label, rows in zip(s.groups, s.rows_by_group, strict=True):
        total = float(people[rows] @ change[rows])
        share = float(change[rows].max()) / total if total > 0.0 else 0.0
        if people[rows].sum() >= MANY and share > MOST_OF_ONE:
            warnings.warn(
                f"In group {label} one row has {share:.0%} of the squared differences in loss between the two "
                "decisions: with losses this uneven, tests for alternatives are known to reject too often, because "
                "larger losses may not be among the rows. Limit or transform the outcome (such as its logarithm), or "
                "take p-values near the level with caution.",
                SmallSampleWarning,
                stacklevel=4,
            )


def frontier_point_tests(
    fit: Fit,
    kind: Kind,
    algorithms: Algorithms,
    *,
    alpha: float | None,
    directions: int,
    derivative: Derivative,
) -> PointTests:
    """Test that risk pairs, or the risks of algorithms, lie on a frontier; see `FairFrontier.test_frontier`."""
    labels, level = fit.sample.groups.pair("A test of points of the frontier"), fit.level(alpha)
    n_directions = _grid(directions, "Points are tested")
    if derivative not in get_args(Derivative):
        raise InputError("bad-option", f"`derivative` must be one of {list(get_args(Derivative))}, got {derivative!r}.")
    if len(algorithms.fixed):
        process = frontier_process(fit.context(), kind, n_directions)
        return frontier_tests(process, algorithms.fixed, groups=labels, alpha=level, derivative=derivative)
    context, losses = fit.context_with(algorithms.decisions)
    return algorithm_tests(
        context,
        kind,
        losses,
        groups=labels,
        alpha=level,
        directions=n_directions,
        derivative=derivative,
    )


def confidence_region(fit: Fit, kind: Kind, *, alpha: float | None, directions: int) -> FrontierRegion:
    """Invert the test of points over the plane; see `FairFrontier.frontier_confidence_set`."""
    labels, level = fit.sample.groups.pair("A confidence set of the frontier"), fit.level(alpha)
    n_directions = _grid(directions, "Regions are found")
    context = fit.context()
    process = frontier_process(context, kind, n_directions)
    curve = (frontier(fit) if kind == "fairness-accuracy" else pareto_frontier(fit)).points
    test = PointPValues(process)
    box = region_box(curve, fit.plane().function)
    with progress_bar("Testing points of the plane", show=fit.options.verbose) as progress:
        return frontier_region(
            kind,
            test,
            curve,
            box,
            groups=labels,
            alpha=level,
            n_boot=fit.options.n_boot,
            allows_for_learning=allows_for_learning(context),
            progress=progress,
        )


def _grid(directions: int, what: str) -> int:
    n_directions = check_n_directions(directions)
    if n_directions is None:
        raise InputError("bad-option", f"{what} on a grid: `directions` must be an integer.")
    return n_directions


def candidate_tests(
    fit: Fit, R: ArrayLike, B: ArrayLike, *, directions: int | str, alpha: float | None
) -> BestPointTests:
    """Test that pairs of points are the groups' best points; see `FairFrontier.test_best_points`."""
    labels, level = fit.sample.groups.pair("A test of best points"), fit.level(alpha)
    if fit.rules.sees_group:
        raise InputError(
            "bad-option",
            "The best points of rules that see the group are one corner of a box, and this test is one of two points "
            'of a frontier without flat edges: ask a fit with rules="group-blind", or ask `test_pareto`.',
        )
    first, second = check_risks(R), check_risks(B)
    if len(first) != len(second):
        raise InputError(
            "bad-risks", f"R and B must have the same number of points, got {len(first)} and {len(second)}."
        )
    n_directions = check_n_directions(directions)
    return best_point_tests(fit.context(), first, second, groups=labels, alpha=level, directions=n_directions)


def skew_test(fit: Fit, *, alpha: float | None = None, method: SkewMethod = "sharp") -> GroupSkewTest:
    """Test whether banning the group may be harmless to some preference; see `FairFrontier.test_group_skew`."""
    labels, level = fit.sample.groups.pair("The test of group skew"), fit.level(alpha)
    if method not in get_args(SkewMethod):
        raise InputError("bad-option", f"`method` must be one of {list(get_args(SkewMethod))}, got {method!r}.")
    fit = blind_side(fit)  # the question is one of rules that do not see the group, whatever rules were asked for
    risks = points_table(fit).to_numpy()[:, :2]
    return group_skew_test(fit.context(), (risks[0], risks[1]), labels, level, method)


def distances(
    fit: Fit,
    algorithms: Algorithms,
    *,
    metric: MetricLike = "euclidean",
    method: DistanceMethod | None = None,
    alpha: float | None = None,
    kinks: bool = False,
) -> DistanceIntervals:
    """Distances between algorithms' risks and the fairest point; see `FairFrontier.distance_to_fairest`."""
    labels, level = fit.sample.groups.pair("The distance to the fairest point"), fit.level(alpha)
    read, chosen = read_metric(metric), _distance_method(method, kinks)
    evidence, n_boot = _fairest(fit, algorithms, chosen, kinks), fit.options.n_boot
    return DistanceIntervals(
        {
            name: DistanceInterval(name, labels, read, chosen, level, n_boot, evidence, j)
            for j, name in enumerate(algorithms.names)
        }
    )


def fairest_point(fit: Fit, *, alpha: float | None = None, method: DistanceMethod | None = None) -> FairestPoint:
    """The fairest attainable point with its intervals; see `FairFrontier.fairest_point`."""
    labels, level = fit.sample.groups.pair("The fairest point"), fit.level(alpha)
    nobody = Algorithms((), np.empty((0, fit.n_rows)), np.empty((0, 2)), False)
    evidence = _fairest(fit, nobody, _distance_method(method, kinks=False), kinks=False)
    return FairestPoint(labels, level, fit.options.n_boot, evidence)


def _distance_method(method: DistanceMethod | None, kinks: bool) -> DistanceMethod:
    chosen: DistanceMethod = "sharp" if method is None else method
    if chosen not in get_args(DistanceMethod):
        raise InputError("bad-option", f"`method` must be one of {list(get_args(DistanceMethod))}, got {method!r}.")
    if chosen != "paper" and kinks:
        raise InputError("bad-option", '`kinks` belongs to method="paper"; leave it out.')
    return chosen


def _fairest(fit: Fit, algorithms: Algorithms, method: DistanceMethod, kinks: bool) -> Fairest:
    context, losses = fit.context_with(algorithms.decisions)
    return fairest_evidence(context, losses, algorithms.fixed, method, kinks=kinks)


def estimated_feasible_set(fit: Fit) -> EstimatedFeasibleSet:
    """The set of attainable risk pairs with its inference; see `FairFrontier.feasible_set`."""
    plane = fit.plane("The feasible set")
    estimate = feasible_set(plane.function.estimate, plane.regret)
    return EstimatedFeasibleSet(
        estimate.arcs,
        estimate.vertices,
        fit.context(by_row=True),  # bands are studentised draw by draw, by the rows
        fit.options.alpha,
        groups=fit.sample.groups.labels,
    )
