"""Distribution: tables of a cluster, by which columns their rows lie on which shard, and what
statements make of that."""

from __future__ import annotations

from dbdyno.rules.check.distribution import keys, routing

FAMILIES = (keys, routing)
