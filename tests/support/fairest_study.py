"""Monte Carlo study of the (R, B) set, the group-skew test and the distance to the fairest point.

One replication draws a sample of a design, learns the nuisance functions with `factored-logit`, refits for the regret,
and asks on the same draws how often the true (R, B) is left out, weak skew rejected, and the true squared distance to F
not covered, for R, B, (R + B) / 2, the logistic lottery, F itself and points at F + c / sqrt(n). Designs: the two of
the paper, and a third, ``mixed``, in which the group depends on the covariates: a check on the two.

    cd tests; python -m support.fairest_study 1000 1000 balanced,skewed regret STORE.csv  # or: plain, without refits
"""

import sys
import warnings
from dataclasses import dataclass
from functools import cache

import numpy as np
import pandas as pd
from scipy.special import expit

from fairfrontier.bootstrap.draws import DrawingContext
from fairfrontier.data.sample import make_sample
from fairfrontier.datasets import liu_molinari_truth, make_liu_molinari
from fairfrontier.frontier.regret import estimate_regret
from fairfrontier.frontier.sets import best_points
from fairfrontier.frontier.support import build_support_function, make_scores
from fairfrontier.inference.best_points import best_point_tests
from fairfrontier.inference.distance.estimates import fairest_evidence
from fairfrontier.inference.distance.metrics import read_metric
from fairfrontier.inference.distance.result import _union
from fairfrontier.inference.group_skew import skew_points
from fairfrontier.inference.skew_gaps import skew_gaps
from fairfrontier.inference.skew_search import closest_pair
from fairfrontier.learning.cross_fitting import cross_fit
from fairfrontier.learning.learners import resolve_learner
from support.codes import group_codes
from support.lda_study import status_quo
from support.study_store import run_replications

METRIC = read_metric("sqeuclidean")
NEAR = {"F": (0.0, 0.0), "F+(1,0)": (1.0, 0.0), "F+(1,1)": (1.0, 1.0), "F+(2,-1)": (2.0, -1.0)}


@dataclass(frozen=True)
class Truth:
    R: np.ndarray
    B: np.ndarray
    F: np.ndarray
    lottery: np.ndarray


def mixed_probabilities(x):
    """P(G = r | x), P(Y = 1 | x, r), P(Y = 1 | x, b) of the third design."""
    return (
        expit(-0.5 + 0.7 * x[:, 1]),
        expit(0.3 + 1.2 * x[:, 0] - 0.6 * x[:, 1] + 0.5 * x[:, 2]),
        expit(-0.2 + 0.5 * x[:, 0] + 0.9 * x[:, 3]),
    )


def make_mixed(n, rng):
    x = rng.normal(size=(n, 10))
    p, in_r, in_b = mixed_probabilities(x)
    is_r = rng.random(n) < p
    y = (rng.random(n) < np.where(is_r, in_r, in_b)).astype(int)
    return pd.DataFrame(x, columns=[f"x{j}" for j in range(10)]), y, is_r.astype(int)


def lottery(X, design):
    """Probabilities of the status quo: the published logit, or a fixed one in the third design."""
    if design == "mixed":
        return expit(0.2 + 0.8 * X["x0"].to_numpy() + 0.3 * X["x3"].to_numpy())
    return status_quo().predict_proba(X)[:, 1]


@cache
def truth_of(design, n=1_000_000):
    rng = np.random.default_rng(12345)
    if design != "mixed":
        X, y, group = make_liu_molinari(n, design, rng)
        loss = y + lottery(X, design) * (1 - 2 * y)
        known = liu_molinari_truth(design)
        return Truth(known.R, known.B, known.F, np.array([loss[group == 1].mean(), loss[group == 0].mean()]))
    # every x enters once for each group, with the group's probability as weight and expected losses
    x = rng.normal(size=(n, 10))
    p, in_r, in_b = mixed_probabilities(x)
    t = np.column_stack([p * (1 - 2 * in_r), (1 - p) * (1 - 2 * in_b)])
    l0, weight = np.concatenate([in_r, in_b]), np.concatenate([p, 1 - p])
    is_r = np.repeat([True, False], n)
    points = best_points(
        build_support_function(make_scores(l0, 1 - 2 * l0, np.vstack([t, t]), group_codes(is_r), weight)).estimate
    )
    a = np.tile(lottery(pd.DataFrame(x, columns=[f"x{j}" for j in range(10)]), design), 2)
    loss = l0 + a * (1 - 2 * l0)
    pair = [np.average(loss[group], weights=weight[group]) for group in (is_r, ~is_r)]
    return Truth(points.R, points.B, points.F, np.array(pair))


