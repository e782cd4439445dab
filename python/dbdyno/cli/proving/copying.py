"""`--on URL`: a private server of the same kind and version, with a copy of its schema and data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from dbdyno import kinds
from dbdyno.cli.terminal import login
from dbdyno.copies.copied import ROWS, Copied, How
from dbdyno.copies.write import write_copy
from dbdyno.digest.servers import sources
from dbdyno.errors import DynoError
from dbdyno.facts.fact import version_of
from dbdyno.systems import versions
from dbdyno.systems.base import TargetPlan
from dbdyno.wording.plurals import count


def target(typed: Mapping[str, Any], file: Path, statements: Sequence[str]) -> dict[str, Any]:
    """Keys of the private server. The copy is written next to `file`, with the views that the
    workload's `statements` refer to. click.UsageError for options that leave nothing to copy."""
    if typed["dry_run"]:
        raise click.UsageError("--dry-run reads no server: give its data by --dump FILE")
    url = typed["on"]
    if typed["dump"] is not None:
        return _kind(url, typed)
    out = file.with_suffix(".sql")
    file.parent.mkdir(parents=True, exist_ok=True)
    how = How(way=typed["way"], rows=typed["rows"] or ROWS, statements=statements)
    copied = write_copy(url, login.credentials(typed), typed["tls"], None, out, how)
    if not typed["quiet"]:
        _tell(copied)
    return {**_kind(url, typed), "setup": dict(copied.setup)}


def _kind(url: str, typed: Mapping[str, Any]) -> dict[str, Any]:
    """Kind and version of the server; of a version that is not installed, the kind alone."""
    server = sources.open_server(url, login.credentials(typed), typed["tls"])
    try:
        kind, told = server.kind, server.version
    finally:
        server.stop()
    # PostgreSQL's first number is its version, and the second a release of it.
    numbers = version_of(told)[: 1 if kinds.of(kind).language == kinds.POSTGRES else 2]
    version = ".".join(map(str, numbers))
    try:
        versions.find(TargetPlan("db", kind, version=version))
    except DynoError:
        click.echo(
            f"{kind} {version}, the server's version, is not installed: another one is used",
            err=True,
        )
        return {"kind": kind}
    return {"kind": kind, "version": version}


def _tell(copied: Copied) -> None:
    rows = sum(one.copied for one in copied.tables)
    tables = count(len(copied.tables), "table")
    click.echo(f"copied: {tables}, {count(rows, 'row')}: {copied.path}", err=True)
    for sentence in copied.omitted:
        click.echo(f"not copied: {sentence}", err=True)
