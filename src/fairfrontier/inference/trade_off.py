"""The accuracy-against-disparity curve over all rules: overall risk and gap between two groups, with a uniform band."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from ..arrays import ArrayLike, BoolArray, FloatArray
from ..data.checks import check_risks
from ..data.criteria import Criteria
from ..data.messages import shown
from ..data.notebook import BLUE, Picture
from ..data.reading import Label, to_float
from ..data.result import PlainDict, Result, labels, plain_items
from ..errors import InputError
from ..fit import Fit
from ..frontier.plane import clip_polygon, convex_contains, intersect_half_planes, unit_circle
from ..frontier.rule_values import RuleValuer
from ..frontier.standing import stand
from ..frontier.support import Arcs
from ..frontier.trade_off import PROJECTION, make_trade_off
from .bands import deepest_point
from .fan.forms import criteria_forms, folds_of, square_root
from .fan.questions import criteria_of

DIRECTIONS = 240
"""Directions on which the supremum over all directions is taken."""
ROUNDING = 1e-12
"""By how much pairs may be off by rounding."""
REGION = 241
"""Gaps at which the region of the frontier is drawn."""
CURVE = 101
"""Directions of the curve."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class TradeOffCurve(Result):
    """What rules attain in overall risk and gap, the measure of the first group less that of the second.

    ``vertices`` (k, 2): the estimated set. ``curve`` (m, 2), its frontier: from the most accurate rule to the smallest
    predicted gap, attained by the rules of ``directions`` (m, 2); where the gap vanishes, by a lottery of the last two.
    With probability 1 - alpha rules attain all that lies in the polygon ``inner`` and, if the learner is consistent,
    nothing outside of ``outer``: ``critical_value`` standard errors on either side of the support function. Then the
    whole frontier lies in ``region`` (j, 2): no rule is shown to be at least as accurate with no wider a gap.
    """

    groups: tuple[Label, ...]
    criteria: Criteria
    alpha: float
    vertices: FloatArray
    curve: FloatArray
    directions: FloatArray
    inner: FloatArray
    outer: FloatArray
    critical_value: float

    @property
    def heading(self) -> str:
        """One line that says what this is."""
        return f"Overall risk against the gap in {self.criteria.measure}, over all rules"

    def _facts(self) -> dict[str, object]:
        return {
            "groups": labels(self.groups),
            "measure": self.criteria.measure,
            "most_accurate": self.curve[0],
            "smallest_gap": self.curve[-1],
            "alpha": self.alpha,
            "critical_value": self.critical_value,
        }

    def to_dict(self) -> PlainDict:
        """Return plain numbers and text for JSON: the polygons and the curve."""
        names = ("vertices", "curve", "directions", "inner", "outer", "region")
        return plain_items(self._facts() | {name: getattr(self, name) for name in names})

    def to_frame(self, gaps: ArrayLike | None = None) -> pd.DataFrame:
        """Smallest overall risk with a gap of at most so much, and its limits; default 11 gaps from 0 on.

        Limits hold for all gaps together; they are not numbers where a polygon has no such gap.
        """
        most = max(abs(float(self.curve[0, 1])), 1e-12)
        asked = np.linspace(0.0, most, 11) if gaps is None else _read_gaps(gaps)
        sets = {"risk": self.vertices, "risk low": self.outer, "risk high": self.inner}
        table = {name: [_least(polygon, gap) for gap in asked] for name, polygon in sets.items()}
        return pd.DataFrame(table, index=pd.Index(asked, name="gap at most"))

    def _frame(self) -> pd.DataFrame:
        return self.to_frame().reset_index()

    def contains(self, points: ArrayLike) -> BoolArray:
        """Whether pairs (k, 2) of overall risk and gap lie in the estimated set."""
        return convex_contains(self.vertices, check_risks(points), slack=1e-12)

    def compatible(self, points: ArrayLike) -> BoolArray:
        """Whether pairs (k, 2) lie in the outer polygon: those outside are shown not to be attainable."""
        return convex_contains(self.outer, check_risks(points), slack=1e-12)

    def on_frontier(self, points: ArrayLike) -> BoolArray:
        """Whether pairs (k, 2) may lie on the frontier: not shown to be out of reach, nor to be improved on.

        At the points of the frontier the overall risk is the smallest with a gap of at most that size. All of them are
        in this set with probability 1 - alpha, if the learner is consistent.
        """
        pairs = check_risks(points)
        least = np.array([_least(self.inner, abs(gap)) for gap in pairs[:, 1].tolist()])
        improved = least < pairs[:, 0] - ROUNDING  # false where nothing is shown to be attained
        return self.compatible(pairs) & ~improved

    @property
    def region(self) -> FloatArray:
        """Polygon (j, 2) of the pairs that may lie on the frontier, at many gaps; (0, 2) if there are none."""
        if len(self.outer) == 0:
            return np.empty((0, 2))
        low, high = self.outer[:, 1].min(), self.outer[:, 1].max()
        gaps = np.unique(np.append(np.linspace(low, high, REGION), 0.0 if low < 0.0 < high else low))
        ends = np.array([_ends(self.outer, gap) for gap in gaps])
        least = np.array([_least(self.inner, abs(gap)) for gap in gaps.tolist()])
        most = np.fmin(ends[:, 1], least)
        kept = ends[:, 0] <= most
        lower = np.column_stack([ends[kept, 0], gaps[kept]])
        return np.vstack([lower, np.column_stack([most[kept], gaps[kept]])[::-1]])

    def _picture(self) -> Picture:
        plane = Picture(("overall risk", "gap")).area(self.vertices, BLUE, "attainable")
        return plane.line(self.curve, BLUE, "trade-off")


