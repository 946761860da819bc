"""Copied rows: what tells them from different people, against pairs of rows; which files are left alone."""

import warnings

import numpy as np
import pandas as pd
import pytest
from support.copied import HOW, copied_rows, discrete_rows, normal_rows, plain_explained_share
from support.quick import QUICK
from support.shared import shared_path

from fairfrontier import FairFrontier
from fairfrontier.data.copies import explained_shares, find_copies, hashed_columns
from fairfrontier.errors import CopiedRowsWarning, InputError


@pytest.mark.parametrize("how", ["none", "2 copies", "group to parity"])
@pytest.mark.parametrize("steps", [(1.0, 1.0, 0.5), (0.01, 2.0), (2.0,)])
def test_explained_share_is_that_of_pairs_of_rows(steps, how):
    rng = np.random.default_rng(len(how) + len(steps))
    rows = discrete_rows(60, rng, steps)
    X, group, y = rows if how == "none" else copied_rows(rows, how, rng)
    *columns, outcome = hashed_columns(X, group, y)
    rest = sum(columns[1:], columns[0].copy())
    for j, column in enumerate(columns):
        found = explained_shares(rest - column, column, outcome, group)
        expected = [plain_explained_share(X, group, y, j, group == g) for g in (0, 1)]
        np.testing.assert_allclose(found, expected, rtol=1e-10)


@pytest.mark.parametrize("how", HOW)
def test_copies_of_continuous_rows_are_found_and_kept_together(how):
    rng = np.random.default_rng(3)
    X, group, y = copied_rows(normal_rows(300, rng, share=0.3, success=0.3), how, rng)
    found = find_copies(X, y, group)
    assert found is not None
    assert found.n_clusters == 300
    assert found.rows == len(y) - 300
    frame = X.assign(cluster=found.clusters)
    assert (frame.groupby(list(X.columns))["cluster"].nunique() == 1).all()


