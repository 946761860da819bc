"""A generated hospital: who needs a care programme, what care cost, and who got it, with known population values.

The story is that of Obermeyer et al. (2019). Patients of two groups have chronic conditions and costs. At equal
health less is spent on Black patients, because they have less access to care. A score trained to predict cost
therefore ranks them too low; a score trained to predict health does not.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd
from scipy import stats
from scipy.special import expit, pdtrc
from sklearn.linear_model import LinearRegression

from ..arrays import BoolArray, FloatArray, IntArray
from ..data.checks import check_integer
from ..errors import InputError
from .obermeyer import (
    BIOMARKERS,
    COMORBIDITIES,
    COSTS,
    FILE_COLUMNS,
    LABORATORY_TESTS,
    HospitalData,
    flag_column,
    from_table,
)
from .truth import PopulationTruth, population_truth

Columns = Literal["readable", "published"]
GROUPS = ("Black", "White")
NEED = 3
"""A patient needs the programme who has more active chronic conditions than this next year."""
TRUTH_ROWS = 2**19

# prevalence, and how much more likely (in log odds) with severity and with 15 years of age
_CONDITIONS = {
    "alcohol": (0.008, 0.7, 0.0),
    "anemia": (0.066, 1.3, 0.1),
    "arrhythmia": (0.091, 1.1, 0.5),
    "arthritis": (0.043, 0.8, 0.3),
    "bloodlossanemia": (0.006, 1.1, 0.0),
    "coagulopathy": (0.012, 1.5, 0.2),
    "compdiabetes": (0.018, 1.6, 0.3),
    "depression": (0.063, 0.8, -0.1),
    "drugabuse": (0.006, 0.8, -0.3),
    "electrolytes": (0.033, 1.8, 0.3),
    "hypertension": (0.336, 1.1, 0.8),
    "hypothyroid": (0.095, 0.6, 0.3),
    "liver": (0.011, 1.1, 0.1),
    "neurodegen": (0.016, 1.0, 0.2),
    "obesity": (0.093, 0.8, -0.1),
    "paralysis": (0.003, 1.4, 0.2),
    "psychosis": (0.032, 0.8, -0.1),
    "pulmcirc": (0.009, 1.8, 0.4),
    "pvd": (0.022, 1.7, 0.7),
    "renal": (0.036, 1.8, 0.6),
    "uncompdiabetes": (0.099, 1.3, 0.5),
    "valvulardz": (0.031, 1.4, 0.6),
    "wtloss": (0.008, 1.6, 0.2),
    "cerebrovasculardz": (0.017, 1.4, 0.7),
    "chf": (0.032, 2.0, 0.8),
    "dementia": (0.004, 1.1, 1.3),
    "hemiplegia": (0.004, 1.3, 0.2),
    "hivaids": (0.003, 0.4, -0.2),
    "metastatic": (0.009, 1.6, 0.4),
    "myocardialinfarct": (0.02, 1.6, 0.6),
    "pulmonarydz": (0.105, 0.8, 0.0),
    "tumor": (0.09, 0.8, 0.6),
    "ulcer": (0.005, 1.2, 0.3),
}
# log odds of having such a cost, mean and spread of its logarithm
_COSTS = {
    "dialysis": (-6.5, 9.5, 0.8),
    "emergency": (-1.4, 6.4, 0.8),
    "home_health": (-3.6, 6.8, 1.0),
    "ip_medical": (-2.8, 8.8, 0.8),
    "ip_surgical": (-3.2, 9.4, 0.7),
    "laboratory": (1.0, 5.3, 0.9),
    "op_primary_care": (2.2, 5.8, 0.7),
    "op_specialists": (1.6, 6.2, 0.9),
    "op_surgery": (-1.0, 7.3, 0.9),
    "other": (1.2, 6.4, 1.1),
    "pharmacy": (1.2, 6.1, 1.3),
    "physical_therapy": (-1.4, 6.0, 0.8),
    "radiology": (0.2, 5.9, 0.9),
}


def make_hospital(n: int = 20_000, random_state: Any = None, columns: Columns = "readable") -> HospitalData:
    """Draw ``n`` patients of a hospital in which unequal access to care hides the needs of one group.

    About 11% of the patients are Black. Given age, sex, chronic conditions and costs of the last year, the number
    of active chronic conditions of the next year is the sum of those that last and of new ones; Black patients
    have more of both. A patient needs the programme who has more than three.

    Parameters
    ----------
    n : int
        Patients.
    random_state : seed or generator
        Of everything drawn.
    columns : {"readable", "published"}
        "readable" gives a dozen covariates, all that matters for the group and the outcome, and two scores: one
        trained to predict the cost of the next year, one to predict the conditions. "published" gives the 149
        covariates of `fetch_obermeyer`, with the need of the study's authors' file (more conditions than the
        97th percentile) and one score, as there.

    Returns
    -------
    HospitalData

    Examples
    --------
    >>> patients = make_hospital(1000, random_state=0)
    >>> patients.X.shape, list(patients.scores.columns)
    ((1000, 12), ['cost score', 'health score'])
    """
    if columns not in get_args(Columns):
        raise InputError("bad-option", f"`columns` must be one of {list(get_args(Columns))}, got {columns!r}.")
    if columns == "published":
        return from_table(make_hospital_table(n, random_state))
    rng = np.random.default_rng(random_state)
    people = _people(_rows(n), rng)
    X = people.covariates()
    black = rng.random(n) < people.share_black()
    later = _next_year(people, black, rng)
    return HospitalData(
        X,
        (later["conditions"].to_numpy() > NEED).astype(np.intp),
        np.where(black, *GROUPS).astype(object),
        hospital_scores(X),
        later,
    )


def make_hospital_table(n: int, random_state: Any = None) -> pd.DataFrame:
    """Draw ``n`` patients with the 160 columns of the hospital study's public file, for trying things out.

    Margins resemble the published ones: shares of groups, ages and conditions, costs, numbers of tests.

    Examples
    --------
    >>> make_hospital_table(100, random_state=0).shape
    (100, 160)
    """
    rng = np.random.default_rng(random_state)
    people = _people(_rows(n), rng)
    black = rng.random(n) < people.share_black()
    later = _next_year(people, black, rng)
    table: dict[str, Any] = {
        "race": np.where(black, "black", "white"),
        "dem_female": people.female.astype(np.int64),
        "gagne_sum_tm1": people.count,
        "gagne_sum_t": later["conditions"].to_numpy(),
        "cost_t": later["cost"].to_numpy(),
        "cost_avoidable_t": later["avoidable cost"].to_numpy(),
    }
    bands = [18, 25, 35, 45, 55, 65, 75, 200]
    for low, high in pairwise(bands):
        name = f"{low}-{high - 1}" if high < 200 else f"{low}+"
        table[f"dem_age_band_{name}_tm1"] = ((people.age >= low) & (people.age < high)).astype(np.int64)
    for j, name in enumerate(COMORBIDITIES):
        table[name] = people.conditions[:, j].astype(np.int64)
    for j, name in enumerate(COSTS):
        table[name] = people.costs[:, j]
    table |= _medication(people, rng) | _laboratory(people, rng)
    expected = hospital_scores(people.covariates())["cost score"].to_numpy()
    standard = (expected - expected.mean()) / max(float(expected.std()), 1e-12)
    score = np.minimum(np.exp(1.05 + 0.6 * standard + 0.55 * rng.normal(size=n)), 100.0)
    table["risk_score_t"] = score
    rank = stats.rankdata(score) / n
    table["program_enrolled_t"] = (rng.random(n) < np.where(rank > 0.97, 0.2, 0.004 * rank)).astype(np.int64)
    means = {"bps": (127.0, 13.0), "ghba1c": (6.0, 1.2), "hct": (40.4, 4.2), "cre": (0.95, 0.5), "ldl": (103.8, 31.0)}
    for name, (centre, spread) in means.items():
        value = np.maximum(centre + spread * rng.normal(size=n), 0.2 * centre)
        table[f"{name}_mean_t"] = np.where(rng.random(n) < 0.55, np.round(value, 2), np.nan)
    assert set(BIOMARKERS) <= set(table)
    return pd.DataFrame({name: table[name] for name in FILE_COLUMNS})


@lru_cache(maxsize=1)
def hospital_truth() -> PopulationTruth:
    """Population values of `make_hospital` with readable columns; coordinates are (Black, White).

    Known conditional probabilities are averaged over about half a million patients: the error is below 0.001.

    Examples
    --------
    >>> hospital_truth().F.round(2).tolist()
    [0.04, 0.04]
    """
    people = _people(TRUTH_ROWS, np.random.default_rng(31))
    X = people.covariates()
    success = (people.need(np.ones(TRUTH_ROWS, dtype=bool)), people.need(np.zeros(TRUTH_ROWS, dtype=bool)))
    return population_truth("hospital", lambda: X, success, people.share_black())


def hospital_scores(X: pd.DataFrame) -> pd.DataFrame:
    """Return the two scores of patients with readable covariates: fixed formulas, trained on other patients."""
    cost, health = _trained()
    inputs = _inputs(X)
    return pd.DataFrame({"cost score": cost.predict(inputs), "health score": health.predict(inputs)})


@dataclass(frozen=True, slots=True)
class _People:
    """Patients in the year before the decision."""

    age: FloatArray
    female: BoolArray
    conditions: BoolArray
    costs: FloatArray

    @property
    def count(self) -> IntArray:
        return np.asarray(self.conditions.sum(axis=1), dtype=np.intp)

    def has(self, *names: str) -> BoolArray:
        return np.asarray(self.conditions[:, [list(_CONDITIONS).index(name) for name in names]].any(axis=1))

    def spent(self, *names: str) -> FloatArray:
        return np.asarray(self.costs[:, [list(_COSTS).index(name) for name in names]].sum(axis=1))

    def covariates(self) -> pd.DataFrame:
        inpatient, emergency, pharmacy = ("ip_medical", "ip_surgical"), ("emergency",), ("pharmacy",)
        other = [name for name in _COSTS if name not in (*inpatient, *emergency, *pharmacy)]
        return pd.DataFrame(
            {
                "age": self.age,
                "female": self.female.astype(int),
                "chronic conditions": self.count,
                "hypertension": self.has("hypertension").astype(int),
                "diabetes": self.has("uncompdiabetes", "compdiabetes").astype(int),
                "obesity": self.has("obesity").astype(int),
                "kidney disease": self.has("renal").astype(int),
                "thyroid disease": self.has("hypothyroid").astype(int),
                "emergency cost": self.spent(*emergency),
                "inpatient cost": self.spent(*inpatient),
                "outpatient cost": self.spent(*other),
                "pharmacy cost": self.spent(*pharmacy),
            }
        )

    def share_black(self) -> FloatArray:
        """P(Black | x): more with diabetes or obesity, less with more spent than usual for that many conditions."""
        unusual = np.log1p(self.costs.sum(axis=1)) - 7.6 - 0.43 * self.count**0.8
        log_odds = (
            -2.37
            + 0.9 * self.has("uncompdiabetes", "compdiabetes")
            + 0.75 * self.has("obesity")
            + 0.2 * self.has("hypertension")
            + 0.35 * self.has("renal")
            - 0.7 * self.has("hypothyroid")
            - 0.35 * unusual
        )
        return np.asarray(expit(log_odds))

    def later_rates(self, black: BoolArray) -> tuple[FloatArray, FloatArray]:
        """Probability that a condition lasts, and the mean number of new ones."""
        diabetes, kidneys = self.has("uncompdiabetes", "compdiabetes"), self.has("renal")
        new = 0.1 * np.minimum(self.count, 10) + 0.012 * (self.age - 50.0) + 0.3 * diabetes + 0.2 * kidneys
        return np.where(black, 0.91, 0.88), np.exp(new - 1.9 + 0.3 * black)

    def need(self, black: BoolArray) -> FloatArray:
        """P(more than `NEED` conditions next year | x, group)."""
        lasts, new = self.later_rates(black)
        count = self.count
        result = np.zeros(len(count))
        for lasting in range(int(count.max(initial=0)) + 1):
            rest = NEED - lasting
            exceeded = pdtrc(rest, new) if rest >= 0 else 1.0
            result += stats.binom.pmf(lasting, count, lasts) * exceeded
        return np.minimum(result, 1.0)


def _rows(n: int) -> int:
    return check_integer(n, "`n`", least=1, code="empty-data")


def _severity_and_age(n: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    severity = (rng.gamma(5.0, size=n) - 5.0) / np.sqrt(5.0)
    return severity, np.clip(np.round(49.5 + 4.0 * severity + 15.0 * rng.normal(size=n)), 18.0, 95.0)


def _people(n: int, rng: np.random.Generator) -> _People:
    severity, age = _severity_and_age(n, rng)
    per_severity, per_age = (np.array([values[j] for values in _CONDITIONS.values()]) for j in (1, 2))
    intercepts = _intercepts()
    conditions = np.empty((n, len(_CONDITIONS)), dtype=bool)
    for j in range(len(_CONDITIONS)):
        log_odds = intercepts[j] + per_severity[j] * severity + per_age[j] * (age - 50.0) / 15.0
        conditions[:, j] = rng.random(n) < expit(log_odds)
    access = 0.35 * conditions.sum(axis=1) ** 0.8 + 0.5 * rng.normal(size=n) + 0.006 * (age - 50.0) - 0.45
    costs = np.empty((n, len(_COSTS)))
    for j, (log_odds_any, centre, spread) in enumerate(_COSTS.values()):
        amount = np.exp(centre + 0.6 * access + spread * rng.normal(size=n))
        costs[:, j] = np.where(rng.random(n) < expit(log_odds_any + access), np.round(amount, -1), 0.0)
    return _People(age, rng.random(n) < 0.635, conditions, costs)


@lru_cache(maxsize=1)
def _intercepts() -> FloatArray:
    """Log odds of each condition at severity 0 and age 50 that give its prevalence, by bisection."""
    severity, age = _severity_and_age(20_000, np.random.default_rng(5))
    result = []
    for prevalence, per_severity, per_age in _CONDITIONS.values():
        slope = per_severity * severity + per_age * (age - 50.0) / 15.0
        low, high = -20.0, 5.0
        for _ in range(40):
            middle = (low + high) / 2.0
            low, high = (low, middle) if expit(middle + slope).mean() > prevalence else (middle, high)
        result.append(middle)
    return np.array(result)


def _next_year(people: _People, black: BoolArray, rng: np.random.Generator) -> pd.DataFrame:
    """Conditions and costs of the year after the decision."""
    n = len(black)
    lasts, new = people.later_rates(black)
    count = rng.binomial(people.count, lasts) + rng.poisson(new)
    spent = np.log1p(people.costs.sum(axis=1))
    level = 3.9 + 0.48 * spent + 0.2 * np.minimum(count, 12) ** 0.8 - 0.2 * black
    cost = np.round(np.exp(level + 1.0 * rng.normal(size=n)), -2)
    share = np.where(rng.random(n) < expit(-1.2 + 0.4 * count), rng.beta(1.5, 1.5, size=n), 0.0)
    return pd.DataFrame({"conditions": count, "cost": cost, "avoidable cost": np.round(share * cost, -2)})


@lru_cache(maxsize=1)
def _trained() -> tuple[LinearRegression, LinearRegression]:
    """Train one score on the logarithm of cost, one on the number of conditions, on 20,000 other patients."""
    rng = np.random.default_rng(97)
    people = _people(20_000, rng)
    black = rng.random(20_000) < people.share_black()
    later, inputs = _next_year(people, black, rng), _inputs(people.covariates())
    return (
        LinearRegression().fit(inputs, np.log1p(later["cost"])),
        LinearRegression().fit(inputs, later["conditions"]),
    )


def _inputs(X: pd.DataFrame) -> FloatArray:
    """What the scores see: costs by their logarithm."""
    costs = [name for name in X.columns if name.endswith(" cost")]
    return np.asarray(X.assign(**{name: np.log1p(X[name]) for name in costs}).to_numpy(dtype=float))


def _medication(people: _People, rng: np.random.Generator) -> dict[str, Any]:
    n = len(people.age)
    takes = rng.random(n) < np.where(people.has("chf"), 0.5, 0.012)
    lowest = np.where(takes, rng.choice([20, 40, 80], size=n), 0)
    highest = lowest + np.where(takes, rng.choice([0, 20, 40], size=n), 0)
    return {
        "lasix_dose_count_tm1": np.where(takes, 1 + rng.poisson(3.0, size=n), 0),
        "lasix_min_daily_dose_tm1": lowest,
        "lasix_mean_daily_dose_tm1": (lowest + highest) / 2.0,
        "lasix_max_daily_dose_tm1": highest,
    }


def _laboratory(people: _People, rng: np.random.Generator) -> dict[str, Any]:
    """Numbers of tests, and whether their least, mean and greatest results were low, normal or high."""
    n, count = len(people.age), people.count
    related = {
        "ghba1c": people.has("uncompdiabetes", "compdiabetes"),
        "cre": people.has("renal"),
        "hct": people.has("anemia"),
    }
    related |= {"nt_bnp": people.has("chf")}
    usual = {"crp": 0.05, "esr": 0.07, "nt_bnp": 0.03, "ghba1c": 0.25}
    table: dict[str, Any] = {}
    for test in LABORATORY_TESTS:
        ill = related.get(test, np.zeros(n, dtype=bool))
        tests = rng.poisson(usual.get(test, 0.7) * (1.0 + 0.25 * count) * np.where(ill, 2.0, 1.0))
        centre = 0.9 * ill * (-1.0 if test == "hct" else 1.0) + 0.7 * rng.normal(size=n)
        width = np.abs(rng.normal(size=n)) * np.log1p(np.maximum(tests - 1, 0))
        table[f"{test}_tests_tm1"] = tests
        for which, value in (("min", centre - width), ("mean", centre), ("max", centre + width)):
            levels = {"low": value < -1.0, "high": value > 1.0, "normal": np.abs(value) <= 1.0}
            for level, holds in levels.items():
                table[flag_column(test, which, level)] = (holds & (tests > 0)).astype(np.int64)
    return table
