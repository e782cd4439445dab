"""What a set-up permits of the anomalies that audits of histories count: by the level of isolation,
as the vendor documents it for one server (`kinds/`), and by the nodes that sessions use.

Several nodes:

- Replicas, and members of a group, apply a commit after it was acknowledged: a read there may be
  old, whatever the level. Waiting for replicas waits until they have received it. It is seen there
  at once only with PostgreSQL's `synchronous_commit: remote_apply` and all standbys
  ("synchronous_commit"), or MySQL's `group_replication_consistency: AFTER`; then it is seen there
  before it is acknowledged, so that one session may read it and a later one elsewhere not yet.
- A Galera node does the same, unless `wsrep_sync_wait` (its bit 1: reads) makes it wait for what
  was committed before ("wsrep_sync_wait"); so does `group_replication_consistency: BEFORE`.
- "Serializable transactions are supported only if all writes are targeted to one node. Any
  replication coming from other nodes will not honor read locks" (a developer of Galera,
  https://github.com/codership/galera/issues/336): between nodes serializable is no more than
  repeatable read.
- pgpool sends reads to a standby also in a transaction that writes later, at the primary ("Load
  Balancing" in its manual): what was read may be old by then, whatever the level.

That an asynchronous primary may die with what it acknowledged is documented, too, but is not
permitted here: audits are there to count it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from dbdyno import kinds
from dbdyno.experiment.types import (
    GALERA,
    GROUP,
    PGPOOL,
    REPLICA,
    TO_ROUTER,
    Node,
    Target,
)
from dbdyno.kinds.kind import SKEWS

REGISTER = "register"
SERIALIZABLE = "serializable"
NOT_LINEARIZABLE, STALE, OWN = "not_linearizable", "stale_reads", "own_write_misses"
# How reads at other nodes relate to commits.
CAUSAL, ACKNOWLEDGED, LATE = "causal", "acknowledged", "late"


class GroupLike(Protocol):
    """What is asked of a group."""

    @property
    def access(self) -> str: ...


@dataclass(frozen=True)
class Permits:
    """Anomalies that a set-up permits, and why it permits more than the level of isolation does on
    one server: sentences without names of the experiment."""

    anomalies: tuple[str, ...]
    grounds: tuple[str, ...] = ()


def permits(target: Target, groups: Sequence[GroupLike], audit: str, isolation: str) -> Permits:
    """Of the groups whose history is judged; `isolation`: the level of their sessions."""
    level = kinds.of(target.kind).permitted(isolation)
    if not _several(target, groups):
        return Permits(level)
    more = (
        _of_registers(target, groups)
        if audit == REGISTER
        else _of_isolation(target, groups, isolation)
    )
    return Permits(tuple(dict.fromkeys((*level, *more.anomalies))), more.grounds)


def _several(target: Target, groups: Sequence[GroupLike]) -> bool:
    """Whether sessions meet the same data at several nodes. Primaries of a cluster have different
    data."""
    nodes = {node for group in groups for node in _nodes(target, group)}
    replicas = {node for node in nodes if node.role == REPLICA}
    others = nodes - replicas
    if target.topology is not None and target.topology.primaries > 1:
        return bool(replicas)
    return len(replicas) + len(others) > 1


def _nodes(target: Target, group: GroupLike) -> tuple[Node, ...]:
    if group.access != TO_ROUTER:
        return target.nodes_for(group.access)
    return target.nodes if _is_balanced(target, group) else target.nodes[:1]


def _is_balanced(target: Target, group: GroupLike) -> bool:
    """Whether a router deals single reads over nodes. The others pass whole connections on to the
    node that takes writes."""
    router = target.router
    return group.access == TO_ROUTER and router is not None and router.kind == PGPOOL


def _of_registers(target: Target, groups: Sequence[GroupLike]) -> Permits:
    reads = _reads(target)
    if reads == CAUSAL:
        return Permits(())
    if reads == ACKNOWLEDGED:
        return Permits(
            (NOT_LINEARIZABLE,),
            (
                "Sessions use several nodes, and a commit is seen at some before it is"
                " acknowledged: one session may read it and a later one elsewhere not yet.",
            ),
        )
    if any(_is_balanced(target, group) for group in groups):
        return Permits(
            (NOT_LINEARIZABLE, STALE, OWN),
            (
                "The router sends reads to standbys, which apply a commit after its"
                " acknowledgement.",
            ),
        )
    return Permits((NOT_LINEARIZABLE, STALE), (_late(target),))


def _late(target: Target) -> str:
    """Why reads at other nodes may be old."""
    topology = target.topology
    kind = "" if topology is None else topology.kind
    head = "Sessions use several nodes, and"
    if kind == GALERA:
        return (
            f"{head} a Galera node applies what others committed after its acknowledgement:"
            " `wsrep_sync_wait` does not make reads wait."
        )
    if kind == GROUP:
        whose = "others" if topology is not None and topology.multi_primary else "the primary"
        return (
            f"{head} a member of the group applies what {whose} committed after its"
            " acknowledgement: `group_replication_consistency` does not make reads wait."
        )
    waits = topology is not None and topology.wait_for_replicas
    received = " `wait_for_replicas` waits until they have received it." if waits else ""
    return f"{head} replicas apply a commit after its acknowledgement.{received}"


def _reads(target: Target) -> str:
    """How reads at other nodes than the one that committed relate to commits."""
    topology = target.topology
    if topology is None:
        return LATE
    if topology.kind == GALERA:
        waits = setting(target, "wsrep_sync_wait")
        older = setting(target, "wsrep_causal_reads") in ("on", "1", "true")
        return CAUSAL if older or (waits.isdigit() and int(waits) & 1) else LATE
    if topology.kind == GROUP:
        consistency = setting(target, "group_replication_consistency")
        known = {"before": CAUSAL, "before_and_after": CAUSAL, "after": ACKNOWLEDGED}
        return known.get(consistency, LATE)
    applied = setting(target, "synchronous_commit") == "remote_apply"
    all_wait = topology.wait_for_replicas >= topology.nodes - 1
    return ACKNOWLEDGED if applied and all_wait else LATE


def _of_isolation(target: Target, groups: Sequence[GroupLike], isolation: str) -> Permits:
    if any(_is_balanced(target, group) for group in groups):
        return Permits(
            SKEWS,
            (
                "The router may send the reads of a transaction to a standby and its writes to the"
                " primary: the level of isolation holds at neither for both.",
            ),
        )
    topology = target.topology
    if topology is not None and topology.kind == GALERA and isolation == SERIALIZABLE:
        return Permits(
            SKEWS,
            (
                "Sessions use several nodes, and Galera certifies what transactions write, not what"
                " they read: serializable holds among sessions of one node only.",
            ),
        )
    return Permits(())


def setting(target: Target, name: str) -> str:
    """A setting of the target's sessions, in lower case: what the last statement of `session` says,
    else `config`; empty: the server's default."""
    pattern = re.compile(rf"\b{name}\s*(?::?=|\bto\b)\s*['\"]?(\w+)", re.IGNORECASE)
    said = [found[1] for statement in target.session for found in pattern.finditer(statement)]
    config = {key.replace("-", "_").lower(): str(value) for key, value in target.config.items()}
    return (said[-1] if said else config.get(name, "")).strip().lower()
