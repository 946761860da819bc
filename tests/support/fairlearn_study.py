"""What fairlearn's models attain on held-out rows, beside what all rules are estimated to attain there.

Models learn from one half of the rows: a logistic regression, fairlearn's reductions to equal selection rates at
several tolerances (all of which decide without the group), and `ThresholdOptimizer`, which sees it. On the other half
stand the curve of overall risk against the gap in selection rates with its band, and each model's place: whether it is
shown to lie outside of what rules without the group attain (feasibility of the test), and how far its risk lies above
the smallest with such a gap.

    cd tests; python -m support.fairlearn_study german    # or: law
    cd tests; python -m support.fairlearn_study law PICTURE.png
"""

import sys
import warnings

import numpy as np
import pandas as pd
from fairlearn.postprocessing import ThresholdOptimizer
from fairlearn.reductions import DemographicParity, ExponentiatedGradient
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from fairfrontier import FairFrontier
from support.shared import shared_path

TOLERANCES = (0.1, 0.05, 0.02, 0.005)


def rows_of(name):
    """Covariates as numbers, outcome (1: good) and group of a data set."""
    if name == "german":
        table = pd.read_csv(shared_path("data", "german_credit.csv"))
        y, group = (table["class-label"] == 1).astype(int), np.where(table["age"] > 25, "older", "young")
        X = table.drop(columns=["class-label", "age", "sex", "marital-status"])
    else:
        table = pd.read_csv(shared_path("data", "law_school.csv"))
        y, group = table["pass_bar"].astype(int), np.where(table["race"] == "White", "White", "other")
        X = table.drop(columns=["pass_bar", "race", "male"])
    return pd.get_dummies(X, dtype=float), y.to_numpy(), group


def models(X, y, group):
    """Fitted models by name, each a function of covariates and group that returns decisions."""
    logistic = LogisticRegression(max_iter=2000)
    scaler = StandardScaler().fit(X)
    scaled = pd.DataFrame(scaler.transform(X), columns=X.columns)
    plain = make_pipeline(StandardScaler(), logistic).fit(X, y)
    found = {"logistic regression": lambda x, g: plain.predict(x)}
    for tolerance in TOLERANCES:
        reduced = ExponentiatedGradient(logistic, DemographicParity(difference_bound=tolerance), max_iter=30)
        reduced.fit(scaled, y, sensitive_features=group)

        def decide(x, g, reduced=reduced):
            return reduced._pmf_predict(pd.DataFrame(scaler.transform(x), columns=x.columns))[:, 1]

        found[f"reduction, gap {tolerance:g}"] = decide
    thresholds = ThresholdOptimizer(estimator=plain, constraints="demographic_parity", prefit=True)
    thresholds.fit(X, y, sensitive_features=group)
    found["thresholds by group"] = lambda x, g: thresholds._pmf_predict(x, sensitive_features=g)[:, 1]
    return found


def compare(name, seed=0, learner="factored-logit"):
    """Table of models on the held-out half, and the fit with its decisions."""
    X, y, group = rows_of(name)
    half = np.random.default_rng(seed).permutation(len(y)) < len(y) // 2
    learned = models(X[half].reset_index(drop=True), y[half], group[half])
    X, y, group = X[~half].reset_index(drop=True), y[~half], group[~half]
    ff = FairFrontier(
        fairness="selection-rate", accuracy="overall", learner=learner, n_rep=1, n_boot=999, random_state=seed
    ).fit(X, y, sensitive_features=group)
    curve, lines, decisions = ff.trade_off(), {}, {}
    for model, decide in learned.items():
        a = np.clip(
            np.asarray(decide(X, group), dtype=float), 0.0, 1.0
        )  # mixtures of weights that sum to one by rounding
        risk = float(np.mean(np.where(y == 1, 1.0 - a, a)))
        rates = [a[group == label].mean() for label in ff.groups_]
        gap = float(rates[0] - rates[1])
        test = ff.test_lda(a, randomised=True)
        best = curve.to_frame([abs(gap)]).iloc[0]
        lines[model] = {
            "overall risk": risk,
            "gap": gap,
            "least risk": best["risk"],
            "low": best["risk low"],
            "high": best["risk high"],
            "outside, p": test.evidence.feasibility_p_value,
            "verdict": test.verdict,
        }
        decisions[model] = a
    return pd.DataFrame(lines).T, ff, decisions


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    table, ff, decisions = compare(sys.argv[1])
    with pd.option_context("display.width", 200, "display.max_columns", None):
        print(f"{len(ff.sample_.y)} held-out rows\n{table.map(lambda x: round(x, 3) if isinstance(x, float) else x)}")
    if len(sys.argv) > 2:
        ff.plot(decisions=decisions).figure.savefig(sys.argv[2], dpi=110)
