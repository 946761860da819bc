"""Pooled learners and the default one: plain transcriptions, honesty towards held-out rows, and their report."""

import io
import pickle
from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer

from fairfrontier import FairFrontier, FrontierRule
from fairfrontier.audit import AuditRequest, make_plan
from fairfrontier.audit.table import TableFile
from fairfrontier.data.sample import make_sample
from fairfrontier.datasets import make_liu_molinari
from fairfrontier.learning.cross_fitting import cross_fit
from fairfrontier.learning.folds import deal_training_rows
from fairfrontier.learning.learners import (
    Family,
    NumericColumns,
    TrainingRows,
    fit_learner,
    log_loss,
    resolve_learner,
)
from fairfrontier.learning.learners.auto import (
    AS_GOOD,
    LEAST,
    ROWS_OF_OTHERS,
    AutoLearner,
    Candidate,
    log_odds,
    shrunken_weights,
)
from fairfrontier.learning.learners.encoding import GroupedTable, PooledColumns
from fairfrontier.learning.learners.estimators import TUNING_FOLDS
from fairfrontier.learning.learners.families import boosting_family
from fairfrontier.learning.learners.pooled import PooledLearner, pooled_family
from fairfrontier.learning.learners.predictions import GroupPrediction, expected_limit, losses
from fairfrontier.report.basis import learner as learner_record
from fairfrontier.results import LearnerReport

SEED = np.random.SeedSequence(5)
FEW_TREES = {"max_iter": 10}
LOGIT, LINEAR = LogisticRegression(C=1.0, tol=1e-10, max_iter=5000), LinearRegression()


def rows(n=400, n_groups=2, seed=0, weighted=False, many_values=False):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    group = rng.integers(n_groups, size=n)
    dl = np.where(X[:, 0] + (group - 0.5) * X[:, 1] + rng.normal(size=n) > 0, 1.0, -1.0)
    if many_values:
        dl = dl + rng.normal(size=n)
    weight = rng.integers(0, 3, n).astype(float) if weighted else None
    return TrainingRows(X, dl, group, n_groups, weight)


def family():
    def model(estimator):
        return Pipeline([("columns", NumericColumns()), ("model", estimator)])

    return Family(model(LOGIT), model(LINEAR))


def plain_columns(X, group, n_groups, mean, interactions):
    """Covariates, indicators of the groups, and for each group its own centred covariates, entry by entry."""
    lines = []
    for x, g in zip(X, group, strict=True):
        line = [*x, *(1.0 if g == k else 0.0 for k in range(n_groups))]
        if interactions:
            line += [x[j] - mean[j] if g == k else 0.0 for k in range(n_groups) for j in range(len(x))]
        lines.append(line)
    return np.array(lines)


@pytest.mark.parametrize("interactions", [False, True])
@pytest.mark.parametrize("n_groups", [2, 3])
def test_pooled_columns(n_groups, interactions):
    data = rows(50, n_groups)
    weight = np.random.default_rng(1).random(50)
    columns = PooledColumns(interactions=interactions).fit(
        GroupedTable(data.X, data.group, n_groups), sample_weight=weight
    )
    new = rows(20, n_groups, seed=2)
    got = columns.transform(GroupedTable(new.X, new.group, n_groups))
    mean = (weight[:, None] * data.X).sum(axis=0) / weight.sum()
    np.testing.assert_allclose(got, plain_columns(new.X, new.group, n_groups, mean, interactions), atol=1e-12)


@pytest.mark.parametrize("n_groups", [2, 3])
def test_a_pooled_learner_multiplies_its_factors(n_groups):
    data, new = rows(n_groups=n_groups), rows(60, n_groups, seed=1).X
    base = family()
    learner = PooledLearner("pooled", base, pooled_family(base, interactions=True))
    prediction = fit_learner(learner, data, SEED).predict(new)
    mean = data.X.mean(axis=0)
    of_group = LogisticRegression(**LOGIT.get_params()).fit(data.X, data.group)
    of_loss = LogisticRegression(**LOGIT.get_params()).fit(
        plain_columns(data.X, data.group, n_groups, mean, True), data.dl
    )
    for g in range(n_groups):
        p = of_group.predict_proba(new)[:, g]
        seen = plain_columns(new, [g] * len(new), n_groups, mean, True)
        expected = p * (2.0 * of_loss.predict_proba(seen)[:, 1] - 1.0)
        np.testing.assert_allclose(prediction.groups[g].mean, expected, atol=1e-5)
        np.testing.assert_allclose(prediction.group_probabilities[:, g], p, atol=1e-5)


