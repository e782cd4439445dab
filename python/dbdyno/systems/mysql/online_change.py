"""Changes of a table under load by a program that copies it: each row, while triggers keep the copy
up to date, and then the copy takes the table's name.

Source: the manual page of pt-online-schema-change in percona-toolkit 3.2 (`--config` must be the
first option; `--defaults-file`; `--recursion-method`; `--version-check`, which asks a server on the
internet). It is a program of its own under the GPL, that users install; nothing of it is in here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from dbdyno.errors import DynoError
from dbdyno.systems.backups.base import Site
from dbdyno.systems.backups.mysqlfamily import sessions
from dbdyno.systems.process.paths import program


@dataclass(frozen=True)
class Tool:
    """A program. `words`: what follows its name, of a private file with the login, the schema, the
    table and the change; `success`: what its output has once the table is changed."""

    package: str
    words: Callable[[Path, str, str, str], Sequence[str]]
    success: str


def _pt_osc(options: Path, database: str, table: str, change: str) -> list[str]:
    return [
        *("--config", "/dev/null"),  # not what this machine has for other servers
        f"--defaults-file={options}",
        "--no-version-check",
        # It finds replicas by port 3306, or by settings that they may not have. So it throttles by
        # `Threads_running` alone.
        "--recursion-method=none",
        f"--alter={change}",
        "--execute",
        f"D={database},t={table}",
    ]


TOOLS: Mapping[str, Tool] = {
    "pt-online-schema-change": Tool("percona-toolkit", _pt_osc, "Successfully altered"),
}


def check(name: str) -> None:
    """DynoError with the command that installs it, where such a program is missing."""
    if program(name, ()) is None:
        raise DynoError(
            f"there is no `{name}`",
            cause="it is part of no server",
            fix=f"apt-get install --no-install-recommends {TOOLS[name].package}",
        )


def alter(site: Site, name: str, table: str, change: str) -> str:
    """Returns once the table is changed; what was done. `change`: what follows the table's name in
    ALTER TABLE. DynoError if the program fails."""
    tool = TOOLS[name]
    path = site.program(name, package=tool.package)
    options = sessions.options(site, "alter.cnf")
    said = site.run([path, *tool.words(options, site.database, table, change)])
    if tool.success not in said:
        raise DynoError(
            f"{name} ended without a change of `{table}`",
            cause=" ".join(said.split()[-40:]),
            fix="see its message",
        )
    return f"{name} changed {table}"
