"""What a learner is, and the two plain kinds: one model per group, and factored."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeAlias

import numpy as np

from ...arrays import FloatArray, IntArray
from ...data.reading import Table
from ...errors import InputError
from .abilities import has_gaps, weight_keywords
from .estimators import Family, take_rows
from .predictions import GroupPrediction

Component: TypeAlias = int | str
"""A piece of a learner: the code of the group that it models, or a name."""


@dataclass(frozen=True, slots=True)
class TrainingRows:
    """Rows a learner is fitted on.

    Attributes
    ----------
    X : data frame or (n, p) array
        Covariates.
    dl : (n,) array
        Loss differences loss(1, y) - loss(0, y).
    group : (n,) integer array
        Code of every row's group.
    n_groups : int
        Number of groups; some may be absent from these rows.
    weight : (n,) array or None
        Sample weights; None when the user gave none.
    clusters : (n,) integer array or None
        Numbers of the clusters, whose rows belong into the same inner fold; None when the user gave none.
    """

    X: Table
    dl: FloatArray
    group: IntArray
    n_groups: int
    weight: FloatArray | None = None
    clusters: IntArray | None = None

    def z(self, code: int) -> FloatArray:
        """Return z^g = dl 1{G = g}, whose conditional mean is the nuisance of the group with this code."""
        return np.where(self.group == code, self.dl, 0.0)

    def take(self, rows: IntArray) -> "TrainingRows":
        """Select rows by position."""
        weight = None if self.weight is None else self.weight[rows]
        clusters = None if self.clusters is None else self.clusters[rows]
        return TrainingRows(take_rows(self.X, rows), self.dl[rows], self.group[rows], self.n_groups, weight, clusters)

    def members(self, code: int) -> "TrainingRows":
        """Select the rows of one group."""
        return self.take(np.flatnonzero(self.group == code))


@dataclass(frozen=True, slots=True)
class CandidateScore:
    """How one candidate of a learner did on inner folds of the training rows, and what weight it got.

    Attributes
    ----------
    code : int or None
        The group within which it models the loss difference; None if it models the group.
    name : str
        The candidate.
    loss : float
        Mean log loss, or squared error where a candidate gives no probabilities.
    weight : float
        Its weight in the mean of all candidates.
    """

    code: int | None
    name: str
    loss: float
    weight: float


@dataclass(frozen=True, slots=True)
class Prediction:
    """A learner's predictions for n rows.

    Attributes
    ----------
    groups : tuple of GroupPrediction (G,)
        Of z^g, group by group; their means are the nuisance functions.
    group_probabilities : (n, G) array or None
        P(G = g | x), for learners that model it.
    details : tuple of (code, quantity, value)
        Numbers worth keeping about the fit, with the code of the group that they belong to.
    candidates : tuple of CandidateScore
        For learners that weigh candidates: how each of them did.
    within : tuple of GroupPrediction (G,) or None
        Of dl within each group, for learners that model it as a factor; see `within_groups`.
    """

    groups: tuple[GroupPrediction, ...]
    group_probabilities: FloatArray | None = None
    details: tuple[tuple[int, str, float], ...] = ()
    candidates: tuple[CandidateScore, ...] = ()
    within: tuple[GroupPrediction, ...] | None = None

    @property
    def delta_theta(self) -> FloatArray:
        """The nuisance functions (n, G) at the rows, one column per group."""
        return np.column_stack([group.mean for group in self.groups])

    @property
    def within_means(self) -> FloatArray | None:
        """E[dl | x, G = g] at the rows (n, G), for learners that model it as a factor."""
        return None if self.within is None else np.column_stack([group.mean for group in self.within])


class FittedPart(Protocol):
    """A fitted component of a learner."""

    def predict(self, X: Table) -> Any:
        """Return what `Learner.combine` needs from this component at the rows of X."""
        ...


class Learner(ABC):
    """Predicts Dtheta^g(x) = E[dl 1{G = g} | x] for every group g.

    The work is split into components that are fitted independently of each other, so that they can run in parallel, and
    combined afterwards. Learners are never changed by fitting.

    Attributes
    ----------
    name : str
        How the learner is called in tables and messages.
    tunes_once : bool
        Whether `tune` is to be called once per sample, before the folds.
    """

    name: str
    tunes_once: bool = False

    @property
    def takes_gaps(self) -> bool:
        """Whether missing covariates are fine, as far as the learner knows."""
        return True

    @property
    def factored(self) -> bool:
        """Whether E[dl | x, G = g] is a factor of its predictions, and handed on with them."""
        return False

    @property
    def sees_group(self) -> bool:
        """Whether it predicts E[dl | x, G = g] instead of Dtheta^g(x), for rules that see the group."""
        return False

    @property
    def candidate_names(self) -> tuple[str, ...]:
        """Candidates for the loss difference that the learner weighs; none for most learners."""
        return ()

    @abstractmethod
    def components(self, n_groups: int) -> tuple[Component, ...]:
        """Return the components for samples of ``n_groups`` groups: names, or the code of the group modelled."""

    def check(self, rows: TrainingRows) -> None:  # noqa: B027 (most learners accept any rows)
        """Refuse, with an `InputError`, rows that this learner cannot be fitted on."""

    def tune(self, component: Component, rows: TrainingRows, seed: np.random.SeedSequence) -> Any:
        """Return tuning parameters of a component to be handed to `fit`, or None."""
        return None

    @abstractmethod
    def fit(
        self, component: Component, rows: TrainingRows, seed: np.random.SeedSequence, tuning: Any = None
    ) -> FittedPart:
        """Fit one component."""

    @abstractmethod
    def combine(self, parts: Mapping[Component, Any]) -> Prediction:
        """Combine what the fitted components predicted for the same rows."""


@dataclass(frozen=True, slots=True)
class FittedLearner:
    """A learner fitted on all rows given, ready for new ones."""

    learner: Learner
    parts: Mapping[Component, FittedPart]

    def predict(self, X: Table) -> Prediction:
        """Predict at the rows of X."""
        return self.learner.combine({name: part.predict(X) for name, part in self.parts.items()})


def fit_learner(
    learner: Learner,
    rows: TrainingRows,
    seed: np.random.SeedSequence,
    tuning: Mapping[Component, Any] | None = None,
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
    components = learner.components(rows.n_groups)
    seeds = child_seeds(seed, len(components))
    return FittedLearner(
        learner,
        {name: learner.fit(name, rows, child, tuning.get(name)) for name, child in zip(components, seeds, strict=True)},
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


def refuse_gaps(learner: Learner, rows: TrainingRows) -> None:
    """Refuse missing covariates for a learner that does not take them."""
    if not learner.takes_gaps and has_gaps(rows.X):
        raise InputError(
            "missing-values",
            f"Covariates have missing values (NaN), and the learner {learner.name!r} does not take them. Put an "
            'imputer or `NumericColumns` in front of it, choose a learner by name, or pass missing="drop".',
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

    def components(self, n_groups: int) -> tuple[Component, ...]:
        """One model per group."""
        return tuple(range(n_groups))

    @property
    def takes_gaps(self) -> bool:
        """Whether the models take missing covariates."""
        return self.family.takes_gaps

    def check(self, rows: TrainingRows) -> None:
        """Refuse too many distinct values for a classifier, and weights or gaps that cannot be used."""
        refuse_gaps(self, rows)
        n_values = max(len(np.unique(rows.z(code))) for code in range(rows.n_groups))
        estimator = self.family.choose(n_values)
        if estimator is None:
            raise InputError(
                "bad-learner",
                f"The learner {self.name!r} models each value of the loss difference as a class, at most "
                f"{self.family.max_values} of them, and there are {n_values}; use a regression learner, for "
                "example learner='lasso'.",
            )
        refuse_without_weights(self.name, estimator, rows)

    def tune(self, component: Component, rows: TrainingRows, seed: np.random.SeedSequence) -> Any:
        """Tune the model of one group."""
        family = self.family.knowing(rows.X, (rows.dl, rows.group), rows.weight)
        return family.tune(rows.X, rows.z(group_code(component)), rows.weight, seed, rows.clusters)

    def fit(
        self, component: Component, rows: TrainingRows, seed: np.random.SeedSequence, tuning: Any = None
    ) -> FittedPart:
        """Fit the model of one group."""
        family = self.family.knowing(rows.X, (rows.dl, rows.group), rows.weight)
        return family.fit(rows.X, rows.z(group_code(component)), rows.weight, seed, tuning, rows.clusters)

    def combine(self, parts: Mapping[Component, Any]) -> Prediction:
        """Put the groups side by side."""
        return Prediction(tuple(parts[code] for code in range(len(parts))))


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

    def components(self, n_groups: int) -> tuple[Component, ...]:
        """The model of the group, and one of the loss difference within each group."""
        return ("group", *range(n_groups))

    @property
    def takes_gaps(self) -> bool:
        """Whether the models take missing covariates."""
        return self.family.takes_gaps

    def check(self, rows: TrainingRows) -> None:
        """Refuse more than two groups without a classifier, which alone can model them, and gaps not taken."""
        refuse_gaps(self, rows)
        if rows.n_groups > 2 and self.family.classifier is None:
            raise InputError(
                "bad-learner",
                f"The learner {self.name!r} has no classifier, and there are {rows.n_groups} groups to be modelled: "
                "give its family a classifier, or choose two groups.",
            )

    def tune(self, component: Component, rows: TrainingRows, seed: np.random.SeedSequence) -> Any:
        """Tune the model of the group, or of the loss difference within one group."""
        used, v = _factor(component, rows)
        return self._family(component, rows).tune(used.X, v, used.weight, seed, used.clusters)

    def fit(
        self, component: Component, rows: TrainingRows, seed: np.random.SeedSequence, tuning: Any = None
    ) -> FittedPart:
        """Fit the model of the group, or of the loss difference within one group."""
        used, v = _factor(component, rows)
        return self._family(component, rows).fit(used.X, v, used.weight, seed, tuning, used.clusters)

    def combine(self, parts: Mapping[Component, Any]) -> Prediction:
        """Multiply the factors."""
        p = group_probabilities(parts["group"], len(parts) - 1)
        within = tuple(parts[code] for code in range(p.shape[1]))
        return Prediction(tuple(group_product(p[:, g], own) for g, own in enumerate(within)), p, within=within)

    @property
    def factored(self) -> bool:
        """Yes."""
        return True

    def _family(self, component: Component, rows: TrainingRows) -> Family:
        """Return the kind of model of a factor: groups are classes, however many there are."""
        family = self.family.knowing(rows.X, (rows.dl, rows.group), rows.weight)
        return with_group_classes(family, rows.n_groups) if component == "group" else family


def with_group_classes(family: Family, n_groups: int) -> Family:
    """Return the kind of model for the group itself: groups are classes, however many there are."""
    return replace(family, max_values=n_groups) if n_groups > family.max_values else family


def group_target(rows: TrainingRows) -> FloatArray:
    """Return what a model of the group predicts: G - 1 - g; of two groups 1 for the first one, 0 for the other."""
    return (rows.n_groups - 1 - rows.group).astype(np.float64)


def group_code(component: Component) -> int:
    """Return the code of the group that a component models."""
    if isinstance(component, str):
        raise TypeError(f"the component {component!r} is not the model of a group")
    return component


def _factor(component: Component, rows: TrainingRows) -> tuple[TrainingRows, FloatArray]:
    """Return the rows that a factor is learned from, and the variable it models."""
    if component == "group":
        return rows, group_target(rows)
    members = rows.members(group_code(component))
    return members, members.dl


def group_probabilities(model: GroupPrediction, n_groups: int) -> FloatArray:
    """P(G = g | x) as columns (n, G), from a model of G - 1 - g; the last group takes what the others leave."""
    p = np.zeros((len(model.mean), n_groups))
    if n_groups == 2:
        p[:, 0] = model.mean
    elif model.values is None or model.probabilities is None:
        raise TypeError("a model of more than two groups must be a classifier")
    else:
        for value, column in zip(model.values, model.probabilities.T, strict=True):
            p[:, n_groups - 1 - int(value)] += column
    p[:, -1] = 1.0 - p[:, :-1].sum(axis=1)
    return p


def group_product(p: FloatArray, within: GroupPrediction) -> GroupPrediction:
    """Distribution of z^g = dl 1{G = g} from p = P(G = g | x) and that of dl within the group."""
    mean = p * within.mean
    if within.values is None or within.probabilities is None:
        return GroupPrediction(mean)
    # P(z = v | x) = p P(dl = v | x, g), plus 1 - p at v = 0
    values = np.append(within.values, 0.0)
    probabilities = np.column_stack([p[:, None] * within.probabilities, 1.0 - p])
    return GroupPrediction(mean, values, probabilities)
