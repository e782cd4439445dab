"""Faults on real servers in mid-load: what is measured of them, what is undone, what is left."""

from __future__ import annotations

import json
import os
import shutil
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ending import LONG, Watched, ended, settled, trials
from private_servers import binaries
from running import Place, complete_trials, result, wait_for

from needed import missing

pytestmark = pytest.mark.live

HEAD = """
experiment: struck
targets: {{db: {{kind: {kind}, memory: 64Mi, durability: os_crash_unsafe}}}}
workload: {{kind: oltp, preset: {preset}, sessions: 2, tables: 1, rows: 1000, deadline: 30s}}
blocks: {blocks}
warmup: 200ms
duration: {duration}
interval: 100ms
"""


def experiment(
    kind: str, faults: str, preset: str = "write_only", duration: str = LONG, blocks: int = 1
) -> str:
    binaries(kind)
    return HEAD.format(kind=kind, preset=preset, duration=duration, blocks=blocks) + faults


def records(there: Place) -> list[dict[str, Any]]:
    return [json.loads(text) for text in complete_trials(there.path / "r").values()]


def journal(there: Place, trial: str = "b01-t001") -> list[dict[str, Any]]:
    lines = (there.path / "r/trials" / trial / "faults.ndjson").read_text().splitlines()
    return [json.loads(line) for line in lines]


def ran(
    there: Place, text: str, enough: Callable[[Watched], object] = settled
) -> list[dict[str, Any]]:
    """The records of a run that went to its end and left nothing behind; loads have ended once they
    saw enough."""
    there.experiment(text)
    with ended(there.path / "r", enough):
        done = there.dyno("run", "experiment.yaml", "--dir", "r", timeout=480)
    assert done.returncode == 0, done.stdout + done.stderr
    assert there.until_clean() == []
    found = records(there)
    assert all(one["status"] == "complete" for one in found), [one["void_reason"] for one in found]
    return found


def least_outage_s(record: dict[str, Any], watched: Watched) -> float:
    """Half of the time that the first fault lasted: the metric has more. The other half is for an
    engine that got no CPU, and counted late."""
    begun_s = record["faults"][0]["in_force_s"]
    ended_s = next(
        one["t_s"] for one in watched.faults if one["step"] == "undo" or one["do"] == "resume"
    )
    least_s: float = (ended_s - begun_s) / 2 - watched.lateness_s
    assert record["metrics"]["outage_s"] >= least_s
    return least_s


def test_a_crash_is_measured_and_the_next_trial_starts_from_whole_data(there: Place) -> None:
    found = ran(
        there,
        experiment(
            "mariadb",
            "factors:\n"
            "  fault:\n"
            "    none:\n"
            "    kill: {faults: [{at: 2s, do: kill, back_after: 1s}]}\n"
            "claims: ['outage_s[kill] < 60s', 'tps[kill] < tps[none]']\n",
            blocks=2,
        ),
    )
    assert len(found) == 4
    killed = [one for one in found if one.get("faults")]
    assert len(killed) == 2
    for one in killed:
        watched = trials(there.path / "r")[one["id"]]
        (fault,) = one["faults"]
        assert (fault["do"], fault["node"], fault["at_s"]) == ("kill", "db", 2.0)
        assert 2.0 <= fault["begun_s"] <= fault["in_force_s"] < fault["undone_s"]
        down_s = least_outage_s(one, watched)
        if watched.stalled(fault["begun_s"], down_s):
            assert one["metrics"].get("failover_s", down_s) >= down_s
        else:
            assert one["metrics"]["failover_s"] >= down_s
            assert one["metrics"]["brownout_s"] >= 1.0
        assert one["metrics"]["errors_per_s"] > 0
        assert one["outages"]
        assert "server_cpu_us_per_op" not in one["metrics"]
    for one in found:
        if not one.get("faults"):
            assert one["outages"] == []
            assert "failover_s" not in one["metrics"]
    bound, ratio = result(there.path / "r")["claims"]
    assert ratio["ratio"] is None or ratio["ratio"] > 0
    outages_s = [one["metrics"]["outage_s"] for one in killed]
    assert min(outages_s) <= bound["ratio"] <= max(outages_s) + 1e-9  # the mean that it bounds
    assert "not estimable" not in bound["why"]
    page = (there.path / "r/report.html").read_text()
    assert 'id="faults"' in page and "kill db" in page
    assert "No commit for" in (there.path / "r/report.md").read_text()


