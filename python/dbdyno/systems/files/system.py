"""Plain files: nothing is started, the load engine itself reads and writes.

The files lie in the scratch directory, which is where `--scratch` says: that is how one chooses the
file system and the device. How they are opened is the driver's `options:` (`direct`, `method`,
`sync`), of which `durability` is a portable one.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dbdyno.errors import DynoError
from dbdyno.hosts import LOCAL
from dbdyno.hosts.base import Host
from dbdyno.systems import portable_options
from dbdyno.systems.base import (
    Binaries,
    Copy,
    Resolved,
    Server,
    TargetPlan,
    Word,
    engine_target,
    schema_name,
)
from dbdyno.systems.in_process import InProcess, InProcessSystem
from dbdyno.systems.process.scratch import mount_of
from dbdyno.systems.sql_files import Importer

DEFAULTS: Mapping[str, Any] = {"direct": False, "method": "pread", "sync": "none"}
NOTES = {
    "full": "each write waits until the disk has it (O_DSYNC)",
    "os_crash_unsafe": "each write is handed to the OS, which writes it when it likes",
    "none": "as with os_crash_unsafe: less than a write there is not",
}


class Files(InProcessSystem):
    """See the module."""

    kind = "files"
    driver = "files"
    about = (
        "plain files in the scratch directory, read and written by the load engine; `options` are"
        " those of the driver"
    )

    def find(self, basedir: str | None, host: Host = LOCAL) -> Binaries:
        if basedir:
            raise DynoError("files: `basedir:` has no meaning", fix="remove it")
        # The kernel is what file systems are made of.
        return Binaries(f"{platform.system()} {platform.release()}", host=host)

    def resolve(self, target: TargetPlan) -> Resolved:
        portable_options.check_words(target)
        _refuse_what_means_nothing(target)
        options = {**DEFAULTS, **target.options}
        said: list[Word] = []
        if target.durability is not None:
            word = f"durability: {target.durability}"
            wanted = {"sync": "dsync" if target.durability == "full" else "none"}
            if options["method"] == "mmap" and target.durability == "full":
                raise DynoError(
                    f"files: `{word}` contradicts `method: mmap`",
                    cause="writes to mapped memory wait for nothing",
                    fix="use `method: pread`, or `sync_every: 1` of the workload",
                )
            chosen = {name: str(value) for name, value in target.options.items()}
            portable_options.merge(self.kind, word, wanted, chosen)
            options.update(wanted)
            said.append(Word(word, wanted, NOTES[target.durability]))
        settings = {name: portable_options.text(value) for name, value in options.items()}
        return Resolved(settings=settings, session_sql=(), words=tuple(said))

    def place_template(
        self, binaries: Binaries, template: Path, directory: Path, copy: Copy
    ) -> None:
        raise _no_statements()

    def start(
        self, binaries: Binaries, directory: Path, resolved: Resolved, cpus: Sequence[int]
    ) -> Server:
        server = FilesServer(directory, resolved, binaries.version)
        if resolved.settings["direct"] == "ON" and not server.has_direct_io:
            raise DynoError(
                f"files: the file system of {directory} has no direct I/O",
                cause=f"it is {mount_of(directory).kind}",
                fix="remove `direct: true`, or name another directory with --scratch",
            )
        return server


class FilesServer(InProcess):
    """An in-process server over a directory: a schema is a directory below it."""

    def __init__(self, directory: Path, resolved: Resolved, version: str) -> None:
        super().__init__(directory, version)
        self._resolved = resolved
        self.has_direct_io = _takes_direct_io(directory)

    def engine_target(
        self, target: TargetPlan, resolved: Resolved, database: str
    ) -> dict[str, Any]:
        durable = {name: value for word in resolved.words for name, value in word.settings.items()}
        address = {"file": str(self._path(database))}
        return engine_target(target, Files.driver, address, database, options=durable)

    def create_schema(self, database: str) -> None:
        path = self._path(database)
        try:
            path.mkdir(mode=0o700)
        except FileExistsError:
            raise DynoError(
                f"{path} exists already", fix="move it away, or choose another directory"
            ) from None

    def schemas(self) -> list[str]:
        return sorted(path.name for path in self.directory.iterdir() if path.is_dir())

    def importer(self, database: str, host: Host) -> Importer:
        raise _no_statements()

    def run(self, database: str, statements: Sequence[str]) -> list[tuple[Any, ...]]:
        raise _no_statements()

    def settings(self) -> dict[str, str]:
        """How files are opened, and what they lie on."""
        mount = mount_of(self.directory)
        return {
            **self._resolved.settings,
            "filesystem": mount.kind,
            "device": mount.source,
            "mount_options": mount.options,
            "direct_io": "yes" if self.has_direct_io else "no",
        }

    def explain(self, database: str, sql: str) -> str:
        raise _no_statements()

    def _path(self, database: str) -> Path:
        return self.directory / schema_name(database)


def _refuse_what_means_nothing(target: TargetPlan) -> None:
    asked = {
        "config": (target.config, "use `options: {direct: true}`"),
        "isolation": (target.isolation, "files have no transactions: remove it"),
        "memory": (target.memory_bytes, "the page cache is the kernel's: remove it"),
        "session": (target.session, "files answer no statements: remove it"),
        "transport: socket": (target.transport == "socket", "remove it"),
    }
    for word, (value, fix) in asked.items():
        if value:
            raise DynoError(f"files: `{word}` has no meaning", fix=fix)


def _takes_direct_io(directory: Path) -> bool:
    """Whether its file system opens files with O_DIRECT: tried on one that has no name."""
    try:
        os.close(os.open(directory, os.O_TMPFILE | os.O_DIRECT | os.O_RDWR, 0o600))
    except OSError:
        return False
    return True


def _no_statements() -> DynoError:
    return DynoError(
        "files answer no statements",
        cause="a directory of files has no tables",
        fix="use `kind: io` as the workload",
    )


SYSTEM = Files()
