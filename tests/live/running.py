"""Runs `dyno` as a user does, and searches for anything that it left behind."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import hurried
import warm
from ending import ended, lines
from private_servers import templates

from dbdyno.storage.device import DISK
from dbdyno.systems.process import guardian
from needed import missing

DYNO = Path(sys.executable).with_name("dyno")

PATIENCE_S = 120.0  # only a hang takes longer
LISTENING = "0A"  # a state in /proc/net/tcp
Event = Mapping[str, Any]
Listener = tuple[int, str]  # a port, and the inode of the socket that listens on it


class Place:
    """A private world for one `dyno`: where it runs, where servers keep files and sockets."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.scratch = path / "s"
        self.temp = path / "t"
        for directory in (self.scratch, self.temp):
            directory.mkdir()
            directory.chmod(0o1777)
        self.environment = {
            **os.environ,
            "DYNO_SCRATCH": str(self.scratch),
            "TMPDIR": str(self.temp),
            "XDG_STATE_HOME": str(path / "state"),
            "COLUMNS": "120",
            hurried.TEMPLATES: str(templates()),
        }
        self._memory_seen: set[str] = set()
        self._listeners_seen: set[Listener] = set()

    def dyno(self, *arguments: object, timeout: float = 480) -> subprocess.CompletedProcess[str]:
        """Runs `dyno` to its end."""
        words = [str(DYNO), *map(str, arguments)]
        return warm.run(words, self.path, self.environment, timeout)

    def dyno_until(
        self, enough: Callable[[Sequence[Event]], bool], *arguments: object
    ) -> subprocess.CompletedProcess[str]:
        """The same, where the measured time of each trial ends once enough has happened in it, by
        the engine's events so far. Its `duration` is then a limit for machines that are stuck."""
        with ended(self.path, lambda trial: enough(trial.events)):
            return self.dyno(*arguments)

    def finish(self, dyno: subprocess.Popen[str], enough: Callable[[Sequence[Event]], bool]) -> str:
        """The same of one that was started; what it printed."""
        with ended(self.path, lambda trial: enough(trial.events)):
            return dyno.communicate(timeout=480)[0]

    def start(self, *arguments: object) -> subprocess.Popen[str]:
        """Starts `dyno` in a session of its own, as from another terminal."""
        return subprocess.Popen(
            [DYNO, *map(str, arguments)],
            cwd=self.path,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def experiment(self, text: str, name: str = "experiment.yaml") -> Path:
        """Writes an experiment file; one without a seed gets a fixed one, as the same test asks for
        the same requests each time."""
        file = self.path / name
        file.write_text(text if "seed:" in text else f"{text.rstrip()}\nseed: 1\n")
        return file

    def leftovers(self) -> list[str]:
        """Processes, files, sockets and shared memory that are still there."""
        found = [f"process {pid}: {line}" for pid, line in self.processes()]
        found += [str(entry) for entry in self.scratch.iterdir()]
        found += [str(entry) for entry in self.temp.iterdir()]
        found += [str(entry) for entry in self.path.glob("state/dbdyno/labs/dyno-*")]
        mounts = set(guardian.mounts_below(str(self.path))) - {str(self.path / "disk")}
        found += [f"mount {point}" for point in sorted(mounts)]
        found += [f"loop device {name}" for name in guardian.loops_below(str(self.path))]
        found += [f"loop device {name}, detached" for name in orphaned_loops()]
        # Others may have got a port since: only the same socket counts.
        open_ = self._listeners_seen & listeners() if self._listeners_seen else set()
        found += [f"port {port} is open" for port, _ in sorted(open_)]
        # Other tests may run meanwhile: only what this test's processes have made counts.
        there = shared_memory() | shared_files() if self._memory_seen else set()
        found += [f"shared memory {name}" for name in sorted(self._memory_seen & there)]
        return found

    def note_ports(self) -> None:
        """Remembers on which ports servers of this place listen, from their configuration."""
        there = listeners()
        for file in self.scratch.glob("*/*/*/server.c*nf"):
            try:
                found = re.search(r"^port\s*=\s*'?(\d+)", file.read_text(), re.MULTILINE)
            except OSError:
                continue
            if found:
                self._listeners_seen |= {one for one in there if one[0] == int(found[1])}

    def processes(self) -> list[tuple[int, str]]:
        """Live processes that were given a path of this place or work in it, except for the
        test's."""
        found = []
        for entry in Path("/proc").iterdir():
            if not entry.name.isdigit() or int(entry.name) == os.getpid():
                continue
            try:
                line = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
                environ = (entry / "environ").read_bytes().decode("utf-8", "replace")
                state = (entry / "stat").read_text().rpartition(")")[2].split()[0]
                works_in = os.readlink(entry / "cwd")
            except OSError:
                continue
            ours = any(str(self.path) in text for text in (line, environ, works_in))
            if ours and "postgres" in line:
                self._memory_seen |= memory_of(entry)
            if ours and state != "Z":
                found.append((int(entry.name), line))
        return found

    def until_clean(self, timeout_s: float = PATIENCE_S) -> list[str]:
        """Waits for guardians to finish; what is left after that is a defect."""
        left: list[str] = []

        def is_clean() -> bool:
            left[:] = self.leftovers()
            return not left

        wait_for(is_clean, timeout_s)
        return left


@contextmanager
def place() -> Iterator[Place]:
    """A fresh place on real storage, with a path short enough for sockets."""
    path = Path(tempfile.mkdtemp(prefix="dt", dir="/var/tmp"))
    path.chmod(0o755)
    there = Place(path)
    try:
        yield there
    finally:
        for pid, _ in there.processes():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        guardian.unmount_below(str(path), lazily=True)
        shutil.rmtree(path, ignore_errors=True)


@contextmanager
def disk(there: Place, size: str) -> Iterator[Path]:
    """A file system of that size, `disk` of the place."""
    path = there.path / "disk"
    path.mkdir()
    if os.geteuid() != 0:
        missing("mounting a small disk needs root: run the tests as root")
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size},mode=1777", "tmpfs", path],
        capture_output=True,
        text=True,
    )
    if done.returncode != 0:
        missing(f"mounting is not allowed here ({done.stderr.strip()}): run in a full machine")
    try:
        yield path
    finally:
        subprocess.run(["umount", "-l", path], check=True)


