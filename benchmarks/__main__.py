"""Run every ``bench_*.py``, print its figures beside their targets, keep them in ``results/latest.json``.

Each module has a function ``run() -> dict`` of figures. Names of modules, such as ``support``, may be given
to run only those. The exit status is 1 if a target is missed.
"""

import importlib
import json
import operator
import os
import platform
import sys
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

HERE = Path(__file__).resolve().parent

#: What must hold, by module and figure.
TARGETS = {
    "support": {
        "ratio": (">=", 50.0),
        "peak_bytes_per_row": ("<", 80.0),
        "largest_difference": ("<", 1e-12),
    },
    "logit_lasso": {"ratio": (">=", 4.0)},
    "inference": {
        "robust_units_10000": ("<=", 3.0),
        "robust_units_1000000": ("<=", 3.0),
        "sharp_units_10000": ("<=", 3.0),
        "sharp_units_1000000": ("<=", 3.0),
        "paper_exact_units_10000": ("<=", 15.0),
        "frontier_set_units_50000": ("<=", 60.0),
        "paper_grid_ratio_2000": (">=", 100.0),
        "robust_ratio_2000": (">=", 300.0),
        "largest_difference": ("<", 1e-8),
    },
    "rules": {"learner_share": (">=", 0.9)},
}

HOLDS = {">=": operator.ge, "<=": operator.le, "<": operator.lt, ">": operator.gt}


def compare(name, figures):
    """Return one row (module, figure, value, target, met) per figure; met is None without a target."""
    targets = TARGETS.get(name, {})
    missing = set(targets) - set(figures)
    if missing:
        raise KeyError(f"bench_{name}.py did not report {sorted(missing)}, for which there are targets")
    rows = []
    for figure, value in figures.items():
        relation, bound = targets.get(figure, (None, None))
        met = None if relation is None else bool(HOLDS[relation](value, bound))
        rows.append((name, figure, value, None if met is None else f"{relation} {bound:g}", met))
    return rows


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


def table(rows):
    """Return the rows as aligned text."""
    header = ("benchmark", "figure", "value", "target", "ok")
    shown = [header] + [
        (name, figure, f"{value:.4g}", target or "", {None: "", True: "yes", False: "NO"}[met])
        for name, figure, value, target, met in rows
    ]
    widths = [max(map(len, column)) for column in zip(*shown, strict=True)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in shown
    )


def main(names):
    """Run the benchmarks named (all without names); return the exit status."""
    known = sorted(path.stem.removeprefix("bench_") for path in HERE.glob("bench_*.py"))
    unknown = sorted(set(names) - set(known))
    if unknown:
        print(f"No benchmark is called {', '.join(unknown)}; there are {', '.join(known)}.", file=sys.stderr)
        return 2
    results = {}
    for name in names or known:
        print(f"Running {name} ...", file=sys.stderr, flush=True)
        results[name] = importlib.import_module(f"benchmarks.bench_{name}").run()
    rows = [row for name, figures in results.items() for row in compare(name, figures)]
    print(table(rows))
    missed = [f"{name}: {figure}" for name, figure, _, _, met in rows if met is False]
    record = {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": machine(),
        "targets": {
            f"{name}: {figure}": {"target": target, "met": met}
            for name, figure, _, target, met in rows
            if target is not None
        },
        "results": results,
    }
    folder = HERE / "results"
    folder.mkdir(exist_ok=True)
    (folder / "latest.json").write_text(json.dumps(record, indent=2) + "\n")
    if missed:
        print(f"Targets missed: {', '.join(missed)}.", file=sys.stderr)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
