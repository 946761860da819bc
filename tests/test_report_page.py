"""The report as text: what is in the file, and what cannot get into it."""

import base64
import hashlib
import html
import json
import re
import sys
from collections import Counter
from dataclasses import fields
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression
from support.people import people
from support.quick import QUICK
from support.records import changed, record_of, respelled

from fairfrontier import FairFrontier
from fairfrontier.errors import MissingDependencyError
from fairfrontier.report.agreement import Effort, other_runs
from fairfrontier.report.basis import AuditParts
from fairfrontier.report.frame import Run, RunVerdict
from fairfrontier.report.html import render
from fairfrontier.report.origin import Settings, Source
from fairfrontier.report.sentences import SETTINGS

pytest.importorskip("jinja2")
pytest.importorskip("plotly")

EVIL = "\"'><img src=x onerror=alert(1)></script><script>alert(1)</script>&lt;{{ 7 * 7 }}"
TOKENS = (
    "WOMENLABEL",
    "MENLABEL",
    "COLUMNNAME",
    "ALGORITHMNAME",
    "TITLETEXT",
    "FILENAME",
    "OUTCOMENAME",
    "REASONTEXT",
    "READTEXT",
    "WHERETEXT",
    "NOTETEXT",
)
MOST_BYTES = 6_000_000
VERDICTS = ("lda-shown", "no-evidence", "not-comparable")
TEST, WITNESS = "algorithms.0.lda", "algorithms.0.lda.witness"


class Reader(HTMLParser):
    """Elements with the names of their attributes, the inline scripts and the text outside them."""

    def __init__(self, page):
        super().__init__()
        self.elements, self.scripts, self.words, self.inside = [], [], [], None
        self.policy = None
        self.feed(page)
        self.text = " ".join("".join(self.words).split())

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, *sorted(name for name, _ in attrs)))
        values = dict(attrs)
        if values.get("http-equiv") == "Content-Security-Policy":
            self.policy = values["content"]
        if tag in ("script", "style"):
            self.inside = tag
        if tag == "script":
            self.scripts.append((values.get("type"), ""))

    def handle_endtag(self, tag):
        if tag in ("script", "style"):
            self.inside = None

    def handle_data(self, data):
        if self.inside is None:
            self.words.append(data)
        elif self.inside == "script":
            kind, before = self.scripts[-1]
            self.scripts[-1] = (kind, before + data)


def fitted(n=500, **options):
    x, y, g = people(n)
    group = np.where(g == "women", "WOMENLABEL", "MENLABEL")
    X = pd.DataFrame(x, columns=[f"COLUMNNAME{i}" for i in range(3)])
    options = QUICK | {"n_boot": 99, "n_folds": 2, "random_state": 0} | options
    return FairFrontier(**options).fit(X, y, sensitive_features=group), y


@pytest.fixture(scope="module")
def record():
    """A record with one algorithm for each verdict, and everything that an audit of a file adds."""
    ff, y = fitted(1500)
    near = np.asarray(ff.support_function_.selected(np.array([-1.0, -1.0])), dtype=float)
    algorithms = {"ALGORITHMNAME1": 1.0 - near, "ALGORITHMNAME2": near, "ALGORITHMNAME3": y.astype(float)}
    source = Source(
        file="FILENAME.csv",
        sha256="0" * 64,
        read=("READTEXT",),
        rows_read=1600,
        narrowed={"WHERETEXT": 12},
        columns=("COLUMNNAME0", "OUTCOMENAME"),
        outcome="OUTCOMENAME",
        group="COLUMNNAME9",
        roles={"OUTCOMENAME": "outcome", "COLUMNNAME8": "decision (ALGORITHMNAME1)"},
        excluded={"COLUMNNAME7": "REASONTEXT"},
        suspicious=("COLUMNNAME7",),
        noted={"COLUMNNAME2": "NOTETEXT"},
        dropped_by_reason={"COLUMNNAME1 is missing": {"WOMENLABEL": 60}},
        other_groups={"OTHERLABEL": 40},
        small_groups={"SMALLLABEL": 3},
        merged={"OTHERLABEL": {"SMALLLABEL": 2}},
        categories={"COLUMNNAME1": 3},
        kinds={"COLUMNNAME1": "dates, used as numbers of days"},
        gaps={"COLUMNNAME1": 2},
        models={"ALGORITHMNAME2": "1" * 64},
    )
    runs = tuple(
        Run(
            learner="factored-logit",
            seed=seed,
            covariates="as given",
            decides=seed == 0,
            algorithms={
                name: RunVerdict(verdict=verdict, p_value=0.01, p_value_adjusted=0.03, statistic=1.0)
                for name, verdict in zip(algorithms, VERDICTS, strict=True)
            },
        )
        for seed in (0, 1)
    )
    audit = AuditParts(source=source, sensitivity=runs, both_ways={"ALGORITHMNAME1": "REASONTEXT"})
    found = record_of(ff, algorithms, title="TITLETEXT", audit=audit, region=False)
    return changed(found, "", warnings=("REASONTEXT of COLUMNNAME1",))


