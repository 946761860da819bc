"""Monte Carlo study of the joint LDA test for several groups, with predictions supplied.

One replication draws a sample of a design with the true conditional expectations and tests

* nulls: the optimal rules of six weights of the groups, one of them with a weight on the widest pair, with the true
  predictions and with distorted ones (the first column halved; the second shuffled between rows);
* false nulls: the equally weighted rule with 10, 20 and 30% of its decisions flipped, and a lottery between it and a
  coin. Beside the joint test stand the same slacks with every corner's own rule ("mark", not a valid test but an upper
  mark), and Bonferroni over pairs of groups, each pair tested by the same code on its own rows ("pairs").

Designs: "apart" (outcomes depend on covariates in another way in every group), "alike" (they differ in level), "tied"
(the two groups with the highest risk have the same distribution, so that the widest pair is not unique).

    cd tests; python -m support.groups_study 3 2000 300 STORE.csv    # groups, n, replications; continues a store
"""

import sys
from functools import cache, partial
from itertools import combinations

import numpy as np
import pandas as pd
from scipy import stats
from scipy.special import expit, softmax

from fairfrontier.frontier.criteria import risk_rows
from fairfrontier.inference.fan.cells import Refinement, cut_cells
from fairfrontier.inference.fan.evidence import BUDGET
from fairfrontier.inference.fan.forms import standing_of
from support.study_store import KEYS, run_replications

DESIGNS = ("apart", "alike", "tied")
DISTORTIONS = ("none", "halved", "shuffled")
FLIPPED = (0.1, 0.2, 0.3)


@cache
def coefficients(design, n_groups):
    """Coefficients of the group and of the outcome (K, 4), and levels (K,) of the outcome."""
    rng = np.random.default_rng([22, DESIGNS.index(design), n_groups])
    of_group = 0.5 * rng.normal(size=(n_groups, 4))
    common = 1.2 * rng.normal(size=4)
    apart = {"apart": 0.8, "alike": 0.15, "tied": 0.5}[design]
    of_outcome = common + apart * rng.normal(size=(n_groups, 4))
    level = np.linspace(-0.6, 0.6, n_groups)
    if design == "tied":  # two groups whose outcomes are hardest to predict
        of_outcome[0] *= 0.3
        of_group[1], of_outcome[1], level[1] = of_group[0], of_outcome[0], level[0]
    return of_group, of_outcome, level


def shares(n_groups):
    size = 0.7 ** np.arange(n_groups)
    return size / size.sum()


def draw(design, n_groups, n, rng):
    """Groups, outcomes and true predictions t (n, K)."""
    of_group, of_outcome, level = coefficients(design, n_groups)
    x = rng.normal(size=(n, 4))
    chance = softmax(x @ of_group.T + np.log(shares(n_groups)), axis=1)
    group = (chance.cumsum(axis=1) < rng.random(n)[:, None]).sum(axis=1).clip(max=n_groups - 1)
    positive = expit(x @ of_outcome.T + level)
    y = (rng.random(n) < positive[np.arange(n), group]).astype(float)
    return group, y, chance * (1.0 - 2.0 * positive)


@cache
def population(design, n_groups):
    """Sizes of the groups, and six weights of the groups with which optimal rules have no alternative."""
    group, y, t = draw(design, n_groups, 200_000, np.random.default_rng(1))
    size = np.bincount(group, minlength=n_groups) / len(group)
    equal, rng = np.full(n_groups, 1.0 / n_groups), np.random.default_rng(2)
    weights = [equal, size, np.eye(n_groups)[0], *rng.dirichlet(np.full(n_groups, 2.0), 2)]

    def risks(p):
        wrong = (t @ (p / size) < 0.0) != y
        return np.bincount(group, wrong, minlength=n_groups) / np.bincount(group, minlength=n_groups)

    # a weight on the pair that is widest also under its own optimal rule
    for step in (0.15, 0.05, 0.0):
        widest = risks(equal)
        p = equal + step * (np.eye(n_groups)[widest.argmax()] - np.eye(n_groups)[widest.argmin()])
        own = risks(p)
        if (own.argmax(), own.argmin()) == (widest.argmax(), widest.argmin()):
            break
    return size, [*weights, p]


def distort(t, how, rng):
    t = t.copy()
    if how == "halved":
        t[:, 0] *= 0.5
    elif how == "shuffled":
        t[:, 1] = rng.permutation(t[:, 1])
    return t


def joint_p_values(t, group, y, a, budget):
    """P-values of the joint test and of the mark, and how many rules were valued."""
    n_groups = t.shape[1]
    rows = risk_rows(y, 1.0 - 2.0 * y, t, group, np.ones(len(y)))
    fan, standing = standing_of(rows, a, np.arange(len(y)) % 5, None)
    cells = cut_cells(rows, standing, fan, Refinement(budget or BUDGET[n_groups]))
    found = (cells.slacks().t.min(), cells.own_slacks().t.min())
    return (*stats.norm.sf(found), len(cells.values))


def pairs_p_value(t, group, y, a):
    """Smallest p-value over pairs of groups, times their number."""
    p_values = []
    for g, h in combinations(range(t.shape[1]), 2):
        rows = np.isin(group, (g, h))
        own = joint_p_values(t[rows][:, [g, h]], (group[rows] == h).astype(int), y[rows], a[rows], None)
        p_values.append(own[0])
    return min(1.0, min(p_values) * len(p_values))


def replicate(replication, n, design, n_groups, budget=None):
    rng = np.random.default_rng([replication, n, DESIGNS.index(design), n_groups])
    group, y, t = draw(design, n_groups, n, rng)
    size, weights = population(design, n_groups)
    line = {}
    for k, p in enumerate(weights):
        a = (t @ (p / size) < 0.0).astype(float)
        for how in DISTORTIONS:
            line[f"null {k + 1} {how}"] = joint_p_values(distort(t, how, rng), group, y, a, budget)[0]
    best = (t @ (weights[0] / size) < 0.0).astype(float)
    false = {f"flipped {share:g}": np.where(rng.random(n) < share, 1.0 - best, best) for share in FLIPPED}
    false["lottery"] = 0.5 * best + 0.25
    for name, a in false.items():
        joint, mark, used = joint_p_values(t, group, y, a, budget)
        line |= {f"{name} joint": joint, f"{name} mark": mark, f"{name} rules": used}
        line[f"{name} pairs"] = pairs_p_value(t, group, y, a)
    return pd.DataFrame([dict(zip(KEYS, (replication, n, design), strict=True)) | line])


def rates(table, alpha=0.05):
    """Rejection rates with standard errors, one row for each test and design."""
    tests = [name for name in table.columns if name not in KEYS and not name.endswith("rules")]
    long = table.melt(["n", "design"], tests, "test", "p")
    found = long.assign(reject=long["p"] <= alpha).groupby(["n", "design", "test"])["reject"].agg(["mean", "count"])
    return found.assign(se=np.sqrt(found["mean"] * (1.0 - found["mean"]) / found["count"]))


def main(n_groups, n, replications, store, budget=None):
    tasks = [(k, n, design) for k in range(replications) for design in DESIGNS]
    table = run_replications(partial(replicate, n_groups=n_groups, budget=budget), tasks, n_jobs=1, store=store)
    print(rates(table[table["n"] == n]).unstack("design")["mean"].round(3).to_string())


if __name__ == "__main__":
    main(*map(int, sys.argv[1:4]), sys.argv[4], *map(int, sys.argv[5:6]))
