"""Rows that are read in parts: time, memory and traffic against their number, and what compression changes.

    python -m benchmarks parts                          10^5 and 10^6 rows, one process and two
    python -m benchmarks.bench_parts rows 7             10^7 rows; each number is a power of ten
    python -m benchmarks.bench_parts workers 6          10^6 rows on clusters of one and two processes
    python -m benchmarks.bench_parts given              4 million rows in memory with predictions made elsewhere
    python -m benchmarks.bench_parts p-values           p-values of cells and of rows on 50 samples

Rows are generated as Parquet files of ten columns in the folder named by FAIRFRONTIER_BIG (default: a temporary one)
and deleted afterwards. Each number of rows is analysed in a process of its own. How long reading, predicting and
counting take is seen by timing the functions that do it. Seconds are those of the processor, which other programs
disturb less, but for `fit_seconds`, writing and clusters.
"""

import json
import os
import pickle
import subprocess
import sys
import tempfile
import time
import warnings
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pandas as pd

from fairfrontier import FairFrontier, in_parts
from fairfrontier.errors import FairFrontierWarning
from fairfrontier.frontier.cells import round_directions

from .bench_support import ROOT, peak_bytes

FILE_ROWS = 500_000
LEARN_ROWS = 100_000
OPTIONS = {"learner": "factored-logit", "learn_rows": LEARN_ROWS, "n_boot": 1000, "random_state": 0}
COLUMNS = {"y": "repaid", "sensitive_features": "sex", "algorithms": {"in use": "approved"}}


def write_rows(n, folder):
    """Write n generated rows as Parquet files: outcome, group, decision and seven covariates."""
    for k, start in enumerate(range(0, n, FILE_ROWS)):
        rng, size = np.random.default_rng(k), min(FILE_ROWS, n - start)
        x, woman = rng.normal(size=(size, 7)).astype(np.float32), rng.random(size) < 0.6
        chance = 1.0 / (1.0 + np.exp(-np.where(woman, x[:, 0] + 0.5 * x[:, 1], x[:, 0] - 0.3 * x[:, 1] + 0.2)))
        frame = pd.DataFrame({f"x{j}": x[:, j] for j in range(7)})
        frame["repaid"] = (rng.random(size) < chance).astype(np.int8)
        frame["approved"] = (x[:, 0] + rng.normal(size=size) > 0.0).astype(np.int8)
        frame["sex"] = pd.Categorical.from_codes(woman.astype(np.int8), ["men", "women"])
        frame.to_parquet(Path(folder, f"{k:05}.parquet"), index=False)


@contextmanager
def rows_in(n):
    """Yield a folder with n generated rows, and remove it."""
    with tempfile.TemporaryDirectory(dir=os.environ.get("FAIRFRONTIER_BIG")) as folder:
        start = time.perf_counter()
        write_rows(n, folder)
        size = sum(path.stat().st_size for path in Path(folder).iterdir())
        yield folder, {"writing_seconds": time.perf_counter() - start, "gigabytes_on_disk": size / 1e9}


class Watch:
    """Adds up the seconds of the processor in functions of a module while they are called as before."""

    def __init__(self, module):
        self.module, self.seconds = module, {}

    def function(self, name, label):
        """Time a function."""
        plain = getattr(self.module, name)

        def timed(*arguments, **options):
            start = time.process_time()
            try:
                return plain(*arguments, **options)
            finally:
                self.seconds[label] = self.seconds.get(label, 0.0) + time.process_time() - start

        setattr(self.module, name, timed)

    def generator(self, name, label):
        """Time what a function yields, without what is done with it."""
        plain = getattr(self.module, name)

        def timed(*arguments, **options):
            found = plain(*arguments, **options)
            while True:
                start = time.process_time()
                one = next(found, None)
                self.seconds[label] = self.seconds.get(label, 0.0) + time.process_time() - start
                if one is None:
                    return
                yield one

        setattr(self.module, name, timed)


