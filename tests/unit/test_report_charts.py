"""Charts: scales, label placement, and drawings that are well-formed and honest."""

from __future__ import annotations

import itertools
import math
import re
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbdyno.report.charts import dots, lines, percentiles, scale, stack, svg
from dbdyno.report.charts.over_time import heat

FINITE = st.floats(min_value=1e-6, max_value=1e9)


@given(FINITE, st.integers(2, 8))
def test_linear_ticks_start_at_zero_and_cover(high: float, wanted: int) -> None:
    ticks = scale.linear_ticks(high, wanted)
    assert ticks[0] == 0
    assert ticks[-1] >= high * 0.99999
    assert ticks[-2] < high * 1.00001
    assert len(ticks) <= 2 * wanted + 2


@given(FINITE, st.floats(min_value=1.05, max_value=1e6))
def test_log_ticks_lie_inside(low: float, factor: float) -> None:
    ticks = scale.log_ticks(low, low * factor)
    assert len(ticks) <= 12
    assert all(low * 0.99 <= tick <= low * factor * 1.01 for tick in ticks)


@given(st.lists(st.floats(min_value=0, max_value=300), min_size=1, max_size=12))
def test_labels_never_overlap_and_keep_their_order(wanted: list[float]) -> None:
    placed = svg.spread(wanted, 14, 10, 290)
    assert all(10 - 1e-6 <= p <= 290 + 1e-6 for p in placed)
    ordered = sorted(placed)
    assert all(b - a >= 14 - 1e-6 for a, b in itertools.pairwise(ordered))
    by_wish = [p for _, p in sorted(zip(wanted, placed, strict=True))]
    assert by_wish == pytest.approx(ordered)


def test_labels_with_room_stay_where_they_are() -> None:
    assert svg.spread([50, 100], 14, 10, 290) == [50, 100]


def test_log_axis_for_doubling_sessions_only() -> None:
    assert scale.wants_log([1, 4, 16, 64])
    assert not scale.wants_log([1, 2, 3, 4])
    assert not scale.wants_log([0, 10, 100])


def parse(drawing: str) -> ElementTree.Element:
    return ElementTree.fromstring(drawing)


def two_lines() -> list[lines.Series]:
    points = tuple(lines.Point(x, x * 100, x * 90, x * 110, (x * 95, x * 105)) for x in (1, 4, 16))
    low = tuple(lines.Point(x, x * 50, None, None) for x in (1, 4, 16))
    return [lines.Series("a <b>", 0, points), lines.Series("c & d", 1, low)]


def draw(width: float = 680) -> str:
    return lines.line_chart(
        two_lines(),
        title="Q <x>",
        unit="tx/s",
        x_label="sessions",
        x_levels=[1, 4, 16],
        width=width,
        height=300,
    )


@pytest.mark.parametrize("width", [350, 680])
def test_line_chart_is_well_formed_starts_at_zero_and_names_its_lines(width: float) -> None:
    root = parse(draw(width))
    texts = [e.text for e in root.iter() if e.tag.endswith("text")]
    assert "0" in texts
    assert {"a <b>", "c & d"} <= set(texts)
    assert root.get("aria-label") == "Q <x>"
    # Three levels with an interval: a whisker and two caps each.
    whiskers = [e for e in root.iter() if e.get("class") == "w s0"]
    assert len(whiskers) == 9
    assert not [e for e in root.iter() if e.get("class") == "w s1"]


def test_lines_far_apart_get_a_logarithmic_axis_that_says_so() -> None:
    high, low = two_lines()
    flat = lines.Series("d", 1, tuple(replace(p, mean=p.mean / 40) for p in low.points))
    assert lines.value_axis([high, low]).low == 0
    axis = lines.value_axis([high, flat])
    assert axis.log
    assert axis.low <= 50 / 40 * 1
    assert axis.high >= 1600
    assert axis.title("tx/s") == "tx/s, logarithmic"
    assert not lines.value_axis([high, lines.Series("z", 1, (lines.Point(1, 0, None, None),))]).log
    rows = [dots.Row("", "full", 0, 90.0, None, None), dots.Row("", "off", 1, 9e4, None, None)]
    drawing = dots.dot_chart(rows, title="t", unit="tps", width=680)
    assert "tps, logarithmic" in drawing
    assert "stem" not in drawing


