"""Study of integer codes against the same columns as text: verdicts and p-values with the default learner.

Two tables: a generated one with ten coded columns, and the students of the Open University, whose columns of text are
coded by integers in a random order with gaps. Decisions of the generated table are coins,
and worse than coins in one group; those about students are a logistic regression's that takes the codes for quantities.

    cd tests; python -m support.codes_study 3 STORE.csv
"""

import sys
import warnings

import numpy as np
import pandas as pd
from scipy.special import expit
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from fairfrontier import FairFrontier
from support.shared import shared_path
from support.study_store import run_replications

FORMS = ("codes", "text")
QUANTITIES = ("num_of_prev_attempts", "studied_credits")
"""Integers that are quantities in either form."""


def generated(n=3000, seed=1):
    """Ten columns of codes, whose order means nothing; the outcome depends on all."""
    rng = np.random.default_rng(seed)
    level = rng.integers(0, 5, (n, 10))
    effect = np.array([np.roll([-1.0, 1.0, -0.6, 0.7, -0.1], j) for j in range(10)]) * 0.7
    score = effect[np.arange(10), level].sum(axis=1)
    group = rng.random(n) < 0.4
    y = (rng.random(n) < expit(score + 0.3 * group)).astype(int)
    decision = np.where(group & (rng.random(n) < 0.5), 1 - y, rng.integers(0, 2, n))
    codes = np.array([11, 20, 21, 35, 99])[level]
    return pd.DataFrame(codes, columns=[f"c{j}" for j in range(10)]), y, np.where(group, "a", "b"), decision


def students(seed=1):
    """Students whose columns of text are integers, in a random order with gaps."""
    data = pd.read_csv(shared_path("data", "open_university.csv"))
    y = data["final_result"].isin(["Pass", "Distinction"]).to_numpy().astype(int)
    X = data.drop(columns=["final_result", "id_student", "disability"])
    rng = np.random.default_rng(seed)
    for name in X.columns[X.dtypes.map(pd.api.types.is_numeric_dtype) == 0]:
        levels = X[name].unique()
        codes = dict(zip(levels, np.sort(rng.choice(100, len(levels), replace=False)), strict=True))
        X[name] = X[name].map(codes).astype(int)
    half = rng.permutation(len(X)) < len(X) // 2
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X[half], y[half])
    held = ~half
    return X[held].reset_index(drop=True), y[held], data["disability"].to_numpy()[held], model.predict(X[held])


def one_fit(seed, n, design):
    """Verdict, p-value and losses of one form of one table as one line."""
    table, form = design.split(" | ")
    X, y, group, decision = generated() if table == "generated" else students()
    if form == "text":
        X = X.astype({name: str for name in X if name not in QUANTITIES})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ff = FairFrontier(n_rep=1, random_state=seed).fit(X, y, sensitive_features=group)
        test = ff.test_lda(decision)
    losses = ff.learner_report_.losses["loss"]
    line = {"replication": seed, "n": n, "design": design, "verdict": test.verdict, "p": test.robust_p_value}
    line |= {"feasibility p": test.evidence.feasibility_p_value, "gain bound": test.gain_bound}
    return pd.DataFrame([line | {"loss 1": losses.iloc[0], "loss 2": losses.iloc[1]}])


def main(seeds, store, tables="generated,open_university"):
    """Continue a store and print it."""
    tasks = [
        (seed, 0, f"{name} | {form}") for seed in range(int(seeds)) for name in tables.split(",") for form in FORMS
    ]
    print(run_replications(one_fit, tasks, 1, store).sort_values(["design", "replication"]).to_string())


if __name__ == "__main__":
    from support import codes_study  # by its name, so that other processes find it

    codes_study.main(*sys.argv[1:])
