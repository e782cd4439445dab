"""Table `at_rest`: the files of a data directory, by class, and whether each is encrypted.

Headers say it, and samples of the content confirm or contradict them. Files are read, at most
256 KiB of each besides what `tablespaces` and `headers` bound, and never written; a running server
goes on.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from dbdyno import diskfiles
from dbdyno.facts.at_rest import classes, disk, entropy, headers, tablespaces
from dbdyno.facts.at_rest.entropy import Sampled
from dbdyno.facts.at_rest.headers import EMPTY, ENCRYPTED, PLAIN, UNKNOWN, Header
from dbdyno.facts.gathered import Gathered

TABLE, DISK = "at_rest", "host.disk_encryption"
_HEAD = 64
_NOT_INNODB = (".MAD", ".MYD", ".CSV", ".ARZ")
_PAGE_BYTES_MAX = 64 << 10
_REDO_BYTES = entropy.WINDOW * entropy.WINDOWS_MAX  # its beginning: the rest may be unused


@dataclass(frozen=True)
class Seen:
    """A file that holds data. `samples` of InnoDB's begin after the first page, which never is
    encrypted."""

    path: Path
    of: str
    size: int
    header: Header | None
    samples: Sampled


class AtRest:
    """The files, and what the engine's events say of InnoDB's among them. `innodb`: bytes by
    path."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self.lacking: list[str] = []
        self.seen = list(_seen(directory, self.lacking))
        self.innodb = {one.path: one.size for one in self.seen if _is_innodb(one)}
        self._pages: dict[Path, Header] = {}

    def add(self, event: Mapping[str, Any]) -> None:
        """An event of the engine."""
        told = event.get("tablespace")
        if told and (path := Path(told["path"])) in self.innodb:
            self._pages[path] = tablespaces.header(told)

    def put(self, found: Gathered) -> None:
        """The table, and the fact of the disk."""
        if self.lacking:
            found.lacks("files", "; ".join(self.lacking)[:500])
        rows = [_row(one, self._pages) for one in self.seen]
        found.table(TABLE, rows, f"files of {self._directory}")
        try:
            kind, how = disk.encryption(self._directory)
        except OSError as error:
            found.lacks(DISK, str(error.strerror))
        else:
            found.add(DISK, kind, how)


def _is_innodb(one: Seen) -> bool:
    return one.of in classes.TABLESPACES and one.path.suffix not in _NOT_INNODB


def _seen(directory: Path, lacking: list[str]) -> Iterator[Seen]:
    for number, path in enumerate(classes.files(directory, lacking)):
        if number >= classes.FILES_MAX:
            lacking.append(f"files after the first {classes.FILES_MAX:,}")
            return
        try:
            with diskfiles.opened(path) as file:
                if one := _one(path, file):
                    yield one
        except OSError as error:
            lacking.append(f"{path}: {error.strerror}")


def _one(path: Path, file: IO[bytes]) -> Seen | None:
    kind = classes.of(path, file.read(_HEAD))
    if kind is None:
        return None
    size = file.seek(0, 2)
    header = None
    if kind == classes.REDO:
        header = headers.redo(file)
    elif kind == classes.BINLOG:
        header = headers.binlog(file)
    begin = _PAGE_BYTES_MAX if kind in classes.TABLESPACES else 0
    end = min(size, _REDO_BYTES) if kind == classes.REDO else size
    return Seen(path, kind, size, header, entropy.sample(file, end, begin))


def _row(one: Seen, pages: Mapping[Path, Header]) -> dict[str, Any]:
    header = one.header or pages.get(one.path)
    state, how, offset = _state(one, header)
    return {
        "class": one.of,
        "path": str(one.path),
        "bytes": one.size,
        "state": state,
        "how": how,
        "place": f"{one.path} at byte {offset}",
    }


def _state(one: Seen, header: Header | None) -> tuple[str, str, int]:
    """By the header, else by the samples. A header of an encrypted file is contradicted by samples
    that are readable."""
    samples = one.samples
    total = samples.random + samples.readable
    told = f"{samples.readable} of {total} samples are readable"
    if header is not None:
        if header.state == ENCRYPTED and samples.readable > max(1, total // 10):
            return UNKNOWN, f"{header.how}; but {told}", samples.readable_at or 0
        return header.state, f"{header.how}; {told}" if total else header.how, header.offset
    if samples.readable:
        return PLAIN, told, samples.readable_at or 0
    if total:
        return UNKNOWN, f"{told}: encrypted or compressed", 0
    return EMPTY, "too few bytes are written to tell", 0
