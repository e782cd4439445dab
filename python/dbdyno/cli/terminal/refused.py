"""How a command says that it failed: a sentence on standard error, and, where it was asked for
JSON, an object on standard output, which then always holds one document."""

from __future__ import annotations

import itertools
import json
import sys
from collections.abc import Sequence
from typing import Any

import click

from dbdyno.cli.terminal.streams import Showing
from dbdyno.errors import DynoError


def tell(error: DynoError, args: Sequence[str], code: int) -> int:
    """Says it, `args` being the command line; returns the exit code."""
    click.echo(f"dyno: {error}", err=True)
    as_document(error, args, code)
    return code


def as_document(error: DynoError, args: Sequence[str], code: int) -> None:
    """The object alone, where JSON was asked for and nothing has gone to standard output yet."""
    if not _wants_json(args) or (isinstance(sys.stdout, Showing) and sys.stdout.used):
        return
    found = {"ok": False, "exit_code": code, "error": _object(error)}
    found["errors"] = [_object(one) for one in error.each]
    click.echo(json.dumps(found, indent=1))


def _wants_json(args: Sequence[str]) -> bool:
    words = args[: args.index("--") if "--" in args else None]
    named = {f"{first}={second}" for first, second in itertools.pairwise(words)}
    return not {"--json", "--format=json"}.isdisjoint({*words, *named})


def _object(error: DynoError) -> dict[str, Any]:
    where = error.where
    place = where and {"file": str(where.file), "line": where.line, "column": where.column}
    return {"what": error.what, "where": place, "cause": error.cause, "fix": error.fix}
