"""Risks with and without the group at named points, and draws of what a ban costs there.

Without a capacity the best decisions about one group do not depend on what one prefers between groups, if rules see the
group: the risks attainable for any preference are the corner of the box, every group at its smallest risk. Without
the group they depend on the preference. At a point p both sides are linear in the risks of a few rules, which are held
while drawing; the same random weights serve both sides.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from ...arrays import BoolArray, FloatArray
from ...bootstrap.draws import DrawingContext
from ...fit import Fit, attainable, predicted
from ...frontier.capacity import lowest_level
from ...frontier.mixtures import Mixture, Predicted, smallest_largest, smallest_range
from ...frontier.plane import off_breakpoint
from ...frontier.rule_class import GroupAware, GroupBlind, RuleClass
from ...frontier.sets import sharp_fairest
from ...frontier.support import SupportFunction
from ..aware.groups import draw_risks
from ..learned import draw_learned, fold_noise

N_WEIGHTS = 41
"""Weights of the first group at which the curve is drawn."""
NO_WEIGHT = 1e-6
"""Weight of a group up to which it is rounding of a search."""
POPULATION = "population"
FAIREST = "fairest"
RAWLSIAN = "rawlsian"


@dataclass(frozen=True, slots=True)
class Side:
    """Risks (P, G) at named points on one side of the ban, and draws (B, P, G) of them."""

    risks: FloatArray
    draws: FloatArray


@dataclass(slots=True)
class _Rules:
    """Rules of one repetition, as losses of the rows, and points as linear forms of their risks."""

    losses: list[FloatArray] = field(default_factory=list)
    points: dict[str, list[tuple[int, FloatArray]]] = field(default_factory=dict)

    def add(self, losses: FloatArray) -> int:
        self.losses.append(losses)
        return len(self.losses) - 1

    def side(self, names: Sequence[str], risks: FloatArray, draws: FloatArray) -> Side:
        """Evaluate the points of these names from risks (C, G) and draws (B, C, G) of the rules."""
        found = np.array([sum(form @ risks[k] for k, form in self.points[name]) for name in names])
        drawn = [sum(draws[:, k] @ form.T for k, form in self.points[name]) for name in names]
        return Side(found, np.stack(drawn, axis=1))


def named_directions(fit: Fit) -> dict[str, FloatArray]:
    """Directions (G,) of preferences that do not depend on what is attainable: of each group, and of all together."""
    groups = fit.sample.groups
    n = len(groups)
    named = {f"best for {label}": -np.eye(n)[g] for g, label in enumerate(groups)}
    return named | {"utilitarian": np.full(n, -1.0 / n), POPULATION: -groups.shares}


def two_sides(fit: Fit, blind: FloatArray, within: FloatArray) -> tuple[tuple[str, ...], Side, Side]:
    """Names of the points, and both sides of the ban there: without the group, and with it; means over repetitions.

    Draws have the variance that the dependence between folds adds, on both sides by the same random weights.
    """
    names = [*named_directions(fit), RAWLSIAN, FAIREST]
    found = []
    for without, seeing in zip(_without(fit, blind), _seeing(fit, within, names), strict=True):
        drawn = draw_risks(fit, np.array([*without.losses, *seeing.losses]))
        k = len(without.losses)
        found.append(
            (
                without.side(names, drawn.means[:k], drawn.draws[:, :k]),
                seeing.side(names, drawn.means[k:], drawn.draws[:, k:]),
            )
        )
    sides = []
    for each in zip(*found, strict=True):  # of one side, in all repetitions
        risks, draws = [side.risks for side in each], [side.draws for side in each]
        noise = fold_noise(draws, risks, fit.nuisance.n_folds)
        sides.append(Side(np.mean(risks, axis=0), np.mean(draws, axis=0) + noise))
    return tuple(names), sides[0], sides[1]


def _chances(fit: Fit, selected: FloatArray | BoolArray) -> FloatArray:
    lower = 0.0 if fit.bounds.lower is None else fit.bounds.lower
    upper = 1.0 if fit.bounds.upper is None else fit.bounds.upper
    return np.asarray(np.where(selected, upper, lower), dtype=np.float64)


def _without(fit: Fit, blind: FloatArray) -> list[_Rules]:
    """Rules that do not see the group, by repetition; k(x) = q'M t(x).

    Where a direction is to be found, all repetitions choose it together, as for the points of a fit.
    """
    found, shares, rows = [_Rules() for _ in blind], fit.sample.groups.shares, fit.row_losses
    unit = np.eye(len(shares))
    for rules, t in zip(found, blind, strict=True):
        for name, q in named_directions(fit).items():
            k = np.einsum("ij,j->i", t, q / shares)
            rules.points[name] = [(rules.add(rows.of(_chances(fit, k > 0.0))), unit)]
    if len(shares) > 2:
        for name, best in ((RAWLSIAN, smallest_largest), (FAIREST, smallest_range)):
            _mixed(fit, found, blind, GroupBlind(), name, best)
        return found
    whole = attainable(fit.sample, rows, blind, fit.bounds, GroupBlind())
    q = lowest_level(whole.plug_in().h, np.pi, 1.5 * np.pi)
    # at weights of both groups the risks are equal there: a point of the 45-degree line, as below
    between, q = bool((q < -NO_WEIGHT).all()), off_breakpoint(q)
    _, q_F, position = sharp_fairest(whole)
    for rules, t in zip(found, blind, strict=True):
        one = attainable(fit.sample, rows, t[None], fit.bounds, GroupBlind())
        rules.points[RAWLSIAN] = [(rules.add(_losses(one, q)), _both(q / -q.sum()) if between else unit)]
        rules.points[FAIREST] = [(rules.add(_losses(one, q_F)), _both(q_F) if position == "crosses" else unit)]
    return found


def _mixed(
    fit: Fit,
    found: list[_Rules],
    predictions: FloatArray,
    kind: RuleClass,
    name: str,
    best: Callable[[Predicted], Mixture],
) -> None:
    """Add the point of a mixture of rules, best by the predictions of all repetitions."""
    s, rows = fit.sample, fit.row_losses
    mixture = best(predicted(s, rows, predictions, fit.bounds, rules=kind))
    for rules, t in zip(found, predictions, strict=True):
        one = predicted(s, rows, t[None], fit.bounds, rules=kind)
        chances = one.rows.by_person(mixture.chances(one))
        rules.points[name] = [(rules.add(rows.of(chances)), np.eye(len(s.groups)))]


def _both(q: FloatArray) -> FloatArray:
    """The form of a point on the 45-degree line: both risks are -h(q) = -q'e, with q1 + q2 = -1."""
    return np.tile(-q, (2, 1))


