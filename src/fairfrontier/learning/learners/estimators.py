"""Fitting single scikit-learn models: seeding, weights, and predictions over observed values."""

import copy
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeAlias, overload

import numpy as np
import pandas as pd
from sklearn.base import clone, is_classifier
from sklearn.pipeline import Pipeline

from ...arrays import FloatArray, IntArray
from ...data.reading import Table
from ...errors import InputError, LearnerError
from ..folds import deal_training_rows
from .abilities import cluster_keywords, seeded, takes_gaps, weight_keywords
from .encoding import GroupedTable, NumericColumns, codes_among
from .predictions import GroupPrediction, expected_limit, loss_of_mean, losses, probabilities_of

TUNING_FOLDS = 3
"""Folds of the search over a grid of parameters."""

Features: TypeAlias = Table | GroupedTable
"""What models are fitted on."""


@overload
def take_rows(X: Table, rows: IntArray) -> Table: ...
@overload
def take_rows(X: Features, rows: IntArray) -> Features: ...
def take_rows(X: Features, rows: IntArray) -> Features:
    """Select rows of a data frame, an array or a grouped table by position."""
    if isinstance(X, GroupedTable):
        return GroupedTable(take_rows(X.X, rows), X.group[rows], X.n_groups)
    if isinstance(X, pd.DataFrame):
        return X.iloc[rows]
    # rows of an array one after another are copied as such, several times faster
    return X.take(rows, axis=0) if X.flags.c_contiguous else X[rows]


@dataclass(frozen=True, slots=True)
class FittedModel:
    """A model of one variable, fitted on training rows.

    Attributes
    ----------
    estimator : object or None
        The fitted estimator; None when the variable is constant in training.
    values : (V,) array or None
        For a classifier the value behind each class code; for a constant its one value.
    """

    estimator: Any
    values: FloatArray | None

    def grow(self, X: Features, z: FloatArray, weight: FloatArray | None, parameters: Mapping[str, Any]) -> None:
        """Fit on, on the same rows, to a later stage; a constant stays what it is."""
        if self.estimator is None:
            return
        self.estimator.set_params(**parameters)
        target = z if self.values is None else np.searchsorted(self.values, z)
        keywords = {} if weight is None else dict.fromkeys(weight_keywords(self.estimator), weight)
        self.estimator.fit(X, target, **keywords)

    def predict(self, X: Features) -> GroupPrediction:
        """Predict the variable at the rows of X."""
        n = X.shape[0]
        if self.values is None:
            mean = np.asarray(self.estimator.predict(X), dtype=np.float64).reshape(-1)
            _check_output("predict", mean, (n,))
            return GroupPrediction(mean)
        if self.estimator is None:
            return GroupPrediction(np.full(n, self.values[0]), self.values, np.ones((n, 1)))
        probabilities = np.asarray(self.estimator.predict_proba(X), dtype=np.float64)
        codes = np.asarray(getattr(self.estimator, "classes_", np.arange(len(self.values))), dtype=np.intp)
        _check_output("predict_proba", probabilities, (n, len(codes)))
        values = self.values[codes]
        # E[z | x] = sum over the observed values v of v P(z = v | x)
        return GroupPrediction(probabilities @ values, values, probabilities)


def _check_output(method: str, output: FloatArray, shape: tuple[int, ...]) -> None:
    if output.shape != shape:
        raise LearnerError(f"{method} returned an array of shape {output.shape}, expected {shape}")
    if not np.isfinite(output).all():
        raise LearnerError(f"{method} returned {np.sum(~np.isfinite(output))} values that are not finite")


