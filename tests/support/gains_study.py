"""Monte Carlo study of the bounds of gains of an alternative that is chosen because it looks good.

The algorithm is the best rule of one direction with a share of its decisions flipped at random; the nuisance functions
are learned out of fold by plain logistic regressions. True gains are those of the rules of all folds on a large
population with known probabilities. Old bounds, those of the chosen rule alone, are computed beside ours.

    cd tests; python -m support.gains_study 300 STORE.csv  # samples; a later run continues the store
"""

import sys
import warnings
from functools import cache

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression

from fairfrontier import FairFrontier
from fairfrontier.datasets import make_liu_molinari
from fairfrontier.datasets.designs import _success_probabilities
from fairfrontier.inference.lda.witness import gains
from support.fairest_study import mixed_probabilities
from support.study_store import run_replications

DESIGNS = ("balanced", "skewed", "mixed")
SIZES = (500, 1500, 5000)
FLIPPED = 0.15
DIRECTION = np.array([-0.7, -0.7])
N_FOLDS = 5


def probabilities(x, design):
    """P(G = r | x), P(Y = 1 | x, r), P(Y = 1 | x, b)."""
    if design == "mixed":
        return mixed_probabilities(x)
    return np.full(len(x), 0.6), *_success_probabilities(x, design)


def covariates(n, design, rng):
    return rng.normal(size=(n, 10)) if design == "mixed" else make_liu_molinari(n, design, rng)[0].to_numpy()


@cache
def population(design, n=40_000):
    """Covariates, probabilities, group shares and the true pairs of a large population."""
    x = covariates(n, design, np.random.default_rng(77))
    share, p_r, p_b = probabilities(x, design)
    mu = np.array([share.mean(), 1.0 - share.mean()])
    return x, share, p_r, p_b, mu, np.column_stack([share * (1 - 2 * p_r), (1 - share) * (1 - 2 * p_b)])


def true_risks(chances, design):
    """Risks (2,) of a rule with these chances of selection in the population."""
    _, share, p_r, p_b, mu, _ = population(design)
    expected = [s * (p + chances * (1 - 2 * p)) for s, p in ((share, p_r), (1 - share, p_b))]
    return np.array([e.mean() for e in expected]) / mu


def algorithm_chances(t, mu):
    """Chances of selection by the algorithm in use."""
    return np.where(t @ (DIRECTION / mu) > 0, 1.0 - FLIPPED, FLIPPED)


def pairs_of(x, models):
    """Predicted pairs: P(r | x)(1 - 2 P(y | x, r)) and the same for b."""
    own = models[0].predict_proba(x)[:, 1]
    return np.column_stack(
        [s * (1 - 2 * m.predict_proba(x)[:, 1]) for s, m in zip((own, 1 - own), models[1:], strict=True)]
    )


def learn(x, y, is_r, rng):
    """Out-of-fold pairs (n, 2), and the pairs of each fold's models in the population with the fold's share."""
    fold = rng.permutation(len(y)) % N_FOLDS
    return fold, [
        [
            LogisticRegression(C=1.0).fit(x[rows], target[rows])
            for rows, target in ((fold != k, is_r), ((fold != k) & is_r, y), ((fold != k) & ~is_r, y))
        ]
        for k in range(N_FOLDS)
    ]


