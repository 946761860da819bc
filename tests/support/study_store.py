"""Monte Carlo studies whose replications are kept in a CSV file that a later run continues."""

from pathlib import Path

import pandas as pd
from joblib import Parallel, delayed


def run_replications(replicate, tasks, n_jobs=2, store=None):
    """Call ``replicate(*task)`` for every task (replication, n, design) and return one line per task.

    With a ``store`` tasks found there are not done again and new lines are added as they finish: a run can be stopped
    at any time and continued. The store knows nothing of the code: start a new one when the procedures change.
    """
    done = pd.read_csv(store) if store is not None and Path(store).exists() else pd.DataFrame(columns=KEYS)
    finished = set(zip(done["replication"], done["n"], done["design"], strict=True))
    found = [done]
    work = Parallel(n_jobs=n_jobs, return_as="generator_unordered")
    for line in work(delayed(replicate)(*task) for task in tasks if task not in finished):
        if store is not None:
            line.to_csv(store, mode="a", header=not Path(store).exists(), index=False)
        found.append(line)
    return pd.concat(found, ignore_index=True)


KEYS = ["replication", "n", "design"]
