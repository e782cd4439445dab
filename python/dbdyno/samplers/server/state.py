"""Whether a server's main process runs, is stopped or waits: one line of /proc/PID/stat (proc(5)).

Separate from `process`, which reads a file for each thread and so cannot always be quick: that a
process was stopped for half a second shows only in a sample just then.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from dbdyno.samplers.base import ProcFile, prefixed
from dbdyno.samplers.server.process import BLOCKED, STOPPED


class State:
    """See the module."""

    source = "state"
    about = "main processes that are stopped by a signal, or wait without a way to interrupt them"
    quick = True

    def __init__(self, pids: int | Sequence[int], target: str = "", root: str = "/proc") -> None:
        self.source = prefixed(target, "state")
        numbers = (pids,) if isinstance(pids, int) else tuple(pids)
        self._files = [ProcFile(Path(root) / str(pid) / "stat") for pid in numbers]

    def open(self) -> None:
        for file in self._files:
            file.open()

    def sample(self, elapsed_s: float) -> Mapping[str, float]:
        states = [file.text().rpartition(")")[2].split()[0] for file in self._files]
        return {
            "stopped": float(sum(state in STOPPED for state in states)),
            "blocked": float(sum(state == BLOCKED for state in states)),
        }

    def close(self) -> None:
        for file in self._files:
            file.close()
