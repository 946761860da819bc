"""Attacks on the robust test: samples without an alternative, and learners that find patterns in noise.

Folds of the cross-fitting depend on each other where decisions are noise. Every population here has an algorithm to
which no alternative exists, and most have many people about whom nothing can be learned. Learners are simple and fast,
so that many samples can be drawn; folds, repetitions, draws and tests are those of the package.

    cd tests; python -m support.attacks_study STORE.csv 1000 200    # samples of the two main populations, of others
    cd tests; python -m support.attacks_study SLOW.csv 0 200 slow   # boosting and the default learner
    cd tests; python -m support.attacks_study HARD.csv 0 400 hard   # learners for which the default is not made
    cd tests; python -m support.attacks_study POWER.csv 0 200 published  # power in the published designs
"""

import sys
import warnings
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.spatial import cKDTree
from scipy.special import expit
from sklearn.tree import DecisionTreeRegressor

from fairfrontier import FairFrontier
from fairfrontier.data.sample import make_sample
from fairfrontier.datasets import make_liu_molinari
from fairfrontier.frontier.criteria import risk_rows
from fairfrontier.frontier.support import Scores
from fairfrontier.inference.fan.robust import fan_test
from fairfrontier.inference.lda.sequential import sequential_tests
from fairfrontier.learning.cross_fitting import cross_fit
from fairfrontier.learning.folds import FoldSequence, make_folds
from support import hostile, lda_study
from support.study_store import KEYS, run_replications

SMALLEST = 1 / 200
"""No p-value is smaller."""
N_REP = 3
FIXED = np.empty((0, 2))
COLUMNS = ("robust, 1", f"robust, {N_REP}", "sequential, 5", "sequential, 10")
"""P-values of a line: with one repetition and with three, and in the proven mode with 5 and 10 folds."""


@dataclass(frozen=True)
class People:
    """Covariates (n, d), cells (n,) for the learner of cell means, group codes, outcomes, and decisions in use."""

    X: np.ndarray
    cell: np.ndarray
    group: np.ndarray
    y: np.ndarray
    decisions: np.ndarray
    clusters: np.ndarray | None = None


# --- populations without an alternative ---------------------------------------------------------------------


def edge_and_noise(n, rng, share=0.5, sure=1.0, group_r=0.5, cells=50):
    """In the cell A groups differ by their outcomes, elsewhere outcomes are coins; the algorithm is a fair lottery."""
    group, A = (rng.random(n) >= group_r).astype(np.intp), rng.random(n) < share
    y = rng.random(n) < np.where(A, np.where(group == 0, sure, 1.0 - sure), 0.5)
    noise = rng.integers(cells, size=n)
    return People(np.column_stack([A, noise / cells]), np.where(A, cells, noise), group, y * 1.0, np.full(n, 0.5))


def edge_and_uniform_noise(n, rng):
    """The same with 30% in A, less sure outcomes and two uniform covariates."""
    people, u = edge_and_noise(n, rng, 0.3, 0.9), rng.random((n, 2))
    A = people.X[:, 0]
    cell = np.where(A > 0, 25, 5 * (5 * u[:, 0]).astype(np.intp) + (5 * u[:, 1]).astype(np.intp))
    return People(np.column_stack([A, u]), cell, people.group, people.y, people.decisions)


def useless(n, rng, p_r=0.9, p_b=0.1, cells=50):
    """Covariates say nothing: all rules lie on one straight edge; the algorithm is a fair lottery."""
    group, cell = rng.integers(2, size=n), rng.integers(cells, size=n)
    y = rng.random(n) < np.where(group == 0, p_r, p_b)
    return People(cell[:, None] / cells, cell, group, y * 1.0, np.full(n, 0.5))


def best_rule(population, q):
    """The algorithm is the best rule for direction q, so it lies on the frontier."""

    def draw(n, rng):
        cells, group, y = population().sample(n, rng)
        best = (population().t / population().mu) @ np.asarray(q) > 0.0
        x = population().x[cells]
        in_square = x.shape[1] == 2
        code = 6 * (6 * x[:, 0]).astype(np.intp) + (6 * x[:, -1]).astype(np.intp) if in_square else cells
        return People(x, code, group, y, best[cells] * 1.0)

    return draw


