"""How steady this machine's CPUs are: what the same loop gets done, second by second."""

from __future__ import annotations

import os
import subprocess
import sys

# Runs by itself, so that this process' threads and memory have no say in it.
_LOOP = """
import os, sys, time
cpu, seconds, part = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
os.sched_setaffinity(0, {cpu})
for _ in range(seconds):
    rounds, ends = 0, time.perf_counter() + part
    while time.perf_counter() < ends:
        for _ in range(1000):
            pass
        rounds += 1
    print(rounds)
"""


def turns(cpu: int, seconds: int, part_s: float = 1.0) -> list[int]:
    """How often a loop went round on this CPU in each of `seconds` times of `part_s` seconds."""
    command = [sys.executable, "-c", _LOOP, str(cpu), str(seconds), str(part_s)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return [int(line) for line in done.stdout.split()]


def usable() -> list[int]:
    """The CPUs that this process may use."""
    return sorted(os.sched_getaffinity(0))
