"""The guardian: a small process that outlives dyno and leaves nothing behind.

It runs one server (or none), holds the read end of a pipe from dyno on its standard input, and
waits. End of file means that dyno is gone, be it by `kill -9`: the guardian then stops the server,
removes what the server left (socket directory, System V and POSIX shared memory) and its directory.

It is run by path with `python -I -S` and uses the standard library alone: it must start fast and
work whatever happens to the environment. Protocol, one JSON object a line:

    in:  {"command": [...], "log": FILE, ...}   once; see `Job`
    out: {"pid": N}  or  {"error": "..."}
    in:  {"do": "stop", "timeout_s": 60}        clean stop; keeps the directory
    in:  {"do": "keep"} / {"do": "remove"}      what end of file does to the directory
    out: {"exited": status, "killed": bool}     the server is gone and cleaned up; then it ends

Sources: prctl(2) PR_SET_PDEATHSIG and PR_SET_CHILD_SUBREAPER, shmctl(2); PostgreSQL's
`miscadmin.h` (lines of postmaster.pid) and `dsm.c` (the control segment lists handles).
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import re
import resource
import select
import shutil
import signal
import stat
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
IPC_RMID = 0
SHM_DIRECTORY = Path("/dev/shm")
ORPHAN_TIMEOUT_S = 5.0  # for a dead server's children to end by themselves
LINE_BYTES_MAX = 1 << 20
_libc = ctypes.CDLL(None, use_errno=True)


@dataclass
class Job:
    """What dyno asks for. Paths are absolute."""

    command: list[str] = field(default_factory=list)  # empty: no server, only directories
    environment: dict[str, str] = field(default_factory=dict)
    log: str = ""  # standard output and error of the server, appended
    uid: int | None = None  # None: stay who we are
    gid: int | None = None
    cpus: list[int] = field(default_factory=list)  # empty: leave the affinity alone
    stop_signal: int = signal.SIGTERM
    stop_timeout_s: float = 5.0  # when dyno is gone: nobody will need the data again
    directories: list[str] = field(default_factory=list)  # removed at every end
    directory: str = ""  # removed only if dyno dies (see "keep")
    postmaster_pid: str = ""  # PostgreSQL: the file that names its shared memory


class Pipe:
    """Lines from dyno; `closed` once dyno is gone."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self.closed = False
        self._buffer = b""

    def read(self) -> list[dict[str, Any]]:
        """Whatever complete lines are there; call only when readable."""
        try:
            data = os.read(self.descriptor, 65536)
        except OSError:
            data = b""
        if not data or len(self._buffer) > LINE_BYTES_MAX:
            self.closed = True
            return []
        *lines, self._buffer = (self._buffer + data).split(b"\n")
        return [json.loads(line) for line in lines if line.strip()]


def say(**message: Any) -> None:
    """Tells dyno, who may be gone."""
    with contextlib.suppress(OSError):
        os.write(1, (json.dumps(message) + "\n").encode())


def spawn(job: Job) -> int:
    """Starts the server in its own session, as its own user, tied to our life. Returns its pid."""
    guardian = os.getpid()
    log = os.open(job.log or os.devnull, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    if job.log and job.uid is not None:
        os.fchown(log, job.uid, job.gid if job.gid is not None else -1)
    # A signal between fork and exec would reach our handlers in the child, and be lost.
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    pid = os.fork()
    if pid:
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
        os.close(log)
        return pid
    try:
        os.setsid()  # Ctrl-C and a lost terminal are dyno's business
        for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM, signal.SIGPIPE):
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))  # a socket a session, and tables
        if job.cpus:
            os.sched_setaffinity(0, job.cpus)
        if job.uid is not None:
            os.setgroups([])
            os.setgid(job.gid if job.gid is not None else job.uid)
            os.setuid(job.uid)
        # After setuid, which clears it: the server must not outlive a killed guardian.
        _libc.prctl(PR_SET_PDEATHSIG, int(job.stop_signal), 0, 0, 0)
        if os.getppid() != guardian:
            os._exit(126)
        os.umask(0o077)
        os.chdir("/")
        null = os.open(os.devnull, os.O_RDONLY)
        os.dup2(null, 0)
        os.dup2(log, 1)
        os.dup2(log, 2)
        os.closerange(3, 4096)
        os.execve(job.command[0], job.command, job.environment)
    except OSError as error:
        os.write(2, f"cannot start {job.command[0]}: {error}\n".encode())
    finally:
        os._exit(127)


