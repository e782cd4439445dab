"""The report's section on volumes: what was asked for, and what a power cut left."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from dbdyno.report import layout
from dbdyno.report.sections.setting import volume
from fixtures import synthetic

HONEST = {
    "size_bytes": 512 << 20,
    "filesystem": "ext4",
    "mount_options": "",
    "flushes": "obeyed",
    "fsync_s": 0.0025,
    "fsynced_survives": True,
}
LYING = {**HONEST, "flushes": "ignored", "fsynced_survives": False}
NO_BARRIER = {**HONEST, "mount_options": "nobarrier", "fsynced_survives": False}


def run() -> synthetic.SyntheticRun:
    return synthetic.cache_run(Path("."))[0]


def rows(*facts: Any) -> list[volume.Row] | None:
    """The section of a run whose trials of the first cells stood on these."""
    records = [
        one.replace(targets={"db": {"kind": "mariadb", "volume": facts[one.cell]}})
        for one in run().kept
        if one.cell < len(facts)
    ]
    plan = run().plan
    context: Any = SimpleNamespace(complete=records, plan=plan, layout=layout.choose(plan))
    return volume.view(context)


def test_a_row_says_what_survived_and_what_an_fsync_costs() -> None:
    found = rows(HONEST, LYING)
    assert found is not None
    honest, lying = found
    assert (honest.target, honest.what) == ("db (mariadb)", "512 MiB ext4")
    assert (honest.flushes, honest.fsynced, honest.fsync) == ("obeyed", "survived", "2.50 ms")
    assert (lying.flushes, lying.fsynced) == ("ignored: the disk lies", "lost")
    assert honest.cells != lying.cells


def test_mount_options_are_named() -> None:
    found = rows(NO_BARRIER)
    assert found is not None
    assert (found[0].what, found[0].fsynced) == ("512 MiB ext4, nobarrier", "lost")


@pytest.mark.parametrize("facts", [None, "ext4", {}, {**HONEST, "fsync_s": "long"}, []])
def test_a_record_without_a_volume_or_a_damaged_one_leaves_no_row(facts: Any) -> None:
    assert rows(facts) is None
