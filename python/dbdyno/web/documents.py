"""Digests below a directory: JSON documents that `dyno digest --json` has saved."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from dbdyno import diskfiles
from dbdyno.share.below import DEPTH_MAX
from dbdyno.store.catalogue import identity
from dbdyno.store.manifest import MANIFEST
from dbdyno.store.owner import is_own

FILES_MAX = 1_000
HEAD_BYTES = 4096
MARKS = (b'"schema_version"', b'"group_by"')  # in the head of a digest, and of nothing else


@dataclass(frozen=True)
class Saved:
    """A file that looks like a digest. `name`: its path from the directory, for people."""

    id: str
    name: str
    path: Path
    size_bytes: int
    saved_unix_s: float

    @property
    def stamp(self) -> str:
        """What changes with the file."""
        return f"{self.saved_unix_s}:{self.size_bytes}"


def below(directory: Path) -> list[Saved]:
    """Digests below a directory, the newest first. Runs, hidden names and links are not looked
    into; as root, files of other accounts are not parsed here."""
    found = []
    for entry in _files(directory, DEPTH_MAX):
        path = Path(entry.path)
        if (os.geteuid() != 0 or is_own(path)) and _is_digest(path):
            name = path.relative_to(directory).as_posix()
            facts = entry.stat(follow_symlinks=False)
            found.append(Saved(identity(name), name, path, facts.st_size, facts.st_mtime))
            if len(found) == FILES_MAX:
                break
    return sorted(found, key=lambda one: -one.saved_unix_s)


def _files(directory: Path, depth: int) -> Iterator[os.DirEntry[str]]:
    try:
        entries = list(os.scandir(directory))
    except OSError:
        return
    if any(entry.name == MANIFEST for entry in entries):
        return
    for entry in sorted(entries, key=lambda entry: entry.name):
        if entry.name.startswith(".") or entry.is_symlink():
            continue
        if entry.is_dir() and depth:
            yield from _files(Path(entry.path), depth - 1)
        elif entry.name.endswith(".json") and entry.is_file():
            yield entry


def _is_digest(path: Path) -> bool:
    try:
        with diskfiles.opened(path) as file:
            head = file.read(HEAD_BYTES)
    except OSError:
        return False
    return all(mark in head for mark in MARKS)
