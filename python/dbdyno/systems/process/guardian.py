"""The guardian: a small process that outlives dyno and leaves nothing behind.

It runs one program (or none), holds the read end of a pipe from dyno on its standard input, and
waits. End of file means that dyno is gone, be it by `kill -9`: the guardian then stops the program,
removes what it left (socket directory, System V and POSIX shared memory) and its directory, with
what is mounted in it. Nothing is made before a guardian knows about it: directories that must not
be left behind, it makes itself.

It is run by path with `python -I -S` and uses the standard library alone: it must start fast and
work whatever happens to the environment. It sleeps until something happens: a message, a death, or
the end of its patience. Protocol, one JSON object a line:

    in:  {"make": [DIRECTORY, ...], ...}        once, first; see `Charge`
    out: {"made": true}  or  {"error": "..."}
    in:  {"command": [...], "log": FILE, ...}   at most once; see `Job`
    out: {"pid": N}  or  {"error": "..."}
    in:  {"do": "stop", "timeout_s": 60}        clean stop; keeps the directory
    out: {"exited": status, "killed": bool}     the program is gone and cleaned up; then it ends

Sources: prctl(2) PR_SET_PDEATHSIG (sent when the *thread* that forked ends: we have one only) and
PR_SET_CHILD_SUBREAPER, shmctl(2), shmat(2), umount2(2), loop(4); PostgreSQL's `pg_shmem.h`
(PGShmemHeader) and `dsm.c` (the control segment lists handles).
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
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
from collections.abc import Mapping, Sequence, Set
from pathlib import Path
from typing import Any, NamedTuple

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
IPC_RMID = 0
SHM_RDONLY = 0o10000
MNT_DETACH = 2
LOOP_CLR_FD = 0x4C01
SHM_DIRECTORY = Path("/dev/shm")
BUSY_TIMEOUT_S = 15.0  # for a mount that a dying server uses
ORPHAN_TIMEOUT_S = 5.0  # for a dead server's children to end by themselves
LINE_BYTES_MAX = 1 << 20
IGNORED = (signal.SIGHUP, signal.SIGINT, signal.SIGPIPE)
_libc = ctypes.CDLL(None, use_errno=True)


class Charge(NamedTuple):  # importing `dataclasses` would take a third of the start
    """What is entrusted to the guardian. Paths are absolute."""

    make: Sequence[str] = ()  # made by us (0700), removed at every end
    uid: int | None = None  # owner of what is made; None: ourselves
    gid: int | None = None
    mode: int = 0o700
    directories: Sequence[str] = ()  # there already, removed at every end
    directory: str = ""  # removed only if dyno dies


class Job(NamedTuple):
    """A program to run. Paths are absolute."""

    command: list[str]
    environment: Mapping[str, str] = {}
    log: str = ""  # standard output and error of the program, appended
    uid: int | None = None  # None: stay who we are
    gid: int | None = None
    cpus: Sequence[int] = ()  # empty: leave the affinity alone
    stop_signal: int = signal.SIGTERM
    stop_timeout_s: float = 5.0  # when dyno is gone: the data is no longer needed
    data: str = ""  # PostgreSQL's data directory: its shared memory names it


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
    """Reports to dyno, which may be gone."""
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
        signal.set_wakeup_fd(-1)
        for number in (*IGNORED, signal.SIGTERM, signal.SIGCHLD):
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
    """One charge, and one program's life from start to the last file."""

    def __init__(self, charge: Charge, pipe: Pipe, deaths: int) -> None:
        self.charge = charge
        self.pipe = pipe
        self.deaths = deaths  # becomes readable when a child dies or a signal arrives
        self.job: Job | None = None
        self.made: list[str] = []
        self.remove = True  # the charge's directory
        self.pid = 0
        self.status: int | None = None
        self.killed = False
        self.started_unix_s = time.time()
        self.reaped: set[int] = set()
        self.data: Identity | None = None

    def run(self) -> None:
        """Returns when the program is gone and everything is cleaned up."""
        try:
            self.make()
            say(made=True)
            self.serve()
        except OSError as error:
            say(error=str(error))
        finally:
            self.end()
            self.clean()
        say(exited=self.status, killed=self.killed)
        # A server that died in mid-run leaves its directory (the log!) until dyno ends.
        while self.remove and self.charge.directory and not self.pipe.closed:
            if any(order.get("do") == "stop" for order in self.orders(None)):
                self.remove = False
        if self.remove and self.charge.directory:
            remove_tree(self.charge.directory)

    def make(self) -> None:
        """Makes the directories; an existing one is somebody else's."""
        for path in self.charge.make:
            os.mkdir(path, self.charge.mode)
            self.made.append(path)
            os.chmod(path, self.charge.mode)  # whatever our umask is
            if self.charge.uid is not None:
                os.chown(path, self.charge.uid, -1 if self.charge.gid is None else self.charge.gid)

    def serve(self) -> None:
        """Follows dyno's orders until the program is gone, or dyno."""
        deadline: float | None = None  # set once a stop was asked for
        while not self.pipe.closed and not self.finished():
            patience_s = None
            if deadline is not None and not self.killed:
                patience_s = max(0.0, deadline - time.monotonic())
            for order in self.orders(patience_s):
                if "command" in order and not self.pid:
                    self.job = Job(**order)
                    self.data = identity(self.job.data)
                    self.pid = spawn(self.job)
                    say(pid=self.pid)
                elif order.get("do") == "stop" and deadline is None:
                    self.remove = False
                    deadline = self.ask(float(order["timeout_s"]))
            if deadline is not None:
                self.kill_after(deadline)

    def orders(self, wait_s: float | None) -> list[dict[str, Any]]:
        """dyno's commands; waits that long (None: for ever) for it, or for a death or a signal."""
        readable, _, _ = select.select([self.pipe.descriptor, self.deaths], [], [], wait_s)
        if self.deaths in readable:
            with contextlib.suppress(BlockingIOError):
                os.read(self.deaths, 4096)
        return self.pipe.read() if self.pipe.descriptor in readable else []

    def finished(self) -> bool:
        """Whether the program is gone; reaps it and any orphan that it left us."""
        while self.status is None and self.pid:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                self.status = -1
                break
            if pid == 0:
                return False
            self.reaped.add(pid)
            if pid == self.pid:
                self.status = os.waitstatus_to_exitcode(status)
        return self.status is not None

    def ask(self, timeout_s: float) -> float:
        """Asks the program to stop; returns when patience ends."""
        if self.pid and self.job:
            # It is our child and not reaped yet, so that the number cannot be another's.
            os.kill(self.pid, self.job.stop_signal)
        else:
            self.status = 0
        return time.monotonic() + timeout_s

    def kill_after(self, deadline: float) -> None:
        """Kills a program that does not want to stop."""
        if self.pid and not self.killed and time.monotonic() >= deadline and not self.finished():
            self.killed = True
            os.kill(self.pid, signal.SIGKILL)

    def end(self) -> None:
        """Dyno is gone, or we are in trouble: stop, then kill."""
        if self.finished():
            return
        deadline = self.ask(self.job.stop_timeout_s if self.job else 0)
        while not self.finished():
            self.kill_after(deadline)
            time.sleep(0.02)

    def clean(self) -> None:
        """Waits for the program's children, then removes what is left of it."""
        self.reaped |= reap_orphans(ORPHAN_TIMEOUT_S)
        remove_shared_memory(self.reaped, self.started_unix_s, self.data)
        remove_faketime(self.reaped)
        for directory in [*self.made, *self.charge.directories]:
            remove_tree(directory)


