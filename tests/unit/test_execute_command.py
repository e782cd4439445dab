"""One command of the user's: its output, its end, and what is left when it is killed."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from dbdyno.execute.hooks import command
from dbdyno.experiment.types import Hook
from dbdyno.hosts import ssh
from dbdyno.hosts.base import began_ticks, kill_group
from dbdyno.store.hooklog import DEADLINE, FAILED, OK, STOPPED


def gone(pid: int) -> bool:
    """Whether a process ends soon."""
    for _ in range(5000):
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            return True
        if state == "Z":
            return True
        time.sleep(0.02)
    return False


def test_a_command_gets_its_variables_and_both_streams_are_kept() -> None:
    ended = command.run(Hook('echo "$DYNO_X"; echo bad >&2; exit 3'), {"DYNO_X": "it's $HOME"})
    assert (ended.outcome, ended.exit_code) == (FAILED, 3)
    assert ended.output == "it's $HOME\nbad\n"
    assert command.run(Hook("true"), {}).outcome == OK


def test_hidden_variables_do_not_reach_a_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_PASSWORD", "s3cret")
    ended = command.run(Hook("env"), {}, hidden=frozenset({"SHOP_PASSWORD"}))
    assert "s3cret" not in ended.output
    assert "PATH=" in ended.output


def test_a_command_that_hangs_dies_at_its_deadline_with_all_it_has_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pids = tmp_path / "pids"

    def now() -> float:
        """The deadline passes once both processes are there, however long that takes."""
        are_there = pids.exists() and pids.read_text().count("\n") == 2
        return time.monotonic() + (1e6 if are_there else 0.0)

    monkeypatch.setattr(command, "time", SimpleNamespace(monotonic=now, sleep=time.sleep))
    script = f"trap '' TERM; sh -c 'echo $$ >> {pids}; exec sleep 600' & echo $$ >> {pids}; wait"
    ended = command.run(Hook(script, deadline_s=1e5), {})
    assert (ended.outcome, ended.exit_code) == (DEADLINE, None)
    found = [int(line) for line in pids.read_text().split()]
    assert len(found) == 2
    assert all(gone(pid) for pid in found)


def test_a_command_is_stopped_when_the_user_does_not_want_to_wait() -> None:
    asked = iter([False, False])
    ended = command.run(Hook("sleep 600"), {}, stop=lambda: next(asked, True))
    assert ended.outcome == STOPPED


def test_output_is_bounded_and_says_what_is_missing() -> None:
    ended = command.run(
        Hook("echo first; head -c 5000000 /dev/zero | tr '\\0' x; echo; echo last"), {}
    )
    assert len(ended.output) < command.HEAD_BYTES + command.TAIL_BYTES + 100
    assert ended.output.startswith("first\n")
    assert ended.output.endswith("last\n")
    assert "bytes omitted]" in ended.output


def test_output_that_never_ends_does_not_outlive_the_deadline() -> None:
    assert command.run(Hook("yes", deadline_s=0.3), {}).outcome == DEADLINE


def test_a_process_left_in_the_background_is_not_waited_for() -> None:
    groups: list[int] = []
    ended = command.run(Hook("sleep 600 & echo $!"), {}, began=groups.append)
    try:
        assert (ended.outcome, ended.seconds < 60) == (OK, True)
        assert not gone_now(int(ended.output))
    finally:
        os.killpg(groups[0], signal.SIGKILL)


def gone_now(pid: int) -> bool:
    return not Path(f"/proc/{pid}").exists()


def test_a_command_that_cannot_start_says_why(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))  # no ssh there
    ended = command.run(Hook("true", on="ssh://nobody@nowhere"), {})
    assert ended.outcome == FAILED
    assert "ssh" in ended.output


def sh(script: str) -> subprocess.Popen[bytes]:
    """What ssh does on the other side: a shell that reads its script from a pipe."""
    process = subprocess.Popen(
        ["/bin/sh"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    assert process.stdin is not None
    threading.Thread(
        target=lambda: process.stdin.write(script.encode()) and process.stdin.flush()
    ).start()
    return process


def test_the_remote_script_quotes_everything_and_passes_the_status_on() -> None:
    nasty = "a'b\"c $(touch /nope) `x` \\ ; é"
    script = ssh.remote_script('printf %s "$DYNO_X"; cat; exit 7', {"DYNO_X": nasty})
    process = sh(script)
    assert process.stdout is not None and process.stdin is not None
    assert process.stdout.read().decode() == nasty
    assert process.wait(120) == 7
    process.stdin.close()


def test_a_remote_command_longer_than_a_pipes_buffer_arrives_whole() -> None:
    process = sh(ssh.remote_script("exit 5 #" + "'" * 60_000, {}))
    assert process.wait(120) == 5


def test_a_remote_command_ends_when_the_connection_does(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    process = sh(ssh.remote_script(f"sh -c 'echo $$ > {pids}; sleep 600'; true", {}))
    while not pids.exists() or not pids.read_text():
        time.sleep(0.02)
    assert process.stdin is not None
    process.stdin.close()  # how the end of ssh appears from there
    assert gone(int(pids.read_text()))
    assert process.wait(120) != 0


def test_what_a_killed_dyno_left_running_is_killed_but_not_its_namesake() -> None:
    process = subprocess.Popen(["sleep", "600"], start_new_session=True)
    try:
        ticks = began_ticks(process.pid)
        kill_group(process.pid, ticks + 1)
        assert process.poll() is None
        kill_group(process.pid, ticks)
        assert process.wait(120) == -9
    finally:
        process.kill()
