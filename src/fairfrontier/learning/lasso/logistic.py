"""L1-penalised multinomial logistic regression with a penalty tuned by cross-validation."""

import warnings
from numbers import Real
from typing import Any, Self

import numpy as np
import pandas as pd
from scipy.special import softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning

from ...arrays import ArrayLike, BoolArray, FloatArray, IntArray
from ...data.checks import check_integer
from ...data.reading import to_float
from ...errors import InputError, NotFittedError
from ..folds import deal_training_rows
from .kernels import Curvature, linear_scores, log_loss
from .solver import Design, PenalisedLoss

#: Tolerance of the solutions that only serve as starting points or in cross-validation.
PATH_TOL = 1e-4
#: Fewest penalties that may be tried: a coarser grid misses the best one by too much in small samples.
MIN_PENALTIES = 20
#: The cross-validation goes down the penalties in this many stages, and ends after one that lowers the loss no further.
STAGES = 8
#: Most classes: more of them are an outcome to be predicted by a regression.
MAX_CLASSES = 100
#: Ratio of successive penalties on the way to a given one.
GIVEN_PENALTY_RATIO = 0.25
#: A largest penalty of this size is rounding noise: no feature is related to the label.
NO_SIGNAL = 1e-12


class L1LogisticRegression(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    r"""Multinomial logistic regression with an L1 penalty, as in the lasso.

    Minimises, with one coefficient vector per class on standardised features and free intercepts,

    .. math:: -\frac{1}{\sum_i w_i} \sum_i w_i \log p_{y_i}(x_i) + \lambda \sum_{k, j} |\beta_{kj}|.

    The adaptive lasso follows it by a second fit. With the spread :math:`s_j = \max_k \beta_{kj} - \min_k
    \beta_{kj}` of each feature in the first fit, it drops the features with :math:`s_j = 0` and minimises

    .. math:: -\frac{1}{\sum_i w_i} \sum_i w_i \log p_{y_i}(x_i) + \frac{2}{n} \sum_{k, j} |\beta_{kj}| / s_j.

    Parameters
    ----------
    penalty : float, optional
        The penalty lambda; infinity leaves only the intercepts. By default the one of `penalties_` with the
        smallest cross-validated log loss.
    n_penalties : int, default 50
        How many penalties to try, at least 20: evenly spaced in logarithms from the smallest that sets all
        coefficients to zero down to 1/1000 of it (1/100 with no more rows than features). They are tried in eight
        stages; the path ends after a stage that does not lower the cross-validated log loss, or once the deviance
        explained has stopped growing or exceeds 0.999.
    n_tuning_folds : int, default 10
        Folds of the cross-validation, drawn at random within each class. There are at most as many folds as rows,
        or as clusters.
    tol : float, default 1e-6
        Largest violation of a first-order condition, as a share of the smallest penalty that sets all
        coefficients to zero (or 1/100 of the penalty used, if that is less).
    max_iter : int, default 200
        Most Newton steps at one penalty.
    random_state : int, numpy.random.Generator or None
        Seed of the tuning folds.
    adaptive : bool, default False
        Whether to make the second fit, which drops more of the noise and shrinks strong signals less.
    keep_held_out : bool, default False
        Whether to keep what the folds of the cross-validation predict at the penalty chosen.

    Attributes
    ----------
    classes_ : (K,) array
        Labels with a positive total weight, sorted. With a single one its probability is 1 everywhere.
    coef_ : (K, p) array
        Coefficients on the original scale of the features. Constant features have coefficient zero.
    intercept_ : (K,) array
        Intercepts on the original scale; those of the standardised features sum to zero.
    penalty_ : float
        The penalty used; infinity if there was nothing to tune (one class, or no varying feature).
    penalties_ : array
        Penalties tried, decreasing; empty if none were.
    cv_log_loss_ : array or None
        Cross-validated log loss at each of `penalties_`. Rows whose class is absent from the rest of the
        folds are left out of it; not a number if these are all rows, and the penalty is the largest then.
    held_out_ : (n, K) array or None
        If asked for and tuned: class probabilities of every row, by the fit without its fold.
    n_iter_ : int
        Newton steps taken by the fits on all rows.
    n_features_in_ : int
        Number of features.

    Notes
    -----
    Rows with weight zero count as absent. The folds share the standardisation of the whole sample. With an
    even number of classes the coefficients are not unique, the probabilities and spreads are.

    In the second fit a feature whose coefficient is z standard errors away from zero, and was z' of them in
    the first fit, is dropped if z z' < 2: the threshold of Akaike's criterion. It needs no tuning. With
    weights n is the effective number of rows, :math:`(\sum_i w_i)^2 / \sum_i w_i^2`.
    """

    classes_: np.ndarray[Any, Any]
    coef_: FloatArray
    intercept_: FloatArray
    penalty_: float
    penalties_: FloatArray
    cv_log_loss_: FloatArray | None
    held_out_: FloatArray | None
    n_iter_: int
    n_features_in_: int

    def __init__(
        self,
        penalty: float | None = None,
        n_penalties: int = 50,
        n_tuning_folds: int = 10,
        tol: float = 1e-6,
        max_iter: int = 200,
        random_state: Any = None,
        *,
        adaptive: bool = False,
        keep_held_out: bool = False,
    ) -> None:
        self.penalty = penalty
        self.n_penalties = n_penalties
        self.n_tuning_folds = n_tuning_folds
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.adaptive = adaptive
        self.keep_held_out = keep_held_out

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        clusters: ArrayLike | None = None,
    ) -> Self:
        """Fit to the features `X` (n, p) and the labels `y` (n,), rows weighted by `sample_weight`.

        Rows with the same label in `clusters` (n,) stay in one fold of the cross-validation.
        """
        self._check_options()
        features = _read_features(X)
        label, weight = _read_labels(y, sample_weight, len(features))
        together = _read_clusters(clusters, len(features))
        self.n_features_in_ = features.shape[1]
        used = weight > 0.0
        self.classes_, code = np.unique(label[used], return_inverse=True)
        if len(self.classes_) > MAX_CLASSES:
            raise InputError(
                "bad-learner",
                f"y must have at most {MAX_CLASSES} distinct labels, not {len(self.classes_)}; "
                "for a continuous outcome use a regression.",
            )
        self.penalties_, self.cv_log_loss_, self.held_out_, self.n_iter_ = np.empty(0), None, None, 0
        self.penalty_ = np.inf if self.penalty is None else float(self.penalty)
        if len(self.classes_) == 1:
            self.coef_, self.intercept_ = np.zeros((1, self.n_features_in_)), np.zeros(1)
            return self
        weight = weight[used] / weight[used].sum()
        standardised, mean, scale = _standardise(features[used], weight)
        design = Design.of(standardised, code, weight, len(self.classes_))
        problem = PenalisedLoss(design, self.max_iter)
        coefficient = problem.coefficient
        if problem.max_penalty > NO_SIGNAL:
            given = self.penalty is not None
            together = None if together is None else together[used]
            converged = self._descend(problem, self.penalty_) if given else self._fit_tuned(problem, together)
            coefficient, self.n_iter_ = problem.coefficient, problem.n_iter
            if self.adaptive:
                coefficient, settled = self._fit_again(design, coefficient)
                converged = converged and settled
            if not converged:
                warnings.warn(
                    f"L1LogisticRegression did not reach tol={self.tol} within {self.max_iter} Newton steps "
                    "at some penalty; raise max_iter or tol.",
                    ConvergenceWarning,
                    stacklevel=2,
                )
        if len(self.classes_) == 2:
            coefficient = coefficient - coefficient.mean(axis=0)
        self.coef_ = coefficient[:, 1:] / scale
        intercept = coefficient[:, 0] - coefficient[:, 0].mean()
        self.intercept_ = intercept - (self.coef_ * mean).sum(axis=1)
        return self

    def _fit_tuned(self, problem: PenalisedLoss, clusters: IntArray | None) -> bool:
        """Minimise at the penalty with the smallest cross-validated log loss."""
        design = problem.design
        n, p = design.rows.shape
        smallest = 1e-3 if n > p - 1 else 1e-2
        penalties = problem.max_penalty * np.logspace(0.0, np.log10(smallest), self.n_penalties)
        generator = np.random.default_rng(self.random_state)
        fold = _stratified_folds(design.label, self.n_tuning_folds, generator, clusters)
        path = _SolutionPath(problem, max(PATH_TOL, self.tol) * problem.max_penalty)
        folds = [_HeldOut(design, fold == m) for m in range(fold.max() + 1)]
        counted = sum(held.counted_weight for held in folds)
        loss = self._try_penalties(penalties, path, folds)
        converged = path.converged and all(held.converged for held in folds)
        self.penalties_ = penalties[: len(loss)]
        self.cv_log_loss_ = loss / counted if counted > 0.0 else np.full(len(loss), np.nan)
        best = int(np.argmin(self.cv_log_loss_))
        self.penalty_ = float(self.penalties_[best])
        if self.keep_held_out:
            self.held_out_ = np.zeros((n, len(self.classes_)))
            for held in folds:
                self.held_out_[np.ix_(held.rows, held.present)] = self._predict_held_out(held, best)
        problem.move_to(path.solutions[best])
        return self._finish(problem, self.penalty_) and converged

    def _try_penalties(self, penalties: FloatArray, path: "_SolutionPath", folds: list["_HeldOut"]) -> FloatArray:
        """Go down the penalties in stages until the loss falls no further; return the summed losses of all folds."""
        loss, size = np.empty(0), max(1, self.n_penalties // STAGES)
        for stage in (penalties[start : start + size] for start in range(0, len(penalties), size)):
            tried = path.descend(stage)
            for held in folds:  # one by one: each copies the other rows for as long as it is fitted
                held.descend(tried, path.tol, self.max_iter)
            loss = np.sum([held.loss for held in folds], axis=0)
            if path.ended or int(np.argmin(loss)) < len(loss) - len(tried):
                break
        return loss

    def _predict_held_out(self, held: "_HeldOut", best: int) -> FloatArray:
        """Class probabilities of the rows of a fold by the fit of the others, at one of the penalties tried."""
        if len(held.present) == 1:
            return np.ones((len(held.rows), 1))
        coefficient = held.path[best]
        if self.adaptive:
            coefficient, _ = self._fit_again(held.others(), coefficient)
        return held.probabilities(coefficient)

    def _fit_again(self, design: Design, first: FloatArray) -> tuple[FloatArray, bool]:
        """Return the coefficients of the adaptive lasso after a first fit, and whether their fit converged."""
        # s_j = max_k b_kj - min_k b_kj; penalising |b| / s is penalising |u| with b = s u
        spread = np.ptp(first[:, 1:], axis=0)
        second = PenalisedLoss(design.scaled(spread), self.max_iter)
        # 2 / n with n = (sum w)^2 / sum w^2, and sum w = 1
        converged = self._descend(second, 2.0 * float((design.weight**2).sum()))
        self.n_iter_ += second.n_iter
        coefficient = np.zeros_like(first)
        coefficient[:, 0] = second.coefficient[:, 0]
        used = np.flatnonzero(spread)
        coefficient[:, 1 + used] = spread[used] * second.coefficient[:, 1:]
        return coefficient, converged

    def _descend(self, problem: PenalisedLoss, penalty: float) -> bool:
        """Minimise at a penalty by way of a few larger ones."""
        stage = GIVEN_PENALTY_RATIO * problem.max_penalty
        while stage > penalty:
            problem.minimise(stage, 0.1 * stage)
            stage *= GIVEN_PENALTY_RATIO
        return problem.max_penalty <= penalty or self._finish(problem, penalty)

    def _finish(self, problem: PenalisedLoss, penalty: float) -> bool:
        return problem.minimise(penalty, min(self.tol * problem.max_penalty, 0.01 * penalty))

    def _scores(self, X: ArrayLike) -> FloatArray:
        """Return the (n, K) linear scores, whose softmax are the probabilities."""
        if not hasattr(self, "coef_"):
            raise NotFittedError("This L1LogisticRegression is not fitted yet; call fit first.")
        features = _read_features(X)
        if features.shape[1] != self.n_features_in_:
            raise InputError(
                "bad-features",
                f"X has {features.shape[1]} features, but L1LogisticRegression is expecting "
                f"{self.n_features_in_} features as input, those of the fit.",
            )
        scores = np.empty((len(self.classes_), len(features)))
        linear_scores(np.ascontiguousarray(features.T), self.coef_, scores)
        return np.ascontiguousarray(scores.T + self.intercept_)

    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """Return the (n, K) class probabilities, columns in the order of `classes_`."""
        scores = self._scores(X)
        # p_k = exp(s_k - max s) / sum_l exp(s_l - max s)
        terms = np.exp(scores - scores.max(axis=1, keepdims=True))
        return np.asarray(terms / terms.sum(axis=1, keepdims=True))

    def predict(self, X: ArrayLike) -> np.ndarray[Any, Any]:
        """Return the most probable class of each row."""
        most_probable = self._scores(X).argmax(axis=1)
        return np.asarray(self.classes_[most_probable])

    def _check_options(self) -> None:
        if self.penalty is not None and not (isinstance(self.penalty, Real) and self.penalty > 0.0):
            raise InputError("bad-option", f"penalty must be positive, or None to tune it; got {self.penalty!r}.")
        if not isinstance(self.adaptive, bool | np.bool_):
            raise InputError("bad-option", f"adaptive must be True or False; got {self.adaptive!r}.")
        if not (isinstance(self.tol, Real) and 0.0 < self.tol < 1.0):
            raise InputError("bad-option", f"tol must lie strictly between 0 and 1; got {self.tol!r}.")
        for name, value, smallest, code in (
            ("n_penalties", self.n_penalties, MIN_PENALTIES, "bad-option"),
            ("n_tuning_folds", self.n_tuning_folds, 2, "bad-folds"),
            ("max_iter", self.max_iter, 1, "bad-option"),
        ):
            check_integer(value, name, least=smallest, code=code)


class _SolutionPath:
    """Solutions of all rows at decreasing penalties, until the deviance explained no longer grows."""

    def __init__(self, problem: PenalisedLoss, tol: float) -> None:
        self.problem, self.tol = problem, tol
        self.solutions: list[FloatArray] = []
        self.explained, self.converged, self.ended = 0.0, True, False

    def descend(self, penalties: FloatArray) -> FloatArray:
        """Solve at further penalties; return those before the end of the path."""
        for tried, penalty in enumerate(penalties, start=1):
            self.converged = self.problem.minimise(penalty, self.tol) and self.converged
            self.solutions.append(self.problem.coefficient.copy())
            before, self.explained = self.explained, 1.0 - self.problem.loss / self.problem.null_loss
            stalled = len(self.solutions) >= 5 and self.explained - before < 1e-5 * self.explained
            if stalled or self.explained > 0.999:
                self.ended = True
                return penalties[:tried]
        return penalties


class _HeldOut:
    """A fold of the cross-validation: the fit of the other rows along the penalties, and the loss of its own.

    Rows of a class that the other rows lack are not counted. No copy of rows is kept.
    """

    def __init__(self, design: Design, held_out: BoolArray) -> None:
        self.design, self.rows = design, np.flatnonzero(held_out)
        self.present = np.unique(design.label[~held_out])
        self.counted = np.flatnonzero(held_out & np.isin(design.label, self.present))
        self.counted_weight = float(design.weight[self.counted].sum())
        self.path: list[FloatArray] = []
        self.loss: list[float] = []
        self.converged = True
        self._curvature: Curvature | None = None

    def others(self) -> Design:
        """Return a copy of the rows outside the fold."""
        keep = np.ones(len(self.design.label), dtype=bool)
        keep[self.rows] = False
        return self.design.subset(keep)

    def descend(self, penalties: FloatArray, tol: float, max_iter: int) -> None:
        """Fit at further, decreasing penalties; keep the solutions, and the summed losses of the rows of the fold."""
        if len(self.present) == 1:
            self.loss += [0.0] * len(penalties)
            return
        problem = PenalisedLoss(self.others(), max_iter)
        if self.path:
            problem.move_to(self.path[-1], self._curvature)
        columns = np.ascontiguousarray(self.design.columns[:, self.counted])
        weight = self.design.weight[self.counted]
        label = np.searchsorted(self.present, self.design.label[self.counted])
        scores = np.empty((len(self.present), len(self.counted)))
        probability = np.empty_like(scores)
        for penalty in penalties:
            self.converged = problem.minimise(penalty, tol) and self.converged
            linear_scores(columns, problem.coefficient, scores)
            self.loss.append(log_loss(scores, label, weight, probability))
            self.path.append(problem.coefficient.copy())
        self._curvature = problem.curvature

    def probabilities(self, coefficient: FloatArray) -> FloatArray:
        """Class probabilities (m, K) of all rows of the fold, for the classes that the other rows have."""
        scores = np.empty((len(self.present), len(self.rows)))
        linear_scores(np.ascontiguousarray(self.design.columns[:, self.rows]), coefficient, scores)
        return np.ascontiguousarray(softmax(scores, axis=0).T)


def _stratified_folds(
    label: IntArray, n_folds: int, generator: np.random.Generator, clusters: IntArray | None = None
) -> IntArray:
    """Return a fold number per row, the rows of each class spread as evenly as possible; clusters stay together.

    There are at most as many folds as rows.
    """
    if clusters is not None:
        return deal_training_rows(label, n_folds, generator, clusters)
    shuffled = generator.permutation(len(label))
    by_class = shuffled[np.argsort(label[shuffled], kind="stable")]
    fold = np.empty(len(label), dtype=np.intp)
    fold[by_class] = np.arange(len(label)) % min(n_folds, len(label))
    return fold


def _standardise(features: FloatArray, weight: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the features with weighted mean 0 and standard deviation 1, their means and scales.

    Constant features become exactly zero.
    """
    mean = (weight[:, None] * features).sum(axis=0)
    centred = features - mean
    centred[:, features.max(axis=0) == features.min(axis=0)] = 0.0
    # sd = m sqrt(sum_i w_i (x_i / m)^2) with m = max |x_i|, which neither over- nor underflows
    largest = np.abs(centred).max(axis=0, initial=0.0)
    unit = np.where(largest > 0.0, largest, 1.0)
    centred /= unit
    deviation = np.sqrt((weight[:, None] * centred**2).sum(axis=0))
    deviation[deviation == 0.0] = 1.0
    return centred / deviation, mean, unit * deviation


def _read_features(X: ArrayLike) -> FloatArray:
    features = to_float(np.asarray(X), "X", "bad-features", "Encode categories as numbers first.")
    if features.ndim != 2:
        raise InputError("bad-features", f"X must have shape (rows, features), not {features.shape}.")
    if features.size == 0:
        raise InputError("empty-data", f"X must have rows and features, not shape {features.shape}.")
    if not np.isfinite(features).all():
        raise InputError("non-finite", "X holds missing or infinite values; remove or impute them first.")
    return features


def _read_clusters(clusters: ArrayLike | None, n: int) -> IntArray | None:
    if clusters is None:
        return None
    label = np.asarray(clusters)
    if label.shape != (n,):
        raise InputError("length-mismatch", f"clusters must hold one label per row, {n}, not shape {label.shape}.")
    if pd.isna(label).any():
        raise InputError("missing-values", "clusters holds missing labels; give every row a cluster.")
    return np.asarray(np.unique(label, return_inverse=True)[1], dtype=np.intp)


def _read_labels(y: ArrayLike, sample_weight: ArrayLike | None, n: int) -> tuple[np.ndarray[Any, Any], FloatArray]:
    label = np.asarray(y)
    if label.shape != (n,):
        raise InputError("length-mismatch", f"y must hold one label per row, {n}, not shape {label.shape}.")
    if label.dtype.kind == "f" and np.isinf(label).any():
        raise InputError("non-finite", "y holds infinite labels; remove those rows first.")
    if pd.isna(label).any():
        raise InputError("missing-values", "y holds missing labels; remove those rows first.")
    if sample_weight is None:
        return label, np.ones(n)
    weight = to_float(np.asarray(sample_weight), "sample_weight", "bad-weights", "Pass one number per row.")
    if weight.shape != (n,):
        raise InputError(
            "length-mismatch", f"sample_weight must hold one weight per row, {n}, not shape {weight.shape}."
        )
    if not (np.isfinite(weight).all() and (weight >= 0.0).all() and weight.any()):
        raise InputError("bad-weights", "sample_weight must be finite, not negative, and not all zero.")
    return label, weight
