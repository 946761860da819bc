"""Plane geometry with no statistics: polygons, the polar of a star, the improvement set C(e)."""

from __future__ import annotations

import math

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray

FloatArray = NDArray[np.float64]

#: The paper's directions: R minimises the first coordinate, B the second.
U1 = np.array([-1.0, 0.0])
U2 = np.array([0.0, -1.0])


def unit_circle(k: int, start: float = 0.0, stop: float = 2.0 * np.pi, endpoint: bool = False) -> FloatArray:
    """Return ``k`` equally spaced unit vectors from angle ``start`` to ``stop``, shape (k, 2)."""
    angle = np.linspace(start, stop, k, endpoint=endpoint)
    return np.column_stack([np.cos(angle), np.sin(angle)])


def off_breakpoint(q: FloatArray) -> FloatArray:
    """Turn a direction by 1e-9 radians towards (-1, -1), or towards (-1, 1) from there.

    Extrema are often attained exactly where a row is perpendicular; beside it no rounding decides that row.
    """
    turn = 1e-9 if q[0] <= q[1] else -1e-9
    turned: FloatArray = np.array([q[0] - turn * q[1], q[1] + turn * q[0]])
    return turned


def polygon_area(vertices: FloatArray) -> float:
    """Area of a simple polygon (k, 2) with vertices in counter-clockwise order; 0 for fewer than three."""
    if len(vertices) < 3:
        return 0.0
    x, y = (vertices - vertices.mean(axis=0)).T
    return float(0.5 * np.sum(x * np.roll(y, -1) - np.roll(x, -1) * y))


def convex_contains(vertices: FloatArray, points: FloatArray, slack: float = 0.0) -> NDArray[np.bool_]:
    """Whether ``points`` (k, 2) lie in the convex counter-clockwise polygon, up to a distance ``slack``."""
    inside = np.full(len(points), len(vertices) > 0)
    # a side of rounding length has no direction to speak of
    shortest = 1e-12 * float(np.abs(vertices).max(initial=0.0))
    for start, stop in zip(vertices, np.roll(vertices, -1, axis=0), strict=True):
        side = stop - start
        length = float(np.hypot(*side))
        if length > shortest:
            offset = points - start
            inside &= side[0] * offset[:, 1] - side[1] * offset[:, 0] >= -slack * length
    return inside


def convex_hull(points: FloatArray) -> NDArray[np.intp]:
    """Positions of the corners of the convex hull of ``points`` (k, 2), anticlockwise from the leftmost one.

    Corners that stand out by less than 1e-12 of the width are left out; points on a line have two corners.
    """
    low, size = points.min(axis=0), float(np.ptp(points, axis=0).max())
    if size == 0.0:
        return np.zeros(1, dtype=np.intp)
    across, along = ((points - low) / size).T
    # points above each other up to rounding stand exactly above each other, or their order would be random
    from_left = np.argsort(across, kind="stable")
    column = np.cumsum(np.diff(across[from_left], prepend=0.0) > 1e-12)
    across[from_left] = across[from_left][np.searchsorted(column, column)]
    order = np.lexsort((along, across))
    x, y = across.tolist(), along.tolist()

    def chain(positions: list[int]) -> list[int]:
        kept: list[int] = []
        for k in positions:
            while len(kept) >= 2:
                i, j = kept[-2:]
                # by how much j lies outside the line from i to k, times the length of that line
                outside = (x[j] - x[i]) * (y[k] - y[i]) - (y[j] - y[i]) * (x[k] - x[i])
                if outside > 1e-12 * math.hypot(x[k] - x[i], y[k] - y[i]):
                    break
                kept.pop()
            kept.append(k)
        return kept

    lower, upper = chain(order.tolist()), chain(order[::-1].tolist())
    return np.array(lower[:-1] + upper[:-1], dtype=np.intp)


