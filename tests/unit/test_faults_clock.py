"""Clocks that are put forward and back: what may be written, what servers get, what is left."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import pytest
from test_experiment_load import ONE, failure, load

from dbdyno.errors import DynoError
from dbdyno.experiment.types import Target
from dbdyno.experiment.values.faults import (
    Fault,
)
from dbdyno.faults import FAULTS
from dbdyno.faults.base import Node
from dbdyno.plan.machine import Machine
from dbdyno.plan.make import make
from dbdyno.systems.preloaded import clock
from dbdyno.systems.preloaded import environment as preloaded
from dbdyno.systems.preloaded.clock import SkewedClock
from dbdyno.systems.process import guardian

MACHINE = Machine(cores=8, memory_bytes=1 << 34, kernel="6", cpu_model="x")
NOBODY = (1 << 22) + 1  # no process: Linux's numbers end at 2^22


@pytest.mark.parametrize(
    ("by", "seconds"), [("5s", 5.0), ("+1h", 3600.0), ("-500ms", -0.5), ("0s", 0.0), ("-0s", 0.0)]
)
def test_a_clock_goes_forward_or_back(by: str, seconds: float) -> None:
    (fault,) = load(f"{ONE}faults: [{{at: 1s, do: clock, by: {by}, for: 2s}}]\n").cells[0].faults
    assert fault == Fault(1.0, "clock", ("primary",), "db", 2.0, clock_s=seconds)
    assert fault.is_on_clocks


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("¶{at: 1s, do: clock}", "by` is missing"),
        ("{at: 1s, do: clock, by: ¶5}", "must be a duration with its unit"),
        ("{at: 1s, do: clock, by: ¶--5s}", "must be a duration"),
        ("{at: 1s, do: clock, by: ¶-40d}", "must be at most 30 days"),
        ("{at: 1s, do: kill, ¶by: 5s}", "there is no key `by`"),
    ],
)
def test_what_is_no_shift_of_a_clock_is_refused_at_its_place(fault: str, said: str) -> None:
    error = failure(f"{ONE}faults: [{fault}]\n")
    assert said in f"{error.what} {error.fix} {error.cause}", str(error)


def test_a_plan_says_that_some_servers_look_at_the_clock_by_a_library() -> None:
    levels = "factors:\n  clock:\n    right:\n    wrong: {faults: [{at: 1s, do: clock, by: 5s}]}\n"
    notes = " ".join(make(load(ONE + levels), MACHINE).notes)
    assert "libfaketime" in notes
    assert "by: 0s" in notes
    everywhere = f"{ONE}faults: [{{at: 1s, do: clock, by: 5s}}]\n"
    assert "libfaketime" not in " ".join(make(load(everywhere), MACHINE).notes)


@pytest.fixture
def skewed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SkewedClock:
    """A clock whose library is there, and that is not waited for."""
    monkeypatch.setattr(clock, "library", lambda: Path("/lib/libfaketimeMT.so.1"))
    monkeypatch.setattr(time, "sleep", lambda seconds: None)
    return SkewedClock(tmp_path / "clocks" / "db", "db.2")


def offset_s(of: SkewedClock) -> float:
    return float(Path(of.environment["FAKETIME_TIMESTAMP_FILE"]).read_text())


def test_several_shifts_add_up_and_each_ends_its_own(skewed: SkewedClock) -> None:
    assert offset_s(skewed) == 0.0
    skewed.skew(5.0)
    skewed.skew(-3600.5)
    assert offset_s(skewed) == -3595.5
    skewed.unskew(5.0)
    skewed.unskew(5.0)
    assert offset_s(skewed) == -3600.5
    skewed.unskew(-3600.5)
    assert offset_s(skewed) == 0.0
    file = Path(skewed.environment["FAKETIME_TIMESTAMP_FILE"])
    assert file.stat().st_mode & 0o777 == 0o644
    assert [each.name for each in file.parent.iterdir()] == ["db.2"]


def test_times_that_a_server_said_are_put_right_as_far_as_they_were_shown_once(
    skewed: SkewedClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [100.0]
    monkeypatch.setattr(time, "time", lambda: now[0])

    def right(unix_s: float) -> float | None:
        """Of a trial from 90 s on."""
        return skewed.unskewed(unix_s, 90.0, now[0])

    assert right(95.0) == 95.0
    skewed.skew(3600.0)
    now[0] = 110.0
    assert right(99.0) == 99.0
    assert right(3708.0) == 108.0
    assert right(100.5) == 100.5  # it has not read the offset yet
    assert right(108.0) == 108.0  # said by a program that looks past the library
    assert right(9000.0) is None
    skewed.unskew(3600.0)
    now[0] = 200.0
    assert right(3708.0) == 108.0
    assert right(120.0) == 120.0
    skewed.skew(5.0)
    now[0] = 300.0
    assert right(250.0) is None  # said at 245 s, or at 250 s by a program that looks past it
    assert right(302.0) == 297.0
    skewed.skew(0.0)
    assert right(199.0) == 199.0


def test_libraries_of_several_purposes_are_preloaded_together(skewed: SkewedClock) -> None:
    between = {"LD_PRELOAD": "/x/redirect.so", "DYNO_REDIRECT": "/x/db"}
    both = preloaded.together(between, skewed.environment)
    assert both["LD_PRELOAD"] == "/x/redirect.so:/lib/libfaketimeMT.so.1"
    assert both["DYNO_REDIRECT"] == "/x/db"
    assert preloaded.together({}, {}) == {}


def test_a_server_that_has_not_the_library_is_an_error(skewed: SkewedClock) -> None:
    class Server:
        pid = os.getpid()
        process: Any

        def alive(self) -> bool:
            return True

    server: Any = Server()
    server.process = server
    node = Node("db", server, "dbdyno", clock=skewed)
    with pytest.raises(DynoError, match="clock of `db` cannot be put forward"):
        FAULTS["clock"].begin(node, Fault(1.0, "clock", ("db",), "db", clock_s=5.0))
    assert offset_s(skewed) == 0.0


def test_a_machine_without_libfaketime_says_what_installs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clock, "ROOTS", (tmp_path,))
    with pytest.raises(DynoError, match="there is no `libfaketime") as caught:
        FAULTS["clock"].check(Fault(1.0, "clock", ("db",), "db"), Target("db", "mariadb"))
    assert caught.value.fix.endswith("libfaketime")


def test_what_libfaketime_leaves_of_dead_processes_is_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module, name in ((clock, "SHM"), (guardian, "SHM_DIRECTORY")):
        monkeypatch.setattr(module, name, tmp_path)
    left = [f"faketime_shm_{NOBODY}", f"sem.faketime_sem_{NOBODY}"]
    kept = [f"faketime_shm_{os.getpid()}", "faketime_shm_x", "another"]
    for name in (*left, *kept):
        (tmp_path / name).touch()
    assert {path.name for path in clock.abandoned({os.geteuid()})} == set(left)
    assert list(clock.abandoned({os.geteuid() + 1})) == []
    guardian.remove_faketime({NOBODY})
    assert {path.name for path in tmp_path.iterdir()} == set(kept)
