"""Rules one can deploy: scikit-learn classifiers that attain a chosen point of the frontier.

The rule of a direction q selects x where k(x) = q'M t(x) is positive, with t the nuisance pair and M = diag(1 / mu).
With q = -(w_r, w_b) it minimises w_r e_r + w_b e_b. The group is needed to learn t, and never to apply the rule
unless it is one that sees the group.
"""

from __future__ import annotations

import numbers
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Self

import narwhals as nw
import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import accuracy_score
from sklearn.utils import column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from ..arrays import ArrayLike, FloatArray, IntArray
from ..data.aligning import aligned, index_of
from ..data.checks import check_bounds, check_capacity, check_n_jobs, check_probabilities
from ..data.declared import read_declared
from ..data.losses import Loss, get_loss
from ..data.messages import listed, shown
from ..data.reading import LARGEST, SMALLEST, Table, read_column, read_covariates, to_float
from ..data.row_losses import row_losses
from ..data.sample import Sample, make_sample
from ..errors import InputError, NotFittedError
from ..fit import Bounds, attainable, predicted
from ..frontier.attainable import Attainable
from ..frontier.capacity import NO_CUTOFF, cap, find_cutoff
from ..frontier.mixtures import Predicted
from ..frontier.rule_class import read_rules
from ..learning.cross_fitting import as_seed, cross_fit, fit_on_all
from ..learning.learners import Learner, child_seeds, read_learner, within_groups
from .preferences import Setting, Weights, preferred_direction


