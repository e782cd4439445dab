"""Stopping who works in a run: that process and no other, whatever the lock's file says."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from dbdyno.errors import DynoError
from dbdyno.store import lock
from dbdyno.store.lock import Lock

WORKS = """
import signal, sys, time
from pathlib import Path
from dbdyno.store.lock import Lock
signal.signal(signal.SIGINT, lambda *_: sys.exit(30))
signal.signal(signal.SIGTERM, lambda *_: sys.exit(31))
Lock(Path(sys.argv[1]))
print("begun", flush=True)
time.sleep(600)
"""


@contextmanager
def worker(run: Path, code: str = WORKS) -> Iterator[subprocess.Popen[str]]:
    """Another process that works in a run, and ends with a code by the signal it gets."""
    command = [sys.executable, "-c", code, str(run)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "begun\n"
            yield process
        finally:
            process.kill()


@pytest.mark.parametrize(("now", "code"), [(False, 30), (True, 31)])
def test_who_works_in_a_run_gets_the_signal(tmp_path: Path, now: bool, code: int) -> None:
    with worker(tmp_path) as process:
        lock.check_stoppable(tmp_path)
        lock.stop(tmp_path, now=now)
        assert process.wait(timeout=120) == code
    with pytest.raises(DynoError, match="no process works"):
        lock.stop(tmp_path, now=now)


BYSTANDER = WORKS.replace(
    "Lock(Path(sys.argv[1]))", "file = open(Path(sys.argv[1]) / 'lock')"
).replace("30", "32")


def test_another_process_whose_number_is_in_the_file_is_left_alone(tmp_path: Path) -> None:
    """Even one that has the file open, as whoever looks whether a run is under way."""
    held = Lock(tmp_path)
    with worker(tmp_path, BYSTANDER) as bystander:
        (tmp_path / "lock").write_text(f"{bystander.pid}\n")
        with pytest.raises(DynoError, match="is not known here") as refused:
            lock.stop(tmp_path, now=True)
        assert f"kill -INT {bystander.pid}" in refused.value.fix
        assert bystander.poll() is None
    held.release()


@pytest.mark.parametrize("said", ["", "no number", "-1", "0", "999999999"])
def test_a_lock_that_names_nobody_here_stops_nobody(tmp_path: Path, said: str) -> None:
    held = Lock(tmp_path)
    (tmp_path / "lock").write_text(said)
    with pytest.raises(DynoError, match=r"is not known here|cannot be stopped") as refused:
        lock.check_stoppable(tmp_path)
    assert "where it was started" in refused.value.fix
    held.release()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a directory away")
def test_a_run_of_another_account_is_not_stopped(tmp_path: Path) -> None:
    with worker(tmp_path) as process:
        os.chown(tmp_path / "lock", 12345, 12345)
        with pytest.raises(DynoError, match="is not known here"):
            lock.stop(tmp_path, now=True)
        assert process.poll() is None
