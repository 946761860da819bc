"""The demo against what is known about the population it is drawn from."""

import numpy as np
import pandas as pd
import pytest
from support.quick import quickly
from typer.testing import CliRunner

from fairfrontier.audit import run as running
from fairfrontier.audit import write as writing
from fairfrontier.audit.demo import demo_plan, demo_table, demo_truth
from fairfrontier.audit.run import fit_variant, variants
from fairfrontier.cli import app
from fairfrontier.datasets import hospital_scores, hospital_truth


@pytest.fixture(scope="module")
def fitted():
    plan = demo_plan(20_000, 1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(running, "FairFrontier", quickly(n_boot=499))
        return plan, fit_variant(plan, variants(plan)[0])


def test_estimates_are_near_the_truth(fitted):
    _, ff = fitted
    truth = hospital_truth()
    R, B, F = ff.points_.to_numpy()[:, :2]
    np.testing.assert_allclose(R, truth.R, atol=0.008)
    np.testing.assert_allclose(B, truth.B, atol=0.008)
    low, high = ff.fairest_point().conf_int().T
    assert ((low <= truth.F) & (high >= truth.F)).all()
    assert np.abs(F - truth.F).max() < 0.02


def test_verdicts_are_those_the_truth_calls_for(fitted):
    plan, ff = fitted
    truth = hospital_truth()
    tests = ff.test_lda(dict(plan.inputs.algorithms))
    cost, health = tests["selected by cost score"], tests["selected by health score"]
    assert (cost.verdict, health.verdict) == ("lda-shown", "no-evidence")
    # the best point of Black patients improves on the cost score for both groups and in the gap: it has an alternative
    e = cost.risk
    assert (e - 0.03 > truth.R).all()
    assert abs(truth.R[0] - truth.R[1]) < abs(e[0] - e[1])
    # the confirmed gains are no larger than what is possible
    bounds = cost.witness.lower_bounds(0.05)
    assert (bounds[:2] <= e - [truth.R[0], truth.B[1]] + 0.02).all()


def test_the_truth_is_told_as_it_is(fitted):
    plan, _ = fitted
    told = demo_truth()
    truth = hospital_truth()
    assert f"fairest: {truth.F[0]:.3f} and {truth.F[1]:.3f}" in told

    def decide(X):
        score = hospital_scores(X)["cost score"]
        return score > score.quantile(0.9)

    risks = truth.risks(decide)
    assert f"selected by cost score: {risks[0]:.3f} and {risks[1]:.3f}" in told
    wrong = plan.inputs.algorithms["selected by cost score"] != plan.inputs.y
    black = plan.inputs.group == "Black"
    for risk, members in zip(risks, (black, ~black), strict=True):
        assert abs(wrong[members].mean() - risk) < 4 * np.sqrt(risk * (1 - risk) / members.sum())


def test_the_table_reads_like_a_hospitals():
    table = demo_table(500, 3)
    assert {"race", "needs the programme", "cost score", "selected by cost score"} <= set(table.columns)
    assert set(table["race"]) == {"Black", "White"}
    assert table["selected by health score"].mean() == pytest.approx(0.1, abs=0.01)
    pd.testing.assert_frame_equal(table, demo_table(500, 3))


def test_the_command_leaves_a_report(tmp_path, monkeypatch):
    monkeypatch.setattr(running, "FairFrontier", quickly(n_boot=99))
    monkeypatch.setattr(writing, "_draw", lambda audit, folder: None)  # figures are drawn in the tests of `audit`
    out = tmp_path / "demo"
    done = CliRunner().invoke(app, ["demo", "--rows", "800", "--out", str(out), "--jobs", "1"])
    assert done.exit_code == 0, done.stderr
    assert "Open " in done.stdout
    assert str(out / "report.html") in done.stdout
    assert demo_truth() in done.stdout
    assert (out / "report.html").stat().st_size > 4_000_000
