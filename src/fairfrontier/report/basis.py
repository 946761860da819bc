"""Parts that every record has: settings, data, learner, other runs, versions; and how numbers become plain."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from numbers import Integral
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ..arrays import AnyArray, FloatArray
from ..data.copies import copies_in_words
from ..frontier.cells import BINS
from .agreement import Effort, other_runs
from .frame import Run
from .origin import (
    CandidateRecord,
    Copied,
    Data,
    FoldQuality,
    InParts,
    LearnerRecord,
    RequestRecord,
    Settings,
    Source,
)
from .record import OtherRuns
from .sentences import explain_learner
from .values import Interval, Numbers, Pair, Polygon, Triple

if TYPE_CHECKING:
    from ..estimator import FairFrontier

PACKAGES = ("fairfrontier", "numpy", "scipy", "pandas", "scikit-learn", "numba", "joblib")
NO_GROUP = "no group"
"""What rows without a group are counted under."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditParts:
    """What an audit of a file adds to a record; empty for a record made from Python.

    ``not_done`` counts runs with the covariates of the verdict that failed; ``both_ways`` has a sentence for each
    algorithm that is a score, by name, and ``scores`` the scores themselves.
    """

    request: RequestRecord | None = None
    source: Source | None = None
    sensitivity: tuple[Run, ...] = ()
    not_done: int = 0
    both_ways: Mapping[str, str] = field(default_factory=dict)
    scores: Mapping[str, AnyArray] = field(default_factory=dict)


NO_AUDIT = AuditParts()


def settings(ff: FairFrontier, capacity: float | None) -> Settings:
    """The settings of a fit."""
    nuisance, sample = ff.nuisance_, ff.sample_
    return Settings(
        loss=ff.loss_.name,
        fairness=str(ff.fit_.criteria.describe()["fairness"]),
        accuracy=ff.fit_.criteria.accuracy,
        keep=ff.fit_.criteria.keep,
        keep_tolerance=ff.fit_.criteria.tolerance,
        profit=ff.fit_.criteria.profit is not None,
        learner=nuisance.learner,
        learner_params=dict(ff.learner_params or {}),
        n_folds=None if nuisance.folds is None else int(nuisance.folds[0].max()),
        sequential=ff.fit_.sequence is not None,
        n_rep=ff.fit_.n_rep,
        n_boot=ff.n_boot,
        bias_correction=ff.fit_.learning.bias_correction,
        jitter=nuisance.jitter,
        capacity=capacity,
        rules=ff.fit_.rules.name,
        bounded=ff.fit_.bounded,
        weighted=sample.weighted,
        clusters=None if sample.clusters is None else len(np.unique(sample.clusters)),
        random_state=int(ff.random_state) if isinstance(ff.random_state, Integral) else None,
    )


def copied(ff: FairFrontier) -> Copied | None:
    """The rows of a fit that are taken for copies."""
    found = ff.sample_.copied
    if found is None:
        return None
    return Copied(rows=found.rows, clusters=found.n_clusters, sentence=copies_in_words(found, ff.n_obs_))


def in_parts(ff: FairFrontier, source: Source | None) -> InParts | None:
    """How rows were counted that were read in parts."""
    fit = ff.fit_
    if fit.counted is None:
        return None
    learned = (
        f"{fit.whole.n_obs:,} rows drawn at random were {'looked at' if ff.nuisance_.external else 'learned from'}"
    )
    first = " by the first repetition of the folds" if fit.n_rep > 1 else ""
    return InParts(
        rows_read=fit.counted.n_rows if source is None else source.rows_read,
        rows_learned=fit.whole.n_obs,
        cells=fit.n_rows,
        directions=BINS,
        sentence=f"The rows were read in parts: {learned}, and all {ff.n_obs_:,} were counted in {fit.n_rows:,} cells "
        f"of people who are alike, with predicted directions{first} rounded to one of {BINS:,}. Risks, tests, sets, "
        "alternatives and usual figures are those of all rows. The quality of the learner, its comparison with the "
        "algorithm and the conditions behind the inference are those of the rows drawn. Copied rows were not looked "
        "for.",
    )


