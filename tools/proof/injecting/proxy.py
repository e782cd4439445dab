"""A TCP proxy between generator and server that can hold back all that is sent, or lose it."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress

from tools.proof.injecting import loss


class Proxy:
    """Listens on a port of its own and leads to `port` on loopback."""

    def __init__(self, port: int) -> None:
        self._server = ("127.0.0.1", port)
        self._flows = threading.Event()
        self._flows.set()
        self._ends: list[socket.socket] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        threading.Thread(target=self._accept, daemon=True).start()

    def freeze(self) -> None:
        """From now on nothing passes; nothing is lost."""
        self._flows.clear()

    def thaw(self) -> None:
        """Ends that."""
        self._flows.set()

    def lose(self) -> None:
        """From now on all packets of the connections there are get lost."""
        for end in self._ends:
            loss.lose(end)

    def restore(self) -> None:
        """Ends that."""
        for end in self._ends:
            with suppress(OSError):  # a connection made since loses nothing
                loss.restore(end)

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.create_connection(self._server)
                for end in (client, server):
                    end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self._ends += [client, server]
                for source, sink in ((client, server), (server, client)):
                    threading.Thread(target=self._pump, args=(source, sink), daemon=True).start()

    def _pump(self, source: socket.socket, sink: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                self._flows.wait()
                sink.sendall(data)
        for end in (source, sink):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
