"""Sessions wait for what guards the server's own memory."""

from __future__ import annotations

from dbdyno.wording.cause import CauseText

CAUSES = {
    "mutex_waits": CauseText(
        "waits for mutexes",
        "a third of the sessions wait for mutexes, latches or lightweight locks, many more than"
        " otherwise",
        "https://www.postgresql.org/docs/current/monitoring-stats.html#WAIT-EVENT-LWLOCK-TABLE,"
        " https://mariadb.com/kb/en/query-cache-thread-states/",
        "{during:number} of {sessions:count session} waited inside the server (most for “{what}”)"
        " {here}, against {otherwise:number} {there}.",
        "Fewer sessions at a time (a connection pool), or spread what they share: the query"
        " cache off, partitions, more buffer partitions.",
    ),
}
