"""Running replications on all local cores or on a dask cluster, and keeping each as it finishes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from joblib import Parallel, delayed

from ..errors import MissingDependencyError
from .store import Row, Store

Outcome = tuple[Mapping[str, Any], Mapping[str, float]]
"""What a replication returns: its result and the core seconds of its parts."""
Replicate = Callable[..., Outcome]
TRIES = 5
"""How often a task is handed to a cluster whose workers die with its result."""
FETCHING = 60.0
"""Seconds within which a finished result must arrive from a worker."""


@dataclass(frozen=True, slots=True)
class Task:
    """A replication to be done: its name, and the arguments of the function that does it."""

    name: str
    arguments: tuple[Any, ...]


def run_tasks(
    tasks: Sequence[Task],
    replicate: Replicate,
    store: Store,
    *,
    n_jobs: int = 1,
    dask: str | None = None,
    finished: Callable[[Row], None] | None = None,
) -> int:
    """Do the tasks that the store does not have yet; returns how many were done.

    Every row is stored before ``finished`` is called with it. ``dask`` is the address of a scheduler, or "local" for a
    cluster of ``n_jobs`` processes on this machine.
    """
    have = store.finished()
    missing = [task for task in tasks if task.name not in have]
    rows = _on_dask(missing, replicate, dask, n_jobs) if dask else _on_cores(missing, replicate, store, n_jobs)
    done = 0
    for row in rows:
        if row is None:  # another process was faster
            continue
        store.add(row)
        done += 1
        if finished is not None:
            finished(row)
    return done


def attempt(task: Task, replicate: Replicate, store: Store | None = None) -> Row | None:
    """Do one task unless the store has it by now; a failure becomes a row too."""
    if store is not None and store.has(task.name):
        return None
    start = time.process_time()
    try:
        result, seconds = replicate(*task.arguments)
    except Exception as error:  # whatever went wrong is counted, not lost
        return Row(task.name, None, f"{type(error).__name__}: {error}", {"all": time.process_time() - start})
    return Row(task.name, result, None, seconds)


def _on_cores(tasks: Sequence[Task], replicate: Replicate, store: Store, n_jobs: int) -> Iterator[Row | None]:
    work = Parallel(n_jobs=n_jobs, return_as="generator_unordered", batch_size=1, pre_dispatch="2*n_jobs")
    yield from work(delayed(attempt)(task, replicate, store) for task in tasks)


def _on_dask(tasks: Sequence[Task], replicate: Replicate, address: str, n_jobs: int) -> Iterator[Row | None]:
    try:
        from distributed import Client, LocalCluster, as_completed
    except ImportError as error:
        raise MissingDependencyError(
            "Running on a cluster needs dask, which is not installed: install fairfrontier[dask]."
        ) from error
    if address == "local":
        cluster = LocalCluster(n_workers=n_jobs, threads_per_worker=1, processes=True, dashboard_address="127.0.0.1:0")
        client = Client(cluster)
    else:
        cluster, client = None, Client(address)
    try:
        given: dict[str, tuple[Task, int]] = {}

        def submit(task: Task, number: int) -> Any:
            future = client.submit(attempt, task, replicate, key=f"{task.name} ({number})", pure=False)
            given[future.key] = (task, number)
            return future

        waiting = as_completed([submit(task, 1) for task in tasks])
        for future in waiting:
            task, number = given.pop(future.key)
            try:
                row = future.result(timeout=FETCHING)
            except Exception as error:  # the replication itself never raises: its result was lost with its worker
                if number < TRIES:
                    waiting.add(submit(task, number + 1))
                    continue
                row = Row(task.name, None, f"{type(error).__name__}: {error}", {"all": 0.0})
            yield row
            future.release()
    finally:
        client.close()
        if cluster is not None:
            cluster.close()