@njit(cache=True, nogil=True)
def _hull_of_star(points, first, stack):  # type: ignore[no-untyped-def]
    """Convex hull of points sorted by angle round the origin, ``first`` on the hull (Graham's scan)."""
    k = points.shape[0]
    top = 0
    for step in range(k + 1):
        i = (first + step) % k
        while top >= 2:
            u, w = stack[top - 2], stack[top - 1]
            cross = (points[w, 0] - points[u, 0]) * (points[i, 1] - points[u, 1]) - (points[w, 1] - points[u, 1]) * (
                points[i, 0] - points[u, 0]
            )
            if cross > 0.0:
                break
            top -= 1
        stack[top] = i
        top += 1
    return top - 1  # the first point closes the hull and is not repeated


def intersect_half_planes(q: FloatArray, bound: FloatArray, centre: FloatArray) -> FloatArray:
    """Vertices of {z : q_j'z <= bound_j for all j}, counter-clockwise; shape (0, 2) if it is empty.

    Needs the unit directions ``q`` (k, 2) in order of angle, spanning the circle, and a set that contains
    ``centre`` unless it is empty (true of every set symmetric about ``centre``). Uses polarity: the
    half planes that matter are the hull vertices of the points q_j / (bound_j - q_j'centre).
    """
    room = bound - q @ centre
    size = float(np.max(np.abs(room)))
    rounding = 1e-14 * (float(np.abs(bound).max()) + float(np.abs(centre).max()))
    if size <= rounding:
        return centre[None, :].copy()
    if float(room.min()) < -(1e-12 * size + rounding):
        return np.empty((0, 2))
    dual = q * (1.0 / np.maximum(room / size, 1e-9))[:, None]
    stack = np.empty(len(dual) + 1, dtype=np.intp)
    first = int(np.argmin(room))
    hull = dual[stack[: _hull_of_star(dual, first, stack)]]
    after = np.roll(hull, -1, axis=0)
    # z with d'z = 1 for two neighbouring dual points d: the corner between their two half planes.
    cross = hull[:, 0] * after[:, 1] - hull[:, 1] * after[:, 0]
    corners = np.column_stack([after[:, 1] - hull[:, 1], hull[:, 0] - after[:, 0]]) / cross[:, None]
    vertices: FloatArray = centre + size * corners
    return vertices


def clip_polygon(vertices: FloatArray, q: FloatArray, bound: FloatArray) -> FloatArray:
    """Cut a convex polygon (k, 2) by the half planes q_j'z <= bound_j; (0, 2) if nothing is left."""
    for direction, limit in zip(q, bound, strict=True):
        if len(vertices) == 0:
            break
        beyond = vertices @ direction - limit
        beyond[np.abs(beyond) <= 1e-13 * (abs(limit) + np.abs(vertices).max())] = 0.0
        if (beyond <= 0.0).all():
            continue
        kept = []
        for i in range(len(vertices)):
            j = (i + 1) % len(vertices)
            if beyond[i] <= 0.0:
                kept.append(vertices[i])
            if beyond[i] * beyond[j] < 0.0:
                share = beyond[i] / (beyond[i] - beyond[j])
                kept.append(vertices[i] + share * (vertices[j] - vertices[i]))
        vertices = np.array(kept).reshape(-1, 2)
    return vertices


def improvement_corners(e: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Return the two points that carry the support function of C(e), for pairs ``e`` (..., 2).

    C(e) holds the risk pairs at least as accurate for both groups as ``e`` and at least as fair.
    """
    pair = np.asarray(e, dtype=float)
    e_r, e_b = pair[..., 0], pair[..., 1]
    upper = np.stack([np.minimum(e_r, 2.0 * e_b - e_r), e_b], axis=-1)
    right = np.stack([e_r, np.minimum(e_b, 2.0 * e_r - e_b)], axis=-1)
    return upper, right


def improvement_support(e: ArrayLike, q: FloatArray) -> FloatArray:
    """h_C(e)(-q), the support function of C(e) opposite to ``q``, for pairs (..., 2) and directions (k, 2).

    Finite only for q1 + q2 <= 0; other directions are refused. Shape (..., k).
    """
    if (q[:, 0] + q[:, 1] > 1e-12 * np.abs(q).sum(axis=1)).any():
        raise ValueError("the support function of C(e) is infinite opposite to directions with q1 + q2 > 0")
    upper, right = improvement_corners(e)
    result: FloatArray = np.maximum(-(upper @ q.T), -(right @ q.T))
    return result
