"""Small data sets that are read in parts, and the ways in which they are."""

import dask.dataframe
import numpy as np
import pandas as pd
import polars as pl
import pyarrow.dataset

from fairfrontier import FairFrontier

FEATURES = ["x1", "x2", "code", "text", "true", "level", "day", "gappy"]
"""Columns that are learned from."""


def people(n=1500, seed=0):
    """A frame with columns of all kinds, with and without gaps, an outcome, two groups and two algorithms."""
    rng = np.random.default_rng(seed)
    x, one = rng.normal(size=(n, 2)), rng.integers(0, 2, n)
    chance = 1.0 / (1.0 + np.exp(-np.where(one == 1, x[:, 0] + 0.5 * x[:, 1], x[:, 0] - 0.3 * x[:, 1])))
    frame = pd.DataFrame(
        {
            "x1": x[:, 0],
            "x2": np.where(rng.random(n) < 0.02, np.nan, x[:, 1]),
            "code": rng.choice([1, 2, 7], n),
            "text": rng.choice(["low", "high", None], n, p=[0.5, 0.45, 0.05]),
            "true": rng.random(n) < 0.5,
            "level": pd.Categorical(rng.choice(["a", "b", "c"], n)),
            "day": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, n), unit="D"),
            "gappy": pd.Series(rng.choice([1, 2, 300], n), dtype="Int64").mask(rng.random(n) < 0.1),
            "y": (rng.random(n) < chance).astype(int),
            "group": np.where(one == 1, "one", "two"),
            "in use": (x[:, 0] + rng.normal(size=n) > 0.0).astype(int),
            "chance": rng.choice([0.0, 0.5, 1.0], n),
            "weight": rng.choice([0.5, 2.0], n),
        }
    )
    t = 0.5 * (1.0 - 2.0 / (1.0 + np.exp(-np.column_stack([x[:, 0] - 0.3 * x[:, 1], x[:, 0] + 0.5 * x[:, 1]]))))
    return frame.assign(t_two=t[:, 0], t_one=t[:, 1])


def write_parts(frame, folder, sizes):
    """Write the rows of a frame as Parquet files of these many rows."""
    folder.mkdir(parents=True)
    bounds = np.cumsum([0, *sizes])
    for k in range(len(sizes)):
        frame.iloc[bounds[k] : bounds[k + 1]].to_parquet(folder / f"{k}.parquet", index=False)
    return folder


def sources(frame, folder):
    """The same rows from every kind of source, by name."""
    n = len(frame)
    five = write_parts(frame, folder / "five", [n // 3, 1, n // 5, 7, n - n // 3 - n // 5 - 8])
    frame.to_parquet(folder / "one.parquet", index=False)
    (folder / "text").mkdir()
    for k, part in enumerate(np.array_split(np.arange(n), 3)):
        frame.iloc[part].to_csv(folder / "text" / f"{k}.csv", index=False)
    return {
        "frame": frame,
        "polars frame": pl.from_pandas(frame),
        "file": folder / "one.parquet",
        "folder": five,
        "pattern": str(five / "*.parquet"),
        "files": sorted(five.glob("*.parquet")),
        "Arrow dataset": pyarrow.dataset.dataset(five),
        "lazy frame": pl.scan_parquet(str(five / "*.parquet")),
        "CSV files": str(folder / "text" / "*.csv"),
        "dask frame": dask.dataframe.from_pandas(frame, npartitions=4),
    }


def fitted(source, **options):
    """A small fit of rows in parts; what `fit` takes is told from what the estimator takes by its name."""
    to_fit = {"y": "y", "sensitive_features": "group", "algorithms": ["in use"]}
    to_fit["features"] = FEATURES
    to_fit |= {
        name: options.pop(name) for name in list(options) if name in (*to_fit, "sample_weight", "clusters", "client")
    }
    if "external_nuisance" in options:
        to_fit |= {"external_nuisance": options.pop("external_nuisance"), "features": None}
    chosen = {"learner": "factored-logit", "n_folds": 2, "n_rep": 1, "n_boot": 99, "random_state": 1} | options
    return FairFrontier(**chosen).fit(source, **to_fit)
