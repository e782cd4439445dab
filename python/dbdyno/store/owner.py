"""Who wrote a run directory."""

from __future__ import annotations

import os
import stat
from pathlib import Path


def is_ours(run: Path) -> bool:
    """Whether only its owner has written, or could have written, a run directory's manifest."""
    try:
        found = [os.lstat(place) for place in (run, run / "manifest.json")]
    except OSError:
        return True  # not a run: opening it reports that
    writable = any(one.st_mode & stat.S_IWOTH for one in found)
    return not writable and all(one.st_uid == os.geteuid() for one in found)