def reap_orphans(timeout_s: float) -> set[int]:
    """Waits until none of the program's processes is left (we are their subreaper); then kills.

    Returns their pids."""
    reaped: set[int] = set()
    deadline = time.monotonic() + timeout_s
    while True:
        try:
            pid, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return reaped
        if pid:
            reaped.add(pid)
            continue
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


def remove_tree(path: str) -> None:
    """Removes a directory of dbdyno and what is mounted in it, even if a dying process still uses
    them, for a minute."""
    begun = time.monotonic()
    while os.path.lexists(path) and (waited_s := time.monotonic() - begun) < 60.0:
        unmount_below(path, lazily=waited_s > BUSY_TIMEOUT_S)
        if not mounts_below(path):
            shutil.rmtree(path, ignore_errors=True)
        if os.path.lexists(path):
            time.sleep(0.05)


def unmount_below(path: str, *, lazily: bool) -> None:
    """Unmounts what is mounted below a directory of dbdyno, and detaches loop devices on files
    below it. What is in use stays, or `lazily` goes once it is not. (A program that is about to
    make a loop device holds its file: hence not lazily at once.)"""
    for name in loops_below(path):
        detach(name, f"{path}/")
    for mount in reversed(mounts_below(path)):  # the last one may lie on the others
        if _libc.umount2(os.fsencode(mount), 0) != 0 and lazily:
            _libc.umount2(os.fsencode(mount), MNT_DETACH)


