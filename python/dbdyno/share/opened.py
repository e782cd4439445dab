"""A run to read, wherever it is: a run directory, or a bundle of one."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from dbdyno.errors import DynoError
from dbdyno.share import bundle
from dbdyno.store.owner import is_ours
from dbdyno.store.run import Run


@contextlib.contextmanager
def opened(path: Path) -> Iterator[Run]:
    """The run in a directory or a bundle. DynoError if it is neither."""
    with placed(path) as directory:
        yield Run.open(directory)


@contextlib.contextmanager
def placed(path: Path) -> Iterator[Path]:
    """The directory of a run. A bundle is unpacked into a temporary one, which is gone at the end
    of the block. DynoError if it cannot be."""
    if not path.is_file():
        yield path
        return
    with tempfile.TemporaryDirectory(prefix="dyno-bundle-") as directory:
        bundle.unpack(path, Path(directory))
        yield Path(directory)


@contextlib.contextmanager
def trusted(path: Path) -> Iterator[Path]:
    """The same. As root, what others have written is not parsed by this process
    (docs/decisions/privileges.md)."""
    if os.geteuid() == 0 and (path.is_file() or not is_ours(path)):
        raise DynoError(
            f"{path.name} may be another account's, and this is root",
            cause="all runs of a directory are parsed in one process",
            fix="read it as its owner, without root's rights",
        )
    with placed(path) as directory:
        yield directory
