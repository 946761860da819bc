"""One self-contained HTML page from a record: no network, everything from the data escaped."""

from __future__ import annotations

import base64
import hashlib
import json
import math
from collections.abc import Callable, Mapping
from datetime import datetime
from importlib.resources import files
from typing import Any

from ..errors import MissingDependencyError
from ..inference.p_values import confidence_text, p_value_text
from .sentences import CHIPS, CITATION, MEANINGS, REFERENCES, SETTINGS


def render(record: Mapping[str, Any]) -> str:
    """Return the page of a record."""
    try:
        from jinja2 import Environment, StrictUndefined
        from plotly.offline import get_plotlyjs
    except ImportError as error:
        raise MissingDependencyError(
            "Reports need jinja2 and plotly, which are not both installed: install fairfrontier[report]."
        ) from error
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    shares = record["settings"]["loss"] == "classification"
    environment.filters |= _filters(shares, record["alpha"])
    template = environment.from_string(_text("report.html.j2"))
    scripts = {"plotly": get_plotlyjs(), "report": _text("report.js")}
    return template.render(
        record=record,
        drawn_json=_embedded(_drawn(record)),
        shares=shares,
        risk_name="share of wrong decisions" if shares else "expected loss",
        css=_text("report.css"),
        scripts=scripts,
        policy=_policy(scripts),
        chips=CHIPS,
        meanings=MEANINGS,
        setting_names=SETTINGS,
        references=REFERENCES,
        citation=[line.format(version=record["versions"]["fairfrontier"]) for line in CITATION],
    )


def _text(name: str) -> str:
    return files(__package__).joinpath("templates", name).read_text(encoding="utf-8")


def _drawn(record: Mapping[str, Any]) -> dict[str, Any]:
    """The part of a record that the picture and the slider need."""
    algorithm = ("name", "risk", "risk interval", "treated", "improving")
    return {
        "groups": record["groups"],
        "alpha": record["alpha"],
        "shares": record["settings"]["loss"] == "classification",
        "picture": record["picture"],
        "points": record["points"],
        "rules": record["rules"],
        "algorithms": [{key: a[key] for key in algorithm} for a in record["algorithms"]],
    }


def _embedded(values: Mapping[str, Any]) -> str:
    """JSON that can stand in a script element: no character of it can end the element."""
    text = json.dumps(values, ensure_ascii=True, allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _policy(scripts: Mapping[str, str]) -> str:
    """Content security policy: only the scripts of this page, known by their hashes, may run, and nothing is loaded."""
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
        "root_change": lambda value: change(None if value is None else math.sqrt(max(value, 0.0))),
        "level": confidence_text,
        "p": lambda value: p_value_text(value, alpha),
        "number": _number,
        "count": lambda value: f"{value:,}",
        "when": _when,
    }


def _share(value: float | None, digits: int = 1) -> str:
    return "n/a" if value is None else _signed(f"{100.0 * value:.{digits}f}%")


def _points(value: float | None, digits: int = 2, unit: str = " pts") -> str:
    """A difference of shares, in percentage points."""
    return "n/a" if value is None else _signed(f"{100.0 * value:.{digits}f}") + unit


def _number(value: float | None, digits: int = 4) -> str:
    return "n/a" if value is None else _signed(f"{value:.{digits}f}")


def _signed(text: str) -> str:
    """A real minus sign, and none before a zero."""
    if not text.startswith("-"):
        return text
    return "\u2212" + text[1:] if text.strip("-0.%") else text[1:]


def _when(text: str) -> str:
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        return text
    return f"{time.day} {time:%B %Y, %H:%M}"
