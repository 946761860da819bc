"""Draws of group means: what fixed rules and algorithms cost each group, with the same random weights as all draws."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..arrays import FloatArray, IntArray
from ..data.checks import check_draws
from .draws import for_each_draw
from .weights import RandomWeights


@dataclass(frozen=True, slots=True)
class MeanDraws:
    """Means (C, G) of C columns by group, and draws (B, C, G) of them."""

    means: FloatArray
    draws: FloatArray


def draw_group_means(
    columns: FloatArray,
    group: IntArray,
    n_groups: int,
    weight: FloatArray,
    clusters: IntArray | None,
    *,
    n_boot: int,
    seed: np.random.SeedSequence,
    n_jobs: int | None = None,
) -> MeanDraws:
    """Draw the weighted means of ``columns`` (C, n) in each group; rows with a group below 0 belong to none.

    Draw b weighs row i by w_i times the Exp(1) number of that row (of its cluster) in that draw.
    """
    check_draws(n_boot)
    units = np.arange(len(weight)) if clusters is None else clusters
    n_units = len(weight) if clusters is None else int(clusters.max()) + 1
    rows = [np.flatnonzero(group == g) for g in range(n_groups)]
    # the weights themselves are the last column
    own = [np.vstack([columns[:, at], np.ones(len(at))]) * weight[at] for at in rows]
    draws = np.empty((n_boot, len(columns), n_groups))

    def mean(random: FloatArray | None, out: FloatArray) -> None:
        for g, (at, values) in enumerate(zip(rows, own, strict=True)):
            # not a product of matrices: its last bits depend on how many threads the library uses
            w = np.ones(len(at)) if random is None else random[units[at]]
            sums = np.einsum("i,ci->c", w, values)
            out[:, g] = sums[:-1] / sums[-1]

    def worker() -> Callable[[int], None]:
        stream = RandomWeights(seed, n_units).stream()

        def one(number: int) -> None:
            mean(stream.draw(number), draws[number])

        return one

    for_each_draw(worker, n_boot=n_boot, n_jobs=n_jobs)
    means = np.empty((len(columns), n_groups))
    mean(None, means)
    return MeanDraws(means, draws)