def _read_gaps(gaps: ArrayLike) -> FloatArray:
    found = np.atleast_1d(to_float(np.asarray(gaps), "gaps", "bad-option", "Give numbers such as 0.05."))
    if found.ndim != 1 or not (np.isfinite(found) & (found >= 0.0)).all():
        raise InputError("bad-option", f"gaps must be finite numbers of at least 0, got {shown(gaps)}.")
    return found


def _least(polygon: FloatArray, gap: float) -> float:
    """Smallest first coordinate of the points of a convex polygon whose second is at most ``gap`` in size."""
    across = np.array([[0.0, 1.0], [0.0, -1.0]])
    kept = clip_polygon(polygon, across, np.array([gap, gap]))
    return float(kept[:, 0].min()) if len(kept) else np.nan


def _ends(polygon: FloatArray, gap: float) -> tuple[float, float]:
    """Smallest and largest first coordinate of the points of a convex polygon whose second is ``gap``."""
    following = np.roll(polygon, -1, axis=0)
    step = following[:, 1] - polygon[:, 1]
    share = np.divide(gap - polygon[:, 1], step, out=np.full(len(step), np.nan), where=step != 0.0)
    along = polygon[:, 0] + share * (following[:, 0] - polygon[:, 0])
    crossed = along[(share >= 0.0) & (share <= 1.0)]
    own = np.concatenate([crossed, polygon[np.abs(polygon[:, 1] - gap) <= ROUNDING, 0]])
    return float(own.min()), float(own.max())


def trade_off(fit: Fit, alpha: float | None = None) -> TradeOffCurve:
    """Estimate the curve of overall risk and gap; see `FairFrontier.trade_off`."""
    level = fit.level(alpha)
    if fit.asked is None or not fit.criteria.planar:
        raise InputError(
            "bad-option",
            'The curve of overall risk against a gap needs a fit with accuracy="overall", and without `keep`, `profit` '
            f'and fairness="selection-ratio"; this one has {fit.criteria.listed or "none of these choices"}.',
        )
    fit.sample.groups.pair("The curve of overall risk against a gap")
    rows = criteria_of(fit)
    found = make_trade_off(rows, PROJECTION)
    q = unit_circle(DIRECTIONS)
    p = found.weights(q)
    criteria, covariance = criteria_forms(rows, p)
    h = -np.einsum("fj,fj->f", p, criteria)
    valuer = RuleValuer(rows, stand(rows, np.zeros(fit.n_obs), (), folds_of(fit)), fit.options.n_jobs)
    added = np.einsum("fj,fjk,fk->f", p, valuer(p).added, p)
    error = np.sqrt(np.diag(covariance) + added)
    reach = _reach(covariance, level, fit)
    curve, directions = _curve(found.estimate, found.plug_in)
    return TradeOffCurve(
        groups=fit.sample.groups.labels,
        criteria=fit.criteria,
        alpha=level,
        vertices=found.estimate.half_plane_polygon(),
        curve=curve,
        directions=directions,
        inner=_polygon(q, h - reach * error),
        outer=_polygon(q, h + reach * error),
        critical_value=reach,
    )


def _polygon(q: FloatArray, bound: FloatArray) -> FloatArray:
    """Vertices of {z : q'z <= bound}, none if that is empty."""
    centre = deepest_point(q, bound)
    return np.empty((0, 2)) if centre is None else intersect_half_planes(q, bound, centre)


def _reach(covariance: FloatArray, alpha: float, fit: Fit) -> float:
    """Quantile of the largest of the errors of h in all directions, in absolute value and in standard errors."""
    spread = np.sqrt(np.diag(covariance))
    varies = spread > 1e-12 * max(float(spread.max()), 1e-300)
    own = covariance[np.ix_(varies, varies)] / np.outer(spread[varies], spread[varies])
    normal = np.random.default_rng(fit.seeds.drawing).standard_normal((fit.options.n_boot, len(own)))
    largest = np.abs(normal @ square_root(own)).max(axis=1, initial=0.0)
    return float(np.quantile(largest, 1.0 - alpha, method="inverted_cdf"))


def _curve(estimate: Arcs, plug_in: Arcs) -> tuple[FloatArray, FloatArray]:
    """Points and directions from the most accurate rule to equal measures, or as near as rules come.

    Which group has the larger measure, and where the gap vanishes, is decided by the predictions.
    """
    first = plug_in.support_set(np.array([[-1.0, 0.0]]))[0]
    sign = 1.0 if first[1] >= 0.0 else -1.0
    angle = np.linspace(0.0, np.pi / 2.0, CURVE)
    q = np.column_stack([-np.cos(angle), -sign * np.sin(angle)])
    q[np.abs(q) < 1e-15] = 0.0
    beyond = np.flatnonzero(sign * plug_in.support_set(q)[:, 1] < 0.0)
    stop = len(q) if len(beyond) == 0 else int(beyond[0])
    points = estimate.support_set(q)
    kept, directions = points[:stop], q[:stop]
    if stop < len(q) and sign * points[stop, 1] < 0.0 < sign * kept[-1, 1]:  # the lottery without a gap
        share = kept[-1, 1] / (kept[-1, 1] - points[stop, 1])
        kept = np.vstack([kept, (1.0 - share) * kept[-1] + share * points[stop]])
        directions = np.vstack([directions, q[stop]])
    return kept, directions
