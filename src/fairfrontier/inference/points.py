"""Tests that given risk pairs lie on the fairness-accuracy frontier, or on the Pareto frontier.

Both nulls are restrictions on the support function h alone, so thousands of points share one set of draws:

* fairness-accuracy: T(e) = sqrt(n)([max_q q'e - h(q)]_+ + [min_q D(q)]_+) with D as in the LDA test;
* Pareto: T(e) = sqrt(n)([max_q q'e - h(q)]_+ + [max over q between u1 and u2 of q'e - h(q)]_-).

With several repetitions of the cross-fitting the draws allow for learned rules (`learned`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, NamedTuple, Protocol

import numpy as np
import pandas as pd
from numba import njit

from ..arrays import BoolArray, FloatArray
from ..bootstrap.draws import DrawingContext
from ..data.checks import check_level
from ..data.notebook import BLUE, ORANGE, Picture
from ..data.reading import Label
from ..data.result import PlainDict, Result, axes_of, labels, plain_items
from ..frontier.plane import improvement_support, unit_circle
from ..frontier.sets import Kind as Kind
from .learned import correct, draw_learned
from .p_values import count_reaching, critical_value, kappa, p_value, step_size

Derivative = Literal["numerical", "contact"]
GRID = 1000
"""Directions of each of the two grids on which points are tested unless another number is asked for."""
BLOCK = 256
"""Points handled at a time."""
SAFE = 1e-6
"""Share of the numbers' size by which a statistic must exceed all that draws can be before they are left out."""
TOGETHER = 16
"""Draws handled at a time for a point."""


class Nulls(Protocol):
    """Draws of several statistics under their nulls, stored or worked out again when asked for."""

    def critical_values(self, alpha: float) -> FloatArray:
        """Values (k,) that the statistics must exceed."""
        ...


@dataclass(frozen=True, slots=True)
class StoredNulls:
    """Draws (k, B) that are kept."""

    draws: FloatArray

    def critical_values(self, alpha: float) -> FloatArray:
        """Values (k,) that the statistics must exceed."""
        return np.array([critical_value(row, alpha) for row in self.draws])


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class PointTests(Result):
    """Tests that risk pairs lie on a frontier; the null of each is that it does.

    ``feasibility``, ``separation`` and ``p_value`` have one entry for each of the ``points`` (k, 2). For the Pareto
    frontier ``separation`` is the part that asks for the boundary.
    """

    kind: Kind
    groups: tuple[Label, Label]
    alpha: float
    points: FloatArray
    feasibility: FloatArray
    separation: FloatArray
    p_value: FloatArray
    n_boot: int
    _nulls: Nulls

    @property
    def heading(self) -> str:
        """The question that is answered."""
        return f"Do the risks lie on the {'Pareto' if self.kind == 'pareto' else self.kind} frontier?"

    @property
    def critical_value(self) -> FloatArray:
        """Values (k,) that the statistics must exceed; worked out from the draws when asked for."""
        return self._nulls.critical_values(self.alpha)

    @property
    def statistic(self) -> FloatArray:
        """Test statistics (k,)."""
        return self.feasibility + self.separation

    @property
    def reject(self) -> BoolArray:
        """Whether each point is rejected as an element of the frontier."""
        rejected: BoolArray = self.p_value <= self.alpha
        return rejected

    def at(self, alpha: float) -> PointTests:
        """The same draws judged at another level."""
        return replace(self, alpha=check_level(alpha, self.n_boot))

    def to_frame(self) -> pd.DataFrame:
        """One row per point."""
        r, b = self.groups
        return pd.DataFrame(
            {
                f"risk {r}": self.points[:, 0],
                f"risk {b}": self.points[:, 1],
                "statistic": self.statistic,
                "critical_value": self.critical_value,
                "p_value": self.p_value,
                "reject": self.reject,
            }
        )

    def _facts(self) -> dict[str, object]:
        return {
            "kind": self.kind,
            "groups": labels(self.groups),
            "alpha": self.alpha,
            "points": self.points,
            "statistic": self.statistic,
            "p_value": self.p_value,
            "reject": self.reject,
            "rejected": int(self.reject.sum()),
            "n_boot": self.n_boot,
        }

    def to_dict(self) -> PlainDict:
        """Return plain numbers and text for JSON, one entry of each list per point."""
        more = {"critical_value": self.critical_value, "feasibility": self.feasibility, "separation": self.separation}
        return plain_items(self._facts() | more)

    def _verdict(self) -> str:
        return f"{int(self.reject.sum())} of {len(self.points)} rejected"

    def _frame(self) -> pd.DataFrame:
        return self.to_frame()

    def _picture(self) -> Picture:
        plane = Picture(axes_of(self.groups)).points(self.points[~self.reject], BLUE, "not rejected")
        return plane.points(self.points[self.reject], ORANGE, "rejected")


