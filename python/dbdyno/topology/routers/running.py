"""A router that runs: a process under a guardian, in a private directory that is gone with it.
Faults strike it as they do servers: it is ended and started again on its port."""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from dbdyno.errors import DynoError
from dbdyno.experiment.types import MEMBER, PRIMARY
from dbdyno.hosts.base import Host
from dbdyno.systems.base import TargetPlan
from dbdyno.systems.process.account import Account, private_file
from dbdyno.systems.process.guarded import Guarded
from dbdyno.systems.process.logtail import LINES, LogTail
from dbdyno.systems.process.managed import ENVIRONMENT, PORT_WAIT_S, Managed
from dbdyno.systems.process.paths import LOOPBACK, free_port, socket_directory
from dbdyno.systems.process.starting import PortTaken
from dbdyno.topology.base import LOOK_TIMEOUT_S
from dbdyno.topology.cluster import Cluster
from dbdyno.topology.routers import client
from dbdyno.topology.routers.base import Ask, Backend, Front, Program, RouterKind
from dbdyno.topology.routers.roles import RoleServer

READY_TIMEOUT_S = 30.0
STOP_TIMEOUT_S = 5.0
KILL_TIMEOUT_S = 10.0
POLL_S = 0.05
TRIES = 3
LOG = "router.log"
TAKEN = ("address already in use", "cannot bind", "bind failed")  # in logs, in small letters


@dataclass
class Setting:
    """What a router is started with."""

    kind: RouterKind
    target: TargetPlan
    host: Host
    account: Account
    program: Program
    cluster: Cluster
    servers: dict[str, Managed]
    login: dict[str, Any]  # an engine target: user, password, database
    language: str
    cpus: Sequence[int] = ()
    check: Callable[[], None] = lambda: None


@dataclass
class RunningRouter:
    """A router, and the answers to its health checks. `close` ends both."""

    setting: Setting
    front: Front
    guard: Guarded  # of its directory, which outlives the process, for its log
    process: Guarded
    log: LogTail
    roles: list[RoleServer] = field(default_factory=list)
    was_ready: bool = False
    # One thread starts it again or has it read its files again at a time.
    _changing: threading.RLock = field(default_factory=threading.RLock)

    @property
    def name(self) -> str:
        """The engine's name for it."""
        return self.setting.target.router_name

    @property
    def port(self) -> int:
        """Where sessions reach it, on loopback."""
        return self.front.port

    @property
    def pid(self) -> int | None:
        """Of its main process; None once that has ended."""
        return self.process.pid if self.process.alive() else None

    @property
    def version(self) -> str:
        """As its program prints it."""
        return self.setting.program.version

    @property
    def log_path(self) -> Path:
        """The file that it logs to."""
        return self.log.path

    def alive(self) -> bool:
        """Whether its process runs."""
        return self.process.alive()

    def log_tail(self, lines: int = LINES) -> str:
        """The last lines that it logged, indented."""
        return self.log.text(lines)

    def lead(self, leader: str) -> None:
        """Another node takes writes from now on. A router that does not find that out by itself
        reads its files again."""
        with self._changing:
            if leader == self.front.leader:
                return
            self.front = replace(self.front, leader=leader)
            if self.setting.kind.reads_again:
                self._write()
                self.process.reload()

    def wait_until_ready(self) -> None:
        """Returns once a session through it reaches the node that takes writes. DynoError, with the
        end of its log, if that does not come to pass."""
        deadline, why = time.monotonic() + READY_TIMEOUT_S, ""
        while time.monotonic() < deadline:
            self.setting.check()
            if not self.process.alive():
                raise self._died()
            try:
                why = self._lacking()
            except Exception as error:  # each client library has errors of its own
                why = str(error) or type(error).__name__
            if not why:
                self.was_ready = True
                return
            time.sleep(POLL_S)
        raise DynoError(
            f"{self.setting.kind.title} in front of `{self.setting.target.name}` was not ready"
            f" within {READY_TIMEOUT_S:.0f} s: {why}",
            cause="a setting in `config:` of the router, or a very busy machine",
            fix=f"its log ends:\n{self.log_tail()}",
        )

    def check_settings(self) -> None:
        """DynoError for settings that it has ignored."""
        if unknown := self.setting.kind.unknown(self.front, self._ask()):
            raise DynoError(
                f"{self.setting.kind.title} does not know `{unknown[0]}`",
                cause="another version has it, or it is misspelt",
                fix="correct `config:` of the router",
            )

    def _lacking(self) -> str:
        ask = self._ask()
        return self.setting.kind.lacking(self.front, ask) or client.unreached(
            self.setting.language, self.front, ask
        )

    def _ask(self) -> Ask:
        login = self.setting.login
        return partial(client.ask, self.front.port, login["user"], login["password"])

    def launch(self) -> None:
        """Writes its files and starts it."""
        self._write()
        self.process.launch(
            self.setting.kind.command(self.setting.program, self.front),
            environment={**ENVIRONMENT, "HOME": str(self.front.directory)},
            log=self.log.path,
            cpus=self.setting.cpus,
            stop_signal=self.setting.kind.stop_signal,
            stop_timeout_s=STOP_TIMEOUT_S,
        )

    def _write(self) -> None:
        """Each file is replaced whole: the router may read it at any time."""
        for name, text in self.setting.kind.files(self.front).items():
            new = private_file(self.front.directory / f"{name}.new", text, self.setting.account)
            os.replace(new, self.front.directory / name)

    # ---- what faults do to it

    def kill(self) -> None:
        """Ends it at once, and all sessions through it. DynoError if it does not die."""
        if not self.process.kill(KILL_TIMEOUT_S):
            raise DynoError(
                f"{self.setting.kind.title} did not die within {KILL_TIMEOUT_S:.0f} s of SIGKILL",
                cause="the machine is very busy",
                fix="run again on a machine that is not",
            )

    def pause(self) -> None:
        """Freezes it until `resume`: connections stay, and nothing passes."""
        self.process.pause()

    def resume(self) -> None:
        """Ends a pause; no harm if there is none."""
        self.process.resume()

    def stop(self, *, discard: bool = False) -> bool:
        """Asks it to end, with all sessions through it. True if it did so by itself. Its files
        stay."""
        return not self.process.stop(STOP_TIMEOUT_S)

    def start_again(self) -> None:
        """Starts it once it has ended, on the same port; returns once it listens there. Whether the
        node that takes writes can be reached is another matter: that may be down, too. DynoError,
        with the end of its log, if it does not come back."""
        with self._changing:
            for attempt in range(1, TRIES + 1):
                self.process.stop(0)  # ends its guardian, which has cleaned up
                self._remove_traces()
                self.was_ready = False
                self.log = LogTail(self.log.path)
                self.process = Guarded(host=self.setting.host, account=self.setting.account)
                self.launch()
                try:
                    self._wait_until_it_listens()
                except PortTaken:
                    if attempt == TRIES:
                        raise
                    time.sleep(PORT_WAIT_S)
                else:
                    return

    def _remove_traces(self) -> None:
        """What keeps some from starting after a crash: their sockets, and files with their pid."""
        for path in self.front.directory.iterdir():
            if path.is_socket() or path.suffix == ".pid":
                path.unlink(missing_ok=True)

    def _wait_until_it_listens(self) -> None:
        deadline = time.monotonic() + READY_TIMEOUT_S
        while time.monotonic() < deadline:
            self.setting.check()
            if not self.process.alive():
                raise self._died()
            with socket.socket() as probe:
                probe.settimeout(LOOK_TIMEOUT_S)
                if probe.connect_ex((LOOPBACK, self.front.port)) == 0:
                    return
            time.sleep(POLL_S)
        raise DynoError(
            f"{self.setting.kind.title} in front of `{self.setting.target.name}` does not listen"
            f" {READY_TIMEOUT_S:.0f} s after its start",
            cause="a very busy machine",
            fix=f"its log ends:\n{self.log_tail()}",
        )

    def close(self) -> None:
        """Ends it and all sessions through it, and removes its files."""
        self.process.resume()  # a frozen one does not hear that it should end
        self.process.stop(STOP_TIMEOUT_S)
        self.guard.stop(STOP_TIMEOUT_S)
        for each in self.roles:
            each.close()
        self.roles.clear()

    def _died(self) -> DynoError:
        said = self.log_tail()
        if self.was_ready:
            return DynoError(
                f"{self.setting.kind.title} in front of `{self.setting.target.name}` has ended; its"
                f" log ends:\n{said}",
                cause="it crashed, or was killed, after it had been ready",
                fix="see the end of its log, then run again",
            )
        kind = PortTaken if any(word in said.lower() for word in TAKEN) else DynoError
        return kind(
            f"{self.setting.kind.title} ended at its start; its log ends:\n{said}",
            cause="a setting that this version does not know, or a port that is in use",
            fix="correct `config:` of the router",
        )


