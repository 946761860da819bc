"""Monte Carlo study of the test for alternatives among rules that see the group, n = 2,000.

Two groups of equal size with three covariates and logistic outcomes; group 1 is better off (its smallest risk is .17,
that of group 0 .33, approximately). One replication tests

* "worse flipped": optimal for group 1, 30% of the decisions about group 0 turned round: an alternative exists;
* nulls, in which none exists: "both optimal"; "better flipped", optimal for group 0 and 20% of the decisions about
  group 1 turned round, whose risk stays the smaller one; "tied", the same with so many that both risks are equal.

Predictions: "logit", plain logistic regressions of each group out of fold; "distorted", the true E[dl | x, g] moved up
by .25, so that the learned rules select too few.

    cd tests; python -m support.aware_study 300 STORE.csv    # replications; continues a store

`equal_risks` and `few_rows` are two smaller studies with known predictions.
"""

import sys
import warnings

import numpy as np
import pandas as pd
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from fairfrontier import FairFrontier
from support.study_store import KEYS, run_replications

SLOPES = {1: np.array([2.5, 1.0, -1.0]), 0: np.array([0.3, -0.7, 0.6])}
N = 2_000
CASES = ("worse flipped", "both optimal", "better flipped", "tied")


def draw(n, rng):
    """Covariates, outcomes, groups and E[dl | x, g] (n, 2), group 1 first."""
    x, group = rng.normal(size=(n, 3)), rng.integers(0, 2, n)
    chance = np.column_stack([expit(x @ SLOPES[g]) for g in (1, 0)])
    y = (rng.random(n) < chance[np.arange(n), 1 - group]).astype(int)
    return x, y, group, 1.0 - 2.0 * chance


def smallest_risks(n=2_000_000):
    """Smallest risk of each group, by a large sample."""
    _, _, _, t = draw(n, np.random.default_rng(0))
    return (0.5 - 0.5 * np.abs(t)).mean(axis=0)


LOW = smallest_risks(200_000)
# turning round a share s of the decisions about group 1 moves its risk from l to l + s (1 - 2 l)
TIED = (LOW[1] - LOW[0]) / (1.0 - 2.0 * LOW[0])


def decisions(case, t, group, rng):
    """Decisions of one algorithm."""
    best = (t[np.arange(len(group)), 1 - group] < 0.0).astype(int)
    share = {"worse flipped": 0.3, "both optimal": 0.0, "better flipped": 0.2, "tied": TIED}[case]
    turned = (rng.random(len(best)) < share) & (group == (0 if case == "worse flipped" else 1))
    return np.where(turned, 1 - best, best)


def replicate(replication, n, design):
    """Test all cases on one sample with one kind of predictions (the design)."""
    rng = np.random.default_rng([23, replication])
    x, y, group, t = draw(n, rng)
    ff = FairFrontier(learner=LogisticRegression(), rules="group-aware", n_boot=199, random_state=replication)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ff.fit(x, y, sensitive_features=group, external_nuisance=t + 0.25 if design == "distorted" else None)
        tests = ff.test_lda({case: decisions(case, t, group, rng) for case in CASES})
    line = dict(zip(KEYS, (replication, n, design), strict=True))
    return pd.DataFrame([line | {case: test.robust_p_value for case, test in tests.items()}])


def rates(found, alpha=0.05):
    """Rejection rates with standard errors, by predictions and case."""
    rows = []
    for design, own in found.groupby("design"):
        for case in CASES:
            rate = float((own[case] <= alpha).mean())
            error = np.sqrt(rate * (1.0 - rate) / len(own))
            rows.append({"predictions": design, "case": case, "n": len(own), "rate": rate, "error": error})
    return pd.DataFrame(rows)


def _known(seed, y, group, t):
    """A fit with known predictions."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ff = FairFrontier(rules="group-aware", n_boot=199, random_state=seed)
        return ff.fit(None, y, sensitive_features=group, external_nuisance=t)


def equal_risks(n_samples, n=N):
    """Share of samples in which an alternative is shown to decisions with a risk of .40 in both groups."""
    shown = 0
    for sample in range(n_samples):
        rng = np.random.default_rng([1, sample])
        _, y, group, t = draw(n, rng)
        best = (t[np.arange(n), 1 - group] < 0.0).astype(int)
        share = (0.4 - LOW) / (1.0 - 2.0 * LOW)
        turned = rng.random(n) < share[1 - group]
        found = _known(sample, y, group, t).test_lda(np.where(turned, 1 - best, best))
        shown += found.verdict == "lda-shown"
    return shown / n_samples


def few_rows(m, n_samples):
    """Share of samples in which one is claimed though m people are coins, and 200 others decided about as is best."""
    claimed = 0
    for sample in range(n_samples):
        rng = np.random.default_rng([m, sample])
        group = np.where(np.arange(200 + m) < m, 1, 0)
        y = np.where(group == 1, rng.random(200 + m) < 0.5, rng.random(200 + m) < 0.1).astype(int)
        t = np.where(group == 1, -0.1, 0.8)[:, None] * np.ones((1, 2))  # all of the small group are to be selected
        claimed += _known(sample, y, group, t).test_lda(np.zeros(200 + m)).verdict == "lda-shown"
    return claimed / n_samples


if __name__ == "__main__":
    tasks = [(k, N, design) for k in range(int(sys.argv[1])) for design in ("logit", "distorted")]
    print(rates(run_replications(replicate, tasks, n_jobs=1, store=sys.argv[2])).round(3).to_string())
