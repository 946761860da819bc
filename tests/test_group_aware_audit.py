"""Decisions that depend on the group: noticed, compared with their own kind, and said so, in Python and in audits."""

import numpy as np
import pandas as pd
import pytest
from fairlearn.postprocessing import ThresholdOptimizer
from scipy import stats
from scipy.special import expit
from sklearn.linear_model import LogisticRegression
from support.quick import FEW
from support.shared import shared_path

from fairfrontier import FairFrontier
from fairfrontier.audit.plan import make_plan
from fairfrontier.audit.request import AuditRequest
from fairfrontier.audit.run import fit_variant, run_audit, variants
from fairfrontier.audit.table import TableFile
from fairfrontier.data.behaviour import apart, group_specific
from fairfrontier.datasets import make_liu_molinari
from fairfrontier.errors import InputError

LABELS = ("a", "b")


def people(n=400, seed=0):
    rng = np.random.default_rng(seed)
    score = rng.normal(size=n).round(2)
    return pd.DataFrame({"score": score, "other": rng.normal(size=n)}), rng.integers(0, 2, n), rng


def test_thresholds_by_group_are_noticed():
    X, group, _ = people()
    by_group = (X["score"] > np.where(group == 0, 0.0, 0.5)).to_numpy(dtype=float)
    words = group_specific(by_group, X, group, LABELS)
    assert "'score'" in words
    assert "in group a" in words
    below = (X["score"] < np.where(group == 0, 0.0, 0.5)).to_numpy(dtype=float)
    assert "below" in group_specific(below, X, group, LABELS)


def test_common_thresholds_and_other_rules_are_not():
    X, group, rng = people()
    common = (X["score"] > 0.2).to_numpy(dtype=float)
    assert group_specific(common, X, group, LABELS) is None
    assert group_specific(rng.integers(0, 2, len(X)).astype(float), X, group, LABELS) is None
    assert group_specific(np.full(len(X), 0.3), X, group, LABELS) is None
    both = (X["score"] + X["other"] > 0.0).to_numpy(dtype=float)
    assert group_specific(both, X, group, LABELS) is None


def test_the_same_covariates_with_another_decision_by_group_are_noticed():
    rng = np.random.default_rng(1)
    X = pd.DataFrame({"city": rng.choice(["x", "y", "z"], 300), "job": rng.choice(["u", "v"], 300)})
    group = rng.integers(0, 2, 300)
    seen = ((X["city"] == "x") & (group == 0) | (X["job"] == "u")).to_numpy(dtype=float)
    words = group_specific(seen, X, group, LABELS)
    cells = X["city"] + X["job"]
    differ = sum(
        seen[i] != seen[j] for i in range(300) for j in range(i) if cells[i] == cells[j] and group[i] != group[j]
    )
    assert f"in {differ:,} of" in words
    blind = (X["city"] == "x").to_numpy(dtype=float)
    assert group_specific(blind, X, group, LABELS) is None
    noisy = np.where(rng.random(300) < 0.1, 1.0 - seen, seen)  # people alike differ within a group, too
    assert group_specific(noisy, X, group, LABELS) is None


def test_a_threshold_that_serves_all_groups_explains_decisions_without_the_group():
    X, group, _ = people()
    score = X["score"] + 0.8 * group
    rank = score.groupby(group).rank(pct=True)  # monotone in the score within groups, and not between them
    common = (score > 0.4).to_numpy(dtype=float)
    for columns in ({"score": score, "rank": rank}, {"rank": rank, "score": score}):
        assert group_specific(common, pd.DataFrame(columns), group, LABELS) is None
    assert "'rank'" in group_specific(common, pd.DataFrame({"rank": rank}), group, LABELS)


