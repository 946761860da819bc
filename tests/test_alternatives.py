"""What a fitted FairFrontier deploys: single rules, and alternatives to an algorithm, against plain transcriptions."""

import warnings
from contextlib import nullcontext

import numpy as np
import pandas as pd
import pytest
from joblib import parallel_config
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from support.people import GROUPS, fitted, frontier, people, plain_pairs, shares
from support.refusals import code_of

from fairfrontier import FairFrontier
from fairfrontier.data.sample import make_sample
from fairfrontier.errors import CapacityWarning, NotFittedError, NotShownWarning

FINE = np.linspace(np.pi, 1.5 * np.pi, 1441)
ROLES = ("most accurate for women", "most accurate for men", "fairest")


# --- the rules of a fitted FairFrontier ------------------------------------------------------------------


class CountingLogit(LogisticRegression):
    fits = 0

    def fit(self, X, y, sample_weight=None):
        CountingLogit.fits += 1
        return super().fit(X, y, sample_weight)


def test_rules_of_a_frontier():
    ff, X_new = frontier(), people(seed=5)[0]
    options = {"capacity": 0.2, "lower": 0.01, "upper": 0.9}
    for weights in ((2.0, 1.0), "population", "majority", "best-for:men", "utilitarian", None):
        rule = ff.rule(weights, **options)
        alone = fitted(weights, **options)
        np.testing.assert_allclose(rule.decision_function(X_new), alone.decision_function(X_new), atol=1e-9)
        np.testing.assert_allclose(rule.predict_proba(X_new), alone.predict_proba(X_new))
        assert rule.groups_ == GROUPS
        assert rule.n_features_in_ == 3
    for weights in ("rawlsian", "egalitarian"):
        for capacity in (None, 0.2):
            rule, alone = ff.rule(weights, capacity=capacity), fitted(weights, n_folds=3, capacity=capacity)
            np.testing.assert_allclose(rule.direction_, alone.direction_)
    named = frontier((people()[0], np.array(["no", "yes"])[people()[1]], people()[2]), positive="no")
    assert named.rule().classes_.tolist() == ["yes", "no"]
    refitted = clone(ff.rule((2.0, 1.0))).fit(*people()[:2], sensitive_features=people()[2])
    np.testing.assert_allclose(refitted.decision_function(X_new), ff.rule((2.0, 1.0)).decision_function(X_new))


def test_the_learner_is_fitted_once():
    X, y, g = people()
    CountingLogit.fits = 0
    ff = frontier(learner=CountingLogit())
    assert CountingLogit.fits == 6  # three folds, two groups
    first = ff.rule((1, 2))
    for other in (ff.rule("rawlsian"), ff.rule("egalitarian", capacity=0.1), ff.rule(direction=(0, -1))):
        assert other._fitted is first._fitted
    assert CountingLogit.fits == 8
    before = first.decision_function(X)
    ff.fit(X, 1 - y, sensitive_features=g)
    assert CountingLogit.fits == 14
    np.testing.assert_allclose(ff.rule((1, 2)).decision_function(X), -before, atol=1e-3)
    np.testing.assert_array_equal(first.decision_function(X), before)
    assert CountingLogit.fits == 16


def test_rules_need_a_learner():
    X, y, g = people()
    ff = FairFrontier(random_state=0)
    with pytest.raises(NotFittedError):
        ff.rule()
    ff.fit(None, y, sensitive_features=g, external_nuisance=plain_pairs(X, y, g))
    assert code_of(ff.rule) == "bad-learner"
    assert code_of(lambda: frontier().rule((1, 1), direction=(-1, 0))) == "bad-option"
    assert code_of(lambda: frontier().rule(capacity=2.0)) == "bad-capacity"


