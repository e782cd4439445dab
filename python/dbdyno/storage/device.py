"""A disk with a volatile cache, as a loop device: an image behind `nbdkit --filter=cache`.

Writes stay in the cache, a file that only nbdkit holds, until a flush puts them into the image
(nbdkit-cache-filter(1), `cache=writeback`). SIGKILL to nbdkit is the power cut: the image then has
what was flushed, and nothing else. nbdfuse(1) gives the disk to the kernel as a file, and a loop
device with direct I/O makes a disk of it, whose flushes are those of the file.

A disk that lies is the same one, declared to the kernel as a disk without a volatile cache
(`queue/write_cache`, "write through"), so that no flush reaches it: ABI/stable/sysfs-block.
"""

from __future__ import annotations

import os
import signal
import tempfile
import time
from pathlib import Path

from dbdyno.errors import DynoError
from dbdyno.experiment.types import IGNORED, Volume
from dbdyno.hosts.base import Host, TimedOut
from dbdyno.storage.needed import path_of
from dbdyno.systems.process import guardian
from dbdyno.systems.process.guarded import Guarded
from dbdyno.systems.process.owner import new_path

DISK = "dyno-disk"  # the name of its file
READY_TIMEOUT_S = 20.0
KILL_TIMEOUT_S = 10.0
TOOL_TIMEOUT_S = 120.0
POLL_S = 0.01
LOG_CHARS = 500
SYSFS = Path("/sys/block")


def detach_orphans() -> None:
    """Detaches loop devices of disks that have gone without a guardian: their file has lost its
    directory, which that of a living one never does (a container that was stopped, a SIGTERM to
    all processes, on which nbdfuse unmounts itself)."""
    for backing in SYSFS.glob("loop*/loop/backing_file"):
        if guardian.backing(loop := backing.parts[3]) == f"/{DISK}":
            guardian.detach(loop, f"/{DISK}")


class Device:
    """One disk. `directory` holds its image, its cache and its log; before it is removed, what is
    mounted below it must be unmounted, as guardians do."""

    def __init__(self, host: Host, directory: Path, volume: Volume) -> None:
        self._host = host
        self._directory = directory
        self._volume = volume
        self._image = directory / "image"
        self._log = directory / "disk.log"
        self._fuse = directory / "fuse"
        self._failing = directory / "failing"  # while it exists, flushes fail
        self._disk: Guarded | None = None
        self._kernel: Guarded | None = None

    def create(self) -> None:
        """Makes the image: a sparse file. It is off."""
        self._fuse.mkdir(mode=0o700)
        with self._image.open("xb") as file:
            file.truncate(self._volume.size_bytes)

    def power_on(self) -> Path:
        """Starts it; the loop device. DynoError with what its programs say."""
        sockets = new_path(Path(tempfile.gettempdir()))
        socket, file = sockets / "nbd", self._fuse / DISK
        environment = {"PATH": os.defpath, "LC_ALL": "C", "TMPDIR": str(self._directory)}
        self._disk = Guarded(host=self._host, make=[sockets])
        self._disk.launch(
            [
                *(path_of("nbdkit"), "--foreground", "--unix", socket),
                # Below the cache: what is written is taken, and the flush of it fails.
                *("--filter=cache", "--filter=error", "file", f"file={self._image}"),
                *("cache=writeback", "error=EIO"),
                *(f"error-{call}-rate=100%" for call in ("pwrite", "zero", "trim")),
                *(f"error-{call}-file={self._failing}" for call in ("pwrite", "zero", "trim")),
            ],
            environment=environment,
            log=self._log,
            stop_timeout_s=0.5,
        )
        self._await(self._disk, socket)
        self._kernel = Guarded(
            [path_of("nbdfuse"), file, "--unix", socket],
            host=self._host,
            environment=environment,
            log=self._log,
            # Asked to end it would unmount itself, lazily, and a loop device on it would lose the
            # path by which guardians know it.
            stop_signal=signal.SIGKILL,
        )
        self._await(self._kernel, file)
        loop = Path(self.tool("losetup", "--find", "--show", "--direct-io=on", file).strip())
        self._declare(loop, "write through" if self._volume.flushes == IGNORED else "write back")
        return loop

    def alive(self) -> bool:
        """Whether both of its processes run."""
        return all(one is not None and one.alive() for one in (self._disk, self._kernel))

    def flush(self) -> None:
        """Puts the cache into the image, whatever the kernel believes: fsync of the very disk."""
        descriptor = os.open(self._fuse / DISK, os.O_RDWR | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def fail_flushes(self, failing: bool) -> None:
        """Whether flushes fail with an I/O error from now on."""
        if failing:
            self._failing.touch()
        else:
            self._failing.unlink(missing_ok=True)

    def cut(self) -> None:
        """Ends it at once; what was not flushed is lost. DynoError if it does not end."""
        for process in (self._disk, self._kernel):  # its cache first: nothing can be flushed then
            if process is not None and not process.kill(KILL_TIMEOUT_S):
                raise DynoError(
                    f"a process of the disk in {self._directory} does not die of SIGKILL",
                    cause="it waits for storage that does not answer (state D)",
                    fix="look at `dmesg`",
                )
        self._forget()

    def power_off(self) -> None:
        """Ends it once it is not mounted any more; a disk that is off stays so."""
        self._forget()

    def tool(self, name: str, *arguments: str | Path) -> str:
        """Runs a program of the system to its end; its output. DynoError with what it says."""
        words = [path_of(name), *arguments]
        try:
            done = self._host.run(
                words,
                timeout_s=TOOL_TIMEOUT_S,
                environment={"PATH": os.defpath + ":/usr/sbin:/sbin", "LC_ALL": "C"},
            )
        except TimedOut:
            raise DynoError(
                f"`{name}` did not end within {TOOL_TIMEOUT_S:.0f} s",
                cause="storage that does not answer",
                fix="look at `dmesg`",
            ) from None
        if done.returncode != 0:
            said = (done.stderr or done.stdout).strip()[-LOG_CHARS:]
            raise DynoError(
                f"a volume cannot be made: `{' '.join(map(str, words))}` failed: {said}",
                cause="an option that this kernel does not have, no loop device, or a full disk",
                fix="look at `dmesg | tail`, and at `mount_options` of the volume",
            )
        return done.stdout

    def _declare(self, loop: Path, cache: str) -> None:
        """Declares to the kernel whether the disk has a volatile cache. A loop device keeps its
        last declaration, also that of an earlier user."""
        file = SYSFS / loop.name / "queue/write_cache"
        try:
            file.write_text(f"{cache}\n")
        except OSError as error:
            raise DynoError(
                f"the cache of {loop} cannot be declared `{cache}`: {file}: {error.strerror}",
                cause="a kernel or container in which root may not",
                fix="run dyno on the host itself",
            ) from None

    def _await(self, process: Guarded, path: Path) -> None:
        """Returns once a path is there that a program makes when it is ready."""
        deadline = time.monotonic() + READY_TIMEOUT_S
        while not os.path.lexists(path):
            if not process.alive() or time.monotonic() > deadline:
                raise DynoError(
                    f"the disk of a volume did not start ({path.name})",
                    cause=self._log.read_text(errors="replace").strip()[-LOG_CHARS:],
                    fix="look at `dmesg | tail`",
                )
            time.sleep(POLL_S)

    def _forget(self) -> None:
        for process in (self._kernel, self._disk):
            if process is not None:
                process.stop(0.5)
        self._kernel = self._disk = None
