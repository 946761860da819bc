"""The architecture page's table and drawing, read off the import contract and the docstrings of the modules.

The order of the rooms is written once, as the layers of the import contract in ``pyproject.toml``; what a module
does is written once, as the first line of its docstring. ``python docs/_ext/architecture.py`` writes the table into
``docs/architecture.md``; a test fails where the page is out of date.
"""

from __future__ import annotations

import ast
import sys
import textwrap
import tomllib
from dataclasses import dataclass
from html import escape
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "fairfrontier"
PAGE = ROOT / "docs" / "architecture.md"
BEGIN, END = "<!-- table of rooms: begin -->", "<!-- table of rooms: end -->"
WIDTH, GAP, LINE, PADDING = 330, 26, 17, 12  # of a box, between boxes, of a line of text, around it
LETTERS = 46  # of a line that fits into a box


@dataclass(frozen=True)
class Room:
    """A room of the package, or a module at its top: its name, what it does, and its modules with what they do."""

    name: str
    does: str
    modules: tuple[tuple[str, str], ...]


def layers() -> list[list[Room]]:
    """Return the rooms in the order in which a row meets them; those of one layer do not import each other."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contract = settings["tool"]["importlinter"]["contracts"][0]
    return [[_room(name.strip()) for name in layer.split("|")] for layer in reversed(contract["layers"])]


def _room(name: str) -> Room:
    place = PACKAGE / name.removeprefix("fairfrontier.").replace(".", "/")
    if not place.is_dir():
        return Room(f"{place.name}.py", _first_line(place.with_suffix(".py")), ())
    modules = sorted(path for path in place.rglob("*.py") if path.name != "__init__.py")
    return Room(
        f"{place.name}/",
        _first_line(place / "__init__.py"),
        tuple((path.relative_to(place).as_posix(), _first_line(path)) for path in modules),
    )


def _first_line(path: Path) -> str:
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return text.split("\n", 1)[0].replace("``", "`").rstrip(".")


def table() -> str:
    """Return the table of rooms and modules as Markdown."""
    lines = ["| room or module | what lives there |", "|---|---|"]
    for layer in layers():
        for room in layer:
            lines.append(f"| **`{room.name}`** | **{room.does}** |")
            lines += [f"| `{room.name}{module}` | {does} |" for module, does in room.modules]
    return "\n".join(lines)


def page_with_table() -> str:
    """Return the text of the page with its table up to date."""
    text = PAGE.read_text(encoding="utf-8")
    head, rest = text.split(BEGIN)
    return f"{head}{BEGIN}\n{table()}\n{END}{rest.split(END)[1]}"


def svg() -> str:
    """Draw the rooms from top to bottom, in the colours of the page."""
    drawn, y, width = [], 0, 0
    arranged = layers()
    for number, layer in enumerate(arranged):
        texts = [textwrap.wrap(room.does, LETTERS) for room in layer]
        height = 2 * PADDING + LINE * (1 + max(len(text) for text in texts))
        for k, (room, text) in enumerate(zip(layer, texts, strict=True)):
            drawn.append(_box(room, text, k * (WIDTH + GAP), y, height))
        width = max(width, len(layer) * (WIDTH + GAP) - GAP)
        if number + 1 < len(arranged):
            drawn.append(_arrow(y + height))
        y += height + GAP
    words = " then ".join(" and ".join(room.name for room in layer) for layer in arranged)
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="-4 -4 {width + 8} {y - GAP + 8}" role="img" '
            f'width="{width + 8}" aria-label="The way of a row: {escape(words)}." font-family="inherit">',
            '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
            '<path d="M0 0 8 4 0 8z" fill="currentColor"/></marker></defs>',
            *drawn,
            "</svg>",
        ]
    )


def _box(room: Room, text: list[str], x: int, y: int, height: int) -> str:
    lines = [
        f'<text x="{x + PADDING}" y="{y + PADDING + LINE * (k + 2) - 4}" fill="currentColor" font-size="13">'
        f"{escape(line)}</text>"
        for k, line in enumerate(text)
    ]
    return (
        f'<g class="room"><rect x="{x}" y="{y}" width="{WIDTH}" height="{height}" rx="8" '
        'fill="var(--color-background-secondary, #f5f5f5)" stroke="currentColor"/>'
        f'<text x="{x + PADDING}" y="{y + PADDING + LINE - 4}" fill="currentColor" font-weight="600" font-size="15">'
        f"{escape(room.name)}</text>{''.join(lines)}</g>"
    )


def _arrow(y: int) -> str:
    x = WIDTH // 2
    return f'<line x1="{x}" y1="{y}" x2="{x}" y2="{y + GAP - 1}" stroke="currentColor" marker-end="url(#tip)"/>'


if __name__ == "__main__":
    PAGE.write_text(page_with_table(), encoding="utf-8")
    sys.exit(0)
