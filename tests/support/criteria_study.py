"""Monte Carlo study of the test for alternatives by selection rates, error rates and ratios.

One replication draws a sample of a design with known conditional expectations and asks every question (measure by
accuracy, and overall with the share selected kept) about

* nulls: rules that are best for a weight on accuracy and on the spread of the measure: on accuracy alone, halfway to
  the weight at which the spread vanishes, and at that weight, where the groups tie;
* a false null: a score cut at a common threshold that gives weight to a covariate which belongs to the group and not to
  the outcome.

Predictions are those of a learner ("logit", or "auto") with three repetitions, the truth, and two distortions of it
(chances of the group halfway to their mean; chances of the outcome shuffled between a third of the rows).

    cd tests; python -m support.criteria_study 2000 300 STORE.csv          # n, replications; continues a store
    cd tests; python -m support.criteria_study 2000 100 STORE.csv auto     # with the default learner
"""

import sys
import warnings
from dataclasses import replace
from functools import cache, partial

import numpy as np
import pandas as pd
from scipy import stats
from scipy.special import expit

from fairfrontier import FairFrontier
from fairfrontier.data.criteria import read_criteria
from fairfrontier.errors import FairFrontierWarning
from fairfrontier.frontier.asked import ask_criteria, measures_of
from fairfrontier.inference.fan.cells import Refinement, cut_cells
from fairfrontier.inference.fan.evidence import BUDGET
from fairfrontier.inference.fan.forms import folds_of, standing_of
from fairfrontier.inference.fan.questions import criteria_of
from support.study_store import KEYS, run_replications

DESIGNS = ("shifted", "apart")
QUESTIONS = {
    f"{measure} {accuracy}": {"fairness": measure, "accuracy": accuracy}
    for measure in ("selection-rate", "selection-ratio", "true-positive-rate", "false-positive-rate")
    for accuracy in ("overall", "by-group")
}
QUESTIONS |= {
    "risk overall": {"fairness": "risk", "accuracy": "overall"},
    "selection-rate kept": {"fairness": "selection-rate", "accuracy": "overall", "keep": "selection-rate"},
}
NULLS = ("accurate", "halfway", "equal")
DISTORTIONS = ("true", "flat group", "shuffled outcome")


def draw(design, n, rng):
    """Covariates, of which the last belongs to the group, group, outcome, P(G = 1 | x), and P(Y = 1 | x, g) (n, 2)."""
    x = rng.normal(size=(n, 3))
    chance = expit(1.6 * x[:, 2] + 0.5 * x[:, 1] - 0.3)
    group = (rng.random(n) < chance).astype(int)
    slopes = {"shifted": [[1.2, 0.8], [1.2, 0.8]], "apart": [[1.6, 0.2], [0.6, 1.1]]}[design]
    positive = np.column_stack(
        [expit(x[:, :2] @ slope - level) for slope, level in zip(slopes, (0.5, 0.1), strict=True)]
    )
    y = (rng.random(n) < positive[np.arange(n), group]).astype(float)
    return x, group, y, chance, positive


def vectors(question, chance, positive, size):
    """What selecting x adds to the accuracy criteria (n, A) and to the measure in each group (n, 2)."""
    among = np.column_stack([1.0 - chance, chance])
    loss = among * (1.0 - 2.0 * positive)
    share = {"true-positive-rate": positive, "false-positive-rate": 1.0 - positive, "risk": 1.0 - 2.0 * positive}
    own = among * share.get(question["fairness"], 1.0)
    who = {"true-positive-rate": positive, "false-positive-rate": 1.0 - positive}.get(question["fairness"], 1.0)
    total = (among * who).mean(axis=0) if size is None else size
    overall = loss.sum(axis=1, keepdims=True)
    return (loss / among.mean(axis=0) if question["accuracy"] == "by-group" else overall), own / total, total


@cache
def best_weights(design, name):
    """Weights lam (3,) on the spread, its sign and its ratio, of the three null rules, from a large population."""
    question = QUESTIONS[name]
    _, _, _, chance, positive = draw(design, 100_000, np.random.default_rng(1))
    accuracy, v, total = vectors(question, chance, positive, None)
    among = np.column_stack([1.0 - chance, chance])
    base = (among * positive).mean(axis=0) / among.mean(axis=0) if question["fairness"] == "risk" else np.zeros(2)
    mean = accuracy.mean(axis=1)

    def measure(lam, g, ratio):
        a = mean + lam * (ratio * v[:, g] - v[:, 1 - g]) < 0.0
        return base + (v * a[:, None]).mean(axis=0)

    first = measure(0.0, 0, 1.0)
    g = int(first.argmax())
    low, high = 0.0, 2.0
    for _ in range(20):
        middle = (low + high) / 2.0
        own = measure(middle, g, 1.0)
        low, high = (middle, high) if own[g] > own[1 - g] else (low, middle)
    ratio = 1.0
    for _ in range(10 if question["fairness"] == "selection-ratio" else 0):  # with the ratio of the rule itself
        own = measure(0.5 * low, g, ratio)
        ratio = float(own[1 - g] / own[g])
    return g, total, [(0.0, 1.0), (0.5 * low, ratio), (low, 1.0)]


