"""Fairness by any measure through the estimator: plain transcriptions, the question in words, refusals."""

import json
import warnings

import numpy as np
import pandas as pd
import pytest
from support.quick import QUICK
from support.refusals import refused

from fairfrontier import FairFrontier, cost_loss
from fairfrontier.criteria import Criterion
from fairfrontier.data.criteria import read_criteria
from fairfrontier.errors import FairFrontierWarning, SmallSampleWarning
from fairfrontier.inference.fan.questions import criteria_of

pytestmark = pytest.mark.filterwarnings("ignore::fairfrontier.errors.WeakLearnerWarning")
N = 360
LABELS = np.array(["a", "b", "c"])
MEASURES = ["risk", "selection-rate", "selection-ratio", "true-positive-rate", "false-positive-rate", "own"]


def people(n_groups, seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(N, 3)), columns=["u", "v", "w"])
    code = (X["w"] + rng.normal(size=N)).rank(method="first").mul(n_groups / (N + 1)).astype(int).to_numpy()
    y = (rng.random(N) < 1.0 / (1.0 + np.exp(-X["u"] - (1.0 - code) * X["v"]))).astype(int)
    return X, y, LABELS[code]


def fitted(n_groups=2, n=N, quick=True, fit=None, **options):
    X, y, g = people(n_groups)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FairFrontierWarning)
        own = (QUICK if quick else {"n_rep": 1}) | {"n_folds": 2, "n_boot": 199, "random_state": 1}
        ff = FairFrontier(**(own | options)).fit(X, y, sensitive_features=g, **(fit or {}))
    return ff, X, y, g


def own_measure(y):
    return Criterion(weight=1 + np.arange(N) % 2, base=0.5 * y, gain=1.0 - y, name="burden")


def plain(measure, y, loss0, dl):
    """Weight, value without selection and change by it, for every row."""
    one, zero = np.ones(N), np.zeros(N)
    return {
        "risk": (one, loss0, dl),
        "selection-rate": (one, zero, one),
        "selection-ratio": (one, zero, one),
        "true-positive-rate": (one * (y == 1), zero, one),
        "false-positive-rate": (one * (y == 0), zero, one),
        "own": (1.0 + np.arange(N) % 2, 0.5 * y, 1.0 - y),
    }[measure]


@pytest.mark.parametrize("accuracy", ["by-group", "overall"])
@pytest.mark.parametrize("measure", MEASURES)
def test_criteria_and_predictions_against_plain_formulas(measure, accuracy):
    rng = np.random.default_rng(3)
    weight, profit = rng.exponential(size=N) + 0.1, rng.normal(1.0, 2.0, N)
    _, y, _ = people(2)
    ff, X, y, g = fitted(
        fit={"sample_weight": weight},
        fairness=own_measure(y) if measure == "own" else measure,
        accuracy=accuracy,
        keep="selection-rate",
        profit=profit,
        loss=cost_loss(1.0, 3.0),
    )
    a = (X["u"] > 0).to_numpy().astype(float)
    rows = criteria_of(ff.fit_)
    dl = np.where(y == 1, -3.0, 1.0)
    members = {label: g == label for label in ff.groups_}
    parts = [(np.ones(N), 3.0 * y, dl)]
    if accuracy == "by-group":
        parts = [(own * 1.0, 3.0 * y, dl) for own in members.values()]
    parts.append((np.ones(N), np.zeros(N), -profit))
    if not (accuracy == "by-group" and measure == "risk"):
        w, base, change = plain(measure, y, 3.0 * y, dl)
        parts += [(w * own, base, change) for own in members.values()]
    parts.append((np.ones(N), np.zeros(N), np.ones(N)))
    expected = [(weight * w * (b + a * c)).sum() / (weight * w).sum() for w, b, c in parts]
    np.testing.assert_allclose(rows.by_criterion(rows.values(a[rows.row])), expected, atol=1e-12)
    # predicted changes: E[w psi 1{G = g} | x] from P(G = g | x) and E[dl | x, g], for measures by name
    nuisance = ff.fit_.nuisance
    p, within = nuisance.group_probabilities[0], nuisance.within[0]
    positive = p * (within - 1.0) / -4.0  # dl is -3 where y is 1, else 1
    by_group = {
        "risk": p * within,
        "selection-rate": p,
        "selection-ratio": p,
        "true-positive-rate": positive,
        "false-positive-rate": p - positive,
    }
    t = [p * within if accuracy == "by-group" else (p * within).sum(axis=1)]
    t.append(ff.fit_.asked.predictions.profit[0].sum(axis=1) * -1.0)
    if not (accuracy == "by-group" and measure == "risk"):
        t.append(by_group[measure] if measure != "own" else ff.fit_.asked.predictions.measure[0])
    t.append(p.sum(axis=1))
    scale = np.array([weight.sum() / (weight * w).sum() for w, _, _ in parts])
    np.testing.assert_allclose(rows.vectors, np.column_stack(t) * scale, atol=1e-12)


