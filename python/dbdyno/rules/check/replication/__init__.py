"""Replication: errant transactions, who may write to a replica, lag, and what a crash loses."""

from __future__ import annotations

from dbdyno.rules.check.replication import errant, state

FAMILIES = (errant, state)