def start(setting: Setting) -> RunningRouter:
    """Starts a router in front of nodes that work together; returns once it is ready."""
    for attempt in range(1, TRIES + 1):
        router = _made(setting)
        try:
            router.launch()
            router.wait_until_ready()
            router.check_settings()
        except PortTaken:
            router.close()
            if attempt == TRIES:
                raise
        except BaseException:
            router.close()
            raise
        else:
            return router
    raise AssertionError("unreachable: the last attempt returns or raises")


def _made(setting: Setting) -> RunningRouter:
    asked = setting.target.router
    assert asked is not None
    directory = socket_directory(setting.account)
    guard = Guarded(host=setting.host, account=setting.account, make=[directory])
    roles: list[RoleServer] = []
    try:
        if setting.kind.asks_roles:
            for name in setting.servers:
                roles.append(RoleServer(partial(_takes_writes, setting.cluster, name)))
        ports = [role.port for role in roles] or [0] * len(setting.servers)
        backends = tuple(
            Backend(name, number, server.port, role_port)
            for number, ((name, server), role_port) in enumerate(
                zip(setting.servers.items(), ports, strict=True), 1
            )
        )
        front = Front(
            router=asked,
            directory=directory,
            port=free_port(),
            user=setting.login["user"],
            password=setting.login["password"],
            backends=backends,
            leader=setting.cluster.leader,
            members=setting.cluster.all_write,
            more_ports={use: free_port() for use in setting.kind.more_ports},
        )
        process = Guarded(host=setting.host, account=setting.account)
    except BaseException:
        guard.stop(0)
        for each in roles:
            each.close()
        raise
    return RunningRouter(setting, front, guard, process, LogTail(directory / LOG), roles)


def _takes_writes(cluster: Cluster, name: str) -> bool:
    return cluster.role(name) in (PRIMARY, MEMBER)
