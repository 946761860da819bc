"""Running the code blocks of a page of Markdown, and comparing what they print with what the page shows.

``python`` blocks of a page run in order, in one namespace and in one working directory. A ``text`` block shows what the
``python`` block before it printed. ``sh`` blocks run; ``console`` blocks run line by line and show what each line
prints, where a line ``...`` stands for any lines. Other languages are data. A block that cannot run here is preceded
by a comment ``% not run: reason`` (or the same as an HTML comment).
"""

import contextlib
import io
import os
import re
import runpy
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

from typer.testing import CliRunner

from fairfrontier.cli import app

ROOT = Path(__file__).resolve().parents[2]
_BLOCK = re.compile(
    r"(?:^(?:% not run: (?P<why>[^\n]+)|<!-- not run: (?P<html>[^\n]+?) -->)\n\s*)?"
    r"^```(?P<language>[\w{}-]*)[^\n]*\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
_RUN = {"python", "sh", "console"}
TERMINAL = {"COLUMNS": "100", "NO_COLOR": "1"}
"""A terminal of fixed width."""
ECHO = '; echo "exit code $?"'
PROGRAM, MODULE = "fairfrontier ", "python -m fairfrontier."
_QUOTED = re.compile(r"'[^'\n]*'|\"[^\"$`\\\n]*\"")
"""Texts in which no sign means anything to a shell."""


@dataclass(frozen=True)
class Block:
    """One fenced block: its language, its text, the line it starts at, and why it is not run (or None)."""

    language: str
    text: str
    line: int
    not_run: str | None


@dataclass(frozen=True)
class Done:
    """What a command left: its exit code and what it printed."""

    code: int
    out: str
    err: str


def blocks(path):
    """Return the fenced blocks of a page, in order."""
    page = Path(path).read_text(encoding="utf-8")
    return [
        Block(m["language"], m["text"], page.count("\n", 0, m.start("text")) + 1, m["why"] or m["html"])
        for m in _BLOCK.finditer(page)
    ]


def same_words_and_numbers(found, shown):
    """Whether two texts agree word by word, numbers up to 0.02 (learners differ a little by platform)."""
    found_words, shown_words = found.split(), shown.split()
    return len(found_words) == len(shown_words) and all(map(_same_word, found_words, shown_words))


def _same_word(one, other):
    try:
        return abs(float(one.strip("%(),;:")) - float(other.strip("%(),;:"))) <= 0.02
    except ValueError:
        return one == other


def same_with_gaps(found, shown):
    """As `same_words_and_numbers`, where a line ``...`` of what is shown stands for any lines, also none."""
    found_lines, shown_lines = found.rstrip().splitlines(), shown.rstrip().splitlines()
    if not shown_lines:
        return not found_lines
    if shown_lines[0].strip() == "...":
        rest = "\n".join(shown_lines[1:])
        return not rest or any(same_with_gaps("\n".join(found_lines[k:]), rest) for k in range(len(found_lines) + 1))
    if not found_lines or not same_words_and_numbers(found_lines[0], shown_lines[0]):
        return False
    return same_with_gaps("\n".join(found_lines[1:]), "\n".join(shown_lines[1:]))


def run_page(path, folder):
    """Run the blocks of a page in `folder`; return how many ran. Output that differs from the page fails."""
    names, printed, ran = {"__name__": "page"}, "", 0
    for block in blocks(path):
        where = f"{Path(path).name}, line {block.line}"
        if block.not_run is not None:
            continue
        if block.language == "text":
            assert same_with_gaps(printed, block.text), f"{where}: printed was\n{printed}"
        elif block.language == "python":
            output = io.StringIO()
            with contextlib.redirect_stdout(output), contextlib.chdir(folder):
                exec(compile("\n" * (block.line - 1) + block.text, str(path), "exec"), names)
            printed = output.getvalue()
        elif block.language == "sh":
            done = _run(block.text, folder)
            assert done.code == 0, f"{where}: exit {done.code}\n{done.out}{done.err}"
        elif block.language == "console":
            for command, shown in _sessions(block.text):
                done = _run(command, folder)
                assert same_with_gaps(done.out + done.err, shown), f"{where}: printed was\n{done.out}{done.err}"
        ran += block.language in _RUN
    return ran


def _sessions(text):
    """Return the pairs of command and output of a console block."""
    parts = re.split(r"^\$ ", text, flags=re.M)
    assert not parts[0].strip(), "a console block starts with '$ command'"
    for part in parts[1:]:
        lines = part.splitlines()
        length = 1
        while lines[length - 1].endswith("\\"):
            length += 1
        yield "\n".join(lines[:length]), "\n".join(lines[length:])


def _run(command, folder):
    """Run a command in `folder`: the package alone in this process, which has loaded it; all else in a shell."""
    line = command.replace("\\\n", " ").strip()
    program = line.removesuffix(ECHO)
    for start, run in ((PROGRAM, _run_program), (MODULE, _run_module)):
        if program.startswith(start) and not set(_QUOTED.sub("", program)) & set(";|&<>$`*\n"):
            with contextlib.chdir(folder):
                done = run(shlex.split(program))
            said = f"exit code {done.code}\n" if line.endswith(ECHO) else ""
            return Done(0 if said else done.code, done.out + said, done.err)
    environment = os.environ | TERMINAL | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(["bash", "-c", command], cwd=folder, env=environment, capture_output=True, text=True)
    return Done(done.returncode, done.stdout, done.stderr)


def _run_program(words):
    done = CliRunner().invoke(app, words[1:], env=TERMINAL)
    return Done(done.exit_code, done.stdout, done.stderr)


def _run_module(words):
    """Run ``python -m module`` as a new module of this process."""
    name, out, err, code = words[2], io.StringIO(), io.StringIO(), 0
    loaded = sys.modules.pop(name, None)
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), patch.object(sys, "argv", words[2:]):
        try:
            runpy.run_module(name, run_name="__main__")
        except SystemExit as ended:
            code = ended.code or 0
    if loaded is not None:
        sys.modules[name] = loaded
    return Done(code, out.getvalue(), err.getvalue())
