"""Clocks of real servers, put forward and back, alone and next to the network between nodes."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from ending import LONG, ended
from private_servers import bench, binaries
from running import Place, complete_trials, wait_for

from dbdyno.errors import DynoError
from dbdyno.experiment.values.faults import (
    Fault,
)
from dbdyno.faults import FAULTS
from dbdyno.faults.base import Node
from dbdyno.systems.preloaded import clock
from dbdyno.systems.preloaded.clock import SkewedClock
from dbdyno.systems.process.managed import NodeOptions
from needed import missing

pytestmark = pytest.mark.live

HOUR_S = 3600.0
NOW = {
    "mariadb": "SELECT UNIX_TIMESTAMP(NOW(6))",
    "mysql": "SELECT UNIX_TIMESTAMP(NOW(6))",
    "postgres": "SELECT extract(epoch FROM clock_timestamp())::float8",
}
# A statement that fails, and so voids the trial, unless the clock is forward by half an hour.
MUST_BE_LATE = (
    "SELECT IF(UNIX_TIMESTAMP() > {unix_s}, 1, (SELECT 1 UNION SELECT 2))"  # one row too many
)
PAIR = """
experiment: late
targets: {{db: {{kind: mariadb, memory: 64Mi, topology: {{kind: replicas, nodes: 2}}}}}}
workload: {{kind: oltp, preset: write_only, sessions: 2, tables: 1, rows: 1000, deadline: 30s}}
blocks: 1
warmup: 200ms
duration: {duration}
interval: 100ms
faults:
  - {{at: 200ms, do: link, node: db.2, delay: 2ms}}
  - {{at: 500ms, do: clock, node: db.2, by: 1h, for: 5s}}
  - {{at: 2500ms, do: sql, node: db.2, sql: "{late}"}}
"""


@pytest.fixture(autouse=True)
def library() -> None:
    try:
        clock.library()
    except DynoError as error:
        missing(f"{error.what}: {error.fix}")


def left() -> set[str]:
    """What libfaketime has in shared memory."""
    return {path.name for path in clock.SHM.glob("*faketime_s*_*")}


@pytest.mark.parametrize("kind", ["mariadb", "mysql", "postgres"])
def test_a_server_has_another_time_until_it_is_put_right(kind: str) -> None:
    with bench(kind) as made:
        skewed = SkewedClock(made.directory.parent / "clocks" / "db", "db")
        system: Any = made.system
        given = NodeOptions(environment=skewed.environment)
        server = system.start(made.binaries, made.directory, made.resolved, [], given)

        def off_s() -> float:
            [[now]] = server.rows(NOW[kind])
            return float(now) - time.time()

        node = Node("db", server, "dbdyno", clock=skewed)
        fault = Fault(1.0, "clock", ("db",), "db", clock_s=-HOUR_S)
        try:
            assert off_s() == pytest.approx(0, abs=60)
            assert FAULTS["clock"].begin(node, fault) == "-3600 s"
            assert off_s() == pytest.approx(-HOUR_S, abs=60)
            FAULTS["clock"].undo(node, fault, "")
            assert off_s() == pytest.approx(0, abs=60)
            pids = {f"_{server.pid}"}
            server.kill()
            server.start_again()
            pids.add(f"_{server.pid}")
            FAULTS["clock"].begin(node, fault)
            assert off_s() == pytest.approx(-HOUR_S, abs=60)
        finally:
            server.stop()
    assert wait_for(lambda: not [name for name in left() if name.endswith(tuple(pids))])


def test_a_replica_behind_a_relay_is_late_for_a_while(there: Place) -> None:
    binaries("mariadb")
    late = MUST_BE_LATE.format(unix_s=round(time.time() + HOUR_S / 2))
    there.experiment(PAIR.format(late=late, duration=LONG))
    with ended(there.path / "r"):
        done = there.dyno("run", "experiment.yaml", "--dir", "r", timeout=480)
    assert done.returncode == 0, done.stdout + done.stderr
    assert there.until_clean() == []
    (text,) = complete_trials(there.path / "r").values()
    record = json.loads(text)
    assert record["status"] == "complete", record["void_reason"]
    faults = {one["do"]: one for one in record["faults"]}
    link, skewed = faults["link"], faults["clock"]
    assert faults.keys() == {"link", "clock", "sql"}
    assert skewed["undone_s"] >= 5.5
    assert link["links"] == "db.2 <> db"
    assert "undone_s" in link
