"""`dyno` that also leaves the rows of each audit, read by one plain statement, in `rows.ndjson` of
the working directory: for a recount that shares nothing with the audit."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

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
    sql = f"SELECT session, n, attempt FROM {identities.TABLE}"
    rows: Sequence[Sequence[int]] = deployment.servers[node.name].run(deployment.database, [sql])
    line = {"node": node.name, "writes": takes_writes, "rows": [[*map(int, row)] for row in rows]}
    with Path(NAME).open("a") as file:
        file.write(json.dumps(line) + "\n")
    return real(deployment, node, takes_writes, restarted)


if __name__ == "__main__":
    commits._read = spied
    sys.argv[0] = "dyno"
    entry.main()
