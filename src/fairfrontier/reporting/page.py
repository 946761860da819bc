"""One self-contained HTML page from a record: no network, everything from the data escaped."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

from ..errors import MissingDependencyError

CITATION = (
    'Liu, Yiqi and Molinari, Francesca (2025): "Inference for an Algorithmic Fairness-Accuracy Frontier".',
    "fairfrontier {version}, the fairfrontier developers.",
)


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
    environment.filters |= {"share": _share, "risk": _share if shares else _number, "p": _p_value, "number": _number}
    template = environment.from_string(_text("report.html.j2"))
    scripts = {"plotly": get_plotlyjs(), "report": _text("report.js")}
    return template.render(
        record=record,
        record_json=_embedded(record),
        risk_name="share of wrong decisions" if shares else "expected loss",
        css=_text("report.css"),
        scripts=scripts,
        policy=_policy(scripts),
        citation=[line.format(version=record["versions"]["fairfrontier"]) for line in CITATION],
    )


def _text(name: str) -> str:
    return files(__package__).joinpath("templates", name).read_text(encoding="utf-8")


def _embedded(record: Mapping[str, Any]) -> str:
    """JSON that can stand in a script element: no character of it can end the element."""
    text = json.dumps(record, ensure_ascii=True, allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _policy(scripts: Mapping[str, str]) -> str:
    """Content security policy: only the scripts of this page, known by their hashes, may run, and nothing is loaded."""
    hashes = [base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts.values()]
    allowed = " ".join(f"'sha256-{digest}'" for digest in hashes)
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data: blob:; "
        "base-uri 'none'; form-action 'none'"
    )


def _share(value: float | None, digits: int = 1) -> str:
    return "n/a" if value is None else f"{100.0 * value:.{digits}f}%"


def _number(value: float | None, digits: int = 4) -> str:
    return "n/a" if value is None else f"{value:.{digits}f}"


def _p_value(value: float) -> str:
    return f"{value:.3f}" if value >= 0.0015 else f"{value:.4f}"
