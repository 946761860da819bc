"""The architecture page: its table and drawing come from the import contract and the docstrings."""

import importlib.util
import sys

import pytest
from support.browser import launched
from support.pages import ROOT


@pytest.fixture(scope="module")
def architecture():
    found = importlib.util.spec_from_file_location("architecture", ROOT / "docs" / "_ext" / "architecture.py")
    module = importlib.util.module_from_spec(found)
    sys.modules["architecture"] = module  # dataclasses look their module up
    found.loader.exec_module(module)
    return module


def test_the_table_is_up_to_date(architecture):
    page = (ROOT / "docs" / "architecture.md").read_text()
    assert page == architecture.page_with_table(), "run: python docs/_ext/architecture.py"


def test_every_part_of_the_package_belongs_to_one_layer(architecture):
    named = [room.name for layer in architecture.layers() for room in layer]
    package = ROOT / "src" / "fairfrontier"
    there = {f"{path.name}/" for path in package.iterdir() if (path / "__init__.py").exists()}
    there |= {path.name for path in package.glob("*.py")} - {"__init__.py", "__main__.py"}
    assert sorted(named) == sorted(there)


def test_every_module_says_what_it_does_in_a_line(architecture):
    rooms = [room for layer in architecture.layers() for room in layer]
    lines = [does for room in rooms for does in (room.does, *(does for _, does in room.modules))]
    assert min(len(line) for line in lines) > 10
    assert max(len(line) for line in lines) <= 117


def test_no_label_of_the_drawing_leaves_its_box(architecture):
    with launched() as browser:
        page = browser.new_tab().page
        page.set_content(f"<body style='font-family: sans-serif'>{architecture.svg()}</body>")
        outside = page.evaluate(
            """() => [...document.querySelectorAll('g.room')].flatMap(group => {
                const box = group.querySelector('rect').getBoundingClientRect();
                return [...group.querySelectorAll('text')].filter(text => {
                    const own = text.getBoundingClientRect();
                    return own.left < box.left || own.right > box.right || own.top < box.top || own.bottom > box.bottom;
                }).map(text => text.textContent);
            })"""
        )
        drawn = page.locator("g.room").count()
    assert drawn == sum(len(layer) for layer in architecture.layers())
    assert outside == []
