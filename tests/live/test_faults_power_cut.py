"""Power cuts of real servers in mid-load: what they lose by their durability, what a disk that lies
costs, and that nothing is left of volumes, whatever dies."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import engine_jobs
import pytest
from ending import LONG, Watched, ended, settled, trial
from private_servers import CORE, Bench, binaries, initialised
from running import Place, complete_trials, orphaned_loops, wait_for
from test_audits_live import DATABASE, WRITES, audit, data, load

from dbdyno import systems
from dbdyno.audit import identities
from dbdyno.errors import DynoError
from dbdyno.experiment import types
from dbdyno.experiment.values.faults import (
    Fault,
)
from dbdyno.faults.base import Node
from dbdyno.faults.disk.power_cut import FAULT
from dbdyno.hosts import LOCAL
from dbdyno.storage import needed, probe
from dbdyno.storage.device import detach_orphans
from dbdyno.storage.volume import Volume
from dbdyno.systems.base import Server, TargetPlan
from dbdyno.systems.process import guardian
from dbdyno.systems.process.scratch import Scratch
from needed import missing

pytestmark = pytest.mark.live

SYSFS = Path("/sys/block")
SMALL = 320 << 20
EXPERIMENT = """
experiment: cut
question: What does a power cut take away?
targets: {{db: {{kind: {kind}, memory: 64Mi, {durability}, volume: {{size: 512Mi{more}}}}}}}
workload:
  {{kind: oltp, preset: write_only, sessions: 4, tables: 1, rows: 500, deadline: 5s, retries: 0}}
audit: commits
faults:
{faults}
blocks: 1
warmup: 100ms
duration: {duration}
interval: 100ms
"""


@pytest.fixture(autouse=True)
def _able() -> None:
    try:
        needed.check(types.Volume())
    except DynoError as error:
        missing(f"{error.what}: {error.fix}")


def experiment(
    kind: str,
    durability: str = "full",
    more: str = "",
    faults: str = "  - {at: 1s, do: power_cut, back_after: 200ms}",
    duration: str = LONG,
) -> str:
    binaries(kind)
    said = f"durability: {durability}"
    named = {"kind": kind, "durability": said, "more": more, "faults": faults}
    return EXPERIMENT.format(**named, duration=duration)


def completed(
    there: Place, text: str, enough: Callable[[Watched], object] = settled
) -> dict[str, Any]:
    """The record of the only trial of a run that left nothing behind; its load has ended once it
    saw enough."""
    there.experiment(text)
    with ended(there.path / "r", enough):
        done = there.dyno("run", "experiment.yaml", "--dir", "r", timeout=480)
    assert done.returncode == 0, done.stdout + done.stderr
    assert there.until_clean() == []
    (raw,) = complete_trials(there.path / "r").values()
    record: dict[str, Any] = json.loads(raw)
    assert record["status"] == "complete", record["void_reason"]
    return record


def audited(there: Place, text: str) -> dict[str, Any]:
    """The same of a trial with a power cut."""
    record = completed(there, text)
    (fault,) = (one for one in record["faults"] if one["do"] == "power_cut")
    assert 1.0 <= fault["begun_s"] <= fault["in_force_s"] < fault["undone_s"]
    return record


def loses(there: Place, record: dict[str, Any]) -> bool:
    """Whether commits were lost, if there were any when the power was cut."""
    cut_s = min(one["begun_s"] for one in record["faults"])
    lost: int = record["audit"]["db"]["lost"]
    return lost > 0 or not trial(there.path / "r").commits(0, cut_s)


def test_a_run_with_a_power_cut_loses_nothing_with_full_durability(there: Place) -> None:
    record = audited(there, experiment("mariadb"))
    found = record["audit"]["db"]
    assert (found["lost"], found["resurrected"], found["duplicated"]) == (0, 0, 0)
    assert found["acknowledged"] > 0
    volume = record["targets"]["db"]["volume"]
    assert volume["fsynced_survives"] is True
    assert volume["fsync_s"] > 0
    page = (there.path / "r/report.md").read_text()
    assert "## Volumes" in page and "survived" in page


@contextmanager
def cut_in_mid_load(kind: str, directory: Path, **target: Any) -> Iterator[Server]:
    """A server that an audited load was sent to while the power of its volume was cut, after it has
    recovered. `directory`: where the engine leaves its log."""
    found, system = binaries(kind), systems.load(kind)
    plan = TargetPlan(name="db", kind=kind, tls="off", **target)
    with Scratch() as scratch:
        volume = Volume(LOCAL, scratch.path / "db", types.Volume(SMALL))
        volume.create()
        try:
            place = volume.path / "server"
            subprocess.run(["cp", "-a", initialised(kind), place], check=True)
            bench = Bench(system, found, plan, system.resolve(plan), place)
            server: Any = bench.start()
            try:
                fill(bench, server, directory)
                volume.flush()
                node = Node("db", server, DATABASE, disk=volume)
                fault = Fault(0.0, "power_cut", ("db",), "db")
                said: list[str] = []

                def cut() -> None:
                    wait_for(lambda: server.run(DATABASE, [identities.COUNT])[0][0] >= 20, 5)
                    said.append(FAULT.begin(node, fault))

                load(bench, server, directory, cut)
                FAULT.undo(node, fault, said[0])
                yield server
            finally:
                server.stop(discard=True)
        finally:
            volume.close()


def fill(bench: Bench, server: Server, directory: Path) -> None:
    """Loads the workload's table, makes that of the audit, and has the server write all of it."""
    server.create_schema(DATABASE)
    target = server.engine_target(bench.target, bench.resolved, DATABASE)
    plan = engine_jobs.plan(directory, target, "load", options=data(WRITES))
    assert engine_jobs.run(plan).last["event"] == "loaded"
    server.run(DATABASE, identities.CREATE)
    server.settle(DATABASE)


