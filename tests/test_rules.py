"""FrontierRule against plain transcriptions, as a scikit-learn classifier, within a capacity, and on bad input."""

import io
import pickle
import warnings

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator
from support.people import GROUPS, LOGIT, fitted, frontier, people, plain_pairs, shares, unit
from support.quick import QUICK_LEARNER
from support.refusals import code_of

from fairfrontier import FairFrontier, FrontierRule, LinearFrontierRule, cost_loss
from fairfrontier.data.sample import make_sample
from fairfrontier.frontier.capacity import find_cutoff
from fairfrontier.frontier.rule_class import GroupBlind
from fairfrontier.learning.cross_fitting import cross_fit, fit_on_all

# --- a scikit-learn classifier ---------------------------------------------------------------------------


def _groups_of(X, y):
    """Groups made of the first covariate, for checks that know of no groups."""
    try:
        first = np.asarray(X, dtype=float)[:, 0]
    except (TypeError, ValueError, IndexError):
        first = np.arange(len(y) if y is not None else 4)
    g = (np.floor(np.nan_to_num(first) * 1e3) % 2).astype(int)
    return g if len(set(g.tolist())) > 1 else np.arange(len(first)) % 2


class GroupedRule(FrontierRule):
    def fit(self, X, y, sample_weight=None):
        return super().fit(X, y, sensitive_features=_groups_of(X, y), sample_weight=sample_weight)


class GroupedLinearRule(LinearFrontierRule):
    def fit(self, X, y, sample_weight=None):
        return super().fit(X, y, sensitive_features=_groups_of(X, y), sample_weight=sample_weight)


