"""A connection to a server that speaks MongoDB's protocol: one command, one answer.

Answers have limits, also from foreign servers. Source: the MongoDB manual, "Wire Protocol" (OP_MSG,
which 3.6 and newer understand).
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Any

from dbdyno.systems.logins.bounded import Bounded
from dbdyno.systems.logins.policy import ANSWER_BYTES_MAX
from dbdyno.systems.mongodb import bson

OP_MSG = 2013
SAID_MAX = 300  # characters of a server's text that a message repeats
UNAUTHORIZED, AUTHENTICATION_FAILED, COMMAND_NOT_FOUND = 13, 18, 59
_HEADER = struct.Struct("<iiii")  # length, number, number of what it answers, kind
_CHECKSUM, _MORE = 1, 2  # flags


class MongoError(Exception):
    """The server's refusal: `args[0]` is its text."""

    def __init__(self, text: str, code: int = 0) -> None:
        super().__init__(text)
        self.code = code


class NotMongo(OSError):
    """What came is not this protocol, or beyond its limits: the connection is useless."""


ERRORS = (MongoError, OSError)


class Client:
    """A connection over a socket that counts what it reads, which is the client's from now on."""

    def __init__(self, way: Bounded) -> None:
        self._way = way
        self._file = way.makefile("rb")
        self._number = 0

    def command(self, database: str, command: Mapping[str, Any]) -> dict[str, Any]:
        """The answer to a command, whose name is its first key. MongoError if it is refused."""
        self._number += 1
        body = b"\0\0\0\0\0" + bson.encode({**command, "$db": database})
        head = _HEADER.pack(_HEADER.size + len(body), self._number, 0, OP_MSG)
        self._way.sendall(head + body)
        answer = self._answer()
        if answer.get("ok") != 1:
            text = str(answer.get("errmsg") or answer.get("codeName") or "it gives no reason")
            code = answer.get("code")
            raise MongoError(text[:SAID_MAX], code if isinstance(code, int) else 0)
        return answer

    def _answer(self) -> dict[str, Any]:
        length, _, asked, kind = _HEADER.unpack(self._bytes(_HEADER.size))
        if kind != OP_MSG or asked != self._number or not 26 <= length <= ANSWER_BYTES_MAX:
            raise NotMongo("what answers is not MongoDB's protocol, or of before 3.6")
        body = self._bytes(length - _HEADER.size)
        flags = struct.unpack_from("<I", body)[0]
        if flags & ~_CHECKSUM & 0xFFFF or body[4]:
            raise NotMongo("what answers is not MongoDB's protocol: an unknown flag or section")
        try:
            return bson.decode(body[5:-4] if flags & _CHECKSUM else body[5:])
        except bson.NotBson as error:
            raise NotMongo(f"what answers is not MongoDB's protocol: {error}") from None

    def _bytes(self, length: int) -> bytes:
        raw = self._file.read(length)
        if len(raw) != length:
            raise ConnectionError("the server closed the connection")
        return raw

    def close(self) -> None:
        """Closes it; twice is no error."""
        self._file.close()
        self._way.close()
