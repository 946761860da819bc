"""The fan of weights that can separate the improvements on an algorithm from what rules attain, cut into cones.

A rule improves on an algorithm with criteria c* if no slack is negative, one slack for each *generator*: the risk of
group g is no higher (slack c*_g - c_g), the range of the risks is no wider (range* - (c_g - c_h) for every ordered
pair), or the gap to a reference group is no wider (|c*_g - c*_ref| -+ (c_g - c_ref)). Weights lam >= 0 on the
generators have the net weight p = sum of lam_m p_m on the criteria. There is an improvement that is strict in every
separating direction if and only if for every lam with p != 0 some rule has a positive weighted slack. Of all lam with
the same p the one with the least slack decides, and these fill the cones built here: each is spanned by as many
generators as there are criteria.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from ..arrays import FloatArray, IntArray

Pair = tuple[int, int]
"""Two criteria: the first less the second."""


@dataclass(frozen=True, slots=True)
class Fan:
    """Generators and the cones that they span.

    The slack of generator m is room_m + p_m'(c* - c(a)) for a rule with criteria c(a), where room_m >= 0 is what the
    algorithm itself leaves: a linear function of its criteria and of the *widths*, each the largest of some differences
    of criteria (the range of the risks; the gap of a group to the reference).

    Attributes
    ----------
    directions : array (M, J)
        Net weights p_m of the generators on the criteria; the first J are those of single criteria.
    rooms : array (M, J + V)
        The room of each generator as coefficients of the criteria c* and of the widths.
    widths : tuple (V,) of tuples of pairs
        The differences of which each width is the largest.
    cones : integer array (C, J)
        Generators of each cone.
    """

    directions: FloatArray
    rooms: FloatArray
    widths: tuple[tuple[Pair, ...], ...]
    cones: IntArray

    @property
    def corners(self) -> FloatArray:
        """Net weights and rooms (C, J, 2 J + V) of the generators of each cone."""
        both: FloatArray = np.hstack([self.directions, self.rooms])[self.cones]
        return both

    def width(self, criteria: FloatArray) -> FloatArray:
        """Widths (V,) of known criteria (J,)."""
        return np.array([max(criteria[g] - criteria[h] for g, h in pairs) for pairs in self.widths])


class _Generators:
    """Generators by name: one for each criterion, then pairs in the order in which cones first use them."""

    def __init__(self, n_criteria: int, make: Callable[[Pair | int], tuple[FloatArray, FloatArray]]) -> None:
        self.make = make
        self.number: dict[Pair | int, int] = {g: g for g in range(n_criteria)}

    def __getitem__(self, name: Pair | int) -> int:
        return self.number.setdefault(name, len(self.number))

    def fan(self, cones: Sequence[Sequence[int]], widths: tuple[tuple[Pair, ...], ...]) -> Fan:
        made = [self.make(name) for name in self.number]
        return Fan(
            np.array([direction for direction, _ in made]),
            np.array([room for _, room in made]),
            widths,
            np.array(cones, dtype=np.intp),
        )


def _subsets(items: Sequence[int]) -> Iterator[tuple[int, ...]]:
    for size in range(len(items) + 1):
        yield from combinations(items, size)


def _units(n_criteria: int, name: Pair | int) -> FloatArray:
    direction = np.zeros(n_criteria)
    if isinstance(name, tuple):
        direction[name[0]], direction[name[1]] = 1.0, -1.0
    else:
        direction[name] = 1.0
    return direction


def range_fan(criteria: FloatArray) -> Fan:
    """Fan of "no criterion higher and their range no wider", for an algorithm with ``criteria`` (J,).

    For every proper subset N of the criteria, the net weights that are negative on N and positive on the others, P,
    are those of a flow: every weight on a pair goes from P to N (a longer path only adds slack). Least slack gives
    weight of its own to the smallest criteria of P, and takes what flows to N from the largest. That is the staircase
    triangulation of a product of two simplices, P by N and "nowhere": binom(2J - 1, J - 1) cones in all. A wrong
    order of estimated criteria only adds slack.
    """
    n = len(criteria)
    pairs = tuple((g, h) for g in range(n) for h in range(n) if g != h)

    def make(name: Pair | int) -> tuple[FloatArray, FloatArray]:
        direction = _units(n, name)
        room = np.append(-direction, 1.0) if isinstance(name, tuple) else np.zeros(n + 1)
        return direction, room

    generators = _Generators(n, make)
    order = np.argsort(criteria, kind="stable").tolist()
    cones = []
    for negative in _subsets(order):
        positive = [g for g in order if g not in negative]
        if positive:
            targets = [None, *negative]
            for path in _staircases(len(positive), len(targets)):
                names = [(positive[i], targets[j]) for i, j in path]
                cones.append([generators[g if h is None else (g, h)] for g, h in names])
    return generators.fan(cones, (pairs,))


def _staircases(rows: int, columns: int) -> Iterator[list[Pair]]:
    """All paths from (0, 0) to (rows - 1, columns - 1) by steps of one in either coordinate."""
    steps = rows + columns - 2
    for down in combinations(range(steps), rows - 1):
        path = [(0, 0)]
        for step in range(steps):
            i, j = path[-1]
            path.append((i + 1, j) if step in down else (i, j + 1))
        yield path


def reference_fan(criteria: FloatArray, reference: int) -> Fan:
    """Fan of "no criterion higher and no gap to the criterion ``reference`` wider".

    Let y_g be the weight on "c_g less the reference", which may flow on from the reference to criteria N with
    negative net weight. If more flows to N than from P, the reference gives the rest by its own weight: one cone for
    every N. Otherwise least slack takes the flow from those of P with the smallest |c*_g - c*_ref| - c*_g: one cone
    for every N and member of P. Together 2^(J - 1) + (J - 1) 2^(J - 2) cones.
    """
    n = len(criteria)
    others = [g for g in range(n) if g != reference]
    gap = np.abs(criteria - criteria[reference])

    def make(name: Pair | int) -> tuple[FloatArray, FloatArray]:
        direction = _units(n, name)
        if not isinstance(name, tuple):
            return direction, np.zeros(2 * n - 1)
        other = name[0] if name[1] == reference else name[1]
        width = np.zeros(n - 1)
        width[others.index(other)] = 1.0
        return direction, np.concatenate([-direction, width])

    generators = _Generators(n, make)
    order = sorted(others, key=lambda g: float(gap[g] - criteria[g]))
    cones = []
    for negative in _subsets(order):
        flowing = [generators[reference, h] for h in negative]
        positive = [g for g in order if g not in negative]
        cones.append([*(generators[g] for g in positive), generators[reference], *flowing])
        for k in range(len(positive)):
            before = [generators[g, reference] for g in positive[: k + 1]]
            cones.append([*before, *(generators[g] for g in positive[k:]), *flowing])
    return generators.fan(cones, tuple(((g, reference), (reference, g)) for g in others))
