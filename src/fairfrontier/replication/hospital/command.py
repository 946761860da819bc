"""The hospital study as a command: what is done, what is shown meanwhile, what is written at the end."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
from rich.console import Console

from ...errors import InputError
from ..progress import counting
from ..store import Store, open_store
from ..workers import Task, processes, run_tasks
from .figures import draw_figures
from .repetitions import LEARNERS, Study, repeat, settings
from .source import PUBLISHED_ROWS
from .tables import algorithm_table, findings, results_of, share_table, spread_table


@dataclass(frozen=True, slots=True)
class HospitalTables:
    """Tables II (C.I), III (C.II) and C.III (C.IV), and the conclusions in words."""

    algorithms: pd.DataFrame
    shares: pd.DataFrame | None
    spreads: pd.DataFrame
    findings: list[str]
    seconds: pd.DataFrame


def replicate_hospital(
    console: Console,
    *,
    data: str,
    learner: str,
    repetitions: int,
    folder: Path,
    n_jobs: int = -1,
    dask: str | None = None,
    n_boot: int = 1000,
    rows: int = PUBLISHED_ROWS,
    rules: bool = True,
) -> HospitalTables:
    """Do the missing repetitions of the study, and write its tables and figures.

    Every repetition is stored as it finishes; a run may be stopped at any time and goes on where it was.
    """
    if learner not in LEARNERS:
        raise InputError("bad-option", f"`learner` must be one of {list(LEARNERS)}, got {learner!r}.")
    if repetitions < 1:
        raise InputError("bad-option", f"There must be at least one repetition, got {repetitions}.")
    cores = processes(n_jobs)
    study = Study(data, settings(data, learner, rows=rows, n_boot=n_boot), rows)
    store, other = open_store(folder / "hospital.sqlite", study.options)
    if other:
        console.print(
            f"The store in {folder} was made with other settings and is left alone; this run uses {store.path}."
        )

    def run(what: str, tasks: list[Task]) -> None:
        missing = [task for task in tasks if task.name not in store.finished()]
        console.print(f"{what}: {len(tasks) - len(missing)} of {len(tasks)} are in {store.path}.")
        with counting(console, what, len(missing)) as finished:
            run_tasks(missing, repeat, store, n_jobs=cores, dask=dask, finished=finished)

    run("Tests of the algorithms", study.lda_tasks(repetitions))
    _check_tests(store)
    if rules:
        run("Directions of the fairest point", study.direction_tasks())
        run("Rules learned on halves", study.rule_tasks(repetitions, _directions(store)))
    tables = _tables(study, store)
    for path in _write(tables, study, store, folder if not other else folder / store.path.stem):
        console.print(f"Written: {path}")
    console.print("\n" + _text(tables))
    return tables


def _check_tests(store: Store) -> None:
    rows = [row for row in store.rows() if row.task.startswith("tests/")]
    if all(row.error is not None for row in rows):
        raise InputError("bad-option", f"No repetition succeeded; the first failed by {rows[0].error}")


def _directions(store: Store) -> dict[int, list[float]]:
    rows = [row for row in store.rows() if row.task.startswith("direction/")]
    failed = [row for row in rows if row.result is None]
    if failed:
        raise InputError("bad-option", f"{failed[0].task} failed: {failed[0].error}. Remove {store.path} to try again.")
    return {int(row.task.split("/")[1]): row.result["direction"] for row in rows if row.result is not None}


def _tables(study: Study, store: Store) -> HospitalTables:
    rows = list(store.rows())
    learner, alpha = study.options["learner"], study.options["alpha"]
    tests, rules = results_of(rows, "tests"), results_of(rows, "rules")
    failed = [row for row in rows if row.error is not None]
    words = findings(study, tests)
    if failed:
        words.append(f"{len(failed)} repetitions failed and are left out, the first by: {failed[0].error}.")
    seconds = pd.DataFrame([{"exercise": row.task.split("/")[0]} | dict(row.seconds) for row in rows])
    return HospitalTables(
        algorithm_table(tests, learner, alpha),
        share_table(study, rules) if rules else None,
        spread_table(tests, learner, alpha),
        words,
        seconds.groupby("exercise").mean(),
    )


def _text(tables: HospitalTables) -> str:
    with pd.option_context("display.width", 240, "display.max_columns", None):
        parts = ["Four algorithms", tables.algorithms.round(4).to_string(na_rep="")]
        if tables.shares is not None:
            some = tables.shares.loc[[55, 69, 82, 89, 94, 97]]
            parts += ["", "Shares of Black patients among those selected", some.round(3).to_string(na_rep="")]
        parts += ["", "Over seeds", tables.spreads.round(4).to_string(na_rep=""), ""]
        parts += tables.findings
        parts += ["", "Mean core seconds", tables.seconds.round(1).to_string(na_rep="")]
    return "\n".join(parts) + "\n"


def _write(tables: HospitalTables, study: Study, store: Store, folder: Path) -> list[Path]:
    folder.mkdir(parents=True, exist_ok=True)
    written = {
        "hospital.txt": _text(tables) + "\nSettings: " + json.dumps(study.options) + "\n",
        "algorithms.csv": tables.algorithms.to_csv(lineterminator="\n"),
        "seeds.csv": tables.spreads.to_csv(lineterminator="\n"),
    }
    if tables.shares is not None:
        written["shares.csv"] = tables.shares.to_csv(lineterminator="\n")
    for name, content in written.items():
        (folder / name).write_text(content)
    rows = list(store.rows())
    figures = draw_figures(study.source, results_of(rows, "tests"), results_of(rows, "rules"), folder)
    return [*(folder / name for name in written), *figures]
