"""Who wrote what is in a directory that may be anybody's."""

from __future__ import annotations

import os
import stat
from pathlib import Path


def is_ours(run: Path) -> bool:
    """Whether nobody else has written, or could have written, a run directory's manifest."""
    try:
        return all(map(is_own, (run, run / "manifest.json")))
    except OSError:
        return True  # not a run: opening it reports that


def is_own(path: Path) -> bool:
    """Whether a file or directory is this account's, and others may not write to it. OSError."""
    found = os.lstat(path)
    return found.st_uid == os.geteuid() and not found.st_mode & stat.S_IWOTH
