"""The report as readers meet it: in a real browser, with mouse and keyboard, in the dark, on a phone, on paper."""

import json
import re
import shutil

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from support.browser import DESKTOP, PHONE, launched, opened
from support.people import people
from support.quick import QUICK
from support.records import changed, record_of

from fairfrontier import FairFrontier
from fairfrontier.audit import run as running
from fairfrontier.audit.plan import make_plan
from fairfrontier.audit.request import AuditRequest
from fairfrontier.audit.table import TableFile
from fairfrontier.audit.write import check_folder
from fairfrontier.errors import InputError, MissingDependencyError
from fairfrontier.report.html import render
from fairfrontier.report.interactive import PlaneFigure
from fairfrontier.report.paper import BROWSERS, write_pdf

axe = pytest.importorskip("axe_playwright_python.sync_playwright")

X, Y, G = people(1500)
LABELS = ("women", "men")
MINUS = "\u2212"
DARK_GROUND, LIGHT_GROUND = "rgb(18, 23, 31)", "rgb(243, 245, 248)"
DARK_INK, LIGHT_INK = "rgb(231, 235, 243)", "rgb(26, 34, 51)"

SCRIPT = "<script>alert(1)</script>"
IMAGE = '"><img src=x onerror=alert(1)>'
LINK = '<a href="javascript:alert(1)">x</a>'
END = "</script></style></title><b>x</b>"
ODD = "{{ 7 * 7 }} %{x} $y$ &lt;b&gt; it's \\u0041"
ARABIC, HEBREW, EMOJI = "شركة أ", "קבוצה ב", "👩🏽\u200d⚕️"
HOSTILE_GROUPS = (f"{ARABIC} {SCRIPT}", f"{EMOJI} {LINK}")
HOSTILE_ALGORITHMS = (f"{IMAGE} {'x' * 200}", f"{END} {ODD}")
HOSTILE_OUTCOME, HOSTILE_GROUP = f"{HEBREW} {SCRIPT}", f"{LINK} {IMAGE}"


@pytest.fixture(scope="module")
def chromium():
    with launched() as browser:
        yield browser


@pytest.fixture(scope="module")
def ff():
    return FairFrontier(**QUICK, n_boot=200, random_state=0).fit(X, Y, sensitive_features=G)


@pytest.fixture(scope="module")
def record(ff):
    """One algorithm for each verdict."""
    near = np.asarray(ff.support_function_.selected(np.array([-1.0, -1.0])), dtype=float)
    algorithms = {"the opposite": 1.0 - near, "near the frontier": near, "all knowing": Y.astype(float)}
    return record_of(ff, algorithms)


@pytest.fixture(scope="module")
def path(record, tmp_path_factory):
    file = tmp_path_factory.mktemp("report") / "report.html"
    file.write_text(render(record), encoding="utf-8")
    return file


@pytest.fixture(scope="module")
def tab(chromium, path):
    """A tab for tests that leave it as it was."""
    with opened(chromium, path, alone=True) as found:
        yield found


@pytest.fixture
def fresh(chromium, path):
    with opened(chromium, path) as found:
        yield found


def by_logistic_regression(learner, **options):
    """Stand in for `FairFrontier` where an audit of hundreds of columns makes it."""
    return FairFrontier(learner=make_pipeline(StandardScaler(), LogisticRegression()), **options)


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    """Record and page of an audit whose file has 300 columns and names as bad as they come."""
    rng = np.random.default_rng(0)
    x, y, g = people(400, seed=1)
    columns = {
        f"{i} {name}": rng.normal(size=400) for i, name in enumerate([SCRIPT, IMAGE, LINK, END, ODD, ARABIC, EMOJI])
    }
    columns |= {"y" * 200: x[:, 0], "x1": x[:, 1], "x2": x[:, 2]}
    columns |= {f"noise {i} {HEBREW}": rng.normal(size=400) for i in range(284)}
    columns |= {f"constant {SCRIPT}": np.ones(400), f"copy {IMAGE}": y}
    table = pd.DataFrame(columns).assign(
        **{
            HOSTILE_OUTCOME: y,
            HOSTILE_GROUP: np.where(g == "women", *HOSTILE_GROUPS),
            HOSTILE_ALGORITHMS[0]: (x[:, 0] < 0.0).astype(int),
            "decisions": (x[:, 1] > 0.0).astype(int),
        }
    )
    table.loc[:9, f"0 {SCRIPT}"] = np.nan
    assert table.shape[1] == 300
    request = AuditRequest(
        data="hostile.csv",
        missing="drop",
        outcome=HOSTILE_OUTCOME,
        group=HOSTILE_GROUP,
        decision=HOSTILE_ALGORITHMS[0],
        algorithms={HOSTILE_ALGORITHMS[1]: "decisions"},
        learner="factored-logit",
        draws=99,
        folds=2,
        repetitions=1,
        title=f"{END} {SCRIPT}",
    )
    folder = tmp_path_factory.mktemp("hostile")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(running, "OTHER_LEARNERS", ())  # one other seed is enough here
        patch.setattr(running, "FairFrontier", by_logistic_regression)
        record = running.run_audit(make_plan(TableFile(table, f"{SCRIPT}.csv", "0" * 64), request)).record
    (folder / "audit.json").write_text(record.to_json(), encoding="utf-8")
    (folder / "report.html").write_text(render(record), encoding="utf-8")
    return folder


