"""`dyno lab url` and `logs`: where a node listens, and what it logs."""

from __future__ import annotations

import json
import os
import time
from collections import deque
from pathlib import Path
from typing import Any

import click

from dbdyno.cli.labs.life import chosen
from dbdyno.errors import DynoError
from dbdyno.lab import clients
from dbdyno.lab.registry import PASSWORD, Record

POLL_S = 0.2
READ_BYTES_MAX = 4 << 20  # of the end of a log


def login(word: str | None) -> tuple[Record, dict[str, Any]]:
    """The lab that a word is about, and what clients need of the node that it means. DynoError for
    one that has no clients."""
    record, node = _known(word)
    if not clients.has_clients(node):
        raise DynoError(
            f"no client can log in at `{node['name']}`",
            cause="an arbitrator has a vote, and no data",
            fix="name a node: see `dyno lab status`",
        )
    return record, node


def _known(word: str | None) -> tuple[Record, dict[str, Any]]:
    record, name = chosen(word)
    [node] = [one for one in record.nodes if one["name"] == name]
    return record, node


def url(word: str | None, *, export: bool, password_file: bool, as_json: bool) -> int:
    """Prints how a node is reached."""
    record, node = login(word)
    kind, file = record.facts["kind"], record.directory / PASSWORD
    if export:
        click.echo("\n".join(clients.exports(kind, record.directory, node)))
    elif password_file:
        click.echo(str(file))
    elif as_json:
        kept = ("name", "url", "host", "port", "user", "database", "socket")
        facts = {key: node[key] for key in kept} | {"password_file": str(file)}
        click.echo(json.dumps(facts, indent=1))
    else:
        click.echo(node["url"])
        click.echo(f"its password is in {file}", err=True)
    return 0


def logs(word: str | None, lines: int, *, follow: bool, as_json: bool) -> int:
    """Prints the end of a node's log, and goes on with it if asked to."""
    _, node = _known(word)
    path = Path(node["log"])
    try:
        with path.open("rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - READ_BYTES_MAX))
            last = deque(file.read(READ_BYTES_MAX).decode("utf-8", "replace").splitlines(), lines)
            if as_json:
                facts = {"node": node["name"], "file": str(path), "lines": list(last)}
                click.echo(json.dumps(facts, indent=1))
                return 0
            click.echo("\n".join(last))
            while follow and path.exists():
                if part := file.read(READ_BYTES_MAX):
                    click.echo(part.decode("utf-8", "replace"), nl=False)
                else:
                    time.sleep(POLL_S)
    except OSError as error:
        raise DynoError(
            f"cannot read {path}: {error.strerror}",
            cause="the lab has just ended, or the server has logged nothing yet",
            fix="see `dyno lab status`",
        ) from None
    return 0
