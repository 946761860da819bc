"""Cross-fitting: out-of-fold predictions of the nuisance functions, and how good they are."""

import numbers
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import roc_auc_score

from ..arrays import ArrayLike, BoolArray, FloatArray, IntArray
from ..data.reading import LARGEST, Label, Table
from ..data.result import PlainDict, Result, plain_items
from ..data.sample import Sample
from ..errors import InputError, WeakLearnerWarning
from .folds import make_folds, n_learning_folds
from .learners import (
    Component,
    FittedLearner,
    GroupPrediction,
    Learner,
    Prediction,
    TrainingRows,
    child_seeds,
    log_loss,
    resolve_learner,
)
from .tasks import Progress, Steps, Task, one_thread

Seed = int | np.random.SeedSequence | np.random.Generator | None
"""What a random state may be."""

NO_BETTER = 1e-9
"""An out-of-fold R2 up to here counts as no better than the mean (rounding aside)."""


def candidate_table(rows: list[dict[str, Any]]) -> pd.DataFrame:
    """Return the scores of candidates as a table; labels of groups keep their type, None stays None."""
    kinds = {"repetition": int, "fold": int, "group": object, "candidate": object, "loss": float, "weight": float}
    return pd.DataFrame({name: pd.Series([row[name] for row in rows], dtype=kind) for name, kind in kinds.items()})


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Nuisance(Result):
    """Predictions of Dtheta^g(x) = E[dl 1{G = g} | x], or for rules that see the group of E[dl | x, G = g].

    Attributes
    ----------
    predictions : (n_rep, n, G) array
        Nuisance functions at the rows, one column per group, one layer per repetition of the folds.
    folds : (n_rep, n) array or None
        Fold of every row, numbered from 1; None for predictions supplied from outside.
    quality : data frame
        One row per repetition, fold and group: `rows` held out and `group_rows` of the group among
        them, `r2` against the training mean, `log_loss`, and `mean_log_loss` of the training
        frequencies (missing for learners without probabilities). Fold 0 stands for no folds.
    details : data frame
        What the learner kept about its fits: repetition, fold, group, quantity, value.
    learner : str
        Name of the learner.
    jitter : float
        Largest rotation of a pair, in radians.
    external : bool
        Whether the predictions were supplied from outside.
    group_auc : float or None
        Area under the curve of out-of-fold group probabilities, for learners that model them.
    tuning : mapping
        What was tuned once for all folds, by component of the learner.
    candidates : data frame
        For a learner that weighs candidates: repetition, fold, group (None for the model of the group itself),
        candidate, inner loss and weight.
    group_probabilities : (n_rep, n, G) array or None
        Out-of-fold predictions of P(G = g | x), for learners that model them.
    within : (n_rep, n, G) array or None
        Out-of-fold predictions of E[dl | x, G = g], for learners that model it as a factor.
    weak : tuple
        Groups whose nuisance is predicted no better than by its mean.
    """

    predictions: FloatArray
    folds: IntArray | None
    quality: pd.DataFrame
    details: pd.DataFrame
    learner: str
    jitter: float
    external: bool
    group_auc: float | None
    tuning: Mapping[Component, Any] = field(default_factory=dict)
    candidates: pd.DataFrame = field(default_factory=lambda: candidate_table([]))
    group_probabilities: FloatArray | None = None
    within: FloatArray | None = None
    weak: tuple[Label, ...] = ()

    @property
    def heading(self) -> str:
        """One line that says what this is."""
        return "Predictions of the nuisance functions"

    @property
    def n_folds(self) -> int:
        """Number of folds, 0 for predictions supplied from outside."""
        return 0 if self.folds is None else int(self.folds.max())

    def _facts(self) -> dict[str, object]:
        n_rep, n_obs, n_groups = self.predictions.shape
        by_group = self.quality.groupby("group", sort=False)["r2"]
        return {
            "learner": self.learner,
            "external": self.external,
            "n_rep": n_rep,
            "n_obs": n_obs,
            "n_groups": n_groups,
            "n_folds": self.n_folds,
            "jitter": self.jitter,
            "group_auc": self.group_auc,
            "median_r2": {str(label): float(r2.median()) for label, r2 in by_group},
        }

    def to_dict(self) -> PlainDict:
        """Return plain numbers and text for JSON, with the quality by fold and group, without the predictions."""
        return plain_items(self._facts() | {"quality": self.quality})

    def _frame(self) -> pd.DataFrame:
        return self.quality