def numbers(tab, field):
    """What the table of the slider's rule says: the numbers behind it, and the texts."""
    cells = tab.page.locator(f'#rule [data-field="{field}"]')
    return [float(cell.get_attribute("data-value")) for cell in cells.all()], cells.all_text_contents()


def direction(weight):
    return -np.array([weight, 1.0 - weight]) / np.hypot(weight, 1.0 - weight)


def expected(ff, q):
    """Risks, selection rates and error rates of the rule of a direction, group by group."""
    selected = np.asarray(ff.support_function_.selected(q), dtype=bool)
    own = [label == G for label in LABELS]
    return {
        "risk": ff.support_set(q[None])[0].tolist(),
        "selection_rate": [selected[g].mean() for g in own],
        "false_positive_rate": [selected[g & (Y == 0)].mean() for g in own],
        "false_negative_rate": [1.0 - selected[g & (Y == 1)].mean() for g in own],
    }


def check_rule(tab, ff, position):
    weight = position / 100
    q = direction(weight)
    assert tab.text("#weight-shown") == f"{weight:.2f} to {1 - weight:.2f}"
    for field, values in expected(ff, q).items():
        found, texts = numbers(tab, field)
        np.testing.assert_allclose(found, values, rtol=0, atol=2e-8)
        digits = 2 if field == "risk" else 1
        for text, value in zip(texts, values, strict=True):
            assert re.fullmatch(rf"\d+\.\d{{{digits}}}%", text)
            assert float(text[:-1]) == pytest.approx(100 * value, abs=0.51 * 10**-digits)


def violations(tab, impacts=("moderate", "serious", "critical")):
    found = axe.Axe().run(tab.page).response["violations"]
    return [(v["impact"], v["id"], [n["html"][:120] for n in v["nodes"][:3]]) for v in found if v["impact"] in impacts]


def colour(tab, selector, what="color"):
    return tab.page.locator(selector).first.evaluate(f"(node) => getComputedStyle(node)['{what}']")


def tick_colour(tab):
    return colour(tab, "#plot .xtick text", "fill")


def wide(tab):
    return tab.page.evaluate("document.documentElement.scrollWidth") - tab.page.viewport_size["width"]


def test_nothing_is_fetched_and_nothing_goes_wrong(tab, path):
    assert tab.requests == [path.as_uri()]
    assert tab.complaints == []
    assert tab.page.locator("#plot .scatterlayer .trace").count() >= 8


def test_every_verdict_is_told_as_in_the_record(tab, record):
    assert {a.verdict for a in record.algorithms} == {"lda-shown", "no-evidence", "not-comparable"}
    assert tab.texts(".card h3") == [a.name for a in record.algorithms]
    assert tab.texts(".card .headline") == [a.headline for a in record.algorithms]
    assert tab.texts(".card .p-value strong") == [f"{a.lda.p_value_adjusted:.3f}" for a in record.algorithms]
    assert tab.texts(".card .chip") == ["alternative shown", "no evidence", "not comparable"]
    assert tab.texts(".limits li") == list(record.limits)


