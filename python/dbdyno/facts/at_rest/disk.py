"""Whether the device under a directory is encrypted by dm-crypt.

Source: the kernel's documentation of /sys/dev/block, whose `dm/uuid` begins with CRYPT for a
mapping of dm-crypt. A device without one may lie on storage that encrypts below the host.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

SYS = Path("/sys/dev/block")


def encryption(path: Path, sys: Path = SYS) -> tuple[str, str]:
    """(kind of dm-crypt or empty, how that is known)."""
    device = os.stat(path).st_dev
    number = f"{os.major(device)}:{os.minor(device)}"
    for layer in _layers(sys / number):
        try:
            uuid = (layer / "dm" / "uuid").read_text()
        except OSError:
            continue
        if uuid.startswith("CRYPT-"):
            return uuid.split("-")[1], f"{layer / 'dm' / 'uuid'}"
    return "", f"{sys / number}: no mapping of dm-crypt is seen"


def _layers(device: Path) -> Iterator[Path]:
    """A block device, and those that it is made of. Partitions are part of a disk."""
    yield device
    below = device / "slaves"
    if below.is_dir():
        for one in sorted(below.iterdir()):
            yield from _layers(one)
