"""The report in headless Chromium: offline, quiet, readable on a desk, a phone and paper."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from windows import DESK, PHONE

from dbdyno.report import Report
from fixtures import stalling_run, synthetic

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    found = {}
    for name in ("engines", "cache_run", "hostile"):
        directory = tmp_path_factory.mktemp(name)
        Report(*getattr(synthetic, name)(directory)).write()
        found[name] = directory / "report.html"
    directory = tmp_path_factory.mktemp("stalling")
    Report(*stalling_run.stalling(directory)).write()  # type: ignore[arg-type]
    found["stalling"] = directory / "report.html"
    return found


@pytest.fixture
def open_page(open_file: Any, pages: dict[str, Path]) -> Any:
    """Opens a report by its run's name."""

    def start(name: str, viewport: dict[str, int], **options: Any) -> Any:
        page = open_file(pages[name], viewport, **options)
        page.wait_for_selector("#ts-main canvas", state="attached")
        return page

    return start


@pytest.mark.parametrize("viewport", [DESK, PHONE], ids=["desk", "phone"])
@pytest.mark.parametrize("name", ["engines", "cache_run"])
def test_the_first_screen_answers(open_page: Any, name: str, viewport: dict[str, int]) -> None:
    page = open_page(name, viewport)
    for selector in ("h1", "#answer", ".chip", ".claim code", ".claim .parts svg"):
        box = page.locator(selector).first.bounding_box()
        assert box["y"] >= 0
        assert box["y"] + box["height"] <= viewport["height"], selector
    if viewport is DESK:
        box = page.locator(".first figure svg:visible").first.bounding_box()
        assert box["y"] + box["height"] <= viewport["height"]


@pytest.mark.parametrize("viewport", [DESK, PHONE], ids=["desk", "phone"])
@pytest.mark.parametrize("name", ["engines", "cache_run", "hostile"])
def test_nothing_is_wider_than_the_screen(
    open_page: Any, name: str, viewport: dict[str, int]
) -> None:
    page = open_page(name, viewport)
    page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    assert page.evaluate("document.documentElement.scrollWidth") <= viewport["width"]


@pytest.mark.parametrize("viewport", [DESK, PHONE], ids=["desk", "phone"])
def test_stalls_are_shaded_over_the_curve_that_shows_why(
    open_page: Any, viewport: dict[str, int]
) -> None:
    page = open_page("stalling", viewport)
    assert page.evaluate("document.documentElement.scrollWidth") <= viewport["width"]
    assert "binary log rotation" in page.locator("section[aria-labelledby=stalls]").inner_text()
    chart = page.locator("figure[data-name=stalls-0] svg:visible")
    frame = chart.bounding_box()
    curves = [one.bounding_box() for one in chart.locator("path").all()]
    shaded = [one.bounding_box() for one in chart.locator("rect.stalled").all()]
    assert len(shaded) == 5 and len(curves) == 2
    assert curves[0]["y"] + curves[0]["height"] < curves[1]["y"]
    for box in shaded:  # through both curves
        assert frame["x"] <= box["x"] and box["x"] + box["width"] <= frame["x"] + frame["width"]
        assert box["y"] <= curves[0]["y"] + 1
        assert box["y"] + box["height"] >= curves[1]["y"] + curves[1]["height"] - 2


def test_labels_of_charts_are_readable_and_apart(open_page: Any) -> None:
    shown = ("engines", DESK), ("engines", PHONE), ("cache_run", PHONE), ("stalling", PHONE)
    for name, viewport in shown:
        page = open_page(name, viewport)
        overlaps = page.evaluate(
            """() => {
              const found = [];
              for (const svg of document.querySelectorAll('figure svg')) {
                if (!svg.getBoundingClientRect().width) continue;
                const frame = svg.getBoundingClientRect();
                const texts = [...svg.querySelectorAll('text')]
                  .map(t => [t.textContent, t.getBoundingClientRect()]);
                for (const [text, box] of texts) {
                  if (box.left < frame.left - 2 || box.right > frame.right + 2)
                    found.push('outside: ' + text);
                  if (box.height < 9) found.push('tiny: ' + text);
                }
                for (let i = 0; i < texts.length; i++) for (let k = i + 1; k < texts.length; k++) {
                  const a = texts[i][1], b = texts[k][1];
                  const w = Math.min(a.right, b.right) - Math.max(a.left, b.left);
                  const h = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
                  if (w > 1 && h > 4) found.push(texts[i][0] + ' over ' + texts[k][0]);
                }
              }
              return found;
            }"""
        )
        assert overlaps == [], name


def test_trials_are_chosen_by_keyboard_and_outages_told(open_page: Any) -> None:
    page = open_page("engines", DESK)
    trial = page.locator("#pick-trial")
    first = trial.input_value()
    trial.focus()
    page.keyboard.press("ArrowDown")
    assert trial.input_value() != first
    page.locator("#pick-next").focus()
    page.keyboard.press("Enter")
    page.locator("#pick-cell").select_option(label="postgres · sessions 64")
    outage = next(o for o in trial.locator("option").all_inner_texts() if "outage" in o)
    trial.select_option(label=outage)
    assert "Outage from 8.20 s to 10.9 s" in page.locator("#trial-note").inner_text()
    assert page.locator("#ts-samples canvas").count() >= 8


