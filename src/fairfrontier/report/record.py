"""The record of an audit: everything a report says, as plain numbers and text that JSON can hold.

A report is made from its record alone, so the two never disagree.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pandas as pd
from scipy import stats

from ..arrays import ArrayLike, FloatArray
from ..bootstrap.capacity import CappedFunction, cap
from ..errors import InputError
from ..frontier.plane import clip_polygon
from ..frontier.sets import attained_hull
from ..frontier.support import SupportFunction, group_means
from ..inference.distance.result import DistanceIntervals
from ..inference.lda.result import LDATest, LDATests
from .sentences import LIMITS, explain_learner, headline

if TYPE_CHECKING:
    from ..estimator import FairFrontier

Function = SupportFunction | CappedFunction
SCHEMA = 1
"""Version of the record's form; raised when a field changes its meaning or goes."""
STEPS = 100
"""Positions of the slider between all weight on one group and all on the other."""
CURVE_POINTS = 160
PACKAGES = ("fairfrontier", "numpy", "scipy", "pandas", "scikit-learn", "numba", "joblib")


def make_record(
    ff: FairFrontier,
    algorithms: Mapping[str, ArrayLike],
    *,
    randomised: bool = False,
    capacity: float | None = None,
    n_alternatives: int = 8,
    region: bool = True,
) -> dict[str, Any]:
    """Test algorithms and gather everything a report needs.

    Parameters
    ----------
    ff : FairFrontier
        A fitted object.
    algorithms : mapping of names to columns (n,)
        Decisions for the rows given to `fit`.
    randomised : bool
        Whether decisions strictly between 0 and 1 are chances.
    capacity : float, optional
        Compare only with rules that treat at most this share of people.
    n_alternatives : int
        Alternatives listed per algorithm.
    region : bool
        Whether to work out the confidence set of the frontier.

    Returns
    -------
    dict
    """
    named = {str(name): values for name, values in algorithms.items()}
    if len(named) < len(algorithms):
        raise InputError("bad-decisions", f"Algorithms must have different names, got {list(map(str, algorithms))}.")
    tests = cast(LDATests, ff.test_lda(named, randomised=randomised, capacity=capacity) if named else LDATests({}))
    distances = cast(DistanceIntervals, ff.distance_to_fairest(named, randomised=randomised) if named else {})
    r, b = (str(label) for label in ff.groups_)
    function = ff.support_function_ if capacity is None else cap(ff.support_function_, capacity)
    hull = attained_hull(function.estimate)
    record: dict[str, Any] = {
        "schema": SCHEMA,
        "groups": [r, b],
        "alpha": ff.alpha,
        "settings": _settings(ff, capacity),
        "data": _data(ff),
        "learner": _learner(ff),
        "points": _points(ff),
        "configuration": ff.configuration_,
        "picture": _picture(ff, function, hull, capacity, region),
        "rules": _slider(ff, function),
        "algorithms": [
            _algorithm(ff, name, values, tests[name], distances[name], hull, randomised, capacity, n_alternatives)
            for name, values in named.items()
        ],
        "skew": _skew(ff),
        "limits": list(LIMITS),
        "versions": _versions(),
    }
    return cast(dict[str, Any], plain(record))