def test_profits_and_own_measures_are_learned():
    """What a row earns depends on one covariate: predictions of it, and of an own measure, have to find that."""
    X, _, _ = people(2)
    profit = 2.0 + 3.0 * X["u"].to_numpy()
    own = Criterion(weight=1, base=0, gain=X["v"], name="change in v")
    ff, _, _, g = fitted(fairness=own, accuracy="overall", profit=profit, n_folds=5)
    asked = ff.fit_.asked
    assert np.corrcoef(asked.predictions.profit[0].sum(axis=1), profit)[0, 1] > 0.9
    assert np.corrcoef(asked.predictions.measure[0].sum(axis=1), X["v"])[0, 1] > 0.9
    assert (g != "c").all()


@pytest.mark.parametrize("learner", ["auto", "logit-lasso"])
def test_learners_with_and_without_a_model_of_the_group(learner):
    params = {"max_iter": 5} if learner == "auto" else {"n_penalties": 20, "n_tuning_folds": 3}
    ff, _, _, g = fitted(quick=False, learner=learner, learner_params=params, fairness="selection-rate")
    chances = ff.fit_.asked.predictions.measure[0]
    assert chances.shape == (N, 2)
    for k, label in enumerate(ff.groups_):
        own = g == label
        assert chances[own, k].mean() > chances[~own, k].mean() + 0.05


def test_predictions_from_outside_give_the_same_answer():
    ff, X, y, g = fitted(fairness="true-positive-rate", accuracy="overall")
    a = (X["u"] > 0).astype(int)
    test = ff.test_lda(a)
    assert json.loads(test.to_json())["question"] == test.question
    np.testing.assert_allclose(test.risk, [np.mean((y != a)[g == label]) for label in ff.groups_], atol=1e-12)
    nuisance = ff.fit_.nuisance
    both = np.hstack([nuisance.predictions[0], nuisance.group_probabilities[0]])
    outside = FairFrontier(fairness="true-positive-rate", accuracy="overall", n_boot=199, random_state=1)
    outside.fit(None, y, sensitive_features=g, external_nuisance=both)
    np.testing.assert_array_equal(criteria_of(ff.fit_).vectors, criteria_of(outside.fit_).vectors)
    one = FairFrontier(fairness="true-positive-rate", n_boot=199)
    refused(
        "bad-nuisance",
        "needs predictions that `external_nuisance` does not have",
        lambda: one.fit(None, y, sensitive_features=g, external_nuisance=both[:, :2]),
    )
    both[0, 2] = 1.5
    refused(
        "bad-nuisance",
        r"must lie in \[0, 1\]",
        lambda: outside.fit(None, y, sensitive_features=g, external_nuisance=both),
    )


@pytest.mark.parametrize("options", [{"fairness": "selection-rate"}, {"fairness": "selection-ratio", "n_rep": 2}])
def test_three_groups_jobs_and_pairs(options):
    ff, X, _, _ = fitted(3, **options, accuracy="overall")
    a = (X["w"] + X["u"] > 0).astype(int)
    one = ff.test_lda(a)
    assert one == ff.set_params(n_jobs=2).test_lda(a)
    np.testing.assert_allclose(one.measure, ff.risks(a).selection_rate, atol=1e-12)
    spread = np.ptp(one.measure) if "n_rep" not in options else one.measure.min() / one.measure.max()
    assert one.spread == pytest.approx(spread)
    # two of the groups: people of both, with chances among these two
    pair = ff.pair("a", "b")
    asked = pair.fit_.asked
    np.testing.assert_allclose(asked.predictions.measure.sum(axis=2), 1.0, atol=1e-12)
    assert pair.test_lda(a).groups == ("a", "b")


