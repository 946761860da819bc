"""Fitted models as algorithms: they decide as they predict, about the rows in use, or say why they cannot."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression, RidgeClassifier
from sklearn.neighbors import NearestCentroid
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from support.quick import QUICK

from fairfrontier import FairFrontier, Thresholded
from fairfrontier.errors import InputError

pytestmark = pytest.mark.filterwarnings("ignore::fairfrontier.errors.FairFrontierWarning")
N = 240


def people(seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"income": rng.normal(size=N), "town": rng.choice(["A", "B"], N), "age": rng.integers(20, 70, N)})
    y = (X["income"] + rng.normal(size=N) > 0).astype(int)
    return X, y, np.where(rng.random(N) < 0.4, "w", "m")


X, Y, GROUP = people()
EARLIER, EARLIER_Y, _ = people(1)


def fitted(X=X, y=Y, group=GROUP, **options):
    nuisance = np.random.default_rng(2).normal(size=(len(Y), 2))
    return FairFrontier(n_boot=99, **options).fit(X, y, sensitive_features=group, external_nuisance=nuisance)


def trained(kind, X=EARLIER, y=EARLIER_Y):
    columns = make_column_transformer((OneHotEncoder(), ["town"]), remainder=StandardScaler())
    return make_pipeline(columns, kind).fit(X, y)


@pytest.fixture(scope="module")
def ff():
    return fitted()


@pytest.fixture(scope="module")
def model():
    return trained(LogisticRegression())


def same(ff, one, other):
    found = ff.test_lda(one), ff.test_lda(other)
    return found[0].p_value == found[1].p_value and found[0].statistic == found[1].statistic


def test_a_model_decides_as_it_predicts(ff, model):
    assert 0 < model.predict(X).mean() < 1
    assert same(ff, model, model.predict(X))
    assert ff.risks(model) == ff.risks(model.predict(X))
    assert (ff.usual_figures(model).to_frame()).equals(ff.usual_figures(model.predict(X)).to_frame())


def test_a_model_with_a_threshold_decides_by_its_probabilities(ff, model):
    chances = model.predict_proba(X)[:, 1]
    assert ff.test_lda(model, threshold=0.3).p_value == ff.test_lda(chances > 0.3).p_value
    assert same(ff, Thresholded(model, 0.3), (chances > 0.3).astype(int))
    assert ff.risks(Thresholded(model, 0.3)) == ff.risks(chances > 0.3)
    assert ff.distance_to_fairest(model, threshold=0.7).estimate == ff.distance_to_fairest(chances > 0.7).estimate


def test_columns_models_and_thresholds_are_mixed_by_name(ff, model):
    old, chances = (X["age"] > 40).to_numpy(), model.predict_proba(X)[:, 1]
    given = {"old": old, "new": model, "strict": Thresholded(model, 0.7), "scores": Thresholded(chances, 0.4)}
    plain = {"old": old, "new": model.predict(X), "strict": chances > 0.7, "scores": chances > 0.4}
    found, expected = ff.test_lda(given).to_frame(), ff.test_lda(plain).to_frame()
    assert list(found.index) == list(given)
    assert found["p_value_adjusted"].tolist() == expected["p_value_adjusted"].tolist()
    assert (found["p_value_adjusted"] != found["p_value"]).any()


def test_a_threshold_of_its_own_wins_over_that_of_all(ff, model):
    found = ff.usual_figures({"own": Thresholded(model, 0.9), "all": model}, threshold=0.2)
    chances = model.predict_proba(X)[:, 1]
    for name, cut in (("own", 0.9), ("all", 0.2)):
        assert found[name].to_frame().equals(ff.usual_figures(chances > cut).to_frame())


def test_thresholds_by_group(ff, model):
    chances, by_group = model.predict_proba(X)[:, 1], {"w": 0.3, "m": 0.6}
    expected = np.where(GROUP == "w", chances > 0.3, chances > 0.6)
    for found in (
        ff.test_lda(model, threshold=by_group),
        ff.test_lda(chances, threshold=by_group),
        ff.test_lda(Thresholded(chances, by_group)),
    ):
        assert found.p_value == ff.test_lda(expected).p_value
    assert not np.array_equal(expected, chances > 0.3)


def test_decisions_about_labels_follow_the_positive_label():
    words = np.where(Y == 1, "repaid", "lost")
    ff = fitted(y=words, positive="lost")
    model = trained(LogisticRegression(), y=np.where(EARLIER_Y == 1, "repaid", "lost"))
    assert same(ff, model, (model.predict(X) == "lost").astype(int))
    chances = model.predict_proba(X)[:, list(model.classes_).index("lost")]
    assert ff.test_lda(model, threshold=0.4).p_value == ff.test_lda(chances > 0.4).p_value
    ridge = trained(RidgeClassifier(), y=np.where(EARLIER_Y == 1, "repaid", "lost"))  # lost is the first of its classes
    assert ff.risks(Thresholded(ridge, 0.1)) == ff.risks(-ridge.decision_function(X) > 0.1)
    coded = trained(LogisticRegression())  # trained on 0 and 1, though outcomes are labels here
    assert same(ff, coded, coded.predict(X))


def test_models_without_probabilities(ff):
    ridge, line = trained(RidgeClassifier()), trained(LinearRegression())
    assert ff.risks(Thresholded(ridge, 0.2)) == ff.risks(ridge.decision_function(X) > 0.2)
    assert ff.test_lda(line, threshold=0.5).p_value == ff.test_lda(line.predict(X) > 0.5).p_value


def test_a_model_gets_its_columns_by_name_and_only_the_rows_in_use():
    holes = X.assign(other=1.0)[["age", "other", "town", "income"]]
    three = GROUP.copy()
    three[:20] = "unknown"
    holes.loc[:19, "income"] = np.nan  # logistic regression refuses them
    ff = fitted(holes, group=three, groups=("w", "m"))
    model = trained(LogisticRegression())
    decisions = np.zeros(N)
    decisions[20:] = model.predict(X[20:])
    assert same(ff, model, decisions)


def test_a_model_gets_columns_as_they_were_given():
    table = X.assign(age=X["age"].astype(object), floor=np.where(X["age"] > 40, 1.0, np.nan))

    class Looks:
        feature_names_in_ = np.array(["floor", "age"])

        def predict(self, X):
            seen.append(X)
            return (X["age"] > 40).astype(int)

    seen = []
    fitted(table, categorical=["town"], numeric=["floor"]).risks(Looks())
    assert seen[0].equals(table[["floor", "age"]])
    assert seen[0]["age"].dtype == object


@pytest.mark.parametrize("frame", [pl.from_pandas, lambda X: pl.from_pandas(X).to_arrow(), pd.DataFrame])
def test_frames_of_other_libraries(frame, model):
    ff = fitted(frame(X))
    if frame is pl.from_pandas:
        in_polars = LogisticRegression().fit(pl.from_pandas(EARLIER[["income", "age"]]), EARLIER_Y)
        assert same(ff, in_polars, in_polars.predict(pl.from_pandas(X[["income", "age"]])))
    assert same(ff, model, model.predict(X))


def test_arrays_by_position(ff):
    numbers, earlier = X[["income", "age"]], EARLIER[["income", "age"]].to_numpy()
    forest = RandomForestClassifier(5, random_state=0).fit(earlier, EARLIER_Y)  # which can be iterated, as columns can
    for given in (numbers.to_numpy(), numbers):
        assert same(fitted(given), forest, forest.predict(numbers.to_numpy()))
    with pytest.raises(InputError, match="trained with 2 columns without names, and the rows have 3") as caught:
        ff.test_lda(forest)
    assert caught.value.code == "bad-model"


def test_models_that_ask_for_the_group_are_told(ff):
    class ByGroup:
        def predict(self, X, *, sensitive_features):
            return (X["age"] > np.where(sensitive_features == "w", 30, 50)).astype(int)

    assert same(ff, ByGroup(), (X["age"] > np.where(GROUP == "w", 30, 50)).astype(int))
    three = np.where(np.arange(N) < 20, "other", GROUP)
    some = fitted(group=three, groups=("w", "m"))
    assert same(some, ByGroup(), (X["age"] > np.where(GROUP == "w", 30, 50)).astype(int))


@pytest.mark.parametrize("rules", ["group-blind", "group-aware"])
def test_rules_of_ours_are_models(rules):
    frontier = FairFrontier(n_folds=2, n_boot=99, random_state=1, rules=rules, **QUICK)
    frontier.fit(X[["income", "age"]], Y, sensitive_features=GROUP)
    rule = frontier.rule("utilitarian")
    told = {"sensitive_features": GROUP} if rules == "group-aware" else {}
    assert same(frontier, rule, rule.predict(X[["income", "age"]], **told))


def test_pictures_and_reports_ask_a_model_once(ff):
    class Counting:
        asked = 0

        def predict(self, X):
            self.asked += 1
            return np.ones(len(X))

    model = Counting()
    ff.plot(decisions={"everybody": model})
    assert model.asked == 1


@pytest.mark.parametrize(
    ("given", "options", "what"),
    [
        (LogisticRegression(), {}, "is not fitted"),
        (LogisticRegression, {}, "is the class LogisticRegression"),
        (trained(LogisticRegression(), y=EARLIER_Y.replace({0: "no", 1: "yes"})), {}, "predicts 'no', 'yes'"),
        (trained(LogisticRegression(), y=EARLIER_Y.replace({0: "no", 1: "yes"})), {"threshold": 0.5}, "'no', 'yes'"),
        (trained(LogisticRegression(), y=np.arange(N) % 3), {"threshold": 0.5}, "has 3 classes"),
        (
            LogisticRegression().fit(EARLIER.rename(columns={"age": "years"})[["years"]], EARLIER_Y),
            {},
            r"'years'.*'age'",
        ),
        (trained(NearestCentroid()), {"threshold": {"w": 0.5}}, "a number for each of the groups"),
        (trained(LogisticRegression()), {"threshold": {"w": 0.5, "m": 0.5, "x": 1}}, "no group 'x'"),
        (trained(LogisticRegression()), {"threshold": "half"}, "finite number"),
        ([trained(LogisticRegression())], {}, "need names"),
        (trained(LinearRegression()), {}, "set the cut-off"),
    ],
    ids=range(11),
)
def test_what_cannot_decide_says_why(ff, given, options, what):
    with pytest.raises(InputError, match=what):
        ff.test_lda(given, **options)


def test_a_model_that_fails_is_quoted(ff):
    table = EARLIER.assign(town="C")
    strict = trained(LogisticRegression(), X=table)
    with pytest.raises(InputError, match="Found unknown categories") as caught:
        ff.test_lda({"strict": strict})
    assert caught.value.code == "bad-model"
    assert "'strict', a Pipeline" in str(caught.value)


def test_without_covariates_there_is_nothing_to_decide_about(model):
    with pytest.raises(InputError, match="X was not given"):
        fitted(None).test_lda(model)
    with pytest.raises(InputError, match="X is an array"):
        fitted(X[["income", "age"]].to_numpy()).test_lda(model)
