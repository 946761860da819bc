"""Where rows and decisions of an audit come from: files of all forms, some of their rows, models, thresholds."""

import bz2
import gzip
import io
import json
import sys

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from support.quick import quickly
from typer.testing import CliRunner

from fairfrontier.audit import run as running
from fairfrontier.audit.opening import open_plan
from fairfrontier.audit.request import AuditRequest
from fairfrontier.audit.run import run_audit
from fairfrontier.audit.table import read_table
from fairfrontier.cli import app
from fairfrontier.errors import InputError
from fairfrontier.report.html import render

N = 400


def people():
    rng = np.random.default_rng(0)
    a = rng.normal(size=N).round(3)
    return pd.DataFrame(
        {
            "a": a,
            "age": rng.integers(16, 70, N),
            "sex": rng.choice(["f", "m"], N),
            "y": (a + rng.normal(size=N) > 0).astype(int),
            "approved": np.where(a + rng.normal(size=N) > 0, "yes", "no"),
            "rating": (600 + 50 * a).round(1),
            "coin": rng.integers(0, 2, N),
        }
    )


TABLE = people()
ROLES = {"outcome": "y", "group": "sex"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    TABLE.to_csv(folder / "people.csv", index=False)
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(TABLE[["a", "age"]], TABLE["y"])
    joblib.dump(model, folder / "model.joblib")
    return folder


def plan(data, **settings):
    return open_plan(AuditRequest(data=data, **ROLES | {"score": "rating", "threshold": 600} | settings))


def refused(code, data, **settings):
    with pytest.raises(InputError) as caught:
        plan(data, **settings)
    assert caught.value.code == code
    return str(caught.value)


# --- files ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("sign", "word"), [(";", "semicolons"), ("\t", "tabs"), ("|", "bars")])
def test_separators_are_seen_and_reported(tmp_path, sign, word):
    TABLE.to_csv(tmp_path / "people.csv", index=False, sep=sign)
    found = plan(tmp_path / "people.csv")
    assert f"Read        values are separated by {word}" in found.lines()
    pd.testing.assert_frame_equal(found.file.table, TABLE, check_dtype=False)
    again = plan(tmp_path / "people.csv", read="parts")
    assert f"Read        values are separated by {word}" in again.lines()
    assert again.sizes == found.sizes


def test_a_separator_may_be_given(tmp_path):
    TABLE.rename(columns={"a": "a;b"}).to_csv(tmp_path / "people.csv", index=False, sep="~")
    assert "may be separated" not in refused("bad-features", tmp_path / "people.csv")
    assert "a;b" in plan(tmp_path / "people.csv", sep="~").columns
    (tmp_path / "both.csv").write_text("a;b|c\n1;2|3\n")
    assert "Say which: --sep." in refused("bad-file", tmp_path / "both.csv")
    assert "--sep must be one character" in refused("bad-option", tmp_path / "both.csv", sep="::")


def test_decimal_commas(tmp_path):
    TABLE.to_csv(tmp_path / "people.csv", index=False, sep=";", decimal=",")
    for read in ("whole", "parts"):
        found = plan(tmp_path / "people.csv", decimal="comma", read=read)
        assert found.inputs.X["a"].dtype == float
    as_text = read_table(tmp_path / "people.csv")
    assert "a is read as text, and looks like numbers with decimal commas: then say --decimal comma" in as_text.how
    assert "must be point or comma" in refused("bad-option", tmp_path / "people.csv", decimal="·")


@pytest.mark.parametrize("pack", [bytes, gzip.compress, bz2.compress])
def test_json_lines(tmp_path, pack):
    path = tmp_path / ("people.jsonl" + {gzip.compress: ".gz", bz2.compress: ".bz2"}.get(pack, ""))
    lines = [json.dumps(row) for row in json.loads(TABLE.to_json(orient="records"))]
    path.write_bytes(pack(("\n".join([*lines, "", json.dumps({"y": 1, "code": "007"})])).encode()))
    table = read_table(path).table
    pd.testing.assert_frame_equal(table[list(TABLE.columns)][:N], TABLE, check_dtype=False)
    assert table["code"].dropna().tolist() == ["007"]
    assert table.iloc[N].isna().sum() == len(TABLE.columns) - 1


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("{", "line 2"),
        ("[1]", "line 2 is not a JSON object"),
        ('{"a": [1]}', "line 2: 'a' holds more than one value"),
        ('{"a": 1, "a": 2}', "line 2: a name occurs twice"),
    ],
)
def test_json_lines_that_cannot_be_read(tmp_path, line, words):
    (tmp_path / "people.jsonl").write_text('{"a": 1}\n' + line)
    with pytest.raises(InputError, match=words):
        read_table(tmp_path / "people.jsonl")