@dataclass(frozen=True, slots=True)
class FrontierProcess:
    """Estimates and draws of h on the two grids of directions a frontier test needs.

    ``circle`` (K, 2) all round; ``part`` (K, 2) the half circle q1 + q2 <= 0, or the quarter between u1 and
    u2 for the Pareto frontier; ``z`` (K, B) are sqrt(n)(h~ - h^); ``unit`` is that of the losses.
    """

    kind: Kind
    circle: FloatArray
    part: FloatArray
    h_circle: FloatArray
    h_part: FloatArray
    z_circle: FloatArray
    z_part: FloatArray
    n_obs: int
    unit: float


def frontier_directions(kind: Kind, directions: int) -> tuple[FloatArray, FloatArray]:
    """Grids of the whole circle and of the part that belongs to the frontier."""
    first, last = (0.75, 1.75) if kind == "fairness-accuracy" else (1.0, 1.5)
    part = unit_circle(directions, first * np.pi, last * np.pi, endpoint=True)
    return unit_circle(directions, endpoint=True), part


def frontier_process(context: DrawingContext, kind: Kind, directions: int = GRID) -> FrontierProcess:
    """Draw h on the grids of a frontier test."""
    circle, part = frontier_directions(kind, directions)
    # what learning allows for serves feasibility only
    feasible, draws = correct(context, draw_learned(context, circle)), context.draw(part)
    return FrontierProcess(
        kind,
        circle,
        part,
        feasible.h_hat,
        draws.h_hat,
        np.ascontiguousarray(feasible.z_h().T),
        np.ascontiguousarray(draws.z_h().T),
        context.function.n_obs,
        context.function.scores.unit,
    )


