"""Draws of h(q) in its own standard errors: the bootstrap-t, streamed draw by draw.

A draw that deviates much usually has another standard error than the sample: in a small group the two go together, so
that dividing all draws by one standard error makes intervals too short. Here each draw is divided by its own,

    T~(q) = (h~(q) - h^(q)) / s~(q),   s~(q)^2 = sum_c w_c (sum_g (q_g / W_g)(L_cg(q) - e_g(q) V_cg))^2,

where w_c is the random weight of cluster c (of row c without clusters), V_cg the sum of the weights of its rows of
group g, L_cg(q) that of their weighted losses under the rule of q, W_g = sum_c w_c V_cg and e_g = sum_c w_c L_cg / W_g.
The rules are held.

The random weights are Poisson numbers of mean 1, how often a row is drawn in a sample of the sample, but `LIGHT`
instead of 0, so that no draw loses a group. Their third and fourth moments are those that make T~ skewed and
heavy-tailed as T is; with exponential weights it is not skewed enough. The number follows from the Exp(1) number of all
other draws.

A sweep over the circle passes every row twice, in order of its angle. Passing a row changes one L_cg, and with it the
sums over clusters of the products that make up s~^2: O(n) steps and O(n) memory per draw, with clusters or without.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numba import njit
from scipy.stats import poisson

from ..arrays import BoolArray, FloatArray, IntArray, SignArray
from ..data.checks import check_directions, check_draws
from ..frontier.support import SupportFunction, group_means
from .draws import for_each_draw
from .kernels import passed_rows
from .weights import RandomWeights

LIGHT = 0.01
"""Random weight of a row that is not drawn."""
LIMITS = -np.log(poisson.sf(np.arange(20), 1.0))
"""Exp(1) numbers above the k-th of these give a Poisson number above k."""
MEAN = 1.0 + LIGHT * np.exp(-1.0)
SCALE = float(np.sqrt(MEAN / (2.0 + LIGHT**2 * np.exp(-1.0) - MEAN**2)))
"""Makes up for weights whose variance is not quite their mean."""
STILL = 1e-11
"""Variance, relative to that of the largest loss, up to which it is rounding."""


class Steps(NamedTuple):
    """Rows in the order of the sweep, as the compiled sums read them.

    Row j of the sweep belongs to cluster ``unit`` (m,) and group ``group`` (m,); passing it on the right half circle
    adds ``change`` (m,) to the loss of its cluster and group. ``sign`` (m,) as in the sweep. ``start`` (C, 2) are the
    clusters' losses before the first row is passed, ``mass`` (C, 2) their weights; ``size`` is the largest loss.
    """

    unit: IntArray
    group: IntArray
    change: FloatArray
    sign: SignArray
    start: FloatArray
    mass: FloatArray
    size: float


class Stops(NamedTuple):
    """Directions in the order in which a turn round the circle meets them.

    At stop j the rows [0, ``passed`` (K,)) of this half circle are passed and those up to ``tied`` (K,) are
    perpendicular to ``q`` (K, 2); ``right`` (K,) says which half circle.
    """

    q: FloatArray
    passed: IntArray
    tied: IntArray
    right: BoolArray


@dataclass(frozen=True, slots=True)
class StudentisedDraws:
    """Largest deviation of each draw (B,) in its own standard errors: of h~ above h^, and of h^ above h~."""

    above: FloatArray
    below: FloatArray


def draw_studentised(
    function: SupportFunction,
    directions: FloatArray,
    shifts: FloatArray | None = None,
    *,
    n_boot: int,
    seed: np.random.SeedSequence,
    n_jobs: int | None = None,
) -> StudentisedDraws:
    """Draw the largest of (h~(q) - h^(q)) / s~(q), and of its negative, over directions (K, 2).

    ``shifts`` (J, K) are added to h~ - h^, those of one row after the other. Directions without variation do not count.
    """
    check_draws(n_boot)
    q = check_directions(directions)
    steps, stops, order = _steps(function), *_stops(function, q)
    moved = np.zeros((1, len(q))) if shifts is None else shifts[:, order]
    n_units = len(steps.start)
    ones, h_hat, s_hat = np.ones(n_units), np.empty(len(q)), np.empty(len(q))
    turn_round(ones, steps, stops, np.empty_like(steps.start), h_hat, s_hat)
    varies = s_hat > 0.0
    labels, above, below = _relabelled(function)[0], np.zeros(n_boot), np.zeros(n_boot)

    def worker() -> Callable[[int], None]:
        stream = RandomWeights(seed, n_units).stream()
        w, state = np.empty(n_units), np.empty_like(steps.start)
        h, s = np.empty(len(q)), np.empty(len(q))

        def one(number: int) -> None:
            w[labels] = random_weights(stream.draw(number))
            turn_round(w, steps, stops, state, h, s)
            counts = varies & (s > 0.0)
            if counts.any():
                t = SCALE * ((h - h_hat) + moved[number % len(moved)])[counts] / np.sqrt(s[counts])
                above[number], below[number] = t.max(), -t.min()

        return one

    for_each_draw(worker, n_boot=n_boot, n_jobs=n_jobs)
    return StudentisedDraws(above, below)


def random_weights(exponential: FloatArray) -> FloatArray:
    """Turn Exp(1) numbers into Poisson numbers of mean 1, with `LIGHT` instead of 0."""
    weights: FloatArray = np.maximum(np.searchsorted(LIMITS, exponential), LIGHT)
    return weights


def _relabelled(function: SupportFunction) -> tuple[IntArray, IntArray]:
    """New numbers (C,) of clusters (or rows), in the order in which the sweep first meets them, and those of rows (n,).

    Rows that never move come last. So the sweep reads memory in order where there are no clusters.
    """
    n, clusters, order = function.scores.n_rows, function.scores.clusters, function.order
    old = np.arange(n) if clusters is None else clusters
    rest = np.ones(n, dtype=bool)
    rest[order] = False
    met = old[np.concatenate([order, np.flatnonzero(rest)])]
    first = np.full(int(old.max()) + 1, n)
    np.minimum.at(first, met, np.arange(n))
    new = np.empty(len(first), dtype=np.intp)
    new[np.argsort(first, kind="stable")] = np.arange(len(first))
    return new, new[old]


def _steps(function: SupportFunction) -> Steps:
    s, arcs, order = function.scores, function.estimate, function.order
    new, unit = _relabelled(function)
    centre = group_means(s.l0, s.group, s.weight)[0]  # a large constant must not swallow the difference of squares
    sign = arcs.sign[: len(order)]
    l0 = s.l0 - centre[s.group]
    size = float(max(np.abs(l0).max(), np.abs(l0 + s.dl).max()))
    loss = s.weight * l0
    loss[order] += (s.weight * s.dl)[order] * (sign < 0)
    start, mass = (np.zeros((len(new), 2)) for _ in range(2))
    np.add.at(start, (unit, s.group), loss)
    np.add.at(mass, (unit, s.group), s.weight)
    return Steps(unit[order], s.group[order], sign * (s.weight * s.dl)[order], sign, start, mass, size)


def _stops(function: SupportFunction, q: FloatArray) -> tuple[Stops, IntArray]:
    """Return the directions in the order of a turn round the circle, and that order."""
    right = (q[:, 0] > 0.0) | ((q[:, 0] == 0.0) & (q[:, 1] < 0.0))
    p = np.where(right[:, None], q, -q) / function.mu
    passed, tied = np.zeros(len(q), dtype=np.intp), np.zeros(len(q), dtype=np.intp)
    if len(function.order):
        passed_rows(function.estimate.a, function.estimate.b, p, passed, tied)
    # by half circle, then by angle
    order = np.lexsort((tied, passed, ~right))
    return Stops(q[order], passed[order], tied[order], right[order]), order


@njit(cache=True, nogil=True)
def _pass(j, back, w, steps, state, first, square, cross, mixed):  # type: ignore[no-untyped-def]
    """Pass row j of the sweep (on the second half circle: take it back), and keep the sums up to date."""
    c, g = steps.unit[j], steps.group[j]
    o = 1 - g
    change = -steps.change[j] if back else steps.change[j]
    weight = w[c] * change
    first[g] += weight
    square[g] += weight * (2.0 * state[c, g] + change)
    cross[0] += weight * state[c, o]
    mixed[g, g] += weight * steps.mass[c, g]
    mixed[g, o] += weight * steps.mass[c, o]
    state[c, g] += change


@njit(cache=True, nogil=True)
def turn_round(w, steps, stops, state, h, s):  # type: ignore[no-untyped-def]
    """Write h (K,), up to a constant for each direction, and its variance s (K,) at all stops under weights w (C,).

    Sums over clusters c of w_c times: L_cg (``first``), L_cg^2 (``square``), L_c0 L_c1 (``cross``), L_cg V_cf
    (``mixed`` [g, f]) and V_cg V_cf (``masses``).
    """
    first, square, cross, mixed = np.zeros(2), np.zeros(2), np.zeros(1), np.zeros((2, 2))
    total, masses = np.zeros(2), np.zeros((2, 2))
    for c in range(state.shape[0]):
        for g in range(2):
            state[c, g] = steps.start[c, g]
            total[g] += w[c] * steps.mass[c, g]
            first[g] += w[c] * state[c, g]
            square[g] += w[c] * state[c, g] ** 2
            for f in range(2):
                mixed[g, f] += w[c] * state[c, g] * steps.mass[c, f]
                masses[g, f] += w[c] * steps.mass[c, g] * steps.mass[c, f]
        cross[0] += w[c] * state[c, 0] * state[c, 1]
    m, place, half = steps.unit.shape[0], 0, True
    for k in range(stops.passed.shape[0]):
        if half and not stops.right[k]:
            for j in range(place, m):
                _pass(j, False, w, steps, state, first, square, cross, mixed)
            place, half = 0, False
        for j in range(place, stops.passed[k]):
            _pass(j, not half, w, steps, state, first, square, cross, mixed)
        place = stops.passed[k]
        # rows exactly perpendicular are not selected: those that still are have to be passed for the moment
        for j in range(place, stops.tied[k]):
            if (steps.sign[j] < 0) == half:
                _pass(j, not half, w, steps, state, first, square, cross, mixed)
        variance, value, size = 0.0, 0.0, 0.0
        for g in range(2):
            a, e = stops.q[k, g] / total[g], first[g] / total[g]
            value += stops.q[k, g] * e
            variance += a * a * (square[g] - 2.0 * e * mixed[g, g] + e * e * masses[g, g])
            size += a * a * masses[g, g] * steps.size**2
        e0, e1 = first[0] / total[0], first[1] / total[1]
        within = cross[0] - e1 * mixed[0, 1] - e0 * mixed[1, 0] + e0 * e1 * masses[0, 1]
        variance += 2.0 * stops.q[k, 0] * stops.q[k, 1] / (total[0] * total[1]) * within
        h[k], s[k] = value, variance if variance > STILL * size else 0.0
        for j in range(place, stops.tied[k]):
            if (steps.sign[j] < 0) == half:
                _pass(j, half, w, steps, state, first, square, cross, mixed)
