"""Typed scalars."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbdyno.experiment.values import units


@pytest.mark.parametrize(
    ("written", "value"),
    [("1Gi", 2**30), ("64M", 64 * 10**6), ("1.5Ki", 1536), ("512", 512), (512, 512), ("2GB", 2e9)],
)
def test_sizes(written: object, value: float) -> None:
    assert units.size_bytes(written) == value


@pytest.mark.parametrize("written", ["1 gig", "-1", -1, "1.5", True, None, 1.5, "", "Gi", "1e3"])
def test_what_is_no_size(written: object) -> None:
    with pytest.raises(ValueError, match=r"size|whole number of bytes"):
        units.size_bytes(written)


@pytest.mark.parametrize(
    ("written", "seconds"),
    [
        ("10s", 10),
        ("500ms", 0.5),
        ("200us", 2e-4),
        ("1h", 3600),
        ("1h30m", 5400),
        ("5 min", 300),
        ("1d", 86400),
    ],
)
def test_durations(written: str, seconds: float) -> None:
    assert units.duration_s(written) == seconds


@pytest.mark.parametrize("written", ["10", 10, "s", "-5s", "10s!", "1h 30", None, "", "10 parsecs"])
def test_what_is_no_duration(written: object) -> None:
    with pytest.raises(ValueError, match="duration"):
        units.duration_s(written)


def test_rates_and_fractions() -> None:
    assert units.rate_per_s("66.7/s") == 66.7
    assert units.rate_per_s("60/min") == 1.0
    assert units.fraction("3%") == 0.03
    assert units.fraction(0.03) == 0.03
    for wrong in ("66.7", 66.7, "0/s", "/s", "1/fortnight"):
        with pytest.raises(ValueError, match=r"rate|above zero"):
            units.rate_per_s(wrong)
    for wrong in ("3", 3, "-1%", True):
        with pytest.raises(ValueError, match="percentage"):
            units.fraction(wrong)


@pytest.mark.parametrize(
    ("text", "value"),
    [("16", 16.0), ("1e6", 1e6), ("1_000", 1000.0), ("1Gi", 2.0**30), ("-1", -1.0), ("0.5", 0.5)],
)
def test_numbers_of_levels(text: str, value: float) -> None:
    assert units.number(text) == value


@pytest.mark.parametrize("text", ["on", "nan", "inf", "1h", "v1", "", "1e999"])
def test_levels_that_are_no_numbers(text: str) -> None:
    assert units.number(text) is None


@given(st.text(max_size=12))
def test_any_text_is_a_value_or_a_value_error(text: str) -> None:
    for read in (units.size_bytes, units.duration_s, units.rate_per_s, units.fraction):
        try:
            value = read(text)
        except ValueError:
            continue
        assert value >= 0
        assert math.isfinite(value)
