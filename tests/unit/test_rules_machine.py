"""Checks of a machine, on machines made up of a few files: seen, not seen, not readable."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dbdyno.rules import machine as machine_checks
from dbdyno.rules.machine import activity
from dbdyno.rules.machine.activity import Activity, Reading
from dbdyno.rules.machine.finding import FINE, FOUND, NOT_KNOWN, Finding, Place, Space

CPU = "sys/devices/system/cpu"
NODE = "sys/devices/system/node"
THP = "sys/kernel/mm/transparent_hugepage/enabled"
CLOCK = "sys/devices/system/clocksource/clocksource0/current_clocksource"
SWAPS = "Filename\tType\tSize\tUsed\tPriority\n"
QUEUE = "sys/dev/block/8:0/queue"
GIB = 1 << 30

Files = dict[str, str]


def quiet(**ticks: int) -> Activity:
    """Two CPUs for a second, idle except for `ticks`."""
    counts = {"user": 0, "idle": 200, "steal": 0, **ticks}
    return Activity(counts, counts, 2, by_name={"mysqld": counts["user"]})


def governors(*names: str) -> Files:
    return {f"{CPU}/cpu{n}/cpufreq/scaling_governor": name for n, name in enumerate(names)}


def threads(*lists: str) -> Files:
    return {f"{CPU}/cpu{n}/topology/thread_siblings_list": one for n, one in enumerate(lists)}


def nodes(**cpus: str) -> Files:
    return {
        f"{NODE}/online": ",".join(name.removeprefix("node") for name in cpus),
        **{f"{NODE}/{name}/cpulist": text for name, text in cpus.items()},
    }


SPLIT = {"generator_cpus": (0,), "server_cpus": (1,)}
DISK = {"device": (8, 0)}
FREE = Space(100 * GIB, 50 * GIB)
TOLD = {"proc/self/cgroup": "0::/job\n", "proc/meminfo": "MemTotal: 16777216 kB\n"}

# check, files, more of the place, state, a part of the text
SEEN: list[tuple[str, Files, dict[str, Any], str, str]] = [
    ("governor", governors("powersave", "performance"), {}, FOUND, "powersave on 1 of 2 CPUs"),
    ("governor", governors("performance", "performance"), {}, FINE, "performance"),
    ("governor", {}, {}, NOT_KNOWN, "scaling_governor cannot be read"),
    ("turbo", {f"{CPU}/intel_pstate/no_turbo": "0\n"}, {}, FOUND, "is on"),
    ("turbo", {f"{CPU}/cpufreq/boost": "1\n"}, {}, FOUND, "is on"),
    ("turbo", {f"{CPU}/intel_pstate/no_turbo": "1\n"}, {}, FINE, "off"),
    ("turbo", {f"{CPU}/cpufreq/boost": "0\n"}, {}, FINE, "off"),
    ("turbo", {f"{CPU}/cpufreq/boost": "maybe"}, {}, NOT_KNOWN, "no_turbo"),
    ("turbo", {}, {}, NOT_KNOWN, "no_turbo"),
    ("smt", threads("0-1", "0-1"), SPLIT, FOUND, "share cores (CPUs 0,1)"),
    ("smt", threads("0-1", "0-1"), {}, FOUND, "shares all CPUs"),
    ("smt", threads("0,2", "1,3"), SPLIT, FINE, "no core is shared"),
    ("smt", threads("0", "1"), {}, FINE, "one hardware thread"),
    ("smt", {}, SPLIT, NOT_KNOWN, "thread_siblings_list"),
    ("numa", nodes(node0="0", node1="1"), {}, FOUND, "2 NUMA nodes"),
    ("numa", nodes(node0="0-1", node1="2-3"), {}, FINE, "NUMA node 0"),
    ("numa", nodes(node0="0-1"), {}, FINE, "one NUMA node"),
    ("numa", {f"{NODE}/online": "0-1"}, {}, NOT_KNOWN, "belong"),
    ("numa", {}, {}, NOT_KNOWN, "node/online"),
    ("huge_pages", {THP: "[always] madvise never\n"}, {}, FOUND, "always"),
    ("huge_pages", {THP: "always [madvise] never\n"}, {}, FINE, "madvise"),
    ("huge_pages", {THP: "odd\n"}, {}, NOT_KNOWN, "names no setting"),
    ("huge_pages", {}, {}, NOT_KNOWN, "cannot be read"),
    ("swap", {"proc/swaps": f"{SWAPS}/dev/sda2 partition 8 20480 -2\n"}, {}, FOUND, "20 MiB"),
    (
        "swap",
        {"proc/swaps": f"{SWAPS}/dev/sda2 file 8 0 -2\n", "proc/sys/vm/swappiness": "60\n"},
        {},
        FOUND,
        "swappiness 60",
    ),
    (
        "swap",
        {"proc/swaps": f"{SWAPS}/dev/sda2 file 8 0 -2\n", "proc/sys/vm/swappiness": "1\n"},
        {},
        FINE,
        "swappiness 1",
    ),
    ("swap", {"proc/swaps": f"{SWAPS}/dev/sda2 file 8 0 -2\n"}, {}, NOT_KNOWN, "swappiness"),
    ("swap", {"proc/swaps": SWAPS}, {}, FINE, "no swap"),
    ("swap", {}, {}, NOT_KNOWN, "proc/swaps"),
    ("cpu_quota", TOLD | {"sys/fs/cgroup/job/cpu.max": "150000 100000"}, {}, FOUND, "1.5 CPUs"),
    ("cpu_quota", TOLD | {"sys/fs/cgroup/job/cpu.max": "200000 100000"}, {}, FINE, "no less"),
    ("cpu_quota", TOLD | {"sys/fs/cgroup/job/cpu.max": "max 100000"}, {}, FINE, "no CPU quota"),
    ("cpu_quota", TOLD, {}, NOT_KNOWN, "cpu.max"),
    ("cpu_quota", {}, {}, NOT_KNOWN, "cgroup"),
    (
        "memory_limit",
        TOLD | {"sys/fs/cgroup/job/memory.max": str(4 * GIB)},
        {},
        FOUND,
        "4 GiB (cgroup), of 16 GiB",
    ),
    ("memory_limit", TOLD | {"sys/fs/cgroup/job/memory.max": "max"}, {}, FINE, "no memory limit"),
    ("memory_limit", TOLD, {}, NOT_KNOWN, "memory.max"),
    ("memory_limit", {"proc/self/cgroup": "0::/job\n"}, {}, NOT_KNOWN, "meminfo"),
    ("memory_limit", {}, {}, NOT_KNOWN, "cgroup"),
    ("other_load", {}, {"activity": quiet(user=50, idle=150)}, FOUND, "0.50 of 2 CPUs"),
    ("other_load", {}, {"activity": quiet(user=50, idle=150)}, FOUND, "(most: mysqld 0.50)"),
    (
        "other_load",
        {"proc/loadavg": "3.0 2.0 1.0 5/356 11206"},
        {"activity": quiet(user=50, idle=150)},
        FOUND,
        "; 4 runnable",
    ),
    ("other_load", {}, {"activity": quiet(user=2, idle=198)}, FINE, "0.02 of 2 CPUs"),
    ("other_load", {}, {"activity": quiet(idle=3)}, NOT_KNOWN, "proc/stat"),
    ("other_load", {}, {}, NOT_KNOWN, "proc/stat"),
    ("steal", {}, {"activity": quiet(steal=10, idle=190)}, FOUND, "5.0 % of CPU time just now"),
    ("steal", {}, {"activity": quiet()}, FINE, "0.0 %"),
    ("steal", {}, {"activity": Activity({"idle": 200}, {"idle": 200}, 2)}, NOT_KNOWN, "proc/stat"),
    ("steal", {}, {}, NOT_KNOWN, "proc/stat"),
    ("io_scheduler", {f"{QUEUE}/scheduler": "none [bfq]"}, DISK, FOUND, "bfq"),
    (
        "io_scheduler",
        {f"{QUEUE}/scheduler": "[none] bfq", f"{QUEUE}/rotational": "1"},
        DISK,
        FOUND,
        "rotating",
    ),
    (
        "io_scheduler",
        {f"{QUEUE}/scheduler": "[none] bfq", f"{QUEUE}/rotational": "0"},
        DISK,
        FINE,
        "none",
    ),
    ("io_scheduler", {f"{QUEUE}/scheduler": "unreadable"}, DISK, NOT_KNOWN, "names no scheduler"),
    ("io_scheduler", {}, DISK, NOT_KNOWN, "no queue"),
    ("io_scheduler", {}, {}, NOT_KNOWN, "no queue"),
    ("disk_full", {}, {"space": Space(100 * GIB, 5 * GIB)}, FOUND, "5 GiB of 100 GiB are free"),
    ("disk_full", {}, {"space": FREE, "needed_bytes": 45 * GIB}, FOUND, "needs about 45 GiB"),
    ("disk_full", {}, {"space": FREE, "needed_bytes": GIB}, FINE, "50 GiB of 100 GiB"),
    ("disk_full", {}, {}, NOT_KNOWN, "cannot be asked"),
    ("clock_source", {CLOCK: "hpet\n"}, {}, FOUND, "hpet"),
    ("clock_source", {CLOCK: "acpi_pm\n"}, {}, FOUND, "acpi_pm"),
    ("clock_source", {CLOCK: "xen\n"}, {}, FOUND, "xen"),
    ("clock_source", {CLOCK: "tsc\n"}, {}, FINE, "tsc"),
    ("clock_source", {CLOCK: "sundial\n"}, {}, NOT_KNOWN, "sundial"),
    ("clock_source", {}, {}, NOT_KNOWN, "cannot be read"),
]


def machine(root: Path, files: Files, more: dict[str, Any]) -> Place:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return Place(root=root, cpus=(0, 1), **more)


def found(name: str, place: Place) -> Finding:
    return next(one for one in machine_checks.look(place) if one.check == name)


@pytest.mark.parametrize(("name", "files", "more", "state", "said"), SEEN)
def test_a_check_tells_what_it_sees(
    name: str, files: Files, more: dict[str, Any], state: str, said: str, tmp_path: Path
) -> None:
    one = found(name, machine(tmp_path, files, more))
    assert one.state == state, one
    assert said in one.what
    assert bool(one.effect) == bool(one.cure) == (state == FOUND)


def test_every_check_is_tried_in_all_three_states() -> None:
    tried = {(name, state) for name, _, _, state, _ in SEEN}
    names = {rule.name for rule in machine_checks.CHECKS}
    assert tried == {(name, state) for name in names for state in (FOUND, FINE, NOT_KNOWN)}


def test_nothing_is_fine_on_a_machine_that_tells_nothing(tmp_path: Path) -> None:
    findings = machine_checks.look(Place(root=tmp_path, cpus=(0, 1)))
    assert len(findings) == len(machine_checks.CHECKS)
    assert {one.state for one in findings} == {NOT_KNOWN}
    (said,) = machine_checks.lines(findings)
    assert said.startswith("checks not known here: governor, turbo, smt, numa")


def test_a_partition_has_the_queue_of_its_disk(tmp_path: Path) -> None:
    disk = tmp_path / "sys/devices/sda"
    (disk / "queue").mkdir(parents=True)
    (disk / "queue/scheduler").write_text("mq-deadline [bfq]")
    (disk / "sda1").mkdir()
    (tmp_path / "sys/dev/block").mkdir(parents=True)
    (tmp_path / "sys/dev/block/8:1").symlink_to(disk / "sda1")
    assert found("io_scheduler", machine(tmp_path, {}, {"device": (8, 1)})).state == FOUND


def test_where_all_servers_are_external_no_data_directory_is_checked(tmp_path: Path) -> None:
    findings = machine_checks.look(Place(root=tmp_path, cpus=(0,), stores_data=False))
    assert not {"io_scheduler", "disk_full"} & {one.check for one in findings}
    assert "not of the host of db1:3306" in machine_checks.lines(findings, ["db1:3306"])[-1]


def test_each_finding_is_said_with_effect_and_cure() -> None:
    one = Finding("swap", FOUND, "20 MiB of swap are in use", "it is slow", "swapoff -a")
    fine = Finding("numa", FINE, "one NUMA node")
    said = ["check swap: 20 MiB of swap are in use; it is slow. Cure: swapoff -a"]
    assert machine_checks.lines([one, fine]) == said


# -- who used the CPUs ---------------------------------------------------------------------------

STAT = "cpu  {user} 0 0 {idle} 0 0 0 0 0 0\ncpu0 0 0 0 0\ncpu1 0 0 0 0\nctxt 5\n"
PROCESS = "{pid} ({name}) S 1 1 1 0 -1 4194560 0 0 0 0 {ticks} 1 0 0 20 0 1 0 {start} 0 0"


def processes(root: Path, ticks: dict[int, tuple[str, int, int]], user: int, idle: int) -> Reading:
    (root / "proc").mkdir(exist_ok=True)
    (root / "proc/stat").write_text(STAT.format(user=user, idle=idle))
    for pid, (name, used, start) in ticks.items():
        (root / "proc" / str(pid)).mkdir(exist_ok=True)
        text = PROCESS.format(pid=pid, name=name, ticks=used, start=start)
        (root / "proc" / str(pid) / "stat").write_text(text)
    reading = activity.read(root)
    assert reading is not None
    return reading


def test_programs_are_told_by_name_and_ourselves_left_out(tmp_path: Path) -> None:
    before = processes(tmp_path, {1: ("a (b) c", 5, 1), 2: ("dyno", 10, 2)}, user=100, idle=1000)
    after = processes(tmp_path, {1: ("a (b) c", 45, 1), 2: ("dyno", 30, 2)}, user=200, idle=1100)
    seen = activity.between(before, after, own_pid=2)
    assert seen.cpus == 2
    assert seen.busy_cpus == pytest.approx(0.8)  # 100 of 200 ticks, 20 of them dyno's, of two CPUs
    assert seen.top == (("a (b) c", pytest.approx(0.4)),)


def test_a_worker_that_changes_its_name_keeps_its_ticks(tmp_path: Path) -> None:
    before = processes(tmp_path, {7: ("kworker/0-a", 9000, 3)}, user=100, idle=1000)
    after = processes(tmp_path, {7: ("kworker/0-b", 9004, 3)}, user=104, idle=1096)
    assert activity.between(before, after, own_pid=1).by_name == {"kworker/0-b": 4}


def test_without_proc_nothing_is_known_of_activity(tmp_path: Path) -> None:
    assert activity.read(tmp_path) is None
    assert activity.sample(tmp_path) is None
