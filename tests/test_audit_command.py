"""The command `audit`: what it prints, writes and exits with; records against their schema; interruptions."""

import copy
import ctypes
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
import warnings
from contextlib import contextmanager
from datetime import datetime
from functools import partial
from importlib.resources import files
from pathlib import Path

import jsonschema
import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import ConvergenceWarning
from support.quick import QUICK, quick_frontier
from typer.testing import CliRunner

from fairfrontier import FairFrontier
from fairfrontier.audit import run as running
from fairfrontier.audit import write as writing
from fairfrontier.audit.demo import demo_table
from fairfrontier.audit.plan import make_plan
from fairfrontier.audit.request import AuditRequest, read_config
from fairfrontier.audit.run import run_audit, variants
from fairfrontier.audit.table import EXACT, TableFile
from fairfrontier.cli import app
from fairfrontier.data.number_formats import p_value_text
from fairfrontier.errors import EmptySetWarning, InputError, LearnerError
from fairfrontier.inference import questions
from fairfrontier.report.paper import BROWSERS
from fairfrontier.report.sentences import CHIPS, HEADLINES

SCHEMA = json.loads(files("fairfrontier.report").joinpath("audit.schema.json").read_text(encoding="utf-8"))
read_csv = partial(pd.read_csv, **EXACT)
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
WRITTEN = {
    "audit.json",
    "config.toml",
    "figures/feasible-set.png",
    "figures/feasible-set.svg",
    "figures/frontier.png",
    "figures/frontier.svg",
    "plan.txt",
    "report.html",
    "tables/algorithms.csv",
    "tables/alternatives-1-selected-by-cost-score.csv",
    "tables/alternatives-2-by-health.csv",
    "tables/learner.csv",
    "tables/points.csv",
    "tables/rules.csv",
    "tables/sensitivity.csv",
}
HOSPITAL = ("--outcome", "needs the programme", "--group", "race", "--decision", "selected by cost score")


def small_table(n=400):
    """People whose outcome depends on a and b, with decisions: by a coin, by a alone, and by the outcome itself."""
    rng = np.random.default_rng(0)
    a, b, second = rng.normal(size=n).round(3), rng.normal(size=n).round(3), rng.integers(0, 2, n)
    y = (rng.random(n) < 1.0 / (1.0 + np.exp(-1.5 * a - b * (2 * second - 1)))).astype(int)
    return pd.DataFrame(
        {
            "a": a,
            "b": b,
            "kind": rng.choice(["u", "v", "w"], n),
            "sex": np.where(second, "f", "m"),
            "y": y,
            "coin": rng.integers(0, 2, n),
            "by a": (a > 0.0).astype(int),
            "oracle": y,
            "score": (a + rng.normal(size=n)).round(4),
            "amount": (0.8 * y + 0.1 * rng.random(n)).round(3),
        }
    )


def command(*arguments, **options):
    words = [sys.executable, "-m", "fairfrontier", "audit", *map(str, arguments)]
    return subprocess.run(words, capture_output=True, text=True, encoding="utf-8", check=False, **options)


def in_process(*arguments):
    """The same by the runner of typer, where the process is not the subject."""
    return CliRunner().invoke(app, ["audit", *map(str, arguments)])


def contents(folder):
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def without_time(folder):
    record = json.loads((folder / "audit.json").read_text(encoding="utf-8"))
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", record.pop("created"))
    return json.dumps(record)


@pytest.fixture(scope="module")
def hospital(tmp_path_factory):
    path = tmp_path_factory.mktemp("hospital") / "patients.csv"
    demo_table(600, 3).to_csv(path, index=False)
    return path


@pytest.fixture(scope="module")
def good(hospital, tmp_path_factory):
    out = tmp_path_factory.mktemp("good") / "out"
    more = ("--algorithm", "by health=selected by health score", "--exclude", "cost score,health score", "--draws", 200)
    more += ("--folds", 2, "--repetitions", 1, "--learner", "factored-logit")
    return command(hospital, *HOSPITAL, *more, "--out", out), out


@pytest.fixture
def people(tmp_path):
    path = tmp_path / "people.csv"
    small_table().to_csv(path, index=False)
    return path


@pytest.mark.slow
@pytest.mark.skipif(not any(map(shutil.which, BROWSERS)), reason="no chromium or Chrome prints here")
def test_the_report_is_printed_if_asked_for_and_replaced_with_the_audit(hospital, tmp_path):
    words = [hospital, *HOSPITAL, "--exclude", "cost score,health score", "--learner", "factored-logit", "--draws", 200]
    out = tmp_path / "out"
    done = in_process(*words, "--pdf", "--out", out)
    assert done.exit_code == 0, done.output
    assert f"Paper:  {out / 'report.pdf'}" in done.output
    assert {"report.pdf", "report.html", "audit.json"} <= set(contents(out))
    assert contents(out)["report.pdf"].startswith(b"%PDF")
    assert in_process(*words, "--out", out).exit_code == 0
    assert not (out / "report.pdf").exists()  # it would be that of another audit