def null_rules(design, name, chance, positive):
    """Decisions of the rules that have no alternative."""
    g, total, weights = best_weights(design, name)
    accuracy, v, _ = vectors(QUESTIONS[name], chance, positive, total)
    mean = accuracy.mean(axis=1)
    return {
        kind: (mean + lam * (ratio * v[:, g] - v[:, 1 - g]) < 0.0).astype(float)
        for kind, (lam, ratio) in zip(NULLS, weights, strict=True)
    }


def distorted(chance, positive, how, rng):
    if how == "flat group":
        chance = 0.5 * chance + 0.5 * chance.mean()
    elif how == "shuffled outcome":
        at = rng.random(len(chance)) < 1.0 / 3.0
        positive = positive.copy()
        positive[at] = rng.permutation(positive[at])
    among = np.column_stack([1.0 - chance, chance])
    return np.hstack([among * (1.0 - 2.0 * positive), among])


def p_values(fit, question, algorithms):
    """P-values of algorithms, as `test_lda` has them, without feasibility and alternatives, which take longer."""
    chosen = read_criteria(**question)
    measures = measures_of(chosen, fit.sample, fit.row_losses)
    asked = ask_criteria(
        chosen,
        fit.sample,
        fit.row_losses,
        fit.nuisance.predictions,
        measures=measures,
        group=fit.nuisance.group_probabilities,
        predict=None,
    )
    fit = replace(fit, asked=asked)
    rows, folds, aims, found = criteria_of(fit), folds_of(fit), asked.aims(2), {}
    for name, a in algorithms.items():
        fan, standing = standing_of(rows, a, folds, aims)
        budget = BUDGET.get(fan.cones.shape[1], max(BUDGET.values()))
        found[name] = stats.norm.sf(cut_cells(rows, standing, fan, Refinement(budget)).slacks().t.min())
    return found


def replicate(replication, n, design, learner="logit"):
    rng = np.random.default_rng([replication, n, DESIGNS.index(design), 24])
    x, group, y, chance, positive = draw(design, n, rng)
    threshold = (x @ [1.0, 0.7, 0.9] > 0.2).astype(float)
    options = {"groups": (0, 1), "n_boot": 199, "random_state": replication, "accuracy": "overall", "n_folds": 5}
    fits = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FairFrontierWarning)
        own = {"logit": {"learner": "factored-logit"}}.get(learner, {})
        fits[learner] = FairFrontier(**options, **own).fit(x, y, sensitive_features=group)
        for how in DISTORTIONS if learner == "logit" else ():
            t = distorted(chance, positive, how, rng)
            fits[how] = FairFrontier(**options).fit(None, y, sensitive_features=group, external_nuisance=t)
        line = {}
        for name, question in QUESTIONS.items():
            algorithms = null_rules(design, name, chance, positive) | {"threshold": threshold}
            for how, ff in fits.items():
                found = p_values(ff.fit_, question, algorithms)
                line |= {f"{name}: {kind}, {how}": p for kind, p in found.items()}
    return pd.DataFrame([dict(zip(KEYS, (replication, n, design), strict=True)) | line])


def rates(table, alpha=0.05):
    """Rejection rates, one row for each question, algorithm and predictions; a column for each design."""
    tests = [name for name in table.columns if name not in KEYS]
    return table.groupby(["n", "design"])[tests].agg(lambda p: (p <= alpha).mean()).T


def study(n, replications, store, learner="logit", n_jobs=2):
    tasks = [(r, n, design) for r in range(replications) for design in DESIGNS]
    return run_replications(partial(replicate, learner=learner), tasks, n_jobs, store)


def main(arguments):
    found = study(int(arguments[0]), int(arguments[1]), arguments[2], *arguments[3:4])
    table = rates(found)
    table.index = pd.MultiIndex.from_tuples(
        [(name.split(": ")[0], *name.split(": ")[1].split(", ")) for name in table.index]
    )
    with pd.option_context("display.max_rows", None, "display.width", 160):
        print(table.unstack(2).round(3))
    print(f"{len(found)} lines; standard error of a rate of .05: {np.sqrt(0.05 * 0.95 / (len(found) / 2)):.3f}")


if __name__ == "__main__":
    from support.criteria_study import main as of_this_module  # workers find cached functions by the module's own name

    of_this_module(sys.argv[1:])
