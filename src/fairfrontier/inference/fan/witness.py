"""A rule, or mixture, that improves on an algorithm in all criteria, with bounds that hold whichever is chosen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import linprog

from ...arrays import FloatArray, IntArray
from ...data.reading import Label
from ...frontier.criteria import CriteriaRows
from ...frontier.fan import Fan
from ...frontier.rule_values import ray_sizes
from ..lda.witness import CHOSEN_AT, N_SHARES, Alternative, critical
from .menu import GroupMenu, smallest_slacks

ByGroup = Callable[[FloatArray], tuple[FloatArray, FloatArray]]
"""From people's chances of selection (n,) to the groups' risks and selection rates (K,)."""
SMALL_SHARE = 1e-6
"""Shares of a mixture below this are rounding of the linear programme."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class JointWitness(Alternative):
    """An alternative for any criteria, with what the data say about it.

    ``directions`` (L, J) and ``shares`` (L,): the rules of the mixture, each best for these weights of the criteria,
    and how often each is used. ``risk`` and ``selection_rate`` (K,) by group, and the ``criteria`` (J,) compared.
    ``slack`` and ``error`` (M,), the slacks and their standard errors: of the gain in each criterion that must not be
    higher first, such as each group's risk, then of every difference that must not exceed a width. ``widths`` (M,) says
    which width each of them belongs to, -1 for a single criterion. ``largest`` and ``largest_absolute`` (B,): the
    largest error of a draw, in standard errors, over all rules that might have been chosen.

    ``changed``: among rules that see the group, the group that is decided about by the rule of that direction as often
    as ``shares`` says; everything else stays as the algorithm has it. ``moves`` (M,) then says whether a gain of that
    group makes a slack larger (1), smaller (-1) or leaves it as it is (0), so that it is not negative.
    """

    directions: FloatArray
    shares: FloatArray
    risk: FloatArray
    criteria: FloatArray
    selection_rate: FloatArray
    slack: FloatArray
    error: FloatArray
    widths: IntArray
    largest: FloatArray
    largest_absolute: FloatArray
    changed: Label | None = None
    moves: IntArray | None = None
    capacity: float | None = None

    @property
    def gain(self) -> FloatArray:
        """Estimated gains (A + V,): in each group's risk, or what else must not be higher, then in each width."""
        return self._gains(self.slack)

    def lower_bounds(self, alpha: float) -> FloatArray:
        """Lower confidence bounds (A + V,) for all gains together, whichever rule of the menu had been chosen.

        With probability 1 - alpha the bounds of all rules and mixtures that might have been chosen hold together.
        """
        return self._gains(self.slack - critical(self.largest, alpha) * self.error)

    def intervals(self, alpha: float) -> FloatArray:
        """Confidence intervals (A + V, 2) for all gains together; their level is that of the lower bounds."""
        reach = critical(self.largest_absolute, alpha) * self.error
        return np.column_stack([self._gains(self.slack - reach), self._gains(self.slack + reach)])

    def confirmed(self, alpha: float) -> bool:
        """Whether all lower bounds clear zero; of one changed group its own gain, while no other falls below."""
        bounds = self.lower_bounds(alpha)
        if self.moves is None:
            return bool((bounds > 0.0).all())
        own = int(np.argmax((self.widths < 0) & (self.moves > 0)))
        return bool(bounds[own] > 0.0 and (bounds >= 0.0).all())

    def _gains(self, values: FloatArray) -> FloatArray:
        if self.moves is not None:
            values = known_slacks(values, self.widths, self.moves)
        return smallest_slacks(values, self.widths)

    def _facts(self) -> dict[str, object]:
        return {
            "directions": self.directions,
            "shares": self.shares,
            "risk": self.risk,
            "gain": self.gain,
            "selection_rate": self.selection_rate,
            "selection_ratio": self.selection_ratio,
            "changed": None if self.changed is None else str(self.changed),
        }


