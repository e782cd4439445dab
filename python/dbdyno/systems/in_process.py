"""Systems without a server: the load generator itself does the work in a directory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from dbdyno.systems.base import Binaries, Refusal, Resolved


class InProcessSystem:
    """There is nothing to install or to initialise."""

    def installations(self) -> Sequence[str]:
        return ()

    def prepare(self, binaries: Binaries, directory: Path, resolved: Resolved) -> None:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)


class InProcess:
    """A stand-in for a server: there is no process to ask."""

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

    def refusals(
        self, database: str, session: Sequence[str], statements: Sequence[str]
    ) -> list[Refusal]:
        """None: it has no SQL."""
        return []

    def alive(self) -> bool:
        return self.directory.is_dir()

    def stop(self, *, discard: bool = False) -> bool:
        """Nothing runs."""
        return True
