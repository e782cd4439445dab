"""A Galera cluster as the models take it, from a cell's target and its servers' settings."""

from __future__ import annotations

from collections.abc import Sequence

from dbdyno.analysis.predictions import latencies
from dbdyno.models.cluster.files.options import Options, from_provider
from dbdyno.models.cluster.topology import Member, Topology
from dbdyno.store.record import TrialRecord
from dbdyno.systems.base import TargetPlan

VARIABLE = "wsrep_provider_options"


def options(records: Sequence[TrialRecord], target: str) -> tuple[Options, int]:
    """What the servers said of their provider's options, and the weight of each node. Defaults
    where no record has them. ValueError for one that cannot be read."""
    for record in records:
        settings = record.targets.get(target, {}).get("settings", {})
        if text := settings.get(VARIABLE):
            given = parsed(text)
            return from_provider(given), int(given.get("pc.weight", "1"))
    return Options(), 1


def parsed(text: str) -> dict[str, str]:
    """`a = b; c = d` as a provider prints it."""
    pairs = (part.partition("=") for part in text.split(";") if "=" in part)
    return {name.strip(): value.strip() for name, _, value in pairs}


def topology(target: TargetPlan, given: Options, weight: int) -> Topology:
    """The simulator's cluster. ValueError if it refuses it."""
    members = {node.name: Member(node.name, weight=weight) for node in target.nodes}
    if (node := target.arbitrator) is not None:
        members[node.name] = Member(node.name, arbitrator=True)
    return Topology(members, options=given, near_s=latencies.delay_s(target) or Topology.near_s)
