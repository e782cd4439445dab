"""A file system on a disk whose power can be cut: where one server's directory lies."""

from __future__ import annotations

import ctypes
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dbdyno.errors import DynoError
from dbdyno.experiment import types
from dbdyno.hosts.base import Host
from dbdyno.storage.device import Device
from dbdyno.storage.needed import mkfs
from dbdyno.systems.process import guardian

UNMOUNT_TIMEOUT_S = 30.0
POLL_S = 0.02
LOW_BYTES = 16 << 20  # a scratch disk with less than that left counts as full
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
        self.keeps = True  # whether an fsync reaches the disk, as far as is known
        self._loop = Path()
        self._directory = directory
        self._device = Device(host, directory, asked)

    def create(self) -> None:
        """Makes an empty one, and mounts it. DynoError if that fails; nothing is left then."""
        self.close()  # what an earlier one could not remove
        self._directory.mkdir(mode=0o711, parents=True)
        self._directory.chmod(0o711)  # whatever our umask is
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
        options say of flushes. DynoError if it cannot be."""
        with self._flushing():
            descriptor = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC)
            try:
                if _libc.syncfs(descriptor) != 0:
                    code = ctypes.get_errno()
                    raise OSError(code, os.strerror(code))
            finally:
                os.close(descriptor)
            self._device.flush()

    @contextmanager
    def _flushing(self) -> Iterator[None]:
        """An error of the disk as a DynoError with its cause."""
        try:
            yield
        except OSError as error:
            cause, fix = "the disk or its file system has failed", "look at `dmesg | tail`"
            if not self._device.alive():
                cause = "the programs that are its disk have ended"
                fix = "see that nothing kills nbdkit and nbdfuse (`dmesg | tail`), and run it again"
            elif shutil.disk_usage(self._directory).free < LOW_BYTES:
                cause = "the disk that the scratch directory lies on is full"
                fix = (
                    "free some space there (a volume takes up to twice its size), or use --scratch"
                )
            raise DynoError(
                f"the volume at {self.path} cannot be flushed: {error.strerror or error}",
                cause=cause,
                fix=fix,
            ) from None

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
        deadline = time.monotonic() + UNMOUNT_TIMEOUT_S
        while self._is_mounted() and time.monotonic() < deadline:
            _libc.umount2(os.fsencode(self.path), 0)
            time.sleep(POLL_S)
        with self._flushing():  # it is no power cut
            self._device.flush()
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

    def _is_mounted(self) -> bool:
        return str(self.path) in guardian.mounts_below(str(self._directory))

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
