"""The hospital study: swaps against a plain transcription and the published shares; tables, figures, resuming."""

import io
import json
import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from support.quick import FEW_PENALTIES
from support.shared import shared_path
from typer.testing import CliRunner

from fairfrontier.cli import app
from fairfrontier.datasets import load_obermeyer_holdout, make_hospital, make_hospital_table
from fairfrontier.datasets.obermeyer import HOLDOUT_SCORES, OUTCOMES
from fairfrontier.errors import InputError
from fairfrontier.replication.hospital import command, published, repetitions
from fairfrontier.replication.hospital.command import replicate_hospital
from fairfrontier.replication.hospital.counterfactual import score_percentiles, shares, swap_by_health
from fairfrontier.replication.hospital.repetitions import (
    EGALITARIAN,
    RULES,
    THRESHOLDS,
    Study,
    judge_algorithms,
    learn_rules,
    settings,
)
from fairfrontier.replication.hospital.source import open_source
from fairfrontier.replication.hospital.tables import algorithm_table, compared_with, share_table, spread_table
from fairfrontier.replication.store import read_store


def plain_swaps(score, health, black, percentile, passing_over):
    """The swaps, person by person, with lists."""
    edges = sorted(set(np.quantile(score, [t / 100 for t in range(101)]).tolist()))
    bins = [max(sum(edge < s for edge in edges), 1) for s in score]
    people = range(len(score))
    selected = {i for i in people if bins[i] >= percentile}
    whites = sorted((i for i in selected if not black[i]), key=lambda i: (health[i], i))
    blacks = sorted((i for i in people if i not in selected and black[i]), key=lambda i: (-score[i], -health[i], i))
    after = set(selected)
    for person in blacks:
        if not whites:
            break
        if health[whites[0]] < health[person]:
            after = (after - {whites[0]}) | {person}
            whites = whites[2:] if passing_over else whites[1:]
    return selected, after


@given(
    st.lists(st.tuples(st.integers(0, 12), st.integers(0, 5), st.booleans()), min_size=1, max_size=60),
    st.integers(1, 100),
    st.booleans(),
)
def test_swaps_equal_the_plain_transcription(people, percentile, passing_over):
    score, health, black = (np.array(column) for column in zip(*people, strict=True))
    found = swap_by_health(score, health, black, percentile, passing_over=passing_over)
    before, after = plain_swaps(score.astype(float), health, black, percentile, passing_over)
    assert set(np.flatnonzero(found.selected)) == after
    assert found.swapped == len(after - before)
    if before:
        assert found.before == pytest.approx(np.mean([black[i] for i in before]))
        assert found.after == pytest.approx(np.mean([black[i] for i in after]))
        assert found.after >= found.before
    else:
        assert np.isnan(found.before)


def test_swaps_stop_where_health_is_equal():
    # two selected White patients with 0 and 2 conditions; other Black patients with 1, 2 and 3
    score = np.array([10.0, 9.0, 3.0, 2.0, 1.0])
    health = np.array([0, 2, 1, 2, 3])
    black = np.array([False, False, True, True, True])
    found = swap_by_health(score, health, black, 61)
    assert found.selected.tolist() == [False, False, True, False, True]
    assert (found.before, found.after, found.swapped) == (0.0, 1.0, 2)


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (([1.0, 2.0], [1.0], [True, False], 50), "length-mismatch"),
        (([], [], [], 50), "length-mismatch"),
        (([1.0], [1.0], [True], 0), "bad-option"),
        (([1.0], [1.0], [True], 101), "bad-option"),
    ],
)
def test_swaps_refuse_bad_input(arguments, code):
    with pytest.raises(InputError) as error:
        swap_by_health(*arguments)
    assert error.value.code == code


def test_shares_agree_with_the_published_ones_up_to_sampling_error():
    data = load_obermeyer_holdout(shared_path("data", "obermeyer_holdout.csv"))
    score, black = data.scores["hospital score"].to_numpy(), data.sensitive_features == "Black"
    conditions = data.outcomes["conditions"].to_numpy(dtype=float)
    full = pd.read_csv(shared_path("reference", "obermeyer-figure1b.csv")).set_index("percentile")
    table3 = pd.read_csv(shared_path("reference", "table3-rf.csv")).set_index("capacity_threshold")
    selected = np.array([np.count_nonzero(score_percentiles(score) >= t) for t in THRESHOLDS])
    passing = shares(score, conditions, black, THRESHOLDS, passing_over=True)
    plain = shares(score, conditions, black, THRESHOLDS)
    for ours, theirs in (
        (passing[:, 0], full["before"]),
        (passing[:, 1], full["after"]),
        (plain[: len(table3), 1], table3["counterfactual"]),
    ):
        known = theirs.to_numpy()
        error = np.sqrt(known * (1 - known) / selected[: len(known)])
        assert np.abs((ours - known) / error).max() < 3.0
    # the two rules are far apart, so the comparison can tell them apart
    assert plain[42, 1] - passing[42, 1] > 0.1