@pytest.mark.parametrize("kind", ["csv", "xlsx", "jsonl", "feather"])
def test_several_files_of_one_schema(tmp_path, kind):
    write = {
        "csv": lambda table, path: table.to_csv(path, index=False),
        "xlsx": lambda table, path: table.to_excel(path, index=False),
        "jsonl": lambda table, path: table.to_json(path, orient="records", lines=True),
        "feather": lambda table, path: table.to_feather(path),
    }[kind]
    paths = [tmp_path / f"{name}.{kind}" for name in ("one", "two", "three")]
    write(TABLE[:200], paths[0])
    write(TABLE[200:][TABLE.columns[::-1]].reset_index(drop=True), paths[1])
    write(TABLE[["a", "y"]], paths[2])
    found = plan(paths[:2])
    assert found.lines()[0] == f"File        2 files: {N} rows, 7 columns"
    pd.testing.assert_frame_equal(found.file.table, TABLE, check_dtype=False)
    assert "three" in refused("bad-file", paths)


def test_files_whose_columns_are_of_other_kinds(tmp_path):
    TABLE.to_json(tmp_path / "one.jsonl", orient="records", lines=True)
    TABLE.assign(age=TABLE["age"].map("{} years".format)).to_json(tmp_path / "two.jsonl", orient="records", lines=True)
    words = refused("bad-file", [tmp_path / "one.jsonl", tmp_path / "two.jsonl"])
    assert "two.jsonl: the column 'age' holds texts, and numbers in one.jsonl" in words


@pytest.mark.parametrize("form", ["csv", "semicolons", "jsonl", "parquet"])
def test_standard_input(monkeypatch, form):
    content = io.BytesIO()
    if form == "parquet":
        TABLE.to_parquet(content)
    elif form == "jsonl":
        TABLE.to_json(content, orient="records", lines=True)
    else:
        TABLE.to_csv(content, index=False, sep=";" if form == "semicolons" else ",")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content.getvalue())))
    found = plan("-")
    assert found.lines()[0].startswith(f"File        standard input: {N} rows")
    pd.testing.assert_frame_equal(found.file.table, TABLE, check_dtype=False)


def test_standard_input_is_read_whole_and_alone(monkeypatch, folder):
    assert "by itself" in refused("bad-option", ["-", folder / "people.csv"])
    assert "by itself" in refused("bad-option", "-", read="parts")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"\n")))
    assert "standard input is empty" in refused("bad-file", "-")


# --- some of the rows ------------------------------------------------------------------------------------


def test_a_condition_is_counted_in_plan_and_positions(folder):
    table = TABLE.assign(age=TABLE["age"].where(TABLE.index % 10 > 0))
    table.to_csv(folder / "gaps.csv", index=False)
    found = plan(folder / "gaps.csv", where="age >= 30")
    young, gaps = int((table["age"] < 30).sum()), int(table["age"].isna().sum())
    assert f"Not used    {young} rows: --where age >= 30" in found.lines()
    assert f"Not used    {gaps} rows: --where age >= 30: a value is missing" in found.lines()
    assert found.lines()[-1] == f"Rows used   {N - young - gaps} of {N}"
    assert found.inputs.X["age"].tolist() == table["age"][table["age"] >= 30].tolist()
    assert "No row of gaps.csv meets" in refused("empty-data", folder / "gaps.csv", where="age > 100")
    assert "cannot be read" in refused("bad-option", folder / "gaps.csv", where="age > ")


