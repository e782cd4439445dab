"""A prediction beside what real nodes did."""

from __future__ import annotations

import json

import pytest
from ending import Watched, ended, lines, settled
from private_servers import binaries
from running import Place, complete_trials, has

pytestmark = [pytest.mark.live, pytest.mark.timeout(300)]

CRASH = """
experiment: crash
question: How long do writes wait for a node that died?
targets:
  db:
    kind: mariadb
    memory: 32Mi
    durability: none
    config:
      wsrep_provider_options: "evs.suspect_timeout=PT4S;evs.keepalive_period=PT0.5S;\
        evs.inactive_check_period=PT0.2S"
    topology: {kind: galera, nodes: 3}
workload: {kind: oltp, preset: update_index, tables: 1, rows: 1000, sessions: 2, deadline: 20s}
faults: [{at: 2s, do: kill, node: db.3}]
blocks: 1
warmup: 200ms
duration: 60s
interval: 500ms
claims: [outage_s < 7s]
"""


APART = """
experiment: apart
question: How long does a commit wait for a standby that is 20 ms away?
targets:
  db:
    kind: postgres
    memory: 32Mi
    topology: {kind: replicas, nodes: 2, wait_for_replicas: 1, network: {delay: 20ms}}
workload: {kind: oltp, preset: update_index, tables: 1, rows: 1000, sessions: 4, deadline: 20s}
blocks: 1
warmup: 200ms
duration: 60s
interval: 500ms
claims: [p50 >= 40ms]
"""


def gone_on(watched: Watched) -> bool:
    """Whether all writes go on after the crash, and both nodes that are left have said so."""
    told = {
        line["source"]
        for line in lines(watched.directory / "metrics.ndjson")
        if line["values"].get("wsrep_cluster_size") == 2
    }
    return settled(watched) and told >= {"node1.status", "node2.status"}


def test_a_crash_is_predicted_beside_its_outage(there: Place) -> None:
    binaries("mariadb")
    with ended(there.path / "out", gone_on):
        done = there.dyno("run", there.experiment(CRASH), "--dir", "out")
    assert done.returncode == 0, done.stderr
    (trial,) = complete_trials(there.path / "out").values()
    metrics = json.loads(trial)["metrics"]
    assert metrics["outage_s"] > 2
    assert metrics["nodes.status.wsrep_local_cert_failures"] == 0  # one writer
    text = (there.path / "out" / "report.md").read_text()
    rows = {
        cells[0]: cells[1:]
        for line in text.partition("## Predictions")[2].partition("\n## ")[0].splitlines()
        if len(cells := [cell.strip() for cell in line.strip("|").split("|")]) == 6
    }
    predicted, measured, difference, known, model = rows["longest time without a commit"]
    assert predicted.startswith("5.")  # 4 s until the suspicion, 1 s until they agree
    assert measured.endswith(" s") and difference
    assert (known, model) == ("1 s", "cluster-timeline")
    assert rows["db: members that it sees"][1:3] == ["3, then 2", "the same"]
    assert rows["db.2: members that it sees"][1:3] == ["3, then 2", "the same"]
    assert "suspect\\_timeout 4" in text
    assert there.until_clean() == []


def test_the_wait_for_a_standby_is_predicted_in_result_json(there: Place) -> None:
    binaries("postgres")
    enough = has(200)  # for a median that is known
    done = there.dyno_until(enough, "run", there.experiment(APART), "--dir", "out", "--json")
    assert done.returncode == 0, done.stderr
    (cell,) = json.loads(done.stdout)["predictions"]
    (one,) = cell["quantities"]
    assert (one["what"], one["model"]) == ("acknowledged", "replica-commit")
    low_s, high_s = one["predicted"]
    assert low_s >= 0.04 and high_s is None  # a lower bound: no cell has the same side by side
    assert one["median"] >= 0.04  # there and back
    assert "1 of 1 replica," in cell["inputs"][0]
    assert there.until_clean() == []