def test_lotteries_near_thresholds_by_group_are_noticed():
    X, group, rng = people(1500)
    low = np.where(group == 0, 0.0, 0.6)
    between = (X["score"] > low) & (X["score"] < low + 0.3)
    decisions = np.where(between, rng.random(1500) < 0.5, X["score"] > low).astype(float)
    words = group_specific(decisions, X, group, LABELS)
    assert "near the threshold group a is selected more often" in words
    assert "about the same 'score'" in words
    # the same lottery for both groups, and a column that goes with the group and decides in its place
    alike = np.where((X["score"] > 0.2) & (X["score"] < 0.5), rng.random(1500) < 0.5, X["score"] > 0.2).astype(float)
    assert group_specific(alike, X, group, LABELS) is None
    proxy = X.assign(other=X["other"] - 2.0 * group)
    explained = (proxy["score"] + 0.3 * proxy["other"] > 0.0).to_numpy(dtype=float)
    assert group_specific(explained, proxy, group, LABELS) is None
    assert group_specific(explained, proxy[["score"]], group, LABELS) is not None


def test_neighbours_are_compared_as_mantel_and_haenszel_do():
    rng = np.random.default_rng(3)
    selected, own, stratum = rng.random(60) < 0.4, rng.random(60) < 0.5, np.arange(60) // 20
    excess, variance = 0.0, 0.0
    for k in range(3):
        s, m = selected[stratum == k], own[stratum == k]
        law = stats.hypergeom(20, s.sum(), m.sum())
        excess, variance = excess + (s & m).sum() - law.mean(), variance + law.var()
    assert apart(selected, own, stratum) == pytest.approx(excess / np.sqrt(variance))


def test_the_threshold_optimizer_is_noticed_where_its_thresholds_differ():
    rng, n = np.random.default_rng(0), 1600
    group = rng.integers(0, 2, n)
    X = pd.DataFrame({"a": rng.normal(size=n) + 0.6 * group, "b": rng.normal(size=n)})
    y = (rng.random(n) < expit(1.5 * X["a"] + X["b"] - 0.5)).to_numpy(dtype=int)
    decisions, half = optimised(X, y, group), np.arange(n) < n // 2
    score = LogisticRegression().fit(X[half], y[half]).predict_proba(X)[:, 1]
    table = X.assign(score=score, sex=np.array(["f", "m"])[group], decision=decisions)[~half].reset_index(drop=True)
    table["class-label"] = y[~half]
    plan = planned(table, decision="decision")
    assert plan.rules == "group-aware"
    assert "near the threshold" in " ".join(plan.lines())
    assert planned(table, decision="decision", exclude=("score",)).rules == "group-blind"  # without its score it is not


def generated():
    X, y, group = make_liu_molinari(1600, design="skewed", random_state=2)
    X = X[["x1", "x2", "x3"]]
    return X, np.asarray(y), np.asarray(group)


def optimised(X, y, group):
    """Decisions of fairlearn's ThresholdOptimizer, which sees the group, learned from the first half of the rows."""
    half = np.arange(len(y)) < len(y) // 2
    model = ThresholdOptimizer(
        estimator=LogisticRegression(), constraints="demographic_parity", predict_method="predict_proba"
    )
    model.fit(X[half], y[half], sensitive_features=group[half])
    return np.asarray(model.predict(X, sensitive_features=group, random_state=0)).astype(int)


