"""The external servers of a plan: reached once, left as they were found.

An external server has no snapshot. Tables go into a schema of the run's own, one for each data set;
where trials start from restored data that schema is dropped and loaded again. Settings that
`may.set_global` allows are set for a hard combination and restored at the end. All this is written
down first (`ledger`) and undone on every way out (`undo`).
"""

from __future__ import annotations

import hashlib
import secrets
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from dbdyno import kinds
from dbdyno.errors import DynoError
from dbdyno.execute.context import ExecutionContext
from dbdyno.execute.control import Interrupted
from dbdyno.execute.servers import existing, undo
from dbdyno.execute.servers.ledger import FILE, Ledger
from dbdyno.experiment.targets.read_only import session
from dbdyno.plan import data
from dbdyno.plan.types import Cell
from dbdyno.store.lock import holder
from dbdyno.systems.base import Resolved, TargetPlan, Word
from dbdyno.systems.external import reach
from dbdyno.systems.external.server import PREFIX, Mark, RemoteServer

RESTART_TOLERANCE_S = 5.0  # servers tell their age in whole seconds, by their own clock
SETTING_TIMEOUT_S = 30.0  # a buffer pool is resized in the background
REPLICATION_TIMEOUT_S = 600.0
ATTEMPTS_TO_UNDO = 20  # impatient Ctrl-Cs that putting back survives
LEFTOVERS_SHOWN = 5
READ_ONLY = Word(
    "data.existing",
    {},
    "load sessions are read-only: set after all other settings, and verified",
)

# target, server, its words, schema, cell: puts the cell's data into an empty schema
Fill = Callable[[TargetPlan, RemoteServer, Resolved, str, Cell], None]


@dataclass(frozen=True)
class Reached:
    """A target of a cell, ready for load."""

    servers: dict[str, RemoteServer]  # by their nodes' names
    resolved: Resolved
    database: str  # the schema that the load works in


@dataclass
class _Data:
    """A schema of dbdyno. `spoilt`: a trial has changed what was loaded."""

    schema: str
    spoilt: bool


