"""Make the pictures of the documentation: run the tutorial's audit, keep its figure, photograph its report; gallery.

Needs chromium and playwright for the report. Run it from anywhere: ``python docs/images/make.py``.
"""

import contextlib
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
PAGE = HERE.parent / "tutorial.md"
LARGEST = 200_000
"""Bytes a picture may have."""


def main() -> None:
    """Make all pictures."""
    text = PAGE.read_text(encoding="utf-8")
    table = re.search(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)[1]
    command = re.search(r"^\$ (fairfrontier audit [^$]* --out loans-audit)$", text, re.MULTILINE)[1].replace("\\", "")
    with tempfile.TemporaryDirectory() as name, contextlib.chdir(name):
        exec(compile(table, str(PAGE), "exec"), {"__name__": "page"})
        program = Path(sys.executable).parent / "fairfrontier"
        subprocess.run([program, *command.split()[1:]], check=True)
        shutil.copy("loans-audit/figures/frontier.png", HERE / "loans-frontier.png")
        photograph(Path("loans-audit/report.html").absolute())
    subprocess.run([sys.executable, HERE / "gallery.py"], check=True)
    for picture in HERE.glob("*.png"):
        size = picture.stat().st_size
        print(f"{picture.name}: {size:,} bytes")
        assert size < LARGEST, picture


def photograph(report: Path) -> None:
    """Photograph the verdict and the picture of a report."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as tools:
        browser = tools.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1100, "height": 900})
        page.goto(report.as_uri())
        page.locator("#plot .main-svg").first.wait_for()
        page.locator("article.card").first.screenshot(path=HERE / "report-answer.png")
        page.locator(".board").screenshot(path=HERE / "report-picture.png")
        browser.close()


if __name__ == "__main__":
    main()