def test_names_that_do_not_fit_beside_the_lines_stand_whole_above() -> None:
    long = [
        replace(one, label=f"{one.label} and a very long name of a level") for one in two_lines()
    ]
    drawing = lines.line_chart(
        long, title="t", unit="", x_label="x", x_levels=[1, 4, 16], width=350, height=250
    )
    assert drawing.count("and a very long name of a level</text>") == 2
    assert "…" not in drawing


def coordinates(drawing: str) -> list[float]:
    return [float(v) for v in re.findall(r'(?: x| x1| x2| cx)="([-\d.]+)"', drawing)]


def test_nothing_is_drawn_outside() -> None:
    for width in (350, 680):
        assert all(-1 <= x <= width + 1 for x in coordinates(draw(width)))


def test_dot_chart_axis_starts_at_zero_and_prints_values() -> None:
    rows = [
        dots.Row("h", "on", 0, 10.0, 9.0, 11.0, (9.5, 10.5)),
        dots.Row("h", "off", 1, 20.0, None, None),
    ]
    root = parse(dots.dot_chart(rows, title="t", unit="ms", width=350))
    texts = [e.text for e in root.iter() if e.tag.endswith("text")]
    assert {"0", "10.0 ± 1.0", "20.0", "h", "on", "off"} <= set(texts)


def test_ratio_dot_puts_the_threshold_on_the_axis() -> None:
    drawing = dots.ratio_dot(2.6, 2.4, 2.8, span=(0.9, 3.0), threshold=2.5, axis=True)
    root = parse(drawing)
    assert [e for e in root.iter() if e.get("class") == "threshold"]
    assert "2.5×" in [e.text for e in root.iter()]


def test_ratio_dot_without_an_estimate_has_no_dot() -> None:
    assert "circle" not in dots.ratio_dot(None, None, None, span=(0.5, 2.0))


def test_percentile_line_ends_where_ten_operations_lie_beyond() -> None:
    points = tuple((float(i), i / 1000) for i in range(1, 1001))
    line = percentiles.drawn(percentiles.Distribution("a", 0, points, 1000))
    assert line[-1][0] == pytest.approx(2.0)  # p99 of 1,000
    assert percentiles.drawn(percentiles.Distribution("a", 0, points[:5], 5)) == []
    assert percentiles.latency_span([]) == (0.1, 10.0)


def test_stacked_bars_show_every_state() -> None:
    bars = [stack.Bar("c", (("run", 3.0), ("lock <1>", 1.0)))]
    root = parse(stack.stacked_bars(bars, ["run", "lock <1>"], title="t", width=680))
    texts = " ".join(e.text or "" for e in root.iter())
    assert "run 75 %" in texts
    assert "lock <1>: 1.00 sessions, 25 %" in texts


def test_heat_map_is_a_small_png_whose_every_filled_cell_shows() -> None:
    counts = np.zeros((heat.ROWS, 10))
    counts[3, 4], counts[5, 5] = 1, 100_000
    alpha = heat.opacity(counts)
    assert alpha[5, 5] == 255
    assert alpha[3, 4] >= 18
    assert alpha.sum() == int(alpha[5, 5]) + int(alpha[3, 4])
    drawing = heat.heat_map(heat.Heat(counts, 0.1, 100.0, 10.0), title="t", width=350, height=190)
    parse(drawing)
    assert len(drawing) < 6000
    assert not heat.opacity(np.zeros((2, 2))).any()


def test_shortened_labels_fit() -> None:
    text = svg.shorten("a very long label indeed", 60)
    assert text.endswith("…")
    assert svg.text_width(text) <= 60
    assert svg.shorten("ok", 60) == "ok"


def test_scale_holds_outside_values_at_the_edge() -> None:
    log = scale.Scale(1, 100, 0, 200, True)
    assert log(10) == pytest.approx(100)
    assert log(1000) == 200
    assert math.isclose(scale.Scale(0, 10, 100, 0)(5), 50)


def test_an_axis_of_ratios_is_cut_at_a_thousand_unless_the_ratio_lies_beyond() -> None:
    assert scale.reach(1.2, 947_000.0) == 1000
    assert scale.reach(1.2, 1e-7) == 0.001
    assert scale.reach(5000.0, 9000.0) == 5000
    assert scale.reach(1.2, 1.5) == 1.5
    assert scale.reach(1.2, None) is None
