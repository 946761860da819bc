"""A command that can be found out: help in panels, columns at a glance, questions for the roles that are not given."""

import os
import re
import select
import shlex
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest
from support.pages import TERMINAL
from typer.testing import CliRunner

from fairfrontier import cli
from fairfrontier.audit.asking import ask_for_roles, command_of
from fairfrontier.audit.request import PANELS, AuditRequest, options
from fairfrontier.audit.suggestions import columns_at_a_glance, suggested, table_of_columns
from fairfrontier.cli import app
from fairfrontier.data.criteria import read_criteria
from fairfrontier.learning.learners import PRESETS

N = 60


def people():
    return pd.DataFrame(
        {
            "person_id": np.arange(N) + 1000,
            "ageGroup": np.where(np.arange(N) % 3 == 0, "old", "young"),
            "Sex": np.where(np.arange(N) % 2 == 0, "f", "m"),
            "income": np.where(np.arange(N) % 7 == 0, np.nan, np.arange(N) / 3),
            "repaid": np.where(np.arange(N) % 4 < 2, "yes", "no"),
            "credit score": np.arange(N) // 2,
            "approved": np.arange(N) % 5 < 2,
            "country": "X",
            "since": pd.to_datetime("2020-01-01") + pd.to_timedelta(np.arange(N) // 2, "D"),
        }
    )


# --- help ---------------------------------------------------------------------------------------------


def test_every_option_has_one_panel_and_what_is_required_says_so():
    named = [name for names in PANELS.values() for name in names]
    assert sorted(named) == sorted(option.name for option in options())
    shown = CliRunner().invoke(app, ["audit", "--help"], env=TERMINAL).output
    panels = re.findall(r"╭─ (\w+) ─", shown)
    assert panels == ["Table", "Options", *PANELS]
    words = " ".join(shown.replace("│", " ").split())
    for text in ("--outcome <str> Required.", "--group <list[str]> Required.", "Required, or --score, or --model."):
        assert text.split()[0] in words
    assert words.count("Required") == 4
    assert words.rstrip().endswith("--score rating --threshold 600 --out audit")


def test_the_help_names_all_learners_and_measures():
    text = {option.name: option.help for option in options()}
    assert set(re.findall(r"[a-z]+(?:-[a-z]+)*", text["learner"].split(":")[1])) - {"or"} == set(PRESETS)
    measures = re.findall(r"[a-z]+(?:-[a-z]+)+|risk", text["fairness"].split(":")[1])
    assert len(measures) == 5
    for measure in measures:
        read_criteria(measure, "overall", None, None, None)


def test_the_shell_can_complete(monkeypatch):
    shown = CliRunner().invoke(app, ["--help"], env=TERMINAL).output
    assert "--install-completion" in shown
    words = {"_FAIRFRONTIER_COMPLETE": "complete_bash", "COMP_WORDS": "fairfrontier col", "COMP_CWORD": "1"}
    done = subprocess.run(
        [sys.executable, "-c", "import sys; sys.argv[0] = 'fairfrontier'; from fairfrontier.cli import app; app()"],
        env=os.environ | words,
        capture_output=True,
        text=True,
    )
    assert done.stdout.split() == ["columns"]


# --- columns ------------------------------------------------------------------------------------------


def test_columns_at_a_glance():
    found = {c.name: (c.kind, c.missing, c.distinct, c.role) for c in columns_at_a_glance(people())}
    assert found == {
        "person_id": ("integer", 0, N, "left out: identifier"),
        "ageGroup": ("text", 0, 2, "covariate"),
        "Sex": ("text", 0, 2, "group"),
        "income": ("number", 9, 51, "covariate"),
        "repaid": ("text", 0, 2, "outcome"),
        "credit score": ("integer", 0, 30, "score"),
        "approved": ("true or false", 0, 2, "decision"),
        "country": ("text", 0, 1, "left out: one value"),
        "since": ("date", 0, 30, "covariate"),
    }


def test_names_suggest_a_role_only_if_values_suit():
    table = pd.DataFrame({"sex": range(30), "decision": range(30), "score": [0, 1] * 15, "outcome": list("abc") * 10})
    assert {c.role for c in columns_at_a_glance(table)} == {"left out: identifier", "covariate"}


def test_of_several_columns_the_most_usual_name_is_suggested():
    table = pd.DataFrame({"foreign": ["y", "n"] * 10, "sex": ["f", "m"] * 10, "race": ["b", "w"] * 10})
    assert suggested(columns_at_a_glance(table), "group") == "sex"
    assert suggested(columns_at_a_glance(table), "score") is None


def test_the_command_columns(tmp_path):
    people().to_csv(tmp_path / "people.csv", index=False, sep=";")
    done = CliRunner().invoke(app, ["columns", str(tmp_path / "people.csv")])
    assert done.exit_code == 0
    assert done.output.splitlines()[:2] == ["people.csv: 60 rows, 9 columns", "values are separated by semicolons"]
    assert re.search(r"^Sex +text +0 +2 +group +f, m$", done.output, re.MULTILINE)
    assert CliRunner().invoke(app, ["columns", str(tmp_path / "absent.csv")]).exit_code == 2


def test_odd_names_stay_in_their_line():
    lines = table_of_columns(columns_at_a_glance(pd.DataFrame({"a\nb": ["x\ny", "z"], "c": [1, 2]})))
    assert len(lines) == 3
    assert all("\n" not in line for line in lines)


# --- questions -----------------------------------------------------------------------------------------


class Answers:
    """Somebody who answers; an empty answer takes what is suggested."""

    def __init__(self, *answers):
        self.answers, self.asked, self.said = list(answers), [], []

    def ask(self, question, suggestion):
        self.asked.append((question, suggestion))
        answer = self.answers.pop(0)
        return answer or suggestion


def answered(request, *answers):
    person = Answers(*answers)
    found = ask_for_roles(request, people(), person.ask, person.said.append)
    assert not person.answers
    return found, person


def test_roles_are_asked_for_with_suggestions():
    found, person = answered(AuditRequest(data="p.csv"), "", "yes", "", "")
    assert [suggestion for _, suggestion in person.asked] == ["repaid", None, "Sex", "approved"]
    assert found == AuditRequest(data="p.csv", outcome="repaid", positive="yes", group="Sex", decision="approved")
    assert person.said[0].startswith("column")


def test_a_score_is_asked_for_its_threshold():
    given = AuditRequest(data="p.csv", outcome="repaid", positive="yes", group="Sex")
    found, person = answered(given, "credit score", "many", "12.5")
    assert found == AuditRequest(
        data="p.csv", outcome="repaid", positive="yes", group="Sex", score="credit score", threshold=12.5
    )
    assert "from 0 to 29" in person.asked[1][0]
    assert "'many' is not a number." in person.said
    cut = AuditRequest(data="p.csv", outcome="repaid", group="Sex", top=0.2)
    assert answered(cut, "credit score")[0].score == "credit score"


def test_wrong_answers_are_asked_again():
    _, person = answered(AuditRequest(data="p.csv"), "repayed", "repaid", "maybe", "yes", "repaid", "Sex", "")
    said = "\n".join(person.said)
    assert "'repayed' is not a column. Did you mean 'repaid'?" in said
    assert "'maybe' is neither 'no' nor 'yes'." in said
    assert "'repaid' has a role already." in said


def test_labels_of_decisions_are_asked_for():
    given = AuditRequest(data="p.csv", outcome="approved", group="Sex")
    found, _ = answered(given, "repaid", "no")
    assert found == AuditRequest(
        data="p.csv", outcome="approved", group="Sex", decision="repaid", decision_positive="no"
    )


REQUESTS = (
    AuditRequest(data="p.csv", outcome="y", group="g", decision="d"),
    AuditRequest(
        data=("a b.csv", "c.csv"), outcome="it's", group=("g", "h"), score="s", threshold=(600.0, 1234567.25, 1e-9)
    ),
    AuditRequest(
        data="p.csv",
        outcome="y",
        group="g",
        models={"new one": "m.joblib"},
        trust_model=True,
        group_threshold={"a": 0.1, "b c": 2},
        merge={"rest": ("a, b", "c")[1:], "x": ("d", "e")},
        where="age >= 18 and sex == 'F'",
        robustness=True,
        alpha=0.1,
        features=("a", "b,c"),
    ),
)


@pytest.mark.parametrize("request_", REQUESTS)
def test_the_command_of_a_request_makes_that_request(request_, monkeypatch):
    made = []
    monkeypatch.setattr(cli, "_plan", lambda request, client: made.append(request) or exec("raise SystemExit"))
    CliRunner().invoke(app, shlex.split(command_of(request_))[1:])
    assert made == [request_]


def test_nothing_is_asked_without_a_terminal(tmp_path):
    people().to_csv(tmp_path / "people.csv", index=False)
    done = CliRunner().invoke(app, ["audit", str(tmp_path / "people.csv"), "--dry-run"], input="repaid\n")
    assert done.exit_code == 2
    assert "An audit needs `outcome`: give --outcome." in done.output


@pytest.mark.skipif(sys.platform == "win32", reason="a terminal of its own")
def test_on_a_terminal_roles_are_asked_for(tmp_path):
    import pty

    people().to_csv(tmp_path / "people.csv", index=False)
    ours, theirs = pty.openpty()
    words = [sys.executable, "-m", "fairfrontier", "audit", "people.csv", "--dry-run", "--folds", "2"]
    process = subprocess.Popen(words, cwd=tmp_path, stdin=theirs, stdout=theirs, stderr=theirs, close_fds=True)
    os.close(theirs)
    dialogue = [("outcome", ""), ("counts as 1", "yes"), ("groups", ""), ("score", "")]
    shown, stop = "", time.monotonic() + 300
    for question, answer in dialogue:
        shown += _until(ours, rf"{question}[^\n]*: ", stop)
        os.write(ours, f"{answer}\n".encode())
    command = "fairfrontier audit people.csv --outcome repaid --group Sex --decision approved --positive yes --folds 2"
    shown += _until(ours, r"The same without questions:\s+[^\n]*\n", stop)
    assert f"The same without questions:\r\n  {command}\r\n" in shown
    process.terminate()  # what follows is the plan, as without questions
    process.wait(30)
    os.close(ours)


def _until(terminal, pattern, stop):
    """Read what a terminal shows until it matches."""
    found = ""
    while not re.search(pattern, found):
        assert time.monotonic() < stop, found
        if select.select([terminal], [], [], 0.5)[0]:
            found += os.read(terminal, 65536).decode()
    return found