def choose_witness(
    menu: GroupMenu, rows: CriteriaRows, units: FloatArray, by_group: ByGroup | None = None
) -> JointWitness:
    """The mixture of the menu's rules whose smallest lower bound is largest, if that is above zero.

    Else that with the best predicted gains, which do not reuse the rows' own outcomes; where it fails on the outcomes,
    that with the best estimates. Bounds hold whichever is chosen. ``by_group`` gives the groups' risks and selection
    rates where these are not the criteria and their shares. Slacks are compared in ``units`` (F,).
    """
    shares, worst = _best_mixture((menu.forms - critical(menu.largest, CHOSEN_AT) * menu.errors) / units)
    if worst <= 0.0:
        shares, _ = _best_mixture(menu.predicted / units)
        if (shares @ menu.forms).min() <= 0.0:
            shares, _ = _best_mixture(menu.forms / units)
    found = _witness(menu, np.flatnonzero(shares > SMALL_SHARE), shares)
    if np.isfinite(rows.capacity):
        found = replace(found, capacity=rows.capacity)
    if by_group is None:
        return found
    risk, rates = by_group(chances_of(found, rows))
    return replace(found, risk=risk, selection_rate=rates)


def slack_units(fan: Fan, rows: CriteriaRows) -> FloatArray:
    """The units (F,) in which the slacks of an alternative are compared: those of the rays; tolerances, if any.

    Room is there to be used: all of it counts no more than a gain as large as what rules change on average.
    """
    units = ray_sizes(fan, rows)
    for m, v in enumerate(fan.width_of.tolist()):
        tolerance = fan.widths[v] if v >= 0 else None
        if isinstance(tolerance, float) and tolerance > 0.0:
            units[m] = min(units[m], tolerance)
    return units


def chances_of(found: JointWitness, rows: CriteriaRows) -> FloatArray:
    """Chances (n,) with which an alternative selects people, in the order of the sample."""
    each = [share * rows.chances(p) for p, share in zip(found.directions, found.shares, strict=True)]
    return np.clip(rows.by_person(np.sum(each, axis=0)), 0.0, 1.0)


def _witness(menu: GroupMenu, used: IntArray, shares: FloatArray) -> JointWitness:
    share: FloatArray = shares[used] / shares[used].sum()
    criteria = share @ menu.risks[used]
    return JointWitness(
        directions=menu.directions[used],
        shares=share,
        risk=criteria,
        criteria=criteria,
        selection_rate=share @ menu.selection_rates[used],
        slack=share @ menu.forms[used],
        error=share @ menu.errors[used],
        widths=menu.widths,
        largest=menu.largest,
        largest_absolute=menu.largest_absolute,
    )


def _best_mixture(slacks: FloatArray) -> tuple[FloatArray, float]:
    """Shares (R,) of rules with ``slacks`` (R, F) whose smallest slack is largest, and that slack.

    A little of the mean of all slacks decides between mixtures that are equal in that: where the range is 0, no slack
    of a pair can be positive without another being negative.
    """
    n_rules, n_slacks = slacks.shape
    # maximise z + mean slack / 1000 subject to slack_m(shares) >= z for all m, shares >= 0 of sum one
    cost = np.append(-slacks.mean(axis=1) / 1000.0, -1.0)
    rule = np.hstack([-slacks.T, np.ones((n_slacks, 1))])
    total = np.append(np.ones(n_rules), 0.0)[None]
    bounds = [(0.0, None)] * n_rules + [(None, None)]
    found = linprog(cost, rule, np.zeros(n_slacks), total, [1.0], bounds=bounds, method="highs")
    shares: FloatArray = np.maximum(found.x[:-1], 0.0)
    return shares, float((shares @ slacks).min() / shares.sum())


