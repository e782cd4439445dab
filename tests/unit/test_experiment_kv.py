"""The workload `kv`: operations sent together (`pipeline`), and what they are not sent with."""

from __future__ import annotations

from typing import Any

import pytest

from dbdyno.errors import DynoError
from dbdyno.experiment import load, workloads
from dbdyno.plan.types import GroupPlan
from dbdyno.report.text.loops import loop

FILE = """\
experiment: e
targets: {{db: {{kind: redis}}}}
duration: 1s
workload: {{kind: kv, preset: a{more}}}
"""


@pytest.mark.parametrize(
    ("more", "what", "column"),
    [
        (", pipeline: 4, read_modify_write: 1", "waits for its read before it writes", 43),
        (", pipeline: 1000, field_bytes: 65535", "may be 624 MiB", 43),
        (", pipeline: 0", "pipeline", 43),
        (", pipeline: 1001", "pipeline", 43),
        (", pipeline: 2, think: {mean: 1ms, per: operation}", "`think` before each operation", 46),
    ],
)
def test_what_cannot_be_sent_together_is_pointed_at(more: str, what: str, column: int) -> None:
    with pytest.raises(DynoError) as caught:
        load(FILE.format(more=more))
    assert what in caught.value.what
    assert caught.value.where is not None
    assert (caught.value.where.line, caught.value.where.column) == (4, column)


@pytest.mark.parametrize(
    "more",
    [
        ", pipeline: 1, read_modify_write: 1",
        ", pipeline: 16, think: 1ms",
        ", pipeline: 16, rate: 100/s",
        ", pipeline: 1000, fields: 1",
    ],
)
def test_what_can_be_is_accepted(more: str) -> None:
    load(FILE.format(more=more))


def test_a_pipeline_of_one_is_none() -> None:
    assert workloads.meaning("kv", {"pipeline": 1}) == workloads.meaning("kv", {})
    assert workloads.meaning("kv", {"pipeline": 2}) != workloads.meaning("kv", {})
    assert workloads.data_options("kv", {"pipeline": 2}) == workloads.data_options("kv", {})


def test_a_session_has_as_many_in_flight_as_its_pipeline_is_long() -> None:
    assert workloads.pipeline("kv", {"pipeline": 16}) == 16
    assert workloads.pipeline("kv", {}) == workloads.pipeline("oltp", {"tables": 2}) == 1
    assert workloads.pipeline("kv", {"preset": "text-1", "pipeline": 4}) == 4, "a redacted run"
    assert workloads.pipeline("redis-benchmark", {}) == 1, "a tool whose results were imported"


def test_how_many_are_sent_in_a_write_is_a_metric_of_a_pipeline() -> None:
    claims = "claims: [operations_per_write > 8]\n"
    load(FILE.format(more=", pipeline: 16, rate: 100/s") + claims)
    with pytest.raises(DynoError, match="operations are sent one by one"):
        load(FILE.format(more="") + claims)


def _group(**options: Any) -> GroupPlan:
    return GroupPlan("g", "kv", "db", 2, 60.0, 10, options)


def test_a_report_says_what_is_sent_together() -> None:
    assert loop(_group(pipeline=16)) == "closed loop, pipeline 16"
    assert loop(_group(pipeline=1)) == loop(_group()) == "closed loop"
