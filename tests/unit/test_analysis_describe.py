"""Numbers in words: never on another side of what they were compared with."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from dbdyno.wording import numbers as describe
from dbdyno.wording import quantities


@pytest.mark.parametrize(
    ("low", "high", "edges", "text"),
    [
        (1.0021, 1.0042, (), "1.00-1.00"),
        (1.0021, 1.0042, (1.0,), "1.002-1.004"),
        (0.9996, 1.2, (1.0,), "0.9996-1.20"),
        (1.0, 1.2, (1.0,), "1.00-1.20"),
        (0.98, 1.0299, (1 / 1.03, 1.03), "0.98-1.0299"),
        (1.01, None, (1.01,), "at least 1.01"),
        (0.98, 1 + 1e-14, (1.0,), "0.98-1.00"),  # no digits show that
    ],
)
def test_intervals_lie_where_the_verdict_says(
    low: float, high: float | None, edges: tuple[float, ...], text: str
) -> None:
    assert describe.interval(low, high, *edges) == text


@given(st.floats(1e-3, 1e6), st.floats(-0.1, 0.1))
def test_a_written_number_lies_on_its_side_of_an_edge(edge: float, away: float) -> None:
    value = edge * (1 + away)
    assume(abs(away) > 2e-5)
    for text in (
        describe.number(value, edge),
        describe.ratio(value, edge),
        describe.sig3(value, edge),
    ):
        shown = float(text.replace(",", ""))
        assert (shown > edge, shown < edge) == (value > edge, value < edge)


@pytest.mark.parametrize(
    ("share", "text"),
    [(0.95, "95 %"), (0.98333, "98.3 %"), (0.99996, "99.996 %"), (1.0, "100 %"), (12.5, "1250 %")],
)
def test_only_all_of_it_is_a_hundred_percent(share: float, text: str) -> None:
    assert describe.percent(share) == text


def test_small_clear_changes_are_not_called_the_same() -> None:
    assert quantities.change(1.0003) == "0.03 % higher"
    assert quantities.change(1.0) == "the same"


def test_numbers_that_round_to_thousands_look_like_thousands() -> None:
    assert describe.number(999.96) == describe.number(1000.4) == "1,000"
