"""Draws for the case that the set crosses the 45-degree line, where F = -(1, 1) inf_c h(u1 - c(1, -1)).

``paper`` takes the exact infimum. ``sharp`` holds the rule of the direction that minimises the plug-in criterion, and
says by how much F may be too high or too low for reasons that do not show in the draws.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ...arrays import FloatArray
from ...bootstrap.draws import DrawingContext
from ...bootstrap.exact import perturbed_line_infima
from ...bootstrap.weights import RandomWeights
from ...frontier.plane import off_breakpoint
from ...frontier.regret import regret_of_repetitions
from ...frontier.support import SupportFunction
from ..learned import draw_learned
from ..p_values import critical_value, p_value, step_size
from .metrics import Metric

Method = Literal["sharp", "paper"]
DERIVATIVE_STEP = 1e-6
"""Step of derivatives of smooth functions."""


@dataclass(frozen=True, slots=True)
class Crossing:
    """Draws for the case that the set crosses the line.

    ``f`` is F's coordinate with draws (B,), ``risks`` (J, 2) those of the algorithms with draws (B, J, 2). For the
    published method the draws are perturbations of size ``step``, else ``step`` is None and ``f`` may be too high or
    too low by up to ``too_high`` and ``too_low``.
    """

    f: float
    f_draws: FloatArray
    risks: FloatArray
    risk_draws: FloatArray
    step: float | None
    n_obs: int
    too_high: float = 0.0
    too_low: float = 0.0

    @property
    def _shifts(self) -> set[float]:
        return {0.0, self.too_high, -self.too_low}

    def interval(self, value_at: Callable[[FloatArray, FloatArray], FloatArray], alpha: float) -> tuple[float, float]:
        """Interval of level 1 - alpha for a function of the risks (..., J, 2) and of F's coordinate (...)."""
        if self.step is not None:
            value = float(value_at(self.risks, np.array(self.f)))
            change = np.abs(value_at(self.risk_draws, self.f_draws) - value) / self.step
            half = critical_value(change, alpha) / np.sqrt(self.n_obs)
            return value - half, value + half
        levels = [alpha / 2.0, 1.0 - alpha / 2.0]
        ends = [np.quantile(value_at(self.risk_draws, self.f_draws - shift), levels) for shift in self._shifts]
        return float(np.min(ends)), float(np.max(ends))

    def nearest(self, metric: Metric, j: int, alpha: float) -> float:
        """Smallest distance between algorithm ``j`` and (f, f) with f in its interval, by ternary search.

        No draw of the distance is smaller than that to the nearest point of the line, so that its quantiles leave out
        the truth where F is that point.
        """
        first, last = self.interval(lambda _, f: f, alpha)

        def at(f: float) -> float:
            return float(metric.between(self.risks[j], np.array([f, f])))

        for _ in range(60):
            third = (last - first) / 3.0
            left, right = first + third, last - third
            first, last = (first, right) if at(left) <= at(right) else (left, last)
        return at((first + last) / 2.0)

    def at_fairest(self, j: int) -> float:
        """P-value of the null that algorithm ``j`` attains F, for draws that are not perturbations."""
        return max(self._at(j, self.f - shift, self.f_draws - shift) for shift in self._shifts)

    def _at(self, j: int, f: float, f_draws: FloatArray) -> float:
        error = self.risk_draws[:, j] - f_draws[:, None]
        centre = self.risks[j] - f
        covariance = np.atleast_2d(np.cov(error.T))
        inverse = np.linalg.pinv(covariance, rcond=1e-12, hermitian=True)
        moved = error - centre
        draws = np.einsum("bi,ij,bj->b", moved, inverse, moved)
        outside = centre - covariance @ inverse @ centre  # a difference without variation cannot be chance
        if np.abs(outside).max() > 1e-9 * max(float(np.abs(self.risks[j]).max()), 1e-300):
            return 1.0 / (1.0 + len(draws))
        return p_value(draws, float(centre @ inverse @ centre))


