"""The hospital study of Obermeyer et al. (2019): its public file, and the part with published predictions."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..arrays import IntArray
from ..errors import InputError
from .download import cached_file

URL = "https://gitlab.com/labsysmed/dissecting-bias/-/raw/daceb25bba00e65d7b05882f049e229a8bedb60c/data/data_new.csv"
SHA256 = "5341f90f3a1d330557620af1c734e552abe0ad57053055dd13dbccc6d8384d74"
PERCENTILE = 97.0
"""Need is having more conditions than this percentile; an algorithm selects scores above it."""

_ELIXHAUSER = (
    "alcohol anemia arrhythmia arthritis bloodlossanemia coagulopathy compdiabetes depression drugabuse electrolytes "
    "hypertension hypothyroid liver neurodegen obesity paralysis psychosis pulmcirc pvd renal uncompdiabetes "
    "valvulardz wtloss"
)
_ROMANO = "cerebrovasculardz chf dementia hemiplegia hivaids metastatic myocardialinfarct pulmonarydz tumor ulcer"
_SPENT = (
    "dialysis emergency home_health ip_medical ip_surgical laboratory op_primary_care op_specialists op_surgery other "
    "pharmacy physical_therapy radiology"
)
LABORATORY_TESTS = ("cre", "crp", "esr", "ghba1c", "hct", "ldl", "nt_bnp", "sodium", "trig")
BIOMARKERS = tuple(f"{name}_mean_t" for name in ("bps", "ghba1c", "hct", "cre", "ldl"))
COMORBIDITIES = (
    *(f"{name}_elixhauser_tm1" for name in _ELIXHAUSER.split()),
    *(f"{name}_romano_tm1" for name in _ROMANO.split()),
)
COSTS = tuple(f"cost_{name}_tm1" for name in _SPENT.split())


def flag_column(test: str, which: str, level: str) -> str:
    """Name of the column that tells whether the least, mean or greatest result of a test was low, normal or high."""
    joint = "-" if (test, which) == ("ldl", "mean") else "_"  # the public file has one name of its own
    return f"{test}{joint}{which}-{level}_tm1"


FAMILIES: dict[str, tuple[str, ...]] = {
    "demographic": (
        "dem_female",
        *(f"dem_age_band_{b}_tm1" for b in ("18-24", "25-34", "35-44", "45-54", "55-64", "65-74", "75+")),
    ),
    "comorbidity": (*COMORBIDITIES, "gagne_sum_tm1"),
    "cost": COSTS,
    "laboratory": (
        *(f"{test}_tests_tm1" for test in LABORATORY_TESTS),
        *(
            flag_column(test, which, level)
            for test in LABORATORY_TESTS
            for which in ("min", "mean", "max")
            for level in ("low", "high", "normal")
        ),
    ),
    "medication": (
        "lasix_dose_count_tm1",
        *(f"lasix_{which}_daily_dose_tm1" for which in ("min", "mean", "max")),
    ),
}
"""The 149 covariates by family: 8 demographic, 34 comorbidity, 13 cost, 90 laboratory, 4 medication."""
OUTCOMES = {"conditions": "gagne_sum_t", "cost": "cost_t", "avoidable cost": "cost_avoidable_t"}
FILE_COLUMNS = (
    *("risk_score_t", "program_enrolled_t", "cost_t", "cost_avoidable_t", *BIOMARKERS, "race"),
    *FAMILIES["demographic"],
    *COMORBIDITIES,
    *COSTS,
    *FAMILIES["medication"],
    *FAMILIES["laboratory"],
    *("gagne_sum_tm1", "gagne_sum_t"),
)
"""The 160 columns of the public file in its order."""
HOLDOUT_SCORES = {
    "hospital score": "risk_score_t",
    "predicted cost": "log_cost_t_hat",
    "predicted avoidable cost": "log_cost_avoidable_t_hat",
    "predicted conditions": "gagne_sum_t_hat",
}


@dataclass(frozen=True, slots=True)
class HospitalData:
    """Patients: covariates ``X``, need ``y``, group, ``scores`` of algorithms, and ``outcomes`` of the next year."""

    X: pd.DataFrame
    y: IntArray
    sensitive_features: NDArray[Any]
    scores: pd.DataFrame
    outcomes: pd.DataFrame

    def selected(self, score: str, percentile: float = PERCENTILE) -> IntArray:
        """Decisions of an algorithm: 1 for scores strictly above their own percentile."""
        values = self.scores[score].to_numpy(dtype=float)
        return np.asarray(values > np.percentile(values, percentile), dtype=np.intp)


def fetch_obermeyer(
    data_home: str | os.PathLike[str] | None = None, path: str | os.PathLike[str] | None = None
) -> HospitalData:
    """Read the public file of the hospital study: 48,784 patients, 149 covariates.

    Need is having more active chronic conditions than the 97th percentile, group the race, the score that of the
    hospital's algorithm. Race, biomarkers and costs of the year of the outcome are not covariates.

    Parameters
    ----------
    data_home : path, optional
        Where the file is kept once fetched. Default: the environment variable ``FAIRFRONTIER_DATA``, else the user's
        cache.
    path : path, optional
        The file ``data_new.csv``, or one with the same columns; nothing is downloaded then, nor is its checksum
        compared. Without it the file is fetched from its authors' repository, once, and its checksum verified.

    Returns
    -------
    HospitalData
    """
    if data_home is not None and path is not None:
        raise InputError("bad-option", "Give either `path`, a file to read, or `data_home`, a cache, and not both.")
    file = Path(path) if path is not None else cached_file("obermeyer_data_new.csv", URL, SHA256, data_home)
    return from_table(_read(file, FILE_COLUMNS, "the hospital study's file data_new.csv"))


def load_obermeyer_holdout(path: str | os.PathLike[str]) -> HospitalData:
    """Read the hospital study's 16,099 patients with published predictions of three experimental algorithms.

    The file has no covariates but these: the hospital's score and the three predictions (of cost, of avoidable
    cost and of active conditions) serve as covariates, and as the scores of four algorithms.

    Parameters
    ----------
    path : path
        The comma-separated file.

    Returns
    -------
    HospitalData
    """
    needed = ("dem_race_black", *HOLDOUT_SCORES.values(), *OUTCOMES.values())
    table = _read(Path(path), needed, "the hospital study's hold-out file")
    scores = pd.DataFrame({name: table[column] for name, column in HOLDOUT_SCORES.items()})
    return _data(scores, table["dem_race_black"].to_numpy() == 1, scores, table)


def from_table(table: pd.DataFrame) -> HospitalData:
    """Build covariates, need, group and score from a table with the columns of the public file."""
    unknown = sorted(set(table["race"]) - {"black", "white"})
    if unknown:
        raise InputError("unknown-group", f"The column race must hold 'black' and 'white', got also {unknown[:5]}.")
    X = table[[name for family in FAMILIES.values() for name in family]]
    scores = table[["risk_score_t"]].rename(columns={"risk_score_t": "hospital score"})
    return _data(X, table["race"].to_numpy() == "black", scores, table)


def _data(X: pd.DataFrame, black: NDArray[Any], scores: pd.DataFrame, table: pd.DataFrame) -> HospitalData:
    outcomes = pd.DataFrame({name: table[column].to_numpy() for name, column in OUTCOMES.items()})
    conditions = outcomes["conditions"].to_numpy()
    need = (conditions > np.percentile(conditions, PERCENTILE)).astype(np.intp)
    return HospitalData(X, need, np.where(black, "Black", "White").astype(object), scores, outcomes)


def _read(file: Path, needed: tuple[str, ...], what: str) -> pd.DataFrame:
    if not file.exists():
        raise InputError("bad-option", f"There is no file {file}. Give the path of {what}.")
    present = pd.read_csv(file, nrows=0).columns
    missing = [name for name in needed if name not in present]
    if missing:
        some = ", ".join(missing[:5]) + (f" and {len(missing) - 5} more" if len(missing) > 5 else "")
        raise InputError("bad-features", f"{file.name} lacks columns of {what}: {some}.")
    return pd.read_csv(file, usecols=list(needed))
