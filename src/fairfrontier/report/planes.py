"""Parts of a record that lie in the plane of the risks of two groups: points, picture and rules of the slider."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..arrays import BoolArray, FloatArray
from ..data.groups import by_group
from ..frontier.attainable import Attainable
from ..frontier.plane import clip_polygon
from ..frontier.sets import DrawnSet
from ..frontier.support import SupportFunction
from ..inference.regions import FrontierRegion
from .basis import finite, pair, polygon
from .frame import ContradictionRecord, CurvePoint, Picture, Point, RuleStep
from .values import Rates

if TYPE_CHECKING:
    from ..estimator import FairFrontier

STEPS = 100
"""Positions of the slider between all weight on one group and all on the other."""


def points(ff: FairFrontier) -> list[Point]:
    """The best point of each group and the fairest point."""
    return [
        Point(name=str(name), risk=pair(values[:2]), direction=(finite(values[2]), finite(values[3])))
        for name, values in zip(ff.points_.index, ff.points_.to_numpy(), strict=True)
    ]


def contradictions(ff: FairFrontier) -> tuple[ContradictionRecord, ...]:
    """Points that are not what they are called."""
    return tuple(
        ContradictionRecord(
            point=found.point,
            what=found.what,
            other=found.other,
            by=found.by,
            standard_error=found.standard_error,
            sentence=found.sentences()[0],
        )
        for found in ff.contradictions_
    )


def picture(function: Attainable, shape: DrawnSet, region: FrontierRegion | None) -> Picture:
    """The set, the frontier and its confidence set."""
    return Picture(
        set=polygon(shape.corners),
        frontier=tuple(
            CurvePoint(
                risk=pair(point.round(8)),
                direction=pair(q.round(8)),
                selection_rate=_by_group(function, _chances_at(function, point, q)),
            )
            for point, q in zip(shape.curve, shape.directions[shape.frontier], strict=True)
        ),
        region=() if region is None else tuple(polygon(ring) for ring in region.polygons),
    )


def slider(ff: FairFrontier, function: Attainable) -> tuple[RuleStep, ...]:
    """Rules between all weight on the first group and all on the second."""
    weights = np.linspace(0.0, 1.0, STEPS + 1)
    q = -np.column_stack([weights, 1.0 - weights])
    q = ff.fit_.rules.direction(q / np.hypot(*q.T)[:, None])
    risks = function.estimate.support_set(q)
    y = function.scores.repeated(ff.sample_.y) if ff.loss_.binary_outcome else None
    return tuple(
        _rule_step(function, float(weight), direction, risk, y)
        for weight, direction, risk in zip(weights, q, risks, strict=True)
    )


def _rule_step(function: Attainable, weight: float, q: FloatArray, risk: FloatArray, y: FloatArray | None) -> RuleStep:
    chances = _chances(function, q)
    return RuleStep(
        weight=round(weight, 6),
        direction=pair(q),
        risk=pair(risk),
        selection_rate=_by_group(function, chances),
        false_positive_rate=None if y is None else _by_group(function, chances, y == 0),
        false_negative_rate=None if y is None else _by_group(function, 1.0 - chances, y == 1),
    )


def _chances_at(function: Attainable, point: FloatArray, q: FloatArray) -> FloatArray:
    """Chances (n,) of being selected at a point of the frontier with direction ``q``.

    Points on the edge of a box have the same direction; there a group has a lottery between best and worst decisions.
    """
    if not isinstance(function, SupportFunction) or not function.scores.sees_group:
        return _chances(function, q)
    ends = np.array([[-1.0, -1.0], [1.0, 1.0]])
    low, high = function.estimate.support_set(ends)
    share = np.clip((point - low) / np.where(high > low, high - low, 1.0), 0.0, 1.0)[function.scores.group]
    best, worst = (_chances(function, end) for end in ends)
    chances: FloatArray = (1.0 - share) * best + share * worst
    return chances


def _chances(function: Attainable, q: FloatArray) -> FloatArray:
    """Chances (n,) of being selected by the rule of a direction."""
    return function.scores.chances(function.selected(q))


def _by_group(function: Attainable, values: FloatArray, among: BoolArray | None = None) -> Rates:
    """Weighted mean of ``values`` (n,) in each group, over some of the rows; None where there is nobody."""
    s = function.scores
    means: list[float | None] = []
    for rows in by_group(s.group, 2):
        rows = rows if among is None else rows[among[rows]]
        weight = s.weight[rows]
        means.append(round(float(np.average(values[rows], weights=weight)), 8) if weight.sum() > 0.0 else None)
    return means[0], means[1]


def improving(hull: FloatArray, e: FloatArray) -> FloatArray:
    """The part of a polygon that is no worse than risks ``e`` for either group and no less fair."""
    gap = abs(float(e[0] - e[1]))
    planes = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, -1.0], [-1.0, 1.0]])
    return clip_polygon(hull, planes, np.array([e[0], e[1], gap, gap]))