class Guard:
    """One server's life, from start to the last file."""

    def __init__(self, job: Job, pipe: Pipe) -> None:
        self.job = job
        self.pipe = pipe
        self.remove = True
        self.pid = 0
        self.status: int | None = None
        self.killed = False
        self.shared = SharedMemory(job.postmaster_pid)

    def run(self) -> None:
        """Returns when the server is gone and everything is cleaned up."""
        if self.job.command:
            self.pid = spawn(self.job)
        say(pid=self.pid)
        deadline: float | None = None  # set once a stop was asked for
        while not self.pipe.closed and not self.finished():
            for order in self.orders(0.25 if deadline is None else 0.02):
                if order.get("do") == "stop" and deadline is None:
                    self.remove = False
                    deadline = self.ask(order.get("timeout_s", self.job.stop_timeout_s))
            if deadline is None and self.pid:
                self.shared.watch(self.pid)
            elif deadline is not None:
                self.kill_after(deadline)
        if not self.finished():
            self.end()
        self.clean()
        say(exited=self.status, killed=self.killed)
        # A server that died in mid-run leaves its directory (the log!) until dyno ends.
        while self.remove and self.job.directory and not self.pipe.closed:
            for order in self.orders(0.25):
                if order.get("do") == "stop":
                    self.remove = False
        if self.remove and self.job.directory:
            remove_tree(self.job.directory)

    def orders(self, wait_s: float) -> list[dict[str, Any]]:
        """What dyno said within that time; applies "keep" and "remove"."""
        readable, _, _ = select.select([self.pipe.descriptor], [], [], wait_s)
        orders = self.pipe.read() if readable else []
        for order in orders:
            if order.get("do") in ("keep", "remove"):
                self.remove = order["do"] == "remove"
        return orders

    def finished(self) -> bool:
        """Whether the server is gone; reaps it and any orphan that it left us."""
        while self.status is None and self.pid:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                self.status = -1
                break
            if pid == 0:
                return False
            if pid == self.pid:
                self.status = os.waitstatus_to_exitcode(status)
        return self.status is not None

    def ask(self, timeout_s: float) -> float:
        """Asks the server to stop; returns when patience ends."""
        if self.pid:
            os.kill(self.pid, self.job.stop_signal)
        else:
            self.status = 0
        return time.monotonic() + timeout_s

    def kill_after(self, deadline: float) -> None:
        """Kills a server that does not want to stop."""
        if self.pid and not self.killed and time.monotonic() > deadline and not self.finished():
            self.killed = True
            os.kill(self.pid, signal.SIGKILL)

    def end(self) -> None:
        """Dyno is gone: stop, then kill."""
        deadline = self.ask(self.job.stop_timeout_s)
        while not self.finished():
            self.kill_after(deadline)
            time.sleep(0.02)

    def clean(self) -> None:
        """Waits for the server's children, then removes what is left of it."""
        reap_orphans(ORPHAN_TIMEOUT_S)
        self.shared.remove()
        for directory in self.job.directories:
            remove_tree(directory)


def reap_orphans(timeout_s: float) -> None:
    """Waits until none of the server's processes is left (we are their subreaper); then kills."""
    deadline = time.monotonic() + timeout_s
    while True:
        try:
            pid, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            if time.monotonic() > deadline:
                for child in children_of(os.getpid()):
                    os.kill(child, signal.SIGKILL)
            time.sleep(0.02)


def children_of(pid: int) -> list[int]:
    """Direct children, from /proc."""
    try:
        text = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    except OSError:
        return []
    return [int(word) for word in text.split()]