def replicate(number, n, design, n_boot=199):
    """Whether all three bounds hold, ours and those of the chosen rule alone, and how far they lie below the truth."""
    rng = np.random.default_rng([number, n, len(design), 8])
    x = covariates(n, design, rng)
    share, p_r, p_b = probabilities(x, design)
    is_r = rng.random(n) < share
    y = (rng.random(n) < np.where(is_r, p_r, p_b)).astype(int)
    X_big, *_, mu, t_big = population(design)
    t_true = np.column_stack([share * (1 - 2 * p_r), (1 - share) * (1 - 2 * p_b)])
    decisions = (rng.random(n) < algorithm_chances(t_true, mu)).astype(float)
    e_star = true_risks(algorithm_chances(t_big, mu), design)
    fold, models = learn(x, y, is_r, rng)
    t = np.empty((n, 2))
    for k in range(N_FOLDS):
        t[fold == k] = pairs_of(x[fold == k], models[k])
    line = {"replication": number, "n": n, "design": design}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ff = FairFrontier(n_boot=n_boot, random_state=number, groups=(1, 0))
        ff.fit(None, y, sensitive_features=is_r.astype(int), external_nuisance=t)
        test = ff.test_lda({"now": decisions})["now"]
    w = test.evidence.witness
    line |= {"shown": int(test.verdict == "lda-shown"), "chosen": int(w is not None)}
    if w is None:
        return pd.DataFrame([line | dict.fromkeys(COLUMNS, np.nan)])
    held = ff.support_function_.mu
    chances = np.zeros(len(X_big))
    for k in range(N_FOLDS):
        predicted = pairs_of(X_big, models[k])
        for q, part in zip(w.directions, w.shares, strict=True):
            chances += (fold == k).mean() * part * (predicted @ (q / held) > 0)
    true = gains(true_risks(chances, design), e_star)
    ours, alone = w.lower_bounds(0.05), bounds_alone(ff, w, decisions, y)
    line |= {"held": int((ours <= true + 1e-9).all()), "held alone": int((alone <= true + 1e-9).all())}
    line |= {f"{who} {name}": (true - low)[j] for who, low in (("below", ours), ("below alone", alone))
             for j, name in enumerate("rbg")}  # fmt: skip
    return pd.DataFrame([line | {"value": np.quantile(w.largest, 0.95, method="inverted_cdf")}])


COLUMNS = ["held", "held alone", *[f"{w} {x}" for w in ("below", "below alone") for x in "rbg"], "value"]


def bounds_alone(ff, w, decisions, y):
    """Bounds of the three gains of the chosen rule as if it had been named beforehand."""
    function = ff.feasible_set().context.function
    moved = sum(s * function.selected(q) for q, s in zip(w.directions, w.shares, strict=True))
    losses = np.array([function.scores.losses(moved), y + decisions * (1 - 2 * y)])
    draws = ff.feasible_set().context.draw(w.directions, losses)
    gain = gains(draws.risks_hat[0], draws.risks_hat[1])
    scale = len(y) ** 0.255
    e = draws.risks_hat + scale * (draws.risks - draws.risks_hat)
    moved_gain = (gains(e[:, 0], e[:, 1]) - gain) / scale
    error = moved_gain.std(axis=0)
    return gain - np.quantile((moved_gain / error).max(axis=1), 0.95, method="inverted_cdf") * error


def run_study(samples, designs=DESIGNS, sizes=SIZES, n_jobs=1, store=None):
    """All replications as a table with one line each."""
    tasks = [(k, n, design) for k in range(samples) for n in sizes for design in designs]
    return run_replications(replicate, tasks, n_jobs, store)


def rates(table):
    """Shares of samples in which all bounds hold: of all with an alternative, and of those shown; median distances."""
    shown = table[table["shown"] == 1]
    by, among = table.groupby(["design", "n"]), shown.groupby(["design", "n"])
    found = by[["shown", "held", "held alone"]].mean().assign(samples=by["held"].count())
    found = found.join(among[["held", "held alone"]].mean().add_suffix(", shown"))
    wide = by[[c for c in COLUMNS if c.startswith("below")]].median()
    return found.join(wide.rename(columns=lambda c: c.replace("below", "wide"))).join(by["value"].median())


def main(samples, store):
    """Continue a store up to a number of samples and print the rates."""
    print(rates(run_study(int(samples), store=store)).round(4).T.to_string())


if __name__ == "__main__":
    from support import gains_study  # by its name, so that other processes find it

    gains_study.main(*sys.argv[1:])