def detach(loop: str, start: str) -> None:
    """Detaches a loop device (`loop3`) from its file once nothing uses it. A device whose file does
    not begin with `start` is somebody else's by now; one that we hold open stays what it is."""
    with contextlib.suppress(OSError):
        device = os.open(f"/dev/{loop}", os.O_RDONLY | os.O_CLOEXEC)
        try:
            if backing(loop).startswith(start):
                with contextlib.suppress(OSError):  # it must not lie to its next user
                    Path("/sys/block", loop, "queue/write_cache").write_text("write back\n")
                fcntl.ioctl(device, LOOP_CLR_FD)
        finally:
            os.close(device)


def backing(loop: str) -> str:
    """The file of a loop device; empty if it has none any more."""
    with contextlib.suppress(OSError):
        return os.fsdecode(Path("/sys/block", loop, "loop/backing_file").read_bytes()).rstrip("\n")
    return ""


def loops_below(path: str) -> list[str]:
    """Loop devices on files below a directory: `loop3`. As of mounts, its path is canonical."""
    names = [each.parts[3] for each in Path("/sys/block").glob("loop*/loop/backing_file")]
    return [name for name in names if backing(name).startswith(f"{path}/")]


def mounts_below(path: str) -> list[str]:
    """Where something is mounted below a directory, in the order of the mounts."""
    with contextlib.suppress(OSError):
        lines = Path("/proc/self/mountinfo").read_bytes().strip().split(b"\n")
        return [point for point in map(mount_point, lines) if point.startswith(f"{path}/")]
    return []


def mount_point(line: bytes) -> str:
    """That of a line of mountinfo, which has octal numbers for blanks: proc(5)."""
    numbered = line.split(b" ")[4]
    return os.fsdecode(re.sub(rb"\\([0-7]{3})", lambda one: bytes([int(one[1], 8)]), numbered))


class _ShmidDs(ctypes.Structure):
    """struct shmid_ds of 64-bit Linux, as far as needed: size 112 bytes."""

    _fields_ = (
        ("key", ctypes.c_int),
        *((name, ctypes.c_uint) for name in ("uid", "gid", "cuid", "cgid", "mode")),
        ("seq", ctypes.c_ushort),
        ("pad", ctypes.c_ushort),
        ("unused", ctypes.c_ulong * 2),
        ("segsz", ctypes.c_size_t),
        *((name, ctypes.c_long) for name in ("atime", "dtime", "ctime")),
        *((name, ctypes.c_int) for name in ("cpid", "lpid")),
        ("nattch", ctypes.c_ulong),
        ("reserved", ctypes.c_ulong * 8),
    )


class _PgShmemHeader(ctypes.Structure):
    """The first fields of PostgreSQL's PGShmemHeader, the same in all versions since 9.4."""

    _fields_ = (
        ("magic", ctypes.c_int32),
        ("creator_pid", ctypes.c_int32),
        ("total_size", ctypes.c_size_t),
        ("free_offset", ctypes.c_size_t),
        ("dsm_control", ctypes.c_uint32),
        ("index", ctypes.c_void_p),
        ("device", ctypes.c_uint64),  # of the data directory, as is the inode
        ("inode", ctypes.c_uint64),
    )