def cross_fit(
    sample: Sample,
    dl: FloatArray,
    learner: Any,
    *,
    n_folds: int = 5,
    n_rep: int = 1,
    folds: str | ArrayLike | None = None,
    n_jobs: int | None = None,
    random_state: Seed = None,
    jitter: float = 0.0,
    progress: Progress | None = None,
    models: list[FittedLearner] | None = None,
) -> Nuisance:
    """Predict the nuisance functions of all groups for every row from the other folds.

    Parameters
    ----------
    sample : Sample
        The rows, with covariates.
    dl : (n,) array
        Loss differences loss(1, y) - loss(0, y).
    learner : str, estimator or Learner
        As for `resolve_learner`.
    n_folds, n_rep : int
        Folds, and repetitions of the cross-fitting.
    folds : None, "stratified", "independent", "sequential" or array
        As for `make_folds`. With "sequential" a fold is predicted from the folds before it alone, and tuned on them;
        predictions of the first folds, which are used for learning only, are missing (NaN).
    n_jobs : int, optional
        Processes working in parallel; None means 1. The result does not depend on it.
    random_state : None, int, SeedSequence or Generator
        Source of randomness. The same integer or seed sequence gives the same result.
    jitter : float
        Rotate each pair by a uniform angle of at most this many radians (0: not at all), which
        breaks ties between rows with the same covariates.
    progress : callable, optional
        Called as progress(done, total, text) after each piece of work.
    models : list, optional
        Gets what was fitted without each fold, one repetition after the other, to predict further rows.

    Returns
    -------
    Nuisance
    """
    learner = resolve_learner(learner)
    jitter = _check_jitter(jitter, sample)
    components = learner.components(len(sample.groups))
    folds_seed, tune_seed, fit_seed, jitter_seed = child_seeds(as_seed(random_state), 4)
    rows = training_rows(sample, dl)
    learner.check(rows)
    fold = make_folds(sample, n_folds, n_rep, np.random.default_rng(folds_seed), folds)
    sequential = isinstance(folds, str) and folds == "sequential"
    first = 1 + n_learning_folds(n_folds) if sequential else 1
    tuning_tasks = _tuning_tasks(sample, learner) if learner.tunes_once and not sequential else []
    places = [(repetition, k) for repetition in range(len(fold)) for k in range(first, fold[repetition].max() + 1)]
    steps = Steps(progress, len(tuning_tasks) + len(places) * len(components))
    tuned = list(steps.run(tuning_tasks, rows, child_seeds(tune_seed, len(tuning_tasks)), n_jobs))
    tuning = dict(zip(components, tuned, strict=True)) if tuned else {}
    fit_tasks = _fit_tasks(sample, learner, fold, places, tuning, sequential=sequential)

    account = _Account(sample, dl, learner, len(fold))
    results = steps.run(fit_tasks, rows, child_seeds(fit_seed, len(fit_tasks)), n_jobs, keep_models=models is not None)
    for repetition, k in places:
        parts = {component: next(results) for component in components}
        held = np.flatnonzero(fold[repetition] == k)
        if models is None:
            combined = learner.combine(parts)
        else:
            models.append(FittedLearner(learner, parts))
            combined = predict_rows(models[-1], rows.take(held).X)
        train = fold[repetition] < k if sequential else fold[repetition] != k
        account.add(combined, held, train, repetition, k)

    table = pd.DataFrame(account.quality)
    weak = _warn_if_weak(sample, table, learner.name)
    return Nuisance(
        rotate(account.predictions, jitter, np.random.default_rng(jitter_seed)),
        fold,
        table.drop(columns=["error", "variation"]),
        pd.DataFrame(account.details, columns=["repetition", "fold", "group", "quantity", "value"]),
        learner.name,
        jitter,
        False,
        _group_auc(sample, account.group_probabilities, fold[0] >= first),
        tuning,
        candidate_table(account.candidates),
        account.group_probabilities if np.isfinite(account.group_probabilities).all() else None,
        account.within if learner.factored else None,
        weak,
    )


def _tuning_tasks(sample: Sample, learner: Learner) -> list[Task]:
    """Return the tasks that tune every component of a learner once for all folds."""
    return [
        Task(learner, component, None, f"tuning {shown_component(component, sample)}")
        for component in learner.components(len(sample.groups))
    ]


