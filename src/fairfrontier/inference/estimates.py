"""What a `Fit` estimates without any test: risks of algorithms, best points, frontiers."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from ..arrays import ArrayLike, FloatArray
from ..data.algorithms import Asked, counted_algorithms, read_decisions
from ..data.aligning import aligned
from ..data.checks import check_integer, check_probabilities
from ..data.models import Thresholded, is_model
from ..data.risks import Risks
from ..fit import Fit, predicted
from ..frontier import sets
from ..frontier.box import box_frontier, drawn_box
from ..frontier.capacity import cap, capped_feasible_set, capped_frontier
from ..frontier.mixtures import smallest_range
from ..frontier.sets import (
    DrawnSet,
    FeasibleSet,
    FrontierCurve,
    configuration,
    drawn_set,
    fa_frontier,
    feasible_set,
    frontier_tolerance,
)
from ..frontier.support import group_means


def risks(fit: Fit, decisions: ArrayLike) -> Risks:
    """Mean loss of an algorithm in each group, with standard errors; see `FairFrontier.risks`."""
    s = fit.sample
    if fit.counted is not None:
        a = counted_algorithms(fit.counted.decisions, Asked(decisions, randomised=True)).decisions[0]
    elif is_model(decisions) or isinstance(decisions, Thresholded):
        a = read_decisions(s, Asked(decisions, randomised=True)).decisions[0]
    else:
        given = aligned(decisions, s.index, "decisions")
        a = check_probabilities(given, "decisions", s.n_given, code="bad-decisions")[s.rows]
    losses = fit.row_losses.of(a)
    risk, covariance = group_means(losses, s.group, s.weight, s.clusters, n_groups=len(s.groups), counts=s.people)
    return Risks(s.groups.labels, risk, np.sqrt(np.diag(covariance)), fit.group_means(a))


def support(fit: Fit, q: ArrayLike) -> FloatArray:
    """Support function (k,) at directions (k, 2)."""
    return fit.plane("The support function").function.estimate.h(q)


def support_set(fit: Fit, q: ArrayLike) -> FloatArray:
    """Risk pairs (k, 2) of the rules of directions (k, 2).

    Rules that see the group decide about a group that does not count as is best for it.
    """
    tie = (-1.0, -1.0) if fit.rules.sees_group else None
    return fit.plane("The support function").function.estimate.support_set(q, tie)


def support_covariance(fit: Fit, q: ArrayLike) -> FloatArray:
    """Covariance (k, k) of sqrt(n)(h^ - h) at directions (k, 2)."""
    return fit.plane("The support function").function.covariance(q)


def points_table(fit: Fit) -> pd.DataFrame:
    """Table of the best points and the fairest point, with their directions."""
    if len(fit.sample.groups) > 2:
        fit.needs_rows("The table of points of more than two groups")
        return _points_of_many(fit)
    first, second = fit.sample.groups.pair("The table of best points")
    points = fit.plane().points
    values = np.array([points.R, points.B, points.F])
    directions = np.array([points.q_R, points.q_B, points.q_F])
    return pd.DataFrame(
        np.hstack([values, directions]),
        index=[f"best for {first}", f"best for {second}", "fairest"],
        columns=[f"risk {first}", f"risk {second}", f"direction {first}", f"direction {second}"],
    )


@dataclass(frozen=True, slots=True)
class GroupPoint:
    """A point for more than two groups: what its rule, or mixture of rules, does, by outcomes.

    ``weights`` (G,) of the groups' risks, of absolute sum one, for which it is best; ``chances`` (n,) of selection.
    """

    name: str
    weights: FloatArray
    chances: FloatArray


def group_points(fit: Fit) -> list[GroupPoint]:
    """Best points of the groups and the fairest point: found by predictions."""
    s = fit.sample
    found = predicted(s, fit.row_losses, fit.nuisance.predictions, fit.bounds, rules=fit.rules)
    points = [
        GroupPoint(f"best for {label}", p, found.rows.by_person(found.chances(-fit.rules.direction(-p))))
        for label, p in zip(s.groups, np.eye(len(s.groups)), strict=True)
    ]
    fairest = smallest_range(found)
    return [*points, GroupPoint("fairest", fairest.weights, found.rows.by_person(fairest.chances(found)))]


def _points_of_many(fit: Fit) -> pd.DataFrame:
    """Risks by outcomes, and directions."""
    points = group_points(fit)
    risks = np.array([fit.group_means(fit.row_losses.of(point.chances)) for point in points])
    q = -np.array([point.weights / np.linalg.norm(point.weights) for point in points]) + 0.0
    labels = fit.sample.groups.labels
    return pd.DataFrame(
        np.hstack([risks, q]),
        index=[point.name for point in points],
        columns=[f"{what} {label}" for what in ("risk", "direction") for label in labels],
    )


def labelled_configuration(fit: Fit) -> str:
    """Say whether the frontier is balanced or skewed, and towards which group."""
    first, second = fit.sample.groups.pair("The configuration of the frontier")
    if fit.rules.sees_group:  # one corner: on the line it would look balanced
        found = fit.plane().points.configuration
    else:
        values = points_table(fit).to_numpy()[:, :2]
        found = configuration(values[0], values[1])
    return {"balanced": "balanced", "r-skewed": f"{first}-skewed", "b-skewed": f"{second}-skewed"}[found]


def frontier(
    fit: Fit, *, tolerance: float | None = None, n_points: int = 512, capacity: float | None = None
) -> FrontierCurve:
    """Estimated fairness-accuracy frontier; see `FairFrontier.frontier`."""
    plane = fit.plane("The fairness-accuracy frontier")
    margin = _tolerance(fit, tolerance)
    if capacity is not None:
        fit.needs_rows("A capacity")
        curve = capped_frontier(cap(plane.function, capacity), margin, n_points)
    elif fit.rules.sees_group:
        curve = box_frontier(
            plane.function.estimate, plane.points, margin, check_integer(n_points, "`n_points`", least=2)
        )
    else:
        curve = fa_frontier(
            plane.function.estimate,
            fit.n_obs,
            plug_in=plane.function.plug_in(),
            regret=plane.regret,
            tolerance=margin,
            n_points=n_points,
        )
    return replace(curve, groups=fit.sample.groups.labels)


def drawn(fit: Fit, capacity: float | None = None) -> DrawnSet:
    """The set and the frontier that pictures show."""
    plane = fit.plane("The picture of the frontier")
    if capacity is None and fit.rules.sees_group:
        return drawn_box(plane.function.estimate, plane.points)
    if capacity is None:
        return drawn_set(plane.function.estimate, plane.points.configuration, plane.points.q_F, plane.regret)
    fit.needs_rows("A capacity")
    capped = cap(plane.function, capacity)
    best = capped.estimate.support_set(np.array([[-1.0, 0.0], [0.0, -1.0]]))
    return drawn_set(capped.estimate, configuration(*best), capped.plug_in().fairest_direction())


def pareto_frontier(fit: Fit, *, tolerance: float | None = None, n_points: int = 512) -> FrontierCurve:
    """Estimated Pareto frontier; see `FairFrontier.pareto_frontier`."""
    plane = fit.plane("The Pareto frontier")
    curve = sets.pareto_frontier(
        plane.function.estimate,
        fit.n_obs,
        regret=plane.regret,
        tolerance=_tolerance(fit, tolerance),
        n_points=n_points,
    )
    return replace(curve, groups=fit.sample.groups.labels)


def capacity_feasible_set(fit: Fit, capacity: float) -> FeasibleSet:
    """The part of the feasible set that rules within a capacity attain; see `FairFrontier.feasible_set`."""
    exact = fit.plane("The feasible set").function
    fit.needs_rows("A capacity")
    found = capped_feasible_set(feasible_set(exact.estimate), cap(exact, capacity))
    return replace(found, groups=fit.sample.groups.labels)


def _tolerance(fit: Fit, given: float | None) -> float:
    return frontier_tolerance(given, fit.n_obs, fit.plane().function.scores.unit)
