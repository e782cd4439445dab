"""`dyno status --watch`: a run until it ends, from another terminal."""

from __future__ import annotations

import io
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from dbdyno.analysis.under_way.so_far import SoFar
from dbdyno.cli import unprivileged
from dbdyno.cli.running.watching.panel import parts
from dbdyno.cli.runs.stored import stored
from dbdyno.cli.terminal.console import Shown
from dbdyno.plan.types import Plan
from dbdyno.share.opened import opened
from dbdyno.store.manifest import RUNNING
from dbdyno.store.record import TrialRecord
from dbdyno.store.run import Run

EVERY_S = 2.0  # between two looks: each reads all records
Facts = dict[str, Any]


def watched(
    place: Path,
    facts_of: Callable[[Run, Sequence[TrialRecord]], Facts],
    lines_of: Callable[[Facts], list[str]],
) -> int:
    """Shows the run again and again, in place on a terminal, else whenever a trial is over; returns
    once nobody works in it any more. Ctrl-C ends the watching alone."""
    console = Shown()

    def read() -> tuple[Facts, str]:
        with opened(place) as run:
            records = run.records()
            return facts_of(run, records), drawn(run.plan, records, console.width)

    live = Live(console=console, auto_refresh=False) if console.is_terminal else None
    done = -1
    try:
        if live:
            live.start()
        while True:
            with stored(place):
                facts, table = unprivileged.reading(read, [place])
            text = "\n".join([*lines_of(facts), table])
            if live:
                live.update(Text(text), refresh=True)
            elif facts["trials_done"] != done:
                stamp = time.strftime("%H:%M:%S")
                console.print(f"{stamp} {text}", markup=False, soft_wrap=True)
            done = facts["trials_done"]
            if facts["status"] != RUNNING:
                return 0
            time.sleep(EVERY_S)
    except KeyboardInterrupt:
        return 0
    finally:
        if live:
            live.stop()


def drawn(plan: Plan, records: Sequence[TrialRecord], width: int) -> str:
    """Means, spreads and ratios so far, as text."""
    console = Console(file=io.StringIO(), width=width, color_system=None)
    console.print(Group(*parts(plan, SoFar(plan, records))))
    assert isinstance(console.file, io.StringIO)
    return "\n".join(line.rstrip() for line in console.file.getvalue().splitlines())
