"""L1-penalised logistic regression against its definition, row by row, and against another solver."""

import math
import pickle
import warnings
import weakref

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from fairfrontier.errors import InputError, NotFittedError
from fairfrontier.learning.lasso import logistic as l1_logistic
from fairfrontier.learning.lasso.kernels import log_loss_gradient, shift_to_smallest_norm, weighted_cross_product
from fairfrontier.learning.lasso.logistic import L1LogisticRegression, _stratified_folds

# how scikit-learn is asked for an L1 penalty; older versions do not know the first
L1 = {"penalty": "l1"} if sklearn.__version__.startswith("1.7.") else {"l1_ratio": 1.0}

# --- plain transcriptions ----------------------------------------------------------------------------------


def standardise(X, weight):
    """Weighted mean 0 and standard deviation 1; constant columns become 0."""
    Z, mean, sd = np.zeros(X.shape), np.zeros(X.shape[1]), np.ones(X.shape[1])
    for j in range(X.shape[1]):
        mean[j] = np.average(X[:, j], weights=weight)
        if X[:, j].max() > X[:, j].min():
            sd[j] = math.sqrt(np.average((X[:, j] - mean[j]) ** 2, weights=weight))
            Z[:, j] = (X[:, j] - mean[j]) / sd[j]
    return Z, mean, sd


def probabilities(scores):
    """Softmax of one row's scores."""
    terms = [math.exp(s - max(scores)) for s in scores]
    return [term / sum(terms) for term in terms]


def loss_and_gradient(Z, y, weight, coefficient, intercept):
    """Weighted mean log loss and its derivatives in coefficients and intercepts, row by row."""
    classes = sorted(set(y.tolist()))
    loss, by_coefficient, by_intercept = 0.0, np.zeros(coefficient.shape), np.zeros(len(classes))
    for z, label, w in zip(Z, y.tolist(), weight / weight.sum(), strict=True):
        p = probabilities([float(b @ z + a) for b, a in zip(coefficient, intercept, strict=True)])
        loss -= w * math.log(p[classes.index(label)])
        for k, c in enumerate(classes):
            residual = w * (p[k] - (label == c))
            by_coefficient[k] += residual * z
            by_intercept[k] += residual
    return loss, by_coefficient, by_intercept


def on_standardised_scale(model, X, weight):
    Z, mean, sd = standardise(X, weight)
    return Z, model.coef_ * sd, model.intercept_ + model.coef_ @ mean


def objective(model, X, y, weight):
    Z, coefficient, intercept = on_standardised_scale(model, X, weight)
    return loss_and_gradient(Z, y, weight, coefficient, intercept)[0] + model.penalty_ * np.abs(coefficient).sum()


def largest_violation(model, X, y, weight):
    """Distance of the first-order conditions from holding.

    Derivative g of coefficient b: g = -penalty sign(b) if b != 0, |g| <= penalty if b = 0; intercepts: g = 0.
    """
    Z, coefficient, intercept = on_standardised_scale(model, X, weight)
    _, by_coefficient, by_intercept = loss_and_gradient(Z, y, weight, coefficient, intercept)
    worst = float(np.abs(by_intercept).max())
    for b, g in zip(coefficient.ravel(), by_coefficient.ravel(), strict=True):
        gap = abs(g + model.penalty_ * np.sign(b)) if b != 0.0 else max(abs(g) - model.penalty_, 0.0)
        worst = max(worst, float(gap))
    return worst


# --- samples -----------------------------------------------------------------------------------------------


def three_classes(n=400, p=8, seed=0):
    """Label 0 for 40% of the rows, otherwise -1 or 1 by a logistic model in the first two features."""
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(n, p))
    sign = np.where(generator.random(n) < 1.0 / (1.0 + np.exp(-X[:, 0] - 0.5 * X[:, 1])), 1, -1)
    return X, np.where(generator.random(n) < 0.6, sign, 0), generator.exponential(size=n)