@dataclass(frozen=True, slots=True)
class Family:
    """A kind of model: a classifier for variables with few values, a regressor for the others.

    Attributes
    ----------
    classifier, regressor : estimator or None
        Unfitted scikit-learn estimators; at least one is given. The classifier is preferred.
    max_values : int
        Most distinct values for which the classifier is used.
    tuned_parameters : callable or None
        For estimators that tune themselves: reads from a fitted one the parameters (`set_params`
        names) that fix its tuning.
    grid : tuple of mappings
        For other estimators: parameters among which cross-validated loss chooses.
    grows : bool
        The members of the grid are stages of one growing model, such as numbers of trees, and the pipeline's model can
        be fitted on from one to the next (``warm_start``). The search then ends at the first stage that is worse.
    codes : tuple of columns
        Integers known to be codes of categories, for estimators that begin with `NumericColumns`.
    held_out : callable or None
        For classifiers that tune themselves with ``model__keep_held_out``: reads from a fitted one the probabilities of
        every row by the fit without its fold, or None.
    """

    classifier: Any
    regressor: Any
    max_values: int = 10
    tuned_parameters: Callable[[Any], dict[str, Any]] | None = None
    grid: tuple[Mapping[str, Any], ...] = ()
    grows: bool = False
    codes: tuple[Any, ...] = ()
    held_out: Callable[[Any], FloatArray | None] | None = None

    @property
    def takes_gaps(self) -> bool:
        """Whether its estimators take missing numbers."""
        return takes_gaps(self.classifier) and takes_gaps(self.regressor)

    def knowing(
        self, X: Table, outcomes: Iterable[FloatArray | IntArray], weight: FloatArray | None = None
    ) -> "Family":
        """Return the same family, told which integers are codes in these rows, if its estimators can use that."""
        encoders = [_encoder_of(estimator) for estimator in (self.classifier, self.regressor)]
        return replace(self, codes=codes_among(X, outcomes, weight)) if any(encoders) else self

    def choose(self, n_values: int) -> Any:
        """Return the unfitted estimator for a variable with that many distinct values, or None."""
        if self.classifier is not None and n_values <= self.max_values:
            return self.classifier
        return self.regressor

    def fit(
        self,
        X: Features,
        z: FloatArray,
        weight: FloatArray | None,
        seed: np.random.SeedSequence,
        tuning: Mapping[str, Any] | None = None,
        clusters: IntArray | None = None,
    ) -> FittedModel:
        """Fit a model of z; a z that is constant in training, or has no rows, gives a constant.

        Without `tuning` the model is tuned on these very rows, in folds that keep `clusters` together.
        """
        X, z, weight, clusters = _weighted_rows(X, z, weight, clusters)
        n_values = len(np.unique(z))
        encoded = self.encode(X, n_values, z, weight) if n_values > 1 else Encoded(self, X)
        if tuning is None and encoded.family.grid and n_values > 1:
            tuning = encoded.family.search(encoded.X, z, weight, seed, clusters)[0]
        return encoded.whole(encoded.family.fit_encoded(encoded.X, z, weight, seed, tuning, clusters))

    def encode(self, X: Features, n_values: int, y: FloatArray | None, weight: FloatArray | None) -> "Encoded":
        """Encode columns once for all models of variables with that many values: what remains takes numbers.

        Which integers are codes is also learned from ``y``, if that is given.
        """
        prototype = self.choose(n_values)
        first = prototype.steps[0] if isinstance(prototype, Pipeline) and len(prototype.steps) > 1 else ("", None)
        if not isinstance(first[1], NumericColumns) or X.shape[1] == 0:
            return Encoded(self, X)
        columns = clone(first[1])
        if self.codes:
            columns.set_params(codes=self.codes)
        encoded = columns.fit_transform(X, y, sample_weight=weight)
        rest = clone(Pipeline(prototype.steps[1:]))
        if columns.level_positions:
            takes = [name for name in rest.get_params() if name.endswith("__categorical_features")]
            rest.set_params(**dict.fromkeys(takes, columns.level_positions))
        kinds = {"classifier": rest} if prototype is self.classifier else {"regressor": rest}
        family = replace(self, **({"classifier": None, "regressor": None} | kinds), codes=())
        return Encoded(family, encoded, (first[0], columns))

    def fit_encoded(
        self,
        X: Features,
        z: FloatArray,
        weight: FloatArray | None,
        seed: np.random.SeedSequence,
        tuning: Mapping[str, Any] | None,
        clusters: IntArray | None,
    ) -> FittedModel:
        """Fit a model of z, on columns that need no further encoding."""
        values = np.unique(z)
        if len(values) <= 1 or X.shape[1] == 0:
            # the mean of equal numbers may differ from them in the last digit, and must not here;
            # no training rows at all: the group's part of the product is zero
            constant = values if len(values) == 1 else np.array([np.average(z, weights=weight) if len(z) else 0.0])
            return FittedModel(None, constant)
        prototype = self.choose(len(values))
        if prototype is None:
            raise LearnerError(f"a classifier cannot model {len(values)} distinct values (at most {self.max_values})")
        # tuning may hold a model: each fit needs its own, or fits in several threads would share it
        estimator = seeded(prototype, seed).set_params(**copy.deepcopy(dict(tuning or {})))
        encoder = _encoder_of(prototype)
        if self.codes and encoder:  # it is not the first step, or the columns would be encoded by now
            estimator.set_params(**{f"{encoder}__codes": self.codes})
        classifies = prototype is self.classifier
        keywords: dict[str, Any] = {} if weight is None else dict.fromkeys(weight_keywords(estimator), weight)
        if clusters is not None:
            keywords |= dict.fromkeys(cluster_keywords(estimator), clusters)
        estimator.fit(X, np.searchsorted(values, z) if classifies else z, **keywords)
        return FittedModel(estimator, values if classifies else None)

    def tune(
        self,
        X: Features,
        z: FloatArray,
        weight: FloatArray | None,
        seed: np.random.SeedSequence,
        clusters: IntArray | None = None,
    ) -> Mapping[str, Any] | None:
        """Find the tuning parameters of a model of z; None when there is nothing to tune."""
        X, z, weight, clusters = _weighted_rows(X, z, weight, clusters)
        n_values = len(np.unique(z))
        if n_values <= 1:
            return None
        if self.grid:
            encoded = self.encode(X, n_values, z, weight)
            return encoded.family.search(encoded.X, z, weight, seed, clusters)[0]
        if self.tuned_parameters is None:
            return None
        estimator = self.fit(X, z, weight, seed, clusters=clusters).estimator
        return None if estimator is None else self.tuned_parameters(estimator)

    def hold_out(
        self,
        X: Features,
        z: FloatArray,
        weight: FloatArray | None,
        seed: np.random.SeedSequence,
        clusters: IntArray | None,
        *,
        rival: float | None = None,
    ) -> tuple[GroupPrediction, Callable[[], FittedModel]]:
        """Tune a model of z, and predict each row by a model that has not seen it; return also what fits all rows.

        On columns that need no further encoding, and rows with positive weights. The inner folds are those of the
        tuning where there are such; tuning parameters are chosen once for all folds. The summed loss of a ``rival`` is
        as for `search`.
        """
        if len(np.unique(z)) > 1 and self.grid:
            tuning, inner = self.search(X, z, weight, seed, clusters, rival=rival)
            return inner, partial(self.fit_encoded, X, z, weight, seed, tuning, clusters)
        keep = {"model__keep_held_out": True} if self.held_out is not None and self.classifier is not None else None
        model = self.fit_encoded(X, z, weight, seed, keep, clusters)
        if model.estimator is None:
            return model.predict(X), lambda: model
        if keep and self.held_out is not None:
            found = self.held_out(model.estimator)
            if found is not None and model.values is not None:
                return GroupPrediction(found @ model.values, model.values, found), lambda: model
        fixed = None if self.tuned_parameters is None else self.tuned_parameters(model.estimator)
        parts = _inner_parts(z, seed, clusters)
        models = self._fit_parts(parts, X, z, weight, seed=seed, tuning=fixed, clusters=clusters)
        return _predict_parts(models, parts, X, z), lambda: model

    def search(
        self,
        X: Features,
        z: FloatArray,
        weight: FloatArray | None,
        seed: np.random.SeedSequence,
        clusters: IntArray | None,
        *,
        rival: float | None = None,
    ) -> tuple[Mapping[str, Any], GroupPrediction]:
        """Return the member of the grid of smallest cross-validated loss, and its predictions on held-out rows.

        A model that grows is given up when even its `expected_limit` exceeds the summed loss of a ``rival``; every
        stage of the grid must then double the one before.
        """
        w = np.ones(len(z)) if weight is None else weight
        parts = _inner_parts(z, seed, clusters)
        models: list[FittedModel] = []
        best: tuple[float, Mapping[str, Any], GroupPrediction] | None = None
        for parameters in self.grid:
            if self.grows and models:
                for model, (train, _) in zip(models, parts, strict=True):
                    model.grow(*_take(X, z, weight, train), parameters)
            else:
                tuning = {**parameters, **({"model__warm_start": True} if self.grows else {})}
                models = self._fit_parts(parts, X, z, weight, seed=seed, tuning=tuning, clusters=clusters)
            inner = _predict_parts(models, parts, X, z)
            loss = float(np.sum(w * losses(inner, z)))
            before = None if best is None else best[0]
            if before is None or loss < before:
                best = (loss, parameters, inner)
            if self.grows and before is not None and _given_up(before, loss, rival, partial(loss_of_mean, inner, z, w)):
                break
        assert best is not None  # a grid has members
        return best[1], best[2]

    def _fit_parts(
        self,
        parts: list[tuple[IntArray, IntArray]],
        X: Features,
        z: FloatArray,
        weight: FloatArray | None,
        *,
        seed: np.random.SeedSequence,
        tuning: Mapping[str, Any] | None,
        clusters: IntArray | None,
    ) -> list[FittedModel]:
        """Fit a model of z without each of the inner folds."""
        return [
            self.fit_encoded(*_take(X, z, weight, train), seed, tuning, _some(clusters, train)) for train, _ in parts
        ]


