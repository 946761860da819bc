"""Monte Carlo study of the LDA tests: sizes under nulls, also with distorted learners, and power.

One replication draws a sample of a design, learns the nuisance functions once, and tests on the same draws:

* nulls: the population points R and B, and the optimal rules of six directions, whose decisions follow from the
  true conditional expectations; each with the learned nuisances and with one of their components halved,
  quartered, shuffled between rows or replaced by its mean;
* false nulls: (R + B) / 2, the logistic lottery of the published study, and the optimal utilitarian rule with 20%
  of its decisions flipped.

    cd tests; python -m support.lda_study 1000 1000 STORE.csv        # n, replications
    cd tests; python -m support.lda_study 1000 300 OTHER.csv auto    # `FairFrontier` with this learner, else as it is
    cd tests; python -m support.lda_study 1000 300 CODES.csv auto codes  # a design with integer codes of categories
"""

import sys
import warnings
from functools import cache, partial

import numpy as np
import pandas as pd
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from fairfrontier import FairFrontier
from fairfrontier.bootstrap.draws import DrawingContext
from fairfrontier.data.sample import make_sample
from fairfrontier.datasets import liu_molinari_truth, make_liu_molinari
from fairfrontier.frontier.plane import unit_circle
from fairfrontier.frontier.support import build_support_function, make_scores
from fairfrontier.inference.lda.evidence import lda_evidence
from fairfrontier.learning.cross_fitting import cross_fit
from support import coded_design
from support.study_store import KEYS, run_replications

DIRECTIONS = unit_circle(6, np.pi, 1.5 * np.pi, endpoint=True)
UTILITARIAN = np.array([-1.0, -1.0])
DISTORTIONS = ("none", "halved", "quartered", "shuffled", "mean")


def draw(n, design, rng):
    """Rows of a design: covariates, outcome and group."""
    return coded_design.make_coded(n, rng) if design == "codes" else make_liu_molinari(n, design, rng)


def population(design):
    """Population values of a design."""
    return coded_design.coded_truth() if design == "codes" else liu_molinari_truth(design)


def success_probabilities(X, design):
    if design == "codes":
        return coded_design.success_probabilities(X)
    x = X.to_numpy()
    if design == "balanced":
        return expit(x[:, 0] + x[:, 1] + 0.5 * x[:, 2]), expit(-x[:, 0] - 0.5 * x[:, 1] + x[:, 3])
    return expit(2 * (x[:, 0] + x[:, 1] + x[:, 2])), expit(0.7 * (x[:, 0] + 0.5 * x[:, 1] + 0.6 * x[:, 3]))


@cache
def status_quo(design=None):
    """The logistic regression trained once on 5,000 rows of each published design, or of the one with codes."""
    if design == "codes":
        X, y, _ = coded_design.make_coded(5000, np.random.default_rng([7, 2]))
        return LogisticRegression(C=np.inf, max_iter=1000).fit(X, y)
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


NAMES = (*(f"optimal {k + 1}" for k in range(6)), "logit lottery", "flipped", "R", "B", "(R+B)/2")
"""Hypotheses of a replication: algorithms given by decisions, and known risks."""


def hypotheses(X, design, rng):
    """Decisions (8, n) and known risks (3, 2) of `NAMES`."""
    truth = population(design)
    in_r, in_b = success_probabilities(X, design)
    rules = [q[0] * (1 - 2 * in_r) + q[1] * (1 - 2 * in_b) > 0 for q in (*DIRECTIONS, UTILITARIAN)]
    flipped = rules.pop() ^ (rng.random(len(in_r)) < 0.2)
    decisions = np.array([*rules, status_quo(design).predict_proba(X)[:, 1], flipped], dtype=float)
    return decisions, np.array([truth.R, truth.B, (truth.R + truth.B) / 2])


def draw_replication(number, n, design):
    """Rows of a replication and its generator."""
    rng = np.random.default_rng([n, number, ("balanced", "skewed", "codes").index(design)])
    return draw(n, design, rng), rng


