"""`dyno serve` in headless Chromium: on a desk and a phone, light and dark, by keyboard alone."""

from __future__ import annotations

import contextlib
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from accessible import problems
from playwright.sync_api import expect
from windows import DESK, PHONE, WAITS_MS

from fixtures import digests

pytestmark = pytest.mark.browser

DYNO = Path(sys.executable).with_name("dyno")
TOKEN = "a-token-for-the-browser-tests"
EXPERIMENT = """
experiment: nothing
question: Is a server that answers at once faster than one that does not?
targets:
  db: {kind: null}
workload: {kind: oltp, preset: read_only, sessions: 2, rows: 100}
factors:
  delay:
    none: {db.options: {delay_us: 100}}
    some: {db.options: {delay_us: 300}}
blocks: 3
warmup: 100ms
duration: DURATION
interval: 100ms
claims: ["tps[none] > tps[some]"]
"""


def experiment(duration: str) -> str:
    return EXPERIMENT.replace("DURATION", duration)


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two real runs against nothing, and two digests."""
    place = tmp_path_factory.mktemp("web")
    (place / "nothing.yaml").write_text(experiment("300ms"))
    first, second = place / "runs" / "first", place / "runs" / "second"
    subprocess.run(
        [DYNO, "run", "nothing.yaml", "--dir", first],
        cwd=place,
        check=True,
        capture_output=True,
        timeout=200,
    )
    shutil.copytree(first, second)
    manifest = json.loads((second / "manifest.json").read_text())
    manifest["created_unix_s"] += 60
    (second / "manifest.json").write_text(json.dumps(manifest))
    for name, document in (("monday", digests.shop()), ("tuesday", digests.shop(2.0))):
        (place / "runs" / f"{name}.json").write_text(json.dumps(document))
    return place / "runs"


@contextlib.contextmanager
def serving(directory: Path, *options: str) -> Iterator[str]:
    """The address of a `dyno serve`, without the token."""
    command = [DYNO, "serve", directory, "--port", "0", "--token", TOKEN, *options]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        said = process.stdout.readline()
        found = re.fullmatch(rf"(http://127\.0\.0\.1:\d+)/\?token={TOKEN}\n", said)
        assert found is not None, said
        yield found[1]
    finally:
        process.terminate()
        _, errors = process.communicate(timeout=60)
    assert "Traceback" not in errors, errors


@pytest.fixture(scope="module")
def address(directory: Path) -> Iterator[str]:
    with serving(directory) as found:
        yield found


@pytest.fixture
def opened(browser: Any) -> Iterator[Callable[..., Any]]:
    """Opens a page after the address with the token; in the end nothing was said on the console,
    and nothing asked for elsewhere."""
    contexts, said, asked, own = [], [], [], []

    def start(address: str, path: str, viewport: dict[str, int] = DESK, **options: Any) -> Any:
        own.append(address)
        context = browser.new_context(viewport=viewport, **options)
        context.set_default_timeout(WAITS_MS)
        contexts.append(context)
        page = context.new_page()
        page.goto(f"{address}/?token={TOKEN}")
        page.on("console", lambda message: said.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("request", lambda request: asked.append(request.url))
        page.goto(address + path)
        return page

    yield start
    for context in contexts:
        context.close()
    assert said == []
    assert [url for url in asked if not url.startswith((*own, "data:"))] == []


def run_id(page: Any, address: str, name: str) -> str:
    runs = page.request.get(f"{address}/runs.json").json()["runs"]
    return next(one["id"] for one in runs if one["name"] == name)


def digest_id(page: Any, address: str, name: str) -> str:
    found = page.request.get(f"{address}/digests.json").json()
    return next(one["id"] for one in found if one["name"] == name)


PAGES = {
    "runs": "/runs",
    "choosing": "/runs?a={first}",
    "found none": "/runs?q=nothing-like-it",
    "run": "/runs/{first}",
    "short form": "/runs/{first}/brief",
    "comparison": "/compare?a={first}&b={second}",
    "experiments": "/history",
    "history": "/history?experiment=nothing",
    "digests": "/digests",
    "digest": "/digests/{monday}?q=orders",
    "two digests": "/digests/compare?a={monday}&b={tuesday}",
    "models": "/models",
    "model": "/models/upload",
    "editor": "/experiment",
    "annotations": "/runs/{first}/annotations",
}


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("viewport", [DESK, PHONE], ids=["desk", "phone"])
def test_every_page_fits_and_is_for_everybody(
    opened: Callable[..., Any], address: str, viewport: dict[str, int], scheme: str
) -> None:
    page = opened(address, "/runs", viewport, color_scheme=scheme)
    known = {name: run_id(page, address, name) for name in ("first", "second")}
    known |= {name: digest_id(page, address, f"{name}.json") for name in ("monday", "tuesday")}
    found = {}
    for name, path in PAGES.items():
        answer = page.goto(address + path.format(**known))
        assert answer.status == 200, name
        wide = page.evaluate("document.documentElement.scrollWidth")
        assert wide <= viewport["width"], (name, wide)
        found[name] = problems(page)
    assert {name: wrong for name, wrong in found.items() if wrong} == {}


def test_search_filters_while_one_types(opened: Callable[..., Any], address: str) -> None:
    page = opened(address, "/runs")
    assert page.locator(".runs li").count() == 2
    page.get_by_label("Search").press_sequentially("first")
    expect(page.locator(".runs li")).to_have_count(1)
    expect(page).to_have_url(re.compile("q=first"))
    page.get_by_label("Verdict").select_option("refuted")
    expect(page.locator(".runs li")).to_have_count(0)
    page.get_by_role("link", name="Show all").click()
    expect(page.locator(".runs li")).to_have_count(2)


def test_two_clicks_put_two_runs_side_by_side(opened: Callable[..., Any], address: str) -> None:
    page = opened(address, "/runs")
    page.get_by_role("link", name="Compare first with another run").click()
    page.get_by_role("link", name="Compare first with second").click()
    expect(page.locator("h1")).to_contain_text("as fast as A")


EDGES = """name => {
  const one = document.querySelector(name), style = getComputedStyle(one)
  const box = one.getBoundingClientRect()
  return [box.left + parseFloat(style.paddingLeft), box.right - parseFloat(style.paddingRight)]
}"""


def test_a_report_has_the_margins_of_the_bar_above_it(
    opened: Callable[..., Any], address: str
) -> None:
    page = opened(address, "/runs")
    path = f"/runs/{run_id(page, address, 'first')}"
    for width in (1280, 1600, 1100, 390):
        page.set_viewport_size({"width": width, "height": 800})
        page.goto(address + path)
        bar, *below = (
            page.evaluate(EDGES, name)
            for name in ("nav.site", "aside.tools", "#content header", "#content main")
        )
        assert all(edges == bar for edges in below), (width, bar, below)


def test_a_report_draws_its_series(opened: Callable[..., Any], address: str) -> None:
    page = opened(address, "/runs")
    page.get_by_role("link", name="first", exact=True).click()
    expect(page.locator("#ts-main .uplot").nth(1)).to_be_visible()
    assert page.locator("figure svg:visible").count() >= 2


def test_a_digest_is_filtered_and_still_sorted(opened: Callable[..., Any], address: str) -> None:
    page = opened(address, "/digests")
    page.get_by_role("link", name="monday.json", exact=True).click()
    page.get_by_label("Filter classes").fill("select")  # at once: no later answer undoes the order
    expect(page.locator("#profile tbody tr")).to_have_count(2)
    first = page.locator("#profile tbody td.what").first.inner_text()
    page.locator("#profile thead button").last.click()
    page.locator("#profile thead button").last.click()
    assert page.locator("#profile tbody td.what").first.inner_text() != first


def test_a_slider_moves_the_answer(opened: Callable[..., Any], address: str) -> None:
    page = opened(address, "/models/innodb-growth")
    before = page.locator("h1").inner_text()
    slider = page.get_by_label("rows, from an eighth to eight times")
    slider.focus()
    for _ in range(3):
        page.keyboard.press("PageUp")
    assert page.locator("#in-rows").input_value() != "2180"
    expect(page.locator("h1")).not_to_have_text(before)
    assert page.locator("figure svg:visible").count() >= 1
    page.locator("#in-rows").fill("nonsense")
    expect(page.locator("h1")).to_contain_text("nonsense")


def test_an_experiment_is_checked_started_watched_and_stopped(
    opened: Callable[..., Any], address: str
) -> None:
    page = opened(address, "/experiment")
    editor = page.get_by_label("YAML")
    wrong = experiment("long").replace("blocks: 3", "blocks: three")
    editor.fill(wrong)
    page.wait_for_selector("#checked >> text=line 11, column 9")
    chosen = "(t => t.value.slice(t.selectionStart, t.selectionEnd))(document.activeElement)"
    for link, word in zip(page.locator("#checked a").all(), ("three", "long"), strict=True):
        link.click()
        assert page.evaluate(chosen) == word
    assert problems(page) == []
    editor.fill(experiment("3s"))
    page.wait_for_selector("#checked >> text=valid")
    page.get_by_role("button", name="Dry run").click()
    page.wait_for_selector("text=What would happen")
    page.get_by_role("button", name="Start on this machine").click()
    page.locator("#started a.name").click()
    page.wait_for_selector(".live >> text=/Second [1-3] of 3/")
    page.get_by_role("button", name="Stop after this trial").click()
    page.wait_for_selector(".status.interrupted")
    assert page.locator(".live").count() == 0


def test_a_run_of_another_terminal_is_stopped_from_its_page(
    opened: Callable[..., Any], address: str, directory: Path
) -> None:
    file = directory.parent / "elsewhere.yaml"
    file.write_text(experiment("3s"))
    command = [DYNO, "run", file, "--dir", directory / "elsewhere", "-q"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        page = opened(address, "/runs")
        while "elsewhere" not in page.content():
            assert process.poll() is None
            page.reload()
        page.get_by_role("link", name="elsewhere", exact=True).click()
        page.wait_for_selector(".live >> text=/Second [1-3] of 3/")
        page.get_by_role("button", name="Stop after this trial").click()
        page.wait_for_selector(".status.interrupted")
        assert process.wait(timeout=120) == 3


def test_all_of_it_by_keyboard(opened: Callable[..., Any], address: str) -> None:
    page = opened(address, "/runs")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.innerText") == "Skip to content"
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.name") == "q"
    for _ in range(30):
        page.keyboard.press("Tab")
        focused = page.evaluate("document.activeElement.ariaLabel || document.activeElement.name")
        outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        assert outline != "none", focused
        if focused == "Compare second with another run":
            break
    page.keyboard.press("Enter")
    page.wait_for_url("**/runs?a=*")
    assert page.locator(".picked").is_visible()


def test_read_only_changes_nothing(opened: Callable[..., Any], directory: Path) -> None:
    with serving(directory, "--read-only") as address:
        page = opened(address, "/runs")
        assert page.get_by_role("link", name="Experiment").count() == 0
        page.get_by_role("link", name="first", exact=True).click()
        expect(page.locator("h2#results")).to_be_visible()
        assert page.locator("form").count() == 0
