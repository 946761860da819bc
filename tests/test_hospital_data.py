"""The generated hospital against its own probabilities and the published margins; the readers of the study's files."""

import hashlib

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from support.loopback import Answer, serving
from support.shared import shared_path

from fairfrontier.datasets import (
    fetch_obermeyer,
    hospital_scores,
    hospital_truth,
    load_obermeyer_holdout,
    make_hospital,
    make_hospital_table,
)
from fairfrontier.datasets import hospital as hospital_module
from fairfrontier.datasets import obermeyer as obermeyer_module
from fairfrontier.datasets.hospital import NEED
from fairfrontier.datasets.obermeyer import FAMILIES, FILE_COLUMNS
from fairfrontier.errors import InputError

READABLE = [
    *("age", "female", "chronic conditions", "hypertension", "diabetes", "obesity", "kidney disease"),
    *("thyroid disease", "emergency cost", "inpatient cost", "outpatient cost", "pharmacy cost"),
]


@pytest.fixture(scope="module")
def patients():
    return make_hospital(60_000, random_state=4)


def test_families_have_the_published_sizes():
    sizes = {"demographic": 8, "comorbidity": 34, "cost": 13, "laboratory": 90, "medication": 4}
    assert {name: len(columns) for name, columns in FAMILIES.items()} == sizes
    columns = [name for family in FAMILIES.values() for name in family]
    assert len(set(columns)) == 149
    assert len(FILE_COLUMNS) == len(set(FILE_COLUMNS)) == 160
    assert "ldl-mean-low_tm1" in columns
    assert "ldl_max-low_tm1" in columns


def test_generated_file_has_the_columns_types_and_margins_of_the_public_one():
    table = make_hospital_table(40_000, random_state=1)
    assert list(table.columns) == list(FILE_COLUMNS)
    black = table["race"] == "black"
    assert set(table["race"]) == {"black", "white"}
    assert black.mean() == pytest.approx(5582 / 48784, abs=0.01)
    whole = [
        name for name in FILE_COLUMNS if name.endswith(("_elixhauser_tm1", "_romano_tm1", "-low_tm1", "-high_tm1"))
    ]
    assert set(np.unique(table[whole])) == {0, 1}
    assert (table.filter(like="dem_age_band").sum(axis=1) == 1).all()
    assert (table["gagne_sum_tm1"] == table.filter(regex="_(elixhauser|romano)_tm1$").sum(axis=1)).all()
    # published margins, in shares of White and Black patients
    for column, white_share, black_share in (
        ("hypertension_elixhauser_tm1", 0.32, 0.46),
        ("uncompdiabetes_elixhauser_tm1", 0.08, 0.25),
        ("obesity_elixhauser_tm1", 0.08, 0.19),
        ("renal_elixhauser_tm1", 0.03, 0.08),
        ("dem_female", 0.63, 0.66),
    ):
        assert table.loc[~black, column].mean() == pytest.approx(white_share, abs=0.03), column
        assert table.loc[black, column].mean() == pytest.approx(black_share, abs=0.07), column
    assert table.loc[~black, "gagne_sum_t"].mean() == pytest.approx(1.26, abs=0.25)
    assert table.loc[black, "gagne_sum_t"].mean() == pytest.approx(2.06, abs=0.35)
    assert table["cost_t"].median() == pytest.approx(2800, rel=0.2)
    assert (table["cost_t"] % 100 == 0).all()
    assert (table["cost_pharmacy_tm1"] % 10 == 0).all()
    assert (
        table[[f"{name}_mean_t" for name in ("bps", "ghba1c", "hct", "cre", "ldl")]]
        .isna()
        .mean()
        .between(0.3, 0.6)
        .all()
    )
    assert table.drop(columns=list(obermeyer_module.BIOMARKERS)).notna().all(axis=None)


def test_laboratory_flags_describe_tests_that_were_made():
    table = make_hospital_table(5000, random_state=2)
    for test in obermeyer_module.LABORATORY_TESTS:
        made = table[f"{test}_tests_tm1"] > 0
        for which in ("min", "mean", "max"):
            flags = table[[obermeyer_module.flag_column(test, which, level) for level in ("low", "high", "normal")]]
            assert (flags.sum(axis=1) == made).all()


