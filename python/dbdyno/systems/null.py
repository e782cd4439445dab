"""No database at all: the engine answers itself, at once or after a scripted delay (`options`).

It measures the generator, and makes every later stage testable without a server.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dbdyno import __version__
from dbdyno.errors import DynoError
from dbdyno.hosts import LOCAL
from dbdyno.hosts.base import Host
from dbdyno.systems import portable_options
from dbdyno.systems.base import Binaries, Copy, Resolved, Server, TargetPlan, Word, engine_target
from dbdyno.systems.in_process import InProcess, InProcessSystem
from dbdyno.systems.sql_files import Importer


class Null(InProcessSystem):
    """See the module."""

    kind = "null"
    driver = "null"
    about = "no database: the load engine answers itself, at once or after `options.delay_us`"

    def find(self, basedir: str | None, host: Host = LOCAL) -> Binaries:
        return Binaries(version=f"null {__version__}", host=host)

    def resolve(self, target: TargetPlan) -> Resolved:
        portable_options.check_words(target)
        if target.config:
            raise DynoError(
                f"null: `{next(iter(target.config))}` cannot be set in `config:`",
                cause="the null target has no settings of a server",
                fix="use `options: {delay_us: N}`",
            )
        asked = (
            ("durability", target.durability),
            ("isolation", target.isolation),
            ("memory", target.memory_bytes),
        )
        said = [
            Word(f"{word}: {value}", {}, "nothing is stored")
            for word, value in asked
            if value is not None
        ]
        return Resolved(settings={}, session_sql=(), words=tuple(said))

    def place_template(
        self, binaries: Binaries, template: Path, directory: Path, copy: Copy
    ) -> None:
        raise _keeps_nothing()

    def start(
        self, binaries: Binaries, directory: Path, resolved: Resolved, cpus: Sequence[int]
    ) -> Server:
        return NullServer(directory, binaries.version)


class NullServer(InProcess):
    """An in-process server: there is nothing to ask."""

    def engine_target(
        self, target: TargetPlan, resolved: Resolved, database: str
    ) -> dict[str, Any]:
        return engine_target(target, Null.driver, "none", database)

    def create_schema(self, database: str) -> None:
        """Nothing to create."""

    def schemas(self) -> list[str]:
        return []

    def importer(self, database: str, host: Host) -> Importer:
        raise _keeps_nothing()

    def run(self, database: str, statements: Sequence[str]) -> list[tuple[Any, ...]]:
        raise _keeps_nothing()

    def settings(self) -> dict[str, str]:
        return {}

    def explain(self, database: str, sql: str) -> str:
        return "the null target has no plan"

    def alive(self) -> bool:
        return True


def _keeps_nothing() -> DynoError:
    return DynoError(
        "the null target keeps nothing that could be set up or looked up",
        fix="remove `setup:`, and `column:` from parameters; or use `kind: sqlite`",
    )


SYSTEM = Null()
