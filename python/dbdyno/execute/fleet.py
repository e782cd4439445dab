"""The servers of a hard combination: loaded once, copied for each start, started, stopped.

A *snapshot* is the stopped data directory of a freshly loaded server. It is keyed by everything
that files on disk can depend on: kind, version, data settings and what was loaded. Servers never
run on a snapshot, only on copies of it (reflinks where the file system has them).
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dbdyno import systems
from dbdyno.errors import DynoError
from dbdyno.execute.control import Control
from dbdyno.execute.copying import copy_tree
from dbdyno.execute.engine import Event, Job, error_of
from dbdyno.execute.request import DATABASE, LOAD_THREADS_MAX, load_request
from dbdyno.plan.data import data_sets
from dbdyno.plan.types import Cell
from dbdyno.systems.base import Binaries, Resolved, Server, System, TargetPlan
from dbdyno.systems.scratch import Scratch

SETTLE_BYTES = 64 << 20  # Dirty + Writeback below this is quiet
SETTLE_MAX_S = 30.0

DataSet = tuple[str, dict[str, Any]]  # workload, and the options that decide what is loaded


@dataclass
class Member:
    """One target of a cell, and its server once started."""

    target: TargetPlan
    system: System
    binaries: Binaries
    resolved: Resolved
    server: Server | None = None

    def engine_target(self) -> dict[str, Any]:
        """How the engine reaches it."""
        assert self.server is not None
        return self.server.engine_target(self.target, self.resolved, DATABASE)


class Fleet:
    """Keeps the servers that the current cell needs. `say` hears what takes long."""

    def __init__(
        self,
        scratch: Scratch,
        engine: Path,
        seed: int,
        cpus: Sequence[int],
        control: Control,
        say: Callable[[str], None],
        on_load: Callable[[Event], None],
    ) -> None:
        self._scratch = scratch
        self._engine = engine
        self._seed = seed
        self._cpus = cpus
        self._control = control
        self._say = say
        self._on_load = on_load
        self.members: dict[str, Member] = {}
        self.loaded_s = 0.0  # time spent on snapshots so far
        self._remarks: list[str] = []

    @property
    def scratch(self) -> Path:
        """Where the servers' files are."""
        return self._scratch.path

    # ---- life of a hard combination

    def start(self, cell: Cell) -> None:
        """Stops what runs, and starts this cell's servers afresh on a copy of loaded data."""
        self.stop()
        self._scratch.renew()
        self._remarks.clear()
        for target in cell.targets:
            self._control.check()
            system = systems.load(target.kind)
            member = Member(target, system, system.find(target.basedir), system.resolve(target))
            snapshot = self._snapshot(member, cell)
            self._begin(member, snapshot)
            self.members[target.name] = member
        if cell.state.cache == "cold":
            self._drop_caches(cell)
        self._settle()

    def adopt(self, cell: Cell) -> None:
        """Goes on with the running servers for another cell of the same hard combination. Its
        connections may differ (protocol, TLS, transport, the driver's options)."""
        for target in cell.targets:
            member = self.members[target.name]
            member.target, member.resolved = target, member.system.resolve(target)

    def stop(self) -> None:
        """Stops all servers and removes their working directories."""
        while self.members:
            name, member = self.members.popitem()
            if member.server:
                member.server.stop(discard=True)
            shutil.rmtree(self._work(name), ignore_errors=True)

    def remarks(self) -> tuple[str, ...]:
        """What a reader of the first trial after a start should know; told once."""
        told = tuple(self._remarks)
        self._remarks.clear()
        return told

    def alive(self) -> bool:
        """Whether every server still answers."""
        return all(member.server and member.server.alive() for member in self.members.values())

    # ---- data

    def _snapshot(self, member: Member, cell: Cell) -> Path:
        """Path of the loaded, stopped directory for this target; loads it if need be."""
        sets = data_sets(cell.groups, member.target)
        key = snapshot_key(member, sets)
        path = self._scratch.path / "snapshots" / key
        if path.exists():
            return path
        begun = time.monotonic()
        building = path.with_name(f"{key}.partial")
        shutil.rmtree(building, ignore_errors=True)
        building.parent.mkdir(mode=0o711, exist_ok=True)
        self._say(f"{member.target.kind} {member.binaries.version}: creating and loading data")
        loading = _with(member.resolved, member.resolved.load_settings)
        member.system.prepare(member.binaries, building, loading)
        server = member.system.start(
            member.binaries, building, loading, cpus=self._cpus, transport=member.target.transport
        )
        try:
            server.create_schema(DATABASE)
            if sets:
                self._load(member, server, loading, sets)
                server.settle(DATABASE)
        except BaseException:
            server.stop(discard=True)
            raise
        if not server.stop():
            raise DynoError(
                f"{member.target.kind} did not stop cleanly after its data was loaded",
                cause="it was killed, or took too long to write its caches back; "
                "its files would have to be recovered before each trial",
                fix="look at the memory and the disk of the machine, then run again",
            )
        building.rename(path)
        self.loaded_s += time.monotonic() - begun
        return path

    def _load(
        self, member: Member, server: Server, resolved: Resolved, sets: Sequence[DataSet]
    ) -> None:
        directory = self._scratch.path / "load"
        directory.mkdir(exist_ok=True)
        threads = min(os.cpu_count() or 1, LOAD_THREADS_MAX)
        target = server.engine_target(member.target, resolved, DATABASE)
        request = load_request(member.target.name, target, sets, self._seed, directory, threads)
        job = Job(self._engine, request, directory / "events.ndjson")
        with self._control.watching(job):
            outcome = job.run(self._on_load)
        self._control.check()
        if outcome.end is None or outcome.returncode != 0:
            raise error_of(outcome, f"loading {member.target.name}")

    def _begin(self, member: Member, snapshot: Path) -> None:
        work = self._work(member.target.name)
        shutil.rmtree(work, ignore_errors=True)
        work.parent.mkdir(mode=0o711, exist_ok=True)
        copy_tree(snapshot, work)
        member.server = member.system.start(
            member.binaries,
            work,
            member.resolved,
            cpus=self._cpus,
            transport=member.target.transport,
        )

    def _work(self, name: str) -> Path:
        return self._scratch.path / "work" / name

    # ---- the machine around them

    def _drop_caches(self, cell: Cell) -> None:
        """Empties the kernel's page cache; the servers' own are empty, having just started."""
        os.sync()
        try:
            Path("/proc/sys/vm/drop_caches").write_text("3\n")
        except OSError as error:
            raise DynoError(
                "state.cache: cold needs the right to drop the kernel's page cache",
                cause=str(error.strerror),
                fix="run as root, or set `state: {cache: warm}`",
            ) from error

    def _settle(self) -> None:
        """Waits until what loading and copying wrote is on its way no more."""
        os.sync()
        deadline = time.monotonic() + SETTLE_MAX_S
        while (left := _unwritten_bytes()) > SETTLE_BYTES:
            if time.monotonic() > deadline:
                self._remarks.append(
                    f"{left >> 20} MiB were still being written back {SETTLE_MAX_S:.0f} s after the"
                    " servers' start, when this trial began"
                )
                self._say(self._remarks[-1])
                return
            self._control.check()
            time.sleep(0.2)


def snapshot_key(member: Member, sets: Sequence[DataSet]) -> str:
    """Names everything that the files of a loaded server depend on."""
    facts = {
        "kind": member.target.kind,
        "version": member.binaries.version,
        "settings": dict(member.resolved.data_settings),
        "data": list(sets),
    }
    digest = hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()
    return f"{member.target.kind}-{digest[:16]}"


def _with(resolved: Resolved, settings: Any) -> Resolved:
    """The same target with some settings replaced while loading."""
    return Resolved(
        settings={**resolved.settings, **settings},
        session_sql=resolved.session_sql,
        words=resolved.words,
        data_settings=resolved.data_settings,
    )


def _unwritten_bytes() -> int:
    total_kib = 0
    for line in Path("/proc/meminfo").read_text().splitlines():
        name, _, rest = line.partition(":")
        if name in ("Dirty", "Writeback"):
            total_kib += int(rest.split()[0])
    return total_kib * 1024