def test_parallel_jobs_change_nothing():
    data = X, _, _ = people(250)
    forest = RandomForestClassifier(n_estimators=10, max_depth=3)
    for make in (
        lambda n_jobs: frontier(data, learner=forest, n_jobs=n_jobs).rule("egalitarian", capacity=0.2),
        lambda n_jobs: fitted("rawlsian", data, learner=forest, n_jobs=n_jobs),
    ):
        with parallel_config(backend="threading"):  # processes take seconds to start
            one, two = make(1), make(2)
        np.testing.assert_array_equal(one.direction_, two.direction_)
        np.testing.assert_array_equal(one.predict_proba(X), two.predict_proba(X))


# --- alternatives to an algorithm ------------------------------------------------------------------------


def algorithm(X):
    """One that serves women better than men and neither well."""
    rng = np.random.default_rng(0)
    return np.where(rng.random(len(X)) < 0.3, rng.random(len(X)) < 0.5, X[:, 0] > 0).astype(int)


def mean_and_influence(values, g, w):
    """Mean of each group, and what each row adds to it (n, 2)."""
    mean, influence = np.zeros(2), np.zeros((len(g), 2))
    for j, label in enumerate(GROUPS):
        total = sum(w[i] for i in range(len(g)) if g[i] == label)
        mean[j] = sum(w[i] * values[i] for i in range(len(g)) if g[i] == label) / total
        for i in range(len(g)):
            if g[i] == label:
                influence[i, j] = w[i] * (values[i] - mean[j]) / total
    return mean, influence


def error(influence, clusters=None):
    """Standard error of a sum of influences, those of a cluster together."""
    if clusters is not None:
        influence = np.array([influence[clusters == c].sum() for c in np.unique(clusters)])
    return np.sqrt((influence**2).sum())


def plain_line(y, g, w, chance, a, clusters=None, *, reach):
    """One line of the table, from chances of treatment under the rule and the algorithm."""
    own, now = np.where(y == 1, 1 - chance, chance), np.where(y == 1, 1 - a, a)
    risk, influence = mean_and_influence(own, g, w)
    risk_now, influence_now = mean_and_influence(now, g, w)
    line = {f"risk {label}": risk[j] for j, label in enumerate(GROUPS)}
    gains, errors = [], []
    for j, label in enumerate(GROUPS):
        line[f"se {label}"] = error(influence[:, j], clusters)
        gains.append(risk_now[j] - risk[j])
        errors.append(error(influence_now[:, j] - influence[:, j], clusters))
        line[f"selection rate {label}"] = mean_and_influence(chance, g, w)[0][j]
    side, side_now = np.sign(risk[0] - risk[1]), np.sign(risk_now[0] - risk_now[1])
    gains.append(abs(risk_now[0] - risk_now[1]) - abs(risk[0] - risk[1]))
    moved = side_now * (influence_now[:, 0] - influence_now[:, 1]) - side * (influence[:, 0] - influence[:, 1])
    errors.append(error(moved, clusters))
    for name, gain, se in zip((*GROUPS, "in gap"), gains, errors, strict=True):
        line |= {f"gain {name}": gain, f"se gain {name}": se}
    # the bounds, ``reach`` standard errors below each of the six forms
    d, now = risk[0] - risk[1], risk_now[0] - risk_now[1]
    low = {}
    for s in (1, -1):
        for v in (1, -1):
            move = s * (influence_now[:, 0] - influence_now[:, 1]) - v * (influence[:, 0] - influence[:, 1])
            low[s, v] = s * now - v * d - reach * error(move, clusters)
    line |= {f"at least {label}": gains[j] - reach * errors[j] for j, label in enumerate(GROUPS)}
    line["at least in gap"] = max(min(low[s, 1], low[s, -1]) for s in (1, -1))
    line["agreement"] = sum(w * (chance * a + (1 - chance) * (1 - a))) / sum(w)
    line["flagged"] = any(gain < 1.645 * se for gain, se in zip(gains, errors, strict=True))
    return line


def check_table(found, y, g, w, chances, a, clusters=None):
    assert len(found) == len(chances)
    largest = found.test.evidence.witness.largest
    reach = sorted(largest)[int(np.ceil(0.95 * len(largest) - 1e-9)) - 1]
    for (_, line), chance in zip(found.table.iterrows(), chances, strict=True):
        for name, value in plain_line(y, g, w, chance, a, clusters, reach=reach).items():
            assert line[name] == pytest.approx(value, abs=1e-12), name


