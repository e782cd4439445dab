"""`kind: replay`: what is read of a trace, what follows from it, and what is refused where."""

from __future__ import annotations

from pathlib import Path

import pytest

from dbdyno.digest import replay_file
from dbdyno.errors import DynoError
from dbdyno.experiment import load, workloads
from dbdyno.experiment.types import Cell
from fixtures import traces

TEXT = """experiment: mine
targets: {db: {kind: mariadb}}
workload: {kind: replay, log: a.trace}
"""
REPLAY = workloads.of("replay")


def loaded(tmp_path: Path, text: str = TEXT, made: bytes | None = None) -> Cell:
    (tmp_path / "a.trace").write_bytes(traces.made() if made is None else made)
    path = tmp_path / "mine.yaml"
    path.write_text(text)
    return load(path).cells[0]


def with_options(options: str) -> str:
    return TEXT.replace("a.trace", f"a.trace, {options}")


@pytest.mark.parametrize(
    ("options", "speed", "duration_s", "sessions"),
    [
        ("speed: 1", 1.0, 20.0, 6),
        ("speed: 2x", 2.0, 10.0, 6),
        ("speed: 0.5x", 0.5, 40.0, 6),
        ("speed: max", "max", 3600.0, 3),
        ("speed: 100x", 100.0, 1.0, 6),
        ("sessions: 2", None, 20.0, 2),
    ],
)
def test_length_and_sessions_are_the_traces(
    options: str, speed: object, duration_s: float, sessions: int, tmp_path: Path
) -> None:
    cell = loaded(tmp_path, with_options(options))
    [group] = cell.groups
    assert (cell.duration_s, cell.warmup_s, group.sessions) == (duration_s, 0.0, sessions)
    sent = REPLAY.sent(group.options)
    assert sent["speed"] == (speed or 1.0)
    assert sent["trace"] == str(tmp_path / "a.trace")
    assert (sent["writes"], sent["databases"]) == (False, "target")


def test_what_the_file_says_of_times_holds(tmp_path: Path) -> None:
    cell = loaded(tmp_path, TEXT + "duration: 5s\nwarmup: 2s\n")
    assert (cell.duration_s, cell.warmup_s) == (5.0, 2.0)


def test_it_changes_data_only_with_writes(tmp_path: Path) -> None:
    reads, writes = (
        loaded(tmp_path, with_options(options)).groups[0].options
        for options in ("writes: false", "writes: true")
    )
    assert not REPLAY.changes_data(reads) and REPLAY.changes_data(writes)
    assert REPLAY.meaning(reads) != REPLAY.meaning(writes)


def test_a_trace_means_what_it_holds_wherever_it_lies(tmp_path: Path) -> None:
    first = loaded(tmp_path).groups[0].options
    other = tmp_path / "other"
    other.mkdir()
    assert REPLAY.meaning(first) == REPLAY.meaning(loaded(other).groups[0].options)
    third = loaded(other, made=traces.made(events=7)).groups[0].options
    assert REPLAY.meaning(first) != REPLAY.meaning(third)


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ("rate: 100/s", "rate"),
        ("think: 10ms", "think"),
        ("retries: 3", "retries"),
        ("speed: fast", "speed"),
        ("speed: 0x", "speed"),
        ("speed: yes", "speed"),
        ("databases: all", "databases"),
    ],
)
def test_what_does_not_fit_is_refused_at_its_place(options: str, word: str, tmp_path: Path) -> None:
    with pytest.raises(DynoError) as error:
        loaded(tmp_path, with_options(options))
    assert word in str(error.value)


@pytest.mark.parametrize(
    ("made", "word"),
    [
        (b"# Time: 261122  4:42:15\n", "dyno digest a.trace --trace FILE"),
        (b"", "no trace"),
        (traces.made()[:-1], "no end"),
        (traces.made()[:30], "damaged"),
        (traces.made(version=7), "version 7"),
        (traces.made().replace(b"events", b"evints"), "its index"),
        (traces.made(effects={"write": 100}), "writes: true"),
    ],
)
def test_what_is_no_whole_trace_is_said(made: bytes, word: str, tmp_path: Path) -> None:
    with pytest.raises(DynoError) as error:
        loaded(tmp_path, made=made)
    assert word in str(error.value) + str(error.value.fix)


def test_a_log_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(DynoError, match=r"nowhere\.trace cannot be read"):
        loaded(tmp_path, TEXT.replace("a.trace", "nowhere.trace"))


def test_a_clock_of_seconds_is_remarked(tmp_path: Path) -> None:
    coarse = traces.made(clock_ns=1_000_000_000)
    assert REPLAY.remarks(loaded(tmp_path, made=coarse).groups[0].options)
    assert not REPLAY.remarks(loaded(tmp_path).groups[0].options)
    options = loaded(tmp_path, with_options("speed: max"), coarse).groups[0].options
    assert not REPLAY.remarks(options)


def test_what_was_traced_is_told_in_lines() -> None:
    raw = {**traces.META, "classes": 4, "origins": 1, "inputs": [], "clock_ns": 1_000_000_000}
    lines = replay_file.lines(replay_file.parse(raw))
    assert "100 statements of 9 sessions, 3 at once, over 20.0 s" in lines[0]
    assert "70 of them are sent" in lines[0]
    assert lines[1:] == [
        "not shown to be reads: write 30",
        "not in the trace: use 2",
        "the log's clock ticks in seconds: the statements of each are spread evenly over it",
    ]
