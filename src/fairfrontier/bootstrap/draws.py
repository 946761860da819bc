"""Exponential-weight draws of the joint process (h, e*), streamed draw by draw.

Draw b multiplies every row's weight (every cluster's, with clusters) by an independent Exp(1) number, re-estimates the
group shares mu, and recomputes the support function and the algorithms' risks (paper: Procedure 2, step 1). The numbers
depend on the seed, the draw and the row alone (`weights`), so results depend neither on the number of threads nor on
how many draws are asked for. Memory is O(n) per thread.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from joblib import effective_n_jobs
from numba import njit

from ..arrays import ArrayLike, BoolArray, FloatArray, IntArray, SignArray
from ..data.checks import check_directions, check_draws
from ..frontier.regret import Regret
from ..frontier.support import SupportFunction
from .weights import BLOCK, RandomWeights


class Rows(NamedTuple):
    """Rows as the compiled sums read them: block by block, in a block group by group.

    Within a group the rows that some direction selects come first, in the sweep's order of angle: the moving rows.
    ``stops`` (n_blocks, 2, 3) holds, for each block and group, where its rows begin, where its moving rows end and where
    all of them end. ``a``, ``b``, ``sign`` (n,) are those of the sweep; ``weight``, ``base`` and ``change`` (n,) and
    ``extra`` (J, n), the losses of J algorithms, carry the row's own weight.
    """

    stops: IntArray
    a: FloatArray
    b: FloatArray
    sign: SignArray
    weight: FloatArray
    base: FloatArray
    change: FloatArray
    extra: FloatArray


@dataclass(frozen=True, slots=True)
class DrawPlan:
    """Rows arranged for fast draws: ``units`` (n,) tells which of the ``n_units`` random weights each of them gets.

    In a plan of several blocks ``units`` count from the beginning of the row's own block of random weights.
    """

    rows: Rows
    units: IntArray
    n_units: int

    @property
    def n_algorithms(self) -> int:
        """Number of algorithms J whose losses are drawn along."""
        return len(self.rows.extra)


def make_plan(function: SupportFunction, losses: FloatArray, block: int | None = None) -> DrawPlan:
    """Arrange the rows of a support function together with the ``losses`` (J, n) of algorithms.

    With ``block`` the rows whose random weights belong to one block of that many lie together, else all of them.
    """
    s, arcs, order = function.scores, function.estimate, function.order
    n = function.n_obs
    unit = np.arange(n) if s.clusters is None else s.clusters
    n_units = int(unit.max()) + 1
    size = n_units if block is None else block
    moves = np.zeros(n, dtype=bool)
    moves[order] = True
    # by block, then group, then moving before still
    kind = 2 * s.group + ~moves if n_units <= size else 4 * (unit // size) + 2 * s.group + ~moves
    counts = np.bincount(kind, minlength=4 * -(-n_units // size))
    ends = np.cumsum(counts)
    rows, swept = _place_rows(order, moves, kind.astype(np.uint16 if len(ends) <= 2**16 else np.intp), ends - counts)
    begins = (ends - counts).reshape(-1, 2, 2)[:, :, :1]
    stops = np.concatenate([begins, ends.reshape(-1, 2, 2)], axis=2)
    moving, weight = moves[rows], s.weight[rows]
    a, b = (np.where(moving, values[swept], 0.0) for values in (arcs.a, arcs.b))
    sign = np.where(moving, arcs.sign[swept], np.int8(1))
    change = weight * s.dl[rows] * moving
    base = weight * s.l0[rows] + change * (sign < 0)
    extra = np.take(losses, rows, axis=1)  # in rows, as the draws read it
    extra *= weight
    local = unit[rows] if n_units <= size else unit[rows] % size
    units = local.astype(np.uint16 if size <= 2**16 else np.intp)
    return DrawPlan(Rows(stops, a, b, sign, weight, base, sign * change, extra), units, n_units)


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


class Turns(NamedTuple):
    """Directions ``q`` (K, 2) whose rules are valued ``along`` (K, 2) others, as the compiled sums read them.

    ``fold`` (K,): the order in which the sweep meets them; ``right`` (K,): which of them lie on its half circle;
    ``held`` (2,): group shares of the rules, (0, 0) if these follow the drawn ones.
    """

    q: FloatArray
    along: FloatArray
    fold: IntArray
    right: BoolArray
    held: FloatArray


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
    turns = Turns(q, valued, *_fold_directions(q), function.mu if hold_rules else np.zeros(2))
    of = np.empty((0, function.n_obs)) if losses is None else losses
    plan = make_plan(function, of)
    h_hat, risks_hat = np.empty(len(q)), np.empty((len(of), 2))
    ones = np.ones(function.n_obs)
    levels, sums, places = sum_levels(ones, plan.rows), np.zeros((len(q) + 1, 2)), _places(plan.rows, turns)
    if hold_rules:
        _add_changes(0, ones, plan.rows, turns, places, sums)
    else:
        _sum_changes(ones, plan.rows, turns, places, levels, sums)
    _value_rules(turns, levels, sums, h_hat, risks_hat)
    if plan.n_units > BLOCK:
        plan = make_plan(function, of, BLOCK)
    h, risks = np.empty((n_boot, len(q))), np.empty((n_boot, len(of), 2))

    def worker() -> Callable[[int], None]:
        reader, places = DrawReader(plan, seed), _places(plan.rows, turns)
        w, levels, sums = np.empty(function.n_obs), np.empty((2 + len(of), 2)), np.empty((len(q) + 1, 2))

        def one(number: int) -> None:
            for k, raw, units in reader.blocks(number):
                _draw_block(k, raw, units, w, plan.rows, turns, places, levels, sums, h[number], risks[number])

        return one

    for_each_draw(worker, n_boot=n_boot, n_jobs=n_jobs)
    return Draws(valued, h_hat, h, risks_hat, risks, function.n_obs)


class DrawReader:
    """Reads the random weights of a plan's rows; every thread needs its own."""

    def __init__(self, plan: DrawPlan, seed: np.random.SeedSequence) -> None:
        self._stream = RandomWeights(seed, plan.n_units).stream()
        self._units = [plan.units[own[0, 0] : own[1, 2]] for own in plan.rows.stops]
        self._whole = len(self._units) == 1 and plan.n_units > BLOCK

    def blocks(self, number: int) -> Iterator[tuple[int, FloatArray, IntArray]]:
        """Yield each block of the plan with the random weights of a draw and which of them its rows get.

        The weights are valid until the next block.
        """
        for k, units in enumerate(self._units):
            yield k, self._stream.draw(number) if self._whole else self._stream.block(number, k), units


