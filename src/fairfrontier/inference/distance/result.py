"""What users get back about the fairest point and distances to it."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from ...arrays import FloatArray
from ...data.checks import check_level
from ...data.notebook import COLOURS, GREEN, GREY, ORANGE, Picture
from ...data.number_formats import confidence_text
from ...data.reading import Label
from ...data.result import ExplainedResult, PlainDict, Result, ResultsByName, axes_of, labels, plain, plain_items
from ...errors import EmptySetWarning, InputError
from ...frontier.support import Position
from .crossing import Method
from .estimates import Fairest
from .metrics import Metric

_CASES: dict[Position, str] = {
    "crosses": "the feasible set crosses the line of equal risks",
    "above": "it lies where group {r} has the lower risk",
    "below": "it lies where group {b} has the lower risk",
}


EMPTY = (
    "The confidence interval is empty (nan): no point passes the test of being the fairest one. The estimated support "
    "function contradicts itself, which happens when the learner has found no usable signal."
)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class FairestPoint(Result):
    """The fairest attainable point: the risks with the smallest gap, and among those the lowest.

    ``risk`` (2,) is the estimate. ``weights`` (2,) are the weights of the two groups' risks, summing to 1 in absolute
    value, under which the rule that attains it is optimal; a negative weight works against a group.
    """

    groups: tuple[Label, Label]
    alpha: float
    n_boot: int
    _evidence: Fairest

    @property
    def risk(self) -> FloatArray:
        """Estimated risks (2,)."""
        return self._evidence.point

    @property
    def direction(self) -> FloatArray:
        """Unit direction (2,) of the rule that attains it."""
        q = self._evidence.direction
        unit: FloatArray = q / np.hypot(*q)
        return unit

    @property
    def weights(self) -> FloatArray:
        """Weights (2,) of the two groups' risks in what the rule minimises."""
        weights: FloatArray = -self.direction / np.abs(self.direction).sum()
        return weights

    @property
    def ruled_out(self) -> dict[Position, str]:
        """Cases that do not contribute, and why."""
        return dict(self._evidence.ruled_out)

    def conf_int(self, alpha: float | None = None) -> FloatArray:
        """Intervals (2, 2), one row per group: the union over the cases; nan, with a warning, if nothing is left."""
        interval = self.interval_at(self.alpha if alpha is None else check_level(alpha, self.n_boot))
        if np.isnan(interval).any():
            _warn_of_nothing()
        return interval

    def interval_at(self, level: float) -> FloatArray:
        """Intervals (2, 2) as `conf_int` has them, without any warning."""
        return _hull(self._evidence.point_parts(level))

    @property
    def heading(self) -> str:
        """One line that says what this is."""
        return "The fairest attainable point"

    def _facts(self) -> dict[str, object]:
        return {
            "groups": labels(self.groups),
            "alpha": self.alpha,
            "risk": self.risk,
            "interval": self.interval_at(self.alpha),
            "weights": self.weights,
            "direction": self.direction,
            "ruled_out": self.ruled_out,
            "n_boot": self.n_boot,
        }

    def _frame(self) -> pd.DataFrame:
        return _fairest_frame(self, self.interval_at(self.alpha))

    def _picture(self) -> Picture:
        return _fairest_picture(self, self.interval_at(self.alpha))

    def at(self, alpha: float) -> FairestPoint:
        """The same draws judged at another level."""
        return replace(self, alpha=check_level(alpha, self.n_boot))

    def to_frame(self) -> pd.DataFrame:
        """One row per group: risk, interval, weight."""
        return _fairest_frame(self, self.conf_int())


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class DistanceInterval(ExplainedResult):
    """Distance between an algorithm's risks and the fairest point, with its confidence interval.

    ``name`` and ``risk`` (2,) of the algorithm, and ``number``, its position among those asked about. The interval is
    the union over the cases of where the feasible set may lie; `cases` lists what each contributed.
    """

    name: str
    groups: tuple[Label, Label]
    metric: Metric
    method: Method
    alpha: float
    n_boot: int
    _evidence: Fairest
    number: int

    def difference_at(self, number: int, level: float) -> tuple[float, float]:
        """Interval of this distance less that of the algorithm at position ``number`` among those asked about."""
        return _union(self._evidence.difference_parts(self.metric, self.number, number, level))

    @property
    def risk(self) -> FloatArray:
        """The algorithm's risks (2,)."""
        risk: FloatArray = self._evidence.risks[self.number]
        return risk

    @property
    def fairest(self) -> FairestPoint:
        """The fairest point."""
        return FairestPoint(self.groups, self.alpha, self.n_boot, self._evidence)

    @property
    def estimate(self) -> float:
        """Estimated distance."""
        return float(self.metric.between(self.risk, self._evidence.point))

    @property
    def cases(self) -> dict[Position, str | tuple[float, float]]:
        """For each case its interval, or why it does not contribute."""
        parts = self._evidence.distance_parts(self.metric, self.number, self.alpha)
        cases: dict[Position, str | tuple[float, float]] = dict(self._evidence.ruled_out)
        return cases | {case: "no point passes the test" if part is None else part for case, part in parts.items()}

    def conf_int(self, alpha: float | None = None) -> tuple[float, float]:
        """Ends of the confidence interval of level 1 - alpha; nan, with a warning, if no case leaves anything."""
        level = self.alpha if alpha is None else check_level(alpha, self.n_boot)
        low, high = self.interval_at(level)
        if np.isnan(low):
            _warn_of_nothing()
        return low, high

    def interval_at(self, level: float) -> tuple[float, float]:
        """Ends of the interval as `conf_int` has them, without any warning."""
        return _union(self._evidence.distance_parts(self.metric, self.number, level))

    def at(self, alpha: float) -> DistanceInterval:
        """The same draws judged at another level."""
        return replace(self, alpha=check_level(alpha, self.n_boot))

    def _facts(self) -> dict[str, object]:
        return {
            "algorithm": self.name,
            "groups": labels(self.groups),
            "metric": self.metric.name,
            "method": self.method,
            "alpha": self.alpha,
            "risk": self.risk,
            "estimate": self.estimate,
            "interval": self.interval_at(self.alpha),
            "cases": self.cases,
        }

    def to_dict(self) -> PlainDict:
        """Everything but the draws, as plain numbers and text."""
        facts = self.fairest.to_dict()
        return plain_items(self._facts()) | {
            "interval": plain(self.conf_int()),
            "fairest": {name: facts[name] for name in ("risk", "interval", "weights")},
        }

    def _verdict(self) -> str:
        low, high = self.interval_at(self.alpha)
        return f"Distance {self.estimate:.4g}, {confidence_text(self.alpha)} interval {low:.4g} to {high:.4g}"

    def _picture(self) -> Picture:
        plane = _fairest_picture(self.fairest, self.fairest.interval_at(self.alpha))
        both = np.vstack([self.risk, self.fairest.risk])
        return plane.line(both, GREY, "").points(self.risk[None], ORANGE, self.name)

    @property
    def heading(self) -> str:
        """The question that is answered."""
        return f"How far is {self.name} from the fairest attainable point?"

    def sentences(self) -> list[str]:
        """Say in plain words what was estimated and what it does not show."""
        r, b = self.groups
        low, high = self.interval_at(self.alpha)
        fairest = self.fairest
        ends = fairest.interval_at(self.alpha)
        lines = [
            f"Risks of {self.name}: group {r} {self.risk[0]:.4f}, group {b} {self.risk[1]:.4f}.",
            f"Fairest point: group {r} {fairest.risk[0]:.4f} ({ends[0, 0]:.4f} to {ends[0, 1]:.4f}), group {b} "
            f"{fairest.risk[1]:.4f} ({ends[1, 0]:.4f} to {ends[1, 1]:.4f}); its rule weighs the risks "
            f"{fairest.weights[0]:.2f} ({r}) to {fairest.weights[1]:.2f} ({b}).",
            f"Distance ({self.metric.name}): {self.estimate:.5f}, {confidence_text(self.alpha)} interval {low:.5f} to "
            f"{high:.5f}.",
        ]
        if np.isnan(low):
            lines.append(EMPTY)
        for case, part in self.cases.items():
            what = _CASES[case].format(r=r, b=b)
            shown = part if isinstance(part, str) else f"{part[0]:.5f} to {part[1]:.5f}"
            lines.append(f"- Case that {what}: {shown}.")
        lines.append(
            "A small distance does not make an algorithm fair, nor does a large one make it unlawful: the fairest "
            "point need not be accurate for either group, and it is the best that rules with these covariates attain."
        )
        return lines


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class DistanceDifference(ExplainedResult):
    """Difference between two algorithms' distances to the fairest point, with its own interval."""

    first: str
    second: str
    estimate: float
    interval: tuple[float, float]
    alpha: float

    @property
    def heading(self) -> str:
        """The question that is answered."""
        return f"Which is nearer to the fairest point, {self.first} or {self.second}?"

    def _facts(self) -> dict[str, object]:
        return {
            "first": self.first,
            "second": self.second,
            "estimate": self.estimate,
            "interval": self.interval,
            "alpha": self.alpha,
        }

    def summary(self) -> str:
        """The sentences as one paragraph."""
        return " ".join(self.sentences())

    def sentences(self) -> list[str]:
        """Say in plain words which algorithm is nearer, if the data show it."""
        low, high = self.interval
        difference = (
            f"Distance of {self.first} minus that of {self.second}: {self.estimate:.5f}, "
            f"{confidence_text(self.alpha)} interval {low:.5f} to {high:.5f}."
        )
        if low > 0.0:
            return [difference, f"{self.second} is nearer to the fairest point."]
        if high < 0.0:
            return [difference, f"{self.first} is nearer to the fairest point."]
        return [difference, "The data do not show which of the two is nearer to the fairest point."]