def known_slacks(values: FloatArray, widths: IntArray, moves: IntArray) -> FloatArray:
    """Slacks (..., M), or bounds of them, where decisions about one group alone are changed, with what is known then.

    A slack that the group has no part in stays as it is with the algorithm, so it is not negative; one that grows with
    the group's gain is at least that gain.
    """
    own = values[..., [int(np.argmax((widths < 0) & (moves > 0)))]]
    found = np.where(moves == 0, np.maximum(values, 0.0), values)
    known: FloatArray = np.where((moves > 0) & (widths >= 0), np.maximum(found, own), found)
    return known


@dataclass(frozen=True, slots=True)
class Floors:
    """Linear forms that slacks are known not to fall below when decisions about ``group`` alone are changed.

    A width is at least every difference that it is the largest of, so that a slack which falls as the group's risk does
    is at least the same slack with such a difference in the place of the width. ``nets`` (E, J) and ``rooms``
    (E, J + V) as those of a fan; ``under`` (E,): the generator that each belongs to.
    """

    group: int
    nets: FloatArray
    rooms: FloatArray
    under: IntArray

    def beside(self, fan: Fan) -> Fan:
        """Return the fan with these forms behind its generators."""
        return replace(
            fan,
            directions=np.vstack([fan.directions, self.nets]),
            rooms=np.vstack([fan.rooms, self.rooms]),
            turns=np.vstack([fan.turns, np.zeros_like(self.nets)]),
        )


def width_floors(fan: Fan, group: int) -> Floors:
    """The floors of the slacks of a fan of the groups' risks that fall as the risk of ``group`` does."""
    n, found = fan.directions.shape[1], []
    for m in np.flatnonzero((fan.directions[:, group] < 0.0) & (fan.width_of >= 0)):
        width = fan.widths[fan.width_of[m]]
        assert isinstance(width, tuple)
        top = int(np.argmax(fan.directions[m]))  # the slack is width - (c_top - c_group)
        for g, h in (pair for pair in width if pair == (group, top) or (pair[0] == top and pair[1] != group)):
            room = fan.rooms[m].copy()
            room[n:] = 0.0
            room[g], room[h] = room[g] + 1.0, room[h] - 1.0
            found.append((fan.directions[m], room, m))
    nets, rooms, under = zip(*found, strict=True)
    return Floors(group, np.array(nets), np.array(rooms), np.array(under))


def changed_witness(menu: GroupMenu, floors: Floors, label: Label, share: float) -> JointWitness:
    """The lottery that uses the rule learned for one group so often that no width grows.

    That rule of the menu, of a fan with ``floors``, changes the group alone, and the last rule is the algorithm. The
    share is that with the largest smallest bound of what changes, if one is above zero, else the ``share`` that is
    estimated to be right. Of a slack and its floors the one with the largest bound counts; all of them hold together.
    """
    group, n_slacks = floors.group, len(menu.nets) - len(floors.under)
    moves, widths = np.sign(menu.nets[:n_slacks, group]).astype(np.intp), menu.widths[:n_slacks]
    at = np.concatenate([np.arange(n_slacks), floors.under])
    reach = critical(menu.largest, CHOSEN_AT)
    best, found = -np.inf, (share, np.arange(n_slacks))
    for each in (*np.linspace(0.0, 1.0, N_SHARES)[1:].tolist(), share):
        mixed = np.array([each, 1.0 - each])
        bounds = mixed @ (menu.forms - reach * menu.errors)[[group, -1]]
        order = np.lexsort((-bounds, at))
        first = order[np.unique(at[order], return_index=True)[1]]
        worst = bounds[first][(moves < 0) | ((moves > 0) & (widths < 0))].min()
        if worst > max(best, 0.0) or (best <= 0.0 and each == share):
            best, found = float(worst), (each, first)
    chosen, first = found
    shares = np.zeros(len(menu.forms))
    shares[group], shares[-1] = chosen, 1.0 - chosen
    whole = _witness(menu, np.array([group, len(shares) - 1]), shares)
    return replace(
        whole,
        directions=whole.directions[:1],
        shares=whole.shares[:1],
        slack=whole.slack[first],
        error=whole.error[first],
        widths=widths,
        changed=label,
        moves=moves,
    )
