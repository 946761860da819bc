"""The box: points, frontier and picture of the risks that rules which see the group attain without a capacity.

Decisions about one group do not touch the risk of the other, so the attainable risks are the box between the smallest
and the largest risk of each group. Both groups' best points are its lower left corner. Its edges are flat: directions
do not tell the points of an edge from each other, so they are written down here.
"""

from __future__ import annotations

import numpy as np

from ..arrays import FloatArray
from .plane import U1, U2
from .sets import BestPoints, Configuration, DrawnSet, FrontierCurve
from .support import Arcs, Position, SupportFunction

_DOWN = np.array([-1.0, -1.0])
_DIAGONAL = np.array([1.0, -1.0]) / np.sqrt(2.0)


def box_of(arcs: Arcs) -> tuple[FloatArray, FloatArray]:
    """Smallest and largest risk of each group, two pairs (2,)."""
    low, high = arcs.support_set(np.array([_DOWN, -_DOWN]))
    return low, high


def box_points(function: SupportFunction) -> BestPoints:
    """R and B, which are the same corner, and the fairest point of a box.

    If the group worse off at the corner is b, the fairest point has e_b as there and e_r as near to it as r's decisions
    can bring it. Which group that is, and whether r can reach it, is decided by the plug-in criterion, which does not
    reuse the rows' outcomes; it also decides the configuration. Where the estimates disagree with it, the fairest point
    stays in the estimated box.
    """
    low, high = box_of(function.estimate)
    plug_low, plug_high = box_of(function.plug_in())
    worse = int(plug_low[1] >= plug_low[0])
    F, q_F, position = low.copy(), (U1, U2)[worse].copy(), "crosses"
    if plug_high[1 - worse] >= plug_low[worse]:
        F[1 - worse] = np.clip(low[worse], low[1 - worse], high[1 - worse])
    else:
        F[1 - worse] = high[1 - worse]
        q_F, position = (-_DIAGONAL, _DIAGONAL)[worse].copy(), ("below", "above")[worse]
    found: Position = position  # type: ignore[assignment]
    # the group with the lower risk at the corner is favoured, whatever one prefers
    skews: tuple[Configuration, Configuration] = ("b-skewed", "r-skewed")
    return BestPoints(low, low.copy(), F, U1.copy(), U2.copy(), q_F, found, skews[worse])


def box_frontier(arcs: Arcs, points: BestPoints, tolerance: float, n_points: int) -> FrontierCurve:
    """The part of the edge between the corner and the fairest point, in the order of directions.

    Its points are attained by lotteries in the group that is better off; all have the direction of the edge.
    """
    share = np.linspace(0.0, 1.0, n_points)[:, None]
    ends = (points.R, points.F) if points.configuration == "r-skewed" else (points.F, points.B)
    curve = (1.0 - share) * ends[0] + share * ends[1]
    edge = U2 if points.configuration == "r-skewed" else U1
    return FrontierCurve("fairness-accuracy", curve, np.tile(edge, (n_points, 1)), tolerance, arcs)


def drawn_box(arcs: Arcs, points: BestPoints) -> DrawnSet:
    """The corners of the box, counter-clockwise, with the fairest point between those of its edge."""
    low, high = box_of(arcs)
    corners = [points.F, low, np.array([high[0], low[1]]), high, np.array([low[0], high[1]])]
    directions = np.array([points.q_F, _DOWN, _DIAGONAL * np.sqrt(2.0), -_DOWN, -_DIAGONAL * np.sqrt(2.0)])
    frontier = np.array([0, 1])
    if points.configuration == "r-skewed":  # on the lower edge, which the corner begins
        corners[:2], frontier = [corners[1], corners[0]], np.array([0, 1])
        directions[[0, 1]] = directions[[1, 0]]
    return DrawnSet(np.array(corners), directions, frontier)
