"""Alternatives for more than two groups: rules of a menu that improve on an algorithm for all and in the range."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd

from ..arrays import FloatArray, IntArray
from ..data.reading import Label
from ..inference.fan.menu import GroupMenu
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
    chosen = improving_rules(choosing, n)
    table = pd.DataFrame(_lines(evaluating, chosen, test.alpha), columns=columns_of(groups))
    q = -choosing.directions[chosen] / np.linalg.norm(choosing.directions[chosen], axis=1)[:, None] + 0.0
    table.insert(0, "role", _roles(choosing.risks[chosen], groups))
    for j, label in enumerate(groups):
        table.insert(1 + j, f"direction {label}", q[:, j])
    return Alternatives(name, groups, risk, rates, shares, q, table, evaluated, test, make_rule)


def improving_rules(menu: GroupMenu, n: int) -> IntArray:
    """Positions of at most ``n`` rules that improve in every respect by the estimates.

    First that with the largest smallest gain, then those best for a group and the fairest, then whichever is farthest
    from those chosen. Rules with the same risks count once.
    """
    smallest = menu.gains.min(axis=1)
    nothing = 1e-12 * float(np.abs(menu.risks).max())
    better = np.flatnonzero(smallest > nothing)
    if len(better) == 0:
        return better
    _, first = np.unique(menu.risks[better], axis=0, return_index=True)
    better = better[np.sort(first)]
    risks = menu.risks[better]
    wanted = [int(np.argmax(smallest[better])), int(np.argmin(np.ptp(risks, axis=1))), *risks.argmin(axis=0).tolist()]
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


def _roles(risks: FloatArray, groups: tuple[Label, ...]) -> list[str]:
    roles = [""] * len(risks)
    if len(risks) == 0:
        return roles
    named = [(f"most accurate for {label}", risks[:, j]) for j, label in enumerate(groups)]
    for role, cost in [*named, ("fairest", np.ptp(risks, axis=1))]:
        k = int(np.argmin(cost))
        roles[k] = f"{roles[k]}, {role}" if roles[k] else role
    return roles
