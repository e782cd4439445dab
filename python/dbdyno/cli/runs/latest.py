"""The run that a command means that names none."""

from __future__ import annotations

from collections.abc import Callable
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


def chosen(run: Path | None, directory: Path | None) -> Path:
    """The run that was named, else the one below `directory` whose state changed last: begun,
    resumed or ended. DynoError if there is none."""
    if run is not None:
        return run
    from dbdyno.share.below import below
    from dbdyno.store.manifest import MANIFEST

    directory = directory or userconfig.read().runs or RUNS
    found = (
        [one.path for one in below(directory) if one.path.is_dir()] if directory.is_dir() else []
    )
    if not found:
        raise DynoError(
            f"there is no run below {directory}",
            cause="none was begun in this directory, or it is elsewhere",
            fix="name a run, or the directory of runs: --dir DIR",
        )
    return max(found, key=lambda path: ((path / MANIFEST).stat().st_mtime_ns, str(path)))
