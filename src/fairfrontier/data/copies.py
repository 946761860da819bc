"""Copied rows: repetition beyond what the distribution of the rows explains, and which rows to keep together.

Rows with the same covariates and group are *twins*. Twins are common where covariates have few values, and then they
are different people. They are copies, as in files whose rows were oversampled, if one of two signs shows:

* Of the rows of a group with the same outcome, or of all rows, every one occurs k, 2k, ... times for some k > 1.
* Twins have the same outcome far more often than near twins do, who differ in one covariate or in the group. Let o be
  the odds of agreeing on the outcome, and o_j those among near twins who differ in column j. Twins who are different
  people agree by chance, as near twins do, up to the effect of column j on the outcome, so o_j / o is about 1 for the
  columns that matter little. Copies always agree, so o_j / o is small for every column j. This is looked at in all
  rows, then in those of each group and outcome: oversampling repeats one of them. Every row counts once, however many
  twins it has, so that copies of rare rows matter as much as people in crowded cells.

Outcomes enter a decision on the file, and not the clusters: these are cells of covariates and group, so that a fold is
no function of outcomes. (With the first sign they are k identical rows each, the rows before they were copied.) A test
with needless clusters holds its level as well, so a mistaken decision adds at most its own small chance to the level.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd

from ..arrays import AnyArray, BoolArray, FloatArray, IntArray
from .columns import MOST_CLASSES
from .messages import PYTHON, Interface
from .reading import Table

COPIES = ("auto", "keep-together", "ignore")
"""What may be done about rows that repeat."""
FEWEST_TWINS = 10
"""With fewer twins nothing is suspected."""
FEWEST_DISTINCT = 20
"""Different rows from which on it is no chance that every one occurs k, 2k, ... times."""
UNEXPLAINED = 0.6
"""Twins are copies if o_j / o is below this for every column j."""
CROWDED = 0.05
"""With fewer cells of covariates and group per row, rows repeat because there are few cells."""
CHANCE = 3.3
"""Standard errors that are added to the number of twins who disagree before o_j / o is judged."""


@dataclass(frozen=True, slots=True)
class Copies:
    """Copied rows of a sample, and how they are kept together.

    Attributes
    ----------
    rows : int
        Rows that repeat an earlier row in all covariates, group and outcome.
    reason : str
        Why they are taken for copies, in words.
    clusters : integer array (n,)
        Rows kept together, coded 0, 1, ...
    """

    rows: int
    reason: str
    clusters: IntArray

    @property
    def n_clusters(self) -> int:
        """Number of clusters, single rows included."""
        return int(self.clusters.max()) + 1


def find_copies(X: Table, y: FloatArray, group: IntArray) -> Copies | None:
    """Return the rows that are copies of others, or None if repetition is what the distribution explains.

    Parameters
    ----------
    X : frame or array (n, p)
        Covariates.
    y, group : arrays (n,)
        Outcomes, and codes of groups.
    """
    *columns, outcome = hashed_columns(X, group, y)
    return _find(columns, outcome, group, y)


def twins(X: Table, group: IntArray) -> IntArray:
    """Return codes (n,) of the cells of covariates and group."""
    return _codes(_total(hashed_columns(X, group)))


def copies_in_words(found: Copies, n_rows: int, interface: Interface = PYTHON) -> str:
    """Say what was found, what is done about it, and what users can do."""
    ignore, clusters = interface.option("copies", "ignore"), interface.option("clusters", "...")
    return (
        f"{found.rows:,} of {n_rows:,} rows are taken for copies: they repeat an earlier row in all covariates, group "
        f"and outcome, and {found.reason}. Copies are kept together in folds and draws ({found.n_clusters:,} "
        "clusters), since a learner would otherwise be judged by outcomes that it has seen. Leave copies out of the "
        f"data if you can; give {clusters} if you know which rows belong together, or {ignore} if all are different "
        "people."
    )


# --- columns as hashes --------------------------------------------------------------------------------------------


def _columns(X: Table) -> Iterator[AnyArray | pd.Series]:
    if isinstance(X, pd.DataFrame):
        return (X.iloc[:, j] for j in range(X.shape[1]))
    return (X[:, j] for j in range(X.shape[1]))


def hashed_columns(X: Table, *others: AnyArray) -> list[AnyArray]:
    """Return 64 bits for every value of the covariates and of other columns; sums of them identify rows."""
    return [_hashed(column, j) for j, column in enumerate((*_columns(X), *others))]


def _hashed(column: AnyArray | pd.Series, position: int) -> AnyArray:
    """Return 64 random bits for every value of a column; a gap is a value."""
    try:
        codes = pd.factorize(column, use_na_sentinel=False)[0]
    except TypeError:  # values that cannot be compared
        codes = pd.factorize(np.array([repr(value) for value in column], dtype=object))[0]
    bits = np.random.default_rng([position, 7]).integers(2**64, size=int(codes.max(initial=0)) + 1, dtype=np.uint64)
    return np.asarray(bits[codes])


def _total(columns: list[AnyArray]) -> AnyArray:
    total = np.zeros(len(columns[0]), dtype=np.uint64)
    for column in columns:
        total += column  # modulo 2^64
    return total


def _codes(hashes: AnyArray) -> IntArray:
    return pd.factorize(hashes)[0].astype(np.intp, copy=False)


def _others(hashes: AnyArray) -> FloatArray:
    """Return for every row how many other rows have the same hash."""
    codes = _codes(hashes)
    return np.bincount(codes)[codes].astype(np.float64) - 1.0


# --- the two signs ------------------------------------------------------------------------------------------------


def _find(columns: list[AnyArray], outcome: AnyArray, group: IntArray, y: FloatArray) -> Copies | None:
    cell = _total(columns)
    row = _codes(cell + outcome)
    repeated = len(row) - (int(row.max()) + 1)
    if repeated == 0 or np.count_nonzero(_others(cell)) < FEWEST_TWINS:
        return None
    strata = _strata(group, y)
    times = _times(row, strata)
    number = pd.Series(row).groupby(row).cumcount().to_numpy()
    original = _codes(_paired(row, number // times))
    first = np.unique(original, return_index=True)[1]
    suspect = _agree_beyond_chance([column[first] for column in columns], outcome[first], strata[first])
    member = np.isin(group, group[first][suspect])
    if len(np.unique(cell[member])) > CROWDED * np.count_nonzero(member):
        own = np.where(member, _codes(cell), int(original.max()) + 1 + original)
        reason = "rows with the same covariates and group agree on the outcome far more often than rows that differ in "
        return Copies(int(pd.Series(row[member]).duplicated().sum()), reason + "one of these do", _codes(own))
    if (times == 1).all():
        return None
    factors = " or ".join(str(k) for k in sorted({int(k) for k in times[times > 1]}))
    part = "every row" if (times > 1).all() else "every row with their group and outcome"
    return Copies(len(row) - len(first), f"{part} occurs {factors} times or a multiple of that", original)


def _strata(group: IntArray, y: FloatArray) -> IntArray:
    """Codes (n,) of group and outcome, of the group alone if outcomes have many values."""
    outcome = pd.factorize(y)[0]
    return _codes(_paired(group, outcome)) if outcome.max() < MOST_CLASSES else _codes(group)


def _paired(one: IntArray, other: IntArray) -> IntArray:
    return np.asarray(one * (int(other.max()) + 1) + other)


def _times(row: IntArray, strata: IntArray) -> IntArray:
    """How many times (n,) every original row occurs: the common divisor of all counts, or of those of its stratum."""
    counts = np.bincount(row)
    k = _divisor(counts)
    if k > 1:
        return np.full(len(row), k)
    first = np.unique(row, return_index=True)[1]
    return np.array([_divisor(counts[strata[first] == s]) for s in range(int(strata.max()) + 1)])[strata]


def _divisor(counts: IntArray) -> int:
    """Greatest common divisor of the counts; 1 if they are few."""
    return math.gcd(*counts.tolist()) if len(counts) >= FEWEST_DISTINCT else 1


def _agree_beyond_chance(columns: list[AnyArray], outcome: AnyArray, strata: IntArray) -> BoolArray:
    """Return which rows (n,) belong to a stratum, or to a file, in which o_j / o is small for every column j."""
    cell = _total(columns)
    twin = _others(cell) > 0.0
    everywhere = np.zeros(len(cell), dtype=np.intp)
    for stratum in (everywhere, strata):
        suspect = np.bincount(stratum, twin) >= FEWEST_TWINS
        for column in columns:
            if suspect.any():
                suspect &= explained_shares(cell - column, column, outcome, stratum) < UNEXPLAINED
        if suspect.any():
            break
    return np.asarray(suspect[stratum])


def explained_shares(rest: AnyArray, column: AnyArray, outcome: AnyArray, strata: IntArray) -> FloatArray:
    """Return o_j / o for a column j in every stratum of rows; ``rest`` are the hashes of all other columns.

    A row with m others like it in ``rest`` gives each of them the weight 1/m. Twins who disagree are counted with an
    upper limit, and one more near twin is taken to disagree, so that few rows prove nothing.
    """
    near, twin = _others(rest), _others(rest + column)
    both, agree = _others(rest + column + outcome), _others(rest + outcome)
    weight = np.divide(1.0, near, out=np.zeros(len(near)), where=near > 0.0)

    def total(values: FloatArray) -> FloatArray:
        return np.bincount(strata, weight * values).astype(np.float64)

    twins_agree, twins_differ = total(both), total(twin - both)
    near_agree, near_differ = total(agree - both), np.maximum(total(near - twin - agree + both), 0.0)
    # one pair of twins weighs this much, seen from both of its rows
    unit = 2.0 * np.divide(total(weight * twin**2), total(twin), out=np.ones(len(twins_agree)), where=total(twin) > 0.0)
    pairs = twins_differ / unit
    limit = unit * (pairs + CHANCE * np.sqrt(pairs + 1.0) + CHANCE)
    shares = np.full(len(twins_agree), np.inf)
    np.divide(limit * near_agree / (near_differ + 1.0), twins_agree, out=shares, where=twins_agree > 0.0)
    return shares
