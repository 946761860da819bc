"""How the published intervals of the distance to F were made: F by a quasi-Newton search along the line of directions.

By its definition F = -(1, 1) inf_c h(u1 - c(1, -1)), and the package computes the infimum exactly. The published
numbers come from searches. Between two breakpoints the estimated h is linear in c with slope v_b - v_r, where v is the
risk pair of the rule in force, and at a breakpoint it jumps. The search follows the slope and compares values, so it
comes to rest where the slope is small or no shorter step leads down, which need not be the infimum:

* F of the sample: from the best of 20,000 random c in [-1000, 1000], 20,000 steps of Adam with rate .08 along the
  slope; from there BFGS until it stops.
* F of a draw: BFGS from the same c, on h^ + s_n sqrt(n)(h~ - h^), with the group shares of the draw also in the rules.
* Squared distance: derivative of F by the numerical step s_n, that of the distance in e and F analytic.

The true pair and the true F are among the points that the published intervals are searched for, so a cell of the table
is the rate at which the true distance itself is rejected. F is taken to lie on the 45-degree line.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import numpy as np
from numba import njit

from ..arrays import FloatArray
from ..bootstrap.exact import edges_of, for_each_drawn_function
from ..estimator import FairFrontier
from ..frontier.support import SupportFunction, group_means
from ..inference.p_values import critical_value, step_size
from ..learning.learners import child_seeds
from .table1 import POINTS, draw_sample, true_points
from .workers import Outcome, Task

FIRST, REACH = 20_000, 1000.0
"""Random values of c, within plus or minus this number, of which the best is where Adam starts."""
ADAM_STEPS, ADAM_RATE = 20_000, 0.08
TOLERANCE = float(np.sqrt(np.finfo(float).eps))
"""Relative decrease of the value below which BFGS stops."""
MOST_STEPS = 10_000
SHRINK, SUFFICIENT, NO_CHANGE = 0.2, 1e-4, 10.0
"""Of the line search: factor of a shorter step, share of the predicted decrease, and number to which c is added to see
whether a step changes it."""
Line = tuple[FloatArray, FloatArray]
"""Breakpoints (m,) of h in c, and the risk pairs (m + 1, 2) of the rules between them."""


def descent_task(task: Task) -> Task:
    """Return the task that repeats the published fit of a replication for the published distances."""
    return Task(f"{task.name}/quasi-Newton", task.arguments)


def replicate_descent(number: int, n: int, design: str, options: Mapping[str, Any]) -> Outcome:
    """Tell whether the intervals of the distance miss the true one, for the sample and fit of a replication."""
    truth, sample = true_points(design), draw_sample(number, n, design)
    start = time.process_time()
    ff = FairFrontier(n_rep=1, random_state=sample.fit_seed, **options["published learner"])
    ff.fit(sample.X, sample.y, sensitive_features=sample.group)
    loss = np.where(sample.y == 1, 1.0 - sample.lottery, sample.lottery)
    f, risks, half = distance_on_line(
        ff.support_function_,
        loss,
        np.array([truth[name] for name in POINTS[:3]]),
        n_boot=options["n_boot"],
        alpha=options["alpha"],
        seed=sample.descent_seed,
    )
    result = {"quasi-Newton: F": round(f, 6)}
    for name, e, width in zip(POINTS, risks, half, strict=True):
        off = abs(((e - f) ** 2).sum() - ((truth[name] - truth["F"]) ** 2).sum())
        result[f"quasi-Newton: distance {name}"] = float(off > width + 1e-12)
    return result, {"quasi-Newton": time.process_time() - start}


def distance_on_line(
    function: SupportFunction,
    loss: FloatArray,
    fixed: FloatArray,
    *,
    n_boot: int,
    alpha: float,
    seed: np.random.SeedSequence,
) -> tuple[float, FloatArray, FloatArray]:
    """F's coordinate, risk pairs (K + 1, 2) and half widths (K + 1,) of the intervals of their squared distances to F.

    ``fixed`` (K, 2) are known pairs; ``loss`` (n,) are an algorithm's losses, whose pair comes last.
    """
    n, s = function.n_obs, function.scores
    step = step_size(n)
    own = group_means(loss, s.group, s.weight)[0]
    estimate = function.estimate
    line = along_line(edges_of(function), estimate.values, estimate.mirror)
    (own_seed,) = child_seeds(seed, 1)
    c = search(line, line, 0.0, first_rest(line, np.random.default_rng(own_seed)))
    f = -value_at(line, line, 0.0, c)
    f_moves, risk_moves = np.empty(n_boot), np.empty((n_boot, 2))

    def one(b: int, edges: FloatArray, values: FloatArray, mirror: FloatArray, drawn: FloatArray) -> None:
        # derivative of F in direction sqrt(n)(h~ - h^), by a numerical step
        other, share = along_line(edges, values, mirror), step * np.sqrt(n)
        f_moves[b] = (-value_at(line, other, share, search(line, other, share, c)) - f) / step
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


def first_rest(line: Line, rng: np.random.Generator) -> float:
    """Where Adam ends that starts at the best of many random c."""
    c = rng.uniform(-REACH, REACH, FIRST)
    points = line[1][np.searchsorted(line[0], c)]
    best = int(np.argmin((-1.0 - c) * points[:, 0] + c * points[:, 1]))
    return float(_adam(*line, float(c[best])))


@njit(cache=True, nogil=True)
def _adam(breaks, points, c):  # type: ignore[no-untyped-def]
    """Follow the slope of h by Adam's steps (Kingma and Ba) with their usual constants."""
    mean, square = 0.0, 0.0
    for k in range(1, ADAM_STEPS + 1):
        at = np.searchsorted(breaks, c)
        slope = points[at, 1] - points[at, 0]
        mean = 0.9 * mean + 0.1 * slope
        square = 0.999 * square + 0.001 * slope * slope
        scale = np.sqrt(square / (1.0 - 0.999**k)) + 1e-8
        c -= ADAM_RATE * mean / (1.0 - 0.9**k) / scale
    return c


