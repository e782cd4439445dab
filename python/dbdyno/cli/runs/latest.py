"""The run that a command means that names none."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from dbdyno import userconfig
from dbdyno.cli import completing
from dbdyno.errors import DynoError
from dbdyno.store.naming import RUNS


def arguments(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds RUN, which may be omitted, and `--dir`; read both with `chosen`."""
    run = click.argument(
        "run",
        type=click.Path(path_type=Path),
        required=False,
        shell_complete=completing.runs,
    )
    directory = click.option(
        "--dir",
        "directory",
        type=click.Path(path_type=Path),
        show_default="the user's setting, or runs",
        help="Without RUN: take the latest run below this directory.",
    )
    return run(directory(command))


@dataclass(frozen=True)
class Chosen:
    """The run that was meant, and what else is under way where it was found."""

    path: Path
    under_way: tuple[str, ...] = ()

    def announce(self) -> None:
        """Says on stderr which run was taken."""
        click.echo(f"run directory: {self.path}", err=True)
        for path in self.under_way:
            click.echo(f"also under way: {path}", err=True)


def chosen(run: Path | None, directory: Path | None) -> Chosen:
    """The run that was named, else the one below `directory` whose state changed last: begun,
    resumed or ended. DynoError if there is none."""
    if run is not None:
        return Chosen(run)
    from dbdyno.share.below import bring_up_to_date
    from dbdyno.store.catalogue import Catalogue, Line, Wanted
    from dbdyno.store.manifest import RUNNING

    directory = directory or userconfig.read().runs or RUNS
    found: Line | None = None
    under_way: list[Line] = []
    if directory.is_dir():
        with contextlib.closing(Catalogue(directory)) as catalogue:
            bring_up_to_date(catalogue, directory)
            found = catalogue.latest()
            under_way, _ = catalogue.search(Wanted(status=RUNNING))
    if found is None:
        raise none_below(directory)
    others = (line.path for line in under_way if line.path != found.path)
    return Chosen(Path(found.path), tuple(others))


def none_below(directory: Path) -> DynoError:
    """The error for a directory without runs."""
    return DynoError(
        f"there is no run below {directory}",
        cause="none was begun in this directory, or it is elsewhere",
        fix="name a run, or the directory of runs: --dir DIR",
    )
