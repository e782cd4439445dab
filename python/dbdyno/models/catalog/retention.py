"""How much does a time series keep, and what does it take to forget the rest?

What is older than the retention has to go: row by row (a TTL index), a partition at a time, or by
overwriting (a capped collection). They differ in what they keep too long and in the work they make.

Formula:
    live [size] = rate * keep * row
        what has to be there
    per_pass [count] = rate * pass_every
        rows that expire between two passes of a TTL index, or within a partition's length
    pass_takes [duration] = per_pass / purge_rate
        how long deleting them takes
    keeps_up [word] = "no" if method == "ttl" and purge_rate < rate else "yes"
        whether deleting is as fast as inserting
    lag [duration] = pass_every * (method != "capped") + (
        pass_takes if method == "ttl" else 0)
        how much too long the oldest row is kept at most
    stored [size] = rate * (keep + lag) * row
        what is there at most
    deletes [rate] = rate if method == "ttl" else 0
        rows that are deleted one by one
    busy [share] = min(1, pass_takes / pass_every) if method == "ttl" else 0
        part of the time in which it deletes

Assumptions:
    Rows come at an even rate and have one size. With `ttl` that does not keep up, all figures are
    those of the first pass, and grow without end.

    A capped collection is as large as it was made: it keeps rows for `keep` only if the rate stays
    as it was.

Versions:
    MongoDB's TTL thread runs every 60 s (`ttlMonitorSleepSecs`), in all versions from 2.2 on. A
    capped collection cannot be sharded. Partitions: PostgreSQL, MySQL, MariaDB.

Source:
    MongoDB manual, "TTL Indexes", "Capped Collections". Own derivation, 2026-11.

Trap:
    "TTL is free, it runs in the background": it deletes once a minute what was inserted in one, so
    at 10,000 rows a second 600,000 deletes come in a burst, each of which is replicated. Where the
    server deletes more slowly than rows come, nothing is said and the collection grows.

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
    Input("pass_every", "duration", "time between passes, or a partition's length", "60s", "1s",
          paths=("setParameter.ttlMonitorSleepSecs:s",)),
    Input("purge_rate", "rate", "rows a second that can be deleted beside the load", "20000/s",
          "0.000001/s"),
)  # fmt: skip
OUTPUTS = ("stored", "live", "lag", "per_pass", "pass_takes", "deletes", "busy", "keeps_up")
SAYS = (
    ("keeps_up == 'no'", "It does not keep up: {rate} come, {purge_rate} can be deleted."),
    ("method == 'capped'", "{stored} are kept, and overwritten in order."),
    ("method == 'partition'", "{stored} are kept, {lag} too long at most; a partition is dropped"
     " with {per_pass} rows at once."),
    ("", "{stored} are kept, {lag} too long at most; each pass deletes {per_pass} rows in"
     " {pass_takes}."),
)  # fmt: skip
NOTES = (
    Note("keeps_up == 'no'", "rows pile up without end; sizes are those of the first pass"),
    Note("method == 'ttl' and busy > 0.5 and busy < 1", "it deletes {busy} of the time"),
    Note("method == 'partition' and pass_every > keep",
         "one partition is longer than the retention"),
    Note("method == 'capped'", "it cannot be sharded, and keeps by size: at twice the rate it keeps"
         " half as long"),
)  # fmt: skip
GOLDEN = (
    Golden({"rate": "10000/s"},
           {"live": "1.1Ti", "per_pass": "600k", "pass_takes": "30s", "lag": "90s", "busy": "50%"},
           "by hand"),
    Golden({"rate": "10000/s", "method": "partition", "pass_every": "1d"},
           {"stored": "1.38TB", "deletes": "0/s", "lag": "1d"}, "by hand"),
    Golden({"rate": "30000/s"}, {"keeps_up": "no"}, "by hand"),
    Golden({"rate": "10000/s", "method": "capped"}, {"lag": "0s", "stored": "1.21TB"}, "by hand"),
)  # fmt: skip
