"""Cells of the fan, each with one rule that is tested at all its corners; cells are cut where predictions ask for it.

The slack of a fixed rule is linear in the weights. So if no rule has a positive slack at some weight, the rule of the
cell that contains it has a slack of at most 0 at some corner of the cell: testing every cell's rule at every corner
tests every weight, whatever the cells. How they are cut decides power only, and is decided by predicted slacks.

With several repetitions of the cross-fitting rules take steps from the algorithm (`rule_values`), unless a capacity or
bounds limit the rules. That, too, decides power only. With a single repetition they do not: without others it cannot be
seen how far the folds depend on each other, and where nothing can be learned a step needs twice the variance.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...arrays import BoolArray, FloatArray, IntArray
from ...frontier.criteria import CriteriaRows
from ...frontier.fan import Fan
from ...frontier.rule_values import RuleValuer, RuleValues, Slacks, ray_sizes, slacks
from ...frontier.standing import Standing

EVEN = (0.2, 0.8)
"""Where at most an edge is cut, so that cells do not degenerate."""
LARGE = 1e6
"""Standard errors beyond which a slack counts as certain."""


@dataclass(frozen=True, slots=True)
class Refinement:
    """When to stop cutting cells.

    ``budget``: rules that may be valued. ``loss``: standard errors that the rule of a cell may fall short of the best
    rule at the cell's weakest corner. ``band``: cells whose weakest corner is predicted to be this many standard
    errors above the weakest of all are left as they are. ``hopeless``: if even the best rule at some corner is
    predicted to have a slack of fewer standard errors, no cells can help, and none are cut.
    """

    budget: int
    loss: float = 0.1
    band: float = 2.0
    hopeless: float = 0.2


@dataclass(frozen=True, slots=True)
class Weakest:
    """The weakest slack of all cells with its standard error and ratio ``t``, at net ``weights`` (J,) of sum 1.

    ``rule`` (J,) is the direction of the rule that has it.
    """

    slack: float
    standard_error: float
    t: float
    weights: FloatArray
    rule: FloatArray


@dataclass(frozen=True, slots=True)
class Cells:
    """Cells of a fan, with the rules valued on the way.

    ``corners`` (C, 3 J + V) and the best ``own`` rule (C,) at each, by position in ``values``; ``members`` (N, D): the
    corners of each cell, ``rules`` (N,): its rule. ``loss``: standard errors
    by which the weakest slack of the cells' rules falls short of the weakest of the corners' own rules, as predicted;
    ``finished``: whether no cell is left to cut; ``steps``: whether rules take steps from the algorithm.
    """

    values: RuleValues
    standing: Standing
    corners: FloatArray
    own: IntArray
    members: IntArray
    rules: IntArray
    loss: float
    finished: bool
    steps: bool

    def weakest(self) -> Weakest:
        """The slack that is smallest in standard errors: the test rejects if even this one is large."""
        found = self.slacks()
        at = np.unravel_index(int(found.t.argmin()), found.t.shape)
        weights = self.corners[self.members[at]][: self.values.directions.shape[1]]
        size, rule = float(np.abs(weights).sum()), self.values.directions[self.rules[at[0]]]
        value, error = float(found.value[at]) / size, float(found.error[at]) / size
        return Weakest(value, error, float(found.t[at]), weights / size, rule)

    def slacks(self, *, predicted: bool = False) -> Slacks:
        """Slacks (N, D) of each cell's rule at its corners."""
        rules = np.broadcast_to(self.rules[:, None], self.members.shape)
        return slacks(self.values, self.standing, rules, self.corners[self.members], predicted=predicted)

    def own_slacks(self, *, predicted: bool = False) -> Slacks:
        """Slacks (C,) of the best rule at each corner."""
        return slacks(self.values, self.standing, self.own, self.corners, predicted=predicted)