def replicate(number, n, design, *, regret, n_boot=500, n_refits=20):
    """One replication as one line."""
    rng = np.random.default_rng([n, number, len(design), 4])
    X, y, group = make_mixed(n, rng) if design == "mixed" else make_liu_molinari(n, design, rng)
    truth, sample, l0 = truth_of(design), make_sample(X.to_numpy(), y, group), np.asarray(y, dtype=float)
    dl, learner = 1.0 - 2.0 * l0, resolve_learner("factored-logit")
    line = {"replication": number, "n": n, "design": design}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        nuisance = cross_fit(sample, dl, learner, random_state=int(rng.integers(2**31)))
        function = build_support_function(make_scores(l0, dl, nuisance.predictions[0], sample.group, sample.weight))
        corrections = {"": None}
        if regret:
            seed = np.random.SeedSequence([number, 6])
            found = estimate_regret(sample, dl, learner, nuisance, (function,), n_refits=n_refits, seed=seed)
            corrections["regret"] = found
    losses = (l0 + lottery(X, design) * dl)[None]
    middle = (truth.R + truth.B) / 2.0
    points = {"R": truth.R, "B": truth.B, "mid": middle}
    points |= {name: truth.F + np.array(c) / np.sqrt(n) for name, c in NEAR.items()}
    names, pairs = ["e*", *points], [truth.lottery, *points.values()]
    for label, correction in corrections.items():
        context = DrawingContext(function, n_boot, np.random.SeedSequence([number, 5]), None, correction)
        suffix = f" {label}" if label else ""
        skew = skew_points(context, "sharp")
        (t_r, d_r), (t_b, d_b) = skew[0].test(truth.R[None]), skew[1].test(truth.B[None])
        line[f"(R,B) sharp{suffix}"] = (1 + np.sum(d_r + d_b >= t_r + t_b)) / (1 + n_boot)
        line[f"skew sharp{suffix}"] = max(gap.p_value for gap in skew_gaps(context))
        kinds = {"sharp": ("sharp", False)}
        if not label:
            exact = best_point_tests(context, truth.R[None], truth.B[None], groups=(1, 0), alpha=0.05)
            line["(R,B) paper"] = float(exact.p_value[0])
            line["skew paper"] = closest_pair(*skew_points(context, "paper")).p_value
            kinds |= {"paper": ("paper", False), "paper-kinks": ("paper", True)}
        for kind, (method, kinks) in kinds.items():
            evidence = fairest_evidence(context, losses, np.array(pairs[1:]), method, kinks=kinks)
            line[f"F {kind}{suffix}"] = float(evidence.point.mean())
            for j, (name, pair) in enumerate(zip(names, pairs, strict=True)):
                low, high = _union(evidence.distance_parts(METRIC, j, 0.05))
                true = float(METRIC.between(pair, truth.F))
                line[f"out {kind}{suffix} {name}"] = int(not low - 1e-12 <= true <= high)
                line[f"length {kind}{suffix} {name}"] = high - low
    return pd.DataFrame([line]).round(6)


def with_regret(number, n, design):
    return replicate(number, n, design, regret=True)


def without_regret(number, n, design):
    return replicate(number, n, design, regret=False)


def run_study(n, replications, designs=("balanced", "skewed"), regret=True, n_jobs=2, store=None):
    """All replications as a table with one line each."""
    tasks = [(k, n, design) for k in range(replications) for design in designs]
    return run_replications(with_regret if regret else without_regret, tasks, n_jobs, store)


def shares(table, level=0.05):
    """Shares of pairs left out and of distances not covered, mean lengths and mean F, by design."""
    values = table.drop(columns=["replication", "n"]).set_index("design")
    tests = [c for c in values if c.startswith(("(R,B)", "skew"))]
    values[tests] = (values[tests] <= level).astype(float)
    return values.groupby("design").mean().T


def main(n, replications, designs, regret, store, n_jobs="2"):
    """Continue a store up to a number of replications and print the shares."""
    table = run_study(int(n), int(replications), tuple(designs.split(",")), regret == "regret", int(n_jobs), store)
    print(shares(table).round(4).to_string())


if __name__ == "__main__":
    from support import fairest_study  # by its name, so that other processes find it

    fairest_study.main(*sys.argv[1:])