def replicate(number, n, design, n_boot=500):
    """One replication with one repetition of `factored-logit`: rows (distortion, hypothesis, method, p-value)."""
    (X, y, group), rng = draw_replication(number, n, design)
    sample = make_sample(X, y, group)
    l0 = y.astype(float)
    dl = 1.0 - 2.0 * l0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        t = cross_fit(sample, dl, "factored-logit", random_state=int(rng.integers(2**31))).predictions[0]
    decisions, fixed = hypotheses(X, design, rng)
    found = []
    for how in DISTORTIONS:
        for column in (0,) if how == "none" else (0, 1):
            scores = make_scores(l0, dl, distort(t, how, column, rng), sample.group, sample.weight)
            context = DrawingContext(build_support_function(scores), n_boot, np.random.SeedSequence([number, 3]))
            label = how if how == "none" else f"{how} {'rb'[column]}"
            for name, e in zip(NAMES, lda_evidence(context, l0 + decisions * dl, fixed, method="sharp"), strict=True):
                found.append((number, n, design, label, name, "robust", e.robust_p_value))
                if how == "none":
                    found.append((number, n, design, label, name, "sharp", e.p_value))
    return found


def replicate_with_package(learner, number, n, design, n_boot=500):
    """The same rows with the defaults of `FairFrontier`, repetitions among them; predictions are left as they are."""
    (X, y, group), rng = draw_replication(number, n, design)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ff = FairFrontier(learner=learner, n_boot=n_boot, random_state=int(rng.integers(2**31)))
        ff.fit(X, y, sensitive_features=group)
        decisions, fixed = hypotheses(X, design, rng)
        algorithms = dict(zip(NAMES, decisions, strict=False))
        known = dict(zip(NAMES[len(algorithms) :], fixed, strict=True))
        tests = dict(ff.test_lda(algorithms, method="sharp", randomised=True)) | dict(
            ff.test_lda(risks=known, method="sharp")
        )
    return [
        (number, n, design, "none", name, method, p)
        for name, test in tests.items()
        for method, p in (("robust", test.robust_p_value), ("sharp", test.p_value))
    ]


COLUMNS = (*KEYS, "nuisance", "hypothesis", "method", "p_value")


def one_replication(number, n, design):
    """One replication as one line."""
    return one_line(pd.DataFrame(replicate(number, n, design), columns=COLUMNS))


def one_replication_of(learner, number, n, design):
    """One replication of the package with another learner as one line."""
    return one_line(pd.DataFrame(replicate_with_package(learner, number, n, design), columns=COLUMNS))


def run_study(n, replications, n_jobs=2, store=None, learner=None, designs=("balanced", "skewed")):
    """All replications of the designs: rejection rates at 5% by design, nuisance, hypothesis and method."""
    tasks = [(k, n, design) for k in range(replications) for design in designs]
    one = one_replication if learner is None else partial(one_replication_of, learner)
    return rejection_rates(run_replications(one, tasks, n_jobs, store))


def one_line(rows):
    """One line per replication and design, one column per nuisance, hypothesis and method."""
    label = rows["nuisance"] + " | " + rows["hypothesis"] + " | " + rows["method"]
    wide = rows.assign(label=label).pivot(index=KEYS, columns="label", values="p_value").round(4)
    return wide.reset_index().rename_axis(columns=None)


def rejection_rates(wide, alpha=0.05):
    """Share of p-values at or below alpha."""
    rates = (wide.drop(columns=["replication", "n"]).set_index("design") <= alpha).groupby("design").mean().stack()
    parts = [(design, *label.split(" | ")) for design, label in rates.index]
    rates.index = pd.MultiIndex.from_tuples(parts, names=["design", "nuisance", "hypothesis", "method"])
    return rates.reorder_levels(["design", "nuisance", "method", "hypothesis"]).sort_index()


def main(n, replications, store, learner=None, designs="balanced,skewed", n_jobs=2):
    """Continue a store up to a number of replications and print the rejection rates."""
    found = run_study(int(n), int(replications), int(n_jobs), store, learner, tuple(designs.split(",")))
    print(found.unstack().round(3).to_string())


if __name__ == "__main__":
    from support import lda_study  # by its name, so that other processes find it

    lda_study.main(*sys.argv[1:])
