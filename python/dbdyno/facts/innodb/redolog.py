"""The head of InnoDB's redo log: whose server wrote it, and an LSN that no page can exceed.

A page is written after the redo log of its changes, so its LSN is at most that of the log's end.
The end itself is found by parsing records; a bound needs the head alone: the log is circular, so
its end is at most its size behind the last checkpoint. Sources: MariaDB's and MySQL's log0log.h
and log0constants.h (the layout of the head), the MySQL manual, "Redo Log".

| log | LSN | place |
|---|---|---|
| MariaDB since 10.8 (`Phys`) | two checkpoints | bytes 4096 and 8192 of `ib_logfile0` |
| older, MySQL before 8.0.30 | two checkpoints | bytes 520 and 1544 of `ib_logfile0` |
| MySQL since 8.0.30 | first LSN of each file | byte 8 of `#innodb_redo/#ib_redoN` |
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from dbdyno.facts.fact import Version, version_of

HEAD_BYTES = 8192 + 8
_CREATOR = slice(16, 48)
_FIRST_LSN = 8
_CIRCULAR = (520, 1544)
_CIRCULAR_10_8 = (4096, 8192)


@dataclass(frozen=True)
class RedoLog:
    """`most_lsn`: no page that this server wrote has a higher one. `engine`: empty if the log does
    not name it."""

    place: str
    most_lsn: int
    engine: str
    version: Version


def read(directory: Path) -> RedoLog | None:
    """Of a data directory; None if there is no log in it. OSError if it cannot be read."""
    new = sorted(directory.joinpath("#innodb_redo").glob("#ib_redo*[0-9]"))
    old = sorted(directory.glob("ib_logfile[0-9]*"))
    if not (new or old):
        return None
    heads = [(_head(path), path.stat().st_size) for path in new or old]
    most = _first_of_files(heads) if new else _checkpoints(heads)
    creator = heads[0][0][_CREATOR].split(b"\0")[0].decode("ascii", "replace")
    engine = next((one for one in ("mariadb", "mysql") if creator.lower().startswith(one)), "")
    return RedoLog(str((new or old)[0]), most, engine, version_of(creator) if engine else ())


def _head(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(HEAD_BYTES).ljust(HEAD_BYTES, b"\0")


def _first_of_files(heads: Sequence[tuple[bytes, int]]) -> int:
    return max(_number(head, _FIRST_LSN) + size for head, size in heads)


def _checkpoints(heads: Sequence[tuple[bytes, int]]) -> int:
    first = heads[0][0]
    places = _CIRCULAR_10_8 if first[:4] == b"Phys" else _CIRCULAR
    return max(_number(first, at) for at in places) + sum(size for _, size in heads)


def _number(data: bytes, at: int) -> int:
    return int.from_bytes(data[at : at + 8], "big")
