"""What the package asks for, and what it is tested with, agree."""

import re
import tomllib

from support.pages import ROOT


def _bounds():
    """Lower bounds of everything the package and its extras need, by name."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    needed = project["dependencies"] + [text for name in ("plots", "report", "files", "dask") for text in extras[name]]
    return dict(re.fullmatch(r"([\w-]+)(?:\[\w+\])?>=([\d.]+)", text).groups() for text in needed)


def test_the_oldest_versions_are_the_lower_bounds():
    pins = dict(
        re.fullmatch(r"([\w-]+)==([\d.]+)", line).groups()
        for line in (ROOT / "oldest-versions.txt").read_text().splitlines()
        if not line.startswith("#")
    )
    assert pins.pop("distributed") == pins["dask"]
    for theirs in ("click", "pyparsing"):
        del pins[theirs]
    assert pins == _bounds()


def test_every_warning_but_our_own_is_an_error():
    """A deprecated call of any library fails a test: no test lets another class of warnings pass."""
    options = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["pytest"]["ini_options"]
    assert options["filterwarnings"] == ["error"]
    for path in (ROOT / "tests").glob("test_*.py"):
        passed = re.findall(r"""["'](?:ignore|default)::([\w.]+)""", path.read_text())
        assert all(name.startswith("fairfrontier.errors.") for name in passed), path
