"""The support function of the feasible set: values, support sets, exact extrema, covariance.

Conventions: the first coordinate belongs to group r, the second to group b; ``q`` is any non-zero
direction (h is positively homogeneous); ``mu`` are the weighted group shares and M = diag(1 / mu).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np

from ..arrays import ArrayLike, BoolArray, FloatArray, IntArray, SignArray
from ..data.checks import check_bounds, check_directions, check_risks
from ..data.groups import by_group
from . import sweep
from .plane import improvement_corners, intersect_half_planes, off_breakpoint

_ROOT_HALF = float(np.sqrt(0.5))
_FULL_TURN = 2.0 * np.pi


@dataclass(frozen=True, slots=True)
class Extremum:
    """A maximum or minimum over directions and the unit direction (2,) that attains it."""

    value: float
    direction: FloatArray


@dataclass(frozen=True, slots=True)
class LineInfimum:
    """inf over c of h(u1 - c(1, -1)), from which the fairest point on the 45-degree line is read.

    ``value`` is -inf when the set misses the line: ``above`` if it lies where e_r < e_b, ``below`` if it
    lies where e_r > e_b. Both can be true of an estimate only, when the estimated set is empty.
    """

    value: float
    direction: FloatArray
    above: bool
    below: bool


Position = Literal["crosses", "above", "below"]
"""Where a set lies: it crosses the 45-degree line, or lies above (e_r < e_b throughout) or below it."""


@dataclass(frozen=True, slots=True)
class Fairest:
    """Position of a set, unit direction (2,) of its fairest point, and infimum of h along the line q1 + q2 = -1."""

    position: Position
    direction: FloatArray
    infimum: float


@dataclass(frozen=True, slots=True)
class Arcs:
    """A function q'v(q) of the circle whose v is constant between breakpoints, as a sweep gives it.

    ``a``, ``b``, ``sign`` (m,): folded rows in order of angle; ``values`` (m + 1, 2): v on the arcs of
    the right half circle; ``mirror`` (2,): v(-q) = mirror - v(q); ``mu`` (2,): group shares.
    """

    a: FloatArray
    b: FloatArray
    sign: SignArray
    values: FloatArray
    mirror: FloatArray
    mu: FloatArray

    def support_set(self, q: ArrayLike, tie: ArrayLike | None = None) -> FloatArray:
        """Points v(q) attained by the rules 1{q'M t > 0}, shape (k, 2).

        ``tie`` (k, 2) or (2,): rows with q'M t = 0 are selected where tie'M t > 0; without it they are not.
        """
        directions = check_directions(q)
        p = directions / self.mu
        ties = np.zeros_like(p)
        if tie is not None:
            ties[:] = check_directions(tie) / self.mu
        out = np.empty_like(p)
        sweep.values_at(self.a, self.b, self.sign, self.values, self.mirror, p, ties, out)
        return out

    def h(self, q: ArrayLike) -> FloatArray:
        """h(q) = q'v(q) at directions ``q`` (k, 2), shape (k,)."""
        directions = check_directions(q)
        h: FloatArray = np.einsum("kj,kj->k", directions, self.support_set(directions))
        return h

    def max_excess(self, e: ArrayLike, start: ArrayLike = (1.0, 0.0), turn: float = _FULL_TURN) -> Extremum:
        """Exact max of q'e - h(q) over unit q on the closed arc of ``turn`` radians from ``start``."""
        unit = check_directions(start)[0]
        unit = unit / np.hypot(*unit)
        value, q1, q2 = sweep.max_excess(
            self.a, self.b, *self.mu, self.values, self.mirror, check_risks(e)[0], unit, float(turn)
        )
        return Extremum(value, np.array([q1, q2]))

    def min_separation(self, e: ArrayLike) -> Extremum:
        """Exact min of D(q) = h_C(e)(-q) + h(q) over unit q with q1 + q2 <= 0.

        No risk pair of the set improves on a feasible ``e`` if and only if the population minimum is 0.
        h_C(e)(-q) is the larger of two linear functions of q, which change places at one direction.
        """
        e_star = check_risks(e)[0]
        upper, right = improvement_corners(e_star)
        # Above the line C's corners are e (where q2 <= 0) and the point below it; else mirrored.
        quarter = np.pi / 4.0 if e_star[1] >= e_star[0] else 3.0 * np.pi / 4.0
        switch = (-1.0, 0.0) if e_star[1] >= e_star[0] else (0.0, -1.0)
        first = self.max_excess(right, (-_ROOT_HALF, _ROOT_HALF), quarter)
        second = self.max_excess(upper, switch, np.pi - quarter)
        best = first if first.value >= second.value else second
        return Extremum(-best.value, best.direction)

    def line_infimum(self) -> LineInfimum:
        """Exact infimum along the line q1 + q2 = -1 (paper: support function of the set on the diagonal)."""
        value, q1, q2, down_first, down_last = sweep.min_on_line(self.a, self.b, *self.mu, self.values, self.mirror)
        # h falls without bound towards (1, -1) when max(e_r - e_b) < 0: the set lies above the line.
        return LineInfimum(value, np.array([q1, q2]), above=bool(down_last), below=bool(down_first))

    def fairest(self) -> Fairest:
        """Position relative to the 45-degree line, and unit direction of the fairest rule."""
        line = self.line_infimum()
        if np.isfinite(line.value):
            return Fairest("crosses", line.direction / np.hypot(*line.direction), line.value)
        # An estimated set can be empty and seem to lie on both sides; the wider miss decides.
        ends = np.array([[1.0, -1.0], [-1.0, 1.0]]) / np.sqrt(2.0)
        above = line.above and (not line.below or self.h(ends)[0] <= self.h(ends)[1])
        return Fairest("above", ends[0], line.value) if above else Fairest("below", ends[1], line.value)

    def fairest_direction(self) -> FloatArray:
        """Unit direction of the fairest rule, off the breakpoint at which the line's infimum lies."""
        found = self.fairest()
        q = found.direction
        if found.position == "crosses":
            q = off_breakpoint(q)
            q = q / -q.sum()
        unit: FloatArray = q / np.hypot(*q)
        return unit

    def half_plane_polygon(self, widening: Callable[[FloatArray], FloatArray] | None = None) -> FloatArray:
        """Vertices of {z : q'z <= h(q) for all q}, counter-clockwise; (0, 2) if that set is empty.

        ``widening`` gives non-negative numbers (k,) to be added to h at directions (k, 2).
        """
        q = np.empty((2 * len(self.a) + 2, 2))
        bound = np.empty(len(q))
        k = sweep.half_planes(self.a, self.b, *self.mu, self.values, self.mirror, q, bound)
        if widening is not None:
            bound[:k] += widening(q[:k])
        return intersect_half_planes(q[:k], bound[:k], self.mirror / 2.0)


@dataclass(frozen=True, slots=True)
class Scores:
    """What a row contributes: losses, group, weight, nuisance pair and (optionally) its cluster.

    Bounds lower <= a(x) <= upper on the rules are built in: ``l0`` is the loss at the lower bound, ``dl``
    and ``t`` are the loss difference and the nuisance times ``spread`` = upper - lower. ``sees_group``: whether rules
    see the group, so that pairs lie on the axes of their groups.

    With ``n_rep`` repetitions of the cross-fitting the sample lies here that often, one below the other, each time with
    the nuisance pairs of one repetition; ``clusters`` keep a person's rows together. The rule of a direction is then a
    lottery between the rules of the repetitions, and every mean over the rows is its mean.

    With ``counts`` a row is a cell of that many people who are alike, and ``weight`` is the sum of theirs.
    """

    l0: FloatArray
    dl: FloatArray
    t: FloatArray
    group: IntArray
    weight: FloatArray
    clusters: IntArray | None = None
    lower: FloatArray | None = None
    spread: FloatArray | None = None
    sees_group: bool = False
    n_rep: int = 1
    counts: FloatArray | None = None

    @property
    def n_rows(self) -> int:
        """Number of rows: those of the sample times the number of repetitions, or cells."""
        return len(self.l0)

    @property
    def n_obs(self) -> int:
        """Number of people: rows of the sample."""
        return len(self.l0) // self.n_rep if self.counts is None else int(self.counts.sum())

    @property
    def squared_weight(self) -> FloatArray:
        """Squares (n,) of the weights, summed over the people of a row."""
        squares: FloatArray = self.weight**2
        return squares if self.counts is None else squares / self.counts

    @property
    def clustered(self) -> bool:
        """Whether several people share a cluster."""
        return self.clusters is not None and int(self.clusters.max()) + 1 < self.n_obs

    def repeated(self, values: FloatArray) -> FloatArray:
        """Values (..., n) of the rows of the sample for all rows."""
        return values if self.n_rep == 1 else np.concatenate([values] * self.n_rep, axis=-1)

    @property
    def n_units(self) -> int:
        """Number of rows of the sample (or cells) that are drawn by themselves, or of clusters."""
        return self.n_rows // self.n_rep if self.clusters is None else int(self.clusters.max()) + 1

    def repetition(self, number: int) -> Scores:
        """Rows (n,) of one repetition."""
        own = slice(number * self.n_obs, (number + 1) * self.n_obs)

        def of(column: Any) -> Any:
            return None if column is None else column[own]

        return replace(
            self,
            l0=of(self.l0),
            dl=of(self.dl),
            t=of(self.t),
            group=of(self.group),
            weight=of(self.weight),
            clusters=of(self.clusters),
            lower=of(self.lower),
            spread=of(self.spread),
            n_rep=1,
        )

    def averaged(self, values: FloatArray | BoolArray) -> FloatArray:
        """Mean (n,) over the repetitions of values of all rows."""
        mean: FloatArray = np.asarray(values, dtype=float).reshape(self.n_rep, -1).mean(axis=0)
        return mean

    @property
    def weight_sums(self) -> FloatArray:
        """Sum of the weights in each group."""
        return np.array([self.weight[rows].sum() for rows in by_group(self.group, 2)])

    @property
    def is_r(self) -> BoolArray:
        """Rows (n,) of group r, as the sweep wants them."""
        rows: BoolArray = self.group == 0
        return rows

    def chances(self, moved: FloatArray | BoolArray) -> FloatArray:
        """Chance (n,) of being selected of rows that a rule moves so far (n,) from their lower to their upper bound."""
        far = np.asarray(moved, dtype=float)
        return far if self.lower is None or self.spread is None else self.lower + self.spread * far

    def losses(self, moved: FloatArray | BoolArray) -> FloatArray:
        """Expected losses (n,) of rows that a rule moves so far (n,) from their lower to their upper bound."""
        losses: FloatArray = self.l0 + self.dl * moved
        return losses

    @property
    def unit(self) -> float:
        """Root mean square of the loss differences, 1 for classification: published margins are multiples of it."""
        if self.spread is None:
            return float(np.sqrt(np.average(self.dl**2, weights=self.weight)))
        free = self.spread > 0.0  # the loss difference of other rows is not known here and does not matter
        weight = self.weight * free
        if not weight.any():
            return 0.0
        return float(np.sqrt(np.average((self.dl / np.where(free, self.spread, 1.0)) ** 2, weights=weight)))


def make_scores(
    l0: FloatArray,
    dl: FloatArray,
    t: FloatArray,
    group: IntArray,
    weight: FloatArray,
    *,
    clusters: IntArray | None = None,
    lower: ArrayLike | None = None,
    upper: ArrayLike | None = None,
    sees_group: bool = False,
) -> Scores:
    """Combine losses and nuisances with bounds on the rules (all arrays (n,), ``t`` (n, 2))."""
    if group.dtype.kind != "i":
        raise TypeError(f"groups are integer codes, not of type {group.dtype}")
    if lower is None and upper is None:
        return Scores(l0, dl, _not_tiny(t), group, weight, clusters, sees_group=sees_group)
    low, high = check_bounds(lower, upper, len(l0))
    # a rule with a(x) = a has conditional loss l0 + a dl
    spread = high - low
    t = _not_tiny(spread[:, None] * t)
    return Scores(l0 + low * dl, spread * dl, t, group, weight, clusters, low, spread, sees_group)


def stack_repetitions(scores: Sequence[Scores]) -> Scores:
    """Put the scores of all repetitions of the cross-fitting of one sample below each other."""
    first, n_rep = scores[0], len(scores)
    if n_rep == 1:
        return first
    people = np.arange(len(first.l0)) if first.clusters is None else first.clusters
    l0, dl, weight = (np.tile(column, n_rep) for column in (first.l0, first.dl, first.weight))
    lower, spread = (None if bound is None else np.tile(bound, n_rep) for bound in (first.lower, first.spread))
    group, clusters = (np.tile(codes, n_rep) for codes in (first.group, people))
    t = np.concatenate([each.t for each in scores])
    return Scores(l0, dl, t, group, weight, clusters, lower, spread, first.sees_group, n_rep)


def _not_tiny(t: FloatArray) -> FloatArray:
    """Lengthen pairs (n, 2) shorter than 1e-100 to about that, by powers of 2: products with them keep their digits.

    Rules know only the directions of pairs, and beside losses of an accepted size pairs so short count for nothing.
    """
    size = np.maximum(np.abs(t[:, 0]), np.abs(t[:, 1]))  # many times faster than a maximum over pairs
    short = (size > 0.0) & (size < 1e-100)
    if not short.any():
        return t
    exponent = np.frexp(size[short])[1]
    longer = t.copy()
    longer[short] = np.ldexp(t[short], (np.frexp(1e-100)[1] - exponent)[:, None])
    return longer


@dataclass(frozen=True, slots=True)
class SupportFunction:
    """Estimated support function of the feasible set, exact at every direction.

    ``estimate`` is the orthogonal estimate h^(q) (it evaluates actual rules on actual losses);
    ``order`` (m,) maps the sorted rows of its sweep to rows of ``scores``.
    """

    scores: Scores
    estimate: Arcs
    order: IntArray
    coarsening: ClassVar[int] = 1

    @property
    def mu(self) -> FloatArray:
        """Weighted group shares (mu_r, mu_b)."""
        return self.estimate.mu

    @property
    def n_obs(self) -> int:
        """Number of rows of the sample."""
        return self.scores.n_obs

    @property
    def size(self) -> float:
        """Largest risk of any rule, in absolute value: the size of the numbers that tests subtract from each other."""
        values, mirror = self.estimate.values, self.estimate.mirror
        return float(max(np.abs(values).max(), np.abs(mirror - values).max()))

    def plug_in(self) -> Arcs:
        """h_plug(q) = q'M mean(l0 by group) + mean((q'M t)_+): convex, free of the rows' own noise."""
        s, arcs = self.scores, self.estimate
        if len(self.order) == 0:  # no row is ever selected: both criteria are the losses of doing nothing
            return arcs
        values = np.empty_like(arcs.values)
        sums = s.weight_sums
        loss = s.weight * s.l0
        base_r, base_b = (float(loss[rows].sum()) for rows in by_group(s.group, 2))
        mirror = sweep.vector_sums(
            self.order, arcs.sign, s.weight, base_r, base_b, arcs.a, arcs.b, *(1.0 / sums), values
        )
        return Arcs(arcs.a, arcs.b, arcs.sign, values, mirror, arcs.mu)

    def selected(self, q: ArrayLike) -> BoolArray:
        """Rows (n,) that the rule of one direction ``q`` selects: q'M t > 0."""
        p = check_directions(q)[0] / self.mu
        selected: BoolArray = self.scores.t[:, 0] * p[0] + self.scores.t[:, 1] * p[1] > 0.0
        return selected

    def covariance(self, q: ArrayLike) -> FloatArray:
        """Covariance Omega (k, k) of sqrt(n)(h^ - h) at directions ``q``, with mu estimated.

        Row i of group g has the influence (q_g / mu_g)(l_i(q) - s_g(q)), where l_i(q) is its loss under the
        rule of q and s the support set (paper: covariance of the limit process). Weights count as sampling
        weights; rows of one cluster are summed before squaring.
        """
        directions = check_directions(q)
        points = self.estimate.support_set(directions)
        p = directions / self.mu
        s = self.scores
        omega = np.zeros((len(directions), len(directions)))
        for rows, starts in _row_blocks(s.clusters, s.n_rows, max(1, 4_000_000 // (8 * len(directions)))):
            t, group = s.t[rows], s.group[rows]
            selected = t[:, :1] * p[:, 0] + t[:, 1:] * p[:, 1] > 0.0
            loss = s.l0[rows][:, None] + s.dl[rows][:, None] * selected
            slope = p.T[group]
            own = s.weight[rows] if s.counts is None else s.weight[rows] / np.sqrt(s.counts[rows])
            influence = own[:, None] * slope * (loss - points.T[group])
            if starts is not None:
                influence = np.add.reduceat(influence, starts, axis=0)
            omega += influence.T @ influence
        return omega * (self.n_obs / float(s.weight.sum()) ** 2)

    def variance(self, q: ArrayLike) -> FloatArray:
        """Diagonal (k,) of `covariance`, in O(n) for all directions together unless there are clusters.

        sum over g of (q_g / mu_g)^2 [sum w^2 l(q)^2 - 2 s_g sum w^2 l(q) + s_g^2 sum w^2], where the sums of the
        losses l(q) under the rule of q and of their squares come from two more sweeps. Losses are taken from their
        group's mean of l0, so that a large constant in them does not swallow the difference of squares.
        """
        directions = check_directions(q)
        s, arcs = self.scores, self.estimate
        if s.clusters is not None:
            blocks = [np.diag(self.covariance(directions[i : i + 50])) for i in range(0, len(directions), 50)]
            return np.concatenate(blocks)
        squared = s.squared_weight
        centre = group_means(s.l0, s.group, s.weight)[0]
        l0 = s.l0 - centre[s.group]
        sums, mu = [], arcs.mu
        for at_zero, change in ((l0, s.dl), (l0**2, (l0 + s.dl) ** 2 - l0**2)):
            values = np.empty_like(arcs.values)
            values[:] = 0.0
            mirror = sweep.group_sums(self.order, arcs.sign, squared, at_zero, change, s.is_r, 1.0, 1.0, values)
            if len(self.order) == 0:
                values[1] = values[0]
            sums.append(Arcs(arcs.a, arcs.b, arcs.sign, values, mirror, mu).support_set(directions))
        points = arcs.support_set(directions) - centre
        total = np.array([float(squared[rows].sum()) for rows in by_group(s.group, 2)])
        within = sums[1] - 2.0 * points * sums[0] + points**2 * total
        variance: FloatArray = ((directions / mu) ** 2 * np.maximum(within, 0.0)).sum(axis=1)
        return variance * (self.n_obs / float(s.weight.sum()) ** 2)


def build_support_function(scores: Scores) -> SupportFunction:
    """Sort the rows once by nuisance angle and take the prefix sums: O(n log n) time, O(n) memory."""
    sums = scores.weight_sums
    a, b, sign, order = sweep.fold_and_sort(scores.t)
    if len(a) == 0:  # no row is ever selected: one breakpoint that changes nothing
        a, b, sign = np.ones(1), np.zeros(1), np.ones(1, dtype=np.int8)
    values = np.empty((len(a) + 1, 2))
    s = scores
    mirror = sweep.group_sums(order, sign, s.weight, s.l0, s.dl, s.is_r, *(1.0 / sums), values)
    if len(order) == 0:
        values[1] = values[0]
    return SupportFunction(scores, Arcs(a, b, sign, values, mirror, sums / sums.sum()), order)


def group_means(
    values: FloatArray,
    group: IntArray,
    weight: FloatArray,
    clusters: IntArray | None = None,
    *,
    n_groups: int = 2,
    counts: FloatArray | None = None,
) -> tuple[FloatArray, FloatArray]:
    """Weighted mean (G,) of ``values`` (n,) in each group, and the covariance (G, G) of the means.

    Row i of group g has the influence w_i (value_i - mean_g) / sum of g's weights; rows of one cluster are
    summed before squaring. A row of ``counts`` (n,) people who share its weight has that of each of them, k times.
    """
    means, influence = np.empty(n_groups), np.zeros((len(values), n_groups))
    for g, rows in enumerate(by_group(group, n_groups)):
        w, own = weight[rows], values[rows]
        total = float(w.sum())
        # not a product of vectors: its last bits depend on how many threads the library uses
        means[g] = float((w * own).sum()) / total
        influence[rows, g] = w * (own - means[g]) / total
    if clusters is not None:
        influence = np.column_stack([np.bincount(clusters, column) for column in influence.T])
    if counts is not None:
        # the sum of k squares of w / k is w^2 / k
        influence /= np.sqrt(counts)[:, None]
    return means, influence.T @ influence


def _row_blocks(clusters: IntArray | None, n: int, size: int) -> list[tuple[IntArray, IntArray | None]]:
    """Split rows into blocks of about ``size`` rows that keep clusters whole, with each cluster's start."""
    if clusters is None:
        return [(np.arange(i, min(i + size, n)), None) for i in range(0, n, size)]
    rows = np.argsort(clusters, kind="stable")
    first = np.flatnonzero(np.diff(clusters[rows], prepend=clusters[rows[0]] - 1))
    blocks: list[tuple[IntArray, IntArray | None]] = []
    i = 0
    while i < len(first):
        # the last cluster of the block starts within `size` rows of its first
        j = max(i + 1, int(np.searchsorted(first, first[i] + size, side="right")) - 1)
        stop = first[j] if j < len(first) else n
        if j == len(first) - 1 and n - first[i] <= size:
            j, stop = len(first), n
        blocks.append((rows[first[i] : stop], first[i:j] - first[i]))
        i = j
    return blocks
