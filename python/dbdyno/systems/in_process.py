"""An in-process server: the load generator itself does the work in a directory."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path


class InProcess:
    """There is no process to ask."""

    pid: int | None = None

    def __init__(self, directory: Path, version: str) -> None:
        self.directory = directory
        self.version = version

    def settle(self, database: str) -> None:
        """Nothing to settle."""

    def counters(self) -> dict[str, float]:
        """None of its own: those of the device are the machine's."""
        return {}

    def gauges(self) -> frozenset[str]:
        return frozenset()

    def cycles(self, per_s: Mapping[str, float]) -> dict[str, float]:
        """Nothing that is known from here."""
        return {}

    def sessions_by_state(self) -> dict[str, int]:
        """Empty: sessions are threads of the engine."""
        return {}

    def alive(self) -> bool:
        return self.directory.is_dir()

    def stop(self, *, discard: bool = False) -> bool:
        """Nothing runs."""
        return True