def plain_folds(z, seed):
    strata = np.unique(z, return_inverse=True)[1]
    return deal_training_rows(strata, TUNING_FOLDS, np.random.default_rng(seed))


@pytest.mark.parametrize("weighted", [False, True])
def test_inner_predictions_come_from_models_that_have_not_seen_the_row(weighted):
    data = rows(weighted=weighted)
    used = np.arange(len(data.dl)) if data.weight is None else np.flatnonzero(data.weight > 0)
    X, z = data.X[used], data.dl[used]
    weight = None if data.weight is None else data.weight[used]
    inner, fit = family().hold_out(X, z, weight, SEED, None)
    folds, expected = plain_folds(z, SEED), np.zeros(len(z))
    for k in range(TUNING_FOLDS):
        own = LogisticRegression(**LOGIT.get_params())
        own.fit(X[folds != k], z[folds != k], None if weight is None else weight[folds != k])
        expected[folds == k] = 2.0 * own.predict_proba(X[folds == k])[:, 1] - 1.0
    np.testing.assert_allclose(inner.mean, expected, atol=1e-6)
    whole = LogisticRegression(**LOGIT.get_params()).fit(X, z, weight)
    np.testing.assert_allclose(fit().predict(X).mean, 2.0 * whole.predict_proba(X)[:, 1] - 1.0, atol=1e-6)


def test_a_growing_model_hands_on_the_predictions_of_the_stage_it_chose():
    data = rows(300)
    boosting = boosting_family()
    inner, fit = boosting.hold_out(data.X, data.dl, None, SEED, None)
    chosen = boosting.tune(data.X, data.dl, None, SEED)
    assert fit().estimator.get_params()["model__max_iter"] == chosen["model__max_iter"]
    folds = plain_folds(data.dl, SEED)
    for k in range(TUNING_FOLDS):
        own = boosting.fit(data.X[folds != k], data.dl[folds != k], None, SEED, chosen)
        np.testing.assert_allclose(inner.mean[folds == k], own.predict(data.X[folds == k]).mean, atol=1e-9)


def auto_of_two():
    """An auto learner with two candidates that need no tuning."""
    first, second = family(), boosting_family(max_iter=5, learning_rate=0.3)
    return AutoLearner(
        "auto",
        (
            Candidate("logit", first),
            Candidate("trees", second),
        ),
    )


def plain_weights(inner, target, weight):
    """Weights on the simplex that minimise the weighted squared error, by a general optimiser."""
    k = inner.shape[1]
    found = minimize(
        lambda a: float(np.sum(weight * (target - inner @ a) ** 2)) / len(target),
        np.full(k, 1.0 / k),
        bounds=[(0.0, 1.0)] * k,
        constraints={"type": "eq", "fun": lambda a: a.sum() - 1.0},
        options={"ftol": 1e-15, "maxiter": 2000},
    )
    return found.x


def plain_shrunken(inner, target, weight):
    """The weights on the simplex, shrunken by Stein's factor towards the simplest candidate that is as good."""
    free = plain_weights(inner, target, weight)
    scale = weight.sum() / sum(w * w for w in weight)

    def error(a):
        return sum(scale * w * (t - line @ a) ** 2 for w, t, line in zip(weight, target, inner, strict=True))

    single = [error(row) for row in np.eye(len(free))]
    variance = error(free) / (scale * weight.sum())
    one = next(k for k, e in enumerate(single) if e <= min(single) + AS_GOOD * variance)
    gain = single[one] - error(free)
    kept = max(0.0, 1.0 - (len(free) - 1) * variance / gain) if gain > 1e-9 * single[one] else 0.0
    return kept * free + (1.0 - kept) * np.eye(len(free))[one]


@pytest.mark.parametrize("seed", range(6))
def test_weights_are_shrunken_towards_one_candidate(seed):
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=80)
    noise = rng.normal(size=(80, 4)) * [1.0, 0.3, 0.5, 2.0]
    weight = rng.integers(0, 4, 80) / 2.0
    inner, target = truth[:, None] + noise, truth + (0.1 if seed % 2 else 2.0) * rng.normal(size=80)
    ours = shrunken_weights(inner, target, weight)
    np.testing.assert_allclose(ours, plain_shrunken(inner, target, weight), atol=2e-3)
    np.testing.assert_allclose(ours, shrunken_weights(inner, target, 7.0 * weight), atol=1e-9)
    assert ours.min() >= 0.0
    assert ours.sum() == pytest.approx(1.0)


