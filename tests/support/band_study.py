"""Monte Carlo study of the band in hostile samples with known nuisance functions: small groups, clusters, weights.

cd tests; python -m support.band_study 300 STORE.csv  # samples; a later run continues the store
"""

import sys
import warnings

import numpy as np
import pandas as pd

from fairfrontier import FairFrontier
from fairfrontier.errors import SmallSampleWarning
from fairfrontier.frontier.plane import unit_circle
from fairfrontier.inference.bands import BAND_DIRECTIONS
from support.hostile import clustered, minority, smooth, weighted
from support.study_store import run_replications

CELLS = (
    *[("minority 5%", n) for n in (300, 1000, 3000)],
    *[("minority 2%", n) for n in (1000, 3000)],
    *[("smooth", n) for n in (300, 1000)],
    *[("50 clusters", 1000), ("200 clusters", 1000)],
    *[("weights 1", 1000), ("weights 2", 1000)],
)
"""Designs with their numbers of rows; "smooth" is an easy one."""
LABELS = np.array([1, 0])


def sampled(design, n, rng):
    """Population, cells, group codes, outcomes, and what else a fit is given."""
    kind, what = design.split(" ") if " " in design else (design, "")
    if kind == "minority":
        population = minority(float(what.strip("%")) / 100)
        return population, *population.sample(n, rng), {}
    population = smooth()
    if what == "clusters":
        size = n // int(kind)
        alike = 0.6 if size >= 20 else 0.5
        cells, group, y, clusters = clustered(population, int(kind), size, alike, alike, rng)
        return population, cells, group, y, {"clusters": clusters}
    if kind == "weights":
        cells, group, y, weight = weighted(population, n, float(what), rng)
        return population, cells, group, y, {"sample_weight": weight}
    return population, *population.sample(n, rng), {}


def replicate(number, n, design, n_boot=199):
    """Whether the band misses, its width in standard errors, and whether a warning was raised."""
    rng = np.random.default_rng([number, n, sum(design.encode())])
    population, cells, group, y, more = sampled(design, n, rng)
    q = unit_circle(BAND_DIRECTIONS)
    truth = population.h(q)
    line = {"replication": number, "n": n, "design": design}
    with warnings.catch_warnings(record=True) as raised:
        warnings.simplefilter("always")
        ff = FairFrontier(n_boot=n_boot, random_state=number, groups=(1, 0))
        ff.fit(None, y, sensitive_features=LABELS[group], external_nuisance=population.t[cells], **more)
        band = ff.feasible_set().confidence_band()
    line["missed"] = int((band.lower(q) > truth + 1e-12).any() or (band.upper(q) < truth - 1e-12).any())
    line["value"] = band.critical_value
    line["warned"] = int(any(issubclass(w.category, SmallSampleWarning) for w in raised))
    return pd.DataFrame([line])


def run_study(samples, cells=CELLS, n_jobs=1, store=None):
    """All replications as a table with one line each."""
    return run_replications(replicate, [(k, n, design) for k in range(samples) for design, n in cells], n_jobs, store)


def rates(table):
    """Shares of samples that are missed and of those with a warning, by design."""
    by = table.groupby(["design", "n"])
    found = by[["missed", "warned"]].mean().assign(value=by["value"].median(), samples=by.size())
    return found.assign(error=np.sqrt(found["missed"] * (1 - found["missed"]) / found["samples"]))


def main(samples, store):
    """Continue a store up to a number of samples and print the rates."""
    print(rates(run_study(int(samples), store=store)).round(4).to_string())


if __name__ == "__main__":
    from support import band_study  # by its name, so that other processes find it

    band_study.main(*sys.argv[1:])
