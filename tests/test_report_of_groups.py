"""Audits and reports of more than two groups: options, plan, record by plain formulas, page, browser, bad input."""

import json
import warnings
from importlib.resources import files

import jsonschema
import numpy as np
import pandas as pd
import pytest
from scipy import stats
from support.browser import DESKTOP, PHONE, launched, opened
from support.quick import QUICK, quick_frontier
from support.refusals import refused
from typer.testing import CliRunner

from fairfrontier import FairFrontier
from fairfrontier.audit import run as running
from fairfrontier.audit.gate import any_verdict
from fairfrontier.audit.plan import make_plan
from fairfrontier.audit.request import AuditRequest, read_config, write_config
from fairfrontier.audit.table import TableFile
from fairfrontier.audit.write import audit_tables
from fairfrontier.cli import app
from fairfrontier.errors import FairFrontierWarning
from fairfrontier.frontier.support import group_means
from fairfrontier.inference.p_values import holm
from fairfrontier.report.html import render
from fairfrontier.report.joint_parts import ratio_interval

axe = pytest.importorskip("axe_playwright_python.sync_playwright")
SCHEMA = json.loads(files("fairfrontier.report").joinpath("audit.schema.json").read_text(encoding="utf-8"))
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
LABELS = ("west", "south", "north")
FLIPPED = {"north": 0.35, "south": 0.45, "west": 0.85}
N = 900


