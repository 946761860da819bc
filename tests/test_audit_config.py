"""Settings of an audit: through TOML and back, refused with a reason, and the command line before the file."""

import dataclasses
import json
import tomllib
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.fuzz_files import typed
from typer.main import get_command
from typer.testing import CliRunner

from fairfrontier import cli
from fairfrontier.audit.request import AuditRequest, options, override, read_config, write_config
from fairfrontier.errors import InputError

FULL = AuditRequest(
    data=("some where/people.csv", "more.csv"),
    sep=";",
    decimal=",",
    where="`the \"group\"` == 'a'",
    sample=500,
    outcome="ill, or not",
    group=('the "group"', "town, place"),
    decision="decision\\n",
    decision_positive="yes",
    score="score\t",
    threshold=(3.0, 1e-05),
    group_threshold={"Black": 0.5, "a.b = c": -1.0},
    top=1e-05,
    algorithms={"a.b = c": "d", "": "x", "'quo\"ted'": "y\n"},
    models={"new": "m.joblib"},
    trust_model=True,
    features=("one", "two, three", "<script>alert(1)</script>"),
    exclude=("עברית", "😀", "\x7f\x01\u2028"),
    groups=("Black", "White"),
    merge={"Other 'one'": ("A, B", "C"), "rest": ("*",)},
    smallest_group=30,
    reference="White",
    positive="yes # not a comment",
    categorical=("job, town",),
    numeric=("age",),
    missing="drop",
    score_as_feature=True,
    loss="squared",
    cost_false_positive=5.0,
    cost_false_negative=1.0,
    fairness="selection-rate",
    accuracy="overall",
    keep="selection-rate",
    keep_tolerance=0.05,
    profit="margin",
    learner="lasso",
    folds=3,
    repetitions=2,
    draws=500,
    jitter=0.01,
    capacity=0.1,
    rules="group-blind",
    alpha=0.1,
    seed=7,
    weights="w",
    clusters="c",
    copies="ignore",
    sequential=True,
    robustness=True,
    read="whole",
    learn_rows=5000,
    encoding="latin-1",
    title="[title]",
)
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)


def through_toml(request, folder):
    path = folder / "config.toml"
    path.write_text(write_config(request), encoding="utf-8", newline="")
    return read_config(path)


def read_text(text, folder):
    path = folder / "config.toml"
    path.write_bytes(text.encode())
    return read_config(path)


def refusal(text, folder):
    with pytest.raises(InputError) as error:
        read_text(text, folder)
    assert error.value.code == "bad-option"
    return str(error.value)


def test_every_setting_differs_from_its_default_and_survives(tmp_path):
    default = AuditRequest()
    same = [
        entry.name for entry in dataclasses.fields(FULL) if getattr(FULL, entry.name) == getattr(default, entry.name)
    ]
    assert not same
    assert through_toml(FULL, tmp_path) == FULL
    assert through_toml(default, tmp_path) == default
    written = tomllib.loads(write_config(FULL))
    assert set(written) == {entry.name for entry in dataclasses.fields(FULL)}


@given(
    st.builds(
        AuditRequest,
        data=TEXT,
        outcome=TEXT,
        title=TEXT,
        features=st.tuples(TEXT, TEXT),
        algorithms=st.dictionaries(TEXT, TEXT, max_size=3),
        top=st.floats(allow_nan=False, allow_infinity=False),
    )
)
def test_any_text_survives(tmp_path_factory, asked):
    assert through_toml(asked, tmp_path_factory.getbasetemp()) == asked


def test_dashes_underscores_and_a_byte_order_mark(tmp_path):
    found = read_text("\ufeffscore-as-feature = true\nscore = 's'\ntop = 1\n", tmp_path)
    assert found == AuditRequest(score_as_feature=True, score="s", top=1.0)
    assert read_text("score_as_feature = true", tmp_path).score_as_feature


