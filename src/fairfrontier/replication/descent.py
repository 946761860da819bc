"""A guess at how the published intervals of the distance to F were made, picked for its fit to the published rates.

By its definition F = -(1, 1) inf_c h(u1 - c(1, -1)), and the package computes the infimum exactly. The published
numbers come from stochastic gradient descent. Between two breakpoints the estimated h is linear in c with slope
v_b - v_r, where v is the risk pair of the rule in force, and at a breakpoint it jumps. A gradient tells the slope only:
a descent comes to rest where the integral of v_b - v_r over c is smallest, which is where the two risks are equal, and
does not see the lower values that the jumps lead to. So it is spared part of the bias of the infimum of noisy values.

What is done here differs from ``distance_to_fairest(method="paper")`` in three more ways: c stays within `REACH`; the
derivative of the squared distance in e and F is the analytic one, and only that of F is numerical; and F is taken to
lie on the 45-degree line. To tell what the descent adds, the infimum of h within the same reach stands beside it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..arrays import FloatArray
from ..bootstrap.exact import edges_of, for_each_drawn_function
from ..estimator import FairFrontier
from ..frontier.support import SupportFunction, group_means
from ..frontier.sweep import SAME_DIRECTION
from ..inference.p_values import critical_value, step_size
from .table1 import POINTS, draw_sample, true_points
from .workers import Outcome, Task

REACH = 5.0
"""How far from c = 0 a descent may come. Where a perturbed set misses the 45-degree line the slope does not change its
sign, and how far the published descents ran off is not known. Chosen on 100 samples of n = 1,000: the skewed design
shows fewer misses the larger it is."""
Line = tuple[FloatArray, FloatArray]
"""Breakpoints (m,) of h in c, and the risk pairs (m + 1, 2) of the rules between them."""


def descent_task(task: Task) -> Task:
    """Return the task that repeats the published fit of a replication for the distance by descent."""
    return Task(f"{task.name}/descent within {REACH:g}", task.arguments)


def replicate_descent(number: int, n: int, design: str, options: Mapping[str, Any]) -> Outcome:
    """Tell whether the intervals of the distance miss the true one, for the sample and fit of a replication."""
    truth, sample = true_points(design), draw_sample(number, n, design)
    start = time.process_time()
    ff = FairFrontier(random_state=sample.fit_seed, **options["published learner"])
    ff.fit(sample.X, sample.y, sensitive_features=sample.group)
    loss = np.where(sample.y == 1, 1.0 - sample.lottery, sample.lottery)
    fixed = np.array([truth[name] for name in POINTS[:3]])
    result: dict[str, float] = {}
    for kind, value in (("descent", resting_value), ("infimum", lowest_value)):
        f, risks, half = distance_on_line(
            ff.support_function_,
            loss,
            fixed,
            value,
            n_boot=options["n_boot"],
            alpha=options["alpha"],
            seed=sample.descent_seed,
        )
        result[f"{kind}: F"] = round(f, 6)
        for name, e, width in zip(POINTS, risks, half, strict=True):
            off = abs(((e - f) ** 2).sum() - ((truth[name] - truth["F"]) ** 2).sum())
            result[f"{kind}: distance {name}"] = float(off > width + 1e-12)
    return result, {"descent": time.process_time() - start}


def distance_on_line(
    function: SupportFunction,
    loss: FloatArray,
    fixed: FloatArray,
    value: Callable[[Line], float],
    *,
    n_boot: int,
    alpha: float,
    seed: np.random.SeedSequence,
) -> tuple[float, FloatArray, FloatArray]:
    """F's coordinate, risk pairs (K + 1, 2) and half widths (K + 1,) of the intervals of their squared distances to F.

    F is (-1, -1) times the ``value`` of h along the line. ``fixed`` (K, 2) are known pairs; ``loss`` (n,) are an
    algorithm's losses, whose pair comes last.
    """
    n, s = function.n_obs, function.scores
    step = step_size(n)
    own = group_means(loss, s.group, s.weight)[0]
    estimate = function.estimate
    line = along_line(edges_of(function), estimate.values, estimate.mirror)
    f = -value(line)
    f_moves, risk_moves = np.empty(n_boot), np.empty((n_boot, 2))

    def one(b: int, edges: FloatArray, values: FloatArray, mirror: FloatArray, drawn: FloatArray) -> None:
        # derivative of F in direction sqrt(n)(h~ - h^), by a numerical step
        perturbed = mixed(line, along_line(edges, values, mirror), step * np.sqrt(n))
        f_moves[b] = (-value(perturbed) - f) / step
        risk_moves[b] = np.sqrt(n) * (drawn[0] - own)

    for_each_drawn_function(function, loss[None], one, n_boot=n_boot, seed=seed, n_jobs=1)
    risks = np.vstack([fixed, own])
    half = np.empty(len(risks))
    for j, e in enumerate(risks):
        moves = risk_moves if j == len(fixed) else np.zeros(2)
        change = np.abs(2.0 * ((e - f) * (moves - f_moves[:, None])).sum(axis=1))  # derivative of |e - F|^2
        half[j] = critical_value(change, alpha) / np.sqrt(n)
    return f, risks, half


def along_line(edges: FloatArray, values: FloatArray, mirror: FloatArray) -> Line:
    """Return h along the line.

    Arcs are given on the right half circle from (0, -1) to (0, 1). Up to (1, -1) they lie on the line q = (-1 - c, c)
    with c from -1 down to minus infinity; beyond it -q does, with c from infinity down to -1.
    """
    total = edges.sum(axis=1)
    with np.errstate(divide="ignore"):
        c = edges[:, 1] / -total
    k = int((total < 0.0).sum())
    breaks = np.concatenate([c[:k][::-1], c[k:][::-1]])
    points = np.concatenate([values[: k + 1][::-1], mirror - values[k : len(values) - 1][::-1]])
    return breaks, points


def mixed(first: Line, second: Line, share: float) -> Line:
    """Return (1 - share) h_1 + share h_2 along the line."""
    breaks = np.sort(np.concatenate([first[0], second[0]]), kind="stable")  # merges two sorted runs
    before = [np.append(np.searchsorted(own, breaks), len(own)) for own, _ in (first, second)]
    return breaks, (1.0 - share) * first[1][before[0]] + share * second[1][before[1]]


def resting_value(line: Line) -> float:
    """Value of h where the integral of its slope is smallest within reach, halfway between those on the two sides."""
    c, points = _within_reach(line)
    slope = points[:, 1] - points[:, 0]
    k = int(np.argmin(np.append(0.0, np.cumsum(slope * np.diff(c)))))
    return float(_direction(c[k]) @ points[max(k - 1, 0) : k + 1].mean(axis=0))


def lowest_value(line: Line) -> float:
    """Infimum of h within reach: it is linear between breakpoints, so both ends of every piece are enough."""
    c, points = _within_reach(line)
    return float(min((_direction(ends) * points).sum(axis=1).min() for ends in (c[:-1], c[1:])))


def _within_reach(line: Line) -> Line:
    """Cut a line to [-REACH, REACH], its ends included in the breakpoints, without pieces of no length."""
    breaks, points = line
    first, last = np.searchsorted(breaks, [-REACH, REACH])
    c = np.concatenate([[-REACH], breaks[first:last], [REACH]])
    wide = np.diff(c) > SAME_DIRECTION  # rounding tears ties apart
    return np.append(-REACH, c[1:][wide]), points[first : last + 1][wide]


def _direction(c: FloatArray) -> FloatArray:
    return np.stack([-1.0 - c, c], axis=-1)
