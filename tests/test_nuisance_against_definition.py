"""Folds, cross-fitting and its quality figures against plain transcriptions."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from joblib import parallel_config
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import roc_auc_score
from support.quick import FEW, FEW_PENALTIES

from fairfrontier.data.sample import make_sample
from fairfrontier.errors import WeakLearnerWarning
from fairfrontier.learning.cross_fitting import as_seed, cross_fit, external_nuisance, fit_on_all, rotate, training_rows
from fairfrontier.learning.folds import make_folds
from fairfrontier.learning.learners import PRESETS, FactoredLearner, Family, resolve_learner
from fairfrontier.learning.tasks import Perturbation


def make(n=300, seed=0, **options):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    group = np.where(rng.random(n) < 0.4 + 0.2 * (X[:, 1] > 0), "red", "blue")
    y = (X[:, 0] + rng.normal(size=n) > 0).astype(float)
    sample = make_sample(X, y, group, **options)
    return sample, 1.0 - 2.0 * sample.y


@pytest.mark.parametrize("n_folds", [2, 5, 7])
def test_stratified_folds_are_balanced_by_group(n_folds):
    sample, _ = make(203)
    folds = make_folds(sample, n_folds, 2, np.random.default_rng(0))
    assert folds.shape == (2, 203)
    assert not np.array_equal(folds[0], folds[1])
    for row in folds:
        assert sorted(set(row)) == list(range(1, n_folds + 1))
        strata = [np.ones(203, bool), (sample.group == 0), (sample.group == 1)]
        for stratum in strata:
            counts = [int(np.sum(stratum & (row == k))) for k in range(1, n_folds + 1)]
            assert max(counts) - min(counts) <= 1


@pytest.mark.parametrize("clustered", [False, True])
@pytest.mark.parametrize("scheme", ["stratified", "independent", "sequential"])
def test_outcomes_do_not_choose_the_folds(scheme, clustered):
    """A fold whose outcomes are balanced would tell a learner from the others what to expect of it."""
    clusters = np.random.default_rng(1).integers(0, 60, 300) if clustered else None
    sample, _ = make(clusters=clusters)
    other = replace(sample, y=1.0 - sample.y[::-1])
    one, two = (make_folds(each, 5, 2, np.random.default_rng(0), scheme) for each in (sample, other))
    assert not np.array_equal(sample.y, other.y)
    np.testing.assert_array_equal(one, two)


def test_independent_folds_are_independent_draws():
    sample, _ = make(2000)
    (row,) = make_folds(sample, 4, 1, np.random.default_rng(0), "independent")
    counts = np.bincount(row)[1:]
    assert counts.sum() == 2000
    assert 300 < counts.min() < 500 < counts.max() < 700


@pytest.mark.parametrize("scheme", [None, "independent"])
def test_clusters_are_never_split(scheme):
    clusters = np.random.default_rng(1).integers(0, 60, 400)
    sample, _ = make(400, clusters=clusters)
    (row,) = make_folds(sample, 4, 1, np.random.default_rng(0), scheme)
    for cluster in range(60):
        assert len(set(row[clusters == cluster])) == 1
    if scheme is None:
        for member in ((sample.group == 0), (sample.group == 1)):
            share = [np.mean(row[member] == k) for k in range(1, 5)]
            assert max(share) - min(share) < 0.06


def test_users_folds_are_kept_up_to_their_names():
    sample, _ = make(100)
    given = np.tile([7, 3, 9], 34)[:100]
    np.testing.assert_array_equal(make_folds(sample, 5, 1, None, given)[0], np.tile([2, 1, 3], 34)[:100])
    both = make_folds(sample, 5, 2, None, np.array([given, given[::-1]]))
    assert both.shape == (2, 100)


def test_users_folds_follow_dropped_rows():
    X = np.random.default_rng(0).normal(size=(40, 2))
    X[5, 0] = np.nan
    with pytest.warns(UserWarning, match="Dropped"):
        sample = make_sample(X, np.tile([0.0, 1.0], 20), np.repeat([0, 1], 20), missing="drop")
    given = np.arange(40) % 4
    np.testing.assert_array_equal(make_folds(sample, 2, 1, None, given)[0], np.delete(given, 5) + 1)
    values = np.random.default_rng(1).normal(size=(40, 2))
    with pytest.warns(WeakLearnerWarning):
        nuisance = external_nuisance(sample, 1 - 2 * sample.y, values)
    np.testing.assert_array_equal(nuisance.predictions[0], np.delete(values, 5, axis=0))


@pytest.mark.parametrize("weighted", [False, True])
def test_cross_fitting_by_a_plain_loop(weighted):
    weight = np.random.default_rng(9).uniform(0.2, 3, 300) if weighted else None
    sample, dl = make(sample_weight=weight)
    nuisance = cross_fit(sample, dl, LinearRegression(), n_folds=4, n_rep=2, random_state=3)
    assert nuisance.folds.shape == (2, 300)
    for repetition in range(2):
        for fold in range(1, 5):
            held = nuisance.folds[repetition] == fold
            for column, (label, member) in enumerate(
                zip(sample.groups, ((sample.group == 0), (sample.group == 1)), strict=True)
            ):
                z = dl * member
                model = LinearRegression().fit(sample.X[~held], z[~held], sample.weight[~held])
                predicted = model.predict(sample.X[held])
                np.testing.assert_allclose(nuisance.predictions[repetition, held, column], predicted)
                mean = np.average(z[~held], weights=sample.weight[~held])
                w = sample.weight[held]
                r2 = 1 - np.sum(w * (z[held] - predicted) ** 2) / np.sum(w * (z[held] - mean) ** 2)
                table = nuisance.quality
                entry = table[(table.repetition == repetition + 1) & (table.fold == fold) & (table.group == label)]
                assert entry.r2.item() == pytest.approx(r2)
                assert entry.rows.item() == held.sum()
                assert entry.group_rows.item() == (held & member).sum()
                assert np.isnan(entry.log_loss.item())
                assert np.isnan(entry.mean_log_loss.item())
    assert nuisance.learner == "LinearRegression"
    assert not nuisance.external
    assert nuisance.group_auc is None


def test_log_loss_and_group_auc_by_a_plain_loop():
    sample, dl = make()
    learner = FactoredLearner("f", Family(LogisticRegression(), None))
    nuisance = cross_fit(sample, dl, learner, n_folds=3, random_state=3)
    probability = np.empty(300)
    for fold in (1, 2, 3):
        held = nuisance.folds[0] == fold
        p = LogisticRegression().fit(sample.X[~held], (sample.group == 0)[~held]).predict_proba(sample.X[held])[:, 1]
        probability[held] = p
        train = ~held & (sample.group == 0)
        within = LogisticRegression().fit(sample.X[train], dl[train] > 0).predict_proba(sample.X[held])[:, 1]
        z, z_train = (dl * (sample.group == 0))[held], (dl * (sample.group == 0))[~held]
        chosen = np.select([z == 1, z == -1], [p * within, p * (1 - within)], 1 - p)
        shares = np.select([z == 1, z == -1], [np.mean(z_train == 1), np.mean(z_train == -1)], np.mean(z_train == 0))
        entry = nuisance.quality[(nuisance.quality.fold == fold) & (nuisance.quality.group == sample.groups.labels[0])]
        assert entry.log_loss.item() == pytest.approx(-np.mean(np.log(chosen)), abs=1e-5)
        assert entry.mean_log_loss.item() == pytest.approx(-np.mean(np.log(shares)))
    assert nuisance.group_auc == pytest.approx(roc_auc_score((sample.group == 0), probability), abs=1e-3)


@pytest.mark.parametrize(
    "learner",
    [
        resolve_learner("factored-logit", **FEW_PENALTIES),
        HistGradientBoostingClassifier(max_iter=5, early_stopping=True),
    ],
    ids=["factored-logit", "of scikit-learn"],
)
def test_bits_depend_neither_on_n_jobs_nor_on_the_call(learner):
    sample, dl = make(250)
    one = cross_fit(sample, dl, learner, n_folds=3, random_state=5, jitter=0.01)
    with parallel_config(backend="threading"):  # processes take seconds to start
        two = cross_fit(sample, dl, learner, n_folds=3, random_state=5, jitter=0.01, n_jobs=2)
    assert np.array_equal(one.predictions, two.predictions)
    pd.testing.assert_frame_equal(one.quality, two.quality)
    seed = np.random.SeedSequence(5)
    again = [cross_fit(sample, dl, learner, n_folds=3, random_state=seed, jitter=0.01) for _ in range(2)]
    assert np.array_equal(again[0].predictions, one.predictions)
    assert np.array_equal(again[1].predictions, one.predictions)
    other = cross_fit(sample, dl, learner, n_folds=3, random_state=6, jitter=0.01)
    assert not np.array_equal(other.predictions, one.predictions)


def test_a_generator_moves_on():
    rng = np.random.default_rng(0)
    assert as_seed(rng).entropy != as_seed(rng).entropy
    assert as_seed(np.random.default_rng(0)).entropy == as_seed(np.random.default_rng(0)).entropy


def test_tuning_happens_once_or_in_every_fold():
    sample, dl = make(400)
    told = []
    options = {
        "n_folds": 3,
        "random_state": 5,
        "progress": lambda done, total, text: told.append((done, total, text)),
    }
    once = cross_fit(sample, dl, resolve_learner("logit-lasso", **FEW), **options)
    assert [t[:2] for t in told] == [(i, 8) for i in range(1, 9)]
    assert told[0][2] == "tuning group 'red'"
    assert told[-1][2] == "repetition 1 of 1, fold 3 of 3, group 'blue'"
    told.clear()
    every = cross_fit(sample, dl, resolve_learner("logit-lasso", **FEW_PENALTIES), **options)
    assert len(told) == 6
    assert not np.array_equal(once.predictions, every.predictions)


SMALL = {
    "auto": {"max_iter": 10},
    "stack": {"members": ("lasso", "factored-boosting"), "n_inner_folds": 2},
    "partially-linear": {"linear": (0, 1), "base": "lasso", "n_inner_folds": 2},
    "forest": {"n_estimators": 10},
    "factored-forest": {"n_estimators": 10},
    "neural-net": {"n_hidden": 2, "max_iter": 20},
}
"""Options with which presets learn in little time; their tuning stays."""


@pytest.mark.filterwarnings("ignore::fairfrontier.errors.WeakLearnerWarning")
@pytest.mark.parametrize("name", sorted(PRESETS))
def test_held_out_outcomes_choose_nothing(name):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(240, 5))
    group, fold = np.where(rng.random(240) < 0.5, "red", "blue"), (np.arange(240) % 3 > 0).astype(int)
    y = (rng.random(240) < 0.5).astype(float)
    other = np.where(fold == 1, (X[:, 0] > 0).astype(float), y)  # noise, or in the second fold no noise at all

    def predicted(outcome, **options):
        sample = make_sample(X, outcome, group, groups=("red", "blue"))
        learner = resolve_learner(name, **SMALL.get(name, {}) | options)
        nuisance = cross_fit(sample, 1.0 - 2.0 * sample.y, learner, folds=fold, random_state=0)
        assert bool(nuisance.tuning) == bool(options)
        return nuisance.predictions[0][fold == 1]

    assert np.array_equal(predicted(y), predicted(other))
    if name in ("logit-lasso", "factored-logit", "lasso"):  # others choose among few numbers
        assert not np.array_equal(predicted(y, tune_on_folds=False), predicted(other, tune_on_folds=False))


def tuned(learner, sample, dl):
    """What is tuned on all rows for group "red": a number of trees or a penalty."""
    learner = resolve_learner(learner, tune_on_folds=False)
    (value,) = cross_fit(sample, dl, learner, n_folds=2, random_state=0).tuning[0].values()
    return getattr(value, "alpha", value)


@pytest.mark.parametrize("learner", ["boosting", "logit-lasso", "lasso"])
def test_near_copies_in_clusters_leave_the_tuning_alone(learner):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 12))
    y = (X[:, 0] + rng.normal(size=200) > 0).astype(float)
    group = np.where(rng.random(200) < 0.5, "red", "blue")
    person = np.repeat(np.arange(200), 6)
    copies = X[person] + rng.normal(0, 0.01, (1200, 12))
    sample = make_sample(X, y, group, groups=("red", "blue"))
    repeated = make_sample(copies, y[person], group[person], groups=("red", "blue"), clusters=person)
    alone = tuned(learner, sample, 1.0 - 2.0 * sample.y)
    together = tuned(learner, repeated, 1.0 - 2.0 * repeated.y)
    assert alone / 2.5 < together < 2.5 * alone


def test_learners_are_told_the_clusters_also_in_refits():
    clusters = np.random.default_rng(1).integers(0, 60, 300)
    sample, dl = make(clusters=clusters)
    rows, train = training_rows(sample, dl), np.arange(100, 250)
    # the same clusters by other numbers
    assert len({*zip(rows.clusters, clusters, strict=True)}) == len({*rows.clusters}) == len({*clusters})
    weighted, drawn = (
        Perturbation(np.random.SeedSequence(0), sample.clusters, resample).apply(rows, train)
        for resample in (False, True)
    )
    np.testing.assert_array_equal(weighted.clusters, rows.clusters[train])
    # copies of a row stay with it
    cluster_of = {tuple(x): c for x, c in zip(sample.X, rows.clusters, strict=True)}
    assert [cluster_of[tuple(x)] for x in drawn.X] == drawn.clusters.tolist()
    assert training_rows(*make()).clusters is None


def test_details_name_the_users_groups():
    sample, dl = make(400)
    learner = resolve_learner("partially-linear", linear=(0, 1), base=LinearRegression())
    details = cross_fit(sample, dl, learner, n_folds=2, random_state=0).details
    assert set(details.group) == {"red", "blue"}
    assert set(details.quantity) == {"alpha", "beta"}
    assert len(details) == 8


def test_jitter_rotates_each_pair_by_a_small_angle():
    pairs = np.random.default_rng(0).normal(size=(2, 500, 2))
    turned = rotate(pairs, 0.1, np.random.default_rng(1))
    np.testing.assert_allclose(np.hypot(*turned.T), np.hypot(*pairs.T))
    angle = np.angle((turned[..., 0] + 1j * turned[..., 1]) / (pairs[..., 0] + 1j * pairs[..., 1]))
    assert 0.095 < np.abs(angle).max() <= 0.1 + 1e-12
    assert abs(angle.mean()) < 0.01
    assert rotate(pairs, 0.0, None) is pairs


def test_external_predictions_are_judged_but_not_changed():
    sample, dl = make()
    values = np.column_stack([dl * (sample.group == 0), dl * (sample.group == 1)]) * 0.5
    nuisance = external_nuisance(sample, dl, values)
    np.testing.assert_array_equal(nuisance.predictions, values[None])
    assert nuisance.external
    assert nuisance.folds is None
    for label, column in zip(sample.groups, (0, 1), strict=True):
        z = 2 * values[:, column]
        entry = nuisance.quality[nuisance.quality.group == label]
        assert entry.r2.item() == pytest.approx(1 - np.sum((0.5 * z) ** 2) / np.sum((z - z.mean()) ** 2))
        assert entry.fold.item() == 0


def test_no_better_than_the_mean_warns_and_names_the_group():
    sample, dl = make()
    with pytest.warns(WeakLearnerWarning, match="DummyRegressor.*no better") as caught:
        cross_fit(sample, dl, DummyRegressor(), random_state=0)
    assert len(caught) == 2
    assert "'red'" in str(caught[0].message)


def test_fit_on_all_predicts_new_rows():
    sample, dl = make()
    new = np.random.default_rng(4).normal(size=(7, 3))
    fitted = fit_on_all(sample, dl, LinearRegression())
    expected = LinearRegression().fit(sample.X, dl * (sample.group == 0)).predict(new)
    np.testing.assert_allclose(fitted.predict(new).delta_theta[:, 0], expected)
    tuned = [fit_on_all(sample, dl, "lasso", random_state=1, n_jobs=jobs).predict(new).delta_theta for jobs in (1, 2)]
    assert np.array_equal(*tuned)


def test_the_scale_of_weights_does_not_matter():
    weight = np.random.default_rng(9).uniform(0.2, 3, 300)
    first, second = (
        cross_fit(*make(sample_weight=scale * weight), LogisticRegression(), n_folds=2, random_state=0).predictions
        for scale in (1.0, 1024.0)
    )
    assert np.array_equal(first, second)