GIVEN = {
    "data": Path("some where") / "people.csv",
    "threshold": np.float32(0.5),
    "top": Fraction(1, 4),
    "alpha": np.float64(0.1),
    "capacity": 1,
    "folds": np.int64(3),
    "seed": np.uint8(7),
    "robustness": np.True_,
    "features": ["one", "two"],
    "exclude": pd.Index(["three"]),
    "groups": np.array(["a", "b"]),
    "algorithms": {"name": "column"},
    "title": None,
}
PLAIN = {
    "data": (str(GIVEN["data"]),),
    "threshold": (0.5,),
    "top": 0.25,
    "alpha": 0.1,
    "capacity": 1.0,
    "folds": 3,
    "seed": 7,
    "robustness": True,
    "features": ("one", "two"),
    "exclude": ("three",),
    "groups": ("a", "b"),
    "algorithms": {"name": "column"},
    "title": None,
}


@pytest.mark.parametrize("name", GIVEN)
def test_values_from_python_become_plain(name, tmp_path):
    request = AuditRequest(**{name: GIVEN[name]})
    value = getattr(request, name)
    assert value == PLAIN[name]
    assert type(value) is type(PLAIN[name])
    assert json.loads(json.dumps(request.resolved()))[name] == (list(value) if isinstance(value, tuple) else value)
    assert through_toml(request, tmp_path) == request


def test_a_request_does_not_follow_what_it_was_made_from():
    given = {"a": "b"}
    request = AuditRequest(algorithms=given)
    given["c"] = "d"
    assert request.algorithms == {"a": "b"}


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"folds": 5.0}, "`folds` must be an integer; got 5.0."),
        ({"folds": np.float64(5.0)}, "`folds` must be an integer; got "),
        ({"folds": "5"}, "`folds` must be an integer; got '5'."),
        ({"folds": True}, "`folds` must be an integer; got True."),
        ({"seed": None}, "`seed` must be an integer; got None."),
        ({"seed": 2**63}, "`seed` must be an integer of at most 9223372036854775807; got a larger one."),
        ({"threshold": 10**400}, "`threshold` must be a list of numbers; got (1000"),
        ({"threshold": [1, "2"]}, "`threshold` must be a list of numbers; got [1, '2']."),
        ({"group_threshold": {"a": "2"}}, "`group_threshold` must be a table of names and numbers; got {'a': '2'}."),
        ({"top": 10**400}, "`top` must be a number of at most"),
        ({"alpha": "0.05"}, "`alpha` must be a number; got '0.05'."),
        ({"top": np.array([0.1])}, "`top` must be a number; got array([0.1])."),
        ({"robustness": 1}, "`robustness` must be true or false; got 1."),
        ({"data": b"people.csv"}, "`data` must be a list of texts; got b'people.csv'."),
        ({"data": None}, "`data` must be a list of texts; got None."),
        ({"decision": ["d"]}, "`decision` must be a text; got ['d']."),
        ({"features": "a,b"}, "`features` must be a list of texts; got 'a,b'."),
        ({"features": {"a", "b"}}, "`features` must be a list of texts; got {"),
        ({"groups": (0, 1)}, "`groups` must be a list of texts; got (0, 1)."),
        ({"exclude": None}, "`exclude` must be a list of texts; got None."),
        ({"algorithms": {"a": 1}}, "`algorithms` must be a table of names and columns; got {'a': 1}."),
        ({"algorithms": {1: "a"}}, "`algorithms` must be a table of names and columns; got {1: 'a'}."),
        ({"algorithms": ["a"]}, "`algorithms` must be a table of names and columns; got ['a']."),
    ],
)
def test_values_of_other_types_are_refused(settings, words):
    with pytest.raises(InputError) as error:
        AuditRequest(**settings)
    assert error.value.code == "bad-option"
    assert words in str(error.value)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("outcom = 'y'", "sets 'outcom', which is not known. Did you mean 'outcome'?"),
        ("score-as-featur = true", "Did you mean 'score_as_feature'?"),
        ("xyz = 1", "Known: data, sep, decimal, encoding, where, sample, outcome, group"),
        ("jobs = 2", "sets 'jobs', which is not known."),
        ("outcome = 3", "`outcome` must be a text; got 3."),
        ("decision = ['d']", "`decision` must be a text"),
        ("folds = 5.0", "`folds` must be an integer; got 5.0."),
        ("folds = true", "`folds` must be an integer; got True."),
        ("seed = '1'", "`seed` must be an integer"),
        ("alpha = '0.05'", "`alpha` must be a number; got '0.05'."),
        ("threshold = false", "`threshold` must be a list of numbers; got False."),
        ("robustness = 1", "`robustness` must be true or false; got 1."),
        ("robustness = 'yes'", "`robustness` must be true or false"),
        ("features = 'a,b'", "`features` must be a list of texts"),
        ("groups = [0, 1]", "`groups` must be a list of texts"),
        ("algorithms = ['a']", "`algorithms` must be a table of names and columns"),
        ("[algorithms]\na = 1", "`algorithms` must be a table of names and columns"),
        ("title = 2024-01-01", "`title` must be a text"),
        ("outcome = ", "is not valid TOML"),
        ("seed = 1\nseed = 2", "is not valid TOML"),
    ],
)
def test_bad_config_files_are_refused(text, words, tmp_path):
    assert words in refusal(text, tmp_path)


