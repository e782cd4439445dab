"""Runs that rows of the proof make with `dyno` itself, as a user does."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tools.proof.row import Effort

DYNO = Path(sys.executable).with_name("dyno")
TIMEOUT_S = 600
SERVERS, TEMPORARY = "servers", "t"  # directories for their files, and for sockets


def dyno(
    effort: Effort,
    *arguments: object,
    codes: Sequence[int] = (0,),
    timeout_s: float = TIMEOUT_S,
    env: Mapping[str, str] | None = None,
) -> str:
    """What `dyno` prints. RuntimeError, with what it says, if it ends with another code. `env`:
    variables for it alone."""
    own = {
        "DYNO_ENGINE": str(effort.engine),
        "DYNO_SCRATCH": str(place(effort)),
        "TMPDIR": str(place(effort, TEMPORARY)),
    }
    done = subprocess.run(
        [DYNO, *map(str, arguments)],
        cwd=effort.scratch,
        env={**os.environ, **own, **(env or {})},
        capture_output=True,
        text=True,
        timeout=timeout_s,
        check=False,
    )
    if done.returncode not in codes:
        said = " ".join(map(str, arguments))
        raise RuntimeError(f"dyno {said} ended with {done.returncode}:\n{done.stderr[-2000:]}")
    return done.stdout


def answer(effort: Effort, *arguments: object, timeout_s: float = TIMEOUT_S) -> dict[str, Any]:
    """The same with `--json`, read."""
    said = dyno(effort, *arguments, "--json", timeout_s=timeout_s)
    found: dict[str, Any] = json.loads(said)
    return found


def place(effort: Effort, name: str = SERVERS) -> Path:
    """Where servers keep their files: reachable for their own accounts."""
    directory = effort.scratch / name
    for one in (effort.scratch, directory):
        one.mkdir(exist_ok=True)
        one.chmod(0o755)
    directory.chmod(0o1777)
    return directory