def crossing_draws(
    context: DrawingContext, losses: FloatArray, risks: FloatArray, method: Method, kinks: bool
) -> tuple[Crossing | None, FloatArray | None]:
    """Draws for the crossing case and the direction of F, q1 + q2 = -1; (None, None) if the set misses the line."""
    function, n = context.function, context.function.n_obs
    q = line_direction(function, method)
    if q is None:
        return None, None
    n_fixed = len(risks) - len(losses)
    still = np.broadcast_to(risks[len(losses) :], (context.n_boot, n_fixed, 2))
    if method == "sharp":
        return _held_crossing(context, q, losses, risks, still), q
    value = function.estimate.line_infimum().value
    if kinks:
        step = step_size(n)
        infima, drawn = perturbed_line_infima(
            function,
            losses,
            step,
            n_boot=context.n_boot,
            seed=context.seed,
            n_jobs=context.n_jobs,
        )
    else:  # the derivative of the infimum is the process at the one direction that attains it
        step = DERIVATIVE_STEP
        draws = context.draw(_on_line(off_breakpoint(q))[None], losses)
        infima, drawn = value + step * draws.z_h()[:, 0], draws.risks
    moved = risks[: len(losses)] + step * np.sqrt(n) * (drawn - risks[: len(losses)])
    return Crossing(-value, -infima, risks, np.concatenate([moved, still], axis=1), step, n), q


def _held_crossing(
    context: DrawingContext, q: FloatArray, losses: FloatArray, risks: FloatArray, still: FloatArray
) -> Crossing:
    """Draws for the rule of ``q`` (2,), q1 + q2 = -1, while the direction turns with the group shares.

    The rule of q has the risks e, and F is -q'e. It is held in the draws, but under other shares it is the rule of
    another direction: with q = (-1 - c, c), of the one with c + c (1 + c)(x_b - x_r), where x_g is by how much the
    share of g exceeds its estimate, relative to it (to first order, so that it cannot leave the line). Where the set
    is curved e is F itself, e_r = e_b, and the turn changes nothing. On a straight edge e is one of its ends, and the
    place of F on the edge depends on the turn.
    """
    function = context.function
    draws = draw_learned(context, np.array([q, q]), losses, hold_rules=True, along=np.eye(2))
    pair, c = draws.h_hat, float(q[1])
    excess = drawn_shares(context) / function.mu - 1.0
    turned = c + c * (1.0 + c) * (excess[:, 1] - excess[:, 0])
    f, f_draws = -float(q @ pair), draws.h[:, 0] + turned * (draws.h[:, 0] - draws.h[:, 1])
    too_high, too_low = 0.0, 0.0
    if context.regret is not None:
        values = context.regret.values(q[None])[:, 0]
        f, f_draws = f - float(values.mean()), f_draws - values[np.arange(len(f_draws)) % len(values)]
    else:
        repeated = regret_of_repetitions(function, context.n_folds)
        too_high = max(f + float(function.plug_in().h(q)[0]), 0.0)
        too_high = too_high if repeated is None else max(too_high, float(repeated.mean(q[None])[0]))
        exact = -function.estimate.line_infimum().value
        too_low = max(exact - f, 0.0) if np.isfinite(exact) else 0.0
    risk_draws = np.concatenate([draws.risks, still], axis=1)
    return Crossing(f, f_draws, risks, risk_draws, None, function.n_obs, too_high, too_low)


def drawn_shares(context: DrawingContext) -> FloatArray:
    """Group shares (B, 2) of the draws."""
    own = context.function.scores.repetition(0)
    stream, shares = RandomWeights(context.seed, own.n_units, own.counts).stream(), np.empty((context.n_boot, 2))
    for number in range(context.n_boot):
        drawn = stream.draw(number)
        weight = own.weight * (drawn if own.clusters is None else drawn[own.clusters])
        shares[number] = np.bincount(own.group, weight, 2)
    shares /= shares.sum(axis=1, keepdims=True)
    return shares


def line_direction(function: SupportFunction, method: Method) -> FloatArray | None:
    """The direction of F on the line q1 + q2 = -1, or None if the set misses the 45-degree line."""
    if method == "paper":
        exact = function.estimate.line_infimum()
        return exact.direction if np.isfinite(exact.value) else None
    line = function.plug_in().line_infimum()
    return _on_line(off_breakpoint(line.direction)) if np.isfinite(line.value) else None


def _on_line(q: FloatArray) -> FloatArray:
    scaled: FloatArray = q / -q.sum()
    return scaled
