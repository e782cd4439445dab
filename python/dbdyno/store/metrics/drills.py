"""What drills of a trial took: the time of each step, the recovery time of a server, and what its
backup was. Pure.

A drill that was carried out several times in a trial counts with its longest.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from dbdyno.audit.findings import Audit
from dbdyno.experiment.claims.known_metrics import STEP_FAMILY

BACKUP, RESTORE = "backup", "restore"
Faults = Sequence[Mapping[str, Any]]  # of a trial's record


def of_faults(faults: Faults) -> dict[str, float]:
    """Metrics of drills by name: `step_s.DRILL.STEP`, `backup_s`, `rto_s`, and what was measured
    besides."""
    found: dict[str, float] = {}
    for name, value in _values(faults):
        found[name] = max(value, found.get(name, 0.0))
    return found


def _values(faults: Faults) -> Iterator[tuple[str, float]]:
    for fault in faults:
        steps = [step for step in fault.get("steps", ()) if "ended_s" in step]
        if not steps or "in_force_s" not in fault:
            continue
        for step in steps:
            seconds = float(step["ended_s"]) - float(step["begun_s"])
            yield f"{STEP_FAMILY}.{fault['do']}.{step['step']}", seconds
        # What came before the first step was waiting for another drill.
        whole_s = float(steps[-1]["ended_s"]) - float(steps[0]["begun_s"])
        if fault["do"] == BACKUP:
            yield "backup_s", whole_s
        if fault["do"] == RESTORE:
            yield "rto_s", whole_s
        for name, value in fault.get("measured", {}).items():
            yield name, float(value)


def rpo_s(faults: Faults, audits: Mapping[str, Audit]) -> dict[str, float]:
    """`rpo_s` of a trial with a restore: from the first acknowledged commit that is lost to the
    loss of the server; 0 where none is lost; nothing where that is not known, as where several
    servers were lost."""
    restores = [fault for fault in faults if fault["do"] == RESTORE and fault.get("steps")]
    own = {name: audit for name, audit in audits.items() if _has_any(name, restores)}
    if not own or any(audit.lost is None for audit in own.values()):
        return {}
    first = [audit.first_lost.t_s for audit in own.values() if audit.first_lost]
    if not first:
        return {"rpo_s": 0.0}
    if len(restores) > 1:
        return {}
    return {"rpo_s": max(0.0, float(restores[0]["steps"][0]["begun_s"]) - min(first))}


def _has_any(target: str, faults: Faults) -> bool:
    """Whether one of them was on a node of a target."""
    return any(f"{fault['node']}.".startswith(f"{target}.") for fault in faults)
