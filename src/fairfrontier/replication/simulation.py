"""The Monte Carlo study as a command: what is done, what is shown meanwhile, what is written at the end."""

from __future__ import annotations

import signal
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

from ..errors import InputError
from .comparison import Comparison, compare
from .descent import descent_task, replicate_descent
from .progress import counting
from .store import Row, open_store
from .table1 import DESIGNS, PUBLISHED, replicate, settings, tasks, versions
from .workers import Finished, Replicate, Task, processes, run_tasks

SHOWN = {"skew": "published: weak skew rejected", "LDA e*": "published: LDA e*", "LDA e*, own": "own: LDA robust e*"}
"""Running rejection rates on display."""
Display = Callable[[Console, str, int], AbstractContextManager[Finished]]
"""Shows how far something is, by its name and the number of rows to come."""


def simulate_table1(
    console: Console,
    *,
    replications: int,
    sizes: tuple[int, ...],
    designs: tuple[str, ...],
    folder: Path,
    n_jobs: int = -1,
    dask: str | None = None,
    n_boot: int = 1000,
    retry_failed: bool = False,
    descents: int = 0,
) -> Comparison:
    """Do the missing replications, show how far they are, and write the table as text, CSV and LaTeX.

    ``descents`` is the number of replications whose published fit is repeated for the distance to an F by descent.
    """
    known = {n for _, n, _ in PUBLISHED}
    if not set(sizes) <= known or not sizes:
        raise InputError("bad-option", f"Sample sizes must be among {sorted(known)}, got {list(sizes)}.")
    if not set(designs) <= set(DESIGNS) or not designs:
        raise InputError("bad-option", f"Designs must be among {list(DESIGNS)}, got {list(designs)}.")
    if replications < 1:
        raise InputError("bad-option", f"There must be at least one replication, got {replications}.")
    if descents < 0:
        raise InputError("bad-option", f"The number of repeated fits must not be negative, got {descents}.")
    cores = processes(n_jobs)
    options = settings(n_boot)
    store, other = open_store(folder / "table1.sqlite", options)
    if other:
        console.print(
            f"The store in {folder} was made with other settings and is left alone; this run uses {store.path}."
        )
    if retry_failed:
        console.print(f"Trying {store.forget_failures()} failed replications again.")

    def run(what: str, todo: list[Task], do: Replicate, display: Display) -> None:
        have = store.finished()
        missing = sum(task.name not in have for task in todo)
        console.print(f"{len(todo)} {what}, {len(todo) - missing} of them in {store.path}; {missing} to be done.")
        if missing:
            store.note_versions(versions())
        with display(console, what, missing) as finished:
            run_tasks(todo, do, store, n_jobs=cores, dask=dask, finished=finished)

    with _quiet_end():
        run("replications", tasks(replications, sizes, designs, options), replicate, _with_rates)
        if descents:
            repeated = [descent_task(task) for task in tasks(descents, sizes, designs, options)]
            run("distances by descent", repeated, replicate_descent, counting)
    comparison = compare(store)
    for path in comparison.write(folder if not other else folder / store.path.stem):
        console.print(f"Written: {path}")
    console.print(comparison.text())
    return comparison


@contextmanager
def _with_rates(console: Console, what: str, total: int) -> Iterator[Finished]:
    """Yield a function to call with every finished row; it keeps a display of rejection rates up to date."""
    columns = (BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[rate]}"), TimeElapsedColumn())
    bar = Progress(*columns, TextColumn("left"), TimeRemainingColumn(), console=console)
    task = bar.add_task(what, total=total, rate="")
    counts: Counter[tuple[str, str, str]] = Counter()

    def rates() -> Table:
        table = Table("design / n", "done", *SHOWN, "failed")
        for place in sorted({key[0] for key in counts}):
            done = counts[place, "done", ""]
            shares = [f"{counts[place, 'rejected', name] / max(done, 1):.3f}" for name in SHOWN]
            table.add_row(place, str(done), *shares, str(counts[place, "failed", ""]))
        return table

    with Live(Group(bar, rates()), console=console, refresh_per_second=2) as live:

        def count(row: Row) -> None:
            place = row.task.rsplit("/", 1)[0]
            if row.result is None:
                counts[place, "failed", ""] += 1
            else:
                counts[place, "done", ""] += 1
                for name, column in SHOWN.items():
                    counts[place, "rejected", name] += int(row.result[column] <= 0.05)

        def finished(row: Row | None) -> None:
            if row is not None:  # else another process did it
                count(row)
            bar.advance(task)
            elapsed = bar.tasks[0].finished_time or bar.tasks[0].elapsed or 0.0
            bar.update(task, rate=f"{60.0 * bar.tasks[0].completed / elapsed:.1f} per minute" if elapsed else "")
            live.update(Group(bar, rates()))

        yield finished
    if not console.is_terminal:  # there the display ends without a new line
        console.print()


@contextmanager
def _quiet_end() -> Iterator[None]:
    """Let a request to terminate end the study as Ctrl-C does: what is finished is stored."""

    def stop(*_: Any) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
