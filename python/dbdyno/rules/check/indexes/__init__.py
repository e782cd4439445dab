"""Rules on indexes, of MySQL, MariaDB and PostgreSQL: from a server, or from a schema dump
with a digest."""

from dbdyno.rules.check.indexes import (
    comparisons,
    covering,
    functions_mysql,
    functions_postgres,
    structure,
    unneeded,
)

FAMILIES = (functions_mysql, functions_postgres, comparisons, covering, structure, unneeded)