def test_the_alternative_shown_comes_with_its_numbers(tab, record):
    own = record.algorithms[0]
    witness = own.lda.witness
    row = tab.page.locator(".card.lda-shown tr.gain td").all_text_contents()
    for cell, gain, bound in zip(row, witness.gain, witness.lower_bounds, strict=True):
        assert f"{100 * gain:.2f} pts" in cell
        assert f"at least {100 * bound:.2f} pts".replace("-", MINUS) in cell
    rates = tab.texts(".card.lda-shown .figures table:nth-of-type(2) tbody td")
    now, then = (
        [f"{100 * rate:.1f}%" for rate in rule.selection_rate] + [f"{rule.selection_ratio:.2f}"]
        for rule in (own, witness)
    )
    assert rates == now + then


@pytest.mark.parametrize("position", [0, 13, 50, 77, 100])
def test_the_slider_shows_the_rule_of_its_direction(tab, ff, position):
    tab.page.locator("#weight").fill(str(position))
    check_rule(tab, ff, position)
    drawn = tab.page.evaluate(
        "(() => { const d = document.getElementById('plot').data.at(-1); return [d.x[0], d.y[0]]; })()"
    )
    np.testing.assert_allclose(drawn, ff.support_set(direction(position / 100)[None])[0], atol=1e-12)


def test_the_slider_obeys_the_keyboard(fresh, ff):
    check_rule(fresh, ff, 50)
    fresh.page.locator("#weight").focus()
    for _ in range(3):
        fresh.page.keyboard.press("ArrowRight")
    check_rule(fresh, ff, 53)
    fresh.page.keyboard.press("Home")
    fresh.page.keyboard.press("ArrowUp")
    check_rule(fresh, ff, 1)
    assert fresh.page.locator("#weight").get_attribute("aria-valuetext") == "women 0.01, men 0.99"
    assert f"Risk of women {fresh.texts('#rule [data-field=risk]')[0]}" in fresh.text("#rule-words")


def test_hovering_the_frontier_tells_direction_risks_and_shares(fresh, record):
    fresh.page.locator("#weight").fill("0")  # out of the way
    fresh.page.locator("#plot").scroll_into_view_if_needed()
    markers = [p.risk for p in record.points + record.algorithms] + [record.rules[0].risk]

    def lonely(point):
        return min(np.hypot(*np.subtract(point.risk, other)) for other in markers)

    point = max(record.picture.frontier, key=lonely)
    fresh.page.mouse.move(*fresh.pixel(point.risk))
    fresh.page.wait_for_selector("#plot .hoverlayer .hovertext")
    told = fresh.text("#plot .hoverlayer .hovertext").replace("\u2068", "").replace("\u2069", "").replace(MINUS, "-")
    q = tuple(float(number) for number in re.search(r"direction \((.*?), (.*?)\)", told).groups())
    np.testing.assert_allclose(q, point.direction, atol=0.02)
    risks = re.search(r"risk of women ([\d.]+)%, of men ([\d.]+)%", told).groups()
    np.testing.assert_allclose(np.array(risks, dtype=float) / 100, point.risk, atol=0.01)
    shares = re.search(r"selection rate: ([\d.]+)% of women, ([\d.]+)% of men", told).groups()
    np.testing.assert_allclose(np.array(shares, dtype=float) / 100, point.selection_rate, atol=0.03)


def test_the_interactive_figure_has_the_parts_and_words_of_the_page(tab, record):
    drawn = tab.page.evaluate("document.getElementById('plot').data")[:-1]  # the rule of the slider is on the page only
    algorithms = record.algorithms
    traces = PlaneFigure(record.groups, shares=True).traces(record.picture, record.points, algorithms, record.alpha)
    assert len(drawn) == len(traces) >= 8
    for on_page, trace in zip(drawn, traces, strict=True):
        made = json.loads(trace.to_json())
        assert not set(on_page) - {"visible"} - set(made)
        for key, value in on_page.items():
            if key in ("x", "y"):
                np.testing.assert_allclose(np.array(made[key], float), np.array(value, float), atol=1e-12)
            elif key != "visible":
                assert made[key] == value, key


def test_hovering_an_algorithm_names_it(fresh, record):
    fresh.page.locator("#plot").scroll_into_view_if_needed()
    fresh.page.mouse.move(*fresh.pixel(record.algorithms[0].risk))
    fresh.page.wait_for_selector("#plot .hoverlayer .hovertext")
    assert "the opposite" in fresh.text("#plot .hoverlayer .hovertext")