def test_config_files_that_cannot_be_read_are_refused(tmp_path):
    (tmp_path / "latin.toml").write_bytes("title = 'é'".encode("latin-1"))
    for path, words in (
        (tmp_path / "absent.toml", "cannot be read: No such file"),
        (tmp_path, "cannot be read: Is a directory"),
        (tmp_path / "latin.toml", "is not valid TOML"),
    ):
        with pytest.raises(InputError, match=words) as error:
            read_config(path)
        assert error.value.code == "bad-option"


def test_what_is_given_wins_and_what_is_not_stays():
    config = AuditRequest(data="a.csv", outcome="y", group="g", decision="d", seed=3, robustness=True)
    found = override(config, {"data": None, "outcome": "z", "seed": 0, "robustness": False, "alpha": None})
    assert found == dataclasses.replace(config, outcome="z", seed=0, robustness=False)


@pytest.mark.parametrize(
    ("config", "given_", "expected"),
    [
        ({"decision": "d"}, {"score": "s", "top": 0.1}, {"score": "s", "top": 0.1}),
        (
            {"score": "s", "top": 0.1, "score_as_feature": True},
            {"decision": "d"},
            {"decision": "d"},
        ),
        ({"score": "s", "top": 0.1}, {"threshold": 2.0}, {"score": "s", "threshold": 2.0}),
        ({"score": "s", "threshold": 2.0}, {"top": 0.1}, {"score": "s", "top": 0.1}),
        ({"decision": "d", "exclude": ("a",)}, {"features": ("b",)}, {"decision": "d", "features": ("b",)}),
        ({"decision": "d", "features": ("a",)}, {"exclude": ("b",)}, {"decision": "d", "exclude": ("b",)}),
        (
            {"decision": "d", "algorithms": {"a": "b"}},
            {"algorithms": {"c": "d"}},
            {"decision": "d", "algorithms": {"c": "d"}},
        ),
    ],
)
def test_what_cannot_stand_beside_a_given_setting_goes(config, given_, expected):
    base = {"data": "a.csv", "outcome": "y", "group": "g"}
    nothing = dict.fromkeys([entry.name for entry in dataclasses.fields(AuditRequest)])
    found = override(AuditRequest(**base, **config), nothing | given_)
    assert found == AuditRequest(**base, **expected)
    found.check()


