"""A file system on a disk whose power can be cut: where one server's directory lies."""

from __future__ import annotations

import ctypes
import os
import shutil
import time
from pathlib import Path

from dbdyno.errors import DynoError
from dbdyno.experiment import types
from dbdyno.hosts.base import Host
from dbdyno.storage.device import Device
from dbdyno.storage.needed import mkfs
from dbdyno.systems.process import guardian

UNMOUNT_TIMEOUT_S = 30.0
POLL_S = 0.02
# File system -> how it is made; its tables are not written in the background, under the load.
MAKE = {
    "ext4": ("-q", "-E", "lazy_itable_init=1,lazy_journal_init=1,nodiscard"),
    "xfs": ("-q", "-K"),
    "btrfs": ("-q", "-K"),
}
OWN_OPTIONS = {"ext4": ("noinit_itable",), "xfs": (), "btrfs": ()}
_libc = ctypes.CDLL(None, use_errno=True)


class Volume:
    """One volume, in a directory that it makes; see `device` on what it is."""

    def __init__(self, host: Host, directory: Path, asked: types.Volume) -> None:
        self.asked = asked
        self.path = directory / "root"  # of its file system
        self.is_on = False
        self._loop = Path()
        self._directory = directory
        self._device = Device(host, directory, asked)

    def create(self) -> None:
        """Makes an empty one, and mounts it. DynoError if that fails; nothing is left then."""
        self.close()  # what an earlier one could not remove
        self._directory.mkdir(mode=0o711, parents=True)
        self.path.mkdir()
        try:
            self._device.create()
            loop = self._device.power_on()
            self._device.tool(mkfs(self.asked), *MAKE[self.asked.filesystem], loop)
            self._mount(loop)
            self.flush()
        except BaseException:
            self.close()
            raise

    def alive(self) -> bool:
        """Whether its disk runs, where it has power."""
        return not self.is_on or self._device.alive()

    def flush(self) -> None:
        """Puts all that was written so far on the disk for good, whatever the disk or the mount
        options say of flushes."""
        descriptor = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            if _libc.syncfs(descriptor) != 0:
                code = ctypes.get_errno()
                raise DynoError(f"the volume at {self.path} cannot be synced: {os.strerror(code)}")
        finally:
            os.close(descriptor)
        self._device.flush()

    def cut(self) -> None:
        """Cuts the power of the disk: what was not flushed is lost. All users of the file system
        get errors from now on; `release` follows once nobody does."""
        self.is_on = False
        self._device.cut()

    def release(self) -> None:
        """Lets go of the file system of a disk that has no power."""
        self._unmount()

    def restore(self) -> None:
        """Gives the disk its power back: the file system recovers, from the image alone."""
        self._mount(self._device.power_on())

    def fail_flushes(self, failing: bool) -> None:
        """Whether an fsync fails with an I/O error from now on, as on a disk with a defect."""
        self._device.fail_flushes(failing)

    def can_be_written(self) -> bool:
        """Whether the file system takes writes: after a failed flush it may have given up."""
        file = self.path / ".writable"
        try:
            file.touch()
            file.unlink()
        except OSError:
            return False
        return True

    def remount(self) -> None:
        """Mounts the file system again, by a disk that is switched off and on. Servers on it must
        have ended."""
        self.is_on = False
        self._unmount()
        self._device.power_off()
        self.restore()

    @property
    def number(self) -> str:
        """ "MAJOR:MINOR" of the disk."""
        info = self._loop.stat().st_rdev
        return f"{os.major(info)}:{os.minor(info)}"

    def close(self) -> None:
        """Removes it. Servers on it must have ended."""
        self.is_on = False
        self._unmount()
        self._device.power_off()
        shutil.rmtree(self._directory, ignore_errors=True)

    def _mount(self, loop: Path) -> None:
        asked = self.asked
        options = ",".join(filter(None, (*OWN_OPTIONS[asked.filesystem], asked.mount_options)))
        more = ("-o", options) if options else ()
        self._device.tool("mount", "-t", asked.filesystem, *more, loop, self.path)
        self.path.chmod(0o711)
        self._loop = loop
        self.is_on = True

    def _unmount(self) -> None:
        """Returns once nothing is mounted in the directory, and no loop device is left on it."""
        deadline = time.monotonic() + UNMOUNT_TIMEOUT_S
        place = str(self._directory)
        while guardian.mounts_below(place) or guardian.loops_below(place):
            is_over = time.monotonic() > deadline
            guardian.unmount_below(place, lazily=is_over)
            if is_over:
                raise DynoError(
                    f"{self.path} cannot be unmounted",
                    cause="a process that is not dbdyno's uses it",
                    fix=f"see `fuser -vm {self.path}`",
                )
            time.sleep(POLL_S)
