"""Audits of rows that are read in parts: the plan and the figures of the same rows as a table, and what goes wrong."""

import hashlib
import json
from importlib.resources import files
from pathlib import Path

import jsonschema
import numpy as np
import pytest
from support.parts import people, write_parts
from support.quick import quick_frontier
from typer.testing import CliRunner

from fairfrontier import in_parts
from fairfrontier.audit import opening
from fairfrontier.audit import run as running
from fairfrontier.audit import survey as surveying
from fairfrontier.audit.opening import open_plan
from fairfrontier.audit.plan import make_plan
from fairfrontier.audit.request import AuditRequest
from fairfrontier.audit.run import fit_variant, run_audit, variants
from fairfrontier.audit.table import TableFile, read_table
from fairfrontier.audit.write import write_audit
from fairfrontier.cli import app
from fairfrontier.errors import InputError

N, LEARNED = 1600, 1000
SETTINGS = {"outcome": "y", "group": "group", "decision": "in use", "exclude": ("chance",), "folds": 2, "draws": 99}
SETTINGS |= {"learner": "factored-logit", "read": "parts"}


def table():
    """People of two groups and a few of others, with gaps everywhere."""
    rng = np.random.default_rng(5)
    frame = people(N).drop(columns=["t_two", "t_one"])
    frame["score"] = (frame["x1"] + rng.normal(size=N)).round(3)
    frame["old"] = np.where(rng.random(N) < 0.3, 1.0, 2.0)
    frame["said"] = np.where(frame["y"] == 1, "yes", "no")
    frame["in use"] = frame["in use"].astype(float)
    frame.loc[rng.random(N) < 0.01, ["group", "in use"]] = [None, np.nan]
    frame.loc[rng.random(N) < 0.01, "in use"] = np.nan
    frame.loc[rng.random(N) < 0.02, "y"] = np.nan
    frame.loc[rng.random(N) < 0.01, "said"] = None
    frame.loc[[7, 1200, 1201], "group"] = "few"
    frame.loc[800:1099, "group"] = "one"  # a part with one group only
    return frame


TABLE = table()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    where = tmp_path_factory.mktemp("rows")
    write_parts(TABLE, where / "parquet", [700, 100, 300, 500])
    for k, part in enumerate(np.array_split(np.arange(N), 3)):
        TABLE.iloc[part].to_csv(where / f"{k}.csv", index=False)
    return where


@pytest.fixture(scope="module")
def quickly():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(running, "FairFrontier", quick_frontier)
        patch.setattr(in_parts, "BLOCK", 512)
        yield


def request_of(folder, **options):
    given = {} if folder is None else {"data": str(folder / "parquet")}
    return AuditRequest(**(SETTINGS | given | options))


def differing(plan):
    """The lines of a plan that may depend on how rows are read."""
    return [line for line in plan.lines() if not line.startswith(("File", "Read", "Rules"))]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"missing": "drop", "weights": "weight", "decision": None, "score": "score", "threshold": 0.25},
        {"outcome": "said", "positive": "yes", "algorithms": {"other": "true"}},
        {"group": ("group", "old"), "groups": ("one & 1", "rest"), "merge": {"rest": "*"}},
    ],
)
def test_the_plan_is_that_of_the_table(folder, options):
    parts = open_plan(request_of(folder, **options))
    whole = make_plan(TableFile(TABLE, "rows", "0" * 64), request_of(folder, **options | {"copies": "ignore"}))
    assert differing(parts) == differing(whole)
    for name in ("roles", "excluded", "noted", "dropped", "other_groups", "small_groups", "merged", "gaps", "lost"):
        assert getattr(parts.account, name) == getattr(whole.account, name), name
    assert (parts.rows_read, parts.columns) == (N, tuple(TABLE.columns))


def test_counts_are_of_all_rows_where_the_plan_looks_at_some(folder, monkeypatch):
    whole = open_plan(request_of(folder))
    monkeypatch.setattr(surveying, "PLAN_ROWS", 400)
    some = open_plan(request_of(folder))
    assert len(some.inputs.y) < 400
    assert some.parts.looked_at == 400
    assert (some.sizes, some.parts.rates) == (whole.sizes, whole.parts.rates)
    for name in ("dropped", "gaps", "small_groups", "lost"):
        assert getattr(some.account, name) == getattr(whole.account, name), name


