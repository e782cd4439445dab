"""Headless Chromium without a network; pages that it opens must be quiet."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from windows import WAITS_MS

from needed import missing

ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    chromium = os.environ.get("CHROMIUM") or shutil.which("chromium")
    if not chromium:
        missing("no Chromium: apt-get install chromium (or set CHROMIUM)")
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=WAITS_MS)
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(
            executable_path=chromium, args=list(ARGUMENTS), timeout=WAITS_MS
        )
        yield started
        started.close()


@pytest.fixture
def open_file(browser: Any) -> Iterator[Any]:
    """Opens a page by its path; in the end nothing was printed on the console or asked for but such
    pages."""
    contexts, said, asked, own = [], [], [], []

    def dismiss(dialog: Any) -> None:
        said.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def start(path: Path, viewport: dict[str, int], *, before: str = "", **options: Any) -> Any:
        own.append(path.as_uri())
        context = browser.new_context(viewport=viewport, offline=True, **options)
        context.set_default_timeout(WAITS_MS)
        contexts.append(context)
        page = context.new_page()
        if before:  # a script that runs before the page's own
            page.add_init_script(before)
        page.on("console", lambda message: said.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("dialog", dismiss)
        page.on("request", lambda request: asked.append(request.url))
        page.goto(path.as_uri())
        return page

    yield start
    for context in contexts:
        context.close()
    assert said == []
    assert [url for url in asked if not url.startswith((*own, "data:"))] == []


@pytest.fixture
def open_page(open_file: Any, tmp_path: Path) -> Any:
    """Opens a page by its HTML."""

    def start(html: str, viewport: dict[str, int], **options: Any) -> Any:
        path = tmp_path / "page.html"
        path.write_text(html)
        return open_file(path, viewport, **options)

    return start
