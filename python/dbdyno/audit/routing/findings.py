"""What an examination of a router found, as a trial's record holds it, and its metrics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

METRICS = ("statements", "misrouted", "wrong_results", "unseen", "stale_reads", "stale_ms_max")


@dataclass(frozen=True)
class Ran:
    """One statement of the examination, all rounds together: how often the primary alone ran it, a
    standby alone, several nodes, or none that could be seen."""

    case: str
    statement: str
    must: str  # PRIMARY_ONLY, or empty where any node may run it
    primary: int
    standby: int
    several: int
    unseen: int
    misrouted: int  # times at a node where it must not run
    wrong: int  # times with another result than a session of the server itself would have
    example: str = ""  # of a wrong result


@dataclass(frozen=True)
class Routing:
    """What an examination found of one target. Numbers of statements, over all rounds."""

    rounds: int
    statements: int  # that were sent
    misrouted: int
    wrong_results: int
    unseen: int  # that no node has logged
    reads_after_writes: int  # of rows that the session has just changed
    stale_reads: int  # of these, the ones that did not have the change
    stale_ms_max: float  # after an acknowledged write; 0: each read had it
    rows: tuple[Ran, ...] = ()
    unseen_primary: int = 0  # unseen ones that must run at the primary
    is_stale_cut: bool = False  # a change was waited for in vain, and was not read after that time


def metrics(found: Mapping[str, Routing]) -> dict[str, float]:
    """Sums over the targets; of the time the longest. That nothing was misrouted is not known where
    a statement that must run at the primary was not seen anywhere: then there is no number."""
    if not found:
        return {}
    every = found.values()
    is_blind = any(each.unseen_primary for each in every) and not any(e.misrouted for e in every)
    sums = {
        f"routing.{name}": float(sum(getattr(each, name) for each in every))
        for name in METRICS[:-1]
        if not (name == "misrouted" and is_blind)
    }
    return {**sums, f"routing.{METRICS[-1]}": max(each.stale_ms_max for each in every)}
