"""What a ban of the group costs: a table with joint intervals, a curve over weights, words and a picture."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from ...arrays import FloatArray
from ...data.checks import check_level
from ...data.notebook import BLUE, GREEN, Picture
from ...data.number_formats import confidence_text
from ...data.reading import Label
from ...data.result import ExplainedResult, PlainDict, axes_of, labels, plain_items
from ...errors import MissingDependencyError
from ..lda.witness import critical
from .estimates import FAIREST, POPULATION, Curve, Side

STILL = 1e-12
"""Standard error, relative to the largest risk, up to which it is rounding."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class BanCost(ExplainedResult):
    """What it costs that rules may not see the group, at named points.

    ``names`` (P,) of the points: the best one for each group, "utilitarian" (risks weighted equally), "population" (by
    the groups' shares), "rawlsian" (the smallest risk of the group worst off) and "fairest" (the smallest range).
    ``without`` and ``seeing`` (P, G) are the risks that rules attain there which do not see the group, and which do.
    ``cost`` is the difference. All intervals of ``cost`` and ``gap_change`` hold together with probability
    1 - ``alpha``: each reaches as many standard errors as the largest deviation of all of them does (sup-t, with the
    same random weights on both sides).

    Both sides are what rules learned from these rows attain out of fold, so each falls short of the best by the regret
    of its learner. The intervals do not account for it: where the learner of one side is weaker, the cost is overstated
    or understated by the difference. So they are about the rules learned, and ``doubts`` are reasons to doubt a side:
    a group that the learner predicts no better than its mean, or estimates that contradict each other in the test of
    group skew; or a group of few people. With any of them nothing is called shown. The fairest points do not count for
    that either: with the group, decisions about the group better off are made worse on purpose there.
    """

    groups: tuple[Label, ...]
    alpha: float
    names: tuple[str, ...]
    without: FloatArray
    seeing: FloatArray
    errors: FloatArray
    gap_errors: FloatArray
    largest: FloatArray
    curve_weights: FloatArray
    curve_without: FloatArray
    curve_seeing: FloatArray
    curve_errors: FloatArray
    curve_largest: FloatArray
    doubts: tuple[str, ...] = ()

    @property
    def heading(self) -> str:
        """The question that is answered."""
        return "What does it cost that rules may not see the group?"

    @property
    def cost(self) -> FloatArray:
        """Risk of each group without the group as an input less that with it (P, G)."""
        return self.without - self.seeing

    @property
    def reach(self) -> float:
        """Standard errors that every interval reaches to either side."""
        return critical(self.largest, self.alpha)

    @property
    def intervals(self) -> FloatArray:
        """Confidence intervals (P, G, 2) of the cost."""
        reach = self.reach * self.errors
        return np.stack([self.cost - reach, self.cost + reach], axis=-1)

    @property
    def gaps(self) -> tuple[FloatArray, FloatArray]:
        """Gap between the largest and the smallest risk without the group and with it, two arrays (P,)."""
        return np.ptp(self.without, axis=1), np.ptp(self.seeing, axis=1)

    @property
    def gap_change(self) -> FloatArray:
        """Gap without the group less gap with it (P,); negative where a ban narrows it."""
        without, seeing = self.gaps
        change: FloatArray = without - seeing
        return change

    @property
    def gap_intervals(self) -> FloatArray:
        """Confidence intervals (P, 2) of the change in the gap.

        ``|d| - |d'|`` = max over s of min over v of s d - v d', with s and v = +1 or -1, and the same of the forms'
        bounds bounds it. With more groups it is the maximum and minimum over all pairs of groups as well.
        """
        return gap_bounds(self.without, self.seeing, self.reach * self.gap_errors)

    @property
    def curve(self) -> pd.DataFrame | None:
        """For two groups: the cost in the mean of the risks with weights w and 1 - w, and its band over all weights.

        Columns: weight of the first group, risk without the group and with it, cost, low, high. The band holds at all
        weights together with probability 1 - ``alpha``, apart from the table.
        """
        if len(self.curve_weights) == 0:
            return None
        cost, reach = self.curve_without - self.curve_seeing, critical(self.curve_largest, self.alpha)
        return pd.DataFrame(
            {
                f"weight {self.groups[0]}": self.curve_weights,
                "without": self.curve_without,
                "with": self.curve_seeing,
                "cost": cost,
                "low": cost - reach * self.curve_errors,
                "high": cost + reach * self.curve_errors,
            }
        )

    @property
    def table(self) -> pd.DataFrame:
        """One line per point: risks without and with the group, cost by group and change in the gap with intervals."""
        columns: dict[str, FloatArray] = {}
        for g, label in enumerate(self.groups):
            columns |= {f"without {label}": self.without[:, g], f"with {label}": self.seeing[:, g]}
        for g, label in enumerate(self.groups):
            low, high = self.intervals[:, g].T
            columns |= {f"cost {label}": self.cost[:, g], f"low {label}": low, f"high {label}": high}
        low, high = self.gap_intervals.T
        columns |= {"gap without": self.gaps[0], "gap with": self.gaps[1]}
        columns |= {"change in gap": self.gap_change, "low gap": low, "high gap": high}
        return pd.DataFrame(columns, index=pd.Index(self.names, name="point"))

    def at(self, alpha: float) -> BanCost:
        """The same with intervals of another level."""
        return replace(self, alpha=check_level(alpha, len(self.largest)))

    def _frame(self) -> pd.DataFrame:
        kept = [name for name in self.table.columns if name.startswith(("cost", "low", "high", "change"))]
        return self.table[kept]

    def _facts(self) -> dict[str, object]:
        facts: dict[str, object] = {"groups": labels(self.groups), "alpha": self.alpha, "points": list(self.names)}
        for name, cost, change in zip(self.names, self.cost, self.gap_change, strict=True):
            facts[f"cost, {name}"] = np.append(cost, change)
        return facts

    def to_dict(self) -> PlainDict:
        """Return plain numbers and text for JSON: the table line by line, and the curve."""
        table = self.table.reset_index()
        known = {"groups": labels(self.groups), "alpha": self.alpha, "n_boot": len(self.largest)}
        known |= {"doubts": list(self.doubts)}
        return plain_items(known | {"table": table, "curve": self.curve})

    def _picture(self) -> Picture | None:
        if len(self.groups) != 2:
            return None
        plane = Picture(axes_of(self.groups)).points(self.without, BLUE, "without the group")
        return plane.points(self.seeing, GREEN, "with the group")

    def sentences(self) -> list[str]:
        """Say in plain words what a ban costs, and what that does not say."""
        return [
            "Risks that rules attain without seeing the group, minus those that rules attain when they see it. With "
            f"{confidence_text(self.alpha)} confidence all intervals hold together.",
            *(self._sentence(j) for j in range(len(self.names))),
            *self.remarks(),
        ]

    def remarks(self) -> list[str]:
        """Say what the table shows, what it leaves out and what it is not."""
        return [
            self._finding(),
            *self._below_zero(),
            "The rules on both sides are learned. Each falls short of the best by its learner's regret, "
            "which the intervals leave out: a weaker learner on one side moves the cost.",
            "This is about risks. Whether the law allows, or demands, that rules see the group is another question.",
        ]

    def _below_zero(self) -> list[str]:
        """Say that negative costs are noise, where every group has its smallest risk with the group."""
        cost = self.cost[[name != FAIREST for name in self.names]]
        if not (cost < -STILL * np.abs(self.without).max()).any():
            return []
        return [
            "Except between the fairest points, a ban lowers no group's risk if rules are the best ones: negative "
            "estimates are noise of the sample or of the learner."
        ]

    def _finding(self) -> str:
        """Say at which points rules learned without the group do worse than rules learned with it."""
        worse = [name for name, low in zip(self.names, self.intervals[..., 0], strict=True) if (low > 0.0).any()]
        counted = ", ".join(name for name in worse if name != FAIREST)
        apart = ""
        if FAIREST in worse:
            apart = (
                " The fairest points do not count here: with the group, decisions about those better off are made "
                "worse on purpose there."
            )
        if not counted:
            return (
                "Rules learned without the group are not shown to do worse here than rules learned with it; that does "
                f"not show that a ban costs nothing.{apart}"
            )
        if self.doubts:
            return (
                "Rules learned without the group do worse, for some group, than rules learned with it at: "
                f"{counted}. Whether that is due to the ban is not shown: {'; '.join(self.doubts)}.{apart}"
            )
        return (
            "Rules learned without the group are shown to do worse, for some group, than rules learned with it at: "
            f"{counted}.{apart}"
        )

    def in_brief(self) -> list[str]:
        """Say what a ban costs with population weights and at the fairest points, and what that leaves out."""
        chosen = [self.names.index(name) for name in (POPULATION, FAIREST)]
        return [
            "What a ban adds to the risks, estimated, with intervals that hold together with "
            f"{confidence_text(self.alpha)} confidence:",
            *(self._sentence(j) for j in chosen),
            *self.remarks()[:-1],
        ]

    def _sentence(self, j: int) -> str:
        costs = ", ".join(
            f"group {label} {cost:+.4f} ({low:+.4f} to {high:+.4f})"
            for label, cost, (low, high) in zip(self.groups, self.cost[j], self.intervals[j], strict=True)
        )
        low, high = self.gap_intervals[j]
        where = "Between the two fairest points" if self.names[j] == FAIREST else f"At the point {self.names[j]!r}"
        width = "gap" if len(self.groups) == 2 else "range"
        return f"{where}: {costs}; in the {width} {self.gap_change[j]:+.4f} ({low:+.4f} to {high:+.4f})."

    def plot(self, ax: Any = None) -> Any:
        """Draw the cost over all weights of two groups with its band, or that of each group at each point.

        Returns the axes.
        """
        try:
            import matplotlib.pyplot as plt
        except ImportError as error:
            raise MissingDependencyError("`plot` needs matplotlib, which is not installed.") from error
        if ax is None:
            _, ax = plt.subplots(figsize=(6.4, 4.0), layout="constrained")
        if self.curve is None:
            self._plot_points(ax)
        else:
            self._plot_curve(ax, self.curve)
        return ax

    def _plot_curve(self, ax: Any, curve: pd.DataFrame) -> None:
        w = curve.iloc[:, 0]
        ax.fill_between(w, curve["low"], curve["high"], alpha=0.25, linewidth=0, label=confidence_text(self.alpha))
        ax.plot(w, curve["cost"], linewidth=2.0, label="cost of the ban (estimate)")
        ax.axhline(0.0, color="0.4", linewidth=1.0)
        ax.set_xlabel(f"weight of group {self.groups[0]} (the rest is that of group {self.groups[1]})")
        ax.set_ylabel("rise of the weighted risk")
        ax.legend(frameon=False)

    def _plot_points(self, ax: Any) -> None:
        """One line per point, on it every group with its interval; all of them hold together."""
        rows = np.arange(len(self.names))[::-1]
        for g, label in enumerate(self.groups):
            low, high = self.intervals[:, g].T
            apart = rows + 0.5 * (0.5 - (g + 0.5) / len(self.groups))
            reach = [self.cost[:, g] - low, high - self.cost[:, g]]
            ax.errorbar(self.cost[:, g], apart, xerr=reach, fmt="o", markersize=4.0, label=f"group {label}")
        ax.axvline(0.0, color="0.4", linewidth=1.0)
        ax.set_yticks(rows, self.names)
        ax.set_xlabel(f"rise of the risk by the ban, with its interval ({confidence_text(self.alpha)})")
        ax.legend(frameon=False, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=len(self.groups))