def test_everything_can_be_reached_and_used_by_keyboard(fresh):
    page = fresh.page
    reached = []
    while len(reached) < 60 and "weight" not in reached:
        page.keyboard.press("Tab")
        reached.append(page.evaluate("document.activeElement.id || document.activeElement.className"))
    order = ["skip", "theme", "algorithm", "view", "closer", "wider", "reset", "weight"]
    assert [one for one in reached if one in order] == order
    page.locator("#theme").focus()
    page.keyboard.press("Enter")
    assert page.locator("html").get_attribute("data-theme") == "dark"
    page.locator('#legend button[data-part="region"]').focus()
    page.keyboard.press("Space")
    assert page.evaluate("document.activeElement.dataset.part") == "region"
    assert page.locator('#legend button[data-part="region"]').get_attribute("aria-pressed") == "false"
    assert page.evaluate("document.getElementById('plot').data[1].visible") is False
    before = page.evaluate("document.getElementById('plot').layout.xaxis.range")
    page.locator("#closer").focus()
    page.keyboard.press("Enter")
    after = page.evaluate("document.getElementById('plot').layout.xaxis.range")
    assert before[0] < after[0] < after[1] < before[1]
    page.locator("#reset").focus()
    page.keyboard.press("Enter")
    assert page.evaluate("document.getElementById('plot').layout.xaxis.range") == before


def test_the_skip_link_shows_and_leads_to_the_answer(fresh):
    fresh.page.keyboard.press("Tab")
    box = fresh.page.locator(".skip").bounding_box()
    assert box["x"] >= 0
    fresh.page.keyboard.press("Enter")
    assert fresh.page.evaluate("location.hash") == "#answer"


def test_the_region_of_improvements_is_that_of_the_algorithm_chosen(fresh, record):
    drawn = "document.getElementById('plot').data.map((d) => [d.fill, d.x, d.y]).filter((d) => d[0]).at(-1).slice(1)"
    for number, a in enumerate(record.algorithms):
        fresh.page.locator("#algorithm").select_option(str(number))
        words = [text for text in fresh.texts("#legend button") if text.startswith("no worse than")]
        if len(a.improving) > 2:
            assert words == [f"no worse than {a.name} in any respect (estimate)"]
            x, y = fresh.page.evaluate(drawn)
            np.testing.assert_allclose(np.column_stack([x, y])[:-1], a.improving)
        else:
            assert words == []
    assert len(record.algorithms[0].improving) > 2
    assert len(record.algorithms[2].improving) <= 2


def test_views_show_frontier_and_algorithms_by_default_and_others_on_demand(fresh, record):
    def shown():
        return fresh.page.evaluate("document.getElementById('plot').layout.xaxis.range")

    def covers(points):
        return shown()[0] < np.min(points) < np.max(points) < shown()[1]

    whole, curve = record.picture.set, [p.risk for p in record.picture.frontier]
    algorithms = [a.risk for a in record.algorithms]
    assert covers(curve)
    assert covers(algorithms)
    fresh.page.locator("#view").select_option("frontier")
    assert covers(curve)
    assert not covers(algorithms)
    assert not covers(whole)
    fresh.page.locator("#view").select_option("all")
    assert covers(whole)


def test_holes_of_the_confidence_set_stay_empty(chromium, record, tmp_path):
    square = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0], [0.0, 0.0]])
    rings = tuple(tuple(map(tuple, ring.tolist())) for ring in (square, 0.3 + 0.4 * square[::-1]))
    file = tmp_path / "report.html"
    file.write_text(render(changed(record, "picture", region=rings)), encoding="utf-8")
    inside = """([x, y]) => {
        const plot = document.getElementById("plot"), { xaxis, yaxis } = plot._fullLayout;
        const area = plot.querySelectorAll("path.js-fill")[1];
        return area.isPointInFill(new DOMPoint(xaxis.l2p(x), yaxis.l2p(y)));
    }"""
    with opened(chromium, file) as tab:
        assert [tab.page.evaluate(inside, [x, x]) for x in (0.2, 0.5, 0.8)] == [True, False, True]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_follows_the_system_and_the_button(chromium, path, scheme):
    grounds, inks = {"light": LIGHT_GROUND, "dark": DARK_GROUND}, {"light": LIGHT_INK, "dark": DARK_INK}
    other = {"light": "dark", "dark": "light"}[scheme]
    with opened(chromium, path, color_scheme=scheme) as tab:
        assert colour(tab, "body", "backgroundColor") == grounds[scheme]
        assert tick_colour(tab) == inks[scheme]
        tab.page.locator("#theme").click()
        assert colour(tab, "body", "backgroundColor") == grounds[other]
        assert tick_colour(tab) == inks[other]
        assert tab.text("#theme").lower() == scheme
        tab.page.emulate_media(color_scheme=other)
        # the page hears of a change of the system's scheme when it is next painted
        tab.page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
        tab.page.emulate_media(color_scheme=scheme)
        tab.page.wait_for_selector(f'html[data-theme="{scheme}"]')
        assert colour(tab, "body", "backgroundColor") == grounds[scheme]


