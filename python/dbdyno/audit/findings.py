"""What an audit found, as a trial's record holds it, and the metrics that it makes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

METRICS = ("acknowledged", "lost", "resurrected", "duplicated", "diverged", "unknown")


@dataclass(frozen=True)
class NodeCounts:
    """What one node holds: `rows`, and how many acknowledged attempts of its store's it lacks."""

    name: str
    rows: int | None  # None: it could not be read
    missing: int | None  # None: not known
    why: str = ""  # it could not be read
    restarted: bool = False  # it was down after the load, and was started to be read


@dataclass(frozen=True)
class Lost:
    """An acknowledged attempt that is absent. `t_s`: when it was acknowledged, on the trial's
    clock."""

    session: int
    n: int
    attempt: int
    t_s: float


@dataclass(frozen=True)
class Audit:
    """What an audit found of one target. Numbers of transactions (`acknowledged`, `lost`,
    `duplicated`) and of attempts (all others); None: not known, since a node could not be read."""

    acknowledged: int
    failed: int  # attempts that cannot have been committed, as far as their client knows
    unknown: int  # attempts whose COMMIT was sent and not answered for certain
    lost: int | None  # acknowledged, and absent
    resurrected: int | None  # failed, and on some node
    duplicated: int | None  # with rows of more than one attempt on some node
    diverged: int | None  # on some nodes of a store, and not on all
    unknown_present: int | None
    unlogged: int | None  # rows of which no outcome was logged
    nodes: tuple[NodeCounts, ...]
    first_lost: Lost | None = None
    last_lost: Lost | None = None
    lost_examples: tuple[Lost, ...] = ()


def metrics(audits: Mapping[str, Audit]) -> dict[str, float]:
    """Sums over the targets; a count that is not known of one of them is absent."""
    found: dict[str, float] = {}
    for name in METRICS:
        counts = [getattr(audit, name) for audit in audits.values()]
        if counts and all(count is not None for count in counts):
            found[f"audit.{name}"] = float(sum(counts))
    return found