@pytest.mark.parametrize(("durability", "loses"), [("none", True), ("full", False)])
@pytest.mark.parametrize("kind", CORE)
def test_what_an_audit_calls_lost_is_what_a_recount_finds(
    kind: str, durability: str, loses: bool, tmp_path: Path
) -> None:
    with cut_in_mid_load(kind, tmp_path, durability=durability) as server:
        found = audit(server, tmp_path)  # compared with the recount there
    assert found.acknowledged > 0
    assert found.lost is not None
    assert (found.lost > 0) == loses
    assert (found.resurrected, found.duplicated, found.unlogged) == (0, 0, 0)


def test_a_disk_that_lies_makes_full_durability_lose_commits(there: Place) -> None:
    record = audited(there, experiment("postgres", more=", flushes: ignored"))
    assert loses(there, record)
    assert record["targets"]["db"]["volume"]["fsynced_survives"] is False


def test_a_binary_log_that_is_not_synced_loses_the_last_commit(there: Place) -> None:
    """Prepared in InnoDB and not in the binary log: recovery rolls it back. Of three servers, since
    one may have flushed its log by chance just before the cut."""
    settings = "{log_bin: on, sync_binlog: 0, innodb_flush_log_at_trx_commit: 1}"
    text = experiment("mariadb", faults="  - {at: 2s, do: power_cut, node: all}")
    text = text.replace("durability: full", f"instances: 3, config: {settings}")
    text = text.replace("sessions: 4", "sessions: 3, rate: 30/s, arrivals: uniform")
    record = completed(there, text, lambda watched: len(watched.times("power_cut")) == 3)
    assert loses(there, record)
    assert record["audit"]["db"]["lost"] <= 9


def test_mount_options_that_lie_are_found_before_the_first_trial(there: Place) -> None:
    record = audited(there, experiment("mariadb", more=", mount_options: nobarrier"))
    assert loses(there, record)
    assert any(
        "`nobarrier` a file that was fsynced did not survive" in w for w in record["warnings"]
    )