def table_of(n=N, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    region = rng.choice(["north", "south", "west"], n, p=[0.5, 0.3, 0.2])
    slope = pd.Series(region).map({"north": 1.5, "south": 0.5, "west": -1.0}).to_numpy()
    y = (rng.random(n) < 1 / (1 + np.exp(-slope * X[:, 0] - 2 * X[:, 1]))).astype(int)
    return pd.DataFrame(
        {
            "a": X[:, 0],
            "b": X[:, 1],
            "y": y,
            "region": region,
            "band": rng.choice(["old", "young"], n, p=[0.3, 0.7]),
            "in use": np.where(rng.random(n) < pd.Series(region).map(FLIPPED), X[:, 1] <= 0, X[:, 1] > 0).astype(int),
            "near": (X[:, 1] > 0).astype(int),
        }
    )


TABLE = table_of()
ASKED = {
    "data": "people.csv",
    "outcome": "y",
    "group": "region",
    "decision": "in use",
    "algorithms": {"near the best": "near"},
    "features": ("a", "b"),
    "draws": 199,
    "folds": 2,
    "repetitions": 1,
    "learner": "factored-logit",
}


def plan_of(table=TABLE, **settings):
    return make_plan(TableFile(table, "people.csv", "0" * 64), AuditRequest(**ASKED | settings))


def audited(plan):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(running, "FairFrontier", quick_frontier)
        patch.setattr(running, "OTHER_LEARNERS", ())
        return running.run_audit(plan)


@pytest.fixture(scope="module")
def audit():
    return audited(plan_of())


@pytest.fixture(scope="module")
def with_reference():
    return audited(plan_of(reference="north", algorithms={}))


@pytest.fixture(scope="module")
def path(audit, tmp_path_factory):
    file = tmp_path_factory.mktemp("report") / "report.html"
    file.write_text(render(audit.record), encoding="utf-8")
    return file


@pytest.fixture(scope="module")
def chromium():
    with launched() as browser:
        yield browser


# --- the record ------------------------------------------------------------------------------------------------


def test_the_joint_answer_is_that_of_python(audit):
    record, plan = audit.record, audit.plan
    assert record.groups == LABELS
    assert (record.reference, record.compared_with) == (None, "north")  # the largest
    tests = audit.frontier.test_lda(dict(plan.inputs.algorithms))
    assert [a.name for a in record.algorithms] == ["in use", "near the best"]
    for a in record.algorithms:
        test = tests[a.name]
        assert (a.verdict, a.lda.p_value_adjusted) == (test.verdict, test.p_value_adjusted)
        assert a.sentences == tuple(test.sentences())
        assert [line.risk for line in a.groups] == pytest.approx(test.risk.tolist(), rel=1e-12)
        assert a.range == pytest.approx(np.ptp(test.risk))
    assert record.algorithms[0].verdict == "lda-shown"
    w = tests["in use"].witness
    lines = record.algorithms[0].groups
    assert [line.gain for line in lines] == w.gain[:3].tolist()
    assert [line.gain_lower_bound for line in lines] == w.lower_bounds(0.05)[:3].tolist()
    assert record.algorithms[0].widths[0].gain == w.gain[3]
    assert any_verdict(record, "lda-shown")


def test_lines_of_groups_by_plain_formulas(audit):
    z = stats.norm.ppf(0.975)
    lines = {line.group: line for line in audit.record.algorithms[0].groups}
    means = {label: TABLE[TABLE["region"] == label] for label in LABELS}
    base = means["north"]
    wrong_base, n_base, rate_base = (base["in use"] != base["y"]).mean(), len(base), base["in use"].mean()
    for label, own in means.items():
        line, wrong, rate = lines[label], (own["in use"] != own["y"]).mean(), own["in use"].mean()
        assert line.rows == len(own)
        assert (line.risk, line.selection_rate) == (pytest.approx(wrong), pytest.approx(rate))
        error = np.sqrt(wrong * (1 - wrong) / len(own))
        assert line.standard_error == pytest.approx(error, rel=1e-9)
        assert (line.risk_interval.low, line.risk_interval.high) == pytest.approx(
            (wrong - z * error, wrong + z * error)
        )
        assert line.gap == pytest.approx(wrong - wrong_base, abs=1e-12)
        assert line.ratio == pytest.approx(rate / rate_base)
        if label == "north":
            assert line.gap_interval.low is line.ratio_interval.low is None
            continue
        apart = np.sqrt(error**2 + wrong_base * (1 - wrong_base) / n_base)
        assert line.gap_interval.high == pytest.approx(wrong - wrong_base + z * apart)
        of_log = np.sqrt((1 - rate) / (rate * len(own)) + (1 - rate_base) / (rate_base * n_base))
        assert line.ratio_interval.low == pytest.approx(rate / rate_base * np.exp(-z * of_log))
        assert line.ratio_interval.high == pytest.approx(rate / rate_base * np.exp(z * of_log))


def test_ratios_of_groups_that_share_clusters_and_of_nobody():
    rng = np.random.default_rng(0)
    group, a = np.arange(400) % 2, rng.random(400)
    clusters = np.arange(400) // 2  # one row of each group
    rate, covariance = group_means(a, group, np.ones(400), clusters, n_groups=2)
    found = ratio_interval(rate, covariance, (1, 0), 1.96)
    first, second = a[group == 0], a[group == 1]
    influence = (second - rate[1]) / (200 * rate[1]) - (first - rate[0]) / (200 * rate[0])
    half = 1.96 * np.sqrt((influence**2).sum())
    assert found.high == pytest.approx(rate[1] / rate[0] * np.exp(half), rel=1e-9)
    assert ratio_interval(np.array([0.0, 0.5]), covariance, (1, 0), 1.96).low is None
    assert ratio_interval(np.array([0.5, 0.0]), covariance, (1, 0), 1.96).low is None


def test_pairs_are_those_of_python_and_adjusted_together(audit):
    record = audit.record
    pairs = [pair.groups for pair in record.pairs]
    assert pairs == [("west", "south"), ("west", "north"), ("south", "north")]
    assert record.pair_tests == 6
    every = [own for pair in record.pairs for own in pair.algorithms]
    adjusted = holm(np.array([own.p_value for own in every]))
    assert [own.p_value_adjusted for own in every] == pytest.approx(adjusted.tolist())
    pair = audit.frontier.pair("west", "north")
    found = record.pairs[1]
    np.testing.assert_array_equal([p.risk for p in found.points], pair.points_.to_numpy()[:, :2])
    assert found.algorithms[0].p_value == pair.test_lda(TABLE["in use"].to_numpy()).robust_p_value
    np.testing.assert_allclose(found.algorithms[0].risk, pair.risks(TABLE["in use"].to_numpy()).risk, rtol=1e-12)
    low = found.algorithms[0].risk_interval[0].low
    assert low == next(line for line in record.algorithms[0].groups if line.group == "west").risk_interval.low


def test_a_reference_group_determines_gaps_and_pairs(with_reference):
    record = with_reference.record
    assert (record.reference, record.compared_with) == ("north", "north")
    assert [pair.groups for pair in record.pairs] == [("west", "north"), ("south", "north")]
    test = with_reference.frontier.test_lda(TABLE["in use"].to_numpy(), reference="north")
    a = record.algorithms[0]
    assert a.lda.p_value == test.p_value
    assert [line.name for line in a.widths] == ["gap of west", "gap of south"]
    risk = dict(zip(LABELS, test.risk.tolist(), strict=True))
    assert [line.now for line in a.widths] == pytest.approx(
        [abs(risk["west"] - risk["north"]), abs(risk["south"] - risk["north"])]
    )
    page = render(record)
    assert "whose gaps in risk to <bdi>north</bdi> are no wider" in page


def test_records_follow_the_schema(audit, with_reference):
    for found in (audit, with_reference):
        VALIDATOR.validate(json.loads(found.record.to_json()))
    spoiled = json.loads(audit.record.to_json())
    spoiled["algorithms"][0]["groups"][0]["rows"] = 0
    assert not VALIDATOR.is_valid(spoiled)
    del spoiled["pairs"]
    assert not VALIDATOR.is_valid(spoiled)


def test_other_runs_and_tables(audit):
    record = audit.record
    assert [run.seed for run in record.sensitivity] == [0, 1]
    assert record.algorithms[0].other_runs.counted == 1
    tables = audit_tables(record)
    assert set(tables) == {"algorithms", "groups", "pairs", "points", "sensitivity", "learner"}
    assert len(tables["groups"]) == 6
    assert len(tables["pairs"]) == 6
    assert tables["groups"]["ratio_interval_low"].notna().sum() == 4


# --- python ----------------------------------------------------------------------------------------------------


def test_what_a_ban_costs_is_in_record_and_page(audit, path):
    cost = audit.frontier.cost_of_ban()
    ban = audit.record.ban
    assert [p.name for p in ban.points] == list(cost.names)
    np.testing.assert_allclose([p.cost for p in ban.points], cost.cost, atol=1e-12)
    np.testing.assert_allclose([p.low for p in ban.points], cost.intervals[..., 0], atol=1e-12)
    np.testing.assert_allclose([(p.gap_low, p.gap_high) for p in ban.points], cost.gap_intervals, atol=1e-12)
    page = path.read_text(encoding="utf-8")
    assert "What would a ban of the group cost?" in page
    assert "Change in the range" in page
    assert cost.remarks()[0] in page


def test_reports_from_python(tmp_path):
    ff = FairFrontier(
        n_folds=2, n_boot=99, random_state=0, merge={"rest": "*"}, groups=("west", "south", "rest"), **QUICK
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FairFrontierWarning)
        ff.fit(TABLE[["a", "b"]], TABLE["y"], sensitive_features=TABLE["region"])
        file = ff.to_json(tmp_path / "a.json", {"in use": TABLE["in use"]}, reference="rest")
        page = ff.report(tmp_path / "a.html")  # what is attainable, without an algorithm
    record = json.loads(file.read_text())
    VALIDATOR.validate(record)
    assert record["groups"] == ["west", "south", "rest"]
    assert record["data"]["merged"] == {"rest": {"north": int((TABLE["region"] == "north").sum())}}
    assert "Group <bdi>rest</bdi> was put together from <bdi>north</bdi>" in page.read_text()
    refused("unknown-group", "reference names 'east', but", lambda: ff.report(tmp_path / "b", reference="east"))
    refused("too-many-groups", "A report with a capacity", lambda: ff.report(tmp_path / "b", capacity=0.2))


def test_predictions_that_do_not_serve_pairs_leave_them_out(tmp_path):
    t = np.random.default_rng(0).normal(size=(N, 3))
    ff = FairFrontier(n_boot=99, random_state=0)
    with pytest.warns(FairFrontierWarning, match="no better than its mean"):
        ff.fit(None, TABLE["y"], sensitive_features=TABLE["region"], external_nuisance=t)
    record = json.loads(ff.to_json(tmp_path / "a.json", TABLE["in use"]).read_text())
    assert record["pairs"] == []
    assert "does not model the group" in record["without_pairs"]
    page = ff.report(tmp_path / "a.html", TABLE["in use"]).read_text()
    assert 'id="plot"' not in page
    assert "<strong>Not done.</strong>" in page
    assert record["ban"] is None
    assert "fit with a learner" in record["without_ban"]
    assert "<strong>Not estimated.</strong>" in page


# --- options and plan --------------------------------------------------------------------------------------------


def test_columns_are_crossed_merged_and_chosen():
    plan = plan_of(group=("region", "band"), merge={"old": ["north & old", "south & old", "west & old"]})
    assert plan.inputs.groups == ("west & young", "south & young", "old", "north & young")
    counts = TABLE[TABLE["band"] == "old"]["region"].value_counts()
    lines = plan.lines()
    assert (
        f"Merged      old: north & old {counts['north']}, south & old {counts['south']}, west & old {counts['west']}"
        in lines
    )
    assert [line for line in lines if line.startswith("Group ")] == ["Group       region", "Group       band"]
    chosen = plan_of(group=["region", "band"], groups=("west & old", "north & young"))
    assert chosen.inputs.groups == ("west & old", "north & young")
    assert sum(chosen.account.other_groups.values()) + len(chosen.inputs.y) == N


def test_one_group_against_the_rest_is_an_audit_of_two_groups():
    plan = plan_of(groups=("west", "rest"), merge={"rest": "*"})
    assert plan.inputs.groups == ("west", "rest")
    assert (plan.inputs.group == "west").tolist() == (TABLE["region"] == "west").tolist()
    assert plan.account.merged == {
        "rest": {label: int((TABLE["region"] == label).sum()) for label in ("south", "north")}
    }
    starred = TABLE.assign(region=TABLE["region"].replace("south", "*"))
    literally = plan_of(starred, merge={"new": ["*", "north"]})
    assert literally.account.merged["new"].keys() == {"*", "north"}


def small(n_small):
    few = TABLE.copy()
    few["region"] = few["region"].astype(object)
    few.loc[few.index[:n_small], "region"] = "islands"
    few.loc[few.index[0], "in use"] = np.nan  # one of them is not complete
    return few


def test_a_reference_that_is_left_out_is_refused_with_the_reason():
    refused(
        "group-too-small",
        r"--reference names 'islands', which is left out because it has 3 complete rows and a group needs 4 here. "
        r"Put it together with others by --merge.* or name another reference: 'west', 'south'",
        lambda: plan_of(small(4), reference="islands"),
    )
    refused(
        "group-too-small",
        "11 complete rows .* needs 20",
        lambda: plan_of(small(12), smallest_group=20, reference="islands"),
    )
    refused(
        "unknown-group",
        "--reference names 'north', which is not among the groups chosen by --groups: 'west', 'south'. Choose it, too",
        lambda: plan_of(groups=("west", "south"), reference="north"),
    )
    ff = FairFrontier(n_folds=2, n_boot=99, random_state=0, groups=("west", "south"), **QUICK)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FairFrontierWarning)
        ff.fit(TABLE[["a", "b"]], TABLE["y"], sensitive_features=TABLE["region"])
    refused("unknown-group", "not among the groups chosen", lambda: ff.test_lda(TABLE["in use"], reference="north"))
    refused("unknown-group", "Name one of these", lambda: ff.test_lda(TABLE["in use"], reference=["north"]))


