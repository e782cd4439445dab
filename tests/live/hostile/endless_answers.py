"""Servers that let everybody in, and whose answers have no end: the ways of a protocol are a class,
each a small method.

Sources: MySQL's client/server protocol, "Text Resultset"; PostgreSQL's manual, "Message Formats".
"""

from __future__ import annotations

import struct
import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import cycle, repeat
from typing import NoReturn

from tools.attack.servers import mysql, postgres
from tools.attack.servers.listening import Peer

ROW = b"x" * 4000
PIECE = b"x" * (1 << 20)


def _go_on(peer: Peer, pieces: Iterator[bytes]) -> NoReturn:
    """Sends until the client hangs up, which raises."""
    for piece in pieces:
        peer.send(piece)
    raise AssertionError("there is always more")


def _drip(peer: Peer) -> NoReturn:
    """A byte a second."""
    while True:
        peer.send(b"x")
        time.sleep(1)


class Mysql(mysql.Line):
    """Each answer in one of these ways."""

    def endless_rows(self) -> None:
        self._begin_rows()
        self._repeat(b"\xfc" + struct.pack("<H", len(ROW)) + ROW)

    def endless_row(self) -> None:
        """Each packet says that the row goes on in the next."""
        self._begin_rows()
        full = (b"x" * (1 << 24))[:-1]
        while True:
            self.say(full)

    def endless_columns(self) -> None:
        self.say(b"\xfc\xff\xff")
        while True:
            self.say(PIECE[:-16])

    def endless_results(self) -> None:
        self._repeat(b"\x00\x00\x00\x08\x00\x00\x00")  # OK, and another follows

    def drip(self) -> None:
        self._begin_rows()
        self.peer.send(struct.pack("<I", 60_000)[:3] + bytes([self._sequence]))
        _drip(self.peer)

    def silence(self) -> None:
        self.peer.wait_for_the_end()

    def _begin_rows(self) -> None:
        self.say(b"\x01")
        self.say(b"\x03def\0\0\0\x01c\0\x0c\x2d\0\xff\0\0\0\xfd\0\0\0\0\0")
        self.say(b"\xfe\0\0\x02\0")

    def _repeat(self, payload: bytes) -> NoReturn:
        """A packet over and over."""
        head = struct.pack("<I", len(payload))[:3]
        numbers = [(self._sequence + number) % 256 for number in range(256)]
        packets = [head + bytes([number]) + payload for number in numbers]
        _go_on(self.peer, repeat(b"".join(packets)))


class Postgres(postgres.Line):
    """Each answer in one of these ways."""

    def endless_rows(self) -> None:
        self._message(b"T", b"\0\x01c\0" + bytes(18))
        self._repeat(b"D", b"\0\x01" + struct.pack("!i", len(ROW)) + ROW)

    def endless_row(self) -> None:
        """As long as one can be, then another."""
        self._message(b"T", b"\0\x01c\0" + bytes(18))
        size = 1 << 30
        body = [*repeat(PIECE, size // len(PIECE) - 1), PIECE[:-4]]
        _go_on(self.peer, cycle([b"D" + struct.pack("!i", size), *body]))

    def endless_columns(self) -> None:
        self._repeat(b"T", PIECE[:-16])

    def endless_notices(self) -> None:
        self._repeat(b"N", b"SNOTICE\0VNOTICE\0C00000\0M" + ROW + b"\0\0")

    def endless_results(self) -> None:
        self._repeat(b"C", b"SELECT 0\0")

    def drip(self) -> None:
        self._message(b"T", b"\0\x01c\0" + bytes(18))
        self.peer.send(b"D" + struct.pack("!i", 60_000))
        _drip(self.peer)

    def silence(self) -> None:
        self.peer.wait_for_the_end()

    def _message(self, tag: bytes, body: bytes) -> None:
        self.peer.send(tag + struct.pack("!i", len(body) + 4) + body)

    def _repeat(self, tag: bytes, body: bytes) -> NoReturn:
        """A message over and over."""
        message = tag + struct.pack("!i", len(body) + 4) + body
        _go_on(self.peer, repeat(message * (1 + len(PIECE) // len(message))))


def _mysql(mode: Callable[[Mysql], None], peer: Peer) -> None:
    line = Mysql(peer)
    line.greet("mysql_native_password")
    line.say(bytes.fromhex("00000002000000"))
    while line.hear() != b"\x01":  # COM_QUIT
        mode(line)


def _postgres(mode: Callable[[Postgres], None], peer: Peer) -> None:
    line = Postgres(peer)
    line.open()
    line.let_in()
    while line.hear():
        mode(line)


# Protocol -> what a server's answers are -> who serves one client so.
MODES: dict[str, dict[str, Callable[[Peer], None]]] = {
    "mysql": {
        mode.__name__: partial(_mysql, mode)
        for mode in (
            Mysql.endless_rows,
            Mysql.endless_row,
            Mysql.endless_columns,
            Mysql.endless_results,
            Mysql.drip,
            Mysql.silence,
        )
    },
    "postgres": {
        mode.__name__: partial(_postgres, mode)
        for mode in (
            Postgres.endless_rows,
            Postgres.endless_row,
            Postgres.endless_columns,
            Postgres.endless_notices,
            Postgres.endless_results,
            Postgres.drip,
            Postgres.silence,
        )
    },
}
