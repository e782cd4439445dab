"""Sessions wait for locks on tables or rows."""

from __future__ import annotations

from dbdyno.analysis.causes.rules.locks import LOCKS, ROW_LOCKS
from dbdyno.wording import numbers, plurals
from dbdyno.wording.cause import CauseText


def _waits(here: str, there: str, during: float, otherwise: float, sessions: int, what: str) -> str:
    of = what if what in (ROW_LOCKS, LOCKS) else f"a lock (“{what}”)"
    return (
        f"{numbers.number(during)} of {plurals.count(sessions, 'session')} waited for {of}"
        f" {here}, against {numbers.number(otherwise)} {there}."
    )


CAUSES = {
    "lock_waits": CauseText(
        "lock waits",
        "half of the sessions or more wait for a lock on a table or on rows, many more than"
        " otherwise",
        "https://mariadb.com/kb/en/innodb-lock-modes/,"
        " https://www.postgresql.org/docs/current/monitoring-stats.html#WAIT-EVENT-LOCK-TABLE",
        _waits,
        "Find who holds it (MariaDB, MySQL: SHOW ENGINE INNODB STATUS, INNODB_TRX, the"
        " metadata locks; PostgreSQL: pg_blocking_pids): shorter transactions, no DDL or LOCK"
        " TABLES under load.",
    ),
}
