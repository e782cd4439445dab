"""Copies of stopped servers' directories."""

from __future__ import annotations

import subprocess
from pathlib import Path

from dbdyno.errors import DynoError


def copy_tree(source: Path, target: Path) -> None:
    """Copies a stopped server's directory, by reflink where the file system can; keeps owners."""
    done = subprocess.run(
        ["cp", "-a", "--reflink=auto", "--sparse=auto", "--", str(source), str(target)],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines()
        raise DynoError(
            f"cannot copy {source.name} to {target}: {lines[-1] if lines else 'cp failed'}",
            cause="the disk is full" if "No space left" in done.stderr else "",
            fix="free space, or choose other storage with --scratch",
        )
