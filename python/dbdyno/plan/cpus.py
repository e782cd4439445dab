"""Which CPUs the generator and the servers get: apart if there are enough."""

from __future__ import annotations

from collections.abc import Sequence

from dbdyno import kinds
from dbdyno.errors import DynoError, Where
from dbdyno.experiment.types import Cpus
from dbdyno.plan.machine import Machine
from dbdyno.plan.types import Plan
from dbdyno.systems.base import TargetPlan

SPLIT_MIN = 4  # CPUs below which each side would have too few to work
GENERATOR_SHARE = 4  # one CPU in so many generates: it costs less than the server a statement


def split(
    machine: Machine, asked: Cpus, targets: Sequence[TargetPlan], where: Where | None
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """(CPUs of the generator, CPUs of the servers); both empty if they share all.

    Threads of one core stay together. DynoError for CPUs that this process may not use.
    """
    if asked.generator:
        for cpu in (*asked.generator, *asked.servers):
            if cpu not in machine.cpus:
                raise DynoError(
                    f"CPU {cpu} cannot be used here",
                    where=where,
                    cause=f"this process may use {', '.join(map(str, machine.cpus))}",
                    fix="change `cpus:`, or remove it",
                )
        return asked.generator, asked.servers
    started = [target for target in targets if target.url is None]
    if not started:
        return (), ()  # no managed server to place
    if any(kinds.of(target.kind).in_engine for target in started):
        return (), ()
    if min(machine.cores, len(machine.cpus)) < SPLIT_MIN:
        return (), ()
    wanted = max(1, len(machine.cpus) // GENERATOR_SHARE)
    generator: list[int] = []
    for core in machine.siblings or tuple((cpu,) for cpu in machine.cpus):
        if len(generator) >= wanted:
            break
        generator += core
    servers = tuple(cpu for cpu in machine.cpus if cpu not in generator)
    return (tuple(sorted(generator)), servers) if servers else ((), ())


def said(plan: Plan) -> list[tuple[str, tuple[int, ...], tuple[int, ...]]]:
    """(where, CPUs of the generator, CPUs of the servers) of a plan: one entry for all cells, or
    one a distinct pair where `cpus` varies, with the levels of the first cell that has it."""
    found: dict[tuple[tuple[int, ...], tuple[int, ...]], str] = {}
    for cell in plan.cells:
        pair = plan.generator_cpus_of(cell), plan.server_cpus_of(cell)
        levels = ", ".join(f"{name}={level}" for name, level in cell.levels.items())
        found.setdefault(pair, levels)
    alone = len(found) == 1
    return [("" if alone else where, *pair) for pair, where in found.items()]