def test_the_threshold_optimizer_is_judged_beside_rules_that_see_the_group():
    X, y, group = generated()
    decisions = optimised(X, y, group)
    other = slice(len(y) // 2, None)  # rows from which the algorithm has not learned
    X, y, group, decisions = X[other], y[other], group[other], decisions[other]
    ff = FairFrontier(
        learner="factored-logit", learner_params=FEW, n_rep=1, rules="group-aware", n_boot=99, random_state=0
    ).fit(X, y, sensitive_features=group)
    test = ff.test_lda(decisions)
    assert test.verdict in ("lda-shown", "no-evidence")
    assert "The algorithm is compared with rules that may see the group." in test.sentences()


def german():
    table = pd.read_csv(shared_path("data", "german_credit.csv"))
    used = ["checking-account", "duration", "credit-amount", "savings-account", "employment-since", "age"]
    X = pd.get_dummies(table[used], dtype=float)
    y, group = table["class-label"].to_numpy(), table["sex"].to_numpy()
    half = np.arange(len(y)) < len(y) // 2
    model = LogisticRegression(max_iter=5000).fit(X[half] / X.max(), y[half])
    score = model.predict_proba(X / X.max())[:, 1].round(4)
    table = table[[*used, "sex", "class-label"]].assign(
        score=score,
        thresholds=(score > np.where(group == "male", 0.7, 0.6)).astype(int),
        common=(score > 0.65).astype(int),
        optimised=optimised(X / X.max(), y, group),
    )
    return table.iloc[len(table) // 2 :].reset_index(drop=True)  # rows from which the algorithms have not learned


def planned(table, **options):
    request = AuditRequest(data="table.csv", outcome="class-label", group="sex", draws=99, folds=2, **options)
    return make_plan(TableFile(table, "table.csv", "0" * 64), request)


@pytest.mark.filterwarnings("ignore::fairfrontier.errors.FairFrontierWarning")
def test_an_audit_of_thresholds_by_group_says_what_it_compares(monkeypatch):
    table = german()
    plan = planned(table, decision="thresholds", learner="factored-logit", exclude=("common", "optimised"))
    assert plan.rules == "group-aware"
    lines = [line for line in plan.lines() if line.startswith("Rules")]
    assert "depend on the group" in lines[0]
    assert "rules that may see the group (--rules auto)" in lines[1]
    monkeypatch.setattr(
        "fairfrontier.audit.run.FairFrontier", lambda **options: FairFrontier(learner_params=FEW, **options)
    )
    monkeypatch.setattr("fairfrontier.audit.run.variants", lambda plan: variants(plan)[:1])
    record = run_audit(plan).record
    assert record.settings.rules == "group-aware"
    assert record.request.rules == "auto"
    assert any("compared with rules that may see the group" in text for text in record.warnings)
    assert record.algorithms[0].verdict in ("lda-shown", "no-evidence")
    assert len(record.ban.points) == 6


def test_what_is_asked_for_decides():
    table = german()
    seen = {"exclude": ("optimised", "common")}
    assert planned(table, decision="thresholds", rules="group-blind", **seen).rules == "group-blind"
    common = planned(table, decision="common", exclude=("optimised", "thresholds"))
    assert common.rules == "group-blind"
    (line,) = [line for line in common.lines() if line.startswith("Rules")]
    assert line.endswith("rules that do not see the group; if yours does, use --rules group-aware")
    other = planned(table, decision="thresholds", fairness="selection-rate", **seen)
    assert other.compared_with()[-1].endswith(
        "rules that do not see the group (--rules auto), because those that do cannot be combined with another "
        "question than risks by group"
    )
    alike = planned(table.assign(common=1), decision="common", **seen)
    assert any("common selects everybody (100%), so that it makes no difference" in line for line in alike.lines())
    assert "--rules group-aware" not in " ".join(planned(table, decision="common", jitter=0.01, **seen).lines())
    asked = planned(table, decision="optimised", rules="group-aware", exclude=("thresholds", "common"))
    assert "(--rules group-aware)" in " ".join(asked.lines())
    assert planned(table, decision="thresholds", jitter=0.01, **seen).rules == "group-blind"
    for options, word in (({"rules": "seeing"}, "--rules"), ({"rules": "group-aware", "jitter": 0.01}, "--jitter")):
        with pytest.raises(InputError, match=word):
            planned(table, decision="thresholds", **options)


@pytest.mark.filterwarnings("ignore::fairfrontier.errors.FairFrontierWarning")
def test_german_credit_with_the_threshold_optimizer_is_judged():
    table = german()
    plan = planned(
        table,
        decision="optimised",
        rules="group-aware",
        learner="factored-logit",
        exclude=("thresholds", "common", "score"),
    )
    variant = variants(plan)[0]
    ff = fit_variant(plan, variant)
    test = ff.test_lda(table["optimised"])
    assert test.rules == "group-aware"
    assert test.verdict in ("lda-shown", "no-evidence")
