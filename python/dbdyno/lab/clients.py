"""How clients log in at a lab's nodes: URLs, the files that hold the password, client programs.

The password is in files of the lab's directory alone, which only its user can read, and which are
gone with the lab; no command line and no output has it.

Sources: the MySQL manual and the MariaDB knowledge base on option files; libpq's chapters on
environment variables and the password file; redis-cli's REDISCLI_AUTH.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dbdyno import kinds
from dbdyno.errors import DynoError
from dbdyno.experiment.types import CLUSTER
from dbdyno.lab import registry
from dbdyno.lab.registry import PASSWORD
from dbdyno.systems.process.paths import LOOPBACK, program
from dbdyno.topology.arbitrator import Arbitrator
from dbdyno.topology.routers import RunningRouter

PGPASS = "pgpass"
PREFIX = "DYNO_LAB_"  # of variables that `exports` sets


# How variables of the environment begin that change where a client connects, by language.
_VARIABLES = {kinds.MYSQL: "MYSQL_", kinds.POSTGRES: "PG", kinds.REDIS: "REDISCLI_"}


def login(kind: str, server: Any, found: Mapping[str, Any]) -> dict[str, Any]:
    """What clients need of a node, for the lab's record; `found` is its `engine_target`."""
    user, database, port = found["user"], found["database"], server.port
    place = f"{user}@{LOOPBACK}:{port}" if user else f"{LOOPBACK}:{port}"
    return {
        "url": f"{kinds.of(kind).schemes[0]}://{place}/{database}",
        "host": LOOPBACK,
        "port": port,
        "user": user,
        "database": database,
        "socket": str(server.socket_path),
    }


def of_router(kind: str, router: RunningRouter, node: Mapping[str, Any]) -> dict[str, Any]:
    """The same of a router, which logs clients in as any node does. It has no socket for them."""
    place = f"{node['user']}@{LOOPBACK}:{router.port}"
    return {
        **node,
        "name": router.name,
        "url": f"{kinds.of(kind).schemes[0]}://{place}/{node['database']}",
        "port": router.port,
        "socket": "",
        "log": str(router.log_path),
    }


def of_arbitrator(arbitrator: Arbitrator, node: Mapping[str, Any]) -> dict[str, Any]:
    """The same keys of an arbitrator, which no client can log in at."""
    return {
        **dict.fromkeys(node, ""),
        "name": arbitrator.name,
        "host": LOOPBACK,
        "port": arbitrator.port,
        "log": str(arbitrator.log_path),
    }


def write_secrets(
    directory: Path, kind: str, password: str, nodes: Sequence[Mapping[str, Any]]
) -> None:
    """Writes the files that clients find the password in."""
    registry.private(directory / PASSWORD, f"{password}\n")
    language = kinds.of(kind).language
    if language == kinds.POSTGRES:
        user = nodes[0]["user"]
        registry.private(directory / PGPASS, f"{LOOPBACK}:*:*:{user}:{password}\n")
    elif language == kinds.MYSQL:
        for node in filter(has_clients, nodes):
            registry.private(directory / options_name(node), _options(node, password))


def has_clients(node: Mapping[str, Any]) -> bool:
    """Whether clients can log in there."""
    return bool(node["url"])


def options_name(node: Mapping[str, Any]) -> str:
    """The option file of a node, in the lab's directory."""
    return f"{node['name']}.cnf"


def _options(node: Mapping[str, Any], password: str) -> str:
    """An option file. By the socket, which a router has none of: no network has to be trusted."""
    tcp = (f"host={LOOPBACK}", f"port={node['port']}", "protocol=TCP")
    return "\n".join(
        [
            "[client]",
            f"user={node['user']}",
            f'password="{password}"',
            *([f"socket={node['socket']}"] if node["socket"] else tcp),
            "[mysql]",
            f"database={node['database']}",
            f'prompt="{node["name"]} [\\\\d]> "',
            "",
        ]
    )


def command(
    kind: str,
    directory: Path,
    node: Mapping[str, Any],
    places: Sequence[str],
    more: Sequence[str],
    topology: str | None = None,
) -> tuple[list[str], dict[str, str]]:
    """The client's command line for a node, with the user's words behind it, and its environment.
    DynoError where the program is not installed."""
    names, language = kinds.of(kind).clients.split(), kinds.of(kind).language
    folders = [Path(place) for place in places]
    found = next((path for name in names if (path := program(name, folders))), None)
    if found is None:
        raise DynoError(
            f"the client program `{names[0]}` is not here",
            cause="it is not installed",
            fix=f"`apt-get install {kinds.of(kind).client_package}`, or use another client:"
            " `dyno lab url` says where the server listens",
        )
    kept = {k: v for k, v in os.environ.items() if not k.startswith(_VARIABLES[language])}
    if language == kinds.MYSQL:
        file = directory / options_name(node)
        return [str(found), f"--defaults-file={file}", *more], kept
    if language == kinds.POSTGRES:
        return [str(found), *more], {**kept, **_libpq(directory, node)}
    password = (directory / PASSWORD).read_text().strip()
    follows = ["-c"] * (topology == CLUSTER)  # where a node says that a key belongs to another
    words = [str(found), "-h", node["host"], "-p", str(node["port"]), *follows, *more]
    return words, {**kept, "REDISCLI_AUTH": password}


def _libpq(directory: Path, node: Mapping[str, Any]) -> dict[str, str]:
    return {
        "PGHOST": node["host"],
        "PGPORT": str(node["port"]),
        "PGUSER": node["user"],
        "PGDATABASE": node["database"],
        "PGPASSFILE": str(directory / PGPASS),
    }


def exports(kind: str, directory: Path, node: Mapping[str, Any]) -> list[str]:
    """Lines for a shell, after which dyno and the system's own client can log in. They name files:
    the password itself is in none."""
    values = {
        f"{PREFIX}URL": node["url"],
        f"{PREFIX}PASSWORD_FILE": str(directory / PASSWORD),
    }
    lines = []
    language = kinds.of(kind).language
    if language == kinds.POSTGRES:
        values |= _libpq(directory, node)
    elif language == kinds.MYSQL:
        values[f"{PREFIX}OPTIONS"] = str(directory / options_name(node))
    else:
        lines = [f'export REDISCLI_AUTH="$(cat {shlex.quote(str(directory / PASSWORD))})"']
    return [f"export {name}={shlex.quote(value)}" for name, value in values.items()] + lines