def test_small_groups_are_left_out_by_name_and_counted():
    plan = plan_of(small(4))  # three complete rows, and two folds need four
    assert plan.inputs.groups == LABELS
    assert plan.account.small_groups == {"islands": 3}
    assert any(line.startswith("Too small   3 rows of group islands: left out") for line in plan.lines())
    record = audited(plan).record
    assert record.data.source.small_groups == {"islands": 3}
    assert "too small, not used: <bdi>islands</bdi> 3." in render(record)
    assert plan_of(small(12)).inputs.groups == ("west", "south", "north", "islands")
    assert plan_of(small(12), smallest_group=20).account.small_groups == {"islands": 11}
    merged = plan_of(small(4), merge={"west": ["west", "islands"]})
    assert merged.account.small_groups == {}
    assert merged.inputs.groups == LABELS


def test_settings_are_read_and_written_alike(tmp_path):
    request = AuditRequest(
        **ASKED
        | {"group": ["region", "band"], "merge": {"o'ld": ["a", "b"], "rest": "*"}, "groups": ("o'ld", "rest", "c")}
    )
    assert request.group == ("region", "band")
    file = tmp_path / "config.toml"
    file.write_text(write_config(request))
    assert read_config(file) == request
    file.write_text('group = "region"\n[merge]\nrest = "*"\nold = ["a"]\n')
    found = read_config(file)
    assert (found.group, found.merge) == (("region",), {"rest": ("*",), "old": ("a",)})