def test_readable_patients_match_their_probabilities(patients):
    X, black = patients.X, patients.sensitive_features == "Black"
    assert list(X.columns) == READABLE
    assert set(patients.sensitive_features) == {"Black", "White"}
    assert (patients.y == (patients.outcomes["conditions"] > NEED)).all()
    # redraw the people of the same seed, and compare frequencies with probabilities in tenths of the probabilities
    people = hospital_module._people(60_000, np.random.default_rng(4))
    pd.testing.assert_frame_equal(people.covariates(), X)
    for chance, event in ((people.share_black(), black), (people.need(black), patients.y == 1)):
        tenths = pd.qcut(chance, 10, labels=False, duplicates="drop")
        for tenth in np.unique(tenths):
            kept = tenths == tenth
            spread = np.sqrt((chance[kept] * (1 - chance[kept])).sum())
            assert abs(event[kept].sum() - chance[kept].sum()) < 4.5 * spread + 1e-9


def test_need_is_the_convolution_of_lasting_and_new_conditions():
    people = hospital_module._people(300, np.random.default_rng(0))
    for black in (np.zeros(300, dtype=bool), np.ones(300, dtype=bool)):
        lasts, new = people.later_rates(black)
        plain = [
            sum(stats.binom.pmf(k, count, p) * (1.0 - stats.poisson.cdf(NEED - k, rate)) for k in range(count + 1))
            for count, p, rate in zip(people.count, lasts, new, strict=True)
        ]
        np.testing.assert_allclose(people.need(black), plain, atol=1e-12)


def test_less_is_spent_on_black_patients_of_equal_health(patients):
    X, black = patients.X, patients.sensitive_features == "Black"
    total = X.filter(like=" cost").sum(axis=1)
    for conditions in range(4):
        same = X["chronic conditions"] == conditions
        assert np.log1p(total[same & black]).mean() < np.log1p(total[same & ~black]).mean() - 0.1
        later = patients.outcomes["conditions"]
        assert later[same & black].mean() > later[same & ~black].mean()


def test_population_truth_is_consistent_with_samples(patients):
    truth = hospital_truth()
    black = patients.sensitive_features == "Black"
    for score in patients.scores.columns:
        cut = float(np.percentile(patients.scores[score], 90))
        true = truth.risks(lambda X, score=score, cut=cut: hospital_scores(X)[score].to_numpy() > cut)
        wrong = (patients.scores[score].to_numpy() > cut) != patients.y
        for risk, members in zip(true, (black, ~black), strict=True):
            error = np.sqrt(risk * (1 - risk) / members.sum())
            assert abs(wrong[members].mean() - risk) < 4.5 * error
    # no rule beats the best points; the fairest point has equal risks
    health = truth.risks(lambda X: hospital_scores(X)["health score"].to_numpy() > 3.0)
    assert truth.R[0] <= health[0]
    assert truth.B[1] <= health[1]
    assert truth.F[0] == pytest.approx(truth.F[1], abs=1e-9)
    # the score trained on cost is worse for both groups
    cost = truth.risks(lambda X: hospital_scores(X)["cost score"].to_numpy() > 9.2)
    assert (cost > health).all()


def test_everything_follows_from_the_seed():
    one, two, other = make_hospital(500, 3), make_hospital(500, 3), make_hospital(500, 4)
    pd.testing.assert_frame_equal(one.X, two.X)
    pd.testing.assert_frame_equal(one.scores, two.scores)
    assert (one.y == two.y).all()
    assert not one.X.equals(other.X)
    pd.testing.assert_frame_equal(make_hospital_table(50, 1), make_hospital_table(50, 1))


@pytest.mark.parametrize(
    ("arguments", "code"),
    [({"n": 0}, "empty-data"), ({"n": 2.5}, "empty-data"), ({"n": 10, "columns": "short"}, "bad-option")],
)
def test_bad_arguments_are_refused(arguments, code):
    with pytest.raises(InputError) as error:
        make_hospital(**arguments)
    assert error.value.code == code


