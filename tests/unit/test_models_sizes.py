"""Sizes and times of single models: what they leave open, refuse, and say."""

from __future__ import annotations

import pytest

from dbdyno import models
from dbdyno.errors import DynoError
from dbdyno.models import calculate, given
from dbdyno.report.models import words
from dbdyno.report.numbers import MISSING


def ask(name: str, **typed: str) -> calculate.Answer:
    model = models.load(name)
    return calculate.answer(model, given.take(model, typed, {}))


@pytest.mark.parametrize(
    ("name", "typed", "unknown"),
    [
        (
            "retention",
            {"rate": "20000/s"},
            ("stored", "lag", "per_pass", "pass_takes", "partitions"),
        ),
        ("retention", {"rate": "9/s", "method": "partition"}, ("pass_takes",)),
        (
            "retention",
            {"rate": "9/s", "method": "capped"},
            ("pass_takes", "per_pass", "partitions"),
        ),
        ("retention", {"rate": "9/s"}, ("partitions",)),
        ("upload", {}, ("kept", "added")),
        ("wiredtiger-cache", {"limit": "3Gi", "set_by": "mongod"}, ("printed_gb",)),
        ("wiredtiger-cache", {"limit": "3Gi", "set_by": "old-operator"}, ("printed_gb",)),
    ],
)
def test_what_there_is_no_figure_for_is_unknown(
    name: str, typed: dict[str, str], unknown: tuple[str, ...]
) -> None:
    found = ask(name, **typed)
    shown = words.all_shown(found)
    assert {one for one in found.model.outputs if shown[one] == MISSING} == set(unknown)


@pytest.mark.parametrize(
    ("name", "typed", "said"),
    [
        ("mongodb-memory", {"ram": "6Gi", "data": "9Gi"}, "default cache .* smaller `other`"),
        (
            "mongodb-memory",
            {"ram": "6Gi", "data": "9Gi", "share": "50%"},
            "share=50% and other=4Gi",
        ),
        ("upload", {"near": "61MiB/s"}, "both speeds"),
        ("upload", {"far": "61MiB/s"}, "both speeds"),
        ("wiredtiger-cache", {"limit": "16Ti", "ratio": "1"}, "more than 10,000 GB"),
        ("document-overhead", {"names": "3", "fields": "50"}, "too few bytes for fields=50"),
        ("document-overhead", {"names": "8"}, "too few bytes for fields=10"),
    ],
)
def test_what_cannot_be_is_refused(name: str, typed: dict[str, str], said: str) -> None:
    with pytest.raises(DynoError, match=said):
        ask(name, **typed)


@pytest.mark.parametrize(
    ("name", "typed", "said"),
    [
        ("retention", {"rate": "9/s", "method": "partition", "pass_every": "60s"}, "10,081 part"),
        ("upload", {"total": "10Mi"}, "number of parts is 1"),
        ("upload", {"near": "61MiB/s", "far": "123MiB/s"}, "mixed up"),
        ("upload", {"near": "130MiB/s", "far": "61MiB/s"}, "4 threads and parts of 10 MiB"),
        ("upload", {"total": "6Ti", "chunk": "1Gi"}, "December 2025"),
        ("wiredtiger-cache", {"limit": "16Ti", "ratio": "0.6"}, "no larger cache"),
    ],
)
def test_limits_are_said(name: str, typed: dict[str, str], said: str) -> None:
    found = ask(name, **typed)
    assert any(said in note for note in words.notes(found, words.all_shown(found)))


def test_one_empty_name_is_possible() -> None:
    assert ask("document-overhead", names="9").values["fields"] == 10


def test_data_that_fits_into_wiredtigers_cache_does_not_come_from_disk() -> None:
    found = ask("mongodb-memory", ram="64Gi", data="10Gi", share="100%", other="0")
    assert found.values["from_disk"] == 0
    assert words.sentence(found, words.all_shown(found)).startswith("All 10 GiB of data fit")


def simulated(rate: float, purge_rate: float, pause: float) -> float:
    """How long passes become: each deletes what expired up to its beginning, then sleeps."""
    takes = 0.0
    for _ in range(10_000):
        takes = rate * (takes + pause) / purge_rate
    return takes


@pytest.mark.parametrize("rate", ["100/s", "10000/s", "19000/s"])
def test_passes_of_a_ttl_index_become_as_long_as_the_model_says(rate: str) -> None:
    found = ask("retention", rate=rate, pass_every="60s").values
    assert found["pass_takes"] == pytest.approx(simulated(float(rate[:-2]), 20_000, 60))
