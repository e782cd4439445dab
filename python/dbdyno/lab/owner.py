"""The process that a lab belongs to: `python -m dbdyno.lab.owner`, started by `dyno lab up`.

It holds the servers exactly as `dyno run` does those of a trial: its end, however it comes, is the
end of the guardians' pipes, and they remove everything. It reads what is wanted from standard input
and reports to standard output, a JSON object a line:

    out: {"say": "..."}                what it does now
    out: {"lab": {...}}                up: the facts of its record; then both streams are closed
    out: {"error": {...}}              it could not come up, and nothing of it is left

The end of standard input before it is up means that nobody waits any more: it gives up. Afterwards
it answers on its socket (`listening`) until SIGTERM, a request or the end of its time ends it.
"""

from __future__ import annotations

import json
import os
import select
import signal
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dbdyno.errors import DynoError
from dbdyno.lab import clients, listening, registry, status, wanted
from dbdyno.lab.listening import Ear
from dbdyno.lab.registry import SOCKET, Record
from dbdyno.lab.servers import ACTIONS, LabServers
from dbdyno.lab.wanted import Wanted
from dbdyno.systems.process.guarded import Guarded
from dbdyno.systems.process.owner import new_path
from dbdyno.systems.process.scratch import Scratch, scratch_root

STARTING, UP, ENDING = "starting", "up", "ending"
CLOCK_S = 30.0  # between two looks at the clock, which may be set, or stand still with the machine
STOP_S = 5.0
DETACHED = (signal.SIGINT, signal.SIGHUP)


class Over(Exception):
    """It is to end, or nobody waits for it any more."""


