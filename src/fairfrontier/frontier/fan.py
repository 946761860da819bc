"""The fan of weights that can separate the improvements on an algorithm from what rules attain, cut into cones.

A rule improves on an algorithm with criteria c* if no slack is negative, one slack for each *generator*:

* a criterion such as the risk of a group is no higher: c*_g - c_g;
* the range of some criteria is no wider: range* - (c_g - c_h) for every ordered pair;
* the gap to a reference is no wider: |c*_g - c*_ref| -+ (c_g - c_ref);
* the ratio of the smallest to the largest is no smaller: c_h - ratio* c_g for every ordered pair;
* a criterion is kept within a tolerance: tolerance -+ (c_g - c*_g).

Weights lam >= 0 on the generators have the net weight p = sum of lam_m p_m on the criteria. There is an improvement
that is strict in every separating direction if and only if for every lam with p != 0 some rule has a positive weighted
slack. Of all lam with the same p the one with the least slack decides, and these fill the cones built here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from typing import Literal, NamedTuple

import numpy as np

from ..arrays import FloatArray, IntArray

Pair = tuple[int, int]
"""Two criteria: the first less the second."""


class Ratio(NamedTuple):
    """The smallest of some criteria over the largest of them."""

    members: tuple[int, ...]


class Kept(NamedTuple):
    """A criterion that may rise, with sign +1, or fall, with -1, by no more than a tolerance."""

    criterion: int
    sign: int
    tolerance: float


Width = tuple[Pair, ...] | Ratio | float
"""What generators leave room for: the largest of some differences, a ratio, or a known number."""
Name = int | Pair | Kept
"""A generator: of a single criterion, of an ordered pair, or of one that is kept."""


@dataclass(frozen=True, slots=True)
class Fan:
    """Generators and the cones that they span.

    The slack of generator m is room_m + p_m'(c* - c(a)) for a rule with criteria c(a), where room_m >= 0 is what the
    algorithm itself leaves: a linear function of its criteria and of the *widths*.

    Attributes
    ----------
    directions : array (M, J)
        Net weights p_m of the generators on the criteria; the first ones are those of criteria not to be higher.
    rooms : array (M, J + V)
        The room of each generator as coefficients of the criteria c* and of the widths.
    turns : array (M, J)
        By how much of the rule's criteria each slack falls as the ratio rises; 0 without a ratio.
    widths : tuple (V,) of Width
        What the rooms are made of besides the criteria.
    cones : integer array (C, D)
        Generators of each cone.
    alike : bool
        Whether all criteria are of one kind, and so have one unit: the risks of groups.
    """

    directions: FloatArray
    rooms: FloatArray
    turns: FloatArray
    widths: tuple[Width, ...]
    cones: IntArray
    alike: bool

    @property
    def spanning(self) -> FloatArray:
        """Net weights, rooms and turns (M, 3 J + V) of the generators."""
        return np.hstack([self.directions, self.rooms, self.turns])

    @property
    def corners(self) -> FloatArray:
        """Net weights, rooms and turns (C, D, 3 J + V) of the generators of each cone."""
        all_three: FloatArray = self.spanning[self.cones]
        return all_three

    def width(self, criteria: FloatArray) -> FloatArray:
        """Widths (V,) of known criteria (J,)."""
        return np.array([known_width(width, criteria) for width in self.widths])

    @property
    def width_of(self) -> IntArray:
        """The width (M,) to which each generator belongs, -1 for a criterion not to be higher."""
        n = self.directions.shape[1]
        own = np.where(self.rooms[:, n:].any(axis=1), self.rooms[:, n:].argmax(axis=1), -1)
        ratio = [v for v, width in enumerate(self.widths) if isinstance(width, Ratio)]
        return np.where(self.turns.any(axis=1), ratio[0], own) if ratio else own


def known_width(width: Width, criteria: FloatArray) -> float:
    """A width of known criteria (J,)."""
    if isinstance(width, Ratio):
        own = criteria[list(width.members)]
        return float(own.min() / own.max())
    if isinstance(width, tuple):
        return float(max(criteria[g] - criteria[h] for g, h in width))
    return float(width)


@dataclass(frozen=True, slots=True)
class Aims:
    """What an alternative must not make worse, by positions of criteria.

    Attributes
    ----------
    n_criteria : int
        Number J of criteria.
    lower : int
        The first so many criteria must not be higher.
    spread : tuple of int
        The criteria, one for each group, whose spread must not be larger: the first ones, which then must not be higher
        either, or others.
    measure : {"range", "ratio"}
        Spread as largest minus smallest, or as smallest over largest, which must not be smaller.
    reference : int, optional
        Position in ``spread`` of the group to which no gap may be wider, instead of the range.
    kept : tuple of Kept
        Criteria that are kept.
    further : int
        How many of the criteria that must not be higher, the last ones, are others than expected losses.
    """

    n_criteria: int
    lower: int
    spread: tuple[int, ...]
    measure: Literal["range", "ratio"] = "range"
    reference: int | None = None
    kept: tuple[Kept, ...] = ()
    further: int = 0

    @property
    def widths(self) -> tuple[Width, ...]:
        """What must not grow, or for a ratio not fall; then the tolerances."""
        tolerances = tuple(each.tolerance for each in self.kept)
        if self.measure == "ratio":
            return (Ratio(self.spread), *tolerances)
        if self.reference is None:
            return (tuple((g, h) for g in self.spread for h in self.spread if g != h), *tolerances)
        r = self.spread[self.reference]
        return (*(((g, r), (r, g)) for g in self.spread if g != r), *tolerances)

    def fan(self, theta: FloatArray) -> Fan:
        """The fan of an algorithm with criteria and widths ``theta`` (J + V,), all known or all estimated.

        A wrong order of estimated criteria only adds slack.
        """
        cones = [[name for part in parts for name in part] for parts in product(*self._blocks(theta))]
        number: dict[Name, int] = {g: g for g in range(self.lower)}
        numbered = [[number.setdefault(name, len(number)) for name in cone] for cone in cones]
        made = [self._generator(name, theta) for name in number]
        return Fan(
            np.array([direction for direction, _, _ in made]),
            np.array([room for _, room, _ in made]),
            np.array([turn for _, _, turn in made]),
            self.widths,
            np.array(numbered, dtype=np.intp),
            self.alike,
        )

    def _blocks(self, theta: FloatArray) -> list[list[list[Name]]]:
        """Blocks of generators of which a cone takes one part each: of criteria, pairs and what is kept."""
        blocks: list[list[list[Name]]] = []
        k = len(self.spread)
        if self.spread == tuple(range(k)):  # weights on criteria and on their own pairs are reduced together
            blocks.append(self._with_own_pairs(theta[:k]))
            blocks.append([list(range(k, self.lower))])
        else:
            blocks.append([list(range(self.lower))])
            blocks.append(_pair_cones(self.spread, self.reference))
        for criterion in dict.fromkeys(each.criterion for each in self.kept):
            blocks.append([[each] for each in self.kept if each.criterion == criterion])
        return blocks

    @property
    def kinds(self) -> tuple[tuple[int, ...], ...]:
        """Criteria that are the same for different groups: expected losses, and those whose spread is compared."""
        return tuple(range(self.lower - self.further)), self.spread

    @property
    def alike(self) -> bool:
        """Whether the criteria are the risks of groups and nothing else."""
        return self.spread == tuple(range(self.lower)) and not self.kept

    def _with_own_pairs(self, criteria: FloatArray) -> list[list[Name]]:
        return _range_cones(criteria) if self.reference is None else _reference_cones(criteria, self.reference)

    def _generator(self, name: Name, theta: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Net weights (J,), room (J + V,) and turn (J,) of a generator."""
        n, widths = self.n_criteria, self.widths
        direction, turn, room = np.zeros(n), np.zeros(n), np.zeros(n + len(widths))
        if isinstance(name, Kept):
            direction[name.criterion] = name.sign
            room[n + len(widths) - len(self.kept) + self.kept.index(name)] = 1.0
        elif not isinstance(name, tuple):
            direction[name] = 1.0
        else:
            g, h = name
            direction[g], direction[h] = 1.0, -1.0
            if self.measure == "ratio":  # c_h - ratio c_g = c*_h - ratio c*_g + (ratio, -1)'(c* - c)
                direction[g], turn[g] = theta[n], 1.0
            elif self.reference is None:
                room[n] = 1.0
            else:
                r = self.spread[self.reference]
                others = [each for each in self.spread if each != r]
                room[n + others.index(g if h == r else h)] = 1.0
            room[:n] = -direction
        return direction, room, turn


