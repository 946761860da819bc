"""Writing an audit into a directory: all of it or nothing."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import tempfile
import warnings
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import pandas as pd

from ..errors import InputError, MissingDependencyError
from ..report.html import render
from .request import write_config
from .run import Audit

RECORD, PAGE, CONFIG, PLAN, TABLES, FIGURES = (
    "audit.json",
    "report.html",
    "config.toml",
    "plan.txt",
    "tables",
    "figures",
)
OURS = (RECORD, PAGE, CONFIG, PLAN, TABLES, FIGURES)
"""What an audit leaves in its directory."""


def check_folder(folder: Path) -> None:
    """Refuse a directory in which nothing can be written, or which holds something else than an audit."""
    absent = [name for name in ("jinja2", "plotly", "matplotlib") if importlib.util.find_spec(name) is None]
    if absent:
        raise MissingDependencyError(
            f"Writing an audit needs {' and '.join(absent)}: install fairfrontier[report,plots]."
        )
    try:
        if folder.is_dir():
            _refuse_strangers(folder)
        elif folder.exists() or folder.is_symlink():
            raise InputError("bad-file", f"{folder} is a file; give a directory for the audit.")
        with tempfile.TemporaryDirectory(dir=_beside(folder), prefix=".fairfrontier-"):
            pass
        if folder.is_dir() and not os.access(folder, os.W_OK):
            raise PermissionError(13, "Permission denied")
    except OSError as error:
        raise InputError(
            "bad-file", f"Nothing can be written to {folder}: {error.strerror or error}. Give another directory."
        ) from error


def write_audit(audit: Audit, folder: Path, created: datetime | None = None) -> list[Path]:
    """Write record, page, tables, figures and config; a former audit in the directory is replaced.

    Everything is written elsewhere first and put in its place at the end, so that an interrupted run leaves what was
    there before.
    """
    check_folder(folder)
    record = dict(audit.record) | {"created": (created or datetime.now()).isoformat(timespec="seconds")}
    try:
        folder.absolute().parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=_beside(folder), prefix=".fairfrontier-") as name:
            new, old = Path(name) / "new", Path(name) / "old"
            new.mkdir()
            old.mkdir()
            _write(new, audit, record)
            _put_in_place(new, folder, old)
    except OSError as error:
        raise InputError("bad-file", f"{folder} cannot be written: {error.strerror or error}.") from error
    return sorted(path for path in folder.rglob("*") if path.is_file())


def _write(work: Path, audit: Audit, record: Mapping[str, Any]) -> None:
    (work / RECORD).write_text(json.dumps(record, indent=1, allow_nan=False) + "\n", encoding="utf-8")
    (work / PAGE).write_text(render(record), encoding="utf-8")
    (work / CONFIG).write_text(write_config(audit.plan.request), encoding="utf-8")
    (work / PLAN).write_text("\n".join(audit.plan.lines()) + "\n", encoding="utf-8")
    tables = work / TABLES
    tables.mkdir()
    for name, table in _tables(record).items():
        table.to_csv(tables / f"{name}.csv", index=False, lineterminator="\n")
    figures = work / FIGURES
    figures.mkdir()
    _draw(audit, figures)


def _tables(record: Mapping[str, Any]) -> dict[str, pd.DataFrame]:
    r, b = record["groups"]
    algorithms = pd.DataFrame(
        {
            "algorithm": a["name"],
            "verdict": a["verdict"],
            "p_value": a["lda"]["p_value"],
            "p_value_adjusted": a["lda"]["p_value_adjusted"],
            "statistic": a["lda"]["statistic"],
            "critical_value": a["lda"]["critical_value"],
            f"risk {r}": a["risk"][0],
            f"risk {b}": a["risk"][1],
            f"treated {r}": a["treated"][0],
            f"treated {b}": a["treated"][1],
            "treated ratio": a["treated ratio"],
            "squared distance": a["distance"]["estimate"],
            "squared distance low": a["distance"]["low"],
            "squared distance high": a["distance"]["high"],
        }
        for a in record["algorithms"]
    )
    points = pd.DataFrame(
        {"point": p["name"], f"risk {r}": p["risk"][0], f"risk {b}": p["risk"][1]} for p in record["points"]
    )
    rules = pd.DataFrame(
        {f"weight {r}": rule["weight"]}
        | {
            f"{name} {label}": rule[name][k]
            for name in ("risk", "treated", "false positive rate", "false negative rate")
            if name in rule
            for k, label in enumerate((r, b))
        }
        for rule in record["rules"]
    )
    sensitivity = pd.DataFrame(
        {key: line[key] for key in ("learner", "seed", "covariates", "decides")} | {"algorithm": name} | found
        for line in record["robustness"]
        for name, found in line["algorithms"].items()
    )
    tables = {"algorithms": algorithms, "points": points, "rules": rules, "sensitivity": sensitivity}
    tables["learner"] = pd.DataFrame(record["learner"]["quality"])
    for number, a in enumerate(record["algorithms"], start=1):
        lines = pd.DataFrame(a["alternatives"], columns=None if a["alternatives"] else _alternatives_header(r, b))
        tables[f"alternatives-{number}-{_file_name(a['name'])}"] = lines
    return tables


def _alternatives_header(r: str, b: str) -> list[str]:
    both = {name: [f"{name} {r}", f"{name} {b}"] for name in ("direction", "risk", "se", "gain", "se gain", "treated")}
    return [
        *("role", *both["direction"], *both["risk"], *both["se"], *both["gain"], "gain in gap"),
        *(*both["se gain"], "se gain in gap", *both["treated"], "agreement", "flagged"),
    ]


def _draw(audit: Audit, folder: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    with matplotlib.rc_context({"svg.hashsalt": "fairfrontier"}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from font", category=UserWarning)
        for name, zoom in (("frontier", True), ("feasible-set", False)):
            axes = audit.frontier.plot(
                decisions=dict(audit.plan.inputs.algorithms), capacity=audit.plan.request.capacity, zoom=zoom
            )
            for kind, metadata in (("png", None), ("svg", {"Date": None})):
                axes.figure.savefig(folder / f"{name}.{kind}", dpi=150, metadata=metadata)
            plt.close(axes.figure)


def _refuse_strangers(folder: Path) -> None:
    """Refuse a directory with files that no audit wrote; they would be lost or mixed with the audit's."""
    found = sorted(path.name for path in folder.iterdir() if not path.name.startswith("."))
    strangers = [name for name in found if name not in OURS]
    if strangers or (found and RECORD not in found):
        raise InputError(
            "bad-file",
            f"{folder} holds files that are no audit ({', '.join((strangers or found)[:5])}); give another directory, "
            "or empty it.",
        )


def _put_in_place(new: Path, folder: Path, old: Path) -> None:
    """Move a finished audit to its directory; if that fails or is interrupted, everything is as it was before."""
    if not folder.exists():
        os.rename(new, folder)
        return
    try:
        for name in OURS:
            if (folder / name).exists():
                os.rename(folder / name, old / name)
        for path in sorted(new.iterdir()):
            os.rename(path, folder / path.name)
    except BaseException:
        for name in OURS:
            if (old / name).exists():
                if (folder / name).exists():
                    os.rename(folder / name, new / name)
                os.rename(old / name, folder / name)
            elif not (new / name).exists() and (folder / name).exists():
                os.rename(folder / name, new / name)
        raise


def _beside(folder: Path) -> Path:
    """Where the audit is prepared: on the same disk, beside the directory; within it, if it is a disk of its own."""
    if folder.is_dir():
        inside = folder.resolve()
        outside = inside.parent
        same = outside.stat().st_dev == inside.stat().st_dev and os.access(outside, os.W_OK)
        return outside if same and not os.path.ismount(inside) else inside
    parent = folder.absolute().parent
    while not parent.exists():
        parent = parent.parent
    return parent


def _file_name(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9]+", "-", text).strip("-").lower()[:40] or "algorithm"
