"""What all managed servers have in common: how one is started, its process, its places, its end."""

from __future__ import annotations

import os
import secrets
import signal
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from dbdyno.errors import DynoError
from dbdyno.systems.base import Binaries, Resolved, Server, TargetPlan
from dbdyno.systems.certificate import Certificate
from dbdyno.systems.process import starting
from dbdyno.systems.process.account import Account, account_for, check_reachable
from dbdyno.systems.process.guarded import Guarded
from dbdyno.systems.process.logtail import LogTail
from dbdyno.systems.process.paths import LOOPBACK, socket_directory
from dbdyno.systems.process.starting import (
    DISCARD_TIMEOUT_S,
    HUNG_TIMEOUT_S,
    STOP_TIMEOUT_S,
)

ENVIRONMENT = {"PATH": os.defpath, "LC_ALL": "C", "TZ": "UTC"}


@dataclass(frozen=True)
class NodeOptions:
    """What a server is given as one node of a topology. All nodes have one password and one
    certificate, so that a client can be led from one to the other."""

    settings: Mapping[str, str] = field(default_factory=dict)  # its own, not compared: addresses
    settings_again: Mapping[str, str] = field(default_factory=dict)  # instead, when it starts again
    rewire: Callable[[], None] | None = None  # once it has been started again
    sections: Mapping[str, Mapping[str, str]] = field(default_factory=dict)  # of its option file
    init_sql: tuple[str, ...] = ()  # statements before those that make the login
    password: str = ""  # empty: drawn
    certificate: Certificate | None = None  # None: made

    def again(self) -> NodeOptions:
        """What it is given when it starts again."""
        return replace(self, settings={**self.settings, **self.settings_again})


ALONE = NodeOptions()


@dataclass(frozen=True)
class Started:
    """A process that was just made, or is about to be, and what it is given."""

    process: Guarded
    binaries: Binaries
    directory: Path
    account: Account
    sockets: Path  # the private directory of its sockets
    port: int
    password: str
    certificate: Certificate
    log: LogTail
    node: NodeOptions = ALONE


class Managed(ABC):
    """A running managed server. Who inherits has a control connection too."""

    def __init__(self, started: Started) -> None:
        self.process = started.process
        self.pid: int | None = started.process.pid
        self.directory = started.directory
        self.socket_path = started.sockets / self.socket_name(started.port)
        self.port = started.port
        self.place = f"{LOOPBACK}:{started.port}"
        self.version = ""
        self.was_killed = False  # whether the last stop needed force: its directory needs recovery
        home = started.binaries.paths["server"].parent
        self.client_places = (home.parent / "bin", home)  # where its client program may be
        self._password = started.password
        self._certificate = started.certificate
        self._log = started.log

    @staticmethod
    @abstractmethod
    def socket_name(port: int) -> str:
        """What it calls its socket."""

    @abstractmethod
    def wait_until_ready(self) -> None:
        """Returns once it answers; DynoError with the log's end if it dies."""

    @abstractmethod
    def check_settings(self, resolved: Resolved) -> None:
        """DynoError unless it uses every setting that was asked for."""

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
        timeout_s = DISCARD_TIMEOUT_S
        if not discard:
            timeout_s = STOP_TIMEOUT_S if self.alive() else HUNG_TIMEOUT_S
        self.close_connection()
        self.was_killed = self.process.stop(timeout_s)
        return self.process.status() == 0 and not self.was_killed

    def _address(self, target: TargetPlan, port: int) -> dict[str, Any]:
        """Where the engine reaches it."""
        if target.transport == "socket":
            return {"unix": str(self.socket_path)}
        return {"tcp": {"host": LOOPBACK, "port": port}}


Command = Sequence[str | Path]
Make = Callable[[Started], Managed]  # the server object around the process


class ManagedSystem(ABC):
    """A system whose servers run under a guardian, on a data directory of their own."""

    kind: str
    account: str  # that the package makes for the server
    initialised: str  # what an initialised data directory has, below the server's directory
    stop_signal = signal.SIGTERM

    @abstractmethod
    def configured(self, started: Started, resolved: Resolved) -> tuple[Command, Make]:
        """Writes all files that a start needs; the server's command line, and what makes the server
        object once it runs."""

    def start(
        self,
        binaries: Binaries,
        directory: Path,
        resolved: Resolved,
        cpus: Sequence[int],
        node: NodeOptions = ALONE,
    ) -> Server:
        """See `System.start`."""
        account = account_for(self.account)
        check_reachable(directory / "data", account)
        check_reachable(binaries.paths["server"], account)
        if not (directory / self.initialised).exists():
            raise DynoError(
                f"{directory} is not an initialised data directory of {self.kind}",
                cause="it was not prepared, or was removed",
                fix="prepare it first",
            )
        asked = starting.asked_port(resolved.settings, self.kind)

        def launch(port: int) -> Any:
            return self._launch(binaries, directory, resolved, cpus, account, port, node)

        return starting.start(launch, resolved, asked)

    def _launch(
        self,
        binaries: Binaries,
        directory: Path,
        resolved: Resolved,
        cpus: Sequence[int],
        account: Account,
        port: int,
        node: NodeOptions = ALONE,
    ) -> Managed:
        sockets = socket_directory(account)
        password = node.password or secrets.token_urlsafe(24)
        certificate = replace(node.certificate) if node.certificate else Certificate.make()
        log = LogTail(directory / "server.log")
        process = Guarded(host=binaries.host, account=account, make=[sockets], directory=directory)
        started = Started(
            *(process, binaries, directory, account, sockets, port, password, certificate, log),
            node=node,
        )
        try:
            command, make = self.configured(started, resolved)
            process.launch(
                command,
                environment={**ENVIRONMENT, "HOME": str(directory)},
                log=log.path,
                cpus=cpus,
                stop_signal=self.stop_signal,
                data=directory / "data",
            )
        except BaseException:
            process.stop(0)
            raise
        return make(started)
