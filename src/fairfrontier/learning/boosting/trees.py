"""Gradient boosting of small trees: a classifier and a regressor that can be fitted on, tree by tree."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy.special import expit, softmax
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin

from ...arrays import AnyArray, ArrayLike, FloatArray, IntArray
from .kernels import bin_numbers, follow_trees, grow_tree

MOST_BINS = 64
"""Most intervals of a column of numbers, unless more than half as many of its values have an interval each."""
MOST_LEVELS = 255
"""Most levels of a column: bins are bytes, and one of them stands for missing values."""


@dataclass(frozen=True, slots=True)
class Binning:
    """How columns become bins, learned from training rows.

    Attributes
    ----------
    thresholds : tuple of arrays or None
        For each column the upper ends of all bins but the last; None for a column of levels.
    n_bins : (p,) integer array
        Bins of each column; missing values and new levels are the bin after the last.
    """

    thresholds: tuple[FloatArray | None, ...]
    n_bins: IntArray

    @classmethod
    def of(cls, X: FloatArray, levels: tuple[int, ...]) -> "Binning":
        """Learn bins: numbers between their quantiles, levels one by one."""
        thresholds: list[FloatArray | None] = []
        n_bins = []
        for j, column in enumerate(X.T):
            present = column[~np.isnan(column)]
            if j in levels:
                thresholds.append(None)
                n_bins.append(int(present.max(initial=-1.0)) + 1)
                if n_bins[-1] > MOST_LEVELS:
                    raise ValueError(f"column {j} has {n_bins[-1]} levels; at most {MOST_LEVELS} can be told apart")
            else:
                ends = _interval_ends(present)
                thresholds.append(ends)
                n_bins.append(len(ends) + 1)
        return cls(tuple(thresholds), np.array(n_bins, dtype=np.intp))

    def read(self, X: FloatArray) -> AnyArray:
        """Return the bin of every entry."""
        bins: AnyArray = np.empty(X.shape, dtype=np.uint8)
        for j, ends in enumerate(self.thresholds):
            column = np.ascontiguousarray(X[:, j])
            if ends is None:
                known = (column >= 0.0) & (column < self.n_bins[j])
                bins[:, j] = np.where(known, column, self.n_bins[j])
            else:
                bin_numbers(column, ends, bins[:, j])
        return bins


def _interval_ends(present: FloatArray) -> FloatArray:
    """Midpoints between neighbours: of all numbers if they are few, else near the quantiles.

    A value that holds at least 1 / MOST_BINS of the rows gets an interval of its own; the quantiles are then those of
    the other rows.
    """
    values, count = np.unique(present, return_counts=True)
    if len(values) <= MOST_BINS:
        return np.asarray(values[:-1] / 2.0 + values[1:] / 2.0)
    heavy = np.flatnonzero(MOST_BINS * count >= len(present))
    if len(heavy):
        return _ends_around(values, count, heavy)
    ordered = np.sort(present)
    places = (np.arange(1, MOST_BINS) * len(ordered)) // MOST_BINS
    ends = ordered[places - 1] / 2.0 + ordered[places] / 2.0
    # no number may lie above the end of its bin by rounding, and none may lie above all others
    return np.unique(ends[ends < values[-1]])


def _ends_around(values: FloatArray, count: IntArray, heavy: IntArray) -> FloatArray:
    """Midpoints on both sides of heavy values, and near the quantiles of the other rows, so that bins are few.

    Parameters
    ----------
    values, count : arrays (V,)
        Distinct numbers, ascending, and the rows that have them.
    heavy : (m,) integer array
        Positions of the heavy values.
    """
    others = count.copy()
    others[heavy] = 0
    below = np.cumsum(others)
    n_intervals = max(1, MOST_BINS - 2 * len(heavy))
    places = (np.arange(1, n_intervals) * below[-1]) // n_intervals
    # an end after position i lies between values i and i + 1
    after = np.unique(np.concatenate([heavy - 1, heavy, np.searchsorted(below, np.maximum(places, 1))]))
    after = after[(after >= 0) & (after < len(values) - 1)]
    ends = values[after] / 2.0 + values[after + 1] / 2.0
    return np.unique(ends[ends < values[-1]])


class BoostedTrees(BaseEstimator):  # type: ignore[misc]
    """What the classifier and the regressor have in common.

    Parameters
    ----------
    max_iter : int
        Trees, for each class if there are more than two.
    learning_rate : float
        By how much the step of each tree is shortened.
    max_leaf_nodes : int
        Most leaves of a tree.
    min_samples_leaf : int
        Fewest rows of a leaf.
    l2_regularization : float
        Penalty of squared values of the leaves, in rows of mean weight.
    categorical_features : sequence of int
        Columns of positions of levels, missing if NaN.
    warm_start : bool
        Whether a further `fit`, with more trees and on the same rows, adds to the trees there.
    """

    columns_: AnyArray
    children_: AnyArray
    goes_left_: AnyArray
    values_: AnyArray

    def __init__(
        self,
        max_iter: int = 100,
        learning_rate: float = 0.1,
        max_leaf_nodes: int = 4,
        min_samples_leaf: int = 20,
        l2_regularization: float = 1.0,
        *,
        categorical_features: Sequence[int] = (),
        warm_start: bool = False,
    ) -> None:
        self.max_iter = max_iter
        self.learning_rate = learning_rate
        self.max_leaf_nodes = max_leaf_nodes
        self.min_samples_leaf = min_samples_leaf
        self.l2_regularization = l2_regularization
        self.categorical_features = categorical_features
        self.warm_start = warm_start

    def _start(self, X: ArrayLike, start: FloatArray) -> None:
        """Begin with no trees, and with one score per class at which all rows start."""
        values = np.asarray(X, dtype=np.float64)
        self.n_features_in_ = values.shape[1]
        self.binning_ = Binning.of(values, tuple(self.categorical_features))
        self.start_ = start
        self._bins = self.binning_.read(values)
        self._raw = np.repeat(start[:, None], len(values), axis=1)
        width = int(self.binning_.n_bins.max()) + 1
        shape = (0, len(start), 2 * self.max_leaf_nodes - 1)
        self.columns_, self.children_ = np.empty(shape, dtype=np.int32), np.empty(shape, dtype=np.int32)
        self.goes_left_, self.values_ = np.empty((*shape, width), dtype=bool), np.empty(shape)

    def _grow(self, derivatives: Callable[[FloatArray], tuple[FloatArray, FloatArray]]) -> None:
        """Add trees up to ``max_iter``; ``derivatives`` of all scores (K, n) gives gradients and second ones."""
        given, n_new = len(self.columns_), max(0, self.max_iter - len(self.columns_))
        trees: list[AnyArray] = [self.columns_, self.children_, self.goes_left_, self.values_]
        trees = [np.concatenate([old, np.zeros((n_new, *old.shape[1:]), old.dtype)]) for old in trees]
        is_level = np.array([ends is None for ends in self.binning_.thresholds])
        options = (self.max_leaf_nodes, self.min_samples_leaf, self.l2_regularization, self.learning_rate)
        for t in range(given, given + n_new):
            gradient, hessian = derivatives(self._raw)
            for k in range(len(self.start_)):
                nodes = tuple(part[t, k] for part in trees)
                grow_tree(
                    self._bins, self.binning_.n_bins, is_level, gradient[k], hessian[k], options, nodes, self._raw[k]
                )
        self.columns_, self.children_, self.goes_left_, self.values_ = trees
        if not self.warm_start:
            del self._bins, self._raw

    @property
    def _growing(self) -> bool:
        return self.warm_start and hasattr(self, "_raw")

    def _scores(self, X: ArrayLike) -> FloatArray:
        """Return the scores (K, n) of rows."""
        values = np.asarray(X, dtype=np.float64)
        scores = np.repeat(self.start_[:, None], len(values), axis=1)
        bins = self.binning_.read(values)
        follow_trees(bins, self.columns_, self.children_, self.goes_left_, self.values_, scores)
        return scores

    def __sklearn_tags__(self) -> Any:
        """Say that missing numbers are fine."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def _relative(sample_weight: ArrayLike | None, n: int) -> FloatArray:
    """Return weights with mean one: the penalty of leaves counts rows, so only ratios of weights may matter."""
    if sample_weight is None:
        return np.ones(n)
    weight = np.asarray(sample_weight, dtype=np.float64)
    return np.asarray(weight / weight.mean())