def test_published_numbers_are_those_of_the_reference_files():
    names = {"orig": "hospital score", "tc": "predicted cost", "ac": "predicted avoidable cost"}
    names |= {"acc": "predicted conditions"}
    parts = {
        "ts": "statistic",
        "cv": "critical value",
        "rej": "rejected",
        "dist": "distance",
        "CSl": "low",
        "CSu": "high",
    }
    for learner, file in (("forest", "rf"), ("logit-lasso", "lasso")):
        rows = pd.read_csv(shared_path("reference", f"rep-{file}.csv"))
        columns = {f"{part}_{key}": f"{name} {label}" for key, name in names.items() for part, label in parts.items()}
        columns |= {"estF": "F", "test1_rej": "weak skew rejected"}
        assert set(columns.values()) == set(published.SPREADS[learner])
        for column, quantity in columns.items():
            known, values = published.SPREADS[learner][quantity], rows[column]
            digits = 4 if "distance" in quantity or quantity.endswith((" low", " high")) else 3
            for mine, theirs in zip(known, (values.mean(), values.std(), values.min(), values.max()), strict=True):
                assert mine == pytest.approx(theirs, abs=0.6 * 10**-digits), (learner, quantity)
        table = pd.read_csv(shared_path("reference", f"table3-{file}.csv")).set_index("capacity_threshold")
        for threshold, known in published.SHARES[learner].items():
            for name, value in zip(published.SHARE_COLUMNS, known, strict=True):
                assert value == pytest.approx(table.loc[threshold, name.lower()], abs=0.0006), (learner, threshold)


@pytest.fixture(scope="module", autouse=True)
def quick_learner():
    """The published learner, looking at few penalties in few folds."""
    params = repetitions.LEARNERS["logit-lasso"] | FEW_PENALTIES | {"n_tuning_folds": 5}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(repetitions, "LEARNERS", {**repetitions.LEARNERS, "logit-lasso": params})
        yield


@pytest.fixture(scope="module")
def small_file(tmp_path_factory):
    """A file with the hold-out file's columns: 900 generated patients."""
    patients = make_hospital(900, 8, columns="published")
    rng = np.random.default_rng(1)
    conditions = patients.outcomes["conditions"]
    table = patients.outcomes.rename(columns=OUTCOMES).assign(
        dem_race_black=(patients.sensitive_features == "Black").astype(int),
        risk_score_t=patients.scores["hospital score"],
        log_cost_t_hat=np.log1p(patients.outcomes["cost"]) + rng.normal(size=900),
        log_cost_avoidable_t_hat=np.log1p(patients.outcomes["avoidable cost"]) + rng.normal(size=900),
        gagne_sum_t_hat=conditions + rng.normal(size=900),
    )
    path = tmp_path_factory.mktemp("hospital") / "holdout.csv"
    table.to_csv(path, index=False)
    return str(path)


@pytest.fixture(scope="module")
def small_run(small_file, tmp_path_factory):
    """The whole study on the small file, two seeds."""
    folder = tmp_path_factory.mktemp("study")
    console = Console(file=io.StringIO(), width=200)
    tables = replicate_hospital(
        console, data=small_file, learner="logit-lasso", repetitions=2, folder=folder, n_jobs=1, n_boot=99
    )
    return folder, tables


def test_study_writes_tables_and_figures(small_run):
    folder, tables = small_run
    written = {path.name for path in folder.iterdir()}
    figures = {f"figure{number}.{kind}" for number in (6, 7, 8) for kind in ("png", "svg")}
    assert {"hospital.sqlite", "hospital.txt", "algorithms.csv", "shares.csv", "seeds.csv", *figures} <= written
    assert list(tables.algorithms.index[::2]) == list(HOLDOUT_SCORES)
    assert tables.algorithms.loc["hospital score, published", "statistic"] == 2.043
    assert tables.shares is not None
    assert list(tables.shares.index) == list(THRESHOLDS)
    assert tables.shares.loc[55, "Rawlsian, published"] == 0.173
    assert tables.spreads.loc["F", "max"] >= tables.spreads.loc["F", "min"] > 0.0
    text = (folder / "hospital.txt").read_text()
    assert "16,099 patients" in text
    assert "(in the paper: rejected)" in text


def test_tables_hold_the_stored_numbers(small_run, small_file):
    folder, tables = small_run
    store = read_store(folder / "hospital.sqlite")
    rows = {row.task: row for row in store.rows()}
    study = Study(small_file, store.settings)
    assert set(rows) == {"tests/0000", "tests/0001", "rules/0000", "rules/0001"} | {
        f"direction/{cut:04d}" for cut in set(study.cuts().values())
    }
    assert all(row.error is None for row in rows.values())
    tests = [rows[f"tests/000{number}"].result for number in (0, 1)]
    for name in HOLDOUT_SCORES:
        assert tables.algorithms.loc[name, "statistic"] == tests[0][name]["statistic"]
        values = [one[name]["statistic"] for one in tests]
        assert tables.spreads.loc[f"{name} statistic", "mean"] == pytest.approx(np.mean(values))
        assert tables.spreads.loc[f"{name} statistic", "sd"] == pytest.approx(np.std(values, ddof=1))
    rules = [rows[f"rules/000{number}"].result for number in (0, 1)]
    for rule in (*RULES, EGALITARIAN):
        shown = [one["shares"][rule]["80"] for one in rules]
        assert tables.shares.loc[80, rule] == pytest.approx(np.mean(shown))
    # the second seed's tests are not the first's
    assert tests[0]["hospital score"]["critical value"] != tests[1]["hospital score"]["critical value"]


