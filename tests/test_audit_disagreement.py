"""Whether the runs of an audit agree: what is printed, recorded and reported of it, and the exit codes of the gate."""

import html
import json
import re
from importlib.resources import files
from pathlib import Path

import jsonschema
import pandas as pd
import pytest
from support.disputed import LEVEL, STRONG, WEAK, audit
from typer.testing import CliRunner

from fairfrontier.audit.gate import CONDITIONS, read_conditions
from fairfrontier.cli import app
from fairfrontier.report.agreement import Effort, other_runs
from fairfrontier.report.frame import Run, RunVerdict
from fairfrontier.report.sentences import CHIPS

ROOT = Path(__file__).resolve().parents[1]
SCHEMA = json.loads(files("fairfrontier.report").joinpath("audit.schema.json").read_text(encoding="utf-8"))
ALL = "lda,not-comparable,disagreement"


@pytest.fixture(scope="module")
def disputed(tmp_path_factory):
    """An alternative is shown; the other learner finds no evidence."""
    return audit(tmp_path_factory.mktemp("disputed"), "--alpha", LEVEL, "--fail-on", ALL)


@pytest.fixture(scope="module")
def weaker(tmp_path_factory):
    """The learner that finds no evidence decides, and the other learner shows an alternative."""
    words = ("--alpha", LEVEL, "--fail-on", "not-comparable", "--fail-on", "disagreement, lda")
    return audit(tmp_path_factory.mktemp("weaker"), *words, learner=WEAK)


def text_of(page):
    return " ".join(html.unescape(re.sub(r"<[^>]+>", "", page)).split())


# --- what is said -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["disputed", "weaker"])
def test_the_summary_is_that_of_the_runs(name, request):
    record = request.getfixturevalue(name).record
    jsonschema.Draft202012Validator(SCHEMA).validate(record)
    first, *others = [run | run["algorithms"]["in use"] for run in record["sensitivity"]]
    found = record["algorithms"][0]["other_runs"]
    differing = [run for run in others if run["verdict"] != first["verdict"]]
    assert found["counted"] == len(others) == 2
    assert found["same_verdict"] == 2 - len(differing)
    assert len(differing) >= 1
    assert [(run["learner"], run["seed"], run["verdict"], run["p_value"]) for run in found["differing"]] == [
        (run["learner"], run["seed"], run["verdict"], run["p_value_adjusted"]) for run in differing
    ]
    p_values = sorted(run["p_value_adjusted"] for run in (first, *others))
    assert found["p_values"] == [p_values[0], p_values[-1]]
    assert found["straddles_alpha"] is (p_values[0] <= LEVEL < p_values[-1]) is True
    assert found["other_covariates"] == []


@pytest.mark.parametrize("name", ["disputed", "weaker"])
def test_the_terminal_and_the_report_say_it_under_the_verdict(name, request):
    done = request.getfixturevalue(name)
    (algorithm,) = done.record["algorithms"]
    said = algorithm["other_runs"]["sentences"]
    lines = done.printed.splitlines()
    start = next(k for k, line in enumerate(lines) if line.startswith(f"in use: {algorithm['headline']}"))
    assert lines[start + 1].startswith("  At the same share of selected people")
    assert lines[start + 2 : start + 2 + len(said)] == [f"  {sentence}" for sentence in said]
    for run in algorithm["other_runs"]["differing"]:
        assert f"{run['learner']}, seed {run['seed']}: {CHIPS[run['verdict']]}, p-value {run['p_value']:.3f}" in said[1]
    assert f"lie on both sides of the level {LEVEL:g}." in said[2]
    assert said[-1] == algorithm["other_runs"]["next_step"]
    (ban,) = [line for line in lines if line.startswith("What a ban of the group adds")]
    point = next(point for point in done.record["ban"]["points"] if point["name"] == "population")
    assert all(f"{cost:+.4f} ({low:+.4f}" in ban for cost, low in zip(point["cost"], point["low"], strict=True))
    assert ban.endswith(done.record["ban"]["remarks"][0])
    text = text_of(done.page)
    assert f"Depends on how it is asked. {' '.join(said)} See sensitivity." in text
    assert "other runs disagree" in text
    table = pd.read_csv(done.folder / "tables" / "algorithms.csv")
    assert table["other runs"].tolist() == [2]
    assert table["other runs with the same verdict"].tolist() == [algorithm["other_runs"]["same_verdict"]]


