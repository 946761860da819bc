"""Any number of groups: samples, folds, learners, risks and evaluations by loops; what is planar asks for two."""

import itertools
import json
import warnings

import numpy as np
import pandas as pd
import pytest
from joblib import parallel_config
from scipy.special import expit
from sklearn.base import clone
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import roc_auc_score
from support.everything import differing, everything
from support.quick import FEW, QUICK, QUICK_LEARNER
from support.refusals import refused

from fairfrontier import FairFrontier, FrontierRule, evaluate
from fairfrontier.data.groups import by_group
from fairfrontier.data.sample import make_sample
from fairfrontier.errors import DroppedRowsWarning, FairFrontierWarning, InputError
from fairfrontier.learning.cross_fitting import cross_fit, external_nuisance, fit_on_all, training_rows
from fairfrontier.learning.folds import make_folds
from fairfrontier.learning.learners import (
    PRESETS,
    DirectLearner,
    FactoredLearner,
    Family,
    child_seeds,
    fit_learner,
    resolve_learner,
)
from fairfrontier.learning.learners.composite import inner_folds

LABELS = {
    2: ("pear", "apple"),
    3: ("north", "east", "centre"),
    4: (40, 7, 2, -1),
    5: (2.5, 2.0, 1.5, 0.25, 0.0),
}
"""Labels in the order of their codes: sorted, the last one first."""
SIZES = pytest.mark.parametrize("n_groups", LABELS)
SEED = np.random.SeedSequence(3)
pytestmark = pytest.mark.filterwarnings("ignore::fairfrontier.errors.WeakLearnerWarning")


