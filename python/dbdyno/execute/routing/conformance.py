"""Examines the routers of a trial that is over: each statement of `audit.routing.cases` is sent
through them, and the servers' logs say which node has run it.

The nodes log all statements for as long as that takes; nothing is measured meanwhile.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from itertools import count, groupby
from pathlib import Path
from typing import Any

from dbdyno.audit.routing import cases, evidence, findings
from dbdyno.audit.routing.findings import Routing
from dbdyno.audit.routing.judge import Answer, judged
from dbdyno.errors import DynoError
from dbdyno.execute.routing.sessions import Sessions, stale_reads
from dbdyno.execute.servers.deployment import Deployment
from dbdyno.experiment.values.bounds import AT_LEAST
from dbdyno.store.record import TrialRecord
from dbdyno.systems.postgres.control import ERRORS, message
from dbdyno.topology.routers import client

ROUNDS = 3
SESSION_TIMEOUT_S = 10
FOLLOW_TIMEOUT_S = 60.0  # for standbys to have the tables of the examination
SWITCH_S = 0.2  # for sessions to know that their server logs all statements
POLL_S = 0.02

Check = Callable[[], None]


def examined(
    record: TrialRecord, deployments: Mapping[str, Deployment], check: Check
) -> TrialRecord:
    """The record with what examinations of the routers found that ask for one. A router that
    cannot be examined leaves a warning, and no metrics. `check` is called while something is
    waited for, and raises to end that."""
    found: dict[str, Routing] = {}
    problems = []
    for name, deployment in deployments.items():
        asked = deployment.target.router
        if asked is None or not asked.conformance:
            continue
        try:
            found[name] = _examination(deployment, check)
        except DynoError as error:
            problems.append(f"the router of {name} could not be examined: {error.what}")
    metrics = {} if problems else findings.metrics(found)
    is_cut = bool(metrics) and any(each.is_stale_cut for each in found.values())
    return record.replace(
        metrics={**record.metrics, **metrics},
        bounds={**record.bounds, **({"routing.stale_ms_max": AT_LEAST} if is_cut else {})},
        routing=found,
        warnings=(*record.warnings, *problems),
    )


def _examination(deployment: Deployment, check: Check) -> Routing:
    router, cluster = deployment.router, deployment.cluster
    assert router is not None and cluster is not None
    router.wait_until_ready()
    primary: Any = deployment.servers[cluster.leader]
    primary.run(deployment.database, cases.CREATE)
    try:
        _wait_for_standbys(deployment, primary, check)
        login = deployment.engine_target(primary)
        opened = partial(
            client.session,
            *(router.port, login["user"], login["password"], deployment.database),
            SESSION_TIMEOUT_S,
        )
        with _logging(deployment) as logs:
            answers = list(_answers(opened, check))
            nodes = evidence.nodes({name: _lines(*log) for name, log in logs.items()})
        if not nodes:
            raise DynoError(
                "no node's log has any of its statements",
                cause="a setting of `config:` keeps them out of the log, such as log_min_messages",
                fix="remove that setting, or `conformance`",
            )
        reads = stale_reads(opened, ROUNDS + 1, check)
    except ERRORS as error:  # a session was refused or lost
        raise DynoError(message(error) or type(error).__name__) from error
    finally:
        with suppress(DynoError):  # it died: a fresh start follows
            primary.run(deployment.database, cases.DROP)
    return judged(answers, nodes, cluster.leader, reads)


def _answers(opened: Callable[[], Any], check: Check) -> Iterator[Answer]:
    numbers = count(1)
    for round_ in range(ROUNDS):
        number = next(numbers)
        for _, steps in groupby(cases.steps(round_, number), lambda each: each[0].case):
            check()
            with Sessions(opened) as sessions:
                for tag, case, step in steps:
                    yield sessions.answer(tag, case, step)


def _wait_for_standbys(deployment: Deployment, primary: Any, check: Check) -> None:
    """Until all nodes that run have the tables."""
    [[position]] = primary.rows("SELECT pg_current_wal_lsn()::text")
    sql = f"SELECT pg_last_wal_replay_lsn() >= '{position}' OR NOT pg_is_in_recovery()"
    deadline = time.monotonic() + FOLLOW_TIMEOUT_S
    while True:
        check()
        servers: Iterable[Any] = deployment.servers.values()
        behind = [each for each in servers if each.alive() and not each.rows(sql)[0][0]]
        if not behind:
            return
        if time.monotonic() > deadline:
            raise DynoError(f"a standby was not as far as {position} in {FOLLOW_TIMEOUT_S:.0f} s")
        time.sleep(POLL_S)


@contextmanager
def _logging(deployment: Deployment) -> Iterator[dict[str, tuple[Path, int]]]:
    """All nodes that run log each statement; their logs, and where these end now."""
    servers: dict[str, Any] = {n: s for n, s in deployment.servers.items() if s.alive()}
    try:
        for server in servers.values():
            _set(server, "SET log_statement = 'all'")
        time.sleep(SWITCH_S)
        yield {
            name: (path, path.stat().st_size)
            for name, server in servers.items()
            for path in [server.directory / "server.log"]
        }
    finally:
        for server in servers.values():
            with suppress(DynoError, *ERRORS):  # it died, and a fresh start follows
                _set(server, "RESET log_statement")


def _set(server: Any, what: str) -> None:
    server.rows(f"ALTER SYSTEM {what}")
    server.rows("SELECT pg_reload_conf()")


def _lines(path: Path, start: int) -> list[str]:
    with path.open("rb") as file:
        file.seek(start)
        return file.read().decode("utf-8", "replace").splitlines()