def test_runs_that_agree_are_reported_in_a_quiet_line(tmp_path):
    done = audit(tmp_path, "--fail-on", "disagreement,not-comparable", asked=("--decision", "careless"))
    assert done.code == 0, done.errors
    said = "2 of 2 other runs (another seed or learner) come to the same verdict."
    assert (
        f"\n  {said}\n  As far as was tried, the verdict does not depend on seed or learner; --robustness tries more.\n"
        in done.printed
    )
    text = text_of(done.page)
    assert said in text
    assert "Depends on how it is asked." not in text
    assert "other runs disagree" not in text
    (algorithm,) = done.record["algorithms"]
    assert algorithm["verdict"] == "lda-shown"
    assert algorithm["other_runs"]["straddles_alpha"] is False
    assert "Exit code" not in done.printed


def test_runs_with_other_covariates_are_listed_and_do_not_count(tmp_path):
    done = audit(tmp_path, "--robustness", asked=("--score", "score", "--threshold", 0.0))
    assert done.code == 0, done.errors
    (algorithm,) = done.record["algorithms"]
    found = algorithm["other_runs"]
    assert found["counted"] == 4
    assert [(run["learner"], run["seed"], run["covariates"]) for run in found["other_covariates"]] == [
        (STRONG, 0, "with the score")
    ]
    assert algorithm["both_ways"].startswith("This is without the score among the covariates. With the score: ")
    assert f"\n  {algorithm['both_ways']}\n" in done.printed
    assert all(run["covariates"] == "without the score" for run in found["differing"])
    assert not any("with the score" in sentence for sentence in found["sentences"])


# --- the gate ---------------------------------------------------------------------------------------------


def test_the_first_condition_that_applies_determines_the_exit_code(disputed, weaker):
    assert disputed.record["algorithms"][0]["verdict"] == "lda-shown"
    assert disputed.code == 3
    assert disputed.printed.endswith("Exit code 3: an alternative is shown (--fail-on lda).\n")
    assert weaker.record["algorithms"][0]["verdict"] == "no-evidence"
    assert weaker.code == 5
    said = "Exit code 5: a run with another seed or learner comes to another verdict (--fail-on disagreement).\n"
    assert weaker.printed.endswith(said)


def test_disagreement_is_found_though_an_alternative_is_shown(tmp_path):
    assert audit(tmp_path, "--alpha", LEVEL, "--fail-on", "not-comparable,disagreement").code == 5


def test_what_is_not_asked_for_does_not_fail(tmp_path):
    assert audit(tmp_path, "--alpha", LEVEL, "--fail-on", "not-comparable").code == 0


def test_an_algorithm_that_is_not_comparable_has_a_code_of_its_own(tmp_path):
    done = audit(tmp_path, "--fail-on", ALL, asked=("--decision", "oracle"))
    assert [a["verdict"] for a in done.record["algorithms"]] == ["not-comparable"]
    assert done.code == 4
    done = audit(tmp_path, "--fail-on", ALL, "--algorithm", "used=in use", asked=("--decision", "oracle"))
    assert [a["verdict"] for a in done.record["algorithms"]] == ["not-comparable", "lda-shown"]
    assert done.code == 3


@pytest.mark.parametrize(
    ("given", "came"), [("gap", "'gap'"), ("lda,", "''"), ("LDA", "'LDA'"), ("lda,disagrement", "'disagrement'")]
)
def test_unknown_words_are_refused_before_anything_is_done(tmp_path, given, came):
    done = audit(tmp_path, "--fail-on", given)
    assert done.code == 2
    accepted = (
        "--fail-on accepts lda, not-comparable, disagreement, several separated by commas, for example lda,disagreement"
    )
    assert f"Error: {accepted}; got {came}." in done.errors
    assert ("Did you mean 'disagreement'?" in done.errors) is (given == "lda,disagrement")
    assert not done.folder.exists()


def test_words_are_read_in_any_order_and_more_than_once():
    assert read_conditions(["disagreement , lda", "lda"]) == (CONDITIONS[0], CONDITIONS[2])
    assert read_conditions([]) == ()


def test_every_condition_is_documented_with_its_code():
    shown = CliRunner().invoke(app, ["audit", "--help"], terminal_width=200).stdout
    pages = [ROOT / "README.md", ROOT / "docs/how-to/release-gate.md", ROOT / "docs/api/command.md"]
    for text in (" ".join(shown.split()), *(path.read_text(encoding="utf-8") for path in pages)):
        for condition in CONDITIONS:
            assert condition.word in text
            assert re.search(rf"\b{condition.code}\b", text)
    assert [condition.code for condition in CONDITIONS] == [3, 4, 5]


# --- alternatives that are not shown ----------------------------------------------------------------------