def data(ff: FairFrontier, source: Source | None) -> Data:
    """The rows of a fit; with a ``source`` the rows dropped are those that the audit dropped from its file."""
    sample, X = ff.sample_, ff.fit_.whole.X
    dropped = {NO_GROUP if label is None else str(label): count for label, count in sample.dropped.items()}
    if source is not None:
        dropped = {}
        for counts in source.dropped_by_reason.values():
            for name, count in counts.items():
                dropped[name] = dropped.get(name, 0) + count
    merged = {str(new): {str(old): k for old, k in counts.items()} for new, counts in sample.merged.items()}
    return Data(
        rows=ff.n_obs_,
        learning_rows=sample.learning_rows,
        rows_by_group={str(label): sample.counts[label] for label in ff.groups_},
        dropped=dropped,
        left_out={str(label): count for label, count in sample.left_out.items()},
        merged=merged if source is None else source.merged,
        copies=copied(ff),
        in_parts=in_parts(ff, source),
        covariates=() if X is None else tuple(str(name) for name in pd.DataFrame(X).columns),
        source=source,
    )


def learner(ff: FairFrontier) -> LearnerRecord:
    """How well the learner predicts, and the conditions behind the inference."""
    quality = ff.nuisance_.quality
    return LearnerRecord(
        name=ff.nuisance_.learner,
        external=ff.nuisance_.folds is None,
        quality=tuple(
            FoldQuality(
                group=str(line["group"]),
                repetition=int(line.get("repetition", 1)),
                fold=int(line["fold"]),
                r2=finite(line["r2"]),
                log_loss=finite(line["log_loss"]),
                mean_log_loss=finite(line["mean_log_loss"]),
            )
            for line in quality.to_dict("records")
        ),
        candidates=tuple(
            CandidateRecord(
                modelled=str(line["modelled"]),
                candidate=str(line["candidate"]),
                loss=finite(line["loss"]),
                weight=float(line["weight"]),
                first_in_folds=int(line["folds with the largest weight"]),
            )
            for line in ff.learner_report_.candidates.to_dict("records")
        ),
        sentences=tuple(explain_learner(quality, ff.groups_, ff.fit_.rules.name)),
        conditions=() if ff.fit_.diagnostics is None else tuple(ff.fit_.diagnostics.lines()),
    )


def runs_beside(name: str, ff: FairFrontier, audit: AuditParts) -> OtherRuns | None:
    """Whether the other runs of an audit come to the same verdict on an algorithm; None if there was no audit."""
    if not audit.sensitivity:
        return None
    robustness = audit.request is not None and audit.request.robustness
    fit = ff.fit_
    could = not fit.rules.sees_group and fit.asked is None and fit.sequence is None and fit.learning.jitter == 0.0
    effort = Effort(robustness=robustness, repetitions=fit.n_rep, not_done=audit.not_done, could_see_group=could)
    return other_runs(audit.sensitivity, name, ff.alpha, effort)


def versions() -> dict[str, str]:
    """Versions of the packages that matter."""
    found = {}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:  # run from a source tree
            found[name] = "unknown"
    return found


def finite(value: float | None) -> float | None:
    """A number as JSON can hold it."""
    return None if value is None or not math.isfinite(value) else float(value)


def pair(values: FloatArray) -> Pair:
    """Two numbers."""
    return float(values[0]), float(values[1])


def triple(values: FloatArray | list[float]) -> Triple:
    """Three numbers."""
    return float(values[0]), float(values[1]), float(values[2])


def numbers(values: FloatArray) -> Numbers:
    """Numbers of a vector."""
    return tuple(float(value) for value in values)


def interval(ends: FloatArray | tuple[float, float]) -> Interval:
    """An interval; ends that are not finite are left open."""
    return Interval(low=finite(ends[0]), high=finite(ends[1]))


def polygon(corners: FloatArray) -> Polygon:
    """Corners, rounded."""
    return tuple(pair(corner) for corner in np.round(corners, 8))