class DistanceIntervals(ResultsByName[DistanceInterval]):
    """Distances of several algorithms, from the same draws, by name."""

    __slots__ = ()

    @property
    def heading(self) -> str:
        """The question that is answered."""
        return "How far are the algorithms from the fairest attainable point?"

    def at(self, alpha: float) -> DistanceIntervals:
        """The same draws judged at another level."""
        return DistanceIntervals({name: each.at(alpha) for name, each in self.items()})

    def difference(self, first: str, second: str, alpha: float | None = None) -> DistanceDifference:
        """Distance of one algorithm minus that of another.

        Both are measured from the same fairest point, so this is sharper than comparing their intervals.
        """
        for name in (first, second):
            if name not in self:
                raise InputError("bad-option", f"There is no algorithm {name!r}; there are {list(self)}.")
        one, other = self[first], self[second]
        level = one.alpha if alpha is None else check_level(alpha, one.n_boot)
        interval = one.difference_at(other.number, level)
        if np.isnan(interval[0]):
            _warn_of_nothing()
        return DistanceDifference(first, second, one.estimate - other.estimate, interval, level)

    def to_frame(self) -> pd.DataFrame:
        """One row per algorithm: risks, distance, interval."""
        return self._rows({name: each.conf_int() for name, each in self.items()})

    def _frame(self) -> pd.DataFrame:
        return self._rows({name: each.interval_at(each.alpha) for name, each in self.items()})

    def _rows(self, intervals: Mapping[str, tuple[float, float]]) -> pd.DataFrame:
        rows = {}
        for name, each in self.items():
            low, high = intervals[name]
            risks = {f"risk {label}": value for label, value in zip(each.groups, each.risk, strict=True)}
            rows[name] = risks | {"distance": each.estimate, "low": low, "high": high}
        return pd.DataFrame(rows).T

    def _facts(self) -> dict[str, object]:
        facts: dict[str, object] = {}
        for name, each in self.items():
            low, high = each.interval_at(each.alpha)
            facts[str(name)] = f"{each.estimate:.5g} ({confidence_text(each.alpha)} interval {low:.5g} to {high:.5g})"
        return facts

    def _picture(self) -> Picture | None:
        plane = None
        for colour, (name, each) in zip(COLOURS, self.items(), strict=False):
            if plane is None:
                plane = _fairest_picture(each.fairest, each.fairest.interval_at(each.alpha))
            plane = plane.points(each.risk[None], colour, name)
        return plane


