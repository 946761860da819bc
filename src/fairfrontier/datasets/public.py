"""Public tables of people and outcomes, as the gallery uses them: downloaded once, with a checksum."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from ..data.messages import did_you_mean
from ..errors import InputError
from .download import cached_file

_COMMIT = "f8726608fe1e7a77a3d3f14d7244e6b46e77aebd"
_SURVEY = f"https://raw.githubusercontent.com/tailequy/fairness_dataset/{_COMMIT}/experiments/data/"
_HOSPITAL = "https://gitlab.com/labsysmed/dissecting-bias/-/raw/daceb25bba00e65d7b05882f049e229a8bedb60c/results/"


@dataclass(frozen=True, slots=True)
class PublicTable:
    """Where a table comes from, and the SHA-256 of its bytes."""

    url: str
    sha256: str


PUBLIC_TABLES = {
    "german_credit": PublicTable(
        f"{_SURVEY}german_data_credit.csv", "61effc34f9ef78ffeeb350141608c2e8ec9bf8978b64c29dbd16bb7a19bf763f"
    ),
    "hospital_holdout": PublicTable(
        f"{_HOSPITAL}model_lasso_predictors.csv", "58cf1685126de0ae4648640d7fc279016ed0c5fc8ab76ed90a3d569cb988c56b"
    ),
    "law_school": PublicTable(
        f"{_SURVEY}law_school_clean.csv", "23c1b173f3480beb7afc4957b107a9917dfc4a8dc9d87ea6034ec35222152452"
    ),
    "open_university": PublicTable(
        f"{_SURVEY}oulad_clean.csv", "79da53cda30ae6fbe069c6bfd8d6d36f3235ca13e06954ba4fc78f1124d6eeac"
    ),
    "student_performance": PublicTable(
        f"{_SURVEY}student_por_new.csv", "9b28eca5795ae9feeb72eb73b837680ad579c7d991c03014b09c2234d0e1d60d"
    ),
}
"""The tables by name."""


def fetch_csv(name: str, data_home: str | os.PathLike[str] | None = None) -> Path:
    """Return the path of a public table as a CSV file; it is downloaded once and its checksum verified.

    Parameters
    ----------
    name : {"german_credit", "hospital_holdout", "law_school", "open_university", "student_performance"}
        German credit, law school, Open University and student performance are the tables that Le Quy and others cleaned
        for "A survey on datasets for fairness-aware machine learning" (2022); "hospital_holdout" has the predictions
        that Obermeyer and others published with their study of a hospital's score (2019).
    data_home : path, optional
        Where the file is kept. Default: the environment variable ``FAIRFRONTIER_DATA``, else the user's cache.

    Returns
    -------
    Path
    """
    if name not in PUBLIC_TABLES:
        raise InputError(
            "bad-option",
            f"`name` must be one of {list(PUBLIC_TABLES)}, got {name!r}.{did_you_mean(name, PUBLIC_TABLES)}",
        )
    table = PUBLIC_TABLES[name]
    return cached_file(f"{name}.csv", table.url, table.sha256, data_home)