def command(tmp_path, *more, table=TABLE):
    file = tmp_path / "people.csv"
    table.to_csv(file, index=False)
    options = ["--outcome", "y", "--decision", "in use", "--features", "a,b", "--folds", "2", "--draws", "99"]
    return CliRunner().invoke(app, ["audit", str(file), *options, "--out", str(tmp_path / "out"), *more])


def test_the_command_crosses_merges_and_writes(tmp_path, monkeypatch):
    monkeypatch.setattr(running, "FairFrontier", quick_frontier)
    monkeypatch.setattr(running, "OTHER_LEARNERS", ())
    groups = [
        "--group",
        "region",
        "--group",
        "band",
        "--merge",
        "old=north & old,south & old",
        "--merge",
        "old=west & old",
    ]
    done = command(tmp_path, *groups, "--merge", "rest=*", "--groups", "old,west & young,rest", "--reference", "rest")
    assert done.exit_code == 0, done.output
    assert "Groups      old " in done.output
    assert "in use, pair by pair (adjusted for 2 tests): old and rest: " in done.output
    record = json.loads((tmp_path / "out" / "audit.json").read_text())
    assert record["groups"] == ["old", "west & young", "rest"]
    assert record["request"]["merge"] == {"old": ["north & old", "south & old", "west & old"], "rest": ["*"]}
    assert record["data"]["source"]["group"] == "region & band"
    figures = sorted(path.name for path in (tmp_path / "out" / "figures").glob("*.png"))
    assert figures == ["frontier-1-old-rest.png", "frontier-2-west-young-rest.png"]