def test_builder_reads_the_file_it_is_given(tmp_path):
    table = make_hospital_table(2000, random_state=6)
    path = tmp_path / "data_new.csv"
    table.assign(extra=1)[[*FILE_COLUMNS[::-1], "extra"]].to_csv(
        path, index=False
    )  # order and further columns are free
    data = fetch_obermeyer(path=path)
    pd.testing.assert_frame_equal(data.X, table[[name for family in FAMILIES.values() for name in family]])
    assert not {"race", "cost_t", "gagne_sum_t", "risk_score_t"} & set(data.X.columns)
    cut = np.percentile(table["gagne_sum_t"], 97)
    np.testing.assert_array_equal(data.y, (table["gagne_sum_t"] > cut).astype(int))
    np.testing.assert_array_equal(data.sensitive_features == "Black", table["race"] == "black")
    score = table["risk_score_t"].to_numpy()
    np.testing.assert_array_equal(data.selected("hospital score"), (score > np.percentile(score, 97)).astype(int))
    generated = make_hospital(2000, 6, columns="published")
    pd.testing.assert_frame_equal(generated.X, data.X)
    np.testing.assert_array_equal(generated.y, data.y)


def test_builder_refuses_files_of_another_kind(tmp_path):
    table = make_hospital_table(50, random_state=6)
    path = tmp_path / "data.csv"
    table.drop(columns=["race", "cre_tests_tm1"]).to_csv(path, index=False)
    with pytest.raises(InputError, match="race, cre_tests_tm1"):
        fetch_obermeyer(path=path)
    table.assign(race="green").to_csv(path, index=False)
    with pytest.raises(InputError, match="green"):
        fetch_obermeyer(path=path)
    with pytest.raises(InputError, match="no file"):
        fetch_obermeyer(path=tmp_path / "absent.csv")
    with pytest.raises(InputError, match="no file"):
        load_obermeyer_holdout(tmp_path / "absent.csv")


def test_holdout_risks_are_the_known_ones():
    data = load_obermeyer_holdout(shared_path("data", "obermeyer_holdout.csv"))
    assert len(data.y) == 16_099
    assert list(data.X.columns) == list(data.scores.columns)
    black = data.sensitive_features == "Black"
    known = {
        "hospital score": (0.069, 0.034),
        "predicted cost": (0.063, 0.033),
        "predicted avoidable cost": (0.056, 0.022),
        "predicted conditions": (0.042, 0.015),
    }
    for score, (of_black, of_white) in known.items():
        wrong = data.selected(score) != data.y
        assert round(float(wrong[black].mean()), 3) == of_black
        assert round(float(wrong[~black].mean()), 3) == of_white


def test_public_file_is_fetched_once_and_checked(tmp_path, monkeypatch):
    table = make_hospital_table(200, random_state=6)
    body = table.to_csv(index=False).encode()
    monkeypatch.setattr(obermeyer_module, "SHA256", hashlib.sha256(body).hexdigest())
    with serving(Answer(body, sent=len(body) // 2), Answer(body)) as server:  # the first transfer is cut off
        monkeypatch.setattr(obermeyer_module, "URL", server.url)
        first = fetch_obermeyer(data_home=tmp_path)
        again = fetch_obermeyer(data_home=tmp_path)
    assert len(server.asked) == 2
    pd.testing.assert_frame_equal(first.X, table[[name for family in FAMILIES.values() for name in family]])
    pd.testing.assert_frame_equal(again.X, first.X)


def test_another_file_than_the_public_one_is_refused(tmp_path, monkeypatch):
    with serving(Answer(b"race\nwhite\n")) as server:
        monkeypatch.setattr(obermeyer_module, "URL", server.url)
        with pytest.raises(InputError) as error:
            fetch_obermeyer(data_home=tmp_path)
    assert error.value.code == "no-download"
    assert not list(tmp_path.iterdir())


def test_path_and_cache_are_not_given_together(tmp_path):
    with pytest.raises(InputError, match="not both"):
        fetch_obermeyer(data_home=tmp_path, path=tmp_path / "data_new.csv")
