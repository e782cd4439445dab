"""What the check of a history found, as a trial's record holds it, and its metrics."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

NOT_LINEARIZABLE = "not_linearizable"
LOST_READS = "lost_reads"  # which follow from `lost`


@dataclass(frozen=True)
class HistoryNode:
    """One node that was read after the load; `why` not, if it could not be."""

    name: str
    is_read: bool
    why: str = ""
    restarted: bool = False  # it was down after the load, and was started to be read


@dataclass(frozen=True)
class Findings:
    """Of one target. `counts` by anomaly, in the order of a report; None: not known, as without the
    nodes' contents. `judged`: operations of registers, transactions otherwise."""

    check: str  # register | append | bank
    judged: int
    unknown: int  # attempts whose outcome is not known: they may have taken effect
    counts: Mapping[str, int | None]
    isolation: str = ""  # the level of the sessions; empty: not known
    permitted: tuple[str, ...] = ()  # anomalies that it permits on these servers and routes
    grounds: tuple[str, ...] = ()  # sentences: why that is more than it permits on one server
    stale_read_max_s: float = 0.0
    examples: Mapping[str, str] = field(default_factory=dict)  # by anomaly, in words
    nodes: tuple[HistoryNode, ...] = ()
    why: str = ""  # nothing could be judged

    @property
    def violations(self) -> int | None:
        """What the set-up does not permit: of registers the keys that are not linearizable, and the
        single reads and updates where it permits that. None: not known."""
        if self.check == "register" and NOT_LINEARIZABLE not in self.permitted:
            return self.counts.get(NOT_LINEARIZABLE)
        left_out = {*self.permitted, LOST_READS}
        if "stale_reads" not in left_out:
            left_out.add("own_write_misses")  # which are among them
        counts = [n for name, n in self.counts.items() if name not in left_out]
        known = [n for n in counts if n is not None]
        return sum(known) if len(known) == len(counts) or any(known) else None


def metrics(found: Iterable[Findings]) -> dict[str, float]:
    """Sums over the targets; a count that is not known of one of them is absent."""
    all_found = [each for each in found if not each.why]
    if not all_found:
        return {}
    made = {
        "audit.judged": float(sum(each.judged for each in all_found)),
        "audit.unknown": float(sum(each.unknown for each in all_found)),
    }
    names = dict.fromkeys(name for each in all_found for name in each.counts)
    counted = {name: [each.counts.get(name) for each in all_found] for name in names}
    counted["violations"] = [each.violations for each in all_found]
    for name, counts in counted.items():
        known = [count for count in counts if count is not None]
        if len(known) == len(counts):
            made[f"audit.{name}"] = float(sum(known))
    if any(each.check == "register" for each in all_found):
        made["audit.stale_read_max_s"] = max(each.stale_read_max_s for each in all_found)
    return made