def gap_bounds(without: FloatArray, seeing: FloatArray, reach: FloatArray) -> FloatArray:
    """Bounds (P, 2) of the change in the gap from how far (P, F) the bounds of its forms reach; see `gap_forms`."""
    forms = gap_forms(without, seeing)
    n_pairs = without.shape[1] * (without.shape[1] - 1) // 2
    bounds = []
    for side in (-1.0, 1.0):
        # s = +1: the smallest of d - d' and d + d' over all d', s = -1: of their opposites; then the largest over d
        signs = [(sign * forms + side * reach).reshape(len(forms), n_pairs, -1) for sign in (1.0, -1.0)]
        bounds.append(np.maximum(*(each.min(axis=2).max(axis=1) for each in signs)))
    return np.column_stack(bounds)


def gap_forms(without: FloatArray, seeing: FloatArray) -> FloatArray:
    """Linear forms (..., P, F) by which gaps are bounded, of risks (..., P, G).

    With the differences d of all pairs of groups without the group, and d' with it: d - d' and d + d' for every d and
    d', those of one d side by side.
    """
    first, second = np.triu_indices(without.shape[-1], 1)
    d, own = (risks[..., first] - risks[..., second] for risks in (without, seeing))
    forms: FloatArray = np.concatenate([d[..., None] - own[..., None, :], d[..., None] + own[..., None, :]], axis=-1)
    return forms.reshape(*d.shape[:-1], -1)


