"""Members of real Galera clusters: an arbitrator, which has a vote and no data, a node that gets
all data by mariabackup, and quorums that are lost and regained."""

from __future__ import annotations

import json
import shutil
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ending import LONG, Watched, ended
from private_servers import binaries
from running import Place, complete_trials, wait_for
from test_topology_servers import seen, server_log, working

from dbdyno.experiment.types import DOWN, MEMBER, Topology
from dbdyno.systems.process.managed import ENVIRONMENT
from dbdyno.topology import statetransfer
from needed import missing

pytestmark = [pytest.mark.live, pytest.mark.timeout(300)]

QUICK = ";".join(
    (
        *("evs.keepalive_period=PT0.3S", "evs.inactive_check_period=PT0.3S"),
        # Not sooner: nodes that get no CPU for a while would take each other for dead.
        *("evs.suspect_timeout=PT3S", "evs.inactive_timeout=PT8S", "evs.install_timeout=PT8S"),
    )
)
CONFIG = {"wsrep_provider_options": f"{QUICK};gcache.size=16M"}


@pytest.fixture
def impatient() -> Iterator[dict[str, str]]:
    """An environment in which the script of mariabackup sleeps less: it waits 10 s before it sends
    any data."""
    folder = Path(tempfile.mkdtemp(prefix="dt", dir="/var/tmp"))
    folder.chmod(0o755)
    program = folder / "sleep"
    program.write_text("#!/bin/sh\nexec /bin/sleep 0.1\n")
    program.chmod(0o755)
    yield {"PATH": f"{folder}:{ENVIRONMENT['PATH']}"}
    shutil.rmtree(folder)


def size(server: Any) -> str:
    """Of the part of the cluster that a node belongs to, and whether it may decide."""
    found = dict(server.rows("SHOW GLOBAL STATUS LIKE 'wsrep_cluster_%'"))
    return f"{found['wsrep_cluster_size']} {found['wsrep_cluster_status']}"


def command_lines() -> str:
    """Of all processes, as anybody can read them."""
    found = []
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            found.append(file.read_bytes().replace(b"\0", b" ").decode("utf-8", "replace"))
        except OSError:  # it has ended
            continue
    return "\n".join(found)


class CommandLines(threading.Thread):
    """Looks at the command lines of all processes again and again, until `stop`."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.seen: set[str] = set()
        self._over = threading.Event()

    def run(self) -> None:
        while not self._over.wait(0.05):
            self.seen.update(command_lines().splitlines())

    def stop(self) -> str:
        self._over.set()
        self.join()
        return "\n".join(self.seen)


def test_two_nodes_and_an_arbitrator_lose_a_node_which_mariabackup_seeds(
    impatient: dict[str, str],
) -> None:
    form = Topology("galera", 2, arbitrator=True, sst="mariabackup")
    with working(
        *("mariadb", form),
        environment=lambda node: impatient,
        memory_bytes=32 << 20,
        config=CONFIG,
    ) as (cluster, servers):
        db, arbitrator = servers["db"], cluster.arbitrator
        assert arbitrator is not None and size(db) == "3 Primary"
        assert wait_for(lambda: cluster.roles() == {"db": MEMBER, "db.2": MEMBER})
        servers["db.2"].kill()
        assert wait_for(lambda: size(db) == "2 Primary", 120)
        assert cluster.roles() == {"db": MEMBER, "db.2": DOWN}
        db.run("shop", ["INSERT INTO t VALUES (1, 7)"])

        looking = CommandLines()
        looking.start()
        try:
            servers["db.2"].start_again()
        finally:
            said = looking.stop()
        assert "mariabackup SST completed on donor" in server_log(db)
        assert seen(servers["db.2"], 1)
        assert "wsrep_sst_mariabackup" in said and f"--user={statetransfer.USER}" in said
        members = cluster._members
        assert members.sst_password not in said and members.password not in said
        assert members.sst_password not in server_log(db) + server_log(servers["db.2"])

        assert arbitrator.stop()  # it leaves: the others know at once
        assert wait_for(lambda: size(db) == "2 Primary", 120)
        assert not cluster.healthy()
        arbitrator.start_again()
        assert wait_for(cluster.together, 120) and size(db) == "3 Primary"
        directory = arbitrator.log_path.parent
    assert not directory.exists()


EXPERIMENT = """
experiment: quorum
targets:
  db:
    kind: mariadb
    memory: 32Mi
    durability: none
    config: {{wsrep_provider_options: "{options}"}}
    topology: {{kind: galera, nodes: 2, arbitrator: true}}
workload: {{kind: oltp, preset: write_only, tables: 1, rows: 300, sessions: 2, deadline: 1s}}
faults:
  - {{at: 200ms, do: partition, node: [db.2, arbitrator]}}
audit: commits
blocks: 1
warmup: 200ms
duration: {duration}
interval: 100ms
"""


def has_lost_its_quorum(watched: Watched) -> bool:
    """The cut lasts until then: it is healed at the end of the trial."""
    return watched.failed() or bool(watched.changed("quorum lost"))


def test_a_node_that_loses_its_quorum_is_in_the_trial_and_its_report(there: Place) -> None:
    binaries("mariadb")
    there.experiment(EXPERIMENT.format(options=CONFIG["wsrep_provider_options"], duration=LONG))
    with ended(there.path / "r", has_lost_its_quorum):
        done = there.dyno("run", "experiment.yaml", "--dir", "r", timeout=480)
    if "galera-arbitrator-4" in done.stderr:
        missing("no garbd: run `make servers`")
    assert done.returncode == 0, done.stdout + done.stderr
    assert there.until_clean() == []
    [record] = [json.loads(text) for text in complete_trials(there.path / "r").values()]
    assert record["status"] == "complete", record["void_reason"]
    links = {fault["node"]: fault["links"] for fault in record["faults"]}
    assert links == {"db.2": "db.2 <> db", "db.arbitrator": "db.arbitrator <> db"}
    [lost] = [one for one in record["roles"] if one["change"] == "quorum lost"]
    assert (lost["node"], lost["said"]) == ("db", "wsrep_cluster_status is non-Primary")
    assert record["metrics"]["quorum_lost_s"] > 0
    assert record["bounds"]["quorum_lost_s"] == ">="
    audit = record["audit"]["db"]
    assert (audit["lost"], audit["diverged"]) == (0, 0)
    page = (there.path / "r/report.html").read_text()
    assert "A node was without a quorum for at least" in page
    assert "galera, 2 nodes and an arbitrator" in page
