"""Whether redo logs and binary logs are encrypted, from their own headers.

Sources: MySQL's log0constants.h (a block of 512 bytes has its length in bytes 4 and 5, whose
highest bit says that the block is encrypted) and its manual on binary log encryption; MariaDB's
pages on the format of the redo log and on the event Start_encryption.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import IO

ENCRYPTED, PLAIN, EMPTY, UNKNOWN = "encrypted", "plain", "empty", "not known"
_BLOCK = 512
_BLOCKS_AT = 2048  # after the header and two checkpoints
_BLOCKS_BYTES = 4 << 20  # of a redo log of MySQL that are read
# Formats of MariaDB's redo log. Until 10.7 the highest bit says that it is encrypted; since 10.8 a
# key follows the creator's name; encrypted ones of 10.11.15, 11.4.9 and 11.8.4 have their own.
_BY_HIGHEST_BIT = (103, 104, 0x50485953)
_BY_KEY, _ENCRYPTED_ALWAYS = 0x50687973, 0xF09F979D
_KEY_AT = 48
_START_ENCRYPTION = 164
_EVENT = struct.Struct("<IBIII")  # time, type, server, length, end


@dataclass(frozen=True)
class Header:
    """What it says, in a sentence's words, and at which byte."""

    state: str
    how: str
    offset: int = 0


def redo(file: IO[bytes]) -> Header:
    """A redo log's."""
    file.seek(0)
    head = file.read(_BLOCKS_AT)
    if not head.strip(b"\0"):
        return Header(EMPTY, "never written")
    form = int.from_bytes(head[:4], "big")
    if form == _BY_KEY:
        key = int.from_bytes(head[_KEY_AT : _KEY_AT + 4], "big")
        return _of_mariadb(form, key != 0, f"key {key} at byte {_KEY_AT}" if key else "no key")
    if form == _ENCRYPTED_ALWAYS or form & 0x7FFFFFFF in _BY_HIGHEST_BIT:
        return _of_mariadb(form, form > 0x7FFFFFFF, "")
    return _blocks(file.read(_BLOCKS_BYTES))


def _of_mariadb(form: int, is_encrypted: bool, key: str) -> Header:
    how = f"format {form:#010x}{f' with {key}' if key else ''}"
    return Header(ENCRYPTED if is_encrypted else PLAIN, how)


def _blocks(raw: bytes) -> Header:
    """MySQL's: the log becomes encrypted from one block on."""
    encrypted, plain, at = 0, 0, 0
    for start in range(0, len(raw) - _BLOCK + 1, _BLOCK):
        length = int.from_bytes(raw[start + 4 : start + 6], "big")
        if raw[start : start + 4] == b"\0\0\0\0" or not 0 < length & 0x7FFF <= _BLOCK:
            continue  # never written
        if length & 0x8000:
            encrypted += 1
        else:
            at = at if plain else _BLOCKS_AT + start
            plain += 1
    if plain:
        return Header(PLAIN, f"{plain:,} of {plain + encrypted:,} blocks are not encrypted", at)
    if encrypted:
        return Header(ENCRYPTED, f"all of {encrypted:,} blocks are encrypted", _BLOCKS_AT)
    return Header(EMPTY, "no block was written")


def binlog(file: IO[bytes]) -> Header:
    """A binary or relay log's."""
    file.seek(0)
    head = file.read(4 + _EVENT.size)
    if head[:4] == b"\xfdbin":
        return Header(ENCRYPTED, "it begins with fd 62 69 6e, as encrypted ones do")
    if head[:4] != b"\xfebin" or len(head) < 4 + _EVENT.size:
        return Header(UNKNOWN, "it has no header of a binary log")
    length = _EVENT.unpack(head[4:])[3]
    file.seek(4 + length)
    second = file.read(_EVENT.size)
    if len(second) == _EVENT.size and _EVENT.unpack(second)[1] == _START_ENCRYPTION:
        return Header(ENCRYPTED, "its second event starts the encryption", 4 + length)
    return Header(PLAIN, "it begins with fe 62 69 6e, and no event starts an encryption")
