"""Figure 5 of Liu and Molinari (2025): population sets of both designs and a confidence set of the frontier."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

from ..datasets import liu_molinari_truth, make_liu_molinari
from ..datasets.designs import Design
from ..estimator import FairFrontier
from ..frontier.plane import unit_circle
from .table1 import DESIGNS, settings, true_points

DIRECTIONS = 500
"""Directions that outline the population sets, as published."""


def draw_figure5(folder: Path, *, rows: int = 10_000, seed: int = 5, n_boot: int = 1000) -> list[Path]:
    """Draw both designs side by side and write the picture as PNG and SVG; returns the files.

    Population feasible set, R, B, F and the algorithm's e*, with the 95% confidence set of the frontier from a sample
    of ``rows`` with the published learner and folds. The set covers each point of the frontier with probability 95%,
    not the whole frontier.
    """
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(11, 5.2), layout="constrained")
    for ax, design in zip(axes, DESIGNS, strict=True):
        _draw_design(ax, cast(Design, design), rows, seed, n_boot)
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=2, frameon=False)
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / "figure5.png", folder / "figure5.svg"]
    for path in paths:
        figure.savefig(path, dpi=150, metadata={"Date": None} if path.suffix == ".svg" else None)
    plt.close(figure)
    return paths


def _draw_design(ax: Any, design: Design, rows: int, seed: int, n_boot: int) -> None:
    points = true_points(design)
    outline = liu_molinari_truth(design).support_set(unit_circle(DIRECTIONS))
    X, y, group = make_liu_molinari(rows, design, [seed, DESIGNS.index(design)])
    ff = FairFrontier(n_rep=1, n_boot=n_boot, random_state=seed, **settings()["published learner"])
    region = ff.fit(X, y, sensitive_features=group).frontier_confidence_set()
    ax.fill(*outline.T, color="#f6c9cf", label="population feasible set", zorder=1)
    for number, polygon in enumerate(region.polygons):
        ax.fill(*polygon.T, color="0.45", alpha=0.55, lw=0, zorder=2, label=None if number else "95% confidence set")
    low, high = float(outline.min()) - 0.02, float(outline.max()) + 0.02
    ax.plot([low, high], [low, high], color="0.3", lw=0.8, ls="--", zorder=0)
    for name, marker, colour in (("R", "o", "#b2182b"), ("B", "s", "#2166ac"), ("F", "D", "k"), ("e*", "*", "#1a9850")):
        point = points[name]
        ax.plot(*point, marker=marker, color=colour, ms=11 if name == "e*" else 6, ls="none", zorder=4)
        ax.annotate(name, point, xytext=(6, 6), textcoords="offset points", zorder=5)
    title = {"balanced": "group-balanced design", "skewed": "skewed design"}[design]
    ax.set(xlabel="risk of group r", ylabel="risk of group b", title=title, aspect="equal")
    ax.set(xlim=(low, high), ylim=(low, high))