class FrontierRule(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A decision rule on the fairness-accuracy frontier, as a scikit-learn classifier.

    Parameters
    ----------
    loss, learner
        As for `FairFrontier`.
    weights : non-negative numbers or str, optional
        How much the risk of each group counts, in the order of ``groups``; or "utilitarian" (equally, the default),
        "population" (by the groups' shares), "majority" (only the largest group), "best-for:<label>" (only that group),
        "rawlsian" (the smallest risk of the group worse off) or "egalitarian" (the fairest point; not for
        "group-aware" rules without a capacity). The last two are estimated from the training rows by cross-fitting.
    capacity : float, optional
        Largest share of people to be selected. The cut-off is fitted on the training rows.
    direction : numbers, optional
        Any direction, one number per group, instead of weights; negative coordinates want low risks.
    lower, upper : number or function of X, optional
        Bounds on every person's chance of being selected; a function maps covariates, a pandas frame or an array
        (n, p), to bounds (n,).
    rules : {"group-blind", "group-aware"}
        As for `FairFrontier`. A "group-aware" rule needs the groups of the rows that it decides about, given as
        ``sensitive_features`` to `predict` and the other methods; a "group-blind" rule takes none.
    learner_params, groups, positive, categorical, numeric
        As for `FairFrontier`. Without ``positive`` the larger of two labels counts as 1, as everywhere in scikit-learn.
    n_folds : int
        Folds for estimating the direction of "rawlsian" and "egalitarian".
    n_jobs, random_state
        Parallel jobs, and seed of the learner and the folds.

    Attributes
    ----------
    direction_ : (G,) array
        The unit direction.
    groups_ : tuple of labels (G,)
        The groups in the order of every list of risks.
    group_shares_ : (G,) array
        Shares of the groups in the training rows.
    classes_ : (2,) array
        What decisions 0 and 1 are called.
    cutoff_ : Cutoff
        Value of `decision_function` above which people are selected, and the chance of those at it.

    Examples
    --------
    >>> from fairfrontier import FrontierRule
    >>> from fairfrontier.datasets import make_liu_molinari
    >>> X, y, group = make_liu_molinari(1000, random_state=0)
    >>> rule = FrontierRule(learner="factored-logit", weights="population", capacity=0.1, random_state=0)
    >>> rule.fit(X, y, sensitive_features=group).predict_proba(X)[:, 1].mean().round(6)
    np.float64(0.1)
    """

    def __init__(
        self,
        loss: str | Loss | Callable[..., Any] = "classification",
        learner: Any = "auto",
        weights: Weights = None,
        capacity: float | None = None,
        *,
        direction: ArrayLike | None = None,
        lower: Any = None,
        upper: Any = None,
        learner_params: Mapping[str, Any] | None = None,
        groups: Sequence[Any] | None = None,
        positive: Any = None,
        categorical: Sequence[Any] | None = None,
        numeric: Sequence[Any] | None = None,
        n_folds: int = 5,
        n_jobs: int | None = None,
        random_state: Any = None,
        rules: str = "group-blind",
    ) -> None:
        self.loss = loss
        self.learner = learner
        self.weights = weights
        self.capacity = capacity
        self.direction = direction
        self.lower = lower
        self.upper = upper
        self.learner_params = learner_params
        self.groups = groups
        self.positive = positive
        self.categorical = categorical
        self.numeric = numeric
        self.n_folds = n_folds
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.rules = rules

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        *,
        sensitive_features: ArrayLike,
        sample_weight: ArrayLike | None = None,
        clusters: ArrayLike | None = None,
    ) -> Self:
        """Learn the rule from covariates ``X``, outcomes ``y`` and groups ``sensitive_features`` of the same rows.

        ``clusters`` keep rows together in the folds in which the learner is tuned, and in those that "rawlsian" and
        "egalitarian" need.
        """
        check_n_jobs(self.n_jobs)
        loss = get_loss(self.loss)
        learner, rules = read_learner(self.learner, self.learner_params), read_rules(self.rules)
        if rules.sees_group:
            learner = within_groups(learner)
        table, index = self._covariates(X, reset=True), index_of(X, y)
        outcome, positive, classes = self._labels(aligned(y, index, "y"), loss)
        sample = make_sample(
            table,
            outcome if index is None else np.asarray(outcome),
            aligned(sensitive_features, index, "sensitive_features"),
            groups=self.groups,
            sample_weight=aligned(sample_weight, index, "sample_weight"),
            clusters=aligned(clusters, index, "clusters"),
            positive=positive,
            missing="keep",
            binary=loss.binary_outcome,
        )
        if self.capacity is not None:
            check_capacity(self.capacity)
        losses = row_losses(loss, sample.y)
        direction_seed, fit_seed = child_seeds(as_seed(self.random_state), 2)

        def found() -> Attainable | Predicted:
            nuisance = cross_fit(
                sample, losses.dl, learner, n_folds=self.n_folds, n_jobs=self.n_jobs, random_state=direction_seed
            )
            bounds = Bounds(*self._bounds(sample.covariates, sample.n_obs))
            if len(sample.groups) > 2:
                return predicted(sample, losses, nuisance.predictions, bounds, rules=rules, capacity=self.capacity)
            whole = attainable(sample, losses, nuisance.predictions, bounds, rules)
            return whole if self.capacity is None else cap(whole, self.capacity)

        box = rules.sees_group and self.capacity is None
        setting = Setting(sample.groups.labels, sample.groups.shares, found, box)
        q = preferred_direction(self.weights, self.direction, setting)
        return self.settle(sample, classes, q, self._learn(sample, losses.dl, q, learner, fit_seed))

    def _learn(self, sample: Sample, dl: FloatArray, q: FloatArray, learner: Learner, seed: Any) -> Any:
        """Learn from all rows what `_k` needs."""
        return fit_on_all(sample, dl, learner, n_jobs=self.n_jobs, random_state=seed)

    def settle(self, sample: Sample, classes: Any, q: FloatArray, fitted: Any) -> Self:
        """Take a direction and what was learned elsewhere from the rows of a sample, and fit the cut-off."""
        validate_data(self, sample.X, skip_check_array=True)
        self._columns = list(sample.X.columns) if isinstance(sample.X, pd.DataFrame) else None
        self.classes_ = classes
        self.groups_, self.group_shares_ = sample.groups.labels, sample.groups.shares
        self.direction_, self._fitted = read_rules(self.rules).direction(q), fitted
        self.cutoff_ = NO_CUTOFF
        self._recalibrate(sample.covariates, sample.weight, sample.group)
        return self

    def recalibrate(
        self, X: ArrayLike, sample_weight: ArrayLike | None = None, *, sensitive_features: ArrayLike | None = None
    ) -> Self:
        """Fit the cut-off again, to the rows of another population; the order in which people are selected stays."""
        table, group = self._read(X), self._groups(X, sensitive_features)
        weight = np.ones(len(table))
        if sample_weight is not None:
            column = read_column(sample_weight, "sample_weight")
            weight = to_float(column.values, "sample_weight", "bad-weights", "Give one number per row.")
            if len(weight) != len(table) or not (np.isfinite(weight) & (weight >= 0.0)).all() or weight.max() == 0.0:
                raise InputError(
                    "bad-weights", "sample_weight must be one finite, non-negative number per row, not all zero."
                )
            if not SMALLEST <= float(weight.max()) <= LARGEST:
                raise InputError(
                    "bad-weights",
                    f"The largest sample_weight is {weight.max():.3g}; it must lie between {SMALLEST:g} and "
                    f"{LARGEST:g}. Only ratios of weights matter: divide them by their mean.",
                )
        self._recalibrate(table, weight, group)
        return self

    def _recalibrate(self, table: Table, weight: FloatArray, group: IntArray | None) -> None:
        lower, upper = self._bounds(table, len(weight))
        if self.capacity is not None:
            self.cutoff_ = find_cutoff(self._k(table, group), weight, self.capacity, lower, upper - lower)

    def decision_function(self, X: ArrayLike, *, sensitive_features: ArrayLike | None = None) -> FloatArray:
        """Return k (n,): by how much selecting each person serves the weighted sum of the risks."""
        return self._k(self._read(X), self._groups(X, sensitive_features))

    def predict_proba(self, X: ArrayLike, *, sensitive_features: ArrayLike | None = None) -> FloatArray:
        """Return the chances (n, 2) of decisions 0 and 1; strictly between 0 and 1 only at the cut-off or by bounds."""
        table = self._read(X)
        k = self._k(table, self._groups(X, sensitive_features))
        lower, upper = self._bounds(table, len(k))
        selected = lower + (upper - lower) * self.cutoff_.chances(k)
        return np.column_stack([1.0 - selected, selected])

    def predict(self, X: ArrayLike, *, sensitive_features: ArrayLike | None = None) -> Any:
        """Return each person's more likely decision, 0 where both are equally likely; `draw` decides by lot."""
        chance = self.predict_proba(X, sensitive_features=sensitive_features)[:, 1]
        return self.classes_[(chance > 0.5).astype(np.intp)]

    def score(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        sensitive_features: ArrayLike | None = None,
    ) -> float:
        """Return the share of decisions of `predict` that are right, for a y that is given in the rule's classes."""
        decided = self.predict(X, sensitive_features=sensitive_features)
        return float(accuracy_score(y, decided, sample_weight=sample_weight))

    def draw(self, X: ArrayLike, random_state: Any = None, *, sensitive_features: ArrayLike | None = None) -> Any:
        """Return decisions drawn with the chances of `predict_proba`."""
        chance = self.predict_proba(X, sensitive_features=sensitive_features)[:, 1]
        return self.classes_[(np.random.default_rng(random_state).random(len(chance)) < chance).astype(np.intp)]

    def _k(self, table: Table, group: IntArray | None) -> FloatArray:
        t = read_rules(self.rules).vectors(self._fitted.predict(table).delta_theta, group)
        p = self.direction_ / self.group_shares_
        k: FloatArray = t[:, 0] * p[0]
        for j in range(1, len(p)):
            k += t[:, j] * p[j]
        return k

    def _groups(self, X: ArrayLike, given: ArrayLike | None) -> IntArray | None:
        """Return the codes (n,) of the groups of the rows of X, for a rule that sees them; None for any other."""
        self.check_fitted()
        if not read_rules(self.rules).sees_group:
            if given is not None:
                raise TypeError("this rule does not see the group: it takes no sensitive_features to decide")
            return None
        if given is None:
            raise InputError(
                "missing-group",
                "This rule sees the group and needs that of every row to decide: pass it as sensitive_features=, as in "
                "rule.predict(X, sensitive_features=group). A rule that does not need it is one of "
                'rules="group-blind".',
            )
        column = read_column(aligned(given, index_of(X), "sensitive_features"), "sensitive_features")
        n = len(column.values)
        if n != (rows := len(self._read(X))):
            raise InputError(
                "length-mismatch", f"sensitive_features has {n} values, but X has {rows} rows: give one per row."
            )
        codes = np.full(n, -1, dtype=np.intp)
        for code, label in enumerate(self.groups_):
            codes[np.array([value == label for value in column.values], dtype=bool)] = code
        if (codes < 0).any():
            value = column.values[int(np.argmax(codes < 0))]
            raise InputError(
                "unknown-group",
                f"sensitive_features has {shown(value)}, but the rule has learned about the groups "
                f"{listed(self.groups_)} only, and needs to see the group of everybody it decides about.",
            )
        return codes

    def _read(self, X: ArrayLike) -> Table:
        self.check_fitted()
        return self._covariates(X, reset=False)

    def check_fitted(self) -> None:
        """Raise `NotFittedError` unless `fit` has been called."""
        if not hasattr(self, "direction_"):
            raise NotFittedError(f"This {type(self).__name__} is not fitted yet: call `fit` first.")

    def _covariates(self, X: ArrayLike, *, reset: bool) -> Table:
        """Return covariates: a frame with the columns of the fit, whatever their order, or an array of numbers."""
        declared, gaps = read_declared(self.categorical, self.numeric), self._takes_gaps()
        with _scikit_learn_errors("bad-features"):
            if not nw.dependencies.is_into_dataframe(X):
                if declared:
                    read_covariates(X, declared)  # says that names need a frame
                finite = "allow-nan" if gaps else True
                array: FloatArray = validate_data(self, X, reset=reset, dtype=np.float64, ensure_all_finite=finite)
                return array
            # as a pandas frame, whose names every version of scikit-learn reads
            covariates = read_covariates(X if reset else self._known_columns(X), declared)
            validate_data(self, covariates.table, skip_check_array=True, reset=reset)
        if covariates.missing and not gaps:
            counts = ", ".join(f"{name} ({int(gap.sum())})" for name, gap in covariates.missing.items())
            raise InputError(
                "missing-values",
                f"Missing values (NaN) in {counts}, and the learner does not take them: fill them in, or put an "
                "imputer in front of it.",
            )
        if not len(covariates.table):
            raise InputError("empty-data", "There are no rows: X has 0 sample(s).")
        return covariates.at(np.arange(len(covariates.table)))

    def _known_columns(self, X: Any) -> Any:
        """Return the columns that the rule has learned from, by name and in their order."""
        if self._columns is None:  # it has learned from an array
            return X
        frame = nw.from_native(X, eager_only=True)
        names = {str(name): name for name in self._columns}
        absent = [name for name in self._columns if name not in frame.columns and str(name) not in frame.columns]
        if absent:
            raise InputError(
                "bad-features",
                f"The rule needs columns that X does not have: {listed(absent)}. The feature names should match those "
                f"that were passed during fit, in any order; given are {listed(frame.columns)}.",
            )
        if isinstance(X, pd.DataFrame):
            return X[self._columns]
        return frame.select(list(names)).to_native()

    def _takes_gaps(self) -> bool:
        """Whether the learner takes missing values."""
        try:
            return read_learner(self.learner, self.learner_params).takes_gaps
        except InputError:  # a learner that cannot be used is refused elsewhere
            return False

    def _bounds(self, table: Table, n: int) -> tuple[FloatArray, FloatArray]:
        given = [_bound(name, value, table, n) for name, value in (("lower", self.lower), ("upper", self.upper))]
        return check_bounds(given[0], given[1], n)

    def _labels(self, y: ArrayLike, loss: Loss) -> tuple[Any, Any, Any]:
        """Return the outcome as a column, the label counted as 1 (None if none is needed), the names of decisions."""
        if y is None:
            raise InputError("outcome-not-binary", "This rule requires y to be passed, but the target y is None.")
        if not loss.binary_outcome and self.positive is None:
            return y, None, np.array([0, 1])
        with _scikit_learn_errors("outcome-not-binary"):
            plain = np.asarray(y)
            if plain.ndim > 1:
                y = plain = column_or_1d(plain, warn=True)
            missing = int(read_column(y, "y").missing.sum())
            if missing:
                raise InputError("missing-values", f"Missing values (NaN) in y ({missing}): fill them in.")
            check_classification_targets(plain)
        labels = np.unique(plain)
        if len(labels) > 2:
            raise InputError(
                "outcome-not-binary",
                f"Only binary classification is supported. The type of the target is multiclass: y has {len(labels)} "
                f"values, such as {labels[:3].tolist()}; merge them into two.",
            )
        if len(labels) == 1:
            raise InputError("constant-outcome", f"y has one class only, {labels[0]!r}: nothing to predict.")
        positive = labels[-1] if self.positive is None else self.positive
        return y, positive, labels if positive == labels[-1] else labels[::-1]

    def __sklearn_tags__(self) -> Any:
        """Say what scikit-learn may expect: two classes, missing values if the learner takes them."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.allow_nan = self._takes_gaps()
        return tags


@contextmanager
def _scikit_learn_errors(code: str) -> Iterator[None]:
    """Pass on what scikit-learn finds wrong with an input as an error of ours, in its words."""
    try:
        with np.errstate(invalid="ignore"):  # infinite numbers are summed and cast before they are refused
            yield
    except InputError:
        raise
    except ValueError as error:
        text = str(error)
        known = {"contains NaN": "missing-values", "contains infinity": "non-finite"}
        raise InputError(next((own for part, own in known.items() if part in text), code), text) from error


def _bound(name: str, value: Any, table: Table, n: int) -> FloatArray | None:
    if value is None or (isinstance(value, numbers.Real) and not isinstance(value, bool)):
        return value  # type: ignore[return-value]
    if not callable(value):
        raise InputError("bad-bounds", f"`{name}` must be a number or a function of X, got {type(value).__name__}.")
    return check_probabilities(value(table), name, n, code="bad-bounds")
