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


MOST_BRANCHES, MOST_LINES, MOST_POSITIONAL = 15, 60, 6
LONG_FOR_ITS_OPTIONS = {"estimator.py: FairFrontier.__init__"}
"""Constructors that keep one option a line, as scikit-learn asks for, and do nothing else."""
FUNCTIONS = ast.FunctionDef | ast.AsyncFunctionDef


def functions(node, where=""):
    """All functions below a node, also those within others, with their names."""
    for child in ast.iter_child_nodes(node):
        name = f"{where}{child.name}" if isinstance(child, FUNCTIONS | ast.ClassDef) else where
        if isinstance(child, FUNCTIONS):
            yield name, child
        yield from functions(child, f"{name}." if name != where else where)


def complexity(function):
    """One, and one more for every way in which a function may branch; functions within it count on their own."""
    return 1 + sum(branches(node) for node in own_nodes(function))


def own_nodes(node):
    """All nodes below one, without those of functions within."""
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, FUNCTIONS):
            yield child
            yield from own_nodes(child)


def branches(node):
    match node:
        case ast.If() | ast.IfExp() | ast.ExceptHandler() | ast.Assert():
            return 1
        case ast.For(orelse=other) | ast.AsyncFor(orelse=other) | ast.While(orelse=other):
            return 1 + bool(other)
        case ast.Try(orelse=other):
            return int(bool(other))
        case ast.BoolOp(values=values):
            return len(values) - 1
        case ast.comprehension(ifs=conditions):
            return 1 + len(conditions)
        case ast.Match(cases=cases):
            return sum(not isinstance(case.pattern, ast.MatchAs) or case.pattern.pattern is not None for case in cases)
    return 0


def code_lines(function, lines):
    """Lines of a function without its docstring, blank lines and comments."""
    first = function.body[0]
    doc = range(first.lineno, first.end_lineno + 1) if ast.get_docstring(function) is not None else range(0)
    own = [lines[at - 1].strip() for at in range(function.lineno, function.end_lineno + 1) if at not in doc]
    return sum(line != "" and not line.startswith("#") for line in own)


def positional(function):
    names = [argument.arg for argument in function.args.posonlyargs + function.args.args]
    return len(names) - (names[:1] in (["self"], ["cls"]))


def compiled_or_command(function):
    return any("njit" in ast.unparse(each) or ".command" in ast.unparse(each) for each in function.decorator_list)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("return 1", 1),
        ("if a:\n  b\nelif c:\n  d\nelse:\n  e", 3),
        ("return 1 if a else 2", 2),
        ("return a and b or c", 3),
        ("for i in a:\n  b\nelse:\n  c", 3),
        ("while a:\n  b", 2),
        ("with a:\n  b", 1),
        ("try:\n  a\nexcept E:\n  b\nexcept F:\n  c\nelse:\n  d\nfinally:\n  e", 4),
        ("assert a", 2),
        ("return [i for i in a for j in i if j if i]", 5),
        ("match a:\n  case 1:\n    b\n  case 2:\n    c\n  case _:\n    d", 3),
        ("return sorted(a, key=lambda i: i or b)", 2),
        ("def g():\n  return 1 if a else 2\nreturn g", 1),
    ],
)
def test_every_branch_is_counted(body, expected):
    function = ast.parse("def f():\n" + "\n".join(f"  {line}" for line in body.splitlines())).body[0]
    assert complexity(function) == expected


def test_lines_and_parameters_are_counted():
    code = 'class A:\n  def f(self, a, /, b, *, c):\n    """Say.\n\n    More.\n    """\n\n    # why\n    return a\n'
    [(name, function)] = functions(ast.parse(code))
    assert (name, code_lines(function, code.splitlines()), positional(function)) == ("A.f", 2, 2)


@pytest.mark.parametrize("path", sorted(SOURCE.rglob("*.py")), ids=lambda path: path.relative_to(SOURCE).as_posix())
def test_functions_are_short_and_simple(path):
    code = path.read_text(encoding="utf-8")
    for name, function in functions(ast.parse(code)):
        where = f"{path.relative_to(SOURCE).as_posix()}: {name}"
        assert complexity(function) <= MOST_BRANCHES, where
        assert code_lines(function, code.splitlines()) <= MOST_LINES or where in LONG_FOR_ITS_OPTIONS, where
        assert positional(function) <= MOST_POSITIONAL or compiled_or_command(function), where
