"""Where a command puts what it has made: standard output, or a file that is whole or absent."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click
from click.core import ParameterSource

from dbdyno.errors import DynoError
from dbdyno.store.text import files

WIDTH = 100  # columns without a terminal


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Turns an OSError while `path` is written into a DynoError."""
    try:
        yield
    except OSError as error:
        raise DynoError(
            f"cannot write {path}: {error.strerror or error}",
            cause="its directory does not exist, is full or is not writable",
            fix="name another place",
        ) from None


def form(asked: str, as_json: bool) -> str:
    """`--format`, or what `--json` is short for. click.UsageError where they differ."""
    if not as_json:
        return asked
    source = click.get_current_context().get_parameter_source("form")
    if asked != "json" and source is ParameterSource.COMMANDLINE:
        raise click.UsageError(f"--json and --format {asked} contradict each other: give one")
    return "json"


def put(made: str, out: Path | None, what: str) -> None:
    """Writes `made` to `out` and reports it (`what: PATH`); to standard output if there is none."""
    if out is None:
        click.echo(made, nl=False)
        return
    with explained(out):
        files.write_atomically(out, made)
    click.echo(f"{what}: {out}", err=True)


def width(out: Path | None) -> int:
    """Columns of text for `out`, or for the terminal."""
    return WIDTH if out is not None else shutil.get_terminal_size((WIDTH, 24)).columns
