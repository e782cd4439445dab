"""One trial: drive load, sample meanwhile, reduce, explain, and put it on disk as complete."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

from dbdyno.errors import DynoError
from dbdyno.execute.background import Background
from dbdyno.execute.context import ExecutionContext
from dbdyno.execute.engine.job import Event, Outcome, error_of
from dbdyno.execute.engine.load_threads import Layout
from dbdyno.execute.engine.request import run_request, with_values
from dbdyno.execute.failover.observer import Observer
from dbdyno.execute.failover.quorums import QuorumObserver
from dbdyno.execute.failover.watcher import Watcher
from dbdyno.execute.faulting.trial_faults import TrialFaults
from dbdyno.execute.hooks.hooks import Hooks
from dbdyno.execute.rate_search.probing import Probing
from dbdyno.execute.routing import conformance
from dbdyno.execute.servers import audits, integrity
from dbdyno.execute.servers.deployment import Deployment
from dbdyno.execute.servers.pool import ServerPool
from dbdyno.execute.steadiness import Steadiness
from dbdyno.execute.timeline import Timeline
from dbdyno.experiment import workloads
from dbdyno.plan import load_threads
from dbdyno.plan.types import Cell, TrialPlan
from dbdyno.samplers import hosts
from dbdyno.samplers.runner import Sampling
from dbdyno.store.metrics import drills
from dbdyno.store.metrics.reduce import Reduced, reduce_trial
from dbdyno.store.record import NO_PLAN, VOID, TrialRecord
from dbdyno.store.rolelog import RoleLog
from dbdyno.store.text import files
from dbdyno.systems.base import Word
from dbdyno.topology import routers

# What the user must mend before any trial can succeed; everything else voids one trial.
FATAL = ("plan", "authentication")


class Trial:
    """Runs one trial of the plan on a started pool."""

    def __init__(
        self, context: ExecutionContext, pool: ServerPool, hooks: Hooks, explained: set[int]
    ) -> None:
        """`explained` are the cells whose statements the server has explained already."""
        self._context = context
        self._run = context.run
        self._pool = pool
        self._hooks = hooks
        self._explained = explained
        self._layout = Layout(context, self._whole_request)

    def probe(self, cell: Cell, trial: TrialPlan) -> bool:
        """Finds the number of load threads, if it is open; whether the servers were under load."""
        return self._layout.probe(cell, trial)

    def measure(self, cell: Cell, trial: TrialPlan) -> TrialRecord:
        """Returns the record, complete or void, not yet stored. Raises DynoError where no trial
        could succeed, TrialVoid where a command within it failed, Interrupted when the user wants
        to stop now. The trial has been begun."""
        if any(group.find for group in cell.groups):
            record = Probing(self._context, cell, trial, self._once).measure()
        else:
            record = self._once(cell, trial)
        if cell.index not in self._explained and record.status == "complete":
            plans = self._explain(cell, record.statements)
            record = record.replace(explain=plans)
            # A server that died in the trial explains nothing: the cell's next trial asks again.
            if not plans or any(not plan.startswith(NO_PLAN) for plan in plans.values()):
                self._explained.add(cell.index)
        return record

    def _once(self, cell: Cell, trial: TrialPlan) -> TrialRecord:
        """Runs the engine once and reduces what it and the samplers left."""
        directory = self._run.trial_dir(trial.id)
        started_unix_s = time.time()
        values = self._pool.looked_up(cell)
        request = self._request(cell, trial, directory)
        self._run.save_request(trial.id, request)
        auditing = audits.of(self._pool, cell, self._context.control.check)
        auditing.prepare()
        self._pool.flush()
        faults = TrialFaults(
            *(self._context, cell, trial, self._pool.deployments),
            paths=self._pool.paths,
            lead=self._pool.lead,
        )
        roles = RoleLog(directory, self._run.path)
        watchers = self._watchers(cell, roles)
        timeline = Timeline(
            [faults, *watchers, *self._sampling(cell, directory)],
            [*self._hooks.during_trial(trial, cell), *faults.moments()],
        )
        steadiness = self._steadiness(cell)
        try:
            outcome, statements = self._drive(
                with_values(request, values), directory, timeline, steadiness
            )
        except BaseException:
            faults.release()
            raise
        finally:
            for watcher in watchers:
                watcher.close()
        not_undone = faults.heal()
        for watcher in watchers:
            watcher.settle()
        record = self._record(
            cell, trial, started_unix_s, outcome, steadiness, faults.facts(), roles.by_time()
        )
        record = record.replace(warnings=(*record.warnings, *not_undone))
        if record.status == "complete" and faults.broken:
            record = record.replace(status=VOID, void_reason=faults.broken)
        if record.status == "complete":
            timeline.check()
            record = auditing.audited(record, directory)
            rpo_s = drills.rpo_s(record.faults, record.audit)
            record = record.replace(metrics={**record.metrics, **rpo_s})
            record = integrity.checked(record, cell, self._pool.deployments)
            record = conformance.examined(
                record, self._pool.deployments, self._context.control.check
            )
        if broken := self._pool.broken():
            record = record.replace(status=VOID, void_reason=broken)
        return record.replace(statements=statements)

    def _request(self, cell: Cell, trial: TrialPlan, directory: Path) -> dict[str, Any]:
        """The engine's plan, values of `column:` still as written."""
        plan = self._run.plan
        targets = {
            name: target
            for deployment in self._pool.deployments.values()
            for name, target in deployment.engine_targets().items()
        }
        return run_request(
            *(cell, trial, targets, self._pool.reached_by, directory),
            *(plan.generator_cpus_of(cell), plan.drain_s, load_threads.asked(plan, cell)),
        )

    def _whole_request(self, cell: Cell, trial: TrialPlan, directory: Path) -> dict[str, Any]:
        """The same with the values, of a load without an audit."""
        request = self._request(replace(cell, audit=None), trial, directory)
        return with_values(request, self._pool.looked_up(cell))

    def _watchers(self, cell: Cell, roles: RoleLog) -> list[Watcher | Observer | QuorumObserver]:
        """Of the targets whose sessions follow a new primary, or whose clients do by themselves;
        and of those whose nodes may lose their quorum by faults."""
        deployments = self._pool.deployments.values()
        return [
            *(
                Watcher(deployment, partial(self._pool.lead, deployment), roles)
                for deployment in deployments
                if deployment.follows
            ),
            *(Observer(deployment, roles) for deployment in deployments if deployment.shards),
            *(
                QuorumObserver(deployment, roles)
                for deployment in deployments
                if cell.faults and deployment.has_quorums
            ),
        ]

    def _steadiness(self, cell: Cell) -> Steadiness | None:
        if not cell.until_steady:
            return None
        judge = self._context.judge
        assert judge is not None, "a plan that waits for a steady state has no judge"
        deployments = self._pool.deployments.values()
        servers = [server for each in deployments for server in each.written.values()]
        return Steadiness(judge, cell.steady_min_s, cell.duration_s, Background(servers))

    def _sampling(self, cell: Cell, directory: Path) -> list[Sampling]:
        if cell.sampling_s is None:
            return []
        deployments = self._pool.deployments
        sampling = Sampling(
            directory / "metrics.ndjson",
            {name: each.sampled for name, each in deployments.items() if each.sampled},
            replicas={name: each.replicas for name, each in deployments.items()},
            nodes={name: each.node_servers for name, each in deployments.items()},
            feeds=hosts.feeds([deployment.target for deployment in deployments.values()]),
            interval_s=cell.sampling_s,
        )
        return [sampling]

    def _drive(
        self,
        request: dict[str, Any],
        directory: Path,
        timeline: Timeline,
        steadiness: Steadiness | None,
    ) -> tuple[Outcome, dict[str, str]]:
        statements: dict[str, str] = {}
        job = self._context.job(request, directory)

        def on_event(event: Event) -> None:
            if event["event"] == "statement":
                statements[f"{event['group']}/{event['class']}"] = event["sql"]
            timeline.on_event(event)
            self._context.listener.on_event(event)
            if steadiness and steadiness.is_enough(event):
                job.enough()

        try:
            with files.explained(directory / "events.ndjson", self._run.path):
                outcome = self._context.drive(job, on_event)
        finally:
            timeline.close()
        return outcome, statements

    def _record(
        self,
        cell: Cell,
        trial: TrialPlan,
        started_unix_s: float,
        outcome: Outcome,
        steadiness: Steadiness | None,
        faults: tuple[Mapping[str, Any], ...],
        roles: tuple[Mapping[str, Any], ...],
    ) -> TrialRecord:
        events = self._run.events(trial.id)
        void_reason = ""
        reduced, steady = Reduced({}, ()), None
        said: tuple[str, ...] = ()
        if outcome.end is None or outcome.spoilt:
            error = error_of(outcome, f"trial {trial.id}")
            if (
                outcome.failed
                and not outcome.spoilt
                and self._is_hopeless(outcome.failed.get("kind"))
            ):
                raise error
            void_reason = str(error).replace("\n", "; ")
        elif outcome.interrupted:  # not by us: `measure` has asked
            void_reason = f"somebody else's signal ended trial {trial.id} early"
        else:
            if steadiness is not None:
                steady, said = steadiness.part(events, self._run.histograms(trial.id))
            samples = self._run.samples(trial.id)
            reduced = reduce_trial(
                *(events, samples, cell.groups, cell.targets, steady, faults, roles)
            )
        return TrialRecord(
            id=trial.id,
            block=trial.block,
            cell=trial.cell,
            status="void" if void_reason else "complete",
            started_unix_s=started_unix_s,
            metrics=reduced.metrics,
            bounds=dict(reduced.bounds),
            warnings=(*said, *reduced.warnings, *_remarks(cell), *self._pool.remarks()),
            outages=tuple(e for e in events if e.get("event") == "outage"),
            statements={},
            explain={},
            targets={
                name: _facts(deployment) for name, deployment in self._pool.deployments.items()
            },
            void_reason=void_reason,
            measured_s=outcome.end["measured_s"] if outcome.end else None,
            steady_from_s=steady.from_s if steady else None,
            faults=faults,
            roles=roles,
        )

    def _is_hopeless(self, kind: object) -> bool:
        """Whether the next trial would fail alike. A statement that the server refuses before any
        trial was complete is the user's mistake; later, something has happened to the server."""
        if kind == "server":
            return not any(record.status == "complete" for record in self._run.records())
        return kind in FATAL

    def _explain(self, cell: Cell, statements: Mapping[str, str]) -> dict[str, str]:
        """The server's plan for each class of statement, once a cell, off the clock."""
        plans: dict[str, str] = {}
        target_of = {group.name: group.target for group in cell.groups}
        for key, sql in statements.items():
            deployment = self._pool.deployments[target_of[key.partition("/")[0]]]
            server = deployment.server
            if server is None:
                continue
            try:
                plans[key] = server.explain(deployment.database, sql)
            except DynoError as error:
                plans[key] = f"{NO_PLAN}{error.what}"
            except Exception as error:  # the server died after the trial: its numbers still count
                plans[key] = f"{NO_PLAN}{error}"
        return plans


