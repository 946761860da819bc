"""All numbers that a seed decides, with every learner, and their hashes: for comparing processes, jobs and chunks."""

import hashlib
import json
import sys
import tempfile
import warnings
from datetime import datetime
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression

from fairfrontier import FairFrontier
from fairfrontier.audit.plan import make_plan
from fairfrontier.audit.request import AuditRequest
from fairfrontier.audit.run import run_audit
from fairfrontier.audit.table import TableFile
from fairfrontier.errors import FairFrontierWarning
from fairfrontier.report.html import render
from support.everything import everything, rules
from support.people import people
from support.quick import FEW
from support.records import CREATED, record_of

OPTIONS = {
    "logit-lasso": FEW,
    "factored-logit": FEW,
    "lasso": FEW,
    "forest": {"n_estimators": 8},
    "factored-forest": {"n_estimators": 8},
    "neural-net": {"n_hidden": 2, "decay": 0.1},
    "partially-linear": {"linear": (0, 1)},
    "stack": {"members": ("lasso", LogisticRegression()), "n_inner_folds": 2},
}


def fit(learner, n_jobs=None, **options):
    X, y, g = people(200, seed=5)
    options = {"n_folds": 2, "n_rep": 1, "n_boot": 99, "random_state": 7} | options
    ff = FairFrontier(learner=learner, learner_params=OPTIONS.get(learner), n_jobs=n_jobs, **options)
    return ff.fit(X, y, sensitive_features=g)


def in_use():
    return (people(200, seed=5)[0][:, 0] > 0.6).astype(int)


def fit_external(n_jobs=None):
    """Weights, clusters and bounds, with nuisances from outside."""
    X, y, g = people(200, seed=5)
    rng = np.random.default_rng(0)
    return FairFrontier(n_boot=99, random_state=7, n_jobs=n_jobs).fit(
        None,
        y,
        sensitive_features=g,
        external_nuisance=X[:, :2] + rng.normal(size=(200, 2)),
        sample_weight=rng.uniform(0.5, 2.0, 200),
        clusters=rng.integers(0, 60, 200),
        lower=0.1,
        upper=rng.uniform(0.5, 1.0, 200),
    )


def of_fits(learners, n_jobs=None):
    """Predictions, their quality, tuning, refits and points, by learner."""
    found = {}
    for learner in learners:
        ff = fit(learner, n_jobs, n_rep=2, bias_correction="regret", n_refits=2)
        found |= {
            f"{learner}: predictions": ff.nuisance_.predictions,
            f"{learner}: folds": ff.nuisance_.folds,
            f"{learner}: quality": ff.nuisance_.quality.select_dtypes("number").to_numpy(),
            f"{learner}: refits": ff.regret_.shortfall,
            f"{learner}: points": ff.points_.to_numpy(),
        }
    return found


def of_questions(n_jobs=None):
    """Every estimate, test, set, distance and rule; several repetitions with the regret taken off, and clusters."""
    X = people(200, seed=5)[0]
    found = {}
    for name, ff in (
        ("learned", fit("factored-logit", n_jobs, n_rep=3, bias_correction="regret", n_refits=2)),
        ("external", fit_external(n_jobs)),
    ):
        found |= {f"{name}: {key}": value for key, value in everything(ff, in_use()).items()}
    found |= {f"forest: {key}": value for key, value in rules(fit("forest", n_jobs), X, in_use()).items()}
    return found


def of_reports(folder, n_jobs=None):
    """The record and the page of a report, and the record of an audit, without the time at which they were made."""
    ff = fit("factored-logit", n_jobs)
    record = json.loads(ff.to_json(folder / "record.json", {"in use": in_use()}).read_text())
    assert datetime.fromisoformat(record.pop("created")) <= datetime.now()
    page = render(record_of(ff, {"in use": in_use()}))
    X, y, g = people(200, seed=5)
    table = pd.DataFrame(X, columns=["age", "income", "visits"]).assign(sex=g, ill=y, chosen=in_use())
    settings = {"data": "people.csv", "outcome": "ill", "group": "sex", "decision": "chosen", "draws": 99, "folds": 2}
    request = AuditRequest(**settings, learner="factored-logit", repetitions=1)
    plan = make_plan(TableFile(table, "people.csv", "0" * 64), request)
    audit = run_audit(plan, n_jobs=n_jobs, created=CREATED)
    texts = {"record": json.dumps(record), "page": page, "audit": audit.record.to_json()}
    return {name: np.frombuffer(text.encode(), dtype=np.uint8) for name, text in texts.items()}


def hashes(found):
    """Short names of all bits."""
    return {
        name: hashlib.sha256(repr(np.shape(value)).encode() + np.asarray(value).tobytes()).hexdigest()[:16]
        for name, value in found.items()
    }


def main(*learners):
    """Print the hashes of all numbers, with these learners."""
    with warnings.catch_warnings(), tempfile.TemporaryDirectory() as folder:
        warnings.simplefilter("ignore", FairFrontierWarning)
        print(json.dumps(hashes(of_questions() | of_fits(learners) | of_reports(Path(folder)))))


if __name__ == "__main__":
    main(*sys.argv[1:])