@pytest.fixture(scope="module")
def page(record):
    return render(record)


@pytest.fixture(scope="module")
def read(page):
    return Reader(page)


def test_the_file_is_small_and_refers_to_nothing_outside(page, read):
    assert len(page.encode()) < MOST_BYTES
    assert not {tag for tag, *_ in read.elements} & {"link", "img", "iframe", "object", "embed", "base", "form"}
    assert not [element for element in read.elements if "src" in element[1:]]


def test_the_policy_allows_exactly_the_scripts_of_the_page(read):
    rules = dict(part.strip().split(" ", 1) for part in read.policy.split(";"))
    assert rules["default-src"] == "'none'"
    run = [text for kind, text in read.scripts if kind is None]
    hashes = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in run]
    assert len(run) == 2
    assert rules["script-src"].split() == [f"'sha256-{digest}'" for digest in hashes]


def test_the_policy_stands_before_anything_it_governs(page):
    first = min(page.index("<style"), page.index("<script"), page.index("<title"))
    assert page.index("Content-Security-Policy") < first


def test_names_change_texts_and_never_the_elements(record, read):
    def spell(text):
        return re.sub("|".join(TOKENS), lambda token: token.group() + EVIL, text)

    evil = Reader(render(respelled(record, spell)))
    assert evil.elements == read.elements
    assert [kind for kind, _ in evil.scripts] == [kind for kind, _ in read.scripts]
    for token in TOKENS:
        assert token in record.to_json()
        assert evil.text.count(token + EVIL) == read.text.count(token) > 0, token


def test_embedded_numbers_are_those_of_the_record_and_cannot_end_their_element(record):
    spiked = respelled(record, lambda text: text.replace("ALGORITHMNAME1", "ALGORITHMNAME1" + EVIL))
    ((_, text),) = [script for script in Reader(render(spiked)).scripts if script[0] == "application/json"]
    assert "<" not in text
    (drawn,), whole = json.loads(text)["planes"], json.loads(record.to_json())
    assert drawn["algorithms"][0]["name"] == "ALGORITHMNAME1" + EVIL
    assert drawn["rules"] == whole["rules"]
    assert drawn["picture"] == whole["picture"]
    assert "FILENAME" not in text


def test_no_element_has_an_event_handler(read):
    assert not [name for element in read.elements for name in element[1:] if name.startswith("on")]


def test_ids_are_unique(page):
    ids = Counter(re.findall(r'<[a-z][^<>]*? id="([^"]+)"', page.split("<script", 1)[0]))
    assert ids
    assert max(ids.values()) == 1


@pytest.mark.parametrize("absent", ["jinja2", "plotly.offline"])
def test_a_missing_dependency_is_named_with_its_cure(record, monkeypatch, absent):
    monkeypatch.setitem(sys.modules, absent, None)
    with pytest.raises(MissingDependencyError, match=r"jinja2 and plotly.*install fairfrontier\[report\]"):
        render(record)


def test_each_verdict_has_its_own_words(record, read):
    assert tuple(a.verdict for a in record.algorithms) == VERDICTS
    for a in record.algorithms:
        assert read.text.count(a.headline) == 1
    assert "1 \u00d7 alternative shown" in read.text
    assert "This shows neither an alternative nor its absence." in read.text
    feasible = record.algorithms[2].lda.feasibility_p_value
    assert (
        read.text.count(f"; the chance of risks this far outside the set, if they were attainable, is {feasible:.3f})")
        == 1
    )