def test_a_score_that_ignores_the_groups_has_an_alternative():
    """People of one group are selected by a useless covariate that is higher in it."""
    rng = np.random.default_rng(5)
    n = 2400
    group = rng.integers(0, 2, n)
    X = pd.DataFrame({"good": rng.normal(size=n), "other": rng.normal(size=n) + 1.5 * group})
    y = (rng.random(n) < 1.0 / (1.0 + np.exp(-2.0 * X["good"]))).astype(int)
    in_use = (X["good"] + X["other"] > 0.75).astype(int)
    for fairness in ("selection-rate", "selection-ratio", "true-positive-rate", "false-positive-rate"):
        ff = FairFrontier(**QUICK, fairness=fairness, accuracy="overall", keep="selection-rate", n_folds=2, n_boot=199)
        ff.set_params(random_state=0)
        test = ff.fit(X, y, sensitive_features=group).test_lda(in_use)
        assert test.verdict == "lda-shown", fairness
        assert test.witness is not None
        assert abs(test.witness.criteria[-1] - test.evidence.criteria[-1]) < 0.03  # the share selected is kept
        own = test.witness.criteria[list(test.evidence.aims.spread)]
        if fairness == "selection-ratio":
            assert own.min() / own.max() > test.spread
        else:
            assert np.ptp(own) < test.spread
        text = test.summary()
        assert test.question in text
        assert "Yes: such a rule exists." in text
        assert "evidence, not a legal finding" in text
        best = ff.test_lda((X["good"] > 0).astype(int))
        assert best.verdict == "no-evidence", fairness
        assert "can hardly be distinguished from" in best.summary()


def test_the_question_in_words():
    def asked(n_groups=2, reference=None, *, errors=True, **options):
        return read_criteria(**options).question(n_groups, reference, errors=errors)

    assert asked(fairness="selection-rate", accuracy="overall", keep="selection-rate") == (
        "Is there a rule that errs no more often overall, selects about as many people (within 2 percentage points), "
        "and has a smaller difference in selection rates?"
    )
    assert asked() == (
        "Is there a rule that errs no more often in any group, and has a smaller difference in error rates?"
    )
    assert asked(4, "White", errors=False) == (
        "Is there a rule that has no higher an expected loss in any group, and has smaller differences in expected "
        "losses to group White?"
    )
    assert asked(3, fairness="selection-ratio", accuracy="overall", profit=[1], keep="no-more-selected") == (
        "Is there a rule that errs no more often overall, selects no more people, earns no less, and has a ratio of "
        "selection rates, smallest to largest, that is nearer to one?"
    )
    burden = Criterion(name="burden")
    assert asked(3, fairness=burden, keep="no-fewer-selected", keep_tolerance=0.01).endswith(
        "selects no fewer people (within 1 percentage points), and has a smaller range of the burden?"
    )


def test_choices_that_cannot_be_are_refused():
    X, y, g = people(2)

    def fit(**options):
        own = {"external_nuisance": options.pop("external_nuisance", None)}
        return FairFrontier(**(QUICK | options)).fit(X, y, sensitive_features=g, **own)

    refused("bad-option", "Did you mean 'selection-rate'", lambda: fit(fairness="selection-rates"))
    refused("bad-option", "or a Criterion; got 3", lambda: fit(fairness=3))
    refused("bad-option", "accuracy must be one of by-group, overall", lambda: fit(accuracy="mean"))
    refused("bad-option", "keep must be one of", lambda: fit(keep="all"))
    refused("bad-option", "keep_tolerance says how exactly", lambda: fit(keep_tolerance=0.1))
    refused("bad-option", "exactly the same share", lambda: fit(keep="selection-rate", keep_tolerance=0))
    refused("bad-option", "a share of at least 0", lambda: fit(keep="selection-rate", keep_tolerance=1.5))
    refused("bad-option", "no positive value", lambda: fit(profit=-np.ones(N)))
    refused("length-mismatch", "profit must have one value per row", lambda: fit(profit=np.ones(3)))
    refused("missing-values", "profit has 1 missing", lambda: fit(profit=np.where(np.arange(N) == 3, np.nan, 1.0)))
    refused("non-finite", "profit must be finite", lambda: fit(profit=np.where(np.arange(N) == 3, np.inf, 1.0)))
    refused("bad-weights", "must not be negative", lambda: fit(fairness=Criterion(weight=-1)))
    refused("undefined-rate", "not defined for group 'b'", lambda: fit(fairness=Criterion(weight=(g == "a") * 1.0)))
    overall = {"accuracy": "overall"}
    refused("bad-option", "sequential", lambda: fit(**overall, folds="sequential"))
    refused("bad-option", "group-aware", lambda: fit(**overall, rules="group-aware"))
    refused("bad-option", "jitter", lambda: fit(**overall, jitter=0.1))
    refused("bad-option", "bias_correction", lambda: fit(**overall, bias_correction="regret"))
    refused("bad-option", "name of a Criterion must be text", lambda: fit(fairness=Criterion(name=5)))
    refused("bad-nuisance", "`profit` needs", lambda: fit(profit=np.ones(N), external_nuisance=np.full((N, 2), 0.1)))
    flat = fit(fairness="true-positive-rate", loss="squared", learner="lasso")  # (1 - y)^2 - y^2 depends on y
    assert flat.test_lda((X["u"] > 0).astype(int)).groups == ("b", "a")


