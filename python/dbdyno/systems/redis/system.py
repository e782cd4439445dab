"""Redis, and Valkey, which is a fork of Redis 7.2: the same settings, commands and files.

Durability follows the documentation's page "Redis persistence": without the append-only file writes
are lost when the process dies, with `appendfsync no` or `everysec` when the operating system does.
A trial starts from a stopped directory: its append-only file where that is on, else its dump.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from dbdyno.errors import DynoError
from dbdyno.hosts import LOCAL
from dbdyno.hosts.base import Host
from dbdyno.systems.base import Binaries, Copy, Resolved, TargetPlan
from dbdyno.systems.process.account import (
    account_for,
    check_reachable,
    private_directory,
    private_file,
    version_of,
)
from dbdyno.systems.process.managed import Command, Make, ManagedSystem, Started
from dbdyno.systems.process.paths import (
    LOOPBACK,
    free_port,
    in_prefixes,
    program,
)
from dbdyno.systems.redis import settings
from dbdyno.systems.redis.managed import RedisServer

RESERVED = settings.RESERVED
PROGRAMS = ("redis-server", "valkey-server")


class Redis(ManagedSystem):
    """See the module."""

    kind = "redis"
    account = "redis"
    initialised = "data"
    driver = "redis"
    about = "Redis or Valkey, managed, from a package or from `basedir:`"

    def find(self, basedir: str | None, host: Host = LOCAL) -> Binaries:
        """Redis before Valkey where both are; `basedir` may also be the program itself."""
        found = (_program(name, basedir) for name in PROGRAMS)
        server = next(filter(None, found), None)
        if server is None:
            raise DynoError(
                f"no Redis or Valkey server found{f' under {basedir}' if basedir else ''}",
                cause="`basedir:` is not its prefix" if basedir else "it is not installed",
                fix="run `make servers`, or `apt-get install redis-server`, or set `basedir:`",
            )
        said = version_of(host, server, self.account, r"((?:Redis|Valkey) server v=\S+)")
        return Binaries(said.replace("server v=", ""), {"server": server}, host)

    def installations(self) -> Sequence[str]:
        found = (Path("/usr"), *in_prefixes(self.kind), *in_prefixes("valkey"))
        programs = (path / "bin" / name for path in found for name in PROGRAMS)
        return [str(each) for each in programs if each.is_file()]

    def resolve(self, target: TargetPlan) -> Resolved:
        return settings.resolve(target)

    def prepare(self, binaries: Binaries, directory: Path, resolved: Resolved) -> None:
        account = account_for("redis")
        private_directory(directory, account)
        check_reachable(directory / "data", account)
        check_reachable(binaries.paths["server"], account)
        private_directory(directory / "data", account)

    def place_template(
        self, binaries: Binaries, template: Path, directory: Path, copy: Copy
    ) -> None:
        raise DynoError(
            "Redis is not started from a template",
            fix="remove `setup:`: the workload loads its own records",
        )

    def configured(self, started: Started, resolved: Resolved) -> tuple[Command, Make]:
        """See `ManagedSystem.configured`."""
        directory, account = started.directory, started.account
        tls_port = started.more_ports.setdefault("tls", free_port())
        pem = started.certificate.write(directory, account)
        own = {
            "bind": LOOPBACK,
            "port": str(started.port),
            "tls_port": str(tls_port),
            "tls_cert_file": str(pem["cert"]),
            "tls_key_file": str(pem["key"]),
            "tls_ca_cert_file": str(pem["ca"]),
            "tls_auth_clients": "no",
            "unixsocket": str(started.sockets / RedisServer.socket_name(started.port)),
            "unixsocketperm": "700",
            "requirepass": started.password,
            "masterauth": started.password,  # all nodes of a topology have one
            "dir": str(directory / "data"),
            "daemonize": "no",
            "logfile": "",
            # A line each time that it forks, at most.
            "loglevel": "notice",
        }
        text = settings.configuration(
            {**own, **resolved.settings, **resolved.node_settings, **started.node.settings}
        )
        path = private_file(directory / "server.conf", text, account)
        return [started.binaries.paths["server"], path], partial(RedisServer, tls_port)


def _program(name: str, basedir: str | None) -> Path | None:
    """A server's program of that name, below `basedir` if there is one."""
    if basedir is None:
        return program(name, ())
    place = Path(basedir)
    if place.is_file():
        return place
    found = program(name, (place / "bin", place / "src", place))
    return found if found is not None and place in found.parents else None


SYSTEM = Redis()
