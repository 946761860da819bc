"""What the pages need of Sphinx: formulas without scripts, the drawing of the rooms, tables of options."""

from __future__ import annotations

import architecture
import click
import typer
from docutils import nodes
from docutils.parsers.rst import Directive
from docutils.utils.math import latex2mathml
from sphinx.application import Sphinx

from fairfrontier.cli import app as command_line


def inline_math(translator, node):
    """Write a formula within text as MathML, which browsers show by themselves."""
    translator.body.append(latex2mathml.tex2mathml(node.astext()))
    raise nodes.SkipNode


def block_math(translator, node):
    """Write a displayed formula."""
    translator.body.append(f'<div class="math">{latex2mathml.tex2mathml(node.astext(), as_block=True)}</div>')
    raise nodes.SkipNode


def types_in_words(app, env, node, content):
    """Leave types such as "column or mapping" as they are; explicit roles, whose content is literal, must resolve."""
    return None if isinstance(content, nodes.literal) else content


class Rooms(Directive):
    """``{rooms}``: the drawing of the architecture."""

    def run(self):
        """Return the drawing."""
        return [nodes.raw("", f'<div class="rooms">{architecture.svg()}</div>', format="html")]


class Options(Directive):
    """``{command-options} audit``: a table of the options of a command, read from the command itself."""

    required_arguments = 1

    def run(self):
        """Return the table."""
        command = typer.main.get_command(command_line).commands[self.arguments[0]]
        rows = [("option", "meaning", "default")]
        for parameter in command.params:
            if isinstance(parameter, click.Argument) or parameter.param_type_name == "argument":
                name = parameter.name.upper()
            else:
                name = " / ".join([*parameter.opts, *parameter.secondary_opts])
            default = "" if parameter.default in (None, False) else str(parameter.default)
            rows.append((name, parameter.help or "", default))
        return [_table(rows)]


def _table(rows):
    head, *body = [_row(row) for row in rows]
    group = nodes.tgroup("", *(nodes.colspec(colwidth=width) for width in (30, 55, 15)), cols=3)
    group += [nodes.thead("", head), nodes.tbody("", *body)]
    return nodes.table("", group)


def _row(cells):
    first, *others = cells
    literal = nodes.literal("", first) if first != "option" else nodes.Text(first)
    entries = [nodes.paragraph("", "", literal), *(nodes.paragraph("", cell) for cell in others)]
    return nodes.row("", *(nodes.entry("", entry) for entry in entries))


def setup(app: Sphinx) -> dict[str, bool]:
    """Register all of it."""
    app.add_html_math_renderer("mathml", (inline_math, None), (block_math, None))
    app.connect("missing-reference", types_in_words)
    app.add_directive("rooms", Rooms)
    app.add_directive("command-options", Options)
    return {"parallel_read_safe": True}
