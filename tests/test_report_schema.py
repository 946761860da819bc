"""The schema of the record is generated from its classes, and shipped as generated."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from importlib.resources import files
from typing import Annotated, Literal, get_args, get_type_hints

import jsonschema
import pytest

from fairfrontier.audit.request import AuditRequest
from fairfrontier.report import schema
from fairfrontier.report.frame import plain
from fairfrontier.report.joint_record import GroupsRecord
from fairfrontier.report.origin import RequestRecord
from fairfrontier.report.record import Record
from fairfrontier.report.schema import describe, record_schema, schema_text
from fairfrontier.report.values import Limits


@dataclass(frozen=True, kw_only=True)
class Inner:
    """A part."""

    name: str
    """Its name,
    over two lines."""


@dataclass(frozen=True, kw_only=True)
class Outer:
    """A whole."""

    parts: tuple[Inner, ...]
    """Its parts."""
    other: Inner | None
    """One more, or none."""
    counts: Mapping[str, Annotated[int, Limits(minimum=0)]]
    """Numbers by name."""
    kind: Literal["a", "b"]
    """One of two."""
    pair: tuple[float, float]
    """Two numbers."""
    anything: object
    """Whatever JSON can hold."""


def validator(cls):
    definitions = {}
    reference = describe(cls, definitions)
    jsonschema.Draft202012Validator.check_schema(found := reference | {"$defs": definitions})
    return jsonschema.Draft202012Validator(found), definitions


WHOLE = {"parts": [{"name": "x"}], "other": None, "counts": {"y": 2}, "kind": "a", "pair": [0.5, 1], "anything": [None]}


def test_classes_types_limits_and_texts_become_a_schema():
    found, definitions = validator(Outer)
    assert set(definitions) == {"Inner", "Outer"}
    assert definitions["Outer"]["description"] == "A whole."
    assert definitions["Outer"]["required"] == list(WHOLE)
    assert definitions["Outer"]["properties"]["parts"] == {
        "type": "array",
        "items": {"$ref": "#/$defs/Inner"},
        "description": "Its parts.",
    }
    assert definitions["Inner"]["properties"]["name"]["description"] == "Its name, over two lines."
    found.validate(WHOLE)
    found.validate(WHOLE | {"other": {"name": "z"}, "parts": [], "anything": {"deep": 1}})


@pytest.mark.parametrize(
    "change",
    [
        {"parts": [{}]},
        {"parts": [{"name": "x", "more": 1}]},
        {"parts": None},
        {"other": "z"},
        {"counts": {"y": -1}},
        {"counts": {"y": 1.5}},
        {"kind": "c"},
        {"pair": [0.5]},
        {"pair": [0.5, 1, 2]},
        {"pair": [0.5, None]},
        {"new": 1},
    ],
)
def test_what_the_classes_do_not_allow_does_not_follow_the_schema(change):
    found, _ = validator(Outer)
    assert not found.is_valid(WHOLE | change)


def test_fields_without_a_text_and_tuples_of_several_types_are_refused():
    @dataclass(frozen=True)
    class Silent:
        """A part."""

        name: str

    with pytest.raises(TypeError, match="Fields of Silent without a text below them: name"):
        describe(Silent, {})
    with pytest.raises(TypeError, match="must be of one type"):
        describe(tuple[int, str], {})


def test_the_shipped_file_is_the_generated_one():
    shipped = files("fairfrontier.report").joinpath("audit.schema.json").read_text(encoding="utf-8")
    assert shipped == schema_text()
    jsonschema.Draft202012Validator.check_schema(json.loads(shipped))


def test_the_command_compares_and_renews_the_file(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(schema, "files", lambda package: tmp_path)
    path = tmp_path / "audit.schema.json"
    path.write_text("{}\n")
    assert schema.main(["--check"]) == 1
    assert "out of date" in capsys.readouterr().err
    assert schema.main(["--write"]) == 0
    assert schema.main(["--check"]) == 0
    assert path.read_text(encoding="utf-8") == schema_text()
    assert schema.main([]) == 2


def parts(cls, found):
    """Collect the classes of which a record consists."""
    if cls in found:
        return
    found.append(cls)
    waiting = list(get_type_hints(cls).values())
    while waiting:
        kind = waiting.pop()
        waiting += get_args(kind)
        if is_dataclass(kind):
            parts(kind, found)


def test_a_record_cannot_be_changed_and_is_made_by_name():
    found = []
    parts(Record, found)
    parts(GroupsRecord, found)
    assert len(found) > 15
    for cls in found:
        assert cls.__dataclass_params__.frozen
        assert all(entry.kw_only for entry in fields(cls)), cls
    assert {cls.__name__ for cls in found} == set(record_schema()["$defs"])


def test_the_request_of_the_record_has_the_settings_of_an_audit():
    assert [entry.name for entry in fields(RequestRecord)] == [entry.name for entry in fields(AuditRequest)]


def test_numbers_that_json_cannot_hold_become_none():
    assert plain({"a": float("nan"), 1: (float("inf"), True, 2), "c": {1}}) == {
        "a": None,
        "1": [None, True, 2],
        "c": "{1}",
    }
