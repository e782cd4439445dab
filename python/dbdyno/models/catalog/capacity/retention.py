"""How much does a time series keep, and what does it take to forget the rest?

What is older than the retention has to go: row by row (a TTL index), a partition at a time, or by
overwriting (a capped collection). They differ in what they keep too long and in the work they make.

MongoDB deletes for a TTL index in passes, and sleeps after each. Rows go on expiring while a pass
runs. So a pass that takes long also comes less often, and has more to delete.

Formula:
    live [size] = rate * keep * row
        what has to be there
    every [duration] = pass_every if pass_every > 0 else (
        min(day, keep) if method == "partition" else minute)
        pause between passes, or a partition's length
    keeps_up [word] = "no" if method == "ttl" and purge_rate <= rate else "yes"
        whether deleting is faster than inserting
    pass_takes [duration] = every * rate / (purge_rate - rate) if (
        method == "ttl" and purge_rate > rate) else unknown
        how long a pass of a TTL index deletes: what expired in the pause and in the pass itself
    per_pass [count] = rate * (every + pass_takes) if method == "ttl" else (
        rate * every if method == "partition" else unknown)
        rows that a pass deletes, or that a partition holds
    lag [duration] = every + pass_takes if method == "ttl" else (
        every if method == "partition" else 0)
        how much too long the oldest row is kept at most
    stored [size] = rate * (keep + lag) * row
        stored at most
    deletes [rate] = min(rate, purge_rate) if method == "ttl" else 0
        rows that are deleted one by one
    busy [share] = min(1, rate / purge_rate) if method == "ttl" else 0
        part of the time in which it deletes
    partitions [count] = ceil(keep / every) + 1 if method == "partition" else unknown
        partitions at most
    shardable [word] = "no" if method == "capped" else "yes"
        whether it can be spread over shards

Assumptions:
    Rows come at an even rate and have one size. With `ttl` that does not keep up there is no end
    to what is stored: no figure is given for it.

    A capped collection is as large as it was made: it keeps rows for `keep` only if the rate stays
    as it was. A partition is dropped as soon as all of its rows are too old.

Versions:
    MongoDB's TTL thread sleeps for 60 s (`ttlMonitorSleepSecs`), in all versions from 2.2 on. From
    6.1 on it deletes in batches, and a pass goes on with what expires while it runs: passes are as
    long as here, but the oldest row is kept hardly longer than the pause too long.

    A capped collection cannot be sharded. Partitions: PostgreSQL, MySQL, MariaDB; a table of the
    last two has at most 8,192.

Source:
    MongoDB manual, "TTL Indexes", "Capped Collections", and its public source (`ttl.cpp`: sleep
    first, then delete all that has expired); MySQL manual, "Restrictions and Limitations on
    Partitioning"; MariaDB documentation, "Partitioning Limitations". Own derivation, 2026-11.

Trap:
    "TTL deletes once a minute what was inserted in one": it sleeps a minute after each pass. At
    10,000 rows a second, where 20,000 can be deleted, a pass takes a minute too: every two minutes
    1.2 million deletes come in a burst, each of which is replicated. At 19,999 rows a second a
    pass takes 14 days.

    "TTL is free, it runs in the background": where the server deletes no faster than rows come, no
    figure is given and the collection grows.

    Twice the retention in partitions is not needed: one partition more is.
"""

from __future__ import annotations

from dbdyno.models.model import Golden, Input, Note

INPUTS = (
    Input("rate", "rate", "rows that come", None, "0.000001/s", "100000000/s",
          example="10000/s"),
    Input("row", "size", "a row with its indexes", "200", "1", "16Mi"),
    Input("keep", "duration", "how long rows are kept", "7d", "1s"),
    Input("method", "word", "how they are forgotten", "ttl",
          words=("ttl", "partition", "capped")),
    Input("pass_every", "duration", "pause between passes, or a partition's length; 0: 60 s, or a"
          " day", "0s", "0s", example="60s", paths=("setParameter.ttlMonitorSleepSecs:s",)),
    Input("purge_rate", "rate", "rows a second that can be deleted during the load", "20000/s",
          "0.000001/s"),
)  # fmt: skip
OUTPUTS = ("stored", "live", "lag", "per_pass", "pass_takes", "deletes", "busy", "keeps_up",
           "partitions", "shardable")  # fmt: skip
SAYS = (
    ("keeps_up == 'no'", "It does not keep up: {rate} come, {purge_rate} can be deleted."),
    ("method == 'capped'", "{stored} are kept, and overwritten in order. A capped collection cannot"
     " be sharded."),
    ("method == 'partition'", "{stored} are kept, {lag} too long at most; a partition is dropped"
     " with {per_pass} rows at once."),
    ("", "{stored} are kept, {lag} too long at most; each pass deletes {per_pass} rows in"
     " {pass_takes}."),
)  # fmt: skip
NOTES = (
    Note("keeps_up == 'no'", "rows pile up without end"),
    Note("method == 'ttl' and busy > 0.5 and busy < 1", "it deletes {busy} of the time"),
    Note("method == 'partition' and every > keep", "one partition is longer than the retention"),
    Note("partitions > 8192",
         "{partitions} partitions are more than MySQL and MariaDB take (8,192): make them longer"),
    Note("method == 'capped'", "it keeps by size: at twice the rate it keeps half as long"),
)  # fmt: skip
GOLDEN = (
    Golden({"rate": "10000/s"},
           {"live": "1.1Ti", "per_pass": "1200k", "pass_takes": "60s", "lag": "120s",
            "busy": "50%", "deletes": "10000/s", "shardable": "yes"}, "by hand"),
    Golden({"rate": "19999/s"}, {"pass_takes": "13.9d", "lag": "13.9d", "keeps_up": "yes"},
           "by hand"),
    Golden({"rate": "100/s"}, {"pass_takes": "0.3s", "per_pass": "6030", "busy": "0.5%"},
           "by hand: about once a minute what was inserted in one"),
    Golden({"rate": "10000/s", "method": "partition"},
           {"stored": "1.38TB", "deletes": "0/s", "lag": "1d", "per_pass": "864M",
            "partitions": "8"}, "by hand"),
    Golden({"rate": "10000/s", "method": "partition", "pass_every": "60s"},
           {"partitions": "10081", "lag": "60s"}, "by hand"),
    Golden({"rate": "30000/s"}, {"keeps_up": "no", "deletes": "20000/s", "busy": "100%"},
           "by hand"),
    Golden({"rate": "20000/s"}, {"keeps_up": "no", "deletes": "20000/s"},
           "by hand: no pass ends"),
    Golden({"rate": "10000/s", "method": "capped"},
           {"lag": "0s", "stored": "1.21TB", "shardable": "no"}, "by hand"),
)  # fmt: skip
