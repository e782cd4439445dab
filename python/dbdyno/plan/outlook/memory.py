"""Whether the machine has the memory that an experiment gives to servers."""

from __future__ import annotations

from dbdyno.errors import DynoError
from dbdyno.experiment.file import locate
from dbdyno.experiment.types import Cell, Spec
from dbdyno.plan.machine import Machine
from dbdyno.wording.numbers import gib


def check(spec: Spec, machine: Machine) -> None:
    """DynoError where the `memory` of a cell's own servers is more than the machine has; of an
    experiment whose `needs` say so, nothing: it is not tested here."""
    total = machine.memory_bytes
    needed = spec.needs.memory_bytes
    if not total or (needed is not None and needed > total):
        return
    largest = max(spec.cells, key=_given_bytes)
    given = _given_bytes(largest)
    if given <= total:
        return
    levels = ", ".join(f"{name}={level}" for name, level in largest.levels.items())
    enough = -(-given // 2**30)
    target = max(largest.targets, key=lambda one: (one.memory_bytes or 0) * one.server_count)
    raise DynoError(
        f"servers get {gib(given)} of `memory`, and the machine has {gib(total)}"
        f"{f' (in cell {levels})' if levels else ''}",
        where=locate.size(spec.text, spec.path, "memory", target.memory_bytes or 0)
        or spec.places.get("targets"),
        cause="caches that are larger than the machine are swapped, or end the server",
        fix=f"lower `memory`, or write `needs: {{memory: {enough}Gi}}`: it is for a larger machine",
    )


def _given_bytes(cell: Cell) -> int:
    return sum((target.memory_bytes or 0) * target.server_count for target in cell.targets)
