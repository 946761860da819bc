"""A real browser for the tests of the report."""

import shutil
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

QUIET = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
DESKTOP, PHONE = {"width": 1280, "height": 900}, {"width": 360, "height": 740}


@contextmanager
def launched():
    """A running chromium; the tests that need it are skipped where there is none."""
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("chromium is absent: the report is not tried in a browser")
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as tools:
        browser = tools.chromium.launch(executable_path=chromium, args=list(QUIET))
        yield Browser(browser)
        browser.close()


@dataclass
class Tab:
    """A page, and what went on in it: addresses asked for, messages and errors, dialogs."""

    page: Any
    requests: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)
    dialogs: list[str] = field(default_factory=list)

    def text(self, selector: str) -> str:
        """Text of the only element."""
        return self.page.locator(selector).text_content()

    def texts(self, selector: str) -> list[str]:
        """Texts of all elements, without the space around them."""
        return [text.strip() for text in self.page.locator(selector).all_text_contents()]

    def pixel(self, point: list[float]) -> tuple[float, float]:
        """Where on the screen a pair of risks is drawn."""
        x, y = self.page.evaluate(
            """([x, y]) => {
                const plot = document.getElementById("plot"), box = plot.getBoundingClientRect();
                const { xaxis, yaxis } = plot._fullLayout;
                return [box.left + xaxis._offset + xaxis.l2p(x), box.top + yaxis._offset + yaxis.l2p(y)];
            }""",
            list(point),
        )
        return x, y


@dataclass
class Browser:
    """A running browser, and a tab in which one file is opened after the other."""

    program: Any
    kept: Tab | None = None

    def new_tab(self, **options: Any) -> Tab:
        """A tab of its own; ``options`` are those of a browser context."""
        tab = Tab(self.program.new_context(viewport=DESKTOP, **options).new_page())
        tab.page.on("request", lambda request: tab.requests.append(request.url))
        tab.page.on("console", lambda message: tab.complaints.append(f"{message.type}: {message.text}"))
        tab.page.on("pageerror", lambda error: tab.complaints.append(str(error)))

        def dismiss(dialog: Any) -> None:
            tab.dialogs.append(dialog.message)
            dialog.dismiss()

        tab.page.on("dialog", dismiss)
        return tab


@contextmanager
def opened(
    browser: Browser,
    path: Path,
    *,
    script: bool = True,
    color_scheme: str = "light",
    viewport: Any = DESKTOP,
    alone: bool = False,
    **options: Any,
):
    """Open a file anew, in a tab of its own if it is to be ``alone`` or has ``options``, those of a browser context.

    Otherwise in the tab that was used before: a new one starts a process and compiles all scripts again, which takes
    three times as long.
    """
    alone = alone or not script or bool(options)
    if alone:
        tab = browser.new_tab(java_script_enabled=script, **options)
    else:
        tab = browser.kept = browser.kept or browser.new_tab()
        tab.page.goto("about:blank")
        tab.page.mouse.move(0, 0)
    for heard in (tab.requests, tab.complaints, tab.dialogs):
        heard.clear()
    tab.page.set_viewport_size(viewport)
    tab.page.emulate_media(media="null", color_scheme=color_scheme)
    tab.page.goto(path.as_uri())
    if script:
        tab.page.wait_for_selector('#plot[data-drawn="yes"]')
    yield tab
    if alone:
        tab.page.context.close()