@dataclass(frozen=True, slots=True)
class Encoded:
    """A family whose models take encoded columns.

    Attributes
    ----------
    family : Family
        The family.
    X : array, or what was given if there was nothing to encode
        Encoded columns.
    step : name and encoder, or None
        The step of a pipeline that encodes further rows.
    """

    family: Family
    X: Any
    step: tuple[str, NumericColumns] | None = None

    @property
    def columns(self) -> NumericColumns:
        """What encodes further rows."""
        assert self.step is not None
        return self.step[1]

    @property
    def without_groups(self) -> FloatArray:
        """The columns of the covariates, without those of the group."""
        return np.asarray(self.X[:, : self.columns.width])

    def whole(self, model: FittedModel) -> FittedModel:
        """Return the model of the rows as they were before the encoding."""
        if self.step is None or model.estimator is None:
            return model
        return replace(model, estimator=Pipeline([self.step, *model.estimator.steps]))


def _given_up(before: float, loss: float, rival: float | None, loss_of_mean: Callable[[], float]) -> bool:
    """Whether a model that grows is worse than the stage before, or even its expected limit exceeds a rival's loss."""
    return loss > before or (rival is not None and expected_limit(loss_of_mean(), before, loss) > rival)


def _inner_parts(
    z: FloatArray, seed: np.random.SeedSequence, clusters: IntArray | None
) -> list[tuple[IntArray, IntArray]]:
    """Split rows into inner folds, balanced by z: for each fold the rows without it, and its own."""
    strata = np.unique(z, return_inverse=True)[1]
    folds = deal_training_rows(strata, TUNING_FOLDS, np.random.default_rng(seed), clusters)
    return [(np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)) for fold in range(folds.max() + 1)]


