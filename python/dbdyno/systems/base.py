"""What every system has in common: the target it is asked to be, and the server it becomes.

A system is one file in this folder, found by name (`kind: mariadb` imports
`dbdyno.systems.mysql.mariadb`, which holds `SYSTEM`). It knows how to find its binaries, how to
turn an experiment's words into its own settings, how to make a data directory, and how to start,
describe and stop a server. It never decides when: that is `execute`'s.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from dbdyno.errors import DynoError
from dbdyno.experiment.types import DURABILITY, ISOLATION, Scalar
from dbdyno.experiment.types import Target as TargetPlan
from dbdyno.hosts import LOCAL
from dbdyno.hosts.base import Host
from dbdyno.systems.sql_files import Importer

__all__ = ["DURABILITY", "ISOLATION", "Scalar", "TargetPlan"]


@dataclass(frozen=True)
class Binaries:
    """Programs of one version of a system."""

    version: str  # "10.11.14-MariaDB", as the program prints it, shortened to what identifies it
    paths: Mapping[str, Path] = field(default_factory=dict)  # "server", "init", ...
    host: Host = LOCAL  # where they were found, and are started


@dataclass(frozen=True)
class Word:
    """How one of the experiment's words was turned into settings, for the report."""

    word: str  # "durability: full"
    settings: Mapping[str, str]
    note: str = ""


@dataclass(frozen=True)
class Resolved:
    """A target in the system's own words: everything that will be written in its configuration."""

    settings: Mapping[str, str]  # server settings by name, the user's `config` last
    session_sql: tuple[str, ...]  # what each load connection runs first (isolation, pragmas)
    words: tuple[Word, ...]
    read_only: bool = False  # the engine's sessions may not write, and it sees that they cannot
    load_settings: Mapping[str, str] = field(default_factory=dict)  # overrides while loading only
    data_settings: Mapping[str, str] = field(
        default_factory=dict
    )  # the part files on disk depend on
    node_settings: Mapping[str, str] = field(
        default_factory=dict
    )  # of all nodes of a topology besides `settings`, once loaded

    @property
    def asked(self) -> dict[str, str]:
        """All settings that a server runs with and is asked about."""
        return {**self.settings, **self.node_settings}


@dataclass(frozen=True)
class Refusal:
    """A statement that a server does not prepare, and its words. `at`: the character of `sql`, from
    0, where it sees the mistake, if it says so."""

    sql: str
    why: str
    hint: str = ""
    at: int | None = None


Copy = Callable[[Path, Path], None]  # of a stopped server's directory, owners kept


def schema_name(name: str) -> str:
    """The same name; DynoError if dbdyno's schemas cannot have it."""
    if not re.fullmatch(r"[A-Za-z0-9_]{1,64}", name):
        raise DynoError(
            f"{name!r} cannot be a schema's name", fix="use letters, digits and underscores"
        )
    return name


def engine_target(
    target: TargetPlan,
    driver: str,
    address: Any,
    database: str,
    *,
    user: str = "",
    password: str = "",
    tls: str | Mapping[str, str] = "off",
    rules: Mapping[str, Any] = {},
    session_sql: Sequence[str] = (),
    options: Mapping[str, Any] = {},
) -> dict[str, Any]:
    """The `targets.<name>` object of an engine plan. `rules`: what the server may ask of the
    login; `options`: those of the driver that the target's own go before."""
    return {
        "driver": driver,
        "address": address,
        "user": user,
        "password": password,
        "database": database,
        "protocol": target.protocol,
        "tls": tls,
        **rules,
        "session_sql": list(session_sql),
        "options": {**options, **target.options},
    }


class System(Protocol):
    """One kind of server."""

    kind: str
    driver: str  # name of the engine's driver
    about: str  # one line for the reference

    def find(self, basedir: str | None, host: Host = LOCAL) -> Binaries:
        """Finds the programs on a host or raises DynoError with the command that installs them."""

    def installations(self) -> Sequence[str]:
        """Prefixes or programs, each good for `find`, where other versions than the first found may
        be."""

    def resolve(self, target: TargetPlan) -> Resolved:
        """Maps words and config to settings, or refuses (DynoError) what it cannot honour. Pure."""

    def prepare(self, binaries: Binaries, directory: Path, resolved: Resolved) -> None:
        """Makes an empty, initialised data directory in `directory` (which dbdyno owns)."""

    def place_template(
        self, binaries: Binaries, template: Path, directory: Path, copy: Copy
    ) -> None:
        """Makes the data directory in `directory` from a stopped one of the user's, which is only
        read, by `copy(from, to)`. DynoError if it is none, is in use, or is another version's."""

    def start(
        self, binaries: Binaries, directory: Path, resolved: Resolved, cpus: Sequence[int]
    ) -> Server:
        """Starts a server on `directory`, under a guardian; returns when it answers.

        Every setting asked for is then compared with what the server says: an unknown, ignored or
        silently rounded one is a DynoError."""


class Server(Protocol):
    """A running server: managed, in-process, or external (`remote`)."""

    pid: int | None  # of the main process; None in-process or elsewhere
    version: str  # as the server itself says

    @property
    def directory(self) -> Path | None:
        """Where its files are; None if dbdyno does not own them."""

    def engine_target(
        self, target: TargetPlan, resolved: Resolved, database: str
    ) -> dict[str, Any]:
        """The `targets.<name>` object of an engine plan, password included."""

    def create_schema(self, database: str) -> None:
        """Creates a schema and marks it as dbdyno's; DynoError if one is there that we did not
        make."""

    def schemas(self) -> list[str]:
        """The schemas that are not the system's own."""

    def importer(self, database: str, host: Host) -> Importer:
        """Takes SQL from the user's files into a schema, and into no other. A client program that
        does so runs on `host`."""

    def run(self, database: str, statements: Sequence[str]) -> Sequence[Sequence[Any]]:
        """Runs statements, each of which may take minutes, on a connection of their own; the rows
        of the last. DynoError with what the server says of the first that it refuses."""

    def settle(self, database: str) -> None:
        """After loading, before a snapshot: planner statistics (and PostgreSQL's visibility
        map), so that no background work of that kind falls into a trial."""

    def settings(self) -> dict[str, str]:
        """Effective settings, as the server says."""

    def counters(self) -> dict[str, float]:
        """Cumulative counters (SHOW GLOBAL STATUS, pg_stat_*); numbers only."""

    def gauges(self) -> frozenset[str]:
        """Names among `counters` that are levels, not sums: taken as they are, not as deltas."""

    def cycles(self, per_s: Mapping[str, float]) -> Mapping[str, float]:
        """What it does in the background and again after so many seconds, by name: a checkpoint,
        a redo log that fills. `per_s`: its counters a second under this load."""

    def sessions_by_state(self) -> dict[str, int]:
        """How many sessions are in which state or wait, now."""

    def explain(self, database: str, sql: str) -> str:
        """The plan the server would use, one text; raises DynoError if it cannot say."""

    def refusals(
        self, database: str, session: Sequence[str], statements: Sequence[str]
    ) -> list[Refusal]:
        """Which of these statements (parameters as `:name`) it does not prepare, which runs none
        of them, in a session that begins with `session`. DynoError if it cannot be asked."""

    def alive(self) -> bool:
        """Whether the process runs and the server answers."""

    def stop(self, *, discard: bool = False) -> bool:
        """Stops it and reaps it; True if it ended cleanly (checkpointed, so that its directory can
        be copied). With `discard` the directory is no longer needed: patience is short."""