def test_a_page_without_an_alternative_claims_none(record):
    text = Reader(render(changed(record, "", algorithms=record.algorithms[1:]))).text
    assert "is shown to exist" not in text
    assert "Under the alternative" not in text
    assert "1 \u00d7 alternative shown" not in text


def test_limits_and_warnings_are_shown(record, read):
    for line in [*record.limits, *record.warnings]:
        assert line in read.text
    for words in (
        "1,600 rows were read",
        "OTHERLABEL 40",
        "COLUMNNAME1 is missing: WOMENLABEL 60",
        "Looks like a mistake",
    ):
        assert words in read.text


def test_the_adjusted_p_value_decides_and_the_other_is_beside_it(record):
    found = changed(record, TEST, p_value=0.0123, p_value_adjusted=0.0369)
    text = Reader(render(found)).text
    assert "p-value 0.037 (the chance of evidence this strong if there were no alternative, adjusted for" in text
    assert "3 algorithms by Holm's method; 0.012 unadjusted)" in text
    assert "The p-values of the algorithms are adjusted for their number by Holm's method" in text
    alone = Reader(render(changed(found, "", algorithms=found.algorithms[:1]))).text
    assert "adjusted for 3" not in alone
    assert "of the algorithms are adjusted" not in alone
    assert "unadjusted" not in alone


def test_a_finding_that_does_not_survive_the_adjustment_is_not_claimed(record, read):
    assert "Only by itself." not in read.text
    found = changed(record, "algorithms.1.lda", p_value=0.03, p_value_adjusted=0.09)
    text = Reader(render(found)).text
    assert text.count("Only by itself.") == 1
    assert "would have the p-value 0.030, which is not above the level of 0.05" in text
    assert "Adjusted for 3 algorithms, which guards against chance findings, the p-value is 0.090" in text


def test_nobody_is_called_treated(record, read):
    assert not re.search(r"\btreat", read.text)
    assert "treat" not in record.to_json()


def test_every_setting_has_a_name_for_people(read):
    assert list(SETTINGS) == [entry.name for entry in fields(Settings)]
    for name in SETTINGS.values():
        assert name in read.text


def test_limits_on_the_rules_are_told_and_named_as_a_reason(record, read):
    assert "Bounds." not in read.text
    assert "ruled out by the limits set on the rules" not in read.text
    for limit, box in (({"bounded": True}, "Bounds."), ({"capacity": 0.2}, "Capacity.")):
        text = Reader(render(changed(record, "settings", **limit))).text
        assert text.count(box) == 1
        assert text.count("ruled out by the limits set on the rules") == 1  # of three algorithms one is not comparable


def test_nothing_is_vouched_for_behind_predictions_from_outside(record, read):
    claims = ("learned out of fold", "Its level is measured and not proven", "from out-of-fold predictions")
    assert all(read.text.count(words) == 1 for words in claims)
    assert "Predictions from outside." not in read.text
    text = Reader(render(changed(record, "learner", external=True))).text
    assert not any(words in text for words in claims)
    assert "Predictions from outside." in text
    assert "every verdict of this report is void" in text


def test_a_capacity_takes_directions_from_a_grid_and_repetitions_are_told(record, read):
    assert "estimated exactly in every direction" in read.text
    assert "Rules are averaged over" not in read.text
    text = Reader(render(changed(record, "settings", capacity=0.2, n_rep=3))).text
    assert "estimated on a grid of directions, because of the capacity" in text
    assert "Rules are averaged over 3 repetitions of the cross-fitting" in text


def test_what_balanced_means_is_said_only_where_it_is_so(record):
    words = "(each group has the lower risk at its own best point)"
    for R, B, said in (
        ([0.1, 0.4], [0.3, 0.2], True),
        ([0.5, 0.49], [0.49, 0.5], False),
        ([0.2] * 2, [0.2] * 2, False),
    ):
        found = changed(changed(record, "points.0", risk=R), "points.1", risk=B)
        text = Reader(render(changed(found, "", configuration="balanced"))).text
        assert (words in text) is said


def test_an_interval_without_ends_is_shown_as_such(record):
    found = changed(record, "algorithms.0.distance.interval", low=None, high=None)
    assert "95% interval n/a to n/a" in Reader(render(found)).text


