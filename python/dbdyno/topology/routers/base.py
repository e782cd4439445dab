"""What every router is: what it is in front of, the files that it reads, and how it is started."""

from __future__ import annotations

import re
import signal
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from dbdyno.errors import DynoError
from dbdyno.experiment.types import Router, Scalar
from dbdyno.hosts.base import Host
from dbdyno.systems.process.account import account_for, run_as
from dbdyno.systems.process.managed import ENVIRONMENT
from dbdyno.systems.process.paths import program

VERSION_TIMEOUT_S = 20.0
SBIN = (Path("/usr/sbin"), Path("/usr/local/sbin"))  # not in everybody's PATH

Rows = Sequence[Mapping[str, object]]
Ask = Callable[[str], Rows]
"""Rows of a statement that a session through the router sends, by the names of their columns."""


@dataclass(frozen=True)
class Backend:
    """A node as the router knows it."""

    name: str
    number: int  # from 1
    port: int
    role_port: int = 0  # where it is asked over HTTP whether it takes writes; 0: nowhere


@dataclass(frozen=True)
class Front:
    """Where a router listens, and what it is in front of."""

    router: Router
    directory: Path  # private to its account; it is gone with the router
    port: int
    user: str
    password: str
    backends: tuple[Backend, ...]
    leader: str  # the name of the node that takes writes
    members: bool = False  # whether all nodes take writes
    more_ports: Mapping[str, int] = field(default_factory=dict)

    @property
    def leading(self) -> Backend:
        """The node that takes writes."""
        return next(each for each in self.backends if each.name == self.leader)


@dataclass(frozen=True)
class Program:
    """An installed router."""

    version: str  # "PgBouncer 1.18.0"
    path: Path


class RouterKind(Protocol):
    """A kind of router, as `router: {kind: ...}` names it."""

    kind: str
    title: str
    package: str  # of Debian
    about: str  # what dbdyno sets, and what that means; for the report
    stop_signal: int = signal.SIGTERM  # ends it at once, sessions included
    asks_roles: bool = False  # whether its health checks ask nodes for their roles over HTTP
    more_ports: tuple[str, ...] = ()  # that it listens on besides, by use
    # Whether it learns of a new primary by its files and SIGHUP. False: it finds out by itself.
    reads_again: bool = False

    @abstractmethod
    def find(self, host: Host, account: str) -> Program:
        """The installed program. DynoError with the command that installs it."""

    @abstractmethod
    def files(self, front: Front) -> Mapping[str, str]:
        """Texts of the files that it reads, by name. DynoError where the user's `config` sets what
        dbdyno does."""

    @abstractmethod
    def command(self, program: Program, front: Front) -> Sequence[str | Path]:
        """Its command line, in the foreground."""

    def lacking(self, front: Front, ask: Ask) -> str:
        """Why it does not send sessions where it should yet; empty once it does. May raise what
        client libraries and sockets do."""
        return ""

    def unknown(self, front: Front, ask: Ask) -> Sequence[str]:
        """Settings of the user's that it has ignored, of one that starts all the same."""
        return ()


def found(
    kind: RouterKind, host: Host, account: str, name: str, pattern: str, option: str = "--version"
) -> Program:
    """The program `name` of a kind; `pattern` finds its version in what it prints of itself, which
    some do on standard error."""
    path = program(name, SBIN)
    if path is None:
        raise DynoError(
            f"no {kind.title} found",
            cause="it is not installed",
            fix=f"run `make servers`, or `apt-get install {kind.package}`",
        )
    done = run_as(host, account_for(account), [path, option], ENVIRONMENT, VERSION_TIMEOUT_S)
    version = re.search(pattern, done.stdout + done.stderr)
    if done.returncode != 0 or version is None:
        raise DynoError(
            f"{path} does not run: {(done.stderr or done.stdout).strip()[-300:]}",
            cause=f"a library is missing, or the account {account} cannot reach it",
            fix=f"run `make servers`, or `apt-get install --reinstall {kind.package}`",
        )
    return Program(f"{kind.title} {version[1]}", path)


def settings(
    kind: str, own: Mapping[str, Scalar], config: Mapping[str, Scalar], free: Sequence[str] = ()
) -> dict[str, Scalar]:
    """All settings of a router: dbdyno's, then the user's. DynoError where the user sets one of
    dbdyno's that is not `free`."""
    for name, value in config.items():
        if any(mark in f"{name}{value}" for mark in "\n\r\0"):
            raise DynoError(
                f"{kind}: {name!r} of `config:` of the router does not stand on one line",
                cause="each line of its file is a setting",
                fix="correct it",
            )
        # A router may compare names without case.
        if name.lower() in own and name.lower() not in free:
            raise DynoError(
                f"{kind}: `{name}` cannot be set in `config:` of the router",
                cause="dbdyno sets it, so that the router is private and knows its nodes",
                fix=f"remove `{name}`",
            )
    return {**own, **config}
