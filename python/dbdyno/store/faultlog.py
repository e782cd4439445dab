"""What was done to servers within a trial: `faults.ndjson` in its directory.

Each step has two lines: one before it, without an outcome, and one after it. A process that is
killed in between leaves word of what it was about to do.
"""

from __future__ import annotations

import json
import threading
from dataclasses import asdict, dataclass
from pathlib import Path

from dbdyno import diskfiles
from dbdyno.store.text import files
from dbdyno.store.text.scrub import scrub

FAULTS = "faults.ndjson"
BEGIN, UNDO = "begin", "undo"
WAIT = "wait"  # for its turn, before it begins: `said` names whom for
OK, FAILED, STOPPED = "ok", "failed", "stopped"


@dataclass(frozen=True)
class Step:
    """One fault on one node, begun or undone. Times are seconds on the trial's clock."""

    fault: int  # its number in the trial, from 1
    do: str
    node: str
    step: str  # BEGIN | UNDO | WAIT, or a step of a drill
    at_s: float | None  # when it was to happen; None: when the trial's load had ended
    t_s: float  # when this line was written
    outcome: str = ""  # empty: about to happen; OK | FAILED | STOPPED
    said: str = ""


class FaultLog:
    """The journal of one trial; lines may come from several threads."""

    def __init__(self, trial_directory: Path, run_directory: Path) -> None:
        self._path = trial_directory / FAULTS
        self._run = run_directory
        self._lock = threading.Lock()

    def append(self, step: Step) -> None:
        """Adds a line. DynoError if it cannot be written."""
        line = json.dumps(scrub(asdict(step)), ensure_ascii=False, separators=(",", ":"))
        with (
            self._lock,
            files.explained(self._path, self._run),
            diskfiles.opened(self._path, "ab") as file,
        ):
            file.write(f"{line}\n".encode())
