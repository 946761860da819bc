"""Learners made of other learners: partially linear, and stacked."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from scipy.optimize import nnls

from ...arrays import FloatArray, IntArray
from ...data.columns import numbers_of
from ...data.reading import Table
from ...errors import InputError
from ..folds import deal_training_rows
from .base import (
    Component,
    FittedLearner,
    FittedPart,
    Learner,
    Prediction,
    TrainingRows,
    child_seeds,
    fit_learner,
    refuse_gaps,
    refuse_without_weights,
)
from .estimators import Family, FittedModel
from .predictions import GroupPrediction

LINEAR = ("first covariate", "second covariate")
"""Components of a partially linear learner that model its two linear covariates."""


def inner_folds(rows: TrainingRows, n_folds: int, seed: np.random.SeedSequence) -> list[IntArray]:
    """Split training rows into folds, balanced by group and by the loss difference within groups.

    Clusters stay together; there may be fewer folds than asked for.
    """
    values, codes = np.unique(rows.dl, return_inverse=True)
    strata = codes + len(values) * (rows.n_groups - 1 - rows.group)
    folds = deal_training_rows(strata, n_folds, np.random.default_rng(seed), rows.clusters)
    return [np.flatnonzero(folds == fold) for fold in range(folds.max(initial=-1) + 1)]


def _others(n: int, rows: IntArray) -> IntArray:
    keep = np.ones(n, dtype=bool)
    keep[rows] = False
    return np.flatnonzero(keep)


# --- partially linear ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ResidualPrediction:
    """One variable v after removing what the other covariates w explain.

    Attributes
    ----------
    training : (n_train,) array
        v - E[v | w] in the training rows, each predicted without its own inner fold.
    weight : (n_train,) array or None
        Weights of the training rows.
    expected : (n,) array
        E[v | w] at the rows asked for.
    observed : (n,) array or None
        v itself at the rows asked for, when it is a covariate.
    """

    training: FloatArray
    weight: FloatArray | None
    expected: FloatArray
    observed: FloatArray | None


@dataclass(frozen=True, slots=True)
class _ResidualPart:
    training: FloatArray
    weight: FloatArray | None
    model: FittedModel
    linear: tuple[Any, Any]
    covariate: int | None

    def predict(self, X: Table) -> ResidualPrediction:
        """Predict the variable from the other covariates at the rows of X."""
        first, second, rest = _split_columns(X, self.linear)
        observed = None if self.covariate is None else (first, second)[self.covariate]
        return ResidualPrediction(self.training, self.weight, self.model.predict(rest).mean, observed)


@dataclass(frozen=True, slots=True)
class PartiallyLinearLearner(Learner):
    """Dtheta^g(x) = alpha^g x_1 + beta^g x_2 + eta^g(w), w the other covariates (Robinson's method).

    The two groups' alpha and beta are kept as details of every fold.

    Attributes
    ----------
    name : str
        Name shown to users.
    base : Family
        The kind of model for conditional means given w; its regressor is used.
    linear : pair of column names or positions
        The two covariates that enter linearly.
    n_inner_folds : int
        Folds that residuals of the training rows are computed on.
    tunes_once : bool
        Tune once per sample instead of in every fit.
    """

    name: str
    base: Family
    linear: tuple[Any, Any]
    n_inner_folds: int = 5
    tunes_once: bool = False

    def components(self, n_groups: int) -> tuple[Component, ...]:
        """The two linear covariates, and the loss difference of each group, given the other covariates."""
        return (*LINEAR, *range(n_groups))

    @property
    def takes_gaps(self) -> bool:
        """Whether the models take missing covariates; the two linear ones must be there."""
        return self.base.takes_gaps

    def check(self, rows: TrainingRows) -> None:
        """Refuse columns that do not exist, are not numbers or have gaps, and weights that cannot be used."""
        first, second, _ = _split_columns(rows.X, self.linear)
        if np.isnan(first).any() or np.isnan(second).any():
            raise InputError(
                "missing-values",
                f"The linear covariates {self.linear!r} have missing values (NaN): fill them in, or pass "
                'missing="drop".',
            )
        refuse_gaps(self, rows)
        refuse_without_weights(self.name, self.base.regressor, rows)

    def tune(self, component: Component, rows: TrainingRows, seed: np.random.SeedSequence) -> Any:
        """Tune the model of one variable given the other covariates."""
        v, rest = self._variable(component, rows)
        return self.base.knowing(rest, (rows.dl, rows.group), rows.weight).tune(
            rest, v, rows.weight, seed, rows.clusters
        )

    def fit(
        self, component: Component, rows: TrainingRows, seed: np.random.SeedSequence, tuning: Any = None
    ) -> FittedPart:
        """Compute out-of-fold residuals of one variable, and its model on all training rows."""
        v, rest = self._variable(component, rows)
        given_rest = replace(rows, X=rest, dl=v)
        split_seed, full_seed, *seeds, tune_seed = child_seeds(seed, 3 + self.n_inner_folds)
        tuning = self.tune(component, rows, tune_seed) if tuning is None else tuning  # once for all inner folds
        residual, base = np.empty(len(v)), self.base.knowing(rest, (rows.dl, rows.group), rows.weight)
        for fold, fold_seed in zip(inner_folds(rows, self.n_inner_folds, split_seed), seeds, strict=False):
            train, held = given_rest.take(_others(len(v), fold)), given_rest.take(fold)
            model = base.fit(train.X, train.dl, train.weight, fold_seed, tuning, train.clusters)
            residual[fold] = held.dl - model.predict(held.X).mean
        model = base.fit(rest, v, rows.weight, full_seed, tuning, rows.clusters)
        covariate = LINEAR.index(component) if isinstance(component, str) else None
        return _ResidualPart(residual, rows.weight, model, self.linear, covariate)

    def combine(self, parts: Mapping[Component, Any]) -> Prediction:
        """Regress residuals on residuals, and put the parts together."""
        first, second = (parts[name] for name in LINEAR)
        root = np.ones(len(first.training)) if first.weight is None else np.sqrt(first.weight)
        regressors = root[:, None] * np.column_stack([first.training, second.training])
        means: list[GroupPrediction] = []
        details: list[tuple[int, str, float]] = []
        for code in range(len(parts) - len(LINEAR)):
            part = parts[code]
            (alpha, beta), *_ = np.linalg.lstsq(regressors, root * part.training, rcond=None)
            # Dtheta(x) = alpha x_1 + beta x_2 + eta(w), eta(w) = E[z|w] - alpha E[x_1|w] - beta E[x_2|w]
            eta = part.expected - alpha * first.expected - beta * second.expected
            means.append(GroupPrediction(alpha * first.observed + beta * second.observed + eta))
            details += [(code, "alpha", float(alpha)), (code, "beta", float(beta))]
        return Prediction(tuple(means), details=tuple(details))

    def _variable(self, component: Component, rows: TrainingRows) -> tuple[FloatArray, Table]:
        first, second, rest = _split_columns(rows.X, self.linear)
        if isinstance(component, int):
            return rows.z(component), rest
        return (first, second)[LINEAR.index(component)], rest


def _split_columns(X: Table, linear: tuple[Any, Any]) -> tuple[FloatArray, FloatArray, Table]:
    """Separate the two linear covariates from the others."""
    names = list(X.columns) if isinstance(X, pd.DataFrame) else list(range(X.shape[1]))
    positions = []
    for name in linear:
        if name in names:
            positions.append(names.index(name))
        elif isinstance(name, int) and 0 <= name < len(names):
            positions.append(name)
        else:
            raise InputError(
                "bad-option",
                f"linear={linear!r} must name two of the covariates, and {name!r} is not one of {names}.",
            )
    if positions[0] == positions[1]:
        raise InputError("bad-option", f"linear={linear!r} must name two different covariates.")
    rest = _others(len(names), np.asarray(positions))
    if not isinstance(X, pd.DataFrame):
        values = np.asarray(X, dtype=np.float64)
        return values[:, positions[0]], values[:, positions[1]], values[:, rest]
    for position in positions:
        if not pd.api.types.is_numeric_dtype(X.dtypes.iloc[position]):
            raise InputError(
                "bad-option",
                f"linear={linear!r} must name numeric covariates, and {names[position]!r} is not numeric.",
            )
    first, second = (numbers_of(X.iloc[:, position]) for position in positions)
    return first, second, X.iloc[:, rest]


# --- stacking -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class MemberPrediction:
    """What one member of a stack predicts.

    Attributes
    ----------
    prediction : Prediction
        At the rows asked for, by the member fitted on all training rows.
    inner : (n_train, G) array
        Nuisance functions at the training rows, each predicted without its own inner fold.
    z : (n_train, G) array
        What they should predict.
    weight : (n_train,) array or None
        Weights of the training rows.
    """

    prediction: Prediction
    inner: FloatArray
    z: FloatArray
    weight: FloatArray | None


@dataclass(frozen=True, slots=True)
class _MemberPart:
    fitted: FittedLearner
    inner: FloatArray
    z: FloatArray
    weight: FloatArray | None

    def predict(self, X: Table) -> MemberPrediction:
        """Predict at the rows of X, and hand on the inner predictions."""
        return MemberPrediction(self.fitted.predict(X), self.inner, self.z, self.weight)


@dataclass(frozen=True, slots=True)
class StackLearner(Learner):
    """A weighted mean of several learners, with weights chosen by inner cross-validation.

    For each group the weights are non-negative, sum to one and minimise the squared error of inner
    out-of-fold predictions. They are kept as details of every fold.

    Attributes
    ----------
    name : str
        Name shown to users.
    members : tuple of Learner
        The learners, with different names.
    n_inner_folds : int
        Number of inner folds.
    """

    name: str
    members: tuple[Learner, ...]
    n_inner_folds: int = 5

    def components(self, n_groups: int) -> tuple[Component, ...]:
        """One component per member."""
        return tuple(member.name for member in self.members)

    @property
    def tunes_once(self) -> bool:  # type: ignore[override]
        """Whether any member does."""
        return any(member.tunes_once for member in self.members)

    @property
    def takes_gaps(self) -> bool:
        """Whether all members take missing covariates."""
        return all(member.takes_gaps for member in self.members)

    def check(self, rows: TrainingRows) -> None:
        """Refuse what any member refuses."""
        for member in self.members:
            member.check(rows)

    def tune(self, component: Component, rows: TrainingRows, seed: np.random.SeedSequence) -> Any:
        """Tune one member; where others tune once per sample, one that does not tunes itself in every fold."""
        member = self._member(component)
        if self.tunes_once and not member.tunes_once:
            return None
        return _tune_parts(member, rows, seed)

    def fit(
        self, component: Component, rows: TrainingRows, seed: np.random.SeedSequence, tuning: Any = None
    ) -> FittedPart:
        """Fit one member on all training rows and, for its weight, without each inner fold."""
        member = self._member(component)
        n = len(rows.dl)
        split_seed, full_seed, *seeds, tune_seed = child_seeds(seed, 3 + self.n_inner_folds)
        if tuning is None and not member.tunes_once:  # once for all inner folds
            tuning = _tune_parts(member, rows, tune_seed)
        inner = np.empty((n, rows.n_groups))
        for fold, fold_seed in zip(inner_folds(rows, self.n_inner_folds, split_seed), seeds, strict=False):
            fitted = fit_learner(member, rows.take(_others(n, fold)), fold_seed, tuning)
            inner[fold] = fitted.predict(rows.take(fold).X).delta_theta
        fitted = fit_learner(member, rows, full_seed, tuning)
        z = np.column_stack([rows.z(code) for code in range(rows.n_groups)])
        return _MemberPart(fitted, inner, z, rows.weight)

    def combine(self, parts: Mapping[Component, Any]) -> Prediction:
        """Choose the weights and average."""
        names = [member.name for member in self.members]
        members = [parts[name] for name in names]
        combined: list[GroupPrediction] = []
        details: list[tuple[int, str, float]] = []
        for code in range(members[0].z.shape[1]):
            inner = np.column_stack([member.inner[:, code] for member in members])
            weights = simplex_weights(inner, members[0].z[:, code], members[0].weight)
            combined.append(mixture([m.prediction.groups[code] for m in members], weights))
            details += [(code, f"weight of {name}", float(w)) for name, w in zip(names, weights, strict=True)]
        known = [m.prediction.group_probabilities for m in members]
        known = [p for p in known if p is not None]
        group_probabilities = np.mean(known, axis=0) if known else None
        return Prediction(tuple(combined), group_probabilities, tuple(details))

    def _member(self, name: Component) -> Learner:
        return next(member for member in self.members if member.name == name)


def _tune_parts(learner: Learner, rows: TrainingRows, seed: np.random.SeedSequence) -> dict[Component, Any]:
    """Tune every component of a learner."""
    components = learner.components(rows.n_groups)
    seeds = child_seeds(seed, len(components))
    return {name: learner.tune(name, rows, child) for name, child in zip(components, seeds, strict=True)}


def simplex_weights(predictions: FloatArray, z: FloatArray, weight: FloatArray | None) -> FloatArray:
    """Return the weights a >= 0, sum a = 1, that minimise sum_i w_i (z_i - sum_j a_j f_ij)^2.

    Parameters
    ----------
    predictions : (n, k) array
        Predictions f of k learners.
    z : (n,) array
        What they predict.
    weight : (n,) array or None
        Row weights.
    """
    root = np.ones(len(z)) if weight is None else np.sqrt(weight)
    errors: FloatArray = np.asarray(np.linalg.qr(root[:, None] * (z[:, None] - predictions), mode="r"))
    scale = max(float(np.abs(errors).max()), 1e-300)
    # as sum a = 1 the criterion is |E a|^2, E the errors; its minimiser over the simplex is proportional
    # to that of |E a|^2 + (1 - sum a)^2 over a >= 0, because |E a|^2 is homogeneous in a
    stacked = np.vstack([errors / scale, np.ones(predictions.shape[1])])
    solution, _ = nnls(stacked, np.append(np.zeros(len(errors)), 1.0))
    return np.asarray(solution / solution.sum(), dtype=np.float64)


def mixture(predictions: list[GroupPrediction], weights: FloatArray) -> GroupPrediction:
    """Return the weighted mean of predictions of one variable; of probabilities, too, if all have them."""
    pairs = list(zip(weights, predictions, strict=True))
    mean = np.sum([w * p.mean for w, p in pairs], axis=0)
    supports = [p.values for p in predictions if p.values is not None]
    shares = [w * p.probabilities for w, p in pairs if p.probabilities is not None]
    if len(shares) < len(predictions):
        return GroupPrediction(mean)
    return GroupPrediction(mean, np.concatenate(supports), np.hstack(shares))
