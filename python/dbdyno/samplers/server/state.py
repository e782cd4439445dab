"""Whether a server's main process runs, is stopped or waits: one line of /proc/PID/stat (proc(5)).

Separate from `process`, which reads a file for each thread and so cannot always be quick: that a
process was stopped for half a second shows only in a sample just then.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from dbdyno.samplers.base import Pids, ProcFile, numbers_of, prefixed
from dbdyno.samplers.server.process import BLOCKED, STOPPED


class State:
    """See the module."""

    source = "state"
    about = "main processes that are stopped by a signal, or wait without a way to interrupt them"
    quick = True

    def __init__(self, pids: Pids, target: str = "", root: str = "/proc") -> None:
        self.source = prefixed(target, "state")
        self._pids, self._root = pids, Path(root)
        self._files: list[ProcFile] = []

    def open(self) -> None:
        self._files = [ProcFile(self._root / f"{pid}" / "stat") for pid in numbers_of(self._pids)]
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
