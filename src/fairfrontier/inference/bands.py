"""Confidence bands for the support function, and tests and confidence sets for the feasible set."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from scipy.optimize import linprog

from ..arrays import ArrayLike, FloatArray
from ..bootstrap.draws import DrawingContext
from ..bootstrap.studentised import draw_studentised
from ..data.checks import check_directions, check_level, check_risks
from ..data.groups import by_group
from ..data.notebook import BLUE, GREEN, Picture
from ..data.reading import Label
from ..data.result import PlainDict, Result, axes_of, plain_items
from ..errors import InputError, SmallSampleWarning
from ..frontier.dependence import added_variance
from ..frontier.plane import intersect_half_planes, unit_circle
from ..frontier.regret import Regret
from ..frontier.sets import FeasibleSet
from ..frontier.support import SupportFunction
from .learned import correct, draw_learned
from .p_values import critical_value, p_value, step_size

BAND_DIRECTIONS = 1000
"""Directions on which the supremum over all directions is taken."""
SMALLEST = 150
"""Effective size of a group below which bands are known to miss too often in some designs."""
Side = Literal["two-sided", "lower", "upper"]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SetTest(Result):
    """A test about the feasible set: statistic, draws under the null, p-value and decision.

    ``scale`` is the size of the numbers that were subtracted from each other to get them.
    """

    null: str
    statistic: float
    draws: FloatArray
    alpha: float
    scale: float

    @property
    def heading(self) -> str:
        """The null hypothesis."""
        return f"Null: {self.null}"

    def _facts(self) -> dict[str, object]:
        return {
            "null": self.null,
            "reject": self.reject,
            "statistic": self.statistic,
            "critical_value": self.critical_value,
            "p_value": self.p_value,
            "alpha": self.alpha,
            "n_boot": len(self.draws),
        }

    def _verdict(self) -> str:
        return "Rejected" if self.reject else "Not rejected"

    @property
    def p_value(self) -> float:
        """(1 + draws at or above the statistic) / (1 + draws)."""
        return p_value(self.draws, self.statistic, self.scale)

    @property
    def critical_value(self) -> float:
        """Value that the statistic must exceed."""
        return critical_value(self.draws, self.alpha)

    @property
    def reject(self) -> bool:
        """Whether the null is rejected."""
        return self.p_value <= self.alpha

    def at(self, alpha: float) -> SetTest:
        """The same draws judged at another level."""
        return replace(self, alpha=check_level(alpha, len(self.draws)))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SupportBand(Result):
    """A sup-t confidence band for the support function, valid at all directions together.

    ``sup_t`` (B,) are the largest deviations of the draws, each in its own standard errors (bootstrap-t). The standard
    errors of the band have what the dependence between ``n_folds`` folds adds.
    ``inner`` and ``outer`` (k, 2) are polygons: with probability 1 - alpha the feasible set contains the inner
    one and lies in the outer one. A one-sided band has only one of them; ``inner`` is empty (0, 2) when the
    band is too wide for any set to fit.
    """

    function: SupportFunction
    alpha: float
    side: Side
    sup_t: FloatArray
    regret: Regret | None = None
    groups: tuple[Label, ...] | None = None
    n_folds: int = 0

    @property
    def heading(self) -> str:
        """One line that says what this is."""
        return "Confidence band of the set of attainable risks"

    def _facts(self) -> dict[str, object]:
        return {
            "side": self.side,
            "alpha": self.alpha,
            "critical_value": self.critical_value,
            "corrected": self.regret is not None,
            "n_boot": len(self.sup_t),
        }

    def to_dict(self) -> PlainDict:
        """Return plain numbers and text for JSON, with the two polygons."""
        return plain_items(self._facts() | {"inner": self.inner, "outer": self.outer})

    def _picture(self) -> Picture:
        plane = Picture(axes_of(self.groups)).area(self.outer, BLUE, "contains the attainable risks")
        return plane.area(self.inner, GREEN, "attainable")

    @property
    def critical_value(self) -> float:
        """Half-width of the band in standard errors."""
        return float(np.quantile(self.sup_t, 1.0 - self.alpha, method="inverted_cdf"))

    def lower(self, q: ArrayLike) -> FloatArray:
        """Lower limit of h at directions ``q`` (k, 2); -inf for an upper band."""
        return self._limit(q, -1.0) if self.side != "upper" else np.full(len(check_directions(q)), -np.inf)

    def upper(self, q: ArrayLike) -> FloatArray:
        """Upper limit of h at directions ``q`` (k, 2); inf for a lower band."""
        return self._limit(q, 1.0) if self.side != "lower" else np.full(len(check_directions(q)), np.inf)

    @property
    def inner(self) -> FloatArray:
        """Polygon that the feasible set contains."""
        return np.empty((0, 2)) if self.side == "upper" else self._polygon(-1.0)

    @property
    def outer(self) -> FloatArray:
        """Polygon that contains the feasible set; empty for a lower band, which gives none."""
        return np.empty((0, 2)) if self.side == "lower" else self._polygon(1.0)

    def at(self, alpha: float) -> SupportBand:
        """The band of another level, from the same draws."""
        return replace(self, alpha=check_level(alpha, len(self.sup_t)))

    def _polygon(self, sign: float) -> FloatArray:
        q = unit_circle(BAND_DIRECTIONS)
        bound = self._limit(q, sign)
        centre = deepest_point(q, bound)
        return np.empty((0, 2)) if centre is None else intersect_half_planes(q, bound, centre)

    def _limit(self, q: ArrayLike, sign: float) -> FloatArray:
        directions = check_directions(q)
        errors = standard_errors(self.function, directions, self.n_folds)
        limit: FloatArray = self.function.estimate.h(directions) + sign * self.critical_value * errors
        return limit if self.regret is None else limit + self.regret.mean(directions)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class EstimatedFeasibleSet(FeasibleSet):
    """A feasible set that can be tested and banded.

    Adds to the polygon of `FeasibleSet` the draws of the support function behind it.
    """

    context: DrawingContext
    alpha: float

    def _facts(self) -> dict[str, object]:
        more = {"alpha": self.alpha, "n_obs": self.context.function.n_obs, "n_boot": self.context.n_boot}
        # with its class, because a class with slots is made anew by the decorator
        return super(EstimatedFeasibleSet, self)._facts() | more

    def confidence_band(self, alpha: float | None = None, side: Side = "two-sided") -> SupportBand:
        """Sup-t band for h over all directions, two-sided, or one-sided ("lower", "upper").

        Warns
        -----
        SmallSampleWarning
            If a group is so small, or its weights so unequal, that bands are known to miss too often.
        """
        if side not in ("two-sided", "lower", "upper"):
            raise InputError("bad-option", f'`side` must be "two-sided", "lower" or "upper", got {side!r}.')
        level = self._level(alpha)
        context, q = self.context, unit_circle(BAND_DIRECTIONS)
        warn_of_small_groups(context.function, self.groups)
        shifts = None
        if context.regret is not None:
            # the regret of the rules at hand is not known but has a distribution, that of the refits
            values = context.regret.values(q)
            shifts = values - values.mean(axis=0)
        drawn = draw_studentised(
            context.function, q, shifts, n_boot=context.n_boot, seed=context.seed, n_jobs=context.n_jobs
        )
        # lower limit h^ - c se fails where h^ - h > c se, whose draws are h~ - h^; upper the other way round
        sup = {"two-sided": np.maximum(drawn.above, drawn.below), "lower": drawn.above, "upper": drawn.below}[side]
        return SupportBand(context.function, level, side, sup, context.regret, self.groups, context.n_folds)

    def test(self, e: ArrayLike, alpha: float | None = None) -> SetTest:
        """Test the null that a risk pair is feasible."""
        point = check_risks(e)
        if len(point) != 1:
            raise InputError("bad-risks", f"Give one risk pair to `test`, got {len(point)}.")
        q = self._directions()
        return self._sup_test(f"({point[0, 0]:g}, {point[0, 1]:g}) is feasible", q @ point[0], 1.0, alpha)

    def test_contains(self, vertices: ArrayLike, alpha: float | None = None) -> SetTest:
        """Test the null that the feasible set contains the convex hull of ``vertices`` (k, 2)."""
        corners = check_risks(vertices)
        return self._sup_test(
            "the feasible set contains the given set", (self._directions() @ corners.T).max(axis=1), 1.0, alpha
        )

    def test_contained_in(self, vertices: ArrayLike, alpha: float | None = None) -> SetTest:
        """Test the null that the feasible set lies in the convex hull of ``vertices`` (k, 2)."""
        corners = check_risks(vertices)
        return self._sup_test(
            "the feasible set lies in the given set", (self._directions() @ corners.T).max(axis=1), -1.0, alpha
        )

    def _sup_test(self, null: str, bound: FloatArray, sign: float, alpha: float | None) -> SetTest:
        """T = sqrt(n)[max_q sign (bound(q) - h(q))]_+, draws by the numerical directional derivative."""
        level = self._level(alpha)
        draws = draw_learned(self.context, self._directions())
        if sign > 0.0:  # a question of feasibility
            draws = correct(self.context, draws)
        step = step_size(draws.n_obs)
        gap = sign * (bound - draws.h_hat)
        most = float(gap.max())
        moved = (gap - sign * step * draws.z_h()).max(axis=1)
        null_draws = np.maximum(moved - most, 0.0) / step
        root = float(np.sqrt(draws.n_obs))
        scale = root * float(max(np.abs(bound).max(), np.abs(draws.h_hat).max()))
        return SetTest(null, root * max(most, 0.0), null_draws, level, scale)

    def _directions(self) -> FloatArray:
        return unit_circle(BAND_DIRECTIONS)

    def _level(self, alpha: float | None) -> float:
        return check_level(self.alpha if alpha is None else alpha, self.context.n_boot)


def effective_sizes(function: SupportFunction) -> FloatArray:
    """How many people (clusters) of equal weight each group is worth: (sum V_c)^2 / sum V_c^2 of their weights V_c."""
    s = function.scores
    sizes = np.empty(2)
    for g, rows in enumerate(by_group(s.group, 2)):
        weight = s.weight[rows]
        total = weight if s.clusters is None else np.bincount(s.clusters[rows], weight)
        sizes[g] = weight.sum() ** 2 / (total**2).sum()
    return sizes


def warn_of_small_groups(function: SupportFunction, groups: tuple[Label, ...] | None) -> None:
    """Warn if a group is so small that bands are known to miss more often than they say."""
    sizes = effective_sizes(function)
    g = int(np.argmin(sizes))
    if sizes[g] >= SMALLEST:
        return
    unit = "clusters" if function.scores.clustered else "people"
    label = (0, 1)[g] if groups is None else groups[g]
    warnings.warn(
        f"The band rests on few {unit}: group {label} is worth {sizes[g]:.0f} {unit} of equal weight, and with fewer "
        f"than {SMALLEST} bands may miss the truth more often than their level says. Take it as a rough guide, or use "
        "more data.",
        SmallSampleWarning,
        stacklevel=3,
    )


def standard_errors(function: SupportFunction, q: FloatArray, n_folds: int = 0) -> FloatArray:
    """Standard errors of h^ at directions ``q`` (k, 2), with what ``n_folds`` dependent folds add, if there are any."""
    variance = function.variance(q)
    if n_folds > 0:
        added = np.einsum("ki,kij,kj->k", q, added_variance(function, q, n_folds), q)
        variance = variance + np.where(variance > 0.0, added, 0.0)
    errors: FloatArray = np.sqrt(variance / function.n_obs)
    return errors


def deepest_point(q: FloatArray, bound: FloatArray) -> FloatArray | None:
    """Centre of the largest disc inside {z : q'z <= bound}, or None if that set is empty."""
    columns = np.column_stack([q, np.hypot(q[:, 0], q[:, 1])])
    # the solver has absolute tolerances, so the numbers are brought to the size of 1; by a power of 2, which is exact
    size = 2.0 ** float(np.frexp(np.abs(bound).max())[1])
    solution = linprog([0.0, 0.0, -1.0], A_ub=columns, b_ub=bound / size, bounds=[(None, None)] * 3, method="highs")
    if solution.status != 0 or solution.x[2] < 0.0:
        return None
    centre: FloatArray = size * solution.x[:2]
    return centre
