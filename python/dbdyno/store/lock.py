"""Who is writing a run directory: an advisory lock that dies with its holder.

flock(2) on `RUN/lock`: the kernel drops it when the process ends, however it ends, so there is no
stale lock to clean up. The file holds the process id: for messages, and for who would stop the
process, which is then asked of the kernel. Readers take no lock.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import signal
import stat
import time
from collections.abc import Iterator
from pathlib import Path

from dbdyno import diskfiles
from dbdyno.errors import DynoError
from dbdyno.store.owner import is_own

LOCK = "lock"  # its file, in the run directory
_PATIENCE_S = 0.5  # a reader's probe holds the lock for microseconds; do not trip over it


class Lock:
    """The lock of one run directory, kept from construction to `release`."""

    def __init__(self, run: Path) -> None:
        """Takes the lock; DynoError naming the holder if another process has it."""
        self._path = run / LOCK
        # A server that we start never inherits the lock; a link to another file is not emptied.
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        self._descriptor: int | None = os.open(self._path, flags, 0o644)
        try:
            found = os.fstat(self._descriptor)
            if not stat.S_ISREG(found.st_mode) or found.st_nlink > 1:
                raise OSError(errno.EINVAL, "it is no file of dbdyno's", str(self._path))
            self._take(run)
        except BaseException:
            os.close(self._descriptor)
            self._descriptor = None
            raise

    def _take(self, run: Path) -> None:
        assert self._descriptor is not None
        give_up = time.monotonic() + _PATIENCE_S
        while True:
            try:
                fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() < give_up:
                    time.sleep(0.02)
                    continue
                holder = _holder(self._path)
                who = f"process {holder}" if holder else "another process"
                raise DynoError(
                    f"{who} is working in {run}",
                    cause="the run is still going, perhaps in another terminal",
                    fix=f"watch it with: dyno status {run}"
                    + (f"; or stop it with: kill -INT {holder}" if holder else ""),
                ) from None
        with contextlib.suppress(OSError):  # a full disk must not keep anybody from resuming
            os.ftruncate(self._descriptor, 0)
            os.pwrite(self._descriptor, f"{os.getpid()}\n".encode(), 0)

    @property
    def held(self) -> bool:
        """Whether this object holds the lock."""
        return self._descriptor is not None

    def release(self) -> None:
        """Gives the lock back; a second call does nothing."""
        if self._descriptor is not None:
            with contextlib.suppress(OSError):
                os.ftruncate(self._descriptor, 0)
            os.close(self._descriptor)
            self._descriptor = None


def holder(run: Path) -> int | None:
    """Process id of the one that works in `run`, 0 if unknown; None if there is none."""
    path = run / LOCK
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return _holder(path) or 0
    except OSError:  # a filesystem without locks
        return None
    finally:
        os.close(descriptor)
    return None


def _holder(path: Path) -> int | None:
    try:
        pid = int(diskfiles.read(path, 64).strip())
    except (OSError, ValueError):
        return None
    return pid if pid > 0 else None  # what is less means groups of processes, or all


def stop(run: Path, *, now: bool) -> None:
    """Signals the process that works in `run`, as Ctrl-C does, or with `now` as SIGTERM. DynoError,
    with the reason and the way there, where that process is not known for certain."""
    with _worker(run) as process:
        signal.pidfd_send_signal(process, signal.SIGTERM if now else signal.SIGINT)


def check_stoppable(run: Path) -> None:
    """DynoError, as `stop`, where it could not."""
    with _worker(run):
        pass


@contextlib.contextmanager
def _worker(run: Path) -> Iterator[int]:
    """A pidfd of the process that works in `run`. It refers to that process alone: opened before
    the process is examined, it excludes that its number is given to another one in between."""
    pid = holder(run)
    if pid is None:
        raise DynoError(f"no process works in {run.name} any more", fix="load the page again")
    there = f"stop it where it was started: Ctrl-C there, or kill -INT {pid or 'PID'}"
    elsewhere = DynoError(
        f"the process that works in {run.name} is not known here",
        cause="it runs on another machine, in a container, or under another account",
        fix=there,
    )
    try:
        if not pid or not is_own(run) or not is_own(run / LOCK):
            raise elsewhere
        process = os.pidfd_open(pid)
    except ProcessLookupError:
        raise elsewhere from None
    except OSError as error:
        raise DynoError(f"{run.name} cannot be stopped from here: {error}", fix=there) from None
    try:
        if not _has_locked(pid, run / LOCK):
            raise elsewhere
        yield process
    except ProcessLookupError:  # it has just ended
        return
    finally:
        os.close(process)


def _has_locked(pid: int, path: Path) -> bool:
    """Whether a process of this account holds the lock on this very file. Source: proc(5) on
    `fdinfo`."""
    place = Path("/proc") / str(pid)
    try:
        wanted = os.lstat(path)
        for number in os.listdir(place / "fd"):
            with contextlib.suppress(FileNotFoundError):
                found = os.stat(place / "fd" / number)
                if (found.st_dev, found.st_ino) == (wanted.st_dev, wanted.st_ino):
                    locks = (place / "fdinfo" / number).read_text()
                    if "FLOCK" in locks and "WRITE" in locks:
                        return True
    except OSError:  # another account's
        return False
    return False
