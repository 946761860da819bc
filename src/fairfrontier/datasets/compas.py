"""The COMPAS two-year recidivism file of Broward County, reduced to what an analysis needs."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from .._typing import IntArray
from ..errors import InputError

FEATURES = (
    "sex",
    "age",
    "juv_fel_count",
    "juv_misd_count",
    "juv_other_count",
    "priors_count",
    "c_charge_degree",
)
GROUPS = ("African-American", "Caucasian")
_NEEDED = (*FEATURES, "race", "days_b_screening_arrest", "is_recid", "decile_score", "score_text", "two_year_recid")


class Compas(NamedTuple):
    """Covariates, outcome (recidivism within two years), race and the decile score of the same people.

    ``excluded`` counts the rows left out, by reason, in the order in which the filters are applied.
    """

    X: pd.DataFrame
    y: IntArray
    sensitive_features: NDArray[Any]
    decile_score: IntArray
    excluded: Mapping[str, int]


def fetch_compas(*, path: str | os.PathLike[str]) -> Compas:
    """Read the two-year COMPAS file with the usual filters.

    Kept are people screened within 30 days of their arrest, with known recidivism, charged with a felony or a
    misdemeanour, with a score, and African-American or Caucasian. Names and dates of birth are not read.

    Parameters
    ----------
    path : path
        The comma-separated file.

    Returns
    -------
    Compas
    """
    file = Path(path)
    if not file.exists():
        raise InputError("bad-option", f"There is no file {file}. Give the path of the two-year COMPAS file.")
    names = pd.read_csv(file, nrows=0).columns
    missing = [name for name in _NEEDED if name not in names]
    if missing:
        raise InputError("bad-features", f"{file.name} lacks the columns {missing} of the two-year COMPAS file.")
    rows = pd.read_csv(file, usecols=list(_NEEDED), keep_default_na=True)
    filters = {
        "screened more than 30 days from the arrest, or date unknown": rows["days_b_screening_arrest"].abs() <= 30,
        "recidivism unknown": rows["is_recid"] != -1,
        "neither felony nor misdemeanour": rows["c_charge_degree"].isin(["F", "M"]),
        "no score": rows["score_text"].isin(["Low", "Medium", "High"]),
        "other race": rows["race"].isin(GROUPS),
    }
    kept = np.ones(len(rows), dtype=bool)
    excluded = {}
    for reason, fits in filters.items():
        excluded[reason] = int(np.count_nonzero(kept & ~fits.to_numpy()))
        kept &= fits.to_numpy()
    rows = rows[kept].reset_index(drop=True)
    return Compas(
        rows[list(FEATURES)],
        rows["two_year_recid"].to_numpy(dtype=np.intp),
        rows["race"].to_numpy(dtype=object),
        rows["decile_score"].to_numpy(dtype=np.intp),
        excluded,
    )