def four_cells():
    columns = ([0.3, 0.2, 0.3, 0.2], [0.7, 0.5, 0.3, 0.6], [0.9, 0.3, 0.6, 0.2], [0.7, 0.8, 0.2, 0.4])
    return hostile.Population(*map(np.array, columns), np.arange(4.0)[:, None])


def nearly_determined():
    return hostile.uniform_cells(
        lambda a, b: np.where(a > 0.5, 0.98, 0.02),
        lambda a, b: expit(5 * (b - 0.4)),
        lambda a, b: expit(-4 * (b - 0.6) + 2 * a),
    )


def perfect_for_r():
    return hostile.uniform_cells(
        lambda a, b: 0.2 + 0.6 * a, lambda a, b: (a > 0.4) * 1.0, lambda a, b: expit(3 * (b - 0.5))
    )


def checkerboard(n, rng):
    """64 cells: in half of them groups differ by their outcomes, in others coins; all rules are equally good in sum."""
    cell, group = rng.integers(64, size=n), rng.integers(2, size=n)
    row, column = cell // 8, cell % 8
    y = rng.random(n) < np.where((row + column) % 2 == 0, np.where(group == 0, 0.6, 0.4), 0.5)
    X = np.column_stack([row, column]) / 8.0
    return People(X, cell, group, y * 1.0, np.full(n, 0.5))


def knife_edge(n, rng):
    """A fifth of the people in group r; in every cell the pair is perpendicular to (.6, .8), long or short."""
    cell, group = rng.integers(40, size=n), (rng.random(n) >= 0.2).astype(np.intp)
    gain = np.linspace(-0.9, 0.9, 40)[cell]  # 1 - 2 p_r
    p = np.where(group == 0, (1.0 - gain) / 2.0, (1.0 + 0.75 * gain) / 2.0)
    return People(rng.permutation(40)[cell][:, None] / 40.0, cell, group, (rng.random(n) < p) * 1.0, np.full(n, 0.5))


def one_sided(n, rng):
    """Coins for group r, learnable outcomes for group b; the algorithm is the best rule for b."""
    u, group = rng.random((n, 2)), rng.integers(2, size=n)
    y = rng.random(n) < np.where(group == 0, 0.5, expit(6 * (u[:, 0] - 0.5)))
    cell = 6 * (6 * u[:, 0]).astype(np.intp) + (6 * u[:, 1]).astype(np.intp)
    return People(u, cell, group, y * 1.0, (u[:, 0] > 0.5) * 1.0)


def nothing_to_learn(n, rng):
    """Ten normal covariates, fair coins for the outcomes and the decisions."""
    X, group = rng.normal(size=(n, 10)), rng.integers(2, size=n)
    cell = (X[:, :5] > 0.0) @ (2 ** np.arange(5))
    return People(X, cell, group, rng.integers(2, size=n) * 1.0, rng.integers(2, size=n) * 1.0)


def faint(n, rng):
    """Four cells with chances .5 + .02 and .5 - .02, the same in both groups; the algorithm is the best rule."""
    cell, group = rng.integers(4, size=n), rng.integers(2, size=n)
    sign = np.where(cell % 2 == 0, 1.0, -1.0)
    y = rng.random(n) < 0.5 + 0.02 * sign
    return People(cell[:, None] / 4.0, cell, group, y * 1.0, (sign > 0.0) * 1.0)


def steps(n, rng):
    """One threshold, flipped outcomes for 30%, the same in both groups; the algorithm is the best rule."""
    u, group = rng.random((n, 2)), rng.integers(2, size=n)
    y = (u[:, 0] > 0.5) ^ (rng.random(n) < 0.3)
    cell = 7 * (7 * u[:, 0]).astype(np.intp) + (7 * u[:, 1]).astype(np.intp)
    return People(u, cell, group, y * 1.0, (u[:, 0] > 0.5) * 1.0)


