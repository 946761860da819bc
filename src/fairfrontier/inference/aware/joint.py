"""The question of an alternative among rules that see the group, for more than two groups together."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...arrays import FloatArray, IntArray
from ...fit import Fit
from ..fan.evidence import JointEvidence
from .groups import draw_risks, draw_smallest, groups_evidence, own_rules


def aware_joint_evidence(
    fit: Fit, decisions: FloatArray, found: list[JointEvidence], folds: IntArray, reference: int | None
) -> list[JointEvidence]:
    """Put the tests of single groups in the place of the test over the fan, for which a box has flat edges.

    ``decisions`` (J, n) of the algorithms. A group must exceed the smallest risk, as estimated by the group that has it
    on other ``folds`` (n,); with a ``reference`` its own gap is to shrink, so it must exceed the risk of that group.
    The mixture found over the fan was not tested, so it is no witness; what bounds gains needs no test and stays.
    """
    rules, labels, losses = own_rules(fit), fit.sample.groups.labels, fit.row_losses.of(decisions)
    drawn = draw_risks(fit, np.vstack([losses, rules.losses]))
    rule, root = (drawn.means[-1], drawn.draws[:, -1]), float(np.sqrt(fit.n_obs))
    evidence = []
    for j, own in enumerate(found):
        e, draws = drawn.means[j], drawn.draws[:, j]
        if reference is None:
            low, low_draws, _ = draw_smallest(fit, losses[j], folds)
        else:
            low, low_draws = float(e[reference]), draws[:, reference]
        tests = groups_evidence(labels, (e, draws), rule, [(low, low_draws)] * len(labels), rules.added, fit.n_obs)
        decision = tests.decision
        evidence.append(
            replace(
                own,
                slack=decision.statistic / root,
                standard_error=float(decision.draws.std()) / root,
                weights=-decision.direction,
                p_value=tests.p_value,
                n_rules=len(labels),
                n_cells=len(labels),
                loss=0.0,
                finished=True,
                witness=None,
                by_group=tests.tests,
            )
        )
    return evidence