def test_weights_of_candidates_that_are_alike_perfect_or_without_rows():
    z = np.array([1.0, -1.0, 1.0, -1.0])
    same = np.column_stack([z / 2, z / 2, z / 2])
    assert shrunken_weights(same, z, np.ones(4)).tolist() == [1.0, 0.0, 0.0]
    perfect = np.column_stack([z / 2, z, -z])
    np.testing.assert_allclose(shrunken_weights(perfect, z, np.ones(4)), [0.0, 1.0, 0.0], atol=1e-6)
    assert shrunken_weights(perfect, z, np.zeros(4)).sum() == pytest.approx(1.0)


def test_log_odds():
    p = np.array([[0.2, 0.8], [0.0, 1.0]])
    found = log_odds(GroupPrediction(p @ [-1.0, 1.0], np.array([-1.0, 1.0]), p))
    np.testing.assert_allclose(found, [[np.log(4.0)], [np.log(1.0 / LEAST)]])
    assert log_odds(GroupPrediction(np.array([3.0, 4.0]))).tolist() == [[3.0], [4.0]]
    three = np.array([[0.5, 0.25, 0.25]])
    np.testing.assert_allclose(log_odds(GroupPrediction(np.zeros(1), np.arange(3.0), three)), [[-np.log(2.0)] * 2])


def try_out(learner, data, new, seed):
    """Inner predictions of every candidate at the training rows, and predictions of new rows: one, or one per group."""
    inner, found = {}, {}
    for trial in learner.try_out(data, seed):
        name = trial.full_name
        trees = isinstance(trial.columns, PooledColumns)
        numbers = trial.columns.without_groups(new) if trees else trial.columns.transform(new)
        inner[name] = trial.inner
        if trial.what == "pooled":
            codes = [np.full(len(new), g) for g in range(data.n_groups)]
            model = trial.fits[0]()
            found[name] = [model.predict(trial.columns.with_groups(numbers, g, data.n_groups)) for g in codes]
        elif trial.what == "adjusted":  # comes last
            adjusted = [np.hstack([numbers, log_odds(part)]) for part in found[trial.adjusts.full_name]]
            found[name] = [fit().predict(part) for fit, part in zip(trial.fits, adjusted, strict=True)]
        else:
            found[name] = [fit().predict(numbers) for fit in trial.fits]
    return inner, found


@pytest.mark.parametrize("n_groups", [2, 3])
def test_candidates_are_weighted_by_their_inner_errors(n_groups):
    data, new = rows(900, n_groups), rows(80, n_groups, seed=3).X
    ours = auto_of_two()
    (component,) = ours.components(n_groups)
    inner, found = try_out(ours, data, new, SEED)
    prediction = ours.combine({component: ours.fit(component, data, SEED).predict(new)})

    def shares(part):  # the model predicts G - 1 - g
        return np.column_stack(
            [part.probabilities[:, list(part.values).index(n_groups - 1 - g)] for g in range(n_groups)]
        )

    member = (data.group[:, None] == np.arange(n_groups)).astype(float)
    of_group = np.column_stack([shares(inner[name])[:, :-1].ravel() for name in ("group logit", "group trees")])
    a = plain_shrunken(of_group, member[:, :-1].ravel(), np.ones(of_group.shape[0]))
    p = a[0] * shares(found["group logit"][0]) + a[1] * shares(found["group trees"][0])
    np.testing.assert_allclose(prediction.group_probabilities, p, atol=1e-3)
    within = list(ours.candidate_names)
    for g in range(n_groups):
        own = data.group == g
        weight = np.where(own, 1.0, min(1.0, ROWS_OF_OTHERS / (~own).sum()))
        b = plain_shrunken(np.column_stack([inner[name].mean for name in within]), data.dl, weight)
        expected = p[:, g] * sum(w * found[name][g].mean for w, name in zip(b, within, strict=True))
        np.testing.assert_allclose(prediction.groups[g].mean, expected, atol=2e-3)
        scores = {score.name: score for score in prediction.candidates if score.code == g}
        assert list(scores) == within
        for name in within:
            loss = np.mean([log_loss_of(inner[name], i, data.dl[i]) for i in np.flatnonzero(own)])
            assert scores[name].loss == pytest.approx(loss, abs=1e-12)


