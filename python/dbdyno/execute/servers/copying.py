"""Copies of stopped servers' directories."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from dbdyno.errors import DynoError
from dbdyno.hosts.base import Host
from dbdyno.systems.process.guarded import run_guarded

COPY_TIMEOUT_S = 3600.0
CP = shutil.which("cp", path=os.defpath) or "/bin/cp"


def copy_tree(host: Host, source: Path, target: Path) -> None:
    """Copies a stopped server's directory by reflink where the file system can; keeps owners."""
    done = run_guarded(
        host,
        None,
        [CP, "-a", "--reflink=auto", "--sparse=auto", "--", source, target],
        {"PATH": os.defpath, "LC_ALL": "C"},
        COPY_TIMEOUT_S,
        target.with_name(f"{target.name}.copy.log"),
    )
    if done.returncode != 0:
        lines = done.stdout.strip().splitlines()
        raise DynoError(
            f"cannot copy {source.name} to {target}: {lines[-1] if lines else 'cp failed'}",
            cause="the disk is full" if "No space left" in done.stdout else "",
            fix="free space, or choose other storage with --scratch",
        )
