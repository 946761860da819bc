"""A concrete rule, or mixture of two, that improves on an algorithm, with bounds that hold whichever rule is chosen.

A rule that is shown because it looks good looks better than it is. So bounds hold for a whole menu of rules at once,
and for all mixtures of two. Write e* for the risks of the algorithm, e for those of a rule, d = e_r - e_b. Six *forms*
are linear in the risks,

    e*_r - e_r,   e*_b - e_b,   s d* - v d   with s, v = +1 or -1,

and the gain in the gap is |d*| - |d| = max over s of min over v of the last four. With c the quantile of the largest
deviation (form~ - form^) / se of all forms of all rules of the menu, form^ - c se bounds all of them from below with
the stated probability; the bound of the gain in the gap is the same maximum and minimum of the bounds (|d*| itself is
biased upwards where it is near 0). Forms of a mixture are mixtures of the forms of its rules, so mixtures of their
bounds bound them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...arrays import FloatArray
from ...bootstrap.draws import RuleDraws
from ...data.reading import Label
from ...data.result import Result
from ...frontier.attainable import Attainable
from ...frontier.capacity import CappedFunction
from ...frontier.plane import unit_circle
from ...frontier.support import group_means

N_RULES = 91
"""Rules of the menu, of directions two degrees apart."""
N_SHARES = 11
CHOSEN_AT = 0.05
"""Level of the bounds by which the alternative that is shown is chosen."""
STILL = 1e-12
"""Standard error, relative to the largest form, up to which it is rounding."""


def menu_directions() -> FloatArray:
    """Directions (M, 2) of the rules that may be chosen: the half circle q1 + q2 <= 0."""
    return unit_circle(N_RULES, 0.75 * np.pi, 1.75 * np.pi, endpoint=True)


def gains(risk: FloatArray, e_star: FloatArray) -> FloatArray:
    """Gains (..., 3) of risks over ``e_star``: of group r, of group b, and in the absolute gap."""
    return gains_of(forms(risk, e_star))


def forms(risk: FloatArray, e_star: FloatArray) -> FloatArray:
    """The six forms (..., 6) of risks (..., 2) against ``e_star`` (..., 2)."""
    gained = e_star - risk
    now, then = e_star[..., 0] - e_star[..., 1], risk[..., 0] - risk[..., 1]
    both = [s * now - v * then for s in (1.0, -1.0) for v in (1.0, -1.0)]
    return np.stack([gained[..., 0], gained[..., 1], *both], axis=-1)


def gains_of(values: FloatArray) -> FloatArray:
    """Gains (..., 3), or bounds of them, from those of the six forms: in the gap the maximum over s of min over v."""
    return np.stack(_gain_columns(np.moveaxis(values, -1, 0)), axis=-1)


def _gain_columns(values: FloatArray) -> list[FloatArray]:
    """The three gains from the six forms, which are in the first axis."""
    in_gap = np.maximum(np.minimum(values[2], values[3]), np.minimum(values[4], values[5]))
    return [values[0], values[1], in_gap]


@dataclass(frozen=True, slots=True)
class Menu:
    """Rules that may be chosen as an alternative to one algorithm, with what bounds their gains.

    ``forms`` and ``errors`` (M, 6), their standard errors; ``largest`` and ``largest_absolute`` (B,): the largest
    deviation of a draw above the estimates, and in absolute value, in standard errors, over all forms of all rules.
    """

    risks: FloatArray
    forms: FloatArray
    errors: FloatArray
    largest: FloatArray
    largest_absolute: FloatArray


def make_menu(drawn: RuleDraws, e_star: FloatArray, e_star_draws: FloatArray, added: FloatArray) -> Menu:
    """Compare the rules of a menu with risks (2,) that have the draws (B, 2).

    ``added`` (M, 2, 2): what dependent folds add to the covariances of the rules' risks.
    """
    values = forms(drawn.risks, e_star)
    deviation = forms(drawn.draws, e_star_draws[:, None, :]) - values
    errors = deviation.std(axis=0)
    errors[errors <= STILL * float(np.abs(values).max())] = 0.0
    varies = errors > 0.0
    t = deviation[:, varies] / errors[varies] if varies.any() else np.zeros((len(deviation), 1))
    wider = np.sqrt(errors**2 + added_to_forms(added) * varies)
    return Menu(drawn.risks, values, wider, t.max(axis=1), np.abs(t).max(axis=1))


def added_to_forms(added: FloatArray) -> FloatArray:
    """What (..., 6) additions (..., 2, 2) to the covariance of a rule's risks add to the variances of the forms."""
    own, gap = np.diagonal(added, axis1=-2, axis2=-1), added[..., 0, 0] + added[..., 1, 1] - 2.0 * added[..., 0, 1]
    result: FloatArray = np.concatenate([own, np.stack([gap] * 4, axis=-1)], axis=-1)
    return result


def critical(largest: FloatArray, alpha: float) -> float:
    """How many standard errors bounds of level 1 - alpha lie below the estimates."""
    return float(np.quantile(largest, 1.0 - alpha, method="inverted_cdf"))


Mixture = tuple[int, int, float]
"""Positions of two rules of a menu, and the share of the first."""


def choose(menu: Menu, plug_in: FloatArray, e_star: FloatArray) -> Mixture:
    """The mixture whose smallest lower bound is largest, if that is above zero; else that with the best estimates.

    Estimates are those of the plug-in criterion, with risks ``plug_in`` (M, 2), which does not reuse the rows' own
    outcomes; where its choice fails on the outcomes, these. Bounds hold whichever is chosen.
    """
    chosen, worst = largest_smallest(menu.forms - critical(menu.largest, CHOSEN_AT) * menu.errors)
    if worst > 0.0:
        return chosen
    (first, second, share), _ = largest_smallest(forms(plug_in, e_star))
    if gains_of(share * menu.forms[first] + (1.0 - share) * menu.forms[second]).min() > 0.0:
        return first, second, share
    return largest_smallest(menu.forms)[0]


