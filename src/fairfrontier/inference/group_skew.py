"""Should the group be banned as an input? The test of weak group skew, without random candidate points.

The null says that R and B lie weakly on the same side of the 45-degree line.

``paper`` rejects it if no pair (R, B) of the null lies in the joint confidence set, so its p-value is the largest
p(R, B) over such pairs. T(R, B) and its draws are sums of a part for R and a part for B, so two lattices of points give
all pairs at the price of their sums. Bounds tell which points can still matter: T grows at a known rate, and no draw
exceeds the largest draws of its direction. Drawing pairs at random would overlook some that speak for the null.

``sharp`` uses that R has the smallest e_r and B the smallest e_b. If B lies weakly above the line then so does R,
R_r <= B_r <= B_b <= R_b; if R lies weakly below then so does B. The null is therefore that B lies weakly above or R
weakly below, and it is rejected if both of these are, each at the full level: an intersection-union test, which pays
nothing for looking at two points. Each is tested by two estimates of its gap, both of which must be positive beyond
chance (`skew_gaps`).

A learner that misses signal makes the estimates contradict themselves: then no point at all passes as R, or none as B,
and rejecting the null says nothing. ``sharp`` therefore asks whether the opposite, R above and B below the line, agrees
with the estimates, each point by its own part of T (rules held while drawing; the step of the numerical derivative is
kappa_n / sqrt(n), which counts far directions less), and claims balance only where it does and the estimated points lie
so.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numba import njit
from scipy.spatial import ConvexHull, QhullError

from ..arrays import FloatArray
from ..bootstrap.draws import DrawingContext
from ..data.checks import check_level
from ..data.notebook import BLUE, ORANGE, Picture
from ..data.reading import Label
from ..data.result import ExplainedResult, PlainDict, Result, axes_of, labels, plain_items
from ..frontier.plane import U1, U2
from .best_points import QUARTER, ExtremePoint, extreme_points
from .lattices import lattice, lowest, to_side
from .p_values import ROUNDING, combine_repetitions, critical_value, kappa
from .skew_gaps import SkewGap, skew_gaps, weakest

Method = Literal["sharp", "paper"]
SkewVerdict = Literal["balance-shown", "not-shown", "contradictory"]
SKEW_VERDICTS: dict[SkewVerdict, str] = {
    "balance-shown": "Banning the group would worsen every point of the trade-off.",
    "not-shown": "Not shown: the best points may lie on one side of equal risks.",
    "contradictory": "No answer: the estimates contradict themselves.",
}
DIRECTIONS = 200
"""Directions in each of the two half circles in which points must be feasible."""
PUBLISHED_DIRECTIONS = 100
"""The published number of them in quarter circles."""
SPACINGS = (1.6, 0.8, 0.4)
"""Distances between neighbouring lattice points of the successive searches, in standard errors of h."""
FINAL_STEPS = (0.2, 0.1, 0.05)
"""Distances tried about the best pair at the end, in the same units."""
SET_SPACING = 0.8
"""Distance between lattice points of the projected confidence sets, in the same units."""
_HOW = {
    "difference": "by how the support function changes there, which is at most the gap",
    "direct": "the gap of the rule that is best for that group",
}
NO_ANSWER = (
    "So the learner is too weak or the sample too small. This shows neither that banning the group would worsen the "
    "trade-off nor that it would not; a stronger learner may give an answer."
)
"""What follows if the estimates contradict themselves."""


@dataclass(frozen=True, slots=True)
class Candidates:
    """Points (k, 2) for one of the best points, with T (k,) and draws minus T (k, B), rounding allowed for."""

    points: FloatArray
    statistic: FloatArray
    slack: FloatArray


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class BestPointsSet(Result):
    """Confidence set for the pair of best points, projected on each of them.

    ``best_r`` and ``best_b`` (k, 2): lattice points that belong to an accepted pair; their outlines are convex.
    """

    alpha: float
    best_r: FloatArray
    best_b: FloatArray
    groups: tuple[Label, ...] | None = None

    @property
    def heading(self) -> str:
        """One line that says what this is."""
        return "Confidence set of the best points of the two groups"

    def _facts(self) -> dict[str, object]:
        facts: dict[str, object] = {"alpha": self.alpha}
        for name, points in (("best_r", self.best_r), ("best_b", self.best_b)):
            facts[f"{name}_points"] = len(points)
            if len(points):
                facts |= {f"{name}_low": points.min(axis=0), f"{name}_high": points.max(axis=0)}
        return facts

    def to_dict(self) -> PlainDict:
        """Return plain numbers and text for JSON, with the two outlines."""
        return plain_items(self._facts() | {"outline_r": self.outline_r, "outline_b": self.outline_b})

    def _picture(self) -> Picture:
        r, b = axes_of(self.groups)
        return Picture((r, b)).area(self.outline_r, BLUE, f"best for {r}").area(self.outline_b, ORANGE, f"best for {b}")

    @property
    def outline_r(self) -> FloatArray:
        """Outline (k, 2) of the accepted best points of the first group."""
        return _outline(self.best_r)

    @property
    def outline_b(self) -> FloatArray:
        """Outline (k, 2) of the accepted best points of the second group."""
        return _outline(self.best_b)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class GroupSkewTest(ExplainedResult):
    """Result of testing weak group skew; the null is that both best points lie weakly on one side of equal risks.

    ``best_r`` and ``best_b`` (2,) are the estimated best points. ``gaps`` are the four estimates of the gaps between
    the groups' risks there; ``statistic`` and ``draws`` (B,) belong to the one that decides and ``p_value`` to the
    null. The published test has no such gaps: its statistic and draws belong to ``closest``, the best points (2, 2) of
    the null that the data reject least. ``p_value_balanced`` is the p-value of the opposite, R weakly above and B
    weakly below the line: the largest over such pairs of the smaller p-value of the two points. It is None for the
    published test, which does not ask.
    """

    groups: tuple[Label, Label]
    alpha: float
    method: Method
    best_r: FloatArray
    best_b: FloatArray
    gaps: tuple[SkewGap, ...]
    closest: FloatArray | None
    statistic: float
    draws: FloatArray
    p_value: float
    p_value_balanced: float | None
    _points: tuple[ExtremePoint, ExtremePoint]

    @property
    def verdict(self) -> SkewVerdict:
        """What the test shows.

        "balance-shown": weak group skew is rejected, its opposite is not, and the estimated best points lie on
        different sides. "not-shown": weak group skew is not rejected. "contradictory": it is rejected, but so is its
        opposite, or the estimated best points lie as the null says; this is no answer. The published test has only
        the first two.
        """
        if self.p_value > self.alpha:
            return "not-shown"
        if self.p_value_balanced is None:
            return "balance-shown"
        agrees = self.p_value_balanced > self.alpha and self._balanced_by_estimate
        return "balance-shown" if agrees else "contradictory"

    @property
    def reject(self) -> bool:
        """Whether the best points are shown to lie strictly on different sides: the verdict is "balance-shown"."""
        return self.verdict == "balance-shown"

    @property
    def _balanced_by_estimate(self) -> bool:
        return bool(self.best_r[1] > self.best_r[0] and self.best_b[1] < self.best_b[0])

    @property
    def critical_value(self) -> float:
        """Value that the statistic must exceed."""
        return critical_value(self.draws, self.alpha)

    @property
    def confidence_set(self) -> BestPointsSet:
        """Confidence set for (R, B), projected on R and on B; worked out when asked for."""
        return replace(confidence_set(*self._points, self.alpha), groups=self.groups)

    def at(self, alpha: float) -> GroupSkewTest:
        """The same draws judged at another level."""
        return replace(self, alpha=check_level(alpha, len(self.draws)))

    def _facts(self) -> dict[str, object]:
        return {
            "groups": labels(self.groups),
            "verdict": self.verdict,
            "method": self.method,
            "alpha": self.alpha,
            "best_r": self.best_r,
            "best_b": self.best_b,
            "statistic": self.statistic,
            "critical_value": self.critical_value,
            "p_value": self.p_value,
            "p_value_balanced": self.p_value_balanced,
            "n_boot": len(self.draws),
        }

    def to_dict(self) -> PlainDict:
        """Everything but the draws, as plain numbers and text."""
        more = {"reject": self.reject, "gaps": self.gaps, "closest": self.closest}
        return plain_items(self._facts() | more)

    def _verdict(self) -> str:
        return SKEW_VERDICTS[self.verdict]

    def _picture(self) -> Picture:
        plane = Picture(axes_of(self.groups)).points(self.best_r[None], BLUE, f"best for {self.groups[0]}")
        return plane.points(self.best_b[None], ORANGE, f"best for {self.groups[1]}")

    @property
    def heading(self) -> str:
        """The question that is answered."""
        return "Would banning the group as an input worsen every point of the trade-off?"

    def sentences(self) -> list[str]:
        """Say in plain words what the test shows and what it does not show."""
        r, b = self.groups
        lines = [
            f"Estimated best point of group {r}: {_pair(self.best_r, self.groups)}; of group {b}: "
            f"{_pair(self.best_b, self.groups)}.",
            "Null: at both best points the same group has the higher risk (or the risks are equal). "
            f"P-value {self.p_value:.4f} at alpha {self.alpha:g}.",
        ]
        lines += self._deciding()
        lines += self._meaning()
        lines.append(
            "It concerns risks (expected losses) of rules based on the covariates used here: evidence, not a legal "
            "finding on the use of the group."
        )
        return lines

    def _deciding(self) -> list[str]:
        """Which gap the test is decided by, and by how much it exceeds 0; nothing for the published test."""
        if not self.gaps:
            return []
        gap = weakest(self.gaps)
        own, other = self.groups[gap.group], self.groups[1 - gap.group]
        return [
            f"Decided by the best point of group {own}: there the risk of group {other} exceeds that of group {own} by "
            f"an estimated {gap.estimate:+.4f} ({_HOW[gap.how]})."
        ]

    def _meaning(self) -> list[str]:
        r, b = self.groups
        if self.verdict == "not-shown":
            return [
                "Not rejected. This does not show that the group should be banned, nor that banning it would do no "
                "harm: the data are compatible with one group having the higher risk at both best points, in which "
                "case it depends on the preference between accuracy and fairness.",
                "Nor can it be ruled out that a rule which serves both groups worse than another is justified by "
                "fairness.",
            ]
        if self.verdict == "contradictory":
            return [self._contradiction(), NO_ANSWER]
        if self.p_value_balanced is None and self._nothing_accepted():
            return [
                "Rejected by the published rule, but the confidence set of the best points is empty: no pair of best "
                "points agrees with the estimates, whether it fits the null or not.",
                NO_ANSWER,
            ]
        return [
            "Rejected: each group is served best by rules under which the other group has the higher risk.",
            f"For banning: every point of the frontier of rules that do not see {r} or {b} is dominated by a "
            "point that rules which see the group attain. Banning it would worsen the trade-off everywhere.",
            "For justification: the frontier is then the Pareto frontier, so a rule that could be improved for "
            "both groups at once cannot be justified by fairness.",
            "All this holds if the learner comes close to the truth; one that misses signal can mislead the test.",
        ]

    def _contradiction(self) -> str:
        assert self.p_value_balanced is not None
        if self.p_value_balanced <= self.alpha:
            return (
                f"No answer: the null is rejected, but so is its opposite (p-value {self.p_value_balanced:.4f}). No "
                "pair of best points agrees with the estimates."
            )
        return (
            "No answer: the null is rejected, yet the estimated best points lie as it says. The estimates contradict "
            "each other."
        )

    def _nothing_accepted(self) -> bool:
        found = self.confidence_set
        return len(found.best_r) == 0 or len(found.best_b) == 0


def group_skew_test(
    contexts: list[DrawingContext],
    central: int,
    best: tuple[FloatArray, FloatArray],
    groups: tuple[Label, Label],
    alpha: float,
    method: Method,
) -> GroupSkewTest:
    """Test weak group skew; over repetitions each p-value is min(1, 2 median)."""
    drawn = [skew_points(context, method) for context in contexts]
    gaps: list[tuple[SkewGap, ...]] = [()] * len(contexts)
    closest, p_balanced = None, None
    if method == "paper":
        pairs = [closest_pair(*points) for points in drawn]
        p_values = [pair.p_value for pair in pairs]
        chosen = pairs[central]
        closest, statistic, draws = np.array([chosen.r, chosen.b]), chosen.statistic, chosen.draws
    else:
        gaps = [skew_gaps(context) for context in contexts]
        p_values = [max(gap.p_value for gap in own) for own in gaps]
        p_balanced = combine_repetitions(np.array([balanced_p_value(*points) for points in drawn]))
        decides = weakest(gaps[central])
        statistic, draws = decides.statistic, decides.draws
    return GroupSkewTest(
        groups=groups,
        alpha=alpha,
        method=method,
        best_r=best[0],
        best_b=best[1],
        gaps=gaps[central],
        closest=closest,
        statistic=statistic,
        draws=draws,
        p_value=combine_repetitions(np.array(p_values)),
        p_value_balanced=p_balanced,
        _points=drawn[central],
    )


def skew_points(context: DrawingContext, method: Method) -> tuple[ExtremePoint, ExtremePoint]:
    """Draw what the test of (R, B) needs: published constants, or the sharper ones of this module."""
    supports, n = np.array([U1, U2]), context.function.n_obs
    if method == "paper":
        r, b = extreme_points(context, supports, PUBLISHED_DIRECTIONS, window=QUARTER)
    else:
        step = kappa(n) / np.sqrt(n)
        r, b = extreme_points(context, supports, DIRECTIONS, window=np.pi / 2.0, step=float(step), hold_rules=True)
    return r, b


@dataclass(frozen=True, slots=True)
class ClosestPair:
    """The pair of the null with the largest p-value."""

    r: FloatArray
    b: FloatArray
    statistic: float
    draws: FloatArray
    p_value: float


def closest_pair(r: ExtremePoint, b: ExtremePoint) -> ClosestPair:
    """Search the pairs of the null, both above or both below the 45-degree line, for the largest p-value.

    The lattices are exhaustive up to their spacing: a point is left out only where no pair with it can have a larger
    p-value than the best pair found. Where none can have more than the smallest possible p-value, the pair with the
    smallest statistic stands for all.
    """
    n_boot = len(r.z_u)
    ceiling = np.sort(r.largest_draws + b.largest_draws)[::-1]
    ends = {above: (lowest(r, above), lowest(b, above)) for above in (True, False)}
    start = min(ends.values(), key=lambda pair: pair[0][0] + pair[1][0])
    best = (0, start[0][1], start[1][1])
    for pair in ends.values():
        best = _better(best, *[_evaluate(point, low[1][None]) for point, low in zip((r, b), pair, strict=True)])
    for spacing in SPACINGS:
        for above, ((least_r, _), (least_b, _)) in ends.items():
            # T(R) + T(B) above this value cannot be reached by more draws than the best pair's
            limit = float(ceiling[min(best[0], n_boot - 1)])
            if least_r + least_b > limit:
                continue
            pairs = zip((r, b), (limit - least_b, limit - least_r), strict=True)
            best = _better(best, *[_evaluate(point, lattice(point, most, spacing, above)) for point, most in pairs])
    for step in FINAL_STEPS:
        for above in (True, False):
            near = [_stencil(at, step * point.unit, above) for at, point in zip(best[1:], (r, b), strict=True)]
            best = _better(best, *[_evaluate(point, some) for point, some in zip((r, b), near, strict=True)])
    (t_r, d_r), (t_b, d_b) = r.test(best[1][None]), b.test(best[2][None])
    return ClosestPair(best[1], best[2], float(t_r[0] + t_b[0]), d_r[0] + d_b[0], (1 + best[0]) / (1 + n_boot))


def balanced_p_value(r: ExtremePoint, b: ExtremePoint) -> float:
    """The p-value of "R lies weakly above the line and B weakly below it".

    Each point is tested by its own part of T, so a pair has the smaller of two p-values, and the largest of them over
    all pairs is the smaller of the two largest. In a joint test of the pair one point that fits could make up for
    another that does not.
    """
    fewest = min(closest_point(r, above=True)[0], closest_point(b, above=False)[0])
    return (1 + fewest) / (1 + len(r.z_u))


def closest_point(point: ExtremePoint, above: bool) -> tuple[int, FloatArray]:
    """Search one side of the line for the point whose statistic most draws reach; returns their number and the point.

    The lattices are exhaustive up to their spacing, as in `closest_pair`.
    """
    ceiling = np.sort(point.largest_draws)[::-1]
    least, start = lowest(point, above)
    best = _most_reached(point, start[None], (0, start))
    for spacing in SPACINGS:
        # T above this value cannot be reached by more draws than the best point's
        limit = float(ceiling[min(best[0], len(ceiling) - 1)])
        if least <= limit:
            best = _most_reached(point, lattice(point, limit, spacing, above), best)
    for step in FINAL_STEPS:
        best = _most_reached(point, _stencil(best[1], step * point.unit, above), best)
    return best


def _most_reached(point: ExtremePoint, points: FloatArray, best: tuple[int, FloatArray]) -> tuple[int, FloatArray]:
    if len(points) == 0:
        return best
    slack = _evaluate(point, points).slack
    reached = np.count_nonzero(slack >= 0.0, axis=1)
    k = int(np.argmax(reached))
    return (int(reached[k]), points[k]) if reached[k] > best[0] else best


def confidence_set(r: ExtremePoint, b: ExtremePoint, alpha: float) -> BestPointsSet:
    """Project the accepted pairs (p-value above ``alpha``) on R and on B."""
    ceiling = np.sort(r.largest_draws + b.largest_draws)[::-1]
    needed = max(int(np.floor(alpha * (1 + len(ceiling)) + ROUNDING)), 1)  # draws at or above T for p > alpha
    limit = float(ceiling[needed - 1])
    lattices = [_evaluate(point, lattice(point, limit, SET_SPACING)) for point in (r, b)]
    counts = []
    for one, other in (lattices, lattices[::-1]):
        likely = other.slack[np.argsort(other.statistic, kind="stable")]
        counts.append(_best_partner(one.slack, likely, np.zeros(len(one.points), dtype=np.intp), needed)[0])
    return BestPointsSet(alpha, *[c.points[count >= needed] for c, count in zip(lattices, counts, strict=True)])


def _better(
    best: tuple[int, FloatArray, FloatArray], one: Candidates, other: Candidates
) -> tuple[int, FloatArray, FloatArray]:
    """The best pair after looking at all pairs of two sets of candidates."""
    if len(one.points) == 0 or len(other.points) == 0:
        return best
    # what the most favourable partner, draw by draw, could do for each point
    bound = np.count_nonzero(one.slack + other.slack.max(axis=0) >= 0.0, axis=1)
    order = np.argsort(-bound, kind="stable")
    likely = np.argsort(other.statistic, kind="stable")
    partners_slack = other.slack[likely]
    for begin in range(0, len(order), 16):
        some = order[begin : begin + 16]
        some = some[bound[some] > best[0]]
        if len(some) == 0:
            break
        floor = np.full(len(some), best[0], dtype=np.intp)
        counts, partners = _best_partner(one.slack[some], partners_slack, floor, one.slack.shape[1])
        k = int(np.argmax(counts))
        if counts[k] > best[0]:
            best = int(counts[k]), one.points[some[k]], other.points[likely[partners[k]]]
    return best


@njit(cache=True, nogil=True)
def _best_partner(one, other, floor, enough):  # type: ignore[no-untyped-def]
    """For each row of ``one`` (k, B) the largest number of draws with one + other >= 0 over the rows of ``other``.

    Returns the counts (``floor`` where no partner has more) and the partners; stops looking at ``enough``.
    """
    n_draws = one.shape[1]
    counts, partners = floor.copy(), np.zeros(one.shape[0], dtype=np.intp)
    for i in range(one.shape[0]):
        for j in range(other.shape[0]):
            if counts[i] >= enough:
                break
            missing_allowed = n_draws - counts[i] - 1
            missing = 0
            for start in range(0, n_draws, 128):
                for k in range(start, min(start + 128, n_draws)):
                    missing += one[i, k] + other[j, k] < 0.0
                if missing > missing_allowed:
                    break
            if missing <= missing_allowed:
                counts[i], partners[i] = n_draws - missing, j
    return counts, partners


def _evaluate(point: ExtremePoint, points: FloatArray) -> Candidates:
    statistic, draws = point.test(points)
    # ties up to rounding count as reaching
    rounding = ROUNDING * float(np.sqrt(point.n_obs) * np.abs(point.h).max())
    return Candidates(points, statistic, draws - statistic[:, None] + rounding)


def _stencil(at: FloatArray, step: float, above: bool) -> FloatArray:
    """Points of one side about a point."""
    offset = step * np.arange(-2, 3)
    return np.unique(to_side(at + np.array([[x, y] for x in offset for y in offset]), above), axis=0)


def _outline(points: FloatArray) -> FloatArray:
    if len(points) < 3:
        return points
    try:
        hull = ConvexHull(points)
    except QhullError:  # all on one line
        return points[np.lexsort(points.T)][[0, -1]]
    outline = points[hull.vertices]
    first = int(np.lexsort((outline[:, 1], outline[:, 0]))[0])  # wherever the hull happened to begin
    return np.roll(outline, -first, axis=0)


def _pair(point: FloatArray, groups: tuple[Label, Label]) -> str:
    return f"risks {point[0]:.4f} ({groups[0]}) and {point[1]:.4f} ({groups[1]})"
