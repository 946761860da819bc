"""A study whose replications take no time to speak of: for tests of the store and of the runners."""

import sys
import time
from pathlib import Path

import numpy as np

from fairfrontier.replication.store import open_store
from fairfrontier.replication.workers import Task, run_tasks


def replicate(number, pause=0.0):
    """Some random numbers of the replication's own; every seventh fails."""
    time.sleep(pause)
    if number % 7 == 3:
        raise ValueError(f"replication {number} cannot be done")
    rng = np.random.default_rng([number, 8])
    return {"mean": float(rng.normal(size=50).mean()), "number": number}, {"all": 0.0}


def tasks(count, pause=0.0):
    return [Task(f"toy/{number:06d}", (number, pause)) for number in range(count)]


def contents(store):
    """Everything stored but the seconds."""
    return [(row.task, row.result, row.error) for row in store.rows()]


def main(path, count, pause, n_jobs):
    """Do a number of replications into a store."""
    store, _ = open_store(Path(path), {"study": "toy"})
    run_tasks(tasks(int(count), float(pause)), replicate, store, n_jobs=int(n_jobs))


if __name__ == "__main__":
    from support import toy_study  # by its name, so that other processes find it

    toy_study.main(*sys.argv[1:])