@pytest.mark.parametrize(
    ("alpha", "words"), [(0.05, "95%"), (0.025, "97.5%"), (0.05 / 3, "98.333%"), (1e-5, "99.999%")]
)
def test_levels_are_not_rounded_up(record, alpha, words):
    text = Reader(render(changed(record, "", alpha=alpha))).text
    assert f"With {words} confidence the lower bounds of the gains" in text


def test_an_alternative_that_is_not_confirmed_is_marked(record, read):
    assert "Not confirmed." not in read.text
    assert "Not confirmed." in Reader(render(changed(record, WITNESS, confirmed=False))).text


def test_a_listed_rule_that_is_better_than_a_change_of_one_group_is_named(record, read):
    said = "A better one is listed."
    assert said not in read.text
    sure = next(own for own in record.algorithms[0].alternatives if not own.flagged)
    worse = {"changed": "WOMENLABEL", "shares": (1.0,), "risk": (0.9, 0.9)}
    text = Reader(render(changed(record, WITNESS, **worse))).text
    best = min((own for own in record.algorithms[0].alternatives if not own.flagged), key=lambda own: sum(own.risk))
    assert f"{said} A rule of the frontier" in text
    assert f"{best.risk[0]:.2%} for WOMENLABEL" in text or f"{best.risk[0]:.2%} for MENLABEL" in text
    assert said not in Reader(render(changed(record, WITNESS, **worse | {"risk": (0.0, sure.risk[1] + 0.1)}))).text


def test_points_of_rules_that_see_the_group_are_told_from_those_of_rules_that_do_not(record, read):
    words = ("those of rules that do not see the group; the table of points", "best points of rules that see the group")
    assert not any(each in read.text for each in words)
    text = Reader(render(changed(record, "settings", rules="group-aware"))).text
    assert all(each in text for each in words)


def test_verdicts_that_hang_on_a_choice_are_marked(record, read):
    assert "Depends on how it is asked." not in read.text
    assert read.text.count("1 of 1 other run") == 3
    runs = record.sensitivity[1].algorithms
    other = runs | {"ALGORITHMNAME1": changed(runs["ALGORITHMNAME1"], "", verdict="no-evidence")}
    disputed = changed(record, "sensitivity.1", algorithms=other)
    found = other_runs(disputed.sensitivity, "ALGORITHMNAME1", record.alpha, Effort())
    text = Reader(render(changed(disputed, "algorithms.0", other_runs=found))).text
    assert text.count("Depends on how it is asked.") == 1
    assert text.count("0 of 1 other run") == 1
    assert text.count("other runs disagree on 1 of 3") == 1


def test_selection_rates_further_apart_are_told(record):
    words = "Its selection rates are further apart than those of the algorithm"
    for now, then, told in (
        ([0.5, 0.4], [0.5, 0.2], f"{words}."),
        ([0.8, 0.9], [0.1, 0.15], f"{words} by their ratio, though not by their difference."),
        ([0.1, 0.15], [0.7, 0.9], f"{words} by their difference, though not by their ratio."),
        ([0.5, 0.2], [0.5, 0.4], None),
    ):
        found = changed(record, WITNESS, selection_rate=then, selection_ratio=min(then) / max(then))
        found = changed(found, "algorithms.0", selection_rate=now, selection_ratio=min(now) / max(now))
        text = Reader(render(found)).text
        assert (told or "The alternative is") in text
        assert (words in text) is (told is not None)


SKEW_WORDS = {
    "balance-shown": (
        "Yes, as far as these data go and if the learner comes close to the truth: weak group skew is rejected",
        "Each group is served best by rules under which the other group has the higher risk.",
    ),
    "not-shown": ("Not shown: weak group skew is not rejected", "nor that banning it would do no harm"),
    "contradictory": (
        "No answer: the estimates contradict each other",
        "So the learner is too weak or the sample too small for this question.",
    ),
}


@pytest.mark.parametrize("verdict", SKEW_WORDS)
def test_banning_the_group_is_told_in_one_of_three_ways(record, verdict):
    found = {"verdict": verdict, "reject": verdict == "balance-shown", "p_value": 0.0123, "p_value_balanced": 0.0456}
    text = Reader(render(changed(record, "skew", **found))).text
    for name, words in SKEW_WORDS.items():
        assert [each in text for each in words] == [name == verdict] * len(words)
    assert "(p-value 0.012; null: at both best points the same group has the higher risk" in text
    assert ("p-value of the opposite 0.046" in text) is (verdict == "contradictory")


