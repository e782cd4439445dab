"""A server's password is nowhere that a run leaves behind or that other users can see.

The engine is replaced by a script that keeps what it is given (the plan with its password, and the
command lines of all processes at that moment) and then is the engine.
"""

from __future__ import annotations

import json
import shlex

import pytest
from private_servers import binaries
from running import Place

from dbdyno import installed

pytestmark = pytest.mark.live

EXPERIMENT = """
experiment: secrets
question: Does a password stay where it belongs?
targets:
  db: {{kind: {kind}, durability: none}}
workload: {{kind: oltp, preset: point_select, tables: 1, rows: 100}}
factors:
  db.protocol: [prepared, text]
blocks: 1
warmup: 100ms
duration: 300ms
interval: 100ms
"""
LISTENING_ENGINE = """#!/bin/sh
[ "$1" = run ] || exec {engine} "$@"
plan=$(cat)
printf '%s\\n' "$plan" >> {heard}/plans
cat /proc/[0-9]*/cmdline >> {heard}/argv 2>/dev/null
printf '%s' "$plan" | {engine} run
"""


@pytest.mark.parametrize("kind", ["mariadb", "postgres", "mysql"])
def test_a_password_reaches_no_file_of_the_run_no_argv_and_no_terminal(
    there: Place, kind: str
) -> None:
    binaries(kind)
    heard = there.path / "heard"
    heard.mkdir(mode=0o700)
    script = there.path / "engine"
    engine = shlex.quote(str(installed.find()))
    script.write_text(LISTENING_ENGINE.format(engine=engine, heard=shlex.quote(str(heard))))
    script.chmod(0o755)
    there.environment["DYNO_ENGINE"] = str(script)

    file = there.experiment(EXPERIMENT.format(kind=kind))
    done = there.dyno("run", file, "--dir", "out", "--verbose", "--json")
    assert done.returncode == 0, done.stderr

    given = [json.loads(line) for line in (heard / "plans").read_text().splitlines()]
    assert {plan["job"] for plan in given} == {"load", "run"}
    passwords = {target["password"] for plan in given for target in plan["targets"].values()}
    assert passwords
    assert all(len(password) > 20 for password in passwords)
    secrets = {password.encode() for password in passwords}
    assert leaks(secrets, (heard / "argv").read_bytes()) == 0
    assert leaks(secrets, done.stdout.encode() + done.stderr.encode()) == 0
    kept = [path for path in (there.path / "out").rglob("*") if path.is_file()]
    assert {"manifest.json", "run.log", "plan.json"} <= {path.name for path in kept}
    assert [path for path in kept if leaks(secrets, path.read_bytes())] == []

    # Meanwhile: two cells on one server each speak the protocol that they are about.
    asked = [plan["targets"]["db"]["protocol"] for plan in given if plan["job"] == "run"]
    assert sorted(asked) == ["prepared", "text"]
    assert there.until_clean() == []


def leaks(secrets: set[bytes], text: bytes) -> int:
    """How many of `secrets` are in `text`."""
    return sum(secret in text for secret in secrets)
