"""Backups: one file (or folder) a tool, all of them in `TOOLS`."""

from __future__ import annotations

from dbdyno.errors import DynoError
from dbdyno.systems import versions
from dbdyno.systems.backups.base import Tool
from dbdyno.systems.backups.mysqlfamily import clone, dump, mariabackup
from dbdyno.systems.backups.postgres import basebackup, pg_dump
from dbdyno.systems.base import TargetPlan
from dbdyno.systems.process.managed import client_places

TOOLS: tuple[Tool, ...] = (
    mariabackup.TOOL,
    dump.TOOL,
    clone.TOOL,
    dump.OF_MYSQL,
    basebackup.TOOL,
    pg_dump.TOOL,
)


def of(kind: str, name: str = "") -> Tool:
    """The tool of that name for a kind of server; empty: its first, a physical one. DynoError if it
    has none."""
    for tool in TOOLS:
        if tool.kind == kind and name in ("", tool.name):
            return tool
    known = ", ".join(tool.name for tool in TOOLS if tool.kind == kind)
    raise DynoError(f"{kind} has no backup `{name}`", fix=f"known: {known or 'none'}")


def check(target: TargetPlan, name: str = "") -> None:
    """DynoError where a program of a backup of a target's servers is missing. Whether the server is
    installed is another question."""
    try:
        places = client_places(versions.find(target))
    except DynoError:
        return
    for program in of(target.kind, name).programs:
        program.found(places)