def test_rows_are_named_by_their_place_in_the_file(folder):
    TABLE.assign(approved=np.where(TABLE.index == 300, 7.0, 1.0)).to_csv(folder / "seven.csv", index=False)
    words = refused("bad-decisions", folder / "seven.csv", score=None, threshold=(), decision="approved", where="a < 9")
    assert "row 300" in words
    words = refused("bad-decisions", folder / "seven.csv", score=None, threshold=(), decision="approved", sample=390)
    assert "row 300" in words


def test_a_sample_is_drawn_by_the_seed_and_reported(folder):
    one, again, other = (plan(folder / "people.csv", sample=100, seed=seed) for seed in (1, 1, 2))
    assert f"Not used    300 rows: --sample 100 of {N}, drawn at random by seed 1" in one.lines()
    assert one.lines() == again.lines()
    assert one.file.table.equals(again.file.table)
    assert not one.file.table.equals(other.file.table)
    assert one.file.table.equals(TABLE.iloc[one.file.positions].reset_index(drop=True))
    both = plan(folder / "people.csv", sample=100, where="age >= 40")
    assert len(both.file.table) == 100
    assert both.file.table["age"].min() >= 40
    everybody = plan(folder / "people.csv", sample=N)
    assert everybody.file.left_out == {}


def test_rows_in_parts_are_all_used(folder):
    for settings in ({"where": "age > 30"}, {"sample": 100}, {"group_threshold": {"f": 1, "m": 2}, "threshold": ()}):
        assert "read in parts cannot be combined with --" in refused(
            "bad-option", folder / "people.csv", read="parts", **settings
        )


# --- decisions ------------------------------------------------------------------------------------------------


def test_several_thresholds_are_several_algorithms(folder):
    found = plan(folder / "people.csv", threshold=(580, 600.5)).inputs.algorithms
    assert list(found) == ["rating above 580", "rating above 600.5"]
    assert found["rating above 580"].tolist() == (TABLE["rating"] > 580).tolist()
    words = ["--outcome", "y", "--group", "sex", "--score", "rating", "--threshold", "580,600", "--threshold", "620"]
    shown = CliRunner().invoke(app, ["audit", str(folder / "people.csv"), *words, "--dry-run"]).output
    for threshold in (580, 600, 620):
        assert f"rating above {threshold}: {(TABLE['rating'] > threshold).mean():.1%}" in shown
    assert "different names" in refused("bad-decisions", folder / "people.csv", threshold=(580, 580.0))
    twice = ["--group-threshold", "f=1", "--group-threshold", "f=2"]
    repeated = CliRunner().invoke(app, ["audit", str(folder / "people.csv"), *words[:6], *twice])
    assert "--group-threshold is given more than once for 'f'" in repeated.output
    unread = CliRunner().invoke(app, ["audit", str(folder / "people.csv"), *words[:-1], "high"])
    assert "--threshold must be a number; got 'high'." in unread.output


def test_thresholds_by_group(folder):
    settings = {"threshold": (), "group_threshold": {"f": 580, "m": 620}}
    found = plan(folder / "people.csv", **settings).inputs.algorithms
    name, decisions = next(iter(found.items()))
    assert name == "rating above m 620, f 580"
    assert decisions.tolist() == (TABLE["rating"] > np.where(TABLE["sex"] == "f", 580, 620)).tolist()
    words = refused("bad-option", folder / "people.csv", **settings | {"group_threshold": {"f": 1}})
    assert "--group-threshold must have a number for each of the groups" in words


