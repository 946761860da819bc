"""The picture of a report as a figure of plotly, to be explored in a notebook: the same parts, marks and words."""

from __future__ import annotations

import html
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import plotly.graph_objects as go
from scipy import stats

from ..data.number_formats import confidence_text, number_text, share_text
from ..frontier.capacity import cap
from ..inference.estimates import drawn
from .basis import interval, pair, polygon
from .frame import Picture, Point
from .planes import improving, picture, points
from .values import Interval, Pair, Polygon, Rates

if TYPE_CHECKING:
    from ..data.risks import Risks
    from ..estimator import FairFrontier
    from ..inference.regions import FrontierRegion

_LONGEST, _IN_LEGEND = 40, 60


def plot_plane(
    ff: FairFrontier,
    risks: Mapping[str, Risks],
    *,
    region: FrontierRegion | None = None,
    capacity: float | None = None,
    zoom: bool = False,
) -> go.Figure:
    """The figure of a fit of two groups, with algorithms of these risks."""
    function = ff.support_function_ if capacity is None else cap(ff.support_function_, capacity)
    shape = drawn(ff.fit_, capacity)
    half = stats.norm.isf(ff.alpha / 2.0)
    algorithms = []
    for name, found in risks.items():
        ends = np.column_stack([found.risk - half * found.standard_error, found.risk + half * found.standard_error])
        better = polygon(improving(shape.corners, found.risk))
        both = interval(ends[0]), interval(ends[1])
        algorithms.append(Algorithm(name, pair(found.risk), both, pair(found.selection_rate), better))
    first, second = (str(label) for label in ff.groups_)
    maker = PlaneFigure((first, second), shares=ff.loss_.name == "classification")
    drawing, best = picture(function, shape, region), points(ff)
    corner = [*(p.risk for p in drawing.frontier), *(p.risk for p in best), *(a.risk for a in algorithms)]
    return maker.figure(maker.traces(drawing, best, algorithms, ff.alpha), corner if zoom else [*corner, *drawing.set])


@dataclass(frozen=True, slots=True)
class Algorithm:
    """What the picture shows of an algorithm."""

    name: str
    risk: Pair
    risk_interval: tuple[Interval, Interval]
    selection_rate: Pair
    improving: Polygon


class Shown(Protocol):
    """What the picture shows of an algorithm; ``improving`` are the risks that are no worse in any respect."""

    @property
    def name(self) -> str: ...  # noqa: D102
    @property
    def risk(self) -> Pair: ...  # noqa: D102
    @property
    def risk_interval(self) -> tuple[Interval, Interval]: ...  # noqa: D102
    @property
    def selection_rate(self) -> Pair: ...  # noqa: D102
    @property
    def improving(self) -> Polygon: ...  # noqa: D102


@lru_cache(maxsize=1)
def marks() -> dict[str, Any]:
    """Colours, symbols and letters of the picture, those of the page too."""
    found: dict[str, Any] = json.loads(
        files(__package__).joinpath("templates", "marks.json").read_text(encoding="utf-8")
    )
    return found