@pytest.mark.parametrize("filesystem", ["ext4", "xfs", "btrfs"])
@pytest.mark.parametrize("flushes", ["obeyed", "ignored"])
def test_a_volume_keeps_what_was_fsynced_and_nothing_else(filesystem: str, flushes: str) -> None:
    asked = types.Volume(SMALL, filesystem, "", flushes)
    try:
        needed.check(asked)
    except DynoError as error:
        missing(f"{error.what}: {error.fix}")
    with Scratch() as scratch:
        volume = Volume(LOCAL, scratch.path / "volumes" / "db", asked)
        volume.create()
        try:
            seen = probe.examine(volume)
        finally:
            loops = guardian.loops_below(str(scratch.path))
            volume.close()
        assert len(loops) == 1
        assert not volume.path.parent.exists()
    assert not seen.left and not seen.direct
    assert seen.kept == (flushes == "obeyed")
    # The next user of the loop device gets one that tells the truth.
    kept = SYSFS / loops[0] / "queue/write_cache"
    assert wait_for(lambda: kept.read_text() == "write back\n")  # another test may have it now


def test_a_volume_that_is_mounted_again_has_lost_nothing() -> None:
    with Scratch() as scratch:
        volume = Volume(LOCAL, scratch.path / "db", types.Volume(SMALL, flushes="ignored"))
        volume.create()
        try:
            written = volume.path / "written"
            written.write_bytes(b"1" * probe.BLOCK)
            volume.flush()
            written.write_bytes(b"2" * probe.BLOCK)
            volume.remount()
            assert written.read_bytes() == b"2" * probe.BLOCK
            volume.fail_flushes(True)
            with pytest.raises(DynoError, match="cannot be flushed") as caught:
                volume.flush()
            assert "dmesg" in caught.value.fix
            volume.fail_flushes(False)
            volume.remount()
            assert volume.can_be_written()
        finally:
            volume.close()


@pytest.mark.parametrize("moment", ["begin", "cut"])
def test_after_kill_9_no_mount_and_no_process_is_left_and_the_run_goes_on(
    there: Place, moment: str
) -> None:
    faults = "  - {at: 500ms, do: power_cut}"
    there.experiment(experiment("mariadb", faults=faults, duration="3s"))
    dyno = there.start("run", "experiment.yaml", "--dir", "r")
    log = there.path / "r/trials/b01-t001/faults.ndjson"
    data = str(Path("*", "volumes", "db", "root", "server", "data"))
    begun = {
        "begin": lambda: list(there.scratch.glob(data)),
        "cut": lambda: log.exists() and '"ok"' in log.read_text(),
    }
    assert wait_for(begun[moment], 180)
    dyno.kill()
    dyno.communicate(timeout=60)
    assert there.until_clean() == []
    resumed = there.dyno("run", "--resume", "r")
    assert resumed.returncode == 0, resumed.stdout + resumed.stderr
    assert len(complete_trials(there.path / "r")) == 1
    assert there.until_clean() == []


def test_a_loop_device_whose_disk_has_gone_is_detached(there: Place) -> None:
    asked = types.Volume(SMALL)
    with Scratch(there.scratch) as scratch:
        volume = Volume(LOCAL, scratch.path / "db", asked)
        volume.create()
        subprocess.run(["umount", volume.path], check=True)
        (loop,) = guardian.loops_below(str(scratch.path))
        # As a SIGTERM to all processes does: nbdfuse unmounts itself.
        subprocess.run(["umount", "--lazy", volume.path.parent / "fuse"], check=True)
        assert loop in orphaned_loops()
        volume.close()
        detach_orphans()
        assert loop not in orphaned_loops()
    assert there.until_clean() == []


def test_when_all_processes_die_at_once_the_next_run_unmounts(there: Place) -> None:
    there.experiment(experiment("mariadb", faults="  - {at: 2500ms, do: power_cut}"))
    dyno = there.start("run", "experiment.yaml", "--dir", "r")
    events = there.path / "r/trials/b01-t001/events.ndjson"
    assert wait_for(lambda: events.is_file() and '"phase":"measure"' in events.read_text(), 180)
    for pid, line in there.processes():  # guardians first: they would clean up
        if "guardian.py" in line:
            os.kill(pid, signal.SIGKILL)
    for pid, _ in there.processes():
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    dyno.communicate(timeout=60)
    assert wait_for(lambda: not there.processes())
    assert guardian.mounts_below(str(there.scratch))
    with ended(there.path / "r", lambda watched: watched.times("power_cut")):
        resumed = there.dyno("run", "--resume", "r")
    assert resumed.returncode == 0, resumed.stdout + resumed.stderr
    assert there.until_clean() == []


