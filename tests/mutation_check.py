"""Mutation check: do the tests notice small changes of the code that computes?

Every mutant is one small change of one expression: an arithmetic, comparison or Boolean operator, a number plus or
minus one, a condition negated, a smallest value for a largest one, `break` for `continue`, nothing returned. A mutant
is killed if some test that runs its line fails. Which tests run a line, and how long they take, is recorded first.

    python tests/mutation_check.py record           # once, and again when tests or code have changed
    python tests/mutation_check.py run --sample 300 # in a random order that is the same each time
    python tests/mutation_check.py report

Mutants are compiled in memory: no file of the package is touched. Each is tried in a process forked from one that has
loaded the libraries. Compiled kernels run as plain Python while they are mutated. Results are kept in `.mutation/`, so
that a run may be stopped and goes on where it was.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import copy
import importlib.machinery
import inspect
import json
import os
import random
import resource
import signal
import sys
import time
import types
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from _pytest.runner import runtestprotocol

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "fairfrontier"
STORE = ROOT / ".mutation"
MUTATED = ("frontier/sweep.py", "frontier/support.py", "bootstrap/exact.py", "inference/**/[!_]*.py")
"""Modules to mutate, below the package; a star stands for any name."""
KERNEL_TESTS = ("support_*_definition", "sets_*", "bootstrap_*", "lda_against_*", "lda_results*", "regions_*")
KERNEL_TESTS += ("distance_*", "fairest_point_*", "best_points_*", "group_skew_*")
"""Tests, `tests/test_*.py` by name, that run with kernels as plain Python too."""
OTHER_TESTS = ("inference_errors*", "support_against_r", "inference_against_r", "frontier_errors*")
OTHER_TESTS += ("frontier_properties*", "capacity_against_*", "regret_*", "invariances*")
EXAMPLES = 15
"""Most examples of a property-based test."""
LONGEST_TEST = 3.0
"""Seconds of computing after which a test is left out of the record."""
LONGEST_WAIT = 60.0
"""Seconds after which a test is left out although it hardly computes: stopping a thread can leave others waiting."""
OPTIONS = (
    *("-q", "-m", "not slow", "-p", "no:cacheprovider", "-p", "no:xdist", "-p", "no:pytest_cov"),
    *("-W", "ignore::pytest.PytestAssertRewriteWarning"),  # libraries are loaded before pytest starts
)

ARITHMETIC = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Div, ast.Mod: ast.Div,
    ast.Pow: ast.Mult, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd, ast.LShift: ast.RShift, ast.RShift: ast.LShift,
}  # fmt: skip
COMPARISON = {
    ast.Lt: (ast.LtE, ast.GtE), ast.LtE: (ast.Lt, ast.Gt), ast.Gt: (ast.GtE, ast.LtE), ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,), ast.NotEq: (ast.Eq,), ast.Is: (ast.IsNot,), ast.IsNot: (ast.Is,), ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}  # fmt: skip
OPPOSITE = {
    "min": "max", "max": "min", "minimum": "maximum", "maximum": "minimum", "any": "all", "all": "any",
    "floor": "ceil", "ceil": "floor", "argmin": "argmax", "argmax": "argmin",
}  # fmt: skip


@dataclass(frozen=True)
class Mutant:
    """One change: node number ``node`` (in walking order) of a module becomes ``becomes``."""

    module: str
    line: int
    node: int
    variant: int
    was: str
    becomes: str
    in_kernel: bool
    in_function: bool

    @property
    def kind(self) -> str:
        return "plain" if self.in_kernel else "compiled"

    @property
    def name(self) -> str:
        return f"{self.module}:{self.line} [{self.node}.{self.variant}] {self.was} -> {self.becomes}"


def found_by(folder: Path, patterns: Sequence[str]) -> list[Path]:
    """Files below a folder in the order of the patterns; each pattern must match one, so that no list goes stale."""
    found: dict[Path, None] = {}
    for pattern in patterns:
        own = sorted(folder.glob(pattern))
        if not own:
            raise FileNotFoundError(f"mutation_check.py names {folder.name}/{pattern}, but there is no such file")
        found |= dict.fromkeys(own)
    return list(found)


MODULES = tuple(".".join(path.relative_to(PACKAGE).with_suffix("").parts) for path in found_by(PACKAGE, MUTATED))


def source_of(module: str) -> Path:
    return PACKAGE / (module.replace(".", "/") + ".py")


def is_kernel(node: ast.AST) -> bool:
    return isinstance(node, ast.FunctionDef) and any("njit" in ast.unparse(d) for d in node.decorator_list)


def changes(node: ast.AST) -> Iterator[ast.AST]:
    """All changed copies of one node."""

    def changed(**fields: object) -> ast.AST:
        other = copy.deepcopy(node)
        for name, value in fields.items():
            setattr(other, name, value)
        return other

    match node:
        case ast.BinOp(op=op) | ast.AugAssign(op=op) if type(op) in ARITHMETIC:
            yield changed(op=ARITHMETIC[type(op)]())
        case ast.Compare(ops=ops):
            for k, op in enumerate(ops):
                for new in COMPARISON[type(op)]:
                    yield changed(ops=[*ops[:k], new(), *ops[k + 1 :]])
        case ast.BoolOp(op=op):
            yield changed(op=ast.Or() if isinstance(op, ast.And) else ast.And())
        case ast.UnaryOp(op=ast.Not() | ast.USub() | ast.Invert(), operand=operand):
            yield operand
        case ast.Constant(value=bool() as value):
            yield changed(value=not value)
        case ast.Constant(value=int() | float() as value):
            yield changed(value=value + 1)
            yield changed(value=value - 1)
        case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test) if not isinstance(test, ast.Compare):
            if not isinstance(test, ast.Constant | ast.UnaryOp):
                yield changed(test=ast.UnaryOp(ast.Not(), test))
        case ast.Attribute(attr=name) if name in OPPOSITE:
            yield changed(attr=OPPOSITE[name])
        case ast.Name(id=name) if name in OPPOSITE:
            yield changed(id=OPPOSITE[name])
        case ast.Return(value=value) if value is not None and not (
            isinstance(value, ast.Constant) and value.value is None
        ):
            yield changed(value=ast.Constant(None))
        case ast.Break():
            yield ast.Continue()
        case ast.Continue():
            yield ast.Break()


def code_nodes(tree: ast.AST) -> Iterator[tuple[ast.AST, ast.AST, str, int | None, bool]]:
    """All nodes that compute: (node, parent, field, index in it, whether inside a kernel)."""

    def walk(node: ast.AST, kernel: bool) -> Iterator[tuple[ast.AST, ast.AST, str, int | None, bool]]:
        for field, value in ast.iter_fields(node):
            if field in ("annotation", "returns", "decorator_list", "format_spec", "type_comment"):
                continue
            for index, child in enumerate(value) if isinstance(value, list) else [(None, value)]:
                if not isinstance(child, ast.AST) or isinstance(child, (ast.Raise, ast.Import, ast.ImportFrom)):
                    continue
                yield child, node, field, index, kernel
                yield from walk(child, kernel or is_kernel(child))

    yield from walk(tree, False)


def all_mutants(module: str) -> list[Mutant]:
    found = []
    tree = ast.parse(source_of(module).read_text())
    for number, (node, _, _, _, kernel) in enumerate(code_nodes(tree)):
        for variant, new in enumerate(changes(node)):
            was, becomes = (ast.unparse(ast.fix_missing_locations(x)).split("\n")[0] for x in (node, new))
            found.append(
                Mutant(module, node.lineno, number, variant, was, becomes, kernel, owner(tree, node.lineno) is not None)
            )
    return found


def without_compilation(tree: ast.AST) -> None:
    for node in ast.walk(tree):
        if is_kernel(node):
            node.decorator_list = []


def mutated_tree(mutant: Mutant) -> ast.Module:
    tree = ast.parse(source_of(mutant.module).read_text())
    node, parent, field, index, _ = list(code_nodes(tree))[mutant.node]
    new = list(changes(node))[mutant.variant]
    ast.copy_location(new, node)
    if index is None:
        setattr(parent, field, new)
    else:
        getattr(parent, field)[index] = new
    if mutant.in_kernel:
        without_compilation(tree)
    return ast.fix_missing_locations(tree)


def load_instead(trees: dict[str, ast.Module]) -> None:
    """From now on modules of the package are loaded from these trees."""
    original = importlib.machinery.SourceFileLoader.get_code

    def get_code(self: importlib.machinery.SourceFileLoader, name: str) -> object:
        tree = trees.get(name.removeprefix("fairfrontier."))
        return original(self, name) if tree is None else compile(tree, self.path, "exec")

    importlib.machinery.SourceFileLoader.get_code = get_code  # type: ignore[method-assign, assignment]


def few_examples() -> None:
    """Property-based tests try few examples, and do not look for simpler ones when they fail."""
    import hypothesis

    original = hypothesis.settings.__init__

    def init(self: hypothesis.settings, parent: object = None, **options: object) -> None:
        options["max_examples"] = min(options.get("max_examples") or EXAMPLES, EXAMPLES)
        options |= {"phases": (hypothesis.Phase.explicit, hypothesis.Phase.generate), "database": None}
        original(self, parent, **options)

    hypothesis.settings.__init__ = init  # type: ignore[method-assign]


class TooLong(BaseException):
    """A test takes too long."""


def raise_too_long(*_: object) -> None:
    raise TooLong


class Recorder:
    """Which test passes, how long it takes and which lines of the mutated modules it runs."""

    def __init__(self, kind: str) -> None:
        import coverage

        self.kind, self.file = kind, ""
        self.coverage = coverage.Coverage(source=[str(PACKAGE)], data_file=None, config_file=False)
        self.seconds: dict[str, float] = {}
        self.failed: set[str] = set()

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        file = nodeid.split("::")[0]
        if file != self.file:
            self.keep()
            self.file = file
        self.coverage.switch_context(f"{nodeid}|setup")
        self.seconds[nodeid] = -time.process_time()
        signal.setitimer(signal.ITIMER_PROF, LONGEST_TEST)
        signal.setitimer(signal.ITIMER_REAL, LONGEST_WAIT, LONGEST_WAIT)

    def pytest_runtest_call(self, item: pytest.Item) -> None:
        self.coverage.switch_context(item.nodeid)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if not report.passed:
            self.failed.add(report.nodeid)

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        for timer in (signal.ITIMER_PROF, signal.ITIMER_REAL):
            signal.setitimer(timer, 0.0)
        self.seconds[nodeid] += time.process_time()
        print(f"{self.seconds[nodeid]:.2f}", nodeid, "FAILED" * (nodeid in self.failed), file=sys.stderr, flush=True)

    def keep(self) -> None:
        """Write down what is known so far."""
        data = self.coverage.get_data()
        lines: dict[str, dict[str, list[str]]] = {}
        for module in MODULES:
            by_line = data.contexts_by_lineno(str(source_of(module)))
            lines[module] = {str(line): sorted(set(tests) - {""}) for line, tests in by_line.items()}
        STORE.mkdir(exist_ok=True)
        seconds = {test: round(s, 3) for test, s in self.seconds.items() if test not in self.failed}
        known = {"seconds": seconds, "lines": lines, "left out": sorted(self.failed)}
        (STORE / f"{self.kind}.json").write_text(json.dumps(known))


def load_as(kind: str) -> None:
    """Load the package with its kernels compiled, or those of the mutated modules as plain Python."""
    trees = {}
    if kind == "plain":
        for module in MODULES:
            trees[module] = ast.parse(source_of(module).read_text())
            without_compilation(trees[module])
    load_instead(trees)
    sys.path.insert(0, str(PACKAGE.parent))
    os.chdir(ROOT)
    few_examples()


def tests_for(kind: str) -> list[str]:
    names = KERNEL_TESTS + (OTHER_TESTS if kind == "compiled" else ())
    paths = found_by(ROOT / "tests", [f"test_{name}.py" for name in names])
    return [str(path.relative_to(ROOT)) for path in paths]


def record(kind: str) -> None:
    """Run all tests once, with kernels compiled or as plain Python, and keep which lines they run."""
    load_as(kind)
    for number in (signal.SIGPROF, signal.SIGALRM):
        signal.signal(number, raise_too_long)
    recorder = Recorder(kind)
    recorder.coverage.start()
    pytest.main([*OPTIONS, "--tb=line", *tests_for(kind)], plugins=[recorder])
    recorder.coverage.stop()
    recorder.keep()


def tests_of(mutant: Mutant, known: dict[str, dict], patience: float) -> list[str]:
    """Tests that run the mutant's line; where a shared fixture runs it, all tests of that file. Quick files first."""
    own = known[mutant.kind]
    seconds, lines = own["seconds"], own["lines"][mutant.module]
    contexts = set(lines.get(str(mutant.line), ())) if mutant.in_function else set().union(*lines.values())
    fixture_files = {test.split("::")[0] for test in contexts if test.endswith("|setup")}
    chosen = {test for test in seconds if test in contexts or test.split("::")[0] in fixture_files}
    kept, spent = [], 0.0
    for test in sorted(chosen, key=seconds.get):
        spent += seconds[test]
        if spent <= patience:
            kept.append(test)
    total: dict[str, float] = {}
    for test in kept:
        file = test.split("::")[0]
        total[file] = total.get(file, 0.0) + seconds[test]
    return sorted(kept, key=lambda test: (total[test.split("::")[0]], test.split("::")[0], seconds[test]))


