"""The robust and the sharp test for a less discriminatory alternative (LDA) to an algorithm.

Write D(q) = h_C(e*)(-q) + h(q) for directions with q1 + q2 <= 0. For feasible e*, D >= 0, and no LDA
exists if and only if D(q) = 0 for some q. Three tests of that null:

* ``paper``: T = sqrt(n)([max_q q'e* - h(q)]_+ + [min_q D(q)]_+), draws by the numerical directional
  derivative (or, without kinks, the closed-form limit);
* ``robust``: D > 0 by a one-sided test of its own at every direction of a grid and, for the rules of neighbouring
  directions, at the direction between in which both do equally well; valid for learners whose predictions do not hang
  on single folds (`sequential` is proven for any learner); with several repetitions of the cross-fitting the rule of a
  direction is the lottery between those of the repetitions, and what they disagree about adds to the variance
  (`dependence`);
* ``sharp``: the same at the one direction that minimises the plug-in criterion; needs a good learner.

The last two hold every direction's rule while they draw: h^(q) is the value of that one rule, and letting it follow
the drawn group shares, as published, adds a variance of order n^(-1/2) that h^(q) does not have.

With each of them comes a test that e* is feasible, T = max_q sqrt(n)(q'e* - h(q)) / s(q), where s(q) is the standard
deviation of the draws at q. Each direction counts in its own standard errors: not studentised, the noise of a small
group drowns a deficit in a large one. The draws' maximum of z(q) / s(q) over the same directions stands for T under the
null, as if q'e* = h(q) in every one of them; that is the least favourable case, so the test errs on the side of not
rejecting.

`lda_evidence` has three steps. `prepare` settles from the estimates of one repetition what is to be drawn: directions
in named blocks, and the losses of the algorithms. One call draws all of it, and another the menu of rules from which an
alternative is chosen, if there may be one. `_evidence` then tests direction by direction, for one algorithm after the
other. With several repetitions the robust test is made once more, for their lottery, on the mean of their draws (all of
them draw the same weights).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from scipy.special import ndtri

from ...arrays import FloatArray, IntArray
from ...bootstrap.draws import Drawing, Draws, RuleDraws
from ...data.result import PlainDict, Result, plain_items
from ...frontier.attainable import Attainable
from ...frontier.plane import U1, U2, improvement_support, off_breakpoint, unit_circle
from ...frontier.support import Extremum, group_means
from ..aware.groups import GroupTest
from ..p_values import Decision, combine_repetitions, count_reaching, p_value, step_size
from .dependence import added_variance
from .directions import DirectionBlocks, between, robust_grid
from .published import PaperParts, paper_parts
from .sequential import SequentialTest
from .witness import Witness, gains, make_menu, make_witness, menu_directions

Method = Literal["robust", "sharp", "paper"]
STILL = 1e-10
"""Size, relative to the numbers that are subtracted, up to which a difference or its variation is rounding."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class GainBound(Result):
    """Upper bound on what any alternative can gain, if the learner is consistent.

    D at ``direction`` is the largest gain in the sum of the two groups' risks weighted by -direction, both weights
    being non-negative; ``estimate`` and ``draws`` (B,) of it.
    """

    direction: FloatArray
    estimate: float
    draws: FloatArray

    @property
    def heading(self) -> str:
        """One line that says what this is."""
        return "What any alternative can gain at most"

    def _facts(self) -> dict[str, object]:
        return {"direction": self.direction, "estimate": self.estimate, "n_boot": len(self.draws)}

    def upper(self, alpha: float) -> float:
        """Upper confidence bound of level 1 - alpha, never below 0."""
        reach = np.quantile(self.estimate - self.draws, 1.0 - alpha, method="inverted_cdf")
        return max(0.0, self.estimate + float(reach))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Evidence(Result):
    """Everything the data say about alternatives to one algorithm, whatever the level.

    ``statistic`` with its ``draws`` (B,) under the null and its parts; ``direction`` at which the test is
    decided; p-values of the chosen method, of the robust test and of feasibility. ``feasibility_t`` is the largest
    excess of the risks over what is estimated to be feasible, in standard errors: infinite if nothing varies there, 0
    if there is none. ``by_group`` are the tests of single groups, among rules that see the group without a capacity;
    the p-value is then the smallest of them after Holm's adjustment, and statistic and draws are those of the weaker
    part of the test that decides.
    """

    risk: FloatArray
    statistic: float
    separation: float
    feasibility: float
    direction: FloatArray
    draws: FloatArray
    p_value: float
    robust_p_value: float
    feasibility_p_value: float
    feasibility_t: float
    witness: Witness | None
    gain_bound: GainBound
    by_group: tuple[GroupTest, ...] = ()

    @property
    def heading(self) -> str:
        """One line that says what this is."""
        return "Evidence on alternatives to one algorithm"

    def _facts(self) -> dict[str, object]:
        return {
            "risk": self.risk,
            "statistic": self.statistic,
            "separation": self.separation,
            "feasibility": self.feasibility,
            "direction": self.direction,
            "p_value": self.p_value,
            "robust_p_value": self.robust_p_value,
            "feasibility_p_value": self.feasibility_p_value,
            "feasibility_t": self.feasibility_t,
            "n_boot": len(self.draws),
        }

    def to_dict(self) -> PlainDict:
        """Return plain numbers and text for JSON, with the witness and the bound on gains."""
        more = {"witness": self.witness, "gain_bound": self.gain_bound, "by_group": list(self.by_group)}
        return plain_items(self._facts() | more)