@pytest.mark.parametrize("extras", [False, True])
def test_the_table_by_hand(extras):
    """With clusters, weights and a lottery in the second case."""
    X, y, g = people(400)
    a, w, fit, clusters = algorithm(X).astype(float), np.ones(400), {}, None
    if extras:
        rng = np.random.default_rng(3)
        w, clusters, a = rng.exponential(size=400), rng.integers(0, 90, size=400), 0.1 + 0.8 * a
        fit = {"sample_weight": w, "clusters": clusters}
    ff = frontier((X, y, g), fit)
    found = ff.alternatives(a, n=8, randomised=extras)
    t, mu = ff.nuisance_.predictions[0], shares(g, w)
    np.testing.assert_allclose(found.table[["direction women", "direction men"]], found.directions)
    check_table(found, y, g, w, [(t @ (q / mu) > 0).astype(float) for q in found.directions], a, clusters)
    np.testing.assert_allclose(found.risk, mean_and_influence(np.where(y == 1, 1 - a, a), g, w)[0])
    np.testing.assert_allclose(found.selection_rates, mean_and_influence(a, g, w)[0])
    np.testing.assert_allclose(found.group_shares, mu)
    assert found.table["flagged"].dtype == bool


@pytest.mark.parametrize("seed", range(6))
def test_every_gain_is_positive(seed):
    """Also where an end of the improving part has exactly the risk of the algorithm."""
    X, y, g = people(400, seed)
    found = frontier((X, y, g)).alternatives(algorithm(X), n=8)
    assert len(found)
    assert found.table[["gain women", "gain men", "gain in gap"]].to_numpy().min() > 1e-12


FF = frontier(people(600), random_state=3)
NOW = algorithm(people(600)[0])
FOUND = FF.alternatives(NOW, n=9)


def turned(X):
    """One with so many errors that the fairest alternative lies between others."""
    wrong = np.random.default_rng(0).random(len(X)) < 0.45
    return (FF.support_function_.selected((-1.0, -1.0)) ^ wrong).astype(int)


def risks_at(ff, y, g, q):
    """Risk pairs of the rules of directions (k, 2), and whom they treat (k, n)."""
    t = ff.nuisance_.predictions[0]
    treated = (t if ff.groups_ == GROUPS else t[:, ::-1]) @ (q / shares(g)).T > 0
    own = [(treated[g == label] != y[g == label, None]).mean(axis=0) for label in GROUPS]
    return np.column_stack(own), treated.T


def improving_run(points, now):
    """First and last of the improving points about that with the largest smallest gain."""
    gap = np.abs(points[:, 0] - points[:, 1])
    smallest = np.minimum((now - points).min(axis=1), abs(now[0] - now[1]) - gap)
    first = last = int(smallest.argmax())
    while first > 0 and smallest[first - 1] > 1e-12:
        first -= 1
    while last < len(points) - 1 and smallest[last + 1] > 1e-12:
        last += 1
    return first, last


@pytest.mark.parametrize("make", [algorithm, turned])
@pytest.mark.parametrize("n", [3, 4, 9, 20])
def test_where_the_rules_lie(n, make):
    """They are spread over the improving run of the fine frontier, ends and the fairest one included."""
    X, y, g = people(600)
    assert FF.configuration_ == "balanced"
    found = FF.alternatives(make(X), n=n)
    q = np.column_stack([np.cos(FINE), np.sin(FINE)])
    points, treated = risks_at(FF, y, g, q)
    first, last = improving_run(points, found.risk)
    gap = np.abs(points[:, 0] - points[:, 1])
    numbers = [int(np.abs(q - direction).sum(axis=1).argmin()) for direction in found.directions]
    np.testing.assert_allclose(found.directions, q[numbers], atol=1e-12)
    assert numbers == sorted(set(numbers))
    assert len(found) == n or len(np.unique(treated[first : last + 1], axis=0)) <= len(found) < n
    np.testing.assert_array_equal(treated[[numbers[0], numbers[-1]]], treated[[first, last]])
    assert gap[numbers].min() == gap[first : last + 1].min()
    assert n < 9 or np.histogram(numbers, bins=3, range=(first, last))[0].min() >= 1
    assert 0 < gap[numbers].argmin() < len(found) - 1 or make is algorithm
    for role, cost in zip(ROLES, (*points[numbers].T, gap[numbers]), strict=True):
        assert cost[[role in text for text in found.table["role"]]] == pytest.approx(cost.min(), abs=1e-12)
        assert sum(role in text for text in found.table["role"]) == 1


