"""What indexes of an engine and version can be.

Sources: the MySQL manual, "CREATE INDEX Statement" (functional key parts since 8.0.13, descending
since 8.0.1); MariaDB's "CREATE INDEX" (descending since 10.8; an index is of columns only); the
PostgreSQL manual, "CREATE INDEX" (INCLUDE since 11).
"""

from __future__ import annotations

from dbdyno.facts import applies
from dbdyno.facts.fact import Facts
from dbdyno.sql.schema import Features

EXPRESSIONS = ("mysql >=8.0.13", "postgres")
DESCENDING = ("mysql >=8.0.1", "mariadb >=10.8", "postgres")
INCLUDE = ("postgres >=11",)
PARTIAL = ("postgres",)
CLUSTERED = ("mysql", "mariadb")


def features(facts: Facts) -> Features:
    """Missing if they depend on a version that is not known."""
    return Features(
        expressions=applies.matches(EXPRESSIONS, facts),
        descending=applies.matches(DESCENDING, facts),
        include=applies.matches(INCLUDE, facts),
        partial=applies.matches(PARTIAL, facts),
        clustered=applies.matches(CLUSTERED, facts),
    )