def test_a_good_run_writes_everything(good):
    done, out = good
    assert done.returncode == 0, done.stderr
    assert set(contents(out)) == WRITTEN
    assert "Traceback" not in done.stderr
    assert "Warning" not in done.stderr
    assert [path.name for path in out.parent.iterdir()] == ["out"]
    for name in ("frontier", "feasible-set"):
        assert (out / "figures" / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        assert "<svg" in (out / "figures" / f"{name}.svg").read_text(encoding="utf-8")


def test_what_is_printed_is_what_the_record_says(good):
    done, out = good
    record = json.loads((out / "audit.json").read_text(encoding="utf-8"))
    assert [a["name"] for a in record["algorithms"]] == ["selected by cost score", "by health"]
    for a in record["algorithms"]:
        decides, alone = (f"{a['lda'][key]:.3f}" for key in ("p_value_adjusted", "p_value"))
        p_values = f"adjusted p-value {decides}, unadjusted {alone}"
        assert f"{a['name']}: {HEADLINES[a['verdict']]} ({p_values})\n" in done.stdout
    plan = (out / "plan.txt").read_text(encoding="utf-8")
    assert done.stdout.startswith(plan)
    assert "Left out    cost score: named in --exclude\n" in plan
    assert "Rows used   600 of 600\n" in plan
    assert f"Report: {out / 'report.html'}\nRecord: {out / 'audit.json'}\n" in done.stdout


def test_tables_are_those_of_the_record(good):
    _, out = good
    record = json.loads((out / "audit.json").read_text(encoding="utf-8"))
    r, b = record["groups"]
    table = read_csv(out / "tables" / "algorithms.csv")
    for line, a in zip(table.to_dict("records"), record["algorithms"], strict=True):
        assert line == {
            "algorithm": a["name"],
            "verdict": a["verdict"],
            "p_value": a["lda"]["p_value"],
            "p_value_adjusted": a["lda"]["p_value_adjusted"],
            "statistic": a["lda"]["statistic"],
            "critical_value": a["lda"]["critical_value"],
            f"risk {r}": a["risk"][0],
            f"risk {b}": a["risk"][1],
            f"selection rate {r}": a["selection_rate"][0],
            f"selection rate {b}": a["selection_rate"][1],
            "selection ratio": a["selection_ratio"],
            "distance to fairest": a["distance"]["estimate"],
            "distance to fairest low": a["distance"]["interval"]["low"],
            "distance to fairest high": a["distance"]["interval"]["high"],
            "other runs": a["other_runs"]["counted"],
            "other runs with the same verdict": a["other_runs"]["same_verdict"],
        }
    points = read_csv(out / "tables" / "points.csv").set_index("point")
    assert points.T.to_dict("list") == {point["name"]: point["risk"] for point in record["points"]}
    rules = read_csv(out / "tables" / "rules.csv")
    assert rules[f"weight {r}"].tolist() == [rule["weight"] for rule in record["rules"]]
    for column in ("risk", "selection rate", "false positive rate", "false negative rate"):
        expected = [rule[column.replace(" ", "_")][1] for rule in record["rules"]]
        assert rules[f"{column} {b}"].tolist() == expected
    quality = read_csv(out / "tables" / "learner.csv")
    assert quality["r2"].tolist() == [line["r2"] for line in record["learner"]["quality"]]
    assert len(quality) == 2 * record["request"]["folds"]
    sensitivity = read_csv(out / "tables" / "sensitivity.csv")
    for column in ("p_value", "p_value_adjusted"):
        assert sensitivity[column].tolist() == [
            found[column] for line in record["sensitivity"] for found in line["algorithms"].values()
        ]
    assert sensitivity["decides"].tolist() == [True, True, False, False, False, False]
    assert sensitivity["verdict"][:2].tolist() == table["verdict"].tolist()


def test_alternatives_have_a_header_though_there_are_none(good):
    _, out = good
    record = json.loads((out / "audit.json").read_text(encoding="utf-8"))
    some, none = (
        read_csv(out / "tables" / f"alternatives-{n}.csv") for n in ("1-selected-by-cost-score", "2-by-health")
    )
    assert [len(some), len(none)] == [len(a["alternatives"]) for a in record["algorithms"]]
    assert len(some) > 0
    assert len(none) == 0
    assert some.columns.tolist() == none.columns.tolist()
    r, b = record["groups"]
    for line, a in zip(some.to_dict("records"), record["algorithms"][0]["alternatives"], strict=True):
        for column, key in {"risk": "risk", "se": "standard_error", "selection rate": "selection_rate"}.items():
            assert [line[f"{column} {r}"], line[f"{column} {b}"]] == a[key]
        gaps = [line["gain in gap"], line["se gain in gap"]]
        assert gaps == [a["gain"][2], a["gain_standard_error"][2]]
        assert line["flagged"] is a["flagged"]


def test_the_same_config_and_data_give_the_same_audit_in_place_of_the_former(good, tmp_path):
    _, first = good
    again = tmp_path / "again"
    shutil.copytree(first, again)
    (again / "tables" / "stale.csv").write_text("old")
    (again / "report.html").write_text("old")
    done = in_process("--config", first / "config.toml", "--out", again, "--fail-on", "lda")
    assert done.exit_code == 0, done.output
    assert set(contents(again)) == WRITTEN
    assert without_time(again) == without_time(first)
    for name in sorted(WRITTEN - {"audit.json", "report.html"}):
        assert (again / name).read_bytes() == (first / name).read_bytes(), name
    assert [path.name for path in tmp_path.iterdir()] == ["again"]


def test_the_config_written_is_the_request_of_the_record(good, hospital):
    _, out = good
    record = json.loads((out / "audit.json").read_text(encoding="utf-8"))
    request = read_config(out / "config.toml")
    assert request.resolved() == record["request"]
    assert request == AuditRequest(
        data=str(hospital),
        outcome="needs the programme",
        group="race",
        decision="selected by cost score",
        algorithms={"by health": "selected by health score"},
        exclude=("cost score,health score",),
        learner="factored-logit",
        draws=200,
        folds=2,
        repetitions=1,
    )


def test_fail_on_lda_exits_with_3_when_one_is_shown_whatever_the_names(tmp_path, monkeypatch):
    monkeypatch.setattr(running, "FairFrontier", quick_frontier)
    table = small_table().rename(
        columns={"a": "<script>alert(1)</script>", "b": 'b, "ב"', "sex": "😀", "coin": "=co'in"}
    )
    table["😀"] = table["😀"].map({"f": "<i>f</i>", "m": "女:heart:"})
    table.to_csv(tmp_path / "people.csv", index=False)
    out = tmp_path / "out"
    done = in_process(
        *(tmp_path / "people.csv", "--outcome", "y", "--group", "😀", "--decision", "=co'in", "--draws", 99),
        *("--features", "<script>alert(1)</script>", "--features", 'b, "ב"', "--folds", 2, "--repetitions", 1),
        *("--learner", "factored-logit", "--out", out, "--fail-on", "lda"),
    )
    assert done.exit_code == 3, done.output
    assert f"=co'in: {HEADLINES['lda-shown']}" in done.stdout
    assert "Glyph" not in done.stderr
    record = json.loads((out / "audit.json").read_text(encoding="utf-8"))
    VALIDATOR.validate(record)
    assert record["groups"] == ["女:heart:", "<i>f</i>"]
    assert record["data"]["covariates"] == ["<script>alert(1)</script>", 'b, "ב"']
    page = (out / "report.html").read_text(encoding="utf-8")
    assert "alert(1)" in page
    assert "<script>alert(1)" not in page
    assert "<i>f</i>" not in page
    assert read_config(out / "config.toml").resolved() == record["request"]


def test_several_algorithms_pass_the_gate_together_by_adjusted_p_values(tmp_path, monkeypatch):
    monkeypatch.setattr(running, "FairFrontier", quick_frontier)
    monkeypatch.setattr(writing, "_draw", lambda audit, folder: None)
    rng, table = np.random.default_rng(1), small_table()
    noise = {"first": 1.2, "second": 0.2, "third": 0.2, "fourth": 0.2}
    for name, size in noise.items():  # all but the first are nearly as good as `by a`, to which there is none
        table[name] = (table["a"] + size * rng.normal(size=len(table)) > 0.0).astype(int)
    table.to_csv(tmp_path / "people.csv", index=False)
    ff = FairFrontier(**QUICK, n_folds=2, n_boot=199, groups=("m", "f"), random_state=0)
    ff.fit(table[["a", "b"]], table["y"], sensitive_features=table["sex"])
    p_value = ff.test_lda(table["first"]).p_value
    assert 0.01 <= p_value <= 0.1
    level = 2.0 * p_value
    assert ff.test_lda(table["first"], alpha=level).verdict == "lda-shown"
    words = [str(tmp_path / "people.csv"), "--outcome", "y", "--group", "sex", "--decision", "first"]
    words += ["--features", "a,b", "--draws", "199", "--folds", "2", "--alpha", str(level), "--fail-on", "lda"]
    words += ["--learner", "factored-logit", "--repetitions", "1"]
    others = [word for name in list(noise)[1:] for word in ("--algorithm", f"{name}={name}")]
    done = CliRunner().invoke(app, ["audit", *words, *others, "--out", str(tmp_path / "out")])
    assert done.exit_code == 0, done.output
    record = json.loads((tmp_path / "out" / "audit.json").read_text(encoding="utf-8"))
    assert {algorithm["verdict"] for algorithm in record["algorithms"]} == {"no-evidence"}
    tests = [algorithm["lda"] for algorithm in record["algorithms"]]
    assert [test["p_value"] <= level for test in tests] == [True, False, False, False]
    assert tests[0]["p_value"] == p_value
    assert tests[0]["p_value_adjusted"] == pytest.approx(4.0 * p_value)
    adjusted, alone = p_value_text(4.0 * p_value, level), p_value_text(p_value, level)
    assert f"(adjusted p-value {adjusted}, unadjusted {alone})\n" in done.output


def test_dry_run_shows_the_plan_and_writes_nothing(people, tmp_path):
    words = [
        str(people),
        "--outcome",
        "y",
        "--group",
        "sex",
        "--decision",
        "coin",
        "--dry-run",
        "--out",
        str(tmp_path / "o"),
    ]
    done = CliRunner().invoke(app, ["audit", *words])
    assert done.exit_code == 0
    assert done.output.splitlines()[0] == "File        people.csv: 400 rows, 10 columns"
    assert "WARNING     oracle: a copy of 'y', possibly with other labels" in done.output
    assert "WARNING     amount: suspected leak: by itself it nearly determines 'y'" in done.output
    assert [path.name for path in tmp_path.iterdir()] == ["people.csv"]


def test_options_win_over_the_config(people, tmp_path):
    config = tmp_path / "config.toml"
    config.write_text(f"data = {json.dumps(str(people))}\noutcome = 'y'\ngroup = 'sex'\ndecision = 'coin'\n")
    words = ["audit", "--config", str(config), "--dry-run"]
    assert "Decision    coin" in CliRunner().invoke(app, words).output
    assert "Decision    by a" in CliRunner().invoke(app, [*words, "--decision", "by a"]).output
    scored = CliRunner().invoke(app, [*words, "--score", "score", "--top", "0.25"]).output
    assert "Selected    score, top 0.25: 25.0%" in scored


FINE = {"--outcome": "y", "--group": "sex", "--decision": "coin"}
SCORED = {"--decision": None, "--score": "score"}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"--outcome": None}, "give --outcome"),
        ({"--group": None}, "give --group"),
        ({"--decision": None}, "Give either --decision"),
        ({"--score": "score", "--top": "0.1"}, "Give either --decision"),
        (SCORED, "either --threshold or --top"),
        (SCORED | {"--top": "0.1", "--threshold": "1"}, "either --threshold or --top"),
        (SCORED | {"--top": "1.5"}, "--top must be a share between 0 and 1, such as 0.1; got 1.5."),
        (SCORED | {"--threshold": "nan"}, "--threshold must be a finite number; got nan."),
        ({"--threshold": "1"}, "belong to --score"),
        ({"--score-as-feature": ""}, "--score-as-feature needs --score"),
        ({"--features": "a", "--exclude": "b"}, "Give either --features or --exclude"),
        ({"--features": "a,bb"}, "The file has no column 'bb'"),
        ({"--outcome": "amont"}, "no column 'amont', given for the outcome. Did you mean 'amount'?"),
        ({"--outcome": "kind"}, "--outcome 'kind' must hold numbers, but it has "),
        (
            {"--outcome": "kind"},
            "Its labels are 'u', 'v', 'w'; if there are two labels, choose the one that counts as 1: --",
        ),
        ({"--outcome": "a"}, "--outcome 'a' also has 375 other values, such as -"),
        (
            {"--outcome": "kind", "--positive": "u"},
            "--positive 'u' needs an outcome of two values; --outcome 'kind' has 3: ",
        ),
        ({"--decision": "score"}, "--decision 'score' must lie in [0, 1]; "),
        ({"--group": "kind", "--capacity": "0.2"}, "An audit with --capacity compares two groups, but there are 3: "),
        ({"--groups": "f"}, "--groups must be two or more different labels"),
        ({"--groups": "f,x"}, "--groups names 'x', but the groups in --group 'sex' are 'm' ("),
        ({"--group": "kind", "--groups": "u,u"}, "--groups must be two or more different labels"),
        ({"--algorithm": "by a"}, "--algorithm must be NAME=COLUMN; got 'by a'."),
        ({"--algorithm": "coin=by a"}, "Algorithms must have different names; got 'coin', 'coin'."),
        ({"--alpha": "0.7"}, "--alpha must lie strictly between 0 and 0.5"),
        ({"--draws": "10"}, "--draws must be an integer of at least 99; got 10."),
        ({"--capacity": "2"}, "--capacity must be a share of people"),
        ({"--folds": "1"}, "--folds must be an integer of at least 2"),
        ({"--seed": "-1"}, "--seed must be an integer of at least 0"),
        ({"--jobs": "0"}, "--jobs must be an integer other than 0 (-1: all processors); got 0."),
        ({"--learner": "forrest"}, "No learner is called 'forrest'. Did you mean 'forest'"),
        ({"--loss": "quadratic"}, "No loss is called 'quadratic'. Known names: classification, squared."),
        ({"--fail-on": "gap"}, "--fail-on accepts lda, not-comparable, disagreement, several separated by"),
        ({"--weights": "kind"}, "--weights 'kind' must hold numbers, but it has "),
        ({"--config": "absent.toml"}, "cannot be read: No such file"),
        ({"data": "absent.csv"}, "There is no file absent.csv"),
        ({"data": None}, "An audit needs the path of a table"),
        ({"data": str(Path(__file__).parent / "golden")}, "make.py', which cannot be read in parts"),
        ({"data": __file__}, "The format of test_audit_command.py is not known"),
        ({"--top": "many"}, "--top"),
    ],
)
def test_bad_input_exits_with_2_and_a_message(options, words, people, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    wanted = {"data": str(people)} | FINE | {"--out": "out"} | options
    data = wanted.pop("data")
    given = [part for name, value in wanted.items() if value is not None for part in (name, value) if part]
    done = CliRunner().invoke(app, ["audit", *([] if data is None else [data]), *given])
    assert done.exit_code == 2, done.output
    assert words in " ".join(done.output.split())
    assert [path.name for path in tmp_path.iterdir()] == ["people.csv"]


def test_one_group_exits_with_2(tmp_path):
    small_table().query("sex == 'f'").to_csv(tmp_path / "people.csv", index=False)
    words = [str(tmp_path / "people.csv"), "--outcome", "y", "--group", "sex", "--decision", "coin", "--dry-run"]
    done = CliRunner().invoke(app, ["audit", *words])
    assert done.exit_code == 2
    assert "Error: Two groups are compared, but --group 'sex' has only one: 'f' (2" in done.output


@pytest.mark.parametrize("place", ["file", "file/out", "others"])
def test_places_where_nothing_can_be_written_exit_with_2_before_the_work(place, people, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("mine")
    (tmp_path / "others").mkdir()
    (tmp_path / "others" / "notes.txt").write_text("mine")
    before = contents(tmp_path)
    monkeypatch.setattr("fairfrontier.audit.run.run_audit", None)
    words = [str(people), "--outcome", "y", "--group", "sex", "--decision", "coin", "--out", str(tmp_path / place)]
    done = CliRunner().invoke(app, ["audit", *words])
    assert done.exit_code == 2, done.output
    told = {
        "file": "is a file",
        "file/out": "Not a directory",
        "others": "contains files that fairfrontier did not write (notes.txt)",
    }
    assert told[place] in done.output
    assert contents(tmp_path) == before


def test_errors_show_no_traceback(people):
    done = in_process(people, "--outcome", "z", "--group", "sex", "--decision", "coin")
    assert done.exit_code == 2
    assert isinstance(done.exception, SystemExit)  # of any other, Python would show a traceback
    assert done.stderr.startswith("Error: The file has no column 'z', given for the outcome.")
    assert "Traceback" not in done.stderr
    assert not done.stdout


def interrupt(number, out, data):
    """Start an audit, send a signal once its progress is shown, and return what came of it."""
    words = [sys.executable, "-m", "fairfrontier", "audit", str(data), *HOSPITAL, "--out", str(out), "--draws", "20000"]
    words += ["--learner", "factored-logit", "--repetitions", "1"]
    environment = os.environ | {"FORCE_COLOR": "1", "TERM": "xterm", "COLUMNS": "200"}
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
    seen = []
    started = threading.Event()

    def watch():
        while text := os.read(process.stderr.fileno(), 4096).decode(errors="replace"):
            seen.append(text)
            if "the verdict" in "".join(seen):
                started.set()

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        assert started.wait(120), "".join(seen)
        time.sleep(0.3)
        process.send_signal(number)
        process.wait(60)
    finally:
        process.kill()
        watcher.join()
        printed = process.stdout.read()
        process.stdout.close()
        process.stderr.close()
    return process.returncode, printed, "".join(seen)


@pytest.mark.skipif(os.name == "nt", reason="signals of other systems")
def test_an_interrupted_audit_leaves_nothing(hospital, tmp_path):
    code, printed, told = interrupt(signal.SIGINT, tmp_path / "out", hospital)
    assert code == 130
    assert "Interrupted; nothing was written." in printed
    assert "Traceback" not in printed + told
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.name == "nt", reason="signals of other systems")
def test_a_terminated_audit_leaves_everything_as_it_was(good, hospital, tmp_path):
    out = tmp_path / "out"
    shutil.copytree(good[1], out)
    before = contents(tmp_path)
    code, _, _ = interrupt(signal.SIGTERM, out, hospital)
    assert code in (-signal.SIGTERM, 128 + signal.SIGTERM)
    assert contents(tmp_path) == before
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


@pytest.mark.skipif(os.name == "nt", reason="signals of other systems")
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_in_a_callback_of_a_library_is_not_lost(number, code, good, people, tmp_path, monkeypatch):
    """Such as that of loading compiled code: what is raised there is swallowed and reported, with a traceback."""
    reached = []
    shutil.copytree(good[1], tmp_path / "out")
    before = contents(tmp_path)

    def run(plan, *, n_jobs, progress):
        progress(0, 2, "first")
        ctypes.CFUNCTYPE(None)(lambda: signal.raise_signal(number))()
        reached.append("after the signal")
        progress(1, 2, "second")
        reached.append("after the step")

    monkeypatch.setattr("fairfrontier.audit.run.run_audit", run)
    hook, told = sys.unraisablehook, []
    monkeypatch.setattr(sys, "unraisablehook", told.append)
    done = in_process(people, *("--outcome", "y", "--group", "sex", "--decision", "coin"), "--out", tmp_path / "out")
    assert done.exit_code == code
    assert reached == ["after the signal"]
    assert not told
    assert sys.unraisablehook == told.append
    monkeypatch.setattr(sys, "unraisablehook", hook)
    assert contents(tmp_path) == before
    assert {path.name for path in tmp_path.iterdir()} == {"people.csv", "out"}


REQUESTS = {
    "each verdict": {"decision": "coin", "algorithms": {"by a": "by a", "oracle": "oracle"}},
    "score": {"score": "score", "threshold": 0.3},
    "score as feature": {"score": "score", "top": 0.3, "score_as_feature": True},
    "capacity": {"decision": "by a", "capacity": 0.2},
    "numbers": {"decision": "by a", "outcome": "amount", "loss": "squared"},
    "more": {"decision": "by a", "weights": "weight", "clusters": "home", "repetitions": 2, "groups": ("f", "m")},
}


@pytest.fixture(scope="module")
def records():
    table = small_table().assign(weight=lambda t: 1.0 + t.index % 3, home=lambda t: t.index // 2)
    table.loc[:4, "b"] = np.nan
    found = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(running, "FairFrontier", quick_frontier)
        for name, settings in REQUESTS.items():
            wanted = {"data": "people.csv", "outcome": "y", "group": "sex", "draws": 99, "folds": 2}
            wanted |= {"features": ("a,b", "kind"), "learner": "factored-logit", "repetitions": 1}
            plan = make_plan(TableFile(table, "people.csv", "0" * 64), AuditRequest(**wanted | settings))
            found[name] = json.loads(run_audit(plan, created=datetime(2024, 1, 1, 12)).record.to_json())
    return found


def test_the_schema_is_one_and_describes_every_field():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)

    def described(node, path):
        for name, field in node.get("properties", {}).items():
            assert field.get("description"), [*path, name]
            described(field, [*path, name])
        for key in ("items", "additionalProperties"):
            if isinstance(node.get(key), dict):
                described(node[key], [*path, key])

    described(SCHEMA, [])
    for name, definition in SCHEMA["$defs"].items():
        assert definition["description"], name
        described(definition, [name])


@pytest.mark.parametrize("name", REQUESTS)
def test_records_follow_the_schema(name, records):
    VALIDATOR.validate(records[name])


def test_the_record_of_a_good_run_follows_the_schema(good):
    VALIDATOR.validate(json.loads((good[1] / "audit.json").read_text(encoding="utf-8")))


def test_records_of_each_kind_say_what_they_should(records):
    verdicts = {a["name"]: a["verdict"] for a in records["each verdict"]["algorithms"]}
    assert verdicts == {"coin": "lda-shown", "by a": "no-evidence", "oracle": "not-comparable"}
    witnesses = {a["name"]: a["lda"]["witness"] for a in records["each verdict"]["algorithms"]}
    assert [name for name, witness in witnesses.items() if witness is not None] == ["coin"]
    without, with_score = records["score"], records["score as feature"]
    assert without["data"]["covariates"] == ["a", "b", "kind"]
    assert with_score["data"]["covariates"] == ["a", "b", "kind", "score"]
    for record, ways in (
        (without, ["without the score", "with the score"]),
        (with_score, ["with the score", "without the score"]),
    ):
        assert [line["covariates"] for line in record["sensitivity"][:2]] == ways
        assert [line["decides"] for line in record["sensitivity"]] == [True, False, False, False]
        name = record["algorithms"][0]["name"]
        other = record["sensitivity"][1]["algorithms"][name]
        told = f"{ways[1].capitalize()}: {CHIPS[other['verdict']]}, p-value {other['p_value_adjusted']:.3f}."
        assert record["algorithms"][0]["both_ways"].endswith(told)
    assert any("capacity" in warning for warning in records["capacity"]["warnings"])
    assert records["capacity"]["settings"]["capacity"] == 0.2
    assert records["numbers"]["rules"][0]["false_positive_rate"] is None
    assert records["more"]["rules"][0]["false_positive_rate"] is not None
    assert records["more"]["groups"] == ["f", "m"]
    assert {line["repetition"] for line in records["more"]["learner"]["quality"]} == {1, 2}
    for record in records.values():
        assert record["data"]["rows"] == 400
        assert not record["data"]["dropped"]
        source = record["data"]["source"]
        assert source["gaps"] == {"b": 5}
        assert not source["dropped_by_reason"]
        assert source["categories"] == {"kind": 3}


def places(node, path=()):
    """Paths of all fields, one entry of each list."""
    if isinstance(node, dict):
        for key, value in node.items():
            yield (*path, key)
            yield from places(value, (*path, key))
    elif isinstance(node, list) and node:
        yield from places(node[0], (*path, 0))


FREE = {"roles", "excluded", "noted", "dropped", "rows_by_group", "dropped_by_reason", "other_groups", "categories"}
FREE |= {"kinds", "gaps"}
FREE |= {"algorithms", "cases", "learner_params", "versions"}


MANY = {"algorithms", "sensitivity", "rules", "alternatives", "quality", "frontier"}
"""Lists of any number of parts."""


def shortened(node):
    """The same with the first of many parts, and at most three entries of other lists."""
    if isinstance(node, dict):
        return {
            key: shortened(value[:1] if key in MANY and isinstance(value, list) else value)
            for key, value in node.items()
        }
    return [shortened(value) for value in node[:3]] if isinstance(node, list) else node


def at(record, path):
    for key in path:
        record = record[key]
    return record


def test_records_without_a_field_or_with_another_do_not_follow_the_schema(records):
    record = shortened(records["each verdict"])
    fixed = [path for path in places(record) if not (FREE & set(path[-2:-1]) or "dropped_by_reason" in path[:-1])]
    assert len(fixed) > 150
    # a record of two groups is valid only if each part is; the parts that are left as they were are not looked at again
    assert SCHEMA["else"] == {"$ref": "#/$defs/Record"}
    parts = {name: VALIDATOR.evolve(schema=part) for name, part in SCHEMA["$defs"]["Record"]["properties"].items()}
    for path in fixed:
        for change in ("removed", "renamed", "of another type"):
            spoiled = copy.copy(record)
            holder = spoiled
            for key in path[:-1]:
                holder[key] = copy.copy(holder[key])
                holder = holder[key]
            value = holder.pop(path[-1])
            if change == "renamed":
                holder[f"_{path[-1]}"] = value
            elif change == "of another type":
                holder[path[-1]] = {"a": 1} if not isinstance(value, dict) else 1
            if len(path) == 1:
                assert not VALIDATOR.is_valid(spoiled), (path, change)
            else:
                assert not parts[path[0]].is_valid(spoiled[path[0]]), (path, change)
    for name, part in parts.items():
        part.validate(record[name])
    VALIDATOR.validate(record)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("algorithms", 0, "verdict"), "maybe"),
        (("algorithms", 0, "risk"), [0.1]),
        (("algorithms", 0, "risk"), [0.1, None]),
        (("algorithms", 0, "lda", "p_value"), 0.0),
        (("algorithms", 0, "lda", "p_value"), 1.5),
        (("algorithms", 0, "selection_rate"), [0.5, 1.5]),
        (("algorithms", 0, "risk_interval", 0), {"low": 0.1}),
        (("algorithms", 0, "distance", "cases", "beside"), "new"),
        (("algorithms", 0, "alternatives", 0, "flagged"), 1),
        (("data", "source", "sha256"), "abc"),
        (("data", "rows"), 12.5),
        (("data", "source", "excluded", "a"), 1),
        (("data", "dropped", "f"), -1),
        (("groups",), ["f"]),
        (("alpha",), 0.5),
        (("schema",), 1),
        (("created",), "yesterday"),
        (("settings", "n_folds"), 5.5),
        (("versions", "numpy"), 2),
        (("request", "algorithms"), {"a": 1}),
        (("sensitivity", 0, "algorithms", "coin", "p_value_adjusted"), 0),
    ],
)
def test_values_out_of_range_do_not_follow_the_schema(path, value, records):
    spoiled = copy.deepcopy(shortened(records["each verdict"]))
    VALIDATOR.validate(spoiled)
    at(spoiled, path[:-1])[path[-1]] = value
    assert not VALIDATOR.is_valid(spoiled)