def test_the_journal_has_a_line_before_and_after_each_step(there: Place) -> None:
    ran(
        there,
        experiment(
            "postgres",
            "faults:\n"
            "  - {at: 1s, do: pause, for: 1s}\n"
            "  - {at: 2500ms, do: sql, sql: [CREATE TEMPORARY TABLE struck (a int),"
            " INSERT INTO struck VALUES (1)]}\n",  # one session has both
            "read_only",
        ),
    )
    lines = [(one["do"], one["at_s"], one["step"], one["outcome"]) for one in journal(there)]
    # The statement waits where the pause ends late.
    assert [one for one in lines if one[2] != "wait"] == [
        ("pause", 1.0, "begin", ""),
        ("pause", 1.0, "begin", "ok"),
        ("pause", 2.0, "undo", ""),
        ("pause", 2.0, "undo", "ok"),
        ("sql", 2.5, "begin", ""),
        ("sql", 2.5, "begin", "ok"),
    ]
    assert {(one["fault"], one["do"]) for one in journal(there)} == {(1, "pause"), (2, "sql")}
    (record,) = records(there)
    least_outage_s(record, trials(there.path / "r")[record["id"]])
    assert record["outages"] == []  # connections stay


DROPPED = "ALTER TABLE sbtest1 DROP INDEX by_pad"
UNTIL_INDEXED = (
    '"BEGIN NOT ATOMIC WHILE NOT EXISTS (SELECT 1 FROM information_schema.statistics'
    " WHERE table_schema = database() AND table_name = 'sbtest1' AND index_name = 'by_pad')"
    ' DO DO SLEEP(0.05); END WHILE; END"'
)


def test_a_program_changes_a_table_that_is_in_use(there: Place) -> None:
    if shutil.which("pt-online-schema-change") is None:
        missing("pt-online-schema-change is not installed: run `make servers`")
    (record,) = ran(
        there,
        experiment(
            "mariadb",
            "faults:\n"
            "  - {at: 500ms, do: alter, table: sbtest1, change: 'ADD INDEX by_pad (pad)'}\n"
            # It waits for the index, and would fail, and void the trial, if there were none.
            f"  - {{at: 1s, do: sql, sql: [{UNTIL_INDEXED}, {DROPPED}]}}\n",
        ),
    )
    changed, dropped = record["faults"]
    assert changed["begun_s"] < changed["in_force_s"]
    assert changed["begun_s"] < dropped["in_force_s"]
    assert record["metrics"]["sql_s"] >= changed["in_force_s"] - changed["begun_s"]
    assert "pt-online-schema-change changed sbtest1" in [line["said"] for line in journal(there)]


@pytest.mark.parametrize("kind", ["postgres", "redis"])
def test_a_killed_server_comes_back_as_itself(there: Place, kind: str) -> None:
    text = experiment(
        kind,
        "faults:\n  - {at: 1s, do: kill}\n  - {at: 1500ms, do: restart}\n  - {at: 3s, do: stop}\n",
    )
    if kind == "redis":
        text = text.replace(
            "kind: oltp, preset: write_only, sessions: 2, tables: 1, rows: 1000",
            "kind: kv, preset: a, sessions: 2, records: 1000",
        )
    (record,) = ran(there, text, Watched.over_s)
    did = [(one["do"], one.get("problem", "")) for one in record["faults"]]
    assert did == [("kill", ""), ("restart", ""), ("stop", "")]
    killed, restarted, stopped = record["faults"]
    assert killed["undone_s"] == restarted["in_force_s"]
    assert "undone_s" not in restarted
    assert stopped["undone_s"] >= record["measured_s"] > stopped["in_force_s"]
    assert max(one["end_s"] or 99 for one in record["outages"]) > 1.5


def test_a_pause_ends_when_the_experiment_says_so(there: Place) -> None:
    faults = "faults: [{at: 500ms, do: pause, node: any}, {at: 1200ms, do: resume, node: db}]\n"
    (record,) = ran(there, experiment("mariadb", faults, "read_only"))
    pause, resume = record["faults"]
    assert pause["undone_s"] == resume["in_force_s"] < record["measured_s"]
    least_outage_s(record, trials(there.path / "r")[record["id"]])
    assert record["outages"] == []


def test_instances_one_of_which_dies(there: Place) -> None:
    text = experiment("mariadb", "faults: [{at: 1s, do: kill, node: db.2}]\n")

    def one_goes_on(watched: Watched) -> bool:
        killed = watched.times("kill")
        return bool(killed) and watched.commits(killed[0]) > 0

    (record,) = ran(there, text.replace("64Mi", "64Mi, instances: 2"), one_goes_on)
    assert [one["node"] for one in record["faults"]] == ["db.2"]
    assert record["metrics"]["transactions_per_s"] > 0
    assert record["outages"]


def test_a_nemesis_strikes_alike_when_it_is_replayed(there: Place) -> None:
    text = experiment(
        "mariadb",
        "faults: [{at: 500ms, do: nemesis, for: 4s, every: 300ms, hold: 400ms,"
        " of: [pause, kill]}]\n",
    )

    def few(watched: Watched) -> bool:
        undone = [one for one in watched.faults if (one["step"], one["outcome"]) == ("undo", "ok")]
        # The moments of all that are drawn have come by then.
        return watched.measured[-1]["t_s"] > 5 and len(undone) >= FEW

    def struck() -> list[tuple[str, str, float]]:
        (record,) = ran(there, text, few)
        return [(one["do"], one["node"], one["at_s"]) for one in record["faults"]]

    # How many come until the load ends is a matter of how long servers take to start again.
    first = struck()
    (there.path / "r").rename(there.path / "before")
    common = list(zip(first, struck(), strict=False))
    assert len(common) >= FEW
    assert all(one == other for one, other in common), common


