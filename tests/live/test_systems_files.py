"""Plain files under load, as a user asks for it: made, read, written, made durable, removed."""

from __future__ import annotations

import json
from pathlib import Path
from statistics import median
from typing import Any

import pytest
from engine_jobs import run
from refusals import plain_words, refused
from running import Place, complete_trials, disk, has, result

from needed import missing

pytestmark = pytest.mark.live

FILES = """\
experiment: files
question: What does it cost to wait for the disk after each write?
targets:
  fs: {kind: files}
workload: {kind: io, preset: random_write, total_size: 8Mi, block_size: 4Ki, sessions: 2}
factors:
  fsync:
    none: {workload.sync_every: 0}
    each: {workload.sync_every: 1}
blocks: 5
warmup: 0s
duration: 500ms
interval: 100ms
claims:
  - tps[none] > tps[each]
"""


def test_waiting_for_the_disk_costs_throughput(there: Place) -> None:
    done = there.dyno("run", there.experiment(FILES), "--dir", "out")
    assert done.returncode == 0, done.stderr
    assert_more(there, "none", "each", "transactions_per_s")
    for path in (there.path / "out/trials").glob("*/trial.json"):
        metrics = json.loads(path.read_text())["metrics"]
        per_s = metrics["transactions_per_s"]
        assert metrics["mib_per_s"] == pytest.approx(per_s / 256)
        assert metrics["errors_per_s"] == 0
        assert per_s <= metrics["operations_per_s"] <= 2 * per_s
    assert there.until_clean() == []


def assert_more(there: Place, more: str, less: str, metric: str) -> None:
    """The claim holds by far in most blocks; the verdict on all may be undecided where the disk of
    a busy machine stood still in one of them."""
    answer = result(there.path / "out")
    (claim,) = answer["claims"]
    assert claim["verdict"] in ("supported", "undecided"), claim
    levels = [next(iter(cell["levels"].values())) for cell in answer["cells"]]
    found: dict[str, list[float]] = {more: [], less: []}
    for each in complete_trials(there.path / "out").values():
        record = json.loads(each)
        found[levels[record["cell"]]].append(record["metrics"][metric])
    assert median(found[more]) > 1.5 * median(found[less]), found


def test_two_block_sizes_read_the_same_files(there: Place) -> None:
    text = FILES.replace("random_write", "random_read").replace("fsync:", "block:")
    text = text.replace("none: {workload.sync_every: 0}", "4k: {workload.block_size: 4Ki}")
    text = text.replace("each: {workload.sync_every: 1}", "64k: {workload.block_size: 64Ki}")
    text = text.replace("tps[none] > tps[each]", "mib_per_s[64k] > mib_per_s[4k]")
    done = there.dyno("run", there.experiment(text), "--dir", "out")
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("creating and loading data") == 1, "one data set for both"
    assert_more(there, "64k", "4k", "mib_per_s")


def test_each_way_moves_blocks(there: Place) -> None:
    text = (
        FILES.split("factors:")[0]
        + """\
factors:
  way:
    mmap: {fs.options: {method: mmap}}
    dsync: {fs.options: {sync: dsync}}
    direct: {fs.options: {direct: true}}
    both: {fs.options: {direct: true, sync: sync}}
  preset:
    mixed: {workload.preset: random_mixed}
    write: {workload.preset: sequential_write}
    read: {workload.preset: sequential_read}
blocks: 1
warmup: 0s
duration: 60s
interval: 100ms
"""
    )
    done = there.dyno_until(has(1), "run", there.experiment(text), "--dir", "out")
    if "has no direct I/O" in done.stderr:
        missing("the file system of the test has no direct I/O")
    assert done.returncode == 0, done.stderr
    records = [json.loads(each) for each in complete_trials(there.path / "out").values()]
    assert len(records) == 12
    for record in records:
        assert record["metrics"]["transactions_per_s"] > 0
        assert record["metrics"]["errors_per_s"] == 0
        assert record["targets"]["fs"]["settings"]["direct_io"] == "yes"
        assert record["targets"]["fs"]["settings"]["filesystem"]


def test_a_disk_that_is_too_small_is_named(there: Place) -> None:
    with disk(there, "4m") as full:
        refused(
            there.dyno("run", there.experiment(FILES), "--dir", "out", "--scratch", full),
            "ENOSPC",
            f"the disk that holds {full} is full",
            "--scratch",
        )
        assert not list(full.iterdir())


def plan(directory: Path, job: str, **options: Any) -> dict[str, Any]:
    """An engine's plan for one group on files in `directory`."""
    return {
        "schema_version": 1,
        "job": job,
        "trial": "t",
        "directory": str(directory),
        "seed": 1,
        "targets": {"fs": {"driver": "files", "address": {"file": str(directory)}}},
        "duration_s": 0.5,
        "interval_s": 0.1,
        "groups": [
            {"name": "g", "target": "fs", "workload": "io", "sessions": 2, "options": options}
        ],
    }


def test_a_write_for_which_there_is_no_room_is_counted_by_its_name(there: Place) -> None:
    """The files are sparse, as no load leaves them: their blocks are not there before."""
    sizes = {"files": 2, "total_size": 8 << 20, "block_size": 65536}
    with disk(there, "2m") as full:
        for number in range(2):
            with (full / f"io.{number}").open("wb") as file:
                file.truncate(4 << 20)
        trial = plan(full, "run", **sizes, preset="random_write")
        said = run(trial, until=has(0, errors=1))
        assert (said.code, said.last["event"]) == (0, "end"), said.last
        assert set(said.total["errors"]) == {"ENOSPC"}
        assert said.total["failed"] > 0
        assert {path.name for path in full.iterdir()} >= {"io.0", "io.1"}
        plain_words(said.text)


def test_a_load_makes_files_and_touches_none_that_are_there(there: Place) -> None:
    sizes = {"files": 3, "total_size": 3 << 20}
    said = run(plan(there.path, "load", **sizes))
    assert said.last["rows"] == {"io": 3 << 20}
    assert [there.path.joinpath(f"io.{n}").stat().st_size for n in range(3)] == [1 << 20] * 3
    before = (there.path / "io.2").read_bytes()
    run(plan(there.path, "load", **sizes)).failure("plan", "io.0 exists already")
    assert (there.path / "io.2").read_bytes() == before
    other = {**sizes, "total_size": 6 << 20}
    run(plan(there.path, "run", **other)).failure("plan", "has 1048576 bytes, not 2097152", "load")