class Lab:
    """A lab from its name to its end."""

    def __init__(self, asked: Wanted) -> None:
        self._asked = asked
        self._target = wanted.target(asked)
        self._servers = LabServers(self._target, self._say, self._check)
        self._root = scratch_root(Path(asked.scratch) if asked.scratch else None)
        self._over = threading.Event()
        self._state = STARTING
        self._doing = ""
        self._record: Record | None = None
        self._begun_unix_s = time.time()
        self._until_unix_s = self._begun_unix_s + asked.for_s  # counted again once it is up

    # ---- life

    def run(self) -> None:
        """Comes up, stays, ends. DynoError, Over if it does not come up; nothing is left then."""
        for number in DETACHED:
            signal.signal(number, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, lambda *_: self._over.set())
        guard = self._claim()
        try:
            with Scratch(self._root) as scratch:
                try:
                    self._come_up(scratch.path)
                    self._stay()
                finally:
                    self._state = ENDING
                    self._servers.stop()
        finally:
            guard.stop(STOP_S)

    def _claim(self) -> Guarded:
        """A directory under a guardian, in which we listen; the name is taken from then on."""
        with registry.claiming() as root:
            registry.refuse_taken(self._asked.lab)
            path = new_path(root)
            guard = Guarded(make=[path])
            try:
                Ear(path / SOCKET, self._answer)
                self._record = registry.write(path, self._facts())
            except BaseException:
                guard.stop(STOP_S)
                raise
        return guard

    def _come_up(self, scratch: Path) -> None:
        self._servers.start(scratch)
        assert self._record is not None
        directory, deployment = self._record.directory, self._servers.deployment
        logins, password, places = [], "", []
        for name, each in deployment.servers.items():
            server: Any = each
            found = deployment.engine_target(server)
            password, places = found["password"], [str(path) for path in server.client_places]
            login = clients.login(self._target.kind, server, found)
            log = str(server.directory / "server.log")
            logins.append({"name": name, **login, "log": log})
        if deployment.router is not None:
            logins.append(clients.of_router(self._target.kind, deployment.router, logins[0]))
        if deployment.arbitrator is not None:
            logins.append(clients.of_arbitrator(deployment.arbitrator, logins[0]))
        clients.write_secrets(directory, self._target.kind, password, logins)
        self._until_unix_s = time.time() + self._asked.for_s
        facts = {**self._facts(), "nodes": logins, "client_places": places}
        self._record = registry.write(directory, facts)
        self._state = UP  # answers name the nodes of the record from now on
        self._check()
        emit(lab=facts)
        point_at_nothing()

    def _stay(self) -> None:
        while (left_s := self._until_unix_s - time.time()) > 0:
            if self._over.wait(min(left_s, CLOCK_S)):
                return

    def _say(self, text: str) -> None:
        self._doing = text
        self._check()
        emit(say=text)

    def _check(self) -> None:
        """Raises Over if it is to end. Before it is up that is so, too, once nobody waits."""
        if self._over.is_set():
            raise Over
        if self._state == STARTING and select.select([0], [], [], 0)[0] and not os.read(0, 1):
            raise Over

    # ---- answers

    def _facts(self) -> dict[str, Any]:
        """What does not change while it is up."""
        target = self._target
        topology = target.topology
        return {
            "name": self._asked.lab,
            "pid": os.getpid(),
            "kind": target.kind,
            "version": self._servers.version,
            "topology": topology and topology.kind,
            "wait_for_replicas": topology.wait_for_replicas if topology else 0,
            "logical": topology is not None and topology.logical,
            "multi_primary": topology is not None and topology.multi_primary,
            "router": topology.router.kind if topology and topology.router else None,
            "arbitrator": bool(topology and topology.arbitrator),
            "node_count": target.server_count,
            "memory_bytes": target.memory_bytes,
            "durability": target.durability,
            "since_unix_s": round(self._begun_unix_s, 1),
            "until_unix_s": round(self._until_unix_s, 1),
            "scratch": str(self._root),
        }

    def _answer(self, request: Mapping[str, Any]) -> Mapping[str, Any]:
        """Called by threads of the ear."""
        do = str(request.get("do", ""))
        if do == "down":
            self._over.set()
            return {}
        if do == "status":
            return self._status()
        if do in ACTIONS:
            return self._act(do, str(request.get("node", "")))
        raise DynoError(f"lab `{self._asked.lab}` does not know how to `{do}`")

    def _status(self) -> dict[str, Any]:
        facts = {**self._facts(), "state": self._state, "doing": self._doing}
        if self._state != UP or self._record is None:
            return {**facts, "nodes": []}
        logins = {login["name"]: login for login in self._record.nodes}
        nodes = [{**logins[one["name"]], **one} for one in status.nodes(self._servers)]
        return {**facts, "doing": "", "directory": str(self._record.directory), "nodes": nodes}

    def _act(self, action: str, node: str) -> dict[str, Any]:
        if self._state != UP:
            doing = "comes up" if self._state == STARTING else "ends"
            raise DynoError(
                f"lab `{self._asked.lab}` {doing} just now", fix="ask again in a moment"
            )
        return {"said": self._servers.act(action, node)}


def emit(**message: Any) -> None:
    """Reports to who waits for the lab; Over if nobody does."""
    try:
        os.write(1, (json.dumps(message) + "\n").encode())
    except OSError:
        raise Over from None


def point_at_nothing() -> None:
    """Lets go of the streams of who started us."""
    null = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(null, number)
    os.close(null)


def main() -> None:
    """See the module."""
    try:
        asked = wanted.read(sys.stdin.readline())
        Lab(asked).run()
    except Over:
        _fail(
            DynoError(
                "the lab was ended while it came up",
                cause="`dyno lab down`, or SIGTERM to the process that owns it",
                fix="start it again",
            )
        )
    except DynoError as error:
        _fail(error)
    except Exception as error:  # a defect: who waits has to hear of it
        _fail(DynoError(f"{type(error).__name__}: {error}", cause="a defect in dbdyno"))


def _fail(error: DynoError) -> None:
    try:
        emit(**listening.failure(error))
    except Over:
        return


if __name__ == "__main__":
    main()
