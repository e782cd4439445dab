"""Sizes and times of single models: what they leave open, refuse, and say."""

from __future__ import annotations

import pytest

from dbdyno import models
from dbdyno.errors import DynoError
from dbdyno.models import calculate, given
from dbdyno.wording.models import words
from dbdyno.wording.numbers import MISSING


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
        ("upload", {"total": "100Gi", "chunk": "10Mi"}, "more than the 10,000 parts"),
        ("upload", {"total": "49Ti", "chunk": "5Gi"}, "10,000 parts of 5 GiB"),
        ("mongodb-memory", {"ram": "64Gi", "data": "9Gi", "mongods": "3"}, "mongods=3"),
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
        ("upload", {"near": "130MiB/s", "far": "61MiB/s"}, "4 threads and parts of 16 MiB"),
        (
            "mongodb-memory",
            {"ram": "64Gi", "data": "9Gi", "mongods": "2", "other": "1Gi"},
            "each of 2 mongods takes 31.5 GiB",
        ),
        (
            "consistency",
            {"tps": "34870/s", "sessions": "640", "rows": "410", "row": "100", "link": "1250MB/s"},
            "cannot have been sent over it",
        ),
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


def test_memory_of_an_upload_grows_with_the_distance_up_to_all_threads() -> None:
    typed = {"total": "50Gi", "chunk": "10Mi", "threads": "16", "source": "50MiB/s"}
    found = [ask("upload", **typed, rtt=f"{ms}ms").values for ms in (0, 10, 90, 500, 5000)]
    memory = [float(one["memory"]) for one in found]  # type: ignore[arg-type]
    assert memory == sorted(memory) and memory[0] < memory[-1]
    assert memory[-1] == found[-1]["memory_max"] == 170 * 2**20
    near, far = (
        ask("upload", **typed, ahead="yes", rtt=rtt).values["memory"] for rtt in ("1ms", "5s")
    )
    assert far > 100 * near  # type: ignore[operator]
