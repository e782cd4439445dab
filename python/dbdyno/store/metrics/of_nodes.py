"""Counters of the nodes of a topology, summed up: what no single node can tell. Pure.

A conflict in a Galera cluster is counted on the node on which its victim ran, so that only all
nodes together say how many there were. Which counters are of that kind, the kind of server knows
(`Kind.summed`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dbdyno import kinds
from dbdyno.systems.base import TargetPlan


def summed(metrics: Mapping[str, float], targets: Sequence[TargetPlan]) -> dict[str, float]:
    """`nodes.status.NAME` of each target with a topology: the sum over its nodes of the means of
    `node1.status.NAME`, `node2.status.NAME`, ..., changes a second. Of a node that was down for a
    while the mean is that of the rest. A sum that lacks a node is not known, and absent."""
    found = {}
    for target in targets:
        if target.topology is None:
            continue
        for counter in kinds.of(target.kind).summed:
            for prefix in ("", f"{target.name}."):
                values = [
                    metrics.get(f"{prefix}node{number}.status.{counter}")
                    for number in range(1, target.topology.nodes + 1)
                ]
                known = [value for value in values if value is not None]
                if len(known) == len(values):
                    found[f"{prefix}nodes.status.{counter}"] = sum(known)
    return found
