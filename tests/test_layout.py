"""Where files of tests are, what they may import, and that private names of the package stay in their modules."""

import ast
import re

import mutation_check
import pytest
from support.pages import ROOT

TESTS = ROOT / "tests"
FILES = sorted(TESTS.rglob("*.py"))
TEST_MODULES = {path.stem for path in FILES if path.name.startswith("test_")}
ELSEWHERE = {"conftest.py", "golden/make.py", "mutation_check.py"}
"""Programs and settings that are neither tests nor helpers of tests."""
IMPORT = re.compile(r"\b(?:from|import)\s+(test_\w+)")


def imported(code):
    """Names of all modules that a piece of code imports, and of test modules that the strings in it import."""
    for node in ast.walk(ast.parse(code)):
        match node:
            case ast.Import(names=names):
                yield from (part for name in names for part in name.name.split("."))
            case ast.ImportFrom(module=module, names=names):
                yield from [*(module or "").split("."), *(name.name for name in names)]
            case ast.Constant(value=str() as text):
                yield from IMPORT.findall(text)


@pytest.mark.parametrize(
    "code",
    [
        "import {name}",
        "import numpy, {name} as own",
        "from {name} import fit",
        "from tests.{name} import fit",
        "from tests import {name}",
        "def later():\n    from {name} import fit",
        "PROGRAM = '''\nimport sys\nfrom {name} import fit\n'''",
    ],
)
def test_every_import_of_a_test_module_would_be_seen(code):
    assert "test_rules" in set(imported(code.format(name="test_rules")))


def test_no_file_imports_a_test_module():
    for path in FILES:
        assert TEST_MODULES.isdisjoint(imported(path.read_text(encoding="utf-8"))), path


def test_helpers_are_in_support():
    for path in FILES:
        name = path.relative_to(TESTS).as_posix()
        assert name in ELSEWHERE or re.fullmatch(r"test_\w+\.py|support/\w+\.py", name), name
        assert not name.startswith("support/test_"), name
    assert all((TESTS / name).exists() for name in ELSEWHERE)


@pytest.mark.parametrize("kind", ["plain", "compiled"])
def test_the_mutation_check_finds_its_tests_and_modules(kind):
    files = mutation_check.tests_for(kind)
    assert len(set(files)) == len(files)
    assert all((ROOT / name).is_file() for name in files)
    assert all(mutation_check.source_of(module).is_file() for module in mutation_check.MODULES)


def test_the_list_of_surviving_mutants_names_modules_and_functions_that_exist():
    text = (TESTS / "mutation_survivors.md").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if line.startswith("| `")]
    assert len(lines) > 10  # the page is read
    for line in lines:
        place, *functions = re.findall(r"`([^`]+)`", line.split("|")[1])
        assert mutation_check.source_of(place).is_file(), line
        code = mutation_check.source_of(place).read_text(encoding="utf-8")
        for name in functions:
            assert f"def {name.rpartition('.')[2]}(" in code, line
    for name in re.findall(r"`((?:tests|frontier|bootstrap|inference|src)/[^`]*)`", text):
        path = name if name.startswith("tests/") else f"src/fairfrontier/{name}"
        assert (ROOT / path).exists() or (ROOT / f"{path}.py").exists(), name


def test_the_mutation_check_refuses_names_of_no_file():
    with pytest.raises(FileNotFoundError, match=r"tests/test_nothing_\*\.py"):
        mutation_check.found_by(TESTS, ["test_layout.py", "test_nothing_*.py"])


SOURCE = ROOT / "src" / "fairfrontier"


def private(name):
    return name.startswith("_") and not name.endswith("__")


def reaching(code):
    """Uses of names with a leading underscore that belong to something else: attributes, imported names and modules."""
    for node in ast.walk(ast.parse(code)):
        match node:
            case ast.Attribute(value=ast.Name(id="self" | "cls") | ast.Call(func=ast.Name(id="super"))):
                continue
            case ast.Attribute(attr=name) if private(name):
                yield ast.unparse(node)
            case ast.ImportFrom(module=module, names=names, level=level):
                own = level > 0 or (module or "").split(".")[0] == "fairfrontier"
                parts = [*(module or "").split("."), *(name.name for name in names)]
                if own and any(private(part) for part in parts):
                    yield ast.unparse(node)


@pytest.mark.parametrize(
    "code",
    [
        "other._x",
        "other._x = 1",
        "self.other._x",
        "f(other)._x()",
        "rows[0]._x",
        "from .module import _x",
        "from . import _module",
        "from ._module import x",
        "from fairfrontier.data import _x",
        "def later():\n    from ..module import x, _y as y",
    ],
)
def test_every_reach_for_a_private_name_would_be_seen(code):
    assert len(list(reaching(code))) == 1


def test_what_is_no_reach_for_a_private_name():
    code = "self._x + cls._x + super()._x(); f.__name__; _x; from sklearn.utils import _x; from . import __version__"
    assert list(reaching(code)) == []


@pytest.mark.parametrize("path", sorted(SOURCE.rglob("*.py")), ids=lambda path: path.relative_to(SOURCE).as_posix())
def test_no_module_reaches_for_the_private_names_of_another(path):
    assert list(reaching(path.read_text(encoding="utf-8"))) == []