class _Mesh:
    """Cells while they are being cut."""

    def __init__(self, rows: CriteriaRows, standing: Standing, fan: Fan, n_jobs: int | None) -> None:
        self.value = RuleValuer(rows, standing, n_jobs, steps=standing.step_factor > 0.0 and not rows.limited)
        self.standing, self.n = standing, rows.n_criteria
        self.values: RuleValues | None = None
        spanning = fan.spanning / ray_sizes(fan, rows)[:, None]
        self.corners, self.own = np.empty((0, spanning.shape[1])), np.empty(0, dtype=np.intp)
        self.own_t = np.empty(0)
        self.halves: dict[tuple[int, int], int] = {}
        self.members, self.rules = np.empty((0, fan.cones.shape[1]), dtype=np.intp), np.empty(0, dtype=np.intp)
        self.t, self.short = np.empty(0), np.empty(0)
        self._add_corners(spanning)
        self._add_cells(fan.cones, None)

    @property
    def table(self) -> RuleValues:
        assert self.values is not None
        return self.values

    def _value(self, directions: FloatArray) -> IntArray:
        """Value new rules and return their positions."""
        found = self.value(directions)
        start = 0 if self.values is None else len(self.values)
        self.values = found if self.values is None else self.values.stack(found)
        return np.arange(start, start + len(found))

    def _add_corners(self, corners: FloatArray) -> None:
        own = self._value(corners[:, : self.n])
        t = slacks(self.table, self.standing, own, corners, predicted=True).t
        self.corners = np.concatenate([self.corners, corners])
        self.own = np.concatenate([self.own, own])
        self.own_t = np.concatenate([self.own_t, np.clip(t, -LARGE, LARGE)])

    def _add_cells(self, members: IntArray, inherited: IntArray | None) -> None:
        """Give each new cell the rule with the best weakest corner: of its middle, its corners or its parent."""
        at = self.corners[members]
        middle = self._value(at.mean(axis=1)[:, : self.n])
        choice = np.column_stack([middle, self.own[members], *([] if inherited is None else [inherited])])
        shape = (*choice.shape, members.shape[1])
        t = slacks(
            self.table,
            self.standing,
            np.broadcast_to(choice[:, :, None], shape),
            np.broadcast_to(at[:, None], (*shape, at.shape[-1])),
            predicted=True,
        ).t
        t = np.clip(t, -LARGE, LARGE)
        best = t.min(axis=2).argmax(axis=1)
        cell = np.arange(len(members))
        t = t[cell, best]
        weakest = t.argmin(axis=1)
        self.members = np.concatenate([self.members, members])
        self.rules = np.concatenate([self.rules, choice[cell, best]])
        self.t = np.concatenate([self.t, t[cell, weakest]])
        self.short = np.concatenate([self.short, self.own_t[members[cell, weakest]] - t[cell, weakest]])

    def open(self, refinement: Refinement) -> BoolArray:
        """Which cells (N,) are worth cutting: predicted to be among the weakest, and short of what is possible."""
        weakest = float(self.own_t.min())
        short: BoolArray = self.short > refinement.loss
        return short & (self.t < weakest + refinement.band) & (weakest >= refinement.hopeless)

    def cut(self, cells: IntArray) -> None:
        """Cut cells in two, across the edge whose ends have the most different rules."""
        first, second = self._longest_edges(cells)
        new = self._cut_edges(first, second)
        left, right = self.members[cells].copy(), self.members[cells].copy()
        left[left == first[:, None]] = np.repeat(new, (left == first[:, None]).sum(axis=1))
        right[right == second[:, None]] = np.repeat(new, (right == second[:, None]).sum(axis=1))
        inherited = np.concatenate([self.rules[cells]] * 2)
        kept = np.ones(len(self.rules), dtype=bool)
        kept[cells] = False
        self.members, self.rules = self.members[kept], self.rules[kept]
        self.t, self.short = self.t[kept], self.short[kept]
        self._add_cells(np.concatenate([left, right]), inherited)

    def _longest_edges(self, cells: IntArray) -> tuple[IntArray, IntArray]:
        """The edge (i, j) of each cell with the largest (p_i - p_j)'(gain of i's rule - gain of j's), predicted."""
        i, j = np.triu_indices(self.members.shape[1], 1)
        first, second = self.members[cells][:, i], self.members[cells][:, j]
        p, gain = self.corners[:, : self.n], self.table.predicted[self.own]
        length = np.einsum("...j,...j->...", p[first] - p[second], gain[first] - gain[second])
        scale = np.linalg.norm(p[first] - p[second], axis=-1)
        # edges whose ends share a rule are cut last, the longer first
        longest = np.lexsort((-scale, -length), axis=-1)[:, 0]
        at = np.arange(len(cells))
        return first[at, longest], second[at, longest]

    def _cut_edges(self, first: IntArray, second: IntArray) -> IntArray:
        """New corners in which the ends' rules do equally well, by the predictions; one for each edge."""
        edges = [(min(pair), max(pair)) for pair in zip(first.tolist(), second.tolist(), strict=True)]
        new = [edge for edge in dict.fromkeys(edges) if edge not in self.halves]
        if new:
            i, j = np.array(new).T
            p, gain = self.corners[:, : self.n], self.table.predicted[self.own]
            # (p_i + s (p_j - p_i))'(gain_i - gain_j) = 0
            at_i, at_j = (np.einsum("kj,kj->k", p[k], gain[i] - gain[j]) for k in (i, j))
            with np.errstate(divide="ignore", invalid="ignore"):
                s = np.clip(np.where(at_i - at_j > 0.0, at_i / (at_i - at_j), 0.5), *EVEN)[:, None]
            start = len(self.corners)
            self._add_corners((1.0 - s) * self.corners[i] + s * self.corners[j])
            self.halves.update({edge: start + k for k, edge in enumerate(new)})
        return np.array([self.halves[edge] for edge in edges], dtype=np.intp)


def cut_cells(
    rows: CriteriaRows, standing: Standing, fan: Fan, refinement: Refinement, n_jobs: int | None = None
) -> Cells:
    """Cut the cones of a fan into cells, the weakest by prediction first, until little is lost or the budget ends."""
    mesh = _Mesh(rows, standing, fan, n_jobs)
    while (candidates := np.flatnonzero(mesh.open(refinement))).size:
        room = (refinement.budget - len(mesh.table)) // 3
        if room <= 0:
            break
        batch = min(room, max(16, len(mesh.rules) // 8))
        mesh.cut(candidates[np.argsort(mesh.t[candidates], kind="stable")[:batch]])
    finished = not mesh.open(refinement).any()
    loss = max(0.0, float(mesh.own_t.min() - mesh.t.min()))
    return Cells(
        values=mesh.table,
        standing=standing,
        corners=mesh.corners,
        own=mesh.own,
        members=mesh.members,
        rules=mesh.rules,
        loss=loss,
        finished=finished,
        steps=mesh.value.steps,
    )
