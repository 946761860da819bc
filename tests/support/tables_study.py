"""Study of the default learner on public tables: losses of its candidates, verdicts over seeds, coherence of points.

Half of the rows of a table, drawn once, train a logistic regression and a boosting classifier; their decisions about
the other half are tested with default settings, seed by seed. One line of the store belongs to one table, learner and
seed: losses out of fold, seconds, and for `auto` verdicts and p-values, also with the first repetition of the folds
alone, and whether listed points contradict each other.

    cd tests; python -m support.tables_study STORE.csv 10 3  # seeds of auto, seeds of its candidates
    cd tests; python -m support.tables_study STORE.csv 10 3 german_credit,student_performance
    cd tests; python -m support.tables_study STORE.csv       # the tables of what the store has
"""

import sys
import time
import warnings
from functools import cache
from itertools import product

import numpy as np
import pandas as pd
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler

from fairfrontier import FairFrontier
from support.shared import shared_path
from support.study_store import run_replications

CANDIDATES = ("factored-logit", "pooled-logit", "factored-boosting", "pooled-boosting")
TABLES = {
    "student_performance sex": ("class", ("High",), ()),
    "german_credit sex": ("class-label", (1,), ()),
    "law_school race": ("pass_bar", (1,), ()),
    "law_school male": ("pass_bar", (1,), ()),
    "open_university disability": ("final_result", ("Pass", "Distinction"), ("id_student",)),
    "open_university gender": ("final_result", ("Pass", "Distinction"), ("id_student",)),
}
"""For each table and group: column and values of success, and columns left out."""


def classifiers():
    """The two algorithms in use, by name."""
    text = make_column_selector(dtype_exclude="number")
    number = make_column_selector(dtype_include="number")
    indicators = make_column_transformer(
        (StandardScaler(), number), (OneHotEncoder(handle_unknown="ignore", min_frequency=10), text)
    )
    positions = make_column_transformer(
        (OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1), text), remainder="passthrough"
    )
    return {
        "logistic regression": make_pipeline(indicators, LogisticRegression(max_iter=2000)),
        "boosting": make_pipeline(positions, HistGradientBoostingClassifier(random_state=0)),
    }


@cache
def audited(name):
    """The half of a table that is audited: covariates, outcome, group, and decisions by algorithm."""
    table, group = name.split(" ")
    outcome, success, left_out = TABLES[name]
    data = pd.read_csv(shared_path("data", f"{table}.csv"))
    y = data[outcome].isin(success).to_numpy().astype(int)
    X = data.drop(columns=[outcome, group, *left_out])
    half = np.random.default_rng(0).permutation(len(data)) < len(data) // 2
    decisions = {
        label: model.fit(X[half], y[half]).predict(X[~half]).astype(int) for label, model in classifiers().items()
    }
    rows = ~half
    return X[rows].reset_index(drop=True), y[rows], data[group].to_numpy()[rows], decisions


def one_fit(seed, n, design):
    """Losses and seconds of a learner on a table; for `auto` also verdicts, p-values and coherence; as one line."""
    name, learner = design.split(" | ")
    X, y, group, decisions = audited(name)
    line = {"replication": seed, "n": n, "design": design}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        began = time.process_time()
        n_rep = 3 if learner == "auto" else 1
        ff = FairFrontier(learner=learner, n_rep=n_rep, random_state=seed).fit(X, y, sensitive_features=group)
        line["seconds"] = round(time.process_time() - began, 2)
        losses = ff.learner_report_.losses["loss"]
        line |= {"loss 1": losses.iloc[0], "loss 2": losses.iloc[1]}
        fits = {"": ff, ", 1": first_repetition(ff, X, y, group)} if learner == "auto" else {}
        for label, which in product(decisions, ("", ", 1")):
            test = fits[which].test_lda(decisions[label]) if fits else None
            line[f"{label}{which} | verdict"] = "" if test is None else test.verdict
            line[f"{label}{which} | p"] = np.nan if test is None else test.robust_p_value
            line[f"{label}{which} | feasibility p"] = np.nan if test is None else test.evidence.feasibility_p_value
        found = ff.contradictions_
        line["contradictions"] = len(found)
        line["message shown"] = all(sentence in ff.summary() for one in found for sentence in one.sentences())
    return pd.DataFrame([line])