@pytest.mark.parametrize("kind", [GroupedRule, GroupedLinearRule])
def test_scikit_learn_checks(kind):
    estimator = kind(learner=LogisticRegression(tol=1e-12, max_iter=5000), random_state=0)
    known = {
        "check_sample_weight_equivalence_on_dense_data": "weights are sampling weights, scaled to mean one, not counts"
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(estimator, expected_failed_checks=known, on_skip=None, on_fail="raise")
    passed = [result for result in results if result["status"] == "passed"]
    others = {result["check_name"] for result in results if result["status"] != "passed"}
    assert len(passed) >= 50
    assert others <= {"check_array_api_input", *known}


def test_in_a_pipeline():
    X, y, g = people()
    pipe = make_pipeline(
        StandardScaler(), FrontierRule(weights="population", learner=LOGIT, capacity=0.2, random_state=0)
    )
    pipe.fit(X, y, frontierrule__sensitive_features=g)
    Z = StandardScaler().fit_transform(X)
    alone = fitted("population", (Z, y, g), capacity=0.2)
    np.testing.assert_allclose(pipe.predict_proba(X), alone.predict_proba(Z))
    assert 0 < pipe.predict(X).sum() < len(y)
    assert pipe.score(X, y) == np.mean(pipe.predict(X) == y)


def test_cross_validated_predictions():
    X, y, g = people()
    folds = StratifiedKFold(3)
    rule = FrontierRule(weights=(1, 2), learner=LOGIT, random_state=0)
    found = cross_val_predict(rule, X, y, cv=folds, params={"sensitive_features": g})
    for train, held in folds.split(X, y):
        own = fitted((1, 2), (X[train], y[train], g[train]))
        np.testing.assert_array_equal(found[held], own.predict(X[held]))
    assert 0 < found.sum() < len(y)


def test_copies_decide_alike():
    X, y, g = people()
    rule = fitted("rawlsian", capacity=0.25)
    again = clone(rule).fit(X, y, sensitive_features=g)
    buffer = io.BytesIO()
    joblib.dump(rule, buffer)
    buffer.seek(0)
    for copy in (again, pickle.loads(pickle.dumps(rule)), joblib.load(buffer)):
        np.testing.assert_array_equal(copy.predict_proba(X), rule.predict_proba(X))
        np.testing.assert_array_equal(copy.draw(X, 3), rule.draw(X, 3))
    assert not hasattr(clone(rule), "direction_")
    other = clone(rule).set_params(weights=None, direction=(-1.0, 0.0), capacity=None)
    other.fit(X, y, sensitive_features=g)
    np.testing.assert_allclose(other.direction_, [-1.0, 0.0])
    assert (other.predict(X) != rule.predict(X)).any()


def test_frames_give_what_arrays_give():
    X, y, g = people()
    plain = fitted(capacity=0.3).predict_proba(X)
    names = ["age", "income", "debt"]
    for frame in (pd.DataFrame(X, columns=names), pl.DataFrame(X, schema=names)):
        column = pl.Series(g) if isinstance(frame, pl.DataFrame) else pd.Series(g, index=np.arange(len(g)) + 7)
        rule = fitted(data=(frame, y, column), capacity=0.3)
        np.testing.assert_allclose(rule.predict_proba(frame), plain)
        assert rule.feature_names_in_.tolist() == names
        assert rule.groups_ == GROUPS
        np.testing.assert_allclose(rule.predict_proba(frame[names[::-1]]), plain)
        assert code_of(lambda rule=rule, frame=frame: rule.predict(frame[names[1:]])) == "bad-features"


def test_categories_in_a_frame():
    X, y, g = people(240)
    town = np.where(X[:, 0] > 0.5, "north", np.where(X[:, 0] > -0.5, "centre", "south"))
    indicators = np.column_stack([X[:, 1], *[(town == name).astype(float) for name in ("centre", "north", "south")]])
    frame = pd.DataFrame({"x": X[:, 1], "town": town})
    options = QUICK_LEARNER | {"capacity": 0.3}
    by_name = fitted(data=(frame, y, g), **options)
    by_hand = fitted(data=(indicators, y, g), **options)
    np.testing.assert_allclose(by_name.decision_function(frame), by_hand.decision_function(indicators), atol=1e-6)
    by_polars = fitted(data=(pl.DataFrame(frame.to_dict("list")), y, g), **options)
    np.testing.assert_allclose(by_polars.predict_proba(frame), by_name.predict_proba(frame))
    new = frame.assign(town="west")
    assert by_name.predict(new).shape == (240,)


@pytest.mark.parametrize("labels", [("no", "yes"), (-1, 1), (False, True), (2.0, 5.0)])
def test_names_of_decisions(labels):
    X, y, g = people()
    rule = fitted(data=(X, np.array(labels)[y], g))
    expected = fitted().predict(X)
    assert rule.classes_.tolist() == list(labels)
    np.testing.assert_array_equal(rule.predict(X), np.array(labels)[expected])
    assert set(rule.draw(X, 0).tolist()) <= set(labels)


def test_the_label_that_counts_as_one():
    X, y, g = people()
    named = np.array(["good", "bad"])[y]  # "good" would be the larger one
    rule = fitted(data=(X, named, g), positive="bad", loss=cost_loss(1.0, 3.0))
    expected = fitted(loss=cost_loss(1.0, 3.0))
    assert rule.classes_.tolist() == ["good", "bad"]
    np.testing.assert_array_equal(rule.predict(X) == "bad", expected.predict(X) == 1)
    other = fitted(data=(X, named, g), loss=cost_loss(1.0, 3.0))
    assert other.classes_.tolist() == ["bad", "good"]
    assert ((other.predict(X) == "bad") != (rule.predict(X) == "bad")).any()


# --- against plain transcriptions ------------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
def test_the_rule_by_hand(weighted):
    X, y, g = people()
    w = np.random.default_rng(5).exponential(size=len(y)) if weighted else None
    rule = fitted((3.0, 1.0), fit={"sample_weight": w})
    X_new = people(seed=9)[0]
    t = plain_pairs(X, y, g, X_new, w=w)
    q, mu = unit([-3.0, -1.0]), shares(g, w)
    k = np.array([q[0] / mu[0] * pair[0] + q[1] / mu[1] * pair[1] for pair in t])
    np.testing.assert_allclose(rule.group_shares_, mu)
    np.testing.assert_allclose(rule.direction_, q)
    np.testing.assert_allclose(rule.decision_function(X_new), k, atol=1e-6)
    np.testing.assert_array_equal(rule.predict(X_new), k > 0)
    np.testing.assert_array_equal(rule.predict_proba(X_new)[:, 1], k > 0)
    assert 0 < rule.predict(X_new).sum() < len(k)


def test_rules_are_applied_to_the_vectors_that_are_swept(monkeypatch):
    """What a class of rules makes of predictions holds for the sweep and for the rules handed out alike."""
    mixed = np.array([[1.0, 0.3], [0.1, 1.0]])
    X, y, g = people()
    predictions = frontier().nuisance_.predictions[0]
    monkeypatch.setattr(GroupBlind, "vectors", lambda self, predictions, group: predictions @ mixed)
    ff = frontier()
    np.testing.assert_allclose(ff.support_function_.scores.t, predictions @ mixed)
    X_new = people(seed=9)[0]
    k = plain_pairs(X, y, g, X_new) @ mixed @ (unit([-3.0, -1.0]) / shares(g))
    for rule in (fitted((3.0, 1.0)), ff.rule((3.0, 1.0))):
        np.testing.assert_allclose(rule.decision_function(X_new), k, atol=1e-6)


def test_the_seed_is_that_of_the_learner():
    X, y, g = people(150)
    forest = RandomForestClassifier(n_estimators=5, max_depth=3)
    rule = fitted((1.0, 2.0), (X, y, g), learner=forest)
    sample = make_sample(X, y, g)
    t = fit_on_all(sample, 1.0 - 2.0 * y, forest, random_state=np.random.SeedSequence(0).spawn(2)[1]).predict(X)
    k = t.delta_theta @ (unit([-1.0, -2.0]) / shares(g))
    np.testing.assert_allclose(rule.decision_function(X), k, atol=1e-14)
    other = fitted((1.0, 2.0), (X, y, g), learner=forest, random_state=1)
    assert np.abs(other.decision_function(X) - k).max() > 1e-3


def test_weights_and_directions():
    X = people()[0]
    for w in ((1.0, 0.0), (0.3, 0.7), (2, 5)):
        by_weights, scaled = fitted(w), fitted(tuple(100 * np.array(w)))
        by_direction = fitted(direction=[-3.0 * x for x in w])
        for other in (scaled, by_direction):
            np.testing.assert_allclose(other.decision_function(X), by_weights.decision_function(X), rtol=1e-12)
    outward = fitted(direction=(1.0, 1.0))  # the worst rule treats whom the best one does not
    np.testing.assert_array_equal(outward.predict(X), 1 - fitted().predict(X))
    w = np.random.default_rng(0).exponential(size=len(X))
    one, seven = (fitted(fit={"sample_weight": c * w}, capacity=0.1) for c in (1.0, 7.0))
    np.testing.assert_allclose(one.decision_function(X), seven.decision_function(X), atol=1e-9)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (None, [-1, -1]),
        ("utilitarian", [-1, -1]),
        ("population", "shares"),
        ("majority", "larger"),
        ("best-for:women", [-1, 0]),
        ("best-for:men", [0, -1]),
    ],
)
@pytest.mark.parametrize("groups", [None, ("men", "women")])
def test_named_weights(name, expected, groups):
    g = people()[2]
    mu = shares(g)
    if expected == "shares":
        expected = -mu
    elif expected == "larger":
        expected = -(mu == mu.max()).astype(float)
    rule = fitted(name, groups=groups)
    turned = np.asarray(expected)[::-1] if groups else expected
    np.testing.assert_allclose(rule.direction_, unit(turned), atol=1e-15)
    assert rule.groups_ == (groups or GROUPS)


