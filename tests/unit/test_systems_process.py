"""The guardian, with small programs in the place of servers."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from dbdyno.errors import DynoError
from dbdyno.systems.process import guardian, scratch
from dbdyno.systems.process.account import Account, check_reachable, private_directory, private_file
from dbdyno.systems.process.guarded import Guarded
from dbdyno.systems.process.logtail import LogTail
from dbdyno.systems.process.owner import MARK, sweep
from dbdyno.systems.process.paths import check_port, free_port, socket_directory
from dbdyno.systems.process.scratch import Scratch

ME = Account("me", os.geteuid(), os.getegid(), switch=False)
STUBBORN = """
import signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("up", flush=True)
time.sleep(600)
"""
PARENT = """
import subprocess, time
subprocess.Popen(["/bin/sleep", "600"])
print("up", flush=True)
time.sleep(600)
"""
FACTS = """
import json, os
alone = os.getsid(0) == os.getpid()
descriptors = os.listdir("/proc/self/fd")
print(json.dumps([dict(os.environ), alone, list(os.sched_getaffinity(0)), descriptors]))
"""


def until(condition: Callable[[], bool]) -> bool:
    """Whether it became true within a generous time."""
    deadline = time.monotonic() + 120
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.01)
    return condition()


def gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


def python(program: str) -> list[str]:
    return [sys.executable, "-c", program]


def up(log: Path) -> bool:
    return log.exists() and "up" in log.read_text()


def test_a_process_is_started_and_stopped(tmp_path: Path) -> None:
    sockets = tmp_path / "sockets"
    sockets.mkdir()
    data = tmp_path / "data"
    data.mkdir()
    process = Guarded(
        ["/bin/sleep", "600"], directories=[sockets], directory=data, log=tmp_path / "log"
    )
    assert process.alive()
    assert process.status() is None
    assert process.stop(60) is False
    assert not process.alive()
    assert gone(process.pid)
    assert not sockets.exists()
    assert data.exists()
    assert process.stop(60) is False, "stopping twice does nothing"


def test_a_stubborn_process_is_killed(tmp_path: Path) -> None:
    log = tmp_path / "log"
    process = Guarded(python(STUBBORN), log=log)
    assert until(lambda: up(log))
    assert process.stop(0.2) is True
    assert gone(process.pid)


@pytest.mark.long
def test_children_are_not_left_behind(tmp_path: Path) -> None:
    log = tmp_path / "log"
    process = Guarded(python(PARENT), log=log)
    assert until(lambda: up(log))
    child = int(Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()[0])
    assert not gone(child)
    process.stop(60)  # the orphan is given some seconds, then killed
    assert gone(child)


def test_a_death_is_noticed(tmp_path: Path) -> None:
    process = Guarded(python("import sys; sys.exit(7)"), directory=tmp_path / "data")
    assert until(lambda: not process.alive())
    assert process.status() == 7
    process.stop(1)
    killed = Guarded(["/bin/sleep", "600"])
    os.kill(killed.pid, signal.SIGKILL)
    assert until(lambda: not killed.alive())
    assert killed.status() == -signal.SIGKILL
    killed.stop(1)


def test_a_program_that_is_not_there_is_a_death_with_a_reason(tmp_path: Path) -> None:
    process = Guarded([tmp_path / "nothing"], log=tmp_path / "log")
    assert until(lambda: not process.alive())
    assert process.status() == 127
    assert "cannot start" in (tmp_path / "log").read_text()
    process.stop(1)


def test_environment_session_and_cpus(tmp_path: Path) -> None:
    log, cpu = tmp_path / "log", max(os.sched_getaffinity(0))
    process = Guarded(python(FACTS), log=log, cpus=[cpu], environment={"ONLY": "this"})
    assert until(lambda: not process.alive())
    environment, leads, cpus, descriptors = json.loads(log.read_text())
    assert environment.pop("ONLY") == "this"
    assert set(environment) <= {"LC_CTYPE"}, "nothing of ours is passed on"
    assert leads
    assert cpus == [cpu]
    assert len(descriptors) == 4, "standard streams and the listing itself"
    process.stop(1)


@pytest.mark.parametrize("keep", [False, True])
def test_end_of_file_removes_what_was_started(tmp_path: Path, keep: bool) -> None:
    program = f"""
import sys, time, json
from pathlib import Path
from dbdyno.systems.process.guarded import Guarded
data = Path({str(tmp_path)!r}) / "data"
data.mkdir()
process = Guarded(["/bin/sleep", "600"], directory=data)
if {keep}:
    process.stop(5)
print(json.dumps([process.pid, process.guardian_pid]), flush=True)
time.sleep(600)
"""
    dyno = subprocess.Popen(python(program), stdout=subprocess.PIPE, text=True)
    assert dyno.stdout is not None
    pids = json.loads(dyno.stdout.readline())
    dyno.kill()
    dyno.wait()
    dyno.stdout.close()
    assert until(lambda: all(gone(pid) for pid in pids))
    assert (tmp_path / "data").exists() == keep


def test_a_killed_guardian_is_replaced_by_ourselves(tmp_path: Path) -> None:
    sockets = tmp_path / "sockets"
    sockets.mkdir()
    log = tmp_path / "log"
    process = Guarded(python(STUBBORN), log=log, directories=[sockets])
    assert until(lambda: up(log))
    os.kill(process.guardian_pid, signal.SIGKILL)
    assert process.stop(0.2) is True
    assert gone(process.pid)
    assert not sockets.exists()


def test_scratch_is_removed_by_us_or_by_its_guardian(tmp_path: Path) -> None:
    with Scratch(tmp_path) as made:
        (made.path / "file").write_text("x")
        path = made.path
        assert path.parent == tmp_path
    assert not path.exists()
    program = f"""
