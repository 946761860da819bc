"""Pooled learners and the default one: plain transcriptions, honesty towards held-out rows, and their report."""

import io
import pickle

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
    child_seeds,
    fit_learner,
    log_loss,
    resolve_learner,
)
from fairfrontier.learning.learners.auto import ROWS_OF_OTHERS, AutoLearner, Candidate
from fairfrontier.learning.learners.encoding import GroupedTable, PooledColumns
from fairfrontier.learning.learners.estimators import TUNING_FOLDS
from fairfrontier.learning.learners.families import boosting_family
from fairfrontier.learning.learners.pooled import PooledLearner, pooled_family
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
    model, inner = family().fit_validated(data.X, data.dl, data.weight, SEED)
    used = np.arange(len(data.dl)) if data.weight is None else np.flatnonzero(data.weight > 0)
    X, z = data.X[used], data.dl[used]
    weight = None if data.weight is None else data.weight[used]
    folds, expected = plain_folds(z, SEED), np.zeros(len(data.dl))
    for k in range(TUNING_FOLDS):
        own = LogisticRegression(**LOGIT.get_params())
        own.fit(X[folds != k], z[folds != k], None if weight is None else weight[folds != k])
        expected[used[folds == k]] = 2.0 * own.predict_proba(X[folds == k])[:, 1] - 1.0
    np.testing.assert_allclose(inner.mean, expected, atol=1e-6)
    whole = LogisticRegression(**LOGIT.get_params()).fit(X, z, weight)
    np.testing.assert_allclose(model.predict(X).mean, 2.0 * whole.predict_proba(X)[:, 1] - 1.0, atol=1e-6)


def test_a_growing_model_hands_on_the_predictions_of_the_stage_it_chose():
    data = rows(300)
    boosting = boosting_family()
    model, inner = boosting.fit_validated(data.X, data.dl, None, SEED)
    chosen = boosting.tune(data.X, data.dl, None, SEED)
    assert model.estimator.get_params()["model__max_iter"] == chosen["model__max_iter"]
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
            Candidate("logit", first, pooled_family(first, interactions=True)),
            Candidate("trees", second, pooled_family(second, interactions=False)),
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


@pytest.mark.parametrize("n_groups", [2, 3])
def test_candidates_are_weighted_by_their_inner_errors(n_groups):
    data, new = rows(900, n_groups), rows(80, n_groups, seed=3).X
    ours = auto_of_two()
    names = ours.components(n_groups)
    seeds = child_seeds(SEED, len(names))
    parts = {name: ours.fit(name, data, seed).predict(new) for name, seed in zip(names, seeds, strict=True)}
    prediction = ours.combine(parts)
    logit, trees = parts["group logit"], parts["group trees"]

    def shares(found):  # the model predicts G - 1 - g
        return np.column_stack(
            [found.probabilities[:, list(found.values).index(n_groups - 1 - g)] for g in range(n_groups)]
        )

    member = (data.group[:, None] == np.arange(n_groups)).astype(float)
    inner = np.column_stack([shares(part.basis.inner)[:, :-1].ravel() for part in (logit, trees)])
    a = plain_weights(inner, member[:, :-1].ravel(), np.ones(inner.shape[0]))
    p = a[0] * shares(logit.predictions[0]) + a[1] * shares(trees.predictions[0])
    np.testing.assert_allclose(prediction.group_probabilities, p, atol=1e-3)
    within = [name for name in names if not name.startswith("group")]
    for g in range(n_groups):
        own = data.group == g
        weight = np.where(own, 1.0, min(1.0, ROWS_OF_OTHERS / (~own).sum()))
        b = plain_weights(np.column_stack([parts[name].basis.inner.mean for name in within]), data.dl, weight)
        expected = p[:, g] * sum(w * parts[name].predictions[g].mean for w, name in zip(b, within, strict=True))
        np.testing.assert_allclose(prediction.groups[g].mean, expected, atol=2e-3)
        scores = {score.name: score for score in prediction.candidates if score.code == g}
        assert list(scores) == within
        for name in within:
            loss = np.mean([log_loss_of(parts[name].basis.inner, i, data.dl[i]) for i in np.flatnonzero(own)])
            assert scores[name].loss == pytest.approx(loss, abs=1e-12)


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
    for name, seed in zip(learner.components(2), child_seeds(SEED, 6), strict=True):
        if not name.startswith("separate"):
            continue
        inner = learner.fit(name, data, seed).basis.inner
        used = data.group == 1 if data.weight is None else (data.group == 1) & (data.weight > 0)
        assert (inner.mean[used] == constant).all()
        assert (log_loss(inner, data.dl)[used] == 0.0).all()
    found = fit_learner(learner, data, SEED).predict(data.X)
    assert np.isfinite(found.delta_theta).all()
    assert all(np.isfinite(score.loss) for score in found.candidates)


def test_a_fold_with_a_constant_loss_difference_has_its_value():
    z = np.array([0.1] * 30 + [-0.7])  # without its fold, the only -0.7 is missing in training
    X = np.random.default_rng(0).normal(size=(31, 2))
    _, inner = family().fit_validated(X, z, None, SEED)
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
    X, y, group = make_liu_molinari(240, design="skewed", random_state=1)
    labels = np.where(group == 1, "north", "south")
    ff = FairFrontier(learner="auto", learner_params=FEW_TREES, n_folds=2, n_boot=99, n_rep=1, random_state=1)
    return ff.fit(X, y, sensitive_features=labels)


def test_the_report_has_every_candidate_for_every_factor(fitted):
    report = fitted.learner_report_
    assert isinstance(report, LearnerReport)
    table = report.candidates
    modelled = ["the group", "loss in group south", "loss in group north"]
    assert list(dict.fromkeys(table["modelled"])) == modelled
    within = ["separate logit", "separate boosting", "pooled logit", "pooled boosting"]
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
    X, y, group = make_liu_molinari(240, design="skewed", random_state=1)
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
        "Learner     auto, which weighs separate logit, separate boosting, pooled logit, pooled boosting by their "
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


def test_weights_are_the_same_before_and_after_training_rows_are_left_behind():
    data, new = rows(150), rows(20, seed=3).X
    learner = auto_of_two()
    parts = {
        name: learner.fit(name, data, seed)
        for name, seed in zip(learner.components(2), child_seeds(SEED, 6), strict=True)
    }
    before = learner.combine({name: part.predict(new) for name, part in parts.items()})
    after = fit_learner(learner, data, SEED).predict(new)
    np.testing.assert_array_equal(before.delta_theta, after.delta_theta)
    assert before.candidates == after.candidates


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