def value_at(one: Line, other: Line, share: float, c: float) -> float:
    """(1 - share) h_1 + share h_2 at c."""
    return float(_value_and_slope(*one, *other, share, c)[0])


def search(one: Line, other: Line, share: float, c: float) -> float:
    """Where BFGS stops that starts at c, on (1 - share) h_1 + share h_2."""
    return float(_bfgs(*one, *other, share, c))


@njit(cache=True, nogil=True)
def _value_and_slope(breaks, points, breaks_2, points_2, share, c):  # type: ignore[no-untyped-def]
    i, j = np.searchsorted(breaks, c), np.searchsorted(breaks_2, c)
    r = (1.0 - share) * points[i, 0] + share * points_2[j, 0]
    b = (1.0 - share) * points[i, 1] + share * points_2[j, 1]
    return (-1.0 - c) * r + c * b, b - r


@njit(cache=True, nogil=True)
def _bfgs(breaks, points, breaks_2, points_2, share, c):  # type: ignore[no-untyped-def]
    """BFGS in one dimension: the inverse of the second derivative is the last step over the last change of the slope.

    A step goes down the slope, first in full, then shrunk until the value falls by enough. Where none does, or the
    value hardly falls, the search begins anew with the slope itself as step, and stops if that does not help either.
    """
    value, slope = _value_and_slope(breaks, points, breaks_2, points_2, share, c)
    inverse, fresh, since = 1.0, True, 0
    for _ in range(MOST_STEPS):
        if fresh:
            inverse, since = 1.0, 0
        way = -inverse * slope
        predicted = way * slope
        if predicted >= 0.0:
            if fresh:
                break
            fresh = True
            continue
        length, moved, accepted, new = 1.0, c, False, value
        while True:
            moved = c + length * way
            if NO_CHANGE + moved == NO_CHANGE + c:
                break
            new, _ = _value_and_slope(breaks, points, breaks_2, points_2, share, moved)
            accepted = np.isfinite(new) and new <= value + predicted * length * SUFFICIENT
            if accepted:
                break
            length *= SHRINK
        enough = abs(new - value) > TOLERANCE * (abs(value) + TOLERANCE)
        if accepted and enough:
            before = slope
            value, slope = _value_and_slope(breaks, points, breaks_2, points_2, share, moved)
            step, bend = moved - c, slope - before
            c, since = moved, since + 1
            fresh = step * bend <= 0.0 or since > 2
            if step * bend > 0.0:
                inverse = step / bend
            continue
        if accepted:  # hardly any decrease: it counts, but does not go on
            c, value = moved, new
        if fresh:
            break
        fresh = True  # with the slope at hand, as published
    return c
