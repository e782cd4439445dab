"""Sessions wait for what guards the server's own memory."""

from __future__ import annotations

from dbdyno.wording import numbers
from dbdyno.wording.cause import CauseText, always


def _waits(here: str, there: str, during: float, otherwise: float, sessions: int, what: str) -> str:
    return (
        f"{numbers.number(during)} of {numbers.counted(sessions, 'session')} waited inside the"
        f" server (most for “{what}”) {here}, against {numbers.number(otherwise)} {there}."
    )


CAUSES = {
    "mutex_waits": CauseText(
        "waits for mutexes",
        "a third of the sessions wait for mutexes, latches or lightweight locks, many more than"
        " otherwise",
        "https://www.postgresql.org/docs/current/monitoring-stats.html#WAIT-EVENT-LWLOCK-TABLE,"
        " https://mariadb.com/kb/en/query-cache-thread-states/",
        _waits,
        always(
            "Fewer sessions at a time (a connection pool), or spread what they share: the query"
            " cache off, partitions, more buffer partitions."
        ),
    ),
}