import time
from pathlib import Path
from dbdyno.systems.process.scratch import Scratch
made = Scratch(Path({str(tmp_path)!r}))
print(made.path, flush=True)
time.sleep(600)
"""
    dyno = subprocess.Popen(python(program), stdout=subprocess.PIPE, text=True)
    assert dyno.stdout is not None
    path = Path(dyno.stdout.readline().strip())
    assert path.is_dir()
    dyno.kill()
    dyno.wait()
    dyno.stdout.close()
    assert until(lambda: not path.exists())


def test_what_is_left_when_everything_dies_is_swept_by_the_next(tmp_path: Path) -> None:
    program = f"""
import time
from pathlib import Path
from dbdyno.systems.process.scratch import Scratch
made = Scratch(Path({str(tmp_path)!r}))
(made.path / "file").write_text("x")
print(made.path, made._guard.guardian_pid, flush=True)
time.sleep(600)
"""
    dyno = subprocess.Popen(python(program), stdout=subprocess.PIPE, text=True)
    assert dyno.stdout is not None
    path, pid = dyno.stdout.readline().split()
    foreign = tmp_path / "dyno-0123456789"
    foreign.mkdir()
    with Scratch(tmp_path) as living:
        assert sweep(tmp_path) == [], "both are in use, and the third is not ours"
        os.kill(int(pid), signal.SIGKILL)
        dyno.kill()
        dyno.wait()
        dyno.stdout.close()
        assert until(lambda: gone(int(pid)))
        assert Path(path).is_dir()
        assert sweep(tmp_path) == [Path(path)]
        assert living.path.is_dir()
    assert list(tmp_path.iterdir()) == [foreign]


def test_scratch_is_named_as_the_kernel_names_it(tmp_path: Path) -> None:
    real, link = tmp_path / "real", tmp_path / "link"
    real.mkdir()
    link.symlink_to(real)
    with Scratch(link) as held:
        assert held.path.parent == real


def test_a_link_named_like_a_scratch_directory_is_not_followed(tmp_path: Path) -> None:
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    (theirs / "owner").write_bytes(MARK)
    (tmp_path / "root").mkdir()
    (tmp_path / "root" / "dyno-0123456789").symlink_to(theirs)
    assert sweep(tmp_path / "root") == []
    assert theirs.exists()


def test_a_mount_point_is_read_whatever_its_letters() -> None:
    line = "36 35 98:0 / /mnt/\u00e4\\040b\\134c rw - ext4 /dev/root rw".encode()
    assert guardian.mount_point(line) == "/mnt/\u00e4 b\\c"
    latin = guardian.mount_point(b"36 35 98:0 / /mnt/\xe4 rw - ext4 /dev/root rw")
    assert os.fsencode(latin) == b"/mnt/\xe4"
    assert "/proc" in guardian.mounts_below("")


def test_where_scratch_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DYNO_SCRATCH", str(tmp_path))
    assert scratch.scratch_root() == tmp_path
    monkeypatch.setenv("DYNO_SCRATCH", str(tmp_path / "missing"))
    with pytest.raises(DynoError, match="DYNO_SCRATCH"):
        scratch.scratch_root()
    monkeypatch.delenv("DYNO_SCRATCH")
    assert scratch.scratch_root().is_dir()
    assert scratch.filesystem(Path("/proc")) == "proc"
    with pytest.raises(DynoError, match="scratch"):
        Scratch(tmp_path / "missing")


def test_private_places(tmp_path: Path) -> None:
    directory = private_directory(tmp_path / "a" / "b", ME)
    assert directory.stat().st_mode & 0o777 == 0o700
    file = private_file(directory / "secret", "x", ME)
    assert file.stat().st_mode & 0o777 == 0o600
    (directory / "link").symlink_to(tmp_path / "elsewhere")
    private_file(directory / "link", "y", ME)
    assert not (tmp_path / "elsewhere").exists(), "a planted link is replaced, not followed"
    stranger = Account("stranger", 12345, 12345, switch=True)
    (tmp_path / "a").chmod(0o700)
    with pytest.raises(DynoError, match="cannot reach") as caught:
        check_reachable(tmp_path / "a" / "b" / "c", stranger)
    assert "0700" in caught.value.cause


def test_sockets_and_ports() -> None:
    directory = socket_directory(ME)
    assert len(os.fsencode(directory / ".s.PGSQL.65535.lock")) <= 107
    assert not directory.exists(), "the guardian makes it"
    guarded = Guarded(account=ME, make=[directory])
    assert guarded.alive()
    assert directory.stat().st_mode & 0o777 == 0o700
    guarded.stop(0)
    assert not directory.exists()
    assert any(map(is_free, (free_port() for _ in range(10)))), "one may be taken meanwhile"


def is_free(port: int) -> bool:
    try:
        check_port(port, "port")
    except DynoError:
        return False
    return True


def test_a_long_temp_directory_is_not_used_for_sockets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    long = tmp_path / ("x" * 100)
    long.mkdir()
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(long))
    assert long not in socket_directory(ME).parents


def test_the_end_of_a_log_is_explained(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text("old: bad thing 1\n")
    tail = LogTail(path)
    hints = [(r"bad thing (\d)", r"thing \1 is bad", r"mend \1")]
    assert tail.text() == ""
    assert "in its log" in tail.explain(hints)[0]
    with path.open("a") as file:
        file.writelines(f"line {i}\n" for i in range(100))
        file.write("now bad thing 2\n")
    assert tail.text(2) == "    line 99\n    now bad thing 2"
    assert tail.explain(hints) == ("thing 2 is bad", "mend 2")
    assert LogTail(tmp_path / "none").text() == ""
