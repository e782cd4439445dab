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
    """What `commits._read` does, after another look at the table."""
    server: Any = deployment.servers[node.name]
    if server.kind == "redis":
        rows, store = by_redis_cli(server), primary_port(server)
    else:
        sql = f"SELECT session, n, attempt FROM {identities.TABLE}"
        rows, store = server.run(deployment.database, [sql]), 0
    line = {
        "node": node.name,
        "store": store,
        "writes": takes_writes,
        "rows": [[*map(int, row)] for row in rows],
    }
    with Path(NAME).open("a") as file:
        file.write(json.dumps(line) + "\n")
    return real(deployment, node, takes_writes, restarted)


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
    """All identities of a server."""
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
