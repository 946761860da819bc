"""The test for a less discriminatory alternative (LDA) to an algorithm.

Write D(q) = h_C(e*)(-q) + h(q) for directions with q1 + q2 <= 0. For feasible e*, D >= 0, and no LDA
exists if and only if D(q) = 0 for some q. Three tests of that null:

* ``paper``: T = sqrt(n)([max_q q'e* - h(q)]_+ + [min_q D(q)]_+), draws by the numerical directional
  derivative (or, without kinks, the closed-form limit);
* ``robust``: D > 0 by a one-sided test of its own at every direction of a grid and, for the rules of neighbouring
  directions, at the direction between in which both do equally well; valid with any learner;
* ``sharp``: the same at the one direction that minimises the plug-in criterion; needs a good learner.

The last two hold every direction's rule while they draw: h^(q) is the value of that one rule, and letting it follow
the drawn group shares, as published, adds a variance of order n^(-1/2) that h^(q) does not have.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from ...arrays import FloatArray, IntArray
from ...bootstrap.capacity import CappedContext
from ...bootstrap.draws import DrawingContext, Draws
from ...data.result import PlainDict, Result, plain_items
from ...frontier.plane import U1, U2, improvement_support, off_breakpoint, unit_circle
from ...frontier.support import group_means
from ..p_values import ROUNDING, Decision, combine_repetitions, count_reaching, p_value, step_size
from .published import paper_parts
from .witness import Witness, find_candidate, make_witness

Method = Literal["robust", "sharp", "paper"]

CLOSE = 1e-9
"""Directions that differ by less than this angle are not told apart."""


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
    decided; p-values of the chosen method, of the robust test and of feasibility.
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
    witness: Witness | None
    gain_bound: GainBound

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
            "n_boot": len(self.draws),
        }

    def to_dict(self) -> PlainDict:
        """Return plain numbers and text for JSON, with the witness and the bound on gains."""
        return plain_items(self._facts() | {"witness": self.witness, "gain_bound": self.gain_bound})


def robust_grid(n: int) -> FloatArray:
    """Directions of the half circle q1 + q2 <= 0, in order, whose rules the robust test uses: 4 n^(1/3), u1 and u2."""
    spaced = unit_circle(max(8, int(np.ceil(4.0 * n ** (1.0 / 3.0)))), 0.75 * np.pi, 1.75 * np.pi, endpoint=True)
    grid = np.vstack([spaced, U1, U2])
    return grid[np.argsort(np.arctan2(grid[:, 1], grid[:, 0]) % (2.0 * np.pi), kind="stable")]


def between(grid: FloatArray, points: FloatArray) -> tuple[IntArray, FloatArray]:
    """Where the rules of neighbouring directions do equally well: their numbers, and the directions (m, 2).

    Let v and w be the risks of the rules of neighbours q and p (rows of ``grid``, with risks ``points``). If D(q0) <= 0
    for a direction q0 between them, no rule does better than h_C there, so v and w do not. The value of a rule is
    linear between q and p (h_C changes slope at u1 or u2 only, which are in the grid). So D <= 0 holds for v at q, or
    for v or w at the direction x with x'v = x'w, or for w at p: testing these tests every direction between, however
    long an edge the feasible set has there. If no such x lies between them, testing v at q and w at p suffices.
    """
    edge = np.diff(points, axis=0)
    x = np.column_stack([edge[:, 1], -edge[:, 0]])
    size = np.hypot(x[:, 0], x[:, 1])
    differ = size > ROUNDING * float(np.abs(points).max())
    x = x / np.where(differ, size, 1.0)[:, None]
    q, p = grid[:-1], grid[1:]
    x = np.where((np.einsum("kj,kj->k", x, q + p) < 0.0)[:, None], -x, x)
    inside = (_turn(q, x) > CLOSE) & (_turn(x, p) > CLOSE) & differ
    left = np.flatnonzero(inside)
    return np.concatenate([left, left + 1]), np.vstack([x[left], x[left]])


def _turn(q: FloatArray, p: FloatArray) -> FloatArray:
    """Sine of the angle from q to p, anticlockwise."""
    sine: FloatArray = q[:, 0] * p[:, 1] - q[:, 1] * p[:, 0]
    return sine


def lda_evidence(
    context: DrawingContext | CappedContext,
    losses: FloatArray,
    fixed: FloatArray,
    *,
    method: Method,
    directions: int | None = None,
    kinks: bool = True,
) -> list[Evidence]:
    """Test J algorithms with row losses (J, n), then fixed risk pairs (F, 2), on the same draws.

    ``directions``: None for exact extrema in the paper's statistic, or a number of grid directions. With a capped
    context alternatives are rules within the capacity; the published statistic is not defined for them.
    """
    function = context.function
    s, arcs = function.scores, function.estimate
    estimated = np.array([group_means(loss, s.group, s.weight)[0] for loss in losses]).reshape(-1, 2)
    risks = np.vstack([estimated, fixed])
    plug_in = function.plug_in()
    grid = robust_grid(function.n_obs)
    number, equal = between(grid, arcs.support_set(grid))
    sharp = np.array([off_breakpoint(plug_in.min_separation(e).direction) for e in risks])
    # Where the plug-in criterion leaves the smallest gain in a weighted sum of the risks, weights >= 0.
    bounding = np.array([off_breakpoint(plug_in.max_excess(e, U1, np.pi / 2.0).direction) for e in risks])
    reach = [arcs.max_excess(e) for e in risks]
    # Directions all round are needed only where an algorithm's risks lie outside the estimated set.
    # A multiple of 4: exchanging the groups then turns the circle into itself.
    circle = unit_circle(4 * -(-len(grid) // 4) if max(x.value for x in reach) > 0.0 else 0)
    # The witness depends on the estimates alone, so its losses can be drawn along with everything else.
    h_grid = arcs.h(grid)
    candidates = [
        find_candidate(function, plug_in, e) if (improvement_support(e, grid) + h_grid).min() > 0.0 else None
        for e in risks
    ]
    witnessed = [j for j, candidate in enumerate(candidates) if candidate is not None]
    drawn = np.array([*losses, *[c.losses for c in candidates if c is not None]]).reshape(-1, function.n_obs)
    everywhere = np.vstack([grid, circle, sharp, bounding, *[off_breakpoint(x.direction)[None] for x in reach]])
    draws = context.draw(
        np.vstack([everywhere, grid[number]]), drawn, hold_rules=True, along=np.vstack([everywhere, equal])
    )
    paper = []
    if method == "paper":
        if isinstance(context, CappedContext):
            raise TypeError("the published statistic is not defined under a capacity")
        paper = paper_parts(context, losses, risks, directions, kinks)
    k, m, found = len(grid), len(grid) + len(circle), []
    for j, e in enumerate(risks):
        own = _Local(draws, e, draws.risks[:, j] if j < len(losses) else np.broadcast_to(e, (context.n_boot, 2)))
        robust = own.weakest(np.append(np.arange(k), np.arange(len(everywhere), len(draws.directions))))
        at_sharp = own.weakest(np.array([m + j]))
        on_circle = np.append(np.arange(k, m), m + 2 * len(risks) + j)
        feasibility, feasibility_p = own.feasibility(on_circle, reach[j].value)
        decided = {"robust": robust, "sharp": at_sharp}.get(method)
        if decided is None:
            feasibility, separation = paper[j].feasibility, paper[j].separation
            decided = paper[j].decision
        else:
            separation = max(decided.statistic, 0.0)
        candidate, witness = candidates[j], None
        if candidate is not None:
            at = len(losses) + witnessed.index(j)
            witness = make_witness(function, candidate, e, own.e_draws, draws.risks_hat[at], draws.risks[:, at])
        gain, root = own.weakest(np.array([m + len(risks) + j])), np.sqrt(function.n_obs)
        bound = GainBound(bounding[j], gain.statistic / root, (gain.statistic + gain.draws) / root)
        evidence = Evidence(
            risk=e,
            statistic=decided.statistic,
            separation=separation,
            feasibility=feasibility,
            direction=decided.direction,
            draws=decided.draws,
            p_value=decided.p_value,
            robust_p_value=robust.p_value,
            feasibility_p_value=feasibility_p,
            witness=witness,
            gain_bound=bound,
        )
        found.append(evidence)
    return found


def combine(found: list[list[Evidence]], central: int) -> list[Evidence]:
    """Combine repetitions: the most central one's evidence with p-values min(1, 2 median)."""
    if len(found) == 1:
        return found[0]
    combined = []
    for j, evidence in enumerate(found[central]):
        p_values = {
            name: combine_repetitions(np.array([getattr(repetition[j], name) for repetition in found]))
            for name in ("p_value", "robust_p_value", "feasibility_p_value")
        }
        combined.append(replace(evidence, **p_values))  # type: ignore[arg-type]
    return combined