def test_the_two_kinds_of_contradiction_are_told_apart(record):
    none, estimate = "No pair of best points agrees with the estimates", "yet the estimated best points say just that"
    for p_value, words, other in ((0.01, none, estimate), (0.4, estimate, none)):
        found = {"verdict": "contradictory", "reject": False, "p_value": 0.01, "p_value_balanced": p_value}
        text = Reader(render(changed(record, "skew", **found))).text
        assert words in text
        assert other not in text


def test_a_capacity_is_told_with_what_ignores_it(record, read):
    assert "Capacity." not in read.text
    text = Reader(render(changed(record, "settings", capacity=0.25))).text
    assert "only with rules that select at most 25.0% of people" in text
    assert "The points R, B and F, the question about the group and the distance" in text


@pytest.mark.parametrize(
    ("p_value", "alpha", "shown"),
    [
        (0.0123, 0.05, "0.012"),
        (0.000999, 0.05, "0.001"),
        (0.0001, 0.05, "<0.001"),
        (0.0499, 0.05, "0.050"),
        (0.0504, 0.05, "0.0504"),
        (0.10004, 0.1, "0.10004"),
        (1.0, 0.05, "1.000"),
    ],
)
def test_p_values_have_three_decimals_unless_that_hides_the_verdict(record, p_value, alpha, shown):
    page = render(changed(changed(record, TEST, p_value_adjusted=p_value), "", alpha=alpha))
    first = re.search(r'class="p-value">p-value <strong>(.*?)</strong>', page).group(1)
    assert html.unescape(first) == shown


def test_risks_are_percentages_and_gaps_are_points(record, read):
    a = record.algorithms[1]
    low, high = a.risk_interval[0].low, a.risk_interval[0].high
    assert f"{100 * a.risk[0]:.2f}%{100 * low:.2f}% to {100 * high:.2f}%" in read.text
    assert f"{100 * abs(a.gap):.2f} pts" in read.text


def test_a_negative_bound_has_a_real_minus_sign(record):
    text = Reader(render(changed(record, WITNESS, lower_bounds=(0.01, -0.0123, -0.000001)))).text
    for words in ("at least 1.00 pts", "at least \u22121.23 pts", "at least 0.00 pts"):
        assert words in text


def test_no_algorithm_no_verdict():
    ff, _ = fitted()
    read = Reader(render(record_of(ff, {}, title="What is attainable", region=False)))
    assert "No algorithm was given" in read.text
    assert "alternative shown" not in read.text
    assert "p-value" in read.text  # that of group skew
    assert not [element for element in read.elements if element[0] == "article"]


def test_squared_loss_is_told_in_plain_numbers():
    x, _, g = people(500)
    y = np.clip(0.5 + 0.3 * x[:, 0] + 0.1 * np.random.default_rng(0).normal(size=500), -1.0, 2.0)
    ff = FairFrontier(loss="squared", learner=LinearRegression(), n_boot=99, n_folds=2, n_rep=1, random_state=0)
    ff.fit(x, y, sensitive_features=g)
    record = record_of(ff, {"all": np.ones(500)}, title="Squared", region=False)
    read = Reader(render(record))
    text = read.text
    a = record.algorithms[0]
    low, high = a.risk_interval[0].low, a.risk_interval[0].high
    assert f"{a.risk[0]:.4f}{low:.4f} to {high:.4f}" in text
    assert "expected loss" in text
    assert " pts" not in text
    assert "percentage points" not in text
    assert "without the outcome" not in text
    assert json.loads(next(script for kind, script in read.scripts if kind == "application/json"))["shares"] is False


@pytest.mark.parametrize(("settings", "kept"), [({"n_rep": 1}, False), ({"n_rep": 3}, True)])
def test_the_verdict_says_whether_the_algorithms_decisions_may_stay(record, settings, kept):
    text = Reader(render(changed(record, "settings", **settings))).text
    assert "some rule based on the covariates used here" in text
    assert ("and on the algorithm's own decisions," in text) is kept