def _losses(function: SupportFunction, q: FloatArray) -> FloatArray:
    s = function.scores
    return s.losses(function.selected(q))


def _seeing(fit: Fit, within: FloatArray, names: Sequence[str]) -> list[_Rules]:
    """Rules that see the group, by repetition: the best of every group, and for the fairest point the worst as well.

    Decisions about one group leave the others alone, so every group may have any risk between its smallest and its
    largest. Of two groups the fairest point is that of the box: the group worse off has its smallest risk, and the
    other one comes as close to it as it can. Which one that is, and whether the other can be brought so far, is decided
    by prediction, by all repetitions together. Of more groups it is a mixture that is best by prediction.
    """
    found, s, rows = [_Rules() for _ in within], fit.sample, fit.row_losses
    unit, people = np.eye(len(s.groups)), np.arange(fit.n_obs)
    risks, by_prediction = [], []
    for rules, t in zip(found, within, strict=True):
        own: FloatArray = t[people, s.group]
        chances = _chances(fit, own < 0.0), _chances(fit, own > 0.0)
        by_prediction.append([fit.group_means(rows.l0 + own * chance) for chance in chances])
        if len(unit) > 2:
            rules.add(rows.of(chances[0]))
        else:
            risks.append([fit.group_means(rules.losses[rules.add(rows.of(chance))]) for chance in chances])
        rules.points = {name: [(0, unit)] for name in names}
    if len(unit) > 2:
        _mixed(fit, found, within, GroupAware(), FAIREST, smallest_range)
        return found
    forms = _fairest_of_box(np.mean(risks, axis=0), np.mean(by_prediction, axis=0))
    for rules in found:
        rules.points[FAIREST] = list(enumerate(forms))
    return found


def _fairest_of_box(risks: FloatArray, by_prediction: FloatArray) -> FloatArray:
    """Forms (2, 2, 2) of the smallest and of the largest risks of two groups that make up the fairest point.

    Both arguments (2, 2): smallest risks by group, and largest.
    """
    (low, high), forms = by_prediction, np.zeros((2, 2, 2))
    worse = int(low[1] >= low[0])
    other = 1 - worse
    forms[0, worse, worse] = 1.0
    level = risks[0, worse]
    if high[other] < low[worse] or level >= risks[1, other]:
        forms[1, other, other] = 1.0
    elif level <= risks[0, other]:
        forms[0, other, other] = 1.0
    else:
        forms[0, other, worse] = 1.0
    return forms


@dataclass(frozen=True, slots=True)
class Curve:
    """What a ban costs in the mean of the two risks with weights w and 1 - w: estimates (W,) and draws (B, W)."""

    weights: FloatArray
    without: FloatArray
    seeing: FloatArray
    draws: FloatArray

    @property
    def cost(self) -> FloatArray:
        """Risk without the group less risk with it."""
        return self.without - self.seeing


def cost_curve(fit: Fit, blind: FloatArray, within: FloatArray) -> Curve:
    """Draw h_aware(q) - h_blind(q) at q = -(w, 1 - w), for two groups."""
    w = np.linspace(0.0, 1.0, N_WEIGHTS)
    q, o, drawn = -np.column_stack([w, 1.0 - w]), fit.options, []
    for t, rules in ((blind, GroupBlind()), (within, GroupAware())):
        function = attainable(fit.sample, fit.row_losses, t, fit.bounds, rules)
        context = DrawingContext(function, o.n_boot, fit.seeds.drawing, o.n_jobs, n_folds=fit.nuisance.n_folds)
        drawn.append(draw_learned(context, q, hold_rules=True))
    return Curve(w, -drawn[0].h_hat, -drawn[1].h_hat, drawn[1].h - drawn[0].h)
