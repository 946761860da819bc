"""Progress of long computations, as a bar on standard error."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

Report = Callable[[int, int, str], None]


@contextmanager
def progress_bar(title: str, *, show: bool, lines: bool = False) -> Iterator[Report | None]:
    """Yield ``report(done, total, text)``, which moves a bar, or None when nothing is to be shown.

    With ``lines`` every new text is a line of its own where there is no terminal to draw a bar on.
    """
    if not show:
        yield None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task(title, total=None)
        told = ""

        def report(done: int, total: int, text: str) -> None:
            nonlocal told
            bar.update(task, completed=done, total=total, description=f"{title}: {text}" if text else title)
            if lines and not bar.console.is_terminal and text != told:
                told = text
                bar.console.print(f"{title} ({done + 1} of {total}): {text}", highlight=False)

        yield report
