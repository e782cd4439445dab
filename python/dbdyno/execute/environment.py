"""What a run ran on: enough to show whether a resumed run is still the same experiment."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from dbdyno import __version__, kinds
from dbdyno.plan.machine import Machine
from dbdyno.plan.outlook import estimate
from dbdyno.plan.types import Plan
from dbdyno.rules import machine as machine_checks
from dbdyno.systems.process.scratch import mounted

# A difference in any of these makes trials before and after incomparable within a block.
IDENTITY = ("kernel", "boot_id", "cpu_set", "storage", "systems", "dbdyno")


def describe(
    plan: Plan, machine: Machine, systems: Mapping[str, str], scratch: Path
) -> dict[str, Any]:
    """Facts of this machine and moment. `systems` maps kind (with the version and basedir
    that are asked for) to version, `scratch` is where the servers keep their files."""
    return {
        "dbdyno": __version__,
        "python": platform.python_version(),
        "kernel": platform.release(),
        "architecture": platform.machine(),
        "os": _pretty_os(),
        "boot_id": _read("/proc/sys/kernel/random/boot_id"),
        "cpu_model": machine.cpu_model,
        "cores": machine.cores,
        "cpu_set": sorted(os.sched_getaffinity(0)),
        "memory_bytes": machine.memory_bytes,
        "generator_cpus": list(plan.generator_cpus),
        "server_cpus": list(plan.server_cpus),
        "clocksource": _read("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
        "governor": _read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        "scratch": str(scratch.absolute()),
        "storage": " on ".join(filter(None, mounted(scratch))),
        "started_unix_s": time.time(),
        "systems": dict(systems),
        "checks": [asdict(finding) for finding in checks(plan, scratch)],
    }


def checks(plan: Plan, scratch: Path) -> tuple[machine_checks.Finding, ...]:
    """What the checks find on this machine, for a plan whose servers keep their files in `scratch`.
    Takes half a second, in which it measures what else runs."""
    targets = [target for cell in plan.cells for target in cell.targets]
    return machine_checks.look(
        machine_checks.Place(
            cpus=tuple(sorted(os.sched_getaffinity(0))),
            generator_cpus=plan.generator_cpus,
            server_cpus=plan.server_cpus,
            device=_device(scratch),
            space=_space(scratch),
            needed_bytes=estimate.of(plan).disk_bytes,
            activity=machine_checks.sample(),
            stores_data=any(
                target.url is None and kinds.of(target.kind).stores_data for target in targets
            ),
        )
    )


def _device(path: Path) -> tuple[int, int] | None:
    """Major and minor number of the block device that holds `path`; None if there is none."""
    try:
        number = os.stat(path).st_dev
        if os.major(number) == 0 and (source := mounted(path)[1]).startswith("/dev/"):
            number = os.stat(source).st_rdev  # file systems of several devices have none
    except OSError:
        return None
    return (os.major(number), os.minor(number)) if os.major(number) else None


def _space(path: Path) -> machine_checks.Space | None:
    try:
        found = os.statvfs(path)
    except OSError:
        return None
    return machine_checks.Space(found.f_blocks * found.f_frsize, found.f_bavail * found.f_frsize)


def differences(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """What has changed between two environments, as `kernel: 6.1 -> 6.8`."""
    return [
        f"{key}: {before.get(key)} -> {now.get(key)}"
        for key in IDENTITY
        if key in before and before[key] != now.get(key)
    ]


def _pretty_os() -> str:
    for line in _read("/etc/os-release").splitlines():
        if line.startswith("PRETTY_NAME="):
            return line.partition("=")[2].strip('"')
    return platform.system()


def _read(path: str) -> str:
    try:
        return Path(path).read_text().strip()
    except OSError:
        return ""
