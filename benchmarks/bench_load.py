"""Memory and time of whole analyses of many rows, each in a process of its own with two jobs.

`boosting`: a million rows of 20 covariates, learned by boosting with its default tuning. `external`: ten million rows
with nuisance predictions made elsewhere. Both are followed by the test for an alternative, the test of group skew, the
distance to the fairest point and the confidence set of the frontier, 1,000 draws each. The share of
inference in the time is small only beside a learner that takes minutes, so this runs only when named; `bench_memory`
measures the memory of as many rows in less time.

The memory is the sum of the largest memory that the process and each of its workers ever held: more than was held at
any one time, since workers share the covariates.
"""

import json
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np

from fairfrontier import FairFrontier
from fairfrontier.datasets import make_liu_molinari
from fairfrontier.errors import FairFrontierWarning

from .bench_support import ROOT, peak_bytes

N_JOBS = 2


def boosting_inputs(n):
    """Return covariates, what else `fit` needs, and the decisions of an algorithm."""
    data = make_liu_molinari(n, random_state=0)
    decisions = (data.X["x2"] > 0.5).to_numpy().astype(np.int8)
    return data.X, {"y": data.y, "sensitive_features": data.sensitive_features}, decisions


def external_inputs(n):
    """The same without covariates, with nuisance predictions that are right."""
    rng = np.random.default_rng(0)
    nuisance = np.tanh(rng.normal(size=(n, 2)))
    group = (rng.random(n) < 0.6).astype(np.int8)
    own = np.where(group == 1, nuisance[:, 0], nuisance[:, 1])
    y = (rng.random(n) < 0.5 - 0.4 * own).astype(np.int8)
    decisions = (rng.random(n) < 0.5 - 0.2 * own).astype(np.int8)
    nuisance *= (0.8 * 0.6, 0.8 * 0.4)
    return None, {"y": y, "sensitive_features": group, "external_nuisance": nuisance}, decisions


def analyse(ff, X, given, decisions):
    """Fit and ask everything; return the seconds of both."""
    start = time.perf_counter()
    ff.fit(X, **given)
    fitted = time.perf_counter()
    ff.test_lda(decisions)
    ff.test_group_skew()
    ff.distance_to_fairest(decisions).conf_int()
    ff.frontier_confidence_set()
    return fitted - start, time.perf_counter() - fitted


def child(kind, n, n_boot, learner_params):
    """Analyse generated rows in this process and print the seconds and its own peak memory."""
    warnings.simplefilter("ignore", FairFrontierWarning)
    inputs = {"boosting": boosting_inputs, "external": external_inputs}[kind]
    options = {"learner": "boosting", "learner_params": learner_params, "n_rep": 1, "random_state": 0, "n_jobs": N_JOBS}
    analyse(FairFrontier(n_boot=99, **options), *inputs(min(n, 2000)))  # compile
    fit, inference = analyse(FairFrontier(n_boot=n_boot, **options), *inputs(n))
    print(json.dumps({"fit_seconds": fit, "inference_seconds": inference, "own_peak": peak_bytes()}))


def measured(kind, n, n_boot, **learner_params):
    """Run `child` in a process of its own; return its figures, with the peak memory of it and its workers."""
    arguments = json.dumps([kind, n, n_boot, learner_params])
    process = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.bench_load", arguments], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )
    peaks = {}
    while process.poll() is None:
        peaks |= worker_peaks(process.pid)  # peaks only grow, so looking now and then is enough
        time.sleep(1.0)
    printed = process.stdout.read()
    process.stdout.close()
    if process.returncode:
        raise RuntimeError(f"the analysis of {n} rows ended with status {process.returncode}")
    figures = json.loads(printed)
    figures["peak_gigabytes"] = (figures.pop("own_peak") + sum(peaks.values())) / 1e9
    figures["workers"] = len(peaks)
    return figures


def worker_peaks(parent):
    """Largest memory so far of each process that descends from ``parent``; empty where there is no /proc."""
    parents, peaks = {}, {}
    for path in Path("/proc").glob("[0-9]*/status"):
        try:
            fields = dict(line.split(":", 1) for line in path.read_text().splitlines())
        except (OSError, ValueError):  # it has just ended
            continue
        pid = int(path.parent.name)
        parents[pid] = int(fields["PPid"])
        if "VmHWM" in fields:  # else it has ended and waits to be cleared away
            peaks[pid] = 1024 * int(fields["VmHWM"].split()[0])

    def descends(pid):
        while pid in parents:
            pid = parents[pid]
            if pid == parent:
                return True
        return False

    return {pid: peak for pid, peak in peaks.items() if descends(pid)}


def run(boosting_rows=1_000_000, external_rows=10_000_000, n_boot=1000, **learner_params) -> dict:
    """Measure both analyses."""
    figures = {}
    boosting = measured("boosting", boosting_rows, n_boot, **learner_params)
    external = measured("external", external_rows, n_boot)
    for kind, found in (("boosting", boosting), ("external", external)):
        figures |= {f"{kind}_{name}": value for name, value in found.items()}
    total = boosting["fit_seconds"] + boosting["inference_seconds"]
    return figures | {"boosting_inference_share": boosting["inference_seconds"] / total}


if __name__ == "__main__":
    if len(sys.argv) > 1:
        child(*json.loads(sys.argv[1]))
    else:
        print(json.dumps(run(), indent=2))
