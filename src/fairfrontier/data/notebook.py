"""HTML of results for notebooks: a card with a table and a small picture, by hand and without scripts or references."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from html import escape
from typing import Any, Literal

import numpy as np
import pandas as pd

from ..arrays import FloatArray

ROWS = 12
"""Most rows of a table."""
POINTS = 160
"""Most points of one curve or outline."""
SIDE = 200
"""Side of the square in which risks are drawn, in pixels."""
MARGIN = (46, 30)
"""Room to its left and below it, in pixels."""
BLUE, ORANGE, GREEN, GREY = "#3b76c4", "#d9730d", "#2e8b57", "#8a8a8a"
COLOURS = (BLUE, ORANGE, GREEN, "#b04a8b", "#7a6a2f", "#4aa3a3", GREY)
"""One colour after the other, for as many algorithms as can be told apart."""

_CELL = "padding:1px 10px 1px 0;text-align:left;vertical-align:top;border:none;background:none"


def card(heading: str, *, verdict: str, rows: Mapping[str, str], table: str, picture: str, words: list[str]) -> str:
    """Return a result as HTML; ``table`` and ``picture`` are HTML already, everything else is text."""
    parts = [f'<div style="font-weight:600">{escape(heading)}</div>']
    if verdict:
        parts.append(f'<div style="margin:4px 0"><strong>{escape(verdict)}</strong></div>')
    lines = "".join(
        f'<tr style="background:none"><th style="{_CELL};font-weight:normal;opacity:.75">{escape(name)}</th>'
        f'<td style="{_CELL}">{escape(text)}</td></tr>'
        for name, text in rows.items()
    )
    facts = f'<table style="border-collapse:collapse;margin:4px 0;font-size:inherit">{lines}</table>'
    columns = f'<div style="max-width:46em">{facts}{table}</div>{picture}'
    parts.append(f'<div style="display:flex;flex-wrap:wrap;gap:8px 28px;align-items:flex-start">{columns}</div>')
    if words:
        told = "".join(f'<p style="margin:4px 0">{escape(sentence)}</p>' for sentence in words)
        parts.append(f'<details style="max-width:60em"><summary>In words</summary>{told}</details>')
    return f'<div class="fairfrontier-result" style="line-height:1.4">{"".join(parts)}</div>'


def table_html(frame: pd.DataFrame, short: Callable[[Any], str]) -> str:
    """Return the first rows of a table as HTML, with ``short`` texts for its values."""
    named = [str(name) for name in frame.columns]
    head = "".join(f'<th style="{_CELL}">{escape(name)}</th>' for name in ["", *named])
    body = ""
    for label, line in zip(frame.index[:ROWS], frame.head(ROWS).itertuples(index=False, name=None), strict=True):
        cells = "".join(f'<td style="{_CELL}">{escape(short(value))}</td>' for value in line)
        body += f'<tr style="background:none"><th style="{_CELL}">{escape(str(label))}</th>{cells}</tr>'
    more = f"<div>and {len(frame) - ROWS} more rows</div>" if len(frame) > ROWS else ""
    return (
        f'<div style="overflow-x:auto"><table style="border-collapse:collapse;margin:4px 0;font-size:90%">'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>{more}"
    )


@dataclass(frozen=True, slots=True)
class Layer:
    """Points (k, 2) of a picture, how they are drawn, and what the legend calls them."""

    kind: Literal["area", "line", "points"]
    points: FloatArray
    colour: str
    label: str


@dataclass(frozen=True, slots=True)
class Picture:
    """A small picture of the plane of two groups' risks, with the line of equal risks.

    ``axes`` are the labels of the two groups; layers are drawn in the order in which they were added.
    """

    axes: tuple[str, str]
    layers: tuple[Layer, ...] = ()

    def area(self, points: FloatArray, colour: str, label: str) -> Picture:
        """Add the inside of a polygon (k, 2)."""
        return self._with("area", points, colour, label)

    def line(self, points: FloatArray, colour: str, label: str) -> Picture:
        """Add a curve through points (k, 2)."""
        return self._with("line", points, colour, label)

    def points(self, points: FloatArray, colour: str, label: str) -> Picture:
        """Add single points (k, 2)."""
        return self._with("points", points, colour, label)

    def html(self) -> str:
        """Return the picture and its legend; empty if there is nothing to draw."""
        if not self.layers:
            return ""
        frame = _Frame.about(np.vstack([layer.points for layer in self.layers]))
        shapes = "".join(shape for layer in self.layers for shape in frame.shapes(layer))
        width, height = SIDE + MARGIN[0] + 8, SIDE + MARGIN[1] + 8
        names = {layer.label: layer.colour for layer in self.layers if layer.label}
        legend = "".join(
            f'<span style="display:inline-block;margin-right:12px"><span style="color:{colour}">&#9632;</span> '
            f"{escape(_cut(label, 40))}</span>"
            for label, colour in names.items()
        )
        return (
            f'<div style="max-width:{width + 40}px"><svg role="img" '
            f'aria-label="Risks of the two groups" width="{width}" height="{height}" '
            f'viewBox="0 0 {width} {height}" style="color:inherit;font:10px sans-serif">'
            f"{frame.axes(self.axes)}{shapes}</svg><div>{legend}</div></div>"
        )

    def _with(self, kind: Literal["area", "line", "points"], points: FloatArray, colour: str, label: str) -> Picture:
        kept = np.asarray(points, dtype=float).reshape(-1, 2)
        kept = kept[np.isfinite(kept).all(axis=1)]
        if len(kept) == 0:
            return self
        if kind != "points" and len(kept) > POINTS:
            kept = kept[np.linspace(0, len(kept) - 1, POINTS).round().astype(np.intp)]
        return replace(self, layers=(*self.layers, Layer(kind, kept, colour, label)))


@dataclass(frozen=True, slots=True)
class _Frame:
    """Which square of the plane is drawn: its ``low`` corner (2,) and the length of its sides."""

    low: FloatArray
    side: float

    @classmethod
    def about(cls, points: FloatArray) -> _Frame:
        """Return a square with some room about points."""
        low, high = points.min(axis=0), points.max(axis=0)
        side = float((high - low).max()) or max(float(np.abs(low).max()), 1.0) * 0.1
        side *= 1.16
        return cls((low + high - side) / 2.0, side)

    def place(self, points: FloatArray) -> FloatArray:
        """Return pixels (k, 2) of risk pairs (k, 2)."""
        share = (points - self.low) / self.side
        return np.column_stack([MARGIN[0] + SIDE * share[:, 0], 4 + SIDE * (1.0 - share[:, 1])])

    def shapes(self, layer: Layer) -> Iterator[str]:
        """Draw a layer."""
        pixels = self.place(layer.points)
        corners = " ".join(f"{x:.1f},{y:.1f}" for x, y in pixels)
        if layer.kind == "area":
            yield (
                f'<polygon points="{corners}" fill="{layer.colour}" fill-opacity="0.22" stroke="{layer.colour}" '
                'stroke-width="1"/>'
            )
        elif layer.kind == "line":
            yield f'<polyline points="{corners}" fill="none" stroke="{layer.colour}" stroke-width="2"/>'
        else:
            for x, y in pixels:
                yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{layer.colour}"/>'

    def axes(self, labels: tuple[str, str]) -> str:
        """Draw the square, the line of equal risks, ends of the axes and their names."""
        left, bottom = MARGIN[0], 4 + SIDE
        low, high = self.low, self.low + self.side
        first, last = max(low), min(high)
        equal = ""
        if first < last:
            (x1, y1), (x2, y2) = self.place(np.array([[first, first], [last, last]]))
            equal = (
                f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{GREY}" '
                'stroke-dasharray="3 3"><title>equal risks</title></line>'
            )
        text = '<text fill="currentColor" '
        middle = left + SIDE / 2.0
        return (
            f'<rect x="{left}" y="4" width="{SIDE}" height="{SIDE}" fill="none" stroke="{GREY}"/>{equal}'
            f'{text}x="{left}" y="{bottom + 12}">{low[0]:.3g}</text>'
            f'{text}x="{left + SIDE}" y="{bottom + 12}" text-anchor="end">{high[0]:.3g}</text>'
            f'{text}x="{left - 4}" y="{bottom}" text-anchor="end">{low[1]:.3g}</text>'
            f'{text}x="{left - 4}" y="12" text-anchor="end">{high[1]:.3g}</text>'
            f'{text}x="{middle}" y="{bottom + 26}" text-anchor="middle">{escape(_axis(labels[0]))}</text>'
            f'{text}x="12" y="{4 + SIDE / 2.0}" text-anchor="middle" '
            f'transform="rotate(-90 12 {4 + SIDE / 2.0})">{escape(_axis(labels[1]))}</text>'
        )


def _axis(label: str) -> str:
    return f"risk {_cut(label, 24)}"


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else f"{text[: length - 3]}..."