def point_tests(
    process: FrontierProcess, points: FloatArray, derivative: Derivative = "numerical"
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Feasibility part, separation part and p-value of each point (k, 2)."""
    size = max(float(np.abs(x).max()) for x in (process.h_circle, process.h_part, points))
    scale, n_boot = float(np.sqrt(process.n_obs)) * size, process.z_circle.shape[1]
    parts, p_values = np.empty((2, len(points))), np.empty(len(points))
    highest = _highest(process)
    for begin in range(0, len(points), BLOCK):
        own = slice(begin, begin + BLOCK)
        slacks = _slacks(process, points[own])
        parts[:, own] = _parts(process, slacks)
        total = parts[:, own].sum(axis=0)
        reaching = np.where(total > 0.0, 0, n_boot)  # draws are never negative
        unknown = np.flatnonzero(total > 0.0)
        if derivative == "numerical":
            unknown = unknown[_may_reach(process, highest, slacks.inner[unknown], total[unknown], scale)]
        if len(unknown):
            null = _null(process, Slacks(slacks.excess[unknown], slacks.inner[unknown]), derivative)
            reaching[unknown] = count_reaching(null.T, total[unknown], scale)
        p_values[own] = (1 + reaching) / (1 + n_boot)
    return parts[0], parts[1], p_values


@dataclass(frozen=True, slots=True)
class ProcessNulls:
    """Draws for ``points`` (k, 2), worked out from those of h some points at a time."""

    process: FrontierProcess
    points: FloatArray
    derivative: Derivative

    def critical_values(self, alpha: float) -> FloatArray:
        """Values (k,) that the statistics must exceed."""
        blocks = [self.points[begin : begin + BLOCK] for begin in range(0, len(self.points), BLOCK)]
        nulls = (_null(self.process, _slacks(self.process, some), self.derivative) for some in blocks)
        return np.array([critical_value(row, alpha) for null in nulls for row in null])


@dataclass(frozen=True, slots=True)
class PointPValues:
    """P-values of points as elements of a frontier."""

    process: FrontierProcess

    def __call__(self, points: FloatArray) -> FloatArray:
        """P-values (k,) of points (k, 2)."""
        return point_tests(self.process, points)[2]


class Slacks(NamedTuple):
    """By how much points exceed h on the circle (k, K), and on the frontier's part of it (k, L) with the sign turned.

    The sign is chosen such that the separation part is [-max]_+ for both kinds of frontiers.
    """

    excess: FloatArray
    inner: FloatArray


def _slacks(process: FrontierProcess, e: FloatArray) -> Slacks:
    excess = e @ process.circle.T - process.h_circle
    if process.kind == "fairness-accuracy":
        return Slacks(excess, -(improvement_support(e, process.part) + process.h_part))
    return Slacks(excess, e @ process.part.T - process.h_part)


def _parts(process: FrontierProcess, slacks: Slacks) -> tuple[FloatArray, FloatArray]:
    """Feasibility parts (k,) and separation parts (k,)."""
    root = np.sqrt(process.n_obs)
    return root * np.maximum(slacks.excess.max(axis=1), 0.0), root * np.maximum(-slacks.inner.max(axis=1), 0.0)


def _null(process: FrontierProcess, slacks: Slacks, derivative: Derivative) -> FloatArray:
    """Draws (k, B) under the null."""
    excess, inner = slacks
    most, inner_most = excess.max(axis=1), inner.max(axis=1)
    if derivative == "numerical":
        step = step_size(process.n_obs)
        first = (shifted_max(excess, step * process.z_circle) - most[:, None]) / step
        second = (shifted_max(inner, step * process.z_part) - inner_most[:, None]) / step
    else:
        within = process.unit * kappa(process.n_obs) / np.sqrt(process.n_obs)
        first = _contact_max(excess, most - within, process.z_circle)
        second = _contact_max(inner, inner_most - within, process.z_part)
    null: FloatArray = np.maximum(first, 0.0) + np.maximum(-second, 0.0)
    return null


def _highest(process: FrontierProcess) -> FloatArray:
    """What the feasibility part of a draw (B,) can be at most, at any point: the largest fall of h."""
    highest: FloatArray = np.maximum(-process.z_circle.min(axis=0), 0.0)
    return highest


def _may_reach(
    process: FrontierProcess, highest: FloatArray, inner: FloatArray, total: FloatArray, scale: float
) -> BoolArray:
    """Points (k,) of which some draw may reach the statistic ``total`` (k,); most points of a plane are too far away.

    The separation part of a draw is at most the rise of h in the one direction that decides the estimate.
    """
    rises = process.z_part[inner.argmax(axis=1)]
    most = (highest + np.maximum(rises, 0.0)).max(axis=1)
    possible: BoolArray = ~(most < total - SAFE * (scale + total + most))  # also where something is not a number
    return possible


def frontier_tests(
    process: FrontierProcess,
    points: FloatArray,
    *,
    groups: tuple[Label, Label],
    alpha: float,
    derivative: Derivative = "numerical",
) -> PointTests:
    """Test points."""
    feasibility, separation, p_values = point_tests(process, points, derivative)
    return PointTests(
        process.kind,
        groups,
        alpha,
        points,
        feasibility,
        separation,
        p_values,
        process.z_circle.shape[1],
        ProcessNulls(process, points, derivative),
    )


def algorithm_nulls(
    context: DrawingContext,
    kind: Kind,
    losses: FloatArray,
    directions: int = GRID,
    derivative: Derivative = "numerical",
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Test algorithms with row losses (J, n), whose risks are estimated along with h.

    Returns their risks (J, 2), the two parts (J, 2) and the draws under the null (J, B).
    """
    circle, part = frontier_directions(kind, directions)
    feasible, draws = correct(context, draw_learned(context, circle)), context.draw(part, losses)
    step, root = step_size(draws.n_obs), np.sqrt(draws.n_obs)
    within = context.function.scores.unit * kappa(draws.n_obs) / root
    z, z_feasible, z_e = draws.z_h(), feasible.z_h(), draws.z_risks()
    parts, nulls = [], []
    for j, e in enumerate(draws.risks_hat):
        excess, z_excess = circle @ e - feasible.h_hat, z_e[:, j] @ circle.T - z_feasible
        if kind == "fairness-accuracy":
            still = improvement_support(e, part)
            inner = -(still + draws.h_hat)
            z_inner = -((improvement_support(e + step * z_e[:, j], part) - still) / step + z)
        else:
            inner, z_inner = part @ e - draws.h_hat, z_e[:, j] @ part.T - z
        changes = []
        for x, z_x in ((excess, z_excess), (inner, z_inner)):
            if derivative == "numerical":
                changes.append(((x + step * z_x).max(axis=1) - x.max()) / step)
            else:
                changes.append(z_x[:, x >= x.max() - within].max(axis=1))
        nulls.append(np.maximum(changes[0], 0.0) + np.maximum(-changes[1], 0.0))
        parts.append([root * max(float(excess.max()), 0.0), root * max(-float(inner.max()), 0.0)])
    return draws.risks_hat, np.array(parts), np.array(nulls)


def algorithm_tests(
    context: DrawingContext,
    kind: Kind,
    losses: FloatArray,
    *,
    groups: tuple[Label, Label],
    alpha: float,
    directions: int = GRID,
    derivative: Derivative = "numerical",
) -> PointTests:
    """`frontier_tests` for algorithms with losses (J, n)."""
    risks, parts, nulls = algorithm_nulls(context, kind, losses, directions, derivative)
    scale = float(np.sqrt(context.function.n_obs)) * context.function.size
    p_values = np.array([p_value(null, total, scale) for null, total in zip(nulls, parts.sum(axis=1), strict=True)])
    return PointTests(
        kind,
        groups,
        alpha,
        risks,
        parts[:, 0],
        parts[:, 1],
        p_values,
        nulls.shape[1],
        StoredNulls(nulls),
    )


@njit(cache=True, nogil=True)
def shifted_max(x, shift):  # type: ignore[no-untyped-def]
    """Largest x[p, k] - shift[k, b] over k, for every point p and draw b, shape (P, B).

    Draws are taken ``TOGETHER`` at a time, a number known to the compiler. Every 16th direction is tried first: another
    one whose best case among these draws is no better than the worst of the maxima found so far cannot win in any of
    them, and is skipped.
    """
    n_points, n_directions, n_draws = x.shape[0], x.shape[1], shift.shape[1]
    result, least = np.empty((n_points, n_draws)), np.empty(n_directions)
    some, best = np.empty((n_directions, TOGETHER)), np.empty(TOGETHER)
    for start in range(0, n_draws, TOGETHER):
        width = min(TOGETHER, n_draws - start)
        some[:, :width] = shift[:, start : start + width]
        for k in range(n_directions):
            some[k, width:] = some[k, 0]  # to fill up: a draw that is there already
            least[k] = some[k].min()
        for p in range(n_points):
            floor = -np.inf
            best[:] = -np.inf
            for every in (16, 1):
                for k in range(0, n_directions, every):
                    level, row = x[p, k], some[k]
                    if level - least[k] > floor:
                        for b in range(TOGETHER):
                            value = level - row[b]
                            best[b] = value if value > best[b] else best[b]
                floor = best.min()
            result[p, start : start + width] = best[:width]
    return result


@njit(cache=True, nogil=True)
def _contact_max(x, level, z):  # type: ignore[no-untyped-def]
    """Largest -z[k, b] over the contact set {k : x[p, k] >= level[p]}, shape (P, B)."""
    result = np.full((x.shape[0], z.shape[1]), -np.inf)
    for p in range(x.shape[0]):
        for k in range(x.shape[1]):
            if x[p, k] >= level[p]:
                for b in range(z.shape[1]):
                    result[p, b] = max(result[p, b], -z[k, b])
    return result
