"""Default names of run directories."""

from __future__ import annotations

import itertools
import time
from pathlib import Path

from dbdyno import userconfig

RUNS = Path("runs")


def unnamed(name: str) -> Path:
    """A directory that is not there yet: `runs/NAME-TIME`, or below the user's own directory
    of runs; with a number behind it for a second run of one second. DynoError for a wrong file of
    settings."""
    path = (userconfig.read().runs or RUNS) / f"{name}-{time.strftime('%Y%m%d-%H%M%S')}"
    numbered = (path.with_name(f"{path.name}-{number}") for number in itertools.count(2))
    return next(one for one in itertools.chain([path], numbered) if not one.exists())
