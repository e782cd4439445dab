"""A program in the place of `dyno-engine`, which is that, and keeps the logins of the servers.

The plan of a load has the accounts of private servers, which nobody else is told. A trial's hook
takes them from a file that only this account may read, and removes it (`contents`).

With `swallow` the program's relay is a liar too: each listener swallows one in so many commits
(`engine/relay/src/swallow/`) as soon as it leads to a server. What the relay says of itself, the
number of swallowed commits included, goes to a file.
"""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[3]

PROGRAM = """#!/bin/sh
case "$1" in
run)
    umask 077
    cat > {logins}
    exec {real} "$@" < {logins} ;;
{relay}
*)
    exec {real} "$@" ;;
esac
"""
LYING = """relay)
    export PYTHONPATH={root}
    exec {words} "$@" ;;
"""


def engine(
    real: Path, path: Path, logins: Path, swallow: Mapping[str, Any] | None, log: Path
) -> Path:
    """Writes the program to `path`. `swallow`: see `dbdyno.systems.process.relay.Swallow`; None:
    the relay is honest."""
    this = [sys.executable, "-m", __name__, str(real), json.dumps(swallow), str(log)]
    words = " ".join(map(shlex.quote, this))
    relay = LYING.format(root=shlex.quote(str(ROOT)), words=words) if swallow else ""
    names = {"real": shlex.quote(str(real)), "logins": shlex.quote(str(logins))}
    path.write_text(PROGRAM.format(**names, relay=relay))
    path.chmod(0o755)
    return path


def swallowed(log: Path) -> int:
    """How many commits all relays have swallowed, as they said last."""
    last: dict[tuple[int, str], int] = {}
    for line in log.read_text().splitlines():
        said = json.loads(line)
        last[said["pid"], said["name"]] = said["swallowed"]
    return sum(last.values())


def main() -> int:
    """Passes commands and answers on until standard input ends."""
    real, asked, log, *arguments = sys.argv[1:]
    swallow = json.loads(asked)
    names: list[str] = []
    pipe = subprocess.PIPE
    relay = subprocess.Popen([real, *arguments], stdin=pipe, stdout=pipe, text=True)
    assert relay.stdin is not None and relay.stdout is not None
    with Path(log).open("a") as kept:

        def ask(command: dict[str, Any]) -> str:
            relay.stdin.write(json.dumps(command) + "\n")  # type: ignore[union-attr]
            relay.stdin.flush()  # type: ignore[union-attr]
            answer = relay.stdout.readline()  # type: ignore[union-attr]
            said = json.loads(answer)
            said = {"pid": relay.pid, "name": command["name"], "swallowed": said.get("swallowed")}
            if said["swallowed"] is not None:
                kept.write(json.dumps(said) + "\n")
            return answer

        for line in sys.stdin:
            command = json.loads(line)
            if command["do"] == "listen":  # it leads to an echo, which measures it
                names.append(command["name"])
            elif "to" in command.get("link", {}):
                command["link"]["swallow"] = swallow
            sys.stdout.write(ask(command))
            sys.stdout.flush()
        for name in names:
            ask({"do": "status", "name": name})
    relay.stdin.close()
    return relay.wait()


if __name__ == "__main__":
    sys.exit(main())
