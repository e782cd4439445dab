"""SQL files into PostgreSQL, through `psql`."""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Mapping, Sequence
from pathlib import Path

from dbdyno.errors import DynoError
from dbdyno.hosts.base import Host
from dbdyno.systems.process.paths import program
from dbdyno.systems.sql_files import ClientImporter, Confined, Importer, Program, Rule, rule

_FAILURE = re.compile(
    r"^psql:<stdin>:(?P<line>\d+): (?:ERROR|FATAL|error):\s+(?P<what>.*)"
    r"|^psql: error: (?P<other>.*)",
    re.MULTILINE,
)
_ALONE = "dump one database with `pg_dump --no-owner --no-acl`, not with pg_dumpall"
_RULES = (
    rule(r"\\(?:c|connect)\b", "leaves our database", _ALONE),
    rule(r"\\(?!\.)", "is a command of the client", "remove the line"),
    rule(r"(?:create|drop|alter)\s+(?:database|tablespace)\b", "leaves our database", _ALONE),
    rule(
        r"(?:(?:create|drop|alter)\s+(?:role|user|group|subscription)|alter\s+system"
        r"|reassign\s+owned)\b",
        "changes the server, and only our database may be touched",
        _ALONE,
    ),
    rule(
        r"copy\b.*\b(?:from|to)\s+(?:program\b|')",
        "reads or writes outside the database",
        "put the rows into the file itself: `COPY ... FROM stdin`",
    ),
)
_COPY = re.compile(rb"\s*copy\b.*\bfrom\s+stdin\b", re.IGNORECASE)
_COPY_END = re.compile(rb"\\\.\r?\n?$")
_RESTRICT = re.compile(rb"\\(?:un)?restrict\s")
# psql takes \restrict from these versions on, by major version; all later ones do.
_RESTRICTS = {13: 22, 14: 19, 15: 14, 16: 10, 17: 6}


class _OneDatabase(Confined):
    """Lets COPY's rows pass unread, and takes out the dump's own \\restrict: dbdyno's is in
    force."""

    def __init__(self, inner: Importer, rules: Sequence[Rule]) -> None:
        super().__init__(inner, rules)
        self._in_rows = False

    def feed(self, line: bytes) -> None:
        if not self._in_rows and _RESTRICT.match(line):
            line = b"\n"
        super().feed(line)

    def check(self, line: bytes) -> None:
        if self._in_rows:
            self._in_rows = not _COPY_END.match(line)
            return
        super().check(line)
        self._in_rows = bool(_COPY.match(line))


def importer(
    host: Host,
    places: Sequence[Path],
    environment: Mapping[str, str],
    secret: str,
    database: str,
) -> Importer:
    """Takes SQL for one database. `environment` says where the server is, in libpq's variables;
    `secret` is a password file's content (`PGPASSFILE={secret}`), or empty."""
    found = program("psql", places)
    if found is None:
        raise DynoError(
            "files of SQL need the client program `psql`, and it is not here",
            fix="install it: `apt-get install postgresql-client`",
        )
    restricts = _knows_restrict(host, found)
    client = ClientImporter(
        host,
        Program(
            command=[
                str(found),
                "--no-psqlrc",
                "--quiet",
                "--set=ON_ERROR_STOP=1",
                "--no-password",
                "--file=-",
            ],
            environment={
                "PATH": os.defpath,
                "LC_ALL": "C",
                "HOME": "/nonexistent",
                "PGDATABASE": database,
                "PGCLIENTENCODING": "UTF8",
                "PGOPTIONS": "-c client_min_messages=error",
                **environment,
            },
            secret=secret,
            failure=_FAILURE,
            preamble=f"\\restrict {secrets.token_hex(16)}\n".encode() if restricts else b"",
        ),
    )
    return _OneDatabase(client, _RULES)


def _knows_restrict(host: Host, psql: Path) -> bool:
    """Whether it can be kept from running commands that a file holds in mid-line."""
    said = host.run([psql, "--version"], timeout_s=20, environment={}).stdout
    found = re.search(r"(\d+)\.(\d+)", said)
    if not found:
        return "psql" in said  # a version without a minor number: not released yet, so a late one
    major, minor = int(found[1]), int(found[2])
    return minor >= _RESTRICTS[major] if major in _RESTRICTS else major > max(_RESTRICTS)
