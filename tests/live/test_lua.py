"""A script of the user's own as a workload of an experiment, on real servers."""

from __future__ import annotations

import json

import pytest
from ending import trials
from private_servers import binaries
from running import Place, complete_trials, result

pytestmark = pytest.mark.live

SCRIPT = """
sysbench.cmdline.options = {table_size = {"rows", 7}, writes = {"change rows", true}}
sysbench.cmdline.commands = {prepare = {function()
  local con = sysbench.sql.driver():connect()
  con:query("CREATE TABLE mine (id INTEGER PRIMARY KEY, n INTEGER)")
  for id = 1, sysbench.opt.table_size do
    con:query(("INSERT INTO mine VALUES (%d, 0)"):format(id))
  end
  con:disconnect()
end}}

local con
function thread_init()
  con = sysbench.sql.driver():connect()
  local opt = sysbench.opt
  assert(opt.threads == 3 and opt.time == 1, "what the experiment decides")
  assert(opt.mysql_password == "" and opt.pgsql_password == "", "no secrets")
  print("not for the stream of events")
end
function event()
  local id = sysbench.rand.uniform(1, sysbench.opt.table_size)
  local n = con:query_row(("SELECT COUNT(*) FROM mine"))
  assert(tonumber(n) == 40, "loaded by prepare with the options of the experiment")
  if sysbench.opt.writes then
    con:query(("UPDATE mine SET n = n + 1 WHERE id = %d"):format(id))
  end
end
function thread_done() con:disconnect() end
"""

EXPERIMENT = """
experiment: scripted
targets:
  db: {{kind: {system}, durability: none}}
workload: {{kind: lua, script: mine.lua, sessions: 3, options: {{table_size: 40}}}}
factors:
  writes: {{on: {{}}, off: {{workload.options.writes: false}}}}
blocks: 1
warmup: 500ms
duration: 1s
seed: 11
"""


SEARCH = """
experiment: searched
targets: {db: {kind: sqlite}}
workload:
  kind: lua
  script: oltp_point_select
  reads: true
  sessions: 2
  options: {table_size: 100}
  find: {rate: max, while: response_ms_p50 < 50, start: 300/s, within: 20%}
blocks: 1
warmup: 100ms
duration: 300ms
interval: 100ms
drain: 100ms
"""


@pytest.mark.parametrize("system", ["mariadb", "mysql", "postgres", "sqlite"])
def test_a_script_loads_and_runs_and_is_kept_with_the_run(system: str, there: Place) -> None:
    if system == "mysql":
        binaries(system)  # skips if there are none
    (there.path / "mine.lua").write_text(SCRIPT)
    file = there.experiment(EXPERIMENT.format(system=system))
    done = there.dyno("run", file, "--dir", "out")
    assert done.returncode == 0, done.stderr
    records = [json.loads(text) for text in complete_trials(there.path / "out").values()]
    assert len(records) == 2
    for record in records:
        assert record["status"] == "complete", record["void_reason"]
        assert record["metrics"]["transactions_per_s"] > 0
    ends = [
        watched.events[-1]["groups"]["workload"] for watched in trials(there.path / "out").values()
    ]
    # What each of the three sessions has under way at an end of the measured time may be in one.
    less, more = sorted(ends, key=lambda end: end["operations"] / end["transactions"])
    assert abs(less["operations"] - less["transactions"]) <= 6
    assert abs(more["operations"] - 2 * more["transactions"]) <= 12, "a level is its option"
    (there.path / "mine.lua").unlink()
    manifest = (there.path / "out" / "manifest.json").read_text()
    assert "loaded by prepare" in manifest
    assert there.dyno("report", "out").returncode == 0
    assert there.until_clean() == []


def test_what_the_script_fails_of_is_said(there: Place) -> None:
    (there.path / "mine.lua").write_text("function event() error('no luck today') end")
    file = there.experiment(EXPERIMENT.format(system="sqlite").replace("table_size: 40", ""))
    done = there.dyno("run", file, "--dir", "out", "--set", "workload.options.rand-type=uniform")
    assert "no option writes" in done.stdout + done.stderr
    plain = "\n".join(
        line for line in EXPERIMENT.splitlines() if "factors" not in line and "writes" not in line
    )
    file = there.experiment(plain.format(system="sqlite").replace("table_size: 40", ""))
    done = there.dyno("run", file, "--dir", "out2")
    assert "no luck today" in done.stdout + done.stderr
    assert there.until_clean() == []


def test_the_highest_rate_of_a_script_is_searched_for(there: Place) -> None:
    run = there.path / "run"
    done = there.dyno("run", there.experiment(SEARCH), "--quick", "--dir", run)
    assert done.returncode == 0, done.stderr
    assert "probe 1: " in done.stderr
    (cell,) = result(run)["cells"]
    assert cell["metrics"]["rate_max_per_s"]["mean"] > 0
    assert there.until_clean() == []
