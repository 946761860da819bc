"""Monte Carlo study of the sequential test: hostile learners where there is no alternative.

Half of the people are in a cell in which y = 1 in one group and 0 in the other, the others are noise; the algorithm is
a lottery, so that no alternative exists. Learners: see `support.sequential_cases.hostile_p_value`.

    cd tests; python -m support.sequential_study 1000 400 STORE.csv    # rows, replications, store
"""

import sys

import numpy as np
import pandas as pd

from support.sequential_cases import hostile_p_value
from support.study_store import KEYS, run_replications

FOLDS = {"5 folds": (5, 1), "10 folds": (10, 2)}
DESIGNS = tuple(f"{learner}, {folds}" for learner in ("signs", "means", "stops") for folds in FOLDS)


def one_replication(number, n, design):
    """The p-value as one line."""
    learner, folds = design.split(", ")
    rng = np.random.default_rng([number, n, DESIGNS.index(design)])
    p_value = hostile_p_value(learner, n, *FOLDS[folds], rng)
    return pd.DataFrame([dict(zip([*KEYS, "p_value"], (number, n, design, p_value), strict=True))])


def run_study(n, replications, n_jobs=2, store=None):
    """Rejection rates at 5% by design, with their standard errors."""
    tasks = [(k, n, design) for k in range(replications) for design in DESIGNS]
    found = run_replications(one_replication, tasks, n_jobs, store)
    rates = (found["p_value"] <= 0.05).groupby(found["design"]).agg(["mean", "count"])
    return rates.assign(error=np.sqrt(rates["mean"] * (1.0 - rates["mean"]) / rates["count"]))


def main(n, replications, store, n_jobs="2"):
    """Continue a store up to a number of replications and print the rejection rates."""
    print(run_study(int(n), int(replications), int(n_jobs), store).round(4).to_string())


if __name__ == "__main__":
    from support import sequential_study  # by its name, so that other processes find it

    sequential_study.main(*sys.argv[1:])
