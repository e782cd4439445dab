"""The boundary around whatever reads stored files: runs, bundles, results of other tools.

Their readers check what they read and name file and line. What gets past them is still no defect to
be reported, but a file that is not what dbdyno writes: the error names the place.
"""

from __future__ import annotations

import os
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from dbdyno.errors import TRACEBACK, DynoError


@contextmanager
def stored(*paths: Path | str) -> Iterator[None]:
    """Turns any error within, while `paths` are read and drawn, into a DynoError that names them.
    What users can act on, and the ends of commands, pass through."""
    try:
        yield
    except (DynoError, click.ClickException, click.exceptions.Exit, click.Abort):
        raise
    except Exception as error:
        if os.environ.get(TRACEBACK):
            traceback.print_exc()
        raise _explained(error, ", ".join(map(str, paths[:3]))) from error


def _explained(error: Exception, named: str) -> DynoError:
    if isinstance(error, MemoryError):
        return DynoError(
            f"{named}: there is not enough memory to read it",
            cause="it was damaged or made to be large, or the machine is too small for the run",
            fix="read it on a larger machine, or restore it from a copy",
        )
    if isinstance(error, OSError):
        place = f"{error.filename}: " if error.filename else ""
        return DynoError(
            f"{named} cannot be read: {place}{error.strerror or error}",
            cause="its permissions, a failing disk, or a file of another type",
            fix="make it readable, or restore it from a copy",
        )
    said = (str(error).splitlines() or [""])[0][:200]
    return DynoError(
        f"{named} cannot be read: its content is inconsistent"
        f" ({type(error).__name__}{f': {said}' if said else ''})",
        cause="a file in it was edited or damaged, or another version of dbdyno wrote it",
        fix=f"restore it from a copy; if it is unchanged, set {TRACEBACK}=1 to see where, and"
        " report that",
    )
