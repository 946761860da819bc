"""The report on paper: its page printed to a PDF by a chromium without a window."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from ..errors import InputError, MissingDependencyError

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
"""Programs that can print a page."""
LONGEST = 180
"""Seconds that printing may take."""


def find_browser() -> str:
    """Return the program that prints."""
    for name in BROWSERS:
        if (found := shutil.which(name)) is not None:
            return found
    raise MissingDependencyError(
        f"A PDF is printed by chromium or Chrome, and none of {', '.join(BROWSERS)} is installed where programs are "
        "looked for (PATH). Install one, or open the HTML report in any browser and print it from there."
    )


def write_pdf(page: str, path: Path) -> None:
    """Print a page of HTML to a file of pages."""
    browser = find_browser()
    try:
        path.write_bytes(b"")  # before anything is printed
    except OSError as error:
        raise InputError(
            "bad-file",
            f"{path} cannot be written: {error.strerror or error}. Give the path of a file in a directory that exists.",
        ) from error
    with tempfile.TemporaryDirectory(prefix="fairfrontier-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        source, printed = folder / "report.html", folder / "report.pdf"
        source.write_text(page, encoding="utf-8")
        said = _print(browser, source, printed, folder / "profile")
        if not printed.is_file() or not printed.read_bytes().startswith(b"%PDF"):
            path.unlink()
            last = said.strip().splitlines()[-1:] or ["it said nothing"]
            raise InputError(
                "bad-file",
                f"{path} was not printed: {browser} left no PDF ({last[0][:200]}). Open the HTML report in a "
                "browser and print it from there.",
            )
        shutil.copyfile(printed, path)


def _print(browser: str, source: Path, printed: Path, profile: Path) -> str:
    """Run the browser and return what it said."""
    words = [browser, "--headless", "--disable-gpu", "--no-first-run", "--disable-background-networking"]
    words += ["--disable-sync", "--no-pdf-header-footer", f"--user-data-dir={profile}", f"--print-to-pdf={printed}"]
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        words.append("--no-sandbox")  # chromium refuses to run as root with its sandbox
    try:
        done = subprocess.run(
            [*words, source.as_uri()], capture_output=True, text=True, errors="replace", timeout=LONGEST, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    return done.stderr
