"""Confidence sets for the points of a frontier, by inverting the tests on a lattice that refines itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise

import contourpy
import numpy as np

from ..arrays import ArrayLike, BoolArray, FloatArray
from ..data.checks import check_level, check_risks
from ..data.notebook import BLUE, GREY, Picture
from ..data.reading import Label
from ..data.result import PlainDict, Result, axes_of, labels, plain_items
from ..frontier.plane import polygon_area, unit_circle
from ..frontier.support import SupportFunction
from .points import BLOCK, Kind

COARSE = 16
"""Cells along each side of the first lattice."""
MAX_WIDENINGS = 20
"""How often the box may be widened before accepted points at its border are put up with."""
LEVELS = 3
"""How often cells are halved: the finest lattice has COARSE 2^LEVELS cells along each side."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class FrontierRegion(Result):
    """Confidence set for the points of a frontier: the risk pairs that are not rejected.

    It covers each point of the frontier with probability 1 - alpha, not the whole curve at once. ``x`` (m,)
    and ``y`` (m,) are the lattice of the two risks, ``p_value`` (m, m) with rows along ``y``;
    ``tested`` counts the points at which the test was done, the others lie in cells whose corners
    agree and take their p-values by interpolation. ``allows_for_learning``: whether the tests allow for how far the
    learned rules may be off; without that the set can leave points out too often in small samples.
    """

    kind: Kind
    groups: tuple[Label, Label]
    alpha: float
    x: FloatArray
    y: FloatArray
    p_value: FloatArray
    tested: int
    n_boot: int
    allows_for_learning: bool
    _test: Callable[[FloatArray], FloatArray]

    @property
    def heading(self) -> str:
        """One line that says what this is."""
        return f"Confidence set of the {'Pareto' if self.kind == 'pareto' else self.kind} frontier"

    def _facts(self) -> dict[str, object]:
        accepted = np.argwhere(self.mask)
        facts: dict[str, object] = {
            "kind": self.kind,
            "groups": labels(self.groups),
            "alpha": self.alpha,
            "area": self.area,
            "lattice": self.p_value.shape,
            "accepted": len(accepted),
            "tested": self.tested,
            "n_boot": self.n_boot,
            "allows_for_learning": self.allows_for_learning,
        }
        if len(accepted):
            low, high = accepted.min(axis=0), accepted.max(axis=0)
            facts |= {"smallest_risks": np.array([self.x[low[1]], self.y[low[0]]])}
            facts |= {"largest_risks": np.array([self.x[high[1]], self.y[high[0]]])}
        return facts

    def to_dict(self) -> PlainDict:
        """Return plain numbers and text for JSON, with the boundary curves."""
        return plain_items(self._facts() | {"polygons": self.polygons})

    def _picture(self) -> Picture:
        plane = Picture(axes_of(self.groups))
        for ring in self.polygons:
            hole = polygon_area(ring[:-1]) < 0.0
            plane = plane.area(ring, GREY if hole else BLUE, "hole" if hole else "not rejected")
        return plane

    @property
    def mask(self) -> BoolArray:
        """Lattice points (m, m) in the set."""
        inside: BoolArray = self.p_value > self.alpha
        return inside

    @property
    def polygons(self) -> list[FloatArray]:
        """Closed boundary curves (k, 2): outer ones counter-clockwise, holes clockwise."""
        return _outline(self.x, self.y, self.p_value, self.alpha)

    @property
    def area(self) -> float:
        """Area enclosed, holes taken out."""
        return float(sum(polygon_area(ring[:-1]) for ring in self.polygons))

    def contains(self, e: ArrayLike) -> BoolArray:
        """Whether each risk pair (k, 2) is in the set, by doing its test. Shape (k,)."""
        inside: BoolArray = self._test(check_risks(e)) > self.alpha
        return inside

    def at(self, alpha: float) -> FrontierRegion:
        """The set of another level, from the same p-values.

        The lattice was refined for the old level, so the new outline is coarser where the two differ.
        """
        return replace(self, alpha=check_level(alpha, self.n_boot))


