"""The test for a less discriminatory alternative (LDA) to an algorithm.

Write D(q) = h_C(e*)(-q) + h(q) for directions with q1 + q2 <= 0. For feasible e*, D >= 0, and no LDA
exists if and only if D(q) = 0 for some q. Three tests of that null:

* ``paper``: T = sqrt(n)([max_q q'e* - h(q)]_+ + [min_q D(q)]_+), draws by the numerical directional
  derivative (or, without kinks, the closed-form limit);
* ``robust``: at every direction of a grid, D(q) > 0 by its own one-sided test; valid with any learner;
* ``sharp``: the same at the one direction that minimises the plug-in criterion; needs a good learner.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from .._typing import FloatArray
from ..bootstrap import Draws, check_draws, draw_process, make_plan
from ..geometry import U1, U2, unit_circle
from ..support import Extremum, SupportFunction, group_means
from ._exact import perturbed_parts
from .levels import combine_repetitions, p_value, step_size
from .witness import Witness, find_candidate, make_witness

Method = Literal["robust", "sharp", "paper"]


@dataclass(frozen=True, slots=True)
class GainBound:
    """Upper bound on what any alternative can gain, if the learner is consistent.

    D at ``direction`` is the largest gain in the sum of the groups' risks weighted by -direction (where
    both weights are non-negative); ``estimate`` and ``draws`` (B,) of it.
    """

    direction: FloatArray
    estimate: float
    draws: FloatArray

    def upper(self, alpha: float) -> float:
        """Upper confidence bound of level 1 - alpha, never below 0."""
        reach = np.quantile(self.estimate - self.draws, 1.0 - alpha, method="inverted_cdf")
        return max(0.0, self.estimate + float(reach))


@dataclass(frozen=True, slots=True)
class Evidence:
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


def robust_grid(n: int) -> FloatArray:
    """Directions of the half circle q1 + q2 <= 0 at which the robust test looks: about 4 n^(1/3), u1, u2."""
    spaced = unit_circle(max(8, int(np.ceil(4.0 * n ** (1.0 / 3.0)))), 0.75 * np.pi, 1.75 * np.pi, endpoint=True)
    return np.vstack([spaced, U1, U2])


def improvement_support(e: FloatArray, q: FloatArray) -> FloatArray:
    """h_C(e)(-q) for pairs ``e`` (..., 2) and directions ``q`` (K, 2) with q1 + q2 <= 0, shape (..., K)."""
    e_r, e_b = e[..., 0], e[..., 1]
    upper = np.stack([np.minimum(e_r, 2.0 * e_b - e_r), e_b], axis=-1)
    right = np.stack([e_r, np.minimum(e_b, 2.0 * e_r - e_b)], axis=-1)
    result: FloatArray = np.maximum(-(upper @ q.T), -(right @ q.T))
    return result


def lda_evidence(
    function: SupportFunction,
    losses: FloatArray,
    fixed: FloatArray,
    *,
    method: Method,
    directions: int | None,
    kinks: bool,
    n_boot: int,
    seed: np.random.SeedSequence,
    n_jobs: int | None = None,
) -> list[Evidence]:
    """Test J algorithms with row losses (J, n), then fixed risk pairs (F, 2), on the same draws.

    ``directions``: None for exact extrema in the paper's statistic, or a number of grid directions.
    """
    check_draws(n_boot)
    n, s = function.n_obs, function.scores
    estimated = np.array([group_means(loss, s.is_r, s.weight)[0] for loss in losses]).reshape(-1, 2)
    risks = np.vstack([estimated, fixed])
    plug = function.plug_in()
    sharp = [plug.min_separation(e).direction for e in risks]
    reach = [function.estimate.max_excess(e) for e in risks]
    grid = robust_grid(n)
    circle = unit_circle(len(grid))
    q = np.vstack([grid, circle, *[d[None] for d in sharp], *[x.direction[None] for x in reach]])
    # The witness depends on the estimates alone, so its losses can be drawn along.
    candidates = [
        find_candidate(function, e) if (improvement_support(e, grid) + function.estimate.h(grid)).min() > 0 else None
        for e in risks
    ]
    drawn = [*losses, *[c.losses for c in candidates if c is not None]]
    rows = np.array(drawn).reshape(-1, n)
    draws = draw_process(function, q, rows, n_boot=n_boot, seed=seed, n_jobs=n_jobs)
    paper: list[tuple[float, float, FloatArray, FloatArray]] = []
    if method == "paper":
        paper = _paper_parts(function, losses, risks, directions, kinks, n_boot, seed, n_jobs)
    k, extra = len(grid), len(losses)
    found = []
    for j, e in enumerate(risks):
        e_draws = draws.risks[:, j] if j < len(losses) else np.broadcast_to(e, (n_boot, 2))
        own = _Local(draws, e, e_draws)
        robust_p, at, robust_draws, robust_statistic = own.weakest(np.arange(k))
        index = 2 * k + j
        feasible_at = np.append(np.arange(k, 2 * k), 2 * k + len(risks) + j)
        feasibility, feasible_p = own.feasibility(feasible_at, reach[j].value)
        sharp_p, _, sharp_draws, sharp_statistic = own.weakest(np.array([index]))
        if method == "robust":
            decided = (robust_statistic, draws.directions[at], robust_draws, robust_p)
        elif method == "sharp":
            decided = (sharp_statistic, draws.directions[index], sharp_draws, sharp_p)
        else:
            feasibility, apart, paper_draws, direction = paper[j]
            total = feasibility + apart
            decided = (total, direction, paper_draws, p_value(paper_draws, total))
        statistic, direction, statistic_draws, p = decided
        witness = None
        candidate = candidates[j]
        if candidate is not None:
            witness = make_witness(function, candidate, e, e_draws, draws.risks_hat[extra], draws.risks[:, extra])
            extra += 1
        root = np.sqrt(n)
        bound = GainBound(draws.directions[index], sharp_statistic / root, (sharp_statistic + sharp_draws) / root)
        separation = paper[j][1] if method == "paper" else max(statistic, 0.0)
        found.append(
            Evidence(
                e,
                statistic,
                separation,
                feasibility,
                direction,
                statistic_draws,
                p,
                robust_p,
                feasible_p,
                witness,
                bound,
            )  # fmt: skip
        )
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
        self.draws, self.e = draws, e
        self.root = np.sqrt(draws.n_obs)
        self.step = step_size(draws.n_obs)
        self.moved = e + self.step * self.root * (e_draws - e)
        self.z_e = self.root * (e_draws - e)

    def weakest(self, at: np.ndarray) -> tuple[float, int, FloatArray, float]:
        """Largest p-value of D(q) <= 0 over the directions ``at``, where, its draws and its statistic.

        sqrt(n) D^(q) is compared with its own bootstrap at q; h enters linearly, h_C through the numerical
        directional derivative.
        """
        q = self.draws.directions[at]
        still = improvement_support(self.e, q)
        statistics = self.root * (still + self.draws.h_hat[at])
        z = self.root * (self.draws.h[:, at] - self.draws.h_hat[at])
        z += (improvement_support(self.moved, q) - still) / self.step
        exceeding = np.count_nonzero(z >= statistics, axis=0)
        # among equal counts the smallest margin over the spread of the draws decides
        margin = statistics / np.maximum(z.std(axis=0), np.finfo(float).tiny)
        k = int(np.lexsort((margin, -exceeding))[0])
        p = float((1 + exceeding[k]) / (1 + len(z)))
        return p, int(at[k]), z[:, k].copy(), float(statistics[k])

    def feasibility(self, at: np.ndarray, excess: float) -> tuple[float, float]:
        """sqrt(n)[max_q q'e - h(q)]_+ and the p-value of its being 0 in the population."""
        statistic = self.root * max(excess, 0.0)
        if statistic == 0.0:
            return 0.0, 1.0
        q = self.draws.directions[at]
        still = q @ self.e - self.draws.h_hat[at]
        z = self.z_e @ q.T - self.root * (self.draws.h[:, at] - self.draws.h_hat[at])
        draws = _positive((still + self.step * z).max(axis=1) - still.max()) / self.step
        return float(statistic), p_value(draws, statistic)


def _paper_parts(
    function: SupportFunction,
    losses: FloatArray,
    risks: FloatArray,
    directions: int | None,
    kinks: bool,
    n_boot: int,
    seed: np.random.SeedSequence,
    n_jobs: int | None,
) -> list[tuple[float, float, FloatArray, FloatArray]]:
    """Feasibility part, separation part, draws under the null and deciding direction, for each pair.

    Under the null both inner extrema are 0, so a draw is [derivative of the max]_+ + [derivative of the
    min]_+, each derivative taken numerically at the estimates.
    """
    arcs, root, step = function.estimate, np.sqrt(function.n_obs), step_size(function.n_obs)
    half = unit_circle(directions or 0, 0.75 * np.pi, 1.75 * np.pi, endpoint=True)
    circle = unit_circle(directions or 0, endpoint=True)
    if directions is None:
        most = [arcs.max_excess(e) for e in risks]
        least = [arcs.min_separation(e) for e in risks]
    else:
        most = [_best(circle @ e - arcs.h(circle), circle) for e in risks]
        least = [_best(improvement_support(e, half) + arcs.h(half), half, smallest=True) for e in risks]
    if directions is None and kinks:
        moved_f, moved_s, _ = perturbed_parts(
            function, make_plan(function, losses), risks, step, n_boot=n_boot, seed=seed, n_jobs=n_jobs
        )
    else:
        contact = [x.direction[None] for pair in zip(most, least, strict=True) for x in pair]
        q = np.vstack([half, circle, *contact])
        draws = draw_process(function, q, losses, n_boot=n_boot, seed=seed, n_jobs=n_jobs)
        z_h = draws.z_h()
    result = []
    for j, e in enumerate(risks):
        f, d = most[j].value, least[j].value
        if directions is None and kinks:
            null = _positive(moved_f[:, j] - f) / step + _positive(moved_s[:, j] - d) / step
        else:
            z_e = draws.z_risks()[:, j] if j < len(losses) else np.zeros((n_boot, 2))
            if kinks:
                k, h_moved = len(half), draws.h_hat + step * z_h
                excess = ((e + step * z_e) @ circle.T - h_moved[:, k : 2 * k]).max(axis=1)
                apart = (improvement_support(e + step * z_e, half) + h_moved[:, :k]).min(axis=1)
                null = _positive(excess - f) / step + _positive(apart - d) / step
            else:
                first = 2 * len(half) + 2 * j
                q_f, q_d = q[first], q[[first + 1]]
                moved = improvement_support(e + step * z_e, q_d) - improvement_support(e, q_d)
                null = _positive(z_e @ q_f - z_h[:, first]) + _positive(moved[:, 0] / step + z_h[:, first + 1])
        direction = least[j].direction if d >= f else most[j].direction
        result.append((root * max(f, 0.0), root * max(d, 0.0), null, direction))
    return result


def _best(values: FloatArray, directions: FloatArray, *, smallest: bool = False) -> Extremum:
    k = int(np.argmin(values) if smallest else np.argmax(values))
    return Extremum(float(values[k]), directions[k])


def _positive(x: FloatArray) -> FloatArray:
    positive: FloatArray = np.maximum(x, 0.0)
    return positive
