"""The infeasible algorithm to which the hospital study compares: swaps that end the gap in health at the margin."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...arrays import ArrayLike, BoolArray, FloatArray, IntArray
from ...errors import InputError


@dataclass(frozen=True, slots=True)
class Swaps:
    """What swapping does at one threshold: share of the group among the selected ``before`` and ``after``.

    ``selected`` are the people selected afterwards, ``swapped`` the number of swaps.
    """

    before: float
    after: float
    selected: BoolArray
    swapped: int


def score_percentiles(score: ArrayLike) -> IntArray:
    """Percentile bin of each score, 1 to 100: bin t holds scores above the (t-1)% and up to the t% quantile.

    Equal quantiles count once, so that with many ties there are fewer bins.
    """
    score = np.asarray(score, dtype=float)
    edges = np.unique(np.quantile(score, np.arange(101) / 100.0))
    return np.asarray(np.maximum(np.searchsorted(edges, score, side="left"), 1), dtype=np.intp)


def swap_by_health(
    score: ArrayLike, health: ArrayLike, in_group: ArrayLike, percentile: int, *, passing_over: bool = False
) -> Swaps:
    """Swap selected people of the other group for sicker people of the group who are not selected, one by one.

    At first everyone is selected whose score is in the given percentile bin or above. Then the others of the group
    are asked in the order of their scores, highest first (of equal scores the sicker first): whoever is strictly
    sicker than the healthiest selected person of the other group who is left takes that person's place. This is what
    an algorithm with hindsight could do; it needs the group and the health of the next year.

    Parameters
    ----------
    score : (n,) array
        The algorithm's score.
    health : (n,) array
        Number of conditions, known only afterwards.
    in_group : (n,) bool array
        Who belongs to the group that is to gain.
    percentile : int
        Bin from which on people are selected, 1 to 100.
    passing_over : bool
        Pass over every second selected person of the other group, as the program behind the hospital study's Figure
        1b does. The shares of its Figure 1b need True, those of Table III of Liu and Molinari False.

    Returns
    -------
    Swaps
    """
    score, health = np.asarray(score, dtype=float), np.asarray(health, dtype=float)
    group = np.asarray(in_group, dtype=bool)
    if not score.shape == health.shape == group.shape or score.ndim != 1 or not len(score):
        raise InputError("length-mismatch", "Score, health and group must be columns of the same, positive length.")
    if not 1 <= percentile <= 100:
        raise InputError("bad-option", f"`percentile` must lie between 1 and 100, got {percentile!r}.")
    selected = score_percentiles(score) >= percentile
    if not selected.any():
        return Swaps(np.nan, np.nan, selected, 0)
    leaving = np.flatnonzero(selected & ~group)
    leaving = leaving[np.argsort(health[leaving], kind="stable")]
    if passing_over:
        leaving = leaving[::2]
    coming = np.flatnonzero(~selected & group)
    coming = coming[np.lexsort((-health[coming], -score[coming]))]
    after, swapped = selected.copy(), 0
    for person in coming:
        if swapped == len(leaving):
            break
        if health[leaving[swapped]] < health[person]:
            after[leaving[swapped]], after[person] = False, True
            swapped += 1
    return Swaps(_share(selected, group), _share(after, group), after, swapped)


def _share(selected: BoolArray, group: BoolArray) -> float:
    return float(np.count_nonzero(selected & group) / np.count_nonzero(selected))


def shares(
    score: FloatArray, health: FloatArray, in_group: BoolArray, percentiles: range, *, passing_over: bool = False
) -> FloatArray:
    """Shares (k, 2) before and after swapping at every percentile."""
    found = [swap_by_health(score, health, in_group, t, passing_over=passing_over) for t in percentiles]
    return np.array([(one.before, one.after) for one in found])