def test_rates_that_are_not_defined_or_known_are_said():
    X, y, g = people(2)
    y = np.where(g == "b", 0, y)
    for fairness, other in (("true-positive-rate", "an outcome of 1"), ("false-positive-rate", "an outcome of 0")):
        rate = FairFrontier(**QUICK, fairness=fairness)
        outcome = y if "true" in fairness else 1 - y
        refused("undefined-rate", other, lambda rate=rate, y=outcome: rate.fit(X, y, sensitive_features=g))
    numbers = FairFrontier(**QUICK, loss="squared", fairness="true-positive-rate")
    refused(
        "outcome-not-binary", "counts people", lambda: numbers.fit(X, 2.0 * X["u"] + X["v"] ** 2, sensitive_features=g)
    )
    ff, X, _, g = fitted(fairness="selection-ratio", accuracy="overall")
    refused("undefined-rate", "selects nobody in any group", lambda: ff.test_lda(np.zeros(N)))
    with pytest.warns(SmallSampleWarning, match="exactly 0 or 1 in group 'b'"):
        test = ff.test_lda((g == "a") & (X["u"] > 0))
    assert test.spread == 0.0
    with pytest.warns(SmallSampleWarning, match="exactly 0 or 1"):
        everybody = ff.test_lda(np.ones(N))
    assert everybody.verdict == "lda-shown"
    assert "the same in all groups now, and cannot be more so" in everybody.summary()
    one = np.zeros(N)
    one[np.flatnonzero(g == "a")[0]] = 1.0
    with pytest.warns(SmallSampleWarning):
        refused("undefined-rate", "So few people are selected", lambda: ff.test_lda(one))
    one[np.flatnonzero(g == "b")[:9]] = 1.0
    with pytest.warns(SmallSampleWarning, match="0 or 1 but for fewer than 5 people in group 'a'"):
        ff.test_lda(one)


def test_units_of_profits_and_rounding():
    """Whatever the currency, the answer is the same, and the alternative earns as much more in it."""
    X, _, _ = people(2)
    profit = 1.0 + X["u"].to_numpy()
    a = (X["w"] > 0).astype(int)
    tests = []
    for unit in (1.0, 2.0**40):  # a power of two does not round
        ff = fitted(fairness="selection-rate", accuracy="overall", profit=unit * profit)[0]
        ff.fit_.asked.predictions.profit[:] = unit * (1.0 + X["u"].to_numpy())[:, None] / 2.0
        tests.append(ff.test_lda(a))
    one, other = tests
    assert one.p_value == pytest.approx(other.p_value, rel=1e-6)
    assert one.evidence.feasibility_p_value == other.evidence.feasibility_p_value
    assert one.verdict == "lda-shown"
    np.testing.assert_allclose(other.witness.gain / [1.0, 2.0**40, 1.0], one.witness.gain, rtol=1e-6)
    bounds = other.witness.lower_bounds(0.05) / [1.0, 2.0**40, 1.0]
    np.testing.assert_allclose(bounds, one.witness.lower_bounds(0.05), rtol=1e-6)


def test_what_needs_the_plane_of_two_risks_is_refused():
    ff, X, _, _ = fitted(fairness="selection-ratio", accuracy="overall")
    a = (X["u"] > 0).astype(int)
    refused("bad-option", "other criteria: fairness='selection-ratio', accuracy='overall'", ff.test_group_skew)
    refused("bad-option", "other criteria", lambda: ff.distance_to_fairest(a))
    refused("bad-option", "A test of risk pairs", lambda: ff.test_lda(risks=[0.2, 0.2]))
    refused("bad-option", "`weights` are those of the groups", lambda: ff.rule("utilitarian"))
    refused("bad-option", "The cost of a ban", ff.cost_of_ban)
    assert f"Question    {ff.test_lda(a).question}" in ff.summary()
    refused("bad-option", "is the robust one without a capacity", lambda: ff.test_lda(a, capacity=0.3))
    refused("bad-option", "is the robust one", lambda: ff.test_lda(a, method="sharp"))
    three, X, _, _ = fitted(3, fairness="selection-ratio", accuracy="overall")
    refused("bad-option", "leave `reference` out", lambda: three.test_lda(a, reference="a"))
    refused("bad-option", "A test of all pairs", lambda: three.pairs().test_lda(a))
    assert "Question    " in three.summary()
    assert fitted(3, fairness="selection-rate")[0].test_lda(a, reference="a").reference == "a"
    codes = np.arange(N) % 4
    X, y, _ = people(2)
    four = FairFrontier(**QUICK, n_folds=2, fairness="selection-rate").fit(X, y, sensitive_features=codes)
    refused("too-many-groups", "at most 3 groups, and there are 4", lambda: four.test_lda(a))