def by_group(n_groups: int, reference: int | None = None) -> Aims:
    """The aims "no group's criterion higher and their range, or no gap to a reference, wider"."""
    return Aims(n_groups, n_groups, tuple(range(n_groups)), reference=reference)


def range_fan(criteria: FloatArray) -> Fan:
    """Fan of "no criterion higher and their range no wider", for an algorithm with ``criteria`` (J,)."""
    return by_group(len(criteria)).fan(criteria)


def reference_fan(criteria: FloatArray, reference: int) -> Fan:
    """Fan of "no criterion higher and no gap to the criterion ``reference`` wider"."""
    return by_group(len(criteria), reference).fan(criteria)


def _subsets(items: Sequence[int]) -> Iterator[tuple[int, ...]]:
    for size in range(len(items) + 1):
        yield from combinations(items, size)


def _staircases(rows: int, columns: int) -> Iterator[list[Pair]]:
    """All paths from (0, 0) to (rows - 1, columns - 1) by steps of one in either coordinate."""
    steps = rows + columns - 2
    for down in combinations(range(steps), rows - 1):
        path = [(0, 0)]
        for step in range(steps):
            i, j = path[-1]
            path.append((i + 1, j) if step in down else (i, j + 1))
        yield path


def _range_cones(criteria: FloatArray) -> list[list[Name]]:
    """Cones of single criteria and of all their pairs.

    For every proper subset N of the criteria, the net weights that are negative on N and positive on the others, P,
    are those of a flow: every weight on a pair goes from P to N (a longer path only adds slack). Least slack gives
    weight of its own to the smallest criteria of P, and takes what flows to N from the largest. That is the staircase
    triangulation of a product of two simplices, P by N and "nowhere": binom(2J - 1, J - 1) cones in all.
    """
    order = np.argsort(criteria, kind="stable").tolist()
    cones: list[list[Name]] = []
    for negative in _subsets(order):
        positive = [g for g in order if g not in negative]
        if positive:
            targets = [None, *negative]
            for path in _staircases(len(positive), len(targets)):
                names = [(positive[i], targets[j]) for i, j in path]
                cones.append([g if h is None else (g, h) for g, h in names])
    return cones


