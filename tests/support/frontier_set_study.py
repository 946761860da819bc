"""Monte Carlo study of the confidence set of the frontier, of best points and of distances with learned nuisances.

One replication learns in three repetitions of five folds and asks, on the same draws, whether the true R, B, F and M
(the point that minimises the sum of the risks) are left out of the set, whether the pair (R, B) is, and whether the
squared distances of R, B and M to F are missed: with the draws that allow for learned rules ("allowed"), with those
that do not ("held"), and with those of one repetition ("one"), which is how it was before. Designs: the paper's skewed
one with 20 covariates, and of the hostile ones the skewed one and the minority of 5%, with 2 covariates. Learners:
"logit", plain logistic regressions, or a preset.

    cd tests; python -m support.frontier_set_study 200 STORE.csv logit  # samples; a later run continues the store
"""

import sys
import warnings
from dataclasses import replace
from functools import cache, partial

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression

from fairfrontier.bootstrap.draws import DrawingContext
from fairfrontier.data.sample import make_sample
from fairfrontier.datasets import liu_molinari_truth, make_liu_molinari
from fairfrontier.frontier.sets import fa_frontier
from fairfrontier.frontier.support import build_support_function, make_scores, stack_repetitions
from fairfrontier.inference.best_points import best_point_tests
from fairfrontier.inference.distance.estimates import fairest_evidence
from fairfrontier.inference.distance.metrics import read_metric
from fairfrontier.inference.points import PointPValues, frontier_process
from fairfrontier.inference.regions import frontier_region, region_box
from fairfrontier.learning.cross_fitting import cross_fit
from fairfrontier.learning.learners import resolve_learner
from support.hostile import minority, skewed
from support.quick import FEW
from support.study_store import run_replications

DESIGNS = ("skewed, 20 covariates", "skewed, 2 covariates", "minority 5%")
SIZES = (500, 1000)
N_FOLDS, N_REP = 5, 3
WITH_AREA = 3
"""So many replications also measure the areas of the sets."""
SUM = np.array([-1.0, -1.0])
METRIC = read_metric("sqeuclidean")


@cache
def population(design):
    return skewed() if design.startswith("skewed") else minority(0.05)


@cache
def truth(design):
    """True R, B, F and M (4, 2)."""
    if design == DESIGNS[0]:
        known = liu_molinari_truth("skewed")
        return np.vstack([known.R, known.B, known.F, known.support_set(SUM)])
    known = population(design)
    return np.vstack(
        [known.points(np.array([[-1.0, 0.0], [0.0, -1.0]])), np.full(2, known.fairest()), known.points(SUM)]
    )


def sample_of(design, n, rng):
    """Covariates, outcomes and group codes."""
    if design == DESIGNS[0]:
        X, y, group = make_liu_molinari(n, "skewed", rng)
        return X.to_numpy(), y.astype(float), 1 - group
    known = population(design)
    cells, group, y = known.sample(n, rng)
    return known.x[cells], y, group


def chances(x, y, at):
    """P(y = 1) at rows ``at`` from a logistic regression, or the smoothed mean where it cannot be fitted."""
    if len(y) == 0 or y.min() == y.max():
        return np.full(len(at), (y.sum() + 0.5) / (len(y) + 1.0))
    return LogisticRegression(C=1.0).fit(x, y).predict_proba(at)[:, 1]


def logit_pairs(x, y, group, rng):
    """Out-of-fold pairs (n, 2) of plain logistic regressions."""
    fold, t = rng.permutation(len(y)) % N_FOLDS, np.empty((len(y), 2))
    for k in range(N_FOLDS):
        seen, at = fold != k, x[fold == k]
        own = chances(x[seen], (group[seen] == 0).astype(int), at)
        for g, share in enumerate((own, 1.0 - own)):
            rows = seen & (group == g)
            t[fold == k, g] = share * (1.0 - 2.0 * chances(x[rows], y[rows], at))
    return t


