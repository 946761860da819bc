"""Writing an audit into a directory: all of it or nothing."""

from __future__ import annotations

import json
import os
import re
import shutil
import tempfile
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import pandas as pd

from ..errors import InputError
from ..reporting.page import render
from .request import write_config
from .running import Audit

RECORD, PAGE, CONFIG = "audit.json", "report.html", "config.toml"


def check_folder(folder: Path) -> None:
    """Refuse a directory in which nothing can be written, or which holds something else than an audit."""
    if folder.exists() and not folder.is_dir():
        raise InputError("bad-file", f"{folder} is a file; give a directory for the audit.")
    if folder.is_dir() and any(folder.iterdir()) and not (folder / RECORD).exists():
        raise InputError("bad-file", f"{folder} holds files that are no audit; give another directory, or empty it.")
    try:
        parent = _existing_parent(folder)
        with tempfile.TemporaryDirectory(dir=parent, prefix=".fairfrontier-"):
            pass
        if folder.is_dir() and not os.access(folder, os.W_OK):
            raise PermissionError(13, "Permission denied")
    except OSError as error:
        raise InputError("bad-file", f"Nothing can be written to {folder}: {error.strerror or error}.") from error


def write_audit(audit: Audit, folder: Path, created: datetime | None = None) -> list[Path]:
    """Write record, page, tables, figures and config; a former audit in the directory is replaced.

    Everything is written beside the directory first and put in its place at the end, so that an interrupted run leaves
    what was there before.
    """
    check_folder(folder)
    record = dict(audit.record) | {"created": (created or datetime.now()).isoformat(timespec="seconds")}
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        work = Path(tempfile.mkdtemp(dir=folder.parent, prefix=".fairfrontier-"))
        work.chmod(0o755)
        try:
            _write(work, audit, record)
            _put_in_place(work, folder)
        finally:
            shutil.rmtree(work, ignore_errors=True)
    except OSError as error:
        raise InputError("bad-file", f"{folder} cannot be written: {error.strerror or error}.") from error
    return sorted(path for path in folder.rglob("*") if path.is_file())


def _write(work: Path, audit: Audit, record: Mapping[str, Any]) -> None:
    (work / RECORD).write_text(json.dumps(record, indent=1, allow_nan=False) + "\n", encoding="utf-8")
    (work / PAGE).write_text(render(record), encoding="utf-8")
    (work / CONFIG).write_text(write_config(audit.plan.request), encoding="utf-8")
    (work / "plan.txt").write_text("\n".join(audit.plan.lines()) + "\n", encoding="utf-8")
    tables = work / "tables"
    tables.mkdir()
    for name, table in _tables(record).items():
        table.to_csv(tables / f"{name}.csv", index=False, lineterminator="\n")
    figures = work / "figures"
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
            "distance": a["distance"]["estimate"],
            "distance low": a["distance"]["low"],
            "distance high": a["distance"]["high"],
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
        tables[f"alternatives-{number}-{_file_name(a['name'])}"] = pd.DataFrame(a["alternatives"])
    return tables


def _draw(audit: Audit, folder: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    for name, zoom in (("frontier", True), ("feasible-set", False)):
        axes = audit.frontier.plot(decisions=dict(audit.plan.algorithms), zoom=zoom)
        for kind in ("png", "svg"):
            axes.figure.savefig(folder / f"{name}.{kind}", dpi=150, metadata={"Date": None} if kind == "svg" else None)
        plt.close(axes.figure)


def _put_in_place(work: Path, folder: Path) -> None:
    if not folder.exists():
        os.rename(work, folder)
        return
    aside = Path(tempfile.mkdtemp(dir=folder.parent, prefix=".fairfrontier-old-"))
    os.rename(folder, aside / "old")
    try:
        os.rename(work, folder)
    except OSError:
        os.rename(aside / "old", folder)
        raise
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def _existing_parent(folder: Path) -> Path:
    parent = folder.absolute().parent
    while not parent.exists():
        parent = parent.parent
    return parent


def _file_name(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9]+", "-", text).strip("-").lower()[:40] or "algorithm"
