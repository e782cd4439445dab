"""Where servers keep their files during a run, and the guardian that removes them whatever happens.

The scratch directory is ours alone: made fresh for each run, removed at its end. A guardian process
holds a pipe from us; when we die, also by SIGKILL, it waits for the servers' own guardians to
finish and removes what is left.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from dbdyno.errors import DynoError

_GUARDIAN = """
import os, shutil, signal, sys, time
for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
    signal.signal(number, signal.SIG_IGN)
os.read(0, 1)
deadline = time.monotonic() + 60
while os.path.lexists(sys.argv[1]) and time.monotonic() < deadline:
    shutil.rmtree(sys.argv[1], ignore_errors=True)
    time.sleep(0.2)
"""


class Scratch:
    """A private directory that does not outlive the run. Use as a context manager."""

    def __init__(self, parent: Path | None = None) -> None:
        root = parent or Path(os.environ.get("DYNO_SCRATCH") or "/var/tmp")
        try:
            root.mkdir(parents=True, exist_ok=True)
            self.path = Path(tempfile.mkdtemp(prefix="dbdyno-", dir=root))
        except OSError as error:
            raise DynoError(
                f"no scratch directory can be made in {root}: {error.strerror}",
                fix="name a writable directory on the storage under test with --scratch",
            ) from error
        # Servers run under accounts of their own and must be able to pass through.
        self.path.chmod(0o711)
        self._guardian = subprocess.Popen(
            [sys.executable, "-I", "-c", _GUARDIAN, str(self.path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            cwd="/",
        )

    def __enter__(self) -> Scratch:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Removes everything. Idempotent."""
        shutil.rmtree(self.path, ignore_errors=True)
        if self._guardian.stdin and not self._guardian.stdin.closed:
            self._guardian.stdin.close()
        self._guardian.wait()

    def free_bytes(self) -> int:
        """Room left on its file system."""
        return shutil.disk_usage(self.path).free


def copy_tree(source: Path, target: Path) -> None:
    """Copies a stopped server's directory, by reflink where the file system can; keeps owners."""
    done = subprocess.run(
        ["cp", "-a", "--reflink=auto", "--sparse=auto", "--", str(source), str(target)],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines()
        raise DynoError(
            f"cannot copy {source.name} to {target}: {lines[-1] if lines else 'cp failed'}",
            cause="the disk is full" if "No space left" in done.stderr else "",
            fix="free space, or choose other storage with --scratch",
        )
