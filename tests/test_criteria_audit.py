"""Audits by selection rates, error rates and profits: options, plan, record, page, and the sequence of a dispute."""

import json
import warnings
from importlib.resources import files

import jsonschema
import numpy as np
import pandas as pd
import pytest
from support.quick import QUICK, quick_frontier
from support.refusals import refused

from fairfrontier import FairFrontier
from fairfrontier.audit import run as running
from fairfrontier.audit.plan import make_plan
from fairfrontier.audit.request import AuditRequest
from fairfrontier.audit.run import run_audit
from fairfrontier.audit.table import TableFile
from fairfrontier.audit.write import audit_tables
from fairfrontier.errors import FairFrontierWarning
from fairfrontier.report.html import render
from fairfrontier.report.sentences import pair_lines

SCHEMA = json.loads(files("fairfrontier.report").joinpath("audit.schema.json").read_text(encoding="utf-8"))
N = 600


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(5)
    group = rng.integers(0, 3, N)
    good, other = rng.normal(size=N), rng.normal(size=N) + group
    y = (rng.random(N) < 1.0 / (1.0 + np.exp(-2.0 * good))).astype(int)
    return pd.DataFrame(
        {
            "good": good,
            "other": other,
            "score": good + other,
            "y": y,
            "g": np.array(["a", "b", "c"])[group],
            "margin": np.where(y == 1, 10.0, -4.0),
        }
    )


def planned(table, **options):
    chosen = {"outcome": "y", "group": "g", "score": "score", "threshold": 1.0, "exclude": ("margin",)} | options
    if "profit" in chosen:
        del chosen["exclude"]
    common = {"data": "people.csv", "learner": "factored-logit", "repetitions": 1, "folds": 2, "draws": 199}
    return make_plan(TableFile(table, "people.csv", "0" * 64), AuditRequest(**(common | chosen)))


def audited(table, **options):
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        patch.setattr(running, "FairFrontier", quick_frontier)
        patch.setattr(running, "variants", lambda plan: running_variants(plan)[:2])
        return run_audit(planned(table, **options))


running_variants = running.variants
TWO = {"groups": ("a", "c"), "fairness": "selection-rate", "accuracy": "overall", "keep": "selection-rate"}
THREE = {"fairness": "false-positive-rate", "accuracy": "overall", "reference": "a"}


@pytest.fixture(scope="module", params=["two", "three", "usual"])
def finished(request, table):
    options = {"two": TWO | {"profit": "margin"}, "three": THREE, "usual": {"groups": ("a", "c")}}[request.param]
    return audited(table, **options)


def test_record_and_page_have_question_figures_and_sequence(finished, table):
    record = finished.record
    plain = json.loads(record.to_json())
    jsonschema.Draft202012Validator(SCHEMA).validate(plain)
    question = finished.plan.question
    assert f"Question    {question}" in finished.plan.lines()
    page, a = render(record), record.algorithms[0]
    assert a.question == question
    assert "Evidence, not a legal finding." in page
    assert "rule of thumb" in page
    assert [line[:2] for line in a.usual.sequence[:3]] == ["1.", "2.", "3."]
    assert question in a.usual.sequence[2]
    assert "evidence, not a legal finding" in a.usual.sequence[3]
    used = table[table["g"].isin(record.groups)]
    for line in a.usual.algorithm:
        own = used[used["g"] == line.group]
        assert line.selection.rate == pytest.approx((own["score"] > 1.0).mean())
        assert line.false_positives.rate == pytest.approx((own["score"] > 1.0)[own["y"] == 0].mean())
        assert line.standardised_difference is not None
    assert len(a.usual.alternative) == (len(record.groups) if a.verdict == "lda-shown" else 0)
    assert pair_lines(record) == [] or len(record.groups) > 2
    assert len(audit_tables(record)["algorithms"]) == 1


def test_what_must_not_get_worse_is_listed(table):
    found = audited(table, **TWO, profit="margin").record.algorithms[0]
    names = ["overall risk", "profit", "the gap", "room for more people selected", "room for fewer people selected"]
    assert [line.name for line in found.widths] == names
    used = table[table["g"] != "b"]
    a = used["score"] > 1.0
    now = [line.now for line in found.widths]
    rates = a.groupby(used["g"]).mean()
    expected = [(a != used["y"]).mean(), (a * used["margin"]).mean(), rates.max() - rates.min(), a.mean(), a.mean()]
    assert now == pytest.approx(expected)


def test_costs_take_the_place_of_the_loss(table):
    plan = planned(table, groups=("a", "c"), cost_false_positive=5.0, cost_false_negative=1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FairFrontierWarning)
        ff = running.fit_variant(plan, running_variants(plan)[0])
    assert ff.loss_.name == "cost(false_positive=5, false_negative=1)"
    a = (plan.inputs.score > 1.0).to_numpy()
    own = plan.inputs.group == "a"
    wrong = 5.0 * (a & (plan.inputs.y == 0)) + 1.0 * (~a & (plan.inputs.y == 1))
    assert ff.risks(a).risk[list(ff.groups_).index("a")] == pytest.approx(wrong[own].mean())
    assert "has no higher an expected loss" in plan.question


def test_contradictory_options_are_refused(table):
    def asked(**options):
        return lambda: planned(table, **options)

    refused("bad-option", "Give both --cost-false-positive", asked(cost_false_positive=2.0))
    refused(
        "bad-option",
        "take the place of --loss",
        asked(cost_false_positive=2.0, cost_false_negative=1.0, loss="squared"),
    )
    refused("bad-loss", "non-negative", asked(cost_false_positive=-2.0, cost_false_negative=1.0))
    refused("bad-option", "cannot be combined with --sequential", asked(accuracy="overall", capacity=0.2))
    refused("bad-option", "cannot be combined with --rules group-aware", asked(accuracy="overall", rules="group-aware"))
    refused("bad-option", "--fairness must be one of", asked(fairness="parity"))
    refused("bad-option", "--keep-tolerance says how exactly", asked(keep_tolerance=0.1))
    refused("bad-features", "no column 'nothing'", asked(profit="nothing"))
    refused("non-finite", "--profit 'g'", asked(group="y", outcome="margin", profit="g", loss="squared"))


def test_reports_from_python(table, tmp_path):
    X, chosen = table[["good", "other"]], {"fairness": "selection-ratio", "accuracy": "overall"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FairFrontierWarning)
        ff = FairFrontier(**QUICK, **chosen, groups=("a", "c"), n_boot=199, n_folds=2, random_state=0)
        ff.fit(X, table["y"], sensitive_features=table["g"])
        page = ff.report(tmp_path / "page.html", {"in use": (table["score"] > 1.0).astype(int)}).read_text()
    assert "that is nearer to one" in page
    assert "room to the ratio" in page
    refused("bad-option", "A report with a capacity", lambda: ff.report(tmp_path / "no.html", capacity=0.3))