def _remarks(cell: Cell) -> tuple[str, ...]:
    """What the workloads' own numbers must not be taken for."""
    several = len(cell.groups) > 1
    return tuple(
        f"{group.name}: {remark}" if several else remark
        for group in cell.groups
        for remark in workloads.of(group.workload).remarks(group.options)
    )


def _topology_facts(deployment: Deployment) -> dict[str, object]:
    topology = deployment.target.topology
    return {} if topology is None else {"topology": asdict(topology)}


def _volume_facts(deployment: Deployment) -> dict[str, object]:
    asked, seen = deployment.target.volume, deployment.examined
    return {} if asked is None or seen is None else {"volume": seen.facts(asked)}


def _network_facts(deployment: Deployment) -> dict[str, object]:
    nodes = deployment.between.measured if deployment.between is not None else None
    found = {"network": deployment.network, "network_of_nodes": nodes}
    return {name: measured.facts() for name, measured in found.items() if measured is not None}


def _facts(deployment: Deployment) -> dict[str, object]:
    """What the report says of a server: its version, effective settings, how words were mapped."""
    server = deployment.server
    settings: dict[str, str] = {}
    if server is not None:
        try:
            settings = server.settings()
        except Exception:  # it died, and each client library says that in a way of its own
            settings = deployment.resolved.asked  # that is still known
    return {
        "kind": deployment.kind,
        "version": server.version if server else deployment.binaries.version,
        "settings": settings,
        "asked": deployment.resolved.asked,
        "instances": len(deployment.written),
        **_topology_facts(deployment),
        "session_sql": [*deployment.resolved.session_sql, *deployment.target.session],
        **_network_facts(deployment),
        **_volume_facts(deployment),
        "words": [
            {"word": word.word, "settings": dict(word.settings), "note": word.note}
            for word in (*deployment.resolved.words, *_router_words(deployment))
        ],
    }


def _router_words(deployment: Deployment) -> tuple[Word, ...]:
    asked, router = deployment.target.router, deployment.router
    return () if asked is None or router is None else (routers.word(asked, router.version),)