class ExternalServers:
    """All external servers of a run."""

    def __init__(self, context: ExecutionContext, fill: Fill) -> None:
        self._run = run = context.run
        self._control = context.control
        self._say = context.say
        self._fill = fill
        self._servers: dict[str, RemoteServer] = {}
        self._started_unix_s: dict[str, float] = {}
        self._data: dict[tuple[str, str], _Data] = {}
        self._checked: set[str] = set()
        self._greeted: set[str] = set()
        identity = f"{run.plan.name} {run.manifest['created_unix_s']!r}"
        self._ledger = Ledger(run.path, hashlib.sha256(identity.encode()).hexdigest()[:8])
        made = time.strftime("%Y-%m-%d %H:%M:%SZ", time.gmtime())
        self._mark = Mark(self._ledger.run, run.plan.name, made)
        self.loaded_s = 0.0  # spent on loading each data set for the first time
        self._remarks: list[str] = []

    # ---- a hard combination

    def start(self, target: TargetPlan, cell: Cell) -> Reached:
        """Makes a target ready for a cell: reached, set, loaded, replicated."""
        server = self._server(target)
        resolved = self.adopt(target, cell)
        database = target.existing or self._own(target, server, resolved, cell)
        primary, *others = target.nodes
        replicas = {node.name: self._replica(target, node.url) for node in others if node.url}
        if replicas and target.existing is None:
            self._replicated(server, replicas.values(), database)
        return Reached({primary.name: server, **replicas}, resolved, database)

    def adopt(self, target: TargetPlan, cell: Cell) -> Resolved:
        """Makes all but the data ready for a cell; the target's words, as its servers are now."""
        assert target.url is not None
        _check_session(target)
        server = self._server(target)
        resolved = reach.system_of(target).resolve(target)
        self._apply(target.url, server, resolved, again=self._restarted(target, server))
        if target.existing is None:
            return resolved
        self._check_existing(target, server, cell)
        if _writers(target, cell):
            return resolved
        return replace(resolved, read_only=True, words=(*resolved.words, READ_ONLY))

    def told(self) -> list[str]:
        """What a reader should know; reported once."""
        told, self._remarks = self._remarks, []
        return told

    def _server(self, target: TargetPlan) -> RemoteServer:
        assert target.url is not None
        server = self._connected(target, target.url)
        if target.url not in self._greeted:
            self._greeted.add(target.url)
            self._greet(target, server)
        return server

    def _connected(self, target: TargetPlan, url: str) -> RemoteServer:
        server = self._servers.get(url)
        if server is None or not server.alive():
            server = reach.connect(target, url)
            server.mark = self._mark
            self._servers[url] = server
        return server

    def _greet(self, target: TargetPlan, server: RemoteServer) -> None:
        """The first time in this process: undo what a killed one has left, say what is odd."""
        assert target.url is not None
        name = f"target `{target.name}`"
        self._say(f"{name}: {server.version} at {server.place}")
        self._undo_killed(target, server)
        if server.remark:
            self._remark(server.remark)
        if not server.sees_all_sessions():
            lacking = kinds.of(server.kind).sees_sessions
            self._remark(f"{name}: without {lacking} only our own sessions are seen")
        if target.existing is None:
            self._name_leftovers(server)

    def _remark(self, text: str) -> None:
        self._remarks.append(text)
        self._say(text)

    def _replica(self, target: TargetPlan, url: str) -> RemoteServer:
        server = self._connected(target, url)
        if server.remark and url not in self._greeted:
            self._remark(server.remark)
        self._greeted.add(url)
        return server

    def _restarted(self, target: TargetPlan, server: RemoteServer) -> bool:
        """Whether it was restarted since the last check; DynoError if that is not allowed."""
        assert target.url is not None
        started = time.time() - server.uptime_s()
        before = self._started_unix_s.setdefault(target.url, started)
        self._started_unix_s[target.url] = started
        if started - before <= RESTART_TOLERANCE_S:
            return False
        what = f"target `{target.name}`: {server.place} was restarted during the run"
        if not target.may.restart:
            raise DynoError(
                what,
                cause="trials before and after would not be comparable",
                fix=f"go on with `dyno run --resume {self._run.path}`; if a hook of yours restarts "
                "it, say so: `may: {restart: yes}`",
            )
        self._remark(what)
        return True

    # ---- settings

    def _apply(self, url: str, server: RemoteServer, resolved: Resolved, *, again: bool) -> None:
        """Sets what is asked, and brings back what was set for another combination only."""
        problems = undo.settings(server, self._ledger, url, self._say, resolved.settings)
        if problems:
            raise DynoError(
                problems[0],
                cause="a privilege was revoked, or the server has changed",
                fix=f"put it back by hand; {FILE} in the run directory lists old values",
            )
        changed = []
        for name, value in resolved.settings.items():
            if not again and _in_force(server, name, value):
                continue
            before = server.current_setting(name)
            first = name not in self._ledger.settings(url)
            self._ledger.will_set(url, name, before)
            try:
                server.assign_setting(name, value)
            except DynoError:
                if first and server.current_setting(name) == before:  # refused: nothing to undo
                    self._ledger.is_restored(url, name)
                raise
            changed.append(name)
        if resolved.settings:
            self._wait_for(server, dict(resolved.settings))
        # Only now: a buffer pool that is still being resized reports neither its old size nor the
        # new one.
        for name in changed:
            self._ledger.has_set(url, name, server.current_setting(name))

    def _wait_for(self, server: RemoteServer, settings: dict[str, str]) -> None:
        deadline = time.monotonic() + SETTING_TIMEOUT_S
        while True:
            try:
                return server.check_asked(settings)
            except DynoError:
                if time.monotonic() > deadline:
                    raise
            self._control.check()
            time.sleep(0.2)

    # ---- data

    def _check_existing(self, target: TargetPlan, server: RemoteServer, cell: Cell) -> None:
        for wanted in existing.wanted(target, cell.groups):
            key = f"{target.url} {target.existing} {wanted}"
            if key not in self._checked:
                existing.check(server, target, wanted)
                self._checked.add(key)

    def _own(self, target: TargetPlan, server: RemoteServer, resolved: Resolved, cell: Cell) -> str:
        """The name of a schema with the cell's data in it, as just loaded where the state asks for
        that."""
        assert target.url is not None
        if not target.may.create_schema:
            raise DynoError(
                f"target `{target.name}`: dyno may not create a schema at {server.place}",
                cause="`may.create_schema` is no, and `data.existing` names no schema to use",
                fix="allow one of them",
            )
        key = hashlib.sha256(
            data.target_key(target, cell.groups, data.settings_of_files).encode()
        ).hexdigest()[:6]
        known = self._data.get((target.url, key))
        restore = cell.state.data == data.RESTORE
        if known is None or (restore and known.spoilt):
            begun = time.monotonic()
            schema = f"{PREFIX}{self._mark.run}_{key}"
            self._load(target, server, resolved, schema, cell)
            if known is None:  # loading again belongs to the trials that want it
                self.loaded_s += time.monotonic() - begun
            known = self._data[target.url, key] = _Data(schema, spoilt=False)
        known.spoilt = known.spoilt or bool(_writers(target, cell))
        return known.schema

    def _load(
        self,
        target: TargetPlan,
        server: RemoteServer,
        resolved: Resolved,
        schema: str,
        cell: Cell,
    ) -> None:
        assert target.url is not None
        self._say(f"{server.place}: creating schema {schema} and loading data")
        self._ledger.will_create(target.url, schema)
        if schema in server.marked():
            server.drop_schema(schema, self._mark.run)
        server.create_schema(schema)
        self._fill(target, server, resolved, schema, cell)

    def _replicated(
        self, server: RemoteServer, replicas: Iterable[RemoteServer], schema: str
    ) -> None:
        """Waits until all that was loaded has reached every replica."""
        token = secrets.token_hex(8)
        server.put_token(schema, token)
        deadline = time.monotonic() + REPLICATION_TIMEOUT_S
        for replica in replicas:
            while not replica.has_token(schema, token):
                if time.monotonic() > deadline:
                    raise DynoError(
                        f"{replica.place} has not received what was loaded at {server.place} "
                        f"within {REPLICATION_TIMEOUT_S:.0f} s",
                        cause="replication does not run, leaves our schema out, or is far behind",
                        fix="look at the replica's status",
                    )
                self._control.check()
                time.sleep(0.1)

    # ---- ways out

    def close(self) -> list[str]:
        """Puts everything back, and closes all connections. What could not be, in sentences.

        Impatient Ctrl-Cs are counted, not obeyed: a customer's server comes first."""
        problems: list[str] = []
        for _ in range(ATTEMPTS_TO_UNDO):
            try:
                problems = self._undo()
                break
            except Interrupted:
                self._say("putting the servers' settings back first")
        for server in self._servers.values():
            server.stop()
        return problems

    def _undo(self) -> list[str]:
        problems = []
        for url in self._ledger.urls():
            target = self._target_of(url)
            try:
                if target is None:
                    raise DynoError(f"no target of the run has the URL {url}")
                server = self._connected(target, url)
            except DynoError as error:
                problems.append(f"nothing could be restored: {error.what}")
                continue
            problems += undo.settings(server, self._ledger, url, self._say)
            problems += undo.schemas(server, self._ledger, url)
        return problems

    def recover(self) -> None:
        """Undoes what an earlier process of this run left when it was killed. What cannot be undone
        stays in the ledger, and `close` reports it."""
        if self._ledger.urls():
            self._say("an earlier process of this run has left its servers: putting them back")
            self._undo()

    @classmethod
    def finish(cls, context: ExecutionContext) -> list[str]:
        """The same for a run that has no trial left: a killed process may have got that far."""

        def fill(*_: object) -> None:
            raise AssertionError("a run without trials loads nothing")

        remotes = cls(context, fill)
        remotes.recover()
        return remotes.close()

    def _undo_killed(self, target: TargetPlan, server: RemoteServer) -> None:
        """Undoes what other, killed runs left on this server: the same place on disk, the same URL,
        no process at work in their directory."""
        assert target.url is not None
        for file in sorted(self._run.path.parent.glob(f"*/{FILE}")):
            if file.parent == self._run.path or holder(file.parent) is not None:
                continue
            try:
                ledger = Ledger(file.parent, "")
            except DynoError as error:
                self._say(error.what)
                continue
            if target.url not in ledger.urls():
                continue
            self._say(f"run {file.parent.name} was killed: restoring the server")
            problems = undo.settings(server, ledger, target.url, self._say)
            problems += undo.schemas(server, ledger, target.url)
            for problem in problems:
                self._remark(problem)

    def _name_leftovers(self, server: RemoteServer) -> None:
        """Says how to remove schemas of other runs; they may be at work from other machines."""
        others = {
            name: mark for name, mark in server.marked().items() if mark.run != self._mark.run
        }
        drop = kinds.of(server.kind).drop_schema
        for name, mark in sorted(others.items())[:LEFTOVERS_SHOWN]:
            self._say(
                f"{server.place}: schema {name} is of another run ({mark.experiment}, {mark.made});"
                f" if that is over: {drop.format(name)}"
            )

    def _target_of(self, url: str) -> TargetPlan | None:
        targets = (target for cell in self._run.plan.cells for target in cell.targets)
        return next((target for target in targets if target.url == url), None)


def _in_force(server: RemoteServer, name: str, value: str) -> bool:
    try:
        server.check_asked({name: value})
    except DynoError:
        return False
    return True


def _check_session(target: TargetPlan) -> None:
    """DynoError for session statements that no experiment may hold: a stored plan is as its file
    is."""
    for statement in target.session:
        why = session.refusal(statement, target.kind)
        if why:
            raise DynoError(
                f"`session` of target `{target.name}`: `{statement[:80]}` is not sent",
                cause=why,
                fix="start a new run from the experiment's file",
            )


def _writers(target: TargetPlan, cell: Cell) -> list[str]:
    return data.writers([group for group in cell.groups if group.target == target.name])
