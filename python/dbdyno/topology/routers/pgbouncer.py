"""PgBouncer: sessions share connections to the primary. It knows one server and nothing of roles;
who promotes another primary changes its file and has it read again, as repmgr's and Patroni's
scripts do.

Sources: PgBouncer's documentation, "pgbouncer.ini" (all settings below; SIGHUP is RELOAD, after
which connections to another server than before are closed once they are released) and
"Authentication file format" (a password in plain text serves both sides of SCRAM).
"""

from __future__ import annotations

import signal
from collections.abc import Mapping, Sequence
from pathlib import Path

from dbdyno.experiment.types import PGBOUNCER, Scalar
from dbdyno.hosts.base import Host
from dbdyno.systems.process.paths import LOOPBACK
from dbdyno.topology.routers.base import Front, Program, RouterKind, found, settings

FILE, USERS = "pgbouncer.ini", "userlist.txt"
CLIENTS_MAX = 4096
# Its default, 15 s, is how long it does not try again after a connection was refused once.
RETRY_S = 1
FREE = ("max_client_conn", "server_login_retry", "ignore_startup_parameters")


class PgBouncer(RouterKind):
    """See the module."""

    kind = PGBOUNCER
    title = "PgBouncer"
    package = "pgbouncer"
    about = "connections to the primary; after a failover RELOAD has it use the new one"
    stop_signal = signal.SIGTERM  # without waiting for sessions
    reads_again = True

    def find(self, host: Host, account: str) -> Program:
        return found(self, host, account, "pgbouncer", r"PgBouncer (\S+)")

    def files(self, front: Front) -> Mapping[str, str]:
        router = front.router
        own: dict[str, Scalar] = {
            "listen_addr": LOOPBACK,
            "listen_port": front.port,
            "unix_socket_dir": str(front.directory),
            "auth_type": "scram-sha-256",
            "auth_file": str(front.directory / USERS),
            "pool_mode": router.pool_mode,
            "default_pool_size": router.pool_size,
            "max_client_conn": CLIENTS_MAX,
            "server_login_retry": RETRY_S,
            "server_tls_sslmode": "disable",
            "client_tls_sslmode": "disable",
            "ignore_startup_parameters": "extra_float_digits",
        }
        every = settings(self.title, own, router.config, FREE)
        lines = [
            "[databases]",
            f"* = host={LOOPBACK} port={front.leading.port}",
            "[pgbouncer]",
            *(f"{name} = {_text(value)}" for name, value in every.items()),
        ]
        users = f'"{front.user}" "{front.password}"\n'
        return {FILE: "\n".join(lines) + "\n", USERS: users}

    def command(self, program: Program, front: Front) -> Sequence[str | Path]:
        return [program.path, front.directory / FILE]


def _text(value: Scalar) -> str:
    if isinstance(value, bool):
        return str(int(value))
    return "" if value is None else str(value)


ROUTER = PgBouncer()
