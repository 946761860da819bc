"""What a learner is, and the two plain kinds: one model per group, and factored."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from ...arrays import ArrayLike, BoolArray, FloatArray, IntArray
from ...errors import InputError
from .estimators import Family, GroupPrediction, take_rows, weight_keywords


@dataclass(frozen=True, slots=True)
class TrainingRows:
    """Rows a learner is fitted on.

    Attributes
    ----------
    X : data frame or (n, p) array
        Covariates.
    dl : (n,) array
        Loss differences loss(1, y) - loss(0, y).
    is_r : (n,) boolean array
        True for group r.
    weight : (n,) array or None
        Sample weights; None when the user gave none.
    clusters : (n,) integer array or None
        Numbers of the clusters, whose rows belong into the same inner fold; None when the user gave none.
    """

    X: Any
    dl: FloatArray
    is_r: BoolArray
    weight: FloatArray | None = None
    clusters: IntArray | None = None

    def z(self, group: str) -> FloatArray:
        """Return z^g = dl 1{G = g}, whose conditional mean is the nuisance of group "r" or "b"."""
        return np.where(self.is_r == (group == "r"), self.dl, 0.0)

    def take(self, rows: IntArray) -> "TrainingRows":
        """Select rows by position."""
        weight = None if self.weight is None else self.weight[rows]
        clusters = None if self.clusters is None else self.clusters[rows]
        return TrainingRows(take_rows(self.X, rows), self.dl[rows], self.is_r[rows], weight, clusters)

    def members(self, group: str) -> "TrainingRows":
        """Select the rows of group "r" or "b"."""
        return self.take(np.flatnonzero(self.is_r == (group == "r")))


@dataclass(frozen=True, slots=True)
class Prediction:
    """A learner's predictions for n rows.

    Attributes
    ----------
    r, b : GroupPrediction
        Of z^r and z^b; their means are the nuisance pair.
    group_probability : (n,) array or None
        P(G = r | x), for learners that model it.
    details : tuple of (group, quantity, value)
        Numbers worth keeping about the fit; group is "r" or "b".
    """

    r: GroupPrediction
    b: GroupPrediction
    group_probability: FloatArray | None = None
    details: tuple[tuple[str, str, float], ...] = ()

    @property
    def delta_theta(self) -> FloatArray:
        """The nuisance pairs (n, 2), columns (r, b)."""
        return np.column_stack([self.r.mean, self.b.mean])


class FittedPart(Protocol):
    """A fitted component of a learner."""

    def predict(self, X: ArrayLike) -> Any:
        """Return what `Learner.combine` needs from this component at the rows of X."""
        ...


class Learner(ABC):
    """Predicts Dtheta^g(x) = E[dl 1{G = g} | x] for both groups.

    The work is split into named components that are fitted independently of each other, so that they
    can run in parallel, and combined afterwards. Learners are never changed by fitting.

    Attributes
    ----------
    name : str
        How the learner is called in tables and messages.
    components : tuple of str
        Names of the components; "r" and "b" are shown to users as the labels of the groups.
    tunes_once : bool
        Whether `tune` is to be called once per sample, before the folds.
    """

    name: str
    components: tuple[str, ...]
    tunes_once: bool = False

    def check(self, rows: TrainingRows) -> None:  # noqa: B027 (most learners accept any rows)
        """Refuse, with an `InputError`, rows that this learner cannot be fitted on."""

    def tune(self, component: str, rows: TrainingRows, seed: np.random.SeedSequence) -> Any:
        """Return tuning parameters of a component to be handed to `fit`, or None."""
        return None

    @abstractmethod
    def fit(self, component: str, rows: TrainingRows, seed: np.random.SeedSequence, tuning: Any = None) -> FittedPart:
        """Fit one component."""

    @abstractmethod
    def combine(self, parts: Mapping[str, Any]) -> Prediction:
        """Combine what the fitted components predicted for the same rows."""


@dataclass(frozen=True, slots=True)
class FittedLearner:
    """A learner fitted on all rows given, ready for new ones."""

    learner: Learner
    parts: Mapping[str, FittedPart]

    def predict(self, X: ArrayLike) -> Prediction:
        """Predict at the rows of X."""
        return self.learner.combine({name: part.predict(X) for name, part in self.parts.items()})


def fit_learner(
    learner: Learner,
    rows: TrainingRows,
    seed: np.random.SeedSequence,
    tuning: Mapping[str, Any] | None = None,
) -> FittedLearner:
    """Fit every component of a learner on the same rows.

    Parameters
    ----------
    learner : Learner
        The learner.
    rows : TrainingRows
        What to fit on.
    seed : numpy.random.SeedSequence
        Source of randomness; the same seed gives the same fit.
    tuning : mapping, optional
        Tuning parameters by component.

    Returns
    -------
    FittedLearner
    """
    tuning = tuning or {}
    seeds = child_seeds(seed, len(learner.components))
    return FittedLearner(
        learner,
        {
            name: learner.fit(name, rows, child, tuning.get(name))
            for name, child in zip(learner.components, seeds, strict=True)
        },
    )


def child_seeds(seed: np.random.SeedSequence, n: int) -> list[np.random.SeedSequence]:
    """Return the first n children of a seed, the same ones however often they are asked for."""
    return [
        np.random.SeedSequence(seed.entropy, spawn_key=(*seed.spawn_key, i), pool_size=seed.pool_size) for i in range(n)
    ]


def refuse_without_weights(name: str, estimator: Any, rows: TrainingRows) -> None:
    """Refuse weighted rows for an estimator whose `fit` takes no sample weights."""
    if rows.weight is not None and not weight_keywords(estimator):
        raise InputError(
            "bad-learner",
            f"Sample weights were given, but the learner {name!r} cannot use them: the fit method of "
            f"{type(estimator).__name__} takes no sample_weight. Choose another learner or leave out the "
            "weights.",
        )


@dataclass(frozen=True, slots=True)
class DirectLearner(Learner):
    """One model of z^g per group: of its few values, or of its mean.

    Attributes
    ----------
    name : str
        Name shown to users.
    family : Family
        The kind of model.
    tunes_once : bool
        Tune once per sample instead of in every fold.
    """

    name: str
    family: Family
    tunes_once: bool = False
    components = ("r", "b")

    def check(self, rows: TrainingRows) -> None:
        """Refuse too many distinct values for a classifier, and weights that cannot be used."""
        n_values = max(len(np.unique(rows.z(group))) for group in ("r", "b"))
        estimator = self.family.choose(n_values)
        if estimator is None:
            raise InputError(
                "bad-learner",
                f"The learner {self.name!r} models each value of the loss difference as a class, at most "
                f"{self.family.max_values} of them, and there are {n_values}; use a regression learner, for "
                "example learner='lasso'.",
            )
        refuse_without_weights(self.name, estimator, rows)

    def tune(self, component: str, rows: TrainingRows, seed: np.random.SeedSequence) -> Any:
        """Tune the model of one group."""
        return self.family.tune(rows.X, rows.z(component), rows.weight, seed, rows.clusters)

    def fit(self, component: str, rows: TrainingRows, seed: np.random.SeedSequence, tuning: Any = None) -> FittedPart:
        """Fit the model of one group."""
        return self.family.fit(rows.X, rows.z(component), rows.weight, seed, tuning, rows.clusters)

    def combine(self, parts: Mapping[str, Any]) -> Prediction:
        """Put the two groups side by side."""
        return Prediction(parts["r"], parts["b"])


@dataclass(frozen=True, slots=True)
class FactoredLearner(Learner):
    """Dtheta^g(x) = P(G = g | x) E[dl | x, G = g], each factor with its own model.

    Attributes
    ----------
    name : str
        Name shown to users.
    family : Family
        The kind of model; its classifier also models the group.
    tunes_once : bool
        Tune once per sample instead of in every fold.
    """

    name: str
    family: Family
    tunes_once: bool = False
    components = ("group", "r", "b")

    def tune(self, component: str, rows: TrainingRows, seed: np.random.SeedSequence) -> Any:
        """Tune the model of the group, or of the loss difference within one group."""
        used, v = _factor(component, rows)
        return self.family.tune(used.X, v, used.weight, seed, used.clusters)

    def fit(self, component: str, rows: TrainingRows, seed: np.random.SeedSequence, tuning: Any = None) -> FittedPart:
        """Fit the model of the group, or of the loss difference within one group."""
        used, v = _factor(component, rows)
        return self.family.fit(used.X, v, used.weight, seed, tuning, used.clusters)

    def combine(self, parts: Mapping[str, Any]) -> Prediction:
        """Multiply the factors."""
        p = parts["group"].mean
        return Prediction(_product(p, parts["r"]), _product(1.0 - p, parts["b"]), p)


def _factor(component: str, rows: TrainingRows) -> tuple[TrainingRows, FloatArray]:
    """Return the rows that a factor is learned from, and the variable it models."""
    if component == "group":
        return rows, rows.is_r.astype(np.float64)
    members = rows.members(component)
    return members, members.dl


def _product(p: FloatArray, within: GroupPrediction) -> GroupPrediction:
    """Distribution of z^g = dl 1{G = g} from p = P(G = g | x) and that of dl within the group."""
    mean = p * within.mean
    if within.values is None or within.probabilities is None:
        return GroupPrediction(mean)
    # P(z = v | x) = p P(dl = v | x, g), plus 1 - p at v = 0
    values = np.append(within.values, 0.0)
    probabilities = np.column_stack([p[:, None] * within.probabilities, 1.0 - p])
    return GroupPrediction(mean, values, probabilities)
