"""`kill -9` at random moments: dyno itself, the engine, servers, guardians."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from tools.attack.row import Effort, Row, Tally

_PROGRAM = Path(__file__).resolve().parents[3] / "tests" / "live" / "kill_many.py"
_TIMES = 100  # in all
_BY_URL = 4  # one in so many is of a run on an external server
_LINE = re.compile(r" *(\d+)  (\w+) +[\d.]+ +(.*)")
_HARMLESS = "nothing, none"


def _run(effort: Effort) -> Tally:
    times = _TIMES if effort.most is None else min(_TIMES, effort.most)
    by_url = times // _BY_URL
    tally = Tally()
    _kill(tally, effort, times - by_url, "--kinds", "sqlite,mariadb,postgres")
    if by_url:
        _kill(tally, effort, by_url, "--url", "mariadb")
    return tally


def _kill(tally: Tally, effort: Effort, times: int, *options: str) -> None:
    """The program's lines, one a death, and its end."""
    command = [sys.executable, str(_PROGRAM), "--times", str(times), "--seed", str(effort.seed)]
    with subprocess.Popen(
        [*command, *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "PYTHONPATH": str(_PROGRAM.parents[1])},
    ) as program:
        assert program.stdout is not None
        last, deaths = "", 0
        for line in program.stdout:
            found = _LINE.fullmatch(line.rstrip())
            if found:
                deaths += 1
                harmless = found[3].endswith(_HARMLESS)
                tally.add(f"kill {found[1]} of {options[-1]}", [] if harmless else [found[0]])
            else:
                last = line.strip() or last
    if deaths < times or program.returncode:
        tally.add(f"all of {options[-1]}", [f"{deaths} of {times} deaths: {last}"])


ROW = Row(
    name="kills",
    attack="kill -9 of dyno, the load engine, servers and guardians, at random moments of runs over"
    " SQLite, MariaDB, PostgreSQL, and a MariaDB by URL",
    survived="no complete trial is lost or changed, no process, file, socket or schema is left"
    " behind, and the run is resumed to its end",
    run=_run,
)
