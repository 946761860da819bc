"""What is imported when: public names are there, and nothing heavy is loaded before it is needed."""

import json
import os
import subprocess
import sys

import pytest

import fairfrontier
from fairfrontier import audit

HEAVY = {"numpy", "pandas", "scipy", "sklearn", "numba", "joblib", "narwhals", "matplotlib", "plotly"}
REPORT = "import json, sys; print(json.dumps(sorted(sys.modules)), file=sys.stderr)"
COMMAND = f"""
import runpy, sys
sys.argv = ["fairfrontier", *sys.argv[1:]]
try:
    runpy.run_module("fairfrontier", run_name="__main__")
finally:
    {REPORT}
"""


def modules_after(code, *words):
    """Run Python code in a process of its own; return what it printed and the modules it had imported in the end."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("COV")}
    done = subprocess.run(
        [sys.executable, "-c", code, *words], capture_output=True, text=True, check=True, env=environment
    )
    return done.stdout, set(json.loads(done.stderr.splitlines()[-1]))


@pytest.mark.parametrize(
    ("words", "printed"),
    [
        (["--version"], f"{fairfrontier.__version__}\n"),
        (["version"], f"{fairfrontier.__version__}\n"),
        (["--help"], "--version"),
        (["audit", "--help"], "--fail-on"),
        (["demo", "--help"], "--rows"),
    ],
)
def test_help_and_version_import_nothing_heavy(words, printed):
    output, modules = modules_after(COMMAND, *words)
    assert printed in output
    assert "fairfrontier.cli" in modules
    assert not HEAVY & modules


def test_the_version_is_printed_alone():
    output, _ = modules_after(COMMAND, "--version")
    assert output == f"{fairfrontier.__version__}\n"


@pytest.mark.parametrize(
    "code", ["import fairfrontier", "import fairfrontier.errors", "from fairfrontier.audit import AuditRequest"]
)
def test_the_package_its_errors_and_requests_import_nothing_heavy(code):
    _, modules = modules_after(f"{code}\n{REPORT}")
    assert "fairfrontier" in modules
    assert not HEAVY & modules


def test_only_public_names_are_listed():
    assert dir(fairfrontier) == sorted(fairfrontier.__all__)
    assert dir(fairfrontier) == [
        "Evaluation",
        "FairFrontier",
        "FrontierRule",
        "LinearFrontierRule",
        "Loss",
        "Risks",
        "Thresholded",
        "__version__",
        "cost_loss",
        "criteria",
        "datasets",
        "errors",
        "evaluate",
        "results",
    ]


@pytest.mark.parametrize("package", [fairfrontier, audit])
def test_every_name_listed_exists_and_others_do_not(package):
    for name in dir(package):
        assert getattr(package, name) is getattr(package, name)
    with pytest.raises(AttributeError, match="has no attribute 'absent'"):
        package.absent  # noqa: B018