class _Local:
    """Tests at single directions for one risk pair, from stored draws."""

    def __init__(self, draws: Draws, e: FloatArray, e_draws: FloatArray) -> None:
        self.draws, self.e, self.e_draws = draws, e, e_draws
        self.root, self.step = np.sqrt(draws.n_obs), step_size(draws.n_obs)
        self.z_e = self.root * (e_draws - e)
        self.scale = float(self.root * max(np.abs(draws.h_hat).max(), np.abs(e).max()))

    def weakest(self, at: IntArray) -> Decision:
        """The test of D(q) <= 0 with the largest p-value over the directions numbered ``at``.

        sqrt(n) D^(q) is compared with its own bootstrap at q; h enters linearly, h_C through the numerical
        directional derivative.
        """
        q = self.draws.directions[at]
        still = improvement_support(self.e, q)
        statistics = self.root * (still + self.draws.h_hat[at])
        z = self.root * (self.draws.h[:, at] - self.draws.h_hat[at])
        z += (improvement_support(self.e + self.step * self.z_e, q) - still) / self.step
        exceeding = count_reaching(z, statistics, self.scale)
        # among equal counts the smallest margin over the spread of the draws decides; the first, if equal to rounding
        spread = z.std(axis=0)
        margin = statistics / np.where(spread > 0.0, spread, 1.0)
        margin[exceeding < exceeding.max()] = np.inf
        k = int(np.argmax(margin <= margin.min() + 1e-10 * (1.0 + abs(margin.min()))))
        return Decision(float(statistics[k]), q[k], z[:, k].copy(), self.scale)

    def feasibility(self, at: IntArray, excess: float) -> tuple[float, float]:
        """sqrt(n)[max_q q'e - h(q)]_+ and the p-value of its being 0 in the population."""
        statistic = self.root * max(excess, 0.0)
        if statistic == 0.0:
            return 0.0, 1.0
        q = self.draws.directions[at]
        still = q @ self.e - self.draws.h_hat[at]
        z = self.z_e @ q.T - self.root * (self.draws.h[:, at] - self.draws.h_hat[at])
        draws = np.maximum((still + self.step * z).max(axis=1) - still.max(), 0.0) / self.step
        return float(statistic), p_value(draws, statistic, self.scale)