def test_decisions_with_labels(folder):
    settings = {"score": None, "threshold": (), "decision": "approved"}
    found = plan(folder / "people.csv", **settings, decision_positive="yes").inputs.algorithms
    assert found["approved"].tolist() == (TABLE["approved"] == "yes").tolist()
    mixed = plan(
        folder / "people.csv", **settings, decision_positive="no", algorithms={"coin": "coin"}
    ).inputs.algorithms
    assert mixed["approved"].tolist() == (TABLE["approved"] == "no").tolist()
    assert mixed["coin"].tolist() == TABLE["coin"].tolist()
    words = refused("bad-decisions", folder / "people.csv", **settings)
    assert "has labels: 'no', 'yes'. Name the one that selects: --decision-positive <label>." in words
    assert "'Yes' is none of them" in refused(
        "bad-decisions", folder / "people.csv", **settings, decision_positive="Yes"
    )
    TABLE.assign(approved=TABLE["approved"].where(TABLE["age"] > 20, "maybe")).to_csv(folder / "three.csv", index=False)
    words = refused("bad-decisions", folder / "three.csv", **settings, decision_positive="yes")
    assert "needs a column of two labels; --decision 'approved' also has 'maybe', 'no'" in words


# --- models -----------------------------------------------------------------------------------------------


def with_model(folder, model="model.joblib", **settings):
    own = {"score": None, "threshold": (), "models": {"new": str(folder / model)}, "trust_model": True}
    return {"data": folder / "people.csv"} | own | settings


def test_a_model_decides_about_the_table(folder):
    model = joblib.load(folder / "model.joblib")
    found = plan(**with_model(folder))
    assert found.inputs.algorithms["new"].tolist() == model.predict(TABLE[["a", "age"]]).tolist()
    assert "Model       new: StandardScaler, LogisticRegression from model.joblib" in found.lines()
    assert len(found.inputs.models[0].sha256) == 64
    excluded = plan(**with_model(folder, exclude=("age",), decision="coin", where="age > 20")).inputs.algorithms
    assert excluded["new"].tolist() == model.predict(TABLE.loc[TABLE["age"] > 20, ["a", "age"]]).tolist()
    assert list(excluded) == ["coin", "new"]


def test_thresholds_cut_the_probabilities_of_models(folder):
    chances = joblib.load(folder / "model.joblib").predict_proba(TABLE[["a", "age"]])[:, 1]
    cut = plan(**with_model(folder, threshold=(0.3, 0.6))).inputs.algorithms
    assert [cut[f"new above {at}"].tolist() for at in (0.3, 0.6)] == [(chances > at).tolist() for at in (0.3, 0.6)]
    by_group = plan(**with_model(folder, group_threshold={"f": 0.3, "m": 0.6})).inputs.algorithms
    assert by_group["new above m 0.6, f 0.3"].tolist() == (chances > np.where(TABLE["sex"] == "f", 0.3, 0.6)).tolist()
    beside = plan(**with_model(folder, score="rating", threshold=600)).inputs.algorithms
    assert list(beside) == ["rating above 600", "new"]  # the threshold is that of the score


def test_the_outcome_of_a_model_may_have_labels(folder):
    words = TABLE["y"].map({0: "lost", 1: "repaid"})
    TABLE.assign(y=words).to_csv(folder / "words.csv", index=False)
    model = LogisticRegression().fit(TABLE[["a"]], words)
    joblib.dump(model, folder / "words.pkl")
    settings = with_model(folder, "words.pkl", data=folder / "words.csv", positive="lost", threshold=0.5)
    found = plan(**settings).inputs.algorithms
    chances = model.predict_proba(TABLE[["a"]])[:, list(model.classes_).index("lost")]
    assert found["new above 0.5"].tolist() == (chances > 0.5).tolist()


