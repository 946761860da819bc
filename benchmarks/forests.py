"""Forests for the nuisance learner, compared on the generated hospital with the published study's 149 covariates.

For group g the label is z^g = (1 - 2Y) 1{G = g}. Learners are fitted on four fifths of the rows and compared on the
last fifth, by three-class log loss averaged over the groups, by the squared error of P(+1 | x) - P(-1 | x) against its
known value, and by seconds of one core to fit and predict both groups. Run ``python -m benchmarks.forests`` for 8,000
rows (about a minute), with ``--full`` for all 48,784, with ``--write FILE`` to keep the table. LightGBM is compared if
it is installed.
"""

import argparse
import importlib.util
import time
from pathlib import Path

import numpy as np
from scipy import stats
from scipy.special import pdtrc
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier
from threadpoolctl import threadpool_limits

from fairfrontier.datasets import hospital, make_hospital
from fairfrontier.learning.learners.presets import resolve_learner

ROWS, SEED = 48_784, 3


class HonestForest:
    """Trees whose splits are chosen on one half of a subsample and whose leaves are filled by the other half.

    Half of the rows per tree, sqrt(p) + 20 columns per split and leaves of 5, as is usual for honest forests.
    """

    def __init__(self, n_trees=200, seed=0):
        self.n_trees, self.seed = n_trees, seed

    def fit(self, X, c):
        X, rng = X.astype(np.float32), np.random.default_rng(self.seed)
        n, p = X.shape
        self.trees, self.n_classes = [], c.max() + 1
        for t in range(self.n_trees):
            choose, fill = np.array_split(rng.permutation(n)[: n // 2], 2)
            tree = DecisionTreeClassifier(
                min_samples_leaf=5, max_features=min(int(np.sqrt(p) + 20), p), random_state=t
            ).fit(X[choose], c[choose])
            count = np.zeros((tree.tree_.node_count, self.n_classes))
            np.add.at(count, (tree.apply(X[fill]), c[fill]), 1.0)
            self.trees.append((tree, count))
        return self

    def predict_proba(self, X):
        X, total, used = X.astype(np.float32), np.zeros((len(X), self.n_classes)), np.zeros((len(X), 1))
        for tree, count in self.trees:
            found = count[tree.apply(X)]
            size = found.sum(axis=1, keepdims=True)
            total += found / np.maximum(size, 1.0)  # an empty leaf does not count
            used += size > 0
        return total / used


class LightForest:
    """LightGBM's random forest, a regression per class: its classifier averages log odds after one step."""

    def __init__(self, **options):
        self.options = options

    def fit(self, X, c):
        from lightgbm import LGBMRegressor

        fixed = {"boosting_type": "rf", "subsample": 0.5, "subsample_freq": 1, "min_child_samples": 20}
        more = {"n_jobs": 1, "verbose": -1, "random_state": 0, "feature_fraction_bynode": 0.66}
        self.models = [
            LGBMRegressor(**fixed, **more, **self.options).fit(X, (c == v).astype(float)) for v in range(c.max() + 1)
        ]
        return self

    def predict_proba(self, X):
        p = np.clip(np.column_stack([model.predict(X) for model in self.models]), 0.0, 1.0)
        return p / p.sum(axis=1, keepdims=True)


def learners():
    """Return builders of classifiers by name."""

    def scikit(kind, n_trees, leaf, features, samples, criterion="gini"):
        return lambda: kind(
            n_trees,
            min_samples_leaf=leaf,
            max_features=features,
            max_samples=samples,
            bootstrap=samples is not None,
            criterion=criterion,
            random_state=0,
        )

    def preset(name, **options):
        return lambda: resolve_learner(name, **options).family.classifier.set_params(model__random_state=0)

    random, extra = RandomForestClassifier, ExtraTreesClassifier
    found = {
        "preset forest": preset("forest"),
        "preset forest, 200 trees": preset("forest", n_estimators=200),
        "honest forest, 200 trees": HonestForest,
        "random forest, 200 trees, Gini, leaf 20, half the rows, 0.66 of columns": scikit(random, 200, 20, 0.66, 0.5),
        "the same with entropy": scikit(random, 200, 20, 0.66, 0.5, "entropy"),
        "random forest, 200 trees, Gini, leaf 20, half the rows, sqrt of columns": scikit(random, 200, 20, "sqrt", 0.5),
        "the same with leaf 5": scikit(random, 200, 5, "sqrt", 0.5),
        "extra trees, 100 trees, leaf 20, half the rows, 0.66 of columns": scikit(extra, 100, 20, 0.66, 0.5, "entropy"),
        "extra trees, 100 trees, leaf 20, all rows, sqrt of columns": scikit(extra, 100, 20, "sqrt", None, "entropy"),
        "boosting, 40 trees of 4 leaves": preset("boosting", max_iter=40),
    }
    if importlib.util.find_spec("lightgbm"):
        found["LightGBM forests, 3 x 100 trees of 64 leaves"] = lambda: LightForest(n_estimators=100, num_leaves=64)
    return found


def problem(n):
    """Return covariates, and for each group the class (0, 1, 2 for z = -1, 0, 1) and its true probabilities."""
    data = make_hospital(ROWS, SEED, columns="published")
    rng = np.random.default_rng(SEED)
    people = hospital._people(ROWS, rng)
    share = people.share_black()
    black = rng.random(ROWS) < share
    assert np.array_equal(black, data.sensitive_features == "Black")
    cut = int(data.outcomes["conditions"][data.y == 0].max())
    labels, truths = [], []
    for member, p in ((black, share), (~black, 1.0 - share)):
        lasts, new = people.later_rates(np.full(ROWS, member is black))
        need = np.zeros(ROWS)
        for lasting in range(people.count.max() + 1):
            more = pdtrc(cut - lasting, new) if lasting <= cut else 1.0
            need += stats.binom.pmf(lasting, people.count, lasts) * more
        need = np.minimum(need, 1.0)
        labels.append(np.where(member, 1 - 2 * data.y, 0) + 1)
        truths.append(np.column_stack([p * need, 1.0 - p, p * (1.0 - need)]))
    rows = np.random.default_rng(0).permutation(ROWS)[:n]
    return data.X.to_numpy(dtype=float)[rows], [c[rows] for c in labels], [t[rows] for t in truths]


def measure(build, X, labels, truths):
    """Return log loss, squared error and seconds of one learner."""
    train = np.arange(len(X)) < 0.8 * len(X)
    loss, error, seconds = [], [], 0.0
    for c, truth in zip(labels, truths, strict=True):
        start = time.process_time()
        p = build().fit(X[train], c[train]).predict_proba(X[~train])
        seconds += time.process_time() - start
        loss.append(-np.log(np.clip(p[np.arange(len(p)), c[~train]], 1e-6, 1.0)).mean())
        error.append(np.mean((p[:, 2] - p[:, 0] - truth[~train, 2] + truth[~train, 0]) ** 2))
    return np.mean(loss), np.mean(error), seconds


@threadpool_limits.wrap(limits=1)
def run(n=8_000, names=None):
    """Return a table in Markdown, a row per learner."""
    X, labels, truths = problem(n)
    lines = ["| learner | log loss | squared error x 1000 | seconds |", "|---|---|---|---|"]
    for name, build in learners().items():
        if names is None or name in names:
            loss, error, seconds = measure(build, X, labels, truths)
            lines.append(f"| {name} | {loss:.4f} | {1000 * error:.2f} | {seconds:.1f} |")
            print(lines[-1], flush=True)
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", action="store_true", help="all 48,784 rows")
    parser.add_argument("--write", type=Path, help="file for the table")
    arguments = parser.parse_args()
    text = run(ROWS if arguments.full else 8_000)
    if arguments.write:
        arguments.write.write_text(text)
