"""Where the patients come from: the public file, its part with published predictions, or a generated look-alike."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.linear_model import LassoCV
from sklearn.model_selection import KFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ...datasets import HospitalData, fetch_obermeyer, load_obermeyer_holdout, make_hospital
from ...datasets.obermeyer import HOLDOUT_SCORES, SHA256
from ...errors import InputError

LOOK_ALIKE = "look-alike"
PUBLISHED_ROWS = 48_784
GROUPS = ("Black", "White")
LABELS = {"predicted cost": "cost", "predicted avoidable cost": "avoidable cost", "predicted conditions": "conditions"}
"""What each experimental algorithm is trained to predict; costs by their logarithm."""


@dataclass(frozen=True, slots=True)
class Source:
    """Patients and the scores of four algorithms, with words on how they differ from the published analysis."""

    patients: HospitalData
    remark: str

    @property
    def black(self) -> Any:
        """Who is Black, (n,)."""
        return self.patients.sensitive_features == GROUPS[0]


@lru_cache(maxsize=1)
def open_source(name: str, rows: int = PUBLISHED_ROWS, seed: int = 1) -> Source:
    """Read patients: ``name`` is a file, "look-alike" for generated patients, or "" for the public file.

    The three experimental algorithms of the public file and of the look-alike are trained here: lassos of the
    logarithms of cost and avoidable cost and of the number of conditions on all covariates, predicted out of fold.
    """
    if name == LOOK_ALIKE:
        patients = make_hospital(rows, seed, columns="published")
        remark = (
            f"These are {rows:,} generated patients, not those of the study: the tables show what the programs do, and "
            "nothing about any hospital."
        )
        return Source(_with_experiments(patients), remark)
    if name and _is_holdout(name):
        remark = (
            "These are the 16,099 patients with published predictions. The only covariates are the hospital's score "
            "and three predictions, against 149 in the paper, and there are a third as many patients: rules have less "
            "to go by, so less can be shown, and a conclusion that differs from the paper's is no contradiction of it."
        )
        return Source(load_obermeyer_holdout(name), remark)
    patients = fetch_obermeyer(path=name or None)
    if digest(name) == SHA256:
        remark = "These are the patients of the public file. The hospital's algorithm is as published; "
    else:
        remark = f"This file of {len(patients.y):,} patients has the columns of the public one and other content; "
    remark += (
        "the three experimental algorithms were trained anew, out of fold, so their risks are not exactly those of "
        "the paper's."
    )
    return Source(_with_experiments(patients), remark)


def digest(name: str) -> str:
    """SHA-256 of a file; of the public one, which is fetched only when needed, the known one."""
    return hashlib.sha256(_existing(name).read_bytes()).hexdigest() if name else SHA256


def _existing(name: str) -> Path:
    if not Path(name).exists():
        raise InputError("bad-option", f"There is no file {name}. Give one of the hospital study, or {LOOK_ALIKE!r}.")
    return Path(name)


def _is_holdout(name: str) -> bool:
    return set(HOLDOUT_SCORES.values()) <= set(pd.read_csv(_existing(name), nrows=0).columns)


def _with_experiments(patients: HospitalData) -> HospitalData:
    """Add the scores of the three experimental algorithms."""
    scores = patients.scores.copy()
    folds = KFold(5, shuffle=True, random_state=0)
    for name, label in LABELS.items():
        values = patients.outcomes[label].to_numpy(dtype=float)
        target = values if label == "conditions" else np.log10(values + 1.0)
        model = make_pipeline(StandardScaler(), LassoCV(alphas=30, eps=0.01, cv=3, max_iter=20_000))
        scores[name] = cross_val_predict(model, patients.X.to_numpy(dtype=float), target, cv=folds)
    return HospitalData(patients.X, patients.y, patients.sensitive_features, scores, patients.outcomes)
