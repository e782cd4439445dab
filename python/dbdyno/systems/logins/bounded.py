"""Sockets that read no more than one answer may hold, within the time that it may take.

A server answers with as many rows as it likes, as slowly as it likes: a read timeout alone lets it
send a byte a second for ever. What is sent begins a new answer, so the client libraries need no
change. Sources: Python's `socket` and `ssl` (`SSLContext.sslsocket_class`).
"""

from __future__ import annotations

import socket
import ssl
import time
from typing import Any

from dbdyno.errors import DynoError
from dbdyno.systems.logins.policy import ANSWER_BYTES_MAX, ANSWER_ROWS_MAX


class Bounds:
    """What is left of one answer. `timeout_s`: for the whole of it."""

    def __init__(self, place: str, timeout_s: float) -> None:
        self.place = place
        self.timeout_s = timeout_s
        self.begin()

    def begin(self) -> None:
        """Something was asked."""
        self._bytes = ANSWER_BYTES_MAX
        self._rows = ANSWER_ROWS_MAX
        self._end = time.monotonic() + self.timeout_s

    def seconds(self) -> float:
        """How long a read may wait. TimeoutError: the answer has taken all its time."""
        left = self._end - time.monotonic()
        if left <= 0:
            raise TimeoutError(f"no whole answer within {self.timeout_s:g} s")  # shown: no errno
        return left

    def count(self, size: int) -> None:
        """DynoError for more bytes than an answer may have."""
        self._bytes -= size
        if self._bytes < 0:
            raise self._endless(f"{ANSWER_BYTES_MAX >> 20} MiB")

    def count_row(self) -> None:
        """DynoError for more rows than an answer may have: short ones take more memory than they
        have bytes."""
        self._rows -= 1
        if self._rows < 0:
            raise self._endless(f"{ANSWER_ROWS_MAX:,} rows")

    def _endless(self, limit: str) -> DynoError:
        return DynoError(
            f"{self.place} answers with more than {limit}, and was not heard to the end",
            cause="it is no database server, or something between changes what it says; of a "
            "statement of yours: it returns a whole table",
            fix="ask it the same with its own client",
        )


class Bounded(socket.socket):
    """Without TLS."""

    bounds: Bounds | None = None

    def recv_into(self, *args: Any, **kwargs: Any) -> int:
        if self.bounds is None:
            return super().recv_into(*args, **kwargs)
        self.settimeout(self.bounds.seconds())
        size = super().recv_into(*args, **kwargs)
        self.bounds.count(size)
        return size

    def send(self, *args: Any, **kwargs: Any) -> int:
        self._asks()
        return super().send(*args, **kwargs)

    def sendall(self, *args: Any, **kwargs: Any) -> None:
        self._asks()
        super().sendall(*args, **kwargs)

    def _asks(self) -> None:
        if self.bounds is not None:
            self.bounds.begin()
            self.settimeout(self.bounds.timeout_s)


class BoundedTls(Bounded, ssl.SSLSocket):
    """With it."""


def opened(
    bounds: Bounds, timeout_s: float, *, host: str = "", port: int = 0, path: str | None = None
) -> Bounded:
    """A connection to a Unix socket, or else by TCP. OSError."""
    if path is not None:
        plain = Bounded(socket.AF_UNIX)
        try:
            plain.settimeout(timeout_s)
            plain.connect(path)
        except BaseException:
            plain.close()
            raise
    else:
        made = socket.create_connection((host, port), timeout_s)
        plain = Bounded(made.family, made.type, made.proto, made.detach())
        plain.settimeout(timeout_s)
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        plain.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    plain.bounds = bounds
    return plain


def bind(context: ssl.SSLContext, bounds: Bounds) -> ssl.SSLContext:
    """The context, whose sockets are bounded from now on. It must be the connection's own."""
    context.sslsocket_class = type("OneBoundedTls", (BoundedTls,), {"bounds": bounds})
    return context
