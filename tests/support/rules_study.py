"""Monte Carlo study of what rules attain: consistency, alternatives that really improve, size under a capacity.

Risks in the population are those of 10^6 fresh rows, with the outcome replaced by its known conditional probability.

    cd tests; python -m support.rules_study consistency 50000 2 STORE.csv  # or: improvements, capped_size
"""

import sys
import warnings
from functools import cache

import numpy as np
import pandas as pd

from fairfrontier import FairFrontier
from fairfrontier.datasets import liu_molinari_truth, make_liu_molinari
from fairfrontier.frontier.plane import unit_circle
from fairfrontier.inference.lda.witness import gains
from support.lda_study import status_quo, success_probabilities
from support.study_store import run_replications

SHARES = np.array([0.6, 0.4])
EIGHT = unit_circle(8)
CAPPED = unit_circle(4, np.pi, 1.5 * np.pi, endpoint=True)
CAPACITY = 0.1
FRESH = 1_000_000


@cache
def fresh(design, n=FRESH):
    X = make_liu_molinari(n, design, [99, 1]).X
    return X, success_probabilities(X, design)


def population_risks(decisions, design):
    """Risk pair of decisions for the fresh rows: mean over x of P(y = 1 | x, g) + a (1 - 2 P(y = 1 | x, g))."""
    return np.array([np.mean(p + decisions * (1.0 - 2.0 * p)) for p in fresh(design)[1]])


def consistency(number, n, design):
    """Largest deviation of the rules of eight directions, and of the egalitarian one, from the population."""
    X, y, group = make_liu_molinari(n, design, [n, number, 21])
    ff = FairFrontier(learner="factored-logit", n_rep=1, random_state=number).fit(X, y, sensitive_features=group)
    truth, line = liu_molinari_truth(design), {"replication": number, "n": n, "design": design}
    for k, (q, point) in enumerate(zip(EIGHT, truth.support_set(EIGHT), strict=True)):
        attained = population_risks(ff.rule(direction=q).predict(fresh(design)[0]), design)
        line[f"direction {k}"] = np.abs(attained - point).max()
    attained = population_risks(ff.rule("egalitarian").predict(fresh(design)[0]), design)
    line["F"] = np.abs(attained - truth.F).max()
    return pd.DataFrame([line]).round(6)


def improvements(number, n, design):
    """How many alternatives to the logistic lottery are unflagged, and how many of these improve in the population."""
    X, y, group = make_liu_molinari(n, design, [n, number, 22])
    ff = FairFrontier(learner="factored-logit", n_rep=1, random_state=number).fit(X, y, sensitive_features=group)
    found = ff.alternatives(status_quo().predict_proba(X)[:, 1], randomised=True)
    e = population_risks(status_quo().predict_proba(fresh(design)[0])[:, 1], design)
    real = []
    for k in range(len(found)):
        attained = population_risks(found.rule(k).predict(fresh(design)[0]), design)
        real.append(bool((gains(attained, e) > 0.0).all()))
    flagged = found.table["flagged"].to_numpy(dtype=bool)
    real = np.array(real, dtype=bool)
    line = {"replication": number, "n": n, "design": design, "rules": len(found), "unflagged": int((~flagged).sum())}
    line |= {"real unflagged": int(real[~flagged].sum()), "real flagged": int(real[flagged].sum())}
    return pd.DataFrame([line])


@cache
def population_cutoffs(design):
    """The (1 - capacity) quantiles of the true k in each direction."""
    in_r, in_b = fresh(design)[1]
    return [max(0.0, np.quantile(q[0] * (1 - 2 * in_r) + q[1] * (1 - 2 * in_b), 1 - CAPACITY)) for q in CAPPED]


def capped_size(number, n, design):
    """P-values of the capacity-constrained test for the best capped rules (no alternative exists) and a lottery."""
    rng = np.random.default_rng([n, number, 23])
    X, y, group = make_liu_molinari(n, design, rng)
    ff = FairFrontier(learner="factored-logit", n_boot=500, n_rep=1, random_state=number).fit(
        X, y, sensitive_features=group
    )
    in_r, in_b = success_probabilities(X, design)
    score = [q[0] * (1 - 2 * in_r) + q[1] * (1 - 2 * in_b) for q in CAPPED]
    decisions = {
        f"optimal {k}": (s > c).astype(float)
        for k, (s, c) in enumerate(zip(score, population_cutoffs(design), strict=True))
    }
    decisions["random tenth"] = np.full(n, CAPACITY)
    line = {"replication": number, "n": n, "design": design}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the share treated in a sample exceeds the capacity half of the time
        for method in ("robust", "sharp"):
            tests = ff.test_lda(decisions, randomised=True, method=method, capacity=CAPACITY)
            line |= {f"{method} {name}": tests[name].evidence.p_value for name in decisions}
    return pd.DataFrame([line]).round(6)


STUDIES = {"consistency": consistency, "improvements": improvements, "capped_size": capped_size}


def run_study(name, n, replications, n_jobs=2, store=None):
    """All replications of both designs as a table with one line each."""
    tasks = [(k, n, design) for k in range(replications) for design in ("balanced", "skewed")]
    return run_replications(STUDIES[name], tasks, n_jobs, store)


def main(name, n, replications, store, n_jobs="2"):
    """Continue a store up to a number of replications and print means, or rejection rates at 5%."""
    table = run_study(name, int(n), int(replications), int(n_jobs), store).drop(columns=["replication", "n"])
    values = table.set_index("design")
    if name == "capped_size":
        values = (values <= 0.05).astype(float)
    print(values.groupby("design").agg(["mean", "max"]).T.round(4).to_string())


if __name__ == "__main__":
    from support import rules_study  # by its name, so that other processes find it

    rules_study.main(*sys.argv[1:])