def plain(value: Any) -> Any:
    """Turn numpy and pandas values into what JSON knows; numbers that are not finite become None."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [plain(item) for item in value]
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if isinstance(value, int | np.integer):
        return int(value)
    if isinstance(value, float | np.floating):
        return float(value) if math.isfinite(value) else None
    if value is None or isinstance(value, str):
        return value
    return str(value)


def _settings(ff: FairFrontier, capacity: float | None) -> dict[str, Any]:
    return {
        "loss": ff.loss_.name,
        "learner": ff.nuisance_.learner,
        "learner_params": dict(ff.learner_params or {}),
        "n_folds": None if ff.nuisance_.folds is None else int(ff.nuisance_.folds[0].max()),
        "n_rep": len(ff.support_functions_),
        "n_boot": ff.n_boot,
        "bias_correction": ff.bias_correction,
        "jitter": ff.nuisance_.jitter,
        "capacity": capacity,
        "bounded": ff.support_function_.scores.lower is not None,
        "weighted": ff.sample_.weighted,
        "clusters": None if ff.sample_.clusters is None else len(np.unique(ff.sample_.clusters)),
        "random_state": ff.random_state if isinstance(ff.random_state, int) else None,
    }


def _data(ff: FairFrontier) -> dict[str, Any]:
    sample = ff.sample_
    X = sample.X
    return {
        "rows": ff.n_obs_,
        "rows by group": {str(label): sample.counts[label] for label in ff.groups_},
        "dropped": {"no group" if label is None else str(label): k for label, k in sample.dropped.items()},
        "covariates": [] if X is None else [str(name) for name in getattr(X, "columns", range(np.shape(X)[1]))],
    }


def _learner(ff: FairFrontier) -> dict[str, Any]:
    quality = ff.nuisance_.quality
    lines = [
        {
            "group": str(line["group"]),
            "repetition": line.get("repetition", 1),
            "fold": line["fold"],
            "r2": line["r2"],
            "log_loss": line["log_loss"],
            "mean_log_loss": line["mean_log_loss"],
        }
        for line in quality.to_dict("records")
    ]
    return {
        "name": ff.nuisance_.learner,
        "external": ff.nuisance_.folds is None,
        "quality": lines,
        "words": explain_learner(quality, (ff.groups_[0], ff.groups_[1])),
        "conditions": ff.diagnostics_.lines(),
    }


def _points(ff: FairFrontier) -> list[dict[str, Any]]:
    values = ff.points_.to_numpy()
    return [
        {"name": str(name), "risk": values[k, :2].tolist(), "direction": values[k, 2:4].tolist()}
        for k, name in enumerate(ff.points_.index)
    ]


def _picture(
    ff: FairFrontier, function: Function, hull: FloatArray, capacity: float | None, region: bool
) -> dict[str, Any]:
    if capacity is None and ff.regret_ is not None:
        hull = ff.feasible_set().vertices
    curve = ff.frontier(n_points=CURVE_POINTS, capacity=capacity)
    region = region and capacity is None  # with a capacity there is none
    return {
        "set": _rounded(hull),
        "frontier": [
            {"risk": _rounded(point), "direction": _rounded(q), "treated": _rounded(_rates(function, q))}
            for point, q in zip(curve.points, curve.directions, strict=True)
        ],
        "region": [_rounded(polygon) for polygon in ff.frontier_confidence_set().polygons] if region else [],
    }


def _slider(ff: FairFrontier, function: Function) -> list[dict[str, Any]]:
    """Rules between all weight on the first group and all on the second: risks, treated shares, error rates."""
    weights = np.linspace(0.0, 1.0, STEPS + 1)
    q = -np.column_stack([weights, 1.0 - weights])
    q /= np.hypot(*q.T)[:, None]
    risks = function.estimate.support_set(q)
    y = ff.sample_.y if ff.loss_.binary_outcome else None
    return [
        {
            "weight": round(float(weight), 6),
            "direction": direction.tolist(),
            "risk": risk.tolist(),
            "treated": _rounded(_rates(function, direction)),
        }
        | ({} if y is None else _error_rates(function, direction, y))
        for weight, direction, risk in zip(weights, q, risks, strict=True)
    ]


def _treatment(function: Function, q: FloatArray) -> FloatArray:
    s, moved = function.scores, np.asarray(function.treated(q), dtype=float)
    return moved if s.lower is None or s.spread is None else s.lower + s.spread * moved


def _rates(function: Function, q: FloatArray) -> FloatArray:
    return group_means(_treatment(function, q), function.scores.group, function.scores.weight)[0]


def _error_rates(function: Function, q: FloatArray, y: FloatArray) -> dict[str, Any]:
    """Shares of people without the outcome who are treated, and of people with it who are not, by group."""
    s, a = function.scores, _treatment(function, q)
    wrongly, missed = [], []
    for code in range(2):
        negative, positive = (s.group == code) & (y == 0), (s.group == code) & (y == 1)
        wrongly.append(_mean(a[negative], s.weight[negative]))
        missed.append(_mean(1.0 - a[positive], s.weight[positive]))
    return {"false positive rate": wrongly, "false negative rate": missed}


def _mean(values: FloatArray, weight: FloatArray) -> float | None:
    return round(float(np.average(values, weights=weight)), 8) if weight.sum() > 0.0 else None


def _algorithm(
    ff: FairFrontier,
    name: str,
    values: ArrayLike,
    test: LDATest,
    distance: Any,
    hull: FloatArray,
    randomised: bool,
    capacity: float | None,
    n_alternatives: int,
) -> dict[str, Any]:
    risks = ff.risks(values)
    half = stats.norm.isf(ff.alpha / 2.0) * risks.standard_error
    low, high = distance.conf_int()
    found = ff.alternatives({name: values}, n_alternatives, capacity=capacity, randomised=randomised)
    e = risks.risk
    gap = abs(float(e[0] - e[1]))
    planes = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, -1.0], [-1.0, 1.0]])
    return {
        "name": name,
        "verdict": test.verdict,
        "headline": headline(test),
        "sentences": test.summary().split("\n")[1:],
        "risk": e.tolist(),
        "risk interval": np.column_stack([e - half, e + half]).tolist(),
        "standard error": risks.standard_error.tolist(),
        "gap": float(e[0] - e[1]),
        "treated": risks.selection_rate.tolist(),
        "treated ratio": test.selection_ratio,
        "lda": test.to_dict(),
        "improving": _rounded(clip_polygon(hull, planes, np.array([e[0], e[1], gap, gap]))),
        "distance": distance.to_dict() | {"sentences": distance.summary().split("\n")[1:], "low": low, "high": high},
        "alternatives": _table(found.table),
        "alternatives words": found.summary().split("\n"),
    }


def _table(table: pd.DataFrame) -> list[dict[str, Any]]:
    return [{str(key): value for key, value in line.items()} for line in table.to_dict("records")]


def _skew(ff: FairFrontier) -> dict[str, Any]:
    test = ff.test_group_skew()
    return test.to_dict() | {"sentences": test.summary().split("\n")[1:]}


def _versions() -> dict[str, str]:
    found = {}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:  # run from a source tree
            found[name] = "unknown"
    return found


def _rounded(values: Any) -> Any:
    return np.round(np.asarray(values, dtype=float), 8).tolist()
