"""The COMPAS two-year recidivism file of Broward County, reduced to what an analysis needs."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..arrays import IntArray
from ..errors import InputError
from .download import cached_file, data_directory, has_checksum, replacing

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

_URL = "https://raw.githubusercontent.com/propublica/compas-analysis/master/compas-scores-two-years.csv"
_SHA256 = "c451db85908b2f7fef1d83203bedf6b71ecda0d5af468d82ae62178f91d0cc7d"
_REDUCED_SHA256 = "dadca554055d6b42a2c9908b52e4b907b0c0052cc2c199ceb60ae15d4df3e735"
"""SHA-256 of the columns `_NEEDED` of the public file, in this order, as `_reduced` writes them."""


class Compas(NamedTuple):
    """Covariates, outcome (recidivism within two years), race and the decile score of the same people.

    ``excluded`` counts the rows left out, by reason, in the order in which the filters are applied.
    """

    X: pd.DataFrame
    y: IntArray
    sensitive_features: NDArray[Any]
    decile_score: IntArray
    excluded: Mapping[str, int]


def fetch_compas(data_home: str | os.PathLike[str] | None = None, path: str | os.PathLike[str] | None = None) -> Compas:
    """Read the two-year COMPAS file with the usual filters; it is downloaded once unless ``path`` names it.

    Kept are people screened within 30 days of their arrest, with known recidivism, charged with a felony or a
    misdemeanour, with a score, and African-American or Caucasian. Names and dates of birth are not read, and not kept:
    of the public file, published by ProPublica, the cache holds only the columns used here.

    Parameters
    ----------
    data_home : path, optional
        Cache directory; default the environment variable FAIRFRONTIER_DATA, else ``fairfrontier`` in the user's cache
        directory (XDG_CACHE_HOME, or ``~/.cache``).
    path : path, optional
        A comma-separated file to be read instead; nothing is downloaded, so ``data_home`` must be left out. It must
        have the columns of the two-year file that are used, and may have others.

    Returns
    -------
    Compas

    Notes
    -----
    The SHA-256 of the download is compared with that of the public file, and the SHA-256 of what the cache holds at
    every call; a copy in the cache that differs is downloaded anew. A file given by ``path`` has no checksum to meet.
    """
    if path is None:
        return _read(_cached(data_home))
    if data_home is not None:
        raise InputError(
            "bad-option", "Give either `path`, a file to be read, or `data_home`, where a download is kept; not both."
        )
    if not Path(path).is_file():
        raise InputError(
            "bad-option",
            f"There is no file {path}. Give the path of the two-year COMPAS file, or leave `path` out to download it.",
        )
    return _read(Path(path))


def _cached(data_home: str | os.PathLike[str] | None) -> Path:
    """Return the reduced file of the cache. The public file itself, which has names, is never in the cache."""
    kept = data_directory(data_home) / "compas-two-years.csv"
    if not has_checksum(kept, _REDUCED_SHA256):
        with TemporaryDirectory() as passing:
            reduced = _reduced(cached_file("compas-scores-two-years.csv", _URL, _SHA256, passing))
        with replacing(kept) as file:
            file.write(reduced)
    return kept


def _reduced(file: Path) -> bytes:
    """Return the needed columns of a file as they stand there; of columns with one name the first."""
    with file.open(encoding="utf-8", newline="") as stream:
        names, *rows = csv.reader(stream)
    places = [names.index(name) for name in _NEEDED]
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([row[k] for k in places] for row in [names, *rows])
    return text.getvalue().encode()


def _read(file: Path) -> Compas:
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
