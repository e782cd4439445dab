"""What all managed servers have in common: how one is started, its process, its places, its end."""

from __future__ import annotations

import os
import secrets
import signal
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from dbdyno.errors import DynoError
from dbdyno.systems.base import Binaries, Resolved, Server, TargetPlan
from dbdyno.systems.certificate import Certificate
from dbdyno.systems.process import starting
from dbdyno.systems.process.account import Account, account_for, check_reachable
from dbdyno.systems.process.guarded import Guarded
from dbdyno.systems.process.logtail import LINES, LogTail
from dbdyno.systems.process.paths import LOOPBACK, socket_directory
from dbdyno.systems.process.starting import (
    DISCARD_TIMEOUT_S,
    HUNG_TIMEOUT_S,
    STOP_TIMEOUT_S,
    TRIES,
    PortTaken,
)

ENVIRONMENT = {"PATH": os.defpath, "LC_ALL": "C", "TZ": "UTC"}
KILL_TIMEOUT_S = 10.0  # memory of many GiB is not given back at once
PORT_WAIT_S = 0.5  # for a port that somebody's connection happens to begin at


@dataclass(frozen=True)
class NodeOptions:
    """What a server is given as one node of a topology. All nodes have one password and one
    certificate, so that a client can be led from one to the other."""

    settings: Mapping[str, str] = field(default_factory=dict)  # its own, not compared: addresses
    settings_again: Mapping[str, str] = field(default_factory=dict)  # instead, when it starts again
    returns: Callable[[NodeOptions], NodeOptions] | None = None  # before it is started again
    rewire: Callable[[], None] | None = None  # once it has been started again
    lock: AbstractContextManager[Any] = field(default_factory=nullcontext)  # while it is
    sections: Mapping[str, Mapping[str, str]] = field(default_factory=dict)  # of its option file
    init_sql: tuple[str, ...] = ()  # statements before those that make the login
    account_sql: tuple[str, ...] = ()  # statements after them, for accounts of its topology
    password: str = ""  # empty: drawn
    certificate: Certificate | None = None  # None: made
    environment: Mapping[str, str] = field(default_factory=dict)  # of its process, and more of it

    def again(self) -> NodeOptions:
        """What it is given when it starts again. `returns` may change its directory too."""
        given = replace(self, settings={**self.settings, **self.settings_again})
        return given if self.returns is None else self.returns(given)


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
    more_ports: dict[str, int] = field(default_factory=dict)  # by name; kept when it starts again
    # Starts another process in place of one that has ended.
    again: Callable[[Started], Started] | None = None
    # Makes an initialised data directory by programs.
    prepare: Callable[[Binaries], None] = lambda binaries: None

    def initialise(self) -> None:
        """Makes an empty data directory where none is any more, by the programs that will run on
        it: an upgrade may have changed them since the start."""
        self.prepare(self.binaries)


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
        self.client_places = client_places(started.binaries)
        self._password = started.password
        self._certificate = started.certificate
        self._log = started.log
        self._started = started
        # Programs of the same machine, such as a sentinel: a fault of this server leaves them.
        self.companions: list[Guarded] = []

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

    def log_tail(self, lines: int = LINES) -> str:
        """The last lines that the server logged since this start, indented."""
        return self._log.text(lines)

    def alive(self) -> bool:
        return self.process.alive() and self.answers()

    def stop(self, *, discard: bool = False) -> bool:
        """A clean end, which writes everything, so that the directory can be copied. After a
        timeout it is killed (`was_killed`)."""
        timeout_s = DISCARD_TIMEOUT_S
        if discard:
            self._end_companions()
        else:
            timeout_s = STOP_TIMEOUT_S if self.alive() else HUNG_TIMEOUT_S
        self.close_connection()
        self.was_killed = self.process.stop(timeout_s)
        return self.process.status() == 0 and not self.was_killed

    def _end_companions(self) -> None:
        while self.companions:
            self.companions.pop().stop(0)

    def kill(self) -> None:
        """Ends it at once, as a crash does: nothing is written. DynoError if it does not die."""
        if not self.process.kill(KILL_TIMEOUT_S):
            raise DynoError(
                f"the server (process {self.pid}) did not die within {KILL_TIMEOUT_S:.0f} s of"
                " SIGKILL",
                cause="it waits for a disk or a file system that does not answer (state D)",
                fix=f"look at `cat /proc/{self.pid}/stack` and at `dmesg`",
            )
        self.was_killed = True

    def pause(self) -> None:
        """Freezes it until `resume`: connections stay, and nothing answers."""
        self.process.pause()

    def resume(self) -> None:
        """Ends a pause; no harm if there is none."""
        self.process.resume()

    @property
    def given(self) -> Started:
        """What its process was given."""
        return self._started

    def use(self, binaries: Binaries) -> None:
        """Has its next process be one of other programs."""
        self._started = replace(self._started, binaries=binaries)
        self.client_places = client_places(binaries)

    def start_again(self, settings: Mapping[str, str] | None = None) -> None:
        """Starts it on its directory once it has ended: port, password, certificate and settings
        are as before, and `settings` of its node are added for this start alone. DynoError, with
        the log's end, if it does not come back."""
        with self._started.node.lock:
            self._start_again(settings or {})

    def _start_again(self, settings: Mapping[str, str]) -> None:
        again = self._started.again
        assert again is not None
        assert not self.process.alive(), "it runs"
        for attempt in range(1, TRIES + 1):
            self.close_connection()
            self.process.stop(0)  # ends its guardian, which has cleaned up
            self._started = started = _without(settings, again(_with(settings, self._started)))
            self.process, self.pid, self._log = started.process, started.process.pid, started.log
            try:
                self.wait_until_ready()
            except PortTaken:
                if attempt == TRIES:
                    raise
                time.sleep(PORT_WAIT_S)
            else:
                self.was_killed = False
                if started.node.rewire is not None:
                    started.node.rewire()
                return

    def _address(self, target: TargetPlan, port: int) -> dict[str, Any]:
        """Where the engine reaches it."""
        if target.transport == "socket":
            return {"unix": str(self.socket_path)}
        return {"tcp": {"host": LOOPBACK, "port": port}}