def test_groups_that_are_not_chosen_are_not_judged_and_errors_count_people(tmp_path):
    frame = TABLE.assign(**{"in use": TABLE["in use"].where(TABLE["group"] != "few", 7.0)})
    write_parts(frame, tmp_path / "parquet", [N])
    with pytest.raises(InputError, match="--decision 'in use'"):
        open_plan(request_of(tmp_path))
    chosen = open_plan(request_of(tmp_path, groups=("two", "one")))
    assert chosen.parts.rates == open_plan(request_of(tmp_path, groups=("one", "two"))).parts.rates
    kept = used()
    assert chosen.parts.rates["in use"] == pytest.approx(kept["in use"].mean(), abs=1e-12)
    merged = request_of(tmp_path, groups=("all", "two"), merge={"all": ("one", "few")})
    with pytest.raises(InputError, match="--decision 'in use'"):
        open_plan(merged)
    n = int((frame["group"] == "one").sum())
    with pytest.raises(InputError, match=rf"'one' \({n:,} rows\)"):
        open_plan(request_of(tmp_path, groups=("one", "none")))


@pytest.fixture(scope="module")
def audit(folder, quickly):
    return run_audit(open_plan(request_of(folder, learn_rows=LEARNED)))


def used():
    kept = TABLE.dropna(subset=["y", "group", "in use"])
    return kept[kept["group"] != "few"]


def test_the_record_has_the_figures_of_all_rows_in_use(audit, tmp_path):
    record, rows = audit.record, used()
    own = record.algorithms[0]
    assert record.groups == ("two", "one")
    for g, label in enumerate(record.groups):
        people_ = rows[rows["group"] == label]
        assert record.data.rows_by_group[label] == len(people_)
        assert np.isclose(own.risk[g], (people_["in use"] != people_["y"]).mean(), atol=1e-14)
        assert np.isclose(own.usual.algorithm[g].selection.rate, people_["in use"].mean(), atol=1e-14)
        assert own.usual.algorithm[g].rows == len(people_)
    told = record.data.in_parts
    assert (told.rows_read, told.rows_learned) == (N, LEARNED)  # of the rows in use
    assert record.data.source.rows_read == N
    assert [run.decides for run in record.sensitivity] == [True, False, False]
    assert record.settings.n_rep == 3
    write_audit(audit, tmp_path / "out")
    schema = json.loads(files("fairfrontier.report").joinpath("audit.schema.json").read_text(encoding="utf-8"))
    jsonschema.validate(json.loads((tmp_path / "out" / "audit.json").read_text(encoding="utf-8")), schema)
    assert told.sentence in (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "Read        in parts: 1,000 rows" in (tmp_path / "out" / "plan.txt").read_text(encoding="utf-8")


def same_cells(one, other):
    cells, own = (ff.fit_.plane().function.scores for ff in (one, other))
    return all(
        getattr(cells, name).tobytes() == getattr(own, name).tobytes() for name in ("t", "group", "weight", "counts")
    )


def test_other_files_and_a_cluster_give_the_same_bits(audit, folder):
    distributed = pytest.importorskip("distributed")
    first = variants(audit.plan)[0]
    text = open_plan(request_of(folder, data=str(folder / "*.csv"), learn_rows=LEARNED))
    assert text.lines()[1:] == audit.plan.lines()[1:]
    assert same_cells(audit.frontier, fit_variant(text, first))
    with distributed.Client(processes=False, n_workers=1, threads_per_worker=1, dashboard_address=None) as client:
        there = open_plan(request_of(folder, learn_rows=LEARNED, read="auto"), client=client)
        assert there.lines()[1:] == audit.plan.lines()[1:]
        assert same_cells(audit.frontier, fit_variant(there, first))
        with pytest.raises(InputError, match="--dask is for rows that are read in parts"):
            open_plan(request_of(folder, read="whole"), client=client)


def command(*arguments):
    return CliRunner().invoke(app, ["audit", *map(str, arguments)])


def typed(data, *more):
    return (data, "--outcome", "y", "--group", "group", "--decision", "in use", "--exclude", "chance", *more)


def test_files_are_read_in_parts_above_a_number_of_rows(folder, monkeypatch):
    TABLE.to_csv(folder / "all.CSV", index=False)
    TABLE.to_parquet(folder / "all.parquet", index=False)
    for limit, in_parts_ in ((N, False), (N - 1, True)):
        monkeypatch.setattr(opening, "IN_PARTS_ABOVE", limit)
        for data in (folder / "[0-9].csv", folder / "all.CSV", folder / "all.parquet"):
            printed = command(*typed(data), "--dry-run")
            assert printed.exit_code == 0, printed.output
            assert ("Read        in parts" in printed.output) == in_parts_, data
            assert f"{N:,} rows, {TABLE.shape[1]} columns" in printed.output
    several = open_plan(request_of(folder, read="whole"))
    one = make_plan(read_table(folder / "all.parquet"), several.request)
    assert several.lines()[1:] == one.lines()[1:]
    every = b"".join(path.read_bytes() for path in sorted((folder / "parquet").iterdir()))
    assert several.file.sha256 == hashlib.sha256(every).hexdigest()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"capacity": 0.2}, "cannot be combined with --capacity: leave it out, or .* --read whole"),
        ({"sequential": True}, "--sequential"),
        ({"clusters": "code"}, "--clusters"),
        ({"rules": "group-aware"}, "--rules group-aware"),
        ({"accuracy": "overall"}, "--fairness, --accuracy, --keep and --profit"),
        ({"decision": None, "score": "score", "top": 0.1}, r"--top \(give --threshold instead\)"),
        ({"group": ("group", "old")}, "compares two groups, but there are 4: .*Choose two by --groups .*--read whole"),
        ({"group": "score"}, "more than 500 kinds .*'score' has"),
        ({"group": "nobody"}, "The file has no column 'nobody'"),
        ({"read": "all"}, "--read must be auto or whole or parts; got 'all'"),
        ({"learn_rows": 5}, "--learn-rows must be an integer of at least 100"),
        ({"decision": "x1"}, r"\d\.parquet: .*--decision 'x1'"),
        ({"data": "nowhere/*.csv"}, r"There is no file 'nowhere/\*\.csv'"),
    ],
)
def test_what_rows_in_parts_do_not_take_is_said(folder, options, said, monkeypatch):
    monkeypatch.setattr(surveying, "MOST_KINDS", 500)
    with pytest.raises(InputError, match=said):
        open_plan(request_of(folder, **options))