def test_more_ways_of_asking_are_shown_on_request():
    settings = {"data": "people.csv", "outcome": "y", "group": "sex", "decision": "coin", "seed": 5}

    def ways(**more):
        plan = make_plan(TableFile(small_table(), "people.csv", "0" * 64), AuditRequest(**settings | more))
        return [(way.learner, way.seed) for way in variants(plan)]

    assert ways(learner="factored-logit") == [("factored-logit", 5), ("factored-logit", 6), ("factored-boosting", 5)]
    assert ways(learner="forest") == [("forest", 5), ("forest", 6), ("factored-boosting", 5)]
    assert ways(learner="factored-logit", robustness=True) == [
        *(("factored-logit", seed) for seed in (5, 6, 7)),
        *(("factored-boosting", 5), ("logit-lasso", 5)),
    ]
    assert ways(learner="factored-logit", outcome="amount", loss="squared", robustness=True)[-1] == ("lasso", 5)


def test_only_the_way_that_decides_may_not_fail(monkeypatch):
    monkeypatch.setattr(running, "FairFrontier", quick_frontier)
    settings = {"data": "people.csv", "outcome": "y", "group": "sex", "score": "score", "threshold": 0.0, "draws": 99}
    settings |= {"folds": 2, "repetitions": 1, "learner": "factored-logit"}
    plan = make_plan(TableFile(small_table(), "people.csv", "0" * 64), AuditRequest(**settings, features=("a", "b")))
    fit = running.fit_variant
    failing = None

    def fit_some(plan, variant, n_jobs):
        if variant.decides is failing:
            raise LearnerError("It broke.")
        return fit(plan, variant, n_jobs)

    monkeypatch.setattr(running, "fit_variant", fit_some)
    failing = True
    with pytest.raises(LearnerError, match="It broke"):
        run_audit(plan)
    failing = False
    record = run_audit(plan).record
    assert [run.decides for run in record.sensitivity] == [True]
    assert list(record.warnings) == [
        "Not done: sensitivity, factored-logit, seed 0, with the score. It broke.",
        "Not done: sensitivity, factored-logit, seed 1, without the score. It broke.",
        "Not done: sensitivity, factored-boosting, seed 0, without the score. It broke.",
    ]
    assert record.algorithms[0].both_ways.endswith("could not be computed; see the warnings.")
    VALIDATOR.validate(json.loads(record.to_json()))


