"""Monte Carlo study of the intervals for what a ban of the group costs, n = 2,000.

Two groups whose three covariates are normal with different means, so that P(group | x) is logistic, and logistic
outcomes. Designs: "matters", outcomes depend on the covariates in another way in each group; "does not", in the same
way, so that a ban costs nothing at any positive weights. Learner: plain logistic regressions of both factors.

A replication counts which of all intervals (costs by group and changes in the gap, at all points) contain the truth.
"Best for" one group the truth leaves the other group's risk to the rule that is best for the first.

    cd tests; python -m support.ban_study 300 STORE.csv    # replications; continues a store
"""

import sys
import warnings
from functools import cache

import numpy as np
import pandas as pd
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from fairfrontier import FairFrontier, Loss
from fairfrontier.inference.ban.estimates import two_sides
from fairfrontier.learning.learners import FactoredLearner, Family
from support.study_store import KEYS, run_replications

MEANS = {1: np.array([0.4, 0.0, -0.3]), 0: np.array([-0.4, 0.2, 0.3])}
SLOPES = {
    "matters": {1: np.array([1.5, 1.0, -0.5]), 0: np.array([-0.5, 1.2, 0.8])},
    "does not": {1: np.array([1.2, 0.8, -0.6]), 0: np.array([1.2, 0.8, -0.6])},
}
N, N_TRUTH = 2_000, 400_000
PLAIN = FactoredLearner("plain logit", Family(LogisticRegression(), LogisticRegression()))
EXPECTED = Loss("expected", lambda d, p: d * (1.0 - p) + (1.0 - d) * p, binary_outcome=False)


def draw(design, n, rng):
    """Covariates, groups, P(y = 1 | x, g) of each row for both groups, and P(g | x), group 1 first."""
    group = rng.integers(0, 2, n)
    x = rng.normal(size=(n, 3)) + np.where(group[:, None] == 1, MEANS[1], MEANS[0])
    chance = np.column_stack([expit(x @ SLOPES[design][g]) for g in (1, 0)])
    size = np.column_stack([np.exp(-0.5 * ((x - MEANS[g]) ** 2).sum(axis=1)) for g in (1, 0)])
    return x, group, chance, size / size.sum(axis=1, keepdims=True)


@cache
def truth(design):
    """Risks (P, 2) without and with the group at the named points, from many rows with known functions."""
    _, group, chance, share = draw(design, N_TRUTH, np.random.default_rng(0))
    within = 1.0 - 2.0 * chance
    own = chance[np.arange(N_TRUTH), 1 - group]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ff = FairFrontier(EXPECTED, n_boot=99, random_state=0)
        ff.fit(None, own, sensitive_features=group, external_nuisance=share * within)
    names, without, seeing = two_sides(ff.fit_, (share * within)[None], within[None])
    return names, without.risks, seeing.risks


def replicate(replication, n, design):
    """One line: whether each interval contains the truth."""
    rng = np.random.default_rng([24, replication])
    x, group, chance, _ = draw(design, n, rng)
    y = (rng.random(n) < chance[np.arange(n), 1 - group]).astype(int)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ff = FairFrontier(learner=PLAIN, n_boot=199, random_state=replication)
        found = ff.fit(x, y, sensitive_features=group).cost_of_ban()
    names, without, seeing = truth(design)
    cost, gap = without - seeing, np.ptp(without, axis=1) - np.ptp(seeing, axis=1)
    line = dict(zip(KEYS, (replication, n, design), strict=True))
    slack = 1e-3  # of the truth's own simulation
    for j, name in enumerate(names):
        for g in (0, 1):
            low, high = found.intervals[j, g]
            line[f"{name}, group {1 - g}"] = int(low - slack <= cost[j, g] <= high + slack)
        low, high = found.gap_intervals[j]
        line[f"{name}, gap"] = int(low - slack <= gap[j] <= high + slack)
    line["all"] = min(value for key, value in line.items() if key not in KEYS)
    line["zero"] = int((found.intervals[names.index("utilitarian"), :, 0] <= 0.0).all())
    return pd.DataFrame([line])


def coverage(found):
    """Shares of replications by design, with the standard error of "all"."""
    rows = []
    for design, own in found.groupby("design"):
        shares = own.drop(columns=KEYS).mean()
        rows.append({"design": design, "n": len(own), "error": np.sqrt(shares["all"] * (1 - shares["all"]) / len(own))})
        rows[-1] |= shares.to_dict()
    return pd.DataFrame(rows).set_index("design").T


if __name__ == "__main__":
    tasks = [(k, N, design) for k in range(int(sys.argv[1])) for design in SLOPES]
    print(coverage(run_replications(replicate, tasks, n_jobs=1, store=sys.argv[2])).round(3).to_string())