def test_a_chart_is_saved_as_svg_that_stands_alone(open_page: Any) -> None:
    page = open_page("engines", DESK, accept_downloads=True)
    with page.expect_download() as waiting:
        page.locator(".first figure button.save").click()
    saved = Path(waiting.value.path()).read_text(encoding="utf-8")
    assert waiting.value.suggested_filename == "transactions-per-s.svg"
    assert saved.startswith("<svg")
    assert "var(--s0)" not in saved
    assert "mariadb" in saved


def test_downloads_are_in_the_page(open_page: Any) -> None:
    page = open_page("engines", DESK, accept_downloads=True)
    with page.expect_download() as waiting:
        page.locator("a[download$='-trials.csv']").click()
    rows = Path(waiting.value.path()).read_text(encoding="utf-8").splitlines()
    assert len(rows) == 73
    assert rows[0].startswith("trial,block,status")


def test_contents_stay_beside_the_text_and_are_folded_on_phones(open_page: Any) -> None:
    page = open_page("engines", DESK)
    first = page.locator("nav a").first
    page.locator("#environment").scroll_into_view_if_needed()
    box, text = first.bounding_box(), page.locator("#environment").bounding_box()
    assert 0 <= box["y"] < DESK["height"] and box["x"] + box["width"] < text["x"]
    page.get_by_role("link", name="Terms").click()
    assert page.locator("#glossary").is_visible()
    phone = open_page("engines", PHONE)
    assert not phone.locator("nav a").first.is_visible()
    phone.locator(".contents summary").click()
    assert phone.locator("nav a").first.is_visible()


def test_dark_and_print(open_page: Any) -> None:
    def background(page: Any) -> str:
        return str(page.evaluate("getComputedStyle(document.body).backgroundColor"))

    page = open_page("engines", DESK, color_scheme="dark")
    assert background(page) == "rgb(20, 24, 29)"
    page.emulate_media(media="print")
    assert background(page) == "rgb(255, 255, 255)"
    assert not page.locator(".picker").is_visible()
    assert page.locator("#answer").is_visible()
    assert len(page.pdf()) > 20_000


def test_text_has_enough_contrast(open_page: Any) -> None:
    """WCAG 2.2, 1.4.3: 4.5 to 1 for every colour that text is drawn in, light and dark."""
    names = ["ink", "soft", "accent", "bad", "open", "good", "none", *(f"s{i}" for i in range(8))]
    for scheme in ("light", "dark"):
        page = open_page("cache_run", DESK, color_scheme=scheme)
        colours = page.evaluate(
            "names => Object.fromEntries(names.map(n => [n,"
            " getComputedStyle(document.documentElement).getPropertyValue('--' + n).trim()]))",
            [*names, "bg", "goodbg", "badbg", "openbg", "nonebg"],
        )
        pairs = [(name, "bg") for name in names]
        pairs += [(name, f"{name}bg") for name in ("good", "bad", "open", "none")]
        for ink, paper in pairs:
            assert contrast(colours[ink], colours[paper]) >= 4.5, f"{scheme}: {ink} on {paper}"


def contrast(one: str, other: str) -> float:
    """Contrast ratio of two #rgb or #rrggbb colours (WCAG 2.2)."""

    def luminance(colour: str) -> float:
        digits = colour.lstrip("#")
        if len(digits) == 3:
            digits = "".join(d * 2 for d in digits)
        parts = [int(digits[i : i + 2], 16) / 255 for i in (0, 2, 4)]
        parts = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
        return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]

    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def test_the_data_is_the_trials(open_page: Any) -> None:
    page = open_page("engines", DESK)
    data = json.loads(page.locator("#series").evaluate("e => e.textContent"))
    assert len(data["cells"]) == 12
    assert len(data["trials"]) == 72


SPY = """
window.charts = [];
let drawn;
Object.defineProperty(window, "uPlot", {
  configurable: true,
  get: () => drawn,
  set: real => {
    drawn = function (...all) {
      window.charts.push(new real(...all));
      return window.charts.at(-1);
    };
  },
});
"""
AXES = "window.charts.filter(c => c.root.isConnected).map(c => [c.scales.x.min, c.scales.x.max])"


def test_load_and_samples_have_one_axis_of_time(open_file: Any, tmp_path: Path) -> None:
    """An interval of the load has the time of its end, samples begin earlier in the warm-up."""
    run, findings = synthetic.cache_run(tmp_path)
    samples = {
        name: [{**one, "t_s": one["t_s"] - 0.8 * (one["t_s"] < 0)} for one in own]
        for name, own in run.sample_of.items()
    }
    Report(replace(run, sample_of=samples), findings).write()
    page = open_file(tmp_path / "report.html", DESK, before=SPY)
    page.wait_for_selector("#ts-samples canvas", state="attached")
    axes = page.evaluate(AXES)
    assert len(axes) > 3
    assert all(axis == axes[0] for axis in axes), axes
    chart = page.locator("#ts-samples .u-over").first
    chart.scroll_into_view_if_needed()
    box = chart.bounding_box()
    page.mouse.move(box["x"] + box["width"] * 0.5, box["y"] + 20)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.8, box["y"] + 20)
    page.mouse.up()
    nearer = page.evaluate(AXES)
    assert nearer[0] != axes[0]
    assert all(axis == pytest.approx(nearer[0], abs=0.05) for axis in nearer), nearer
