"""The runs below a directory: run directories at any depth, and bundles."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from dbdyno.errors import DynoError
from dbdyno.share import bundle
from dbdyno.share.opened import trusted
from dbdyno.store.catalogue import Catalogue
from dbdyno.store.manifest import MANIFEST

DEPTH_MAX = 8
RUNS_MAX = 10_000


@dataclass(frozen=True)
class Below:
    """A run that was found. `name`: its path from where the search began, for people."""

    path: Path
    name: str


def below(directory: Path) -> Iterator[Below]:
    """Runs below `directory`, sorted by path, itself included if it is one. A run's own directory
    is not searched; hidden directories and links are not followed.

    DynoError if it is no directory, or holds more than `RUNS_MAX`.
    """
    if not directory.is_dir():
        raise DynoError(
            f"{directory} is no directory",
            cause="a history is a directory with runs in it, such as runs/",
            fix="name one; `dyno run --dir DIR/NAME` writes runs there",
        )
    for number, path in enumerate(_found(directory, DEPTH_MAX)):
        if number == RUNS_MAX:
            raise DynoError(
                f"{directory} holds more than {RUNS_MAX:,} runs",
                cause="it is not a directory of one project's runs",
                fix="name one further down",
            )
        name = path.relative_to(directory).as_posix()
        yield Below(path, directory.name if name == "." else name)


def bring_up_to_date(catalogue: Catalogue, directory: Path) -> None:
    """Has the catalogue of a directory list its present runs. DynoError as `below`."""
    catalogue.refresh(((one.name, one.path) for one in below(directory)), trusted)


def _found(directory: Path, depth: int) -> Iterator[Path]:
    if (directory / MANIFEST).is_file():
        yield directory
        return
    try:
        entries = sorted(os.scandir(directory), key=lambda entry: entry.name)
    except OSError as error:
        raise DynoError(
            f"cannot read {directory}: {error.strerror or error}",
            cause="its permissions",
            fix="make it readable, or name another directory",
        ) from None
    for entry in entries:
        if entry.name.startswith(".") or entry.is_symlink():
            continue
        path = Path(entry.path)
        if entry.is_dir():
            if depth:
                yield from _found(path, depth - 1)
        elif bundle.is_bundle(path):
            yield path
