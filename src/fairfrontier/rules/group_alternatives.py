"""Alternatives for several groups or criteria: rules of a menu that improve on an algorithm in every respect."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from ..arrays import FloatArray, IntArray
from ..data.reading import Label
from ..data.row_losses import RowLosses
from ..data.sample import Sample
from ..frontier.criteria import CriteriaRows
from ..frontier.fan import Aims
from ..frontier.support import group_means
from ..inference.fan.menu import GroupMenu
from ..inference.fan.result import JointLDATest
from ..inference.lda.answer import LDAAnswer
from .alternatives import SURE, Alternatives, columns_of
from .classifier import FrontierRule


def group_alternatives(
    choosing: GroupMenu,
    evaluating: GroupMenu,
    *,
    name: str,
    risk: FloatArray,
    rates: FloatArray,
    shares: FloatArray,
    test: LDAAnswer,
    n: int,
    evaluated: str,
    make_rule: Callable[[FloatArray], FrontierRule],
) -> Alternatives:
    """Choose at most ``n`` rules by one menu, and report what another one says of them; they may be the same.

    ``risk`` and ``rates`` (K,) of the algorithm on the rows of the evaluation, ``shares`` (K,) of the groups.
    """
    groups = test.groups
    chosen = improving_rules(choosing, n, [np.ptp(choosing.risks, axis=1), *choosing.risks.T])
    table = pd.DataFrame(_lines(evaluating, chosen, test.alpha), columns=columns_of(groups))
    q = -choosing.directions[chosen] / np.linalg.norm(choosing.directions[chosen], axis=1)[:, None] + 0.0
    own = choosing.risks[chosen]
    costs = {f"most accurate for {label}": own[:, j] for j, label in enumerate(groups)}
    table.insert(0, "role", _roles(costs | {"fairest": np.ptp(own, axis=1)}))
    for j, label in enumerate(groups):
        table.insert(1 + j, f"direction {label}", q[:, j])
    return Alternatives(name, groups, risk, rates, shares, q, table, evaluated, test, make_rule)


class OnRows(NamedTuple):
    """Rules by other criteria on some rows: the menu, the rows with the criteria, and their sample and losses."""

    menu: GroupMenu
    rows: CriteriaRows
    sample: Sample
    losses: RowLosses


def criteria_alternatives(
    choosing: OnRows,
    evaluating: OnRows,
    *,
    decisions: FloatArray,
    test: JointLDATest,
    n: int,
    evaluated: str,
    make_rule: Callable[[FloatArray], FrontierRule],
) -> Alternatives:
    """Choose at most ``n`` rules by other criteria than the groups' risks on some rows, and report them on others.

    ``decisions`` (n,) of the algorithm on the rows of the evaluation.
    """
    groups, aims, menu, s = test.groups, test.evidence.aims, choosing.menu, evaluating.sample
    costs = {f"smallest {name}": menu.risks[:, j] for j, name in enumerate(test.gain_names[: aims.lower])}
    costs |= {"fairest": _apart(menu.risks, aims)}
    chosen = improving_rules(menu, n, list(costs.values()), alike=False)
    table = _by_group(evaluating, menu.directions[chosen], groups)
    found, errors = evaluating.menu.gains[chosen], evaluating.menu.gain_errors[chosen]
    bounds = evaluating.menu.lower_bounds(test.alpha)[chosen]
    for what, values in (("gain", found), ("se gain", errors), ("at least", bounds)):
        for j, name in enumerate(test.gain_names):
            table[f"{what} {name}"] = values[:, j]
    own = evaluating.menu.risks[chosen]
    if test.criteria.measure not in ("expected loss", "selection rate"):
        for j, label in zip(aims.spread, groups, strict=True):
            table[f"{test.criteria.measure} {label}"] = own[:, j]
    table["apart"], table["agreement"] = _apart(own, aims), evaluating.menu.agreement[chosen]
    table["flagged"] = np.asarray((found < SURE * errors).any(axis=1))
    table.insert(0, "role", _roles({role: cost[chosen] for role, cost in costs.items()}))
    risk, rates = (_means(x, s)[0] for x in (evaluating.losses.of(decisions), decisions))
    q, compared = -menu.directions[chosen] + 0.0, tuple(test.gain_names)
    return Alternatives(
        test.name, groups, risk, rates, s.groups.shares, q, table, evaluated, test, make_rule, compared=compared
    )


def _apart(criteria: FloatArray, aims: Aims) -> FloatArray:
    """How far the measure differs between groups (M,), of criteria (M, J); of a ratio how far it is from one."""
    own = criteria[:, list(aims.spread)]
    low, high = own.min(axis=1), own.max(axis=1)
    ratio = np.divide(low, high, out=np.ones_like(high), where=high > 0.0)
    apart: FloatArray = 1.0 - ratio if aims.measure == "ratio" else high - low
    return apart


def _by_group(on: OnRows, directions: FloatArray, groups: tuple[Label, ...]) -> pd.DataFrame:
    """Risks with standard errors and selection rates by group of the rules of directions (k, J)."""
    values = np.empty((len(directions), 3 * len(groups)))
    for k, p in enumerate(directions):
        chances = on.rows.by_person(on.rows.chances(p))
        risk, covariance = _means(on.losses.of(chances), on.sample)
        values[k] = np.concatenate([risk, np.sqrt(np.diag(covariance)), _means(chances, on.sample)[0]])
    return pd.DataFrame(values, columns=[f"{x} {label}" for x in ("risk", "se", "selection rate") for label in groups])


def _means(values: FloatArray, s: Sample) -> tuple[FloatArray, FloatArray]:
    return group_means(values, s.group, s.weight, s.clusters, n_groups=len(s.groups))


def improving_rules(menu: GroupMenu, n: int, costs: Sequence[FloatArray], *, alike: bool = True) -> IntArray:
    """Positions of at most ``n`` rules that improve in every respect by the estimates.

    First that with the largest smallest gain, then those with the smallest of each of the ``costs`` (M,), such as a
    group's risk, then whichever is farthest from those chosen. Rules with the same criteria count once. Criteria that
    are not ``alike`` are compared in units of their largest size in the menu.
    """
    gains, risks = menu.gains, menu.risks
    if not alike:
        gains, risks = (x / np.where((size := np.abs(x).max(axis=0)) > 0.0, size, 1.0) for x in (gains, risks))
    smallest = gains.min(axis=1)
    nothing = 1e-12 * float(np.abs(risks).max())
    better = np.flatnonzero(smallest > nothing)
    if len(better) == 0:
        return better
    _, first = np.unique(risks[better], axis=0, return_index=True)
    better = better[np.sort(first)]
    risks = risks[better]
    wanted = [int(np.argmax(smallest[better])), *(int(np.argmin(cost[better])) for cost in costs)]
    chosen = list(dict.fromkeys(wanted))[:n]
    while len(chosen) < min(n, len(better)):
        apart = np.linalg.norm(risks[:, None] - risks[chosen][None], axis=2).min(axis=1)
        apart[chosen] = -1.0
        chosen.append(int(np.argmax(apart)))
    found: IntArray = np.sort(better[chosen])
    return found


def _lines(menu: GroupMenu, chosen: IntArray, alpha: float) -> list[list[object]]:
    gains, errors, bounds = menu.gains, menu.gain_errors, menu.lower_bounds(alpha)
    return [
        [
            *menu.risks[k],
            *menu.errors_of_risks[k],
            *gains[k],
            *errors[k],
            *bounds[k],
            *menu.selection_rates[k],
            float(menu.agreement[k]),
            bool((gains[k] < SURE * errors[k]).any()),
        ]
        for k in chosen
    ]


def _roles(costs: Mapping[str, FloatArray]) -> list[str]:
    """Name the rules (k,) with the smallest of each cost (k,)."""
    roles = [""] * len(next(iter(costs.values())))
    for role, cost in costs.items() if roles else ():
        k = int(np.argmin(cost))
        roles[k] = f"{roles[k]}, {role}" if roles[k] else role
    return roles