def sample(name):
    X, y, weight = three_classes()
    generator = np.random.default_rng(1)
    n = len(y)
    if name == "two classes":
        return X, (y > 0).astype(int), weight
    if name == "four classes":
        return X, np.where((y > 0) & (X[:, 2] > 0.0), 2, y), weight
    if name == "collinear":
        return np.column_stack((X, X[:, 0], X[:, 0] + X[:, 1])), y, weight
    if name == "nearly collinear":
        return np.column_stack((X, X[:, :2] + 1e-6 * generator.normal(size=(n, 2)))), y, weight
    if name == "constant columns":
        return np.column_stack((np.full(n, 0.1), X, np.zeros(n))), y, weight
    if name == "scales from 1e-9 to 1e9":
        return X * np.logspace(-9, 9, X.shape[1]), y, weight
    if name == "an outlying row":
        X[0] = 1e6
        return X, y, weight
    if name == "separated":
        return X, (X[:, 0] > 0.0).astype(int) + (X[:, 0] > 1.0), weight
    if name == "rare class":
        return X, np.where(np.arange(n) < 3, 1, np.minimum(y, 0)), weight
    if name == "more features than rows":
        X = generator.normal(size=(60, 150))
        return X, np.sign(np.round(X[:, 0] + X[:, 1])).astype(int), weight[:60]
    return X, y, weight


SAMPLES = [
    "plain",
    "two classes",
    "four classes",
    "collinear",
    "nearly collinear",
    "constant columns",
    "scales from 1e-9 to 1e9",
    "an outlying row",
    "separated",
    "rare class",
    "more features than rows",
]


# --- the minimum -------------------------------------------------------------------------------------------


FOR_KERNELS = ("plain", 1e-5)  # as plain Python the kernels are slow: one sample, one penalty
CONDITIONS = [
    pytest.param(name, penalty, id=f"{name}-{penalty}", marks=[pytest.mark.kernels] * ((name, penalty) == FOR_KERNELS))
    for penalty in (None, 0.02, 1e-3, 1e-5)
    for name in SAMPLES
]


@pytest.mark.parametrize(("name", "penalty"), CONDITIONS)
def test_first_order_conditions_hold(name, penalty):
    X, y, weight = sample(name)
    model = L1LogisticRegression(penalty, n_tuning_folds=3, random_state=0).fit(X, y, weight)
    assert largest_violation(model, X, y, weight) <= min(1e-6, 0.011 * model.penalty_)
    assert np.isfinite(model.coef_).all()
    if name == "constant columns":
        assert not model.coef_[:, [0, -1]].any()


@pytest.mark.parametrize("penalty", [0.05, 5e-3, 5e-4])
@pytest.mark.parametrize("name", ["plain", "two classes"])
def test_equals_saga(name, penalty):
    X, y, weight = sample(name)
    ours = L1LogisticRegression(penalty).fit(X, y, weight)
    Z, mean, sd = standardise(X, weight)
    saga = LogisticRegression(C=1.0 / (penalty * weight.sum()), **L1, solver="saga", tol=1e-9, max_iter=50_000).fit(
        Z, y, weight
    )
    theirs = clone(ours)
    theirs.penalty_ = penalty
    if len(saga.classes_) == 2:
        theirs.coef_ = np.vstack((-saga.coef_, saga.coef_)) / (2.0 * sd)
        theirs.intercept_ = np.array([-0.5, 0.5]) * saga.intercept_ - theirs.coef_ @ mean
    else:
        theirs.coef_ = saga.coef_ / sd
        theirs.intercept_ = saga.intercept_ - saga.intercept_.mean() - theirs.coef_ @ mean
    np.testing.assert_allclose(ours.coef_ * sd, theirs.coef_ * sd, atol=1e-4)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-4)
    assert objective(ours, X, y, weight) <= objective(theirs, X, y, weight) + 1e-9


def test_given_penalty_equals_the_tuned_fit():
    X, y, weight = three_classes()
    tuned = L1LogisticRegression(random_state=0).fit(X, y, weight)
    given = clone(tuned).set_params(penalty=tuned.penalty_).fit(X, y, weight)
    np.testing.assert_allclose(given.coef_, tuned.coef_, atol=1e-5)
    assert given.cv_log_loss_ is None
    assert len(given.penalties_) == 0


