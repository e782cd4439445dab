"""The wall clock of one server, which can be put forward and back while it runs.

The process has libfaketime preloaded, which answers for the wall clock (CLOCK_REALTIME,
gettimeofday, time) with an offset that it reads from a file: here at the begin of each second. The
monotonic clock, which timeouts are measured by, and times of files are left alone: a machine whose
clock is wrong still knows how long a second is.

Sources: libfaketime's README on FAKETIME_TIMESTAMP_FILE, FAKETIME_CACHE_DURATION,
FAKETIME_DONT_FAKE_MONOTONIC and NO_FAKE_STAT. It is a program of its own under the GPL, that users
install; nothing of it is in here.
"""

from __future__ import annotations

import math
import os
import platform
import re
import threading
import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from dbdyno.errors import DynoError
from dbdyno.systems.preloaded.environment import PRELOAD

NAME = "libfaketimeMT.so.1"  # that for programs with threads
PLACES = ("lib/{machine}-linux-gnu/faketime", "lib64/faketime", "lib/faketime")
ROOTS = (Path("/usr"), Path("/usr/local"))
ALIKE = re.compile(r"/libfaketime[^/]*$", re.MULTILINE)  # a line of /proc/PID/maps
SHM = Path("/dev/shm")
LEFT = re.compile(r"(?:faketime_shm|sem\.faketime_sem)_(\d+)")  # its names hold the number
MARGIN_S = 0.05  # after the begin of a second
READ_S = 1.0 + MARGIN_S  # in which a server has read another offset


def library() -> Path:
    """Where libfaketime is. DynoError with the command that installs it, if it is not there."""
    for root in ROOTS:
        for place in PLACES:
            found = root / place.format(machine=platform.machine()) / NAME
            if found.is_file():
                return found
    raise DynoError(
        f"there is no `{NAME}`, which clocks are put forward and back with",
        cause="it is part of no server: a library that is preloaded into one",
        fix="apt-get install --no-install-recommends libfaketime",
    )


class SkewedClock:
    """That of one server. Several shifts at the same time add up."""

    def __init__(self, directory: Path, node: str) -> None:
        """`directory`: for the offset, which every account may read; made if it is not there.
        DynoError without libfaketime."""
        self._library = library()
        self._file = directory / node
        self._shifts_s: list[float] = []
        self._offsets: list[tuple[float, float]] = [(-math.inf, 0.0)]  # since when, in Unix seconds
        self._lock = threading.Lock()
        directory.mkdir(parents=True, exist_ok=True)
        for each in (directory.parent, directory):  # whatever our umask is
            each.chmod(0o755)
        self._write(0.0)

    @property
    def environment(self) -> Mapping[str, str]:
        """What the server's process is given."""
        return {
            PRELOAD: str(self._library),
            "FAKETIME_TIMESTAMP_FILE": str(self._file),
            "FAKETIME_CACHE_DURATION": "0",  # whole seconds in which the file is not read again
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
            "NO_FAKE_STAT": "1",
            "FAKETIME_DISABLE_SHM": "1",  # of 0.9.11 and later; guardians remove that of others
        }

    def skew(self, by_s: float) -> None:
        """Puts it forward by so much, or back, until `unskew`; returns once it is."""
        with self._lock:
            self._shifts_s.append(by_s)
            self._put()

    def unskew(self, by_s: float) -> None:
        """Ends a `skew` by so much; nothing if there is none."""
        with self._lock:
            if by_s in self._shifts_s:
                self._shifts_s.remove(by_s)
                self._put()

    def unskewed(self, unix_s: float, since_s: float, until_s: float) -> float | None:
        """The moment at which its server said a time, between two others, in Unix seconds; None if
        that could be several: a clock that goes back shows the same times again, and a program may
        say the right time although its clock is off. libfaketime leaves time alone in a handler of
        a signal that interrupts `select`: there PostgreSQL's postmaster is, up to version 15."""
        ends_s = [each_s + READ_S for each_s, _ in self._offsets[1:]] + [math.inf]
        shown = {
            unix_s - offset_s
            for (begun_s, offset_s), end_s in zip(self._offsets, ends_s, strict=True)
            if begun_s <= unix_s - offset_s < end_s
        }
        found = {each_s for each_s in shown | {unix_s} if since_s <= each_s <= until_s}
        return found.pop() if len(found) == 1 else None

    def _put(self) -> None:
        offset_s = sum(self._shifts_s)
        self._offsets.append((time.time(), offset_s))
        self._write(offset_s)
        time.sleep(1.0 - time.time() % 1.0 + MARGIN_S)  # then the server has read it

    def _write(self, offset_s: float) -> None:
        new = self._file.with_suffix(".new")
        new.write_text(f"{offset_s:+.6f}\n")
        new.chmod(0o644)
        os.replace(new, self._file)


def is_skewable(pid: int) -> bool:
    """Whether a process has libfaketime."""
    try:
        return ALIKE.search(Path(f"/proc/{pid}/maps").read_text()) is not None
    except OSError:
        return False


def abandoned(owners: Collection[int]) -> Iterator[Path]:
    """What libfaketime has left in shared memory of processes that are gone, of these users."""
    for path in SHM.glob("*faketime_s*_*"):
        found = LEFT.fullmatch(path.name)
        with suppress(OSError):
            gone = found is not None and not Path(f"/proc/{found[1]}").exists()
            if gone and path.lstat().st_uid in owners:
                yield path
