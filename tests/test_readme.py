"""The examples of the README and of the docstrings run, and show what they print."""

import contextlib
import doctest
import importlib
import io
import pkgutil
import re
from pathlib import Path

import fairfrontier
from fairfrontier.learners import PRESETS

README = Path(__file__).resolve().parents[1] / "README.md"
_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def _same_words_and_numbers(found, shown):
    """Whether two texts agree word by word, numbers up to 0.02 (learners differ a little by platform)."""
    found_words, shown_words = found.split(), shown.split()
    if len(found_words) != len(shown_words):
        return False
    for one, other in zip(found_words, shown_words, strict=True):
        try:
            if abs(float(one) - float(other)) > 0.02:
                return False
        except ValueError:
            if one != other:
                return False
    return True


def test_the_examples_of_the_readme_print_what_is_shown():
    blocks = _BLOCK.findall(README.read_text())
    run = [language for language, _ in blocks if language not in ("sh", "console")]
    assert run == ["python", "text"] * 4 + ["python"]
    names, printed = {}, ""
    for language, text in blocks:
        if language == "python":
            output = io.StringIO()
            with contextlib.redirect_stdout(output):
                exec(compile(text, "README.md", "exec"), names)
            printed = output.getvalue()
        elif language == "text":
            assert _same_words_and_numbers(printed, text), f"printed was\n{printed}"


def test_the_commands_and_learners_of_the_readme_exist():
    text = README.read_text()
    makefile = (README.parent / "Makefile").read_text()
    targets = re.findall(r"(?:^|`)make (\w+)", text, re.MULTILINE)
    assert {"demo", "test"} <= set(targets)
    for target in targets:
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), f"the Makefile has no {target}"
    listed = re.search(r"Learners by name: (.*?)\. ", text, re.DOTALL).group(1)
    assert set(re.findall(r"`([\w-]+)`", listed)) == set(PRESETS)
    for method in re.findall(r"`ff\.(\w+)\(", text):
        assert callable(getattr(fairfrontier.FairFrontier, method))


def test_docstring_examples():
    attempted = 0
    for module in pkgutil.walk_packages(fairfrontier.__path__, "fairfrontier."):
        results = doctest.testmod(importlib.import_module(module.name))
        assert results.failed == 0, f"examples of {module.name} fail; the captured output says which"
        attempted += results.attempted
    assert attempted > 0
