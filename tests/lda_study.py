"""Monte Carlo study of the LDA tests: sizes under nulls, also with distorted learners, and power.

One replication draws a sample of a design, learns the nuisance functions once, and tests on the same draws:

* nulls: the population points R and B, and the optimal rules of six directions, whose decisions follow from the
  true conditional expectations; each with the learned nuisances and with one of their components halved,
  quartered, shuffled between rows or replaced by its mean;
* false nulls: (R + B) / 2, the logistic lottery of the published study, and the optimal utilitarian rule with 20%
  of its decisions flipped.
"""

import warnings

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from fairfrontier.bootstrap import DrawingContext
from fairfrontier.data import make_sample
from fairfrontier.datasets import liu_molinari_truth, make_liu_molinari
from fairfrontier.geometry import unit_circle
from fairfrontier.inference.lda import lda_evidence
from fairfrontier.nuisance import cross_fit
from fairfrontier.support import build_support_function, make_scores

DIRECTIONS = unit_circle(6, np.pi, 1.5 * np.pi, endpoint=True)
UTILITARIAN = np.array([-1.0, -1.0])
DISTORTIONS = ("none", "halved", "quartered", "shuffled", "mean")


def success_probabilities(X, design):
    x = X.to_numpy()
    if design == "balanced":
        return expit(x[:, 0] + x[:, 1] + 0.5 * x[:, 2]), expit(-x[:, 0] - 0.5 * x[:, 1] + x[:, 3])
    return expit(2 * (x[:, 0] + x[:, 1] + x[:, 2])), expit(0.7 * (x[:, 0] + 0.5 * x[:, 1] + 0.6 * x[:, 3]))


def status_quo():
    """The logistic regression trained once on 5,000 rows of each design."""
    one, other = make_liu_molinari(5000, "balanced", [7, 0]), make_liu_molinari(5000, "skewed", [7, 1])
    model = LogisticRegression(C=np.inf, max_iter=1000)
    return model.fit(pd.concat([one.X, other.X]), np.concatenate([one.y, other.y]))


def distort(t, how, column, rng):
    t = t.copy()
    if how == "halved":
        t[:, column] *= 0.5
    elif how == "quartered":
        t[:, column] *= 0.25
    elif how == "shuffled":
        t[:, column] = rng.permutation(t[:, column])
    elif how == "mean":
        t[:, column] = t[:, column].mean()
    return t


def replicate(number, n, design, model, learner="factored-logit", n_boot=500):
    """One replication; returns rows (distortion, hypothesis, method, p-value)."""
    rng = np.random.default_rng([n, number, design == "skewed"])
    X, y, group = make_liu_molinari(n, design, rng)
    truth = liu_molinari_truth(design)
    sample = make_sample(X, y, group)
    l0 = y.astype(float)
    dl = 1.0 - 2.0 * l0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        t = cross_fit(sample, dl, learner, random_state=int(rng.integers(2**31))).predictions[0]
    in_r, in_b = success_probabilities(X, design)
    rules = [q[0] * (1 - 2 * in_r) + q[1] * (1 - 2 * in_b) > 0 for q in DIRECTIONS]
    utilitarian = UTILITARIAN[0] * (1 - 2 * in_r) + UTILITARIAN[1] * (1 - 2 * in_b) > 0
    flipped = utilitarian ^ (rng.random(n) < 0.2)
    decisions = np.array([*rules, model.predict_proba(X)[:, 1], flipped], dtype=float)
    names = [*[f"optimal {k + 1}" for k in range(6)], "logit lottery", "flipped", "R", "B", "(R+B)/2"]
    fixed = np.array([truth.R, truth.B, (truth.R + truth.B) / 2])
    found = []
    for how in DISTORTIONS:
        for column in (0,) if how == "none" else (0, 1):
            scores = make_scores(l0, dl, distort(t, how, column, rng), sample.is_r, sample.weight)
            context = DrawingContext(build_support_function(scores), n_boot, np.random.SeedSequence([number, 3]))
            label = how if how == "none" else f"{how} {'rb'[column]}"
            for name, e in zip(names, lda_evidence(context, l0 + decisions * dl, fixed, method="sharp"), strict=True):
                found.append((number, n, design, label, name, "robust", e.robust_p_value))
                if how == "none":
                    found.append((number, n, design, label, name, "sharp", e.p_value))
    return found


COLUMNS = ("replication", "n", "design", "nuisance", "hypothesis", "method", "p_value")


def run_study(n, replications, n_jobs=2):
    """All replications of both designs: rejection rates at 5% by design, nuisance, hypothesis and method."""
    model = status_quo()
    tasks = [(number, design) for number in range(replications) for design in ("balanced", "skewed")]
    found = Parallel(n_jobs=n_jobs)(delayed(replicate)(number, n, design, model) for number, design in tasks)
    table = pd.DataFrame([row for rows in found for row in rows], columns=COLUMNS)
    return rejection_rates(table)


def rejection_rates(table, alpha=0.05):
    """Share of p-values at or below alpha."""
    rejected = table.assign(rejected=table["p_value"] <= alpha)
    return rejected.groupby(["design", "nuisance", "method", "hypothesis"])["rejected"].mean()
