"""A run to read, wherever it is: a run directory, or a bundle of one."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path

from dbdyno.share import bundle
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
