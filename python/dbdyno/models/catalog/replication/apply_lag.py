"""How far behind does a replica fall that applies less than its source commits?

A replica applies what its source has logged, at most so many transactions a second. As long as the
source commits fewer it is behind by next to nothing. Above that the rest waits in its relay log,
and the lag grows by the same time each second: there is no rate at which it stays constant.

Formula:
    growth [number] = max(0, 1 - capacity / rate)
        by how many seconds it falls behind each second
    lag [duration] = growth * lasting
        how far it is behind after so long
    waiting [count] = max(0, rate - capacity) * lasting
        transactions that it has not applied by then
    catch_up [duration] = waiting / (capacity - after) if capacity > after else unknown
        until it has, once the source commits `after` a second

Assumptions:
    Transactions cost the replica the same at any rate, and arrive at once: the network and the disk
    of its relay log are not the limit. With workers in parallel the capacity depends on what may be
    applied together (`dyno digest --parallelism`), and may rise with the rate.

    The lag is the age of the transaction that is applied: Seconds_Behind_Source of MySQL and
    MariaDB, in whole seconds, and the time since pg_last_xact_replay_timestamp of PostgreSQL.

Versions:
    All: arithmetic of one queue.

Source:
    Own derivation, 2026-11: the transaction that is applied after t seconds is number capacity * t,
    and was committed capacity / rate * t seconds after the first one.

Trap:
    "The replica is 5 s behind, so it needs 5 s to catch up." It needs what waits, by what it
    applies beyond what still arrives: at twice its capacity for 10 s it is 5 s behind, and needs
    10 s without any load.

    "Zero seconds behind: it has everything." It has applied what it has received. What a slow link
    has not brought yet is no part of the lag, and is what a failover loses.
"""

from __future__ import annotations

from dbdyno.models.model import Golden, Input, Note

INPUTS = (
    Input("rate", "rate", "transactions that the source commits", None, "0.001/s", "10000000/s",
          example="2000/s"),
    Input("capacity", "rate", "transactions that the replica applies at most", None, "0.001/s",
          "10000000/s", example="1500/s"),
    Input("lasting", "duration", "how long the source commits so many", "1m", "0s", "365d"),
    Input("after", "rate", "transactions that the source commits afterwards", "0/s", "0/s",
          "10000000/s"),
)  # fmt: skip
OUTPUTS = ("lag", "growth", "waiting", "catch_up")
SAYS = (
    ("growth <= 0", "It keeps up: it applies {capacity}, and {rate} arrive."),
    ("capacity <= after", "It is {lag} behind after {lasting}, and does not catch up."),
    ("", "It is {lag} behind after {lasting}, and needs {catch_up} to catch up."),
)  # fmt: skip
REFUSALS = ()
NOTES = (
    Note("rate > 0.8 * capacity and rate <= capacity", "near its capacity: each longer transaction"
         " has it fall behind for a while"),
)  # fmt: skip
GOLDEN = (
    Golden({"rate": "2000/s", "capacity": "1000/s", "lasting": "10s"},
           {"growth": "0.5", "lag": "5s", "waiting": "10000", "catch_up": "10s"},
           "by hand: half of it waits"),
    Golden({"rate": "2000/s", "capacity": "1500/s", "lasting": "1h"},
           {"growth": "0.25", "lag": "15m", "waiting": "1.8M"}, "by hand: a quarter waits"),
    Golden({"rate": "2000/s", "capacity": "1500/s", "lasting": "60s", "after": "1400/s"},
           {"lag": "15s", "catch_up": "5m"}, "by hand: 30,000 at 100 a second"),
    Golden({"rate": "1000/s", "capacity": "1500/s"}, {"growth": "0", "lag": "0s", "catch_up": "0s"},
           "by hand: it keeps up"),
)  # fmt: skip