def test_probabilities_are_the_softmax_of_the_scores():
    X, y, weight = three_classes(n=50)
    model = L1LogisticRegression(0.01).fit(X, y, weight)
    proba = model.predict_proba(X)
    for x, row in zip(X, proba, strict=True):
        np.testing.assert_allclose(row, probabilities((model.coef_ @ x + model.intercept_).tolist()), rtol=1e-12)
    assert model.predict(X).tolist() == model.classes_[proba.argmax(axis=1)].tolist()


# --- the penalties and their tuning ------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "smallest"), [("plain", 1e-3), ("more features than rows", 1e-2)])
def test_penalties_start_at_the_smallest_that_gives_zero(name, smallest):
    X, y, weight = sample(name)
    model = L1LogisticRegression(n_penalties=20, n_tuning_folds=3, random_state=0).fit(X, y, weight)
    share = [weight[y == c].sum() / weight.sum() for c in model.classes_]
    Z, _, _ = standardise(X, weight)
    _, gradient, _ = loss_and_gradient(Z, y, weight, np.zeros(model.coef_.shape), np.log(share))
    largest = np.abs(gradient).max()
    np.testing.assert_allclose(model.penalties_[0], largest, rtol=1e-10)
    expected = [largest * smallest ** (m / 19) for m in range(len(model.penalties_))]
    np.testing.assert_allclose(model.penalties_, expected, rtol=1e-10)
    assert not L1LogisticRegression(1.000001 * largest).fit(X, y, weight).coef_.any()
    assert L1LogisticRegression(0.999 * largest).fit(X, y, weight).coef_.any()


def test_path_ends_when_the_deviance_no_longer_falls(monkeypatch):
    monkeypatch.setattr(l1_logistic, "STAGES", 1)
    X, y, weight = three_classes(n=2_000, p=3)
    model = L1LogisticRegression(n_penalties=50, n_tuning_folds=2, random_state=0).fit(X, y, weight)
    assert len(model.penalties_) < 50

    def explained(penalty):
        fit = L1LogisticRegression(penalty, tol=1e-9).fit(X, y, weight)
        Z, coefficient, intercept = on_standardised_scale(fit, X, weight)
        share = np.array([weight[y == c].sum() / weight.sum() for c in fit.classes_])
        null = -(share * np.log(share)).sum()
        return 1.0 - loss_and_gradient(Z, y, weight, coefficient, intercept)[0] / null

    *_, third, second, last = (explained(penalty) for penalty in model.penalties_[-3:])
    assert last - second < 1.1e-5 * last
    assert second - third > 0.9e-5 * second


def test_cross_validated_log_loss(monkeypatch):
    X, y, weight = three_classes(n=150, p=4)
    quick = L1LogisticRegression(n_penalties=20, n_tuning_folds=4, random_state=7).fit(X, y, weight)
    monkeypatch.setattr(l1_logistic, "PATH_TOL", 1e-6)
    monkeypatch.setattr(l1_logistic, "STAGES", 1)
    model = clone(quick).fit(X, y, weight)
    np.testing.assert_allclose(quick.cv_log_loss_, model.cv_log_loss_[: len(quick.cv_log_loss_)], atol=2e-5)
    Z, _, _ = standardise(X, weight)
    code = np.searchsorted(model.classes_, y)
    fold = _stratified_folds(code, 4, np.random.default_rng(7))
    for at in (2, 8, 12):
        total = 0.0
        for m in range(4):
            train = fold != m
            c = 1.0 / (model.penalties_[at] * weight[train].sum())
            saga = LogisticRegression(C=c, **L1, solver="saga", tol=1e-8, max_iter=20_000)
            proba = saga.fit(Z[train], y[train], weight[train]).predict_proba(Z[~train])
            total -= (weight[~train] * np.log(proba[np.arange(len(proba)), code[~train]])).sum()
        assert model.cv_log_loss_[at] == pytest.approx(total / weight.sum(), abs=1e-6)
    assert model.penalty_ == model.penalties_[np.argmin(model.cv_log_loss_)]