@pytest.fixture(scope="module")
def told_before():
    """The plan of an audit, and the warnings of its record."""
    settings = {"data": "people.csv", "outcome": "y", "group": "sex", "decision": "coin", "draws": 99, "folds": 2}
    settings |= {"learner": "factored-logit", "repetitions": 1}
    plan = make_plan(TableFile(small_table(), "people.csv", "0" * 64), AuditRequest(**settings, features=("a", "b")))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(running, "FairFrontier", quick_frontier)
        return plan, run_audit(plan).record.warnings


def test_warnings_of_distances_and_sets_are_told_once(told_before, monkeypatch):
    plan, before = told_before
    monkeypatch.setattr(running, "FairFrontier", quick_frontier)
    make_record = running.make_record

    def and_warn(*arguments, **options):
        for text in [*before, "The set is empty."]:
            warnings.warn(text, EmptySetWarning, stacklevel=2)
        return make_record(*arguments, **options)

    monkeypatch.setattr(running, "make_record", and_warn)
    assert run_audit(plan).record.warnings == (*before, "The set is empty.")


@contextmanager
def usual_filters():
    """Filters as users have them: every warning once, deprecations hidden."""
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        warnings.simplefilter("ignore", DeprecationWarning)
        yield


@usual_filters()
def test_warnings_of_other_libraries_are_told_once(told_before, monkeypatch):
    plan, before = told_before
    monkeypatch.setattr(running, "FairFrontier", quick_frontier)
    fit, ask, make_record = running.fit_variant, running.ask, running.make_record

    def warn_and_fit(plan, variant, n_jobs):
        warnings.warn("It did not\n   converge.", ConvergenceWarning, stacklevel=2)
        warnings.warn("This will go.", DeprecationWarning, stacklevel=2)  # hidden by the filters
        if not variant.decides:
            warnings.warn("Divided by zero.", RuntimeWarning, stacklevel=2)
        if variant.learner != plan.request.learner:
            warnings.warn("Broken.", UserWarning, stacklevel=2)
            raise LearnerError("It broke.")
        return fit(plan, variant, n_jobs)

    def warn_and_ask(*arguments, **options):
        warnings.warn("Overflow.", RuntimeWarning, stacklevel=2)
        return ask(*arguments, **options)

    def warn_and_record(*arguments, **options):
        for text in ("Overflow.", "Underflow."):
            warnings.warn(text, RuntimeWarning, stacklevel=2)
        return make_record(*arguments, **options)

    monkeypatch.setattr(running, "fit_variant", warn_and_fit)
    monkeypatch.setattr(running, "ask", warn_and_ask)
    monkeypatch.setattr(running, "make_record", warn_and_record)
    assert run_audit(plan).record.warnings == (
        *sorted({*before, "ConvergenceWarning: It did not converge.", "RuntimeWarning: Overflow."}),
        "Not done: sensitivity, factored-boosting, seed 0. It broke.",
        "RuntimeWarning: Underflow.",
        "In a run that does not determine the verdict: RuntimeWarning: Divided by zero.",
        "In a run that does not determine the verdict: UserWarning: Broken.",
    )


