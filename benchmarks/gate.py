"""Compare figures with their targets and with the reference: the figures accepted before.

A target says what must hold, and by its relation whether more or less of a figure is better. Figures with a target are
ratios or memory, never plain seconds, so they can be compared between runs: one that is worse than in the reference by
more than `TOLERANCE` is a regression. `EXACT` figures are errors near rounding; only their targets count.
"""

import operator
from dataclasses import dataclass
from statistics import median

TOLERANCE = 0.30
EXACT = ("largest_difference",)

#: What must hold, by benchmark and figure.
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
    "memory": {
        "boosting_peak_gigabytes": ("<", 4.0),
        "external_peak_gigabytes": ("<", 8.0),
    },
    "load": {
        "boosting_peak_gigabytes": ("<", 4.0),
        "boosting_inference_share": ("<", 0.10),
        "external_peak_gigabytes": ("<", 8.0),
    },
    "parts": {
        "rows_1e6_peak_gigabytes": ("<", 6.0),
        "workers_same_bits": (">=", 1.0),
    },
}

HOLDS = {">=": operator.ge, "<=": operator.le, "<": operator.lt, ">": operator.gt}


@dataclass(frozen=True)
class Row:
    """One figure beside its target and its reference.

    ``target`` is shown text, ``met`` None without one; ``change`` is value / reference, None without a reference;
    ``worse`` is by what factor the figure is worse than the reference (below 1: better), None if it is not compared.
    """

    benchmark: str
    figure: str
    value: float
    target: str | None = None
    met: bool | None = None
    reference: float | None = None
    change: float | None = None
    worse: float | None = None

    @property
    def name(self):
        return f"{self.benchmark}: {self.figure}"

    @property
    def regressed(self):
        return self.worse is not None and not self.worse <= 1.0 + TOLERANCE  # so that nan counts as worse


def more_is_better(benchmark, figure):
    return TARGETS[benchmark][figure][0] in (">=", ">")


def compared(benchmark):
    """Names of the figures that are compared with the reference."""
    return [figure for figure in TARGETS.get(benchmark, {}) if figure not in EXACT]


def rows_of(benchmark, figures, reference):
    """Return a `Row` per figure; ``reference`` are the accepted figures of this benchmark."""
    rows = []
    for figure, value in figures.items():
        known = reference.get(figure)
        change = value / known if known else None
        relation, bound = TARGETS.get(benchmark, {}).get(figure, (None, None))
        if relation is None:
            rows.append(Row(benchmark, figure, value, reference=known, change=change))
            continue
        worse = None
        if figure in compared(benchmark) and change is not None:
            worse = (1.0 / change if change else float("inf")) if more_is_better(benchmark, figure) else change
        met = bool(HOLDS[relation](value, bound))
        rows.append(Row(benchmark, figure, value, f"{relation} {bound:g}", met, known, change, worse))
    return rows


def missing(benchmark, figures, reference):
    """Say which figures are missing, here or in the reference (None: there is nothing to compare with)."""
    targets = TARGETS.get(benchmark, {})
    found = [f"{benchmark}: {figure} has a target and was not reported" for figure in targets if figure not in figures]
    if reference is not None:
        found += [
            f"{benchmark}: {figure} is in the reference and was not reported"
            for figure in reference
            if figure not in figures and figure not in targets
        ]
        found += [
            f"{benchmark}: {figure} is not in the reference; measure and accept it (--accept)"
            for figure in compared(benchmark)
            if figure in figures and not reference.get(figure)
        ]
    return found


def shortfalls(benchmark, figures, reference):
    """Say which targets are missed and which figures are worse than in the reference."""
    found = []
    for row in rows_of(benchmark, figures, reference or {}):
        if row.met is False:
            found.append(f"{row.name} is {row.value:.4g}, target {row.target}")
        if row.regressed:
            found.append(
                f"{row.name} was {row.reference:.4g} and is {row.value:.4g}: {row.worse - 1.0:.0%} worse, "
                f"at most {TOLERANCE:.0%} is allowed"
            )
    return found


def better_of(benchmark, one, other):
    """The better value of each figure that has a target; the rest as in ``one``."""
    best = dict(one)
    for figure in TARGETS.get(benchmark, {}):
        if figure in one and figure in other:
            choose = max if more_is_better(benchmark, figure) else min
            best[figure] = choose(one[figure], other[figure])
    return best


def settle(benchmark, run, reference, repeats=2):
    """Run a benchmark, up to ``repeats`` times more while a figure falls short; the best of all runs counts.

    Noise makes a figure worse in one run, a regression in all of them. Returns the figures and the number of runs.
    """
    figures, runs = run(), 1
    while runs <= repeats and shortfalls(benchmark, figures, reference):
        figures, runs = better_of(benchmark, figures, run()), runs + 1
    return figures, runs


def typical(runs):
    """Median of each figure over several runs, and by what share the largest exceeds the smallest."""
    figures = {figure: median(run[figure] for run in runs) for figure in runs[0]}
    spread = {
        figure: max(run[figure] for run in runs) / low - 1.0
        for figure in figures
        if (low := min(run[figure] for run in runs)) > 0.0
    }
    return figures, spread


def table(rows):
    """Return the rows as a Markdown table."""
    header = ("benchmark", "figure", "value", "target", "met", "reference", "ratio to reference")
    shown = [header, *[_cells(row) for row in rows]]
    widths = [max(map(len, column)) for column in zip(*shown, strict=True)]
    lines = [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |" for row in shown
    ]
    lines.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    return "\n".join(lines)


def _cells(row):
    return (
        row.benchmark,
        row.figure,
        f"{row.value:.4g}",
        row.target or "",
        {None: "", True: "yes", False: "NO"}[row.met],
        "" if row.reference is None else f"{row.reference:.4g}",
        "" if row.change is None else f"{row.change:.2f}" + (" WORSE" if row.regressed else ""),
    )
