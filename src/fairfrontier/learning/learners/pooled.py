"""Learners that share strength between groups: one model of the loss difference that sees the group."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from ...data.reading import Table
from .base import (
    Component,
    FittedPart,
    Learner,
    Prediction,
    TrainingRows,
    group_probabilities,
    group_product,
    group_target,
    with_group_classes,
)
from .encoding import GroupedTable, PooledColumns
from .estimators import Family, FittedModel
from .predictions import GroupPrediction


def pooled_family(family: Family, *, interactions: bool) -> Family:
    """Return the same kind of model for rows that carry their group; its models are pipelines that start with columns.

    Parameters
    ----------
    family : Family
        The kind of model.
    interactions : bool
        As for `PooledColumns`.
    """

    def seeing(model: Pipeline | None) -> Pipeline | None:
        if model is None:
            return None
        (name, columns), *rest = model.steps
        return Pipeline([(name, PooledColumns(**columns.get_params(), interactions=interactions)), *rest])

    return replace(family, classifier=seeing(family.classifier), regressor=seeing(family.regressor))


def grouped(rows: TrainingRows) -> GroupedTable:
    """Return the covariates of training rows with their groups."""
    return GroupedTable(rows.X, rows.group, rows.n_groups)


def predict_each_group(model: FittedModel, X: Table, n_groups: int) -> tuple[GroupPrediction, ...]:
    """Predict the loss difference at the rows of X as if they belonged to each group in turn."""
    n = X.shape[0]
    return tuple(model.predict(GroupedTable(X, np.full(n, code), n_groups)) for code in range(n_groups))


@dataclass(frozen=True, slots=True)
class PooledPart:
    """A model of the loss difference that sees the group."""

    model: FittedModel
    n_groups: int

    def predict(self, X: Table) -> tuple[GroupPrediction, ...]:
        """Predict the loss difference within each group at the rows of X."""
        return predict_each_group(self.model, X, self.n_groups)


@dataclass(frozen=True, slots=True)
class PooledLearner(Learner):
    """Dtheta^g(x) = P(G = g | x) E[dl | x, G = g], the second factor from one model of all groups' rows.

    Attributes
    ----------
    name : str
        Name shown to users.
    family : Family
        The kind of model of the group; its classifier is used.
    pooled : Family
        The same kind for rows that carry their group; see `pooled_family`.
    """

    name: str
    family: Family
    pooled: Family

    def components(self, n_groups: int) -> tuple[Component, ...]:
        """The model of the group, and the model of the loss difference."""
        return ("group", "all groups")

    def fit(
        self, component: Component, rows: TrainingRows, seed: np.random.SeedSequence, tuning: Any = None
    ) -> FittedPart:
        """Fit the model of the group, or of the loss difference."""
        outcomes = (rows.dl, rows.group)
        if component == "group":
            family = with_group_classes(self.family, rows.n_groups).knowing(rows.X, outcomes, rows.weight)
            return family.fit(rows.X, group_target(rows), rows.weight, seed, clusters=rows.clusters)
        model = self.pooled.knowing(rows.X, outcomes, rows.weight).fit(
            grouped(rows), rows.dl, rows.weight, seed, clusters=rows.clusters
        )
        return PooledPart(model, rows.n_groups)

    def combine(self, parts: Mapping[Component, Any]) -> Prediction:
        """Multiply the factors."""
        within: tuple[GroupPrediction, ...] = parts["all groups"]
        p = group_probabilities(parts["group"], len(within))
        return Prediction(tuple(group_product(p[:, g], own) for g, own in enumerate(within)), p, within=within)

    @property
    def factored(self) -> bool:
        """Yes."""
        return True
