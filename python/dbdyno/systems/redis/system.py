"""Redis.

Durability follows the documentation's page "Redis persistence": without the append-only file writes
are lost when the process dies, with `appendfsync no` or `everysec` when the operating system does.
A trial starts from a stopped directory: its append-only file where that is on, else its dump.
"""

from __future__ import annotations

import os
import secrets
import signal
from collections.abc import Sequence
from pathlib import Path

from dbdyno.errors import DynoError
from dbdyno.systems.base import Binaries, Copy, Resolved, Server, TargetPlan
from dbdyno.systems.certificate import Certificate
from dbdyno.systems.process import starting
from dbdyno.systems.process.account import (
    Account,
    account_for,
    check_reachable,
    private_directory,
    private_file,
    version_of,
)
from dbdyno.systems.process.guarded import Guarded
from dbdyno.systems.process.logtail import LogTail
from dbdyno.systems.process.managed import Started
from dbdyno.systems.process.paths import (
    LOOPBACK,
    free_port,
    in_prefixes,
    program,
    socket_directory,
)
from dbdyno.systems.redis import settings
from dbdyno.systems.redis.managed import RedisServer

RESERVED = settings.RESERVED


class Redis:
    """See the module."""

    kind = "redis"
    driver = "redis"
    about = "Redis, managed, from Debian's package or from `basedir:`"

    def find(self, basedir: str | None) -> Binaries:
        places = [Path(basedir) / "bin", Path(basedir) / "src", Path(basedir)] if basedir else []
        server = program("redis-server", places)
        if basedir and server and Path(basedir) not in server.parents:
            server = None
        if server is None:
            raise DynoError(
                f"no Redis server found{f' under {basedir}' if basedir else ''}",
                cause="`basedir:` is not its prefix" if basedir else "it is not installed",
                fix="run `make servers`, or `apt-get install redis-server`, or set `basedir:`",
            )
        version = version_of(server, "redis", r"v=(\S+)")
        return Binaries(f"Redis {version}", {"server": server})

    def installations(self) -> Sequence[str]:
        found = (Path("/usr"), *in_prefixes(self.kind))
        return [str(path) for path in found if (path / "bin" / "redis-server").is_file()]

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

    def start(
        self,
        binaries: Binaries,
        directory: Path,
        resolved: Resolved,
        *,
        cpus: Sequence[int],
        transport: str,
    ) -> Server:
        account = account_for("redis")
        check_reachable(directory / "data", account)
        if not (directory / "data").is_dir():
            raise DynoError(
                f"{directory} is not a directory of Redis's data",
                cause="it was not prepared, or was removed",
                fix="prepare it first",
            )
        asked = starting.asked_port(resolved.settings, self.kind)

        def launch(port: int) -> RedisServer:
            return _launch(binaries, directory, resolved, cpus, account, port)

        return starting.start(launch, resolved, asked)


def _environment() -> dict[str, str]:
    return {"PATH": os.defpath, "LC_ALL": "C", "TZ": "UTC"}


def _launch(
    binaries: Binaries,
    directory: Path,
    resolved: Resolved,
    cpus: Sequence[int],
    account: Account,
    port: int,
) -> RedisServer:
    sockets = socket_directory(account)
    certificate = Certificate.make()
    log = LogTail(directory / "server.log")
    password = secrets.token_urlsafe(24)
    tls_port = free_port()
    process = Guarded(account=account, make=[sockets], directory=directory)
    try:
        pem = certificate.write(directory, account)
        own = {
            "bind": LOOPBACK,
            "port": str(port),
            "tls_port": str(tls_port),
            "tls_cert_file": str(pem["cert"]),
            "tls_key_file": str(pem["key"]),
            "tls_ca_cert_file": str(pem["ca"]),
            "tls_auth_clients": "no",
            "unixsocket": str(sockets / "redis.sock"),
            "unixsocketperm": "700",
            "requirepass": password,
            "dir": str(directory / "data"),
            "daemonize": "no",
            "logfile": "",
            # A line each time that it forks, at most.
            "loglevel": "notice",
        }
        text = settings.configuration({**own, **resolved.settings})
        path = private_file(directory / "server.conf", text, account)
        process.launch(
            [binaries.paths["server"], path],
            environment={**_environment(), "HOME": str(directory)},
            log=log.path,
            cpus=cpus,
            stop_signal=signal.SIGTERM,
            data=directory / "data",
        )
    except BaseException:
        process.stop(0)
        raise
    socket = sockets / "redis.sock"
    return RedisServer(
        tls_port, Started(process, directory, socket, port, password, certificate, log)
    )


SYSTEM = Redis()
