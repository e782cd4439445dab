"""`dyno schema`: the JSON Schema of an experiment, for editors."""

from __future__ import annotations

from pathlib import Path

import click

import dbdyno
from dbdyno.errors import DynoError

_NAME = "experiment.schema.json"
_PACKAGE = Path(dbdyno.__file__).parent
_PLACES = (_PACKAGE / "_schemas" / _NAME, _PACKAGE.parent.parent / "schemas" / _NAME)


def path() -> Path:
    """The shipped schema: in the package once installed, next to it in a checkout."""
    for place in _PLACES:
        if place.is_file():
            return place
    raise DynoError("no schema is installed", fix="install dbdyno again")


def editor_line() -> str:
    """The first line of an experiment, by which an editor finds the schema."""
    return f"# yaml-language-server: $schema={path()}\n"


@click.command()
@click.option("--path", "as_path", is_flag=True, help="Print where the schema is instead.")
def schema(as_path: bool) -> None:
    """Print the JSON Schema of an experiment, for editors.

    An editor with a YAML language server completes keys and marks mistakes in a file whose first
    line is `# yaml-language-server: $schema=PATH`, as `dyno init` writes it.
    """
    found = path()
    click.echo(str(found) if as_path else found.read_text(encoding="utf-8"), nl=as_path)
