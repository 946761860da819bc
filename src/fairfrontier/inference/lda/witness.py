"""A concrete rule, or mixture of two, that improves on an algorithm for both groups and in the gap."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ...arrays import FloatArray
from ...data.result import Result
from ...frontier.attainable import Attainable, RuleValues
from ...frontier.plane import unit_circle
from ...frontier.support import group_means
from ..p_values import ROUNDING, step_size

N_CANDIDATES = 46
N_SHARES = 11


@dataclass(frozen=True, slots=True)
class Candidate:
    """A rule 1{q'M t > 0}, or a lottery between two, chosen to improve on an algorithm.

    ``directions`` (1 or 2, 2) and the ``shares`` with which each rule is used; ``losses`` and
    ``chances`` (n,): the rows' expected losses and chances of being selected.
    """

    directions: FloatArray
    shares: FloatArray
    losses: FloatArray
    chances: FloatArray


def find_candidate(function: Attainable, plug_in: RuleValues, e_star: FloatArray) -> Candidate:
    """Choose the rule or mixture whose smallest gain over risks ``e_star`` is largest.

    Gains are those of group r, of group b and in the gap. They are compared by the plug-in criterion,
    which does not reuse the rows' own outcomes; where its choice fails on the outcomes, by these.
    """
    q = unit_circle(N_CANDIDATES, 0.75 * np.pi, 1.75 * np.pi, endpoint=True)
    honest = function.estimate.support_set(q)
    chosen = _largest_smallest_gain(plug_in.support_set(q), e_star)
    if smallest_gain(_mix(honest, *chosen), e_star)[()] <= 0.0:
        chosen = _largest_smallest_gain(honest, e_star)
    first, second, share = chosen
    pairs = [(first, share), (second, 1.0 - share)]
    used = [(k, weight) for k, weight in pairs if weight > 0.0]
    s = function.scores
    moved = np.zeros(function.n_obs)
    for k, weight in used:
        moved += weight * function.selected(q[k])
    return Candidate(
        q[[k for k, _ in used]], np.array([weight for _, weight in used]), s.losses(moved), s.chances(moved)
    )


def gains(risk: FloatArray, e_star: FloatArray) -> FloatArray:
    """Gains (..., 3) of risks over ``e_star``: of group r, of group b, and in the absolute gap."""
    gap = np.abs(e_star[..., 0] - e_star[..., 1]) - np.abs(risk[..., 0] - risk[..., 1])
    result: FloatArray = np.stack([e_star[..., 0] - risk[..., 0], e_star[..., 1] - risk[..., 1], gap], axis=-1)
    return result


def smallest_gain(risk: FloatArray, e_star: FloatArray) -> FloatArray:
    """The smallest of the three gains."""
    smallest: FloatArray = gains(risk, e_star).min(axis=-1)
    return smallest


def _mix(points: FloatArray, first: int, second: int, share: float) -> FloatArray:
    mixed: FloatArray = share * points[first] + (1.0 - share) * points[second]
    return mixed


def _largest_smallest_gain(points: FloatArray, e_star: FloatArray) -> tuple[int, int, float]:
    """Search all pairs of candidates and shares 0, 0.1, ..., 1; single rules win ties."""
    first, second = np.triu_indices(len(points))
    best, found = -np.inf, (0, 0, 1.0)
    rounding = ROUNDING * float(max(np.abs(points).max(), np.abs(e_star).max()))
    for share in np.linspace(1.0, 0.0, N_SHARES):
        mixed = share * points[first] + (1.0 - share) * points[second]
        gain = smallest_gain(mixed, e_star)
        k = int(np.argmax(gain))
        if gain[k] > best + rounding:
            best, found = float(gain[k]), (int(first[k]), int(second[k]), float(share))
    return found


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Witness(Result):
    """An alternative inside the improvement set of an algorithm, with what the data say about it.

    ``gain`` (3,): estimated gains for the first group, the second group and in the gap; ``gain_draws``
    (B, 3) their bootstrap distribution. ``directions`` and ``shares`` define the rule or mixture.
    """

    directions: FloatArray
    shares: FloatArray
    risk: FloatArray
    selection_rate: FloatArray
    gain: FloatArray
    gain_draws: FloatArray

    @property
    def heading(self) -> str:
        """One line that says what this is."""
        return "An alternative that improves on the algorithm"

    @property
    def selection_ratio(self) -> float:
        """Smaller selection rate over the larger one."""
        return selection_ratio(self.selection_rate)

    def _facts(self) -> dict[str, object]:
        return {
            "directions": self.directions,
            "shares": self.shares,
            "risk": self.risk,
            "gain": self.gain,
            "selection_rate": self.selection_rate,
            "selection_ratio": self.selection_ratio,
        }

    def lower_bounds(self, alpha: float) -> FloatArray:
        """Lower confidence bounds (3,) for all three gains together.

        Their level is 1 - alpha for a rule named beforehand. A witness is looked at only where the test has rejected on
        the same rows, and there they hold less often.
        """
        # gain >= estimate - c se for all three, c the quantile of max_j (draw_j - estimate_j) / se_j
        below: FloatArray = self.gain - self._reach(alpha, lambda errors: errors)
        return below

    def intervals(self, alpha: float) -> FloatArray:
        """Confidence intervals (3, 2) for all three gains together; their level is that of the lower bounds."""
        reach = self._reach(alpha, np.abs)
        return np.column_stack([self.gain - reach, self.gain + reach])

    def _reach(self, alpha: float, side: Callable[[FloatArray], FloatArray]) -> FloatArray:
        """Quantile of the largest error, in standard errors, times these; a gain without variation has none."""
        error = self.gain_draws - self.gain
        scale = error.std(axis=0)
        random = scale > 1e-12 * np.abs(self.gain).max()
        reach = np.zeros_like(self.gain)
        if random.any():
            largest = side(error[:, random] / scale[random]).max(axis=1)
            reach[random] = np.quantile(largest, 1.0 - alpha, method="inverted_cdf") * scale[random]
        return reach

    def confirmed(self, alpha: float) -> bool:
        """Whether all three lower bounds clear zero."""
        return bool((self.lower_bounds(alpha) > 0.0).all())


def selection_ratio(rates: FloatArray) -> float:
    """Smallest selection rate over the largest; 1 where nobody is selected."""
    return float(rates.min() / rates.max()) if rates.max() > 0.0 else 1.0


def make_witness(
    function: Attainable,
    candidate: Candidate,
    e_star: FloatArray,
    e_star_draws: FloatArray,
    risk: FloatArray,
    risk_draws: FloatArray,
) -> Witness:
    """Put together a candidate and the joint draws (B, 2) of its risks and of the algorithm's."""
    s = function.scores
    rates, _ = group_means(candidate.chances, s.group, s.weight)
    step = step_size(function.n_obs)
    scale = step * np.sqrt(function.n_obs)
    gain = gains(risk, e_star)
    # the gap's absolute values have kinks: perturb by the numerical directional derivative
    moved = gains(risk + scale * (risk_draws - risk), e_star + scale * (e_star_draws - e_star))
    return Witness(candidate.directions, candidate.shares, risk, rates, gain, gain + (moved - gain) / scale)