@pytest.mark.parametrize(
    ("settings", "code", "text"),
    [
        (
            {"reference": "east"},
            "unknown-group",
            "--reference names 'east', but the groups are 'west', 'south', 'north'",
        ),
        ({"group": ("region", "region")}, "bad-option", "--group names 'region' more than once"),
        ({"group": ("region", "county")}, "bad-features", "no column 'county'"),
        ({"merge": {"x": ["east", "west"]}}, "unknown-group", "--merge names 'east'"),
        ({"merge": {"rest": "*"}}, "bad-option", "name the groups to compare by --groups"),
        (
            {"merge": {"rest": "*"}, "groups": ("west", "south", "north", "rest")},
            "bad-option",
            "finds no group: every group is named",
        ),
        (
            {"smallest_group": 1000},
            "group-too-small",
            r"Fewer than two groups have 1000 rows or more \(--smallest-group\)",
        ),
        ({"smallest_group": -1}, "bad-option", "--smallest-group must be an integer of at least 0"),
        ({"capacity": 0.2}, "too-many-groups", "An audit with --capacity compares two groups, but there are 3"),
        ({"sequential": True}, "too-many-groups", "An audit with --sequential compares two groups"),
        ({"merge": {"north": ["west"]}}, "bad-option", "--merge makes a group 'north', and there is one of that name"),
    ],
)
def test_options_that_cannot_be(settings, code, text):
    refused(code, text, lambda: plan_of(**settings))


