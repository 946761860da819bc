"""Time and memory of h at 1,000 directions for a million rows, against the formula direction by direction.

The formula is vectorised over rows, with everything that does not depend on the direction prepared
beforehand and not timed; it is timed at some directions and scaled up to all of them. Times are those of the
processor, so that other programs disturb them less.
"""

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from fairfrontier.frontier.plane import unit_circle
from fairfrontier.frontier.support import build_support_function, make_scores

ROOT = Path(__file__).resolve().parents[1]


def sample(n, seed=0):
    """Return l0, dl, t, group and weight of a generated sample under classification loss."""
    rng = np.random.default_rng(seed)
    t = rng.normal(size=(n, 2))
    group = np.where(rng.random(n) < 0.6, 0, 1)
    y = (rng.random(n) < 0.5).astype(float)
    return y, 1.0 - 2.0 * y, t, group, np.ones(n)


def fast(rows, q):
    """h at the directions q, sorting included."""
    return build_support_function(make_scores(*rows)).estimate.h(q)


def by_group(values, group):
    """Two columns: the values of the rows of the first group, of the second one, zero elsewhere."""
    return np.column_stack([np.where(group == code, values, 0.0) for code in (0, 1)])


def formula(L0, DL, t, mu, q):
    """Mean of p'L0 + p'DL 1{p't > 0} with p = M q, one direction after the other."""
    h = np.empty(len(q))
    for j, p in enumerate(q / mu):
        k = t @ p
        h[j] = np.mean(L0 @ p + (DL @ p) * (k > 0.0))
    return h


def peak_bytes_per_row(rows, q):
    """Peak memory of `fast` beyond its inputs, per row, measured in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        for j, column in enumerate((*rows, q)):
            np.save(Path(folder, f"{j}.npy"), column)
        command = [sys.executable, "-m", "benchmarks.bench_support", folder]
        printed = subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT).stdout
    return float(printed) / len(rows[0])


def print_growth(folder):
    """Print by how many bytes the peak of this process grows while `fast` runs on saved inputs."""
    fast(sample(1000), unit_circle(10))  # compile
    *rows, q = (np.load(Path(folder, f"{j}.npy")) for j in range(6))
    before = peak_bytes()
    fast(rows, q)
    print(peak_bytes() - before)


def peak_bytes():
    """Largest memory this process has held so far."""
    status = Path("/proc/self/status")
    if status.exists():  # unlike ru_maxrss, this one starts anew with the program
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM:"))
        return 1024 * int(line.split()[1])
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


@threadpool_limits.wrap(limits=1)
def run(n=1_000_000, n_directions=1000, n_timed=50) -> dict:
    """Time both on one thread (best of several), compare their values, and measure the memory."""
    q = unit_circle(n_directions, 0.001)
    rows = sample(n)
    l0, dl, t, group, _ = rows
    L0, DL, mu = by_group(l0, group), by_group(dl, group), np.array([1.0 - group.mean(), group.mean()])
    some = q[:: n_directions // n_timed]
    fast(sample(1000), q)  # compile
    seconds, reference_seconds = [], []
    for _ in range(5):
        for _ in range(4):  # it takes less time than the formula, and other programs disturb it more
            start = time.process_time()
            h = fast(rows, q)
            seconds.append(time.process_time() - start)
        start = time.process_time()
        expected = formula(L0, DL, t, mu, some)
        reference_seconds.append((time.process_time() - start) * n_directions / len(some))
    return {
        "n": n,
        "directions": n_directions,
        "seconds": min(seconds),
        "reference_seconds": min(reference_seconds),
        "reference_directions_timed": len(some),
        "ratio": min(reference_seconds) / min(seconds),
        "largest_difference": float(np.abs(h[:: n_directions // n_timed] - expected).max()),
        "peak_bytes_per_row": peak_bytes_per_row(rows, q),
    }


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print_growth(sys.argv[1])
    else:
        print(json.dumps(run(), indent=2))
