"""How long does Redis take to start, and how much can it lose?

Redis reads all its data before it answers: a dump (RDB), or the commands since the last rewrite
(AOF). Between two syncs, or two dumps, writes are only in memory.

Formula:
    load [duration] = data / GiB * per_gb * (aof_factor if method == "aof" else 1)
        time until it answers
    log_at_rewrite [size] = max(rewrite_min, data * (1 + rewrite_percentage))
        size of the log at which it is rewritten
    rewrite_every [duration] = (log_at_rewrite - data) / writes
        time between two rewrites
    loss_window [duration] = 0 if method == "aof" and sync == "always" else (
        2 if method == "aof" and sync == "everysec" else (
        30 if method == "aof" else save_every + save_takes))
        how old what is lost can be at most
    loss [size] = loss_window * writes
        how much it is
    disk [size] = 2 * data if method == "rdb" else log_at_rewrite + data
        space: the old file and the new one beside each other

Assumptions:
    `per_gb` is a matter of processor and data (large strings load fast, many small keys slowly):
    measure one and scale it. `data` is the size of the dump or of the rewritten log.

    everysec: the thread that syncs may be a second late before writes wait, so two seconds. `no`
    leaves it to the kernel, which writes dirty pages after 30 s.

Versions:
    Redis 2.4 to 8; rewritten logs begin with a dump since 4.0 (aof-use-rdb-preamble), so
    that just after a rewrite the factor is 1. Since 7.0 the log is several files, and the rewrite
    buffer is gone.

Source:
    Redis documentation, "Persistence", and redis.conf (auto-aof-rewrite-percentage,
    auto-aof-rewrite-min-size). "10 to 20 seconds a GB, twice that for AOF": the author of Redis,
    2012. Read 2026-11.

Trap:
    "everysec loses one second at most": it can lose two, since Redis only waits for the disk when a
    sync is two seconds old.

    "A rewrite needs memory for all writes meanwhile": up to 6.2; since 7.0 they go to a new file.

    Rewritten when "100 %" means when it is twice as large as after the last rewrite, and at least
    64 MB: a log of 10 MB is not rewritten at 20.
"""

from __future__ import annotations

from dbdyno.models.model import Golden, Input, Note

INPUTS = (
    Input("data", "size", "size of the data on disk", None, "1", "100Ti", example="10Gi"),
    Input("method", "word", "how it is kept", "rdb", words=("rdb", "aof")),
    Input("sync", "word", "`appendfsync`", "everysec", words=("always", "everysec", "no")),
    Input("per_gb", "duration", "time to load a GB of a dump", "15s", "100ms", "10m"),
    Input("aof_factor", "number", "how many times longer a log of commands takes", "2", "1", "20"),
    Input("writes", "throughput", "bytes that are written to the log", "1MB/s", "1B/s"),
    Input("save_every", "duration", "time between two dumps", "5m", "1s"),
    Input("save_takes", "duration", "how long a dump takes", "30s", "0s"),
    Input("rewrite_percentage", "number", "`auto-aof-rewrite-percentage`, by 100", "1", "0.01",
          "100"),
    Input("rewrite_min", "size", "`auto-aof-rewrite-min-size`", "64Mi", "0"),
)  # fmt: skip
OUTPUTS = ("load", "loss_window", "loss", "rewrite_every", "log_at_rewrite", "disk")
SAYS = (
    ("loss_window <= 0", "It answers after {load}, and loses nothing that was acknowledged."),
    ("", "It answers after {load}, and can lose {loss_window} of writes, {loss}."),
)
NOTES = (
    Note(
        "method == 'aof' and rewrite_every < 10 * minute",
        "the log is rewritten every {rewrite_every}: a larger percentage makes it rarer",
    ),
    Note("load > hour", "more than an hour without an answer: a replica takes over sooner"),
)
GOLDEN = (
    Golden({"data": "10Gi", "per_gb": "10s"}, {"load": "100s"}, "10 s a GB (2012)"),
    Golden({"data": "10Gi", "per_gb": "20s"}, {"load": "200s"}, "20 s a GB (2012)"),
    Golden({"data": "10Gi", "per_gb": "20s", "method": "aof"},
           {"load": "400s", "loss_window": "2s", "log_at_rewrite": "20Gi"}, "twice that for AOF"),
    Golden({"data": "10Mi", "method": "aof"}, {"log_at_rewrite": "64Mi"}, "redis.conf"),
    Golden({"data": "1Gi", "method": "aof", "sync": "always"}, {"loss": "0"}, "by hand"),
    Golden({"data": "1Gi"}, {"loss_window": "330s", "loss": "330MB"}, "by hand"),
)  # fmt: skip