@pytest.mark.parametrize("how", HOW[:3])
def test_copies_of_discrete_rows_are_the_rows_before_copying(how):
    rng = np.random.default_rng(4)
    rows = discrete_rows(400, rng)
    X, group, y = copied_rows(rows, how, rng)
    found = find_copies(X, y, group)
    assert found is not None
    assert found.n_clusters == 400
    own = X.assign(g=group, y=y).groupby(found.clusters)
    assert (own.size() == len(y) // 400).all()
    assert (own.nunique() == 1).all(axis=None)  # a cluster is one row, repeated


def test_one_group_repeated_exactly_is_found():
    rng = np.random.default_rng(6)
    X, group, y = discrete_rows(400, rng)
    at = np.repeat(np.arange(400), np.where(group == 1, 3, 1))
    found = find_copies(X.iloc[at].reset_index(drop=True), y[at], group[at])
    assert found is not None
    assert found.rows == 2 * group.sum()
    assert found.n_clusters == 400
    assert "with their group and outcome occurs 3 times" in found.reason


def test_twins_with_other_outcomes_are_kept_with_the_copies():
    rng = np.random.default_rng(7)
    X, group, y = discrete_rows(600, rng, (0.1, 0.1), effect=0.03)
    at = np.r_[np.arange(600), rng.choice(np.flatnonzero(group == 1), 300)]
    X, group, y = X.iloc[at], group[at], y[at]
    first = np.flatnonzero(group == 1)[:5]
    X = pd.concat([X, X.iloc[first]], ignore_index=True)
    group, y = np.r_[group, group[first]], np.r_[y, 1.0 - y[first]]
    found = find_copies(X, y, group)
    assert found is not None
    cells = [found.clusters[group == g] for g in (0, 1)]
    repeated = [g for g in (0, 1) if len(np.unique(cells[g])) < len(cells[g])]
    assert repeated
    for g in repeated:  # whole cells of covariates, whatever the outcome
        own = X[group == g].assign(cluster=cells[g])
        assert (own.groupby(list(X.columns))["cluster"].nunique() == 1).all()


def test_different_people_in_discrete_tables_are_left_alone():
    flagged, repeats = 0, []
    for k in range(60):
        rng = np.random.default_rng([k, 2])
        steps = rng.choice([2.0, 1.0, 0.5, 0.2], size=rng.integers(2, 6))
        X, group, y = discrete_rows(int(rng.integers(150, 1500)), rng, steps, effect=rng.choice([0.0, 0.5, 1.0]))
        repeats.append(X.assign(g=group).duplicated(keep=False).mean())
        flagged += find_copies(X, y, group) is not None
    assert flagged == 0
    assert 0.2 < np.median(repeats) < 0.999  # they do repeat


COMPAS = ["sex", "age", "juv_fel_count", "juv_misd_count", "juv_other_count", "priors_count", "c_charge_degree"]


@pytest.mark.parametrize(
    ("file", "covariates", "group", "outcome"),
    [
        ("compas_two_years.csv", COMPAS, "race", "two_year_recid"),
        ("compas_two_years.csv", COMPAS[:2], "race", "two_year_recid"),
        ("open_university.csv", None, "gender", "final_result"),
        ("open_university.csv", ["imd_band", "age_band", "highest_education"], "gender", "final_result"),
        ("law_school.csv", ["lsat", "ugpa", "fam_inc"], "race", "pass_bar"),
        ("german_credit.csv", ["checking-account", "housing", "savings-account"], "sex", "class-label"),
        ("student_performance.csv", ["school", "age", "address", "failures", "higher"], "sex", "class"),
        ("obermeyer_holdout.csv", ["risk_score_t_percentile", "cost_t"], "dem_race_black", "program_enrolled_t"),
    ],
)
def test_people_in_public_files_are_left_alone_and_copies_of_them_found(file, covariates, group, outcome):
    table = pd.read_csv(shared_path("data", file))
    X = table[covariates] if covariates else table.drop(columns=[group, outcome, "id_student"])
    codes, y = pd.factorize(table[group])[0], pd.factorize(table[outcome])[0].astype(float)
    assert X.assign(g=codes).duplicated(keep=False).mean() > 0.3
    assert find_copies(X, y, codes) is None
    at = np.repeat(np.arange(len(y)), 2)
    assert find_copies(X.iloc[at].reset_index(drop=True), y[at], codes[at]).n_clusters == len(y)


def fitted(rows, **options):
    X, group, y = rows
    return FairFrontier(**QUICK, n_boot=99, n_folds=3, random_state=1, **options).fit(X, y, sensitive_features=group)


@pytest.mark.filterwarnings("ignore::fairfrontier.errors.WeakLearnerWarning")
@pytest.mark.filterwarnings("ignore::fairfrontier.errors.MarginWarning")
def test_a_fit_warns_keeps_copies_together_and_says_so():
    rng = np.random.default_rng(5)
    X, group, y = copied_rows(normal_rows(150, rng), "2 copies", rng)
    with pytest.warns(CopiedRowsWarning, match="150 of 300 rows are taken for copies.*every row occurs 2 times"):
        ff = fitted((X, group, y))
    assert len(np.unique(ff.sample_.clusters)) == 150
    frame = X.assign(fold=ff.nuisance_.folds[0])
    assert (frame.groupby(list(X.columns))["fold"].nunique() == 1).all()
    assert "Copies      150 rows repeat others; kept together in 150 clusters" in ff.summary()
    with warnings.catch_warnings():
        warnings.simplefilter("error", CopiedRowsWarning)
        apart, together = fitted((X, group, y), copies="ignore"), fitted((X, group, y), copies="keep-together")
        FairFrontier(**QUICK, n_folds=3).fit(X, y, sensitive_features=group, clusters=np.arange(len(y)) // 2)
    assert apart.sample_.clusters is None
    assert len(np.unique(together.sample_.clusters)) == 150


def test_different_people_are_fitted_to_the_same_bits():
    rows = discrete_rows(400, np.random.default_rng(9))
    assert rows[0].assign(g=rows[1]).duplicated(keep=False).mean() > 0.5
    auto, ignore = fitted(rows), fitted(rows, copies="ignore")
    assert auto.sample_.clusters is None
    assert (auto.nuisance_.predictions == ignore.nuisance_.predictions).all()
    decisions = (rows[0][0] > 0).to_numpy(int)
    assert auto.test_lda(decisions).p_value == ignore.test_lda(decisions).p_value


def test_values_of_all_kinds_are_compared():
    rng = np.random.default_rng(8)
    n = 120
    X = pd.DataFrame(
        {
            "number": rng.normal(size=n),
            "gap": np.where(rng.random(n) < 0.3, np.nan, rng.normal(size=n)),
            "text": rng.choice(["a", "b", None], n),
            "date": pd.to_datetime(rng.integers(10**9, size=n), unit="s"),
            "mixed": [(k, "x") if k % 2 else k for k in range(n)],
        }
    )
    X["category"] = X["text"].astype("category")
    group, y = rng.integers(2, size=n), rng.integers(2, size=n).astype(float)
    assert find_copies(X, y, group) is None
    twice = pd.concat([X, X], ignore_index=True)
    found = find_copies(twice, np.tile(y, 2), np.tile(group, 2))
    assert found is not None
    assert (found.clusters[:n] == found.clusters[n:]).all()
    numbers = np.tile(rng.normal(size=(n, 3)), (2, 1))
    assert find_copies(numbers, np.tile(y, 2), np.tile(group, 2)).n_clusters == n


def test_outcomes_with_many_values_tell_copies_too():
    rng = np.random.default_rng(10)
    X, group, _ = discrete_rows(500, rng)
    y = rng.normal(size=500)
    assert find_copies(X, y, group) is None
    at = rng.permutation(np.r_[np.arange(500), rng.choice(np.flatnonzero(group == 1), 400)])
    assert find_copies(X.iloc[at].reset_index(drop=True), y[at], group[at]) is not None


def test_unknown_ways_with_copies_are_refused():
    with pytest.raises(InputError, match=r"`copies` must be one of .*'keep-together'"):
        fitted(discrete_rows(100, np.random.default_rng(0)), copies="drop")
