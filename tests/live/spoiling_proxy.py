"""A TCP proxy between the engine and a real server, and spoils what passes."""

from __future__ import annotations

import random
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

SSL_REQUEST = bytes.fromhex("00000008 04d2162f")  # PostgreSQL: "do you speak TLS?"
MYSQL_SSL = 0x0800  # of a greeting's capabilities


class Proxy:
    """Listens on a port of its own. `rubbish()` turns on random answers on every connection."""

    def __init__(self, target: dict[str, Any], seed: int, tls: bool = True) -> None:
        tcp = target["address"]["tcp"]
        self._server = (tcp["host"], tcp["port"])
        self._mysql = target["driver"] == "mysql"
        self._tls = tls
        self._random = random.Random(seed)
        self._rubbish = threading.Event()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._open: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def target(self, target: dict[str, Any], **changes: Any) -> dict[str, Any]:
        """The engine's target, led through the proxy."""
        port = self._listener.getsockname()[1]
        return {**target, "address": {"tcp": {"host": "127.0.0.1", "port": port}}, **changes}

    def rubbish(self) -> None:
        """From now on servers' answers are replaced by random bytes."""
        self._rubbish.set()

    def honest(self) -> None:
        """Ends that."""
        self._rubbish.clear()

    def close(self) -> None:
        for end in (self._listener, *self._open):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.create_connection(self._server)
                self._open += [client, server]
                for source, sink, answers in ((client, server, False), (server, client, True)):
                    arguments = (source, sink, answers)
                    threading.Thread(target=self._pump, args=arguments, daemon=True).start()

    def _pump(self, source: socket.socket, sink: socket.socket, answers: bool) -> None:
        is_first = True
        with suppress(OSError):
            while data := source.recv(65536):
                if answers and self._rubbish.is_set():
                    data = self._random.randbytes(self._random.randint(1, 200))
                if is_first and not self._tls and self._mysql and answers:
                    data = without_tls(data)
                if is_first and not self._tls and data == SSL_REQUEST:
                    source.sendall(b"N")
                    continue
                is_first = False
                sink.sendall(data)
        for end in (source, sink):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)


@contextmanager
def proxy(target: dict[str, Any], seed: int = 1, tls: bool = True) -> Iterator[Proxy]:
    """A proxy; without `tls` the server seems to have none."""
    made = Proxy(target, seed, tls)
    try:
        yield made
    finally:
        made.close()


@contextmanager
def listener(answer: bytes) -> Iterator[int]:
    """The port of a server of no protocol: it sends `answer` to each client, and closes."""
    server = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        kept = []
        with suppress(OSError):
            while True:
                client, _ = server.accept()
                kept.append(client)
                client.sendall(answer)
                client.shutdown(socket.SHUT_WR)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield server.getsockname()[1]
    finally:
        with suppress(OSError):
            server.shutdown(socket.SHUT_RDWR)  # wakes the thread up
        thread.join()
        server.close()


def without_tls(greeting: bytes) -> bytes:
    """A MySQL server's greeting, less its offer of TLS: the version's end is followed by the
    connection's number (4 bytes), a nonce (8) and a zero, then the capabilities."""
    at = greeting.index(b"\0", 5) + 1 + 4 + 8 + 1
    low = int.from_bytes(greeting[at : at + 2], "little") & ~MYSQL_SSL
    return greeting[:at] + low.to_bytes(2, "little") + greeting[at + 2 :]