def test_decisions_that_see_the_group_are_told_of_and_compared_with_rules_that_do_not(folder, tmp_path):
    changed = TABLE.assign(**{"in use": (TABLE["group"] == "one").astype(int)})
    changed = changed[["y", "group", "in use", "code", "true"]]
    plan = open_plan(request_of(folder, data=str(write_parts(changed, tmp_path / "p", [N])), exclude=()))
    told = plan.compared_with()
    assert told[0].startswith("Decisions of in use depend on the group")
    assert told[-1].endswith("because those that do cannot be combined with rows that are read in parts")
    assert plan.rules == "group-blind"


def test_what_ends_an_audit_leaves_nothing_and_is_named(folder, quickly, tmp_path, monkeypatch):
    parts = write_parts(TABLE, tmp_path / "parts", [800, 800])
    arguments = (
        *typed(parts, "--read", "parts", "--learner", "factored-logit", "--folds", 2),
        "--out",
        tmp_path / "out",
    )
    count_cells = in_parts.count_cells

    def stopped(*given, **options):
        raise KeyboardInterrupt

    def broken(*given, **options):  # a file that goes bad between two passes
        (parts / "1.parquet").write_bytes(b"PAR1")
        return count_cells(*given, **options)

    for does, code, said in (
        (stopped, 130, "Interrupted; nothing was written."),
        (broken, 2, "1.parquet cannot be read"),
    ):
        monkeypatch.setattr(in_parts, "count_cells", does)
        found = command(*arguments)
        assert found.exit_code == code, found.output
        assert said in " ".join(found.output.split())
        assert sorted(path.name for path in tmp_path.iterdir()) == ["parts"]
    found = command(*arguments)
    assert found.exit_code == 2
    assert "1.parquet cannot be read" in " ".join(found.output.split())


def test_rows_that_are_others_than_when_the_audit_was_planned_are_refused(quickly, tmp_path):
    TABLE.to_csv(tmp_path / "rows.csv", index=False)
    plan = open_plan(request_of(None, data=str(tmp_path / "rows.csv"), learn_rows=LEARNED))
    renamed = TABLE["group"].where(np.arange(N) != 5, "neither")  # a label that the plan has not seen
    TABLE.assign(group=renamed).to_csv(tmp_path / "rows.csv", index=False)
    with pytest.raises(InputError, match="changed while they were read"):
        fit_variant(plan, variants(plan)[0])


@pytest.mark.slow
def test_a_cluster_of_processes_audits(folder, quickly, tmp_path):
    more = ("--learner", "factored-logit", "--folds", 2, "--draws", 99, "--learn-rows", 500, "--read", "parts")
    for name, own in (("here", ()), ("there", ("--dask", "local", "--jobs", 2))):
        found = command(*typed(folder / "parquet", *more), "--out", tmp_path / name, *own)
        assert found.exit_code == 0, found.output
    here, there = (json.loads((Path(tmp_path) / name / "audit.json").read_text()) for name in ("here", "there"))
    assert here | {"created": ""} == there | {"created": ""}


def test_a_scheduler_that_is_not_there_is_named(folder):
    pytest.importorskip("distributed")
    found = command(*typed(folder / "parquet"), "--dask", "nonsense://x:1")
    assert found.exit_code == 2
    assert "No dask scheduler can be reached at 'nonsense://x:1'" in " ".join(found.output.split())
