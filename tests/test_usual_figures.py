"""The table of usual figures against scipy, and against the formulas of statsmodels where scipy has none."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from scipy.stats.contingency import relative_risk
from support.quick import QUICK
from support.refusals import refused

from fairfrontier import FairFrontier, evaluate
from fairfrontier.data.number_formats import p_value_text
from fairfrontier.errors import FairFrontierWarning
from fairfrontier.inference.p_values import holm
from fairfrontier.inference.usual.figures import Rows, usual_figures
from fairfrontier.report.usual_parts import sequence

EXACT = {"rtol": 1e-12, "atol": 1e-12}
COUNTS = [((12, 40), (30, 55)), ((0, 25), (7, 60)), ((20, 20), (11, 30)), ((500, 2000), (640, 2000)), ((1, 3), (2, 4))]


def people(counts):
    """Decisions and groups with so many selected among so many in each group."""
    a = np.concatenate([np.repeat([1.0, 0.0], [k, n - k]) for k, n in counts])
    group = np.repeat(np.arange(len(counts)), [n for _, n in counts])
    return a, group


def figures(a, group, *, y=None, weight=None, clusters=None, **options):
    w = np.ones(len(a)) if weight is None else weight
    rows = Rows(group, w, weight is not None, clusters, y)
    return usual_figures("it", a, rows, tuple("abcde"[: group.max() + 1]), **options)


def score_interval(k, n, alpha):
    found = stats.binomtest(k, n).proportion_ci(1 - alpha, method="wilson")
    return found.low, found.high


@pytest.mark.parametrize("alpha", [0.05, 0.2])
@pytest.mark.parametrize("counts", COUNTS, ids=str)
def test_counts_against_scipy(counts, alpha):
    found = figures(*people(counts), reference=1, alpha=alpha).table
    (k, n), (k1, n1) = counts
    row = found.loc["a"]
    np.testing.assert_allclose(found["selection rate"], [k / n, k1 / n1], **EXACT)
    for label, own in zip("ab", counts, strict=True):
        limits = found.loc[label, ["selection rate low", "selection rate high"]].to_numpy(dtype=float)
        np.testing.assert_allclose(limits, score_interval(*own, alpha), **EXACT)
    # the hybrid score interval of a difference
    (low, high), (low1, high1) = score_interval(k, n, alpha), score_interval(k1, n1, alpha)
    p, p1 = k / n, k1 / n1
    assert row["difference"] == pytest.approx(p - p1, abs=1e-12)
    assert row["difference low"] == pytest.approx(p - p1 - np.sqrt((p - low) ** 2 + (high1 - p1) ** 2), abs=1e-12)
    assert row["difference high"] == pytest.approx(p - p1 + np.sqrt((high - p) ** 2 + (p1 - low1) ** 2), abs=1e-12)
    ratio = relative_risk(k, n, k1, n1)
    assert row["ratio"] == pytest.approx(ratio.relative_risk, abs=1e-12)
    if k > 0:
        limits = ratio.confidence_interval(1 - alpha)
        np.testing.assert_allclose([row["ratio low"], row["ratio high"]], [limits.low, limits.high], **EXACT)
    else:
        assert np.isnan(row["ratio low"])
    assert row["below four fifths"] == (p / p1 < 0.8)
    table = [[k, n - k], [k1, n1 - k1]]
    # the square of z is Pearson's statistic
    chi2 = stats.chi2_contingency(table, correction=False)
    assert row["z"] ** 2 == pytest.approx(chi2.statistic, rel=1e-12)
    assert np.sign(row["z"]) == np.sign(p - p1)
    assert row["p z"] == pytest.approx(chi2.pvalue, abs=1e-12)
    assert row["p fisher"] == pytest.approx(stats.fisher_exact(table).pvalue, abs=1e-12)
    assert found.loc["b", ["z", "p z", "p fisher", "difference low", "ratio low"]].isna().all()


def test_against_statsmodels():
    proportion = pytest.importorskip("statsmodels.stats.proportion", reason="statsmodels is not installed")
    for (k, n), (k1, n1) in COUNTS:
        row = figures(*people([(k, n), (k1, n1)]), reference=1).table.loc["a"]
        z, p = proportion.proportions_ztest([k, k1], [n, n1])
        np.testing.assert_allclose([row["z"], row["p z"]], [z, p], **EXACT)
        limits = proportion.confint_proportions_2indep(k, n, k1, n1, method="newcomb", compare="diff")
        np.testing.assert_allclose([row["difference low"], row["difference high"]], limits, **EXACT)
        limits = proportion.proportion_confint(k, n, method="wilson")
        np.testing.assert_allclose([row["selection rate low"], row["selection rate high"]], limits, **EXACT)
        if k > 0:
            limits = proportion.confint_proportions_2indep(k, n, k1, n1, method="log", compare="ratio")
            np.testing.assert_allclose([row["ratio low"], row["ratio high"]], limits, **EXACT)
    multitest = pytest.importorskip("statsmodels.stats.multitest", reason="statsmodels is not installed")
    several = [one for pair in COUNTS[:2] for one in pair]
    table = figures(*people(several), reference=1).table.drop("b")
    adjusted = multitest.multipletests(table["p z"], method="holm")[1]
    np.testing.assert_allclose(table["p z adjusted"], adjusted, **EXACT)


def test_pooled_z_by_its_formula():
    (k, n), (k1, n1) = COUNTS[0]
    row = figures(*people(COUNTS[0]), reference=1).table.loc["a"]
    pooled = (k + k1) / (n + n1)
    z = (k / n - k1 / n1) / np.sqrt(pooled * (1 - pooled) * (1 / n + 1 / n1))
    assert row["z"] == pytest.approx(z, rel=1e-13)
    assert row["p z"] == pytest.approx(2 * stats.norm.sf(abs(z)), rel=1e-12)


def test_error_rates_and_scores():
    rng = np.random.default_rng(1)
    n = 300
    group, y = rng.integers(0, 3, n), rng.integers(0, 2, n).astype(float)
    score = rng.normal(size=n) + 0.5 * group
    a = (score > 0.3).astype(float)
    found = figures(a, group, y=y, score=score, reference=2, alpha=0.1).table
    for g, label in enumerate("abc"):
        own = group == g
        for column, outcome, wrong in (("false positive rate", 0, a), ("false negative rate", 1, 1 - a)):
            among = own & (y == outcome)
            k, m = int(wrong[among].sum()), int(among.sum())
            limits = (k / m, *score_interval(k, m, 0.1))
            names = [column, f"{column} low", f"{column} high"]
            np.testing.assert_allclose(found.loc[label, names].to_numpy(dtype=float), limits, **EXACT)
        one, two = score[own], score[group == 2]
        n1, n2 = len(one), len(two)
        pooled = ((n1 - 1) * one.var(ddof=1) + (n2 - 1) * two.var(ddof=1)) / (n1 + n2 - 2)
        d = (one.mean() - two.mean()) / np.sqrt(pooled)
        assert found.loc[label, "standardised difference"] == pytest.approx(d, abs=1e-12)
        if g == 2:
            continue
        half = stats.norm.isf(0.05) * np.sqrt((n1 + n2) / (n1 * n2) + d**2 / (2 * (n1 + n2)))
        assert found.loc[label, "standardised difference high"] == pytest.approx(d + half, abs=1e-12)
        # and the t statistic of equal means is d over the first part of its error
        t = stats.ttest_ind(one, two).statistic
        assert d / np.sqrt(1 / n1 + 1 / n2) == pytest.approx(t, rel=1e-12)


def test_several_groups_are_adjusted_and_the_highest_rate_is_the_reference():
    counts = [(12, 40), (30, 55), (9, 30), (20, 41)]
    found = figures(*people(counts))
    assert (found.reference, found.chosen) == ("b", True)
    table = found.table.drop("b")
    for name in ("p z", "p fisher"):
        np.testing.assert_allclose(table[f"{name} adjusted"], holm(table[name].to_numpy()), **EXACT)
        assert (table[f"{name} adjusted"] >= table[name]).all()
    text = found.summary()
    for words in ("3 groups are compared", "makes differences look larger", "rule of thumb", "more than chance"):
        assert words in text
    assert "false positive" not in text.lower()
    assert figures(*people(counts), reference=0).summary().count("look larger") == 0


def test_weights_clusters_and_lotteries_have_an_effective_size():
    rng = np.random.default_rng(3)
    n = 400
    group, clusters = rng.integers(0, 2, n), np.arange(n) // 4
    weight, a = rng.exponential(size=n) + 0.1, rng.integers(0, 2, n).astype(float)
    chances = np.where(rng.random(n) < 0.3, 0.5, a)
    z = stats.norm.isf(0.025)
    for w, c, d in ((weight, None, a), (None, clusters, a), (None, None, chances), (weight, clusters, chances)):
        row = figures(d, group, weight=w, clusters=c, reference=1).table.loc["a"]
        own = group == 0
        share = np.ones(n) if w is None else w
        share = np.where(own, share, 0.0) / share[own].sum()
        rate = (share * d).sum()
        influence = share * (d - rate)
        by_unit = influence if c is None else np.bincount(c, influence)
        variance = (by_unit**2).sum()
        size = rate * (1 - rate) / variance
        # Wilson's limits solve (rate - p)^2 = z^2 p (1 - p) / size
        for limit in ("low", "high"):
            p = row[f"selection rate {limit}"]
            assert (rate - p) ** 2 == pytest.approx(z**2 * p * (1 - p) / size, rel=1e-9)
        assert np.isnan(row["p fisher"])
        assert 0 <= row["p z"] <= 1
    equal = figures(a, group, weight=np.full(n, 3.0)).table
    counted = figures(a, group).table
    shared = [name for name in counted if "fisher" not in name]
    pd.testing.assert_frame_equal(equal[shared], counted[shared], rtol=1e-10)


def test_the_same_chance_for_everybody_is_no_certainty():
    """Chances that do not vary have no variance to go by: rounding must not be taken for a precise estimate."""
    group = np.repeat([0, 1], [308, 292])
    row = figures(np.where(group == 1, 0.3, 0.2), group).table.loc["a"]
    z = stats.norm.isf(0.025)
    for limit in ("low", "high"):
        p = row[f"selection rate {limit}"]
        assert (0.2 - p) ** 2 == pytest.approx(z**2 * p * (1 - p) / 308, rel=1e-9)
    assert abs(row["z"]) < 4.0


def test_standardised_difference_of_weighted_clusters():
    rng = np.random.default_rng(5)
    group, clusters = np.repeat([0, 1], 60), np.arange(120) // 4
    score = rng.normal(size=120) + rng.normal(size=30)[clusters]
    weight = rng.exponential(size=120) + 0.1
    a = (score > 0).astype(float)
    for w, c in ((None, clusters), (weight, None), (weight, clusters)):
        row = figures(a, group, weight=w, clusters=c, score=score, reference=1).table.loc["a"]
        parts = []
        for g in (0, 1):
            own = np.flatnonzero(group == g)
            share = np.ones(60) if w is None else w[own]
            share = share / share.sum()
            mean = share @ score[own]
            spread = share @ (score[own] - mean) ** 2
            units = np.arange(60) if c is None else c[own] - c[own].min()
            variance = (np.bincount(units, share * (score[own] - mean)) ** 2).sum()  # of the mean
            size = spread / variance
            parts.append((mean, spread * size / (size - 1), size))
        (m1, v1, n1), (m2, v2, n2) = parts
        d = (m1 - m2) / np.sqrt(((n1 - 1) * v1 + (n2 - 1) * v2) / (n1 + n2 - 2))
        half = stats.norm.isf(0.025) * np.sqrt((n1 + n2) / (n1 * n2) + d**2 / (2 * (n1 + n2)))
        found = row[[f"standardised difference{end}" for end in ("", " low", " high")]].astype(float)
        np.testing.assert_allclose(found, [d, d - half, d + half], rtol=1e-9)


def test_the_steps_of_a_dispute_quote_the_right_tests(fitted):
    """The exact test where equal rates lead to expect few people, in either group; both outcomes adjusted together."""
    ff, _, _, y, group = fitted
    first, second = (np.flatnonzero(group == label) for label in ff.groups_)
    few = np.zeros(len(y))
    few[second[:6]] = 1.0  # 6 of the group with the higher rate, 1 of the other: 3.5 each would be expected
    few[first[:1]] = 1.0
    said = sequence(ff, few, ff.usual_figures(few), ff.test_lda(few))
    assert "Fisher's exact test" in said[0]
    many = few.copy()
    many[second[:40]], many[first[:4]] = 1.0, 1.0
    found = ff.usual_figures(many)
    said = sequence(ff, many, found, ff.test_lda(many))
    assert "(z-test" in said[0]
    p = []
    for outcome in (1, 0):
        (k, n), (k1, n1) = (
            (int(many[own][y[own] == outcome].sum()), int((y[own] == outcome).sum())) for own in (first, second)
        )
        p.append(stats.chi2_contingency([[k, n - k], [k1, n1 - k1]], correction=False).pvalue)
    for own in holm(np.array(p)):
        assert f"(p-value {p_value_text(own, found.alpha)})" in said[1]


def test_what_is_not_defined_is_not_a_number():
    nobody = figures(np.zeros(30), np.repeat([0, 1], 15), y=np.zeros(30))
    row = nobody.table.loc["b"]
    assert np.isnan(row[["ratio", "z", "p z", "false negative rate", "false negative rate low"]].astype(float)).all()
    assert not row["below four fifths"]
    assert row["selection rate high"] < 0.25
    assert "Fisher's exact test 1.000" in nobody.summary()
    weighted = figures(np.zeros(30), np.repeat([0, 1], 15), weight=np.full(30, 2.0))
    assert "no test of a difference is defined" in weighted.summary()
    assert figures(np.ones(30), np.repeat([0, 1], 15), score=np.ones(30)).table["standardised difference"].isna().all()


@pytest.fixture(scope="module")
def fitted():
    rng = np.random.default_rng(0)
    n = 500
    X = pd.DataFrame(rng.normal(size=(n, 2)), columns=["u", "v"])
    group = np.where(X["v"] + rng.normal(size=n) > 0, "x", "y")
    y = (rng.random(n) < 1 / (1 + np.exp(-2 * X["u"]))).astype(int)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FairFrontierWarning)
        ff = FairFrontier(**QUICK, random_state=0, n_boot=199).fit(X, y, sensitive_features=group)
        other = FairFrontier(**QUICK, fairness="selection-rate", accuracy="overall", random_state=0, n_boot=199)
        other.fit(X, y, sensitive_features=group)
    return ff, other, X, y, group


def test_figures_of_a_fit_and_of_an_evaluation_agree(fitted):
    ff, _, X, y, group = fitted
    a = (X["u"] + X["v"] > 0).astype(int)
    found = ff.usual_figures(a, score=X["u"], reference="y")
    for label in ff.groups_:
        assert found.table.loc[label, "selection rate"] == pytest.approx(a[group == label].mean())
    again = evaluate(a, X, y, group).usual_figures(reference="y", score=X["u"])
    pd.testing.assert_frame_equal(found.table, again.table)
    several = ff.usual_figures({"one": a, "two": 1 - a})
    assert list(several) == ["one", "two"]
    assert several.heading == "Usual figures"
    refused("unknown-group", "reference names 'z'", lambda: ff.usual_figures(a, reference="z"))
    refused("length-mismatch", "score must have one value", lambda: ff.usual_figures(a, score=[1.0]))


def test_figures_of_alternatives(fitted):
    ff, other, X, _, _ = fitted
    a = (X["v"] > 0).astype(int)
    for fit in (ff, other):
        test = fit.test_lda(a)
        assert test.verdict == "lda-shown"
        table = fit.usual_figures(test.witness).table
        np.testing.assert_allclose(table["selection rate"], test.witness.selection_rate, atol=1e-10)
    foreign = test.witness
    refused("bad-decisions", "found by another fit", lambda: ff.usual_figures(foreign))
    few = ff.test_lda((X["u"] < -0.9).astype(int), capacity=0.2).evidence.witness
    rates = ff.usual_figures(few).table["selection rate"]
    np.testing.assert_allclose(rates, few.selection_rate, atol=1e-10)
    assert rates.max() < 0.4  # not those of the same directions without a capacity
    refused("bad-decisions", "found by another fit", lambda: other.usual_figures(few))