@pytest.mark.parametrize("groups", [GROUPS, GROUPS[::-1]])
def test_under_skew_the_rules_reach_equal_risks(groups):
    """Men's outcomes are hard to predict: beyond their best rule women pay for a smaller gap."""
    rng = np.random.default_rng(4)
    X, _, g = people(600)
    steep = np.where(g == "women", 6.0, 0.6)
    y = (rng.random(600) < 1 / (1 + np.exp(-steep * np.where(g == "women", X[:, 0] - 0.2 * X[:, 1], X[:, 0])))).astype(
        int
    )
    ff = frontier((X, y, g), groups=groups)
    assert ff.configuration_ == "women-skewed"
    now = np.where(rng.random(600) < 0.47, 1 - y, y)
    found = ff.alternatives(now, n=5)
    angle = np.linspace(np.pi, 1.75 * np.pi, 1441)  # women first; from their best rule through men's
    q = np.column_stack([np.cos(angle), np.sin(angle)])
    points, _ = risks_at(ff, y, g, q)
    crossed = [i for i in range(1441) if angle[i] >= 1.5 * np.pi and points[i, 0] >= points[i, 1]]
    end = crossed[0] if crossed else 1440
    women_first = found.risk if groups == GROUPS else found.risk[::-1]
    first, last = improving_run(points[: end + 1], women_first)
    listed = found.directions if groups == GROUPS else found.directions[::-1, ::-1]
    numbers = [int(np.abs(q - direction).sum(axis=1).argmin()) for direction in listed]
    np.testing.assert_allclose(listed, q[numbers], atol=1e-12)
    np.testing.assert_array_equal(points[[numbers[0], numbers[-1]]], points[[first, last]])
    assert angle[numbers[-1]] > 1.5 * np.pi
    gap = np.abs(points[:, 0] - points[:, 1])
    assert gap[numbers].min() == gap[first : last + 1].min()


@pytest.mark.parametrize("n", [3, 9, 20])
def test_no_rule_is_listed_twice(n):
    """Some hundred different rules improve, so that as many as asked for can be listed."""
    t, mu = FF.nuisance_.predictions[0], shares(people(600)[2])
    low, high = np.arctan2(*FOUND.directions[[0, -1]].T[::-1]) % (2 * np.pi)
    angle = FINE[(low <= FINE) & (high >= FINE)]
    possible = {(t @ ([np.cos(x), np.sin(x)] / mu) > 0).tobytes() for x in angle}
    assert len(possible) > 20
    listed = [(t @ (q / mu) > 0).tobytes() for q in FF.alternatives(NOW, n=n).directions]
    assert len(set(listed)) == len(listed) == n


def test_the_rules_are_deployable():
    X_new = people(300, seed=6)[0]
    for i in (0, 4, -1):
        rule = FOUND.rule(i)
        expected = fitted(direction=FOUND.directions[i], data=people(600))
        np.testing.assert_allclose(rule.direction_, FOUND.directions[i])
        np.testing.assert_allclose(rule.decision_function(X_new), expected.decision_function(X_new), atol=1e-9)
    assert FOUND.rule(0)._fitted is FOUND.rule(1)._fitted is FF.rule()._fitted
    for number in (9, -10, 100, 1.5, "fairest", None):
        assert code_of(lambda number=number: FOUND.rule(number)) == "bad-option"
    assert clone(FOUND.rule(2)).fit(*people()[:2], sensitive_features=people()[2]).predict(X_new).any()


