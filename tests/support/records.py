"""Records for tests: with everything that an audit of a file adds, and copies in which something differs."""

from dataclasses import fields, is_dataclass, replace
from datetime import datetime

from fairfrontier.report.basis import NO_AUDIT
from fairfrontier.report.findings import ask
from fairfrontier.report.parts import make_record

CREATED = datetime(2026, 1, 2, 3, 4, 5)


def record_of(ff, algorithms, *, title="A small audit", audit=NO_AUDIT, **options):
    """The record of algorithms; options are those of `ask`."""
    return make_record(ff, ask(ff, algorithms, **options), title=title, created=CREATED, audit=audit)


def changed(part, path, **values):
    """A copy of a record in which fields of the part at a path, such as "algorithms.0.lda", have other values."""
    if not path:
        return replace(part, **values)
    first, _, rest = path.partition(".")
    if isinstance(part, tuple):
        k = int(first)
        return (*part[:k], changed(part[k], rest, **values), *part[k + 1 :])
    return replace(part, **{first: changed(getattr(part, first), rest, **values)})


def respelled(value, spell):
    """A copy of a record of which all texts are spelled differently; mappings have other keys, too."""
    if is_dataclass(value):
        return type(value)(**{entry.name: respelled(getattr(value, entry.name), spell) for entry in fields(value)})
    if isinstance(value, dict):
        return {spell(key): respelled(item, spell) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return tuple(respelled(item, spell) for item in value)
    return spell(value) if isinstance(value, str) else value