def test_alternatives_that_are_not_shown_are_marked(disputed, weaker):
    for done, shown in ((disputed, True), (weaker, False)):
        (algorithm,) = done.record["algorithms"]
        table = pd.read_csv(done.folder / "tables" / "alternatives-1-in-use.csv")
        assert len(table) == len(algorithm["alternatives"]) > 0
        assert set(table["improvement shown"]) == {shown}
        assert set(table["verdict"]) == {algorithm["verdict"]}
        said = algorithm["alternatives_sentences"][0]
        p_value = f"{algorithm['lda']['p_value']:.3f}"
        assert p_value in said
        assert said.startswith(
            "That an alternative exists is shown" if shown else "These rules are estimated to be better"
        )
        assert (f"Not shown. {said}" in text_of(done.page)) is not shown


# --- the summary by hand ----------------------------------------------------------------------------------


def run(learner, seed, verdict, p_value, covariates="as given"):
    found = RunVerdict(verdict=verdict, p_value=p_value, p_value_adjusted=p_value, statistic=1.0)
    return Run(learner=learner, seed=seed, covariates=covariates, decides=False, algorithms={"it": found})


FIRST = run("logit", 0, "lda-shown", 0.01)
SAME = run("logit", 1, "lda-shown", 0.02)
BY_SEED = run("logit", 2, "no-evidence", 0.2)
MORE = Effort(robustness=True)
BY_LEARNER = run("forest", 0, "not-comparable", 0.9)


@pytest.mark.parametrize(
    ("others", "effort", "step"),
    [
        (
            [SAME],
            Effort(),
            "As far as was tried, the verdict does not depend on seed or learner; --robustness tries more.",
        ),
        ([SAME], MORE, "As far as was tried, the verdict does not depend on seed or learner."),
        ([SAME, BY_SEED], Effort(), "What to do: the seed matters, so raise --repetitions to 5 or more, which"),
        ([SAME, BY_SEED], Effort(repetitions=7), "What to do: the seed matters, so raise --repetitions above 7, which"),
        (
            [SAME, BY_LEARNER],
            Effort(),
            "What to do: the learner matters, so name it beforehand and not by its verdict; --rob",
        ),
        (
            [SAME, BY_LEARNER],
            MORE,
            "What to do: the learner matters, so name it beforehand and not by its verdict; with more",
        ),
        (
            [BY_SEED, BY_LEARNER],
            Effort(),
            "What to do: seed and learner both matter, so use more rows, or raise --repetitions",
        ),
    ],
)
def test_what_to_do_next(others, effort, step):
    found = other_runs([FIRST, *others], "it", 0.05, effort)
    assert found.next_step.startswith(step)
    assert found.next_step.count(". ") == 0
    assert found.sentences[-1] == found.next_step


@pytest.mark.parametrize("others", [[run("logit", 1, "not-comparable", 0.9)], [FIRST]])
def test_what_to_do_if_an_algorithm_is_not_comparable(others):
    for could in (True, False):
        effort = Effort(could_see_group=could)
        found = other_runs([run("logit", 0, "not-comparable", 0.9), *others], "it", 0.05, effort)
        assert "does not depend" not in found.next_step
        assert found.next_step.endswith("--rules group-aware compares it with its own kind.") is could
        assert ("the seed matters" in found.next_step) is (others == [FIRST])
        assert found.next_step.count(". ") == 0


def test_counts_and_words_of_a_single_run_and_of_none():
    assert other_runs([FIRST, SAME], "it", 0.05, Effort()).sentences[0] == (
        "1 of 1 other run (another seed or learner) comes to the same verdict."
    )
    assert other_runs([FIRST, BY_SEED], "it", 0.05, Effort()).sentences[0] == (
        "0 of 1 other run (another seed or learner) comes to the same verdict."
    )
    alone = other_runs([FIRST], "it", 0.05, Effort(not_done=2))
    assert (alone.counted, alone.same_verdict, alone.not_done, alone.differing) == (0, 0, 2, ())
    assert alone.sentences[0] == "2 planned runs with another seed or learner could not be done; see the warnings."


def test_verdicts_may_differ_on_one_side_of_the_level():
    found = other_runs([BY_SEED, BY_LEARNER], "it", 0.05, Effort())
    assert [run.verdict for run in found.differing] == ["not-comparable"]
    assert found.straddles_alpha is False
    assert other_runs([FIRST, BY_SEED], "it", 0.2, Effort()).straddles_alpha is False  # at the level counts as below
    assert other_runs([FIRST, BY_SEED], "it", 0.05, Effort()).straddles_alpha is True


def test_p_values_of_runs_with_other_covariates_do_not_straddle():
    other_way = run("logit", 0, "no-evidence", 0.5, covariates="with the score")
    found = other_runs([FIRST, SAME, other_way], "it", 0.05, Effort())
    assert (found.counted, found.differing, found.straddles_alpha) == (1, (), False)
    assert [(way.covariates, way.verdict) for way in found.other_covariates] == [("with the score", "no-evidence")]
