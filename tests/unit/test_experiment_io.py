"""The workload `io`: sizes, presets, what the data depends on, what contradicts itself."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from dbdyno.errors import DynoError
from dbdyno.experiment import load, workloads
from dbdyno.experiment.workloads.io import OPTIONS, PRESETS

SETTINGS = Path(__file__).parents[2] / "engine/workloads/src/io/settings.rs"
FILE = """\
experiment: e
targets: {{fs: {{kind: files}}}}
duration: 1s
workload: {{kind: io{more}}}
"""


def options(more: str) -> dict[str, Any]:
    (group,) = load(FILE.format(more=more)).cells[0].groups
    return dict(group.options)


def test_options_and_presets_are_those_of_the_engine() -> None:
    rust = SETTINGS.read_text()
    named = re.findall(r"reader\s*\.(?:integer|number|word)\(\s*\"(\w+)\"", rust)
    assert sorted(named) == sorted(option.name for option in OPTIONS)
    found = re.findall(r"\(\"(\w+)\", (true|false), ([0-9.]+)\)", rust)
    assert found == [
        (name, str(preset["access"] == "random").lower(), str(preset["read_share"]))
        for name, preset in PRESETS.items()
    ]


def test_sizes_have_units_and_are_bytes_afterwards() -> None:
    found = options(", total_size: 1Gi, block_size: 4Ki")
    assert found == {"total_size": 1 << 30, "block_size": 4096}
    assert options(", block_size: 8192") == {"block_size": 8192}


def test_two_block_sizes_share_their_files() -> None:
    small, large = ({"block_size": size, "total_size": 64 << 20} for size in (4096, 65536))
    data = workloads.data_options("io", small)
    assert data == workloads.data_options("io", large) == {"files": 4, "total_size": 64 << 20}
    assert workloads.of("io").data_bytes(data) == 64 << 20


def test_reading_leaves_the_data_and_writing_does_not() -> None:
    assert not workloads.changes_data("io", {})
    assert workloads.changes_data("io", {"preset": "random_mixed"})
    assert not workloads.changes_data("io", {"preset": "random_mixed", "read_share": 1})


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ({}, {"preset": "random_read", "sync_every": 100}),
        ({"preset": "random_write"}, {"read_share": 0, "sync_call": "fdatasync"}),
        ({"preset": "sequential_read"}, {"access": "sequential"}),
    ],
)
def test_what_nothing_looks_at_makes_no_difference(
    one: dict[str, Any], two: dict[str, Any]
) -> None:
    assert workloads.meaning("io", one) == workloads.meaning("io", two)


def test_a_smoke_test_has_small_files_that_hold_a_block() -> None:
    for given in ({}, {"block_size": 1 << 20}, {"files": 64}):
        small = workloads.of("io").small({**given, "total_size": 1 << 40}, 100, 1)
        assert small["total_size"] < 10 << 20
        assert not list(workloads.of("io").contradictions(small))


@pytest.mark.parametrize(
    ("more", "what", "column"),
    [
        (", total_size: 100k, files: 8", "less than 16 KiB each", 34),
        (", block_size: 64Mi", "more than a file has, 33554432 bytes", 34),
        (", access: sequential, distribution: zipfian", "belongs to `access: random`", 56),
        (", zipfian_theta: 0.5", "belongs to `distribution: zipfian`", 37),
        (", files: 0", "files", 29),
        (", block_size: 100", "block_size", 34),
        (", preset: rndrd", "preset", 30),
    ],
)
def test_what_contradicts_itself_is_pointed_at(more: str, what: str, column: int) -> None:
    with pytest.raises(DynoError) as caught:
        load(FILE.format(more=more))
    assert what in caught.value.what
    assert caught.value.where is not None
    assert (caught.value.where.line, caught.value.where.column) == (4, column)