@pytest.mark.parametrize("n_penalties", [20, 50])
@pytest.mark.parametrize("seed", range(3))
def test_path_ends_after_a_stage_that_does_not_lower_the_loss(monkeypatch, n_penalties, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(120, 6))
    y = (X[:, 0] * seed + rng.logistic(size=120) > 0).astype(int)
    options = {"n_penalties": n_penalties, "n_tuning_folds": 3, "random_state": 0}
    model = L1LogisticRegression(**options).fit(X, y)
    size = n_penalties // l1_logistic.STAGES
    monkeypatch.setattr(l1_logistic, "STAGES", 1)
    whole = L1LogisticRegression(**options).fit(X, y)
    end = size
    while end < len(whole.penalties_) and np.argmin(whole.cv_log_loss_[:end]) >= end - size:
        end += size
    end = min(end, len(whole.penalties_))
    assert len(model.penalties_) == end
    np.testing.assert_allclose(model.cv_log_loss_, whole.cv_log_loss_[:end], atol=2e-5)
    assert model.penalty_ == whole.penalties_[np.argmin(model.cv_log_loss_)]
    if seed:
        assert end < len(whole.penalties_)


def test_folds_are_stratified_and_random():
    label = np.repeat([0, 1, 2], [53, 7, 41])
    fold = _stratified_folds(label, 5, np.random.default_rng(0))
    counts = np.array([[np.sum((fold == m) & (label == k)) for k in range(3)] for m in range(5)])
    assert (np.ptp(counts, axis=0) <= 1).all()
    assert np.ptp(counts.sum(axis=1)) <= 1
    assert (fold != _stratified_folds(label, 5, np.random.default_rng(1))).any()


def held_out_rows(monkeypatch, *data, clusters, **options):
    """Rows that each tuning fold holds out, and the model."""
    held, original = [], l1_logistic._HeldOut

    def record(design, held_out, *rest):
        held.append(np.flatnonzero(held_out))
        return original(design, held_out, *rest)

    with monkeypatch.context() as patch:
        patch.setattr(l1_logistic, "_HeldOut", record)
        model = L1LogisticRegression(n_penalties=20, random_state=0, **options).fit(*data, clusters=clusters)
    return held, model


@pytest.mark.parametrize("adaptive", [False, True])
def test_held_out_rows_are_predicted_by_the_fit_of_the_other_folds(adaptive):
    X, y, weight = three_classes(n=240, p=4)
    options = {"n_penalties": 20, "adaptive": adaptive, "random_state": 0}
    model = L1LogisticRegression(n_tuning_folds=3, keep_held_out=True, **options).fit(X, y, weight)
    fold = _stratified_folds(np.unique(y, return_inverse=True)[1], 3, np.random.default_rng(0))
    for m in range(3):
        others = fold != m
        own = L1LogisticRegression(model.penalty_, tol=1e-8, **options).fit(X[others], y[others], weight[others])
        # the folds are standardised by the whole sample, and solved to a wider tolerance
        np.testing.assert_allclose(model.held_out_[~others], own.predict_proba(X[~others]), atol=0.02)
    assert L1LogisticRegression(n_tuning_folds=3, **options).fit(X, y, weight).held_out_ is None


def test_classes_absent_from_the_other_folds_are_held_out_with_probability_zero():
    X, y, _ = three_classes(n=90, p=3)
    y = np.where(np.arange(90) == 7, 9, y)
    model = L1LogisticRegression(n_penalties=20, n_tuning_folds=3, keep_held_out=True, random_state=0).fit(X, y)
    assert model.held_out_[7, list(model.classes_).index(9)] == 0.0
    np.testing.assert_allclose(model.held_out_.sum(axis=1), 1.0)


def test_a_fold_of_a_class_absent_elsewhere_is_predicted_from_its_features():
    X, y, _ = three_classes(n=90, p=3)
    y = np.where(np.arange(90) < 30, 9, np.where(y > 0, 1, 0))
    clusters = np.where(np.arange(90) < 30, 0, 1 + np.arange(90) % 2)
    model = L1LogisticRegression(n_penalties=20, n_tuning_folds=3, tol=1e-4, keep_held_out=True, random_state=0).fit(
        X, y, clusters=clusters
    )
    assert np.ptp(model.held_out_[:30, 0]) > 0.01
    others = np.arange(90) >= 30
    own = L1LogisticRegression(model.penalty_).fit(X[others], y[others])
    np.testing.assert_allclose(model.held_out_[:30, :2], own.predict_proba(X[:30]), atol=0.05)
    assert (model.held_out_[:30, 2] == 0.0).all()


