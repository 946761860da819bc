"""Study of costs in CPU seconds of one process: fits and default tests by learner, and `auto` beside its candidates.

Everything that is compared runs in turn in one run, so that ratios mean something on a busy machine, too.

    cd tests; python -m support.cost_study learners 3              # seeds; german_credit and student_performance
    cd tests; python -m support.cost_study auto 5                  # the simulated designs and the two tables
    cd tests; python -m support.cost_study auto 1 "law_school race,open_university disability"
"""

import itertools
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


def learners(seeds, names):
    """Of each table and learner: a fit of one repetition tuned once, and what the rest costs in these units."""
    for name, learner in itertools.product(names, LEARNERS):
        rows, found = rows_of(name, 0), []
        for seed in range(seeds):
            once = {"learner_params": {"tune_on_folds": False}} if learner in TUNED else {}
            unit = seconds(rows, learner, seed, n_rep=1, **once)
            now = [seconds(rows, learner, seed, n_rep=1), seconds(rows, learner, seed, test=True)]
            found.append([unit, *now])
        unit, *now = np.mean(found, axis=0)
        one, whole = np.array(now) / unit
        yield f"{name}, {learner}: {unit:.2f} s; one repetition {one:.2f}, default fit and test {whole:.2f}"


def auto(seeds, names):
    """Of each design or table: a fit of one repetition of `auto` and of its candidates as learners of their own."""
    for name in names:
        found = []
        for seed in range(seeds):
            rows = rows_of(name, seed)
            found.append({one: seconds(rows, one, seed, n_rep=1) for one in ("auto", *CANDIDATES)})
        each = pd.DataFrame(found)
        dearest, mean = each[list(CANDIDATES)].max(axis=1), each.mean()
        ratios = each["auto"] / dearest
        listed = ", ".join(f"{one} {value:.2f}" for one, value in mean.items())
        whole = mean["auto"] / mean[list(CANDIDATES)].max()
        yield f"{name}: {listed}; auto to the dearest {whole:.2f} ({ratios.min():.2f} to {ratios.max():.2f})"


def main():
    """Compile what is compiled, measure, and print line by line."""
    what, seeds = sys.argv[1], int(sys.argv[2])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        few = tuple(np.asarray(part)[:300] if k else part[:300] for k, part in enumerate(rows_of("balanced", 99)))
        for learner in LEARNERS:
            seconds(few, learner, 0, n_rep=1)
        seconds(few, "auto", 0, test=True)
        usual = DATA if what == "learners" else (*DESIGNS, *DATA)
        names = tuple(sys.argv[3].split(",")) if len(sys.argv) > 3 else usual
        for line in (learners if what == "learners" else auto)(seeds, names):
            print(line, flush=True)


if __name__ == "__main__":
    main()