def learn(learner, x, y, group, rng):
    """Out-of-fold pairs (N_REP, n, 2)."""
    if learner == "logit":
        return np.array([logit_pairs(x, y, group, rng) for _ in range(N_REP)])
    options = FEW if learner == "factored-logit" else {}
    sample = make_sample(x, y, group)
    seed = int(rng.integers(2**31))
    return cross_fit(
        sample, 1.0 - 2.0 * y, resolve_learner(learner, **options), n_rep=N_REP, random_state=seed
    ).predictions


def area(context, process):
    curve = fa_frontier(context.function.estimate, context.function.n_obs, plug_in=context.function.plug_in()).points
    box = region_box(curve, context.function)
    test = PointPValues(process)
    n_boot = context.n_boot
    return frontier_region(
        "fairness-accuracy", test, curve, box, groups=(0, 1), alpha=0.05, n_boot=n_boot, levels=2
    ).area


def replicate(number, n, design, learner="logit", n_boot=199):
    """P-values of the true points, whether distances are missed, and areas, in one sample."""
    rng = np.random.default_rng([number, n, len(design), 21])
    x, y, group = sample_of(design, n, rng)
    line, points = {"replication": number, "n": n, "design": design}, truth(design)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pairs = learn(learner, x, y, group, rng)
    scores = [make_scores(y, 1.0 - 2.0 * y, t, group.astype(np.intp), np.ones(n)) for t in pairs]
    stacked = build_support_function(stack_repetitions(scores))
    allowed = DrawingContext(stacked, n_boot, np.random.SeedSequence([number, 5]), 1, None, N_FOLDS)
    one = replace(allowed, function=build_support_function(scores[0]), n_folds=0)
    for how, context in (("allowed", allowed), ("held", replace(allowed, n_folds=0)), ("one", one)):
        process = frontier_process(context, "fairness-accuracy", 500)
        line |= {f"{how} {name}": p for name, p in zip("RBFM", PointPValues(process)(points), strict=True)}
        tests = best_point_tests(context, points[:1], points[1:2], groups=(0, 1), alpha=0.05)
        line[f"{how} (R, B)"] = float(tests.p_value[0])
        evidence = fairest_evidence(context, np.empty((0, context.function.scores.n_rows)), points, "sharp")
        for j, name in ((0, "R"), (1, "B"), (2, "F"), (3, "M")):
            parts = [part for part in evidence.distance_parts(METRIC, j, 0.05).values() if part is not None]
            low, high = (min(p[0] for p in parts), max(p[1] for p in parts)) if parts else (np.nan, np.nan)
            true = float(METRIC.between(points[j], points[2]))
            line[f"{how} far {name}"] = int(not low - 1e-12 <= true <= high + 1e-12)
            line[f"{how} long {name}"] = high - low
        line[f"{how} area"] = area(context, process) if number < WITH_AREA and how != "held" else np.nan
    return pd.DataFrame([line]).round(6)


def rates(table, level=0.05):
    """Shares of samples that leave points and pairs out or miss distances; mean lengths and areas."""
    values = table.drop(columns="replication").set_index(["design", "n"])
    tests = [
        c for c in values if c.endswith((" R", " B", " F", " M", "(R, B)")) and " far " not in c and " long " not in c
    ]
    values[tests] = (values[tests] <= level).astype(float)
    by = values.groupby(["design", "n"])
    return by.mean().assign(samples=by.size())


def main(samples, store, learner="logit", designs=None, sizes="500,1000"):
    """Continue a store, one per learner, up to a number of samples and print the rates."""
    chosen = DESIGNS if designs is None else designs.split(";")
    tasks = [(k, int(n), d) for k in range(int(samples)) for n in sizes.split(",") for d in chosen]
    found = run_replications(partial(replicate, learner=learner), tasks, 1, store)
    print(rates(found).round(4).T.to_string())


if __name__ == "__main__":
    from support import frontier_set_study  # by its name, so that other processes find it

    frontier_set_study.main(*sys.argv[1:])