def town(n=240, n_groups=3, seed=0):
    """Covariates, outcomes 0/1, codes and labels of people of several groups."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    tastes = np.argmax(np.outer(X[:, 1], np.linspace(0.0, 0.8, n_groups)) + rng.gumbel(size=(n, n_groups)), axis=1)
    slope = np.linspace(2.0, -1.5, n_groups)[tastes]
    y = (rng.random(n) < expit(slope * X[:, 0] + X[:, 1])).astype(int)
    return X, y, tastes, np.array(LABELS[n_groups], dtype=object)[tastes]


def sample_of(n=240, n_groups=3, seed=0, weighted=False, clustered=False):
    """A sample and its loss differences under classification loss."""
    X, y, codes, g = town(n, n_groups, seed)
    rng, arguments = np.random.default_rng(seed + 1), {}
    if weighted:
        arguments["sample_weight"] = rng.exponential(size=n) * (rng.random(n) < 0.9)
    if clustered:
        arguments["clusters"] = rng.permutation(np.arange(n) // 3)
    sample = make_sample(X, y, g, **arguments)
    np.testing.assert_array_equal(sample.group, codes)
    return sample, 1.0 - 2.0 * y


# --- the sample --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [list, np.asarray, pd.Series, pd.Categorical], ids=lambda make: make.__name__)
@SIZES
def test_codes_labels_and_shares(n_groups, make):
    X, y, codes, g = town(60, n_groups)
    weight = np.random.default_rng(1).exponential(size=60)
    sample = make_sample(X, y, make(g.tolist()), sample_weight=weight)
    labels = LABELS[n_groups]
    assert sample.groups.labels == tuple(sample.groups) == labels
    assert [type(label) for label in sample.groups] == [type(label) for label in labels]
    assert len(sample.groups) == n_groups
    assert sample.group.tolist() == codes.tolist()
    assert sample.group.dtype.kind == "i"
    assert sample.counts == {label: sum(own == label for own in g) for label in labels}
    total = {label: sum(w for w, own in zip(weight, g, strict=True) if own == label) for label in labels}
    np.testing.assert_allclose(sample.groups.shares, [total[label] / weight.sum() for label in labels], rtol=1e-13)
    assert [rows.tolist() for rows in sample.rows_by_group] == [
        [i for i in range(60) if g[i] == label] for label in labels
    ]
    assert [rows.tolist() for rows in by_group(sample.group, n_groups)] == [r.tolist() for r in sample.rows_by_group]
    assert sample.left_out == sample.dropped == {}


@SIZES
def test_chosen_groups_are_kept_in_the_order_given(n_groups):
    X, y, _, g = town(80, n_groups)
    for k in range(2, n_groups + 1):
        for chosen in itertools.permutations(LABELS[n_groups], k):
            sample = make_sample(X, y, g, groups=chosen)
            kept = [i for i in range(80) if g[i] in chosen]
            others = [label for label in LABELS[n_groups] if label not in chosen]
            assert sample.groups.labels == chosen
            assert sample.rows.tolist() == kept
            assert [chosen[code] for code in sample.group] == [g[i] for i in kept]
            assert sample.left_out == {label: sum(own == label for own in g) for label in others}
            assert sample.n_given == 80


def test_rows_left_out_may_have_gaps_and_others_are_dropped_by_group():
    X, y, codes, g = town(60, 4)
    y, g = y.astype(float), g.copy()
    left_out, second, third = (np.flatnonzero(codes == code) for code in (0, 1, 2))
    X[left_out[:3], 0] = np.nan
    y[left_out[3]] = np.nan
    chosen = LABELS[4][:0:-1]
    assert make_sample(X, y, g, groups=chosen).left_out == {LABELS[4][0]: len(left_out)}
    refused("missing-values", "4 of 60 rows", lambda: make_sample(X, y, g))
    X[second[0], 1] = np.nan
    y[third[:2]] = np.nan
    g[second[1]] = None
    refused("missing-values", r"4 of 60 rows.*2: 2, 7: 1, None: 1", lambda: make_sample(X, y, g, groups=chosen))
    with pytest.warns(DroppedRowsWarning, match="Dropped 4 of 60 rows"):
        sample = make_sample(X, y, g, groups=chosen, missing="drop")
    assert sample.dropped == {LABELS[4][1]: 1, LABELS[4][2]: 2, None: 1}
    assert sample.left_out == {LABELS[4][0]: len(left_out)}
    assert sample.n_given == 60
    assert sample.rows.tolist() == sorted(
        set(range(60)) - set(left_out.tolist()) - {second[0], second[1], third[0], third[1]}
    )


def test_a_group_without_weight_is_named():
    X, y, codes, g = town(60, 3)
    refused(
        "bad-weights",
        "zero in group 'centre'",
        lambda: make_sample(X, y, g, sample_weight=np.where(codes == 2, 0.0, 1.0)),
    )


@SIZES
def test_parts_and_halves_of_a_sample(n_groups):
    sample, _ = sample_of(120, n_groups, weighted=True)
    rows = np.random.default_rng(0).permutation(120)[:70]
    part = sample.take(rows)
    assert part.groups.labels == sample.groups.labels
    np.testing.assert_array_equal(part.group, sample.group[rows])
    expected = [part.weight[part.group == code].sum() / part.weight.sum() for code in range(n_groups)]
    np.testing.assert_allclose(part.groups.shares, expected, rtol=1e-13)
    first, second = sample.split(np.random.default_rng(1))
    assert sorted([*first, *second]) == list(range(120))
    counts = [np.bincount(sample.group[half], minlength=n_groups) for half in (first, second)]
    assert np.abs(counts[0] - counts[1]).max() <= 1


# --- folds -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("clustered", [False, True])
@pytest.mark.parametrize("n_groups", [*LABELS, 8])
def test_every_fold_has_every_group(n_groups, clustered):
    rng = np.random.default_rng(n_groups)
    g = np.repeat(np.arange(n_groups), 30)
    clusters = np.arange(30 * n_groups) // 3 if clustered else None  # each within one group
    y = rng.integers(0, 2, len(g))
    sample = make_sample(None, y, g, clusters=clusters)
    for folds in make_folds(sample, 5, 3, rng):
        counts = np.array([np.bincount(sample.group[folds == k], minlength=n_groups) for k in range(1, 6)])
        assert np.ptp(counts, axis=0).max() <= (6 if clustered else 0)  # clusters are dealt one by one
        assert counts.min() >= 3
        if clustered:
            assert all(len(set(folds[clusters == c])) == 1 for c in clusters)


def test_clusters_of_many_groups_are_dealt_group_by_group():
    g, clusters = np.repeat(np.arange(20), 12), np.arange(240) // 2
    for seed in range(10):
        rng = np.random.default_rng(seed)
        sample = make_sample(None, rng.integers(0, 2, 240), g, clusters=clusters)
        (folds,) = make_folds(sample, 3, 1, rng)  # refused if a fold misses any group
        assert all(np.bincount(folds[g == label], minlength=4)[1:].min() >= 2 for label in range(20))


@pytest.mark.parametrize(
    ("few", "advice"), [(9, "the largest n_folds that works is 4"), (3, "more rows of that group are needed")]
)
@pytest.mark.parametrize("position", [0, 1, 2])
def test_a_group_too_small_for_the_folds_is_named(position, few, advice):
    counts = [40, 50, 60]
    counts[position] = few
    g = np.repeat(LABELS[3], counts)
    sample = make_sample(None, np.arange(len(g)) % 2, g)
    match = rf"group '{LABELS[3][position]}' has {few} rows.*{advice}"
    refused("group-too-small", match, lambda: make_folds(sample, 5, 1, np.random.default_rng(0)))


def test_own_folds_must_hold_every_group():
    g = np.repeat(LABELS[3], 10)
    sample = make_sample(None, np.arange(30) % 2, g)
    good = np.arange(30) % 2 + 4
    np.testing.assert_array_equal(make_folds(sample, 5, 1, None, good), [good - 3])
    bad = np.where((g == "east") & (good == 5), 4, good)
    refused("bad-folds", "fold 5 has no row of group 'east'", lambda: make_folds(sample, 5, 1, None, bad))


# --- learners ----------------------------------------------------------------------------------------------

FAST = {
    "forest": {"n_estimators": 4},
    "factored-forest": {"n_estimators": 4},
    "auto": {"max_iter": 5},
    "pooled-logit": {"n_penalties": 20, "n_tuning_folds": 3},
    "pooled-boosting": {"max_iter": 5},
    "boosting": {"max_iter": 5},
    "factored-boosting": {"max_iter": 5},
    "neural-net": {"decay": 1.0, "n_hidden": 2},
    "logit-lasso": FEW,
    "factored-logit": FEW,
    "lasso": FEW,
    "partially-linear": {"linear": (0, 2), "base": LinearRegression(), "n_inner_folds": 3},
    "stack": {"members": (LogisticRegression(), LinearRegression()), "n_inner_folds": 3},
}
COMPOSED = ("auto", "pooled-logit", "pooled-boosting", "partially-linear", "stack")
"""Presets whose components are not one model per group; their own tests transcribe them."""
SINGLE = [name for name in PRESETS if name not in COMPOSED]


class Loops:
    """Cross-fitting by loops over folds, groups and rows, with the family of models but without learners."""

    def __init__(self, learner, sample, dl, folds, seed):
        self.learner, self.X, self.codes, self.dl, self.fold = learner, sample.X, sample.group, dl, folds
        self.n_groups, self.clusters = len(sample.groups), sample.clusters
        self.weight = sample.weight / sample.weight.mean() if sample.weighted else None
        _, self.tune_seed, self.fit_seed, _ = child_seeds(seed, 4)

    def kept(self, values, rows):
        return None if values is None else values[rows]

    def variable(self, component):
        """Rows that a model learns from, and what it learns."""
        if component == "group":  # counted from the last group
            return np.ones(len(self.dl), dtype=bool), np.array([self.n_groups - 1.0 - code for code in self.codes])
        own = self.codes == component
        if isinstance(self.learner, FactoredLearner):
            return own, self.dl
        return np.ones(len(self.dl), dtype=bool), np.array([d if o else 0.0 for d, o in zip(self.dl, own, strict=True)])

    def predictions(self):
        names = list(range(self.n_groups))
        if isinstance(self.learner, FactoredLearner):
            names = ["group", *names]
        tuning = dict.fromkeys(names)
        if self.learner.tunes_once:
            for name, seed in zip(names, child_seeds(self.tune_seed, len(names)), strict=True):
                rows, v = self.variable(name)
                arguments = (self.kept(self.weight, rows), seed, self.kept(self.clusters, rows))
                tuning[name] = self.learner.family.tune(self.X[rows], v[rows], *arguments)
        n_folds = self.fold.max()
        seeds = iter(child_seeds(self.fit_seed, n_folds * len(names)))
        found = np.full((len(self.dl), self.n_groups), np.nan)
        for k in range(1, n_folds + 1):
            held, parts = self.fold == k, {}
            for name in names:
                rows, v = self.variable(name)
                train = rows & ~held
                arguments = (self.kept(self.weight, train), next(seeds), tuning[name], self.kept(self.clusters, train))
                parts[name] = self.learner.family.fit(self.X[train], v[train], *arguments).predict(self.X[held])
            shares = self.shares(parts["group"]) if "group" in parts else np.ones((held.sum(), self.n_groups))
            for code in range(self.n_groups):
                found[held, code] = shares[:, code] * parts[code].mean
        return found

    def shares(self, model):
        found = np.zeros((len(model.mean), self.n_groups))
        for value, column in zip(model.values, model.probabilities.T, strict=True):
            found[:, self.n_groups - 1 - int(value)] = column
        return found


@pytest.mark.parametrize("kind", ["plain", "weights and clusters"])
@pytest.mark.parametrize("name", SINGLE)
def test_presets_of_three_groups_by_loops(name, kind):
    extra = kind != "plain"
    sample, dl = sample_of(210, weighted=extra, clustered=extra)
    learner = resolve_learner(name, **FAST[name])
    nuisance = cross_fit(sample, dl, learner, n_folds=2, random_state=SEED)
    expected = Loops(learner, sample, dl, nuisance.folds[0], SEED).predictions()
    assert nuisance.predictions.shape == (1, 210, 3)
    np.testing.assert_allclose(nuisance.predictions[0], expected, rtol=0, atol=1e-12)
    assert np.ptp(expected, axis=0).min() > 0.01


@pytest.mark.parametrize("name", PRESETS)
def test_presets_of_three_groups_predict_new_rows_and_know_no_jobs(name):
    sample, dl = sample_of(120)
    learner = resolve_learner(name, **FAST[name])
    nuisance = cross_fit(sample, dl, learner, n_folds=2, n_rep=2, random_state=1)
    with parallel_config(backend="threading"):  # processes take seconds to start
        again = cross_fit(sample, dl, learner, n_folds=2, n_rep=2, n_jobs=2, random_state=1)
    np.testing.assert_array_equal(nuisance.predictions, again.predictions)
    quality = nuisance.quality
    assert [tuple(line) for line in quality[["repetition", "fold", "group"]].to_numpy()] == [
        (repetition, fold, label) for repetition in (1, 2) for fold in (1, 2) for label in LABELS[3]
    ]
    prediction = fit_on_all(sample, dl, learner, random_state=1, tuning=nuisance.tuning).predict(sample.X[:7])
    assert len(prediction.groups) == 3
    assert prediction.delta_theta.shape == (7, 3)
    assert np.isfinite(prediction.delta_theta).all()


@SIZES
def test_direct_learners_are_one_classifier_for_each_group_against_the_rest(n_groups):
    sample, dl = sample_of(300, n_groups, weighted=True)
    nuisance = cross_fit(sample, dl, LogisticRegression(), n_folds=3, random_state=1)
    weight = sample.weight / sample.weight.mean()
    for k in (1, 2, 3):
        held = nuisance.folds[0] == k
        train = ~held & (weight > 0)
        for code in range(n_groups):
            z = np.where(sample.group == code, dl, 0.0).astype(int)
            model = LogisticRegression().fit(sample.X[train], z[train], weight[train])
            expected = model.predict_proba(sample.X[held]) @ model.classes_
            np.testing.assert_allclose(nuisance.predictions[0, held, code], expected, rtol=0, atol=1e-12)


@SIZES
def test_factored_learners_are_products_and_their_quality_is_that_of_the_products(n_groups):
    sample, dl = sample_of(300, n_groups)
    learner = FactoredLearner("own", Family(LogisticRegression(), None))
    nuisance = cross_fit(sample, dl, learner, n_folds=3, random_state=1)
    chance = np.full((300, n_groups), np.nan)
    for k in (1, 2, 3):
        held = nuisance.folds[0] == k
        X, new = sample.X[~held], sample.X[held]
        chance[held] = LogisticRegression().fit(X, sample.group[~held]).predict_proba(new)
        for code, label in enumerate(LABELS[n_groups]):
            member = sample.group == code
            within = LogisticRegression().fit(sample.X[~held & member], dl[~held & member])
            p = within.predict_proba(new)  # of dl = -1 and of dl = 1
            expected = chance[held, code] * (p[:, 1] - p[:, 0])
            # the classes of the group are counted from the last one: the same optimum, found on another way
            np.testing.assert_allclose(nuisance.predictions[0, held, code], expected, rtol=0, atol=1e-4)
            z, z_train = np.where(member, dl, 0.0)[held], np.where(member, dl, 0.0)[~held]
            entry = nuisance.quality[(nuisance.quality["fold"] == k) & (nuisance.quality["group"] == label)]
            assert len(entry) == 1
            assert entry["rows"].item() == held.sum()
            assert entry["group_rows"].item() == (held & member).sum()
            r2 = 1 - sum((z - nuisance.predictions[0, held, code]) ** 2) / sum((z - z_train.mean()) ** 2)
            assert entry["r2"].item() == pytest.approx(r2, abs=1e-12)
            share = chance[held, code]
            chosen = np.select([z == -1, z == 1], [share * p[:, 0], share * p[:, 1]], 1 - share)
            assert entry["log_loss"].item() == pytest.approx(-np.log(chosen).mean(), abs=1e-4)
            frequency = np.select([z == v for v in (-1, 0, 1)], [np.mean(z_train == v) for v in (-1, 0, 1)])
            assert entry["mean_log_loss"].item() == pytest.approx(-np.log(frequency).mean())
    np.testing.assert_allclose(chance.sum(axis=1), 1.0)
    auc = max(roc_auc_score(sample.group == code, chance[:, code]) for code in range(n_groups))
    assert nuisance.group_auc == pytest.approx(auc, abs=1e-3)


def test_partially_linear_by_loops():
    sample, dl = sample_of(weighted=True, clustered=True)
    learner = resolve_learner("partially-linear", **FAST["partially-linear"])
    nuisance = cross_fit(sample, dl, learner, n_folds=2, random_state=SEED)
    rows, seeds = training_rows(sample, dl), iter(child_seeds(child_seeds(SEED, 4)[2], 2 * 5))
    for k in (1, 2):
        held = nuisance.folds[0] == k
        part, new = rows.take(np.flatnonzero(~held)), sample.X[held]
        z = [np.where(part.group == code, part.dl, 0.0) for code in range(3)]
        residual, expected = [], []
        for v in (part.X[:, 0], part.X[:, 2], *z):
            own = np.full(len(v), np.nan)
            for fold in inner_folds(part, 3, child_seeds(next(seeds), 2)[0]):
                others = np.setdiff1d(np.arange(len(v)), fold)
                model = LinearRegression().fit(part.X[others][:, [1]], v[others], part.weight[others])
                own[fold] = v[fold] - model.predict(part.X[fold][:, [1]])
            residual.append(own)
            expected.append(LinearRegression().fit(part.X[:, [1]], v, part.weight).predict(new[:, [1]]))
        for code, label in enumerate(LABELS[3]):
            first, second, own = residual[0], residual[1], residual[2 + code]
            w = part.weight
            normal = [[(w * a * b).sum() for b in (first, second)] for a in (first, second)]
            slopes = np.linalg.solve(normal, [(w * a * own).sum() for a in (first, second)])
            mean = expected[2 + code] + slopes[0] * (new[:, 0] - expected[0]) + slopes[1] * (new[:, 2] - expected[1])
            np.testing.assert_allclose(nuisance.predictions[0, held, code], mean, rtol=0, atol=1e-10)
            kept = nuisance.details[(nuisance.details["fold"] == k) & (nuisance.details["group"] == label)]
            np.testing.assert_allclose(kept.set_index("quantity")["value"][["alpha", "beta"]], slopes, atol=1e-10)


def test_a_stack_by_loops():
    sample, dl = sample_of(weighted=True, clustered=True)
    learner = resolve_learner("stack", **FAST["stack"])
    nuisance = cross_fit(sample, dl, learner, n_folds=2, random_state=SEED)
    rows, seeds = training_rows(sample, dl), iter(child_seeds(child_seeds(SEED, 4)[2], 2 * 2))

    def of_member(number, z, X, w, new):
        used = w > 0
        if number:
            return LinearRegression().fit(X[used], z[used], w[used]).predict(new)
        model = LogisticRegression().fit(X[used], z[used].astype(int), w[used])
        return model.predict_proba(new) @ model.classes_

    for k in (1, 2):
        held = nuisance.folds[0] == k
        part, new = rows.take(np.flatnonzero(~held)), sample.X[held]
        inner_of = [inner_folds(part, 3, child_seeds(next(seeds), 2)[0]) for _ in range(2)]
        for code, label in enumerate(LABELS[3]):
            z = np.where(part.group == code, part.dl, 0.0)
            inner, outer = np.full((2, len(z)), np.nan), []
            for number in (0, 1):
                for fold in inner_of[number]:
                    others = np.setdiff1d(np.arange(len(z)), fold)
                    inner[number, fold] = of_member(
                        number, z[others], part.X[others], part.weight[others], part.X[fold]
                    )
                outer.append(of_member(number, z, part.X, part.weight, new))
            # the minimiser of sum w (z - a f_0 - (1 - a) f_1)^2 over 0 <= a <= 1
            apart = inner[0] - inner[1]
            a = np.clip((part.weight * apart * (z - inner[1])).sum() / (part.weight * apart**2).sum(), 0.0, 1.0)
            mean = a * outer[0] + (1 - a) * outer[1]
            np.testing.assert_allclose(nuisance.predictions[0, held, code], mean, rtol=0, atol=1e-8)
            kept = nuisance.details[(nuisance.details["fold"] == k) & (nuisance.details["group"] == label)]
            np.testing.assert_allclose(kept["value"], [a, 1 - a], atol=1e-8)


def test_many_groups_are_classes_for_a_factored_learner():
    rng = np.random.default_rng(0)
    X, g = rng.normal(size=(360, 2)), np.repeat(np.arange(12), 30)
    y = rng.normal(size=360) + X[:, 0]
    sample = make_sample(X, y, g)
    own = clone(LogisticRegression())
    learner = FactoredLearner("own", Family(own, LinearRegression(), max_values=3))
    rows = training_rows(sample, y)
    learner.check(rows)
    prediction = fit_learner(learner, rows, SEED).predict(X)
    assert prediction.group_probabilities.shape == (360, 12)
    expected = LogisticRegression().fit(X, sample.group).predict_proba(X)
    np.testing.assert_allclose(prediction.group_probabilities, expected, rtol=0, atol=1e-4)
    for code in range(12):
        own = sample.group == code
        mean = LinearRegression().fit(X[own], y[own]).predict(X)
        np.testing.assert_allclose(prediction.groups[code].mean, prediction.group_probabilities[:, code] * mean)


def test_a_factored_learner_of_more_than_two_groups_needs_a_classifier():
    learner = FactoredLearner("own", Family(None, LinearRegression()))
    sample, dl = sample_of()
    refused("bad-learner", "'own' has no classifier, and there are 3 groups", lambda: cross_fit(sample, dl, learner))
    two, dl = sample_of(n_groups=2)
    assert np.isfinite(cross_fit(two, dl, learner, random_state=0).predictions).all()


def test_groups_absent_from_training_rows_get_nothing():
    sample, dl = sample_of()
    rows = training_rows(sample, dl)
    two = rows.take(np.flatnonzero(rows.group != 1))
    for learner in (DirectLearner("d", Family(LogisticRegression(), None)), resolve_learner(LinearRegression())):
        prediction = fit_learner(learner, two, SEED).predict(sample.X)
        np.testing.assert_array_equal(prediction.groups[1].mean, 0.0)
    factored = FactoredLearner("f", Family(LogisticRegression(), None))
    prediction = fit_learner(factored, two, SEED).predict(sample.X)
    np.testing.assert_array_equal(prediction.group_probabilities[:, 1], 0.0)
    np.testing.assert_array_equal(prediction.groups[1].mean, 0.0)
    np.testing.assert_allclose(prediction.group_probabilities.sum(axis=1), 1.0)
    alone = fit_learner(factored, rows.members(1), SEED).predict(sample.X)
    np.testing.assert_array_equal(alone.group_probabilities, np.tile([0.0, 1.0, 0.0], (240, 1)))


# --- nuisance predictions from outside ---------------------------------------------------------------------


@SIZES
def test_predictions_from_outside_have_a_column_for_each_group(n_groups):
    _, y, _, g = town(90, n_groups)
    given = np.random.default_rng(5).normal(size=(90, n_groups))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FairFrontierWarning)
        sample = make_sample(None, y, g)
        nuisance = external_nuisance(sample, 1.0 - 2.0 * y, given)
    np.testing.assert_array_equal(nuisance.predictions, given[None])
    assert nuisance.quality["group"].tolist() == list(LABELS[n_groups])
    for code, r2 in enumerate(nuisance.quality["r2"]):
        z = np.where(sample.group == code, 1.0 - 2.0 * y, 0.0)
        assert r2 == pytest.approx(1 - sum((z - given[:, code]) ** 2) / sum((z - z.mean()) ** 2), abs=1e-12)
    listed = ", ".join(f"group {label!r}" for label in LABELS[n_groups])
    refused(
        "bad-nuisance",
        rf"shape \(90, {n_groups}\), one line \({listed}\) per row, not \(90, {n_groups + 1}\)",
        lambda: external_nuisance(sample, 1.0 - 2.0 * y, np.zeros((90, n_groups + 1))),
    )


def test_predictions_from_outside_for_some_of_the_groups():
    _, y, codes, g = town(90, 4)
    chosen = (LABELS[4][2], LABELS[4][0], LABELS[4][3])
    given = 0.1 * np.random.default_rng(5).normal(size=(90, 3))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FairFrontierWarning)
        ff = FairFrontier(groups=chosen).fit(None, y, sensitive_features=g, external_nuisance=given)
    np.testing.assert_array_equal(ff.nuisance_.predictions[0], given[codes != 1])


# --- risks and evaluations ---------------------------------------------------------------------------------


def plain_means(values, codes, weight, clusters, n_groups):
    """Weighted means by group and their covariance, influence by influence."""
    means, totals = [], []
    for code in range(n_groups):
        own = [(w, v) for w, v, c in zip(weight, values, codes, strict=True) if c == code]
        means.append(sum(w * v for w, v in own) / sum(w for w, _ in own))
        totals.append(sum(w for w, _ in own))
    influence = {}
    for i, (value, code) in enumerate(zip(values, codes, strict=True)):
        each = influence.setdefault(i if clusters is None else clusters[i], np.zeros(n_groups))
        each[code] += weight[i] * (value - means[code]) / totals[code]
    return np.array(means), sum(np.outer(each, each) for each in influence.values())


def learned(n_groups=3, n=240, seed=0, options=None, **arguments):
    X, y, _, g = town(n, n_groups, seed)
    options = {"learner": LogisticRegression(), "n_folds": 2, "n_rep": 1, "n_boot": 99, "random_state": 1} | (
        options or {}
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FairFrontierWarning)
        return FairFrontier(**options).fit(X, y, sensitive_features=g, **arguments)


@pytest.mark.parametrize("kind", ["plain", "weights", "clusters", "both"])
@SIZES
def test_risks_and_evaluations_by_loops(n_groups, kind):
    X, y, codes, g = town(240, n_groups)
    rng, arguments = np.random.default_rng(2), {}
    if kind in ("weights", "both"):
        arguments["sample_weight"] = rng.exponential(size=240)
    if kind in ("clusters", "both"):
        arguments["clusters"] = rng.integers(0, 50, 240)
    decisions = (X[:, 0] > 0.3).astype(int)
    weight, clusters = arguments.get("sample_weight", np.ones(240)), arguments.get("clusters")
    wrong = [abs(a - outcome) for a, outcome in zip(decisions, y, strict=True)]
    risk, covariance = plain_means(wrong, codes, weight, clusters, n_groups)
    rate, _ = plain_means(decisions, codes, weight, clusters, n_groups)

    found = learned(n_groups, **arguments).risks(decisions)
    assert found.groups == LABELS[n_groups]
    np.testing.assert_allclose(found.risk, risk, rtol=1e-12)
    np.testing.assert_allclose(found.standard_error, np.sqrt(np.diag(covariance)), rtol=1e-10)
    np.testing.assert_allclose(found.selection_rate, rate, rtol=1e-12)
    assert found.to_frame().index.tolist() == list(LABELS[n_groups])
    gap = risk[0] - risk[1] if n_groups == 2 else risk.max() - risk.min()
    assert found.gap == pytest.approx(gap, abs=1e-12)

    result = evaluate(decisions, X, y, g, **arguments)
    assert result.groups == LABELS[n_groups]
    assert result.table.index.tolist() == list(LABELS[n_groups])
    assert result.table["rows"].tolist() == [sum(codes == code) for code in range(n_groups)]
    np.testing.assert_allclose(result.risks, risk, rtol=1e-12)
    np.testing.assert_allclose(result.table["se risk"], np.sqrt(np.diag(covariance)), rtol=1e-10)
    np.testing.assert_allclose(result.table["selection rate"], rate, rtol=1e-12)
    assert result.gap == pytest.approx(gap, abs=1e-12)
    j, k = (0, 1) if n_groups == 2 else (risk.argmax(), risk.argmin())
    error = np.sqrt(covariance[j, j] + covariance[k, k] - 2 * covariance[j, k])
    assert result.gap_error == pytest.approx(error, rel=1e-9)
    for name, value, values in (("false positive rate", 0, decisions), ("false negative rate", 1, 1 - decisions)):
        own = y == value
        rates, _ = plain_means(
            values[own], codes[own], weight[own], None if clusters is None else clusters[own], n_groups
        )
        np.testing.assert_allclose(result.table[name], rates, rtol=1e-12)


@pytest.mark.parametrize("kind", ["decisions", "classifier", "rule"])
def test_some_of_the_groups_can_be_evaluated(kind):
    X, y, _, g = town(240, 4)
    chosen = (LABELS[4][3], LABELS[4][1])
    kept = np.isin(g, chosen)
    if kind == "decisions":
        rules = [(X[rows, 0] > 0).astype(int) for rows in (slice(None), kept)]
    elif kind == "classifier":
        rules = [LogisticRegression().fit(X, y)] * 2
    else:
        rules = [FrontierRule(learner=LogisticRegression(), groups=chosen).fit(X, y, sensitive_features=g)] * 2
    if kind == "rule":  # it has groups of its own; that rows of others are left out was not asked for
        with pytest.warns(DroppedRowsWarning, match="left out"):
            whole = evaluate(rules[0], X, y, g)
    else:
        whole = evaluate(rules[0], X, y, g, groups=chosen)
    part = evaluate(rules[1], X[kept], y[kept], g[kept], groups=chosen)
    assert whole.groups == part.groups == chosen
    pd.testing.assert_frame_equal(whole.table, part.table, check_exact=True)
    assert (whole.gap, whole.gap_error) == (part.gap, part.gap_error)


# --- what is planar ----------------------------------------------------------------------------------------

X3, Y3, _, G3 = town(240, 3)
ALGORITHM = (X3[:, 0] > 0.2).astype(int)
Q = [[-1.0, 0.0], [0.0, -1.0]]
PLANAR = {
    "support": lambda ff, path: ff.support(Q),
    "support_set": lambda ff, path: ff.support_set(Q),
    "support_covariance": lambda ff, path: ff.support_covariance(Q),
    "contradictions_": lambda ff, path: ff.contradictions_,
    "frontier": lambda ff, path: ff.frontier(),
    "frontier with a capacity": lambda ff, path: ff.frontier(capacity=0.3),
    "pareto_frontier": lambda ff, path: ff.pareto_frontier(),
    "feasible_set": lambda ff, path: ff.feasible_set(),
    "feasible_set with a capacity": lambda ff, path: ff.feasible_set(capacity=0.3),
    "test_lda by other methods": lambda ff, path: ff.test_lda(ALGORITHM, method="sharp"),
    "test_lda of risks": lambda ff, path: ff.test_lda(risks=[0.3, 0.4]),
    "test_frontier": lambda ff, path: ff.test_frontier([[0.3, 0.4]]),
    "test_frontier of decisions": lambda ff, path: ff.test_frontier(decisions=ALGORITHM),
    "test_pareto": lambda ff, path: ff.test_pareto([[0.3, 0.4]]),
    "test_pareto of decisions": lambda ff, path: ff.test_pareto(decisions=ALGORITHM),
    "frontier_confidence_set": lambda ff, path: ff.frontier_confidence_set(),
    "pareto_confidence_set": lambda ff, path: ff.pareto_confidence_set(),
    "test_best_points": lambda ff, path: ff.test_best_points([[0.2, 0.4]], [[0.4, 0.2]]),
    "test_group_skew": lambda ff, path: ff.test_group_skew(),
    "distance_to_fairest": lambda ff, path: ff.distance_to_fairest(ALGORITHM),
    "distance_to_fairest of risks": lambda ff, path: ff.distance_to_fairest(risks=[0.3, 0.4]),
    "fairest_point": lambda ff, path: ff.fairest_point(),
    "plot": lambda ff, path: ff.plot(decisions=ALGORITHM),
    "plot_interactive": lambda ff, path: ff.plot_interactive(ALGORITHM),
    "configuration_": lambda ff, path: ff.configuration_,
    "diagnostics_": lambda ff, path: ff.diagnostics_,
    "support_function_": lambda ff, path: ff.support_function_,
    "regret_": lambda ff, path: ff.regret_,
}
ANY_NUMBER = {
    "fit",
    "fit_",
    "risks",
    "summary",
    "usual_figures",
    "sample_",
    "groups_",
    "n_obs_",
    "loss_",
    "nuisance_",
    "learner_report_",
    "test_lda",
    "pair",
    "pairs",
    "alternatives",
    "cost_of_ban",
    "points_",
    "report",
    "rule",
    "to_json",
}


@pytest.fixture(scope="module")
def three():
    return learned()


@pytest.fixture(scope="module")
def two():
    return learned(options={"groups": ("north", "east")})


@pytest.mark.parametrize("name", PLANAR)
def test_what_is_planar_names_the_groups_and_how_to_choose_two(name, three, tmp_path):
    with pytest.raises(InputError) as caught:
        PLANAR[name](three, tmp_path / "file")
    assert caught.value.code == "too-many-groups"
    text = str(caught.value)
    assert text.endswith(
        " compares two groups, but there are 3: 'north', 'east', 'centre'. "
        "Fit with groups=('north', 'east'), or merge labels into two."
    )
    assert not (tmp_path / "file").exists()


SLOW = ("report", "to_json", "frontier_conf", "pareto_conf", "plot")  # tested with two groups elsewhere


@pytest.mark.parametrize("name", [name for name in PLANAR if not name.startswith(SLOW)])
def test_what_is_planar_answers_for_two_of_them(name, two, tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FairFrontierWarning)
        PLANAR[name](two, tmp_path / "file")


def test_every_public_name_is_either_planar_or_for_any_number_of_groups():
    inherited = set(dir(FairFrontier.__mro__[1]))
    public = {name for name in dir(FairFrontier) if not name.startswith("_")} - inherited
    public -= {name for name in public if name.startswith("set_") and name.endswith("_request")}
    planar = {name.split(" ")[0] for name in PLANAR}
    assert planar & ANY_NUMBER == {"test_lda"}  # with two groups only: some methods, known risks
    assert public == planar | ANY_NUMBER | {"trade_off"}  # of two groups, in fits with accuracy="overall" alone


def test_the_error_lists_at_most_eight_groups():
    g = np.arange(240) % 20
    right = np.where(g[:, None] == np.arange(20)[::-1], 1.0 - 2.0 * Y3[:, None], 0.0)
    ff = FairFrontier().fit(None, Y3, sensitive_features=g, external_nuisance=right)
    refused("too-many-groups", r"there are 20: 19, 18, 17, 16, 15, 14, 13, 12, \.\.\.\. Fit", lambda: ff.frontier())


def test_a_fit_of_three_groups_sums_up_what_it_can(three):
    text = three.summary()
    assert "240 (group north: " in text
    assert all(f"group {label}: {count}" in text for label, count in three.sample_.counts.items())
    assert "see `pair`" in text
    for name, row in three.points_.iterrows():
        line = next(line for line in text.splitlines() if line.startswith(name))
        assert [float(cell) for cell in line.removeprefix(name).split()] == pytest.approx(row.tolist(), abs=6e-5)
    assert [line.split(":")[0] for line in text.splitlines() if ": R2 " in line] == [
        f"  group {label}" for label in LABELS[3]
    ]
    assert three.groups_ == LABELS[3]
    assert three.nuisance_.predictions.shape == (1, 240, 3)
    assert three.fit_.in_plane is None


def test_the_summary_says_which_rows_were_left_out():
    ff = learned(options={"groups": ("east", "centre")})
    assert f"; left out, of other groups: {sum(G3 == 'north')} (north: {sum(G3 == 'north')})" in ff.summary()
    assert "left out" not in learned(2).summary()


# --- a pair of several groups ------------------------------------------------------------------------------


PAIRS = list(itertools.permutations(LABELS[3], 2))


@pytest.mark.parametrize(
    ("pair", "kind"), [*((pair, "weights, clusters and folds") for pair in PAIRS), *((p, "plain") for p in PAIRS[1:3])]
)
def test_a_chosen_pair_is_what_filtered_rows_give(pair, kind):
    rng, kept = np.random.default_rng(8), np.isin(G3, pair)
    columns, options = {}, {"groups": pair, "n_rep": 2, "n_folds": 2, "n_boot": 99, "random_state": 4}
    if kind != "plain":
        columns = {"sample_weight": rng.exponential(size=240), "clusters": rng.integers(0, 80, 240)}
        columns["upper"] = rng.uniform(0.7, 1.0, 240)
        options |= {"folds": columns["clusters"] % 2, "n_rep": 1}
    options |= QUICK_LEARNER if kind == "plain" else {"learner": LogisticRegression()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FairFrontierWarning)
        whole = FairFrontier(**options).fit(X3, Y3, sensitive_features=G3, **columns)
        if kind != "plain":
            options["folds"] = options["folds"][kept]
        filtered = {name: column[kept] for name, column in columns.items()}
        part = FairFrontier(**options).fit(X3[kept], Y3[kept], sensitive_features=G3[kept], **filtered)
        assert whole.groups_ == part.groups_ == pair
        np.testing.assert_array_equal(whole.nuisance_.predictions, part.nuisance_.predictions)
        np.testing.assert_array_equal(whole.nuisance_.folds, part.nuisance_.folds)
        assert whole.nuisance_.quality.equals(part.nuisance_.quality)
        np.testing.assert_array_equal(whole.points_.to_numpy(), part.points_.to_numpy())
        np.testing.assert_array_equal(whole.risks(ALGORITHM).risk, part.risks(ALGORITHM[kept]).risk)
        tests = [ff.test_lda(a) for ff, a in ((whole, ALGORITHM), (part, ALGORITHM[kept]))]
        np.testing.assert_array_equal(tests[0].draws, tests[1].draws)
        assert tests[0].p_value == tests[1].p_value
        if kind == "plain":
            rules = [ff.rule("rawlsian", capacity=0.3) for ff in (whole, part)]
            np.testing.assert_array_equal(*(rule.predict_proba(X3) for rule in rules))
            rules = [
                FrontierRule(learner=LogisticRegression(), weights="rawlsian", groups=pair, random_state=2).fit(
                    X3[rows], Y3[rows], sensitive_features=G3[rows]
                )
                for rows in (slice(None), kept)
            ]
            np.testing.assert_array_equal(*(rule.predict_proba(X3) for rule in rules))


def test_every_number_of_a_chosen_pair_is_that_of_filtered_rows():
    pair, given = ("centre", "north"), 0.3 * (1 - 2 * Y3)[:, None] * np.random.default_rng(1).normal(0.5, 1, (240, 2))
    kept, options = np.isin(G3, pair), {"groups": pair, "n_boot": 99, "random_state": 4}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FairFrontierWarning)
        whole = FairFrontier(**options).fit(None, Y3, sensitive_features=G3, external_nuisance=given)
        part = FairFrontier(**options).fit(None, Y3[kept], sensitive_features=G3[kept], external_nuisance=given[kept])
        assert differing(everything(whole, ALGORITHM), everything(part, ALGORITHM[kept])) == []


# --- rows of groups that are not chosen ------------------------------------------------------------------


def third_group(n=240, seed=5):
    """Two groups with outcomes "no" and "yes", and a third one that alone has the outcome "unknown"."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    g = np.array(["a", "b", "c"])[np.arange(n) % 3]
    y = np.where(X[:, 0] + rng.normal(size=n) > 0.0, "yes", "no")
    y[g == "c"] = "unknown"
    return X, y, g


