"""The default learner: candidates for each factor, weighted by their errors on inner folds of the training rows."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from ...arrays import FloatArray
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
from .encoding import NumericColumns, PooledColumns
from .estimators import Encoded, Family, FittedModel
from .pooled import grouped, pooled_family
from .predictions import GroupPrediction, losses, probabilities_of

ROWS_OF_OTHERS = 200
"""When candidates are weighted for one group, the rows of all others together count as at most this many."""
AS_GOOD = 4.0
"""A sum of squared errors at most this many error variances above the smallest is as good: two standard errors."""
LEAST = 1e-3
"""Least probability in the log odds that a model adjusts."""
GROUP, SEPARATE, POOLED, ADJUSTED = "group", "separate", "pooled", "adjusted"
"""What a candidate models: the group; the loss difference in each group by itself; in one model of all groups that sees
the group; in each group, adjusting that model."""


Fit: TypeAlias = Callable[[], FittedModel]
"""Fits a model that has been tried to all training rows."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A kind of model among the candidates.

    Attributes
    ----------
    name : str
        Name shown to users.
    family : Family
        The kind of model; its pipelines begin with `NumericColumns`.
    """

    name: str
    family: Family


@dataclass(frozen=True, slots=True)
class Trial:
    """A candidate for one factor on the training rows.

    Attributes
    ----------
    what : str
        What it models: the group, or the loss difference in one of three ways.
    name : str
        The kind of model.
    columns : NumericColumns
        Encodes further rows.
    inner : GroupPrediction
        At the training rows (for the loss difference within a row's own group), each predicted by a model that has not
        seen it.
    fits : tuple of callables
        Fit the model to all training rows; one for each group if they are separate.
    adjusts : Trial or None
        The model of all groups that it adjusts.
    """

    what: str
    name: str
    columns: NumericColumns
    inner: GroupPrediction
    fits: tuple[Fit, ...]
    adjusts: "Trial | None" = None

    @property
    def full_name(self) -> str:
        """What is modelled, and by which kind of model."""
        return f"{self.what} {self.name}"

    def fitted(self, code: int, done: "dict[tuple[str, int], _Fitted]") -> "_Fitted":
        """Return the model for one group, fitted to all training rows unless that is ``done`` already."""
        place = code if len(self.fits) > 1 else 0
        if (self.full_name, place) not in done:
            adjusts = None if self.adjusts is None else self.adjusts.fitted(code, done)
            done[self.full_name, place] = _Fitted(self.columns, self.what == POOLED, self.fits[place](), adjusts)
        return done[self.full_name, place]


class _Rows:
    """Rows to be predicted: encoded once for all models, and predicted once by each of them."""

    def __init__(self, X: Table, n_groups: int) -> None:
        self.X, self.n_groups = X, n_groups
        self._numbers: dict[int, FloatArray] = {}
        self._found: dict[tuple[int, int], GroupPrediction] = {}

    def numbers(self, columns: NumericColumns) -> FloatArray:
        """Return the rows as numbers, without their groups."""
        if id(columns) not in self._numbers:
            pooled = isinstance(columns, PooledColumns)
            self._numbers[id(columns)] = columns.without_groups(self.X) if pooled else columns.transform(self.X)
        return self._numbers[id(columns)]

    def prediction(self, fitted: "_Fitted", code: int) -> GroupPrediction:
        """Return what a model predicts for members of a group."""
        if (id(fitted), code) not in self._found:
            self._found[id(fitted), code] = fitted.predict(self, code)
        return self._found[id(fitted), code]


@dataclass(frozen=True, slots=True)
class _Fitted:
    """A model fitted to encoded columns, perhaps with the group, or with the log odds of the model that it adjusts."""

    columns: Any
    sees_group: bool
    model: FittedModel
    adjusts: "_Fitted | None"

    def predict(self, rows: _Rows, code: int) -> GroupPrediction:
        """Predict rows as members of a group."""
        numbers = rows.numbers(self.columns)
        if self.sees_group:
            numbers = self.columns.with_groups(numbers, np.full(len(numbers), code), rows.n_groups)
        if self.adjusts is not None:
            numbers = np.hstack([numbers, log_odds(rows.prediction(self.adjusts, code))])
        return self.model.predict(numbers)


_Shares: TypeAlias = tuple[tuple[float, _Fitted], ...]


@dataclass(frozen=True, slots=True)
class _AutoPart:
    """Fitted models of all factors with their weights, those without a weight left out."""

    of_group: _Shares
    of_loss: tuple[_Shares, ...]
    scores: tuple[CandidateScore, ...]

    def predict(self, X: Table) -> Prediction:
        """Predict at the rows of X."""
        n_groups = len(self.of_loss)
        rows = _Rows(X, n_groups)
        parts = [w * group_probabilities(rows.prediction(fitted, -1), n_groups) for w, fitted in self.of_group]
        p = np.sum(parts, axis=0)
        within = tuple(
            mixture([rows.prediction(fitted, code) for _, fitted in shares], np.array([w for w, _ in shares]))
            for code, shares in enumerate(self.of_loss)
        )
        groups = tuple(group_product(p[:, code], own) for code, own in enumerate(within))
        return Prediction(groups, p, candidates=self.scores, within=within)


@dataclass(frozen=True, slots=True)
class AutoLearner(Learner):
    """Dtheta^g(x) = P(G = g | x) E[dl | x, G = g], each factor a weighted mean of candidates.

    The group is modelled by every kind of model, the loss difference by every kind twice: in each group by itself, and
    with the help of the other groups. Of the last kind that is one model of all groups that sees the group. Any other
    kind adjusts that model: fitted in each group, it sees the log odds of the model of all groups beside the
    covariates. Weights rest on the squared errors of inner out-of-fold predictions of the training rows, so held-out
    rows choose nothing; see `shrunken_weights`. All models of a kind share one encoding of the training rows, models
    that grow are given up when they cannot be expected to do as well as those tried before, and only models with a
    weight are fitted to all rows.

    Attributes
    ----------
    name : str
        Name shown to users.
    candidates : tuple of Candidate
        Kinds of models, the simplest first, with different names.
    """

    name: str
    candidates: tuple[Candidate, ...]

    @property
    def candidate_names(self) -> tuple[str, ...]:
        """Every kind of model in each group by itself, the last also of all groups, the others also adjusting that."""
        return tuple(
            f"{what} {kind.name}"
            for kind in self.candidates
            for what in (SEPARATE, POOLED if kind is self.candidates[-1] else ADJUSTED)
        )

    @property
    def factored(self) -> bool:
        """Yes."""
        return True

    def components(self, n_groups: int) -> tuple[Component, ...]:
        """One: the candidates share work, and their weights depend on all of them."""
        return ("all candidates",)

    def fit(
        self, component: Component, rows: TrainingRows, seed: np.random.SeedSequence, tuning: Any = None
    ) -> FittedPart:
        """Try all candidates on inner folds, weigh them, and fit those with a weight."""
        if rows.weight is not None:
            rows = rows.take(np.flatnonzero(rows.weight > 0.0))
        trials = {trial.full_name: trial for trial in self.try_out(rows, seed)}
        of_group = {kind.name: trials[f"{GROUP} {kind.name}"] for kind in self.candidates}
        of_loss = {name: trials[name] for name in self.candidate_names}
        weights = _weights_of_group(list(of_group.values()), rows)
        each = [_weights_of_loss(list(of_loss.values()), rows, code) for code in range(rows.n_groups)]
        scores = _scores(of_group, weights, rows, None)
        for code, own in enumerate(each):
            scores += _scores(of_loss, own, rows, code)
        done: dict[tuple[str, int], _Fitted] = {}
        shares = tuple(_shares(of_loss.values(), own, code, done) for code, own in enumerate(each))
        return _AutoPart(_shares(of_group.values(), weights, 0, done), shares, tuple(scores))

    def combine(self, parts: Mapping[Component, Any]) -> Prediction:
        """Return what the only component predicted."""
        (prediction,) = parts.values()
        assert isinstance(prediction, Prediction)
        return prediction

    def try_out(self, rows: TrainingRows, seed: np.random.SeedSequence) -> list[Trial]:
        """Predict the training rows, of positive weight, by every candidate for every factor on inner folds."""
        trials: list[Trial] = []
        kinds: list[_Shared] = []
        for kind, own in zip(self.candidates, child_seeds(seed, len(self.candidates)), strict=True):
            shared = _Shared.of(kind, rows, own, pooled=kind is self.candidates[-1])
            trials += [shared.try_group(trials), shared.try_separately(trials)]
            kinds.append(shared)
        last = kinds[-1].try_pooled(trials)
        return [*trials, last, *(kind.adjust(last) for kind in kinds[:-1])]


def _shares(trials: Iterable[Trial], weights: FloatArray, code: int, done: dict[tuple[str, int], _Fitted]) -> _Shares:
    """Fit the candidates for one factor that have a weight."""
    return tuple((float(w), trial.fitted(code, done)) for w, trial in zip(weights, trials, strict=True) if w > 0.0)


@dataclass(frozen=True, slots=True)
class _Shared:
    """The training rows, encoded once for all models of a kind.

    Attributes
    ----------
    name : str
        The kind of model.
    rows : TrainingRows
        The rows.
    of_group, of_loss : Encoded
        What models of the group, and of the loss difference, are fitted to.
    seeds : list of SeedSequence
        Of the four trials.
    """

    name: str
    rows: TrainingRows
    of_group: Encoded
    of_loss: Encoded
    seeds: list[np.random.SeedSequence]

    @classmethod
    def of(cls, kind: Candidate, rows: TrainingRows, seed: np.random.SeedSequence, *, pooled: bool) -> "_Shared":
        """Encode the rows, with their groups if ``pooled``."""
        family = kind.family.knowing(rows.X, (rows.dl, rows.group), rows.weight)
        X: Any = grouped(rows) if pooled else rows.X
        family = pooled_family(family, interactions=False) if pooled else family
        classes, n_values = with_group_classes(family, rows.n_groups), len(np.unique(rows.dl))
        of_loss = family.encode(X, n_values, None, rows.weight)
        if classes.choose(rows.n_groups) is family.choose(n_values):
            of_group = of_loss
        else:  # a regression of the loss difference may scale its columns
            of_group = classes.encode(X, rows.n_groups, None, rows.weight)
        return cls(kind.name, rows, of_group, of_loss, child_seeds(seed, 4))

    def try_group(self, rivals: list[Trial]) -> Trial:
        """Try a model of the group."""
        rows, target = self.rows, group_target(self.rows)
        rival = _smallest_loss([trial.inner for trial in rivals if trial.what == GROUP], target, _weight(rows))
        inner, fit = self.of_group.family.hold_out(
            self.of_group.without_groups, target, rows.weight, self.seeds[0], rows.clusters, rival=rival
        )
        return Trial(GROUP, self.name, self.of_group.columns, inner, (fit,))

    def try_pooled(self, rivals: list[Trial]) -> Trial:
        """Try one model of the loss difference in all groups."""
        rows = self.rows
        rival = _smallest_loss([trial.inner for trial in rivals if trial.what == SEPARATE], rows.dl, _weight(rows))
        inner, fit = self.of_loss.family.hold_out(
            self.of_loss.X, rows.dl, rows.weight, self.seeds[1], rows.clusters, rival=rival
        )
        return Trial(POOLED, self.name, self.of_loss.columns, inner, (fit,))

    def try_separately(self, rivals: list[Trial]) -> Trial:
        """Try models of the loss difference in each group."""
        own = [trial.inner for trial in rivals if trial.what == SEPARATE]
        found = self._in_each_group(self.of_loss.without_groups, self.seeds[2], own)
        return Trial(SEPARATE, self.name, self.of_loss.columns, *found)

    def adjust(self, pool: Trial) -> Trial:
        """Try models of the loss difference in each group that see what a model of all groups says."""
        numbers = np.hstack([self.of_loss.without_groups, log_odds(pool.inner)])
        found = self._in_each_group(numbers, self.seeds[3], [])
        return Trial(ADJUSTED, self.name, self.of_loss.columns, *found, pool)

    def _in_each_group(
        self, numbers: FloatArray, seed: np.random.SeedSequence, rivals: list[GroupPrediction]
    ) -> tuple[GroupPrediction, tuple[Fit, ...]]:
        """Try a model in each group; its inner predictions at the rows of that group."""
        rows, values = replace(self.rows, X=numbers), np.unique(self.rows.dl)
        n = len(rows.dl)
        mean, probabilities = np.zeros(n), np.zeros((n, len(values)))
        fits: list[Fit] = []
        classified = True
        for code, child in enumerate(child_seeds(seed, rows.n_groups)):
            own = np.flatnonzero(rows.group == code)
            members = rows.take(own)
            rival = _smallest_loss(rivals, rows.dl, _weight(rows) * (rows.group == code))
            inner, fit = self.of_loss.family.hold_out(
                members.X, members.dl, members.weight, child, members.clusters, rival=rival
            )
            fits.append(fit)
            mean[own] = inner.mean
            if inner.values is None or inner.probabilities is None:
                classified = False
            else:
                probabilities[own] = probabilities_of(values, inner)
        return GroupPrediction(mean, values, probabilities) if classified else GroupPrediction(mean), tuple(fits)


def _smallest_loss(found: list[GroupPrediction], target: FloatArray, weight: FloatArray) -> float | None:
    """Return the smallest weighted sum of losses among predictions; None if there are none."""
    return min((float(weight @ losses(prediction, target)) for prediction in found), default=None)


def log_odds(prediction: GroupPrediction) -> FloatArray:
    """Return log(p_v / p_0) as columns (n, V - 1), v = 1, 2, ... the values after the first; else the means (n, 1)."""
    if prediction.probabilities is None:
        return prediction.mean[:, None]
    logs = np.log(np.clip(prediction.probabilities, LEAST, 1.0))
    return np.asarray(logs[:, 1:] - logs[:, :1])


def _weights_of_group(trials: list[Trial], rows: TrainingRows) -> FloatArray:
    """Weights of the candidates for P(G = g | x): one error for every row and group, the last group excepted."""
    n_groups = rows.n_groups
    inner = [group_probabilities(trial.inner, n_groups)[:, :-1].ravel() for trial in trials]
    member = (rows.group[:, None] == np.arange(n_groups - 1)).astype(np.float64).ravel()
    return shrunken_weights(np.column_stack(inner), member, np.repeat(_weight(rows), n_groups - 1))


def _weights_of_loss(trials: list[Trial], rows: TrainingRows, code: int) -> FloatArray:
    """Weights of the candidates for E[dl | x, G = g]: by the rows of that group, and by a few of the others."""
    own = rows.group == code
    others = int(np.count_nonzero(~own))
    weight = _weight(rows) * np.where(own, 1.0, min(1.0, ROWS_OF_OTHERS / max(others, 1)))
    return shrunken_weights(np.column_stack([trial.inner.mean for trial in trials]), rows.dl, weight)


def shrunken_weights(predictions: FloatArray, z: FloatArray, weight: FloatArray) -> FloatArray:
    """Return weights of k candidates: those of smallest squared error on the simplex, shrunken towards one candidate.

    With E(a) the sum of squared errors at the weights a, scaled to the effective number of rows, and s2 the error
    variance at its minimiser a*: the one candidate is the first, from the simplest, with E at most 4 s2 above that of
    the best. The weights are l a* + (1 - l) times that candidate, l = max(0, 1 - (k - 1) s2 / gain), Stein's factor,
    where the gain is what a* takes off its sum of squared errors. So a mixture must earn its estimated weights.

    Parameters
    ----------
    predictions : (n, k) array
        Predictions of the candidates, the simplest first.
    z : (n,) array
        What they predict.
    weight : (n,) array
        Row weights, not negative.
    """
    free = simplex_weights(predictions, z, weight)
    total = weight.sum()
    if total == 0.0:
        return free
    w = weight * total / (weight**2).sum()  # sums to the effective number of rows
    errors = w @ (z[:, None] - predictions) ** 2
    smallest = float(w @ (z - predictions @ free) ** 2)
    variance = smallest / w.sum()
    one = int(np.argmax(errors <= errors.min() + AS_GOOD * variance))
    gain = float(errors[one]) - smallest
    kept = max(0.0, 1.0 - (len(free) - 1) * variance / gain) if gain > 0.0 else 0.0
    shrunken: FloatArray = kept * free
    shrunken[one] += 1.0 - kept
    return shrunken


def _weight(rows: TrainingRows) -> FloatArray:
    return np.ones(len(rows.dl)) if rows.weight is None else rows.weight


def _scores(
    trials: Mapping[str, Trial], weights: FloatArray, rows: TrainingRows, code: int | None
) -> list[CandidateScore]:
    """Inner loss and weight of every candidate for one factor."""
    classified = all(trial.inner.values is not None for trial in trials.values())
    target = group_target(rows) if code is None else rows.dl
    own = np.ones(len(target), dtype=bool) if code is None else rows.group == code
    total = _weight(rows)[own].sum()
    scores = []
    for (name, trial), weight in zip(trials.items(), weights, strict=True):
        each = losses(trial.inner, target) if classified else (trial.inner.mean - target) ** 2
        loss = float((_weight(rows) * each)[own].sum() / total) if total > 0 else float("nan")
        scores.append(CandidateScore(code, name, loss, float(weight)))
    return scores
