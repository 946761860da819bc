"""fairlearn's models beside rules of fairfrontier, all learned from one half of the rows and judged on the other.

Like for like: both learn from the same half, with the same covariates and by logistic regressions, decide without the
group, and are judged by overall risk and the difference in selection rates on the same held-out half, over several
halvings. Reductions of fairlearn are asked for a largest difference; of our curve of risk against difference, estimated
by cross-fitting within the learning half, the rule is taken that comes nearest to it from below. The alternative is
that of our test to the plain regression.

    cd tests; python -m support.held_out_study german 10    # or: law 5
"""

import sys
import warnings

import numpy as np
import pandas as pd

from fairfrontier import FairFrontier
from support.fairlearn_study import TOLERANCES, models, rows_of


def halves(name, seed):
    """Covariates, outcome and group of the half that is learned from, and of the other one."""
    X, y, group = rows_of(name)
    half = np.random.default_rng(seed).permutation(len(y)) < len(y) // 2
    return [(X[part].reset_index(drop=True), y[part], group[part]) for part in (half, ~half)]


def rules(X, y, group, plain):
    """Our rules by name, each a function of covariates that returns chances."""
    ff = FairFrontier(fairness="selection-rate", accuracy="overall", learner="factored-logit", random_state=0)
    ff.fit(X, y, sensitive_features=group)
    curve, found = ff.trade_off(), {}
    for tolerance in TOLERANCES:
        small = np.flatnonzero(np.abs(curve.curve[: len(curve.directions), 1]) <= tolerance)
        k = int(small[0]) if len(small) else len(curve.directions) - 1
        found[f"our curve, gap {tolerance:g}"] = ff.rule(direction=curve.directions[k])
    test = ff.test_lda(plain)
    if test.witness is not None:
        found["our alternative to the regression"] = ff.rule(test)
    return {name: lambda x, rule=rule: rule.predict_proba(x)[:, 1] for name, rule in found.items()}


def judged(name, seed):
    """One line for each model: overall risk and difference in selection rates on held-out rows."""
    learned, held_out = halves(name, seed)
    fitted = models(*learned)
    plain = np.asarray(fitted["logistic regression"](learned[0], learned[2]), dtype=float)
    blind = {key: lambda x, f=f: f(x, None) for key, f in fitted.items() if key != "thresholds by group"}
    X, y, group = held_out
    lines = []
    for model, decide in (blind | rules(*learned, plain)).items():
        a = np.clip(np.asarray(decide(X), dtype=float), 0.0, 1.0)
        risk = np.where(y == 1, 1.0 - a, a).mean()
        rates = [a[group == label].mean() for label in sorted(set(group))]
        lines.append({"seed": seed, "model": model, "risk": risk, "gap": abs(rates[1] - rates[0])})
    return pd.DataFrame(lines)


def table(name, seeds):
    """Means over the halvings, their standard errors, and in how many halvings a model was there."""
    found = pd.concat([judged(name, seed) for seed in range(seeds)])
    by_model = found.groupby("model", sort=False)[["risk", "gap"]]
    return by_model.agg(["mean", "sem"]).assign(halvings=by_model.size())


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    with pd.option_context("display.width", 200, "display.max_columns", None):
        print(table(sys.argv[1], int(sys.argv[2])).round(4))