def _hull(parts: Mapping[Position, FloatArray | None]) -> FloatArray:
    """Smallest intervals (2, 2) that hold the parts of every case; nan if there are none."""
    kept = [part for part in parts.values() if part is not None]
    if not kept:
        return np.full((2, 2), np.nan)
    stacked = np.array(kept)
    return np.column_stack([stacked[:, :, 0].min(axis=0), stacked[:, :, 1].max(axis=0)])


def _union(parts: Mapping[Position, tuple[float, float] | None]) -> tuple[float, float]:
    """Smallest interval that holds the parts of every case; nan if there are none."""
    kept = [part for part in parts.values() if part is not None]
    return (min(part[0] for part in kept), max(part[1] for part in kept)) if kept else (np.nan, np.nan)


def _fairest_frame(fairest: FairestPoint, interval: FloatArray) -> pd.DataFrame:
    return pd.DataFrame(
        {"risk": fairest.risk, "low": interval[:, 0], "high": interval[:, 1], "weight": fairest.weights},
        index=pd.Index(fairest.groups, name="group"),
    )


def _fairest_picture(fairest: FairestPoint, interval: FloatArray) -> Picture:
    (left, right), (bottom, top) = interval
    box = np.array([[left, bottom], [right, bottom], [right, top], [left, top]])
    plane = Picture(axes_of(fairest.groups)).area(box, GREEN, "interval of each risk")
    return plane.points(fairest.risk[None], GREEN, "fairest point")


def _warn_of_nothing() -> None:
    warnings.warn(EMPTY, EmptySetWarning, stacklevel=3)