@pytest.mark.parametrize("n_groups", [2, 3])
def test_shared_columns_give_what_models_with_columns_of_their_own_do(n_groups):
    data = rows(500, n_groups)
    frame = pd.DataFrame({"x": data.X[:, 0], "u": data.X[:, 1], "place": np.where(data.X[:, 2] > 0.5, "a", "b")})
    data, new = TrainingRows(frame, data.dl, data.group, n_groups), frame.iloc[:60]
    logit, trees = auto_of_two().candidates
    found = try_out(AutoLearner("auto", (logit, trees)), data, new, SEED)[1]
    pooled = pooled_family(trees.family, interactions=False)
    whole = pooled.fit(GroupedTable(frame, data.group, n_groups), data.dl, None, SEED)
    for g in range(n_groups):
        alone = whole.predict(GroupedTable(new, np.full(60, g), n_groups))
        np.testing.assert_allclose(found["pooled trees"][g].mean, alone.mean, atol=1e-9)
        own = data.take(np.flatnonzero(data.group == g))
        alone = logit.family.fit(own.X, own.dl, None, SEED).predict(new)
        np.testing.assert_allclose(found["separate logit"][g].mean, alone.mean, atol=1e-5)


@pytest.mark.parametrize("many_values", [False, True])
@pytest.mark.parametrize(("rival", "stages"), [(None, None), (1e9, None), (0.0, 2)])
def test_a_growing_model_is_given_up_when_it_cannot_catch_up(rival, stages, many_values):
    data, boosting = rows(300, many_values=many_values), boosting_family()
    tuning, inner = boosting.search(data.X, data.dl, None, SEED, None, rival=rival)
    z = data.dl
    at_zero = np.sum((z - z.mean()) ** 2) if many_values else -sum(np.log(np.mean(z == value)) for value in z)
    found = []
    for parameters in boosting.grid:
        only = replace(boosting, grid=(parameters,), grows=False)
        found.append(losses(only.search(data.X, z, None, SEED, None)[1], z).sum())
        if len(found) == 1:
            continue
        first, second = at_zero - found[-2], found[-2] - found[-1]
        if second < 0 or (
            rival is not None and first > second > 0 and found[-1] - 3 * second**2 / (first - second) > rival
        ):
            break
    assert stages in (None, len(found))
    assert tuning == boosting.grid[int(np.argmin(found))]
    assert losses(inner, z).sum() == pytest.approx(min(found))


def test_the_limit_of_a_growing_model():
    # gains of 8, 4, 2, 1, ...: all further ones sum to 4 after the second; the guess is three times that
    assert expected_limit(100.0, 92.0, 88.0) == pytest.approx(88.0 - 3 * 4.0)
    assert expected_limit(100.0, 96.0, 88.0) == -np.inf
    assert expected_limit(100.0, 92.0, 84.0) == -np.inf


def test_only_candidates_with_a_weight_are_fitted_to_all_rows(monkeypatch):
    called, original = set(), AutoLearner.try_out

    def recorded(trial):
        def fit(place):
            called.add((trial.full_name, place))
            return trial.fits[place]()

        adjusts = None if trial.adjusts is None else recorded(trial.adjusts)
        return replace(trial, fits=tuple(partial(fit, place) for place in range(len(trial.fits))), adjusts=adjusts)

    monkeypatch.setattr(AutoLearner, "try_out", lambda *args: [recorded(trial) for trial in original(*args)])
    data = rows(600)
    scores = fit_learner(auto_of_two(), data, SEED).predict(data.X).candidates
    expected = set()
    for score in scores:
        if score.weight > 0.0:
            name = f"group {score.name}" if score.code is None else score.name
            expected.add((name, 0 if name == "pooled trees" or score.code is None else score.code))
            if name == "adjusted logit":
                expected.add(("pooled trees", 0))
    assert called == expected
    assert any(score.weight == 0.0 for score in scores)


def log_loss_of(prediction, i, value):
    return -np.log(prediction.probabilities[i, list(prediction.values).index(value)])


def test_losses_with_many_values_are_regressed():
    data = rows(many_values=True)
    fitted = fit_learner(auto_of_two(), data, SEED)
    prediction = fitted.predict(data.X)
    assert all(np.isfinite(group.mean).all() and group.probabilities is None for group in prediction.groups)
    assert np.isnan(log_loss(prediction.groups[0], data.dl)).all()
    scores = [score for score in prediction.candidates if score.code is not None]
    assert all(np.isfinite(score.loss) for score in scores)


