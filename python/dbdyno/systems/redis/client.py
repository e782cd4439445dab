"""A connection to a Redis server for control: one command, one reply, in RESP2.

Replies are bounded, also from foreign servers. Source: Redis documentation, "Redis serialization
protocol specification".
"""

from __future__ import annotations

import socket
import ssl
from collections.abc import Sequence
from typing import Any

from dbdyno.systems.logins.policy import ANSWER_BYTES_MAX, ANSWER_ROWS_MAX

LINE_BYTES_MAX = 16 << 10
DEPTH_MAX = 8  # of arrays in arrays: `SCAN` and `CONFIG` have two
SAID_MAX = 300  # characters of a server's text that a message repeats


class RedisError(Exception):
    """The server's refusal: `args[0]` is its text, which begins with a code."""

    @property
    def code(self) -> str:
        """The first word: `NOAUTH`, `WRONGPASS`, `ERR`."""
        return str(self.args[0]).partition(" ")[0]


class NotRedis(OSError):
    """What came is no RESP, or beyond its bounds: the connection is useless."""


ERRORS = (RedisError, OSError)


class Client:
    """A connection. Replies are text, numbers, None, or lists of these."""

    def __init__(
        self,
        address: tuple[str, int] | str,
        *,
        timeout_s: float,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        """`address`: host and port, or the path of a socket. OSError if it cannot be reached."""
        if isinstance(address, str):
            stream = socket.socket(socket.AF_UNIX)
            stream.settimeout(timeout_s)
            try:
                stream.connect(address)
            except OSError:
                stream.close()
                raise
        else:
            stream = socket.create_connection(address, timeout_s)
        try:
            if tls is not None and not isinstance(address, str):
                stream = tls.wrap_socket(stream, server_hostname=address[0])
        except BaseException:
            stream.close()
            raise
        self._socket = stream
        self._file = stream.makefile("rb")

    def log_in(self, user: str, password: str, database: int = 0) -> None:
        """Gives the password, if there is one, and chooses a database. RedisError if refused."""
        if password:
            self.call("AUTH", *([user] if user else []), password)
        if database:
            self.call("SELECT", database)

    def call(self, *words: str | int) -> Any:
        """Sends a command; its reply. RedisError where the server refuses it."""
        self.send(words)
        reply = self.reply()
        if isinstance(reply, RedisError):
            raise reply
        return reply

    def send(self, words: Sequence[str | int]) -> None:
        """Sends a command whose `reply` is fetched later."""
        parts = [str(word).encode() for word in words]
        lines = b"".join(b"$%d\r\n%b\r\n" % (len(part), part) for part in parts)
        self._socket.sendall(b"*%d\r\n%b" % (len(parts), lines))

    def reply(self) -> Any:
        """The next reply; a refusal is a RedisError, not raised."""
        self._left_bytes, self._left_values = ANSWER_BYTES_MAX, ANSWER_ROWS_MAX
        return self._value(DEPTH_MAX)

    def _value(self, depth: int) -> Any:
        self._left_values -= 1
        if self._left_values < 0 or depth < 0:
            raise NotRedis("the reply has too many values")
        line = self._line()
        mark, rest = line[:1], line[1:]
        if mark == b"+":
            return _text(rest)
        if mark == b"-":
            return RedisError(_text(rest)[:SAID_MAX])
        if mark == b":":
            return _number(rest)
        if mark == b"$":
            length = _number(rest)
            return None if length == -1 else _text(self._bytes(length))
        if mark == b"*":
            count = _number(rest)
            if count > self._left_values or count < -1:
                raise NotRedis("the reply has an impossible length")
            return None if count == -1 else [self._value(depth - 1) for _ in range(count)]
        raise NotRedis("what answers is not Redis's protocol")

    def _line(self) -> bytes:
        line = self._file.readline(LINE_BYTES_MAX)
        if not line:
            raise ConnectionError("the server closed the connection")
        if not line.endswith(b"\r\n"):
            raise NotRedis("what answers is not Redis's protocol")
        self._spend(len(line))
        return line[:-2]

    def _bytes(self, length: int) -> bytes:
        if length < 0:
            raise NotRedis("the reply has an impossible length")
        self._spend(length)
        body = self._file.read(length + 2)
        if len(body) != length + 2:
            raise ConnectionError("the server closed the connection")
        if not body.endswith(b"\r\n"):
            raise NotRedis("what answers is not Redis's protocol")
        return body[:-2]

    def _spend(self, length: int) -> None:
        self._left_bytes -= length
        if self._left_bytes < 0:
            raise NotRedis(f"the reply is larger than {ANSWER_BYTES_MAX >> 20} MiB")

    def close(self) -> None:
        """Closes it; twice is no error."""
        self._file.close()
        self._socket.close()


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")


def _number(raw: bytes) -> int:
    digits = raw.removeprefix(b"-")
    if not digits.isdigit() or len(digits) > 19:
        raise NotRedis("the reply has a number that is none")
    return int(raw)
