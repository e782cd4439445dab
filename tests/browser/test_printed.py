"""Reports on paper: the short form on two pages, charts whole, never dark; `dyno report --pdf`."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from windows import DESK

from dbdyno.report import Report
from fixtures import stalling_run, synthetic

pytestmark = pytest.mark.browser

DYNO = Path(sys.executable).with_name("dyno")
EXPERIMENT = """
experiment: nothing
targets: {db: {kind: "null"}}
workload: {kind: oltp, preset: read_only, rows: 100, sessions: 1}
warmup: 100ms
duration: 200ms
blocks: 1
"""


def pages(pdf: bytes) -> int:
    """Chromium writes the objects of pages as plain text."""
    return len(re.findall(rb"/Type /Page\b", pdf))


def report(name: str) -> Report:
    made = stalling_run.stalling if name == "stalling" else getattr(synthetic, name)
    return Report(*made(Path("RUN")))


@pytest.mark.parametrize("name", ["engines", "cache_run", "hostile", "open_loop", "stalling"])
def test_the_short_form_is_two_pages(open_page: Any, name: str) -> None:
    page = open_page(report(name).brief(), DESK)
    assert 1 <= pages(page.pdf(prefer_css_page_size=True)) <= 2
    shown = page.locator("main").inner_text()
    for heading in ("What could overturn this", "Setting", "How to repeat it"):
        assert heading in shown
    assert page.locator("h1").count() == 1
    assert page.locator("#answer").is_visible()
    assert page.locator("figure svg:visible").count() == 1
    assert page.locator("script").count() == 0


def test_what_the_short_form_links_to_is_in_it(open_page: Any) -> None:
    page = open_page(report("engines").brief(), DESK)
    missing = page.evaluate(
        """() => [...document.querySelectorAll('a[href^="#"]')].map(a => a.getAttribute('href'))
             .filter(to => !document.getElementById(to.slice(1)))"""
    )
    assert missing == []


def test_charts_stay_whole_and_light_on_paper(open_page: Any) -> None:
    page = open_page(report("engines").html(), DESK, color_scheme="dark")
    page.wait_for_selector("#ts-main canvas", state="attached")
    page.emulate_media(media="print", color_scheme="dark")
    kept = page.evaluate(
        """() => [...document.querySelectorAll('figure, .ts > div, .claim')]
             .map(e => getComputedStyle(e).breakInside)"""
    )
    assert len(kept) > 20 and set(kept) == {"avoid"}
    axis = "getComputedStyle(document.documentElement).getPropertyValue('--soft')"
    assert page.evaluate(axis) == "#444"
    text = "getComputedStyle(document.querySelector('.chart text.axis')).fill"
    assert page.evaluate(text) == "rgb(68, 68, 68)"
    assert "block 1" in page.locator("#trial-shown").inner_text()


def test_a_report_is_printed_by_the_machines_chromium(browser: Any, tmp_path: Path) -> None:
    (tmp_path / "nothing.yaml").write_text(EXPERIMENT)

    def dyno(*words: str) -> subprocess.CompletedProcess[str]:
        command = [DYNO, *words]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=200)

    assert dyno("run", "nothing.yaml", "--dir", "run", "-q").returncode == 0
    brief = dyno("report", "run", "--brief", "--pdf")
    assert brief.returncode == 0, brief.stderr
    assert brief.stderr == "brief: run/brief.html\npdf: run/brief.pdf\n"
    assert pages((tmp_path / "run/brief.pdf").read_bytes()) in (1, 2)
    whole = dyno("report", "run", "--pdf", "whole.pdf")
    assert whole.stderr == "pdf: whole.pdf\n"
    assert pages((tmp_path / "whole.pdf").read_bytes()) > 2
    refused = dyno("report", "run", "--pdf", "run")
    assert refused.returncode == 2
    assert "--pdf run does not end in .pdf" in refused.stderr
