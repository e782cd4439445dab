"""What a server holds and fills: open files of its processes, bytes of its directory.

From /proc/PID/fd (proc(5)), and the blocks that the files below the directory take. What grows
without end shows in a long trial: descriptors that are never closed, logs that nobody purges. The
backups of drills are below the directory, too, and are not the server's.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from dbdyno.samplers.base import Pids, numbers_of, prefixed
from dbdyno.samplers.server.process import family
from dbdyno.systems.process.paths import DRILLS

BLOCK_BYTES = 512  # of st_blocks, on every file system: stat(2)
FILES_MAX = 20_000  # of a directory; beyond, its size is omitted


class Files:
    """See the module."""

    source = "files"
    about = (
        "open files of the server's processes, and bytes that its directory takes on the disk,"
        " without backups of drills"
    )
    quick = False

    def __init__(self, pids: Pids, directory: Path | None, target: str = "") -> None:
        self.source = prefixed(target, "files")
        self._pids = pids
        self._directory = directory

    def open(self) -> None:
        """Nothing to prepare: both are levels."""

    def sample(self, elapsed_s: float) -> Mapping[str, float]:
        values = {"open": float(sum(map(open_files, numbers_of(self._pids))))}
        taken = None if self._directory is None else taken_bytes(self._directory)
        return values if taken is None else {**values, "data_bytes": float(taken)}

    def close(self) -> None:
        """Nothing is kept open."""


def open_files(pid: int) -> int:
    """Of a process and its children; OSError if it is gone, or may not be read."""
    found = len(os.listdir(f"/proc/{pid}/fd"))
    for child in family(pid):
        if child != pid:
            with suppress(FileNotFoundError, ProcessLookupError):  # it has just ended
                found += len(os.listdir(f"/proc/{child}/fd"))
    return found


def taken_bytes(directory: Path) -> int | None:
    """Of all files below a server's directory that are its own; None if they are too many to be
    read each second."""
    drills = str(directory / DRILLS)
    taken, seen, left = 0, 0, [str(directory)]
    while left:
        with suppress(FileNotFoundError), os.scandir(left.pop()) as entries:
            for entry in entries:
                with suppress(FileNotFoundError):
                    if entry.is_dir(follow_symlinks=False):
                        if entry.path != drills:
                            left.append(entry.path)
                    else:
                        taken += entry.stat(follow_symlinks=False).st_blocks * BLOCK_BYTES
                seen += 1
                if seen > FILES_MAX:
                    return None
    return taken
