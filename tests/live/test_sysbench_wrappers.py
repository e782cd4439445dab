"""Wrappers parse sysbench's text: what they search is in dyno's output as in that of an installed
sysbench, which runs the same commands."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest
from scripted import address, command, serving
from sysbench_text import found, skeleton

pytestmark = pytest.mark.live

THEIRS = shutil.which("sysbench")

# By test: the options of the run.
NATIVE: dict[str, list[str]] = {
    "cpu": ["--time=2", "--report-interval=1", "--threads=2", "--cpu-max-prime=2000"],
    "memory": ["--memory-total-size=4G", "--memory-block-size=64K", "--histogram"],
    "fileio": ["--file-test-mode=rndrw", "--events=300", "--time=0", "--file-fsync-freq=50"],
    "threads": ["--events=40", "--time=0", "--thread-yields=10", "--percentile=99"],
    "mutex": ["--mutex-num=16", "--mutex-locks=50", "--mutex-loops=10", "--threads=3"],
}
FILES = ["--file-num=4", "--file-total-size=1M"]

FORMATS = """
sysbench.hooks.report_intermediate = sysbench.report_{form}
sysbench.hooks.report_cumulative = function(stat) print("the end of", stat.time_total > 0) end
function thread_init() con = sysbench.sql.driver():connect() end
function event() con:query("SELECT 1") end
"""


def said(words: Sequence[str], cwd: Path) -> str:
    done = subprocess.run(
        words, cwd=cwd, capture_output=True, text=True, check=False, timeout=120, env=os.environ
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def both(test: str, options: Sequence[str], cwd: Path) -> list[str]:
    """What each of the programs prints, dyno first; without an installed sysbench dyno alone."""
    calls = [command(test, *options)]
    if THEIRS:
        calls.append([THEIRS, test, *options])
    return [said(words, cwd) for words in calls]


def alike(texts: Sequence[str]) -> dict[str, list[tuple[float, ...]]]:
    """The same patterns are found in all; those of the first. Errors by code, which dyno adds at
    the end if there were some, are omitted."""
    texts = [text.partition("Errors by code:")[0] for text in texts]
    for text in texts[1:]:
        assert sorted(found(text)) == sorted(found(texts[0]))
        assert skeleton(text) == skeleton(texts[0])
    return found(texts[0])


@pytest.mark.parametrize("test", NATIVE)
def test_what_wrappers_look_for_in_tests_without_a_script(test: str, tmp_path: Path) -> None:
    options = NATIVE[test]
    if test == "fileio":
        options = FILES + options
        both(test, [*FILES, "prepare"], tmp_path)
    numbers = alike(both(test, [*options, "run"], tmp_path))
    assert {"threads", "total time", "total events", "minimum", "sum"} <= set(numbers)
    only = {
        "cpu": {"interval of events", "events per second"},
        "memory": {"operations", "transferred"},
        "fileio": {"reads of files", "fsyncs of files", "throughput of writing"},
        "threads": {"fairness of events"},
        "mutex": {"fairness of time"},
    }
    assert only[test] <= set(numbers)
    if test == "threads":
        assert numbers["total events"] == [(40,)]
        assert numbers["percentile"][0][0] == 99


def test_what_wrappers_look_for_in_oltp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving("mariadb", monkeypatch) as (_, _, port):
        test = "oltp_read_write"
        common = [*address("mariadb", port), "--tables=2", "--table-size=1000"]
        said(command(test, *common, "prepare"), tmp_path)
        exact = alike(both(test, [*common, "--events=50", "--time=0", "run"], tmp_path))
        assert [row[0] for row in exact["transactions"]] == [50]
        assert [exact[name] for name in ("read", "write", "other", "all statements")] == [
            [(700,)],
            [(200,)],
            [(100,)],
            [(1000,)],
        ]
        timed = ["--threads=4", "--time=3", "--report-interval=1", "run"]
        numbers = alike(both(test, [*common, *timed], tmp_path))
        first = numbers["interval of statements"][0]
        assert first[0] >= 1 and first[1] == 4 and first[7] == 95
        assert {"queries", "ignored errors", "reconnects", "mean", "percentile"} <= set(numbers)


def test_rows_and_objects_of_intervals(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving("mariadb", monkeypatch) as (_, _, port):
        timed = [*address("mariadb", port), "--time=2", "--report-interval=1", "run"]
        for form, parse in (("csv", row), ("json", members)):
            script = tmp_path / f"{form}.lua"
            script.write_text(FORMATS.format(form=form))
            texts = both(str(script), timed, tmp_path)
            assert all("the end of" in text for text in texts)
            shapes = [parse(text) for text in texts]
            assert all(shape == shapes[0] for shape in shapes), texts


def row(text: str) -> tuple[int, ...]:
    """How many fields each row of numbers has, and digits behind the point of each."""
    lines = [line for line in text.splitlines() if line[:1].isdigit() and "," in line]
    fields = lines[0].split(",")
    return (len(fields), *(len(field.partition(".")[2]) for field in fields))


def members(text: str) -> list[str]:
    """The names in the objects of intervals, which are in an unclosed list."""
    begin = text.index("[\n") if "[\n" in text else text.index("{")
    decoder = json.JSONDecoder()
    one, _ = decoder.raw_decode(text[text.index("{", begin) :])
    return sorted(f"{name}: {type(value).__name__}" for name, value in named(one))


def named(value: dict[str, object], prefix: str = "") -> list[tuple[str, object]]:
    pairs: list[tuple[str, object]] = []
    for name, inner in value.items():
        pairs += (
            named(inner, f"{prefix}{name}.")
            if isinstance(inner, dict)
            else [(prefix + name, inner)]
        )
    return pairs
