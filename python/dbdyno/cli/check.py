"""`--check`: is the file all right? For people on stderr, for editors and scripts as JSON."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import Any

import click

from dbdyno import spec
from dbdyno.cli import studies
from dbdyno.cli.against import read as read_base
from dbdyno.cli.placed import placed
from dbdyno.errors import DynoError
from dbdyno.plan.against import unite
from dbdyno.plan.make import check_settings


def check(
    experiment: str,
    overrides: Sequence[str],
    as_json: bool,
    against: str | None = None,
    trust: bool = False,
) -> int:
    """Validates an experiment and the settings it asks for, and whether it can run `against` a
    base; returns the exit code. With `as_json` what is wrong goes to stdout too; else it is a
    DynoError."""
    try:
        loaded = spec.load(studies.find(experiment), list(overrides))
        with placed(loaded):
            check_settings(loaded)
        if against is not None:
            unite(loaded, read_base(against, trust=trust))
    except DynoError as error:
        if not as_json:
            raise
        _print({"ok": False, "error": _as_object(error)})
        return error.exit_code
    if as_json:
        facts = {"file": str(loaded.path), "experiment": loaded.name}
        _print({"ok": True, **facts, "cells": len(loaded.cells), "blocks": loaded.blocks})
    else:
        click.echo(f"{loaded.path}: ok", err=True)
    return 0


def _as_object(error: DynoError) -> dict[str, Any]:
    where = error.where
    place = where and {"file": str(where.file), "line": where.line, "column": where.column}
    return {"what": error.what, "where": place, "cause": error.cause, "fix": error.fix}


def _print(value: Any) -> None:
    json.dump(value, sys.stdout, indent=1)
    click.echo()