FEW = 3  # of those that are drawn


def test_a_limit_of_cpu_is_in_force_and_removed(there: Place) -> None:
    if os.geteuid() != 0 or not Path("/sys/fs/cgroup/cpu/cpu.cfs_quota_us").exists():
        missing("control groups of version 1 need root, and a kernel that has them")
    (record,) = ran(
        there,
        experiment("mariadb", "faults: [{at: 1s, do: limit, cpu: 0.05, for: 2s}]\n", "read_only"),
    )
    (fault,) = record["faults"]
    assert fault["undone_s"] >= 3.0
    said = [one["said"] for one in journal(there) if one["step"] == "begin"][-1]
    assert said.startswith("dyno-fault-")
    assert not list(Path("/sys/fs/cgroup/cpu").glob(f"**/{said}"))


def test_a_fault_that_cannot_happen_voids_the_trial_and_says_why(there: Place) -> None:
    there.experiment(
        experiment(
            "mariadb",
            "faults: [{at: 200ms, do: kill}, {at: 1s, do: pause}]\n",
        )
    )
    with ended(there.path / "r"):
        done = there.dyno("run", "experiment.yaml", "--dir", "r")
    (record,) = records(there)
    assert record["status"] == "void"
    assert record["void_reason"] == "`pause` of `db` at 1 s did not happen: `db` does not run"
    assert "Traceback" not in done.stdout + done.stderr
    assert there.until_clean() == []


def test_sql_that_the_server_refuses_voids_the_trial(there: Place) -> None:
    there.experiment(experiment("postgres", "faults: [{at: 200ms, do: sql, sql: NO SUCH}]\n"))
    with ended(there.path / "r"):
        there.dyno("run", "experiment.yaml", "--dir", "r")
    (record,) = records(there)
    assert "did not happen" in record["void_reason"]
    assert "syntax error" in record["void_reason"]
    assert there.until_clean() == []


@pytest.mark.parametrize("twice", [False, True], ids=["once", "twice"])
def test_ctrl_c_in_the_middle_of_a_pause(there: Place, twice: bool) -> None:
    # The first one waits for the end of the trial.
    duration = LONG if twice else "3s"
    text = experiment("postgres", "faults: [{at: 300ms, do: pause}]\n", duration=duration)
    there.experiment(text.replace("deadline: 30s", "deadline: 5s"))
    dyno = there.start("run", "experiment.yaml", "--dir", "r")
    log = there.path / "r/trials/b01-t001/faults.ndjson"
    assert wait_for(lambda: log.exists() and '"ok"' in log.read_text(), 180)
    dyno.send_signal(signal.SIGINT)
    if twice:  # two at once would be one
        said = there.path / "r/run.log"
        assert wait_for(lambda: "stopping after this trial" in said.read_text())
        dyno.send_signal(signal.SIGINT)
    output, _ = dyno.communicate(timeout=120)
    assert dyno.returncode == 3 or not twice, output
    assert "Traceback" not in output
    if log.exists():  # else the attempt was moved aside
        assert [one["step"] for one in journal(there)] == ["begin", "begin", "undo", "undo"]
    assert there.until_clean() == []


def test_after_kill_9_nothing_is_left_and_the_run_goes_on(there: Place) -> None:
    there.experiment(
        experiment("mariadb", "faults: [{at: 300ms, do: pause, for: 1s}]\n", duration="2s")
    )
    dyno = there.start("run", "experiment.yaml", "--dir", "r")
    log = there.path / "r/trials/b01-t001/faults.ndjson"
    assert wait_for(lambda: log.exists() and '"ok"' in log.read_text(), 180)
    dyno.kill()
    dyno.communicate(timeout=60)
    assert there.until_clean() == []  # nor the paused server
    resumed = there.dyno("run", "--resume", "r")
    assert resumed.returncode == 0, resumed.stdout + resumed.stderr
    (record,) = records(there)
    assert (record["status"], len(record["faults"])) == ("complete", 1)
    assert there.until_clean() == []


def test_bad_input_is_refused_with_line_and_column(there: Place) -> None:
    path = there.experiment(
        experiment(
            "mariadb",
            "faults:\n  - {at: 9s, do: kill}\n  - {at: 1s, do: kill, node: db.2}\n",
            duration="5s",
        )
    )
    done = there.dyno("run", path, "--check")
    assert done.returncode == 2
    assert "experiment.yaml:10:10" in done.stderr
    assert "it measures 5 s" in done.stderr