@pytest.mark.filterwarnings("ignore::fairfrontier.errors.WeakLearnerWarning")
@pytest.mark.parametrize("learner", ["auto", "pooled-logit", "pooled-boosting"])
def test_held_out_outcomes_choose_nothing(learner):
    X, y, group = make_liu_molinari(240, design="skewed", random_state=3)
    if learner == "auto":  # trees that grow until the loss rises are the last of these learners
        learner = resolve_learner(learner, **FEW_TREES)
    folds = np.arange(240) % 2
    held = folds == 0
    flipped = np.where(held, 1 - y, y)
    found = []
    for outcome in (y, flipped):
        sample = make_sample(X.iloc[:, :6], outcome, group)
        dl = np.where(sample.y == 1, -1.0, 1.0)
        found.append(cross_fit(sample, dl, learner, folds=folds, random_state=1).predictions[0])
    assert np.array_equal(found[0][held], found[1][held])
    assert not np.array_equal(found[0][~held], found[1][~held])


def test_a_group_with_a_single_outcome_in_training():
    data = rows(200)
    data.dl[data.group == 1] = -1.0
    prediction = fit_learner(auto_of_two(), data, SEED).predict(data.X)
    assert np.isfinite(prediction.delta_theta).all()
    share = prediction.group_probabilities[:, 1]
    # models of group 1 alone say -1; the pooled ones may differ
    assert (prediction.groups[1].mean <= 0.0).mean() > 0.9
    assert (np.abs(prediction.groups[1].mean) <= share + 1e-12).all()


@pytest.mark.parametrize("constant", [0.1, -0.7])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_group_with_a_constant_loss_difference_of_any_size(constant, weighted):
    data = rows(203, weighted=weighted)
    data.dl[:] = np.where(data.dl > 0, 0.1, -0.7)
    data.dl[data.group == 1] = constant
    learner = auto_of_two()
    used = data if data.weight is None else data.take(np.flatnonzero(data.weight > 0))
    for trial in learner.try_out(used, SEED):
        if trial.what == "separate":
            assert (trial.inner.mean[used.group == 1] == constant).all()
            assert (log_loss(trial.inner, used.dl)[used.group == 1] == 0.0).all()
    found = fit_learner(learner, data, SEED).predict(data.X)
    assert np.isfinite(found.delta_theta).all()
    assert all(np.isfinite(score.loss) for score in found.candidates)


def test_a_fold_with_a_constant_loss_difference_has_its_value():
    z = np.array([0.1] * 30 + [-0.7])  # without its fold, the only -0.7 is missing in training
    X = np.random.default_rng(0).normal(size=(31, 2))
    inner, _ = family().hold_out(X, z, None, SEED, None)
    assert np.isin(inner.values, [0.1, -0.7]).all()
    np.testing.assert_allclose(inner.probabilities.sum(axis=1), 1.0)
    assert log_loss(inner, z)[:30].max() < 1.0


def test_codes_reach_an_encoder_that_is_not_the_first_step():
    X = np.column_stack([np.random.default_rng(0).normal(size=60), np.arange(60) % 3])
    z = np.where(X[:, 0] > 0, 1.0, -1.0)
    steps = [("same", FunctionTransformer()), ("columns", NumericColumns()), ("model", LOGIT)]
    for codes in ((), (1,)):
        model = Family(Pipeline(steps), None, codes=codes).fit(X, z, None, SEED)
        levels = model.estimator.named_steps["columns"].levels_
        assert [column.name for column in levels] == list(codes)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("n_rows", [1, 2, 4])
def test_a_group_of_very_few_rows(n_rows):
    data = rows(40)
    data.group[:] = np.arange(40) >= 40 - n_rows
    data.dl[-2:] = (1.0, -1.0)
    found = fit_learner(resolve_learner("auto", max_iter=2), data, SEED).predict(data.X)
    assert np.isfinite(found.delta_theta).all()


def test_a_group_whose_rows_all_have_no_weight():
    data = rows(120, weighted=True)
    data.dl[:] = np.where(data.dl > 0, -0.1, -0.7)  # what a fit without rows says, 0, is not among them
    data.weight[:] = np.where(data.group == 1, 0.0, 1.0)
    assert np.isfinite(fit_learner(auto_of_two(), data, SEED).predict(data.X).delta_theta).all()


