"""Study of a small group: the regret of the rule that a learner holds best for 2% of 20,000 people.

Of ten covariates five matter in the same way for both groups and one for the small group only; the relation is not
linear. Conditional expectations are known, so the regret is: the mean over fresh people of the small group of
|1 - 2 P(y = 1 | x)| where the rule decides otherwise than the best one.

    cd tests; python -m support.small_group_study 10 STORE.csv
"""

import sys
import warnings

import numpy as np
import pandas as pd
from scipy.special import expit

from fairfrontier.data.sample import make_sample
from fairfrontier.learning.cross_fitting import fit_on_all
from support.study_store import run_replications

N, SHARE = 20_000, 0.02
LEARNERS = ("auto", "factored-logit", "factored-boosting")


def success(x, small):
    """P(y = 1 | x, group)."""
    common = x[:, 0] - x[:, 1] + 1.2 * np.maximum(x[:, 2], 0.0) + 0.8 * x[:, 3] * (x[:, 4] > 0.0) - 0.5
    return expit(common + np.where(small, 0.8 * x[:, 5], 0.0))


def regret(learner, number):
    """Regret of the best rule for the small group, learned from one sample."""
    rng = np.random.default_rng([number, N])
    x = rng.normal(size=(N, 10))
    small = rng.random(N) < SHARE
    y = (rng.random(N) < success(x, small)).astype(int)
    sample = make_sample(x, y, np.where(small, "small", "large"), groups=("small", "large"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = fit_on_all(sample, 1.0 - 2.0 * y, learner, random_state=number)
    fresh = np.random.default_rng([number, 1]).normal(size=(20_000, 10))
    p = success(fresh, np.ones(len(fresh), dtype=bool))
    rule = fitted.predict(fresh).delta_theta[:, 0] < 0.0
    return float(np.mean(np.abs(1.0 - 2.0 * p) * (rule != (p > 0.5))))


def one_sample(number, n, design):
    """The regret of one learner as one line."""
    return pd.DataFrame([{"replication": number, "n": n, "design": design, "regret": regret(design, number)}])


def main(samples, store):
    """Continue a store and print the mean regrets, with standard errors, and ratios to the separate fits."""
    tasks = [(number, N, learner) for number in range(int(samples)) for learner in LEARNERS]
    lines = run_replications(one_sample, tasks, 1, store)
    wide = lines.pivot(index="replication", columns="design", values="regret").dropna()[list(LEARNERS)]
    print(f"{len(wide)} samples")
    print(pd.DataFrame({"mean": wide.mean(), "s.e.": wide.sem()}).round(5).to_string())
    for other in ("factored-logit", "factored-boosting"):
        ratio = wide["auto"].mean() / wide[other].mean()
        # delta method for the ratio of means over the same samples
        error = (wide["auto"] - ratio * wide[other]).sem() / wide[other].mean()
        print(f"auto / {other}: {ratio:.3f} (s.e. {error:.3f})")


if __name__ == "__main__":
    from support import small_group_study  # by its name, so that other processes find it

    small_group_study.main(*sys.argv[1:])