def plug_in_level(t, l0, is_r, q, capacity=None):
    """h(q) / -(q1 + q2) by the plug-in criterion, rows within the capacity by k."""
    mu, n = np.array([is_r.mean(), 1 - is_r.mean()]), len(l0)
    k = np.sort(np.maximum(t @ (q / mu), 0.0))[::-1]
    share = np.ones(n) if capacity is None else np.clip(capacity * n - np.arange(n), 0.0, 1.0)
    return (q @ [l0[is_r].mean(), l0[~is_r].mean()] + (k * share).sum() / n) / -q.sum()


@pytest.mark.parametrize("capacity", [None, 0.2])
@pytest.mark.parametrize(("name", "turn"), [("rawlsian", (1.0, 1.5)), ("egalitarian", (0.75, 1.75))])
@pytest.mark.parametrize("seed", [0, 1])
def test_estimated_preferences_by_brute_force(name, turn, capacity, seed):
    data = X, y, g = people(250, seed)
    rule = fitted(name, data, capacity=capacity, n_folds=3)
    sample = make_sample(X, y, g)
    seed = np.random.SeedSequence(0).spawn(2)[0]
    t = cross_fit(sample, 1.0 - 2.0 * y, LOGIT, n_folds=3, random_state=seed).predictions[0]
    angle = np.linspace(turn[0] * np.pi, turn[1] * np.pi, 2001)[1:-1]
    grid = np.column_stack([np.cos(angle), np.sin(angle)])
    levels = np.array([plug_in_level(t, y, (sample.group == 0), q, capacity) for q in grid])
    own = plug_in_level(t, y, (sample.group == 0), rule.direction_, capacity)
    assert own == pytest.approx(levels.min(), abs=1e-5)
    assert own <= levels.min() + 1e-9
    assert levels.min() < np.median(levels) - 1e-3
    if name == "rawlsian":
        assert (rule.direction_ <= 0.0).all()
    elif capacity is None:
        ff = FairFrontier(learner=LOGIT, n_folds=3, n_rep=1, random_state=0).fit(X, y, sensitive_features=g)
        np.testing.assert_allclose(rule.direction_, ff.points_.loc["fairest"].iloc[2:].astype(float))