def test_rows_of_tuning_folds_are_copied_one_fold_at_a_time(monkeypatch):
    X, y, _ = three_classes(n=90, p=3)
    alive, most, original = [], [], l1_logistic.Design.subset

    def counted(design, keep):
        made = original(design, keep)
        alive.append(weakref.ref(made.rows))
        most.append(sum(ref() is not None for ref in alive))
        return made

    monkeypatch.setattr(l1_logistic.Design, "subset", counted)
    options = {"n_penalties": 20, "n_tuning_folds": 3, "adaptive": True, "keep_held_out": True, "random_state": 0}
    model = L1LogisticRegression(**options).fit(X, y)
    stages = -(-len(model.penalties_) // (20 // l1_logistic.STAGES))
    assert len(alive) == 3 * stages + 3  # the stages of each fold, and its second fit
    assert max(most) <= 2
    assert len([ref for ref in alive if ref() is not None]) == 0


@pytest.mark.parametrize("n", [2, 3, 5])
@pytest.mark.parametrize("adaptive", [False, True])
def test_fewer_rows_than_tuning_folds(n, adaptive):
    X, y = np.arange(float(n))[:, None] ** 2, np.arange(n) % 2
    options = {"n_penalties": 20, "adaptive": adaptive, "keep_held_out": True, "random_state": 0}
    model = L1LogisticRegression(n_tuning_folds=10, **options).fit(X, y)
    assert np.isfinite(model.predict_proba(X)).all()
    np.testing.assert_allclose(model.held_out_.sum(axis=1), 1.0)
    same = L1LogisticRegression(n_tuning_folds=n, **options).fit(X, y)  # a fold for each row
    np.testing.assert_array_equal(model.coef_, same.coef_)
    if n == 2:  # nothing can be compared: the shares
        np.testing.assert_allclose(model.predict_proba(X), 0.5)


@pytest.mark.parametrize(("n_clusters", "n_folds"), [(40, 10), (3, 3), (2, 2)])
def test_tuning_folds_never_split_a_cluster(monkeypatch, n_clusters, n_folds):
    X, y, weight = three_classes(n=150, p=4)
    clusters = np.random.default_rng(3).permutation(np.arange(150) % n_clusters)
    held, _ = held_out_rows(monkeypatch, X, y, weight, clusters=[f"c{c}" for c in clusters])
    assert len(held) == n_folds
    assert sorted(np.concatenate(held)) == list(range(150))
    sets = [set(clusters[rows]) for rows in held]
    assert sum(len(s) for s in sets) == len(set.union(*sets)) == n_clusters
    # rows without weight leave the others' clusters as they are
    weight = np.where(np.arange(150) % 4 == 0, 0.0, weight)
    held, model = held_out_rows(monkeypatch, X, y, weight, clusters=clusters)
    kept = weight > 0
    again, same = held_out_rows(monkeypatch, X[kept], y[kept], weight[kept], clusters=clusters[kept])
    assert all(np.array_equal(a, b) for a, b in zip(held, again, strict=True))
    assert model.penalty_ == same.penalty_
    assert not set.intersection(*(set(clusters[kept][rows]) for rows in held[:2]))


def test_one_cluster_is_split_and_clusters_without_a_second_class_leave_nothing_to_compare(monkeypatch):
    X, y, _ = three_classes(n=100, p=4)
    held, model = held_out_rows(monkeypatch, X, y, clusters=np.zeros(100))
    assert len(held) == 10
    assert np.isfinite(model.cv_log_loss_).all()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        held, model = held_out_rows(monkeypatch, X, y > 0, clusters=y > 0)
    assert len(held) == 2
    assert np.isnan(model.cv_log_loss_).all()
    assert model.penalty_ == model.penalties_[0]


def test_near_copies_in_clusters_leave_the_penalty_alone():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 5))
    y = 0.7 * X[:, 0] + rng.normal(size=200) > 0
    person = np.repeat(np.arange(200), 6)
    copies = X[person] + rng.normal(0, 0.01, (1200, 5))
    alone = L1LogisticRegression(random_state=0).fit(X, y).penalty_
    split = L1LogisticRegression(random_state=0).fit(copies, y[person]).penalty_
    whole = L1LogisticRegression(random_state=0).fit(copies, y[person], clusters=person).penalty_
    assert split < alone / 4
    assert alone / 2 < whole < 2 * alone


