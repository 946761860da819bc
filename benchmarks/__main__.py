"""Run benchmarks, compare their figures with targets and with the reference, and fail if one is missed or worse.

    python -m benchmarks                    all but the slow ones, as `make bench`
    python -m benchmarks load inference     these
    python -m benchmarks --accept           measure three times, take medians, make them the reference

Each ``bench_*.py`` has a function ``run() -> dict`` of figures. The reference is ``results/latest.json``, with the same
table for readers in ``results/latest.md``; only --accept writes them. A plain run leaves its figures in
``results/run.json`` and ``results/run.md``, which are not kept under version control.

Exit status: 0 all is well; 1 a target is missed, a figure is missing, or one is worse than the reference by more than
30% in each of three runs; 2 bad arguments.
"""

import argparse
import importlib
import json
import os
import platform
import sys
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from . import gate

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results"

#: Run only when named: they take many minutes.
SLOW = ("load", "parts")


def known_benchmarks():
    return sorted(path.stem.removeprefix("bench_") for path in HERE.glob("bench_*.py"))


def machine():
    """Return what the figures depend on besides the code."""
    packages = ("fairfrontier", "numpy", "scipy", "numba", "scikit-learn")
    return {
        "cpus": os.cpu_count(),
        "system": platform.system(),
        "architecture": platform.machine(),
        "python": platform.python_version(),
        "packages": {name: version(name) for name in packages},
    }


def read_reference(folder):
    path = folder / "latest.json"
    return json.loads(path.read_text()) if path.exists() else {"results": {}, "machine": {}, "date": "never"}


def measure(names, reference, runs):
    """Run the benchmarks; return figures, numbers of runs and (with several runs) spreads, by benchmark.

    ``runs`` None: once, and up to twice more where something is wrong; a number: that often, for medians.
    """
    results, times, spreads = {}, {}, {}
    for name in names:
        print(f"Running {name} ...", file=sys.stderr, flush=True)
        run = importlib.import_module(f"benchmarks.bench_{name}").run
        if runs is None:
            results[name], times[name] = gate.settle(name, run, reference.get(name, {}))
        else:
            times[name] = runs
            results[name], spreads[name] = gate.typical([run() for _ in range(runs)])
    return results, times, spreads


def write(folder, stem, record, text):
    folder.mkdir(exist_ok=True)
    (folder / f"{stem}.json").write_text(json.dumps(record, indent=2) + "\n")
    (folder / f"{stem}.md").write_text(text)


def page(record, rows):
    """The table with a few words on where it comes from."""
    where = record["machine"]
    return (
        f"# Benchmarks\n\nMeasured {record['date'][:10]} on {where['cpus']} cores ({where['system']}, "
        f"{where['architecture']}, Python {where['python']}). Figures with a target are ratios or memory; the ratio to "
        "the reference is to the figures accepted before these.\n\n" + gate.table(rows) + "\n"
    )


def read_arguments(arguments):
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Run benchmarks with targets.")
    parser.add_argument("names", nargs="*", help=f"default: all but the slow ones ({', '.join(SLOW)})")
    parser.add_argument("--accept", action="store_true", help="make these figures the reference")
    parser.add_argument("--runs", type=int, default=3, help="runs of each benchmark with --accept (default: 3)")
    asked = parser.parse_args(arguments)
    known = known_benchmarks()
    unknown = sorted(set(asked.names) - set(known))
    if unknown:
        parser.error(f"no benchmark is called {', '.join(unknown)}; there are {', '.join(known)}")
    if asked.runs < 1:
        parser.error("--runs must be at least 1")
    asked.names = asked.names or [name for name in known if name not in SLOW]
    return asked


def main(arguments, folder=RESULTS):
    """Run what is asked for; return the exit status."""
    asked = read_arguments(arguments)
    reference = read_reference(folder)
    accepted = reference["results"]
    results, times, spreads = measure(asked.names, accepted, asked.runs if asked.accept else None)
    rows = [row for name, figures in results.items() for row in gate.rows_of(name, figures, accepted.get(name, {}))]
    print(gate.table(rows))
    record = {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": machine(),
        "runs": times,
        "spreads": spreads,
        "results": results,
    }
    wrong = []
    for name, figures in results.items():
        known = None if asked.accept else accepted.get(name, {})
        wrong += gate.missing(name, figures, known) + gate.shortfalls(name, figures, known)
    for problem in wrong:
        print(problem, file=sys.stderr)
    if not asked.accept:
        write(folder, "run", record, page(record, rows))
        if wrong and reference["machine"] != record["machine"]:
            print(f"The reference is from {reference['date']}, another machine or other packages.", file=sys.stderr)
    elif wrong:
        print("Not accepted.", file=sys.stderr)
    else:
        # benchmarks that were not run keep their figures
        for part in ("runs", "spreads", "results"):
            record[part] = dict(sorted({**reference.get(part, {}), **record[part]}.items()))
        kept = [name for name in record["results"] if name not in results]
        rows += [row for name in kept for row in gate.rows_of(name, record["results"][name], {})]
        write(folder, "latest", record, page(record, sorted(rows, key=lambda row: row.benchmark)))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
