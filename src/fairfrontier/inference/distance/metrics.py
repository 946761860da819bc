"""Distances between risk pairs: by name, or a function of two pairs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from ...arrays import FloatArray
from ...errors import InputError

Pairs = FloatArray
"""Risk pairs (..., 2)."""
MetricLike: TypeAlias = str | Callable[[FloatArray, FloatArray], float]
"""A distance by name, or a function of two pairs."""


def _sqeuclidean(x: Pairs, y: Pairs) -> FloatArray:
    distance: FloatArray = ((x - y) ** 2).sum(axis=-1)
    return distance


def _euclidean(x: Pairs, y: Pairs) -> FloatArray:
    distance: FloatArray = np.hypot(x[..., 0] - y[..., 0], x[..., 1] - y[..., 1])
    return distance


def _cityblock(x: Pairs, y: Pairs) -> FloatArray:
    distance: FloatArray = np.abs(x - y).sum(axis=-1)
    return distance


def _chebyshev(x: Pairs, y: Pairs) -> FloatArray:
    distance: FloatArray = np.abs(x - y).max(axis=-1)
    return distance


_METRICS: dict[str, Callable[[Pairs, Pairs], FloatArray]] = {
    "euclidean": _euclidean,
    "sqeuclidean": _sqeuclidean,
    "cityblock": _cityblock,
    "chebyshev": _chebyshev,
}


@dataclass(frozen=True, slots=True)
class Metric:
    """A distance between risk pairs: its name and, unless it is one of `_METRICS`, a function of two pairs."""

    name: str
    function: Callable[[FloatArray, FloatArray], float] | None = None

    def between(self, x: Pairs, y: Pairs) -> FloatArray:
        """Distances (...) between pairs (..., 2)."""
        if self.function is None:
            return _METRICS[self.name](x, y)
        x, y = np.broadcast_arrays(x, y)
        pairs = zip(x.reshape(-1, 2), y.reshape(-1, 2), strict=True)
        values = np.array([_distance(self.function, a, b) for a, b in pairs], dtype=float)
        return values.reshape(x.shape[:-1])


def read_metric(metric: MetricLike) -> Metric:
    """Return the metric with a name, or wrap a function of two pairs."""
    if isinstance(metric, str):
        if metric not in _METRICS:
            raise InputError("bad-option", f"`metric` must be one of {list(_METRICS)} or a function, got {metric!r}.")
        return Metric(metric)
    if not callable(metric):
        raise InputError("bad-option", f"`metric` must be one of {list(_METRICS)} or a function, got {metric!r}.")
    return Metric(getattr(metric, "__name__", "custom"), metric)


def _distance(metric: Callable[[FloatArray, FloatArray], float], x: FloatArray, y: FloatArray) -> float:
    try:
        value = metric(x.copy(), y.copy())
    except Exception as error:
        raise InputError(
            "bad-option",
            f"`metric` failed for {x.tolist()}, {y.tolist()}: {type(error).__name__}: {error}. It is called with two "
            "arrays of two numbers and must return one number.",
        ) from error
    try:
        number = float(value) if np.ndim(value) == 0 else np.nan
    except (TypeError, ValueError):
        number = np.nan
    if not np.isfinite(number) or number < 0.0:
        raise InputError(
            "bad-option",
            f"`metric` must return one finite number >= 0 for two pairs, got {value!r} for {x.tolist()}, {y.tolist()}.",
        )
    return number
