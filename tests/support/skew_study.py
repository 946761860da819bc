"""Monte Carlo study of the group-skew test: power in a family of populations, and size under distorted predictions.

Cells are named "k kind": k chooses the population (its gap at B: `support.hostile.skew_family`), kind what is done to
the true pairs: "known" leaves them, "x10", "noise" and "minus" distort them, and a learner's name learns them.

    cd tests; python -m support.skew_study 400 STORE.csv  # samples; a later run continues the store
"""

import sys
import warnings

import numpy as np
import pandas as pd

from fairfrontier import FairFrontier
from support.hostile import skew_family
from support.quick import FEW
from support.study_store import run_replications

POWER = ("6 known", "4 known", "2 known")
SIZE = ("7.6 known", "7.6 x10", "7.6 noise", "7.6 minus", "8.5 known", "10 known")
LEARNED = ("6 factored-logit", "4 factored-logit", "2 factored-logit", "7.6 factored-logit")
ALL = ",".join(POWER + SIZE + LEARNED)
N = 1000
LABELS = (1, 0)


def distorted(t, kind, rng):
    """Predictions (n, 2) made from true pairs."""
    r, b = t[:, 0], t[:, 1]
    if kind == "x10":
        r = 10 * r
    elif kind == "noise":
        r = 3 * (r + 3 * r.std() * rng.normal(size=len(r)))
    elif kind == "minus":
        b = b - 0.3 * r
    return np.column_stack([r, b])


def replicate(number, n, design, n_boot=199):
    """P-values and verdict in one sample."""
    k, kind = design.split(" ")
    population, rng = skew_family(float(k)), np.random.default_rng([number, n, int(10 * float(k))])
    cells, group, y = population.sample(n, rng)
    given = {"sensitive_features": np.array(LABELS)[group]}
    ff = FairFrontier(n_boot=n_boot, random_state=number, groups=LABELS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if kind in ("known", "x10", "noise", "minus"):
            ff.fit(None, y, external_nuisance=distorted(population.t[cells], kind, rng), **given)
        else:
            ff.set_params(learner=kind, learner_params=FEW if kind == "factored-logit" else None)
            ff.fit(pd.DataFrame(population.x[cells], columns=["u0", "u1"]), y, **given)
        test = ff.test_group_skew()
    line = {"replication": number, "n": n, "design": design, "p_value": test.p_value, "verdict": test.verdict}
    line["p_value_balanced"] = test.p_value_balanced
    line |= {f"{gap.group} {gap.how}": gap.p_value for gap in test.gaps}
    return pd.DataFrame([line])


def run_study(samples, designs=POWER + SIZE, n=N, n_jobs=1, store=None):
    """All replications as a table with one line each."""
    return run_replications(replicate, [(k, n, design) for design in designs for k in range(samples)], n_jobs, store)


def rates(table, level=0.05):
    """Shares of samples by verdict and with a p-value at most the level, with standard errors of the claims."""
    found = table.assign(
        rejected=table["p_value"] <= level,
        balance=table["verdict"] == "balance-shown",
        contradictory=table["verdict"] == "contradictory",
    )
    by = found.groupby(["design", "n"])[["rejected", "balance", "contradictory"]]
    shares, samples = by.mean(), by.size()
    error = np.sqrt(shares["balance"] * (1 - shares["balance"]) / samples)
    return shares.assign(error=error, samples=samples)


def main(samples, store, designs=ALL, n=N):
    """Continue a store up to a number of samples and print the rates."""
    print(rates(run_study(int(samples), tuple(designs.split(",")), int(n), 1, store)).round(4).to_string())


if __name__ == "__main__":
    from support import skew_study  # by its name, so that other processes find it

    skew_study.main(*sys.argv[1:])
