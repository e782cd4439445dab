"""`python -m tools.proof.lab.contents KIND`: what all nodes of a trial hold, in `contents.json`.

Runs after a trial, as its hook, while the servers live. It finds them by their files below
DYNO_SCRATCH, and the account in the plan that the engine was given (`shim`, PROOF_LOGINS): no code
of dbdyno's is used.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pg8000.dbapi
import pymysql

DATABASE, TABLE = "dbdyno", "dbdyno_audit"
FILE = "contents.json"
LOGINS = "PROOF_LOGINS"  # variable: path of the plan
TIMEOUT_S = 60
WRITES = {
    "mariadb": "SELECT NOT @@GLOBAL.read_only",
    "mysql": "SELECT NOT @@GLOBAL.read_only",
    "postgres": "SELECT NOT pg_is_in_recovery()",
}


def nodes(scratch: Path) -> Iterator[tuple[str, int]]:
    """Names and ports of the servers below a scratch directory. One with a volume lies on that."""
    for pattern, node in (("work/*", 0), ("volumes/*/*/server", 2)):
        for file in sorted(scratch.glob(f"*/{pattern}/server.c*nf")):
            found = re.search(r"^port\s*=\s*'?(\d+)", file.read_text(), re.MULTILINE)
            if found:
                yield file.parents[node].name, int(found[1])


def connect(kind: str, port: int, login: Mapping[str, Any]) -> Any:
    """A connection of the account of the load."""
    to = {"host": "127.0.0.1", "port": port, "user": login["user"], "password": login["password"]}
    if kind == "postgres":
        return pg8000.dbapi.connect(**to, database=DATABASE, timeout=TIMEOUT_S)
    times = {"connect_timeout": TIMEOUT_S, "read_timeout": TIMEOUT_S}
    return pymysql.connect(**to, **times, database=DATABASE)


def held(kind: str, port: int, login: Mapping[str, Any]) -> dict[str, Any]:
    """What one node holds: `rows` of (session, n, attempt), `writes`; or `why` it says nothing."""
    try:
        with ExitStack() as stack:
            connection = stack.enter_context(closing(connect(kind, port, login)))
            cursor = stack.enter_context(closing(connection.cursor()))
            cursor.execute(f"SELECT session, n, attempt FROM {TABLE}")
            rows = [[int(value) for value in row] for row in cursor.fetchall()]
            cursor.execute(WRITES[kind])
            [writes] = cursor.fetchone()
    except Exception as error:  # each client library has errors of its own
        return {"why": str(error)[:300] or type(error).__name__}
    return {"rows": rows, "writes": bool(writes)}


def main() -> int:
    """0: the file is written, whatever the nodes said."""
    kind = sys.argv[1]
    logins = Path(os.environ[LOGINS])
    plan = json.loads(logins.read_text())
    logins.unlink()
    found = {
        name: held(kind, port, plan["targets"][name])
        for name, port in nodes(Path(os.environ["DYNO_SCRATCH"]))
        if name in plan["targets"]
    }
    trial = Path(os.environ["DYNO_RUN"]) / "trials" / os.environ["DYNO_TRIAL"]
    (trial / FILE).write_text(json.dumps(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