class PlaneFigure:
    """Makes the figure of a plane of two risks; ``shares``: whether risks are shares, to be shown in percent."""

    def __init__(self, groups: tuple[str, str], *, shares: bool) -> None:
        self.labels = [_label(group) for group in groups]
        self.shares = shares
        self.colours: dict[str, str] = marks()["light"]

    def traces(
        self, picture: Picture, points: Sequence[Point], algorithms: Sequence[Shown], alpha: float
    ) -> list[go.Scatter]:
        """All that is drawn, in the order of the report; the first algorithm is that which others improve on."""
        c, found = self.colours, [self._area("feasible set (estimate)", [picture.set], "set", "edge")]
        if picture.region:
            words = f"frontier: {confidence_text(alpha)} confidence set, pointwise"
            found.append(self._area(words, picture.region, "region", "border", "dot"))
        if algorithms and len(algorithms[0].improving) > 2:
            words = f"no worse than {_short(algorithms[0].name, _IN_LEGEND)} in any respect (estimate)"
            found.append(self._area(words, [algorithms[0].improving], "better", "gain"))
        curve = picture.frontier
        found.append(
            self._points(
                "frontier (estimate)",
                [p.risk for p in curve],
                [self._about("frontier", p.risk, p.direction, p.selection_rate) for p in curve],
                mode="lines" if len(curve) > 1 else "markers",
                marker={"color": c["curve"], "size": 7},
                line={"color": c["curve"], "width": 3.5},
            )
        )
        found += [self._best(k, point) for k, point in enumerate(points)]
        return found + [self._algorithm(k, algorithm) for k, algorithm in enumerate(algorithms)]

    def figure(self, traces: list[go.Scatter], shown: Sequence[Pair]) -> go.Figure:
        """The traces on equal axes that have these points in view, with the line of equal risks."""
        c = self.colours
        values = [value for point in shown for value in point]
        low, high = min(values), max(values)
        space = 0.05 * (high - low or 0.1)
        ends = [low - space, high + space]
        axis = {"range": ends, "gridcolor": c["grid"], "zeroline": False, "color": c["ink"], "linecolor": c["edge"]}
        axis |= {"showline": True, "ticks": "outside", "constrain": "domain"}
        axis |= {"tickformat": ".3~%" if self.shares else ""}
        first, second = self.labels
        return go.Figure(
            traces,
            layout={
                "width": 760,
                "height": 780,
                "template": "none",
                "paper_bgcolor": c["paper"],
                "plot_bgcolor": c["paper"],
                "font": {"color": c["ink"], "size": 13},
                "hovermode": "closest",
                "dragmode": "pan",
                "hoverlabel": {"align": "left", "bgcolor": c["paper"], "bordercolor": c["edge"]},
                "legend": {"orientation": "h", "yanchor": "top", "y": -0.12},
                "xaxis": axis | {"title": {"text": f"risk of {first}"}},
                "yaxis": axis | {"title": {"text": f"risk of {second}"}, "scaleanchor": "x", "automargin": True},
                "shapes": [
                    {
                        "type": "line",
                        "x0": ends[0],
                        "y0": ends[0],
                        "x1": ends[1],
                        "y1": ends[1],
                        "line": {"dash": "dash", "width": 1.3, "color": c["ink"]},
                    }
                ],
            },
        )

    def _area(self, name: str, rings: Sequence[Polygon], fill: str, line: str, dash: str = "solid") -> go.Scatter:
        x: list[float | None] = []
        y: list[float | None] = []
        for k, ring in enumerate(rings):
            closed = [*ring, *ring[:1]]
            x += [*([None] if k else []), *(point[0] for point in closed)]
            y += [*([None] if k else []), *(point[1] for point in closed)]
        outline = {"color": self.colours[line], "width": 1, "dash": dash}
        words = _escaped(name)
        return go.Scatter(
            x=x, y=y, name=words, mode="lines", fill="toself", fillcolor=self.colours[fill], line=outline,
            hoverinfo="skip",
        )  # fmt: skip

    def _points(self, name: str, points: Sequence[Pair], texts: list[str], **more: Any) -> go.Scatter:
        template = "%{hovertext}<extra></extra>"
        x, y = ([point[k] for point in points] for k in (0, 1))
        options = {"mode": "markers"} | more
        return go.Scatter(x=x, y=y, name=_escaped(name), hovertext=texts, hovertemplate=template, **options)

    def _best(self, k: int, point: Point) -> go.Scatter:
        m, c = marks(), self.colours
        return self._points(
            f"{m['letters'][k]}: {_short(point.name, _IN_LEGEND)}",
            [point.risk],
            [self._about(_label(point.name), point.risk, point.direction)],
            mode="markers+text",
            text=[m["letters"][k]],
            textposition=m["places"][k],
            textfont={"color": c["curve"], "size": 13, "weight": 700},
            marker={"color": c["curve"], "size": 10, "symbol": m["best"][k], "line": {"color": c["paper"], "width": 1}},
        )

    def _algorithm(self, k: int, a: Shown) -> go.Scatter:
        c, symbols = self.colours, marks()["symbols"]
        symbol = symbols[k % len(symbols)]
        return self._points(
            _short(a.name, _IN_LEGEND),
            [a.risk],
            [self._about(_label(a.name), a.risk, None, a.selection_rate)],
            error_x=self._bar(a, 0),
            error_y=self._bar(a, 1),
            marker={
                "color": c["algorithm"],
                "size": 12 if k else 16,
                "symbol": symbol,
                "line": {"color": c["paper"], "width": 1},
            },
        )

    def _bar(self, a: Shown, k: int) -> dict[str, Any]:
        low, high = a.risk_interval[k].low, a.risk_interval[k].high
        if low is None or high is None:
            return {}
        bar = {"type": "data", "symmetric": False, "array": [high - a.risk[k]], "arrayminus": [a.risk[k] - low]}
        return bar | {"color": self.colours["algorithm"], "thickness": 1.4, "width": 5}

    def _about(
        self, first: str, point: Pair, q: tuple[float | None, float | None] | None, rates: Rates | None = None
    ) -> str:
        """Words that appear beside the pointer."""
        one, other = self.labels
        lines = [first]
        if q is not None and q[0] is not None and q[1] is not None:
            lines.append(f"direction ({_minus(number_text(q[0], 2))}, {_minus(number_text(q[1], 2))})")
        lines.append(f"risk of {one} {self._risk(point[0])}, of {other} {self._risk(point[1])}")
        if rates is not None:
            lines.append(f"selection rate: {_percent(rates[0])} of {one}, {_percent(rates[1])} of {other}")
        return "<br>".join(lines)

    def _risk(self, value: float) -> str:
        return _percent(value, 2) if self.shares else _minus(number_text(value, 4))


def _percent(value: float | None, digits: int = 1) -> str:
    return _minus(share_text(value, digits))


def _minus(text: str) -> str:
    return text.replace("-", "\u2212")


def _short(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _escaped(text: str) -> str:
    """Plotly reads a little HTML in texts."""
    return html.escape(text, quote=False)


def _label(text: str) -> str:
    """A name from the data as part of a text: not too long, and set apart for the direction of writing."""
    return f"\u2068{_escaped(_short(text, _LONGEST))}\u2069"
