"""The question of an alternative among rules that see the group, asked of a `Fit` of two groups."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...arrays import FloatArray
from ...bootstrap.draws import RuleDraws
from ...data.algorithms import Algorithms
from ...fit import Fit
from ..lda.evidence import Evidence
from ..lda.witness import Witness, gains_of, make_menu
from .groups import GroupEvidence, OwnRules, draw_risks, groups_evidence, own_rules

Risks = tuple[FloatArray, FloatArray]
"""Risks (G,) and draws (B, G) of them."""


def aware_evidence(fit: Fit, algorithms: Algorithms, found: list[Evidence]) -> list[Evidence]:
    """Put the tests of single groups in the place of the planar test, for which a box has flat edges."""
    rules, labels = own_rules(fit), fit.sample.groups.labels
    drawn = draw_risks(fit, np.vstack([fit.row_losses.of(algorithms.decisions), rules.losses]))
    rule = drawn.means[-1], drawn.draws[:, -1]
    risks: list[Risks] = [(drawn.means[j], drawn.draws[:, j]) for j in range(len(algorithms.decisions))]
    risks += [(e, np.broadcast_to(e, rule[1].shape)) for e in algorithms.fixed]
    rates: list[FloatArray | None] = [fit.group_means(a) for a in algorithms.decisions]
    rates += [None] * len(algorithms.fixed)
    evidence = []
    for own, (e, draws), selected in zip(found, risks, rates, strict=True):
        others = [(float(e[1 - g]), draws[:, 1 - g]) for g in (0, 1)]
        tests = groups_evidence(labels, (e, draws), rule, others, rules.added, fit.n_obs)
        decision = tests.decision
        evidence.append(
            replace(
                own,
                statistic=decision.statistic,
                separation=max(decision.statistic, 0.0),
                direction=decision.direction,
                draws=decision.draws,
                p_value=tests.p_value,
                robust_p_value=tests.p_value,
                witness=_witness(fit, rules, tests, (e, draws), rule, selected),
                by_group=tests.tests,
            )
        )
    return evidence


def _witness(
    fit: Fit, rules: OwnRules, tests: GroupEvidence, algorithm: Risks, rule: Risks, rates: FloatArray | None
) -> Witness | None:
    """The lottery that uses the rule learned for one group so often that its risk does not fall below the other.

    The menu is: all as now, and the first or the second group by its learned rule. Bounds hold for all lotteries
    between them.
    """
    g, (e, e_draws) = tests.decided, algorithm
    gain, excess = tests.tests[g].gain, tests.tests[g].excess
    if gain <= 0.0 or excess <= 0.0:
        return None
    menu_risks, menu_draws, added = np.tile(e, (3, 1)), np.repeat(e_draws[:, None], 3, axis=1), np.zeros((3, 2, 2))
    for k in (0, 1):
        menu_risks[1 + k, k], menu_draws[:, 1 + k, k] = rule[0][k], rule[1][:, k]
        added[1 + k, k, k] = rules.added[k] / fit.n_obs
    menu = make_menu(RuleDraws(menu_risks, menu_draws), e, e_draws, added)
    share = min(1.0, excess / gain)
    shares, at = np.array([share, 1.0 - share]), [1 + g, 0]
    values, errors, risk = (shares @ each[at] for each in (menu.forms, menu.errors, menu.risks))
    own = fit.group_means(rules.chances)
    now = own if rates is None else rates
    selected = np.where(np.arange(2) == g, share * own + (1.0 - share) * now, now)
    return Witness(
        directions=tests.decision.direction[None],
        shares=np.array([share]),
        risk=risk,
        selection_rate=selected,
        gain=gains_of(values),
        forms=values,
        errors=errors,
        largest=menu.largest,
        largest_absolute=menu.largest_absolute,
        changed=fit.sample.groups.labels[g],
    )