# --- capacity and bounds ---------------------------------------------------------------------------------


@pytest.mark.parametrize("capacity", [0.01, 0.03, 0.1, 0.5])
@pytest.mark.parametrize("discrete", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_capacity_is_met(capacity, discrete, weighted):
    X, y, _ = data = people(257, 3, discrete)
    w = np.random.default_rng(1).exponential(size=len(y)) if weighted else np.ones(len(y))
    loss = cost_loss(1.0, 4.0)  # so that most people are wanted
    rule = fitted("population", data, {"sample_weight": w if weighted else None}, capacity=capacity, loss=loss)
    k, chance = rule.decision_function(X), rule.predict_proba(X)[:, 1]
    assert w @ (k > 0) / w.sum() > 0.5
    assert w @ chance / w.sum() == pytest.approx(capacity, abs=1e-9)
    # all above the cut-off, none below, and one chance at it
    between = (chance > 0) & (chance < 1)
    assert np.ptp(chance[between]) == 0.0
    assert k[chance == 1].min(initial=np.inf) > k[between].max() >= k[between].min() > k[chance == 0].max()
    if not discrete:
        assert between.sum() <= 1
        assert abs(w @ rule.predict(X) / w.sum() - capacity) <= w.max() / w.sum()
    else:
        assert between.sum() > 5
    larger = fitted("population", data, {"sample_weight": w if weighted else None}, capacity=0.52, loss=loss)
    assert (larger.predict_proba(X)[:, 1] >= chance).all()


def test_ties_up_to_rounding():
    """Equal people whose k differ in the last digits are treated with one chance, also in another sitting."""
    rng = np.random.default_rng(0)
    k = np.repeat([0.9, 0.3, 0.2, -0.1], 25)
    noisy = k * (1.0 + 1e-15 * rng.integers(-4, 5, size=100))
    cutoff = find_cutoff(noisy, np.ones(100), 0.4)
    for again in (noisy, k, k * (1.0 - 5e-14)):
        np.testing.assert_allclose(cutoff.chances(again), np.repeat([1.0, 0.6, 0.0, 0.0], 25))


def test_a_capacity_that_does_not_bind():
    X = people()[0]
    np.testing.assert_array_equal(fitted(capacity=1.0).predict_proba(X), fitted().predict_proba(X))
    assert fitted(capacity=1.0).cutoff_.value == 0.0


def test_recalibration():
    X_new, _, _ = people(411, seed=8)
    rule = fitted(capacity=0.07)
    k = rule.decision_function(X_new)
    before = rule.predict_proba(X_new)[:, 1]
    assert abs(before.mean() - 0.07) > 1e-6
    assert rule.recalibrate(X_new) is rule
    chance = rule.predict_proba(X_new)[:, 1]
    np.testing.assert_array_equal(rule.decision_function(X_new), k)
    assert chance.mean() == pytest.approx(0.07, abs=1e-9)
    assert (np.diff(chance[np.argsort(k, kind="stable")]) >= 0).all()
    w = np.random.default_rng(0).exponential(size=len(k)) * (np.arange(len(k)) % 3 > 0)
    assert w @ rule.recalibrate(X_new, w).predict_proba(X_new)[:, 1] / w.sum() == pytest.approx(0.07, abs=1e-9)
    for bad in (-w, w[:-1], np.zeros(len(k)), np.full(len(k), np.nan), np.full(len(k), "a"), np.full(len(k), np.inf)):
        assert code_of(lambda bad=bad: rule.recalibrate(X_new, bad)) == "bad-weights"
    free = fitted()
    expected = free.predict_proba(X_new)
    np.testing.assert_array_equal(free.recalibrate(X_new).predict_proba(X_new), expected)


@pytest.mark.parametrize("capacity", [None, 0.2, 0.45])
@pytest.mark.parametrize(
    ("lower", "upper"),
    [(0.1, None), (None, 0.6), (0.05, lambda X: np.where(X[:, 0] > 0, 0.9, 0.4)), (lambda X: expit(X[:, 1]) / 4, 0.7)],
)
def test_bounds(lower, upper, capacity):
    X, _, _ = people()
    rule = fitted(lower=lower, upper=upper, capacity=capacity, loss=cost_loss(1.0, 2.0))
    for rows in (X, people(seed=4)[0]):
        low = np.zeros(len(rows)) + (0.0 if lower is None else lower(rows) if callable(lower) else lower)
        high = np.zeros(len(rows)) + (1.0 if upper is None else upper(rows) if callable(upper) else upper)
        k, chance = rule.decision_function(rows), rule.predict_proba(rows)[:, 1]
        cut = 0.0 if capacity is None else rule.cutoff_.value
        off = np.abs(k - cut) > 1e-9
        np.testing.assert_allclose(chance[off], np.where(k > cut, high, low)[off])
        assert ((chance >= low - 1e-15) & (chance <= high + 1e-15)).all()
        np.testing.assert_array_equal(rule.predict(rows), chance > 0.5)
        if capacity is not None and rows is X:
            wanted = np.where(k > 0, high, low).mean()
            assert chance.mean() == pytest.approx(min(capacity, wanted), abs=1e-9)


def test_decisions_by_lot():
    data = X, _, _ = people(400, 3, discrete=True)
    rule = fitted(data=data, capacity=0.2, lower=0.02)
    chance = rule.predict_proba(X)[:, 1]
    assert ((chance > 0.02 + 1e-9) & (chance < 1.0)).sum() > 10
    np.testing.assert_allclose(rule.predict_proba(X).sum(axis=1), 1.0)
    np.testing.assert_array_equal(rule.predict(X), (chance > 0.5).astype(int))
    np.testing.assert_array_equal(rule.draw(X, 4), rule.draw(X, 4))
    draws = np.array([rule.draw(X, seed) for seed in range(300)])
    assert (draws[0] != draws[1]).any()
    spread = np.sqrt(chance * (1 - chance))
    assert (np.abs(draws.mean(axis=0) - chance) <= 5 * spread / np.sqrt(300) + 1e-12).all()
    assert (np.abs(draws.mean(axis=1) - 0.2) <= 5 * np.sqrt((spread**2).sum()) / len(X)).all()


# --- the group is not needed to decide -------------------------------------------------------------------

CAPPED = fitted("egalitarian", capacity=0.152)  # one person is decided upon by lot
AT_CUTOFF = np.abs(CAPPED.decision_function(people()[0]) - CAPPED.cutoff_.value).argmin()


@settings(max_examples=50)
@given(st.integers(0, 2**32 - 1), st.integers(1, 6), st.integers(1, 40))
def test_equal_rows_get_equal_decisions(seed, n_distinct, n):
    rng = np.random.default_rng(seed)
    pool = np.vstack([people()[0][[AT_CUTOFF]], rng.normal(size=(n_distinct, 3))])
    which = rng.integers(len(pool), size=n)
    alone = np.array([CAPPED.predict_proba(pool[[i]])[0, 1] for i in range(len(pool))])
    assert 0.0 < alone[0] < 1.0
    np.testing.assert_array_equal(CAPPED.predict_proba(pool[which])[:, 1], alone[which])


def test_the_rule_keeps_no_rows():
    sizes = []
    for n in (500, 2000):
        X, y, g = people(n)
        rule = fitted("rawlsian", (X, y, g), capacity=0.1)
        stored = pickle.dumps(rule)
        sizes.append(len(stored))
        for column in (g == "women", g == "men", g.astype(object), y, X[:, 0]):
            assert np.ascontiguousarray(column[:100]).tobytes() not in stored
    assert sizes[1] < 100_000
    assert abs(sizes[1] - sizes[0]) < 100
    with pytest.raises(TypeError):
        rule.predict(X, sensitive_features=g)