COSTS = {
    "egalitarian": lambda r, b, line: abs(r - b),
    "rawlsian": lambda r, b, line: max(r, b),
    "utilitarian": lambda r, b, line: r + b,
    "population": lambda r, b, line: shares(people(600)[2]) @ [r, b],
    "majority": lambda r, b, line: (r, b)[int(np.argmax(shares(people(600)[2])))],
    "best-for:women": lambda r, b, line: r,
    "best-for:men": lambda r, b, line: b,
    "largest-smallest-gain": lambda r, b, line: -min(line["gain women"], line["gain men"], line["gain in gap"]),
    "most-similar": lambda r, b, line: -line["agreement"],
}
METRICS = {
    "euclidean": lambda x, y: np.sqrt(((x - y) ** 2).sum()),
    "sqeuclidean": lambda x, y: ((x - y) ** 2).sum(),
    "cityblock": lambda x, y: np.abs(x - y).sum(),
    "chebyshev": lambda x, y: np.abs(x - y).max(),
}


def cheapest(cost, flagged):
    best, number = np.inf, None
    for i, line in FOUND.table.iterrows():
        value = cost(line["risk women"], line["risk men"], line)
        if (flagged or not line["flagged"]) and value < best:
            best, number = value, i
    return number


@pytest.mark.parametrize("flagged", [False, True])
@pytest.mark.parametrize("preference", COSTS)
def test_choosing_by_preference(preference, flagged):
    number = FOUND.choose(preference, flagged=flagged)
    assert number == cheapest(COSTS[preference], flagged)
    np.testing.assert_allclose(FOUND.select(preference, flagged=flagged).direction_, FOUND.directions[number])


@pytest.mark.parametrize("flagged", [False, True])
@pytest.mark.parametrize("metric", [*METRICS, "own"])
@pytest.mark.parametrize("target", [(0.2, 0.2), (0.3, 0.4), (0.22, 0.5), (0.27, 0.39)])
def test_choosing_the_nearest(metric, target, flagged):
    def own(x, y):
        return 3 * abs(x[0] - y[0]) + abs(x[1] - y[1])

    chosen = own if metric == "own" else metric
    distance = own if metric == "own" else METRICS[metric]
    expected = cheapest(lambda r, b, line: distance(np.array([r, b]), np.array(target)), flagged)
    assert FOUND.choose(nearest=target, metric=chosen, flagged=flagged) == expected


def test_flagged_rules_count_only_if_asked_for():
    flagged = FOUND.table["flagged"]
    assert 0 < flagged.sum() < 9
    assert FOUND.choose() == FOUND.choose("egalitarian") != FOUND.choose(flagged=True)
    assert not flagged[FOUND.choose()]
    assert f"{flagged.sum()} of them are flagged" in FOUND.summary()
    everything = FF.alternatives(algorithm(people(600)[0]), n=3)
    assert everything.table["flagged"].iloc[[0, -1]].all()
    for options, code in (
        ({"preference": "kindest"}, "bad-option"),
        ({"preference": "egalitarian", "nearest": (0.1, 0.1)}, "bad-option"),
        ({"nearest": (0.1, 0.1), "metric": "taxi"}, "bad-option"),
        ({"nearest": [(0.1, 0.1), (0.2, 0.2)]}, "bad-risks"),
        ({"nearest": (0.1, np.nan)}, "bad-risks"),
    ):
        assert code_of(lambda options=options: FOUND.select(**options)) == code


def test_the_summary_names_the_three_rules():
    text = FOUND.summary()
    for role in ROLES:
        line = FOUND.table[FOUND.table["role"].str.contains(role)].iloc[0]
        said = next(x for x in text.splitlines() if x.startswith("- ") and role in x)
        assert f"risks {line['risk women']:.4f} (women) and {line['risk men']:.4f} (men)" in said
    assert f"risks are {FOUND.risk[0]:.4f} (women)" in text
    assert "test_lda" in text