def clusters_of_noise(n, rng):
    """Edge and noise in clusters of five who share cell and, outside A, the outcome with probability .5."""
    m = n // 5
    unit = np.repeat(np.arange(m), 5)
    A, noise, common = (x[unit] for x in (rng.random(m) < 0.5, rng.integers(50, size=m), rng.random(m) < 0.5))
    group, coin = rng.integers(2, size=n), rng.random(n) < 0.5
    y = np.where(A, group == 0, np.where(rng.random(n) < 0.5, common, coin))
    X = np.column_stack([A, noise / 50.0])
    return People(X, np.where(A, 50, noise), group, y * 1.0, np.full(n, 0.5), unit)


def coins_of_a_group(n, rng, share=0.5, cells=1, features=0):
    """One group is known, 30% of its decisions are wrong; the others are coins, so that their risk is the larger.

    Of these nothing is known by their cells, nor by as many features of 0 and 1 as are asked for.
    """
    group, known = (rng.random(n) < share) * 1, rng.integers(2, size=n)
    coin, noise = rng.integers(2, size=n), rng.integers(cells, size=n)
    decisions = np.where(group == 1, 0.5, known ^ (rng.random(n) < 0.3))
    cell = np.where(group == 1, 2 + noise, known)
    X = np.column_stack([cell, rng.integers(2, size=(n, features)) * group[:, None]])
    return People(X / 4.0, cell, group, np.where(group == 1, coin, known) * 1.0, decisions * 1.0)


MAIN = {"edge and noise": edge_and_noise, "useless covariates": useless}
NOTES = {
    "edge and uniform noise": edge_and_uniform_noise,
    "useless covariates, .9 and .2": lambda n, rng: useless(n, rng, 0.9, 0.2),
    "minority of 5%": best_rule(lambda: hostile.minority(0.05), (-0.8, -0.6)),
    "smooth": best_rule(hostile.smooth, (-0.8, -0.6)),
    "skewed": best_rule(hostile.skewed, (-0.8, -0.6)),
    "four cells": best_rule(four_cells, (-1.0, 0.0)),
    "group nearly determined": best_rule(nearly_determined, (-0.7, -0.7)),
    "perfect for one group": best_rule(perfect_for_r, (-0.9, -0.4)),
}
FRESH = {
    "checkerboard": checkerboard,
    "knife edge": knife_edge,
    "edge and noise, minority of 10%": lambda n, rng: edge_and_noise(n, rng, group_r=0.1),
    "one-sided": one_sided,
    "nothing to learn": nothing_to_learn,
    "faint": faint,
    "steps": steps,
    "clusters of noise": clusters_of_noise,
    "coins of a minority": lambda n, rng: coins_of_a_group(n, rng, 0.15),
    "two cells of a minority": lambda n, rng: coins_of_a_group(n, rng, 0.15, cells=2),
}
HARD = {
    "coins with features": lambda n, rng: coins_of_a_group(n, rng, features=50),
    "coins in two cells": lambda n, rng: coins_of_a_group(n, rng, cells=2),
}
POPULATIONS = MAIN | NOTES | FRESH | HARD


# --- learners: predictions (n, 2) out of the folds of one repetition ------------------------------------------


def cell_means(people, z, fold):
    """Mean of z in the row's cell over the other folds; 0 where there is nobody."""
    k, n_folds, t = int(people.cell.max()) + 1, int(fold.max()) + 1, np.empty_like(z)
    place = people.cell * n_folds + fold
    counts = np.bincount(place, minlength=k * n_folds).reshape(k, -1)
    others = (counts.sum(axis=1, keepdims=True) - counts).ravel()[place]
    for g in range(2):
        sums = np.bincount(place, z[:, g], minlength=k * n_folds).reshape(k, -1)
        t[:, g] = (sums.sum(axis=1, keepdims=True) - sums).ravel()[place] / np.maximum(others, 1)
    return t


