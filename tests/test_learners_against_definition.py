"""Learners against plain transcriptions of what they promise."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LassoCV, LinearRegression, LogisticRegression
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from support.codes import group_codes
from support.quick import FEW, FEW_PENALTIES

from fairfrontier.learning.folds import deal, deal_training_rows
from fairfrontier.learning.lasso.logistic import L1LogisticRegression
from fairfrontier.learning.learners import (
    PRESETS,
    DirectLearner,
    FactoredLearner,
    Family,
    GroupPrediction,
    NumericColumns,
    TrainingRows,
    child_seeds,
    fit_learner,
    log_loss,
    resolve_learner,
    simplex_weights,
)
from fairfrontier.learning.learners.abilities import cluster_keywords, seeded, weight_keywords
from fairfrontier.learning.learners.composite import PartiallyLinearLearner, StackLearner
from fairfrontier.learning.learners.families import boosting_family, lasso_family, lasso_model, rows_per_tree

SEED = np.random.SeedSequence(7)


def rows(n=300, seed=0, values=(-1.0, 1.0), weighted=False):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    is_r = rng.random(n) < 0.4 + 0.2 * (X[:, 1] > 0)
    dl = rng.choice(values, size=n)
    dl = np.where(X[:, 0] + rng.normal(size=n) > 0, np.abs(dl), dl)
    return TrainingRows(X, dl, group_codes(is_r), 2, rng.integers(1, 4, n).astype(float) if weighted else None)


def test_a_classifier_predicts_the_probability_weighted_values():
    data, new = rows(values=(-2.0, 0.5, 3.0)), rows(50, 1).X
    prediction = fit_learner(resolve_learner(LogisticRegression()), data, SEED).predict(new)
    for code, got in enumerate(prediction.groups):
        z = [dl if inside else 0.0 for dl, inside in zip(data.dl, data.group == code, strict=True)]
        assert np.array_equal(z, data.z(code))
        model = LogisticRegression().fit(data.X, [str(v) for v in z])
        expected = [
            sum(float(v) * p for v, p in zip(model.classes_, row, strict=True)) for row in model.predict_proba(new)
        ]
        np.testing.assert_allclose(got.mean, expected, atol=1e-5)
        np.testing.assert_allclose(got.probabilities.sum(axis=1), 1.0)


def test_a_regressor_predicts_the_mean():
    data, new = rows(values=np.linspace(-1, 1, 80)), rows(50, 1).X
    prediction = fit_learner(resolve_learner(LinearRegression()), data, SEED).predict(new)
    expected = LinearRegression().fit(data.X, data.dl * (data.group == 1)).predict(new)
    np.testing.assert_allclose(prediction.groups[1].mean, expected)
    assert prediction.groups[1].probabilities is None


def test_factored_is_the_product_of_its_factors():
    data, new = rows(), rows(50, 1).X
    learner = FactoredLearner("f", Family(LogisticRegression(), None))
    prediction = fit_learner(learner, data, SEED).predict(new)
    p = LogisticRegression().fit(data.X, data.group == 0).predict_proba(new)[:, 1]
    np.testing.assert_allclose(prediction.group_probabilities, np.column_stack([p, 1 - p]), atol=1e-6)
    for code, (share, got) in enumerate(zip((p, 1 - p), prediction.groups, strict=True)):
        member = data.group == code
        within = LogisticRegression().fit(data.X[member], data.dl[member] > 0).predict_proba(new)[:, 1]
        for i in range(50):
            assert got.mean[i] == pytest.approx(share[i] * (within[i] - (1 - within[i])), abs=1e-5)
        # P(z = 1), P(z = -1), P(z = 0) in the log loss
        np.testing.assert_allclose(np.exp(-log_loss(got, np.ones(50))), share * within, atol=1e-5)
        np.testing.assert_allclose(np.exp(-log_loss(got, np.zeros(50))), 1 - share, atol=1e-5)


def test_log_loss_adds_up_repeated_values_and_is_bounded():
    prediction = GroupPrediction(np.zeros(2), np.array([1.0, 0.0, 1.0]), np.array([[0.2, 0.5, 0.3]] * 2))
    np.testing.assert_allclose(log_loss(prediction, np.array([1.0, 9.0])), [-np.log(0.5), 52 * np.log(2)])


@pytest.mark.parametrize("base", ["lasso", LinearRegression()], ids=str)
def test_partially_linear_recovers_its_coefficients(base):
    rng = np.random.default_rng(3)
    n = 4000
    X = pd.DataFrame({"w": rng.uniform(-1, 1, n)})
    X["x1"] = 0.5 * X["w"] + rng.uniform(-1, 1, n)
    X["x2"] = rng.uniform(-1, 1, n)
    is_r = rng.random(n) < 0.5
    # E[dl 1{G=r} | x] = 0.4 x1 - 0.2 x2 + 0.3 w and E[dl 1{G=b} | x] = -0.1 x1 + 0.3 x2 - 0.1
    mean = np.where(is_r, 0.4 * X["x1"] - 0.2 * X["x2"] + 0.3 * X["w"], -0.1 * X["x1"] + 0.3 * X["x2"] - 0.1)
    dl = 2 * mean + 0.2 * rng.normal(size=n)
    learner = resolve_learner("partially-linear", linear=("x1", "x2"), base=base)
    prediction = fit_learner(learner, TrainingRows(X, dl, group_codes(is_r), 2), SEED).predict(X)
    found = {(group, quantity): value for group, quantity, value in prediction.details}
    expected = {(0, "alpha"): 0.4, (0, "beta"): -0.2, (1, "alpha"): -0.1, (1, "beta"): 0.3}
    assert found.keys() == expected.keys()
    for key, value in expected.items():
        assert found[key] == pytest.approx(value, abs=0.04)
    truth = 0.4 * X["x1"] - 0.2 * X["x2"] + 0.3 * X["w"]
    assert np.mean((prediction.groups[0].mean - truth) ** 2) < 0.001


def test_partially_linear_is_least_squares_when_everything_is_linear():
    # residuals of in-sample linear regressions give back the joint regression (Frisch, Waugh, Lovell);
    # with many rows the inner folds hardly differ from it
    data = rows(3000, values=(-1.0, 1.0), weighted=True)
    learner = resolve_learner("partially-linear", linear=(0, 2), base=LinearRegression())
    prediction = fit_learner(learner, data, SEED).predict(data.X)
    full = LinearRegression().fit(data.X, data.z(0), data.weight)
    found = {q: v for g, q, v in prediction.details if g == 0}
    assert found["alpha"] == pytest.approx(full.coef_[0], abs=0.003)
    assert found["beta"] == pytest.approx(full.coef_[2], abs=0.003)
    np.testing.assert_allclose(prediction.groups[0].mean, full.predict(data.X), atol=0.01)


def test_simplex_weights_are_the_best_of_a_fine_grid():
    rng = np.random.default_rng(5)
    z, w = rng.normal(size=200), rng.uniform(0.5, 2, 200)
    for trial in range(10):
        predictions = z[:, None] * rng.uniform(-0.5, 1.2, 3) + rng.normal(size=(200, 3))
        a = simplex_weights(predictions, z, w)
        assert a.sum() == pytest.approx(1.0)
        assert (a >= 0).all()

        def loss(a, predictions=predictions):
            return np.sum(w * (z - predictions @ a) ** 2)

        grid = [(i / 40, j / 40, 1 - i / 40 - j / 40) for i in range(41) for j in range(41 - i)]
        assert loss(a) <= min(loss(np.array(g)) for g in grid) + 1e-8, trial


def test_stack_averages_its_members_and_keeps_the_weights():
    data, new = rows(), rows(40, 1).X
    learner = resolve_learner("stack", members=(LogisticRegression(), LinearRegression()))
    fitted = fit_learner(learner, data, SEED)
    prediction = fitted.predict(new)
    weights = {(g, q): v for g, q, v in prediction.details}
    for code, got in enumerate(prediction.groups):
        a = [weights[code, f"weight of {name}"] for name in learner.components(2)]
        assert sum(a) == pytest.approx(1.0)
        members = [fitted.parts[name].predict(new).prediction.groups[code].mean for name in learner.components(2)]
        np.testing.assert_allclose(got.mean, a[0] * members[0] + a[1] * members[1])


def test_numeric_columns_encode_and_standardise():
    X = pd.DataFrame({"a": [1.0, 2.0, 6.0], "f": [True, False, True], "c": ["u", "v", "u"]})
    w = np.array([1.0, 1.0, 2.0])
    columns = NumericColumns().fit(X)
    np.testing.assert_array_equal(columns.transform(X), [[1, 1, 1, 0], [2, 0, 0, 1], [6, 1, 1, 0]])
    unseen = pd.DataFrame({"a": [0.0], "f": [True], "c": ["w"]})
    np.testing.assert_array_equal(columns.transform(unseen), [[0, 1, 0, 0]])
    scaled = NumericColumns(standardise=True).fit(X, sample_weight=w).transform(X)
    np.testing.assert_allclose(w @ scaled, 0.0, atol=1e-12)
    np.testing.assert_allclose(w @ scaled**2 / w.sum(), 1.0)


def test_a_pipeline_gets_the_frame_as_it_is_and_uses_weights():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=200), "c": rng.choice(["u", "v", "w"], 200)})
    encode = ColumnTransformer([("c", OneHotEncoder(handle_unknown="ignore"), ["c"])], remainder="passthrough")
    model = Pipeline([("encode", encode), ("logit", LogisticRegression())])
    weight = rng.uniform(0.5, 2, 200)
    data = TrainingRows(X, rng.choice([-1.0, 1.0], 200), group_codes(rng.random(200) < 0.5), 2, weight)
    prediction = fit_learner(resolve_learner(model), data, SEED).predict(X)
    by_hand = Pipeline([("encode", encode), ("logit", LogisticRegression())])
    by_hand.fit(X, data.z(0).astype(int), logit__sample_weight=weight)
    np.testing.assert_allclose(prediction.groups[0].mean, by_hand.predict_proba(X) @ by_hand.classes_, atol=1e-6)


@pytest.mark.parametrize("learner", ["logit-lasso", LogisticRegression()], ids=str)
def test_weights_are_repeated_rows(learner):
    learner = (
        resolve_learner("logit-lasso", penalty=0.02, adaptive=False)
        if learner == "logit-lasso"
        else resolve_learner(learner)
    )
    data = rows(weighted=True)
    repeated = data.take(np.repeat(np.arange(300), data.weight.astype(int)))
    repeated = replace(repeated, weight=None)
    new = rows(50, 1).X
    one = fit_learner(learner, data, SEED).predict(new).delta_theta
    other = fit_learner(learner, repeated, SEED).predict(new).delta_theta
    np.testing.assert_allclose(one, other, atol=2e-4)


@pytest.mark.parametrize("values", [(-1.0, 1.0), tuple(np.linspace(-1, 1, 80))], ids=["classes", "mean"])
@pytest.mark.parametrize("name", ["forest", "factored-forest"])
def test_forests_do_not_depend_on_the_scale_of_weights(name, values):
    data, learner = rows(values=values, weighted=True), resolve_learner(name, n_estimators=10)
    scaled = replace(data, weight=data.weight / 1024)
    one, other = (fit_learner(learner, d, SEED).predict(data.X).delta_theta for d in (data, scaled))
    np.testing.assert_allclose(one, other, atol=1e-12)
    assert np.ptp(one[:, 0]) > 0.1


@pytest.mark.parametrize(("n", "expected"), [(1, 1), (5, 2), (300, 150), (1600, 800), (6400, 1600), (40_000, 4000)])
def test_forests_draw_half_the_rows_and_at_most_twenty_times_their_root(n, expected):
    assert rows_per_tree(n) == expected


@pytest.mark.parametrize("values", [(-1.0, 1.0), tuple(np.linspace(-1, 1, 80))], ids=["classes", "mean"])
def test_forests_draw_that_many_rows_unless_told_otherwise(values):
    data, new = rows(2500, values=values), rows(50, 1).X
    for given, same in (({}, 1000), ({"max_samples": 0.1}, 250), ({"max_samples": None}, 2500)):
        one, other = (
            fit_learner(resolve_learner("forest", n_estimators=5, **options), data, SEED)
            for options in (given, {"max_samples": same})
        )
        assert np.array_equal(one.predict(new).delta_theta, other.predict(new).delta_theta)
        model = one.parts[0].estimator.named_steps["model"]
        assert model.max_samples == given.get("max_samples", "auto")


def test_where_weights_go():
    assert weight_keywords(LogisticRegression()) == ("sample_weight",)
    assert weight_keywords(make_pipeline(StandardScaler(), LogisticRegression())) == (
        "logisticregression__sample_weight",
    )
    assert weight_keywords(GridSearchCV(LogisticRegression(), {"C": [1.0]})) == ("sample_weight",)


def test_every_random_state_is_set_from_the_seed():
    model = make_pipeline(StandardScaler(), RandomForestClassifier())
    search = GridSearchCV(RandomForestClassifier(random_state=1), {}, cv=KFold(2, shuffle=True))
    first, second = (seeded(search, SEED) for _ in range(2))
    other = seeded(search, np.random.SeedSequence(8))
    assert first.estimator.random_state == second.estimator.random_state != other.estimator.random_state
    assert first.cv.random_state == second.cv.random_state is not None
    assert search.estimator.random_state == 1
    assert seeded(model, SEED).named_steps["randomforestclassifier"].random_state is not None
    assert seeded(LinearRegression(), SEED).get_params() == LinearRegression().get_params()


def test_children_of_a_seed_do_not_depend_on_how_often_they_are_asked_for():
    first, second = child_seeds(SEED, 3), child_seeds(SEED, 5)
    for a, b in zip(first, second, strict=False):
        assert np.array_equal(a.generate_state(4), b.generate_state(4))
    assert not np.array_equal(first[0].generate_state(4), first[1].generate_state(4))


def test_constant_and_absent_parts_predict_constants():
    data, new = rows(60), rows(5, 1).X
    flat = replace(data, dl=np.where(data.group == 0, 1.0, 0.0))
    prediction = fit_learner(resolve_learner(LogisticRegression()), flat, SEED).predict(new)
    np.testing.assert_array_equal(prediction.groups[1].mean, np.zeros(5))
    only_second = data.members(1)
    factored = FactoredLearner("f", Family(LogisticRegression(), None))
    prediction = fit_learner(factored, only_second, SEED).predict(new)
    np.testing.assert_array_equal(prediction.groups[0].mean, np.zeros(5))
    np.testing.assert_array_equal(prediction.group_probabilities, np.tile([0.0, 1.0], (5, 1)))


def test_zero_weight_rows_do_not_count():
    data = rows(200)
    weight = np.where(np.arange(200) < 150, 1.0, 0.0)
    kept = data.take(np.arange(150))
    learner = resolve_learner(LogisticRegression())
    one = fit_learner(learner, replace(data, weight=weight), SEED).predict(data.X)
    two = fit_learner(learner, kept, SEED).predict(data.X)
    np.testing.assert_allclose(one.delta_theta, two.delta_theta, atol=1e-8)


@pytest.mark.parametrize(
    ("name", "many"),
    [
        (name, many)
        for name in PRESETS
        for many in (False, True)
        if name != "partially-linear" and (name, many) != ("logit-lasso", True)
    ],
)
def test_presets_run_on_frames_with_categories_and_weights(name, many):
    rng = np.random.default_rng(2)
    n = 120
    X = pd.DataFrame({"a": rng.normal(size=n), "c": rng.choice(["u", "v"], n)})
    dl = X["a"].to_numpy() + rng.normal(size=n)
    dl = dl if many else np.sign(dl)
    fast = {"forest": {"n_estimators": 10}, "boosting": {"max_iter": 5}, "neural-net": {"decay": 1.0}}
    fast |= {"logit": FEW, "logit-lasso": FEW, "lasso": FEW, "auto": {"max_iter": 5}}
    options = fast.get(name.removeprefix("factored-").removeprefix("pooled-"), {})
    if name == "pooled-logit":
        options = FEW_PENALTIES
    if name == "stack":
        members = tuple(resolve_learner(member, **FEW) for member in ("lasso", "factored-logit"))
        options = {"members": members, "n_inner_folds": 2}
    data = TrainingRows(X, dl, group_codes(rng.random(n) < 0.5), 2, rng.uniform(0.5, 2, n))
    learner = resolve_learner(name, **options)
    learner.check(data)
    first, second = (fit_learner(learner, data, SEED).predict(X).delta_theta for _ in range(2))
    assert np.array_equal(first, second)
    assert np.isfinite(first).all()
    assert np.corrcoef(first[:, 0], data.z(0))[0, 1] > 0.1


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", ["classes", "numbers"])
def test_growing_search_finds_what_fresh_fits_find(kind, weighted):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(400, 4))
    signal = X[:, 0] + X[:, 1] * X[:, 2]
    z = (signal + rng.normal(size=400) > 0.0).astype(float) if kind == "classes" else signal + rng.normal(size=400)
    weight = np.where(rng.random(400) < 0.2, 0.0, rng.exponential(size=400)) if weighted else None
    family = boosting_family()
    assert family.grows
    seed = np.random.SeedSequence(5)
    found = family.tune(X, z, weight, seed)
    assert found == replace(family, grows=False).tune(X, z, weight, seed)
    # a model grown to a stage predicts what one fitted afresh to that stage does
    first, last = {"model__max_iter": 10}, {"model__max_iter": 40}
    w = np.ones(400) if weight is None else np.where(weight > 0, weight, 0.1)
    grown = family.fit(X, z, w, seed, {**first, "model__warm_start": True})
    grown.grow(X, z, w, last)
    fresh = family.fit(X, z, w, seed, last)
    np.testing.assert_allclose(grown.predict(X).mean, fresh.predict(X).mean, atol=1e-6)


def test_growing_search_leaves_a_constant_alone():
    family = boosting_family()
    X, z = np.arange(30.0)[:, None], np.zeros(30)
    assert family.tune(X, z, None, np.random.SeedSequence(1)) is None
    z[:2] = 1.0  # in some training folds z is constant or nearly so
    assert family.tune(X, z, None, np.random.SeedSequence(1)) in family.grid


# --- clusters ----------------------------------------------------------------------------------------------


class Recorder(RegressorMixin, BaseEstimator):
    """Predicts the mean, and notes which clusters (the first column) it was fitted on and asked for."""

    seen: list = []  # noqa: RUF012 (clones must share it)

    def __init__(self, knob=0):
        self.knob = knob

    def fit(self, X, y, sample_weight=None):
        self.trained_, self.mean_ = set(X[:, 0]), np.mean(y)
        return self

    def predict(self, X):
        Recorder.seen.append((self.trained_, set(X[:, 0])))
        return np.full(len(X), self.mean_)


def clustered_rows(n_clusters, weighted=False, values=(-1.0, 1.0)):
    """Rows whose first covariate is their cluster; clusters differ in size."""
    data = rows(values=values, weighted=weighted)
    clusters = np.random.default_rng(2).permutation(np.arange(300) ** 2 % (2 * n_clusters) % n_clusters)
    clusters = np.where(np.arange(300) < n_clusters, np.arange(300), clusters)
    X = np.column_stack([clusters, data.X])
    return replace(data, X=X, clusters=10 + 3 * clusters)


RECORDED = Family(None, Recorder())
RECORDING = {
    "grid": DirectLearner("grid", replace(RECORDED, grid=({"knob": 0}, {"knob": 1}))),
    "factored": FactoredLearner("factored", replace(RECORDED, grid=({"knob": 0}, {"knob": 1}))),
    "stack": StackLearner("stack", (DirectLearner("member", RECORDED),)),
    "partially-linear": PartiallyLinearLearner("partially linear", RECORDED, (1, 2)),
}


@pytest.mark.parametrize("values", [(-1.0, 1.0), tuple(np.linspace(-1, 1, 80))], ids=["classes", "numbers"])
@pytest.mark.parametrize("name", RECORDING)
def test_inner_folds_never_split_a_cluster(name, values):
    learner, data = RECORDING[name], clustered_rows(40, values=values)

    def recorded(given):
        Recorder.seen.clear()
        learner.fit("member" if name == "stack" else 0, given, SEED)
        return list(Recorder.seen)

    pairs = recorded(data)
    assert len(pairs) >= 5
    assert all(not trained & held for trained, held in pairs)
    inside = data.X[data.group == 0 if name == "factored" else slice(None), 0]
    assert set.union(*(held for _, held in pairs)) == set(inside)
    assert any(trained & held for trained, held in recorded(replace(data, clusters=None)))


def test_zero_weights_and_subsets_keep_their_clusters():
    data = clustered_rows(40, weighted=True)
    order = np.random.default_rng(0).permutation(300)[:200]
    np.testing.assert_array_equal(data.take(order).clusters, data.clusters[order])
    np.testing.assert_array_equal(data.members(1).clusters, data.clusters[data.group == 1])
    assert rows().take(order).clusters is None
    data = replace(data, weight=np.where(np.arange(300) % 3 == 0, 0.0, data.weight))
    Recorder.seen.clear()
    RECORDING["grid"].tune(0, data, SEED)
    assert all(not trained & held for trained, held in Recorder.seen)


def splits_of_the_lasso(monkeypatch, data, **options):
    splits, original = [], LassoCV.fit

    def fit(self, X, y, sample_weight=None, **params):
        splits.extend(list(self.cv.split(X)) if hasattr(self.cv, "split") else self.cv)
        return original(self, X, y, sample_weight, **params)

    with monkeypatch.context() as patch:
        patch.setattr(LassoCV, "fit", fit)
        part = DirectLearner("lasso", lasso_family(**options)).fit(0, data, SEED)
    return splits, part.estimator.named_steps["model"]


def test_the_lasso_never_splits_a_cluster(monkeypatch):
    data = clustered_rows(40, weighted=True)
    splits, model = splits_of_the_lasso(monkeypatch, data)
    assert len(splits) == 5 == model.mse_path_.shape[1]
    assert isinstance(model.cv, KFold)
    for train, held in splits:
        assert sorted([*train, *held]) == list(range(300))
        assert not set(data.clusters[train]) & set(data.clusters[held])
    splits, _ = splits_of_the_lasso(monkeypatch, replace(data, clusters=None))
    assert any(set(data.clusters[train]) & set(data.clusters[held]) for train, held in splits)


def test_without_clusters_the_lasso_is_the_plain_one():
    data = rows(values=np.linspace(-1, 1, 80))
    ours = seeded(lasso_model(50, 10), SEED)
    theirs = LassoCV(alphas=50, cv=ours.named_steps["model"].cv, max_iter=10_000)
    ours.fit(data.X, data.dl)
    theirs.fit(ours.named_steps["columns"].transform(data.X), data.dl)
    assert np.array_equal(ours.named_steps["model"].mse_path_, theirs.mse_path_)
    assert np.array_equal(ours.named_steps["model"].coef_, theirs.coef_)


@pytest.mark.parametrize("n_folds", [3, 10, 100])
def test_whole_clusters_are_dealt_evenly_to_as_many_folds_as_there_can_be(n_folds):
    data = clustered_rows(40)
    strata = 2 * (data.dl > 0) + (data.group == 0)
    folds = deal_training_rows(strata, n_folds, np.random.default_rng(0), data.clusters)
    k = min(n_folds, 40)
    assert set(folds) == set(range(k))
    assert all(len(set(folds[data.clusters == c])) == 1 for c in data.clusters)
    if n_folds == 3:
        counts = np.array([np.bincount(strata[folds == fold], minlength=4) for fold in range(k)])
        assert np.ptp(counts.sum(axis=1)) <= 5
        assert (np.ptp(counts, axis=0) <= 10).all()
    # without clusters, and with one that cannot be kept together, rows are dealt as ever
    plain = deal(strata, n_folds, np.random.default_rng(0))
    for clusters in (None, np.full(300, 7)):
        dealt = deal_training_rows(strata, n_folds, np.random.default_rng(0), clusters)
        np.testing.assert_array_equal(dealt, plain)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("n_clusters", [1, 2, 3])
@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("logit-lasso", {"n_penalties": 20}),
        ("lasso", {"n_penalties": 20}),
        ("boosting", {}),
        ("factored-logit", {"n_penalties": 20}),
        ("partially-linear", {"linear": (1, 2)}),
        ("stack", {"members": tuple(resolve_learner(name, n_penalties=20) for name in ("lasso", "factored-logit"))}),
    ],
)
def test_fewer_clusters_than_tuning_folds(name, options, n_clusters):
    data, learner = clustered_rows(n_clusters), resolve_learner(name, **options)
    assert np.isfinite(fit_learner(learner, data, SEED).predict(data.X).delta_theta).all()
    # every cluster with one class, so that no training fold knows the held-out one
    data = replace(data, dl=np.where(data.clusters == 10, 1.0, -1.0), group=np.arange(300) % 2)
    assert np.isfinite(fit_learner(learner, data, SEED).predict(data.X).delta_theta).all()


def test_where_clusters_go():
    assert cluster_keywords(LogisticRegression()) == ()
    assert cluster_keywords(GridSearchCV(LogisticRegression(), {"C": [1.0]})) == ()
    assert cluster_keywords(L1LogisticRegression()) == ("clusters",)
    assert cluster_keywords(lasso_model(50, 10)) == ("model__clusters",)