def largest_smallest(values: FloatArray) -> tuple[Mixture, float]:
    """The mixture whose smallest gain, by forms or bounds (M, 6) of rules, is largest, and that gain.

    All pairs and shares 0, 0.1, ..., 1 are looked at; single rules win ties.
    """
    first, second = np.triu_indices(len(values))
    of_first, of_second = values.T[:, first], values.T[:, second]
    best, found = -np.inf, (0, 0, 1.0)
    rounding = STILL * float(np.abs(values).max())
    for share in np.linspace(1.0, 0.0, N_SHARES):
        gain_r, gain_b, in_gap = _gain_columns(share * of_first + (1.0 - share) * of_second)
        worst = np.minimum(np.minimum(gain_r, gain_b), in_gap)
        k = int(np.argmax(worst))
        if worst[k] > best + rounding:
            best, found = float(worst[k]), (int(first[k]), int(second[k]), float(share))
    return found, best


class Alternative(Result):
    """A rule, or mixture of rules, that improves on an algorithm for any number of groups, with bounds of its gains.

    ``capacity``: the largest share of people that its rules select, if there is a limit.
    """

    __slots__ = ()

    directions: FloatArray
    shares: FloatArray
    selection_rate: FloatArray | None
    changed: Label | None
    capacity: float | None

    def lower_bounds(self, alpha: float) -> FloatArray:
        """Lower confidence bounds for all gains together, of level 1 - alpha: risks first, then what must not grow."""
        raise NotImplementedError

    @property
    def heading(self) -> str:
        """One line that says what this is."""
        return "An alternative that improves on the algorithm"

    @property
    def selection_ratio(self) -> float | None:
        """Smallest selection rate over the largest; None where the rates are not known."""
        return None if self.selection_rate is None else selection_ratio(self.selection_rate)

    def confirmed(self, alpha: float) -> bool:
        """Whether all lower bounds clear zero."""
        return bool((self.lower_bounds(alpha) > 0.0).all())


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Witness(Alternative):
    """An alternative inside the improvement set of an algorithm, with what the data say about it.

    ``gain`` (3,): estimated gains for the first group, the second group and in the gap. ``directions`` and ``shares``
    define the rule or mixture. ``forms`` and ``errors`` (6,): the six forms that make up the gains and their
    standard errors; ``largest`` and ``largest_absolute`` (B,): the largest deviations of a draw over all rules that
    might have been chosen. ``changed``: among rules that see the group, the group that is decided about by the rule
    of that direction as often as ``shares`` says; everything else stays as the algorithm has it, so that
    ``selection_rate`` is None where only the risks of the algorithm are known.
    """

    directions: FloatArray
    shares: FloatArray
    risk: FloatArray
    selection_rate: FloatArray | None
    gain: FloatArray
    forms: FloatArray
    errors: FloatArray
    largest: FloatArray
    largest_absolute: FloatArray
    changed: Label | None = None
    capacity: float | None = None

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

    def lower_bounds(self, alpha: float) -> FloatArray:
        """Lower confidence bounds (3,) for all three gains together, whichever rule of the menu had been chosen.

        With probability 1 - alpha the bounds of all rules and mixtures that might have been chosen hold together.
        """
        return gains_of(self.forms - critical(self.largest, alpha) * self.errors)

    def intervals(self, alpha: float) -> FloatArray:
        """Confidence intervals (3, 2) for all three gains together; their level is that of the lower bounds."""
        reach = critical(self.largest_absolute, alpha) * self.errors
        return np.column_stack([gains_of(self.forms - reach), gains_of(self.forms + reach)])

    def confirmed(self, alpha: float) -> bool:
        """Whether all three lower bounds clear zero; the risk of a group that is not changed stays as it is."""
        bounds = self.lower_bounds(alpha)
        kept = (self.errors[:2] == 0.0) & (self.forms[:2] == 0.0) & (self.changed is not None)
        return bool((bounds[:2][~kept] > 0.0).all() and bounds[2] > 0.0)


def improving(found: Witness | None) -> Witness | None:
    """An alternative if it is estimated to improve in every respect, else None."""
    return found if found is not None and found.gain.min() > 0.0 else None


def selection_ratio(rates: FloatArray) -> float:
    """Smallest selection rate over the largest; 1 where nobody is selected."""
    return float(rates.min() / rates.max()) if rates.max() > 0.0 else 1.0


def make_witness(function: Attainable, menu: Menu, plug_in: FloatArray, e_star: FloatArray) -> Witness:
    """Choose a rule, or a mixture, from a menu and put together what is said of it."""
    first, second, share = choose(menu, plug_in, e_star)
    pairs = [(first, share), (second, 1.0 - share)]
    used = [(k, weight) for k, weight in pairs if weight > 0.0]
    q, moved = menu_directions(), np.zeros(function.scores.n_rows)
    for k, weight in used:
        moved += weight * function.selected(q[k])
    s = function.scores
    rates, _ = group_means(s.chances(moved), s.group, s.weight)
    at, shares = [k for k, _ in used], np.array([weight for _, weight in used])
    values, errors, risk = (shares @ each[at] for each in (menu.forms, menu.errors, menu.risks))
    return Witness(
        directions=q[at],
        shares=shares,
        risk=risk,
        selection_rate=rates,
        gain=gains_of(values),
        forms=values,
        errors=errors,
        largest=menu.largest,
        largest_absolute=menu.largest_absolute,
        capacity=function.capacity if isinstance(function, CappedFunction) else None,
    )
