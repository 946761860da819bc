"""The published LDA statistic and its draws under the null, on a grid of directions or exactly.

T = sqrt(n)([max_q q'e* - h(q)]_+ + [min_q D(q)]_+). Under the null both inner extrema are 0, so a draw is
[derivative of the max]_+ + [derivative of the min]_+. The derivatives are taken numerically at the estimates,
or, when the feasible set has no kinks, at the single directions that attain the extrema.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...arrays import FloatArray
from ...bootstrap.draws import DrawingContext
from ...bootstrap.exact import perturbed_parts
from ...frontier.plane import improvement_support, off_breakpoint, unit_circle
from ...frontier.support import Extremum
from ..p_values import Decision, step_size


@dataclass(frozen=True, slots=True)
class PaperParts:
    """Feasibility part, separation part and the decision on their sum."""

    feasibility: float
    separation: float
    decision: Decision


def paper_parts(
    context: DrawingContext, losses: FloatArray, risks: FloatArray, directions: int | None, kinks: bool
) -> list[PaperParts]:
    """Evaluate the published test for risk pairs (J, 2), the first of which have row losses (I, n)."""
    function = context.function
    arcs, root = function.estimate, np.sqrt(function.n_obs)
    if directions is None:
        most = [arcs.max_excess(e) for e in risks]
        least = [arcs.min_separation(e) for e in risks]
        nulls = _exact_nulls(context, losses, risks, most, least) if kinks else None
    else:
        half = unit_circle(directions, 0.75 * np.pi, 1.75 * np.pi, endpoint=True)
        circle = unit_circle(directions, endpoint=True)
        h_half, h_circle = arcs.h(half), arcs.h(circle)
        most = [_smallest(h_circle - circle @ e, circle, sign=-1.0) for e in risks]
        least = [_smallest(improvement_support(e, half) + h_half, half) for e in risks]
        nulls = _grid_nulls(context, losses, risks, most, least, (half, circle)) if kinks else None
    if nulls is None:
        nulls = _smooth_nulls(context, losses, risks, most, least)
    result = []
    for f, d, draws in zip(most, least, nulls, strict=True):
        parts = float(root * max(f.value, 0.0)), float(root * max(d.value, 0.0))
        direction = d.direction if d.value >= f.value else f.direction
        scale = float(root * np.abs(risks).max())
        result.append(PaperParts(*parts, Decision(sum(parts), direction, draws, scale)))
    return result


def _exact_nulls(
    context: DrawingContext,
    losses: FloatArray,
    risks: FloatArray,
    most: list[Extremum],
    least: list[Extremum],
) -> list[FloatArray]:
    function = context.function
    step = step_size(function.n_obs)
    excess, apart = perturbed_parts(
        function,
        losses,
        risks,
        step,
        n_boot=context.n_boot,
        seed=context.seed,
        n_jobs=context.n_jobs,
    )
    return [
        (_positive(excess[:, j] - most[j].value) + _positive(apart[:, j] - least[j].value)) / step
        for j in range(len(risks))
    ]


def _grid_nulls(
    context: DrawingContext,
    losses: FloatArray,
    risks: FloatArray,
    most: list[Extremum],
    least: list[Extremum],
    grids: tuple[FloatArray, FloatArray],
) -> list[FloatArray]:
    half, circle = grids
    draws = context.draw(np.vstack([half, circle]), losses)
    k, step = len(half), step_size(draws.n_obs)
    moved_h = draws.h_hat + step * draws.z_h()
    nulls = []
    for j, e in enumerate(risks):
        moved_e = e + step * (draws.z_risks()[:, j] if j < len(losses) else np.zeros((draws.n_boot, 2)))
        excess = (moved_e @ circle.T - moved_h[:, k:]).max(axis=1)
        apart = (improvement_support(moved_e, half) + moved_h[:, :k]).min(axis=1)
        nulls.append((_positive(excess - most[j].value) + _positive(apart - least[j].value)) / step)
    return nulls


def _smooth_nulls(
    context: DrawingContext,
    losses: FloatArray,
    risks: FloatArray,
    most: list[Extremum],
    least: list[Extremum],
) -> list[FloatArray]:
    """Limits without kinks: h enters linearly at the two attaining directions, C(e) by its derivative in e."""
    q = np.array([off_breakpoint(x.direction) for pair in zip(most, least, strict=True) for x in pair])
    draws = context.draw(q, losses)
    step, z_h = step_size(draws.n_obs), draws.z_h()
    nulls = []
    for j, e in enumerate(risks):
        z_e = draws.z_risks()[:, j] if j < len(losses) else np.zeros((draws.n_boot, 2))
        at_most, at_least = 2 * j, 2 * j + 1
        corner = improvement_support(e + step * z_e, q[[at_least]]) - improvement_support(e, q[[at_least]])
        nulls.append(_positive(z_e @ q[at_most] - z_h[:, at_most]) + _positive(corner[:, 0] / step + z_h[:, at_least]))
    return nulls


def _smallest(values: FloatArray, directions: FloatArray, sign: float = 1.0) -> Extremum:
    k = int(np.argmin(values))
    return Extremum(sign * float(values[k]), directions[k])


def _positive(x: FloatArray) -> FloatArray:
    positive: FloatArray = np.maximum(x, 0.0)
    return positive
