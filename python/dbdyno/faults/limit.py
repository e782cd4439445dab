"""Less CPU, memory or disk for one server: a control group of version 1 with `cpu.cfs_quota_us`,
`memory.limit_in_bytes` and `blkio.throttle.*_device` of its volume, into which its processes are
moved and out of which they are moved again. Writes that the kernel makes later are not throttled;
those of an fsync and of O_DIRECT are (cgroup-v1/blkio-controller.txt).

Only for root. Memory that a server has touched before stays charged where it was, so that a limit
is one of what it touches from then on (cgroup-v1/memory.txt, "move charges at task migration").
The name of a group names the dyno that made it, so that the next one knows which is abandoned.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
from collections.abc import Iterator
from pathlib import Path

from dbdyno.errors import DynoError
from dbdyno.experiment.values.faults import (
    Fault,
)
from dbdyno.faults.base import Fleeting, Node
from dbdyno.hosts.base import began_ticks
from dbdyno.systems.process import tree

ROOT = Path("/sys/fs/cgroup")
CONTROLLERS = ("cpu", "memory", "blkio")
PERIOD_US = 100_000  # the kernel's own
NAME = re.compile(r"dyno-fault-(\d+)-(\d+)-[0-9a-f]{8}")


class Limit(Fleeting):
    """See the module."""

    name = "limit"
    about = (
        "gives the server less CPU (`cpu: 0.5`), memory (`memory: 256Mi`) or disk"
        " (`disk: {iops: 500}`, of its `volume`); needs root"
    )
    lasts = True

    def __init__(self, root: Path = ROOT) -> None:
        self._root = root

    def begin(self, node: Node, fault: Fault) -> str:
        node.must_run()
        assert node.server.pid is not None
        me = os.getpid()
        name = f"dyno-fault-{me}-{began_ticks(me)}-{secrets.token_hex(4)}"
        try:
            for controller, file, value in asked(fault, node):
                group = self._ours(controller) / name
                group.mkdir(exist_ok=True)
                (group / file).write_text(f"{value}\n")
                for pid in (node.server.pid, *tree.below(node.server.pid)):
                    _move(pid, group)
        except OSError as error:
            self._remove(name)
            raise DynoError(
                f"`{node.name}` cannot be limited: {error.filename or 'cgroup'}: {error.strerror}",
                cause="only root may, where the machine has control groups of version 1",
                fix="run dyno as root, or limit the server by a command of yours under `hooks`",
            ) from None
        return name

    def undo(self, node: Node, fault: Fault, said: str) -> str:
        self._remove(said)
        return ""

    def recover(self) -> None:
        for controller in CONTROLLERS:
            for group in (self._root / controller).glob("**/dyno-fault-*"):
                found = NAME.fullmatch(group.name)
                if found and began_ticks(int(found[1])) != int(found[2]):
                    self._remove(group.name)

    def _remove(self, name: str) -> None:
        """Moves who is in such a group to our own, and removes it."""
        if not NAME.fullmatch(name):
            return
        for controller in CONTROLLERS:
            for group in list((self._root / controller).glob(f"**/{name}")):
                for pid in _numbers(group / "cgroup.procs"):
                    _move(pid, group.parent)
                with contextlib.suppress(FileNotFoundError):
                    group.rmdir()

    def _ours(self, controller: str) -> Path:
        """The group that we are in, below which we may make others."""
        for line in Path("/proc/self/cgroup").read_text().splitlines():
            _, controllers, path = line.split(":", 2)
            if controller in controllers.split(","):
                return self._root / controller / path.lstrip("/")
        raise FileNotFoundError(2, "No such controller", f"{self._root}/{controller}")


def asked(fault: Fault, node: Node) -> Iterator[tuple[str, str, str]]:
    """Controller, file and value of each limit."""
    if fault.cpu_cores is not None:
        yield "cpu", "cpu.cfs_quota_us", f"{round(fault.cpu_cores * PERIOD_US)}"
    if fault.memory_bytes is not None:
        yield "memory", "memory.limit_in_bytes", f"{fault.memory_bytes}"
    for unit, value in (("iops", fault.disk_iops), ("bps", fault.disk_bytes_per_s)):
        if value is not None:
            assert node.disk is not None, "checked by experiment.faults"
            for way in ("read", "write"):
                limit = f"{node.disk.number} {value}"
                yield "blkio", f"blkio.throttle.{way}_{unit}_device", limit


def _move(pid: int, group: Path) -> None:
    with contextlib.suppress(ProcessLookupError):
        (group / "cgroup.procs").write_text(f"{pid}\n")


def _numbers(file: Path) -> list[int]:
    try:
        return [int(word) for word in file.read_text().split()]
    except FileNotFoundError:
        return []


FAULT = Limit()
