"""Measures what a relay does: round trips and bandwidth to an echo."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from statistics import median

from dbdyno.systems.process.paths import LOOPBACK

TIMEOUT_S = 60.0
PINGS_MIN, PINGS_MAX = 3, 20
PINGS_S = 0.3  # no further round trip begins after that
STREAM_S = 0.2  # a stream of bytes would last that long at the bandwidth that was asked for
STREAM_BYTES_MIN, STREAM_BYTES_MAX = 4096, 16 << 20


@dataclass(frozen=True)
class RoundTrips:
    """Of one byte and its echo, seconds."""

    median_s: float
    shortest_s: float


@contextlib.contextmanager
def echo() -> Iterator[int]:
    """The port of an echo on loopback, one connection after the other."""
    with socket.create_server((LOOPBACK, 0)) as listener:
        thread = threading.Thread(target=_serve, args=(listener,), daemon=True)
        thread.start()
        try:
            yield listener.getsockname()[1]
        finally:
            with contextlib.suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)  # ends the thread's accept
            thread.join(TIMEOUT_S)


def _serve(listener: socket.socket) -> None:
    while True:
        try:
            connection, _ = listener.accept()
        except OSError:
            return
        with connection, contextlib.suppress(OSError):
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            connection.settimeout(TIMEOUT_S)
            while data := connection.recv(65536):
                connection.sendall(data)


@contextlib.contextmanager
def connected(port: int) -> Iterator[socket.socket]:
    """A connection to an echo, over which a byte has come back."""
    with socket.create_connection((LOOPBACK, port), TIMEOUT_S) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        _exchange(connection, b"x")
        yield connection


def round_trips(connection: socket.socket) -> RoundTrips:
    """Round trips one after the other."""
    lengths_s: list[float] = []
    begun = time.perf_counter()
    while len(lengths_s) < PINGS_MIN or (
        len(lengths_s) < PINGS_MAX and time.perf_counter() - begun < PINGS_S
    ):
        sent = time.perf_counter()
        _exchange(connection, b"x")
        lengths_s.append(time.perf_counter() - sent)
    return RoundTrips(median(lengths_s), min(lengths_s))


def bytes_per_s(connection: socket.socket, asked: int, delay_s: float) -> float:
    """The bandwidth of a stream to the echo and back, less the delay of both ways."""
    count = min(max(int(asked * STREAM_S), STREAM_BYTES_MIN), STREAM_BYTES_MAX)
    begun = time.perf_counter()
    _exchange(connection, bytes(count))
    return count / max(time.perf_counter() - begun - 2 * delay_s, 1e-9)


def _exchange(connection: socket.socket, data: bytes) -> None:
    """Sends bytes, and receives as many, both at once: neither waits for the other's room."""
    sending = None
    if len(data) > STREAM_BYTES_MIN:
        sending = threading.Thread(target=connection.sendall, args=(data,), daemon=True)
        sending.start()
    else:
        connection.sendall(data)
    left = len(data)
    while left:
        received = len(connection.recv(min(left, 65536)))
        if not received:
            raise ConnectionResetError("the echo ended")
        left -= received
    if sending is not None:
        sending.join()
