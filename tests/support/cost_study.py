"""Study of costs in CPU seconds of one process: fits and default tests by learner, and `auto` beside its candidates.

Everything that is compared runs in turn in one run, so that ratios mean something on a busy machine, too.

    cd tests; python -m support.cost_study learners 3              # seeds; german_credit and student_performance
    cd tests; python -m support.cost_study auto 5                  # the simulated designs and the two tables
    cd tests; python -m support.cost_study auto 1 "law_school race,open_university disability"
"""

import sys
import time
import warnings

import numpy as np
import pandas as pd

from fairfrontier import FairFrontier
from fairfrontier.datasets import make_liu_molinari
from support.tables_study import CANDIDATES, audited

DATA = ("german_credit sex", "student_performance sex")
DESIGNS = ("balanced", "skewed")
TUNED = ("logit-lasso", "factored-logit", "lasso", "boosting", "factored-boosting")
"""Learners that can be tuned once."""
LEARNERS = (*TUNED, "forest", "pooled-logit", "pooled-boosting", "auto")


def rows_of(name, seed):
    """Covariates, outcome, group and decisions: a sample of a design (n = 1,000), or the audited half of a table."""
    if name in DESIGNS:
        X, y, group = make_liu_molinari(1000, name, [17, seed])
        return X, y, group, (X["x1"] > 0).astype(int)
    X, y, group, decisions = audited(name)
    return X, y, group, decisions["logistic regression"]


def seconds(rows, learner, seed, *, test=False, **options):
    """CPU seconds of a fit, with the default test if asked for."""
    X, y, group, decisions = rows
    began = time.process_time()
    ff = FairFrontier(learner=learner, random_state=seed, **options).fit(X, y, sensitive_features=group)
    if test:
        ff.test_lda(decisions)
    return time.process_time() - began


def learners(seeds):
    """Of each learner and table: a fit of one repetition tuned once, and what the rest costs in these units."""
    found = []
    for name in DATA:
        rows = rows_of(name, 0)
        for learner in LEARNERS:
            for seed in range(seeds):
                once = {"learner_params": {"tune_on_folds": False}} if learner in TUNED else {}
                found.append(
                    {
                        "table": name,
                        "learner": learner,
                        "seconds": seconds(rows, learner, seed, n_rep=1, **once),
                        "one repetition": seconds(rows, learner, seed, n_rep=1),
                        "fit": seconds(rows, learner, seed),
                        "fit and test": seconds(rows, learner, seed, test=True),
                    }
                )
    means = pd.DataFrame(found).groupby(["table", "learner"], sort=False).mean()
    return pd.concat([means[["seconds"]], means.iloc[:, 1:].div(means["seconds"], axis=0)], axis=1).round(2)


def auto(seeds, names):
    """Of each design or table: a fit of one repetition of `auto` and of its candidates as learners of their own."""
    found = []
    for name in names:
        for seed in range(seeds):
            rows = rows_of(name, seed)
            found.append({"data": name} | {one: seconds(rows, one, seed, n_rep=1) for one in ("auto", *CANDIDATES)})
    each = pd.DataFrame(found).set_index("data")
    means = each.groupby("data", sort=False).mean()
    ratios = (each["auto"] / each[list(CANDIDATES)].max(axis=1)).groupby("data", sort=False)
    means["to the dearest"] = means["auto"] / means[list(CANDIDATES)].max(axis=1)
    means["smallest"], means["largest"] = ratios.min(), ratios.max()
    return means.round(2)


def main():
    """Compile what is compiled, measure, and print the table."""
    what, seeds = sys.argv[1], int(sys.argv[2])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        few = tuple(np.asarray(part)[:300] if k else part[:300] for k, part in enumerate(rows_of("balanced", 99)))
        for learner in LEARNERS:
            seconds(few, learner, 0, n_rep=1)
        seconds(few, "auto", 0, test=True)
        names = tuple(sys.argv[3].split(",")) if len(sys.argv) > 3 else (*DESIGNS, *DATA)
        print((learners(seeds) if what == "learners" else auto(seeds, names)).to_string())


if __name__ == "__main__":
    main()
