"""`make pictures`: the pictures of README, from real runs: docs/pictures/.

A report in a browser, light and dark, and a terminal. Nothing is drawn by hand; new pictures differ
by what the machine measured.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright
from rich.console import Console
from rich.text import Text

ROOT = Path(__file__).resolve().parents[1]
PICTURES = ROOT / "docs" / "pictures"
DYNO = Path(sys.executable).with_name("dyno")
# Width and height in CSS pixels: the head of a report, down to its first chart.
WINDOW = {"width": 1280, "height": 1080}
COLUMNS = 100


def main() -> None:
    """Runs what is shown, and writes the pictures; about three minutes."""
    PICTURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        run = Path(scratch) / "quickstart"
        dyno("run", "quickstart", "--dir", str(run))
        with sync_playwright() as playwright:
            chromium = os.environ.get("CHROMIUM") or shutil.which("chromium")
            browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
            for scheme in ("light", "dark"):
                _report(browser, run / "report.html", scheme)
        _terminal(["report", str(run)], "terminal")


def dyno(*words: str) -> str:
    """What a command prints, in colours, as on a terminal of `COLUMNS` columns."""
    colours = {"FORCE_COLOR": "1", "COLUMNS": str(COLUMNS), "TERM": "xterm-256color"}
    print("dyno", *words, file=sys.stderr)
    done = subprocess.run(
        [DYNO, *words], env={**os.environ, **colours}, check=True, text=True, stdout=subprocess.PIPE
    )
    return done.stdout


def _report(browser: Browser, file: Path, scheme: str) -> None:
    context = browser.new_context(viewport=WINDOW, color_scheme=scheme)  # type: ignore[arg-type]
    page = context.new_page()
    page.goto(file.as_uri())
    page.wait_for_timeout(1000)
    page.screenshot(path=PICTURES / f"report-{scheme}.png")
    context.close()


def _terminal(words: list[str], name: str) -> None:
    console = Console(record=True, width=COLUMNS, file=open(os.devnull, "w"))
    console.print(Text.from_ansi(dyno(*words)))
    console.save_svg(str(PICTURES / f"{name}.svg"), title=f"dyno {words[0]}")


if __name__ == "__main__":
    main()
