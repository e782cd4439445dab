"""Loaded data sets: each made once, kept as a stopped directory that servers start from copies of.

A *snapshot* is keyed by everything that files on disk can depend on: kind, version, data settings
and what was loaded. What fails half-way is never a snapshot.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from dbdyno import topology
from dbdyno.errors import DynoError
from dbdyno.execute.context import ExecutionContext
from dbdyno.execute.engine.job import error_of
from dbdyno.execute.engine.request import DATABASE, LOAD_THREADS_MAX, load_request
from dbdyno.execute.servers.copying import copy_tree
from dbdyno.execute.servers.deployment import Deployment
from dbdyno.execute.servers.sql_files import import_file
from dbdyno.experiment.targets import setups
from dbdyno.experiment.types import Setup
from dbdyno.plan.data import data_sets, setup_facts
from dbdyno.plan.types import Cell
from dbdyno.systems.base import Resolved, Server
from dbdyno.systems.process.scratch import Scratch

DataSet = tuple[str, dict[str, Any]]  # workload, and the options that decide what is loaded


@dataclass(frozen=True)
class Snapshot:
    """A loaded, stopped directory."""

    path: Path
    database: str  # the schema that holds the data

    @property
    def key(self) -> str:
        """Equal for equal data."""
        return self.path.name


class Snapshots:
    """Makes and keeps them."""

    def __init__(self, context: ExecutionContext, scratch: Scratch) -> None:
        self._context = context
        self._scratch = scratch
        self._say = context.say
        self._made: dict[tuple[Path, str], Snapshot] = {}  # by scratch directory and key
        self.loaded_s = 0.0  # time spent so far

    def of(self, deployment: Deployment, cell: Cell) -> Snapshot:
        """The snapshot for this target; made if need be."""
        sets = data_sets(cell.groups, deployment.target)
        key = snapshot_key(deployment, sets)
        place = (self._scratch.path, key)
        found = self._made.get(place)
        if found is None:
            begun = time.monotonic()
            found = self._made[place] = self._make(key, deployment, sets)
            self.loaded_s += time.monotonic() - begun
        return found

    def fill(
        self,
        deployment: Deployment,
        server: Server,
        resolved: Resolved,
        database: str,
        sets: Sequence[DataSet],
    ) -> None:
        """Puts everything into a schema of a running server: files, then rows that the engine
        makes, then the statements after them."""
        setup = deployment.target.setup or Setup()
        unchanged(setup)
        for path in (setup.dump, *setup.sql):
            if path is not None:
                import_file(
                    Path(path),
                    server,
                    database,
                    self._context.host,
                    self._say,
                    self._context.control,
                )
        if sets:
            self._load(deployment, server, resolved, database, sets)
        if setup.after:
            self._context.control.check()
            server.run(database, setup.after)
        if sets or setup != Setup():
            server.settle(database)

    def _make(self, key: str, deployment: Deployment, sets: Sequence[DataSet]) -> Snapshot:
        path = self._scratch.path / "snapshots" / key
        building = path.with_name(f"{key}.partial")
        shutil.rmtree(building, ignore_errors=True)
        building.parent.mkdir(mode=0o711, exist_ok=True)
        self._say(
            f"{deployment.target.kind} {deployment.binaries.version}: creating and loading data"
        )
        loading = _with(deployment.resolved, deployment.resolved.load_settings)
        self._prepare(deployment, building, loading)
        server = deployment.system.start(
            deployment.binaries, building, loading, self._context.plan.server_cpus
        )
        try:
            database = self._schema(deployment, server)
            self.fill(deployment, server, loading, database, sets)
        except BaseException:
            server.stop(discard=True)
            shutil.rmtree(building, ignore_errors=True)
            raise
        if not server.stop():
            raise DynoError(
                f"{deployment.target.kind} did not stop cleanly after its data was loaded",
                cause="it was killed, or took too long to write its caches back; "
                "its files would have to be recovered before each trial",
                fix="look at the memory and the disk of the machine, then run again",
            )
        cpus = self._context.plan.server_cpus
        topology.seed(
            *(deployment.target, deployment.system, deployment.binaries),
            *(deployment.resolved, building, cpus),
        )
        building.rename(path)
        return Snapshot(path, database)

    def _prepare(self, deployment: Deployment, building: Path, loading: Resolved) -> None:
        setup = deployment.target.setup
        if setup is None or setup.template is None:
            deployment.system.prepare(deployment.binaries, building, loading)
            return
        unchanged(setup)
        template = Path(setup.template).resolve()
        self._say(f"copying {template}")
        deployment.system.place_template(
            deployment.binaries, template, building, partial(copy_tree, self._context.host)
        )

    def _schema(self, deployment: Deployment, server: Server) -> str:
        """The schema that the load will go to: one of the template's, or one of our own."""
        setup = deployment.target.setup
        if setup is None or setup.template is None:
            server.create_schema(DATABASE)
            return DATABASE
        there = server.schemas()
        if setup.schema is not None:
            if setup.schema not in there:
                raise DynoError(
                    f"the template of target `{deployment.target.name}` has no schema"
                    f" {setup.schema}",
                    fix=f"give one of: {', '.join(there) or 'none: it is empty'}",
                )
            return setup.schema
        if len(there) == 1:
            return there[0]
        if there:
            raise DynoError(
                f"the template of target `{deployment.target.name}` has several schemas",
                fix=f"say which is used: `schema:`, one of {', '.join(there)}",
            )
        server.create_schema(DATABASE)
        return DATABASE

    def _load(
        self,
        deployment: Deployment,
        server: Server,
        resolved: Resolved,
        database: str,
        sets: Sequence[DataSet],
    ) -> None:
        directory = self._scratch.path / "load"
        directory.mkdir(exist_ok=True)
        threads = min(os.cpu_count() or 1, LOAD_THREADS_MAX)
        target = server.engine_target(deployment.target, resolved, database)
        seed = self._context.plan.seed
        request = load_request(deployment.target.name, target, sets, seed, directory, threads)
        job = self._context.job(request, directory)
        outcome = self._context.drive(job, self._context.listener.on_event)
        if outcome.end is None or outcome.spoilt or outcome.returncode != 0:
            raise error_of(outcome, f"loading {deployment.target.name}")


def snapshot_key(deployment: Deployment, sets: Sequence[DataSet]) -> str:
    """Names everything that the files of a loaded server depend on."""
    facts = {
        "kind": deployment.target.kind,
        "version": deployment.binaries.version,
        "settings": dict(deployment.resolved.data_settings),
        "data": list(sets),
        "setup": setup_facts(deployment.target),
    }
    digest = hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()
    return f"{deployment.target.kind}-{digest[:16]}"


def unchanged(setup: Setup) -> None:
    """DynoError if a file is not what it was when the experiment was read: a run's trials would
    then not all be of the same data."""
    path = setups.changed(setup)
    if path is not None:
        raise DynoError(
            f"{path} has changed since this run was begun, or is gone",
            cause="the run's plan names its content, so that all trials see the same data",
            fix="put the old file back, or begin a new run",
        )


def _with(resolved: Resolved, settings: Any) -> Resolved:
    """The same target with some settings replaced while loading."""
    return Resolved(
        settings={**resolved.settings, **settings},
        session_sql=resolved.session_sql,
        words=resolved.words,
        data_settings=resolved.data_settings,
    )
