"""Who owns a directory of dbdyno, and what to do with one whose owner is gone.

Guardians remove what a killed dyno leaves. Should everything die at once (a machine loses power, a
container is stopped with all that runs in it), the next dyno does. A directory is in use while its
owner file is locked: flock(2) holds across containers that share a disk, where process ids mean
nothing, and ends with its holder, however that ends.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import secrets
import shutil
from pathlib import Path

from dbdyno.systems.process import guardian

OWNER = "owner"
MARK = b"made by dbdyno; removed once nobody holds a lock on this file\n"
NAME = re.compile(r"dyno-[0-9a-f]{10}")


def new_path(root: Path) -> Path:
    """An unused path in `root`, of the form that `sweep` knows."""
    return root / f"dyno-{secrets.token_hex(5)}"


class Owner:
    """Our claim to a directory that was just made, until `release` or our end."""

    def __init__(self, directory: Path) -> None:
        """Leaves the owner file there, locked from the moment that it has its name."""
        fresh = directory / f".{OWNER}.new"
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        self._descriptor: int | None = os.open(fresh, flags, 0o600)
        fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.write(self._descriptor, MARK)
        fresh.rename(directory / OWNER)

    def release(self) -> None:
        """Gives the directory up; a second call does nothing."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


def sweep(root: Path) -> list[Path]:
    """Removes directories in `root` whose owner is gone, with what is mounted in them and the
    shared memory of servers that ran in them. Only what bears our mark, in a file of our own
    account; returns what it removed."""
    removed = []
    for path in sorted(root.resolve().glob("dyno-*")):  # as mounts name it
        if NAME.fullmatch(path.name) and not path.is_symlink() and _is_abandoned(path):
            for data in path.glob("*/*/data"):
                guardian.remove_shared_memory(set(), 0.0, guardian.identity(str(data)))
            guardian.unmount_below(str(path), lazily=True)
            shutil.rmtree(path, ignore_errors=True)
            removed.append(path)
    return removed


def _is_abandoned(directory: Path) -> bool:
    try:
        descriptor = os.open(directory / OWNER, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:  # not dbdyno's, not reachable, or gone meanwhile
        return False
    try:
        if os.fstat(descriptor).st_uid != os.geteuid() or os.read(descriptor, 200) != MARK:
            return False
        with contextlib.suppress(OSError):  # BlockingIOError: in use
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        return False
    finally:
        os.close(descriptor)
