"""Servers run on a copy of a data directory that was made once, as on one of their own."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import hurried
import pytest
from private_servers import binaries

from dbdyno import systems
from dbdyno.systems.base import Binaries, Resolved, TargetPlan
from dbdyno.systems.process.scratch import Scratch

pytestmark = pytest.mark.live


def test_a_data_directory_is_made_once_and_servers_run_on_copies() -> None:
    system, found = systems.load("postgres"), binaries("postgres")
    resolved = system.resolve(TargetPlan("db", "postgres"))
    made: list[Path] = []

    def make(binaries: Binaries, directory: Path, resolved: Resolved) -> None:
        made.append(directory)
        system.prepare(binaries, directory, resolved)

    with Scratch() as scratch:
        templates = scratch.path / "templates"
        templates.mkdir()
        templates.chmod(0o711)  # servers' accounts pass
        prepare = partial(hurried._prepare, system, make, templates)
        places = [scratch.path / name for name in ("one", "two")]
        for place in places:
            prepare(found, place, resolved)
        assert len(made) == 1 and not made[0].exists()
        servers = [system.start(found, place, resolved, cpus=[]) for place in places]
        try:
            for number, server in enumerate(servers):
                server.create_schema("ours")
                server.run("ours", [f"CREATE TABLE t AS SELECT {number} AS n"])
            assert [server.run("ours", ["SELECT n FROM t"]) for server in servers] == [[[0]], [[1]]]
        finally:
            hurried.drop(servers)
        assert [*templates.iterdir()]