def test_groups_that_cannot_be():
    many = TABLE.assign(cell=np.arange(N) % 40)
    refused(
        "too-many-groups",
        r"at most 5 groups, or 8 with a reference group, but there are 40: '\d+' \(2[23] rows\).*by --merge, or name a "
        "reference group by --reference",
        lambda: plan_of(many, group=("cell",)),
    )
    four = TABLE.assign(cell=np.arange(N) % 4)
    refused(
        "too-many-groups",
        r"at most 3 groups, and there are 4. Ask for --accuracy overall, choose some by --groups",
        lambda: plan_of(four, group=("cell",), fairness="selection-rate"),
    )
    blanks = TABLE.assign(region=TABLE["region"].where(TABLE.index % 7 > 0, "north "))
    refused("unknown-group", "differ by blanks only: .* in a config file", lambda: plan_of(blanks))
    nobody = TABLE.assign(**{"in use": TABLE["in use"].where(TABLE["region"] != "west")})
    assert plan_of(nobody).account.small_groups == {"west": 0}
    one_fold = np.where(TABLE["region"] == "west", 1, np.arange(N) % 3 + 1)
    refused(
        "bad-folds",
        "west",
        lambda: FairFrontier(folds=one_fold, **QUICK).fit(
            TABLE[["a", "b"]], TABLE["y"], sensitive_features=TABLE["region"]
        ),
    )


# --- the page ----------------------------------------------------------------------------------------------------


def test_the_page_is_small_and_says_what_the_record_says(audit, path):
    page = path.read_text(encoding="utf-8")
    assert len(page.encode()) < 6_000_000
    places = [page.index(f'id="{name}"') for name in ("answer", "points", "pairs", "picture")]
    assert places == sorted(places)
    np.testing.assert_array_equal([p.risk for p in audit.record.points], audit.frontier.points_.to_numpy()[:, :3])
    assert 'id="questions"' not in page
    assert "no worse for any of the 3 groups and has no wider a range of risks" in page


def violations(tab):
    found = axe.Axe().run(tab.page).response["violations"]
    wanted = ("moderate", "serious", "critical")
    return [(v["impact"], v["id"], [n["html"][:120] for n in v["nodes"][:3]]) for v in found if v["impact"] in wanted]


@pytest.mark.parametrize(("scheme", "size"), [("light", DESKTOP), ("dark", PHONE)])
def test_axe_finds_nothing_and_nothing_goes_wrong(chromium, path, scheme, size):
    with opened(chromium, path, color_scheme=scheme, viewport=size) as tab:
        assert violations(tab) == []
        assert tab.complaints == []
        assert tab.page.evaluate("document.documentElement.scrollWidth") <= size["width"]


def test_pairs_are_chosen_by_keyboard_and_drawn(chromium, path, audit):
    with opened(chromium, path) as tab:
        tab.page.locator("#pair").focus()
        tab.page.keyboard.press("ArrowDown")
        pair = audit.record.pairs[1]
        tab.page.wait_for_function("document.getElementById('plot').layout.xaxis.title.text.includes('west')")
        assert tab.texts('[data-side="1"]') == ["north"] * len(tab.texts('[data-side="1"]'))
        assert "north" in tab.page.evaluate("document.getElementById('plot').layout.yaxis.title.text")
        assert tab.page.locator("#too-weak").is_visible() == bool(pair.contradictions)
        middle = pair.rules[50]
        assert tab.texts("#rule [data-field=risk]") == [f"{100 * value:.2f}%" for value in middle.risk]
        x = tab.page.evaluate("document.getElementById('plot').data[0].x.slice(0, 3)")
        assert x == [corner[0] for corner in pair.picture.set[:3]]
        tab.page.emulate_media(media="print")
        assert not tab.page.locator("#pair").is_visible()
        assert tab.page.locator(".matrix").first.is_visible()
        assert tab.page.pdf(prefer_css_page_size=True).startswith(b"%PDF")
