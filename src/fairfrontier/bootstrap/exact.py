"""Exact extrema of the perturbed support function, draw by draw.

The numerical derivative needs the two parts of the statistic at h^ + s sqrt(n)(h~ - h^) =
(1 - c) h^ + c h~ with c = s sqrt(n). Both functions are sinusoids between their breakpoints, those of h~
sit elsewhere because mu is re-estimated, so one sweep merges the two sorted lists of breakpoints.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numba import njit

from ..arrays import FloatArray
from ..frontier.support import SupportFunction
from ..frontier.sweep import SAME_DIRECTION
from .arrangement import DrawReader, arrange_rows
from .draws import for_each_draw
from .kernels import read_block


def perturbed_parts(
    function: SupportFunction,
    losses: FloatArray,
    risks_hat: FloatArray,
    step: float,
    *,
    n_boot: int,
    seed: np.random.SeedSequence,
    n_jobs: int | None = None,
) -> tuple[FloatArray, FloatArray]:
    """Feasibility and separation parts at the perturbed process, exactly, for J pairs of risks.

    ``losses`` (I, n) are those of the first I of them; the others are fixed points and are not perturbed.
    Returns max_q q'e - h(q) and min_q D(q), each (B, J).
    """
    arcs, scale = function.estimate, step * np.sqrt(function.n_obs)
    edges_hat = edges_of(function)
    feasibility, separation = np.empty((n_boot, len(risks_hat))), np.empty((n_boot, len(risks_hat)))

    def one(number: int, edges: FloatArray, values: FloatArray, mirror: FloatArray, drawn: FloatArray) -> None:
        moved = risks_hat.copy()
        moved[: len(drawn)] += scale * (drawn - risks_hat[: len(drawn)])
        _parts(
            edges_hat, arcs.values, arcs.mirror, edges, values, mirror, scale, moved,
            feasibility[number], separation[number],
        )  # fmt: skip

    for_each_drawn_function(function, losses, one, n_boot=n_boot, seed=seed, n_jobs=n_jobs)
    return feasibility, separation


def perturbed_line_infima(
    function: SupportFunction,
    losses: FloatArray,
    step: float,
    *,
    n_boot: int,
    seed: np.random.SeedSequence,
    n_jobs: int | None = None,
) -> tuple[FloatArray, FloatArray]:
    """Infimum over c in [-1000, 1000] of the perturbed h at u1 - c(1, -1), exactly, for every draw.

    Returns the infima (B,) and the drawn risks (B, J, 2) of algorithms with ``losses`` (J, n).
    """
    arcs, scale = function.estimate, step * np.sqrt(function.n_obs)
    edges_hat = edges_of(function)
    infima, risks = np.empty(n_boot), np.empty((n_boot, len(losses), 2))

    def one(number: int, edges: FloatArray, values: FloatArray, mirror: FloatArray, drawn: FloatArray) -> None:
        risks[number] = drawn
        infima[number] = _line(edges_hat, arcs.values, arcs.mirror, edges, values, mirror, scale)

    for_each_drawn_function(function, losses, one, n_boot=n_boot, seed=seed, n_jobs=n_jobs)
    return infima, risks


def for_each_drawn_function(
    function: SupportFunction,
    losses: FloatArray,
    consume: Callable[[int, FloatArray, FloatArray, FloatArray, FloatArray], None],
    *,
    n_boot: int,
    seed: np.random.SeedSequence,
    n_jobs: int | None,
) -> None:
    """Call ``consume(b, edges, values, mirror, risks)`` for every draw: the arcs of h~, and risks (J, 2) of ``losses``.

    The arrays are valid only during the call.
    """
    arcs, order, arranged = function.estimate, function.order, arrange_rows(function, losses, in_blocks=False)
    rows = arranged.rows
    m = len(arcs.a)
    from_r = function.scores.is_r[order] if len(order) else np.zeros(0, dtype=bool)

    def worker() -> Callable[[int], None]:
        reader, w, levels = DrawReader(arranged, seed), np.empty(function.scores.n_rows), np.empty((2 + len(losses), 2))
        values, edges, mirror = np.empty((m + 1, 2)), np.empty((m, 2)), np.empty(2)
        risks = np.empty((len(losses), 2))

        def one(number: int) -> None:
            for block, raw, units in reader.blocks(number):
                read_block(block, raw, units, w, rows, levels)
            _draw_arcs(w, rows, levels, from_r, values, mirror, risks)
            _edges(arcs.a, arcs.b, levels[0, 0], levels[0, 1], edges)
            consume(number, edges, values, mirror, risks)

        return one

    for_each_draw(worker, n_boot=n_boot, n_jobs=n_jobs)


def edges_of(function: SupportFunction) -> FloatArray:
    """Unit directions (m, 2) at which the rules of the estimate change."""
    edges = np.empty((len(function.estimate.a), 2))
    _edges(function.estimate.a, function.estimate.b, *function.mu, edges)
    return edges


@njit(cache=True, nogil=True)
def _line(edges_hat, v_hat, mirror_hat, edges, v, mirror, c):  # type: ignore[no-untyped-def]
    """Smallest value of the perturbed h on the line q1 + q2 = -1 between (-1001, 1000) and (999, -1000).

    The right half circle is swept once: it holds the end of the line from (0, -1) on, and its opposite holds the rest.
    Between breakpoints h is linear along the line, so both ends of every piece are enough.
    """
    m = edges.shape[0]
    mirror1 = (1.0 - c) * mirror_hat[0] + c * mirror[0]
    mirror2 = (1.0 - c) * mirror_hat[1] + c * mirror[1]
    best = np.inf
    i, j, cut = 0, 0, 0
    s1, s2 = 0.0, -1.0
    while True:
        # the next breakpoint: of h^, of h~, one of the two ends of the line, or the end (0, 1) of the sweep
        f1, f2, kind = 0.0, 1.0, 3
        if cut == 0:
            f1, f2, kind = 0.999, -1.0, 2
        elif cut == 1:
            f1, f2, kind = 1.001, -1.0, 2
        if i < m and edges_hat[i, 0] * f2 - edges_hat[i, 1] * f1 >= 0.0:
            f1, f2, kind = edges_hat[i, 0], edges_hat[i, 1], 0
        if j < m and edges[j, 0] * f2 - edges[j, 1] * f1 > 0.0:
            f1, f2, kind = edges[j, 0], edges[j, 1], 1
        if cut != 1 and s1 * f2 - s2 * f1 > SAME_DIRECTION:
            v1 = (1.0 - c) * v_hat[i, 0] + c * v[j, 0]
            v2 = (1.0 - c) * v_hat[i, 1] + c * v[j, 1]
            if cut == 2:
                v1, v2 = v1 - mirror1, v2 - mirror2  # (-q)'v(-q) = q'(v - mirror)
            for x1, x2 in ((s1, s2), (f1, f2)):
                value = (x1 * v1 + x2 * v2) / abs(x1 + x2)
                best = min(best, value)
        s1, s2 = f1, f2
        if kind == 0:
            i += 1
        elif kind == 1:
            j += 1
        elif kind == 2:
            cut += 1
        else:
            return best


@njit(cache=True, nogil=True)
def _edges(a, b, mu_r, mu_b, out):  # type: ignore[no-untyped-def]
    """Unit directions at which the rule changes on the right half circle, in order."""
    for i in range(a.shape[0]):
        x, y = mu_r * b[i], -mu_b * a[i]
        square = x * x + y * y
        scale = 1.0 / (np.sqrt(square) if square > 1e-280 else np.hypot(x, y))  # tiny squares lose their digits
        out[i, 0], out[i, 1] = scale * x, scale * y


@njit(cache=True, nogil=True)
def _draw_arcs(w, rows, levels, from_r, values, mirror, risks):  # type: ignore[no-untyped-def]
    """Arc values (m + 1, 2), mirror and risks under the random weights ``w``, whose sums are ``levels``."""
    change, total = rows.change, np.zeros(2)
    at_r, at_b = rows.stops[0, 0, 0], rows.stops[0, 1, 0]
    mass, level = levels[0], levels[1]
    values[0, 0], values[0, 1] = level[0] / mass[0], level[1] / mass[1]
    for k in range(from_r.shape[0]):
        if from_r[k]:
            total[0] += w[at_r] * change[at_r]
            at_r += 1
        else:
            total[1] += w[at_b] * change[at_b]
            at_b += 1
        values[k + 1, 0] = (level[0] + total[0]) / mass[0]
        values[k + 1, 1] = (level[1] + total[1]) / mass[1]
    for k in range(from_r.shape[0], values.shape[0] - 1):  # no moving row: one breakpoint without effect
        values[k + 1] = values[k]
    for g in range(2):
        mirror[g] = (2.0 * level[g] + total[g]) / mass[g]
        for j in range(risks.shape[0]):
            risks[j, g] = levels[2 + j, g] / mass[g]


@njit(cache=True, nogil=True, inline="always")
def _raise_to(best, d1, d2, s1, s2, f1, f2, chord):  # type: ignore[no-untyped-def]
    """The larger of ``best`` and q'd over the closed arc between the unit vectors s and f.

    ``chord`` bounds the distance of the arc's directions from f, so that most arcs are dismissed at once.
    """
    at_end = f1 * d1 + f2 * d2
    if at_end + chord * (abs(d1) + abs(d2)) <= best:
        return best
    best = max(best, at_end, s1 * d1 + s2 * d2)
    if s1 * d2 - s2 * d1 >= 0.0 and d1 * f2 - d2 * f1 >= 0.0:
        best = max(best, np.sqrt(d1 * d1 + d2 * d2))
    return best


@njit(cache=True, nogil=True)
def _parts(edges_hat, v_hat, mirror_hat, edges, v, mirror, c, e, feasibility, separation):  # type: ignore[no-untyped-def]
    """Max of q'e - h(q) over the circle and min of D(q) over q1 + q2 <= 0, for each e (J, 2).

    The right half circle is swept once; -q comes along through the mirror. Cuts at (1, -1) and (1, 0)
    separate the stretches on which different corners of C(e) are active.
    """
    root = np.sqrt(0.5)
    m, n_points = edges.shape[0], e.shape[0]
    mirror1 = (1.0 - c) * mirror_hat[0] + c * mirror[0]
    mirror2 = (1.0 - c) * mirror_hat[1] + c * mirror[1]
    feasibility[:] = -np.inf
    separation[:] = -np.inf  # holds max of -D until the end
    i, j, cut = 0, 0, 0
    s1, s2 = 0.0, -1.0
    while True:
        # the next breakpoint: of h^, of h~, a cut, or the end (0, 1)
        f1, f2, kind = 0.0, 1.0, 3
        if cut == 0:
            f1, f2, kind = root, -root, 2
        elif cut == 1:
            f1, f2, kind = 1.0, 0.0, 2
        if i < m and edges_hat[i, 0] * f2 - edges_hat[i, 1] * f1 >= 0.0:
            f1, f2, kind = edges_hat[i, 0], edges_hat[i, 1], 0
        if j < m and edges[j, 0] * f2 - edges[j, 1] * f1 > 0.0:
            f1, f2, kind = edges[j, 0], edges[j, 1], 1
        if s1 * f2 - s2 * f1 > SAME_DIRECTION:
            chord = np.pi * (abs(f1 - s1) + abs(f2 - s2))  # an arc is at most pi / 2 times its chord
            v1 = (1.0 - c) * v_hat[i, 0] + c * v[j, 0]
            v2 = (1.0 - c) * v_hat[i, 1] + c * v[j, 1]
            w1, w2 = mirror1 - v1, mirror2 - v2
            for k in range(n_points):
                e1, e2 = e[k, 0], e[k, 1]
                best = _raise_to(feasibility[k], e1 - v1, e2 - v2, s1, s2, f1, f2, chord)
                feasibility[k] = _raise_to(best, w1 - e1, w2 - e2, s1, s2, f1, f2, chord)
                if cut == 0:  # q itself, between (0, -1) and (1, -1): the corner (min(e1, 2 e2 - e1), e2)
                    d1, d2 = min(e1, 2.0 * e2 - e1) - v1, e2 - v2
                elif cut == 1:  # -q, between (-1, 1) and (-1, 0): the corner (e1, min(e2, 2 e1 - e2))
                    d1, d2 = w1 - e1, w2 - min(e2, 2.0 * e1 - e2)
                else:  # -q, between (-1, 0) and (0, -1): e itself
                    d1, d2 = w1 - e1, w2 - e2
                separation[k] = _raise_to(separation[k], d1, d2, s1, s2, f1, f2, chord)
        s1, s2 = f1, f2
        if kind == 0:
            i += 1
        elif kind == 1:
            j += 1
        elif kind == 2:
            cut += 1
        else:
            break
    separation *= -1.0
