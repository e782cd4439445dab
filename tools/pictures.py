"""`make pictures`: the pictures of README, from a real run: docs/pictures/.

The head of a report in a browser, light and dark. Nothing is drawn by hand; new pictures differ by
what the machine measured.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Literal

from playwright.sync_api import Browser, sync_playwright

ROOT = Path(__file__).resolve().parents[1]
PICTURES = ROOT / "docs" / "pictures"
DYNO = Path(sys.executable).with_name("dyno")
# Width and height in CSS pixels: down to the table of contents.
WINDOW = {"width": 1280, "height": 1080}


def main() -> None:
    """Runs the study quickstart and writes its pictures; about two minutes."""
    PICTURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch, sync_playwright() as playwright:
        run = Path(scratch) / "quickstart"
        subprocess.run([DYNO, "run", "quickstart", "--dir", run], check=True)
        chromium = os.environ.get("CHROMIUM") or shutil.which("chromium")
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        _take(browser, run / "report.html", "light")
        _take(browser, run / "report.html", "dark")
        browser.close()


def _take(browser: Browser, file: Path, scheme: Literal["light", "dark"]) -> None:
    page = browser.new_page(viewport=WINDOW, color_scheme=scheme)  # type: ignore[arg-type]
    page.goto(file.as_uri())
    page.wait_for_load_state("networkidle")
    page.screenshot(path=PICTURES / f"report-{scheme}.png")
    page.close()


if __name__ == "__main__":
    main()
