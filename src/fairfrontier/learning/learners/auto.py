"""The default learner: candidates for each factor, weighted by their errors on inner folds of the training rows."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...arrays import FloatArray, IntArray
from ...data.reading import Table
from .base import (
    CandidateScore,
    Component,
    FittedPart,
    Learner,
    Prediction,
    TrainingRows,
    child_seeds,
    group_probabilities,
    group_product,
    group_target,
    with_group_classes,
)
from .composite import mixture, simplex_weights
from .estimators import Family, FittedModel, GroupPrediction, log_loss, probabilities_of
from .pooled import grouped, predict_each_group

ROWS_OF_OTHERS = 200
"""When candidates are weighted for one group, the rows of all others together count as at most this many."""
GROUP, SEPARATE, POOLED = "group", "separate", "pooled"
"""What a component models: the group; the loss difference in each group by itself; the same in one model of all."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A kind of model among the candidates.

    Attributes
    ----------
    name : str
        Name shown to users.
    family : Family
        The kind of model, fitted to each group by itself.
    pooled : Family
        The same for rows that carry their group.
    """

    name: str
    family: Family
    pooled: Family


@dataclass(frozen=True, slots=True)
class Evidence:
    """What the weight of one component rests on.

    Attributes
    ----------
    inner : GroupPrediction
        At the training rows (for the loss difference within a row's own group), each predicted by a model that has not
        seen it.
    target : (n_train,) array
        What ``inner`` predicts.
    group : (n_train,) integer array
        Groups of the training rows.
    n_groups : int
        Number of groups.
    weight : (n_train,) array
        Weights of the training rows.
    """

    inner: GroupPrediction
    target: FloatArray
    group: IntArray
    n_groups: int
    weight: FloatArray

    @classmethod
    def of(cls, inner: GroupPrediction, target: FloatArray, rows: TrainingRows) -> "Evidence":
        """Keep of the training rows what the weights of candidates need."""
        weight = np.ones(len(target)) if rows.weight is None else rows.weight
        return cls(inner, target, rows.group, rows.n_groups, weight)


@dataclass(frozen=True, slots=True)
class Weighing:
    """Weights of all candidates.

    Attributes
    ----------
    of_group : (k,) array
        Of the models of the group.
    of_loss : (G, 2 k) array
        Of the models of the loss difference, for each group.
    scores : tuple of CandidateScore
        How each of them did.
    """

    of_group: FloatArray
    of_loss: FloatArray
    scores: tuple[CandidateScore, ...]


@dataclass(frozen=True, slots=True)
class Validated:
    """What one component predicts.

    Attributes
    ----------
    predictions : tuple of GroupPrediction
        At the rows asked for: of the group, or of the loss difference within each group.
    basis : Evidence or Weighing
        What its weight rests on, or the weights of all components.
    """

    predictions: tuple[GroupPrediction, ...]
    basis: Evidence | Weighing


@dataclass(frozen=True, slots=True)
class _ValidatedPart:
    """Fitted models of one component: one, one for each group, or one of all groups."""

    models: tuple[FittedModel, ...]
    basis: Evidence | Weighing
    pooled_groups: int | None = None

    def predict(self, X: Table) -> Validated:
        """Predict at the rows of X, and hand on what the weights rest on."""
        if self.pooled_groups is not None:
            found = predict_each_group(self.models[0], X, self.pooled_groups)
        else:
            found = tuple(model.predict(X) for model in self.models)
        return Validated(found, self.basis)


@dataclass(frozen=True, slots=True)
class AutoLearner(Learner):
    """Dtheta^g(x) = P(G = g | x) E[dl | x, G = g], each factor a weighted mean of candidates.

    The group is modelled by every kind of model, the loss difference by every kind twice: in each group by itself, and
    in one model of all groups. Weights are non-negative, sum to one and minimise the squared error of inner
    out-of-fold predictions of the training rows, so held-out rows choose nothing.

    Attributes
    ----------
    name : str
        Name shown to users.
    candidates : tuple of Candidate
        Kinds of models, with different names.
    """

    name: str
    candidates: tuple[Candidate, ...]

    @property
    def candidate_names(self) -> tuple[str, ...]:
        """Every kind of model, in each group by itself and in one model of all groups."""
        return tuple(f"{what} {kind.name}" for what in (SEPARATE, POOLED) for kind in self.candidates)

    def components(self, n_groups: int) -> tuple[Component, ...]:
        """For each kind of model: the group, the loss difference in separate models, and in one."""
        return tuple(f"{what} {kind.name}" for what in (GROUP, SEPARATE, POOLED) for kind in self.candidates)

    def fit(
        self, component: Component, rows: TrainingRows, seed: np.random.SeedSequence, tuning: Any = None
    ) -> FittedPart:
        """Fit one candidate for one factor, and predict the training rows on inner folds."""
        what, kind = self._find(component)
        outcomes = (rows.dl, rows.group)
        own = (kind.pooled if what == POOLED else kind.family).knowing(rows.X, outcomes, rows.weight)
        if what == GROUP:
            family, target = with_group_classes(own, rows.n_groups), group_target(rows)
            model, inner = family.fit_validated(rows.X, target, rows.weight, seed, rows.clusters)
            return _ValidatedPart((model,), Evidence.of(inner, target, rows))
        if what == POOLED:
            model, inner = own.fit_validated(grouped(rows), rows.dl, rows.weight, seed, rows.clusters)
            return _ValidatedPart((model,), Evidence.of(inner, rows.dl, rows), rows.n_groups)
        models, inner = _fit_separately(own, rows, seed)
        return _ValidatedPart(models, Evidence.of(inner, rows.dl, rows))

    def settled(self, parts: Mapping[Component, Any]) -> Mapping[Component, Any]:
        """Weigh the candidates, and keep the weights instead of what they rest on."""
        weighing = self._weigh(parts)
        return {name: replace(part, basis=weighing) for name, part in parts.items()}

    def combine(self, parts: Mapping[Component, Any]) -> Prediction:
        """Weigh the candidates of each factor, if they are not weighed yet, and multiply the factors."""
        of_group: list[Validated] = [parts[f"{GROUP} {kind.name}"] for kind in self.candidates]
        of_loss: list[Validated] = [parts[name] for name in self.candidate_names]
        n_groups = len(of_loss[0].predictions)
        weighing = self._weigh(parts)
        p = np.sum(
            [
                w * group_probabilities(part.predictions[0], n_groups)
                for w, part in zip(weighing.of_group, of_group, strict=True)
            ],
            axis=0,
        )
        within = tuple(
            mixture([part.predictions[code] for part in of_loss], weights)
            for code, weights in enumerate(weighing.of_loss)
        )
        groups = tuple(group_product(p[:, code], own) for code, own in enumerate(within))
        return Prediction(groups, p, candidates=weighing.scores, within=within)

    @property
    def factored(self) -> bool:
        """Yes."""
        return True

    def _weigh(self, parts: Mapping[Component, Any]) -> Weighing:
        """Return the weights of all candidates, found from their errors at the training rows unless known already."""
        known = next(iter(parts.values())).basis
        if isinstance(known, Weighing):
            return known
        of_group: dict[str, Evidence] = {kind.name: parts[f"{GROUP} {kind.name}"].basis for kind in self.candidates}
        of_loss: dict[str, Evidence] = {name: parts[name].basis for name in self.candidate_names}
        weights = _weights_of_group(list(of_group.values()))
        scores = _scores(of_group, weights, None)
        each = [_weights_of_loss(list(of_loss.values()), code) for code in range(known.n_groups)]
        for code, own in enumerate(each):
            scores += _scores(of_loss, own, code)
        return Weighing(weights, np.array(each), tuple(scores))

    def _find(self, component: Component) -> tuple[str, Candidate]:
        """Return what a component models, and by which kind of model."""
        what, _, name = str(component).partition(" ")
        return what, next(kind for kind in self.candidates if kind.name == name)


def _fit_separately(
    family: Family, rows: TrainingRows, seed: np.random.SeedSequence
) -> tuple[tuple[FittedModel, ...], GroupPrediction]:
    """Fit a model of the loss difference in each group; its inner predictions at the rows of that group."""
    values = np.unique(rows.dl)
    n = len(rows.dl)
    mean, probabilities = np.zeros(n), np.zeros((n, len(values)))
    models, classified = [], True
    for code, child in enumerate(child_seeds(seed, rows.n_groups)):
        own = np.flatnonzero(rows.group == code)
        members = rows.take(own)
        model, inner = family.fit_validated(members.X, members.dl, members.weight, child, members.clusters)
        models.append(model)
        mean[own] = inner.mean
        if inner.values is None or inner.probabilities is None:
            classified = False
        else:
            probabilities[own] = probabilities_of(values, inner)
    if not classified:
        return tuple(models), GroupPrediction(mean)
    return tuple(models), GroupPrediction(mean, values, probabilities)


def _weights_of_group(found: list[Evidence]) -> FloatArray:
    """Weights of the candidates for P(G = g | x): one error for every row and group, the last group excepted."""
    n_groups = found[0].n_groups
    inner = [group_probabilities(part.inner, n_groups)[:, :-1].ravel() for part in found]
    member = (found[0].group[:, None] == np.arange(n_groups - 1)).astype(np.float64).ravel()
    return simplex_weights(np.column_stack(inner), member, np.repeat(found[0].weight, n_groups - 1))


def _weights_of_loss(found: list[Evidence], code: int) -> FloatArray:
    """Weights of the candidates for E[dl | x, G = g]: by the rows of that group, and by a few of the others."""
    own = found[0].group == code
    others = int(np.count_nonzero(~own))
    weight = found[0].weight * np.where(own, 1.0, min(1.0, ROWS_OF_OTHERS / max(others, 1)))
    return simplex_weights(np.column_stack([part.inner.mean for part in found]), found[0].target, weight)


def _scores(found: Mapping[str, Evidence], weights: FloatArray, code: int | None) -> list[CandidateScore]:
    """Inner loss and weight of every candidate."""
    classified = all(part.inner.values is not None for part in found.values())
    scores = []
    for (name, part), weight in zip(found.items(), weights, strict=True):
        own = np.ones(len(part.target), dtype=bool) if code is None else part.group == code
        each = log_loss(part.inner, part.target) if classified else (part.inner.mean - part.target) ** 2
        total = part.weight[own].sum()
        loss = float((part.weight * each)[own].sum() / total) if total > 0 else float("nan")
        scores.append(CandidateScore(code, name, loss, float(weight)))
    return scores