@pytest.fixture(scope="module")
def fitted():
    X, y, group = make_liu_molinari(400, design="skewed", random_state=1)
    labels = np.where(group == 1, "north", "south")
    ff = FairFrontier(learner="auto", learner_params=FEW_TREES, n_folds=2, n_boot=99, n_rep=1, random_state=1)
    return ff.fit(X, y, sensitive_features=labels)


def test_the_report_has_every_candidate_for_every_factor(fitted):
    report = fitted.learner_report_
    assert isinstance(report, LearnerReport)
    table = report.candidates
    modelled = ["the group", "loss in group south", "loss in group north"]
    assert list(dict.fromkeys(table["modelled"])) == modelled
    within = ["separate logit", "adjusted logit", "separate boosting", "pooled boosting"]
    for name in modelled:
        own = table[table["modelled"] == name]
        assert list(own["candidate"]) == (["logit", "boosting"] if name == "the group" else within)
        assert own["weight"].sum() == pytest.approx(1.0)
        assert own["folds with the largest weight"].sum() == 2
    kept = fitted.nuisance_.candidates
    of_group = kept[[label is None for label in kept["group"]]]
    logit = of_group[of_group["candidate"] == "logit"]
    assert table["loss"][0] == pytest.approx(sum(logit["loss"]) / 2)


def test_the_report_prints_pickles_and_stands_in_the_summary(fitted):
    report = fitted.learner_report_
    assert pickle.loads(pickle.dumps(report)) == report
    assert len(repr(report).splitlines()) <= 12
    assert "pooled boosting" in report._repr_html_()
    assert report.to_dict()["candidates"][0]["candidate"] == "logit"
    for line in report.sentences():
        assert line in fitted.summary()


def test_the_record_and_the_page_have_every_candidate(fitted, tmp_path):
    found, table = learner_record(fitted).candidates, fitted.learner_report_.candidates
    assert [line.candidate for line in found] == list(table["candidate"])
    assert [line.weight for line in found] == list(table["weight"])
    page = fitted.report(tmp_path / "report.html").read_text(encoding="utf-8")
    assert page.count("<td>separate boosting</td>") == 2
    assert "Candidates that the learner weighs" in page


@pytest.mark.filterwarnings("ignore::fairfrontier.errors.MarginWarning")
def test_a_learner_without_candidates_has_its_losses():
    X, y, group = make_liu_molinari(600, design="skewed", random_state=1)
    ff = FairFrontier(learner="factored-logit", n_folds=2, n_boot=99, n_rep=1, random_state=1).fit(
        X, y, sensitive_features=group
    )
    report = ff.learner_report_
    assert report.candidates.empty
    assert report.sentences() == []
    quality = ff.nuisance_.quality
    expected = quality[quality["group"] == 1]["log_loss"].mean()
    assert report.losses.loc[1, "loss"] == pytest.approx(expected)
    assert "Candidates" not in ff.summary()


def test_the_plan_of_an_audit_names_the_candidates():
    table = pd.DataFrame(
        {"x": np.arange(40) % 13 / 2.0, "sex": ["f", "m"] * 20, "y": [0, 0, 1, 1] * 10, "d": [0, 1] * 20}
    )
    request = AuditRequest(data="people.csv", outcome="y", group="sex", decision="d")
    line = next(
        line
        for line in make_plan(TableFile(table, "people.csv", "0" * 64), request).lines()
        if line.startswith("Learner")
    )
    assert line == (
        "Learner     auto, which weighs separate logit, adjusted logit, separate boosting, pooled boosting by their "
        "errors on inner folds"
    )


def test_a_rule_of_the_default_learner_predicts_frames_with_text():
    rng = np.random.default_rng(4)
    n = 240
    X = pd.DataFrame({"x": rng.normal(size=n), "place": rng.choice(["a", "b", "c"], n)})
    y = (X["x"] + (X["place"] == "b") + rng.normal(size=n) > 0).astype(int)
    group = rng.choice(["u", "v"], n)
    ff = FairFrontier(learner="auto", n_folds=2, n_boot=99, n_rep=1, random_state=1).fit(X, y, sensitive_features=group)
    rule = ff.rule("utilitarian")
    assert set(np.unique(rule.predict(X))) <= {0, 1}
    assert rule.predict(pd.DataFrame({"x": [9.0, -9.0], "place": ["z", "z"]})).tolist() == [1, 0]