def analyse(folder, n, n_rep):
    """Fit and ask in this process; print the figures."""
    warnings.simplefilter("ignore", FairFrontierWarning)
    with tempfile.TemporaryDirectory() as small:  # compile
        write_rows(2000, small)
        ask(FairFrontier(**OPTIONS | {"n_boot": 99, "n_rep": n_rep}).fit(str(small), **COLUMNS))
    watch = Watch(in_parts)
    watch.generator("read_rows", "reading")
    for name, label in (
        ("predict_rows", "predicting"),
        ("count_cells", "counting cells"),
        ("sum_rows", "summing rules"),
        ("cross_fit", "learning"),
        ("diagnose", "diagnostics"),
        ("rules_for", "choosing rules"),
    ):
        watch.function(name, label)
    start, spent = time.perf_counter(), time.process_time()
    ff = FairFrontier(**OPTIONS | {"n_rep": n_rep}).fit(str(folder), **COLUMNS)
    figures = {"fit_seconds": time.perf_counter() - start, "fit_processor_seconds": time.process_time() - spent}
    figures |= {"gigabytes_after_fit": peak_bytes() / 1e9}
    figures |= ask(ff) | {"peak_gigabytes": peak_bytes() / 1e9, "cells": ff.fit_.n_rows}
    figures |= {f"{label.replace(' ', '_')}_seconds": seconds for label, seconds in watch.seconds.items()}
    for label, passes in (("reading", 2), ("predicting", 1), ("counting cells", 1), ("summing rules", 1)):
        figures[f"{label.replace(' ', '_')}_rows_per_second"] = passes * n / watch.seconds[label]
    print(json.dumps(figures))


def ask(ff):
    """Ask about one algorithm; return the seconds of the processor for each question, and the p-value."""
    figures, start = {}, time.process_time()
    for name, question in (
        ("lda", lambda: ff.test_lda("in use")),
        ("skew", ff.test_group_skew),
        ("distance", lambda: ff.distance_to_fairest("in use").conf_int()),
    ):
        answer = question()
        figures[f"{name}_seconds"] = time.process_time() - start
        if name == "lda":
            figures["lda_p_value"] = answer.p_value
        start = time.process_time()
    return figures


def rows(power, n_rep=3):
    """Figures of 10^power rows, in a process of its own."""
    n = 10**power
    with rows_in(n) as (folder, written):
        command = [sys.executable, "-m", "benchmarks.bench_parts", "analyse", folder, str(n), str(n_rep)]
        printed = subprocess.run(command, check=True, cwd=ROOT, stdout=subprocess.PIPE, text=True).stdout
    return {"n": n, "n_rep": n_rep} | written | json.loads(printed)


def workers(power):
    """Seconds of both passes on clusters of one and two processes, and what travels back from the workers."""
    from distributed import Client, LocalCluster

    warnings.simplefilter("ignore", FairFrontierWarning)
    figures, found = {"n": 10**power}, []
    plain = in_parts.over_ranges
    with rows_in(10**power) as (folder, _):
        for n_workers in (1, 2):
            seconds, sent = [], []

            def watched(task, work, progress, *shared, seconds=seconds, sent=sent):
                start = time.perf_counter()
                for one in plain(task, work, progress, *shared):
                    sent.append(len(pickle.dumps(one)))
                    yield one
                seconds.append(time.perf_counter() - start)

            in_parts.over_ranges = watched
            options = {"threads_per_worker": 1, "processes": True, "dashboard_address": "127.0.0.1:0"}
            try:
                with LocalCluster(n_workers=n_workers, **options) as cluster, Client(cluster) as client:
                    # once to compile and to load what workers need
                    for once_more in (False, True):
                        seconds.clear()
                        sent.clear()
                        ff = FairFrontier(**OPTIONS).fit(str(folder), client=client, **COLUMNS)
                        assert once_more or len(seconds) == 2
            finally:
                in_parts.over_ranges = plain
            found.append(ff.test_lda("in use").statistic)
            figures[f"first_pass_seconds_{n_workers}"], figures[f"second_pass_seconds_{n_workers}"] = seconds
            figures[f"megabytes_{n_workers}"] = sum(sent) / 1e6
    one, two = (sum(figures[f"{name}_pass_seconds_{k}"] for name in ("first", "second")) for k in (1, 2))
    return figures | {"speedup_of_two": one / two, "same_bits": float(found[0] == found[1])}


