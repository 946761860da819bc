"""Exponential-weight draws of the joint process (h, e*), streamed draw by draw.

Draw b multiplies every row's weight (every cluster's, with clusters) by an independent Exp(1) number, re-estimates the
group shares mu, and recomputes the support function and the algorithms' risks (paper: Procedure 2, step 1). The numbers
depend on the seed, the draw and the row alone (`weights`), so results depend neither on the number of threads nor on
how many draws are asked for. Memory is O(n) per thread.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np
from joblib import effective_n_jobs

from ..arrays import ArrayLike, BoolArray, FloatArray, IntArray
from ..data.checks import check_directions, check_draws
from ..frontier.attainable import Attainable
from ..frontier.regret import Regret
from ..frontier.support import SupportFunction
from . import weights
from .arrangement import DrawReader, arrange_rows, sum_levels
from .kernels import Rows, Turns, add_changes, draw_block, find_places, sum_changes, value_rules


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


@dataclass(frozen=True, slots=True)
class RuleDraws:
    """Risks (K, 2) of the rules of K directions, and draws (B, K, 2) of them."""

    risks: FloatArray
    draws: FloatArray


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
    of = np.empty((0, function.scores.n_rows)) if losses is None else losses
    arranged = arrange_rows(function, of, in_blocks=False)
    h_hat, risks_hat = _estimate(arranged.rows, turns)
    if arranged.n_units > weights.BLOCK:
        del arranged  # before another one takes as much memory
        arranged = arrange_rows(function, of, in_blocks=True)
    h, risks = np.empty((n_boot, len(q))), np.empty((n_boot, len(of), 2))

    def worker() -> Callable[[int], None]:
        reader, places = DrawReader(arranged, seed), _places(arranged.rows, turns)
        w, levels, sums = np.empty(function.scores.n_rows), np.empty((2 + len(of), 2)), np.empty((len(q) + 1, 2))

        def one(number: int) -> None:
            for k, raw, units in reader.blocks(number):
                draw_block(k, raw, units, w, arranged.rows, turns, places, levels, sums, h[number], risks[number])

        return one

    for_each_draw(worker, n_boot=n_boot, n_jobs=n_jobs)
    return Draws(valued, h_hat, h, risks_hat, risks, function.n_obs)


def for_each_draw(worker: Callable[[], Callable[[int], None]], *, n_boot: int, n_jobs: int | None = None) -> None:
    """Do draws 0, ..., n_boot - 1, spread over threads: each thread calls its own ``worker()`` with their numbers."""

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


class Drawing(Protocol):
    """A support function together with how its draws are made."""

    @property
    def function(self) -> Attainable:
        """The support function."""
        ...

    @property
    def n_boot(self) -> int:
        """Number of draws."""
        ...

    def draw(
        self, directions: ArrayLike, losses: FloatArray, *, hold_rules: bool = ..., along: ArrayLike | None = ...
    ) -> Draws:
        """Draw the values of the rules of ``directions`` (K, 2), and the risks of algorithms with ``losses`` (J, n)."""
        ...

    def draw_rules(self, directions: FloatArray) -> RuleDraws:
        """Draw the risks of the rules of ``directions`` (K, 2), which are held."""
        ...

    def draw_with_rules(
        self, directions: FloatArray, losses: FloatArray, along: FloatArray, menu: FloatArray
    ) -> tuple[Draws, RuleDraws]:
        """Return `draw` of ``directions`` with rules held, and `draw_rules` of ``menu``."""
        ...

    def exact(self) -> DrawingContext:
        """Return the exact sweep, for procedures that need every direction; refuse where there is none."""
        ...


@dataclass(frozen=True, slots=True)
class DrawingContext:
    """A support function together with how its draws are made, and the regret of its rules if it was estimated.

    ``n_folds``: folds of the cross-fitting, 0 for predictions from outside.
    """

    function: SupportFunction
    n_boot: int
    seed: np.random.SeedSequence
    n_jobs: int | None = field(default=None, compare=False)
    regret: Regret | None = None
    n_folds: int = 0

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

    def draw_rules(self, directions: FloatArray) -> RuleDraws:
        """Draw the risks of the rules of ``directions`` (K, 2), which are held."""
        return self.draw_with_rules(np.empty((0, 2)), None, np.empty((0, 2)), directions)[1]

    def draw_with_rules(
        self, directions: FloatArray, losses: FloatArray | None, along: FloatArray, menu: FloatArray
    ) -> tuple[Draws, RuleDraws]:
        """Return `draw` of ``directions`` with rules held, and `draw_rules` of ``menu``, by drawing weights once."""
        k, m = len(directions), len(menu)
        axes = np.repeat(np.eye(2), m, axis=0)
        both = self.draw(np.vstack([directions, menu, menu]), losses, hold_rules=True, along=np.vstack([along, axes]))
        draws = replace(
            both, directions=both.directions[:k], h_hat=both.h_hat[:k], h=np.ascontiguousarray(both.h[:, :k])
        )
        risks, drawn = both.h_hat[k:].reshape(2, m).T, both.h[:, k:].reshape(-1, 2, m).transpose(0, 2, 1)
        return draws, RuleDraws(risks, drawn)

    def exact(self) -> DrawingContext:
        """Return itself: every direction is known."""
        return self


def _fold_directions(q: FloatArray) -> tuple[IntArray, BoolArray]:
    """Order in which the sweep meets the directions, and which of them lie on its half circle."""
    right = (q[:, 0] > 0.0) | ((q[:, 0] == 0.0) & (q[:, 1] < 0.0))
    folded = np.where(right[:, None], q, -q)
    # the sweep runs from angle -pi/2 to pi/2, whatever positive scale the two coordinates have; slopes, unlike angles,
    # separate (0, -1) from directions that differ from it by rounding
    with np.errstate(divide="ignore", over="ignore"):
        slope = folded[:, 1] / (folded[:, 0] + 0.0)  # not divided by -0
    return np.argsort(slope, kind="stable"), right


def _estimate(rows: Rows, turns: Turns) -> tuple[FloatArray, FloatArray]:
    """Return h (K,) and risks (J, 2) without random weights, of rows arranged in one block."""
    ones, sums = np.ones(len(rows.weight)), np.zeros((len(turns.q) + 1, 2))
    levels, places = sum_levels(ones, rows), _places(rows, turns)
    if turns.held[0] > 0.0:
        add_changes(0, ones, rows, turns, places, sums, False)
    else:
        sum_changes(ones, rows, turns, places, levels, sums, False)
    h, risks = np.empty(len(turns.q)), np.empty((len(rows.extra), 2))
    value_rules(turns, levels, sums, h, risks)
    return h, risks


def _places(rows: Rows, turns: Turns) -> IntArray:
    """Room for the places (n_blocks, 2, K, 2) of the directions in the arranged rows, filled if the rules are held."""
    places = np.empty((len(rows.stops), 2, len(turns.q), 2), dtype=np.intp)
    if turns.held[0] > 0.0:
        find_places(rows, turns, *turns.held, places)
    return places