@pytest.mark.parametrize(
    ("settings", "code", "words"),
    [
        ({"data": ""}, "bad-option", "needs the path of a table"),
        ({"outcome": ""}, "bad-option", "give --outcome"),
        ({"group": ""}, "bad-option", "give --group"),
        ({"decision": None}, "bad-option", "either --decision"),
        ({"score": "s"}, "bad-option", "either --decision"),
        ({"decision": None, "score": "s"}, "bad-option", "either --threshold or --top"),
        ({"decision": None, "score": "s", "threshold": 1.0, "top": 0.1}, "bad-option", "either --threshold or --top"),
        ({"threshold": 1.0}, "bad-option", "belong to --score, or to --model"),
        ({"top": 0.1}, "bad-option", "--top belongs to --score."),
        ({"decision": None, "score": "s", "top": 1.5}, "bad-option", "got 1.5"),
        ({"decision": None, "score": "s", "top": 0.0}, "bad-option", "got 0"),
        ({"decision": None, "score": "s", "top": float("nan")}, "bad-option", "got nan"),
        ({"decision": None, "score": "s", "threshold": float("nan")}, "bad-option", "got nan"),
        ({"decision": None, "score": "s", "threshold": float("inf")}, "bad-option", "got inf"),
        ({"features": ("a",), "exclude": ("b",)}, "bad-option", "either --features or --exclude"),
        ({"groups": ("a",)}, "bad-option", "--groups must be two or more different labels; got ('a',)"),
        ({"group": ("a", "b", "a")}, "bad-option", "--group names 'a' more than once"),
        ({"merge": {"a": ("b",), "c": ("b",)}}, "bad-option", "--merge merges 'b' more than once"),
        ({"merge": {"a": ()}}, "bad-option", "--merge must map new labels to lists of labels"),
        ({"smallest_group": -1}, "bad-option", "--smallest-group must be an integer of at least 0"),
        ({"groups": ("a", "a")}, "bad-option", "two or more different labels"),
        ({"score_as_feature": True}, "bad-option", "needs --score"),
        ({"alpha": 0.0}, "bad-alpha", "--alpha must lie"),
        ({"alpha": 0.5}, "bad-alpha", "--alpha must lie"),
        ({"alpha": float("nan")}, "bad-alpha", "--alpha must lie"),
        ({"alpha": 0.0005}, "bad-draws", "1000 draws"),
        ({"draws": 98}, "bad-draws", "--draws must be an integer of at least 99; got 98."),
        ({"copies": "drop"}, "bad-option", "--copies must be auto or keep-together or ignore; got 'drop'."),
        ({"jitter": -0.1}, "bad-option", "--jitter must be an angle in radians"),
        ({"jitter": 1.6}, "bad-option", "--jitter must be an angle in radians"),
        ({"jitter": float("nan")}, "bad-option", "--jitter must be an angle in radians"),
        ({"capacity": 0.0}, "bad-capacity", "--capacity must be a share of people"),
        ({"capacity": 1.1}, "bad-capacity", "--capacity must be a share of people"),
        ({"folds": 1}, "bad-folds", "--folds must be an integer of at least 2; got 1."),
        ({"repetitions": 0}, "bad-option", "--repetitions must be an integer of at least 1; got 0."),
        ({"seed": -1}, "bad-option", "--seed must be an integer of at least 0; got -1."),
        ({"loss": "squard"}, "bad-loss", "squard"),
        ({"learner": "forrest"}, "unknown-learner", "Did you mean 'forest'"),
    ],
)
def test_settings_that_cannot_be_are_refused_before_any_data_are_read(settings, code, words):
    fine = {"data": "a.csv", "outcome": "y", "group": "g", "decision": "d"}
    assert AuditRequest(**fine).check() == AuditRequest(**fine)
    with pytest.raises(InputError) as error:
        AuditRequest(**fine | settings).check()
    assert error.value.code == code
    assert words in str(error.value)


NEEDED = {"data": ("people.csv",), "outcome": "y", "group": "g"}
EXTRA = ["config", "out", "jobs", "dask", "pdf", "dry_run", "fail_on"]
"""Options of the command that are not settings of an audit."""
PARTNERS = {"threshold": {"score": "s"}, "top": {"score": "s"}, "score_as_feature": {"score": "s", "top": 0.5}}
PARTNERS |= {"cost_false_positive": {"cost_false_negative": 1.0}, "cost_false_negative": {"cost_false_positive": 5.0}}
PARTNERS |= {"group_threshold": {"score": "s"}, "models": {"trust_model": True}, "trust_model": {"models": {"m": "f"}}}
PARTNERS |= {"keep_tolerance": {"keep": "selection-rate"}}


def test_options_of_the_command_are_the_fields_of_the_request():
    parameters = get_command(cli.app).commands["audit"].params
    names = [entry.name for entry in dataclasses.fields(AuditRequest)]
    assert [parameter.name for parameter in parameters] == names + EXTRA
    assert [option.name for option in options()] == names
    for parameter, option in zip(parameters, options(), strict=False):
        default = getattr(AuditRequest(), option.name)
        assert option.default == default
        assert option.help == AuditRequest.__dataclass_fields__[option.name].metadata["help"]
        assert parameter.default is None  # not given: the config file, or the default of the request, holds
        shown = default not in (None, "", (), {}) and default is not False
        needed = f"{option.required} " if option.required else ""
        assert parameter.help == needed + option.help + (f" Default: {default}." if shown else "")
        assert parameter.rich_help_panel == ("Table" if option.positional else option.panel)
        assert parameter.opts == ["data" if option.positional else option.flag]