def test_nothing_improves():
    _, y, _ = people(600)
    points = FF.support_function_.estimate.support_set(np.column_stack([np.cos(FINE), np.sin(FINE)]))
    best = FINE[points.sum(axis=1).argmin()]
    for decisions in (y, FF.support_function_.selected([np.cos(best), np.sin(best)]).astype(int)):
        for held_out in (False, True) if decisions is y else (False,):
            found = FF.alternatives(decisions, n=5, held_out=held_out)
            assert len(found) == len(found.table) == len(found.directions) == 0
            assert list(found.table.columns) == list(FOUND.table.columns)
            assert "No rule of the estimated frontier" in found.summary()
            for flagged in (False, True):
                assert code_of(lambda found=found, flagged=flagged: found.select(flagged=flagged)) == "bad-option"
            assert code_of(lambda found=found: found.rule(0)) == "bad-option"


@pytest.mark.parametrize("capacity", [0.2, 0.4])
def test_alternatives_within_a_capacity(capacity):
    X, y, g = people(600)
    hopeless = np.random.default_rng(1).random(600) < np.where(g == "women", 0.1, 0.5)  # of one group
    now = np.where(hopeless, 1 - y, y * (np.random.default_rng(2).random(600) < 0.4)).astype(int)
    above = pytest.warns(CapacityWarning, match="selects 28.00%") if capacity < now.mean() else nullcontext()
    with above:
        found = FF.alternatives(now, n=6, capacity=capacity)
    t, mu, n = FF.nuisance_.predictions[0], shares(g), len(y)
    chances = []
    for q in found.directions:
        k, room, chance = t @ (q / mu), capacity * n, np.zeros(n)
        for i in np.argsort(-k):  # the most wanted first, the last one by lot
            if k[i] > 0 and room > 1e-9:
                chance[i] = min(1.0, room)
                room -= chance[i]
        chances.append(chance)
    assert len(found) == 6
    check_table(found, y, g, np.ones(n), chances, now)
    treated = found.table[["selection rate women", "selection rate men"]].to_numpy() @ mu
    np.testing.assert_allclose(treated, [chance.mean() for chance in chances])
    assert (treated <= capacity + 1e-9).all()
    for i in (0, 5):
        rule = found.rule(i)
        assert rule.predict_proba(X)[:, 1].mean() <= capacity + 1e-9
        assert rule.capacity == capacity


