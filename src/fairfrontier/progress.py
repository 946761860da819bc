"""Progress of long computations, as a bar on standard error."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

P = TypeVar("P")
Report = Callable[[int, int, str], None]
Heard = Callable[[str], None]
"""Receives progress messages."""
OFTEN = 5.0
"""Seconds between two progress messages."""
_listener: ContextVar[Heard | None] = ContextVar("listener", default=None)


@contextmanager
def heard_by(listener: Heard) -> Iterator[None]:
    """Send the progress of everything within to a listener, instead of drawing a bar for each computation."""
    token = _listener.set(now_and_then(listener))
    try:
        yield
    finally:
        _listener.reset(token)


def now_and_then(listener: Heard) -> Heard:
    """Return a listener that passes on at most one message every few seconds."""
    last = -OFTEN

    def told(text: str) -> None:
        nonlocal last
        if time.monotonic() - last >= OFTEN:
            last = time.monotonic()
            listener(text)

    return told


def in_words(title: str, listener: Heard) -> Report:
    """Return a function that reports progress to a listener as text."""
    return lambda done, total, text: listener(f"{title}, {done:,} of {total:,}{f', {text}' if text else ''}")


def pace(start: float, done: int, total: int | None) -> str:
    """Say how many rows were done per second since ``start`` (of `time.perf_counter`), and how long it will take."""
    seconds = max(time.perf_counter() - start, 1e-9)
    text = f"{done / seconds:,.0f} rows per second"
    if not total or done <= 0:
        return text
    left = round(seconds * max(total - done, 0) / done)
    hours, minutes = left // 3600, left % 3600 // 60
    return f"{text}, {f'{hours}:{minutes:02}:' if hours else f'{minutes}:'}{left % 60:02} left"


@contextmanager
def progress_bar(title: str, *, show: bool, lines: bool = False) -> Iterator[Report | None]:
    """Yield ``report(done, total, text)``, which moves a bar, or None when nothing is to be shown.

    With ``lines`` every new text is a line of its own where there is no terminal to draw a bar on.
    """
    listener = _listener.get()
    if listener is not None:
        yield in_words(title, listener)
        return
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


def with_pace(parts: Iterator[P], size: Callable[[P], int], progress: Report | None, n_rows: int | None) -> Iterator[P]:
    """Yield parts of rows, and report after each how many rows were dealt with, and how fast."""
    start, done = time.perf_counter(), 0
    for part in parts:
        yield part
        done += size(part)
        if progress is not None:
            progress(done, n_rows or done, pace(start, done, n_rows))