class Malicious:
    """Its pickle leaves a file behind when it is loaded."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return (open, (str(self.path), "w"))


def test_no_model_is_loaded_unless_it_is_trusted(folder):
    joblib.dump(Malicious(folder / "left behind"), folder / "bad.joblib")
    words = refused("bad-option", **with_model(folder, "bad.joblib", trust_model=False))
    assert "runs code that is in it. If you trust its author, add --trust-model" in words
    assert not (folder / "left behind").exists()


@pytest.mark.parametrize(
    ("save", "words"),
    [
        (lambda path: joblib.dump([1, 2], path), "contains no model but a list"),
        (lambda path: path.write_bytes(b"nothing"), "cannot be loaded"),
        (lambda path: joblib.dump(LogisticRegression(), path), "trained with columns without names"),
        (
            lambda path: joblib.dump(LogisticRegression().fit(TABLE[["a"]].to_numpy(), TABLE["y"]), path),
            "without names",
        ),
        (
            lambda path: joblib.dump(LogisticRegression().fit(TABLE[["a", "y"]], TABLE["y"]), path),
            "the outcome",
        ),
        (lambda path: joblib.dump(LogisticRegression().fit(TABLE[["a"]].add_suffix("!"), TABLE["y"]), path), "'a!'"),
    ],
)
def test_files_that_hold_no_usable_model(tmp_path, folder, save, words):
    save(tmp_path / "some.joblib")
    with pytest.raises(InputError, match=words) as caught:
        plan(**with_model(folder, models={"new": str(tmp_path / "some.joblib")}))
    assert caught.value.code == "bad-model"


def test_other_files_of_models_are_not_loaded(folder):
    assert "format of the model" in refused("bad-model", **with_model(folder, models={"new": "model.onnx"}))
    assert "cannot be read" in refused("bad-file", **with_model(folder, models={"new": "absent.pkl"}))


def test_what_loading_a_model_warns_of_is_noted(folder, monkeypatch):
    model = LogisticRegression().fit(TABLE[["a"]], TABLE["y"])
    state = model.__getstate__()
    monkeypatch.setattr(LogisticRegression, "__getstate__", lambda self: state | {"_sklearn_version": "1.0"})
    joblib.dump(model, folder / "old.joblib")
    monkeypatch.undo()
    noted = plan(**with_model(folder, "old.joblib")).account.noted
    assert "from version 1.0" in noted["new"]


def test_a_finished_audit_says_where_rows_and_decisions_come_from(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(running, "FairFrontier", quickly(n_boot=99))
    TABLE.to_csv(tmp_path / "people.csv", index=False, sep=";")
    settings = with_model(folder, data=tmp_path / "people.csv", where="age > 20", score="rating", threshold=(590, 610))
    made = plan(**settings)
    record = run_audit(made).record
    assert [a.name for a in record.algorithms] == ["rating above 590", "rating above 610", "new"]
    ordered = sorted(record.algorithms, key=lambda a: a.lda.p_value)
    expected = np.maximum.accumulate([(3 - k) * a.lda.p_value for k, a in enumerate(ordered)])
    assert [a.lda.p_value_adjusted for a in ordered] == pytest.approx(np.minimum(expected, 1.0))  # Holm's
    source, page = record.data.source, render(record)
    assert source.read == ("values are separated by semicolons",)
    assert source.narrowed == {"--where age > 20": int((TABLE["age"] <= 20).sum())}
    assert source.rows_read == N
    assert source.models == {"new": made.inputs.models[0].sha256}
    for text in ("values are separated by semicolons", "--where age &gt; 20", source.models["new"]):
        assert text in page


def test_a_model_on_the_command_line(folder):
    words = ["audit", str(folder / "people.csv"), "--outcome", "y", "--group", "sex", "--dry-run"]
    named = ["--model", str(folder / "model.joblib"), "--trust-model"]
    shown = CliRunner().invoke(app, [*words, *named, "--threshold", "0.3,0.6"])
    assert shown.exit_code == 0
    assert "Selected    model above 0.3:" in shown.output
    assert CliRunner().invoke(app, [*words, *named[:2]]).exit_code == 2