def lda_evidence(
    contexts: Sequence[Drawing],
    losses: Sequence[FloatArray],
    fixed: FloatArray,
    *,
    method: Method,
    central: int = 0,
    n_folds: int = 0,
    directions: int | None = None,
    kinks: bool = True,
) -> list[Evidence]:
    """Test J algorithms, then fixed risk pairs (F, 2), on the same draws.

    One context and row losses (J, n) for each repetition of the cross-fitting, with ``n_folds`` folds; all but the
    robust test combine the repetitions by twice their median p-value, and show those of the ``central`` one.
    ``directions``: None for exact extrema in the paper's statistic, or a number of grid directions. With capped
    contexts alternatives are rules within the capacity; the published statistic is not defined for them.
    """
    functions = [context.function for context in contexts]
    grid = robust_grid(functions[0].n_obs)
    # the risks of the lottery between the repetitions' rules
    neighbours, equal = between(grid, np.mean([f.estimate.support_set(grid) for f in functions], axis=0))
    found, tested = [], []
    for context, own in zip(contexts, losses, strict=True):
        setting = prepare(context.function, own, fixed, grid, (neighbours, equal))
        blocks = setting.blocks
        draws = context.draw(blocks.rules, setting.losses, hold_rules=True, along=blocks.along)
        published: list[PaperParts] | list[None] = [None] * len(setting.risks)
        if method == "paper":
            published = paper_parts(context.exact(), own, setting.risks, directions, kinks)
        rules = context.draw_rules(menu_directions()) if setting.improvable else None
        found.append(
            [
                _evidence(context.function, setting, draws, rules, j, method=method, paper=paper)
                for j, paper in enumerate(published)
            ]
        )
        tested.append(draws.some(blocks.positions("grid", "between"), len(own)))
    if len(found) == 1:
        return found[0]
    lottery = Draws.mean(tested)
    variance = added_variance(functions, grid, n_folds)[np.append(np.arange(len(grid)), neighbours)]
    added = np.einsum("ki,kij,kj->k", lottery.directions, variance, lottery.directions)
    robust = [
        DirectionTests(lottery, e, drawn).weakest(np.arange(len(added)), added)
        for e, drawn in [
            *zip(lottery.risks_hat, lottery.risks.swapaxes(0, 1), strict=True),
            *[(e, np.broadcast_to(e, (lottery.n_boot, 2))) for e in fixed],
        ]
    ]
    return combine(found, central, robust, method)


@dataclass(frozen=True, slots=True)
class Setting:
    """What the estimates settle before anything is drawn.

    ``risks`` (J + F, 2), of which the first ``n_algorithms`` are estimated from rows; ``reach`` says for each how far
    outside the estimated set it lies, and in which direction. ``improvable`` are the positions of those on which some
    rule may improve, and ``plug_in`` (M, 2) the risks of the rules of the menu by the plug-in criterion. ``losses``
    (J, n) of the algorithms and the directions of ``blocks`` are what is drawn.
    """

    risks: FloatArray
    n_algorithms: int
    reach: tuple[Extremum, ...]
    improvable: tuple[int, ...]
    plug_in: FloatArray
    losses: FloatArray
    blocks: DirectionBlocks