PG_SHMEM_MAGIC = 679834894
Identity = tuple[int, int]  # device and inode of a data directory


def identity(path: str) -> Identity | None:
    """Who a directory is; None if there is none."""
    with contextlib.suppress(OSError):  # of no path, too
        info = os.stat(path)
        return info.st_dev, info.st_ino
    return None


def remove_shared_memory(creators: Set[int], since_unix_s: float, data: Identity | None) -> None:
    """Removes what killed PostgreSQL servers leave: a System V segment, some files in /dev/shm.

    Only what is provably theirs: an unused segment, that is not older than they are (pids and
    inodes are used again), and that either one of these processes made or whose header names the
    data directory; and the files that it names, directly or through its control segment.
    """
    try:
        rows = Path("/proc/sysvipc/shm").read_text().splitlines()[1:]
    except OSError:  # a kernel without System V shared memory
        return
    for row in rows:
        identifier = int(row.split()[1])
        info = _ShmidDs()
        if _libc.shmctl(identifier, 2, ctypes.byref(info)) != 0:
            continue
        if info.nattch or info.ctime < int(since_unix_s):
            continue
        header = _header(identifier, info.segsz)
        named = header is not None and (header.device, header.inode) == data
        if info.cpid in creators or named:
            _libc.shmctl(identifier, IPC_RMID, None)
            if header is not None and header.dsm_control:
                control = SHM_DIRECTORY / f"PostgreSQL.{header.dsm_control}"
                for path in [*_listed(control), control]:
                    path.unlink(missing_ok=True)


def remove_faketime(creators: Set[int]) -> None:
    """Removes what libfaketime leaves in /dev/shm of processes that were killed: its names have
    their numbers (`ft_shm_create` in libfaketime.c)."""
    for pid in creators:
        for name in (f"faketime_shm_{pid}", f"sem.faketime_sem_{pid}"):
            with contextlib.suppress(OSError):
                (SHM_DIRECTORY / name).unlink()


def _header(identifier: int, size_bytes: int) -> _PgShmemHeader | None:
    """A copy of a segment's first bytes, if they are PostgreSQL's."""
    if size_bytes < ctypes.sizeof(_PgShmemHeader):
        return None
    _libc.shmat.restype = ctypes.c_void_p
    _libc.shmdt.argtypes = [ctypes.c_void_p]
    address = _libc.shmat(identifier, None, SHM_RDONLY)
    if address in (None, ctypes.c_void_p(-1).value):
        return None
    try:
        header = _PgShmemHeader.from_buffer_copy(
            ctypes.string_at(address, ctypes.sizeof(_PgShmemHeader))
        )
    finally:
        _libc.shmdt(address)
    return header if header.magic == PG_SHMEM_MAGIC else None


def _listed(control: Path) -> list[Path]:
    """Files whose number is in the control segment and that belong to its owner."""
    try:
        owner = control.stat().st_uid
        data = control.read_bytes()[: 1 << 20]
    except OSError:
        return []
    words = {int.from_bytes(data[i : i + 4], "little") for i in range(0, len(data) - 3, 4)}
    listed = []
    for path in SHM_DIRECTORY.glob("PostgreSQL.*"):
        number = path.name.partition(".")[2]
        try:
            info = path.lstat()
        except FileNotFoundError:
            continue
        ours = info.st_uid == owner and stat.S_ISREG(info.st_mode)
        if ours and number.isdigit() and int(number) in words:
            listed.append(path)
    return listed


def main() -> None:
    for number in IGNORED:
        signal.signal(number, signal.SIG_IGN)
    _libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    pipe = Pipe(0)
    deaths, wake = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)  # a handler, so that the pipe above is written
    # SIGTERM (the machine goes down) is treated as dyno's end: the pipe is read as closed.
    signal.signal(signal.SIGTERM, lambda *_: setattr(pipe, "closed", True))
    first: list[dict[str, Any]] = []
    while not first and not pipe.closed:
        first = pipe.read()
    if first:
        Guard(Charge(**first[0]), pipe, deaths).run()


if __name__ == "__main__":
    main()
    sys.exit(0)
