"""Numbers as people read them."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbdyno.wording import numbers, quantities


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (12_345, "12,300"),
        (1_234_567, "1,230,000"),
        (9.996, "10.0"),
        (4.567, "4.57"),
        (0.00123, "0.00123"),
        (-0.5, "−0.500"),
        (1.2e-9, "1.20e−09"),
        (None, "–"),
        (math.nan, "–"),
        (math.inf, "∞"),
    ],
)
def test_sig3(value: float | None, text: str) -> None:
    assert numbers.sig3(value) == text


@given(st.floats(min_value=1e-6, max_value=1e14))
def test_sig3_is_within_half_a_percent(value: float) -> None:
    shown = float(numbers.sig3(value).replace(",", "").replace("−", "-"))
    assert shown == pytest.approx(value, rel=0.00502)


@pytest.mark.parametrize(
    ("mean", "half", "text"),
    [
        (78_400, 2_370, "78,400 ± 2,400"),
        (6.43, 0.00383, "6.43 ± 0.004"),
        (6.43, 0.00001, "6.43 ± < 0.001"),
        (20.2, 0.562, "20.2 ± 0.56"),
        (5.0, 0.0, "5.00"),
    ],
)
def test_plus_minus(mean: float, half: float, text: str) -> None:
    assert quantities.plus_minus(mean, half) == text


@pytest.mark.parametrize(
    ("ratio", "words"),
    [
        (2.61, "2.61 times as high"),
        (1.42, "42 % higher"),
        (0.8, "20 % lower"),
        (1.035, "3.5 % higher"),
        (1.0, "the same"),
    ],
)
def test_change(ratio: float, words: str) -> None:
    assert quantities.change(ratio) == words


def test_durations_and_sizes() -> None:
    assert [quantities.seconds(s) for s in (30, 90, 240, 3900)] == [
        "30 s",
        "90 s",
        "4 min",
        "1 h 05 min",
    ]
    assert numbers.size(2**30) == "1 GiB"
    assert numbers.size(25_200_000_000) == "23.5 GiB"


@pytest.mark.parametrize(
    ("value", "text"), [(0, "0"), (0.5, "0.5"), (2500, "2,500"), (25_000, "25k"), (3e6, "3M")]
)
def test_ticks_are_short(value: float, text: str) -> None:
    assert quantities.tick(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (31_234, "31,200"),
        (10, "10"),
        (4.5, "4.5"),
        (999.96, "1,000"),
        (0.01234, "0.0123"),
        (0.00002, "0.00002"),
        (-2.5, "−2.5"),
        (math.inf, "∞"),
    ],
)
def test_a_number_in_a_sentence_has_no_zeros_at_its_end(value: float, text: str) -> None:
    assert numbers.number(value) == text