def first_repetition(ff, X, y, group):
    """The same fit with the first repetition of the folds alone."""
    one = FairFrontier(random_state=ff.random_state, groups=ff.groups_)
    return one.fit(X, y, sensitive_features=group, external_nuisance=ff.nuisance_.predictions[0])


def tasks(seeds, seeds_of_candidates, names):
    """Seeds, rows and table with learner, the first seed of every table first."""
    found = []
    for seed in range(seeds):
        for name in names:
            n = len(audited(name)[1])
            found.append((seed, n, f"{name} | auto"))
            if seed < seeds_of_candidates:
                found += [(seed, n, f"{name} | {learner}") for learner in CANDIDATES]
    return found


def loss_table(store):
    """Mean loss by table and learner over the seeds that all learners have, and how auto compares to the best."""
    lines = store.assign(
        table=store["design"].str.split(" | ", regex=False).str[0],
        learner=store["design"].str.split(" | ", regex=False).str[1],
        loss=store["loss 1"] + store["loss 2"],
    )
    rows = []
    for table, own in lines.groupby("table", sort=False):
        wide = own.pivot(index="replication", columns="learner", values=["loss", "loss 1", "loss 2", "seconds"])
        if len(wide["loss"].columns) < len(CANDIDATES) + 1:
            continue
        wide = wide.dropna()
        row = {"table": table, "seeds": len(wide)} | wide["loss"].mean().to_dict()
        for part in ("loss", "loss 1", "loss 2"):
            # auto against the best single candidate, seed by seed
            ratio = wide[part]["auto"] / wide[part][list(CANDIDATES)].min(axis=1) - 1.0
            row[f"{part}: auto - best, %, worst seed"] = 100.0 * ratio.max()
        row |= {f"seconds {name}": value for name, value in wide["seconds"].mean().items()}
        rows.append(row)
    return pd.DataFrame(rows)


def verdict_table(store):
    """Verdicts and p-values over the seeds of auto, by table and algorithm; "1": with one repetition of the folds."""
    rows = []
    for design, own in store[store["design"].str.endswith("| auto")].groupby("design", sort=False):
        for label in ("logistic regression", "boosting"):
            row = {"table": design.removesuffix(" | auto"), "algorithm": label, "seeds": len(own)}
            for which in ("", ", 1"):
                p, verdicts = own[f"{label}{which} | p"], own[f"{label}{which} | verdict"].value_counts()
                row[f"verdicts{which}"] = ", ".join(f"{v} {k}" for v, k in verdicts.items())
                row |= {f"p, smallest{which}": p.min(), f"p, largest{which}": p.max()}
            row["seconds"] = own["seconds"].mean()
            row["coherent"] = int((own["contradictions"] == 0).sum())
            row["message"] = int(((own["contradictions"] > 0) & own["message shown"]).sum())
            rows.append(row)
    return pd.DataFrame(rows)


def main(path, seeds=0, seeds_of_candidates=0, names=""):
    """Continue a store, one fit after the other, and print its tables."""
    chosen = [name for name in TABLES if not names or name.split(" ")[0] in names.split(",")]
    store = run_replications(one_fit, tasks(int(seeds), int(seeds_of_candidates), chosen), 1, path)
    print(loss_table(store).round(4).T.to_string(), verdict_table(store).round(3).to_string(), sep="\n\n")


if __name__ == "__main__":
    from support import tables_study  # by its name, so that other processes find it

    tables_study.main(*sys.argv[1:])
