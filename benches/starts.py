"""How long a start of `dyno` takes, in CPU time, against an empty program of the same Python."""

from __future__ import annotations

import argparse
import os
import sys
import sysconfig
from functools import partial
from pathlib import Path

from pairs import alternate
from sides import run

STARTS = 10  # of each side in a pair: one takes less than the clock of CPU time resolves well
LINES: dict[str, tuple[list[str], dict[str, str]]] = {
    "`dyno --help`": (["--help"], {}),
    "`dyno run --<Tab>`": (
        [],
        {"_DYNO_COMPLETE": "bash_complete", "COMP_WORDS": "dyno run --", "COMP_CWORD": "2"},
    ),
}


def starting(options: argparse.Namespace) -> list[str]:
    """Starts of `dyno` (left column) and of `python -c pass` (right column)."""
    dyno = Path(sysconfig.get_path("scripts")) / "dyno"
    rows = []
    for name, (args, variables) in LINES.items():
        pairs = alternate(
            f"start {name}",
            partial(_cpu_ms, [dyno, *args], variables),
            partial(_cpu_ms, [sys.executable, "-c", "pass"], {}),
            options.pairs,
        )
        rows.append(f"| {name}, CPU time, against `python -c pass` | {pairs.row('ms')} | < 10x |")
    return rows


def _cpu_ms(command: list[str | Path], variables: dict[str, str]) -> float:
    env = {**os.environ, **variables}
    return sum(run(command, env=env).cpu_s for _ in range(STARTS)) * 1000 / STARTS