def neighbours(people, z, fold, k=25):
    """Mean of z over the nearest 25 rows of other folds; ties in a random but fixed order."""
    X = people.X + 1e-6 * np.random.default_rng(0).random(people.X.shape)
    near = cKDTree(X).query(X, min(4 * k, len(X)))[1][:, 1:]
    usable = fold[near] != fold[:, None]
    usable &= np.cumsum(usable, axis=1) <= k
    return np.einsum("ij,ijg->ig", usable / np.maximum(usable.sum(axis=1, keepdims=True), 1), z[near])


def trees(people, z, fold):
    """A tree of up to 16 leaves for both groups together."""
    t = np.empty_like(z)
    for k in np.unique(fold):
        tree = DecisionTreeRegressor(max_leaf_nodes=16, min_samples_leaf=10, random_state=0)
        t[fold == k] = tree.fit(people.X[fold != k], z[fold != k]).predict(people.X[fold == k])
    return t


def logit(people, z, fold):
    """Logistic regressions of the group, and of the outcome in each group, with a slight ridge penalty."""
    X = np.column_stack([np.ones(len(z)), (people.X - people.X.mean(axis=0)) / people.X.std(axis=0)])
    t = np.empty_like(z)
    for k in np.unique(fold):
        held, kept = fold == k, fold != k
        first = expit(X[held] @ newton(X[kept], (people.group[kept] == 0) * 1.0))
        for g in range(2):
            own = kept & (people.group == g)
            chance = expit(X[held] @ newton(X[own], people.y[own]))
            t[held, g] = (first if g == 0 else 1.0 - first) * (1.0 - 2.0 * chance)
    return t


def newton(X, y, ridge=1.0, steps=6):
    """Coefficients of a penalised logistic regression."""
    beta, penalty = np.zeros(X.shape[1]), ridge * np.eye(X.shape[1])
    penalty[0, 0] = 1e-6
    for _ in range(steps):
        p = expit(X @ beta)
        hessian = (X * (p * (1.0 - p) + 1e-9)[:, None]).T @ X + penalty
        beta = beta + np.linalg.solve(hessian, X.T @ (y - p) - penalty @ beta)
    return beta


def stump(people, z, fold):
    """Means of cells, but for coins the one feature of all that goes with z most, for each group by itself."""
    t, noise = cell_means(people, z, fold), people.cell > 1
    for k in np.unique(fold):
        held, kept = fold == k, fold != k
        X = 8.0 * people.X[kept & noise, 1:] - 1.0
        for g in range(2):
            mean = X.T @ z[kept & noise, g] / len(X)
            j = np.abs(mean).argmax()
            t[held & noise, g] = mean[j] * (8.0 * people.X[held & noise, 1 + j] - 1.0)
    return t


def classes(people, z, fold):
    """Signs of the means of cells."""
    return 0.5 * np.sign(cell_means(people, z, fold))


FAST = {"cell means": cell_means, "nearest neighbours": neighbours, "trees": trees, "logit": logit}
GREEDY = {"stump": stump, "classes": classes}
SLOW = ("factored-boosting", "auto")


# --- tests ----------------------------------------------------------------------------------------------------


def p_value(people, predictions, folds):
    """Robust p-value with predictions (n_rep, n, 2) out of ``folds`` (n,)."""
    dl, t = 1.0 - 2.0 * people.y, np.concatenate(predictions)
    rows = risk_rows(people.y, dl, t, people.group, np.ones(len(dl)), clusters=people.clusters)
    return fan_test(rows, people.decisions, folds, smallest=SMALLEST).p_value


def folds_of(people, n_folds, n_rep, rng):
    """Folds as the package draws them, counted from 0."""
    labels = np.where(people.group == 0, "r", "b")
    sample = make_sample(people.X, people.y, labels, groups=("r", "b"), clusters=people.clusters)
    return make_folds(sample, n_folds, n_rep, rng) - 1


