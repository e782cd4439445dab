"""Keys of write-sets: which pairs conflict on the same key, in certification and at apply.

The types are those of MariaDB's table information_schema.WSREP_CERT_KEYS (its page in
https://mariadb.com/docs/server/reference/system-tables/information-schema): exclusive: a row that
was inserted, deleted, or whose key changed; update: another column of the row changed; reference: a
foreign key points at the row; shared: the same from protocol versions below 4. In certification a
reference does not hinder an update of other columns; that is what the two types are for.

All pairs of reference, update and exclusive were asked of real nodes, with strict and optimized
`wsrep_certification_rules` alike; shared was not: current protocols do not send it.

At apply the storage engine's row locks decide: a foreign key takes a shared lock on the row that it
points at, a change an exclusive one. So a reference and an update of one row do collide there (seen
on real nodes, in both directions; two references do not).
"""

from __future__ import annotations

from collections.abc import Mapping

SHARED, REFERENCE, UPDATE, EXCLUSIVE = "shared", "reference", "update", "exclusive"
TYPES = (SHARED, REFERENCE, UPDATE, EXCLUSIVE)

_CONFLICTS: Mapping[str, frozenset[str]] = {
    SHARED: frozenset({UPDATE, EXCLUSIVE}),
    REFERENCE: frozenset({EXCLUSIVE}),
    UPDATE: frozenset({SHARED, UPDATE, EXCLUSIVE}),
    EXCLUSIVE: frozenset(TYPES),
}


def conflict(one: str, other: str) -> bool:
    """Whether two write-sets with these types of one key may not both pass. KeyError for a type
    that is none."""
    _ = _CONFLICTS[other]
    return other in _CONFLICTS[one]


def is_shared(kind: str) -> bool:
    """Whether the row is locked so that others may lock it in the same way."""
    return kind in (SHARED, REFERENCE)