def test_held_out_risks_by_hand():
    X, y, g = people(600)
    found = FF.alternatives(NOW, n=5, held_out=True)
    split_seed = np.random.SeedSequence(3).spawn(4)[3].spawn(4)[1]
    first, second = make_sample(X, y, g).split(np.random.default_rng(split_seed))
    t = plain_pairs(X[first], y[first], g[first], X[second])
    mu = shares(g[second])
    chances = [(t @ (q / mu) > 0).astype(float) for q in found.directions]
    assert len(found) == 5
    own = {"y": y[second], "g": g[second], "w": np.ones(len(second)), "a": NOW[second]}
    check_table(found, chances=chances, **own)
    assert "held-out half" in found.summary()
    np.testing.assert_allclose(found.risk, mean_and_influence(y[second] != NOW[second], g[second], own["w"])[0])
    again = FF.alternatives(NOW, n=5, held_out=True)
    pd.testing.assert_frame_equal(found.table, again.table)
    rule = fitted(direction=found.directions[2], data=people(600))  # rules learn from all rows
    np.testing.assert_allclose(found.rule(2).decision_function(X), rule.decision_function(X), atol=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_halves_of_a_sample(seed):
    X, y, g = people(101, seed)
    sample = make_sample(X, y, g)
    first, second = sample.split(np.random.default_rng(seed))
    np.testing.assert_array_equal(np.sort(np.concatenate([first, second])), np.arange(101))
    for label in GROUPS:
        assert abs(int((g[first] == label).sum()) - int((g[second] == label).sum())) <= 1
    other = sample.split(np.random.default_rng(seed + 100))[0]
    assert set(first) != set(other)
    clusters = np.random.default_rng(seed).integers(0, 21, size=101)
    first, second = make_sample(X, y, g, clusters=clusters).split(np.random.default_rng(seed))
    assert not set(clusters[first]) & set(clusters[second])
    assert abs(len(set(clusters[first])) - len(set(clusters[second]))) <= 1
    assert len(first) + len(second) == 101
    half = make_sample(X, y, g, clusters=clusters, sample_weight=np.arange(1.0, 102.0)).take(first)
    np.testing.assert_array_equal(half.X, X[first])
    np.testing.assert_array_equal(half.weight, first + 1.0)
    np.testing.assert_array_equal(half.group == 0, g[first] == "women")
    assert half.clusters.max() == len(set(clusters[first])) - 1
    assert len(set(zip(half.clusters.tolist(), clusters[first].tolist(), strict=True))) == len(set(clusters[first]))


def test_a_half_without_one_of_the_groups():
    """Three clusters of women can all fall into the first half; then there is nothing to evaluate on."""
    X, y, g = people(400)
    clusters = np.where(g == "women", np.arange(400) % 3, 3 + np.arange(400) % 20)
    lacking = []
    for seed in range(12):
        split_seed = np.random.SeedSequence(seed).spawn(4)[3].spawn(4)[1]
        second = make_sample(X, y, g, clusters=clusters).split(np.random.default_rng(split_seed))[1]
        if len(set(g[second])) == 1:
            lacking.append(seed)
    ff = frontier((X, y, g), {"clusters": clusters}, n_folds=2, random_state=lacking[0])
    assert code_of(lambda: ff.alternatives(algorithm(X), n=3, held_out=True)) in ("one-group", "group-too-small")


def test_alternatives_respect_bounds():
    """A FairFrontier fitted within bounds deploys no rule that leaves them."""
    X, y, g = people(400)
    ff = frontier((X, y, g), {"lower": 0.1, "upper": 0.8})
    found = ff.alternatives(
        np.random.default_rng(0).random(400) < np.where(g == "women", 0.5, 0.1) + 0.4 * (1 - y), n=3
    )
    assert len(found) == 3
    chance = found.rule(1).predict_proba(X)[:, 1]
    assert chance.min() >= 0.1 - 1e-12
    assert chance.max() <= 0.8 + 1e-12


def test_what_is_refused():
    for decisions in (np.column_stack([NOW, NOW]), {"old": NOW, "new": NOW}):
        assert code_of(lambda decisions=decisions: FF.alternatives(decisions)) == "bad-decisions"
    for n in (2, 0, -3, 3.0, True, "5", None):
        assert code_of(lambda n=n: FF.alternatives(NOW, n=n)) == "bad-option"
    assert code_of(lambda: FF.alternatives(NOW[:-1])) == "length-mismatch"
    assert code_of(lambda: FF.alternatives(NOW * 0.5)) == "bad-decisions"
    assert code_of(lambda: FF.alternatives(NOW, capacity=0.0)) == "bad-capacity"
    with pytest.raises(NotFittedError):
        FairFrontier().alternatives(NOW)
    scores = NOW * 0.4 + 0.1
    pd.testing.assert_frame_equal(FF.alternatives(scores, n=9, threshold=0.3).table, FOUND.table)
    assert FF.alternatives({"old": NOW}, n=3).name == "old"
    X, y, g = people()
    ff = FairFrontier(random_state=0).fit(None, y, sensitive_features=g, external_nuisance=plain_pairs(X, y, g))
    assert code_of(lambda: ff.alternatives(NOW[:300], held_out=True)) == "bad-learner"
    assert code_of(lambda: ff.alternatives(NOW[:300], n=3).rule(0)) == "bad-learner"


# --- the verdict behind alternatives ----------------------------------------------------------------------


def almost_good(seed=1, wrong=0.06):
    """Decisions of the best rule for both risks together, a few of them changed by a coin: an improvement too small."""
    q = np.array([-1.0, -1.0])
    best = FF.support_function_.selected(q).astype(int)
    return np.where(np.random.default_rng(seed).random(len(best)) < wrong, 1 - best, best)


@pytest.fixture(scope="module")
def not_shown():
    now = almost_good()
    return now, FF.alternatives({"almost good": now}, n=9)


def test_the_verdict_is_that_of_the_test_on_the_same_draws(not_shown):
    for decisions, found in ((NOW, FOUND), not_shown):
        test = FF.test_lda(decisions)
        assert found.verdict == test.verdict
        assert found.p_value == test.robust_p_value_adjusted == test.p_value
        assert np.array_equal(found.test.draws, test.draws)
    assert (FOUND.verdict, not_shown[1].verdict) == ("lda-shown", "no-evidence")
    assert len(not_shown[1]) > 2


def test_nothing_is_fitted_for_the_verdict():
    CountingLogit.fits = 0
    ff = frontier(learner=CountingLogit())
    fits = CountingLogit.fits
    ff.alternatives(algorithm(people()[0]), n=3)
    assert CountingLogit.fits == fits


def test_what_is_not_shown_is_said_first(not_shown):
    _, found = not_shown
    p_value = f"{found.p_value:.3f}"
    said = (
        "These rules are estimated to be better, but an improvement is not shown: the robust test does not reject that "
        f"there is no alternative (no-evidence, p-value {p_value})."
    )
    assert found.claim == found.sentences()[0] == found.summary().splitlines()[1] == said
    assert f"improvement: estimated, not shown (no-evidence, p-value {p_value})" in repr(found)
    assert "Estimated to be better; an improvement is not shown." in found._repr_html_()
    assert said in found._repr_html_()
    assert found.to_dict()["verdict"] == "no-evidence"
    assert found.to_dict()["p_value"] == found.p_value
    shown = f"That an alternative exists is shown by the robust test (p-value {FOUND.p_value:.3f})."
    assert FOUND.sentences()[0] == shown
    assert "improvement: shown to exist (lda-shown, " in repr(FOUND)
    assert "not shown" not in FOUND._repr_html_()


def test_select_warns_once_per_call_of_what_is_not_shown(not_shown):
    _, found = not_shown
    for _ in range(2):
        with pytest.warns(NotShownWarning) as raised:
            rule = found.select(flagged=True)
        assert [str(one.message) for one in raised] == [f"almost good: {found.claim}"]
        assert raised[0].filename == __file__
        np.testing.assert_allclose(rule.direction_, found.directions[found.choose(flagged=True)])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        FOUND.select("rawlsian", flagged=True)
        assert code_of(lambda: found.select("nonsense")) == "bad-option"


def test_not_comparable_is_said_though_there_are_no_rules():
    _, y, _ = people(600)
    found = FF.alternatives(y, n=3)
    assert (len(found), found.verdict) == (0, "not-comparable")
    assert found.claim.startswith("An improvement is not shown: the algorithm's risks lie outside")
    assert found.sentences()[1] == found.claim


def test_a_test_made_before_is_taken_with_its_adjustment():
    tests = FF.test_lda({"now": NOW, "coin": np.arange(600) % 2, "other": 1 - NOW})
    found = FF.alternatives({"now": NOW}, n=9, test=tests["now"])
    assert found.test is tests["now"]
    assert found.p_value == tests["now"].robust_p_value_adjusted
    pd.testing.assert_frame_equal(found.table, FOUND.table)
    for wrong in (tests["coin"], tests, "no-evidence"):
        assert code_of(lambda wrong=wrong: FF.alternatives(NOW, n=9, test=wrong)) == "bad-option"
    assert code_of(lambda: FF.alternatives(NOW, n=9, capacity=0.9, test=tests["now"])) == "bad-option"
    published = FF.test_lda(NOW, method="paper")
    assert FF.alternatives(NOW, n=9, test=published).p_value == published.robust_p_value_adjusted
