"""Pipelines of the real engine on its null driver: what is counted, and what it refuses itself."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
from engine_jobs import plan, run
from running import has

pytestmark = [pytest.mark.live, pytest.mark.timeout(300)]

NULL = {"driver": "null", "address": "none", "options": {"delay_us": 1000}}
KV = {"workload": "kv", "options": {"preset": "a", "pipeline": 16}}


def test_a_closed_loop_sends_all_of_it(tmp_path: Path) -> None:
    total = run(plan(tmp_path, NULL, **KV), until=has(100)).total
    assert total["operations_per_write"] == 16
    assert total["transactions"] == total["operations"] == total["latency"]["count"] > 0
    assert total["latency"]["mean_ns"] >= 1e6


def test_an_open_loop_sends_what_is_due(tmp_path: Path) -> None:
    rate = {"for_s": None, "from_per_s": 20_000, "to_per_s": 20_000}
    arrivals = {"process": "uniform", "steps": [rate]}
    total = run(plan(tmp_path, NULL, duration_s=0.5, arrivals=arrivals, **KV)).total
    # Two sessions of which each could do a thousand a second one by one.
    assert 1 < total["operations_per_write"] <= 16
    assert total["open"]["due"] == 10_000
    assert total["open"]["begun"] + total["open"]["backlog_end"] == 10_000


def test_an_error_is_that_of_one_operation(tmp_path: Path) -> None:
    options = {"error_every": 5, "error_code": "OOM", "error_retryable": False}
    total = run(plan(tmp_path, NULL | {"options": options}, **KV), until=has(2000)).total
    assert set(total["errors"]) == {"OOM"}
    assert total["failed"] == total["errors"]["OOM"] > 0
    # Half of the operations write, by the toss of a coin, and a fifth of the writes fail.
    ended = total["transactions"] + total["failed"]
    assert total["failed"] == pytest.approx(ended / 10, abs=5 * math.sqrt(ended) / 10 + 2)


@pytest.mark.parametrize(
    ("target", "group", "words"),
    [
        (
            {"driver": "sqlite", "address": {"file": "x.db"}},
            {},
            ("needs pipelining (for `pipeline`), which driver sqlite does not have",),
        ),
        (
            NULL,
            {"think": {"mean_s": 0.001, "distribution": "constant", "per": "operation"}},
            ("`think` before each operation", "between transactions"),
        ),
        (NULL, {"audit": True}, ("`audit` means nothing with `pipeline`",)),
    ],
)
def test_what_cannot_be_is_refused(
    tmp_path: Path, target: dict[str, Any], group: dict[str, Any], words: tuple[str, ...]
) -> None:
    run(plan(tmp_path, target, **KV, **group)).failure("plan", *words)
