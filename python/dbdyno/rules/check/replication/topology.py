"""Which of the subjects is whose source, and what each had executed when.

A replica's set is of its first reading. A source's is of the last one: transactions go on, so a
source that was read before its replica makes a transaction errant that is not.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dbdyno.facts.fact import Fact, Facts, Missing, Row

LATE = "late"  # `late.gtid_executed`: read once more, after all targets


def pairs(all_facts: Sequence[Facts]) -> Iterator[tuple[Facts, Facts]]:
    """(replica, source). Missing: the source of a replica is not among the subjects."""
    for replica in all_facts:
        for row in replica.table("replicas").rows:
            source = next((one for one in all_facts if is_source(one, row)), None)
            if source is None:
                raise Missing(
                    "replicas",
                    f"{replica.subject} replicates from {row.get('source_host')}:"
                    f"{row.get('source_port')}, which is not among the targets",
                )
            yield replica, source


def is_source(facts: Facts, row: Row) -> bool:
    """Whether a replica's status names it."""
    name = "server_uuid" if facts.engine == "mysql" else "server_id"
    known = facts.get(f"setting.{name}")
    return known is not None and str(row.get(f"source_{name}")).lower() == known.text.lower()


def ancestry(all_facts: Sequence[Facts], source: Facts) -> list[str]:
    """UUIDs of a source, its source and so on, as far as they are known."""
    found: list[str] = []
    waiting = [source]
    while waiting:
        one = waiting.pop()
        uuid = one.setting("server_uuid").text.lower()
        if uuid in found:
            continue
        found.append(uuid)
        for row in one.table("replicas").rows:
            above = [other for other in all_facts if is_source(other, row)]
            waiting += above
            if not above:
                found.append(str(row["source_server_uuid"]).lower())
    return found


def latest(source: Facts, name: str, replica: Fact) -> Fact:
    """What a source had when it was read last. Missing: that was before its replica."""
    fact = source.get(f"{LATE}.{name}") or source.setting(name)
    if fact.read_unix_s < replica.read_unix_s:
        raise Missing(
            f"{LATE}.{name}",
            f"{source.subject} was read before its replica, so what is new would look errant:"
            " name both in one command",
        )
    return fact