def wait_for(condition: Callable[[], object], timeout_s: float = PATIENCE_S) -> bool:
    """Whether `condition` became true in time."""
    deadline = time.monotonic() + timeout_s
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.05)
    return bool(condition())


def orphaned_loops() -> list[str]:
    """Loop devices of volumes, of any place, whose file has lost its directory."""
    files = Path("/sys/block").glob("loop*/loop/backing_file")
    return [file.parts[3] for file in files if text_of(file) == f"/{DISK}"]


def text_of(file: Path) -> str:
    """Its content, stripped; empty if it is gone meanwhile."""
    try:
        return file.read_text().strip()
    except OSError:
        return ""


def shared_memory() -> set[str]:
    """SysV shared memory segments that exist."""
    rows = [line.split() for line in Path("/proc/sysvipc/shm").read_text().splitlines()[1:]]
    return {f"segment {row[1]}" for row in rows}


def shared_files() -> set[str]:
    """PostgreSQL's files in /dev/shm."""
    return {f"file {path.name}" for path in Path("/dev/shm").glob("PostgreSQL.*")}


def memory_of(process: Path) -> set[str]:
    """Shared memory that a process (its directory in /proc) has mapped."""
    try:
        maps = (process / "maps").read_text()
    except OSError:
        return set()
    files = {f"file {name}" for name in re.findall(r"/dev/shm/(PostgreSQL\.\d+)", maps)}
    # "/SYSV<key> (deleted)", whose inode is the segment's id
    return files | {f"segment {number}" for number in re.findall(r" (\d+) +/SYSV", maps)}


def listens(port: int) -> bool:
    """Whether something accepts connections on that port of loopback."""
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex(("127.0.0.1", port)) == 0


def listeners() -> set[Listener]:
    """All sockets of IPv4 that listen."""
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return {(int(row[1].rpartition(":")[2], 16), row[9]) for row in rows if row[3] == LISTENING}


def has(commits: int = 1, intervals: int = 2, errors: int = 0) -> Callable[[Sequence[Event]], bool]:
    """Whether so much was measured in a trial, by the engine's events: transactions of all groups,
    intervals, failed attempts."""

    def enough(events: Sequence[Event]) -> bool:
        found = [one for one in events if one.get("phase") == "measure"]
        groups = [group for one in found for group in one["groups"].values()]
        return (
            len(found) >= intervals
            and sum(group["transactions"] for group in groups) >= commits
            and sum(group["errors"] for group in groups) >= errors
        )

    return enough


def lost(sessions: int) -> Callable[[Sequence[Event]], bool]:
    """Whether so many sessions were without a connection at the end of an interval."""
    return lambda events: any(
        sum(group["lost"] for group in one["groups"].values()) >= sessions
        for one in events
        if one.get("phase") == "measure"
    )


def measured(events: Path, intervals: int = 2) -> bool:
    """Whether the engine has told of so many measured intervals, and of a transaction in them."""
    return has(1, intervals)(lines(events))


def server_of(there: Place, program: str) -> int:
    """The process of the server that `dyno` started: the program itself, not a child of one."""
    found = {pid for pid, line in there.processes() if line.split(" ")[0].endswith(program)}
    return next(pid for pid in found if parent_of(pid) not in found)


def parent_of(pid: int) -> int:
    """The process that made it; 0 if it is gone."""
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except (FileNotFoundError, ProcessLookupError):
        return 0


def complete_trials(run: Path) -> dict[str, bytes]:
    """Trial id -> its record, for every complete trial (void attempts are `<id>.void-N`)."""
    found = {file.parent.name: file for file in run.glob("trials/*/trial.json")}
    return {name: file.read_bytes() for name, file in found.items() if "." not in name}


def result(run: Path) -> dict:
    """The run's result.json."""
    return json.loads((run / "result.json").read_text())


# Sessions that are at work, but for the one that asks, and all that came by TCP, as the load's did:
# what was sent last may lie unread in the socket of one that is idle.
_AT_WORK = {
    "postgres": "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'"
    " AND pid <> pg_backend_pid() AND (state <> 'idle' OR client_addr IS NOT NULL)",
    "mysql": "SELECT count(*) FROM information_schema.processlist WHERE id <> connection_id()"
    " AND (command IN ('Query', 'Execute', 'Prepare', 'Init DB') OR host LIKE '%:%')",
}


def wait_until_idle(family: str, ask: Callable[[str], Any]) -> None:
    """What the load had sent when it ended is carried out later, on a busy disk much later."""
    assert wait_for(lambda: int(ask(_AT_WORK[family])[0][0]) == 0)