def test_rules_are_those_of_the_definition(small_file):
    """Shares computed again from the learner's predictions by the formula."""
    study = Study(small_file, settings(small_file, "logit-lasso", n_boot=99))
    cuts = study.cuts()
    fairest = dict.fromkeys({cuts[55], cuts[97]}, (-0.6, -0.8))
    result, _ = learn_rules(study, 0, fairest)
    conditions = study.source.patients.outcomes["conditions"].to_numpy()
    assert cuts[97] == int(np.percentile(conditions, 97))
    assert result["shares"] == learn_rules(study, 0, fairest)[0]["shares"]
    for rule in (*RULES, EGALITARIAN):
        health = result["health"][rule]
        selected = sum(sum(health[f"{g} treated"]["count"]) for g in ("Black", "White"))
        everyone = selected + sum(sum(health[f"{g} untreated"]["count"]) for g in ("Black", "White"))
        assert everyone == 450
        assert selected <= 450 * 0.03 + 1
        black = sum(health["Black treated"]["count"])
        assert result["shares"][rule]["97"] == pytest.approx(black / selected, abs=1e-6)
    # with a lower threshold at least as many are selected, so the share exists wherever it does above
    assert result["shares"]["Utilitarian"]["55"] is not None


def test_a_run_goes_on_where_it_was(small_run, small_file, monkeypatch):
    folder, tables = small_run
    monkeypatch.setattr(command, "draw_figures", lambda *arguments: [])  # they were drawn before
    before = {row.task: row for row in read_store(folder / "hospital.sqlite").rows()}
    console = Console(file=io.StringIO(), width=200)
    again = replicate_hospital(
        console, data=small_file, learner="logit-lasso", repetitions=1, folder=folder, n_jobs=1, n_boot=99
    )
    after = {row.task: row for row in read_store(folder / "hospital.sqlite").rows()}
    assert before == after
    pd.testing.assert_frame_equal(again.algorithms, tables.algorithms)


def test_a_repetition_depends_on_its_number_only(small_run, small_file):
    folder, _ = small_run
    rows = {row.task: row for row in read_store(folder / "hospital.sqlite").rows()}
    study = Study(small_file, settings(small_file, "logit-lasso", n_boot=99))
    result, seconds = judge_algorithms(pickle.loads(pickle.dumps(study)), 1)  # as in another process
    assert json.loads(json.dumps(result)) == rows["tests/0001"].result
    assert set(seconds) == {"fit", "inference"}


def test_comparison_names_the_learner_behind_the_published_numbers():
    assert [compared_with(name) for name in ("forest", "logit-lasso", "boosting")] == [
        "forest",
        "logit-lasso",
        "forest",
    ]


def test_failed_repetitions_are_counted(small_run, small_file):
    folder, _ = small_run
    results = [row.result for row in read_store(folder / "hospital.sqlite").rows() if row.task.startswith("tests/")]
    one = algorithm_table(results[:1], "boosting", 0.05)
    assert one.loc["hospital score, published", "statistic"] == 3.767
    assert np.isnan(spread_table(results[:1], "boosting", 0.05).loc["F", "sd"])
    study = Study(small_file, settings(small_file, "boosting", n_boot=99))
    rules = [row.result for row in read_store(folder / "hospital.sqlite").rows() if row.task.startswith("rules/")]
    assert share_table(study, rules).loc[97, "Majority, published"] == 0.300


def test_sources_are_told_apart(tmp_path, small_file):
    assert "16,099" in open_source(small_file).remark
    generated = open_source("look-alike", 400)
    assert "generated" in generated.remark
    assert list(generated.patients.scores.columns) == list(HOLDOUT_SCORES)
    assert generated.patients.X.shape == (400, 149)
    make_hospital_table(300, 1).to_csv(tmp_path / "data_new.csv", index=False)
    other = open_source(str(tmp_path / "data_new.csv"))
    assert "other content" in other.remark
    assert list(other.patients.scores.columns) == list(HOLDOUT_SCORES)
    with pytest.raises(InputError, match="no file"):
        open_source(str(tmp_path / "absent.csv"))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["hospital", "--learner", "oracle", "--data", "look-alike"], "must be one of"),
        (["hospital", "--repetitions", "0", "--data", "look-alike"], "at least one"),
        (["prison"], "must be 'hospital'"),
        (["hospital", "--data", "absent.csv"], "no file absent.csv"),
    ],
)
def test_command_refuses_what_it_cannot_do(options, message, tmp_path):
    done = CliRunner().invoke(app, ["replicate", *options, "--out", str(tmp_path)])
    assert done.exit_code == 2
    assert message in " ".join(done.output.split())
