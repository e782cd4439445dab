"""What a trace says of itself: enough to plan with, read from its end.

Source: `engine/core/src/trace/`, which checks the rest of it when it is played.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from dbdyno import kinds
from dbdyno.errors import DynoError

MAGIC, END = b"dynotrac", b"dynotend"
VERSION = 1
HEADER_BYTES, TAIL_BYTES = 16, 20
INDEX_BYTES_MAX = 1 << 30
LANGUAGES: Mapping[int, str] = {1: kinds.MYSQL, 2: kinds.POSTGRES}


@dataclass(frozen=True)
class Facts:
    """Of a trace. `id` distinguishes it from others; `clock_s`: its times are whole multiples of
    this."""

    id: str
    language: str
    sessions: int
    sessions_at_once: int
    events: int
    length_s: float
    clock_s: float
    effects: Mapping[str, int]
    left_out: Mapping[str, int]

    def plain(self) -> dict[str, Any]:
        """As a plan holds it."""
        return asdict(self)


def is_trace(path: Path) -> bool:
    """Whether the file begins like one."""
    with path.open("rb") as file:
        return file.read(len(MAGIC)) == MAGIC


def read(path: Path) -> Facts:
    """DynoError if it is no trace, of another version, cut or damaged at its end. OSError if it
    cannot be read."""
    with path.open("rb") as file:
        header = file.read(HEADER_BYTES)
        if header[: len(MAGIC)] != MAGIC:
            raise DynoError(f"{path} is no trace", fix="`dyno digest LOG --trace FILE` makes one")
        size = file.seek(0, 2)
        if size < HEADER_BYTES + TAIL_BYTES:
            raise _damaged(path, "it is cut")
        version = struct.unpack_from("<H", header, len(MAGIC))[0]
        if version != VERSION:
            raise DynoError(
                f"{path} is a trace of version {version}, and this dyno reads {VERSION}",
                fix="make it again from its log",
            )
        file.seek(size - TAIL_BYTES)
        sum_, length, end = struct.unpack("<IQ8s", file.read(TAIL_BYTES))
        if end != END:
            raise _damaged(path, "it has no end: was its writing broken off, or its copying?")
        if length > min(size - HEADER_BYTES - TAIL_BYTES, INDEX_BYTES_MAX):
            raise _damaged(path, "its index is longer than itself")
        file.seek(size - TAIL_BYTES - length)
        index = file.read(length)
    if zlib.crc32(index) != sum_:
        raise _damaged(path, "its index")
    return _facts(index, f"{sum_:08x}-{size}", LANGUAGES.get(header[10], "unknown"))


def _facts(index: bytes, id_: str, language: str) -> Facts:
    length = at = shift = 0
    while True:  # a LEB128 number
        byte = index[at]
        length |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            break
    meta = json.loads(index[at : at + length])
    return Facts(
        id=id_,
        language=language,
        sessions=meta["sessions"],
        sessions_at_once=meta["sessions_at_once"],
        events=meta["events"],
        length_s=meta["length_ns"] / 1e9,
        clock_s=meta["clock_ns"] / 1e9,
        effects=meta["effects"],
        left_out=meta["left_out"],
    )


def _damaged(path: Path, what: str) -> DynoError:
    return DynoError(f"the trace {path} is damaged: {what}", fix="make it again from its log")
