"""The question of an alternative among rules that see the group, for more than two groups together."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...arrays import FloatArray, IntArray
from ...fit import Fit
from ...frontier.criteria import CriteriaRows
from ...frontier.fan import by_group
from ..fan.evidence import JointEvidence
from ..fan.forms import standing_of
from ..fan.menu import group_menu
from ..fan.witness import JointWitness, changed_witness, width_floors
from .groups import GroupEvidence, Risks, compare_groups, draw_risks, draw_smallest, groups_evidence
from .own_rules import own_rules


def aware_joint_evidence(
    fit: Fit,
    rows: CriteriaRows,
    decisions: FloatArray,
    found: list[JointEvidence],
    folds: IntArray,
    reference: int | None,
) -> list[JointEvidence]:
    """Put tests of single groups beside the test over the fan, for which a box has flat edges.

    ``decisions`` (J, n) of the algorithms. A group must exceed the smallest risk, as estimated by the group that has it
    on other ``folds`` (n,); with a ``reference`` its own gap is to shrink, so it must exceed the risk of that group,
    and the reference those of all others. If a group decides, the witness is the algorithm with other decisions about
    it.
    """
    rules, losses = own_rules(fit), fit.row_losses.of(decisions)
    drawn = draw_risks(fit, np.vstack([losses, rules.losses]))
    rule, root = (drawn.means[-1], drawn.draws[:, -1]), float(np.sqrt(fit.n_obs))
    evidence = []
    for j, own in enumerate(found):
        algorithm = Risks(drawn.means[j], drawn.draws[:, j], decisions[j], losses[j])
        smallest = draw_smallest(fit, losses[j], folds) if reference is None else None
        compared = compare_groups(fit, algorithm, rules, rule, smallest, reference)
        tests = groups_evidence(compared, fit.n_obs, own.p_value)
        beside = replace(own, p_value=tests.p_value, by_group=tests.tests, together_p_value=tests.together)
        if not tests.alone:
            evidence.append(beside)
            continue
        decision = tests.decision
        evidence.append(
            replace(
                beside,
                slack=decision.statistic / root,
                standard_error=float(decision.draws.std()) / root,
                weights=-decision.direction,
                n_rules=len(compared),
                n_cells=len(compared),
                loss=0.0,
                finished=True,
                witness=_witness(fit, rows, decisions[j], tests, folds, reference),
            )
        )
    return evidence


def _witness(
    fit: Fit, rows: CriteriaRows, decisions: FloatArray, tests: GroupEvidence, folds: IntArray, reference: int | None
) -> JointWitness | None:
    """The lottery between the algorithm and the rule learned for the group that decides, about that group alone.

    The menu is: each group by its learned rule, and all as now. Bounds hold for all lotteries between them.
    """
    gain, excess = tests.tests[tests.decided].gain, tests.tests[tests.decided].excess
    if gain <= 0.0 or excess <= 0.0:
        return None
    fan, standing = standing_of(rows, decisions, folds, by_group(rows.n_criteria, reference))
    n, o = rows.n_criteria, fit.options
    floors = width_floors(fan, tests.decided)
    menu = group_menu(
        rows,
        floors.beside(fan),
        standing,
        np.vstack([np.eye(n), np.zeros(n)]),
        alone=True,
        n_draws=o.n_boot,
        seed=fit.seeds.drawing,
        n_jobs=o.n_jobs,
    )
    label = fit.sample.groups.labels[tests.decided]
    return changed_witness(menu, floors, label, min(1.0, excess / gain))