def predict_rows(fitted: FittedLearner, X: Table) -> Prediction:
    """Predict at the rows of X; the bits do not depend on the number of threads."""
    with one_thread():
        return fitted.predict(X)


class _Account:
    """What is kept about every fold: predictions, quality, details of the learner, scores of its candidates."""

    def __init__(self, sample: Sample, dl: FloatArray, learner: Learner, n_rep: int) -> None:
        self.sample, self.dl, self.learner = sample, dl, learner
        self.predictions = np.full((n_rep, sample.n_obs, len(sample.groups)), np.nan)
        self.group_probabilities = np.full(self.predictions.shape, np.nan)
        self.within = np.full(self.predictions.shape if learner.factored else 0, np.nan)
        self.quality: list[dict[str, Any]] = []
        self.details: list[dict[str, Any]] = []
        self.candidates: list[dict[str, Any]] = []

    def add(self, prediction: Prediction, held: IntArray, train: BoolArray, repetition: int, fold: int) -> None:
        """Add the predictions of the rows ``held`` out in one fold, made from the rows ``train``."""
        self.predictions[repetition, held] = prediction.delta_theta
        if prediction.group_probabilities is not None:
            self.group_probabilities[repetition, held] = prediction.group_probabilities
        if self.learner.factored:
            self.within[repetition, held] = prediction.within_means
        labels, where = self.sample.groups.labels, {"repetition": repetition + 1, "fold": fold}
        found = _fold_quality(self.sample, self.dl, prediction, held, train, self.learner.sees_group)
        self.quality += [where | entry for entry in found]
        self.details += [
            where | {"group": labels[code], "quantity": quantity, "value": value}
            for code, quantity, value in prediction.details
        ]
        for score in prediction.candidates:
            label = None if score.code is None else labels[score.code]
            own = {"group": label, "candidate": score.name, "loss": score.loss, "weight": score.weight}
            self.candidates.append(where | own)


def external_nuisance(
    sample: Sample,
    dl: FloatArray,
    values: ArrayLike,
    *,
    jitter: float = 0.0,
    random_state: Seed = None,
    sees_group: bool = False,
) -> Nuisance:
    """Take nuisance predictions made elsewhere, out of fold.

    Parameters
    ----------
    sample : Sample
        The rows.
    dl : (n,) array
        Loss differences.
    values : (n, G) array
        Predictions, one column per group, one line per row of the user's data.
    jitter : float
        As for `cross_fit`.
    random_state : None, int, SeedSequence or Generator
        Source of randomness of the jitter.
    sees_group : bool
        Whether predictions are of E[dl | x, G = g], for rules that see the group; of a row only that of its own group
        is used.

    Returns
    -------
    Nuisance
    """
    jitter = _check_jitter(jitter, sample)
    pairs = _read_predictions(sample, values, sees_group)
    prediction = Prediction(tuple(GroupPrediction(column) for column in pairs.T))
    everything = np.arange(sample.n_obs)
    table = pd.DataFrame(
        [
            {"repetition": 1, "fold": 0} | entry
            for entry in _fold_quality(
                sample, dl, prediction, everything, np.ones(sample.n_obs, dtype=bool), sees_group
            )
        ]
    )
    weak = _warn_if_weak(sample, table, "external")
    return Nuisance(
        rotate(pairs[None], jitter, np.random.default_rng(as_seed(random_state))),
        None,
        table.drop(columns=["error", "variation"]),
        pd.DataFrame(columns=["repetition", "fold", "group", "quantity", "value"]),
        "external",
        jitter,
        True,
        None,
        weak=weak,
    )


