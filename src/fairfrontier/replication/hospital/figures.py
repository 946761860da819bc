"""The study's figures from stored repetitions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np

from ...arrays import ArrayLike, FloatArray
from .counterfactual import score_percentiles
from .repetitions import DECISIONS, EGALITARIAN, RULES
from .source import GROUPS, Source

_SET, _CURVE, _REGION, _BLACK, _WHITE = "#f6c9cf", "#1f2a44", "#7d8597", "#6a3d9a", "#e07b39"
_MARKERS = {"hospital score": "*", "predicted cost": "P", "predicted avoidable cost": "D", "predicted conditions": "o"}
WIDTH = 5
"""Percentiles that are put together where patients are few."""
_NAMES = {"hospital score": "the hospital's algorithm"}


def draw_figures(
    source: Source, tests: Sequence[Mapping[str, Any]], rules: Sequence[Mapping[str, Any]], folder: Path
) -> list[Path]:
    """Draw Figures 6, 7 and 8 (C.1, C.2 and C.3 for another learner) as PNG and SVG; returns the files."""
    figures = {"figure6": _feasible_set(tests[0]), "figure7": _points_and_algorithms(tests[0])}
    if rules:
        figures["figure8"] = _health(source, rules)
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for name, figure in figures.items():
        for kind in ("png", "svg"):
            path = folder / f"{name}.{kind}"
            figure.savefig(path, dpi=130, metadata={"Date": None} if kind == "svg" else None)
            paths.append(path)
        plt.close(figure)
    return paths


def _feasible_set(result: Mapping[str, Any]) -> Any:
    shown = result["pictures"]
    polygon, frontier = np.array(shown["set"]), np.array(shown["frontier"])
    points = {"BL": np.array(result["BL"]), "WH": np.array(result["WH"]), "F": np.full(2, result["F"])}
    figure, axes = plt.subplots(2, 2, figsize=(10.5, 10), layout="constrained")
    for ax in axes.flat:
        ax.fill(*polygon.T, color=_SET, lw=0, zorder=1)
        ax.axline((0, 0), slope=1, color="0.4", lw=0.8, ls="--", zorder=2)
        ax.set(xlabel="risk of Black patients", ylabel="risk of White patients")
    axes[0, 0].set_title("Estimated feasible set")
    axes[0, 1].set_title("with 100 supporting lines")
    for q, h in zip(shown["directions"], shown["support"], strict=True):
        foot, along = np.array(q) * h, np.array([-q[1], q[0]])
        axes[0, 1].axline(foot, foot + along, color="0.6", lw=0.4, zorder=0)
    for ax in axes[0]:
        _frame(ax, polygon, 0.06)
    axes[1, 0].set_title("Frontier and its 95% confidence set, point by point")
    for ax in axes[1]:
        _region(ax, shown["region"])
        ax.plot(*frontier.T, color=_CURVE, lw=2, zorder=4)
        for name, marker, colour in (("BL", "o", "#b2182b"), ("WH", "s", "#2166ac"), ("F", "D", "k")):
            ax.plot(*points[name], marker=marker, color=colour, ls="none", ms=7, zorder=5, label=name)
    corner = np.vstack([frontier, *points.values()])
    _frame(axes[1, 0], np.vstack([corner, *[np.array(p) for p in shown["region"]]]), 0.08)
    axes[1, 1].set_title("Best points and the fairest point")
    _frame(axes[1, 1], corner, 0.25)
    axes[1, 1].legend(loc="lower right", frameon=False)
    return figure


def _points_and_algorithms(result: Mapping[str, Any]) -> Any:
    shown = result["pictures"]
    figure, (left, right) = plt.subplots(1, 2, figsize=(11.5, 5.6), layout="constrained")
    outlines = []
    for name, key, colour in (("BL", "best for Black", "#b2182b"), ("WH", "best for White", "#2166ac")):
        outline = np.array(shown[key])
        outlines.append(outline)
        left.fill(*outline.T, color=colour, alpha=0.25, lw=0, label=f"values of {name} not rejected")
        left.plot(*result[name], marker="o", color=colour, ls="none", ms=6, label=f"{name} (estimate)")
    left.set_title("Joint 95% confidence set of the two best points")
    _frame(left, np.vstack([*outlines, np.zeros((1, 2))]), 0.1)
    _region(right, shown["region"])
    right.plot(*np.array(shown["frontier"]).T, color=_CURVE, lw=2, label="frontier (estimate)")
    points = [np.array(shown["frontier"])]
    for name, marker in _MARKERS.items():
        if name in result:
            risks = result[name]["risks"]
            points.append(np.array([risks]))
            right.plot(*risks, marker=marker, color="#1b7f4d", ls="none", ms=9, label=_NAMES.get(name, name))
    right.fill([], [], color=_REGION, alpha=0.45, label="95% confidence set, point by point")
    right.set_title("Four algorithms")
    _frame(right, np.vstack(points), 0.2)
    for ax in (left, right):
        ax.axline((0, 0), slope=1, color="0.4", lw=0.8, ls="--", zorder=0)
        ax.set(xlabel="risk of Black patients", ylabel="risk of White patients")
        ax.legend(loc="upper left", fontsize=8, frameon=False)
    return figure


def _health(source: Source, rules: Sequence[Mapping[str, Any]]) -> Any:
    """Mean conditions by percentile of the hospital's score: everyone, then by the decision of each rule."""
    figure, axes = plt.subplot_mosaic([["all", "all"], ["Rawlsian", "Majority"], [EGALITARIAN, "Utilitarian"]],
                                      figsize=(10.5, 11), layout="constrained", sharey=False)  # fmt: skip
    bins = score_percentiles(source.patients.scores["hospital score"].to_numpy(dtype=float)) - 1
    conditions = source.patients.outcomes["conditions"].to_numpy(dtype=float)
    x = np.arange(1, 101)
    for group, colour, style in zip(GROUPS, (_BLACK, _WHITE), ("-.", "-"), strict=True):
        kept = source.patients.sensitive_features == group
        mean = _ratio(np.bincount(bins[kept], conditions[kept], minlength=100), np.bincount(bins[kept], minlength=100))
        axes["all"].plot(x, mean, color=colour, ls=style, label=f"{group} patients")
    axes["all"].set_title("All patients")
    for rule in (*RULES, EGALITARIAN):
        ax = axes[rule]
        ax.set_title(f"{rule} rule, 3% selected")
        for group, colour, style in zip(GROUPS, (_BLACK, _WHITE), ("-.", "-"), strict=True):
            for (key, label), weight in zip(DECISIONS.items(), (1.0, 0.4), strict=True):
                parts = [one["health"][rule][f"{group} {key}"] for one in rules]
                sums, counts = (np.sum([part[key] for part in parts], axis=0) for key in ("sum", "count"))
                mean = _ratio(sums.reshape(-1, WIDTH).sum(axis=1), counts.reshape(-1, WIDTH).sum(axis=1))
                middle = np.arange(len(mean)) * WIDTH + (1 + WIDTH) / 2.0
                ax.plot(middle, mean, color=colour, ls=style, alpha=weight, label=f"{group}, {label}", marker=".")
    for ax in axes.values():
        ax.set(xlabel="percentile of the hospital's score", ylabel="active chronic conditions")
        ax.legend(fontsize=8, frameon=False)
    return figure


def _region(ax: Any, polygons: Sequence[Any]) -> None:
    for polygon in polygons:
        ax.fill(*np.array(polygon).T, color=_REGION, alpha=0.45, lw=0, zorder=3)


def _frame(ax: Any, points: FloatArray, margin: float) -> None:
    low, high = points.min(axis=0), points.max(axis=0)
    space = margin * max(float((high - low).max()), 1e-9)
    ax.set(xlim=(low[0] - space, high[0] + space), ylim=(low[1] - space, high[1] + space))


def _ratio(sums: ArrayLike, counts: ArrayLike) -> FloatArray:
    sums, counts = np.asarray(sums, dtype=float), np.asarray(counts, dtype=float)
    return np.asarray(np.divide(sums, counts, out=np.full(len(sums), np.nan), where=counts > 0))
