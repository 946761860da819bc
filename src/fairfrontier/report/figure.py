"""Pictures with matplotlib: they read results and compute nothing."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import PathPatch
from matplotlib.path import Path
from scipy import stats

from ..arrays import FloatArray
from ..data.number_formats import confidence_text
from ..inference.estimates import drawn
from ..inference.fan.questions import criteria_of
from ..inference.listed_points import TOO_WEAK

if TYPE_CHECKING:
    from ..data.risks import Risks
    from ..estimator import FairFrontier
    from ..inference.group_skew import GroupSkewTest
    from ..inference.regions import FrontierRegion
    from ..inference.skew_search import BestPointsSet

_SET, _LINE, _CURVE, _ALGORITHM, _REGION = "#f3d9d2", "#8a8a8a", "#1f2a44", "#1b7f4d", "#7d8597"
_MARKERS = ("o", "s", "D")
_LONGEST = 60
_WIDTH = 90
_NOT_IN_XML = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def plot_frontier(
    ff: FairFrontier,
    *,
    ax: Axes | None = None,
    risks: Mapping[str, Risks] | None = None,
    region: FrontierRegion | None = None,
    skew: GroupSkewTest | None = None,
    capacity: float | None = None,
    zoom: bool = False,
) -> Axes:
    """Draw the estimated feasible set, its frontier, the best and fairest points, and algorithms.

    The set is the convex hull of the risks of the rules found (with a regret correction: of the corrected risks), and
    the frontier is the part of its edge that belongs to the configuration. Where points are not what they are called, a
    note under the picture says so. Error bars of an algorithm are 1 - alpha intervals for each of its two risks by
    itself. A confidence ``region`` covers each point of the frontier, not the whole curve, with its level. The outlines
    of a test of group ``skew`` are the joint confidence set of the two best points, projected on each. Neither these
    outlines nor the points take a ``capacity`` into account.
    """
    if ax is None:
        _, ax = plt.subplots(figsize=(6.4, 6.0), layout="constrained")
    algorithms = risks or {}
    shape = drawn(ff.fit_, capacity)
    polygon, curve = shape.corners, shape.curve
    if len(polygon):
        ax.fill(*polygon.T, facecolor=_SET, edgecolor="#d9a79a", linewidth=0.8, label="feasible set (estimate)")
    if region is not None:
        _draw_region(ax, region)
    outlines = [] if skew is None else _draw_best_points_set(ax, skew.confidence_set)
    style = "-" if len(curve) > 1 else "."  # one corner can be best for both groups
    ax.plot(*curve.T, style, color=_CURVE, linewidth=2.0, label="fairness-accuracy frontier (estimate)")
    points = ff.points_.to_numpy()[:, :2]
    for name, point, marker in zip(ff.points_.index, points, _MARKERS, strict=True):
        ax.plot(*point, marker, color=_CURVE, markersize=7, label=_shown(name))
    _draw_algorithms(ax, algorithms, ff.alpha)
    corner = [points, curve, *[algorithm.risk for algorithm in algorithms.values()]]
    shown = np.vstack(corner if zoom else [polygon, *corner, *outlines])
    _frame(ax, shown, 0.2 if zoom else 0.05)
    r, b = ff.groups_
    ax.set(xlabel=f"risk of group {_shown(r)}", ylabel=f"risk of group {_shown(b)}")
    ax.legend(loc="best", fontsize=8, frameon=False)
    _note(ax, ff)
    return ax


def _note(ax: Axes, ff: FairFrontier) -> None:
    """Say under the picture which points are not what they are called."""
    found = ff.contradictions_
    if not found:
        return
    words = [
        f'{_shown(each.what)}: smaller for "{_shown(each.other)}" than for "{_shown(each.point)}".' for each in found
    ]
    lines = [line for text in [*words, TOO_WEAK] for line in textwrap.wrap(text, _WIDTH)]
    ax.annotate(
        "\n".join(lines),
        (0.5, 0.0),
        (0.0, -40.0),
        xycoords="axes fraction",
        textcoords="offset points",
        ha="center",
        va="top",
        fontsize=8,
        annotation_clip=False,
    )


def _draw_region(ax: Axes, region: FrontierRegion) -> None:
    ax.add_patch(PathPatch(_with_holes(region.polygons), facecolor=_REGION, alpha=0.45, linewidth=0.0))
    label = f"{confidence_text(region.alpha)} confidence set, point by point"
    ax.fill([], [], facecolor=_REGION, alpha=0.45, label=label)  # for the legend


def _draw_best_points_set(ax: Axes, found: BestPointsSet) -> list[FloatArray]:
    """Draw the outlines of a confidence set of the best points and return them."""
    outlines = [found.outline_r, found.outline_b]
    label = f"joint {confidence_text(found.alpha)} confidence set of the best points"
    for k, outline in enumerate(outlines):
        shown = label if k == 0 else None
        ax.fill(*outline.T, fill=False, edgecolor=_CURVE, linestyle=":", linewidth=1.2, label=shown)
    return outlines


def _draw_algorithms(ax: Axes, algorithms: Mapping[str, Risks], alpha: float) -> None:
    half = stats.norm.ppf(1.0 - alpha / 2.0)
    for k, (name, algorithm) in enumerate(algorithms.items()):
        x, y = algorithm.risk
        width, height = half * algorithm.standard_error
        ax.errorbar(x, y, height, width, "*^vPX"[k % 5], color=_ALGORITHM, markersize=10, capsize=2, label=_shown(name))


def _frame(ax: Axes, shown: FloatArray, margin: float) -> None:
    """Show these points with a margin, on equal axes with the line of equal risks."""
    low, high = float(shown.min()), float(shown.max())
    space = margin * (high - low or 1.0)
    ends = (low - space, high + space)
    ax.plot(ends, ends, linestyle="--", linewidth=1.0, color=_LINE, zorder=1.5, label="equal risks")
    ax.set(xlim=ends, ylim=ends, aspect="equal")


def _shown(name: object) -> str:
    """Return a name from the data as matplotlib shows it verbatim: no formulas, not hidden, not too long.

    Characters that an SVG file may not contain are replaced.
    """
    text = _NOT_IN_XML.sub("\ufffd", str(name))
    text = text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
    return ("\u200b" if text.startswith("_") else "") + text.replace("$", r"\$")


def _with_holes(rings: Sequence[FloatArray]) -> Path:
    """Join rings to one shape in which a ring inside another one is a hole: they turn in opposite senses."""
    shapes = []
    for i, ring in enumerate(rings):
        depth = sum(Path(other).contains_point(ring[0]) for j, other in enumerate(rings) if j != i)
        x, y = ring.T
        counter_clockwise = float(np.sum(x * np.roll(y, -1) - np.roll(x, -1) * y)) > 0.0
        shapes.append(Path(ring if counter_clockwise == (depth % 2 == 0) else ring[::-1], closed=False))
    return Path.make_compound_path(*shapes)


def plot_trade_off(
    ff: FairFrontier,
    *,
    ax: Axes | None = None,
    decisions: Mapping[str, FloatArray] | None = None,
    zoom: bool = False,
) -> Axes:
    """Draw overall risk against the gap between two groups: the set, the curve with its band, and algorithms."""
    found = ff.trade_off()
    if ax is None:
        _, ax = plt.subplots(figsize=(6.4, 5.0), layout="constrained")
    for polygon, style in ((found.outer, ":"), (found.inner, "--")):
        if len(polygon):
            closed = np.vstack([polygon, polygon[:1]])
            level = confidence_text(found.alpha)
            label = f"{level} band, {'outer' if style == ':' else 'inner'}"
            ax.plot(closed[:, 1], closed[:, 0], style, color=_REGION, linewidth=1.0, label=label)
    if len(found.vertices):
        ax.fill(found.vertices[:, 1], found.vertices[:, 0], color=_SET, label="attainable")
    if len(found.region):
        label = f"{confidence_text(found.alpha)} confidence set of the frontier"
        ax.fill(found.region[:, 1], found.region[:, 0], color=_REGION, alpha=0.45, linewidth=0.0, label=label)
    ax.plot(found.curve[:, 1], found.curve[:, 0], color=_CURVE, linewidth=2.0, label="most accurate for its gap")
    rows = criteria_of(ff.fit_)
    for k, (name, a) in enumerate((decisions or {}).items()):
        risk, first, second = rows.by_criterion(rows.values(a[rows.row]))[:3]
        marker = _MARKERS[k % len(_MARKERS)]
        ax.plot(first - second, risk, marker, color=_ALGORITHM, label=_NOT_IN_XML.sub(" ", str(name))[:_LONGEST])
    if zoom:
        low, high = found.curve.min(axis=0), found.curve.max(axis=0)
        room = 0.3 * np.maximum(high - low, 0.02)
        ax.set_xlim(low[1] - room[1], high[1] + room[1])
        ax.set_ylim(low[0] - room[0], high[0] + room[0])
    first_label, second_label = (str(label) for label in found.groups)
    ax.axvline(0.0, color=_LINE, linewidth=0.8)
    ax.set_xlabel(f"gap in {found.criteria.measure}: group {first_label} less group {second_label}")
    ax.set_ylabel("overall risk")
    ax.legend(fontsize="small")
    return ax