@pytest.mark.parametrize(
    ("clusters", "code"),
    [([0, 1], "length-mismatch"), ([[0], [1], [1]], "length-mismatch"), ([0, None, 1], "missing-values")],
)
def test_clusters_are_checked(clusters, code):
    with pytest.raises(InputError) as caught:
        L1LogisticRegression(0.1).fit([[1.0], [2.0], [4.0]], [0, 1, 1], clusters=clusters)
    assert caught.value.code == code


@pytest.mark.parametrize("n_rare", [1, 2])
def test_class_absent_from_a_tuning_fold(n_rare):
    X, y, weight = three_classes(n=120)
    y = np.where(np.arange(120) < n_rare, 5, y)
    model = L1LogisticRegression(n_tuning_folds=5, random_state=0).fit(X, y, weight)
    assert model.classes_.tolist() == [-1, 0, 1, 5]
    assert np.isfinite(model.cv_log_loss_).all()
    assert largest_violation(model, X, y, weight) <= 1e-6


def test_tuning_finds_the_signal_and_drops_the_noise():
    X, y, _ = three_classes(n=2_000, p=15)
    noise = np.random.default_rng(3).permutation(y)
    assert L1LogisticRegression(random_state=0).fit(X, y).coef_[:, 0].any()
    assert np.abs(L1LogisticRegression(random_state=0).fit(X, noise).coef_).max() < 0.1


# --- the adaptive lasso ------------------------------------------------------------------------------------


def spread_of(coefficient):
    """How far apart the classes' coefficients lie, feature by feature."""
    return np.array([max(column) - min(column) for column in coefficient.T.tolist()])


@pytest.mark.parametrize("name", ["plain", "two classes", "four classes", "more features than rows"])
def test_second_fit_divides_each_penalty_by_the_spread(name):
    X, y, weight = sample(name)
    first = L1LogisticRegression(0.04).fit(X, y, weight)
    model = L1LogisticRegression(0.04, adaptive=True).fit(X, y, weight)
    Z, coefficient, intercept = on_standardised_scale(model, X, weight)
    spread = spread_of(on_standardised_scale(first, X, weight)[1])
    assert 0 < coefficient.any(axis=0).sum() < (spread > 0.0).sum() < len(spread)
    assert not coefficient[:, spread == 0.0].any()
    penalty = 2.0 / (sum(weight) ** 2 / sum(weight**2))
    _, gradient, by_intercept = loss_and_gradient(Z, y, weight, coefficient, intercept)
    np.testing.assert_allclose(by_intercept, 0.0, atol=1e-6)
    for j in np.flatnonzero(spread):
        for b, g in zip(coefficient[:, j], gradient[:, j], strict=True):
            # derivative g = -(penalty / spread) sign(b) if b != 0, |g| <= penalty / spread if b = 0
            violation = abs(spread[j] * g + penalty * np.sign(b)) if b != 0.0 else abs(spread[j] * g) - penalty
            assert violation <= 1e-6


def test_adaptive_fit_equals_saga():
    X, y, weight = three_classes()
    Z, _, sd = standardise(X, weight)
    options = {**L1, "solver": "saga", "tol": 1e-9, "max_iter": 50_000}
    first = LogisticRegression(C=1.0 / (0.02 * weight.sum()), **options).fit(Z, y, weight)
    spread = spread_of(first.coef_)
    penalty = 2.0 * (weight**2).sum() / weight.sum() ** 2
    second = LogisticRegression(C=1.0 / (penalty * weight.sum()), **options).fit(Z * spread, y, weight)
    ours = L1LogisticRegression(0.02, adaptive=True).fit(X, y, weight)
    np.testing.assert_allclose(ours.coef_ * sd, second.coef_ * spread, atol=1e-4)


