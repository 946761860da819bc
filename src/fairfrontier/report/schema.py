"""The JSON schema of the record, generated from its classes.

``python -m fairfrontier.report.schema --write`` renews ``audit.schema.json``; ``--check`` fails if it is out of date.
"""

from __future__ import annotations

import ast
import inspect
import json
import sys
import textwrap
from collections.abc import Mapping
from dataclasses import asdict, fields, is_dataclass
from importlib.resources import files
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Literal, Union, get_args, get_origin, get_type_hints

from ..data.result import PlainDict
from .frame import SCHEMA
from .joint_record import GroupsRecord
from .record import Record
from .values import Limits

FILE = "audit.schema.json"
PLAIN: dict[object, str] = {str: "string", float: "number", int: "integer", bool: "boolean", NoneType: "null"}


def record_schema() -> PlainDict:
    """Return the schema (JSON Schema 2020-12) of `Record`, and of `GroupsRecord`, which alone has pairs."""
    definitions: PlainDict = {}
    two, more = describe(Record, definitions), describe(GroupsRecord, definitions)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:fairfrontier:audit:{SCHEMA}",
        "title": "Record of an audit",
        "description": "Everything a report says: a Record of two groups, or a GroupsRecord of more, which has pairs.",
        "type": "object",
        "if": {"required": ["pairs"]},
        "then": more,
        "else": two,
        "$defs": dict(sorted(definitions.items())),
    }


def schema_text() -> str:
    """Return the text of ``audit.schema.json``."""
    return json.dumps(record_schema(), indent=1) + "\n"


def describe(annotation: object, definitions: PlainDict) -> PlainDict:
    """Return the schema of one type; classes that it uses are added to ``definitions``."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if isinstance(annotation, type) and is_dataclass(annotation):
        if annotation.__name__ not in definitions:
            definitions[annotation.__name__] = {}  # reserved: a class may contain itself
            definitions[annotation.__name__] = _object(annotation, definitions)
        return {"$ref": f"#/$defs/{annotation.__name__}"}
    if origin is Annotated:
        base, limits = arguments
        return describe(base, definitions) | _keywords(limits)
    if origin is Literal:
        return {"const": arguments[0]} if len(arguments) == 1 else {"enum": list(arguments)}
    if origin in (Union, UnionType):
        return {"anyOf": [describe(kind, definitions) for kind in arguments]}
    if origin is Mapping:
        names = {} if arguments[0] is str else {"propertyNames": describe(arguments[0], definitions)}
        return {"type": "object", **names, "additionalProperties": describe(arguments[1], definitions)}
    if origin is tuple:
        return _array(arguments, definitions)
    if annotation is object:
        return {}
    return {"type": PLAIN[annotation]}


def _object(cls: type, definitions: PlainDict) -> PlainDict:
    hints = get_type_hints(cls, include_extras=True)
    texts = {name: text for base in cls.__mro__ if is_dataclass(base) for name, text in _texts(base).items()}
    names = [entry.name for entry in fields(cls)]
    if undescribed := [name for name in names if name not in texts]:
        raise TypeError(f"Fields of {cls.__name__} without a text below them: {', '.join(undescribed)}.")
    return {
        "description": " ".join(inspect.cleandoc(cls.__doc__ or "").split()),
        "type": "object",
        "properties": {name: describe(hints[name], definitions) | {"description": texts[name]} for name in names},
        "required": list(names),
        "additionalProperties": False,
    }


def _array(arguments: tuple[object, ...], definitions: PlainDict) -> PlainDict:
    """A tuple of any length, or one of a fixed length whose entries are all of one type."""
    if arguments[1:] == (...,):
        return {"type": "array", "items": describe(arguments[0], definitions)}
    if any(kind != arguments[0] for kind in arguments):
        raise TypeError(f"The entries of a tuple must be of one type, got {arguments}.")
    length: PlainDict = {"minItems": len(arguments), "maxItems": len(arguments)}
    return {"type": "array", "items": describe(arguments[0], definitions), **length}


def _keywords(limits: Limits) -> PlainDict:
    return {name: value for name, value in asdict(limits).items() if value is not None}


def _texts(cls: type) -> dict[str, str]:
    """Return the texts below the fields of a class, which Python itself does not keep."""
    (definition,) = ast.parse(textwrap.dedent(inspect.getsource(cls))).body
    assert isinstance(definition, ast.ClassDef)
    found = {}
    for entry, below in zip(definition.body, definition.body[1:], strict=False):
        if (
            isinstance(entry, ast.AnnAssign)
            and isinstance(entry.target, ast.Name)
            and isinstance(below, ast.Expr)
            and isinstance(below.value, ast.Constant)
        ):
            found[entry.target.id] = " ".join(str(below.value.value).split())
    return found


def main(arguments: list[str]) -> int:
    """Write the file, or compare it; return the exit code."""
    path = Path(str(files(__package__).joinpath(FILE)))
    if arguments == ["--write"]:
        path.write_text(schema_text(), encoding="utf-8")
        return 0
    if arguments != ["--check"]:
        print("usage: python -m fairfrontier.report.schema --check | --write", file=sys.stderr)
        return 2
    if path.read_text(encoding="utf-8") == schema_text():
        return 0
    print(f"{path} is out of date: run python -m fairfrontier.report.schema --write", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
