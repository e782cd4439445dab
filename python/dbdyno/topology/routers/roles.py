"""Answers health checks: one small HTTP server for each node on loopback, which says 200 while the
node takes writes, and 503 while it does not. Patroni's REST API and scripts for xinetd do the same
next to each server.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler
from socketserver import ThreadingTCPServer

from dbdyno.systems.process.paths import LOOPBACK

POLL_S = 0.1
REQUEST_TIMEOUT_S = 5.0  # of a connection that sends nothing


class _Answers(ThreadingTCPServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """A router that gives a check up, or ends, closes the connection amid an answer. The
        standard library's own would print a traceback."""


class RoleServer:
    """See the module; `close` ends it."""

    def __init__(self, takes_writes: Callable[[], bool]) -> None:
        """`takes_writes` is called for each check, by threads of its own."""

        class Handler(BaseHTTPRequestHandler):
            timeout = REQUEST_TIMEOUT_S

            def do_OPTIONS(self) -> None:
                self.send_response(200 if takes_writes() else 503)
                self.send_header("Content-Length", "0")
                self.end_headers()

            do_GET = do_HEAD = do_OPTIONS

            def log_message(self, format: str, *args: object) -> None:
                return

        # Not the server of `http.server`, which asks the machine for its name in DNS.
        self._server = _Answers((LOOPBACK, 0), Handler)
        self.port: int = self._server.server_address[1]
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(POLL_S,), name="roles", daemon=True
        )
        self._thread.start()

    def close(self) -> None:
        """Answers no more."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