def test_tuned_adaptive_fit_has_the_penalty_of_the_plain_one():
    X, y, weight = three_classes(p=15)
    plain = L1LogisticRegression(random_state=0).fit(X, y, weight)
    tuned = L1LogisticRegression(random_state=0, adaptive=True).fit(X, y, weight)
    given = L1LogisticRegression(plain.penalty_, adaptive=True).fit(X, y, weight)
    assert tuned.penalty_ == plain.penalty_
    assert (tuned.cv_log_loss_ == plain.cv_log_loss_).all()
    np.testing.assert_allclose(given.coef_, tuned.coef_, atol=1e-5)


def test_second_fit_keeps_fewer_features_and_shrinks_them_less():
    X, y, _ = three_classes(n=2_000, p=25)
    plain = L1LogisticRegression(random_state=0).fit(X, y)
    adaptive = L1LogisticRegression(random_state=0, adaptive=True).fit(X, y)
    assert adaptive.coef_.any(axis=0).sum() < plain.coef_.any(axis=0).sum()
    assert np.ptp(adaptive.coef_[:, 0]) > np.ptp(plain.coef_[:, 0])


@pytest.mark.parametrize("penalty", [0.5, np.inf])
def test_second_fit_without_features_predicts_the_shares(penalty):
    X, y, _ = three_classes()
    model = L1LogisticRegression(penalty, adaptive=True).fit(X, y)
    assert not model.coef_.any()
    shares = [(y == c).mean() for c in model.classes_]
    np.testing.assert_allclose(model.predict_proba(X[:1])[0], shares, rtol=1e-12)


# --- weights, degenerate samples, reproducibility ----------------------------------------------------------


def test_weights_count_as_copies_and_zero_as_absence():
    X, y, _ = three_classes()
    copies = np.random.default_rng(2).integers(0, 4, len(y))
    weighted = L1LogisticRegression(4e-3).fit(X, y, copies)
    repeated = L1LogisticRegression(4e-3).fit(np.repeat(X, copies, axis=0), np.repeat(y, copies))
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, atol=1e-6)
    np.testing.assert_allclose(weighted.intercept_, repeated.intercept_, atol=1e-6)


def test_rows_of_weight_zero_change_nothing_at_all():
    X, y, weight = three_classes()
    weight[::3] = 0.0
    y = np.where(np.arange(len(y)) == 0, 9, y)
    X[0] = 1e9
    with_them = L1LogisticRegression(random_state=0).fit(X, y, weight)
    kept = weight > 0.0
    without = L1LogisticRegression(random_state=0).fit(X[kept], y[kept], weight[kept])
    assert with_them.classes_.tolist() == [-1, 0, 1]
    assert (with_them.coef_ == without.coef_).all()


def test_single_class_has_probability_one():
    X = np.arange(6.0).reshape(3, 2)
    model = L1LogisticRegression().fit(X, ["only"] * 3)
    assert model.predict_proba(X).tolist() == [[1.0]] * 3
    assert model.predict(X).tolist() == ["only"] * 3
    assert model.penalty_ == np.inf


@pytest.mark.parametrize("penalty", [None, np.inf, 0.1])
def test_without_varying_features_the_shares_are_predicted(penalty):
    y = np.repeat([0, 1, 2], [10, 20, 70])
    model = L1LogisticRegression(penalty).fit(np.full((100, 2), 0.3), y)
    np.testing.assert_allclose(model.predict_proba([[5.0, -1.0]]), [[0.1, 0.2, 0.7]], rtol=1e-12)
    assert model.penalty_ == (np.inf if penalty is None else penalty)


def test_same_input_same_bits():
    X, y, weight = three_classes()
    first = L1LogisticRegression(random_state=0).fit(X, y, weight)
    again = L1LogisticRegression(random_state=0).fit(np.asfortranarray(X), y.astype(float), weight)
    assert (first.coef_ == again.coef_).all()
    assert (first.cv_log_loss_ == again.cv_log_loss_).all()
    copy = pickle.loads(pickle.dumps(first))
    assert (copy.predict_proba(X) == first.predict_proba(X)).all()


