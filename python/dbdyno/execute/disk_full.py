"""A full disk, whichever program met it: each has its own words for it, none says which disk."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from dbdyno.errors import DynoError

_SIGNS = re.compile(
    r"no space left|disk is full|disk full|SQLITE_FULL|check free disk space|Errcode: 28\b|"
    r"error:? 28\b|error number 28\b|table '[^']*' is full|disk quota exceeded",
    re.IGNORECASE,
)


def recognised(error: DynoError, scratch: Path) -> DynoError:
    """`error`, or if it is about a full disk, the same with the disk's name."""
    if not _SIGNS.search(f"{error.what} {error.cause}"):
        return error
    try:
        usage = shutil.disk_usage(scratch)
        room = f", which has {usage.total >> 20} MiB in all"
    except OSError:
        room = ""
    return DynoError(
        error.what,
        where=error.where,
        cause=f"the disk that holds {scratch.parent} is full{room}",
        fix="free some space there, load fewer rows, or name other storage with --scratch",
    )