def one_sample(number, n, design):
    """P-values of one sample with one repetition and with three, as one line."""
    population, learner, n_folds = design.split(" | ")
    rng = np.random.default_rng([number, n, *map(ord, design)])
    people = POPULATIONS[population](n, rng)
    line = dict(zip(KEYS, (number, n, design), strict=True))
    seed = int(rng.integers(2**31))
    if learner in SLOW:
        found = with_package(people, learner, int(n_folds), seed)
    else:
        folds = folds_of(people, int(n_folds), N_REP, rng)
        z = (1.0 - 2.0 * people.y)[:, None] * (people.group[:, None] == np.arange(2))
        predictions = np.array([(FAST | GREEDY)[learner](people, z, fold) for fold in folds])
        found = {f"robust, {n_rep}": p_value(people, predictions[:n_rep], folds[0]) for n_rep in (1, N_REP)}
    return pd.DataFrame([line | found])


def with_package(people, learner, n_folds, seed):
    """The same with a learner of the package, by its name."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ff = FairFrontier(learner=learner, n_folds=n_folds, n_boot=199, random_state=seed, groups=("r", "b"))
        labels = np.where(people.group == 0, "r", "b")
        ff.fit(people.X, people.y.astype(int), sensitive_features=labels, clusters=people.clusters)
    t = ff.nuisance_.predictions
    return {f"robust, {n_rep}": p_value(people, t[:n_rep], ff.nuisance_.folds[0]) for n_rep in (1, len(t))}


# --- power, with the proven mode beside -------------------------------------------------------------------------


def flipped(n, rng):
    """The smooth population with the best rule for (-.8, -.6), flipped for 10% of the people."""
    people = best_rule(hostile.smooth, (-0.8, -0.6))(n, rng)
    return People(people.X, people.cell, people.group, people.y, np.abs(people.decisions - (rng.random(n) < 0.1)))


def power_sample(number, n, design):
    """P-values where there is an alternative: one repetition, three, and the proven mode with 5 and 10 folds."""
    rng = np.random.default_rng([number, n, *map(ord, design)])
    people = flipped(n, rng)
    learner = FAST[design.split(" | ")[1]]
    z = (1.0 - 2.0 * people.y)[:, None] * (people.group[:, None] == np.arange(2))
    folds = folds_of(people, 5, N_REP, rng)
    t = np.array([learner(people, z, fold) for fold in folds])
    found = {f"robust, {n_rep}": p_value(people, t[:n_rep], folds[0]) for n_rep in (1, N_REP)}
    for n_folds in (5, 10):
        found[f"sequential, {n_folds}"] = sequential_p_value(people, learner, n_folds, rng)
    return pd.DataFrame([dict(zip(KEYS, (number, n, design), strict=True)) | found])


def published_sample(number, n, design):
    """The same for the published designs with `factored-logit`; the proven mode with a plain logistic regression."""
    name = design.split(" | ")[1]
    rng = np.random.default_rng([number, n, *map(ord, design)])
    X, y, group = make_liu_molinari(n, name, rng)
    sample, seed = make_sample(X, y, group), int(rng.integers(2**31))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        learned = cross_fit(sample, 1.0 - 2.0 * y, "factored-logit", n_rep=N_REP, random_state=seed)
    in_r, in_b = lda_study.success_probabilities(X, name)
    algorithms = {
        "lottery": lda_study.status_quo(name).predict_proba(X)[:, 1],
        "flipped": ((1 - 2 * in_r) + (1 - 2 * in_b) < 0) ^ (rng.random(n) < 0.2),
    }
    found = {}
    for algorithm, decisions in algorithms.items():
        people = People(X.to_numpy(), np.zeros(n, dtype=np.intp), sample.group, y * 1.0, decisions * 1.0)
        for n_rep in (1, N_REP):
            t = learned.predictions[:n_rep]
            found[f"{algorithm}, {n_rep}"] = p_value(people, t, learned.folds[0])
        for n_folds in (5, 10):
            found[f"{algorithm}, sequential, {n_folds}"] = sequential_p_value(people, logit, n_folds, rng)
    return pd.DataFrame([dict(zip(KEYS, (number, n, design), strict=True)) | found])


def sequential_p_value(people, learner, n_folds, rng):
    """The proven test; every tested fold is predicted from all folds before it, a fifth of them is for learning."""
    n, learning = len(people.y), n_folds // 5
    fold, t, shares = rng.permutation(np.arange(n) % n_folds), np.zeros((n, 2)), []
    z = (1.0 - 2.0 * people.y)[:, None] * (people.group[:, None] == np.arange(2))
    for k in range(learning, n_folds):
        rows = np.flatnonzero(fold <= k)
        part = People(*(x[rows] for x in (people.X, people.cell, people.group, people.y, people.decisions)))
        t[fold == k] = learner(part, z[rows], (fold[rows] == k) * 1)[fold[rows] == k]
        shares.append([np.mean(people.group[fold < k] == g) for g in range(2)])
    tested, dl = fold >= learning, 1.0 - 2.0 * people.y
    scores = Scores(people.y[tested], dl[tested], t[tested], people.group[tested], np.ones(tested.sum()))
    sequence = FoldSequence(fold[tested] - learning, np.array(shares), int((~tested).sum()))
    losses = (people.y + people.decisions * dl)[tested][None]
    return sequential_tests(scores, sequence, losses, FIXED, np.random.SeedSequence(int(rng.integers(2**31))))[
        0
    ].p_value


# --- the study --------------------------------------------------------------------------------------------------


def replicate(number, n, design):
    """One line, of size or power."""
    if design.startswith("published"):
        return published_sample(number, n, design)
    line = (power_sample if design.startswith("power") else one_sample)(number, n, design)
    return line.reindex(columns=[*KEYS, *COLUMNS])  # a store has one header


def designs(kind=""):
    """Designs of a kind, with the number of samples asked for: 'main' or 'other'."""
    if kind == "hard":
        found = [("coins with features", "stump", (5, 10, 20)), ("coins in two cells", "classes", (5, 20))]
        return [(f"{name} | {learner} | {k}", "other") for name, learner, folds in found for k in folds]
    if kind == "slow":
        return [(f"{name} | {learner} | 5", "other") for learner in SLOW for name in MAIN]
    main = [(f"{name} | {learner} | {k}", "main") for name in MAIN for learner in FAST for k in (5, 20)]
    other = [(f"{name} | {learner} | 5", "other") for name in NOTES | FRESH for learner in FAST]
    return main + other


def tasks(main, other, kind=""):
    """Tasks in an order in which all designs fill up alike."""
    wanted = {"main": main, "other": other}
    found = [(k, 1000, design) for design, many in designs(kind) for k in range(wanted[many])]
    if not kind:
        found += [
            (k, n, f"power | {learner}") for k in range(other) for n in (500, 1000) for learner in ("logit", "trees")
        ]
    samples = {design: wanted[many] for design, many in designs(kind)}
    return sorted(found, key=lambda task: task[0] / samples.get(task[2], other))


def rates(table, alpha=0.05):
    """Rejection rates by design with their standard errors and the number of samples."""
    columns = [name for name in table if name not in KEYS]
    found = table.melt(KEYS, columns, "test", "p").dropna()
    share = (found["p"] <= alpha).groupby([found["n"], found["design"], found["test"]]).agg(["mean", "count"])
    return share.assign(se=np.sqrt(share["mean"] * (1.0 - share["mean"]) / share["count"]))


def run_published(samples, n_jobs=2, store=None):
    """Power in the published designs; a store of its own, since it has other columns."""
    tasks = [(k, 1000, f"published | {name}") for k in range(samples) for name in ("balanced", "skewed")]
    return run_replications(replicate, tasks, n_jobs, store)


def run_study(main, other, *, kind="", n_jobs=2, store=None):
    """Sizes, and power in the smooth population."""
    return run_replications(replicate, tasks(main, other, kind), n_jobs, store)


def main(store, main_samples="1000", other_samples="200", kind="", n_jobs="1"):
    """Continue a store and print the rates."""
    if kind == "published":
        found = run_published(int(other_samples), int(n_jobs), store)
    else:
        found = run_study(int(main_samples), int(other_samples), kind=kind, n_jobs=int(n_jobs), store=store)
    print(rates(found).unstack("test").round(3).to_string())


if __name__ == "__main__":
    from support import attacks_study  # by its name, so that other processes find it

    attacks_study.main(*sys.argv[1:])
