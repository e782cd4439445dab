"""SQL files into MariaDB or MySQL, through `mariadb` or `mysql`."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from dbdyno.errors import DynoError
from dbdyno.hosts.base import Host
from dbdyno.systems.process.paths import program
from dbdyno.systems.sql_files import ClientImporter, Confined, Importer, Program, Rule, rule

_FAILURE = re.compile(r"^ERROR \d+ \(\w+\)(?: at line (?P<line>\d+))?: (?P<what>.*)", re.MULTILINE)
_HINT = r"(?:/\*!\d*\s*)?"  # a conditional comment that may contain a statement
_GLOBAL = "changes the server, and only our schema may be touched"
_WITHOUT = "remove the line"
_RULES = (
    rule(
        _HINT + r"use\s",
        "leaves our schema",
        "dump one schema by its name, without --databases and --all-databases; or remove the line",
    ),
    rule(
        _HINT + r"(?:create|drop|alter)\s+(?:/\*!\d+\s[^*]*\*/\s*)?(?:database|schema)\b",
        "leaves our schema",
        "dump one schema by its name, without --databases and --all-databases; or remove the line",
    ),
    rule(
        _HINT + r"set\s+(?:@@global\.|global\s|@@persist)",
        _GLOBAL,
        "dump with `--set-gtid-purged=OFF`, or remove the line",
    ),
    rule(
        _HINT + r"(?:(?:create|drop|alter|rename)\s+(?:user|role|server|tablespace)|grant|revoke"
        r"|set\s+password|change\s+(?:master|replication)|shutdown|install|uninstall)\b",
        _GLOBAL,
        _WITHOUT,
    ),
    rule(_HINT + r"load\s+data\b", "reads another file", "put the rows into the file itself"),
)
_QUALIFIED = re.compile(
    rb"\s*(?:/\*!\d*\s*)?(?:insert\s+(?:\w+\s+)*into|replace\s+into|update|delete\s+from"
    rb"|create\s+(?:temporary\s+)?table(?:\s+if\s+not\s+exists)?|truncate(?:\s+table)?"
    rb"|(?:drop|alter|lock)\s+tables?(?:\s+if\s+exists)?)\s+`?(?P<schema>\w+)`?\s*\.\s*[`\w]",
    re.IGNORECASE,
)


class _OneSchema(Confined):
    """Refuses statements on tables of other schemas, too."""

    def __init__(self, inner: Importer, database: str) -> None:
        super().__init__(inner, _RULES)
        self._database = database

    def check(self, line: bytes) -> None:
        super().check(line)
        found = _QUALIFIED.match(line)
        if found and found["schema"].decode().lower() != self._database.lower():
            schema = found["schema"].decode()
            self.refuse(line, Rule(_QUALIFIED, f"touches schema {schema}", "leave its name out"))


def importer(
    kind: str, host: Host, places: Sequence[Path], options: Mapping[str, str], database: str
) -> Importer:
    """Takes SQL for one schema. `options` are those of a client's option file, password included;
    `places` directories where the client may be, which runs on `host`."""
    names = ("mysql", "mariadb") if kind == "mysql" else ("mariadb", "mysql")
    found = next((path for name in names if (path := program(name, places))), None)
    if found is None:
        raise DynoError(
            f"files of SQL need the client program `{names[0]}`, and it is not here",
            fix=f"install it: `apt-get install {names[0]}-client`",
        )
    text = "[client]\n" + "".join(f"{k}={_quoted(v)}\n" for k, v in options.items())
    client = ClientImporter(
        host,
        Program(
            command=[
                str(found),
                "--defaults-file={secret}",
                "--batch",
                "--binary-mode",  # no client commands but DELIMITER
                "--local-infile=0",  # a server may ask for any local file
                "--default-character-set=utf8mb4",
                "--max-allowed-packet=1G",
                f"--database={database}",
            ],
            environment={"PATH": os.defpath, "LC_ALL": "C", "HOME": "/nonexistent"},
            secret=text,
            failure=_FAILURE,
        ),
    )
    return _OneSchema(client, database)


def _quoted(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