def remove_tree(path: str, timeout_s: float = 60.0) -> None:
    """Removes a directory of ours, even if a dying process still writes in it."""
    deadline = time.monotonic() + timeout_s
    while os.path.lexists(path) and time.monotonic() < deadline:
        shutil.rmtree(path, ignore_errors=True)
        if os.path.lexists(path):
            time.sleep(0.05)


class _ShmidDs(ctypes.Structure):
    """struct shmid_ds of 64-bit Linux, as far as needed: size 112 bytes."""

    _fields_ = (
        ("key", ctypes.c_int),
        ("uid", ctypes.c_uint),
        ("gid", ctypes.c_uint),
        ("cuid", ctypes.c_uint),
        ("cgid", ctypes.c_uint),
        ("mode", ctypes.c_uint),
        ("seq", ctypes.c_ushort),
        ("pad", ctypes.c_ushort),
        ("unused", ctypes.c_ulong * 2),
        ("segsz", ctypes.c_size_t),
        ("atime", ctypes.c_long),
        ("dtime", ctypes.c_long),
        ("ctime", ctypes.c_long),
        ("cpid", ctypes.c_int),
        ("lpid", ctypes.c_int),
        ("nattch", ctypes.c_ulong),
        ("reserved", ctypes.c_ulong * 8),
    )


class SharedMemory:
    """What a killed PostgreSQL leaves: one System V segment, some files in /dev/shm.

    Both are noted while the server lives and removed only if they are provably its own: the System
    V segment by its creator's pid, the POSIX ones because its own control segment lists them.
    """

    def __init__(self, postmaster_pid: str) -> None:
        self.file = postmaster_pid
        self.creator = 0
        self.segment: int | None = None
        self.control: Path | None = None
        self._watches = 0

    def watch(self, pid: int) -> None:
        """Learns the names; they exist shortly after the start and never change."""
        if not self.file or self._watches > 400 or (self.segment is not None and self.control):
            return
        self._watches += 1
        self.creator = pid
        try:
            words = Path(self.file).read_text().splitlines()[6].split()
            self.segment = int(words[1])
            maps = Path(f"/proc/{pid}/maps").read_text()
        except (OSError, IndexError, ValueError):
            return
        found = re.search(r"/dev/shm/(PostgreSQL\.\d+)", maps)
        if found:
            self.control = SHM_DIRECTORY / found[1]

    def remove(self) -> None:
        if self.segment is not None:
            info = _ShmidDs()
            if _libc.shmctl(self.segment, 2, ctypes.byref(info)) == 0 and info.cpid == self.creator:
                _libc.shmctl(self.segment, IPC_RMID, None)
        if self.control is not None and self.control.exists():
            for path in [*self._listed(self.control), self.control]:
                path.unlink(missing_ok=True)

    @staticmethod
    def _listed(control: Path) -> list[Path]:
        """Files whose number stands in the control segment and that belong to its owner."""
        try:
            owner = control.stat().st_uid
            data = control.read_bytes()[: 1 << 20]
        except OSError:
            return []
        words = {int.from_bytes(data[i : i + 4], "little") for i in range(0, len(data) - 3, 4)}
        listed = []
        for path in SHM_DIRECTORY.glob("PostgreSQL.*"):
            number = path.name.partition(".")[2]
            info = path.lstat()
            ours = info.st_uid == owner and stat.S_ISREG(info.st_mode)
            if ours and number.isdigit() and int(number) in words:
                listed.append(path)
        return listed


def main() -> None:
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGPIPE):
        signal.signal(number, signal.SIG_IGN)
    _libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    pipe = Pipe(0)
    # SIGTERM (the machine goes down) is treated as dyno's end: the pipe is read as closed.
    signal.signal(signal.SIGTERM, lambda *_: setattr(pipe, "closed", True))
    orders: list[dict[str, Any]] = []
    while not orders and not pipe.closed:
        orders = pipe.read()
    if not orders:
        return
    try:
        Guard(Job(**orders[0]), pipe).run()
    except OSError as error:
        say(error=str(error))
        raise


if __name__ == "__main__":
    main()
    sys.exit(0)
