"""`python -m tools.proof.injecting.driven`: reads a job from standard input, is `dyno run` with a
thread that disturbs trials.

The job: `arguments` of `dyno`; `injections`, by the number of the trial in the run: [kind, moment
on the trial's clock (s), length (s)]; `proxied`; `null_server`: the engine's program, whose null
server then takes the place of a target of kind `null`. What was done goes to `report`, a line each.
Root runs with a loopback of its own, if the kernel lets it: no other connections move its counters.
"""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from tools.proof.injecting import loopback
from tools.proof.injecting.kinds import KINDS, Subject
from tools.proof.injecting.proxy import Proxy

from dbdyno.cli import entry
from dbdyno.execute.servers.deployment import Deployment
from dbdyno.samplers.runner import Sampling
from dbdyno.systems.mysql.managed import MysqlServer
from dbdyno.systems.null import NullServer

READY_S = 0.5  # before its moment a disturbance is made ready


class Driven:
    """Knows the server under load, and disturbs it trial by trial."""

    def __init__(self, job: dict[str, Any]) -> None:
        self._injections: list[list[Any]] = job["injections"]
        self._proxied: bool = job["proxied"]
        self._null_server: str = job["null_server"]
        self._report = Path(job["report"])
        self._subject: Subject | None = None
        self._trials = itertools.count()
        self._null: subprocess.Popen[str] | None = None
        self._null_port = 0
        self._proxies: dict[int, Proxy] = {}  # by the port they lead to: each server has its own

    def seams(self) -> None:
        """Learns where the load goes, and when each trial's clock begins."""
        targets, start = Deployment.engine_targets, Sampling.start

        def of_deployment(deployment: Deployment) -> dict[str, dict[str, Any]]:
            found = targets(deployment)
            server = deployment.server
            for name in found:
                if isinstance(server, MysqlServer):
                    self._lead(server, found[name])
                elif isinstance(server, NullServer):
                    self._start_null(server)
                    found[name] |= {"driver": "mysql", "user": "x", "password": "x", "options": {}}
                    found[name]["address"] = _loopback(self._null_port)
            return found

        def of_sampling(sampling: Sampling, measure_unix_s: float) -> None:
            start(sampling, measure_unix_s)
            number = next(self._trials)
            if self._subject is not None and number < len(self._injections):
                threading.Thread(
                    target=self._disturb,
                    args=(number, self._subject, measure_unix_s),
                    daemon=True,
                ).start()

        Deployment.engine_targets = of_deployment  # type: ignore[method-assign, assignment]
        Sampling.start = of_sampling  # type: ignore[method-assign, assignment]

    def _lead(self, server: MysqlServer, target: dict[str, Any]) -> None:
        """Notes the server, and puts the proxy between."""
        proxy = None
        if self._proxied:
            proxy = self._proxies.setdefault(server.port, Proxy(server.port))
            target["address"] = _loopback(proxy.port)
        assert server.pid is not None
        database = target["database"]
        self._subject = Subject(
            server.pid, server.directory, lambda: server._connect(database, 60), proxy
        )

    def _start_null(self, server: NullServer) -> None:
        if self._null is None:
            self._null = subprocess.Popen(
                [self._null_server, "null-server", "--delay", "constant:500us"],
                stdin=subprocess.PIPE,  # its end ends it
                stdout=subprocess.PIPE,
                text=True,
            )
            assert self._null.stdout is not None
            self._null_port = json.loads(self._null.stdout.readline())["port"]
        self._subject = Subject(self._null.pid, server.directory)
        server.pid = self._null.pid

    def _disturb(self, number: int, on: Subject, zero_unix_s: float) -> None:
        for kind, at_s, length_s in self._injections[number]:
            _until(zero_unix_s + at_s - READY_S)
            disturb = KINDS[kind](on)
            _until(zero_unix_s + at_s)
            begun_s = time.time() - zero_unix_s
            problem = ""
            try:
                disturb(on, length_s)
            except Exception as error:  # reported in the row's table, not lost with the thread
                problem = f"{type(error).__name__}: {error}"
            ended_s = time.time() - zero_unix_s
            line = {"trial": number, "kind": kind, "start_s": begun_s, "end_s": ended_s}
            with self._report.open("a") as report:
                report.write(json.dumps({**line, "problem": problem}) + "\n")


def _loopback(port: int) -> dict[str, Any]:
    return {"tcp": {"host": "127.0.0.1", "port": port}}


def _until(unix_s: float) -> None:
    time.sleep(max(0.0, unix_s - time.time()))


def main() -> None:
    """Ends as `dyno` ends."""
    if os.geteuid() == 0:
        with suppress(PermissionError):  # root of a container
            loopback.make_own()
    job = json.loads(sys.stdin.read())
    Driven(job).seams()
    sys.argv = ["dyno", *job["arguments"]]
    entry.main()


if __name__ == "__main__":
    main()