def _reference_cones(criteria: FloatArray, reference: int) -> list[list[Name]]:
    """Cones of single criteria and of their pairs with the reference.

    Let y_g be the weight on "c_g less the reference", which may flow on from the reference to criteria N with
    negative net weight. If more flows to N than from P, the reference gives the rest by its own weight: one cone for
    every N. Otherwise least slack takes the flow from those of P with the smallest |c*_g - c*_ref| - c*_g: one cone
    for every N and member of P. Together 2^(J - 1) + (J - 1) 2^(J - 2) cones.
    """
    others = [g for g in range(len(criteria)) if g != reference]
    gap = np.abs(criteria - criteria[reference])
    order = sorted(others, key=lambda g: float(gap[g] - criteria[g]))
    cones: list[list[Name]] = []
    for negative in _subsets(order):
        flowing = [(reference, h) for h in negative]
        positive = [g for g in order if g not in negative]
        cones.append([*positive, reference, *flowing])
        for k in range(len(positive)):
            before = [(g, reference) for g in positive[: k + 1]]
            cones.append([*before, *positive[k:], *flowing])
    return cones


def _pair_cones(members: Sequence[int], reference: int | None) -> list[list[Name]]:
    """Cones of pairs alone, each of one generator less than there are members.

    Weights flow from members P to the others, N; a longer path only adds slack, and of a flow only what leaves each
    member and reaches it counts, so that any triangulation serves: binom(2K - 2, K - 1) cones for K members. With a
    reference there is one generator for each other member, in either direction: 2^(K - 1) cones.
    """
    if reference is not None:
        r = members[reference]
        either: list[list[Name]] = [[(g, r), (r, g)] for g in members if g != r]
        return [list(names) for names in product(*either)]
    cones: list[list[Name]] = []
    for negative in _subsets(members):
        positive = [g for g in members if g not in negative]
        if positive and negative:
            for path in _staircases(len(positive), len(negative)):
                cones.append([(positive[i], negative[j]) for i, j in path])
    return cones