def for_each_draw(worker: Callable[[], Callable[[int], None]], *, n_boot: int, n_jobs: int | None = None) -> None:
    """Do draws 0, ..., n_boot - 1, spread over threads; each thread gets a ``worker()`` of its own to call with them."""

    def work(draws: range) -> None:
        one = worker()
        for number in draws:
            one(number)

    jobs = min(effective_n_jobs(n_jobs), n_boot)
    if jobs == 1:
        work(range(n_boot))
        return
    with ThreadPoolExecutor(jobs) as pool:
        list(pool.map(work, (range(j, n_boot, jobs) for j in range(jobs))))


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


def sum_levels(w: FloatArray, rows: Rows) -> FloatArray:
    """Sums (2 + J, 2) by group under random weights: of the weights, of the base losses, of the J algorithms' losses."""
    levels = np.zeros((2 + len(rows.extra), 2))
    for k in range(len(rows.stops)):
        _add_levels(w, rows, k, levels)
    return levels


def _fold_directions(q: FloatArray) -> tuple[IntArray, BoolArray]:
    """Order in which the sweep meets the directions, and which of them lie on its half circle."""
    right = (q[:, 0] > 0.0) | ((q[:, 0] == 0.0) & (q[:, 1] < 0.0))
    folded = np.where(right[:, None], q, -q)
    # the sweep runs from angle -pi/2 to pi/2, whatever positive scale the two coordinates have; slopes, unlike angles,
    # tell (0, -1) from directions that differ from it by rounding
    with np.errstate(divide="ignore", over="ignore"):
        slope = folded[:, 1] / (folded[:, 0] + 0.0)  # not divided by -0
    return np.argsort(slope, kind="stable"), right


def _places(rows: Rows, turns: Turns) -> IntArray:
    """Room for the places (n_blocks, 2, K, 2) of the directions in the arranged rows, filled if the rules are held."""
    places = np.empty((len(rows.stops), 2, len(turns.q), 2), dtype=np.intp)
    if turns.held[0] > 0.0:
        _find_places(rows, turns, *turns.held, places)
    return places


@njit(cache=True, nogil=True)
def _place_rows(order, moves, kind, cursor):  # type: ignore[no-untyped-def]
    """Sort rows by their kind, the moving ones in the order of the sweep: the rows, and their positions in the sweep.

    ``cursor`` holds where each kind begins; rows that do not move have position 0.
    """
    n = moves.shape[0]
    rows, swept = np.empty(n, dtype=np.intp), np.zeros(n, dtype=np.intp)
    for j in range(order.shape[0]):
        i = order[j]
        at = cursor[kind[i]]
        cursor[kind[i]] += 1
        rows[at], swept[at] = i, j
    for i in range(n):
        if not moves[i]:
            rows[cursor[kind[i]]] = i
            cursor[kind[i]] += 1
    return rows, swept


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
def _add_levels(w, rows, block, levels):  # type: ignore[no-untyped-def]
    """Add the sums over one block to ``levels`` (2 + J, 2)."""
    for g in range(2):
        begin, stop = rows.stops[block, g, 0], rows.stops[block, g, 2]
        mass, level = _two_dots(w, rows.weight, rows.base, begin, stop)
        levels[0, g] += mass
        levels[1, g] += level
        for j in range(rows.extra.shape[0]):
            levels[2 + j, g] += _dot(w, rows.extra[j], begin, stop)