@pytest.mark.parametrize("positive", ["yes", "no"])
def test_outcomes_of_groups_left_out_name_no_decision(positive):
    X, y, g = third_group()
    ff = FairFrontier(**QUICK, groups=("a", "b"), positive=positive, n_boot=99, random_state=0)
    ff.fit(X, y, sensitive_features=g)
    assert ff.outcome_labels_.tolist() == ["no" if positive == "yes" else "yes", positive]
    assert set(ff.rule("utilitarian").predict(X)) <= {"yes", "no"}


def test_rows_left_out_are_counted_in_the_record_and_warned_of_by_evaluate(tmp_path):
    X, y, g = third_group()
    ff = FairFrontier(**QUICK, groups=("a", "b"), positive="yes", n_boot=99, random_state=0)
    ff.fit(X, y, sensitive_features=g)
    record = json.loads(ff.to_json(tmp_path / "record.json").read_text())
    assert record["data"]["left_out"] == {"c": 80}
    assert "Rows of groups that are not compared: " in ff.report(tmp_path / "report.html").read_text()
    rule = ff.rule("utilitarian")
    with pytest.warns(DroppedRowsWarning, match="'c': 80"):
        found = evaluate(rule, X, y, g)
    assert found.table["rows"].tolist() == [80, 80]
    assert evaluate(rule, X, y, g, groups=("a", "b")) == found  # asked for: no warning


def test_rules_use_the_present_number_of_jobs():
    X, y, g = third_group()
    ff = FairFrontier(**QUICK, groups=("a", "b"), positive="yes", random_state=0)
    ff.fit(X, y, sensitive_features=g).set_params(n_jobs=2)
    with parallel_config(backend="threading"):
        assert ff.rule("utilitarian").n_jobs == 2
