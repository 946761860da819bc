"""The site builds strictly and needs no network; every code block and every example runs and prints what is shown."""

import contextlib
import doctest
import importlib
import importlib.util
import inspect
import io
import pkgutil
import re
import sys
import warnings
from pathlib import Path
from unittest.mock import patch

import furo
import pytest
from sphinx.builders.html import StandaloneHTMLBuilder
from sphinx.cmd.build import build_main
from support.gallery import fill_cache
from support.pages import ROOT, blocks, run_page, same_with_gaps
from support.quick import quickly
from support.small_table1 import quick_settings, rough_points

import fairfrontier
from fairfrontier import results
from fairfrontier.audit import run as running
from fairfrontier.audit import write as writing
from fairfrontier.datasets import make_liu_molinari
from fairfrontier.learning.learners import PRESETS
from fairfrontier.replication import simulation, table1

PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")])
#: Why a block may be left alone.
REASONS = {"needs the network"}
INHERITED = {"get_params", "set_params", "set_fit_request", "get_metadata_routing"}  # from scikit-learn
LANGUAGES = {"python", "text", "sh", "console", "toml", "json", "csv", "html"}


def _name(path):
    return str(path.relative_to(ROOT))


@pytest.mark.filterwarnings("default::fairfrontier.errors.FairFrontierWarning")
@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_the_code_of_a_page_runs_and_prints_what_is_shown(page, tmp_path, monkeypatch):
    # of a study of which no number is shown
    monkeypatch.setattr(simulation, "settings", quick_settings)
    monkeypatch.setattr(table1, "true_points", rough_points)
    if page.name == "README.md":  # which shows no number of its audit either, and presumes a table
        monkeypatch.setattr(running, "FairFrontier", quickly(n_boot=99))
        X, y, group = make_liu_molinari(300, design="skewed", random_state=1)
        X.assign(rating=600 + 50 * X["x2"], sex=group, repaid=y).to_csv(tmp_path / "loans.csv", index=False)
    if page.name != "tutorial.md":  # which lists the figures of its audit
        monkeypatch.setattr(writing, "_draw", lambda audit, folder: None)
    if page.parent.name == "gallery":
        (tmp_path / "kept").mkdir()
        fill_cache(tmp_path / "kept")
        monkeypatch.setenv("FAIRFRONTIER_DATA", str(tmp_path / "kept"))
    runnable = [b for b in blocks(page) if b.language in ("python", "sh", "console") and b.not_run is None]
    assert run_page(page, tmp_path) == len(runnable)


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_blocks_say_what_they_are_and_why_they_are_not_run(page):
    for block in blocks(page):
        assert block.language in LANGUAGES or block.language.startswith("{"), f"line {block.line}: {block.language!r}"
        assert block.not_run is None or block.not_run in REASONS, f"line {block.line}: {block.not_run}"


@pytest.mark.parametrize(
    ("found", "shown", "same"),
    [
        ("a 0.51 b", "a 0.50 b", True),
        ("a 0.55 b", "a 0.50 b", False),
        ("a b", "a c", False),
        ("12.3% (0.2)", "12.3% (0.21)", True),
        ("one\ntwo\nthree", "one\n...\nthree", True),
        ("one\nthree", "one\n...\nthree", True),
        ("one\ntwo", "one\n...\nthree", False),
        ("one\ntwo", "one", False),
        ("one", "one\ntwo", False),
        ("", "one", False),
        ("one", "", False),
    ],
)
def test_what_counts_as_the_same_output(found, shown, same):
    assert same_with_gaps(found, shown) is same