@njit(cache=True, nogil=True, fastmath={"reassoc", "nsz", "contract"})
def _product(x, y):  # type: ignore[no-untyped-def]
    """Product of two vectors, several times faster than `_dot` where they are long."""
    total = 0.0
    for i in range(x.shape[0]):
        total += x[i] * y[i]
    return total


@njit(cache=True, nogil=True)
def read_block(block, raw, units, w, rows, levels):  # type: ignore[no-untyped-def]
    """Put the random weights ``raw`` of one block into the order of its rows, and add their sums to ``levels``."""
    if block == 0:
        levels[:] = 0.0
    own = w[rows.stops[block, 0, 0] : rows.stops[block, 1, 2]]
    for i in range(own.shape[0]):
        own[i] = raw[units[i]]
    for g in range(2):
        part = slice(rows.stops[block, g, 0], rows.stops[block, g, 2])
        levels[0, g] += _product(w[part], rows.weight[part])
        levels[1, g] += _product(w[part], rows.base[part])
        for j in range(rows.extra.shape[0]):
            levels[2 + j, g] += _product(w[part], rows.extra[j, part])


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
def _find_places(rows, turns, mu_r, mu_b, places):  # type: ignore[no-untyped-def]
    """Write the first row past each direction, in the order of the sweep, and the first one not perpendicular to it."""
    for block in range(rows.stops.shape[0]):
        for g in range(2):
            position, stop = rows.stops[block, g, 0], rows.stops[block, g, 1]
            for j in range(turns.fold.shape[0]):
                k = turns.fold[j]
                p1, p2 = turns.q[k, 0] / mu_r, turns.q[k, 1] / mu_b
                if not turns.right[k]:
                    p1, p2 = -p1, -p2
                position = _passed(rows.a, rows.b, position, stop, p1, p2)
                tied = position
                while tied < stop and p1 * rows.a[tied] + p2 * rows.b[tied] == 0.0:
                    tied += 1
                places[block, g, j, 0], places[block, g, j, 1] = position, tied


@njit(cache=True, nogil=True)
def _add_changes(block, w, rows, turns, places, sums):  # type: ignore[no-untyped-def]
    """Add to ``sums`` (K + 1, 2) what the rules change in one block, in the order of the sweep, and last all changes."""
    last = sums.shape[0] - 1
    for g in range(2):
        cursor, prefix = rows.stops[block, g, 0], 0.0
        for j in range(last):
            position = places[block, g, j, 0]
            prefix += _dot(w, rows.change, cursor, position)
            cursor = position
            value = prefix
            # rows exactly perpendicular are not selected: see values_at of the sweep
            for i in range(position, places[block, g, j, 1]):
                if (rows.sign[i] < 0) == turns.right[turns.fold[j]]:
                    value += w[i] * rows.change[i]
            sums[j, g] += value
        sums[last, g] += prefix + _dot(w, rows.change, cursor, rows.stops[block, g, 1])


@njit(cache=True, nogil=True)
def _value_rules(turns, levels, sums, h, risks):  # type: ignore[no-untyped-def]
    """Write h (K,) and risks (J, 2) from the sums of a draw."""
    last = sums.shape[0] - 1
    h[:] = 0.0
    for g in range(2):
        mass, level = levels[0, g], levels[1, g]
        for j in range(last):
            k = turns.fold[j]
            value = sums[j, g] if turns.right[k] else -sums[j, g]
            h[k] += turns.along[k, g] * (level + value) / mass
            if not turns.right[k]:
                h[k] += turns.along[k, g] * sums[last, g] / mass
        for j in range(risks.shape[0]):
            risks[j, g] = levels[2 + j, g] / mass


@njit(cache=True, nogil=True)
def _sum_changes(w, rows, turns, places, levels, sums):  # type: ignore[no-untyped-def]
    """Find the places of rules that follow the drawn group shares, and add what they change in all blocks."""
    total = levels[0, 0] + levels[0, 1]
    _find_places(rows, turns, levels[0, 0] / total, levels[0, 1] / total, places)
    for block in range(rows.stops.shape[0]):
        _add_changes(block, w, rows, turns, places, sums)


@njit(cache=True, nogil=True)
def _draw_block(block, raw, units, w, rows, turns, places, levels, sums, h, risks):  # type: ignore[no-untyped-def]
    """Read one block of a draw, and after the last one write h and risks."""
    read_block(block, raw, units, w, rows, levels)
    if block == 0:
        sums[:] = 0.0
    held = turns.held[0] > 0.0
    if held:  # while the block's weights are at hand
        _add_changes(block, w, rows, turns, places, sums)
    if block == rows.stops.shape[0] - 1:
        if not held:
            _sum_changes(w, rows, turns, places, levels, sums)
        _value_rules(turns, levels, sums, h, risks)
