"""A setting of the kernel, for a while. It is restored whatever happens to us, also kill -9."""

from __future__ import annotations

import fcntl
import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

# Waits for the end of its input, then writes a value into a file.
_GUARD = 'cat > /dev/null; printf "%s" "$2" > "$1"'

Written = tuple[Path, str]


@contextmanager
def held(setting: Written, as_it_is: Callable[[], Written]) -> Iterator[None]:
    """Writes a value into a file of the kernel. In the end what `as_it_is` said brings it back, by
    a process of its own, which sees the end of a pipe even where nobody here can do anything any
    more. Others who would hold the same file wait until then, or would restored our value."""
    path, value = setting
    with path.open() as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        back = as_it_is()
        guard = subprocess.Popen(
            ["/bin/sh", "-c", _GUARD, "guard", *map(str, back)],
            stdin=subprocess.PIPE,
            start_new_session=True,  # Ctrl-C is not meant for it
            pass_fds=(file.fileno(),),  # locked until it has ended, too
        )
        try:
            path.write_text(value)
            yield
        finally:
            assert guard.stdin is not None
            guard.stdin.close()
            if guard.wait() != 0:
                raise RuntimeError(f"{back[0]} could not be set back to {back[1]}: do it by hand")


def can_hold(path: Path) -> bool:
    """Whether we may write that setting."""
    return os.access(path, os.W_OK)
