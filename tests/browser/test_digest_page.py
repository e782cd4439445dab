"""The page of a digest in headless Chromium: offline, quiet, sortable, on desk and phone."""

from __future__ import annotations

from typing import Any

import pytest
from windows import DESK, PHONE

from dbdyno.digest.compare import compare
from dbdyno.digest.document import parse
from dbdyno.report.digest import beside, page
from fixtures import digests

pytestmark = pytest.mark.browser


@pytest.mark.parametrize("viewport", [DESK, PHONE], ids=["desk", "phone"])
@pytest.mark.parametrize("name", ["shop", "hostile", "empty", "untimed"])
def test_it_answers_at_once_and_nothing_is_wider_than_the_screen(
    open_page: Any, name: str, viewport: dict[str, int]
) -> None:
    opened = open_page(page.page(parse(getattr(digests, name)())), viewport)
    box = opened.locator("#answer").bounding_box()
    assert box["y"] >= 0 and box["y"] + 20 <= viewport["height"]
    opened.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    assert opened.evaluate("document.documentElement.scrollWidth") <= viewport["width"]
    assert opened.locator("script").count() == 1


def test_the_profile_is_sorted_by_the_head_that_is_pressed(open_page: Any) -> None:
    opened = open_page(page.page(parse(digests.shop())), DESK)
    ranks = "[...document.querySelectorAll('#profile tbody a')].map(a => a.textContent)"
    assert opened.evaluate(ranks) == ["1", "2", "3", "4"]
    calls = opened.get_by_role("button", name="calls")
    calls.click()
    assert opened.evaluate(ranks) == ["3", "4", "2", "1"]
    calls.click()
    assert opened.evaluate(ranks) == ["1", "2", "4", "3"]
    assert opened.locator("#profile th[aria-sort]").inner_text().strip() == "calls"
    opened.get_by_role("button", name="statement").click()
    assert opened.evaluate(ranks) == ["4", "2", "3", "1"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_drawings_have_colours_in_light_and_dark(open_page: Any, scheme: str) -> None:
    opened = open_page(page.page(parse(digests.shop())), DESK, color_scheme=scheme)
    fills = opened.evaluate(
        "[...document.querySelectorAll('figure[data-name=load] .wide path')]"
        ".map(p => getComputedStyle(p).fill)"
    )
    ground = opened.evaluate("getComputedStyle(document.body).backgroundColor")
    assert len(set(fills)) == 4 and ground not in fills


@pytest.mark.parametrize("viewport", [DESK, PHONE], ids=["desk", "phone"])
def test_two_digests(open_page: Any, viewport: dict[str, int]) -> None:
    compared = compare(parse(digests.shop()), parse(digests.shop(1.5)))
    opened = open_page(beside.page(compared), viewport)
    assert "1 class slower" in opened.locator("#answer").inner_text()
    assert opened.evaluate("document.documentElement.scrollWidth") <= viewport["width"]
