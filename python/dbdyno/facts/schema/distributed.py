"""Words for how a table lies in a cluster."""

from __future__ import annotations

HASH, REPLICATED, ROUND_ROBIN, LOCAL = "hash", "replicated", "round robin", "local"
CITUS, XC, NDB, VITESS = "citus", "postgres-xc", "ndb", "vitess"