@pytest.fixture
def asked(monkeypatch):
    """Run the command up to the plan; return the request that it makes of its options."""

    def ask(*words):
        requests = []

        def plan(request, client):
            requests.append(request)
            raise InputError("bad-option", "Stopped here.")

        monkeypatch.setattr(cli, "_plan", plan)
        done = CliRunner().invoke(cli.app, ["audit", *words])
        assert done.exit_code == 2, done.output
        assert "Stopped here." in done.output
        return requests[0]

    return ask


def test_without_options_the_command_has_the_defaults_of_the_request(asked):
    assert asked(*typed(NEEDED | {"decision": "d"})) == AuditRequest(**NEEDED, decision="d")


VALID = {
    "data": ("other.csv", "more.csv"),
    "sep": ";",
    "decimal": ",",
    "where": "age >= 18",
    "sample": 500,
    "outcome": "o",
    "group": ("h", "j, k"),
    "decision": "d",
    "decision_positive": "yes",
    "score": "s",
    "threshold": (3.0, 0.5),
    "group_threshold": {"Black": 1.0, "White": 2.0},
    "top": 0.25,
    "algorithms": {"a b": "c", "d": "e=f"},
    "models": {"new": "m.joblib"},
    "trust_model": True,
    "features": ("one", "two, three"),
    "exclude": ("four",),
    "groups": ("Black", "White, not Hispanic"),
    "merge": {"Other": ("A", "B"), "rest": ("*",)},
    "smallest_group": 25,
    "reference": "White, not Hispanic",
    "positive": "yes",
    "categorical": ("job", "town, place"),
    "numeric": ("age",),
    "missing": "drop",
    "score_as_feature": True,
    "loss": "squared",
    "cost_false_positive": 5.0,
    "cost_false_negative": 1.0,
    "fairness": "selection-ratio",
    "accuracy": "overall",
    "keep": "no-more-selected",
    "keep_tolerance": 0.05,
    "profit": "margin",
    "learner": "lasso",
    "folds": 3,
    "repetitions": 2,
    "draws": 500,
    "jitter": 0.01,
    "capacity": 0.1,
    "rules": "group-aware",
    "alpha": 0.1,
    "seed": 7,
    "weights": "w",
    "clusters": "c",
    "copies": "ignore",
    "sequential": True,
    "robustness": True,
    "read": "parts",
    "learn_rows": 5000,
    "encoding": "latin-1",
    "title": "[title]",
}


@pytest.mark.parametrize("name", [entry.name for entry in dataclasses.fields(AuditRequest)])
def test_command_line_toml_and_python_set_every_option_alike(name, asked, tmp_path):
    settings = NEEDED | ({"top": 0.5} if name == "score" else {}) | {name: VALID[name]}
    settings = PARTNERS.get(name, {}) | settings
    settings |= {} if "score" in settings else {"decision": "d"}
    request = AuditRequest(**settings)
    assert getattr(request, name) == VALID[name] != getattr(AuditRequest(), name)
    assert asked(*typed(settings)) == request
    (tmp_path / "settings.toml").write_text(write_config(request), encoding="utf-8")
    assert asked("--config", str(tmp_path / "settings.toml")) == request


def test_groups_may_be_given_as_one_text_or_twice(asked):
    words = typed(NEEDED | {"decision": "d"})
    assert asked(*words, "--groups", "a, b").groups == ("a", "b")
    assert asked(*words, "--groups", "a, b", "--groups", "c").groups == ("a, b", "c")


def test_switches_can_be_turned_off_again(asked, tmp_path):
    (tmp_path / "settings.toml").write_text("robustness = true\n")
    words = ["--config", str(tmp_path / "settings.toml"), *typed(NEEDED | {"decision": "d"})]
    assert asked(*words).robustness
    assert not asked(*words, "--no-robustness").robustness
