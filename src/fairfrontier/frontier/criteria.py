"""Linear criteria of rules, such as the risk of each group, row by row.

A rule that selects row i with chance a_i has the criteria c_j = sum over i of share_ij (b_ij + a_i psi_ij), where the
shares of each criterion sum to one: for the risk of group j, share_ij = w_i 1{g_i = j} / (sum of the group's
weights), b = l0 and psi = dl. What rules gain over an algorithm with decisions a*, c*_j - c_j = sum share_ij psi_ij
(a*_i - a_i), needs no b. Shares are estimated: row i has the influence share_ij (x_ij - mean_j) on the mean of x in
criterion j. Rows of one cluster are summed before squaring; otherwise every row is a unit of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..arrays import FloatArray, IntArray
from .capacity import find_cutoff

STILL = 1e-12
"""Size, relative to the criteria, up to which a slack or its standard error is rounding."""


class CriteriaRows(NamedTuple):
    """Rows as the sums read them, the rows of one unit side by side, and within it those of one person.

    ``row`` (n,): positions in the sample; ``unit_stops`` (m + 1,): where the rows of each unit begin and end;
    ``entry_stops`` (n + 1,): the entries of each row, one for each criterion to which it contributes: ``which`` (E,),
    its ``share`` (E,), ``base`` (E,) and ``change`` (E,), the last two times the share. ``vectors`` (n, J): predicted
    changes of the criteria by selecting the row; ``mass`` (n,): the row's share of all weight. The chance of
    selection is ``lower`` (n,), or that plus ``spread`` (n,). ``capacity``: the largest share of people that a rule may
    select; infinite if there is no limit.
    """

    row: IntArray
    unit_stops: IntArray
    entry_stops: IntArray
    which: IntArray
    share: FloatArray
    base: FloatArray
    change: FloatArray
    vectors: FloatArray
    mass: FloatArray
    lower: FloatArray
    spread: FloatArray
    capacity: float = np.inf

    @property
    def n_criteria(self) -> int:
        """Number of criteria J."""
        return int(self.vectors.shape[1])

    @property
    def alone(self) -> bool:
        """Whether every row is a unit of its own and contributes to one criterion."""
        return bool((np.diff(self.unit_stops) == 1).all() and (np.diff(self.entry_stops) == 1).all())

    @property
    def limited(self) -> bool:
        """Whether rules are limited by a capacity, or by bounds on the chance of selection."""
        return bool(np.isfinite(self.capacity) or (self.lower != 0.0).any() or (self.spread != 1.0).any())

    def within(self, capacity: float | None) -> CriteriaRows:
        """Return the rows with a capacity of the rules, if there is one; for everybody it is none."""
        return self if capacity is None or capacity >= 1.0 else self._replace(capacity=capacity)

    def cutoffs(self, directions: FloatArray) -> FloatArray:
        """Where the rules of ``directions`` (R, J) begin to select: value, chance of those at it and its width (R, 3).

        A rule selects where k = -p'vector is above the value, which is 0 unless the capacity is reached before.
        """
        found = np.zeros((len(directions), 3))
        if np.isfinite(self.capacity):
            for r, p in enumerate(directions):
                cut = find_cutoff(-(self.vectors @ p), self.mass, self.capacity, self.lower, self.spread)
                found[r] = cut.value, cut.chance, cut.slack
        return found

    def selected(self, directions: FloatArray, cutoffs: FloatArray, rows: slice = slice(None)) -> FloatArray:
        """With which chance the rules of directions (R, J) with these cut-offs (R, 3) select some rows: (n, R)."""
        k = -(self.vectors[rows] @ directions.T)
        if not cutoffs.any():
            return (k > 0.0).astype(np.float64)
        value, chance, slack = cutoffs.T
        found: FloatArray = np.where(k > value + slack, 1.0, np.where(k >= value - slack, chance, 0.0))
        return found

    def chances(self, p: FloatArray) -> FloatArray:
        """Chances (n,) of selection by the rule of one direction p (J,)."""
        own: FloatArray = self.lower + self.spread * self.selected(p[None], self.cutoffs(p[None]))[:, 0]
        return own

    @property
    def entry_rows(self) -> IntArray:
        """Row (E,) of each entry."""
        return np.repeat(np.arange(len(self.row)), np.diff(self.entry_stops))

    @property
    def units(self) -> IntArray:
        """Unit (n,) of each row."""
        return np.repeat(np.arange(len(self.unit_stops) - 1), np.diff(self.unit_stops))

    def by_person(self, values: FloatArray) -> FloatArray:
        """Means (people,) of values (n,) of the rows of each person, in the order of the sample."""
        mean: FloatArray = np.bincount(self.row, values) / np.bincount(self.row)
        return mean

    def by_criterion(self, values: FloatArray) -> FloatArray:
        """Sums (J,) of values (E,) of the entries by criterion."""
        return np.bincount(self.which, values, minlength=self.n_criteria).astype(np.float64)

    def values(self, decisions: FloatArray) -> FloatArray:
        """Contributions (E,) of the entries to criteria of a rule with ``decisions`` (n,) in the order of the rows."""
        own: FloatArray = self.base + decisions[self.entry_rows] * self.change
        return own

    def by_unit(self, values: FloatArray) -> FloatArray:
        """Sums (m, J) of values (E,) of the entries by unit and criterion."""
        size = (len(self.unit_stops) - 1) * self.n_criteria
        place = self.units[self.entry_rows] * self.n_criteria + self.which
        sums: FloatArray = np.bincount(place, values, minlength=size).reshape(-1, self.n_criteria).astype(np.float64)
        return sums


class LinearCriterion(NamedTuple):
    """A criterion, row by row: E[weight (base + a change)] / E[weight] of a rule with chances of selection a.

    ``weight``, ``base``, ``change`` (n,): how much each row counts, its value without selection, and what selection
    adds. ``t`` (n_rep n,): predictions of E[weight change | x], those of several repetitions of the cross-fitting one
    below the other.
    """

    weight: FloatArray
    base: FloatArray
    change: FloatArray
    t: FloatArray


def criteria_rows(
    criteria: Sequence[LinearCriterion],
    weight: FloatArray,
    *,
    clusters: IntArray | None = None,
    lower: FloatArray | None = None,
    upper: FloatArray | None = None,
) -> CriteriaRows:
    """Rows (n,) with some criteria, in sampling weights ``weight`` (n,).

    With several repetitions of the cross-fitting the sample lies here that often, and the rows of a person are a unit.
    So a rule is a lottery between the repetitions'.
    """
    n_people, n = len(weight), len(criteria[0].t)
    order, sizes = np.arange(n), np.ones(n, dtype=np.intp)
    if n > n_people or clusters is not None:
        units = np.tile(np.arange(n_people) if clusters is None else clusters, n // n_people)
        order = np.lexsort((order % n_people, units))
        sizes = np.unique(units, return_counts=True)[1]
    person = order % n_people
    counts = np.column_stack([own.weight > 0.0 for own in criteria])
    entry, which = np.nonzero(counts)
    own = np.array([criterion.weight for criterion in criteria])[which, entry] * weight[entry]
    sums = np.bincount(which, own, minlength=len(criteria))
    # of each person's entries, in the order of the rows
    stops = np.concatenate([[0], np.cumsum(counts.sum(axis=1))])
    many = counts.sum(axis=1)[person]
    first = np.repeat(stops[person] - np.concatenate([[0], np.cumsum(many)[:-1]]), many)
    at = first + np.arange(len(first))
    share = (own / sums[which] * (n_people / n))[at]
    base, change = (
        np.array([getattr(criterion, name) for criterion in criteria])[which, entry][at] for name in ("base", "change")
    )
    total = float(weight.sum())
    low = np.zeros(n_people) if lower is None else lower
    high = np.ones(n_people) if upper is None else upper
    return CriteriaRows(
        row=person,
        unit_stops=np.concatenate([[0], np.cumsum(sizes)]).astype(np.intp),
        entry_stops=np.concatenate([[0], np.cumsum(many)]).astype(np.intp),
        which=which[at].astype(np.intp),
        share=share,
        base=share * base,
        change=share * change,
        vectors=np.ascontiguousarray((np.column_stack([c.t for c in criteria]) * (total / sums))[order]),
        mass=(weight / total * (n_people / n))[person],
        lower=low[person],
        spread=(high - low)[person],
    )


def risk_rows(
    l0: FloatArray,
    dl: FloatArray,
    t: FloatArray,
    group: IntArray,
    weight: FloatArray,
    *,
    clusters: IntArray | None = None,
    lower: FloatArray | None = None,
    upper: FloatArray | None = None,
) -> CriteriaRows:
    """Rows (n,) whose criteria are the risks of the groups, with predictions ``t`` of E[dl 1{G = g} | x].

    ``t`` (n, G), or (n_rep n, G) with those of several repetitions of the cross-fitting one below the other.
    """
    own = [LinearCriterion((group == g).astype(np.float64), l0, dl, column) for g, column in enumerate(t.T)]
    return criteria_rows(own, weight, clusters=clusters, lower=lower, upper=upper)