def _predict_parts(
    models: list[FittedModel], parts: list[tuple[IntArray, IntArray]], X: Features, z: FloatArray
) -> GroupPrediction:
    """Predict every row by the model that was fitted without its fold."""
    mean = np.empty(len(z))
    found = [model.predict(take_rows(X, held)) for model, (_, held) in zip(models, parts, strict=True)]
    if any(prediction.values is None for prediction in found):
        for prediction, (_, held) in zip(found, parts, strict=True):
            mean[held] = prediction.mean
        return GroupPrediction(mean)
    values = np.unique(z)
    probabilities = np.zeros((len(z), len(values)))
    for prediction, (_, held) in zip(found, parts, strict=True):
        mean[held] = prediction.mean
        probabilities[held] = probabilities_of(values, prediction)
    return GroupPrediction(mean, values, probabilities)


def _encoder_of(estimator: Any) -> str:
    """Return the name of the step of a pipeline that encodes columns; "" if there is none."""
    steps = estimator.steps if isinstance(estimator, Pipeline) else []
    return next((name for name, step in steps if isinstance(step, NumericColumns)), "")


def _weighted_rows(
    X: Features, z: FloatArray, weight: FloatArray | None, clusters: IntArray | None
) -> tuple[Features, FloatArray, FloatArray | None, IntArray | None]:
    """Leave out rows without weight."""
    if weight is None or (weight > 0).all():
        return X, z, weight, clusters
    rows = np.flatnonzero(weight > 0)
    return *_take(X, z, weight, rows), _some(clusters, rows)


def _take(
    X: Features, z: FloatArray, weight: FloatArray | None, rows: IntArray
) -> tuple[Features, FloatArray, FloatArray | None]:
    return take_rows(X, rows), z[rows], None if weight is None else weight[rows]


def _some(clusters: IntArray | None, rows: IntArray) -> IntArray | None:
    return None if clusters is None else clusters[rows]


def family_of(estimator: Any, max_values: int = 50) -> Family:
    """Wrap a user's scikit-learn classifier or regressor, refusing what cannot be used.

    Parameters
    ----------
    estimator : object
        Anything with `fit`, `get_params`, `set_params` and `predict_proba` (classifier) or
        `predict` (regressor).
    max_values : int
        Most distinct values a classifier is asked to tell apart.
    """
    what = f"The learner {type(estimator).__name__}"
    if isinstance(estimator, type):
        raise InputError(
            "bad-learner",
            f"The learner must be an estimator, and {estimator.__name__} is a class; "
            f"pass an instance, {estimator.__name__}().",
        )
    classifies = is_classifier(estimator) if hasattr(estimator, "get_params") else False
    classifies = classifies or hasattr(estimator, "predict_proba")
    needed = ("fit", "predict_proba" if classifies else "predict", "get_params", "set_params")
    missing = [name for name in needed if not hasattr(estimator, name)]
    if missing:
        raise InputError(
            "bad-learner",
            f"{what} must implement {', '.join(needed)}; missing: {', '.join(missing)}. Pass a "
            "scikit-learn classifier that gives probabilities, a regressor, or the name of a preset.",
        )
    return Family(estimator, None, max_values) if classifies else Family(None, estimator)
