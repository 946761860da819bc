"""`FairFrontier.report` and `to_json`: the same record as an audit's, from Python."""

import html
import json
from importlib.resources import files

import jsonschema
import numpy as np
import pandas as pd
import polars as pl
import pytest
from support.quick import QUICK

from fairfrontier import FairFrontier
from fairfrontier.datasets import make_liu_molinari
from fairfrontier.errors import InputError, NotFittedError
from fairfrontier.report.findings import ask
from fairfrontier.report.sentences import HEADLINES

VALIDATOR = jsonschema.Draft202012Validator(
    json.loads(files("fairfrontier.report").joinpath("audit.schema.json").read_text(encoding="utf-8"))
)


@pytest.fixture(scope="module")
def fitted():
    X, y, group = make_liu_molinari(800, design="skewed", random_state=2)
    ff = FairFrontier(**QUICK, n_boot=99, random_state=1).fit(X, y, sensitive_features=group)
    return ff, (X["x2"] > 0.5).astype(int)


def test_record_holds_what_the_methods_return(fitted, tmp_path):
    ff, decisions = fitted
    path = ff.to_json(tmp_path / "record.json", {"in use": decisions})
    record = json.loads(path.read_text())
    (found,) = record["algorithms"]
    test = ff.test_lda({"in use": decisions})["in use"]
    expected = json.loads(json.dumps(test.to_dict()))
    for name, value in found["lda"].items():
        if name == "witness" and value is not None:
            ends = value.pop("intervals")
            assert [[end["low"], end["high"]] for end in ends] == expected["witness"].pop("intervals")
        assert value == expected[name], name
    for name in ("verdict", "risk", "selection_rate", "selection_ratio"):
        assert found[name] == expected[name]
    assert found["sentences"] == test.sentences()
    distance = ff.distance_to_fairest(decisions)
    assert (found["distance"]["metric"], found["distance"]["estimate"]) == ("euclidean", distance.estimate)
    assert distance.estimate == pytest.approx(np.hypot(*(distance.risk - distance.fairest.risk)))
    assert (found["distance"]["interval"]["low"], found["distance"]["interval"]["high"]) == distance.conf_int()
    skew = ff.test_group_skew()
    for name in ("p_value", "p_value_balanced", "verdict", "reject"):
        assert record["skew"][name] == getattr(skew, name)
    assert record["skew"]["sentences"] == skew.sentences()
    alternatives = ff.alternatives({"in use": decisions}, 8)
    assert found["alternatives_sentences"] == alternatives.sentences()
    for line, row in zip(found["alternatives"], alternatives.table.to_dict("records"), strict=True):
        assert line["risk"] == [row[f"risk {label}"] for label in ff.groups_]
        assert line["gain"] == [*(row[f"gain {label}"] for label in ff.groups_), row["gain in gap"]]
        assert (line["role"], line["agreement"], line["flagged"]) == (row["role"], row["agreement"], row["flagged"])
    for line, point in zip(record["points"], ff.points_.to_numpy(), strict=True):
        np.testing.assert_allclose(line["risk"], point[:2])
    for rule in record["rules"][::25]:
        np.testing.assert_allclose(rule["risk"], ff.support_set(rule["direction"])[0])
    assert record["title"] == "Audit of in use"


def test_report_is_the_page_of_that_record(fitted, tmp_path):
    ff, decisions = fitted
    page = ff.report(tmp_path / "report.html", decisions, title="A & B").read_text()
    assert "A &amp; B" in page
    verdict = ff.test_lda(decisions).verdict
    shown = [name for name, headline in HEADLINES.items() if headline in html.unescape(page)]
    assert shown == [verdict]
    assert "What this does not establish" in page


def test_names_of_files_get_their_ending(fitted, tmp_path):
    ff, decisions = fitted
    assert ff.report(tmp_path / "audit of 2.5", decisions).name == "audit of 2.5.html"
    assert ff.to_json(tmp_path / "record", decisions).name == "record.json"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["audit of 2.5.html", "record.json"]


def test_without_algorithms_it_says_what_is_attainable(fitted, tmp_path):
    ff, _ = fitted
    record = json.loads(ff.to_json(tmp_path / "record.json").read_text())
    assert record["algorithms"] == []
    assert record["title"] == "What is attainable"
    assert ff.report(tmp_path / "report.html").stat().st_size > 4_000_000


def test_capacity_and_lotteries(fitted, tmp_path):
    ff, decisions = fitted
    path = ff.to_json(tmp_path / "record.json", {"lottery": 0.1 * decisions}, randomised=True, capacity=0.2)
    record = json.loads(path.read_text())
    shares = np.array([rule["selection_rate"] for rule in record["rules"]]) @ ff.sample_.groups.shares
    assert shares.max() <= 0.2 + 1e-8  # a record has ten digits
    assert record["settings"]["capacity"] == 0.2
    assert not record["settings"]["bounded"]
    assert record["picture"]["region"] == []
    VALIDATOR.validate(record)


