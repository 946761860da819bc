"""Study of seeds and costs on public tables: verdicts of ten seeds with one repetition of the folds and with three.

Tables and algorithms are those of `support.tables_study`. One line of the store belongs to one table, learner and seed:
verdicts and p-values with the first repetition alone and with all three, and CPU seconds of one repetition and of the
default fit with the test of one algorithm (first seed only).

    cd tests; python -m support.seeds_study STORE.csv 10 factored-logit,auto german_credit,student_performance
"""

import sys
import time
import warnings

import numpy as np
import pandas as pd

from fairfrontier import FairFrontier
from support.study_store import run_replications
from support.tables_study import TABLES, audited


def seconds_of(learner, X, y, group, **options):
    """A fit, and its CPU seconds."""
    began = time.process_time()
    ff = FairFrontier(learner=learner, random_state=0, **options).fit(X, y, sensitive_features=group)
    return ff, time.process_time() - began


def one_seed(seed, n, design):
    """Verdicts and p-values of one seed, as one line."""
    name, learner = design.split(" | ")
    X, y, group, decisions = audited(name)
    line = {"replication": seed, "n": n, "design": design, "seconds, 1": np.nan, "seconds, 3": np.nan}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if seed == 0:
            seconds_of(learner, X[:200], y[:200], group[:200], n_rep=1)  # compile
            line["seconds, 1"] = seconds_of(learner, X, y, group, n_rep=1)[1]
        began = time.process_time()
        three = FairFrontier(learner=learner, random_state=seed).fit(X, y, sensitive_features=group)
        tests = {3: {label: three.test_lda(a) for label, a in decisions.items()}}
        if seed == 0:
            line["seconds, 3"] = time.process_time() - began
        one = FairFrontier(random_state=seed, groups=three.groups_)
        one.fit(X, y, sensitive_features=group, external_nuisance=three.nuisance_.predictions[0])
        tests[1] = {label: one.test_lda(a) for label, a in decisions.items()}
    for n_rep, own in tests.items():
        for label, test in own.items():
            line |= {f"{label}, {n_rep} | verdict": test.verdict, f"{label}, {n_rep} | p": test.robust_p_value}
    return pd.DataFrame([line])


def agreement(store):
    """Verdicts and the spread of p-values over seeds, by table, learner and algorithm."""
    rows = []
    for design, own in store.groupby("design", sort=False):
        for label in ("logistic regression", "boosting"):
            row = {"design": design, "algorithm": label, "seeds": len(own)}
            for n_rep in (1, 3):
                counts = own[f"{label}, {n_rep} | verdict"].value_counts()
                p = own[f"{label}, {n_rep} | p"]
                row[f"{n_rep}: verdicts"] = ", ".join(f"{k} {v}" for k, v in counts.items())
                row[f"{n_rep}: p"] = f"{p.min():.3f} to {p.max():.3f}"
            rows.append(row)
    return pd.DataFrame(rows)


def main(path, seeds="10", learners="factored-logit,factored-boosting", names=""):
    """Continue a store, and print verdicts and costs."""
    chosen = [name for name in TABLES if not names or name.split(" ")[0] in names.split(",")]
    tasks = [
        (seed, len(audited(name)[1]), f"{name} | {learner}")
        for seed in range(int(seeds))
        for name in chosen
        for learner in learners.split(",")
    ]
    store = run_replications(one_seed, tasks, 1, path)
    costs = store.groupby("design")[["seconds, 1", "seconds, 3"]].mean()
    print(agreement(store).to_string(), costs.assign(ratio=costs["seconds, 3"] / costs["seconds, 1"]), sep="\n\n")


if __name__ == "__main__":
    from support import seeds_study  # by its name, so that other processes find it

    seeds_study.main(*sys.argv[1:])
