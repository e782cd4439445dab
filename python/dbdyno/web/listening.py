"""The socket, and the server behind it."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Callable
from pathlib import Path

import uvicorn

from dbdyno.errors import DynoError
from dbdyno.web import app
from dbdyno.web.security import Access

GRACE_S = 2  # for pages that are being drawn when the server ends
CONNECTIONS_MAX = 200


def bind(host: str, port: int) -> socket.socket:
    """A socket that listens. DynoError if it cannot."""
    try:
        family, _, _, _, place = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        bound = socket.socket(family, socket.SOCK_STREAM)
        try:
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            bound.bind(place)
            bound.listen()
        except OSError:
            bound.close()
            raise
        return bound
    except OSError as error:
        raise DynoError(
            f"cannot listen on {host}:{port}: {error.strerror or error}",
            cause="another process listens there, the port needs rights, or the host is not ours",
            fix="name another one with --port; 0 takes any free one",
        ) from None


def is_loopback(bound: socket.socket) -> bool:
    """Whether only this machine can connect."""
    return ipaddress.ip_address(bound.getsockname()[0]).is_loopback


def serve(
    directory: Path,
    access: Access,
    bound: socket.socket,
    ready: Callable[[], None],
    *,
    read_only: bool,
) -> None:
    """Serves until SIGINT or SIGTERM; `ready` is called once the catalogue is up to date."""
    made, site = app.create(directory, access, read_only=read_only)
    config = uvicorn.Config(
        made,
        log_level="warning",
        access_log=False,  # its lines would hold the token
        server_header=False,
        proxy_headers=False,
        lifespan="off",
        ws="none",
        limit_concurrency=CONNECTIONS_MAX,
        timeout_graceful_shutdown=GRACE_S,
    )
    try:
        site.catalogue()
        ready()
        uvicorn.Server(config).run(sockets=[bound])
    finally:
        bound.close()
        site.close()
