"""`dyno config`: the user's own settings, as they are in force."""

from __future__ import annotations

import json
import os
from typing import Any

import click

from dbdyno import userconfig


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print the same as JSON.")
def config(as_json: bool) -> None:
    """Show the settings of ~/.config/dbdyno/config.toml, and where that file is.

    Of passwords the sources are shown, never a password.
    """
    found = userconfig.read()
    environment = os.environ.get("DYNO_SCRATCH")
    settings: dict[str, Any] = {
        "file": str(found.path),
        "exists": found.is_there,
        "scratch": environment or (str(found.scratch) if found.scratch else None),
        "runs": str(found.runs) if found.runs else None,
        "passwords": {server: dict([source]) for server, source in found.passwords.items()},
    }
    if as_json:
        click.echo(json.dumps(settings, indent=1))
        return
    there = "" if found.is_there else " (not there: all as without it)"
    click.echo(f"file:     {found.path}{there}")
    by = " ($DYNO_SCRATCH)" if environment else ""
    click.echo(f"scratch:  {settings['scratch'] or '/var/tmp'}{by}")
    click.echo(f"runs:     {settings['runs'] or 'runs/ below the current directory'}")
    for server, (source, value) in found.passwords.items():
        click.echo(f"password: {server}: {source} {value}")
