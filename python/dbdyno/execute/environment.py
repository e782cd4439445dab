"""What a run ran on: enough to tell whether a resumed run is still the same experiment."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dbdyno import __version__
from dbdyno.plan.machine import Machine
from dbdyno.plan.types import Plan
from dbdyno.systems.scratch import mounted

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
    }


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
