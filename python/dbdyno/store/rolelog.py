"""Who became the primary within a trial, and who lost its quorum: `roles.ndjson` in its directory,
a line a change."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dbdyno import diskfiles
from dbdyno.store.text import files
from dbdyno.store.text.scrub import scrub

ROLES = "roles.ndjson"
QUORUM_LOST, QUORUM_REGAINED = "quorum lost", "quorum regained"
"""Changes of a node that belongs to a part of its cluster that may not decide."""


class RoleLog:
    """The changes of one trial; lines may come from several threads."""

    def __init__(self, trial_directory: Path, run_directory: Path) -> None:
        self._path = trial_directory / ROLES
        self._run = run_directory
        self._lock = threading.Lock()
        self.lines: list[Mapping[str, Any]] = []

    def by_time(self) -> tuple[Mapping[str, Any], ...]:
        """All changes so far."""
        return tuple(sorted(self.lines, key=lambda line: float(line["t_s"])))

    def append(self, t_s: float, node: str, change: str, said: str) -> None:
        """Adds a line: seconds on the trial's clock, what became of which node, in the servers'
        words. DynoError if it cannot be written."""
        line = scrub({"t_s": t_s, "node": node, "change": change, "said": said})
        text = json.dumps(line, ensure_ascii=False, separators=(",", ":"))
        with (
            self._lock,
            files.explained(self._path, self._run),
            diskfiles.opened(self._path, "ab") as file,
        ):
            self.lines.append(line)
            file.write(f"{text}\n".encode())
