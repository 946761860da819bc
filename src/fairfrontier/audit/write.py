"""Writing an audit into a directory: all of it or nothing."""

from __future__ import annotations

import importlib.util
import os
import re
import tempfile
import warnings
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pandas as pd

from ..errors import InputError, MissingDependencyError
from ..estimator import FairFrontier
from ..report.frame import RuleStep
from ..report.html import render
from ..report.joint_record import GroupsRecord
from ..report.paper import find_browser, write_pdf
from ..report.record import AlgorithmRecord, Record
from .request import write_config
from .run import Audit

RECORD, PAGE, PAPER, CONFIG, PLAN, TABLES, FIGURES = (
    "audit.json",
    "report.html",
    "report.pdf",
    "config.toml",
    "plan.txt",
    "tables",
    "figures",
)
OURS = (RECORD, PAGE, PAPER, CONFIG, PLAN, TABLES, FIGURES)
"""What an audit leaves in its directory."""


def check_folder(folder: Path, *, pdf: bool = False) -> None:
    """Refuse a directory in which nothing can be written, or which contains anything but an audit.

    With ``pdf`` also refuse to go on without a program that prints.
    """
    absent = [name for name in ("jinja2", "plotly", "matplotlib") if importlib.util.find_spec(name) is None]
    if absent:
        raise MissingDependencyError(
            f"Writing an audit needs {' and '.join(absent)}: install fairfrontier[report,plots]."
        )
    if pdf:
        find_browser()
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


def write_audit(audit: Audit, folder: Path, *, pdf: bool = False) -> list[Path]:
    """Write record, page, tables, figures and config; a former audit in the directory is replaced.

    With ``pdf`` the page is printed, too. Everything is written elsewhere first and put in its place at the end, so
    that an interrupted run leaves what was there before.
    """
    check_folder(folder, pdf=pdf)
    try:
        folder.absolute().parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=_beside(folder), prefix=".fairfrontier-") as name:
            new, old = Path(name) / "new", Path(name) / "old"
            new.mkdir()
            old.mkdir()
            _write(new, audit, pdf)
            _put_in_place(new, folder, old)
    except OSError as error:
        raise InputError("bad-file", f"{folder} cannot be written: {error.strerror or error}.") from error
    return sorted(path for path in folder.rglob("*") if path.is_file())


def _write(work: Path, audit: Audit, pdf: bool) -> None:
    record = audit.record
    (work / RECORD).write_text(record.to_json(), encoding="utf-8")
    page = render(record)
    (work / PAGE).write_text(page, encoding="utf-8")
    if pdf:
        write_pdf(page, work / PAPER)
    (work / CONFIG).write_text(write_config(audit.plan.request), encoding="utf-8")
    (work / PLAN).write_text("\n".join(audit.plan.lines()) + "\n", encoding="utf-8")
    tables = work / TABLES
    tables.mkdir()
    for name, table in audit_tables(record).items():
        table.to_csv(tables / f"{name}.csv", index=False, lineterminator="\n")
    figures = work / FIGURES
    figures.mkdir()
    _draw(audit, figures)


def audit_tables(record: Record | GroupsRecord) -> dict[str, pd.DataFrame]:
    """Return the tables of a record, by the name of their file."""
    return (_tables_of_two(record) if isinstance(record, Record) else _tables_of_more(record)) | {
        "sensitivity": pd.DataFrame(
            [
                {"learner": run.learner, "seed": run.seed, "covariates": run.covariates, "decides": run.decides}
                | {"algorithm": name}
                | asdict(found)
                for run in record.sensitivity
                for name, found in run.algorithms.items()
            ]
        ),
        "learner": pd.DataFrame([asdict(fold) for fold in record.learner.quality]),
    }


def _tables_of_more(record: GroupsRecord) -> dict[str, pd.DataFrame]:
    """The joint tests, the groups under each algorithm, and the tests of pairs."""
    joint = [
        {
            "algorithm": a.name,
            "verdict": a.verdict,
            "p_value": a.lda.p_value,
            "p_value_adjusted": a.lda.p_value_adjusted,
            "statistic": a.lda.statistic,
            "range": a.range,
            "other runs": None if a.other_runs is None else a.other_runs.counted,
            "other runs with the same verdict": None if a.other_runs is None else a.other_runs.same_verdict,
        }
        for a in record.algorithms
    ]
    groups = [{"algorithm": a.name} | _flat(asdict(line)) for a in record.algorithms for line in a.groups]
    pairs = [
        {"group": pair.groups[0], "against": pair.groups[1], "algorithm": own.name, "verdict": own.verdict}
        | {"gap": own.gap, "p_value": own.p_value, "p_value_adjusted": own.p_value_adjusted}
        for pair in record.pairs
        for own in pair.algorithms
    ]
    points = [
        {"group": pair.groups[0], "against": pair.groups[1], "point": point.name}
        | {"risk": point.risk[0], "risk against": point.risk[1]}
        for pair in record.pairs
        for point in pair.points
    ]
    tables = {"algorithms": joint, "groups": groups, "pairs": pairs, "points": points}
    return {name: pd.DataFrame(lines) for name, lines in tables.items() if lines}


