"""What every server that we started has in common: its process, its places and its end."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dbdyno.systems.base import TargetPlan
from dbdyno.systems.certificate import Certificate
from dbdyno.systems.process.guarded import Guarded
from dbdyno.systems.process.logtail import LogTail
from dbdyno.systems.process.paths import LOOPBACK
from dbdyno.systems.process.starting import HUNG_TIMEOUT_S, STOP_TIMEOUT_S


@dataclass(frozen=True)
class Started:
    """A process that was just made, and what it was given."""

    process: Guarded
    directory: Path
    socket_path: Path
    port: int
    password: str
    certificate: Certificate
    log: LogTail


class Managed(ABC):
    """A running managed server. Who inherits has a control connection too."""

    def __init__(self, started: Started) -> None:
        self.process = started.process
        self.pid: int | None = started.process.pid
        self.directory = started.directory
        self.socket_path = started.socket_path
        self.port = started.port
        self.version = ""
        self.was_killed = False  # whether the last stop needed force: its directory needs recovery
        self.client_places: tuple[Path, ...] = ()  # where its client program may be
        self._password = started.password
        self._certificate = started.certificate
        self._log = started.log

    @abstractmethod
    def answers(self) -> bool:
        """Whether it answers a question over the control connection."""

    @abstractmethod
    def close_connection(self) -> None:
        """Closes the control connection."""

    def log_tail(self) -> str:
        """The last lines that the server logged since this start."""
        return self._log.text()

    def alive(self) -> bool:
        return self.process.alive() and self.answers()

    def stop(self, *, discard: bool = False) -> bool:
        """A clean end, which writes everything, so that the directory can be copied. After a
        timeout it is killed (`was_killed`)."""
        timeout_s = HUNG_TIMEOUT_S if discard or not self.alive() else STOP_TIMEOUT_S
        self.close_connection()
        self.was_killed = self.process.stop(timeout_s)
        return self.process.status() == 0 and not self.was_killed

    def _address(self, target: TargetPlan, port: int) -> dict[str, Any]:
        """Where the engine reaches it."""
        if target.transport == "socket":
            return {"unix": str(self.socket_path)}
        return {"tcp": {"host": LOOPBACK, "port": port}}
