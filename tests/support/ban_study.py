"""Monte Carlo study of the intervals for what a ban of the group costs, n = 2,000.

Two groups whose three covariates are normal with different means, so that P(group | x) is logistic, and logistic
outcomes. Designs: "matters", outcomes depend on the covariates in another way in each group; "does not", in the same
way, so that a ban costs nothing at any positive weights. Learner: plain logistic regressions of both factors.
A third design, "hidden", is not one of coverage: outcomes depend on one covariate in the same way in both groups, and
neither factor is logistic, so that rules learned without the group are worse than rules learned with it (`ban_of`).

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

from fairfrontier import FairFrontier
from fairfrontier.learning.learners import FactoredLearner, Family
from support.study_store import KEYS, run_replications

MEANS = {1: np.array([0.4, 0.0, -0.3]), 0: np.array([-0.4, 0.2, 0.3])}
SLOPES = {
    "matters": {1: np.array([1.5, 1.0, -0.5]), 0: np.array([-0.5, 1.2, 0.8])},
    "does not": {1: np.array([1.2, 0.8, -0.6]), 0: np.array([1.2, 0.8, -0.6])},
}
N, N_TRUTH = 2_000, 400_000
PLAIN = FactoredLearner("plain logit", Family(LogisticRegression(), LogisticRegression()))


def draw(design, n, rng):
    """Covariates, groups, P(y = 1 | x, g) of each row for both groups, and P(g | x), group 1 first."""
    group = rng.integers(0, 2, n)
    x = rng.normal(size=(n, 3)) + np.where(group[:, None] == 1, MEANS[1], MEANS[0])
    chance = np.column_stack([expit(x @ SLOPES[design][g]) for g in (1, 0)])
    size = np.column_stack([np.exp(-0.5 * ((x - MEANS[g]) ** 2).sum(axis=1)) for g in (1, 0)])
    return x, group, chance, size / size.sum(axis=1, keepdims=True)


def draw_hidden(n, rng):
    """The same of the design "hidden", in which P(g | x) is not needed."""
    group = rng.integers(0, 2, n)
    x = np.where(group == 1, 0.7 * rng.normal(size=n), rng.choice([-2.0, 2.0], n) + 0.5 * rng.normal(size=n))
    turns = np.where(np.abs(x) < 1.2, x, -1.5 * np.sign(x) * (np.abs(x) - 1.2))
    chance = expit(2.5 * turns)
    return x[:, None], group, np.column_stack([chance, chance]), None


@cache
def truth(design):
    """Names of the points, and risks (P, 2) without and with the group there, from many rows with known functions.

    With weights w and 1 - w of the two risks the best rule selects where the weighted mean of E[dl | x, g] P(g | x) /
    P(g) is negative; w need not lie between 0 and 1. The first risk falls and the second rises with w, so that the w
    at which both are equal is found by bisection.
    """
    _, group, chance, share = draw(design, N_TRUTH, np.random.default_rng(0))
    own, of_group = chance[np.arange(N_TRUTH), 1 - group], [group == 1, group == 0]
    shares = np.array([rows.mean() for rows in of_group])
    t = share * (1.0 - 2.0 * chance) / shares

    def risks(selected):
        wrong = np.where(selected, 1.0 - own, own)
        return np.array([wrong[rows].mean() for rows in of_group])

    def blind(w):
        return risks(w * t[:, 0] + (1.0 - w) * t[:, 1] < 0.0)

    def equal(low, high):
        """Risks at the weight where both are equal, or at the end that comes nearest to it."""
        for _ in range(40):
            middle = 0.5 * (low + high)
            first, second = blind(middle)
            low, high = (middle, high) if first > second else (low, middle)
        return blind(0.5 * (low + high))

    best = risks(own > 0.5)
    points = {
        "best for 1": (blind(1.0), best),
        "best for 0": (blind(0.0), best),
        "utilitarian": (blind(0.5), best),
        "population": (blind(shares[0]), best),
        "rawlsian": (equal(0.0, 1.0), best),
        "fairest": (equal(-20.0, 21.0), np.full(2, best.max())),
    }
    without, seeing = (np.array(each) for each in zip(*points.values(), strict=True))
    return tuple(points), without, seeing


def ban_of(design, n, replication):
    """What a ban costs by the rows of one replication."""
    rng = np.random.default_rng([24, replication])
    x, group, chance, _ = draw_hidden(n, rng) if design == "hidden" else draw(design, n, rng)
    y = (rng.random(n) < chance[np.arange(n), 1 - group]).astype(int)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ff = FairFrontier(learner=PLAIN, n_boot=199, random_state=replication)
        return ff.fit(x, y, sensitive_features=group).cost_of_ban()


def replicate(replication, n, design):
    """One line: whether each interval contains the truth."""
    found = ban_of(design, n, replication)
    names, without, seeing = truth(design)
    assert found.names == names
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
    low, high = found.intervals[names.index("utilitarian")].T
    line["zero"] = int(((low <= 0.0) & (high >= 0.0)).all())
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
