"""Exponential-weight draws of the joint process (h, e*), streamed draw by draw.

Draw number b multiplies every row's weight (every cluster's, with clusters) by an independent Exp(1)
number, re-estimates the group shares mu, and recomputes the support function and the algorithms' risks
(paper: Procedure 2, step 1). The numbers of draw b come from a stream of their own, so results depend
neither on the number of threads nor on how many draws are asked for. Memory is O(n) per thread.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np
from joblib import effective_n_jobs
from numba import njit

from ..arrays import ArrayLike, BoolArray, FloatArray, IntArray, SignArray
from ..data.checks import check_directions, check_draws
from ..frontier.regret import Regret
from ..frontier.support import SupportFunction

JUMP = 0x9E3779B97F4A7C15F39CC0605CEDC835
"""How far the stretches of neighbouring draws lie apart: 2^128 over the golden ratio, so that all bits differ."""


@dataclass(frozen=True, slots=True)
class DrawPlan:
    """Rows arranged for fast draws: those of group r, then those of group b.

    Within a group the rows that some direction treats come first, in the sweep's order of angle. All
    payloads carry the row's own weight. ``stops`` (2, 2) holds, for each group, where its moving rows and
    where all its rows end. ``extra`` (J, n) are the losses of J algorithms.
    """

    rows: IntArray
    stops: IntArray
    a: FloatArray
    b: FloatArray
    sign: SignArray
    weight: FloatArray
    base: FloatArray
    change: FloatArray
    extra: FloatArray
    clusters: IntArray | None


def make_plan(function: SupportFunction, losses: FloatArray) -> DrawPlan:
    """Arrange the rows of a support function together with the ``losses`` (J, n) of algorithms."""
    s, arcs, order = function.scores, function.estimate, function.order
    moving_r = s.is_r[order]
    never = np.ones(function.n_obs, dtype=bool)
    never[order] = False
    still = np.flatnonzero(never)
    parts = [order[moving_r], still[s.is_r[still]], order[~moving_r], still[~s.is_r[still]]]
    rows = np.concatenate(parts)
    lengths = np.cumsum([len(part) for part in parts])
    stops = np.array([[lengths[0], lengths[1]], [lengths[2], lengths[3]]], dtype=np.intp)
    n = len(rows)
    a, b, sign = np.zeros(n), np.zeros(n), np.ones(n, dtype=np.int8)
    for target, chosen in ((slice(0, lengths[0]), moving_r), (slice(lengths[1], lengths[2]), ~moving_r)):
        if len(order):
            a[target], b[target], sign[target] = arcs.a[chosen], arcs.b[chosen], arcs.sign[chosen]
    weight = s.weight[rows]
    moving = np.zeros(n, dtype=bool)
    moving[: lengths[0]] = moving[lengths[1] : lengths[2]] = True
    dl = weight * s.dl[rows] * moving
    base = weight * s.l0[rows] + dl * (sign < 0)
    extra = np.take(losses, rows, axis=1)  # in rows, as the draws read it
    extra *= weight
    return DrawPlan(
        rows,
        stops,
        a,
        b,
        sign,
        weight,
        base,
        sign * dl,
        extra,
        None if s.clusters is None else s.clusters[rows],
    )


@dataclass(frozen=True, slots=True)
class Draws:
    """Bootstrap draws of the values of rules at fixed directions and of algorithms' risks.

    ``h`` (B, K) at ``directions`` (K, 2) with its estimate ``h_hat`` (K,), the support function where each direction is
    that of its rule; ``risks`` (B, J, 2) with ``risks_hat`` (J, 2); ``n_obs`` rows.
    """

    directions: FloatArray
    h_hat: FloatArray
    h: FloatArray
    risks_hat: FloatArray
    risks: FloatArray
    n_obs: int

    @property
    def n_boot(self) -> int:
        """Number of draws B."""
        return len(self.h)

    def z_h(self) -> FloatArray:
        """sqrt(n)(h~ - h^), shape (B, K)."""
        z: FloatArray = np.sqrt(self.n_obs) * (self.h - self.h_hat)
        return z

    def z_risks(self) -> FloatArray:
        """sqrt(n)(e~ - e^), shape (B, J, 2)."""
        z: FloatArray = np.sqrt(self.n_obs) * (self.risks - self.risks_hat)
        return z


def draw_process(
    function: SupportFunction,
    directions: ArrayLike,
    losses: FloatArray | None = None,
    *,
    n_boot: int,
    seed: np.random.SeedSequence,
    n_jobs: int | None = None,
    hold_rules: bool = False,
    along: ArrayLike | None = None,
) -> Draws:
    """Draw h at ``directions`` (K, 2) jointly with the risks of algorithms whose losses are (J, n).

    In each draw the rule of direction q follows the re-estimated group shares, 1{q'M~ t > 0}, as published, unless
    ``hold_rules`` keeps it at 1{q'M^ t > 0}. With ``along`` (K, 2) the rules of ``directions`` are valued in other
    directions: along'e(rule) instead of q'e(rule).
    """
    check_draws(n_boot)
    q = check_directions(directions)
    valued = q if along is None else check_directions(along)
    plan = make_plan(function, np.empty((0, function.n_obs)) if losses is None else losses)
    fold, right = _fold_directions(q)
    h = np.empty((n_boot, len(q)))
    risks = np.empty((n_boot, len(plan.extra), 2))

    held = function.mu if hold_rules else np.zeros(2)

    def one(number: int, w: FloatArray) -> None:
        _draw_on_directions(
            w, plan.stops, plan.a, plan.b, plan.sign, plan.weight, plan.base, plan.change, plan.extra,
            q, valued, fold, right, held, h[number], risks[number],
        )  # fmt: skip

    for_each_draw(plan, one, n_boot=n_boot, seed=seed, n_jobs=n_jobs)
    ones = np.ones(len(plan.rows))
    h_hat, risks_hat = np.empty(len(q)), np.empty((len(plan.extra), 2))
    _draw_on_directions(
        ones, plan.stops, plan.a, plan.b, plan.sign, plan.weight, plan.base, plan.change, plan.extra,
        q, valued, fold, right, held, h_hat, risks_hat,
    )  # fmt: skip
    return Draws(valued, h_hat, h, risks_hat, risks, function.n_obs)


@dataclass(frozen=True, slots=True)
class DrawingContext:
    """A support function together with how its draws are made, and the regret of its rules if it was estimated."""

    function: SupportFunction
    n_boot: int
    seed: np.random.SeedSequence
    n_jobs: int | None = None
    regret: Regret | None = None

    def draw(
        self,
        directions: ArrayLike,
        losses: FloatArray | None = None,
        *,
        hold_rules: bool = False,
        along: ArrayLike | None = None,
    ) -> Draws:
        """Draw h at ``directions`` and the risks of ``losses`` (J, n): see `draw_process`."""
        return draw_process(
            self.function,
            directions,
            losses,
            n_boot=self.n_boot,
            seed=self.seed,
            n_jobs=self.n_jobs,
            hold_rules=hold_rules,
            along=along,
        )

    def correct(self, draws: Draws) -> Draws:
        """Add the estimated regret to h: its mean to the estimate, that of one refit after the other to the draws.

        The regret of the rules at hand is not known but has a distribution, that of the refits; so it varies over the
        draws. Without an estimated regret nothing changes.
        """
        if self.regret is None:
            return draws
        values = self.regret.values(draws.directions)
        cycled = values[np.arange(draws.n_boot) % len(values)]
        return replace(draws, h_hat=draws.h_hat + values.mean(axis=0), h=draws.h + cycled)


@dataclass(frozen=True, slots=True)
class RandomWeights:
    """The random weights of all draws: draw b reads its own stretch of one PCG64 sequence.

    ``n_rows`` weights per draw; rows of one of the ``clusters`` (n,) share theirs.
    """

    seed: np.random.SeedSequence
    n_rows: int
    clusters: IntArray | None = None

    def stream(self) -> Callable[[int], FloatArray]:
        """Return a function from the number of a draw to its weights (n,), valid until its next call."""
        state = np.random.PCG64(self.seed).state
        bits = np.random.PCG64(0)
        generator = np.random.Generator(bits)
        raw = np.empty(self.n_rows if self.clusters is None else int(self.clusters.max()) + 1)

        def weights(number: int) -> FloatArray:
            bits.state = state
            bits.advance(number * JUMP % 2**128)
            generator.standard_exponential(out=raw)
            return raw if self.clusters is None else raw[self.clusters]

        return weights


def for_each_draw(
    plan: DrawPlan,
    consume: Callable[[int, FloatArray], None],
    *,
    n_boot: int,
    seed: np.random.SeedSequence,
    n_jobs: int | None = None,
) -> None:
    """Call ``consume(b, weights)`` for b = 0, ..., n_boot - 1, spread over threads.

    ``weights`` (n,) are in the plan's order and valid only during the call.
    """
    random = RandomWeights(seed, len(plan.rows), plan.clusters)

    def work(numbers_of_draws: range) -> None:
        weights = random.stream()
        for number in numbers_of_draws:
            consume(number, weights(number))

    jobs = min(effective_n_jobs(n_jobs), n_boot)
    if jobs == 1:
        work(range(n_boot))
        return
    with ThreadPoolExecutor(jobs) as pool:
        list(pool.map(work, (range(j, n_boot, jobs) for j in range(jobs))))


def _fold_directions(q: FloatArray) -> tuple[IntArray, BoolArray]:
    """Order in which the sweep meets the directions, and which of them lie on its half circle."""
    right = (q[:, 0] > 0.0) | ((q[:, 0] == 0.0) & (q[:, 1] < 0.0))
    folded = np.where(right[:, None], q, -q)
    # the sweep runs from angle -pi/2 to pi/2, whatever positive scale the two coordinates have; slopes, unlike angles,
    # tell (0, -1) from directions that differ from it by rounding
    with np.errstate(divide="ignore", over="ignore"):
        slope = folded[:, 1] / (folded[:, 0] + 0.0)  # not divided by -0
    return np.argsort(slope, kind="stable"), right


@njit(cache=True, nogil=True, fastmath={"reassoc", "nsz", "contract"})
def _dot(w, x, start, stop):  # type: ignore[no-untyped-def]
    total = 0.0
    for i in range(start, stop):
        total += w[i] * x[i]
    return total


@njit(cache=True, nogil=True, fastmath={"reassoc", "nsz", "contract"})
def _two_dots(w, x, y, start, stop):  # type: ignore[no-untyped-def]
    first, second = 0.0, 0.0
    for i in range(start, stop):
        first += w[i] * x[i]
        second += w[i] * y[i]
    return first, second


@njit(cache=True, nogil=True)
def _passed(a, b, start, stop, p1, p2):  # type: ignore[no-untyped-def]
    """Index of the first sorted row in [start, stop) with p'(a, b) <= 0."""
    low, high = start, stop
    while low < high:
        middle = (low + high) // 2
        if p1 * a[middle] + p2 * b[middle] > 0.0:
            low = middle + 1
        else:
            high = middle
    return low


@njit(cache=True, nogil=True)
def _draw_on_directions(  # type: ignore[no-untyped-def]
    w, stops, a, b, sign, weight, base, change, extra, q, along, fold, right, held, h, risks
):
    """Value the rules of ``q`` in the directions ``along``, and the risks (J, 2), under the random weights ``w``.

    Two passes over the rows; h (K,) and the risks are written.
    """
    mass, level = np.empty(2), np.empty(2)
    begin = 0
    for g in range(2):
        mass[g], level[g] = _two_dots(w, weight, base, begin, stops[g, 1])
        for j in range(extra.shape[0]):
            risks[j, g] = _dot(w, extra[j], begin, stops[g, 1]) / mass[g]
        begin = stops[g, 1]
    total_mass = mass[0] + mass[1]
    mu_r, mu_b = mass[0] / total_mass, mass[1] / total_mass
    if held[0] > 0.0:
        mu_r, mu_b = held[0], held[1]
    h[:] = 0.0
    begin = 0
    for g in range(2):
        moving = stops[g, 0]
        cursor, prefix = begin, 0.0
        for k in fold:
            p1, p2 = q[k, 0] / mu_r, q[k, 1] / mu_b
            if not right[k]:
                p1, p2 = -p1, -p2
            position = _passed(a, b, cursor, moving, p1, p2)
            prefix += _dot(w, change, cursor, position)
            cursor = position
            value = prefix
            # rows exactly perpendicular are untreated: see values_at of the sweep
            tied = position
            while tied < moving and p1 * a[tied] + p2 * b[tied] == 0.0:
                if (sign[tied] < 0) == right[k]:
                    value += w[tied] * change[tied]
                tied += 1
            h[k] += along[k, g] * (level[g] + (value if right[k] else -value)) / mass[g]
        everything = prefix + _dot(w, change, cursor, moving)
        for k in range(q.shape[0]):
            if not right[k]:
                h[k] += along[k, g] * everything / mass[g]
        begin = stops[g, 1]
