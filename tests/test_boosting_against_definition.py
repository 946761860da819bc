"""Boosted trees: a plain transcription of growing trees, scikit-learn's boosting, and rows they cannot split."""

import re

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

from fairfrontier.errors import InputError
from fairfrontier.learning.boosting.kernels import LEVEL_SMOOTHING, SMALLEST_HESSIAN
from fairfrontier.learning.boosting.trees import MOST_BINS, Binning, BoostedTreesClassifier, BoostedTreesRegressor
from fairfrontier.learning.learners import resolve_learner

pytestmark = pytest.mark.kernels
OPTIONS = {"max_iter": 3, "max_leaf_nodes": 4, "min_samples_leaf": 5, "l2_regularization": 1.0}


def table(n, seed, gaps=False, levels=False):
    """Two columns of few numbers, one of many, and one of levels if asked for."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.integers(0, 5, n), rng.integers(0, 9, n) / 3.0, rng.normal(size=n)])
    if levels:
        X = np.column_stack([X, rng.integers(0, 6, n)])
    score = X[:, 0] - 2.0 + X[:, 1] * X[:, 2] + (X[:, -1] % 2 if levels else 0.0)
    if gaps:
        X[rng.random(X.shape) < 0.15] = np.nan
    return X, score + rng.normal(size=n), rng.integers(1, 4, n).astype(float)


def sides(column, is_level, gradient, hessian, l2):
    """All ways to send values of a column left or right: values that go left, NaN for the missing one."""
    present = np.unique(column[~np.isnan(column)])
    missing = [np.nan] if np.isnan(column).any() else []
    if is_level:
        values = [*present, *missing]

        def value_of(v):
            rows = np.isnan(column) if np.isnan(v) else column == v
            return -gradient[rows].sum() / (hessian[rows].sum() + l2 + LEVEL_SMOOTHING)

        order = sorted(values, key=value_of)
        return [order[: k + 1] for k in range(len(order) - 1)]
    found = [list(present[: k + 1]) for k in range(len(present) - (0 if missing else 1))]
    return found + ([[*missing, *present[:k]] for k in range(len(present))] if missing else [])


def goes(column, left):
    return np.isin(column, [v for v in left if not np.isnan(v)]) | (np.isnan(column) & any(np.isnan(v) for v in left))


def plain_split(X, rows, levels, gradient, hessian, min_rows, l2):
    """The split of these rows with the largest gain: gain and rows that go left; None if there is none."""

    def part(own):
        return gradient[own].sum() ** 2 / (hessian[own].sum() + l2)

    best = None
    for j in range(X.shape[1]):
        for left in sides(X[rows, j], j in levels, gradient[rows], hessian[rows], l2):
            own = goes(X[rows, j], left)
            if min(own.sum(), (~own).sum()) < min_rows:
                continue
            if min(hessian[rows[own]].sum(), hessian[rows[~own]].sum()) < SMALLEST_HESSIAN:
                continue
            gain = part(rows[own]) + part(rows[~own]) - part(rows)
            if gain > 1e-9 and (best is None or gain > best[0] + 1e-9):
                best = (gain, rows[own], rows[~own])
    return best


def plain_tree(X, levels, gradient, hessian, options):
    """What a tree adds to the score of every row."""
    leaves = [np.arange(len(X))]
    while len(leaves) < options["max_leaf_nodes"]:
        splits = [
            plain_split(X, rows, levels, gradient, hessian, options["min_samples_leaf"], options["l2_regularization"])
            for rows in leaves
        ]
        gains = [-1.0 if split is None else split[0] for split in splits]
        if max(gains) < 0.0:
            break
        k = int(np.argmax(gains))
        leaves[k : k + 1] = splits[k][1:]
    added = np.zeros(len(X))
    for rows in leaves:
        added[rows] = -0.1 * gradient[rows].sum() / (hessian[rows].sum() + options["l2_regularization"])
    return added


@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("levels", [False, True])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_trees_are_grown_as_defined(gaps, levels, seed):
    X, score, weight = table(60, seed, gaps, levels)  # at most 60 values: each is a bin of its own
    at = (3,) if levels else ()
    y = (score > 0).astype(float)
    model = BoostedTreesClassifier(**OPTIONS, categorical_features=at).fit(X, y, weight)
    weight = 60 * weight / weight.sum()  # only their ratios matter
    scores = np.full(60, np.log(weight[y == 1].sum() / weight[y == 0].sum()))
    for _ in range(OPTIONS["max_iter"]):
        p = 1.0 / (1.0 + np.exp(-scores))
        scores = scores + plain_tree(X, at, weight * (p - y), weight * p * (1.0 - p), OPTIONS)
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], 1.0 / (1.0 + np.exp(-scores)), atol=1e-12)
    model = BoostedTreesRegressor(**OPTIONS, categorical_features=at).fit(X, score, weight)
    fitted = np.full(60, np.average(score, weights=weight))
    for _ in range(OPTIONS["max_iter"]):
        fitted = fitted + plain_tree(X, at, weight * (fitted - score), weight, OPTIONS)
    np.testing.assert_allclose(model.predict(X), fitted, atol=1e-12)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_predictions_are_those_of_scikit_learn_where_both_have_the_same_bins(n_classes):
    rng = np.random.default_rng(n_classes)
    X = rng.integers(0, 30, (500, 4)).astype(float)
    score = X[:, 0] / 10.0 - X[:, 1] * X[:, 2] / 300.0 + rng.normal(size=500)
    y = np.digitize(score, np.quantile(score, np.arange(1, n_classes) / n_classes))
    options = {"max_iter": 20, "max_leaf_nodes": 4, "l2_regularization": 1.0}
    theirs = HistGradientBoostingClassifier(**options, early_stopping=False).fit(X, y).predict_proba(X)
    ours = BoostedTreesClassifier(**options).fit(X, y)
    np.testing.assert_allclose(ours.predict_proba(X), theirs, atol=1e-4)
    assert (ours.predict(X) == theirs.argmax(axis=1)).all()
    theirs = HistGradientBoostingRegressor(**options, early_stopping=False).fit(X, score).predict(X)
    np.testing.assert_allclose(BoostedTreesRegressor(**options).fit(X, score).predict(X), theirs, atol=1e-4)


def test_growing_in_stages_is_growing_at_once_and_keeps_no_rows():
    X, score, weight = table(300, 5, gaps=True, levels=True)
    y = np.digitize(score, [-1.0, 1.0])
    options = {"categorical_features": (3,), "min_samples_leaf": 5}
    at_once = BoostedTreesClassifier(max_iter=20, **options).fit(X, y, weight)
    grown = BoostedTreesClassifier(max_iter=4, warm_start=True, **options).fit(X, y, weight)
    for stage in (9, 20):
        grown.set_params(max_iter=stage).fit(X, y, weight)
    np.testing.assert_array_equal(grown.predict_proba(X), at_once.predict_proba(X))
    sizes = [np.size(value) for value in vars(at_once).values() if isinstance(value, np.ndarray)]
    assert max(sizes) == at_once.goes_left_.size
    assert not any(np.shape(value)[:1] == (300,) for value in vars(at_once).values())


def test_bins_lie_between_neighbours_and_hold_about_the_same_number_of_rows():
    rng = np.random.default_rng(0)
    values = np.concatenate([rng.normal(size=5000), np.full(400, 0.5), [np.nan] * 7])
    binning = Binning.of(values[:, None], ())
    bins = binning.read(values[:, None])[:, 0]
    present = ~np.isnan(values)
    order = np.argsort(values[present])
    assert (np.diff(bins[present][order].astype(int)) >= 0).all()
    assert (bins[~present] == binning.n_bins[0]).all()
    count = np.bincount(bins[present])
    assert len(count) == binning.n_bins[0] <= MOST_BINS
    assert count.max() <= 400 + 2 * 5400 / MOST_BINS
    few = np.array([1.0, 2.0, 2.0, 7.0])
    np.testing.assert_array_equal(Binning.of(few[:, None], ()).read(few[:, None])[:, 0], [0, 1, 1, 2])


def test_columns_without_heavy_values_are_cut_at_their_quantiles():
    values = np.sort(np.random.default_rng(1).normal(size=1000))
    values[100:110] = values[100]  # ten of 1,000 rows are fewer than one in 64
    at = np.arange(1, MOST_BINS) * 1000 // MOST_BINS
    np.testing.assert_array_equal(
        Binning.of(values[::-1, None], ()).thresholds[0], np.unique(values[at - 1] / 2.0 + values[at] / 2.0)
    )


def test_heavy_values_have_bins_of_their_own_and_leave_the_others_to_the_rest():
    rng = np.random.default_rng(2)
    for heavy in ([0.0], [-9.0, 9.0], list(rng.normal(size=40))):  # inside, at both ends, and very many
        values = np.concatenate([rng.normal(size=600), np.repeat(heavy, 1000)])
        binning = Binning.of(values[:, None], ())
        bins = binning.read(values[:, None])[:, 0]
        assert binning.n_bins[0] == len(np.unique(bins)) <= max(MOST_BINS, 2 * len(heavy) + 1)
        for value in heavy:
            assert (values[bins == bins[values == value][0]] == value).all()
        if len(heavy) < 3:
            assert np.bincount(bins[:600]).max() <= 2 * 600 / (MOST_BINS - 2 * len(heavy))


def test_the_top_of_a_column_of_zeros_is_found():
    rng = np.random.default_rng(3)
    x = np.concatenate([np.zeros(1900), np.sort(rng.exponential(size=100))])
    y = (np.arange(2000) >= 1990).astype(float)
    fitted = BoostedTreesRegressor(max_iter=60, min_samples_leaf=5, l2_regularization=0.0).fit(x[:, None], y)
    found = fitted.predict(x[:, None])
    assert found[1992:].min() > 0.9
    assert np.abs(found[:1988]).max() < 0.1


@pytest.mark.parametrize("scale", [2.0**-27, 2.0**27, 1e-8, 1e8])
def test_the_scales_of_outcome_and_weights_change_no_tree(scale):
    X, score, weight = table(200, 4, gaps=True, levels=True)
    options = {"max_iter": 10, "categorical_features": (3,)}
    model = BoostedTreesRegressor(**options).fit(X, score, weight)
    for other in (
        BoostedTreesRegressor(**options).fit(X, scale * score, weight),
        BoostedTreesRegressor(**options).fit(X, scale * score, scale * weight),
    ):
        np.testing.assert_array_equal(other.columns_, model.columns_)
        np.testing.assert_array_equal(other.goes_left_, model.goes_left_)
        np.testing.assert_allclose(other.predict(X) / scale, model.predict(X), rtol=1e-9, atol=1e-12)
    p = BoostedTreesClassifier(**options).fit(X, score > 0, weight).predict_proba(X)
    scaled = BoostedTreesClassifier(**options).fit(X, score > 0, scale * weight).predict_proba(X)
    np.testing.assert_allclose(scaled, p, rtol=1e-9)


def test_without_a_penalty_a_separated_sample_stays_finite():
    X = np.arange(100.0)[:, None]
    model = BoostedTreesClassifier(max_iter=400, learning_rate=1.0, l2_regularization=0.0).fit(X, X[:, 0] > 49)
    assert np.isfinite(model.predict_proba(X)).all()
    assert (model.predict(X) == (X[:, 0] > 49)).all()


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"learning_rate": 0.0}, "learning_rate must be a number greater than 0; got 0.0"),
        ({"learning_rate": float("nan")}, "learning_rate must be a number greater than 0; got nan"),
        ({"max_iter": 0}, "max_iter must be an integer of at least 1; got 0"),
        ({"max_iter": 2.5}, "max_iter must be an integer of at least 1; got 2.5"),
        ({"l2_regularization": -1.0}, "l2_regularization must be a number of at least 0; got -1.0"),
        ({"l2_regularization": None}, "l2_regularization must be a number of at least 0; got None"),
        ({"max_leaf_nodes": None}, "max_leaf_nodes must be an integer of at least 2; got None"),
        ({"max_leaf_nodes": 1}, "max_leaf_nodes must be an integer of at least 2; got 1"),
        ({"max_leaf_nodes": 10**6}, "max_leaf_nodes must be an integer of at most 1000; got 1"),
        ({"min_samples_leaf": 0}, "min_samples_leaf must be an integer of at least 1; got 0"),
    ],
)
def test_options_are_checked(options, expected):
    for name in ("auto", "boosting", "pooled-boosting"):
        with pytest.raises(InputError, match=re.escape(expected)) as caught:
            resolve_learner(name, **options)
        assert caught.value.code == "bad-option"


def test_what_was_not_seen_in_training_goes_where_more_rows_went():
    X = np.repeat([0.0, 1.0, 2.0], [60, 30, 10])[:, None]
    y = np.repeat([1.0, -1.0, -1.0], [60, 30, 10])
    for at in ((), (0,)):
        model = BoostedTreesRegressor(max_iter=1, learning_rate=1.0, categorical_features=at).fit(X, y)
        assert model.predict([[np.nan]])[0] == model.predict([[0.0]])[0] > 0.0
        if at:
            assert model.predict([[17.0]])[0] == model.predict([[0.0]])[0]


@pytest.mark.parametrize(
    "X",
    [np.full((50, 1), np.nan), np.ones((50, 1)), np.arange(50.0)[:, None] * 1e300, np.full((50, 1), np.inf)],
    ids=["all missing", "constant", "huge", "infinite"],
)
def test_columns_that_cannot_be_split_or_hardly(X):
    y = np.arange(50) % 2
    p = BoostedTreesClassifier(max_iter=5).fit(X, y).predict_proba(X)
    assert np.isfinite(p).all()
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    at_levels = BoostedTreesClassifier(max_iter=5, categorical_features=(0,)).fit(np.full((50, 1), np.nan), y)
    np.testing.assert_allclose(at_levels.predict_proba(X[:3] * np.nan), 0.5)


def test_more_levels_than_bins_are_refused():
    X = np.arange(300.0)[:, None]
    BoostedTreesClassifier(max_iter=1, categorical_features=(0,)).fit(X[:255], np.arange(255) % 2)
    with pytest.raises(ValueError, match="column 0 has 300 levels; at most 255"):
        BoostedTreesClassifier(max_iter=1, categorical_features=(0,)).fit(X, np.arange(300) % 2)