def test_a_phone_needs_no_sideways_scrolling(chromium, path):
    with opened(chromium, path, viewport=PHONE, has_touch=True, is_mobile=True) as tab:
        assert wide(tab) <= 0
        plot, legend = (tab.page.locator(one).bounding_box() for one in ("#plot", "#legend"))
        assert plot["height"] > 250
        assert legend["y"] >= plot["y"] + plot["height"]
        assert tab.page.evaluate("document.getElementById('plot')._fullLayout.xaxis._length") > 200
        scrolls = tab.page.locator(".scroll").evaluate_all(
            "(all) => all.filter((e) => e.scrollWidth > e.clientWidth).length"
        )
        assert scrolls > 0
        assert all(tab.page.locator(".card .headline").nth(k).is_visible() for k in range(3))


def test_print_hides_the_controls_and_keeps_the_answer(chromium, path):
    with opened(chromium, path, color_scheme="dark") as tab:
        tab.page.emulate_media(media="print")
        for hidden in ("#theme", "#algorithm", "#view", "#weight", "#closer", "nav"):
            assert not tab.page.locator(hidden).is_visible(), hidden
        for k in range(3):
            assert tab.page.locator(".card .headline").nth(k).is_visible()
        assert tab.page.locator("#rule").is_visible()
        assert "A small audit" in tab.text("#cover .title")
        assert tab.page.locator("#cover").is_visible()
        tab.page.emulate_media(media="screen")
        assert not tab.page.locator("#cover").is_visible()
        tab.page.emulate_media(media="print")
        assert colour(tab, "body", "backgroundColor") == "rgb(255, 255, 255)"
        assert colour(tab, ".headline") == LIGHT_INK


def test_the_printed_file_has_pages_of_modest_size_and_the_screen_is_left_as_it_was(chromium, path):
    with opened(chromium, path, color_scheme="dark") as tab:
        tab.page.evaluate(
            """addEventListener("beforeprint", () => {
                const ink = getComputedStyle(document.querySelector("#plot .xtick text")).fill;
                window.seen = [ink, document.querySelectorAll("details:not([open])").length];
            })"""
        )
        printed = tab.page.pdf(prefer_css_page_size=True)
        assert tab.page.evaluate("window.seen") == [LIGHT_INK, 0]
        assert tick_colour(tab) == DARK_INK
        assert tab.page.locator("details:not([open])").count() == 2
    assert printed.startswith(b"%PDF")
    assert len(re.findall(rb"/Type\s*/Page\b", printed)) >= 4
    assert 40_000 < len(printed) < 1_000_000
    assert b"A small audit" in printed


def test_a_page_is_printed_by_the_browser_at_hand(tmp_path):
    if not any(shutil.which(name) for name in BROWSERS):
        pytest.skip("no chromium or Chrome prints here")
    write_pdf("<p>one</p><p style='break-before: page'>two</p>", tmp_path / "two.pdf")
    printed = (tmp_path / "two.pdf").read_bytes()
    assert printed.startswith(b"%PDF")
    assert len(re.findall(rb"/Type\s*/Page\b", printed)) == 2
    with pytest.raises(InputError, match="exists") as error:
        write_pdf("<p>one</p>", tmp_path / "nowhere" / "one.pdf")
    assert error.value.code == "bad-file"