def test_bounds_weights_clusters_and_predictions_from_outside_are_recorded(fitted, tmp_path):
    ff, decisions = fitted
    whole = json.loads(ff.to_json(tmp_path / "record.json", decisions).read_text())
    plain = {"bounded": False, "weighted": False, "clusters": None}
    assert plain.items() <= whole["settings"].items()
    assert not whole["learner"]["external"]
    n, sample = ff.n_obs_, ff.sample_
    other = FairFrontier(n_boot=99, random_state=1).fit(
        None,
        sample.y,
        sensitive_features=(sample.group == 0),
        upper=0.3,
        sample_weight=np.arange(n) % 3 + 1.0,
        clusters=np.arange(n) // 4,
        external_nuisance=ff.nuisance_.predictions[0],
    )
    record = json.loads(other.to_json(tmp_path / "record.json", decisions).read_text())
    VALIDATOR.validate(record)
    assert {"bounded": True, "weighted": True, "clusters": n // 4}.items() <= record["settings"].items()
    assert record["learner"]["external"]
    test = other.test_lda(decisions)
    assert test.verdict == "not-comparable"  # it selects more people than a chance of 0.3 allows
    assert "or the limits set on the rules (bounds on the chance of being selected) exclude it" in test.summary()


def test_records_follow_the_schema_with_and_without_algorithms(fitted, tmp_path):
    ff, decisions = fitted
    for algorithms in (None, decisions, {"in use": decisions, "everybody": np.ones(ff.n_obs_)}):
        VALIDATOR.validate(json.loads(ff.to_json(tmp_path / "record.json", algorithms).read_text()))


def several(ff, decisions):
    """Two algorithms as every kind of several columns, with the names that they have in `test_lda`."""
    columns = {"in use": np.asarray(decisions), "nobody": np.zeros(ff.n_obs_, dtype=int)}
    frame = pd.DataFrame(columns)
    return {
        "pandas": frame,
        "polars": pl.DataFrame(columns),
        "array": frame.to_numpy(),
        "one column": frame[["in use"]],
    }


@pytest.mark.parametrize("kind", ["pandas", "polars", "array", "one column"])
def test_several_columns_are_several_algorithms(fitted, tmp_path, kind):
    ff, decisions = fitted
    given = several(ff, decisions)[kind]
    tests = ff.test_lda(given)
    record = json.loads(ff.to_json(tmp_path / "record.json", given).read_text())
    assert [found["name"] for found in record["algorithms"]] == list(tests)
    assert [found["lda"]["p_value_adjusted"] for found in record["algorithms"]] == [
        test.p_value_adjusted for test in tests.values()
    ]
    assert record["title"] == f"Audit of {', '.join(tests)}"
    page = ff.report(tmp_path / "report.html", given).read_text()
    assert f"<title>{record['title']}" in page


def test_several_columns_are_drawn_by_name(fitted):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    ff, decisions = fitted
    for given in several(ff, decisions).values():
        ax = ff.plot(decisions=given)
        labels = [text.get_text() for text in ax.get_legend().get_texts()]
        assert labels[-len(ff.test_lda(given)) :] == list(ff.test_lda(given))
        plt.close(ax.figure)


def test_frames_are_refused_as_in_the_tests(fitted, tmp_path):
    ff, decisions = fitted
    wrong = (pd.DataFrame(index=decisions.index), pd.DataFrame({1: decisions, "1": decisions}))
    for given in wrong:
        for ask_for in (ff.test_lda, lambda d: ff.plot(decisions=d), lambda d: ff.to_json(tmp_path / "record.json", d)):
            with pytest.raises(InputError) as error:
                ask_for(given)
            assert error.value.code == "bad-decisions"


def test_no_algorithm_by_name_is_none(fitted, tmp_path):
    ff, _ = fitted
    assert json.loads(ff.to_json(tmp_path / "record.json", {}).read_text())["algorithms"] == []


def test_algorithms_need_different_names(fitted):
    ff, decisions = fitted
    with pytest.raises(InputError, match="different names") as error:
        ask(ff, {1: decisions, "1": decisions})
    assert error.value.code == "bad-decisions"


def test_bad_calls(fitted, tmp_path):
    ff, decisions = fitted
    with pytest.raises(NotFittedError):
        FairFrontier().report(tmp_path / "report.html")
    with pytest.raises(InputError):
        ff.report(tmp_path / "report.html", decisions[:10])
    assert not list(tmp_path.iterdir())


def test_questions_can_be_stopped_one_by_one(fitted):
    ff, decisions = fitted
    asked = []

    def stop():
        asked.append(1)
        if len(asked) == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ask(ff, {"in use": decisions}, before_each=stop)
    assert len(asked) == 3
