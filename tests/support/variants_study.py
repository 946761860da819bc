"""What else brings the estimated fairest point nearer to the truth: a comparison of remedies for the learner's regret.

On the same samples of both designs at n = 1,000: the default, the regret correction, repeated cross-fitting (medians),
nuisance predictions averaged over repetitions, a stack of learners, and learners refitted inside every draw.

    cd tests; python -m support.variants_study quick 1000 60 STORE.csv  # or: slow, for the last two
"""

import sys
import warnings

import numpy as np
import pandas as pd

from fairfrontier.bootstrap.draws import DrawingContext
from fairfrontier.data.sample import make_sample
from fairfrontier.datasets import make_liu_molinari
from fairfrontier.frontier.regret import _assemble, estimate_regret
from fairfrontier.frontier.sets import sharp_fairest
from fairfrontier.frontier.support import build_support_function, make_scores
from fairfrontier.inference.distance.estimates import fairest_evidence
from fairfrontier.inference.distance.result import _union
from fairfrontier.learning.cross_fitting import cross_fit, training_rows
from fairfrontier.learning.learners import child_seeds, resolve_learner
from fairfrontier.learning.tasks import Perturbation, Steps, Task
from support.fairest_study import METRIC, lottery, truth_of
from support.study_store import run_replications

REFITS = 99
"""Draws with refitted learners."""


class Sampled:
    """A sample with what all remedies need."""

    def __init__(self, number, n, design):
        rng = np.random.default_rng([n, number, len(design), 4])
        X, y, group = make_liu_molinari(n, design, rng)
        self.number, self.truth, self.sample = number, truth_of(design), make_sample(X.to_numpy(), y, group)
        self.l0 = np.asarray(y, dtype=float)
        self.dl = 1.0 - 2.0 * self.l0
        self.losses = (self.l0 + lottery(X, design) * self.dl)[None]
        middle = (self.truth.R + self.truth.B) / 2.0
        self.pairs = {"e*": self.truth.lottery, "R": self.truth.R, "B": self.truth.B, "mid": middle}
        self.seed = int(rng.integers(2**31))

    def fit(self, learner, n_rep=1):
        return cross_fit(self.sample, self.dl, learner, n_rep=n_rep, random_state=self.seed)

    def function(self, t, weight=None):
        weight = self.sample.weight if weight is None else weight
        return build_support_function(make_scores(self.l0, self.dl, t, self.sample.group, weight))

    def judge(self, functions, regret=None, level=0.05):
        """Estimated F, and whether the default intervals miss the true distances, over repetitions."""
        seed = np.random.SeedSequence([self.number, 5])
        contexts = [DrawingContext(function, 500, seed, None, regret) for function in functions]
        fixed = np.array(list(self.pairs.values())[1:])
        found = [fairest_evidence(context, self.losses, fixed, "sharp") for context in contexts]
        line = {"F": float(np.median([evidence.point.mean() for evidence in found]))}
        each = level if len(found) == 1 else level / 2
        for j, (name, pair) in enumerate(self.pairs.items()):
            ends = np.array([_union(evidence.distance_parts(METRIC, j, each)) for evidence in found])
            low, high = np.median(ends, axis=0)
            line[f"out {name}"] = self.missed(pair, low, high)
        return line

    def missed(self, pair, low, high):
        return int(not low - 1e-12 <= float(METRIC.between(pair, self.truth.F)) <= high)

    def refit_in_draws(self, learner, nuisance):
        """Bias-corrected percentiles of draws that reweight the rows and refit the learner with the same weights."""
        rows, fold, n = training_rows(self.sample, self.dl), nuisance.folds[0], self.sample.n_obs
        seeds = child_seeds(np.random.SeedSequence([self.number, 9]), REFITS)
        tasks = [
            Task(
                learner,
                component,
                fold == k,
                "",
                Perturbation(seed, None, False),
                tuning=nuisance.tuning.get(component),
            )
            for seed in seeds
            for k in range(1, fold.max() + 1)
            for component in learner.components(2)
        ]
        fits = child_seeds(np.random.SeedSequence([self.number, 10]), len(tasks))
        results = Steps(None, len(tasks)).run(tasks, rows, fits, None)
        estimate = sharp_fairest(self.function(nuisance.predictions[0]))[0]
        draws, in_use = [], []
        for seed in seeds:
            weight = np.random.default_rng(seed).standard_exponential(n)
            draws.append(sharp_fairest(self.function(_assemble(learner, fold, results), weight))[0])
            in_use.append(
                [
                    np.average(self.losses[0][g], weights=weight[g])
                    for g in ((self.sample.group == 0), (self.sample.group == 1))
                ]
            )
        # a refitted rule falls short of the learned one as that falls short of the best: the draws move down twice that
        draws = np.array(draws) - 2.0 * (np.mean(draws, axis=0) - estimate)
        line = {"F": float(draws.mean())}
        for name, pair in self.pairs.items():
            risks = np.array(in_use) if name == "e*" else np.broadcast_to(pair, draws.shape)
            low, high = np.quantile(METRIC.between(risks, draws), [0.025, 0.975])
            line[f"out {name}"] = self.missed(pair, low, high)
        return line


def replicate(number, n, design, slow):
    sampled, learner = Sampled(number, n, design), resolve_learner("factored-logit")
    found = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        once = sampled.fit(learner)
        function = sampled.function(once.predictions[0])
        found["default"] = sampled.judge([function])
        if slow:
            found["refits in the draws"] = sampled.refit_in_draws(learner, once)
            found["stack"] = sampled.judge([sampled.function(sampled.fit("stack").predictions[0])])
        else:
            seed = np.random.SeedSequence([number, 6])
            regret = estimate_regret(sampled.sample, sampled.dl, learner, once, (function,), n_refits=20, seed=seed)
            found["regret"] = sampled.judge([function], regret)
            several = sampled.fit(learner, n_rep=5).predictions
            found["5 repetitions, medians"] = sampled.judge([sampled.function(t) for t in several])
            found["5 repetitions, averaged"] = sampled.judge([sampled.function(several.mean(axis=0))])
    line = {f"{kind} | {name}": value for kind, values in found.items() for name, value in values.items()}
    return pd.DataFrame([{"replication": number, "n": n, "design": design} | line]).round(6)


def quick(number, n, design):
    return replicate(number, n, design, slow=False)


def slow(number, n, design):
    return replicate(number, n, design, slow=True)


def main(kind, n, replications, store, n_jobs="2"):
    """Continue a store up to a number of replications and print the means."""
    tasks = [(k, int(n), design) for k in range(int(replications)) for design in ("balanced", "skewed")]
    table = run_replications({"quick": quick, "slow": slow}[kind], tasks, int(n_jobs), store)
    print(table.drop(columns=["replication", "n"]).groupby("design").mean().T.round(4).to_string())


if __name__ == "__main__":
    from support import variants_study  # by its name, so that other processes find it

    variants_study.main(*sys.argv[1:])
