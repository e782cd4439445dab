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
    """The run in a directory or a bundle. A bundle is unpacked into a temporary directory, which is
    gone at the end of the block. DynoError if it is neither."""
    if not path.is_file():
        yield Run.open(path)
        return
    with tempfile.TemporaryDirectory(prefix="dyno-bundle-") as directory:
        bundle.unpack(path, Path(directory))
        yield Run.open(directory)
