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
from .groups import GroupEvidence, Risks, compare_groups, draw_risks, groups_evidence
from .own_rules import OwnRules, own_rules

Drawn = tuple[FloatArray, FloatArray]
"""Risks (G,) and draws (B, G) of them."""


def aware_evidence(
    fit: Fit, algorithms: Algorithms, found: list[Evidence], capacity: float | None = None
) -> list[Evidence]:
    """Put tests of single groups beside the planar test, for which a box has flat edges.

    With a capacity the rule for a group selects no more of it than the algorithm does, so that nobody else loses a
    place. Algorithms that select more than the capacity, and risks without decisions, then have the planar test alone.
    """
    n, decisions = len(algorithms.decisions), algorithms.decisions
    rules = [own_rules(fit, None if capacity is None else a) for a in decisions]
    rules += [own_rules(fit)] * len(algorithms.fixed)
    losses = fit.row_losses.of(decisions)
    drawn = draw_risks(fit, np.vstack([losses, *(each.losses[None] for each in rules)]))
    evidence = []
    for j, own in enumerate(found):
        rule = drawn.means[n + j], drawn.draws[:, n + j]
        if j < n:
            algorithm = Risks(drawn.means[j], drawn.draws[:, j], decisions[j], losses[j])
        else:
            e = algorithms.fixed[j - n]
            algorithm = Risks(e, np.broadcast_to(e, rule[1].shape))
        if capacity is not None and not _keeps_to(fit, algorithm, capacity):
            evidence.append(own)
            continue
        compared = compare_groups(fit, algorithm, rules[j], rule)
        tests = groups_evidence(compared, fit.n_obs, own.robust_p_value, capped=capacity is not None)
        evidence.append(_with_groups(fit, own, tests, algorithm, rules[j], rule))
    return evidence


def _keeps_to(fit: Fit, algorithm: Risks, capacity: float) -> bool:
    """Whether an algorithm selects no more than the capacity; not known of risks without decisions."""
    if algorithm.decisions is None:
        return False
    w = fit.sample.weight
    return float(w @ algorithm.decisions) <= capacity * float(w.sum()) * (1.0 + 1e-12)


def _with_groups(
    fit: Fit, own: Evidence, tests: GroupEvidence, algorithm: Risks, rules: OwnRules, rule: Drawn
) -> Evidence:
    """Return the evidence with the tests of single groups, and what decides if one of them does."""
    p, decision = tests.p_value, tests.decision
    beside = replace(own, p_value=p, robust_p_value=p, by_group=tests.tests, together_p_value=tests.together)
    if not tests.alone:
        return beside
    return replace(
        beside,
        statistic=decision.statistic,
        separation=max(decision.statistic, 0.0),
        direction=decision.direction,
        draws=decision.draws,
        witness=_witness(fit, rules, tests, algorithm, rule),
    )


def _witness(fit: Fit, rules: OwnRules, tests: GroupEvidence, algorithm: Risks, rule: Drawn) -> Witness | None:
    """The lottery that uses the rule learned for one group so often that its risk does not fall below the other.

    The menu is: all as now, and the first or the second group by its learned rule. Bounds hold for all lotteries
    between them. How many are selected is not known if only the risks of the algorithm are.
    """
    g, e, e_draws = tests.decided, algorithm.means, algorithm.draws
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
    selected = None
    if algorithm.decisions is not None:
        then, now = fit.group_means(rules.chances), fit.group_means(algorithm.decisions)
        selected = np.where(np.arange(2) == g, share * then + (1.0 - share) * now, now)
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