def test_only_the_block_after_the_comment_is_left_alone(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("% not run: needs the network\n```sh\nexit 1\n```\n\n```sh\ntouch ran\n```\n")
    assert [block.not_run for block in blocks(page)] == ["needs the network", None]
    assert run_page(page, tmp_path) == 1
    assert (tmp_path / "ran").exists()


def test_a_page_that_shows_something_else_fails(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("```python\nprint(1 + 1)\n```\n\n```text\n3\n```\n")
    with pytest.raises(AssertionError, match="printed was"):
        run_page(page, tmp_path)
    page.write_text("```console\n$ echo one \\\n  two\none three\n```\n")
    with pytest.raises(AssertionError, match="one two"):
        run_page(page, tmp_path)
    page.write_text("```sh\nexit 3\n```\n")
    with pytest.raises(AssertionError, match="exit 3"):
        run_page(page, tmp_path)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The built site. Warnings, unresolved references among them, are errors.

    It is built in this process, which has loaded the package, and without what takes half of the time and is made by
    others from the pages: those of source code, the index of the search and the tree of pages beside each page.
    """
    folder, said = tmp_path_factory.mktemp("site"), io.StringIO()
    words = ["-q", "-W", "--keep-going", "-n", "-b", "html", str(ROOT / "docs"), str(folder)]
    words += ["-D", "extensions=house,myst_parser,sphinx.ext.autodoc,sphinx.ext.napoleon"]
    with (
        patch.object(StandaloneHTMLBuilder, "search", False),
        patch.object(furo, "_compute_navigation_tree", return_value=""),
        patch.object(sys, "path", [*sys.path]),
        contextlib.redirect_stderr(said),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")
        code = build_main(words)
    assert code == 0, said.getvalue()
    return folder


def test_the_site_has_every_page_and_loads_nothing_from_elsewhere(site):
    for page in (ROOT / "docs").rglob("*.md"):
        assert (site / page.relative_to(ROOT / "docs").with_suffix(".html")).exists(), page
    for built in site.rglob("*.html"):
        loaded = re.findall(
            r"""<(?:script|link|img|iframe)\b[^>]*?\b(?:src|href)=["'](https?:)?//""", built.read_text()
        )
        assert not loaded, built


def test_everything_public_is_in_the_reference(site):
    reference = "".join(page.read_text() for page in (site / "api").glob("*.html"))
    for module in (fairfrontier, fairfrontier.datasets, results):
        for name in module.__all__:
            if inspect.ismodule(getattr(module, name)):
                continue
            place = "fairfrontier.results" if name in results.__all__ else module.__name__
            shown = name == "__version__" or f'id="{place}.{name}"' in reference
            assert shown or name in ("Compas", "Dataset"), f"{module.__name__}.{name}"
    for name, member in inspect.getmembers(fairfrontier.FairFrontier, inspect.isfunction):
        if not name.startswith("_") and name not in INHERITED:
            assert f"FairFrontier.{name}" in reference, name
            assert member.__doc__, name
    for preset in PRESETS:
        assert f"presets.{preset.replace('-', '_')}" in reference, preset


def test_examples_of_docstrings():
    """Those of the methods go on from the names that the example of the class has made."""
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    (start,) = doctest.DocTestFinder(recurse=False).find(fairfrontier.FairFrontier)
    assert runner.run(start, clear_globs=False).failed == 0, "the example of the class fails; see the captured output"
    names = {name: start.globs[name] for name in ("X", "y", "group", "ff", "in_use", "three")}
    attempted = len(start.examples)
    for module in pkgutil.walk_packages(fairfrontier.__path__, "fairfrontier."):
        for example in doctest.DocTestFinder().find(importlib.import_module(module.name), extraglobs=names):
            if example.docstring != start.docstring:
                failed, tried = runner.run(example)
                assert failed == 0, f"examples of {example.name} fail; the captured output says which"
                attempted += tried
    assert attempted > 40


def test_functions_named_in_backquotes_exist():
    """Names such as `fairfrontier.module.name` on any page can be imported."""
    named = set()
    for page in PAGES:
        named |= set(re.findall(r"`~?(fairfrontier(?:\.\w+)+)", page.read_text()))
    assert named
    for name in named:
        assert _importable(name), name


def _importable(name):
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:length]))
        except ImportError:
            continue
        for part in parts[length:]:
            if not hasattr(found, part) and part not in getattr(found, "__dataclass_fields__", {}):
                return False
            found = getattr(found, part, None)
        return True
    return False


def test_commands_and_learners_of_the_pages_exist():
    python = (ROOT / "docs/in-python.md").read_text()
    makefile = (ROOT / "Makefile").read_text()
    targets = {t for page in PAGES for t in re.findall(r"(?:^|`)make ([\w-]+)", page.read_text(), re.MULTILINE)}
    assert {"demo", "test", "docs", "bench"} <= targets
    for target in targets:
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), f"the Makefile has no {target}"
    listed = re.search(r"Learners by name: (.*?)\. ", python, re.DOTALL).group(1)
    assert set(re.findall(r"`([\w-]+)`", listed)) == set(PRESETS)
    for method in re.findall(r"`ff\.(\w+)\(", "".join(page.read_text() for page in PAGES)):
        assert callable(getattr(fairfrontier.FairFrontier, method)), method


def test_relative_links_lead_somewhere():
    for page in PAGES:
        for target in re.findall(r"\]\((?!https?:|#|mailto:)([^)#\s]+)", page.read_text()):
            assert (page.parent / target).exists() or (Path(ROOT) / target).exists(), f"{_name(page)}: {target}"
