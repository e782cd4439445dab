"""The page of a model in headless Chromium: offline, quiet, no wider than the window."""

from __future__ import annotations

from typing import Any

import pytest
from windows import DESK, PHONE

from dbdyno import models
from dbdyno.models import calculate, given, sweep
from dbdyno.report.models import page
from dbdyno.wording.models import words

pytestmark = pytest.mark.browser


@pytest.mark.parametrize("viewport", [DESK, PHONE], ids=["desk", "phone"])
def test_a_sweep_is_drawn_and_fits(open_page: Any, viewport: dict[str, int]) -> None:
    model = models.load("innodb-growth")
    asked = given.take(model, {"rows": "3000"}, {})
    answer = calculate.answer(model, asked)
    over = sweep.sweep(model, asked, sweep.parse(model, "rows=1..60000"))
    effects = sweep.sensitivity(model, asked, answer.values)
    html = page.page(answer, words.all_shown(answer), effects, over)
    opened = open_page(html, viewport)
    assert opened.locator("h1").inner_text() == "The file takes 9 MiB for 609.4 KiB of rows."
    assert opened.locator("figure svg:visible").count() >= 3
    assert opened.evaluate("document.documentElement.scrollWidth") <= viewport["width"]
    assert "`" not in opened.locator("main").inner_text()