def test_an_adjusted_logit_sees_the_log_odds_of_the_model_of_all_groups():
    data, new = rows(400), rows(30, seed=1).X
    trials = {trial.full_name: trial for trial in auto_of_two().try_out(data, SEED)}
    pooled, adjusted = trials["pooled trees"], trials["adjusted logit"]
    said = np.log(pooled.inner.probabilities[:, 1] / pooled.inner.probabilities[:, 0])
    for g in range(2):
        own = data.group == g
        model = LogisticRegression(**LOGIT.get_params()).fit(np.column_stack([data.X[own], said[own]]), data.dl[own])
        p = pooled.fits[0]().predict(pooled.columns.with_groups(new, np.full(len(new), g), 2)).probabilities
        expected = model.predict_proba(np.column_stack([new, np.log(p[:, 1] / p[:, 0])]))[:, 1]
        seen = np.column_stack([new, np.log(p[:, 1] / p[:, 0])])
        np.testing.assert_allclose(adjusted.fits[g]().predict(seen).probabilities[:, 1], expected, atol=1e-5)


class ArraysSeen(pickle.Pickler):
    """Notes the shape of every array that is pickled."""

    def __init__(self, file):
        super().__init__(file)
        self.shapes = []

    def persistent_id(self, obj):
        if isinstance(obj, np.ndarray):
            self.shapes.append(obj.shape)


@pytest.mark.filterwarnings("ignore")
def test_a_rule_of_the_default_learner_carries_no_training_row():
    n = 211  # a number that no other array happens to have
    rng = np.random.default_rng(4)
    X, group = rng.normal(size=(n, 2)), rng.integers(0, 2, n)
    y = (X[:, 0] + rng.normal(size=n) > 0).astype(int)
    rule = FrontierRule(weights="utilitarian", learner="auto", learner_params={"max_iter": 5}, random_state=0)
    rule.fit(X, y, sensitive_features=group)
    file = io.BytesIO()
    seen = ArraysSeen(file)
    seen.dump(rule)
    assert len(seen.shapes) > 10
    assert not [shape for shape in seen.shapes if n in shape or n * 2 in shape]
    again = pickle.loads(pickle.dumps(rule))
    np.testing.assert_array_equal(again.decision_function(X), rule.decision_function(X))


def odd_tables(n):
    """Columns that a table may hold and models may not; rows with odd numbers are held out first."""
    rng = np.random.default_rng(6)
    odd = np.arange(n) % 2 == 1
    many = np.array([f"t{k}" for k in rng.integers(0, 10_000, n)], dtype=object)
    return {
        "one level in training": np.where(odd, rng.choice(["a", "b", "c"], n), "a"),
        "levels never seen in training": np.where(odd, "new", rng.choice(["a", "b"], n)),
        "codes never seen in training": np.where(odd, 77, rng.integers(1, 5, n)),
        "all missing": np.full(n, np.nan),
        "all missing, text": pd.Series([None] * n, dtype=object),
        "missing in training": np.where(odd, 1.0, np.nan),
        "two values, others missing": np.where(np.arange(n) < 4, np.arange(n), np.nan),
        "ten thousand levels": many,
        "mixed types": pd.Series([1, "a", 2.5, True, None, "1"] * (n // 6), dtype=object),
        "mixed types with dates": pd.Series(["2024-01-01", 3, None, "x"] * (n // 4), dtype=object),
    }


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", odd_tables(240))
def test_odd_columns_give_a_result_with_the_default_learner(name):
    n = 240
    rng = np.random.default_rng(7)
    X = pd.DataFrame({"x": rng.normal(size=n), "odd": odd_tables(n)[name]})
    y = (X["x"] + rng.normal(size=n) > 0).astype(int)
    group = rng.choice(["u", "v"], n)
    options = {"learner_params": {"max_iter": 5}, "n_boot": 99, "random_state": 1}
    ff = FairFrontier(**options, folds=np.arange(n) % 2).fit(X, y, sensitive_features=group)
    assert np.isfinite(ff.nuisance_.predictions).all()
    assert 0.0 < ff.test_lda(rng.integers(0, 2, n)).p_value <= 1.0
    new = pd.DataFrame({"x": [3.0, -3.0], "odd": pd.Series(["quite new", None], dtype=object)})
    assert set(ff.rule("utilitarian").predict(new)) <= {0, 1}
