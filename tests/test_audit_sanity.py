"""What makes an audit worth little is said: few rows or outcomes, decisions all alike, thresholds beyond all scores."""

import json

import numpy as np
import pandas as pd
import pytest
from support.quick import quickly
from typer.testing import CliRunner

from fairfrontier.audit import run as running
from fairfrontier.audit import write as writing
from fairfrontier.audit.opening import open_plan
from fairfrontier.audit.plan import make_plan
from fairfrontier.audit.request import AuditRequest
from fairfrontier.audit.table import TableFile
from fairfrontier.cli import app


def people(n=400, few=100):
    """People of two groups; ``few`` of group f have the outcome 1."""
    rng = np.random.default_rng(0)
    sex = np.where(np.arange(n) % 2 == 0, "f", "m")
    y = rng.permutation(n) % 2
    y[sex == "f"] = np.arange((sex == "f").sum()) < few
    return pd.DataFrame({"a": rng.normal(size=n), "sex": sex, "y": y, "score": np.linspace(0, 1, n)})


def warned(table, **settings):
    defaults = {"data": "people.csv", "outcome": "y", "group": "sex", "score": "score", "threshold": 0.5}
    plan = make_plan(TableFile(table, "people.csv", "0" * 64), AuditRequest(**defaults | settings))
    assert all(f"WARNING     {text}" in plan.lines() for text in plan.warnings())
    return plan.warnings()


def test_a_plain_audit_is_not_warned_of():
    assert warned(people()) == []


@pytest.mark.parametrize(("n", "expected"), [(299, True), (300, False)])
def test_few_rows(n, expected):
    assert any(f"Only {n} rows are used" in text for text in warned(people(n))) == expected


@pytest.mark.parametrize(("few", "expected"), [(49, True), (50, False), (151, True), (150, False)])
def test_few_of_an_outcome(few, expected):
    found = [text for text in warned(people(few=few)) if "Few rows of an outcome" in text]
    assert bool(found) == expected
    if expected:
        assert "49 of group f with outcome " + ("1" if few == 49 else "0") in found[0]


def test_outcomes_of_many_values_are_not_counted():
    table = people()
    assert warned(table.assign(y=table["a"] + table["score"] ** 2), loss="squared") == []


def test_all_or_nobody_selected_and_thresholds_outside_the_scores():
    nobody, outside = warned(people(), threshold=(0.5, 1.5))
    assert nobody.startswith("score above 1.5 selects nobody (0%)")
    assert outside == "--threshold 1.5 lies outside the scores, which go from 0 to 1"
    everybody, below = warned(people(), threshold=-1)
    assert everybody.startswith("score above -1 selects everybody (100%)")
    assert "--threshold -1 lies outside" in below
    assert [t[:26] for t in warned(people(), threshold=1)] == ["score above 1 selects nobo"]  # 1 is a score
    assert warned(people(), threshold=(), group_threshold={"f": 0.5, "m": 7}) == [
        "--group-threshold 7 lies outside the scores, which go from 0 to 1"
    ]


def test_rows_in_parts_are_warned_of_by_what_is_known_of_all(tmp_path):
    people(few=10).to_csv(tmp_path / "people.csv", index=False)
    request = {"data": tmp_path / "people.csv", "outcome": "y", "group": "sex", "score": "score", "threshold": 2}
    found = open_plan(AuditRequest(**request, read="parts")).warnings()
    assert any("selects nobody" in text for text in found)


def test_warnings_are_in_terminal_page_and_record_and_a_replaced_audit_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr(running, "FairFrontier", quickly(n_boot=99))
    monkeypatch.setattr(writing, "_draw", lambda audit, folder: None)
    people(n=200, few=20).to_csv(tmp_path / "people.csv", index=False)
    out = tmp_path / "audit"
    out.mkdir()
    (out / "audit.json").write_text("{}")
    words = ["--outcome", "y", "--group", "sex", "--score", "score", "--threshold", "0.5", "--out", str(out)]
    done = CliRunner().invoke(app, ["audit", str(tmp_path / "people.csv"), *words])
    assert done.exit_code == 0, done.output
    assert f"{out} has an earlier audit, which is replaced when this one is done." in done.output
    assert done.output.rstrip().endswith(f"The earlier audit in {out} was replaced.")
    page, record = (out / "report.html").read_text(), json.loads((out / "audit.json").read_text())
    for text in ("Only 200 rows are used", "20 of group f with outcome 1"):
        for start in ("WARNING     ", "Note: "):
            assert any(line.startswith(start) and text in line for line in done.output.splitlines())
        assert text in page
        assert any(text in warning for warning in record["warnings"])
