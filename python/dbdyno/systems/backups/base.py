"""What a backup is, and where and how the programs that make one and restore it are run.

A backup lies in the server's directory, in `drills` next to `data`: it survives the loss of `data`,
and is removed with the directory.
"""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, wait
from contextlib import AbstractContextManager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Protocol

from dbdyno.errors import DynoError
from dbdyno.systems.process import logtail
from dbdyno.systems.process.account import Account, private_directory
from dbdyno.systems.process.guarded import Guarded
from dbdyno.systems.process.managed import ENVIRONMENT, Started
from dbdyno.systems.process.paths import DRILLS, program

STREAMED, KEPT = "streamed", "kept"
"""Where logs are when a server is lost: a program has read them from the server all the time, or
they lay on another disk."""

PROGRAM_TIMEOUT_S = 3600.0
POLL_S = 0.05
LOSE_S = 5.0

Step = Callable[[str], AbstractContextManager[None]]  # times what is done within it
WAIT = "wait"  # the name of a step that waits for what is done to nodes by others


@dataclass(frozen=True)
class Program:
    """A program, by the names that it may have, and Debian's package of it."""

    names: tuple[str, ...]
    package: str

    def found(self, places: Sequence[Path]) -> Path:
        """The first of these names in the places, or on PATH. DynoError if there is none."""
        for name in self.names:
            if (path := program(name, places)) is not None:
                return path
        raise DynoError(
            f"this needs `{self.names[0]}`, and it is not here",
            cause="it is not installed, or not next to the server's programs",
            fix=f"run `make servers`, or `apt-get install {self.package}`",
        )


class Logs(Protocol):
    """What a server has logged since a backup began."""

    def must_run(self) -> None:
        """DynoError if what reads them has ended before the server."""

    def collect(self) -> None:
        """Takes what is left of them once the server is dead, before its data are removed."""

    def close(self) -> None:
        """Ends what reads them; no harm if nothing does."""


@dataclass(frozen=True)
class Backup:
    """One backup. `unix_s`: the moment whose data it holds; `version`: of the server that it was
    taken of."""

    tool: Tool
    path: Path
    unix_s: float
    size_bytes: int
    logs: Logs | None = None
    version: str = ""


@dataclass(frozen=True)
class Site:
    """A managed server of SQL, and what is done for it. `step` times a part of the work; `check` is
    called while programs run, and raises to end them."""

    server: Any
    database: str
    step: Step
    check: Callable[[], None]

    @property
    def given(self) -> Started:
        """Of the process that runs now, or has run last."""
        started: Started = self.server.given
        return started

    @property
    def data(self) -> Path:
        """The server's data directory."""
        return self.given.directory / "data"

    @property
    def account(self) -> Account:
        """Whose all files are."""
        return self.given.account

    def program(self, *names: str, package: str) -> Path:
        """The first of these programs, next to the server's first. DynoError if there is none."""
        return Program(names, package).found(self.server.client_places)

    def new_directory(self, use: str) -> Path:
        """An empty directory of the account's: of the first backup `backup-1`."""
        number, place = 1, private_directory(self.given.directory / DRILLS, self.account)
        while (path := place / f"{use}-{number}").exists():
            number += 1
        return private_directory(path, self.account)

    def run(
        self,
        command: Sequence[str | Path],
        environment: Mapping[str, str] | None = None,
        *,
        as_account: bool = True,
    ) -> str:
        """Runs a program to its end, under the server's account or as ourselves; its output.
        DynoError with the telling lines of that if it fails."""
        log = self.given.directory / f"{Path(command[0]).name}.log"
        process = self.begin(command, log, environment, as_account=as_account)
        deadline = time.monotonic() + PROGRAM_TIMEOUT_S
        try:
            while not process.wait(POLL_S):
                self.check()
                if time.monotonic() > deadline:
                    raise DynoError(
                        f"{Path(command[0]).name} did not finish within {PROGRAM_TIMEOUT_S:.0f} s",
                        cause="a very slow disk, or a lock that is never released",
                        fix="look at the disk with `iostat`, and use less data",
                    )
            status = process.status()
        finally:
            process.stop(0.5)
        said = log.read_text(errors="replace") if log.exists() else ""
        log.unlink(missing_ok=True)
        if status != 0:
            raise DynoError(
                f"{Path(command[0]).name} failed with status {status}",
                cause=" ".join(logtail.telling(said, 3).split()),
                fix="see its message",
            )
        return said

    def execute(self, statement: str) -> Sequence[Sequence[Any]]:
        """Rows of a statement that may take long, in the load's database. Where `check` raises it
        is left alone: it ends with the server."""
        found: Future[Sequence[Sequence[Any]]] = Future()

        def run() -> None:
            try:
                found.set_result(self.server.run(self.database, [statement]))
            except BaseException as error:  # each client library has errors of its own
                found.set_exception(error)

        threading.Thread(target=run, name="statement", daemon=True).start()
        while not wait([found], POLL_S).done:
            self.check()
        return found.result()

    def begin(
        self,
        command: Sequence[str | Path],
        log: Path,
        environment: Mapping[str, str] | None = None,
        *,
        as_account: bool = True,
    ) -> Guarded:
        """Starts a program, which does not outlive dyno."""
        home = {"HOME": str(self.given.directory)}
        return Guarded(
            command,
            host=self.given.binaries.host,
            account=self.account if as_account else None,
            environment={**ENVIRONMENT, **home, **(environment or {})},
            log=log,
            stop_timeout_s=0.5,
        )