def _read_predictions(sample: Sample, values: ArrayLike, sees_group: bool) -> FloatArray:
    """Read predictions (n, G) at the rows of a sample; they must be finite, and no larger than a loss difference."""
    n = sample.n_given
    try:
        pairs = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError("bad-nuisance", f"Nuisance predictions must be numbers: {error}.") from error
    if pairs.shape != (n, len(sample.groups)):
        listed = ", ".join(f"group {label!r}" for label in sample.groups)
        raise InputError(
            "bad-nuisance",
            f"Nuisance predictions must have shape ({n}, {len(sample.groups)}), one line ({listed}) per row, not "
            f"{pairs.shape}.",
        )
    pairs = pairs[sample.rows]
    if sees_group:  # of a row only the prediction for its own group is used
        pairs = np.where(np.arange(len(sample.groups)) == sample.group[:, None], pairs, 0.0)
    finite = np.isfinite(pairs).all(axis=1)
    if not finite.all():
        raise InputError(
            "bad-nuisance",
            f"Nuisance predictions must be finite; {np.sum(~finite)} rows are not, the first is row "
            f"{sample.rows[~finite][0]}.",
        )
    largest = float(np.abs(pairs).max())
    if largest > LARGEST:
        raise InputError(
            "bad-nuisance",
            f"The largest nuisance prediction has the size {largest:.3g}, beyond {LARGEST:g} and so beyond any loss "
            "difference that is accepted.",
        )
    return pairs


def fit_on_all(
    sample: Sample,
    dl: FloatArray,
    learner: Any,
    *,
    n_jobs: int | None = None,
    random_state: Seed = None,
    tuning: Mapping[Component, Any] | None = None,
) -> FittedLearner:
    """Fit a learner on all rows, to predict the nuisance pairs of new ones.

    Parameters
    ----------
    sample, dl, learner, n_jobs, random_state
        As for `cross_fit`.
    tuning : mapping, optional
        What was tuned before, by component of the learner.

    Returns
    -------
    FittedLearner
    """
    learner = resolve_learner(learner)
    rows = training_rows(sample, dl)
    learner.check(rows)
    components = learner.components(len(sample.groups))
    held, tuned = np.zeros(sample.n_obs, dtype=bool), tuning or {}
    tasks = [
        Task(learner, name, held, f"all rows, {shown_component(name, sample)}", tuning=tuned.get(name))
        for name in components
    ]
    seeds = child_seeds(as_seed(random_state), len(tasks))
    parts = list(Steps(None, len(tasks)).run(tasks, rows, seeds, n_jobs, keep_models=True))
    return FittedLearner(learner, dict(zip(components, parts, strict=True)))


def training_rows(sample: Sample, dl: FloatArray) -> TrainingRows:
    """Return the rows as learners see them: weights and clusters only if the user gave some, weights with mean one."""
    weight = sample.weight / sample.weight.mean() if sample.weighted else None
    return TrainingRows(
        sample.covariates, np.asarray(dl, dtype=np.float64), sample.group, len(sample.groups), weight, sample.clusters
    )


def as_seed(random_state: Seed) -> np.random.SeedSequence:
    """Turn a random state into a seed sequence; a generator is advanced, the others are not changed."""
    if isinstance(random_state, np.random.SeedSequence):
        return random_state
    if isinstance(random_state, np.random.Generator):
        return np.random.SeedSequence(random_state.integers(2**32, size=4).tolist())
    integer = isinstance(random_state, numbers.Integral) and not isinstance(random_state, bool)
    if random_state is None or (integer and random_state >= 0):
        return np.random.SeedSequence(None if random_state is None else int(random_state))
    raise InputError(
        "bad-option",
        "random_state must be None, a non-negative integer, a numpy SeedSequence or a numpy Generator, "
        f"not {random_state!r}.",
    )


def rotate(pairs: FloatArray, jitter: float, rng: np.random.Generator) -> FloatArray:
    """Rotate pairs (..., 2) by independent angles, uniform on [-jitter, jitter]."""
    if jitter == 0.0:
        return pairs
    angle = rng.uniform(-jitter, jitter, size=pairs.shape[:-1])
    cos, sin = np.cos(angle), np.sin(angle)
    r, b = pairs[..., 0], pairs[..., 1]
    return np.stack([cos * r - sin * b, sin * r + cos * b], axis=-1)


def _fit_tasks(
    sample: Sample,
    learner: Learner,
    fold: IntArray,
    places: list[tuple[int, int]],
    tuning: Mapping[Component, Any],
    *,
    sequential: bool,
) -> list[Task]:
    """One task for every repetition and fold in ``places`` and every component of the learner."""
    return [
        Task(
            learner,
            component,
            fold[repetition] == k,
            f"repetition {repetition + 1} of {len(fold)}, fold {k} of {fold[repetition].max()}, "
            f"{shown_component(component, sample)}",
            train=fold[repetition] < k if sequential else None,
            tuning=tuning.get(component),
        )
        for repetition, k in places
        for component in learner.components(len(sample.groups))
    ]