def owner(tree: ast.Module, line: int) -> ast.AST | None:
    """The outermost function, of the module or of a class, whose body holds the line."""
    for node in [*tree.body, *(child for top in tree.body if isinstance(top, ast.ClassDef) for child in top.body)]:
        if isinstance(node, ast.FunctionDef) and node.body[0].lineno <= line <= node.end_lineno:
            return node
    return None


def change_loaded(mutant: Mutant) -> None:
    """Give the loaded function the mutant's code; all references to it see the change."""
    tree = mutated_tree(mutant)
    line = owner(tree, mutant.line).lineno
    found = compile(tree, str(source_of(mutant.module)), "exec")
    inside = [x for x in found.co_consts if hasattr(x, "co_code")]
    inside += [x for top in inside for x in top.co_consts if hasattr(x, "co_code") and "<locals>" not in x.co_qualname]
    (code,) = (x for x in inside if owner_line(x, tree) == line)
    target: object = sys.modules[f"fairfrontier.{mutant.module}"]
    for name in code.co_qualname.split("."):
        target = inspect.getattr_static(target, name)
    for wrapper in ("fget", "__func__", "func"):
        target = getattr(target, wrapper, target)
    target.__code__ = code  # type: ignore[attr-defined]


def owner_line(code: types.CodeType, tree: ast.Module) -> int:
    """Line of the `def` of a code object, which starts at its first decorator."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name == code.co_name:
            first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
            if first == code.co_firstlineno:
                return node.lineno
    return -1


def in_fork(action: Callable[[], bool], cpu_seconds: float) -> str:
    """Whether a forked process says that the tests pass: killed, survived, or timeout."""
    child = os.fork()
    if child == 0:
        with contextlib.suppress(BaseException):
            os.setpgid(0, 0)
            resource.setrlimit(resource.RLIMIT_CPU, (int(cpu_seconds) + 1, int(cpu_seconds) + 2))
            null = os.open(os.devnull, os.O_WRONLY)
            for stream in (1, 2):
                os.dup2(null, stream)
            os._exit(0 if action() else 1)
        os._exit(1)
    deadline = time.monotonic() + 20.0 * cpu_seconds
    while time.monotonic() < deadline:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            if os.WIFSIGNALED(status):
                return "timeout" if os.WTERMSIG(status) in (signal.SIGXCPU, signal.SIGKILL) else "killed"
            return "survived" if status == 0 else "killed"
        time.sleep(0.02)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return "timeout"


@dataclass
class Trial:
    """Instead of running the collected tests, run those of each mutant in a forked process."""

    mutants: list[Mutant]
    known: dict[str, dict]
    first: list[str]
    patience: float

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        items = {item.nodeid: item for item in session.items}
        first = [name for name in items if any(text in name for text in self.first)]
        if first and in_fork(lambda: passes(None, [items[name] for name in first]), 60.0) != "survived":
            print("These tests fail without any mutation:", *self.first, file=sys.stderr, flush=True)
            os._exit(1)
        for mutant in self.mutants:
            recorded = tests_of(mutant, self.known, self.patience)
            tests = first + [test for test in recorded if test in items and test not in first]
            expected = sum(self.known[mutant.kind]["seconds"].get(test, 0.02) for test in tests)
            began = time.monotonic()
            outcome = "survived"
            if tests:
                outcome = in_fork(lambda m=mutant, t=tests: passes(m, [items[x] for x in t]), 2.0 + 2.0 * expected)
            row = {"mutant": mutant.name, "outcome": outcome, "tests": len(tests)}
            row["seconds"] = round(time.monotonic() - began, 1)
            with (STORE / "results.jsonl").open("a") as file:
                file.write(json.dumps(row) + "\n")
            print(outcome, row["seconds"], len(tests), mutant.name, file=sys.stderr, flush=True)
        return True


def passes(mutant: Mutant | None, items: list[pytest.Item]) -> bool:
    if mutant is None or mutant.in_function:
        if mutant is not None:
            change_loaded(mutant)
        for item, following in zip(items, [*items[1:], None], strict=True):
            if any(report.failed for report in runtestprotocol(item, log=False, nextitem=following)):
                return False
        return True
    for name in list(sys.modules):  # the module itself changes: load everything anew
        if name.split(".")[0] in ("fairfrontier", "support", "conftest") or name.startswith("test_"):
            del sys.modules[name]
    load_instead({mutant.module: mutated_tree(mutant)})
    return pytest.main([*OPTIONS, "-x", "--tb=no", *(item.nodeid for item in items)]) == 0


def in_random_order(mutants: list[Mutant]) -> list[Mutant]:
    """Shuffle within modules and interleave them, so that the first of them are a sample from every module."""
    ranked = []
    for module in MODULES:
        own = [m for m in mutants if m.module == module]
        random.Random(module).shuffle(own)
        ranked += [((k + 0.5) / len(own), m.module, m) for k, m in enumerate(own)]
    return [m for *_, m in sorted(ranked, key=lambda x: x[:2])]


def results() -> dict[str, dict]:
    path = STORE / "results.jsonl"
    rows = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    return {row["mutant"]: row for row in rows}


def run(kind: str, given: argparse.Namespace) -> None:
    """Try those mutants of the sample that have no result yet."""
    known = {name: json.loads((STORE / f"{name}.json").read_text()) for name in ("compiled", "plain")}
    part, parts = (int(x) for x in given.part.split("/"))
    chosen = in_random_order([m for module in MODULES for m in all_mutants(module)])[: given.sample]
    chosen = [m for m in chosen if m.name.startswith(tuple(given.only)) and m.kind == kind][part - 1 :: parts]
    done = results()
    left = [m for m in chosen if m.name not in done or (given.again and done[m.name]["outcome"] == "survived")]
    load_as(kind)
    pytest.main([*OPTIONS, *tests_for(kind)], plugins=[Trial(left, known, given.first, given.patience)])


def report() -> None:
    found = results()
    for module in MODULES:
        own = [row for name, row in found.items() if name.startswith(f"{module}:")]
        counts = {x: sum(row["outcome"] == x for row in own) for x in ("killed", "timeout", "survived")}
        print(f"{module:28} made {len(all_mutants(module)):5} tried {len(own):5}", counts)
    for name, row in sorted(found.items()):
        if row["outcome"] == "survived":
            print(name, f"({row['tests']} tests)")


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # before any numerical library is loaded
    os.environ["CI"] = "1"  # hypothesis tries the same examples every time
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("what", choices=["record", "run", "report"])
    parser.add_argument("--sample", type=int, default=10**9, help="how many mutants (default: all)")
    parser.add_argument("--part", default="1/1", help="this part of them, as 1/2 and 2/2 for two processes")
    parser.add_argument(
        "--only", nargs="+", default=[""], help="only mutants whose names start like this, as frontier.sweep:41"
    )
    parser.add_argument("--first", nargs="+", default=[], help="new tests, by part of their names: tried first")
    parser.add_argument("--again", action="store_true", help="try survivors again")
    parser.add_argument("--patience", type=float, default=15.0, help="seconds of computing for a mutant's tests")
    parser.add_argument("--kind", choices=["compiled", "plain"], help="only mutants outside kernels, or in them")
    given = parser.parse_args()
    if given.what == "report":
        report()
        sys.exit()
    for kind in ("compiled", "plain") if given.kind is None else (given.kind,):
        child = os.fork()  # each kind in its own process, since modules are loaded differently
        if child == 0:
            record(kind) if given.what == "record" else run(kind, given)
            os._exit(0)
        if os.waitpid(child, 0)[1] != 0:
            sys.exit(1)
