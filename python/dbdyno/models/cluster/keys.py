"""Certification keys: which pairs of write-sets conflict on the same key.

The types are those of MariaDB's table information_schema.WSREP_CERT_KEYS (its page in
https://mariadb.com/docs/server/reference/system-tables/information-schema): exclusive: a row that
was inserted, deleted, or whose key changed; update: another column of the row changed; reference: a
foreign key points at the row; shared: the same from protocol versions below 4. A reference does not
hinder an update of other columns; that is what the two types are for.
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