def ban_cost(
    groups: tuple[Label, ...],
    alpha: float,
    names: tuple[str, ...],
    without: Side,
    seeing: Side,
    curve: Curve | None,
    *,
    doubts: tuple[str, ...] = (),
) -> BanCost:
    """Put together what both sides of a ban and the curve say."""
    scale = STILL * float(np.abs(without.risks).max())
    deviation = (without.draws - seeing.draws) - (without.risks - seeing.risks)
    gaps = gap_forms(without.draws, seeing.draws) - gap_forms(without.risks, seeing.risks)
    errors, gap_errors = (_errors(each, scale) for each in (deviation, gaps))
    together = np.concatenate([deviation, gaps], axis=2).reshape(len(deviation), -1)
    largest = _largest(together, np.concatenate([errors, gap_errors], axis=1).ravel())
    nothing = np.empty(0)
    if curve is None:
        band = (nothing, nothing, nothing, nothing, nothing)
    else:
        moved = curve.draws - curve.cost
        own = _errors(moved, scale)
        band = (curve.weights, curve.without, curve.seeing, own, _largest(moved, own))
    return BanCost(groups, alpha, names, without.risks, seeing.risks, errors, gap_errors, largest, *band, doubts)


def _errors(deviation: FloatArray, scale: float) -> FloatArray:
    errors: FloatArray = deviation.std(axis=0)
    errors[errors <= scale] = 0.0
    return errors


def _largest(deviation: FloatArray, errors: FloatArray) -> FloatArray:
    """Largest absolute deviation (B,) in standard errors; what does not vary has no say."""
    varies = errors > 0.0
    if not varies.any():
        return np.zeros(len(deviation))
    largest: FloatArray = (np.abs(deviation[:, varies]) / errors[varies]).max(axis=1)
    return largest
