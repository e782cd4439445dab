"""`dyno` that also leaves the rows of each audit, read by one plain statement (of Redis by
redis-cli), in `rows.ndjson` of the working directory: for a recount that shares nothing with the
audit."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import hurried

from dbdyno.audit import identities
from dbdyno.audit.compare import NodeRows
from dbdyno.cli import entry
from dbdyno.execute.servers.audits import commits
from dbdyno.execute.servers.deployment import Deployment
from dbdyno.experiment.types import Node

NAME = "rows.ndjson"
real = commits._read


def spied(deployment: Deployment, node: Node, takes_writes: bool, restarted: bool) -> NodeRows:
    """What `commits._read` does, between two other looks at the table that show the same: the
    server may still carry out what the load sent last."""
    server: Any = deployment.servers[node.name]
    while True:
        rows = looked(server, deployment.database)
        store = primary_port(server) if server.kind == "redis" else 0
        found = real(deployment, node, takes_writes, restarted)
        if looked(server, deployment.database) == rows:
            break
    line = {"node": node.name, "store": store, "writes": takes_writes, "rows": rows}
    with Path(NAME).open("a") as file:
        file.write(json.dumps(line) + "\n")
    return found


def looked(server: Any, database: str) -> list[list[int]]:
    """All identities of a server, sorted."""
    if server.kind == "redis":
        rows = by_redis_cli(server)
    else:
        rows = server.run(database, [f"SELECT session, n, attempt FROM {identities.TABLE}"])
    return sorted([*map(int, row)] for row in rows)


def redis_cli(server: Any, commands: str) -> list[str]:
    """The lines that redis-cli answers to commands, one a line."""
    done = subprocess.run(
        ["redis-cli", "--no-auth-warning", "-p", str(server.port)],
        input=commands,
        env={**os.environ, "REDISCLI_AUTH": server._password},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.split()


def by_redis_cli(server: Any) -> Sequence[Sequence[str]]:
    """All of a Redis."""
    keys = redis_cli(server, "KEYS dbdyno:dbdyno_audit:*\n")
    asked = "".join(f"LRANGE {key} 0 -1\n" for key in keys)
    said = redis_cli(server, f"READONLY\n{asked}")
    return [text.split(":") for text in said if re.fullmatch(r"\d+:\d+:\d+", text)]


def primary_port(server: Any) -> int:
    """What nodes with the same data have in common."""
    facts = dict(line.partition(":")[::2] for line in redis_cli(server, "INFO replication\n"))
    return int(facts.get("master_port", server.port))


if __name__ == "__main__":
    commits._read = spied
    sys.argv[0] = "dyno"
    hurried.begin()
    entry.main()
