"""The drawing of the architecture page: which parts there are, and what flows from one to the next.

Every module of the package stands in one box, and an arrow from one box to another means that the second imports the
first and never the other way round; both are checked by a test against the import graph.
"""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

WIDTH, HEIGHT, ACROSS, DOWN = 212, 66, 250, 112  # of a box, and from one to the next


@dataclass(frozen=True)
class Box:
    """A part of the package: its modules, a line on what it does, and its place in the drawing."""

    title: str
    modules: tuple[str, ...]
    does: str
    column: float
    row: float


BOXES = {
    "rows": Box("data, losses", ("data", "losses"), "rows are checked and priced", 0, 0),
    "learning": Box(
        "learners, folds",
        ("learners", "folds", "l1_logistic", "_l1_solver", "_l1_kernels"),
        "models by name, or your own",
        1,
        0,
    ),
    "nuisance": Box("nuisance, fitting", ("nuisance", "fitting", "diagnostics"), "predictions of other folds", 0.5, 1),
    "sweep": Box("sweep, geometry", ("sweep", "geometry"), "one sort, exact extrema", 1.6, 1),
    "support": Box("support, regret", ("support", "regret"), "h, risks of rules, shortfall", 0.5, 2),
    "sets": Box("sets", ("sets",), "best points, sets, frontiers", 0, 3),
    "draws": Box("bootstrap, capacity", ("bootstrap", "capacity"), "random weights, cut-offs", 1, 3),
    "inference": Box("inference", ("inference",), "one procedure per module", 0, 4),
    "rules": Box("rules", ("rules",), "classifiers of the frontier", 1, 4),
    "datasets": Box("datasets", ("datasets",), "known truth, public files", 2, 4),
    "estimation": Box("estimation", ("estimation", "_algorithms"), "fit, points, risks", 0.45, 5),
    "use": Box(
        "alternatives, evaluation",
        ("alternatives", "evaluation", "linear_rules"),
        "better rules, and on other rows",
        1,
        6,
    ),
    "showing": Box("reporting, plots", ("reporting", "plots", "_summary"), "compute nothing new", 2, 6),
    "frontier": Box("frontier", ("testing", "deployment", "frontier"), "one method a question", 0, 7),
    "audit": Box("audit", ("audit",), "from a file to a folder", 0, 8),
    "replication": Box("replication", ("replication",), "the published studies", 1, 8),
    "cli": Box("cli", ("cli", "__main__"), "the commands", 0.5, 9),
}
#: Used by all; left out of the arrows.
EVERYWHERE = ("errors", "_typing", "_reading", "_progress")

ARROWS = {
    ("rows", "nuisance"): "Sample, l0, dl",
    ("learning", "nuisance"): "Learner",
    ("nuisance", "support"): "pairs t",
    ("sweep", "support"): "sums by angle",
    ("support", "sets"): "h",
    ("support", "draws"): "sorted rows",
    ("sets", "inference"): "",
    ("draws", "inference"): "draws",
    ("draws", "rules"): "cut-off",
    ("sets", "estimation"): "",
    ("inference", "frontier"): "results",
    ("rules", "use"): "",
    ("estimation", "use"): "",
    ("estimation", "frontier"): "",
    ("use", "frontier"): "Alternatives",
    ("showing", "frontier"): "",
    ("datasets", "replication"): "",
    ("frontier", "audit"): "",
    ("frontier", "replication"): "",
    ("audit", "cli"): "",
    ("replication", "cli"): "",
}

#: Arrows that go round a box: the x of the gap between boxes, and the row they pass.
ROUND = {("sets", "estimation"): (WIDTH + (ACROSS - WIDTH) / 2, 4)}


def svg() -> str:
    """Draw boxes and arrows, in the colours of the page."""
    columns, rows = (max(getattr(box, along) for box in BOXES.values()) for along in ("column", "row"))
    width, height = ACROSS * columns + WIDTH + 8, DOWN * rows + HEIGHT + 8
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="-4 -4 {width:.0f} {height:.0f}" role="img" '
        f'width="{width:.0f}" aria-label="{escape(_in_words())}" font-family="inherit">',
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0 0 8 4 0 8z" fill="currentColor"/></marker></defs>',
    ]
    parts += [
        _arrow(BOXES[start], BOXES[end], label, ROUND.get((start, end))) for (start, end), label in ARROWS.items()
    ]
    parts += [_box(box) for box in BOXES.values()]
    return "\n".join([*parts, "</svg>"])


def _box(box: Box) -> str:
    x, y = ACROSS * box.column, DOWN * box.row
    middle = x + WIDTH / 2
    return (
        f'<rect x="{x:.0f}" y="{y:.0f}" width="{WIDTH}" height="{HEIGHT}" rx="8" '
        'fill="var(--color-background-secondary, #f5f5f5)" stroke="currentColor"/>'
        f'<text x="{middle:.0f}" y="{y + 28:.0f}" text-anchor="middle" fill="currentColor" font-weight="600" '
        f'font-size="16">{escape(box.title)}</text>'
        f'<text x="{middle:.0f}" y="{y + 49:.0f}" text-anchor="middle" fill="currentColor" '
        f'font-size="13">{escape(box.does)}</text>'
    )


def _arrow(start: Box, end: Box, label: str, past: tuple[float, int] | None) -> str:
    x1, y1 = ACROSS * start.column + WIDTH / 2, DOWN * start.row + HEIGHT
    x2, y2 = ACROSS * end.column + WIDTH / 2, DOWN * end.row
    if start.row == end.row:  # beside each other
        y1, y2 = y1 - HEIGHT / 2, y2 + HEIGHT / 2
        x1, x2 = (x1 - WIDTH / 2, x2 + WIDTH / 2) if x1 > x2 else (x1 + WIDTH / 2, x2 - WIDTH / 2)
    else:
        x1 += 0.25 * max(-WIDTH, min(WIDTH, x2 - x1))
        x2 += 0.25 * max(-WIDTH, min(WIDTH, x1 - x2))
    bends = [] if past is None else [(past[0], DOWN * past[1] + y) for y in (0, HEIGHT)]
    points = " ".join(f"{x:.0f},{y:.0f}" for x, y in [(x1, y1), *bends, (x2, y2)])
    line = f'<polyline points="{points}" fill="none" stroke="currentColor" marker-end="url(#tip)"/>'
    if not label:
        return line
    return line + (
        f'<text x="{(x1 + x2) / 2 + 8:.0f}" y="{(y1 + y2) / 2 + 4:.0f}" fill="currentColor" font-size="12" '
        f'font-style="italic">{escape(label)}</text>'
    )


def _in_words() -> str:
    flows = "; ".join(f"{BOXES[start].title} to {BOXES[end].title}" for start, end in ARROWS)
    return f"What flows from which part of the package to which: {flows}."