class Tool(Protocol):
    """A way to back a kind of server up."""

    name: str
    kind: str
    physical: bool = True  # whether it copies files, which only their version of the server reads
    programs: tuple[Program, ...] = ()  # that it runs

    def take(self, site: Site, logs: str) -> Backup:
        """Backs the running server up. `logs`: STREAMED or KEPT, from now on; empty: none."""

    def place(self, site: Site, backup: Backup) -> None:
        """Puts the data of a physical backup into the data directory, which is gone. A logical one
        makes an empty server's."""

    def restore(self, site: Site, backup: Backup, until_unix_s: float | None) -> None:
        """Makes the server again, whose process is dead and whose data directory is gone; it runs
        then, closed to the load. Logs are replayed to that moment; None: to their end."""

    def check(self, site: Site) -> str:
        """Reads all tables of the load; what was found, in words. DynoError if one is damaged."""


def lose(data: Path) -> None:
    """Removes the data directory of a server that was just killed: its last processes may still
    be closing files of it."""
    deadline = time.monotonic() + LOSE_S
    while True:
        try:
            shutil.rmtree(data)
        except FileNotFoundError:
            if not data.exists():
                return
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(POLL_S)
        else:
            return


def size_of(path: Path) -> int:
    """Bytes of a file, or of all files below a directory."""
    files = [path] if path.is_file() else [each for each in path.rglob("*") if each.is_file()]
    return sum(each.stat().st_size for each in files)


def gap(first: int, there: Sequence[int], name: Callable[[int], str]) -> str:
    """What is missing of the numbered files `there` from the `first` one on, in words; empty if
    nothing is."""
    later = sorted(number for number in there if number >= first)
    if not later:
        last = f"the last one is {name(max(there))}" if there else "there is none"
        return f"{name(first)} is missing, and {last}"
    if later[0] != first:
        return f"{name(first)} is missing: the first one is {name(later[0])}"
    for before, after in pairwise(later):
        if after != before + 1:
            return f"{name(before + 1)} is missing between {name(before)} and {name(after)}"
    return ""


def broken_chain(missing: str) -> DynoError:
    """Logs that do not reach from a backup to now."""
    return DynoError(
        f"the logs do not continue the backup: {missing}",
        cause="logs were purged, or recycled, between the backup and the loss; what came after the"
        " gap cannot be replayed",
        fix="keep logs until the next backup has been tried; or restore without them: `logs: none`",
    )
