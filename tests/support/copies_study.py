"""Monte Carlo study of copied rows: false verdicts where there is nothing to find.

300 rows of five normal covariates, coins for group, outcome and decision, then copied: every row 2, 3 or 10 times, or
the smaller group or the rarer outcome (a share of 30%) drawn again with replacement up to the size of the other. One
replication tests the algorithm with copies kept together as found ("auto") and with copies taken for people ("ignore").

    cd tests; python -m support.copies_study 100 STORE.csv factored-boosting    # replications, store, learner
    cd tests; python -m support.copies_study 100 NEAR.csv factored-boosting auto near   # copies that have no twins
"""

import sys
import warnings
from functools import partial

import numpy as np
import pandas as pd

from fairfrontier import FairFrontier
from support.copied import HOW, NEAR, copied_rows, near_copies, normal_rows
from support.study_store import KEYS, run_replications

ROWS = 300
TREES = {"max_iter": 40}
"""A fixed number of trees: nothing is tuned, to save time."""


def one_replication(learner, ways, number, n, design):
    """p-values of the robust test, and the number of clusters, as one line."""
    rng = np.random.default_rng([number, 20, (*HOW, *NEAR).index(design)])
    # what is made up to parity is .3 before; all other chances are those of a coin, or deciding alike would do better
    share, success = (0.3 if design.startswith(what) else 0.5 for what in ("group", "outcome"))
    rows = normal_rows(n, rng, share, success)
    X, group, y = (near_copies if design in NEAR else copied_rows)(rows, design, rng)
    # decisions belong to people: copies have the same
    coins = {key: float(rng.integers(2)) for key in X[0]}
    decisions = X[0].map(coins).to_numpy()
    line = dict(zip(KEYS, (number, n, design), strict=True))
    for copies in ways:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ff = FairFrontier(learner=learner, copies=copies, n_boot=199, random_state=number, learner_params=TREES)
            line[copies] = ff.fit(X, y, sensitive_features=group).test_lda(decisions).p_value
        if copies == "auto":
            line["clusters"] = len(y) if ff.sample_.clusters is None else len(np.unique(ff.sample_.clusters))
    return pd.DataFrame([line])


def run_study(replications, learner="factored-boosting", n_jobs=2, store=None, ways=("auto",), designs=HOW):
    """False verdicts at 5% by design and treatment of copies."""
    tasks = [(k, ROWS, design) for k in range(replications) for design in designs]
    found = run_replications(partial(one_replication, learner, ways), tasks, n_jobs, store)
    return (found.set_index("design")[list(ways)] <= 0.05).groupby("design").agg(["sum", "count"])


def main(replications, store, learner="factored-boosting", ways="auto,ignore", designs="", n_jobs="1"):
    """Continue a store up to a number of replications and print the false verdicts."""
    chosen = NEAR if designs == "near" else HOW
    print(run_study(int(replications), learner, int(n_jobs), store, ways.split(","), chosen).to_string())


if __name__ == "__main__":
    from support import copies_study  # by its name, so that other processes find it

    copies_study.main(*sys.argv[1:])
