"""The volumes of a hard combination's servers: made afresh for each start, and believed once their
power was cut and they kept what they must, and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from dbdyno.errors import DynoError
from dbdyno.experiment.types import Node
from dbdyno.hosts.base import Host
from dbdyno.storage import needed, probe
from dbdyno.storage.device import detach_orphans
from dbdyno.storage.probe import Examined
from dbdyno.storage.volume import Volume
from dbdyno.systems.base import TargetPlan
from dbdyno.wording.numbers import sig3


class Volumes:
    """By the names of their nodes."""

    def __init__(
        self, host: Host, say: Callable[[str], None], remark: Callable[[str], None]
    ) -> None:
        """`remark` takes sentences for readers of the next trial."""
        self._host = host
        self._say = say
        self._remark = remark
        self._made: dict[str, Volume] = {}
        self._examined: dict[tuple[str, object], Examined] = {}  # once a run: by node and volume

    def make(self, target: TargetPlan, node: Node, directory: Path) -> tuple[Volume, Examined]:
        """An empty volume in a directory, which it makes. DynoError where there can be none, or it
        is not what was asked for."""
        asked = target.volume
        assert asked is not None
        needed.check(asked)
        if not self._made:
            detach_orphans()
        volume = self._made[node.name] = Volume(self._host, directory, asked)
        volume.create()
        key = (node.name, asked)
        if key not in self._examined:
            seen = probe.examine(volume)
            if remark := probe.judge(target.name, asked, seen):
                self._remark(remark)
            self._examined[key] = seen
            self._say(
                f"volume of {node.name}: its power was cut, and it kept"
                f" {'what was fsynced' if seen.kept else 'not even what was fsynced'};"
                f" an fsync takes {sig3(seen.fsync_s * 1e3)} ms"
            )
        volume.keeps = self._examined[key].kept
        return volume, self._examined[key]

    def flush(self) -> None:
        """Puts on the disks for good what has been written so far: a trial begins."""
        for volume in self._made.values():
            volume.flush()

    def broken(self) -> str:
        """Which disk has ended by itself; empty if none has."""
        names = [name for name, volume in self._made.items() if not volume.alive()]
        return f"the disk of the volume of {' and '.join(names)} ended in the trial" * bool(names)

    def close(self) -> None:
        """Removes them all, whose servers have ended. DynoError, once all were tried, for one that
        cannot be removed."""
        problems = []
        while self._made:
            _, volume = self._made.popitem()
            try:
                volume.close()
            except DynoError as error:
                problems.append(error)
        if problems:
            raise problems[0]
