"""As root, what others have written is parsed by an account that owns nothing.

A child does the whole work of a command that only reads: it parses, computes and draws. It has left
root for good (`rights`), keeps of root's rights only that of reading files, and of files only those
that it was asked to read, where the kernel has Landlock (`landlock`). What it makes it hands to the
parent (`channel`), which writes what the command line named and nothing else. Why so:
docs/decisions/privileges.md.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TypeVar

import click

from dbdyno.cli.running.before import trusted
from dbdyno.cli.unprivileged import child
from dbdyno.errors import DynoError
from dbdyno.share.below import below

T = TypeVar("T")


def reading(
    work: Callable[[], T],
    reads: Sequence[Path],
    makes: Iterable[Path] = (),
    *,
    always: bool = False,
) -> T:
    """What `work` returns. Where we are root and something of `reads` is somebody else's, an
    unprivileged child does it: `work` may then write the files `makes`, by `diskfiles.replacing`
    and `diskfiles.make_directory`, and return what `values` knows. `always`: of any author.

    Anything that `work` raises for users is raised here.
    """
    if os.geteuid() != 0 or not (always or any(map(_is_foreign, reads))):
        return work()
    try:
        found: T = child.run(work, reads, [Path(os.path.abspath(path)) for path in makes])
    except child.Impossible as why:
        click.echo(f"dyno: read as root: {why}", err=True)
        return work()
    return found


def _is_foreign(path: Path) -> bool:
    """Whether somebody else may have written what is read there. A file may come from anywhere."""
    if path.is_file():
        return True
    try:
        return any(not trusted.is_ours(one) for one in _runs(Path(os.path.realpath(path))))
    except (DynoError, OSError):
        return False  # nothing that can be read: reading it reports that


def _runs(path: Path) -> Iterable[Path]:
    if not path.is_dir():
        return ()
    return [path, *(one.path for one in below(path) if one.path != path)]
