"""An audit on embedded data: two scores of a generated hospital, whose truth is known."""

from __future__ import annotations

import hashlib
from functools import lru_cache

import pandas as pd

from ..datasets import hospital_scores, hospital_truth, make_hospital
from .plan import AuditPlan, make_plan
from .request import AuditRequest
from .table import TableFile

TOP = 0.1
"""Share of the patients that the programme can select."""
DEMO_STORY = """\
A hospital has places in a care programme for a tenth of its patients. Two scores could select them: one predicts what
a patient will cost, the other how many chronic conditions a patient will have. A patient needs the programme who will
have more than three. Less is spent on Black patients than on White ones who are as ill. The patients are made up.
Alternatives may select more than a tenth here; `fairfrontier audit --capacity 0.1` considers only those that do not.
"""


def demo_table(rows: int, seed: int) -> pd.DataFrame:
    """Return patients as in the table of a hospital."""
    patients = make_hospital(rows, seed)
    decisions = {
        f"selected by {name}": patients.selected(name, 100.0 * (1.0 - TOP)) for name in patients.scores.columns
    }
    return patients.X.assign(
        race=patients.sensitive_features, **{"needs the programme": patients.y}, **patients.scores, **decisions
    )


def demo_plan(rows: int, seed: int) -> AuditPlan:
    """Return the plan of the demo's audit: decisions by the cost score, and by the health score beside it."""
    table = demo_table(rows, seed)
    request = AuditRequest(
        data=("generated",),
        outcome="needs the programme",
        group=("race",),
        decision="selected by cost score",
        algorithms={"selected by health score": "selected by health score"},
        exclude=("cost score", "health score"),
        groups=("Black", "White"),
        seed=seed,
        title="Who gets into the care programme?",
    )
    digest = hashlib.sha256(table.to_csv(index=False).encode()).hexdigest()
    return make_plan(TableFile(table, f"{rows:,} generated patients", digest), request)


@lru_cache(maxsize=1)
def demo_truth() -> str:
    """Describe the population, whose risks are known because it is generated."""
    truth = hospital_truth()
    lines = ["The patients are generated, so the truth is known. Risks of Black and of White patients:"]
    named = {"best for Black": truth.R, "best for White": truth.B, "fairest": truth.F}
    for score in ("cost score", "health score"):

        def decide(X: pd.DataFrame, score: str = score) -> pd.Series:
            values = hospital_scores(X)[score]
            return values > values.quantile(1.0 - TOP)

        named[f"selected by {score}"] = truth.risks(decide)
    lines += [f"  {name}: {pair[0]:.3f} and {pair[1]:.3f}" for name, pair in named.items()]
    return "\n".join(lines)
