"""The robust and the sharp test for a less discriminatory alternative (LDA) to an algorithm.

Write D(q) = h_C(e*)(-q) + h(q) for directions with q1 + q2 <= 0. For feasible e*, D >= 0, and no LDA
exists if and only if D(q) = 0 for some q. Three tests of that null:

* ``paper``: T = sqrt(n)([max_q q'e* - h(q)]_+ + [min_q D(q)]_+), draws by the numerical directional
  derivative (or, without kinks, the closed-form limit);
* ``robust``: D > 0 by a one-sided test of its own at every direction of a grid and, for the rules of neighbouring
  directions, at the direction between in which both do equally well; its level is measured and not proven
  (`sequential` is proven for any learner);
* ``sharp``: the same at the one direction that minimises the plug-in criterion; needs a good learner.

The last two hold every direction's rule while they draw: h^(q) is the value of that one rule, and letting it follow
the drawn group shares, as published, adds a variance of order n^(-1/2) that h^(q) does not have.

With each of them comes a test that e* is feasible, T = max_q sqrt(n)(q'e* - h(q)) / s(q), where s(q) is the standard
deviation of the draws at q. Each direction counts in its own standard errors: not studentised, the noise of a small
group drowns a deficit in a large one. The draws' maximum of z(q) / s(q) over the same directions stands for T under the
null, as if q'e* = h(q) in every one of them; that is the least favourable case, so the test errs on the side of not
rejecting.

With several repetitions of the cross-fitting the rule of a direction is the lottery between those of the repetitions,
and what they disagree about adds to the variance wherever draws are used (`dependence`), but for the published test.

`lda_evidence` has three steps. `prepare` settles from the estimates what is to be drawn: directions in named blocks,
and the losses of the algorithms. One call draws all of it, and another the menu of rules from which an alternative is
chosen, if there may be one. `_evidence` then tests direction by direction, for one algorithm after the other.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, Protocol

import numpy as np
from scipy.special import ndtri

from ...arrays import FloatArray, IntArray
from ...bootstrap.draws import Drawing, Draws, RuleDraws
from ...data.result import PlainDict, Result, plain_items
from ...frontier.attainable import Attainable
from ...frontier.dependence import added_variance
from ...frontier.plane import U1, U2, improvement_support, off_breakpoint, unit_circle
from ...frontier.support import Extremum, group_means
from ..aware.groups import GroupTest, decided_alone
from ..p_values import Decision, count_reaching, p_value, step_size
from .directions import DirectionBlocks, between, robust_grid
from .published import PaperParts, paper_parts
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
    if there is none. ``by_group`` are the tests of single groups, among rules that see the group, and
    ``together_p_value`` that of the test over directions beside them; the p-value is then the smallest of all after
    Holm's adjustment, and statistic and draws are those of the weaker part of the test that decides.
    ``share_changed``: if the rules of the robust test take steps from the algorithm, the share of all
    decisions that the rule which decides it changes. ``normal``: whether the robust test compares its statistic with
    the standard normal law and not with draws.
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
    together_p_value: float | None = None
    share_changed: float | None = None
    normal: bool = False

    @property
    def changes_one(self) -> bool:
        """Whether the test of a single group decides, so that an alternative changes decisions about it alone."""
        return decided_alone(self.by_group, self.together_p_value)

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
            "share_changed": self.share_changed,
        }

    def to_dict(self) -> PlainDict:
        """Return plain numbers and text for JSON, with the witness and the bound on gains."""
        more: dict[str, object] = {"witness": self.witness, "gain_bound": self.gain_bound}
        more |= {"by_group": list(self.by_group), "together_p_value": self.together_p_value}
        return plain_items(self._facts() | more)


def lda_evidence(
    context: Drawing,
    losses: FloatArray,
    fixed: FloatArray,
    *,
    method: Method,
    n_folds: int = 0,
    directions: int | None = None,
    kinks: bool = True,
) -> list[Evidence]:
    """Test J algorithms with losses (J, rows), then fixed risk pairs (F, 2), on the same draws.

    ``n_folds`` of the cross-fitting. ``directions``: None for exact extrema in the paper's statistic, or a number of
    grid directions. With a capped context alternatives are rules within the capacity; the published statistic is not
    defined for them.
    """
    function = context.function
    setting = prepare(function, losses, fixed)
    blocks = setting.blocks
    variance = added_variance(function, blocks.rules, n_folds)
    added = np.einsum("ki,kij,kj->k", blocks.along, variance, blocks.along)
    if setting.improvable:
        menu = menu_directions()
        draws, rules = context.draw_with_rules(blocks.rules, setting.losses, blocks.along, menu)
        drawn = Drawn(draws, added, rules, added_variance(function, menu, n_folds))
    else:
        drawn = Drawn(context.draw(blocks.rules, setting.losses, hold_rules=True, along=blocks.along), added)
    published: list[PaperParts] | list[None] = [None] * len(setting.risks)
    if method == "paper":
        published = paper_parts(context.exact(), losses, setting.risks, directions, kinks)
    return [_evidence(function, setting, drawn, j, method=method, paper=paper) for j, paper in enumerate(published)]


@dataclass(frozen=True, slots=True)
class Drawn:
    """Draws at all directions of a setting, and of the risks of the menu's rules, if there may be an alternative.

    ``added`` (K,) and ``rules_added`` (M, 2, 2): what dependent folds add to the variances of sqrt(n) times the values
    of the rules of these directions, and times the risks of the menu's rules.
    """

    draws: Draws
    added: FloatArray
    rules: RuleDraws | None = None
    rules_added: FloatArray | None = None


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


def prepare(function: Attainable, losses: FloatArray, fixed: FloatArray) -> Setting:
    """Estimate the risks, look for alternatives and choose the directions at which tests are made."""
    s, arcs, plug_in = function.scores, function.estimate, function.plug_in()
    grid = robust_grid(function.n_obs)
    neighbours, equal = between(grid, arcs.support_set(grid))
    estimated = np.array([group_means(loss, s.group, s.weight)[0] for loss in losses]).reshape(-1, 2)
    risks = np.vstack([estimated, fixed])
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
    drawn: Drawn,
    j: int,
    *,
    method: Method,
    paper: PaperParts | None,
) -> Evidence:
    """Everything about the risks at position ``j``."""
    e, blocks, root, draws = setting.risks[j], setting.blocks, np.sqrt(function.n_obs), drawn.draws
    e_draws = draws.risks[:, j] if j < setting.n_algorithms else np.broadcast_to(e, (draws.n_boot, 2))
    tests = DirectionTests(draws, e, e_draws, drawn.added)
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
    if drawn.rules is not None and drawn.rules_added is not None and j in setting.improvable:
        menu = make_menu(drawn.rules, e, e_draws, drawn.rules_added / function.n_obs)
        witness = make_witness(function, menu, setting.plug_in, e)
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


class NormalTest(Protocol):
    """A test of the same null whose statistic is compared with the standard normal law."""

    @property
    def statistic(self) -> float:
        """Test statistic."""
        ...

    @property
    def direction(self) -> FloatArray:
        """Direction (2,) at which it is decided."""
        ...

    @property
    def p_value(self) -> float:
        """P-value."""
        ...


def with_normal_test(found: Evidence, test: NormalTest, method: Method) -> Evidence:
    """Return the evidence with another test in the place of the robust one; its null law is standard normal."""
    if method != "robust":
        return replace(found, robust_p_value=test.p_value, normal=True)
    n_boot = len(found.draws)
    return replace(
        found,
        statistic=test.statistic,
        separation=max(test.statistic, 0.0),
        direction=test.direction,
        draws=ndtri((np.arange(n_boot) + 0.5) / n_boot),
        p_value=test.p_value,
        robust_p_value=test.p_value,
        normal=True,
    )


class DirectionTests:
    """Tests at single directions for one risk pair, from stored draws.

    Draws are stretched by as much as ``added`` (K,) adds to the variance of sqrt(n) h at their direction.
    """

    def __init__(self, draws: Draws, e: FloatArray, e_draws: FloatArray, added: FloatArray) -> None:
        self.draws, self.e, self.e_draws, self.added = draws, e, e_draws, added
        self.root, self.step = np.sqrt(draws.n_obs), step_size(draws.n_obs)
        self.z_e = self.root * (e_draws - e)
        self.scale = float(self.root * max(np.abs(draws.h_hat).max(), np.abs(e).max()))

    def weakest(self, at: IntArray) -> Decision:
        """The test of D(q) <= 0 with the largest p-value over the directions at positions ``at``.

        sqrt(n) D^(q) is compared with its own bootstrap at q; h enters linearly, h_C through the numerical
        directional derivative.
        """
        q = self.draws.directions[at]
        still = improvement_support(self.e, q)
        statistics = self.root * (still + self.draws.h_hat[at])
        z = self.root * (self.draws.h[:, at] - self.draws.h_hat[at])
        z += (improvement_support(self.e + self.step * self.z_e, q) - still) / self.step
        z *= self._stretch(z, at)
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
        own, rounding = z.std(axis=0), STILL * self.scale
        varies, spread = own > rounding, own * self._stretch(z, at)
        if (excess[~varies] > rounding).any():
            return np.inf, 1.0 / (1.0 + len(z))
        if not varies.any():
            return 0.0, 1.0
        statistic = float((excess[varies] / spread[varies]).max())
        if statistic <= 0.0:
            return 0.0, 1.0
        return statistic, p_value((z[:, varies] / own[varies]).max(axis=1), statistic)

    def _stretch(self, z: FloatArray, at: IntArray) -> FloatArray:
        """Factors (k,) by which what is added makes the spread of draws (B, k) wider; 1 where nothing varies."""
        variance = z.var(axis=0)
        factor: FloatArray = np.sqrt(1.0 + self.added[at] / np.where(variance > 0.0, variance, np.inf))
        return factor
