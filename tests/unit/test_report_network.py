"""The report's section on networks: what was asked for beside what was measured."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from dbdyno.report import layout
from dbdyno.report.sections.setting import network
from fixtures import synthetic

FAR = {
    "delay_s": 0.005,
    "bytes_per_s": 10_000_000,
    "round_trip_s": 0.0101,
    "direct_s": 0.00004,
    "measured_bytes_per_s": 9_870_000.0,
}
NEAR = {**FAR, "delay_s": 0.0, "bytes_per_s": None, "measured_bytes_per_s": None}


def run() -> synthetic.SyntheticRun:
    return synthetic.cache_run(Path("."))[0]


def rows(*facts: Any) -> list[network.Row] | None:
    """The section of a run whose trials of the first cells have these networks."""
    records = [
        one.replace(targets={"db": {"kind": "mariadb", "network": facts[one.cell]}})
        for one in run().kept
        if one.cell < len(facts)
    ]
    plan = run().plan
    context: Any = SimpleNamespace(complete=records, plan=plan, layout=layout.choose(plan))
    return network.view(context)


def test_a_row_has_what_was_asked_for_and_what_was_measured() -> None:
    found = rows(NEAR, FAR)
    assert found is not None
    near, far = found
    assert (far.target, far.delay, far.round_trip) == ("db (mariadb)", "5 ms", "10.1 ms")
    assert (far.direct, far.bandwidth) == ("0.0400 ms", "10,000,000 B/s")
    assert far.measured_bandwidth == "9,870,000 B/s"
    assert (near.delay, near.bandwidth, near.measured_bandwidth) == ("0 ms", "no limit", "")
    assert near.cells != far.cells


def test_a_network_between_nodes_has_a_row_of_its_own() -> None:
    record = (
        run()
        .kept[0]
        .replace(targets={"db": {"kind": "mariadb", "network": NEAR, "network_of_nodes": FAR}})
    )
    plan = run().plan
    context: Any = SimpleNamespace(complete=[record], plan=plan, layout=layout.choose(plan))
    found = network.view(context)
    assert found is not None
    assert [(row.target, row.delay) for row in found] == [
        ("db (mariadb)", "0 ms"),
        ("db (mariadb), between nodes", "5 ms"),
    ]


@pytest.mark.parametrize("facts", [None, "far", {}, {**FAR, "round_trip_s": "long"}, []])
def test_a_record_without_a_network_or_a_damaged_one_leaves_no_row(facts: Any) -> None:
    assert rows(facts) is None
