"""One self-contained HTML page from a record: no network, everything from the data escaped."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import asdict
from datetime import datetime
from functools import lru_cache
from importlib.resources import files
from typing import TYPE_CHECKING

from ..data.number_formats import confidence_text, number_text, p_value_text, points_text, share_text
from ..data.result import Plain, PlainDict
from ..errors import MissingDependencyError
from ..inference.listed_points import TOO_WEAK
from .frame import plain
from .joint_record import GroupsRecord, PairRecord
from .origin import Settings
from .record import Record
from .sentences import CHIPS, CITATION, REFERENCES, SETTINGS, better_rule, meanings, other_criteria

if TYPE_CHECKING:
    from jinja2 import Environment


def render(record: Record | GroupsRecord) -> str:
    """Return the page of a record."""
    try:
        import jinja2  # noqa: F401
        from plotly.offline import get_plotlyjs
    except ImportError as error:
        raise MissingDependencyError(
            "Reports need jinja2 and plotly, which are not both installed: install fairfrontier[report]."
        ) from error
    shares = _in_shares(record)
    template = _environment(shares, record.alpha).get_template("report.html.j2")
    two = isinstance(record, Record)
    scripts = {"plotly": get_plotlyjs(), "report": _text("report.js")}
    return template.render(
        record=record,
        two=two,
        planes=_planes(record),
        drawn_json=_embedded(_drawn(record)),
        shares=shares,
        risk_name="share of wrong decisions" if shares else "expected loss",
        css=_text("report.css"),
        scripts=scripts,
        policy=_policy(scripts),
        chips=CHIPS,
        by_group=record.settings.accuracy == "by-group",
        other_criteria=other_criteria(record.settings),
        meanings=meanings(two, record.settings),
        too_weak_points=TOO_WEAK,
        settings=_settings(record.settings),
        references=REFERENCES,
        citation=[line.format(version=record.versions["fairfrontier"]) for line in CITATION],
    )


@lru_cache(maxsize=4)
def _environment(shares: bool, alpha: float) -> Environment:
    """Templates with their filters, kept: to compile them takes longer than to make a page."""
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    found = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, loader=FunctionLoader(_text)
    )
    found.filters |= _filters(shares, alpha)
    found.filters["better"] = better_rule
    return found


def _text(name: str) -> str:
    return files(__package__).joinpath("templates", name).read_text(encoding="utf-8")


def _in_shares(record: Record | GroupsRecord) -> bool:
    """Whether risks are shares of wrong decisions, to be shown in percent."""
    return record.settings.loss == "classification"


def _settings(found: Settings) -> dict[str, str]:
    """Settings under names for people."""
    values = asdict(found).items()
    return {SETTINGS[name]: "none" if value is None or value == {} else str(value) for name, value in values}


def _planes(record: Record | GroupsRecord) -> tuple[Record | PairRecord, ...]:
    """The planes that are drawn: that of two groups, or those of all pairs."""
    return (record,) if isinstance(record, Record) else record.pairs


def _drawn(record: Record | GroupsRecord) -> PlainDict:
    """The part of a record that the picture and the slider need."""
    planes: list[Plain] = [_plane(plane) for plane in _planes(record)]
    return {
        "alpha": record.alpha,
        "shares": _in_shares(record),
        "marks": json.loads(_text("marks.json")),
        "planes": planes,
    }


def _plane(plane: Record | PairRecord) -> PlainDict:
    drawn: PlainDict = {key: plain(getattr(plane, key)) for key in ("groups", "picture", "points", "rules")}
    algorithms: list[Plain] = [
        {
            "name": a.name,
            "risk": plain(a.risk),
            "risk_interval": plain(a.risk_interval),
            "selection_rate": plain(a.selection_rate),
            "improving": plain(a.improving),
        }
        for a in plane.algorithms
    ]
    return drawn | {"algorithms": algorithms, "contradictory": bool(plane.contradictions)}


def _embedded(values: PlainDict) -> str:
    """JSON that may be part of a script element: no character of it can end the element."""
    text = json.dumps(values, ensure_ascii=True, allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _policy(scripts: Mapping[str, str]) -> str:
    """Content security policy: only scripts of this page, identified by their hashes, may run; nothing is loaded."""
    hashes = [base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts.values()]
    allowed = " ".join(f"'sha256-{digest}'" for digest in hashes)
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data: blob:; "
        "base-uri 'none'; form-action 'none'"
    )


def _filters(shares: bool, alpha: float) -> dict[str, Callable[..., str]]:
    change = _points if shares else _number
    return {
        "share": _share,
        "risk": (lambda value: _share(value, 2)) if shares else _number,
        "change": change,
        "bare": (lambda value: _points(value, unit="")) if shares else _number,
        "level": confidence_text,
        "p": lambda value: p_value_text(value, alpha),
        "number": _number,
        "count": lambda value: f"{value:,}",
        "when": _when,
    }


def _share(value: float | None, digits: int = 1) -> str:
    return _typeset(share_text(value, digits))


def _points(value: float | None, unit: str = " pts") -> str:
    return _typeset(points_text(value, unit=unit))


def _number(value: float | None, digits: int = 4) -> str:
    return _typeset(number_text(value, digits))


def _typeset(text: str) -> str:
    """A number with a real minus sign."""
    return text.replace("-", "\u2212")


def _when(text: str) -> str:
    time = datetime.fromisoformat(text)
    return f"{time.day} {time:%B %Y, %H:%M}"