def _flat(line: dict[str, Any]) -> dict[str, Any]:
    """Intervals as two columns each."""
    flat: dict[str, Any] = {}
    for name, value in line.items():
        ends = value.items() if isinstance(value, dict) else None
        flat |= {name: value} if ends is None else {f"{name}_{end}": limit for end, limit in ends}
    return flat


def _tables_of_two(record: Record) -> dict[str, pd.DataFrame]:
    r, b = record.groups
    tables = {
        "algorithms": pd.DataFrame([_algorithm_line(a, r, b) for a in record.algorithms]),
        "points": pd.DataFrame([{"point": point.name} | _both("risk", point.risk, r, b) for point in record.points]),
        "rules": pd.DataFrame([_rule_line(rule, r, b) for rule in record.rules]),
    }
    for number, a in enumerate(record.algorithms, start=1):
        tables[f"alternatives-{number}-{_file_name(a.name)}"] = _alternatives_table(a, r, b)
    return tables


def _both(name: str, values: tuple[float | None, float | None], r: str, b: str) -> dict[str, float | None]:
    """Two columns, one for each group."""
    return {f"{name} {r}": values[0], f"{name} {b}": values[1]}


def _algorithm_line(a: AlgorithmRecord, r: str, b: str) -> dict[str, str | float | None]:
    return {
        "algorithm": a.name,
        "verdict": a.verdict,
        "p_value": a.lda.p_value,
        "p_value_adjusted": a.lda.p_value_adjusted,
        "statistic": a.lda.statistic,
        "critical_value": a.lda.critical_value,
        **_both("risk", a.risk, r, b),
        **_both("selection rate", a.selection_rate, r, b),
        "selection ratio": a.selection_ratio,
        "distance to fairest": a.distance.estimate,
        "distance to fairest low": a.distance.interval.low,
        "distance to fairest high": a.distance.interval.high,
        "other runs": None if a.other_runs is None else a.other_runs.counted,
        "other runs with the same verdict": None if a.other_runs is None else a.other_runs.same_verdict,
    }


def _rule_line(rule: RuleStep, r: str, b: str) -> dict[str, float | None]:
    line: dict[str, float | None] = {f"weight {r}": rule.weight}
    line |= _both("risk", rule.risk, r, b) | _both("selection rate", rule.selection_rate, r, b)
    if rule.false_positive_rate is not None and rule.false_negative_rate is not None:
        line |= _both("false positive rate", rule.false_positive_rate, r, b)
        line |= _both("false negative rate", rule.false_negative_rate, r, b)
    return line


def _alternatives_table(algorithm: AlgorithmRecord, r: str, b: str) -> pd.DataFrame:
    """One line for each alternative, under the columns of `Alternatives.table` and two of the test behind them.

    There is a header even if there is no alternative.
    """
    both = {name: [f"{name} {r}", f"{name} {b}"] for name in ("direction", "risk", "se", "gain", "se gain", "at least")}
    columns = [
        *("role", *both["direction"], *both["risk"], *both["se"], *both["gain"], "gain in gap"),
        *(*both["se gain"], "se gain in gap", *both["at least"], "at least in gap"),
        *(f"selection rate {r}", f"selection rate {b}", "agreement", "flagged"),
        *("improvement shown", "verdict"),
    ]
    shown = algorithm.verdict == "lda-shown"
    lines = [
        [
            *(a.role, *a.direction, *a.risk, *a.standard_error, *a.gain, *a.gain_standard_error),
            *a.gain_lower_bounds,
            *(*a.selection_rate, a.agreement, a.flagged, shown, algorithm.verdict),
        ]
        for a in algorithm.alternatives
    ]
    return pd.DataFrame(lines, columns=columns)


def _draw(audit: Audit, folder: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    with matplotlib.rc_context({"svg.hashsalt": "fairfrontier"}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from font", category=UserWarning)
        for name, ff, zoom in _pictures(audit):
            decisions, capacity = audit.plan.algorithms, audit.plan.request.capacity
            axes = ff.plot(decisions=decisions, capacity=capacity, zoom=zoom)
            for kind, metadata in (("png", None), ("svg", {"Date": None})):
                axes.figure.savefig(folder / f"{name}.{kind}", dpi=150, metadata=metadata)
            plt.close(axes.figure)


def _pictures(audit: Audit) -> list[tuple[str, FairFrontier, bool]]:
    """Names of the pictures, the fit of two groups that each is of, and whether the frontier alone is shown."""
    if isinstance(audit.record, Record):
        return [("frontier", audit.frontier, True), ("feasible-set", audit.frontier, False)]
    labels = {str(label): label for label in audit.frontier.groups_}
    return [
        (
            f"frontier-{number}-{_file_name(' '.join(pair.groups))}",
            audit.frontier.pair(*(labels[label] for label in pair.groups)),
            True,
        )
        for number, pair in enumerate(audit.record.pairs, start=1)
    ]


def _refuse_strangers(folder: Path) -> None:
    """Refuse a directory with files that fairfrontier did not write; they would be lost or mixed with the audit's."""
    found = sorted(path.name for path in folder.iterdir() if not path.name.startswith("."))
    strangers = [name for name in found if name not in OURS]
    if strangers or (found and RECORD not in found):
        raise InputError(
            "bad-file",
            f"{folder} contains files that fairfrontier did not write ({', '.join((strangers or found)[:5])}); give "
            "another directory, or empty it.",
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
