"""A progress bar for repetitions: done, rate, time left."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from .store import Row
from .workers import Finished


@contextmanager
def counting(console: Console, what: str, total: int) -> Iterator[Finished]:
    """Yield a function to call with every finished row."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, TextColumn("left"), TimeRemainingColumn(), console=console) as bar:
        task = bar.add_task(what, total=total)

        def finished(row: Row | None) -> None:
            bar.advance(task)
            if row is not None and row.error is not None:
                console.print(f"{row.task} failed: {row.error}")

        yield finished
