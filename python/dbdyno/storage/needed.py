"""What volumes need of a machine: root, two devices of the kernel, programs of Debian packages."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from dbdyno.errors import DynoError
from dbdyno.experiment.types import Volume
from dbdyno.systems.process.paths import program

PLACES = tuple(Path(each) for each in ("/usr/bin", "/usr/sbin", "/bin", "/sbin"))
PACKAGES: Mapping[str, str] = {
    "nbdkit": "nbdkit",
    "nbdfuse": "libnbd-bin",
    "fusermount3": "fuse3",
    "losetup": "mount",
    "mount": "mount",
    "mkfs.ext4": "e2fsprogs",
    "mkfs.xfs": "xfsprogs",
    "mkfs.btrfs": "btrfs-progs",
}
DEVICES = (Path("/dev/fuse"), Path("/dev/loop-control"))


def mkfs(volume: Volume) -> str:
    """The program that makes its file system."""
    return f"mkfs.{volume.filesystem}"


def path_of(name: str) -> Path:
    """A program of PACKAGES. DynoError with the command that installs it."""
    found = program(name, PLACES)
    if found is None:
        raise DynoError(
            f"there is no `{name}`, which volumes need",
            fix=f"apt-get install --no-install-recommends {PACKAGES[name]}",
        )
    return found


def check(volume: Volume) -> None:
    """DynoError with the next step where this machine cannot have such a volume."""
    if os.geteuid() != 0:
        raise DynoError(
            "a volume whose power can be cut needs root",
            cause="only root may make loop devices and mount them",
            fix="run dyno as root",
        )
    names = ("nbdkit", "nbdfuse", "fusermount3", "losetup", "mount", mkfs(volume))
    lacking = [name for name in names if program(name, PLACES) is None]
    if lacking:
        packages = " ".join(dict.fromkeys(PACKAGES[name] for name in lacking))
        raise DynoError(
            f"volumes need programs that are missing: {', '.join(lacking)}",
            fix=f"apt-get install --no-install-recommends {packages}",
        )
    absent = [str(device) for device in DEVICES if not device.exists()]
    if absent:
        raise DynoError(
            f"volumes need {' and '.join(absent)}, which this machine does not have",
            cause="a container without these devices, or a kernel without `fuse` and `loop`",
            fix="load the modules, or run dyno on the host itself",
        )