def client_places(binaries: Binaries) -> tuple[Path, Path]:
    """Where the client programs of a server may be."""
    home = binaries.paths["server"].parent
    return home.parent / "bin", home


def _with(settings: Mapping[str, str], started: Started) -> Started:
    node = started.node
    return replace(started, node=replace(node, settings={**node.settings, **settings}))


def _without(settings: Mapping[str, str], started: Started) -> Started:
    own = {name: value for name, value in started.node.settings.items() if name not in settings}
    return replace(started, node=replace(started.node, settings=own))


Command = Sequence[str | Path]
Make = Callable[[Started], Managed]  # the server object around the process


class ManagedSystem(ABC):
    """A system whose servers run under a guardian, on a data directory of their own."""

    kind: str
    account: str  # that the package makes for the server
    initialised: str  # what an initialised data directory has, below the server's directory
    stop_signal = signal.SIGTERM

    def initial_settings(self, resolved: Resolved) -> dict[str, str]:
        """Those that shape the files of a data directory while it is made."""
        return {}

    @abstractmethod
    def prepare(self, binaries: Binaries, directory: Path, resolved: Resolved) -> None:
        """See `System.prepare`."""

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
            again=partial(self._again, resolved, cpus),
            prepare=partial(self.prepare, directory=directory, resolved=resolved),
        )
        return self._begin(started, resolved, cpus)(started)

    def _again(self, resolved: Resolved, cpus: Sequence[int], old: Started) -> Started:
        """Another process for a server that has ended, under a guardian of its own."""
        process = Guarded(
            host=old.binaries.host,
            account=old.account,
            make=[old.sockets],
            directory=old.directory,
        )
        node = old.node.again()
        started = replace(old, process=process, log=LogTail(old.log.path), node=node)
        self._begin(started, resolved, cpus)
        return started

    def _begin(self, started: Started, resolved: Resolved, cpus: Sequence[int]) -> Make:
        """Writes a server's files and starts its process; what makes the server object."""
        directory = started.directory
        try:
            command, make = self.configured(started, resolved)
            started.process.launch(
                command,
                environment={
                    **ENVIRONMENT,
                    "HOME": str(directory),
                    **started.node.environment,
                },
                log=started.log.path,
                cpus=cpus,
                stop_signal=self.stop_signal,
                data=directory / "data",
            )
        except BaseException:
            started.process.stop(0)
            raise
        return make
