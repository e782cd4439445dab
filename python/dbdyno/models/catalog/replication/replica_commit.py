"""How long does a commit take that waits for replicas?

A primary sends what it logs to its replicas as soon as it is written, and acknowledges a commit
once as many of them as asked have answered. So a commit waits for a way there and a way back, to
the last replica that is needed: the nearest one if one of three must answer.

MySQL and MariaDB finish commits in the order of the binary log, a group of them at a time. While
one group waits, the next is written and waits as well, and what comes later waits for the group
before it. So with more than two sessions a commit takes up to twice as long. PostgreSQL sends each
commit when it is flushed, and each waits for its own answer only.

Formula:
    needed [duration] = nearest(delays, wait)
        one way to the last replica that must answer
    ways [count] = 0 if wait <= 0 else 2
        ways between primary and replica that a commit waits for
    acknowledged [duration] = ways * needed
        until as many replicas as asked have answered
    earliest [duration] = acknowledged + alone
        a commit that no other commit delays
    by_groups [word] = "no" if server == "postgres" else "yes"
        whether commits are finished a group at a time
    queue [duration] = acknowledged if by_groups == "yes" and sessions > 2 else 0
        what a commit waits at most for the commits before it
    latest [duration] = earliest + queue
        a commit that waits so long

Assumptions:
    `alone` is a commit without the ways: its own flush, and that of the replica where it must flush
    before it answers. No link is near its bandwidth, and no server waits for a processor.

    All sessions commit at the same time, and none waits for a row that another one has locked:
    with AFTER_SYNC, the default of MySQL, locks are held until the replica has answered.

    Replicas answer all the time. After `rpl_semi_sync_source_timeout` (10 s; in MariaDB
    `rpl_semi_sync_master_timeout`) MySQL and MariaDB go on without them; PostgreSQL waits for ever.

    A client that is far from the primary adds a round trip a statement.

Versions:
    MySQL 8.0 and later, MariaDB 10.3 and later (a thread of its own receives the answers), with
    rpl_semi_sync_*_wait_point=AFTER_SYNC. PostgreSQL 9.6 and later with synchronous_commit=on and
    `ANY n (...)` or `FIRST n (...)`: of the latter only if the first n are the nearest.

Source:
    MySQL Reference Manual, "Semisynchronous Replication"; MariaDB documentation, "Semisynchronous
    Replication"; PostgreSQL documentation, "Synchronous Replication". That a group waits while it
    keeps the next one from finishing: MYSQL_BIN_LOG::ordered_commit of MySQL (call_after_sync_hook
    under LOCK_commit). "Up to twice": own derivation, 2026-11.

Trap:
    "A commit waits for the slowest replica." It waits for the nearest ones, as many as asked: a
    distant further replica costs nothing.

    "It waits for half a round trip, until the data have arrived." The primary knows that when the
    answer is back: a whole round trip.

    "Synchronous means that the replica shows it." It has received it, and flushed it; it is visible
    there later (PostgreSQL: synchronous_commit=remote_apply waits for that, too).
"""

from __future__ import annotations

from dbdyno.models.model import Golden, Input, Note

INPUTS = (
    Input("delays", "duration", "one way to each replica", "5ms,5ms", "0s", "10m", many=True),
    Input("wait", "count", "replicas that must answer before a commit is acknowledged; 0:"
          " asynchronous", "1", "0", "64", whole=True),
    Input("sessions", "count", "sessions that commit at the same time", "1", "1", "100k",
          whole=True),
    Input("server", "word", "whose primary it is", "mysql", words=("mysql", "mariadb", "postgres")),
    Input("alone", "duration", "a commit without the ways", "1ms", "0s", "1m"),
)  # fmt: skip
OUTPUTS = ("earliest", "latest", "acknowledged", "needed", "ways", "queue")
SAYS = (
    ("ways <= 0", "A commit waits for no replica: it takes {earliest}."),
    ("queue > 0", "A commit takes {earliest} to {latest}: a way there and back, up to twice, and"
     " what it takes alone."),
    ("", "A commit takes {earliest}: a way there and back, and what it takes alone."),
)  # fmt: skip
REFUSALS = (Note("wait > len(delays)", "wait={wait}: more replicas must answer than `delays` has"),)
NOTES = (
    Note("wait > 0 and needed < 0.0002", "so near each other the time is that of processors, which"
         " is not part of this"),
    Note("wait > 0 and needed > 5 and by_groups == 'yes'", "MySQL and MariaDB wait for 10 s by"
         " default, then acknowledge commits that no replica has"),
)  # fmt: skip


def nearest(delays: tuple[float, ...], place: float) -> float:
    """The delay at a place, the shortest being the first; zero before the first and past the
    last."""
    return sorted(delays)[int(place) - 1] if 1 <= place <= len(delays) else 0.0


FUNCTIONS = {"nearest": nearest}
GOLDEN = (
    Golden({"wait": "0"}, {"earliest": "1ms", "latest": "1ms", "ways": "0"},
           "by hand: nothing to wait for"),
    Golden({}, {"earliest": "11ms", "latest": "11ms", "ways": "2"}, "by hand: 2 x 5 ms, and 1 ms"),
    Golden({"delays": "20ms,1ms,5ms"}, {"needed": "1ms", "earliest": "3ms"},
           "by hand: the nearest of three"),
    Golden({"delays": "20ms,1ms,5ms", "wait": "2", "server": "postgres"},
           {"needed": "5ms", "earliest": "11ms"}, "by hand: the second nearest of three"),
    Golden({"sessions": "8"}, {"earliest": "11ms", "latest": "21ms"},
           "by hand: a group waits for the one before it"),
    Golden({"sessions": "8", "server": "postgres"}, {"earliest": "11ms", "latest": "11ms"},
           "by hand: each commit waits for its own answer"),
)  # fmt: skip
