"""Whether a volume does what it says: tried on the volume itself, once, before it is believed.

Three files: one is written and fsynced, one is written and left to the kernel, one is overwritten
by O_DIRECT, past the kernel's caches and into the disk's, and not flushed. Then the power is cut.
"""

from __future__ import annotations

import mmap
import os
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from dbdyno.errors import DynoError
from dbdyno.experiment import types
from dbdyno.experiment.types import IGNORED
from dbdyno.storage.volume import Volume

BLOCK = 4096
FSYNCS = 25
TRIES = 3


@dataclass(frozen=True)
class Examined:
    """What was seen. `fsync_s`: the median time of 4 KiB appended and fsynced."""

    fsync_s: float
    kept: bool  # whether what was fsynced survived the cut
    left: bool  # whether what was left to the kernel did
    direct: bool  # whether what the disk had in its cache did, which nobody had flushed

    def facts(self, asked: types.Volume) -> dict[str, Any]:
        """For a trial's record, with what was asked for."""
        return {
            "size_bytes": asked.size_bytes,
            "filesystem": asked.filesystem,
            "mount_options": asked.mount_options,
            "flushes": asked.flushes,
            "fsync_s": self.fsync_s,
            "fsynced_survives": self.kept,
        }


def examine(volume: Volume) -> Examined:
    """Cuts the power of an empty, mounted volume, and looks; it is empty again afterwards. Where
    more has survived than was flushed, it is tried again: another program's `sync` flushes all
    volumes of the machine, and may have come in between."""
    seen = _examine(volume)
    for _ in range(TRIES - 1):
        if not seen.left and not seen.direct:
            break
        seen = _examine(volume)
    return seen


def _examine(volume: Volume) -> Examined:
    fsynced, left, direct = (volume.path / name for name in ("fsynced", "left", "direct"))
    _write(direct, b"0", sync=True)
    volume.flush()
    fsync_s = _fsync_s(volume.path / "timed")
    _write(left, b"1")
    _write_past_caches(direct)
    _write(fsynced, b"1", sync=True)
    _write_past_caches(direct, b"2")
    volume.cut()
    volume.release()
    volume.restore()
    kept = _read(fsynced) == b"1"
    left_survives, direct_survives = _read(left) is not None, _read(direct) == b"2"
    for path in volume.path.iterdir():
        if path.is_file():
            path.unlink()
    volume.flush()
    return Examined(fsync_s, kept, left_survives, direct_survives)


def judge(target: str, asked: types.Volume, seen: Examined) -> str:
    """What a reader must know of a volume; mostly nothing. DynoError if it is not what was asked
    for, so that no trial on it could be believed."""
    obeys, options = asked.flushes != IGNORED, asked.mount_options
    if seen.direct or (seen.left and not options):
        raise _broken(target, "what was not flushed has survived a power cut")
    if not obeys and seen.kept:
        raise _broken(target, "`flushes: ignored` does not ignore them: an fsynced file survived")
    if obeys and not seen.kept and not options:
        raise _broken(target, "a file that was fsynced has not survived a power cut")
    if obeys and not seen.kept:
        what = "a file that was fsynced did not survive a power cut"
    elif seen.left:  # data=journal: an fsync flushes what was written to other files, too
        what = "a file that was not fsynced survived a power cut together with one that was"
    else:
        return ""
    return f"volume of {target}: with the mount options `{options}` {what}, before the first trial"


def _broken(target: str, what: str) -> DynoError:
    return DynoError(
        f"the volume of target `{target}` is not what was asked for: {what}",
        cause="a kernel or an nbdkit that treats flushes in another way, or a program that calls"
        " sync(2) again and again",
        fix="end such a program; else run `nbdkit --version` and `uname -r`, and report both",
    )


def _fsync_s(path: Path) -> float:
    taken = []
    with path.open("xb", buffering=0) as file:
        for _ in range(FSYNCS):
            begun = time.perf_counter()
            file.write(bytes(BLOCK))
            os.fsync(file.fileno())
            taken.append(time.perf_counter() - begun)
    return median(taken)


def _write(path: Path, byte: bytes, *, sync: bool = False) -> None:
    with path.open("wb") as file:
        file.write(byte * BLOCK)
        file.flush()
        if sync:
            os.fsync(file.fileno())
    if sync:
        directory = os.open(path.parent, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(directory)
        finally:
            os.close(directory)


def _write_past_caches(path: Path, byte: bytes = b"1") -> None:
    """Overwrites the first block by O_DIRECT, which needs aligned memory."""
    descriptor = os.open(path, os.O_WRONLY | os.O_DIRECT | os.O_CLOEXEC)
    try:
        with mmap.mmap(-1, BLOCK) as block:
            block.write(byte * BLOCK)
            os.pwrite(descriptor, block, 0)
    finally:
        os.close(descriptor)


def _read(path: Path) -> bytes | None:
    """The byte that a file consists of; None if there is none, or it is empty."""
    try:
        return path.read_bytes()[:1] or None
    except OSError:
        return None
