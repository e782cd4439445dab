"""What a server's own program says of an option file: which options it refuses or ignores.

MySQL has `--validate-config`, MariaDB reads its options before `--help --verbose`; neither opens
the data directory or listens. Source: the manuals' pages on these options. Both name the first
option that they refuse, and end there. Only names are kept: a value may be a password.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from dbdyno.errors import DynoError
from dbdyno.facts.fact import Facts, Table, version_of
from dbdyno.hosts import LOCAL
from dbdyno.hosts.base import Completed, TimedOut
from dbdyno.systems.process.account import account_for

TIMEOUT_S = 60.0
TABLE = "validated"
_REFUSED = re.compile(r"unknown (?:variable|option) '-*([\w-]+)|to '([\w-]+)'|Option --([\w-]+)")
_IGNORED = re.compile(r"'([\w-]+)' was removed\. It does nothing")


def ask(facts: Facts, program: str) -> Facts:
    """Facts of an option file with the table `validated`: name, state, place; and with the engine
    and version of the program. DynoError if it cannot be asked."""
    program = str(Path(program).resolve()) if "/" in program else program
    told = _run([program, "--no-defaults", "--version"]).stdout
    engine = "mariadb" if "mariadb" in told.lower() else "mysql"
    mode = ["--help", "--verbose"] if engine == "mariadb" else ["--validate-config"]
    done = _run([program, f"--defaults-file={Path(facts.subject).resolve()}", *mode])
    rows = [
        {"name": name, "state": state, "place": _place(facts, name)}
        for line in done.stderr.splitlines()
        for name, state in _said(line)
    ]
    if done.returncode and not any(row["state"] == "refused" for row in rows):
        lines = [line for line in done.stderr.splitlines() if "ERROR" in line]
        raise DynoError(
            f"{program} does not say what is wrong with {facts.subject}:"
            f" {(lines or ['it ended with an error'])[0][:200]}",
            cause="the file, or a directory that it names, is not readable for the account",
            fix="run the program with this file by hand",
        )
    table = Table(tuple(rows), " ".join([program, *mode]))
    version = version_of(told.partition("Ver")[2] or told)
    return replace(facts, engine=engine, version=version, tables={**facts.tables, TABLE: table})


def _run(command: list[str]) -> Completed:
    try:
        return LOCAL.run(command, timeout_s=TIMEOUT_S, cwd="/", ids=account_for("mysql").ids)
    except (OSError, TimedOut) as error:
        raise DynoError(
            f"{command[0]} cannot be asked: {error}",
            cause="it is no server's program, or not for this machine",
            fix="name mysqld or mariadbd of the version that is to read the file",
        ) from None


def _said(line: str) -> list[tuple[str, str]]:
    """(option, refused or ignored) of a line of its answer."""
    if found := _IGNORED.search(line):
        return [(_name(found[1]), "ignored")]
    if "ERROR" in line and (found := _REFUSED.search(line)):
        return [(_name(next(filter(None, found.groups()))), "refused")]
    return []


def _name(spelled: str) -> str:
    return spelled.lower().replace("-", "_")


def _place(facts: Facts, name: str) -> str:
    """Where the file has it; else the file."""
    rows = facts.table("options").rows
    return next((str(row["place"]) for row in rows if row["name"] == name), facts.subject)
