"""A real browser for tests of pages: the system's Chromium, driven by Playwright. Where there is none, tests that need
it are skipped, and say so."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

#: What keeps it from asking anybody for anything.
ARGUMENTS = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync", "--disable-dev-shm-usage"),
)
#: Milliseconds that anything may take before a test gives up, on however busy a machine.
PATIENCE = 90_000


def chromium() -> str | None:
    """Where it is; None where there is none."""
    return shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


def _wait_until_fetched() -> None:
    """Where the environment names a lock, a browser is being fetched as long as it is held."""
    if lock := os.environ.get("BROWSER_LOCK"):
        from fcntl import LOCK_SH, flock

        with open(lock, encoding="utf-8") as held:
            flock(held, LOCK_SH)


def why_not() -> str:
    """Why there is no browser to test with; empty where there is one."""
    _wait_until_fetched()
    try:
        import playwright.sync_api  # noqa: F401
    except ImportError:
        return "Playwright is not installed: pip install playwright"
    return "" if chromium() else "there is no Chromium: apt-get install chromium"


@contextmanager
def browser() -> Iterator[Any]:
    """One browser, with a profile of its own that is thrown away."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        found = play.chromium.launch(executable_path=chromium(), args=list(ARGUMENTS), timeout=PATIENCE)
        try:
            yield found
        finally:
            found.close()


class Visit:
    """A page in the browser, and what it complained of or asked for: `heard` has a line for each error on its console,
    each exception, and each request for anything but itself."""

    def __init__(self, browser: Any, **settings: Any) -> None:
        self.context = browser.new_context(**{"viewport": {"width": 1200, "height": 800}, **settings})
        self.context.set_default_timeout(PATIENCE)
        self.page = self.context.new_page()
        self.heard: list[str] = []
        self.page.on("console", lambda message: self.heard.append(f"console: {message.type} {message.text}"))
        self.page.on("pageerror", lambda error: self.heard.append(f"error: {error}"))
        self.page.on("request", self._asked)

    def _asked(self, request: Any) -> None:
        if not request.url.startswith(("file:", "data:")) or request.resource_type not in ("document", "image"):
            self.heard.append(f"request: {request.url}")

    def open(self, file: Path, place: str = "") -> Any:
        """The page, once its script has run."""
        self.page.goto(f"{file.as_uri()}{place}")
        self.page.wait_for_selector("html[data-ready=yes]", state="attached")
        return self.page

    def close(self) -> None:
        self.context.close()