def given(n=4_000_000, n_boot=1000):
    """Rows in memory with predictions made elsewhere: seconds of everything, and of the random weights of all rows."""
    from .bench_load import external_inputs

    warnings.simplefilter("ignore", FairFrontierWarning)
    figures = {"n": n}
    for inputs in (external_inputs(2000), external_inputs(n)):
        _, columns, decisions = inputs
        start = time.process_time()
        ff = FairFrontier(n_boot=n_boot, random_state=0, n_jobs=2, compress=True).fit(None, **columns)
        times = {"fit": time.process_time()}
        ff.test_lda(decisions)
        times["lda"] = time.process_time()
        ff.test_group_skew()
        times["skew"] = time.process_time()
        ff.distance_to_fairest(decisions).conf_int()
        times["distance"] = time.process_time()
        for name, end in times.items():
            figures[f"{name}_seconds"], start = end - start, end
        figures["seconds"] = sum(figures[f"{name}_seconds"] for name in times)
    generator, weights = np.random.Generator(np.random.PCG64(0)), np.empty(n)
    start = time.process_time()
    for _ in range(20):
        generator.standard_exponential(out=weights)
    return figures | {"drawing_weights_seconds": (time.process_time() - start) * n_boot / 20}


def p_values(n_samples=50, n=20_000, n_boot=999):
    """P-values by cells and by rows on generated samples, beside those with other random weights or rounded beforehand.

    Differences are in standard errors of two independent sets of draws, of the p-value at one direction. That of the
    test is the largest over directions of which the draws choose one, so even other weights differ by more.
    """
    from .bench_load import external_inputs

    warnings.simplefilter("ignore", FairFrontierWarning)
    _, columns, decisions = external_inputs(n_samples * n)
    found = []
    for k in range(n_samples):
        some, rng = slice(k * n, (k + 1) * n), np.random.default_rng(k)
        best = columns["external_nuisance"][some] @ (1.0, 1.3) < 0.0
        # a rule that is nearly the best one, so that p-values are neither 0 nor 1
        asked = np.where(rng.random(n) < 0.006, decisions[some], best)
        own = {name: column[some] for name, column in columns.items()}
        each = []
        rounded = own | {"external_nuisance": round_directions(own["external_nuisance"])}
        for given, compress, seed in ((own, False, k), (own, True, k), (own, False, 1000 + k), (rounded, False, k)):
            ff = FairFrontier(n_boot=n_boot, random_state=seed, compress=compress, copies="ignore").fit(None, **given)
            tests = [ff.test_lda(asked, method=method).p_value for method in ("robust", "sharp")]
            each.append((*tests, *ff.points_.to_numpy()[:, :2].ravel()))
        found.append(each)
    by_rows, by_cells, again, rounded = np.array(found).transpose(1, 2, 0)
    figures = {"samples": n_samples, "n": n, "draws": n_boot}
    figures["largest_difference_of_points"] = float(np.abs(by_rows[2:] - by_cells[2:]).max())
    figures["robust_largest_difference"] = float(np.abs(by_rows[0] - by_cells[0]).max())
    figures["sharp_p_values_between"] = [float(np.quantile(by_rows[1], share)) for share in (0.1, 0.9)]
    pairs = {
        "rows_and_cells": (by_rows[1], by_cells[1]),
        "rows_and_other_weights": (by_rows[1], again[1]),
        "rounded_rows_and_cells": (rounded[1], by_cells[1]),
    }
    for name, (one, other) in pairs.items():
        pooled = (one + other) / 2.0
        z = (one - other) / np.sqrt(2.0 * np.maximum(pooled * (1.0 - pooled), 0.5 / n_boot) / n_boot)
        figures |= {
            f"sharp_{name}_largest_difference": float(np.abs(one - other).max()),
            f"sharp_{name}_mean_z": float(z.mean()),
            f"sharp_{name}_root_mean_square_z": float(np.sqrt(np.mean(z**2))),
        }
    return figures


def run() -> dict:
    """Return figures of 10^5 and 10^6 rows, and of one and two processes."""
    figures = {}
    for power in (5, 6):
        figures |= {f"rows_1e{power}_{name}": value for name, value in rows(power).items()}
    return figures | {f"workers_{name}": value for name, value in workers(6).items()}


if __name__ == "__main__":
    what, *more = sys.argv[1:] or ["run"]
    if what == "analyse":
        analyse(more[0], *map(int, more[1:]))
    else:
        asked = {"run": run, "rows": rows, "workers": workers, "given": given, "p-values": p_values}[what]
        print(json.dumps(asked(*map(int, more)), indent=2))
