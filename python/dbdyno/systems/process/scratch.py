"""A scratch directory that is gone when dyno is gone, also after `kill -9`.

Data directories of servers live in it. It must be reachable for the unprivileged accounts that
servers run under (root's home is not), and on real storage: a tmpfs would make every disk fast.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from typing import NamedTuple

from dbdyno import userconfig
from dbdyno.errors import DynoError
from dbdyno.hosts import LOCAL
from dbdyno.hosts.base import Host
from dbdyno.systems.process import guardian
from dbdyno.systems.process.guarded import Guarded
from dbdyno.systems.process.owner import new_path, sweep

TMPFS = ("tmpfs", "ramfs")


def scratch_root(named: Path | None = None) -> Path:
    """Where scratch directories are made: `named`, else DYNO_SCRATCH, else the user's setting, else
    /var/tmp, else the temp directory; of the latter two the first that is on storage.

    DynoError if the one that was asked for cannot be written in.
    """
    source, asked = "--scratch ", str(named) if named else None
    if not asked:
        source, asked = "DYNO_SCRATCH=", os.environ.get("DYNO_SCRATCH")
    if not asked and (settings := userconfig.read()).scratch:
        source, asked = f"{settings.path}: scratch ", str(settings.scratch)
    if asked:
        path = Path(asked)
        if not path.is_dir() or not os.access(path, os.W_OK | os.X_OK):
            raise DynoError(
                f"{source}{asked} is not a directory that we can write in",
                cause="it is missing, is a file, or belongs to someone else",
                fix=f"mkdir -p {asked}, or name another directory on the storage to be tested",
            )
        return path
    candidates = [Path("/var/tmp"), Path(tempfile.gettempdir())]
    usable = [path for path in candidates if os.access(path, os.W_OK | os.X_OK)]
    on_disk = [path for path in usable if filesystem(path) not in TMPFS]
    if not usable:
        raise DynoError(
            "there is no directory for data",
            cause="neither /var/tmp nor the temp directory can be written",
            fix="set DYNO_SCRATCH to a directory on the disk to be tested",
        )
    return (on_disk or usable)[0]


def filesystem(path: Path) -> str:
    """Type of the filesystem that holds `path` ("ext4"; "" if unknown)."""
    return mounted(path)[0]


def mounted(path: Path) -> tuple[str, str]:
    """Type and source of the filesystem that holds `path` ("ext4", "/dev/sda1"; empty if
    unknown)."""
    found = mount_of(path)
    return found.kind, found.source


class Mount(NamedTuple):
    """A mounted filesystem: "ext4", "/dev/sda1", "rw,noatime"; empty if unknown."""

    kind: str = ""
    source: str = ""
    options: str = ""


def mount_of(path: Path) -> Mount:
    """The mount that holds `path`: proc(5), mountinfo."""
    best, found = "", Mount()
    real = os.path.realpath(path)
    try:
        lines = Path("/proc/self/mountinfo").read_bytes().strip().split(b"\n")
    except OSError:
        return found
    for line in lines:
        fields, _, rest = os.fsdecode(line).partition(" - ")
        mount = guardian.mount_point(line)
        inside = real == mount or real.startswith(mount.rstrip("/") + "/")
        if inside and len(mount) >= len(best):
            kind, source, of_all = rest.split()[:3]
            options = dict.fromkeys((*fields.split()[5].split(","), *of_all.split(",")))
            best, found = mount, Mount(kind, source, ",".join(options))
    return found


class Scratch:
    """A private directory with a guardian of its own; use as a context manager."""

    def __init__(self, root: Path | None = None, host: Host = LOCAL) -> None:
        self._host = host
        self._root = (root or scratch_root()).resolve()  # as the kernel knows it
        for place in {self._root, Path(tempfile.gettempdir())}:
            sweep(place)  # what a machine that lost its power has left
        self.path, self._guard = self._make()
        self._base = self.path, self._guard

    def renew(self) -> None:
        """Makes it again where a command of the user's has mounted another file system over it.
        `path` changes; nothing was in use."""
        if not self.path.is_dir():
            self.path, self._guard = self._make()

    def withdraw(self) -> None:
        """Lets go of a file system that was mounted over the first one, so that it can be
        unmounted; what was in it is lost."""
        if self.path != self._base[0]:
            self._remove()
            self.path, self._guard = self._base

    def close(self) -> None:
        """Removes it. Servers in it must have been stopped."""
        self.withdraw()
        self._remove()

    def _remove(self) -> None:
        guardian.unmount_below(str(self.path), lazily=True)
        shutil.rmtree(self.path, ignore_errors=True)
        self._guard.stop(5.0)

    def _make(self) -> tuple[Path, Guarded]:
        path = new_path(self._root)
        try:
            # Others may pass but not list: each server's directory in it is private to its account.
            return path, Guarded(host=self._host, make=[path], make_mode=0o711)
        except DynoError as error:
            raise DynoError(
                f"cannot make a scratch directory in {self._root}: {error.cause or error.what}",
                cause="it is missing, full, or belongs to someone else",
                fix="name a writable directory on the storage to be tested",
            ) from None

    def __enter__(self) -> Scratch:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