def _check_jitter(jitter: float, sample: Sample) -> float:
    if not isinstance(jitter, numbers.Real) or isinstance(jitter, bool) or not 0.0 <= jitter < np.pi / 2:
        raise InputError(
            "bad-option",
            f"jitter must be an angle in radians, at least 0 and below pi/2, not {jitter!r}; a small "
            "one such as 0.01 suffices to break ties.",
        )
    if jitter > 0.0:
        sample.groups.pair("The jitter, which turns pairs of predictions,")
    return float(jitter)


def shown_component(component: Component, sample: Sample) -> str:
    """Name a component as users know it."""
    if isinstance(component, int):
        return f"group {sample.groups.labels[component]!r}"
    return "model of the group" if component == "group" else component


# --- quality ------------------------------------------------------------------------------------------


def _fold_quality(
    sample: Sample, dl: FloatArray, prediction: Prediction, held: IntArray, train: BoolArray, sees_group: bool
) -> Iterator[dict[str, Any]]:
    """Compare predictions of held-out rows with the mean of the rows ``train``; within the group if rules see it."""
    for code, (label, predicted) in enumerate(zip(sample.groups, prediction.groups, strict=True)):
        member = sample.group == code
        z, used = (dl, member) if sees_group else (np.where(member, dl, 0.0), np.ones(len(dl), dtype=bool))
        own, known = used[held], np.flatnonzero(train & used)
        w, w_train, z_held, z_train = sample.weight[held][own], sample.weight[known], z[held][own], z[known]
        # R2 = 1 - sum w (z - Dtheta)^2 / sum w (z - training mean)^2
        error = float(np.sum(w * (z_held - predicted.mean[own]) ** 2))
        variation = float(np.sum(w * (z_held - _mean(z_train, w_train)) ** 2))
        yield {
            "group": label,
            "rows": len(held),
            "group_rows": int(member[held].sum()),
            "r2": 1.0 - error / variation if variation > 0 else np.nan,
            "log_loss": _mean(log_loss(predicted, z[held])[own], w),
            "mean_log_loss": np.nan
            if predicted.values is None
            else _mean(log_loss(_frequencies(z_train, w_train, len(z_held)), z_held), w),
            "error": error,
            "variation": variation,
        }


def _mean(values: FloatArray, weight: FloatArray) -> float:
    total = weight.sum()
    return float(np.sum(weight * values) / total) if total > 0 else float("nan")


def _frequencies(z: FloatArray, weight: FloatArray, n: int) -> GroupPrediction:
    values, codes = np.unique(z, return_inverse=True)
    total = weight.sum()
    share = np.bincount(codes, weight) / (total if total > 0 else np.nan)  # all of them may have weight zero
    return GroupPrediction(np.full(n, share @ values), values, np.broadcast_to(share, (n, len(values))))


def _group_auc(sample: Sample, probabilities: FloatArray, predicted: BoolArray) -> float | None:
    """Largest area under the curve of one group against the others; with two groups both are the same."""
    mean, group, weight = probabilities[:, predicted].mean(axis=0), sample.group[predicted], sample.weight[predicted]
    if np.isnan(mean).any():
        return None
    codes = range(1 if len(sample.groups) == 2 else len(sample.groups))
    return max(float(roc_auc_score(group == g, mean[:, g], sample_weight=weight)) for g in codes)


def _warn_if_weak(sample: Sample, quality: pd.DataFrame, learner: str) -> tuple[Label, ...]:
    """Warn of groups whose nuisance is predicted no better than by its mean, and return them."""
    weak = []
    for label in sample.groups:
        own = quality[[group == label for group in quality["group"]]]
        variation = own["variation"].sum()
        r2 = 1.0 - own["error"].sum() / variation if variation > 0 else np.nan
        if r2 <= NO_BETTER:
            weak.append(label)
            warnings.warn(
                f"The learner {learner!r} predicts the nuisance of group {label!r} no better than its mean "
                f"(out-of-fold R2 {r2:.4f}): the estimated frontier may lie far inside the true one. Try "
                "another learner, other covariates or more rows.",
                WeakLearnerWarning,
                stacklevel=3,
            )
    return tuple(weak)
