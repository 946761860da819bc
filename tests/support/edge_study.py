"""Monte Carlo study of the distance to the fairest point on a straight edge through the line of equal risks.

Covariates without information: every rule lies on one edge, which crosses the line at (.5, .5). The algorithm is a fair
coin, so its true distance is 0. Known nuisance functions.

    cd tests; python -m support.edge_study 300 STORE.csv  # samples; a later run continues the store
"""

import sys
import warnings

import numpy as np
import pandas as pd

from fairfrontier import FairFrontier
from support.hostile import useless
from support.study_store import run_replications

SIZES = (300, 1000, 3000)
DESIGNS = ("success .9 and .2", "success .9 and .1")
LABELS = np.array([1, 0])


def replicate(number, n, design, n_boot=199):
    """Whether the interval misses, and its ends."""
    population, rng = useless(0.9, float(design[-2:])), np.random.default_rng([number, n, int(design[-1])])
    cells, group, y = population.sample(n, rng)
    coin = (rng.random(n) < 0.5).astype(float)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ff = FairFrontier(n_boot=n_boot, random_state=number, groups=(1, 0))
        ff.fit(None, y, sensitive_features=LABELS[group], external_nuisance=population.t[cells])
        low, high = ff.distance_to_fairest({"coin": coin})["coin"].conf_int()
    line = {"replication": number, "n": n, "design": design, "missed": int(not low <= 0.0 <= high), "low": low}
    return pd.DataFrame([line | {"high": high}])


def rates(table):
    """Shares of samples that are missed, and median lengths."""
    by = table.groupby(["design", "n"])
    missed = by["missed"].mean()
    return pd.DataFrame(
        {"missed": missed, "error": np.sqrt(missed * (1 - missed) / by.size()), "high": by["high"].median()}
    ).assign(samples=by.size())


def main(samples, store):
    """Continue a store up to a number of samples and print the rates."""
    tasks = [(k, n, design) for k in range(int(samples)) for n in SIZES for design in DESIGNS]
    print(rates(run_replications(replicate, tasks, 1, store)).round(4).to_string())


if __name__ == "__main__":
    from support import edge_study  # by its name, so that other processes find it

    edge_study.main(*sys.argv[1:])
