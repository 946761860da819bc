"""Monte Carlo study of the published distance cells, by the published search: learner, h and the distance only.

cd tests; python -m support.distance_cells_study STORE.csv  # 400, 200, 100 samples at n = 1,000, 5,000, 10,000
"""

import sys
import warnings

import numpy as np
import pandas as pd

from fairfrontier.replication.descent import replicate_descent
from fairfrontier.replication.table1 import DESIGNS, POINTS, PUBLISHED, PUBLISHED_REPLICATIONS, settings
from support.study_store import run_replications

SAMPLES = {1000: 400, 5000: 200, 10000: 100}


def replicate(number, n, design):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result, seconds = replicate_descent(number, n, design, settings())
    return pd.DataFrame([{"replication": number, "n": n, "design": design} | result | seconds])


def run_study(samples=SAMPLES, n_jobs=1, store=None):
    """All replications as a table with one line each."""
    tasks = [(k, n, design) for n, most in samples.items() for k in range(most) for design in DESIGNS]
    return run_replications(replicate, tasks, n_jobs, store)


def cells(table):
    """Rates beside the published ones, with z in standard errors of both."""
    lines = []
    for (n, design), own in table.groupby(["n", "design"]):
        for name in POINTS:
            rate, published = own[f"quasi-Newton: distance {name}"].mean(), PUBLISHED["distance", n, design][name]
            pooled = (rate * len(own) + published * PUBLISHED_REPLICATIONS) / (len(own) + PUBLISHED_REPLICATIONS)
            error = np.sqrt(pooled * (1 - pooled) * (1 / len(own) + 1 / PUBLISHED_REPLICATIONS))
            z = (rate - published) / error if error > 0 else 0.0
            lines.append([n, design, name, len(own), published, rate, z, own["quasi-Newton: F"].mean()])
    return pd.DataFrame(lines, columns=["n", "design", "cell", "samples", "published", "rate", "z", "mean F"])


def main(store):
    """Continue a store and print the cells."""
    print(cells(run_study(store=store)).round(4).to_string())


if __name__ == "__main__":
    from support import distance_cells_study  # by its name, so that other processes find it

    distance_cells_study.main(*sys.argv[1:])