def prepare(
    function: Attainable,
    losses: FloatArray,
    fixed: FloatArray,
    grid: FloatArray,
    edges: tuple[IntArray, FloatArray],
) -> Setting:
    """Estimate the risks, look for alternatives and choose the directions at which tests are made.

    ``grid`` of the robust test, and ``edges``: neighbours in it and where their rules do equally well, as `between`
    returns them.
    """
    s, arcs, plug_in = function.scores, function.estimate, function.plug_in()
    estimated = np.array([group_means(loss, s.group, s.weight)[0] for loss in losses]).reshape(-1, 2)
    risks = np.vstack([estimated, fixed])
    neighbours, equal = edges
    reach = tuple(arcs.max_excess(e) for e in risks)
    # Directions all round are needed only where an algorithm's risks lie outside the estimated set.
    # A multiple of 4: exchanging the groups then turns the circle into itself.
    circle = unit_circle(4 * -(-len(grid) // 4) if max(x.value for x in reach) > 0.0 else 0)
    blocks = DirectionBlocks.stack(
        {
            "grid": grid,
            "circle": circle,
            "sharp": np.array([off_breakpoint(plug_in.min_separation(e).direction) for e in risks]),
            # where the plug-in criterion leaves the smallest gain in a weighted sum of the risks, weights >= 0
            "bounding": np.array([off_breakpoint(plug_in.max_excess(e, U1, np.pi / 2.0).direction) for e in risks]),
            "outermost": np.array([off_breakpoint(x.direction) for x in reach]),
            "best": np.array([U1, U2]),
            "between": grid[neighbours],
        },
        along={"between": equal},
    )
    h_grid = arcs.h(grid)
    rules = arcs.support_set(menu_directions())
    improvable = tuple(
        j
        for j, e in enumerate(risks)
        if (improvement_support(e, grid) + h_grid).min() > 0.0 or gains(rules, e).min(axis=1).max() > 0.0
    )
    return Setting(risks, len(losses), reach, improvable, plug_in.support_set(menu_directions()), losses, blocks)


def _evidence(
    function: Attainable,
    setting: Setting,
    draws: Draws,
    rules: RuleDraws | None,
    j: int,
    *,
    method: Method,
    paper: PaperParts | None,
) -> Evidence:
    """Everything about the risks at position ``j``."""
    e, blocks, root = setting.risks[j], setting.blocks, np.sqrt(function.n_obs)
    e_draws = draws.risks[:, j] if j < setting.n_algorithms else np.broadcast_to(e, (draws.n_boot, 2))
    tests = DirectionTests(draws, e, e_draws)
    robust = tests.weakest(blocks.positions("grid", "between"))
    excess = setting.reach[j].value
    outside = np.append(blocks.positions("circle", "best"), blocks.position("outermost", j))
    feasibility_t, feasibility_p = tests.feasibility(outside) if excess > 0.0 else (0.0, 1.0)
    feasibility = float(root * max(excess, 0.0))
    if paper is None:
        decided = robust if method == "robust" else tests.weakest(blocks.position("sharp", j))
        separation = max(decided.statistic, 0.0)
    else:
        decided, separation, feasibility = paper.decision, paper.separation, paper.feasibility
    witness = None
    if rules is not None and j in setting.improvable:
        witness = make_witness(function, make_menu(rules, e, e_draws), setting.plug_in, e)
    bounding = blocks.position("bounding", j)
    gain = tests.weakest(bounding)
    return Evidence(
        risk=e,
        statistic=decided.statistic,
        separation=separation,
        feasibility=feasibility,
        direction=decided.direction,
        draws=decided.draws,
        p_value=decided.p_value,
        robust_p_value=robust.p_value,
        feasibility_p_value=feasibility_p,
        feasibility_t=feasibility_t,
        witness=witness,
        gain_bound=GainBound(blocks.rules[bounding[0]], gain.statistic / root, (gain.statistic + gain.draws) / root),
    )


def sequential_evidence(found: Evidence, test: SequentialTest, method: Method) -> Evidence:
    """Return the evidence with the sequential test in the place of the robust one; its null law is standard normal."""
    if method != "robust":
        return replace(found, robust_p_value=test.p_value)
    n_boot = len(found.draws)
    return replace(
        found,
        statistic=test.statistic,
        separation=max(test.statistic, 0.0),
        direction=test.direction,
        draws=ndtri((np.arange(n_boot) + 0.5) / n_boot),
        p_value=test.p_value,
        robust_p_value=test.p_value,
    )


class DirectionTests:
    """Tests at single directions for one risk pair, from stored draws."""

    def __init__(self, draws: Draws, e: FloatArray, e_draws: FloatArray) -> None:
        self.draws, self.e, self.e_draws = draws, e, e_draws
        self.root, self.step = np.sqrt(draws.n_obs), step_size(draws.n_obs)
        self.z_e = self.root * (e_draws - e)
        self.scale = float(self.root * max(np.abs(draws.h_hat).max(), np.abs(e).max()))

    def weakest(self, at: IntArray, added: FloatArray | None = None) -> Decision:
        """The test of D(q) <= 0 with the largest p-value over the directions at positions ``at``.

        sqrt(n) D^(q) is compared with its own bootstrap at q; h enters linearly, h_C through the numerical
        directional derivative. Draws are stretched by as much as ``added`` (k,) adds to their variance.
        """
        q = self.draws.directions[at]
        still = improvement_support(self.e, q)
        statistics = self.root * (still + self.draws.h_hat[at])
        z = self.root * (self.draws.h[:, at] - self.draws.h_hat[at])
        z += (improvement_support(self.e + self.step * self.z_e, q) - still) / self.step
        if added is not None:
            variance = z.var(axis=0)
            z *= np.sqrt(1.0 + added / np.where(variance > 0.0, variance, np.inf))
        exceeding = count_reaching(z, statistics, self.scale)
        # among equal counts the smallest margin over the spread of the draws decides; the first, if equal to rounding
        spread = z.std(axis=0)
        margin = statistics / np.where(spread > 0.0, spread, 1.0)
        margin[exceeding < exceeding.max()] = np.inf
        k = int(np.argmax(margin <= margin.min() + 1e-10 * (1.0 + abs(margin.min()))))
        return Decision(float(statistics[k]), q[k], z[:, k].copy(), self.scale)

    def feasibility(self, at: IntArray) -> tuple[float, float]:
        """T = max of sqrt(n)(q'e - h(q)) / s(q) over the directions at positions ``at``, and its p-value.

        s(q) is the standard deviation of the draws z(q) at q. A direction in which nothing varies has no say, unless
        the excess there is more than rounding: then e is not feasible, and T is infinite.
        """
        q = self.draws.directions[at]
        excess = self.root * (q @ self.e - self.draws.h_hat[at])
        z = self.z_e @ q.T - self.root * (self.draws.h[:, at] - self.draws.h_hat[at])
        spread, rounding = z.std(axis=0), STILL * self.scale
        varies = spread > rounding
        if (excess[~varies] > rounding).any():
            return np.inf, 1.0 / (1.0 + len(z))
        if not varies.any():
            return 0.0, 1.0
        statistic = float((excess[varies] / spread[varies]).max())
        if statistic <= 0.0:
            return 0.0, 1.0
        return statistic, p_value((z[:, varies] / spread[varies]).max(axis=1), statistic)


def combine(found: list[list[Evidence]], central: int, robust: list[Decision], method: Method) -> list[Evidence]:
    """Combine repetitions: the most central one's evidence, with the robust test of their lottery.

    Other p-values are min(1, 2 median).
    """
    combined = []
    for own, decision in zip(zip(*found, strict=True), robust, strict=True):
        evidence = replace(
            own[central],
            p_value=combine_repetitions(np.array([each.p_value for each in own])),
            robust_p_value=decision.p_value,
            feasibility_p_value=combine_repetitions(np.array([each.feasibility_p_value for each in own])),
        )
        if method == "robust":
            evidence = replace(
                evidence,
                statistic=decision.statistic,
                separation=max(decision.statistic, 0.0),
                direction=decision.direction,
                draws=decision.draws,
                p_value=decision.p_value,
            )
        combined.append(evidence)
    return combined