def frontier_region(
    kind: Kind,
    test: Callable[[FloatArray], FloatArray],
    curve: FloatArray,
    box: tuple[FloatArray, FloatArray],
    *,
    groups: tuple[Label, Label],
    alpha: float,
    n_boot: int,
    allows_for_learning: bool = False,
    levels: int = LEVELS,
    progress: Callable[[int, int, str], None] | None = None,
) -> FrontierRegion:
    """Invert ``test`` (points (k, 2) to p-values (k,)) over a box, refining where membership changes.

    Cells that the estimated ``curve`` (k, 2) passes through, and their neighbours, are always refined, so that
    a set thinner than a coarse cell is not overlooked.
    """
    low, high = _reach_all(test, *box, alpha)
    cells, tested = COARSE, 0
    p = np.empty((cells + 1, cells + 1))
    wanted, known = np.ones_like(p, dtype=bool), np.zeros_like(p, dtype=bool)
    while True:
        x, y = (np.linspace(low[i], high[i], cells + 1) for i in (0, 1))
        rows, columns = np.nonzero(wanted)
        for at in range(0, len(rows), BLOCK):
            some = slice(at, at + BLOCK)
            p[rows[some], columns[some]] = test(np.column_stack([x[columns[some]], y[rows[some]]]))
            if progress is not None:
                progress(min(at + BLOCK, len(rows)), len(rows), f"lattice of {cells} cells")
        tested += len(rows)
        known |= wanted
        if cells == COARSE * 2**levels:
            return FrontierRegion(kind, groups, alpha, x, y, p, tested, n_boot, allows_for_learning, test)
        inside = p > alpha
        corners = np.stack([inside[:-1, :-1], inside[1:, :-1], inside[:-1, 1:], inside[1:, 1:]])
        on_curve = _cells_on(curve, low, high, cells)
        split = (corners.any(axis=0) != corners.all(axis=0)) | (_grow(on_curve) if cells == COARSE else on_curve)
        # Halve every cell: new lattice points take the mean of their neighbours unless their cell is split.
        p, cells = _halved(p), 2 * cells
        wanted = np.zeros_like(p, dtype=bool)
        for row, column in np.argwhere(split):
            wanted[2 * row : 2 * row + 3, 2 * column : 2 * column + 3] = True
        coarser, known = known, np.zeros_like(wanted)
        known[::2, ::2] = coarser
        wanted &= ~known


def _reach_all(
    test: Callable[[FloatArray], FloatArray], low: FloatArray, high: FloatArray, alpha: float
) -> tuple[FloatArray, FloatArray]:
    """Widen a box on the sides where points of its border are still accepted."""
    low, high = low.copy(), high.copy()
    for _ in range(MAX_WIDENINGS):
        x, y = (np.linspace(low[i], high[i], COARSE * 2**LEVELS + 1) for i in (0, 1))
        sides = [
            (low, 0, np.column_stack([np.full_like(y, low[0]), y])),
            (high, 0, np.column_stack([np.full_like(y, high[0]), y])),
            (low, 1, np.column_stack([x, np.full_like(x, low[1])])),
            (high, 1, np.column_stack([x, np.full_like(x, high[1])])),
        ]
        reached = [(end, axis) for end, axis, border in sides if (test(border) > alpha).any()]
        if not reached:
            break
        width = high - low
        for end, axis in reached:
            end[axis] += (0.3 if end is high else -0.3) * width[axis]
    return low, high


def region_box(curve: FloatArray, function: SupportFunction) -> tuple[FloatArray, FloatArray]:
    """Corners of a box round the estimated curve, wide enough for what the test may accept.

    Points are accepted up to a few standard errors of h from the curve.
    """
    errors = np.sqrt(function.variance(unit_circle(36)) / function.n_obs)
    margin = 6.0 * float(errors.max()) + 1e-9 * (float(np.abs(curve).max()) or 1.0)
    return curve.min(axis=0) - margin, curve.max(axis=0) + margin


def _grow(cells: BoolArray) -> BoolArray:
    """Add the neighbours of marked cells."""
    padded = np.pad(cells, 1)
    grown = np.zeros_like(cells)
    n, m = cells.shape
    for i in range(3):
        for j in range(3):
            grown |= padded[i : i + n, j : j + m]
    return grown


def _cells_on(curve: FloatArray, low: FloatArray, high: FloatArray, n: int) -> BoolArray:
    cells = np.zeros((n, n), dtype=bool)
    place = np.floor((curve - low) / (high - low) * n).astype(np.intp)
    place = place[((place >= 0) & (place < n)).all(axis=1)]
    cells[place[:, 1], place[:, 0]] = True
    return cells


def _halved(p: FloatArray) -> FloatArray:
    """Values on a lattice twice as fine, by linear interpolation."""
    finer = np.empty((2 * p.shape[0] - 1, 2 * p.shape[1] - 1))
    finer[::2, ::2] = p
    finer[1::2, ::2] = (p[:-1] + p[1:]) / 2.0
    finer[:, 1::2] = (finer[:, :-1:2] + finer[:, 2::2]) / 2.0
    return finer


def _outline(x: FloatArray, y: FloatArray, p: FloatArray, alpha: float) -> list[FloatArray]:
    padded = np.pad(p, 1)  # p-values are 0 outside the box, so every curve closes
    wide = [np.concatenate([[v[0] - (v[1] - v[0])], v, [v[-1] + (v[1] - v[0])]]) for v in (x, y)]
    generator = contourpy.contour_generator(x=wide[0], y=wide[1], z=padded, fill_type="OuterOffset")
    points, offsets = generator.filled(alpha, 2.0)[:2]
    return [
        np.asarray(part[start:stop], dtype=float)  # type: ignore[index]
        for part, ends in zip(points, offsets, strict=True)
        for start, stop in pairwise(ends)  # type: ignore[arg-type]
    ]
