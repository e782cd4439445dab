"""A full disk, whichever program met it: each has its own words for it, none says which disk."""

from __future__ import annotations

import errno
import os
import re
import shutil
from collections.abc import Sequence
from pathlib import Path

from dbdyno.errors import DynoError
from dbdyno.systems.base import TargetPlan

_SIGNS = re.compile(
    r"no space left|disk is full|disk full|SQLITE_FULL|check free disk space|Errcode: 28\b|"
    r"error:? 28\b|error number 28\b|table '[^']*' is full|disk quota exceeded",
    re.IGNORECASE,
)

_NUMBERS = (errno.ENOSPC, errno.EDQUOT)
ROOM_BYTES = 64 << 20  # a disk with more than that left is not the full one


def of_write(error: OSError) -> DynoError:
    """What dbdyno itself could not write for want of room; any other error is raised again."""
    if error.errno not in _NUMBERS:
        raise error
    name = error.filename or "a file next to the data"
    return DynoError(
        f"cannot write {name}: {os.strerror(error.errno)} ({errno.errorcode[error.errno]})"
    )


def recognised(error: DynoError, scratch: Path, targets: Sequence[TargetPlan] = ()) -> DynoError:
    """`error`, or if it is about a full disk, the same with the disk's name: that of a volume of
    these targets, where the other one has room."""
    if not _SIGNS.search(f"{error.what} {error.cause}"):
        return error
    room, free_bytes = "", 0
    try:
        usage = shutil.disk_usage(scratch)
        room, free_bytes = f", which has {usage.total >> 20} MiB in all", usage.free
    except OSError:
        pass
    volumes = [target.volume for target in targets if target.volume is not None]
    if volumes and free_bytes > ROOM_BYTES:
        return DynoError(
            error.what,
            where=error.where,
            cause=f"a volume is full: it has {min(v.size_bytes for v in volumes) >> 20} MiB in all",
            fix="write a larger `size:` under `volume:`, or load fewer rows",
        )
    return DynoError(
        error.what,
        where=error.where,
        cause=f"the disk that holds {scratch.parent} is full{room}",
        fix="free some space there, load fewer rows, or name other storage with --scratch",
    )