def test_ctrl_c_while_there_is_no_power(there: Place) -> None:
    faults = "  - {at: 500ms, do: power_cut}"
    there.experiment(experiment("postgres", faults=faults, duration="3s"))
    dyno = there.start("run", "experiment.yaml", "--dir", "r")
    log = there.path / "r/trials/b01-t001/faults.ndjson"
    assert wait_for(lambda: log.exists() and '"ok"' in log.read_text(), 180)
    dyno.send_signal(signal.SIGINT)
    output, _ = dyno.communicate(timeout=120)
    assert "Traceback" not in output
    assert there.until_clean() == []


def test_a_disk_that_ends_by_itself_voids_the_trial(there: Place) -> None:
    faults = "  - {at: 2500ms, do: power_cut}"
    there.experiment(experiment("mariadb", faults=faults, duration="3s"))
    dyno = there.start("run", "experiment.yaml", "--dir", "r")
    events = there.path / "r/trials/b01-t001/events.ndjson"
    assert wait_for(lambda: events.is_file() and '"phase":"measure"' in events.read_text(), 180)
    for pid, line in there.processes():
        if line.split(" ")[0].endswith("nbdkit"):
            os.kill(pid, signal.SIGKILL)
    dyno.send_signal(signal.SIGINT)
    output, _ = dyno.communicate(timeout=180)
    assert "Traceback" not in output
    assert there.until_clean() == []


def test_a_failed_fsync_is_never_acknowledged(there: Place) -> None:
    def noticed(watched: Watched) -> bool:
        """Whether the server, or the file system, has given up."""
        runs = any(line.split(" ")[0].endswith("postgres") for _, line in there.processes())
        mounts = map(str.split, Path("/proc/self/mounts").read_text().splitlines())
        options = [mount[3] for mount in mounts if mount[1].startswith(str(there.path))]
        is_read_only = any("ro" in each.split(",") for each in options)
        return bool(watched.times("fsync_error")) and (is_read_only or not runs)

    faults = "  - {at: 1s, do: fsync_error}"
    record = completed(there, experiment("postgres", faults=faults), noticed)
    assert record["audit"]["db"]["lost"] == 0
    (fault,) = record["faults"]
    assert fault["undone_s"] >= record["measured_s"]
    lines = (there.path / "r/trials/b01-t001/faults.ndjson").read_text().splitlines()
    said = json.loads(lines[-1])["said"]
    assert "the server ended itself" in said or "read-only" in said


def test_the_power_of_all_instances_is_cut_at_once(there: Place) -> None:
    text = experiment("mariadb", faults="  - {at: 1s, do: power_cut, node: all, back_after: 200ms}")
    record = completed(there, text.replace("64Mi,", "64Mi, instances: 2,"))
    assert record["audit"]["db"]["lost"] == 0
    one, other = record["faults"]
    assert {one["node"], other["node"]} == {"db", "db.2"}
    # Both are cut before either comes back.
    assert max(one["in_force_s"], other["in_force_s"]) < min(one["undone_s"], other["undone_s"])


def test_a_disk_of_few_operations_is_slow_and_is_lifted(there: Place) -> None:
    if not Path("/sys/fs/cgroup/blkio/blkio.throttle.write_iops_device").exists():
        missing("the kernel has no control groups of version 1 with blkio")

    def slow(watched: Watched) -> bool:
        return bool(watched.times("limit")) and watched.measured[-1]["t_s"] > _slow_s(watched) + 1

    faults = "  - {at: 500ms, do: limit, disk: {iops: 10}}"
    record = completed(there, experiment("mariadb", faults=faults), slow)
    (fault,) = record["faults"]
    assert fault["undone_s"] >= record["measured_s"]
    watched = trial(there.path / "r")
    from_s, until_s = _slow_s(watched), watched.measured[-1]["t_s"]
    # A write at least for each group commit of four sessions.
    assert watched.commits(from_s) <= 4 * (10 * (until_s - from_s) + 2)
    assert not list(Path("/sys/fs/cgroup/blkio").glob("**/dyno-fault-*"))


def _slow_s(watched: Watched) -> float:
    """When what was under way before a limit has ended."""
    return watched.times("limit")[0] + 0.5
