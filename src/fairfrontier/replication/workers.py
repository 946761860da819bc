"""Running replications on all local cores or on a dask cluster, and keeping each as it finishes."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import Parallel, cpu_count, delayed
from threadpoolctl import threadpool_limits

from ..data.parts.cluster import connected
from ..errors import FairFrontierError, InputError
from .store import Row, Store

Outcome = tuple[Mapping[str, Any], Mapping[str, float]]
"""What a replication returns: its result and the core seconds of its parts."""
Replicate = Callable[..., Outcome]
Finished = Callable[[Row | None], None]
"""Is told every row once it is stored, or None for a task that another process has done meanwhile."""
TRIES = 5
"""How often a task is handed to a cluster whose workers die with its result."""
FETCHING = 60.0
"""Seconds within which a finished result must arrive from a worker."""
BLOCK = 200
"""Tasks whose order is random, so that processes that share a store seldom do the same one at the same time.

On a cluster all tasks are handed out at once and what others do meanwhile is done twice, though stored once."""


@dataclass(frozen=True, slots=True)
class Task:
    """A replication to be done: its name, and the arguments of the function that does it."""

    name: str
    arguments: tuple[Any, ...]


def processes(n_jobs: int) -> int:
    """Return the number of processes, -1 standing for all cores."""
    if n_jobs == -1:
        return int(cpu_count())
    if n_jobs < 1:
        raise InputError(
            "bad-option", f"The number of processes must be at least 1, or -1 for all cores; got {n_jobs}."
        )
    return n_jobs


def run_tasks(
    tasks: Sequence[Task],
    replicate: Replicate,
    store: Store,
    *,
    n_jobs: int = 1,
    dask: str | None = None,
    finished: Finished | None = None,
) -> int:
    """Do the tasks that the store does not have yet; returns how many rows were added to it.

    Every row is stored before ``finished`` is called. ``dask`` is the address of a scheduler, or "local" for a cluster
    of ``n_jobs`` processes on this machine.
    """
    have = store.finished()
    missing = _in_random_order([task for task in tasks if task.name not in have])
    if not missing:
        return 0
    rows = _on_dask(missing, replicate, dask, n_jobs) if dask else _on_cores(missing, replicate, store, n_jobs)
    added = 0
    for row in rows:
        new = row is not None and store.add(row)
        added += new
        if finished is not None:
            finished(row if new else None)
    return added


def _in_random_order(tasks: Sequence[Task]) -> list[Task]:
    """Shuffle the tasks within blocks of neighbours."""
    key = np.arange(len(tasks)) // BLOCK + np.random.default_rng().random(len(tasks))
    return [tasks[i] for i in np.argsort(key)]


def attempt(task: Task, replicate: Replicate, store: Store | None = None) -> Row | None:
    """Do one task unless the store has it by now; a failure becomes a row too."""
    if store is not None and store.has(task.name):
        return None
    start = time.process_time()
    try:
        with threadpool_limits(1):  # several threads add numbers in another order
            result, seconds = replicate(*task.arguments)
    except Exception as error:  # whatever went wrong is counted, not lost
        return Row(task.name, None, f"{type(error).__name__}: {error}", {"all": time.process_time() - start})
    return Row(task.name, result, None, seconds)


def _on_cores(tasks: Sequence[Task], replicate: Replicate, store: Store, n_jobs: int) -> Iterator[Row | None]:
    work = Parallel(n_jobs=n_jobs, return_as="generator_unordered", batch_size=1, pre_dispatch="2*n_jobs")
    yield from work(delayed(attempt)(task, replicate, store) for task in tasks)


def _on_dask(tasks: Sequence[Task], replicate: Replicate, address: str, n_jobs: int) -> Iterator[Row | None]:
    with connected(address, n_jobs) as client:
        yield from _with_client(tasks, replicate, client)


def _with_client(tasks: Sequence[Task], replicate: Replicate, client: Any) -> Iterator[Row | None]:
    from distributed import KilledWorker, as_completed

    run = uuid.uuid4().hex  # a scheduler takes tasks of the same name for the same task, whoever sent them
    given: dict[str, tuple[Task, int]] = {}

    def submit(task: Task, number: int) -> Any:
        future = client.submit(attempt, task, replicate, key=f"{task.name} ({run}, {number})", pure=False)
        given[future.key] = (task, number)
        return future

    waiting = as_completed([submit(task, 1) for task in tasks])
    for future in waiting:
        task, number = given.pop(future.key)
        try:
            row = future.result(timeout=FETCHING)
        except KilledWorker as error:  # several workers died of it, one after the other
            row = Row(task.name, None, f"{type(error).__name__}: {error}", {"all": 0.0})
        except Exception as error:  # the replication itself never raises: its result was lost on the way
            if number == TRIES or client.status != "running":
                raise FairFrontierError(
                    f"The cluster failed at {task.name}, try {number} of {TRIES}: {type(error).__name__}: {error}. "
                    "What is finished is stored; once the cluster works, run again to go on."
                ) from error
            waiting.add(submit(task, number + 1))
            continue
        yield row
        future.release()