def test_too_few_steps_are_reported():
    X, y, _ = three_classes()
    with pytest.warns(ConvergenceWarning, match="raise max_iter"):
        L1LogisticRegression(1e-3, max_iter=1).fit(X, y)


# --- kernels -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [1, 4, 7])
def test_kernels_cover_every_row(n):
    generator = np.random.default_rng(n)
    rows, weight = generator.normal(size=(n, 3)), generator.random(n)
    label, proba = generator.integers(0, 2, n), generator.random((2, n))
    product, gradient = np.zeros((3, 3)), np.zeros((2, 3))
    for i in range(n):
        product += weight[i] * np.outer(rows[i], rows[i])
        for k in range(2):
            gradient[k] += weight[i] * (proba[k, i] - (label[i] == k)) * rows[i]
    np.testing.assert_allclose(weighted_cross_product(rows, weight), product, rtol=1e-12)
    np.testing.assert_allclose(log_loss_gradient(rows, label, weight, proba), gradient, atol=1e-14)


@pytest.mark.kernels
def test_shift_to_the_smallest_norm():
    coefficient = np.array([[1.0, 3.0, -2.0], [2.0, -1.0, -1.0], [4.0, 0.0, -5.0]])
    shift_to_smallest_norm(coefficient)
    assert coefficient.tolist() == [[-1.0, 3.0, 0.0], [0.0, -1.0, 1.0], [2.0, 0.0, -3.0]]
    even = np.array([[1.0], [2.0], [3.0], [9.0]])
    shift_to_smallest_norm(even)
    assert even.ravel().tolist() == [-1.0, 0.0, 1.0, 7.0]


# --- refusals ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"penalty": 0.0}, "bad-option"),
        ({"penalty": float("nan")}, "bad-option"),
        ({"penalty": "l1"}, "bad-option"),
        ({"n_penalties": 19}, "bad-option"),
        ({"n_penalties": 30.5}, "bad-option"),
        ({"tol": 0.0}, "bad-option"),
        ({"max_iter": 0}, "bad-option"),
        ({"adaptive": "yes"}, "bad-option"),
        ({"n_tuning_folds": 1}, "bad-folds"),
    ],
)
def test_options_are_checked(options, code):
    X, y, _ = three_classes()
    with pytest.raises(InputError) as caught:
        L1LogisticRegression(**options).fit(X, y)
    assert caught.value.code == code


@pytest.mark.parametrize(
    ("X", "y", "weight", "code"),
    [
        ([[1.0], [2.0]], [0, 1, 1], None, "length-mismatch"),
        ([[1.0], [2.0]], [0, 1], [1.0], "length-mismatch"),
        ([[1.0], [2.0]], [0, 1], [1.0, -1.0], "bad-weights"),
        ([[1.0], [2.0]], [0, 1], [0.0, 0.0], "bad-weights"),
        ([[1.0], [2.0]], [0.0, np.nan], None, "missing-values"),
        ([[1.0], [np.nan]], [0, 1], None, "non-finite"),
        ([["1"], ["2"]], [0, 1], None, "bad-features"),
        ([1.0, 2.0], [0, 1], None, "bad-features"),
        (np.empty((0, 2)), [], None, "empty-data"),
        (np.zeros((101, 1)), np.linspace(0.0, 1.0, 101), None, "bad-learner"),
    ],
)
def test_data_are_checked(X, y, weight, code):
    with pytest.raises(InputError) as caught:
        L1LogisticRegression(0.1).fit(X, y, weight)
    assert caught.value.code == code


def test_prediction_needs_a_fit_and_its_features():
    X, y, _ = three_classes()
    with pytest.raises(NotFittedError):
        L1LogisticRegression().predict_proba(X)
    with pytest.raises(InputError) as caught:
        L1LogisticRegression(0.1).fit(X, y).predict(X[:, :3])
    assert caught.value.code == "bad-features"