def test_each_run_is_tested_once(monkeypatch):
    monkeypatch.setattr(running, "FairFrontier", quick_frontier)
    settings = {"data": "people.csv", "outcome": "y", "group": "sex", "decision": "coin", "draws": 99, "folds": 2}
    settings |= {"learner": "factored-logit", "repetitions": 1}
    request = AuditRequest(**settings, algorithms={"by a": "by a"}, features=("a", "b"))
    plan = make_plan(TableFile(small_table(), "people.csv", "0" * 64), request)
    real, calls = questions.lda_evidence, []

    def counted(context, *arguments, **options):
        calls.append(context.function)
        return real(context, *arguments, **options)

    monkeypatch.setattr(questions, "lda_evidence", counted)
    audit = run_audit(plan)
    assert len(calls) == len(variants(plan)) == len(audit.record.sensitivity)
    assert [function is audit.frontier.support_function_ for function in calls] == [True, False, False]
    assert [(a.verdict, a.lda.p_value) for a in audit.record.algorithms] == [
        (found.verdict, found.p_value) for found in audit.record.sensitivity[0].algorithms.values()
    ]


def test_no_jobs_are_refused():
    plan = make_plan(
        TableFile(small_table(), "people.csv", "0" * 64),
        AuditRequest(data="people.csv", outcome="y", group="sex", decision="coin"),
    )
    with pytest.raises(InputError, match="n_jobs must be an integer other than 0"):
        run_audit(plan, n_jobs=0)
