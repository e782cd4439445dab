"""Tests of the engine as measurements: those that are exact under simulated time."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def exact(crate: str, names: Sequence[str]) -> dict[str, bool]:
    """Which tests of a crate's library pass; empty where nothing can be built."""
    if shutil.which("cargo") is None:
        return {}
    command = ["cargo", "test", "--release", "-q", "-p", crate, "--lib", "--", "--exact"]
    found = {}
    for name in names:
        done = subprocess.run(
            [*command, name], cwd=ROOT, capture_output=True, text=True, check=False
        )
        found[name] = done.returncode == 0 and "1 passed" in done.stdout
    return found
