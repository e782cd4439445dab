"""How fast CPUs run and who shares them: frequency governor, turbo, SMT siblings, NUMA nodes.

Sources: Documentation/admin-guide/pm/cpufreq.rst and intel_pstate.rst of the kernel; sysfs
topology, Documentation/ABI/stable/sysfs-devices-node.
"""

from __future__ import annotations

from dbdyno.plan.machine import cpu_list
from dbdyno.rules.machine.finding import FINE, FOUND, NOT_KNOWN, Finding, Place, Rule, not_known

_CPU = "sys/devices/system/cpu"
_STEADY_GOVERNOR = "performance"


def _governor(place: Place) -> Finding:
    seen = {
        cpu: text
        for cpu in place.cpus
        if (text := place.text(f"{_CPU}/cpu{cpu}/cpufreq/scaling_governor"))
    }
    if not seen:
        return not_known("governor", f"{_CPU}/cpu*/cpufreq/scaling_governor")
    slow = {cpu: text for cpu, text in seen.items() if text != _STEADY_GOVERNOR}
    if not slow:
        return Finding("governor", FINE, f"frequency governor {_STEADY_GOVERNOR}")
    names = ", ".join(sorted(set(slow.values())))
    return Finding(
        "governor",
        FOUND,
        f"frequency governor {names} on {len(slow)} of {len(seen)} CPUs",
        "the clock follows the load: trials with few sessions run slower than the machine can, and"
        " comparisons of light with heavy load include the governor",
        "cpupower frequency-set --governor performance",
    )


def _turbo(place: Place) -> Finding:
    no_turbo = place.number(f"{_CPU}/intel_pstate/no_turbo")
    boost = place.number(f"{_CPU}/cpufreq/boost")
    if no_turbo is None and boost is None:
        return not_known("turbo", f"{_CPU}/intel_pstate/no_turbo or cpufreq/boost")
    if no_turbo == 1 or (no_turbo is None and boost == 0):
        return Finding("turbo", FINE, "turbo is off")
    file, value = ("intel_pstate/no_turbo", 1) if no_turbo is not None else ("cpufreq/boost", 0)
    return Finding(
        "turbo",
        FOUND,
        "turbo (boost) is on",
        "the clock depends on temperature and on how many CPUs are busy: the first trials of a run"
        " and cells with few sessions can appear a few percent faster",
        f"echo {value} > /{_CPU}/{file}, or keep it on and trust balanced blocks",
    )


def _siblings(place: Place) -> Finding:
    cores = {
        cpu: tuple(cpu_list(text))
        for cpu in place.cpus
        if (text := place.text(f"{_CPU}/cpu{cpu}/topology/thread_siblings_list"))
    }
    if not cores:
        return not_known("smt", f"{_CPU}/cpu*/topology/thread_siblings_list")
    if all(len(threads) == 1 for threads in cores.values()):
        return Finding("smt", FINE, "one hardware thread a core")
    both = sorted(
        {
            threads
            for threads in cores.values()
            if set(threads) & set(place.generator_cpus) and set(threads) & set(place.server_cpus)
        }
    )
    if not place.generator_cpus:
        return Finding(
            "smt",
            FOUND,
            "SMT is on, and the load generator shares all CPUs with the servers",
            "a generator thread on the sibling of a server thread takes up to half of that core;"
            " where the scheduler puts it changes from trial to trial",
            "give each side its own cores with `cpus:`, or switch SMT off:"
            f" echo off > /{_CPU}/smt/control",
        )
    if not both:
        return Finding("smt", FINE, "no core is shared by load generator and servers")
    shown = "; ".join(",".join(map(str, threads)) for threads in both)
    return Finding(
        "smt",
        FOUND,
        f"load generator and servers share cores (CPUs {shown})",
        "what the generator uses on one hardware thread slows the server on the other: throughput"
        " of heavy cells is too low",
        "keep the threads of a core together in `cpus:`",
    )


def _numa(place: Place) -> Finding:
    online = place.text("sys/devices/system/node/online")
    if online is None:
        return not_known("numa", "sys/devices/system/node/online")
    nodes = {
        node: set(cpu_list(place.text(f"sys/devices/system/node/node{node}/cpulist") or ""))
        for node in cpu_list(online)
    }
    used = [node for node, cpus in nodes.items() if cpus & set(place.cpus)]
    if len(nodes) == 1:
        return Finding("numa", FINE, "one NUMA node")
    if not used:
        return Finding("numa", NOT_KNOWN, f"which of {len(nodes)} NUMA nodes our CPUs belong to")
    if len(used) == 1:
        return Finding("numa", FINE, f"all CPUs are of NUMA node {used[0]}")
    return Finding(
        "numa",
        FOUND,
        f"CPUs of {len(used)} NUMA nodes",
        "memory of a server lies on whichever node touched it first, which changes with each start:"
        " restarts differ by several percent, and only more blocks average that out",
        "run on one node (numactl --cpunodebind=0 --membind=0 dyno run ...), or interleave memory",
    )


CHECKS = (
    Rule("governor", "CPU frequency governors other than `performance`", _governor),
    Rule("turbo", "turbo or boost frequencies", _turbo),
    Rule("smt", "cores whose hardware threads load generator and servers share", _siblings),
    Rule("numa", "CPUs of several NUMA nodes", _numa),
)