def test_without_a_browser_nothing_is_begun(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MissingDependencyError, match="printed by chromium or Chrome"):
        FairFrontier().report(tmp_path / "report.pdf")
    with pytest.raises(MissingDependencyError, match="Chrome"):
        check_folder(tmp_path / "out", pdf=True)
    (tmp_path / "chromium").write_text("#!/bin/sh\necho it broke >&2\nexit 1\n")
    (tmp_path / "chromium").chmod(0o755)
    with pytest.raises(InputError, match=r"left no PDF \(it broke\)") as error:
        write_pdf("<p>one</p>", tmp_path / "one.pdf")
    assert error.value.code == "bad-file"
    assert not (tmp_path / "one.pdf").exists()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_without_scripts_answers_and_tables_can_be_read(chromium, path, record, scheme):
    with opened(chromium, path, script=False, color_scheme=scheme) as tab:
        assert tab.texts(".card .headline") == [a.headline for a in record.algorithms]
        assert not tab.page.locator("#plot").is_visible()
        assert not tab.page.locator("#weight").is_visible()
        middle = record.rules[50]
        assert tab.texts("#rule [data-field=risk]") == [f"{100 * value:.2f}%" for value in middle.risk]
        assert tab.page.locator("#rule").is_visible()
        assert tab.page.locator("#details table").first.is_visible()
        assert colour(tab, "body", "backgroundColor") == {"light": LIGHT_GROUND, "dark": DARK_GROUND}[scheme]


@pytest.mark.parametrize(("scheme", "size"), [("light", DESKTOP), ("dark", DESKTOP), ("light", PHONE), ("dark", PHONE)])
def test_axe_finds_nothing(chromium, path, scheme, size):
    with opened(chromium, path, color_scheme=scheme, viewport=size) as tab:
        assert violations(tab) == []


def test_hostile_names_do_nothing(chromium, hostile):
    with opened(chromium, hostile / "report.html") as tab:
        tab.page.locator("#algorithm").select_option("1")
        tab.page.locator("#weight").fill("20")
        tab.page.wait_for_timeout(200)
        assert tab.dialogs == []
        assert tab.complaints == []
        assert tab.requests == [(hostile / "report.html").as_uri()]
        assert tab.page.locator("img, main a[href^='javascript'], svg a").count() == 0
        assert tab.page.locator("script").count() == 3


def test_hostile_names_are_shown_as_they_are(chromium, hostile):
    record = json.loads((hostile / "audit.json").read_text(encoding="utf-8"))
    with opened(chromium, hostile / "report.html") as tab:
        assert tab.page.title() == f"{END} {SCRIPT}"
        assert tab.text("h1") == f"{END} {SCRIPT}"
        assert tab.texts(".card h3") == list(HOSTILE_ALGORITHMS)
        assert tab.texts(".card .headline") == [a["headline"] for a in record["algorithms"]]
        assert tab.texts(".card .p-value strong") == [
            f"{a['lda']['p_value_adjusted']:.3f}" for a in record["algorithms"]
        ]
        assert tab.texts("#algorithm option") == list(HOSTILE_ALGORITHMS)
        assert tab.texts("#rule thead th") == list(record["groups"])
        assert set(record["groups"]) == set(HOSTILE_GROUPS)
        names = tab.texts(".names code")
        assert names == record["data"]["covariates"]
        assert {"y" * 200, f"1 {IMAGE}", f"4 {ODD}", f"5 {ARABIC}"} <= set(names)
        for axis, label in zip("xy", record["groups"], strict=True):
            letters = label if len(label) <= 40 else label[:39] + "…"
            assert tab.text(f"#plot .g-{axis}title text") == f"risk of \u2068{letters}\u2069"
        tab.page.locator("#plot").scroll_into_view_if_needed()
        tab.page.mouse.move(*tab.pixel(record["algorithms"][1]["risk"]))
        tab.page.wait_for_selector("#plot .hoverlayer .hovertext")
        assert f"{END} {ODD}"[:39] in tab.text("#plot .hoverlayer .hovertext")


def test_hostile_names_keep_within_a_phone_and_please_axe(chromium, hostile):
    with opened(chromium, hostile / "report.html", viewport=PHONE) as tab:
        assert wide(tab) <= 0
        assert violations(tab) == []


def test_columns_left_out_and_rows_dropped_are_accounted_for(chromium, hostile):
    with opened(chromium, hostile / "report.html", script=False) as tab:
        text = tab.text("#appendix")
        assert f"constant {SCRIPT}: constant" in text
        assert "Looks like a mistake" in text
        assert f"copy {IMAGE}: a copy of" in text
        assert f"0 {SCRIPT} is missing" in text
        assert "Covariates (294)" in text
        assert "400 rows were read" in text
        assert "Rows used: 390" in text