class BoostedTreesClassifier(ClassifierMixin, BoostedTrees):  # type: ignore[misc]
    """Boosting of the log loss, one score for two classes and one per class for more."""

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit to the columns `X` (n, p) and the labels `y` (n,)."""
        self.classes_, label = np.unique(y, return_inverse=True)
        weight = _relative(sample_weight, len(label))
        share = np.bincount(label, weight) / weight.sum()
        member = np.asarray(label == np.arange(len(share))[:, None], dtype=np.float64)
        binary = len(share) == 2
        if not self._growing:
            log_shares = np.log(np.maximum(share, np.finfo(np.float64).tiny))
            self._start(X, log_shares[1:] - log_shares[0] if binary else log_shares - log_shares.mean())

        def derivatives(scores: FloatArray) -> tuple[FloatArray, FloatArray]:
            p = expit(scores) if binary else softmax(scores, axis=0)
            # d/ds_k of -w log p_y = w (p_k - 1{y = k}), and once more w p_k (1 - p_k)
            return weight * (p - (member[1:] if binary else member)), weight * p * (1.0 - p)

        self._grow(derivatives)
        return self

    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """Return the probabilities (n, K) of the classes."""
        scores = self._scores(X)
        if len(self.classes_) == 2:
            p = expit(scores[0])
            return np.column_stack([1.0 - p, p])
        return np.ascontiguousarray(softmax(scores, axis=0).T)

    def predict(self, X: ArrayLike) -> Any:
        """Return the most probable class of each row."""
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


class BoostedTreesRegressor(RegressorMixin, BoostedTrees):  # type: ignore[misc]
    """Boosting of the squared error."""

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit to the columns `X` (n, p) and the numbers `y` (n,)."""
        target = np.asarray(y, dtype=np.float64)
        weight = _relative(sample_weight, len(target))
        if not self._growing:
            self._start(X, np.array([np.average(target, weights=weight)]))

        def derivatives(scores: FloatArray) -> tuple[FloatArray, FloatArray]:
            # d/ds of w (s - y)^2 / 2 = w (s - y), and once more w
            return weight * (scores - target), weight[None, :]

        self._grow(derivatives)
        return self

    def predict(self, X: ArrayLike) -> FloatArray:
        """Return the prediction of each row."""
        return np.asarray(self._scores(X)[0])
